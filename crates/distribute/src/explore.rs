//! A breadth-first search by all workers together, from the beginning to the outcome.

use crate::flow::Abandoned;
use crate::links::{self, Log};
use crate::reach::{Reach, Work};
use crate::report::{Part, Place, traffic};
use crate::seat::Seat;
use crate::visited::Seen;
use contract::{Action, Answer, Fault, Finding, Outcome, Property, Statistics, StopReason, Successors, System, Trace, TraceStep};
use contract::{Verdict, Violation, ViolationKind};
use std::collections::BTreeMap;
use std::time::Instant;

/// Explores a system. Every worker calls this with its own copy of the system and its own store.
/// Only worker 0 gets the trace of a violation.
pub fn explore(seat: &mut Seat<'_>, work: Work<'_>, visited: Seen<'_>) -> Result<Outcome, Abandoned> {
    let begun = Instant::now();
    let (me, property, exact) = (seat.me(), work.property, visited.exact);
    let before = seat.sent();
    let mut reach = Reach::new(me, seat.local(), work, visited, seat.shared().clone());
    let loaded = reach.load().err().map(|error| error.to_string());
    let failed = seat.gather(loaded.as_deref().unwrap_or_default().as_bytes())?;
    if let Some(why) = failed.into_iter().find(|why| !why.is_empty()) {
        let why = String::from_utf8_lossy(&why).into_owned();
        return Ok(Outcome { verdict: Verdict::Unknown(StopReason::Storage(why)), statistics: Statistics::default() });
    }
    seat.drive(&mut reach)?;
    if let Some(why) = reach.unsaved() {
        seat.shared().tell(format!("a checkpoint could not be written: {why}"));
    }
    let (parcels, bytes) = (seat.sent().0 - before.0, seat.sent().1 - before.1);
    let budgeted = reach.visited.store.budgeted;
    let part = Part {
        counts: reach.counts,
        store_bytes: budgeted.map_or(0, |store| store.bytes()),
        store_peak_bytes: budgeted.map_or(0, |store| store.peak_bytes()),
        search_bytes: reach.peak,
        parcels,
        bytes,
        stopped: seat.shared().reason(),
    };
    let all = seat.gather(&part.to_bytes(reach.found.as_ref()))?;
    let (parts, places): (Vec<Part>, Vec<Option<Place>>) = all.iter().filter_map(|bytes| Part::read(bytes)).unzip();
    let best = places.into_iter().flatten().min_by_key(|place| (place.length, place.at));
    let stopped = parts.iter().find_map(|part| part.stopped.clone());
    let truncated = parts.iter().any(|part| part.counts.truncated);
    let verdict = match best {
        Some(place) => {
            let mut logs: BTreeMap<usize, &Log> = [(me, &reach.log), (seat.workers() + me, &reach.side)].into();
            logs.extend(reach.old.iter().map(|(&number, log)| (number, log)));
            let steps = links::path(seat, &logs, place.at)?;
            // The workers were told to stop; this one still has to execute a path.
            reach.system().give_up_when(contract::Enough::default());
            violation(reach.system(), property, &place, steps)
        }
        None => match stopped {
            Some(reason) => Verdict::Unknown(reason),
            None if truncated => Verdict::Unknown(StopReason::Depth),
            None if !exact => Verdict::Unknown(StopReason::LossyStore),
            None => Verdict::Holds,
        },
    };
    let mut statistics = statistics(&parts);
    statistics.elapsed = begun.elapsed();
    statistics.traffic = Some(traffic(&parts));
    Ok(Outcome { verdict, statistics })
}

pub(crate) fn statistics(parts: &[Part]) -> Statistics {
    let sum = |number: fn(&Part) -> u64| parts.iter().map(number).sum();
    Statistics {
        states: sum(|part| part.counts.states),
        transitions: sum(|part| part.counts.transitions),
        depth: parts.iter().map(|part| part.counts.depth).max().unwrap_or(0),
        store_bytes: sum(|part| part.store_bytes),
        store_peak_bytes: sum(|part| part.store_peak_bytes),
        search_bytes: sum(|part| part.search_bytes),
        expanded_by_worker: parts.iter().map(|part| part.counts.expanded).collect(),
        ..Statistics::default()
    }
}

/// The verdict for a violation at the end of a path.
fn violation(system: &mut dyn System, property: &dyn Property, place: &Place, steps: Option<Vec<u32>>) -> Verdict {
    let mut trace = steps.and_then(|steps| execute(system, &steps));
    if let (Some(step), Some(path)) = (place.step, &mut trace) {
        let mut out = Successors::new();
        system.successors(path.last_state(), &mut out);
        match out.entries().get(step as usize) {
            Some(entry) => path.steps.push(TraceStep { action: entry.action, state: out.state(entry).map(<[u8]>::to_vec) }),
            None => trace = None,
        }
    }
    let finding = match (place.fault, &trace) {
        (Some(code), _) => Some(Finding::Fault(code)),
        // The property is asked again about the state that was reached.
        (None, Some(trace)) => found_at(system, property, trace.last_state()),
        (None, None) => None,
    };
    let fault = match finding {
        Some(Finding::Fault(code)) => system.describe_fault(code),
        Some(Finding::Explained(fault)) => fault,
        None => Fault::new(ViolationKind::Other("violation"), "another worker found it"),
    };
    match trace {
        Some(trace) => Verdict::Violated(Box::new(Violation { fault, trace })),
        None => Verdict::Unknown(StopReason::TraceLost(fault)),
    }
}

fn found_at(system: &mut dyn System, property: &dyn Property, state: &[u8]) -> Option<Finding> {
    if let Answer::Stop(finding) = property.state(state) {
        return Some(finding);
    }
    let valid = system.is_valid_end(state);
    if let Answer::Stop(finding) = property.terminal(state, valid) { Some(finding) } else { None }
}

/// The path of these steps, each given by its index, from an initial state. `None` if the system
/// does not have it.
pub(crate) fn execute(system: &mut dyn System, steps: &[u32]) -> Option<Trace> {
    let (&first, rest) = steps.split_first()?;
    let mut out = Successors::new();
    system.initial(&mut out);
    let entry = out.entries().get(first as usize)?;
    let Some(initial) = out.state(entry) else { return rest.is_empty().then(Trace::default) };
    let mut trace = Trace { initial: initial.to_vec(), ..Trace::default() };
    for &step in rest {
        out.clear();
        system.successors(trace.last_state(), &mut out);
        let entry = out.entries().get(step as usize)?;
        let action: Action = entry.action;
        let state = out.state(entry)?.to_vec();
        trace.steps.push(TraceStep { action, state: Some(state) });
    }
    Some(trace)
}
