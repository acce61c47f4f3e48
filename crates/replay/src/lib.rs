//! Byte strings back into the user's words.
//!
//! A search knows states as bytes and steps as pairs of numbers. This room says what they mean: the values in a state ([`view`]).
#![forbid(unsafe_code)]

mod values;

pub use values::{Named, ProcessView, View, view};
