//! The example in C, compiled against the header and the static library, explores programs and finds what the Rust library finds.
//!
//! Passed over where there is no C compiler: the tests must run on a machine that has only the Rust toolchain.

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

/// The folder into which cargo has built this test, and the library beside it.
fn library() -> PathBuf {
    let folder = std::env::current_exe().expect("a test has a path").parent().expect("in a folder").to_path_buf();
    let library = folder.join("libeverypath_c.a");
    if library.exists() { library } else { folder.join("../libeverypath_c.a") }
}

/// What a static library needs beside itself, as the `pkg-config` file has it.
fn private_libraries() -> Vec<&'static str> {
    let lines = include_str!("../everypath.pc.in").lines();
    lines.filter_map(|line| line.strip_prefix("Libs.private:")).flat_map(str::split_whitespace).collect()
}

fn compile(compiler: &str, program: &Path) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-o"])
        .arg(program)
        .arg("-I")
        .arg(here.join("include"))
        .arg(here.join("examples/bfs.c"))
        .arg(library())
        .args(private_libraries())
        .output()
        .expect("the compiler starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_example_in_c_explores_what_we_explore() {
    let Some(compiler) = compiler() else {
        eprintln!("passed over: there is no C compiler");
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = folder.join("bfs");
    compile(compiler, &program);

    let run = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("the target folder can be written");
        let output = Command::new(&program).arg(&path).output().expect("the example starts");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
    };

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
