//! Finds an accepted run in a component that contains one: short paths, one after the other, to
//! what the run still lacks.
//!
//! Each path is a shortest one within the component, found breadth first, so the cycle is short if
//! the component is well connected. It need not be the shortest of all.

use crate::components::{Fairness, Processes, Traits};
use crate::product::Product;
use contract::{Action, Successors, System, TraceStep};
use std::collections::{HashSet, VecDeque};

pub(crate) struct Lasso<'a, S> {
    pub product: &'a mut Product<S>,
    pub fairness: Fairness,
    pub stop: &'a dyn Fn() -> bool,
}

/// Whether a state belongs to the component.
type Member<'m> = dyn FnMut(&[u8]) -> bool + 'm;

/// Asked for each edge on the way: what is enabled where it begins, the edge, and where it ends.
type Goal<'g> = dyn FnMut(Processes, u64, Action, &[u8]) -> bool + 'g;

impl<S: System> Lasso<'_, S> {
    /// The steps of a cycle through `start`, inside the component, that is accepted and fair.
    /// `ever` are the processes that are enabled somewhere in the component. Nothing if there is no
    /// time for it.
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

    /// A shortest way from `start` to a member, along states `within`.
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

    /// A shortest way from `from` along members whose last edge satisfies `goal`; at least one
    /// step.
    fn way(&mut self, from: &[u8], member: &mut Member<'_>, goal: &mut Goal<'_>) -> Option<Vec<TraceStep>> {
        let mut out = Successors::new();
        // Where each state was reached from, by its position, and how.
        let mut reached: Vec<(usize, Action, Vec<u8>)> = vec![(0, Action::default(), from.to_vec())];
        let mut known: HashSet<Vec<u8>> = HashSet::from([from.to_vec()]);
        let mut waiting = VecDeque::from([0]);
        while let Some(position) = waiting.pop_front() {
            if (self.stop)() {
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
                    reached.push((position, entry.action, target.to_vec()));
                    waiting.push_back(reached.len() - 1);
                }
            }
        }
        None
    }
}
