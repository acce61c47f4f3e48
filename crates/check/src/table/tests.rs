//! Tests of the table: every combination is refused with its sentence, or gives the right verdicts
//! on small models.

use super::*;
use crate::run::{Surroundings, run_in};
use crate::temporal;
use crate::{Checked, Ctl, CtlForm, EdgeSink, Engine, Folder, Reduced, Selected, Spread, Subject, refuse_several, run_with_edges};
use bytecode::Verified;
use contract::{Fault, Limits, StopReason, Store, Successors, Verdict};
use search::Checkpoints;
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

const METHODS: [Method; 6] = [
    Method::Exploration,
    Method::FiniteRun,
    Method::Cycles(Cycles::Components),
    Method::Cycles(Cycles::Nested),
    Method::Cycles(Cycles::Young),
    Method::Terminal,
];

/// One process that counts to four and begins again. A last process that may end makes the workers
/// meet.
const MODEL: &str = "byte x, y;
active proctype P() { do :: x < 4 -> x++; ASSERTION :: x == 4 -> x = 0 od }
active [2] proctype Q() { y++; y--; y++ }
";

/// A model and a property for `method`, which holds or does not.
fn model(method: Method, holds: bool) -> Asked {
    let (assertion, formula) = match (method, holds) {
        (Method::Exploration, true) => ("assert(x < 5)", None),
        (Method::Exploration, false) => ("assert(x < 4)", None),
        (Method::FiniteRun, true) => ("skip", Some("[] (x < 5)")),
        (Method::FiniteRun, false) => ("skip", Some("[] (x < 4)")),
        // Neither depends on fairness: P moves for ever because Q ends.
        (Method::Cycles(_), true) => ("skip", Some("[] <> (x == 1)")),
        (Method::Cycles(_), false) => ("skip", Some("<> [] (x == 1)")),
        (Method::Terminal, _) => ("skip", None),
    };
    let formula = formula.map(|formula| format!("ltl f {{ {formula} }}\n")).unwrap_or_default();
    let text = MODEL.replace("ASSERTION", assertion) + &formula;
    let program = languages::testing::compile("m.pml", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
    // In every component that cannot be left, `x` is 1 sometimes and never 5.
    let branching = (method == Method::Terminal).then(|| {
        let expression = languages::Expression::new("--ctl", if holds { "x == 1" } else { "x == 5" });
        let input = languages::Input { name: "m.pml", bytes: text.as_bytes(), defines: &[], formulas: &[], files: &mut languages::NoFiles };
        let loaded = languages::load_with(input, &[expression]).unwrap_or_else(|refused| panic!("{:?}", refused.diagnostics));
        let languages::Model::Program(program) = loaded.model else { panic!("it is a program") };
        let form = CtlForm::AlwaysPossibly;
        let branching = vec![("f".to_owned(), Ctl { form, atom: loaded.expressions[0][0] })];
        Selected { subject: Arc::new(Arc::new(*program)), names: Vec::new(), branching, automata: Vec::new() }
    });
    Asked { program, branching }
}

/// A program that states a property, or a formula about it.
struct Asked {
    program: Arc<Verified>,
    branching: Option<Selected>,
}

impl Asked {
    fn subject(&self) -> &dyn Subject {
        self.branching.as_ref().map_or(&self.program, |selected| selected)
    }
}

/// All states of the model and all steps between them, counted without any of our searches.
fn counted(program: &Arc<Verified>) -> (u64, u64) {
    let mut system = program.system(Engine::Interpreter, Arc::default(), &contract::Quiet);
    let mut out = Successors::new();
    system.initial(&mut out);
    let mut waiting: Vec<Vec<u8>> = out.iter().filter_map(|(_, state)| state.map(<[u8]>::to_vec)).collect();
    let mut seen: HashSet<Vec<u8>> = waiting.iter().cloned().collect();
    let mut transitions = 0;
    while let Some(state) = waiting.pop() {
        out.clear();
        system.successors(&state, &mut out);
        transitions += out.entries().len() as u64;
        waiting.extend(out.iter().filter_map(|(_, state)| state.map(<[u8]>::to_vec)).filter(|state| seen.insert(state.clone())));
    }
    (seen.len() as u64, transitions)
}

/// A receiver of checkpoints that never asks for one.
struct Later;

impl Checkpoints for Later {
    fn due(&self) -> bool {
        false
    }

    fn save(&self, _: &mut dyn FnMut(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
        Ok(())
    }
}

fn run(asked: &Asked, combination: &Combination, threads: usize) -> Result<Checked, Refusal> {
    let Combination { order, store, method, fairness, reduction, shortest, saved, .. } = *combination;
    let cycles = if let Method::Cycles(cycles) = method { cycles } else { Cycles::default() };
    let limits = Limits { memory: Some(8 << 20), ..Limits::default() };
    let plan =
        Plan { engine: Engine::Interpreter, order, store, cycles, fairness, por: reduction, shortest, threads, limits, ..Plan::check() };
    let subject = asked.subject();
    for stated in subject.stated() {
        if let Some(Ok(claim)) = subject.claim(&stated) {
            assert_eq!(temporal::method(&plan, &claim), method, "the model asks for what it is meant to");
        }
    }
    let checkpoints = saved.then_some(&Later as &dyn Checkpoints);
    let folder = runs::InMemory::default();
    run_in(subject, &plan, &Surroundings { checkpoints, disk: Some(&folder), ..Surroundings::default() })
}

/// What the combinations of one method and one order were: refused, unreduced, and how many ran.
#[derive(Default)]
struct Tried {
    refusals: HashMap<&'static str, usize>,
    unreduced: HashMap<&'static str, usize>,
    runs: usize,
}

fn tried(method: Method, order: Order) -> Tried {
    let Tried { mut refusals, mut unreduced, mut runs } = Tried::default();
    let models = [true, false].map(|holds| (holds, model(method, holds)));
    let numbers = counted(&models[0].1.program);
    for &store in StoreKind::ALL {
        for &fairness in Fair::ALL {
            for saved in [false, true] {
                // A search that is saved is the same search, so it is tried without a
                // reduction only, and the shortest run is asked for only once.
                let reductions = if saved || method == Method::Terminal {
                    &[(Por::Off, false)][..]
                } else {
                    &[(Por::Off, false), (Por::On, false), (Por::On, true)]
                };
                for (&(reduction, shortest), (holds, asked)) in reductions.iter().flat_map(|r| models.iter().map(move |m| (r, m))) {
                    let plan = Plan { order, store, fairness, por: reduction, shortest, ..Plan::check() };
                    let combination = Combination::new(&plan, method, saved);
                    // With fairness the table switches every reduction off but that of an
                    // exploration, so one store for each order is enough.
                    let repeated = reduction == Por::On && fairness != Fair::Any && !(order as usize + store as usize).is_multiple_of(7);
                    if repeated || shortest && (fairness != Fair::Any || method == Method::Exploration) {
                        continue;
                    }
                    // Two workers are tried only once: neither fairness nor saving changes
                    // what they do.
                    let alone = saved || shortest || fairness != Fair::Any;
                    for threads in if alone { 1..=1 } else { 1..=2 } {
                        let checked = run(asked, &combination, threads);
                        // The shortest finite run is looked for breadth first.
                        let breadth = Combination { order: Order::Breadth, ..combination };
                        let finite = shortest && method == Method::FiniteRun;
                        let said = combination.guarantee().and_then(|said| if finite { breadth.guarantee() } else { Ok(said) });
                        let guarantee = match (said, checked) {
                            (Err(Refusal::Combination(why)), Err(told)) => {
                                assert_eq!(told, Refusal::Combination(why), "{combination:?}");
                                *refusals.entry(why).or_default() += 1;
                                continue;
                            }
                            (Ok(guarantee), Ok(checked)) => {
                                verify(&combination, guarantee, &checked, *holds);
                                let found = &checked.outcome.statistics;
                                // Two workers may both take a state of the bit array for
                                // new.
                                // Components of all states are found without a reduction.
                                let reduced = method != Method::Terminal && said_of_reduction(&combination, &checked);
                                *unreduced.entry(combination.unreduced().unwrap_or_default()).or_default() += 1;
                                let counted = (found.states, found.transitions);
                                if method == Method::Exploration && *holds && (store != StoreKind::Bits || threads == 1) {
                                    let right = if reduced { counted < numbers } else { counted == numbers };
                                    assert!(right, "{combination:?}: {counted:?}, and without a reduction {numbers:?}");
                                }
                                guarantee
                            }
                            (said, done) => panic!("{combination:?}: the table says {said:?}, the run {done:?}"),
                        };
                        assert_eq!(guarantee == Guarantee::FindsOnly, !store.is_exact());
                        runs += 1;
                    }
                }
            }
        }
    }
    Tried { refusals, unreduced, runs }
}

/// A graph that nobody looks at.
struct Unseen;

impl EdgeSink for Unseen {
    fn edge(&mut self, _: u32, _: &str, _: u32) {}

    fn mark(&mut self, _: u32, _: &str) {}

    fn fault(&mut self, _: Option<(u32, &str)>, _: Option<u32>, _: &Fault) {}

    fn bytes(&self) -> u64 {
        0
    }
}

/// What callers ask for beside order, store and method is refused in the table's words by the
/// functions that they call. Returns these words.
///
/// The searches of several processes are tested elsewhere; here only what the table says of them.
fn refused_to_callers() -> Vec<&'static str> {
    let Asked { program, .. } = model(Method::Exploration, true);
    let folder = runs::InMemory::default();
    let mut refusals = Vec::new();
    let orders = Order::ALL.iter().flat_map(|&order| StoreKind::ALL.iter().map(move |&store| (order, store)));
    for ((order, store), asked) in orders.flat_map(|pair| (0..1u32 << 6).map(move |asked| (pair, asked))) {
        let is = |bit: u32| asked >> bit & 1 != 0;
        let spread = Spread { lookahead: is(0), ..Spread::default() };
        let (only, non_progress) = (is(1).then_some(Only::Safety), is(1) && is(2));
        let (por, coverage, saved, on_disk) = (if is(2) { Por::Checked } else { Por::Off }, is(3), is(4), is(5));
        let limits = Limits { memory: Some(8 << 20), ..Limits::default() };
        let engine = Engine::Interpreter;
        let plan = Plan { engine, order, store, por, spread, only, non_progress, coverage, limits, ..Plan::check() };
        let checkpoints = saved.then_some(&Later as &dyn Checkpoints);
        let surroundings = Surroundings { checkpoints, disk: on_disk.then_some(&folder as &dyn Folder), ..Surroundings::default() };
        let alone = Combination { folder: on_disk, ..Combination::new(&plan, Method::Exploration, saved) };
        let several = Combination { several: true, ..alone };
        let graph = Combination { graph: true, folder: true, ..alone };
        let mut told = vec![(several.guarantee().map(drop), refuse_several(&plan, saved, on_disk))];
        // What is not refused is carried out. The other test does that for all that differs.
        if alone.guarantee().is_err() || asked == 1 << 5 {
            told.push((alone.guarantee().map(drop), run_in(&program, &plan, &surroundings).map(drop)));
        }
        if graph.guarantee().is_err() || asked == 1 << 5 {
            told.push((graph.guarantee().map(drop), run_with_edges(&program, &plan, &mut Unseen, &surroundings).map(drop)));
        }
        for (said, told) in told {
            assert_eq!(said, told, "{plan:?}, saved {saved}, on disk {on_disk}");
            refusals.extend(said.err().map(|Refusal::Combination(why)| why));
        }
        let fragments = Combination { several: true, ..graph };
        refusals.extend(Combination { folder: false, ..fragments }.guarantee().err().map(|Refusal::Combination(why)| why));
    }
    refusals
}

#[test]
fn every_combination_is_refused_or_right() {
    let mut refusals: HashMap<&str, usize> = HashMap::new();
    let mut unreduced: HashMap<&str, usize> = HashMap::new();
    let mut runs = 0;
    for why in refused_to_callers() {
        *refusals.entry(why).or_default() += 1;
    }
    let pairs: Vec<(Method, Order)> = METHODS.iter().flat_map(|&method| Order::ALL.iter().map(move |&order| (method, order))).collect();
    for tried in testkit::in_parallel(&pairs, |&(method, order)| tried(method, order)) {
        for (why, number) in tried.refusals {
            *refusals.entry(why).or_default() += number;
        }
        for (why, number) in tried.unreduced {
            *unreduced.entry(why).or_default() += number;
        }
        runs += tried.runs;
    }
    assert_eq!(refusals.len(), RULES.len(), "every rule refuses something: {refusals:?}");
    assert_eq!(unreduced.len(), UNREDUCED.len() + 1, "every rule switches a reduction off, and some are on: {unreduced:?}");
    assert!(runs > 900, "{runs}");
}

/// Whether a run was reduced, which must be what the table says of it.
fn said_of_reduction(combination: &Combination, checked: &Checked) -> bool {
    let said = match combination.method {
        Method::Exploration => &checked.reduced,
        _ => &checked.reduced_for.iter().find(|(name, _)| name == "f").expect("it was asked for").1,
    };
    let expected = match (combination.reduction, combination.unreduced()) {
        (Por::Off, _) => Reduced::NotAsked,
        (_, Some(why)) => Reduced::Not(why.to_owned()),
        (_, None) => Reduced::Yes,
    };
    assert_eq!(*said, expected, "{combination:?}");
    expected == Reduced::Yes
}

fn verify(combination: &Combination, guarantee: Guarantee, checked: &Checked, holds: bool) {
    let verdict = match combination.method {
        Method::Exploration => &checked.outcome.verdict,
        _ => &checked.properties.iter().find(|judged| judged.property.name == "f").expect("it was asked for").verdict,
    };
    let right = match (guarantee, holds) {
        (_, false) => matches!(verdict, Verdict::Violated(_)),
        (Guarantee::Full | Guarantee::Revisits, true) => *verdict == Verdict::Holds,
        (Guarantee::FindsOnly, true) => *verdict == Verdict::Unknown(StopReason::LossyStore),
    };
    assert!(right, "{combination:?}, {guarantee:?}: {verdict:?}");
}

#[test]
fn rows_say_what_the_types_say() {
    fn same<T: Store>(kind: StoreKind) {
        assert_eq!((store(kind).exact, store(kind).forgets), (T::EXACT, T::FORGETS), "{kind}");
        // For `auto` the search chooses.
        assert!(store(kind).names == T::STABLE_NAMES || kind == StoreKind::Auto, "{kind}");
    }
    same::<store::Compact>(StoreKind::Auto);
    same::<store::Plain>(StoreKind::Plain);
    same::<store::Compact>(StoreKind::Compact);
    same::<store::Hashes>(StoreKind::Hashes);
    same::<store::Bits>(StoreKind::Bits);
    same::<store::Cache>(StoreKind::Cache);
}

/// The shortest finite run is looked for breadth first, whatever the plan's order: over a store
/// that forgets that need not end.
#[test]
fn the_shortest_run_is_not_looked_for_over_a_store_that_forgets() {
    let program = model(Method::FiniteRun, false).program;
    let plan = Plan { order: Order::Depth, store: StoreKind::Cache, shortest: true, ..Plan::check() };
    assert_eq!(run_in(&program, &plan, &Surroundings::default()), Err(Refusal::Combination(FORGETS)));
    let plan = Plan { store: StoreKind::Compact, ..plan };
    assert!(matches!(run_in(&program, &plan, &Surroundings::default()), Ok(Checked { steps, .. }) if !steps.is_empty()));
}
