//! Native code for programs, without a C compiler: the step graph goes through Cranelift, in milliseconds.
//!
//! [`Native`] is a [`System`] like the reference interpreter and gives the same successors in the same order. It differs in how: each control
//! location is a function that writes successors straight into the search's buffer (`emit`); what is rare or large is left to helpers
//! (`helpers`); what joins several steps to one transition happens in between (`at_once`, and `follow` for what is long).

mod at_once;
mod channels;
mod compile;
mod context;
mod emit;
mod expr;
mod faults;
mod follow;
mod helpers;
mod memory;
mod source;
mod step;
mod touched;

pub use compile::CompileError;

use bytecode::{Mode, Op, Verified};
use compile::Tables;
use context::{Context, Purpose, View, view_of};
use contract::{Action, FaultCode, Successors, System, Written};
use std::sync::Arc;

/// A program in native code.
pub struct Native {
    // The context points into both, so they are declared after it and dropped after it.
    context: Box<Context>,
    tables: Arc<Tables>,
    program: Arc<Verified>,
    initial: Arc<Result<(Vec<u8>, u32), u32>>,
    /// Whether a second pass, with TIMEOUT, can find more.
    uses_timeout: bool,
    /// For each type and location, whether a process may end there.
    ends: Arc<[Box<[bool]>]>,
    describe: fn(&Verified, FaultCode) -> contract::Fault,
    components: fn(&bytecode::Layout, &[u8], &mut Vec<u32>),
}

// SAFETY: the context's pointers lead into the shared tables and program, which are Sync and kept alive here, and into buffers the context
// owns; `out` and the views are only set while an expansion runs.
unsafe impl Send for Native {}

/// What an engine of a program borrows from outside: words, not behaviour.
#[derive(Clone, Copy)]
pub struct Describe {
    /// Explains a fault code.
    pub fault: fn(&Verified, FaultCode) -> contract::Fault,
    /// Gives the ends of a state's components.
    pub components: fn(&bytecode::Layout, &[u8], &mut Vec<u32>),
}

impl Native {
    /// Compiles a program.
    pub fn compile(program: Arc<Verified>, describe: Describe) -> Result<Native, CompileError> {
        let tables = Arc::new(Tables::compile(&program)?);
        let context = Box::new(Context::new(&program, &tables));
        let code = &program.program().code;
        let uses_timeout = code.iter().any(|op| matches!(op, Op::Timeout {}));
        let mut native = Native {
            context,
            tables,
            uses_timeout,
            ends: valid_ends(&program),
            initial: Arc::new(Err(0)),
            describe: describe.fault,
            components: describe.components,
            program,
        };
        native.initial = Arc::new(native.initial_state());
        Ok(native)
    }

    /// M-INITIAL: the state, with the fault its making carries, or the fault that prevents it.
    fn initial_state(&mut self) -> Result<(Vec<u8>, u32), u32> {
        let layout = self.program.layout();
        let declared = self.program.program();
        let mut bytes = vec![0; layout.fixed];
        for (slot, variable) in layout.globals.iter().zip(&declared.globals) {
            for i in 0..slot.elements {
                slot.ty.write(variable.initial(i), &mut bytes[slot.offset + i * slot.ty.width()..]);
            }
        }
        let mut out = Successors::new();
        let context = &mut *self.context;
        context.out = &mut out;
        if context.asked.load(&self.program, &self.tables, &bytes).is_err() {
            return Err(0);
        }
        context.view = view_of(&mut context.asked);
        context.purpose = Purpose::Direct;
        context.renew_dst();
        // No transitions are made here, and the buffer does not stay.
        context.settle();
        context.noted = 0;
        out.slot(bytes.len())[..bytes.len()].copy_from_slice(&bytes);
        let mut noted = 0;
        for &ty in &declared.instances {
            context.values = [0; 32];
            let process = &declared.processes[ty.index()];
            let number = helpers::run(context, ty.0 as u32, process.params as u32, process.entry.0);
            if number < 0 {
                return Err((-number) as u32);
            }
            if noted == 0 {
                noted = std::mem::take(&mut context.noted);
            }
            context.noted = 0;
        }
        let len = context.view.dst_len;
        let state = out.slot(len).to_vec();
        Ok((state, noted))
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
        if self.context.gave_up() {
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
        if self.context.emitted() == before {
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

/// For each type and location, whether a process may end there: it has an end label, or nothing is left but to go.
fn valid_ends(program: &Verified) -> Arc<[Box<[bool]>]> {
    let declared = program.program();
    let is_end =
        |at: bytecode::Addr| declared.label_kind_at(at).end || matches!(declared.code[at.index()], Op::Step { mode: Mode::Terminate });
    let of_type = |ty: bytecode::ProcessId| -> Box<[bool]> {
        let locations = (0..program.locations().count(ty)).map(|location| bytecode::Location(location as u16));
        locations.map(|location| program.locations().address(ty, location).is_some_and(is_end)).collect()
    };
    (0..declared.processes.len()).map(|i| of_type(bytecode::ProcessId(i as u8))).collect()
}

impl Clone for Native {
    fn clone(&self) -> Self {
        Native {
            context: Box::new(Context::new(&self.program, &self.tables)),
            tables: self.tables.clone(),
            program: self.program.clone(),
            initial: self.initial.clone(),
            uses_timeout: self.uses_timeout,
            ends: self.ends.clone(),
            describe: self.describe,
            components: self.components,
        }
    }
}

impl System for Native {
    fn initial(&mut self, out: &mut Successors) {
        match &*self.initial {
            Ok((state, 0)) => out.push(state, Action::default()),
            Ok((state, fault)) => match FaultCode::new(*fault) {
                Some(fault) => out.push_faulty(state, Action::default(), fault),
                None => out.push(state, Action::default()),
            },
            Err(fault) => {
                if let Some(fault) = FaultCode::new(*fault) {
                    out.fail(Action::default(), fault);
                }
            }
        }
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        if self.context.asked.load(&self.program, &self.tables, state).is_ok() {
            self.context.out = out;
            self.expand();
            self.context.settle();
        }
    }

    fn is_valid_end(&mut self, state: &[u8]) -> bool {
        let layout = self.program.layout();
        if self.context.asked.load(&self.program, &self.tables, state).is_err() {
            return true;
        }
        (0..self.context.asked.process_count as usize).all(|p| {
            let source::ProcessAt { ty, offset, .. } = self.context.asked.processes[p];
            let location = layout.processes[ty as usize].location(&state[offset as usize..]);
            self.ends[ty as usize].get(location.0 as usize).is_some_and(|&end| end)
        })
    }

    fn components(&self, state: &[u8], out: &mut Vec<u32>) {
        (self.components)(self.program.layout(), state, out);
    }

    fn describe_fault(&self, code: FaultCode) -> contract::Fault {
        (self.describe)(&self.program, code)
    }
}
