//! Describes an explicit graph: a step by its label, a state by its number and its atoms.

use crate::narrator::ReplayError;
use crate::step::{Statement, Step};
use crate::values::{Named, ProcessView, View};
use crate::words::{NotAState, Tell, Words};
use contract::{Action, Fault, Position};
use lts::{Edge, Lts, state_bytes, state_number};
use std::sync::Arc;

/// The name of a graph's only process.
const ACTOR: &str = "graph";

pub(crate) struct GraphWords {
    graph: Arc<Lts>,
}

impl GraphWords {
    pub fn new(graph: Arc<Lts>) -> GraphWords {
        GraphWords { graph }
    }

    fn number(&self, state: &[u8]) -> Result<u32, NotAState> {
        state_number(&self.graph, state).ok_or_else(|| NotAState(format!("the graph has {} states", self.graph.states())))
    }
}

struct GraphMoves<'w> {
    graph: &'w Lts,
    state: u32,
    edges: &'w [Edge],
}

impl Tell for GraphMoves<'_> {
    fn count(&self) -> usize {
        self.edges.len()
    }

    fn tell(&mut self, index: usize) -> Option<Step> {
        let edge = self.edges.get(index)?;
        let position = Some(Position { file: self.graph.file().to_owned(), line: edge.line, column: 1 });
        let statement = Statement { pid: 0, process: ACTOR.to_owned(), position, origin: None, text: self.graph.label(edge).to_owned() };
        Some(Step {
            action: Action::new(0, index as u32),
            statements: vec![Arc::new(statement)],
            left_out: None,
            printed: String::new(),
            because: None,
            warnings: Vec::new(),
            state: edge.reaches().map(|target| state_bytes(target).to_vec()),
            fault: self.graph.fault_of(self.state, index).cloned(),
        })
    }
}

impl Words for GraphWords {
    fn initial(&self) -> (Option<Vec<u8>>, Option<Fault>) {
        (Some(state_bytes(self.graph.initial()).to_vec()), self.graph.initial_fault().cloned())
    }

    fn moves<'w>(&'w self, state: &[u8]) -> Result<Box<dyn Tell + 'w>, ReplayError> {
        let state = self.number(state)?;
        Ok(Box::new(GraphMoves { graph: &self.graph, state, edges: self.graph.leaving(state) }))
    }

    fn label(&self, step: &Step) -> String {
        step.first().text.clone()
    }

    fn is_valid_end(&self, state: &[u8]) -> bool {
        self.number(state).is_ok_and(|number| self.graph.may_end(number))
    }

    fn view(&self, state: &[u8]) -> Result<View, NotAState> {
        let number = self.number(state)?;
        let atom = |(index, name): (usize, &String)| Named { name: name.clone(), value: self.graph.has(number, index as u32).to_string() };
        let globals = std::iter::once(Named { name: "state".to_owned(), value: number.to_string() });
        let edges = self.graph.leaving(number);
        let place = |edge: &Edge| Position { file: self.graph.file().to_owned(), line: edge.line, column: 1 };
        let process = ProcessView {
            pid: 0,
            name: ACTOR.to_owned(),
            position: edges.first().map(place),
            statement: edges.first().map_or_else(|| format!("state {number}"), |edge| self.graph.label(edge).to_owned()),
            may_end: self.graph.may_end(number),
            locals: Vec::new(),
        };
        Ok(View {
            globals: globals.chain(self.graph.atoms().iter().enumerate().map(atom)).collect(),
            channels: Vec::new(),
            processes: vec![process],
            exclusive: None,
            long: Vec::new(),
        })
    }
}
