//! Calls of the model's own functions of C. They are expanded where they are called.

use super::address::WILD;
use super::expression::{Argument, Value, binary, int, is_const};
use super::types::{CType, Number};
use super::{Binding, Function, Lower, Object, Return, Stop};
use crate::ast::Binary;
use crate::model::{Action, Ex, Stm};
use lang_c::ast::{Expression, UnaryOperator};
use lang_c::span::{Node as CNode, Span as CSpan};
use std::collections::HashMap;
use std::rc::Rc;

/// The most nested calls.
const MAX_CALLS: usize = 64;

/// The most parts of an expression that takes the place of a call.
const MOST_REPEATED: usize = 80;

/// What a call gives.
pub(super) enum Given {
    Nothing,
    Value(Value),
    /// A structure.
    Object(Object),
}

/// A function of C's library: its value, or the text that defines it here.
pub(super) enum Called {
    Value(Option<Value>),
    Function(Rc<Function>),
}

impl Lower<'_, '_> {
    /// The value of a call, if it has one.
    pub(super) fn call(&mut self, e: &CNode<Expression>) -> Result<Option<Value>, Stop> {
        match self.calling(e)? {
            Given::Nothing => Ok(None),
            Given::Value(value) => Ok(Some(value)),
            Given::Object(_) => Err(self.wrong(e.span, "a structure is not a number: a field is missing")),
        }
    }

    /// The structure that a call gives.
    pub(super) fn called(&mut self, e: &CNode<Expression>) -> Result<Option<Object>, Stop> {
        match self.calling(e)? {
            Given::Object(object) => Ok(Some(object)),
            _ => Ok(None),
        }
    }

    pub(super) fn calling(&mut self, e: &CNode<Expression>) -> Result<Given, Stop> {
        let Expression::Call(call) = &e.node else { return Err(Stop) };
        let mut callee = &call.node.callee;
        while let Expression::UnaryOperator(operation) = &callee.node
            && operation.node.operator.node == UnaryOperator::Indirection
        {
            callee = &operation.node.operand;
        }
        if let Some(CType::Function(result)) = self.pointee(callee)
            && !self.is_function(callee)
        {
            return self.call_through(callee, &result, &call.node.arguments, e.span);
        }
        let Expression::Identifier(name) = &callee.node else {
            return Err(self.wrong(e.span, "only a function can be called, by its name or by a pointer to it"));
        };
        let (name, arguments) = (&name.node.name, &call.node.arguments);
        let function = match self.r.c.functions.get(name).cloned() {
            Some(function) => function,
            None => match self.built_in(name, arguments, e.span)? {
                Called::Value(value) => return Ok(value.map_or(Given::Nothing, Given::Value)),
                Called::Function(function) => function,
            },
        };
        if function.parameters.len() != arguments.len() {
            let message = format!("`{name}` takes {}, {} given", source::counted(function.parameters.len(), "argument"), arguments.len());
            return Err(self.wrong_with(e.span, message, crate::number_hint(function.parameters.len(), arguments.len(), "argument")));
        }
        let recursive = self.is_recursive(&function);
        if recursive && self.pure {
            return Err(self.wrong_with(e.span, format!("`{name}` calls itself"), "in a condition, use a loop"));
        }
        if self.calls.len() >= MAX_CALLS {
            return Err(self.wrong(e.span, format!("functions call each other more than {MAX_CALLS} levels deep")));
        }
        // A function that calls itself is not expanded, so its pointers are addresses.
        let shared = recursive && self.guard.is_none();
        let mut passed = Vec::new();
        for (argument, (parameter, ty)) in arguments.iter().zip(&function.parameters) {
            passed.push(match ty {
                CType::Pointer(_) if shared || function.moving.contains(parameter) => {
                    Argument::Value(Value::of(self.address(argument)?, Number::U32))
                }
                CType::Pointer(_) => {
                    let object = self.pointer(argument)?;
                    Argument::Pointer(self.fixed(object, argument.span)?)
                }
                CType::Struct(_) => Argument::Object(self.object(argument)?),
                _ => {
                    let value = self.value(argument)?;
                    Argument::Value(self.apart_from(value, &arguments[passed.len() + 1..], argument.span)?)
                }
            });
        }
        if shared {
            return self.recursive_call(&function, passed, e.span);
        }
        self.calls.push(name.clone());
        let result = self.expanded(&function, passed, e.span);
        self.calls.pop();
        result
    }

    /// A call by a pointer: a choice among the functions that it may point to.
    fn call_through(
        &mut self,
        pointer: &CNode<Expression>,
        result: &CType,
        arguments: &[CNode<Expression>],
        at: CSpan,
    ) -> Result<Given, Stop> {
        if let CType::Struct(_) = result {
            return Err(self.wrong(at, "a function that is called by a pointer returns a number, a pointer or nothing"));
        }
        let address = self.address(pointer)?;
        let address = self.steady(&address, at)?;
        let mut passed = Vec::new();
        for (position, argument) in arguments.iter().enumerate() {
            let value = match self.pointee(argument) {
                Some(_) => Value::of(self.address(argument)?, Number::U32),
                None => self.value(argument)?,
            };
            passed.push(self.apart_from(value, &arguments[position + 1..], argument.span)?);
        }
        let functions = self.functions_like(result, arguments.len());
        let value = self.chosen(&functions, &address, &passed, at)?;
        Ok(if *result == CType::Void { Given::Nothing } else { Given::Value(value) })
    }

    fn chosen(&mut self, functions: &[(i32, Rc<Function>)], address: &Ex, passed: &[Value], at: CSpan) -> Result<Value, Stop> {
        let Some(((number, function), others)) = functions.split_first() else {
            if !self.pure {
                self.emit(Action::Assert(WILD), at)?;
            }
            return Ok(int(WILD));
        };
        let equal = binary(Binary::Eq, address.clone(), Ex::Const(*number));
        let call = |lower: &mut Self| {
            let arguments = passed.iter().cloned().map(Argument::Value).collect();
            if lower.calls.len() >= MAX_CALLS || lower.calls.contains(&function.name) {
                return Err(lower.wrong(at, format!("`{}` calls itself by a pointer", function.name)));
            }
            lower.calls.push(function.name.clone());
            let given = match lower.is_recursive(function) && lower.guard.is_none() {
                true => lower.recursive_call(function, arguments, at),
                false => lower.expanded(function, arguments, at),
            };
            lower.calls.pop();
            match given? {
                Given::Value(value) => Ok(value),
                _ => Ok(int(Ex::Const(0))),
            }
        };
        match is_const(&equal) {
            Some(0) => self.chosen(others, address, passed, at),
            Some(_) => call(self),
            None => self.choice(equal, at, call, |lower| lower.chosen(others, address, passed, at)),
        }
    }

    /// The value of an argument, in a variable if later arguments could change what it is read
    /// from.
    fn apart_from(&mut self, value: Value, later: &[CNode<Expression>], at: CSpan) -> Result<Value, Stop> {
        let simple = |e: &CNode<Expression>| matches!(e.node, Expression::Constant(_) | Expression::Identifier(_) | Expression::Member(_));
        if self.pure || later.iter().all(simple) || is_const(&value.ex).is_some() {
            return Ok(value);
        }
        let ty = value.number.variable();
        let slot = self.temporary(&ty, at)?;
        self.store(&slot, value, at)?;
        self.load(&slot, at)
    }

    /// A call as an expression if that is possible, otherwise as the statements of the function.
    pub(super) fn expanded(&mut self, function: &Rc<Function>, passed: Vec<Argument>, at: CSpan) -> Result<Given, Stop> {
        if function.result != CType::Void {
            let quiet = self.quiet;
            let pure = std::mem::replace(&mut self.pure, true);
            self.quiet = quiet || !pure;
            let value = self.tried(|lower| lower.as_expression(function, &passed)).map(|(value, _)| value);
            self.pure = pure;
            self.quiet = quiet;
            match value {
                // A long expression is evaluated as a whole wherever its value is used.
                Ok(value) if self.pure || value.size() < MOST_REPEATED => return Ok(Given::Value(value)),
                Ok(_) => {}
                Err(Stop) if self.pure => return Err(Stop),
                Err(Stop) => {}
            }
        }
        if self.pure {
            return Err(self.wrong_with(at, "a condition in C must not change anything", "use `c_code` for statements"));
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
            CType::Array(..) => return Err(self.wrong(at, "a function returns a number, a pointer, a structure or nothing")),
            ty => Some(self.temporary(ty, at)?),
        };
        let end = self.label("return");
        let finished = self.body(function, scope, Return { value, end, used: false })?;
        if finished.used {
            self.set_label(&finished.end, at);
        }
        self.given(finished.value, at)
    }

    /// Something that may fail, and the statements it has made. What was made before is kept.
    pub(super) fn tried<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Stop>) -> Result<(T, Vec<Stm>), Stop> {
        let (before, around) = (std::mem::take(&mut self.out), self.around.len());
        let result = work(self);
        let made = std::mem::replace(&mut self.out, before);
        self.around.truncate(around);
        result.map(|value| (value, made))
    }

    /// The statements of a function with its parameters.
    pub(super) fn body(&mut self, function: &Rc<Function>, scope: HashMap<String, Binding>, to: Return) -> Result<Return, Stop> {
        self.returns.push(to);
        let scopes = std::mem::replace(&mut self.scopes, vec![scope]);
        let around = std::mem::take(&mut self.around);
        let fragment = std::mem::replace(&mut self.fragment, function.fragment.clone());
        let shift = std::mem::replace(&mut self.shift, function.shift);
        let gotos = std::mem::take(&mut self.gotos);
        let moving = std::mem::replace(&mut self.moving, function.moving.clone());
        let inside = std::mem::replace(&mut self.inside, function.name.clone());
        let result = self.statement(&function.body).and_then(|()| self.labels_are_set());
        self.gotos = gotos;
        self.scopes = scopes;
        self.around = around;
        self.fragment = fragment;
        self.shift = shift;
        self.moving = moving;
        self.inside = inside;
        let finished = self.returns.pop().ok_or(Stop)?;
        result.map(|()| finished)
    }

    /// What a function has given, from the variable for it.
    pub(super) fn given(&mut self, value: Option<Object>, at: CSpan) -> Result<Given, Stop> {
        match value {
            Some(object) if matches!(object.ty, CType::Struct(_)) => Ok(Given::Object(object)),
            Some(object) => self.load(&object, at).map(Given::Value),
            None => Ok(Given::Nothing),
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
            Expression::Cast(cast) => self.whole(&cast.node.expression),
            _ => self.object(e),
        }
    }
}
