//! Who owns a state: the same answer everywhere, computed from the state alone.
//!
//! A hash of the whole state spreads states evenly, and most steps lead to another owner. A hash of
//! a part that few steps change keeps most steps at home and spreads states less evenly (Lerda and
//! Sisto, 1999; Lerda and Visser, 2001, section 3.3).

use std::fmt;
use std::sync::Arc;

/// Appends the part of a state that decides.
pub type PartOf = Arc<dyn Fn(&[u8], &mut Vec<u8>) + Send + Sync>;

/// Computes owners.
#[derive(Clone)]
pub struct Owners {
    part: Option<PartOf>,
    buffer: Vec<u8>,
    /// The owner of each class of states.
    table: Vec<u32>,
}

impl fmt::Debug for Owners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owners").field("by_part", &self.part.is_some()).field("table", &self.table).finish()
    }
}

impl Owners {
    /// Among so many workers, by the whole state or a part of it.
    pub fn new(workers: usize, part: Option<PartOf>) -> Owners {
        Owners { part, buffer: Vec::new(), table: (0..workers.max(1) as u32).collect() }
    }

    /// With so many classes, which belong to workers as `table` says.
    pub fn with_classes(part: Option<PartOf>, table: Vec<u32>) -> Owners {
        Owners { part, buffer: Vec::new(), table: if table.is_empty() { vec![0] } else { table } }
    }

    /// The class of a state.
    #[inline]
    pub fn class(&mut self, state: &[u8]) -> usize {
        let classes = self.table.len() as u32;
        match &self.part {
            None => store::owner(state, classes) as usize,
            Some(part) => {
                self.buffer.clear();
                part(state, &mut self.buffer);
                store::owner(&self.buffer, classes) as usize
            }
        }
    }

    /// The owner of a state.
    #[inline]
    pub fn owner(&mut self, state: &[u8]) -> usize {
        if self.table.len() == 1 {
            return self.table[0] as usize;
        }
        let class = self.class(state);
        self.table[class] as usize
    }

    /// The owner of each class.
    pub fn table(&self) -> &[u32] {
        &self.table
    }

    /// Changes the owner of a class.
    pub fn give(&mut self, class: usize, worker: usize) {
        self.table[class] = worker as u32;
    }
}
