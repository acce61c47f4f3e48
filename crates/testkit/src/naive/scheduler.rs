//! The scheduler (section 4 of `docs/bytecode.md`): which sequences of paths are one transition.

use super::paths::{Circumstances, End, Log, Offer, Path};
use super::{Mutant, Naive, Outcome, Refusal, State};
use bytecode::{Addr, Fault, FaultKind, Mode, Op};
use std::collections::HashSet;

/// The length from which on a mutant treats a sequence as endless.
const LONG: usize = 200;

/// A state inside a transition, and the process that continues from it.
type Inside = (State, usize);

/// A transition under construction.
struct Sequence {
    /// The process whose transition it is.
    initiator: usize,
    /// The location of that process before the transition.
    began_at: Addr,
    /// The states on the present path that a `STEP I` led to.
    way: Vec<Inside>,
    /// All states that a `STEP I` led to and that were followed, and the number of times.
    followed: HashSet<Inside>,
    times: usize,
    /// The number of nested continued steps at present.
    depth: usize,
}

/// The outcomes of a path, and whether it was cut.
#[derive(Default)]
struct Found {
    outcomes: Vec<Outcome>,
    /// Whether a continuation was cut (rule S-ENDLESS).
    cut: bool,
}

impl Found {
    fn one(outcome: Outcome) -> Found {
        Found { outcomes: vec![outcome], ..Found::default() }
    }

    fn add(&mut self, other: Found) {
        self.outcomes.extend(other.outcomes);
        self.cut |= other.cut;
    }
}

impl Naive {
    /// **S-TIMEOUT**: all transitions; if there is none, once more with the timeout.
    pub(super) fn s_timeout(&self, state: &State) -> Result<Vec<Outcome>, Refusal> {
        let outcomes = self.s_privilege(state, false)?;
        if !outcomes.is_empty() {
            return Ok(outcomes);
        }
        let free = State { exclusive: state.exclusive.filter(|_| self.is(Mutant::PrivilegeOutlivesTimeout)), ..state.clone() };
        self.s_privilege(&free, true)
    }

    /// **S-PRIVILEGE**: the transitions of the holder; those of all processes if it has none.
    fn s_privilege(&self, state: &State, timeout: bool) -> Result<Vec<Outcome>, Refusal> {
        if let Some(e) = state.exclusive {
            let outcomes = self.transitions_of(state, e, timeout)?;
            if !outcomes.is_empty() || self.is(Mutant::PrivilegeIsNeverLost) {
                return Ok(outcomes);
            }
        }
        let free = State { exclusive: None, ..state.clone() };
        let mut outcomes = Vec::new();
        for p in 0..free.process_count() {
            outcomes.extend(self.transitions_of(&free, p, timeout)?);
        }
        Ok(outcomes)
    }

    /// **S-PRIORITY**: whether a process of higher priority is enabled.
    fn s_priority(&self, state: &State, p: usize, timeout: bool) -> Result<bool, Refusal> {
        if !self.has_priorities || self.is(Mutant::PrioritiesIgnored) {
            return Ok(false);
        }
        let priority = state.process(p as i32).map_or(0, |process| process.priority);
        for (q, other) in state.processes().enumerate() {
            if other.priority > priority && self.is_enabled(state, q, timeout)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The transitions of one process: the outcomes of its paths.
    fn transitions_of(&self, state: &State, p: usize, timeout: bool) -> Result<Vec<Outcome>, Refusal> {
        if self.s_priority(state, p, timeout)? {
            return Ok(Vec::new());
        }
        let free = State { exclusive: None, ..state.clone() };
        let mut outcomes = Vec::new();
        for path in self.paths_of(&free, p, Circumstances { timeout, ..Circumstances::default() })? {
            let began_at = self.location_of(&free, p);
            let log = path.log.clone();
            let mut sequence = Sequence { initiator: p, began_at, way: Vec::new(), followed: HashSet::new(), times: 0, depth: 0 };
            let found = self.outcomes_of(&mut sequence, p, path)?;
            let endless = found.outcomes.is_empty() && found.cut;
            outcomes.extend(if endless { self.endless(&sequence, log).outcomes } else { found.outcomes });
        }
        Ok(outcomes)
    }

    /// The outcomes of a path of `p`, which may be part of another process's transition.
    fn outcomes_of(&self, sequence: &mut Sequence, p: usize, path: Path) -> Result<Found, Refusal> {
        if sequence.depth > self.limits.recursion {
            return Err(Refusal::TooMuchWork);
        }
        let mode = match path.end {
            End::Fault(fault) => return Ok(self.fatal(sequence, path.log, fault)),
            End::Step(mode) => mode,
        };
        sequence.depth += 1;
        let found = match (mode, path.offer.clone()) {
            (Mode::Normal | Mode::Terminate, None) => Ok(self.s_normal(sequence, path)),
            (Mode::Atomic, None) => Ok(self.s_atomic(sequence, p, path)),
            (Mode::Invisible, None) => self.s_invisible(sequence, p, path),
            (Mode::Deterministic, None) => self.s_deterministic(sequence, p, path),
            (Mode::Terminate | Mode::Deterministic, Some(_)) => Ok(Found::default()),
            (_, Some(offer)) => self.s_rendezvous(sequence, p, path, offer),
        };
        sequence.depth -= 1;
        found
    }

    /// An outcome. **S-SCRATCH** applies to each of them.
    fn outcome(&self, sequence: &Sequence, state: State, exclusive: Option<usize>, log: Log) -> Found {
        let mut state = State { exclusive: exclusive.filter(|_| self.has_atomic), ..state };
        if !self.is(Mutant::ScratchStays) {
            let declared = self.program.globals.iter().zip(&mut state.globals);
            declared.filter(|(variable, _)| variable.scratch).for_each(|(variable, values)| *values = self.initial_values(variable));
            for p in 0..state.process_count() as i32 {
                let process = state.process_mut(p).expect("it exists");
                let declared = self.program.processes[process.ty].locals.iter().zip(&mut process.locals);
                declared.filter(|(variable, _)| variable.scratch).for_each(|(variable, values)| *values = self.initial_values(variable));
            }
        }
        Found::one(Outcome { process: sequence.initiator, fault: log.carried, prints: log.prints, state: Some(state) })
    }

    /// **F-FATAL**; and **F-CONTINUE**: the fault carried is reported, if there is one.
    fn fatal(&self, sequence: &Sequence, log: Log, fault: Fault) -> Found {
        let fault = if self.is(Mutant::FatalFaultsReplace) { fault } else { log.carried.unwrap_or(fault) };
        Found::one(Outcome { process: sequence.initiator, fault: Some(fault), prints: log.prints, state: None })
    }

    /// **S-NORMAL**.
    fn s_normal(&self, sequence: &Sequence, path: Path) -> Found {
        let exclusive = if self.is(Mutant::NormalKeepsThePrivilege) && path.end == End::Step(Mode::Normal) { Some(0) } else { None };
        self.outcome(sequence, path.state, exclusive, path.log)
    }

    /// **S-ATOMIC**.
    fn s_atomic(&self, sequence: &Sequence, p: usize, path: Path) -> Found {
        let exclusive = if self.is(Mutant::AtomicGivesNoPrivilege) { None } else { Some(p) };
        self.outcome(sequence, path.state, exclusive, path.log)
    }

    /// The circumstances in which `p` continues within the transition.
    fn going_on(&self, path: &Path, continues_deterministic: bool) -> Circumstances {
        let within = continues_deterministic && path.timeout && !self.is(Mutant::TimeoutEndsWithAStep);
        let timeout = within || self.is(Mutant::TimeoutGoesOn);
        Circumstances { timeout, continues_deterministic, log: path.log.clone(), ..Circumstances::default() }
    }

    /// **S-INVISIBLE**, and **S-ENDLESS** for it.
    fn s_invisible(&self, sequence: &mut Sequence, p: usize, path: Path) -> Result<Found, Refusal> {
        if self.is(Mutant::InvisibleIsNormal) {
            return Ok(self.s_normal(sequence, path));
        }
        let inside = (path.state.clone(), p);
        let again = sequence.times > self.limits.merge && sequence.followed.contains(&inside);
        if sequence.way.contains(&inside) || again {
            return Ok(Found { cut: !self.is(Mutant::EndlessInvisibleIsBlocked), ..Found::default() });
        }
        if sequence.times >= LONG && self.is(Mutant::LongSequencesAreEndless) {
            return Ok(self.endless(sequence, path.log));
        }
        sequence.times += 1;
        sequence.followed.insert(inside.clone());
        sequence.way.push(inside);
        let mut found = Found::default();
        let outranked = self.s_priority(&path.state, p, false)? && !self.is(Mutant::InvisibleIgnoresPriorities);
        let nexts = if outranked { Vec::new() } else { self.paths_of(&path.state, p, self.going_on(&path, false))? };
        for next in nexts {
            found.add(self.outcomes_of(sequence, p, next)?);
        }
        sequence.way.pop();
        if !found.outcomes.is_empty() || found.cut {
            return Ok(found);
        }
        let exclusive = if self.is(Mutant::BlockedKeepsThePrivilege) { Some(p) } else { None };
        Ok(self.outcome(sequence, path.state, exclusive, path.log))
    }

    /// **S-DETERMINISTIC**, and **S-ENDLESS** for it.
    fn s_deterministic(&self, sequence: &mut Sequence, p: usize, mut path: Path) -> Result<Found, Refusal> {
        let mut been_in = HashSet::new();
        loop {
            let too_long = been_in.len() >= LONG && self.is(Mutant::LongSequencesAreEndless);
            if !been_in.insert(path.state.clone()) || too_long {
                let blocked = self.is(Mutant::EndlessDeterministicIsBlocked);
                return Ok(if blocked { self.blocked(sequence, p, path) } else { self.endless(sequence, path.log) });
            }
            let how = self.going_on(&path, true);
            let mut successes = Vec::new();
            for next in self.paths_of(&path.state, p, how.clone())? {
                if self.succeeds(p, &next, &how)? {
                    successes.push(next);
                }
            }
            if self.is(Mutant::DeterministicTriesAll) && successes.len() > 1 {
                let mut found = Found::default();
                for next in successes {
                    found.add(self.outcomes_of(sequence, p, next)?);
                }
                return Ok(found);
            }
            let Some(first) = successes.into_iter().next() else {
                if self.is(Mutant::BlockedDeterministicEnds) {
                    return Ok(self.outcome(sequence, path.state, None, path.log));
                }
                return Ok(self.blocked(sequence, p, path));
            };
            if first.end != End::Step(Mode::Deterministic) {
                return self.outcomes_of(sequence, p, first);
            }
            path = first;
        }
    }

    /// `Blocked` is reported at the location of the process.
    fn blocked(&self, sequence: &Sequence, p: usize, path: Path) -> Found {
        let addr = self.location_of(&path.state, p);
        self.fatal(sequence, path.log, Fault { kind: FaultKind::Blocked, addr })
    }

    /// `Endless` is reported where the transition began.
    fn endless(&self, sequence: &Sequence, log: Log) -> Found {
        let fault = Some(Fault { kind: FaultKind::Endless, addr: sequence.began_at });
        Found::one(Outcome { process: sequence.initiator, fault, prints: log.prints, state: None })
    }

    fn location_of(&self, state: &State, p: usize) -> Addr {
        Addr(state.process(p as i32).map_or(0, |process| self.locations[process.ty][process.location]) as u32)
    }

    /// **S-RENDEZVOUS**: the answers of each other process.
    fn s_rendezvous(&self, sequence: &mut Sequence, p: usize, path: Path, offer: Offer) -> Result<Found, Refusal> {
        let mut found = Found::default();
        for q in 0..path.state.process_count() {
            if q == p && !self.is(Mutant::AnswersItself) {
                continue;
            }
            let answers = self.answers(&path.state, q, &offer, false, path.log.clone())?;
            let mover = if self.is(Mutant::OffererKeepsThePrivilege) { p } else { q };
            for answer in answers {
                // An answer to the offer of a first path is a first path of its own (S-ENDLESS).
                let first = sequence.way.is_empty();
                if first {
                    sequence.followed.clear();
                    sequence.times = 0;
                }
                let log = answer.log.clone();
                let answered = self.outcomes_of(sequence, mover, answer)?;
                let endless = first && answered.outcomes.is_empty() && answered.cut;
                found.add(if endless { self.endless(sequence, log) } else { answered });
            }
            if self.is(Mutant::OnlyTheFirstAnswers) && !found.outcomes.is_empty() {
                break;
            }
        }
        Ok(found)
    }

    /// **S-END**.
    pub(super) fn s_end(&self, state: &State) -> bool {
        state.processes().all(|process| {
            let at = self.locations[process.ty][process.location];
            let labelled = self.program.labels.iter().any(|label| label.kind.end && label.addr.index() == at);
            let ending = matches!(self.program.code.get(at), Some(Op::Step { mode: Mode::Terminate }));
            labelled || (ending && !self.is(Mutant::OnlyLabelsEnd))
        })
    }
}
