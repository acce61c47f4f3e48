//! Sets of visited states: one mechanism per file, all behind [`contract::Store`].
//!
//! A store knows bytes and hashes; it knows no program, no search order and no property.

mod hash;
mod plain;

pub use hash::hash_bytes;
pub use plain::Plain;
