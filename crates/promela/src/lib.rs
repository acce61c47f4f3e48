//! Promela: from the text SPIN users write to control graphs and byte-code, with SPIN's meaning.
//!
//! A model passes through these modules in order:
//!
//! | module | takes | gives |
//! |---|---|---|
//! | `lexer`, `preprocess`, `macros` | files | tokens, each with the place the user wrote it at |
//! | `hybrid` | tokens of a text with a program in it | those of the model |
//! | `layout` | tokens | the same with the separators that line ends stand for |
//! | `parser` | tokens | syntax tree, inlines expanded |
//! | `resolve` | syntax tree | model: names looked up, structures flattened |
//! | [`graph`] | model | control graphs with exactly SPIN's control states |
//! | `codegen` | control graphs | byte-code |
//!
//! This crate neither reads files nor prints: included files come from a [`Loader`], and findings
//! are returned as [`Diagnostic`]s.

#![forbid(unsafe_code)]

pub mod ast;
mod codegen;
mod condition;
mod define;
pub mod graph;
mod hidden;
mod hybrid;
mod labels;
mod layout;
mod lexer;
mod limits;
mod lint;
mod macros;
pub mod model;
mod parser;
mod preprocess;
mod resolve;
mod token;
mod unmatched;

pub use hybrid::{Hybrid, Pair, hybrid};
pub use lint::NAMES as LINTS;
pub use preprocess::{Included, Loader, NoFiles};
pub use resolve::c::outline::{FunctionInC, Meaning, NameInC, NameUse, NotC, Outline, PieceKind, Variables, outline};
pub use token::Text;

use bytecode::{Addr, AtomId, Program};
use graph::Graph;
use model::Model;
use source::{Diagnostic, FileId, SourceMap, Span};

/// The hint about a name that is used for two things.
pub(crate) const OTHER_NAME: &str = "give one of them another name, or leave it out";

/// What to do about a wrong number of things, as in `add 1 argument`.
pub(crate) fn number_hint(wanted: usize, given: usize, thing: &str) -> String {
    if given < wanted {
        format!("add {}", source::counted(wanted - given, thing))
    } else {
        format!("leave out {}", source::counted(given - wanted, thing))
    }
}

/// A model up to its control graphs.
#[derive(Debug)]
pub struct Analysed {
    /// Variables, channels, process types.
    pub model: Model,
    /// One control graph for each process type.
    pub graphs: Vec<Graph>,
    /// One control graph for each claim and trace.
    pub automata: Vec<Graph>,
}

/// Reads a model and builds its control graphs. There is a result only if the model has no errors.
pub fn analyse(
    map: &mut SourceMap,
    file: FileId,
    loader: &mut dyn Loader,
    defines: &[(String, String)],
) -> (Option<Analysed>, Vec<Diagnostic>) {
    let (tokens, mut diagnostics) = tokens(map, file, loader, defines);
    let end = Span::point(file, map.text(file).len());
    // If some of the text is missing, undeclared names cannot be reported.
    let incomplete = diagnostics.iter().any(Diagnostic::is_error);
    let mut reading = parser::parse(layout::imply_separators(tokens), end, map.next_id());
    let expansions = std::mem::take(&mut reading.expansions);
    if !expansions.is_empty() {
        map.add_expansions(expansions);
    }
    // Where the preprocessor did not understand the text, the parser does not either.
    let first_error = diagnostics.iter().filter(|d| d.is_error()).map(|d| (d.span.file, d.span.start)).min();
    reading.diagnostics.retain(|d| first_error.is_none_or(|(file, at)| d.span.file == file && d.span.start < at));
    diagnostics.append(&mut reading.diagnostics);
    // Names are looked up even in a text with mistakes, but errors that another mistake may have
    // caused are not shown.
    let doubts = diagnostics.iter().any(Diagnostic::is_error).then_some(&reading.doubtful);
    let (mut model, mut found) = resolve::resolve(&reading.model, doubts);
    labels::check(&model, doubts, &mut found);
    drop(reading);
    if incomplete {
        found.retain(|d| !d.is_error());
    }
    diagnostics.append(&mut found);
    let (mut graphs, mut automata) = (Vec::new(), Vec::new());
    if !diagnostics.iter().any(Diagnostic::is_error) {
        for (i, process) in model.processes.iter().enumerate() {
            let labels = model.remote_labels.iter().filter(|(p, _)| *p == i);
            let remote: Vec<Text> = labels.map(|(_, label)| label.text.clone()).collect();
            graphs.push(graph::build(&process.body, process.end, false, &remote, &mut diagnostics));
        }
        for automaton in &model.automata {
            automata.push(graph::build(&automaton.body, automaton.end, true, &[], &mut diagnostics));
        }
        unmatched::forget(&model, &mut graphs, &automata, &mut diagnostics);
        hidden::find_scratch(&mut model, &graphs, &automata, &mut diagnostics);
    }
    sort(&mut diagnostics);
    let wrong = diagnostics.iter().any(Diagnostic::is_error);
    let analysed = Analysed { model, graphs, automata };
    ((!wrong).then_some(analysed), diagnostics)
}

/// The tokens of the model in a file.
fn tokens(
    map: &mut SourceMap,
    file: FileId,
    loader: &mut dyn Loader,
    defines: &[(String, String)],
) -> (Vec<token::Token>, Vec<Diagnostic>) {
    let (mut tokens, mut diagnostics) = preprocess::preprocess(map, file, loader, defines, true);
    if hybrid::is_hybrid(map.name(file)) {
        tokens = hybrid::model(&tokens, &mut diagnostics);
    }
    (tokens, diagnostics)
}

/// All warnings about a model, those of the linter included; none if the model has errors.
pub fn lint(map: &mut SourceMap, file: FileId, loader: &mut dyn Loader, defines: &[(String, String)]) -> Vec<Diagnostic> {
    let Compiled { program: Some(_), diagnostics: mut warnings, .. } = compile(map, file, loader, defines) else { return Vec::new() };
    let (tokens, _) = tokens(map, file, loader, defines);
    let end = Span::point(file, map.text(file).len());
    let mut reading = parser::parse(layout::imply_separators(tokens), end, map.next_id());
    let expansions = std::mem::take(&mut reading.expansions);
    if !expansions.is_empty() {
        map.add_expansions(expansions);
    }
    warnings.append(&mut lint::lint(&reading.model));
    sort(&mut warnings);
    warnings
}

/// A compiled model.
#[derive(Debug)]
pub struct Compiled {
    /// The program, with the properties that the model states; absent if something is wrong.
    pub program: Option<Program>,
    /// The atoms of the expressions that are requested by `ltl = { a, b }`, list by list.
    pub values: Vec<Vec<AtomId>>,
    /// The numbers that SPIN gives to transitions. Each is valid from its address to the next one.
    /// There are none if statements are C code.
    pub numbers: Vec<(Addr, u32)>,
    /// Errors and warnings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Compiles a model. `file` is its main file in `map`; files it includes are added there.
pub fn compile(map: &mut SourceMap, file: FileId, loader: &mut dyn Loader, defines: &[(String, String)]) -> Compiled {
    let (analysed, mut diagnostics) = analyse(map, file, loader, defines);
    let Some(Analysed { model, graphs, automata }) = analysed else {
        return Compiled { program: None, values: Vec::new(), numbers: Vec::new(), diagnostics };
    };
    let name = map.name(file).to_owned();
    match codegen::generate(map, &name, &model, &graphs, &automata, &mut diagnostics) {
        Some(codegen::Generated { program, values, numbers }) => Compiled { program: Some(program), values, numbers, diagnostics },
        None => Compiled { program: None, values: Vec::new(), numbers: Vec::new(), diagnostics },
    }
}

/// Errors and warnings in the order of the text; each one once.
fn sort(diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_by_key(|d| (d.span.file, d.span.start));
    diagnostics.dedup();
    diagnostics.truncate(limits::MAX_DIAGNOSTICS);
}
