//! The central type: a program that was read and accepted.

use crate::error::Error;
use crate::includes::Includes;
use bytecode::{Verified, asm, binary};
use check::{Checked, Engine, Plan, Subject};
use contract::{Cancel, CloneSystem, Observer, Quiet, Trace};
use languages::{Files, Input, Model, NoFiles};
use replay::{Choice, Narrator, Step, View};
use std::fmt;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// A verified program. Cheap to clone; clones share it.
#[derive(Clone)]
pub struct Program {
    subject: Arc<dyn Subject>,
    name: Arc<str>,
    narrator: Narrator,
    warnings: Arc<[String]>,
}

impl Program {
    /// Reads a program. The language is recognised by the ending of `name` or by the contents;
    /// positions in messages show the name.
    pub fn load(name: &str, contents: &[u8]) -> Result<Program, Error> {
        Program::load_with(name, contents, &[], &mut NoFiles)
    }

    /// Reads a program that may include other files, with names defined for its preprocessor.
    pub fn load_with(name: &str, contents: &[u8], defines: &[(String, String)], files: &mut dyn Files) -> Result<Program, Error> {
        let loaded = languages::load(Input { name, bytes: contents, defines, formulas: &[], files })?;
        let warnings = loaded.warnings_in_lines().into();
        let (subject, name): (Arc<dyn Subject>, _) = match loaded.model {
            Model::Program(program) => {
                let name = program.program().name.clone();
                (Arc::new(Arc::<Verified>::from(program)), name)
            }
            Model::Graph(graph) => (Arc::new(graph), name.to_owned()),
        };
        Ok(Program { narrator: subject.narrator(), subject, name: name.into(), warnings })
    }

    /// Reads a program like [`load_with`](Self::load_with), within a time limit. The work is done
    /// by a thread of its own. After the limit the call returns [`Error::LoadTime`] at once, and
    /// the result of the thread is dropped. The thread itself still runs to its end, which the
    /// limits of the front-ends bound to some seconds and some hundred megabytes.
    ///
    /// ```
    /// # use everypath::{Error, Includes, Program};
    /// # use std::time::Duration;
    /// let long = format!("int x; init {{ {} }}", "x = x + 1; ".repeat(50_000));
    /// let limit = Duration::from_millis(1);
    /// let loaded = Program::load_within("m.pml", long.as_bytes(), &[], &Includes::new(), limit);
    /// assert!(matches!(loaded, Err(Error::LoadTime(_))));
    /// ```
    pub fn load_within(
        name: &str,
        contents: &[u8],
        defines: &[(String, String)],
        includes: &Includes,
        limit: Duration,
    ) -> Result<Program, Error> {
        let (name, contents, defines, mut includes) = (name.to_owned(), contents.to_vec(), defines.to_vec(), includes.clone());
        let (send, receive) = mpsc::channel();
        let work = move || {
            let loaded = Program::load_with(&name, &contents, &defines, &mut includes);
            // After the limit the result is dropped.
            let _ = send.send(loaded);
        };
        let thread = thread::Builder::new().name("everypath load".to_owned()).spawn(work);
        thread.map_err(|_| Error::LoadTime(Duration::ZERO))?;
        receive.recv_timeout(limit).unwrap_or(Err(Error::LoadTime(limit)))
    }

    /// Warnings about the program, one line each with a position.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The program's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The program as byte-code assembly; `None` for a graph.
    pub fn to_assembly(&self) -> Option<String> {
        Some(asm::disassemble(self.subject.byte_code()?.program()))
    }

    /// The program as byte-code in its binary form; `None` for a graph.
    pub fn to_binary(&self) -> Option<Vec<u8>> {
        Some(binary::encode(self.subject.byte_code()?.program()))
    }

    /// The initial state.
    pub fn initial(&self) -> Result<Vec<u8>, Error> {
        match self.narrator.initial() {
            (Some(state), _) => Ok(state),
            (None, Some(fault)) => Err(Error::Initial(fault)),
            // Every program has an initial state, even one without processes, so this does not
            // happen. An empty state would be refused by the functions that take states.
            (None, None) => Ok(Vec::new()),
        }
    }

    /// The steps that leave a state, each with its target state and a description.
    pub fn successors(&self, state: &[u8]) -> Result<Vec<Step>, Error> {
        Ok(self.narrator.steps(state)?)
    }

    /// Whether the program may end in a state without steps. If not, the state is a deadlock.
    pub fn is_valid_end(&self, state: &[u8]) -> Result<bool, Error> {
        self.view(state)?;
        Ok(self.narrator.is_valid_end(state))
    }

    /// The values in a state.
    pub fn view(&self, state: &[u8]) -> Result<View, Error> {
        Ok(self.narrator.view(state)?)
    }

    /// The program as a transition system, for searches of your own: bytes in, bytes out, no texts,
    /// no allocation per step. It is the same native code that [`check`](Self::check) explores, if
    /// there is any for this machine.
    pub fn system(&self) -> Box<dyn CloneSystem> {
        self.subject.system(Engine::Native, Arc::default(), &Quiet)
    }

    /// The statements that each process could execute next in a state, by process number. The
    /// process chooses among them, or waits for one of them.
    pub fn options(&self, state: &[u8]) -> Result<Vec<Vec<Choice>>, Error> {
        self.view(state)?;
        Ok(self.narrator.options(state))
    }

    /// Carries out a plan to its end.
    pub fn check(&self, plan: &Plan) -> Result<Checked, Error> {
        self.check_with(plan, &Cancel::default(), &Quiet)
    }

    /// Carries out a plan. `cancel` can stop it from another thread; `observer` gets the progress.
    pub fn check_with(&self, plan: &Plan, cancel: &Cancel, observer: &dyn Observer) -> Result<Checked, Error> {
        Ok(check::run(&*self.subject, plan, cancel, observer)?)
    }

    /// Executes a trace on the reference interpreter and describes its steps.
    pub fn replay(&self, trace: &Trace) -> Result<Vec<Step>, Error> {
        Ok(self.narrator.replay_from(trace)?)
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("name", &self.name()).finish_non_exhaustive()
    }
}
