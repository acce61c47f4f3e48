//! Control graphs: for each process type, the control states and transitions SPIN would make.
//!
//! State counts depend on where a process can wait between steps. In SPIN this is the result of
//! several passes over the parse tree. We follow these passes one by one, so that the states, their
//! numbers and their transitions are those of the verifier that SPIN generates without
//! optimisations (`spin -o1 -o2 -o3`), as `pan -d` prints them:
//!
//! 1. `elements`: statements become numbered elements, linked in sequences; `if`, `do` and `unless`
//!    add joints; `atomic` marks elements; `unless` adds escapes to the elements it covers.
//! 2. `table`: each element becomes a state with its transitions, with jumps followed to the states
//!    where a process can wait; choices within choices are merged; escapes are put in front.
//!
//! The inside of a `d_step` has no states. It is kept as a small graph of its own,
//! [`Deterministic`].

mod elements;
mod table;

use crate::model::Action;
use source::{Diagnostic, Span};
use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;

pub(crate) use elements::build;

/// The control graph of one process type.
#[derive(Debug, Default)]
pub struct Graph {
    /// The state in which an instance begins.
    pub start: u32,
    /// The states in which an instance can wait, and those it passes through, ordered by number.
    pub states: Vec<State>,
    /// The actions of the transitions.
    pub actions: Vec<(Action, Span)>,
    /// Labels and their states.
    pub labels: Vec<(String, u32)>,
    /// The number of elements that SPIN makes of the body, including those that are never reached.
    /// SPIN numbers the elements of all bodies one after the other.
    pub elements: u32,
}

impl Graph {
    /// The state with this number.
    pub fn state(&self, number: u32) -> Option<&State> {
        self.states.binary_search_by_key(&number, |s| s.number).ok().map(|i| &self.states[i])
    }
}

/// One line for each transition, in the order and with the numbers of `pan -d`: source, target,
/// mode (`A` atomic, `D` a d_step), the labels of the source (`a` accept, `e` end, `p` progress),
/// and for an escape its first state. (`pan -d` also prints `A` for a d_step that ends an atomic
/// sequence.)
impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut seen = BTreeSet::new();
        let mut todo = vec![self.start];
        while let Some(number) = todo.pop() {
            let Some(state) = self.state(number).filter(|_| seen.insert(number)) else { continue };
            for t in &state.transitions {
                let mode = match &t.effect {
                    _ if t.atomic => 'A',
                    Effect::Deterministic(_) => 'D',
                    _ => '-',
                };
                let mark = |set: bool, c: char| if set { c } else { '-' };
                let marks = [mark(state.accept, 'a'), mark(state.end, 'e'), mark(state.progress, 'p')];
                let marks: String = marks.iter().collect();
                write!(f, "{number} -> {} [{mode}{marks}]", t.target)?;
                match t.escape {
                    0 => writeln!(f)?,
                    escape => writeln!(f, " escape {escape}")?,
                }
            }
            todo.extend(state.transitions.iter().rev().map(|t| t.target));
        }
        Ok(())
    }
}

/// A control state.
#[derive(Debug)]
pub struct State {
    /// SPIN's number for it, from one.
    pub number: u32,
    /// The transitions that leave it, in the order in which they are tried.
    pub transitions: Vec<Transition>,
    /// A process may wait here for ever.
    pub end: bool,
    /// Passing here is progress.
    pub progress: bool,
    /// Passing here infinitely often is acceptance.
    pub accept: bool,
}

/// A transition from a control state.
#[derive(Clone, Debug)]
pub struct Transition {
    /// The number of the element it was made of, from zero. Copies of a transition share it.
    pub id: u32,
    /// Its effect.
    pub effect: Effect,
    /// The state it leads to; 0 if the process ends.
    pub target: u32,
    /// Whether the process continues without other processes in between.
    pub atomic: bool,
    /// The escape it belongs to. Of the transitions of a state, only those of the first group that
    /// has an executable one can be taken. 0 for transitions of the state itself, which come last.
    pub escape: u32,
    /// The text that the user wrote.
    pub span: Span,
}

/// The effect of a transition.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Nothing; always possible.
    Skip,
    /// Nothing; possible if no transition before it is.
    Else,
    /// An action, by its index in [`Graph::actions`].
    Action(usize),
    /// A `d_step`. Transitions are copied where they are shared, but its inside is not copied.
    Deterministic(Rc<Deterministic>),
    /// The end of the process.
    End,
    /// Never executable: a choice none of whose options can ever be taken.
    Never,
}

/// The inside of a `d_step`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deterministic {
    /// The first node.
    pub start: usize,
    /// The nodes.
    pub nodes: Vec<Inner>,
}

/// A node of a `d_step`.
#[derive(Clone, Debug, PartialEq)]
pub enum Inner {
    /// A statement and the node after it. Only the first statement may block; anywhere else
    /// blocking is an error.
    Basic(Effect, usize, Span),
    /// A choice, which takes the first option whose first statement is executable.
    Choice(Vec<usize>, Span),
    /// The end of the `d_step`.
    Exit,
}

/// The diagnostics of graph building.
pub(crate) type Diagnostics = Vec<Diagnostic>;
