//! Calls: the model's own functions of C, and the few functions of C's library that are supported.

use super::expression::{Argument, Value, binary, int, unary};
use super::types::CType;
use super::{Binding, Function, Lower, Object, Return, Stop};
use crate::ast::{Binary, Unary};
use crate::model::{Action, Ex};
use lang_c::ast::{Expression, UnaryOperator};
use lang_c::span::{Node as CNode, Span as CSpan};
use std::collections::HashMap;
use std::rc::Rc;

/// The most nested calls.
const MAX_CALLS: usize = 16;

impl Lower<'_, '_> {
    pub(super) fn call(&mut self, e: &CNode<Expression>) -> Result<Option<Value>, Stop> {
        let Expression::Call(call) = &e.node else { return Err(Stop) };
        let Expression::Identifier(name) = &call.node.callee.node else {
            return Err(self.wrong(e.span, "only a function can be called, by its name"));
        };
        let (name, arguments) = (&name.node.name, &call.node.arguments);
        let Some(function) = self.r.c.functions.get(name).cloned() else { return self.built_in(name, arguments, e.span) };
        if function.parameters.len() != arguments.len() {
            let message = format!("`{name}` takes {}, {} given", source::counted(function.parameters.len(), "argument"), arguments.len());
            return Err(self.wrong(e.span, message));
        }
        if self.calls.contains(name) {
            return Err(self.wrong_with(
                e.span,
                format!("`{name}` calls itself"),
                "functions are expanded where they are called: use a loop",
            ));
        }
        if self.calls.len() >= MAX_CALLS {
            return Err(self.wrong(e.span, format!("functions call each other more than {MAX_CALLS} levels deep")));
        }
        let mut passed = Vec::new();
        for (argument, (_, ty)) in arguments.iter().zip(&function.parameters) {
            passed.push(match ty {
                CType::Pointer(_) => {
                    let object = self.pointer(argument)?;
                    Argument::Pointer(self.fixed(object, argument.span)?)
                }
                CType::Struct(_) => Argument::Object(self.object(argument)?),
                _ => Argument::Value(self.value(argument)?),
            });
        }
        self.calls.push(name.clone());
        let result = self.expanded(&function, passed, e.span);
        self.calls.pop();
        result
    }

    /// A call as an expression if that is possible, otherwise as the statements of the function.
    fn expanded(&mut self, function: &Rc<Function>, passed: Vec<Argument>, at: CSpan) -> Result<Option<Value>, Stop> {
        if function.result != CType::Void {
            let quiet = self.quiet;
            let pure = std::mem::replace(&mut self.pure, true);
            self.quiet = quiet || !pure;
            let value = self.as_expression(function, &passed);
            self.pure = pure;
            self.quiet = quiet;
            match value {
                Ok(value) => return Ok(Some(value)),
                Err(Stop) if self.pure => return Err(Stop),
                Err(Stop) => {}
            }
        }
        let mut scope = HashMap::new();
        for ((name, ty), argument) in function.parameters.iter().zip(passed) {
            let binding = match argument {
                Argument::Pointer(object) => Binding::Pointer(object),
                Argument::Object(object) => {
                    let copy = self.temporary(ty, at)?;
                    self.copy(&copy, &object, at)?;
                    Binding::Object(copy)
                }
                Argument::Value(value) => {
                    let copy = self.temporary(ty, at)?;
                    self.store(&copy, value, at)?;
                    Binding::Object(copy)
                }
            };
            scope.insert(name.clone(), binding);
        }
        let value = match &function.result {
            CType::Void => None,
            CType::Int(_) => Some(self.temporary(&function.result, at)?),
            _ => return Err(self.wrong(at, "a function returns a number or nothing")),
        };
        let end = self.label("return");
        self.returns.push(Return { value, end, used: false });
        let scopes = std::mem::replace(&mut self.scopes, vec![scope]);
        let around = std::mem::take(&mut self.around);
        let fragment = std::mem::replace(&mut self.fragment, function.fragment.clone());
        let shift = std::mem::replace(&mut self.shift, function.shift);
        let gotos = std::mem::take(&mut self.gotos);
        let result = self.statement(&function.body).and_then(|()| self.labels_are_set());
        self.gotos = gotos;
        self.scopes = scopes;
        self.around = around;
        self.fragment = fragment;
        self.shift = shift;
        let Some(finished) = self.returns.pop() else { return Err(Stop) };
        result?;
        if finished.used {
            self.set_label(&finished.end, at);
        }
        match finished.value {
            Some(value) => self.load(&value, at).map(Some),
            None => Ok(None),
        }
    }

    fn built_in(&mut self, name: &str, arguments: &[CNode<Expression>], at: CSpan) -> Result<Option<Value>, Stop> {
        match (name, arguments) {
            ("printf" | "Printf", [format, values @ ..]) => {
                let Expression::StringLiteral(text) = &format.node else { return Err(self.wrong(format.span, "a format is a string")) };
                let text: String = text.node.iter().map(|piece| piece.trim_matches('"')).collect();
                let text = text.replace("%ld", "%d").replace("%lu", "%u").replace("%hd", "%d").replace("%hhu", "%u");
                let mut printed = Vec::new();
                for value in values {
                    printed.push(self.value(value)?.ex);
                }
                self.emit(Action::Print(text.into(), printed), at)?;
                Ok(Some(int(Ex::Const(0))))
            }
            ("puts", [_]) => Ok(Some(int(Ex::Const(0)))),
            ("assert", [condition]) => {
                let condition = self.value(condition)?.ex;
                self.emit(Action::Assert(condition), at)?;
                Ok(None)
            }
            ("abort" | "exit" | "uerror" | "Uerror", _) => {
                self.emit(Action::Assert(Ex::Const(0)), at)?;
                Ok(None)
            }
            ("abs", [value]) => {
                let value = self.value(value)?.ex;
                let value = if self.pure { value } else { self.held(value, at)? };
                let negative = binary(Binary::Lt, value.clone(), Ex::Const(0));
                let ex = Ex::Conditional(Box::new(negative), Box::new(unary(Unary::Negate, value.clone())), Box::new(value));
                Ok(Some(int(ex)))
            }
            ("memset", [target, value, size]) => {
                let object = self.whole(target)?;
                let (value, size) = (self.constant(value)?, self.constant(size)?);
                let bytes = matches!(&object.ty, CType::Array(element, _) if matches!(**element, CType::Int(int) if int.bits == 8));
                if i64::from(size) != self.size(&object.ty).0 as i64 || (value != 0 && !bytes) {
                    return Err(self.wrong(at, "`memset` sets a whole variable to zero here, or a whole array of characters"));
                }
                self.fill(&object, value, at)?;
                Ok(None)
            }
            ("strlen", [text]) => self.string_length(text, at).map(Some),
            ("strcmp", [a, b]) => self.string_order(a, b, None, at).map(Some),
            ("strncmp" | "memcmp", [a, b, size]) => {
                let size = self.constant(size)?;
                self.string_order(a, b, Some((size, name == "memcmp")), at).map(Some)
            }
            ("strcpy", [to, from]) => {
                self.string_copy(to, from, at)?;
                Ok(None)
            }
            ("memcpy" | "memmove", [to, from, size]) => {
                let (to, from, size) = (self.whole(to)?, self.whole(from)?, self.constant(size)?);
                if i64::from(size) != self.size(&to.ty).0 as i64 {
                    return Err(self.wrong(at, format!("`{name}` copies a whole variable here")));
                }
                self.copy(&to, &from, at)?;
                Ok(None)
            }
            _ => {
                let hint = match name {
                    "rand" | "random" => "a choice is written in Promela, by `if` or `select`",
                    "malloc" | "calloc" | "free" => "all data of a state is declared: use an array and indices",
                    _ => "functions are defined in `c_decl` or in a `c_code` outside processes",
                };
                Err(self.wrong_with(at, format!("there is no function `{name}` here"), hint))
            }
        }
    }

    /// The object that an address refers to: the whole variable, if it is an array.
    pub(super) fn whole(&mut self, e: &CNode<Expression>) -> Result<Object, Stop> {
        match &e.node {
            Expression::UnaryOperator(operation) if operation.node.operator.node == UnaryOperator::Address => {
                self.object(&operation.node.operand)
            }
            Expression::Identifier(name) => match self.binding(&name.node.name) {
                Some(Binding::Pointer(object)) => Ok(object),
                _ => self.object(e),
            },
            _ => self.object(e),
        }
    }
}
