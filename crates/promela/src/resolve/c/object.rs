//! Objects of C: the variable, or the part of one, that an expression names or a pointer points to.

use super::address::WILD;
use super::expression::{binary, int, is_const};
use super::guard::at_distance;
use super::types::{CType, Int};
use super::{Binding, Lower, Object, Stop};
use crate::ast::Binary;
use crate::model::{Action, Ex, Scope};
use lang_c::ast::{BinaryOperator, Expression, Initializer, MemberOperator, UnaryOperator};
use lang_c::span::{Node as CNode, Span as CSpan};
use source::did_you_mean;

impl Object {
    /// An object at an address that is computed.
    pub(super) fn at(address: Ex, ty: CType) -> Object {
        Object { scope: Scope::Global, leaf: usize::MAX - 1, indices: Vec::new(), ty, at: Some(address), within: None }
    }
}

impl Lower<'_, '_> {
    pub(super) fn binding(&self, name: &str) -> Option<Binding> {
        let inner = self.scopes.iter().rev().find_map(|scope| scope.get(name)).cloned();
        let inner = inner.or_else(|| self.r.c.objects.get(&self.static_name(name)).cloned().map(Binding::Object));
        inner.or_else(|| self.r.c.objects.get(name).cloned().map(Binding::Object))
    }

    pub(super) fn unknown(&mut self, name: &str, at: CSpan) -> Stop {
        let in_model = self.r.globals.contains_key(name).then(|| format!("a variable of the model is `now.{name}` in C"));
        let local = self
            .local(name)
            .is_some()
            .then(|| format!("a local variable is `P->{name}` in C, with the name of the process type behind `P`"));
        let hint = local.or(in_model).or_else(|| {
            let names: Vec<String> =
                self.scopes.iter().flat_map(|scope| scope.keys().cloned()).chain(self.r.c.objects.keys().cloned()).collect();
            did_you_mean(name, names.iter().map(String::as_str))
        });
        self.wrong_perhaps(at, format!("`{name}` is not declared in C"), hint)
    }

    /// The object that an expression names.
    pub(super) fn object(&mut self, e: &CNode<Expression>) -> Result<Object, Stop> {
        match &e.node {
            Expression::Identifier(name) => match self.binding(&name.node.name) {
                Some(Binding::Object(object)) => Ok(object),
                Some(Binding::Pointer(_)) => {
                    Err(self.wrong_with(e.span, "a pointer cannot be changed", "change what it points to, by `*` or `->`"))
                }
                Some(Binding::Value(..)) => Err(self.wrong(e.span, "a condition in C must not change anything")),
                None => Err(self.unknown(&name.node.name, e.span)),
            },
            Expression::Member(member) => {
                let (base, name) = (&member.node.expression, &member.node.identifier);
                let root = match &base.node {
                    Expression::Identifier(root) if self.binding(&root.node.name).is_none() => Some(root.node.name.as_str()),
                    _ => None,
                };
                let direct = member.node.operator.node == MemberOperator::Direct;
                if direct && root == Some("now") {
                    let found = self.global(&name.node.name);
                    return found.ok_or_else(|| self.no_global(&name.node.name, name.span));
                }
                if let (false, Some(process)) = (direct, root.and_then(|root| root.strip_prefix('P'))) {
                    return self.of_process(process, &name.node.name, e.span);
                }
                let object = if direct { self.object(base)? } else { self.pointer(base)? };
                let CType::Struct(index) = object.ty else { return Err(self.wrong(base.span, "this is not a structure")) };
                match self.field_path(index, &name.node.name) {
                    Some(path) => Ok(path.into_iter().fold(object, |object, number| match object.ty {
                        CType::Struct(of) => self.field_at(&object, of, number),
                        _ => object,
                    })),
                    None => {
                        let fields: Vec<&str> = self.r.c.structs[index].fields.iter().map(|(field, _)| field.as_str()).collect();
                        let hint = did_you_mean(&name.node.name, fields);
                        let message = format!("there is no field `{}`", name.node.name);
                        Err(self.wrong_perhaps(name.span, message, hint))
                    }
                }
            }
            Expression::BinaryOperator(operation) if operation.node.operator.node == BinaryOperator::Index => {
                self.element_of(&operation.node.lhs, &operation.node.rhs, e.span)
            }
            Expression::UnaryOperator(operation) if operation.node.operator.node == UnaryOperator::Indirection => {
                self.pointer(&operation.node.operand)
            }
            Expression::Cast(cast) => self.object(&cast.node.expression),
            // A call that gives a structure.
            Expression::Call(_) => match self.called(e)? {
                Some(object) => Ok(object),
                None => Err(self.wrong(e.span, "this is not the name of a variable")),
            },
            Expression::BinaryOperator(operation) if operation.node.operator.node == BinaryOperator::Assign => {
                self.assign(&operation.node.lhs, &operation.node.rhs, e.span)
            }
            Expression::Conditional(conditional) => {
                let (yes, no) = (&conditional.node.then_expression, &conditional.node.else_expression);
                match self.condition(&conditional.node.condition)? {
                    Ex::Const(0) => self.object(no),
                    Ex::Const(_) => self.object(yes),
                    condition => {
                        let Some(ty) = self.type_of(yes) else { return Err(self.wrong(e.span, "this is not the name of a variable")) };
                        let slot = self.temporary(&ty, e.span)?;
                        let before = self.knowledge();
                        let first = self.apart(|lower| lower.object(yes).and_then(|from| lower.copy(&slot, &from, e.span)))?;
                        let after = self.knowledge();
                        self.know(before);
                        let second = self.apart(|lower| lower.object(no).and_then(|from| lower.copy(&slot, &from, e.span)))?;
                        self.know_either(after);
                        self.branch(condition, first, second, e.span);
                        Ok(slot)
                    }
                }
            }
            Expression::CompoundLiteral(literal) => {
                let ty = self.type_name(&literal.node.type_name)?;
                let object = self.temporary(&ty, e.span)?;
                let list = CNode::new(Initializer::List(literal.node.initializer_list.clone()), e.span);
                self.start(&object, Some(&list), e.span)?;
                Ok(object)
            }
            _ => Err(self.wrong(e.span, "this is not the name of a variable")),
        }
    }

    fn no_global(&mut self, name: &str, at: CSpan) -> Stop {
        let names: Vec<String> = self.r.globals.keys().map(|k| k.to_string()).chain(self.r.c.state.keys().cloned()).collect();
        let hint = did_you_mean(name, names.iter().map(String::as_str));
        let message = format!("the state has no variable `{name}`");
        self.wrong_perhaps(at, message, hint)
    }

    fn of_process(&mut self, process: &str, name: &str, at: CSpan) -> Result<Object, Stop> {
        let own = self.r.current.as_ref().is_some_and(|current| &*current.c_process == process);
        if !own {
            let message = format!("only a process of the type `{process}` can name its variables by `P{process}`");
            return Err(self.wrong_with(at, message, "a variable that several processes use is global"));
        }
        self.local(name).ok_or_else(|| self.wrong(at, format!("`{process}` has no variable `{name}`")))
    }

    /// The object that a pointer points to.
    pub(super) fn pointer(&mut self, e: &CNode<Expression>) -> Result<Object, Stop> {
        match &e.node {
            Expression::Identifier(name) => {
                if let Some(Binding::Pointer(object)) = self.binding(&name.node.name) {
                    return Ok(object);
                }
            }
            Expression::UnaryOperator(operation)
                if operation.node.operator.node == UnaryOperator::Address && !self.is_function(&operation.node.operand) =>
            {
                return self.object(&operation.node.operand);
            }
            Expression::BinaryOperator(operation) if operation.node.operator.node == BinaryOperator::Plus => {
                let base = self.pointer(&operation.node.lhs)?;
                let index = self.value(&operation.node.rhs)?;
                let index = self.index_of(index);
                return self.moved(base, index, e.span);
            }
            Expression::Cast(cast) => {
                if let CType::Pointer(to) = self.type_name(&cast.node.type_name)? {
                    if self.pointee(&cast.node.expression).is_some_and(|from| from == *to || *to == CType::Void) {
                        return self.pointer(&cast.node.expression);
                    }
                    let address = self.address(e)?;
                    return Ok(Object::at(address, (*to).clone()));
                }
            }
            _ => {}
        }
        if let Expression::Constant(_) = &e.node {
            let address = self.value(e)?.ex;
            return Ok(Object::at(address, CType::Void));
        }
        match self.type_of(e) {
            None if matches!(&e.node, Expression::Identifier(name) if name.node.name == "NULL") => {
                Ok(Object::at(Ex::Const(0), CType::Void))
            }
            Some(CType::Pointer(to)) => {
                let address = self.address(e)?;
                Ok(Object::at(address, (*to).clone()))
            }
            Some(CType::Int(_) | CType::Struct(_)) => Err(self.wrong(e.span, "this is not a pointer")),
            _ => {
                let object = self.object(e)?;
                match object.ty {
                    CType::Array(..) => Ok(self.element(&object, Ex::Const(0))),
                    _ => Err(self.wrong(e.span, "this is not a pointer")),
                }
            }
        }
    }

    /// The element at this distance.
    pub(super) fn moved(&mut self, mut object: Object, by: Ex, at: CSpan) -> Result<Object, Stop> {
        if by == Ex::Const(0) {
            return Ok(object);
        }
        if let Some(address) = object.at.take() {
            let size = self.size(&object.ty).0;
            return Ok(Object { at: Some(at_distance(address, by, size)), ..object });
        }
        if let Some(within) = object.within.take() {
            let size = self.size(&object.ty).0;
            return Ok(Object { within: Some(at_distance(within, by, size)), ..object });
        }
        match object.indices.pop() {
            Some(Ex::Const(0)) => object.indices.push(by),
            Some(index) => object.indices.push(binary(Binary::Add, index, by)),
            None => return Err(self.wrong(at, "this is not an array")),
        }
        Ok(object)
    }

    /// `a[i]`.
    pub(super) fn element_of(&mut self, array: &CNode<Expression>, index: &CNode<Expression>, at: CSpan) -> Result<Object, Stop> {
        let element = self.pointer(array)?;
        let index = self.value(index)?;
        let index = self.index_of(index);
        let element = self.moved(element, index, at)?;
        self.inside(element, at)
    }

    /// The object, if it is not known to be outside its array. While a condition is made, a path
    /// ends where it leaves an array.
    fn inside(&mut self, object: Object, at: CSpan) -> Result<Object, Stop> {
        if self.guard.is_some()
            && object.at.is_none()
            && object.within.is_none()
            && let Some(Ex::Const(index)) = object.indices.last()
        {
            let dimensions = &self.r.table(object.scope)[object.leaf].dimensions;
            let length = dimensions.get(object.indices.len() - 1).copied().unwrap_or(0);
            if *index < 0 || *index as u32 >= length {
                self.emit(Action::Assert(WILD), at)?;
                self.know(None);
            }
        }
        Ok(object)
    }

    /// The object with constant indices.
    pub(super) fn fixed(&mut self, mut object: Object, at: CSpan) -> Result<Object, Stop> {
        for index in &mut object.indices {
            if is_const(index).is_none() && !self.pure {
                let slot = self.temporary(&CType::Int(Int::new(32, true)), at)?;
                self.store(&slot, int(index.clone()), at)?;
                *index = self.load(&slot, at)?.ex;
            }
        }
        for number in [&mut object.at, &mut object.within].into_iter().flatten() {
            if is_const(number).is_none() && !self.pure {
                let slot = self.temporary(&CType::Int(Int::new(32, true)), at)?;
                self.store(&slot, int(number.clone()), at)?;
                *number = self.load(&slot, at)?.ex;
            }
        }
        Ok(object)
    }
}
