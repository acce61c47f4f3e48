//! Objects of C: the variable, or the part of one, that an expression names or a pointer points to.

use super::expression::{binary, int, is_const};
use super::types::{CType, Int};
use super::{Binding, Lower, Object, Stop};
use crate::ast::Binary;
use crate::model::Ex;
use lang_c::ast::{BinaryOperator, Expression, MemberOperator, UnaryOperator};
use lang_c::span::{Node as CNode, Span as CSpan};
use source::did_you_mean;

impl Lower<'_, '_> {
    pub(super) fn binding(&self, name: &str) -> Option<Binding> {
        let inner = self.scopes.iter().rev().find_map(|scope| scope.get(name)).cloned();
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
                let fields: Vec<&str> = self.r.c.structs[index].fields.iter().map(|(field, _)| field.as_str()).collect();
                match fields.iter().position(|field| **field == name.node.name) {
                    Some(number) => Ok(self.field_at(&object, index, number)),
                    None => {
                        let hint = did_you_mean(&name.node.name, fields);
                        let message = format!("there is no field `{}`", name.node.name);
                        Err(self.wrong_perhaps(name.span, message, hint))
                    }
                }
            }
            Expression::BinaryOperator(operation) if operation.node.operator.node == BinaryOperator::Index => {
                let element = self.pointer(&operation.node.lhs)?;
                let index = self.value(&operation.node.rhs)?;
                self.moved(element, index.ex, e.span)
            }
            Expression::UnaryOperator(operation) if operation.node.operator.node == UnaryOperator::Indirection => {
                self.pointer(&operation.node.operand)
            }
            Expression::Cast(cast) => self.object(&cast.node.expression),
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
            Expression::UnaryOperator(operation) if operation.node.operator.node == UnaryOperator::Address => {
                return self.object(&operation.node.operand);
            }
            Expression::BinaryOperator(operation) if operation.node.operator.node == BinaryOperator::Plus => {
                let base = self.pointer(&operation.node.lhs)?;
                let index = self.value(&operation.node.rhs)?;
                return self.moved(base, index.ex, e.span);
            }
            Expression::Cast(cast) => {
                let to = self.type_name(&cast.node.type_name)?;
                let object = self.pointer(&cast.node.expression)?;
                let fits = matches!(&to, CType::Pointer(target) if **target == object.ty || **target == CType::Void);
                return if fits { Ok(object) } else { Err(self.wrong(e.span, "a pointer to another type")) };
            }
            _ => {}
        }
        let object = self.object(e)?;
        match object.ty {
            CType::Array(..) => Ok(self.element(&object, Ex::Const(0))),
            _ => Err(self.wrong(e.span, "this is not a pointer")),
        }
    }

    /// The element at this distance.
    pub(super) fn moved(&mut self, mut object: Object, by: Ex, at: CSpan) -> Result<Object, Stop> {
        if by == Ex::Const(0) {
            return Ok(object);
        }
        match object.indices.pop() {
            Some(Ex::Const(0)) => object.indices.push(by),
            Some(index) => object.indices.push(binary(Binary::Add, index, by)),
            None => return Err(self.wrong(at, "this is not an array")),
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
        Ok(object)
    }
}
