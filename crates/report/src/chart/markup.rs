//! Escapes text for SVG and HTML.

/// The longest text that is kept where there is room for it. No sensible statement is longer.
pub const LONG: usize = 2_000;

/// A text for the contents of an element or of a quoted attribute. Characters that XML does not
/// allow, and those that change the writing direction, are replaced by a replacement character;
/// line ends are kept.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push('\n'),
            '\t' | '\r' => out.push(' '),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// At most `max` characters of a text; the last is an ellipsis if the text is cut.
pub fn shortened(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(max.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// A text on one line, shortened.
pub fn line(text: &str, max: usize) -> String {
    shortened(text, max).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_comes_is_text() {
        assert_eq!(escaped("<a href=\"x\" b='y'>&"), "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;");
        assert_eq!(escaped("a\u{0}\u{1b}\u{202e}\u{ffff}b\r\n"), "a\u{fffd}\u{fffd}\u{fffd}\u{fffd}b \n");
        assert_eq!(escaped("x → é"), "x → é");
    }

    #[test]
    fn only_long_texts_are_shortened() {
        assert_eq!(shortened("abc", 3), "abc");
        assert_eq!(shortened("abcd", 3), "ab…");
        assert_eq!(shortened("äöü€", 3), "äö…");
        assert_eq!(line("a\nb", 5), "a b");
    }
}
