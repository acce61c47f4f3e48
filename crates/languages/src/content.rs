//! Recognising a language by the content of a text.
//!
//! Every program has a head that the other languages do not have: a line `process P() {` of
//! assembly, `proctype P` or `init {` of Promela. Such words may also be in comments and strings,
//! so each language looks at the text without them, by its own rule of what a comment is. Assembly
//! is tried first: its head is a whole line, which no Promela model has.

/// Whether a text is byte-code assembly: some line is the head of a process.
pub(crate) fn is_assembly(text: &str) -> bool {
    let code = without_comments(text, ";", None);
    code.lines().map(str::trim).any(|line| words(line).next() == Some("process") && line.contains('(') && line.ends_with('{'))
}

/// Whether a text is Promela: a process type has its name, or `init` its body, after it.
pub(crate) fn is_promela(text: &str) -> bool {
    let code = without_comments(text, "//", Some('#'));
    let mut words = words(&code).peekable();
    while let Some(word) = words.next() {
        let next = words.peek().copied().unwrap_or("");
        let is_head = match word {
            "proctype" | "D_proctype" => next.starts_with(is_letter),
            "init" => matches!(next, "{" | "(" | "priority"),
            _ => false,
        };
        if is_head {
            return true;
        }
    }
    false
}

/// Whether a text is an explicit graph: its first line that is not a comment is a header.
pub(crate) fn is_graph(text: &str) -> bool {
    let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let head = lines.find(|line| !line.is_empty() && !line.starts_with('%'));
    head.and_then(|line| line.strip_prefix("des")).is_some_and(|rest| rest.trim_start().starts_with('('))
}

/// A text without its comments and its quoted strings. `//` and `comment` begin a comment that ends
/// with its line; a line that begins with `directive` is removed. Comments between `/*` and `*/`
/// are removed too: assembly does not use these signs.
fn without_comments(text: &str, comment: &str, directive: Option<char>) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text.trim_start_matches('\u{feff}');
    let mut at_line_begin = true;
    while let Some(c) = rest.chars().next() {
        let skipped = if let Some(inside) = rest.strip_prefix("/*") {
            inside.find("*/").map_or(rest.len(), |end| end + 4)
        } else if rest.starts_with("//") || rest.starts_with(comment) {
            end_of_line(rest)
        } else if at_line_begin && directive == Some(c) {
            end_of_continued_line(rest)
        } else if c == '"' || c == '\'' {
            end_of_quote(rest, c)
        } else {
            at_line_begin = c == '\n' || (at_line_begin && c.is_whitespace());
            code.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        // The removed text still separates the words around it.
        code.push(' ');
        rest = &rest[skipped..];
    }
    code
}

fn end_of_line(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

/// The end of a line, and of those that a `\` at its end joins to it.
fn end_of_continued_line(text: &str) -> usize {
    let mut end = end_of_line(text);
    while text[..end].trim_end_matches('\r').ends_with('\\') && end < text.len() {
        end += 1 + end_of_line(&text[end + 1..]);
    }
    end
}

/// The position after the closing quote, or after the opening quote if its line has no other.
fn end_of_quote(text: &str, quote: char) -> usize {
    let mut escaped = true;
    for (i, c) in text.char_indices() {
        match c {
            '\n' => break,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return i + 1,
            _ => {}
        }
    }
    1
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// Words, and the characters between them one by one.
fn words(code: &str) -> impl Iterator<Item = &str> {
    let mut rest = code;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let is_part = |c: char| is_letter(c) || c.is_ascii_digit();
        let length = if is_part(first) { rest.find(|c| !is_part(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (word, after) = rest.split_at(length);
        rest = after;
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_found() {
        for text in ["process P() {\n}", "global byte x\n  process 'a b'(byte a) priority 3 { ; first", "\u{feff}process P() {"] {
            assert!(is_assembly(text) && !is_promela(text), "{text}");
        }
        for text in ["active [2] proctype P() { skip }", "D_proctype\nP() {}", "byte x; init { skip }", "init\n{", "init priority 2 {"] {
            assert!(is_promela(text) && !is_assembly(text), "{text}");
        }
    }

    #[test]
    fn comments_texts_and_directives_are_passed_over() {
        for text in [
            "/* process P() {\nprocess Q() {\n*/",
            "// process P() {",
            "; process P() {",
            "printf(\"\\\"\nprocess",
            "the process P() {",
            "process",
        ] {
            assert!(!is_assembly(text), "{text}");
        }
        for text in [
            "/* proctype P */",
            "// init {",
            "  #define X init {\\\n init { \\\r\n init {\nskip",
            "x \"init { \\\" init {\" y",
            "'init {'",
            "/* init {",
            "proctype",
            "init",
            "initial {",
        ] {
            assert!(!is_promela(text), "{text}");
        }
    }

    /// A comment of one language may look like a head in the other.
    #[test]
    fn comments_that_begin_behind_a_semicolon() {
        assert!(!is_assembly("byte x; /* the\nprocess P (that waits)\n*/ init { skip }"));
        assert!(is_assembly("; made from proctype P of don't.pml /*\nprocess P() {\n"));
    }

    /// A quote that is never closed hides only itself.
    #[test]
    fn quotes_end_with_their_line() {
        assert!(is_promela("don't init {"));
        assert!(is_promela("\" \ninit {"));
        assert_eq!(without_comments("a 'b' \"c\\\"\" d'\u{e9}", ";", None), "a     d \u{e9}");
    }
}
