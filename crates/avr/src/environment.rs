//! The devices as processes. Each interrupt that the program has a handler for is raised by a
//! process of its own, at any time at which it is enabled and the device works.
//!
//! Raising is an offer on a channel without capacity, which the processor accepts where an
//! interrupt can matter. So a trace names the device, and fairness can be required of it.

use crate::chip::{Chip, Source};
use crate::code::{Code, I};
use crate::emit::INTERRUPTS;
use crate::memory::Memory;
use bytecode::{Mode, Op, Span};

/// The registers that the process of a source reads or changes.
pub fn registers(source: &Source) -> Vec<u16> {
    let mut all = vec![source.mask.0];
    all.extend(source.needs.map(|(addr, _)| addr));
    all.extend(source.flag.map(|(addr, _)| addr));
    all
}

/// The code of the process of a source.
pub fn device(code: &mut Code, chip: &Chip, memory: &Memory, source: &Source) {
    let start = code.mark();
    code.place(start);
    code.span(Span { addr: code.here(), file: bytecode::FileIndex(0), line: 1, column: 1, text: format!("interrupt {}", source.name) });
    code.op(Op::Ldg { var: I });
    code.op(Op::Nexz {});
    let test = |code: &mut Code, addr: u16, bits: i32| {
        code.op(Op::Ldg { var: memory.io[&addr] });
        code.and(bits);
        code.op(Op::Nexz {});
    };
    test(code, source.mask.0, 1 << source.mask.1);
    if let Some((addr, bits)) = source.needs {
        test(code, addr, bits.into());
    }
    if let Some((addr, bit)) = source.flag {
        let var = memory.io[&addr];
        // Entering the handler clears the flag; or else the handler finds it raised.
        code.op(Op::Ldg { var });
        if source.clears {
            code.and(!(1 << bit) & 0xff);
        } else {
            code.c(1 << bit);
            code.op(Op::Or {});
        }
        if addr == chip.adcsra {
            // A single conversion is complete now; in free running mode the next one has begun.
            code.op(Op::Stg { var });
            code.op(Op::Ldg { var });
            code.op(Op::Ldg { var });
            code.and(0x20);
            code.c(1);
            code.op(Op::Shl {});
            code.c(0xbf);
            code.op(Op::Or {});
            code.op(Op::And {});
        }
        code.op(Op::Stg { var });
    }
    code.c(INTERRUPTS);
    code.c(source.vector.into());
    code.op(Op::Send { fields: 1 });
    code.step(Mode::Normal);
    code.jump(start);
}
