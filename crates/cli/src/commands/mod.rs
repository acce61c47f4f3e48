//! One module a verb.

pub mod check;
pub mod compile;
pub mod ltl;
pub mod replay;
pub mod simulate;
pub mod space;
