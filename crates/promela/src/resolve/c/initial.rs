//! Initial values of variables of C.

use super::types::CType;
use super::{Lower, Object, Stop};
use crate::model::{Ex, Place};
use lang_c::ast as c;
use lang_c::span::Node as CNode;

impl Lower<'_, '_> {
    /// Constants as initial values of a global variable.
    pub(super) fn initial_values(&mut self, object: &Object, initializer: &c::Initializer, at: lang_c::span::Span) -> Result<(), Stop> {
        match (initializer, &object.ty) {
            (c::Initializer::Expression(expression), CType::Array(element, length))
                if matches!(expression.node, c::Expression::StringLiteral(_)) =>
            {
                let c::Expression::StringLiteral(text) = &expression.node else { return Err(Stop) };
                let bytes = super::strings::bytes(&text.node);
                if !matches!(**element, CType::Int(int) if int.bits == 8) || bytes.len() > *length as usize + 1 {
                    return Err(self.wrong(at, "this text does not fit the array"));
                }
                if object.within.is_some() {
                    for (position, &byte) in (0..*length).zip(&bytes) {
                        self.initial_view(&self.element(object, Ex::Const(position as i32)), i64::from(byte as i8), at)?;
                    }
                    return Ok(());
                }
                let leaf = &mut self.r.table(object.scope)[object.leaf];
                if object.indices.is_empty() {
                    leaf.initial = bytes.iter().map(|&byte| leaf.ty.truncate(i32::from(byte as i8))).collect();
                    let length = leaf.length();
                    leaf.initial.resize(length, 0);
                    return Ok(());
                }
                let places: Vec<Place> = (0..*length)
                    .map(|position| self.scalar(&self.element(object, Ex::Const(position as i32)), at))
                    .collect::<Result<_, _>>()?;
                places.iter().zip(bytes).try_for_each(|(place, byte)| self.initial_value(place, i32::from(byte as i8)))
            }
            (c::Initializer::Expression(expression), ty @ (CType::Int(_) | CType::Float(_) | CType::Pointer(_))) => {
                let value = match ty {
                    CType::Pointer(_) => i64::from(self.constant_address(expression)?),
                    _ => self.constant_of(expression, &ty.clone())?,
                };
                if object.within.is_some() {
                    return self.initial_view(object, value, at);
                }
                let place = self.scalar(object, at)?;
                if object.ty.is_wide() {
                    self.initial_value(&Place { leaf: place.leaf + 1, ..place.clone() }, (value >> 32) as i32)?;
                }
                self.initial_value(&place, value as i32)
            }
            (c::Initializer::List(items), CType::Int(_) | CType::Float(_) | CType::Pointer(_)) => match items.as_slice() {
                [item] => self.initial_values(object, &item.node.initializer.node, at),
                _ => Err(self.wrong(at, "this initial value does not fit the type")),
            },
            (c::Initializer::List(items), CType::Array(..) | CType::Struct(_)) => {
                for (position, part, item) in self.initialised_parts(object, items, at)? {
                    _ = position;
                    self.initial_values(&part, &item.node, item.span)?;
                }
                Ok(())
            }
            _ => Err(self.wrong(at, "this initial value does not fit the type")),
        }
    }

    /// Stores a constant as the initial value of one element.
    pub(super) fn initial_value(&mut self, place: &Place, value: i32) -> Result<(), Stop> {
        let leaf = &mut self.r.table(place.scope)[place.leaf];
        let mut flat = 0usize;
        for (index, &length) in place.indices.iter().zip(&leaf.dimensions) {
            let Ex::Const(index) = index else { return Err(Stop) };
            flat = flat * length as usize + *index as usize;
        }
        let length = leaf.length();
        leaf.initial.resize(length, 0);
        if let Some(slot) = leaf.initial.get_mut(flat) {
            *slot = leaf.ty.truncate(value);
        }
        Ok(())
    }

    /// The parts of an object that a list of initial values names, one by one.
    #[allow(clippy::type_complexity)]
    pub(super) fn initialised_parts(
        &mut self,
        object: &Object,
        items: &[CNode<c::InitializerListItem>],
        at: lang_c::span::Span,
    ) -> Result<Vec<(usize, Object, CNode<c::Initializer>)>, Stop> {
        let mut parts = Vec::new();
        let mut next = 0usize;
        for item in items {
            match item.node.designation.as_slice() {
                [] => {}
                [designator] => match &designator.node {
                    c::Designator::Index(index) => next = self.constant(index)?.max(0) as usize,
                    c::Designator::Member(name) => {
                        let CType::Struct(index) = &object.ty else { return Err(self.wrong(name.span, "this is not a structure")) };
                        let found = self.r.c.structs[*index].fields.iter().position(|(field, _)| *field == name.node.name);
                        next = found.ok_or_else(|| self.wrong(name.span, "there is no such field"))?;
                    }
                    c::Designator::Range(_) => return Err(self.wrong(designator.span, "a range of initial values is not C")),
                },
                _ => return Err(self.wrong(item.span, "a designator of one part is expected")),
            }
            let part = match &object.ty {
                CType::Array(_, length) if next < *length as usize => self.element(object, Ex::Const(next as i32)),
                CType::Struct(index) if next < self.r.c.structs[*index].fields.len() => self.field_at(object, *index, next),
                _ => return Err(self.wrong(at, "there are more initial values than parts")),
            };
            parts.push((next, part, (*item.node.initializer).clone()));
            next += 1;
        }
        Ok(parts)
    }
}
