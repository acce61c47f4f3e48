//! Accesses to variables of several bytes that an interrupt can divide.
//!
//! The processor moves one byte at a time, so a variable of two bytes is read by two instructions.
//! If a handler that writes the variable runs in between, the value that was read never existed.
//! The first access of such a group stores a *note*, the last one clears it, and a handler that
//! finds the note of a variable it accesses has divided the group.
//!
//! The same code can be both: a function that the main program and a handler call, or a handler
//! that enables interrupts. So a group begins and ends only while interrupts are enabled, and an
//! access within a group is checked only while they are disabled. The first access of a group is
//! always checked: a note is found there only if another group was interrupted.

use crate::facts::{Enabled, Facts};
use crate::flow::Flow;
use crate::memory::{Memory, Place};
use crate::sharing::Sharing;
use std::collections::{BTreeMap, BTreeSet};

/// The part of an instruction in races.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Race {
    /// A group begins; the number of its note.
    pub begins: Option<u16>,
    pub ends: bool,
    /// In a handler.
    pub check: Option<Check>,
}

/// An access that may divide a group: the note must not be one of these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Check {
    pub written: u16,
    pub read: Option<u16>,
    /// The number of the variable.
    pub object: usize,
}

/// The numbers of the notes of scalars, by their addresses.
#[derive(Default)]
struct Notes(BTreeMap<u16, u16>);

impl Notes {
    /// The note of a group that reads or writes; `None` if there are too many.
    fn of(&mut self, scalar: u16, writes: bool) -> Option<u16> {
        let fresh = self.0.len() as u16;
        let number = *self.0.entry(scalar).or_insert(fresh);
        number.checked_mul(2)?.checked_add(1 + u16::from(writes))
    }
}

/// Finds the groups, and the accesses of handlers that may divide them.
pub fn find(flow: &Flow, facts: &Facts, memory: &Memory, sharing: &Sharing) -> BTreeMap<u16, Race> {
    let mut races: BTreeMap<u16, Race> = BTreeMap::new();
    let in_handler: BTreeSet<u16> = sharing
        .handlers
        .iter()
        .flat_map(|(_, entry)| flow.closure(*entry))
        .flat_map(|entry| flow.functions[&entry].insns.iter().copied().collect::<Vec<_>>())
        .collect();
    let leaders = flow.leaders();
    // The object, the scalar in it, the address, and whether it is written.
    let access_of = |at: u16| -> Option<(usize, u16, u16, bool)> {
        let access = facts.access(at, flow.nodes.get(&at)?.insn.as_ref()?)?;
        let addr = access.addr?;
        let Place::Object(index) = memory.place(addr) else { return None };
        Some((index, memory.scalar(addr)?, addr, access.writes))
    };
    let mut notes = Notes::default();
    for &at in flow.nodes.keys() {
        let Some((index, scalar, addr, writes)) = access_of(at) else { continue };
        if in_handler.contains(&at) {
            let (written, read) = (notes.of(scalar, true), notes.of(scalar, false));
            let check = written.map(|written| Check { written, read: read.filter(|_| writes), object: index });
            races.entry(at).or_default().check = check;
        }
        let place = Place::Object(index);
        let conflicts = sharing.writes.contains(&place) || (writes && sharing.reads.contains(&place));
        let taken = races.get(&at).is_some_and(|race| race.begins.is_some() || race.ends);
        if !conflicts || taken || facts.enabled(at) == Enabled::No {
            continue;
        }
        let mut seen = BTreeSet::from([addr]);
        let mut last = None;
        let mut next = at;
        for _ in 0..12 {
            next = next.wrapping_add(flow.nodes.get(&next).map_or(1, |node| node.len));
            if leaders.contains(&next) || !flow.nodes.contains_key(&next) || facts.enabled(next) == Enabled::No {
                break;
            }
            if let Some((_, other, addr, other_writes)) = access_of(next)
                && other == scalar
            {
                if other_writes != writes || !seen.insert(addr) {
                    break;
                }
                last = Some(next);
            }
        }
        if let (Some(last), Some(note)) = (last, notes.of(scalar, writes)) {
            races.entry(at).or_default().begins = Some(note);
            races.entry(last).or_default().ends = true;
        }
    }
    races.retain(|_, race| *race != Race::default());
    races
}
