//! A search by several workers finds the same as a naive one: in threads, and in simulated
//! processes that are threads here but connect as processes do.

use contract::testing::Graph;
use contract::{
    Budgeted, Cancel, FaultCode, Inserted, Limits, NoProperty, Outcome, Property, Quiet, Safety, StateId, StopReason, Store, StoreFull,
    StoreWorker, Verdict,
};
use distribute::{Assembly, Owners, Place, Seat, Secret, Seen, Serve, Start, Team, Thrift, Work, act, explore, join};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;
use store::Plain;

/// Graphs from this seed on are large, and workers have so little memory that they run short.
const LARGE: u64 = 1000;

/// The graph of a seed. Some graphs have deadlocks, faults or steps that fail.
fn graph(seed: u64) -> Graph {
    let states = if seed < LARGE { 3 + seed as usize % 60 } else { 2000 + seed as usize % 1000 };
    let mut graph = Graph::random(seed, states, 1 + seed % 4);
    match seed % 5 {
        0 => graph.ends.extend(0..graph.edges.len()),
        1 => drop(graph.faults.insert((seed as usize % graph.edges.len(), 0), FaultCode::new(7).unwrap())),
        2 => {
            graph.ends.extend(0..graph.edges.len());
            graph.fatal.insert(graph.edges.len() / 2, FaultCode::new(9).unwrap());
        }
        _ => {}
    }
    graph
}

/// A store that claims to need 100 bytes for each state.
struct Counted<'s>(&'s Plain);

impl Budgeted for Counted<'_> {
    fn bytes(&self) -> u64 {
        100 * self.0.len()
    }

    fn peak_bytes(&self) -> u64 {
        self.bytes()
    }

    fn leave_room(&self, _: u64) {}

    fn yields(&self) -> bool {
        true
    }
}

/// A store that takes only so many states.
struct Small<W> {
    worker: W,
    room: u64,
}

impl<W: StoreWorker> StoreWorker for Small<W> {
    fn hash(&mut self, state: &[u8]) -> u64 {
        self.worker.hash(state)
    }

    fn prefetch(&self, hash: u64) {
        self.worker.prefetch(hash);
    }

    fn insert(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        if self.room == 0 && self.worker.find(hash, state).is_none() {
            return Err(StoreFull { needed: 1, budget: 0 });
        }
        let inserted = self.worker.insert(hash, state)?;
        self.room -= u64::from(inserted.new);
        Ok(inserted)
    }

    fn find(&mut self, hash: u64, state: &[u8]) -> Option<StateId> {
        self.worker.find(hash, state)
    }

    fn keeps(&self, id: StateId) -> bool {
        self.worker.keeps(id)
    }

    fn read(&mut self, id: StateId, to: &mut Vec<u8>) -> bool {
        self.worker.read(id, to)
    }
}

/// Whether some stores refuse states early, instead of memory that runs short.
fn some_are_small(seed: u64) -> bool {
    seed >= LARGE && seed.is_multiple_of(4)
}

fn search(seat: &mut Seat<'_>, job: &[u8]) -> Outcome {
    let seed = u64::from_le_bytes(job[..8].try_into().unwrap());
    let checks = job[8] != 0;
    let mut system = graph(seed);
    let store = Plain::new();
    let counted = Counted(&store);
    let is_large = seed >= LARGE;
    let property: &dyn Property = if checks { &Safety { deadlocks: true, faults: true } } else { &NoProperty };
    let remembered = if seed % 2 == 0 { 4 } else { 0 };
    let work = Work {
        system: &mut system,
        property,
        owners: Owners::new(seat.workers(), None),
        workers: seat.workers(),
        start: [Start::One, Start::Equal, Start::All][seed as usize % 3],
        limits: Limits { memory: (is_large && !some_are_small(seed)).then_some(60_000 * (seed % 7 + 1)), ..Limits::default() },
        resident: None,
        thrift: Thrift { remembered, lookahead: seed % 5 < 2 },
        saving: None,
        resume: None,
    };
    let budgeted = if is_large { Some(&counted as &dyn Budgeted) } else { store.budgeted() };
    let room = if some_are_small(seed) && (seed + seat.me() as u64).is_multiple_of(3) { 100 + seed % 500 } else { u64::MAX };
    let worker = Box::new(Small { worker: store.worker(), room });
    explore(seat, work, Seen { worker, budgeted, exact: true, saveable: None }).unwrap()
}

fn job(seed: u64, checks: bool) -> Vec<u8> {
    let mut job = seed.to_le_bytes().to_vec();
    job.push(u8::from(checks));
    job
}

/// Compares a search with the facts; returns how many states were passed on.
fn compare(team: &mut Team<Outcome>, seed: u64) -> u64 {
    compare_by(&mut |job| team.ask(job, None, &Cancel::default(), &Quiet).unwrap(), seed)
}

/// The same for a search that `ask` executes.
fn compare_by(ask: &mut dyn FnMut(Vec<u8>) -> Outcome, seed: u64) -> u64 {
    let graph = graph(seed);
    let facts = graph.facts();
    let outcome = ask(job(seed, false));
    let traffic = outcome.statistics.traffic.clone().unwrap();
    let found = (outcome.statistics.states, outcome.statistics.transitions, outcome.statistics.depth);
    assert_eq!(found, (facts.states, facts.transitions, facts.depth), "seed {seed}");
    assert_eq!(outcome.verdict, Verdict::Holds);
    assert_eq!(traffic.states_by_worker.iter().sum::<u64>(), facts.states);
    let outcome = ask(job(seed, true));
    match (outcome.verdict, facts.shortest_violation) {
        (Verdict::Holds, None) => {}
        (Verdict::Violated(violation), Some(length)) => {
            assert_eq!(violation.trace.steps.len() as u64, length, "seed {seed}");
            // The trace is a path of the graph.
            let mut at = Graph::decode(&violation.trace.initial);
            for step in &violation.trace.steps {
                assert_eq!(step.action.process as usize, at);
                let Some(state) = &step.state else { continue };
                assert_eq!(graph.edges[at][step.action.choice as usize], Graph::decode(state));
                at = Graph::decode(state);
            }
        }
        (verdict, shortest) => panic!("seed {seed}: {verdict:?}, not {shortest:?}"),
    }
    traffic.passed_on
}

fn serve() -> Serve<Outcome> {
    Arc::new(search)
}

#[test]
fn threads_find_what_there_is() {
    for workers in 1..=4 {
        let mut team = Team::alone(workers, serve()).unwrap();
        for seed in 0..150 {
            compare(&mut team, seed);
        }
    }
}

#[test]
fn workers_short_of_memory_pass_states_on() {
    for workers in 2..=5 {
        let mut team = Team::alone(workers, serve()).unwrap();
        let passed_on: Vec<u64> = (LARGE..LARGE + 40).map(|seed| compare(&mut team, seed)).collect();
        let searches = passed_on.iter().filter(|&&states| states > 0).count();
        assert!(searches > 3, "{workers} workers: {passed_on:?}");
    }
}

/// Messages that arrive late and in any order change nothing, also when classes change hands and
/// states are passed on.
#[test]
fn the_order_of_messages_does_not_matter() {
    let mut passed_on = 0;
    for workers in 2..=5 {
        for seed in (0..60).chain(LARGE..LARGE + 20) {
            for order in 0..2 {
                let mut ask = |job: Vec<u8>| act(workers, order * 1000 + seed, |seat| search(seat, &job)).swap_remove(0);
                passed_on += u64::from(compare_by(&mut ask, seed) > 0);
            }
        }
    }
    assert!(passed_on > 20, "{passed_on}");
}

/// Runs `with` on a team of `ranks` processes with `threads` workers each.
fn in_processes(ranks: usize, threads: usize, with: impl FnOnce(&mut Team<Outcome>)) {
    in_company(ranks, threads, 0, with);
}

/// The same after so many `strangers` have connected to rank 0, who never say anything.
fn in_company(ranks: usize, threads: usize, strangers: usize, with: impl FnOnce(&mut Team<Outcome>)) {
    let secret = Secret::random().unwrap();
    let assembly = Assembly::open("127.0.0.1:0", secret.clone()).unwrap();
    let leader = assembly.address().to_string();
    let _strangers: Vec<_> = (0..strangers).map(|_| TcpStream::connect(&leader).unwrap()).collect();
    let patience = Duration::from_secs(20);
    let others: Vec<_> = (1..ranks as u32)
        .map(|rank| {
            let (leader, secret) = (leader.clone(), secret.clone());
            std::thread::spawn(move || {
                let place = Place { rank, leader: &leader, listen: "127.0.0.1:0", known_as: None };
                join(&place, &secret, patience, &Cancel::default(), &Quiet, serve())
            })
        })
        .collect();
    let mut team = assembly.gather(ranks, threads, patience, &Quiet, &mut || None, serve()).unwrap();
    with(&mut team);
    drop(team);
    for other in others {
        other.join().unwrap().unwrap();
    }
}

#[test]
fn processes_find_what_there_is() {
    for (ranks, threads) in [(2, 1), (3, 1), (2, 2)] {
        in_processes(ranks, threads, |team| {
            for seed in (0..60).chain(LARGE..LARGE + 5) {
                compare(team, seed);
            }
        });
    }
}

/// More connections that say nothing than greetings are processed at one time: a process of the
/// team has to wait for its turn, and is admitted.
#[test]
fn silent_connections_keep_nobody_out() {
    in_company(2, 1, 90, |team| _ = compare(team, 3));
}

/// A search that is cut off has come as deep as that of one process.
#[test]
fn a_depth_limit_is_reached() {
    let serve: Serve<Outcome> = Arc::new(|seat, _| {
        let mut system = Graph::new((0..50).map(|node| vec![(node + 1) % 50]).collect());
        let store = Plain::new();
        let work = Work {
            system: &mut system,
            property: &NoProperty,
            owners: Owners::new(seat.workers(), None),
            workers: seat.workers(),
            start: Start::Equal,
            limits: Limits { depth: Some(20), ..Limits::default() },
            resident: None,
            thrift: Thrift::default(),
            saving: None,
            resume: None,
        };
        explore(seat, work, Seen { worker: Box::new(store.worker()), budgeted: None, exact: true, saveable: None }).unwrap()
    });
    for workers in 1..=3 {
        let outcome = Team::alone(workers, Arc::clone(&serve)).unwrap().ask(Vec::new(), None, &Cancel::default(), &Quiet).unwrap();
        assert_eq!(outcome.verdict, Verdict::Unknown(StopReason::Depth));
        assert_eq!((outcome.statistics.depth, outcome.statistics.states), (20, 21));
    }
}

#[test]
fn an_interrupt_ends_all() {
    in_processes(2, 1, |team| {
        let cancel = Cancel::default();
        cancel.cancel();
        let outcome = team.ask(job(3, false), None, &cancel, &Quiet).unwrap();
        // The graph is small, so the search may be done before it is stopped.
        assert!(matches!(outcome.verdict, Verdict::Unknown(StopReason::Interrupted) | Verdict::Holds));
        compare(team, 4);
    });
}
