//! Describes byte-code programs, by the reference interpreter.

use crate::moves::ProgramMoves;
use crate::narrator::ReplayError;
use crate::options::{Choice, options};
use crate::requests::tell_requests;
use crate::values::{Datum, View, queues, structured, view};
use crate::waiting::{Waiting, waiting};
use crate::words::{NotAState, Tell, Words};
use bytecode::{LayoutError, Verified};
use contract::{Enough, Fault, Successors, System, Trace};
use std::sync::Arc;
use vm::Interpreter;

/// A program and its interpreter.
pub(crate) struct ProgramWords {
    interpreter: Interpreter,
}

impl ProgramWords {
    pub fn new(program: Arc<Verified>) -> ProgramWords {
        ProgramWords { interpreter: Interpreter::new(program) }
    }

    fn program(&self) -> &Verified {
        self.interpreter.program()
    }
}

impl From<LayoutError> for NotAState {
    fn from(error: LayoutError) -> NotAState {
        NotAState(error.to_string())
    }
}

impl Words for ProgramWords {
    fn initial(&self) -> (Option<Vec<u8>>, Option<Fault>) {
        let mut out = Successors::new();
        self.interpreter.clone().initial(&mut out);
        match out.entries().first() {
            Some(entry) => (out.state(entry).map(<[u8]>::to_vec), entry.fault().map(|code| self.interpreter.describe_fault(code))),
            None => (None, None),
        }
    }

    fn moves<'w>(&'w self, state: &[u8]) -> Result<Box<dyn Tell + 'w>, ReplayError> {
        Ok(Box::new(ProgramMoves::new(&self.interpreter, state)?))
    }

    fn giving_up_when(&self, enough: Enough) -> Option<Arc<dyn Words>> {
        let mut interpreter = self.interpreter.clone();
        interpreter.give_up_when(enough);
        Some(Arc::new(ProgramWords { interpreter }))
    }

    fn can_move(&self, state: &[u8]) -> Result<bool, ReplayError> {
        self.interpreter.check_state(state).map_err(NotAState::from)?;
        let mut out = Successors::new();
        self.interpreter.clone().successors(state, &mut out);
        if out.is_cut_short() { Err(ReplayError::Stopped) } else { Ok(!out.entries().is_empty()) }
    }

    fn is_valid_end(&self, state: &[u8]) -> bool {
        self.interpreter.clone().is_valid_end(state)
    }

    fn view(&self, state: &[u8]) -> Result<View, NotAState> {
        Ok(view(self.program(), state)?)
    }

    fn values(&self, state: &[u8]) -> Result<Vec<(String, Datum)>, NotAState> {
        Ok(structured(self.program(), state)?)
    }

    fn options(&self, state: &[u8]) -> Vec<Vec<Choice>> {
        options(self.program(), state).unwrap_or_default()
    }

    fn waiting(&self, trace: &Trace) -> Vec<Waiting> {
        let mut found = waiting(&self.interpreter, trace).unwrap_or_default();
        tell_requests(self.program(), trace, &mut found);
        found
    }

    fn queues(&self, state: &[u8]) -> Vec<Vec<Vec<u8>>> {
        queues(self.program(), state)
    }
}
