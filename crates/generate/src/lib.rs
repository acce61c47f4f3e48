//! Generates the files of a C program from a text that contains both a model and a program.
//!
//! The text is Promela with pieces of C for the program alone (`promela::hybrid`). The control
//! structure is that of the model: a process type becomes a program of its own, a selection becomes
//! an `if` or a `switch`, and each step of the model runs under one lock. The rules are those of W.
//! Bezuidenhout, "Automated program generation: bridging the gap between model and implementation"
//! (Stellenbosch, 2007), section 3, with four differences: the programs share the variables that
//! the model shares, a blocked process sleeps instead of polling, a channel needs no piece of C of
//! its own, and a `timeout` is a timer.

#![forbid(unsafe_code)]

mod conditions;
mod declare;
mod expression;
mod files;
mod mapping;
mod names;
mod options;
mod pieces;
mod reserved;
mod rust;
mod select;
mod senders;
mod statement;
mod values;

pub use mapping::check as check_mapping;
pub use options::{Options, ProgramLayout, Transport};
pub use rust::program as rust_program;

use promela::Hybrid;
use promela::ast::{Proctype, Unit};
use source::{Diagnostic, SourceMap, Span};
use std::collections::{BTreeMap, BTreeSet};

/// The files of a program.
#[derive(Debug)]
pub struct Generated {
    /// Names and contents, in the order in which they were made.
    pub files: Vec<(String, String)>,
    /// Warnings for the user.
    pub warnings: Vec<Diagnostic>,
}

/// Generates the program in C. The errors name the constructs that have no translation, with
/// positions.
pub fn program(hybrid: &Hybrid, map: &SourceMap, name: &str, options: &Options) -> Result<Generated, Vec<Diagnostic>> {
    let mut generator = Generator::new(hybrid, map, options);
    generator.source = name.to_owned();
    generator.learn_c();
    let files = generator.files(name);
    generator.unknown_channels();
    generator.finish(files)
}

/// A loop that encloses a statement.
#[derive(Debug)]
struct Around {
    /// Its number, for the label after it.
    number: usize,
    used: bool,
    /// The number of steps that were begun and not ended when it was entered.
    held: usize,
}

/// The state of the generator: the text it writes, and its position in the model.
struct Generator<'a> {
    map: &'a SourceMap,
    hybrid: &'a Hybrid,
    options: &'a Options,
    names: names::Names<'a>,
    found: Vec<Diagnostic>,
    selections: usize,
    fields: usize,
    indent: usize,
    out: String,
    loops: Vec<Around>,
    /// Loops and `switch`es of C inside the innermost loop of the model, which a `break` of C would
    /// leave instead.
    inside: usize,
    /// The number of steps begun and not ended: more than zero inside `atomic`.
    held: usize,
    /// The number of steps begun at each label of the current process.
    labels: BTreeMap<String, usize>,
    /// The data that all pieces of C share.
    c: pieces::World,
    /// The shared variables of C that have a place in the shared memory, in its order.
    placed: Vec<String>,
    /// The first place in the shared memory that is free.
    last_place: String,
    /// Variables that the pieces of the current step have computed: their names in the model, and
    /// their texts in C.
    computed: Vec<(String, String)>,
    /// The variables of the current process that are declared in an inner block.
    inner: BTreeSet<String>,
    /// The name of the text.
    source: String,
    /// The type of the current process.
    process: String,
    /// Whether the model may end at the statement that follows.
    ending: bool,
}

impl<'a> Generator<'a> {
    fn new(hybrid: &'a Hybrid, map: &'a SourceMap, options: &'a Options) -> Generator<'a> {
        let mut names = names::Names::of(&hybrid.program);
        // If all processes are in one process of the system, a process that waits must yield to the
        // others.
        names.shares |= options.layout == ProgramLayout::Loop;
        Generator {
            map,
            hybrid,
            options,
            names,
            found: Vec::new(),
            selections: 0,
            fields: 0,
            indent: 1,
            out: String::new(),
            loops: Vec::new(),
            inside: 0,
            held: 0,
            labels: BTreeMap::new(),
            c: pieces::World::default(),
            placed: Vec::new(),
            computed: Vec::new(),
            inner: BTreeSet::new(),
            source: String::new(),
            process: String::new(),
            last_place: "0".to_owned(),
            ending: false,
        }
    }

    /// The files, or the errors about constructs that have no translation.
    fn finish(self, files: Vec<(String, String)>) -> Result<Generated, Vec<Diagnostic>> {
        let (errors, warnings): (Vec<Diagnostic>, Vec<Diagnostic>) = self.found.into_iter().partition(Diagnostic::is_error);
        if errors.is_empty() { Ok(Generated { files, warnings }) } else { Err(errors) }
    }

    fn processes(&self) -> Vec<&'a Proctype> {
        let units = self.hybrid.program.units.iter();
        units
            .filter_map(|unit| match unit {
                Unit::Proctype(process) if !process.is_init => Some(&**process),
                _ => None,
            })
            .collect()
    }

    fn init(&self) -> Option<&'a Proctype> {
        self.hybrid.program.units.iter().find_map(|unit| match unit {
            Unit::Proctype(process) if process.is_init => Some(&**process),
            _ => None,
        })
    }

    /// Reports transports for channels that do not exist.
    fn unknown_channels(&mut self) {
        for name in self.options.channels.keys().filter(|name| !self.names.channels.contains(*name)) {
            let hint = match self.names.channels.iter().next() {
                Some(known) => format!("a channel of the program is `{known}`"),
                None => "the program has no channels".to_owned(),
            };
            self.found.push(
                Diagnostic::error(Span::default(), format!("there is no channel `{name}` to choose a transport for")).with_hint(hint),
            );
        }
    }

    fn error(&mut self, span: Span, message: impl Into<String>, hint: &str) {
        self.found.push(Diagnostic::error(span, message).with_hint(hint));
    }

    fn warn(&mut self, span: Span, message: impl Into<String>) {
        self.found.push(Diagnostic::warning(span, message));
    }

    fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push('\t');
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// Line and column of a statement as the arguments of a call.
    fn place(&self, span: Span) -> String {
        let span = self.map.places(span).map_or(span, |places| places.used);
        let at = self.map.location(span);
        format!("{}, {}", at.line, at.column)
    }

    /// Writes the call that records a step.
    fn step(&mut self, span: Span) {
        let place = self.place(span);
        self.line(&format!("EP_STEP({place});"));
    }

    fn begin(&mut self) {
        if self.names.shares {
            self.line("ep_begin();");
        }
    }

    fn end(&mut self) {
        if self.names.shares {
            self.line("ep_end();");
        }
    }
}
