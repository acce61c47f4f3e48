//! Where the parts meet: a [`Plan`] says what to do, and this crate alone turns its choices into concrete parts.
#![forbid(unsafe_code)]

mod plan;

pub use plan::{Order, Plan, StoreKind, UnknownName};
