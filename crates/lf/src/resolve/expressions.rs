//! Types and constants in expressions.
//!
//! Numbers of all integer types may be combined in an expression, which is computed in 32 bits:
//! signed, or unsigned if an operand is a `UINT32`; then the other operand is cast to it. If a
//! value is stored its type must fit: a number that could be too large needs a cast, which shows
//! that the programmer knows this, and is checked when the program runs.

use super::{Entity, Resolver};
use crate::ast::{self, Designator, ExpressionKind, Selector};
use crate::limits::MAX_DEPTH;
use crate::tree::{Binary, Expression, INTEGER, Kind, Place, Step, Type, UNSIGNED};
use source::{Span, did_you_mean};

impl Resolver<'_> {
    pub(super) fn unknown(span: Span) -> Expression {
        Expression { kind: Kind::Constant(0), ty: Type::Unknown, span }
    }

    pub(super) fn expression(&mut self, expression: &ast::Expression) -> Expression {
        self.depth += 1;
        let read = if self.depth > 8 * MAX_DEPTH { Self::unknown(expression.span) } else { self.expression_inside(expression) };
        self.depth -= 1;
        read
    }

    fn expression_inside(&mut self, expression: &ast::Expression) -> Expression {
        let span = expression.span;
        let constant = |value, ty| Expression { kind: Kind::Constant(value), ty, span };
        match &expression.kind {
            ExpressionKind::Number(value) => match (i32::try_from(*value), u32::try_from(*value)) {
                (Ok(value), _) => constant(value, INTEGER),
                (_, Ok(value)) => constant(value as i32, UNSIGNED),
                _ => {
                    self.error(span, format!("{value} is larger than the largest number, {}", u32::MAX), None);
                    Self::unknown(span)
                }
            },
            ExpressionKind::Char(byte) => constant(i32::from(*byte), Type::Char),
            ExpressionKind::Boolean(value) => constant(i32::from(*value), Type::Boolean),
            ExpressionKind::Text(_) => {
                self.error(span, "a text is not a value", Some("texts are printed by Out.String; a character is in single quotes"));
                Self::unknown(span)
            }
            ExpressionKind::Set(elements) => self.set(elements, span),
            ExpressionKind::Place(designator) => self.value_of(designator),
            ExpressionKind::Call(name, arguments) => self.function(name, arguments, span),
            ExpressionKind::Unary(sign, operand) => {
                let operand = self.expression(operand);
                self.unary(sign, operand, span)
            }
            ExpressionKind::Binary(sign, left, right) => {
                let (left, right) = (self.expression(left), self.expression(right));
                self.binary(sign, left, right, span)
            }
        }
    }

    fn unary(&mut self, sign: &str, operand: Expression, span: Span) -> Expression {
        let kind = match (sign, &operand.ty, &operand.kind) {
            (_, Type::Unknown, _) => return Self::unknown(span),
            ("-", Type::Integer(_), Kind::Constant(value)) => match i32::try_from(-number(*value, &operand.ty)) {
                Ok(value) => return Expression { kind: Kind::Constant(value), ty: INTEGER, span },
                Err(_) => {
                    self.error(span, "this number is too large", None);
                    return Self::unknown(span);
                }
            },
            ("-", Type::Integer(_), _) if operand.ty == UNSIGNED => {
                self.error(span, "a UINT32 cannot be negated", Some("cast it: -INTEGER(x)"));
                return Self::unknown(span);
            }
            ("-", Type::Integer(_), _) => return Expression { kind: Kind::Negate(Box::new(operand)), ty: INTEGER, span },
            ("-", Type::Set, Kind::Constant(value)) => Kind::Constant(!value),
            ("-", Type::Set, _) => return Expression { ty: Type::Set, kind: Kind::Complement(Box::new(operand)), span },
            ("~", Type::Boolean, Kind::Constant(value)) => Kind::Constant(i32::from(*value == 0)),
            ("~", Type::Boolean, _) => return Expression { ty: Type::Boolean, kind: Kind::Not(Box::new(operand)), span },
            _ => {
                let (needed, hint) = if sign == "~" { ("a BOOLEAN", "compare it with a value") } else { ("a number or a set", "") };
                let found = self.program.type_name(&operand.ty);
                self.error(operand.span, format!("`{sign}` needs {needed}, and this is {found}"), Some(hint).filter(|h| !h.is_empty()));
                return Self::unknown(span);
            }
        };
        Expression { kind, ty: operand.ty, span }
    }

    fn binary(&mut self, sign: &str, mut left: Expression, mut right: Expression, span: Span) -> Expression {
        if left.ty == Type::Unknown || right.ty == Type::Unknown {
            return Self::unknown(span);
        }
        let numbers = matches!((&left.ty, &right.ty), (Type::Integer(_), Type::Integer(_)));
        if numbers && (left.ty == UNSIGNED || right.ty == UNSIGNED) {
            (left, right) = (self.unsigned(left), self.unsigned(right));
            if left.ty == Type::Unknown || right.ty == Type::Unknown {
                return Self::unknown(span);
            }
        }
        let sets = left.ty == Type::Set && right.ty == Type::Set;
        let booleans = left.ty == Type::Boolean && right.ty == Type::Boolean;
        let alike = left.ty == right.ty || numbers;
        let (op, ty) = match sign {
            "+" if numbers => (Binary::Add, INTEGER),
            "-" if numbers => (Binary::Subtract, INTEGER),
            "*" if numbers => (Binary::Multiply, INTEGER),
            "DIV" if numbers => (Binary::Divide, INTEGER),
            "MOD" if numbers => (Binary::Remainder, INTEGER),
            "+" if sets => (Binary::Union, Type::Set),
            "-" if sets => (Binary::Difference, Type::Set),
            "*" if sets => (Binary::Intersection, Type::Set),
            "/" if sets => (Binary::SymmetricDifference, Type::Set),
            "&" if booleans => (Binary::And, Type::Boolean),
            "OR" if booleans => (Binary::Or, Type::Boolean),
            "=" if alike && left.ty.is_scalar() => (Binary::Equal, Type::Boolean),
            "#" if alike && left.ty.is_scalar() => (Binary::Unequal, Type::Boolean),
            "<" if numbers || (alike && left.ty == Type::Char) => (Binary::Less, Type::Boolean),
            "<=" if numbers || (alike && left.ty == Type::Char) => (Binary::LessOrEqual, Type::Boolean),
            ">" if numbers || (alike && left.ty == Type::Char) => (Binary::Greater, Type::Boolean),
            ">=" if numbers || (alike && left.ty == Type::Char) => (Binary::GreaterOrEqual, Type::Boolean),
            "IN" if matches!(left.ty, Type::Integer(_)) && right.ty == Type::Set => (Binary::In, Type::Boolean),
            _ => {
                let (a, b) = (self.program.type_name(&left.ty), self.program.type_name(&right.ty));
                let hint = match sign {
                    "/" if numbers => Some("the quotient of numbers is written DIV"),
                    "=" | "#" if alike => Some("arrays and records are compared element by element"),
                    _ => Some("a cast like INTEGER(x) turns a value into another type"),
                };
                self.error(span, format!("`{sign}` cannot join {a} and {b}"), hint);
                return Self::unknown(span);
            }
        };
        // The type of a sum is that of its operands if they agree; a constant agrees if it fits.
        let ty = match (&left.ty, &right.ty) {
            (Type::Integer(a), Type::Integer(b)) if ty == INTEGER => match (&left.kind, &right.kind) {
                _ if left.ty == UNSIGNED => UNSIGNED,
                (Kind::Constant(_), Kind::Constant(_)) => INTEGER,
                (Kind::Constant(n), _) if b.holds(i64::from(*n)) => right.ty.clone(),
                (_, Kind::Constant(n)) if a.holds(i64::from(*n)) => left.ty.clone(),
                _ if a == b => left.ty.clone(),
                _ => INTEGER,
            },
            _ => ty,
        };
        if let (Kind::Constant(a), Kind::Constant(b)) = (&left.kind, &right.kind) {
            return match compute(op, *a, *b, left.ty == UNSIGNED) {
                Some(value) => Expression { kind: Kind::Constant(value), ty, span },
                None => {
                    self.error(span, "this constant has no value: it is too large, or divided by 0", None);
                    Self::unknown(span)
                }
            };
        }
        Expression { kind: Kind::Binary(op, Box::new(left), Box::new(right)), ty, span }
    }

    /// A number as a `UINT32`.
    pub(super) fn unsigned(&mut self, value: Expression) -> Expression {
        if value.ty == UNSIGNED || value.ty == Type::Unknown {
            return value;
        }
        let span = value.span;
        self.cast(value, UNSIGNED, span)
    }

    fn set(&mut self, elements: &[(ast::Expression, Option<ast::Expression>)], span: Span) -> Expression {
        let mut all = Vec::new();
        let mut value = Some(0_i32);
        for (first, last) in elements {
            let first = self.integer(first);
            let last = last.as_ref().map(|last| self.integer(last));
            let end = last.as_ref().unwrap_or(&first);
            value = match (&first.kind, &end.kind) {
                (Kind::Constant(a), Kind::Constant(b)) => {
                    if !(0..32).contains(a) || !(0..32).contains(b) {
                        self.error(first.span.to(end.span), "a set holds the numbers from 0 to 31", None);
                        return Self::unknown(span);
                    }
                    value.map(|bits| (*a..=*b).fold(bits, |bits, element| bits | (1 << element)))
                }
                _ => None,
            };
            all.push((first, last));
        }
        let kind = value.map_or(Kind::Set(all), Kind::Constant);
        Expression { kind, ty: Type::Set, span }
    }

    fn value_of(&mut self, designator: &Designator) -> Expression {
        let span = designator.span;
        let entity = match (designator.selectors.as_slice(), self.scopes.iter().rev().find_map(|s| s.get(&designator.name.text))) {
            ([Selector::Field(name)], Some((Entity::Module(_), _, _))) => self.look_into(&designator.name, name),
            ([], Some((entity, _, _))) => Some(entity.clone()),
            _ => None,
        };
        if let Some(Entity::Constant(value, ty)) = entity {
            return Expression { kind: Kind::Constant(value), ty, span };
        }
        match self.place(designator) {
            Some(place) => Expression { ty: place.ty.clone(), kind: Kind::Load(place), span },
            None => Self::unknown(span),
        }
    }

    /// A variable or a part of one.
    pub(super) fn place(&mut self, designator: &Designator) -> Option<Place> {
        let mut selectors = designator.selectors.as_slice();
        let mut entity = self.look_up(&designator.name)?;
        if let Entity::Module(_) = entity
            && let [Selector::Field(name), rest @ ..] = selectors
        {
            entity = self.look_into(&designator.name, name)?;
            selectors = rest;
        }
        let Entity::Variable(variable) = entity else {
            let what = match entity {
                Entity::Constant(..) => "a constant",
                Entity::Text(_) => "a text",
                Entity::Type(_) => "a type",
                Entity::Process(_) => "a process",
                Entity::Property => "a property",
                _ => "a module",
            };
            self.error(designator.span, format!("`{}` is {what}, and a variable is needed here", designator.name.text), None);
            return None;
        };
        let mut ty = self.program.variables[variable].ty.clone();
        let mut steps = Vec::new();
        for selector in selectors {
            ty = match (selector, ty) {
                (_, Type::Unknown) => return None,
                (Selector::Field(name), Type::Record(number)) => {
                    let fields = &self.program.records[number].fields;
                    let Some(position) = fields.iter().position(|(field, _)| *field == name.text) else {
                        let hint = did_you_mean(&name.text, fields.iter().map(|(field, _)| field.as_str()));
                        self.error(name.span, format!("the record has no field `{}`", name.text), hint.as_deref());
                        return None;
                    };
                    steps.push(Step::Field(position));
                    fields[position].1.clone()
                }
                (Selector::Index(index), Type::Array(length, element)) => {
                    let index = self.integer(index);
                    if let Kind::Constant(value) = index.kind
                        && index.ty != Type::Unknown
                        && !(0..i64::from(length)).contains(&number(value, &index.ty))
                    {
                        let value = number(value, &index.ty);
                        self.error(index.span, format!("the array has the elements 0 to {}, and this is {value}", length - 1), None);
                    }
                    steps.push(Step::Element(Box::new(index), length));
                    (*element).clone()
                }
                (selector, ty) => {
                    let found = self.program.type_name(&ty);
                    let (span, what) = match selector {
                        Selector::Field(name) => (name.span, "fields"),
                        Selector::Index(index) => (index.span, "elements"),
                    };
                    self.error(span, format!("this has no {what}: it is {found}"), None);
                    return None;
                }
            };
        }
        Some(Place { variable, steps, ty, span: designator.span })
    }

    /// Casts and standard functions.
    fn function(&mut self, name: &ast::Qualified, arguments: &[ast::Expression], span: Span) -> Expression {
        let word = name.name.text.as_str();
        let hidden = name.module.is_none() && self.scopes.iter().any(|scope| scope.contains_key(word));
        if name.module.is_none() && !hidden && matches!(word, "LEN" | "ORD" | "CHR" | "ABS" | "ODD") {
            let [argument] = arguments else {
                self.error(span, format!("`{word}` has one argument"), None);
                return Self::unknown(span);
            };
            return self.standard(word, argument, span);
        }
        match self.qualified(name) {
            Some(Entity::Type(ty)) => {
                let [argument] = arguments else {
                    self.error(span, "a cast has one argument", None);
                    return Self::unknown(span);
                };
                let argument = self.expression(argument);
                self.cast(argument, ty, span)
            }
            Some(_) => {
                self.error(
                    name.span(),
                    format!("`{word}` has no value"),
                    Some("processes give results through parameters by reference: VAR"),
                );
                Self::unknown(span)
            }
            None => Self::unknown(span),
        }
    }

    fn standard(&mut self, word: &str, argument: &ast::Expression, span: Span) -> Expression {
        let argument = self.expression(argument);
        match (word, &argument.ty) {
            (_, Type::Unknown) => Self::unknown(span),
            ("LEN", Type::Array(length, _)) => Expression { kind: Kind::Constant(*length as i32), ty: INTEGER, span },
            ("ORD", Type::Char | Type::Boolean | Type::Set) => self.cast(argument, INTEGER, span),
            ("CHR", Type::Integer(_)) => self.cast(argument, Type::Char, span),
            ("ABS", Type::Integer(_)) if argument.ty == UNSIGNED => argument,
            ("ABS", Type::Integer(_)) => Expression { ty: argument.ty.clone(), kind: Kind::Absolute(Box::new(argument)), span },
            ("ODD", Type::Integer(_)) => {
                let two = Expression { kind: Kind::Constant(2), ty: INTEGER, span };
                let rest = self.binary("MOD", argument, two, span);
                let zero = Expression { kind: Kind::Constant(0), ty: INTEGER, span };
                self.binary("#", rest, zero, span)
            }
            _ => {
                let found = self.program.type_name(&argument.ty);
                self.error(argument.span, format!("`{word}` has no meaning for {found}"), None);
                Self::unknown(span)
            }
        }
    }

    pub(super) fn cast(&mut self, value: Expression, ty: Type, span: Span) -> Expression {
        let castable = |ty: &Type| matches!(ty, Type::Integer(_) | Type::Char | Type::Boolean | Type::Set);
        if value.ty == Type::Unknown || ty == Type::Unknown {
            return Self::unknown(span);
        }
        if !castable(&value.ty) || !castable(&ty) {
            let (a, b) = (self.program.type_name(&value.ty), self.program.type_name(&ty));
            self.error(span, format!("{a} cannot be turned into {b}"), Some("numbers, characters, Booleans and sets can be cast"));
            return Self::unknown(span);
        }
        if let Kind::Constant(bits) = value.kind {
            // A set and a number of 32 bits have the same bits.
            let (least, greatest) = range(&ty);
            let wide = value.ty == Type::Set && ty == UNSIGNED || ty == Type::Set;
            let known = number(bits, &value.ty);
            if !wide && !(least..=greatest).contains(&known) {
                let name = self.program.type_name(&ty);
                self.error(span, format!("{known} is not a {name}"), None);
                return Self::unknown(span);
            }
            return Expression { kind: Kind::Constant(bits), ty, span };
        }
        Expression { kind: Kind::Cast(Box::new(value)), ty, span }
    }

    pub(super) fn integer(&mut self, expression: &ast::Expression) -> Expression {
        let read = self.expression(expression);
        if !matches!(read.ty, Type::Integer(_) | Type::Unknown) {
            let found = self.program.type_name(&read.ty);
            self.error(read.span, format!("a number is needed here, and this is {found}"), None);
        }
        read
    }

    pub(super) fn boolean(&mut self, expression: &ast::Expression) -> Expression {
        let read = self.expression(expression);
        if !matches!(read.ty, Type::Boolean | Type::Unknown) {
            let found = self.program.type_name(&read.ty);
            self.error(read.span, format!("a condition is needed here, and this is {found}"), Some("compare it with a value"));
        }
        read
    }

    /// Reports an error if a value does not fit its destination.
    pub(super) fn fit(&mut self, value: &Expression, ty: &Type, what: &str) {
        let fits = match (&value.ty, ty) {
            (Type::Unknown, _) | (_, Type::Unknown) => true,
            (Type::Integer(from), Type::Integer(to)) => match value.kind {
                Kind::Constant(bits) => to.holds(number(bits, &value.ty)),
                _ => from.is_within(*to),
            },
            (from, to) => from == to,
        };
        if !fits {
            let (from, to) = (self.program.type_name(&value.ty), self.program.type_name(ty));
            let both = matches!((&value.ty, ty), (Type::Integer(_), Type::Integer(_)));
            let message = match value.kind {
                Kind::Constant(bits) if both => format!("{} does not fit {what}, which is {to}", number(bits, &value.ty)),
                _ => format!("{from} does not fit {what}, which is {to}"),
            };
            let hint = format!("a cast says that the value is small enough: {to}(…)");
            self.error(value.span, message, Some(hint.as_str()).filter(|_| both && !matches!(value.kind, Kind::Constant(_))));
        }
    }
}

/// The least and the greatest number of a type.
pub(crate) fn range(ty: &Type) -> (i64, i64) {
    match ty {
        Type::Boolean => (0, 1),
        Type::Char | Type::Channel(_) => (0, 255),
        Type::Integer(integer) => (integer.least, integer.greatest),
        _ => (i32::MIN.into(), i32::MAX.into()),
    }
}

/// The number that 32 bits represent.
pub(crate) fn number(bits: i32, ty: &Type) -> i64 {
    if *ty == UNSIGNED { i64::from(bits as u32) } else { i64::from(bits) }
}

/// The value of an operator on constants.
pub(crate) fn compute(op: Binary, a: i32, b: i32, unsigned: bool) -> Option<i32> {
    if unsigned {
        let (a, b) = (a as u32, b as u32);
        let known = match op {
            Binary::Add => Some(a.checked_add(b)? as i32),
            Binary::Subtract => Some(a.checked_sub(b)? as i32),
            Binary::Multiply => Some(a.checked_mul(b)? as i32),
            Binary::Divide => Some(a.checked_div(b)? as i32),
            Binary::Remainder => Some(a.checked_rem(b)? as i32),
            Binary::Less => Some(i32::from(a < b)),
            Binary::LessOrEqual => Some(i32::from(a <= b)),
            Binary::Greater => Some(i32::from(a > b)),
            Binary::GreaterOrEqual => Some(i32::from(a >= b)),
            _ => None,
        };
        if known.is_some() {
            return known;
        }
    }
    Some(match op {
        Binary::Add => a.checked_add(b)?,
        Binary::Subtract => a.checked_sub(b)?,
        Binary::Multiply => a.checked_mul(b)?,
        Binary::Divide => a.checked_div(b)?,
        Binary::Remainder => (b != 0).then(|| a.wrapping_rem(b))?,
        Binary::Equal => i32::from(a == b),
        Binary::Unequal => i32::from(a != b),
        Binary::Less => i32::from(a < b),
        Binary::LessOrEqual => i32::from(a <= b),
        Binary::Greater => i32::from(a > b),
        Binary::GreaterOrEqual => i32::from(a >= b),
        Binary::And | Binary::Intersection => a & b,
        Binary::Or | Binary::Union => a | b,
        Binary::Difference => a & !b,
        Binary::SymmetricDifference => a ^ b,
        Binary::In => (0..32).contains(&a).then(|| b >> a & 1)?,
    })
}
