//! The contents of an ELF file: memory, symbols, the device.

use crate::chip::Chip;
use crate::debug::{self, Debug};
use crate::insn::Insn;
use object::read::elf::{ElfFile32, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::collections::{BTreeMap, BTreeSet};

/// The addresses where the linker puts data, and the EEPROM.
const DATA: u64 = 0x80_0000;
const EEPROM: u64 = 0x81_0000;
const FUSES: u64 = 0x82_0000;

/// A name for an address.
#[derive(Clone, Debug)]
pub struct Symbol {
    pub name: String,
    pub addr: u32,
    pub size: u32,
}

/// A program in memory.
#[derive(Debug)]
pub struct Image {
    pub chip: &'static Chip,
    /// The flash; its length is that of the device, in words.
    pub flash: Vec<u16>,
    /// Functions, by byte addresses in the flash.
    pub functions: Vec<Symbol>,
    /// All symbols in the flash.
    pub symbols: Vec<Symbol>,
    /// Named data, by addresses in the data space.
    pub data: Vec<Symbol>,
    /// The end of the variables in SRAM.
    pub data_end: u16,
    pub eeprom: Vec<u8>,
    /// Variables that the start-up code does not set.
    pub noinit: std::ops::Range<u16>,
    /// The values that the start-up code stores in SRAM, from its first address on; all zero if the
    /// start-up code is executed itself.
    initial: Vec<u8>,
    /// Loops of the start-up code whose effect is in `initial`: their first address, and the
    /// address that follows.
    shortcuts: Vec<(u16, u16)>,
    pub debug: Debug,
}

/// The reason why a file is not a program for these devices: a sentence, and a hint.
pub type Refusal = (String, Option<&'static str>);

fn refuse<T>(message: impl Into<String>, hint: Option<&'static str>) -> Result<T, Refusal> {
    Err((message.into(), hint))
}

/// The hint for a file of another kind.
const LINKED: &str = "give the linked program: `avr-gcc -mmcu=atmega328p -Os -gdwarf-2 main.c -o main.elf`";

impl Image {
    /// Reads an ELF file. `device` is the name of the device, if the caller knows it.
    pub fn read(bytes: &[u8], device: Option<&str>) -> Result<Image, Refusal> {
        let file = match ElfFile32::<Endianness>::parse(bytes) {
            Ok(file) => file,
            Err(error) => {
                let other = object::FileKind::parse(bytes).ok();
                return match other {
                    Some(object::FileKind::Elf32) | None => refuse(format!("this is not a readable ELF file: {error}"), Some(LINKED)),
                    Some(_) => refuse("this is not a 32-bit ELF file for AVR devices", Some(LINKED)),
                };
            }
        };
        if file.architecture() != object::Architecture::Avr {
            return refuse("the program is for another processor; only AVR devices are known", Some(LINKED));
        }
        if file.kind() != object::ObjectKind::Executable {
            return refuse("the file is not linked: addresses are missing", Some(LINKED));
        }
        let noted = file.section_by_name(".note.gnu.avr.deviceinfo").and_then(|section| device_of(section.data().ok()?));
        let Some(name) = device.map(str::to_owned).or(noted) else {
            return refuse("the file does not name its device", Some("name it: `-D device=atmega328p` or `-D device=atmega16`"));
        };
        let Some(chip) = Chip::named(&name) else {
            return refuse(format!("the device `{name}` is not known"), Some("known devices: atmega328p, atmega16"));
        };
        let mut flash = vec![0xffff_u16; chip.flash as usize];
        let mut eeprom = vec![0xff_u8; chip.eeprom as usize];
        let mut any = false;
        let mut initial = vec![0; usize::from(chip.ram.1 - chip.ram.0) + 1];
        for header in file.elf_program_headers() {
            if header.p_type(file.endian()) != object::elf::PT_LOAD {
                continue;
            }
            let at = u64::from(header.p_paddr(file.endian()));
            let Ok(content) = header.data(file.endian(), bytes) else {
                return refuse("a segment lies outside the file", Some("the file seems to be cut off"));
            };
            if content.is_empty() || at >= FUSES {
                continue;
            }
            let seen = u64::from(header.p_vaddr(file.endian()));
            if let Some(place) = seen.checked_sub(DATA + u64::from(chip.ram.0)).filter(|_| seen < EEPROM) {
                copy(content, place, &mut initial).ok_or_else(|| too_large(chip, "SRAM"))?;
            }
            if at >= EEPROM {
                copy(content, at - EEPROM, &mut eeprom).ok_or_else(|| too_large(chip, "EEPROM"))?;
            } else {
                if at + content.len() as u64 > u64::from(chip.flash) * 2 {
                    return Err(too_large(chip, "flash"));
                }
                for (i, &byte) in content.iter().enumerate() {
                    let place = at as usize + i;
                    let word = &mut flash[place / 2];
                    *word = if place.is_multiple_of(2) { *word & 0xff00 | u16::from(byte) } else { *word & 0xff | u16::from(byte) << 8 };
                }
                any = true;
            }
        }
        if !any {
            return refuse("there is no code in the file", Some(LINKED));
        }
        let mut data_end = u64::from(chip.ram.0);
        for section in file.sections() {
            let start = section.address();
            if (DATA..EEPROM).contains(&start) && section.size() > 0 {
                let end = start.saturating_add(section.size()) - DATA;
                if end > u64::from(chip.ram.1) + 1 {
                    return Err(too_large(chip, "SRAM"));
                }
                data_end = data_end.max(end);
            }
        }
        let mut image = Image {
            chip,
            flash,
            functions: Vec::new(),
            symbols: Vec::new(),
            data: Vec::new(),
            data_end: data_end as u16,
            eeprom,
            noinit: file.section_by_name(".noinit").map_or(0..0, |section| {
                let start = section.address().wrapping_sub(DATA) as u16;
                start..start.saturating_add(section.size() as u16)
            }),
            initial,
            shortcuts: Vec::new(),
            debug: debug::read(&file),
        };
        for symbol in file.symbols() {
            let Ok(name) = symbol.name() else { continue };
            let named = |addr: u64| Symbol { name: name.to_owned(), addr: addr as u32, size: symbol.size().min(0xffff) as u32 };
            let code = symbol.address() < u64::from(chip.flash) * 2;
            match symbol.kind() {
                SymbolKind::Data if (DATA..EEPROM).contains(&symbol.address()) => image.data.push(named(symbol.address() - DATA)),
                SymbolKind::Text if code && symbol.size() > 0 => image.functions.push(named(symbol.address())),
                _ => {}
            }
            if code && !name.is_empty() && symbol.section_index().is_some() {
                image.symbols.push(named(symbol.address()));
            }
        }
        image.data.sort_by_key(|symbol| (symbol.addr, symbol.size));
        image.symbols.sort_by_key(|symbol| symbol.addr);
        image.find_shortcuts();
        Ok(image)
    }

    /// A program of these words, without names.
    pub fn of_code(chip: &'static Chip, code: &[u16]) -> Image {
        let mut flash = vec![0xffff_u16; chip.flash as usize];
        for (word, given) in flash.iter_mut().zip(code) {
            *word = *given;
        }
        Image {
            chip,
            flash,
            functions: Vec::new(),
            symbols: Vec::new(),
            data: Vec::new(),
            data_end: chip.ram.0,
            eeprom: vec![0xff; chip.eeprom as usize],
            noinit: 0..0,
            initial: Vec::new(),
            shortcuts: Vec::new(),
            debug: Debug::default(),
        }
    }

    /// Finds the loops with which the start-up code of avr-libc initialises variables. Their effect
    /// is known without executing them, and no interrupt can happen in between.
    fn find_shortcuts(&mut self) {
        for name in ["__do_copy_data", "__do_clear_bss"] {
            let Some(start) = self.symbol(name) else { continue };
            let mut at = (start / 2) as u16;
            for _ in 0..24 {
                let Some((insn, len)) = crate::insn::decode(&self.flash, at) else { break };
                at += len;
                if matches!(insn, crate::insn::Insn::Branch { to, .. } if to < at) {
                    self.shortcuts.push(((start / 2) as u16, at));
                    break;
                }
            }
        }
        if self.symbol("__do_copy_data").is_some() && self.shortcuts.is_empty() {
            self.initial.fill(0);
        }
    }

    /// The instruction at a word address, with the loops of the start-up code skipped.
    pub fn decode(&self, at: u16) -> Option<(crate::insn::Insn, u16)> {
        match self.shortcuts.iter().find(|(start, _)| *start == at) {
            Some((_, next)) => Some((crate::insn::Insn::Jump { to: *next }, 1)),
            None => crate::insn::decode(&self.flash, at),
        }
    }

    /// The value of a byte of SRAM when the program begins.
    pub fn initial_byte(&self, addr: u16) -> u8 {
        let place = usize::from(addr - self.chip.ram.0);
        self.initial.get(place).copied().unwrap_or(0)
    }

    /// The byte address after the last word of the flash that is not erased.
    pub fn code_end(&self) -> u16 {
        let words = self.flash.iter().rposition(|word| *word != 0xffff).map_or(1, |last| last + 1);
        (words * 2).min(0x8000) as u16
    }

    /// The byte address of a name in the flash.
    pub fn symbol(&self, name: &str) -> Option<u32> {
        self.symbols.iter().find(|symbol| symbol.name == name).map(|symbol| symbol.addr)
    }

    /// The names of a word address.
    pub fn names_at(&self, at: u16) -> impl Iterator<Item = &str> {
        let addr = u32::from(at) * 2;
        let first = self.symbols.partition_point(|symbol| symbol.addr < addr);
        self.symbols[first..].iter().take_while(move |symbol| symbol.addr == addr).map(|symbol| symbol.name.as_str())
    }

    /// The function that contains a word address.
    pub fn function_at(&self, at: u16) -> Option<&str> {
        let addr = u32::from(at) * 2;
        self.functions.iter().find(|f| (f.addr..f.addr + f.size.max(1)).contains(&addr)).map(|f| f.name.as_str())
    }

    /// Whether a handler only jumps to the reset vector, as unused vectors do.
    pub fn is_reset_jump(&self, to: u16) -> bool {
        matches!(crate::insn::decode(&self.flash, to), Some((crate::insn::Insn::Jump { to: 0 }, _)))
    }

    /// The byte at an address of the flash.
    pub fn flash_byte(&self, at: u16) -> u8 {
        let word = self.flash[(at as usize / 2) % self.flash.len()];
        if at.is_multiple_of(2) { word as u8 } else { (word >> 8) as u8 }
    }

    /// All instructions from the end of the vectors to that of the code, one after the other,
    /// constants in between included.
    fn sweep(&self) -> impl Iterator<Item = (u16, crate::insn::Insn, u16)> + '_ {
        let (mut at, end) = (0, self.code_end() / 2);
        std::iter::from_fn(move || {
            while at < end {
                let here = at;
                match crate::insn::decode(&self.flash, here) {
                    Some((insn, len)) => {
                        at += len;
                        return Some((here, insn, len));
                    }
                    None => at += 1,
                }
            }
            None
        })
    }

    /// The targets of jumps through pointers in functions of the library, by the addresses of the
    /// jumps. `__prologue_saves__` continues at a constant address that its caller gives, `setjmp`
    /// and `longjmp` after a call of `setjmp`.
    pub fn library_jumps(&self) -> BTreeMap<u16, BTreeSet<u16>> {
        let jump_of = |name: &str| {
            let start = u16::try_from(self.symbol(name)? / 2).ok()?;
            let mut at = start;
            for _ in 0..64 {
                let (insn, len) = crate::insn::decode(&self.flash, at)?;
                if insn == Insn::Ijmp {
                    return Some((start, at));
                }
                at += len;
            }
            None
        };
        let mut found: BTreeMap<u16, BTreeSet<u16>> = BTreeMap::new();
        if let Some((start, end)) = jump_of("__prologue_saves__") {
            let mut z = [None; 2];
            for (_, insn, _) in self.sweep() {
                match insn {
                    Insn::Ldi { d: d @ 30..=31, k } => z[usize::from(d - 30)] = Some(k),
                    Insn::Jump { to } if (start..=end).contains(&to) => {
                        if let [Some(low), Some(high)] = z {
                            found.entry(end).or_default().insert(u16::from_le_bytes([low, high]));
                        }
                    }
                    _ => {}
                }
            }
        }
        if let Some(saved) = self.symbol("setjmp") {
            let calls = |insn: &Insn| matches!(insn, Insn::Call { to } if u32::from(*to) * 2 == saved);
            let returns: BTreeSet<u16> = self.sweep().filter(|(_, insn, _)| calls(insn)).map(|(at, _, len)| at + len).collect();
            // `setjmp` takes its return address from the stack and jumps there itself.
            for (_, end) in ["setjmp", "longjmp"].into_iter().filter_map(jump_of) {
                found.entry(end).or_default().extend(&returns);
            }
        }
        found
    }

    /// The functions whose addresses the program has: as two constants in code, in initialised
    /// data, or in the tables before the code.
    pub fn pointers(&self) -> BTreeSet<u16> {
        let functions: BTreeSet<u16> = self.functions.iter().filter_map(|f| u16::try_from(f.addr / 2).ok()).collect();
        let mut found = BTreeSet::new();
        let mut known: [Option<u8>; 32] = [None; 32];
        for (_, insn, _) in self.sweep() {
            let Insn::Ldi { d, k } = insn else { continue };
            known[usize::from(d)] = Some(k);
            if let (Some(low), Some(high)) = (known[usize::from(d & !1)], known[usize::from(d | 1)]) {
                found.insert(u16::from_le_bytes([low, high]));
            }
        }
        found.extend(self.initial.windows(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])));
        let (start, end) = self.constants();
        found.extend((start..end).map(|at| u16::from_le_bytes([self.flash_byte(at), self.flash_byte(at.wrapping_add(1))])));
        found.retain(|at| functions.contains(at));
        found
    }

    /// The bytes of the flash between the vectors and the start-up code, which hold constants.
    pub fn constants(&self) -> (u16, u16) {
        let start = u16::from(self.chip.vectors) * 4;
        let end = self.symbol("__ctors_end").or_else(|| self.symbol("__init")).map_or(start, |end| end as u16);
        (start, end.max(start))
    }

    /// The targets of the tables of `switch` statements: the words between the vectors and the
    /// start-up code that are addresses of code after the tables.
    pub fn jump_table(&self) -> BTreeSet<u16> {
        let vectors = u16::from(self.chip.vectors) * 2;
        let Some(start) = self.symbol("__ctors_end").or_else(|| self.symbol("__init")) else { return BTreeSet::new() };
        let start = (start / 2) as u16;
        let end = self.functions.iter().map(|f| (f.addr + f.size) / 2).max().unwrap_or(0) as u16;
        (vectors..start).map(|at| self.flash[at as usize]).filter(|to| (start..end).contains(to)).collect()
    }
}

fn too_large(chip: &Chip, memory: &str) -> Refusal {
    (format!("the program does not fit into the {memory} of the {}", chip.name), None)
}

fn copy(content: &[u8], at: u64, into: &mut [u8]) -> Option<()> {
    let at = usize::try_from(at).ok()?;
    into.get_mut(at..at.checked_add(content.len())?)?.copy_from_slice(content);
    Some(())
}

/// The name of the device in the note that the start-up code of avr-libc contains.
fn device_of(note: &[u8]) -> Option<String> {
    let word = |at: usize| Some(u32::from_le_bytes(note.get(at..at + 4)?.try_into().ok()?) as usize);
    let name = word(0)?.checked_next_multiple_of(4)?;
    let description = note.get(12_usize.checked_add(name)?..)?;
    let text: Vec<String> =
        description.split(|byte| !byte.is_ascii_alphanumeric()).map(|t| String::from_utf8_lossy(t).into_owned()).collect();
    text.into_iter().find(|text| text.len() > 4 && text.starts_with("at"))
}
