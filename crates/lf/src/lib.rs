//! LF: a concurrent language whose programs are run and checked from the same code.
//!
//! LF is the language of E. Gerber, "A model checker for the LF system" (Stellenbosch, 2007):
//! modules of processes that communicate by synchronous messages, with a syntax based on Oberon's.
//! `docs/lf.md` has the grammar and the meaning. A program passes through these modules:
//!
//! | module | takes | gives |
//! |---|---|---|
//! | `lexer`, `parser` | files | syntax trees, one per module |
//! | `modules` | the main module | all modules that it imports, in the order of initialisation |
//! | `resolve` | syntax trees | program: names looked up, types checked |
//! | `codegen` | program | byte-code in actions |
//! | `property` | properties and formulas | automata and atoms |
//!
//! This crate neither reads files nor prints: imported modules come from a [`Loader`], and findings
//! are returned as [`Diagnostic`]s.

#![forbid(unsafe_code)]

mod ast;
mod close;
mod codegen;
mod console;
mod foreign;
mod lexer;
mod library;
mod limits;
mod modules;
mod outside;
mod parser;
mod ports;
mod property;
mod resolve;
mod tree;

pub use close::Values;
pub use codegen::{Options, Queues};
pub use console::Console;
pub use library::names as library_names;

use bytecode::{AtomId, Automaton, AutomatonEdge, AutomatonState, EdgeLabel, Formula, LabelKind, Program, PropertyBody, PropertyEntry};
use source::{Diagnostic, FileId, SourceMap, Span};

/// The source of imported modules.
pub trait Loader {
    /// The name and text of the file `wanted`, for a module that the file `from` imports; or one
    /// sentence that says why it cannot be read.
    fn load(&mut self, wanted: &str, from: &str) -> Result<(String, String), String>;
}

impl<F: FnMut(&str, &str) -> Result<(String, String), String>> Loader for F {
    fn load(&mut self, wanted: &str, from: &str) -> Result<(String, String), String> {
        self(wanted, from)
    }
}

/// The request of the caller in addition to the file itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    /// Values for constants of the main module, as expressions.
    pub defines: &'a [(String, String)],
    /// Formulas over variables of the main module, with their names.
    pub formulas: &'a [(String, String)],
    /// Expressions over the same variables; each text is a comma-separated list.
    pub expressions: &'a [String],
    /// The options of the translation.
    pub options: Options,
}

/// A compiled program.
#[derive(Debug)]
pub struct Compiled {
    /// The program; `None` if there are errors.
    pub program: Option<Program>,
    /// The atoms that compute each list of expressions.
    pub values: Vec<Vec<AtomId>>,
    /// Errors and warnings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Whether a text begins like a module, to recognise a file whose name does not tell the language.
pub fn is_program(text: &str) -> bool {
    let mut ignored = Vec::new();
    let head: String = text.chars().take(100_000).collect();
    let tokens = lexer::tokens(&head, FileId::default(), &mut ignored);
    let begins = tokens.first().is_some_and(|(token, _)| *token == lexer::Token::Sign("MODULE"));
    begins && matches!(tokens.get(1), Some((lexer::Token::Name(_), _))) && tokens.get(2).is_some_and(|(t, _)| *t == lexer::Token::Sign(";"))
}

/// The names of the texts of formulas and definitions, which are in no file.
const FORMULAS: &str = "--ltl";
const DEFINES: &str = "-D";
const EXPRESSIONS: &str = "expression";

/// The name under which the list of expressions with this number is in the map, for messages about
/// it.
pub fn name_of_expression(number: usize) -> String {
    format!("{EXPRESSIONS} {}", number + 1)
}

/// Compiles a program. `file` is its main module in `map`; modules it imports are added there.
pub fn compile(map: &mut SourceMap, file: FileId, loader: &mut dyn Loader, request: Request<'_>) -> Compiled {
    let mut diagnostics = Vec::new();
    let made = program(map, file, loader, request, &mut diagnostics);
    let (program, values) = made.map_or((None, Vec::new()), |(program, values)| (Some(program), values));
    diagnostics.sort_by_key(|d| (d.span.file, d.span.start));
    diagnostics.dedup();
    diagnostics.truncate(limits::MAX_DIAGNOSTICS);
    let wrong = diagnostics.iter().any(Diagnostic::is_error);
    Compiled { program: program.filter(|_| !wrong), values, diagnostics }
}

fn program(
    map: &mut SourceMap,
    file: FileId,
    loader: &mut dyn Loader,
    request: Request<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<(Program, Vec<Vec<AtomId>>)> {
    let mut file = file;
    let mut open = Vec::new();
    if request.options.close.is_some() {
        match closed(map.name(file), map.text(file), loader, request.options) {
            Ok(text) => file = map.add(format!("{}, closed", map.name(file)), text),
            // An error in the program also occurs without an environment, where it has a position.
            Err(why) => {
                open.extend(why.iter().filter(|d| d.is_error()).map(|d| Diagnostic::error(Span::point(file, 0), d.message.clone())))
            }
        }
    }
    let mut modules = modules::read(map, file, loader, diagnostics);
    if request.options.host {
        modules::add_devices(map, &mut modules, request.options.console, diagnostics);
    }
    let mut defines = Vec::new();
    for (name, text) in request.defines {
        let file = map.add(format!("{DEFINES} {name}"), if text.is_empty() { "1" } else { text.as_str() });
        let tokens = lexer::tokens(map.text(file), file, diagnostics);
        defines.extend(parser::expression(&tokens, diagnostics).map(|value| (name.clone(), value)));
    }
    // Names are not looked up in a text with errors, because most of the messages would be
    // consequences.
    if diagnostics.iter().any(Diagnostic::is_error) {
        return None;
    }
    let (mut tree, names) = resolve::resolve(&modules, defines, diagnostics);
    if !diagnostics.iter().any(Diagnostic::is_error) {
        diagnostics.append(&mut open);
        if !request.options.host && request.options.close.is_none() {
            diagnostics.extend(close::without_devices(&modules, &tree));
        }
    }
    let formulas = conditions(map, &mut tree, &names, request.formulas, diagnostics);
    let mut lists = Vec::new();
    for (number, text) in request.expressions.iter().enumerate() {
        let file = map.add(name_of_expression(number), text.as_str());
        let tokens = lexer::tokens(map.text(file), file, diagnostics);
        let mut list = Vec::new();
        for expression in parser::expressions(&tokens, diagnostics) {
            let (program, value) = resolve::scalar(std::mem::take(&mut tree), &names, &expression, false, diagnostics);
            tree = program;
            list.extend(value);
        }
        lists.push(list);
    }
    if diagnostics.iter().any(Diagnostic::is_error) {
        return None;
    }
    let mut watchers = Vec::new();
    for process in &tree.properties {
        let process = &tree.processes[*process];
        watchers.push((process, property::translate(&tree, process, diagnostics)?));
    }
    let name = map.name(file).to_owned();
    let (made, mut generator) = codegen::generate(map, &name, &tree, request.options, diagnostics);
    let mut program = made?;
    for formula in formulas {
        let mut atoms = Vec::new();
        for (text, condition) in &formula.atoms {
            atoms.push((text.as_str(), generator.atom(&mut program, text, condition)?));
        }
        let mut atom = |name: &str| -> Option<AtomId> { atoms.iter().find(|(text, _)| *text == name).map(|(_, id)| *id) };
        let parsed = Formula::parse(&formula.text, &mut atom).ok()?;
        program.properties.push(PropertyEntry { name: formula.name, origin: None, kind: PropertyBody::Ltl(parsed) });
    }
    for (process, watcher) in watchers {
        let automaton = automaton(&mut generator, &mut program, &process.name, &watcher)?;
        let origin = Some(generator.origin(process.span));
        program.properties.push(PropertyEntry { name: process.name.clone(), origin, kind: PropertyBody::Never(automaton) });
    }
    let mut values = Vec::new();
    for (number, list) in lists.iter().enumerate() {
        let mut atoms = Vec::new();
        for (position, value) in list.iter().enumerate() {
            let name = format!("{EXPRESSIONS} {}.{}", number + 1, position + 1);
            atoms.push(generator.atom(&mut program, &name, value)?);
        }
        values.push(atoms);
    }
    Some((program, values))
}

/// The main module of a program with processes for its environment, as LF text: one for each
/// message that the program receives and no process sends, or sends and no process receives.
pub fn closed(name: &str, text: &str, loader: &mut dyn Loader, options: Options) -> Result<String, Vec<Diagnostic>> {
    let (mut map, mut diagnostics) = (SourceMap::new(), Vec::new());
    let file = map.add(name, text);
    let modules = modules::read(&mut map, file, loader, &mut diagnostics);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(diagnostics);
    }
    let (tree, _) = resolve::resolve(&modules, Vec::new(), &mut diagnostics);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(diagnostics);
    }
    let values = options.close.unwrap_or(Values::Some(2));
    close::close(text, &modules, &tree, values, &mut diagnostics).ok_or(diagnostics)
}

/// The automaton of a property, with its conditions as atoms of the program.
fn automaton(generator: &mut codegen::Generator<'_>, program: &mut Program, name: &str, watcher: &property::Watcher) -> Option<Automaton> {
    let state = |(number, accept): (usize, &bool)| AutomatonState {
        name: format!("S{number}"),
        kind: LabelKind { accept: *accept, ..LabelKind::default() },
    };
    let mut known: Vec<(String, AtomId)> = Vec::new();
    let mut edges = Vec::new();
    for edge in &watcher.edges {
        let label = match property::conjunction(&edge.literals) {
            None => EdgeLabel::True,
            Some(condition) => {
                let text = property::text(&condition);
                let atom = match known.iter().find(|(other, _)| *other == text) {
                    Some((_, atom)) => *atom,
                    None => {
                        let atom = generator.atom(program, &format!("{name}.{}", known.len() + 1), &condition)?;
                        known.push((text, atom));
                        atom
                    }
                };
                EdgeLabel::When(atom)
            }
        };
        let target = edge.to.map(|to| to as u32);
        edges.push(AutomatonEdge { source: edge.from as u32, target, label, rank: 0, atomic: false, origin: None });
    }
    Some(Automaton { states: watcher.accepting.iter().enumerate().map(state).collect(), edges })
}

/// A formula and its conditions.
struct Stated {
    name: String,
    text: String,
    atoms: Vec<(String, tree::Expression)>,
}

/// Reads the formulas, whose atoms are conditions over variables of the main module.
fn conditions(
    map: &mut SourceMap,
    tree: &mut tree::Program,
    names: &resolve::Names,
    formulas: &[(String, String)],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Stated> {
    let mut all = Vec::new();
    for (name, text) in formulas {
        let file = map.add(format!("{FORMULAS} {name}"), text.as_str());
        let mut found: Vec<String> = Vec::new();
        // A first pass collects the conditions.
        let mut collect = |atom: &str| {
            let position = found.iter().position(|known| known == atom).unwrap_or_else(|| {
                found.push(atom.to_owned());
                found.len() - 1
            });
            AtomId::new(position)
        };
        if let Err(wrong) = Formula::parse(text, &mut collect) {
            let hint = "conditions over variables are in single quotes: [] 'x < 5'";
            diagnostics.push(Diagnostic::error(Span::point(file, wrong.at), wrong.message).with_hint(hint));
            continue;
        }
        let mut atoms = Vec::new();
        for (number, atom) in found.into_iter().enumerate() {
            let file = map.add(format!("{FORMULAS} {name}, condition {}", number + 1), atom.as_str());
            let tokens = lexer::tokens(map.text(file), file, diagnostics);
            let Some(expression) = parser::expression(&tokens, diagnostics) else { continue };
            let (program, condition) = resolve::scalar(std::mem::take(tree), names, &expression, true, diagnostics);
            *tree = program;
            atoms.extend(condition.map(|condition| (atom, condition)));
        }
        all.push(Stated { name: name.clone(), text: text.clone(), atoms });
    }
    all
}
