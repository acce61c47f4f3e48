//! Native code for programs, without a C compiler: the step graph goes through Cranelift, in milliseconds.
//!
//! [`Native`] is a [`System`] like the reference interpreter and gives the same successors in the same order. It differs in how: each control
//! location is a function that writes successors straight into the search's buffer (`emit`); what is rare or large is left to helpers
//! (`helpers`); what joins several steps to one transition happens in between (`at_once`, and `follow` for what is long).
//!
//! A search does not wait for code. It is made in the background (`background`), and a state for which some of it is missing is expanded
//! by the interpreter as a whole: the successors are the same, so it makes no difference to a search when which code comes.

mod at_once;
mod background;
mod channels;
mod compile;
mod context;
mod emit;
mod expr;
mod faults;
mod follow;
mod helpers;
mod memory;
mod parts;
mod source;
mod step;
mod tables;
mod touched;

pub use background::{Progress, Selection};
pub use compile::CompileError;

use background::Translation;
use bytecode::{Op, Verified};
use context::{Context, Purpose, View, view_of};
use contract::{Effort, Enough, FaultCode, Successors, System, Written};
use std::sync::Arc;
use std::time::Duration;
use vm::Interpreter;

/// How long a search may wait for native code before it starts without. Most programs are translated by then.
const PATIENCE: Duration = Duration::from_millis(100);

/// A program in native code, as far as that is there yet.
pub struct Native {
    // It points into the tables and the code, which the translation keeps; so it is declared before that and dropped before it.
    context: Box<Context>,
    translation: Arc<Translation>,
    program: Arc<Verified>,
    /// For states for which code is missing.
    interpreter: Interpreter,
    /// Whether a second pass, with TIMEOUT, can find more.
    uses_timeout: bool,
}

// SAFETY: the context's pointers lead into the shared tables, which are Sync and which it keeps alive, and into buffers it owns; `out` is null
// and `view` is not read while no expansion is under way.
unsafe impl Send for Native {}

impl Native {
    /// Starts to translate a program, and waits a moment for it.
    pub fn new(program: Arc<Verified>) -> Result<Native, CompileError> {
        let native = Native::selected(program, |_, _| true)?;
        native.translation.wait(Some(PATIENCE));
        Ok(native)
    }

    /// Translates a whole program.
    pub fn compile(program: Arc<Verified>) -> Result<Native, CompileError> {
        let native = Native::selected(program, |_, _| true)?;
        native.wait();
        Ok(native)
    }

    /// Starts to translate some locations of a program. The others are left to the interpreter, as if their code never came.
    pub fn selected(program: Arc<Verified>, selection: Selection) -> Result<Native, CompileError> {
        // Parameters are handed over through a place of fixed size.
        let (most, processes) = (bytecode::MAX_FIELDS, &program.program().processes);
        if processes.iter().any(|p| p.params as usize > most) {
            return Err(CompileError::Generator(format!("a process has more than {most} parameters")));
        }
        let translation = Arc::new(Translation::start(Arc::clone(&program), selection)?);
        Ok(Native {
            context: Box::new(Context::new(Arc::clone(&program), Arc::clone(&translation.tables))),
            translation,
            interpreter: Interpreter::new(Arc::clone(&program)),
            uses_timeout: program.program().code.iter().any(|op| matches!(op, Op::Timeout {})),
            program,
        })
    }

    /// Waits until nothing more will be translated.
    pub fn wait(&self) -> Progress {
        self.translation.wait(None)
    }

    /// The transitions of one process from the state asked about, which native code works on before and after.
    fn process(&mut self, process: u32, timeout: bool) {
        let context = &mut *self.context;
        (context.initiator, context.choice) = (process, 0);
        context.call(process);
        if context.unfinished != 0 {
            self.finish(process, timeout);
        }
    }

    /// The transitions of all processes.
    #[inline]
    fn processes(&mut self, timeout: bool) {
        if self.context.uses_priorities {
            return self.processes_by_priority(timeout);
        }
        let mut next = 0;
        loop {
            next = self.context.expand_from(next);
            if self.context.unfinished == 0 {
                return;
            }
            self.finish(next - 1, timeout);
            if self.context.code_is_missing {
                return;
            }
        }
    }

    /// The same if some may keep others from moving.
    #[cold]
    fn processes_by_priority(&mut self, timeout: bool) {
        for process in 0..self.context.asked.process_count {
            if !self.context.outranked(|c| &mut c.asked, process, timeout) {
                self.process(process, timeout);
            }
        }
    }

    /// Goes on where native code left a process unfinished.
    #[cold]
    fn finish(&mut self, process: u32, timeout: bool) {
        if self.context.code_is_missing {
            self.context.unfinished = 0;
        } else if self.context.gave_up() {
            self.begin_again(process, timeout);
        } else {
            self.follow_kept(timeout);
        }
    }

    /// Takes back what a process gave and runs it once more, keeping the ends of its paths and following them afterwards.
    fn begin_again(&mut self, process: u32, timeout: bool) {
        let given = self.context.choice as usize;
        let out = self.context.out();
        out.rollback(out.mark_before(given));
        self.context.choice = 0;
        self.look_at_asked(timeout);
        self.context.call(process);
        self.follow_kept(timeout);
        self.context.begin_at_once();
    }

    fn follow_kept(&mut self, timeout: bool) {
        self.context.follow_kept();
        self.look_at_asked(timeout);
    }

    /// The transitions from the state asked about.
    #[inline]
    fn expand(&mut self) {
        let exclusive = self.program.layout().exclusive;
        let context = &mut *self.context;
        context.asked_exclusive = exclusive.map_or(0, |at| context.asked.bytes[at]);
        context.begin_at_once();
        self.look_at_asked(false);
        if self.context.asked_exclusive > 0 {
            let before = self.context.emitted();
            let holder = self.context.asked_exclusive as u32 - 1;
            if holder < self.context.asked.process_count && !self.context.outranked(|c| &mut c.asked, holder, false) {
                self.process(holder, false);
                if self.context.emitted() > before {
                    return;
                }
            }
            if let Some(at) = exclusive {
                self.context.asked.bytes[at] = 0;
            }
        }
        if !self.uses_timeout {
            return self.processes(false);
        }
        let before = self.context.emitted();
        self.processes(false);
        if self.context.emitted() == before && !self.context.code_is_missing {
            self.context.view.timeout = 1;
            self.processes(true);
        }
    }

    /// Makes the state asked about the one native code works on.
    fn look_at_asked(&mut self, timeout: bool) {
        let context = &mut *self.context;
        let written = if context.asked.len > touched::LONGEST_IN_STRIPES { Written::EVERYTHING } else { Written::NOTHING };
        context.view = View { timeout: timeout as u32, written, ..view_of(&mut context.asked) };
        context.purpose = Purpose::Direct;
        context.renew_dst();
    }
}

impl Native {
    /// Takes back what was given for a state, and lets the interpreter expand it.
    #[cold]
    fn interpret(&mut self, state: &[u8], before: usize, out: &mut Successors) {
        self.take_back(before, out);
        self.interpreter.successors(state, out);
    }

    /// Takes back what was given for a state.
    #[cold]
    fn take_back(&mut self, before: usize, out: &mut Successors) {
        let context = &mut *self.context;
        (context.code_is_missing, context.unfinished, context.next_part) = (false, 0, 0);
        context.ends.clear();
        context.end_bytes.clear();
        out.rollback(out.mark_before(out.len() - before));
    }
}

impl Clone for Native {
    fn clone(&self) -> Self {
        Native {
            context: Box::new(Context::new(Arc::clone(&self.program), Arc::clone(&self.translation.tables))),
            translation: Arc::clone(&self.translation),
            program: Arc::clone(&self.program),
            interpreter: self.interpreter.clone(),
            uses_timeout: self.uses_timeout,
        }
    }
}

impl System for Native {
    fn initial(&mut self, out: &mut Successors) {
        self.interpreter.initial(out);
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let before = out.len();
        let context = &mut *self.context;
        if context.asked.load(&context.program, &context.tables, state).is_ok() {
            self.context.out = out;
            self.expand();
            self.context.settle();
            self.context.out = std::ptr::null_mut();
            if self.context.effort.is_over() {
                self.context.effort.begin();
                self.take_back(before, out);
                return out.cut_short();
            }
            if !self.context.code_is_missing {
                return;
            }
        }
        self.interpret(state, before, out);
    }

    fn give_up_when(&mut self, enough: Enough) {
        self.context.effort = Effort::new(enough.clone());
        self.interpreter.give_up_when(enough);
    }

    fn is_valid_end(&mut self, state: &[u8]) -> bool {
        let context = &mut *self.context;
        if context.asked.load(&context.program, &context.tables, state).is_err() {
            return self.interpreter.is_valid_end(state);
        }
        let program = &self.program;
        context.asked.processes[..context.asked.process_count as usize].iter().all(|process| {
            let location = program.layout().processes[process.ty as usize].location(&state[process.offset as usize..]);
            let at = program.locations().address(bytecode::ProcessId(process.ty as u8), location);
            at.is_some_and(|at| program.program().may_end_at(at))
        })
    }

    fn components(&self, state: &[u8], out: &mut Vec<u32>) {
        self.interpreter.components(state, out);
    }

    fn describe_fault(&self, code: FaultCode) -> contract::Fault {
        self.interpreter.describe_fault(code)
    }
}
