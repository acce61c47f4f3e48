//! An upper bound on the depth of the stack.
//!
//! Each function pushes, makes room for its variables, and calls others. Without recursion the sum
//! along the deepest path is a bound. Handlers are added to it: one at a time, because they run
//! with interrupts disabled. If no bound can be found, all of the free memory is kept in a state.

use crate::chip::Kind;
use crate::facts::{Enabled, Facts};
use crate::flow::Flow;
use crate::insn::{Insn, flag};
use crate::sharing::writes_registers;
use std::collections::BTreeMap;

/// Bytes beyond the bound, for the start-up code.
const MARGIN: u32 = 8;

/// The most bytes that the stack takes; `None` if that is not known.
pub fn most(flow: &Flow, facts: &Facts, handlers: &[(u8, u16)]) -> Option<u16> {
    let mut depths = BTreeMap::new();
    let mut total = depth(flow, facts, 0, &mut depths, 0)?;
    let mut deepest = 0;
    for (_, entry) in handlers {
        let enables = flow.closure(*entry).iter().any(|f| flow.functions[f].insns.iter().any(|at| facts.enabled(*at) != Enabled::No));
        // Functions that the rest of the program calls too may run with interrupts enabled when
        // called from there. Only a handler that enables interrupts itself can be interrupted.
        let own = flow.closure(*entry).iter().any(|f| flow.functions[f].insns.iter().any(|at| may_enable(*at, flow, facts)));
        if enables && own {
            return None;
        }
        deepest = deepest.max(depth(flow, facts, *entry, &mut depths, 0)? + 2);
    }
    total += deepest + MARGIN;
    u16::try_from(total).ok()
}

/// Whether an instruction may enable interrupts. A value that was just popped is taken for the
/// status that a handler has saved: interrupts were disabled then.
fn may_enable(at: u16, flow: &Flow, facts: &Facts) -> bool {
    let Some(insn) = flow.nodes[&at].insn else { return false };
    match facts.direct(at, &insn) {
        Insn::Flag { bit: flag::I, set } => set,
        Insn::Store { addr, r } if facts.kind(addr) == Some(Kind::Status) => {
            let before = flow.nodes.range(..at).next_back().and_then(|(_, node)| node.insn);
            before != Some(Insn::Pop { d: r })
        }
        _ => false,
    }
}

/// What a register holds: a byte of an address of the stack, as the distance from the stack pointer
/// at the beginning of the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Byte {
    Low(u16),
    High(u16),
    /// The low byte, from which this constant was subtracted; the high byte follows.
    Less(u16, u8),
}

/// The bytes that a function has put on the stack at an instruction, and the addresses of the stack
/// in registers. `high` is the part of the stack pointer that has been set first.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Point {
    here: u32,
    registers: [Option<Byte>; 32],
    high: Option<u16>,
}

impl Point {
    /// The distance that a pair of registers holds.
    fn pair(&self, low: u8) -> Option<u16> {
        match (self.registers[usize::from(low)], self.registers[usize::from(low) + 1]) {
            (Some(Byte::Low(low)), Some(Byte::High(high))) if low == high => Some(low),
            _ => None,
        }
    }

    /// What is known after an instruction other than a call. `None` if the stack pointer gets a
    /// value that is not known.
    fn after(&self, insn: &Insn, facts: &Facts) -> Option<Point> {
        let mut after = self.clone();
        let mut written = [false; 32];
        writes_registers(insn, &mut written);
        (0..32).filter(|r| written[*r]).for_each(|r| after.registers[r] = None);
        let of = |r: u8| self.registers[usize::from(r)];
        let mut set = |low: u8, distance: Option<u16>| {
            after.registers[usize::from(low)] = distance.map(Byte::Low);
            after.registers[usize::from(low) + 1] = distance.map(Byte::High);
        };
        match *insn {
            Insn::Mov { d, r } => after.registers[usize::from(d)] = of(r),
            Insn::Movw { d, r } => {
                after.registers[usize::from(d)] = of(r);
                after.registers[usize::from(d) + 1] = of(r + 1);
            }
            Insn::Sbiw { d, k } => set(d, self.pair(d).map(|distance| distance.wrapping_add(k.into()))),
            Insn::Adiw { d, k } => set(d, self.pair(d).map(|distance| distance.wrapping_sub(k.into()))),
            Insn::SubI { d, k, carry: false } => {
                let Some(Byte::Low(distance)) = of(d) else { return Some(after) };
                after.registers[usize::from(d)] = Some(Byte::Less(distance, k));
            }
            Insn::SubI { d, k, carry: true } if d > 0 => {
                if let (Some(Byte::Less(low, less)), Some(Byte::High(high))) = (of(d - 1), of(d))
                    && low == high
                {
                    set(d - 1, Some(low.wrapping_add(u16::from_le_bytes([less, k]))));
                }
            }
            Insn::Load { d, addr } => match facts.kind(addr) {
                Some(Kind::Stack { high: false }) => after.registers[usize::from(d)] = Some(Byte::Low(self.here as u16)),
                Some(Kind::Stack { high: true }) => after.registers[usize::from(d)] = Some(Byte::High(self.here as u16)),
                _ => {}
            },
            Insn::Store { addr, r } => match (facts.kind(addr), of(r)) {
                (Some(Kind::Stack { high: true }), Some(Byte::High(distance))) => after.high = Some(distance),
                (Some(Kind::Stack { high: true }), _) => return None,
                (Some(Kind::Stack { high: false }), Some(Byte::Low(distance))) if after.high == Some(distance) && distance < 0x8000 => {
                    (after.here, after.high) = (distance.into(), None);
                }
                (Some(Kind::Stack { high: false }), _) => return None,
                _ => {}
            },
            Insn::Push { .. } => after.here += 1,
            Insn::Pop { .. } => after.here = self.here.checked_sub(1)?,
            _ => {}
        }
        Some(after)
    }

    /// What is known on both of two paths. `None` if the stack differs.
    fn join(&self, other: &Point) -> Option<Point> {
        let both = |r: usize| self.registers[r].filter(|byte| other.registers[r] == Some(*byte));
        let high = self.high.filter(|high| other.high == Some(*high));
        (self.here == other.here).then(|| Point { here: self.here, registers: std::array::from_fn(both), high })
    }
}

fn depth(flow: &Flow, facts: &Facts, entry: u16, known: &mut BTreeMap<u16, Option<u32>>, nesting: usize) -> Option<u32> {
    if let Some(found) = known.get(&entry) {
        return *found;
    }
    if nesting > 200 {
        return None;
    }
    // A recursive function has no bound.
    known.insert(entry, None);
    flow.functions.get(&entry)?;
    let mut reached: BTreeMap<u16, Point> = BTreeMap::new();
    let mut open = vec![(entry, Point { here: 0, registers: [None; 32], high: None })];
    let mut most = 0;
    while let Some((at, point)) = open.pop() {
        let point = match reached.get(&at) {
            None => point,
            Some(before) => {
                let joined = before.join(&point)?;
                if joined == *before {
                    continue;
                }
                joined
            }
        };
        reached.insert(at, point.clone());
        let insn = flow.nodes.get(&at)?.insn;
        let after = match insn {
            // The library saves registers and makes room as its caller requires.
            Some(Insn::Ijmp) if flow.is_library(at) => return None,
            Some(Insn::Call { .. }) if flow.is_room(at) => Point { here: point.here + 2, ..point.clone() },
            Some(Insn::Call { .. } | Insn::Icall) => {
                for to in flow.callees(at) {
                    most = most.max(point.here + 2 + depth(flow, facts, to, known, nesting + 1)?);
                }
                // Called functions keep these registers and no others.
                let keeps = |r: &usize| matches!(r, 2..=17 | 28 | 29);
                let mut after = point.clone();
                (0..32).filter(|r| !keeps(r)).for_each(|r| after.registers[r] = None);
                after
            }
            // The start-up code sets the stack pointer.
            Some(Insn::Store { .. }) if entry == 0 => point.clone(),
            Some(insn) => point.after(&insn, facts)?,
            None => continue,
        };
        most = most.max(after.here);
        open.extend(flow.next(at).into_iter().map(|to| (to, after.clone())));
    }
    known.insert(entry, Some(most));
    Some(most)
}
