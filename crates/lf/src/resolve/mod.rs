//! Builds the program from the syntax tree: names looked up, types checked, constants computed.
//!
//! Scopes are those of the Brinch Hansen languages: a name is known from its declaration to the end
//! of the block it is declared in, and in the processes declared there. All processes of one block
//! know each other, so that they can create each other.

mod expressions;
mod statements;

use crate::ast::{self, Declaration, Name, Qualified, TypeTree};
use crate::foreign;
use crate::library::SYSTEM;
use crate::limits::{MAX_DEPTH, MAX_DIAGNOSTICS, MAX_ELEMENTS, MAX_VALUES};
use crate::tree::{Action, Channel, Expression, INTEGER, INTEGERS, Kind, Message, Process, Program, Record, Statement, Type, Variable};
pub(crate) use expressions::{compute, number, range};
use source::{Diagnostic, Span, did_you_mean};
use std::collections::HashMap;
use std::rc::Rc;

/// The meaning of a name.
#[derive(Clone)]
enum Entity {
    Constant(i32, Type),
    Text(String),
    Type(Type),
    Variable(usize),
    Process(usize),
    Property,
    /// A module that this one imports.
    Module(usize),
}

/// The names of a block. The flag says whether a name is exported.
type Scope = HashMap<String, (Entity, Span, bool)>;

pub(crate) struct Resolver<'a> {
    program: Program,
    /// The blocks around the text being read, the innermost last.
    scopes: Vec<Scope>,
    /// The outermost block of each module that has been read.
    modules: Vec<(String, Scope)>,
    /// Values for constants of the main module, and whether they were used.
    defines: Vec<(String, ast::Expression, bool)>,
    process: Option<usize>,
    is_main: bool,
    depth: usize,
    diagnostics: &'a mut Vec<Diagnostic>,
}

/// Builds the program of modules in the order in which they are initialised, the main one last;
/// also returns the names that its formulas may use.
pub(crate) fn resolve(
    modules: &[ast::Module],
    defines: Vec<(String, ast::Expression)>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Program, Names) {
    let mut resolver = Resolver {
        program: Program::default(),
        scopes: Vec::new(),
        modules: Vec::new(),
        defines: defines.into_iter().map(|(name, value)| (name, value, false)).collect(),
        process: None,
        is_main: false,
        depth: 0,
        diagnostics,
    };
    let main_name = modules.last().map_or(String::new(), |module| module.name.text.clone());
    let (span, end) = modules.last().map_or((Span::default(), Span::default()), |module| (module.name.span, module.end));
    resolver.program.processes.push(Process {
        name: main_name,
        parent: None,
        parameters: Vec::new(),
        variables: Vec::new(),
        period: None,
        deadline: None,
        body: Vec::new(),
        span,
        end,
    });
    for (number, module) in modules.iter().enumerate() {
        resolver.module(module, number + 1 == modules.len());
    }
    for (name, value, used) in std::mem::take(&mut resolver.defines) {
        if !used {
            resolver.error(
                value.span,
                format!("the program has no constant `{name}`"),
                Some("`-D` gives constants of the main module other values"),
            );
        }
    }
    let names = Names { scope: resolver.modules.last().map_or_else(Scope::new, |(_, scope)| scope.clone()) };
    (resolver.program, names)
}

/// The names of the main module, for expressions outside it.
pub(crate) struct Names {
    scope: Scope,
}

/// Reads an expression over the variables of the main module: a condition, or any number.
pub(crate) fn scalar(
    program: Program,
    names: &Names,
    expression: &ast::Expression,
    is_condition: bool,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Program, Option<Expression>) {
    let before = diagnostics.len();
    let mut resolver = Resolver {
        program,
        scopes: vec![universe(), names.scope.clone()],
        modules: Vec::new(),
        defines: Vec::new(),
        process: None,
        is_main: true,
        depth: 0,
        diagnostics,
    };
    let value = if is_condition { resolver.boolean(expression) } else { resolver.expression(expression) };
    if !value.ty.is_scalar() {
        resolver.error(value.span, "a number or a condition is needed here", None);
    }
    let program = std::mem::take(&mut resolver.program);
    let good = diagnostics.len() == before;
    (program, good.then_some(value))
}

/// Names that need no declaration.
fn universe() -> Scope {
    let mut scope = Scope::new();
    let mut add = |name: &str, entity| scope.insert(name.to_owned(), (entity, Span::default(), true));
    for integer in INTEGERS {
        add(integer.name, Entity::Type(Type::Integer(*integer)));
    }
    add("INTEGER", Entity::Type(INTEGER));
    add("BOOLEAN", Entity::Type(Type::Boolean));
    add("CHAR", Entity::Type(Type::Char));
    add("SET", Entity::Type(Type::Set));
    scope
}

impl Resolver<'_> {
    fn error(&mut self, span: Span, message: impl Into<String>, hint: Option<&str>) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(Diagnostic::error(span, message).with_hint_opt(hint.map(str::to_owned)));
        }
    }

    fn module(&mut self, module: &ast::Module, is_main: bool) {
        self.is_main = is_main;
        self.scopes = vec![universe(), Scope::new()];
        for import in &module.imports {
            match self.modules.iter().position(|(name, _)| *name == import.text) {
                Some(number) => self.declare(import, Entity::Module(number), false),
                // The loader has reported why it is missing, or that the imports form a cycle.
                None => self.declare(import, Entity::Module(usize::MAX), false),
            }
        }
        self.process = None;
        self.block(&module.declarations, &module.name.text);
        let mut body = self.statements(&module.body);
        self.program.processes[0].body.append(&mut body);
        let scope = self.scopes.pop().unwrap_or_default();
        self.modules.push((module.name.text.clone(), scope));
    }

    fn declare(&mut self, name: &Name, entity: Entity, exported: bool) {
        let scope = self.scopes.last_mut();
        let before = scope.and_then(|scope| scope.insert(name.text.clone(), (entity, name.span, exported)));
        if let Some((_, first, _)) = before
            && self.diagnostics.len() < MAX_DIAGNOSTICS
        {
            let message = format!("`{}` is declared twice in this block", name.text);
            self.diagnostics.push(Diagnostic::error(name.span, message).with_label(first, "it was declared here"));
        }
    }

    /// The name of an item as other modules see it.
    fn full_name(&self, name: &str, module: &str) -> String {
        if self.is_main { name.to_owned() } else { format!("{module}.{name}") }
    }

    /// The declarations of a block: first all names, then the bodies of processes.
    fn block(&mut self, declarations: &[Declaration], module: &str) {
        let mut open = Vec::new();
        for declaration in declarations {
            match declaration {
                Declaration::Constant(name, exported, value) => self.constant(name, *exported, value),
                Declaration::Type(name, exported, tree) => {
                    let ty = self.type_of(tree, Some(&self.full_name(&name.text, module)));
                    self.declare(name, Entity::Type(ty), *exported);
                }
                Declaration::Variables(names, tree, address) => {
                    let ty = self.type_of(tree, None);
                    let address = address.as_ref().and_then(|address| {
                        if self.process.is_some() {
                            self.error(address.span, "only variables of a module have an address", Some("declare it outside the process"));
                        }
                        self.address(address)
                    });
                    if address.is_some() && !ty.is_scalar() {
                        self.error(tree.span(), "only numbers, sets, characters, Booleans and ports have an address", None);
                    }
                    for (name, exported) in names {
                        self.variable(name, ty.clone(), false, address, *exported, module);
                    }
                }
                Declaration::Process(process) | Declaration::Property(process) => {
                    let is_property = matches!(declaration, Declaration::Property(_));
                    let id = self.program.processes.len();
                    self.program.processes.push(Process {
                        name: self.full_name(&process.name.text, module),
                        parent: self.process,
                        parameters: Vec::new(),
                        variables: Vec::new(),
                        period: None,
                        deadline: None,
                        body: Vec::new(),
                        span: process.name.span,
                        end: process.end,
                    });
                    if is_property {
                        if self.process.is_some() {
                            self.error(process.name.span, "a property is declared in a module, not in a process", None);
                        }
                        self.program.properties.push(id);
                        self.declare(&process.name, Entity::Property, false);
                    } else {
                        self.declare(&process.name, Entity::Process(id), process.exported);
                    }
                    let outer = self.process.replace(id);
                    self.scopes.push(Scope::new());
                    for (reference, name, tree) in &process.parameters {
                        let ty = self.type_of(tree, None);
                        let variable = self.variable(name, ty, *reference, None, false, module);
                        self.program.processes[id].parameters.push(variable);
                    }
                    let scope = self.scopes.pop().unwrap_or_default();
                    self.process = outer;
                    open.push((id, process, scope));
                }
            }
        }
        for (id, process, scope) in open {
            let outer = self.process.replace(id);
            self.scopes.push(scope);
            let timing = [&process.period, &process.deadline].map(|value| value.as_ref().and_then(|value| self.milliseconds(value)));
            [self.program.processes[id].period, self.program.processes[id].deadline] = timing;
            self.block(&process.declarations, module);
            let body = self.statements(&process.body);
            self.program.processes[id].body = body;
            self.scopes.pop();
            self.process = outer;
        }
    }

    fn variable(&mut self, name: &Name, ty: Type, reference: bool, address: Option<i32>, exported: bool, module: &str) -> usize {
        let id = self.program.variables.len();
        let full = if self.process.is_some() { name.text.clone() } else { self.full_name(&name.text, module) };
        if exported && !matches!(ty, Type::Channel(_) | Type::Unknown) && self.process.is_none() {
            self.error(
                name.span,
                format!("the variable `{}` cannot be exported", name.text),
                Some("no variables are shared between modules; export a port, or a process that sets it"),
            );
        }
        if self.program.elements(&ty) > u64::from(MAX_ELEMENTS) {
            self.error(name.span, format!("`{}` has more than {MAX_ELEMENTS} elements", name.text), None);
        }
        self.program.variables.push(Variable { name: full, ty, owner: self.process, reference, address, span: name.span });
        if let Some(process) = self.process {
            self.program.processes[process].variables.push(id);
        }
        self.declare(name, Entity::Variable(id), exported);
        id
    }

    fn constant(&mut self, name: &Name, exported: bool, value: &ast::Expression) {
        if let ast::ExpressionKind::Text(text) = &value.kind {
            self.declare(name, Entity::Text(text.clone()), exported);
            return;
        }
        let mut value = value.clone();
        if self.is_main
            && self.process.is_none()
            && let Some(define) = self.defines.iter_mut().find(|(defined, _, _)| *defined == name.text)
        {
            define.2 = true;
            value = define.1.clone();
        }
        let read = self.expression(&value);
        let entity = match read.kind {
            Kind::Constant(number) => Entity::Constant(number, read.ty),
            _ => {
                if read.ty != Type::Unknown {
                    self.error(value.span, "a constant has a value that is known before the program runs", None);
                }
                Entity::Constant(0, Type::Unknown)
            }
        };
        self.declare(name, entity, exported);
    }

    /// A static address. All numbers of 32 bits are addresses.
    fn address(&mut self, value: &ast::Expression) -> Option<i32> {
        let read = self.expression(value);
        match (&read.kind, &read.ty) {
            (Kind::Constant(bits), Type::Integer(_)) => Some(*bits),
            _ => self.constant_integer(value),
        }
    }

    fn constant_integer(&mut self, value: &ast::Expression) -> Option<i32> {
        let read = self.expression(value);
        match (read.kind, &read.ty) {
            (Kind::Constant(bits), Type::Integer(_)) => match i32::try_from(number(bits, &read.ty)) {
                Ok(number) => Some(number),
                Err(_) => {
                    self.error(value.span, format!("{} is too large here", number(bits, &read.ty)), None);
                    None
                }
            },
            (_, Type::Unknown) => None,
            _ => {
                self.error(value.span, "a number is needed here that is known before the program runs", None);
                None
            }
        }
    }

    /// A period or a deadline.
    fn milliseconds(&mut self, value: &ast::Expression) -> Option<u32> {
        let number = self.constant_integer(value)?;
        if number < 1 {
            self.error(value.span, "a period or a deadline is at least one millisecond", None);
            return None;
        }
        Some(number as u32)
    }

    /// The entity that a name stands for.
    fn look_up(&mut self, name: &Name) -> Option<Entity> {
        if let Some((entity, _, _)) = self.scopes.iter().rev().find_map(|scope| scope.get(&name.text)) {
            return Some(entity.clone());
        }
        let known: Vec<String> = self.scopes.iter().flat_map(|scope| scope.keys().cloned()).collect();
        let similar = || did_you_mean(&name.text, known.iter().map(String::as_str));
        let hint = foreign::advice(&name.text).or_else(similar);
        self.error(name.span, format!("`{}` is not declared", name.text), hint.as_deref());
        None
    }

    /// A name of another module.
    fn look_into(&mut self, module: &Name, name: &Name) -> Option<Entity> {
        match self.look_up(module)? {
            Entity::Module(number) => {
                let (_, scope) = self.modules.get(number)?;
                match scope.get(&name.text) {
                    Some((entity, _, true)) => Some(entity.clone()),
                    Some((entity, span, false)) => {
                        let span = *span;
                        let is_port = |id: &usize| matches!(self.program.variables[*id].ty, Type::Channel(_) | Type::Unknown);
                        let may_be_exported = !matches!(entity, Entity::Variable(id) if !is_port(id));
                        if self.diagnostics.len() < MAX_DIAGNOSTICS {
                            let message = format!("`{}` is not exported by `{}`", name.text, module.text);
                            let hint = if may_be_exported {
                                format!("write `{}*` where it is declared", name.text)
                            } else {
                                "no variables are shared between modules; export a process that sets it, or a port".to_owned()
                            };
                            self.diagnostics.push(Diagnostic::error(name.span, message).with_hint(hint).with_label(span, "declared here"));
                        }
                        None
                    }
                    None => {
                        let known: Vec<String> = scope.iter().filter(|(_, entry)| entry.2).map(|(name, _)| name.clone()).collect();
                        let mut hint = did_you_mean(&name.text, known.iter().map(String::as_str));
                        if module.text == SYSTEM && matches!(name.text.as_str(), "PORTIN" | "PORTOUT") {
                            hint = Some(format!("write `{}(…)`, without the name of the module", name.text));
                        }
                        self.error(name.span, format!("`{}` has no `{}`", module.text, name.text), hint.as_deref());
                        None
                    }
                }
            }
            _ => {
                self.error(module.span, format!("`{}` is not a module", module.text), Some("modules are named by IMPORT"));
                None
            }
        }
    }

    fn qualified(&mut self, name: &Qualified) -> Option<Entity> {
        match &name.module {
            Some(module) => self.look_into(module, &name.name),
            None => self.look_up(&name.name),
        }
    }

    /// A type; `name` is its declared name.
    fn type_of(&mut self, tree: &TypeTree, name: Option<&str>) -> Type {
        self.depth += 1;
        let ty = if self.depth > MAX_DEPTH { Type::Unknown } else { self.type_inside(tree, name) };
        self.depth -= 1;
        ty
    }

    fn type_inside(&mut self, tree: &TypeTree, name: Option<&str>) -> Type {
        match tree {
            TypeTree::Named(name) => match self.qualified(name) {
                Some(Entity::Type(ty)) => ty,
                Some(_) => {
                    self.error(name.span(), format!("`{}` is not a type", name.name.text), None);
                    Type::Unknown
                }
                None => Type::Unknown,
            },
            TypeTree::Array(lengths, element, span) => {
                let mut ty = self.type_of(element, None);
                for length in lengths.iter().rev() {
                    let Some(number) = self.constant_integer(length) else { return Type::Unknown };
                    let good = u32::try_from(number).ok().filter(|n| (1..=MAX_ELEMENTS).contains(n));
                    let Some(number) = good else {
                        self.error(length.span, format!("an array has 1 to {MAX_ELEMENTS} elements, not {number}"), None);
                        return Type::Unknown;
                    };
                    ty = Type::Array(number, Rc::new(ty));
                }
                if self.program.elements(&ty) > u64::from(MAX_ELEMENTS) {
                    self.error(*span, format!("this array has more than {MAX_ELEMENTS} elements"), None);
                    return Type::Unknown;
                }
                ty
            }
            TypeTree::Record(fields, span) => {
                let mut all: Vec<(String, Type)> = Vec::new();
                for (field, tree) in fields {
                    if all.iter().any(|(known, _)| *known == field.text) {
                        self.error(field.span, format!("the record has two fields `{}`", field.text), None);
                    }
                    let ty = self.type_of(tree, None);
                    all.push((field.text.clone(), ty));
                }
                if all.is_empty() {
                    self.error(*span, "a record has at least one field", None);
                    return Type::Unknown;
                }
                self.program.records.push(Record { name: name.unwrap_or("RECORD").to_owned(), fields: all });
                Type::Record(self.program.records.len() - 1)
            }
            TypeTree::Channel(messages, _) => {
                let mut all: Vec<Message> = Vec::new();
                for (message, trees) in messages {
                    if all.iter().any(|known| known.name == message.text) {
                        self.error(message.span, format!("the channel has two messages `{}`", message.text), None);
                    }
                    let values: Vec<Type> = trees.iter().map(|tree| self.type_of(tree, None)).collect();
                    let carried: u64 = values.iter().map(|ty| self.program.elements(ty)).sum();
                    if carried > MAX_VALUES as u64 {
                        self.error(
                            message.span,
                            format!("`{}` carries {carried} values", message.text),
                            Some("a message carries at most 24 values, elements of arrays and records counted"),
                        );
                        return Type::Unknown;
                    }
                    all.push(Message { name: message.text.clone(), values });
                }
                let number = self.program.channels.len();
                let mut name = name.map_or_else(|| format!("channel{number}"), str::to_owned);
                if self.program.channels.iter().any(|known| known.name == name) {
                    name = format!("{name}{number}");
                }
                self.program.channels.push(Channel { name, messages: all });
                Type::Channel(number)
            }
        }
    }

    /// A statement that does nothing, in place of one with an error.
    fn nothing(span: Span) -> Statement {
        Statement { kind: Action::If(Vec::new(), Vec::new()), span }
    }
}
