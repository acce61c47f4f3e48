//! Tests that an interrupted and resumed search ends like an uninterrupted one, and that a damaged
//! or foreign checkpoint is refused.

use contract::testing::{Graph, Random, grid};
use contract::{Cancel, Effort, Enough, Limits, Outcome, Property, Safety, Statistics, StopReason, Store, Successors, System, Verdict};
use search::{CheckpointError, Checkpoints, Task, breadth_first, depth_first, resume};
use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use store::{Bits, Cache, Compact, Hashes, Joined, Plain, Union};

/// Takes a checkpoint at every `period`-th question.
struct Every {
    period: u64,
    asked: AtomicU64,
    saved: Mutex<Vec<Vec<u8>>>,
}

impl Every {
    fn new(period: u64) -> Self {
        Every { period, asked: AtomicU64::new(0), saved: Mutex::default() }
    }
}

impl Checkpoints for Every {
    fn due(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) % self.period == self.period - 1
    }

    fn save(&self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut bytes = Vec::new();
        write(&mut bytes)?;
        self.saved.lock().unwrap().push(bytes);
        Ok(())
    }
}

const LABEL: &[u8] = b"model and property";

fn same(resumed: &Outcome, whole: &Outcome) {
    assert_eq!(resumed.verdict, whole.verdict);
    let numbers = |o: &Outcome| {
        let s = &o.statistics;
        (s.states, s.transitions, s.depth, s.expanded_by_worker.iter().sum::<u64>())
    };
    assert_eq!(numbers(resumed), numbers(whole));
    assert!(resumed.statistics.elapsed > std::time::Duration::ZERO);
}

/// Runs to the end with checkpoints every `period`, then resumes from each of them in several ways.
fn check<S: System + Clone>(system: &S, property: &dyn Property, period: u64) {
    for threads in [1, 3] {
        let every = Every::new(period);
        let task = Task { checkpoints: Some(&every), label: LABEL, threads, ..Task::new(property) };
        let whole = breadth_first(system, &Plain::new(), &task);
        let saved = every.saved.into_inner().unwrap();
        for bytes in &saved {
            for threads in [1, 2] {
                let task = Task { label: LABEL, threads, ..Task::new(property) };
                let resumed = resume(system, &mut Plain::new(), &task, &mut &bytes[..]).expect("a good checkpoint");
                // Several workers may find another shortest trace.
                if threads == 1 && task.threads == 1 && !matches!(whole.verdict, Verdict::Violated(_)) {
                    same(&resumed, &whole);
                }
                match (&resumed.verdict, &whole.verdict) {
                    (Verdict::Violated(a), Verdict::Violated(b)) => {
                        assert_eq!(a.fault, b.fault);
                        assert_eq!(a.trace.steps.len(), b.trace.steps.len());
                    }
                    (a, b) => assert_eq!(a, b),
                }
            }
            // Another kind of store also works.
            let task = Task { label: LABEL, ..Task::new(property) };
            let compact = resume(system, &mut Compact::learning_from(u64::MAX, 100), &task, &mut &bytes[..]).expect("a good checkpoint");
            assert_eq!(std::mem::discriminant(&compact.verdict), std::mem::discriminant(&whole.verdict));
        }
        assert!(!saved.is_empty());
    }
    let every = Every::new(period);
    let task = Task { checkpoints: Some(&every), label: LABEL, ..Task::new(property) };
    let whole = depth_first(system, &Plain::new(), &task);
    for bytes in every.saved.into_inner().unwrap() {
        let task = Task { label: LABEL, ..Task::new(property) };
        same(&resume(system, &mut Plain::new(), &task, &mut &bytes[..]).expect("a good checkpoint"), &whole);
    }
}

#[test]
fn resumed_searches_end_as_they_would_have() {
    check(&grid(20), &Safety::default(), 9);
    let mut graph = Graph::random(5, 3000, 3);
    check(&graph, &Safety::default(), 2);
    graph.ends.extend(0..3000);
    check(&graph, &Safety::default(), 2);
}

type Search<S, T> = fn(&S, &T, &Task<'_>) -> Outcome;

/// Runs to the end over a store that is saved in its own format, then resumes from each checkpoint
/// over a store that was configured differently; returns the outcome of the whole search.
fn own_form<S: System + Clone, T: Store>(search: Search<S, T>, system: &S, period: u64, make: fn() -> T, other: fn() -> T) -> Outcome {
    let (every, store) = (Every::new(period), make());
    let whole = search(system, &store, &Task { checkpoints: Some(&every), label: LABEL, ..Task::default() });
    let saved = every.saved.into_inner().unwrap();
    assert!(saved.len() > 2, "{} checkpoints", saved.len());
    for bytes in &saved {
        let mut again = other();
        let task = Task { label: LABEL, ..Task::default() };
        same(&resume(system, &mut again, &task, &mut &bytes[..]).expect("a good checkpoint"), &whole);
        assert_eq!((again.len(), again.omission()), (store.len(), store.omission()));
        let resumed = resume(system, &mut Plain::new(), &task, &mut &bytes[..]);
        assert!(matches!(resumed, Err(CheckpointError::OtherStore)), "nobody else can read it");
    }
    whole
}

/// A state that a lossy or forgetful store took for seen is also taken for seen after resuming: all
/// numbers are the same.
#[test]
fn stores_that_cannot_list_their_states_are_resumed_too() {
    let mut graph = Graph::random(5, 60_000, 3);
    graph.ends.extend(0..60_000);
    let states = breadth_first(&graph, &Plain::new(), &Task::default()).statistics.states;

    let hashes = || Hashes::new(20, 1, u64::MAX);
    let other = || Hashes::new(50, 2, u64::MAX);
    for outcome in [own_form(breadth_first, &graph, 40, hashes, other), own_form(depth_first, &graph, 40, hashes, other)] {
        assert!(outcome.statistics.states < states, "some states must be omitted, or the test shows little");
    }
    let bits = || Bits::new(1 << 15, 2, 1);
    let other = || Bits::new(1 << 12, 3, 0).restored_within(1 << 16);
    for outcome in [own_form(breadth_first, &graph, 40, bits, other), own_form(depth_first, &graph, 40, bits, other)] {
        assert!(outcome.statistics.states < states, "some states must be omitted, or the test shows little");
    }
    // Room for a third of the states: some are forgotten and found again.
    let outcome = own_form(depth_first, &grid(12), 3, || Cache::new(500, u64::MAX), || Cache::new(32, u64::MAX));
    assert!(outcome.statistics.states > 12 * 12 * 12, "some states must be forgotten, or the test shows little");
}

/// Saved states can be read by every store that does not forget: a search that began exact may
/// continue over hashes or bits.
#[test]
fn states_can_be_taken_over_by_lossy_stores() {
    let every = Every::new(4);
    let whole = breadth_first(&grid(12), &Plain::new(), &Task { checkpoints: Some(&every), label: LABEL, ..Task::default() });
    let bytes = every.saved.into_inner().unwrap().swap_remove(0);
    let task = Task { label: LABEL, ..Task::default() };
    let states = |outcome: Result<Outcome, CheckpointError>| outcome.expect("a good checkpoint").statistics.states;
    assert_eq!(states(resume(&grid(12), &mut Hashes::new(56, 0, u64::MAX), &task, &mut &bytes[..])), whole.statistics.states);
    assert_eq!(states(resume(&grid(12), &mut Bits::new(1 << 20, 3, 0), &task, &mut &bytes[..])), whole.statistics.states);
    let union = Union::new();
    assert_eq!(
        states(resume(&grid(12), &mut Joined::new(Bits::new(1 << 20, 3, 0), &union, Vec::new()), &task, &mut &bytes[..])),
        whole.statistics.states
    );
    assert!(union.len().abs_diff(whole.statistics.states) < whole.statistics.states / 20, "{}", union.len());
    let forgetful = resume(&grid(12), &mut Cache::new(100, u64::MAX), &task, &mut &bytes[..]);
    assert!(matches!(forgetful, Err(CheckpointError::OtherStore)));
}

/// Cancels the search after some questions, and keeps only the checkpoint that follows.
struct Last {
    questions: AtomicU64,
    cancel: Cancel,
    saved: Mutex<Option<Vec<u8>>>,
}

impl Checkpoints for Last {
    fn due(&self) -> bool {
        if self.questions.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.cancel.cancel();
        }
        false
    }

    fn save(&self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut bytes = Vec::new();
        write(&mut bytes)?;
        assert!(self.saved.lock().unwrap().replace(bytes).is_none(), "one last checkpoint");
        Ok(())
    }
}

/// Runs a search until it is stopped, then resumes it, until there is an answer.
fn in_pieces<S: System + Clone>(
    search: fn(&S, &Plain, &Task<'_>) -> Outcome,
    system: &S,
    threads: usize,
    mut limits: impl FnMut(u64) -> (Limits, u64),
) -> (Outcome, u64) {
    let mut bytes: Option<Vec<u8>> = None;
    for piece in 0.. {
        let (limits, questions) = limits(piece);
        let last = Last { questions: AtomicU64::new(questions), cancel: Cancel::default(), saved: Mutex::default() };
        let mut store = Plain::with_budget(limits.memory.unwrap_or(u64::MAX));
        let safety = Safety::default();
        let task = Task { checkpoints: Some(&last), label: LABEL, threads, cancel: last.cancel.clone(), limits, ..Task::new(&safety) };
        let outcome = match &bytes {
            None => search(system, &store, &task),
            Some(bytes) => match resume(system, &mut store, &task, &mut &bytes[..]) {
                Ok(outcome) => outcome,
                // A store that could not grow was fuller than a new store of this size would be; a
                // little more memory is enough.
                Err(CheckpointError::Full(_)) => continue,
                Err(error) => panic!("{error}"),
            },
        };
        if !matches!(outcome.verdict, Verdict::Unknown(_)) {
            return (outcome, piece);
        }
        let saved = last.saved.into_inner().unwrap();
        bytes = Some(saved.unwrap_or_else(|| panic!("{:?} without a checkpoint", outcome.verdict)));
    }
    unreachable!("the pieces end with an answer")
}

/// A search that is stopped in the middle of a level or of a batch, and stopped again, has the same
/// result.
#[test]
fn a_search_in_many_pieces_is_the_search_in_one() {
    fn check<S: System + Clone>(system: &S, order: fn(&S, &Plain, &Task<'_>) -> Outcome, threads: &[usize]) {
        let safety = Safety::default();
        let whole = order(system, &Plain::new(), &Task::new(&safety));
        for &threads in threads {
            let compare = |(outcome, pieces): (Outcome, u64)| {
                assert!(pieces > 3, "{pieces}");
                let Statistics { states, transitions, depth, .. } = outcome.statistics;
                match (&outcome.verdict, &whole.verdict) {
                    (Verdict::Violated(a), Verdict::Violated(b)) if threads > 1 => {
                        assert_eq!(a.trace.steps.len(), b.trace.steps.len());
                        return;
                    }
                    (a, b) => assert_eq!(a, b, "the same trace too"),
                }
                let expected = &whole.statistics;
                assert_eq!((states, transitions, depth), (expected.states, expected.transitions, expected.depth));
            };
            compare(in_pieces(order, system, threads, |_| (Limits::default(), 13)));
            // The budgets run out anywhere in a batch.
            let budget = |piece| Limits { memory: Some(300_000 + piece * 150_001), ..Limits::default() };
            compare(in_pieces(order, system, threads, |piece| (budget(piece), u64::MAX)));
        }
    }
    let mut graph = Graph::random(5, 60_000, 3);
    graph.ends.extend(0..60_000);
    check(&graph, breadth_first, &[1, 3]);
    check(&graph, depth_first, &[1]);
    check(&grid(40), breadth_first, &[1, 3]);
    check(&grid(40), depth_first, &[1]);
}

/// A resumed search can visit the states beyond its depth limit.
#[test]
fn a_search_that_ended_at_its_depth_goes_deeper() {
    let at = |depth| (Limits { depth: Some(depth), ..Limits::default() }, u64::MAX);
    let (outcome, pieces) = in_pieces(breadth_first, &grid(12), 1, |piece| at(5 + 10 * piece));
    assert_eq!((outcome.statistics.states, outcome.statistics.depth, pieces), (1728, 33, 3));
}

fn a_checkpoint() -> Vec<u8> {
    let every = Every::new(4);
    breadth_first(&grid(4), &Plain::new(), &Task { checkpoints: Some(&every), label: LABEL, ..Task::default() });
    every.saved.into_inner().unwrap().swap_remove(0)
}

#[test]
fn a_foreign_checkpoint_is_refused() {
    let bytes = a_checkpoint();
    let task = Task { label: b"something else", ..Task::default() };
    assert!(matches!(resume(&grid(4), &mut Plain::new(), &task, &mut &bytes[..]), Err(CheckpointError::Foreign)));
    let task = Task { label: LABEL, ..Task::default() };
    let text = b"not a checkpoint at all, but long enough to be one".as_slice();
    assert!(matches!(resume(&grid(4), &mut Plain::new(), &task, &mut { text }), Err(CheckpointError::NotACheckpoint)));
}

#[test]
fn any_damage_is_noticed() {
    fn check<T: Store>(bytes: &[u8], make: impl Fn() -> T) {
        let task = Task { label: LABEL, ..Task::default() };
        let resumed = |bytes: &[u8]| resume(&grid(4), &mut make(), &task, &mut { bytes });
        assert!(resumed(bytes).is_ok());
        // All positions of a short checkpoint, and some two thousand of a long one.
        let positions = || (0..bytes.len()).step_by(1 + bytes.len() / 2000);
        for len in positions() {
            assert!(resumed(&bytes[..len]).is_err(), "cut at {len}");
        }
        assert!(resumed(&[bytes, &[0]].concat()).is_err());
        let mut random = Random(1);
        for position in positions() {
            let mut damaged = bytes.to_vec();
            damaged[position] ^= 1 << random.below(8);
            assert!(resumed(&damaged).is_err(), "byte {position}");
        }
    }
    fn saved(search: impl Fn(&Task<'_>) -> Outcome) -> Vec<u8> {
        let every = Every::new(1);
        search(&Task { checkpoints: Some(&every), label: LABEL, ..Task::default() });
        let mut saved = every.saved.into_inner().unwrap();
        saved.swap_remove(saved.len() / 2)
    }
    check(&saved(|task| breadth_first(&grid(4), &Plain::new(), task)), || Plain::with_budget(1 << 20));
    check(&saved(|task| breadth_first(&grid(4), &Hashes::new(40, 0, u64::MAX), task)), || Hashes::new(40, 0, 1 << 20));
    let (union, bits) = (Union::new(), || Bits::new(1 << 10, 3, 0));
    let noted = |note: &[u8]| Joined::new(bits(), &union, note.to_vec());
    check(&saved(|task| breadth_first(&grid(4), &noted(b"a note"), task)), || noted(b""));
    check(&saved(|task| depth_first(&grid(4), &Cache::new(40, u64::MAX), task)), || Cache::new(40, 1 << 20));
}

#[test]
fn a_store_that_cannot_list_its_states_or_a_full_disk_do_not_end_the_search() {
    struct FullDisk;
    impl Checkpoints for FullDisk {
        fn due(&self) -> bool {
            true
        }
        fn save(&self, _: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }
    #[derive(Default)]
    struct Notices(AtomicU64);
    impl contract::Observer for Notices {
        fn notice(&self, text: &str) {
            assert!(text.contains("checkpoint"));
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    /// A store that cannot be saved.
    struct Mute(Bits);
    impl Store for Mute {
        const EXACT: bool = false;
        const STABLE_NAMES: bool = false;
        type Worker<'s> = <Bits as Store>::Worker<'s>;
        fn worker(&self) -> Self::Worker<'_> {
            self.0.worker()
        }
        fn len(&self) -> u64 {
            self.0.len()
        }
    }
    fn run<T: Store>(store: &T, checkpoints: &dyn Checkpoints) -> u64 {
        let notices = Notices::default();
        let task = Task { checkpoints: Some(checkpoints), observer: &notices, ..Task::default() };
        let outcome = breadth_first(&grid(6), store, &task);
        assert_eq!(outcome.statistics.states, 216);
        notices.0.into_inner()
    }
    assert!(run(&Plain::new(), &FullDisk) > 0);
    assert!(run(&Mute(Bits::new(1 << 20, 3, 0)), &Every::new(2)) > 0);
}

/// A grid in which computing the successors of one state takes for ever, unless the computation is
/// given up.
#[derive(Clone)]
struct Slow<S> {
    inner: S,
    at: Vec<u8>,
    enough: Enough,
}

impl<S: System> System for Slow<S> {
    fn initial(&mut self, out: &mut Successors) {
        self.inner.initial(out);
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        if state != self.at {
            return self.inner.successors(state, out);
        }
        let effort = Effort::new(self.enough.clone());
        while !effort.spend(1) {}
        out.cut_short();
    }

    fn give_up_when(&mut self, enough: Enough) {
        self.enough = enough;
    }

    fn is_valid_end(&mut self, state: &[u8]) -> bool {
        self.inner.is_valid_end(state)
    }
}

/// A resumed search computes again the successors that were given up.
#[test]
fn a_step_given_up_is_not_lost() {
    let quick = grid(20);
    let mut states = Successors::new();
    quick.clone().initial(&mut states);
    let mut at = states.state(&states.entries()[0]).unwrap().to_vec();
    for _ in 0..5 {
        states.clear();
        quick.clone().successors(&at, &mut states);
        at = states.state(states.entries().last().unwrap()).unwrap().to_vec();
    }
    let slow = Slow { inner: quick.clone(), at, enough: Enough::default() };
    type Search<S> = fn(&S, &Plain, &Task<'_>) -> Outcome;
    let searches: [(Search<Slow<_>>, Search<_>); 2] = [(breadth_first, breadth_first), (depth_first, depth_first)];
    for (search, whole) in searches {
        let every = Every::new(u64::MAX);
        let limits = Limits { time: Some(std::time::Duration::from_millis(20)), ..Limits::default() };
        let task = Task { checkpoints: Some(&every), label: LABEL, limits, ..Task::new(&Safety { deadlocks: false, faults: true }) };
        let stopped = search(&slow, &Plain::new(), &task);
        assert_eq!(stopped.verdict, Verdict::Unknown(StopReason::Time));
        let task = Task { checkpoints: None, limits: Limits::default(), ..task };
        let whole = whole(&quick, &Plain::new(), &task);
        let saved = every.saved.lock().unwrap().pop().expect("a checkpoint where it stopped");
        same(&resume(&quick, &mut Plain::new(), &task, &mut &saved[..]).expect("a good checkpoint"), &whole);
    }
}
