//! Accesses to variables of several bytes that an interrupt can divide.
//!
//! The processor moves one byte at a time, so a variable of two bytes is read by two instructions.
//! If a handler that writes the variable runs in between, the value that was read never existed.
//! The first access of such a group stores a *note*, the last one clears it, and a handler that
//! finds the note of a variable it accesses has divided the group. The note is the address of the
//! variable, so an element of an array with a variable index has one too.
//!
//! The same code can be both: a function that the main program and a handler call, or a handler
//! that enables interrupts. So a group begins and ends only while interrupts are enabled, and an
//! access within a group is checked only while they are disabled. The first access of a group is
//! always checked: a note is found there only if another group was interrupted.

use crate::facts::{Enabled, Facts};
use crate::flow::Flow;
use crate::groups;
use crate::memory::{Memory, Place};
use crate::sharing::Sharing;
use std::collections::{BTreeMap, BTreeSet};

/// The role of an instruction in races.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Race {
    /// A group begins; the number of its note.
    pub begins: Option<u16>,
    pub ends: bool,
    /// The check of an access in a handler.
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

/// The role of an access through a pointer. The variable that it accesses is known only when it is
/// executed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Through {
    /// The distances to the bytes that its group accesses before and behind it.
    pub before: Vec<i32>,
    pub behind: Vec<i32>,
    pub writes: bool,
    /// Whether it may divide another group: it is in a handler.
    pub divides: bool,
}

/// The roles of all instructions.
#[derive(Debug, Default)]
pub struct Races {
    pub named: BTreeMap<u16, Race>,
    pub through: BTreeMap<u16, Through>,
}

/// The note of a group that reads or writes the scalar at this address.
pub fn note(scalar: u16, writes: bool) -> u16 {
    scalar * 2 + 1 + u16::from(writes)
}

/// Finds the groups, and the accesses of handlers that may divide them.
pub fn find(flow: &Flow, facts: &Facts, memory: &Memory, sharing: &Sharing) -> Races {
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
        Some((index, memory.number(addr)?, addr, access.writes))
    };
    // The accesses between the first and the last one of a group begin no group of their own.
    let mut between: BTreeSet<u16> = BTreeSet::new();
    for &at in flow.nodes.keys() {
        let Some((index, scalar, addr, writes)) = access_of(at) else { continue };
        if in_handler.contains(&at) {
            let check = Check { written: note(scalar, true), read: writes.then(|| note(scalar, false)), object: index };
            races.entry(at).or_default().check = Some(check);
        }
        let place = Place::Object(index);
        let written = sharing.any_write || sharing.writes.contains(&place);
        let conflicts = written || writes && (sharing.any_read || sharing.reads.contains(&place));
        let taken = between.contains(&at) || races.get(&at).is_some_and(|race| race.begins.is_some() || race.ends);
        if !conflicts || taken || facts.enabled(at) == Enabled::No {
            continue;
        }
        let mut seen = BTreeSet::from([addr]);
        let (mut last, mut members) = (None, Vec::new());
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
                members.extend(last);
                last = Some(next);
            }
        }
        if let Some(last) = last {
            races.entry(at).or_default().begins = Some(note(scalar, writes));
            races.entry(last).or_default().ends = true;
            between.extend(members);
        }
    }
    races.retain(|_, race| *race != Race::default());
    let through = if sharing.handlers.is_empty() { BTreeMap::new() } else { pointers(flow, facts, &in_handler, &leaders) };
    Races { named: races, through }
}

/// The accesses through pointers: their groups, and whether they may divide others.
fn pointers(flow: &Flow, facts: &Facts, in_handler: &BTreeSet<u16>, leaders: &BTreeSet<u16>) -> BTreeMap<u16, Through> {
    let mut all: BTreeMap<u16, Through> = BTreeMap::new();
    let is_safe = |at: u16| facts.enabled(at) == Enabled::No;
    for (&at, node) in &flow.nodes {
        let Some(access) = node.insn.as_ref().and_then(|insn| facts.access(at, insn)).filter(|access| access.addr.is_none()) else {
            continue;
        };
        let behind = if is_safe(at) { Vec::new() } else { groups::behind(at, flow, facts, leaders, &is_safe) };
        for (other, distance) in &behind {
            all.entry(*other).or_default().before.push(-distance);
        }
        let own = all.entry(at).or_default();
        own.behind = behind.into_iter().map(|(_, distance)| distance).collect();
        (own.writes, own.divides) = (access.writes, in_handler.contains(&at));
    }
    all.retain(|_, through| through.divides || !through.before.is_empty() || !through.behind.is_empty());
    all
}
