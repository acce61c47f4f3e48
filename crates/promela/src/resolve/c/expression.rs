//! Expressions of C: their values and their effects.

use super::types::{CType, Number};
use super::{Binding, Lower, Object, Stop};
use crate::ast::{Binary, Unary};
use crate::model::{Action, Ex, Node, Place, Stm, Target};
use crate::resolve::constant;
use lang_c::ast::{BinaryOperator, Constant, Expression, IntegerBase, IntegerSize, UnaryOperator};
use lang_c::span::{Node as CNode, Span as CSpan};

/// The most elements that one assignment of a structure copies.
const MAX_COPIED: usize = 4096;

/// The most parts of the value of a variable while a function is evaluated as an expression. A
/// value that is used twice at each turn of a loop doubles.
const MOST_FOLLOWED: usize = 10_000;

/// The value of an expression.
#[derive(Clone, Debug)]
pub(super) struct Value {
    /// The value, or its low 32 bits.
    pub ex: Ex,
    /// The high 32 bits of a value of 64. Without them they repeat the sign of the low ones.
    pub high: Option<Ex>,
    pub number: Number,
}

impl Value {
    /// A value of 32 bits, or one of 64 that is the same with its sign extended.
    pub fn of(ex: Ex, number: Number) -> Value {
        Value { ex, high: None, number }
    }

    /// The parts of its expressions.
    pub fn size(&self) -> usize {
        super::wide::size(&self.ex) + self.high.as_ref().map_or(0, super::wide::size)
    }
}

/// An argument of a function.
#[derive(Clone, Debug)]
pub(super) enum Argument {
    Value(Value),
    Pointer(Object),
    /// A structure.
    Object(Object),
}

pub(super) fn int(ex: Ex) -> Value {
    Value::of(ex, Number::I32)
}

pub(super) fn is_const(ex: &Ex) -> Option<i32> {
    match ex {
        Ex::Const(n) => Some(*n),
        _ => None,
    }
}

pub(super) fn binary(op: Binary, a: Ex, b: Ex) -> Ex {
    if let (Ex::Const(x), Ex::Const(y)) = (&a, &b)
        && let Some(value) = constant::binary(op, *x, *y)
    {
        return Ex::Const(value);
    }
    Ex::Binary(op, Box::new(a), Box::new(b))
}

pub(super) fn unary(op: Unary, a: Ex) -> Ex {
    match a {
        Ex::Const(n) => Ex::Const(constant::unary(op, n)),
        a => Ex::Unary(op, Box::new(a)),
    }
}

/// A number of 64 bits.
pub(super) fn number_of(bits: u64, number: Number) -> Value {
    let (ex, high) = (Ex::Const(bits as u32 as i32), (bits >> 32) as u32 as i32);
    let repeats = matches!(number, Number::I32 | Number::U32 | Number::F32) || high == (bits as u32 as i32) >> 31;
    Value { ex, high: (!repeats || number == Number::F64).then_some(Ex::Const(high)), number }
}

/// The sign of a number of 32 bits in all bits.
pub(super) fn sign(ex: Ex) -> Ex {
    binary(Binary::Shr, ex, Ex::Const(31))
}

/// The high 32 bits of a value.
pub(super) fn upper(value: &Value) -> Ex {
    match (&value.high, value.number) {
        (Some(high), _) => high.clone(),
        (None, Number::U32) => Ex::Const(0),
        (None, _) => sign(value.ex.clone()),
    }
}

pub(super) fn is_truth(ex: &Ex) -> bool {
    match ex {
        Ex::Const(n) => *n == 0 || *n == 1,
        Ex::Unary(op, _) => *op == Unary::Not,
        Ex::Binary(op, ..) => {
            matches!(op, Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::And | Binary::Or)
        }
        _ => false,
    }
}

impl Lower<'_, '_> {
    /// A value that is known when the model is read.
    pub(super) fn constant(&mut self, e: &CNode<Expression>) -> Result<i32, Stop> {
        let pure = std::mem::replace(&mut self.pure, true);
        let value = self.value(e);
        self.pure = pure;
        match value?.ex {
            Ex::Const(n) => Ok(n),
            _ => Err(self.wrong(e.span, "this is not known when the model is read")),
        }
    }

    pub(super) fn load(&mut self, object: &Object, at: CSpan) -> Result<Value, Stop> {
        if let CType::Array(..) = object.ty {
            return Ok(Value::of(self.address_of(object, at)?, Number::U32));
        }
        let Some(number) = object.ty.number() else { return Err(self.wrong(at, "a structure is not a number: a field is missing")) };
        if let Some(address) = object.at.clone() {
            let ty = object.ty.clone();
            let (ex, high) = self.load_at(&address, &ty, at)?;
            return Ok(Value { ex, high, number });
        }
        if object.within.is_some() {
            let (ex, high) = self.load_view(object, at)?;
            return Ok(Value { ex, high, number });
        }
        let place = self.scalar(object, at)?;
        let high = object.ty.is_wide().then(|| self.loaded(Place { leaf: place.leaf + 1, ..place.clone() }));
        Ok(Value { ex: self.loaded(place), high, number })
    }

    pub(super) fn loaded(&mut self, place: Place) -> Ex {
        self.known_value(&place).map_or(Ex::Load(place), Ex::Const)
    }

    pub(super) fn store(&mut self, object: &Object, value: Value, at: CSpan) -> Result<(), Stop> {
        let value = self.fitted(value, &object.ty, at)?;
        if let Some(address) = object.at.clone() {
            let ty = object.ty.clone();
            return self.store_at(&address, &ty, value, at);
        }
        if object.within.is_some() {
            return self.store_view(object, value, at);
        }
        let place = self.scalar(object, at)?;
        if !object.ty.is_wide() {
            return self.emit(Action::Assign(Target::Place(place), value.ex), at);
        }
        let upper = Place { leaf: place.leaf + 1, ..place.clone() };
        match value.high {
            Some(high) => {
                // The low half is stored first, so the high one must not be computed from it.
                let high = self.steady(&high, at)?;
                self.emit(Action::Assign(Target::Place(place), value.ex), at)?;
                self.emit(Action::Assign(Target::Place(upper), high), at)
            }
            None => {
                self.emit(Action::Assign(Target::Place(place.clone()), value.ex.clone()), at)?;
                let low = if is_const(&value.ex).is_some() { value.ex } else { self.loaded(place) };
                self.emit(Action::Assign(Target::Place(upper), sign(low)), at)
            }
        }
    }

    /// Evaluates an expression for its effects.
    pub(super) fn effect(&mut self, e: &CNode<Expression>) -> Result<(), Stop> {
        match &e.node {
            Expression::UnaryOperator(operation) => {
                let op = match operation.node.operator.node {
                    UnaryOperator::PostIncrement | UnaryOperator::PreIncrement => Binary::Add,
                    UnaryOperator::PostDecrement | UnaryOperator::PreDecrement => Binary::Sub,
                    _ => return self.value(e).map(drop),
                };
                self.change(&operation.node.operand, op, int(Ex::Const(1)), e.span).map(drop)
            }
            Expression::BinaryOperator(operation) => match operation.node.operator.node {
                BinaryOperator::Assign => self.assign(&operation.node.lhs, &operation.node.rhs, e.span).map(drop),
                ref op => match compound(op) {
                    Some(op) => {
                        let value = self.value(&operation.node.rhs)?;
                        self.change(&operation.node.lhs, op, value, e.span).map(drop)
                    }
                    None => self.value(e).map(drop),
                },
            },
            Expression::Comma(parts) => parts.iter().try_for_each(|part| self.effect(part)),
            Expression::Call(_) => self.call(e).map(drop),
            Expression::Cast(cast) if matches!(self.type_name(&cast.node.type_name)?, CType::Void) => self.effect(&cast.node.expression),
            _ => self.value(e).map(drop),
        }
    }

    pub(super) fn assign(&mut self, lhs: &CNode<Expression>, rhs: &CNode<Expression>, at: CSpan) -> Result<Object, Stop> {
        if let Expression::Identifier(name) = &lhs.node
            && let Some(Binding::Value(_, to)) = self.binding(&name.node.name)
        {
            let value = self.value(rhs)?;
            return self.rebind(&name.node.name, value, to, at);
        }
        let object = self.object(lhs)?;
        if let CType::Struct(_) = object.ty {
            let from = self.object(rhs)?;
            self.copy(&object, &from, at)?;
            return Ok(object);
        }
        let object = self.fixed_if_needed(object, rhs, at)?;
        let value = match object.ty {
            CType::Pointer(ref to) => {
                self.may_be_cast(rhs, to, at)?;
                Value::of(self.address(rhs)?, Number::U32)
            }
            _ => self.value(rhs)?,
        };
        self.store(&object, value, at)?;
        Ok(object)
    }

    /// Gives a new value to a variable whose value is an expression.
    fn rebind(&mut self, name: &str, value: Value, to: CType, at: CSpan) -> Result<Object, Stop> {
        let value = self.cast(value, &to, at)?;
        let parts = |ex: &Ex| super::wide::size_up_to(ex, MOST_FOLLOWED + 1);
        if parts(&value.ex) > MOST_FOLLOWED || value.high.as_ref().is_some_and(|high| parts(high) > MOST_FOLLOWED) {
            return Err(self.wrong_with(at, "this becomes too long for a condition", "compute it in a `c_code` before"));
        }
        let scope = self.scopes.iter_mut().rev().find(|scope| scope.contains_key(name));
        match scope.and_then(|scope| scope.get_mut(name)) {
            Some(binding) => *binding = Binding::Value(value, to),
            None => return Err(self.wrong(at, "a condition in C must not change anything")),
        }
        // The object of such a variable is never used.
        Ok(Object { scope: crate::model::Scope::Local, leaf: usize::MAX, indices: Vec::new(), ty: CType::Void, at: None, within: None })
    }

    fn change(&mut self, target: &CNode<Expression>, op: Binary, by: Value, at: CSpan) -> Result<Object, Stop> {
        if let Expression::Identifier(name) = &target.node
            && let Some(Binding::Value(old, to)) = self.binding(&name.node.name)
        {
            let value = self.stepped(&to, op, old, by, at)?;
            return self.rebind(&name.node.name, value, to, at);
        }
        let object = self.object(target)?;
        let object = self.fixed(object, at)?;
        let old = self.load(&object, at)?;
        let value = self.stepped(&object.ty.clone(), op, old, by, at)?;
        self.store(&object, value, at)?;
        Ok(object)
    }

    /// A number or a pointer after `+=` and the like.
    fn stepped(&mut self, ty: &CType, op: Binary, old: Value, by: Value, at: CSpan) -> Result<Value, Stop> {
        let CType::Pointer(to) = ty else { return self.arithmetic(op, old, by, at) };
        let size = Ex::Const(self.size(to).0 as i32);
        Ok(Value::of(binary(op, old.ex, binary(Binary::Mul, by.ex, size)), Number::U32))
    }

    /// The object with indices that the evaluation of an expression does not change.
    fn fixed_if_needed(&mut self, object: Object, beside: &CNode<Expression>, at: CSpan) -> Result<Object, Stop> {
        let simple = matches!(beside.node, Expression::Constant(_) | Expression::Identifier(_) | Expression::Member(_));
        if simple || self.pure { Ok(object) } else { self.fixed(object, at) }
    }

    /// Copies a structure, scalar by scalar.
    pub(super) fn copy(&mut self, to: &Object, from: &Object, at: CSpan) -> Result<(), Stop> {
        if to.ty != from.ty {
            return Err(self.wrong(at, "the types of the two sides differ"));
        }
        let mut pairs = vec![(to.clone(), from.clone())];
        let mut copied = 0;
        while let Some((to, from)) = pairs.pop() {
            copied += 1;
            if copied > MAX_COPIED {
                return Err(self.wrong(at, format!("more than {MAX_COPIED} values are copied at once")));
            }
            match &to.ty.clone() {
                ty if self.is_union(ty) => pairs.push((self.bytes_of(&to), self.bytes_of(&from))),
                CType::Array(_, length) => {
                    for index in (0..*length as i32).rev().take(MAX_COPIED) {
                        pairs.push((self.element(&to, Ex::Const(index)), self.element(&from, Ex::Const(index))));
                    }
                }
                CType::Struct(index) => {
                    for number in (0..self.r.c.structs[*index].fields.len()).rev() {
                        pairs.push((self.field_at(&to, *index, number), self.field_at(&from, *index, number)));
                    }
                }
                _ => {
                    let value = self.load(&from, at)?;
                    self.store(&to, value, at)?;
                }
            }
        }
        Ok(())
    }

    /// Sets all scalars of an object to a value.
    pub(super) fn fill(&mut self, object: &Object, value: i32, at: CSpan) -> Result<(), Stop> {
        let mut parts = vec![object.clone()];
        let mut filled = 0;
        while let Some(part) = parts.pop() {
            filled += 1;
            if filled > MAX_COPIED {
                return Err(self.wrong(at, format!("more than {MAX_COPIED} values are set at once")));
            }
            match &part.ty.clone() {
                ty if self.is_union(ty) => parts.push(self.bytes_of(&part)),
                CType::Array(_, length) => {
                    parts.extend((0..*length as i32).rev().take(MAX_COPIED).map(|index| self.element(&part, Ex::Const(index))))
                }
                CType::Struct(index) => {
                    parts.extend((0..self.r.c.structs[*index].fields.len()).rev().map(|number| self.field_at(&part, *index, number)));
                }
                _ => self.store(&part, int(Ex::Const(value)), at)?,
            }
        }
        Ok(())
    }

    pub(super) fn value(&mut self, e: &CNode<Expression>) -> Result<Value, Stop> {
        match &e.node {
            Expression::Identifier(name) => {
                let name = &name.node.name;
                match self.binding(name) {
                    Some(Binding::Value(value, _)) => Ok(value),
                    Some(Binding::Object(object)) => self.load(&object, e.span),
                    Some(Binding::Pointer(object)) => Ok(Value::of(self.address_of(&object, e.span)?, Number::U32)),
                    None => match (self.r.c.constants.get(name), name.as_str()) {
                        (Some(&value), _) => Ok(int(Ex::Const(value))),
                        (None, "true") => Ok(int(Ex::Const(1))),
                        (None, "false" | "NULL") => Ok(int(Ex::Const(0))),
                        _ if self.is_function(e) => Ok(Value::of(self.address(e)?, Number::U32)),
                        _ => Err(self.unknown(name, e.span)),
                    },
                }
            }
            Expression::Constant(constant) => self.literal(&constant.node, e.span),
            Expression::Member(member) => {
                // Every process has a number.
                if let Expression::Identifier(root) = &member.node.expression.node
                    && root.node.name.starts_with('P')
                    && member.node.identifier.node.name == "_pid"
                {
                    return Ok(int(Ex::Pid));
                }
                if let Expression::Identifier(root) = &member.node.expression.node
                    && (root.node.name.as_str(), member.node.identifier.node.name.as_str()) == ("now", "_nr_pr")
                {
                    return Ok(int(Ex::ProcessCount));
                }
                let object = self.object(e)?;
                self.load(&object, e.span)
            }
            Expression::SizeOfTy(size) => {
                let ty = self.type_name(&size.node.0)?;
                Ok(Value::of(Ex::Const(self.size(&ty).0 as i32), Number::U64))
            }
            Expression::SizeOfVal(size) => {
                if let Expression::StringLiteral(text) = &size.node.0.node {
                    let length = super::strings::bytes(&text.node).len();
                    return Ok(Value::of(Ex::Const(length as i32), Number::U64));
                }
                let Some(ty) = self.type_of(&size.node.0) else { return Err(self.wrong(e.span, "the type of this is not known")) };
                Ok(Value::of(Ex::Const(self.size(&ty).0 as i32), Number::U64))
            }
            Expression::UnaryOperator(operation) => self.unary(&operation.node.operator.node, &operation.node.operand, e.span),
            Expression::BinaryOperator(operation) => self.operation(&operation.node, e.span),
            Expression::Cast(cast) => {
                let to = self.type_name(&cast.node.type_name)?;
                if let CType::Pointer(_) = to {
                    return Ok(Value::of(self.address(e)?, Number::U32));
                }
                let value = self.value(&cast.node.expression)?;
                self.cast(value, &to, e.span)
            }
            Expression::Conditional(conditional) => {
                let condition = self.condition(&conditional.node.condition)?;
                let (yes, no) = (&conditional.node.then_expression, &conditional.node.else_expression);
                match is_const(&condition) {
                    Some(0) => self.value(no),
                    Some(_) => self.value(yes),
                    None => self.choice(condition, e.span, |lower| lower.value(yes), |lower| lower.value(no)),
                }
            }
            Expression::Comma(parts) => {
                let Some((last, before)) = parts.split_last() else { return Err(self.wrong(e.span, "a value is missing")) };
                before.iter().try_for_each(|part| self.effect(part))?;
                self.value(last)
            }
            Expression::Call(_) => {
                let value = self.call(e)?;
                value.ok_or_else(|| self.wrong(e.span, "this function returns no value"))
            }
            Expression::StringLiteral(_) => Ok(Value::of(self.address(e)?, Number::U32)),
            _ => Err(self.wrong(e.span, "this expression of C is not supported")),
        }
    }

    /// A value that is one of two, with the effects of computing it.
    pub(super) fn choice(
        &mut self,
        condition: Ex,
        at: CSpan,
        yes: impl FnOnce(&mut Self) -> Result<Value, Stop>,
        no: impl FnOnce(&mut Self) -> Result<Value, Stop>,
    ) -> Result<Value, Stop> {
        let before = std::mem::take(&mut self.out);
        let knowledge = self.knowledge();
        let first = yes(self)?;
        let after = self.knowledge();
        self.know(knowledge);
        let mut first_code = std::mem::take(&mut self.out);
        let second = no(self)?;
        self.know_either(after);
        let mut second_code = std::mem::replace(&mut self.out, before);
        let number = first.number.max(second.number);
        let (a, b) = (self.converted(first, number, at)?, self.converted(second, number, at)?);
        if first_code.is_empty() && second_code.is_empty() {
            let either = |a: Ex, b: Ex| Ex::Conditional(Box::new(condition.clone()), Box::new(a), Box::new(b));
            let high = (a.high.is_some() || b.high.is_some()).then(|| either(upper(&a), upper(&b)));
            return Ok(Value { ex: either(a.ex, b.ex), high, number });
        }
        let slot = self.temporary(&number.variable(), at)?;
        self.know_nothing();
        let mut store = |value: Value| self.apart(|lower| lower.store(&slot, value, at));
        first_code.append(&mut store(a)?);
        second_code.append(&mut store(b)?);
        self.know_nothing();
        let span = self.at(at);
        first_code.insert(0, Stm { node: Node::Basic(Action::Guard(condition)), span });
        second_code.insert(0, Stm { node: Node::Else, span });
        self.out.push(Stm { node: Node::If(vec![first_code, second_code]), span });
        self.load(&slot, at)
    }

    fn literal(&mut self, constant: &Constant, at: CSpan) -> Result<Value, Stop> {
        match constant {
            Constant::Integer(integer) => {
                let radix = match integer.base {
                    IntegerBase::Decimal => 10,
                    IntegerBase::Octal => 8,
                    IntegerBase::Hexadecimal => 16,
                    IntegerBase::Binary => 2,
                };
                let digits = if integer.number.is_empty() { "0" } else { &*integer.number };
                let Ok(n) = u64::from_str_radix(digits, radix) else { return Err(self.wrong(at, "this number is too large")) };
                let long = integer.suffix.size != IntegerSize::Int;
                let number = match (n, integer.suffix.unsigned, long) {
                    (0..=0x7fff_ffff, false, false) => Number::I32,
                    (0..=0xffff_ffff, true, false) => Number::U32,
                    (0..=0xffff_ffff, false, false) if radix != 10 => Number::U32,
                    (0..=0x7fff_ffff_ffff_ffff, false, _) => Number::I64,
                    _ => Number::U64,
                };
                Ok(number_of(n, number))
            }
            Constant::Character(text) => {
                let inner = text.trim_start_matches('L').trim_matches('\'');
                let mut chars = inner.chars();
                let value = match (chars.next(), chars.as_str()) {
                    (Some('\\'), "n") => 10,
                    (Some('\\'), "t") => 9,
                    (Some('\\'), "r") => 13,
                    (Some('\\'), "f") => 12,
                    (Some('\\'), "v") => 11,
                    (Some('\\'), "a") => 7,
                    (Some('\\'), "b") => 8,
                    (Some('\\'), hex) if hex.starts_with('x') => i32::from(u8::from_str_radix(&hex[1..], 16).unwrap_or(0) as i8),
                    (Some('\\'), octal) if octal.starts_with(|c: char| c.is_digit(8)) => {
                        i32::from(u16::from_str_radix(octal, 8).unwrap_or(0) as u8 as i8)
                    }
                    (Some('\\'), other) => other.chars().next().map_or(0, |c| c as i32),
                    (Some(c), "") => c as i32,
                    _ if text == "'\\''" => 39,
                    _ => return Err(self.wrong(at, "this is not one character")),
                };
                Ok(int(Ex::Const(value)))
            }
            Constant::Float(float) => self.float_literal(float, at),
        }
    }

    fn unary(&mut self, op: &UnaryOperator, operand: &CNode<Expression>, at: CSpan) -> Result<Value, Stop> {
        match op {
            UnaryOperator::PreIncrement | UnaryOperator::PreDecrement | UnaryOperator::PostIncrement | UnaryOperator::PostDecrement => {
                let change =
                    if matches!(op, UnaryOperator::PreIncrement | UnaryOperator::PostIncrement) { Binary::Add } else { Binary::Sub };
                if let Expression::Identifier(name) = &operand.node
                    && let Some(Binding::Value(old, _)) = self.binding(&name.node.name)
                {
                    self.change(operand, change, int(Ex::Const(1)), at)?;
                    let new = self.value(operand)?;
                    return Ok(if matches!(op, UnaryOperator::PreIncrement | UnaryOperator::PreDecrement) { new } else { old });
                }
                if matches!(op, UnaryOperator::PreIncrement | UnaryOperator::PreDecrement) {
                    let object = self.change(operand, change, int(Ex::Const(1)), at)?;
                    return self.load(&object, at);
                }
                let object = self.object(operand)?;
                let object = self.fixed(object, at)?;
                let slot = self.temporary(&object.ty.clone(), at)?;
                let old = self.load(&object, at)?;
                self.store(&slot, old.clone(), at)?;
                let value = self.stepped(&object.ty.clone(), change, old, int(Ex::Const(1)), at)?;
                self.store(&object, value, at)?;
                self.load(&slot, at)
            }
            UnaryOperator::Address if self.is_function(operand) => Ok(Value::of(self.address(operand)?, Number::U32)),
            UnaryOperator::Address => {
                let object = self.object(operand)?;
                Ok(Value::of(self.address_of(&object, at)?, Number::U32))
            }
            UnaryOperator::Indirection => {
                let object = self.pointer(operand)?;
                self.load(&object, at)
            }
            UnaryOperator::Plus => self.value(operand),
            UnaryOperator::Minus => {
                let value = self.value(operand)?;
                self.negative(value, at)
            }
            UnaryOperator::Complement => {
                let value = self.value(operand)?;
                if value.number >= Number::F32 {
                    return Err(self.wrong(at, "`~` of a number with a point"));
                }
                let high = value.high.map(|high| unary(Unary::Complement, high));
                Ok(Value { ex: unary(Unary::Complement, value.ex), high, number: value.number })
            }
            UnaryOperator::Negate => {
                let value = self.condition(operand)?;
                Ok(int(unary(Unary::Not, value)))
            }
        }
    }

    fn operation(&mut self, operation: &lang_c::ast::BinaryOperatorExpression, at: CSpan) -> Result<Value, Stop> {
        let (lhs, rhs) = (&operation.lhs, &operation.rhs);
        match &operation.operator.node {
            BinaryOperator::Index => {
                let object = self.element_of(lhs, rhs, at)?;
                self.load(&object, at)
            }
            BinaryOperator::Assign => {
                let object = self.assign(lhs, rhs, at)?;
                if object.leaf == usize::MAX {
                    return self.value(lhs);
                }
                self.load(&object, at)
            }
            BinaryOperator::LogicalAnd => self.lazy(lhs, rhs, true, at),
            BinaryOperator::LogicalOr => self.lazy(lhs, rhs, false, at),
            op => {
                if let Some(op) = compound(op) {
                    let by = self.value(rhs)?;
                    let object = self.change(lhs, op, by, at)?;
                    return if object.leaf == usize::MAX { self.value(lhs) } else { self.load(&object, at) };
                }
                let op = plain(op).ok_or_else(|| self.wrong(at, "this operator is not supported"))?;
                if matches!(op, Binary::Add | Binary::Sub)
                    && let Some(to) = self.pointee(lhs).or_else(|| self.pointee(rhs))
                {
                    return self.between_pointers(op, lhs, rhs, &to, at);
                }
                let (a, b) = (self.value(lhs)?, self.value(rhs)?);
                self.arithmetic(op, a, b, at)
            }
        }
    }
}

impl Lower<'_, '_> {
    /// An expression as a condition: not zero if it is true.
    pub(super) fn condition(&mut self, e: &CNode<Expression>) -> Result<Ex, Stop> {
        let value = self.value(e)?;
        self.truth(value, e.span)
    }

    /// `p + n`, or the distance of two pointers.
    fn between_pointers(
        &mut self,
        op: Binary,
        lhs: &CNode<Expression>,
        rhs: &CNode<Expression>,
        to: &CType,
        at: CSpan,
    ) -> Result<Value, Stop> {
        let size = Ex::Const((self.size(to).0 as i32).max(1));
        match (self.pointee(lhs), self.pointee(rhs), op) {
            (Some(_), Some(_), Binary::Sub) => {
                let (a, b) = (self.address(lhs)?, self.address(rhs)?);
                Ok(Value::of(binary(Binary::Div, binary(Binary::Sub, a, b), size), Number::I64))
            }
            (Some(_), None, op) => {
                let (a, b) = (self.address(lhs)?, self.value(rhs)?.ex);
                Ok(Value::of(binary(op, a, binary(Binary::Mul, b, size)), Number::U32))
            }
            (None, Some(_), Binary::Add) => {
                let (a, b) = (self.value(lhs)?.ex, self.address(rhs)?);
                Ok(Value::of(binary(Binary::Add, b, binary(Binary::Mul, a, size)), Number::U32))
            }
            _ => Err(self.wrong(at, "pointers cannot be added")),
        }
    }
}

/// The operator of `a op= b`.
fn compound(op: &BinaryOperator) -> Option<Binary> {
    Some(match op {
        BinaryOperator::AssignMultiply => Binary::Mul,
        BinaryOperator::AssignDivide => Binary::Div,
        BinaryOperator::AssignModulo => Binary::Rem,
        BinaryOperator::AssignPlus => Binary::Add,
        BinaryOperator::AssignMinus => Binary::Sub,
        BinaryOperator::AssignShiftLeft => Binary::Shl,
        BinaryOperator::AssignShiftRight => Binary::Shr,
        BinaryOperator::AssignBitwiseAnd => Binary::BitAnd,
        BinaryOperator::AssignBitwiseXor => Binary::BitXor,
        BinaryOperator::AssignBitwiseOr => Binary::BitOr,
        _ => return None,
    })
}

fn plain(op: &BinaryOperator) -> Option<Binary> {
    Some(match op {
        BinaryOperator::Multiply => Binary::Mul,
        BinaryOperator::Divide => Binary::Div,
        BinaryOperator::Modulo => Binary::Rem,
        BinaryOperator::Plus => Binary::Add,
        BinaryOperator::Minus => Binary::Sub,
        BinaryOperator::ShiftLeft => Binary::Shl,
        BinaryOperator::ShiftRight => Binary::Shr,
        BinaryOperator::Less => Binary::Lt,
        BinaryOperator::Greater => Binary::Gt,
        BinaryOperator::LessOrEqual => Binary::Le,
        BinaryOperator::GreaterOrEqual => Binary::Ge,
        BinaryOperator::Equals => Binary::Eq,
        BinaryOperator::NotEquals => Binary::Ne,
        BinaryOperator::BitwiseAnd => Binary::BitAnd,
        BinaryOperator::BitwiseXor => Binary::BitXor,
        BinaryOperator::BitwiseOr => Binary::BitOr,
        _ => return None,
    })
}
