//! Steps in the user's words, and the confirmation of traces.

use crate::graph::GraphWords;
use crate::options::Choice;
use crate::program::ProgramWords;
use crate::step::Step;
use crate::values::{Datum, View};
use crate::waiting::Waiting;
use crate::words::{NotAState, Tell, Words};
use bytecode::{FaultKind, Verified};
use contract::{Enough, Fault, Position, Trace, Violation, ViolationKind};
use lts::Lts;
use std::fmt;
use std::sync::Arc;

/// Why a trace is not a trace of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// The trace does not begin in an initial state.
    Initial,
    /// The program cannot take this step (counted from 1) there, or the step leads to another
    /// state.
    Step(usize),
    /// The path exists, but the violation is not at its end.
    Violation(Fault),
    /// The bytes are not a state of the program.
    State(NotAState),
    /// The caller asked to stop before the end of the trace, or a step took too long.
    Stopped,
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Initial => f.write_str("the trace does not begin in the program's initial state"),
            ReplayError::Step(number) => write!(f, "the program cannot take step {number} of the trace"),
            ReplayError::Violation(fault) => write!(f, "the program can take these steps, but they do not end in the violation ({fault})"),
            ReplayError::State(error) => write!(f, "not a state of the program: {error}"),
            ReplayError::Stopped => f.write_str("the trace was not replayed to its end"),
        }
    }
}

impl std::error::Error for ReplayError {}

impl From<NotAState> for ReplayError {
    fn from(error: NotAState) -> ReplayError {
        ReplayError::State(error)
    }
}

/// The steps that leave a state, described on demand.
pub struct Moves<'n>(Box<dyn Tell + 'n>);

impl Moves<'_> {
    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.0.count()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The step at a position, if there is one.
    pub fn tell(&mut self, index: usize) -> Option<Step> {
        self.0.tell(index)
    }
}

/// Describes the states and steps of a system. Cheap to clone.
#[derive(Clone)]
pub struct Narrator {
    words: Arc<dyn Words>,
}

impl Narrator {
    /// A narrator of a byte-code program.
    pub fn new(program: Arc<Verified>) -> Narrator {
        Narrator::with(Arc::new(ProgramWords::new(program)))
    }

    /// A narrator of an explicit graph.
    pub fn of_graph(graph: Arc<Lts>) -> Narrator {
        Narrator::with(Arc::new(GraphWords::new(graph)))
    }

    /// A narrator of a system with words of its own.
    pub fn with(words: Arc<dyn Words>) -> Narrator {
        Narrator { words }
    }

    /// Gives the narrator a condition for abandoning long steps. A question about an abandoned step
    /// is answered with [`ReplayError::Stopped`].
    pub fn give_up_when(&mut self, enough: Enough) {
        if let Some(words) = self.words.giving_up_when(enough) {
            self.words = words;
        }
    }

    /// The initial state, and the fault that occurred while it was built; no state if the fault was
    /// fatal.
    pub fn initial(&self) -> (Option<Vec<u8>>, Option<Fault>) {
        self.words.initial()
    }

    /// The steps that leave a state, in the order in which a search sees them, described on demand.
    pub fn moves(&self, state: &[u8]) -> Result<Moves<'_>, ReplayError> {
        Ok(Moves(self.words.moves(state)?))
    }

    /// The label of a step in a graph.
    pub fn label(&self, step: &Step) -> String {
        self.words.label(step)
    }

    /// The values in a state.
    pub fn view(&self, state: &[u8]) -> Result<View, ReplayError> {
        Ok(self.words.view(state)?)
    }

    /// The values in a state, complete and with their structure, under the names of
    /// [`View::values`].
    pub fn values(&self, state: &[u8]) -> Result<Vec<(String, Datum)>, ReplayError> {
        Ok(self.words.values(state)?)
    }

    /// The statements that each process of a state could execute next, by process number, whether
    /// or not they are executable.
    pub fn options(&self, state: &[u8]) -> Vec<Vec<Choice>> {
        self.words.options(state)
    }

    /// Why the processes cannot move in the last state of a trace: for each its options, what they
    /// wait for, and which processes could end the waiting.
    pub fn waiting(&self, trace: &Trace) -> Vec<Waiting> {
        self.words.waiting(trace)
    }

    /// The messages in each channel of a state, oldest first, as bytes. A rendezvous channel has
    /// none.
    pub fn queues(&self, state: &[u8]) -> Vec<Vec<Vec<u8>>> {
        self.words.queues(state)
    }

    /// The same steps, all described.
    pub fn steps(&self, state: &[u8]) -> Result<Vec<Step>, ReplayError> {
        let mut moves = self.moves(state)?;
        Ok((0..moves.len()).filter_map(|index| moves.tell(index)).collect())
    }

    /// Whether a state without steps is an accepted end.
    pub fn is_valid_end(&self, state: &[u8]) -> bool {
        self.words.is_valid_end(state)
    }

    /// Executes a trace and describes each step. An error if the program cannot take a step.
    pub fn replay(&self, trace: &Trace) -> Result<Vec<Step>, ReplayError> {
        self.replay_from_initial(trace, &|| false)
    }

    /// Like [`replay`](Self::replay), until `stop` is true.
    pub fn replay_until(&self, trace: &Trace, stop: &dyn Fn() -> bool) -> Result<Vec<Step>, ReplayError> {
        self.replay_from_initial(trace, stop)
    }

    fn replay_from_initial(&self, trace: &Trace, stop: &dyn Fn() -> bool) -> Result<Vec<Step>, ReplayError> {
        // The trace of a program whose initial state cannot be built is empty.
        let begins = match self.initial().0 {
            Some(initial) => initial == trace.initial,
            None => *trace == Trace::default(),
        };
        if !begins {
            return Err(ReplayError::Initial);
        }
        self.replay_unless(trace, stop)
    }

    /// Executes a trace that may begin in any state.
    pub fn replay_from(&self, trace: &Trace) -> Result<Vec<Step>, ReplayError> {
        self.replay_unless(trace, &|| false)
    }

    /// Like [`replay_from`](Self::replay_from), until `stop` is true.
    pub fn replay_unless(&self, trace: &Trace, stop: &dyn Fn() -> bool) -> Result<Vec<Step>, ReplayError> {
        let mut told: Vec<Step> = Vec::with_capacity(trace.steps.len());
        for (index, wanted) in trace.steps.iter().enumerate() {
            if stop() {
                return Err(ReplayError::Stopped);
            }
            let state = trace.state_after(index).ok_or(ReplayError::Step(index + 1))?;
            let step = self.moves(state)?.0.find(wanted);
            told.push(step.ok_or(ReplayError::Step(index + 1))?);
        }
        Ok(told)
    }

    /// Executes the trace of a violation and accepts it only if the violation is at its end.
    pub fn confirm(&self, violation: &Violation) -> Result<Vec<Step>, ReplayError> {
        self.confirm_unless(violation, &|| false)
    }

    /// Like [`confirm`](Self::confirm), until `stop` is true.
    pub fn confirm_unless(&self, violation: &Violation, stop: &dyn Fn() -> bool) -> Result<Vec<Step>, ReplayError> {
        let steps = self.replay_from_initial(&violation.trace, stop)?;
        // The searches do not know which process is stuck, nor which loop never ends.
        let placed_here = [ViolationKind::Deadlock, ViolationKind::Other(FaultKind::Endless.word())];
        let same = |fault: &Fault| fault.kind == violation.fault.kind && (placed_here.contains(&fault.kind) || *fault == violation.fault);
        if self.faults_at_end(&violation.trace, &steps).iter().any(same) {
            Ok(steps)
        } else {
            Err(ReplayError::Violation(violation.fault.clone()))
        }
    }

    /// Whether the loop of a trace, if it has one, leads back to its beginning: by its last step,
    /// or because no process can move there.
    pub fn is_closed(&self, trace: &Trace) -> bool {
        match trace.loop_start {
            None => true,
            Some(start) if start == trace.steps.len() => self.words.can_move(trace.last_state()) == Ok(false),
            Some(start) => trace.state_after(start) == Some(trace.last_state()),
        }
    }

    /// The faults at the end of a trace, whose replayed steps are `steps`: the fault of its last
    /// step, and a deadlock after it. A search that does not look for one of them may have found
    /// the other.
    pub fn faults_at_end(&self, trace: &Trace, steps: &[Step]) -> Vec<Fault> {
        let committed = match steps.last() {
            Some(step) => step.fault.clone(),
            None => self.initial().1.filter(|_| self.initial().0.unwrap_or_default() == trace.initial),
        };
        let whole = steps.last().is_none_or(|step| step.state.is_some());
        committed.into_iter().chain(self.deadlock(trace.last_state()).filter(|_| whole)).collect()
    }

    /// The deadlock in a state, if there is one, with the position of a blocked process.
    pub fn deadlock(&self, state: &[u8]) -> Option<Fault> {
        if self.is_valid_end(state) || self.words.can_move(state).ok()? {
            return None;
        }
        let message = "no process can move, and this is not an accepted end state";
        Some(Fault { position: self.stuck(state), ..Fault::new(ViolationKind::Deadlock, message) })
    }

    /// The position of a deadlock: the first process that is blocked at a location that is not an
    /// end location.
    pub fn stuck(&self, state: &[u8]) -> Option<Position> {
        self.view(state).ok()?.processes.into_iter().find(|process| !process.may_end)?.position
    }
}
