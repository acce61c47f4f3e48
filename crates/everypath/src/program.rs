//! The one type a caller needs: a program that was read and accepted.

use crate::error::Error;
use bytecode::{Verified, asm, binary};
use check::{Checked, Plan};
use contract::{Cancel, Observer, Quiet, System, Trace};
use languages::{Files, NoFiles, Source};
use replay::{Choice, Narrator, Step, View};
use std::fmt;
use std::sync::Arc;

/// A verified program. Cheap to clone; clones share it.
#[derive(Clone)]
pub struct Program {
    verified: Arc<Verified>,
    narrator: Narrator,
    warnings: Arc<[String]>,
}

impl Program {
    /// Reads a program. The ending of `name`, or the contents, tell the language; positions in messages show the name.
    pub fn load(name: &str, contents: &[u8]) -> Result<Program, Error> {
        Program::load_with(name, contents, &[], &mut NoFiles)
    }

    /// Reads a program that may include other files, with names defined for its preprocessor.
    pub fn load_with(name: &str, contents: &[u8], defines: &[(String, String)], files: &mut dyn Files) -> Result<Program, Error> {
        let loaded = languages::load(Source { name, bytes: contents, defines, files })?;
        let warnings = loaded.warnings_in_lines().into();
        let verified = Arc::new(loaded.program);
        Ok(Program { narrator: Narrator::new(Arc::clone(&verified)), verified, warnings })
    }

    /// What is worth knowing about the program, a line each with its place.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The program's name.
    pub fn name(&self) -> &str {
        &self.verified.program().name
    }

    /// The program as byte-code assembly.
    pub fn to_assembly(&self) -> String {
        asm::disassemble(self.verified.program())
    }

    /// The program as byte-code in its binary form.
    pub fn to_binary(&self) -> Vec<u8> {
        binary::encode(self.verified.program())
    }

    /// The initial state.
    pub fn initial(&self) -> Result<Vec<u8>, Error> {
        match self.narrator.initial() {
            (Some(state), _) => Ok(state),
            (None, Some(fault)) => Err(Error::Initial(fault)),
            // A program without processes has an initial state too, so this does not happen; an empty state is refused by whoever gets it.
            (None, None) => Ok(Vec::new()),
        }
    }

    /// The steps that leave a state, each with the state it leads to and what happens on the way.
    pub fn successors(&self, state: &[u8]) -> Result<Vec<Step>, Error> {
        Ok(self.narrator.steps(state)?)
    }

    /// Whether a state without steps is one in which the program may end. If not, it is a deadlock.
    pub fn is_valid_end(&self, state: &[u8]) -> Result<bool, Error> {
        self.view(state)?;
        Ok(self.narrator.is_valid_end(state))
    }

    /// The values in a state.
    pub fn view(&self, state: &[u8]) -> Result<View, Error> {
        replay::view(&self.verified, state).map_err(|error| Error::State(replay::ReplayError::State(error)))
    }

    /// The program as a transition system, for searches of one's own: bytes in, bytes out, no words, nothing allocated in between.
    pub fn system(&self) -> impl System + Clone + use<> {
        vm::Interpreter::new(Arc::clone(&self.verified))
    }

    /// What each process could execute next in a state, by its number: the statements among which it chooses, or for which it waits.
    pub fn options(&self, state: &[u8]) -> Result<Vec<Vec<Choice>>, Error> {
        replay::options(&self.verified, state).map_err(|error| Error::State(replay::ReplayError::State(error)))
    }

    /// Carries out a plan to its end.
    pub fn check(&self, plan: &Plan) -> Result<Checked, Error> {
        self.check_with(plan, &Cancel::default(), &Quiet)
    }

    /// Carries out a plan; `cancel` can stop it from another thread, `observer` hears how far it is.
    pub fn check_with(&self, plan: &Plan, cancel: &Cancel, observer: &dyn Observer) -> Result<Checked, Error> {
        Ok(check::run(&self.verified, plan, cancel, observer)?)
    }

    /// Runs through a trace on the reference interpreter and tells its steps.
    pub fn replay(&self, trace: &Trace) -> Result<Vec<Step>, Error> {
        Ok(self.narrator.replay_from(trace)?)
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("name", &self.name()).finish_non_exhaustive()
    }
}
