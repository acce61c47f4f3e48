//! The first states of a system, for tests that examine states one by one.

use contract::{Successors, System};
use std::collections::HashSet;

/// The first states of a system, breadth first: at most `most`, and all initial states.
pub fn first(system: &mut dyn System, most: usize) -> Vec<Vec<u8>> {
    let mut out = Successors::new();
    system.initial(&mut out);
    let mut found: Vec<Vec<u8>> = out.iter().filter_map(|(_, state)| state.map(<[u8]>::to_vec)).collect();
    let mut seen: HashSet<Vec<u8>> = found.iter().cloned().collect();
    let mut next = 0;
    while next < found.len() && seen.len() < most {
        out.clear();
        system.successors(&found[next], &mut out);
        for state in out.iter().filter_map(|(_, state)| state) {
            if seen.len() < most && seen.insert(state.to_vec()) {
                found.push(state.to_vec());
            }
        }
        next += 1;
    }
    found
}
