//! The binary form: its head, its sections, and the errors for damaged files.

use bytecode::binary::{DecodeError, DecodeErrorKind as Kind, MAGIC, Section, decode, encode, is_binary};
use bytecode::{Program, testing};

fn head() -> Vec<u8> {
    [&MAGIC[..], &[2, 0]].concat()
}

fn with(sections: &[u8]) -> Vec<u8> {
    [head(), sections.to_vec()].concat()
}

/// Sections, followed by the end.
fn whole(sections: &[u8]) -> Vec<u8> {
    with(&[sections, &[127, 0]].concat())
}

fn error(bytes: &[u8]) -> (Kind, usize) {
    let DecodeError { kind, offset } = decode(bytes).expect_err("damaged");
    (kind, offset)
}

/// The same bytes with a good checksum.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let seal = encode(&Program::default());
    let start = seal.len() - 8;
    assert_eq!((&seal[start..start + 2], &seal[start + 6..]), (&[126, 4][..], &[127, 0][..]));
    // The checksum of a program is that of all bytes before its section.
    let sum = crc(&bytes);
    bytes.extend([126, 4]);
    bytes.extend(sum.to_le_bytes());
    bytes.extend([127, 0]);
    bytes
}

/// CRC-32 once more, in its textbook form.
fn crc(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        for bit in 0..8 {
            let feedback = (crc ^ u32::from(byte >> bit)) & 1;
            crc = (crc >> 1) ^ (feedback * 0xedb8_8320);
        }
    }
    !crc
}

#[test]
fn an_empty_program_is_a_head_and_an_end() {
    assert_eq!(decode(&whole(&[])), Ok(Program::default()));
    assert_eq!(decode(&encode(&Program::default())), Ok(Program::default()));
    assert!(is_binary(&encode(&Program::default())));
    assert!(!is_binary(b"process P() {\n"));
}

#[test]
fn what_is_no_program_is_said_to_be_none() {
    assert_eq!(error(b""), (Kind::NotAProgram, 0));
    assert_eq!(error(b"\x89EP"), (Kind::NotAProgram, 0));
    assert_eq!(error(b"process P() {"), (Kind::NotAProgram, 0));
    assert_eq!(error(&MAGIC), (Kind::Truncated, 4));
}

#[test]
fn other_versions_are_refused_by_their_number() {
    let mut bytes = encode(&Program::default());
    bytes[4..6].copy_from_slice(&[3, 1]);
    assert_eq!(error(&bytes), (Kind::Version(259), 4));
    assert!(decode(&bytes).expect_err("another version").to_string().contains("259"));
}

#[test]
fn every_proper_prefix_is_an_error() {
    let mut random = testing::Random::new(3);
    for size in [0, 1, 20, 100, 300, 900] {
        let program = testing::program(&random.bytes(size));
        let bytes = encode(&program);
        for end in 0..bytes.len() {
            let error = decode(&bytes[..end]).expect_err("a part is no program");
            assert!(error.offset <= end);
            assert!(matches!(error.kind, Kind::Truncated | Kind::NotAProgram), "{end} of {}: {error}", bytes.len());
        }
        assert_eq!(decode(&bytes), Ok(program));
    }
}

#[test]
fn nothing_follows_the_end() {
    let bytes = encode(&Program::default());
    for more in [&[0][..], &[127, 0], &[0x85, 1, 9], &bytes] {
        assert_eq!(error(&[&bytes, more].concat()), (Kind::Trailing, bytes.len()));
    }
    assert_eq!(error(&with(&[127, 1, 0])), (Kind::SectionLength(Section::End), 8));
    assert_eq!(error(&head()), (Kind::Truncated, 6));
}

#[test]
fn damage_is_found_by_the_checksum() {
    let mut random = testing::Random::new(4);
    let bytes = encode(&testing::program(&random.bytes(300)));
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            // A changed section code may make the checksum section unknown and optional; all other
            // damage must be found.
            let sum = bytes.len() - 8;
            assert!(decode(&damaged).is_err() || (at == sum && bit == 7), "byte {at}, bit {bit}");
        }
    }
    assert_eq!(error(&whole(&[126, 4, 0, 0, 0, 0])), (Kind::Checksum, 8));
    assert_eq!(decode(&sealed(head())), Ok(Program::default()));
}

#[test]
fn sections_stand_in_order() {
    assert_eq!(error(&with(&[2, 1, 0, 1, 1, 0])), (Kind::SectionOrder(Section::Name), 9));
    assert_eq!(error(&with(&[1, 1, 0, 1, 1, 0])), (Kind::SectionOrder(Section::Name), 9));
    assert_eq!(error(&with(&[1, 2, 0, 0])), (Kind::SectionLength(Section::Name), 9));
    assert_eq!(error(&with(&[1, 5, 0])), (Kind::Truncated, 6));
    assert_eq!(error(&with(&[15, 0])), (Kind::UnknownSection(15), 6));
    assert_eq!(decode(&whole(&[0x85, 2, 9, 9, 1, 2, 1, b'x'])).expect("passed over").name, "x");
}

#[test]
fn contents_are_checked() {
    // A name of two bytes in a section of two.
    assert_eq!(error(&with(&[1, 2, 2, b'a'])), (Kind::Truncated, 9));
    assert_eq!(error(&with(&[1, 2, 1, 0xff])), (Kind::Text, 9));
    // Code: one instruction that does not exist; a mode that does not; a number of six bytes; a
    // register of nine bits.
    assert_eq!(error(&with(&[10, 2, 1, 0xee])), (Kind::Opcode(0xee), 9));
    assert_eq!(error(&with(&[10, 3, 1, 0x38, 9])), (Kind::Code(9), 10));
    assert_eq!(error(&with(&[10, 8, 1, 0x01, 0x80, 0x80, 0x80, 0x80, 0x80, 0])), (Kind::Number, 10));
    assert_eq!(error(&with(&[10, 4, 1, 0x0d, 0x80, 2])), (Kind::Number, 10));
    assert_eq!(error(&with(&[10, 7, 1, 0x01, 0x80, 0x80, 0x80, 0x80, 0x10])), (Kind::Number, 10));
    // Globals: an unknown type, an unknown flag. Labels: an unknown flag.
    assert_eq!(error(&with(&[5, 5, 1, 0, 0x05, 0, 0])), (Kind::Code(5), 10));
    assert_eq!(error(&with(&[5, 5, 1, 0, 0x01, 8, 0])), (Kind::Code(8), 11));
    assert_eq!(error(&with(&[11, 4, 1, 0, 0, 8])), (Kind::Code(8), 11));
    // Properties: an unknown kind, an unknown node of a formula, a flag that is neither 0 nor 1, an
    // unknown label of an edge.
    assert_eq!(error(&with(&[14, 4, 1, 0, 0, 4])), (Kind::Code(4), 11));
    assert_eq!(error(&with(&[14, 6, 1, 0, 0, 0, 1, 0x14])), (Kind::Code(0x14), 13));
    assert_eq!(error(&with(&[14, 3, 1, 0, 2])), (Kind::Code(2), 10));
    assert_eq!(error(&with(&[14, 12, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 6])), (Kind::Code(6), 19));
}

#[test]
fn counts_are_not_believed() {
    // Four billion instructions in one byte.
    assert_eq!(error(&with(&[10, 6, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x39])), (Kind::Truncated, 13));
    assert_eq!(error(&with(&[2, 6, 0xff, 0xff, 0xff, 0xff, 0x0f, 0])), (Kind::Truncated, 13));
    assert_eq!(error(&with(&[1, 0xff, 0xff, 0xff, 0xff, 0x0f])), (Kind::Truncated, 6));
}

#[test]
fn numbers_may_be_longer_than_needed() {
    let program = decode(&whole(&[10, 4, 0x81, 0, 0x0d, 3])).expect("one instruction");
    assert_eq!(program.code.len(), 1);
}
