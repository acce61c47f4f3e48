//! The trait by which the states and steps of a system are described in words.
//!
//! A search sees bytes and numbers. To have its traces described, replayed and confirmed, a system
//! implements [`Words`]; byte-code and explicit graphs do so here.

use crate::narrator::ReplayError;
use crate::options::Choice;
use crate::step::Step;
use crate::values::{Datum, View};
use crate::waiting::Waiting;
use contract::{Enough, Fault, Trace, TraceStep};
use std::fmt;
use std::sync::Arc;

/// The reason why bytes are not a state of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAState(pub String);

impl fmt::Display for NotAState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotAState {}

/// Describes a system's states and steps. It is the reference: a violation that it does not confirm
/// is not reported.
pub trait Words: Send + Sync {
    /// The initial state, and the fault that occurred while it was built; no state if the fault was
    /// fatal.
    fn initial(&self) -> (Option<Vec<u8>>, Option<Fault>);

    /// The steps that leave a state, in the order in which a search sees them, described on demand.
    fn moves<'w>(&'w self, state: &[u8]) -> Result<Box<dyn Tell + 'w>, ReplayError>;

    /// The label of a step in a graph. A system that has labels of its own returns them unchanged.
    fn label(&self, step: &Step) -> String {
        step.label()
    }

    /// The same words, with a condition for abandoning long steps. `None` if no step takes long.
    fn giving_up_when(&self, enough: Enough) -> Option<Arc<dyn Words>> {
        let _ = enough;
        None
    }

    /// Whether a state has any step.
    fn can_move(&self, state: &[u8]) -> Result<bool, ReplayError> {
        Ok(self.moves(state)?.count() > 0)
    }

    /// Whether a state without steps is an accepted end.
    fn is_valid_end(&self, state: &[u8]) -> bool;

    /// The contents of a state.
    fn view(&self, state: &[u8]) -> Result<View, NotAState>;

    /// The values in a state, complete and with their structure, under the names of
    /// [`View::values`].
    fn values(&self, state: &[u8]) -> Result<Vec<(String, Datum)>, NotAState> {
        let value = |text: String| match (text.parse(), text.as_str()) {
            (Ok(number), _) => Datum::Number(number),
            (_, "true") => Datum::Truth(true),
            (_, "false") => Datum::Truth(false),
            _ => Datum::Text(text),
        };
        Ok(self.view(state)?.values().into_iter().map(|named| (named.name, value(named.value))).collect())
    }

    /// The statements that each process of a state could execute next, by process number.
    fn options(&self, state: &[u8]) -> Vec<Vec<Choice>> {
        let _ = state;
        Vec::new()
    }

    /// Why the processes cannot move in the last state of a trace.
    fn waiting(&self, trace: &Trace) -> Vec<Waiting> {
        let _ = trace;
        Vec::new()
    }

    /// The messages in each channel of a state, oldest first, as bytes.
    fn queues(&self, state: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let _ = state;
        Vec::new()
    }
}

/// The steps that leave one state.
pub trait Tell {
    /// The number of steps.
    fn count(&self) -> usize;

    /// The step at a position, if there is one.
    fn tell(&mut self, index: usize) -> Option<Step>;

    /// The step that a trace took here.
    fn find(&mut self, wanted: &TraceStep) -> Option<Step> {
        (0..self.count()).filter_map(|index| self.tell(index)).find(|step| step.action == wanted.action && step.state == wanted.state)
    }
}
