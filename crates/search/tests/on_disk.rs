//! Tests that a search on disk finds exactly what a search in memory finds, whatever the memory,
//! the number of workers, and the moment at which it was interrupted, and that it reports a failing
//! disk.

use contract::testing::{Graph, Random, grid};
use contract::{Cancel, Limits, Outcome, Safety, Statistics, StopReason, Successors, System, Trace, Verdict};
use runs::{FileReader, FileWriter, Folder, InMemory};
use search::{CheckpointError, Checkpoints, Task, breadth_first, on_disk, resume_on_disk, then_on_disk};
use std::cell::Cell;
use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use store::{Compact, Plain};

const LABEL: &[u8] = b"model and property";

/// Keeps a copy of the disk with each checkpoint.
struct Every<'f> {
    period: u64,
    asked: AtomicU64,
    folder: &'f InMemory,
    saved: Mutex<Vec<(Vec<u8>, InMemory)>>,
}

impl Checkpoints for Every<'_> {
    fn due(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) % self.period == self.period - 1
    }

    fn save(&self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut bytes = Vec::new();
        write(&mut bytes)?;
        self.saved.lock().unwrap().push((bytes, self.folder.copy()));
        Ok(())
    }
}

fn numbers(statistics: &Statistics) -> (u64, u64, u64, u64) {
    (statistics.states, statistics.transitions, statistics.depth, statistics.expanded_by_worker.iter().sum())
}

/// Executes a trace again.
fn replay<S: System + Clone>(system: &S, trace: &Trace) {
    let mut system = system.clone();
    let mut out = Successors::new();
    system.initial(&mut out);
    assert!(out.iter().any(|(_, state)| state == Some(&trace.initial[..])), "the trace begins in an initial state");
    let mut current = trace.initial.clone();
    for step in &trace.steps {
        out.clear();
        system.successors(&current, &mut out);
        let entry = out.entries().iter().find(|entry| entry.action == step.action).expect("the step is one of the state");
        assert_eq!(out.state(entry), step.state.as_deref());
        current = step.state.clone().unwrap_or_default();
    }
}

fn same<S: System + Clone>(system: &S, found: &Outcome, expected: &Outcome) {
    match (&found.verdict, &expected.verdict) {
        (Verdict::Violated(found), Verdict::Violated(expected)) => {
            assert_eq!(found.trace.steps.len(), expected.trace.steps.len(), "both are shortest");
            assert_eq!(found.fault.kind, expected.fault.kind);
            replay(system, &found.trace);
        }
        (found, expected) => assert_eq!(found, expected),
    }
    if expected.verdict == Verdict::Holds {
        assert_eq!(numbers(&found.statistics), numbers(&expected.statistics));
    }
}

/// Graphs with long and with short levels, with faults and without.
fn graphs(count: u64) -> impl Iterator<Item = Graph> {
    (0..count).map(|seed| {
        let mut random = Random(seed * 977 + 5);
        let nodes = 50 + random.below(3000) as usize;
        let near = random.below(2) == 0;
        let edges = (0..nodes).map(|node| {
            let degree = 1 + random.below(4);
            (0..degree)
                .map(|_| if near { (node + random.below(20) as usize) % nodes } else { random.below(nodes as u64) as usize })
                .collect()
        });
        let mut graph = Graph::new(edges.collect());
        graph.initial = (0..1 + random.below(3)).map(|_| random.below(nodes as u64) as usize).collect();
        for _ in 0..random.below(3) {
            let node = random.below(nodes as u64) as usize;
            match random.below(3) {
                0 => graph.edges[node].clear(),
                1 => drop(graph.fatal.insert(node, contract::FaultCode::new(7).unwrap())),
                _ => drop(graph.faults.insert((node, 0), contract::FaultCode::new(9).unwrap())),
            }
        }
        graph
    })
}

fn limits(memory: u64) -> Limits {
    Limits { memory: Some(memory), ..Limits::default() }
}

#[test]
fn it_finds_what_a_search_in_memory_finds() {
    let property = Safety::default();
    for graph in graphs(60) {
        let expected = breadth_first(&graph, &Plain::new(), &Task::new(&property));
        let facts = graph.facts();
        for (threads, memory) in [(1, 0), (1, 1 << 20), (3, 1 << 17)] {
            let folder = InMemory::default();
            let task = Task { disk: Some(&folder), threads, limits: limits(memory), ..Task::new(&property) };
            let outcome = on_disk(&graph, &task);
            same(&graph, &outcome, &expected);
            if outcome.verdict == Verdict::Holds {
                let found = (outcome.statistics.states, outcome.statistics.transitions, outcome.statistics.depth);
                assert_eq!(found, (facts.states, facts.transitions, facts.depth));
            }
            assert_eq!(folder.files().unwrap(), [0; 0], "nothing is left behind");
        }
    }
}

#[test]
fn it_works_far_beyond_its_memory() {
    let system = grid(40);
    let expected = breadth_first(&system, &Plain::new(), &Task::default());
    for threads in [1, 2] {
        let folder = InMemory::default();
        let task = Task { disk: Some(&folder), threads, limits: limits(100_000), ..Task::default() };
        let outcome = on_disk(&system, &task);
        same(&system, &outcome, &expected);
        let disk = outcome.statistics.disk.unwrap();
        assert!(disk.bytes > 0 && disk.written > 0);
    }
}

/// What a search takes follows from the number of states, and not from the memory that it may use.
#[test]
fn a_large_budget_is_not_used_up() {
    let system = grid(40);
    let expected = breadth_first(&system, &Plain::new(), &Task::default());
    let folder = InMemory::default();
    let outcome = on_disk(&system, &Task { disk: Some(&folder), limits: limits(1 << 42), ..Task::default() });
    same(&system, &outcome, &expected);
    let statistics = &outcome.statistics;
    assert!(statistics.store_peak_bytes < 400 * statistics.states + (1 << 20), "{statistics:?}");
}

/// A folder that knows the threads that create and read files.
struct Counting(InMemory, Threads);

type Threads = Arc<Mutex<HashSet<ThreadId>>>;

struct CountingReader(Box<dyn FileReader>, Threads);

impl FileReader for CountingReader {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.1.lock().unwrap().insert(std::thread::current().id());
        self.0.read_at(offset, out)
    }
}

impl Folder for Counting {
    fn create(&self, number: u64) -> io::Result<Box<dyn FileWriter>> {
        self.1.lock().unwrap().insert(std::thread::current().id());
        self.0.create(number)
    }

    fn open(&self, number: u64) -> io::Result<Box<dyn FileReader>> {
        Ok(Box::new(CountingReader(self.0.open(number)?, Arc::clone(&self.1))))
    }

    fn remove(&self, number: u64) -> io::Result<()> {
        self.0.remove(number)
    }

    fn sync(&self, number: u64) -> io::Result<()> {
        self.0.sync(number)
    }

    fn files(&self) -> io::Result<Vec<u64>> {
        self.0.files()
    }

    fn written(&self) -> u64 {
        self.0.written()
    }

    fn occupied(&self) -> u64 {
        self.0.occupied()
    }
}

/// With memory for further threads, runs are merged while the search goes on, and large levels are
/// looked up by several threads. The states are many and incompressible, so that they are in files.
#[test]
fn threads_merge_and_look_up_aside() {
    const WIDTH: u64 = 70_000;
    const LEVELS: u64 = 12;
    let scatter = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let back = 0xf1de_83e1_9937_733d_u64;
    assert_eq!(scatter(back), 1);
    thread_local!(static IS_KNOWN: Cell<bool> = const { Cell::new(false) });
    let workers = Arc::new(Mutex::new(HashSet::new()));
    let known = Arc::clone(&workers);
    let system = contract::testing::numbers(move |n, next| {
        if !IS_KNOWN.replace(true) {
            known.lock().unwrap().insert(std::thread::current().id());
        }
        let n = n.wrapping_mul(back);
        let (level, at) = (n / WIDTH, n % WIDTH);
        if n == 0 {
            (0..WIDTH).for_each(|at| next(scatter(WIDTH + at)));
        } else if level < LEVELS {
            [at * 7 + 3, at * 11 + 5].into_iter().for_each(|to| next(scatter((level + 1) * WIDTH + to % WIDTH)));
        }
    });
    let expected = breadth_first(&system, &Plain::new(), &Task::default());
    assert!(expected.statistics.states > WIDTH * 6, "{:?}", expected.statistics);
    // The first budget is enough for one further thread, which merges; the second for several,
    // which look up, too.
    for (memory, threads, least) in [(13 << 20, 2, 1), (40 << 20, 3, 4)] {
        let folder = Counting(InMemory::default(), Threads::default());
        let task = Task { disk: Some(&folder), threads, limits: limits(memory), ..Task::default() };
        same(&system, &on_disk(&system, &task), &expected);
        let aside = folder.1.lock().unwrap().difference(&workers.lock().unwrap()).count();
        assert!(aside >= least, "{aside} threads with {memory} bytes");
        assert_eq!(folder.files().unwrap(), [0; 0]);
    }
}

/// A disk that takes its time, or during whose work the search is interrupted.
struct Slow(InMemory, Option<Cancel>);

struct SlowFile<F>(F);

fn wait() {
    std::thread::sleep(std::time::Duration::from_micros(200));
}

impl Folder for Slow {
    fn create(&self, number: u64) -> io::Result<Box<dyn FileWriter>> {
        match &self.1 {
            Some(cancel) => cancel.cancel(),
            None => wait(),
        }
        Ok(Box::new(SlowFile(self.0.create(number)?)))
    }

    fn open(&self, number: u64) -> io::Result<Box<dyn FileReader>> {
        wait();
        Ok(Box::new(SlowFile(self.0.open(number)?)))
    }

    fn remove(&self, number: u64) -> io::Result<()> {
        self.0.remove(number)
    }

    fn sync(&self, number: u64) -> io::Result<()> {
        wait();
        self.0.sync(number)
    }

    fn files(&self) -> io::Result<Vec<u64>> {
        self.0.files()
    }

    fn written(&self) -> u64 {
        self.0.written()
    }

    fn occupied(&self) -> u64 {
        self.0.occupied()
    }
}

impl FileWriter for SlowFile<Box<dyn FileWriter>> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        wait();
        self.0.append(bytes)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        wait();
        self.0.finish()
    }
}

impl FileReader for SlowFile<Box<dyn FileReader>> {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        wait();
        self.0.read_at(offset, out)
    }
}

/// On a slow disk merges are still under way when levels end; nothing depends on that, and a time
/// limit is kept.
#[test]
fn a_slow_disk_changes_nothing() {
    let system = grid(25);
    let expected = breadth_first(&system, &Plain::new(), &Task::default());
    for threads in [1, 3] {
        let folder = Slow(InMemory::default(), None);
        let task = Task { disk: Some(&folder), threads, limits: limits(50_000), ..Task::default() };
        same(&system, &on_disk(&system, &task), &expected);
        let time = std::time::Duration::from_millis(30);
        let task = Task { limits: Limits { time: Some(time), ..limits(50_000) }, ..task };
        let begun = std::time::Instant::now();
        assert_eq!(on_disk(&system, &task).verdict, Verdict::Unknown(StopReason::Time));
        assert!(begun.elapsed() < time + std::time::Duration::from_secs(5));
    }
}

/// A search in memory that runs out of memory continues on disk, with the same answer.
#[test]
fn memory_first_and_then_the_disk() {
    let property = Safety::default();
    let mut moved = 0;
    for (number, graph) in graphs(30).enumerate() {
        let expected = breadth_first(&graph, &Plain::new(), &Task::new(&property));
        for memory in [40_000, 150_000, 1 << 22] {
            let folder = InMemory::default();
            let task = Task { disk: Some(&folder), threads: 1 + number % 2, limits: limits(memory), ..Task::new(&property) };
            let first = |task: &Task<'_>| breadth_first(&graph, &Plain::with_budget(task.limits.memory.unwrap()), task);
            let outcome = then_on_disk(&graph, &task, first);
            moved += u32::from(outcome.statistics.disk.is_some());
            same(&graph, &outcome, &expected);
            assert_eq!(folder.files().unwrap(), [0; 0]);
        }
    }
    assert!(moved > 10, "{moved}");
}

/// A checkpoint made in memory is continued on disk.
#[test]
fn a_checkpoint_from_memory_goes_on_on_disk() {
    let property = Safety::default();
    for graph in graphs(8) {
        let folder = InMemory::default();
        let every = Every { period: 3, asked: AtomicU64::new(0), folder: &folder, saved: Mutex::default() };
        let task = Task { checkpoints: Some(&every), label: LABEL, ..Task::new(&property) };
        let expected = breadth_first(&graph, &Compact::new(), &task);
        for (bytes, _) in every.saved.into_inner().unwrap() {
            let folder = InMemory::default();
            let task = Task { disk: Some(&folder), label: LABEL, limits: limits(50_000), ..Task::new(&property) };
            let outcome = resume_on_disk(&graph, &task, &mut &bytes[..]).unwrap();
            same(&graph, &outcome, &expected);
        }
    }
}

#[test]
fn it_goes_on_from_every_checkpoint() {
    let property = Safety::default();
    for (number, graph) in graphs(10).enumerate() {
        let expected = breadth_first(&graph, &Plain::new(), &Task::new(&property));
        let folder = InMemory::default();
        let every = Every { period: 2, asked: AtomicU64::new(0), folder: &folder, saved: Mutex::default() };
        let threads = 1 + number % 2;
        let task =
            Task { disk: Some(&folder), checkpoints: Some(&every), label: LABEL, threads, limits: limits(60_000), ..Task::new(&property) };
        same(&graph, &on_disk(&graph, &task), &expected);
        let saved = every.saved.into_inner().unwrap();
        // A process that is killed between the end of its search and the removal of the saved one
        // leaves a search that can be resumed.
        if let Some((bytes, _)) = saved.last() {
            let left = folder.copy();
            let task = Task { disk: Some(&left), label: LABEL, limits: limits(60_000), ..Task::new(&property) };
            same(&graph, &resume_on_disk(&graph, &task, &mut &bytes[..]).unwrap(), &expected);
        }
        for (bytes, folder) in saved.iter().step_by(1 + saved.len() / 12) {
            // Files written after the checkpoint do no harm.
            folder.create(9999).unwrap().finish().unwrap();
            for label in [LABEL, b"another"] {
                let folder = folder.copy();
                let task = Task { disk: Some(&folder), label, limits: limits(60_000), threads: 2, ..Task::new(&property) };
                match resume_on_disk(&graph, &task, &mut &bytes[..]) {
                    Ok(outcome) => same(&graph, &outcome, &expected),
                    Err(error) => assert!(label != LABEL && matches!(error, CheckpointError::Foreign), "{error}"),
                }
            }
        }
    }
}

/// A deep graph has many short levels. A checkpoint waits for the disk, so there is none for each
/// level only because a few files are not needed any more.
#[test]
fn short_levels_are_not_saved_one_by_one() {
    let levels = 400;
    let mut graph = Graph::new((0..levels).map(|node| vec![(node + 1) % levels]).collect());
    graph.initial = vec![0];
    let folder = InMemory::default();
    let every = Every { period: u64::MAX, asked: AtomicU64::new(0), folder: &folder, saved: Mutex::default() };
    let task = Task { disk: Some(&folder), checkpoints: Some(&every), label: LABEL, limits: limits(1), ..Task::default() };
    let outcome = on_disk(&graph, &task);
    assert_eq!((outcome.verdict, outcome.statistics.depth), (Verdict::Holds, levels as u64 - 1));
    // On a slow machine some are saved because time has passed.
    let saved = every.saved.into_inner().unwrap().len();
    assert!(saved <= levels / 4, "{saved} checkpoints");
}

/// A full disk ends the search without an answer; with more space the search continues.
#[test]
fn a_full_disk_costs_nothing() {
    let system = grid(25);
    let expected = breadth_first(&system, &Plain::new(), &Task::default());
    let folder = InMemory::with_room(20_000);
    let every = Every { period: 5, asked: AtomicU64::new(0), folder: &folder, saved: Mutex::default() };
    let task = Task { disk: Some(&folder), checkpoints: Some(&every), label: LABEL, limits: limits(60_000), ..Task::default() };
    let outcome = on_disk(&system, &task);
    assert!(matches!(outcome.verdict, Verdict::Unknown(StopReason::Storage(_))), "{:?}", outcome.verdict);
    assert!(outcome.statistics.states > 100);
    let (bytes, _) = every.saved.into_inner().unwrap().pop().expect("a checkpoint");
    folder.set_room(None);
    let task = Task { disk: Some(&folder), label: LABEL, limits: limits(60_000), ..Task::default() };
    same(&system, &resume_on_disk(&system, &task, &mut &bytes[..]).unwrap(), &expected);
}

/// A search that ends while its states move from memory to disk is saved, too: because the disk is
/// full there or a little later, or because it is interrupted. At whatever point it ended, the
/// saved search gives the same answer.
#[test]
fn a_search_that_ends_while_it_moves_is_saved() {
    let system = grid(25);
    let expected = breadth_first(&system, &Plain::new(), &Task::default());
    fn never(folder: &InMemory) -> Every<'_> {
        Every { period: u64::MAX, asked: AtomicU64::new(0), folder, saved: Mutex::default() }
    }
    let move_with = |folder: &dyn Folder, every: &Every<'_>, cancel: Cancel| {
        let task = Task { disk: Some(folder), checkpoints: Some(every), label: LABEL, cancel, limits: limits(400_000), ..Task::default() };
        let first = |task: &Task<'_>| breadth_first(&system, &Plain::with_budget(task.limits.memory.unwrap()), task);
        then_on_disk(&system, &task, first)
    };
    let go_on = |folder: &dyn Folder, bytes: &[u8]| {
        let task = Task { disk: Some(folder), label: LABEL, limits: limits(60_000), ..Task::default() };
        same(&system, &resume_on_disk(&system, &task, &mut &*bytes).unwrap(), &expected);
    };
    let (mut full, mut room) = (0, 100);
    loop {
        let folder = InMemory::with_room(room);
        let every = never(&folder);
        let outcome = move_with(&folder, &every, Cancel::default());
        assert!(outcome.statistics.states > 100, "{:?}", outcome.statistics);
        assert!(outcome.statistics.disk.is_some(), "advice speaks of the disk");
        if outcome.verdict == Verdict::Holds {
            same(&system, &outcome, &expected);
            break;
        }
        assert!(matches!(outcome.verdict, Verdict::Unknown(StopReason::Storage(_))), "{:?}", outcome.verdict);
        let (bytes, _) = every.saved.into_inner().unwrap().pop().expect("a checkpoint");
        folder.set_room(None);
        go_on(&folder, &bytes);
        (full, room) = (full + 1, room + room / 3);
    }
    assert!(full > 10, "{full}");
    let cancel = Cancel::default();
    let folder = Slow(InMemory::default(), Some(cancel.clone()));
    let every = never(&folder.0);
    let outcome = move_with(&folder, &every, cancel);
    assert_eq!(outcome.verdict, Verdict::Unknown(StopReason::Interrupted));
    assert!(outcome.statistics.states > 100, "{:?}", outcome.statistics);
    let (bytes, folder) = every.saved.into_inner().unwrap().pop().expect("a checkpoint");
    go_on(&folder, &bytes);
}

/// A damaged file gives an error or an unknown answer, and never a wrong one.
#[test]
fn a_damaged_file_is_noticed() {
    let system = grid(22);
    let folder = InMemory::default();
    let every = Every { period: 40, asked: AtomicU64::new(0), folder: &folder, saved: Mutex::default() };
    let task = Task { disk: Some(&folder), checkpoints: Some(&every), label: LABEL, limits: limits(60_000), ..Task::default() };
    let expected = on_disk(&system, &task);
    let mut random = Random(3);
    let mut noticed = 0;
    for (bytes, folder) in every.saved.into_inner().unwrap() {
        for number in folder.files().unwrap() {
            let folder = folder.copy();
            folder.damage(number, |file| {
                let position = random.below(file.len() as u64) as usize;
                file[position] ^= 1 << random.below(8);
            });
            let task = Task { disk: Some(&folder), label: LABEL, limits: limits(60_000), ..Task::default() };
            match resume_on_disk(&system, &task, &mut &bytes[..]) {
                Ok(Outcome { verdict: Verdict::Unknown(StopReason::Storage(_)), .. }) | Err(_) => noticed += 1,
                Ok(outcome) => assert_eq!(numbers(&outcome.statistics), numbers(&expected.statistics)),
            }
        }
    }
    assert!(noticed > 3, "{noticed}");
}

#[test]
fn limits_are_kept() {
    let system = grid(30);
    let folder = InMemory::default();
    let task = Task { disk: Some(&folder), limits: Limits { depth: Some(50), ..limits(50_000) }, ..Task::default() };
    let outcome = on_disk(&system, &task);
    assert_eq!(outcome.verdict, Verdict::Unknown(StopReason::Depth));
    assert_eq!(outcome.statistics.depth, 50);
    let task = Task { disk: Some(&folder), ..Task::default() };
    task.cancel.cancel();
    assert_eq!(on_disk(&system, &task).verdict, Verdict::Unknown(StopReason::Interrupted));
    assert!(matches!(on_disk(&system, &Task::default()).verdict, Verdict::Unknown(StopReason::Storage(_))), "without a folder");
}
