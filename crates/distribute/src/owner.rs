//! The owner of a state, computed from the state alone, so that it is the same everywhere.
//!
//! A hash of the whole state spreads states evenly, and most steps lead to another owner. With a
//! hash of a part that few steps change, most steps stay with the owner, but states are spread less
//! evenly (Lerda and Sisto, 1999; Lerda and Visser, 2001, section 3.3).

use std::fmt;
use std::sync::Arc;

/// Appends the part of a state that determines its owner.
pub type PartOf = Arc<dyn Fn(&[u8], &mut Vec<u8>) + Send + Sync>;

/// Computes owners.
#[derive(Clone)]
pub struct Owners {
    part: Option<PartOf>,
    buffer: Vec<u8>,
    workers: u32,
}

impl fmt::Debug for Owners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owners").field("by_part", &self.part.is_some()).field("workers", &self.workers).finish()
    }
}

impl Owners {
    /// Owners among this many workers, determined by the whole state or a part of it.
    pub fn new(workers: usize, part: Option<PartOf>) -> Owners {
        Owners { part, buffer: Vec::new(), workers: workers.max(1) as u32 }
    }

    /// The owner of a state.
    #[inline]
    pub fn owner(&mut self, state: &[u8]) -> usize {
        if self.workers == 1 { 0 } else { self.class(state, self.workers) as usize }
    }

    /// The class of a state, one of so many.
    #[inline]
    pub(crate) fn class(&mut self, state: &[u8], classes: u32) -> u32 {
        self.class_and_hash(state, classes).0
    }

    /// The class of a state, and a hash of what determines it. Of the hash, the lower half may be
    /// used for other purposes.
    #[inline]
    pub(crate) fn class_and_hash(&mut self, state: &[u8], classes: u32) -> (u32, u64) {
        let hash = match &self.part {
            None => store::owner_hash(state),
            Some(part) => {
                self.buffer.clear();
                part(state, &mut self.buffer);
                store::owner_hash(&self.buffer)
            }
        };
        (store::owner_of_hash(hash, classes), hash)
    }

    /// The hash of a whole state, if `hash` is that of what determines its owner.
    #[inline]
    pub(crate) fn whole_hash(&self, state: &[u8], hash: u64) -> u64 {
        if self.part.is_none() { hash } else { store::owner_hash(state) }
    }
}
