//! The properties of a program, as data: atoms, formulas, and automata over atoms.
//!
//! Assertions and end states need no entry here, because they are in the code. Temporal properties
//! refer to states through *atoms*, small pieces of code that compute a value from a state. A
//! search that follows a property therefore needs only the values of atoms. Labels with `accept`
//! state a property too; they are in the table of labels.

use crate::formula::Formula;
use crate::ids::{Addr, AtomId, FileIndex};
use crate::program::{LabelKind, Program};

/// An expression over a state. As a condition it is true if its value is not 0.
///
/// Its code follows that of the process types, from `start` to the next atom, and ends in RET with
/// one value on the stack (rule P-ATOM). The source position of the atom is that of its first
/// instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Atom {
    /// Its name; unique. Front-ends use the text of the expression.
    pub name: String,
    /// Its first instruction.
    pub start: Addr,
}

/// A position in the user's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The file, in [`Program::files`].
    pub file: FileIndex,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The text of the user.
    pub text: String,
}

/// A property of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PropertyEntry {
    /// Its name; unique.
    pub name: String,
    /// The position at which it is stated.
    pub origin: Option<Origin>,
    /// Its contents.
    pub kind: PropertyBody,
}

impl PropertyEntry {
    /// Removes the positions of the property and its edges, so that only the meaning is compared.
    pub fn without_origins(&mut self) {
        self.origin = None;
        if let PropertyBody::Never(automaton) | PropertyBody::Trace(automaton) | PropertyBody::Notrace(automaton) = &mut self.kind {
            automaton.edges.iter_mut().for_each(|edge| edge.origin = None);
        }
    }
}

/// The contents of a property.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PropertyBody {
    /// Every run satisfies the formula.
    Ltl(Formula),
    /// No run is accepted by the automaton, which moves in step with the program.
    Never(Automaton),
    /// Every sequence of channel events is accepted by the automaton.
    Trace(Automaton),
    /// No sequence of channel events is accepted by the automaton.
    Notrace(Automaton),
}

impl PropertyBody {
    /// Its word in assembly.
    pub const fn word(&self) -> &'static str {
        match self {
            PropertyBody::Ltl(_) => "ltl",
            PropertyBody::Never(_) => "never",
            PropertyBody::Trace(_) => "trace",
            PropertyBody::Notrace(_) => "notrace",
        }
    }

    /// The automaton, if it is given by one.
    pub const fn automaton(&self) -> Option<&Automaton> {
        match self {
            PropertyBody::Ltl(_) => None,
            PropertyBody::Never(automaton) | PropertyBody::Trace(automaton) | PropertyBody::Notrace(automaton) => Some(automaton),
        }
    }
}

/// An automaton. It begins in state 0.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Automaton {
    /// Its states, at least one.
    pub states: Vec<AutomatonState>,
    /// Its edges. Those of one state are tried in this order.
    pub edges: Vec<AutomatonEdge>,
}

/// A state of an automaton.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AutomatonState {
    /// Its name; unique in the automaton.
    pub name: String,
    /// The meaning of its labels.
    pub kind: LabelKind,
}

/// An edge of an automaton.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AutomatonEdge {
    /// The state it leaves.
    pub source: u32,
    /// The state it leads to; `None` if the automaton ends with it.
    pub target: Option<u32>,
    /// The condition under which it can be taken.
    pub label: EdgeLabel,
    /// Only the edges of the lowest rank that has an enabled edge can be taken in a state.
    pub rank: u32,
    /// Whether the automaton continues from the target in the same step.
    pub atomic: bool,
    /// The position at which it is stated.
    pub origin: Option<Origin>,
}

/// The condition under which an edge can be taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EdgeLabel {
    /// Always.
    True,
    /// If the atom is true.
    When(AtomId),
    /// True if no earlier edge of the same state and rank is enabled.
    Else,
    /// Always; it is a violation if the atom is false.
    Assert(AtomId),
    /// A message is sent.
    Send(Event),
    /// A message is received.
    Receive(Event),
}

/// A message on a channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// An expression for the channel's number.
    pub channel: AtomId,
    /// For each field the expression that it must equal; `None` if any value is accepted.
    pub fields: Vec<Option<AtomId>>,
}

impl EdgeLabel {
    /// The event, if the label is one.
    pub const fn event(&self) -> Option<&Event> {
        match self {
            EdgeLabel::Send(event) | EdgeLabel::Receive(event) => Some(event),
            EdgeLabel::True | EdgeLabel::When(_) | EdgeLabel::Else | EdgeLabel::Assert(_) => None,
        }
    }

    /// The atoms in it.
    pub fn atoms(&self) -> Vec<AtomId> {
        match self {
            EdgeLabel::True | EdgeLabel::Else => Vec::new(),
            EdgeLabel::When(atom) | EdgeLabel::Assert(atom) => vec![*atom],
            EdgeLabel::Send(event) | EdgeLabel::Receive(event) => {
                std::iter::once(event.channel).chain(event.fields.iter().flatten().copied()).collect()
            }
        }
    }
}

impl Program {
    /// The start of the code of the atoms, after that of the process types.
    pub fn atoms_start(&self) -> Addr {
        self.atoms.first().map_or(Addr(self.code.len() as u32), |atom| atom.start)
    }

    /// The code addresses that belong to an atom.
    pub fn code_of_atom(&self, atom: AtomId) -> std::ops::Range<u32> {
        let end = self.atoms.get(atom.index() + 1).map_or(self.code.len() as u32, |next| next.start.0);
        self.atoms[atom.index()].start.0..end
    }

    /// The atom an address belongs to.
    pub fn atom_at(&self, addr: Addr) -> Option<AtomId> {
        if addr.index() >= self.code.len() {
            return None;
        }
        AtomId::new(self.atoms.partition_point(|atom| atom.start <= addr).checked_sub(1)?)
    }
}
