//! The beginning and the end of a shared search: workers are started, and their results are
//! combined into one outcome.

use crate::expand::{Expander, Found};
use crate::links::{Links, MOST_WORKERS, path};
use crate::monitor::Monitor;
use crate::retrace::{retrace, unviolated, violated};
use contract::{Outcome, Profile, Statistics, StopReason, Store, System};
use std::time::Duration;

/// The result of a worker.
pub(crate) struct Part {
    links: Links,
    found: Option<Found>,
    states: u64,
    transitions: u64,
    expanded: u64,
    depth: u64,
    truncated: bool,
    profile: Option<Profile>,
}

impl Part {
    pub fn of<S: System, T: Store>(expander: Expander<'_, S, T>) -> Part {
        let Expander { links, found, states, transitions, expanded, depth, truncated, mut watch, .. } = expander;
        Part { links, found, states, transitions, expanded, depth, truncated, profile: watch.stop() }
    }
}

/// Runs `lead` in this thread and `help` in others, with `workers` in all, or as many as the system
/// allows. `lead` is given their number, and the others their own numbers. Returns the results in
/// the order of the numbers; `None` for a helper that panicked.
///
/// If `lead` panics, it must make sure that the helpers end.
pub(crate) fn together<S: System + Clone, R: Send>(
    workers: usize,
    system: &S,
    monitor: &Monitor<'_>,
    lead: impl FnOnce(usize, S) -> R,
    help: impl Fn(usize, S) -> R + Sync,
) -> Vec<Option<R>> {
    let worker = |number: usize| {
        let mut system = system.clone();
        system.give_up_when(monitor.enough(number));
        system
    };
    let leaders = worker(0);
    let others: Vec<S> = (1..workers).map(worker).collect();
    std::thread::scope(|scope| {
        let mut helpers = Vec::new();
        for (index, system) in others.into_iter().enumerate() {
            let help = &help;
            match std::thread::Builder::new().spawn_scoped(scope, move || help(index + 1, system)) {
                Ok(helper) => helpers.push(helper),
                Err(error) => {
                    monitor.notice(&format!("only {} of {workers} threads could be started: {error}", helpers.len() + 1));
                    break;
                }
            }
        }
        let led = lead(helpers.len() + 1, leaders);
        std::iter::once(Some(led)).chain(helpers.into_iter().map(|helper| helper.join().ok())).collect()
    })
}

/// The profiles of two pieces of work as one.
pub(crate) fn both(one: Option<Profile>, other: Option<Profile>) -> Option<Profile> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.and(other)),
        (one, other) => one.or(other),
    }
}

/// The outcome of a search from its `parts`, in the order of the workers, with `None` for a lost
/// one; `ancestors` are the logs of the workers of earlier runs.
pub(crate) fn conclude<S: System + Clone, T: Store>(
    ancestors: Vec<Links>,
    parts: Vec<Option<Part>>,
    system: &S,
    store: &T,
    monitor: &Monitor<'_>,
    mut truncated: bool,
) -> Outcome {
    let lost_worker = parts.iter().any(Option::is_none);
    let mut statistics = Statistics::default();
    let mut logs = ancestors;
    let mut found: Option<Found> = None;
    for part in parts {
        let Some(part) = part else {
            // Links name the worker, so a lost one keeps its place.
            logs.push(Links::new(MOST_WORKERS, false));
            statistics.expanded_by_worker.push(0);
            continue;
        };
        statistics.states += part.states;
        statistics.transitions += part.transitions;
        statistics.depth = statistics.depth.max(part.depth);
        truncated |= part.truncated;
        statistics.profile = both(statistics.profile, part.profile);
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
            system.give_up_when(monitor.enough(0));
            let trace = path(&logs, found.at).and_then(|mut path| {
                path.extend(found.step);
                retrace(&mut system, &path, monitor.patience())
            });
            violated(&system, found.finding, trace)
        }
        // A worker that panicked left some states unexplored. The thread has reported the panic
        // itself.
        None if lost_worker => unviolated(Some(StopReason::Interrupted), truncated, T::EXACT),
        None => unviolated(monitor.reason(), truncated, T::EXACT),
    };
    monitor.conclude(&mut statistics, store, Duration::ZERO);
    Outcome { verdict, statistics }
}
