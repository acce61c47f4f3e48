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
