//! Sorted sets of byte strings outside memory: the mechanism below a search on disk.
//!
//! A [`Run`] is a sorted sequence of different states, each with a number, in compressed blocks
//! with a checksum each. It is written once, from beginning to end, and then read by [`Cursor`]s,
//! which go forward only and skip blocks that cannot matter. Runs are small enough to stay in
//! memory, or lie in files of a [`Folder`] that the caller provides: this crate opens no file
//! itself. It knows states as bytes, and no search.

#![forbid(unsafe_code)]

mod codec;
mod filter;
mod folder;
mod merge;
mod recent;
mod run;
mod sort;

pub use filter::Filter;
pub use folder::{FileReader, FileWriter, Folder, InMemory};
pub use merge::Merge;
pub use recent::{Met, Recent};
pub use run::{Cursor, Place, Run, RunWriter, Shelf};
