//! Selections and repetitions.
//!
//! The options are tried from top to bottom, and the first executable one is taken, which is one of
//! the choices of the model. If none is executable, the process sleeps. Comparisons of one variable
//! with constants become a `switch`; its cases are left by a jump where a `break` would only leave
//! the `switch`.

use crate::statement::is_timeout;
use crate::{Around, Generator, ProgramLayout};
use promela::ast::{Binary, Expr, ExprKind, Receive, Step, Stmt, StmtKind};
use source::Span;

/// The first statement of an option, and the statements after it.
struct Branch<'s> {
    first: First<'s>,
    /// The statements after the first one. The second list belongs to the enclosing option.
    rest: Vec<&'s [Step]>,
    span: Span,
    /// Whether the first statement is in an `atomic`, which continues to hold the lock.
    atomic: bool,
}

enum First<'s> {
    Condition(&'s Expr),
    Else,
    Send(&'s promela::ast::Reference, bool, &'s [Expr]),
    Receive(&'s Receive),
    /// Always executable.
    Other(&'s Stmt),
}

impl Generator<'_> {
    /// The branches of the options. An option that begins with a selection has one branch for each
    /// option of that selection.
    fn branches<'s>(&mut self, options: &'s [Vec<Step>], out: &mut Vec<Branch<'s>>, after: &[&'s [Step]], depth: usize) {
        for option in options {
            self.branch(option, out, after, depth);
        }
    }

    fn branch<'s>(&mut self, option: &'s [Step], out: &mut Vec<Branch<'s>>, after: &[&'s [Step]], depth: usize) {
        let at = option.iter().position(|step| matches!(step, Step::Statement(_)));
        let Some((at, Step::Statement(statement))) = at.map(|at| (at, &option[at])) else { return };
        let mut rest = vec![&option[at + 1..]];
        rest.extend(after);
        let mut inner = statement;
        while let StmtKind::Label(_, next) = &inner.kind {
            inner = next;
        }
        let span = inner.span;
        let first = match &inner.kind {
            StmtKind::Expr(expr) => First::Condition(expr),
            StmtKind::Else => First::Else,
            StmtKind::Send { channel, sorted, arguments } => First::Send(channel, *sorted, arguments),
            StmtKind::Receive(receive) => First::Receive(receive),
            StmtKind::If(options) if depth < 8 => return self.branches(options, out, &rest, depth + 1),
            StmtKind::Block(steps) if depth < 8 => return self.branch(steps, out, &rest, depth + 1),
            StmtKind::Atomic(steps) | StmtKind::DStep(steps) if depth < 8 => {
                let from = out.len();
                self.branch(steps, out, &rest, depth + 1);
                // The lock is held for the rest of the inner sequence, which is the first list.
                out[from..].iter_mut().for_each(|branch| branch.atomic = true);
                return;
            }
            _ => First::Other(statement),
        };
        out.push(Branch { first, rest, span, atomic: false });
    }

    pub(crate) fn selection(&mut self, options: &[Vec<Step>], span: Span) {
        self.choice(options, false, span);
    }

    pub(crate) fn repetition(&mut self, options: &[Vec<Step>], span: Span) {
        self.choice(options, true, span);
    }

    fn choice(&mut self, options: &[Vec<Step>], repeats: bool, span: Span) {
        let ending = std::mem::take(&mut self.ending);
        self.selections += 1;
        let number = self.selections;
        let mut branches = Vec::new();
        self.branches(options, &mut branches, &[], 0);
        // `else` is tried last, wherever it stands. A rendezvous that was offered may have been
        // taken already, so sends are tried first.
        let rendezvous = self.names.rendezvous;
        branches.sort_by_key(|branch| match branch.first {
            First::Send(..) if rendezvous => 0,
            First::Else => 2,
            _ => 1,
        });
        let has_else = branches.iter().any(|branch| matches!(branch.first, First::Else));
        let outside = branches.iter().any(|branch| match &branch.first {
            First::Condition(expr) => self.looks_outside(expr) || is_timeout(expr),
            First::Send(..) | First::Receive(_) => true,
            First::Else | First::Other(_) => false,
        });
        let always = branches.iter().any(|branch| self.is_always(branch));
        let timed = branches.iter().any(|branch| matches!(&branch.first, First::Condition(expr) if is_timeout(expr)));
        let locks = outside && self.held == 0;
        let looping = repeats || !(has_else || always);
        let switched = (!outside).then(|| self.switched(&branches)).flatten();
        let (held, inside) = (self.held, self.inside);
        if repeats {
            self.loops.push(Around { number, used: false, held });
            self.inside = usize::from(switched.is_some());
        } else {
            self.inside += usize::from(looping) + usize::from(switched.is_some());
        }
        if looping {
            self.line(&format!("while (1) {{ /* selection #{number} */"));
            self.indent += 1;
            if repeats && self.options.layout == ProgramLayout::Loop {
                self.line("ep_turn();");
            }
        } else if outside {
            // The fields of messages are declared here.
            self.line("{");
            self.indent += 1;
        }
        if locks {
            self.begin();
        }
        let mut end_used = false;
        match &switched {
            Some(variable) => end_used = self.switch(variable, &branches, repeats, looping, number, ending),
            None => self.chain(&branches, repeats, looping, locks, timed, span, always || has_else, ending),
        }
        if looping || outside {
            self.indent -= 1;
            self.line("}");
        }
        let around = if repeats { self.loops.pop() } else { None };
        self.inside = inside;
        if end_used || around.is_some_and(|around| around.used) {
            self.indent -= 1;
            self.line(&format!("selection{number}_end:;"));
            self.indent += 1;
        }
    }

    fn is_always(&self, branch: &Branch<'_>) -> bool {
        match &branch.first {
            First::Condition(Expr { kind: ExprKind::Number(n), .. }) => *n != 0,
            First::Condition(Expr { kind: ExprKind::Run { .. }, .. }) => true,
            First::Other(_) => true,
            _ => false,
        }
    }

    /// The options as a chain of `if`s.
    #[allow(clippy::too_many_arguments)]
    fn chain(
        &mut self,
        branches: &[Branch<'_>],
        repeats: bool,
        looping: bool,
        locks: bool,
        timed: bool,
        span: Span,
        ends: bool,
        ending: bool,
    ) {
        let mut received = Vec::new();
        let mut conditions = Vec::new();
        for branch in branches {
            let condition = match &branch.first {
                First::Condition(expr) => match &expr.kind {
                    ExprKind::Number(n) => Some(n.to_string()).filter(|_| *n == 0),
                    ExprKind::Run { .. } => None,
                    _ => Some(self.expr(expr)),
                },
                First::Else | First::Other(_) => None,
                First::Send(channel, sorted, arguments) => Some(self.send(channel, *sorted, arguments, branch.span)),
                First::Receive(receive) => {
                    let (declaration, call, name) = self.receive(receive);
                    self.line(&declaration);
                    received.push(name);
                    Some(call)
                }
            };
            conditions.push(condition);
        }
        let sends: Vec<String> = branches
            .iter()
            .filter_map(|branch| match &branch.first {
                First::Send(channel, ..) if self.names.rendezvous => Some(self.reference(channel)),
                _ => None,
            })
            .collect();
        let mut received = received.into_iter();
        let mut first = true;
        for (branch, condition) in branches.iter().zip(&conditions) {
            let last = condition.is_none();
            match (condition, first) {
                (Some(condition), true) => self.line(&format!("if ({condition}) {{")),
                (Some(condition), false) => self.line(&format!("}} else if ({condition}) {{")),
                (None, true) => self.line("{"),
                (None, false) => self.line("} else {"),
            }
            first = false;
            self.indent += 1;
            match &branch.first {
                First::Condition(expr) => {
                    self.step(branch.span);
                    if let ExprKind::Run { .. } = &expr.kind {
                        let call = self.expr(expr);
                        self.line(&format!("{call};"));
                    }
                }
                First::Else => self.step(branch.span),
                First::Send(..) => {}
                First::Receive(receive) => {
                    self.step(branch.span);
                    let name = received.next().unwrap_or_default();
                    self.store(receive, &name);
                }
                First::Other(_) => {}
            }
            for channel in &sends {
                self.line(&format!("ep_withdraw({channel});"));
            }
            self.rest(branch, locks);
            if looping && !repeats {
                self.line("break;");
            }
            self.indent -= 1;
            if last {
                break;
            }
        }
        if ends {
            self.line("}");
            return;
        }
        self.line("} else {");
        self.indent += 1;
        if !locks && self.held == 0 {
            self.warn(span, "no other process can make an option executable: if none is, the process waits for ever");
            self.begin();
        }
        self.ending = ending;
        let wait = self.wait(timed);
        self.ending = false;
        self.line(&wait);
        if self.held == 0 && self.names.shares {
            self.line("ep_again();");
        }
        self.indent -= 1;
        self.line("}");
    }

    /// Writes the statements after the first one of an option.
    fn rest(&mut self, branch: &Branch<'_>, locks: bool) {
        let mut lists = branch.rest.iter();
        if branch.atomic {
            // The step continues to the end of the inner sequence.
            if !locks && self.held == 0 {
                self.begin();
            }
            self.held += 1;
            if let First::Other(statement) = &branch.first {
                self.statement(statement);
            }
            if let Some(inner) = lists.next() {
                self.steps(inner, false);
            }
            self.held -= 1;
            if self.held == 0 && !self.left(branch.rest.first()) {
                self.end();
            }
        } else {
            if locks {
                self.end();
            }
            if let First::Other(statement) = &branch.first {
                self.statement(statement);
            }
        }
        for list in lists {
            self.steps(list, false);
        }
    }

    /// Whether a sequence ends with a jump, which has ended the step.
    fn left(&self, list: Option<&&[Step]>) -> bool {
        let last = list.and_then(|list| list.last());
        matches!(last, Some(Step::Statement(Stmt { kind: StmtKind::Break | StmtKind::Goto(_), .. })))
    }

    /// The variable that all options compare with constants.
    fn switched(&self, branches: &[Branch<'_>]) -> Option<String> {
        let mut variable: Option<String> = None;
        let mut compared = 0;
        let mut seen = Vec::new();
        for branch in branches {
            match &branch.first {
                First::Else => {}
                First::Condition(expr) => {
                    let ExprKind::Binary(Binary::Eq, a, b) = &expr.kind else { return None };
                    let (ExprKind::Ref(reference), Some(constant)) = (&a.kind, self.constant(b)) else { return None };
                    if reference.parts.iter().any(|part| part.index.is_some()) || branch.atomic {
                        return None;
                    }
                    let name: Vec<String> = reference.parts.iter().map(|part| self.names.inside(&part.name.text)).collect();
                    let name = name.join(".");
                    if variable.get_or_insert_with(|| name.clone()) != &name || seen.contains(&constant) {
                        return None;
                    }
                    seen.push(constant);
                    compared += 1;
                }
                _ => return None,
            }
        }
        variable.filter(|_| compared > 1)
    }

    fn constant(&self, expr: &Expr) -> Option<String> {
        match &expr.kind {
            ExprKind::Number(n) => Some(n.to_string()),
            ExprKind::Ref(reference) => match reference.parts.as_slice() {
                [part] if part.index.is_none() && self.names.message(&part.name.text).is_some() => {
                    Some(self.names.outside(&part.name.text))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Writes the options as a `switch`; returns whether the label after the selection is used.
    fn switch(&mut self, variable: &str, branches: &[Branch<'_>], repeats: bool, looping: bool, number: usize, ending: bool) -> bool {
        let mut used = false;
        self.line(&format!("switch ({variable}) {{"));
        for branch in branches {
            match &branch.first {
                First::Condition(Expr { kind: ExprKind::Binary(_, _, b), .. }) => {
                    let constant = self.constant(b).unwrap_or_default();
                    self.line(&format!("case {constant}:"));
                }
                _ => self.line("default:"),
            }
            self.indent += 1;
            self.line("{");
            self.indent += 1;
            self.step(branch.span);
            self.rest(branch, false);
            self.indent -= 1;
            self.line("}");
            if looping && !repeats {
                self.line(&format!("goto selection{number}_end;"));
                used = true;
            } else {
                self.line("break;");
            }
            self.indent -= 1;
        }
        if looping && !branches.iter().any(|branch| matches!(branch.first, First::Else)) {
            self.line("default:");
            self.indent += 1;
            self.begin();
            self.ending = ending;
            let wait = self.wait(false);
            self.ending = false;
            self.line(&wait);
            self.end();
            self.indent -= 1;
        }
        self.line("}");
        used
    }
}
