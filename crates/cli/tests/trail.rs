//! SPIN's trails: those of its verifiers are read, and `spin -t` replays those that we write. And
//! the summary of SPIN's verifiers, which `--format spin` prints.
//!
//! The trails below were written by SPIN 6.5.2. The tests beside SPIN itself are passed over where
//! SPIN or a C compiler is missing.

mod common;

use common::Folder;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// An atomic sequence, a `d_step`, a rendezvous, an inline, an escape, processes that come and go.
const MIXED: &str = "mtype = {m1,m2};
chan c = [1] of {mtype,byte};
chan r = [0] of {byte};
byte x;
inline bump(v) { v++; if :: v > 2 -> skip :: else -> v = v + 1 fi }
active proctype A() {
  byte i;
  do
  :: i < 3 -> atomic { i++; bump(x) ; c!m1(i) }
  :: i >= 3 -> break
  od;
  skip; d_step { x = 1; x = 2 };
  r!7;
  goto done;
done: assert(x != 2)
}
active proctype B() {
  byte y;
end: do
  :: c?m1(y) -> printf(\"got %d\\n\", y)
  :: r?y -> skip
  od unless { x > 200 }
}
init { run C(3); run C(4) }
proctype C(byte n) { byte k = n; k++; x = x + k }
";

/// The trail of `spin -a`, in which some lines stand for several statements.
const MIXED_MERGED: &str = "-4:-4:-4
1:2:36\n2:3:39\n3:3:40\n4:3:41\n5:2:37\n6:3:39\n7:3:40\n8:3:41\n9:2:38\n10:0:0\n11:0:1\n12:0:2\n13:0:3\n14:0:4\n15:0:10
16:1:25\n17:1:26\n18:0:0\n19:0:1\n20:0:2\n21:0:3\n22:0:4\n23:0:10\n24:1:25\n25:1:26\n26:0:0\n27:0:1\n28:0:2\n29:0:3\n30:0:4
31:0:10\n32:1:25\n33:1:26\n34:0:12\n35:0:17\n36:0:20\n37:0:21\n38:1:27\n39:1:28\n40:0:23\n";

/// The trail of `spin -o3 -a`.
const MIXED_PLAIN: &str = "1:2:36\n2:3:39\n3:3:40\n4:3:41\n5:2:37\n6:3:39\n7:3:40\n8:3:41\n9:2:38\n10:0:0\n11:0:1\n12:0:2\n13:0:3
14:0:4\n15:0:8\n16:0:10\n17:1:25\n18:1:26\n19:0:0\n20:0:1\n21:0:2\n22:0:3\n23:0:4\n24:0:8\n25:0:10\n26:1:25\n27:1:26\n28:0:0
29:0:1\n30:0:2\n31:0:3\n32:0:4\n33:0:8\n34:0:10\n35:1:25\n36:1:26\n37:0:12\n38:0:17\n39:0:20\n40:0:21\n41:1:27\n42:1:28
43:0:23\n";

/// A claim in front, whose statements SPIN numbers first.
const CLAIMED: &str = "byte x; bool b;
never { T0: if :: !b -> goto acc :: true -> goto T0 fi; acc: accept_x: if :: !b -> goto accept_x fi }
active proctype A() { do :: x = 1 :: x = 2 :: b = true -> break od }
active proctype B() { x = 3; x = 4; assert(x != 9) }
";

const CLAIMED_TRAIL: &str = "-2:0:-2\n-4:-4:-4\n1:0:0\n2:2:19\n3:0:6\n4:2:20\n5:0:6\n6:2:21\n7:0:6\n8:2:22\n9:0:6\n10:1:11
-1:-1:-1\n11:0:6\n12:1:11\n";

#[test]
fn trails_of_spin_are_read() {
    let folder = Folder::with("m.pml", MIXED);
    let statements = |json: &Value| -> Vec<String> {
        let steps = json["trace"].as_array().expect("a list").iter();
        steps.map(|step| step["statement"].as_str().expect("a text").to_owned()).collect()
    };
    folder.write("m.pml.trail", MIXED_MERGED);
    let merged = folder.run(&["replay", "m.pml.trail", "--json"]).exits(0).json();
    folder.write("m.pml1.trail", MIXED_PLAIN);
    let plain = folder.run(&["replay", "m.pml1.trail", "--json"]).exits(0).json();
    folder.write("other", MIXED_PLAIN);
    let named = folder.run(&["replay", "other", "--model", "m.pml", "--json"]).exits(0).json();
    assert_eq!(statements(&merged), statements(&plain));
    assert_eq!(plain, named);
    assert_eq!(merged["violation"]["kind"], "assertion violated", "{merged}");
    assert_eq!(merged["violation"]["line"], 15, "{merged}");
    let text = folder.run(&["replay", "m.pml.trail"]).exits(0).out;
    assert!(text.contains("assert(x != 2)") && text.contains("violated: "), "{text}");
}

#[test]
fn the_cycle_of_a_trail_is_a_loop() {
    let folder = Folder::with("l.pml", CLAIMED);
    folder.write("l.pml.trail", CLAIMED_TRAIL);
    let json = folder.run(&["replay", "l.pml.trail", "--json"]).exits(0).json();
    assert_eq!(json["loop_start"], 5, "{json}");
    assert_eq!(json["trace"].as_array().map(Vec::len), Some(6), "{json}");
}

#[test]
fn other_trails_are_refused_with_their_line() {
    let folder = Folder::with("m.pml", MIXED);
    for (trail, what) in [
        ("1:2:36\n2:2\n", "line 2"),
        ("1:2:36\n2:0:23\n", "line 2: process 0 cannot execute `assert(x != 2)` (line 15 of the model)"),
        ("1:2:36\n2:0:999\n", "line 2: the model has no transition 999"),
        ("-5:0:0\n1:2:36\n", "permuted"),
    ] {
        folder.write("m.pml.trail", trail);
        let run = folder.run(&["replay", "m.pml.trail"]).exits(2);
        assert!(run.out.is_empty() && run.err.contains(what), "{run:?}");
    }
    folder.write("lonely.trail", MIXED_PLAIN);
    let run = folder.run(&["replay", "lonely.trail"]).exits(2);
    assert!(run.err.contains("--model"), "{run:?}");
    folder.write("m.epa", common::DEADLOCK);
    folder.run(&["replay", "lonely.trail", "--model", "m.epa"]).exits(2);
    folder.run(&["check", "m.epa", "--trail", "x.trail"]).exits(2);
    folder.run(&["check", "m.pml", "--trail", "m.pml"]).exits(2);
    folder.run(&["check", "m.pml", "--trace", "t.json", "--quiet"]).exits(1);
    let run = folder.run(&["replay", "t.json", "--model", "m.pml"]).exits(2);
    assert!(run.err.contains("none of SPIN's trails"), "{run:?}");
    folder.run(&["replay", "t.json", "-DN=1"]).exits(2);
}

/// What is written is read again, as the same path.
#[test]
fn trails_are_read_as_they_were_written() {
    for (name, model) in [("m.pml", MIXED), ("l.pml", CLAIMED)] {
        let folder = Folder::with(name, model);
        let checked = folder.run(&["check", name, "--trail", "t.trail", "--json"]).exits(1).json();
        let replayed = folder.run(&["replay", "t.trail", "--model", name, "--json"]).exits(0).json();
        assert_eq!(checked["trace"], replayed["trace"]);
        assert_eq!(checked["loop_start"], replayed["loop_start"]);
    }
    let folder = Folder::with("fine.pml", "active proctype P() { skip }");
    folder.run(&["check", "fine.pml", "--trail", "t.trail"]).exits(0);
    assert!(!folder.has("t.trail"), "there is nothing to write");
}

/// A C compiler, if SPIN is there, too.
fn compiler() -> Option<&'static str> {
    let works = |name: &str, how: &str| Command::new(name).arg(how).output().is_ok_and(|output| output.status.success());
    let found = ["tcc", "cc", "gcc"].into_iter().find(|name| works(name, if *name == "tcc" { "-v" } else { "--version" }));
    let found = found.filter(|_| works("spin", "-V"));
    if found.is_none() {
        testkit::passed_over("SPIN or a C compiler is missing");
    }
    found
}

fn run(folder: &Folder, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).current_dir(folder.path("")).args(arguments).output().expect("it starts");
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A model of ours.
fn model(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/promela").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The verifier that SPIN makes of `m.pml`.
fn verifier(folder: &Folder, compiler: &str, spin: &[&str], cc: &[&str]) {
    run(folder, "spin", &[spin, &["-a", "m.pml"]].concat());
    let told = run(folder, compiler, &[&["-w", "-o", "pan"], cc, &["pan.c"]].concat());
    assert!(folder.has("pan"), "{told}");
}

/// Models with a violation that SPIN finds, too. Their headers name it.
const VIOLATED: &[&str] = &[
    "classic/philosophers",
    "classic/needham_schroeder",
    "language/assertion_fails",
    "language/end_label_missing",
    "language/atomic_exits",
    "language/death_decides_number",
    "language/rendezvous_alone",
    "language/atomic_waits_for_answer",
];

#[test]
fn spin_and_we_replay_each_other() {
    let Some(compiler) = compiler() else { return };
    let named = |text: &str| text.split("violation=\"").nth(1).and_then(|rest| rest.split('"').next()).map(str::to_owned);
    let texts = VIOLATED.iter().map(|name| model(&format!("{name}.pml"))).map(|text| (named(&text).expect("a kind"), text));
    let texts = texts.chain([("assertion violated".to_owned(), MIXED.to_owned())]).map(|(kind, text)| (text, kind));
    let mut compared = 0;
    for (text, kind) in texts {
        let folder = Folder::with("m.pml", &text);
        for how in [&[][..], &["-o3"]] {
            verifier(&folder, compiler, how, &["-DNOREDUCE", "-DSAFETY"]);
            let said = run(&folder, "./pan", &[]);
            assert!(folder.has("m.pml.trail"), "{text}\n{said}");
            let json = folder.run(&["replay", "m.pml.trail", "--json"]).exits(0).json();
            assert_eq!(json["violation"]["kind"], kind.as_str(), "{text}\n{said}\n{json}");
            std::fs::remove_file(folder.path("m.pml.trail")).expect("it is ours");
        }
        let checked = folder
            .run(&["check", "m.pml", "--only", "safety", "--trail", "ours.trail", "--itf", "ours.itf.json", "--json"])
            .exits(1)
            .json();
        let told = run(&folder, "spin", &["-t", "-p", "-g", "-k", "ours.trail", "m.pml"]);
        for wrong in ["transition failed", "invalid statement", "stop error", "no matching", "(?)"] {
            assert!(!told.contains(wrong), "{text}\n{told}");
        }
        let lines = folder.read("ours.trail").lines().count();
        assert!(told.contains(&format!("trail ends after {lines} steps")), "{text}\n{told}");
        assert_eq!(told.contains("assertion violated"), kind == "assertion violated", "{text}\n{told}");
        // In the end all variables have the values that we say.
        let end = told.split("trail ends after").nth(1).unwrap_or_default();
        let itf: Value = serde_json::from_str(&folder.read("ours.itf.json")).expect("JSON");
        let last = itf["states"].as_array().and_then(|states| states.last()).expect("a state");
        for (name, value) in end.lines().filter_map(|line| line.strip_prefix("\t\t")?.split_once(" = ")) {
            let ours = match name.split_once('[') {
                Some((array, index)) => &last[array][index.trim_end_matches(']').parse::<usize>().unwrap_or(0)],
                None => &last[name],
            };
            let ours = ours.as_str().map_or_else(|| ours.to_string(), str::to_owned);
            assert_eq!(ours, value, "{name}\n{text}\n{told}");
            compared += 1;
        }
        let processes = checked["processes"].as_array().map_or(0, Vec::len);
        assert!(end.contains(&format!("#processes: {processes}\n")), "{processes}\n{text}\n{told}");
    }
    assert!(compared > 10, "only {compared} values");
}

/// The figures of a summary: stored, matched, transitions, errors.
fn figures(text: &str) -> Vec<u64> {
    let before = |what: &str| {
        let line = text.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{what} is missing:\n{text}"));
        line.trim().split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{line}"))
    };
    let errors = text.split("errors: ").nth(1).and_then(|rest| rest.split_whitespace().next()?.parse().ok()).expect("errors");
    vec![before(" states, stored"), before(" states, matched"), before(" transitions (= stored+matched)"), errors]
}

/// What is not reached: process and line. The end of a process is not compared: if no step leads
/// there, we have no code for it, and SPIN lists it.
fn unreached(text: &str) -> BTreeSet<(String, String)> {
    let (mut places, mut process) = (BTreeSet::new(), None);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("unreached in ") {
            process = Some(name.trim_start_matches("proctype ").to_owned());
        } else if let (Some(name), Some(place)) = (&process, line.strip_prefix("\tm.pml:").filter(|line| !line.contains("-end-"))) {
            places.insert((name.clone(), place.split(',').next().unwrap_or_default().to_owned()));
        } else if !line.starts_with('\t') {
            process = None;
        }
    }
    places
}

#[test]
fn the_summary_has_the_figures_of_spin() {
    let Some(compiler) = compiler() else { return };
    for name in ["alternating_bit", "dekker", "leader_election", "readers_writers", "szymanski", "two_phase_commit"] {
        let folder = Folder::with("m.pml", model(&format!("classic/{name}.pml")));
        verifier(&folder, compiler, &["-o1", "-o2", "-o3"], &["-DNOREDUCE", "-DSAFETY", "-DNOCLAIM", "-DVECTORSZ=4096"]);
        let theirs = run(&folder, "./pan", &["-c0", "-m1000000"]);
        let whole = ["--no-por", "--no-merge", "--no-dead", "--no-unused", "--only", "safety", "--format", "spin"];
        let ours = folder.run(&[&["check", "m.pml"], &whole[..]].concat()).exits(0).out;
        assert_eq!(figures(&ours), figures(&theirs), "{name}\n{ours}\n{theirs}");
        assert_eq!(unreached(&ours), unreached(&theirs), "{name}\n{ours}\n{theirs}");
        // A script finds each line where SPIN has one.
        for line in ["Full statespace search for:", "\tassertion violations\t+", "\tinvalid end states\t+", "State-vector "] {
            assert!(ours.contains(line) && theirs.contains(line), "{line}\n{ours}\n{theirs}");
        }
    }
    let folder = Folder::with("m.pml", MIXED);
    verifier(&folder, compiler, &["-o3"], &["-DNOREDUCE", "-DSAFETY"]);
    let (theirs, ours) = (run(&folder, "./pan", &[]), folder.run(&["check", "m.pml", "--format", "spin"]).exits(1).out);
    let first = |text: &str| text.lines().next().unwrap_or_default().split(" (at depth").next().unwrap_or_default().replace(' ', "");
    assert_eq!(first(&ours), first(&theirs));
}
