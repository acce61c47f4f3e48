//! Finds an accepting run in a component that contains one: a sequence of short paths, each to
//! something that the run still lacks.
//!
//! Each path is a shortest one within the component, found breadth-first, so the cycle is short if
//! the component is well connected. It need not be the shortest of all.

use crate::components::{Fairness, Processes, Traits};
use crate::product::Product;
use contract::{Action, Successors, System, TraceStep};
use std::collections::{HashSet, VecDeque};

pub(crate) struct Lasso<'a, S> {
    pub product: &'a mut Product<S>,
    pub fairness: Fairness,
    /// Whether to stop, while so many bytes are held.
    pub stop: &'a dyn Fn(u64) -> bool,
}

/// The memory of a state in addition to two copies of its bytes: its entries in the tables.
const PER_STATE: u64 = 128;

/// Whether a state belongs to the component.
type Member<'m> = dyn FnMut(&[u8]) -> bool + 'm;

/// A predicate on edges: the processes enabled at the source, the edge, and the target.
type Goal<'g> = dyn FnMut(Processes, u64, Action, &[u8]) -> bool + 'g;

impl<S: System> Lasso<'_, S> {
    /// The steps of an accepting and fair cycle through `start` inside the component. `ever` are
    /// the processes that are enabled somewhere in the component. `None` if there is no time or no
    /// memory for it.
    pub fn around(&mut self, start: &[u8], member: &mut Member<'_>, ever: Processes) -> Option<Vec<TraceStep>> {
        let all_marks = self.product.automaton().all_marks();
        let mut steps: Vec<TraceStep> = Vec::new();
        let mut known = Traits::of_state(self.enabled(start));
        loop {
            let here = steps.last().and_then(|step| step.state.clone()).unwrap_or_else(|| start.to_vec());
            let lacking = all_marks & !known.marks;
            let starved = match self.fairness {
                Fairness::Strong => ever.without(known.moved),
                fairness => known.starved(fairness),
            };
            let way = if lacking != 0 {
                self.way(&here, member, &mut |_, marks, _, _| marks & lacking != 0)?
            } else if !starved.is_empty() {
                let strong = self.fairness == Fairness::Strong;
                self.way(&here, member, &mut |enabled, _, action, _| {
                    starved.contains(action.process) || !strong && !starved.without(enabled).is_empty()
                })?
            } else if steps.is_empty() || here != start {
                self.way(&here, member, &mut |_, _, _, target| target == start)?
            } else {
                return Some(steps);
            };
            let mut source = here;
            for step in &way {
                known = known.and(Traits::of_state(self.enabled(&source)));
                let marks = self.product.marks(self.product.automaton_state(&source), step.action);
                known = known.with_edge(marks, step.action.process);
                source = step.state.clone()?;
            }
            steps.extend(way);
        }
    }

    /// A shortest path from `start` to a member, through states `within`.
    pub fn way_to_member(&mut self, start: &[u8], within: &mut Member<'_>, member: &mut Member<'_>) -> Option<Vec<TraceStep>> {
        if member(start) {
            return Some(Vec::new());
        }
        self.way(start, within, &mut |_, _, _, target| member(target))
    }

    fn enabled(&mut self, state: &[u8]) -> Processes {
        let mut out = Successors::new();
        self.product.successors(state, &mut out);
        Processes::enabled(&out)
    }

    /// A shortest path from `from` through members whose last edge satisfies `goal`; it has at
    /// least one step.
    fn way(&mut self, from: &[u8], member: &mut Member<'_>, goal: &mut Goal<'_>) -> Option<Vec<TraceStep>> {
        let mut out = Successors::new();
        // The position of each state's predecessor, the action, and the state.
        let mut reached: Vec<(usize, Action, Vec<u8>)> = vec![(0, Action::default(), from.to_vec())];
        let mut known: HashSet<Vec<u8>> = HashSet::from([from.to_vec()]);
        let mut waiting = VecDeque::from([0]);
        let mut bytes = 0;
        while let Some(position) = waiting.pop_front() {
            if (self.stop)(bytes) {
                return None;
            }
            out.clear();
            let source = reached[position].2.clone();
            self.product.successors(&source, &mut out);
            if out.is_cut_short() {
                return None;
            }
            let enabled = Processes::enabled(&out);
            let at = self.product.automaton_state(&source);
            for (entry, target) in out.iter() {
                let Some(target) = target else { continue };
                if !member(target) {
                    continue;
                }
                if goal(enabled, self.product.marks(at, entry.action), entry.action, target) {
                    let mut way = vec![TraceStep { action: entry.action, state: Some(target.to_vec()) }];
                    let mut at = position;
                    while at != 0 {
                        let (before, action, state) = &reached[at];
                        way.push(TraceStep { action: *action, state: Some(state.clone()) });
                        at = *before;
                    }
                    way.reverse();
                    return Some(way);
                }
                if known.insert(target.to_vec()) {
                    bytes += 2 * target.len() as u64 + PER_STATE;
                    reached.push((position, entry.action, target.to_vec()));
                    waiting.push_back(reached.len() - 1);
                }
            }
        }
        None
    }
}
