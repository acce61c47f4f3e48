//! A search written by the user of the library: it counts the states at each distance from the
//! initial one.
//!
//! A state is a byte string; [`Program::system`] gives the successors without texts, in a buffer
//! that is reused.

use everypath::{Error, Program, Successors, System};
use std::collections::HashSet;

/// Three counters to three.
const MODEL: &str = "active [3] proctype Counter() { byte n; do :: n < 3 -> n++ :: else -> break od }";

fn main() -> Result<(), Error> {
    let program = Program::load("counters.pml", MODEL.as_bytes())?;
    let mut system = program.system();
    let mut out = Successors::new();
    let mut level = vec![program.initial()?];
    let mut seen: HashSet<Vec<u8>> = level.iter().cloned().collect();
    let mut depth = 0;
    while !level.is_empty() {
        println!("{depth}: {} states", level.len());
        let mut next = Vec::new();
        for state in &level {
            out.clear();
            system.successors(state, &mut out);
            for (_, target) in out.iter() {
                next.extend(target.filter(|target| seen.insert(target.to_vec())).map(<[u8]>::to_vec));
            }
        }
        level = next;
        depth += 1;
    }
    println!("{} states in all", seen.len());
    Ok(())
}
