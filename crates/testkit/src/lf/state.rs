//! The state of a program, and its exploration.

use super::bisimulation::{Edge, Node};
use super::evaluate::Machine;
use super::{CALLS, ELEMENTS, GLOBALS, MESSAGES, PORTS, Program, SLOTS, Statement, Var, WIDE, each};
use std::collections::HashMap;

/// The result of an exploration.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
pub struct Graph {
    pub states: usize,
    pub transitions: usize,
    pub deadlocks: usize,
    /// Kinds of faults, in order.
    pub faults: Vec<String>,
    /// The states, the initial one first.
    pub nodes: Vec<Node>,
}

/// A statement that is still to be executed, by its number; or the test at the end of `REPEAT`, or
/// the return from a call, or the next turn of `FOR`, with its limit.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Todo {
    Statement(usize),
    Until(usize),
    Next(usize, i64),
    Return,
    /// A statement of the bodies of the imported modules.
    Import(usize),
}

/// The state of a process: what it waits for, and the values it offers.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Status {
    /// It has not begun yet.
    New,
    Ready,
    /// It waits at the communication with this number, with the values it sends, on a channel.
    Waiting(usize, Vec<i64>, usize),
    /// It waits at the `SELECT` with this number, with the values it would send and the channels.
    Selecting(usize, Vec<(Vec<i64>, usize)>),
    /// It is at the `CHOICE` with this number.
    Choosing(usize),
    Ended,
}

/// A variable with the process and the call that has it, if it is a local one.
pub(super) type Place = (Var, Option<(usize, usize)>);

/// The variables of a process, or of a process that it calls.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    pub locals: [i64; 3],
    /// The variable to which `r` refers.
    pub reference: Option<Place>,
}

impl Frame {
    pub fn new(x: i64, reference: Option<Place>) -> Frame {
        Frame { locals: [x, 0, 0], reference }
    }
}

/// The kind of a process.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Main,
    Process(usize),
    /// `J` in the process with this number.
    Inner(usize),
    /// `V`, with the variable that it reads: without the element of an array, and with the process
    /// that has it if it is a local one.
    Reader(Var, Option<usize>),
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pub kind: Kind,
    pub status: Status,
    /// The statements still to be executed, the next one last.
    pub todo: Vec<Todo>,
    pub frames: Vec<Frame>,
    /// The channel of the port `c`; 0 if there is none.
    pub port: usize,
    /// The process around it.
    pub parent: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub globals: [i64; GLOBALS],
    pub wide: [i64; WIDE.len()],
    /// Of the records `a` and `b`, and of the elements of `e`.
    pub fields: [i64; 2 + SLOTS],
    /// The array `t`, and those in the records and in the elements of `e`.
    pub tables: [[i64; ELEMENTS as usize]; 3 + SLOTS],
    pub set: u32,
    pub flag: bool,
    pub letter: i64,
    pub shared: i64,
    /// The variable of the imported module.
    pub imported: i64,
    /// The channels of `c0`, `c1`, `d`, `ps[0]`, `ps[1]`, `k.p`, of the imported port, and of `o`.
    pub ports: [usize; PORTS + 6],
    /// The number of channels.
    pub channels: usize,
    pub processes: Vec<Process>,
    /// The waiting processes in their order: for each message, senders and receivers.
    pub queues: [Vec<usize>; 2 * MESSAGES],
}

/// The position of the port `d` in [`State::ports`]; the elements of `ps`, `k.p` and the imported
/// port follow.
pub(super) const OF_PORTS: usize = PORTS;
/// The position of the imported port.
pub(super) const IMPORTED_PORT: usize = PORTS + 4;

/// One result of an action: the state, or `None` after a fatal fault; and the fault.
pub(super) type Way = (Option<State>, Option<&'static str>);

impl Program {
    /// Explores the program; `None` if it has more states than allowed, or an action is too long.
    /// With `fifo`, the process that has waited longest goes first.
    pub fn graph(&self, fifo: bool, most: usize) -> Option<Graph> {
        self.explore(&Machine::new(self, fifo), most)
    }

    /// The same, where an action ends after each assignment, `NEW`, `CREATE` and `ASSERT`; also
    /// `None` if the program has statements that consist of several assignments.
    pub fn fine_graph(&self, fifo: bool, most: usize) -> Option<Graph> {
        let mut is_simple = true;
        let bodies = [&self.main, &self.called, &self.recursive, &self.reader].into_iter().chain(&self.processes).chain(&self.inner);
        bodies.for_each(|body| {
            each(body, &mut |statement| {
                is_simple &= !matches!(statement, Statement::For(..) | Statement::Inner(_) | Statement::Bump(..));
            });
        });
        if !is_simple {
            return None;
        }
        self.explore(&Machine { fine: true, ..Machine::new(self, fifo) }, most)
    }

    fn explore(&self, machine: &Machine<'_>, most: usize) -> Option<Graph> {
        let first = machine.first();
        let mut graph = Graph::default();
        let mut known = HashMap::from([(first.clone(), 0)]);
        let mut states = vec![first];
        while let Some(state) = states.get(graph.nodes.len()).cloned() {
            let moves = machine.moves(&state);
            if machine.is_too_long() {
                return None;
            }
            let is_deadlock = moves.is_empty() && !state.has_ended();
            graph.deadlocks += usize::from(is_deadlock);
            let mut edges = Vec::new();
            for (process, (next, fault)) in moves {
                graph.faults.extend(fault.map(str::to_owned));
                graph.transitions += usize::from(next.is_some());
                let target = next.map(|next| {
                    *known.entry(next.clone()).or_insert_with(|| {
                        states.push(next);
                        states.len() - 1
                    })
                });
                edges.push(Edge { process, fault: fault.map(str::to_owned), target });
            }
            graph.nodes.push(Node { values: state.visible(), is_deadlock, edges });
            if states.len() > most {
                return None;
            }
        }
        graph.states = states.len();
        graph.faults.sort();
        graph.faults.dedup();
        Some(graph)
    }

    /// Whether the variables of a process remain when it has ended, because others may read them.
    pub(super) fn is_looked_at(&self, process: usize) -> bool {
        let refers = |body: &[Statement]| {
            let mut found = false;
            each(body, &mut |statement| {
                found |= matches!(statement, Statement::CreateReader(Var::Local(_) | Var::Reference, _) | Statement::CreateInner);
            });
            found
        };
        let (mut calls, mut recurs) = (false, false);
        each(&self.processes[process], &mut |statement| match statement {
            Statement::Call(false, ..) => calls = true,
            Statement::Call(true, ..) => recurs = true,
            _ => {}
        });
        refers(&self.processes[process]) || calls && refers(&self.called) || recurs && refers(&self.recursive)
    }
}

impl State {
    pub fn new() -> State {
        State {
            globals: [0; GLOBALS],
            wide: [0; WIDE.len()],
            fields: [0; 2 + SLOTS],
            tables: [[0; ELEMENTS as usize]; 3 + SLOTS],
            set: 0,
            flag: false,
            letter: 0,
            shared: 0,
            imported: 0,
            ports: [0; PORTS + 6],
            channels: 0,
            processes: Vec::new(),
            queues: Default::default(),
        }
    }

    /// The values of what [`super::visible`] names.
    fn visible(&self) -> Vec<i64> {
        let mut all: Vec<i64> = self.globals.iter().chain(&self.wide).chain(&self.fields).copied().collect();
        all.extend(self.tables.iter().flatten());
        all.extend([i64::from(self.set), i64::from(self.flag), self.letter, self.shared, self.shared]);
        // Without the port of the imported module, and without `o`, which not all programs have.
        all.extend(self.ports[..IMPORTED_PORT].iter().map(|channel| *channel as i64));
        // Numbers of all types as those without a sign with the same 32 bits.
        all.into_iter().map(|value| i64::from(value as u32)).collect()
    }

    pub fn has_ended(&self) -> bool {
        self.processes.iter().all(|process| process.status == Status::Ended)
    }

    /// The number of calls that a process has open.
    pub fn depth(&self, process: usize) -> usize {
        self.processes[process].frames.len() - 1
    }

    /// Whether one more call of `R` is too many.
    pub fn is_deep(&self, process: usize) -> bool {
        self.depth(process) >= CALLS
    }
}
