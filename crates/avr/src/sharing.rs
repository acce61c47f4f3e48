//! The data that handlers share with the rest of a program, and the points where a step must end
//! because of it.
//!
//! A handler runs to its end before the interrupted code continues. So an interrupt between two
//! instructions that access nothing that handlers access has the same effect as one before both. It
//! is enough to take interrupts before instructions that do access such data. This is a
//! partial-order reduction, carried out in the code.

use crate::chip::{Chip, Kind};
use crate::emit::Before;
use crate::facts::{Enabled, Facts};
use crate::flow::Flow;
use crate::image::Image;
use crate::insn::{Insn, flag};
use crate::live::{Live, Liveness};
use crate::memory::{Memory, Place};
use std::collections::{BTreeMap, BTreeSet};

/// The accesses of handlers, and their consequences.
#[derive(Debug, Default)]
pub struct Sharing {
    /// Handlers that can be taken: number of the vector, entry.
    pub handlers: Vec<(u8, u16)>,
    /// The registers that some instruction writes.
    pub written: [bool; 32],
    /// Instructions directly after one that enables interrupts: they are executed first.
    pub shadowed: BTreeSet<u16>,
    pub reads: BTreeSet<Place>,
    pub writes: BTreeSet<Place>,
    /// Whether handlers read or write through pointers.
    any_read: bool,
    any_write: bool,
    /// Whether every instruction counts as an access to data that handlers access.
    pub all_points: bool,
    /// Writes to these must be visible, because a property refers to them.
    pub observed: BTreeSet<Place>,
    /// Whether the watchdog can reset the device.
    pub resets: bool,
    /// What a reset keeps.
    pub kept: BTreeSet<Place>,
}

impl Sharing {
    pub fn of(flow: &Flow, facts: &Facts, memory: &Memory, chip: &Chip, handlers: Vec<(u8, u16)>, observed: BTreeSet<Place>) -> Sharing {
        let mut sharing = Sharing { handlers, observed, ..Sharing::default() };
        let inside: BTreeSet<u16> = sharing
            .handlers
            .iter()
            .flat_map(|(_, entry)| flow.closure(*entry))
            .flat_map(|entry| flow.functions[&entry].insns.iter().copied().collect::<Vec<_>>())
            .collect();
        let ways = ways_to(flow);
        for (&at, node) in &flow.nodes {
            let Some(insn) = node.insn else { continue };
            let behind = at.wrapping_add(node.len);
            let enables = match insn {
                Insn::Flag { bit: flag::I, set: true } => true,
                Insn::Store { addr, .. } => facts.kind(addr) == Some(Kind::Status),
                _ => false,
            };
            // If the next instruction has another predecessor too, it may be executed after an
            // instruction that enables nothing.
            if enables && ways.get(&behind) == Some(&1) {
                sharing.shadowed.insert(behind);
            }
            writes_registers(&insn, &mut sharing.written);
            let Some(access) = facts.access(at, &insn).filter(|_| inside.contains(&at)) else { continue };
            match access.addr.map(|addr| memory.place(addr)) {
                Some(place) => {
                    sharing.reads.extend(access.reads.then_some(place));
                    sharing.writes.extend(access.writes.then_some(place));
                }
                None => {
                    sharing.any_read |= access.reads;
                    sharing.any_write |= access.writes;
                }
            }
        }
        // Devices read and change these registers.
        for source in chip.sources.iter().filter(|source| sharing.handlers.iter().any(|(vector, _)| *vector == source.vector)) {
            sharing.reads.insert(Place::Io(source.mask.0));
            sharing.reads.extend(source.needs.map(|(addr, _)| Place::Io(addr)));
            if let Some(pins) = source.pins {
                sharing.reads.extend([pins.port, pins.port - 1, pins.edge.register()].map(Place::Io));
            }
            sharing.writes.extend(source.flag.map(|(addr, _)| Place::Io(addr)));
        }
        sharing
    }

    /// Whether an interrupt before an instruction can make a difference.
    fn matters(&self, at: u16, insn: &Insn, facts: &Facts, memory: &Memory) -> bool {
        if self.all_points {
            return true;
        }
        match insn {
            Insn::Flag { bit: flag::I, set: false } | Insn::Sleep => return true,
            Insn::Store { addr, .. } if facts.kind(*addr) == Some(Kind::Status) => return true,
            _ => {}
        }
        let Some(access) = facts.access(at, insn) else { return false };
        match access.addr.map(|addr| memory.place(addr)) {
            Some(Place::Stack | Place::Register(_)) => false,
            Some(place) => {
                let (read, written) = (self.any_read || self.reads.contains(&place), self.any_write || self.writes.contains(&place));
                // A pointer of a handler does not point to a register of a device.
                let (read, written) = match place {
                    Place::Io(_) => (self.reads.contains(&place), self.writes.contains(&place)),
                    _ => (read, written),
                };
                (access.reads && written)
                    || (access.writes && (read || written || self.observed.contains(&place) || self.kept.contains(&place)))
            }
            None => {
                let objects = |places: &BTreeSet<Place>| places.iter().any(|place| matches!(place, Place::Object(_)));
                let written = self.any_write || objects(&self.writes);
                let read = self.any_read || objects(&self.reads);
                written || (access.writes && read)
            }
        }
    }
}

fn writes_registers(insn: &Insn, written: &mut [bool; 32]) {
    let mut mark = |r: u8| written[r as usize] = true;
    match *insn {
        Insn::Add { d, .. }
        | Insn::Sub { d, .. }
        | Insn::Logic { d, .. }
        | Insn::Mov { d, .. }
        | Insn::SubI { d, .. }
        | Insn::LogicI { d, .. }
        | Insn::Ldi { d, .. }
        | Insn::One { d, .. }
        | Insn::Bld { d, .. }
        | Insn::Load { d, .. }
        | Insn::Pop { d } => mark(d),
        Insn::Movw { d, .. } | Insn::Adiw { d, .. } | Insn::Sbiw { d, .. } => {
            mark(d);
            mark(d + 1);
        }
        Insn::Mul { .. } => {
            mark(0);
            mark(1);
        }
        Insn::Ld { d, ptr, .. } => {
            mark(d);
            mark(ptr);
            mark(ptr + 1);
        }
        Insn::St { ptr, .. } => {
            mark(ptr);
            mark(ptr + 1);
        }
        Insn::Lpm { d, .. } => {
            mark(d);
            mark(30);
            mark(31);
        }
        Insn::Store { addr, .. } if addr < 32 => mark(addr as u8),
        _ => {}
    }
}

/// The bits of an input that an instruction chooses and that matter; 0 if it chooses none.
pub fn chosen(at: u16, insn: &Insn, facts: &Facts, after: &Live) -> u8 {
    let (addr, mask) = match *insn {
        Insn::Load { d, addr } => (addr, after.regs[d as usize]),
        Insn::SkipIo { addr, bit, .. } => (addr, 1 << bit),
        Insn::Ld { d, .. } => match facts.resolved(at) {
            Some(addr) => (addr, after.regs[d as usize]),
            None => return 0,
        },
        _ => return 0,
    };
    match facts.kind(addr) {
        None | Some(Kind::Plain | Kind::Stack { .. } | Kind::Status) => 0,
        Some(_) => mask,
    }
}

/// The number of instructions from which each instruction is reached, within functions.
fn ways_to(flow: &Flow) -> BTreeMap<u16, usize> {
    let mut ways: BTreeMap<u16, usize> = BTreeMap::new();
    for &at in flow.nodes.keys() {
        for next in flow.next(at) {
            *ways.entry(next).or_default() += 1;
        }
    }
    ways
}

/// How the step before each instruction ends.
pub fn steps(image: &Image, flow: &Flow, facts: &Facts, memory: &Memory, sharing: &Sharing, liveness: &Liveness) -> BTreeMap<u16, Before> {
    let mut steps = BTreeMap::new();
    let joins = ways_to(flow);
    // A property can refer to the watchdog, so the steps that reset it are visible.
    let watched = memory.io.contains_key(&image.chip.watchdog.0);
    let points = loop_points(flow, facts);
    let mut last = None;
    for (&at, node) in &flow.nodes {
        let Some(insn) = node.insn else { continue };
        let line = image.debug.line(u32::from(at) * 2);
        let after = liveness.after(flow, facts, at);
        let enabled = facts.enabled(at) != Enabled::No && !sharing.handlers.is_empty() || sharing.resets;
        let before = if chosen(at, &insn, facts, &after) != 0
            || matches!(insn, Insn::Sleep)
            || (watched && insn == Insn::Wdr)
            || points.get(&at) == Some(&false)
        {
            Before::Choice
        } else if enabled && (sharing.matters(at, &insn, facts, memory) || points.contains_key(&at)) && !sharing.shadowed.contains(&at) {
            Before::Point
        } else if line != last || joins.get(&at).is_some_and(|ways| *ways > 1) || points.contains_key(&at) {
            Before::Line
        } else {
            Before::Nothing
        };
        last = line;
        if before != Before::Nothing {
            steps.insert(at, before);
        }
    }
    // A step ends after a write to a variable that a property refers to.
    for (&at, node) in &flow.nodes {
        let Some(insn) = node.insn else { continue };
        if !shows(at, &insn, flow, facts, memory, sharing) {
            continue;
        }
        for next in flow.next(at) {
            let before = steps.entry(next).or_insert(Before::Nothing);
            if !matches!(before, Before::Point | Before::Choice) || (*before == Before::Point && facts.enabled(next) != Enabled::Yes) {
                *before = Before::Choice;
            }
        }
    }
    steps
}

/// Whether an instruction completes a write to a variable that a property refers to. A variable of
/// several bytes is written by several instructions; only the last one shows its value.
fn shows(at: u16, insn: &Insn, flow: &Flow, facts: &Facts, memory: &Memory, sharing: &Sharing) -> bool {
    let Some(access) = facts.access(at, insn).filter(|access| access.writes) else { return false };
    let Some(addr) = access.addr else { return sharing.observed.iter().any(|place| matches!(place, Place::Object(_))) };
    let place = memory.place(addr);
    if !sharing.observed.contains(&place) {
        return false;
    }
    !more_of(at, addr, place, flow, facts, memory)
}

/// Whether the code that follows directly writes another byte of the variable.
pub fn more_of(at: u16, addr: u16, place: Place, flow: &Flow, facts: &Facts, memory: &Memory) -> bool {
    let Place::Object(index) = place else { return false };
    if memory.objects[index].scalar.size == 1 {
        return false;
    }
    let leaders = flow.leaders();
    let mut next = at;
    for _ in 0..8 {
        next = next.wrapping_add(flow.nodes.get(&next).map_or(1, |node| node.len));
        let Some(insn) = flow.nodes.get(&next).and_then(|node| node.insn) else { return false };
        if leaders.contains(&next) {
            return false;
        }
        let written = facts.access(next, &insn).filter(|access| access.writes).and_then(|access| access.addr);
        if written.is_some_and(|other| memory.place(other) == place && other != addr) {
            return true;
        }
    }
    false
}

/// Loops that must not become a single step: their first instructions, and whether an interrupt can
/// be taken there.
fn loop_points(flow: &Flow, facts: &Facts) -> BTreeMap<u16, bool> {
    let mut points = BTreeMap::new();
    for &at in flow.nodes.keys() {
        for head in flow.next(at).into_iter().filter(|head| *head <= at) {
            let body: Vec<u16> = flow.nodes.range(head..=at).map(|(at, _)| *at).collect();
            let leaves = |at: &u16| match flow.nodes[at].insn {
                Some(Insn::Ret | Insn::Reti | Insn::Ijmp) | None => true,
                _ => flow.next(*at).iter().any(|to| !(head..=body[body.len() - 1]).contains(to)),
            };
            let plain = |at: &u16| match &flow.nodes[at].insn {
                Some(insn) => facts.access(*at, insn).is_none() && flow.callees(*at).is_empty() && !matches!(insn, Insn::Sleep),
                None => true,
            };
            let enabled = facts.enabled(head) != Enabled::No;
            if !body.iter().any(leaves) {
                // It runs for ever. Each iteration is a visible step.
                points.insert(head, enabled);
            } else if enabled && !body.iter().all(plain) {
                points.entry(head).or_insert(true);
            }
        }
    }
    points
}
