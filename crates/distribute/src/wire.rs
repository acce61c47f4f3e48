//! Numbers and byte strings in messages. Input may be truncated or damaged: every read can fail,
//! and memory is allocated only for bytes that are there.

use contract::StopReason;

/// Appends a number in as few bytes as it needs: seven bits in each, the last one below 128.
#[inline]
pub(crate) fn put_number(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Appends bytes after their length.
#[inline]
pub(crate) fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    put_number(to, bytes.len() as u64);
    to.extend_from_slice(bytes);
}

/// Appends a kind, two numbers, and bytes after their length: what [`put_number`] and [`put_bytes`]
/// append, but with one test of the room. Most messages consist of such records.
#[inline]
pub(crate) fn put_record(to: &mut Vec<u8>, kind: u8, numbers: [u64; 2], bytes: &[u8]) {
    let mut head = [kind; 31];
    let mut len = 1;
    for mut number in numbers.into_iter().chain([bytes.len() as u64]) {
        while number >= 0x80 {
            head[len] = number as u8 | 0x80;
            len += 1;
            number >>= 7;
        }
        head[len] = number as u8;
        len += 1;
    }
    to.reserve(len + bytes.len());
    to.extend_from_slice(&head[..len]);
    to.extend_from_slice(bytes);
}

/// Appends the reason for a stop, if there was one.
pub(crate) fn put_reason(to: &mut Vec<u8>, reason: Option<&StopReason>) {
    let (code, text) = match reason {
        None => (0, ""),
        Some(StopReason::Memory) => (1, ""),
        Some(StopReason::Depth) => (2, ""),
        Some(StopReason::States) => (3, ""),
        Some(StopReason::Time) => (4, ""),
        Some(StopReason::Interrupted) => (5, ""),
        Some(StopReason::Storage(text)) => (6, text.as_str()),
        Some(_) => (5, ""),
    };
    to.push(code);
    put_bytes(to, text.as_bytes());
}

/// Reads from the beginning of bytes.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    #[inline]
    pub fn number(&mut self) -> Option<u64> {
        // Most numbers are small.
        let (&first, rest) = self.0.split_first()?;
        if first < 0x80 {
            self.0 = rest;
            return Some(first.into());
        }
        self.large_number()
    }

    fn large_number(&mut self) -> Option<u64> {
        let mut number = 0;
        for (index, &byte) in self.0.iter().enumerate().take(10) {
            number |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.0 = &self.0[index + 1..];
                return Some(number);
            }
        }
        None
    }

    #[inline]
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        self.take(len)
    }

    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|byte| byte[0])
    }

    /// The reason for a stop, if there was one.
    pub fn reason(&mut self) -> Option<Option<StopReason>> {
        let code = self.byte()?;
        let text = String::from_utf8_lossy(self.bytes()?).into_owned();
        Some(match code {
            0 => None,
            1 => Some(StopReason::Memory),
            2 => Some(StopReason::Depth),
            3 => Some(StopReason::States),
            4 => Some(StopReason::Time),
            6 => Some(StopReason::Storage(text)),
            _ => Some(StopReason::Interrupted),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_its_parts_one_after_the_other() {
        for numbers in [[0, 127], [128, u64::MAX], [1 << 40, 300]] {
            for bytes in [&[][..], &[7; 200][..]] {
                let (mut one, mut other) = (vec![1], vec![1]);
                put_record(&mut one, 9, numbers, bytes);
                other.push(9);
                numbers.iter().for_each(|&number| put_number(&mut other, number));
                put_bytes(&mut other, bytes);
                assert_eq!(one, other);
            }
        }
    }
}
