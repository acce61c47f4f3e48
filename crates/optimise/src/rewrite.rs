//! Inserts instructions into code, and adjusts everything that names an address.
//!
//! Jumps, labels and positions that named an instruction now name the code inserted before it. The
//! order of addresses does not change, so control locations keep their numbers.

use bytecode::{Addr, Op, Program};

/// The changes: for each instruction, the code before it and its replacement.
#[derive(Debug, Default)]
pub(crate) struct Rewriting {
    /// Addresses and the instructions that are inserted there, in the order of addresses.
    pub before: Vec<(usize, Vec<Op>)>,
    /// Addresses and the replacements of their instructions.
    pub instead: Vec<(usize, Op)>,
}

impl Rewriting {
    /// Changes the program.
    pub fn apply(mut self, program: &mut Program) {
        for (at, op) in self.instead {
            program.code[at] = op;
        }
        if self.before.is_empty() {
            return;
        }
        self.before.sort_by_key(|(at, _)| *at);
        let mut code = Vec::with_capacity(program.code.len() + self.before.len());
        // The new address for each address, and one more for the end.
        let mut moved = Vec::with_capacity(program.code.len() + 1);
        let mut before = self.before.into_iter().peekable();
        for (at, op) in program.code.iter().enumerate() {
            moved.push(Addr(code.len() as u32));
            while let Some((_, ops)) = before.next_if(|(place, _)| *place == at) {
                code.extend(ops);
            }
            code.push(*op);
        }
        moved.push(Addr(code.len() as u32));
        program.code = code;
        program.readdress(|addr| moved[addr.index()]);
    }
}
