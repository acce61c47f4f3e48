//! The layout of the data space in a state.
//!
//! Each variable of the program is a variable of the byte-code, with its name; so it is shown by
//! name, and the reads and writes of a step are known. Each register of a device that the program
//! uses is a variable too. The stack is an array whose elements have nine bits: the ninth says that
//! the byte was written. So an element that was never written is 0, and so are those below the
//! stack pointer.

use crate::chip::{Chip, Kind, LATCH};
use crate::debug::{Part, Scalar};
use crate::facts::Facts;
use crate::flow::Flow;
use crate::image::Image;
use crate::insn::Insn;
use crate::options::Options;
use bytecode::{GlobalId, LocalId, Shown, Type, Variable};
use std::collections::{BTreeMap, BTreeSet};

/// The stack, a local of the processor.
pub const STACK: LocalId = LocalId(44);

/// The object at an address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    Register(u8),
    Io(u16),
    Object(usize),
    Stack,
    Outside,
}

/// A variable in SRAM, or bytes without a name.
#[derive(Clone, Debug)]
pub struct Object {
    pub name: String,
    pub addr: u16,
    pub scalar: Scalar,
    pub count: Option<u32>,
    /// The lengths of the dimensions of an array of C.
    pub dims: Vec<u32>,
    /// The size of the numbers that are kept as bytes here; 1 if there are none.
    pub whole: u8,
    pub global: GlobalId,
}

impl Object {
    /// The size in bytes.
    pub fn size(&self) -> u32 {
        u32::from(self.scalar.size) * self.count.unwrap_or(1)
    }
}

/// The type in which a scalar is kept. A signed byte is kept with its sign.
pub fn type_of(scalar: Scalar) -> Type {
    match (scalar.size, scalar.signed) {
        (1, false) => Type::Byte,
        (1 | 2, true) => Type::Short,
        (2, false) => Type::Unsigned(16),
        (_, false) => Type::Unsigned(32),
        (_, true) => Type::Int,
    }
}

/// The memory of a program.
#[derive(Debug)]
pub struct Memory {
    /// In the order of addresses, without gaps from the start of SRAM to the end of the variables.
    pub objects: Vec<Object>,
    /// Registers of devices.
    pub io: BTreeMap<u16, GlobalId>,
    /// The first address of the stack, and its size in bytes.
    pub stack: (u16, u16),
    /// Whether less of the stack is kept than there is room for, because the code needs no more.
    pub bounded: bool,
    /// Whether the memory between the variables and the stack is a heap.
    pub heap: bool,
    /// The constants in flash that are read: the first byte, the number of bytes, and the array.
    pub flash: Option<(u16, u16, GlobalId)>,
    pub eeprom: Option<GlobalId>,
    /// The address of the next instruction, where tests want it.
    pub counter: Option<GlobalId>,
    /// The depth of sleep, if the program may sleep in other modes than idle; 0 otherwise.
    pub asleep: Option<GlobalId>,
    /// For variables of several bytes that a property refers to: copies of their values after the
    /// last byte was written, by the numbers of the objects.
    pub shown: BTreeMap<usize, GlobalId>,
    /// Which bytes of the variables that the start-up code does not set have a value: the first
    /// address, and the array.
    pub noinit: Option<(std::ops::Range<u16>, GlobalId)>,
    ram: u16,
}

const BYTE: Scalar = Scalar::unsigned(1);

impl Memory {
    /// Lays out the memory; the variables are appended to `globals`. `stack` is the most bytes that
    /// the stack can take, if that is known.
    pub fn of(
        image: &Image,
        flow: &Flow,
        facts: &Facts,
        more_io: &BTreeSet<u16>,
        stack: Option<u16>,
        options: &Options,
        globals: &mut Vec<Variable>,
    ) -> Memory {
        let chip = image.chip;
        let mut memory = Memory {
            objects: Vec::new(),
            io: BTreeMap::new(),
            stack: (image.data_end, 0),
            bounded: false,
            heap: has_heap(image),
            flash: None,
            eeprom: None,
            counter: None,
            asleep: None,
            shown: BTreeMap::new(),
            noinit: None,
            ram: chip.ram.0,
        };
        let room = chip.ram.1 + 1 - image.data_end;
        let size = stack.map_or(room, |most| most.min(room)).max(1);
        memory.stack = (chip.ram.1 - (size - 1), size);
        memory.bounded = size < room && options.stack.is_none();
        for part in parts(image) {
            memory.add_object(image, part, globals);
        }
        let mut used: BTreeSet<u16> = more_io.clone();
        for (&at, node) in &flow.nodes {
            if let Some(addr) = node.insn.as_ref().and_then(|insn| facts.access(at, insn)?.addr)
                && chip.is_io(addr)
            {
                used.insert(addr);
            }
        }
        if used.iter().any(|addr| matches!(chip.register(*addr).map(|register| register.kind), Some(Kind::Half { .. }))) {
            used.insert(LATCH);
        }
        for addr in used {
            let name = match chip.register(addr) {
                Some(register) => register.name.to_owned(),
                None if addr == LATCH => "TEMP".to_owned(),
                None => format!("io_{addr:#04x}"),
            };
            let name = unique(name, globals);
            let mut variable = Variable::scalar(name, Type::Byte);
            if addr == LATCH {
                variable = Variable { shown: Shown::Hidden, ..Variable::scalar(variable.name, Type::Unsigned(16)) };
            }
            if addr == chip.ucsra {
                variable.init = vec![0x20];
            }
            // The first reset is that of power-on.
            if addr == chip.reset_reason {
                variable.init = vec![0x01];
            }
            memory.io.insert(addr, GlobalId(globals.len() as u16));
            globals.push(variable);
        }
        if flow.nodes.values().any(|node| matches!(node.insn, Some(Insn::Lpm { .. }))) {
            let (start, end) = image.constants();
            let (start, end) = if end > start && !options.whole_flash { (start, end) } else { (0, image.code_end()) };
            let mut table = Variable::array("flash", Type::Byte, u32::from(end - start));
            table.init = (start..end).map(|at| image.flash_byte(at).into()).collect();
            table.shown = Shown::Hidden;
            memory.flash = Some((start, end - start, GlobalId(globals.len() as u16)));
            globals.push(table);
        }
        if !options.noinit_zero && !image.noinit.is_empty() {
            let size = u32::from(image.noinit.end - image.noinit.start);
            let mut valid = Variable::array(unique("noinit is set".to_owned(), globals), Type::Bit, size);
            valid.shown = Shown::Hidden;
            memory.noinit = Some((image.noinit.clone(), GlobalId(globals.len() as u16)));
            globals.push(valid);
        }
        if memory.io.contains_key(&chip.eecr) {
            let mut eeprom = Variable::array("eeprom", Type::Byte, chip.eeprom.into());
            eeprom.init = image.eeprom.iter().map(|&byte| byte.into()).collect();
            memory.eeprom = Some(GlobalId(globals.len() as u16));
            globals.push(eeprom);
        }
        memory
    }

    fn add_object(&mut self, image: &Image, part: Part, globals: &mut Vec<Variable>) {
        let mut variable = Variable::scalar(unique(part.name.clone(), globals), type_of(part.scalar));
        variable.length = part.count;
        if part.scalar.boolean {
            variable.shown = Shown::Bool;
        }
        if part.name.starts_with("ram_") {
            variable.shown = Shown::Hidden;
        }
        let element = |index: u32| {
            let mut bytes = [0; 4];
            for (i, byte) in bytes.iter_mut().enumerate().take(part.scalar.size.into()) {
                *byte = image.initial_byte(part.addr + index as u16 * u16::from(part.scalar.size) + i as u16);
            }
            match (part.scalar.size, part.scalar.signed) {
                (1, true) => i32::from(bytes[0] as i8),
                (2, true) => i32::from(i16::from_le_bytes([bytes[0], bytes[1]])),
                _ => i32::from_le_bytes(bytes),
            }
        };
        let init: Vec<i32> = (0..part.count.unwrap_or(1)).map(element).collect();
        if init.iter().any(|value| *value != 0) {
            variable.init = init;
        }
        self.objects.push(Object {
            name: variable.name.clone(),
            addr: part.addr,
            scalar: part.scalar,
            count: part.count,
            dims: part.dims,
            whole: part.whole,
            global: GlobalId(globals.len() as u16),
        });
        globals.push(variable);
    }

    /// Adds a copy of each of these objects that has several bytes, for properties.
    pub fn show(&mut self, objects: &BTreeSet<usize>, globals: &mut Vec<Variable>) {
        for &index in objects.iter().filter(|index| self.objects[**index].scalar.size > 1) {
            let original = globals[self.objects[index].global.index()].clone();
            let name = unique(format!("{} as written", original.name), globals);
            self.shown.insert(index, GlobalId(globals.len() as u16));
            globals.push(Variable { name, shown: Shown::Hidden, ..original });
        }
    }

    /// Whether the byte that registers of 16 bits share may hold any value, because the program
    /// uses the counter or a captured value.
    pub fn opens_latch(&self, chip: &Chip) -> bool {
        self.io.contains_key(&LATCH) && [chip.counter, chip.capture].iter().any(|addr| self.io.contains_key(addr))
    }

    /// Whether an access through a pointer to this register is supported: the register keeps what
    /// is written, and the access chooses nothing.
    pub fn is_plain(&self, addr: u16, chip: &Chip) -> bool {
        match chip.register(addr).map(|register| register.kind) {
            None => addr != LATCH,
            Some(Kind::Half { .. }) => !self.opens_latch(chip),
            Some(kind) => kind == Kind::Plain,
        }
    }

    /// Whether a byte of SRAM has any value at the start.
    pub fn is_noinit(&self, addr: u16) -> bool {
        self.noinit.as_ref().is_some_and(|(range, _)| range.contains(&addr))
    }

    /// The first address of the scalar that contains an address, if that has several bytes.
    pub fn scalar(&self, addr: u16) -> Option<u16> {
        let Place::Object(index) = self.place(addr) else { return None };
        let object = &self.objects[index];
        let size = u16::from(object.scalar.size);
        (size > 1).then(|| addr - (addr - object.addr) % size)
    }

    /// The first address of the number that contains an address, if that has several bytes; also of
    /// a number that is kept as bytes.
    pub fn number(&self, addr: u16) -> Option<u16> {
        let Place::Object(index) = self.place(addr) else { return None };
        let object = &self.objects[index];
        match object.whole {
            0 | 1 => self.scalar(addr),
            whole => Some(addr - (addr - object.addr) % u16::from(whole)),
        }
    }

    /// The name and the text of the error if the stack grows beyond what is kept of it.
    pub fn overflow(&self) -> (&'static str, &'static str) {
        if self.bounded {
            ("unsupported", "the stack is deeper than the code shows; `-D stack=2048` keeps all of it")
        } else {
            ("stack_overflow", "the stack runs into the variables")
        }
    }

    /// The object at an address.
    pub fn place(&self, addr: u16) -> Place {
        if addr < 32 {
            return Place::Register(addr as u8);
        }
        if addr < self.ram {
            return Place::Io(addr);
        }
        if addr >= self.stack.0 {
            return if addr - self.stack.0 < self.stack.1 { Place::Stack } else { Place::Outside };
        }
        let after = self.objects.partition_point(|object| object.addr <= addr);
        match after.checked_sub(1).map(|index| (index, &self.objects[index])) {
            Some((index, object)) if u32::from(addr - object.addr) < object.size() => Place::Object(index),
            _ => Place::Outside,
        }
    }
}

/// Whether the program contains `malloc`.
pub fn has_heap(image: &Image) -> bool {
    image.data.iter().any(|symbol| symbol.name == "__brkval")
}

fn unique(name: String, globals: &[Variable]) -> String {
    let taken = |name: &str| globals.iter().any(|known| known.name == name);
    if !taken(&name) {
        return name;
    }
    (2..).map(|number| format!("{name}@{number}")).find(|name| !taken(name)).unwrap_or(name)
}

/// The part of the memory that a variable of the byte-code represents, by its name.
pub fn part_named(image: &Image, name: &str) -> Option<Part> {
    parts(image).into_iter().find(|part| part.name == name)
}

/// The parts of all variables: those of the debugging information, then those that only the symbol
/// table has, then the gaps between them.
fn parts(image: &Image) -> Vec<Part> {
    let (start, end) = (image.chip.ram.0, image.data_end);
    let inside = |addr: u32, size: u32| addr >= start.into() && addr + size <= end.into();
    let mut parts: Vec<Part> = image.debug.parts.iter().filter(|part| inside(part.addr.into(), part.size())).cloned().collect();
    let part = |name: String, addr: u32, size: u32| {
        let (scalar, count) = match size {
            1 | 2 | 4 => (Scalar::unsigned(size as u8), None),
            other => (BYTE, Some(other)),
        };
        Part { name, addr: addr as u16, scalar, count, dims: count.into_iter().collect(), whole: 1 }
    };
    let mut more = Vec::new();
    for symbol in image.data.iter().filter(|symbol| symbol.size > 0 && inside(symbol.addr, symbol.size)) {
        let overlaps = |part: &Part| u32::from(part.addr) < symbol.addr + symbol.size && symbol.addr < u32::from(part.addr) + part.size();
        if !parts.iter().chain(&more).any(overlaps) {
            more.push(part(symbol.name.clone(), symbol.addr, symbol.size));
        }
    }
    // Symbols that share a name are told apart by their addresses.
    let names: Vec<String> = parts.iter().chain(&more).map(|part| part.name.clone()).collect();
    for part in &mut more {
        if names.iter().filter(|name| **name == part.name).count() > 1 {
            part.name = format!("{}@{:#06x}", part.name, part.addr);
        }
    }
    parts.append(&mut more);
    parts.sort_by_key(|part| part.addr);
    let mut all = Vec::new();
    let mut at = u32::from(start);
    let gap = |from: u32, to: u32| {
        let (name, dims) = (format!("ram_{from:#05x}"), vec![to - from]);
        Part { name, addr: from as u16, scalar: BYTE, count: Some(to - from), dims, whole: 1 }
    };
    for part in parts {
        if u32::from(part.addr) > at {
            all.push(gap(at, part.addr.into()));
        }
        at = u32::from(part.addr) + part.size();
        all.push(part);
    }
    if at < end.into() {
        all.push(gap(at, end.into()));
    }
    all
}
