//! Every model of the project is checked with every combination of parts. The results must be those
//! in its header.
//!
//! A header has one line `expect: states=… transitions=… verdict=… violation=…` in a comment: the
//! numbers are those of the whole state space, verdict and violation those of a check. The
//! combinations are those that a plan does not refuse, so a new order, store or engine is tested
//! here without a change.

mod common;

use bytecode::Verified;
use check::{Checked, Engine, Only, Order, Plan, Por, Refusal, StoreKind, Surroundings};
use common::Folder;
use contract::{Cancel, Limits, Quiet, StopReason, Verdict};
use languages::testing::compile_with;
use std::collections::HashMap;
use std::sync::Arc;

/// Each model is tried with one combination in so many, another selection for each model, so that
/// all models together cover all combinations. The number is odd, so that each model is tried with
/// and without a reduction.
const SHARE: usize = 15;
/// The same for a model with more states than this.
const SHARE_OF_MIDDLING: usize = 31;
const MIDDLING: u64 = 500;
/// A model with more states than this is tried with one combination for each engine and number of
/// workers, every second one with a reduction.
const LARGE: u64 = 10_000;
/// Iterative deepening begins again for each bound, so its work is that of a model with so many
/// times the states.
const BOUNDS: u64 = 40;

struct Model {
    name: String,
    program: Arc<Verified>,
    expected: HashMap<String, String>,
    states: u64,
}

/// The pairs `key=value` of a line; a value with blanks is in quotes.
fn pairs(line: &str) -> HashMap<String, String> {
    let mut pairs = HashMap::new();
    let mut rest = line.trim();
    while let Some((key, behind)) = rest.split_once('=') {
        let (value, next) = match behind.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => behind.split_once(' ').unwrap_or((behind, "")),
        };
        pairs.insert(key.trim().to_owned(), value.to_owned());
        rest = next.trim();
    }
    pairs
}

/// The models of a folder, the smallest first.
fn models(folder: &str) -> Vec<Model> {
    let mut models = Vec::new();
    for (name, text) in testkit::models::texts(folder, &["pml", "epa", "lf"]) {
        let expected = text.lines().find_map(|line| line.trim_start_matches(['/', ';', ' ']).strip_prefix("expect:"));
        let expected = pairs(expected.unwrap_or_else(|| panic!("{name} expects nothing")));
        let states = expected["states"].parse().expect("a number");
        let program = compile_with(&name, &text, &[], &mut Folder(folder.to_owned())).unwrap_or_else(|error| panic!("{error}"));
        models.push(Model { expected, name, states, program });
    }
    models.sort_by(|a, b| (a.states, &a.name).cmp(&(b.states, &b.name)));
    models
}

fn run(model: &Model, plan: &Plan) -> Result<Checked, Refusal> {
    if plan.store != StoreKind::Disk {
        return check::run(&model.program, plan, &Cancel::default(), &Quiet);
    }
    // Hardly any memory, so that there is something to do.
    let limits = Limits { memory: Some(1 << 17), ..plan.limits };
    let folder = runs::InMemory::default();
    check::run_in(&model.program, &Plan { limits, ..*plan }, &Surroundings { disk: Some(&folder), ..Surroundings::default() })
}

/// The differences from the expected results.
fn differences(model: &Model, plan: Plan) -> Vec<String> {
    let Plan { engine, order, store, threads, por, .. } = plan;
    let mut found = Vec::new();
    let mut compare = |what: &str, found_value: String| {
        let promised = model.expected.get(what).cloned().unwrap_or_default();
        if promised != found_value {
            found.push(format!(
                "{}: {engine}, {order}, {store}, {threads} workers, reduction {por}: {what}: promised `{promised}`, found `{found_value}`",
                model.name
            ));
        }
    };
    let space = run(model, &Plan { property: None, por: Por::Off, ..plan }).expect("a sound plan").outcome;
    // A store that is not exact may overlook states. In models this small it does not, but it must
    // not say *holds*. A store that forgets counts visits, which are as many as states only if all
    // states fit. Two workers that reach the same state may both see it as new in a bit array,
    // because its bits are not set atomically. A beam that left out states does not say *holds*
    // either.
    let narrowed = Verdict::Unknown(StopReason::Narrow);
    let counts_exactly = (store != StoreKind::Bits || threads == 1) && space.verdict != narrowed;
    if counts_exactly && (store != StoreKind::Cache || model.states < LARGE) {
        compare("states", space.statistics.states.to_string());
        compare("transitions", space.statistics.transitions.to_string());
    }
    // If the store cannot be used for a formula, the safety properties are still checked.
    let whole = run(model, &plan);
    let safety_only = whole.is_err();
    let checked = whole.or_else(|_| run(model, &Plan { only: Some(Only::Safety), ..plan })).expect("a sound plan");
    if checked.outcome.verdict == narrowed {
        return found;
    }
    // A violation of a claim is found only where claims are checked.
    let claimed = model.expected.get("violation").is_some_and(|violation| violation == "property");
    if claimed && (safety_only || matches!(checked.outcome.verdict, Verdict::Unknown(StopReason::Unchecked(_)))) {
        return found;
    }
    let (verdict, violation) = match &checked.outcome.verdict {
        Verdict::Holds => (if store.is_exact() { "holds" } else { "a lie" }, String::new()),
        Verdict::Violated(violation) => ("violated", violation.fault.kind.name().to_owned()),
        Verdict::Unknown(StopReason::LossyStore) if !store.is_exact() => ("holds", String::new()),
        Verdict::Unknown(StopReason::Unchecked(_)) => ("unknown", String::new()),
        Verdict::Unknown(reason) => ("unknown", reason.name().to_owned()),
    };
    // A lossy store says so before it says that a property was not checked.
    if !(model.expected["verdict"] == "unknown" && verdict == "holds" && !store.is_exact()) {
        compare("verdict", verdict.to_owned());
        compare("violation", violation);
    }
    found
}

/// All combinations of an engine and a number of workers that no rule refuses.
fn combinations(engine: Engine, threads: usize) -> Vec<Plan> {
    let mut plans = Vec::new();
    for &order in Order::ALL {
        for &store in StoreKind::ALL {
            for por in [Por::Off, Por::On] {
                let plan = Plan { engine, order, store, threads, por, ..Plan::check() };
                if plan.refuse(false).is_ok() {
                    plans.push(plan);
                }
            }
        }
    }
    plans
}

/// Runs the models of some folders; says how many runs there were.
fn through_everything(folders: &[&str], engine: Engine, threads: usize) -> usize {
    let plans = combinations(engine, threads);
    let mut runs = 0;
    let mut wrong = Vec::new();
    for (number, model) in folders.iter().flat_map(|folder| models(folder)).enumerate() {
        for (index, &plan) in plans.iter().enumerate() {
            let work = if plan.order == Order::IdaStar { model.states * BOUNDS } else { model.states };
            let chosen = if work <= MIDDLING {
                (number + index) % SHARE == 0
            } else if work <= LARGE {
                (number + index) % SHARE_OF_MIDDLING == 0
            } else {
                (plan.order, plan.store) == (Order::Breadth, StoreKind::Plain) && (plan.por == Por::On) == (number % 2 == 0)
            };
            if chosen {
                // This is enough for every model, and a bit array uses all of it.
                let memory = if model.states > MIDDLING { 64 << 20 } else { 4 << 20 };
                wrong.extend(differences(&model, Plan { limits: Limits { memory: Some(memory), ..Limits::default() }, ..plan }));
                runs += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    runs
}

const ASSEMBLY: [&str; 1] = ["asm"];
const LF: [&str; 1] = ["lf"];
const PROMELA: [&str; 7] =
    ["promela/language", "promela/classic", "promela/differences", "promela/c", "promela/chains", "promela/directed", "promela/progress"];

/// One test for each engine and number of workers, so that they run in parallel.
macro_rules! through_everything {
    ($($name:ident: $folders:ident, $engine:ident, $threads:literal, $least:literal;)*) => {
        $(#[test]
        fn $name() {
            let runs = through_everything(&$folders, Engine::$engine, $threads);
            assert!(runs >= $least, "only {runs} runs");
        })*

        #[test]
        fn no_engine_is_forgotten() {
            for &engine in Engine::ALL {
                for folders in [&ASSEMBLY[..], &LF, &PROMELA] {
                    let tested = [$((&$folders[..], Engine::$engine),)*];
                    assert!(tested.contains(&(folders, engine)), "{engine}");
                }
            }
        }
    };
}

through_everything! {
    assembly_interpreted: ASSEMBLY, Interpreter, 1, 40;
    assembly_interpreted_two_workers: ASSEMBLY, Interpreter, 2, 40;
    assembly_native: ASSEMBLY, Native, 1, 40;
    assembly_native_two_workers: ASSEMBLY, Native, 2, 40;
    lf_interpreted: LF, Interpreter, 1, 15;
    lf_interpreted_two_workers: LF, Interpreter, 2, 15;
    lf_native: LF, Native, 1, 15;
    lf_native_two_workers: LF, Native, 2, 15;
    promela_interpreted: PROMELA, Interpreter, 1, 400;
    promela_interpreted_two_workers: PROMELA, Interpreter, 2, 400;
    promela_native: PROMELA, Native, 1, 400;
    promela_native_two_workers: PROMELA, Native, 2, 400;
}
