//! Programs from models, with the command: the alternating bit protocol is checked, generated and
//! run over a link that loses messages, and the run is a path of the model. An abstraction that
//! leaves out an outcome is found.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn everypath(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_everypath")).args(arguments).current_dir(folder).output().expect("the command")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn folder(name: &str) -> Folder {
    let path = std::env::temp_dir().join(format!("everypath-cli-generate-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder");
    Folder(path)
}

fn can_build() -> bool {
    let found = Command::new("sh").args(["-c", "command -v cc && command -v make"]).output().is_ok_and(|out| out.status.success());
    if !found {
        testkit::passed_over("no C compiler");
    }
    found
}

#[test]
fn the_alternating_bit_protocol_is_checked_generated_and_run() {
    let folder = folder("abp");
    for file in ["altbit.pch", "link.h"] {
        std::fs::copy(root().join("examples/abp").join(file), folder.0.join(file)).expect("a copy");
    }
    let out = everypath(&["check", "altbit.pch"], &folder.0);
    assert_eq!(out.status.code(), Some(0), "{}{}", text(&out.stdout), text(&out.stderr));
    let out = everypath(&["generate", "altbit.pch", "-o", "out", "--tidy"], &folder.0);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert!(!text(&out.stderr).contains("warning: the"), "{}", text(&out.stderr));
    let tidy = std::fs::read_to_string(folder.0.join("out/altbit_tidy.prom")).expect("the model");
    assert!(!tidy.contains("\n\n\n"));
    if !can_build() {
        return;
    }
    let made = folder.0.join("out");
    std::fs::copy(folder.0.join("link.h"), made.join("link.h")).expect("a copy");
    let out = Command::new("make").arg("-s").current_dir(&made).output().expect("make");
    assert!(out.status.success(), "{}", text(&out.stderr));
    let port = (20_000 + std::process::id() % 20_000).to_string();
    let mut run = Command::new("timeout");
    run.args(["60", "./init"]).env("EP_LOSS", "20").env("EP_TRACE", "trace").env("LINK_PORT", port).current_dir(&made);
    let out = run.output().expect("the program");
    let printed = text(&out.stdout);
    let accepted: Vec<&str> = printed.lines().filter(|line| line.starts_with("B:")).collect();
    assert_eq!(accepted, ["B: 0", "B: 1", "B: 2", "B: 3"], "{printed}{}", text(&out.stderr));
    let out = everypath(&["conform", "altbit.pch", "out/trace"], &folder.0);
    assert_eq!(out.status.code(), Some(0), "{}{}", text(&out.stdout), text(&out.stderr));
    // A trace with a changed line is not a path any more.
    let trace = std::fs::read_to_string(made.join("trace")).expect("the trace");
    let forged: String = trace.lines().map(|line| line.replace(" data 3", " data 9") + "\n").collect();
    std::fs::write(folder.0.join("forged"), forged).expect("a file");
    let out = everypath(&["conform", "altbit.pch", "forged", "--json"], &folder.0);
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stdout));
    let out = everypath(&["conform", "altbit.pch", "out/trace", "--step", "--code", "out"], &folder.0);
    assert!(text(&out.stdout).contains("out/A.c:"), "{}", text(&out.stdout));
}

/// Figure 15 of the thesis: the model chooses 0 or 1, and the program computes 0 to 3.
#[test]
fn an_outcome_that_the_model_leaves_out_is_found() {
    if !can_build() {
        return;
    }
    let folder = folder("figure15");
    let model = "#define RAND(var) promela_MS { if :: var = 0 :: var = 1 fi }; c_code_IS { var = next() % 4; };\n\
                 c_decl_IS { static int counter; static int next(void) { return counter++; } };\n\
                 active proctype A() {\n\tint x, n;\n\tdo\n\t:: n < 6 -> RAND(x); n++; assert(x <= 1)\n\t:: else -> break\n\tod\n}\n";
    std::fs::write(folder.0.join("rand.pch"), model).expect("a file");
    let out = everypath(&["check", "rand.pch"], &folder.0);
    assert_eq!(out.status.code(), Some(0), "the model has no error: {}", text(&out.stdout));
    assert_eq!(everypath(&["generate", "rand.pch", "-o", "out"], &folder.0).status.code(), Some(0));
    let made = folder.0.join("out");
    assert!(Command::new("make").args(["-s", "CFLAGS=-DNDEBUG"]).current_dir(&made).status().expect("make").success());
    Command::new("timeout").args(["20", "./init"]).env("EP_TRACE", "trace").current_dir(&made).status().expect("the program");
    let out = everypath(&["conform", "rand.pch", "out/trace"], &folder.0);
    assert_eq!(out.status.code(), Some(1), "{}{}", text(&out.stdout), text(&out.stderr));
    assert!(text(&out.stdout).contains("x = 2") && text(&out.stdout).contains("x = 0; x = 1"), "{}", text(&out.stdout));
}

/// Globals, arrays and fields that a piece computes are compared like local variables, and those of
/// an atomic sequence at its end.
#[test]
fn all_variables_that_a_piece_computes_are_compared() {
    if !can_build() {
        return;
    }
    let folder = folder("computed");
    let types = "typedef In { byte k; bool t };\ntypedef S { byte f; short g[2]; In in[2]; mtype m };\nmtype = { red, green };\n";
    let head =
        format!("{types}byte x;\nshort list[3];\nS s;\nS arr[2];\nbool flag;\nactive proctype A() {{\n\tint own, mine[2];\n\tS here;\n");
    // The pieces of the model and of the program, and whether they agree.
    let cases = [
        ("x = 1", "x = 1;", true),
        ("x = 1", "now.x = 2;", false),
        ("list[1] = 1", "list[1] = 1;", true),
        ("list[1] = 1", "now.list[2] = 1;", false),
        ("s.g[1] = -7; s.m = green", "s.g[1] = -7; s.m = green;", true),
        ("s.g[1] = -7; s.m = green", "s.g[1] = -7; s.m = red;", false),
        ("arr[1].in[1].t = true", "arr[1].in[1].t = 1;", true),
        ("arr[1].in[1].t = true", "arr[1].in[0].t = 1;", false),
        ("mine[1] = 4", "PA->mine[1] = 4;", true),
        ("mine[1] = 4", "mine[0] = 4;", false),
        ("here.in[1].k = 4; flag = true", "here.in[1].k = 4; ++flag;", true),
        ("here.in[1].k = 4; flag = true", "here.in[1].k = 5; ++flag;", false),
        ("own = 3", "own++; own += 2;", true),
        ("own = 3", "own--;", false),
    ];
    let body = |piece: usize, (model, program, _): (&str, &str, bool)| {
        let pair = format!("promela_MS {{ {model} }}; c_code_IS {{ {program} }}");
        match piece % 3 {
            0 => format!("\t{pair}\n"),
            // In an atomic sequence the model goes on at once.
            1 => format!("\tatomic {{ {pair}; own = own + 1; x = x + 1 }}\n"),
            _ => format!("\tatomic {{ x = 9; {pair}; byte inner; inner = 1; x = x + 1 }}\n"),
        }
    };
    // One program has all of them, and the first value decides which is executed.
    for variant in 0..3 {
        let mut text = format!(
            "{head}\tbyte which;\n\tc_code_IS {{ which = atoi(getenv(\"WHICH\")); }};\n\tpromela_MS {{ select (which : 0 .. {}) }};\n\tif\n",
            cases.len() - 1
        );
        for (number, case) in cases.into_iter().enumerate() {
            text.push_str(&format!("\t:: which == {number} ->\n{}", body(variant, case)));
        }
        text.push_str("\tfi\n}\n");
        std::fs::write(folder.0.join("m.pch"), text).expect("a file");
        let out = everypath(&["generate", "m.pch", "-o", "out"], &folder.0);
        assert_eq!(out.status.code(), Some(0), "{}", text_of(&out));
        let made = folder.0.join("out");
        let out = Command::new("make").args(["-s", "CFLAGS=-O0"]).current_dir(&made).output().expect("make");
        assert!(out.status.success(), "{}", text_of(&out));
        for (number, case) in cases.into_iter().enumerate() {
            let _ = std::fs::remove_file(made.join("trace"));
            let mut run = Command::new("timeout");
            run.args(["20", "./init"]).env("EP_TRACE", "trace").env("WHICH", number.to_string()).current_dir(&made);
            assert!(run.status().expect("the program").success(), "{case:?}");
            let out = everypath(&["conform", "m.pch", "out/trace"], &folder.0);
            let trace = std::fs::read_to_string(made.join("trace")).expect("the trace");
            assert_eq!(out.status.code(), Some(i32::from(!case.2)), "{variant} {case:?}: {}\n{trace}", text_of(&out));
        }
    }
}

/// A Cargo project is generated and built without a network, and its run is a path of the model.
#[test]
fn a_program_in_rust_is_a_path_of_the_model() {
    let folder = folder("rust");
    let model = "chan q = [1] of { byte };\nbyte sum;\nproctype Worker(byte n) {\n\tbyte v;\n\tpromela_MS { if :: v = n :: v = n + 1 fi };\n\
                 \tc_code_IS { v = n + 1; };\n\tq!v\n}\ninit {\n\tbyte got, i;\n\trun Worker(3); run Worker(5);\n\tdo\n\t:: i < 2 -> q?got; sum = sum + got; i++\n\
                 \t:: else -> break\n\tod;\n\tprintf(\"%d\\n\", sum);\n\tassert(sum != LIMIT)\n}\n";
    for (limit, status, verdict) in [("99", 0, "conforms"), ("10", 1, "fails")] {
        std::fs::write(folder.0.join("m.pch"), model.replace("LIMIT", limit)).expect("a file");
        let out = everypath(&["generate", "m.pch", "-o", "out", "--target", "rust"], &folder.0);
        assert_eq!(out.status.code(), Some(0), "{}", text_of(&out));
        let made = folder.0.join("out");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--offline", "--quiet", "--target-dir", "target"]).current_dir(&made);
        let out = build.output().expect("cargo");
        assert!(out.status.success(), "{}", text_of(&out));
        let _ = std::fs::remove_file(made.join("trace"));
        let mut run = Command::new("timeout");
        let out = run.args(["20", "target/debug/m"]).env("EP_TRACE", "trace").current_dir(&made).output().expect("the program");
        assert_eq!((text(&out.stdout).as_str(), out.status.code()), ("10\n", Some(status)), "{}", text_of(&out));
        let out = everypath(&["conform", "m.pch", "out/trace", "--json"], &folder.0);
        assert_eq!(out.status.code(), Some(status), "{}", text_of(&out));
        assert!(text(&out.stdout).contains(&format!("\"verdict\":\"{verdict}\"")), "{}", text_of(&out));
    }
    // A line too many is none of the model.
    let trace = std::fs::read_to_string(folder.0.join("out/trace")).expect("the trace");
    let step = trace.lines().filter(|line| line.starts_with("step")).nth(3).expect("a step");
    std::fs::write(folder.0.join("forged"), trace.replacen(step, &format!("{step}\n{step}"), 1)).expect("a file");
    let out = everypath(&["conform", "m.pch", "forged", "--json"], &folder.0);
    assert!(text(&out.stdout).contains("departs"), "{}", text_of(&out));
}

/// A declaration after the first statement stores the initial value where it stands, as in the
/// model.
#[test]
fn a_late_declaration_is_a_step() {
    if !can_build() {
        return;
    }
    let folder = folder("late");
    let model = "byte x = 4;\nactive proctype P() {\n\tbyte a;\n\ta = 5;\n\tbyte y = a, list[2];\n\tlist[1] = list[1] + 1;\nagain:\n\tskip;\n\tbyte z = x;\n\tz++;\n\
                 \tif\n\t:: x > 2 ->\n\t\tbyte inner;\n\t\tinner = inner + 2;\n\t\tx = x - 1;\n\t\tprintf(\"%d %d\\n\", inner, z);\n\t\tgoto again\n\
                 \t:: else\n\tfi;\n\tpromela_MS { skip };\n\tatomic { x = 1; short last = -2; x = x + 1 }\n\tprintf(\"%d %d\\n\", y, list[1])\n}\n";
    std::fs::write(folder.0.join("m.pch"), model).expect("a file");
    let out = everypath(&["generate", "m.pch", "-o", "out"], &folder.0);
    assert_eq!(out.status.code(), Some(0), "{}", text_of(&out));
    let made = folder.0.join("out");
    assert!(Command::new("make").args(["-s", "CFLAGS=-O0"]).current_dir(&made).status().expect("make").success());
    let out = Command::new("timeout").args(["20", "./init"]).env("EP_TRACE", "trace").current_dir(&made).output().expect("the program");
    assert_eq!(text(&out.stdout), "2 5\n2 4\n5 1\n", "{}", text_of(&out));
    let out = everypath(&["conform", "m.pch", "out/trace"], &folder.0);
    assert_eq!(out.status.code(), Some(0), "{}", text_of(&out));
}

fn text_of(out: &Output) -> String {
    text(&out.stdout) + &text(&out.stderr)
}

#[test]
fn wrong_traces_and_models_are_refused() {
    let folder = folder("wrong");
    std::fs::write(folder.0.join("m.pch"), "active proctype P() { byte x; x = 1 }\n").expect("a file");
    std::fs::write(folder.0.join("t"), "step one two\n").expect("a file");
    assert_eq!(everypath(&["conform", "m.pch", "t"], &folder.0).status.code(), Some(2));
    assert_eq!(everypath(&["conform", "m.pch", "absent"], &folder.0).status.code(), Some(2));
    std::fs::write(folder.0.join("bad.pch"), "active proctype P() { x = 1 }\n").expect("a file");
    assert_eq!(everypath(&["generate", "bad.pch", "-o", "out"], &folder.0).status.code(), Some(2));
    assert!(!folder.0.join("out").exists(), "nothing is made of a model with errors");
}

/// A run that dies on an assertion does not conform: the model has the violation, or it departs.
#[test]
fn a_run_that_fails_does_not_conform() {
    if !can_build() {
        return;
    }
    let cases = [
        // The model has the violation as well.
        ("both", "int x;\nactive proctype A() {\n x = 3;\n assert(x <= 1)\n}\n", "fails"),
        ("guard", "int x;\nactive proctype A() {\n x = 0;\n if :: 3 / x > 1 -> x = 1 :: else -> x = 2 fi\n}\n", "fails"),
        // Only the program has it.
        ("only", "int x;\nactive proctype A() {\n promela_MS { x = 1 };\n c_code_IS { abort(); };\n x = 2\n}\n", "departs"),
    ];
    for (name, model, wanted) in cases {
        let folder = folder(&format!("fails-{name}"));
        std::fs::write(folder.0.join("m.pch"), model).expect("a file");
        let out = everypath(&["generate", "m.pch", "-o", "out"], &folder.0);
        assert_eq!(out.status.code(), Some(0), "{name}: {}", text(&out.stderr));
        let made = folder.0.join("out");
        assert!(Command::new("make").arg("-s").current_dir(&made).status().expect("make").success());
        let ran = Command::new("timeout").args(["20", "./init"]).env("EP_TRACE", "trace").current_dir(&made).output().expect("the program");
        assert_eq!(ran.status.code(), Some(1), "{name}: {}", text(&ran.stderr));
        let out = everypath(&["conform", "m.pch", "out/trace", "--json"], &folder.0);
        assert_eq!(out.status.code(), Some(1), "{name}: {}{}", text(&out.stdout), text(&out.stderr));
        assert!(text(&out.stdout).contains(&format!("\"verdict\":\"{wanted}\"")), "{name}: {}", text(&out.stdout));
    }
}

#[test]
fn what_says_nothing_does_not_conform() {
    let folder = folder("nothing");
    std::fs::write(folder.0.join("m.pch"), "active proctype P() { byte x; x = 1 }\nproctype Q() { skip }\n").expect("a file");
    std::fs::write(folder.0.join("empty"), "").expect("a file");
    std::fs::write(folder.0.join("some"), "start 1 init\nactive 1 2 P\nstep 2 1 31\n").expect("a file");
    assert_eq!(everypath(&["conform", "m.pch", "empty"], &folder.0).status.code(), Some(2));
    let out = everypath(&["conform", "m.pch", "some", "--each", "nosuch"], &folder.0);
    assert!(out.status.code() == Some(2) && text(&out.stderr).contains("P, Q"), "{}", text(&out.stderr));
    assert_eq!(everypath(&["conform", "m.pch", "some", "--each", "Q"], &folder.0).status.code(), Some(2));
    assert_eq!(everypath(&["conform", "m.pch", "some"], &folder.0).status.code(), Some(0));
}

/// A counterexample of the model is shown in the program that is generated from the same text.
#[test]
fn a_counterexample_is_mapped_to_the_code() {
    let folder = folder("mapped");
    let model = "chan q = [1] of { byte };\nbyte x;\nenv active proctype E() { q!3 }\nactive proctype A() {\n\tbyte v;\n\tq?v;\n\tx = v;\n\tassert(x < 3)\n}\n";
    std::fs::write(folder.0.join("m.pch"), model).expect("a file");
    assert_eq!(everypath(&["check", "m.pch", "--trace", "t.json"], &folder.0).status.code(), Some(1));
    assert_eq!(everypath(&["generate", "m.pch", "-o", "out"], &folder.0).status.code(), Some(0));
    let out = everypath(&["replay", "t.json", "--code", "out", "--json"], &folder.0);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let answer: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let code = answer["code"].as_array().expect("a list");
    assert_eq!(code.len(), answer["trace"].as_array().expect("a list").len());
    let c = std::fs::read_to_string(folder.0.join("out/A.c")).expect("the program");
    // Each position is that of the line that records the step.
    for (step, (line, column)) in [(6, 2), (7, 2), (8, 2)].into_iter().enumerate() {
        let wanted = c.lines().position(|text| text.contains(&format!("EP_STEP({line}, {column})"))).expect("a step") + 1;
        let found = &code[step + 1][0];
        assert_eq!(found["text"], format!("{line}:{column}"), "{answer}");
        assert_eq!(found["code"][0], format!("out/A.c:{wanted}"), "{answer}");
    }
    // What the environment does is in no program.
    assert!(code[0][0]["code"].as_array().is_some_and(Vec::is_empty), "{answer}");
    let out = everypath(&["replay", "t.json", "--code", "out"], &folder.0);
    assert!(text(&out.stdout).contains("only in the model") && text(&out.stdout).contains("out/A.c:"), "{}", text(&out.stdout));
}

/// A piece of C is one statement, whatever it is made of in the model. A `break` out of an atomic
/// sequence is a step of the model for which the program writes nothing.
#[test]
fn pieces_of_c_and_jumps_are_followed() {
    if !can_build() {
        return;
    }
    let folder = folder("jumps");
    let model = "byte x; chan r = [0] of { byte };\n\
                 proctype q(byte n) { byte y; r?y; assert(y == n) }\n\
                 init {\n\tbyte i;\n\tatomic { do :: i < 2 -> run q(7); i++ :: else -> break od };\n\tr!7;\n\tr!7;\n\
                 \tc_code { now.x += 2; if (now.x > 1) { now.x--; now.x *= 3; } };\n\tx++;\n\tdo\n\t:: x > 3 -> break\n\tod;\n\tassert(x == 4)\n}\n";
    std::fs::write(folder.0.join("jumps.pch"), model).expect("a file");
    assert_eq!(everypath(&["check", "jumps.pch"], &folder.0).status.code(), Some(0));
    let out = everypath(&["generate", "jumps.pch", "-o", "out"], &folder.0);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let made = folder.0.join("out");
    assert!(Command::new("make").arg("-s").current_dir(&made).status().expect("make").success());
    let out = Command::new("timeout").args(["60", "./init"]).env("EP_TRACE", "trace").current_dir(&made).output().expect("the program");
    assert!(out.status.success(), "{}", text(&out.stderr));
    let out = everypath(&["conform", "jumps.pch", "out/trace"], &folder.0);
    assert_eq!(out.status.code(), Some(0), "{}{}", text(&out.stdout), text(&out.stderr));
    // A statement that the program left out is missed.
    let trace = std::fs::read_to_string(made.join("trace")).expect("the trace");
    let shorter: Vec<&str> = trace.lines().filter(|line| !line.ends_with(" 9 2")).collect();
    assert_eq!(shorter.len() + 1, trace.lines().count(), "{trace}");
    std::fs::write(folder.0.join("shorter"), shorter.join("\n") + "\n").expect("a file");
    assert_eq!(everypath(&["conform", "jumps.pch", "shorter"], &folder.0).status.code(), Some(1));
}
