//! Going on with a search from its checkpoint.

use crate::breadth_first;
use crate::checkpoint::{CheckpointError, Order, Reader, Standing};
use crate::depth_first;
use crate::patience::Patience;
use crate::task::Task;
use contract::{Limits, Outcome, Store, System};
use std::io::Read;
use std::sync::Arc;

/// A checkpoint of which the store was read, and what waits was not.
pub struct Reopened<'r> {
    reader: Reader<'r>,
    order: Order,
    standing: Standing,
    patience: Patience,
}

/// Fills a store, which must be empty, from the checkpoint `from` of a search with the label of `task`, within the time it has. It need not be of the kind the search began
/// with if both keep states, or this one keeps something of each state it is shown.
pub fn reopen<'r, T: Store>(store: &mut T, task: &Task<'_>, from: &'r mut dyn Read) -> Result<Reopened<'r>, CheckpointError> {
    let patience = Patience::new(task);
    let mut reader = Reader::new(from, patience.clone());
    let (order, standing) = reader.header(task.label)?;
    let asked = patience.clone();
    store.give_up_when(Arc::new(move || asked.is_over()));
    reader.store(store)?;
    Ok(Reopened { reader, order, standing, patience })
}

impl Reopened<'_> {
    /// Continues the search over the store that was filled, in the order it was begun, to the result it would have had.
    pub fn go_on<S: System + Clone, T: Store>(self, system: &S, store: &T, task: &Task<'_>) -> Result<Outcome, CheckpointError> {
        let Reopened { reader, order, standing, patience } = self;
        // Reading took part of the time.
        let task = &Task { limits: Limits { time: patience.left(), ..task.limits }, ..task.clone() };
        match order {
            Order::Breadth => breadth_first::resumed(system, store, task, reader, standing, store.worker()),
            Order::Depth => depth_first::resumed(system, store, task, reader, standing, store.worker()),
        }
    }
}

/// Fills `store` from a checkpoint ([`reopen`]) and goes on ([`Reopened::go_on`]). `task.label` must be that of the search.
pub fn resume<S: System + Clone, T: Store>(
    system: &S,
    store: &mut T,
    task: &Task<'_>,
    from: &mut dyn Read,
) -> Result<Outcome, CheckpointError> {
    let reopened = reopen(store, task, from)?;
    reopened.go_on(system, store, task)
}
