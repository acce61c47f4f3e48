//! A smaller program gives the same answer, with a trace of the original one: safety, formulas and
//! labels, on the models of the project and on random ones.

use bytecode::Verified;
use check::{Engine, Fair, Order, Passes, Plan, Por, StoreKind};
use contract::{Cancel, Judged, Limits, Quiet, StopReason, Verdict};
use languages::testing::{compile, promela};
use logic::Formulas;
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::promela_gen;

/// The atoms of the formulas.
const ATOMS: &str = "#define p0 (x == 1)\n#define p1 (y == 0)\n#define p2 (x > y)\n";

/// A random model with a random formula. Every second one runs for ever, and every second one of
/// those has an accept label.
fn text(seed: u64) -> String {
    let mut model = promela_gen::plain_model(seed);
    model.claim = false;
    if seed.is_multiple_of(2) {
        model.loop_for_ever();
    }
    let mut random = logic::random::Random::new(seed);
    let mut formulas = Formulas::new();
    let root = random.formula(&mut formulas, 2 + seed as usize % 6, 3);
    let text = format!("{ATOMS}{}ltl f {{ {} }}\n", model.text(), formulas.text(root));
    if seed % 4 < 2 { text.replacen("L0:", "accept_L0:", 1).replace("goto L0", "goto accept_L0") } else { text }
}

#[derive(Debug, Default)]
struct Tally {
    programs: u64,
    violated: u64,
    full: u64,
    smaller: u64,
}

impl Tally {
    fn plus(self, other: Tally) -> Tally {
        Tally {
            programs: self.programs + other.programs,
            violated: self.violated + other.violated,
            full: self.full + other.full,
            smaller: self.smaller + other.smaller,
        }
    }
}

/// Compares all of these programs, each with its name.
fn compare_all(programs: &[(String, Arc<Verified>)]) -> Tally {
    let tallies = testkit::in_parallel(programs, |(name, program)| {
        let mut tally = Tally::default();
        compare(name, program, &mut tally);
        tally
    });
    tallies.into_iter().fold(Tally::default(), Tally::plus)
}

/// The memory of a search: `EVERYPATH_MEMORY` in MiB.
fn memory() -> u64 {
    std::env::var("EVERYPATH_MEMORY").ok().and_then(|text| text.parse().ok()).unwrap_or(8) << 20
}

fn compare(name: &str, program: &Arc<Verified>, tally: &mut Tally) {
    let limits = Limits { time: Some(Duration::from_secs(60)), memory: Some(memory()), ..Limits::default() };
    let base = Plan { engine: Engine::Interpreter, store: StoreKind::Plain, non_progress: true, por: Por::Off, limits, ..Plan::check() };
    let search = |plan: &Plan| check::run(program, plan, &Cancel::default(), &Quiet).expect("a sound plan");
    let states = |judged: &Judged| judged.statistics.as_ref().map_or(0, |statistics| statistics.states);
    for fairness in [Fair::Any, Fair::Weak] {
        let base = Plan { fairness, ..base };
        let full = search(&base);
        tally.programs += 1;
        for plan in [
            Plan { passes: Passes { unused: true, ..Passes::default() }, ..base },
            Plan { passes: Passes { slice: true, ..Passes::default() }, ..base },
            Plan { passes: Passes { merge: true, ..Passes::default() }, ..base },
            Plan { passes: Passes { dead: true, ..Passes::default() }, order: Order::Depth, ..base },
            Plan { passes: Passes { slice: true, ..Passes::ALL }, order: Order::Breadth, por: Por::On, ..base },
        ] {
            let begun = Instant::now();
            let found = search(&plan);
            // Confirming a trace takes time too.
            let late = limits.time.is_some_and(|limit| begun.elapsed() >= limit);
            tally.full += full.outcome.statistics.states;
            tally.smaller += found.outcome.statistics.states;
            for (full, found) in full.properties.iter().zip(&found.properties) {
                match (&full.verdict, &found.verdict) {
                    (Verdict::Holds, Verdict::Holds) => tally.full += states(full),
                    (Verdict::Violated(_), Verdict::Violated(_)) => tally.violated += 1,
                    (Verdict::Violated(_), Verdict::Unknown(StopReason::TraceLost(fault))) if !late => {
                        panic!("{name}: {plan:?}: the trace to {fault:?} is lost")
                    }
                    // One exploration answers for several properties, and ends at the first
                    // violation.
                    (Verdict::Unknown(_), _) | (_, Verdict::Unknown(_)) => {}
                    (before, after) => {
                        panic!("{name}: {}: {plan:?}: {before:?} became {after:?}", full.property.name)
                    }
                }
            }
            let decided = |verdict: &Verdict| !matches!(verdict, Verdict::Unknown(_));
            if decided(&full.outcome.verdict) && decided(&found.outcome.verdict) {
                let violated = |verdict: &Verdict| matches!(verdict, Verdict::Violated(_));
                assert_eq!(violated(&full.outcome.verdict), violated(&found.outcome.verdict), "{name}: {plan:?}");
            }
        }
    }
}

#[test]
fn random_models_with_formulas_have_the_same_verdicts() {
    let programs = testkit::models::seeds(0..100).filter_map(|seed| {
        let text = text(seed);
        Some((format!("seed {seed}\n{text}"), promela(&text)?))
    });
    let tally = compare_all(&programs.collect::<Vec<_>>());
    println!("{tally:?}");
    assert!(tally.violated > 100 && tally.smaller < tally.full, "{tally:?}");
}

#[test]
fn the_models_of_the_project_have_the_same_verdicts() {
    let texts = ["promela/temporal", "promela/chains", "lf"].into_iter().flat_map(|folder| testkit::models::texts(folder, &["pml", "lf"]));
    let programs = texts.filter_map(|(name, text)| Some((name.clone(), compile(&name, &text, &[]).ok()?)));
    let tally = compare_all(&programs.collect::<Vec<_>>());
    assert!(tally.violated > 10 && tally.smaller < tally.full, "{tally:?}");
}

/// A merged sequence may have many more ways through it than states in it, and very many states.
#[test]
fn a_sequence_with_many_ways_is_told() {
    let choices = |first: &str, second: &str, count: usize| format!("if :: {first} :: {second} fi; ").repeat(count);
    let states = format!("active proctype P() {{ int l; {} assert(l != 131071) }}", choices("l = 2 * l", "l = 2 * l + 1", 17));
    let ways =
        format!("byte x; active proctype P() {{ byte l; {} x = l; assert(x != 3) }}", choices("l = (l + 1) % 7", "l = (l + 2) % 7", 60));
    for text in [states, ways] {
        let program = promela(&text).expect("a good model");
        let checked = check::run(&program, &Plan { engine: Engine::Interpreter, ..Plan::check() }, &Cancel::default(), &Quiet);
        let outcome = checked.expect("a sound plan").outcome;
        assert!(matches!(outcome.verdict, Verdict::Violated(_)), "{:?}", outcome.verdict);
    }
}
