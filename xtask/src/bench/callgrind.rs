//! Counts instructions instead of seconds: valgrind's count does not depend on other users of the
//! machine.
//!
//! Valgrind's callgrind also reports where the instructions are. Its output contains for each of
//! them the source line from which it was compiled, so code that the compiler inlined is still
//! counted where it was written. Our native code has no source line and is recognised by that. See
//! the format's description in valgrind's manual, "Callgrind Format Specification".

use super::ours::{Everypath, Manner};
use super::row::geometric_mean;
use super::set::Entry;
use super::spin::Verifier;
use crate::{Failure, root};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The parts of the program to which instructions are assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Code generated for the model.
    Native,
    /// Code that calls native code or is called by it.
    Generation,
    /// The store.
    Store,
    /// The search, and the code between it and the other parts.
    Search,
    /// The C library and everything else: copying, allocation, progress reports.
    Rest,
}

impl Part {
    const ALL: [Part; 5] = [Part::Native, Part::Generation, Part::Store, Part::Search, Part::Rest];

    const fn name(self) -> &'static str {
        match self {
            Part::Native => "native",
            Part::Generation => "generation",
            Part::Store => "store",
            Part::Search => "search",
            Part::Rest => "rest",
        }
    }
}

/// Instructions by part and by function.
#[derive(Default)]
struct Profile {
    total: u64,
    parts: [u64; Part::ALL.len()],
    functions: HashMap<String, u64>,
}

/// The number of functions that are listed.
const FUNCTIONS: usize = 12;

/// Counts the instructions of both sides for each model, and prints the parts to which ours belong.
pub fn run(everypath: &Everypath, entries: &[Entry], spin: bool) -> Result<(), Failure> {
    let folder = root().join("target/bench");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    println!(
        "instructions of the search, counted by valgrind; reading and translating a model, and the start of the process, are not among them\n"
    );
    print!("{:<26} {:>9} {:>12} {:>12} {:>7} |", "model", "states", "spin/state", "plain/state", "/spin");
    Part::ALL.iter().for_each(|part| print!(" {:>11}", part.name()));
    println!();
    let (mut ratios, mut lists, mut failed) = (Vec::new(), String::new(), 0);
    for entry in entries {
        match row(everypath, entry, spin, &folder) {
            Ok((line, ratio, list)) => {
                println!("{line}");
                ratios.extend(ratio);
                lists += &list;
            }
            Err(failure) => {
                println!("{:<26} error: {failure}", entry.model.name);
                failed += 1;
            }
        }
    }
    if let Some((mean, count)) = geometric_mean(ratios) {
        println!("\nGeometric mean of instructions, Everypath in terms of SPIN: {mean:.3} ({count} models)");
    }
    println!("{lists}");
    if failed == 0 { Ok(()) } else { Err(format!("{failed} rows are in error")) }
}

fn row(everypath: &Everypath, entry: &Entry, spin: bool, folder: &Path) -> Result<(String, Option<f64>, String), Failure> {
    let (found, _) = everypath.run(&entry.model, Manner::PLAIN)?;
    let mut arguments = everypath.arguments(&entry.model.path, Manner::PLAIN);
    // Under valgrind translation takes so long that without this the interpreter would do much of
    // the work. Older versions always wait.
    if everypath.has_option("--code-first") {
        arguments.push("--code-first".to_owned());
    }
    let ours = count(folder, Some(SEARCH), &everypath.program, &arguments)?;
    let theirs = if spin && entry.model.is_promela() {
        let mut verifier = Verifier::build(&entry.model.path, &[], true)?;
        let (pan, _) = verifier.run()?;
        if pan.states != found.states {
            return Err(format!("the counts differ: {} and {}", pan.states, found.states));
        }
        Some(count(folder, None, &verifier.program(), &verifier.arguments())?.total as f64)
    } else {
        None
    };
    let states = found.states.max(1) as f64;
    // SPIN's verifier is counted as a whole: it neither reads nor translates a model.
    let searching = ours.total as f64;
    let ratio = theirs.map(|theirs| searching / theirs);
    let shown = |value: Option<f64>, digits: usize| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"));
    let mut line = format!(
        "{:<26} {:>9} {:>12} {:>12.0} {:>7} |",
        entry.model.name,
        found.states,
        shown(theirs.map(|theirs| theirs / states), 0),
        searching / states,
        shown(ratio, 3)
    );
    let share = |instructions: u64| 100.0 * instructions as f64 / ours.total.max(1) as f64;
    for part in Part::ALL {
        line += &format!(" {:>10.1}%", share(ours.parts[part as usize]));
    }
    let mut functions: Vec<(&String, &u64)> = ours.functions.iter().collect();
    functions.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let mut list = format!("\n{}: functions with what is inlined into them, instructions a state\n", entry.model.name);
    for (name, &instructions) in functions.into_iter().take(FUNCTIONS) {
        list += &format!("{:>10.1} {:>5.1}%  {name}\n", instructions as f64 / states, share(instructions));
    }
    Ok((line, ratio, list))
}

/// The function that performs the search.
const SEARCH: &str = "search::breadth_first::search";

/// Runs a program under valgrind, and counts the instructions in one of its functions, or all of
/// them.
fn count(folder: &Path, inside: Option<&str>, program: &Path, arguments: &[String]) -> Result<Profile, Failure> {
    let file = folder.join("callgrind.out");
    let only = inside.map(|function| ["--collect-atstart=no".to_owned(), format!("--toggle-collect={function}")]);
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .args(only.into_iter().flatten())
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    if !output.status.success() {
        return Err(format!("{} fails under valgrind: {}", program.display(), String::from_utf8_lossy(&output.stderr)));
    }
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(profile(&text))
}

/// Reads callgrind's output. A name is given in full once, with a number, and by its number from
/// then on.
fn profile(text: &str) -> Profile {
    let mut profile = Profile::default();
    let mut names: [HashMap<u32, &str>; 3] = Default::default();
    let (mut object, mut file, mut function) = ("", "", "");
    let mut inclusive = false;
    for line in text.lines() {
        if let Some((key, value)) = line.split_once('=') {
            match key {
                "ob" => object = resolve(&mut names[0], value),
                "fl" | "fi" | "fe" => file = resolve(&mut names[1], value),
                "fn" => function = resolve(&mut names[2], value),
                "cob" => drop(resolve(&mut names[0], value)),
                "cfi" | "cfl" => drop(resolve(&mut names[1], value)),
                "cfn" => drop(resolve(&mut names[2], value)),
                "calls" => inclusive = true,
                _ => {}
            }
        } else if line.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '*')) {
            // The costs after a call belong to the called function, which is counted there.
            if std::mem::take(&mut inclusive) {
                continue;
            }
            let cost = line.split_whitespace().nth(1).and_then(|cost| cost.parse::<u64>().ok()).unwrap_or(0);
            let part = part(object, file, function);
            profile.total += cost;
            profile.parts[part as usize] += cost;
            let name = if part == Part::Native { "(native code)" } else { function };
            *profile.functions.entry(name.to_owned()).or_default() += cost;
        }
    }
    profile
}

fn resolve<'a>(names: &mut HashMap<u32, &'a str>, value: &'a str) -> &'a str {
    let numbered = value.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let Some((number, name)) = numbered.and_then(|(number, name)| Some((number.parse().ok()?, name.trim()))) else { return value };
    if !name.is_empty() {
        names.insert(number, name);
    }
    names.get(&number).copied().unwrap_or("")
}

/// The part to which an instruction belongs: by its source file; by its function if the file
/// belongs to the standard library.
fn part(object: &str, file: &str, function: &str) -> Part {
    if object == "???" && function.starts_with("0x") {
        return Part::Native;
    }
    let room = file.split_once("crates/").and_then(|(_, rest)| rest.split('/').next());
    let passing = matches!(room, None | Some("contract"));
    let room = if passing { ROOMS.into_iter().find(|room| function.contains(&format!("{room}::"))).or(room) } else { room };
    match room {
        Some("jit" | "vm") => Part::Generation,
        Some("store") => Part::Store,
        Some("search" | "contract" | "check") => Part::Search,
        _ => Part::Rest,
    }
}

/// Crates whose functions are recognised by name.
const ROOMS: [&str; 4] = ["jit", "vm", "store", "search"];

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
events: Ir
ob=(1) ???
fl=(1) ???
fn=(1) 0x0000000004842000
0 60
cob=(2) /bin/everypath
cfi=(2) /x/crates/jit/src/helpers.rs
cfn=(2) jit::helpers::end
calls=3 138
0 1000

ob=(2)
fl=(2)
fn=(2)
138 200
fi=(3) /rustc/library/core/src/slice/index.rs
+2 40
fe=(2)
* 5

fl=(4) /x/crates/store/src/table.rs
fn=(3) search::expand::follow
1 7
";

    #[test]
    fn instructions_are_counted_once_and_where_they_were_written() {
        let profile = profile(OUTPUT);
        let of = |part: Part| profile.parts[part as usize];
        assert_eq!(profile.total, 312);
        assert_eq!(of(Part::Native), 60);
        assert_eq!(of(Part::Generation), 245);
        assert_eq!(of(Part::Store), 7);
        assert_eq!(profile.functions["jit::helpers::end"], 245);
    }

    #[test]
    fn parts_are_told_by_files_and_functions() {
        assert_eq!(part("everypath", "/rustc/library/core/src/slice/mod.rs", "store::plain::insert"), Part::Store);
        assert_eq!(part("everypath", "/x/crates/jit/src/helpers.rs", "jit::helpers::end"), Part::Generation);
        assert_eq!(part("libc.so", "./string/memmove.S", "memcpy"), Part::Rest);
    }
}
