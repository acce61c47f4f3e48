//! A state space as a labelled graph, in the formats other tools read.
//!
//! `.aut` is the Aldebaran format of CADP, mCRL2 and LTSmin; `.dot` is Graphviz; `.json` is for all
//! other tools. They are written as a stream, without a second copy of the graph in memory. A small
//! graph can also be drawn, as `.svg`. Pictures and JSON also show the strongly connected
//! components, which `components` finds.

use crate::components::Components;
use crate::diagram::{BoxKind, Diagram, DiagramBox, TooLarge, diagrams_svg};
use contract::Fault;
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

/// An edge: source, label, target, as positions in [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The state it leaves.
    pub source: u32,
    /// Its label, a position in the graph's list of labels.
    pub label: u32,
    /// The state it enters.
    pub target: u32,
}

/// The number of edges that are allocated at a time. A list that doubles would need three times its
/// memory while it is moved.
const CHUNK: usize = 1 << 16;

/// A finite graph with labelled edges. State 0 is the initial one.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    states: u32,
    /// All chunks are full except the last.
    edges: Vec<Vec<Edge>>,
    labels: Vec<String>,
    numbers: HashMap<String, u32>,
    /// The values of each state, one line each; empty if they are not wanted.
    values: Vec<String>,
    value_bytes: u64,
    /// States and their atoms, which are positions in `labels`, in the order of the states.
    marks: Vec<(u32, u32)>,
    faults: Vec<StepFault>,
    fault_bytes: u64,
}

/// A fault of a step, or of the initial state if there is no step.
#[derive(Clone, Debug)]
struct StepFault {
    /// The source and the label, a position in `labels`.
    step: Option<(u32, u32)>,
    target: Option<u32>,
    fault: Fault,
}

impl Graph {
    /// A graph without states.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// Adds all states up to number `number`.
    pub fn add_state(&mut self, number: u32) {
        self.states = self.states.max(number + 1);
    }

    /// Adds an edge between two states, which are added if necessary. Equal labels are stored once.
    pub fn add_edge(&mut self, source: u32, label: &str, target: u32) {
        let label = self.text(label);
        self.add_state(source.max(target));
        match self.edges.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(Edge { source, label, target }),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(Edge { source, label, target });
                self.edges.push(chunk);
            }
        }
    }

    fn text(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.labels.len() as u32;
        self.labels.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }

    /// Adds an atom of a state, which is added if necessary. States come in the order of their
    /// numbers.
    pub fn add_mark(&mut self, state: u32, atom: &str) {
        self.add_state(state);
        let atom = self.text(atom);
        self.marks.push((state, atom));
    }

    /// Adds the fault of a step, or of the initial state if there is no step. A fatal fault has no
    /// target; another one is that of an edge of the graph.
    pub fn add_fault(&mut self, step: Option<(u32, &str)>, target: Option<u32>, fault: &Fault) {
        step.iter().for_each(|(source, _)| self.add_state(*source));
        let step = step.map(|(source, label)| (source, self.text(label)));
        self.fault_bytes += (size_of::<StepFault>() + fault.message.len()) as u64;
        self.faults.push(StepFault { step, target, fault: fault.clone() });
    }

    /// The states that have atoms, and the names of these.
    fn marked(&self) -> impl Iterator<Item = (u32, Vec<&str>)> {
        let name = |(_, atom): &(u32, u32)| self.labels[*atom as usize].as_str();
        self.marks.chunk_by(|a, b| a.0 == b.0).map(move |marks| (marks[0].0, marks.iter().map(name).collect()))
    }

    /// The faults: the source and the label of the step, the target, and the fault.
    fn faults(&self) -> impl Iterator<Item = (Option<(u32, &str)>, Option<u32>, &Fault)> {
        let step = |step: (u32, u32)| (step.0, self.labels[step.1 as usize].as_str());
        self.faults.iter().map(move |fault| (fault.step.map(step), fault.target, &fault.fault))
    }

    /// Sets the values of a state, which is added if necessary, one line each. A picture shows
    /// them.
    pub fn set_values(&mut self, state: u32, values: String) {
        self.add_state(state);
        if self.values.len() <= state as usize {
            self.values.resize(state as usize + 1, String::new());
        }
        self.value_bytes += (values.capacity() + 2 * size_of::<String>()) as u64;
        self.values[state as usize] = values;
    }

    /// The number of states.
    pub fn states(&self) -> u32 {
        self.states
    }

    /// The edges, in the order they were added.
    pub fn edges(&self) -> impl Iterator<Item = &Edge> {
        self.edges.iter().flatten()
    }

    /// The label of an edge of this graph.
    pub fn label(&self, edge: &Edge) -> &str {
        &self.labels[edge.label as usize]
    }

    /// The approximate memory of the edges, the values, the atoms and the faults, which grows with
    /// the state space.
    pub fn bytes(&self) -> u64 {
        let marks = self.marks.capacity() * size_of::<(u32, u32)>();
        (self.edges.len() * CHUNK * size_of::<Edge>() + marks) as u64 + self.value_bytes + self.fault_bytes
    }

    /// The strongly connected components.
    fn components(&self) -> Components {
        Components::of(self.states, || self.edges().map(|edge| (edge.source, edge.target)))
    }

    /// Writes the graph.
    pub fn write(&self, format: GraphFormat, out: &mut dyn Write) -> io::Result<()> {
        match format {
            GraphFormat::Aut => self.write_aut(out),
            GraphFormat::Dot => self.write_dot(out),
            GraphFormat::Json => self.write_json(out),
            GraphFormat::Svg => out.write_all(self.svg().map_err(io::Error::other)?.as_bytes()),
            GraphFormat::Lts => self.write_binary(out),
        }
    }

    /// The graph as a picture.
    fn svg(&self) -> Result<String, TooLarge> {
        let boxed = |state: u32| {
            let values = self.values.get(state as usize).map_or("", String::as_str).lines().map(str::to_owned);
            let kind = if state == 0 { BoxKind::Initial } else { BoxKind::Plain };
            DiagramBox { lines: std::iter::once(state.to_string()).chain(values).collect(), kind, story: String::new() }
        };
        // Larger graphs are refused before boxes are made.
        if self.states as usize > 4096 {
            return Err(TooLarge { boxes: self.states as usize, edges: self.edges().count() });
        }
        let edges = self.edges().map(|edge| (edge.source as usize, edge.target as usize, self.label(edge).to_owned())).collect();
        diagrams_svg(&[Diagram { title: "state space".to_owned(), boxes: (0..self.states).map(boxed).collect(), edges }])
    }

    fn write_aut(&self, out: &mut dyn Write) -> io::Result<()> {
        lts::header_line(out, 0, self.edges().count() as u64, self.states.into())?;
        for edge in self.edges() {
            lts::edge_line(out, edge.source.into(), self.label(edge), edge.target.into())?;
        }
        for (state, atoms) in self.marked() {
            lts::state_line(out, state.into(), &atoms)?;
        }
        for (step, target, fault) in self.faults() {
            let step = step.map(|(source, label)| (source.into(), label));
            lts::fault_line(out, step, target.map(u64::from), lts::fault_words(fault))?;
        }
        Ok(())
    }

    fn write_binary(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = lts::GraphWriter::new(out, &lts::GRAPH_MAGIC)?;
        for edge in self.edges() {
            writer.edge(edge.source.into(), self.label(edge), edge.target.into())?;
        }
        for (state, atoms) in self.marked() {
            atoms.iter().try_for_each(|atom| writer.mark(state.into(), atom))?;
        }
        for (step, target, fault) in self.faults() {
            let step = step.map(|(source, label)| (source.into(), label));
            writer.fault(step, target.map(u64::from), lts::fault_words(fault))?;
        }
        writer.finish(lts::GraphEnd { states: self.states.into(), workers: 1, ..lts::GraphEnd::default() }).map(drop)
    }

    fn write_dot(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "digraph everypath {{")?;
        writeln!(out, "  node [shape={}];", if self.values.is_empty() { "circle" } else { "box" })?;
        for state in 0..self.states {
            write!(out, "  {state} [label=\"{state}")?;
            let lines = self.values.get(state as usize).map_or("", String::as_str).lines();
            lines.map(escaped).try_for_each(|line| write!(out, "\\n{line}"))?;
            writeln!(out, "\"{}];", if state == 0 { ", peripheries=2" } else { "" })?;
        }
        for edge in self.edges() {
            writeln!(out, "  {} -> {} [label=\"{}\"];", edge.source, edge.target, escaped(self.label(edge)))?;
        }
        // A component is drawn if it has several states.
        let components = self.components();
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); components.count as usize];
        for (state, component) in components.of.iter().enumerate() {
            members[*component as usize].push(state as u32);
        }
        for (number, members) in members.iter().enumerate().filter(|(_, members)| members.len() > 1) {
            write!(out, "  subgraph cluster_{number} {{ label=\"component {number}\";")?;
            members.iter().try_for_each(|state| write!(out, " {state};"))?;
            writeln!(out, " }}")?;
        }
        writeln!(out, "}}")
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let components = self.components();
        write!(out, "{{\"states\":{},\"initial\":0,\"components\":{},\"component\":[", self.states, components.count)?;
        for (state, component) in components.of.iter().enumerate() {
            write!(out, "{}{component}", if state == 0 { "" } else { "," })?;
        }
        write!(out, "],\"transitions\":[")?;
        for (index, edge) in self.edges().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let label = serde_json::to_string(self.label(edge)).map_err(io::Error::other)?;
            write!(out, "{comma}\n{{\"source\":{},\"label\":{label},\"target\":{}}}", edge.source, edge.target)?;
        }
        write!(out, "],\"atoms\":[")?;
        for (index, (state, atoms)) in self.marked().enumerate() {
            let atoms = serde_json::json!({ "state": state, "atoms": atoms });
            write!(out, "{}\n{atoms}", if index == 0 { "" } else { "," })?;
        }
        write!(out, "],\"faults\":[")?;
        for (index, (step, target, fault)) in self.faults().enumerate() {
            let (kind, message) = lts::fault_words(fault);
            let (source, label) = (step.map(|(source, _)| source), step.map(|(_, label)| label));
            let fault = serde_json::json!({ "source": source, "label": label, "target": target, "kind": kind, "message": message });
            write!(out, "{}\n{fault}", if index == 0 { "" } else { "," })?;
        }
        writeln!(out, "]}}")
    }
}

/// Text between the quotes of Graphviz.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ")
}

/// The formats a graph can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphFormat {
    /// Aldebaran, `.aut`.
    Aut,
    /// Graphviz, `.dot`.
    Dot,
    /// `.json`: `states`, `initial`, `components`, for each state its `component`,
    /// `transitions` with `source`, `label`, `target`, `atoms` with `state` and `atoms`, and
    /// `faults` with `source`, `label`, `target`, `kind` and `message`.
    Json,
    /// A picture, `.svg`.
    Svg,
    /// The compact binary form, `.lts`.
    Lts,
}

/// A file ending that names no graph format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat(String);

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a graph cannot be written as `.{}`; use `.aut`, `.lts`, `.dot`, `.json` or `.svg`", self.0)
    }
}

impl std::error::Error for UnknownFormat {}

impl FromStr for GraphFormat {
    type Err = UnknownFormat;

    fn from_str(ending: &str) -> Result<GraphFormat, UnknownFormat> {
        match ending.to_ascii_lowercase().as_str() {
            "aut" => Ok(GraphFormat::Aut),
            "dot" | "gv" => Ok(GraphFormat::Dot),
            "json" => Ok(GraphFormat::Json),
            "svg" => Ok(GraphFormat::Svg),
            "lts" => Ok(GraphFormat::Lts),
            _ => Err(UnknownFormat(ending.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::ViolationKind;

    fn written(format: GraphFormat) -> String {
        let mut graph = Graph::new();
        graph.add_edge(0, "a \"b\" \\", 1);
        graph.add_edge(1, "c", 0);
        graph.add_edge(0, "c", 0);
        graph.add_mark(1, "p");
        graph.add_mark(1, "q");
        graph.add_mark(2, "end");
        graph.add_fault(Some((1, "c")), Some(0), &Fault::new(ViolationKind::Assertion, "x \"y\""));
        graph.add_fault(Some((1, "d")), None, &Fault::new(ViolationKind::Other("odd"), "z"));
        let mut out = Vec::new();
        graph.write(format, &mut out).expect("memory takes everything");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn aldebaran() {
        let expected = [
            "des (0, 3, 3)",
            "(0, \"a 'b' \\\", 1)",
            "(1, \"c\", 0)",
            "(0, \"c\", 0)",
            "state (1, \"p\", \"q\")",
            "state (2, \"end\")",
            "fault (1, \"c\", 0, \"assertion violated\", \"x 'y'\")",
            "fault (1, \"d\", none, \"fault\", \"z\")",
        ];
        assert_eq!(written(GraphFormat::Aut).lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn graphviz() {
        let text = written(GraphFormat::Dot);
        assert!(text.contains("0 -> 1 [label=\"a \\\"b\\\" \\\\\"];"), "{text}");
        assert!(text.contains("  2 [label=\"2\"];\n") && text.contains("  0 [label=\"0\", peripheries=2];\n"), "{text}");
        assert!(text.contains("{ label=\"component 0\"; 0; 1; }"), "{text}");
        let mut graph = Graph::new();
        graph.set_values(1, "x = 1\ns = \"a\"".to_owned());
        let mut out = Vec::new();
        graph.write(GraphFormat::Dot, &mut out).expect("memory takes everything");
        let text = String::from_utf8(out).expect("text");
        assert!(text.contains("  1 [label=\"1\\nx = 1\\ns = \\\"a\\\"\"];\n"), "{text}");
    }

    #[test]
    fn json() {
        let value: serde_json::Value = serde_json::from_str(&written(GraphFormat::Json)).expect("well-formed");
        assert_eq!(value["states"], 3);
        assert_eq!(value["transitions"][0]["label"], "a \"b\" \\");
        assert_eq!(value["transitions"].as_array().map(Vec::len), Some(3));
        assert_eq!(value["atoms"][0], serde_json::json!({ "state": 1, "atoms": ["p", "q"] }));
        assert_eq!((&value["faults"][0]["target"], &value["faults"][1]["target"]), (&0.into(), &serde_json::Value::Null));
        // States 0 and 1 reach each other; 2 is a component of its own.
        assert_eq!(value["components"], 2);
        assert_eq!(value["component"][0], value["component"][1]);
        assert_ne!(value["component"][0], value["component"][2]);
    }

    #[test]
    fn many_edges_stay_in_order() {
        let mut graph = Graph::new();
        let edges = 2 * CHUNK as u32 + 3;
        (0..edges).for_each(|number| graph.add_edge(number, "a", number / 2));
        assert!(graph.edges().map(|edge| (edge.source, edge.target)).eq((0..edges).map(|number| (number, number / 2))));
        assert_eq!(graph.bytes(), 3 * (CHUNK * size_of::<Edge>()) as u64);
    }

    #[test]
    fn an_empty_graph_is_well_formed() {
        for format in [GraphFormat::Aut, GraphFormat::Dot, GraphFormat::Json, GraphFormat::Svg] {
            let mut out = Vec::new();
            Graph::new().write(format, &mut out).expect("memory takes everything");
            assert!(!out.is_empty());
        }
    }
}
