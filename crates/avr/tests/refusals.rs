//! Files that are no programs for these devices: each refusal has its sentence. The files are made
//! here, byte by byte, so that no compiler is needed.

use source::SourceMap;

/// A file: what differs from a program for an ATmega328P.
struct Elf {
    machine: u16,
    kind: u16,
    device: &'static str,
    /// The words of code and their byte address.
    code: Vec<u16>,
    at: u32,
    /// The bytes of variables.
    variables: u32,
}

impl Default for Elf {
    fn default() -> Elf {
        Elf { machine: 83, kind: 2, device: "atmega328p", code: vec![0xcfff], at: 0, variables: 4 }
    }
}

impl Elf {
    /// The file: a header, one segment, and sections for the note, the variables and their names.
    fn bytes(&self) -> Vec<u8> {
        let code: Vec<u8> = self.code.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut note = Vec::new();
        if !self.device.is_empty() {
            for word in [4_u32, self.device.len() as u32 + 1, 1] {
                note.extend(word.to_le_bytes());
            }
            note.extend(b"AVR\0");
            note.extend(self.device.bytes().chain([0]));
        }
        let names = b"\0.note.gnu.avr.deviceinfo\0.bss\0.shstrtab\0";
        let code_at = 52 + 32;
        let note_at = code_at + code.len();
        let names_at = note_at + note.len();
        let sections_at = (names_at + names.len()).next_multiple_of(4);
        let mut all = b"\x7fELF\x01\x01\x01".to_vec();
        all.resize(16, 0);
        let half = |all: &mut Vec<u8>, values: &[u16]| values.iter().for_each(|value| all.extend(value.to_le_bytes()));
        let word = |all: &mut Vec<u8>, values: &[u32]| values.iter().for_each(|value| all.extend(value.to_le_bytes()));
        half(&mut all, &[self.kind, self.machine]);
        word(&mut all, &[1, 0, 52, sections_at as u32, 5]);
        half(&mut all, &[52, 32, 1, 40, 4, 3]);
        word(&mut all, &[1, code_at as u32, self.at, self.at, code.len() as u32, code.len() as u32, 5, 2]);
        all.extend(&code);
        all.extend(&note);
        all.extend(names);
        all.resize(sections_at, 0);
        word(&mut all, &[0; 10]);
        word(&mut all, &[1, 7, 0, 0, note_at as u32, note.len() as u32, 0, 0, 4, 0]);
        word(&mut all, &[26, 8, 3, 0x80_0100, 0, self.variables, 0, 0, 1, 0]);
        word(&mut all, &[31, 3, 0, 0, names_at as u32, names.len() as u32, 0, 0, 1, 0]);
        all
    }
}

/// What is said about a file, or nothing if it is a program.
fn refusal(bytes: &[u8], device: Option<&str>) -> Option<String> {
    let mut map = SourceMap::new();
    let file = map.add("made.elf", "");
    let defines: Vec<(String, String)> = device.map(|name| ("device".to_owned(), name.to_owned())).into_iter().collect();
    let mut none = |_: &str| None;
    let request = avr::Request { defines: &defines, formulas: &[], expressions: &[], sources: &mut none };
    let compiled = avr::compile(&mut map, file, bytes, request);
    let error = compiled.diagnostics.iter().find(|diagnostic| diagnostic.is_error()).map(|diagnostic| diagnostic.message.clone());
    assert_eq!(error.is_none(), compiled.program.is_some());
    error
}

#[test]
fn a_file_that_is_made_here_is_a_program() {
    assert_eq!(refusal(&Elf::default().bytes(), None), None);
    assert_eq!(refusal(&Elf { device: "atmega16", ..Elf::default() }.bytes(), None), None);
    assert_eq!(refusal(&Elf { device: "", ..Elf::default() }.bytes(), Some("atmega16")), None);
}

#[test]
fn each_refusal_says_why() {
    let says = |elf: Elf, device: Option<&str>, words: &str| {
        let told = refusal(&elf.bytes(), device).unwrap_or_else(|| panic!("it is a program: {words}"));
        assert!(told.contains(words), "{told}");
    };
    says(Elf { machine: 40, ..Elf::default() }, None, "another processor");
    says(Elf { kind: 1, ..Elf::default() }, None, "not linked");
    says(Elf { device: "", ..Elf::default() }, None, "does not name its device");
    says(Elf { device: "atmega2560", ..Elf::default() }, None, "`atmega2560` is not known");
    says(Elf::default(), Some("attiny13"), "`attiny13` is not known");
    says(Elf { code: Vec::new(), ..Elf::default() }, None, "no code");
    says(Elf { at: 0x7fff, ..Elf::default() }, None, "does not fit into the flash of the atmega328p");
    says(Elf { code: vec![0; 0x2001], ..Elf::default() }, Some("atmega16"), "does not fit into the flash of the atmega16");
    says(Elf { variables: 0x801, ..Elf::default() }, None, "does not fit into the SRAM of the atmega328p");
    says(Elf { variables: 0x401, ..Elf::default() }, Some("atmega16"), "does not fit into the SRAM of the atmega16");
    says(Elf { at: 0x80_08ff, ..Elf::default() }, None, "does not fit into the SRAM");
    says(Elf { at: 0x81_03ff, ..Elf::default() }, None, "does not fit into the EEPROM");
    let whole = Elf::default().bytes();
    for cut in 0..whole.len() {
        let told = refusal(&whole[..cut], None);
        assert!(cut < 52 + 32 + 2 || told.is_some() || cut >= whole.len() - 200, "{cut}: {told:?}");
    }
}
