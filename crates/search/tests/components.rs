//! Accepting runs in products of toy systems and random automata, with and without fairness:
//! verdicts are compared with brute force, and lassos are checked step by step.

use contract::testing::{Graph, Random, ThreadStep, Threads};
use contract::{Action, Limits, Outcome, StopReason, Store, Successors, System, Trace, Verdict};
use search::{
    Automaton, AutomatonEdge, Fairness, LassoLimits, Product, Refutation, Shortest, Task, breadth_first, components, depth_first,
    nested_depth_first,
};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use store::{Compact, Hashes, Marked, Plain};

/// A random automaton with up to three acceptance sets on its edges.
fn random_automaton(seed: u64, atoms: u64) -> Automaton {
    let mut random = Random(seed ^ 0xacce);
    let (states, sets) = (1 + random.below(4), random.below(4));
    let edge = |random: &mut Random| {
        let required = random.below(1 << atoms) & random.below(1 << atoms);
        let forbidden = random.below(1 << atoms) & random.below(1 << atoms) & !required;
        let marks = random.below(1 << sets) & random.below(1 << sets);
        AutomatonEdge { required, forbidden, marks, target: Some(random.below(states) as u16) }
    };
    let edges = (0..states).map(|_| (0..1 + random.below(3)).map(|_| edge(&mut random)).collect()).collect();
    Automaton { initial: random.below(states) as u16, edges, sets: sets as u32 }
}

/// A system of processes that run in cycles and wait for each other, so that fairness makes a
/// difference.
fn random_system(seed: u64) -> Threads {
    let mut random = Random(seed ^ 0xfa1);
    let variables = 1 + random.below(2);
    let processes = (0..2 + random.below(2)).map(|_| {
        let locations = 1 + random.below(2);
        let mut location = || {
            let mut step = || ThreadStep {
                target: random.below(locations) as u8,
                waits_for: (random.below(2) == 0).then(|| (random.below(variables) as u8, random.below(2) as u8)),
                sets: (random.below(2) == 0).then(|| (random.below(variables) as u8, random.below(2) as u8)),
                fails: false,
            };
            let first = step();
            let second = (step().target == 0).then(&mut step);
            [first].into_iter().chain(second).collect()
        };
        (0..locations).map(|_| location()).collect()
    });
    let mut processes: Vec<Vec<Vec<ThreadStep>>> = processes.collect();
    if seed % 8 == 1 {
        // The last process is replaced by one that toggles variable 1, which others wait for.
        let toggle = |target, value| vec![ThreadStep { sets: Some((1, value)), ..ThreadStep::local(target) }];
        processes.pop();
        processes.push(vec![toggle(1, 1), toggle(0, 0)]);
        return Threads { variables: 2, processes };
    }
    Threads { variables: variables as usize, processes }
}

/// A step of the explicit product: the action and the target.
type Edges = Vec<(Action, usize)>;

/// The reachable states of a product, and the steps between them.
struct Explicit {
    states: Vec<Vec<u8>>,
    edges: Vec<Edges>,
}

impl Explicit {
    fn of<S: System>(product: &mut Product<S>) -> Explicit {
        let mut out = Successors::new();
        product.initial(&mut out);
        let mut states: Vec<Vec<u8>> = out.iter().filter_map(|(_, state)| state.map(<[u8]>::to_vec)).collect();
        let mut positions: HashMap<Vec<u8>, usize> = states.iter().cloned().zip(0..).collect();
        let mut edges = Vec::new();
        while let Some(state) = states.get(edges.len()).cloned() {
            out.clear();
            product.successors(&state, &mut out);
            let mut own = Vec::new();
            for (entry, target) in out.iter() {
                let Some(target) = target else { continue };
                let next = positions.len();
                let position = *positions.entry(target.to_vec()).or_insert_with(|| {
                    states.push(target.to_vec());
                    next
                });
                own.push((entry.action, position));
            }
            edges.push(own);
        }
        Explicit { states, edges }
    }

    fn enabled(&self, state: usize) -> BTreeSet<u32> {
        self.edges[state].iter().map(|(action, _)| action.process).filter(|&process| process != u32::MAX).collect()
    }

    /// Whether all states of `part` can reach each other inside `part`, by at least one step.
    fn is_connected(&self, part: &BTreeSet<usize>) -> bool {
        part.iter().all(|&from| {
            let (mut seen, mut waiting) = (BTreeSet::new(), vec![from]);
            while let Some(state) = waiting.pop() {
                for &(_, target) in self.edges[state].iter().filter(|(_, target)| part.contains(target)) {
                    if seen.insert(target) {
                        waiting.push(target);
                    }
                }
            }
            seen == *part
        })
    }

    /// Whether a run that infinitely often visits exactly the states of `part`, and takes each edge
    /// between them, is accepting and fair.
    fn is_accepted<S: System>(&self, product: &Product<S>, part: &BTreeSet<usize>, fairness: Fairness) -> bool {
        let inside = || {
            part.iter()
                .flat_map(|&state| self.edges[state].iter().filter(|(_, target)| part.contains(target)).map(move |edge| (state, edge.0)))
        };
        let marks = inside().fold(0, |marks, (state, action)| marks | marks_of(product, &self.states[state], action));
        let moved: BTreeSet<u32> = inside().map(|(_, action)| action.process).collect();
        let enabled: Vec<BTreeSet<u32>> = part.iter().map(|&state| self.enabled(state)).collect();
        let fair = |process: u32| match fairness {
            Fairness::None => true,
            Fairness::Weak => moved.contains(&process) || enabled.iter().any(|enabled| !enabled.contains(&process)),
            Fairness::Strong => moved.contains(&process) || enabled.iter().all(|enabled| !enabled.contains(&process)),
        };
        let all = product.automaton().all_marks();
        marks & all == all && enabled.iter().flatten().all(|&process| fair(process))
    }

    /// Whether there is an accepting and fair run, found by trying every set of states.
    fn has_accepted_run<S: System>(&self, product: &Product<S>, fairness: Fairness) -> bool {
        (1_u32..1 << self.states.len()).any(|bits| {
            let part: BTreeSet<usize> = (0..self.states.len()).filter(|&state| bits >> state & 1 != 0).collect();
            self.is_connected(&part) && self.is_accepted(product, &part, fairness)
        })
    }
}

/// The acceptance sets of a step of the product, computed from the automaton's definition.
fn marks_of<S: System>(product: &Product<S>, state: &[u8], action: Action) -> u64 {
    let at = u16::from_le_bytes(*state.last_chunk().expect("an automaton's state"));
    let width = product.automaton().edges.iter().map(Vec::len).max().expect("edges") as u32;
    product.automaton().edges[usize::from(at)][(action.choice % width) as usize].marks
}

/// Checks that the trace is a path of the product, that its end is the beginning of its loop, and
/// that the loop is accepting and fair.
fn check_lasso<S: System>(product: &mut Product<S>, trace: &Trace, fairness: Fairness) {
    let mut out = Successors::new();
    product.initial(&mut out);
    assert!(out.iter().any(|(_, state)| state == Some(&trace.initial[..])));
    let start = trace.loop_start.expect("a loop");
    assert!(start < trace.steps.len());
    let (mut marks, mut moved, mut enabled) = (0, BTreeSet::new(), Vec::new());
    for (index, step) in trace.steps.iter().enumerate() {
        out.clear();
        let source = trace.state_after(index).expect("a state");
        product.successors(source, &mut out);
        assert!(out.iter().any(|(entry, state)| entry.action == step.action && state == step.state.as_deref()), "step {index}");
        if index >= start {
            marks |= marks_of(product, source, step.action);
            moved.insert(step.action.process);
            let own: BTreeSet<u32> =
                out.entries().iter().map(|entry| entry.action.process).filter(|&process| process != u32::MAX).collect();
            enabled.push(own);
        }
    }
    assert_eq!(trace.state_after(start), Some(trace.last_state()));
    let all = product.automaton().all_marks();
    assert_eq!(marks & all, all);
    for process in enabled.iter().flatten() {
        let fair = match fairness {
            Fairness::None => true,
            Fairness::Weak => enabled.iter().any(|enabled| !enabled.contains(process)),
            Fairness::Strong => false,
        };
        assert!(fair || moved.contains(process), "{fairness:?} to {process}");
    }
}

fn check<S: System + Clone, T: Store>(product: &Product<S>, fairness: Fairness, store: &T, expected: bool) -> Outcome {
    let outcome = components(product, fairness, store, &Task::new(&Refutation));
    match &outcome.verdict {
        Verdict::Violated(violation) => {
            assert!(expected);
            check_lasso(&mut product.clone(), &violation.trace, fairness);
        }
        Verdict::Holds => assert!(!expected),
        Verdict::Unknown(StopReason::LossyStore) if !T::EXACT => assert!(!expected),
        other => panic!("{other:?}"),
    }
    outcome
}

#[test]
fn verdicts_are_those_of_brute_force() {
    let (mut found, mut differ) = ([0; 3], [0; 2]);
    let mut tried = 0;
    for seed in 0..4000_u64 {
        let system = if seed.is_multiple_of(2) { Threads::random(seed) } else { random_system(seed) };
        let automaton = match seed % 4 {
            // All runs on which variable 0 stays zero.
            1 => Automaton {
                initial: 0,
                edges: vec![vec![AutomatonEdge { forbidden: 1, target: Some(0), ..AutomatonEdge::default() }]],
                sets: 0,
            },
            _ => random_automaton(seed, system.variables as u64),
        };
        let automaton = Arc::new(automaton);
        let mut product = Product::new(system, automaton);
        let explicit = Explicit::of(&mut product);
        if explicit.states.len() > 10 {
            continue;
        }
        tried += 1;
        let mut verdicts = Vec::new();
        for (number, fairness) in [Fairness::None, Fairness::Weak, Fairness::Strong].into_iter().enumerate() {
            let expected = explicit.has_accepted_run(&product, fairness);
            verdicts.push(expected);
            found[number] += u32::from(expected);
            let outcome = check(&product, fairness, &Plain::new(), expected);
            if !expected {
                assert_eq!(outcome.statistics.states, explicit.states.len() as u64);
            }
            check(&product, fairness, &Compact::learning_from(u64::MAX, 8), expected);
            check(&product, fairness, &Hashes::new(64, 1, u64::MAX), expected);
        }
        (0..2).for_each(|number| differ[number] += u32::from(verdicts[number] != verdicts[number + 1]));
    }
    assert!(tried > 500 && found.iter().all(|&found| found > 100) && differ[0] > 50 && differ[1] > 2, "{tried} {found:?} {differ:?}");
}

/// Compares with the nested search on larger products with one acceptance set of states.
#[test]
fn both_searches_for_cycles_agree() {
    let mut cycles = 0;
    for seed in 0..1500 {
        let system = Threads::random(seed);
        let mut automaton = random_automaton(seed, system.variables as u64);
        automaton.sets = 1;
        for (number, edges) in automaton.edges.iter_mut().enumerate() {
            edges.iter_mut().for_each(|edge| edge.marks = u64::from((seed + number as u64).is_multiple_of(3)));
        }
        let product = Product::new(system, Arc::new(automaton));
        let accepting = |state: &[u8]| product.is_accepting(state);
        let nested = nested_depth_first(&product, &accepting, &Marked::new(Plain::new(), Plain::new()), &Task::new(&Refutation));
        let expected = matches!(nested.verdict, Verdict::Violated(_));
        cycles += u32::from(expected);
        check(&product, Fairness::None, &Plain::new(), expected);
    }
    assert!((200..1300).contains(&cycles), "{cycles}");
}

/// A formula that a finite run refutes is refuted in every order, and the trace ends in the state
/// that refutes it.
#[test]
fn a_finite_run_can_settle_the_matter() {
    let step = |target, sets| ThreadStep { sets, ..ThreadStep::local(target) };
    let system =
        Threads { variables: 1, processes: vec![vec![vec![step(1, None)], vec![step(2, Some((0, 1)))], vec![step(0, Some((0, 0)))]]] };
    let stay = AutomatonEdge { forbidden: 1, target: Some(0), ..AutomatonEdge::default() };
    let seen = AutomatonEdge { required: 1, target: None, ..AutomatonEdge::default() };
    let automaton = Automaton { initial: 0, edges: vec![vec![stay, seen]], sets: 1 };
    assert!(automaton.is_terminal());
    let product = Product::new(system, Arc::new(automaton));
    let task = Task::new(&Refutation);
    for outcome in [
        breadth_first(&product, &Plain::new(), &task),
        depth_first(&product, &Plain::new(), &task),
        components(&product, Fairness::None, &Plain::new(), &task),
    ] {
        let Verdict::Violated(violation) = outcome.verdict else { panic!("{:?}", outcome.verdict) };
        let trace = product.project(&violation.trace);
        assert_eq!((trace.steps.len(), trace.last_state(), trace.loop_start), (2, &[1, 2][..], None));
    }
}

/// A run that ends counts as one that stays where it ended.
#[test]
fn a_deadlock_is_repeated_for_ever() {
    let graph = Graph::new(vec![vec![1], vec![]]);
    let anything = AutomatonEdge { marks: 1, target: Some(0), ..AutomatonEdge::default() };
    let product = Product::new(graph, Arc::new(Automaton { initial: 0, edges: vec![vec![anything]], sets: 1 }));
    let Verdict::Violated(violation) = check(&product, Fairness::Strong, &Plain::new(), true).verdict else { panic!() };
    let trace = product.project(&violation.trace);
    assert_eq!((trace.loop_start, trace.steps.len(), trace.last_state()), (Some(1), 1, &Graph::encode(1)[..]));
}

#[test]
fn limits_are_obeyed() {
    let line = contract::testing::numbers(|n, next| next(n + 1));
    let anything = AutomatonEdge { target: Some(0), ..AutomatonEdge::default() };
    let product = Product::new(line, Arc::new(Automaton { initial: 0, edges: vec![vec![anything]], sets: 1 }));
    let full = components(&product, Fairness::None, &Plain::with_budget(1 << 16), &Task::default());
    assert_eq!(full.verdict, Verdict::Unknown(StopReason::Memory));
    let limits = Limits { depth: Some(10), ..Limits::default() };
    let shallow = components(&product, Fairness::Weak, &Plain::new(), &Task { limits, ..Task::default() });
    assert_eq!((shallow.verdict, shallow.statistics.states), (Verdict::Unknown(StopReason::Depth), 11));
}

/// A ring of so many states, in which process 0 moves. In the first one process 1 can leave it.
#[derive(Clone)]
struct Ring(u32);

impl System for Ring {
    fn initial(&mut self, out: &mut Successors) {
        out.push(&0_u32.to_le_bytes(), Action::default());
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let at = u32::from_le_bytes(state.try_into().expect("four bytes"));
        if at < self.0 {
            out.push(&((at + 1) % self.0).to_le_bytes(), Action::new(0, 0));
        }
        if at == 0 {
            out.push(&self.0.to_le_bytes(), Action::new(1, 0));
        }
    }

    fn is_valid_end(&mut self, _: &[u8]) -> bool {
        true
    }

    fn atoms(&mut self, _: &[u8]) -> Result<u64, contract::FaultCode> {
        Ok(0)
    }
}

/// A component that is examined state by state, and a run that is looked for in one, take memory
/// beyond that of the search.
#[test]
fn the_memory_of_a_component_is_counted() {
    let anything = AutomatonEdge { marks: 1, target: Some(0), ..AutomatonEdge::default() };
    let automaton = Arc::new(Automaton { initial: 0, edges: vec![vec![anything]], sets: 1 });
    let product = Product::new(Ring(50_000), automaton).without_stutter();
    let run = |fairness, memory| {
        let limits = Limits { memory, ..Limits::default() };
        components(&product, fairness, &Plain::new(), &Task { limits, ..Task::new(&search::Refutation) })
    };
    let bytes = |outcome: &Outcome| outcome.statistics.store_peak_bytes + outcome.statistics.search_bytes;
    let strong = run(Fairness::Strong, None);
    assert_eq!((&strong.verdict, strong.statistics.states), (&Verdict::Holds, 50_001));
    assert_eq!(run(Fairness::Strong, Some(bytes(&strong))).verdict, Verdict::Holds);
    assert_eq!(run(Fairness::Strong, Some(bytes(&strong) / 2)).verdict, Verdict::Unknown(StopReason::Memory));
    let any = run(Fairness::None, None);
    assert!(matches!(any.verdict, Verdict::Violated(_)), "{:?}", any.verdict);
    let little = run(Fairness::None, Some(bytes(&any) / 2)).verdict;
    assert!(matches!(little, Verdict::Unknown(_)), "{little:?}");
}

/// The fewest steps, at least one, from a state to a node for which `end` is true. A node is a
/// state and the acceptance sets passed on the way.
fn steps_to(explicit: &Explicit, marks: &[Vec<u64>], start: usize, end: &dyn Fn(usize, u64) -> bool) -> Option<usize> {
    let (mut seen, mut level, mut length) = (BTreeSet::new(), vec![(start, 0)], 0);
    while !level.is_empty() {
        length += 1;
        let mut next = Vec::new();
        for (at, passed) in level {
            for (&(_, target), more) in explicit.edges[at].iter().zip(&marks[at]) {
                let node = (target, passed | more);
                if end(node.0, node.1) {
                    return Some(length);
                }
                if seen.insert(node) {
                    next.push(node);
                }
            }
        }
        level = next;
    }
    None
}

/// Compares with all lassos of small products, by brute force.
#[test]
fn the_shortest_lasso_is_the_shortest() {
    let (mut found, mut none) = (0, 0);
    for seed in 0..800_u64 {
        let system = random_system(seed);
        let automaton = random_automaton(seed, system.variables as u64);
        let mut product = Product::new(system, Arc::new(automaton));
        let explicit = Explicit::of(&mut product);
        if explicit.states.len() > 60 {
            continue;
        }
        let all = product.automaton().all_marks();
        let of_state = |state: usize| -> Vec<u64> {
            explicit.edges[state].iter().map(|&(action, _)| marks_of(&product, &explicit.states[state], action)).collect()
        };
        let marks: Vec<Vec<u64>> = (0..explicit.states.len()).map(of_state).collect();
        let best = (0..explicit.states.len()).filter_map(|start| {
            let path = if start == 0 { 0 } else { steps_to(&explicit, &marks, 0, &|at, _| at == start)? };
            Some(path + steps_to(&explicit, &marks, start, &|at, passed| at == start && passed & all == all)?)
        });
        let best = best.min();
        let limits = LassoLimits { work: u64::MAX, bytes: u64::MAX, stop: &|| false };
        let shortest = search::shortest_lasso(&product, usize::MAX, &limits);
        assert_eq!((shortest.trace.as_ref().map(|trace| trace.steps.len()), shortest.exact), (best, true), "seed {seed}");
        match shortest.trace {
            Some(trace) => {
                found += 1;
                check_lasso(&mut product, &trace, Fairness::None);
                // Nothing is shorter than the shortest.
                let shorter = search::shortest_lasso(&product, trace.steps.len(), &limits);
                assert_eq!((shorter.trace, shorter.exact), (None, true), "seed {seed}");
            }
            None => none += 1,
        }
    }
    assert!(found > 100 && none > 50, "{found} {none}");
}

/// A path to a small loop, beside a tree that never ends: the loop is found without the tree. Each
/// limit ends the search, and a lasso that was found before is kept.
#[test]
fn the_search_for_the_shortest_lasso_has_limits() {
    #[derive(Clone)]
    struct Wide;
    impl System for Wide {
        fn initial(&mut self, out: &mut Successors) {
            out.push(&[0; 8], Action::default());
        }
        fn successors(&mut self, state: &[u8], out: &mut Successors) {
            let number = u64::from_le_bytes(state.try_into().expect("a state"));
            for (choice, next) in [number * 2 + 1, number * 2 + 2].into_iter().enumerate() {
                out.push(&next.to_le_bytes(), Action::new(0, choice as u32));
            }
            if number == 1 << 5 {
                out.push(&0_u64.to_le_bytes(), Action::new(1, 0));
            }
        }
        fn is_valid_end(&mut self, _: &[u8]) -> bool {
            true
        }
        fn atoms(&mut self, _: &[u8]) -> Result<u64, contract::FaultCode> {
            Ok(0)
        }
    }
    let edge = AutomatonEdge { target: Some(0), marks: 1, ..AutomatonEdge::default() };
    let product = Product::new(Wide, Arc::new(Automaton { initial: 0, edges: vec![vec![edge]], sets: 1 }));
    let unlimited = LassoLimits { work: u64::MAX, bytes: u64::MAX, stop: &|| false };
    let shortest = search::shortest_lasso(&product, 1000, &unlimited);
    assert_eq!((shortest.trace.map(|trace| trace.steps.len()), shortest.exact), (Some(6), true));
    let ended = |limits: &LassoLimits<'_>| {
        let Shortest { trace, exact, .. } = search::shortest_lasso(&product, 1000, limits);
        trace.is_none() && !exact
    };
    assert!(ended(&LassoLimits { work: 50, ..unlimited }));
    assert!(ended(&LassoLimits { bytes: 2000, ..unlimited }));
    assert!(ended(&LassoLimits { stop: &|| true, ..unlimited }));
}
