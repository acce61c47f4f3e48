//! The functions of C for texts in arrays of characters: `strlen`, `strcmp`, `strncmp`, `memcmp`,
//! `strcpy`.
//!
//! The length of an array is known, so each of them becomes one expression over its elements, or
//! one assignment for each. A text without an end is a violation: an index outside its array.

use super::expression::{Value, binary, int};
use super::types::CType;
use super::{Lower, Object, Stop};
use crate::ast::Binary;
use crate::model::Ex;
use lang_c::ast::Expression;
use lang_c::span::{Node as CNode, Span as CSpan};

/// The most characters of one text.
const MOST: u32 = 128;

/// A text: the elements of an array, or a constant.
enum Text {
    Array(Object, u32),
    Constant(Vec<u8>),
}

impl Lower<'_, '_> {
    fn text(&mut self, e: &CNode<Expression>) -> Result<Text, Stop> {
        if let Expression::StringLiteral(literal) = &e.node {
            return Ok(Text::Constant(bytes(&literal.node)));
        }
        let object = self.whole(e)?;
        if object.at.is_some() || object.within.is_some() {
            return Err(self.wrong(e.span, "a text is an array of characters here, and no pointer into one"));
        }
        match &object.ty {
            CType::Array(element, length) if matches!(**element, CType::Int(int) if int.bits == 8) => {
                let length = *length;
                match length <= MOST {
                    true => Ok(Text::Array(object, length)),
                    false => Err(self.wrong(e.span, format!("a text has at most {MOST} characters here"))),
                }
            }
            _ => Err(self.wrong(e.span, "a text is an array of characters here, and no pointer into one")),
        }
    }

    /// The character at a position, from 0 to 255. Beyond the end of an array the machine reports
    /// an index outside the array.
    fn character(&mut self, text: &Text, at: u32, span: CSpan) -> Result<Ex, Stop> {
        match text {
            Text::Constant(bytes) => Ok(Ex::Const(bytes.get(at as usize).copied().map_or(0, i32::from))),
            Text::Array(object, _) => {
                let element = self.element(object, Ex::Const(at as i32));
                let value = self.load(&element, span)?;
                Ok(binary(Binary::BitAnd, value.ex, Ex::Const(255)))
            }
        }
    }

    fn length(text: &Text) -> u32 {
        match text {
            Text::Constant(bytes) => bytes.len() as u32,
            Text::Array(_, length) => *length,
        }
    }

    pub(super) fn string_length(&mut self, e: &CNode<Expression>, at: CSpan) -> Result<Value, Stop> {
        let text = self.text(e)?;
        let length = Self::length(&text);
        // If the text has no end, the character after the last one is read, which is a fault.
        let mut found = match &text {
            Text::Constant(_) => Ex::Const(0),
            Text::Array(..) => self.character(&text, length, at)?,
        };
        for position in (0..length).rev() {
            let character = self.character(&text, position, at)?;
            found = conditional(character, found, Ex::Const(position as i32));
        }
        Ok(Value::of(found, super::types::Number::U64))
    }

    /// The difference of the first characters that differ. With a size, at most that many are
    /// compared; bytes do not end at a zero.
    pub(super) fn string_order(
        &mut self,
        a: &CNode<Expression>,
        b: &CNode<Expression>,
        size: Option<(i32, bool)>,
        at: CSpan,
    ) -> Result<Value, Stop> {
        let (a, b) = (self.text(a)?, self.text(b)?);
        let shorter = Self::length(&a).min(Self::length(&b));
        let (most, bytes) = match size {
            Some((size, bytes)) if (0..=MOST as i32).contains(&size) => (size as u32, bytes),
            Some(_) => return Err(self.wrong(at, format!("a size is from 0 to {MOST} here"))),
            None => (u32::MAX, false),
        };
        let mut order = match most <= shorter {
            true => Ex::Const(0),
            false => {
                let (x, y) = (self.character(&a, shorter, at)?, self.character(&b, shorter, at)?);
                binary(Binary::Sub, x, y)
            }
        };
        for position in (0..shorter.min(most)).rev() {
            let (x, y) = (self.character(&a, position, at)?, self.character(&b, position, at)?);
            let difference = binary(Binary::Sub, x.clone(), y);
            let more = if bytes { order } else { conditional(x, order, Ex::Const(0)) };
            order = conditional(difference.clone(), difference, more);
        }
        Ok(int(order))
    }

    /// Copies a text up to its end. The rest of the array is not changed.
    pub(super) fn string_copy(&mut self, to: &CNode<Expression>, from: &CNode<Expression>, at: CSpan) -> Result<(), Stop> {
        let (to, from) = (self.text(to)?, self.text(from)?);
        let (Text::Array(target, room), Text::Constant(bytes)) = (&to, &from) else {
            return Err(self.wrong_with(at, "`strcpy` copies a constant text here", "copy an array by `memcpy`"));
        };
        if bytes.len() > *room as usize {
            return Err(self.wrong(at, format!("the text has {} characters with its end, and there is room for {room}", bytes.len())));
        }
        for (position, byte) in bytes.iter().enumerate() {
            let element = self.element(target, Ex::Const(position as i32));
            self.store(&element, int(Ex::Const(i32::from(*byte))), at)?;
        }
        Ok(())
    }
}

/// `condition ? yes : no`.
fn conditional(condition: Ex, yes: Ex, no: Ex) -> Ex {
    match condition {
        Ex::Const(0) => no,
        Ex::Const(_) => yes,
        condition => Ex::Conditional(Box::new(condition), Box::new(yes), Box::new(no)),
    }
}

/// The bytes of a text in quotes, with the zero at its end.
pub(super) fn bytes(pieces: &[String]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in pieces {
        let piece = piece.trim_start_matches(['L', 'u', 'U', '8']);
        let inner = piece.strip_prefix('"').and_then(|piece| piece.strip_suffix('"')).unwrap_or(piece);
        let mut rest = inner.as_bytes();
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            if byte != b'\\' {
                bytes.push(byte);
                continue;
            }
            let Some((&escape, after)) = rest.split_first() else { break };
            let digits = |text: &[u8], most: usize, radix: u32| {
                text.iter().take(most).take_while(|digit| char::from(**digit).is_digit(radix)).count()
            };
            let number = |text: &[u8], radix: u32| {
                text.iter().fold(0u32, |n, digit| n.wrapping_mul(radix).wrapping_add(char::from(*digit).to_digit(radix).unwrap_or(0))) as u8
            };
            match escape {
                b'x' => {
                    let length = digits(after, 8, 16);
                    bytes.push(number(&after[..length], 16));
                    rest = &after[length..];
                }
                b'0'..=b'7' => {
                    let length = digits(rest, 3, 8);
                    bytes.push(number(&rest[..length], 8));
                    rest = &rest[length..];
                }
                _ => {
                    bytes.push(match escape {
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'r' => b'\r',
                        b'a' => 7,
                        b'b' => 8,
                        b'f' => 12,
                        b'v' => 11,
                        other => other,
                    });
                    rest = after;
                }
            }
        }
    }
    bytes.push(0);
    bytes
}
