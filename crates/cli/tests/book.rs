//! The book in `docs`, and the README: every command in them is run, and its output must be the one
//! that they show. A block that begins with a language and a file name is that file. A picture in
//! `pictures` must be the one that the commands of its chapter draw. The examples of `--help` are
//! run too. A chapter that uses a file of the repository has a comment, which readers do not see:
//! `<!-- file: models/lf/race.lf -->`, or with a second name for the copy. A command that ends in a
//! backslash continues on the next line.
//!
//! A block of shell commands below a comment such as `<!-- needs: avr-gcc -->` is run where these
//! programs are installed; what its commands print is not shown. Commands within sentences and
//! tables are not run, but their options must exist.
//!
//! `UPDATE=1 cargo test -p cli --test book` writes the answers anew. Times and sizes of memory
//! differ from run to run; the guide shows an ellipsis instead.

mod common;

use common::Folder;
use std::path::{Path, PathBuf};

/// A line without the parts that differ from run to run.
fn steady(line: &str) -> &str {
    let timed = (line.contains(" states, ") || line.contains(" state, ")) && [" µs", " ms", " s"].iter().any(|unit| line.ends_with(unit));
    let of_spin = line.starts_with("pan: elapsed") || line.starts_with("pan: rate") || line.contains(" memory usage");
    if timed || of_spin || line.ends_with(" states/s") || line.contains(" memory: ") { "…" } else { line }
}

/// The output of a command. A command may end in `>` and a file for its output.
fn answer(folder: &Folder, command: &str) -> String {
    let mut words = words(command);
    assert_eq!(words[0], "everypath", "{command}");
    let into = words.iter().position(|word| word == ">").map(|at| words.drain(at..).nth(1).expect("a file behind `>`"));
    let run = folder.run(&words[1..].iter().map(String::as_str).collect::<Vec<_>>());
    assert!(run.code != 2, "{command}: {}", run.err);
    if let Some(file) = into {
        folder.write(&file, run.out);
        return String::new();
    }
    let mut lines: Vec<&str> = Vec::new();
    for line in run.out.lines().map(steady) {
        if line != "…" || lines.last() != Some(&"…") {
            lines.push(line);
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The words of a command, split like a shell does. A text in quotes is one word.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for c in command.chars() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (' ', None) => words.push(String::new()),
            (c, _) => words.last_mut().expect("there is one").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Copies a file of the repository, if a line asks for it.
fn provide(line: &str, folder: &Folder) {
    let Some(names) = line.strip_prefix("<!-- file: ").and_then(|rest| rest.strip_suffix(" -->")) else { return };
    let (from, to) = names.split_once(' ').unwrap_or((names, names));
    let contents = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(from)).expect("a file of the repository");
    std::fs::create_dir_all(folder.path(to).parent().expect("a folder")).expect("it can be made");
    folder.write(to, contents);
}

/// Runs the lines of a block of shell commands, if the programs that they need are there.
fn run_lines(lines: &[&str], needs: &[&str], folder: &Folder) {
    let path = searched();
    let there = |name: &&str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    if !needs.iter().all(there) {
        return testkit::passed_over(&format!("one of these programs is missing: {}", needs.join(", ")));
    }
    for line in lines {
        let mut shell = std::process::Command::new("sh");
        shell.current_dir(folder.path("")).args(["-c", line]).stdin(std::process::Stdio::null()).env("PATH", &path);
        let output = shell.output().expect("a shell");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        if told.contains("avr/io.h") {
            return testkit::passed_over("avr-libc is missing");
        }
        let fine = if line.starts_with("everypath") { &[0, 1, 3][..] } else { &[0] };
        assert!(output.status.code().is_some_and(|code| fine.contains(&code)), "{line}: {told}");
    }
}

/// The folders in which a shell looks for programs, with ours first.
fn searched() -> std::ffi::OsString {
    let bin = Path::new(env!("CARGO_BIN_EXE_everypath")).parent().expect("a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&path))).expect("no folder has a colon in its name")
}

/// A chapter with the present answers, and the number of commands.
fn retold(text: &str, folder: &Folder) -> (String, usize) {
    let (mut out, mut commands) = (String::new(), 0);
    let mut lines = text.lines();
    let mut needs: Vec<&str> = Vec::new();
    while let Some(line) = lines.next() {
        out.push_str(&format!("{line}\n"));
        provide(line, folder);
        if let Some(names) = line.strip_prefix("<!-- needs: ").and_then(|rest| rest.strip_suffix(" -->")) {
            needs = names.split(' ').collect();
        }
        let Some(block) = line.strip_prefix("```").filter(|block| !block.is_empty()) else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if let Some((_, file)) = block.split_once(' ') {
            folder.write(file, body.join("\n") + "\n");
            body.iter().for_each(|line| out.push_str(&format!("{line}\n")));
        } else if block == "sh" && !needs.is_empty() {
            run_lines(&body, &std::mem::take(&mut needs), folder);
            commands += body.len();
            body.iter().for_each(|line| out.push_str(&format!("{line}\n")));
        } else {
            let mut asked: Vec<Vec<&str>> = Vec::new();
            let mut goes_on = false;
            for line in &body {
                match line.strip_prefix("$ ") {
                    Some(command) => asked.push(vec![command]),
                    None if goes_on => asked.last_mut().expect("it has begun").push(line),
                    None => {}
                }
                goes_on = line.ends_with('\\') && (goes_on || line.starts_with("$ "));
            }
            if asked.is_empty() {
                body.iter().for_each(|line| out.push_str(&format!("{line}\n")));
            }
            for lines in asked {
                commands += 1;
                let command: Vec<&str> = lines.iter().map(|line| line.trim_end_matches('\\').trim()).collect();
                out.push_str(&format!("$ {}\n{}", lines.join("\n"), answer(folder, &command.join(" "))));
            }
        }
        out.push_str("```\n");
    }
    (out, commands)
}

/// All chapters, and the README.
fn chapters() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = vec![root.join("README.md")];
    for folder in ["docs", "docs/guide"] {
        let entries = std::fs::read_dir(root.join(folder)).expect("the book").filter_map(Result::ok);
        paths.extend(entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    }
    paths
}

#[test]
fn every_command_of_the_book_prints_what_it_shows() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut all = 0;
    for path in chapters() {
        let text = std::fs::read_to_string(&path).expect("a text");
        let folder = Folder::new();
        let (now, commands) = retold(&text, &folder);
        all += commands;
        for name in text.split("](pictures/").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (drawn, kept) = (folder.read(name), path.with_file_name("pictures").join(name));
            if update {
                std::fs::write(&kept, drawn).expect("the picture can be written");
            } else {
                assert_eq!(std::fs::read_to_string(&kept).unwrap_or_default(), drawn, "{}", kept.display());
            }
        }
        if update {
            std::fs::write(&path, now).expect("the file can be written");
        } else {
            assert_eq!(text, now, "{}: run with UPDATE=1 and read what has changed", path.display());
        }
    }
    assert!(all >= 25, "only {all} commands");
}

/// A model with an error, for the examples of `--help`.
const WRONG: &str = "#ifndef N\n#define N 2\n#endif\nbyte x;\nactive [N] proctype P() { byte t; t = x; x = t + 1; assert(x < 20) }\n\
active proctype Q() { x > 0 -> assert(x == N) }\n";

/// Programs in LF: one that needs an environment, and one that does not.
const OPEN: &str = "MODULE M;\nPROCESS P;\nVAR n : INTEGER;\nBEGIN n := 1 END P;\nBEGIN CREATE P END M.\n";
const PROGRAM: &str = "MODULE M; VAR n : INTEGER; BEGIN n := 1; ASSERT n = 1 END M.\n";

#[test]
fn every_example_of_the_help_runs() {
    let folder = Folder::with("model.pml", WRONG);
    let hybrid = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/abp/altbit.pch");
    folder.write("altbit.pch", std::fs::read(hybrid).expect("the example"));
    folder.run(&["check", "model.pml", "--trace", "path.json", "--trail", "model.pml.trail"]).exits(1);
    folder.run(&["generate", "altbit.pch", "-o", "altbit"]).exits(0);
    folder.run(&["check", "altbit.pch", "--ltl", "[] false", "--trace", "abp.json"]).exits(1);
    folder.write("open.lf", OPEN);
    folder.write("program.lf", PROGRAM);
    // The trace of a program that has only begun.
    folder.write("run.trace", "start 1 init\n");
    let path = searched();
    for place in [".local/share/bash-completion/completions", ".local/share/man/man1", ".zfunc", ".config/fish/completions"] {
        std::fs::create_dir_all(folder.path(place)).expect("a folder");
    }
    let commands = folder.run(&["help"]).exits(0).out;
    let names = commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next());
    let mut run = 0;
    for name in std::iter::once("").chain(names.filter(|name| !["help", "everypath", "-h,", "-V,"].contains(name))) {
        let help = if name.is_empty() { folder.run(&["help"]) } else { folder.run(&["help", name]) };
        let examples = help.out.lines().skip_while(|line| *line != "Examples:").skip(1).take_while(|line| line.starts_with("  everypath "));
        for example in examples {
            // An explanation may follow the example.
            let command = example.trim().split("   ").next().unwrap_or_default().split("  ").next().unwrap_or_default();
            // The file that `new` writes must not exist; and there may be no pager here.
            let command = command.replace(" | man -l -", " > page.1");
            if command.contains(" new ") && folder.has("first.pml") {
                std::fs::remove_file(folder.path("first.pml")).expect("it is ours");
            }
            let mut shell = std::process::Command::new("sh");
            shell.current_dir(folder.path("")).args(["-c", &command]).stdin(std::process::Stdio::null());
            shell.env("HOME", folder.path("")).env("PATH", &path);
            let output = shell.output().expect("a shell");
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.code().is_some_and(|code| code == 0 || code == 1 || code == 3), "{command}: {told}");
            assert!(!told.contains("error:"), "{command}: {told}");
            run += 1;
        }
    }
    assert!(run >= 25, "only {run} examples");
}

/// The words of a text that begin with two dashes, without their values.
fn options(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || "[](),;'\"`|".contains(c)).filter(|word| word.starts_with("--"));
    words.map(|word| word.split('=').next().unwrap_or(word)).filter(|word| word.len() > 2)
}

#[test]
fn every_option_that_the_book_names_exists() {
    let folder = Folder::new();
    let listed = folder.run(&["help"]).exits(0).out;
    let verbs: Vec<&str> =
        listed.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).filter(|verb| !verb.is_empty()).collect();
    let help = |verb: &str| folder.run(&["help", verb]);
    let known = |text: &str| options(text).map(|option| option.trim_end_matches(['.', ':', '…']).to_owned()).collect::<Vec<_>>();
    let of: std::collections::BTreeMap<&str, Vec<String>> =
        verbs.iter().map(|verb| (*verb, help(verb))).filter(|(_, run)| run.code == 0).map(|(verb, run)| (verb, known(&run.out))).collect();
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for path in chapters() {
        let text = std::fs::read_to_string(&path).expect("a text");
        let mut inside = false;
        let prose = text.lines().filter(|line| {
            let fence = line.starts_with("```");
            inside ^= fence;
            !inside && !fence
        });
        // A span of code may continue on the next line.
        for span in prose.collect::<Vec<_>>().join("\n").split('`').skip(1).step_by(2) {
            let words = span.split_whitespace().collect::<Vec<_>>();
            let ["everypath", verb, ..] = words[..] else { continue };
            let Some(own) = of.get(verb) else {
                // A function of the library for C, for example.
                wrong
                    .extend(verb.chars().all(|c| c.is_ascii_lowercase()).then(|| format!("{}: no command {verb}: {span}", path.display())));
                continue;
            };
            seen += 1;
            wrong.extend(
                options(span)
                    .filter(|option| !own.iter().any(|own| own == option))
                    .map(|option| format!("{}: {option}: {span}", path.display())),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 60, "only {seen} commands");
}

#[test]
fn the_summary_names_every_chapter() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).expect("the summary");
    for folder in ["", "guide"] {
        for entry in std::fs::read_dir(docs.join(folder)).expect("a folder") {
            let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            let link = if folder.is_empty() { format!("({name})") } else { format!("({folder}/{name})") };
            assert!(!name.ends_with(".md") || name == "SUMMARY.md" || summary.contains(&link), "{link} is not in the summary");
        }
    }
}
