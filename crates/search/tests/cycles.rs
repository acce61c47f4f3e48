//! Accepting cycles in products of toy systems and toy automata: verdicts are compared with brute
//! force, and lassos are checked step by step.

use contract::testing::{Graph, Random, ThreadStep, Threads, system_laws};
use contract::{Action, Annotated, Blind, Enough, Heuristic, Limits, NoProperty, Outcome, StopReason, Successors, System, Trace, Verdict};
use search::{Automaton, AutomatonEdge, Product, Task, Weights, breadth_first, nested_depth_first, toward_cycles};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use store::{Compact, Marked, Plain};

fn random_automaton(seed: u64, atoms: u64) -> Automaton {
    let mut random = Random(seed ^ 0x5eed);
    let states = 1 + random.below(4);
    let edge = |random: &mut Random| {
        let required = random.below(1 << atoms) & random.below(1 << atoms);
        let forbidden = random.below(1 << atoms) & random.below(1 << atoms) & !required;
        AutomatonEdge { required, forbidden, marks: 0, target: Some(random.below(states) as u16) }
    };
    let mut edges: Vec<Vec<AutomatonEdge>> = (0..states).map(|_| (0..1 + random.below(3)).map(|_| edge(&mut random)).collect()).collect();
    for edges in &mut edges {
        let marks = u64::from(random.below(3) == 0);
        edges.iter_mut().for_each(|edge| edge.marks = marks);
    }
    Automaton { initial: random.below(states) as u16, edges, sets: 1 }
}

/// All states with their successors.
type Explicit = HashMap<Vec<u8>, Vec<Vec<u8>>>;

fn explicit<S: System>(system: &mut S) -> Explicit {
    let mut out = Successors::new();
    system.initial(&mut out);
    let mut waiting: Vec<Vec<u8>> = out.iter().filter_map(|(_, state)| state.map(<[u8]>::to_vec)).collect();
    let mut graph = HashMap::new();
    while let Some(state) = waiting.pop() {
        if graph.contains_key(&state) {
            continue;
        }
        out.clear();
        system.successors(&state, &mut out);
        let next: Vec<Vec<u8>> = out.iter().filter_map(|(_, state)| state.map(<[u8]>::to_vec)).collect();
        waiting.extend(next.iter().cloned());
        graph.insert(state, next);
    }
    graph
}

/// Whether an accepting state can be reached from itself.
fn has_accepting_cycle(graph: &Explicit, accepting: &dyn Fn(&[u8]) -> bool) -> bool {
    graph.keys().filter(|state| accepting(state)).any(|seed| {
        let (mut seen, mut waiting) = (HashSet::new(), graph[seed].clone());
        while let Some(state) = waiting.pop() {
            if state == *seed {
                return true;
            }
            if seen.insert(state.clone()) {
                waiting.extend(graph[&state].iter().cloned());
            }
        }
        false
    })
}

/// Checks that the trace is a path of the system, that its end is the beginning of its loop, and
/// that the loop passes an accepting state.
fn check_lasso<S: System>(system: &mut S, trace: &Trace, accepting: &dyn Fn(&[u8]) -> bool) {
    let mut out = Successors::new();
    system.initial(&mut out);
    assert!(out.iter().any(|(_, state)| state == Some(&trace.initial[..])));
    for (index, step) in trace.steps.iter().enumerate() {
        out.clear();
        system.successors(trace.state_after(index).unwrap(), &mut out);
        assert!(out.iter().any(|(entry, state)| entry.action == step.action && state == step.state.as_deref()), "step {index}");
    }
    let start = trace.loop_start.expect("a loop");
    assert_eq!(trace.state_after(start), Some(trace.last_state()));
    assert!((start..trace.steps.len()).any(|index| accepting(trace.state_after(index).unwrap())));
    assert_eq!(trace.to_string().parse::<Trace>().as_ref(), Ok(trace));
}

fn check<S: System + Clone, T: Annotated>(product: &Product<S>, store: &T, expected: bool) -> Outcome {
    let accepting = |state: &[u8]| product.is_accepting(state);
    let outcome = nested_depth_first(product, product, store, &Task::default());
    match &outcome.verdict {
        Verdict::Holds => assert!(!expected),
        Verdict::Violated(violation) => {
            assert!(expected);
            check_lasso(&mut product.clone(), &violation.trace, &accepting);
        }
        other => panic!("{other:?}"),
    }
    outcome
}

/// An arbitrary estimate that is always the same for a state.
#[derive(Clone)]
struct Wild(u64);

impl Heuristic for Wild {
    fn estimate(&mut self, state: &[u8]) -> u32 {
        let sum = state.iter().fold(self.0, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        Random(sum).below(9) as u32
    }

    fn is_lower_bound(&self) -> bool {
        false
    }

    fn clone_heuristic(&self) -> Box<dyn Heuristic> {
        Box::new(self.clone())
    }
}

/// A search directed to accepting components finds a cycle if there is one, whatever the estimates
/// are.
#[test]
fn directed_verdicts_are_those_of_brute_force() {
    let mut cycles = 0;
    for seed in 0..1000 {
        let system = Threads::random(seed);
        let automaton = Arc::new(random_automaton(seed, system.variables as u64));
        let product = Product::new(system, automaton);
        let accepting = |state: &[u8]| product.is_accepting(state);
        let expected = has_accepting_cycle(&explicit(&mut product.clone()), &accepting);
        cycles += u32::from(expected);
        for (weights, heuristic) in
            [(Weights::EQUAL, &Blind as &dyn Heuristic), (Weights::EQUAL, &Wild(seed)), (Weights::GREEDY, &Wild(!seed))]
        {
            let marked = Marked::new(Plain::new(), Plain::new());
            let closing = |_: &[u8]| Box::new(Blind) as Box<dyn Heuristic>;
            let task = Task { heuristic, ..Task::default() };
            let outcome = toward_cycles(&product, (&Plain::new(), &marked), &Plain::new, weights, &closing, &task);
            match &outcome.verdict {
                Verdict::Holds => assert!(!expected, "seed {seed}"),
                Verdict::Violated(violation) => {
                    assert!(expected, "seed {seed}");
                    check_lasso(&mut product.clone(), &violation.trace, &accepting);
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert!((200..800).contains(&cycles), "{cycles}");
}

/// A loop that a depth-first search finds at once, beside a tree in which a blind search drowns.
#[derive(Clone, Default)]
struct Beside {
    /// Whether states of the tree take all the time there is.
    slow: bool,
    expanded: Arc<AtomicU64>,
    enough: Enough,
}

impl Beside {
    const LOOP: u64 = 500;

    fn product(self) -> Product<Beside> {
        let anything = AutomatonEdge { marks: 1, target: Some(0), ..AutomatonEdge::default() };
        Product::new(self, Arc::new(Automaton { initial: 0, edges: vec![vec![anything]], sets: 1 }))
    }
}

impl System for Beside {
    fn give_up_when(&mut self, enough: Enough) {
        self.enough = enough;
    }

    fn initial(&mut self, out: &mut Successors) {
        out.push(&0_u64.to_le_bytes(), Action::default());
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        self.expanded.fetch_add(1, Ordering::Relaxed);
        let n = u64::from_le_bytes(state.try_into().expect("8 bytes"));
        if self.slow && n > Beside::LOOP {
            while !self.enough.is_reached(0) {
                std::thread::sleep(Duration::from_millis(1));
            }
            return out.cut_short();
        }
        let targets = match n {
            0 => vec![1, 1 << 40],
            n if n <= Beside::LOOP => vec![n % Beside::LOOP + u64::from(n < Beside::LOOP)],
            n => vec![n * 2 % (1 << 60) + 1, n * 2 % (1 << 60) + 2],
        };
        for (choice, target) in targets.into_iter().enumerate() {
            out.push(&target.to_le_bytes(), Action::new(0, choice as u32));
        }
    }

    fn is_valid_end(&mut self, _: &[u8]) -> bool {
        true
    }
}

/// The loop that was found stays the answer, whatever its closing would cost.
#[test]
fn closing_a_loop_has_a_share_of_time_and_work() {
    for slow in [false, true] {
        let system = Beside { slow, ..Beside::default() };
        let expanded = Arc::clone(&system.expanded);
        let product = system.product();
        let marked = Marked::new(Plain::new(), Plain::new());
        let closing = |_: &[u8]| Box::new(Blind) as Box<dyn Heuristic>;
        let limit = Duration::from_secs(2);
        let limits = Limits { time: slow.then_some(limit), ..Limits::default() };
        let task = Task { limits, ..Task::default() };
        let outcome = toward_cycles(&product, (&Plain::new(), &marked), &Plain::new, Weights::EQUAL, &closing, &task);
        let Verdict::Violated(violation) = &outcome.verdict else { panic!("{:?}", outcome.verdict) };
        check_lasso(&mut product.clone(), &violation.trace, &|state| product.is_accepting(state));
        assert_eq!(violation.trace.steps.len() as u64, Beside::LOOP + 1);
        assert!(expanded.load(Ordering::Relaxed) < 200_000, "{expanded:?}");
        // Most of the time is left for confirming the run.
        assert!(!slow || outcome.statistics.elapsed < limit, "{:?}", outcome.statistics.elapsed);
    }
}

#[test]
fn verdicts_are_those_of_brute_force() {
    let mut cycles = 0;
    for seed in 0..500 {
        let system = Threads::random(seed);
        let automaton = Arc::new(random_automaton(seed, system.variables as u64));
        let mut product = Product::new(system, automaton);
        system_laws(&mut product, 500);
        let graph = explicit(&mut product);
        let expected = has_accepting_cycle(&graph, &|state| product.is_accepting(state));
        cycles += u32::from(expected);
        let outcome = check(&product, &Marked::new(Plain::new(), Plain::new()), expected);
        if !expected {
            // A product is a system like any other.
            let all = breadth_first(&product, &Plain::new(), &Task::default());
            assert_eq!((all.statistics.states, outcome.statistics.states), (graph.len() as u64, graph.len() as u64));
        }
        check(&product, &Marked::new(Compact::learning_from(u64::MAX, 8), Compact::learning_from(u64::MAX, 8)), expected);
        // A search that knows only which states accept finds the same.
        let accepting = |state: &[u8]| product.is_accepting(state);
        let unguided = nested_depth_first(&product, &accepting, &Marked::new(Plain::new(), Plain::new()), &Task::default());
        assert_eq!(matches!(unguided.verdict, Verdict::Violated(_)), expected);
    }
    assert!((100..400).contains(&cycles), "{cycles}");
}

/// A run that ends counts as one that stays where it ended.
#[test]
fn a_deadlock_is_repeated_for_ever() {
    let graph = Graph::new(vec![vec![1], vec![]]);
    let anything = AutomatonEdge { marks: 1, target: Some(0), ..AutomatonEdge::default() };
    let product = Product::new(graph, Arc::new(Automaton { initial: 0, edges: vec![vec![anything]], sets: 1 }));
    let outcome = check(&product, &Marked::new(Plain::new(), Plain::new()), true);
    let Verdict::Violated(violation) = outcome.verdict else { panic!("{:?}", outcome.verdict) };
    assert_eq!((violation.trace.loop_start, violation.trace.steps.len()), (Some(1), 2));
    assert_eq!(product.system_action(violation.trace.steps[1].action), None);
    assert_eq!(product.system_state(violation.trace.last_state()), Graph::encode(1));
}

#[test]
fn limits_are_obeyed() {
    let line = contract::testing::numbers(|n, next| next(n + 1));
    let never = |_: &[u8]| false;
    let store = || Marked::new(Plain::with_budget(1 << 16), Plain::with_budget(1 << 16));
    let full = nested_depth_first(&line, &never, &store(), &Task::default());
    assert_eq!(full.verdict, Verdict::Unknown(StopReason::Memory));
    let limits = Limits { depth: Some(10), ..Limits::default() };
    let shallow = nested_depth_first(&line, &never, &store(), &Task { limits, ..Task::new(&NoProperty) });
    assert_eq!((shallow.verdict, shallow.statistics.states), (Verdict::Unknown(StopReason::Depth), 11));
}

/// If the claim is weak, the second search marks nothing.
#[test]
fn a_weak_claim_needs_no_second_search() {
    let edge = |marks, target| AutomatonEdge { marks, target: Some(target), ..AutomatonEdge::default() };
    let weak = vec![vec![edge(0, 0), edge(0, 1)], vec![edge(1, 1)]];
    let mixed = vec![vec![edge(0, 0), edge(0, 1)], vec![edge(1, 0)]];
    // The system counts up, and from some number on the automaton has no edge.
    for (mut edges, marks) in [(weak, false), (mixed, true)] {
        edges.iter_mut().flatten().for_each(|edge| edge.forbidden = 1);
        let system = Threads {
            variables: 1,
            processes: vec![
                (0..40)
                    .map(|at| vec![ThreadStep { sets: (at == 38).then_some((0, 1)), ..ThreadStep::local(at + 1) }])
                    .chain([vec![]])
                    .collect(),
            ],
        };
        let product = Product::new(system, Arc::new(Automaton { initial: 0, edges, sets: 1 }));
        let store = Marked::new(Plain::new(), Plain::new());
        let outcome = nested_depth_first(&product, &product, &store, &Task::default());
        assert_eq!((outcome.verdict, store.marked() > 0), (Verdict::Holds, marks));
    }
}
