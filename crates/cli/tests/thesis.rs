//! What W. Bezuidenhout's thesis says about its generator, line by line, with the command: the
//! front end, the two outputs, the verification of its figures. The shapes of generated code are
//! tested in `crates/generate/tests`.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("everypath-thesis-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) -> &Folder {
        std::fs::write(self.0.join(name), text).expect("a file");
        self
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let out = everypath(arguments, &self.0);
        (out.status.code(), format!("{}{}", text(&out.stdout), text(&out.stderr)))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let out = everypath(&[arguments, &["--json", "--threads", "1"]].concat(), &self.0);
        serde_json::from_slice(&out.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", text(&out.stdout), text(&out.stderr)))
    }
}

fn has(command: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {command}")]).output().is_ok_and(|out| out.status.success());
    if !found {
        testkit::passed_over(&format!("no {command}"));
    }
    found
}

const SMALL: &str = "/* a remark */\n#define TWICE(x) (2 * (x))\nbyte x;\n\n\n\nactive proctype P() {\n\tx = TWICE(3);\n\tc_code_IS { only_here(); };\n\tskip\n}\n";

#[test]
fn names_of_outputs_comments_and_empty_lines() {
    let folder = Folder::new("outputs");
    folder.write("x.pch", SMALL).write("y.pml", "active proctype P() { skip }\n").write("part.inc", "#define SEVEN 7\n");
    assert_eq!(folder.run(&["generate", "x.pch", "-o", "a"]).0, Some(0));
    let model = folder.read("a/x.prom");
    assert!(!model.contains("remark") && !model.contains("only_here") && !model.contains("#define"), "{model}");
    // Every statement is on its own line of the text.
    assert_eq!(model.lines().position(|line| line.contains("x = ")), Some(7), "{model}");
    assert!(!folder.0.join("a/x_tidy.prom").exists());
    assert_eq!(folder.run(&["generate", "x.pch", "-o", "b", "--comments", "--tidy"]).0, Some(0));
    assert!(folder.read("b/x.prom").contains("remark"));
    assert!(!folder.read("b/x_tidy.prom").contains("\n\n\n") && folder.read("b/x.prom").contains("\n\n\n"));
    // Another ending stays in the name.
    assert_eq!(folder.run(&["generate", "y.pml", "-o", "c"]).0, Some(0));
    assert!(folder.0.join("c/y.pml.prom").exists());
    // Files are included before anything else.
    folder.write("z.pch", "#include \"part.inc\"\nbyte x;\nactive proctype P() { x = SEVEN }\n");
    assert_eq!(folder.run(&["generate", "z.pch", "-o", "d"]).0, Some(0));
    assert!(folder.read("d/z.prom").contains("x = 7"), "{}", folder.read("d/z.prom"));
}

#[test]
fn mistakes_have_positions_and_nothing_is_written() {
    let folder = Folder::new("mistakes");
    let wrong = |name: &str, model: &str, wanted: &[&str]| {
        folder.write(&format!("{name}.pch"), model);
        let (code, said) = folder.run(&["generate", &format!("{name}.pch"), "-o", name]);
        assert_eq!(code, Some(2), "{said}");
        for part in wanted {
            assert!(said.contains(part), "{part} in {said}");
        }
        assert!(!folder.0.join(name).exists(), "nothing is made");
    };
    wrong("two", "active proctype P() { byte x; x = ; }\nactive proctype Q() {\n\ty + ; }\n", &["two.pch:1", "two.pch:3"]);
    wrong("model", "active proctype P() {\n\tskip;\n\tpromela_MS { x = ; }\n}\n", &["model.pch:3"]);
    wrong("unknown", "active proctype P() {\n\tpromela_MS { absent = 1 };\n\tskip\n}\n", &["unknown.pch:2"]);
    wrong("braces", "active proctype P() {\n\tc_code_IS;\n\tskip\n}\n", &["braces.pch:2"]);
    wrong("c", "byte x;\nactive proctype P() {\n\tc_code { now.x = (1 + ; };\n\tskip\n}\n", &["c.pch:3"]);
    wrong("recursion", "inline f() { f() }\nactive proctype P() { f() }\n", &["recursion.pch:"]);
    wrong("provided", "byte x;\nactive proctype P() provided (x == 0) { skip }\n", &["provided.pch:2", "`provided`"]);
}

#[test]
fn what_is_of_one_side_is_not_in_the_other() {
    let folder = Folder::new("sides");
    let model = "typedef Msg { c_decl_IS { long type; }; bit alt };\nc_decl { typedef int plain; }\nc_state \"int counted\" \"Local P\"\nint y;\n\
                 env proctype outside() { skip }\nactive proctype P() {\n\tMsg m;\n\tc_decl_IS { int concrete; };\n\tpromela_MS { y = 1100 };\n\
                 \tc_code_IS { y = 1200; };\n\tc_code { now.y = 1300; };\n\tm.alt = c_expr { now.y > 3 };\n\tskip\n}\n";
    folder.write("m.pch", model);
    let (code, said) = folder.run(&["generate", "m.pch", "-o", "out"]);
    assert_eq!(code, Some(0), "{said}");
    let (prom, c, header) = (folder.read("out/m.prom"), folder.read("out/P.c"), folder.read("out/init.h"));
    for only in ["long type", "concrete", "1200", "env "] {
        assert!(!prom.contains(only), "{only} in {prom}");
    }
    assert!(prom.contains("1100") && prom.contains("1300") && prom.contains("proctype outside") && prom.contains("c_state"), "{prom}");
    assert!(header.contains("long type;") && header.contains("typedef int plain;"), "{header}");
    assert!(c.contains("concrete") && c.contains("1200") && c.contains("1300") && !c.contains("1100") && c.contains("int counted;"), "{c}");
    assert!(!folder.0.join("out/outside.c").exists());
    for comment in ["/* Declarations: */", "/* Statements: */"] {
        assert!(c.contains(comment), "{c}");
    }
}

#[test]
fn spin_accepts_the_models_of_the_examples() {
    if !has("spin") {
        return;
    }
    let folder = Folder::new("spin");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for (place, name) in [("abp", "altbit"), ("ftpd", "ftpd")] {
        let path = examples.join(place).join(format!("{name}.pch")).display().to_string();
        let (code, said) = folder.run(&["generate", &path, "-o", name]);
        assert_eq!(code, Some(0), "{said}");
        let out = Command::new("spin").args(["-a", &format!("{name}.prom")]).current_dir(folder.0.join(name)).output().expect("spin");
        assert!(out.status.success(), "{name}: {}", text(&out.stdout));
        // It is the same model.
        let of = |file: &str| folder.json(&["space", file, "-D", "SESSIONS=1"])["states"].clone();
        folder.write("again.pml", &folder.read(&format!("{name}/{name}.prom")));
        if name == "altbit" {
            assert_eq!(of(&path), of("again.pml"));
        }
    }
}

/// Figure 22: the control of the alternating bit protocol.
const PROTOCOL: &str = "mtype = { STATE1, STATE2, STATE3, STATE4, STATE5, STATE6 };
proctype A(chan in, out) {
	mtype state = STATE1;
	do
	:: state == STATE1 -> out!0; state = STATE2
	:: state == STATE2 -> if :: in?0 -> state = STATE3 :: in?1 -> state = STATE4 fi
	:: state == STATE3 -> out!1; state = STATE5
	:: state == STATE4 -> out!0; state = STATE2
	:: state == STATE5 -> if :: in?1 -> state = STATE1 :: in?0 -> state = STATE6 fi
	:: state == STATE6 -> out!1; state = STATE5
	od
}
proctype B(chan in, out) {
	mtype state = STATE1;
	do
	:: state == STATE1 -> if :: in?0 -> state = STATE2 :: in?1 -> state = STATE3 fi
	:: state == STATE2 -> out!0; state = STATE4
	:: state == STATE3 -> out!1; state = STATE1
	:: state == STATE4 -> if :: in?1 -> state = STATE5 :: in?0 -> state = STATE6 fi
	:: state == STATE5 -> out!1; state = STATE1
	:: state == STATE6 -> out!0; state = STATE4
	od
}
";
/// Figure 22 without a link between its processes.
const DIRECT: &str = "chan AtoB = [1] of { bit };
chan BtoA = [1] of { bit };
init { run A(BtoA, AtoB); run B(AtoB, BtoA) }
";
/// Figure 26: a link that loses and damages messages.
const LINK: &str = "chan fromA = [1] of { bit }; chan toB = [1] of { bit }; chan fromB = [1] of { bit }; chan toA = [1] of { bit };
proctype link(chan fa, ta, fb, tb) {
	bit msg, ack;
	do
	:: fa?msg -> if :: true -> tb!msg :: true -> skip :: true -> msg = (msg + 1) % 2; tb!msg fi
	:: fb?ack -> if :: true -> ta!ack :: true -> skip :: true -> ack = (ack + 1) % 2; ta!ack fi
	od
}
init { run A(toA, fromA); run B(toB, fromB); run link(fromA, toA, fromB, toB) }
";

/// The statements at the beginning of options that are never executed.
fn never_executed(found: &Value, process: &str) -> Vec<u64> {
    let processes = found["coverage"]["processes"].as_array().expect("processes");
    let statements = processes.iter().filter(|p| p["name"] == process).flat_map(|p| p["statements"].as_array().expect("statements"));
    let never = statements.filter(|s| s["executed"] == false && s["statement"].as_str().is_some_and(|text| text.contains("state ==")));
    never.map(|statement| statement["line"].as_u64().expect("a line")).collect()
}

#[test]
fn figure_22_has_no_error_and_never_visits_four_states() {
    let folder = Folder::new("figure22");
    folder.write("p.pml", &format!("{PROTOCOL}{DIRECT}"));
    let whole = folder.json(&["space", "p.pml"]);
    // SPIN counts 131: the initial state is one of its transitions.
    assert_eq!((&whole["states"], &whole["transitions"]), (&Value::from(78), &Value::from(130)));
    let found = folder.json(&["check", "p.pml", "--coverage", "--no-por"]);
    assert_eq!(found["verdict"], "holds");
    assert_eq!(never_executed(&found, "A"), [8, 10], "states 4 and 6");
    assert_eq!(never_executed(&found, "B"), [18, 21], "states 3 and 6");
    let reduced = folder.json(&["check", "p.pml"]);
    assert_eq!(reduced["verdict"], "holds");
    assert!(reduced["states"].as_u64() < Some(78));
    // A store that needs less memory has the same answer, and so has the claim of the protocol.
    assert_eq!(folder.json(&["check", "p.pml", "--store", "compact"])["verdict"], "holds");
    // One cycle: 0, its answer, 1, its answer.
    let (code, chart) = folder.run(&["simulate", "p.pml", "--seed", "1", "--steps", "90"]);
    assert_eq!(code, Some(0), "{chart}");
    let sent: Vec<&str> = chart.lines().filter_map(|line| ["out!0", "out!1"].into_iter().find(|send| line.contains(send))).collect();
    assert!(sent.len() >= 8, "{chart}");
    for four in sent.chunks_exact(4) {
        assert_eq!(four, ["out!0", "out!0", "out!1", "out!1"], "{chart}");
    }
}

#[test]
fn figure_26_with_figure_22_is_what_it_is() {
    let folder = Folder::new("figure26");
    folder.write("lost.pml", &format!("{PROTOCOL}{LINK}"));
    // As many as SPIN has if it does not merge statements (`-o3`); it has 1,320 if it does.
    assert_eq!(folder.json(&["space", "lost.pml"])["states"], 1454);
    // Without a timeout, a lost message stops everybody.
    for how in [&["--no-por"][..], &[]] {
        let found = folder.json(&[&["check", "lost.pml"], how].concat());
        assert_eq!(
            (&found["verdict"], &found["violation"]["kind"]),
            (&Value::from("violated"), &Value::from("invalid end state")),
            "{found}"
        );
    }
    // The states that figure 22 alone never visits are visited.
    let found = folder.json(&["check", "lost.pml", "--coverage", "--no-por", "--ltl", "[] (len(fromA) <= 1)"]);
    assert_eq!((never_executed(&found, "A"), never_executed(&found, "B")), (vec![], vec![]), "{found}");
    // Without losses, a bit that is damaged lets B accept what it should not: message 1 for message
    // 0.
    let damaged = LINK.replace(":: true -> skip ", "");
    let counted = format!("byte accepted, sent;\n{PROTOCOL}{damaged}")
        .replacen(":: state == STATE1 -> out!0;", ":: state == STATE1 -> sent = 0; out!0;", 1)
        .replacen(":: state == STATE3 -> out!1;", ":: state == STATE3 -> sent = 1; out!1;", 1)
        .replacen(
            ":: state == STATE1 -> if :: in?0 -> state = STATE2",
            ":: state == STATE1 -> if :: in?0 -> assert(sent == 0); state = STATE2",
            1,
        )
        .replacen(
            ":: state == STATE4 -> if :: in?1 -> state = STATE5",
            ":: state == STATE4 -> if :: in?1 -> assert(sent == 1); state = STATE5",
            1,
        );
    folder.write("damaged.pml", &counted);
    let found = folder.json(&["check", "damaged.pml"]);
    assert_eq!((&found["verdict"], &found["violation"]["kind"]), (&Value::from("violated"), &Value::from("assertion violated")), "{found}");
    assert!(found["trace"].as_array().is_some_and(|steps| !steps.is_empty()));
}

#[test]
fn the_protocol_with_timeouts_and_checksums_holds() {
    let folder = Folder::new("corrected");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/abp/altbit.pch");
    std::fs::copy(&example, folder.0.join("altbit.pch")).expect("a copy");
    let found = folder.json(&["check", "altbit.pch"]);
    assert_eq!(found["verdict"], "holds");
    // What is sent is accepted, but not over a link that loses everything.
    assert!(found["properties"].to_string().contains("response"), "{found}");
    let response = "[] (A:data == 1 -> <> (expected >= 2))";
    assert_eq!(folder.json(&["check", "altbit.pch", "--ltl", response, "--fair", "weak"])["verdict"], "violated");
    // Without the option for late answers it stops, as the thesis' model does.
    let model = std::fs::read_to_string(&example).expect("the model");
    let never_late = model.replacen("\t\t\t:: empty(to_a) -> res = LATE; got = 0\n", "", 1);
    assert_ne!(model, never_late);
    folder.write("never_late.pch", &never_late);
    let found = folder.json(&["check", "never_late.pch"]);
    assert_eq!((&found["verdict"], &found["violation"]["kind"]), (&Value::from("violated"), &Value::from("invalid end state")), "{found}");
}

#[test]
fn properties_of_the_thesis() {
    let folder = Folder::new("properties");
    let of = |model: &str, more: &[&str]| {
        folder.write("m.pml", model);
        folder.json(&[&["check", "m.pml"], more].concat())["verdict"].as_str().unwrap_or_default().to_owned()
    };
    // Labels: an end state that is one, a loop without progress.
    assert_eq!(of("chan q = [0] of { bit };\nactive proctype P() { end: q?_ }", &[]), "holds");
    assert_eq!(of("chan q = [0] of { bit };\nactive proctype P() { q?_ }", &[]), "violated");
    let progress = |label: &str| format!("byte x;\nactive proctype P() {{ do :: x = 0 :: {label} x = 1; x = 2 od }}");
    assert_eq!(of(&progress("skip; progress:"), &["--non-progress"]), "violated", "the first option has no progress");
    let all = "byte x;\nactive proctype P() { do :: x == 0 -> progress: x = 1 :: x == 1 -> x = 0 od }";
    assert_eq!(of(all, &["--non-progress"]), "holds");
    let turns = "byte x;\nactive proctype P() { do :: x = 1 - x od }";
    assert_eq!(of(turns, &["--ltl", "[] <> (x == 1)"]), "holds");
    assert_eq!(of(turns, &["--ltl", "<> [] (x == 1)"]), "violated");
    // The last state of a run that ends goes on for ever.
    assert_eq!(of("byte x;\nactive proctype P() { x = 1 }", &["--ltl", "<> [] (x == 1)"]), "holds");
    assert_eq!(
        of("byte x;\nactive proctype P() { x = 1 }\nnever { do :: x == 0 :: x == 1 -> break od; accept: do :: x == 1 od }", &[]),
        "violated"
    );
    // The next state, with reduction or without.
    let next = "byte x, y;\nactive proctype P() { x = 1; x = 2 }\nactive proctype Q() { y = 1; y = 2 }";
    let formula = ["--ltl", "[] ((x == 1 && y == 0) -> X (x == 1 || x == 2))"];
    assert_eq!(of(next, &formula), of(next, &[&formula[..], &["--no-por"]].concat()));
}

/// Embedded C that divides by zero, leaves an array or does not end is a violation with its place,
/// and what would write anywhere is refused with its place; the other properties are checked.
#[test]
fn embedded_c_can_do_no_harm() {
    let folder = Folder::new("harm");
    let cases = [
        ("int x, y;\nactive proctype P() {\n\tx = 0;\n\tc_code { now.y = 7 / now.x; }\n}\n", "division by zero", 4),
        (
            "int x;\nactive proctype P() {\n\tc_code { int d = 0; now.x = 5 % d; }\n}\nactive proctype Q() { x = 3 }\n",
            "division by zero",
            3,
        ),
        ("int x;\nactive proctype P() {\n\tif :: c_expr { 1 / now.x } -> skip :: else fi\n}\n", "division by zero", 3),
        (
            "int a[3]; int i;\nactive proctype P() {\n\tdo :: i < 5 -> c_code { now.a[now.i] = 1; now.i++; } :: else -> break od\n}\n",
            "invalid array index",
            3,
        ),
        (
            "c_decl { typedef struct { int v[2]; int after; } S; }\nc_state \"S s\" \"Global\"\nactive proctype P() {\n\tc_code { int i; for (i = 0; i < 4; i++) now.s.v[i] = i; }\n}\n",
            "invalid array index",
            4,
        ),
        ("int x;\nactive proctype P() {\n\tx = 1;\n\tc_code { while (now.x) { now.x = 1; } }\n}\n", "endless sequence", 4),
        ("int x;\nactive proctype P() {\n\tc_code { int *p = 0; *p = 3; }\n}\n", "access outside memory", 3),
    ];
    for (model, kind, line) in cases {
        folder.write("m.pml", model);
        let found = folder.json(&["check", "m.pml"]);
        assert_eq!(found["verdict"], "violated", "{model}");
        assert_eq!((&found["violation"]["kind"], &found["violation"]["line"]), (&Value::from(kind), &Value::from(line)), "{model}");
        assert!(found["trace"].as_array().is_some(), "{model}");
    }
}
