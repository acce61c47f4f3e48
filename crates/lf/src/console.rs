//! The input that can be typed at the console of a program that is searched.
//!
//! Any byte, any number of times, is too much for most searches: a number that is read digit by
//! digit has more values than a search can visit. So the user may name the characters and limit
//! their number. The verdict is then about such inputs only.

/// The input of the console in a search.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    /// The bytes that can be typed, a bit for each.
    typed: [u64; 4],
    /// The most characters before the input ends.
    most: Option<u8>,
}

impl Default for Console {
    fn default() -> Self {
        Console { typed: [u64::MAX; 4], most: None }
    }
}

impl Console {
    /// Allows the characters of a text, any number of times. `a-z` means all characters from the
    /// first to the last, `\n` the end of a line; `\-` and `\\` mean these characters.
    pub fn typing(self, text: &str) -> Result<Console, &'static str> {
        let mut signs = Vec::new();
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            signs.push(match byte {
                b'\\' => match rest.next() {
                    Some(b'n') => (b'\n', false),
                    Some(sign @ (b'-' | b'\\')) => (sign, false),
                    _ => return Err("behind `\\` there is `n`, `-` or `\\`"),
                },
                0..=127 => (byte, byte == b'-'),
                _ => return Err("its characters are those of ASCII"),
            });
        }
        let mut typed = [0; 4];
        let mut at = 0;
        while let Some(&(first, _)) = signs.get(at) {
            // At the beginning or the end, `-` means itself.
            let last = match signs.get(at + 1..at + 3) {
                Some(&[(_, true), (last, _)]) if last < first => return Err("the first character of `a-z` comes before the last"),
                Some(&[(_, true), (last, _)]) => {
                    at += 2;
                    last
                }
                _ => first,
            };
            at += 1;
            (first..=last).for_each(|byte| typed[usize::from(byte / 64)] |= 1 << (byte % 64));
        }
        if typed == [0; 4] { Err("it has at least one character") } else { Ok(Console { typed, ..self }) }
    }

    /// Limits the input to `most` characters.
    pub fn at_most(self, most: u8) -> Console {
        Console { most: Some(most), ..self }
    }

    /// The limit on the number of characters, if there is one.
    pub(crate) fn most(&self) -> Option<u8> {
        self.most
    }

    /// The bytes that can be typed.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = u8> {
        (0..=255).filter(|byte: &u8| self.typed[usize::from(byte / 64)] >> (byte % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::Console;

    #[test]
    fn characters_and_ranges() {
        let of = |text| Console::default().typing(text).map(|console| console.bytes().map(char::from).collect::<String>());
        assert_eq!(of("a"), Ok("a".to_owned()));
        assert_eq!(of("c0-3a"), Ok("0123ac".to_owned()));
        assert_eq!(of("-1"), Ok("-1".to_owned()));
        assert_eq!(of("1-"), Ok("-1".to_owned()));
        assert_eq!(of("a\\-c\\n\\\\"), Ok("\n-\\ac".to_owned()));
        for wrong in ["", "z-a", "\\", "\\x", "ä"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Console::default().bytes().count(), 256);
    }
}
