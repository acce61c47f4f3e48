//! Decides whether addresses of the stack can be found outside the stack.
//!
//! A handler that accesses memory through a pointer can reach local variables of the interrupted
//! program only if the program has stored their address somewhere, or keeps it in a register that
//! the handler uses. Such an address comes from the stack pointer. The analysis follows it through
//! registers, calls and saved registers. If an address was stored in a frame, everything that is
//! read from frames is a possible address.

use crate::chip::Kind;
use crate::clobber::Registers;
use crate::facts::{Enabled, Facts};
use crate::flow::Flow;
use crate::insn::{Insn, Logic, Mode, Y};
use crate::memory::{Memory, Place};
use crate::sharing::writes_registers;
use std::collections::BTreeMap;

/// Whether some instruction stores an address of the stack in a variable or at an unknown place, or
/// an interrupt may find one in the registers `needed`.
pub fn escapes(flow: &Flow, facts: &Facts, memory: &Memory, needed: Registers) -> bool {
    let mut found = Addresses { known: BTreeMap::new(), slots: vec![false; facts.slots], framed: false, needed };
    loop {
        let before = (found.slots.clone(), found.framed);
        if found.follow(flow, facts, memory) {
            return true;
        }
        if before == (found.slots.clone(), found.framed) {
            return false;
        }
    }
}

/// Whether an access goes to the frame of its own function.
pub fn is_own_frame(at: u16, insn: &Insn, flow: &Flow, facts: &Facts) -> bool {
    let (Insn::Ld { ptr: Y, mode: Mode::At(_), .. } | Insn::St { ptr: Y, mode: Mode::At(_), .. }) = insn else { return false };
    let makes = |entry: &u16| {
        let takes = |at: &u16| matches!(flow.nodes[at].insn, Some(Insn::Load { d: Y, addr }) if is_pointer(addr, facts));
        flow.functions[entry].insns.iter().any(takes)
    };
    flow.owners(at).iter().all(makes)
}

fn is_pointer(addr: u16, facts: &Facts) -> bool {
    matches!(facts.kind(addr), Some(Kind::Stack { .. }))
}

/// The places where addresses of the stack may be.
struct Addresses {
    /// For each instruction, the registers that may hold one before it, as bits.
    known: BTreeMap<u16, u32>,
    /// The saved registers.
    slots: Vec<bool>,
    /// Whether frames or unmatched bytes of the stack may hold one.
    framed: bool,
    /// The registers whose values handlers use.
    needed: Registers,
}

impl Addresses {
    /// Follows all code with the current knowledge of the stack; returns whether an address
    /// escapes.
    fn follow(&mut self, flow: &Flow, facts: &Facts, memory: &Memory) -> bool {
        self.known.clear();
        let mut open: Vec<(u16, u32)> = vec![(0, 0)];
        open.extend(flow.handlers.iter().map(|(_, entry)| (*entry, 0)));
        while let Some((at, registers)) = open.pop() {
            let Some(node) = flow.nodes.get(&at) else { continue };
            let now = registers | self.known.get(&at).copied().unwrap_or(0);
            if self.known.get(&at) == Some(&now) {
                continue;
            }
            self.known.insert(at, now);
            if self.needed & Registers::from(now) != 0 && facts.enabled(at) != Enabled::No {
                return true;
            }
            let Some(insn) = node.insn else { continue };
            let Some(after) = self.after(at, &insn, now, flow, facts, memory) else { return true };
            let callees = flow.callees(at);
            let next = match insn {
                _ if !callees.is_empty() => callees,
                Insn::Ret | Insn::Reti => flow.returns(at).into_iter().collect(),
                _ => flow.next(at),
            };
            open.extend(next.into_iter().map(|to| (to, after)));
        }
        false
    }

    /// The registers that may hold an address of the stack after an instruction. `None` if one
    /// leaves the stack.
    fn after(&mut self, at: u16, insn: &Insn, now: u32, flow: &Flow, facts: &Facts, memory: &Memory) -> Option<u32> {
        let has = |r: u8| now & 1 << r != 0;
        let stores = |r: u8, addr: u16| match memory.place(addr) {
            Place::Register(_) | Place::Stack => false,
            _ => has(r) && !is_pointer(addr, facts),
        };
        let mut written = [false; 32];
        writes_registers(insn, &mut written);
        // Arithmetic with an address gives one.
        let mut after = now;
        let mut set = |r: u8, value: bool| after = after & !(1 << r) | u32::from(value) << r;
        match *insn {
            Insn::Add { d, r, .. } => set(d, has(d) || has(r)),
            Insn::Sub { d, r, .. } => set(d, d != r && (has(d) || has(r))),
            Insn::Logic { op, d, r } => set(d, !(op == Logic::Eor && d == r) && (has(d) || has(r))),
            Insn::SubI { .. } | Insn::LogicI { .. } | Insn::One { .. } | Insn::Adiw { .. } | Insn::Sbiw { .. } | Insn::Bld { .. } => {}
            Insn::Mov { d, r } => set(d, has(r)),
            Insn::Movw { d, r } => {
                set(d, has(r));
                set(d + 1, has(r + 1));
            }
            Insn::Load { d, addr: addr @ 0..32 } => set(d, has(addr as u8)),
            Insn::Load { d, addr } => set(d, is_pointer(addr, facts) || memory.place(addr) == Place::Stack && self.framed),
            Insn::Store { addr: addr @ 0..32, r } => set(addr as u8, has(r)),
            Insn::Store { addr, r } if stores(r, addr) => return None,
            Insn::Ld { d, ptr, .. } => {
                let framed = match facts.resolved(at) {
                    Some(addr) => memory.place(addr) == Place::Stack,
                    None => has(ptr) || has(ptr + 1),
                };
                set(d, framed && self.framed);
            }
            Insn::St { r, .. } => match facts.resolved(at) {
                Some(addr) if stores(r, addr) => return None,
                // A pointer that may lead to the stack may lead to a variable too.
                None if has(r) && !is_own_frame(at, insn, flow, facts) => return None,
                _ => self.framed |= has(r),
            },
            Insn::Push { r } => match facts.slot_of_push(at) {
                Some(slot) => self.slots[slot] |= has(r),
                None => self.framed |= has(r),
            },
            Insn::Pop { d } => {
                let slots = facts.slots_of_pop(at);
                set(d, if slots.is_empty() { self.framed } else { slots.iter().any(|slot| self.slots[*slot]) });
            }
            _ => (0..32).filter(|r| written[usize::from(*r)]).for_each(|r| set(r, false)),
        }
        Some(after)
    }
}
