//! The text of a macro's definition, as `#define` and `-D` give it.

use crate::limits::MAX_PARAMETERS;
use crate::macros::{Macro, macro_name};
use crate::token::{Op, Text, Tok, Token};
use source::{Diagnostic, Span};

/// The text after `#define`: name, parameters, body.
pub(crate) fn definition(line: &[Token], span: Span) -> Result<(Text, Macro), Diagnostic> {
    let Some((name, name_span)) = line.first().and_then(|t| Some((macro_name(&t.kind)?, t.span))) else {
        return Err(Diagnostic::error(span, "`#define` needs a name").with_hint("write `#define NAME value`"));
    };
    let mut at = 1;
    let mut parameters = None;
    let mut variadic = false;
    let opens = line.get(1).filter(|t| t.kind == Tok::Op(Op::LParen) && t.span.start == name_span.end);
    if let Some(open) = opens {
        let (names, takes_rest, after) = parameter_names(line, open.span)?;
        parameters = Some(names);
        variadic = takes_rest;
        at = after;
    }
    let body: Vec<Token> = line[at..].to_vec();
    if let Some(hash) = body.first().into_iter().chain(body.last()).find(|t| t.kind == Tok::Hash(true)) {
        return Err(
            Diagnostic::error(hash.span, "`##` must be between two tokens").with_hint("nothing can be pasted to the end of a macro")
        );
    }
    Ok((name, Macro { parameters, variadic, body: body.into(), span }))
}

/// `(a, b, c)`, `(a, ...)` or `(a, rest...)` from the second token of the line on; whether the last
/// one takes the rest; and the index after it.
fn parameter_names(line: &[Token], open: Span) -> Result<(Vec<Text>, bool, usize), Diagnostic> {
    let is = |at: usize, op: Op| line.get(at).is_some_and(|t| t.kind == Tok::Op(op));
    let dots = |at: usize| is(at, Op::DotDot) && is(at + 1, Op::Dot);
    let mut names: Vec<Text> = Vec::new();
    let mut variadic = false;
    let mut at = 2;
    if is(at, Op::RParen) {
        return Ok((names, variadic, at + 1));
    }
    loop {
        match line.get(at).and_then(|t| macro_name(&t.kind)) {
            Some(name) if names.contains(&name) => {
                return Err(Diagnostic::error(open, format!("two parameters of the macro are called `{name}`"))
                    .with_hint("give one of them another name"));
            }
            Some(name) if names.len() < MAX_PARAMETERS => {
                names.push(name);
                at += 1;
                variadic = dots(at);
                at += 2 * usize::from(variadic);
            }
            None if dots(at) => {
                names.push("__VA_ARGS__".into());
                variadic = true;
                at += 2;
            }
            _ => {
                return Err(Diagnostic::error(open, "the parameters of a macro are names")
                    .with_hint("write `#define name(a, b) …`, or `#define name(a, ...) …` for any number of arguments"));
            }
        }
        if is(at, Op::RParen) {
            return Ok((names, variadic, at + 1));
        }
        if !is(at, Op::Comma) || variadic {
            return Err(Diagnostic::error(open, "the parameters of a macro are not closed").with_hint("write `)` behind the last one"));
        }
        at += 1;
    }
}
