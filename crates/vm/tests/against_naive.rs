//! Compares the reference interpreter with the naive evaluator: random programs, state by state.
//!
//! A difference is shown as the smallest program that the shrinker finds, with the state and both
//! answers. `EVERYPATH_SEEDS=from..to` tests other programs.

use bytecode::{Verified, asm};
use contract::{Successors, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use testkit::compare::{Comparison, Difference, Extent, compare};
use testkit::naive::{Initial, Naive, Print};
use testkit::{random, shrink};
use vm::{Event, Interpreter};

/// The number of states of a program that are compared.
const STATES: usize = 60;

fn difference(program: &Verified) -> Comparison {
    compare(program, &mut Interpreter::new(Arc::new(program.clone())), STATES)
}

fn report(seed: u64, program: &Verified) -> String {
    let differs = |program: &Verified| matches!(difference(program), Comparison::Different(_));
    let small = shrink::shrink(program.program(), 20_000, &mut |program| differs(program));
    let small = bytecode::verify(small).expect("the shrinker keeps programs well-formed");
    let Comparison::Different(shown) = difference(&small) else { return format!("seed {seed}: the difference is gone") };
    let Difference { state, rules, engine } = *shown;
    format!("seed {seed}\n{}\nin {state:?}\nthe rules:\n{rules}\nthe interpreter:\n{engine}", asm::disassemble(small.program()))
}

#[test]
fn random_programs_behave_the_same() {
    let seeds = testkit::models::seeds(0..3500);
    let next = AtomicU64::new(seeds.start);
    let (mut total, mut programs, mut refused, mut reports) = (Extent::default(), 0, 0, Vec::new());
    std::thread::scope(|scope| {
        let work = || {
            let (mut total, mut programs, mut refused, mut reports) = (Extent::default(), 0, 0, Vec::new());
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= seeds.end || reports.len() >= 2 {
                    return (total, programs, refused, reports);
                }
                let Some(program) = random::verified(seed) else {
                    refused += 1;
                    continue;
                };
                match difference(&program) {
                    Comparison::Same(extent) => {
                        programs += 1;
                        total.states += extent.states;
                        total.transitions += extent.transitions;
                        total.faults += extent.faults;
                        total.ends += extent.ends;
                    }
                    Comparison::Refused(_) => refused += 1,
                    Comparison::Different(_) => reports.push(report(seed, &program)),
                }
            }
        };
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let (t, p, r, found) = worker.join().expect("no worker panics");
            total.states += t.states;
            total.transitions += t.transitions;
            total.faults += t.faults;
            total.ends += t.ends;
            programs += p;
            refused += r;
            reports.extend(found);
        }
    });
    println!("seeds {seeds:?}: {programs} programs, {refused} refused, {total:?}");
    assert!(reports.is_empty(), "\n{}", reports.join("\n\n"));
    // Fewer would mean that the generator or the evaluator no longer works.
    assert!(programs as u64 * 20 >= (seeds.end - seeds.start) * 19, "only {programs} programs were compared");
    assert!(total.transitions > 10 * programs, "the programs do nothing: {total:?}");
}

#[test]
fn what_is_explained_is_what_happens() {
    // The transitions must be the same as without recording, and the printed text must follow the
    // rules.
    let (mut printed, mut endless_ones) = (0, 0);
    for program in (0..400).filter_map(random::verified).map(Arc::new) {
        let interpreter = Interpreter::new(program.clone());
        let naive = Naive::new(program.program());
        let Ok(Initial { state: Some(initial), .. }) = naive.initial_state() else { continue };
        let mut states = vec![initial];
        for _ in 0..8 {
            let Some(state) = states.pop() else { break };
            let Ok(outcomes) = naive.outcomes(&state) else { break };
            let bytes = naive.encode(&state);
            let mut out = Successors::new();
            interpreter.clone().successors(&bytes, &mut out);
            let explained = interpreter.explain(&bytes).expect("nobody gives up");
            let plain: Vec<_> = out.iter().map(|(entry, state)| (entry.action, state.map(<[u8]>::to_vec))).collect();
            assert_eq!(plain, explained.iter().map(|e| (e.action, e.state.clone())).collect::<Vec<_>>());
            for (outcome, explained) in outcomes.iter().zip(&explained) {
                let told = explained.history.events().into_iter().filter_map(|event| match event {
                    Event::Print { process, format, values } => Some(Print { process: *process, format: *format, values: values.clone() }),
                    Event::Step { .. } | Event::Cut { .. } => None,
                });
                let told: Vec<_> = told.collect();
                printed += told.len();
                // The specification does not say how long an endless sequence is followed.
                let endless = outcome.fault.is_some_and(|fault| fault.kind == bytecode::FaultKind::Endless);
                let specified = if endless { told.get(..outcome.prints.len()).unwrap_or(&told) } else { &told[..] };
                assert_eq!(specified, outcome.prints, "{} in {state:?}", asm::disassemble(program.program()));
                endless_ones += usize::from(endless && !told.is_empty());
            }
            states.extend(outcomes.into_iter().filter_map(|outcome| outcome.state).take(3));
        }
    }
    assert!(printed > 100 && endless_ones > 0, "{printed} prints, {endless_ones} endless transitions with prints");
}
