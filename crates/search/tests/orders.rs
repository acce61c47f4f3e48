//! Search orders on graphs with known facts: counts, verdicts, traces, limits.

use contract::testing::{Graph, grid, numbers};
use contract::{
    Action, Answer, Cancel, Edge, FaultCode, Finding, Interest, Limits, Outcome, Property, Safety, StopReason, Successors, System, Trace,
    Verdict, ViolationKind,
};
use proptest::prelude::*;
use search::{Blocks, Spill, Task, breadth_first, depth_first, depth_first_shared};
use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use store::Plain;

/// Blocks in memory.
#[derive(Debug, Default)]
struct MemoryBlocks(HashMap<u64, Vec<u8>>);

impl Blocks for MemoryBlocks {
    fn write(&mut self, number: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.insert(number, bytes.to_vec());
        Ok(())
    }

    fn read(&mut self, number: u64, out: &mut Vec<u8>) -> io::Result<()> {
        out.extend_from_slice(self.0.get(&number).ok_or(io::ErrorKind::NotFound)?);
        Ok(())
    }
}

/// Every search order, by name.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    /// Breadth-first with this many workers.
    Breadth(usize),
    Depth,
    /// Depth-first with most of the stack on external storage.
    DepthSpilling,
    /// Shared depth-first with this many workers.
    Shared(usize),
}

const ORDERS: [Order; 6] = [Order::Breadth(1), Order::Breadth(3), Order::Depth, Order::DepthSpilling, Order::Shared(1), Order::Shared(3)];

impl Order {
    fn is_breadth_first(self) -> bool {
        matches!(self, Order::Breadth(_))
    }

    fn run<S: System + Clone>(self, system: &S, store: &Plain, task: &Task<'_>) -> Outcome {
        match self {
            Order::Breadth(threads) => breadth_first(system, store, &Task { threads, ..task.clone() }),
            Order::Depth => depth_first(system, store, task),
            Order::DepthSpilling => {
                let blocks = Mutex::new(MemoryBlocks::default());
                depth_first(system, store, &Task { spill: Some(Spill { blocks: &blocks, keep: 0 }), ..task.clone() })
            }
            Order::Shared(threads) => depth_first_shared(system, store, &Task { threads, ..task.clone() }),
        }
    }
}

fn run<S: System + Clone>(order: Order, system: &S, task: &Task<'_>) -> Outcome {
    let outcome = order.run(system, &Plain::new(), task);
    assert!(outcome.statistics.store_bytes > 0 || outcome.statistics.states == 0);
    outcome
}

/// Executes the trace again: every step must be one that the system offers.
fn replay<S: System + Clone>(system: &S, trace: &Trace) {
    let mut system = system.clone();
    let mut out = Successors::new();
    system.initial(&mut out);
    assert!(out.iter().any(|(_, state)| state == Some(&trace.initial[..])), "the trace begins in an initial state");
    let mut current = trace.initial.clone();
    for (index, step) in trace.steps.iter().enumerate() {
        out.clear();
        system.successors(&current, &mut out);
        let offered = out.iter().any(|(entry, state)| entry.action == step.action && state == step.state.as_deref());
        assert!(offered, "step {index} is not offered");
        match &step.state {
            Some(state) => current.clone_from(state),
            None => assert_eq!(index + 1, trace.steps.len()),
        }
    }
    assert_eq!(trace.to_string().parse::<Trace>().as_ref(), Ok(trace));
}

fn check_graph(graph: &Graph) {
    let facts = graph.facts();
    for order in ORDERS {
        let all = run(order, graph, &Task::default());
        assert_eq!(all.verdict, Verdict::Holds);
        assert_eq!((all.statistics.states, all.statistics.transitions), (facts.states, facts.transitions), "{order:?} of {graph:?}");
        if order.is_breadth_first() {
            assert_eq!(all.statistics.depth, facts.depth);
        } else {
            assert!(all.statistics.depth >= facts.depth);
        }
        assert_eq!(all.statistics.expanded_by_worker.iter().sum::<u64>(), facts.states);

        let safety = run(order, graph, &Task::new(&Safety::default()));
        match (&safety.verdict, facts.shortest_violation) {
            (Verdict::Holds, None) => assert_eq!(safety.statistics.states, facts.states),
            (Verdict::Violated(violation), Some(shortest)) => {
                replay(graph, &violation.trace);
                let length = violation.trace.steps.len() as u64;
                if order.is_breadth_first() {
                    assert_eq!(length, shortest, "{graph:?}");
                } else {
                    assert!(length >= shortest);
                }
                if violation.fault.kind == ViolationKind::Deadlock {
                    let last = Graph::decode(violation.trace.last_state());
                    assert!(graph.edges[last].is_empty() && !graph.ends.contains(&last));
                }
            }
            (verdict, expected) => panic!("{order:?} says {verdict:?}, expected {expected:?}: {graph:?}"),
        }
    }
}

#[test]
fn diamond() {
    let mut graph = Graph::new(vec![vec![1, 2], vec![3], vec![3], vec![]]);
    check_graph(&graph);
    graph.ends.insert(3);
    check_graph(&graph);
}

#[test]
fn cycle_and_self_loop() {
    check_graph(&Graph::new(vec![vec![1], vec![2], vec![0, 2]]));
    check_graph(&Graph::new(vec![vec![0]]));
}

#[test]
fn several_initial_states_some_equal() {
    let mut graph = Graph::new(vec![vec![2], vec![2], vec![2], vec![]]);
    graph.initial = vec![0, 1, 0];
    check_graph(&graph);
    graph.initial = vec![0, 3, 1];
    check_graph(&graph);
    graph.initial = vec![];
    check_graph(&graph);
}

#[test]
fn a_deadlock_beside_a_fault_is_the_shorter_trace() {
    // Both lie at the same level. The trace of the step that fails is one longer, and it is found
    // first.
    let mut graph = Graph::new(vec![vec![1, 2], vec![0], vec![]]);
    graph.faults.insert((1, 0), FaultCode::new(4).unwrap());
    check_graph(&graph);
}

#[test]
fn faults_that_go_on_and_faults_that_end() {
    let mut graph = Graph::new(vec![vec![1], vec![2], vec![0]]);
    graph.faults.insert((1, 0), FaultCode::new(9).unwrap());
    check_graph(&graph);
    for order in ORDERS {
        let Verdict::Violated(violation) = run(order, &graph, &Task::new(&Safety::default())).verdict else { panic!("fault missed") };
        assert_eq!(violation.fault.message, "fault number 9");
        assert_eq!(violation.trace.steps.last().unwrap().action, Action::new(1, 0));
    }
    let mut graph = Graph::new(vec![vec![1], vec![]]);
    graph.fatal.insert(1, FaultCode::new(3).unwrap());
    check_graph(&graph);
    for order in ORDERS {
        let Verdict::Violated(violation) = run(order, &graph, &Task::new(&Safety::default())).verdict else { panic!("fault missed") };
        assert_eq!(violation.trace.steps.last().unwrap().state, None);
        // If faults are not checked, the state is not a deadlock either, because it has a step.
        let lenient = Safety { faults: false, ..Safety::default() };
        assert_eq!(run(order, &graph, &Task::new(&lenient)).verdict, Verdict::Holds);
    }
}

#[test]
fn wide() {
    let leaves = 5000;
    let mut graph = Graph::new(vec![(1..=leaves).collect()]);
    graph.edges.resize(leaves + 1, vec![]);
    graph.ends.extend(1..=leaves);
    check_graph(&graph);
    graph.ends.remove(&leaves);
    check_graph(&graph);
}

#[test]
fn random_graphs() {
    for seed in 0..200 {
        let mut graph = Graph::random(seed, 60, 3);
        check_graph(&graph);
        graph.ends.extend(0..60);
        check_graph(&graph);
    }
    check_graph(&Graph::random(7, 20_000, 4));
}

proptest! {
    #[test]
    fn any_graph(edges in prop::collection::vec(prop::collection::vec(0usize..12, 0..4), 12), ends in prop::collection::hash_set(0usize..12, 0..12),
                 fault in prop::option::of((0usize..12, 0usize..4)), fatal in prop::option::of(0usize..12)) {
        let mut graph = Graph::new(edges);
        graph.ends = ends;
        graph.faults.extend(fault.filter(|&(node, index)| index < graph.edges[node].len()).map(|at| (at, FaultCode::new(1).unwrap())));
        graph.fatal.extend(fatal.map(|node| (node, FaultCode::new(2).unwrap())));
        check_graph(&graph);
    }
}

#[test]
fn a_chain_of_a_million_states() {
    const LAST: u64 = 1_000_000;
    let chain = numbers(|n, next| {
        if n < LAST {
            next(n + 1)
        }
    });
    struct Never(u64);
    impl Property for Never {
        fn interest(&self) -> Interest {
            Interest { states: true, edges: false }
        }
        fn state(&self, state: &[u8]) -> Answer {
            if state == self.0.to_le_bytes() {
                Answer::Stop(Finding::Explained(contract::Fault::new(ViolationKind::Property, "reached")))
            } else {
                Answer::Continue
            }
        }
    }
    for order in ORDERS {
        let outcome = run(order, &chain, &Task::default());
        assert_eq!(outcome.verdict, Verdict::Holds);
        let statistics = outcome.statistics;
        assert_eq!((statistics.states, statistics.transitions, statistics.depth), (LAST + 1, LAST, LAST));
        let Verdict::Violated(violation) = run(order, &chain, &Task::new(&Never(LAST))).verdict else { panic!("end not reached") };
        assert_eq!(violation.trace.steps.len() as u64, LAST);
        let Verdict::Violated(violation) = run(order, &chain, &Task::new(&Never(0))).verdict else { panic!("start not seen") };
        assert_eq!((violation.trace.steps.len(), violation.trace.initial), (0, vec![0; 8]));
    }
}

#[test]
fn workers_share_the_work_and_agree_on_the_numbers() {
    const SIDE: u64 = 60;
    let expected = (SIDE.pow(3), 3 * (SIDE - 1) * SIDE * SIDE, 3 * (SIDE - 1));
    for order in [1, 2, 3, 8].into_iter().flat_map(|threads| [Order::Breadth(threads), Order::Shared(threads)]) {
        let outcome = run(order, &grid(SIDE), &Task::default());
        let s = outcome.statistics;
        assert_eq!((s.states, s.transitions, s.depth), expected, "{order:?}");
        assert_eq!(s.expanded_by_worker.iter().sum::<u64>(), SIDE.pow(3));
    }
}

#[test]
fn work_is_shared() {
    /// Slows the search down until a helper joins.
    struct Company {
        threads: Mutex<HashSet<std::thread::ThreadId>>,
        second: Condvar,
        /// The sums of coordinates at which there is work to share.
        sums: RangeInclusive<u64>,
    }
    impl Property for Company {
        fn interest(&self) -> Interest {
            Interest { states: true, edges: false }
        }
        fn state(&self, state: &[u8]) -> Answer {
            let n = u64::from_le_bytes(state.try_into().unwrap());
            if self.sums.contains(&(n % 60 + n / 60 % 60 + n / 3600)) {
                let mut threads = self.threads.lock().unwrap();
                threads.insert(std::thread::current().id());
                self.second.notify_all();
                let alone = |threads: &mut HashSet<_>| threads.len() < 2;
                let _ = self.second.wait_timeout_while(threads, Duration::from_millis(5), alone).unwrap();
            }
            Answer::Continue
        }
    }
    for (order, sums) in [(Order::Breadth(2), 80..=80), (Order::Shared(2), 60..=200)] {
        let company = Company { threads: Mutex::default(), second: Condvar::new(), sums };
        let outcome = run(order, &grid(60), &Task::new(&company));
        assert_eq!(outcome.verdict, Verdict::Holds);
        assert!(outcome.statistics.expanded_by_worker.iter().all(|&n| n > 0), "{order:?}: nobody helped");
    }
}

#[test]
fn several_workers_find_a_shortest_trace() {
    /// Forbids the states whose coordinates have this sum.
    struct Forbid(u64);
    impl Property for Forbid {
        fn interest(&self) -> Interest {
            Interest { states: true, edges: false }
        }
        fn state(&self, state: &[u8]) -> Answer {
            let n = u64::from_le_bytes(state.try_into().unwrap());
            if n % 40 + n / 40 % 40 + n / 1600 >= self.0 {
                return Answer::Stop(Finding::Explained(contract::Fault::new(ViolationKind::Property, "forbidden")));
            }
            Answer::Continue
        }
    }
    for threads in [1, 2, 4] {
        let outcome = run(Order::Breadth(threads), &grid(40), &Task::new(&Forbid(70)));
        let Verdict::Violated(violation) = outcome.verdict else { panic!("{threads} workers missed it") };
        assert_eq!(violation.trace.steps.len(), 70);
        replay(&grid(40), &violation.trace);
    }
}

#[test]
fn a_stack_that_spills_needs_little_memory() {
    let chain = numbers(|n, next| {
        if n < 300_000 {
            next(n + 1)
        }
    });
    let kept = run(Order::Depth, &chain, &Task::default()).statistics.search_bytes;
    let spilled = run(Order::DepthSpilling, &chain, &Task::default()).statistics.search_bytes;
    assert!(kept > 300_000 * 20 && spilled < 2 << 20, "{kept} {spilled}");
}

#[test]
fn a_full_disk_is_told_and_the_stack_stays_in_memory() {
    struct Full;
    impl Blocks for Full {
        fn write(&mut self, _: u64, _: &[u8]) -> std::io::Result<()> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn read(&mut self, _: u64, _: &mut Vec<u8>) -> std::io::Result<()> {
            Err(std::io::ErrorKind::NotFound.into())
        }
    }
    #[derive(Default)]
    struct Notices(Mutex<Vec<String>>);
    impl contract::Observer for Notices {
        fn notice(&self, text: &str) {
            self.0.lock().unwrap().push(text.to_owned());
        }
    }
    let chain = numbers(|n, next| {
        if n < 200_000 {
            next(n + 1)
        }
    });
    let (blocks, notices) = (Mutex::new(Full), Notices::default());
    let task = Task { spill: Some(Spill { blocks: &blocks, keep: 0 }), observer: &notices, ..Task::default() };
    let outcome = depth_first(&chain, &Plain::new(), &task);
    assert_eq!((outcome.verdict, outcome.statistics.states), (Verdict::Holds, 200_001));
    let notices = notices.0.into_inner().unwrap();
    assert!(matches!(&notices[..], [one] if one.contains("the stack stays in memory")), "{notices:?}");
}

#[test]
fn a_disk_that_does_not_give_back_gives_unknown() {
    struct Forgetful;
    impl Blocks for Forgetful {
        fn write(&mut self, _: u64, _: &[u8]) -> std::io::Result<()> {
            Ok(())
        }
        fn read(&mut self, _: u64, _: &mut Vec<u8>) -> std::io::Result<()> {
            Err(std::io::ErrorKind::NotFound.into())
        }
    }
    let chain = numbers(|n, next| {
        if n < 200_000 {
            next(n + 1)
        }
    });
    let blocks = Mutex::new(Forgetful);
    let task = Task { spill: Some(Spill { blocks: &blocks, keep: 0 }), ..Task::default() };
    let outcome = depth_first(&chain, &Plain::new(), &task);
    assert!(matches!(unknown(&outcome), StopReason::Storage(_)));
    assert_eq!(outcome.statistics.states, 200_001, "what was found is told");
}

/// An infinite system: every number has two greater successors.
fn endless() -> impl System + Clone {
    numbers(|n, next| {
        next(n + 1);
        next(n.wrapping_mul(3) + 1)
    })
}

fn unknown(outcome: &Outcome) -> &StopReason {
    match &outcome.verdict {
        Verdict::Unknown(reason) => reason,
        verdict => panic!("expected unknown, got {verdict:?}"),
    }
}

#[test]
fn the_depth_limit_gives_unknown() {
    let limits = Limits { depth: Some(10), ..Limits::default() };
    for order in ORDERS {
        let outcome = run(order, &endless(), &Task { limits, ..Task::default() });
        assert_eq!(unknown(&outcome), &StopReason::Depth);
        assert_eq!(outcome.statistics.depth, 10);
        // A limit does not affect a model that ends before it.
        let short = Graph::new(vec![vec![1], vec![0]]);
        assert_eq!(run(order, &short, &Task { limits, ..Task::default() }).verdict, Verdict::Holds);
    }
}

#[test]
fn the_time_limit_gives_unknown() {
    let limits = Limits { time: Some(Duration::from_millis(30)), ..Limits::default() };
    for order in ORDERS {
        let start = Instant::now();
        let outcome = run(order, &endless(), &Task { limits, ..Task::default() });
        assert_eq!(unknown(&outcome), &StopReason::Time);
        assert!(outcome.statistics.states > 100);
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn the_memory_limit_gives_unknown() {
    const LIMIT: u64 = 3 << 20;
    let limits = Limits { memory: Some(LIMIT), ..Limits::default() };
    for order in ORDERS {
        // The search keeps the limit.
        let outcome = run(order, &endless(), &Task { limits, ..Task::default() });
        assert_eq!(unknown(&outcome), &StopReason::Memory);
        assert!(outcome.statistics.states > 1000);
        // The store keeps the limit.
        let store = Plain::with_budget(LIMIT);
        let outcome = order.run(&endless(), &store, &Task::default());
        assert_eq!(unknown(&outcome), &StopReason::Memory);
        assert!(outcome.statistics.store_bytes <= LIMIT);
    }
}

#[test]
fn cancelling_gives_unknown() {
    for order in ORDERS {
        let cancel = Cancel::default();
        let outcome = std::thread::scope(|scope| {
            let handle = {
                let cancel = cancel.clone();
                scope.spawn(move || run(order, &endless(), &Task { cancel, ..Task::default() }))
            };
            std::thread::sleep(Duration::from_millis(20));
            cancel.cancel();
            handle.join().unwrap()
        });
        assert_eq!(unknown(&outcome), &StopReason::Interrupted);
    }
}

#[test]
fn properties_hear_of_every_edge_and_may_prune() {
    #[derive(Default)]
    struct Listener {
        edges: AtomicU64,
        new: AtomicU64,
        states: AtomicU64,
    }
    impl Property for Listener {
        fn interest(&self) -> Interest {
            Interest { states: true, edges: true }
        }
        fn state(&self, state: &[u8]) -> Answer {
            self.states.fetch_add(1, Ordering::Relaxed);
            if Graph::decode(state) == 2 { Answer::Prune } else { Answer::Continue }
        }
        fn edge(&self, edge: &Edge<'_>) -> Answer {
            let graph = Graph::new(vec![vec![1, 2], vec![0, 1], vec![3], vec![]]);
            let source = Graph::decode(edge.source);
            assert_eq!(edge.action.process as usize, source);
            assert_eq!(graph.edges[source][edge.action.choice as usize], Graph::decode(edge.target));
            assert_eq!(edge.source == edge.target, edge.source_id == edge.target_id);
            self.edges.fetch_add(1, Ordering::Relaxed);
            self.new.fetch_add(edge.new.into(), Ordering::Relaxed);
            Answer::Continue
        }
    }
    for order in ORDERS {
        let listener = Listener::default();
        let graph = Graph::new(vec![vec![1, 2], vec![0, 1], vec![3], vec![]]);
        let outcome = run(order, &graph, &Task::new(&listener));
        assert_eq!(outcome.statistics.states, 3, "node 3 lies behind the pruned node 2");
        assert_eq!(listener.edges.into_inner(), 4);
        assert_eq!(listener.new.into_inner(), 2);
        assert_eq!(listener.states.into_inner(), 3);
    }
}

/// A grid in which most states make the thread that begins the search, or all other threads, panic.
/// Other threads may come late, so the first thread then slows down.
fn trap(for_the_beginner: bool, sprung: Arc<AtomicBool>) -> impl System + Clone {
    let beginner = std::thread::current().id();
    numbers(move |n, next| {
        for factor in [1, 30, 900] {
            if n / factor % 30 + 1 < 30 {
                next(n + factor);
            }
        }
        if n > 9000 {
            if for_the_beginner == (std::thread::current().id() == beginner) {
                sprung.store(true, Ordering::Relaxed);
                std::panic::resume_unwind(Box::new("a trap"));
            }
            if !sprung.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_micros(100));
            }
        }
    })
}

#[test]
fn a_worker_that_panics_leaves_nobody_waiting() {
    for order in [Order::Breadth(3), Order::Shared(3)] {
        let outcome = run(order, &trap(false, Arc::default()), &Task::default());
        assert_eq!(unknown(&outcome), &StopReason::Interrupted, "{order:?}");
        assert_eq!(outcome.statistics.expanded_by_worker.len(), 3);
        let trap = trap(true, Arc::default());
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(order, &trap, &Task::default())));
        assert!(ended.is_err(), "{order:?}");
    }
}
