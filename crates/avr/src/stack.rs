//! An upper bound on the depth of the stack.
//!
//! Each function pushes, makes room for its variables, and calls others. Without recursion the sum
//! along the deepest path is a bound. Handlers are added to it: one at a time, because they run
//! with interrupts disabled. If no bound can be found, all of the free memory is kept in a state.

use crate::chip::Kind;
use crate::facts::{Enabled, Facts};
use crate::flow::Flow;
use crate::insn::{Insn, Y, flag};
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
    let mut reached: BTreeMap<u16, (u32, bool)> = BTreeMap::from([(entry, (0, false))]);
    let mut open = vec![entry];
    let mut most = 0;
    while let Some(at) = open.pop() {
        let (mut here, mut framed) = reached[&at];
        let node = flow.nodes.get(&at)?;
        match node.insn {
            Some(Insn::Push { .. }) => here += 1,
            Some(Insn::Pop { .. }) => here = here.checked_sub(1)?,
            // The library saves registers and makes room as its caller requires.
            Some(Insn::Ijmp) if flow.is_library(at) => return None,
            Some(Insn::Call { .. }) if flow.is_room(at) => here += 2,
            Some(Insn::Call { .. } | Insn::Icall) => {
                for to in flow.callees(at) {
                    most = most.max(here + 2 + depth(flow, facts, to, known, nesting + 1)?);
                }
            }
            Some(Insn::Store { addr, .. }) if facts.kind(addr) == Some(Kind::Stack { high: false }) && entry != 0 => {
                let size = frame(flow, entry)?;
                here = if framed { here.checked_sub(size)? } else { here + size };
                framed = !framed;
            }
            _ => {}
        }
        most = most.max(here);
        for next in flow.next(at) {
            match reached.get(&next) {
                None => {
                    reached.insert(next, (here, framed));
                    open.push(next);
                }
                Some(before) if *before == (here, framed) => {}
                Some(_) => return None,
            }
        }
    }
    known.insert(entry, Some(most));
    Some(most)
}

/// The room that a function makes for its variables: what it subtracts from the frame pointer.
fn frame(flow: &Flow, entry: u16) -> Option<u32> {
    let function = &flow.functions[&entry];
    let mut low = None;
    for at in &function.insns {
        match flow.nodes[at].insn {
            Some(Insn::Sbiw { d: Y, k }) => return Some(k.into()),
            Some(Insn::SubI { d: Y, k, carry: false }) => low = Some(k),
            Some(Insn::SubI { d, k, carry: true }) if d == Y + 1 => return low.map(|low| u32::from(u16::from_le_bytes([low, k]))),
            _ => {}
        }
    }
    None
}
