//! The registers that handlers change.
//!
//! A handler saves the registers that it uses and restores them before it returns. A handler that
//! does not, because it was written in assembly or uses a register as a variable, shares these
//! registers with the rest of the program. The analysis follows the values that registers had at
//! the start of a handler through moves, PUSH and POP to its end. It also finds the registers that
//! a function keeps for its caller.

use crate::chip::Kind;
use crate::facts::Facts;
use crate::flow::{Flow, Function};
use crate::insn::{Insn, One, flag};
use crate::sharing::writes_registers;
use std::collections::{BTreeMap, BTreeSet};

/// The index of the flags, after those of the registers.
pub const FLAGS: usize = 32;

/// A set of registers, as bits; the flags are one of them.
pub type Registers = u64;

/// The content of a register or a byte of the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Value {
    /// It is not known yet.
    Unset,
    /// The value that this register had at the start.
    Of(usize),
    Other,
}

impl Value {
    fn join(self, other: Value) -> Value {
        match (self, other) {
            (Value::Unset, any) | (any, Value::Unset) => any,
            _ if self == other => self,
            _ => Value::Other,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Values {
    registers: [Value; FLAGS + 1],
    slots: Vec<Value>,
}

/// The registers that some handler changes.
pub fn changed(flow: &Flow, facts: &Facts, handlers: &[(u8, u16)]) -> Registers {
    let mut changed = 0;
    let entries: BTreeSet<u16> = handlers.iter().map(|(_, entry)| *entry).collect();
    for entry in entries {
        let inside: BTreeSet<u16> = flow.closure(entry).iter().flat_map(|f| flow.functions[f].insns.iter().copied()).collect();
        let start = Values { registers: std::array::from_fn(Value::Of), slots: vec![Value::Unset; facts.slots] };
        let mut known: BTreeMap<u16, Values> = BTreeMap::new();
        let mut open = vec![(entry, start)];
        while let Some((at, values)) = open.pop() {
            let Some(node) = flow.nodes.get(&at).filter(|_| inside.contains(&at)) else { continue };
            let now = match known.get(&at) {
                Some(before) => before.join(&values),
                None => values,
            };
            if known.get(&at) == Some(&now) {
                continue;
            }
            known.insert(at, now.clone());
            let Some(insn) = node.insn else { continue };
            if insn == Insn::Reti {
                let lost = |number: &usize| now.registers[*number] != Value::Of(*number);
                changed |= (0..=FLAGS).filter(lost).map(|number| 1 << number).sum::<Registers>();
            }
            let after = now.after(at, &insn, facts);
            let callees = flow.callees(at);
            let next = match insn {
                _ if !callees.is_empty() => callees,
                Insn::Ret | Insn::Reti => flow.returns(at).into_iter().collect(),
                _ => flow.next(at),
            };
            open.extend(next.into_iter().map(|to| (to, after.clone())));
        }
    }
    changed
}

/// The limits on the values that are followed to find out what functions keep, and on the rounds.
const MOST: usize = 1 << 21;
const ROUNDS: usize = 16;

/// For each function, by its entry, the registers that have the same values after a call as before
/// it, because nothing in the function changes them or because it saves and restores them.
pub fn kept(flow: &Flow, facts: &Facts) -> BTreeMap<u16, Registers> {
    let size: usize = flow.functions.values().map(|function| function.insns.len()).sum();
    // Code that enters a function in its middle, as that of the library does, is not followed.
    let is_plain = |function: &Function| !function.insns.iter().any(|at| flow.is_library(*at));
    let all: Registers = (1 << FLAGS) - 1;
    let start = |function: &Function| if is_plain(function) { all } else { 0 };
    let mut kept: BTreeMap<u16, Registers> = flow.functions.values().map(|function| (function.entry, start(function))).collect();
    if size.saturating_mul(facts.slots + FLAGS) > MOST {
        return kept.into_keys().map(|entry| (entry, 0)).collect();
    }
    for _ in 0..ROUNDS {
        let mut changes = false;
        for function in flow.functions.values() {
            let before = kept[&function.entry];
            if before != 0 {
                let now = before & kept_by(function, flow, facts, &kept);
                changes |= now != before;
                kept.insert(function.entry, now);
            }
        }
        if !changes {
            return kept;
        }
    }
    kept.into_keys().map(|entry| (entry, 0)).collect()
}

/// The registers that a function keeps if those that it calls keep these.
fn kept_by(function: &Function, flow: &Flow, facts: &Facts, kept: &BTreeMap<u16, Registers>) -> Registers {
    let mut result: Registers = (1 << FLAGS) - 1;
    let start = Values { registers: std::array::from_fn(Value::Of), slots: vec![Value::Unset; facts.slots] };
    let mut known: BTreeMap<u16, Values> = BTreeMap::new();
    let mut open = vec![(function.entry, start)];
    while let Some((at, values)) = open.pop() {
        let Some(node) = flow.nodes.get(&at) else { continue };
        let now = match known.get(&at) {
            Some(before) => before.join(&values),
            None => values,
        };
        if known.get(&at) == Some(&now) {
            continue;
        }
        known.insert(at, now.clone());
        let Some(insn) = node.insn else { continue };
        if matches!(insn, Insn::Ret | Insn::Reti) {
            let lost = |number: &usize| now.registers[*number] != Value::Of(*number);
            result &= !(0..FLAGS).filter(lost).map(|number| 1 << number).sum::<Registers>();
        }
        let mut after = now.after(at, &insn, facts);
        for callee in flow.callees(at) {
            let keeps = kept.get(&callee).copied().unwrap_or(0);
            (0..FLAGS).filter(|r| keeps & 1 << r == 0).for_each(|r| after.registers[r] = Value::Other);
        }
        open.extend(flow.next(at).into_iter().map(|to| (to, after.clone())));
    }
    result
}

impl Values {
    fn join(&self, other: &Values) -> Values {
        let slots = self.slots.iter().zip(&other.slots).map(|(a, b)| a.join(*b)).collect();
        Values { registers: std::array::from_fn(|r| self.registers[r].join(other.registers[r])), slots }
    }

    fn after(&self, at: u16, insn: &Insn, facts: &Facts) -> Values {
        let mut after = self.clone();
        let mut written = [false; 32];
        writes_registers(insn, &mut written);
        for r in (0..32).filter(|r| written[*r]) {
            after.registers[r] = Value::Other;
        }
        if writes_flags(insn) {
            after.registers[FLAGS] = Value::Other;
        }
        let of = |r: u8| self.registers[usize::from(r)];
        match facts.direct(at, insn) {
            Insn::Mov { d, r } => after.registers[usize::from(d)] = of(r),
            Insn::Movw { d, r } => {
                after.registers[usize::from(d)] = of(r);
                after.registers[usize::from(d) + 1] = of(r + 1);
            }
            Insn::Load { d, addr } if facts.kind(addr) == Some(Kind::Status) => after.registers[usize::from(d)] = self.registers[FLAGS],
            Insn::Load { d, addr: addr @ 0..32 } => after.registers[usize::from(d)] = of(addr as u8),
            Insn::Store { addr, r } if facts.kind(addr) == Some(Kind::Status) => after.registers[FLAGS] = of(r),
            Insn::Store { addr: addr @ 0..32, r } => after.registers[usize::from(addr)] = of(r),
            Insn::Push { r } => {
                if let Some(slot) = facts.slot_of_push(at) {
                    after.slots[slot] = of(r);
                }
            }
            Insn::Pop { d } if !facts.slots_of_pop(at).is_empty() => {
                let values = facts.slots_of_pop(at).iter().map(|slot| self.slots[*slot]);
                after.registers[usize::from(d)] = values.fold(Value::Unset, Value::join);
            }
            _ => {}
        }
        after
    }
}

/// Whether an instruction computes flags other than I.
fn writes_flags(insn: &Insn) -> bool {
    match insn {
        Insn::Add { .. }
        | Insn::Sub { .. }
        | Insn::Cp { .. }
        | Insn::SubI { .. }
        | Insn::CpI { .. }
        | Insn::Logic { .. }
        | Insn::LogicI { .. }
        | Insn::Mul { .. }
        | Insn::Adiw { .. }
        | Insn::Sbiw { .. }
        | Insn::Bst { .. } => true,
        Insn::One { op, .. } => *op != One::Swap,
        Insn::Flag { bit, .. } => *bit != flag::I,
        _ => false,
    }
}

/// The registers that an instruction reads, and those that it writes; the flags are one of them.
pub fn used(at: u16, insn: &Insn, facts: &Facts) -> (Registers, Registers) {
    let mut written = [false; 32];
    writes_registers(insn, &mut written);
    // The bits that are alive before the instruction if only its results are used.
    let mut after = crate::live::Live::nothing(facts.slots);
    after.slots.fill(0xff);
    after.flags = if writes_flags(insn) { 0xff } else { 0 };
    after.regs.iter_mut().zip(written).for_each(|(mask, written)| *mask = if written { 0xff } else { 0 });
    let before = crate::live::before(insn, at, facts, &after);
    let reads: Registers = (0..32).filter(|r| before.regs[*r] != 0).map(|r| 1 << r).sum();
    let writes: Registers = (0..32).filter(|r| written[*r]).map(|r| 1 << r).sum();
    let direct = facts.direct(at, insn);
    let is_status = |addr: u16| facts.kind(addr) == Some(Kind::Status);
    let writes_status = writes_flags(insn) || matches!(direct, Insn::Store { addr, .. } if is_status(addr));
    let reads_status = match direct {
        Insn::Branch { .. } | Insn::Bld { .. } | Insn::One { op: One::Ror, .. } => true,
        Insn::Add { carry, .. } | Insn::Sub { carry, .. } | Insn::Cp { carry, .. } | Insn::SubI { carry, .. } => carry,
        Insn::Load { addr, .. } => is_status(addr),
        _ => false,
    };
    (reads | Registers::from(reads_status) << FLAGS, writes | Registers::from(writes_status) << FLAGS)
}

/// The registers and flags that are alive at all.
pub fn alive(live: &crate::live::Live) -> Registers {
    let registers: Registers = (0..32).filter(|r| live.regs[*r] != 0).map(|r| 1 << r).sum();
    registers | Registers::from(live.flags & 0x7f != 0) << FLAGS
}
