//! The formats of PRINT: text with conversions for values.
//!
//! They are C's formats, limited to what makes sense for 32-bit integers: `%d` (or `%i`), `%u`,
//! `%o`, `%x`, `%c`, and `%e` for the name that a value has in the table of symbols. Between `%`
//! and the letter there may be `-` (left-aligned), `0` (filled with zeros) and a width up to 255.
//! `%%` is a percent sign. Anything else after a `%` is an error, so that the verifier can count
//! the values that a format needs.

use std::fmt::{self, Write};

/// The widest field a format may ask for.
pub const WIDTH_MAX: usize = 255;

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Conversion {
    /// `%d`, `%i`: decimal, signed.
    Signed,
    /// `%u`: decimal, the 32 bits read as unsigned.
    Unsigned,
    /// `%o`: octal, unsigned.
    Octal,
    /// `%x`: hexadecimal, unsigned.
    Hexadecimal,
    /// `%c`: the character with the low eight bits as its code.
    Character,
    /// `%e`: the value's name, or its decimal number if it has none.
    Symbol,
}

/// A part of a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece<'a> {
    /// Text, as it is.
    Text(&'a str),
    /// A place for the next value.
    Value {
        /// The conversion.
        conversion: Conversion,
        /// The least number of characters.
        width: usize,
        /// Whether blanks are added after it.
        left: bool,
        /// Whether zeros are added before it instead of blanks.
        zeros: bool,
    },
}

/// An error in a format: the position of a `%` that does not begin a known conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormatError {
    /// The position of the `%`.
    pub offset: usize,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the % at byte {} is followed by no known conversion", self.offset)
    }
}

impl std::error::Error for FormatError {}

/// Parses a format.
pub fn parse(format: &str) -> Result<Vec<Piece<'_>>, FormatError> {
    let mut pieces = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        if at > 0 {
            pieces.push(Piece::Text(&rest[..at]));
        }
        let offset = format.len() - rest.len() + at;
        let (piece, behind) = value(&rest[at + 1..]).ok_or(FormatError { offset })?;
        pieces.push(piece);
        rest = behind;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    Ok(pieces)
}

/// The conversion at the beginning of `text`, which follows a `%`, and the rest of the text.
fn value(text: &str) -> Option<(Piece<'_>, &str)> {
    if let Some(behind) = text.strip_prefix('%') {
        return Some((Piece::Text(&text[..1]), behind));
    }
    let flags = text.trim_start_matches(['-', '0']);
    let (left, zeros) = (text[..text.len() - flags.len()].contains('-'), text[..text.len() - flags.len()].contains('0'));
    let letter = flags.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &flags[..flags.len() - letter.len()];
    let width = if digits.is_empty() { 0 } else { digits.parse().ok().filter(|w| *w <= WIDTH_MAX)? };
    let conversion = match letter.as_bytes().first()? {
        b'd' | b'i' => Conversion::Signed,
        b'u' => Conversion::Unsigned,
        b'o' => Conversion::Octal,
        b'x' => Conversion::Hexadecimal,
        b'c' => Conversion::Character,
        b'e' => Conversion::Symbol,
        _ => return None,
    };
    Some((Piece::Value { conversion, width, left, zeros }, &letter[1..]))
}

/// The number of values that a format needs.
pub fn arguments(format: &str) -> Result<usize, FormatError> {
    Ok(parse(format)?.iter().filter(|piece| matches!(piece, Piece::Value { .. })).count())
}

/// The text of a format with the values inserted; `symbol` names values for `%e`. Missing values
/// are 0.
pub fn render<'s>(format: &str, values: &[i32], symbol: impl Fn(i32) -> Option<&'s str>) -> Result<String, FormatError> {
    let mut text = String::new();
    let mut values = values.iter().copied();
    for piece in parse(format)? {
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Value { conversion, width, left, zeros } => {
                let value = values.next().unwrap_or(0);
                let shown = match conversion {
                    Conversion::Signed => value.to_string(),
                    Conversion::Unsigned => (value as u32).to_string(),
                    Conversion::Octal => format!("{value:o}"),
                    Conversion::Hexadecimal => format!("{value:x}"),
                    Conversion::Character => char::from(value as u8).to_string(),
                    Conversion::Symbol => symbol(value).map_or_else(|| value.to_string(), str::to_owned),
                };
                // Writing to a string cannot fail.
                let _ = match (left, zeros) {
                    (true, _) => write!(text, "{shown:<width$}"),
                    (false, false) => write!(text, "{shown:>width$}"),
                    (false, true) => match shown.strip_prefix('-') {
                        Some(digits) => write!(text, "-{digits:0>rest$}", rest = width.saturating_sub(1)),
                        None => write!(text, "{shown:0>width$}"),
                    },
                };
            }
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_filled_in() {
        let names = |value| (value == 3).then_some("red");
        let show = |format: &str, values: &[i32]| render(format, values, names).expect("well-formed");
        assert_eq!(show("a %d%% of %u, %x %o\n", &[-1, -1, 255, 8]), "a -1% of 4294967295, ff 10\n");
        assert_eq!(show("%e %e %c", &[3, 4, 65]), "red 4 A");
        assert_eq!(show("[%4d] [%-4d] [%04d]", &[-7, -7, -7]), "[  -7] [-7  ] [-007]");
        assert_eq!(show("%d %d", &[1]), "1 0");
    }

    #[test]
    fn arguments_are_counted_and_unknown_conversions_refused() {
        assert_eq!(arguments("%d %% %-03x"), Ok(2));
        assert_eq!(arguments(""), Ok(0));
        assert_eq!(arguments("ab%"), Err(FormatError { offset: 2 }));
        assert_eq!(arguments("%d %s"), Err(FormatError { offset: 3 }));
        assert_eq!(arguments("%256d"), Err(FormatError { offset: 0 }));
        assert_eq!(arguments("%ü"), Err(FormatError { offset: 0 }));
    }
}
