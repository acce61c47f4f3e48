//! Names, types, constants: from the syntax tree to the resolved model.
//!
//! Scopes are SPIN 6's: a block opens one, a name is visible from its declaration to the end of its
//! block, and all variables of a process exist as long as the process, whatever block declares
//! them. Declarations before the first statement of a process are initialised when an instance is
//! created. Every later one is a statement that stores its initial value, zero by default, each
//! time it is executed.

pub(crate) mod c;
mod constant;
mod expression;
mod place;
mod statement;
mod types;
mod variables;

use crate::ast::{self, Expr, ExprKind, Ident, Unit};
use crate::limits::{MAX_DIAGNOSTICS, MAX_MTYPES, MAX_NUMBERED};
use crate::model::{AutomatonModel, ChannelType, Leaf, Ltl, Model, MtypeSet, Process, Scope};
use crate::token::Text;
use source::{Diagnostic, Span};
use std::collections::{HashMap, HashSet};
use types::{Symbol, UserType};

/// Predefined names.
pub(crate) const PREDEFINED: [&str; 5] = ["_pid", "_nr_pr", "_last", "_priority", "_"];

/// The resolved model and the errors in the text. If some of the text could not be read, `doubts`
/// are the names in it, and only those errors are reported that the unread text cannot have caused.
pub fn resolve(tree: &ast::Model, doubts: Option<&HashSet<Text>>) -> (Model, Vec<Diagnostic>) {
    let mut resolver = begin(tree, doubts, c::Uses::default());
    resolver.all();
    if let Some(uses) = resolver.c.unknown() {
        resolver = begin(tree, doubts, uses);
        resolver.all();
    }
    if let Some(uses) = resolver.c.unknown() {
        resolver = begin(tree, doubts, uses);
        resolver.all();
    }
    // Other errors in a model that exceeds a limit may be consequences of that.
    let diagnostics = resolver.given_up.map_or(resolver.diagnostics, |why| vec![why]);
    (resolver.model, diagnostics)
}

fn begin<'a>(tree: &'a ast::Model, doubts: Option<&'a HashSet<Text>>, uses: c::Uses) -> Resolver<'a> {
    Resolver {
        tree,
        doubts,
        model: Model::default(),
        diagnostics: Vec::new(),
        mtypes: HashMap::new(),
        types: Vec::new(),
        type_names: HashMap::new(),
        globals: HashMap::new(),
        headers: Vec::new(),
        current: None,
        in_trace: false,
        elements: 0,
        leaves: 0,
        name_bytes: 0,
        given_up: None,
        c: c::World::with(uses),
    }
}

/// The facts about a process type that are known before its body is resolved.
#[derive(Debug)]
struct Header {
    name: Text,
    span: Span,
    /// The number of values that `run` has to pass.
    parameters: usize,
    /// Variables of the whole process, by name, for remote references.
    outline: HashMap<Text, Symbol>,
    locals: Vec<Leaf>,
}

/// The process type or claim whose body is being resolved.
#[derive(Debug, Default)]
struct Current {
    locals: Vec<Leaf>,
    /// Visible names, one table for each open block.
    scopes: Vec<HashMap<Text, Symbol>>,
    /// Numbers of the open blocks, for labels.
    path: Vec<u32>,
    blocks: u32,
    /// Whether declarations are still initialised when the process is created.
    initialising: bool,
    /// Whether an initial value is being read that is stored when the process is created.
    creating: bool,
    prologue: Vec<(crate::model::Action, Span)>,
    loops: usize,
    /// The number of declarations of each name.
    names: HashMap<Text, usize>,
    /// All names ever declared, for hints and for remote references.
    outline: HashMap<Text, Symbol>,
    d_step: Option<Span>,
    /// Variables that the front-end adds, by name.
    counters: HashMap<String, usize>,
    /// The name of the process type, and its variables of C.
    c_process: String,
    c_objects: Vec<(String, c::Object)>,
    /// Scratch variables of embedded C.
    c_slots: Vec<c::Object>,
}

struct Resolver<'a> {
    tree: &'a ast::Model,
    /// Names in text that could not be read, if there is such text.
    doubts: Option<&'a HashSet<Text>>,
    model: Model,
    diagnostics: Vec<Diagnostic>,
    /// Name of a message: its value and the number of its set.
    mtypes: HashMap<Text, (i32, u8)>,
    types: Vec<UserType>,
    type_names: HashMap<Text, usize>,
    globals: HashMap<Text, Symbol>,
    headers: Vec<Header>,
    current: Option<Current>,
    /// Whether the body being resolved is that of a trace.
    in_trace: bool,
    /// Elements of all leaves so far, to bound memory.
    elements: usize,
    /// All leaves so far and the bytes of their names, for the same reason.
    leaves: usize,
    name_bytes: usize,
    /// The first limit that was exceeded, if any: names may be missing after it.
    given_up: Option<Diagnostic>,
    /// The declarations of embedded C.
    c: c::World,
}

impl Resolver<'_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        if !self.is_full() && (self.doubts.is_none() || !diagnostic.is_error()) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Reports an unknown name, unless it occurs in text that could not be read.
    fn report_unknown(&mut self, name: &str, diagnostic: Diagnostic) {
        if !self.is_full() && self.doubts.is_none_or(|doubts| !doubts.contains(name)) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Whether further findings would not be shown, so that no hint needs to be found.
    fn is_full(&self) -> bool {
        self.diagnostics.len() > MAX_DIAGNOSTICS || self.given_up.is_some()
    }

    /// Refuses the model because of its size.
    fn give_up(&mut self, why: Diagnostic) {
        self.given_up.get_or_insert(why);
    }

    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(span, message));
    }

    fn table(&mut self, scope: Scope) -> &mut Vec<Leaf> {
        match (scope, self.current.as_mut()) {
            (Scope::Local, Some(current)) => &mut current.locals,
            _ => &mut self.model.globals,
        }
    }

    fn all(&mut self) {
        let tree = self.tree;
        let processes = tree.units.iter().filter_map(|unit| match unit {
            Unit::Proctype(process) => Some(process),
            _ => None,
        });
        if let Some(process) = processes.clone().nth(MAX_NUMBERED) {
            let message = format!("{} process types: the limit is {MAX_NUMBERED}", processes.count());
            self.give_up(Diagnostic::error(process.name.span, message));
            return;
        }
        for unit in &tree.units {
            if let Unit::Mtype(set) = unit {
                self.define_mtypes(set);
            }
        }
        for unit in &tree.units {
            match unit {
                Unit::Typedef(typedef) => self.define_type(typedef),
                Unit::Declaration(declaration) => self.declare_globals(declaration),
                _ => {}
            }
        }
        self.initialise_globals();
        self.c_declarations();
        for unit in &tree.units {
            if let Unit::Proctype(proctype) = unit {
                self.declare_process(proctype);
            }
        }
        for unit in &tree.units {
            if let Unit::Proctype(proctype) = unit {
                self.process(proctype);
            }
        }
        let mut processes = 0;
        for unit in &tree.units {
            match unit {
                Unit::Proctype(_) => processes += 1,
                Unit::Automaton(automaton) => self.automaton(automaton, processes),
                Unit::Ltl(ltl) => {
                    let mut nodes = Vec::new();
                    self.formula(&ltl.formula, &mut nodes);
                    self.model.formulas.push(Ltl { name: ltl.name.clone(), text: ltl.text, nodes });
                }
                Unit::Values(values) => {
                    let values = values.iter().map(|value| (self.expr(value), value.span)).collect();
                    self.model.values.push(values);
                }
                _ => {}
            }
        }
        self.c_finish();
        self.distinct_properties();
        let active: u32 = self.model.processes.iter().map(|p| p.active).sum();
        if active == 0 && !self.diagnostics.iter().any(Diagnostic::is_error) {
            let span = tree.units.iter().find_map(|u| match u {
                Unit::Proctype(p) => Some(p.name.span),
                _ => None,
            });
            self.report(
                Diagnostic::error(span.unwrap_or_default(), "no process runs in this model")
                    .with_hint("write `init { … }`, or `active` before a `proctype`"),
            );
        }
    }

    /// Verdicts are reported by the names of properties, so these must differ.
    fn distinct_properties(&mut self) {
        let formulas = self.model.formulas.iter().map(|ltl| &ltl.name);
        let names: Vec<Ident> = formulas.chain(self.model.automata.iter().map(|automaton| &automaton.name)).cloned().collect();
        let mut seen: HashMap<Text, Span> = HashMap::new();
        for name in names {
            if let Some(first) = seen.insert(name.text.clone(), name.span) {
                let message = format!("another property is called `{}`", name.text);
                self.report(Diagnostic::error(name.span, message).with_label(first, "the other one").with_hint(crate::OTHER_NAME));
            }
        }
    }

    // --- Names of messages
    // ------------------------------------------------------------------------

    /// SPIN numbers the names of a declaration backwards, and later declarations after earlier
    /// ones.
    fn define_mtypes(&mut self, set: &ast::MtypeSet) {
        let index = self.mtype_set(set.set.as_ref());
        for name in set.names.iter().rev() {
            if self.mtypes.contains_key(&name.text) {
                let message = format!("the message name `{}` is declared twice", name.text);
                // In one declaration, the later one is known first.
                let last = set.names.iter().rfind(|other| other.text == name.text).unwrap_or(name);
                let mut diagnostic = Diagnostic::error(last.span, message)
                    .with_note("all names of messages share one list, whatever `mtype` they belong to");
                if last.span != name.span {
                    diagnostic = diagnostic.with_label(name.span, "the first declaration");
                }
                self.report(diagnostic);
                continue;
            }
            let names = &mut self.model.mtypes[index as usize].names;
            names.push(name.text.clone());
            let value = names.len();
            if value > MAX_MTYPES {
                self.error(name.span, format!("more than {MAX_MTYPES} names in a set of messages"));
                return;
            }
            self.mtypes.insert(name.text.clone(), (value as i32, index));
        }
    }

    pub(super) fn mtype_set(&mut self, name: Option<&Ident>) -> u8 {
        let text = name.map(|n| n.text.clone());
        let found = self.model.mtypes.iter().position(|m| m.name == text);
        let index = found.unwrap_or_else(|| {
            self.model.mtypes.push(MtypeSet { name: text, names: Vec::new() });
            self.model.mtypes.len() - 1
        });
        u8::try_from(index).unwrap_or_else(|_| {
            if let Some(name) = name {
                self.error(name.span, "too many sets of messages");
            }
            0
        })
    }

    // --- Constants
    // --------------------------------------------------------------------------------

    /// The value of a constant expression. An error is reported if the expression is not constant.
    fn constant(&mut self, expr: &Expr) -> Option<i32> {
        match self.try_constant(expr) {
            Ok(value) => Some(value),
            Err(at) => {
                self.report(
                    Diagnostic::error(at, "this is not known before the model runs")
                        .with_hint("a number, an expression over numbers, or a macro is needed here"),
                );
                None
            }
        }
    }

    /// The value of an expression over numbers, or the place of the part that is not a number.
    fn try_constant(&self, expr: &Expr) -> Result<i32, Span> {
        match &expr.kind {
            ExprKind::Number(n) => Ok(*n),
            ExprKind::Unary(op, a) => Ok(constant::unary(*op, self.try_constant(a)?)),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.try_constant(a)?, self.try_constant(b)?);
                constant::binary(*op, a, b).ok_or(expr.span)
            }
            ExprKind::Conditional(c, a, b) => {
                let chosen = if self.try_constant(c)? != 0 { a } else { b };
                self.try_constant(chosen)
            }
            ExprKind::Ref(reference) => match reference.parts.as_slice() {
                [part] if part.index.is_none() => {
                    if let Some(&(value, _)) = self.mtypes.get(&part.name.text) {
                        return Ok(value);
                    }
                    // SPIN accepts an initialised variable as a constant with its initial value.
                    self.globals.get(&part.name.text).filter(|s| s.length.is_none()).and_then(|s| self.initial_number(s)).ok_or(expr.span)
                }
                _ => Err(expr.span),
            },
            _ => Err(expr.span),
        }
    }

    /// The number a global is declared with, before initial values are computed.
    fn initial_number(&self, symbol: &Symbol) -> Option<i32> {
        self.tree.units.iter().find_map(|unit| {
            let Unit::Declaration(declaration) = unit else { return None };
            let variable = declaration.variables.iter().find(|v| v.name.span == symbol.span)?;
            match &variable.initial {
                Some(ast::Initial::Value(Expr { kind: ExprKind::Number(n), .. })) => Some(*n),
                _ => None,
            }
        })
    }

    // --- Process types
    // ----------------------------------------------------------------------------

    fn declare_process(&mut self, proctype: &ast::Proctype) {
        if let Some(old) = self.headers.iter().find(|h| h.name == proctype.name.text) {
            let what = if proctype.is_init { "`init`".to_owned() } else { format!("`{}`", old.name) };
            let diagnostic =
                Diagnostic::error(proctype.name.span, format!("{what} is defined twice")).with_label(old.span, "the first definition");
            let hint = if proctype.is_init { "a model has one `init`: leave one of them out" } else { crate::OTHER_NAME };
            self.report(diagnostic.with_hint(hint));
        }
        // The parameters are resolved twice: here for callers, and later with the body.
        let known = self.diagnostics.len();
        self.open_process();
        self.declare_parameters(proctype);
        let current = self.current.take().unwrap_or_default();
        self.diagnostics.truncate(known);
        self.headers.push(Header {
            name: proctype.name.text.clone(),
            span: proctype.name.span,
            parameters: current.locals.len(),
            outline: current.outline,
            locals: current.locals,
        });
    }

    fn open_process(&mut self) {
        self.current = Some(Current { scopes: vec![HashMap::new()], initialising: true, ..Current::default() });
    }

    fn declare_parameters(&mut self, proctype: &ast::Proctype) {
        for declaration in &proctype.parameters {
            for variable in &declaration.variables {
                if let Some(length) = &variable.length {
                    self.report(
                        Diagnostic::error(length.span, "a parameter cannot be an array")
                            .with_hint("pass the elements one by one, or use a global array"),
                    );
                }
                if variable.initial.is_some() {
                    self.report(
                        Diagnostic::error(variable.span, "a parameter cannot have an initial value")
                            .with_hint("`run` gives its value; processes that are `active` begin with 0"),
                    );
                }
                let plain = ast::Variable { length: None, initial: None, ..variable.clone() };
                let Some(first) = self.declare(declaration, &plain) else { continue };
                if self.table(Scope::Local)[first..].iter().any(Leaf::is_array) {
                    self.report(
                        Diagnostic::error(variable.span, "a parameter's type cannot contain arrays")
                            .with_hint("use a global variable of this type"),
                    );
                }
            }
        }
    }

    fn process(&mut self, proctype: &ast::Proctype) {
        self.open_process();
        self.declare_parameters(proctype);
        let parameters = self.table(Scope::Local).len();
        if let Some(current) = &mut self.current {
            current.c_process = if proctype.is_init { "init".to_owned() } else { proctype.name.text.to_string() };
        }
        self.c_locals(&proctype.name.text);
        let active = match &proctype.active {
            None => 0,
            Some(count) => match self.constant(count) {
                Some(n @ 0..=255) => n as u32,
                Some(_) => {
                    let hint = "use fewer: most errors appear with two or three processes of a kind";
                    self.report(Diagnostic::error(count.span, "there can be 255 processes at most").with_hint(hint));
                    0
                }
                None => 0,
            },
        };
        if proctype.deterministic {
            let message = "non-determinism in a `D_proctype` is not reported";
            self.report(Diagnostic::warning(proctype.name.span, message).named("deterministic-process"));
        }
        let priority = proctype.priority.as_ref().and_then(|p| self.priority(p));
        let provided = proctype.provided.as_ref().map(|condition| self.expr(condition));
        let body = self.block(&proctype.body);
        let current = self.current.take().unwrap_or_default();
        if let Some(header) = self.headers.get_mut(self.model.processes.len()) {
            header.outline = current.outline;
            header.locals.clone_from(&current.locals);
        }
        self.model.processes.push(Process {
            name: proctype.name.clone(),
            is_init: proctype.is_init,
            active,
            locals: current.locals,
            parameters,
            prologue: current.prologue,
            priority,
            provided,
            deterministic: proctype.deterministic,
            body,
            end: proctype.end,
        });
    }

    fn priority(&mut self, expr: &Expr) -> Option<u8> {
        self.model.uses_priorities = true;
        match self.constant(expr)? {
            n @ 1..=255 => Some(n as u8),
            _ => {
                self.report(Diagnostic::error(expr.span, "a priority is from 1 to 255").with_hint("processes of a higher number go first"));
                None
            }
        }
    }

    fn automaton(&mut self, automaton: &ast::Automaton, after: usize) {
        self.open_process();
        self.in_trace = automaton.kind != ast::AutomatonKind::Never;
        let body = self.block(&automaton.body);
        self.in_trace = false;
        let current = self.current.take().unwrap_or_default();
        self.model.automata.push(AutomatonModel {
            kind: automaton.kind,
            name: automaton.name.clone(),
            after,
            locals: current.locals,
            body,
            end: automaton.end,
        });
    }

    fn process_index(&mut self, name: &Ident) -> Option<usize> {
        let found = self.headers.iter().position(|h| h.name == name.text);
        if found.is_none() && !self.is_full() {
            let diagnostic = Diagnostic::error(name.span, format!("there is no process type `{}`", name.text));
            let mut diagnostic = diagnostic.with_nearest(&name.text, self.headers.iter().map(|h| &*h.name));
            if diagnostic.hint.is_none() {
                diagnostic = diagnostic.with_hint(format!("a process type is defined by `proctype {}() {{ … }}`", name.text));
            }
            self.report_unknown(&name.text, diagnostic);
        }
        found
    }

    // --- Channel types
    // ----------------------------------------------------------------------------

    fn channel_type(&mut self, ty: ChannelType) -> usize {
        let types = &mut self.model.channel_types;
        types.iter().position(|t| *t == ty).unwrap_or_else(|| {
            types.push(ty);
            types.len() - 1
        })
    }
}
