//! Options about a program and its environment, given with `-D NAME=VALUE`.

use crate::chip::Chip;
use std::collections::BTreeMap;

/// The values that an input can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    pub least: u8,
    pub greatest: u8,
}

/// The options.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The device, if the file does not name it.
    pub device: Option<String>,
    /// The values of registers that are inputs, by addresses.
    pub inputs: BTreeMap<u16, Range>,
    /// Interrupts that never happen, by their names.
    pub silent: Vec<String>,
    /// Whether traces show the registers.
    pub registers: bool,
    /// Whether it is an error if an interrupt divides an access byte by byte.
    pub races: bool,
    /// Whether it is an error to read a byte of the stack that was never written.
    pub uninitialised: bool,
    /// Whether variables that the start-up code does not set begin as zero.
    pub noinit_zero: bool,
    /// Whether all of the flash can be read, instead of its constants.
    pub whole_flash: bool,
    /// The number of bytes of the stack that are kept, if the user gives it.
    pub stack: Option<u16>,
    /// Whether an interrupt can be taken before every instruction, instead of only where it
    /// matters.
    pub all_points: bool,
    /// Whether registers and flags keep their values where they are dead, for comparison.
    pub keeps_dead: bool,
    /// Whether the bytes below the stack pointer keep their values, for comparison.
    pub keeps_below: bool,
    /// Whether the watchdog resets the device.
    pub resets: bool,
    /// Whether each instruction is a step of its own, and the state has the address of the next
    /// one, for tests.
    pub single: bool,
    /// Whether BREAK ends the program, for tests.
    pub halts_at_break: bool,
}

impl Options {
    /// Reads the definitions that do not depend on the device, and returns the others.
    pub fn read(defines: &[(String, String)]) -> Result<(Options, Vec<(String, String)>), String> {
        let mut options = Options { races: true, uninitialised: true, resets: true, ..Options::default() };
        let mut rest = Vec::new();
        let switch = |name: &str, value: &str| match value {
            "on" | "" | "1" => Ok(true),
            "off" | "0" => Ok(false),
            _ => Err(format!("`{name}` is `on` or `off`, not `{value}`")),
        };
        for (name, value) in defines {
            match name.as_str() {
                "points" if value == "all" => options.all_points = true,
                "points" if value == "shared" => {}
                "points" => return Err(format!("`points` is `shared` or `all`, not `{value}`")),
                "dead" if value == "keep" => options.keeps_dead = true,
                "dead" if value == "forget" => {}
                "dead" => return Err(format!("`dead` is `forget` or `keep`, not `{value}`")),
                "below" if value == "keep" => options.keeps_below = true,
                "below" if value == "forget" => {}
                "below" => return Err(format!("`below` is `forget` or `keep`, not `{value}`")),
                "noinit" if value == "zero" => options.noinit_zero = true,
                "noinit" if value == "any" => {}
                "noinit" => return Err(format!("`noinit` is `any` or `zero`, not `{value}`")),
                "flash" if value == "all" => options.whole_flash = true,
                "flash" if value == "constants" => {}
                "flash" => return Err(format!("`flash` is `constants` or `all`, not `{value}`")),
                "watchdog" => options.resets = switch(name, value)?,
                "device" => options.device = Some(value.clone()),
                "registers" => options.registers = switch(name, value)?,
                "races" => options.races = switch(name, value)?,
                "uninitialised" => options.uninitialised = switch(name, value)?,
                "stack" => {
                    let bytes = value.parse().ok().filter(|bytes| *bytes > 0);
                    options.stack = Some(bytes.ok_or_else(|| format!("`stack` is a number of bytes, not `{value}`"))?);
                }
                _ => rest.push((name.clone(), value.clone())),
            }
        }
        Ok((options, rest))
    }

    /// Reads the definitions that name registers and interrupts of the device.
    pub fn read_for(&mut self, chip: &Chip, defines: &[(String, String)]) -> Result<(), String> {
        for (name, value) in defines {
            if chip.sources.iter().any(|source| source.name == name) {
                match value.as_str() {
                    "off" => self.silent.push(name.clone()),
                    "on" => {}
                    _ => return Err(format!("the interrupt `{name}` is `on` or `off`, not `{value}`")),
                }
                continue;
            }
            let Some(register) = chip.registers.iter().find(|register| register.name == name) else {
                return Err(format!("the {} has neither a register nor an interrupt `{name}`", chip.name));
            };
            if !register.kind.is_input() {
                let inputs: Vec<&str> = chip.registers.iter().filter(|known| known.kind.is_input()).map(|known| known.name).collect();
                return Err(format!("`{name}` is not an input, so its values cannot be given; inputs are: {}", inputs.join(", ")));
            }
            let number = |text: &str| match text.trim().strip_prefix("0x") {
                Some(digits) => u8::from_str_radix(digits, 16).ok(),
                None => text.trim().parse().ok(),
            };
            let (least, greatest) = value.split_once("..").unwrap_or((value, value));
            match (number(least), number(greatest)) {
                (Some(least), Some(greatest)) if least <= greatest => {
                    self.inputs.insert(register.addr, Range { least, greatest });
                }
                _ => return Err(format!("the values of `{name}` are a number or a range such as 0..3, up to 255, not `{value}`")),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::{ATMEGA16, ATMEGA328P};

    fn read(chip: &Chip, name: &str, value: &str) -> Result<Options, String> {
        let mut options = Options::default();
        options.read_for(chip, &[(name.to_owned(), value.to_owned())]).map(|()| options)
    }

    #[test]
    fn only_inputs_and_interrupts_can_be_given() {
        for name in ["PIND", "UDR0", "ADCH", "TCNT0", "ICR1L", "SPDR", "TWDR"] {
            let read = read(&ATMEGA328P, name, "1..0x10").unwrap_or_else(|why| panic!("{name}: {why}"));
            assert!(read.inputs.values().eq([&Range { least: 1, greatest: 16 }]), "{name}");
        }
        for name in ["UCSR0A", "TIFR0", "PORTB", "DDRB", "SREG", "SPL", "OCR1AL", "EECR", "ADCSRA", "SPSR"] {
            let why = read(&ATMEGA328P, name, "0").expect_err(name);
            assert!(why.contains("not an input") && why.contains("PIND"), "{why}");
        }
        assert!(read(&ATMEGA16, "UDR", "5").is_ok() && read(&ATMEGA16, "UDR0", "5").is_err());
        assert_eq!(read(&ATMEGA16, "INT0", "off").expect("an interrupt").silent, ["INT0"]);
        for value in ["", "3..2", "256", "x", "0x", "-1"] {
            assert!(read(&ATMEGA328P, "PIND", value).is_err(), "{value}");
        }
    }
}
