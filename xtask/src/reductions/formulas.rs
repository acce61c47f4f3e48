//! Temporal properties with and without reduction and passes: random formulas over random models,
//! the same as never claims, random claims, labels of random models, and the properties of the
//! project's models. Every property must have the same verdict, whichever search looks for a run
//! that violates it. Where several workers search, they begin at once, however small the model is.

use super::{Compared, Tally, word};
use bytecode::Verified;
use check::{Cycles, Engine, Order, Passes, Plan, Por, StoreKind};
use contract::{Cancel, Judged, Limits, Quiet, Verdict};
use logic::Formulas;
use source::FileId;
use std::sync::Arc;
use std::time::Duration;

/// The largest number of states in which the choices for one search are verified by brute force.
const EXAMINED: u64 = 300;

/// A kind of search.
struct Way {
    cycles: Cycles,
    order: Order,
    threads: usize,
    engine: Engine,
    por: Por,
    passes: Passes,
}

/// The random model of a seed with its formula. Every second one has an accept label in place of
/// another label, so that runs through it are searched for, too. Some have a never claim instead: a
/// random one, or that of the formula.
pub fn text(seed: u64) -> String {
    if seed % 8 == 7 {
        // Three of four seeds there have a claim or a label.
        return crate::conformance::claims::text(seed / 8);
    }
    let text = crate::conformance::formulas::text(seed);
    let text = if seed % 8 == 5 { with_claim(&text).unwrap_or(text) } else { text };
    let accepted = |text: String| text.replacen("L0:", "accept_L0:", 1).replace("goto L0", "goto accept_L0").replace("@L0)", "@accept_L0)");
    if seed % 4 < 2 { accepted(text) } else { text }
}

/// The model with a never claim in place of its formula.
fn with_claim(text: &str) -> Option<String> {
    let (model, formula) = text.split_once("ltl f {")?;
    let mut formulas = Formulas::new();
    let parsed = logic::parse(&mut formulas, formula.trim().strip_suffix('}')?, FileId::default(), 0).ok()?;
    let negation = formulas.not(parsed.root);
    let automaton = logic::translate(&mut formulas, negation).ok()?.buchi;
    Some(format!("{model}{}", logic::write_never(&automaton, "f")))
}

/// Searches for violations of the temporal properties of a program, with and without reduction.
pub fn compare(program: &Arc<Verified>, seconds: u64) -> Compared {
    let limits = Limits { time: Some(Duration::from_secs(seconds)), memory: Some(1 << 30), ..Limits::default() };
    let base = Plan { engine: Engine::Interpreter, store: StoreKind::Plain, non_progress: true, limits, ..Plan::check() };
    let search = |plan: &Plan| check::run(program, plan, &Cancel::default(), &Quiet);
    let Ok(full) = search(&base) else { return Compared::Same(Tally::default()) };
    let mut tally = Tally { programs: 1, ..Tally::default() };
    let states = |judged: &Judged| judged.statistics.as_ref().map_or(0, |statistics| statistics.states);
    let most = full.properties.iter().map(states).max().unwrap_or(0);
    let (interpreter, none) = (Engine::Interpreter, Passes::default());
    let way = |cycles, order, threads| Way { cycles, order, threads, engine: interpreter, por: Por::On, passes: none };
    let mut ways = vec![
        way(Cycles::default(), Order::default(), 1),
        way(Cycles::default(), Order::Depth, 2),
        way(Cycles::default(), Order::DepthShared, 2),
        way(Cycles::Nested, Order::Breadth, 1),
        way(Cycles::Nested, Order::default(), 2),
        way(Cycles::Young, Order::default(), 1),
        way(Cycles::Young, Order::default(), 2),
        way(Cycles::default(), Order::default(), 2),
        way(Cycles::default(), Order::default(), 3),
        Way { por: Por::Off, ..way(Cycles::default(), Order::default(), 2) },
        Way { por: Por::Off, passes: Passes::ALL, ..way(Cycles::default(), Order::default(), 1) },
        Way { passes: Passes::ALL, ..way(Cycles::default(), Order::default(), 2) },
        Way { passes: Passes::ALL, ..way(Cycles::Nested, Order::default(), 1) },
        Way { engine: Engine::Native, ..way(Cycles::default(), Order::Breadth, 2) },
    ];
    if most <= EXAMINED {
        ways.push(Way { por: Por::Checked, ..way(Cycles::default(), Order::Breadth, 1) });
    }
    let mut is_reduced = false;
    for Way { cycles, order, threads, engine, por, passes } in ways {
        let plan = Plan { cycles, order, threads, engine, por, passes, alone: 0, ..base };
        let Ok(found) = search(&plan) else { continue };
        for (full, found) in full.properties.iter().zip(&found.properties).filter(|(full, _)| !full.property.kind.is_safety()) {
            match (&full.verdict, &found.verdict) {
                (Verdict::Holds, Verdict::Holds) => {
                    tally.full += states(full);
                    tally.reduced += states(found);
                }
                (Verdict::Violated(_), Verdict::Violated(_)) => tally.violated += 1,
                (_, Verdict::Unknown(contract::StopReason::Reduction(flaw))) => return Compared::Wrong(flaw.clone()),
                (Verdict::Unknown(_), _) | (_, Verdict::Unknown(_)) => tally.too_long += 1,
                (before, after) => {
                    let name = &full.property.name;
                    return Compared::Wrong(format!(
                        "`{name}`, {cycles}, {order}, {threads} workers, {engine}, reduction {por}, passes {:?}: {} became {}",
                        passes.names().collect::<Vec<_>>(),
                        word(before),
                        word(after)
                    ));
                }
            }
        }
        is_reduced |= found.reduced_for.iter().any(|(_, reduced)| *reduced == check::Reduced::Yes);
    }
    if !is_reduced {
        (tally.programs, tally.off) = (0, 1);
    }
    Compared::Same(tally)
}
