//! Makes a path shorter without a search of the whole space: from each state of the path it
//! searches nearby for a state that is further along.
//!
//! A depth-first search takes many unnecessary steps. First only the direct successors of each
//! state are examined. This is repeated as long as it shortens the path. Then the search radius
//! grows, until the allowed work is done. The result is a path of the system from the same state to
//! the same end, never longer than before, and always the same for the same input.

use contract::{Successors, System, Trace, TraceStep};
use std::collections::{HashMap, HashSet};

/// The most states that are expanded around a state of the path.
const REACH_MAX: u64 = 1 << 12;

/// Shortens a trace by at most `expansions` expansions of states. `fixed` says that the last step
/// must stay what it is, not only the state it leads to; `stop` may end the work early.
pub fn shorten<S: System>(system: &mut S, trace: Trace, fixed: bool, expansions: u64, stop: &dyn Fn() -> bool) -> Trace {
    let Trace { initial, mut steps, loop_start } = trace;
    let last = if fixed { steps.pop() } else { None };
    let whole = steps.iter().all(|step| step.state.is_some());
    if loop_start.is_none() && whole {
        let mut work = Work { system, out: Successors::new(), left: expansions, stop };
        let mut reach = 1;
        while work.left > 0 && reach <= REACH_MAX && steps.len() > 1 {
            let shorter = work.pass(&initial, &steps, reach);
            if shorter.len() == steps.len() {
                reach *= 4;
            }
            steps = shorter;
        }
    }
    steps.extend(last);
    Trace { initial, steps, loop_start }
}

struct Work<'s, S> {
    system: &'s mut S,
    out: Successors,
    left: u64,
    stop: &'s dyn Fn() -> bool,
}

/// A state near the path.
struct Near {
    state: Vec<u8>,
    /// The step that led to it, and its predecessor near the path; `None` for the first state.
    from: Option<(usize, TraceStep)>,
    distance: usize,
}

impl<S: System> Work<'_, S> {
    /// Walks along the path once and takes every short cut it finds.
    fn pass(&mut self, initial: &[u8], steps: &[TraceStep], reach: u64) -> Vec<TraceStep> {
        let states = || std::iter::once(initial).chain(steps.iter().map(|step| step.state.as_deref().unwrap_or_default()));
        // The last position of each state on the path.
        let places: HashMap<&[u8], usize> = states().enumerate().map(|(place, state)| (state, place)).collect();
        let states: Vec<&[u8]> = states().collect();
        let (mut shorter, mut at) = (Vec::with_capacity(steps.len()), 0);
        while at < steps.len() {
            match self.look_around(states[at], at, reach, &places) {
                Some((way, place)) => {
                    shorter.extend(way);
                    at = place;
                }
                None => {
                    shorter.push(steps[at].clone());
                    at += 1;
                }
            }
        }
        shorter
    }

    /// The best short cut from the state at position `at` to a later one, if there is one within
    /// reach.
    fn look_around(&mut self, state: &[u8], at: usize, reach: u64, places: &HashMap<&[u8], usize>) -> Option<(Vec<TraceStep>, usize)> {
        let mut near = vec![Near { state: state.to_vec(), from: None, distance: 0 }];
        let mut seen: HashSet<Vec<u8>> = HashSet::from([state.to_vec()]);
        let mut best: Option<(usize, usize, usize)> = None;
        let mut next = 0;
        while next < near.len() && (next as u64) < reach {
            if self.left == 0 || (self.stop)() {
                self.left = 0;
                break;
            }
            self.left -= 1;
            self.out.clear();
            self.system.successors(&near[next].state, &mut self.out);
            let distance = near[next].distance + 1;
            for entry in self.out.entries() {
                // A step with a fault cannot be part of a short cut.
                let Some(target) = self.out.state(entry).filter(|_| entry.fault().is_none()) else { continue };
                if !seen.insert(target.to_vec()) {
                    continue;
                }
                let step = TraceStep { action: entry.action, state: Some(target.to_vec()) };
                near.push(Near { state: target.to_vec(), from: Some((next, step)), distance });
                let gain = places.get(target).and_then(|place| place.checked_sub(at + distance)).unwrap_or(0);
                if gain > best.map_or(0, |(gain, ..)| gain) {
                    best = Some((gain, near.len() - 1, places[target]));
                }
            }
            next += 1;
        }
        let (_, mut index, place) = best?;
        let mut way = Vec::new();
        while let Some((parent, step)) = near[index].from.take() {
            way.push(step);
            index = parent;
        }
        way.reverse();
        Some((way, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::Action;
    use contract::testing::numbers;

    fn bytes(number: u64) -> Vec<u8> {
        number.to_le_bytes().to_vec()
    }

    /// The path through these numbers, with the actions of the system.
    fn path(system: &mut impl System, through: impl IntoIterator<Item = u64>) -> Trace {
        let mut out = Successors::new();
        let mut trace: Option<Trace> = None;
        for number in through {
            let Some(trace) = &mut trace else {
                trace = Some(Trace { initial: bytes(number), ..Trace::default() });
                continue;
            };
            out.clear();
            system.successors(trace.last_state(), &mut out);
            let entry = out.entries().iter().find(|entry| out.state(entry) == Some(&bytes(number)[..])).expect("a step of the system");
            trace.steps.push(TraceStep { action: entry.action, state: Some(bytes(number)) });
        }
        trace.expect("a path")
    }

    fn check(system: &mut impl System, trace: &Trace) {
        let states: Vec<u64> = std::iter::once(&trace.initial)
            .chain(trace.steps.iter().filter_map(|step| step.state.as_ref()))
            .map(|state| u64::from_le_bytes(state[..].try_into().expect("a number")))
            .collect();
        assert_eq!(path(system, states).steps, trace.steps);
    }

    #[test]
    fn turns_that_were_not_needed_are_left_out() {
        // Steps of one up, ten up and one down: a hundred single steps, with a detour, become ten.
        let mut system = numbers(|n, next| [n + 1, n + 10, n.saturating_sub(1)].into_iter().for_each(next));
        let detour = (0..=60).chain((50..60).rev()).chain(51..=100);
        let long = path(&mut system, detour);
        assert_eq!(long.steps.len(), 120);
        let short = shorten(&mut system, long.clone(), false, u64::MAX, &|| false);
        check(&mut system, &short);
        assert_eq!((short.steps.len(), short.last_state()), (10, long.last_state()));
        // The result is always the same.
        assert_eq!(shorten(&mut system, long.clone(), false, u64::MAX, &|| false), short);
        // The last step is kept if it matters.
        let fixed = shorten(&mut system, long.clone(), true, u64::MAX, &|| false);
        check(&mut system, &fixed);
        assert_eq!(fixed.steps.last(), long.steps.last());
        assert!(fixed.steps.len() <= 19 + 1, "{}", fixed.steps.len());
    }

    #[test]
    fn what_cannot_be_shorter_stays_and_bounds_are_kept() {
        let mut system = numbers(|n, next| next(n + 1));
        let chain = path(&mut system, 0..=50);
        assert_eq!(shorten(&mut system, chain.clone(), false, u64::MAX, &|| false), chain);
        let mut system = numbers(|n, next| [n + 1, n + 10].into_iter().for_each(next));
        let long = path(&mut system, 0..=100);
        for expansions in [0, 1, 7, 30] {
            let partly = shorten(&mut system, long.clone(), false, expansions, &|| false);
            check(&mut system, &partly);
            assert!(partly.steps.len() <= 100 && partly.last_state() == long.last_state());
        }
        assert_eq!(shorten(&mut system, long.clone(), false, u64::MAX, &|| true), long);
        let unfinished = Trace { steps: vec![TraceStep { action: Action::new(0, 0), state: None }], ..long };
        assert_eq!(shorten(&mut system, unfinished.clone(), true, 100, &|| false), unfinished);
    }
}
