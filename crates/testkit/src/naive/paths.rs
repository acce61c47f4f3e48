//! Paths: activation, internal transitions, the end of a step (sections 2 and 4 of
//! `docs/bytecode.md`), and the three instructions that have more than one successor.
//!
//! A path that blocks is in no list here: it has no effect (rule E-NEX).

use super::{Component, Mutant, Naive, Print, Refusal, State};
use bytecode::{Addr, Fault, FaultKind, Mode, Op, REGISTERS};

/// A message offered at capacity 0 (rule I-SEND).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    /// The channel's number.
    pub channel: i32,
    /// The message as stored.
    pub message: Vec<i32>,
}

/// The circumstances in which a process is activated.
#[derive(Clone, Debug, Default)]
pub(super) struct Circumstances {
    /// The value of `TIMEOUT`.
    pub timeout: bool,
    /// Whether this is part of evaluating an `ENABLED`.
    pub within_enabled: bool,
    /// Whether the step continues a deterministic sequence.
    pub continues_deterministic: bool,
    /// The offer that the process answers.
    pub answers: Option<Offer>,
    /// The reports of the transition so far.
    pub log: Log,
}

/// The reports of a transition, in addition to the state it reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Log {
    /// Its first fault that is not fatal (rule F-CONTINUE).
    pub carried: Option<Fault>,
    /// Its prints (rule I-PRINT).
    pub prints: Vec<Print>,
}

/// **M-ACTIVE**: the active process, with everything that is not part of a state.
#[derive(Clone, Debug)]
pub(super) struct Active {
    pub state: State,
    pub p: usize,
    pub m: usize,
    pub registers: [i32; REGISTERS],
    pub stack: Vec<i32>,
    /// The pending offer of this process.
    pub offer: Option<Offer>,
    /// Whether the process has received the offer that it answers.
    pub received: bool,
    pub log: Log,
    pub how: Circumstances,
}

/// Why an instruction has no successor.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop {
    Blocked,
    Fault(Fault),
    Refused(Refusal),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Refused(refusal)
    }
}

/// How a path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Step(Mode),
    Fault(Fault),
}

/// A whole path.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub end: End,
    /// The state reached; meaningless after a fault.
    pub state: State,
    pub offer: Option<Offer>,
    pub received: bool,
    pub log: Log,
    /// The value of `TIMEOUT` on it.
    pub timeout: bool,
}

impl Active {
    pub fn malformed<T>(&self) -> Result<T, Stop> {
        Err(Stop::Refused(Refusal::Malformed(self.addr())))
    }

    pub fn addr(&self) -> Addr {
        Addr(self.m as u32)
    }

    pub fn push(&mut self, value: i32) {
        self.stack.push(value);
    }

    pub fn pop(&mut self) -> Result<i32, Stop> {
        match self.stack.pop() {
            Some(value) => Ok(value),
            None => self.malformed(),
        }
    }

    /// Pops `count` values and returns them in the order in which they were pushed.
    pub fn pop_many(&mut self, count: usize) -> Result<Vec<i32>, Stop> {
        let mut values = (0..count).map(|_| self.pop()).collect::<Result<Vec<_>, _>>()?;
        values.reverse();
        Ok(values)
    }

    /// A fault that ends the path here: **F-FATAL**.
    pub fn fault<T>(&self, kind: FaultKind) -> Result<T, Stop> {
        Err(Stop::Fault(Fault { kind, addr: self.addr() }))
    }
}

impl Naive {
    /// **A-ACT**: process `p` activated in a state.
    pub(super) fn a_act(&self, state: State, p: usize, how: Circumstances) -> Active {
        let (ty, location) = state.process(p as i32).map_or((0, 0), |process| (process.ty, process.location));
        let m = if self.is(Mutant::ActivatesAtTheEntry) {
            self.behind_jumps(self.program.processes[ty].entry.index())
        } else {
            self.locations[ty][location]
        };
        let log = how.log.clone();
        Active { state, p, m, registers: [0; REGISTERS], stack: Vec::new(), offer: None, received: false, log, how }
    }

    /// The paths of a process in a state, in order.
    pub(super) fn paths_of(&self, state: &State, p: usize, how: Circumstances) -> Result<Vec<Path>, Refusal> {
        // By the rules, activations are nested at most twice: a trial of ENABLED or of UNLESS, and
        // an answer to an offer made in it.
        if self.nesting.get() > 8 {
            return Err(Refusal::TooMuchWork);
        }
        self.spend(1 + state.created.len())?;
        self.nesting.set(self.nesting.get() + 1);
        let paths = self.paths(self.a_act(state.clone(), p, how));
        self.nesting.set(self.nesting.get() - 1);
        paths
    }

    /// The paths that continue an active process, in order.
    fn paths(&self, mut a: Active) -> Result<Vec<Path>, Refusal> {
        loop {
            let Some(&op) = self.program.code.get(a.m) else { return Err(Refusal::Malformed(a.addr())) };
            let step = match op {
                Op::Ndet { target } => return self.i_ndet(a, target),
                Op::Else { target } => return self.i_else(a, target),
                Op::Unless { target } => return self.i_unless(a, target),
                Op::Step { mode } => return self.e_step(a, mode),
                other => self.internal(&mut a, other),
            };
            match step {
                Ok(()) => {}
                Err(Stop::Blocked) => return Ok(Vec::new()),
                Err(Stop::Fault(fault)) => return Ok(vec![self.f_fatal(a, fault)]),
                Err(Stop::Refused(refusal)) => return Err(refusal),
            }
        }
    }

    /// Counts work: an instruction, or a copy of this many components.
    pub(super) fn spend(&self, work: usize) -> Result<(), Refusal> {
        let left = self.fuel.get().checked_sub(work as u64).ok_or(Refusal::TooMuchWork)?;
        self.fuel.set(left);
        Ok(())
    }

    fn paths_from(&self, a: &Active, at: usize) -> Result<Vec<Path>, Refusal> {
        self.spend(1 + a.state.created.len())?;
        self.paths(Active { m: at, ..a.clone() })
    }

    /// **I-NDET**: first the next instruction, then the target.
    fn i_ndet(&self, a: Active, target: Addr) -> Result<Vec<Path>, Refusal> {
        let mut both = [a.m + 1, target.index()];
        if self.is(Mutant::NdetBackwards) {
            both.reverse();
        }
        let mut paths = self.paths_from(&a, both[0])?;
        paths.extend(self.paths_from(&a, both[1])?);
        Ok(paths)
    }

    /// **I-ELSE**: the next instruction and, if no path from there succeeds, the target.
    fn i_else(&self, a: Active, target: Addr) -> Result<Vec<Path>, Refusal> {
        let mut paths = self.paths_from(&a, a.m + 1)?;
        if !self.some_succeeds(a.p, &paths, &a.how)? {
            paths.extend(self.paths_from(&a, target.index())?);
        }
        Ok(paths)
    }

    /// **I-UNLESS**: the target and, if no path from there succeeds, the next instruction.
    fn i_unless(&self, a: Active, target: Addr) -> Result<Vec<Path>, Refusal> {
        let mut paths = self.paths_from(&a, target.index())?;
        if !self.some_succeeds(a.p, &paths, &a.how)? || self.is(Mutant::UnlessTakesBoth) {
            paths.extend(self.paths_from(&a, a.m + 1)?);
        }
        Ok(paths)
    }

    pub(super) fn some_succeeds(&self, p: usize, paths: &[Path], how: &Circumstances) -> Result<bool, Refusal> {
        for path in paths {
            if self.succeeds(p, path, how)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a path of `p` succeeds, in the sense of I-ELSE.
    pub(super) fn succeeds(&self, p: usize, path: &Path, how: &Circumstances) -> Result<bool, Refusal> {
        if how.answers.is_some() && !path.received && !self.is(Mutant::AnswersSucceedWithoutReceiving) {
            return Ok(false);
        }
        match (path.end, &path.offer) {
            (End::Fault(_), _) => Ok(!self.is(Mutant::FaultsDoNotSucceed)),
            (End::Step(_), None) => Ok(true),
            (End::Step(_), Some(_)) if self.is(Mutant::UnansweredOffersSucceed) => Ok(true),
            (End::Step(_), Some(_)) if self.is(Mutant::AnsweredOffersDoNotSucceed) => Ok(false),
            (End::Step(Mode::Terminate), Some(_)) => Ok(false),
            (End::Step(_), Some(offer)) => {
                for q in (0..path.state.process_count()).filter(|&q| q != p) {
                    if !self.answers(&path.state, q, offer, how.within_enabled, Log::default())?.is_empty() {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    /// The paths of `q` that receive an offer (rule S-RENDEZVOUS).
    pub(super) fn answers(&self, state: &State, q: usize, offer: &Offer, within_enabled: bool, log: Log) -> Result<Vec<Path>, Refusal> {
        let timeout = self.is(Mutant::AnswersTimeOut);
        let how = Circumstances { timeout, within_enabled, answers: Some(offer.clone()), log, ..Circumstances::default() };
        let mut paths = self.paths_of(state, q, how)?;
        paths.retain(|path| path.received);
        Ok(paths)
    }

    /// **E-STEP** and **E-TERM**.
    fn e_step(&self, mut a: Active, mode: Mode) -> Result<Vec<Path>, Refusal> {
        if !a.stack.is_empty() {
            return Err(Refusal::Malformed(a.addr()));
        }
        if mode == Mode::Deterministic && a.offer.is_some() {
            let fault = Fault { kind: FaultKind::Rendezvous, addr: a.addr() };
            return Ok(vec![self.f_fatal(a, fault)]);
        }
        if mode == Mode::Terminate {
            if a.p + 1 != a.state.process_count() && !self.is(Mutant::AnyProcessMayEnd) {
                return Ok(Vec::new());
            }
            self.e_term(&mut a);
        } else {
            let ty = a.state.process(a.p as i32).map_or(0, |process| process.ty);
            let Some(location) = self.location_at(ty, a.m + 1) else { return Err(Refusal::Malformed(a.addr())) };
            if let Some(process) = a.state.process_mut(a.p as i32)
                && !self.is(Mutant::LocationStays)
            {
                process.location = location;
            }
        }
        let within_deterministic = mode == Mode::Deterministic && !self.is(Mutant::DeterministicStepsAreLast);
        let passed_over = within_deterministic || mode == Mode::Invisible && self.is(Mutant::InvisibleStepsAreNotLast);
        let answered = a.how.answers.is_some() && self.is(Mutant::LastIsTheOneThatOffers);
        if self.has_last && !passed_over && !answered && !self.is(Mutant::LastIsNotRecorded) {
            a.state.last = a.p;
        }
        Ok(vec![Path { end: End::Step(mode), state: a.state, offer: a.offer, received: a.received, log: a.log, timeout: a.how.timeout }])
    }

    /// **E-TERM**: the process and its channels are removed. Its channels are those created between
    /// its own creation and that of the next process.
    fn e_term(&self, a: &mut Active) {
        let mut number = 0;
        let mut place = 0;
        for (i, component) in a.state.created.iter().enumerate() {
            if let Component::Process(_) = component {
                if number == a.p {
                    place = i;
                }
                number += 1;
            }
        }
        let owned = a.state.created[place + 1..].iter().take_while(|component| matches!(component, Component::Channel(_))).count();
        let removed = if self.is(Mutant::OwnedChannelsStay) { 1 } else { 1 + owned };
        a.state.created.drain(place..place + removed);
    }

    /// **F-FATAL**: the path ends without a state.
    fn f_fatal(&self, a: Active, fault: Fault) -> Path {
        Path { end: End::Fault(fault), state: a.state, offer: a.offer, received: a.received, log: a.log, timeout: a.how.timeout }
    }
}
