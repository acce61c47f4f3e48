//! The rules of the project, applied to this repository.

use std::process::Command;
use tidy::{Finding, documents, exports, recipes, rooms, sources, tree};

fn none(findings: Vec<Finding>) {
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

#[test]
fn crates_use_only_what_the_architecture_allows() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(tree::root())
        .output()
        .expect("cargo runs: it started this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let crates = rooms::crates(&String::from_utf8_lossy(&output.stdout)).expect("cargo's metadata");
    let document = tree::files(&tree::root(), &["ARCHITECTURE.md"]).expect("readable tree");
    assert!(!rooms::map(&document[0].text).is_empty(), "the map of rooms was not found");
    none(rooms::check(&document[0].text, &crates));
}

#[test]
fn paths_named_in_documents_exist() {
    let root = tree::root();
    let documents = tree::files(&root, &[".md"]).expect("readable tree");
    assert!(documents.iter().any(|file| file.path == "README.md"));
    let exists = |path: &str| root.join(path).exists();
    let findings = documents.iter().flat_map(|file| documents::check(&file.path, &file.text, &exists));
    none(findings.collect());
}

#[test]
fn lines_of_documents_are_not_too_long() {
    let documents = tree::files(&tree::root(), &[".md"]).expect("readable tree");
    // Records of measurements are kept as they were printed.
    let written = documents.iter().filter(|file| !file.path.starts_with("bench/runs/"));
    none(written.flat_map(|file| documents::long_lines(&file.path, &file.text)).collect());
}

#[test]
fn sources_follow_the_rules() {
    let files = tree::files(&tree::root(), &[".rs"]).expect("readable tree");
    assert!(files.len() > 5, "the sources were not found");
    none(files.iter().flat_map(|file| sources::check(&file.path, &file.text)).collect());
}

#[test]
fn nothing_names_a_place_on_one_machine() {
    let endings = [".rs", ".md", ".toml", ".sh", ".pml", ".epa", ".c", ".h", ".py", "run"];
    let files = tree::files(&tree::root(), &endings).expect("readable tree");
    let findings = files.iter().flat_map(|file| sources::machine_paths(&file.path, &file.text));
    none(findings.collect());
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    let manifests = tree::files(&tree::root(), &["Cargo.toml"]).expect("readable tree");
    let ours = manifests.iter().filter(|file| file.path.starts_with("crates/") || file.path.starts_with("xtask/"));
    let findings = ours
        .filter(|file| !file.text.contains("[lints]\nworkspace = true"))
        .map(|file| Finding::new(&file.path, 1, "add `[lints]` with `workspace = true`"));
    none(findings.collect());
}

#[test]
fn ci_runs_the_commands_of_the_readme() {
    let read = |name: &str| std::fs::read_to_string(tree::root().join(name)).expect("it is there");
    let (readme, ci) = (read("README.md"), read(".ci/run"));
    let commands: Vec<&str> = readme.lines().filter(|line| line.starts_with("cargo ")).collect();
    assert_eq!(commands.len(), 2, "one command checks an example, one runs the tests");
    for command in commands {
        // The part after the command's own options is the same in both; CI only adds `--quiet`.
        let asked = command.replace("cargo run ", "cargo run --quiet ");
        assert!(ci.contains(command) || ci.contains(&asked), ".ci/run does not run `{command}`");
    }
}

/// The recipes name the files that must be changed for a new order, store, search for cycles,
/// language or command; see `tidy::recipes`.
#[test]
fn recipes_name_the_files_that_something_new_touches() {
    let root = tree::root();
    let read = |name: &str| std::fs::read_to_string(root.join(name)).expect("it is there");
    let table = read("crates/check/src/table.rs");
    let languages = read("crates/languages/src/lib.rs");
    let fronts = languages.lines().find(|line| line.starts_with("use load::{Front,")).expect("the functions of the languages");
    let fronts = fronts.split(['{', '}']).nth(1).expect("a list").split(", ").skip(1).map(str::to_owned).collect();
    let kinds = [
        recipes::Kind { recipe: "- *A new search order*", marker: "Order", names: recipes::declared(&table, "Order, \"", '=') },
        recipes::Kind { recipe: "- *A new store*", marker: "StoreKind", names: recipes::declared(&table, "StoreKind, \"", '=') },
        recipes::Kind { recipe: "- *A new search for cycles*", marker: "Cycles", names: recipes::declared(&table, "Cycles, \"", '=') },
        recipes::Kind { recipe: "- *A new language*", marker: "", names: fronts },
        recipes::Kind {
            recipe: "- *A new command*",
            marker: "",
            names: recipes::declared(&read("crates/cli/src/commands/mod.rs"), "commands! {", ':'),
        },
    ];
    let document = read("ARCHITECTURE.md");
    let files = tree::files(&root, &[".rs"]).expect("readable tree");
    for kind in &kinds {
        assert!(kind.names.len() >= 2, "{kind:?}");
    }
    none(kinds.iter().flat_map(|kind| recipes::check(&document, &files, kind)).collect());
}

/// Names that no other crate mentions, although they are needed there.
const NOT_WRITTEN_DOWN: [exports::Allowed<'static>; 17] = [
    ("Mark", "what `Successors::mark` returns"),
    ("Room", "what `Successors::room` returns"),
    ("Terminal", "what `terminal_components` returns"),
    ("Acceptance", "the bound of the systems that `nested_depth_first` takes"),
    ("LayersWorker", "the associated type of a store"),
    ("CtlWitness", "the type of a field of `Checked`"),
    ("BitsWorker", "the associated type of a store"),
    ("CacheWorker", "the associated type of a store"),
    ("CompactWorker", "the associated type of a store"),
    ("HashesWorker", "the associated type of a store"),
    ("JoinedWorker", "the associated type of a store"),
    ("MarkedWorker", "the associated type of a store"),
    ("PlainWorker", "the associated type of a store"),
    ("StressFailure", "what `stress` returns"),
    ("StressReport", "what `stress` returns"),
    ("Reopened", "what `reopen` returns"),
    ("Shortest", "what `shortest_lasso` returns"),
];

#[test]
fn exports_at_the_seams_have_users() {
    let files = tree::files(&tree::root(), &[".rs"]).expect("readable tree");
    none(exports::unused(&files, &NOT_WRITTEN_DOWN));
}

/// Public functions whose only users are tests, for a reason.
const CALLED_BY_TESTS: [exports::Allowed<'static>; 2] = [
    ("state_mut", "brings successors to a canonical form; its user is a toy until there is a symmetry reduction"),
    ("system_state", "tests look at the states of a product by it"),
];

#[test]
fn public_functions_at_the_seams_are_called() {
    let files = tree::files(&tree::root(), &[".rs"]).expect("readable tree");
    none(exports::uncalled(&files, &CALLED_BY_TESTS));
}

#[test]
fn values_are_fields_or_methods() {
    let files = tree::files(&tree::root(), &[".rs"]).expect("readable tree");
    none(exports::twofold(&files));
}

/// Names that two crates use for their own form of one notion, and that no third crate confuses.
const SAME_NAME: [exports::Allowed<'static>; 30] = [
    ("Reduced", "whether a search was reduced in `check`, a system with fewer steps in `search`"),
    ("Progress", "of a search in `contract`, of a translation in `jit`"),
    ("Automaton", "as a program carries it, as `logic` makes it, as a search runs it; `check::claim` turns one into the other"),
    ("AutomatonEdge", "an edge of each of these automata"),
    ("Edge", "of a state space in `contract`, of a graph in a file in `lts`, of an automaton in `logic`, of a goal in `heuristic`"),
    ("Fault", "what an operation raises in `bytecode`, what is told to users in `contract`"),
    ("LeftOut", "processes that a reduction leaves out in `contract`, statements that are not listed in `replay`"),
    ("Compiled", "what a front-end returns: a program, and what only its language has"),
    ("Request", "what a front-end is asked for: definitions, and what only its language has"),
    ("Loader", "what a front-end asks for other files: modules in `lf`, included texts in `promela`"),
    ("Options", "of the translation of one language: to byte-code in `lf`, to C in `generate`"),
    ("NoFiles", "no file can be included; `languages` implements the traits of all front-ends, `promela` its own"),
    ("Component", "of a state in `bytecode`, of an automaton in `logic`"),
    ("Shape", "of a component of a state in `bytecode`, of a formula in `logic`"),
    ("Event", "on a channel in `bytecode`, within a transition in `vm`, of a recorded run in `replay`"),
    ("Facts", "of an automaton in `logic`, of a program in `stepgraph`"),
    ("Node", "of a formula in `logic`, of an expression in `stepgraph`"),
    ("TooLarge", "a formula in `logic`, a program in `stepgraph`: an error of each"),
    ("Goal", "of a search: what estimates lead to in `heuristic`, what passes must preserve in `optimise`"),
    ("Off", "why there is no pass in `optimise`, no reduction in `reduction`"),
    ("Label", "a named address in `bytecode`, a second position of a diagnostic in `source`"),
    ("Location", "a control location in `bytecode`, a line and column in `source`"),
    ("Span", "the position of instructions in `bytecode`, a range of a text in `source`"),
    ("Shown", "how a value is shown in `bytecode`, the statements that are shown in `replay`"),
    ("Slot", "the place of a variable in a state in `bytecode`, in a frame in `runtime`"),
    ("Part", "a share of the steps of a state in `bytecode`, of the results of a search in `distribute`"),
    ("Place", "of an instruction in `bytecode`, of a process in `distribute`, of a run in `runs`, of a value in `stepgraph`"),
    ("Native", "a program in native code in `jit`, what executes native instructions of a run in `runtime`"),
    ("Finding", "what a property finds in `contract`, a breach of a rule in `tidy`"),
    ("Program", "in byte-code in `bytecode`, of any kind for an embedder in `everypath`"),
];

#[test]
fn type_names_are_used_once() {
    let files = tree::files(&tree::root(), &[".rs"]).expect("readable tree");
    none(exports::repeated(&files, &SAME_NAME));
}
