//! The bits that a program may set in registers of devices.
//!
//! They show which interrupts without a handler can be enabled at all. A value is represented by
//! the set of its bits that may be one. It is followed through straight-line code; where paths
//! join, it may be anything.

use crate::facts::Facts;
use crate::flow::Flow;
use crate::insn::{Insn, Logic};
use std::collections::{BTreeMap, BTreeSet};

/// For each register of a device that the program writes, the bits that it may set.
pub fn possible(flow: &Flow, facts: &Facts) -> BTreeMap<u16, u8> {
    let leaders = flow.leaders();
    // Compiled code keeps a zero in r1, except directly after a multiplication.
    let keeps_zero = flow.nodes.values().filter_map(|node| node.insn).all(|insn| {
        let mut written = [false; 32];
        crate::sharing::writes_registers(&insn, &mut written);
        !written[1] || matches!(insn, Insn::Mul { .. } | Insn::Pop { d: 1 } | Insn::Logic { op: Logic::Eor, d: 1, r: 1 })
    });
    let mut begin = [0xff_u8; 32];
    begin[1] = if keeps_zero { 0 } else { 0xff };
    let mut possible: BTreeMap<u16, u8> = BTreeMap::new();
    let address = |(at, node): (&u16, &crate::flow::Node)| facts.access(*at, node.insn.as_ref()?)?.addr;
    let is_plain = |addr: &u16| *addr >= 32 && matches!(facts.kind(*addr), Some(crate::chip::Kind::Plain));
    let used: BTreeSet<u16> = flow.nodes.iter().filter_map(address).filter(is_plain).collect();
    // A value that is read from a register, changed and written back has the bits that were written
    // before: the sets grow until nothing is new.
    loop {
        let before = possible.clone();
        let mut bits = begin;
        let mut expected = None;
        for (&at, node) in &flow.nodes {
            if expected != Some(at) || leaders.contains(&at) {
                bits = begin;
            }
            expected = Some(at.wrapping_add(node.len));
            let Some(insn) = node.insn else { continue };
            let of = |r: u8| bits[usize::from(r)];
            let written = facts.access(at, &insn).filter(|access| access.writes).and_then(|access| access.addr);
            match insn {
                Insn::Store { r, .. } | Insn::St { r, .. } => match written {
                    Some(addr) => *possible.entry(addr).or_default() |= of(r),
                    // A pointer can lead to every register that the program uses by its address;
                    // others are not supported.
                    None if crate::escape::is_own_frame(at, &insn, flow, facts) => {}
                    None => used.iter().for_each(|addr| *possible.entry(*addr).or_default() |= of(r)),
                },
                Insn::Bit { bit, set: true, .. } => {
                    if let Some(addr) = written {
                        *possible.entry(addr).or_default() |= 1 << bit;
                    }
                }
                _ => {}
            }
            let (known, mut now) = (bits, [false; 32]);
            crate::sharing::writes_registers(&insn, &mut now);
            (0..32).filter(|r| now[*r]).for_each(|r| bits[r] = 0xff);
            let of = |r: u8| known[usize::from(r)];
            let (d, value) = match insn {
                Insn::Ldi { d, k } => (d, k),
                Insn::Mov { d, r } => (d, of(r)),
                Insn::Logic { op: Logic::And, d, r } => (d, of(d) & of(r)),
                Insn::Logic { op: Logic::Or, d, r } => (d, of(d) | of(r)),
                Insn::Logic { op: Logic::Eor, d, r } if d == r => (d, 0),
                Insn::LogicI { op: Logic::And, d, k } => (d, of(d) & k),
                Insn::LogicI { op: Logic::Or, d, k } => (d, of(d) | k),
                Insn::Load { d, addr } => (d, if addr < 32 { 0xff } else { device(&before, addr, facts) }),
                Insn::Ld { d, .. } => match facts.resolved(at) {
                    Some(addr) if addr >= 32 => (d, device(&before, addr, facts)),
                    _ => continue,
                },
                _ => continue,
            };
            bits[usize::from(d)] = value;
        }
        if before == possible {
            return possible;
        }
    }
}

/// The bits that may be read from a register of a device that keeps written values.
fn device(possible: &BTreeMap<u16, u8>, addr: u16, facts: &Facts) -> u8 {
    match facts.kind(addr).and_then(crate::chip::Kind::set_by_device) {
        Some(set) => possible.get(&addr).copied().unwrap_or(0) | set,
        None => 0xff,
    }
}
