//! Records a run as a trace of the checked graph.
//!
//! Each action of the run is looked up among the transitions that the reference interpreter finds
//! in the state before. So a recorded run is also confirmed: an action that the graph does not have
//! is found here.

use bytecode::{Fault, Verified};
use contract::{Action, FaultCode, Successors, System, Trace, TraceStep};
use std::sync::Arc;

/// The actions of a run so far.
pub(crate) struct Recorder {
    system: vm::Interpreter,
    out: Successors,
    trace: Trace,
    most: usize,
    /// Whether an action was found that the graph does not have.
    strayed: bool,
}

impl Recorder {
    pub fn new(program: &Arc<Verified>, initial: Vec<u8>, most: usize) -> Recorder {
        let system = vm::Interpreter::new(Arc::clone(program));
        Recorder { system, out: Successors::new(), trace: Trace { initial, ..Trace::default() }, most, strayed: false }
    }

    /// Whether recording has ended.
    pub fn is_full(&self) -> bool {
        self.strayed || self.trace.steps.len() >= self.most
    }

    /// Adds an action of a process that led to a state, or failed.
    pub fn add(&mut self, process: usize, state: Option<Vec<u8>>, fault: Option<Fault>) {
        if self.is_full() {
            return;
        }
        self.out.clear();
        let before = self.trace.last_state().to_vec();
        self.system.expand_part(&before, bytecode::Part::Process(process as u32).number(), &mut self.out);
        let code = fault.and_then(|fault| FaultCode::new(fault.code()));
        let same = |found: Option<&[u8]>, with: Option<FaultCode>| match &state {
            Some(state) => found == Some(&state[..]) && with == code,
            None => found.is_none() && with == code,
        };
        let found: Option<Action> = self.out.iter().find(|(entry, found)| same(*found, entry.fault())).map(|(entry, _)| entry.action);
        match found {
            Some(action) => self.trace.steps.push(TraceStep { action, state }),
            None => self.strayed = true,
        }
    }

    /// The trace; it is an error if an action is not in the graph.
    pub fn into_trace(self) -> Result<Trace, Trace> {
        if self.strayed { Err(self.trace) } else { Ok(self.trace) }
    }
}
