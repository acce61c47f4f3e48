//! The reference interpreter: executes byte-code exactly as `docs/bytecode.md` says, rule by rule.
//!
//! It is the reference for every other engine, so it is written to be read: paths in `paths`,
//! scheduler transitions in `scheduler`, the state under execution in `memory`. It reads the
//! byte-code itself and nothing derived from it except control locations and the layout. A state is
//! a byte string, and an [`Interpreter`] keeps nothing from one state to the next: it can continue
//! from any state.

#![deny(unsafe_code)]

mod history;
mod inner_states;
mod log;
mod memory;
mod paths;
mod repeats;
mod scheduler;

use bytecode::{Addr, Division, Fault, FaultKind, LayoutError, Part, Program, Verified};
use contract::{Action, Effort, Enough, FaultCode, Position, Proposition, Successor, Successors, System};
use log::Silent;
use memory::Memory;
use scheduler::Scheduler;

use std::sync::Arc;

pub use history::{History, Omitted};
pub use inner_states::{FOLLOW_ONCE_AFTER, InnerStates};
pub use log::Event;

/// A transition with everything that happened in it, for traces and simulation.
#[derive(Clone)]
pub struct Explained {
    /// The action by which a search identifies it.
    pub action: Action,
    /// The steps and prints it consists of, in order.
    pub history: History,
    /// The state it leads to; `None` after a fatal fault.
    pub state: Option<Vec<u8>>,
    /// The fault, if one occurred.
    pub fault: Option<Fault>,
    /// If the transition never ends, the step of the loop that repeats, if it is known.
    pub repeated: Option<Addr>,
}

/// The interpreter of one program.
#[derive(Clone)]
pub struct Interpreter {
    program: Arc<Verified>,
    division: Division,
    /// The number of continuations after which a transition follows each state only once.
    follow_once_after: usize,
    enough: Enough,
    /// The propositions that a search asks for.
    propositions: Arc<[Proposition]>,
}

/// Whether a step was abandoned ([`System::give_up_when`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GivenUp;

impl Interpreter {
    /// An interpreter of a verified program.
    pub fn new(program: Arc<Verified>) -> Self {
        Interpreter::following_once_after(program, FOLLOW_ONCE_AFTER)
    }

    /// An interpreter that begins to follow each state only once earlier than the specification
    /// says (S-ENDLESS), for tests.
    #[doc(hidden)]
    pub fn following_once_after(program: Arc<Verified>, follow_once_after: usize) -> Self {
        Interpreter {
            division: Division::of(&program),
            program,
            follow_once_after,
            enough: Enough::default(),
            propositions: Arc::default(),
        }
    }

    /// The same interpreter, which evaluates these propositions ([`System::atoms`]). At most
    /// [`PROPOSITIONS_MAX`](contract::PROPOSITIONS_MAX) of them are used.
    pub fn watching(self, propositions: Arc<[Proposition]>) -> Self {
        Interpreter { propositions, ..self }
    }

    /// The program.
    pub fn program(&self) -> &Arc<Verified> {
        &self.program
    }

    /// Checks whether a byte string from outside is a state of the program.
    pub fn check_state(&self, state: &[u8]) -> Result<(), LayoutError> {
        self.program.layout().check(state, self.program.locations())
    }

    /// The transitions of a state, each with its events; the same transitions, in the same order,
    /// as [`System::successors`] gives.
    pub fn explain(&self, state: &[u8]) -> Result<Vec<Explained>, GivenUp> {
        self.explain_part(state, Part::Everything)
    }

    /// Like `explain`, for a part of the transitions.
    pub fn explain_part(&self, state: &[u8], part: Part) -> Result<Vec<Explained>, GivenUp> {
        let mut all = Vec::new();
        self.each_outcome::<History>(state, part, |action, outcome| {
            let state = outcome.state.map(|m| m.bytes().to_vec());
            all.push(Explained { action, history: outcome.log, state, fault: outcome.fault, repeated: outcome.repeated });
        })?;
        Ok(all)
    }

    /// The step of the loop in which a process is that continues from a state inside a transition
    /// that never ends. `None` if it is not found before `enough`.
    pub fn repeated(&self, state: &[u8], process: usize, enough: Enough) -> Option<Addr> {
        let memory = Memory::load(self.program.layout(), state)?;
        repeats::repeated(&self.scheduler(&Effort::new(enough)), process, memory)
    }

    /// Calls `each` with every outcome of a part. An action is the initiator and the index of the
    /// outcome among the initiator's outcomes.
    fn each_outcome<L: log::Log>(
        &self,
        state: &[u8],
        part: Part,
        mut each: impl FnMut(Action, scheduler::Outcome<L>),
    ) -> Result<(), GivenUp> {
        let Some(memory) = Memory::load(self.program.layout(), state) else { return Ok(()) };
        let mut last = None;
        let mut choice = 0;
        let effort = Effort::new(self.enough.clone());
        self.scheduler(&effort).part(&memory, part, &mut |outcome: scheduler::Outcome<L>| {
            choice = if last == Some(outcome.process) { choice + 1 } else { 0 };
            last = Some(outcome.process);
            each(Action::new(outcome.process as u32, choice), outcome);
        });
        if effort.is_over() { Err(GivenUp) } else { Ok(()) }
    }

    fn scheduler<'p>(&'p self, effort: &'p Effort) -> Scheduler<'p> {
        Scheduler::new(&self.program, self.follow_once_after, effort)
    }
}

impl System for Interpreter {
    fn initial(&mut self, out: &mut Successors) {
        match self.scheduler(&Effort::default()).initial() {
            Ok((memory, fault)) => emit(out, Action::default(), Successor::NO_STEP, Some(memory.bytes()), fault),
            Err(fault) => emit(out, Action::default(), Successor::NO_STEP, None, Some(fault)),
        }
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        self.expand_part(state, Part::Everything.number(), out);
    }

    fn parts(&mut self, state: &[u8], out: &mut Vec<u32>) {
        if let Some(memory) = Memory::load(self.program.layout(), state) {
            self.division.parts(state, memory.process_count(), out);
        }
    }

    fn expand_part(&mut self, state: &[u8], part: u32, out: &mut Successors) {
        let before = out.mark();
        let told = self.each_outcome::<Silent>(state, Part::from_number(part), |action, outcome| {
            emit(out, action, outcome.step, outcome.state.as_ref().map(Memory::bytes), outcome.fault);
        });
        if told.is_err() {
            out.rollback(before);
            out.cut_short();
        }
    }

    fn give_up_when(&mut self, enough: Enough) {
        self.enough = enough;
    }

    fn atoms(&mut self, state: &[u8]) -> Result<u64, FaultCode> {
        let Some(memory) = Memory::load(self.program.layout(), state) else { return Ok(0) };
        let effort = Effort::new(self.enough.clone());
        let values = self.scheduler(&effort).propositions(&memory, &self.propositions);
        values.or_else(|fault| FaultCode::new(fault.code()).map_or(Ok(0), Err))
    }

    fn values(&mut self, state: &[u8], atoms: &[u32], out: &mut Vec<i64>) -> Result<(), FaultCode> {
        let Some(memory) = Memory::load(self.program.layout(), state) else {
            out.extend(atoms.iter().map(|_| 0));
            return Ok(());
        };
        let effort = Effort::new(self.enough.clone());
        let (scheduler, mut timeout) = (self.scheduler(&effort), None);
        for &atom in atoms {
            match scheduler.value(&memory, atom, &mut timeout) {
                Ok(value) => out.push(value.unwrap_or(0).into()),
                Err(fault) => return FaultCode::new(fault.code()).map_or(Ok(()), Err),
            }
        }
        Ok(())
    }

    fn is_valid_end(&mut self, state: &[u8]) -> bool {
        Memory::load(self.program.layout(), state).is_none_or(|memory| self.scheduler(&Effort::default()).is_valid_end(&memory))
    }

    fn describe_fault(&self, code: FaultCode) -> contract::Fault {
        describe_fault(&self.program, code)
    }
}

fn emit(out: &mut Successors, action: Action, step: u32, state: Option<&[u8]>, fault: Option<Fault>) {
    let fault = fault.and_then(|f| FaultCode::new(f.code()));
    match (state, fault) {
        (Some(state), fault) => {
            out.slot_from(state);
            out.commit(state.len(), action, fault, step);
        }
        (None, Some(fault)) => out.fail(action, fault, step),
        (None, None) => {}
    }
}

/// Explains a fault code of a program, with its position in the source.
pub fn describe_fault(program: &Verified, code: FaultCode) -> contract::Fault {
    use contract::ViolationKind as Told;
    let Some(fault) = Fault::from_code(code.get()) else { return contract::Fault::new(Told::Other("fault"), "unknown fault") };
    let kind = match fault.kind {
        FaultKind::Assertion => Told::Assertion,
        FaultKind::Division => Told::DivisionByZero,
        FaultKind::Index => Told::IndexOutOfRange,
        FaultKind::Channel => Told::InvalidChannel,
        FaultKind::TooManyProcesses | FaultKind::TooManyChannels => Told::MachineLimit,
        other => Told::Other(other.word()),
    };
    let program = program.program();
    let position = position_at(program, fault.addr);
    let may_have_name = matches!(fault.kind, FaultKind::Assertion | FaultKind::Index | FaultKind::Overflow);
    let named = program.violation_at(fault.addr).filter(|_| may_have_name);
    let kind = named.map_or(kind, Told::Other);
    let span = program.span_at(fault.addr);
    let message = match span.map(|s| asserted(&s.text)) {
        Some(text) if named.is_some() && !text.is_empty() => text.to_owned(),
        Some(asserted) if fault.kind == FaultKind::Assertion && !asserted.is_empty() => format!("{}: {asserted}", fault.kind.message()),
        _ => fault.kind.message().to_owned(),
    };
    contract::Fault { position, ..contract::Fault::new(kind, message) }
}

/// The position of an instruction in the source.
pub fn position_at(program: &Program, addr: Addr) -> Option<Position> {
    let span = program.span_at(addr)?;
    let file = program.files.get(span.file.index()).cloned().unwrap_or_default();
    Some(Position { file, line: span.line, column: span.column })
}

/// The expression of an assertion, taken from the text of its statement: without the keyword and
/// the outer parentheses.
fn asserted(statement: &str) -> &str {
    // LF writes it in capitals.
    let written = ["assert", "ASSERT "].into_iter().find_map(|keyword| statement.strip_prefix(keyword));
    let Some(rest) = written.map(str::trim) else {
        // In assembly the statement is the instruction alone.
        return if statement == "ASSERT" { "" } else { statement };
    };
    let Some(inside) = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else { return rest };
    let mut depth = 0i32;
    let closes_early = inside.chars().any(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth < 0
    });
    if closes_early { rest } else { inside.trim() }
}
