//! A search by very many workers on paper: the real actors over a real system, all in one thread,
//! and a clock that goes by what a machine and a network cost.
//!
//! A round takes as long as its slowest worker: the steps it computes, the states it sends and
//! receives, and the bytes on its connection. At the end of a round everyone must hear that
//! everyone is done.

use crate::actor::{Actor, Outbox};
use crate::owner::Owners;
use crate::reach::{Counts, Reach, Seen, Thrift, Work};
use crate::rehearse::rehearse;
use crate::report::{Part, traffic};
use crate::shared::Shared;
use contract::{Budgeted, CloneSystem, Limits, NoProperty, Store, Traffic};
use std::sync::Arc;
use store::Plain;

/// What things cost, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// A state is stored and expanded.
    pub state: f64,
    /// A step is computed and its target looked for at home.
    pub step: f64,
    /// A state is packed or unpacked.
    pub packed: f64,
    /// A message is sent or received.
    pub message: f64,
    /// A byte goes over the connection of a worker.
    pub byte: f64,
    /// A round ends, for each doubling of the number of workers.
    pub latency: f64,
}

/// What the clock says.
#[derive(Clone, Debug)]
pub struct Predicted {
    /// Seconds until the end.
    pub seconds: f64,
    /// Rounds.
    pub rounds: u64,
    /// States, and what was sent.
    pub traffic: Traffic,
    /// The most memory of a worker, in bytes.
    pub memory: u64,
    /// Steps in all.
    pub steps: u64,
}

/// Lets so many workers explore `system`, and says how long that would take.
pub fn predict(system: &dyn CloneSystem, workers: usize, owners: &Owners, thrift: Thrift, parcel: usize, costs: &Costs) -> Predicted {
    let stores: Vec<Plain> = (0..workers).map(|_| Plain::new()).collect();
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
    let published = Arc::clone(&shared);
    let mut actors: Vec<&mut dyn Actor> = reaches.iter_mut().map(|reach| reach as &mut dyn Actor).collect();
    let doublings = (workers as f64).log2();
    let parcel = if parcel == 0 { Outbox::usual(workers) } else { parcel };
    let seen = rehearse(&mut actors, 1, parcel, &mut |_, volumes| {
        let mut slowest: f64 = 0.0;
        for me in 0..workers {
            // What a worker has published is what it has done.
            let read = |number: &std::sync::atomic::AtomicU64| number.load(std::sync::atomic::Ordering::Relaxed);
            let (states, steps) = (read(&published.published[me].states), read(&published.published[me].transitions));
            let (new, computed) = (states - before[me].states, steps - before[me].transitions);
            (before[me].states, before[me].transitions) = (states, steps);
            let sent: u64 = volumes[me].iter().sum();
            let received: u64 = volumes.iter().map(|from| from[me]).sum();
            let packed = (sent + received) as f64 / 40.0;
            let messages =
                volumes[me].iter().chain(volumes.iter().map(|from| &from[me])).map(|&bytes| bytes.div_ceil(parcel as u64)).sum::<u64>();
            let time = new as f64 * costs.state
                + computed as f64 * costs.step
                + packed * costs.packed
                + messages as f64 * costs.message
                + sent.max(received) as f64 * costs.byte;
            slowest = slowest.max(time);
        }
        seconds += slowest + costs.latency * doublings;
    });
    drop(actors);
    let parts: Vec<Part> = reaches
        .iter()
        .map(|reach| Part {
            counts: reach.counts,
            store_bytes: reach.seen.budgeted.map_or(0, Budgeted::bytes),
            search_bytes: reach.peak,
            ..Part::default()
        })
        .collect();
    let mut traffic = traffic(&parts);
    (traffic.parcels, traffic.bytes) = (seen.parcels, seen.bytes);
    let memory = parts.iter().map(|part| part.store_bytes + part.search_bytes).max().unwrap_or(0);
    Predicted { seconds, rounds: seen.rounds, steps: traffic.steps, traffic, memory }
}
