//! Registers of devices: the values that a program reads, and the effects of its writes.
//!
//! An input is chosen when it is read, and only the bits that make a difference; an input that is
//! never read costs nothing. The value chosen for an interrupt flag is kept until the program or
//! the handler clears the flag. A flag is also chosen when the program stops the device that would
//! raise it. The levels of pins are kept if a property refers to them; otherwise only the program's
//! own registers hold them.

use crate::chip::{ANY, Depth, Kind, LATCH, Source};
use crate::code::{I, Mark, SP, T0, T1, T2, flag_local};
use crate::emit::Emitter;
use crate::environment;
use crate::insn::flag;
use crate::memory::Place;
use bytecode::{GlobalId, Op};

/// Bits of EECR: read, write, and the permission to write.
const EERE: i32 = 1;
pub const EEPE: i32 = 2;
const EEMPE: i32 = 4;

impl Emitter<'_> {
    fn io(&self, addr: u16) -> Option<GlobalId> {
        self.memory.io.get(&addr).copied()
    }

    /// Pushes the value of a register. Only the bits `wanted` matter.
    pub fn load_io(&mut self, addr: u16, wanted: u8) {
        let Some(var) = self.io(addr) else { return self.code.c(0) };
        match self.kind(addr) {
            Kind::Plain => self.code.op(Op::Ldg { var }),
            Kind::Status => self.load_status(wanted),
            Kind::Stack { high } => {
                self.code.get(SP);
                self.code.shr(if high { 8 } else { 0 });
                self.code.and(0xff);
            }
            Kind::Pins { ddr, port } => self.load_pins(addr, var, ddr, port, wanted),
            Kind::Counter => {
                if let Some(latch) = self.io(LATCH).filter(|_| addr == self.image.chip.counter) {
                    self.code.c(ANY);
                    self.code.op(Op::Stg { var: latch });
                }
                self.choose_input(addr, wanted);
            }
            Kind::Half { latched: false, .. } => self.code.op(Op::Ldg { var }),
            Kind::Half { high, latched: true } => self.load_captured(addr, var, high, wanted),
            Kind::Sample => self.load_sample(addr, wanted),
            Kind::Serial => {
                self.choose_input(addr, wanted);
                self.change_bits(self.image.chip.ucsra, 0x80, 0);
            }
            Kind::Received => self.choose_input(addr, wanted),
            Kind::Exchanged => {
                self.choose_input(addr, wanted);
                self.change_bits(self.image.chip.spsr, 0x80, 0);
            }
            Kind::Mixed { inputs } => {
                self.choose_bits(wanted & inputs);
                self.code.op(Op::Ldg { var });
                self.code.and(i32::from(!inputs));
                self.code.op(Op::Or {});
            }
            Kind::Flags | Kind::SerialState | Kind::ExchangeState | Kind::Comparator => self.load_flags(addr, var, wanted),
            Kind::Bus => {
                // The device clears the bit that asks for a stop condition.
                self.perhaps_clear(var, 0x10, wanted);
                self.load_flags(addr, var, wanted);
            }
            Kind::Converter => self.load_converter(var, wanted),
            Kind::Eeprom => {
                self.perhaps_clear(var, EEPE as u8, wanted);
                self.code.op(Op::Ldg { var });
            }
        }
    }

    fn load_status(&mut self, wanted: u8) {
        self.code.c(0);
        for bit in (0..8).filter(|bit| wanted & 1 << bit != 0) {
            self.push_flag(bit);
            self.code.shl(bit.into());
            self.code.op(Op::Or {});
        }
    }

    /// Pushes a value that the environment chooses.
    fn choose_input(&mut self, addr: u16, wanted: u8) {
        match self.options.inputs.get(&addr).copied() {
            Some(range) => self.choose_between(range.least.into(), range.greatest.into()),
            None => self.choose_bits(wanted),
        }
    }

    /// Pushes a value of which the environment chooses the bits `wanted`.
    pub fn choose_bits(&mut self, wanted: u8) {
        self.code.c(0);
        for bit in (0..8).filter(|bit| wanted & 1 << bit != 0) {
            self.code.pop(T1);
            let (one, end) = (self.code.mark(), self.code.mark());
            self.code.or(one);
            self.code.push(T1);
            self.code.jump(end);
            self.code.place(one);
            self.code.push(T1);
            self.code.c(1 << bit);
            self.code.op(Op::Or {});
            self.code.place(end);
        }
    }

    /// A byte of the captured value. While the register is the top of the counter, nothing is
    /// captured, and it has the value that the program has written.
    fn load_captured(&mut self, addr: u16, var: GlobalId, high: bool, wanted: u8) {
        let Some(latch) = self.io(LATCH) else { return self.code.op(Op::Ldg { var }) };
        let (captures, end) = (self.code.mark(), self.code.mark());
        if high {
            if self.options.inputs.contains_key(&addr) {
                self.is_top();
                self.code.jump_zero(captures);
            }
            self.choose_latch(Some(latch));
            self.code.op(Op::Ldg { var: latch });
            self.code.jump(end);
        } else {
            self.is_top();
            self.code.jump_zero(captures);
            environment::value(&mut self.code, self.memory, addr + 1);
            self.code.op(Op::Stg { var: latch });
            self.code.op(Op::Ldg { var });
            self.code.jump(end);
        }
        self.code.place(captures);
        if !high {
            self.code.c(ANY);
            self.code.op(Op::Stg { var: latch });
        }
        if !high || self.options.inputs.contains_key(&addr) {
            self.choose_input(addr, wanted);
        }
        self.code.place(end);
    }

    /// Pushes whether ICR1 is the top of the counter: the mode is 8, 10, 12 or 14.
    fn is_top(&mut self) {
        let (low, high) = self.image.chip.timer_mode;
        environment::value(&mut self.code, self.memory, high);
        self.code.and(0x10);
        self.code.op(Op::Lnot {});
        environment::value(&mut self.code, self.memory, low);
        self.code.and(1);
        self.code.op(Op::Or {});
        self.code.op(Op::Lnot {});
    }

    /// A byte of a result of ten bits, which begins at the left or ends at the right.
    fn load_sample(&mut self, addr: u16, wanted: u8) {
        let chip = self.image.chip;
        let high = addr == chip.adcsra - 1;
        let (left, right) = if high { (0xff, 0x03) } else { (0xc0, 0xff) };
        if self.options.inputs.contains_key(&addr) {
            return self.choose_input(addr, wanted);
        }
        let Some(var) = self.io(chip.admux) else { return self.choose_bits(wanted & right) };
        let (is_left, end) = (self.code.mark(), self.code.mark());
        self.code.op(Op::Ldg { var });
        self.code.and(0x20);
        self.code.jump_not_zero(is_left);
        self.choose_bits(wanted & right);
        self.code.jump(end);
        self.code.place(is_left);
        self.choose_bits(wanted & left);
        self.code.place(end);
    }

    /// Sleeping begins a conversion, if the sleep mode is that of the converter and the converter
    /// is on.
    pub fn begin_conversion(&mut self) {
        let chip = self.image.chip;
        let (Some(mode), Some(converter)) = (self.io(chip.sleep_mode.0), self.io(chip.adcsra)) else { return };
        let Some(enable) = self.io(chip.sleep.0) else { return };
        let (sleeps, end) = (self.code.mark(), self.code.mark());
        self.code.op(Op::Ldg { var: enable });
        self.code.and(1 << chip.sleep.1);
        self.code.jump_not_zero(sleeps);
        self.code.jump(end);
        self.code.place(sleeps);
        let value = chip.depths.iter().find(|(_, depth)| *depth == Depth::Converter).map_or(0, |(value, _)| *value);
        self.code.op(Op::Ldg { var: mode });
        self.code.and(chip.sleep_mode.1.into());
        self.code.c(value.into());
        self.code.op(Op::Eq {});
        self.code.op(Op::Ldg { var: converter });
        self.code.and(0x80);
        self.code.op(Op::Lnot {});
        self.code.op(Op::Lnot {});
        self.code.op(Op::And {});
        self.code.jump_zero(end);
        self.code.op(Op::Ldg { var: converter });
        self.code.c(0x40);
        self.code.op(Op::Or {});
        self.code.op(Op::Stg { var: converter });
        self.code.place(end);
        // The processor sleeps in a state of its own, in which the conversion is under way.
        self.code.step(bytecode::Mode::Normal);
    }

    /// SLEEP. While the processor is idle it rests before this instruction. In other modes it falls
    /// asleep, and only some interrupts wake it then.
    pub fn sleep(&mut self, behind: u16) {
        self.begin_conversion();
        let chip = self.image.chip;
        let enable = self.memory.io[&chip.sleep.0];
        self.answer_sleep(behind);
        let Some(asleep) = self.memory.asleep else {
            self.code.op(Op::Ldg { var: enable });
            self.code.and(1 << chip.sleep.1);
            self.code.op(Op::Lnot {});
            return self.code.op(Op::Nexz {});
        };
        let (go_on, sleeps) = (self.code.mark(), self.code.mark());
        self.code.op(Op::Ldg { var: enable });
        self.code.and(1 << chip.sleep.1);
        self.code.jump_zero(go_on);
        // An interrupt that is pending already is taken first, or wakes the processor at once.
        let used: Vec<&Source> = chip.sources.iter().filter(|source| self.sharing.is_used(source.vector)).collect();
        for source in used {
            if environment::pending(&mut self.code, self.memory, source).is_some() {
                self.code.op(Op::Ldg { var: I });
                self.code.op(Op::And {});
                self.code.op(Op::Lnot {});
                self.code.op(Op::Nexz {});
            }
        }
        for (value, depth) in chip.depths {
            let other = self.code.mark();
            environment::value(&mut self.code, self.memory, chip.sleep_mode.0);
            self.code.and(chip.sleep_mode.1.into());
            self.code.c((*value).into());
            self.code.op(Op::Eq {});
            self.code.jump_zero(other);
            self.code.c(*depth as i32);
            self.code.op(Op::Stg { var: asleep });
            self.code.jump(sleeps);
            self.code.place(other);
        }
        self.code.op(Op::Nex {});
        self.code.place(sleeps);
        self.code.step(bytecode::Mode::Normal);
        self.answer_sleep(behind);
        self.code.op(Op::Nex {});
        self.code.place(go_on);
    }

    fn choose_between(&mut self, least: i32, greatest: i32) {
        if least == greatest {
            return self.code.c(least);
        }
        let middle = (least + greatest) / 2;
        let (upper, end) = (self.code.mark(), self.code.mark());
        self.code.or(upper);
        self.choose_between(least, middle);
        self.code.jump(end);
        self.code.place(upper);
        self.choose_between(middle + 1, greatest);
        self.code.place(end);
    }

    /// The levels of pins: an output has the level that the program gave it.
    fn load_pins(&mut self, addr: u16, var: GlobalId, ddr: u16, port: u16, wanted: u8) {
        match self.io(ddr) {
            // A bit that is an output needs no choice.
            Some(direction) => {
                self.code.c(0);
                self.code.pop(T2);
                if let Some(range) = self.options.inputs.get(&addr).copied() {
                    self.choose_between(range.least.into(), range.greatest.into());
                    self.code.pop(T2);
                } else {
                    for bit in (0..8).filter(|bit| wanted & 1 << bit != 0) {
                        let (one, end) = (self.code.mark(), self.code.mark());
                        self.code.op(Op::Ldg { var: direction });
                        self.code.and(1 << bit);
                        self.code.jump_not_zero(end);
                        self.code.or(one);
                        self.code.jump(end);
                        self.code.place(one);
                        self.code.push(T2);
                        self.code.c(1 << bit);
                        self.code.op(Op::Or {});
                        self.code.pop(T2);
                        self.code.place(end);
                    }
                }
                self.code.push(T2);
                self.code.op(Op::Ldg { var: direction });
                self.code.op(Op::Not {});
                self.code.op(Op::And {});
                match self.io(port) {
                    Some(port) => self.code.op(Op::Ldg { var: port }),
                    None => self.code.c(0),
                }
                self.code.op(Op::Ldg { var: direction });
                self.code.op(Op::And {});
                self.code.op(Op::Or {});
            }
            None => self.choose_input(addr, wanted),
        }
        if self.sharing.observed.contains(&Place::Io(addr)) {
            self.code.pop(T2);
            self.code.op(Op::Ldg { var });
            self.code.and(i32::from(!wanted));
            self.code.push(T2);
            self.code.and(wanted.into());
            self.code.op(Op::Or {});
            self.code.op(Op::Stg { var });
            self.code.push(T2);
        }
    }

    /// Reads interrupt flags. A flag that is not raised may have been raised by now.
    fn load_flags(&mut self, addr: u16, var: GlobalId, wanted: u8) {
        let passing = match self.kind(addr) {
            Kind::SerialState => 0x1c,
            Kind::ExchangeState => 0x40,
            Kind::Comparator => 0x20,
            Kind::Bus => 0x08,
            _ => 0,
        };
        for bit in (0..8).filter(|bit| wanted & 1 << bit != 0) {
            let mask = 1 << bit;
            let source = self.image.chip.source_of(addr, bit);
            // Bits that are chosen without a source, and those that are not kept: errors belong to
            // one byte, and the output of the comparator moves at any time.
            let chosen = passing & 1 << bit != 0;
            if source.is_none() && !chosen {
                continue;
            }
            let end = self.code.mark();
            if self.kind(addr) == Kind::ExchangeState && chosen {
                // A collision needs an interface that works.
                let source = self.image.chip.source_of(addr, 7);
                self.perhaps_raise(source, var, mask, end);
            } else {
                self.perhaps_raise(source, var, mask, end);
            }
            self.code.place(end);
        }
        self.code.op(Op::Ldg { var });
        if passing != 0 {
            self.change_bits(addr, passing, 0);
        }
    }

    /// Raises a flag or not, if its source can raise it and has not done so, and continues at
    /// `end`.
    fn perhaps_raise(&mut self, source: Option<&Source>, var: GlobalId, mask: i32, end: Mark) {
        let raised = self.code.mark();
        if let Some(source) = source.filter(|source| source.pins.is_some()) {
            environment::from_outside(&mut self.code, self.memory, self.options, source, true);
            self.code.jump_zero(end);
        }
        if let Some((needs, bits)) = source.and_then(|source| source.needs) {
            // A register that the program never uses keeps the zero that it has after a reset.
            environment::value(&mut self.code, self.memory, needs);
            self.code.and(bits.into());
            self.code.jump_zero(end);
        }
        self.code.op(Op::Ldg { var });
        self.code.and(mask);
        self.code.jump_not_zero(end);
        self.code.or(raised);
        self.code.jump(end);
        self.code.place(raised);
        self.code.op(Op::Ldg { var });
        self.code.c(mask);
        self.code.op(Op::Or {});
        self.code.op(Op::Stg { var });
    }

    /// Before T0 is stored into a register: flags that could be raised until now, and cannot be
    /// afterwards, are raised or not. Otherwise they would be lost, because a flag is chosen only
    /// when it is read.
    fn keep_flags(&mut self, addr: u16) {
        for source in environment::kept_after(self.image.chip, self.memory, addr) {
            let Some((flags, bit)) = source.flag else { continue };
            let Some(var) = self.io(flags) else { continue };
            let end = self.code.mark();
            if let Some((_, bits)) = source.needs {
                // The device continues to work.
                self.code.push(T0);
                self.code.and(bits.into());
                self.code.jump_not_zero(end);
            }
            self.perhaps_raise(Some(source), var, 1 << bit, end);
            self.code.place(end);
        }
    }

    /// The registers that a pointer may reach and that stop a device whose flags can be seen.
    pub fn stopping_registers(&self) -> Vec<u16> {
        let plain = self.memory.io.keys().copied().filter(|&addr| self.kind(addr) == Kind::Plain);
        plain.filter(|&addr| environment::kept_after(self.image.chip, self.memory, addr).next().is_some()).collect()
    }

    /// A conversion that was started may be complete by now. A single one ends. In free running
    /// mode the next one has begun at once, and with another trigger it may have.
    fn load_converter(&mut self, var: GlobalId, wanted: u8) {
        let (trigger, bits) = self.image.chip.trigger;
        let end = self.code.mark();
        if wanted & 0x50 != 0 {
            let (done, ends, triggered, again) = (self.code.mark(), self.code.mark(), self.code.mark(), self.code.mark());
            self.code.op(Op::Ldg { var });
            self.code.and(0x60);
            self.code.jump_zero(end);
            self.code.or(done);
            self.code.jump(end);
            self.code.place(done);
            self.code.op(Op::Ldg { var });
            self.code.and(0x20);
            self.code.jump_zero(ends);
            environment::value(&mut self.code, self.memory, trigger);
            self.code.and(bits.into());
            self.code.jump_not_zero(triggered);
            self.code.place(again);
            self.change_bits(self.image.chip.adcsra, 0, 0x50);
            self.code.jump(end);
            self.code.place(triggered);
            self.code.or(again);
            self.code.place(ends);
            self.change_bits(self.image.chip.adcsra, 0x40, 0x10);
        }
        self.code.place(end);
        self.code.op(Op::Ldg { var });
    }

    /// A bit that is set may be cleared by now.
    fn perhaps_clear(&mut self, var: GlobalId, bit: u8, wanted: u8) {
        if wanted & bit == 0 {
            return;
        }
        let (done, end) = (self.code.mark(), self.code.mark());
        self.code.op(Op::Ldg { var });
        self.code.and(bit.into());
        self.code.jump_zero(end);
        self.code.or(done);
        self.code.jump(end);
        self.code.place(done);
        self.code.op(Op::Ldg { var });
        self.code.and(i32::from(!bit));
        self.code.op(Op::Stg { var });
        self.code.place(end);
    }

    /// Clears and sets bits of a register, if the program uses the register.
    fn change_bits(&mut self, addr: u16, clear: u8, set: u8) {
        let Some(var) = self.io(addr) else { return };
        self.code.op(Op::Ldg { var });
        self.code.and(i32::from(!clear));
        self.code.c(set.into());
        self.code.op(Op::Or {});
        self.code.op(Op::Stg { var });
    }

    /// Stores T0 into a register.
    pub fn store_io(&mut self, addr: u16) {
        let Some(var) = self.io(addr) else { return };
        if self.kind(addr) == Kind::Plain {
            self.keep_flags(addr);
        }
        match self.kind(addr) {
            Kind::Plain if environment::is_watched(self.image.chip, self.memory, addr) => {
                self.code.op(Op::Ldg { var });
                self.code.push(T0);
                self.code.op(Op::Stg { var });
                self.code.pop(T0);
                environment::moved(&mut self.code, self.image.chip, self.memory, addr);
            }
            Kind::Plain => {
                self.code.push(T0);
                self.code.op(Op::Stg { var });
            }
            Kind::Status => self.store_status(),
            Kind::Stack { high } => self.set_stack_pointer(high),
            // On newer devices, writing a one to the level of a pin toggles its output.
            Kind::Pins { port, .. } => {
                if let Some(var) = self.io(port).filter(|_| self.image.chip.ram.0 == 0x100) {
                    self.code.op(Op::Ldg { var });
                    self.code.op(Op::Ldg { var });
                    self.code.push(T0);
                    self.code.op(Op::Xor {});
                    self.code.op(Op::Stg { var });
                    self.code.pop(T0);
                    environment::moved(&mut self.code, self.image.chip, self.memory, port);
                }
            }
            // The low byte takes the high byte along that was written last.
            Kind::Half { high: false, .. } => {
                self.code.push(T0);
                self.code.op(Op::Stg { var });
                self.choose_latch(self.io(LATCH));
                if let (Some(other), Some(latch)) = (self.io(addr + 1), self.io(LATCH)) {
                    self.code.op(Op::Ldg { var: latch });
                    self.code.op(Op::Stg { var: other });
                }
            }
            Kind::Half { high: true, .. } => self.store_latch(),
            Kind::Counter if addr == self.image.chip.counter + 1 => self.store_latch(),
            Kind::Counter | Kind::Sample | Kind::Received => {}
            Kind::Exchanged => self.change_bits(self.image.chip.spsr, 0x80, 0),
            Kind::ExchangeState => self.store_bits(var, 0x01, 0),
            Kind::Bus => self.store_bits(var, 0x77, 0x80),
            Kind::Comparator => self.store_bits(var, 0xcf, 0x10),
            Kind::Mixed { inputs } => self.store_bits(var, !inputs, 0),
            Kind::Flags => self.clear_written(var, 0xff),
            Kind::Serial => self.change_bits(self.image.chip.ucsra, 0x60, 0),
            Kind::SerialState => {
                self.clear_written(var, 0x40);
                self.code.op(Op::Ldg { var });
                self.code.and(0xfc);
                self.code.push(T0);
                self.code.and(0x03);
                self.code.op(Op::Or {});
                self.code.op(Op::Stg { var });
            }
            Kind::Converter => {
                // A conversion cannot be cancelled, and writing a one clears its flag.
                self.code.op(Op::Ldg { var });
                self.code.push(T0);
                self.code.op(Op::Not {});
                self.code.op(Op::And {});
                self.code.and(0x10);
                self.code.op(Op::Ldg { var });
                self.code.and(0x40);
                self.code.op(Op::Or {});
                self.code.push(T0);
                self.code.and(0xef);
                self.code.op(Op::Or {});
                self.code.op(Op::Stg { var });
            }
            Kind::Eeprom => self.store_eeprom(var),
        }
    }

    /// Stores the bits `kept` of T0 into a register, and clears its flags that are written as ones.
    fn store_bits(&mut self, var: GlobalId, kept: u8, flags: u8) {
        self.clear_written(var, flags);
        self.code.op(Op::Ldg { var });
        self.code.and(i32::from(!kept));
        self.code.push(T0);
        self.code.and(kept.into());
        self.code.op(Op::Or {});
        self.code.op(Op::Stg { var });
    }

    /// Stores T0 into the byte that registers of 16 bits share.
    fn store_latch(&mut self) {
        let Some(latch) = self.io(LATCH) else { return };
        self.code.push(T0);
        self.code.op(Op::Stg { var: latch });
    }

    /// Chooses the value of this byte, if it is still open.
    fn choose_latch(&mut self, latch: Option<GlobalId>) {
        let Some(latch) = latch.filter(|_| self.memory.opens_latch(self.image.chip)) else { return };
        let known = self.code.mark();
        self.code.op(Op::Ldg { var: latch });
        self.code.c(ANY);
        self.code.op(Op::Ne {});
        self.code.jump_not_zero(known);
        self.choose_bits(0xff);
        self.code.op(Op::Stg { var: latch });
        self.code.place(known);
    }

    /// Clears the flags that are written as ones.
    fn clear_written(&mut self, var: GlobalId, mask: u8) {
        self.code.op(Op::Ldg { var });
        self.code.push(T0);
        self.code.and(mask.into());
        self.code.op(Op::Not {});
        self.code.op(Op::And {});
        self.code.op(Op::Stg { var });
    }

    fn store_status(&mut self) {
        for bit in 0..7 {
            self.code.push(T0);
            self.code.shr(bit.into());
            self.code.and(1);
            self.code.set(flag_local(bit));
        }
        self.code.push(T0);
        self.code.shr(flag::I.into());
        self.code.and(1);
        self.code.op(Op::Stg { var: I });
    }

    fn store_eeprom(&mut self, var: GlobalId) {
        let Some(eeprom) = self.memory.eeprom else { return };
        let (data, low, high) = (self.io(self.image.chip.eecr + 1), self.io(self.image.chip.eecr + 2), self.io(self.image.chip.eecr + 3));
        let address = |this: &mut Self| {
            match low {
                Some(low) => this.code.op(Op::Ldg { var: low }),
                None => this.code.c(0),
            }
            if let Some(high) = high {
                this.code.op(Op::Ldg { var: high });
                this.code.shl(8);
                this.code.op(Op::Or {});
            }
            this.code.and(i32::from(this.image.chip.eeprom) - 1);
        };
        let (no_read, no_write, end) = (self.code.mark(), self.code.mark(), self.code.mark());
        // A program that never uses the data register reads nothing, and writes the zero that the
        // register has after a reset.
        if let Some(data) = data {
            self.code.push(T0);
            self.code.and(EERE);
            self.code.jump_zero(no_read);
            address(self);
            self.code.op(Op::Ldgx { var: eeprom });
            self.code.op(Op::Stg { var: data });
            self.code.place(no_read);
        }
        // A write needs the permission that an earlier write gave.
        self.code.push(T0);
        self.code.and(EEPE);
        self.code.jump_zero(no_write);
        self.code.op(Op::Ldg { var });
        self.code.and(EEMPE);
        self.code.jump_zero(no_write);
        match data {
            Some(data) => self.code.op(Op::Ldg { var: data }),
            None => self.code.c(0),
        }
        if self.image.chip.erases_alone {
            self.write_as_asked(&address, eeprom);
        }
        address(self);
        self.code.op(Op::Stgx { var: eeprom });
        self.code.push(T0);
        self.code.and(0xff & !(EERE | EEMPE));
        self.code.pop(T0);
        self.code.push(T0);
        self.code.op(Op::Stg { var });
        self.code.jump(end);
        self.code.place(no_write);
        self.code.push(T0);
        self.code.and(0xff & !(EERE | EEPE));
        self.code.op(Op::Ldg { var });
        self.code.and(EEPE);
        self.code.op(Op::Or {});
        self.code.op(Op::Stg { var });
        self.code.place(end);
    }

    /// Replaces the byte on top, which is to be written to the EEPROM: if the mode in T0 is erasing
    /// alone, by 0xff; if it is writing alone, by the bits that it has in common with the old byte.
    fn write_as_asked(&mut self, address: &dyn Fn(&mut Self), eeprom: GlobalId) {
        let mode = |this: &mut Self, wanted: i32| {
            this.code.push(T0);
            this.code.shr(4);
            this.code.and(3);
            this.code.c(wanted);
            this.code.op(Op::Eq {});
        };
        mode(self, 1);
        self.code.op(Op::Neg {});
        self.code.op(Op::Or {});
        address(self);
        self.code.op(Op::Ldgx { var: eeprom });
        mode(self, 2);
        self.code.c(1);
        self.code.op(Op::Sub {});
        self.code.op(Op::Or {});
        self.code.op(Op::And {});
        self.code.and(0xff);
    }

    /// SBI and CBI.
    pub fn store_bit(&mut self, addr: u16, bit: u8, set: bool) {
        let Some(var) = self.io(addr) else { return };
        match self.kind(addr) {
            // These instructions access only this bit.
            Kind::Flags | Kind::Pins { .. } => {
                if set {
                    self.code.c(1 << bit);
                    self.code.pop(T0);
                    self.store_io(addr);
                }
            }
            _ => {
                self.code.op(Op::Ldg { var });
                if set {
                    self.code.c(1 << bit);
                    self.code.op(Op::Or {});
                } else {
                    self.code.and(!(1 << bit) & 0xff);
                }
                self.code.pop(T0);
                self.store_io(addr);
            }
        }
    }
}
