//! Simulates a search by very many workers: the real actors over a real system, all in one thread,
//! with a clock that follows the costs of a machine and a network.
//!
//! A round takes as long as its slowest worker: the steps it computes, the states it sends and
//! receives, and the bytes on its connection. At the end of a round all workers must learn that all
//! are done.

use crate::actor::{Actor, Outbox};
use crate::classes::Start;
use crate::owner::Owners;
use crate::reach::{Counts, Reach, Thrift, Work};
use crate::rehearse::rehearse;
use crate::report::{Part, traffic};
use crate::shared::Shared;
use crate::visited::Seen;
use contract::{Budgeted, CloneSystem, Limits, NoProperty, Store, Traffic};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use store::Plain;

/// The costs of operations, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Storing and expanding a state.
    pub state: f64,
    /// Computing a step and looking up its target locally.
    pub step: f64,
    /// Packing or unpacking a state.
    pub packed: f64,
    /// Sending or receiving a message.
    pub message: f64,
    /// Sending a byte over the connection of a worker.
    pub byte: f64,
    /// The end of a round, for each doubling of the number of workers.
    pub latency: f64,
}

/// The prediction.
#[derive(Clone, Debug)]
pub struct Predicted {
    /// Seconds until the end.
    pub seconds: f64,
    /// The number of rounds.
    pub rounds: u64,
    /// The states, and the messages sent.
    pub traffic: Traffic,
    /// The peak memory of a worker, in bytes.
    pub memory: u64,
    /// The number of steps.
    pub steps: u64,
}

/// The address space for the stores of all workers. A store without a budget reserves so much that
/// hundreds of them do not fit.
const ADDRESSES: u64 = 1 << 42;

/// Lets `workers` workers explore `system`, and predicts the time.
pub fn predict(system: &dyn CloneSystem, workers: usize, owners: &Owners, thrift: Thrift, parcel: usize, costs: &Costs) -> Predicted {
    let stores: Vec<Plain> = (0..workers).map(|_| Plain::with_budget(ADDRESSES / workers.max(1) as u64)).collect();
    let mut systems: Vec<Box<dyn CloneSystem>> = (0..workers).map(|_| system.clone_system()).collect();
    let shared = Shared::new(workers);
    let mut reaches: Vec<Reach<'_, '_>> = systems
        .iter_mut()
        .zip(&stores)
        .enumerate()
        .map(|(me, (system, store))| {
            let work = Work {
                system,
                property: &NoProperty,
                owners: owners.clone(),
                workers,
                start: Start::Equal,
                limits: Limits::default(),
                resident: None,
                thrift,
                saving: None,
                resume: None,
            };
            let seen = Seen { worker: Box::new(store.worker()), budgeted: store.budgeted(), exact: true, saveable: None };
            Reach::new(me, me, work, seen, Arc::clone(&shared))
        })
        .collect();
    let mut seconds = 0.0;
    let mut before = vec![Counts::default(); workers];
    let mut packed = vec![0.0; workers];
    let published = Arc::clone(&shared);
    let mut actors: Vec<&mut dyn Actor> = reaches.iter_mut().map(|reach| reach as &mut dyn Actor).collect();
    let doublings = (workers as f64).log2();
    let parcel = if parcel == 0 { Outbox::usual(workers) } else { parcel };
    let seen = rehearse(&mut actors, 1, parcel, &mut |_, volumes| {
        let mut slowest: f64 = 0.0;
        let read = |number: &AtomicU64| number.load(Relaxed);
        let bytes: Vec<u64> = volumes.iter().map(|to| to.iter().sum()).collect();
        for me in 0..workers {
            let sent = read(&published.published[me].sent);
            packed[me] = (sent - before[me].sent) as f64;
            before[me].sent = sent;
        }
        for me in 0..workers {
            // The published numbers of a worker show the work it has done.
            let (states, steps) = (read(&published.published[me].states), read(&published.published[me].transitions));
            let (new, computed) = (states - before[me].states, steps - before[me].transitions);
            (before[me].states, before[me].transitions) = (states, steps);
            let received: u64 = volumes.iter().map(|from| from[me]).sum();
            // The states of one sender are about equally long.
            let unpacked: f64 = (0..workers).map(|from| packed[from] * volumes[from][me] as f64 / bytes[from].max(1) as f64).sum();
            let messages =
                volumes[me].iter().chain(volumes.iter().map(|from| &from[me])).map(|&bytes| bytes.div_ceil(parcel as u64)).sum::<u64>();
            let time = new as f64 * costs.state
                + computed as f64 * costs.step
                + (packed[me] + unpacked) * costs.packed
                + messages as f64 * costs.message
                + bytes[me].max(received) as f64 * costs.byte;
            slowest = slowest.max(time);
        }
        seconds += slowest + costs.latency * doublings;
    });
    drop(actors);
    let parts: Vec<Part> = reaches
        .iter()
        .map(|reach| Part {
            counts: reach.counts,
            store_bytes: reach.visited.store.budgeted.map_or(0, Budgeted::bytes),
            search_bytes: reach.peak,
            ..Part::default()
        })
        .collect();
    let mut traffic = traffic(&parts);
    (traffic.parcels, traffic.bytes) = (seen.parcels, seen.bytes);
    let memory = parts.iter().map(|part| part.store_bytes + part.search_bytes).max().unwrap_or(0);
    Predicted { seconds, rounds: seen.rounds, steps: traffic.steps, traffic, memory }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::testing::grid;

    const COSTS: Costs = Costs { state: 1e-7, step: 1e-7, packed: 1e-7, message: 1e-5, byte: 1e-8, latency: 1e-4 };

    #[test]
    fn a_thousand_workers_find_all_states() {
        let system = grid(12);
        let alone = predict(&system, 1, &Owners::new(1, None), Thrift::default(), 0, &COSTS);
        let states = |predicted: &Predicted| predicted.traffic.states_by_worker.iter().sum::<u64>();
        for workers in [2, 300, 1000] {
            let predicted = predict(&system, workers, &Owners::new(workers, None), Thrift::default(), 0, &COSTS);
            assert_eq!((states(&predicted), predicted.steps), (states(&alone), alone.steps));
            assert!(predicted.traffic.sent > 0 && predicted.seconds > 0.0);
        }
        // What is paid for packing follows from the states that are sent, and not from their
        // length.
        let packing = Costs { state: 0.0, step: 0.0, packed: 1.0, message: 0.0, byte: 0.0, latency: 0.0 };
        let two = predict(&system, 2, &Owners::new(2, None), Thrift::default(), 0, &packing);
        let sent = two.traffic.sent as f64;
        assert!(two.seconds >= sent * 0.99 && two.seconds <= 2.0 * sent, "{} for {sent} states", two.seconds);
    }
}
