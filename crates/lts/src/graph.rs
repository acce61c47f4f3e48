//! The graph, and the `System` over it.

use crate::text::{edge_line, fault_line, fault_words, header_line, state_line};
use contract::{Action, Fault, FaultCode, PROPOSITIONS_MAX, Proposition, Successor, Successors, System, ViolationKind};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// The atom that makes a state without edges an accepted end.
pub const END: &str = "end";

/// The atom that no run may pass again and again, like an accept label.
pub const ACCEPT: &str = "accept";

/// The atom that marks progress, like a progress label. In graphs whose states have progress values
/// it is the name of these values.
pub const PROGRESS: &str = "progress";

/// The target of a step that has a fatal fault. No state has this number.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// An edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The state it leaves.
    pub source: u32,
    /// Its label, in the graph's list of labels.
    pub label: u32,
    /// The state it enters; a number that no state has if the step has a fatal fault.
    pub target: u32,
    /// Its line in the file, from 1.
    pub line: u32,
}

impl Edge {
    /// The state it enters; none if the step has a fatal fault.
    pub fn reaches(&self) -> Option<u32> {
        (self.target != NOWHERE).then_some(self.target)
    }
}

/// A fault that a file states about steps, or about the initial state if there is no step.
pub(crate) struct StatedFault {
    /// The source and the label.
    pub step: Option<(u32, u32)>,
    /// The target; none if the fault is fatal.
    pub target: Option<u32>,
    pub fault: Fault,
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
    /// The faults, each once.
    pub(crate) faults: Vec<Fault>,
    /// For each edge whose step commits a fault, by its position, the fault.
    pub(crate) faulty: BTreeMap<usize, u32>,
    /// The fault of the initial state.
    pub(crate) initial_fault: Option<u32>,
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

    /// The edges that leave a state, in the order of the file. Steps with fatal faults are the last
    /// ones.
    pub fn leaving(&self, state: u32) -> &[Edge] {
        &self.edges[self.range(state)]
    }

    fn range(&self, state: u32) -> Range<usize> {
        let start = self.edges.partition_point(|edge| edge.source < state);
        let end = start + self.edges[start..].partition_point(|edge| edge.source == state);
        start..end
    }

    /// Sorts the edges and adds what is stated about faults. If a fault is stated about an edge
    /// that does not exist, its position in the list is the error.
    pub(crate) fn complete(&mut self, stated: Vec<StatedFault>) -> Result<(), usize> {
        let mut numbers: HashMap<(&'static str, String), u32> = HashMap::new();
        let mut about: HashMap<(u32, u32, u32), (usize, VecDeque<u32>)> = HashMap::new();
        for (position, StatedFault { step, target, fault, line }) in stated.into_iter().enumerate() {
            let number = *numbers.entry((fault.kind.name(), fault.message.clone())).or_insert_with(|| {
                self.faults.push(fault);
                self.faults.len() as u32 - 1
            });
            let Some((source, label)) = step else {
                self.initial_fault = Some(number);
                continue;
            };
            let target = target.unwrap_or(NOWHERE);
            if target == NOWHERE {
                self.edges.push(Edge { source, label, target, line });
            }
            about.entry((source, label, target)).or_insert_with(|| (position, VecDeque::new())).1.push_back(number);
        }
        // The sort is stable: the edges of a state stay in the order of the file.
        self.edges.sort_by_key(|edge| edge.source);
        if about.is_empty() {
            return Ok(());
        }
        let mut unused: HashMap<(u32, u32, u32), usize> = about.iter().map(|(key, (position, _))| (*key, *position)).collect();
        for (index, edge) in self.edges.iter().enumerate() {
            let key = (edge.source, edge.label, edge.target);
            let Some((_, numbers)) = about.get_mut(&key) else { continue };
            unused.remove(&key);
            // Each line with a fatal fault is a step of its own. Other lines are about all edges
            // that are equal.
            let number = if edge.target == NOWHERE { numbers.pop_front() } else { numbers.front().copied() };
            self.faulty.extend(number.map(|number| (index, number)));
        }
        unused.into_values().min().map_or(Ok(()), Err)
    }

    /// The fault that the step by an edge commits, if it does; the edge is known by its position in
    /// [`leaving`](Self::leaving).
    pub fn fault_of(&self, state: u32, position: usize) -> Option<&Fault> {
        self.faults.get(self.fault_number(self.range(state).start + position)? as usize)
    }

    fn fault_number(&self, index: usize) -> Option<u32> {
        if self.faulty.is_empty() { None } else { self.faulty.get(&index).copied() }
    }

    /// The fault of the initial state, if it has one.
    pub fn initial_fault(&self) -> Option<&Fault> {
        self.faults.get(self.initial_fault? as usize)
    }

    /// All faults that the file states, each once.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
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

    /// Whether a state has the atom with this name.
    fn has_named(&self, state: u32, name: &str) -> bool {
        self.atoms.iter().position(|atom| atom == name).is_some_and(|atom| self.has(state, atom as u32))
    }

    /// Whether the graph may end in a state.
    pub fn may_end(&self, state: u32) -> bool {
        self.has_named(state, END)
    }

    /// The graph as the text of a file. Parsing it gives the same graph, except for the lines of
    /// its edges and for characters that cannot be part of a label.
    pub fn to_text(&self) -> String {
        let mut out = Vec::new();
        // Writing to memory cannot fail.
        let _ = self.write_text(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    fn write_text(&self, out: &mut Vec<u8>) -> std::io::Result<()> {
        let reaching = self.edges.iter().filter_map(|edge| Some((edge, edge.reaches()?)));
        header_line(out, self.initial.into(), reaching.clone().count() as u64, self.states.into())?;
        for (edge, target) in reaching {
            edge_line(out, edge.source.into(), self.label(edge), target.into())?;
        }
        for (&state, atoms) in &self.marked {
            // Atoms are sorted by name, because their numbers depend on where they first occur.
            let mut names: Vec<&str> = atoms.iter().map(|&atom| self.atoms[atom as usize].as_str()).collect();
            names.sort_unstable();
            state_line(out, state.into(), &names)?;
        }
        if let Some(fault) = self.initial_fault() {
            fault_line(out, None, Some(self.initial.into()), fault_words(fault))?;
        }
        for (&index, &number) in &self.faulty {
            let edge = &self.edges[index];
            let step = Some((edge.source.into(), self.label(edge)));
            fault_line(out, step, edge.reaches().map(u64::from), fault_words(&self.faults[number as usize]))?;
        }
        Ok(())
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
    /// A system over a graph, which evaluates these propositions. The atoms [`ACCEPT`] and
    /// [`PROGRESS`] are its accept and progress labels.
    pub fn new(graph: Arc<Lts>, propositions: Arc<[Proposition]>) -> Walker {
        Walker { graph, propositions }
    }
}

impl System for Walker {
    fn initial(&mut self, out: &mut Successors) {
        let state = state_bytes(self.graph.initial);
        match self.graph.initial_fault.and_then(code) {
            Some(fault) => out.push_faulty(&state, Action::default(), fault),
            None => out.push(&state, Action::default()),
        }
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let Some(number) = state_number(&self.graph, state) else { return };
        let range = self.graph.range(number);
        for (choice, index) in range.enumerate() {
            let action = Action::new(0, choice as u32);
            match (self.graph.edges[index].reaches(), self.graph.fault_number(index).and_then(code)) {
                (Some(target), None) => out.push(&state_bytes(target), action),
                (Some(target), Some(fault)) => out.push_faulty(&state_bytes(target), action, fault),
                (None, Some(fault)) => out.fail(action, fault, Successor::NO_STEP),
                // Only a step with a fault has no target.
                (None, None) => {}
            }
        }
    }

    fn atoms(&mut self, state: &[u8]) -> Result<u64, FaultCode> {
        let Some(number) = state_number(&self.graph, state) else { return Ok(0) };
        let value = |proposition: &Proposition| match *proposition {
            Proposition::Atom(atom) => self.graph.has(number, atom),
            Proposition::Accepting => self.graph.has_named(number, ACCEPT),
            Proposition::NonProgress => !self.graph.has_named(number, PROGRESS),
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

    fn describe_fault(&self, code: FaultCode) -> Fault {
        let known = self.graph.faults.get(code.get() as usize - 1);
        known.cloned().unwrap_or_else(|| Fault::new(ViolationKind::Other("fault"), "the graph states no such fault"))
    }
}

/// The fault of a graph with this number, as a search knows it.
fn code(number: u32) -> Option<FaultCode> {
    FaultCode::new(number + 1)
}
