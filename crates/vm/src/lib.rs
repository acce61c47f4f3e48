//! The reference interpreter: executes byte-code exactly as `docs/bytecode.md` says, rule by rule.
//!
//! It is the measure for every other engine, so it is written for reading: paths in `paths`, scheduler transitions in `scheduler`, the
//! state under execution in `memory`. It reads the byte-code itself and nothing derived from it but control locations and the layout. A
//! state is a byte string, and an [`Interpreter`] keeps nothing from one state to the next: it can be restarted anywhere from any state.

#![deny(unsafe_code)]

mod history;
mod log;
mod memory;
mod paths;
mod scheduler;

use bytecode::{FOLLOW_ONCE_AFTER, Fault, FaultKind, Layout, LayoutError, Shape, StateMap, Verified};
use contract::{Action, Effort, Enough, FaultCode, Position, Successors, System, Written};
use log::Silent;
use memory::Memory;
use scheduler::Scheduler;

use std::sync::Arc;

pub use history::{History, Omitted};
pub use log::Event;

/// A transition with everything that happened in it, for traces and simulation.
#[derive(Clone)]
pub struct Explained {
    /// What the search calls it.
    pub action: Action,
    /// The steps and prints it consists of, in order.
    pub history: History,
    /// The state it leads to; none after a fatal fault.
    pub state: Option<Vec<u8>>,
    /// What went wrong in it.
    pub fault: Option<Fault>,
}

/// The interpreter of one program.
#[derive(Clone)]
pub struct Interpreter {
    program: Arc<Verified>,
    /// How many continuations a transition follows before it follows each state once only.
    follow_once_after: usize,
    enough: Enough,
}

/// A step was given up, because it was enough ([`System::give_up_when`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GivenUp;

impl Interpreter {
    /// An interpreter of a verified program.
    pub fn new(program: Arc<Verified>) -> Self {
        Interpreter { program, follow_once_after: FOLLOW_ONCE_AFTER, enough: Enough::default() }
    }

    /// One that follows each state once only earlier than the specification says (S-ENDLESS), so that tests get there.
    #[doc(hidden)]
    pub fn following_once_after(program: Arc<Verified>, follow_once_after: usize) -> Self {
        Interpreter { program, follow_once_after, enough: Enough::default() }
    }

    /// The program.
    pub fn program(&self) -> &Arc<Verified> {
        &self.program
    }

    /// Whether a byte string from elsewhere is a state of the program.
    pub fn check_state(&self, state: &[u8]) -> Result<(), LayoutError> {
        self.program.layout().check(state, self.program.locations())
    }

    /// The transitions of a state, each with what happens in it; the same, in the same order, as [`System::successors`] gives.
    pub fn explain(&self, state: &[u8]) -> Result<Vec<Explained>, GivenUp> {
        let mut all = Vec::new();
        self.each_outcome::<History>(state, |action, outcome| {
            all.push(Explained { action, history: outcome.log, state: outcome.state.map(|m| m.bytes().to_vec()), fault: outcome.fault });
        })?;
        Ok(all)
    }

    /// Calls `each` with every outcome; an action is the initiator and the outcome's position among the initiator's.
    fn each_outcome<L: log::Log>(&self, state: &[u8], mut each: impl FnMut(Action, scheduler::Outcome<L>)) -> Result<(), GivenUp> {
        let Some(memory) = Memory::load(self.program.layout(), state) else { return Ok(()) };
        let mut last = None;
        let mut choice = 0;
        let effort = Effort::new(self.enough.clone());
        self.scheduler(&effort).transitions(&memory, &mut |outcome: scheduler::Outcome<L>| {
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
            Ok((memory, fault)) => emit(out, &[], Action::default(), Some(memory.bytes()), fault),
            Err(fault) => emit(out, &[], Action::default(), None, Some(fault)),
        }
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let before = out.mark();
        let told = self.each_outcome::<Silent>(state, |action, outcome| {
            emit(out, state, action, outcome.state.as_ref().map(Memory::bytes), outcome.fault);
        });
        if told.is_err() {
            out.rollback(before);
            out.cut_short();
        }
    }

    fn give_up_when(&mut self, enough: Enough) {
        self.enough = enough;
    }

    fn is_valid_end(&mut self, state: &[u8]) -> bool {
        Memory::load(self.program.layout(), state).is_none_or(|memory| self.scheduler(&Effort::default()).is_valid_end(&memory))
    }

    fn components(&self, state: &[u8], out: &mut Vec<u32>) {
        component_ends(self.program.layout(), state, out);
    }

    fn describe_fault(&self, code: FaultCode) -> contract::Fault {
        describe_fault(&self.program, code)
    }
}

fn emit(out: &mut Successors, source: &[u8], action: Action, state: Option<&[u8]>, fault: Option<Fault>) {
    let fault = fault.and_then(|f| FaultCode::new(f.code()));
    match (state, fault) {
        (Some(state), fault) => {
            out.slot_from(state);
            out.commit(state.len(), action, fault, Written::between(source, state));
        }
        (None, Some(fault)) => out.fail(action, fault),
        (None, None) => {}
    }
}

/// The ends of a state's components: globals, each static channel, then each process and channel.
pub fn component_ends(layout: &Layout, state: &[u8], out: &mut Vec<u32>) {
    let mut map = StateMap::default();
    if map.read(layout, state).is_err() {
        out.push(state.len() as u32);
        return;
    }
    let first = out.len();
    out.push(layout.globals_range.end as u32);
    for &(ty, at) in &layout.channels {
        out.push((at + layout.channel_types[ty.index()].size) as u32);
    }
    for component in map.processes.iter().chain(&map.channels[layout.channels.len()..]) {
        let end = match component.shape {
            Shape::Process(ty) => component.offset + layout.processes[ty.index()].size,
            Shape::Channel(ty) => component.offset + layout.channel_types[ty.index()].size,
        };
        out.push(end as u32);
    }
    out[first..].sort_unstable();
    let mut kept = first;
    for i in first..out.len() {
        if out[i] > 0 && (kept == first || out[i] != out[kept - 1]) {
            out[kept] = out[i];
            kept += 1;
        }
    }
    out.truncate(kept);
    if kept == first {
        out.push(state.len() as u32);
    }
}

/// Says what a fault code of a program's engines means, with its place in the source.
pub fn describe_fault(program: &Verified, code: FaultCode) -> contract::Fault {
    use contract::FaultKind as Told;
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
    let span = program.span_at(fault.addr);
    let position =
        span.map(|s| Position { file: program.files.get(s.file.index()).cloned().unwrap_or_default(), line: s.line, column: s.column });
    let message = match span.map(|s| asserted(&s.text)) {
        Some(asserted) if fault.kind == FaultKind::Assertion && !asserted.is_empty() => format!("{}: {asserted}", fault.kind.message()),
        _ => fault.kind.message().to_owned(),
    };
    contract::Fault { position, ..contract::Fault::new(kind, message) }
}

/// The expression of an assertion, of whose statement this is the text: without the word and the parentheses around everything.
fn asserted(statement: &str) -> &str {
    let Some(rest) = statement.strip_prefix("assert").map(str::trim) else {
        // Assembly has the instruction alone.
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
