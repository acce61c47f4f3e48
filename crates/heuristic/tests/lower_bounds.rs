//! Compares estimates that are declared lower bounds with the true distance of every reachable
//! state, and the paths that A* finds with those of breadth-first search.

mod common;

use bytecode::Verified;
use contract::{Blind, FAR, Heuristic, Outcome, Safety, StopReason, Successors, System, Verdict};
use heuristic::{Combine, Estimator, Goal};
use search::{Automaton, AutomatonEdge, Product, TAIL, Task, Weights, best_first, breadth_first, ida_star, toward_cycles};
use std::collections::HashMap;
use std::sync::Arc;
use store::{Marked, Plain};
use vm::Interpreter;

/// Programs with more states are left out: each state is examined.
const MOST_STATES: usize = 800;

/// The same for searches that visit a state in every round.
const MOST_STATES_IN_ROUNDS: usize = 150;

const PROPERTIES: [Safety; 3] =
    [Safety { deadlocks: true, faults: false }, Safety { deadlocks: false, faults: true }, Safety { deadlocks: true, faults: true }];

/// All reachable states with their true distances to a violation; nothing if there are too many.
fn distances(program: &Arc<Verified>, property: &Safety) -> Option<HashMap<Vec<u8>, u32>> {
    let mut system = Interpreter::new(Arc::clone(program));
    let mut out = Successors::new();
    system.initial(&mut out);
    let mut states: Vec<Vec<u8>> = out.iter().filter_map(|(_, state)| state.map(<[u8]>::to_vec)).collect();
    let mut numbers: HashMap<Vec<u8>, usize> = states.iter().cloned().zip(0..).collect();
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); states.len()];
    let mut level: Vec<Vec<usize>> = vec![Vec::new(), Vec::new()];
    let mut next = 0;
    while next < states.len() {
        if states.len() > MOST_STATES {
            return None;
        }
        out.clear();
        system.successors(&states[next], &mut out);
        if out.is_empty() && property.deadlocks && !system.is_valid_end(&states[next]) {
            level[0].push(next);
        }
        for (entry, target) in out.iter() {
            if entry.fault().is_some() && property.faults {
                level[1].push(next);
                continue;
            }
            let Some(target) = target else { continue };
            let number = *numbers.entry(target.to_vec()).or_insert(states.len());
            if number == states.len() {
                states.push(target.to_vec());
                before.push(Vec::new());
            }
            before[number].push(next);
        }
        next += 1;
    }
    let mut distance = vec![FAR; states.len()];
    let mut at = 0;
    while at < level.len() {
        for state in std::mem::take(&mut level[at]) {
            if distance[state] == FAR {
                distance[state] = at as u32;
                if level.len() < at + 2 {
                    level.push(Vec::new());
                }
                level[at + 1].extend(&before[state]);
            }
        }
        at += 1;
    }
    Some(states.into_iter().zip(distance).collect())
}

#[derive(Debug, Default)]
struct Tally {
    compared: u64,
    violated: u64,
    /// The number of estimates above the trivial one.
    telling: u64,
    states: [u64; 2],
}

impl Tally {
    fn plus(self, other: Tally) -> Tally {
        Tally {
            compared: self.compared + other.compared,
            violated: self.violated + other.violated,
            telling: self.telling + other.telling,
            states: [self.states[0] + other.states[0], self.states[1] + other.states[1]],
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

fn length(outcome: &Outcome) -> Option<usize> {
    match &outcome.verdict {
        Verdict::Violated(violation) => Some(violation.trace.steps.len()),
        Verdict::Unknown(StopReason::TraceLost(_)) => panic!("a trace was lost"),
        _ => None,
    }
}

fn compare(name: &str, program: &Arc<Verified>, tally: &mut Tally) {
    for property in PROPERTIES {
        let Some(distances) = distances(program, &property) else { return };
        let Safety { deadlocks, faults } = property;
        let goal = Goal::Safety { deadlocks, assertions: faults, errors: faults };
        let Ok(mut estimator) = Estimator::new(program, goal, Combine::Max) else { return };
        assert!(estimator.is_lower_bound());
        for (state, &distance) in &distances {
            let estimate = estimator.estimate(state);
            tally.compared += 1;
            tally.telling += u64::from(distance != FAR && estimate > 1);
            assert!(
                estimate <= distance,
                "{name}, {property:?}: {estimate} instead of at most {distance} in {state:?}\n{}\n{}",
                estimator.describe(),
                bytecode::asm::disassemble(program.program())
            );
        }
        let system = Interpreter::new(Arc::clone(program));
        let task = Task { heuristic: &estimator, ..Task::new(&property) };
        let breadth = breadth_first(&system, &Plain::new(), &task);
        let astar = best_first(&system, &Plain::new(), Weights::EQUAL, &task);
        assert_eq!(length(&astar), length(&breadth), "{name}, {property:?}: A*");
        if distances.len() <= MOST_STATES_IN_ROUNDS {
            let rounds = ida_star(&system, &Plain::new, &task);
            assert_eq!(length(&rounds), length(&breadth), "{name}, {property:?}: IDA*");
        }
        if length(&breadth).is_some() {
            tally.violated += 1;
            tally.states[0] += breadth.statistics.states;
            tally.states[1] += astar.statistics.states;
        }
        // The sum may exceed the true distance, but the search still finds the violation.
        let sum = Estimator::new(program, Goal::Safety { deadlocks, assertions: faults, errors: false }, Combine::Sum).expect("as before");
        let task = Task { heuristic: &sum, ..Task::new(&property) };
        let greedy = best_first(&system, &Plain::new(), Weights::GREEDY, &task);
        assert_eq!(length(&greedy).is_some(), length(&breadth).is_some(), "{name}, {property:?}: best-first");
    }
}

#[test]
fn no_estimate_is_too_great_on_the_models() {
    let tally = compare_all(&common::models());
    assert!(tally.violated > 40 && tally.telling > 100, "{tally:?}");
    assert!(tally.states[1] < tally.states[0], "{tally:?}");
}

#[test]
fn no_estimate_is_too_great_on_random_byte_code() {
    let programs = (0..400).filter_map(|seed| Some((format!("seed {seed}"), Arc::new(testkit::random::verified(seed)?))));
    let tally = compare_all(&programs.collect::<Vec<_>>());
    assert!(tally.violated > 100 && tally.telling > 100, "{tally:?}");
}

#[test]
fn no_estimate_is_too_great_on_random_models() {
    let programs = (0..200).filter_map(|seed| {
        let text = testkit::promela_gen::model(seed).text();
        Some((format!("seed {seed}\n{text}"), languages::testing::promela(&text)?))
    });
    let tally = compare_all(&programs.collect::<Vec<_>>());
    assert!(tally.violated > 100 && tally.telling > 100, "{tally:?}");
}

/// Channels that are chosen by a variable. A step that changes the variable may change the length
/// from none to all messages. The variable has one bit, so that no index is out of range; otherwise
/// a possible run-time error would be nearer than everything else.
const CHOSEN: [(&str, &str); 7] = [
    (
        "a longer way that seems nearer",
        "chan q[2] = [5] of { byte }; bit i; byte n;
active proctype A() { q[1]!1; q[1]!1; q[1]!1; i = 1 }
active proctype B() { assert(len(q[i]) != 3) }
active proctype C() { n++; n++; n++; n++; n++; assert(n != 5) }",
    ),
    (
        "the length that an assertion asks for",
        "chan q[2] = [3] of { byte }; bit i;
active proctype A() { q[1]!1; q[1]!1; q[1]!1; i = 1 }
active proctype B() { assert(len(q[i]) != 3) }",
    ),
    (
        "a constant on the left, and a channel in a variable",
        "chan a = [3] of { byte }; chan b = [3] of { byte }; chan c;
active proctype A() { c = a; b!1; b!1; c = b }
active proctype B() { do :: assert(2 > len(c)) od }",
    ),
    (
        "a full channel",
        "chan q[2] = [3] of { byte }; bit i;
active proctype A() { q[1]!1; q[1]!1; q[1]!1; i = 1 }
active proctype B() { do :: assert(nfull(q[i])) od }",
    ),
    (
        "an empty channel",
        "chan q[2] = [4] of { byte }; bit i;
active proctype A() { q[0]!1; q[0]!1; q[0]!1; i = 1 }
active proctype B() { len(q[0]) == 3; do :: assert(nempty(q[i])) od }",
    ),
    (
        "a send that blocks",
        "chan q[2] = [3] of { byte }; bit i;
active proctype A() { q[1]!1; q[1]!1; q[1]!1; i = 1 }
active proctype B() { q[i]!7; q[i]!7 }",
    ),
    (
        "a receive that blocks",
        "chan q[2] = [3] of { byte }; bit i;
active proctype A() { q[0]!1; q[0]!1; q[0]!1; i = 1 }
active proctype B() { i == 1 -> q[i]?_ }",
    ),
];

#[test]
fn a_step_may_change_which_channel_is_asked_about() {
    for (what, text) in CHOSEN {
        let program = languages::testing::promela(text).unwrap_or_else(|| panic!("{what}: a model"));
        let mut tally = Tally::default();
        compare(what, &program, &mut tally);
        assert!(tally.compared > 0 && tally.violated > 0, "{what}: {tally:?}");
    }
}

/// A step of byte-code may send several messages.
#[test]
fn a_step_may_send_several_messages() {
    let text = "channel queue = [4] of { byte }
process Producer() {
produce:
    LDC queue
    LDC 1
    SEND 1
    LDC queue
    LDC 2
    SEND 1
    STEP N
    JMP produce
}
start Producer
";
    let program = languages::testing::compile("several.epa", text, &[]).expect("a good program");
    let mut tally = Tally::default();
    compare("several messages", &program, &mut tally);
    assert!(tally.violated > 0, "{tally:?}");
}

/// Random models of Promela with few states and without an end, by their seeds.
fn endless(seeds: std::ops::Range<u64>) -> Vec<(String, Arc<Verified>)> {
    let programs = seeds.filter_map(|seed| {
        let mut model = testkit::promela_gen::model(seed);
        model.loop_for_ever();
        let text = model.text();
        let program = languages::testing::promela(&text)?;
        let few = Task { states: Some(MOST_STATES as u64), ..Task::default() };
        let all = breadth_first(&Interpreter::new(Arc::clone(&program)), &Plain::new(), &few);
        (all.verdict == Verdict::Holds).then(|| (format!("seed {seed}\n{text}"), program))
    });
    programs.collect()
}

/// The steps from each state to one of the states, at least one.
fn steps_to(goal: usize, before: &[Vec<usize>]) -> Vec<u32> {
    let mut distance = vec![FAR; before.len()];
    let (mut level, mut at) = (vec![goal], 0);
    while !level.is_empty() {
        at += 1;
        let mut next = Vec::new();
        for &from in level.iter().flat_map(|&state| &before[state]) {
            if distance[from] == FAR {
                distance[from] = at;
                next.push(from);
            }
        }
        level = next;
    }
    distance
}

/// The distance to a state, for closing a loop.
#[test]
fn no_estimate_of_the_way_to_a_state_is_too_great() {
    let tallies = testkit::in_parallel(&endless(0..150), |(name, program)| {
        let mut system = Interpreter::new(Arc::clone(program));
        let mut out = Successors::new();
        system.initial(&mut out);
        let mut states: Vec<Vec<u8>> = out.iter().filter_map(|(_, state)| state.map(<[u8]>::to_vec)).collect();
        let mut numbers: HashMap<Vec<u8>, usize> = states.iter().cloned().zip(0..).collect();
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); states.len()];
        let mut next = 0;
        while next < states.len() {
            out.clear();
            system.successors(&states[next], &mut out);
            for target in out.iter().filter_map(|(_, target)| target) {
                let number = *numbers.entry(target.to_vec()).or_insert(states.len());
                if number == states.len() {
                    states.push(target.to_vec());
                    before.push(Vec::new());
                }
                before[number].push(next);
            }
            next += 1;
        }
        let mut told = [0; 2];
        for goal in (0..states.len()).step_by(states.len() / 12 + 1) {
            let with_tail = |state: &[u8]| [state, &[0; TAIL]].concat();
            let aim = Goal::State { state: with_tail(&states[goal]), tail: TAIL };
            let Ok(mut estimator) = Estimator::new(program, aim, Combine::Max) else { break };
            for (state, distance) in states.iter().zip(steps_to(goal, &before)) {
                let estimate = estimator.estimate(&with_tail(state));
                assert!(estimate <= distance, "{name}: {estimate} instead of at most {distance} from {state:?} to {:?}", states[goal]);
                told[0] += 1;
                told[1] += u64::from(distance != FAR && estimate > 1);
            }
        }
        told
    });
    let total = tallies.into_iter().fold([0; 2], |sum, told| [sum[0] + told[0], sum[1] + told[1]]);
    assert!(total[0] > 10_000 && total[1] > 500, "{total:?}");
}

/// A loop that is closed with estimates is no longer than one that is closed without.
#[test]
fn estimates_close_loops_as_short_as_a_blind_search() {
    let found = testkit::in_parallel(&endless(0..150), |(name, program)| {
        let anything = AutomatonEdge { marks: 1, target: Some(0), ..AutomatonEdge::default() };
        let automaton = Arc::new(Automaton { initial: 0, edges: vec![vec![anything]], sets: 1 });
        let product = Product::new(Interpreter::new(Arc::clone(program)), automaton);
        let task = Task::default();
        let lasso = |closing: &search::Closing<'_>| {
            let marked = Marked::new(Plain::new(), Plain::new());
            let outcome = toward_cycles(&product, (&Plain::new(), &marked), &Plain::new, Weights::EQUAL, closing, &task);
            let Verdict::Violated(violation) = outcome.verdict else { return None };
            Some((violation.trace.loop_start?, violation.trace.steps.len()))
        };
        let directed = lasso(&|state| {
            let aim = Goal::State { state: state.to_vec(), tail: TAIL };
            Estimator::new(program, aim, Combine::Max).map_or_else(|_| Box::new(Blind) as Box<dyn Heuristic>, |made| Box::new(made))
        });
        let blind = lasso(&|_| Box::new(Blind));
        assert_eq!(directed, blind, "{name}");
        directed.is_some()
    });
    assert!(found.iter().filter(|found| **found).count() > 30, "{found:?}");
}
