//! Facts about each instruction that hold in every execution: constant addresses, which POP belongs
//! to which PUSH, whether interrupts can be enabled.

use crate::chip::{Chip, Kind};
use crate::clobber::{self, Registers};
use crate::flow::Flow;
use crate::insn::{Insn, Logic, Mode, One, flag};
use std::collections::{BTreeMap, BTreeSet};

/// The known value of the interrupt flag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Enabled {
    No,
    Yes,
    Perhaps,
}

impl Enabled {
    fn join(self, other: Enabled) -> Enabled {
        if self == other { self } else { Enabled::Perhaps }
    }
}

/// An access to the data space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The address, if it is known.
    pub addr: Option<u16>,
    pub reads: bool,
    pub writes: bool,
}

/// The limits on the slots that take part in the analysis of dead registers: of a program, and of
/// one function. Registers saved beyond these limits count as used.
const MAX_SLOTS: usize = 1024;
const MAX_DEPTH: usize = 128;

/// Facts about the instructions of a program.
#[derive(Debug)]
pub struct Facts {
    chip: &'static Chip,
    resolved: BTreeMap<u16, u16>,
    /// The constants that instructions store in the status register.
    stored: BTreeMap<u16, u8>,
    pushes: BTreeMap<u16, usize>,
    pops: BTreeMap<u16, Vec<usize>>,
    enabled: BTreeMap<u16, Enabled>,
    /// Instructions after which every register matters.
    all: BTreeSet<u16>,
    /// The number of slots.
    pub slots: usize,
    /// Whether there are accesses with unknown addresses, other than through the frame pointer.
    pub unresolved: bool,
}

impl Facts {
    /// Analyses a program. At the instructions `all` every register matters; the registers
    /// `changed` may be changed by handlers at any time.
    pub fn of(flow: &Flow, chip: &'static Chip, all: BTreeSet<u16>, changed: Registers) -> Facts {
        let mut facts = Facts {
            chip,
            resolved: BTreeMap::new(),
            stored: BTreeMap::new(),
            pushes: BTreeMap::new(),
            pops: BTreeMap::new(),
            enabled: BTreeMap::new(),
            all,
            slots: 0,
            unresolved: false,
        };
        facts.match_stack(flow);
        let kept = clobber::kept(flow, &facts);
        facts.find_constants(flow, changed, &kept);
        facts.follow_interrupt_flag(flow);
        facts.unresolved = flow
            .nodes
            .iter()
            .any(|(at, node)| matches!(node.insn, Some(Insn::Ld { .. } | Insn::St { .. })) && !facts.resolved.contains_key(at));
        facts
    }

    /// The device.
    pub fn chip(&self) -> &'static Chip {
        self.chip
    }

    /// The kind of the register at an address of the data space.
    pub fn kind(&self, addr: u16) -> Option<Kind> {
        self.chip.register(addr).map(|register| register.kind)
    }

    /// The address of an access through a pointer, if it is a constant.
    pub fn resolved(&self, at: u16) -> Option<u16> {
        self.resolved.get(&at).copied()
    }

    /// The instruction in its direct form, if it accesses a constant address through a pointer that
    /// it does not move. Without optimisation the compiler accesses registers of devices and the
    /// status register like this.
    pub fn direct(&self, at: u16, insn: &Insn) -> Insn {
        match (*insn, self.resolved(at)) {
            (Insn::Ld { d, mode: Mode::At(_), .. }, Some(addr)) => Insn::Load { d, addr },
            (Insn::St { r, mode: Mode::At(_), .. }, Some(addr)) => Insn::Store { addr, r },
            (insn, _) => insn,
        }
    }

    /// Whether an access through a pointer may read the registers of the processor. Compiled code
    /// never does so through an unknown address.
    pub fn may_read_registers(&self, at: u16) -> bool {
        self.resolved(at).is_some_and(|addr| addr < 32)
    }

    pub fn slot_of_push(&self, at: u16) -> Option<usize> {
        self.pushes.get(&at).copied()
    }

    pub fn slots_of_pop(&self, at: u16) -> &[usize] {
        self.pops.get(&at).map_or(&[], Vec::as_slice)
    }

    pub fn everything_matters(&self, at: u16) -> bool {
        self.all.contains(&at)
    }

    /// Whether interrupts may be enabled before an instruction.
    pub fn enabled(&self, at: u16) -> Enabled {
        self.enabled.get(&at).copied().unwrap_or(Enabled::No)
    }

    /// How an instruction accesses the data space, other than by PUSH and POP.
    pub fn access(&self, at: u16, insn: &Insn) -> Option<Access> {
        let access = |addr, reads, writes| Some(Access { addr, reads, writes });
        match *insn {
            Insn::Load { addr, .. } | Insn::SkipIo { addr, .. } => access(Some(addr), true, false),
            Insn::Store { addr, .. } => access(Some(addr), false, true),
            Insn::Bit { addr, .. } => access(Some(addr), true, true),
            Insn::Ld { .. } => access(self.resolved(at), true, false),
            Insn::St { .. } => access(self.resolved(at), false, true),
            _ => None,
        }
    }

    /// Follows constants in registers through the code of functions; where paths join, only what
    /// they agree on is known. Calls leave the registers alone that their functions keep.
    fn find_constants(&mut self, flow: &Flow, changed: Registers, kept: &BTreeMap<u16, Registers>) {
        let mut before: BTreeMap<u16, Constants> = BTreeMap::new();
        let mut open: Vec<(u16, Constants)> = flow.functions.keys().map(|entry| (*entry, Constants::default())).collect();
        while let Some((at, mut now)) = open.pop() {
            now.forget(changed);
            let Some(node) = flow.nodes.get(&at) else { continue };
            match before.get_mut(&at) {
                Some(known) => {
                    let joined = known.join(&now);
                    if joined == *known {
                        continue;
                    }
                    *known = joined;
                    now = joined;
                }
                None => drop(before.insert(at, now)),
            }
            let Some(insn) = node.insn else { continue };
            let callees = flow.callees(at);
            let after = if callees.is_empty() {
                now.after(&insn).1
            } else {
                let lost = |entry: &u16| !kept.get(entry).copied().unwrap_or(0);
                now.forget(callees.iter().map(lost).fold(1 << clobber::FLAGS, |all, lost| all | lost));
                now
            };
            open.extend(flow.next(at).into_iter().map(|to| (to, after)));
        }
        for (at, now) in before {
            let Some(insn) = flow.nodes[&at].insn else { continue };
            if let Insn::Store { addr, r } = insn
                && self.kind(addr) == Some(Kind::Status)
                && let Some(value) = now.known[r as usize]
            {
                self.stored.insert(at, value);
            }
            if let (Some(addr), _) = now.after(&insn) {
                self.resolved.insert(at, addr);
            }
        }
    }

    /// Matches POPs with PUSHes, function by function.
    fn match_stack(&mut self, flow: &Flow) {
        let mut escaped: BTreeSet<u16> = BTreeSet::new();
        let mut matched: BTreeMap<u16, BTreeSet<u16>> = BTreeMap::new();
        let mut unknown: BTreeSet<u16> = BTreeSet::new();
        for function in flow.functions.values() {
            let mut stacks: BTreeMap<u16, Vec<Slot>> = BTreeMap::from([(function.entry, Vec::new())]);
            let mut open = vec![function.entry];
            while let Some(at) = open.pop() {
                let Some(node) = flow.nodes.get(&at) else { continue };
                let mut stack = stacks[&at].clone();
                if stack.len() > MAX_DEPTH {
                    escaped.extend(stack.drain(..).filter_map(|slot| slot.push()));
                }
                match node.insn {
                    Some(Insn::Push { .. }) => stack.push(Slot::Push(at)),
                    Some(Insn::Pop { d }) => match stack.pop() {
                        Some(Slot::Push(push)) => {
                            matched.entry(at).or_default().insert(push);
                            // A byte that comes back elsewhere is no saved register, but perhaps an
                            // argument that a called function has read.
                            if !matches!(flow.nodes[&push].insn, Some(Insn::Push { r }) if r == d) {
                                escaped.insert(push);
                            }
                        }
                        Some(Slot::Frame) => {
                            unknown.insert(at);
                        }
                        // After the stack pointer was set, it is not known which byte this is, or
                        // what lies below it.
                        Some(Slot::Block | Slot::Lost) | None => {
                            unknown.insert(at);
                            escaped.extend(stack.drain(..).filter_map(|slot| slot.push()));
                            stack.push(Slot::Lost);
                        }
                    },
                    Some(Insn::Call { .. }) if flow.is_room(at) => stack.extend([Slot::Frame, Slot::Frame]),
                    Some(Insn::Store { addr, .. }) if self.kind(addr) == Some(Kind::Stack { high: false }) => {
                        // A frame is made or released. If there is one already with something above
                        // it, arguments of a call may be released; nothing is known then.
                        if stack.last() == Some(&Slot::Block) {
                            stack.pop();
                        } else if stack.iter().any(|slot| matches!(slot, Slot::Block | Slot::Lost)) {
                            escaped.extend(stack.drain(..).filter_map(|slot| slot.push()));
                            stack.push(Slot::Lost);
                        } else {
                            stack.push(Slot::Block);
                        }
                    }
                    // The bytes on the stack at the end are not popped by their own function.
                    Some(Insn::Ret | Insn::Reti) => escaped.extend(stack.iter().filter_map(Slot::push)),
                    _ => {}
                }
                for next in flow.next(at) {
                    match stacks.get(&next) {
                        None => {
                            stacks.insert(next, stack.clone());
                            open.push(next);
                        }
                        Some(known) if *known == stack => {}
                        Some(known) => escaped.extend(known.iter().chain(&stack).filter_map(Slot::push)),
                    }
                }
            }
        }
        // If a POP may take another value too, it has no match: its PUSHes are treated as ordinary
        // ones.
        for (pop, pushes) in &matched {
            if unknown.contains(pop) || pushes.iter().any(|push| escaped.contains(push)) {
                escaped.extend(pushes);
            }
        }
        loop {
            let before = escaped.len();
            for pushes in matched.values() {
                if pushes.iter().any(|push| escaped.contains(push)) {
                    escaped.extend(pushes);
                }
            }
            if escaped.len() == before {
                break;
            }
        }
        for (pop, pushes) in matched {
            for push in pushes.into_iter().filter(|push| !escaped.contains(push)) {
                let fresh = self.pushes.len();
                if fresh >= MAX_SLOTS && !self.pushes.contains_key(&push) {
                    continue;
                }
                let slot = *self.pushes.entry(push).or_insert(fresh);
                self.pops.entry(pop).or_default().push(slot);
            }
        }
        self.slots = self.pushes.len();
    }

    /// Propagates the interrupt flag through calls and returns.
    fn follow_interrupt_flag(&mut self, flow: &Flow) {
        let mut open: Vec<(u16, Enabled)> = vec![(0, Enabled::No)];
        open.extend(flow.handlers.iter().map(|(_, entry)| (*entry, Enabled::No)));
        while let Some((at, state)) = open.pop() {
            let Some(node) = flow.nodes.get(&at) else { continue };
            let now = self.enabled.get(&at).map_or(state, |known| known.join(state));
            if self.enabled.get(&at) == Some(&now) {
                continue;
            }
            self.enabled.insert(at, now);
            let after = match node.insn.map(|insn| self.direct(at, &insn)) {
                Some(Insn::Flag { bit: flag::I, set }) => {
                    if set {
                        Enabled::Yes
                    } else {
                        Enabled::No
                    }
                }
                Some(Insn::Store { addr, .. }) if self.kind(addr) == Some(Kind::Status) => match self.stored.get(&at) {
                    Some(value) if value & 1 << flag::I == 0 => Enabled::No,
                    Some(_) => Enabled::Yes,
                    None => Enabled::Perhaps,
                },
                Some(Insn::Reti) => Enabled::Yes,
                _ => now,
            };
            let callees = flow.callees(at);
            let next = match node.insn {
                _ if !callees.is_empty() => callees,
                Some(Insn::Ret | Insn::Reti) => flow.returns(at).into_iter().collect(),
                _ => flow.next(at),
            };
            open.extend(next.into_iter().map(|to| (to, after)));
        }
    }
}

/// What is known of the registers and of the carry flag.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Constants {
    known: [Option<u8>; 32],
    carry: Option<bool>,
}

impl Constants {
    fn join(&self, other: &Constants) -> Constants {
        let both = |r: usize| self.known[r].filter(|value| other.known[r] == Some(*value));
        Constants { known: std::array::from_fn(both), carry: self.carry.filter(|carry| other.carry == Some(*carry)) }
    }

    fn forget(&mut self, lost: Registers) {
        (0..32).filter(|r| lost & 1 << r != 0).for_each(|r| self.known[r] = None);
        self.carry = self.carry.filter(|_| lost & 1 << clobber::FLAGS == 0);
    }

    /// The address that an instruction accesses through a pointer, if it is known, and all that is
    /// known after the instruction.
    fn after(mut self, insn: &Insn) -> (Option<u16>, Constants) {
        let (Insn::Ld { ptr, mode, .. } | Insn::St { ptr, mode, .. }) = *insn else {
            constants(insn, &mut self.known, &mut self.carry);
            return (None, self);
        };
        let known = &mut self.known;
        let pointer = known[ptr as usize].zip(known[ptr as usize + 1]).map(|(low, high)| u16::from_le_bytes([low, high]));
        let mut addr = None;
        if let Some(pointer) = pointer {
            let (reached, after) = match mode {
                Mode::At(q) => (pointer.wrapping_add(q.into()), pointer),
                Mode::PostInc => (pointer, pointer.wrapping_add(1)),
                Mode::PreDec => (pointer.wrapping_sub(1), pointer.wrapping_sub(1)),
            };
            addr = Some(reached);
            let [low, high] = after.to_le_bytes();
            known[ptr as usize] = Some(low);
            known[ptr as usize + 1] = Some(high);
        } else if !matches!(mode, Mode::At(_)) {
            known[ptr as usize] = None;
            known[ptr as usize + 1] = None;
        }
        match insn {
            Insn::Ld { d, .. } => known[*d as usize] = None,
            // A store may lead to a register or to the status register.
            _ => {
                self.carry = None;
                if addr.is_none_or(|addr| addr < 32) {
                    *known = [None; 32];
                }
            }
        }
        (addr, self)
    }
}

/// An entry of the stack of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slot {
    Push(u16),
    /// A byte of room.
    Frame,
    /// Room of unknown size.
    Block,
    /// Bytes of which nothing is known.
    Lost,
}

impl Slot {
    fn push(&self) -> Option<u16> {
        match self {
            Slot::Push(at) => Some(*at),
            _ => None,
        }
    }
}

/// The effect of an instruction without memory access on known values.
fn constants(insn: &Insn, known: &mut [Option<u8>; 32], carry: &mut Option<bool>) {
    let get = |known: &[Option<u8>; 32], r: u8| known[r as usize];
    match *insn {
        Insn::Ldi { d, k } => known[d as usize] = Some(k),
        Insn::Mov { d, r } => known[d as usize] = get(known, r),
        Insn::Movw { d, r } => (known[d as usize], known[d as usize + 1]) = (get(known, r), get(known, r + 1)),
        Insn::Logic { op: Logic::Eor, d, r } if d == r => known[d as usize] = Some(0),
        Insn::SubI { d, k, carry: with } => {
            let borrow = if with { *carry } else { Some(false) };
            let result = get(known, d).zip(borrow).map(|(value, borrow)| {
                let (first, one) = value.overflowing_sub(k);
                let (second, two) = first.overflowing_sub(borrow.into());
                (second, one || two)
            });
            known[d as usize] = result.map(|(value, _)| value);
            *carry = result.map(|(_, carry)| carry);
        }
        Insn::Adiw { d, k } | Insn::Sbiw { d, k } => {
            let pair = get(known, d).zip(get(known, d + 1)).map(|(low, high)| u16::from_le_bytes([low, high]));
            let result =
                pair.map(|pair| if matches!(insn, Insn::Adiw { .. }) { pair.wrapping_add(k.into()) } else { pair.wrapping_sub(k.into()) });
            known[d as usize] = result.map(|pair| pair as u8);
            known[d as usize + 1] = result.map(|pair| (pair >> 8) as u8);
            *carry = None;
        }
        Insn::Add { d, .. } | Insn::Sub { d, .. } | Insn::Logic { d, .. } | Insn::LogicI { d, .. } => {
            known[d as usize] = None;
            if !matches!(insn, Insn::Logic { .. } | Insn::LogicI { .. }) {
                *carry = None;
            }
        }
        Insn::One { op, d } => {
            known[d as usize] = None;
            if !matches!(op, One::Inc | One::Dec | One::Swap) {
                *carry = None;
            }
        }
        Insn::Mul { .. } => {
            known[0] = None;
            known[1] = None;
            *carry = None;
        }
        Insn::Load { d, .. } | Insn::Pop { d } | Insn::Bld { d, .. } => known[d as usize] = None,
        Insn::Lpm { d, inc } => {
            known[d as usize] = None;
            if inc {
                known[30] = None;
                known[31] = None;
            }
        }
        Insn::Cp { .. } | Insn::CpI { .. } => *carry = None,
        Insn::Flag { bit: flag::C, set } => *carry = Some(set),
        Insn::Store { addr, .. } => {
            *carry = None;
            if addr < 32 {
                known[addr as usize] = None;
            }
        }
        _ => {}
    }
}
