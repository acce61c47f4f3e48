//! The binary form of programs, `.epb`.
//!
//! `docs/assembly.md` describes it byte by byte. A head says what it is and in which version; sections follow, each with its length, so that
//! a reader can pass over what it does not know; the last one says that it is the last, so that no file that was cut off passes for a shorter
//! program. Numbers are in LEB128, as in DWARF and WebAssembly: small ones take one byte. The reader trusts nothing: no count makes it allocate
//! before the bytes that would justify it are there.

mod property;
mod read;
mod write;

use std::fmt;

pub use read::decode;
pub use write::encode;

/// The first bytes of every binary program. The first one is no text in any encoding of use.
pub const MAGIC: [u8; 4] = [0x89, b'E', b'P', b'B'];

/// The version this module reads and writes.
pub const VERSION: u16 = 2;

/// Sections with this bit may be passed over by a reader that does not know them.
const OPTIONAL: u8 = 0x80;

macro_rules! sections {
    ($($(#[$meta:meta])* $name:ident = $code:literal,)*) => {
        /// The parts of a binary program, in the order in which they must stand.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
        #[repr(u8)]
        pub enum Section { $($(#[$meta])* $name = $code,)* }

        impl Section {
            /// All sections, in order.
            pub const ALL: &'static [Section] = &[$(Section::$name,)*];

            const fn from_code(code: u8) -> Option<Section> {
                match code { $($code => Some(Section::$name),)* _ => None }
            }
        }
    };
}

sections! {
    /// The program's name.
    Name = 1,
    /// Source files.
    Files = 2,
    /// Names of values.
    Symbols = 3,
    /// Print formats.
    Formats = 4,
    /// Global variables.
    Globals = 5,
    /// Channel types.
    ChannelTypes = 6,
    /// Static channels.
    Channels = 7,
    /// Process types.
    Processes = 8,
    /// The instance list.
    Instances = 9,
    /// The code.
    Code = 10,
    /// Labels.
    Labels = 11,
    /// Source positions.
    Spans = 12,
    /// Atoms.
    Atoms = 13,
    /// Properties.
    Properties = 14,
    /// The checksum of all bytes before it.
    Checksum = 126,
    /// The end: empty, and the only section that may not be missing.
    End = 127,
}

/// What is wrong with a binary program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeErrorKind {
    /// The first bytes are not [`MAGIC`].
    NotAProgram,
    /// A version that this reader does not know.
    Version(u16),
    /// The input ends inside something, or without [`Section::End`].
    Truncated,
    /// A number does not fit what it stands for.
    Number,
    /// A text is not UTF-8.
    Text,
    /// A section that is not known and may not be passed over.
    UnknownSection(u8),
    /// A section before which it should not stand, or twice the same.
    SectionOrder(Section),
    /// A section has bytes behind its contents.
    SectionLength(Section),
    /// Bytes behind [`Section::End`].
    Trailing,
    /// An instruction that does not exist.
    Opcode(u8),
    /// A code that stands for nothing: a type, a mode, a flag.
    Code(u8),
    /// The checksum is another one.
    Checksum,
}

/// What is wrong with a binary program, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecodeError {
    /// What.
    pub kind: DecodeErrorKind,
    /// At which byte.
    pub offset: usize,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            DecodeErrorKind::NotAProgram => write!(f, "this is no binary program"),
            DecodeErrorKind::Version(version) => write!(f, "the program has version {version}, and only version {VERSION} can be read"),
            DecodeErrorKind::Truncated => write!(f, "the program ends too early"),
            DecodeErrorKind::Number => write!(f, "a number is too large"),
            DecodeErrorKind::Text => write!(f, "a text is not in UTF-8"),
            DecodeErrorKind::UnknownSection(code) => write!(f, "a section of kind {code} is not known"),
            DecodeErrorKind::SectionOrder(section) => write!(f, "the section {section:?} is in the wrong place"),
            DecodeErrorKind::SectionLength(section) => write!(f, "the section {section:?} is longer than its contents"),
            DecodeErrorKind::Trailing => write!(f, "something follows the end of the program"),
            DecodeErrorKind::Opcode(code) => write!(f, "no instruction has the code {code:#04x}"),
            DecodeErrorKind::Code(code) => write!(f, "the code {code:#04x} stands for nothing here"),
            DecodeErrorKind::Checksum => write!(f, "the checksum is wrong: the program was damaged"),
        }?;
        write!(f, " (byte {})", self.offset)
    }
}

impl std::error::Error for DecodeError {}

/// Whether some bytes claim to be a binary program, of whatever version.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// CRC-32 as in Ethernet and zip: enough against damage, nothing against malice.
fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

/// Flags of a variable and of a label, as bits of a byte.
mod flags {
    pub const SCRATCH: u8 = 1;
    pub const ARRAY: u8 = 2;
    pub const END: u8 = 1;
    pub const PROGRESS: u8 = 2;
    pub const ACCEPT: u8 = 4;
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(super::checksum(b"123456789"), 0xcbf4_3926);
    }
}
