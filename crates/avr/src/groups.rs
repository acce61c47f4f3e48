//! Accesses through one pointer that follow each other directly.
//!
//! A variable of several bytes is accessed by several instructions. If its address is in a
//! register, it is not known which variable that is, but the distances between the bytes are known,
//! because the instructions use displacements or move the pointer by constants. When an instruction
//! is executed, the distances tell whether others of its group access the same variable.

use crate::facts::Facts;
use crate::flow::Flow;
use crate::insn::{Insn, Mode};
use crate::sharing::writes_registers;
use std::collections::BTreeSet;

/// The instructions in which a group is looked for.
const LENGTH: usize = 12;

/// The largest distance between bytes of one variable.
const FAR: i32 = 3;

/// The accesses that follow the access at `at` in its group: their addresses, and the distances of
/// their bytes from its own. They read if it reads and write if it writes. The group ends where
/// paths join or part, and before an instruction for which `stops` holds.
pub fn behind(at: u16, flow: &Flow, facts: &Facts, leaders: &BTreeSet<u16>, stops: &dyn Fn(u16) -> bool) -> Vec<(u16, i32)> {
    let mut found = Vec::new();
    let Some((pointer, first, mut moved)) = access(at, flow, facts) else { return found };
    let writes = is_write(at, flow);
    if reloads(at, flow, pointer) {
        return found;
    }
    let mut next = at;
    for _ in 0..LENGTH {
        next = next.wrapping_add(flow.nodes.get(&next).map_or(1, |node| node.len));
        if leaders.contains(&next) || stops(next) {
            break;
        }
        let Some(insn) = flow.nodes.get(&next).and_then(|node| node.insn) else { break };
        match (insn, access(next, flow, facts)) {
            (_, Some((other, byte, by))) if other == pointer => {
                let distance = moved + byte - first;
                moved += by;
                let seen = distance == 0 || found.iter().any(|(_, known)| *known == distance);
                if seen || is_write(next, flow) != writes {
                    break;
                }
                if distance.abs() <= FAR {
                    found.push((next, distance));
                }
                if reloads(next, flow, pointer) {
                    break;
                }
            }
            (Insn::Adiw { d, k }, _) if d == pointer => moved += i32::from(k),
            (Insn::Sbiw { d, k }, _) if d == pointer => moved -= i32::from(k),
            _ if changes(&insn, pointer) => break,
            _ => {}
        }
    }
    found
}

/// The bits of the positions in a scalar of `size` bytes at which one of these distances leads to
/// another byte of the same scalar.
pub fn inside(distances: &[i32], size: u8) -> i32 {
    let size = i32::from(size);
    let leads = |position: &i32| distances.iter().any(|distance| (0..size).contains(&(position + distance)));
    (0..size).filter(leads).map(|position| 1 << position).sum()
}

/// The pointer of an access whose address is not known, its displacement from the value that the
/// pointer has before, and the change of the pointer.
fn access(at: u16, flow: &Flow, facts: &Facts) -> Option<(u8, i32, i32)> {
    let (Insn::Ld { ptr, mode, .. } | Insn::St { ptr, mode, .. }) = flow.nodes.get(&at)?.insn? else { return None };
    let (byte, by) = match mode {
        Mode::At(q) => (i32::from(q), 0),
        Mode::PostInc => (0, 1),
        Mode::PreDec => (-1, -1),
    };
    facts.resolved(at).is_none().then_some((ptr, byte, by))
}

fn is_write(at: u16, flow: &Flow) -> bool {
    matches!(flow.nodes[&at].insn, Some(Insn::St { .. }))
}

/// Whether a load replaces the pointer itself.
fn reloads(at: u16, flow: &Flow, pointer: u8) -> bool {
    matches!(flow.nodes[&at].insn, Some(Insn::Ld { d, .. }) if d == pointer || d == pointer + 1)
}

fn changes(insn: &Insn, pointer: u8) -> bool {
    let mut written = [false; 32];
    writes_registers(insn, &mut written);
    written[usize::from(pointer)] || written[usize::from(pointer) + 1]
}
