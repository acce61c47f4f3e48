//! Process types as automata: from each control location the steps that leave it, and the least
//! number of transitions to each other location.
//!
//! A step inside an atomic or deterministic sequence is part of a longer transition and has length
//! 0. So the numbers are lower bounds.

use bytecode::{Location, Mode, ProcessId, Verified};
use contract::FAR;
use std::collections::VecDeque;
use stepgraph::{Effect, Node, NodeId, StepGraph};

/// The locations of a process type and the steps between them.
pub(crate) struct Automaton {
    /// For each location, the locations that its steps lead to, and the length of each step.
    edges: Vec<Vec<(Location, u32)>>,
    /// For each location, whether a step leads to it that does not end the transition.
    pub passed: Vec<bool>,
    /// The location where a process begins.
    pub entry: Option<Location>,
    /// For each location, the types of processes that its steps start.
    pub starts: Vec<Vec<ProcessId>>,
    /// For each location, whether the process can end there.
    pub ends: Vec<bool>,
}

impl Automaton {
    pub fn of(program: &Verified, graph: &StepGraph, ty: ProcessId) -> Automaton {
        let locations = program.locations();
        let count = locations.count(ty);
        let declared = program.program();
        let entry = declared.follow_jumps(declared.processes[ty.index()].entry).and_then(|at| locations.at(ty, at));
        let mut automaton =
            Automaton { edges: Vec::new(), passed: vec![false; count], entry, starts: Vec::new(), ends: vec![false; count] };
        let all = (0..count).filter_map(Location::new);
        for location in all {
            let (mut edges, mut starts) = (Vec::new(), Vec::new());
            let mut open: Vec<NodeId> = graph.find(ty, location).into_iter().collect();
            let mut seen = open.clone();
            while let Some(node) = open.pop() {
                match graph.node(node) {
                    Node::Step(Mode::Terminate, _) => automaton.ends[location.index()] = true,
                    Node::Step(mode, at) => {
                        let Some(target) = locations.after_step(*at) else { continue };
                        let goes_on = matches!(mode, Mode::Invisible | Mode::Deterministic);
                        automaton.passed[target.index()] |= goes_on;
                        edges.push((target, u32::from(!goes_on)));
                    }
                    Node::Do(Effect::Run { process, .. }, _) => starts.push(*process),
                    _ => {}
                }
                for next in graph.node(node).following() {
                    if !seen.contains(&next) {
                        seen.push(next);
                        open.push(next);
                    }
                }
            }
            edges.sort_unstable();
            edges.dedup();
            automaton.edges.push(edges);
            automaton.starts.push(starts);
        }
        automaton
    }

    /// For each location, whether steps that do not end the transition can lead back to it. Then a
    /// transition may be endless, which is an error.
    pub fn endless(&self) -> Vec<bool> {
        let leads_back = |from: usize| {
            let mut seen = vec![false; self.len()];
            let mut open = vec![from];
            while let Some(at) = open.pop() {
                for target in self.edges[at].iter().filter(|(_, weight)| *weight == 0).map(|(target, _)| target.index()) {
                    if target == from {
                        return true;
                    }
                    if !std::mem::replace(&mut seen[target], true) {
                        open.push(target);
                    }
                }
            }
            false
        };
        (0..self.len()).map(|at| self.passed[at] && leads_back(at)).collect()
    }

    pub fn len(&self) -> usize {
        self.edges.len()
    }

    /// For each location, the least number of transitions to one of the `targets`; [`FAR`] if there
    /// is no path.
    pub fn distances_to(&self, targets: &[Location]) -> Vec<u32> {
        let mut before: Vec<Vec<(usize, u32)>> = vec![Vec::new(); self.len()];
        for (source, edges) in self.edges.iter().enumerate() {
            edges.iter().for_each(|&(target, weight)| before[target.index()].push((source, weight)));
        }
        let mut distance = vec![FAR; self.len()];
        let mut open = VecDeque::new();
        for target in targets {
            distance[target.index()] = 0;
            open.push_back((target.index(), 0));
        }
        // Lengths are 0 and 1: the target of a step with length 0 goes to the front.
        while let Some((at, reached)) = open.pop_front() {
            if reached > distance[at] {
                continue;
            }
            for &(source, weight) in &before[at] {
                if reached + weight < distance[source] {
                    distance[source] = reached + weight;
                    match weight {
                        0 => open.push_front((source, reached)),
                        _ => open.push_back((source, reached + weight)),
                    }
                }
            }
        }
        distance
    }

    /// The same for the process with a certain number. If a process ends, another one of its type
    /// may get its number and begin at the entry. That takes a step to end and a step to start.
    pub fn distances_by_number(&self, target: Location) -> Vec<u32> {
        let mut distances = self.distances_to(&[target]);
        let ending: Vec<Location> = (0..self.len()).filter(|&at| self.ends[at]).filter_map(Location::new).collect();
        let begun = self.entry.map_or(0, |entry| distances[entry.index()]).saturating_add(2);
        for (distance, end) in distances.iter_mut().zip(self.distances_to(&ending)) {
            *distance = (*distance).min(end.saturating_add(begun));
        }
        distances
    }
}
