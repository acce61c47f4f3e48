//! Types of C, and how their variables are divided into leaves.
//!
//! Sizes are those of the usual 64-bit machines. A value of 64 bits has two leaves, one for each
//! half, and so has a `double`, by its bits.

use super::{Lower, Stop};
use crate::model::Scalar;
use lang_c::ast::{
    ArraySize, DeclarationSpecifier, Declarator, DeclaratorKind, DerivedDeclarator, SpecifierQualifier, StructDeclaration, StructKind,
    TypeName, TypeSpecifier,
};
use lang_c::span::Node;
use std::rc::Rc;

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::resolve) struct Int {
    pub bits: u8,
    pub signed: bool,
    /// `_Bool`: 0 or 1, by comparison with 0.
    pub truth: bool,
}

impl Int {
    pub const fn new(bits: u8, signed: bool) -> Int {
        Int { bits, signed, truth: false }
    }

    /// The variable that holds it.
    pub fn scalar(self) -> Scalar {
        match (self.bits, self.signed) {
            (1, false) => Scalar::Bit,
            (8, false) => Scalar::Byte,
            (1..=16, true) => Scalar::Short,
            (17.., true) | (32.., false) => Scalar::Int,
            (bits, false) => Scalar::Unsigned(bits),
            (0, true) => Scalar::Int,
        }
    }

    /// The type of its value in an expression.
    pub(super) fn number(self) -> Number {
        match (self.bits, self.signed) {
            (64, true) => Number::I64,
            (64, false) => Number::U64,
            (32, false) => Number::U32,
            _ => Number::I32,
        }
    }
}

/// The type of a value in an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Number {
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Number {
    /// A variable that holds such a value.
    pub fn variable(self) -> CType {
        match self {
            Number::I32 => CType::Int(Int::new(32, true)),
            Number::U32 => CType::Int(Int::new(32, false)),
            Number::I64 => CType::Int(Int::new(64, true)),
            Number::U64 => CType::Int(Int::new(64, false)),
            Number::F32 => CType::Float(32),
            Number::F64 => CType::Float(64),
        }
    }
}

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::resolve) enum CType {
    Void,
    Int(Int),
    /// A number with a point, by its bits.
    Float(u8),
    Struct(usize),
    Array(Rc<CType>, u32),
    Pointer(Rc<CType>),
    /// A function with this result; only pointers to it are values.
    Function(Rc<CType>),
}

impl CType {
    /// The type of its value in an expression.
    pub(super) fn number(&self) -> Option<Number> {
        match self {
            CType::Int(int) => Some(int.number()),
            CType::Float(32) => Some(Number::F32),
            CType::Float(_) => Some(Number::F64),
            CType::Pointer(_) => Some(Number::U32),
            _ => None,
        }
    }

    /// Whether its value has two halves, each in a leaf of its own.
    pub(super) fn is_wide(&self) -> bool {
        matches!(self, CType::Int(Int { bits: 33.., .. }) | CType::Float(64))
    }
}

/// A structure with its fields in order.
#[derive(Clone, Debug)]
pub(in crate::resolve) struct Struct {
    pub fields: Vec<(String, CType)>,
    /// All fields begin at the same byte.
    pub union: bool,
}

/// The type of a variable, a field or a parameter, and its name.
pub(super) type Named = (Option<String>, CType);

impl Lower<'_, '_> {
    /// The number of leaves of a variable.
    pub(super) fn leaves(&self, ty: &CType) -> usize {
        match ty {
            CType::Void | CType::Function(_) | CType::Int(_) | CType::Float(_) | CType::Pointer(_) => 1 + usize::from(ty.is_wide()),
            CType::Array(element, _) => self.leaves(element),
            CType::Struct(index) if self.r.c.structs[*index].union => 1,
            CType::Struct(index) => self.r.c.structs[*index].fields.iter().map(|(_, ty)| self.leaves(ty)).sum(),
        }
    }

    /// Names, types and lengths of the leaves.
    pub(super) fn expand(&self, name: &str, ty: &CType, dimensions: &[u32], out: &mut Vec<(String, Scalar, Vec<u32>)>) {
        match ty {
            CType::Int(_) | CType::Float(_) if ty.is_wide() => {
                out.push((name.to_owned(), Scalar::Int, dimensions.to_vec()));
                out.push((format!("{name}'high"), Scalar::Int, dimensions.to_vec()));
            }
            CType::Float(_) => out.push((name.to_owned(), Scalar::Int, dimensions.to_vec())),
            CType::Int(int) => out.push((name.to_owned(), int.scalar(), dimensions.to_vec())),
            CType::Pointer(_) => out.push((name.to_owned(), Scalar::Int, dimensions.to_vec())),
            CType::Void | CType::Function(_) => {}
            CType::Array(element, length) => {
                let mut dimensions = dimensions.to_vec();
                dimensions.push(*length);
                self.expand(name, element, &dimensions, out);
            }
            CType::Struct(index) if self.r.c.structs[*index].union => {
                let mut dimensions = dimensions.to_vec();
                dimensions.push(self.size(ty).0 as u32);
                out.push((name.to_owned(), Scalar::Byte, dimensions));
            }
            CType::Struct(index) => {
                for (field, ty) in &self.r.c.structs[*index].fields {
                    self.expand(&format!("{name}.{field}"), ty, dimensions, out);
                }
            }
        }
    }

    /// Size and alignment in bytes.
    pub(super) fn size(&self, ty: &CType) -> (u64, u64) {
        match ty {
            CType::Void | CType::Function(_) => (1, 1),
            CType::Int(int) if int.truth => (1, 1),
            CType::Int(int) => (u64::from(int.bits).div_ceil(8), u64::from(int.bits).div_ceil(8)),
            CType::Float(bits) => (u64::from(*bits) / 8, u64::from(*bits) / 8),
            CType::Pointer(_) => (8, 8),
            CType::Array(element, length) => {
                let (size, align) = self.size(element);
                (size * u64::from(*length), align)
            }
            CType::Struct(index) => {
                let (mut size, mut align) = (0u64, 1u64);
                let Struct { fields, union } = &self.r.c.structs[*index];
                for (_, ty) in fields {
                    let (own, at) = self.size(ty);
                    size = if *union { size.max(own) } else { size.next_multiple_of(at.max(1)) + own };
                    align = align.max(at);
                }
                (size.next_multiple_of(align), align)
            }
        }
    }

    /// The field with a name: its number, after those of the unnamed structures around it.
    pub(super) fn field_path(&self, structure: usize, name: &str) -> Option<Vec<usize>> {
        let fields = &self.r.c.structs[structure].fields;
        if let Some(number) = fields.iter().position(|(field, _)| field == name) {
            return Some(vec![number]);
        }
        fields.iter().enumerate().find_map(|(number, field)| match field {
            (unnamed, CType::Struct(inner)) if unnamed.is_empty() && *inner != structure => {
                let mut path = self.field_path(*inner, name)?;
                path.insert(0, number);
                Some(path)
            }
            _ => None,
        })
    }

    /// The distance of a field from the beginning of its structure, in bytes.
    pub(super) fn offset(&self, structure: usize, number: usize) -> u64 {
        let mut offset = 0u64;
        if self.r.c.structs[structure].union {
            return offset;
        }
        for (position, (_, ty)) in self.r.c.structs[structure].fields.iter().enumerate() {
            let (size, align) = self.size(ty);
            offset = offset.next_multiple_of(align.max(1));
            if position == number {
                break;
            }
            offset += size;
        }
        offset
    }

    /// The type that specifiers name; true if they begin a `typedef`.
    pub(super) fn specified(&mut self, specifiers: &[Node<DeclarationSpecifier>]) -> Result<(CType, bool), Stop> {
        let typedef = specifiers.iter().any(|specifier| {
            matches!(&specifier.node, DeclarationSpecifier::StorageClass(class) if class.node == lang_c::ast::StorageClassSpecifier::Typedef)
        });
        let types: Vec<&Node<TypeSpecifier>> = specifiers
            .iter()
            .filter_map(|specifier| match &specifier.node {
                DeclarationSpecifier::TypeSpecifier(ty) => Some(ty),
                _ => None,
            })
            .collect();
        Ok((self.basic(&types)?, typedef))
    }

    pub(super) fn qualified(&mut self, specifiers: &[Node<SpecifierQualifier>]) -> Result<CType, Stop> {
        let types: Vec<&Node<TypeSpecifier>> = specifiers
            .iter()
            .filter_map(|specifier| match &specifier.node {
                SpecifierQualifier::TypeSpecifier(ty) => Some(ty),
                _ => None,
            })
            .collect();
        self.basic(&types)
    }

    /// A type without a variable, as in a cast.
    pub(super) fn type_name(&mut self, name: &Node<TypeName>) -> Result<CType, Stop> {
        let ty = self.qualified(&name.node.specifiers)?;
        match &name.node.declarator {
            Some(declarator) => Ok(self.declared(ty, declarator)?.1),
            None => Ok(ty),
        }
    }

    fn basic(&mut self, specifiers: &[&Node<TypeSpecifier>]) -> Result<CType, Stop> {
        let (mut bits, mut signed, mut longs, mut seen) = (32u8, None, 0, false);
        for specifier in specifiers {
            seen = true;
            match &specifier.node {
                TypeSpecifier::Void => return Ok(CType::Void),
                TypeSpecifier::Bool => return Ok(CType::Int(Int { bits: 1, signed: false, truth: true })),
                TypeSpecifier::Char => bits = 8,
                TypeSpecifier::Short => bits = 16,
                TypeSpecifier::Int => {}
                TypeSpecifier::Float => return Ok(CType::Float(32)),
                TypeSpecifier::Double if specifiers.len() == 1 => return Ok(CType::Float(64)),
                TypeSpecifier::Long => longs += 1,
                TypeSpecifier::Signed => signed = Some(true),
                TypeSpecifier::Unsigned => signed = Some(false),
                TypeSpecifier::TypedefName(name) => {
                    let known = self.r.c.typedefs.get(&name.node.name).cloned();
                    return known.ok_or_else(|| self.wrong(name.span, format!("the type `{}` is not known", name.node.name)));
                }
                TypeSpecifier::Struct(structure) => return self.structure(structure),
                TypeSpecifier::Enum(enumeration) => {
                    let mut next = 0i32;
                    for enumerator in &enumeration.node.enumerators {
                        if let Some(expression) = &enumerator.node.expression {
                            next = self.constant(expression)?;
                        }
                        self.r.c.constants.insert(enumerator.node.identifier.node.name.clone(), next);
                        next = next.wrapping_add(1);
                    }
                    return Ok(CType::Int(Int::new(32, false)));
                }
                _ => return Err(self.wrong(specifier.span, "this type cannot be part of a state")),
            }
        }
        if !seen {
            let message = "a type is missing";
            return Err(self.wrong(specifiers.first().map_or(lang_c::span::Span::span(0, 0), |s| s.span), message));
        }
        if longs > 0 {
            bits = 64;
        }
        Ok(CType::Int(Int::new(bits, signed.unwrap_or(true))))
    }

    fn structure(&mut self, structure: &Node<lang_c::ast::StructType>) -> Result<CType, Stop> {
        let tag = structure.node.identifier.as_ref().map(|tag| tag.node.name.clone());
        let union = structure.node.kind.node == StructKind::Union;
        let Some(declarations) = &structure.node.declarations else {
            return Ok(CType::Struct(self.tagged(tag)));
        };
        let index = self.tagged(tag);
        if !self.r.c.structs[index].fields.is_empty() {
            return Err(self.wrong(structure.span, "this structure is defined twice"));
        }
        let mut fields: Vec<(String, CType)> = Vec::new();
        for declaration in declarations {
            let StructDeclaration::Field(field) = &declaration.node else { continue };
            let base = self.qualified(&field.node.specifiers)?;
            if let (CType::Struct(_), []) = (&base, field.node.declarators.as_slice()) {
                self.storable(&base, declaration.span)?;
                fields.push((String::new(), base.clone()));
            }
            for declarator in &field.node.declarators {
                let Some(inner) = &declarator.node.declarator else { continue };
                let (name, mut ty) = self.declared(base.clone(), inner)?;
                if let Some(width) = &declarator.node.bit_width {
                    let bits = self.constant(width)?;
                    ty = match ty {
                        CType::Int(int) if (1..=31).contains(&bits) => CType::Int(Int::new(bits as u8, int.signed)),
                        _ => return Err(self.wrong(width.span, "a bit-field has 1 to 31 bits")),
                    };
                }
                self.storable(&ty, declarator.span)?;
                fields.push((name.unwrap_or_default(), ty));
            }
        }
        self.r.c.structs[index] = Struct { fields, union };
        Ok(CType::Struct(index))
    }

    /// The structure with a tag. It has no fields as long as it is not defined.
    fn tagged(&mut self, tag: Option<String>) -> usize {
        if let Some(known) = tag.as_ref().and_then(|tag| self.r.c.tags.get(tag)) {
            return *known;
        }
        if let Some(user) = tag.as_ref().and_then(|tag| self.r.type_names.get(tag.as_str())).copied()
            && let CType::Struct(index) = self.promela_type(super::Ty::User(user), false)
        {
            return index;
        }
        self.r.c.structs.push(Struct { fields: Vec::new(), union: false });
        let index = self.r.c.structs.len() - 1;
        self.r.c.tags.extend(tag.map(|tag| (tag, index)));
        index
    }

    /// Whether a variable of this type can be part of a state.
    pub(super) fn storable(&mut self, ty: &CType, at: lang_c::span::Span) -> Result<(), Stop> {
        match ty {
            CType::Struct(index) if self.r.c.structs[*index].fields.is_empty() => Err(self.wrong(at, "this structure is not defined")),
            CType::Int(_) | CType::Float(_) | CType::Struct(_) | CType::Pointer(_) => Ok(()),
            CType::Array(element, _) => self.storable(&element.clone(), at),
            CType::Void | CType::Function(_) => Err(self.wrong(at, "a variable of type `void`")),
        }
    }

    /// The name and the type that a declarator makes of a base type.
    pub(super) fn declared(&mut self, base: CType, declarator: &Node<Declarator>) -> Result<Named, Stop> {
        let mut ty = base;
        let derived = &declarator.node.derived;
        // Pointers bind to the base; arrays follow from the last to the first.
        for _ in derived.iter().filter(|part| matches!(part.node, DerivedDeclarator::Pointer(_))) {
            ty = CType::Pointer(Rc::new(ty));
        }
        for part in derived.iter().rev() {
            match &part.node {
                DerivedDeclarator::Pointer(_) => {}
                DerivedDeclarator::Array(array) => {
                    let length = match &array.node.size {
                        ArraySize::VariableExpression(size) | ArraySize::StaticExpression(size) => self.constant(size)?,
                        ArraySize::Unknown | ArraySize::VariableUnknown => 0,
                    };
                    if !(0..=1 << 20).contains(&length) {
                        return Err(self.wrong(part.span, format!("an array cannot have {length} elements")));
                    }
                    ty = CType::Array(Rc::new(ty), length as u32);
                }
                DerivedDeclarator::Function(_) | DerivedDeclarator::KRFunction(_) => {
                    if let DeclaratorKind::Declarator(_) = declarator.node.kind.node {
                        ty = CType::Function(Rc::new(ty));
                    }
                }
                DerivedDeclarator::Block(_) => return Err(self.wrong(part.span, "blocks are not C")),
            }
        }
        match &declarator.node.kind.node {
            DeclaratorKind::Abstract => Ok((None, ty)),
            DeclaratorKind::Identifier(name) => Ok((Some(name.node.name.clone()), ty)),
            DeclaratorKind::Declarator(inner) => self.declared(ty, inner),
        }
    }
}
