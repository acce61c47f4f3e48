//! Dead registers and dead flags, bit by bit.
//!
//! The analysis runs backwards through the code. Each bit of a register is alive if its value may
//! make a difference: `ANDI r24, 4` needs one bit of `r24`, and an instruction whose flags are
//! never read needs nothing for them. A register that a function saves on the stack and restores is
//! alive only if it is alive after it is restored: each PUSH that is matched by POPs has a *slot*
//! that takes part in the analysis (`slots`). The analysis assumes of compiled code that a saved
//! register is not read in any other way; `docs/avr.md` states this.

use crate::chip::Kind;
use crate::facts::Facts;
use crate::flow::Flow;
use crate::insn::{Insn, Logic, Mode, One, Reg, flag};
use std::collections::{BTreeMap, BTreeSet};

/// The live bits at a point: a mask for each register, for SREG and for each slot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Live {
    pub regs: [u8; 32],
    pub flags: u8,
    pub slots: Vec<u8>,
}

impl Live {
    pub fn nothing(slots: usize) -> Live {
        Live { regs: [0; 32], flags: 0, slots: vec![0; slots] }
    }

    pub fn everything(slots: usize) -> Live {
        Live { regs: [0xff; 32], flags: 0xff, slots: vec![0xff; slots] }
    }

    pub fn merge(&mut self, other: &Live) {
        self.regs.iter_mut().zip(other.regs).for_each(|(a, b)| *a |= b);
        self.slots.iter_mut().zip(&other.slots).for_each(|(a, b)| *a |= b);
        self.flags |= other.flags;
    }

    fn pair(&mut self, low: Reg, mask: u8) {
        self.regs[low as usize] |= mask;
        self.regs[low as usize + 1] |= mask;
    }

    fn has(&self, flags: &[u8]) -> bool {
        flags.iter().any(|bit| self.flags & 1 << bit != 0)
    }

    fn kill_flags(&mut self, flags: &[u8]) {
        flags.iter().for_each(|bit| self.flags &= !(1 << bit));
    }
}

/// All flags that arithmetic sets.
const ARITHMETIC: &[u8] = &[flag::C, flag::Z, flag::N, flag::V, flag::S, flag::H];
/// The flags of operations that do not change the half carry.
const NO_HALF: &[u8] = &[flag::C, flag::Z, flag::N, flag::V, flag::S];
/// The flags of bitwise operations, and of INC and DEC.
const LOGIC: &[u8] = &[flag::Z, flag::N, flag::V, flag::S];

/// The bits up to the highest that is set: the operand bits on which these bits of a sum depend.
fn below(mask: u8) -> u8 {
    if mask == 0 { 0 } else { 0xff >> mask.leading_zeros() }
}

/// The bits that are alive before an instruction, given those that are alive after it.
pub fn before(insn: &Insn, at: u16, facts: &Facts, after: &Live) -> Live {
    let mut live = after.clone();
    match facts.direct(at, insn) {
        Insn::Add { d, r, carry } | Insn::Sub { d, r, carry } => {
            let subtracts = matches!(insn, Insn::Sub { .. });
            let mut need = below(after.regs[d as usize]);
            need |= if after.has(NO_HALF) { 0xff } else { 0 };
            need |= if after.has(&[flag::H]) { 0x0f } else { 0 };
            live.regs[d as usize] = 0;
            live.kill_flags(ARITHMETIC);
            // The difference of a register and itself does not depend on its value.
            if !(subtracts && d == r) {
                live.regs[d as usize] |= need;
                live.regs[r as usize] |= need;
            }
            if carry && (need != 0 || after.regs[d as usize] != 0) {
                live.flags |= 1 << flag::C;
            }
            if carry && subtracts && after.has(&[flag::Z]) {
                live.flags |= 1 << flag::Z;
            }
        }
        Insn::Cp { d, r, carry } => {
            let used = after.has(ARITHMETIC);
            live.kill_flags(ARITHMETIC);
            if used {
                if d != r {
                    live.regs[d as usize] = 0xff;
                    live.regs[r as usize] = 0xff;
                }
                if carry {
                    live.flags |= 1 << flag::C;
                    live.flags |= if after.has(&[flag::Z]) { 1 << flag::Z } else { 0 };
                }
            }
        }
        Insn::SubI { d, k: _, carry } => {
            let mut need = below(after.regs[d as usize]);
            need |= if after.has(ARITHMETIC) { 0xff } else { 0 };
            live.regs[d as usize] = need;
            live.kill_flags(ARITHMETIC);
            if carry && need != 0 {
                live.flags |= 1 << flag::C;
                live.flags |= if after.has(&[flag::Z]) { 1 << flag::Z } else { 0 };
            }
        }
        Insn::CpI { d, .. } => {
            if after.has(ARITHMETIC) {
                live.regs[d as usize] = 0xff;
            }
            live.kill_flags(ARITHMETIC);
        }
        Insn::Logic { op, d, r } => {
            let need = after.regs[d as usize] | if after.has(LOGIC) { 0xff } else { 0 };
            live.regs[d as usize] = 0;
            live.kill_flags(LOGIC);
            if !(op == Logic::Eor && d == r) {
                live.regs[d as usize] |= need;
                live.regs[r as usize] |= need;
            }
        }
        Insn::LogicI { op, d, k } => {
            let need = after.regs[d as usize] | if after.has(LOGIC) { 0xff } else { 0 };
            live.regs[d as usize] = need & if op == Logic::And { k } else { !k };
            live.kill_flags(LOGIC);
        }
        Insn::Mov { d, r } => {
            let need = after.regs[d as usize];
            live.regs[d as usize] = 0;
            live.regs[r as usize] |= need;
        }
        Insn::Movw { d, r } => {
            for i in 0..2 {
                let need = after.regs[(d + i) as usize];
                live.regs[(d + i) as usize] = 0;
                live.regs[(r + i) as usize] |= need;
            }
            // Once more, because the loop above may have cleared a register of `r` if the pairs
            // overlap.
            for i in 0..2 {
                live.regs[(r + i) as usize] |= after.regs[(d + i) as usize];
            }
        }
        Insn::Mul { d, r, .. } => {
            let used = after.regs[0] | after.regs[1] != 0 || after.has(&[flag::C, flag::Z]);
            live.regs[0] = 0;
            live.regs[1] = 0;
            live.kill_flags(&[flag::C, flag::Z]);
            if used {
                live.regs[d as usize] = 0xff;
                live.regs[r as usize] = 0xff;
            }
        }
        Insn::Ldi { d, .. } => live.regs[d as usize] = 0,
        Insn::Adiw { d, .. } | Insn::Sbiw { d, .. } => {
            let flags = after.has(NO_HALF);
            let high = after.regs[d as usize + 1];
            let low = below(after.regs[d as usize]);
            live.kill_flags(NO_HALF);
            live.regs[d as usize] = if flags || high != 0 { 0xff } else { low };
            live.regs[d as usize + 1] = if flags { 0xff } else { below(high) };
        }
        Insn::One { op, d } => one(op, d, after, &mut live),
        Insn::Flag { bit, .. } => live.flags &= !(1 << bit),
        Insn::Bst { r, bit } => {
            let need = after.has(&[flag::T]);
            live.kill_flags(&[flag::T]);
            live.regs[r as usize] |= if need { 1 << bit } else { 0 };
        }
        Insn::Bld { d, bit } => {
            if after.regs[d as usize] & 1 << bit != 0 {
                live.regs[d as usize] &= !(1 << bit);
                live.flags |= 1 << flag::T;
            }
        }
        Insn::Cpse { d, r } => {
            live.regs[d as usize] = 0xff;
            live.regs[r as usize] = 0xff;
        }
        Insn::SkipBit { r, bit, .. } => live.regs[r as usize] |= 1 << bit,
        Insn::Branch { bit, .. } => live.flags |= 1 << bit,
        Insn::Ijmp | Insn::Icall => live.pair(crate::insn::Z, 0xff),
        Insn::Load { d, addr } => {
            let need = after.regs[d as usize];
            live.regs[d as usize] = 0;
            match facts.kind(addr) {
                Some(Kind::Status) => live.flags |= need,
                _ if addr < 32 => live.regs[addr as usize] |= need,
                _ => {}
            }
        }
        Insn::Store { addr, r } => match facts.kind(addr) {
            Some(Kind::Status) => {
                let need = after.flags | 1 << flag::I;
                live.flags = 0;
                live.regs[r as usize] |= need;
            }
            _ if addr < 32 => {
                let need = after.regs[addr as usize];
                live.regs[addr as usize] = 0;
                live.regs[r as usize] |= need;
            }
            _ => live.regs[r as usize] = 0xff,
        },
        Insn::Ld { d, ptr, mode } => {
            let moved = mode != Mode::At(0) && !matches!(mode, Mode::At(_));
            live.regs[d as usize] = 0;
            live.pair(ptr, 0xff);
            if facts.resolved(at).is_some() && !moved {
                // The address is known; the pointer is not read.
                live = after.clone();
                live.regs[d as usize] = 0;
            }
            if facts.may_read_registers(at) {
                live = Live { slots: live.slots, ..Live::everything(0) };
            }
        }
        Insn::St { ptr, mode, r } => {
            let moved = !matches!(mode, Mode::At(_));
            if facts.resolved(at).is_none() || moved {
                live.pair(ptr, 0xff);
            }
            live.regs[r as usize] = 0xff;
        }
        Insn::Lpm { d, .. } => {
            live.regs[d as usize] = 0;
            live.pair(crate::insn::Z, 0xff);
        }
        Insn::Spm => {
            live.pair(0, 0xff);
            live.pair(crate::insn::Z, 0xff);
        }
        Insn::Push { r } => match facts.slot_of_push(at) {
            Some(slot) => {
                live.regs[r as usize] |= after.slots[slot];
                live.slots[slot] = 0;
            }
            None => live.regs[r as usize] = 0xff,
        },
        Insn::Pop { d } => {
            let need = after.regs[d as usize];
            live.regs[d as usize] = 0;
            for slot in facts.slots_of_pop(at) {
                live.slots[*slot] |= need;
            }
        }
        Insn::Nop
        | Insn::Jump { .. }
        | Insn::Call { .. }
        | Insn::Ret
        | Insn::Reti
        | Insn::SkipIo { .. }
        | Insn::Bit { .. }
        | Insn::Sleep
        | Insn::Wdr
        | Insn::Break => {}
    }
    live
}

fn one(op: One, d: Reg, after: &Live, live: &mut Live) {
    let d = d as usize;
    let need = after.regs[d];
    match op {
        One::Com => {
            live.regs[d] = need | if after.has(LOGIC) { 0xff } else { 0 };
            live.kill_flags(NO_HALF);
        }
        One::Neg => {
            live.regs[d] = below(need) | if after.has(ARITHMETIC) { 0xff } else { 0 };
            live.kill_flags(ARITHMETIC);
        }
        One::Inc | One::Dec => {
            live.regs[d] = below(need) | if after.has(LOGIC) { 0xff } else { 0 };
            live.kill_flags(LOGIC);
        }
        One::Swap => live.regs[d] = need.rotate_left(4),
        One::Asr | One::Lsr | One::Ror => {
            let mut wanted = need << 1;
            if op == One::Asr {
                wanted |= need & 0x80;
            }
            if after.has(&[flag::C, flag::V, flag::S]) {
                wanted |= 1;
            }
            if after.has(&[flag::Z]) {
                wanted |= 0xfe;
            }
            if op == One::Asr && after.has(&[flag::Z, flag::N, flag::V, flag::S]) {
                wanted |= 0x80;
            }
            let carry = op == One::Ror && (need & 0x80 != 0 || after.has(&[flag::Z, flag::N, flag::V, flag::S]));
            live.regs[d] = wanted;
            live.kill_flags(NO_HALF);
            live.flags |= if carry { 1 << flag::C } else { 0 };
        }
    }
}

/// The live bits before each instruction.
#[derive(Debug)]
pub struct Liveness {
    before: BTreeMap<u16, Live>,
    slots: usize,
    /// The live bits at the end of a handler.
    at_end: Live,
}

impl Liveness {
    /// Analyses a program. At the end of a handler `at_end` is alive, and `handlers` where
    /// interrupts may be enabled.
    pub fn of(flow: &Flow, facts: &Facts, at_end: Live, handlers: &Live) -> Liveness {
        let slots = at_end.slots.len();
        let mut this = Liveness { before: BTreeMap::new(), slots, at_end };
        let mut users: BTreeMap<u16, BTreeSet<u16>> = BTreeMap::new();
        for &at in flow.nodes.keys() {
            for used in this.uses(flow, at) {
                users.entry(used).or_default().insert(at);
            }
        }
        let mut open: BTreeSet<u16> = flow.nodes.keys().copied().collect();
        while let Some(at) = open.pop_last() {
            let Some(node) = flow.nodes.get(&at) else { continue };
            let mut now = match &node.insn {
                Some(insn) => before(insn, at, facts, &this.after(flow, facts, at)),
                None => Live::nothing(slots),
            };
            if facts.enabled(at) != crate::facts::Enabled::No {
                now.merge(handlers);
            }
            if this.before.get(&at) != Some(&now) {
                this.before.insert(at, now);
                open.extend(users.get(&at).into_iter().flatten());
            }
        }
        this
    }

    /// The instructions on whose results the result at `at` depends.
    fn uses(&self, flow: &Flow, at: u16) -> Vec<u16> {
        let callees = flow.callees(at);
        if !callees.is_empty() {
            return callees;
        }
        match flow.nodes[&at].insn {
            Some(Insn::Ret | Insn::Reti) => flow.returns(at).into_iter().collect(),
            _ => flow.next(at),
        }
    }

    /// The bits that are alive after an instruction.
    pub fn after(&self, flow: &Flow, facts: &Facts, at: u16) -> Live {
        let insn = flow.nodes[&at].insn;
        if facts.everything_matters(at) {
            return self.at_end.clone();
        }
        // A handler ends, or a function that a program has called.
        let mut live = if insn == Some(Insn::Reti) { self.at_end.clone() } else { Live::nothing(self.slots) };
        for used in self.uses(flow, at) {
            if let Some(before) = self.before.get(&used) {
                live.merge(before);
            }
        }
        live
    }

    /// The bits that are alive before an instruction.
    pub fn before(&self, at: u16) -> Live {
        self.before.get(&at).cloned().unwrap_or_else(|| Live::nothing(self.slots))
    }
}
