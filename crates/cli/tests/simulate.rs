//! `everypath simulate`: random runs, chosen runs, and states that are passed from one process to
//! another in a file.

mod common;

use common::{DEADLOCK, ENDLESS, FINE, Folder, LOST_UPDATE};

#[test]
fn a_seed_decides_the_run() {
    let folder = Folder::with("model.epa", LOST_UPDATE);
    let run = |seed: &str| {
        let run = folder.run(&["simulate", "model.epa", "--seed", seed, "--json"]);
        assert!(matches!(run.code, 0 | 1), "{run:?}");
        run.json()
    };
    assert_eq!(run("1"), run("1"));
    let different = (0..20).map(|seed| run(&seed.to_string())["trace"].to_string()).collect::<std::collections::HashSet<_>>();
    assert!(different.len() > 5, "twenty seeds gave {} runs", different.len());
}

#[test]
fn what_a_program_prints_is_shown() {
    let folder = Folder::with("model.epa", LOST_UPDATE);
    let fine = (0..100).find_map(|seed| {
        let run = folder.run(&["simulate", "model.epa", "--seed", &seed.to_string()]);
        (run.code == 0).then_some(run)
    });
    let run = fine.expect("some run goes well");
    assert!(run.out.contains("x is 2"), "{run:?}");
    assert!(run.out.contains("x = copy + 1"), "{run:?}");
}

#[test]
fn values_that_do_not_fit_are_cut_with_a_warning() {
    let text = "byte x, a[2]; chan q = [1] of { byte };\nproctype R(byte p) { skip }\nactive proctype P() { x = 300; a[1] = -1; q!513; run R(258); x = 255 }\n";
    let folder = Folder::with("model.pml", text);
    let run = folder.run(&["simulate", "model.pml"]).exits(0);
    let warnings: Vec<&str> = run.out.lines().filter_map(|line| line.trim().strip_prefix("warning: ")).collect();
    let expected = [
        "300 does not fit, 44 is stored: x = 300",
        "-1 does not fit, 255 is stored: a[1] = -1",
        "513 does not fit, 1 is stored: q!513",
        "258 does not fit, 2 is stored: run R(258)",
    ];
    assert_eq!(warnings, expected, "{run:?}");
    let json = folder.run(&["simulate", "model.pml", "--json"]).exits(0).json();
    assert_eq!(json["trace"][0]["warnings"][0], expected[0], "{json}");
}

#[test]
fn a_run_that_goes_wrong_says_so() {
    let folder = Folder::with("model.epa", DEADLOCK);
    // Left takes a, Right takes b.
    let run = folder.run_with(&["simulate", "model.epa", "--interactive", "--json"], "1\n2\n").exits(1);
    let json = run.json();
    assert_eq!(json["end"], "violated", "{json}");
    assert_eq!(json["violation"]["kind"], "invalid end state");
    assert_eq!(json["steps"], 2);
    assert_eq!(json["values"]["a"], "0");
    assert!(run.err.contains("Left(0): take a"), "choices are offered on standard error: {run:?}");
}

#[test]
fn a_person_may_mistype_look_and_leave() {
    let folder = Folder::with("model.epa", FINE);
    let run = folder.run_with(&["simulate", "model.epa", "-i", "--json"], "7\nnonsense\n\nv\n1\nq\n").exits(0);
    assert_eq!(run.json()["end"], "interrupted");
    assert_eq!(run.json()["steps"], 1);
    assert!(run.err.contains("Counter(1).count = 0"), "{run:?}");
    // The end of the input is the end of the run.
    let run = folder.run_with(&["simulate", "model.epa", "-i", "--json"], "1\n").exits(0);
    assert_eq!(run.json()["steps"], 1);
}

#[test]
fn steps_are_limited() {
    let folder = Folder::with("model.epa", ENDLESS);
    let json = folder.run(&["simulate", "model.epa", "--steps", "25", "--json"]).exits(0).json();
    assert_eq!(json["steps"], 25);
    assert_eq!(json["end"], "steps");
    assert_eq!(json["values"]["n"], "25");
}

/// A state is complete in itself: three steps in one process and four in another lead to the same
/// state as seven in one.
#[test]
fn a_snapshot_continues_in_another_process() {
    let folder = Folder::with("model.epa", LOST_UPDATE);
    let choices = "1\n".repeat(7);
    let run = |options: &[&str]| {
        let arguments = [&["simulate", "model.epa", "--interactive", "--json"], options].concat();
        folder.run_with(&arguments, &choices).exits(0).json()
    };
    run(&["--steps", "3", "--save", "three"]);
    let continued = run(&["--from", "three", "--steps", "4", "--save", "four"]);
    let whole = run(&["--steps", "7", "--save", "seven"]);
    assert_eq!(folder.read("four"), folder.read("seven"));
    assert_ne!(folder.read("three"), folder.read("seven"));
    assert_eq!(continued["values"], whole["values"]);
    assert_eq!(continued["trace"].as_array().expect("a list")[..], whole["trace"].as_array().expect("a list")[3..]);
}

#[test]
fn a_snapshot_of_another_program_is_refused() {
    let folder = Folder::with("model.epa", LOST_UPDATE);
    folder.run(&["simulate", "model.epa", "--seed", "1", "--steps", "2", "--save", "state", "--json"]).exits(0);
    folder.write("other.epa", ENDLESS);
    let run = folder.run(&["simulate", "other.epa", "--from", "state", "--seed", "1"]).exits(2);
    assert!(run.err.contains("state"), "{run:?}");
    for garbage in [
        "",
        "everypath trace 1\n",
        "everypath trace 1\ninitial x0\n",
        "everypath trace 1\ninitial x\n",
        "everypath trace 1\ninitial xffffffffff\n",
    ] {
        folder.write("garbage", garbage);
        let run = folder.run(&["simulate", "model.epa", "--from", "garbage"]).exits(2);
        assert!(!run.err.is_empty() && run.out.is_empty(), "{run:?}");
    }
}

/// If the user stops an interactive run, the steps so far are kept.
#[cfg(unix)]
#[test]
fn an_interrupt_while_waiting_for_a_choice_saves_the_run() {
    use std::io::Write;
    use std::process::Stdio;

    let folder = Folder::with("model.epa", FINE);
    let mut command = folder.command(&["simulate", "model.epa", "-i", "--json", "--save", "state", "--trace", "trace"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut typed = child.stdin.take().expect("piped");
    typed.write_all(b"1\n").expect("it listens");
    common::await_handler(&child);
    common::signal(&child, "INT");
    let run = common::Run::new(child.wait_with_output().expect("the program ends")).exits(0);
    drop(typed);
    assert_eq!(run.json()["end"], "interrupted");
    assert!(folder.has("state") && folder.has("trace"));
    folder.run(&["replay", "trace"]).exits(0);
}

/// The run that results from the user's input: the texts of its steps.
fn typed(input: &str) -> (Vec<String>, common::Run) {
    let folder = Folder::with("model.epa", LOST_UPDATE);
    let run = folder.run_with(&["simulate", "model.epa", "-i", "--json"], input);
    let trace = run.json()["trace"].as_array().expect("a list").clone();
    let text = |step: &serde_json::Value| format!("{} {}", step["pid"], step["statement"].as_str().unwrap_or_default());
    (trace.iter().map(text).collect(), run)
}

#[test]
fn steps_can_be_undone_and_made_again() {
    let straight = typed("1\n1\n2\nq\n").0;
    assert_eq!(straight, ["0 copy = x", "0 x = copy + 1", "1 copy = x"]);
    assert_eq!(typed("1\n1\nu\nq\n").0, straight[..1]);
    assert_eq!(typed("1\n1\n2\nu 2\nq\n").0, straight[..1]);
    // Forward again to the last step that was made.
    assert_eq!(typed("1\n1\n2\nj 0\nj 3\nq\n").0, straight);
    assert_eq!(typed("1\n1\n2\nj 1\n1\nj 3\nq\n").0, straight, "the same step again forgets nothing");
    // After another step, the undone steps are gone.
    let (steps, run) = typed("1\n1\nj 0\n2\nj 2\nq\n");
    assert_eq!(steps, ["1 copy = x"]);
    assert!(run.err.contains("there is no step 2 yet"), "{run:?}");
    assert!(typed("u\nq\n").1.err.contains("only 0 steps can be undone"));
}

#[test]
fn an_empty_line_repeats_and_help_is_there() {
    assert_eq!(typed("1\n\n\nq\n").0.len(), 3);
    assert_eq!(typed("1\n1\n1\nu\n\nq\n").0.len(), 1);
    for help in ["h", "?"] {
        let run = typed(&format!("{help}\nq\n")).1;
        for word in ["/TEXT", "undo", "jump", "an empty line"] {
            assert!(run.err.contains(word), "{word}: {run:?}");
        }
    }
}

#[test]
fn a_step_is_found_by_its_text() {
    let (_, run) = typed("1\n/COPY + 1\nq\n");
    let found = run.err.split("h for help): ").nth(2).expect("an answer");
    assert!(found.contains("x = copy + 1") && !found.contains("copy = x"), "{run:?}");
    let (_, run) = typed("1\n/copy = x\n/nothing like it\nq\n");
    assert!(run.err.contains("was step 1: P(0): copy = x") && run.err.contains("no step has `nothing like it`"), "{run:?}");
}

/// At the end of a run the user can still go back; a user who does not has seen the violation.
#[test]
fn a_dead_end_can_be_left_by_going_back() {
    let folder = Folder::with("model.epa", DEADLOCK);
    let end = |input: &str, code| folder.run_with(&["simulate", "model.epa", "-i", "--json"], input).exits(code).json();
    assert_eq!(end("1\n2\n1\nq\n", 1)["end"], "violated");
    let json = end("1\n2\nu\n1\nq\n", 0);
    assert_eq!((&json["end"], &json["steps"], &json["trace"][1]["statement"]), (&"interrupted".into(), &2.into(), &"take b".into()));
    // In text, the printed steps remain, and each undo is marked.
    let run = folder.run_with(&["simulate", "model.epa", "-i"], "1\nu\n2\nq\n").exits(0);
    assert!(run.out.contains("back to the state after step 0") && run.out.matches("   1  ").count() == 2, "{run:?}");
}

/// Steps that are skipped are those that would have been printed.
#[test]
fn skipped_steps_are_made_as_the_others() {
    let folder = Folder::with("model.pml", "byte x; active proctype p() { do :: x < 200 -> x++ :: x > 0 -> x-- od }");
    let values = |more: &[&str]| {
        let json = folder.run(&[&["simulate", "model.pml", "--seed", "5", "--json"], more].concat()).exits(0).json();
        (json["values"].clone(), json["skipped"]["steps"].as_u64(), json["steps"].as_u64())
    };
    let (whole, none, steps) = values(&["--steps", "600"]);
    assert_eq!((none, steps), (None, Some(600)));
    assert_eq!(values(&["--skip", "590", "--steps", "10"]), (whole, Some(590), Some(10)));
    // A fault ends the skipping, and is shown.
    let folder = Folder::with("model.pml", "byte x; active proctype p() { do :: x++; assert(x < 50) od }");
    let json = folder.run(&["simulate", "model.pml", "--skip", "1000", "--json"]).exits(1).json();
    assert!(json["skipped"]["steps"].as_u64().is_some_and(|steps| steps < 110) && json["violation"].is_object(), "{json}");
}
