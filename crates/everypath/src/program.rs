//! The central type: a program that was read and accepted.

use crate::error::Error;
use crate::reading::Reading;
use bytecode::{Verified, asm, binary};
use check::{Checked, Engine, Plan, Selected, Subject};
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
        Program::load_from(Input { name, bytes: contents, defines, formulas: &[], files })
    }

    /// Reads a program with everything that belongs to it, within a time limit if there is one.
    ///
    /// ```
    /// use everypath::{Error, Plan, Program, Reading, Verdict};
    /// use std::time::Duration;
    ///
    /// let text = b"byte n; active proctype P() { do :: n < LIMIT -> n++ :: n > 0 -> n-- od }";
    /// let reading = Reading {
    ///     defines: vec![("LIMIT".to_owned(), "5".to_owned())],
    ///     formulas: vec![("top".to_owned(), "[] <> (n == LIMIT)".to_owned())],
    ///     limit: Some(Duration::from_secs(60)),
    ///     ..Reading::default()
    /// };
    /// let program = Program::read("counter.pml", text, &reading)?;
    /// let checked = program.only(&["top"]).check(&Plan::usual())?;
    /// // It can go up and down for ever without reaching the limit.
    /// assert!(matches!(checked.outcome.verdict, Verdict::Violated(_)));
    ///
    /// let long = format!("int x; init {{ {} }}", "x = x + 1; ".repeat(50_000));
    /// let hasty = Reading { limit: Some(Duration::from_millis(1)), ..Reading::default() };
    /// assert!(matches!(Program::read("m.pml", long.as_bytes(), &hasty), Err(Error::LoadTime(_))));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn read(name: &str, contents: &[u8], reading: &Reading) -> Result<Program, Error> {
        let load = |name: &str, contents: &[u8], Reading { defines, includes, formulas, .. }: &Reading| {
            Program::load_from(Input { name, bytes: contents, defines, formulas, files: &mut includes.clone() })
        };
        let Some(limit) = reading.limit else { return load(name, contents, reading) };
        let (name, contents, reading) = (name.to_owned(), contents.to_vec(), reading.clone());
        let (send, receive) = mpsc::channel();
        let work = move || {
            // After the limit the result is dropped.
            let _ = send.send(load(&name, &contents, &reading));
        };
        let thread = thread::Builder::new().name("everypath load".to_owned()).spawn(work);
        thread.map_err(|_| Error::LoadTime(Duration::ZERO))?;
        receive.recv_timeout(limit).unwrap_or(Err(Error::LoadTime(limit)))
    }

    fn load_from(input: Input<'_>) -> Result<Program, Error> {
        let name = input.name.to_owned();
        let loaded = languages::load(input)?;
        let warnings = loaded.warnings_in_lines().into();
        let (subject, name): (Arc<dyn Subject>, _) = match loaded.model {
            Model::Program(program) => {
                let name = program.program().name.clone();
                (Arc::new(Arc::<Verified>::from(program)), name)
            }
            Model::Graph(graph) => (Arc::new(graph), name),
        };
        Ok(Program { narrator: subject.narrator(), subject, name: name.into(), warnings })
    }

    /// The same program, which states only the properties with these names. A name that it does not
    /// state is ignored; the properties of a checked program are in [`Checked::properties`].
    pub fn only(&self, names: &[&str]) -> Program {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        let (subject, branching, automata) = (Arc::clone(&self.subject), Vec::new(), Vec::new());
        Program { subject: Arc::new(Selected { subject, names, branching, automata }), ..self.clone() }
    }

    /// A program of the caller's own kind. Everything works as for one that was read: checks with
    /// all orders and stores, temporal properties over its propositions, and traces in its words.
    pub fn of(name: &str, subject: Arc<dyn Subject>) -> Program {
        Program { narrator: subject.narrator(), subject, name: name.into(), warnings: Arc::default() }
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

    /// Carries out a plan to its end. [`Plan::usual`] is the plan of the command `everypath check`.
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
