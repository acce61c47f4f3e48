//! Programs of given words, for tests and for the comparison with a simulator.

use crate::chip::Chip;
use crate::image::Image;
use crate::options::Options;
use bytecode::Program;

/// A program of these words for a device, which ends at BREAK, with all registers shown.
pub fn program(device: &str, code: &[u16]) -> Option<Program> {
    let chip = Chip::named(device)?;
    let mut image = Image::of_code(chip, code);
    // All of SRAM is a variable without a name.
    image.data_end = chip.ram.0 + 0x100;
    let options = Options { registers: true, halts_at_break: true, ..Options::default() };
    crate::translate("code", &image, &options, &[], &[], &mut |_| None).ok().map(|(program, _)| program)
}
