//! Going on with a search from its checkpoint.

use crate::breadth_first;
use crate::checkpoint::{CheckpointError, Order, Reader};
use crate::depth_first;
use crate::task::Task;
use contract::{Outcome, Store, StoreWorker, System};
use std::io::Read;

/// Continues the search whose checkpoint is `from`, in the order it was begun, to the result it would have had. The store must be empty;
/// it need not be of the kind the search began with. `task.label` must be that of the search.
pub fn resume<S: System + Clone, T: Store>(
    system: &S,
    store: &T,
    task: &Task<'_>,
    from: &mut dyn Read,
) -> Result<Outcome, CheckpointError> {
    let mut reader = Reader::new(from);
    let (order, standing) = reader.header(task.label)?;
    let mut worker = store.worker();
    reader.store(|state| {
        let hash = worker.hash(state);
        worker.insert(hash, state).map_err(CheckpointError::Full).map(|_| ())
    })?;
    match order {
        Order::Breadth => breadth_first::resumed(system, store, task, reader, standing, worker),
        Order::Depth => depth_first::resumed(system, store, task, reader, standing, worker),
    }
}
