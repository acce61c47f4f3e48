//! The roles of stores: abilities beyond inserting states. A store may keep a memory budget, be
//! saved, mark states, or drop whole layers.
//!
//! A role is a trait of its own, so that a new store begins with the few methods of [`Store`] and a
//! new search declares in its types which roles it needs. Searches ask for [`Budgeted`] and
//! [`Saveable`] at run time ([`Store::budgeted`], [`Store::saveable`]), because every search can
//! work without them. [`Annotated`] and [`Layered`] are in the bounds of the searches that need
//! them.

use crate::store::{Store, StoreFull, StoreWorker};
use std::sync::Arc;

/// A condition that says whether to stop. It is evaluated from time to time.
pub type Stop = Arc<dyn Fn() -> bool + Send + Sync>;

/// A store that knows how much memory it uses.
pub trait Budgeted {
    /// The memory in use, measured, in bytes.
    fn bytes(&self) -> u64;

    /// The most memory that was ever in use, in bytes. While a table grows, it needs its old and
    /// its new memory at the same time.
    fn peak_bytes(&self) -> u64 {
        self.bytes()
    }

    /// Gives the store a condition for abandoning long work, such as moving all states to a new
    /// table. If the condition is true, the insertion fails as if the store were full, and no state
    /// is lost.
    fn give_up_when(&self, stop: Stop) {
        let _ = stop;
    }

    /// Reserves `bytes` of the store's memory budget for other users. A store without a budget
    /// ignores this.
    fn leave_room(&self, bytes: u64) {
        let _ = bytes;
    }

    /// Whether the store could work with less memory than it holds now, and will do so after a call
    /// of [`leave_room`](Self::leave_room).
    fn yields(&self) -> bool {
        false
    }

    /// The current form of the store, in one word. It changes when a store reorganises itself in a
    /// way that users want to know about.
    fn form(&self) -> &'static str {
        ""
    }
}

/// Why a store cannot be restored from saved data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRestored {
    /// The saved data needs more memory than the budget allows.
    Full(StoreFull),
    /// The data was not saved by a store of this kind.
    Malformed,
}

impl From<StoreFull> for NotRestored {
    fn from(full: StoreFull) -> NotRestored {
        NotRestored::Full(full)
    }
}

/// A store that can be saved and restored.
pub trait Saveable {
    /// The name of the store's own save format, if it has one. A store without a format of its own
    /// saves its states, each once, and any other store can insert them.
    fn own_form(&self) -> Option<&'static str> {
        None
    }

    /// Passes to `write`, piece by piece, everything from which an equal store can be restored, as
    /// long as `write` returns `true`. No worker inserts at the same time. Returns whether
    /// everything was written. `states` is the number of new states so far: workers may not have
    /// reported all of theirs yet.
    fn save(&self, states: u64, write: &mut dyn FnMut(&[u8]) -> bool) -> bool;

    /// Restores an empty store from data that a store with the same [format](Self::own_form) has
    /// saved, its configuration included. `next` puts one piece after the other into its argument
    /// and returns whether there was one. After an error the store must not be used. A store
    /// without a format of its own is restored by inserting states.
    fn restore(&mut self, next: &mut dyn FnMut(&mut Vec<u8>) -> bool) -> Result<(), NotRestored> {
        let _ = next;
        Err(NotRestored::Malformed)
    }
}

/// A store whose states carry marks. Nested searches and searches for components need them.
pub trait Annotated: Store {
    /// One worker's access to states and marks.
    type Annotator<'s>: Marks
    where
        Self: 's;

    /// Access for one more worker.
    fn annotator(&self) -> Self::Annotator<'_>;
}

/// One worker's access to an [`Annotated`] store.
pub trait Marks: StoreWorker {
    /// Sets the marks `bits` of `state`, whose [`hash`](StoreWorker::hash) is `hash`. Marks are
    /// never removed. Returns which of these marks were set before. If several workers set the same
    /// mark, exactly one of them learns that it was not set before.
    fn or(&mut self, hash: u64, state: &[u8], bits: u32) -> Result<u32, StoreFull>;
}

/// A store whose states lie in layers, so that finished layers can be dropped. A layer is
/// identified by a number, which has no meaning for the store; the search determines their order.
pub trait Layered: Store {
    /// One worker's access to one layer. A state is looked for in the layer only, and its name is
    /// valid there only.
    type Layer<'s>: StoreWorker
    where
        Self: 's;

    /// The access of `worker` to a layer, which is created when it is first used.
    fn layer<'w, 's>(worker: &'w mut Self::Worker<'s>, layer: u64) -> &'w mut Self::Layer<'s>
    where
        Self: 's;

    /// Drops a layer and frees its memory. Returns the number of states dropped.
    fn drop_layer(&mut self, layer: u64) -> u64;

    /// Drops all layers for which `gone` returns `true`, in the same way.
    fn drop_layers(&mut self, gone: &mut dyn FnMut(u64) -> bool) -> u64;
}
