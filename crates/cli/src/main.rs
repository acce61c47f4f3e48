//! The command `everypath`.
#![forbid(unsafe_code)]
fn main() {}
