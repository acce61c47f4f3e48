//! Random LF programs: the verdicts of their properties are those of a plain oracle, whatever
//! engine, passes, reduction and search.

use bytecode::Verified;
use check::{Cycles, Engine, Order, Passes, Plan, Por, StoreKind};
use contract::{Cancel, PropertyKind, Quiet, StopReason, Verdict};
use languages::{Files, Input};
use std::sync::Arc;
use testkit::lf::{Program, Watch};

/// Programs with more states are left out.
const MOST: usize = 400;

/// The imported modules of a random program.
struct Imported<'a>(&'a Program);

impl Files for Imported<'_> {
    fn read(&mut self, wanted: &str, _: &str) -> Result<(String, String), String> {
        self.0.loader()(wanted, "")
    }
}

fn compile(program: &Program, text: &str, fifo: bool, formula: Option<String>) -> Result<Arc<Verified>, String> {
    let defines = [("queues".to_owned(), if fifo { "fifo" } else { "sorted" }.to_owned())];
    let formulas: Vec<(String, String)> = formula.into_iter().map(|formula| ("f".to_owned(), formula)).collect();
    let files = &mut Imported(program);
    let input = Input { name: "random.lf", bytes: text.as_bytes(), defines: &defines, formulas: &formulas, files };
    let loaded = languages::load(input).map_err(|why| source::render_all(&why.map, &why.diagnostics))?;
    Ok(Arc::new(loaded.model.into_program().expect("a program")))
}

/// Several ways to the same answer.
fn plans() -> Vec<Plan> {
    let base = Plan { store: StoreKind::Plain, ..Plan::check() };
    let slice = Passes { slice: true, ..Passes::ALL };
    vec![
        Plan { engine: Engine::Interpreter, ..base },
        Plan { passes: Passes::ALL, por: Por::On, ..base },
        Plan { passes: slice, por: Por::On, order: Order::Breadth, store: StoreKind::Compact, ..base },
        Plan { passes: Passes { slice: true, ..Passes::default() }, cycles: Cycles::Nested, ..base },
        Plan { por: Por::On, threads: 2, ..base },
    ]
}

fn answer(verdict: &Verdict, told: &str) -> Option<bool> {
    match verdict {
        Verdict::Holds => Some(false),
        Verdict::Violated(_) => Some(true),
        Verdict::Unknown(StopReason::TraceLost(fault)) => panic!("the trace to {fault:?} is lost: {told}"),
        Verdict::Unknown(_) => None,
    }
}

/// The program of a seed, with a property, and whether the property is violated.
fn asked(seed: u64) -> Option<(Program, Watch, bool, bool)> {
    let (program, watch, fifo) = (Program::random(seed), Watch::random(seed), seed % 5 == 4);
    let violated = watch.is_violated(&program, fifo, MOST)?;
    Some((program, watch, fifo, violated))
}

#[test]
fn properties_have_the_verdicts_of_the_oracle() {
    let seeds: Vec<u64> = testkit::models::seeds(0..300).collect();
    let results = testkit::in_parallel(&seeds, |seed| {
        let (program, watch, fifo, expected) = asked(*seed)?;
        let text = program.text_with(&watch.text());
        let formula = watch.formula();
        let told = format!("seed {seed}, {formula:?}, fifo {fifo}:\n{text}");
        let compiled = match compile(&program, &text, fifo, formula) {
            Ok(compiled) => compiled,
            Err(why) if why.contains("more than 1024") => return None,
            Err(why) => panic!("{told}{why}"),
        };
        for plan in plans() {
            let checked = check::run(&compiled, &plan, &Cancel::default(), &Quiet).expect("a sound plan");
            let judged = checked.properties.iter().find(|judged| matches!(judged.property.kind, PropertyKind::Never | PropertyKind::Ltl));
            let judged = judged.unwrap_or_else(|| panic!("no property: {told}"));
            let found =
                answer(&judged.verdict, &format!("{plan:?}: {told}")).unwrap_or_else(|| panic!("{:?}: {plan:?}: {told}", judged.verdict));
            assert_eq!(found, expected, "{plan:?}: {told}");
        }
        Some(expected)
    });
    let asked = results.iter().flatten().count();
    let violated = results.iter().flatten().filter(|violated| **violated).count();
    println!("{asked} properties, {violated} violated");
    assert!(asked > seeds.len() / 10 && violated * 8 > asked && violated * 8 < asked * 7, "{violated} of {asked} violated");
}

/// Deadlocks and faults are found, or not, as the evaluator finds them.
#[test]
fn programs_have_the_verdicts_of_the_evaluator() {
    let seeds: Vec<u64> = testkit::models::seeds(0..300).collect();
    let results = testkit::in_parallel(&seeds, |seed| {
        let (program, fifo) = (Program::random(*seed), seed % 5 == 4);
        let graph = program.graph(fifo, MOST)?;
        let wrong = graph.deadlocks > 0 || !graph.faults.is_empty();
        let text = program.text();
        let compiled = compile(&program, &text, fifo, None).unwrap_or_else(|why| panic!("seed {seed}:\n{text}{why}"));
        for plan in plans() {
            let checked = check::run(&compiled, &plan, &Cancel::default(), &Quiet).expect("a sound plan");
            let told = format!("seed {seed}, fifo {fifo}, {plan:?}:\n{text}");
            let found = answer(&checked.outcome.verdict, &told);
            assert_eq!(found, Some(wrong), "{told}");
            if !wrong && plan.engine == Engine::Interpreter {
                assert_eq!(checked.outcome.statistics.states, graph.states as u64, "seed {seed}, {plan:?}:\n{text}");
            }
        }
        Some(wrong)
    });
    let wrong = results.iter().flatten().filter(|wrong| **wrong).count();
    println!("{} programs, {wrong} wrong", results.iter().flatten().count());
    assert!(results.iter().flatten().count() > seeds.len() / 4 && wrong > seeds.len() / 10, "{wrong}");
}
