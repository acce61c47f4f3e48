//! Accesses to variables of several bytes that an interrupt can divide.
//!
//! The processor moves one byte at a time, so a variable of two bytes is read by two instructions.
//! If a handler that writes the variable runs in between, the value that was read never existed.
//! The first access of such a group stores a *note*, the last one clears it, and a handler that
//! finds the note of a variable it accesses has divided the group.

use crate::facts::{Enabled, Facts};
use crate::flow::Flow;
use crate::memory::{Memory, Place};
use crate::sharing::Sharing;
use std::collections::{BTreeMap, BTreeSet};

/// The part of an instruction in a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Race {
    /// A group begins; the number of its note.
    Begin(u16),
    End,
    /// The note must not be one of these; and the variable.
    Check {
        written: u16,
        any: Option<u16>,
        name: usize,
    },
}

/// The number of the note of a group that reads or writes.
fn note(object: usize, writes: bool) -> u16 {
    object as u16 * 2 + 1 + u16::from(writes)
}

/// Finds the groups, and the accesses of handlers that may divide them.
pub fn find(flow: &Flow, facts: &Facts, memory: &Memory, sharing: &Sharing) -> BTreeMap<u16, Race> {
    let mut races = BTreeMap::new();
    let in_handler: BTreeSet<u16> = sharing
        .handlers
        .iter()
        .flat_map(|(_, entry)| flow.closure(*entry))
        .flat_map(|entry| flow.functions[&entry].insns.iter().copied().collect::<Vec<_>>())
        .collect();
    let leaders = flow.leaders();
    let object_of = |at: u16| -> Option<(usize, u16, bool)> {
        let access = facts.access(at, flow.nodes.get(&at)?.insn.as_ref()?)?;
        let addr = access.addr?;
        let Place::Object(index) = memory.place(addr) else { return None };
        let object = &memory.objects[index];
        (object.scalar.size > 1 && object.count.is_none() && index < 0x7fff).then_some((index, addr, access.writes))
    };
    for &at in flow.nodes.keys() {
        let Some((index, _, writes)) = object_of(at) else { continue };
        let place = Place::Object(index);
        if in_handler.contains(&at) {
            let written = note(index, true);
            let any = writes.then_some(note(index, false));
            races.insert(at, Race::Check { written, any, name: index });
            continue;
        }
        let conflicts = sharing.writes.contains(&place) || (writes && sharing.reads.contains(&place));
        if !conflicts || races.contains_key(&at) {
            continue;
        }
        let mut seen = BTreeSet::from([object_of(at).map(|(_, addr, _)| addr)]);
        let mut last = None;
        let mut next = at;
        for _ in 0..12 {
            next = next.wrapping_add(flow.nodes.get(&next).map_or(1, |node| node.len));
            if leaders.contains(&next) || !flow.nodes.contains_key(&next) || facts.enabled(next) == Enabled::No {
                break;
            }
            if let Some((other, addr, other_writes)) = object_of(next)
                && other == index
            {
                if other_writes != writes || !seen.insert(Some(addr)) {
                    break;
                }
                last = Some(next);
            }
        }
        if let Some(last) = last {
            races.insert(at, Race::Begin(note(index, writes)));
            races.insert(last, Race::End);
        }
    }
    races
}
