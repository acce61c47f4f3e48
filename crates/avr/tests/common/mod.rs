//! Programs in words, and everything that they can do.

#![allow(dead_code)] // Each test uses some of it.

use bytecode::{Program, Verified, verify};
use contract::{Successors, System};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use vm::Interpreter;

pub const BREAK: u16 = 0x9598;
pub const RETI: u16 = 0x9518;
pub const SEI: u16 = 0x9478;
pub const NOP: u16 = 0;
/// A loop without end.
pub const FOREVER: u16 = 0xcfff;

pub const fn ldi(d: u16, k: u16) -> u16 {
    0xe000 | (k & 0xf0) << 4 | (d - 16) << 4 | k & 0xf
}

/// OUT to a register of a device, by its address in the data space.
pub const fn out(addr: u16, r: u16) -> u16 {
    let a = addr - 0x20;
    0xb800 | (a & 0x30) << 5 | r << 4 | a & 0xf
}

/// IN from one.
pub const fn input(addr: u16, d: u16) -> u16 {
    let a = addr - 0x20;
    0xb000 | (a & 0x30) << 5 | d << 4 | a & 0xf
}

/// SBI and CBI.
pub const fn bit(addr: u16, bit: u16, set: bool) -> u16 {
    0x9800 | (set as u16) << 9 | (addr - 0x20) << 3 | bit
}

/// STS.
pub const fn sts(addr: u16, r: u16) -> [u16; 2] {
    [0x9200 | r << 4, addr]
}

/// LDS.
pub const fn lds(d: u16, addr: u16) -> [u16; 2] {
    [0x9000 | d << 4, addr]
}

/// A program with handlers, by the numbers of their vectors. The main program stands behind the
/// vectors of an ATmega328P.
pub fn with_handlers(main: &[u16], handlers: &[(usize, &[u16])]) -> Vec<u16> {
    let vectors = 26 * 2;
    let mut code = vec![0; vectors];
    (code[0], code[1]) = (0x940c, vectors as u16);
    code.extend(main);
    for (vector, handler) in handlers {
        (code[2 * vector], code[2 * vector + 1]) = (0x940c, code.len() as u16);
        code.extend(*handler);
    }
    // A vector that is not used resets.
    for vector in (1..26).filter(|vector| !handlers.iter().any(|(used, _)| used == vector)) {
        code[2 * vector] = 0x940c;
    }
    code
}

/// Everything that a program can do.
pub struct Explored {
    /// The kinds of the violations.
    pub violations: BTreeSet<&'static str>,
    /// The first bytes of SRAM and PORTB, of all states.
    pub seen: BTreeSet<Vec<i32>>,
    /// The same, of states from which nothing leads on.
    pub ends: BTreeSet<Vec<i32>>,
    pub states: usize,
}

/// Explores a program.
pub fn explore(program: Program, bytes: usize) -> Explored {
    let program = Arc::new(verify(program).unwrap_or_else(|error| panic!("{error}")));
    let mut machine = Interpreter::new(program.clone());
    let mut all = Explored { violations: BTreeSet::new(), seen: BTreeSet::new(), ends: BTreeSet::new(), states: 0 };
    let mut out = Successors::default();
    machine.initial(&mut out);
    let first = out.iter().next().expect("an initial state").1.expect("no fault").to_vec();
    let (mut known, mut open) = (BTreeSet::from([first.clone()]), VecDeque::from([first]));
    while let Some(state) = open.pop_front() {
        let shown = projected(&program, &state, bytes);
        let mut out = Successors::default();
        machine.successors(&state, &mut out);
        if out.is_empty() {
            all.ends.insert(shown.clone());
        }
        all.seen.insert(shown);
        for (entry, next) in out.iter() {
            all.violations.extend(entry.fault().map(|fault| machine.describe_fault(fault).kind.name()));
            if let Some(next) = next.filter(|next| !known.contains(*next)) {
                known.insert(next.to_vec());
                open.push_back(next.to_vec());
            }
        }
        assert!(known.len() < 200_000, "too many states");
    }
    all.states = known.len();
    all
}

fn projected(program: &Verified, state: &[u8], bytes: usize) -> Vec<i32> {
    let layout = program.layout();
    let slot = layout.globals[program.program().global_named("ram_0x100").expect("SRAM").index()];
    let port = program.program().global_named("PORTB").map(|id| layout.globals[id.index()]);
    let byte = |at: usize| slot.ty.read(&state[slot.offset + at * slot.ty.width()..]);
    (0..bytes).map(byte).chain(port.map(|port| port.ty.read(&state[port.offset..]))).collect()
}
