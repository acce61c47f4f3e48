//! Native code for programs, without a C compiler: Cranelift compiles the step graph in
//! milliseconds.
//!
//! [`Native`] is a [`System`] like the reference interpreter and gives the same successors in the
//! same order. Each control location is a function that writes successors directly into the
//! search's buffer (`emit`). Rare or large operations are calls of helpers (`helpers`). The run
//! time joins several steps to one transition (`at_once` for short sequences, `follow` for long
//! ones).
//!
//! A search does not wait for code. The code is made in the background (`background`). If some code
//! for a state is missing, the interpreter expands the whole state. The successors are the same, so
//! the result of a search does not depend on when code becomes available.

mod actions;
mod at_once;
mod background;
mod channels;
mod compile;
mod context;
mod emit;
mod expanded;
mod expr;
mod faults;
mod follow;
mod helpers;
mod memory;
mod parts;
mod step;
mod tables;

pub use actions::Actions;
pub use background::{Progress, Selection};
pub use compile::CompileError;

use background::{CODE_MAX, Translation};
use bytecode::{Division, LabelKind, Part, Verified};
use context::{Context, Purpose, View, view_of};
use contract::{Effort, Enough, FaultCode, PROPOSITIONS_MAX, Proposition, Successors, System};
use std::sync::Arc;
use std::time::Duration;
use tables::ValueCode;
use vm::Interpreter;

/// How long a search may wait for native code before it starts without. Most programs are
/// translated by then.
const PATIENCE: Duration = Duration::from_millis(100);

/// A program in native code, as far as the code is available.
pub struct Native {
    // The context points into the tables and the code, which the translation keeps. So it is
    // declared before the translation, and dropped before it.
    context: Box<Context>,
    translation: Arc<Translation>,
    program: Arc<Verified>,
    /// For states for which code is missing.
    interpreter: Interpreter,
    division: Division,
    /// The propositions that a search evaluates in states.
    propositions: Arc<[Proposition]>,
    /// For each type, which of its locations have accept labels and which have progress labels.
    labels: Arc<[Vec<LabelKind>]>,
    /// Whether all processes can always move: there is no privilege, no priority and no timeout.
    is_simple: bool,
    /// Buffers of [`System::values_of_all`].
    codes: Vec<ValueCode>,
    interpreted: Vec<i64>,
}

// SAFETY: the context's pointers lead into the shared tables, which are Sync and which it keeps
// alive, and into buffers it owns; `out` is null and `view` is not read while no expansion is
// running.
unsafe impl Send for Native {}

impl Native {
    /// Starts to translate a program, and waits a short time for it.
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

    /// Starts to translate some locations of a program. The others are left to the interpreter, as
    /// if their code never came.
    pub fn selected(program: Arc<Verified>, selection: Selection) -> Result<Native, CompileError> {
        Native::within(program, selection, CODE_MAX)
    }

    /// The same, with code of about `budget` bytes at most. Locations are left to the interpreter
    /// when it is used up.
    pub fn within(program: Arc<Verified>, selection: Selection, budget: u64) -> Result<Native, CompileError> {
        // Parameters are passed in an array of fixed size.
        let (most, processes) = (bytecode::MAX_FIELDS, &program.program().processes);
        if processes.iter().any(|p| p.params as usize > most) {
            return Err(CompileError::Generator(format!("a process has more than {most} parameters")));
        }
        let translation = Arc::new(Translation::start(Arc::clone(&program), selection, budget)?);
        let context = Box::new(Context::new(Arc::clone(&program), Arc::clone(&translation.tables)));
        let division = Division::of(&program);
        Ok(Native {
            is_simple: program.layout().exclusive.is_none() && !division.uses_timeout() && !context.uses_priorities,
            context,
            translation,
            interpreter: Interpreter::new(Arc::clone(&program)),
            division,
            propositions: Arc::default(),
            labels: labels(&program),
            program,
            codes: Vec::new(),
            interpreted: Vec::new(),
        })
    }

    /// The same, which evaluates these propositions ([`System::atoms`]).
    pub fn watching(self, propositions: Arc<[Proposition]>) -> Self {
        Native { interpreter: self.interpreter.watching(Arc::clone(&propositions)), propositions, ..self }
    }

    /// Waits until nothing more will be translated.
    pub fn wait(&self) -> Progress {
        self.translation.wait(None)
    }

    /// The transitions of one process from the state asked about, which native code works on before
    /// and after.
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

    /// The same if a process may prevent others from moving.
    #[cold]
    fn processes_by_priority(&mut self, timeout: bool) {
        for process in 0..self.context.asked.process_count {
            if !self.context.outranked(|c| &mut c.asked, process, timeout) {
                self.process(process, timeout);
            }
        }
    }

    /// Finishes a process that native code left unfinished.
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

    /// Takes back the successors of a process and executes it again: keeps the ends of its paths
    /// and then follows them.
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
    #[inline(always)]
    fn expand(&mut self) {
        let exclusive = self.program.layout().exclusive;
        let context = &mut *self.context;
        context.asked_exclusive = exclusive.map_or(0, |at| context.asked.bytes[at]);
        context.begin_at_once();
        self.begin_with_asked();
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
        if !self.division.uses_timeout() {
            return self.processes(false);
        }
        let before = self.context.emitted();
        self.processes(false);
        if self.context.emitted() == before && !self.context.code_is_missing {
            self.context.view.timeout = 1;
            self.processes(true);
        }
    }

    /// The transitions of one part of the state asked about.
    #[inline]
    fn expand_part_asked(&mut self, part: Part) {
        if part == Part::Everything {
            return self.expand();
        }
        self.context.asked_exclusive = 0;
        self.context.begin_at_once();
        self.begin_with_asked();
        match part {
            Part::Everything => {}
            Part::Process(process) => {
                if process < self.context.asked.process_count && !self.context.outranked(|c| &mut c.asked, process, false) {
                    self.process(process, false);
                }
            }
            Part::Timeout => {
                let before = self.context.emitted();
                self.processes(false);
                let others = self.context.emitted() - before;
                if others > 0 {
                    // The processes are parts of their own.
                    let out = self.context.out();
                    out.rollback(out.mark_before(others));
                } else if !self.context.code_is_missing {
                    self.context.view.timeout = 1;
                    self.processes(true);
                }
            }
        }
    }

    /// Makes the state asked about the one native code works on, when an expansion begins. Its view
    /// is mostly that of the state before it.
    #[inline(always)]
    fn begin_with_asked(&mut self) {
        let context = &mut *self.context;
        if !context.asked.is_in_view {
            return self.look_at_asked(false);
        }
        context.begin_with_asked_alike();
    }

    /// The same at any time.
    #[cold]
    fn look_at_asked(&mut self, timeout: bool) {
        let context = &mut *self.context;
        context.view = View { timeout: timeout as u32, ..view_of(&mut context.asked) };
        context.asked.is_in_view = true;
        context.purpose = Purpose::Direct;
        context.renew_dst();
    }
}

impl Native {
    /// Expands states as long as each has the components of the one before it, all of its code is
    /// available, and no step is abandoned. Returns the number of states expanded.
    #[inline]
    fn run(&mut self, states: &[&[u8]], source: u32, out: &mut Successors) -> usize {
        self.context.out = out;
        let mut number = 0;
        while let Some(state) = states.get(number) {
            let context = &mut *self.context;
            if !context.asked.take_in_alike(state) || !context.asked.is_in_view {
                break;
            }
            let before = context.emitted();
            // SAFETY: set above from an exclusive reference, which has no other use meanwhile.
            unsafe { &mut *context.out }.begin_source(source + number as u32);
            context.cursor.source = source + number as u32;
            context.begin_at_once();
            context.begin_with_asked_alike();
            self.processes(false);
            if self.context.code_is_missing || self.context.effort.is_over() {
                // The state is expanded again by the general method.
                self.context.settle();
                self.context.effort.begin();
                self.take_back(before, out);
                break;
            }
            number += 1;
        }
        self.context.settle();
        self.context.out = std::ptr::null_mut();
        number
    }

    /// Adds the successors of a part of `state`. The interpreter generates them where native code
    /// cannot.
    #[inline]
    fn generate(&mut self, state: &[u8], part: Part, out: &mut Successors) {
        let before = out.len();
        let context = &mut *self.context;
        if context.asked.load(&context.program, &context.tables, state).is_ok() {
            self.context.out = out;
            self.expand_part_asked(part);
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
        self.interpret(state, part, before, out);
    }

    /// Takes back the successors of a part of a state, and lets the interpreter expand it.
    #[cold]
    fn interpret(&mut self, state: &[u8], part: Part, before: usize, out: &mut Successors) {
        self.take_back(before, out);
        self.interpreter.expand_part(state, part.number(), out);
    }

    /// Takes back the successors of a part of a state.
    #[cold]
    fn take_back(&mut self, before: usize, out: &mut Successors) {
        let context = &mut *self.context;
        (context.code_is_missing, context.unfinished, context.next_part) = (false, 0, 0);
        context.ends.clear();
        context.end_bytes.clear();
        out.rollback(out.mark_before(out.len() - before));
    }
}

impl Native {
    /// Makes the state asked about the one native code reads. Atoms only read, so there is no copy
    /// to be written; an expansion that follows gets one.
    #[inline]
    fn read_asked(&mut self) {
        let context = &mut *self.context;
        if !context.asked.is_in_view {
            context.view = view_of(&mut context.asked);
            context.asked.is_in_view = true;
        }
        // TIMEOUT may have been 1 in the state before.
        context.view.timeout = 0;
    }

    /// The values of the propositions, if there is code for all of them.
    fn native_atoms(&mut self, state: &[u8]) -> Option<Result<u64, FaultCode>> {
        let context = &mut *self.context;
        context.asked.load(&context.program, &context.tables, state).ok()?;
        self.read_asked();
        let mut values = 0;
        for (number, proposition) in self.propositions.iter().take(PROPOSITIONS_MAX).enumerate() {
            let value = match *proposition {
                Proposition::Accepting => self.some_process_at(|kind| kind.accept),
                Proposition::NonProgress => !self.some_process_at(|kind| kind.progress),
                Proposition::Atom(atom) => match native_value(&mut self.context, atom)? {
                    Ok(value) => value != 0,
                    Err(fault) => return Some(Err(fault)),
                },
            };
            values |= u64::from(value) << number;
        }
        Some(Ok(values))
    }

    /// The values of atoms, if there is code for all of them.
    fn native_values(&mut self, state: &[u8], atoms: &[u32], out: &mut Vec<i64>) -> Option<Result<(), FaultCode>> {
        let context = &mut *self.context;
        context.asked.load(&context.program, &context.tables, state).ok()?;
        self.read_asked();
        for &atom in atoms {
            match native_value(&mut self.context, atom)? {
                Ok(value) => out.push(value.into()),
                Err(fault) => return Some(Err(fault)),
            }
        }
        Some(Ok(()))
    }

    /// Writes the values of the atoms with these codes; returns whether there is code for all of
    /// them.
    #[inline]
    fn values_by(&mut self, state: &[u8], codes: &[ValueCode], values: &mut [i64]) -> Result<bool, FaultCode> {
        let context = &mut *self.context;
        if context.asked.load(&context.program, &context.tables, state).is_err() {
            return Ok(false);
        }
        self.read_asked();
        for (to, &code) in values.iter_mut().zip(codes) {
            match value_by(&mut self.context, code) {
                Some(Ok(value)) => *to = value.into(),
                Some(Err(fault)) => return Err(fault),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Whether some process of the state asked about is at a location with such a label.
    fn some_process_at(&self, mark: fn(&LabelKind) -> bool) -> bool {
        let asked = &self.context.asked;
        asked.processes[..asked.process_count as usize].iter().any(|process| {
            let layout = &self.program.layout().processes[process.ty as usize];
            let location = layout.location(&asked.bytes[process.offset as usize..]);
            self.labels[process.ty as usize].get(location.index()).is_some_and(mark)
        })
    }
}

/// The value of an atom in the state asked about, if there is code for it.
#[inline]
fn native_value(context: &mut Context, atom: u32) -> Option<Result<i32, FaultCode>> {
    let code = context.tables.atom(atom)?;
    value_by(context, code)
}

/// The value of an atom with this code.
#[inline]
fn value_by(context: &mut Context, code: ValueCode) -> Option<Result<i32, FaultCode>> {
    // SAFETY: the code of an atom of this program. The context looks at one of its states, and an
    // atom asks for no process, so neither the offset nor the number is used.
    let result = unsafe { code(context, 0, 0) };
    if context.code_is_missing {
        (context.code_is_missing, context.unfinished) = (false, 0);
        return None;
    }
    Some(match FaultCode::new((result >> 32) as u32) {
        Some(fault) => Err(fault),
        None => Ok(result as u32 as i32),
    })
}

/// For each type, the label marks of its locations.
fn labels(program: &Verified) -> Arc<[Vec<LabelKind>]> {
    let types = (0..program.program().processes.len()).filter_map(bytecode::ProcessId::new);
    let of_type = |ty| program.locations().addresses(ty).iter().map(|&at| program.program().label_kind_at(at)).collect();
    types.map(of_type).collect()
}

impl Clone for Native {
    fn clone(&self) -> Self {
        Native {
            context: Box::new(Context::new(Arc::clone(&self.program), Arc::clone(&self.translation.tables))),
            translation: Arc::clone(&self.translation),
            program: Arc::clone(&self.program),
            interpreter: self.interpreter.clone(),
            division: self.division,
            propositions: Arc::clone(&self.propositions),
            labels: Arc::clone(&self.labels),
            is_simple: self.is_simple,
            codes: Vec::new(),
            interpreted: Vec::new(),
        }
    }
}

impl System for Native {
    fn initial(&mut self, out: &mut Successors) {
        self.interpreter.initial(out);
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        self.generate(state, Part::Everything, out);
    }

    fn successors_of_all(&mut self, states: &[&[u8]], source: u32, out: &mut Successors) -> usize {
        let mut number = 0;
        while number < states.len() {
            if self.is_simple {
                number += self.run(&states[number..], source + number as u32, out);
            }
            let Some(state) = states.get(number) else { break };
            out.begin_source(source + number as u32);
            self.successors(state, out);
            if out.is_cut_short() {
                break;
            }
            number += 1;
        }
        number
    }

    fn parts(&mut self, state: &[u8], out: &mut Vec<u32>) {
        let context = &mut *self.context;
        if context.asked.load(&context.program, &context.tables, state).is_ok() {
            self.division.parts(state, context.asked.process_count as usize, out);
        } else {
            self.interpreter.parts(state, out);
        }
    }

    fn expand_part(&mut self, state: &[u8], part: u32, out: &mut Successors) {
        self.generate(state, Part::from_number(part), out);
    }

    fn give_up_when(&mut self, enough: Enough) {
        self.context.effort = Effort::new(enough.clone());
        self.interpreter.give_up_when(enough);
    }

    fn atoms(&mut self, state: &[u8]) -> Result<u64, FaultCode> {
        self.native_atoms(state).unwrap_or_else(|| self.interpreter.atoms(state))
    }

    fn values(&mut self, state: &[u8], atoms: &[u32], out: &mut Vec<i64>) -> Result<(), FaultCode> {
        let before = out.len();
        self.native_values(state, atoms, out).unwrap_or_else(|| {
            out.truncate(before);
            self.interpreter.values(state, atoms, out)
        })
    }

    fn values_of_all(&mut self, batch: &Successors, atoms: &[u32], out: &mut Vec<i64>) -> Result<(), FaultCode> {
        let before = out.len();
        out.resize(before + batch.len() * atoms.len(), 0);
        let mut codes = std::mem::take(&mut self.codes);
        codes.clear();
        codes.extend(atoms.iter().map_while(|&atom| self.context.tables.atom(atom)));
        let places = out[before..].chunks_exact_mut(atoms.len().max(1));
        let result = batch.entries().iter().zip(places).try_for_each(|(entry, values)| {
            let Some(state) = batch.state(entry) else { return Ok(()) };
            if codes.len() == atoms.len() && self.values_by(state, &codes, values)? {
                return Ok(());
            }
            self.interpreted.clear();
            self.interpreter.values(state, atoms, &mut self.interpreted)?;
            values.copy_from_slice(&self.interpreted);
            Ok(())
        });
        self.codes = codes;
        result
    }

    fn get_ready(&mut self, most: Duration) -> bool {
        self.translation.wait(Some(most)).ended
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

    fn describe_fault(&self, code: FaultCode) -> contract::Fault {
        self.interpreter.describe_fault(code)
    }
}
