//! The devices as processes: each interrupt that the program has a handler for is raised by a
//! process of its own, at any time at which it is enabled and the device works. The watchdog is a
//! process too, which resets the device.
//!
//! A device raises an interrupt by an offer on a channel without capacity. The processor accepts
//! the offer where an interrupt can matter. So a trace names the device, and fairness can be
//! required of it.
//!
//! An interrupt is not taken while an interrupt with a lower vector is pending. An interrupt is
//! known to be pending if its flag is raised: the program has read the flag or has stopped the
//! device, or the handler does not clear the flag. Any other interrupt may be raised just now,
//! before all others.

use crate::chip::{Chip, DEPTHS, Edge, Source, Wakes};
use crate::code::{Code, I, T0, T1};
use crate::emit::INTERRUPTS;
use crate::io::EEPE;
use crate::memory::Memory;
use crate::options::Options;
use bytecode::{GlobalId, Mode, Op, Span};

/// The registers that the process of a source reads or changes.
pub fn registers(source: &Source) -> Vec<u16> {
    let mut all = vec![source.mask.0];
    all.extend(source.needs.map(|(addr, _)| addr));
    all.extend(source.flag.map(|(addr, _)| addr));
    all.extend(source.pins.map(|pins| pins.edge.register()));
    all
}

/// Whether a source changes the register of its mask when it is taken.
pub fn changes_mask(source: &Source, chip: &Chip) -> bool {
    source.mask.0 == chip.eecr || source.mask.0 == chip.watchdog.0
}

/// The sources whose flags stay raised when a program stores into this register, although nothing
/// raises them any more: a timer is stopped, or a pin is no longer watched. A program or a handler
/// must be able to see the flag.
pub fn kept_after<'c>(chip: &'c Chip, memory: &'c Memory, addr: u16) -> impl Iterator<Item = &'c Source> {
    let depends = move |source: &&Source| {
        let pins = source.pins.is_some_and(|pins| pins.port - 1 == addr || pins.edge.register() == addr);
        pins || source.needs.is_some_and(|(needs, _)| needs == addr)
    };
    let seen = |source: &&Source| source.flag.is_some_and(|(flags, _)| memory.io.contains_key(&flags));
    chip.sources.iter().filter(|source| source.clears).filter(seen).filter(depends)
}

/// Pushes a register of a device, which is 0 if the program never uses it.
pub fn value(code: &mut Code, memory: &Memory, addr: u16) {
    match memory.io.get(&addr) {
        Some(&var) => code.op(Op::Ldg { var }),
        None => code.c(0),
    }
}

/// Pushes a bit of a register of a device.
fn bit(code: &mut Code, memory: &Memory, addr: u16, bit: u8) {
    value(code, memory, addr);
    code.shr(bit.into());
    code.and(1);
}

/// Pushes whether the top of the stack is this number. It stays in T1.
fn is(code: &mut Code, number: i32) {
    code.push(T1);
    code.c(number);
    code.op(Op::Eq {});
}

/// Pushes whether the pins of an external interrupt can raise it from outside. An input has the
/// required level, or changes, at any time. `latched` says that only a raised flag counts; a low
/// level raises no flag.
pub fn from_outside(code: &mut Code, memory: &Memory, options: &Options, source: &Source, latched: bool) {
    let Some(pins) = source.pins else { return code.c(1) };
    // Bits to which the user has given one value never change.
    let range = options.inputs.get(&(pins.port - 2)).copied();
    let values = || range.map_or(0..=255_u8, |range| range.least..=range.greatest);
    let moving = (0..8_u8).filter(|bit| values().any(|v| v & 1 << bit != 0) && values().any(|v| v & 1 << bit == 0));
    let moving: u8 = moving.map(|bit| 1 << bit).sum();
    match pins.edge {
        Edge::Change { mask } => {
            value(code, memory, mask);
            value(code, memory, pins.port - 1);
            code.op(Op::Not {});
            code.op(Op::And {});
            code.and(moving.into());
            code.c(0);
            code.op(Op::Ne {});
        }
        Edge::Mode { pin, register, bit: first } => {
            let low = values().any(|v| v & 1 << pin == 0);
            value(code, memory, register);
            code.shr(first.into());
            code.and(3);
            code.pop(T1);
            // For a level, input pins may have it now; for an edge, they may have had it.
            is(code, 0);
            code.c(i32::from(low && !latched));
            code.op(Op::And {});
            is(code, 0);
            code.op(Op::Lnot {});
            code.c(i32::from(moving & 1 << pin != 0));
            code.op(Op::And {});
            code.op(Op::Or {});
            bit(code, memory, pins.port - 1, pin);
            code.op(Op::Lnot {});
            code.op(Op::And {});
        }
        Edge::Rising { pin, .. } => {
            bit(code, memory, pins.port - 1, pin);
            code.op(Op::Lnot {});
            code.c(i32::from(moving & 1 << pin != 0));
            code.op(Op::And {});
        }
    }
}

/// Blocks the process if the pins of an external interrupt cannot raise it: they are outputs that
/// the program has not changed.
fn pins(code: &mut Code, memory: &Memory, options: &Options, source: &Source) {
    let Some(pins) = source.pins else { return };
    from_outside(code, memory, options, source, false);
    if let Some((addr, flag)) = source.flag {
        bit(code, memory, addr, flag);
        code.op(Op::Or {});
    }
    if let Edge::Mode { pin, register, bit: first } = pins.edge {
        // The interrupt is also raised by an output that is low, if it is level-triggered.
        value(code, memory, register);
        code.shr(first.into());
        code.and(3);
        code.op(Op::Lnot {});
        bit(code, memory, pins.port - 1, pin);
        code.op(Op::And {});
        bit(code, memory, pins.port, pin);
        code.op(Op::Lnot {});
        code.op(Op::And {});
        code.op(Op::Or {});
    }
    code.op(Op::Nexz {});
}

/// Whether a change of an output register can raise the flag of an external interrupt.
pub fn is_watched(chip: &Chip, memory: &Memory, port: u16) -> bool {
    let raises = |source: &&Source| source.pins.is_some_and(|pins| pins.port == port);
    chip.sources.iter().filter(raises).any(|source| source.flag.is_some_and(|(addr, _)| memory.io.contains_key(&addr)))
}

/// After a write to an output register: raises the flag of each external interrupt for which the
/// program has changed a pin that is an output. The old value is in T0, and the new one is stored.
pub fn moved(code: &mut Code, chip: &Chip, memory: &Memory, port: u16) {
    let sources = chip.sources.iter().filter(|source| source.pins.is_some_and(|pins| pins.port == port));
    for source in sources {
        let (Some(pins), Some((addr, flag))) = (source.pins, source.flag) else { continue };
        let Some(&var) = memory.io.get(&addr) else { continue };
        code.op(Op::Ldg { var });
        // The pins that have changed.
        code.push(T0);
        value(code, memory, port);
        code.op(Op::Xor {});
        value(code, memory, port - 1);
        code.op(Op::And {});
        match pins.edge {
            Edge::Change { mask } => {
                value(code, memory, mask);
                code.op(Op::And {});
                code.c(0);
                code.op(Op::Ne {});
            }
            Edge::Mode { pin, register, bit: first } => {
                code.shr(pin.into());
                code.and(1);
                value(code, memory, register);
                code.shr(first.into());
                code.and(3);
                code.pop(T1);
                // The level that these pins must have now: any, low or high.
                is(code, 1);
                for (mode, high) in [(2, false), (3, true)] {
                    is(code, mode);
                    bit(code, memory, port, pin);
                    if !high {
                        code.op(Op::Lnot {});
                    }
                    code.op(Op::And {});
                    code.op(Op::Or {});
                }
                code.op(Op::And {});
            }
            Edge::Rising { pin, register, bit: which } => {
                code.shr(pin.into());
                code.and(1);
                bit(code, memory, port, pin);
                bit(code, memory, register, which);
                code.op(Op::Eq {});
                code.op(Op::And {});
            }
        }
        code.shl(flag.into());
        code.op(Op::Or {});
        code.op(Op::Stg { var });
    }
}

/// Pushes whether an interrupt is known to be pending. `None` if it has no flag that says so.
pub fn pending(code: &mut Code, memory: &Memory, source: &Source) -> Option<()> {
    let (addr, flag) = source.flag?;
    bit(code, memory, addr, flag);
    bit(code, memory, source.mask.0, source.mask.1);
    code.op(Op::And {});
    if let Some((addr, bits)) = source.needs.filter(|_| !source.clears) {
        value(code, memory, addr);
        code.and(bits.into());
        code.c(0);
        code.op(Op::Ne {});
        code.op(Op::And {});
    }
    Some(())
}

/// The process waits while an interrupt with a lower vector is pending.
fn priority(code: &mut Code, memory: &Memory, source: &Source, used: &[&Source]) {
    for other in used.iter().filter(|other| other.vector < source.vector) {
        if pending(code, memory, other).is_some() {
            code.op(Op::Lnot {});
            code.op(Op::Nexz {});
        }
    }
}

/// The process waits while the processor sleeps in a mode from which the source cannot wake it.
fn wakes(code: &mut Code, chip: &Chip, memory: &Memory, source: &Source) {
    let Some(asleep) = memory.asleep else { return };
    for depth in DEPTHS {
        let wakes = source.wakes(chip, depth);
        if wakes == Wakes::Always {
            continue;
        }
        code.op(Op::Ldg { var: asleep });
        code.c(depth as i32);
        code.op(Op::Ne {});
        match wakes {
            Wakes::Level(addr, bit) => {
                value(code, memory, addr);
                code.shr(bit.into());
                code.and(3);
                code.op(Op::Lnot {});
                code.op(Op::Or {});
            }
            Wakes::OwnClock => {
                bit(code, memory, chip.own_clock.0, chip.own_clock.1);
                code.op(Op::Or {});
            }
            Wakes::Always | Wakes::Never => {}
        }
        code.op(Op::Nexz {});
    }
}

fn begin(code: &mut Code, text: String) -> crate::code::Mark {
    let start = code.mark();
    code.place(start);
    code.span(Span { addr: code.here(), file: bytecode::FileIndex(0), line: 1, column: 1, text });
    start
}

/// The code of the process of a source. `used` are all sources that have a process.
pub fn device(code: &mut Code, chip: &Chip, memory: &Memory, options: &Options, source: &Source, used: &[&Source]) {
    let start = begin(code, format!("interrupt {}", source.name));
    code.op(Op::Ldg { var: I });
    code.op(Op::Nexz {});
    wakes(code, chip, memory, source);
    let test = |code: &mut Code, addr: u16, bits: i32| {
        code.op(Op::Ldg { var: memory.io[&addr] });
        code.and(bits);
        code.op(Op::Nexz {});
    };
    test(code, source.mask.0, 1 << source.mask.1);
    if let Some((addr, bits)) = source.needs {
        match source.flag.filter(|_| source.clears) {
            // A flag that is raised stays so when the device is stopped.
            Some((flags, flag)) => {
                value(code, memory, addr);
                code.and(bits.into());
                value(code, memory, flags);
                code.and(1 << flag);
                code.op(Op::Or {});
                code.op(Op::Nexz {});
            }
            None => test(code, addr, bits.into()),
        }
    }
    pins(code, memory, options, source);
    priority(code, memory, source, used);
    if let Some((addr, bit)) = source.flag {
        let var = memory.io[&addr];
        // Entering the handler clears the flag; otherwise the handler finds it raised.
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
    if source.mask.0 == chip.eecr {
        // The EEPROM is ready, so a write that was started is complete.
        let var = memory.io[&chip.eecr];
        code.op(Op::Ldg { var });
        code.and(!EEPE & 0xff);
        code.op(Op::Stg { var });
    }
    if source.mask.0 == chip.watchdog.0 && chip.watchdog_interrupts != 0 {
        // If the watchdog also resets, it does so at its second time-out: the interrupt is disabled
        // now.
        let var = memory.io[&source.mask.0];
        code.op(Op::Ldg { var });
        code.op(Op::Ldg { var });
        code.and(0x08);
        code.shl(3);
        code.op(Op::Not {});
        code.op(Op::And {});
        code.op(Op::Stg { var });
    }
    code.c(INTERRUPTS);
    code.c(source.vector.into());
    code.op(Op::Send { fields: 1 });
    code.step(Mode::Normal);
    code.jump(start);
}

/// The code of the watchdog, which resets the device when it is on and does not interrupt instead.
pub fn watchdog(code: &mut Code, chip: &Chip, register: GlobalId) {
    let start = begin(code, "the watchdog resets the device".to_owned());
    code.op(Op::Ldg { var: register });
    code.and((chip.watchdog.1 & !chip.watchdog_interrupts).into());
    code.op(Op::Nexz {});
    code.op(Op::Ldg { var: register });
    code.and(chip.watchdog_interrupts.into());
    code.op(Op::Lnot {});
    code.op(Op::Nexz {});
    code.c(INTERRUPTS);
    code.c(0);
    code.op(Op::Send { fields: 1 });
    code.step(Mode::Normal);
    code.jump(start);
}
