//! The messages that a model sends on a channel.
//!
//! The abstraction of a function is often a process of the environment that sends one of several
//! values, and a receive of that value (the thesis, figure 15). The messages that the processes of
//! the model send on the channel are all that can be received from it, in any order.

use promela::ast::{Expr, ExprKind, Initial, Model, Proctype, Reference, Step, Stmt, StmtKind, Unit};
use std::collections::BTreeSet;

/// The most process types through which a channel is followed.
const MOST: usize = 64;

/// The messages that are sent on a channel; `None` if the channel may have other names that are not
/// followed.
pub(crate) fn messages<'m>(model: &'m Model, channel: &Reference) -> Option<Vec<Vec<&'m Expr>>> {
    let [part] = channel.parts.as_slice() else { return None };
    let processes: Vec<&Proctype> = model
        .units
        .iter()
        .filter_map(|unit| match unit {
            Unit::Proctype(process) => Some(&**process),
            _ => None,
        })
        .collect();
    // A channel that is declared in a process has its name there; several may have the same name.
    let name = part.name.text.to_string();
    let mut search = Search { processes: &processes, sent: Vec::new(), escapes: false, seen: BTreeSet::new() };
    for process in &processes {
        let parameters = process.parameters.iter().flat_map(|parameter| &parameter.variables);
        // A parameter of the same name is another channel; it is followed if this one is passed on.
        if parameters.clone().any(|variable| *variable.name.text == *name) {
            continue;
        }
        search.in_process(process, &name);
    }
    (!search.escapes && !search.sent.is_empty()).then_some(search.sent)
}

struct Search<'p, 'm> {
    processes: &'p [&'m Proctype],
    sent: Vec<Vec<&'m Expr>>,
    /// The channel is known by a name that is not followed.
    escapes: bool,
    seen: BTreeSet<(String, String)>,
}

impl<'m> Search<'_, 'm> {
    fn in_process(&mut self, process: &'m Proctype, name: &str) {
        if self.seen.len() > MOST {
            self.escapes = true;
            return;
        }
        if self.seen.insert((process.name.text.to_string(), name.to_owned())) {
            self.steps(&process.body, name);
        }
    }

    fn steps(&mut self, steps: &'m [Step], name: &str) {
        for step in steps {
            match step {
                Step::Statement(statement) => self.statement(statement, name),
                Step::Declaration(declaration) => {
                    for variable in &declaration.variables {
                        if let Some(Initial::Value(value)) = &variable.initial {
                            self.expr(value, name);
                        }
                    }
                }
                Step::Exclusive(..) => {}
            }
        }
    }

    fn statement(&mut self, statement: &'m Stmt, name: &str) {
        match &statement.kind {
            StmtKind::Send { channel, arguments, .. } => {
                if is(channel, name) {
                    self.sent.push(arguments.iter().collect());
                }
                arguments.iter().for_each(|argument| self.expr(argument, name));
            }
            StmtKind::Expr(expr) | StmtKind::Assign(_, expr) => self.expr(expr, name),
            StmtKind::If(options) | StmtKind::Do(options) => options.iter().for_each(|option| self.steps(option, name)),
            StmtKind::Atomic(steps) | StmtKind::DStep(steps) | StmtKind::Block(steps) | StmtKind::For { body: steps, .. } => {
                self.steps(steps, name);
            }
            StmtKind::Label(_, inner) => self.statement(inner, name),
            StmtKind::Unless(a, b) => [a, b].into_iter().for_each(|part| self.statement(part, name)),
            _ => {}
        }
    }

    /// The channel is passed on to a process, or it gets a name that is not followed.
    fn expr(&mut self, expr: &'m Expr, name: &str) {
        match &expr.kind {
            ExprKind::Run { name: ty, arguments, .. } => {
                let process = self.processes.iter().find(|process| process.name.text == ty.text).copied();
                for (number, argument) in arguments.iter().enumerate() {
                    let ExprKind::Ref(reference) = &argument.kind else { continue };
                    if !is(reference, name) {
                        continue;
                    }
                    let parameter = process.and_then(|process| process.parameters.iter().flat_map(|p| &p.variables).nth(number));
                    match (process, parameter) {
                        (Some(process), Some(parameter)) => self.in_process(process, &parameter.name.text),
                        _ => self.escapes = true,
                    }
                }
            }
            ExprKind::Ref(reference) => self.escapes |= is(reference, name),
            ExprKind::Unary(_, a) => self.expr(a, name),
            ExprKind::Binary(_, a, b) => [a, b].into_iter().for_each(|part| self.expr(part, name)),
            ExprKind::Conditional(a, b, c) => [a, b, c].into_iter().for_each(|part| self.expr(part, name)),
            _ => {}
        }
    }
}

fn is(reference: &Reference, name: &str) -> bool {
    matches!(reference.parts.as_slice(), [part] if *part.name.text == *name)
}
