//! The examples in C, compiled against the header and the static library, have the same results as
//! the Rust library.
//!
//! The tests are skipped without a C compiler, because they must run on a machine that has only the
//! Rust toolchain.

use everypath::{Plan, Program, Verdict};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Two processes that count to two, and meet at a failing assertion only if `limit` is reached.
fn counters(limit: u8) -> String {
    format!(
        "global byte n\n\
         process P() {{\n local byte i\n\
         again:\n NDET stop\n ;: i < 2\n LDL i\n LDC 2\n LT\n NEXZ\n LDL i\n LDC 1\n ADD\n STL i\n LDG n\n LDC 1\n ADD\n STG n\n STEP N\n JMP again\n\
         stop:\n ;: assert(n < {limit})\n LDL i\n LDC 2\n EQ\n NEXZ\n LDG n\n LDC {limit}\n LT\n ASSERT\n STEP N\n\
         ;: end\n STEP T\n}}\n\
         start P, P\n"
    )
}

const STUCK: &str = "process P() {\n ;: false\n LDC 0\n NEXZ\n STEP N\n STEP T\n}\nstart P\n";

fn compiler() -> Option<&'static str> {
    let works = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    ["cc", "gcc", "clang"].into_iter().find(works)
}

/// The folder into which cargo has built this test, and the library next to it.
fn library() -> PathBuf {
    let folder = std::env::current_exe().expect("a test has a path").parent().expect("in a folder").to_path_buf();
    let library = folder.join("libeverypath_c.a");
    if library.exists() { library } else { folder.join("../libeverypath_c.a") }
}

/// The libraries that the static library needs, from the `pkg-config` file.
fn private_libraries() -> Vec<&'static str> {
    let lines = include_str!("../everypath.pc.in").lines();
    lines.filter_map(|line| line.strip_prefix("Libs.private:")).flat_map(str::split_whitespace).collect()
}

fn compile(compiler: &str, source: &Path, program: &Path) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-o"])
        .arg(program)
        .arg("-I")
        .arg(here.join("include"))
        .arg(source)
        .arg(library())
        .args(private_libraries())
        .output()
        .expect("the compiler starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// An example that was compiled.
struct Example(PathBuf);

impl Example {
    /// Compiles `examples/NAME.c`; prints a line and returns `None` if there is no C compiler.
    fn build(name: &str) -> Option<Example> {
        Example::of(name, &Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(format!("{name}.c")))
    }

    fn of(name: &str, source: &Path) -> Option<Example> {
        let Some(compiler) = compiler() else {
            testkit::passed_over("there is no C compiler");
            return None;
        };
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        compile(compiler, source, &program);
        Some(Example(program))
    }

    /// Exit code, output and messages of a run.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let output = Command::new(&self.0).args(arguments).output().expect("the example starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }
}

/// The path of a file with this text.
fn written(name: &str, text: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("the target folder can be written");
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// The program of the book prints what the book says.
#[test]
fn the_program_of_the_book_runs() {
    let chapter = include_str!("../../../docs/guide/embedding.md");
    let block = |begin: &str| chapter.split_once(begin).and_then(|(_, rest)| rest.split_once("```\n")).expect("a block").0;
    let source = written("book.c", block("```c first.c\n"));
    let Some(example) = Example::of("book", Path::new(&source)) else { return };
    let (code, out, _) = example.run(&[]);
    assert_eq!((code, out.as_str()), (Some(1), block("```text\n")));
}

/// A system and a store in C: the search is the library's.
#[test]
fn a_system_and_a_store_in_c_are_explored() {
    let Some(example) = Example::build("own") else { return };
    let (code, out, err) = example.run(&[]);
    assert_eq!((code, err.as_str()), (Some(1), ""));
    let lines: Vec<&str> = out.lines().collect();
    let (numbers, path) = lines.split_last().expect("the numbers");
    assert_eq!((path.len(), path[0]), (7, "0 0"), "a shortest path has six steps: {out}");
    assert!(path[6].ends_with(" 4"), "{out}");
    let (states, table) = numbers.split_once(" states, ").expect("two numbers");
    assert_eq!(table, format!("{states} in the table"));
}

/// A check at full speed with limits, which returns its outcome as a value and can be stopped by a
/// watcher.
#[test]
fn a_check_in_c_has_limits_progress_and_an_outcome() {
    let Some(example) = Example::build("check") else { return };
    let (code, out, _) = example.run(&[&written("check_good.epa", &counters(5)), "1000000"]);
    let text = counters(5);
    let checked = Program::load("c.epa", text.as_bytes()).and_then(|program| program.check(&Plan::usual())).expect("a good program");
    let statistics = &checked.outcome.statistics;
    assert_eq!((code, out), (Some(0), format!("{} states, {} transitions\n", statistics.states, statistics.transitions)));
    let (code, out, _) = example.run(&[&written("check_wrong.epa", &counters(4)), "1000000"]);
    assert_eq!(code, Some(1));
    assert!(out.contains("assert(n < 4)"), "{out}");
    // Each process sees what the others do, so no order of their steps can be left out.
    let endless = "int sum; active [6] proctype P() { byte i; do :: sum < 1000 && i < 200 -> i++; sum++ :: i > 0 -> i--; sum-- od }";
    let (code, out, err) = example.run(&[&written("check_endless.pml", endless), "1"]);
    assert_eq!(code, Some(3), "{out}{err}");
    assert!(err.contains("states after"), "{err}");
}

#[test]
fn the_example_in_c_explores_what_we_explore() {
    let Some(example) = Example::build("bfs") else { return };
    let run = |name: &str, text: &str| example.run(&[&written(name, text)]);

    let text = counters(5);
    let checked = Program::load("c.epa", text.as_bytes()).and_then(|program| program.check(&Plan::check())).expect("a good program");
    assert_eq!(checked.outcome.verdict, Verdict::Holds);
    let numbers = &checked.outcome.statistics;
    let (code, out, _) = run("good.epa", &text);
    assert_eq!(out, format!("{} states, {} transitions\n", numbers.states, numbers.transitions));
    assert_eq!(code, Some(0));

    let (code, out, _) = run("assertion.epa", &counters(4));
    assert_eq!(code, Some(1));
    assert!(out.contains("fault: ") && out.contains("assert(n < 4)"), "{out}");

    let (code, out, _) = run("stuck.epa", STUCK);
    assert_eq!(code, Some(1));
    assert_eq!(out, "deadlock\n1 states, 0 transitions\n");

    let (code, out, err) = run("bad.epa", "process P( {\n");
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("bad.epa:1:"), "{err}");
}
