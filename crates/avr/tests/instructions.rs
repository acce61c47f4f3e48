//! Instructions one by one: code is assembled here, translated, and executed by the reference
//! interpreter until BREAK.

use bytecode::{Verified, verify};
use contract::{Successors, System};
use std::sync::Arc;
use vm::Interpreter;

/// A machine that has stopped at BREAK.
struct Stopped {
    program: Arc<Verified>,
    state: Vec<u8>,
}

impl Stopped {
    /// The value of a local of the processor.
    fn local(&self, name: &str) -> i32 {
        let layout = self.program.layout();
        let program = self.program.program();
        let cpu = program.process_named("cpu").expect("the processor");
        let number = program.local_named(cpu, name).expect("a local of this name").index();
        let slot = &layout.processes[cpu.index()].locals[number];
        slot.ty.read(&self.state[layout.fixed + slot.offset..])
    }

    /// The byte of SRAM at an address.
    fn byte(&self, addr: usize) -> i32 {
        let slot = self.program.layout().globals[self.program.program().global_named("ram_0x100").expect("SRAM").index()];
        slot.ty.read(&self.state[slot.offset + addr - 0x100..])
    }
}

/// Executes code until BREAK.
fn run(code: &[u16]) -> Stopped {
    let mut code = code.to_vec();
    code.push(0x9598);
    let program = avr::testing::program("atmega328p", &code).expect("a program");
    let program = Arc::new(verify(program).unwrap_or_else(|error| panic!("{error}")));
    let mut machine = Interpreter::new(program.clone());
    let mut out = Successors::default();
    machine.initial(&mut out);
    let mut state = out.iter().next().expect("an initial state").1.expect("no fault").to_vec();
    for _ in 0..10_000 {
        let mut out = Successors::default();
        machine.successors(&state, &mut out);
        let Some((entry, next)) = out.iter().next() else { return Stopped { program, state } };
        assert!(entry.fault().is_none(), "{:?}", entry.fault().map(|fault| machine.describe_fault(fault)));
        state = next.expect("a state").to_vec();
    }
    panic!("it does not stop");
}

const fn ldi(d: u16, k: u16) -> u16 {
    0xe000 | (k & 0xf0) << 4 | (d - 16) << 4 | k & 0xf
}

const fn two(base: u16, d: u16, r: u16) -> u16 {
    base | (r & 0x10) << 5 | d << 4 | r & 0xf
}

#[test]
fn sums_set_their_flags() {
    let add = two(0x0c00, 16, 17);
    for (a, b, sum, flags) in
        [(0x7f, 1, 0x80, "HVN"), (0xff, 1, 0, "HCZ"), (0x80, 0x80, 0, "CZVS"), (1, 2, 3, ""), (0xf0, 0x05, 0xf5, "NS")]
    {
        let end = run(&[ldi(16, a), ldi(17, b), add]);
        assert_eq!(end.local("r16"), sum);
        for flag in ["C", "Z", "N", "V", "S", "H"] {
            assert_eq!(end.local(flag) == 1, flags.contains(flag), "{flag} of {a} + {b}");
        }
    }
}

#[test]
fn memory_is_written_and_read_back() {
    // LDI r26, 0x10; LDI r27, 1; ST X+, r26; LDS r20, 0x110; LD r21, -X
    let end = run(&[ldi(26, 0x10), ldi(27, 1), 0x93ad, 0x9140, 0x0110, 0x915e]);
    assert_eq!((end.local("r20"), end.local("r21"), end.local("r26"), end.byte(0x110)), (0x10, 0x10, 0x10, 0x10));
}

#[test]
fn calls_return() {
    // RCALL to the subroutine after BREAK, which sets r16 and returns.
    let end = run(&[0xd002, ldi(17, 7), 0x9598, ldi(16, 5), 0x9508]);
    assert_eq!((end.local("r16"), end.local("r17"), end.local("SP")), (5, 7, 0x8ff));
}

#[test]
fn skips_pass_over_one_instruction_of_any_length() {
    // SBRS r16, 0; LDS r17, 0x0100 (two words); LDI r18, 1
    let end = run(&[ldi(16, 1), ldi(17, 9), 0xff00, 0x9110, 0x0100, ldi(18, 1)]);
    assert_eq!((end.local("r17"), end.local("r18")), (9, 1));
}

#[test]
fn loops_that_count_are_one_step() {
    // LDI r24, 200; DEC r24; BRNE back
    let end = run(&[ldi(24, 200), 0x958a, 0xf7f1]);
    assert_eq!((end.local("r24"), end.local("Z")), (0, 1));
}

#[test]
fn a_function_that_is_called_can_end_like_a_handler() {
    // RCALL to the subroutine after BREAK, which sets r16, enables interrupts and returns.
    let end = run(&[0xd002, ldi(17, 7), 0x9598, ldi(16, 5), 0x9518]);
    assert_eq!((end.local("r16"), end.local("r17"), end.local("SP")), (5, 7, 0x8ff));
    // Only its return has enabled interrupts: BRID over LDI r18, 1.
    let end = run(&[0xd003, 0xf40f, ldi(18, 1), 0x9598, 0x9518]);
    assert_eq!(end.local("r18"), 1);
    let end = run(&[0xd003, 0xf40f, ldi(18, 1), 0x9598, 0x9508]);
    assert_eq!(end.local("r18"), 0);
}
