//! The format in which stores are saved: pieces of numbers and bytes. Pieces are read from files,
//! so every length is checked.

use contract::NotRestored;

/// Puts the next piece into its argument; `false` if there is none.
pub(crate) type Next<'n> = &'n mut dyn FnMut(&mut Vec<u8>) -> bool;

/// A piece made of numbers.
pub(crate) fn numbers(numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
    numbers.into_iter().flat_map(u64::to_le_bytes).collect()
}

/// Reads a piece that must be there and consist of `N` numbers.
pub(crate) fn head<const N: usize>(next: Next<'_>) -> Result<[u64; N], NotRestored> {
    let mut piece = Vec::new();
    if !next(&mut piece) {
        return Err(NotRestored::Malformed);
    }
    let mut fields = Fields(&piece);
    let mut head = [0; N];
    for number in &mut head {
        *number = fields.number()?;
    }
    if fields.is_empty() { Ok(head) } else { Err(NotRestored::Malformed) }
}

/// The unread rest of a piece.
pub(crate) struct Fields<'p>(pub &'p [u8]);

impl<'p> Fields<'p> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn number(&mut self) -> Result<u64, NotRestored> {
        let (number, rest) = self.0.split_first_chunk().ok_or(NotRestored::Malformed)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*number))
    }

    pub fn bytes(&mut self, len: u64) -> Result<&'p [u8], NotRestored> {
        let len = usize::try_from(len).map_err(|_| NotRestored::Malformed)?;
        let (bytes, rest) = self.0.split_at_checked(len).ok_or(NotRestored::Malformed)?;
        self.0 = rest;
        Ok(bytes)
    }
}
