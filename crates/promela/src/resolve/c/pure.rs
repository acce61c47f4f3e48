//! Functions of C as expressions.
//!
//! A condition cannot contain statements. So a function that is called in a condition is evaluated
//! while the model is read. The values of its variables are expressions. An `if` becomes a
//! conditional expression over the code that follows on both branches. A loop is followed as long
//! as its condition is known.

use super::expression::{Argument, Value, int};
use super::types::CType;
use super::{Binding, Function, Lower, Stop};
use crate::model::Ex;
use lang_c::ast::{BlockItem, Declaration, Expression, ForInitializer, Initializer, Statement};
use lang_c::span::{Node as CNode, Span as CSpan};
use std::collections::HashMap;
use std::rc::Rc;

/// An item that is still to be executed.
#[derive(Clone)]
enum Item<'f> {
    Statement(&'f CNode<Statement>),
    Declaration(&'f Declaration, CSpan),
    Effect(&'f CNode<Expression>),
    /// The head of a loop, which continues if the condition holds.
    Loop {
        condition: Option<&'f CNode<Expression>>,
        step: Option<&'f CNode<Expression>>,
        body: &'f CNode<Statement>,
    },
    /// The target of `continue`.
    Next,
    /// The target of `break`.
    Left,
    EndOfScope,
}

impl Lower<'_, '_> {
    /// The value of a call.
    pub(super) fn as_expression(&mut self, function: &Rc<Function>, passed: &[Argument]) -> Result<Value, Stop> {
        let mut scope = HashMap::new();
        for ((name, ty), argument) in function.parameters.iter().zip(passed) {
            let binding = match (argument, ty) {
                (Argument::Pointer(object), _) => Binding::Pointer(object.clone()),
                (Argument::Object(object), _) => Binding::Object(object.clone()),
                (Argument::Value(value), ty) if ty.number().is_some() => {
                    let value = self.fitted(value.clone(), ty, function.body.span)?;
                    Binding::Value(value, ty.clone())
                }
                _ => return Err(Stop),
            };
            scope.insert(name.clone(), binding);
        }
        let scopes = std::mem::replace(&mut self.scopes, vec![scope]);
        let inside = std::mem::replace(&mut self.inside, function.name.clone());
        let fragment = std::mem::replace(&mut self.fragment, function.fragment.clone());
        let shift = std::mem::replace(&mut self.shift, function.shift);
        let result = self.follow(vec![Item::Statement(&function.body)], function);
        self.scopes = scopes;
        self.inside = inside;
        self.fragment = fragment;
        self.shift = shift;
        result
    }

    /// Executes the items, last item first, up to a `return`.
    fn follow<'f>(&mut self, mut todo: Vec<Item<'f>>, function: &'f Rc<Function>) -> Result<Value, Stop> {
        let end = function.body.span;
        while let Some(item) = todo.pop() {
            self.budget = self.budget.checked_sub(1).ok_or_else(|| {
                self.wrong_with(end, format!("`{}` is too long for a condition", function.name), "compute it in a `c_code` before")
            })?;
            match item {
                Item::Statement(statement) => match &statement.node {
                    Statement::Compound(items) => {
                        self.scopes.push(HashMap::new());
                        todo.push(Item::EndOfScope);
                        for item in items.iter().rev() {
                            match &item.node {
                                BlockItem::Declaration(declaration) => todo.push(Item::Declaration(&declaration.node, declaration.span)),
                                BlockItem::StaticAssert(_) => {}
                                BlockItem::Statement(statement) => todo.push(Item::Statement(statement)),
                            }
                        }
                    }
                    Statement::Expression(None) => {}
                    Statement::Expression(Some(expression)) => self.effect(expression)?,
                    Statement::Return(Some(value)) => {
                        let value = self.value(value)?;
                        return self.fitted(value, &function.result.clone(), statement.span);
                    }
                    Statement::If(branch) => {
                        let condition = self.condition(&branch.node.condition)?;
                        let (yes, no) = (&branch.node.then_statement, branch.node.else_statement.as_deref());
                        match condition {
                            Ex::Const(0) => todo.extend(no.map(Item::Statement)),
                            Ex::Const(_) => todo.push(Item::Statement(yes)),
                            condition => {
                                let scopes = self.scopes.clone();
                                let mut other = todo.clone();
                                other.push(Item::Statement(yes));
                                let first = self.follow(other, function)?;
                                self.scopes = scopes;
                                todo.extend(no.map(Item::Statement));
                                let second = self.follow(todo, function)?;
                                return self.choice(condition, statement.span, |_| Ok(first), |_| Ok(second));
                            }
                        }
                    }
                    Statement::While(repeat) => {
                        todo.push(Item::Left);
                        todo.push(Item::Loop { condition: Some(&repeat.node.expression), step: None, body: &repeat.node.statement });
                    }
                    Statement::For(repeat) => {
                        self.scopes.push(HashMap::new());
                        todo.push(Item::EndOfScope);
                        todo.push(Item::Left);
                        let (condition, step) = (repeat.node.condition.as_deref(), repeat.node.step.as_deref());
                        todo.push(Item::Loop { condition, step, body: &repeat.node.statement });
                        match &repeat.node.initializer.node {
                            ForInitializer::Empty | ForInitializer::StaticAssert(_) => {}
                            ForInitializer::Expression(expression) => todo.push(Item::Effect(expression)),
                            ForInitializer::Declaration(declaration) => todo.push(Item::Declaration(&declaration.node, declaration.span)),
                        }
                    }
                    Statement::Break => self.unwind(&mut todo, |item| matches!(item, Item::Left)),
                    Statement::Continue => self.unwind(&mut todo, |item| matches!(item, Item::Next)),
                    _ => return Err(self.wrong(statement.span, "this statement cannot be part of a condition")),
                },
                Item::Declaration(declaration, at) => self.known_variables(declaration, at)?,
                Item::Effect(expression) => self.effect(expression)?,
                Item::Loop { condition, step, body } => {
                    let known = match condition {
                        None => Ex::Const(1),
                        Some(condition) => self.condition(condition)?,
                    };
                    match known {
                        Ex::Const(0) => {}
                        Ex::Const(_) => {
                            todo.push(Item::Loop { condition, step, body });
                            todo.extend(step.map(Item::Effect));
                            todo.push(Item::Next);
                            todo.push(Item::Statement(body));
                        }
                        _ => {
                            let at = condition.map_or(end, |condition| condition.span);
                            return Err(self.wrong_with(
                                at,
                                "how often this loop is repeated is not known when the model is read",
                                "compute it in a `c_code` before",
                            ));
                        }
                    }
                }
                Item::Next | Item::Left => {}
                Item::EndOfScope => drop(self.scopes.pop()),
            }
        }
        Err(self.wrong(end, format!("`{}` can end without a value", function.name)))
    }

    /// Drops items up to a certain one, and closes their scopes.
    fn unwind(&mut self, todo: &mut Vec<Item<'_>>, stop: impl Fn(&Item<'_>) -> bool) {
        while let Some(item) = todo.pop() {
            if matches!(item, Item::EndOfScope) {
                self.scopes.pop();
            }
            if stop(&item) {
                return;
            }
        }
    }

    fn known_variables(&mut self, declaration: &Declaration, at: CSpan) -> Result<(), Stop> {
        if super::statement::is_static(declaration) {
            return Err(self.wrong(at, "this variable cannot be part of a condition"));
        }
        for (name, ty, initializer) in self.variables(declaration)? {
            let binding = match (&ty, initializer.as_ref().map(|initializer| &initializer.node)) {
                (CType::Int(_) | CType::Float(_), Some(Initializer::Expression(expression))) => {
                    let value = self.value(expression)?;
                    Binding::Value(self.fitted(value, &ty, at)?, ty.clone())
                }
                (CType::Int(_) | CType::Float(_), None) => Binding::Value(self.fitted(int(Ex::Const(0)), &ty, at)?, ty.clone()),
                (CType::Pointer(_), Some(Initializer::Expression(expression))) => Binding::Pointer(self.pointer(expression)?),
                _ => return Err(self.wrong(at, "this variable cannot be part of a condition")),
            };
            if let Some(scope) = self.scopes.last_mut() {
                scope.insert(name, binding);
            }
        }
        Ok(())
    }
}
