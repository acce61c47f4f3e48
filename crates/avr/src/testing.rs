//! Programs of given words, and firmware in single steps, for tests and for the comparison with a
//! simulator.

use crate::chip::Chip;
use crate::image::{Image, Symbol};
use crate::options::Options;
use bytecode::{Program, Verified};

/// A program of these words for a device, which ends at BREAK, with all registers shown.
pub fn program(device: &str, code: &[u16]) -> Option<Program> {
    program_with(device, code, &[], |_| {})
}

/// A program of these words. It has functions at these addresses, which can be called through
/// pointers, and `change` changes its options.
fn program_with(device: &str, code: &[u16], functions: &[u16], change: impl FnOnce(&mut Options)) -> Option<Program> {
    let chip = Chip::named(device)?;
    let mut image = Image::of_code(chip, code);
    // All of SRAM is a variable without a name.
    image.data_end = chip.ram.0 + 0x100;
    let named = |at: &u16| Symbol { name: format!("f{at}"), addr: u32::from(*at) * 2, size: 2 };
    image.functions = functions.iter().map(named).collect();
    let mut options = Options { registers: true, halts_at_break: true, ..Options::default() };
    change(&mut options);
    crate::translate("code", &image, &options, &[], &[], &mut |_| None).ok().map(|(program, _)| program)
}

/// A program of words with functions that are called through pointers.
pub fn program_with_functions(device: &str, code: &[u16], functions: &[u16]) -> Option<Program> {
    program_with(device, code, functions, |_| {})
}

/// A program of words with definitions, as a user gives them.
pub fn program_with_options(device: &str, code: &[u16], defines: &[(&str, &str)]) -> Option<Program> {
    let defines: Vec<(String, String)> = defines.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let (read, rest) = Options::read(&defines).ok()?;
    let mut read = Options { registers: true, halts_at_break: true, ..read };
    read.read_for(Chip::named(device)?, &rest).ok()?;
    program_with(device, code, &[], |options| *options = read)
}

/// Firmware in which each instruction is a step, and nothing is left out.
pub struct Firmware {
    /// The program.
    pub program: Program,
    /// The address of `main`, in words.
    pub main: u16,
    /// The words below this address are the vectors.
    pub vectors: u16,
    /// Where its variables are.
    pub memory: Memory,
    /// The registers of outputs and directions that it uses, with their addresses.
    pub outputs: Vec<(String, u16)>,
}

/// Reads firmware from an ELF file.
pub fn firmware(bytes: &[u8], device: &str) -> Option<Firmware> {
    let image = Image::read(bytes, Some(device)).ok()?;
    let options = Options { registers: true, keeps_dead: true, keeps_below: true, single: true, ..Options::default() };
    let (program, _) = crate::translate("firmware", &image, &options, &[], &[], &mut |_| None).ok()?;
    let main = u16::try_from(image.symbol("main")? / 2).ok()?;
    let memory = places(&image, &program);
    let is_output = |name: &str| name.starts_with("PORT") || name.starts_with("DDR");
    let used = image.chip.registers.iter().filter(|register| is_output(register.name) && program.global_named(register.name).is_some());
    let outputs = used.map(|register| (register.name.to_owned(), register.addr)).collect();
    Some(Firmware { outputs, program, main, vectors: u16::from(image.chip.vectors) * 2, memory })
}

/// The bytes of the variables of a program, from the start of SRAM on: for each one the variable,
/// the element, and the bits below the byte.
pub struct Memory(Vec<(usize, usize, u32)>);

/// Where the variables of a program are that was translated from this file.
pub fn memory(bytes: &[u8], device: &str, program: &Program) -> Option<Memory> {
    Some(places(&Image::read(bytes, Some(device)).ok()?, program))
}

fn places(image: &Image, program: &Program) -> Memory {
    let mut places = Vec::new();
    // The variables lie one after the other, without gaps.
    for (number, variable) in program.globals.iter().enumerate() {
        let Some(part) = crate::memory::part_named(image, &variable.name) else { continue };
        let start = usize::from(part.addr - image.chip.ram.0);
        for byte in 0..usize::from(part.scalar.size) * variable.elements() {
            let size = usize::from(part.scalar.size);
            places.push((start + byte, (number, byte / size, (byte % size) as u32 * 8)));
        }
    }
    places.sort_unstable_by_key(|(at, _)| *at);
    places.dedup_by_key(|(at, _)| *at);
    Memory(places.into_iter().map(|(_, place)| place).collect())
}

impl Memory {
    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes in a state.
    pub fn bytes(&self, verified: &Verified, state: &[u8]) -> Vec<u8> {
        let layout = verified.layout();
        let byte = |(number, element, shift): &(usize, usize, u32)| {
            let slot = layout.globals[*number];
            (slot.ty.read(&state[slot.offset + element * slot.ty.width()..]) >> shift) as u8
        };
        self.0.iter().map(byte).collect()
    }
}
