//! What an access to a register of a device reads and changes besides this register.
//!
//! The level of a pin that is an output is the one that the program has written, a write to the
//! output register can raise the flag of an external interrupt, a read of received data clears a
//! flag. An interrupt can matter before such an access if a handler uses one of these registers.

use crate::chip::{Chip, Kind, LATCH, Source};
use crate::environment;
use crate::facts::Access;
use crate::memory::Memory;

/// Other registers that an access reads or changes, by their addresses.
#[derive(Debug, Default)]
pub struct Effects {
    pub reads: Vec<u16>,
    pub writes: Vec<u16>,
}

impl Effects {
    /// The effects of an access to the register at this address.
    pub fn of(addr: u16, access: &Access, chip: &Chip, memory: &Memory) -> Effects {
        let mut all = Effects::default();
        match chip.register(addr).map(|register| register.kind) {
            Some(Kind::Pins { ddr, port }) => {
                all.reads.extend([ddr, port]);
                // Writing a one toggles an output.
                if access.writes {
                    all.writes.push(port);
                    all.outputs(port, chip);
                }
            }
            Some(Kind::Sample) => all.reads.push(chip.admux),
            Some(Kind::Half { high, latched }) => {
                if latched && access.reads {
                    all.reads.extend([chip.timer_mode.0, chip.timer_mode.1]);
                }
                if access.writes || latched {
                    all.reads.push(LATCH);
                    all.writes.push(LATCH);
                }
                if access.writes && !high {
                    all.writes.push(addr + 1);
                }
            }
            Some(Kind::Counter) if addr == chip.counter || addr == chip.counter + 1 => all.writes.push(LATCH),
            Some(Kind::Serial) => all.writes.push(chip.ucsra),
            Some(Kind::Exchanged) => all.writes.push(chip.spsr),
            Some(Kind::Flags | Kind::SerialState | Kind::Converter | Kind::ExchangeState | Kind::Bus | Kind::Comparator) => {
                // A flag is raised when it is read.
                all.writes.push(addr);
                for source in chip.sources.iter().filter(|source| source.flag.is_some_and(|(flags, _)| flags == addr)) {
                    all.conditions(source);
                }
                if addr == chip.adcsra {
                    all.reads.push(chip.trigger.0);
                }
            }
            Some(Kind::Eeprom) => {
                all.writes.push(addr);
                if access.writes {
                    all.reads.extend([chip.eecr + 1, chip.eecr + 2, chip.eecr + 3]);
                    all.writes.push(chip.eecr + 1);
                }
            }
            None | Some(Kind::Plain) if access.writes => {
                all.outputs(addr, chip);
                for source in environment::kept_after(chip, memory, addr) {
                    all.writes.extend(source.flag.map(|(flags, _)| flags));
                    all.conditions(source);
                }
            }
            _ => {}
        }
        all
    }

    /// What a change of an output register reads and changes.
    fn outputs(&mut self, port: u16, chip: &Chip) {
        for source in chip.sources.iter().filter(|source| source.pins.is_some_and(|pins| pins.port == port)) {
            self.writes.extend(source.flag.map(|(flags, _)| flags));
            self.conditions(source);
        }
    }

    /// The registers that decide whether a source can raise its flag.
    fn conditions(&mut self, source: &Source) {
        self.reads.extend(source.needs.map(|(needs, _)| needs));
        if let Some(pins) = source.pins {
            self.reads.extend([pins.port, pins.port - 1, pins.edge.register()]);
        }
    }
}
