//! Steps in the user's words, told by the reference interpreter.

use crate::values::view;
use bytecode::{Addr, LayoutError, ProcessId, Shape, StateMap, Verified, format};
use contract::{Action, Fault, FaultCode, FaultKind, Position, Successors, System, Trace, Violation};
use std::fmt;
use std::sync::Arc;
use vm::{Event, Explained, Interpreter};

/// A statement that a process executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The number of the process.
    pub pid: usize,
    /// The name of its type.
    pub process: String,
    /// Where the statement stands.
    pub position: Option<Position>,
    /// The statement as the user wrote it.
    pub text: String,
}

/// A step: what an observer sees as one transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What the search calls it.
    pub action: Action,
    /// The statements executed, at least one. Several if some of them are invisible, or two processes meet.
    pub statements: Vec<Statement>,
    /// What was printed.
    pub printed: String,
    /// Values that were cut to their type, a sentence each.
    pub warnings: Vec<String>,
    /// The state reached; none after a fatal fault.
    pub state: Option<Vec<u8>>,
    /// What went wrong.
    pub fault: Option<Fault>,
}

impl Step {
    /// The statement that stands for the step: the initiator's first.
    pub fn first(&self) -> &Statement {
        &self.statements[0]
    }

    /// The step in a line, as graphs label their edges: `P(1): x = 1; y = 2 | Q(0): c?x`.
    pub fn label(&self) -> String {
        let mut label = String::new();
        let mut speaker = None;
        for statement in &self.statements {
            let who = Some(statement.pid);
            if speaker != who {
                let bar = if speaker.is_some() { " | " } else { "" };
                label.push_str(&format!("{bar}{}({}): ", statement.process, statement.pid));
            } else {
                label.push_str("; ");
            }
            label.push_str(&statement.text);
            speaker = who;
        }
        label
    }
}

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
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Initial => f.write_str("the trace does not begin in the program's initial state"),
            ReplayError::Step(number) => write!(f, "the program cannot take step {number} of the trace"),
            ReplayError::Violation(fault) => write!(f, "the program can take these steps, but they do not end in the violation ({fault})"),
            ReplayError::State(error) => write!(f, "not a state of the program: {error}"),
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

    /// The steps that leave a state, in the order in which a search sees them.
    pub fn steps(&self, state: &[u8]) -> Result<Vec<Step>, ReplayError> {
        self.interpreter.check_state(state).map_err(ReplayError::State)?;
        let mut map = StateMap::default();
        map.read(self.program().layout(), state).map_err(ReplayError::State)?;
        Ok(self.interpreter.explain(state).into_iter().map(|explained| self.step(&map, explained)).collect())
    }

    /// Whether a state without steps is an accepted end.
    pub fn is_valid_end(&self, state: &[u8]) -> bool {
        self.interpreter.clone().is_valid_end(state)
    }

    /// Runs through a trace and tells each step. An error if the program cannot take it.
    pub fn replay(&self, trace: &Trace) -> Result<Vec<Step>, ReplayError> {
        if self.initial().0.as_deref() != Some(&trace.initial) {
            return Err(ReplayError::Initial);
        }
        self.replay_from(trace)
    }

    /// Runs through a trace that may begin in any state.
    pub fn replay_from(&self, trace: &Trace) -> Result<Vec<Step>, ReplayError> {
        let mut told: Vec<Step> = Vec::with_capacity(trace.steps.len());
        for (index, wanted) in trace.steps.iter().enumerate() {
            let state = trace.state_after(index).ok_or(ReplayError::Step(index + 1))?;
            let same = |step: &Step| step.action == wanted.action && step.state == wanted.state;
            let step = self.steps(state)?.into_iter().find(same);
            told.push(step.ok_or(ReplayError::Step(index + 1))?);
        }
        Ok(told)
    }

    /// Runs through the trace of a violation and accepts it only if the violation is at its end.
    pub fn confirm(&self, violation: &Violation) -> Result<Vec<Step>, ReplayError> {
        let steps = self.replay(&violation.trace)?;
        let same = |fault: &Fault| fault.kind == violation.fault.kind && (fault.kind == FaultKind::Deadlock || *fault == violation.fault);
        if self.fault_at_end(&violation.trace, &steps).as_ref().is_some_and(same) {
            Ok(steps)
        } else {
            Err(ReplayError::Violation(violation.fault.clone()))
        }
    }

    /// What is wrong at the end of a trace, whose replayed steps are `steps`: the fault of its last step, or a deadlock behind it.
    pub fn fault_at_end(&self, trace: &Trace, steps: &[Step]) -> Option<Fault> {
        let committed = match steps.last() {
            Some(step) => step.fault.clone(),
            None => self.initial().1.filter(|_| self.initial().0.as_ref() == Some(&trace.initial)),
        };
        committed.or_else(|| self.deadlock(trace.last_state()))
    }

    /// The deadlock in a state, if there is one, with the place of a process that is stuck.
    pub fn deadlock(&self, state: &[u8]) -> Option<Fault> {
        if self.is_valid_end(state) || !self.steps(state).ok()?.is_empty() {
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

    fn step(&self, before: &StateMap, explained: Explained) -> Step {
        let tables = self.program().program();
        let mut statements = Vec::new();
        let mut printed = String::new();
        let mut warnings = Vec::new();
        for event in &explained.events {
            match event {
                Event::Step { process, step } => statements.push(self.statement(before, *process, *step)),
                Event::Print { format, values, .. } => {
                    let format = tables.formats.get(format.index()).map_or("", String::as_str);
                    // The verifier has read the format before us.
                    printed.push_str(&format::render(format, values, |value| tables.symbol(value)).unwrap_or_default());
                }
                Event::Cut { at, value, stored } => {
                    let text = tables.span_at(*at).map_or_else(|| at.to_string(), |span| span.text.clone());
                    warnings.push(format!("{value} does not fit, {stored} is stored: {text}"));
                }
            }
        }
        // A statement that fails for good never completes, so no event tells of it.
        if let Some(fault) = explained.fault.filter(|_| explained.state.is_none()) {
            statements.push(self.statement(before, explained.action.process as usize, fault.addr));
        }
        if statements.is_empty() {
            statements.push(self.statement(before, explained.action.process as usize, Addr(0)));
        }
        let fault = explained.fault.and_then(|fault| FaultCode::new(fault.code()));
        Step {
            action: explained.action,
            statements,
            printed,
            warnings,
            state: explained.state,
            fault: fault.map(|code| self.interpreter.describe_fault(code)),
        }
    }

    fn statement(&self, before: &StateMap, pid: usize, address: Addr) -> Statement {
        let tables = self.program().program();
        let ty = match before.processes.get(pid).map(|component| component.shape) {
            Some(Shape::Process(ty)) => ty,
            _ => tables.process_at(address).unwrap_or(ProcessId(0)),
        };
        let process = tables.processes.get(ty.index()).map_or_else(String::new, |process| process.name.clone());
        let span = tables.span_at(address);
        let position = span.map(|span| Position {
            file: tables.files.get(span.file.index()).cloned().unwrap_or_default(),
            line: span.line,
            column: span.column,
        });
        // A program without source positions still has instructions.
        let text = match span {
            Some(span) => span.text.clone(),
            None => format!("{address}"),
        };
        Statement { pid, process, position, text }
    }
}
