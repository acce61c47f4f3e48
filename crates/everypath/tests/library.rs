//! The library from the point of view of a program that embeds it.

use everypath::{
    Cancel, Error, Exploration, Fault, Inserted, Limits, Observer, Only, Order, Plan, Por, Program, Progress, Reading, StateId, StopReason,
    Store, StoreFull, StoreWorker, Successors, System, Verdict, ViolationKind, explore,
};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const PING_PONG: &str = r#"
channel c = [1] of { byte }
global byte got

process Ping() {
    ;: c!7
    LDC c
    LDC 7
    SEND 1
    STEP N
    ;: end
    STEP T
}

process Pong() {
    ;: c?got
    LDC c
    RECV 1, {}, first
    PUSH r0
    STG got
    STEP N
    ;: assert(got == 7)
    LDG got
    LDC 7
    EQ
    ASSERT
    STEP N
    ;: end
    STEP T
}

start Ping, Pong
"#;

const ENDLESS: &str = "global int n\nprocess P() {\nagain: LDG n\n LDC 1\n ADD\n STG n\n STEP N\n JMP again\n}\nstart P\n";

fn load(text: &str) -> Program {
    Program::load("test.epa", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// A limit on the time for loading: one that is reached, and one that is not.
#[test]
fn loading_has_a_time_limit() {
    let load = |contents: &str, limit: Duration| {
        Program::read("m.pml", contents.as_bytes(), &Reading { limit: Some(limit), ..Reading::default() })
    };
    let long = format!("int x; init {{ {} }}", "x = x + 1; ".repeat(50_000));
    assert!(matches!(load(&long, Duration::from_millis(1)), Err(Error::LoadTime(_))));
    let program = load("init { skip }", Duration::from_secs(60)).expect("a good program");
    assert!(program.initial().is_ok());
    assert!(matches!(load("init { x = 1 }", Duration::from_secs(60)), Err(Error::Program(_))));
}

#[test]
fn steps_are_told_in_the_words_of_the_source() {
    let program = load(PING_PONG);
    let initial = program.initial().expect("a state");
    let steps = program.successors(&initial).expect("a state of the program");
    assert_eq!(steps.len(), 1, "the receiver waits");
    assert_eq!(steps[0].label(), "Ping(0): c!7");
    assert_eq!(steps[0].first().position.as_ref().map(|at| (at.file.as_str(), at.line)), Some(("test.epa", 6)));
    let next = steps[0].state.as_ref().expect("no fault");
    let view = program.view(next).expect("a state");
    assert!(view.values().iter().any(|named| named.name == "c" && named.value == "[7]"), "{view:?}");
    assert!(!program.is_valid_end(&initial).expect("a state"));
}

/// A search written with the fast interface or with the descriptive one finds the same states as
/// `check`.
#[test]
fn a_search_of_ones_own_sees_the_same_states() {
    let program = load(PING_PONG);
    let checked = program.check(&Plan::space()).expect("a sound plan");
    let mut system = program.system();
    let mut out = Successors::new();
    let initial = program.initial().expect("a state");
    let mut seen = HashSet::from([initial.clone()]);
    let mut queue = VecDeque::from([initial]);
    let mut transitions = 0;
    while let Some(state) = queue.pop_front() {
        out.clear();
        system.successors(&state, &mut out);
        let told = program.successors(&state).expect("a state of the program");
        let fast: Vec<_> = out.iter().map(|(_, state)| state.map(<[u8]>::to_vec)).collect();
        assert_eq!(fast, told.iter().map(|step| step.state.clone()).collect::<Vec<_>>());
        for next in fast.into_iter().flatten() {
            transitions += 1;
            if seen.insert(next.clone()) {
                queue.push_back(next);
            }
        }
    }
    let numbers = &checked.outcome.statistics;
    assert_eq!((seen.len() as u64, transitions), (numbers.states, numbers.transitions));
    assert_eq!(checked.outcome.verdict, Verdict::Holds);
}

#[test]
fn violations_come_with_steps_that_can_be_replayed() {
    let program = load(&PING_PONG.replace("LDC c\n    LDC 7", "LDC c\n    LDC 8"));
    for order in [Order::Breadth, Order::Depth] {
        let checked = program.check(&Plan { order, ..Plan::check() }).expect("a sound plan");
        let Verdict::Violated(violation) = &checked.outcome.verdict else { panic!("{checked:?}") };
        assert_eq!(violation.fault.kind, ViolationKind::Assertion);
        assert_eq!(program.replay(&violation.trace).expect("its own trace"), checked.steps);
        // A trace has a text form.
        let read = violation.trace.to_string().parse().expect("its own text");
        assert_eq!(violation.trace, read);
    }
}

#[test]
fn a_program_that_fails_before_its_first_state_is_told() {
    let text = "process P() {\n local byte x\n.prologue\n LDC 1\n LDC 0\n DIV\n STL x\n RET\n.entry\n STEP T\n}\nstart P\n";
    let program = load(text);
    assert!(matches!(program.initial(), Err(Error::Initial(Fault { kind: ViolationKind::DivisionByZero, .. }))));
    for plan in [Plan::check(), Plan::space()] {
        let checked = program.check(&plan).expect("a sound plan");
        let Verdict::Violated(violation) = checked.outcome.verdict else { panic!("{checked:?}") };
        assert_eq!(violation.fault.kind, ViolationKind::DivisionByZero);
    }
}

#[test]
fn what_is_worth_knowing_is_told() {
    assert!(load(PING_PONG).warnings().is_empty());
    let program = Program::load("p.pml", b"byte x; active proctype P() { x = 0 }\nD_proctype D() { skip }\n").expect("a program");
    assert!(program.warnings()[0].starts_with("p.pml:2:12: non-determinism in a `D_proctype`"), "{:?}", program.warnings());
}

#[test]
fn every_property_has_its_verdict() {
    let program = Program::load("p.pml", b"byte x; active proctype P() { assert(x == 0) }\nltl p { [] (x == 0) }\n").expect("a program");
    let verdicts = |plan: &Plan| -> Vec<(String, bool)> {
        let checked = program.check(plan).expect("a sound plan");
        checked.properties.into_iter().map(|judged| (judged.property.name, judged.verdict == Verdict::Holds)).collect()
    };
    let safety = ["assertions", "end states", "run-time errors"].map(|name| (name.to_owned(), true));
    assert_eq!(verdicts(&Plan::check()), [&safety[..], &[("p".to_owned(), true)]].concat());
    assert_eq!(verdicts(&Plan { only: Some(Only::Safety), ..Plan::check() }), safety);
    let verdict = |sent: u8| {
        let text = format!("chan q = [1] of {{ byte }}; active proctype P() {{ q!{sent} }}\ntrace {{ q!1 }}\n");
        let program = Program::load("p.pml", text.as_bytes()).expect("a program");
        program.check(&Plan::check()).expect("a sound plan").outcome.verdict
    };
    assert_eq!(verdict(1), Verdict::Holds);
    assert!(matches!(verdict(2), Verdict::Violated(_)));
}

#[test]
fn errors_are_values() {
    assert!(matches!(Program::load("x.epa", b"garbage"), Err(Error::Program(_))));
    assert!(matches!(Program::load("x.unknown", b""), Err(Error::Program(_))));
    assert!(matches!(Program::load("x.epb", b"\x89EPB"), Err(Error::Program(_))));
    let program = load(PING_PONG);
    let initial = program.initial().expect("a state");
    for wrong in [&initial[1..], &[], &[0xff; 40], &[initial.as_slice(), &[0]].concat()] {
        assert!(matches!(program.successors(wrong), Err(Error::State(_))), "{wrong:?}");
        assert!(matches!(program.view(wrong), Err(Error::State(_))), "{wrong:?}");
        assert!(matches!(program.is_valid_end(wrong), Err(Error::State(_))), "{wrong:?}");
    }
}

#[test]
fn text_and_binary_round_trip() {
    let program = load(PING_PONG);
    let text = program.to_assembly().expect("a program");
    assert_eq!(load(&text).to_assembly().as_ref(), Some(&text));
    let again = Program::load("again.epb", &program.to_binary().expect("a program")).expect("our own binary");
    assert_eq!(again.to_assembly(), Some(text));
    assert_eq!(again.initial().expect("a state"), program.initial().expect("a state"));
}

#[test]
fn a_check_can_be_watched_limited_and_stopped() {
    struct Watcher(AtomicU32, Cancel);
    impl Observer for Watcher {
        fn progress(&self, progress: &Progress) {
            assert!(progress.states > 0);
            self.0.fetch_add(1, Ordering::Relaxed);
            self.1.cancel();
        }
    }
    let program = load(ENDLESS);
    let cancel = Cancel::default();
    let watcher = Watcher(AtomicU32::new(0), cancel.clone());
    let checked = program.check_with(&Plan::check(), &cancel, &watcher).expect("a sound plan");
    assert_eq!(checked.outcome.verdict, Verdict::Unknown(StopReason::Interrupted));
    assert!(watcher.0.load(Ordering::Relaxed) > 0);
    let limits = Limits { depth: Some(10), ..Limits::default() };
    let checked = program.check(&Plan { limits, ..Plan::check() }).expect("a sound plan");
    assert_eq!(checked.outcome.verdict, Verdict::Unknown(StopReason::Depth));
    assert_eq!(checked.outcome.statistics.states, 11);
}

/// A graph is loaded, walked and checked like a program, and has no byte-code.
#[test]
fn a_graph_is_a_program_too() {
    let graph = Program::load("g.aut", b"des (0, 2, 3)\n(0, \"a\", 1)\n(0, \"b\", 2)\nstate (1, \"end\")\n").expect("a graph");
    let initial = graph.initial().expect("a state");
    let labels: Vec<String> = graph.successors(&initial).expect("a state").iter().map(|step| step.label()).collect();
    assert_eq!(labels, ["graph(0): a", "graph(0): b"]);
    let Verdict::Violated(violation) = graph.check(&Plan::check()).expect("a sound plan").outcome.verdict else { panic!("a deadlock") };
    assert_eq!((violation.fault.kind, violation.trace.steps.len()), (ViolationKind::Deadlock, 1));
    assert_eq!((graph.name(), graph.to_assembly(), graph.to_binary()), ("g.aut", None, None));
}

/// A store that does not say how much memory it uses.
#[derive(Default)]
struct Silent(Mutex<HashMap<Vec<u8>, u64>>);

struct SilentWorker<'s>(&'s Silent);

impl Store for Silent {
    const EXACT: bool = true;
    const STABLE_NAMES: bool = false;
    type Worker<'s> = SilentWorker<'s>;

    fn worker(&self) -> SilentWorker<'_> {
        SilentWorker(self)
    }

    fn len(&self) -> u64 {
        self.0.lock().expect("no worker fails").len() as u64
    }
}

impl StoreWorker for SilentWorker<'_> {
    fn hash(&mut self, _: &[u8]) -> u64 {
        0
    }

    fn prefetch(&self, _: u64) {}

    fn insert(&mut self, _: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        let mut known = self.0.0.lock().expect("no worker fails");
        let number = known.len() as u64;
        let id = *known.entry(state.to_vec()).or_insert(number);
        Ok(Inserted { id: StateId(id), new: id == number })
    }

    fn find(&mut self, _: u64, state: &[u8]) -> Option<StateId> {
        self.0.0.lock().expect("no worker fails").get(state).copied().map(StateId)
    }

    fn keeps(&self, _: StateId) -> bool {
        false
    }

    fn read(&mut self, _: StateId, _: &mut Vec<u8>) -> bool {
        false
    }
}

/// The memory limit of a search covers a store of the caller, whatever the order and the number of
/// workers.
#[test]
fn a_store_of_the_caller_counts_towards_the_memory_limit() {
    const LIMIT: u64 = 1 << 20;
    // A million states that take 8 MB, and a search that keeps few of them waiting.
    let text = "int n; active proctype P() { do :: n < 1000000 -> n++ od }";
    let system = Program::load("long.pml", text.as_bytes()).expect("a program").system();
    for order in [Order::Breadth, Order::BestFirst] {
        for threads in [1, 2] {
            let store = Silent::default();
            let limits = Limits { memory: Some(LIMIT), ..Limits::default() };
            let outcome =
                explore(&system, &store, &Exploration { order, threads, limits, ..Exploration::default() }).expect("a sound plan");
            assert_eq!(outcome.verdict, Verdict::Unknown(StopReason::Memory), "{order} {threads}");
            let states = store.len();
            assert!(states > 1000 && states * 8 < 4 * LIMIT, "{order} {threads}: {states}");
            assert!(outcome.statistics.store_bytes >= states * 8, "{:?}", outcome.statistics);
        }
    }
}

/// The usual plan reduces, and answers what the plainest plan answers.
#[test]
fn the_usual_plan_is_smaller_and_says_the_same() {
    let text = "byte a, b; active proctype P() { a = 1; a = 2; a = 3 } active proctype Q() { b = 1; b = 2; b = 3 }";
    let program = Program::load("two.pml", text.as_bytes()).expect("a program");
    let run = |plan: &Plan| program.check(plan).expect("a sound plan").outcome;
    let (usual, plain) = (run(&Plan::usual()), run(&Plan::check()));
    assert_eq!((&usual.verdict, &plain.verdict), (&Verdict::Holds, &Verdict::Holds));
    assert!(usual.statistics.states < plain.statistics.states, "{usual:?} {plain:?}");
    assert_eq!((Plan::usual().por, Plan::check().por), (Por::On, Por::Off));
}

/// A formula that is stated when a program is read is checked, alone if it is asked for alone.
#[test]
fn formulas_are_stated_when_a_program_is_read() {
    let read = |formula: &str| {
        let formulas = vec![("f".to_owned(), formula.to_owned())];
        Program::read("p.pml", b"byte x; active proctype P() { x = 1; assert(x == 2) }", &Reading { formulas, ..Reading::default() })
    };
    assert!(matches!(read("[] (y == 1)"), Err(Error::Program(_))));
    let program = read("<> (x == 1)").expect("a program");
    assert!(matches!(program.check(&Plan::usual()).expect("a sound plan").outcome.verdict, Verdict::Violated(_)));
    let alone = program.only(&["f"]).check(&Plan::usual()).expect("a sound plan");
    assert_eq!(alone.outcome.verdict, Verdict::Holds);
    let names: Vec<&str> = alone.properties.iter().map(|judged| judged.property.name.as_str()).collect();
    assert_eq!(names, ["f"]);
}
