//! The sweep-line search on toy graphs: it visits exactly the reachable states, whatever the
//! measure; verdicts are those of a breadth-first search; every trace can be executed.

use contract::testing::{Graph, LayerSets as Toy, Random, grid};
use contract::{
    Answer, FaultCode, Interest, Layered, Limits, NoProperty, Observer, Outcome, Progress, Property, Safety, StopReason, Successors,
    System, Trace, Verdict,
};
use runs::InMemory;
use search::{Blocks, Branching, Spill, Task, Unanswered, breadth_first, sweep, sweep_cycles, sweep_on_disk, terminal_components};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};
use store::{Compact, Layers, Plain};

/// Records the states that are reported to it.
#[derive(Default)]
struct Heard(Mutex<BTreeSet<Vec<u8>>>);

impl Property for Heard {
    fn interest(&self) -> Interest {
        Interest { states: true, edges: false }
    }

    fn state(&self, state: &[u8]) -> Answer {
        self.0.lock().expect("nobody panics").insert(state.to_vec());
        Answer::Continue
    }
}

/// Executes a trace.
fn walk<S: System>(system: &mut S, trace: &Trace) {
    let mut out = Successors::new();
    system.initial(&mut out);
    assert!(out.iter().any(|(_, state)| state == Some(&trace.initial)), "it begins somewhere");
    let mut at = trace.initial.clone();
    for step in &trace.steps {
        out.clear();
        system.successors(&at, &mut out);
        let found = out.iter().find(|(entry, _)| entry.action == step.action).expect("the step is there");
        assert_eq!(found.1, step.state.as_deref());
        at = step.state.clone().unwrap_or(at);
    }
}

/// Blocks in memory.
#[derive(Default)]
struct Kept(HashMap<u64, Vec<u8>>);

impl Blocks for Kept {
    fn write(&mut self, number: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.insert(number, bytes.to_vec());
        Ok(())
    }

    fn read(&mut self, number: u64, out: &mut Vec<u8>) -> io::Result<()> {
        out.extend_from_slice(self.0.get(&number).ok_or(io::ErrorKind::NotFound)?);
        Ok(())
    }
}

fn measured(seed: u64, nodes: usize, layers: u64) -> Graph {
    let mut random = Random(seed);
    let mut graph = Graph::random(seed, nodes, 3);
    graph.values = (0..2).map(|_| (0..nodes).map(|_| random.below(layers) as i64).collect()).collect();
    for node in 0..nodes {
        if random.below(40) == 0 {
            graph.fatal.insert(node, FaultCode::new(7).expect("a code"));
        }
        if random.below(3) > 0 {
            graph.ends.insert(node);
        }
    }
    graph
}

fn run<T: Layered>(graph: &Graph, mut store: T, measure: &[u32], property: &dyn Property, threads: usize) -> Outcome {
    sweep(graph, &mut store, measure, &Task { threads, ..Task::new(property) })
}

#[test]
fn all_reachable_states_are_visited_and_no_others() {
    let mut sweeps = BTreeSet::new();
    for seed in 0..1500 {
        let graph = measured(seed, 2 + (seed % 40) as usize, 1 + seed % 6);
        let expected = Heard::default();
        breadth_first(&graph, &Plain::new(), &Task::new(&expected));
        let expected = expected.0.into_inner().expect("nobody panics");
        for measure in [&[][..], &[0], &[1, 0]] {
            let heard = Heard::default();
            let outcome = match seed % 3 {
                0 => run(&graph, Layers::new(Plain::new), measure, &heard, 1),
                1 => run(&graph, Layers::new(|| Compact::with_budget(1 << 22)), measure, &heard, 1),
                _ => run(&graph, Toy::default(), measure, &heard, 1),
            };
            assert_eq!(outcome.verdict, Verdict::Holds);
            assert_eq!(heard.0.into_inner().expect("nobody panics"), expected, "seed {seed}, {measure:?}");
            let told = outcome.statistics.sweep.expect("it was a sweep");
            sweeps.insert(told.sweeps);
            // A persistent state may be stored twice if its layer shares a store.
            assert!(told.peak_states <= expected.len() as u64 + told.persistent_states && told.expanded_states >= expected.len() as u64);
            if told.regress_steps == 0 {
                assert_eq!((told.sweeps, told.persistent_states), (1, 0));
                assert_eq!((outcome.statistics.states, told.expanded_states), (expected.len() as u64, expected.len() as u64));
            } else {
                assert!(told.persistent_states <= told.regress_steps);
            }
        }
    }
    assert!(sweeps.len() > 3, "{sweeps:?}");
}

#[test]
fn verdicts_are_those_of_breadth_first_search() {
    let mut violated = 0;
    for seed in 0..1500 {
        let graph = measured(seed ^ 0xabc, 2 + (seed % 40) as usize, 1 + seed % 6);
        let expected = breadth_first(&graph, &Plain::new(), &Task::new(&Safety::default())).verdict;
        let found = run(&graph, Layers::new(Plain::new), &[0, 1], &Safety::default(), 1).verdict;
        match (&expected, &found) {
            (Verdict::Holds, Verdict::Holds) => {}
            (Verdict::Violated(shortest), Verdict::Violated(violation)) => {
                violated += 1;
                walk(&mut graph.clone(), &violation.trace);
                assert!(violation.trace.steps.len() >= shortest.trace.steps.len());
            }
            other => panic!("seed {seed}: {other:?}"),
        }
    }
    assert!(violated > 300, "{violated}");
}

/// The standard example of the method: three layers, and a step back to the first state.
#[test]
fn a_step_back_costs_a_second_sweep() {
    let mut graph = Graph::new(vec![vec![1], vec![2, 3], vec![4], vec![4], vec![0]]);
    graph.values = vec![vec![0, 1, 1, 1, 2]];
    let told = run(&graph, Layers::new(Plain::new), &[0], &NoProperty, 1).statistics.sweep.expect("it was a sweep");
    assert_eq!((told.sweeps, told.persistent_states, told.layers), (2, 1, 3));
    // The persistent state is reached again in the second sweep, and known.
    assert_eq!((told.expanded_states, told.regress_steps), (10, 2));
}

#[test]
fn a_monotonic_measure_saves_most_of_the_memory() {
    let system = Sum(grid(40));
    let expected = breadth_first(&system, &Plain::new(), &Task::default()).statistics;
    for threads in [1, 3] {
        let mut store = Layers::new(Plain::new);
        let found = sweep(&system, &mut store, &[0], &Task { threads, ..Task::default() });
        assert_eq!(found.verdict, Verdict::Holds);
        let told = found.statistics.sweep.expect("it was a sweep");
        assert_eq!((found.statistics.states, found.statistics.transitions), (expected.states, expected.transitions));
        assert_eq!((told.layers, told.sweeps, told.regress_steps), (118, 1, 0));
        assert!(told.peak_states * 10 < expected.states, "{told:?}");
    }
}

/// Counters whose sum is the measure.
#[derive(Clone)]
struct Sum<S>(S);

impl<S: System> System for Sum<S> {
    fn initial(&mut self, out: &mut Successors) {
        self.0.initial(out);
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        self.0.successors(state, out);
    }

    fn is_valid_end(&mut self, state: &[u8]) -> bool {
        self.0.is_valid_end(state)
    }

    fn values(&mut self, state: &[u8], atoms: &[u32], out: &mut Vec<i64>) -> Result<(), FaultCode> {
        let n = i64::from_le_bytes(state.try_into().expect("8 bytes"));
        out.extend(atoms.iter().map(|&atom| if atom == 0 { n % 40 + n / 40 % 40 + n / 1600 } else { 0 }));
        if atoms == [9] { FaultCode::new(3).map_or(Ok(()), Err) } else { Ok(()) }
    }
}

/// A system in which, after some work, nobody goes on until a second thread works too.
#[derive(Clone)]
struct Meeting<S>(S, Arc<Mutex<Met>>);

#[derive(Default)]
struct Met {
    expanded: u64,
    threads: HashSet<ThreadId>,
    tired: bool,
}

impl<S: System> System for Meeting<S> {
    contract::forward_system!(0: initial, is_valid_end);

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let (begun, mut first) = (Instant::now(), true);
        loop {
            let mut met = self.1.lock().expect("nobody panics");
            met.expanded += u64::from(std::mem::take(&mut first));
            met.threads.insert(std::thread::current().id());
            met.tired |= begun.elapsed() > Duration::from_secs(30);
            if met.expanded < 10_000 || met.threads.len() > 1 || met.tired {
                break;
            }
            drop(met);
            std::thread::sleep(Duration::from_millis(1));
        }
        self.0.successors(state, out);
    }
}

#[test]
fn several_workers_share_a_layer() {
    let expected = Heard::default();
    breadth_first(&grid(40), &Plain::new(), &Task::new(&expected));
    let expected = expected.0.into_inner().expect("nobody panics");
    // One layer of 64,000 states that begins with one state.
    for threads in [2, 4] {
        let (heard, met) = (Heard::default(), Arc::default());
        let system = Meeting(grid(40), Arc::clone(&met));
        let outcome = sweep(&system, &mut Layers::new(Plain::new), &[], &Task { threads, ..Task::new(&heard) });
        assert_eq!(outcome.statistics.states, 64_000);
        assert_eq!(heard.0.into_inner().expect("nobody panics"), expected);
        let by_worker = outcome.statistics.expanded_by_worker;
        assert_eq!((by_worker.len(), by_worker.iter().sum::<u64>()), (threads, 64_000));
        assert!(by_worker.iter().filter(|&&expanded| expanded > 0).count() > 1, "{by_worker:?}");
    }
    // Many layers, some of which are shared.
    let heard = Heard::default();
    let outcome = sweep(&Sum(grid(40)), &mut Layers::new(Plain::new), &[0], &Task { threads: 4, ..Task::new(&heard) });
    assert_eq!(outcome.statistics.states, 64_000);
    assert_eq!(heard.0.into_inner().expect("nobody panics"), expected);
}

/// A violation, a limit and a request to stop end all workers of a shared layer.
#[test]
fn a_shared_layer_ends_early() {
    for threads in [2, 4] {
        let system = Meeting(grid(40), Arc::default());
        let task = Task { threads, states: Some(30_000), ..Task::default() };
        let outcome = sweep(&system, &mut Layers::new(Plain::new), &[], &task);
        assert_eq!(outcome.verdict, Verdict::Unknown(StopReason::States));
        let safety = Safety { deadlocks: true, faults: true };
        let outcome = sweep(&Stuck(grid(40)), &mut Layers::new(Plain::new), &[], &Task { threads, ..Task::new(&safety) });
        assert!(matches!(outcome.verdict, Verdict::Violated(_)), "{:?}", outcome.verdict);
    }
}

/// A system whose end is not valid.
#[derive(Clone)]
struct Stuck<S>(S);

impl<S: System> System for Stuck<S> {
    contract::forward_system!(0: initial);

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        self.0.successors(state, out);
    }

    fn is_valid_end(&mut self, _: &[u8]) -> bool {
        false
    }
}

/// Counts the reports of progress, and remembers the most memory that was reported.
#[derive(Default)]
struct Reports(Mutex<(u64, u64)>);

impl Observer for Reports {
    fn progress(&self, progress: &Progress) {
        let (count, bytes) = &mut *self.0.lock().expect("nobody panics");
        (*count, *bytes) = (*count + 1, progress.bytes.max(*bytes));
    }
}

/// The numbers in the opposite order, so that every step is a regress step.
#[derive(Clone)]
struct Falling<S>(S, Duration);

impl<S: System> System for Falling<S> {
    contract::forward_system!(0: initial, is_valid_end);

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        std::thread::sleep(self.1);
        self.0.successors(state, out);
    }

    fn values(&mut self, state: &[u8], atoms: &[u32], out: &mut Vec<i64>) -> Result<(), FaultCode> {
        let n = i64::from_le_bytes(state.try_into().expect("8 bytes"));
        out.extend(atoms.iter().map(|_| -n));
        Ok(())
    }
}

#[test]
fn the_memory_of_sweeps_for_cycles_is_counted() {
    let accepting = |state: &[u8]| state[0] == 1;
    let system = Falling(grid(12), Duration::ZERO);
    let whole = sweep_cycles(&system, &accepting, &[0], &Task::default());
    assert_eq!((whole.verdict, whole.statistics.sweep.expect("a sweep").persistent_states), (Verdict::Holds, 1727));
    // All states are persistent: each is there twice, and once more in the second phase.
    let peak = whole.statistics.search_bytes;
    assert!(peak > 3 * 1727 * 100, "{peak}");
    for share in [4, 10] {
        let limits = Limits { memory: Some(peak / 11 * share), ..Limits::default() };
        let verdict = sweep_cycles(&system, &accepting, &[0], &Task { limits, ..Task::default() }).verdict;
        assert_eq!(verdict, Verdict::Unknown(StopReason::Memory), "{share}");
    }
    // The memory of the process counts too, if it is measured.
    let resident = || Some(1 << 30);
    let limits = Limits { memory: Some(1 << 29), ..Limits::default() };
    let verdict = sweep_cycles(&system, &accepting, &[0], &Task { limits, resident: Some(&resident), ..Task::default() }).verdict;
    assert_eq!(verdict, Verdict::Unknown(StopReason::Memory));

    // Without a measure all states are one layer, with the steps that are still to be followed.
    let whole = terminal_components(&grid(12), Branching::PossiblyAlways, &[], &Task::default());
    let peak = whole.statistics.search_bytes;
    assert!(whole.holds == Ok(false) && peak > 2 * 1728 * 100, "{:?}, {peak}", whole.holds);
    let limits = Limits { memory: Some(peak / 2), ..Limits::default() };
    let halved = terminal_components(&grid(12), Branching::PossiblyAlways, &[], &Task { limits, ..Task::default() });
    assert_eq!(halved.holds, Err(Unanswered::Stopped(StopReason::Memory)));

    let reports = Reports::default();
    let slow = Falling(grid(8), Duration::from_micros(500));
    sweep_cycles(&slow, &accepting, &[0], &Task { observer: &reports, ..Task::default() });
    let (count, bytes) = reports.0.into_inner().expect("nobody panics");
    assert!(count > 0 && bytes > 0, "{count}, {bytes}");
}

#[test]
fn traces_come_from_outside_memory() {
    let blocks = Mutex::new(Kept::default());
    // The last corner of the grid is not a valid end.
    #[derive(Clone)]
    struct Corner<S>(S);
    impl<S: System> System for Corner<S> {
        fn initial(&mut self, out: &mut Successors) {
            self.0.initial(out);
        }
        fn successors(&mut self, state: &[u8], out: &mut Successors) {
            self.0.successors(state, out);
        }
        fn is_valid_end(&mut self, _: &[u8]) -> bool {
            false
        }
        fn values(&mut self, state: &[u8], atoms: &[u32], out: &mut Vec<i64>) -> Result<(), FaultCode> {
            self.0.values(state, atoms, out)
        }
    }
    for threads in [1, 2] {
        let system = Corner(Sum(grid(40)));
        let spill = Spill { blocks: &blocks, keep: 0 };
        let task = Task { spill: Some(spill), threads, ..Task::new(&Safety { deadlocks: true, faults: true }) };
        let Verdict::Violated(violation) = sweep(&system, &mut Layers::new(Plain::new), &[0], &task).verdict else { panic!("a deadlock") };
        assert_eq!(violation.trace.steps.len(), 117);
        walk(&mut system.clone(), &violation.trace);
        assert!(!blocks.lock().expect("nobody panics").0.is_empty());
    }
}

#[test]
fn limits_and_measures_without_value_end_the_search() {
    let system = Sum(grid(40));
    let task = Task { limits: Limits { depth: Some(5), ..Limits::default() }, ..Task::default() };
    let verdict = sweep(&system, &mut Layers::new(Plain::new), &[0], &task).verdict;
    assert_eq!(verdict, Verdict::Unknown(StopReason::Depth));
    let task = Task { states: Some(1000), ..Task::default() };
    assert_eq!(sweep(&system, &mut Layers::new(Plain::new), &[0], &task).verdict, Verdict::Unknown(StopReason::States));
    let verdict = sweep(&system, &mut Layers::new(Plain::new), &[9], &Task::default()).verdict;
    assert!(matches!(verdict, Verdict::Unknown(StopReason::Measure(_))), "{verdict:?}");
}

/// Runs a sweep on disk with so little memory that most states are written to runs.
fn run_on_disk<S: System + Clone>(system: &S, measure: &[u32], memory: u64, task: &Task<'_>) -> Outcome {
    let folder = InMemory::default();
    let limits = Limits { memory: Some(memory), ..task.limits };
    let outcome = sweep_on_disk(system, measure, &Task { limits, disk: Some(&folder), ..task.clone() });
    assert_eq!(runs::Folder::files(&folder).expect("a folder"), [0; 0], "nothing is left");
    outcome
}

#[test]
fn a_sweep_on_disk_is_the_sweep_in_memory() {
    let (mut sweeps, mut on_disk) = (BTreeSet::new(), 0);
    for seed in 0..160 {
        let nodes = 200 + (seed * 61 % 2500) as usize;
        let graph = Graph { fatal: Default::default(), ..measured(seed ^ 0x515, nodes, 1 + seed % 30) };
        for measure in [&[][..], &[0], &[1, 0]] {
            let (heard, expected) = (Heard::default(), Heard::default());
            let told = run(&graph, Layers::new(Plain::new), measure, &expected, 1).statistics;
            let outcome = run_on_disk(&graph, measure, [1 << 14, 1 << 26][seed as usize % 2], &Task::new(&heard));
            let found = outcome.statistics;
            assert_eq!(outcome.verdict, Verdict::Holds);
            assert_eq!(heard.0.into_inner().expect("nobody panics"), expected.0.into_inner().expect("nobody panics"), "seed {seed}");
            assert_eq!((found.states, found.transitions), (told.states, told.transitions), "seed {seed}, {measure:?}");
            let (found_sweep, told_sweep) = (found.sweep.expect("a sweep"), told.sweep.expect("a sweep"));
            let parts =
                |sweep: contract::Sweep| (sweep.layers, sweep.sweeps, sweep.persistent_states, sweep.expanded_states, sweep.regress_steps);
            assert_eq!(parts(found_sweep), parts(told_sweep), "seed {seed}, {measure:?}");
            sweeps.insert(found_sweep.sweeps);
            on_disk += u32::from(found.disk.is_some());
        }
    }
    assert!(sweeps.len() > 3 && on_disk > 100, "{sweeps:?}, {on_disk}");
}

#[test]
fn verdicts_and_traces_of_sweeps_on_disk() {
    let (mut violated, mut on_disk) = (0, 0);
    for seed in 0..300 {
        let mut graph = measured(seed ^ 0xd15c, 100 + (seed * 37 % 1500) as usize, 1 + seed % 20);
        if seed % 3 > 0 {
            // Most of these graphs have one fault only, which may be found late, or none.
            let last = graph.fatal.iter().max_by_key(|(node, _)| **node).map(|(&node, &code)| (node, code));
            graph.fatal = last.into_iter().collect();
            graph.ends = (0..1600).collect();
        }
        let expected = breadth_first(&graph, &Plain::new(), &Task::new(&Safety::default())).verdict;
        let blocks = Mutex::new(Kept::default());
        let spill = (seed % 2 == 0).then_some(Spill { blocks: &blocks, keep: 0 });
        let found = run_on_disk(&graph, &[0, 1], 1 << 14, &Task { spill, ..Task::new(&Safety::default()) });
        on_disk += u32::from(found.statistics.disk.is_some());
        match (&expected, &found.verdict) {
            (Verdict::Holds, Verdict::Holds) => {}
            (Verdict::Violated(shortest), Verdict::Violated(violation)) => {
                violated += 1;
                walk(&mut graph.clone(), &violation.trace);
                assert!(violation.trace.steps.len() >= shortest.trace.steps.len());
            }
            other => panic!("seed {seed}: {other:?}"),
        }
    }
    assert!(violated > 60 && on_disk > 60, "{violated}, {on_disk}");
}

#[test]
fn a_large_layer_is_searched_on_disk() {
    let system = Sum(grid(40));
    let expected = breadth_first(&system, &Plain::new(), &Task::default()).statistics;
    for (measure, layers, sweeps) in [(&[][..], 1, 1), (&[0], 118, 1)] {
        for memory in [1 << 14, 1 << 20, 1 << 30] {
            let found = run_on_disk(&system, measure, memory, &Task::default());
            let told = found.statistics.sweep.expect("it was a sweep");
            assert_eq!(found.verdict, Verdict::Holds);
            assert_eq!((found.statistics.states, found.statistics.transitions), (expected.states, expected.transitions));
            assert_eq!((told.layers, told.sweeps, told.regress_steps), (layers, sweeps, 0));
            assert_eq!(found.statistics.disk.is_some(), memory < 1 << 30);
        }
    }
    let full = InMemory::with_room(10_000);
    let limits = Limits { memory: Some(1 << 14), ..Limits::default() };
    let task = Task { limits, disk: Some(&full), ..Task::default() };
    let verdict = sweep_on_disk(&system, &[], &task).verdict;
    assert!(matches!(verdict, Verdict::Unknown(StopReason::Storage(_))), "{verdict:?}");
    let shallow = Limits { depth: Some(5), ..Limits::default() };
    let verdict = run_on_disk(&system, &[0], 1 << 14, &Task { limits: shallow, ..Task::default() }).verdict;
    assert_eq!(verdict, Verdict::Unknown(StopReason::Depth));
    let verdict = run_on_disk(&system, &[0], 1 << 14, &Task { states: Some(1000), ..Task::default() }).verdict;
    assert_eq!(verdict, Verdict::Unknown(StopReason::States));
    let verdict = run_on_disk(&system, &[9], 1 << 14, &Task::default()).verdict;
    assert!(matches!(verdict, Verdict::Unknown(StopReason::Measure(_))), "{verdict:?}");
}
