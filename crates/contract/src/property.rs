//! A property to check, as a listener to the events of a search.
//!
//! A property answers each event with *continue*, *prune* (do not explore beyond this) or *stop*
//! (this is a violation). It declares beforehand which of the frequent events it needs, so that a
//! search for deadlocks does not pay for a call per transition. All workers share one property,
//! hence `&self`.

use crate::fault::{Fault, FaultCode, ViolationKind};
use crate::store::StateId;
use crate::successors::Action;

/// What is wrong with the current state or step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A fault raised by the system, which will be asked to explain it.
    Fault(FaultCode),
    /// Anything else, explained by the property itself.
    Explained(Fault),
}

/// The answer to an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Go on.
    Continue,
    /// Do not explore beyond this state or step; it is not a violation.
    Prune,
    /// A violation: end the search with a trace that leads here.
    Stop(Finding),
}

/// The frequent events that a property asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// Call [`Property::state`] for each new state.
    pub states: bool,
    /// Call [`Property::edge`] for each step.
    pub edges: bool,
}

/// One step, after its target was looked up in the store.
#[derive(Clone, Copy, Debug)]
pub struct Edge<'a> {
    /// The state it leaves.
    pub source: &'a [u8],
    /// The name of the state it leaves; meaningless in a store that is not readable.
    pub source_id: StateId,
    /// The state it reaches.
    pub target: &'a [u8],
    /// The name of the state it reaches.
    pub target_id: StateId,
    /// Whether the target was seen for the first time.
    pub new: bool,
    /// The action.
    pub action: Action,
}

/// A property of all reachable states and steps.
pub trait Property: Sync {
    /// The frequent events that this property asks for.
    fn interest(&self) -> Interest {
        Interest::default()
    }

    /// A state seen for the first time. Pruning it leaves it without successors.
    fn state(&self, state: &[u8]) -> Answer {
        let _ = state;
        Answer::Continue
    }

    /// A step between two states. Pruning it does not take the target back from the store.
    fn edge(&self, edge: &Edge<'_>) -> Answer {
        let _ = edge;
        Answer::Continue
    }

    /// A step that committed a fault; it leads to a state only if `goes_on`. Pruning it ignores its
    /// successor.
    fn fault(&self, code: FaultCode, goes_on: bool) -> Answer {
        let _ = (code, goes_on);
        Answer::Continue
    }

    /// A state without steps. `valid_end` says whether the system accepts it as an end.
    fn terminal(&self, state: &[u8], valid_end: bool) -> Answer {
        let _ = (state, valid_end);
        Answer::Continue
    }
}

/// No property: the search only explores.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProperty;

impl Property for NoProperty {}

/// No deadlock and no fault; each can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Safety {
    /// States without successors must be accepted ends.
    pub deadlocks: bool,
    /// No step may commit a fault.
    pub faults: bool,
}

impl Default for Safety {
    fn default() -> Self {
        Safety { deadlocks: true, faults: true }
    }
}

impl Property for Safety {
    fn fault(&self, code: FaultCode, _: bool) -> Answer {
        if self.faults { Answer::Stop(Finding::Fault(code)) } else { Answer::Continue }
    }

    fn terminal(&self, _: &[u8], valid_end: bool) -> Answer {
        if self.deadlocks && !valid_end {
            let message = "no process can move, and this is not an accepted end state";
            Answer::Stop(Finding::Explained(Fault::new(ViolationKind::Deadlock, message)))
        } else {
            Answer::Continue
        }
    }
}
