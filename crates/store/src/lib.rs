//! Sets of visited states: one mechanism per file, all behind [`contract::Store`].
//!
//! Modules: `memory` (mapped memory), `budget` (its account), `arena` (whole vectors), `table` (the
//! lock-free table), `hash`, `save_format` (the contents of checkpoints), `few` (small sets
//! on the heap), `allocator` (freed memory); then the stores.
//!
//! A store knows bytes and hashes. It knows no program, no search order and no property.

// `loom` is set by the command that checks the lock-free parts. A feature could leak into a build.
#![allow(unexpected_cfgs)]

mod allocator;
mod arena;
mod bits;
mod buckets;
mod budget;
mod cache;
mod calibrate;
mod compact;
mod dictionary;
mod encoder;
mod few;
mod hash;
mod hashes;
mod layers;
#[cfg(all(test, loom))]
mod loom_tests;
mod marked;
mod memory;
mod permutation;
mod plain;
mod quotient;
mod roles;
mod save_format;
mod shape;
mod shared_pass;
mod stress;
mod sync;
mod table;
mod union;

pub use allocator::return_freed_memory;
pub use bits::{Bits, BitsReport, BitsWorker};
pub use cache::{Cache, CacheWorker};
pub use compact::{Compact, CompactWorker};
pub use hash::{hash_bytes, hash_seeded, owner_hash, owner_of_hash};
pub use hashes::{Hashes, HashesWorker};
pub use layers::{Layers, LayersWorker};
pub use marked::{Marked, MarkedWorker};
pub use plain::{Plain, PlainWorker};
pub use stress::{StressFailure, StressReport, stress};
pub use union::{Joined, JoinedWorker, Union};
