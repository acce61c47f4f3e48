//! What a program prints: a format in the manner of C, and the values for it.

use bytecode::Program;
use std::fmt::Write as _;

/// The text of one print.
pub fn text(program: &Program, format: &str, values: &[i32]) -> String {
    let mut values = values.iter().copied();
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let conversion = chars.next();
        if conversion == Some('%') {
            out.push('%');
            continue;
        }
        let Some(value) = values.next() else {
            // The verifier counts conversions and values; what it does not count is ordinary text.
            out.push('%');
            out.extend(conversion);
            continue;
        };
        // Writing to a `String` cannot fail.
        let _ = match conversion {
            Some('u') => write!(out, "{}", value as u32),
            Some('x') => write!(out, "{value:x}"),
            Some('o') => write!(out, "{value:o}"),
            Some('c') => write!(out, "{}", char::from(value as u8)),
            Some('e') => match program.symbol(value) {
                Some(name) => write!(out, "{name}"),
                None => write!(out, "{value}"),
            },
            _ => write!(out, "{value}"),
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions() {
        let program = Program { symbols: vec![(2, "ack".to_owned())], ..Program::default() };
        let text = |format, values: &[i32]| text(&program, format, values);
        assert_eq!(text("%d %u %x %o %c %e %e%%\n", &[-1, -1, 255, 8, 65, 2, 3]), "-1 4294967295 ff 10 A ack 3%\n");
        assert_eq!(text("100% %d", &[]), "100% %d");
        assert_eq!(text("trailing %", &[7]), "trailing 7");
    }
}
