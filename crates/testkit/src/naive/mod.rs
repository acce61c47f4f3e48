//! The naive evaluator: `docs/bytecode.md`, rule by rule, in the most obvious way.
//!
//! It shares nothing with the engines it judges except the program itself: states are rich values
//! that are cloned whenever that is convenient, sets of paths are vectors in the order of the
//! rules, and the byte form of a state is written from the rules M-STATE, M-PROCESS and M-CHANNEL
//! alone. Functions have the names of the rules they implement. Recursion follows the rules and is
//! bounded by [`Limits`], so that a random program costs a limited amount of work.
//!
//! A [`Mutant`] is one deliberate mistake. A test is useful only if it can distinguish the mutants
//! from the rules; `tests/mutants.rs` checks that.

mod internal;
mod mutant;
mod paths;
mod scheduler;
mod state;

pub use mutant::Mutant;
pub use state::{Channel, Component, NotAState, Process, State};

use bytecode::{Addr, Fault, FormatId, Mode, Op, Program};
use contract::{Action, FaultCode, Successors, System};
use std::cell::Cell;

/// The number of states after which states are followed only once (rule S-ENDLESS), and the limits
/// on the work for one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// After more continuations than this within one transition, no state is followed twice.
    pub merge: usize,
    /// The largest amount of work for one question: instructions executed and components copied.
    pub work: u64,
    /// The deepest recursion over continued steps.
    pub recursion: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { merge: 4096, work: 100_000, recursion: 400 }
    }
}

/// Why a question has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The question costs more than [`Limits`] allow. The rules define an answer, but this
    /// evaluator does not compute it.
    TooMuchWork,
    /// The program does something that the verifier forbids, at this address.
    Malformed(Addr),
}

/// One scheduler transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The process whose transition it is: in a rendezvous, the one that offers.
    pub process: usize,
    /// The fault; it is fatal if there is no successor.
    pub fault: Option<Fault>,
    /// Its reports to an observer (rule I-PRINT).
    pub prints: Vec<Print>,
    /// The state reached.
    pub state: Option<State>,
}

/// The format and the values of a `PRINT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Print {
    /// The process that prints.
    pub process: usize,
    /// The format.
    pub format: FormatId,
    /// The values, in the order in which they were pushed.
    pub values: Vec<i32>,
}

/// The initial state, or the fault that prevents it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initial {
    /// The first fault of the prologues.
    pub fault: Option<Fault>,
    /// The state, unless the fault is fatal.
    pub state: Option<State>,
}

/// The evaluator of one program.
#[derive(Clone, Debug)]
pub struct Naive {
    program: Program,
    /// For each process type, the addresses of its control locations (rule M-LOCATION).
    locations: Vec<Vec<usize>>,
    /// Whether the program has `STEP A`, `LAST`, `XR` or `XS`, priorities: M-STATE, M-PROCESS and
    /// M-CHANNEL depend on this.
    has_atomic: bool,
    has_last: bool,
    has_claims: bool,
    has_priorities: bool,
    limits: Limits,
    mutant: Option<Mutant>,
    /// Work left for the present question.
    fuel: Cell<u64>,
    /// The number of nested activations at present.
    nesting: Cell<usize>,
}

impl Naive {
    /// The evaluator of a program that the verifier accepts.
    pub fn new(program: &Program) -> Naive {
        Naive::mutated(program, None)
    }

    /// The evaluator with a deliberate mistake.
    pub fn mutated(program: &Program, mutant: Option<Mutant>) -> Naive {
        let has = |test: fn(&Op) -> bool| program.code.iter().any(test);
        let mut naive = Naive {
            program: program.clone(),
            locations: Vec::new(),
            has_atomic: has(|op| matches!(op, Op::Step { mode: Mode::Atomic })),
            has_last: has(|op| matches!(op, Op::Last {})),
            has_claims: has(|op| matches!(op, Op::Xr {} | Op::Xs {})),
            has_priorities: has(|op| matches!(op, Op::Getprio {} | Op::Setprio {})) || program.processes.iter().any(|p| p.priority != 1),
            limits: Limits::default(),
            mutant,
            fuel: Cell::new(0),
            nesting: Cell::new(0),
        };
        naive.locations = (0..program.processes.len()).map(|ty| naive.m_location(ty)).collect();
        naive
    }

    /// The same evaluator with other limits.
    pub fn with_limits(mut self, limits: Limits) -> Naive {
        self.limits = limits;
        self
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The initial state (rule M-INITIAL).
    pub fn initial_state(&self) -> Result<Initial, Refusal> {
        self.fuel.set(self.limits.work);
        self.m_initial()
    }

    /// The scheduler transitions that leave a state, in order.
    pub fn outcomes(&self, state: &State) -> Result<Vec<Outcome>, Refusal> {
        self.fuel.set(self.limits.work);
        self.s_timeout(state)
    }

    /// Whether a state without transitions is a valid end (rule S-END).
    pub fn valid_end(&self, state: &State) -> bool {
        self.s_end(state)
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// The control locations of a process type, in the order of their numbers.
    ///
    /// **M-LOCATION**: the entry and the address after each STEP except `STEP T`, with
    /// unconditional jumps followed.
    fn m_location(&self, ty: usize) -> Vec<usize> {
        let process = &self.program.processes[ty];
        let start = process.start.index();
        let end = self.program.processes.get(ty + 1).map_or(self.program.atoms_start().index(), |next| next.start.index());
        let mut addresses = vec![self.behind_jumps(process.entry.index())];
        for at in start..end {
            if let Op::Step { mode } = self.program.code[at]
                && mode != Mode::Terminate
            {
                addresses.push(self.behind_jumps(at + 1));
            }
        }
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    /// Follows unconditional jumps: the location of `JMP a` is that of `a`.
    fn behind_jumps(&self, mut at: usize) -> usize {
        if self.is(Mutant::JumpsNotFollowed) {
            return at;
        }
        for _ in 0..self.program.code.len() {
            match self.program.code.get(at) {
                Some(Op::Jmp { target }) => at = target.index(),
                _ => break,
            }
        }
        at
    }

    /// The number of the control location that an address of a process type has, if it has one.
    fn location_at(&self, ty: usize, at: usize) -> Option<usize> {
        let at = self.behind_jumps(at);
        self.locations[ty].iter().position(|&address| address == at)
    }
}

/// The naive evaluator as a system. A question that it refuses has no successors here; comparisons
/// use [`Naive::outcomes`] instead, where a refusal is a value.
impl System for Naive {
    fn initial(&mut self, out: &mut Successors) {
        if let Ok(Initial { fault, state }) = self.initial_state() {
            self.report(0, 0, fault, state.as_ref(), out);
        }
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let Ok(state) = self.decode(state) else { return };
        let Ok(outcomes) = self.outcomes(&state) else { return };
        for (choice, outcome) in outcomes.iter().enumerate() {
            self.report(outcome.process, choice, outcome.fault, outcome.state.as_ref(), out);
        }
    }

    fn is_valid_end(&mut self, state: &[u8]) -> bool {
        self.decode(state).is_ok_and(|state| self.valid_end(&state))
    }
}

impl Naive {
    fn report(&self, process: usize, choice: usize, fault: Option<Fault>, state: Option<&State>, out: &mut Successors) {
        let action = Action::new(process as u32, choice as u32);
        let code = fault.and_then(|fault| FaultCode::new(fault.code()));
        match (state, code) {
            (Some(state), None) => out.push(&self.encode(state), action),
            (Some(state), Some(code)) => out.push_faulty(&self.encode(state), action, code),
            (None, Some(code)) => out.fail(action, code, contract::Successor::NO_STEP),
            (None, None) => {}
        }
    }
}
