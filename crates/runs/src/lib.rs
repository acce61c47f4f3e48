//! Sorted sets of byte strings outside memory, used by the search on disk.
//!
//! A [`Run`] is a sorted sequence of different states, each with a number, in compressed blocks
//! with checksums. It is written once, from beginning to end, and then read by [`Cursor`]s, which
//! move only forward and skip blocks that cannot contain the wanted states. A run stays in memory
//! if it is small, and is otherwise a file of a [`Folder`] that the caller provides: this crate
//! opens no file itself. It knows states as bytes, and knows no search.

#![forbid(unsafe_code)]

mod codec;
mod filter;
mod folder;
mod merge;
mod recent;
mod run;
mod set;
mod sort;

pub use filter::Filter;
pub use folder::{FileReader, FileWriter, Folder, InMemory};
pub use merge::Merge;
pub use recent::{Met, Recent};
pub use run::{Cursor, PACKING_BYTES, Place, Run, RunWriter, Shelf};
pub use set::{ITEM, Set};
