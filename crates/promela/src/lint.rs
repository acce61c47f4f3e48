//! Warnings about models that are accepted but look like mistakes.
//!
//! Each warning has a name by which a user can silence it or turn it into an error. The syntax tree
//! is enough for all of them: names are compared as texts, without scopes, so a name that is used
//! anywhere counts as used. Wrong warnings are worse than none, so each check is narrow: it warns
//! only if there is no sensible interpretation.

use crate::ast::*;
use source::{Diagnostic, Span};
use std::collections::{BTreeMap, BTreeSet};

/// The names of all warnings, with their meaning.
pub const NAMES: &[(&str, &str)] = &[
    ("assignment-as-guard", "an assignment where the other options compare the same variable"),
    ("blocked-selection", "a selection on local variables that blocks for ever if no guard is true"),
    ("channel-without-receiver", "messages are sent to a channel, and no process receives them"),
    ("channel-without-sender", "a process receives from a channel, and no process sends to it"),
    ("constant-comparison", "a comparison with a value that the variable's type cannot hold"),
    ("d-step-blocks", "a statement inside a `d_step` that may block, which is an error when it does"),
    ("never-executable", "a statement that is always false"),
    ("no-effect", "a variable is assigned to itself, or compared with itself"),
    ("trivial-assertion", "an assertion that is always true"),
    ("unreachable", "a statement after a jump"),
    ("unused-label", "a label that nothing refers to"),
    ("unused-process", "a process type of which there is never a process"),
    ("unused-variable", "a variable or channel that is never used"),
];

/// A warning and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The name, one of [`NAMES`].
    pub name: &'static str,
    /// The message.
    pub diagnostic: Diagnostic,
}

/// Gives a warning its name.
trait Named {
    fn named(self, name: &'static str) -> Warning;
}

impl Named for Diagnostic {
    fn named(self, name: &'static str) -> Warning {
        Warning { name, diagnostic: self }
    }
}

/// The warnings about a model without errors, in the order of the text.
pub(crate) fn lint(model: &Model) -> Vec<Warning> {
    let mut survey = Survey::default();
    survey.model(model);
    let mut found = Vec::new();
    for unit in &model.units {
        match unit {
            Unit::Declaration(declaration) => survey.declared(declaration, &mut found),
            Unit::Proctype(process) => {
                let runs = process.is_init || process.active.is_some() || survey.run.contains(&*process.name.text);
                if !runs {
                    let message = format!("there is never a process of the type `{}`", process.name.text);
                    let hint = "start it with `run` or make it `active`";
                    found.push(Diagnostic::warning(process.name.span, message).with_hint(hint).named("unused-process"));
                }
                let mut local = Local { survey: &survey, locals: BTreeMap::new(), found: &mut found };
                process.parameters.iter().for_each(|parameter| local.declare(parameter));
                local.steps(&process.body, false);
            }
            _ => {}
        }
    }
    survey.channels(&mut found);
    found.sort_by_key(|warning| (warning.diagnostic.span.file, warning.diagnostic.span.start));
    // A statement from an inline is reported once.
    found.dedup();
    found
}

/// The names that occur anywhere in a model.
#[derive(Default)]
struct Survey {
    /// Names in expressions, assignments, messages.
    used: BTreeSet<String>,
    run: BTreeSet<String>,
    /// Labels that are the targets of jumps or remote references.
    targets: BTreeSet<String>,
    /// Channels declared with a capacity, by name, and how they are used. A channel that is used in
    /// any other way may be passed anywhere.
    declared: BTreeMap<String, Span>,
    sent: BTreeSet<String>,
    received: BTreeSet<String>,
    elsewhere: BTreeSet<String>,
    /// The types of global scalars.
    types: BTreeMap<String, TypeName>,
}

impl Survey {
    fn model(&mut self, model: &Model) {
        for unit in &model.units {
            match unit {
                Unit::Declaration(declaration) => {
                    self.declaration(declaration);
                    for variable in declaration.variables.iter().filter(|variable| variable.length.is_none()) {
                        self.types.insert(variable.name.text.to_string(), declaration.ty.clone());
                    }
                }
                Unit::Typedef(typedef) => typedef.fields.iter().for_each(|field| self.declaration(field)),
                Unit::Proctype(process) => {
                    process.active.iter().chain(&process.priority).chain(&process.provided).for_each(|expr| self.expr(expr));
                    process.parameters.iter().for_each(|parameter| self.declaration(parameter));
                    self.steps(&process.body);
                }
                Unit::Automaton(automaton) => self.steps(&automaton.body),
                Unit::Ltl(ltl) => self.formula(&ltl.formula),
                Unit::Values(values) => values.iter().for_each(|expr| self.expr(expr)),
                Unit::Embedded(Embedded::Declarations(fragment)) => self.embedded(fragment),
                Unit::Mtype(_) | Unit::Embedded(_) => {}
            }
        }
    }

    /// Every word of embedded C counts as used, and a channel that it names may be passed anywhere.
    fn embedded(&mut self, fragment: &Fragment) {
        let words = fragment.text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        for word in words.filter(|word| !word.is_empty()) {
            self.used.insert(word.to_owned());
            self.elsewhere.insert(word.to_owned());
        }
    }

    fn formula(&mut self, formula: &Formula) {
        match formula {
            Formula::Atom(expr) => self.expr(expr),
            Formula::Not(a) | Formula::Next(a) | Formula::Always(a) | Formula::Eventually(a) => self.formula(a),
            Formula::And(a, b)
            | Formula::Or(a, b)
            | Formula::Implies(a, b)
            | Formula::Equivalent(a, b)
            | Formula::Until(a, b)
            | Formula::WeakUntil(a, b)
            | Formula::Release(a, b) => {
                self.formula(a);
                self.formula(b);
            }
        }
    }

    fn declaration(&mut self, declaration: &Declaration) {
        for variable in &declaration.variables {
            variable.width.iter().chain(&variable.length).for_each(|expr| self.expr(expr));
            match &variable.initial {
                Some(Initial::Value(expr)) => self.expr(expr),
                Some(Initial::List(list)) => list.iter().for_each(|expr| self.expr(expr)),
                Some(Initial::Channel { capacity, .. }) => {
                    self.expr(capacity);
                    self.declared.insert(variable.name.text.to_string(), variable.name.span);
                }
                None => {}
            }
        }
    }

    fn reference(&mut self, reference: &Reference) {
        for part in &reference.parts {
            self.used.insert(part.name.text.to_string());
            part.index.iter().for_each(|index| self.expr(index));
        }
    }

    /// A channel in a statement that only sends or only receives.
    fn channel(&mut self, channel: &Reference, sends: bool) {
        self.reference(channel);
        if let [part] = &channel.parts[..] {
            let set = if sends { &mut self.sent } else { &mut self.received };
            set.insert(part.name.text.to_string());
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Embedded(fragment, condition) => [fragment].into_iter().chain(condition).for_each(|f| self.embedded(f)),
            ExprKind::Number(_) | ExprKind::Timeout | ExprKind::NonProgress | ExprKind::Error => {}
            ExprKind::Ref(reference) => {
                self.reference(reference);
                self.elsewhere.extend(reference.parts.iter().map(|part| part.name.text.to_string()));
            }
            ExprKind::Unary(_, a) | ExprKind::Enabled(a) | ExprKind::PcValue(a) | ExprKind::GetPriority(a) => self.expr(a),
            ExprKind::Binary(_, a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Conditional(a, b, c) => [a, b, c].into_iter().for_each(|expr| self.expr(expr)),
            ExprKind::Run { name, arguments, priority } => {
                self.run.insert(name.text.to_string());
                arguments.iter().for_each(|expr| self.expr(expr));
                priority.iter().for_each(|expr| self.expr(expr));
            }
            ExprKind::Probe(_, channel) => {
                self.reference(channel);
                self.elsewhere.extend(channel.parts.iter().map(|part| part.name.text.to_string()));
            }
            ExprKind::Poll(receive) => self.receive(receive),
            ExprKind::RemoteLabel { pid, label, .. } => {
                pid.iter().for_each(|expr| self.expr(expr));
                self.targets.insert(label.text.to_string());
            }
            ExprKind::RemoteVariable { pid, variable, .. } => {
                pid.iter().for_each(|expr| self.expr(expr));
                self.reference(variable);
            }
        }
    }

    fn receive(&mut self, receive: &Receive) {
        self.channel(&receive.channel, false);
        receive.arguments.iter().for_each(|expr| self.expr(expr));
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Declaration(declaration) => self.declaration(declaration),
                Step::Exclusive(_, channels, _) => channels.iter().for_each(|channel| self.reference(channel)),
                Step::Statement(statement) => self.statement(statement),
            }
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Expr(expr) | StmtKind::Assert(expr) | StmtKind::Printm(expr) => self.expr(expr),
            StmtKind::Assign(target, value) => {
                self.reference(target);
                self.elsewhere.extend(target.parts.iter().map(|part| part.name.text.to_string()));
                self.expr(value);
            }
            StmtKind::Send { channel, arguments, .. } => {
                self.channel(channel, true);
                arguments.iter().for_each(|expr| self.expr(expr));
            }
            StmtKind::Receive(receive) => self.receive(receive),
            StmtKind::Printf(_, arguments) => arguments.iter().for_each(|expr| self.expr(expr)),
            StmtKind::SetPriority(a, b) => [a, b].into_iter().for_each(|expr| self.expr(expr)),
            StmtKind::Goto(label) => _ = self.targets.insert(label.text.to_string()),
            StmtKind::If(options) | StmtKind::Do(options) => options.iter().for_each(|option| self.steps(option)),
            StmtKind::For { variable, range, body, .. } => {
                self.reference(variable);
                match range {
                    Range::Values(a, b) => [a, b].into_iter().for_each(|expr| self.expr(expr)),
                    Range::In(reference) => {
                        self.reference(reference);
                        self.elsewhere.extend(reference.parts.iter().map(|part| part.name.text.to_string()));
                    }
                }
                self.steps(body);
            }
            StmtKind::Select { variable, from, to } => {
                self.reference(variable);
                [from, to].into_iter().for_each(|expr| self.expr(expr));
            }
            StmtKind::Atomic(steps) | StmtKind::DStep(steps) | StmtKind::Block(steps) => self.steps(steps),
            StmtKind::Unless(a, b) => [a, b].into_iter().for_each(|inner| self.statement(inner)),
            StmtKind::Label(_, inner) => self.statement(inner),
            StmtKind::Embedded(fragment, condition) => [fragment].into_iter().chain(condition).for_each(|f| self.embedded(f)),
            StmtKind::EmbeddedDeclarations(fragment) => self.embedded(fragment),
            StmtKind::Else | StmtKind::Break | StmtKind::Error => {}
        }
    }

    /// Warns of variables that are never used.
    fn declared(&self, declaration: &Declaration, found: &mut Vec<Warning>) {
        for variable in &declaration.variables {
            let name = &*variable.name.text;
            // A name with a leading underscore is unused on purpose.
            if !self.used.contains(name) && !name.starts_with('_') && declaration.visibility != Visibility::Show {
                let what = if declaration.ty == TypeName::Chan { "channel" } else { "variable" };
                let message = format!("the {what} `{name}` is never used");
                found.push(Diagnostic::warning(variable.name.span, message).named("unused-variable"));
            }
        }
    }

    /// Warns of channels that are only sent to or only received from.
    fn channels(&self, found: &mut Vec<Warning>) {
        for (name, span) in &self.declared {
            let message = match (self.sent.contains(name), self.received.contains(name)) {
                _ if self.elsewhere.contains(name) => continue,
                (true, false) => "no process receives from the channel",
                (false, true) => "no process sends to the channel",
                _ => continue,
            };
            let lint = if self.sent.contains(name) { "channel-without-receiver" } else { "channel-without-sender" };
            found.push(Diagnostic::warning(*span, format!("{message} `{name}`")).named(lint));
        }
    }
}

/// The walk through one process.
struct Local<'a> {
    survey: &'a Survey,
    locals: BTreeMap<String, TypeName>,
    found: &'a mut Vec<Warning>,
}

impl Local<'_> {
    fn warn(&mut self, span: Span, message: impl Into<String>, hint: &str, name: &'static str) {
        self.found.push(Diagnostic::warning(span, message).with_hint(hint).named(name));
    }

    fn declare(&mut self, declaration: &Declaration) {
        for variable in declaration.variables.iter().filter(|variable| variable.length.is_none()) {
            self.locals.insert(variable.name.text.to_string(), declaration.ty.clone());
        }
    }

    /// The statements of a sequence, which may be that of a `d_step`.
    fn steps(&mut self, steps: &[Step], in_d_step: bool) {
        let mut jumped = false;
        for (index, step) in steps.iter().enumerate() {
            let statement = match step {
                Step::Declaration(declaration) => {
                    self.declare(declaration);
                    self.survey.declared(declaration, self.found);
                    continue;
                }
                Step::Exclusive(..) => continue,
                Step::Statement(statement) => statement,
            };
            if jumped && !matches!(statement.kind, StmtKind::Label(..)) && !contains_label(statement) {
                self.warn(statement.span, "this statement is never reached", "the statement before it jumps away", "unreachable");
            }
            jumped = matches!(statement.kind, StmtKind::Goto(_) | StmtKind::Break);
            if in_d_step && index > 0 && may_block(statement) {
                let hint = "if a statement of a `d_step` blocks, other than the first, the model is wrong; use `atomic` to let it wait";
                self.warn(statement.span, "this statement may block inside the `d_step`", hint, "d-step-blocks");
            }
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Expr(expr) => {
                if let ExprKind::Number(0) = expr.kind {
                    let hint = "a condition that is false waits for ever; `assert(false)` reports that it was reached";
                    self.warn(expr.span, "this is never executable", hint, "never-executable");
                }
                self.expr(expr);
            }
            StmtKind::Assert(expr) => {
                if let ExprKind::Number(number) = expr.kind
                    && number != 0
                {
                    self.warn(expr.span, "this assertion always holds", "assert what must be true here", "trivial-assertion");
                }
                self.expr(expr);
            }
            StmtKind::Assign(target, value) => {
                if let ExprKind::Ref(source) = &value.kind
                    && same_reference(target, source)
                {
                    self.warn(statement.span, "this assigns a variable to itself", "was another variable meant?", "no-effect");
                }
                self.expr(value);
            }
            StmtKind::If(options) | StmtKind::Do(options) => {
                self.options(options, matches!(statement.kind, StmtKind::If(_)), statement.span);
                options.iter().for_each(|option| self.steps(option, false));
            }
            StmtKind::For { body, .. } | StmtKind::Atomic(body) | StmtKind::Block(body) => self.steps(body, false),
            StmtKind::DStep(body) => self.steps(body, true),
            StmtKind::Unless(a, b) => {
                self.statement(a);
                self.statement(b);
            }
            StmtKind::Label(label, inner) => {
                let name = &*label.text;
                let special = ["end", "accept", "progress"].iter().any(|prefix| name.starts_with(prefix));
                if !special && !self.survey.targets.contains(name) {
                    let hint = "labels that begin with `end`, `progress` or `accept` have a meaning of their own";
                    self.warn(label.span, format!("nothing refers to the label `{name}`"), hint, "unused-label");
                }
                self.statement(inner);
            }
            _ => {}
        }
    }

    /// The options of a selection or a loop.
    fn options(&mut self, options: &[Vec<Step>], selection: bool, span: Span) {
        let guards: Vec<&Stmt> = options.iter().filter_map(|option| first(option)).collect();
        for guard in &guards {
            let StmtKind::Assign(target, value) = &guard.kind else { continue };
            let compared = guards.iter().any(|other| matches!(&other.kind, StmtKind::Expr(expr) if compares(expr, target)));
            if compared && matches!(value.kind, ExprKind::Number(_)) {
                let hint = "`==` compares; an assignment is always executable, so this option can always be taken";
                self.warn(guard.span, "this assigns, and the options beside it compare the same variable", hint, "assignment-as-guard");
            }
        }
        let local = |guard: &&Stmt| matches!(&guard.kind, StmtKind::Expr(expr) if self.only_locals(expr));
        let complete = match &guards[..] {
            [a, b] => matches!((&a.kind, &b.kind), (StmtKind::Expr(a), StmtKind::Expr(b)) if complementary(a, b)),
            _ => false,
        };
        // For more than two options, it is hard to decide whether they cover all values.
        if selection && guards.len() == options.len() && guards.len() <= 2 && !complete && guards.iter().all(local) {
            let hint = "only this process can change its local variables: add `:: else` for the other values";
            self.warn(span, "if no option can be taken here, the process waits for ever", hint, "blocked-selection");
        }
    }

    /// Whether an expression reads local variables, and nothing else that can change.
    fn only_locals(&self, expr: &Expr) -> bool {
        let mut reads = 0;
        self.locals_only(expr, &mut reads) && reads > 0
    }

    fn locals_only(&self, expr: &Expr, reads: &mut usize) -> bool {
        match &expr.kind {
            ExprKind::Number(_) => true,
            ExprKind::Ref(reference) => {
                *reads += 1;
                reference.parts.len() == 1 && reference.parts[0].index.is_none() && self.locals.contains_key(&*reference.parts[0].name.text)
            }
            ExprKind::Unary(_, a) => self.locals_only(a, reads),
            ExprKind::Binary(_, a, b) => self.locals_only(a, reads) && self.locals_only(b, reads),
            _ => false,
        }
    }

    /// Comparisons that are always true or always false.
    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Binary(op, a, b) => {
                if let (ExprKind::Ref(x), ExprKind::Ref(y)) = (&a.kind, &b.kind)
                    && is_comparison(*op)
                    && same_reference(x, y)
                {
                    self.warn(expr.span, "this compares a variable with itself", "was another variable meant?", "no-effect");
                }
                if let (ExprKind::Ref(x), ExprKind::Number(number)) = (&a.kind, &b.kind)
                    && let Some((least, greatest)) = self.range_of(x)
                    && let Some(always) = always(*op, least, greatest, i64::from(*number))
                {
                    let hint = format!("its values are {least} to {greatest}");
                    self.warn(expr.span, format!("this is always {always}"), &hint, "constant-comparison");
                }
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Unary(_, a) => self.expr(a),
            _ => {}
        }
    }

    /// The values that a scalar can have.
    fn range_of(&self, reference: &Reference) -> Option<(i64, i64)> {
        let [part] = &reference.parts[..] else { return None };
        let name = &*part.name.text;
        match self.locals.get(name).or_else(|| self.survey.types.get(name))? {
            _ if part.index.is_some() => None,
            TypeName::Bit => Some((0, 1)),
            TypeName::Byte => Some((0, 255)),
            TypeName::Short => Some((-32768, 32767)),
            _ => None,
        }
    }
}

/// Whether a comparison of a value in a range with a number is always the same.
fn always(op: Binary, least: i64, greatest: i64, number: i64) -> Option<bool> {
    let outside = number < least || number > greatest;
    match op {
        Binary::Eq if outside => Some(false),
        Binary::Ne if outside => Some(true),
        Binary::Lt if number <= least => Some(false),
        Binary::Lt if number > greatest => Some(true),
        Binary::Le if number < least => Some(false),
        Binary::Le if number >= greatest => Some(true),
        Binary::Gt if number >= greatest => Some(false),
        Binary::Gt if number < least => Some(true),
        Binary::Ge if number > greatest => Some(false),
        Binary::Ge if number <= least => Some(true),
        _ => None,
    }
}

fn is_comparison(op: Binary) -> bool {
    matches!(op, Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge)
}

/// The statement with which an option begins, if it is a simple one.
fn first(option: &[Step]) -> Option<&Stmt> {
    let mut statements = option.iter().filter_map(|step| if let Step::Statement(statement) = step { Some(statement) } else { None });
    let mut statement = statements.next()?;
    loop {
        statement = match &statement.kind {
            StmtKind::Label(_, inner) => inner,
            StmtKind::Atomic(steps) | StmtKind::DStep(steps) | StmtKind::Block(steps) => return first(steps),
            _ => return Some(statement),
        };
    }
}

/// Whether an expression is a comparison of this variable.
fn compares(expr: &Expr, target: &Reference) -> bool {
    matches!(&expr.kind, ExprKind::Binary(Binary::Eq | Binary::Ne, a, _) if matches!(&a.kind, ExprKind::Ref(reference) if same_reference(reference, target)))
}

/// Whether one of two conditions is always true.
fn complementary(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Unary(Unary::Not, inner), _) if same_expr(inner, b) => true,
        (_, ExprKind::Unary(Unary::Not, inner)) if same_expr(a, inner) => true,
        (ExprKind::Binary(p, a1, a2), ExprKind::Binary(q, b1, b2)) => {
            let opposite = matches!(
                (p, q),
                (Binary::Eq, Binary::Ne)
                    | (Binary::Ne, Binary::Eq)
                    | (Binary::Lt, Binary::Ge)
                    | (Binary::Ge, Binary::Lt)
                    | (Binary::Le, Binary::Gt)
                    | (Binary::Gt, Binary::Le)
            );
            // Otherwise the two may still cover all values, as `x < 3` and `x > 1` do.
            (opposite && same_expr(a1, b1) && same_expr(a2, b2)) || (!opposite && same_expr(a1, b1) && p != q)
        }
        _ => false,
    }
}

fn same_expr(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Number(a), ExprKind::Number(b)) => a == b,
        (ExprKind::Ref(a), ExprKind::Ref(b)) => same_reference(a, b),
        (ExprKind::Unary(p, a), ExprKind::Unary(q, b)) => p == q && same_expr(a, b),
        (ExprKind::Binary(p, a1, a2), ExprKind::Binary(q, b1, b2)) => p == q && same_expr(a1, b1) && same_expr(a2, b2),
        _ => false,
    }
}

fn same_reference(a: &Reference, b: &Reference) -> bool {
    let same_index = |a: &Option<Box<Expr>>, b: &Option<Box<Expr>>| match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => same_expr(a, b),
        _ => false,
    };
    let same = |(a, b): (&Part, &Part)| a.name.text == b.name.text && same_index(&a.index, &b.index);
    a.parts.len() == b.parts.len() && a.parts.iter().zip(&b.parts).all(same)
}

/// Whether a statement may block.
fn may_block(statement: &Stmt) -> bool {
    match &statement.kind {
        StmtKind::Receive(_) => true,
        StmtKind::Expr(expr) => !matches!(expr.kind, ExprKind::Number(_) | ExprKind::Run { .. }),
        _ => false,
    }
}

fn contains_label(statement: &Stmt) -> bool {
    let in_steps = |steps: &[Step]| steps.iter().any(|step| matches!(step, Step::Statement(inner) if contains_label(inner)));
    match &statement.kind {
        StmtKind::Label(..) => true,
        StmtKind::If(options) | StmtKind::Do(options) => options.iter().any(|option| in_steps(option)),
        StmtKind::For { body, .. } | StmtKind::Atomic(body) | StmtKind::DStep(body) | StmtKind::Block(body) => in_steps(body),
        StmtKind::Unless(a, b) => contains_label(a) || contains_label(b),
        _ => false,
    }
}
