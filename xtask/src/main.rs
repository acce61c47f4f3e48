//! Development commands: `cargo xtask NAME`.
fn main() {}
