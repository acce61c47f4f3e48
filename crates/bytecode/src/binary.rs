//! The binary form of programs, `.epb`.
//!
//! `docs/assembly.md` describes the format byte by byte. A head names the format and its version.
//! Sections follow, each with its length, so that a reader can skip unknown ones. The last section
//! marks the end, so that a truncated file is not taken for a shorter program. Numbers are in
//! LEB128, as in DWARF and WebAssembly: small ones take one byte. The reader trusts nothing: it
//! allocates memory only for bytes that are really there.

mod property;
mod read;
mod write;

use std::fmt;

pub use read::decode;
pub use write::encode;

/// The first bytes of every binary program. The first byte does not begin a text in any common
/// encoding.
pub const MAGIC: [u8; 4] = [0x89, b'E', b'P', b'B'];

/// The version this module reads and writes.
pub const VERSION: u16 = 2;

/// A reader may skip a section with this bit if it does not know the section.
const OPTIONAL: u8 = 0x80;

macro_rules! sections {
    ($($(#[$meta:meta])* $name:ident = $code:literal,)*) => {
        /// The sections of a binary program, in the order in which they must come.
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
    /// The end: empty, and the only section that must be present.
    End = 127,
}

/// The kinds of errors in a binary program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeErrorKind {
    /// The first bytes are not [`MAGIC`].
    NotAProgram,
    /// A version that this reader does not know.
    Version(u16),
    /// The input ends inside an item, or without [`Section::End`].
    Truncated,
    /// A number that is too large for its purpose.
    Number,
    /// A text is not UTF-8.
    Text,
    /// An unknown section that must not be skipped.
    UnknownSection(u8),
    /// A section that comes too late or twice.
    SectionOrder(Section),
    /// A section has bytes after its contents.
    SectionLength(Section),
    /// Bytes after [`Section::End`].
    Trailing,
    /// An instruction that does not exist.
    Opcode(u8),
    /// An invalid code of a type, a mode or a flag.
    Code(u8),
    /// The checksum is wrong.
    Checksum,
}

/// An error in a binary program, and its offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecodeError {
    /// The kind of error.
    pub kind: DecodeErrorKind,
    /// The offset of the byte.
    pub offset: usize,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            DecodeErrorKind::NotAProgram => write!(f, "this is not a binary program"),
            DecodeErrorKind::Version(version) => write!(f, "the program has version {version}, and only version {VERSION} can be read"),
            DecodeErrorKind::Truncated => write!(f, "the program ends too early"),
            DecodeErrorKind::Number => write!(f, "a number is too large"),
            DecodeErrorKind::Text => write!(f, "a text is not in UTF-8"),
            DecodeErrorKind::UnknownSection(code) => write!(f, "a section of kind {code} is not known"),
            DecodeErrorKind::SectionOrder(section) => write!(f, "the section {section:?} is in the wrong place"),
            DecodeErrorKind::SectionLength(section) => write!(f, "the section {section:?} is longer than its contents"),
            DecodeErrorKind::Trailing => write!(f, "there are bytes after the end of the program"),
            DecodeErrorKind::Opcode(code) => write!(f, "no instruction has the code {code:#04x}"),
            DecodeErrorKind::Code(code) => write!(f, "the code {code:#04x} has no meaning here"),
            DecodeErrorKind::Checksum => write!(f, "the checksum is wrong: the program was damaged"),
        }?;
        write!(f, " (byte {})", self.offset)
    }
}

impl std::error::Error for DecodeError {}

/// Whether some bytes begin like a binary program of any version.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// CRC-32 as in Ethernet and zip. It detects damage, but is no protection against forgery.
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
