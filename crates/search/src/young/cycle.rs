//! Finds a run through an accepting cycle among the states that no round has removed.

use super::{Shared, Worker};
use crate::components::{Fairness, Processes};
use crate::lasso::Lasso;
use crate::monitor::Monitor;
use contract::{Store, StoreWorker, Successors, System, Trace};
use std::collections::HashSet;

impl<S: System + Clone, W: StoreWorker> Worker<'_, S, W> {
    /// A path to an accepting cycle among the states of a round, and around it.
    pub(super) fn lasso<T: Store>(&mut self, round: u32, visited: &T, monitor: &Monitor<'_>) -> Option<Trace> {
        let members = self.accepting_component(round, monitor)?;
        let start = *members.iter().min()?;
        let mut trace = self.way(start, monitor)?;
        self.read(start);
        let start = self.state.clone();
        let (number, standing) = (self.number, self.standing(self.depth));
        let stop = |bytes| !monitor.may_hold(number, &standing.holding(bytes), visited);
        let Worker { product, store, shared, .. } = self;
        let mut member = |state: &[u8]| {
            let hash = store.hash(state);
            let name = store.insert(hash, state).ok().map(|inserted| inserted.id);
            name.and_then(|name| shared.nodes.number(name)).is_some_and(|number| members.contains(&number))
        };
        let around = Lasso { product, fairness: Fairness::None, stop: &stop }.around(&start, &mut member, Processes::default())?;
        trace.loop_start = Some(trace.steps.len());
        trace.steps.extend(around);
        Some(trace)
    }

    /// A strongly connected component among the states of a round with an accepting edge (Tarjan;
    /// Gabow, "Path-based depth-first search for strong and biconnected components", 2000).
    fn accepting_component(&mut self, round: u32, monitor: &Monitor<'_>) -> Option<HashSet<u32>> {
        const UNSEEN: u32 = u32::MAX;
        const COMPLETE: u32 = u32::MAX - 1;
        let end = self.shared.nodes.end();
        let mut order = vec![UNSEEN; end as usize];
        let mut polls = 0_u32;
        for root in 0..end {
            let alive = |shared: &Shared, number: u32| shared.is_in(shared.nodes.value(number), round);
            if order[root as usize] != UNSEEN || self.shared.nodes.name(root).is_none() || !alive(self.shared, root) {
                continue;
            }
            let mut live: Vec<u32> = Vec::new();
            let mut borders: Vec<u32> = Vec::new();
            let mut path: Vec<(u32, Vec<u32>)> = Vec::new();
            let mut next = Some(root);
            loop {
                if let Some(number) = next.take() {
                    polls += 1;
                    if polls.is_multiple_of(256) && monitor.had_enough() {
                        return None;
                    }
                    order[number as usize] = live.len() as u32;
                    borders.push(live.len() as u32);
                    live.push(number);
                    path.push((number, self.inside(number, round).into_iter().map(|(target, _)| target).collect()));
                }
                let Some((number, targets)) = path.last_mut() else { break };
                let number = *number;
                if let Some(target) = targets.pop() {
                    match order[target as usize] {
                        UNSEEN => next = Some(target),
                        COMPLETE => {}
                        place => {
                            while borders.last().is_some_and(|&border| border > place) {
                                borders.pop();
                            }
                        }
                    }
                    continue;
                }
                path.pop();
                let place = order[number as usize];
                if borders.last() != Some(&place) {
                    continue;
                }
                borders.pop();
                let component = live.split_off(place as usize);
                component.iter().for_each(|&state| order[state as usize] = COMPLETE);
                let members: HashSet<u32> = component.iter().copied().collect();
                if component.iter().any(|&state| self.accepts(state, round, &members)) {
                    return Some(members);
                }
            }
        }
        None
    }

    /// Whether a state has an accepting edge to one of `members`.
    fn accepts(&mut self, number: u32, round: u32, members: &HashSet<u32>) -> bool {
        self.inside(number, round).iter().any(|(target, accepting)| *accepting && members.contains(target))
    }

    /// The successors of a state that are in a round and in its region, each with whether the edge
    /// to it accepts.
    fn inside(&mut self, number: u32, round: u32) -> Vec<(u32, bool)> {
        self.read(number);
        let mut out = Successors::new();
        self.product.successors(&self.state, &mut out);
        let (region, at, all) = (self.region(&self.state), self.product.automaton_state(&self.state), self.product.automaton().all_marks());
        let mut targets = Vec::new();
        for (entry, state) in out.iter() {
            let Some(state) = state else { continue };
            if self.region(state) != region {
                continue;
            }
            let hash = self.store.hash(state);
            let target = self.known(hash, state);
            if let Some(target) = target.filter(|&target| self.shared.is_in(self.shared.nodes.value(target), round)) {
                targets.push((target, self.product.marks(at, entry.action) & all == all));
            }
        }
        targets
    }
}
