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
    ("deterministic-process", "a `D_proctype`, whose non-determinism is not reported"),
    ("division-by-zero", "an expression that always divides by zero"),
    ("else-inside-option", "an `else` after another statement, where it is always executable"),
    ("else-never-runs", "an `else` beside an option that is always executable"),
    ("few-values", "fewer initial values than the array has elements"),
    ("hidden-in-state", "a `hidden` variable that is part of the state all the same"),
    ("late-claim", "an exclusive use of a channel that is claimed after the first statement"),
    ("message-fields", "a message with another number of fields than its channel has"),
    ("mixed-messages", "names from different sets of messages are compared, or one is stored in a variable or a message of another set"),
    ("negated-channel-test", "`!` before `full`, `empty`, `nfull` or `nempty`, which SPIN does not allow"),
    ("never-executable", "a statement that is always false"),
    ("no-effect", "a variable is assigned to itself, or compared with itself"),
    ("own-warning", "a `#warning` of the model"),
    ("printed-values", "a format with another number of values than are given"),
    ("redefined-macro", "a macro that is defined again"),
    ("standard-input", "the channel `STDIN`, which exists only in SPIN's simulations"),
    ("stray-comment-end", "a `*/` that closes no comment"),
    ("structure-value", "an initial value of a structure, which has no effect"),
    ("trivial-assertion", "an assertion that is always true"),
    ("unless-in-d-step", "an `unless` inside a `d_step`, which has no effect"),
    ("unmatched-in-state", "an embedded variable outside the state on which the behaviour depends"),
    ("unreachable", "a statement after a jump"),
    ("unused-definition", "a `-D` name that the model does not use"),
    ("unused-label", "a label that nothing refers to"),
    ("unused-process", "a process type of which there is never a process"),
    ("unused-variable", "a variable or channel that is never used"),
    ("value-does-not-fit", "a number that the type of the variable, field or parameter cannot hold"),
];

/// The warnings about a model without errors, in the order of the text.
pub(crate) fn lint(model: &Model) -> Vec<Diagnostic> {
    let mut survey = Survey::default();
    survey.model(model);
    let mut found = Vec::new();
    for unit in &model.units {
        match unit {
            Unit::Declaration(declaration) => {
                survey.declared(declaration, &mut found);
                initial_values(declaration, &mut found);
            }
            Unit::Proctype(process) => {
                let runs = process.is_init || process.active.is_some() || survey.run.contains(&*process.name.text);
                if !runs {
                    let message = format!("there is never a process of the type `{}`", process.name.text);
                    let hint = "start it with `run` or make it `active`";
                    found.push(Diagnostic::warning(process.name.span, message).with_hint(hint).named("unused-process"));
                }
                let mut local = Local { survey: &survey, locals: BTreeMap::new(), found: &mut found };
                process.parameters.iter().for_each(|parameter| local.declare(parameter));
                local.steps(&process.body, Inside::Elsewhere);
            }
            _ => {}
        }
    }
    survey.channels(&mut found);
    found.sort_by_key(|warning| (warning.span.file, warning.span.start));
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
    /// The types of global variables.
    types: BTreeMap<String, Declared>,
    /// The values of the parameters of each process type.
    parameters: BTreeMap<String, Vec<Option<(i64, i64)>>>,
}

/// What a declaration says about the values of a variable.
#[derive(Clone)]
struct Declared {
    /// The least and the greatest value, if the type is small.
    range: Option<(i64, i64)>,
    is_array: bool,
    /// The same for the fields of a channel's messages.
    fields: Vec<Option<(i64, i64)>>,
}

/// The least and the greatest value of a type, if it is small.
fn range_of_type(ty: &TypeName) -> Option<(i64, i64)> {
    match ty {
        TypeName::Bit => Some((0, 1)),
        TypeName::Byte => Some((0, 255)),
        TypeName::Short => Some((-32768, 32767)),
        _ => None,
    }
}

impl Declared {
    fn of(declaration: &Declaration, variable: &Variable) -> Declared {
        let range = match variable.width.as_ref().map(|width| &width.kind) {
            Some(ExprKind::Number(bits @ 1..=31)) => Some((0, (1 << bits) - 1)),
            _ => range_of_type(&declaration.ty),
        };
        let fields = match &variable.initial {
            // A structure is several fields, so those after it have other positions.
            Some(Initial::Channel { fields, .. }) => {
                let simple = fields.iter().take_while(|(ty, _)| !matches!(ty, TypeName::User(_)));
                simple.map(|(ty, _)| range_of_type(ty)).collect()
            }
            _ => Vec::new(),
        };
        Declared { range, is_array: variable.length.is_some(), fields }
    }
}

impl Survey {
    fn model(&mut self, model: &Model) {
        for unit in &model.units {
            match unit {
                Unit::Declaration(declaration) => {
                    self.declaration(declaration);
                    for variable in &declaration.variables {
                        self.types.insert(variable.name.text.to_string(), Declared::of(declaration, variable));
                    }
                }
                Unit::Typedef(typedef) => typedef.fields.iter().for_each(|field| self.declaration(field)),
                Unit::Proctype(process) => {
                    process.active.iter().chain(&process.priority).chain(&process.provided).for_each(|expr| self.expr(expr));
                    process.parameters.iter().for_each(|parameter| self.declaration(parameter));
                    let parameters =
                        process.parameters.iter().flat_map(|declared| declared.variables.iter().map(move |own| (declared, own)));
                    let simple = parameters.take_while(|(declared, _)| !matches!(declared.ty, TypeName::User(_)));
                    let ranges = simple.map(|(declared, own)| Declared::of(declared, own).range).collect();
                    self.parameters.insert(process.name.text.to_string(), ranges);
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
    fn declared(&self, declaration: &Declaration, found: &mut Vec<Diagnostic>) {
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
    fn channels(&self, found: &mut Vec<Diagnostic>) {
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

/// Where a sequence of statements is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// Not in a `d_step`.
    Elsewhere,
    /// In a `d_step`: the first statement may block there, or is judged with what contains it.
    DStep,
    /// In a `d_step`, after its first statement.
    Rest,
}

/// The walk through one process.
struct Local<'a> {
    survey: &'a Survey,
    locals: BTreeMap<String, Declared>,
    found: &'a mut Vec<Diagnostic>,
}

impl Local<'_> {
    fn warn(&mut self, span: Span, message: impl Into<String>, hint: &str, name: &'static str) {
        self.found.push(Diagnostic::warning(span, message).with_hint(hint).named(name));
    }

    fn declare(&mut self, declaration: &Declaration) {
        for variable in &declaration.variables {
            self.locals.insert(variable.name.text.to_string(), Declared::of(declaration, variable));
        }
        initial_values(declaration, self.found);
    }

    /// The statements of a sequence.
    fn steps(&mut self, steps: &[Step], inside: Inside) {
        let (mut jumped, mut begun) = (false, false);
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
            if begun && matches!(statement.kind, StmtKind::Else) {
                let hint = "write `:: else` for an option of its own";
                self.warn(statement.span, "this `else` follows another statement, and is always executable", hint, "else-inside-option");
            }
            begun = true;
            let judged = inside == Inside::Rest || inside == Inside::DStep && index > 0;
            if judged && may_block(statement) {
                let hint = "if a statement of a `d_step` blocks, other than the first, the model is wrong; use `atomic` to let it wait";
                self.warn(statement.span, "this statement may block inside the `d_step`", hint, "d-step-blocks");
            }
            self.statement(statement, if inside == Inside::Elsewhere { inside } else { Inside::DStep });
        }
    }

    fn statement(&mut self, statement: &Stmt, inside: Inside) {
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
                self.found.extend(self.range_of(target).and_then(|range| too_large(range, value, "variable")));
                self.expr(value);
            }
            StmtKind::Send { channel, arguments, .. } => {
                let ranges = self.fields_of(channel);
                self.fit(&ranges, arguments, "field");
                arguments.iter().for_each(|argument| self.expr(argument));
            }
            StmtKind::Receive(receive) => {
                let ranges = self.fields_of(&receive.channel);
                for (range, argument) in ranges.iter().zip(&receive.arguments) {
                    let Some((number, (least, greatest))) = number(argument).zip(*range) else { continue };
                    if number < least || number > greatest {
                        let hint = format!("the values of this field are {least} to {greatest}");
                        self.warn(argument.span, format!("no message has the value {number} here"), &hint, "value-does-not-fit");
                    }
                }
            }
            StmtKind::If(options) | StmtKind::Do(options) => {
                self.options(options, matches!(statement.kind, StmtKind::If(_)), statement.span);
                options.iter().for_each(|option| self.steps(option, inside));
            }
            StmtKind::Atomic(body) | StmtKind::Block(body) => self.steps(body, inside),
            // The first statement of the body comes after the test of the loop.
            StmtKind::For { body, .. } => self.steps(body, if inside == Inside::DStep { Inside::Rest } else { inside }),
            StmtKind::DStep(body) => self.steps(body, Inside::DStep),
            StmtKind::Unless(a, b) => {
                self.statement(a, inside);
                self.statement(b, inside);
            }
            StmtKind::Label(label, inner) => {
                let name = &*label.text;
                let special = ["end", "accept", "progress"].iter().any(|prefix| name.starts_with(prefix));
                if !special && !self.survey.targets.contains(name) {
                    let hint = "labels that begin with `end`, `progress` or `accept` have a meaning of their own";
                    self.warn(label.span, format!("nothing refers to the label `{name}`"), hint, "unused-label");
                }
                self.statement(inner, inside);
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
            ExprKind::Run { name, arguments, .. } => {
                let ranges = self.survey.parameters.get(&*name.text).cloned().unwrap_or_default();
                self.fit(&ranges, arguments, "parameter");
            }
            _ => {}
        }
    }

    /// Warns of numbers that do not fit where they are passed.
    fn fit(&mut self, ranges: &[Option<(i64, i64)>], values: &[Expr], what: &str) {
        let pairs = ranges.iter().zip(values);
        self.found.extend(pairs.filter_map(|(range, value)| too_large((*range)?, value, what)));
    }

    /// The values of the fields of a channel's messages.
    fn fields_of(&self, channel: &Reference) -> Vec<Option<(i64, i64)>> {
        let [part] = &channel.parts[..] else { return Vec::new() };
        let name = &*part.name.text;
        let declared = self.locals.get(name).or_else(|| self.survey.types.get(name));
        declared.map(|declared| declared.fields.clone()).unwrap_or_default()
    }

    /// The values that a variable or an element of an array can have.
    fn range_of(&self, reference: &Reference) -> Option<(i64, i64)> {
        let [part] = &reference.parts[..] else { return None };
        let name = &*part.name.text;
        let declared = self.locals.get(name).or_else(|| self.survey.types.get(name))?;
        declared.range.filter(|_| declared.is_array == part.index.is_some())
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

/// Whether a statement may block when it begins.
fn may_block(statement: &Stmt) -> bool {
    match &statement.kind {
        StmtKind::Receive(_) | StmtKind::Send { .. } => true,
        StmtKind::Expr(expr) => !matches!(expr.kind, ExprKind::Number(_) | ExprKind::Run { .. }),
        StmtKind::If(options) | StmtKind::Do(options) => {
            let guards: Vec<&Stmt> = options.iter().filter_map(|option| first(option)).collect();
            let conditions = guards.iter().all(|guard| matches!(guard.kind, StmtKind::Expr(_)));
            let complete = match &guards[..] {
                [a, b] => matches!((&a.kind, &b.kind), (StmtKind::Expr(a), StmtKind::Expr(b)) if complementary(a, b)),
                // Whether more conditions cover all values is hard to decide.
                _ => conditions && guards.len() > 2,
            };
            guards.len() == options.len() && guards.iter().all(|guard| may_block(guard)) && !complete
        }
        StmtKind::Label(_, inner) => may_block(inner),
        StmtKind::Atomic(steps) | StmtKind::DStep(steps) | StmtKind::Block(steps) => first(steps).is_some_and(may_block),
        _ => false,
    }
}

/// The number that an expression is.
fn number(value: &Expr) -> Option<i64> {
    match &value.kind {
        ExprKind::Number(number) => Some(i64::from(*number)),
        ExprKind::Unary(Unary::Negate, inner) => match inner.kind {
            ExprKind::Number(number) => Some(-i64::from(number)),
            _ => None,
        },
        _ => None,
    }
}

/// A warning if a number is outside of the range of the variable, field or parameter that gets it.
fn too_large((least, greatest): (i64, i64), value: &Expr, what: &str) -> Option<Diagnostic> {
    let number = number(value)?;
    let message = format!("the value {number} does not fit and will be cut");
    let hint = format!("the values of this {what} are {least} to {greatest}");
    let outside = number < least || number > greatest;
    outside.then(|| Diagnostic::warning(value.span, message).with_hint(hint).named("value-does-not-fit"))
}

/// Warns of initial values that do not fit.
fn initial_values(declaration: &Declaration, found: &mut Vec<Diagnostic>) {
    for variable in &declaration.variables {
        let Some(range) = Declared::of(declaration, variable).range else { continue };
        let values = match &variable.initial {
            Some(Initial::Value(value)) => std::slice::from_ref(value),
            Some(Initial::List(values)) => &values[..],
            _ => &[],
        };
        found.extend(values.iter().filter_map(|value| too_large(range, value, "variable")));
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
