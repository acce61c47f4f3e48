//! The successors of a batch, divided by the layers of a sweep that they go to.
//!
//! A store inserts the successors of one layer together, so a sweep first collects the numbers of
//! those that go to each layer. Most batches go to a few layers, whose values are compared one by
//! one.

use crate::quick::BuildQuick;
use crate::sweep::{PERSISTENT, Value};
use std::collections::HashMap;

/// The numbers of the successors that go to one layer.
#[derive(Default)]
pub(crate) struct Group {
    pub name: u64,
    /// The value of all of them, unless they go to the persistent states.
    pub value: Value,
    /// Whether some persistent state has this value.
    pub guarded: bool,
    pub entries: Vec<u32>,
}

/// Successors by layer, in the order in which the layers first occur.
#[derive(Default)]
pub(crate) struct Groups {
    pub groups: Vec<Group>,
    used: usize,
    /// The group of each value that has occurred.
    known: Vec<(Value, usize)>,
    /// The same, if there are many values.
    many: HashMap<Value, usize, BuildQuick>,
}

/// Up to this many values are compared one by one.
const FEW_VALUES: usize = 12;

impl Groups {
    pub fn begin(&mut self) {
        self.used = 0;
        self.known.clear();
        self.many.clear();
    }

    /// The group of a value that has occurred before.
    #[inline]
    pub fn find(&self, value: &Value) -> Option<usize> {
        let found = self.known.iter().find(|(known, _)| known == value).map(|&(_, group)| group);
        if found.is_some() || self.many.is_empty() { found } else { self.many.get(value).copied() }
    }

    /// Adds a group for a value that has not occurred before.
    pub fn add(&mut self, value: Value, name: u64, guarded: bool) -> usize {
        let shared = (name == PERSISTENT).then(|| self.all().iter().position(|group| group.name == PERSISTENT)).flatten();
        let group = shared.unwrap_or(self.used);
        if group == self.used {
            if self.used == self.groups.len() {
                self.groups.push(Group::default());
            }
            let group = &mut self.groups[self.used];
            (group.name, group.value, group.guarded) = (name, value, guarded);
            group.entries.clear();
            self.used += 1;
        }
        if self.known.len() < FEW_VALUES {
            self.known.push((value, group));
        } else {
            self.many.insert(value, group);
        }
        group
    }

    pub fn all(&self) -> &[Group] {
        &self.groups[..self.used]
    }
}
