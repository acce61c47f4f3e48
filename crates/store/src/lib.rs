//! Sets of visited states: one mechanism per file, all behind [`contract::Store`].
//!
//! Rooms: `memory` (mapped memory), `budget` (its account), `arena` (whole vectors), `table` (the lock-free table), `hash`, `pieces`
//! (what goes into files); then the stores.
//!
//! A store knows bytes and hashes; it knows no program, no search order and no property.

// `loom` is set by the command that checks the lock-free parts, not by a feature that could leak into a build.
#![allow(unexpected_cfgs)]

mod arena;
mod bits;
mod buckets;
mod budget;
mod cache;
mod calibrate;
mod compact;
mod dictionary;
mod encoder;
mod hash;
mod hashes;
#[cfg(all(test, loom))]
mod loom_tests;
mod memory;
mod pieces;
mod plain;
mod roots;
mod scatter;
mod shape;
mod stress;
mod sync;
mod table;
mod turn;
mod union;

pub use bits::{Bits, BitsReport, BitsWorker};
pub use cache::{Cache, CacheWorker};
pub use compact::{Compact, CompactWorker};
pub use hash::{hash_bytes, hash_seeded};
pub use hashes::{Hashes, HashesWorker};
pub use plain::{Plain, PlainWorker};
pub use stress::{StressFailure, StressReport, stress};
pub use union::{Joined, JoinedWorker, Union};
