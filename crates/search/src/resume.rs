//! Continues a search from its checkpoint.

use crate::breadth_first;
use crate::checkpoint::{CheckpointError, Reader, SavedCounts, SavedOrder};
use crate::depth_first;
use crate::patience::Patience;
use crate::task::Task;
use contract::{Limits, Outcome, Store, System};
use std::io::Read;
use std::sync::Arc;

/// A checkpoint whose store was read, but not the waiting states.
pub struct Reopened<'r> {
    reader: Reader<'r>,
    order: SavedOrder,
    standing: SavedCounts,
    patience: Patience,
}

/// Fills an empty store from the checkpoint `from` of a search with the label of `task`, within its
/// time limit. The store need not be of the same kind as before, if the checkpoint contains states.
pub fn reopen<'r, T: Store>(store: &mut T, task: &Task<'_>, from: &'r mut dyn Read) -> Result<Reopened<'r>, CheckpointError> {
    let patience = Patience::new(task);
    let mut reader = Reader::new(from, patience.clone());
    let (order, standing) = reader.header(task.label)?;
    let asked = patience.clone();
    if let Some(budgeted) = store.budgeted() {
        budgeted.give_up_when(Arc::new(move || asked.is_over()));
    }
    reader.store(store)?;
    Ok(Reopened { reader, order, standing, patience })
}

impl Reopened<'_> {
    /// Continues the search over the restored store, in its old order, to the result that it would
    /// have had without the interruption.
    pub fn go_on<S: System + Clone, T: Store>(self, system: &S, store: &T, task: &Task<'_>) -> Result<Outcome, CheckpointError> {
        let Reopened { reader, order, standing, patience } = self;
        // Reading the checkpoint took part of the time.
        let task = &Task { limits: Limits { time: patience.left(), ..task.limits }, ..task.clone() };
        match order {
            SavedOrder::Breadth => breadth_first::resumed(system, store, task, reader, standing, store.worker()),
            SavedOrder::Depth => depth_first::resumed(system, store, task, reader, standing, store.worker()),
            SavedOrder::Disk => Err(CheckpointError::OtherStore),
        }
    }
}

/// Fills `store` from a checkpoint ([`reopen`]) and continues ([`Reopened::go_on`]). `task.label`
/// must be the label of the search.
pub fn resume<S: System + Clone, T: Store>(
    system: &S,
    store: &mut T,
    task: &Task<'_>,
    from: &mut dyn Read,
) -> Result<Outcome, CheckpointError> {
    let reopened = reopen(store, task, from)?;
    reopened.go_on(system, store, task)
}
