//! Formats of `printf`, from SPIN's form to the machine's.

/// The format with escapes written out, and the number of values it takes.
pub(super) fn convert(text: &str) -> (String, usize) {
    let mut out = String::new();
    let mut values = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some(other) => push_plain(&mut out, other),
                None => out.push('\\'),
            },
            '%' => {
                // Flags and a width are copied unchanged.
                let mut piece = String::from("%");
                while let Some(&d) = chars.peek()
                    && (d.is_ascii_digit() || d == '-')
                    && piece.len() < 4
                {
                    piece.push(d);
                    chars.next();
                }
                match chars.peek() {
                    Some('%') if piece.len() == 1 => {
                        chars.next();
                        out.push_str("%%");
                    }
                    Some(&c @ ('d' | 'i' | 'u' | 'o' | 'x' | 'c' | 'e')) => {
                        chars.next();
                        out.push_str(&piece);
                        out.push(c);
                        values += 1;
                    }
                    _ => {
                        out.push_str("%%");
                        out.push_str(&piece[1..]);
                    }
                }
            }
            other => out.push(other),
        }
    }
    if bytecode::format::parse(&out).is_err() {
        return (out.replace('%', "%%"), 0);
    }
    (out, values)
}

fn push_plain(out: &mut String, c: char) {
    out.push(c);
    if c == '%' {
        out.push('%');
    }
}

#[cfg(test)]
mod tests {
    use super::convert;

    #[test]
    fn escapes_are_written_out_and_values_counted() {
        assert_eq!(convert(r#"a\tb\n\"%d\" %e%%"#), ("a\tb\n\"%d\" %e%%".to_owned(), 2));
        assert_eq!(convert("100% sure %5d %-3u"), ("100%% sure %5d %-3u".to_owned(), 2));
        assert_eq!(convert("%"), ("%%".to_owned(), 0));
        assert_eq!(convert("%s %9999d").1, 0);
    }

    #[test]
    fn every_result_is_a_format_of_the_machine() {
        for text in ["%", "%%%", "\\%d", "%-", "%0", "%-05d", "%--d", "%0-d", "\\", "%99", "%300d"] {
            let (format, values) = convert(text);
            let pieces = bytecode::format::parse(&format).expect(text);
            let places = pieces.iter().filter(|p| matches!(p, bytecode::format::Piece::Value { .. }));
            assert_eq!(places.count(), values, "{text}");
        }
    }
}
