//! A cycle of processes that wait for each other.
//!
//! A process that waits for one of several others is stuck only if all of them are. So a cycle
//! explains a deadlock only if everything that its processes could also wait for leads back to it:
//! a knot (Holt, "Some deadlock properties of computer systems", 1972). Within a knot there may be
//! many cycles. The one that is shown goes, where that is known, through the processes that have
//! what the others wait for.

use crate::waiting::{Waiting, Why};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Processes that wait for each other, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Knot {
    /// A cycle, in which each process waits for the next; empty if there is none.
    pub cycle: Vec<usize>,
    /// The other processes for which those of the cycle could wait, directly or not. They wait in
    /// the same way.
    pub others: Vec<usize>,
}

/// The smallest knot of waiting processes.
pub fn knot(waiting: &[Waiting]) -> Knot {
    let on = |process: &Waiting| -> BTreeSet<usize> { process.options.iter().flat_map(|wait| &wait.on).map(|on| on.pid).collect() };
    // If an option has no explanation, it is not known which process could end the waiting.
    let is_known = |process: &&Waiting| process.options.iter().all(|wait| wait.why != Why::Unknown || !wait.on.is_empty());
    let mut stuck: BTreeMap<usize, BTreeSet<usize>> = waiting.iter().filter(is_known).map(|process| (process.pid, on(process))).collect();
    loop {
        let members: BTreeSet<usize> = stuck.keys().copied().collect();
        stuck.retain(|_, on| !on.is_empty() && on.is_subset(&members));
        if stuck.len() == members.len() {
            break;
        }
    }
    let Some(smallest) = stuck.keys().map(|&pid| reachable(pid, &stuck)).min_by_key(BTreeSet::len) else { return Knot::default() };
    let preferred = |pid: usize| -> BTreeSet<usize> {
        let process = waiting.iter().find(|process| process.pid == pid);
        let all = || process.into_iter().flat_map(|process| &process.options).flat_map(|wait| &wait.on);
        let holders: BTreeSet<usize> = all().filter(|on| on.since.is_some()).map(|on| on.pid).collect();
        if holders.is_empty() { all().map(|on| on.pid).collect() } else { holders }
    };
    let edges: BTreeMap<usize, BTreeSet<usize>> = smallest.iter().map(|&pid| (pid, preferred(pid))).collect();
    let cycles = smallest.iter().filter_map(|&start| shortest_cycle(start, &edges));
    let cycle = cycles.min_by_key(Vec::len).unwrap_or_default();
    let others = smallest.into_iter().filter(|pid| !cycle.contains(pid)).collect();
    Knot { cycle, others }
}

/// The processes that are reached from one of them, itself included.
fn reachable(start: usize, edges: &BTreeMap<usize, BTreeSet<usize>>) -> BTreeSet<usize> {
    let (mut seen, mut open) = (BTreeSet::from([start]), vec![start]);
    while let Some(pid) = open.pop() {
        open.extend(edges.get(&pid).into_iter().flatten().filter(|next| seen.insert(**next)));
    }
    seen
}

/// The shortest cycle through a process.
fn shortest_cycle(start: usize, edges: &BTreeMap<usize, BTreeSet<usize>>) -> Option<Vec<usize>> {
    let (mut paths, mut seen) = (VecDeque::from([vec![start]]), BTreeSet::new());
    while let Some(path) = paths.pop_front() {
        for &pid in edges.get(path.last()?).into_iter().flatten() {
            if pid == start {
                return Some(path);
            }
            if seen.insert(pid) {
                paths.push_back(path.iter().copied().chain([pid]).collect());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Choice;
    use crate::waiting::{Wait, WaitsOn};

    /// Process number `i` waits for those in the list number `i`; a negative number is a process
    /// that has what is waited for.
    fn knot_of(waits: &[&[i64]]) -> (Vec<usize>, Vec<usize>) {
        let on = |&pid: &i64| WaitsOn { pid: pid.unsigned_abs() as usize, since: (pid < 0).then_some(1) };
        let of = |(pid, waits): (usize, &&[i64])| {
            let choice = Choice { statement: String::new(), position: None, origin: None };
            let wait = Wait { choice, why: Why::Condition(Vec::new()), on: waits.iter().map(on).collect() };
            Waiting { pid, process: "P".to_owned(), may_end: false, options: vec![wait] }
        };
        let Knot { cycle, others } = knot(&waits.iter().enumerate().map(of).collect::<Vec<_>>());
        (cycle, others)
    }

    #[test]
    fn a_cycle_explains_only_if_there_is_no_way_out_of_it() {
        assert_eq!(knot_of(&[&[1], &[0]]), (vec![0, 1], vec![]));
        assert_eq!(knot_of(&[&[1], &[2], &[1], &[0]]), (vec![1, 2], vec![]));
        // Process 0 could also be helped by process 2, which waits for nobody.
        assert_eq!(knot_of(&[&[1, 2], &[0], &[]]), (vec![], vec![]));
        assert_eq!(knot_of(&[&[1], &[]]), (vec![], vec![]));
        assert_eq!(knot_of(&[]), (vec![], vec![]));
        // A process that waits for one of two, and both wait for it.
        assert_eq!(knot_of(&[&[1, 2], &[0], &[0]]), (vec![0, 1], vec![2]));
    }

    #[test]
    fn the_cycle_goes_through_those_who_have_what_is_waited_for() {
        // Three philosophers, 1, 3 and 5, have a fork each; 2, 4 and 6 are the forks.
        let forks: [&[i64]; 7] = [&[], &[-3, 4], &[-1, 5], &[-5, 6], &[-3, 1], &[-1, 2], &[-5, 3]];
        assert_eq!(knot_of(&forks), (vec![1, 3, 5], vec![2, 4, 6]));
    }
}
