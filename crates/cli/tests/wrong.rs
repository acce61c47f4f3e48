//! Errors in the call or the input: exit code 2, a reason on standard error, nothing on standard
//! output.

mod common;

use common::{FINE, Folder, LOST_UPDATE};

fn refused(folder: &Folder, arguments: &[&str]) -> String {
    let run = folder.run(arguments).exits(2);
    assert_eq!(run.out, "", "{arguments:?}");
    assert!(!run.err.trim().is_empty(), "{arguments:?}");
    run.err
}

#[test]
fn wrong_calls() {
    let folder = Folder::with("model.epa", FINE);
    let calls: [&[&str]; 20] = [
        &[],
        &["frobnicate"],
        &["check"],
        &["check", "model.epa", "--frobnicate"],
        &["check", "model.epa", "second.epa"],
        &["check", "model.epa", "--memory", "lots"],
        &["check", "model.epa", "--memory", "0"],
        &["check", "model.epa", "--time", "soon"],
        &["check", "model.epa", "--depth", "-1"],
        &["check", "model.epa", "--threads", "0"],
        &["check", "model.epa", "--search", "best"],
        &["check", "model.epa", "--store", "attic"],
        &["check", "model.epa", "-D", "1=2"],
        &["check", "model.epa", "-D", "N=2"],
        &["space", "model.epa", "-o", "graph.png"],
        &["space", "model.epa", "-o", "graph"],
        &["simulate", "model.epa", "--seed", "1", "--interactive"],
        &["simulate", "model.epa", "--from", "nowhere"],
        &["replay", "nowhere.json"],
        &["compile", "model.epa", "-o", "nowhere/model.epb"],
    ];
    for call in calls {
        refused(&folder, call);
    }
}

#[test]
fn names_that_are_not_known_come_with_those_that_are() {
    let folder = Folder::with("model.epa", FINE);
    assert!(refused(&folder, &["check", "model.epa", "--search", "best"]).contains("bfs, dfs"));
    assert!(refused(&folder, &["check", "model.epa", "--store", "attic"]).contains("plain"));
    assert!(refused(&folder, &["space", "model.epa", "-o", "graph.png"]).contains(".aut"));
}

#[test]
fn wrong_files() {
    let folder = Folder::with("model.epa", FINE);
    for path in ["missing.epa", ".", "missing/model.epa", "model.epa/inside"] {
        let message = refused(&folder, &["check", path]);
        assert!(message.contains(path), "{message}");
    }
    assert!(refused(&folder, &["check", "modle.epa"]).contains("did you mean `model.epa`?"));
    folder.write("model.unknown", "neither this nor that");
    assert!(refused(&folder, &["check", "model.unknown"]).contains(".epa"));
    refused(&folder, &["check", "model.epa", "--trace", "nowhere/trace.json", "--depth", "x"]);
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error() {
    let folder = Folder::with("model.epa", common::DEADLOCK);
    refused(&folder, &["check", "model.epa", "--trace", "nowhere/trace.json"]);
    refused(&folder, &["space", "model.epa", "-o", "nowhere/graph.aut"]);
}

#[test]
fn garbage_is_refused_in_every_disguise() {
    let folder = Folder::new();
    let mut state = 42_u64;
    let mut random = |length: usize| -> Vec<u8> {
        let byte = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..length).map(byte).collect()
    };
    let mut samples: Vec<Vec<u8>> = vec![b"\xff\xfe".to_vec(), b"process".to_vec(), b"}\n".to_vec(), vec![b'('; 100_000], vec![b'\n'; 10]];
    samples.extend([1, 10, 100, 10_000].map(&mut random));
    for (number, sample) in samples.iter().enumerate() {
        for ending in ["epa", "epb"] {
            let name = format!("sample{number}.{ending}");
            folder.write(&name, sample);
            for verb in ["check", "space", "simulate", "compile", "replay"] {
                let run = folder.run(&[verb, &name]);
                // An empty assembly file is a program without processes, and valid.
                let empty = ending == "epa" && sample.iter().all(u8::is_ascii_whitespace) && verb != "replay";
                assert_eq!(run.code, if empty { 0 } else { 2 }, "{verb} {name}: {run:?}");
            }
        }
    }
}

#[test]
fn damaged_binaries_do_not_crash() {
    let folder = Folder::with("model.epa", FINE);
    folder.run(&["compile", "model.epa", "-o", "model.epb"]).exits(0);
    let good = std::fs::read(folder.path("model.epb")).expect("it was written");
    for position in (0..good.len()).step_by(good.len() / 40 + 1) {
        let mut bad = good.clone();
        bad[position] ^= 0x55;
        folder.write("bad.epb", &bad);
        // Some damage gives another program, but none makes the program crash.
        let run = folder.run(&["check", "bad.epb", "--time", "5s", "--memory", "100M"]);
        assert!((0..=3).contains(&run.code), "byte {position}: {run:?}");
        folder.write("short.epb", &good[..position]);
        // A program that was cut off is refused.
        refused(&folder, &["check", "short.epb"]);
    }
}

#[test]
fn mistakes_in_a_program_are_shown_in_their_line() {
    let folder = Folder::with("model.epa", FINE.replace("LDL count\n    LDC 3\n    EQ", "LDL cuont\n    LDC 3\n    EQ"));
    let message = refused(&folder, &["check", "model.epa"]);
    let line = FINE.lines().position(|line| line.contains("count == 3")).expect("it is there") + 2;
    assert!(message.contains(&format!("model.epa:{line}:")), "{message}");
    assert!(message.contains("LDL cuont") && message.contains('^'), "{message}");
    assert!(message.contains("did you mean `count`?"), "{message}");
    // The errors of the verifier have positions, too.
    folder.write("model.epa", FINE.replacen("NEXZ", "LDC 1", 1));
    let message = refused(&folder, &["check", "model.epa"]);
    assert!(message.contains("model.epa:") && message.contains('^'), "{message}");
}

#[test]
fn json_is_one_object_even_then() {
    let folder = Folder::with("model.epa", "process P( {\n");
    for arguments in [&["check", "model.epa", "--json"], &["space", "model.epa", "--json"], &["compile", "missing.epa", "--json"]] {
        let run = folder.run(arguments).exits(2);
        assert!(run.json()["error"].is_string(), "{run:?}");
        assert!(!run.err.is_empty());
    }
    for (arguments, wrong) in [(&["check", "--json"], "<MODEL>"), (&["frobnicate", "--json"], "frobnicate"), (&["--json", "x"], "--json")] {
        let run = folder.run(arguments).exits(2);
        assert!(run.json()["error"].as_str().is_some_and(|error| error.contains(wrong) && !error.contains("Usage")), "{run:?}");
        assert!(run.err.contains("Usage"), "{run:?}");
    }
    let run = folder.run(&["check", "model.epa", "--json=1"]).exits(2);
    assert!(run.json()["error"].as_str().is_some_and(|error| error.contains("--json")), "{run:?}");
    let json = folder.run(&["check", "model.epa", "--json"]).json();
    assert_eq!(json["diagnostics"][0]["line"], 1);
    assert_eq!(json["diagnostics"][0]["file"], "model.epa");
}

#[test]
fn help_is_not_an_error() {
    let folder = Folder::new();
    for arguments in [&["--help"][..], &["--version"], &["help", "check"], &["check", "--help"]] {
        let run = folder.run(arguments).exits(0);
        assert!(!run.out.is_empty(), "{run:?}");
    }
}

/// An output that is also an input, or that cannot be written, is reported before the work and
/// changes nothing.
#[test]
fn outputs_do_not_overwrite_inputs() {
    let folder = Folder::with("model.epa", LOST_UPDATE);
    folder.run(&["check", "model.epa", "--trace", "found.trace"]).exits(1);
    let (model, trace) = (folder.read("model.epa"), folder.read("found.trace"));
    folder.write("part.h", "byte x;\n");
    folder.write("part.json", "init { assert(x == 1) }\n");
    folder.write("model.pml", "#include \"part.h\"\n#include \"part.json\"\n");
    folder.run(&["check", "model.pml", "--trace", "path.trace", "--trail", "model.pml.trail"]).exits(1);
    for call in [
        &["check", "model.epa", "--trace", "model.epa"][..],
        &["check", "model.epa", "--trace", "./model.epa"],
        &["check", "model.epa", "--trace", "nowhere/found.trace"],
        &["check", "model.epa", "--trace", "."],
        &["compile", "model.epa", "-o", "model.epa"],
        &["simulate", "model.epa", "--steps", "1", "--trace", "model.epa"],
        &["replay", "found.trace", "--svg", "found.trace"],
        &["replay", "found.trace", "--html", "found.trace"],
        &["replay", "found.trace", "--html", "found", "--svg", "./found"],
        &["simulate", "model.epa", "--steps", "1", "--trace", "found", "--save", "found"],
        &["check", "model.pml", "--trace", "part.h"],
        // A trace names the texts of its program, and a trail of SPIN is read with its model.
        &["replay", "path.trace", "--svg", "part.json"],
        &["replay", "path.trace", "--html", "part.json"],
        &["replay", "model.pml.trail", "--svg", "model.pml"],
        &["replay", "model.pml.trail", "--html", "part.h"],
        &["shorten", "path.trace", "-o", "part.json"],
        &["space", "model.pml", "-o", "part.json"],
        &["compile", "model.pml", "-o", "./part.h"],
        &["simulate", "model.pml", "--save", "part.h"],
    ] {
        folder.run(call).exits(2);
    }
    assert!(folder.read("part.h").starts_with("byte") && folder.read("part.json").starts_with("init"));
    assert_eq!((folder.read("model.epa"), folder.read("found.trace")), (model, trace));
    assert!(!folder.path("found.trace.partial").exists());
}

/// A full disk loses the file, but not the verdict; and an answer that cannot be written to
/// standard output is not a success.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_does_not_cost_the_verdict() {
    let folder = Folder::with("model.epa", LOST_UPDATE);
    let run = folder.run(&["check", "model.epa", "--trace", "/dev/full"]).exits(1);
    assert!(run.out.starts_with("violated") && run.err.contains("/dev/full"), "{run:?}");
    for arguments in [
        &["compile", "model.epa", "--asm"][..],
        &["compile", "model.epa", "--json"],
        &["check", "model.epa"],
        &["check", "model.epa", "--json"],
        &["space", "model.epa", "--json"],
        &["simulate", "model.epa", "--seed", "1"],
        &["check", "missing.epa", "--json"],
        &["check", "model.epa", "--frobnicate", "--json"],
        &["--help"],
        &["--version"],
        &["help", "check"],
        &["space", "--help"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device that is always full");
        let output = folder.command(arguments).stdout(full).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write the answer"), "{arguments:?}");
    }
}

/// Runs the program in a shell that sets limits first.
#[cfg(target_os = "linux")]
fn limited(folder: &Folder, limit: &str, arguments: &str) -> common::Run {
    let script = format!("{limit}; exec {} {arguments}", env!("CARGO_BIN_EXE_everypath"));
    let output = std::process::Command::new("sh").args(["-c", &script]).current_dir(folder.path(".")).output().expect("a shell");
    common::Run::new(output)
}

/// A stack of 64 kB is enough to start; the work has a stack of its own, also for deeply nested
/// expressions.
#[cfg(target_os = "linux")]
#[test]
fn a_small_stack_is_no_obstacle() {
    let folder = Folder::with("model.epa", LOST_UPDATE);
    let (open, close) = ("(".repeat(60), ")".repeat(60));
    folder.write("nested.pml", format!("byte x; active proctype P() {{ x = {open}1{close}; assert(x == 2) }}\n"));
    folder.run(&["check", "model.epa", "--trace", "found.trace"]).exits(1);
    for (arguments, code) in [
        ("--version", 0),
        ("check --help", 0),
        ("check model.epa", 1),
        ("check nested.pml --json", 1),
        ("space model.epa -o graph.dot", 0),
        ("replay found.trace --html found.html", 0),
        ("compile nested.pml --asm", 0),
        ("frobnicate --json", 2),
    ] {
        limited(&folder, "ulimit -s 64", arguments).exits(code);
    }
}

/// A limit on the address space is a limit on memory: the budget stays below it, and the process
/// does not abort.
#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_the_address_space_is_a_budget() {
    let folder = Folder::with("model.epa", common::ENDLESS);
    for options in ["--store plain", "--store compact", "--search dfs", "--store hash", "--store bits"] {
        let run = limited(&folder, "ulimit -v 200000", &format!("check model.epa --json --time 3s --threads 1 {options}")).exits(3);
        assert_eq!(run.json()["verdict"], "unknown", "{options}");
    }
}

/// One of our own files in the wrong place: the message says what it is and which command to type.
#[test]
fn a_file_of_another_kind_is_told_with_the_right_command() {
    let folder = Folder::with("model.epa", LOST_UPDATE);
    folder.write("model.pml", "active proctype P() { assert(false) }\n");
    folder.run(&["check", "model.epa", "--trace", "found.trace"]).exits(1);
    folder.write("endless.epa", common::ENDLESS);
    folder.run(&["check", "endless.epa", "--depth", "9", "--checkpoint", "saved"]).exits(3);
    folder.run(&["compile", "model.epa", "-o", "model.epb"]).exits(0);
    for (arguments, says) in [
        (["replay", "model.pml"], "everypath check model.pml --trace FILE"),
        (["replay", "model.epa"], "everypath simulate model.epa"),
        (["replay", "model.epb"], "this is a model"),
        (["replay", "saved"], "everypath check --resume saved"),
        (["check", "saved"], "everypath check --resume saved"),
        (["space", "found.trace"], "everypath replay found.trace"),
    ] {
        let message = refused(&folder, &arguments);
        assert!(message.contains(says), "{arguments:?}: {message}");
    }
    // `--no-por` is refused if there is no reduction, and `--check-por` if the reduction is off.
    refused(&folder, &["space", "model.epa", "--no-por"]);
    refused(&folder, &["check", "model.epa", "--no-por", "--check-por"]);
}

#[test]
fn each_property_has_a_verdict() {
    let text = "chan q = [1] of { byte }; active proctype P() { do :: q!1; q?_ od }\ntrace { do :: q!1; q?1 od }\n";
    let folder = Folder::with("model.pml", text);
    let json = folder.run(&["check", "model.pml", "--json"]).exits(0).json();
    let told: Vec<_> =
        json["properties"].as_array().expect("a list").iter().map(|p| format!("{} {} {}", p["name"], p["kind"], p["verdict"])).collect();
    let expected =
        [r#""end states" "end states" "holds""#, r#""run-time errors" "run-time errors" "holds""#, r#"":trace:" "trace" "holds""#];
    assert_eq!(told, expected, "{json}");
    assert_eq!((&json["properties"][2]["file"], &json["properties"][2]["line"]), (&"model.pml".into(), &2.into()), "{json}");
    let run = folder.run(&["check", "model.pml", "--only", "liveness"]).exits(2);
    assert!(run.err.contains("there is no part `liveness`; choose from: safety"), "{run:?}");
}
