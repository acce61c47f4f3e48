//! Variables of C that are kept as bytes: unions, memory from `malloc`, and numbers whose bytes are
//! taken apart by a pointer to characters.
//!
//! A union is one array of bytes, and a member of it is a view: a type, and the distance of its
//! first byte. Reading a view puts the number together from its bytes, the lowest first, as on the
//! usual machines; storing takes it apart.

use super::expression::{Value, binary, int, is_const, upper};
use super::types::{CType, Int};
use super::{Lower, Object, Stop};
use crate::ast::{Binary, Unary};
use crate::model::{Ex, Place, Scalar};
use lang_c::span::Span as CSpan;
use std::rc::Rc;

/// One byte of a variable.
const BYTE: CType = CType::Int(Int::new(8, false));

/// What an address refers to.
pub(super) enum Hit {
    Place(Place),
    /// A part of an array of bytes.
    View(Object),
    /// One byte of a number: the number, and how many bytes are below that one.
    Part(Place, Ex),
    /// A byte of a structure that no field has.
    Padding,
}

fn shifted(op: Binary, ex: Ex, by: i32) -> Ex {
    if by == 0 { ex } else { binary(op, ex, Ex::Const(by)) }
}

fn low_byte(ex: Ex) -> Ex {
    match ex {
        Ex::Const(n) => Ex::Const(n & 255),
        ex => binary(Binary::BitAnd, ex, Ex::Const(255)),
    }
}

/// The low bits of a number as a value of its type.
fn extended(ex: Ex, bits: u8, signed: bool) -> Ex {
    match (bits, signed) {
        (8 | 16, true) => {
            let by = Ex::Const(32 - i32::from(bits));
            binary(Binary::Shr, binary(Binary::Shl, ex, by.clone()), by)
        }
        _ => ex,
    }
}

impl Lower<'_, '_> {
    pub(super) fn is_union(&self, ty: &CType) -> bool {
        matches!(ty, CType::Struct(index) if self.r.c.structs[*index].union)
    }

    /// The bytes of a union, as an array.
    pub(super) fn bytes_of(&self, object: &Object) -> Object {
        let length = self.size(&object.ty).0 as u32;
        let within = if object.at.is_some() { None } else { Some(object.within.clone().unwrap_or(Ex::Const(0))) };
        Object { ty: CType::Array(Rc::new(BYTE), length), within, ..object.clone() }
    }

    /// The number of bytes of a scalar that can be part of a view.
    fn width(&mut self, ty: &CType, at: CSpan) -> Result<i32, Stop> {
        match ty {
            CType::Int(int) if int.truth => Ok(1),
            CType::Int(int) if int.bits % 8 != 0 => {
                Err(self.wrong_with(at, "a bit-field in a union is not supported", "use `&` and shifts on a number"))
            }
            CType::Int(_) | CType::Float(_) | CType::Pointer(_) => Ok(self.size(ty).0 as i32),
            _ => Err(self.wrong(at, "an array or a structure is not a number")),
        }
    }

    /// The place of a byte of a view.
    pub(super) fn byte_at(&self, object: &Object, number: i32) -> Place {
        let within = object.within.clone().unwrap_or(Ex::Const(0));
        let mut indices = object.indices.clone();
        indices.push(if number == 0 { within } else { binary(Binary::Add, within, Ex::Const(number)) });
        Place { scope: object.scope, leaf: object.leaf, indices, ty: Scalar::Byte }
    }

    /// The number in a view, and its upper half.
    pub(super) fn load_view(&mut self, object: &Object, at: CSpan) -> Result<(Ex, Option<Ex>), Stop> {
        let width = self.width(&object.ty, at)?;
        let object = self.fixed(object.clone(), at)?;
        let leaf = self.r.table(object.scope)[object.leaf].ty;
        let bytes = |lower: &mut Self, range: std::ops::Range<i32>| {
            range.clone().fold(None, |sum: Option<Ex>, number| {
                let place = Place { ty: leaf, ..lower.byte_at(&object, number) };
                let byte = lower.loaded(place);
                let byte = if leaf == Scalar::Byte { byte } else { low_byte(byte) };
                let byte = shifted(Binary::Shl, byte, 8 * (number - range.start));
                Some(match sum {
                    None => byte,
                    Some(sum) => binary(Binary::BitOr, sum, byte),
                })
            })
        };
        let low = bytes(self, 0..width.min(4)).unwrap_or(Ex::Const(0));
        Ok(match &object.ty {
            CType::Int(int) if int.truth => (binary(Binary::Ne, low, Ex::Const(0)), None),
            CType::Int(int) if int.bits < 32 => (extended(low, int.bits, int.signed), None),
            ty if ty.is_wide() => (low, bytes(self, 4..8)),
            _ => (low, None),
        })
    }

    /// The bytes that a value has in a view, with their places.
    pub(super) fn taken_apart(&mut self, object: &Object, value: &Value, at: CSpan) -> Result<Vec<(Place, Ex)>, Stop> {
        let width = self.width(&object.ty, at)?;
        let leaf = self.r.table(object.scope)[object.leaf].ty;
        let high = match &object.ty {
            CType::Pointer(_) => Ex::Const(0),
            ty if ty.is_wide() => upper(value),
            _ => Ex::Const(0),
        };
        let parts = (0..width).map(|number| {
            let half = if number < 4 { &value.ex } else { &high };
            let byte = low_byte(shifted(Binary::Shr, half.clone(), 8 * (number % 4)));
            let byte = if leaf == Scalar::Byte { byte } else { extended(byte, 8, true) };
            (Place { ty: leaf, ..self.byte_at(object, number) }, byte)
        });
        Ok(parts.collect())
    }

    pub(super) fn store_view(&mut self, object: &Object, value: Value, at: CSpan) -> Result<(), Stop> {
        let object = self.fixed(object.clone(), at)?;
        let high = value.high.clone().map(|high| self.steady(&high, at)).transpose()?;
        let value = Value { ex: self.steady(&value.ex, at)?, high, ..value };
        for (place, byte) in self.taken_apart(&object, &value, at)? {
            self.emit(crate::model::Action::Assign(crate::model::Target::Place(place), byte), at)?;
        }
        Ok(())
    }

    /// One byte of a number that is kept as a whole.
    pub(super) fn part(&mut self, place: Place, of: &CType, position: &Ex, signed: bool) -> Ex {
        let by = binary(Binary::Mul, binary(Binary::BitAnd, position.clone(), Ex::Const(3)), Ex::Const(8));
        let high = Place { leaf: place.leaf + 1, ..place.clone() };
        let low = self.loaded(place);
        let high = match of {
            _ if of.is_wide() => Some(self.loaded(high)),
            CType::Pointer(_) => Some(Ex::Const(0)),
            _ => None,
        };
        let whole = match (high, is_const(position)) {
            (None, _) => low,
            (Some(high), Some(n)) => {
                if n < 4 {
                    low
                } else {
                    high
                }
            }
            (Some(high), None) => {
                let below = binary(Binary::Lt, position.clone(), Ex::Const(4));
                Ex::Conditional(Box::new(below), Box::new(low), Box::new(high))
            }
        };
        extended(low_byte(binary(Binary::Shr, whole, by)), 8, signed)
    }

    /// The assignments that change one byte of a number. A pointer has its number in the lower four
    /// of its eight bytes.
    pub(super) fn part_stored(&mut self, place: Place, of: &CType, position: &Ex, value: &Ex) -> Vec<(Place, Ex)> {
        let by = binary(Binary::Mul, binary(Binary::BitAnd, position.clone(), Ex::Const(3)), Ex::Const(8));
        let changed = |old: Ex| {
            let mask = binary(Binary::Shl, Ex::Const(255), by.clone());
            let kept = binary(Binary::BitAnd, old, super::expression::unary(Unary::Complement, mask));
            binary(Binary::BitOr, kept, binary(Binary::Shl, low_byte(value.clone()), by.clone()))
        };
        let mut made = Vec::new();
        for half in 0..1 + i32::from(of.is_wide()) {
            let place = Place { leaf: place.leaf + half as usize, ..place.clone() };
            let old = self.loaded(place.clone());
            let new = match is_const(position) {
                _ if self.size(of).0 <= 4 => changed(old),
                Some(n) if n / 4 == half => changed(old),
                Some(_) => continue,
                None => {
                    let here = binary(Binary::Eq, binary(Binary::Div, position.clone(), Ex::Const(4)), Ex::Const(half));
                    Ex::Conditional(Box::new(here), Box::new(changed(old.clone())), Box::new(old))
                }
            };
            made.push((place, new));
        }
        made
    }

    /// The initial values of the bytes of a view.
    pub(super) fn initial_view(&mut self, object: &Object, value: i64, at: CSpan) -> Result<(), Stop> {
        let wide = Value { high: Some(Ex::Const((value >> 32) as i32)), ..int(Ex::Const(value as i32)) };
        for (place, byte) in self.taken_apart(object, &wide, at)? {
            self.initial_value(&place, is_const(&byte).unwrap_or(0))?;
        }
        Ok(())
    }
}
