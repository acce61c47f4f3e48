//! The data that handlers share with the rest of a program, and the points where a step must end
//! because of it.
//!
//! A handler runs to its end before the interrupted code continues. So an interrupt between two
//! instructions that access nothing that handlers access has the same effect as one before both. It
//! is enough to take interrupts before instructions that do access such data. This is a
//! partial-order reduction, carried out in the code.

use crate::chip::{Chip, Kind, LATCH, Source};
use crate::clobber::{self, Registers};
use crate::debug::Spot;
use crate::effects::Effects;
use crate::emit::Before;
use crate::environment;
use crate::escape;
use crate::facts::{Access, Enabled, Facts};
use crate::flow::Flow;
use crate::groups;
use crate::image::Image;
use crate::insn::{Insn, Mode, flag};
use crate::live::{Live, Liveness};
use crate::loops;
use crate::memory::{Memory, Place};
use std::collections::{BTreeMap, BTreeSet};

/// The accesses of handlers, and their consequences.
#[derive(Debug, Default)]
pub struct Sharing {
    /// Handlers that can be taken: number of the vector, entry.
    pub handlers: Vec<(u8, u16)>,
    /// Vectors of interrupts that the program may enable and has no handler for.
    pub missing: Vec<u8>,
    /// The registers that handlers change, and those whose values they use.
    pub changed: Registers,
    pub needed: Registers,
    /// The registers that some instruction writes.
    pub written: [bool; 32],
    /// Instructions directly after one that enables interrupts: they are executed first.
    pub shadowed: BTreeSet<u16>,
    pub reads: BTreeSet<Place>,
    pub writes: BTreeSet<Place>,
    /// Whether handlers read or write through pointers.
    pub any_read: bool,
    pub any_write: bool,
    /// Whether such a pointer may lead to the stack of the interrupted code.
    pub stack: bool,
    /// Whether every instruction counts as an access to data that handlers access.
    pub all_points: bool,
    /// Writes to these must be visible, because a property refers to them.
    pub observed: BTreeSet<Place>,
    /// Instructions that complete a write to such a variable.
    pub commits: BTreeSet<u16>,
    /// For those that write through a pointer: the distances to the bytes that are written directly
    /// behind them.
    pub behind: BTreeMap<u16, Vec<i32>>,
    /// Whether a property refers to the interrupt flag or a flag of a device, which change when a
    /// handler is entered.
    pub shows_entries: bool,
    /// Whether the watchdog can reset the device.
    pub resets: bool,
    /// What a reset keeps.
    pub kept: BTreeSet<Place>,
}

impl Sharing {
    /// Finds the data that `handlers` share. `sources` are the interrupts that can happen,
    /// including those without a handler; `needed` are the registers whose values handlers use.
    pub fn of(
        flow: &Flow,
        facts: &Facts,
        memory: &Memory,
        sources: &[&Source],
        handlers: Vec<(u8, u16)>,
        needed: Registers,
        observed: BTreeSet<Place>,
    ) -> Sharing {
        let is_missing = |vector: &u8| handlers.iter().all(|(handled, _)| handled != vector);
        let missing = sources.iter().map(|source| source.vector).filter(is_missing).collect();
        let changes = |place: &Place| matches!(place, Place::Io(addr) if !matches!(facts.kind(*addr), Some(Kind::Pins { .. })));
        let shows_entries = observed.iter().any(changes);
        let mut sharing = Sharing { missing, handlers, needed, observed, shows_entries, ..Sharing::default() };
        let inside: BTreeSet<u16> = sharing
            .handlers
            .iter()
            .flat_map(|(_, entry)| flow.closure(*entry))
            .flat_map(|entry| flow.functions[&entry].insns.iter().copied().collect::<Vec<_>>())
            .collect();
        let (ways, leaders) = (flow.ways(), flow.leaders());
        for (&at, node) in &flow.nodes {
            let Some(insn) = node.insn else { continue };
            let behind = at.wrapping_add(node.len);
            let enables = match facts.direct(at, &insn) {
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
            if completes(at, &insn, flow, facts, memory, &sharing.observed, &leaders) {
                sharing.commits.insert(at);
                let behind = groups::behind(at, flow, facts, &leaders, &|_| false);
                sharing.behind.insert(at, behind.into_iter().map(|(_, distance)| distance).collect());
            }
            let Some(access) = facts.access(at, &insn).filter(|_| inside.contains(&at)) else { continue };
            match access.addr.map(|addr| memory.place(addr)) {
                Some(place) => {
                    sharing.reads.extend(access.reads.then_some(place));
                    sharing.writes.extend(access.writes.then_some(place));
                    if let Place::Io(addr) = place {
                        let effects = Effects::of(addr, &access, facts.chip(), memory);
                        sharing.reads.extend(effects.reads.into_iter().map(Place::Io));
                        sharing.writes.extend(effects.writes.into_iter().map(Place::Io));
                    }
                }
                // The frame of a handler is its own.
                None if escape::is_own_frame(at, &insn, flow, facts) => {}
                None => {
                    sharing.any_read |= access.reads;
                    sharing.any_write |= access.writes;
                }
            }
        }
        // Devices read and change these registers.
        for source in sources {
            sharing.reads.insert(Place::Io(source.mask.0));
            sharing.reads.extend(source.needs.map(|(addr, _)| Place::Io(addr)));
            if let Some(pins) = source.pins {
                sharing.reads.extend([pins.port, pins.port - 1, pins.edge.register()].map(Place::Io));
            }
            sharing.writes.extend(source.flag.map(|(addr, _)| Place::Io(addr)));
            if environment::changes_mask(source, facts.chip()) {
                sharing.writes.insert(Place::Io(source.mask.0));
            }
        }
        sharing.stack = (sharing.any_read || sharing.any_write) && escape::escapes(flow, facts, memory, needed);
        sharing
    }

    /// Whether an interrupt can happen at all.
    pub fn interrupts(&self) -> bool {
        !self.handlers.is_empty() || !self.missing.is_empty()
    }

    /// Whether the interrupt with this vector can happen.
    pub fn is_used(&self, vector: u8) -> bool {
        self.missing.contains(&vector) || self.handlers.iter().any(|(handled, _)| *handled == vector)
    }

    /// Whether an instruction uses registers that handlers change, or changes registers that they
    /// use.
    pub fn uses_shared_registers(&self, at: u16, insn: &Insn, facts: &Facts) -> bool {
        if self.changed | self.needed == 0 {
            return false;
        }
        let (reads, writes) = clobber::used(at, insn, facts);
        self.changed & (reads | writes) | self.needed & writes != 0
    }

    /// Whether an interrupt before an instruction can make a difference.
    fn matters(&self, at: u16, insn: &Insn, facts: &Facts, memory: &Memory) -> bool {
        if self.all_points || self.commits.contains(&at) {
            return true;
        }
        match facts.direct(at, insn) {
            // If interrupts are enabled already, they are taken before the instruction that enables
            // them again, because none is taken directly after it.
            Insn::Flag { bit: flag::I, .. } | Insn::Sleep => return true,
            Insn::Store { addr, .. } if facts.kind(addr) == Some(Kind::Status) => return true,
            _ => {}
        }
        if self.uses_shared_registers(at, insn, facts) {
            return true;
        }
        let Some(access) = facts.access(at, insn) else { return false };
        let through = |access: &Access| self.any_write || access.writes && self.any_read;
        match access.addr.map(|addr| memory.place(addr)) {
            Some(Place::Stack) => self.stack && through(&access),
            Some(Place::Register(_)) => false,
            Some(Place::Io(addr)) => {
                let effects = Effects::of(addr, &access, facts.chip(), memory);
                self.matters_at(Place::Io(addr), access.reads, access.writes, facts)
                    || effects.reads.into_iter().any(|addr| self.matters_at(Place::Io(addr), true, false, facts))
                    || effects.writes.into_iter().any(|addr| self.matters_at(Place::Io(addr), false, true, facts))
            }
            Some(place) => self.matters_at(place, access.reads, access.writes, facts),
            None => self.matters_through(&access, &|place| is_pointed_to(place, facts)),
        }
    }

    /// Whether an interrupt before an access to this place can make a difference.
    fn matters_at(&self, place: Place, reads: bool, writes: bool, facts: &Facts) -> bool {
        let is_pointed_to = is_pointed_to(&place, facts);
        let read = self.any_read && is_pointed_to || self.reads.contains(&place);
        let written = self.any_write && is_pointed_to || self.writes.contains(&place);
        reads && written || writes && (read || written || self.kept.contains(&place))
    }

    /// Whether an interrupt before an access through a pointer can make a difference, if the
    /// pointer leads to one of these places.
    fn matters_through(&self, access: &Access, leads: &dyn Fn(&Place) -> bool) -> bool {
        let through = self.any_write || access.writes && self.any_read;
        let any = |places: &BTreeSet<Place>| places.iter().any(leads);
        through || any(&self.writes) || access.writes && (any(&self.reads) || any(&self.kept))
    }

    /// Whether an interrupt before an access through a pointer can make a difference only if the
    /// pointer leads to a register of a device.
    pub fn only_devices(&self, at: u16, insn: &Insn, facts: &Facts) -> bool {
        let in_memory = |place: &Place| matches!(place, Place::Object(_));
        let access = facts.access(at, insn).filter(|access| access.addr.is_none());
        let reason = self.all_points || self.commits.contains(&at) || self.uses_shared_registers(at, insn, facts);
        !reason && access.is_some_and(|access| !self.matters_through(&access, &in_memory))
    }
}

/// Whether a pointer whose value is not known may lead to a place: to variables, and to those
/// registers of devices that can be used through pointers.
fn is_pointed_to(place: &Place, facts: &Facts) -> bool {
    match place {
        Place::Object(_) => true,
        Place::Io(addr) => *addr != LATCH && matches!(facts.kind(*addr), None | Some(Kind::Plain | Kind::Half { .. })),
        _ => false,
    }
}

/// The registers that an instruction writes.
pub fn writes_registers(insn: &Insn, written: &mut [bool; 32]) {
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
        Insn::Ld { d, mode: Mode::At(_), .. } | Insn::Lpm { d, inc: false } => mark(d),
        Insn::Ld { d, ptr, .. } => {
            mark(d);
            mark(ptr);
            mark(ptr + 1);
        }
        Insn::St { mode: Mode::At(_), .. } => {}
        Insn::St { ptr, .. } => {
            mark(ptr);
            mark(ptr + 1);
        }
        Insn::Lpm { d, inc: true } => {
            mark(d);
            mark(30);
            mark(31);
        }
        Insn::Store { addr, .. } if addr < 32 => mark(addr as u8),
        _ => {}
    }
}

/// Whether a store at a known address makes a choice: of the flags of a device that it may stop, or
/// of the upper byte that it takes along.
fn chooses(at: u16, insn: &Insn, chip: &Chip, facts: &Facts, memory: &Memory) -> bool {
    let addr = match *insn {
        Insn::Store { addr, .. } | Insn::Bit { addr, .. } => Some(addr),
        Insn::St { .. } => facts.resolved(at),
        _ => None,
    };
    let stops = |addr: u16| match facts.kind(addr) {
        Some(Kind::Plain) => environment::kept_after(chip, memory, addr).next().is_some(),
        Some(Kind::Half { high: false, .. }) => memory.opens_latch(chip),
        _ => false,
    };
    addr.is_some_and(stops)
}

/// The bits of an input that an instruction chooses and that matter; 0 if it chooses none.
fn chosen(at: u16, insn: &Insn, facts: &Facts, memory: &Memory, after: &Live) -> u8 {
    let (addr, mask) = match *insn {
        Insn::Load { d, addr } => (addr, after.regs[d as usize]),
        Insn::SkipIo { addr, bit, .. } => (addr, 1 << bit),
        Insn::Ld { d, .. } => match facts.resolved(at) {
            Some(addr) => (addr, after.regs[d as usize]),
            None => return 0,
        },
        _ => return 0,
    };
    if memory.is_noinit(addr) {
        return 0xff;
    }
    match facts.kind(addr) {
        None | Some(Kind::Plain | Kind::Stack { .. } | Kind::Status) => 0,
        Some(Kind::Half { latched: false, .. }) => 0,
        // The byte that waits is chosen as a whole.
        Some(Kind::Half { high: true, latched: true }) => 0xff,
        Some(_) => mask,
    }
}

/// How the step before each instruction ends.
pub fn steps(image: &Image, flow: &Flow, facts: &Facts, memory: &Memory, sharing: &Sharing, liveness: &Liveness) -> BTreeMap<u16, Before> {
    let mut steps = BTreeMap::new();
    let joins = flow.ways();
    // A property can refer to the watchdog, so the steps that reset it are visible.
    let watched = memory.io.contains_key(&image.chip.watchdog.0);
    let points = loops::points(flow, facts);
    let mut last = None;
    for (&at, node) in &flow.nodes {
        let Some(insn) = node.insn else { continue };
        let line = image.debug.line(u32::from(at) * 2);
        let after = liveness.after(flow, facts, at);
        let enabled = facts.enabled(at) != Enabled::No && sharing.interrupts() || sharing.resets;
        let before = if chosen(at, &insn, facts, memory, &after) != 0
            || chooses(at, &insn, image.chip, facts, memory)
            || matches!(insn, Insn::Sleep)
            || (watched && insn == Insn::Wdr)
            || points.contains(&at)
        {
            Before::Choice
        } else if enabled && sharing.matters(at, &insn, facts, memory) && !sharing.shadowed.contains(&at) {
            Before::Point
        } else if !Spot::same_line(line, last) || joins.get(&at).is_some_and(|ways| *ways > 1) {
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
        if !sharing.commits.contains(&at) && !shows(at, &insn, facts, sharing) {
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

/// Whether an instruction may change something that a property refers to, in a way that is recorded
/// nowhere else: through a pointer, or the interrupt flag.
fn shows(at: u16, insn: &Insn, facts: &Facts, sharing: &Sharing) -> bool {
    let flag = |place: &Place| matches!(place, Place::Io(addr) if facts.kind(*addr) == Some(Kind::Status));
    match insn {
        Insn::Flag { bit: flag::I, .. } => sharing.observed.iter().any(flag),
        Insn::St { .. } if facts.resolved(at).is_none() => sharing.observed.iter().any(|place| matches!(place, Place::Object(_))),
        _ => false,
    }
}

/// Whether an instruction completes a write to a variable that a property refers to. A variable of
/// several bytes is written by several instructions; only the last one shows its value.
fn completes(
    at: u16,
    insn: &Insn,
    flow: &Flow,
    facts: &Facts,
    memory: &Memory,
    observed: &BTreeSet<Place>,
    leaders: &BTreeSet<u16>,
) -> bool {
    let Some(access) = facts.access(at, insn) else { return false };
    if let Some(place @ Place::Io(addr)) = access.addr.map(|addr| memory.place(addr)) {
        let changes = Effects::of(addr, &access, facts.chip(), memory).writes;
        return access.writes && observed.contains(&place) || changes.into_iter().any(|addr| observed.contains(&Place::Io(addr)));
    }
    if !access.writes {
        return false;
    }
    // Whether more bytes of the variable follow is known when the instruction is executed.
    let Some(addr) = access.addr else { return observed.iter().any(|place| matches!(place, Place::Object(_))) };
    let place = memory.place(addr);
    observed.contains(&place) && !more_of(at, addr, place, flow, facts, memory, leaders)
}

/// The instructions that follow one directly, up to where paths join or part.
fn following<'a>(at: u16, flow: &'a Flow, leaders: &'a BTreeSet<u16>) -> impl Iterator<Item = (u16, Insn)> + 'a {
    let mut next = at;
    std::iter::from_fn(move || {
        next = next.wrapping_add(flow.nodes.get(&next)?.len);
        let insn = flow.nodes.get(&next)?.insn?;
        (!leaders.contains(&next)).then_some((next, insn))
    })
}

/// Whether the code that follows directly writes another byte of the same scalar.
fn more_of(at: u16, addr: u16, place: Place, flow: &Flow, facts: &Facts, memory: &Memory, leaders: &BTreeSet<u16>) -> bool {
    let Some(scalar) = memory.scalar(addr) else { return false };
    let mut written = following(at, flow, leaders)
        .filter_map(|(next, insn)| facts.access(next, &insn).filter(|access| access.writes)?.addr)
        .take_while(|other| *other != addr);
    written.any(|other| memory.place(other) == place && memory.scalar(other) == Some(scalar))
}
