//! The graph, and the `System` over it.

use contract::{Action, FaultCode, PROPOSITIONS_MAX, Proposition, Successors, System};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

/// The atom that makes a state without edges an accepted end.
pub const END: &str = "end";

/// The atom whose value in a state is its progress, in graphs that have such values.
pub const PROGRESS: &str = "progress";

/// An edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The state it leaves.
    pub source: u32,
    /// Its label, in the graph's list of labels.
    pub label: u32,
    /// The state it enters.
    pub target: u32,
    /// Its line in the file, from 1.
    pub line: u32,
}

/// A labelled transition system.
///
/// Edges are sorted by their source and found by binary search, so memory is proportional to the
/// length of the file and not to the numbers in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lts {
    pub(crate) file: String,
    pub(crate) initial: u32,
    pub(crate) states: u32,
    pub(crate) edges: Vec<Edge>,
    pub(crate) labels: Vec<String>,
    pub(crate) atoms: Vec<String>,
    /// For each state that has some, its atoms, ascending.
    pub(crate) marked: BTreeMap<u32, Vec<u32>>,
    /// For each state its progress, if the graph has such values.
    pub(crate) progress: BTreeMap<u32, i64>,
    /// Formulas that are stated about the graph, with their names. They are not part of the file.
    pub(crate) formulas: Vec<(String, String)>,
}

impl Lts {
    /// The name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The initial state.
    pub fn initial(&self) -> u32 {
        self.initial
    }

    /// The number of states that the file states; not all need be reachable.
    pub fn states(&self) -> u32 {
        self.states
    }

    /// The edges that leave a state, in the order of the file.
    pub fn leaving(&self, state: u32) -> &[Edge] {
        &self.edges[self.range(state)]
    }

    fn range(&self, state: u32) -> Range<usize> {
        let start = self.edges.partition_point(|edge| edge.source < state);
        let end = start + self.edges[start..].partition_point(|edge| edge.source == state);
        start..end
    }

    /// The label of an edge.
    pub fn label(&self, edge: &Edge) -> &str {
        self.labels.get(edge.label as usize).map_or("", String::as_str)
    }

    /// States a formula of linear temporal logic over the atoms.
    pub fn state_formula(&mut self, name: String, text: String) {
        self.formulas.push((name, text));
    }

    /// The formulas that were stated, by their names.
    pub fn formulas(&self) -> &[(String, String)] {
        &self.formulas
    }

    /// All atoms of the states.
    pub fn atoms(&self) -> &[String] {
        &self.atoms
    }

    /// Whether a state has the atom with this number.
    pub fn has(&self, state: u32, atom: u32) -> bool {
        self.marked.get(&state).is_some_and(|atoms| atoms.binary_search(&atom).is_ok())
    }

    /// The value of an atom in a state: 1 if the state has it, 0 if not; for [`PROGRESS`], the
    /// progress.
    pub fn value(&self, state: u32, atom: u32) -> i64 {
        match self.atoms.get(atom as usize) {
            Some(name) if name == PROGRESS && !self.progress.is_empty() => self.progress.get(&state).copied().unwrap_or(0),
            _ => self.has(state, atom).into(),
        }
    }

    /// Whether the graph may end in a state.
    pub fn may_end(&self, state: u32) -> bool {
        self.atoms.iter().position(|atom| atom == END).is_some_and(|atom| self.has(state, atom as u32))
    }

    /// The graph as the text of a file. Parsing it gives the same graph, except for the lines of
    /// its edges.
    pub fn to_text(&self) -> String {
        let mut out = format!("des ({}, {}, {})\n", self.initial, self.edges.len(), self.states);
        for edge in &self.edges {
            // Writing to a `String` cannot fail.
            let _ = writeln!(out, "({}, \"{}\", {})", edge.source, self.label(edge), edge.target);
        }
        for (state, atoms) in &self.marked {
            let _ = write!(out, "state ({state}");
            // Atoms are sorted by name, because their numbers depend on where they first occur.
            let mut names: Vec<&str> = atoms.iter().map(|&atom| self.atoms[atom as usize].as_str()).collect();
            names.sort_unstable();
            for name in names {
                let _ = write!(out, ", \"{name}\"");
            }
            out.push_str(")\n");
        }
        out
    }
}

/// A state as bytes.
pub fn state_bytes(state: u32) -> [u8; 4] {
    state.to_le_bytes()
}

/// The number of a state, or `None` if the bytes are not a state of this graph.
pub fn state_number(graph: &Lts, state: &[u8]) -> Option<u32> {
    let number = u32::from_le_bytes(state.try_into().ok()?);
    (number < graph.states).then_some(number)
}

/// One worker's access to a graph as a system.
#[derive(Clone, Debug)]
pub struct Walker {
    graph: Arc<Lts>,
    propositions: Arc<[Proposition]>,
}

impl Walker {
    /// A system over a graph, which evaluates these propositions. A graph has no accept or progress
    /// labels.
    pub fn new(graph: Arc<Lts>, propositions: Arc<[Proposition]>) -> Walker {
        Walker { graph, propositions }
    }
}

impl System for Walker {
    fn initial(&mut self, out: &mut Successors) {
        out.push(&state_bytes(self.graph.initial), Action::default());
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let Some(number) = state_number(&self.graph, state) else { return };
        for (choice, edge) in self.graph.leaving(number).iter().enumerate() {
            out.push(&state_bytes(edge.target), Action::new(0, choice as u32));
        }
    }

    fn atoms(&mut self, state: &[u8]) -> Result<u64, FaultCode> {
        let Some(number) = state_number(&self.graph, state) else { return Ok(0) };
        let value = |proposition: &Proposition| match *proposition {
            Proposition::Atom(atom) => self.graph.has(number, atom),
            Proposition::Accepting => false,
            Proposition::NonProgress => true,
        };
        let values = self.propositions.iter().take(PROPOSITIONS_MAX).enumerate();
        Ok(values.fold(0, |bits, (position, proposition)| bits | u64::from(value(proposition)) << position))
    }

    fn values(&mut self, state: &[u8], atoms: &[u32], out: &mut Vec<i64>) -> Result<(), FaultCode> {
        let number = state_number(&self.graph, state);
        out.extend(atoms.iter().map(|&atom| number.map_or(0, |number| self.graph.value(number, atom))));
        Ok(())
    }

    fn is_valid_end(&mut self, state: &[u8]) -> bool {
        state_number(&self.graph, state).is_none_or(|number| self.graph.may_end(number))
    }
}
