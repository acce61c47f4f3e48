//! Steps in the user's words, told by the reference interpreter.

use crate::moves::Moves;
use crate::step::Step;
use crate::values::view;
use bytecode::{LayoutError, Verified};
use contract::{Enough, Fault, FaultKind, Position, Successors, System, Trace, Violation};
use std::fmt;
use std::sync::Arc;
use vm::Interpreter;

/// Why a trace is not one of the program's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// The trace does not begin in an initial state.
    Initial,
    /// The program cannot take this step (from 1) there, or it leads elsewhere.
    Step(usize),
    /// The path exists, but the violation is not at its end.
    Violation(Fault),
    /// The bytes are no state of the program.
    State(LayoutError),
    /// Someone asked to stop before the end of the trace, or a step took too long.
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

/// Tells what happens in a program. Cheap to clone.
#[derive(Clone)]
pub struct Narrator {
    interpreter: Interpreter,
}

impl Narrator {
    /// A narrator of a program.
    pub fn new(program: Arc<Verified>) -> Narrator {
        Narrator { interpreter: Interpreter::new(program) }
    }

    /// From now on, gives up a step that takes long when it is enough: questions about it are answered with [`ReplayError::Stopped`].
    pub fn give_up_when(&mut self, enough: Enough) {
        self.interpreter.give_up_when(enough);
    }

    /// The program.
    pub fn program(&self) -> &Arc<Verified> {
        self.interpreter.program()
    }

    /// The initial state, and what went wrong while it was built; no state if that was fatal.
    pub fn initial(&self) -> (Option<Vec<u8>>, Option<Fault>) {
        let mut out = Successors::new();
        self.interpreter.clone().initial(&mut out);
        match out.entries().first() {
            Some(entry) => (out.state(entry).map(<[u8]>::to_vec), entry.fault().map(|code| self.interpreter.describe_fault(code))),
            None => (None, None),
        }
    }

    /// The steps that leave a state, in the order in which a search sees them, to be told one by one.
    pub fn moves(&self, state: &[u8]) -> Result<Moves<'_>, ReplayError> {
        Moves::new(&self.interpreter, state)
    }

    /// The same, all told.
    pub fn steps(&self, state: &[u8]) -> Result<Vec<Step>, ReplayError> {
        let mut moves = self.moves(state)?;
        Ok((0..moves.len()).filter_map(|index| moves.tell(index)).collect())
    }

    /// Whether a program in this state can do anything.
    pub fn can_move(&self, state: &[u8]) -> Result<bool, ReplayError> {
        self.interpreter.check_state(state).map_err(ReplayError::State)?;
        let mut out = Successors::new();
        self.interpreter.clone().successors(state, &mut out);
        if out.is_cut_short() { Err(ReplayError::Stopped) } else { Ok(!out.entries().is_empty()) }
    }

    /// Whether a state without steps is an accepted end.
    pub fn is_valid_end(&self, state: &[u8]) -> bool {
        self.interpreter.clone().is_valid_end(state)
    }

    /// Runs through a trace and tells each step. An error if the program cannot take it.
    pub fn replay(&self, trace: &Trace) -> Result<Vec<Step>, ReplayError> {
        self.replay_from_initial(trace, &|| false)
    }

    fn replay_from_initial(&self, trace: &Trace, stop: &dyn Fn() -> bool) -> Result<Vec<Step>, ReplayError> {
        if self.initial().0.as_deref() != Some(&trace.initial) {
            return Err(ReplayError::Initial);
        }
        self.replay_unless(trace, stop)
    }

    /// Runs through a trace that may begin in any state.
    pub fn replay_from(&self, trace: &Trace) -> Result<Vec<Step>, ReplayError> {
        self.replay_unless(trace, &|| false)
    }

    /// As [`replay_from`](Self::replay_from), until `stop` says so.
    pub fn replay_unless(&self, trace: &Trace, stop: &dyn Fn() -> bool) -> Result<Vec<Step>, ReplayError> {
        let mut told: Vec<Step> = Vec::with_capacity(trace.steps.len());
        for (index, wanted) in trace.steps.iter().enumerate() {
            if stop() {
                return Err(ReplayError::Stopped);
            }
            let state = trace.state_after(index).ok_or(ReplayError::Step(index + 1))?;
            let step = self.moves(state)?.find(wanted);
            told.push(step.ok_or(ReplayError::Step(index + 1))?);
        }
        Ok(told)
    }

    /// Runs through the trace of a violation and accepts it only if the violation is at its end.
    pub fn confirm(&self, violation: &Violation) -> Result<Vec<Step>, ReplayError> {
        self.confirm_unless(violation, &|| false)
    }

    /// As [`confirm`](Self::confirm), until `stop` says so.
    pub fn confirm_unless(&self, violation: &Violation, stop: &dyn Fn() -> bool) -> Result<Vec<Step>, ReplayError> {
        let steps = self.replay_from_initial(&violation.trace, stop)?;
        let same = |fault: &Fault| fault.kind == violation.fault.kind && (fault.kind == FaultKind::Deadlock || *fault == violation.fault);
        if self.faults_at_end(&violation.trace, &steps).iter().any(same) {
            Ok(steps)
        } else {
            Err(ReplayError::Violation(violation.fault.clone()))
        }
    }

    /// What is wrong at the end of a trace, whose replayed steps are `steps`: the fault of its last step, and a deadlock behind it. A search that
    /// does not look for the one may have found the other.
    pub fn faults_at_end(&self, trace: &Trace, steps: &[Step]) -> Vec<Fault> {
        let committed = match steps.last() {
            Some(step) => step.fault.clone(),
            None => self.initial().1.filter(|_| self.initial().0.as_ref() == Some(&trace.initial)),
        };
        let whole = steps.last().is_none_or(|step| step.state.is_some());
        committed.into_iter().chain(self.deadlock(trace.last_state()).filter(|_| whole)).collect()
    }

    /// The deadlock in a state, if there is one, with the place of a process that is stuck.
    pub fn deadlock(&self, state: &[u8]) -> Option<Fault> {
        if self.is_valid_end(state) || self.can_move(state).ok()? {
            return None;
        }
        let message = "no process can move, and this is not an accepted end state";
        Some(Fault { position: self.stuck(state), ..Fault::new(FaultKind::Deadlock, message) })
    }

    /// A deadlock's place: the first process that waits where it must not wait for ever.
    pub fn stuck(&self, state: &[u8]) -> Option<Position> {
        let view = view(self.program(), state).ok()?;
        view.processes.into_iter().find(|process| !process.may_end)?.position
    }
}
