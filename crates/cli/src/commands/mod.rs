//! One module a verb.

pub mod check;
pub mod compile;
pub mod replay;
pub mod simulate;
pub mod space;
