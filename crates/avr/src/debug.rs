//! Lines and variables from the debugging information (DWARF).
//!
//! Damaged or missing information is left out: a program without names can be checked too.

use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, LittleEndian, Reader as _, Unit, UnitOffset};
use object::{Object, ObjectSection};
use std::collections::{BTreeMap, BTreeSet};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Data addresses in DWARF have this bit set.
const DATA: u64 = 0x80_0000;
const EEPROM: u64 = 0x81_0000;

/// A byte whose meaning is not known.
const BYTE: Scalar = Scalar::unsigned(1);

/// The deepest nesting of types.
const DEPTH: usize = 12;
/// The limit on the scalars and arrays into which one variable is divided.
const PARTS: usize = 512;

/// A scalar as the machine sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scalar {
    /// Bytes: 1, 2 or 4.
    pub size: u8,
    pub signed: bool,
    pub boolean: bool,
    /// Whether the bits are those of a floating-point number.
    pub float: bool,
}

impl Scalar {
    /// An unsigned number of this many bytes.
    pub const fn unsigned(size: u8) -> Scalar {
        Scalar { size, signed: false, boolean: false, float: false }
    }
}

/// A part of a variable: a scalar or an array of scalars.
#[derive(Clone, Debug)]
pub struct Part {
    /// The name, with members and elements: `ring.head`, `tasks[1].state`.
    pub name: String,
    /// Its address in the data space.
    pub addr: u16,
    pub scalar: Scalar,
    /// The number of elements, if it is an array.
    pub count: Option<u32>,
    /// The lengths of the dimensions of an array, whose product is `count`. Empty if the bytes are
    /// no array of C.
    pub dims: Vec<u32>,
    /// The size of a number that is kept as bytes because it has 3 or 8 of them; 1 for others.
    pub whole: u8,
}

impl Part {
    /// The size in bytes.
    pub fn size(&self) -> u32 {
        u32::from(self.scalar.size) * self.count.unwrap_or(1)
    }
}

/// A bit-field of a structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// The address of the byte that has its lowest bit.
    pub addr: u16,
    /// The bits below it in that byte, and its own.
    pub bit: u8,
    pub size: u8,
    pub signed: bool,
}

/// A place in a source file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spot {
    /// The number of the file in [`Debug::files`].
    pub file: u32,
    pub line: u32,
    /// The column, from 1 on; 0 if the compiler has not told it.
    pub column: u32,
}

impl Spot {
    /// Whether two places are in the same line.
    pub fn same_line(one: Option<Spot>, other: Option<Spot>) -> bool {
        let line = |spot: Spot| (spot.file, spot.line);
        one.map(line) == other.map(line)
    }
}

/// A row of the line table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// The first byte address of the row.
    pub addr: u32,
    /// `None` if no source is known.
    pub place: Option<Spot>,
}

/// The lines, variables and constants of the debugging information.
#[derive(Debug, Default)]
pub struct Debug {
    pub files: Vec<String>,
    /// In the order of addresses.
    pub lines: Vec<Line>,
    /// In the order of addresses, without overlap.
    pub parts: Vec<Part>,
    /// Constants of enumerations, by their names; `None` if enumerations disagree.
    pub constants: BTreeMap<String, Option<i64>>,
    /// Bit-fields, by their names with those of the structures.
    pub fields: BTreeMap<String, Field>,
}

impl Debug {
    /// The place of a byte address.
    pub fn line(&self, addr: u32) -> Option<Spot> {
        let after = self.lines.partition_point(|line| line.addr <= addr);
        self.lines[after.checked_sub(1)?].place
    }
}

/// Reads the debugging information of a file.
pub fn read<'a>(file: &impl Object<'a>) -> Debug {
    let load = |id: gimli::SectionId| -> Result<Slice<'_>, gimli::Error> {
        let data = file.section_by_name(id.name()).and_then(|section| section.data().ok()).unwrap_or(&[]);
        Ok(EndianSlice::new(data, LittleEndian))
    };
    let mut debug = Debug::default();
    let Ok(dwarf) = Dwarf::load(load) else { return debug };
    let mut reader = Reader { dwarf: &dwarf, debug: &mut debug, located: Vec::new(), found: Vec::new() };
    let mut units = Vec::new();
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        reader.lines(&unit);
        reader.variables(&unit, units.len());
        units.push(unit);
    }
    let located = std::mem::take(&mut reader.located);
    let names = names(&located);
    for (variable, name) in located.iter().zip(names) {
        reader.variable(&units[variable.unit], variable, &name);
    }
    let found = reader.found;
    debug.lines.sort_by_key(|line| (line.addr, line.place.is_some()));
    debug.parts = separate(found);
    debug
}

/// A variable with a fixed address.
struct Located {
    name: String,
    addr: u16,
    /// The number of its unit, and its type there.
    unit: usize,
    ty: UnitOffset,
    /// The file and the function in which it is defined.
    file: String,
    function: Option<String>,
}

/// The name of each variable. Variables that share a name are told apart by their functions, by
/// their files, by both, or by their addresses, whichever is the first to do so.
fn names(located: &[Located]) -> Vec<String> {
    let mut forms: Vec<usize> = vec![0; located.len()];
    let form = |variable: &Located, form: usize| {
        let Located { name, file, function, addr, .. } = variable;
        match (form, function) {
            (0, _) => name.clone(),
            (1, Some(function)) => format!("{function}::{name}"),
            (1 | 2, None) => format!("{file}::{name}"),
            (2, Some(function)) => format!("{file}::{function}::{name}"),
            _ => format!("{name}@{addr:#06x}"),
        }
    };
    for _ in 0..3 {
        let mut places: BTreeMap<String, BTreeSet<u16>> = BTreeMap::new();
        for (variable, number) in located.iter().zip(&forms) {
            places.entry(form(variable, *number)).or_default().insert(variable.addr);
        }
        for (variable, number) in located.iter().zip(&mut forms) {
            if places[&form(variable, *number)].len() > 1 {
                *number += 1;
            }
        }
    }
    located.iter().zip(forms).map(|(variable, number)| form(variable, number)).collect()
}

/// The parts without those that overlap others.
fn separate(mut found: Vec<Part>) -> Vec<Part> {
    found.sort_by(|a, b| a.addr.cmp(&b.addr).then(a.name.cmp(&b.name)));
    let mut parts: Vec<Part> = Vec::new();
    let mut end = 0_u32;
    for part in found {
        if u32::from(part.addr) >= end {
            end = u32::from(part.addr) + part.size();
            parts.push(part);
        }
    }
    parts
}

struct Reader<'d, 'a> {
    dwarf: &'d Dwarf<Slice<'a>>,
    debug: &'d mut Debug,
    located: Vec<Located>,
    found: Vec<Part>,
}

type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

impl<'a> Reader<'_, 'a> {
    fn lines(&mut self, unit: &Unit<Slice<'a>>) {
        let Some(program) = unit.line_program.clone() else { return };
        let mut files: BTreeMap<u64, u32> = BTreeMap::new();
        let mut rows = program.rows();
        while let Ok(Some((header, row))) = rows.next_row() {
            let Ok(addr) = u32::try_from(row.address()) else { continue };
            let place = (!row.end_sequence()).then(|| row.line()).flatten().map(|line| {
                let file = *files.entry(row.file_index()).or_insert_with(|| {
                    let name = row
                        .file(header)
                        .and_then(|file| self.dwarf.attr_string(unit, file.path_name()).ok())
                        .map_or_else(|| "?".to_owned(), |name| name.to_string_lossy().into_owned());
                    let known = self.debug.files.iter().position(|known| *known == name);
                    known.unwrap_or_else(|| {
                        self.debug.files.push(name);
                        self.debug.files.len() - 1
                    }) as u32
                });
                let column = match row.column() {
                    gimli::ColumnType::LeftEdge => 0,
                    gimli::ColumnType::Column(column) => u32::try_from(column.get()).unwrap_or(0),
                };
                Spot { file, line: u32::try_from(line.get()).unwrap_or(0), column }
            });
            // The byte-code numbers files with two bytes.
            let place = place.filter(|spot| spot.file < 0xfff0);
            self.debug.lines.push(Line { addr, place });
        }
    }

    fn variables(&mut self, unit: &Unit<Slice<'a>>, number: usize) {
        let file = file_of(unit);
        // The functions around the entry, from the outermost on, each with its depth.
        let mut functions: Vec<(isize, String)> = Vec::new();
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            let depth = entry.depth();
            functions.retain(|(outer, _)| *outer < depth);
            match entry.tag() {
                gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine => {
                    functions.extend(self.declared_name(unit, entry).map(|name| (depth, name)));
                }
                gimli::DW_TAG_variable => {
                    if let Some((addr, name, ty)) = self.located(unit, entry) {
                        let function = functions.last().map(|(_, name)| name.clone());
                        self.located.push(Located { name, addr, unit: number, ty, file: file.clone(), function });
                    }
                }
                gimli::DW_TAG_enumerator => {
                    if let (Some(name), Some(value)) = (self.name(unit, entry), enumerated(entry)) {
                        let known = self.debug.constants.entry(name).or_insert(Some(value));
                        if *known != Some(value) {
                            *known = None;
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// The name of an entry, or of the one that declares it.
    fn declared_name(&self, unit: &Unit<Slice<'a>>, entry: &Entry<'a>) -> Option<String> {
        let declared = || {
            let of = |attribute| self.referred(unit, entry, attribute);
            unit.entry(of(gimli::DW_AT_specification).or_else(|| of(gimli::DW_AT_abstract_origin))?).ok()
        };
        self.name(unit, entry).or_else(|| self.name(unit, &declared()?))
    }

    fn name(&self, unit: &Unit<Slice<'a>>, entry: &Entry<'a>) -> Option<String> {
        let value = entry.attr_value(gimli::DW_AT_name)?;
        Some(self.dwarf.attr_string(unit, value).ok()?.to_string_lossy().into_owned())
    }

    /// The entry that an attribute refers to.
    fn referred(&self, unit: &Unit<Slice<'a>>, entry: &Entry<'a>, attribute: gimli::DwAt) -> Option<UnitOffset> {
        match entry.attr_value(attribute)? {
            AttributeValue::UnitRef(offset) => Some(offset),
            AttributeValue::DebugInfoRef(offset) => offset.to_unit_offset(unit),
            _ => None,
        }
    }

    /// The address, the name and the type of a variable with a fixed address.
    fn located(&self, unit: &Unit<Slice<'a>>, entry: &Entry<'a>) -> Option<(u16, String, UnitOffset)> {
        let AttributeValue::Exprloc(expression) = entry.attr_value(gimli::DW_AT_location)? else { return None };
        let mut reader = expression.0;
        if reader.read_u8().ok()? != gimli::DW_OP_addr.0 {
            return None;
        }
        let addr = reader.read_address(unit.encoding().address_size).ok()?;
        if !(DATA + 0x60..EEPROM).contains(&addr) || !reader.is_empty() {
            return None;
        }
        let of = |attribute| self.referred(unit, entry, attribute);
        // A declaration may know less of the type than the definition: the length of an array.
        let ty = of(gimli::DW_AT_type).or_else(|| {
            let declared = unit.entry(of(gimli::DW_AT_specification).or_else(|| of(gimli::DW_AT_abstract_origin))?).ok()?;
            self.referred(unit, &declared, gimli::DW_AT_type)
        })?;
        Some(((addr - DATA) as u16, self.declared_name(unit, entry)?, ty))
    }

    fn variable(&mut self, unit: &Unit<Slice<'a>>, variable: &Located, name: &str) {
        let mut parts = Vec::new();
        self.divide(unit, variable.ty, name, variable.addr, 0, &mut parts);
        self.found.append(&mut parts);
        self.fields(unit, variable.ty, name, variable.addr, 0);
    }

    /// The type without its name and qualifiers.
    fn bare(&self, unit: &Unit<Slice<'a>>, ty: UnitOffset, depth: usize) -> Option<(UnitOffset, Entry<'a>)> {
        let entry = unit.entry(ty).ok()?;
        match entry.tag() {
            _ if depth > DEPTH => None,
            tag if is_qualifier(tag) => self.bare(unit, self.referred(unit, &entry, gimli::DW_AT_type)?, depth + 1),
            _ => Some((ty, entry)),
        }
    }

    /// The size of a type in bytes, as the debugging information states it.
    fn width(&self, unit: &Unit<Slice<'a>>, ty: UnitOffset, depth: usize) -> Option<u64> {
        self.bare(unit, ty, depth)?.1.attr_value(gimli::DW_AT_byte_size)?.udata_value()
    }

    /// Finds the bit-fields of a structure and of the structures in it.
    fn fields(&mut self, unit: &Unit<Slice<'a>>, ty: UnitOffset, name: &str, addr: u16, depth: usize) {
        let Some((ty, entry)) = self.bare(unit, ty, depth) else { return };
        if !is_structure(entry.tag()) || self.debug.fields.len() >= PARTS {
            return;
        }
        let mut members = Vec::new();
        self.children(unit, ty, |child| {
            let at = self.offset(child).and_then(|offset| u16::try_from(offset).ok()?.checked_add(addr));
            if let (Some(member), Some(at), Some(ty)) = (self.name(unit, child), at, self.referred(unit, child, gimli::DW_AT_type)) {
                let is_field = child.attr_value(gimli::DW_AT_bit_size).is_some();
                members.push((format!("{name}.{member}"), at, ty, is_field.then(|| bit_field(child, self.width(unit, ty, depth)))));
            }
        });
        for (name, at, ty, bits) in members {
            let Some(bits) = bits else {
                self.fields(unit, ty, &name, at, depth + 1);
                continue;
            };
            let encoding = self.bare(unit, ty, depth).and_then(|(_, entry)| entry.attr_value(gimli::DW_AT_encoding));
            let Some((low, size)) = bits else { continue };
            let (Ok(byte), Ok(size)) = (u16::try_from(low / 8), u8::try_from(size)) else { continue };
            let Some(addr) = at.checked_add(byte).filter(|_| (1..=32).contains(&size)) else { continue };
            let signed = matches!(encoding, Some(AttributeValue::Encoding(gimli::DW_ATE_signed | gimli::DW_ATE_signed_char)));
            self.debug.fields.insert(name, Field { addr, bit: (low % 8) as u8, size, signed });
        }
    }

    /// The offset of a member in its structure.
    fn offset(&self, member: &Entry<'a>) -> Option<u32> {
        let offset = match member.attr_value(gimli::DW_AT_data_member_location) {
            Some(AttributeValue::Exprloc(expression)) => constant(expression.0),
            Some(value) => value.udata_value(),
            None => Some(0),
        };
        offset.and_then(|offset| u32::try_from(offset).ok())
    }

    /// Divides a variable of a type into scalars and arrays.
    fn divide(&self, unit: &Unit<Slice<'a>>, ty: UnitOffset, name: &str, addr: u16, depth: usize, parts: &mut Vec<Part>) {
        let Some(shape) = self.shape(unit, ty, depth) else { return };
        if parts.len() >= PARTS {
            return;
        }
        let mut add = |scalar, dims: Vec<u32>, whole| {
            let count = (!dims.is_empty()).then(|| dims.iter().product());
            parts.push(Part { name: name.to_owned(), addr, scalar, count, dims, whole });
        };
        match shape {
            Shape::Scalar(scalar) => add(scalar, Vec::new(), 1),
            Shape::Wide(size) => add(BYTE, vec![size], size as u8),
            Shape::Bytes(size) => add(BYTE, vec![size], 1),
            Shape::Array(element, dims) => {
                let count: u32 = dims.iter().product();
                match self.shape(unit, element, depth + 1) {
                    Some(Shape::Scalar(scalar)) => add(scalar, dims, 1),
                    Some(inner) if count <= 32 => {
                        let size = inner.size();
                        for index in 0..count {
                            let Some(at) = size.checked_mul(index).and_then(|by| u16::try_from(by).ok()?.checked_add(addr)) else { break };
                            self.divide(unit, element, &format!("{name}{}", indices(index, &dims)), at, depth + 1, parts);
                        }
                    }
                    Some(inner) => {
                        let size = inner.size().saturating_mul(count).clamp(1, 0xffff);
                        let whole = if let Shape::Wide(size) = inner { size as u8 } else { 1 };
                        parts.push(Part { name: name.to_owned(), addr, scalar: BYTE, count: Some(size), dims: Vec::new(), whole });
                    }
                    None => {}
                }
            }
            Shape::Struct(size, members) => {
                let whole: Vec<&Member> = members.iter().filter(|member| member.bits.is_none()).collect();
                let separate = whole.windows(2).all(|pair| pair[0].offset < pair[1].offset);
                if !separate || members.is_empty() {
                    add(BYTE, vec![size.max(1)], 1);
                    return;
                }
                let mut at = 0;
                for member in whole {
                    self.bits(&members, at..member.offset, name, addr, parts);
                    at = member.offset.saturating_add(self.size(unit, member.ty, depth + 1));
                    let Some(place) = u16::try_from(member.offset).ok().and_then(|offset| addr.checked_add(offset)) else { continue };
                    self.divide(unit, member.ty, &format!("{name}.{}", member.name), place, depth + 1, parts);
                }
                self.bits(&members, at..size, name, addr, parts);
            }
        }
    }

    /// The bytes of a structure in which only bit-fields lie. Their name lists the fields.
    fn bits(&self, members: &[Member], bytes: std::ops::Range<u32>, name: &str, addr: u16, parts: &mut Vec<Part>) {
        let inside = |member: &&Member| member.bits.is_some_and(|byte| bytes.contains(&byte));
        let fields: Vec<&str> = members.iter().filter(inside).map(|member| member.name.as_str()).collect();
        let at = u16::try_from(bytes.start).ok().and_then(|offset| addr.checked_add(offset));
        if let Some(addr) = at.filter(|_| !fields.is_empty()) {
            let count = Some(bytes.end - bytes.start).filter(|count| *count > 1);
            let dims = count.into_iter().collect();
            parts.push(Part { name: format!("{name}.({})", fields.join(", ")), addr, scalar: BYTE, count, dims, whole: 1 });
        }
    }

    /// The size of a type in bytes.
    fn size(&self, unit: &Unit<Slice<'a>>, ty: UnitOffset, depth: usize) -> u32 {
        match self.shape(unit, ty, depth) {
            Some(Shape::Array(element, dims)) => self.size(unit, element, depth + 1).saturating_mul(dims.iter().product()),
            Some(shape) => shape.size(),
            None => 0,
        }
    }

    fn shape(&self, unit: &Unit<Slice<'a>>, ty: UnitOffset, depth: usize) -> Option<Shape> {
        if depth > DEPTH {
            return None;
        }
        let entry = unit.entry(ty).ok()?;
        let size = entry.attr_value(gimli::DW_AT_byte_size).and_then(|v| v.udata_value()).and_then(|size| u32::try_from(size).ok());
        match entry.tag() {
            gimli::DW_TAG_base_type => {
                let encoding = match entry.attr_value(gimli::DW_AT_encoding)? {
                    AttributeValue::Encoding(encoding) => encoding,
                    _ => return None,
                };
                let signed = matches!(encoding, gimli::DW_ATE_signed | gimli::DW_ATE_signed_char);
                let (boolean, float) = (encoding == gimli::DW_ATE_boolean, encoding == gimli::DW_ATE_float);
                match size? {
                    4 if float => Some(Shape::Scalar(Scalar { float, ..Scalar::unsigned(4) })),
                    size @ (1 | 2 | 4) if !float => Some(Shape::Scalar(Scalar { signed, boolean, ..Scalar::unsigned(size as u8) })),
                    size @ (3 | 8) => Some(Shape::Wide(size)),
                    size => Some(Shape::Bytes(size.clamp(1, 0xffff))),
                }
            }
            gimli::DW_TAG_enumeration_type => match size? {
                size @ (1 | 2 | 4) => {
                    let mut signed = false;
                    self.children(unit, ty, |child| signed |= enumerated(child).is_some_and(|value| value < 0));
                    Some(Shape::Scalar(Scalar { signed, ..Scalar::unsigned(size as u8) }))
                }
                size => Some(Shape::Bytes(size.clamp(1, 0xffff))),
            },
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => Some(Shape::Scalar(Scalar::unsigned(2))),
            tag if is_qualifier(tag) => self.shape(unit, self.referred(unit, &entry, gimli::DW_AT_type)?, depth + 1),
            gimli::DW_TAG_array_type => {
                let element = self.referred(unit, &entry, gimli::DW_AT_type)?;
                let mut dims = Vec::new();
                self.children(unit, ty, |child| {
                    if child.tag() == gimli::DW_TAG_subrange_type && dims.len() < DEPTH {
                        let number = |attribute| child.attr_value(attribute).and_then(|v| v.udata_value());
                        let length = number(gimli::DW_AT_count).or_else(|| number(gimli::DW_AT_upper_bound)?.checked_add(1));
                        dims.push(length.and_then(|n| u32::try_from(n).ok()).unwrap_or(1));
                    }
                });
                // The elements of an array of arrays lie one after the other, whether the inner
                // array has a name of its own or not.
                let mut element = element;
                if let Some((inner, entry)) = self.bare(unit, element, depth)
                    && entry.tag() == gimli::DW_TAG_array_type
                {
                    let Some(Shape::Array(innermost, more)) = self.shape(unit, inner, depth + 1) else { return None };
                    element = innermost;
                    dims.extend(more);
                }
                let count = dims.iter().try_fold(1_u32, |all, dim| all.checked_mul(*dim));
                let fits = !dims.is_empty() && count.is_some_and(|count| (1..0x1_0000).contains(&count));
                fits.then_some(Shape::Array(element, dims))
            }
            tag if is_structure(tag) => {
                let mut members = Vec::new();
                self.children(unit, ty, |child| {
                    if child.tag() == gimli::DW_TAG_member
                        && let (Some(name), Some(offset), Some(ty)) =
                            (self.name(unit, child), self.offset(child), self.referred(unit, child, gimli::DW_AT_type))
                    {
                        let is_field = child.attr_value(gimli::DW_AT_bit_size).is_some();
                        let low = bit_field(child, self.width(unit, ty, depth)).map_or(0, |(low, _)| u32::try_from(low / 8).unwrap_or(0));
                        members.push(Member { name, offset, ty, bits: is_field.then(|| offset.saturating_add(low)) });
                    }
                });
                Some(Shape::Struct(size?, members))
            }
            gimli::DW_TAG_union_type => Some(Shape::Bytes(size?.clamp(1, 0xffff))),
            _ => None,
        }
    }

    fn children(&self, unit: &Unit<Slice<'a>>, of: UnitOffset, mut each: impl FnMut(&Entry<'a>)) {
        let Ok(mut tree) = unit.entries_tree(Some(of)) else { return };
        let Ok(root) = tree.root() else { return };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            each(child.entry());
        }
    }
}

/// Whether a type is another one with a name or a qualifier.
fn is_qualifier(tag: gimli::DwTag) -> bool {
    let known = [
        gimli::DW_TAG_typedef,
        gimli::DW_TAG_volatile_type,
        gimli::DW_TAG_const_type,
        gimli::DW_TAG_restrict_type,
        gimli::DW_TAG_atomic_type,
    ];
    known.contains(&tag)
}

/// Whether a type is a structure or a class.
fn is_structure(tag: gimli::DwTag) -> bool {
    tag == gimli::DW_TAG_structure_type || tag == gimli::DW_TAG_class_type
}

/// The value of a constant of an enumeration. Numbers of a fixed length have no sign here:
/// compilers write negative ones with a form of their own.
fn enumerated(entry: &Entry<'_>) -> Option<i64> {
    let value = entry.attr_value(gimli::DW_AT_const_value)?;
    value.udata_value().and_then(|value| i64::try_from(value).ok()).or_else(|| value.sdata_value())
}

/// The name of the file of a unit, without folders, in characters that conditions can have.
fn file_of(unit: &Unit<Slice<'_>>) -> String {
    let name = unit.name.map_or_else(|| "?".into(), |name| name.to_string_lossy());
    let name = name.rsplit(['/', '\\']).next().unwrap_or("");
    let fit = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '_' };
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    (if begins { "" } else { "_" }).chars().chain(name.chars().map(fit)).collect()
}

/// The indices of an element of an array with these dimensions.
fn indices(mut element: u32, dims: &[u32]) -> String {
    let mut text = String::new();
    for dim in dims.iter().rev() {
        text = format!("[{}]{text}", element % dim);
        element /= dim;
    }
    text
}

/// The offset of a member in the form of DWARF 2: an expression that adds a constant.
fn constant(mut reader: Slice<'_>) -> Option<u64> {
    (reader.read_u8().ok()? == gimli::DW_OP_plus_uconst.0).then(|| reader.read_uleb128().ok()).flatten()
}

/// A type, as far as its memory layout is concerned.
enum Shape {
    Scalar(Scalar),
    /// A number of 3 or 8 bytes.
    Wide(u32),
    /// Anything else of this size.
    Bytes(u32),
    /// The type of the elements, which is no array, and the lengths of the dimensions.
    Array(UnitOffset, Vec<u32>),
    /// Size and members.
    Struct(u32, Vec<Member>),
}

/// A member of a structure.
struct Member {
    name: String,
    offset: u32,
    ty: UnitOffset,
    /// The byte of the structure that has the lowest bit, if it is a bit-field.
    bits: Option<u32>,
}

/// The lowest bit of a bit-field, from the place of the member on, and the number of its bits.
/// `width` is the size of its type. DWARF 2 counts from the highest bit of the type.
fn bit_field(member: &Entry<'_>, width: Option<u64>) -> Option<(u64, u64)> {
    let number = |attribute| member.attr_value(attribute).and_then(|value| value.udata_value());
    let size = number(gimli::DW_AT_bit_size)?;
    let storage = number(gimli::DW_AT_byte_size).or(width)?;
    let low = storage.checked_mul(8)?.checked_sub(number(gimli::DW_AT_bit_offset)?)?.checked_sub(size)?;
    Some((low, size))
}

impl Shape {
    fn size(&self) -> u32 {
        match self {
            Shape::Scalar(scalar) => scalar.size.into(),
            Shape::Bytes(size) | Shape::Wide(size) | Shape::Struct(size, _) => *size,
            // The size is only needed for elements of arrays, which are no arrays.
            Shape::Array(..) => 1,
        }
    }
}
