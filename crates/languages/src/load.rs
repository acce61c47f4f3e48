//! Running a front-end, and the verifier behind it.

use crate::{LANGUAGES, language};
use ::source::{Diagnostic, FileId, SourceMap, Span};
use bytecode::{Program, Verified, asm, verify};
use std::borrow::Cow;

/// Where included files come from. This crate itself never touches a file system.
pub trait Files {
    /// Name and text of the file `wanted`, included by the file `from`; or one sentence why not.
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

/// What is to be read.
pub struct Source<'a> {
    /// The file's name: its ending tells the language, and positions show it.
    pub name: &'a str,
    /// The file's contents.
    pub bytes: &'a [u8],
    /// Names defined for the preprocessor.
    pub defines: &'a [(String, String)],
    /// Where included files come from.
    pub files: &'a mut dyn Files,
}

/// A program that was accepted.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The program.
    pub program: Verified,
    /// The texts it was made from.
    pub map: SourceMap,
    /// What is worth knowing about it.
    pub warnings: Vec<Diagnostic>,
}

impl Loaded {
    /// The warnings in a line each, with their places: what is left of them when the texts are gone.
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
    /// What is wrong: at least one error.
    pub diagnostics: Vec<Diagnostic>,
}

/// A front-end: makes a program of the file it is given, adding to the map and to the diagnostics. Without a program there is at least
/// one error among them.
pub(crate) type Front = fn(&mut SourceMap, Source<'_>, &mut Vec<Diagnostic>) -> Option<Program>;

/// Makes a verified program of a file.
pub fn load(source: Source<'_>) -> Result<Loaded, Rejected> {
    let mut map = SourceMap::new();
    let mut diagnostics = Vec::new();
    let program = match language(source.name, source.bytes) {
        Some(language) => (language.front)(&mut map, source, &mut diagnostics),
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
    match program.map(verify) {
        Some(Ok(program)) => Ok(Loaded { program, map, warnings: diagnostics }),
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
pub(crate) fn assembly(map: &mut SourceMap, source: Source<'_>, diagnostics: &mut Vec<Diagnostic>) -> Option<Program> {
    let file = text(map, &source, diagnostics)?;
    refuse_definitions(file, &source, diagnostics);
    match asm::assemble(map, file) {
        Ok(program) => Some(program),
        Err(errors) => {
            diagnostics.extend(errors);
            None
        }
    }
}

/// Byte-code in its binary form.
pub(crate) fn binary(map: &mut SourceMap, source: Source<'_>, diagnostics: &mut Vec<Diagnostic>) -> Option<Program> {
    let file = map.add(source.name, "");
    refuse_definitions(file, &source, diagnostics);
    match bytecode::binary::decode(source.bytes) {
        Ok(program) => Some(program),
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
pub(crate) fn promela(map: &mut SourceMap, source: Source<'_>, diagnostics: &mut Vec<Diagnostic>) -> Option<Program> {
    let file = text(map, &source, diagnostics)?;
    let Source { files, defines, .. } = source;
    let mut loader = |wanted: &str, from: &str| {
        let (name, text) = files.read(wanted, from)?;
        Ok(::promela::Loaded { name, text: without_mark(&text).to_owned() })
    };
    let compiled = ::promela::compile(map, file, &mut loader, defines);
    diagnostics.extend(compiled.diagnostics);
    compiled.program
}

/// The source as text in the map.
fn text(map: &mut SourceMap, source: &Source<'_>, diagnostics: &mut Vec<Diagnostic>) -> Option<FileId> {
    match decode(source.bytes) {
        Some(text) => Some(map.add(source.name, without_mark(&text))),
        None => {
            // What can be shown is what stands before the bad byte.
            let good = source.bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            let file = map.add(source.name, good);
            diagnostics.push(
                Diagnostic::error(Span::point(file, good.len()), "this is not text: the next byte is not UTF-8, and others are no letters")
                    .with_hint("save the file as UTF-8, or give a binary program its ending `.epb`"),
            );
            None
        }
    }
}

/// The bytes of a file as text: UTF-8, and each byte that is not part of it the character that Latin-1 has for it, for names and comments
/// of older models. Nothing if the bytes are no text at all.
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

/// The text behind the byte order mark that some editors write.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// A language without a preprocessor has no use for `-D`, and passing it over in silence would mislead.
fn refuse_definitions(file: FileId, source: &Source<'_>, diagnostics: &mut Vec<Diagnostic>) {
    if let Some((name, _)) = source.defines.first() {
        diagnostics.push(
            Diagnostic::error(Span::point(file, 0), format!("`{name}` is defined for a preprocessor, and this language has none"))
                .with_hint("leave out `-D`"),
        );
    }
}
