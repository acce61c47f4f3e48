//! The preprocessor: directives, files included, `-D` definitions.
//!
//! SPIN pipes its input through the C preprocessor. We do the same work on tokens, so that every
//! token keeps its position and no other program is needed. Directives are handled while tokens are
//! fed to the expander of [`crate::macros`], so a directive may even be between the arguments of a
//! macro.

use crate::condition;
use crate::define::definition;
use crate::lexer::{lex, literal};
use crate::limits::{MAX_BYTES, MAX_INCLUDE_DEPTH, MAX_INCLUDES};
use crate::macros::{Expander, Feed, Macros, TooMuch, macro_name};
use crate::token::{Key, Op, Text, Tok, Token};
use source::{Diagnostic, FileId, SourceMap, Span, did_you_mean};
use std::collections::HashSet;

/// A file that was asked for by `#include`.
#[derive(Clone, Debug)]
pub struct Included {
    /// Its name, as positions should show it.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Finds included files. The front-end itself never uses a file system.
pub trait Loader {
    /// The file `wanted`, included by the file named `from`; or one sentence that says why it
    /// cannot be read.
    fn load(&mut self, wanted: &str, from: &str) -> Result<Included, String>;
}

impl<F: FnMut(&str, &str) -> Result<Included, String>> Loader for F {
    fn load(&mut self, wanted: &str, from: &str) -> Result<Included, String> {
        self(wanted, from)
    }
}

/// A loader for texts that include nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Loader for NoFiles {
    fn load(&mut self, _: &str, _: &str) -> Result<Included, String> {
        Err("no files can be included here".to_owned())
    }
}

/// Whether a token is inside embedded C, where numbers are spelled as in C.
#[derive(Default)]
struct Embedded {
    /// A word that is followed by C has been read.
    expected: bool,
    brackets: usize,
}

impl Embedded {
    fn contains(&mut self, token: &Tok) -> bool {
        let inside = self.brackets > 0;
        match token {
            Tok::Key(Key::CCode | Key::CExpr | Key::CDecl) => self.expected = true,
            Tok::Name(name) if crate::hybrid::PROGRAM_WORDS.contains(&&**name) => self.expected = true,
            Tok::Op(Op::LBrace | Op::LBracket) if inside || self.expected => self.brackets += 1,
            Tok::Op(close @ (Op::RBrace | Op::RBracket)) if inside => {
                self.brackets -= 1;
                // A condition in brackets may come before the text.
                self.expected = self.brackets == 0 && *close == Op::RBracket;
            }
            _ => self.expected &= inside,
        }
        inside
    }
}

/// The tokens of a file after preprocessing, without an end token, and the errors.
///
/// A directive after a `\` is for C's preprocessor. `directives_of_c` says that there is none, so
/// that such directives are executed here; headers of C's own library are left out then.
pub fn preprocess(
    map: &mut SourceMap,
    file: FileId,
    loader: &mut dyn Loader,
    defines: &[(String, String)],
    directives_of_c: bool,
) -> (Vec<Token>, Vec<Diagnostic>) {
    let mut errors = Vec::new();
    let mut macros = Macros::default();
    for (name, value) in defines {
        define_from_outside(map, &mut macros, &mut errors, name, value);
    }
    let mut source = FileStack {
        map,
        loader,
        directives_of_c,
        c_files: HashSet::new(),
        files: Vec::new(),
        conditions: Vec::new(),
        bytes: 0,
        includes: 0,
        stopped: false,
    };
    source.enter(file, None, &mut errors);
    let mut tokens = Vec::new();
    let mut newline_before = false;
    let mut embedded = Embedded::default();
    let mut expander = Expander::new(&mut source, 0);
    loop {
        match expander.next(&mut macros, &mut errors) {
            Ok(Token { kind: Tok::End, .. }) => break,
            Ok(Token { kind: Tok::CommentEnd, newline, span, .. }) => {
                let hint = "a `/*` in a comment does not begin another one";
                errors.push(
                    Diagnostic::warning(span, "this `*/` closes no comment").named("stray-comment-end").with_hint(hint).with_fix(span, ""),
                );
                newline_before |= newline;
            }
            Ok(mut token) => {
                let in_c = embedded.contains(&token.kind);
                if let (false, Tok::Literal(text)) = (in_c, &token.kind) {
                    token.kind = literal(text);
                }
                token.newline |= std::mem::take(&mut newline_before);
                tokens.push(token);
            }
            // The text is too large to be a model, so it is not read any further.
            Err(TooMuch) => return (Vec::new(), errors),
        }
    }
    if source.stopped {
        return (Vec::new(), errors);
    }
    for open in source.conditions {
        errors.push(
            Diagnostic::error(open.span, "this condition has no `#endif`")
                .with_hint("every `#if`, `#ifdef` and `#ifndef` needs its `#endif` in the same file"),
        );
    }
    let c_files = std::mem::take(&mut source.c_files);
    for (name, span) in macros.unused().into_iter().filter(|(_, span)| !c_files.contains(&span.file)) {
        let known = source.map.files().flat_map(|(_, file)| words(file.text())).filter(|word| **word != *name);
        let hint = did_you_mean(&name, known);
        let message = format!("the model never uses `{name}`");
        errors.push(Diagnostic::warning(span, message).named("unused-definition").with_hint_opt(hint));
    }
    (tokens, errors)
}

/// The words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// `-D NAME=VALUE`. The definition gets a file of its own, so that messages can point at it.
fn define_from_outside(map: &mut SourceMap, macros: &mut Macros, errors: &mut Vec<Diagnostic>, name: &str, value: &str) {
    let text = format!("{name} {value}");
    let file = map.add(format!("<-D {name}>"), text.clone());
    let tokens = lex(file, &text);
    let defined = definition(&tokens[..tokens.len() - 1], Span::new(file, 0, text.len()));
    match defined {
        Ok((name, definition)) => drop(macros.define_from_outside(name, definition)),
        Err(error) => errors.push(error),
    }
}

struct OpenFile {
    id: FileId,
    tokens: std::vec::IntoIter<Token>,
    /// The number of conditions that were open when the file was entered.
    conditions: usize,
    renamed: Renamed,
    /// Whether it is part of the C.
    in_c: bool,
}

struct Condition {
    span: Span,
    /// Whether the current part is read.
    live: bool,
    /// Whether some part has been taken, so that later parts are skipped.
    taken: bool,
    /// Whether `#else` has been seen.
    last: bool,
    /// Whether the text around the condition is read.
    outer: bool,
}

struct FileStack<'a> {
    map: &'a mut SourceMap,
    loader: &'a mut dyn Loader,
    directives_of_c: bool,
    /// Files that directives for C's preprocessor include.
    c_files: HashSet<FileId>,
    files: Vec<OpenFile>,
    conditions: Vec<Condition>,
    bytes: usize,
    includes: usize,
    /// Whether reading was given up before the end.
    stopped: bool,
}

/// The effect of `#line` on a file: a name to be shown, and a number that is added to each line
/// number.
#[derive(Clone, Debug, Default)]
struct Renamed {
    name: Option<Text>,
    shift: i64,
}

impl FileStack<'_> {
    fn enter(&mut self, id: FileId, at: Option<Span>, errors: &mut Vec<Diagnostic>) {
        let text = self.map.text(id);
        self.bytes += text.len();
        let at = at.unwrap_or(Span::point(id, 0));
        if self.bytes > MAX_BYTES {
            errors.push(Diagnostic::error(at, "the files are too large to be a model"));
            return;
        }
        let tokens = lex(id, text).into_iter();
        let in_c = self.in_c();
        if in_c {
            self.c_files.insert(id);
        }
        self.files.push(OpenFile { id, tokens, conditions: self.conditions.len(), renamed: Renamed::default(), in_c });
    }

    /// Ends reading.
    fn stop(&mut self) {
        self.stopped = true;
        self.files.clear();
        self.conditions.clear();
    }

    fn in_c(&self) -> bool {
        self.files.last().is_some_and(|file| file.in_c)
    }

    fn live(&self) -> bool {
        self.conditions.last().is_none_or(|c| c.live)
    }

    /// The rest of a directive's line.
    fn line(&mut self) -> Vec<Token> {
        let mut line = Vec::new();
        if let Some(file) = self.files.last_mut() {
            while file.tokens.as_slice().first().is_some_and(|t| !t.first && t.kind != Tok::End) {
                line.extend(file.tokens.next());
            }
        }
        line
    }

    /// A directive for C's preprocessor. A file that it includes is part of the C.
    fn directive_of_c(&mut self, hash: Span, macros: &mut Macros, errors: &mut Vec<Diagnostic>) {
        let Some(depth) = self.files.len().checked_sub(1) else { return };
        let outer = std::mem::replace(&mut self.files[depth].in_c, true);
        self.directive(hash, macros, errors);
        if let Some(file) = self.files.get_mut(depth) {
            file.in_c = outer;
        }
    }

    fn directive(&mut self, hash: Span, macros: &mut Macros, errors: &mut Vec<Diagnostic>) {
        let line = self.line();
        let Some(head) = line.first() else { return };
        let rest = &line[1..];
        let span = line.last().map_or(hash, |last| hash.to(last.span));
        let Some(name) = macro_name(&head.kind) else {
            // `# 12 "file"`: a mark left by another preprocessor.
            if matches!(head.kind, Tok::Number(_)) {
                self.rename(&line, hash);
            } else if self.live() {
                let hint = "a line that begins with `#` is for the preprocessor, as in `#define N 3`";
                errors.push(Diagnostic::error(head.span, format!("{} is not a directive", head.kind)).with_hint(hint));
            }
            return;
        };
        match &*name {
            "if" | "ifdef" | "ifndef" => {
                let outer = self.live();
                let live = outer && self.holds(&name, rest, span, macros, errors);
                let condition = Condition { span, live, taken: live, last: false, outer };
                self.conditions.push(condition);
            }
            "elif" | "else" | "endif" => self.next_part(&name, rest, span, macros, errors),
            _ if !self.live() => {}
            "define" => {
                let old = definition(rest, span).map(|(name, definition)| macros.define(name, definition)).unwrap_or_else(|error| {
                    errors.push(error);
                    None
                });
                if let Some(old) = old {
                    let warning = Diagnostic::warning(span, "the macro is redefined").named("redefined-macro");
                    errors.push(warning.with_label(old.span, "it was defined here"));
                }
            }
            "undef" => match rest.first().and_then(|t| macro_name(&t.kind)) {
                Some(name) => macros.undefine(&name),
                None => errors.push(Diagnostic::error(span, "`#undef` needs a name").with_hint("write `#undef NAME`")),
            },
            // What C's own library declares is known.
            "include" if self.in_c() && rest.first().is_some_and(|t| t.kind == Tok::Op(Op::Lt)) => {}
            "include" => self.include(span, rest, macros, errors),
            "line" => {
                let Ok(rest) = expanded_line(rest, macros, errors) else { return };
                if !self.rename(&rest, hash) {
                    errors.push(Diagnostic::error(span, "`#line` needs a number").with_hint("write `#line 12` or `#line 12 \"name\"`"));
                }
            }
            "error" | "warning" => {
                let text = rest.first().zip(rest.last()).map_or("", |(first, last)| self.map.snippet(first.span.to(last.span)));
                let text = format!("#{name}: {text}");
                let is_error = &*name == "error";
                errors.push(if is_error { Diagnostic::error(span, text) } else { Diagnostic::warning(span, text).named("own-warning") });
            }
            "pragma" | "ident" | "sccs" | "assert" | "unassert" => {}
            _ => {
                let known = ["define", "undef", "include", "if", "ifdef", "ifndef", "elif", "else", "endif", "error", "line"];
                let hint = did_you_mean(&name, known).unwrap_or_else(|| format!("the directives are {}", known.join(", ")));
                errors.push(Diagnostic::error(head.span, format!("`#{name}` is not a directive")).with_hint(hint));
            }
        }
    }

    /// `#elif`, `#else`, `#endif`.
    fn next_part(&mut self, name: &str, rest: &[Token], span: Span, macros: &mut Macros, errors: &mut Vec<Diagnostic>) {
        let first = self.files.last().map_or(0, |f| f.conditions);
        if self.conditions.len() <= first {
            let hint = "`#if`, `#ifdef` or `#ifndef` comes first, in the same file";
            errors.push(Diagnostic::error(span, format!("`#{name}` without an `#if`")).with_hint(hint));
            return;
        }
        if name == "endif" {
            self.conditions.pop();
            return;
        }
        let wanted = match self.conditions.last() {
            Some(c) => c.outer && !c.taken,
            None => false,
        };
        let holds = wanted && (name == "else" || self.holds("if", rest, span, macros, errors));
        let Some(condition) = self.conditions.last_mut() else { return };
        if condition.last {
            errors.push(
                Diagnostic::error(span, format!("`#{name}` after `#else`"))
                    .with_label(condition.span, "the condition begins here")
                    .with_hint("`#else` is the last part of a condition"),
            );
        }
        condition.live = holds;
        condition.taken |= holds;
        condition.last |= name == "else";
    }

    fn holds(&mut self, name: &str, rest: &[Token], span: Span, macros: &mut Macros, errors: &mut Vec<Diagnostic>) -> bool {
        if name != "if" {
            let Some(tested) = rest.first().and_then(|t| macro_name(&t.kind)) else {
                errors.push(Diagnostic::error(span, format!("`#{name}` needs a name")).with_hint(format!("write `#{name} NAME`")));
                return false;
            };
            return macros.is_defined(&tested) == (name == "ifdef");
        }
        let mut feed = Line(rest.iter());
        let mut expander = Expander::new(&mut feed, 0);
        let mut expanded = Vec::new();
        loop {
            match expander.next(macros, errors) {
                Ok(Token { kind: Tok::End, .. }) => break,
                // `defined` may also be produced by a macro; its operand is not expanded.
                Ok(token) if token.kind == Tok::Name("defined".into()) => match tested_name(&mut expander, macros, errors) {
                    Some(name) => expanded.push(Token { kind: Tok::Number(i32::from(macros.is_defined(&name))), ..token }),
                    None => {
                        let hint = "write `defined NAME` or `defined(NAME)`";
                        errors.push(Diagnostic::error(token.span, "`defined` needs a name").with_hint(hint));
                        return false;
                    }
                },
                Ok(token) => expanded.push(token),
                Err(TooMuch) => return false,
            }
        }
        condition::evaluate(&expanded, span).unwrap_or_else(|error| {
            errors.push(error);
            false
        })
    }

    /// The next line has this number, and its file this name, for `__LINE__` and `__FILE__`.
    /// Messages show the file as it is.
    fn rename(&mut self, line: &[Token], hash: Span) -> bool {
        let number = match line.first().map(|t| &t.kind) {
            Some(Tok::Number(n)) => i64::from(*n),
            Some(Tok::Literal(digits)) => match digits.parse::<i64>() {
                Ok(n) => n,
                Err(_) => return false,
            },
            _ => return false,
        };
        let here = self.map.get(hash.file).map_or(1, |file| file.line_of(hash.start)) as i64;
        if let (true, Some(file)) = (self.conditions.last().is_none_or(|c| c.live), self.files.last_mut()) {
            file.renamed.shift = number.saturating_sub(here + 1);
            if let Some(Tok::Str(name)) = line.get(1).map(|t| &t.kind) {
                file.renamed.name = Some(name.clone());
            }
        }
        true
    }

    /// The file and line that `__FILE__` and `__LINE__` give from this token on.
    fn note_place(&mut self, at: Span, macros: &mut Macros) {
        let Some(file) = self.files.last() else { return };
        let line = self.map.get(at.file).map_or(1, |source| source.line_of(at.start)) as i64 + file.renamed.shift;
        let name = match &file.renamed.name {
            Some(name) => name.clone(),
            None if *macros.place.0 == *self.map.name(at.file) => macros.place.0.clone(),
            None => self.map.name(at.file).into(),
        };
        macros.place = (name, usize::try_from(line).unwrap_or(0));
    }

    fn include(&mut self, span: Span, rest: &[Token], macros: &mut Macros, errors: &mut Vec<Diagnostic>) {
        // An operand that is neither a string nor in brackets may be a macro that expands to one of
        // them.
        let is_name = rest.first().is_some_and(|t| macro_name(&t.kind).is_some());
        let made = if is_name { expanded_line(rest, macros, errors).unwrap_or_default() } else { Vec::new() };
        let rest = if is_name { &made } else { rest };
        let wanted = match rest.first().map(|t| (&t.kind, t.span)) {
            Some((Tok::Str(text), _)) => text.to_string(),
            Some((Tok::Op(Op::Lt), _)) if is_name => {
                let inside = rest[1..].iter().take_while(|t| t.kind != Tok::Op(Op::Gt));
                inside.map(|t| t.kind.spelling().into_owned()).collect()
            }
            Some((Tok::Op(Op::Lt), open)) => {
                let end = rest.last().map_or(open, |t| t.span);
                let text = self.map.snippet(Span { start: open.end, ..open.to(end) });
                text.trim_end_matches('>').to_owned()
            }
            _ => {
                errors.push(Diagnostic::error(span, "`#include` needs the name of a file").with_hint("write `#include \"name\"`"));
                return;
            }
        };
        if self.files.len() >= MAX_INCLUDE_DEPTH {
            let message = format!("files include each other {MAX_INCLUDE_DEPTH} levels deep");
            errors.push(Diagnostic::error(span, message));
            return;
        }
        self.includes += 1;
        if self.includes > MAX_INCLUDES {
            let message = format!("more than {MAX_INCLUDES} files are included");
            errors.push(Diagnostic::error(span, message).with_hint("does a file include another one twice, and so on?"));
            self.stop();
            return;
        }
        let from = self.map.name(span.file).to_owned();
        match self.loader.load(&wanted, &from) {
            Ok(loaded) => {
                let id = self.map.add(loaded.name, loaded.text);
                self.enter(id, Some(span), errors);
            }
            // A header of the program that a model is part of may be elsewhere. What it declares is
            // missed where it is used.
            Err(_) if self.in_c() => {}
            Err(why) => {
                let message = format!("cannot include `{wanted}`: {why}");
                let hint = "a file is looked for in the folder of the file that includes it";
                errors.push(Diagnostic::error(span, message).with_hint(hint));
            }
        }
    }
}

impl Feed for FileStack<'_> {
    fn next(&mut self, macros: &mut Macros, errors: &mut Vec<Diagnostic>) -> Token {
        let mut newline = false;
        loop {
            let Some(file) = self.files.last_mut() else {
                let span = Span::default();
                return Token { newline: true, first: true, ..Token::new(Tok::End, span) };
            };
            let conditions = file.conditions;
            let id = file.id;
            match file.tokens.next() {
                Some(token) if self.directives_of_c && token.kind == Tok::Backslash && is_hash(file.tokens.as_slice().first()) => {
                    let hash = file.tokens.next().unwrap_or(token);
                    self.note_place(hash.span, macros);
                    self.directive_of_c(hash.span, macros, errors);
                    newline = true;
                }
                Some(token) if token.kind == Tok::Hash(false) && token.first => {
                    self.note_place(token.span, macros);
                    self.directive(token.span, macros, errors);
                    newline = true;
                }
                Some(token) if token.kind == Tok::End => {
                    if self.files.len() == 1 {
                        // At the end of the main file, every call returns the end.
                        let end = Span::point(id, self.map.text(id).len());
                        self.files[0].tokens = vec![token.clone()].into_iter();
                        return Token { span: end, newline: true, ..token };
                    }
                    self.files.pop();
                    for open in self.conditions.drain(conditions..) {
                        errors.push(Diagnostic::error(open.span, "this condition has no `#endif` in its file"));
                    }
                    newline = true;
                }
                Some(mut token) if self.live() => {
                    // The token follows another one on its line, so it has the same line number.
                    if token.newline || newline {
                        self.note_place(token.span, macros);
                    }
                    token.newline |= newline;
                    return token;
                }
                Some(_) => newline = true,
                None => {
                    self.files.pop();
                }
            }
        }
    }
}

fn is_hash(token: Option<&Token>) -> bool {
    token.is_some_and(|token| token.kind == Tok::Hash(false) && !token.first)
}

/// A line of tokens as a feed.
struct Line<'t>(std::slice::Iter<'t, Token>);

impl Feed for Line<'_> {
    fn next(&mut self, _: &mut Macros, _: &mut Vec<Diagnostic>) -> Token {
        self.0.next().cloned().unwrap_or(Token::new(Tok::End, Span::default()))
    }
}

/// The tokens of a directive's line with macros expanded.
fn expanded_line(line: &[Token], macros: &mut Macros, errors: &mut Vec<Diagnostic>) -> Result<Vec<Token>, TooMuch> {
    let mut feed = Line(line.iter());
    let mut expander = Expander::new(&mut feed, 0);
    let mut expanded = Vec::new();
    loop {
        let token = expander.next(macros, errors)?;
        if token.kind == Tok::End {
            return Ok(expanded);
        }
        expanded.push(token);
    }
}

/// The name after `defined`, in parentheses or not.
fn tested_name(expander: &mut Expander<'_>, macros: &mut Macros, errors: &mut Vec<Diagnostic>) -> Option<Text> {
    let token = expander.raw(macros, errors);
    if token.kind != Tok::Op(Op::LParen) {
        return macro_name(&token.kind);
    }
    let name = macro_name(&expander.raw(macros, errors).kind)?;
    (expander.raw(macros, errors).kind == Tok::Op(Op::RParen)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str, defines: &[(&str, &str)]) -> (String, Vec<Diagnostic>) {
        let mut map = SourceMap::new();
        let file = map.add("main.pml", text);
        let defines: Vec<_> = defines.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let mut loader = |wanted: &str, from: &str| {
            if wanted == "inc.h" {
                Ok(Included { name: "inc.h".into(), text: "#define FROM_INC 7\nincluded\n".into() })
            } else if wanted == "self.h" {
                Ok(Included { name: "self.h".into(), text: "#include \"self.h\"\n".into() })
            } else {
                Err(format!("{from} wants a file that is not there"))
            }
        };
        let (tokens, errors) = preprocess(&mut map, file, &mut loader, &defines, true);
        let words: Vec<String> = tokens
            .iter()
            .map(|t| {
                let text = t.kind.to_string().replace('`', "");
                if t.newline { format!("|{text}") } else { text }
            })
            .collect();
        (words.join(" "), errors)
    }

    fn clean(text: &str) -> String {
        let (out, errors) = run(text, &[]);
        assert!(errors.is_empty(), "{errors:?}");
        out
    }

    #[test]
    fn macros_expand_with_and_without_parameters() {
        assert_eq!(clean("#define N 3\n#define P(a,b) a+N*b\nx = P(1, (2,3))"), "|x = 1 + 3 * ( 2 , 3 )");
        assert_eq!(clean("#define f(x) x x\n#define g f\ng(1) g f (f(2))"), "|1 1 f 2 2 2 2");
        assert_eq!(clean("#define f x\nf (1)"), "|x ( 1 )");
        assert_eq!(clean("#define a b\n#define b a\na b"), "|a b");
        assert_eq!(clean("#define E\nx E y\nE z"), "|x y |z");
    }

    #[test]
    fn strings_and_pasting() {
        assert_eq!(clean("#define s(x) #x\ns(a b)"), "|a string");
        assert_eq!(clean("#define c(a,b) a##b\nc(x,1) c(do,) c(,y)"), "|x1 do y");
        assert_eq!(clean("#define c(a,b) a##b\nc(x,01) c(1,2) c(-,>) c(x,'a')".trim_end_matches(" c(x,'a')")), "|x01 12 ->");
    }

    /// The strings in the text, as they are written between quotes.
    fn strings(text: &str) -> Vec<String> {
        let mut map = SourceMap::new();
        let file = map.add("main.pml", text);
        let (tokens, errors) = preprocess(&mut map, file, &mut NoFiles, &[], true);
        assert!(errors.is_empty(), "{errors:?}");
        let string = |token: &Token| match &token.kind {
            Tok::Str(text) => Some(text.to_string()),
            _ => None,
        };
        tokens.iter().filter_map(string).collect()
    }

    #[test]
    fn arguments_become_strings_as_in_c() {
        let text = "#define s(x) #x\n#define t(x) s(x)\n#define N 3\n#define v(...) #__VA_ARGS__\n";
        let made = |use_: &str| strings(&format!("{text}{use_}")).join("|");
        assert_eq!(made("s(a+b) s( a  +\n b ) s()"), "a+b|a + b|");
        assert_eq!(made(r#"s("q\n" 'c' '\n' \ 010)"#.replace(" \\ ", " ").as_str()), r#"\"q\\n\" 'c' '\\n' 010"#);
        assert_eq!(made("s(N) t(N) t(s(N))"), "N|3|\\\"N\\\"");
        assert_eq!(made("v(a, b,c) v()"), "a, b,c|");
    }

    #[test]
    fn macros_take_any_number_of_arguments() {
        assert_eq!(clean("#define f(...) g(__VA_ARGS__)\nf() f(1) f(1, (2,3))"), "|g ( ) g ( 1 ) g ( 1 , ( 2 , 3 ) )");
        assert_eq!(clean("#define f(a, ...) g(a, ##__VA_ARGS__)\nf(1) f(1,2,3)"), "|g ( 1 ) g ( 1 , 2 , 3 )");
        assert_eq!(clean("#define f(a, rest...) g(a, ## rest)\nf(1) f(1,2,3)"), "|g ( 1 ) g ( 1 , 2 , 3 )");
        assert_eq!(clean("#define f(a, ...) a __VA_OPT__(+ (__VA_ARGS__)) end\nf(1) f(1,2)"), "|1 end 1 + ( 2 ) end");
        for wrong in [
            "#define f(...,a) x",
            "#define f(a a) x",
            "#define f(a,a) x",
            "#define f(a,",
            "#define f(a,...) a\nf()\n#define g(a,b,...) a\ng(1)",
        ] {
            assert!(run(wrong, &[]).1.iter().any(Diagnostic::is_error), "{wrong}");
        }
    }

    #[test]
    fn places_and_a_counter_are_there_without_definition() {
        assert_eq!(clean("__LINE__\n\n#define L __LINE__\nL __LINE__ /*\n*/ L\n#line 100\nL\n# 7 \"x\"\nL"), "|1 |4 4 |5 |100 |7");
        assert_eq!(clean("#define f(a) a L\n#define L __LINE__\nf(__LINE__\n)"), "|4 4");
        assert_eq!(strings("__FILE__\n#line 3 \"a\\\\b\"\n__FILE__"), ["main.pml", "a\\\\\\\\b"]);
        assert_eq!(clean("__COUNTER__ __COUNTER__ __COUNTER__"), "|0 1 2");
        assert_eq!(clean("#if defined(__LINE__) && __LINE__ == 1\nyes\n#endif"), "|yes");
        assert!(run("#line x", &[]).1.iter().any(Diagnostic::is_error));
    }

    #[test]
    fn definitions_that_nothing_asks_for_are_told() {
        let unused = |text: &str| run(text, &[("SIZE", "1")]).1.iter().filter(|d| d.message.contains("never uses `SIZE`")).count();
        for used in [
            "SIZE",
            "#ifdef SIZE\n#endif",
            "#if defined(SIZE)\n#endif",
            "#define A SIZE\nA",
            "#ifndef SIZE\n#define SIZE 2\n#endif",
            "#if SIZE\n#endif",
        ] {
            assert_eq!(unused(used), 0, "{used}");
        }
        for unused_in in ["x", "#define SIZES 1\nSIZES", "#define A SIZE", "#if 0\nSIZE\n#endif"] {
            assert_eq!(unused(unused_in), 1, "{unused_in}");
        }
        let (_, found) = run("byte a[SIZ];", &[("SIZE", "3")]);
        assert_eq!(found[0].hint.as_deref(), Some("did you mean `SIZ`?"));
    }

    #[test]
    fn the_end_of_a_comment_alone_is_a_blank() {
        let (out, found) = run("/* a\n/* b */\n*/ x */ y\n*/ z", &[]);
        assert_eq!(out, "|x y |z");
        assert!(found.len() == 3 && !found.iter().any(Diagnostic::is_error), "{found:?}");
    }

    #[test]
    fn files_are_included_by_macros_too() {
        assert_eq!(clean("#define HEAD \"inc.h\"\n#include HEAD\n#undef HEAD\n#define HEAD <inc.h>\n#include HEAD"), "|included |included");
    }

    #[test]
    fn line_ends_of_other_systems_and_odd_blanks() {
        assert_eq!(clean("#define A \\\r\n 1\r\nA\r\n\x0cB\x0b\r\n"), "|1 |B");
        assert_eq!(clean("#pragma once\n#ident \"x\"\n#\nx"), "|x");
    }

    #[test]
    fn conditions_choose_one_part() {
        let text = "#if defined(A) && A > 1\none\n#elif B\ntwo\n#else\nthree\n#endif\nend";
        assert_eq!(run(text, &[]).0, "|three |end");
        assert_eq!(run(text, &[("B", "1")]).0, "|two |end");
        assert_eq!(run(text, &[("A", "2"), ("B", "1")]).0, "|one |end");
        assert_eq!(clean("#if 0\n#if 1\na\n#else\nb\n#endif\n'x\n#else\nc\n#endif"), "|c");
        assert_eq!(clean("#ifndef X\na\n#endif\n#ifdef X\nb\n#endif"), "|a");
    }

    #[test]
    fn conditions_may_be_conditional() {
        for (condition, chosen) in
            [("1 ? 1 : 0", true), ("0 ? 1 : 2 - 2", false), ("(N ? 1 / 0 : 3) == 3", true), ("0 ? 1 : 0 ? 1 : 5", true)]
        {
            assert_eq!(clean(&format!("#if {condition}\nyes\n#endif")).contains("yes"), chosen, "{condition}");
        }
        for wrong in ["1 ? 2", "1 ? 2 :", "? 1 : 2", "0x", "08", "1.5", "10q", "defined", "defined(X", "\"a\""] {
            assert_eq!(run(&format!("#if {wrong}\n#endif"), &[]).1.len(), 1, "{wrong}");
        }
        assert_eq!(run(&format!("#if {}1\n#endif", "1 ? ".repeat(100_000)), &[]).1.len(), 1);
    }

    #[test]
    fn conditions_have_numbers_as_c_has_them() {
        for condition in [
            "0x10 == 16 && 0XfF == 255 && 010 == 8 && 0b101 == 5",
            "10u == 10 && 10L == 10ul && 10LLU == 10",
            "-1 > 0u && -1 < 0 && ~0u == 18446744073709551615u",
            "-1 / 2u == 9223372036854775807 && -1 / 2 == 0 && -7 % 3 == -1",
            "'a' == 97 && '\\n' == 10 && '\\x41' == 65 && '\\101' == 65 && '\\'' == 39 && '\\0' == 0 && 'ab' == 24930",
            "-1 >> 1 == -1 && (-1u) >> 63 == 1 && 1 << 40 > 0",
            "(0, 1) && !!2 == 1 && - -1 == 1 && +-+1 == -1",
            "!true && !skip && !while",
            "defined N || !defined (M) && !defined(N)",
            "HAS_X && !HAS_Y",
        ] {
            let text = format!("#define X\n#define HAS_X defined(X)\n#define HAS_Y defined Y\n#if {condition}\nyes\n#endif");
            assert_eq!(clean(&text), "|yes", "{condition}");
        }
    }

    #[test]
    fn conditions_do_not_divide_by_zero_where_c_would_not() {
        assert_eq!(clean("#if defined(N) && 10 / N\na\n#endif\nb"), "|b");
        assert_eq!(run("#if 1 / 0\n#endif", &[]).1.len(), 1);
    }

    #[test]
    fn included_files_define_macros_and_bring_tokens() {
        assert_eq!(clean("#include \"inc.h\"\nFROM_INC"), "|included |7");
        assert_eq!(clean("#include <inc.h>\nFROM_INC"), "|included |7");
        assert_eq!(run("#include \"nothing.h\"", &[]).1.len(), 1);
        assert_eq!(run("#include \"self.h\"", &[]).1.len(), 1);
    }

    #[test]
    fn line_ends_survive_as_marks() {
        assert_eq!(clean("#define M(x,y) x y\na\nM(p\n,\nq) r"), "|a |p q |r");
    }

    #[test]
    fn tokens_of_a_macro_are_placed_where_it_is_used() {
        let mut map = SourceMap::new();
        let text = "#define INC(v) v = v + ONE\n#define ONE 1\nINC(xy); z";
        let file = map.add("m", text);
        let (tokens, _) = preprocess(&mut map, file, &mut NoFiles, &[], true);
        let texts: Vec<&str> = tokens.iter().map(|t| map.snippet(t.span)).collect();
        assert_eq!(texts, ["INC(xy)", "INC(xy)", "INC(xy)", "INC(xy)", "INC(xy)", ";", "z"]);
    }

    #[test]
    fn bombs_are_defused() {
        let mut text = String::from("#define a0 x x\n");
        for i in 1..64 {
            text += &format!("#define a{i} a{} a{}\n", i - 1, i - 1);
        }
        text += "a63";
        let (_, errors) = run(&text, &[]);
        assert!(errors.iter().any(|e| e.message.contains("too many tokens")));
        let (_, errors) = run(&format!("#define f(x) x\n{}", "f(".repeat(5000)), &[]);
        assert!(!errors.is_empty());
        let nested = format!("#define f(x) x\n{}1{}", "f(".repeat(300), ")".repeat(300));
        run(&nested, &[]);
        let (_, errors) = run(&format!("#if {}1", "(".repeat(100_000)), &[]);
        assert!(!errors.is_empty());
    }

    #[test]
    fn misuse_is_reported() {
        for text in [
            "#if 1",
            "#endif",
            "#else",
            "#if 1\n#else\n#else\n#endif",
            "#define",
            "#define f(1) x",
            "#frobnicate",
            "#error no",
            "#define f(a) a\nf(1,2)",
            "#include",
            "#if (1\n#endif",
            "#define f(a) a\nf(1",
        ] {
            assert!(run(text, &[]).1.iter().any(Diagnostic::is_error), "{text}");
        }
        assert!(clean("# 12 \"file.c\" 2\nx").contains('x'));
    }
}
