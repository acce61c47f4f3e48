//! Describes states and steps of a program that uses many features.

use bytecode::{Verified, asm, verify};
use contract::{Action, Fault, Trace, TraceStep, Violation, ViolationKind};
use replay::{Narrator, ReplayError, Step, View};
use std::sync::Arc;

const PROGRAM: &str = r#"
symbol red = 1, green = 2
global mtype light = red
global bool open
global byte row[3] = {4, 5, 6}
global scratch int hidden
chantype pair = [2] of { mtype, bool }
channel queue : pair
channel meet = [0] of { byte }

process Giver() {
    local chan own
    LDC queue               ;: queue!green,true
    LDC green
    LDC 1
    SEND 2
    STEP N
    LDC meet                ;: meet!7
    LDC 7
    SEND 1
    STEP N
    LDC 1                   ;: open = true
    STG open
    STEP D
    LDC green               ;: light = green
    STG light
    PRINT "on\n", 0
    STEP N
    CHNEW pair              ;: own = new
    STL own
    STEP N
end: end
    LDC 0                   ;: false
    NEXZ
    STEP N
    STEP T
}

process Taker() {
    local byte got
    LDC meet                ;: meet?got
    RECV 1, {}, first
    PUSH r0
    STL got
    STEP N
    LDL got                 ;: row[got]++
    LDGX row
    DROP
    STEP N
    STEP T
}

start Giver, Taker
"#;

fn program() -> Arc<Verified> {
    assembled(PROGRAM)
}

fn assembled(text: &str) -> Arc<Verified> {
    let mut map = source::SourceMap::new();
    let file = map.add("words.epa", text);
    let program = asm::assemble(&map, file).unwrap_or_else(|errors| panic!("{}", source::render_all(&map, &errors)));
    Arc::new(verify(program).unwrap_or_else(|error| panic!("{error}")))
}

fn value(view: &View, name: &str) -> String {
    let values = view.values();
    values.iter().find(|named| named.name == name).unwrap_or_else(|| panic!("no {name} in {values:?}")).value.clone()
}

/// Takes the first step whose label begins with `label`.
fn take(narrator: &Narrator, state: &[u8], label: &str) -> Step {
    let steps = narrator.steps(state).expect("a state");
    let labels: Vec<String> = steps.iter().map(Step::label).collect();
    steps.into_iter().find(|step| step.label().starts_with(label)).unwrap_or_else(|| panic!("no {label} in {labels:?}"))
}

/// A run to the end of Giver, state by state.
fn run(narrator: &Narrator) -> Vec<(Step, Vec<u8>)> {
    let mut state = narrator.initial().0.expect("a state");
    ["Giver(0): queue!", "Giver(0): meet!7", "Giver(0): open", "Giver(0): own"]
        .map(|label| {
            let step = take(narrator, &state, label);
            state = step.state.clone().expect("no fault");
            (step, state.clone())
        })
        .into()
}

#[test]
fn values_have_the_names_and_looks_they_were_given() {
    let program = program();
    let narrator = Narrator::new(Arc::clone(&program));
    let initial = narrator.initial().0.expect("a state");
    let first = narrator.view(&initial).expect("a state");
    assert_eq!(value(&first, "light"), "red");
    assert_eq!(value(&first, "open"), "false");
    assert_eq!(value(&first, "row"), "[4, 5, 6]");
    assert_eq!(value(&first, "queue"), "[]");
    assert_eq!(value(&first, "Giver(0).own"), "none");
    assert!(first.values().iter().all(|named| named.name != "hidden" && named.name != "meet"), "neither lasts between steps");
    assert_eq!(first.processes[1].name, "Taker");
    assert_eq!(first.processes[1].statement, "meet?got");
    assert!(!first.processes[0].may_end);

    let run = run(&narrator);
    let last = narrator.view(&run[3].1).expect("a state");
    assert_eq!(value(&last, "queue"), "[(green,true)]");
    assert_eq!(value(&last, "light"), "green");
    assert_eq!(value(&last, "Giver(0).own"), "channel 3");
    assert_eq!(value(&last, "channel 3"), "[]");
    assert!(last.processes[0].may_end, "at its end label");

    let second = narrator.view(&run[0].1).expect("a state");
    let changes: Vec<String> = second.changes(&first).into_iter().map(|named| named.name).collect();
    assert_eq!(changes, ["queue"]);
    assert_eq!(second.changes(&second), []);
}

#[test]
fn steps_tell_all_that_happens_in_them() {
    let narrator = Narrator::new(program());
    let run = run(&narrator);
    let labels: Vec<String> = run.iter().map(|(step, _)| step.label()).collect();
    assert_eq!(
        labels,
        [
            "Giver(0): queue!green,true",
            "Giver(0): meet!7 | Taker(1): meet?got",
            "Giver(0): open = true; light = green",
            "Giver(0): own = new"
        ]
    );
    assert_eq!(run[2].0.printed, "on\n");
    let line = PROGRAM.lines().position(|line| line.contains(";: meet!7")).expect("it is there") + 1;
    assert_eq!(run[1].0.first().position.as_ref().map(|at| (at.file.as_str(), at.line as usize)), Some(("words.epa", line)));
}

#[test]
fn a_statement_that_fails_for_good_is_told_too() {
    let narrator = Narrator::new(program());
    let run = run(&narrator);
    let step = take(&narrator, &run[3].1, "Taker(1): row[got]++");
    assert_eq!(step.state, None);
    let fault = step.fault.expect("an index out of range");
    assert_eq!(fault.kind, ViolationKind::IndexOutOfRange);
    assert_eq!(fault.position.as_ref().map(|at| at.line), step.statements[0].position.as_ref().map(|at| at.line));
}

/// Sequences that fail in a later statement: of the first option and of the second one, with
/// statements before and behind the one that fails.
const SEQUENCES: &str = r#"
global byte a[3]
global byte i = 2
process P() {
start:
    NDET second
    LDG i                   ;: i < 3
    LDC 3
    LT
    NEXZ
    STEP I
    LDG i                   ;: i = i + 4
    LDC 4
    ADD
    STG i
    STEP I
    LDC 1                   ;: a[i] = 1
    LDG i
    CHK 3
    STGX a
    STEP N
    JMP start
second:
    LDG i                   ;: i == 2
    LDC 2
    EQ
    NEXZ
    STEP I
    LDG i                   ;: a[1] = i + 2
    LDC 2
    ADD
    LDC 1
    STGX a
    STEP I
    LDC 1                   ;: assert(a[1] == i)
    LDGX a
    LDG i
    EQ
    ASSERT
    STEP I
    LDC 0                   ;: i = 0
    STG i
    STEP N
    JMP start
}
start P
"#;

#[test]
fn a_fault_in_a_sequence_is_explained_by_what_the_sequence_stored() {
    let narrator = Narrator::new(assembled(SEQUENCES));
    let initial = narrator.initial().0.expect("a state");
    for (label, kind, told) in [
        ("P(0): i < 3", ViolationKind::IndexOutOfRange, "the index is 6, and the array has 3 elements"),
        ("P(0): i == 2", ViolationKind::Assertion, "it read a[1] = 4, i = 2"),
    ] {
        let step = take(&narrator, &initial, label);
        assert_eq!(step.fault.as_ref().map(|fault| fault.kind), Some(kind), "{label}");
        assert_eq!(step.because.as_deref(), Some(told), "{label}");
    }
}

#[test]
fn only_true_traces_pass() {
    let narrator = Narrator::new(program());
    let run = run(&narrator);
    let initial = narrator.initial().0.expect("a state");
    let steps: Vec<TraceStep> = run.iter().map(|(step, _)| TraceStep { action: step.action, state: step.state.clone() }).collect();
    let trace = Trace { initial: initial.clone(), steps, loop_start: None };
    let told = narrator.replay(&trace).expect("a true trace");
    assert_eq!(told, run.iter().map(|(step, _)| step.clone()).collect::<Vec<_>>());

    let mut wrong = trace.clone();
    wrong.steps.remove(1);
    assert_eq!(narrator.replay(&wrong), Err(ReplayError::Step(2)));
    let mut wrong = trace.clone();
    wrong.steps[2].action = Action::new(9, 9);
    assert_eq!(narrator.replay(&wrong), Err(ReplayError::Step(3)));
    let wrong = Trace { initial: run[0].1.clone(), steps: trace.steps[1..].to_vec(), loop_start: None };
    assert_eq!(narrator.replay(&wrong), Err(ReplayError::Initial));
    assert!(narrator.replay_from(&wrong).is_ok(), "from where it begins it is true");
    assert!(matches!(narrator.steps(&initial[1..]), Err(ReplayError::State(_))));

    // The violation must be the one at the end.
    let mut failing = trace.clone();
    let fault = take(&narrator, &run[3].1, "Taker(1): row[got]++");
    failing.steps.push(TraceStep { action: fault.action, state: None });
    let found = fault.fault.expect("an index out of range");
    assert!(narrator.confirm(&Violation { fault: found.clone(), trace: failing.clone() }).is_ok());
    let elsewhere = Fault { position: None, ..found.clone() };
    assert!(narrator.confirm(&Violation { fault: elsewhere, trace: failing }).is_err());
    assert!(narrator.confirm(&Violation { fault: found, trace }).is_err());
}

/// A deterministic sequence of 120,000 statements, half of which print.
const LONG: &str = r#"
global int x
process P() {
again:
    ;: x++
    LDG x
    LDC 1
    ADD
    STG x
    LDG x
    PRINT "%d ", 1
    STEP D
    NDET out
    ;: x < 60000
    LDG x
    LDC 60000
    LT
    NEXZ
    STEP D
    JMP again
out:
    ;: x == 60000
    LDG x
    LDC 60000
    EQ
    NEXZ
    STEP N
    STEP T
}
start P
"#;

#[test]
fn a_very_long_step_is_told_without_its_middle() {
    let narrator = Narrator::new(assembled(LONG));
    let initial = narrator.initial().0.expect("a state");
    let mut moves = narrator.moves(&initial).expect("a state");
    assert_eq!((moves.len(), moves.is_empty()), (1, false));
    assert_eq!(moves.tell(1), None);
    let step = moves.tell(0).expect("there is one");
    assert_eq!(step.statement_count(), 120_000);
    let gap = step.left_out.expect("too long to be told");
    assert!(step.statements.len() < 50_000 && gap.after < step.statements.len(), "{gap:?}");
    assert_eq!(step.statements.last().map(|last| last.text.as_str()), Some("x == 60000"));
    assert!(Arc::ptr_eq(&step.statements[0], &step.statements[2]), "a statement is put into words once");
    assert!(step.printed.starts_with("1 2 3 ") && step.printed.ends_with(" 59999 60000 ") && step.printed.contains("left out"));
    assert!(step.label().len() < 2000);
    let end = step.state.expect("it ends well");
    assert_eq!(narrator.view(&end).map(|view| value(&view, "x")), Ok("60000".to_owned()));
}
