//! Puts conditions in formulas into quotes.
//!
//! In a formula, a condition that is more than a name must be in single quotes, because operators
//! of C and of the logic would be confused otherwise. Users write `[] (mode == RUN)` all the same,
//! and the meaning is clear: an operand of the logic extends to the next operator of the logic.
//! This module adds the quotes around such operands.

/// Operators of the logic that are signs. A longer one comes before its beginning.
const SIGNS: &[&str] = &["<->", "[]", "<>", "->", "&&", "||"];
/// Operators of the logic that are words.
const WORDS: &[&str] = &[
    "X",
    "U",
    "V",
    "W",
    "next",
    "always",
    "eventually",
    "until",
    "stronguntil",
    "release",
    "weakuntil",
    "implies",
    "equivalent",
    "true",
    "false",
];

/// The formula with quotes around its conditions.
pub fn quote(text: &str) -> String {
    let mut out = String::new();
    let mut operand = String::new();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        if next == '\'' {
            flush(&mut operand, &mut out);
            let length = quoted(rest);
            out.push_str(&rest[..length]);
            at += length;
            continue;
        }
        // An index begins directly after a name. Everywhere else, `[]` is an operator.
        let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
        let negates = next == '!' && !rest.starts_with("!=") && (operand.trim().is_empty() || ends_open(&operand));
        if let Some(sign) = sign {
            flush(&mut operand, &mut out);
            out.push_str(sign);
            at += sign.len();
        } else if negates {
            flush(&mut operand, &mut out);
            out.push('!');
            at += 1;
        } else if next.is_ascii_alphabetic() || next == '_' {
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let (word, begins) = (&rest[..length], !operand.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.'));
            if WORDS.contains(&word) && begins {
                flush(&mut operand, &mut out);
                out.push_str(word);
            } else {
                operand.push_str(word);
            }
            at += length;
        } else {
            operand.push(next);
            at += next.len_utf8();
        }
    }
    flush(&mut operand, &mut out);
    out
}

/// Whether only parentheses are open at the end.
fn ends_open(operand: &str) -> bool {
    operand.chars().all(|c| c == '(' || c.is_whitespace())
}

/// The length of a name in quotes, the quotes included.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\'' if !escaped => return at + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

/// Writes an operand, with quotes if it is more than a name. Parentheses that it does not close, or
/// has not opened, belong to the formula.
fn flush(operand: &mut String, out: &mut String) {
    let text = std::mem::take(operand);
    let mut depth = 0_usize;
    let mut unmatched_close = 0;
    let mut open = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '(' => {
                open.push(at);
                depth += 1;
            }
            ')' if depth > 0 => {
                open.pop();
                depth -= 1;
            }
            ')' => unmatched_close += 1,
            _ => {}
        }
    }
    // Open parentheses must be at the beginning, and unmatched closing ones at the end.
    let start = open.last().map_or(0, |at| at + 1);
    let mut end = text.len();
    for _ in 0..unmatched_close {
        end = text[..end].rfind(')').unwrap_or(end);
    }
    let (head, body, tail) = match text.get(start..end) {
        Some(body) => (&text[..start], body, &text[end..]),
        None => ("", text.as_str(), ""),
    };
    let plain = body.trim().chars().all(|c| c.is_ascii_alphanumeric() || "_.[]()".contains(c) || c.is_whitespace());
    let is_name = body.trim().chars().all(|c| c.is_ascii_alphanumeric() || c == '_') || plain && !body.contains(['.', '[']);
    out.push_str(head);
    if is_name {
        out.push_str(body);
    } else {
        let trimmed = body.trim();
        let lead = body.len() - body.trim_start().len();
        out.push_str(&body[..lead]);
        out.push('\'');
        out.extend(trimmed.chars().flat_map(|c| (c == '\'' || c == '\\').then_some('\\').into_iter().chain([c])));
        out.push('\'');
        out.push_str(&body[lead + trimmed.len()..]);
    }
    out.push_str(tail);
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn conditions_get_their_quotes() {
        for (text, expected) in [
            ("[] (m == RUN)", "[] '(m == RUN)'"),
            ("[] m == RUN", "[] 'm == RUN'"),
            ("[] !(up && down)", "[] !(up && down)"),
            ("[] ((a == 1) && (b[2].x < c))", "[] ('(a == 1)' && '(b[2].x < c)')"),
            ("(a + 1) * 2 == 4 U b", "'(a + 1) * 2 == 4' U b"),
            ("[] 'count <= 8' -> <> x", "[] 'count <= 8' -> <> x"),
            ("[] (door -> PORTB & 1)", "[] (door -> 'PORTB & 1')"),
            ("!(a != b) <-> X !c", "!'(a != b)' <-> X !c"),
            ("[] (a << 2 <= b)", "[] '(a << 2 <= b)'"),
            ("always (t.x > 3) implies eventually done", "always '(t.x > 3)' implies eventually done"),
            ("", ""),
            ("((", "(("),
            (")", ")"),
            ("'", "'"),
        ] {
            assert_eq!(quote(text), expected, "{text}");
        }
    }
}
