//! Addresses of C: pointers that are stored, moved and compared.
//!
//! A pointer that never changes is known when the model is read, and nothing of this is needed. For
//! the others every variable has an address, as a compiler would give it one. A pointer is a number
//! in the state. Access through it chooses among the variables of the type that it points to. A
//! pointer to nothing of this type is a violation where it is used, never an access to something
//! else.

use super::bytes::Hit;
use super::expression::{Value, binary, is_const, upper};
use super::guard::at_distance;
use super::types::{CType, Int, Number};
use super::{Binding, Lower, Object, Stop};
use crate::ast::Binary;
use crate::model::{Action, Ex, Node, Place, Scope, Stm, Target};
use lang_c::ast::{BinaryOperator, Expression, MemberOperator, Statement, UnaryOperator};
use lang_c::span::{Node as CNode, Span as CSpan};
use lang_c::visit::{self, Visit};
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

/// The address of the first variable.
const FIRST: i32 = 0x1000;
/// The most variables that one pointer may point to.
const MAX_CANDIDATES: usize = 512;

/// The addresses of variables.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    /// Global variables by their first leaves.
    globals: BTreeMap<usize, (i32, CType)>,
    /// Variables of processes: the process type and the first leaf.
    locals: BTreeMap<(String, usize), (i32, CType)>,
    /// Texts in the model.
    texts: BTreeMap<Vec<u8>, Object>,
    functions: BTreeMap<String, i32>,
    next: i32,
}

/// A leaf that a pointer may point to: its address, and the distances of its elements.
struct Candidate {
    base: i32,
    scope: Scope,
    leaf: usize,
    strides: Vec<(u64, u32)>,
    ty: CType,
}

/// The names that are changed in a piece of C, or whose addresses are taken.
pub(super) fn moving(body: &CNode<Statement>) -> HashSet<String> {
    let mut finder = Changed::default();
    finder.visit_statement(&body.node, &body.span);
    finder.0
}

#[derive(Default)]
struct Changed(HashSet<String>);

impl Changed {
    fn note(&mut self, e: &CNode<Expression>) {
        if let Expression::Identifier(name) = &e.node {
            self.0.insert(name.node.name.clone());
        }
    }
}

impl<'ast> Visit<'ast> for Changed {
    fn visit_binary_operator_expression(&mut self, operation: &'ast lang_c::ast::BinaryOperatorExpression, span: &'ast CSpan) {
        use BinaryOperator as B;
        if matches!(
            operation.operator.node,
            B::Assign
                | B::AssignPlus
                | B::AssignMinus
                | B::AssignMultiply
                | B::AssignDivide
                | B::AssignModulo
                | B::AssignShiftLeft
                | B::AssignShiftRight
                | B::AssignBitwiseAnd
                | B::AssignBitwiseXor
                | B::AssignBitwiseOr
        ) {
            self.note(&operation.lhs);
        }
        visit::visit_binary_operator_expression(self, operation, span);
    }

    fn visit_unary_operator_expression(&mut self, operation: &'ast lang_c::ast::UnaryOperatorExpression, span: &'ast CSpan) {
        use UnaryOperator as U;
        if matches!(operation.operator.node, U::PreIncrement | U::PreDecrement | U::PostIncrement | U::PostDecrement | U::Address) {
            self.note(&operation.operand);
        }
        visit::visit_unary_operator_expression(self, operation, span);
    }
}

impl Lower<'_, '_> {
    /// The type of an expression, if it can be said without evaluating it.
    pub(super) fn type_of(&mut self, e: &CNode<Expression>) -> Option<CType> {
        match &e.node {
            Expression::Identifier(name) if self.binding(&name.node.name).is_none() => {
                let function = self.r.c.functions.get(&name.node.name)?;
                Some(CType::Pointer(Rc::new(CType::Function(Rc::new(function.result.clone())))))
            }
            Expression::Identifier(name) => match self.binding(&name.node.name)? {
                Binding::Object(object) => Some(object.ty),
                Binding::Pointer(object) => Some(CType::Pointer(Rc::new(object.ty))),
                Binding::Value(_, ty) => Some(ty),
            },
            Expression::StringLiteral(_) => Some(CType::Pointer(Rc::new(CHAR))),
            Expression::Member(member) => {
                let (base, name) = (&member.node.expression, &member.node.identifier.node.name);
                let direct = member.node.operator.node == MemberOperator::Direct;
                if let Expression::Identifier(root) = &base.node
                    && self.binding(&root.node.name).is_none()
                {
                    return match (direct, root.node.name.as_str()) {
                        (true, "now") => self.global(name).map(|object| object.ty),
                        (false, process) if process.starts_with('P') => self.local(name).map(|object| object.ty),
                        _ => None,
                    };
                }
                let of = self.type_of(base)?;
                let structure = if direct { of } else { target(&of)? };
                let CType::Struct(index) = structure else { return None };
                let mut ty = structure;
                for number in self.field_path(index, name)? {
                    let CType::Struct(of) = ty else { return None };
                    ty = self.r.c.structs[of].fields[number].1.clone();
                }
                Some(ty)
            }
            Expression::Cast(cast) => self.type_name(&cast.node.type_name).ok(),
            Expression::Call(call) => match &call.node.callee.node {
                Expression::Identifier(name)
                    if self.binding(&name.node.name).is_none() && !self.r.c.functions.contains_key(&name.node.name) =>
                {
                    self.written_in_c(&name.node.name, None).map(|function| function.result.clone())
                }
                Expression::Identifier(name) if self.r.c.functions.contains_key(&name.node.name) => {
                    self.r.c.functions.get(&name.node.name).map(|function| function.result.clone())
                }
                _ => match self.pointee(&call.node.callee)? {
                    CType::Function(result) => Some((*result).clone()),
                    _ => None,
                },
            },
            Expression::UnaryOperator(operation) => match operation.node.operator.node {
                UnaryOperator::Indirection => target(&self.type_of(&operation.node.operand)?),
                UnaryOperator::Address if self.is_function(&operation.node.operand) => self.type_of(&operation.node.operand),
                UnaryOperator::Address => Some(CType::Pointer(Rc::new(self.type_of(&operation.node.operand)?))),
                UnaryOperator::Negate => Some(INT),
                _ => self.type_of(&operation.node.operand),
            },
            Expression::BinaryOperator(operation) => {
                use BinaryOperator as B;
                let (lhs, rhs) = (&operation.node.lhs, &operation.node.rhs);
                match operation.node.operator.node {
                    B::Index => target(&self.type_of(lhs)?).or_else(|| target(&self.type_of(rhs)?)),
                    B::Plus | B::Minus => {
                        let (a, b) = (self.type_of(lhs), self.type_of(rhs));
                        match (a.as_ref().and_then(target), b.as_ref().and_then(target)) {
                            (Some(_), Some(_)) => Some(LONG),
                            (Some(to), None) | (None, Some(to)) => Some(CType::Pointer(Rc::new(to))),
                            (None, None) => a,
                        }
                    }
                    B::Less | B::Greater | B::LessOrEqual | B::GreaterOrEqual | B::Equals | B::NotEquals | B::LogicalAnd | B::LogicalOr => {
                        Some(INT)
                    }
                    _ => self.type_of(lhs),
                }
            }
            Expression::Conditional(conditional) => {
                let yes = self.type_of(&conditional.node.then_expression);
                match yes {
                    Some(ty @ CType::Pointer(_)) => Some(ty),
                    yes => self.type_of(&conditional.node.else_expression).filter(|ty| matches!(ty, CType::Pointer(_))).or(yes),
                }
            }
            Expression::Comma(parts) => self.type_of(parts.last()?),
            Expression::CompoundLiteral(literal) => self.type_name(&literal.node.type_name).ok(),
            _ => None,
        }
    }

    /// What an expression points to, if it is a pointer or an array.
    pub(super) fn pointee(&mut self, e: &CNode<Expression>) -> Option<CType> {
        self.type_of(e).as_ref().and_then(target)
    }

    /// The address that is the value of a pointer.
    pub(super) fn address(&mut self, e: &CNode<Expression>) -> Result<Ex, Stop> {
        match &e.node {
            Expression::Identifier(name) => match self.binding(&name.node.name) {
                Some(Binding::Pointer(object)) => return self.address_of(&object, e.span),
                Some(Binding::Object(object)) if matches!(object.ty, CType::Array(..)) => return self.address_of(&object, e.span),
                None if name.node.name == "NULL" => return Ok(Ex::Const(0)),
                None => {
                    if let Some(number) = self.function_number(&name.node.name) {
                        return Ok(Ex::Const(number));
                    }
                }
                _ => {}
            },
            Expression::StringLiteral(text) => {
                let bytes = super::strings::bytes(&text.node);
                let object = self.constant_text(bytes, e.span)?;
                return self.address_of(&object, e.span);
            }
            Expression::UnaryOperator(operation)
                if operation.node.operator.node == UnaryOperator::Address && self.is_function(&operation.node.operand) =>
            {
                return self.address(&operation.node.operand);
            }
            Expression::UnaryOperator(operation) if operation.node.operator.node == UnaryOperator::Address => {
                let object = self.object(&operation.node.operand)?;
                return self.address_of(&object, e.span);
            }
            Expression::Cast(cast) => {
                if let CType::Pointer(to) = self.type_name(&cast.node.type_name)? {
                    self.may_be_cast(&cast.node.expression, &to, e.span)?;
                    return self.address(&cast.node.expression);
                }
            }
            Expression::BinaryOperator(operation)
                if matches!(operation.node.operator.node, BinaryOperator::Plus | BinaryOperator::Minus) =>
            {
                let (lhs, rhs) = (&operation.node.lhs, &operation.node.rhs);
                if let Some(to) = self.pointee(lhs) {
                    let base = self.address(lhs)?;
                    let by = self.value(rhs)?;
                    let by = self.index_of(by);
                    let by = match operation.node.operator.node {
                        BinaryOperator::Minus => binary(Binary::Sub, Ex::Const(0), by),
                        _ => by,
                    };
                    return Ok(at_distance(base, by, self.size(&to).0));
                }
                if let Some(to) = self.pointee(rhs) {
                    let by = self.value(lhs)?;
                    let by = self.index_of(by);
                    let base = self.address(rhs)?;
                    return Ok(at_distance(base, by, self.size(&to).0));
                }
            }
            Expression::Conditional(conditional) => {
                let condition = self.condition(&conditional.node.condition)?;
                let (yes, no) = (&conditional.node.then_expression, &conditional.node.else_expression);
                let number = |lower: &mut Self, e: &CNode<Expression>| Ok(Value::of(lower.address(e)?, Number::U32));
                return Ok(self.choice(condition, e.span, |lower| number(lower, yes), |lower| number(lower, no))?.ex);
            }
            _ => {}
        }
        if let Some(CType::Array(..)) = self.type_of(e) {
            let object = self.object(e)?;
            return self.address_of(&object, e.span);
        }
        Ok(self.value(e)?.ex)
    }

    /// The address of a function: below those of all variables.
    fn function_number(&mut self, name: &str) -> Option<i32> {
        let function = self.r.c.functions.get(name)?;
        let numbers = &mut self.r.c.addresses.functions;
        let next = numbers.len() as i32 + 1;
        numbers.entry(function.name.clone()).or_insert(next);
        numbers.get(name).copied()
    }

    pub(super) fn is_function(&self, e: &CNode<Expression>) -> bool {
        match &e.node {
            Expression::Identifier(name) => self.binding(&name.node.name).is_none() && self.r.c.functions.contains_key(&name.node.name),
            _ => false,
        }
    }

    /// The functions that a pointer may name: those with as many parameters and the same result.
    pub(super) fn functions_like(&mut self, result: &CType, parameters: usize) -> Vec<(i32, Rc<super::Function>)> {
        let like = self.r.c.functions.values().filter(|function| function.result == *result && function.parameters.len() == parameters);
        let mut found: Vec<Rc<super::Function>> = like.filter(|function| !function.name.starts_with("__")).cloned().collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found.into_iter().filter_map(|function| Some((self.function_number(&function.name)?, function))).collect()
    }

    /// An address that is known when the model is read.
    pub(super) fn constant_address(&mut self, e: &CNode<Expression>) -> Result<i32, Stop> {
        let pure = std::mem::replace(&mut self.pure, true);
        let address = self.address(e);
        self.pure = pure;
        is_const(&address?).ok_or_else(|| self.wrong(e.span, "this is not known when the model is read"))
    }

    /// A text of the model as a variable that nothing changes.
    fn constant_text(&mut self, bytes: Vec<u8>, at: CSpan) -> Result<Object, Stop> {
        if let Some(known) = self.r.c.addresses.texts.get(&bytes) {
            return Ok(known.clone());
        }
        let ty = CType::Array(Rc::new(CHAR), bytes.len() as u32);
        let name = format!("text'{}", self.r.c.addresses.texts.len() + 1);
        let object = self.allocate_in(Scope::Global, &name, &ty, false, at)?;
        self.r.model.globals[object.leaf].initial = bytes.iter().map(|byte| i32::from(*byte as i8)).collect();
        self.r.c.addresses.texts.insert(bytes, object.clone());
        Ok(object)
    }

    /// Whether a pointer may become one to another type: to characters, which are the bytes of
    /// anything, and back.
    pub(super) fn may_be_cast(&mut self, e: &CNode<Expression>, to: &CType, at: CSpan) -> Result<(), Stop> {
        let Some(from) = self.pointee(e) else { return Ok(()) };
        let begins_with = |mut whole: CType, part: &CType, lower: &Self| loop {
            if alike(&whole, part) {
                return true;
            }
            whole = match whole {
                CType::Array(element, _) => (*element).clone(),
                CType::Struct(index) if lower.r.c.structs[index].union => return true,
                CType::Struct(index) => match lower.r.c.structs[index].fields.first() {
                    Some((_, ty)) => ty.clone(),
                    None => return false,
                },
                _ => return false,
            };
        };
        let fits = from == CType::Void || *to == CType::Void || begins_with(from.clone(), to, self) || begins_with(to.clone(), &from, self);
        let bytes = |ty: &CType| matches!(ty, CType::Int(int) if int.bits == 8 && !int.truth);
        if fits {
            // What is behind a `void *` may be anything, but not in our own functions.
            let own = self.calls.last().is_some_and(|name| super::memory::is_own(name));
            let from_void = from == CType::Void && !is_allocated(e) && to.number().is_some();
            if !own && (from_void || (bytes(to) && !bytes(&from) && from != CType::Void)) {
                self.r.c.wanted.bytes = true;
            }
            return Ok(());
        }
        if !bytes(&from) && !bytes(to) {
            let hint = "a number can be taken apart by a pointer to characters, or by a union";
            return Err(self.wrong_with(at, "a pointer to another type", hint));
        }
        self.r.c.wanted.bytes = true;
        Ok(())
    }

    /// The address of a variable or of a part of one.
    pub(super) fn address_of(&mut self, object: &Object, at: CSpan) -> Result<Ex, Stop> {
        if let Some(address) = &object.at {
            return Ok(address.clone());
        }
        let Some(root) = self.root(object) else { return Err(self.wrong(at, "the address of this cannot be taken")) };
        if self.recursion.owns(&root) {
            let message = "the address of a variable of a function that calls itself is not supported";
            return Err(self.wrong_with(at, message, "declare the variable `static`, or outside the function"));
        }
        let mut address = Ex::Const(self.base(&root));
        let (mut ty, mut leaf) = (root.ty, object.leaf - root.leaf);
        let mut indices = object.indices.iter();
        loop {
            match ty {
                CType::Struct(index) if self.r.c.structs[index].union => break,
                CType::Struct(index) if ty != object.ty || indices.len() > 0 || leaf > 0 => {
                    let mut number = 0;
                    let fields = &self.r.c.structs[index].fields;
                    while let Some((_, field)) = fields.get(number) {
                        let own = self.leaves(field);
                        if leaf < own {
                            break;
                        }
                        leaf -= own;
                        number += 1;
                    }
                    let Some((_, field)) = fields.get(number) else { return Err(Stop) };
                    let field = field.clone();
                    address = at_distance(address, Ex::Const(self.offset(index, number) as i32), 1);
                    ty = field;
                }
                CType::Array(element, _) => {
                    let Some(index) = indices.next() else { break };
                    address = at_distance(address, index.clone(), self.size(&element).0);
                    ty = (*element).clone();
                }
                _ => break,
            }
        }
        match &object.within {
            Some(within) => Ok(at_distance(address, within.clone(), 1)),
            None => Ok(address),
        }
    }

    /// The variable that an object is part of.
    fn root(&mut self, object: &Object) -> Option<Object> {
        let mut known: Vec<Object> = Vec::new();
        match object.scope {
            Scope::Global => known = self.global_roots(),
            Scope::Local => {
                let current = self.r.current.as_ref()?;
                known.extend(current.c_slots.iter().cloned());
                known.extend(current.c_objects.iter().map(|(_, object)| object.clone()));
                let symbols: Vec<_> =
                    current.scopes.iter().flat_map(|scope| scope.values()).chain(current.outline.values()).cloned().collect();
                known.extend(symbols.iter().map(|symbol| self.promela(symbol)));
            }
        }
        known.into_iter().find(|root| root.scope == object.scope && (root.leaf..root.leaf + self.leaves(&root.ty)).contains(&object.leaf))
    }

    fn global_roots(&mut self) -> Vec<Object> {
        let symbols: Vec<_> = self.r.globals.values().filter(|symbol| symbol.scope == Scope::Global).cloned().collect();
        let mut known: Vec<Object> = symbols.iter().map(|symbol| self.promela(symbol)).collect();
        known.extend(self.r.c.objects.values().cloned());
        known.extend(self.r.c.state.values().cloned());
        known.extend(self.r.c.addresses.texts.values().cloned());
        known.sort_by_key(|object| object.leaf);
        known
    }

    fn base(&mut self, root: &Object) -> i32 {
        let (size, _) = self.size(&root.ty);
        let process = self.r.current.as_ref().map(|current| current.c_process.clone()).unwrap_or_default();
        let addresses = &mut self.r.c.addresses;
        let next = addresses.next.max(FIRST);
        let room = (size as u32).next_multiple_of(16) as i32 + 16;
        let known = match root.scope {
            Scope::Global => addresses.globals.entry(root.leaf),
            Scope::Local => {
                let entry = addresses.locals.entry((process, root.leaf)).or_insert_with(|| {
                    addresses.next = next + room;
                    (next, root.ty.clone())
                });
                return entry.0;
            }
        };
        known
            .or_insert_with(|| {
                addresses.next = next + room;
                (next, root.ty.clone())
            })
            .0
    }

    /// The leaves that a pointer to this type may point to.
    fn candidates(&mut self, ty: &CType) -> Vec<Candidate> {
        for root in self.global_roots() {
            self.base(&root);
        }
        let process = self.r.current.as_ref().map(|current| current.c_process.clone()).unwrap_or_default();
        let addresses = &self.r.c.addresses;
        let globals = addresses.globals.iter().map(|(leaf, (base, ty))| (Scope::Global, *leaf, *base, ty.clone()));
        let locals = addresses.locals.iter().filter(|((of, _), _)| *of == process);
        let locals = locals.map(|((_, leaf), (base, ty))| (Scope::Local, *leaf, *base, ty.clone()));
        let mut found = Vec::new();
        for (scope, leaf, base, root) in globals.chain(locals) {
            self.leaves_of(Candidate { base, scope, leaf, strides: Vec::new(), ty: root }, ty, &mut found);
        }
        found
    }

    fn leaves_of(&self, part: Candidate, wanted: &CType, found: &mut Vec<Candidate>) {
        let apart = self.r.c.given.bytes;
        if found.len() >= MAX_CANDIDATES {
            return;
        }
        let is_byte = |ty: &CType| matches!(ty, CType::Int(int) if int.bits == 8);
        match &part.ty {
            CType::Struct(index) if self.r.c.structs[*index].union => {
                let fits = self.size(wanted).0 <= self.size(&part.ty).0;
                found.extend(fits.then_some(part));
            }
            // An array of characters may contain other numbers.
            CType::Array(element, length) if apart && is_byte(element) && !is_byte(wanted) => {
                let fits = self.size(wanted).0 <= u64::from(*length);
                found.extend(fits.then_some(part));
            }
            CType::Array(element, length) => {
                let mut strides = part.strides.clone();
                strides.push((self.size(element).0, *length));
                self.leaves_of(Candidate { strides, ty: (**element).clone(), ..part }, wanted, found);
            }
            CType::Struct(index) => {
                let (mut leaf, mut end) = (part.leaf, 0);
                let fields = &self.r.c.structs[*index].fields;
                for number in 0..=fields.len() {
                    let (offset, size) = match fields.get(number) {
                        Some((_, ty)) => (self.offset(*index, number), self.size(ty).0),
                        None => (self.size(&part.ty).0, 0),
                    };
                    if apart && is_byte(wanted) && offset > end {
                        let ty = CType::Array(Rc::new(CType::Void), (offset - end) as u32);
                        found.push(Candidate { base: part.base + end as i32, strides: part.strides.clone(), ty, ..part });
                    }
                    end = offset + size;
                    let Some((_, ty)) = fields.get(number) else { break };
                    let base = part.base + offset as i32;
                    self.leaves_of(Candidate { base, leaf, strides: part.strides.clone(), ty: ty.clone(), ..part }, wanted, found);
                    leaf += self.leaves(ty);
                }
            }
            ty if alike(ty, wanted) => found.push(part),
            CType::Int(_) | CType::Float(_) | CType::Pointer(_) if apart && is_byte(wanted) => found.push(part),
            _ => {}
        }
    }

    /// Whether a value at an address is in a leaf, and where in it.
    fn hit(&mut self, candidate: &Candidate, address: &Ex, wanted: &CType) -> (Ex, Hit) {
        let same = alike(&candidate.ty, wanted);
        // The first byte of the value may be any of these.
        let own = self.size(&candidate.ty).0;
        let room = if same { 1 } else { own + 1 - self.size(wanted).0 };
        let mut rest = binary(Binary::Sub, address.clone(), Ex::Const(candidate.base));
        let whole = candidate.strides.first().map_or(room, |(size, length)| size * u64::from(*length));
        let inside = |rest: &Ex, room: u64| match room {
            1 => binary(Binary::Eq, rest.clone(), Ex::Const(0)),
            room => and(binary(Binary::Ge, rest.clone(), Ex::Const(0)), binary(Binary::Lt, rest.clone(), Ex::Const(room as i32))),
        };
        let mut condition = match candidate.strides.is_empty() && room == 1 {
            true => binary(Binary::Eq, address.clone(), Ex::Const(candidate.base)),
            false => inside(&rest, whole),
        };
        let mut indices = Vec::new();
        for (depth, (size, _)) in candidate.strides.iter().enumerate() {
            let size = Ex::Const(*size as i32);
            indices.push(binary(Binary::Div, rest.clone(), size.clone()));
            rest = binary(Binary::Rem, rest, size);
            if let Some((inner, length)) = candidate.strides.get(depth + 1) {
                let inside = binary(Binary::Lt, rest.clone(), Ex::Const((inner * u64::from(*length)) as i32));
                condition = and(condition, inside);
            } else if candidate.strides.last().is_some_and(|(size, _)| *size != if same { own } else { room }) {
                condition = and(condition, inside(&rest, room));
            }
        }
        let ty = self.r.table(candidate.scope)[candidate.leaf].ty;
        let place = Place { scope: candidate.scope, leaf: candidate.leaf, indices, ty };
        let hit = match &candidate.ty {
            _ if same => Hit::Place(place),
            CType::Array(element, _) if **element == CType::Void => Hit::Padding,
            CType::Struct(_) | CType::Array(..) => Hit::View(Object {
                scope: place.scope,
                leaf: place.leaf,
                indices: place.indices,
                ty: wanted.clone(),
                at: None,
                within: Some(rest),
            }),
            _ => Hit::Part(place, rest),
        };
        (condition, hit)
    }

    /// The value at an address.
    pub(super) fn load_at(&mut self, address: &Ex, ty: &CType, at: CSpan) -> Result<(Ex, Option<Ex>), Stop> {
        let address = self.steady(address, at)?;
        let either = |condition: &Ex, here: Ex, other: Ex| Ex::Conditional(Box::new(condition.clone()), Box::new(here), Box::new(other));
        let (mut value, mut high) = (WILD, ty.is_wide().then_some(WILD));
        for candidate in self.candidates(ty).into_iter().rev() {
            let (condition, hit) = self.hit(&candidate, &address, ty);
            let known = is_const(&condition);
            if known == Some(0) {
                continue;
            }
            let (here, upper) = match hit {
                Hit::Place(place) => {
                    let upper = Place { leaf: place.leaf + 1, ..place.clone() };
                    match known {
                        Some(_) => (self.loaded(place), high.is_some().then(|| self.loaded(upper))),
                        None => (Ex::Load(place), high.is_some().then_some(Ex::Load(upper))),
                    }
                }
                Hit::View(object) => {
                    let pure = std::mem::replace(&mut self.pure, true);
                    let loaded = self.load_view(&object, at);
                    self.pure = pure;
                    loaded?
                }
                Hit::Part(place, position) => {
                    let signed = matches!(ty, CType::Int(int) if int.signed);
                    (self.part(place, &candidate.ty, &position, signed), None)
                }
                Hit::Padding => (Ex::Const(0), None),
            };
            if known.is_some() {
                return Ok((here, upper));
            }
            high = high.zip(upper).map(|(high, upper)| either(&condition, upper, high));
            value = either(&condition, here, value);
        }
        if value == WILD && self.guard.is_some() {
            self.emit(Action::Assert(WILD), at)?;
            self.know(None);
        }
        Ok((value, high))
    }

    /// Stores a value at an address.
    pub(super) fn store_at(&mut self, address: &Ex, ty: &CType, value: Value, at: CSpan) -> Result<(), Stop> {
        let address = self.steady(address, at)?;
        let high = match ty.is_wide() {
            true => Some(self.steady(&upper(&value), at)?),
            false => None,
        };
        let value = self.steady(&value.ex, at)?;
        let span = self.at(at);
        let mut otherwise = vec![Stm { node: Node::Basic(Action::Assert(WILD)), span }];
        for candidate in self.candidates(ty).into_iter().rev() {
            let (condition, hit) = self.hit(&candidate, &address, ty);
            let known = is_const(&condition);
            if known == Some(0) || (self.guard.is_some() && known.is_none() && candidate.scope == Scope::Global) {
                continue;
            }
            let assigned = match hit {
                Hit::Place(place) => {
                    let second = high.clone().map(|high| (Place { leaf: place.leaf + 1, ..place.clone() }, high));
                    let mut assigned = vec![(place, value.clone())];
                    assigned.extend(second);
                    assigned
                }
                Hit::View(object) => {
                    let whole = Value { ex: value.clone(), high: high.clone(), number: ty.number().unwrap_or(Number::I32) };
                    self.taken_apart(&object, &whole, at)?
                }
                Hit::Part(place, position) => self.part_stored(place, &candidate.ty, &position, &value),
                Hit::Padding => Vec::new(),
            };
            let assign = |(place, value): (Place, Ex)| Action::Assign(Target::Place(place), value);
            if known.is_some() {
                return assigned.into_iter().try_for_each(|pair| self.emit(assign(pair), at));
            }
            let mut yes = vec![Stm { node: Node::Basic(Action::Guard(condition)), span }];
            for pair in assigned {
                if pair.0.scope == Scope::Global {
                    self.r.c.written.insert(pair.0.leaf);
                }
                yes.push(Stm { node: Node::Basic(assign(pair)), span });
            }
            otherwise.insert(0, Stm { node: Node::Else, span });
            otherwise = vec![Stm { node: Node::If(vec![yes, otherwise]), span }];
        }
        if self.pure {
            return Err(self.wrong_with(at, "a condition in C must not change anything", "use `c_code` for statements"));
        }
        self.know_nothing();
        self.out.append(&mut otherwise);
        Ok(())
    }

    /// The value in a variable, if it is not one already.
    pub(super) fn steady(&mut self, ex: &Ex, at: CSpan) -> Result<Ex, Stop> {
        match ex {
            Ex::Const(_) => Ok(ex.clone()),
            Ex::Load(place) if place.indices.is_empty() && place.scope == Scope::Local => Ok(ex.clone()),
            _ if self.pure => Ok(ex.clone()),
            _ => {
                let slot = self.temporary(&CType::Int(Int::new(32, true)), at)?;
                self.store(&slot, super::expression::int(ex.clone()), at)?;
                Ok(self.load(&slot, at)?.ex)
            }
        }
    }
}

/// Reached by a pointer that points to no variable.
pub(super) const WILD: Ex = Ex::Never("access_outside");

/// `char`.
pub(super) const CHAR: CType = CType::Int(Int::new(8, true));
const INT: CType = CType::Int(Int::new(32, true));
const LONG: CType = CType::Int(Int::new(64, true));

/// What a pointer or an array points to.
fn target(ty: &CType) -> Option<CType> {
    match ty {
        CType::Pointer(to) => Some((**to).clone()),
        CType::Array(element, _) => Some((**element).clone()),
        _ => None,
    }
}

/// Whether a pointer to the one may be used for the other: the sign of a number does not matter.
fn alike(a: &CType, b: &CType) -> bool {
    match (a, b) {
        (CType::Int(a), CType::Int(b)) => a.bits.next_multiple_of(8) == b.bits.next_multiple_of(8),
        (CType::Float(a), CType::Float(b)) => a == b,
        (CType::Pointer(_), CType::Pointer(_)) => true,
        (a, b) => a == b,
    }
}

fn and(a: Ex, b: Ex) -> Ex {
    match (&a, &b) {
        (Ex::Const(0), _) | (_, Ex::Const(0)) => Ex::Const(0),
        (Ex::Const(_), _) => b,
        (_, Ex::Const(_)) => a,
        _ => binary(Binary::And, a, b),
    }
}

/// Whether a pointer is to memory that has just been allocated.
fn is_allocated(e: &CNode<Expression>) -> bool {
    match &e.node {
        Expression::Call(call) => {
            matches!(&call.node.callee.node, Expression::Identifier(name) if super::memory::is_own(&name.node.name))
        }
        Expression::Cast(cast) => is_allocated(&cast.node.expression),
        _ => false,
    }
}
