//! The end of a search that workers shared: their parts put together into one outcome.

use crate::expand::{Expander, Found};
use crate::links::{Links, path};
use crate::monitor::Monitor;
use crate::retrace::{retrace, unviolated, violated};
use contract::{Outcome, Statistics, StopReason, Store, System};

/// What is left of a worker when it is done.
pub(crate) struct Part {
    links: Links,
    found: Option<Found>,
    states: u64,
    transitions: u64,
    expanded: u64,
    depth: u64,
    truncated: bool,
}

impl Part {
    pub fn of<S: System, T: Store>(expander: Expander<'_, S, T>) -> Part {
        let Expander { links, found, states, transitions, expanded, depth, truncated, .. } = expander;
        Part { links, found, states, transitions, expanded, depth, truncated }
    }
}

/// The outcome of a search that `workers` workers began and whose `parts` are here, in the order of the workers; `ancestors` are the logs
/// of those who worked on it in earlier runs.
pub(crate) fn conclude<S: System + Clone, T: Store>(
    ancestors: Vec<Links>,
    parts: Vec<Part>,
    workers: usize,
    system: &S,
    store: &T,
    monitor: &Monitor<'_>,
    mut truncated: bool,
) -> Outcome {
    let lost_worker = parts.len() < workers;
    let mut statistics = Statistics::default();
    let mut logs = ancestors;
    let mut found: Option<Found> = None;
    for part in parts {
        statistics.states += part.states;
        statistics.transitions += part.transitions;
        statistics.depth = statistics.depth.max(part.depth);
        truncated |= part.truncated;
        statistics.expanded_by_worker.push(part.expanded);
        logs.push(part.links);
        if let Some(candidate) = part.found
            && found.as_ref().is_none_or(|best| candidate.length < best.length)
        {
            found = Some(candidate);
        }
    }
    let verdict = match found {
        Some(found) => {
            let mut system = system.clone();
            let trace = path(&logs, found.at).and_then(|mut path| {
                path.extend(found.step);
                retrace(&mut system, &path)
            });
            violated(&system, found.finding, trace)
        }
        // A worker that panicked left part of the space unexplored; the panic itself has been reported by the thread.
        None if lost_worker => unviolated(Some(StopReason::Interrupted), truncated, T::EXACT),
        None => unviolated(monitor.reason(), truncated, T::EXACT),
    };
    statistics.elapsed = monitor.elapsed();
    statistics.store_bytes = store.bytes();
    statistics.store_peak_bytes = store.peak_bytes();
    statistics.search_bytes = monitor.peak_search_bytes();
    Outcome { verdict, statistics }
}
