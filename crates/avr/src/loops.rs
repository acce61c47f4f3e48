//! Loops that must not become a single step.
//!
//! Mode D follows a sequence to its end, so a loop that may never end needs a visible step. That is
//! every loop without an exit, and every loop that waits for something: one that accesses memory or
//! calls. A loop that only computes, such as a delay, and one that surely ends are parts of a step.
//!
//! Loops are strongly connected components of the code (R. Tarjan, "Depth-first search and linear
//! graph algorithms"). A component loses its first instruction when that has become a point, and
//! what remains is divided again, so inner loops are found too.

use crate::facts::Facts;
use crate::flow::Flow;
use crate::insn::{Insn, Mode, One, flag};
use crate::sharing::writes_registers;
use std::collections::{BTreeMap, BTreeSet};

/// The first instructions of loops at which a visible step must end.
pub fn points(flow: &Flow, facts: &Facts) -> BTreeSet<u16> {
    let next: BTreeMap<u16, Vec<u16>> = flow.nodes.keys().map(|&at| (at, flow.next(at))).collect();
    let mut points = BTreeSet::new();
    let mut open = components(&next, flow.nodes.keys().copied().collect());
    while let Some(part) = open.pop() {
        let leaves = part.iter().any(|at| match flow.nodes[at].insn {
            Some(Insn::Ret | Insn::Reti) | None => true,
            _ => next[at].iter().any(|to| !part.contains(to)),
        });
        if leaves && part.iter().all(|at| is_plain(*at, flow, facts)) {
            continue;
        }
        // The lowest address to which some instruction of the loop jumps back.
        let Some(head) = part.iter().copied().find(|head| part.range(head..).any(|at| next[at].contains(head))) else { continue };
        if !leaves || !ends(head, &part, &next, flow) {
            points.insert(head);
        }
        open.extend(components(&next, part.into_iter().filter(|at| *at != head).collect()));
    }
    points
}

/// Whether an instruction only computes.
fn is_plain(at: u16, flow: &Flow, facts: &Facts) -> bool {
    let Some(insn) = &flow.nodes[&at].insn else { return true };
    facts.access(at, insn).is_none() && flow.callees(at).is_empty() && !matches!(insn, Insn::Sleep)
}

/// Whether a loop surely ends. It counts down a register that nothing else in it changes and leaves
/// at zero, or it moves a pointer in each iteration, which must reach the end of memory.
fn ends(head: u16, part: &BTreeSet<u16>, next: &BTreeMap<u16, Vec<u16>>, flow: &Flow) -> bool {
    let mut writers = [0_usize; 32];
    for at in part {
        let mut written = [false; 32];
        if let Some(insn) = &flow.nodes[at].insn {
            if !flow.callees(*at).is_empty() {
                return false;
            }
            writes_registers(insn, &mut written);
        }
        writers.iter_mut().zip(written).for_each(|(count, written)| *count += usize::from(written));
    }
    let alone = |r: u8| writers[usize::from(r)] == 1;
    // The instructions that each iteration executes first, in their order.
    let mut counted: Vec<u8> = Vec::new();
    let mut at = head;
    for _ in 0..part.len() {
        match flow.nodes[&at].insn {
            Some(Insn::Ld { ptr, mode: Mode::PostInc | Mode::PreDec, d }) if alone(ptr) && alone(ptr + 1) && d & !1 != ptr => return true,
            Some(Insn::St { ptr, mode: Mode::PostInc | Mode::PreDec, .. }) if alone(ptr) && alone(ptr + 1) => return true,
            Some(Insn::One { op: One::Dec, d }) if alone(d) => counted = vec![d],
            Some(Insn::Sbiw { d, k: 1 }) if alone(d) && alone(d + 1) => counted = vec![d, d + 1],
            Some(Insn::SubI { d, k: 1, carry: false }) if alone(d) => counted = vec![d],
            // The upper bytes of a counter.
            Some(Insn::SubI { d, k: 0, carry: true }) if alone(d) && !counted.is_empty() => counted.push(d),
            // If the result is not zero, or there is no borrow, the loop continues.
            Some(Insn::Branch { bit: flag::Z | flag::C, set: false, to }) if to == head && !counted.is_empty() => return true,
            _ => counted.clear(),
        }
        let inside: Vec<u16> = next[&at].iter().copied().filter(|to| part.contains(to)).collect();
        match inside[..] {
            [only] if only != head => at = only,
            _ => return false,
        }
    }
    false
}

/// The strongly connected components with a cycle, of the given instructions.
fn components(next: &BTreeMap<u16, Vec<u16>>, among: BTreeSet<u16>) -> Vec<BTreeSet<u16>> {
    let mut search = Search { next, among: &among, number: BTreeMap::new(), low: BTreeMap::new(), stack: Vec::new(), found: Vec::new() };
    for &at in &among {
        search.from(at);
    }
    let has_cycle = |part: &BTreeSet<u16>| part.len() > 1 || part.iter().any(|at| next[at].contains(at));
    search.found.into_iter().filter(has_cycle).collect()
}

struct Search<'a> {
    next: &'a BTreeMap<u16, Vec<u16>>,
    among: &'a BTreeSet<u16>,
    number: BTreeMap<u16, usize>,
    /// The lowest number that is reached from an instruction; absent once its component is known.
    low: BTreeMap<u16, usize>,
    stack: Vec<u16>,
    found: Vec<BTreeSet<u16>>,
}

impl Search<'_> {
    fn enter(&mut self, at: u16) {
        let number = self.number.len();
        self.number.insert(at, number);
        self.low.insert(at, number);
        self.stack.push(at);
    }

    /// Searches from an instruction, without recursion: code can be long.
    fn from(&mut self, start: u16) {
        if self.number.contains_key(&start) {
            return;
        }
        self.enter(start);
        let mut path = vec![(start, 0)];
        while let Some((at, position)) = path.pop() {
            if let Some(&to) = self.next[&at].get(position) {
                path.push((at, position + 1));
                if !self.among.contains(&to) {
                    continue;
                }
                if !self.number.contains_key(&to) {
                    self.enter(to);
                    path.push((to, 0));
                } else if self.low.contains_key(&to) {
                    self.lower(at, self.number[&to]);
                }
                continue;
            }
            if self.low[&at] == self.number[&at] {
                let mut part = BTreeSet::new();
                while let Some(of) = self.stack.pop() {
                    self.low.remove(&of);
                    part.insert(of);
                    if of == at {
                        break;
                    }
                }
                self.found.push(part);
            } else if let Some((before, _)) = path.last().copied() {
                self.lower(before, self.low[&at]);
            }
        }
    }

    fn lower(&mut self, at: u16, number: usize) {
        if let Some(low) = self.low.get_mut(&at) {
            *low = number.min(*low);
        }
    }
}
