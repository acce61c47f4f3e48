//! Runs a front-end, and then the verifier.

use crate::given::{Expression, Reading, between, show_as_given};
use crate::{LANGUAGES, LF, language};
use ::promela::Hybrid;
use ::source::{Diagnostic, FileId, SourceMap, Span};
use bytecode::{Addr, AtomId, Formula, Program, PropertyBody, PropertyEntry, Verified, asm, verify};
use lts::Lts;
use std::borrow::Cow;
use std::sync::Arc;

/// The source of included files. This crate itself never uses a file system.
pub trait Files {
    /// Name and text of the file `wanted`, included by the file `from`; or one sentence that says
    /// why it cannot be read.
    fn read(&mut self, wanted: &str, from: &str) -> Result<(String, String), String>;
}

/// No file can be included.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&mut self, _: &str, _: &str) -> Result<(String, String), String> {
        Err("no files can be included here".to_owned())
    }
}

/// The names of the texts that contain the formulas and the expressions of the caller, which are in
/// no file.
const FORMULAS: &str = "--ltl";
const EXPRESSIONS: &str = "(expression)";

/// The input.
pub struct Input<'a> {
    /// The file's name: its ending tells the language, and positions show it.
    pub name: &'a str,
    /// The file's contents.
    pub bytes: &'a [u8],
    /// Names defined for the preprocessor.
    pub defines: &'a [(String, String)],
    /// Formulas of linear temporal logic that are stated in addition to those of the file, each
    /// with its name. Their atoms are the expressions that the language has over a state.
    pub formulas: &'a [(String, String)],
    /// The source of included files.
    pub files: &'a mut dyn Files,
}

/// The contents of a file.
#[derive(Clone, Debug)]
pub enum Model {
    /// A program in byte-code.
    Program(Box<Verified>),
    /// An explicit graph.
    Graph(Arc<Lts>),
}

impl Model {
    /// The program, if it is one.
    pub fn into_program(self) -> Option<Verified> {
        match self {
            Model::Program(program) => Some(*program),
            Model::Graph(_) => None,
        }
    }
}

/// A model that was accepted.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The model.
    pub model: Model,
    /// The texts it was made from.
    pub map: SourceMap,
    /// For each text of expressions that was given ([`load_with`]), the numbers of their atoms in
    /// the model's own table, as a system takes them.
    pub expressions: Vec<Vec<u32>>,
    /// Of a Promela model, the numbers that SPIN gives to transitions: from each address on, until
    /// the next.
    pub numbers: Vec<(Addr, u32)>,
    /// Warnings about it.
    pub warnings: Vec<Diagnostic>,
}

impl Loaded {
    /// The warnings, one line each, with their positions. They can be kept when the texts are gone.
    pub fn warnings_in_lines(&self) -> Vec<String> {
        let line = |warning: &Diagnostic| {
            let (file, place) = (self.map.name(warning.span.file), self.map.location(warning.span));
            format!("{file}:{place}: {}", warning.message)
        };
        self.warnings.iter().map(line).collect()
    }
}

/// A program that was refused.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// The texts the diagnostics point into.
    pub map: SourceMap,
    /// The errors and warnings; at least one error.
    pub diagnostics: Vec<Diagnostic>,
}

/// A front-end: makes a program or a graph from a file, and adds to the map and to the diagnostics.
/// If it returns `None`, at least one of the diagnostics is an error.
type Reads<T> = fn(&mut SourceMap, Input<'_>, &mut Expressions<'_>, &mut Vec<Diagnostic>) -> Option<T>;

/// Expressions over the states of a model. Each text is a comma-separated list of them. The numbers
/// of their atoms are added when they are known.
#[derive(Default)]
pub(crate) struct Expressions<'a> {
    texts: &'a [Expression],
    atoms: Vec<Vec<u32>>,
    /// What a front-end tells about the code beside the program.
    numbers: Vec<(Addr, u32)>,
}

impl Expressions<'_> {
    /// The files in which a front-end reads each text, named by its number.
    fn readings(&self, name: fn(usize) -> String) -> Vec<Reading> {
        let named = self.texts.iter().enumerate();
        named.map(|(number, given)| Reading { file: name(number), start: 0, given: given.clone() }).collect()
    }

    fn set_atoms(&mut self, atoms: &[Vec<AtomId>]) {
        self.atoms = atoms.iter().map(|list| list.iter().map(|atom| atom.0.into()).collect()).collect();
    }
}

/// The kind of a front-end.
pub(crate) enum Front {
    /// A program, which is verified afterwards.
    Program(Reads<Program>),
    /// A graph.
    Graph(Reads<Lts>),
}

/// A file that a Promela text includes.
fn included(files: &mut dyn Files, wanted: &str, from: &str) -> Result<::promela::Included, String> {
    let (name, text) = files.read(wanted, from)?;
    Ok(::promela::Included { name, text: without_mark(&text).to_owned() })
}

/// Divides a text of a model and a program. The warnings are about the program's part.
pub fn hybrid(source: Input<'_>, comments: bool) -> Result<(Hybrid, SourceMap, Vec<Diagnostic>), Rejected> {
    let (mut map, mut diagnostics) = (SourceMap::new(), Vec::new());
    let Some(file) = text(&mut map, &source, &mut diagnostics) else { return Err(Rejected { map, diagnostics }) };
    let Input { files, defines, .. } = source;
    let mut loader = |wanted: &str, from: &str| included(files, wanted, from);
    let (hybrid, found) = ::promela::hybrid(&mut map, file, &mut loader, defines, comments);
    diagnostics.extend(found);
    match hybrid {
        Some(hybrid) => Ok((hybrid, map, diagnostics)),
        None => Err(Rejected { map, diagnostics }),
    }
}

/// Makes a model of a file.
pub fn load(source: Input<'_>) -> Result<Loaded, Rejected> {
    load_with(source, &[])
}

/// Makes a model from a file, and atoms from expressions over its states. Each text is an
/// expression of the language, or a comma-separated list. In a language without expressions, atoms
/// are given by their names.
pub fn load_with(source: Input<'_>, expressions: &[Expression]) -> Result<Loaded, Rejected> {
    let mut expressions = Expressions { texts: expressions, ..Expressions::default() };
    let mut map = SourceMap::new();
    let mut diagnostics = Vec::new();
    let model = match language(source.name, source.bytes).map(|language| &language.front) {
        Some(Front::Program(read)) => {
            let program = read(&mut map, source, &mut expressions, &mut diagnostics);
            program.map(|program| verify(program).map(|program| Model::Program(Box::new(program))))
        }
        Some(Front::Graph(read)) => {
            read(&mut map, source, &mut expressions, &mut diagnostics).map(|graph| Ok(Model::Graph(Arc::new(graph))))
        }
        None => {
            let file = map.add(source.name, "");
            let known: Vec<String> =
                LANGUAGES.iter().map(|language| format!("{} (.{})", language.name, language.endings.join(", ."))).collect();
            diagnostics.push(Diagnostic::error(Span::point(file, 0), "the language of this file is not known").with_hint(format!(
                "languages are told by the ending of the name, or by the words a program begins with: {}",
                known.join(", ")
            )));
            None
        }
    };
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(Rejected { map, diagnostics });
    }
    match model {
        Some(Ok(model)) => {
            let Expressions { atoms: expressions, numbers, .. } = expressions;
            Ok(Loaded { model, map, expressions, numbers, warnings: diagnostics })
        }
        Some(Err(error)) => {
            diagnostics.push(error.diagnostic(&map));
            Err(Rejected { map, diagnostics })
        }
        None => {
            diagnostics.push(Diagnostic::error(Span::default(), "no program was made of this file"));
            Err(Rejected { map, diagnostics })
        }
    }
}

/// Byte-code assembly.
pub(crate) fn assembly(
    map: &mut SourceMap,
    source: Input<'_>,
    expressions: &mut Expressions<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Program> {
    let file = text(map, &source, diagnostics)?;
    refuse_definitions(file, &source, diagnostics);
    match asm::assemble(map, file) {
        Ok(program) => with_formulas(map, program, source.formulas, expressions, diagnostics),
        Err(errors) => {
            diagnostics.extend(errors);
            None
        }
    }
}

/// Byte-code in its binary form.
pub(crate) fn binary(
    map: &mut SourceMap,
    source: Input<'_>,
    expressions: &mut Expressions<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Program> {
    let file = map.add(source.name, "");
    refuse_definitions(file, &source, diagnostics);
    match bytecode::binary::decode(source.bytes) {
        Ok(program) => with_formulas(map, program, source.formulas, expressions, diagnostics),
        Err(error) => {
            diagnostics.push(
                Diagnostic::error(Span::point(file, 0), error.to_string())
                    .with_hint("write the file again with `everypath compile MODEL -o FILE`"),
            );
            None
        }
    }
}

/// Promela.
pub(crate) fn promela(
    map: &mut SourceMap,
    source: Input<'_>,
    expressions: &mut Expressions<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Program> {
    let Input { formulas, files, defines, .. } = source;
    let formula = |(name, text): &(String, String)| (format!("ltl {name} {{ "), Expression::new(FORMULAS, text.as_str()), " }\n");
    let (stated, mut readings) = between(FORMULAS, formulas.iter().map(formula));
    let values = |given: &Expression| ("ltl = { ".to_owned(), given.clone(), " }\n");
    let (asked, more) = between(EXPRESSIONS, expressions.texts.iter().map(values));
    readings.extend(more);
    // Formulas and expressions are read after the model, with its macros, as if they were in files
    // that it includes.
    let include = |text: &str, name| if text.is_empty() { String::new() } else { format!("\n#include \"{name}\"\n") };
    let includes = include(&stated, FORMULAS) + &include(&asked, EXPRESSIONS);
    let bytes = [source.bytes, includes.as_bytes()].concat();
    let file = text(map, &Input { name: source.name, bytes: &bytes, defines, formulas, files: &mut NoFiles }, diagnostics)?;
    let mut loader = |wanted: &str, from: &str| {
        if wanted == FORMULAS && !stated.is_empty() {
            return Ok(::promela::Included { name: FORMULAS.to_owned(), text: stated.clone() });
        }
        if wanted == EXPRESSIONS && !asked.is_empty() {
            return Ok(::promela::Included { name: EXPRESSIONS.to_owned(), text: asked.clone() });
        }
        included(files, wanted, from)
    };
    let compiled = ::promela::compile(map, file, &mut loader, defines);
    diagnostics.extend(compiled.diagnostics);
    // A brace would end the list and could begin another.
    if let Some((given, at)) = expressions.texts.iter().find_map(|given| Some((given, given.text.find(['{', '}'])?))) {
        let file = map.add(given.by.as_str(), given.text.as_str());
        diagnostics.clear();
        diagnostics.push(Diagnostic::error(Span::new(file, at, at + 1), "an expression has no braces"));
    }
    show_as_given(map, diagnostics, &readings);
    expressions.set_atoms(&compiled.values);
    expressions.numbers = compiled.numbers;
    compiled.program
}

/// All warnings about a model, those of the linter included, with the texts; none if the language
/// has no linter or the model has errors.
pub fn lint(source: Input<'_>) -> (SourceMap, Vec<Diagnostic>) {
    let mut map = SourceMap::new();
    let is_promela = language(source.name, source.bytes).is_some_and(|language| language.name == "Promela");
    let Some(file) = is_promela.then(|| text(&mut map, &source, &mut Vec::new())).flatten() else { return (map, Vec::new()) };
    let Input { files, defines, .. } = source;
    let mut loader = |wanted: &str, from: &str| included(files, wanted, from);
    let warnings = ::promela::lint(&mut map, file, &mut loader, defines);
    (map, warnings)
}

/// LF. Some names of `-D` are not constants of the program: `queues` selects how waiting processes
/// are paired, `actions` the length of an action, `devices` whether the program gets processes that
/// represent the devices of a run, `console` and `console_length` what can be typed there.
pub(crate) fn lf(
    map: &mut SourceMap,
    source: Input<'_>,
    expressions: &mut Expressions<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Program> {
    let file = text(map, &source, diagnostics)?;
    let Input { formulas, files, defines, .. } = source;
    let mut options = ::lf::Options::default();
    let mut constants = Vec::new();
    for (name, value) in defines {
        match (name.as_str(), value.as_str()) {
            ("queues", "sorted") => options.queues = ::lf::Queues::Sorted,
            ("queues", "fifo") => options.queues = ::lf::Queues::Fifo,
            ("actions", "coarse") => options.fine = false,
            ("actions", "fine") => options.fine = true,
            ("devices", "model") => options.host = false,
            ("devices", "host") => options.host = true,
            // What is typed at the console is part of the model of the devices.
            ("console", typed) => match options.console.unwrap_or_default().typing(typed) {
                Ok(console) => (options.host, options.console) = (true, Some(console)),
                Err(why) => {
                    let message = format!("`{value}` is not a value of `console`: {why}");
                    let hint = "it names the characters that can be typed, for instance `0-9a`";
                    diagnostics.push(Diagnostic::error(Span::point(file, 0), message).with_hint(hint));
                }
            },
            ("console_length", number) => match number.parse() {
                Ok(most) => (options.host, options.console) = (true, Some(options.console.unwrap_or_default().at_most(most))),
                Err(_) => {
                    let message = format!("`{value}` is not a value of `console_length`");
                    let hint = "it is the number of characters that can be typed, up to 255";
                    diagnostics.push(Diagnostic::error(Span::point(file, 0), message).with_hint(hint));
                }
            },
            ("close", "any") => options.close = Some(::lf::Values::Any),
            ("close", number) => match number.parse() {
                Ok(count @ 1..) => options.close = Some(::lf::Values::Some(count)),
                _ => {
                    let message = format!("`{value}` is not a value of `close`");
                    let hint = "it is the number of values that the environment tries, up to 255, or `any`";
                    diagnostics.push(Diagnostic::error(Span::point(file, 0), message).with_hint(hint));
                }
            },
            ("queues" | "actions" | "devices", _) => {
                let (one, other) = match name.as_str() {
                    "queues" => ("sorted", "fifo"),
                    "actions" => ("coarse", "fine"),
                    _ => ("model", "host"),
                };
                let message = format!("`{value}` is not a value of `{name}`");
                diagnostics.push(Diagnostic::error(Span::point(file, 0), message).with_hint(format!("it is `{one}` or `{other}`")));
            }
            _ => constants.push((name.clone(), value.clone())),
        }
    }
    let mut loader = |wanted: &str, from: &str| files.read(wanted, from).map(|(name, text)| (name, without_mark(&text).to_owned()));
    let texts: Vec<String> = expressions.texts.iter().map(|given| given.text.clone()).collect();
    let request = ::lf::Request { defines: &constants, formulas, expressions: &texts, options };
    let compiled = ::lf::compile(map, file, &mut loader, request);
    diagnostics.extend(compiled.diagnostics);
    show_as_given(map, diagnostics, &expressions.readings(::lf::name_of_expression));
    expressions.set_atoms(&compiled.values);
    compiled.program
}

/// The text of an LF program that is closed by processes for its environment; `-D close=…` gives
/// the values. The error contains the errors of the program.
pub fn closed(source: Input<'_>) -> Result<String, Rejected> {
    let (name, bytes) = (source.name.to_owned(), source.bytes.to_owned());
    if language(&name, &bytes).is_none_or(|language| language.name != LF) {
        let mut map = SourceMap::new();
        let file = map.add(name, "");
        let diagnostics = vec![Diagnostic::error(Span::point(file, 0), "only LF programs are closed by an environment")];
        return Err(Rejected { map, diagnostics });
    }
    let values = match source.defines.iter().find(|(name, _)| name == "close").map(|(_, value)| value.as_str()) {
        Some("any") => ::lf::Values::Any,
        other => ::lf::Values::Some(other.and_then(|number| number.parse().ok()).unwrap_or(2)),
    };
    let options = ::lf::Options { close: Some(values), ..::lf::Options::default() };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let files = source.files;
    let mut loader = |wanted: &str, from: &str| files.read(wanted, from).map(|(name, text)| (name, without_mark(&text).to_owned()));
    ::lf::closed(&name, without_mark(&text), &mut loader, options).map_err(|diagnostics| {
        let mut map = SourceMap::new();
        map.add(name.clone(), text.as_str());
        Rejected { map, diagnostics }
    })
}

/// ATmega firmware: an ELF file. Source files are requested by the names in the debugging
/// information; without them a trace has lines but no texts.
pub(crate) fn avr(
    map: &mut SourceMap,
    source: Input<'_>,
    expressions: &mut Expressions<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Program> {
    let file = map.add(source.name, "");
    let Input { name, formulas, files, defines, bytes } = source;
    let texts: Vec<String> = expressions.texts.iter().map(|given| given.text.clone()).collect();
    let mut sources = |wanted: &str| files.read(wanted, name).ok().map(|(_, text)| text);
    let compiled = ::avr::compile(map, file, bytes, ::avr::Request { defines, formulas, expressions: &texts, sources: &mut sources });
    diagnostics.extend(compiled.diagnostics);
    show_as_given(map, diagnostics, &expressions.readings(::avr::name_of_expression));
    expressions.set_atoms(&compiled.values);
    compiled.program
}

/// An explicit graph.
pub(crate) fn graph(
    map: &mut SourceMap,
    source: Input<'_>,
    expressions: &mut Expressions<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Lts> {
    let file = text(map, &source, diagnostics)?;
    refuse_definitions(file, &source, diagnostics);
    let parsed = lts::parse(map, file);
    stating(map, source, parsed, expressions, diagnostics)
}

/// A graph in binary form.
pub(crate) fn binary_graph(
    map: &mut SourceMap,
    source: Input<'_>,
    expressions: &mut Expressions<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Lts> {
    let file = map.add(source.name, "");
    refuse_definitions(file, &source, diagnostics);
    let parsed = lts::read_graph(source.name, source.bytes);
    let parsed = parsed.map_err(|error| vec![Diagnostic::error(source::Span::point(file, 0), error.to_string())]);
    stating(map, source, parsed, expressions, diagnostics)
}

/// A state space with progress values.
pub(crate) fn state_space(
    map: &mut SourceMap,
    source: Input<'_>,
    expressions: &mut Expressions<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Lts> {
    let file = text(map, &source, diagnostics)?;
    refuse_definitions(file, &source, diagnostics);
    let parsed = lts::parse_state_space(map, file);
    stating(map, source, parsed, expressions, diagnostics)
}

/// A graph that states formulas over its atoms.
fn stating(
    map: &mut SourceMap,
    source: Input<'_>,
    parsed: Result<Lts, Vec<Diagnostic>>,
    expressions: &mut Expressions<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Lts> {
    let mut graph = match parsed {
        Ok(graph) => graph,
        Err(errors) => {
            diagnostics.extend(errors);
            return None;
        }
    };
    for (name, formula) in source.formulas {
        let file = map.add(FORMULAS, formula.as_str());
        let mut table = logic::Formulas::new();
        match logic::parse(&mut table, formula, file, 0) {
            Err(wrong) => diagnostics.push(wrong),
            Ok(parsed) => {
                for (atom, place) in table.atoms().iter().zip(parsed.spans).filter(|(atom, _)| !graph.atoms().contains(atom)) {
                    let known = if graph.atoms().is_empty() { "its states have none".to_owned() } else { graph.atoms().join(", ") };
                    let message = format!("no state of the graph has the atom `{atom}`");
                    let diagnostic = Diagnostic::error(place.unwrap_or(Span::point(file, 0)), message);
                    diagnostics.push(diagnostic.with_hint(format!("atoms of the graph: {known}")));
                }
                graph.state_formula(name.clone(), formula.clone());
            }
        }
    }
    by_name(map, expressions, graph.atoms(), diagnostics);
    Some(graph)
}

/// Looks up expressions that are names of atoms.
fn by_name(map: &mut SourceMap, expressions: &mut Expressions<'_>, known: &[impl AsRef<str>], diagnostics: &mut Vec<Diagnostic>) {
    for Expression { by, text } in expressions.texts {
        let mut atoms = Vec::new();
        let mut at = 0;
        for name in text.split(',') {
            match known.iter().position(|atom| atom.as_ref() == name.trim()) {
                Some(number) => atoms.push(number as u32),
                None => {
                    let file = map.add(by.as_str(), text.as_str());
                    let list: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
                    let hint =
                        if list.is_empty() { "it has no atoms".to_owned() } else { format!("atoms of the model: {}", list.join(", ")) };
                    let start = at + (name.len() - name.trim_start().len());
                    let message = format!("the model has no atom `{}`", name.trim());
                    diagnostics.push(Diagnostic::error(Span::new(file, start, start + name.trim().len()), message).with_hint(hint));
                }
            }
            at += name.len() + 1;
        }
        expressions.atoms.push(atoms);
    }
}

/// Adds formulas over the program's atoms to the properties that it states.
fn with_formulas(
    map: &mut SourceMap,
    mut program: Program,
    formulas: &[(String, String)],
    expressions: &mut Expressions<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Program> {
    let names: Vec<&str> = program.atoms.iter().map(|atom| atom.name.as_str()).collect();
    by_name(map, expressions, &names, diagnostics);
    for (name, formula) in formulas {
        let file = map.add(FORMULAS, formula.as_str());
        let mut atom = |name: &str| AtomId::new(program.atoms.iter().position(|atom| atom.name == name)?);
        match Formula::parse(formula, &mut atom) {
            Ok(formula) => program.properties.push(PropertyEntry { name: name.clone(), origin: None, kind: PropertyBody::Ltl(formula) }),
            Err(wrong) => {
                let known: Vec<&str> = program.atoms.iter().map(|atom| atom.name.as_str()).collect();
                let hint = if known.is_empty() {
                    "the program has no atoms".to_owned()
                } else {
                    format!("atoms of the program: {}", known.join(", "))
                };
                diagnostics.push(Diagnostic::error(Span::point(file, wrong.at), wrong.message).with_hint(hint));
                return None;
            }
        }
    }
    Some(program)
}

/// The source as text in the map.
fn text(map: &mut SourceMap, source: &Input<'_>, diagnostics: &mut Vec<Diagnostic>) -> Option<FileId> {
    match decode(source.bytes) {
        Some(text) => Some(map.add(source.name, without_mark(&text))),
        None => {
            // Only the text before the bad byte can be shown.
            let good = source.bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            let file = map.add(source.name, good);
            diagnostics.push(
                Diagnostic::error(
                    Span::point(file, good.len()),
                    "this is not text: the next byte is not UTF-8, and other bytes are not letters",
                )
                .with_hint("save the file as UTF-8, or give a binary program its ending `.epb`"),
            );
            None
        }
    }
}

/// The bytes of a file as text. They are read as UTF-8; each byte that is not part of a UTF-8
/// character becomes the Latin-1 character, because older models have such names and comments.
/// `None` if the bytes are not text at all.
pub fn decode(bytes: &[u8]) -> Option<Cow<'_, str>> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Some(Cow::Borrowed(text));
    }
    let is_control = |b: &u8| b.is_ascii_control() && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0x1a | 0x1b);
    if bytes.iter().any(is_control) {
        return None;
    }
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 8);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|&b| char::from(b)));
    }
    Some(Cow::Owned(text))
}

/// The text after the byte order mark that some editors write.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// A language without a preprocessor cannot use `-D`. Ignoring the option silently would mislead
/// the user.
fn refuse_definitions(file: FileId, source: &Input<'_>, diagnostics: &mut Vec<Diagnostic>) {
    if let Some((name, _)) = source.defines.first() {
        diagnostics.push(
            Diagnostic::error(Span::point(file, 0), format!("`{name}` is defined for a preprocessor, and this language has none"))
                .with_hint("leave out `-D`"),
        );
    }
}
