//! The hybrid language: one text from which a model and a program are made.
//!
//! It is the Promela/C Hybrid of W. Bezuidenhout, "Automated program generation: bridging the gap
//! between model and implementation" (Stellenbosch, 2007), section 3.2: Promela with words that
//! mark what belongs to the model alone (`promela_MS`, `env proctype`) and what to the program
//! alone (`c_code_IS`, `c_expr_IS`, `c_decl_IS`). Both are found among the tokens, before anything
//! is parsed, so that the model and the program pass through the same parser as any Promela.

use crate::ast;
use crate::token::{Key, Op, Tok, Token};
use crate::{Loader, layout, parser, preprocess, sort};
use source::{Diagnostic, FileId, SourceMap, Span};
use std::collections::HashSet;

/// Words for parts that belong to the program alone.
pub(crate) const PROGRAM_WORDS: [&str; 3] = ["c_code_IS", "c_expr_IS", "c_decl_IS"];
/// The word for the conditions before and after a piece of the program, which tests check.
const REQUIRES: &str = "requires_IS";
const ENSURES: &str = "ensures_IS";
/// The word for parts that belong to the model alone.
const MODEL_WORD: &str = "promela_MS";
const ENVIRONMENT: &str = "env";

/// Whether a file is in the hybrid language, by its name.
pub(crate) fn is_hybrid(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("pch"))
}

/// A text in the hybrid language, divided.
#[derive(Debug)]
pub struct Hybrid {
    /// The model as plain Promela. Every statement is on the line it has in the text.
    pub promela: String,
    /// The program's part of the text. Its fragments of C belong to the program.
    pub program: ast::Model,
    /// The model's part of the text.
    pub model: ast::Model,
    /// The parts of the text that belong to the model alone, in the order of the text.
    pub model_only: Vec<Span>,
    /// The braces of pieces that belong to the program alone.
    pub program_only: HashSet<Span>,
    /// What is between the braces of pieces of C of the model, but for those in macros.
    pub inside_c: Vec<Span>,
    /// Adjacent pieces of the model and of the program that mean the same.
    pub pairs: Vec<Pair>,
}

impl Hybrid {
    /// The process types that the program has.
    pub fn process_types(&self) -> impl Iterator<Item = &str> {
        self.program.units.iter().filter_map(|unit| match unit {
            ast::Unit::Proctype(process) => Some(&*process.name.text),
            _ => None,
        })
    }
}

/// A piece of the model and the corresponding piece of the program.
#[derive(Clone, Debug, Default)]
pub struct Pair {
    /// The piece of the model: position and text.
    pub model: Option<(Span, String)>,
    /// The piece of the program: position and text.
    pub program: Option<(Span, String)>,
    /// The condition that must hold before the piece, in C.
    pub requires: Option<ast::Fragment>,
    /// The condition that must hold after the piece, in C.
    pub ensures: Option<ast::Fragment>,
    /// The piece of the model, parsed.
    pub steps: Vec<ast::Step>,
}

/// Divides a text into the model and the program. There is a result only if the program's part has
/// no errors; the errors of the model are found by [`crate::compile`].
pub fn hybrid(
    map: &mut SourceMap,
    file: FileId,
    loader: &mut dyn Loader,
    defines: &[(String, String)],
    comments: bool,
) -> (Option<Hybrid>, Vec<Diagnostic>) {
    let (tokens, mut diagnostics) = preprocess::preprocess(map, file, loader, defines, false);
    let end = Span::point(file, map.text(file).len());
    let model = model(&tokens, &mut diagnostics);
    let promela = write(map, file, &model, comments);
    let inside_c = (0..model.len()).filter_map(|at| inside_c(&model, at)).collect();
    // Errors in the model are reported when it is compiled.
    let read = parser::parse(layout::imply_separators(model), end, map.next_id()).model;
    let program = program(&tokens);
    let (model_only, pairs) = survey(&tokens, &mut diagnostics);
    let pieces = (0..tokens.len()).filter_map(|at| of_program(&tokens, at));
    let program_only = pieces.map(|(open, end)| tokens[open].span.to(tokens[end - 1].span)).collect();
    let mut reading = parser::parse(layout::imply_separators(program), end, map.next_id());
    let expansions = std::mem::take(&mut reading.expansions);
    if !expansions.is_empty() {
        map.add_expansions(expansions);
    }
    diagnostics.append(&mut reading.diagnostics);
    sort(&mut diagnostics);
    let wrong = diagnostics.iter().any(Diagnostic::is_error);
    ((!wrong).then_some(Hybrid { promela, program: reading.model, model: read, model_only, program_only, inside_c, pairs }), diagnostics)
}

/// The index after the bracket that closes the one at `open`. Brackets of other kinds are not
/// counted: a piece with an open parenthesis ends at its brace, and the error is inside it.
fn behind(tokens: &[Token], open: usize) -> usize {
    let Some(Tok::Op(kind)) = tokens.get(open).map(|token| &token.kind) else { return tokens.len() };
    let close = match kind {
        Op::LBrace => Op::RBrace,
        Op::LBracket => Op::RBracket,
        _ => Op::RParen,
    };
    let mut depth = 0usize;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        if token.kind == Tok::Op(*kind) {
            depth += 1;
        } else if token.kind == Tok::Op(close) {
            depth -= 1;
            if depth == 0 {
                return i + 1;
            }
        }
    }
    tokens.len()
}

/// If a piece with this word begins here: the index of its opening brace, and the index after it.
fn piece(tokens: &[Token], at: usize, is_word: impl Fn(&str) -> bool) -> Option<(usize, usize)> {
    let Tok::Name(word) = &tokens.get(at)?.kind else { return None };
    if !is_word(word) {
        return None;
    }
    let mut open = at + 1;
    if tokens.get(open)?.kind == Tok::Op(Op::LBracket) {
        open = behind(tokens, open);
    }
    (tokens.get(open)?.kind == Tok::Op(Op::LBrace)).then(|| (open, behind(tokens, open)))
}

/// If a `c_code` or a `c_decl` begins here: what is between its braces.
fn inside_c(tokens: &[Token], at: usize) -> Option<Span> {
    if !matches!(tokens[at].kind, Tok::Key(Key::CCode | Key::CDecl)) {
        return None;
    }
    let mut open = at + 1;
    if tokens.get(open)?.kind == Tok::Op(Op::LBracket) {
        open = behind(tokens, open);
    }
    let end = behind(tokens, open);
    let (first, last) = (tokens.get(open + 1)?.span, tokens.get(end.checked_sub(1)?)?.span);
    (tokens.get(open)?.kind == Tok::Op(Op::LBrace) && first != tokens[at].span).then(|| first.to(last))
}

fn of_program(tokens: &[Token], at: usize) -> Option<(usize, usize)> {
    piece(tokens, at, |word| PROGRAM_WORDS.contains(&word))
}

fn of_model(tokens: &[Token], at: usize) -> Option<(usize, usize)> {
    piece(tokens, at, |word| word == MODEL_WORD)
}

fn of_condition(tokens: &[Token], at: usize) -> Option<(usize, usize)> {
    piece(tokens, at, |word| word == REQUIRES || word == ENSURES)
}

fn is_separator(token: &Token) -> bool {
    matches!(token.kind, Tok::Op(Op::Semi | Op::Arrow))
}

/// Whether an environment's process type begins here.
fn is_environment(tokens: &[Token], at: usize) -> bool {
    matches!(&tokens[at].kind, Tok::Name(word) if &**word == ENVIRONMENT)
        && matches!(tokens.get(at + 1).map(|t| &t.kind), Some(Tok::Key(Key::Proctype | Key::DProctype | Key::Active)))
}

/// The index after the separators at `at`; one of them is kept if a statement came before.
fn past_separators(tokens: &[Token], mut at: usize, out: &mut Vec<Token>) -> usize {
    let separator = tokens.get(at).filter(|token| is_separator(token));
    let after_statement = out.last().is_some_and(|last| {
        !is_separator(last) && !matches!(last.kind, Tok::Op(Op::LBrace | Op::Sep) | Tok::Key(Key::If | Key::Do | Key::Atomic | Key::DStep))
    });
    if let Some(separator) = separator.filter(|_| after_statement) {
        out.push(separator.clone());
    }
    while tokens.get(at).is_some_and(is_separator) {
        at += 1;
    }
    at
}

/// The tokens of the model.
pub(crate) fn model(tokens: &[Token], diagnostics: &mut Vec<Diagnostic>) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    // The closing braces of open pieces of the model.
    let mut closing: Vec<usize> = Vec::new();
    let mut newline = false;
    let mut at = 0;
    while at < tokens.len() {
        newline |= tokens[at].newline;
        if closing.last() == Some(&at) {
            closing.pop();
            at += 1;
            if tokens.get(at).is_some_and(is_separator) {
                at = past_separators(tokens, at, &mut out);
            } else if out.last().is_some_and(|last| !is_separator(last)) && !ends_sequence(tokens, at) {
                out.push(Token::new(Tok::Op(Op::Semi), tokens[at - 1].span));
            }
        } else if let Some((_, end)) = of_program(tokens, at).or_else(|| of_condition(tokens, at)) {
            at = past_separators(tokens, end, &mut out);
        } else if let Some((open, end)) = of_model(tokens, at) {
            closing.push(end - 1);
            at = open + 1;
        } else if is_environment(tokens, at) {
            at += 1;
        } else {
            if let Tok::Name(word) = &tokens[at].kind
                && (PROGRAM_WORDS.contains(&&**word) || [MODEL_WORD, REQUIRES, ENSURES].contains(&&**word))
            {
                diagnostics.push(Diagnostic::error(tokens[at].span, format!("expected `{{` after `{word}`")));
            }
            out.push(Token { newline: std::mem::take(&mut newline), ..tokens[at].clone() });
            at += 1;
        }
    }
    out
}

fn ends_sequence(tokens: &[Token], at: usize) -> bool {
    tokens.get(at).is_none_or(|token| matches!(token.kind, Tok::Op(Op::RBrace | Op::Sep) | Tok::Key(Key::Fi | Key::Od)))
}

/// If a property begins here, the index after it. A program has no properties, and a property may
/// be about the environment.
fn of_property(tokens: &[Token], at: usize) -> Option<usize> {
    if !matches!(tokens.get(at)?.kind, Tok::Key(Key::Ltl | Key::Never | Key::Trace | Key::Notrace)) {
        return None;
    }
    let named = usize::from(matches!(tokens.get(at + 1)?.kind, Tok::Name(_)));
    let open = at + 1 + named;
    (tokens.get(open)?.kind == Tok::Op(Op::LBrace)).then(|| behind(tokens, open))
}

/// The tokens of the program.
fn program(tokens: &[Token]) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut newline = false;
    let mut at = 0;
    while at < tokens.len() {
        newline |= tokens[at].newline;
        if let Some((open, end)) = of_program(tokens, at) {
            let Tok::Name(word) = &tokens[at].kind else { break };
            let key = match &**word {
                "c_code_IS" => Key::CCode,
                "c_expr_IS" => Key::CExpr,
                _ => Key::CDecl,
            };
            out.push(Token { kind: Tok::Key(key), newline: std::mem::take(&mut newline), ..tokens[at].clone() });
            out.extend(tokens[at + 1..end].iter().cloned());
            _ = open;
            at = end;
            // Consecutive pieces are separate statements.
            if !tokens.get(at).is_some_and(is_separator) && !ends_sequence(tokens, at) {
                out.push(Token::new(Tok::Op(Op::Semi), tokens[end - 1].span));
            }
        } else if let Some((_, end)) = of_model(tokens, at).or_else(|| of_condition(tokens, at)) {
            at = past_separators(tokens, end, &mut out);
        } else if is_environment(tokens, at) {
            while tokens.get(at).is_some_and(|token| token.kind != Tok::Op(Op::LBrace)) {
                at += 1;
            }
            at = behind(tokens, at);
        } else if let Some(end) = of_property(tokens, at) {
            at = end;
        } else {
            out.push(Token { newline: std::mem::take(&mut newline), ..tokens[at].clone() });
            at += 1;
        }
    }
    out
}

/// The statements between braces. Errors in them are reported with the whole model.
fn parsed(braces: &[Token]) -> Vec<ast::Step> {
    let (Some(first), Some(last)) = (braces.first(), braces.last()) else { return Vec::new() };
    let mut tokens = vec![Token::new(Tok::Key(Key::Init), first.span)];
    tokens.extend(braces.iter().cloned());
    let reading = parser::parse(layout::imply_separators(tokens), last.span, last.span.file);
    let body = reading.model.units.into_iter().find_map(|unit| match unit {
        ast::Unit::Proctype(process) => Some(process.body),
        _ => None,
    });
    body.unwrap_or_default()
}

/// The parts that belong to the model alone, and the adjacent pieces.
fn survey(tokens: &[Token], diagnostics: &mut Vec<Diagnostic>) -> (Vec<Span>, Vec<Pair>) {
    let (mut alone, mut pairs): (Vec<Span>, Vec<Pair>) = (Vec::new(), Vec::new());
    let fragment = |open: usize, end: usize| {
        let span = tokens[open].span.to(tokens[end - 1].span);
        let (mut text, mut places) = (String::new(), Vec::new());
        for token in tokens.get(open + 1..end - 1).unwrap_or_default() {
            if !text.is_empty() && (token.blank || token.newline) {
                text.push(' ');
            }
            places.push((text.len() as u32, token.span));
            text.push_str(&token.kind.spelling());
        }
        ast::Fragment { text: text.into(), places: places.into(), span }
    };
    let text = |open: usize, end: usize| {
        let fragment = fragment(open, end);
        (fragment.span, fragment.text.to_string())
    };
    // The end of the piece before, after its separators.
    let mut last = usize::MAX;
    let mut at = 0;
    while at < tokens.len() {
        if let Some((open, end)) = of_condition(tokens, at) {
            if let (Some(pair), true) = (pairs.last_mut(), last == at) {
                let entry = Some(fragment(open, end.max(open + 2)));
                match &tokens[at].kind {
                    Tok::Name(word) if &**word == REQUIRES => pair.requires = entry,
                    _ => pair.ensures = entry,
                }
            } else {
                let message = "a condition stands behind the piece of the program that it is about";
                diagnostics.push(Diagnostic::error(tokens[at].span, message));
            }
            at = end;
            while tokens.get(at).is_some_and(is_separator) {
                at += 1;
            }
            last = at;
            continue;
        }
        let (model, found) = match (of_model(tokens, at), of_program(tokens, at)) {
            (Some(found), _) => (true, found),
            (None, Some(found)) => (false, found),
            (None, None) => {
                if is_environment(tokens, at) {
                    let mut open = at;
                    while tokens.get(open).is_some_and(|token| token.kind != Tok::Op(Op::LBrace)) {
                        open += 1;
                    }
                    let end = behind(tokens, open);
                    alone.push(tokens[at].span.to(tokens[end - 1].span));
                }
                at += 1;
                continue;
            }
        };
        let (open, end) = found;
        let beside = last == at;
        let entry = text(open, end.max(open + 2));
        match pairs.last_mut().filter(|_| beside) {
            // The piece of the model comes first, then the piece of the program that replaces it.
            Some(pair) if !model && pair.program.is_none() => pair.program = Some(entry.clone()),
            _ if model => pairs.push(Pair { model: Some(entry.clone()), steps: parsed(&tokens[open..end]), ..Pair::default() }),
            _ => pairs.push(Pair { program: Some(entry.clone()), ..Pair::default() }),
        }
        if model {
            alone.push(entry.0);
        }
        // A piece of the model may contain pieces of the program, but these are ignored.
        at = end;
        while tokens.get(at).is_some_and(is_separator) {
            at += 1;
        }
        last = at;
    }
    (alone, pairs)
}

/// Tokens as text, each on its line in the file.
fn write(map: &SourceMap, file: FileId, tokens: &[Token], with_comments: bool) -> String {
    let remarks = if with_comments { comments(map.text(file)) } else { Vec::new() };
    let mut remarks = remarks.into_iter().peekable();
    let mut out = String::new();
    let mut line = 1;
    let mut go_to = |out: &mut String, wanted: usize| {
        while line < wanted {
            out.push('\n');
            line += 1;
        }
    };
    let mut last: Option<&Token> = None;
    for token in tokens {
        if token.span.file == file {
            while let Some((start, text)) = remarks.next_if(|(start, _)| *start < token.span.start as usize) {
                let at = map.location(Span::new(file, start, start)).line;
                go_to(&mut out, at);
                out.push_str(&format!(" {}", text.replace('\n', " ")));
            }
            go_to(&mut out, map.location(token.span).line);
        }
        let touches =
            last.is_some_and(|last| last.written.file == token.written.file && last.written.end == token.written.start && !token.blank);
        if !touches && !out.is_empty() && !out.ends_with('\n') {
            out.push(' ');
        }
        if out.is_empty() || out.ends_with('\n') {
            let column = if token.span.file == file { map.location(token.span).column.saturating_sub(1).min(80) } else { 0 };
            out.extend(std::iter::repeat_n(' ', column));
        }
        out.push_str(&token.kind.spelling());
        last = Some(token);
    }
    out.push('\n');
    out
}

/// Comments and their positions.
fn comments(text: &str) -> Vec<(usize, String)> {
    let bytes = text.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let rest = &text[at..];
        let length = if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else {
            match bytes[at] {
                b'"' => {
                    at += 1;
                    while at < bytes.len() && bytes[at] != b'"' && bytes[at] != b'\n' {
                        at += if bytes[at] == b'\\' { 2 } else { 1 };
                    }
                }
                b'\'' if bytes.get(at + 2) == Some(&b'\'') => at += 2,
                _ => {}
            }
            at += 1;
            while at < bytes.len() && !text.is_char_boundary(at) {
                at += 1;
            }
            continue;
        };
        let piece = &rest[..length];
        let piece = match piece.strip_prefix("//") {
            Some(line) => format!("/*{} */", line.replace("*/", "* /")),
            None => piece.to_owned(),
        };
        found.push((at, piece));
        at += length;
    }
    found
}
