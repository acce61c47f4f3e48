//! The results of a distributed run, and how workers exchange them.

use crate::links::Link;
use crate::reach::{Counts, Found};
use crate::wire::{Cursor, put_number, put_reason};
use contract::{FaultCode, Finding, StopReason, Traffic};

/// The results of one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Its numbers.
    pub counts: Counts,
    /// The memory of its store at the end.
    pub store_bytes: u64,
    /// The peak memory of the store.
    pub store_peak_bytes: u64,
    /// The peak memory of the search.
    pub search_bytes: u64,
    /// The number of parcels it sent.
    pub parcels: u64,
    /// The number of bytes in them.
    pub bytes: u64,
    /// Why it stopped early, if it did.
    pub stopped: Option<StopReason>,
}

/// The combined results of all workers.
pub(crate) fn traffic(parts: &[Part]) -> Traffic {
    let sum = |number: fn(&Part) -> u64| parts.iter().map(number).sum();
    Traffic {
        states_by_worker: parts.iter().map(|part| part.counts.states).collect(),
        cross_steps: sum(|part| part.counts.cross),
        steps: sum(|part| part.counts.transitions),
        sent: sum(|part| part.counts.sent),
        spared: sum(|part| part.counts.spared),
        passed_on: sum(|part| part.counts.passed_on),
        parcels: sum(|part| part.parcels),
        bytes: sum(|part| part.bytes),
    }
}

impl Part {
    pub(crate) fn to_bytes(&self, found: Option<&Found>) -> Vec<u8> {
        let Counts { states, transitions, depth, expanded, cross, sent, spared, passed_on, truncated } = self.counts;
        let mut to = Vec::new();
        let numbers = [states, transitions, depth, expanded, cross, sent, spared, passed_on, u64::from(truncated)];
        let sizes = [self.store_bytes, self.store_peak_bytes, self.search_bytes, self.parcels, self.bytes];
        numbers.into_iter().chain(sizes).for_each(|number| put_number(&mut to, number));
        put_reason(&mut to, self.stopped.as_ref());
        if let Some(found) = found {
            let code = if let Finding::Fault(code) = found.finding { code.get() } else { 0 };
            let step = found.step.map_or(0, |step| u64::from(step) + 1);
            [found.length, found.at.0, step, u64::from(code)].into_iter().for_each(|number| put_number(&mut to, number));
        }
        to
    }

    /// The results of a worker, and its finding: the position, the step, and the fault, if it is
    /// one.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Part, Option<Place>)> {
        let mut cursor = Cursor(bytes);
        let mut number = || cursor.number();
        let counts = Counts {
            states: number()?,
            transitions: number()?,
            depth: number()?,
            expanded: number()?,
            cross: number()?,
            sent: number()?,
            spared: number()?,
            passed_on: number()?,
            truncated: number()? != 0,
        };
        let (store_bytes, store_peak_bytes, search_bytes, parcels, bytes) = (number()?, number()?, number()?, number()?, number()?);
        let stopped = cursor.reason()?;
        let part = Part { counts, store_bytes, store_peak_bytes, search_bytes, parcels, bytes, stopped };
        let place = match cursor.number() {
            None => None,
            Some(length) => {
                let (at, step, code) = (Link(cursor.number()?), cursor.number()?, cursor.number()?);
                Some(Place { length, at, step: step.checked_sub(1).map(|step| step as u32), fault: FaultCode::new(code as u32) })
            }
        };
        Some((part, place))
    }
}

/// The position of a violation, as it is sent to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub length: u64,
    pub at: Link,
    pub step: Option<u32>,
    pub fault: Option<FaultCode>,
}
