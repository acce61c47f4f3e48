//! Follows the recipes of `ARCHITECTURE.md`: adds a toy search order, store, language and command
//! to a copy of the tree, and lets the compiler check it.
//!
//! Each toy touches only the files that its recipe names, besides its own new file and the root of
//! its crate. If another file had to be touched, the copy would not compile: the compiler requires
//! every `match` to be complete. So a copy that compiles shows that the recipe is complete. `tidy`
//! shows the opposite, that a recipe names no file in vain.
//!
//! What follows from the tables without a change is tried with the command of the copy: the toys
//! are in its help and in its refusals, and a model in the toy language is checked with the toy
//! order and the toy store. The tests of the copy walk its tables, so the toys are in the matrix of
//! models too.

use crate::{Failure, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Options of the command.
#[derive(clap::Args)]
pub struct Arguments {
    /// Make the copy and print the files that were touched, without compiling it
    #[arg(long)]
    no_check: bool,
    /// Compile the copy, without running its command and its tests
    #[arg(long, conflicts_with = "no_check")]
    no_run: bool,
}

/// A copy of the tree, and the files in it that were touched.
struct Copy {
    folder: PathBuf,
    touched: BTreeSet<String>,
}

impl Copy {
    /// Copies everything except build products and version control.
    fn new(folder: PathBuf) -> Result<Copy, Failure> {
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
        }
        copy(&root(), &folder)?;
        Ok(Copy { folder, touched: BTreeSet::new() })
    }

    fn write(&mut self, path: &str, text: &str) -> Result<(), Failure> {
        let file = self.folder.join(path);
        fs::write(&file, text).map_err(|error| failed(&file, &error))?;
        self.touched.insert(path.to_owned());
        Ok(())
    }

    /// Changes a file by a rule; an error if the rule changes nothing.
    fn change(&mut self, path: &str, rule: impl Fn(&str) -> String) -> Result<(), Failure> {
        let file = self.folder.join(path);
        let before = fs::read_to_string(&file).map_err(|error| failed(&file, &error))?;
        let after = rule(&before);
        if after == before {
            return Err(format!("{path}: there is no place for the toy; the recipe, or this command, is out of date"));
        }
        self.write(path, &after)
    }

    /// Inserts a line after the first line that begins with `before`.
    fn insert_after(&mut self, path: &str, before: &str, line: &str) -> Result<(), Failure> {
        self.change(path, |text| {
            let at = text.lines().position(|candidate| candidate.trim_start().starts_with(before));
            let lines = text.lines().enumerate().flat_map(|(number, old)| [Some(old), (Some(number) == at).then_some(line)]);
            lines.flatten().map(|line| format!("{line}\n")).collect()
        })
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    format!("{}: {error}", path.display())
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to).map_err(|error| failed(to, &error))?;
    for entry in fs::read_dir(from).map_err(|error| failed(from, &error))?.flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        if name == "target" || name == ".git" {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else {
            fs::copy(&path, to.join(name)).map_err(|error| failed(&path, &error))?;
        }
    }
    Ok(())
}

/// Adds an alternative next to an existing one: in each `match` that names the old one, the new one
/// shares its arm.
fn beside(text: &str, old: &str, new: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(old) {
        let behind = &rest[at + old.len()..];
        out.push_str(&rest[..at + old.len()]);
        // In a pattern, `=>` or another alternative follows.
        if behind.trim_start().starts_with("=>") || behind.trim_start().starts_with('|') {
            out.push_str(&format!(" | {new}"));
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

fn order(copy: &mut Copy) -> Result<(), Failure> {
    let toy = "//! A toy search order: depth first under another name.\n\n\
               use crate::{Task, depth_first};\nuse contract::{Outcome, Store, System};\n\n\
               /// Searches depth first.\n\
               pub fn toy<S: System + Clone, T: Store>(system: &S, store: &T, task: &Task<'_>) -> Outcome {\n    depth_first(system, store, task)\n}\n";
    copy.write("crates/search/src/toy.rs", toy)?;
    copy.insert_after("crates/search/src/lib.rs", "mod ", "mod toy;\npub use toy::toy;")?;
    copy.insert_after("crates/check/src/table.rs", "Breadth = \"bfs\"", "        Toy = \"toy\", \"A toy\";")?;
    copy.change("crates/check/src/table.rs", |text| beside(text, "Order::Depth", "Order::Toy"))?;
    copy.insert_after("crates/check/src/stores.rs", "Order::Depth =>", "        Order::Toy => search::toy(system, store, task),")
}

fn store(copy: &mut Copy) -> Result<(), Failure> {
    let toy = "//! A toy store: the plain one under another name.\n\n/// Whole states.\npub type ToyStore = crate::Plain;\n";
    copy.write("crates/store/src/toy.rs", toy)?;
    copy.insert_after("crates/store/src/lib.rs", "mod arena", "mod toy;\npub use toy::ToyStore;")?;
    copy.insert_after("crates/check/src/table.rs", "Plain = \"plain\"", "        Toy = \"toy\", \"A toy\";")?;
    copy.change("crates/check/src/table.rs", |text| beside(text, "StoreKind::Plain", "StoreKind::Toy"))?;
    copy.insert_after(
        "crates/check/src/stores.rs",
        "StoreKind::Plain => with(",
        "        StoreKind::Toy => with(system, &mut store::ToyStore::with_budget(budget), order, task, from),",
    )?;
    // Elsewhere in the same file it is a plain store.
    copy.change("crates/check/src/stores.rs", |text| {
        let (head, rest) = text.split_once("StoreKind::Toy => with(").unwrap_or((text, ""));
        format!("{head}StoreKind::Toy => with({}", beside(rest, "StoreKind::Plain", "StoreKind::Toy"))
    })
}

fn language(copy: &mut Copy) -> Result<(), Failure> {
    copy.change("crates/languages/src/load.rs", |text| {
        format!("{text}\n/// A toy language: assembly.\npub(crate) use assembly as toy;\n")
    })?;
    copy.change("crates/languages/src/lib.rs", |text| {
        text.replacen("use load::{Front, ", "use load::toy;\nuse load::{Front, ", 1).replacen(
            "pub const LANGUAGES: &[Language] = &[\n",
            "pub const LANGUAGES: &[Language] = &[\n    \
             Language { name: \"toy\", endings: &[\"toy\"], magic: None, tells: None, front: Front::Program(toy) },\n",
            1,
        )
    })
}

fn command(copy: &mut Copy) -> Result<(), Failure> {
    let toy = "//! `everypath toy`: does nothing.\n\n\
               use super::Asks;\nuse crate::Exit;\nuse crate::failure::Failure;\nuse clap::Args;\n\n\
               /// No options.\n#[derive(Debug, Args)]\npub struct Arguments {}\n\n\
               impl Asks for Arguments {\n    fn json(&self) -> bool {\n        false\n    }\n}\n\n\
               pub fn run(_: &Arguments) -> Result<Exit, Failure> {\n    Ok(Exit::Fine)\n}\n";
    copy.write("crates/cli/src/commands/toy.rs", toy)?;
    copy.insert_after("crates/cli/src/commands/mod.rs", "mod space;", "mod toy;")?;
    copy.insert_after("crates/cli/src/commands/mod.rs", "Space: space,", "    /// Do nothing\n    Toy: toy,")
}

/// The files that a recipe of `ARCHITECTURE.md` names.
fn named(document: &str, recipe: &str) -> BTreeSet<String> {
    let lines = document.lines().skip_while(|line| !line.starts_with(recipe));
    let mut first = true;
    let lines = lines.take_while(|line| std::mem::take(&mut first) || line.starts_with("  "));
    let text = lines.collect::<Vec<_>>().join(" ");
    text.split('`').skip(1).step_by(2).filter(|word| word.ends_with(".rs")).map(str::to_owned).collect()
}

type Toy = fn(&mut Copy) -> Result<(), Failure>;

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let document = fs::read_to_string(root().join("ARCHITECTURE.md")).map_err(|error| format!("ARCHITECTURE.md: {error}"))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder));
    let mut copy = Copy::new(target.join("recipes"))?;
    let toys: [(&str, Toy); 4] =
        [("- *A new search order*", order), ("- *A new store*", store), ("- *A new language*", language), ("- *A new command*", command)];
    for (recipe, add) in toys {
        copy.touched.clear();
        add(&mut copy)?;
        let named = named(&document, recipe);
        // Every recipe mentions the toy's own file and the root of its crate, without their paths.
        let own = |path: &&String| path.ends_with("/toy.rs") || path.ends_with("/src/lib.rs");
        let foreign: Vec<&String> = copy.touched.iter().filter(|path| !named.contains(*path) && !own(path)).collect();
        if !foreign.is_empty() {
            return Err(format!("{recipe}: the recipe does not name {foreign:?}"));
        }
        println!("{}: {} files touched: {}", recipe.trim_start_matches("- "), copy.touched.len(), files(&copy.touched));
    }
    if arguments.no_check {
        return Ok(());
    }
    let cargo = |arguments: &[&str]| {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(&copy.folder).env("CARGO_TARGET_DIR", &target).args(arguments);
        cargo
    };
    let succeeds = |arguments: &[&str], otherwise: &str| {
        let status = cargo(arguments).status().map_err(|error| format!("cargo cannot be started: {error}"))?;
        if status.success() { Ok(()) } else { Err(otherwise.to_owned()) }
    };
    succeeds(
        &["check", "--quiet", "--workspace", "--exclude", "tidy"],
        "the copy with the toys does not compile: a recipe does not name all files",
    )?;
    println!("the copy with all four compiles");
    if !arguments.no_run {
        tried(&copy, &cargo)?;
        succeeds(&["test", "--quiet", "-p", "check", "--test", "models"], "the matrix of models fails in the copy")?;
        println!("the command of the copy knows all four, and its matrix of models passes");
    }
    fs::remove_dir_all(&copy.folder).map_err(|error| failed(&copy.folder, &error))?;
    Ok(())
}

/// A call of the command of the copy: its arguments, its exit code, and texts that its output has,
/// each with the number of times that it is there at least.
struct Call<'a> {
    arguments: &'a [&'a str],
    code: i32,
    says: &'a [(&'a str, usize)],
}

/// Tries what the command of the copy does with the toys.
fn tried(copy: &Copy, cargo: &dyn Fn(&[&str]) -> Command) -> Result<(), Failure> {
    let model = copy.folder.join("model.toy");
    fs::copy(copy.folder.join("models/asm/peterson.epa"), &model).map_err(|error| failed(&model, &error))?;
    let calls = [
        // The order and the store, with their help.
        Call { arguments: &["check", "--help"], code: 0, says: &[("- toy:", 2), ("A toy", 2)] },
        Call { arguments: &["--help"], code: 0, says: &[("Do nothing", 1)] },
        Call { arguments: &["toy"], code: 0, says: &[] },
        // A name that is unknown is answered with all names, and a combination that is refused with
        // the sentence of its rule.
        Call { arguments: &["check", "model.toy", "--search", "tox"], code: 2, says: &[("toy", 1)] },
        Call { arguments: &["check", "model.toy", "--store", "tox"], code: 2, says: &[("toy", 1)] },
        Call { arguments: &["check", "model.toy", "--search", "toy", "--store", "disk"], code: 2, says: &[("use `--search bfs`", 1)] },
        Call {
            arguments: &["check", "model.toy", "--search", "toy", "--store", "toy", "--json"],
            code: 0,
            says: &[("\"holds\"", 1), ("\"toy\"", 1)],
        },
    ];
    for Call { arguments, code, says } in calls {
        let all = [&["run", "--quiet", "-p", "cli", "--"], arguments].concat();
        let output = cargo(&all).output().map_err(|error| format!("cargo cannot be started: {error}"))?;
        let told = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        let wrong = |what: &str| Err(format!("`everypath {}` in the copy: {what}\n{told}", arguments.join(" ")));
        if output.status.code() != Some(code) {
            return wrong(&format!("exit code {:?}, and {code} was expected", output.status.code()));
        }
        if let Some((text, times)) = says.iter().find(|(text, times)| told.matches(text).count() < *times) {
            return wrong(&format!("`{text}` is not there {times} times"));
        }
    }
    Ok(())
}

fn files(paths: &BTreeSet<String>) -> String {
    paths.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_alternative_takes_the_arm_of_an_old_one() {
        let text = "match a { A::X => 1, A::Y | A::X => 2 } let b = A::X;";
        assert_eq!(beside(text, "A::X", "A::Z"), "match a { A::X | A::Z => 1, A::Y | A::X | A::Z => 2 } let b = A::X;");
    }

    #[test]
    fn the_files_of_a_recipe_are_found() {
        let document = "- *One*: `a.rs`, and\n  `b.rs`.\n- *Two*: `c.rs`\n";
        assert_eq!(named(document, "- *One*"), BTreeSet::from(["a.rs".to_owned(), "b.rs".to_owned()]));
    }
}
