//! A search by several workers finds the same as a naive one: in threads, and in simulated
//! processes that are threads here but connect as processes do.

use contract::testing::Graph;
use contract::{Cancel, FaultCode, Limits, NoProperty, Outcome, Property, Quiet, Safety, StopReason, Store, Verdict};
use distribute::{Assembly, Owners, Place, Seat, Secret, Seen, Serve, Team, Thrift, Work, explore, join};
use std::sync::Arc;
use std::time::Duration;
use store::Plain;

/// The graph of a seed. Some graphs have deadlocks, faults or steps that fail.
fn graph(seed: u64) -> Graph {
    let mut graph = Graph::random(seed, 3 + seed as usize % 60, 1 + seed % 4);
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

fn search(seat: &mut Seat<'_>, job: &[u8]) -> Outcome {
    let seed = u64::from_le_bytes(job[..8].try_into().unwrap());
    let checks = job[8] != 0;
    let mut system = graph(seed);
    let store = Plain::new();
    let property: &dyn Property = if checks { &Safety { deadlocks: true, faults: true } } else { &NoProperty };
    let remembered = if seed % 2 == 0 { 4 } else { 0 };
    let work = Work {
        system: &mut system,
        property,
        owners: Owners::new(seat.workers(), None),
        workers: seat.workers(),
        limits: Limits::default(),
        resident: None,
        thrift: Thrift { remembered, lookahead: seed % 3 == 0 },
        saving: None,
        resume: None,
    };
    explore(seat, work, Seen { worker: Box::new(store.worker()), budgeted: store.budgeted(), exact: true, saveable: None }).unwrap()
}

fn job(seed: u64, checks: bool) -> Vec<u8> {
    let mut job = seed.to_le_bytes().to_vec();
    job.push(u8::from(checks));
    job
}

fn compare(team: &mut Team<Outcome>, seed: u64) {
    let graph = graph(seed);
    let facts = graph.facts();
    let ask = |team: &mut Team<Outcome>, checks| team.ask(job(seed, checks), None, &Cancel::default(), &Quiet).unwrap();
    let outcome = ask(team, false);
    let traffic = outcome.statistics.traffic.clone().unwrap();
    let found = (outcome.statistics.states, outcome.statistics.transitions, outcome.statistics.depth);
    assert_eq!(found, (facts.states, facts.transitions, facts.depth), "seed {seed}");
    assert_eq!(outcome.verdict, Verdict::Holds);
    assert_eq!(traffic.states_by_worker.iter().sum::<u64>(), facts.states);
    let outcome = ask(team, true);
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
}

fn serve() -> Serve<Outcome> {
    Arc::new(search)
}

#[test]
fn threads_find_what_there_is() {
    for workers in 1..=4 {
        let mut team = Team::alone(workers, serve()).unwrap();
        (0..150).for_each(|seed| compare(&mut team, seed));
    }
}

/// Runs `with` on a team of `ranks` processes with `threads` workers each.
fn in_processes(ranks: usize, threads: usize, with: impl FnOnce(&mut Team<Outcome>)) {
    let secret = Secret::random().unwrap();
    let assembly = Assembly::open("127.0.0.1:0", secret.clone()).unwrap();
    let leader = assembly.address().to_string();
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
        in_processes(ranks, threads, |team| (0..60).for_each(|seed| compare(team, seed)));
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
