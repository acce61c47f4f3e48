//! The text of embedded C as a syntax tree, by the `lang-c` crate.
//!
//! The parser of `lang-c` is recursive. So the nesting and the length of statements are limited
//! before it runs, and it runs in a thread with a stack that is large enough for the limit.

use lang_c::ast::{BlockItem, Expression, ExternalDeclaration, Statement, TranslationUnit};
use lang_c::driver::{Config, parse_preprocessed};
use lang_c::span::Node;
use std::collections::BTreeSet;

/// The most bytes of one text.
const MAX_TEXT: usize = 1 << 16;
/// The most nested brackets.
const MAX_NESTING: usize = 24;
/// Tokens of one statement, and `else`s of one text: each may be one level of nesting.
const MAX_STATEMENT: usize = 400;
const MAX_ELSE: usize = 200;
const STACK: usize = 64 << 20;

/// An error in a text, and its position.
#[derive(Debug)]
pub(super) struct Mistake {
    pub offset: usize,
    pub message: String,
}

/// A tree, and the distance by which its offsets are too large.
pub(super) type Shifted<T> = (T, usize);

/// Declarations and definitions of functions.
pub(super) fn unit(text: &str, types: &BTreeSet<String>) -> Result<Shifted<TranslationUnit>, Mistake> {
    let (mut unit, shift) = read(text, "", "", types)?;
    unit.0.retain(|external| external.span.start >= shift);
    Ok((unit, shift))
}

/// A sequence of statements.
pub(super) fn block(text: &str, types: &BTreeSet<String>) -> Result<Shifted<Node<Statement>>, Mistake> {
    let (mut unit, shift) = read(text, "void f(void) {", "\n}", types)?;
    match unit.0.pop().map(|external| external.node) {
        Some(ExternalDeclaration::FunctionDefinition(function)) if unit.0.iter().all(|e| e.span.start < shift) => {
            Ok((function.node.statement, shift))
        }
        _ => Err(Mistake { offset: 0, message: "this is not a sequence of statements".to_owned() }),
    }
}

/// An expression.
pub(super) fn expression(text: &str, types: &BTreeSet<String>) -> Result<Shifted<Node<Expression>>, Mistake> {
    let (mut unit, shift) = read(text, "int f(void) { return (", "\n); }", types)?;
    let wrong = || Mistake { offset: 0, message: "this is not an expression".to_owned() };
    let Some(ExternalDeclaration::FunctionDefinition(function)) = unit.0.pop().map(|external| external.node) else { return Err(wrong()) };
    let Statement::Compound(items) = function.node.statement.node else { return Err(wrong()) };
    match <[Node<BlockItem>; 1]>::try_from(items) {
        Ok([Node { node: BlockItem::Statement(Node { node: Statement::Return(Some(expression)), .. }), .. }]) => Ok((*expression, shift)),
        _ => Err(wrong()),
    }
}

/// Fields of a structure.
pub(super) fn fields(text: &str, types: &BTreeSet<String>) -> Result<Shifted<TranslationUnit>, Mistake> {
    read(text, "struct s {", "\n};", types)
}

fn read(text: &str, before: &str, after: &str, types: &BTreeSet<String>) -> Result<Shifted<TranslationUnit>, Mistake> {
    measure(text)?;
    let text = &without_directives(text)?;
    // The parser must know which names are types.
    let mut whole: String = types.iter().map(|name| format!("typedef int {name};")).collect();
    whole.push_str(before);
    let shift = whole.len();
    whole.push_str(text);
    whole.push_str(after);
    let config = Config { cpp_command: String::new(), cpp_options: Vec::new(), flavor: lang_c::driver::Flavor::GnuC11 };
    let no_thread = || Mistake { offset: 0, message: "no thread could be started to read this".to_owned() };
    let work = move || parse_preprocessed(&config, whole);
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work).map_err(|_| no_thread())?;
    let result = thread.join().map_err(|_| no_thread())?;
    result.map(|parse| (parse.unit, shift)).map_err(|error| {
        let offset = error.offset.saturating_sub(shift).min(text.len());
        let found = text.get(offset..).unwrap_or("").trim_start();
        let found: String = found.chars().take_while(|c| !c.is_whitespace()).take(20).collect();
        let mut expected: Vec<&str> = error.expected.iter().copied().filter(|word| !word.starts_with('[') && word.len() < 12).collect();
        expected.sort_unstable();
        expected.truncate(6);
        let found = if found.is_empty() { "the end".to_owned() } else { format!("`{found}`") };
        let expected = match expected.as_slice() {
            [] => String::new(),
            words => format!(", expected {}", words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")),
        };
        Mistake { offset, message: format!("C cannot be read here: found {found}{expected}") }
    })
}

/// The text with blanks in place of headers of C's own library; other directives are refused.
fn without_directives(text: &str) -> Result<String, Mistake> {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let Some(directive) = line.trim_start().strip_prefix('#') else {
            out.push_str(line);
            continue;
        };
        if !directive.trim_start().strip_prefix("include").is_some_and(|rest| rest.trim_start().starts_with('<')) {
            let message = "a directive only for C's preprocessor is ignored: without the `\\` it is executed when the model is read";
            return Err(Mistake { offset: out.len(), message: message.to_owned() });
        }
        out.extend(line.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
    }
    Ok(out)
}

/// The text with blanks in place of all directives, with their continued lines.
pub(super) fn blank_directives(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        let directive = inside || line.trim_start().starts_with('#');
        inside = directive && line.trim_end().ends_with('\\');
        match directive {
            true => line.bytes().for_each(|byte| out.push(if byte == b'\n' { '\n' } else { ' ' })),
            false => out.push_str(line),
        }
    }
    out
}

/// Refuses text that is nested too deeply or too long.
fn measure(text: &str) -> Result<(), Mistake> {
    let wrong = |offset, message: String| Err(Mistake { offset, message });
    if text.len() > MAX_TEXT {
        return wrong(0, format!("this is longer than {MAX_TEXT} bytes"));
    }
    let bytes = text.as_bytes();
    let (mut at, mut nesting, mut parentheses, mut tokens, mut elses) = (0, 0usize, 0usize, 0usize, 0usize);
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'"' | b'\'' => {
                while let Some(&inner) = bytes.get(at) {
                    at += if inner == b'\\' { 2 } else { 1 };
                    if inner == byte {
                        break;
                    }
                }
            }
            b'(' | b'[' | b'{' => {
                nesting += 1;
                parentheses += usize::from(byte != b'{');
                if byte == b'{' {
                    tokens = 0;
                }
            }
            b')' | b']' | b'}' => {
                nesting = nesting.saturating_sub(1);
                parentheses = parentheses.saturating_sub(usize::from(byte != b'}'));
                if byte == b'}' {
                    tokens = 0;
                }
            }
            b';' if parentheses == 0 => tokens = 0,
            _ if byte.is_ascii_alphanumeric() || byte == b'_' => {
                while bytes.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
                    at += 1;
                }
                elses += usize::from(&text[start..at] == "else");
            }
            _ => {}
        }
        tokens += usize::from(!byte.is_ascii_whitespace());
        if nesting > MAX_NESTING {
            return wrong(start, format!("brackets are nested too deeply: the limit is {MAX_NESTING} levels"));
        }
        if tokens > MAX_STATEMENT {
            return wrong(start, format!("a statement has more than {MAX_STATEMENT} tokens"));
        }
        if elses > MAX_ELSE {
            return wrong(start, format!("more than {MAX_ELSE} `else` in one text"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types() -> BTreeSet<String> {
        BTreeSet::from(["Coord".to_owned()])
    }

    #[test]
    fn statements_expressions_and_declarations() {
        assert!(block("x = 1; if (y) { z(); } else { for (;;) { break; } }", &types()).is_ok());
        assert!(expression("now.x > 3 && (Coord *)p", &types()).is_ok());
        assert!(unit("typedef struct T { int a, b[3]; } T;\nstatic int f(Coord *c) { return c->x; }", &types()).is_ok());
    }

    #[test]
    fn mistakes_have_places() {
        let mistake = block("x = 1;\ny = = 2;", &types()).expect_err("wrong");
        assert_eq!(mistake.offset, 11, "{mistake:?}");
        assert!(expression("a +", &types()).is_err());
        assert!(unit("int x", &types()).is_err());
    }

    #[test]
    fn what_is_nested_or_long_is_bounded() {
        for text in ["(".repeat(200), "!".repeat(5000), "a+".repeat(5000), "if(a)".repeat(5000), "for(;;)".repeat(2000)] {
            assert!(block(&text, &types()).is_err());
        }
        let deep = format!("x = {}1{};", "(".repeat(22), ")".repeat(22));
        assert!(block(&deep, &types()).is_ok());
        let long = format!("x = {}1;", "!".repeat(390));
        assert!(block(&long, &types()).is_ok());
        assert!(block(&format!("x = 1{};", "+1".repeat(190)), &types()).is_ok());
        assert!(block(&format!("{}b;", "if (a) b; else ".repeat(190)), &types()).is_ok());
    }
}
