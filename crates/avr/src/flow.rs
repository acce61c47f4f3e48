//! The instructions that can be executed, and their order: functions, calls and returns.
//!
//! Code is found by following it from the reset vector, the handlers and the functions that can be
//! called through a pointer. A function is the set of instructions that its entry reaches without
//! following calls; one that ends with a jump to another function contains the other's
//! instructions. A popped or computed address that leads outside this code is not handled here: the
//! translation ends such a step with an error.

use crate::chip::Chip;
use crate::image::Image;
use crate::insn::{Insn, decode};
use std::collections::{BTreeMap, BTreeSet};

/// An instruction at an address.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// `None` for a word that is not an instruction.
    pub insn: Option<Insn>,
    /// The length in words.
    pub len: u16,
}

/// A function or an interrupt handler.
#[derive(Clone, Debug, Default)]
pub struct Function {
    pub entry: u16,
    pub insns: BTreeSet<u16>,
    /// The addresses at which its callers continue.
    pub returns: BTreeSet<u16>,
    /// Functions that it calls, by their entries.
    pub calls: BTreeSet<u16>,
    /// Whether it calls through a pointer.
    pub calls_any: bool,
}

/// The code of a program.
#[derive(Debug, Default)]
pub struct Flow {
    pub nodes: BTreeMap<u16, Node>,
    /// By their entries.
    pub functions: BTreeMap<u16, Function>,
    /// The handlers that the program has: number of the vector, entry.
    pub handlers: Vec<(u8, u16)>,
    /// The vectors that lead to a reset, because the program has no handler for them.
    pub missing: Vec<u8>,
    /// Other vectors that are not jumps.
    pub inline: Vec<u8>,
    /// The possible targets of jumps and calls through pointers.
    jump_targets: BTreeSet<u16>,
    pub call_targets: BTreeSet<u16>,
    /// The targets of jumps through pointers in functions of the library, by their addresses.
    library: BTreeMap<u16, BTreeSet<u16>>,
    /// Calls that only make two bytes of room on the stack.
    rooms: BTreeSet<u16>,
    /// Whether the program was not followed to its end because its functions share too much code.
    pub is_too_large: bool,
    /// The functions that an instruction belongs to, by their entries.
    owners: BTreeMap<u16, Vec<u16>>,
}

/// The limit on the instructions of all functions together. An instruction is counted once for each
/// function that contains it.
const MAX_INSTRUCTIONS: usize = 1 << 19;

impl Flow {
    /// Finds the code of a program. Vectors are jumps to handlers; `inline` are those that contain
    /// the code of their handler themselves. The code of a program without vectors stands in their
    /// place, so the caller decides which interrupts matter.
    pub fn of(image: &Image, chip: &Chip, inline: &BTreeSet<u8>) -> Flow {
        let mut flow = Flow { library: image.library_jumps(), ..Flow::default() };
        for vector in 1..chip.vectors {
            let at = u16::from(vector) * 2;
            match decode(&image.flash, at) {
                // A vector that is not used leads to `__bad_interrupt`, which begins again at 0
                // unless the program defines what it does.
                Some((Insn::Jump { to }, _)) if to == 0 || image.is_reset_jump(to) => flow.missing.push(vector),
                Some((Insn::Jump { to }, _)) => flow.handlers.push((vector, to)),
                _ if inline.contains(&vector) => flow.handlers.push((vector, at)),
                _ => flow.inline.push(vector),
            }
        }
        let mut open: Vec<u16> = vec![0];
        open.extend(flow.handlers.iter().map(|(_, entry)| entry));
        let (mut pointers, mut count) = (false, 0);
        loop {
            while let Some(entry) = open.pop() {
                if flow.functions.contains_key(&entry) {
                    continue;
                }
                let function = flow.trace(image, entry);
                count += function.insns.len();
                if count > MAX_INSTRUCTIONS {
                    flow.is_too_large = true;
                    return flow;
                }
                open.extend(&function.calls);
                flow.functions.insert(entry, function);
            }
            // Functions that are only called through pointers are needed only if there are such
            // calls.
            let through = |(at, node): (&u16, &Node)| match node.insn {
                Some(Insn::Icall) => true,
                Some(Insn::Ijmp) => !flow.library.contains_key(at),
                _ => false,
            };
            if pointers || !flow.nodes.iter().any(through) {
                break;
            }
            pointers = true;
            flow.call_targets = image.pointers();
            flow.jump_targets = image.jump_table();
            flow.jump_targets.extend(&flow.call_targets);
            open.extend(&flow.call_targets);
            // The functions traced before did not know the targets of their jumps.
            open.extend(std::mem::take(&mut flow.functions).into_keys());
        }
        flow.link();
        flow
    }

    /// All instructions of the function with this entry.
    fn trace(&mut self, image: &Image, entry: u16) -> Function {
        let mut function = Function { entry, ..Function::default() };
        let mut open = vec![entry];
        while let Some(at) = open.pop() {
            if !function.insns.insert(at) {
                continue;
            }
            let node = *self.nodes.entry(at).or_insert_with(|| match image.decode(at) {
                Some((insn, len)) => Node { insn: Some(insn), len },
                None => Node { insn: None, len: 1 },
            });
            match node.insn {
                Some(Insn::Call { to }) if to == at.wrapping_add(node.len) && node.len == 1 && image.names_at(to).next().is_none() => {
                    self.rooms.insert(at);
                }
                Some(Insn::Call { to }) => {
                    function.calls.insert(to);
                }
                Some(Insn::Icall) => function.calls_any = true,
                _ => {}
            }
            if let Some(insn) = node.insn
                && insn.skips()
            {
                // The skipped instruction must be decoded to know its length.
                open.push(at.wrapping_add(node.len).wrapping_add(skipped(image, at.wrapping_add(node.len))));
                open.push(at.wrapping_add(node.len));
                continue;
            }
            open.extend(self.next(at));
        }
        function
    }

    /// The instructions that may follow within the function; after a call, the one it returns to.
    pub fn next(&self, at: u16) -> Vec<u16> {
        let Some(node) = self.nodes.get(&at) else { return Vec::new() };
        let behind = at.wrapping_add(node.len);
        match node.insn {
            None | Some(Insn::Ret | Insn::Reti) => Vec::new(),
            Some(Insn::Jump { to }) => vec![to],
            Some(Insn::Branch { to, .. }) => vec![behind, to],
            Some(Insn::Ijmp) => self.jumps(at).iter().copied().collect(),
            Some(insn) if insn.skips() => {
                let skipped = self.nodes.get(&behind).map_or(1, |node| node.len);
                vec![behind, behind.wrapping_add(skipped)]
            }
            Some(_) => vec![behind],
        }
    }

    /// The possible targets of the jump through a pointer at this address.
    pub fn jumps(&self, at: u16) -> &BTreeSet<u16> {
        self.library.get(&at).unwrap_or(&self.jump_targets)
    }

    /// Whether the jump through a pointer at this address is one of the library.
    pub fn is_library(&self, at: u16) -> bool {
        self.library.contains_key(&at)
    }

    /// Whether the call at this address only makes two bytes of room on the stack: a short call of
    /// the next instruction, which is no function.
    pub fn is_room(&self, at: u16) -> bool {
        self.rooms.contains(&at)
    }

    /// Fills in the return addresses of functions.
    fn link(&mut self) {
        let mut returns: BTreeMap<u16, BTreeSet<u16>> = BTreeMap::new();
        for function in self.functions.values() {
            for &at in &function.insns {
                self.owners.entry(at).or_default().push(function.entry);
                let node = self.nodes[&at];
                let behind = at.wrapping_add(node.len);
                match node.insn {
                    Some(Insn::Call { to }) if !self.rooms.contains(&at) => {
                        returns.entry(to).or_default().insert(behind);
                    }
                    Some(Insn::Icall) => {
                        for to in &self.call_targets {
                            returns.entry(*to).or_default().insert(behind);
                        }
                    }
                    _ => {}
                }
            }
        }
        for (entry, sites) in returns {
            if let Some(function) = self.functions.get_mut(&entry) {
                function.returns = sites;
            }
        }
    }

    /// The functions that an instruction belongs to, by their entries.
    pub fn owners(&self, at: u16) -> &[u16] {
        self.owners.get(&at).map_or(&[], Vec::as_slice)
    }

    /// The addresses to which a return at this address may lead.
    pub fn returns(&self, at: u16) -> BTreeSet<u16> {
        self.owners(at).iter().flat_map(|entry| &self.functions[entry].returns).copied().collect()
    }

    /// The functions that the call at this address may enter.
    pub fn callees(&self, at: u16) -> Vec<u16> {
        let Some(node) = self.nodes.get(&at) else { return Vec::new() };
        match node.insn {
            Some(Insn::Call { to }) if !self.is_room(at) => vec![to],
            Some(Insn::Icall) => self.call_targets.iter().copied().collect(),
            _ => Vec::new(),
        }
    }

    /// The functions that are executed when this one is called, including itself.
    pub fn closure(&self, entry: u16) -> BTreeSet<u16> {
        let mut all = BTreeSet::new();
        let mut open = vec![entry];
        while let Some(entry) = open.pop() {
            let Some(function) = self.functions.get(&entry).filter(|_| all.insert(entry)) else { continue };
            open.extend(&function.calls);
            if function.calls_any {
                open.extend(&self.call_targets);
            }
        }
        all
    }

    /// The number of paths to each instruction, including calls and interrupts.
    pub fn ways(&self) -> BTreeMap<u16, usize> {
        let mut ways: BTreeMap<u16, usize> = BTreeMap::new();
        // A function is entered from elsewhere.
        for &entry in self.functions.keys() {
            *ways.entry(entry).or_default() += 1;
        }
        for &at in self.nodes.keys() {
            for next in self.next(at) {
                *ways.entry(next).or_default() += 1;
            }
        }
        ways
    }

    /// The instructions at which several paths join, or that are not reached from the one before.
    pub fn leaders(&self) -> BTreeSet<u16> {
        let mut leaders: BTreeSet<u16> = self.functions.keys().copied().collect();
        for (&at, node) in &self.nodes {
            let behind = at.wrapping_add(node.len);
            let next = self.next(at);
            if next.len() != 1 || next[0] != behind || !self.callees(at).is_empty() {
                leaders.extend(next);
            }
        }
        leaders
    }
}

/// The length of the instruction at an address; 1 if it is not an instruction.
fn skipped(image: &Image, at: u16) -> u16 {
    decode(&image.flash, at).map_or(1, |(_, len)| len)
}
