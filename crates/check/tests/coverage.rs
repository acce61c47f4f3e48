//! Coverage consists of the statements that the reference interpreter executes in all reachable
//! states, whatever the search.

mod common;

use bytecode::Verified;
use check::{Engine, Order, Passes, Plan};
use common::Folder;
use contract::{Cancel, Coverage, Limits, Quiet, Successors, System, Verdict};
use languages::testing::{compile_with, promela};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use testkit::promela_gen;
use vm::{Event, Interpreter};

/// Models with more states take too long here.
const STATES_MAX: usize = 700;

type Statement = (String, u32, u32, String);

/// The statements that are executed in the steps of all reachable states; nothing if there are too
/// many states.
fn executed(program: &Arc<Verified>) -> Option<BTreeSet<Statement>> {
    let mut interpreter = Interpreter::new(Arc::clone(program));
    let mut out = Successors::new();
    interpreter.initial(&mut out);
    let mut waiting: Vec<Vec<u8>> = out.iter().filter_map(|(_, state)| state.map(<[u8]>::to_vec)).collect();
    let mut seen: HashSet<Vec<u8>> = waiting.iter().cloned().collect();
    let mut statements = BTreeSet::new();
    let tables = program.program();
    while let Some(state) = waiting.pop() {
        if seen.len() > STATES_MAX {
            return None;
        }
        for explained in interpreter.explain(&state).ok()? {
            let history = &explained.history;
            for event in history.beginning().into_iter().chain(history.ending()) {
                if let Event::Step { step, .. } = event
                    && let Some(span) = tables.span_at(*step)
                {
                    let process = tables.process_at(*step).map_or("", |ty| &tables.processes[ty.index()].name);
                    statements.insert((process.to_owned(), span.line, span.column, span.text.clone()));
                }
            }
            if let Some(next) = explained.state.filter(|next| seen.insert(next.clone())) {
                waiting.push(next);
            }
        }
    }
    Some(statements)
}

fn covered(coverage: &Coverage) -> BTreeSet<Statement> {
    let of_process = |process: &contract::ProcessCoverage| {
        let name = process.name.clone();
        let executed = process.statements.iter().filter(|statement| statement.executed);
        let told = executed.map(move |statement| {
            let (line, column) = statement.position.as_ref().map_or((0, 0), |at| (at.line, at.column));
            assert!(statement.reached, "{statement:?} was executed but not reached");
            (name.clone(), line, column, statement.text.clone())
        });
        told.collect::<Vec<_>>()
    };
    coverage.processes.iter().flat_map(of_process).collect()
}

fn agree(name: &str, program: &Arc<Verified>) -> bool {
    let Some(expected) = executed(program) else { return false };
    let space = Plan { coverage: true, ..Plan::space() };
    let limits = Limits { memory: Some(1 << 28), ..Limits::default() };
    let plans = [
        Plan { engine: Engine::Interpreter, ..space },
        Plan { engine: Engine::Native, code_first: true, threads: 2, ..space },
        Plan { engine: Engine::Native, order: Order::Depth, ..space },
        Plan { coverage: true, passes: Passes::ALL, ..Plan::check() },
    ];
    for plan in plans {
        let checked = check::run(program, &Plan { limits, ..plan }, &Cancel::default(), &Quiet).expect("a sound plan");
        let coverage = checked.coverage.expect("coverage was asked for");
        if plan.property.is_some() && checked.outcome.verdict != Verdict::Holds {
            // The search ended before it had seen everything.
            assert!(covered(&coverage).is_subset(&expected), "{name}, {plan:?}");
            continue;
        }
        let found = covered(&coverage);
        let (missing, invented) = (expected.difference(&found), found.difference(&expected));
        let (missing, invented): (Vec<_>, Vec<_>) = (missing.collect(), invented.collect());
        assert!(missing.is_empty() && invented.is_empty(), "{name}, {plan:?}: missing {missing:?}, invented {invented:?}");
    }
    true
}

#[test]
fn the_models_of_the_project() {
    let mut compared = 0;
    for folder in ["classic", "language", "temporal"] {
        let folder = format!("promela/{folder}");
        for (name, text) in testkit::models::texts(&folder, &["pml"]) {
            if let Ok(program) = compile_with(&name, &text, &[], &mut Folder(folder.clone())) {
                compared += usize::from(agree(&name, &program));
            }
        }
    }
    assert!(compared > 100, "only {compared} models");
}

#[test]
fn random_models() {
    let mut compared = 0;
    for seed in 0..40 {
        let mut model = promela_gen::plain_model(seed);
        model.claim = false;
        let text = model.text();
        if let Some(program) = promela(&text) {
            compared += usize::from(agree(&format!("seed {seed}"), &program));
        }
    }
    assert!(compared > 10, "only {compared} models");
}

#[test]
fn what_never_happens_is_told() {
    let text = "chan c = [1] of { byte };\nbyte x;\nactive proctype P() {\n\tif\n\t:: x == 1 -> c!1; assert(x == 1)\n\t:: else\n\tfi\n}\nproctype Q() { skip }\n";
    let program = promela(text).expect("a good model");
    let plan = Plan { coverage: true, ..Plan::check() };
    let coverage = check::run(&program, &plan, &Cancel::default(), &Quiet).expect("a sound plan").coverage.expect("coverage");
    assert!(coverage.complete && !coverage.reduced);
    assert_eq!(coverage.vacuous.len(), 2, "{:?}", coverage.vacuous);
    let of = |text: &str| coverage.processes[0].statements.iter().find(|statement| statement.text == text).expect("a statement").clone();
    assert!(of("x == 1").reached && !of("x == 1").executed);
    assert!(!of("c!1").reached && of("else").executed);
    assert!(coverage.processes[0].started && !coverage.processes[1].started);
    // Without the option nothing is recorded.
    assert!(check::run(&program, &Plan::check(), &Cancel::default(), &Quiet).expect("a sound plan").coverage.is_none());
}
