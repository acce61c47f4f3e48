//! The AVR instruction set of ATmega16 and ATmega328P, and its decoder.
//!
//! Aliases of the assembler are decoded as the instructions they stand for: `LSL d` is `ADD d, d`,
//! `CLR d` is `EOR d, d`, `SEI` sets bit 7 of SREG. Addresses of code are word addresses, addresses
//! of data are those of the data space, in which the registers of devices begin at 0x20. The
//! encodings are those of Microchip's "AVR Instruction Set Manual" (DS40002198).

/// A register of the processor, 0 to 31.
pub type Reg = u8;

/// The low register of X.
pub const X: Reg = 26;
/// The low register of Y.
pub const Y: Reg = 28;
/// The low register of Z.
pub const Z: Reg = 30;

/// Bits of SREG, by their positions.
pub mod flag {
    /// Carry.
    pub const C: u8 = 0;
    /// Zero.
    pub const Z: u8 = 1;
    /// Negative.
    pub const N: u8 = 2;
    /// Two's complement overflow.
    pub const V: u8 = 3;
    /// Sign: N exclusive-or V.
    pub const S: u8 = 4;
    /// Half carry.
    pub const H: u8 = 5;
    /// Bit copy.
    pub const T: u8 = 6;
    /// Interrupts are enabled.
    pub const I: u8 = 7;
}

/// A bitwise operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Logic {
    And,
    Or,
    Eor,
}

/// An operation on one register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum One {
    Com,
    Neg,
    Inc,
    Dec,
    Swap,
    Asr,
    Lsr,
    Ror,
}

/// How a pointer is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// With a displacement.
    At(u8),
    /// Increased after the access.
    PostInc,
    /// Decreased before the access.
    PreDec,
}

/// The signs of the factors of a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Product {
    pub signed_d: bool,
    pub signed_r: bool,
    /// Whether the product is shifted left by one.
    pub fractional: bool,
}

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Insn {
    Nop,
    Add {
        d: Reg,
        r: Reg,
        carry: bool,
    },
    Sub {
        d: Reg,
        r: Reg,
        carry: bool,
    },
    Cp {
        d: Reg,
        r: Reg,
        carry: bool,
    },
    Logic {
        op: Logic,
        d: Reg,
        r: Reg,
    },
    Mov {
        d: Reg,
        r: Reg,
    },
    Movw {
        d: Reg,
        r: Reg,
    },
    Mul {
        d: Reg,
        r: Reg,
        how: Product,
    },
    SubI {
        d: Reg,
        k: u8,
        carry: bool,
    },
    CpI {
        d: Reg,
        k: u8,
    },
    LogicI {
        op: Logic,
        d: Reg,
        k: u8,
    },
    Ldi {
        d: Reg,
        k: u8,
    },
    Adiw {
        d: Reg,
        k: u8,
    },
    Sbiw {
        d: Reg,
        k: u8,
    },
    One {
        op: One,
        d: Reg,
    },
    /// BSET and BCLR.
    Flag {
        bit: u8,
        set: bool,
    },
    Bst {
        r: Reg,
        bit: u8,
    },
    Bld {
        d: Reg,
        bit: u8,
    },
    /// Skips if the registers are equal.
    Cpse {
        d: Reg,
        r: Reg,
    },
    /// SBRC and SBRS: skips if the bit of a register is `set`.
    SkipBit {
        r: Reg,
        bit: u8,
        set: bool,
    },
    /// SBIC and SBIS: skips if the bit of a device register is `set`.
    SkipIo {
        addr: u16,
        bit: u8,
        set: bool,
    },
    /// BRBS and BRBC: jumps if the flag is `set`.
    Branch {
        bit: u8,
        set: bool,
        to: u16,
    },
    Jump {
        to: u16,
    },
    Call {
        to: u16,
    },
    Ijmp,
    Icall,
    Ret,
    Reti,
    /// IN and LDS.
    Load {
        d: Reg,
        addr: u16,
    },
    /// OUT and STS.
    Store {
        addr: u16,
        r: Reg,
    },
    /// SBI and CBI.
    Bit {
        addr: u16,
        bit: u8,
        set: bool,
    },
    Ld {
        d: Reg,
        ptr: Reg,
        mode: Mode,
    },
    St {
        ptr: Reg,
        mode: Mode,
        r: Reg,
    },
    Lpm {
        d: Reg,
        inc: bool,
    },
    Spm,
    Push {
        r: Reg,
    },
    Pop {
        d: Reg,
    },
    Sleep,
    Wdr,
    Break,
}

impl Insn {
    /// Whether the next instruction may be skipped.
    pub fn skips(&self) -> bool {
        matches!(self, Insn::Cpse { .. } | Insn::SkipBit { .. } | Insn::SkipIo { .. })
    }
}

/// Decodes the instruction at a word address: the instruction and its length in words. `None` for a
/// word that is not an instruction of these devices. Jumps wrap around at the end of `flash`, whose
/// length is a power of two, as in the device.
pub fn decode(flash: &[u16], at: u16) -> Option<(Insn, u16)> {
    let word = *flash.get(at as usize)?;
    let mask = (flash.len() - 1) as u16;
    let d = (word >> 4 & 0x1f) as u8;
    let r = (word & 0xf | word >> 5 & 0x10) as u8;
    let high = 16 + (word >> 4 & 0xf) as u8;
    let k = (word & 0xf | word >> 4 & 0xf0) as u8;
    let bit = (word & 7) as u8;
    let second = || flash.get(at as usize + 1).copied();
    let one = |insn| Some((insn, 1));
    let product = |signed_d, signed_r, fractional| Product { signed_d, signed_r, fractional };
    match word >> 12 {
        0x0 => match word >> 8 & 0xf {
            0 if word == 0 => one(Insn::Nop),
            1 => one(Insn::Movw { d: (word >> 4 & 0xf) as u8 * 2, r: (word & 0xf) as u8 * 2 }),
            2 => one(Insn::Mul { d: 16 + (word >> 4 & 0xf) as u8, r: 16 + (word & 0xf) as u8, how: product(true, true, false) }),
            3 => {
                let how = match (word >> 7 & 1, word >> 3 & 1) {
                    (0, 0) => product(true, false, false),
                    (0, _) => product(false, false, true),
                    (_, 0) => product(true, true, true),
                    _ => product(true, false, true),
                };
                one(Insn::Mul { d: 16 + (word >> 4 & 7) as u8, r: 16 + (word & 7) as u8, how })
            }
            4..=7 => one(Insn::Cp { d, r, carry: true }),
            8..=11 => one(Insn::Sub { d, r, carry: true }),
            12..=15 => one(Insn::Add { d, r, carry: false }),
            _ => None,
        },
        0x1 => one(match word >> 10 & 3 {
            0 => Insn::Cpse { d, r },
            1 => Insn::Cp { d, r, carry: false },
            2 => Insn::Sub { d, r, carry: false },
            _ => Insn::Add { d, r, carry: true },
        }),
        0x2 => one(match word >> 10 & 3 {
            0 => Insn::Logic { op: Logic::And, d, r },
            1 => Insn::Logic { op: Logic::Eor, d, r },
            2 => Insn::Logic { op: Logic::Or, d, r },
            _ => Insn::Mov { d, r },
        }),
        0x3 => one(Insn::CpI { d: high, k }),
        0x4 => one(Insn::SubI { d: high, k, carry: true }),
        0x5 => one(Insn::SubI { d: high, k, carry: false }),
        0x6 => one(Insn::LogicI { op: Logic::Or, d: high, k }),
        0x7 => one(Insn::LogicI { op: Logic::And, d: high, k }),
        0x8 | 0xa => {
            let q = (word & 7 | word >> 7 & 0x18 | word >> 8 & 0x20) as u8;
            let ptr = if word & 8 != 0 { Y } else { Z };
            let mode = Mode::At(q);
            one(if word & 0x200 != 0 { Insn::St { ptr, mode, r: d } } else { Insn::Ld { d, ptr, mode } })
        }
        0x9 => match word >> 8 & 0xf {
            0 | 1 => loads(word, d, second()),
            2 | 3 => stores(word, d, second()),
            4 | 5 => others(word, d, mask, second()),
            6 => one(Insn::Adiw { d: 24 + (word >> 4 & 3) as u8 * 2, k: (word & 0xf | word >> 2 & 0x30) as u8 }),
            7 => one(Insn::Sbiw { d: 24 + (word >> 4 & 3) as u8 * 2, k: (word & 0xf | word >> 2 & 0x30) as u8 }),
            kind @ 8..=11 => {
                let addr = 0x20 + (word >> 3 & 0x1f);
                one(match kind {
                    8 => Insn::Bit { addr, bit, set: false },
                    9 => Insn::SkipIo { addr, bit, set: false },
                    10 => Insn::Bit { addr, bit, set: true },
                    _ => Insn::SkipIo { addr, bit, set: true },
                })
            }
            _ => one(Insn::Mul { d, r, how: product(false, false, false) }),
        },
        0xb => {
            let addr = 0x20 + (word & 0xf | word >> 5 & 0x30);
            one(if word & 0x800 != 0 { Insn::Store { addr, r: d } } else { Insn::Load { d, addr } })
        }
        0xc | 0xd => {
            let offset = ((word & 0xfff) << 4) as i16 >> 4;
            let to = at.wrapping_add(1).wrapping_add_signed(offset) & mask;
            one(if word & 0x1000 != 0 { Insn::Call { to } } else { Insn::Jump { to } })
        }
        0xe => one(Insn::Ldi { d: high, k }),
        _ => match word >> 10 & 3 {
            kind @ 0..=1 => {
                let offset = ((word >> 3 & 0x7f) << 9) as i16 >> 9;
                let to = at.wrapping_add(1).wrapping_add_signed(offset) & mask;
                one(Insn::Branch { bit, set: kind == 0, to })
            }
            _ if word & 8 != 0 => None,
            2 if word & 0x200 != 0 => one(Insn::Bst { r: d, bit }),
            2 => one(Insn::Bld { d, bit }),
            _ => one(Insn::SkipBit { r: d, bit, set: word & 0x200 != 0 }),
        },
    }
}

fn loads(word: u16, d: Reg, second: Option<u16>) -> Option<(Insn, u16)> {
    let ld = |ptr, mode| Some((Insn::Ld { d, ptr, mode }, 1));
    match word & 0xf {
        0 => Some((Insn::Load { d, addr: second? }, 2)),
        1 => ld(Z, Mode::PostInc),
        2 => ld(Z, Mode::PreDec),
        4 => Some((Insn::Lpm { d, inc: false }, 1)),
        5 => Some((Insn::Lpm { d, inc: true }, 1)),
        9 => ld(Y, Mode::PostInc),
        0xa => ld(Y, Mode::PreDec),
        0xc => ld(X, Mode::At(0)),
        0xd => ld(X, Mode::PostInc),
        0xe => ld(X, Mode::PreDec),
        0xf => Some((Insn::Pop { d }, 1)),
        _ => None,
    }
}

fn stores(word: u16, r: Reg, second: Option<u16>) -> Option<(Insn, u16)> {
    let st = |ptr, mode| Some((Insn::St { ptr, mode, r }, 1));
    match word & 0xf {
        0 => Some((Insn::Store { addr: second?, r }, 2)),
        1 => st(Z, Mode::PostInc),
        2 => st(Z, Mode::PreDec),
        9 => st(Y, Mode::PostInc),
        0xa => st(Y, Mode::PreDec),
        0xc => st(X, Mode::At(0)),
        0xd => st(X, Mode::PostInc),
        0xe => st(X, Mode::PreDec),
        0xf => Some((Insn::Push { r }, 1)),
        _ => None,
    }
}

/// Operations on one register, flags, and long jumps.
fn others(word: u16, d: Reg, mask: u16, second: Option<u16>) -> Option<(Insn, u16)> {
    let one = |op| Some((Insn::One { op, d }, 1));
    let alone = |insn| Some((insn, 1));
    match word & 0xf {
        0 => one(One::Com),
        1 => one(One::Neg),
        2 => one(One::Swap),
        3 => one(One::Inc),
        5 => one(One::Asr),
        6 => one(One::Lsr),
        7 => one(One::Ror),
        8 if word & 0x100 == 0 => alone(Insn::Flag { bit: (word >> 4 & 7) as u8, set: word & 0x80 == 0 }),
        8 => match word >> 4 & 0xf {
            0 => alone(Insn::Ret),
            1 => alone(Insn::Reti),
            8 => alone(Insn::Sleep),
            9 => alone(Insn::Break),
            0xa => alone(Insn::Wdr),
            0xc => alone(Insn::Lpm { d: 0, inc: false }),
            0xe => alone(Insn::Spm),
            _ => None,
        },
        9 if word == 0x9409 => alone(Insn::Ijmp),
        9 if word == 0x9509 => alone(Insn::Icall),
        0xa => one(One::Dec),
        // The upper bits of a long address are beyond the flash of these devices.
        0xc | 0xd if word & 0x1f1 == 0 => Some((Insn::Jump { to: second? & mask }, 2)),
        0xe | 0xf if word & 0x1f1 == 0 => Some((Insn::Call { to: second? & mask }, 2)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(words: &[u16]) -> Option<(Insn, u16)> {
        let mut flash = words.to_vec();
        flash.resize(16, 0);
        decode(&flash, 0)
    }

    #[test]
    fn instructions_are_those_of_the_manual() {
        // Encodings produced by GNU as.
        assert_eq!(decoded(&[0x2411]), Some((Insn::Logic { op: Logic::Eor, d: 1, r: 1 }, 1)));
        assert_eq!(decoded(&[0xbe1f]), Some((Insn::Store { addr: 0x5f, r: 1 }, 1)));
        assert_eq!(decoded(&[0x940c, 0x0034]), Some((Insn::Jump { to: 0x4 }, 2)));
        assert_eq!(decoded(&[0x9380, 0x0108]), Some((Insn::Store { addr: 0x108, r: 24 }, 2)));
        assert_eq!(decoded(&[0x9614]), Some((Insn::Adiw { d: 26, k: 4 }, 1)));
        assert_eq!(decoded(&[0x9b4a]), Some((Insn::SkipIo { addr: 0x29, bit: 2, set: true }, 1)));
        assert_eq!(decoded(&[0x94f8]), Some((Insn::Flag { bit: flag::I, set: false }, 1)));
        assert_eq!(decoded(&[0x9478]), Some((Insn::Flag { bit: flag::I, set: true }, 1)));
        assert_eq!(decoded(&[0x8e8f]), Some((Insn::St { ptr: Y, mode: Mode::At(31), r: 8 }, 1)));
        assert_eq!(decoded(&[0x9518]), Some((Insn::Reti, 1)));
        assert_eq!(decoded(&[0xcfff]), Some((Insn::Jump { to: 0 }, 1)));
    }

    #[test]
    fn words_that_are_no_instructions_are_told() {
        for word in [0x0001, 0xffff, 0x9003, 0x940b, 0x9528, 0x95d8, 0x9419, 0x9519] {
            assert_eq!(decoded(&[word]), None, "{word:04x}");
        }
        assert_eq!(decode(&[0x940c], 0), None, "the second word is missing");
    }

    #[test]
    fn every_word_is_decoded_or_refused() {
        for word in 0..=u16::MAX {
            let _ = decoded(&[word, 0x1234]);
        }
    }
}
