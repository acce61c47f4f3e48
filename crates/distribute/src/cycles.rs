//! Accepting cycles by several workers: one of four algorithms finds a state on a cycle, and two
//! searches for paths make a run of it.

use crate::classes::Start;
use crate::dependencies::{Searched, dependencies};
use crate::explore::{explore, statistics};
use crate::flow::Abandoned;
use crate::gauge::{Gauge, Resident};
use crate::levels::levels;
use crate::owner::{Owners, PartOf};
use crate::predecessors::predecessors;
use crate::reach::{Counts, Thrift, Work};
use crate::report::{Part, traffic};
use crate::seat::Seat;
use crate::share::{Share, Vertex};
use crate::visited::Seen;
use crate::wire::put_bytes;
use crate::young::{choose, tally, young};
use contract::{
    Answer, Enough, Fault, FaultCode, Finding, Interest, Limits, Outcome, Property, StopReason, Store, Successors, System, Trace, Verdict,
    Violation, ViolationKind,
};
use std::sync::Arc;
use std::time::Instant;
use store::Plain;

/// The algorithm that finds accepting cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// One way catch them young; with `weak`, for automata in whose components all states are
    /// accepting or none is.
    Young {
        /// One pass is enough.
        weak: bool,
    },
    /// Maximal accepting predecessors.
    Predecessors,
    /// Back-level edges.
    Levels,
    /// Nested depth-first searches in the order of dependency structures.
    Dependencies,
}

/// The task of a worker that searches for an accepting cycle.
pub struct Search<'a> {
    /// The system to explore.
    pub system: &'a mut dyn System,
    /// Which states are accepting.
    pub accepts: &'a (dyn Fn(&[u8]) -> bool + Sync),
    /// The property, which judges faults of steps.
    pub property: &'a dyn Property,
    /// The part of a state that determines its owner.
    pub part: Option<PartOf>,
    /// The limits; memory is that of the process.
    pub limits: Limits,
    /// Measures the process.
    pub resident: Option<Resident>,
}

/// Looks for an accepting cycle. Every worker calls this; worker 0 gets the run.
pub fn cycles(seat: &mut Seat<'_>, mut search: Search<'_>, method: Method) -> Result<Outcome, Abandoned> {
    let begun = Instant::now();
    let before = seat.sent();
    let owners = Owners::new(seat.workers(), search.part.clone());
    let mut part = Part::default();
    let gauge = Gauge::new(search.limits.memory, search.resident.clone());
    let (found, fault) = if method == Method::Dependencies {
        let Searched { found, fault, kept, visits, transitions, cross } = dependencies(seat, search.system, search.accepts, owners, gauge)?;
        part.counts = Counts { states: kept, expanded: visits, transitions, cross, sent: cross, ..Counts::default() };
        (found, fault)
    } else {
        let mut share =
            Share::new((seat.me(), seat.local()), Arc::clone(seat.shared()), &mut *search.system, search.accepts, owners, gauge);
        let vertex = on_shares(seat, &mut share, method)?;
        let states = share.len() as u64;
        part.counts = Counts {
            states,
            expanded: states,
            transitions: share.transitions,
            depth: u64::from(share.depth()),
            cross: share.cross,
            sent: share.cross,
            ..Counts::default()
        };
        part.store_bytes = share.bytes();
        part.store_peak_bytes = part.store_bytes;
        let mut bytes = Vec::new();
        if let Some(vertex) = vertex.filter(|vertex| vertex.worker() == seat.me()) {
            put_bytes(&mut bytes, share.state(vertex.number()));
        }
        let all = seat.gather(&bytes)?;
        let found = all.iter().find_map(|bytes| crate::wire::Cursor(bytes).bytes()).map(<[u8]>::to_vec);
        (found, share.fault.is_some())
    };
    (part.parcels, part.bytes) = (seat.sent().0 - before.0, seat.sent().1 - before.1);
    part.stopped = seat.shared().reason();
    let all = seat.gather(&part.to_bytes(None))?;
    let parts: Vec<Part> = all.iter().filter_map(|bytes| Part::read(bytes)).map(|(part, _)| part).collect();
    let mut statistics = statistics(&parts);
    statistics.traffic = Some(traffic(&parts));
    let stopped = parts.iter().find_map(|part| part.stopped.clone());
    let (faults, _) = tally(seat, u64::from(fault))?;
    let verdict = match found {
        // The result is reported although the time is up.
        Some(state) => lasso(seat, &mut search, state)?,
        // A step is a violation in itself: the path to it is found breadth-first.
        None if faults > 0 => {
            let property = search.property;
            path(seat, &mut *search.system, property, &search.part, search.limits, &search.resident)?.verdict
        }
        None => stopped.map_or(Verdict::Holds, Verdict::Unknown),
    };
    statistics.elapsed = begun.elapsed();
    Ok(Outcome { verdict, statistics })
}

/// A state on an accepting cycle, found by an algorithm on the graph.
fn on_shares(seat: &mut Seat<'_>, share: &mut Share<'_>, method: Method) -> Result<Option<Vertex>, Abandoned> {
    if method == Method::Levels {
        return levels(seat, share);
    }
    seat.drive(share)?;
    if tally(seat, 0)?.1 {
        return Ok(None);
    }
    let Method::Young { weak } = method else { return predecessors(seat, share, &vec![true; share.len()]) };
    let Some(left) = young(seat, share, weak)? else { return choose(seat, None) };
    // Some states are left, so there is a cycle; a state on it is found among them.
    predecessors(seat, share, &left)
}

/// A run to a state and from there, past an accepting state, back to it.
fn lasso(seat: &mut Seat<'_>, search: &mut Search<'_>, state: Vec<u8>) -> Result<Verdict, Abandoned> {
    let fault = Fault::new(ViolationKind::Property, "an accepted cycle");
    let (part, limits) = (search.part.clone(), Limits { depth: None, ..search.limits });
    let to = Goal { state: state.clone() };
    let prefix = path(seat, &mut *search.system, &to, &part, limits, &search.resident)?;
    let mut behind = Behind { system: &mut *search.system, accepts: search.accepts, start: state.clone() };
    let mut again = state;
    again.push(1);
    // A state with an additional byte has the same owner as the state.
    let part: PartOf = match part {
        Some(part) => Arc::new(move |state: &[u8], out: &mut Vec<u8>| part(&state[..state.len() - 1], out)),
        None => Arc::new(|state: &[u8], out: &mut Vec<u8>| out.extend_from_slice(&state[..state.len() - 1])),
    };
    let round = path(seat, &mut behind, &Goal { state: again }, &Some(part), limits, &search.resident)?;
    let (Verdict::Violated(prefix), Verdict::Violated(round)) = (prefix.verdict, round.verdict) else {
        return Ok(Verdict::Unknown(StopReason::TraceLost(fault)));
    };
    let Trace { initial, mut steps, .. } = prefix.trace;
    let loop_start = Some(steps.len());
    steps.extend(round.trace.steps.into_iter().map(|mut step| {
        step.state.as_mut().map(Vec::pop);
        step
    }));
    Ok(Verdict::Violated(Box::new(Violation { fault, trace: Trace { initial, steps, loop_start } })))
}

/// Searches breadth-first for a violation of a property.
fn path(
    seat: &mut Seat<'_>,
    system: &mut dyn System,
    property: &dyn Property,
    part: &Option<PartOf>,
    limits: Limits,
    resident: &Option<Resident>,
) -> Result<Outcome, Abandoned> {
    let here = seat.shared().published.len().max(1) as u64;
    let store = Plain::with_budget(limits.memory.map_or(u64::MAX, |memory| memory / here));
    let visited = Seen { worker: Box::new(store.worker()), budgeted: store.budgeted(), exact: true, saveable: None };
    let owners = Owners::new(seat.workers(), part.clone());
    let (thrift, start) = (Thrift::default(), Start::Equal);
    explore(
        seat,
        Work {
            system,
            property,
            owners,
            workers: seat.workers(),
            start,
            limits,
            resident: resident.clone(),
            thrift,
            saving: None,
            resume: None,
        },
        visited,
    )
}

/// Stops at a state.
struct Goal {
    state: Vec<u8>,
}

impl Property for Goal {
    fn interest(&self) -> Interest {
        Interest { states: true, edges: false }
    }

    fn state(&self, state: &[u8]) -> Answer {
        if state == self.state {
            Answer::Stop(Finding::Explained(Fault::new(ViolationKind::Property, "reached")))
        } else {
            Answer::Continue
        }
    }

    fn fault(&self, _: FaultCode, _: bool) -> Answer {
        Answer::Prune
    }
}

/// The part of the system after a state. Each state has one more byte, which says whether an
/// accepting state was passed. The start itself does not count when the path begins.
struct Behind<'a> {
    system: &'a mut dyn System,
    accepts: &'a (dyn Fn(&[u8]) -> bool + Sync),
    start: Vec<u8>,
}

/// The value of the byte before the first step.
const NOT_BEGUN: u8 = 2;

impl System for Behind<'_> {
    fn initial(&mut self, out: &mut Successors) {
        let mut state = self.start.clone();
        state.push(NOT_BEGUN);
        out.push(&state, contract::Action::default());
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let Some((&flag, inside)) = state.split_last() else { return };
        let passed = flag == 1 || (self.accepts)(inside);
        let before = out.set_tail(out.tail() + 1);
        let first = out.len();
        self.system.successors(inside, out);
        for index in first..out.len() {
            if let Some(tail) = out.tail_mut(index).and_then(<[u8]>::first_mut) {
                *tail = u8::from(passed);
            }
        }
        out.set_tail(before);
    }

    fn give_up_when(&mut self, enough: Enough) {
        self.system.give_up_when(enough);
    }

    fn is_valid_end(&mut self, _: &[u8]) -> bool {
        true
    }
}
