//! The modules of a program, in the order in which they are initialised.
//!
//! A module is initialised after the modules that it imports, in the order of its imports; each one
//! once. An import that leads back to the module is an error.

use crate::Console;
use crate::ast::{Communication, Declaration, Module, Name, Statement, StatementKind};
use crate::lexer::Token;
use crate::limits::{MAX_BYTES, MAX_MODULES};
use crate::{Loader, lexer, library, parser};
use source::{Diagnostic, FileId, SourceMap};

/// Adds the processes that represent the devices of a run, unless the program has a model of them:
/// a process that receives the messages of drivers to ports.
pub fn add_devices(map: &mut SourceMap, modules: &mut [Module], console: Option<Console>, diagnostics: &mut Vec<Diagnostic>) {
    if modules.iter().any(|module| module.name.text != library::SYSTEM && serves_ports(module)) {
        return;
    }
    // A line without a channel never interrupts, so only lines that a module names get a process.
    let named = |line: u32| {
        let name = Token::Name(format!("Interrupt{line}"));
        let others = modules.iter().filter(|module| module.name.text != library::SYSTEM).map(|module| module.name.span.file);
        let mut names = others.flat_map(|file| lexer::tokens(map.text(file), file, &mut Vec::new()));
        names.any(|(token, _)| token == name)
    };
    let text = library::system_with_devices(named, console);
    if let Some(system) = modules.iter_mut().find(|module| module.name.text == library::SYSTEM) {
        let file = map.add(format!("{}.lf, devices{}", library::SYSTEM, library::MARK), text);
        let tokens = lexer::tokens(map.text(file), file, diagnostics);
        if let Some(module) = parser::module(&tokens, diagnostics) {
            *system = module;
        }
    }
}

/// Whether a process of a module receives the messages of drivers to ports.
fn serves_ports(module: &Module) -> bool {
    fn in_declarations(declarations: &[Declaration]) -> bool {
        declarations.iter().any(|declaration| match declaration {
            Declaration::Process(process) => in_statements(&process.body) || in_declarations(&process.declarations),
            _ => false,
        })
    }
    fn receives(communication: &Communication) -> bool {
        !communication.sends && matches!(communication.message.text.as_str(), "PORTIN" | "PORTOUT")
    }
    fn in_statements(statements: &[Statement]) -> bool {
        statements.iter().any(|statement| match &statement.kind {
            StatementKind::Communicate(communication) => receives(communication),
            StatementKind::Select(clauses) => clauses.iter().any(|clause| receives(&clause.communication) || in_statements(&clause.body)),
            StatementKind::If(branches, last) => {
                branches.iter().any(|(_, body)| in_statements(body)) || last.as_deref().is_some_and(in_statements)
            }
            StatementKind::While(_, body) | StatementKind::Repeat(body, _) | StatementKind::For(_, _, _, _, body) => in_statements(body),
            StatementKind::Choice(blocks) => blocks.iter().any(|block| in_statements(block)),
            _ => false,
        })
    }
    in_statements(&module.body) || in_declarations(&module.declarations)
}

/// Reads a program's modules, the main one last.
pub fn read(map: &mut SourceMap, file: FileId, loader: &mut dyn Loader, diagnostics: &mut Vec<Diagnostic>) -> Vec<Module> {
    let mut reader = Reader { map, loader, diagnostics, done: Vec::new(), open: Vec::new(), bytes: 0 };
    reader.file(file);
    reader.done
}

struct Reader<'a> {
    map: &'a mut SourceMap,
    loader: &'a mut dyn Loader,
    diagnostics: &'a mut Vec<Diagnostic>,
    done: Vec<Module>,
    /// The modules whose imports are being read.
    open: Vec<String>,
    bytes: usize,
}

impl Reader<'_> {
    fn file(&mut self, file: FileId) {
        self.bytes += self.map.text(file).len();
        if self.bytes > MAX_BYTES {
            let span = source::Span::point(file, 0);
            self.diagnostics.push(Diagnostic::error(span, format!("the modules have more than {MAX_BYTES} bytes")));
            return;
        }
        let tokens = lexer::tokens(self.map.text(file), file, self.diagnostics);
        let Some(module) = parser::module(&tokens, self.diagnostics) else { return };
        drop(tokens);
        self.open.push(module.name.text.clone());
        for import in &module.imports {
            self.import(import, file);
        }
        self.open.pop();
        self.done.push(module);
    }

    fn import(&mut self, import: &Name, from: FileId) {
        if self.done.iter().any(|module| module.name.text == import.text) {
            return;
        }
        let mut refuse = |message: String, hint: &str| {
            self.diagnostics.push(Diagnostic::error(import.span, message).with_hint(hint));
        };
        if self.open.contains(&import.text) {
            return refuse(format!("`{}` is imported in a cycle", import.text), "move the common parts to a third module");
        }
        if self.done.len() + self.open.len() >= MAX_MODULES {
            return refuse(format!("a program has at most {MAX_MODULES} modules"), "join some of them");
        }
        let (name, text) = match library::module(&import.text) {
            Some(text) => (format!("{}.lf{}", import.text, library::MARK), text.to_owned()),
            None => match self.loader.load(&format!("{}.lf", import.text), self.map.name(from)) {
                Ok(loaded) => loaded,
                Err(why) => {
                    let known: Vec<&str> = library::names().collect();
                    let hint =
                        format!("a module is in a file of its name next to the one that imports it; the library has {}", known.join(", "));
                    return refuse(format!("the module `{}` cannot be read: {why}", import.text), &hint);
                }
            },
        };
        let file = self.map.add(name, text);
        let before = self.done.len();
        self.file(file);
        if let Some(read) = self.done.get(before..).and_then(|new| new.last())
            && read.name.text != import.text
        {
            let message = format!("the file holds a module `{}`, not `{}`", read.name.text, import.text);
            self.diagnostics.push(Diagnostic::error(import.span, message).with_label(read.name.span, "it is called so here"));
        }
    }
}
