//! Properties by name, and the answer of a run for each.
//!
//! A search asks a [`Property`](crate::Property) at each event and knows no names. The caller knows
//! which properties a model states, and reports the answer for each with these values.

use crate::fault::{Position, ViolationKind};
use crate::outcome::{Statistics, Verdict};

/// The kind of a stated property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PropertyKind {
    /// No assertion fails.
    Assertions,
    /// Every state without successors is a valid end state.
    EndStates,
    /// No step commits any other fault.
    Errors,
    /// A formula of linear temporal logic.
    Ltl,
    /// A formula of branching time.
    Ctl,
    /// A never claim.
    Never,
    /// The channel events are those of an automaton.
    Trace,
    /// The channel events are not those of an automaton.
    Notrace,
    /// No run passes accept labels infinitely often.
    Acceptance,
    /// Every infinite run passes progress labels again and again.
    Progress,
}

impl PropertyKind {
    /// A short, stable name for machine-readable output.
    pub const fn name(self) -> &'static str {
        match self {
            PropertyKind::Assertions => "assertions",
            PropertyKind::EndStates => "end states",
            PropertyKind::Errors => "run-time errors",
            PropertyKind::Ltl => "ltl",
            PropertyKind::Ctl => "ctl",
            PropertyKind::Never => "never",
            PropertyKind::Trace => "trace",
            PropertyKind::Notrace => "notrace",
            PropertyKind::Acceptance => "acceptance",
            PropertyKind::Progress => "progress",
        }
    }

    /// Whether a plain exploration can decide it.
    pub const fn is_safety(self) -> bool {
        matches!(self, PropertyKind::Assertions | PropertyKind::EndStates | PropertyKind::Errors)
    }

    /// The kind of property that a fault violates.
    pub const fn violated_by(fault: ViolationKind) -> PropertyKind {
        match fault {
            ViolationKind::Deadlock => PropertyKind::EndStates,
            ViolationKind::Assertion => PropertyKind::Assertions,
            _ => PropertyKind::Errors,
        }
    }
}

/// A property that a model states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    /// Its name: the user's, or that of its kind.
    pub name: String,
    /// Its kind.
    pub kind: PropertyKind,
    /// The position at which it is stated, if there is one.
    pub position: Option<Position>,
    /// The text of the formula, if it is one of linear temporal logic.
    pub formula: Option<String>,
}

impl Stated {
    /// A property that has the name of its kind, no position and no formula.
    pub fn of_kind(kind: PropertyKind) -> Stated {
        Stated { name: kind.name().to_owned(), kind, position: None, formula: None }
    }
}

/// A property and the answer of a run for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The property.
    pub property: Stated,
    /// The answer for this property alone.
    pub verdict: Verdict,
    /// The statistics of the search that decided it, if there was one.
    pub statistics: Option<Statistics>,
    /// The kind of that search, in a few words, if it was not the exploration for deadlocks and
    /// faults.
    pub search: Option<&'static str>,
    /// The names of the other properties that the same search decided, if it was not the
    /// exploration for deadlocks and faults.
    pub together: Vec<String>,
    /// What the user should know about this answer, in sentences without a full stop.
    pub notes: Vec<String>,
}
