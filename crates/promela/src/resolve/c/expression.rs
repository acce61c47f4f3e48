//! Expressions of C: their values and their effects.

use super::types::{CType, Int, Number};
use super::{Binding, Lower, Object, Stop};
use crate::ast::{Binary, Unary};
use crate::model::{Action, Ex, Node, Stm, Target};
use crate::resolve::constant;
use lang_c::ast::{BinaryOperator, Constant, Expression, IntegerBase, IntegerSize, UnaryOperator};
use lang_c::span::{Node as CNode, Span as CSpan};

/// The most elements that one assignment of a structure copies.
const MAX_COPIED: usize = 4096;

/// The value of an expression.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub ex: Ex,
    pub number: Number,
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
    Value { ex, number: Number::I32 }
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

/// The value, which must lie between bounds.
pub(super) fn within(low: i32, high: i32, a: Ex) -> Ex {
    match a {
        Ex::Const(n) if (low..=high).contains(&n) => Ex::Const(n),
        a => Ex::Within(low, high, Box::new(a)),
    }
}

/// The exact result, which must fit.
pub(super) fn exact(op: Binary, a: Ex, b: Ex) -> Ex {
    if let (Some(x), Some(y)) = (is_const(&a), is_const(&b)) {
        let value = match op {
            Binary::Add => x.checked_add(y),
            Binary::Sub => x.checked_sub(y),
            _ => x.checked_mul(y),
        };
        if let Some(value) = value {
            return Ex::Const(value);
        }
    }
    Ex::Exact(op, Box::new(a), Box::new(b))
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

    /// A value converted to a type.
    pub(super) fn converted(&mut self, value: Value, to: Number) -> Ex {
        let Value { ex, number } = value;
        match (number, to) {
            (Number::U32, Number::I64 | Number::U64) | (Number::I32 | Number::I64, Number::U64) => within(0, i32::MAX, ex),
            _ => ex,
        }
    }

    /// The value that a variable of this type holds after the value was stored. The variable itself
    /// keeps the low bits.
    pub(super) fn narrowed(&mut self, value: Value, to: Int) -> Ex {
        if to.truth {
            return if is_truth(&value.ex) { value.ex } else { binary(Binary::Ne, value.ex, Ex::Const(0)) };
        }
        let ex = self.converted(value, to.number());
        match (to.bits, to.signed) {
            (1..=15 | 17..=31, true) => {
                let shift = Ex::Const(32 - i32::from(to.bits));
                binary(Binary::Shr, binary(Binary::Shl, ex, shift.clone()), shift)
            }
            _ => ex,
        }
    }

    /// Like `narrowed`, for an expression that is used without being stored.
    fn cast(&mut self, value: Value, to: Int) -> Value {
        let ex = self.narrowed(value, to);
        let ex = match (to.bits, to.signed) {
            (1..=31, false) if !to.truth => binary(Binary::BitAnd, ex, Ex::Const(((1u32 << to.bits) - 1) as i32)),
            (16, true) => {
                let shift = Ex::Const(16);
                binary(Binary::Shr, binary(Binary::Shl, ex, shift.clone()), shift)
            }
            _ => ex,
        };
        Value { ex, number: to.number() }
    }

    pub(super) fn load(&mut self, object: &Object, at: CSpan) -> Result<Value, Stop> {
        let place = self.scalar(object, at)?;
        let CType::Int(int) = object.ty else { return Err(Stop) };
        Ok(Value { ex: Ex::Load(place), number: int.number() })
    }

    pub(super) fn store(&mut self, object: &Object, value: Value, at: CSpan) -> Result<(), Stop> {
        let place = self.scalar(object, at)?;
        let CType::Int(int) = object.ty else { return Err(Stop) };
        let ex = self.narrowed(value, int);
        self.emit(Action::Assign(Target::Place(place), ex), at)
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

    fn assign(&mut self, lhs: &CNode<Expression>, rhs: &CNode<Expression>, at: CSpan) -> Result<Object, Stop> {
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
        let value = self.value(rhs)?;
        self.store(&object, value, at)?;
        Ok(object)
    }

    /// Gives a new value to a variable whose value is an expression.
    fn rebind(&mut self, name: &str, value: Value, to: Int, at: CSpan) -> Result<Object, Stop> {
        let value = self.cast(value, to);
        let scope = self.scopes.iter_mut().rev().find(|scope| scope.contains_key(name));
        match scope.and_then(|scope| scope.get_mut(name)) {
            Some(binding) => *binding = Binding::Value(value, to),
            None => return Err(self.wrong(at, "a condition in C must not change anything")),
        }
        // The object of such a variable is never used.
        Ok(Object { scope: crate::model::Scope::Local, leaf: usize::MAX, indices: Vec::new(), ty: CType::Void })
    }

    fn change(&mut self, target: &CNode<Expression>, op: Binary, by: Value, at: CSpan) -> Result<Object, Stop> {
        if let Expression::Identifier(name) = &target.node
            && let Some(Binding::Value(old, to)) = self.binding(&name.node.name)
        {
            let value = self.arithmetic(op, old, by, at)?;
            return self.rebind(&name.node.name, value, to, at);
        }
        let object = self.object(target)?;
        let old = self.load(&object, at)?;
        let value = self.arithmetic(op, old, by, at)?;
        self.store(&object, value, at)?;
        Ok(object)
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
                    Some(Binding::Pointer(_)) => Err(self.wrong(e.span, "a pointer is not a number")),
                    None => match (self.r.c.constants.get(name), name.as_str()) {
                        (Some(&value), _) => Ok(int(Ex::Const(value))),
                        (None, "true") => Ok(int(Ex::Const(1))),
                        (None, "false") => Ok(int(Ex::Const(0))),
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
                let object = self.object(e)?;
                self.load(&object, e.span)
            }
            Expression::SizeOfTy(size) => {
                let ty = self.type_name(&size.node.0)?;
                Ok(Value { ex: Ex::Const(self.size(&ty).0 as i32), number: Number::U64 })
            }
            Expression::SizeOfVal(size) => {
                let object = self.object(&size.node.0)?;
                Ok(Value { ex: Ex::Const(self.size(&object.ty).0 as i32), number: Number::U64 })
            }
            Expression::UnaryOperator(operation) => self.unary(&operation.node.operator.node, &operation.node.operand, e.span),
            Expression::BinaryOperator(operation) => self.operation(&operation.node, e.span),
            Expression::Cast(cast) => {
                let to = self.type_name(&cast.node.type_name)?;
                let CType::Int(to) = to else { return Err(self.wrong(e.span, "only numbers can be converted")) };
                let value = self.value(&cast.node.expression)?;
                Ok(self.cast(value, to))
            }
            Expression::Conditional(conditional) => {
                let condition = self.value(&conditional.node.condition)?.ex;
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
        let first = yes(self)?;
        let mut first_code = std::mem::take(&mut self.out);
        let second = no(self)?;
        let mut second_code = std::mem::replace(&mut self.out, before);
        let number = first.number.max(second.number);
        let (a, b) = (self.converted(first, number), self.converted(second, number));
        if first_code.is_empty() && second_code.is_empty() {
            return Ok(Value { ex: Ex::Conditional(Box::new(condition), Box::new(a), Box::new(b)), number });
        }
        let bits = if number >= Number::I64 { 64 } else { 32 };
        let signed = matches!(number, Number::I32 | Number::I64);
        let slot = self.temporary(&CType::Int(Int::new(bits, signed)), at)?;
        let place = self.scalar(&slot, at)?;
        let span = self.at(at);
        let store = |ex| Stm { node: Node::Basic(Action::Assign(Target::Place(place.clone()), ex)), span };
        first_code.insert(0, Stm { node: Node::Basic(Action::Guard(condition)), span });
        first_code.push(store(a));
        second_code.insert(0, Stm { node: Node::Else, span });
        second_code.push(store(b));
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
                    (0..=0x7fff_ffff, false, true) => Number::I64,
                    (0..=0x7fff_ffff, true, true) => Number::U64,
                    (0..=0xffff_ffff, true, false) => Number::U32,
                    (0..=0xffff_ffff, false, false) if radix != 10 => Number::U32,
                    _ => return Err(self.wrong(at, "this number does not fit 32 bits")),
                };
                Ok(Value { ex: Ex::Const(n as u32 as i32), number })
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
            Constant::Float(_) => Err(self.wrong(at, "numbers with a point cannot be part of a state")),
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
                let value = self.arithmetic(change, old, int(Ex::Const(1)), at)?;
                self.store(&object, value, at)?;
                self.load(&slot, at)
            }
            UnaryOperator::Address => Err(self.wrong(at, "an address is not a number")),
            UnaryOperator::Indirection => {
                let object = self.pointer(operand)?;
                self.load(&object, at)
            }
            UnaryOperator::Plus => self.value(operand),
            UnaryOperator::Minus => {
                let value = self.value(operand)?;
                let ex = match value.number {
                    Number::I64 => exact(Binary::Sub, Ex::Const(0), value.ex),
                    Number::U64 => within(0, 0, value.ex),
                    _ => unary(Unary::Negate, value.ex),
                };
                Ok(Value { ex, number: value.number })
            }
            UnaryOperator::Complement => {
                let value = self.value(operand)?;
                if value.number == Number::U64 {
                    return Err(self.wrong(at, "`~` of an unsigned number of 64 bits does not fit 32 bits"));
                }
                Ok(Value { ex: unary(Unary::Complement, value.ex), number: value.number })
            }
            UnaryOperator::Negate => {
                let value = self.value(operand)?;
                Ok(int(unary(Unary::Not, value.ex)))
            }
        }
    }

    fn operation(&mut self, operation: &lang_c::ast::BinaryOperatorExpression, at: CSpan) -> Result<Value, Stop> {
        let (lhs, rhs) = (&operation.lhs, &operation.rhs);
        match &operation.operator.node {
            BinaryOperator::Index => {
                let element = self.pointer(lhs)?;
                let index = self.value(rhs)?;
                let object = self.moved(element, index.ex, at)?;
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
                let (a, b) = (self.value(lhs)?, self.value(rhs)?);
                self.arithmetic(op, a, b, at)
            }
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
