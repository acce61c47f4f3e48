//! Scheduler transitions (section 4 of `docs/bytecode.md`): which sequences of paths form one
//! visible transition.
//!
//! Sequences of invisible steps are followed with an explicit stack, because they may be a million
//! steps long. A level of the stack is a state with paths still to be followed; a state whose last
//! path is being followed needs no level.

use crate::inner_states::InnerStates;
use crate::log::{Log, Silent};
use crate::memory::Memory;
use crate::paths::{Circumstances, Ending, Path, Paths};
use crate::repeats;
use bytecode::{Addr, AtomId, Fault, FaultKind, LabelKind, Mode, Op, Part, Verified};
use contract::{Effort, PROPOSITIONS_MAX, Proposition};

/// The visible result of a transition.
pub(crate) struct Outcome<L> {
    /// The process that initiated the transition.
    pub process: usize,
    /// The number of its first step; see [`Successor::step`](contract::Successor::step).
    pub step: u32,
    /// The state reached; `None` after a fatal fault.
    pub state: Option<Memory>,
    pub fault: Option<Fault>,
    /// After `Endless`, the step of the loop that repeats, if the log is read and it is known.
    pub repeated: Option<Addr>,
    pub log: L,
}

/// A state of an invisible sequence, and the paths still to be followed from it.
struct Level<L> {
    paths: std::vec::IntoIter<Path<L>>,
    /// The number of states that have been passed since the level before, this one included.
    passed: usize,
    /// The approximate memory of these states.
    bytes: u64,
}

/// Why a deterministic sequence has no end.
pub(crate) enum NoEnd<L> {
    Fault(Fault, L),
    GivenUp,
}

/// The transitions of one state. If a step is abandoned, the transitions reported so far are
/// incomplete.
pub(crate) struct Scheduler<'p> {
    program: &'p Verified,
    pub(crate) paths: Paths<'p>,
    follow_once_after: usize,
    pub(crate) effort: &'p Effort,
}

impl<'p> Scheduler<'p> {
    pub fn new(program: &'p Verified, follow_once_after: usize, effort: &'p Effort) -> Self {
        Scheduler { program, paths: Paths::new(program, effort), follow_once_after, effort }
    }

    /// The initial state, or the fault that occurs while it is built (M-INITIAL).
    pub fn initial(&self) -> Result<(Memory, Option<Fault>), Fault> {
        let program = self.program.program();
        let layout = self.program.layout();
        let mut bytes = vec![0; layout.fixed];
        for (slot, variable) in layout.globals.iter().zip(&program.globals) {
            for i in 0..slot.elements {
                slot.ty.write(variable.initial(i), &mut bytes[slot.offset + i * slot.ty.width()..]);
            }
        }
        let mut memory = Memory::load(layout, &bytes).unwrap_or_default();
        let mut noted = None;
        for &ty in &program.instances {
            let declared = &program.processes[ty.index()];
            let zeros = vec![0; declared.params as usize];
            let number =
                memory.create_process(self.program, ty, &zeros).ok_or(Fault { kind: FaultKind::TooManyProcesses, addr: declared.entry })?;
            match self.paths.prologue(&mut memory, number, declared.prologue, &mut Silent) {
                Some(fault) if fault.kind.is_fatal() => return Err(fault),
                fault => noted = noted.or(fault),
            }
        }
        Ok((memory, noted))
    }

    /// All transitions of a state, in order.
    pub fn transitions<L: Log>(&self, memory: &Memory, emit: &mut dyn FnMut(Outcome<L>)) {
        let mut free = memory.clone();
        if let Some(at) = self.program.layout().exclusive
            && let Some(holder) = (memory.bytes()[at] as usize).checked_sub(1)
        {
            if !self.outranked(memory, holder, false) && self.process_transitions(memory, holder, false, emit) {
                return;
            }
            free.bytes_mut()[at] = 0;
        }
        for timeout in [false, true] {
            if self.all_processes(&free, timeout, emit) || self.effort.is_over() {
                return;
            }
        }
    }

    /// The transitions of one part of a state.
    pub fn part<L: Log>(&self, memory: &Memory, part: Part, emit: &mut dyn FnMut(Outcome<L>)) {
        match part {
            Part::Everything => self.transitions(memory, emit),
            Part::Process(process) => {
                let process = process as usize;
                if process < memory.process_count() && !self.outranked(memory, process, false) {
                    self.process_transitions(memory, process, false, emit);
                }
            }
            Part::Timeout => {
                if !self.all_processes::<L>(memory, false, &mut |_| {}) && !self.effort.is_over() {
                    self.all_processes(memory, true, emit);
                }
            }
        }
    }

    /// The transitions of all processes. Returns whether there were any.
    fn all_processes<L: Log>(&self, memory: &Memory, timeout: bool, emit: &mut dyn FnMut(Outcome<L>)) -> bool {
        let mut moved = false;
        for process in 0..memory.process_count() {
            if !self.outranked(memory, process, timeout) {
                moved |= self.process_transitions(memory, process, timeout, emit);
            }
        }
        moved
    }

    /// S-PRIORITY.
    fn outranked(&self, memory: &Memory, process: usize, timeout: bool) -> bool {
        let priority = |number| {
            let (ty, at) = memory.process(number)?;
            Some(memory.bytes()[at + self.program.layout().processes[ty.index()].priority?])
        };
        let Some(own) = priority(process) else { return false };
        (0..memory.process_count()).any(|other| priority(other).is_some_and(|p| p > own) && self.paths.enabled(other, memory, timeout))
    }

    /// The transitions initiated by one process. Returns whether there were any.
    fn process_transitions<L: Log>(&self, memory: &Memory, process: usize, timeout: bool, emit: &mut dyn FnMut(Outcome<L>)) -> bool {
        let how = Circumstances { timeout, ..Circumstances::default() };
        let start = self.paths.location(process, memory).unwrap_or_default();
        let mut moved = false;
        let mut emit = |outcome| {
            moved = true;
            emit(outcome);
        };
        for path in self.paths.of(process, memory.clone(), None, &L::default(), how) {
            self.follow(process, start, path, &mut emit);
        }
        moved
    }

    /// Follows one first path to all its outcomes.
    fn follow<L: Log>(&self, initiator: usize, start: Addr, first: Path<L>, emit: &mut dyn FnMut(Outcome<L>)) {
        let step = first.step;
        // The log of an endless transition is that of its first path.
        let begun = first.log.clone();
        let begin = L::IS_READ.then(|| (first.process, first.memory.clone()));
        let mut passed = InnerStates::default();
        let mut levels = vec![Level { paths: vec![first].into_iter(), passed: 0, bytes: 0 }];
        let (mut fruitful, mut cut) = (false, false);
        // The memory of the levels, and of the emitted outcomes.
        let (mut waiting, mut emitted) = (0, 0);
        let mut emit = |outcome: Outcome<L>| {
            emitted += outcome.state.as_ref().map_or(0, cost);
            emit(outcome);
            emitted
        };
        let mut held = 0;
        while let Some(level) = levels.last_mut() {
            self.effort.hold(passed.bytes() + waiting + held);
            if self.effort.is_over() {
                return;
            }
            let Some(path) = level.paths.next() else {
                passed.leave(level.passed);
                waiting -= level.bytes;
                levels.pop();
                continue;
            };
            let path = match self.deterministic(start, path) {
                Ok(path) => path,
                Err(NoEnd::Fault(fault, log)) => {
                    fruitful = true;
                    held = emit(Outcome { process: initiator, step, state: None, fault: Some(fault), repeated: None, log });
                    continue;
                }
                Err(NoEnd::GivenUp) => return,
            };
            if !matches!(path.ending, Ending::Step(Mode::Invisible, _)) {
                fruitful = true;
                held = emit(self.visible(initiator, step, path));
                continue;
            }
            if !passed.enter(path.process as u32, path.memory.bytes(), self.follow_once_after) {
                cut = true;
                continue;
            }
            let next = match self.outranked(&path.memory, path.process, false) {
                true => Vec::new(),
                false => self.paths.of(path.process, path.memory.clone(), path.fault, &path.log, Circumstances::default()),
            };
            if self.effort.is_over() {
                return;
            }
            if next.len() > 1 {
                passed.choose(path.process as u32, path.memory.bytes());
            }
            let bytes = next.len() as u64 * cost(&path.memory);
            // Each path eventually has an outcome or a fault, or is cut; so only a state without
            // paths is blocked.
            if next.is_empty() {
                fruitful = true;
                passed.leave(1);
                held = emit(self.visible(initiator, step, path));
            } else if level.paths.len() == 0 {
                waiting = waiting - level.bytes + bytes;
                *level = Level { paths: next.into_iter(), passed: level.passed + 1, bytes };
            } else {
                waiting += bytes;
                levels.push(Level { paths: next.into_iter(), passed: 1, bytes });
            }
        }
        if cut && !fruitful {
            let fault = Some(Fault { kind: FaultKind::Endless, addr: start });
            let repeated = begin.and_then(|(process, memory)| repeats::repeated(self, process, memory));
            emit(Outcome { process: initiator, step, state: None, fault, repeated, log: begun });
        }
    }

    /// S-DETERMINISTIC: follows a deterministic sequence to the first path that does not continue
    /// it.
    pub(crate) fn deterministic<L: Log>(&self, start: Addr, mut path: Path<L>) -> Result<Path<L>, NoEnd<L>> {
        let how = Circumstances { timeout: path.timeout, deterministic: true, first_only: true, ..Circumstances::default() };
        // Brent's cycle finding: the kept state is replaced at each power of two.
        let mut kept: Option<Memory> = None;
        let mut steps = 0_u64;
        let mut next = Vec::new();
        while let Ending::Step(Mode::Deterministic, _) = path.ending {
            if kept.as_ref().is_some_and(|k| k.bytes() == path.memory.bytes()) {
                return Err(NoEnd::Fault(Fault { kind: FaultKind::Endless, addr: start }, path.log));
            }
            if steps.is_power_of_two() {
                kept = Some(path.memory.clone());
            }
            steps += 1;
            let Path { process, memory, fault, log, .. } = path;
            let addr = self.paths.location(process, &memory).unwrap_or_default();
            // The state is moved, not copied: a sequence may have millions of steps.
            self.paths.enumerate(process, memory, fault, &log, how, &mut next);
            path = match next.drain(..).next() {
                _ if self.effort.is_over() => return Err(NoEnd::GivenUp),
                Some(next) => next,
                None => return Err(NoEnd::Fault(fault.unwrap_or(Fault { kind: FaultKind::Blocked, addr }), log)),
            };
        }
        Ok(path)
    }

    /// The visible state at the end of a transition (S-NORMAL, S-ATOMIC, S-SCRATCH), or the fault.
    fn visible<L: Log>(&self, initiator: usize, step: u32, path: Path<L>) -> Outcome<L> {
        let Path { process, mut memory, ending, fault, log, .. } = path;
        let Ending::Step(mode, _) = ending else { return Outcome { process: initiator, step, state: None, fault, repeated: None, log } };
        let layout = self.program.layout();
        if let Some(at) = layout.exclusive {
            memory.bytes_mut()[at] = if mode == Mode::Atomic { process as u8 + 1 } else { 0 };
        }
        self.reset_scratch(&mut memory);
        Outcome { process: initiator, step, state: Some(memory), fault, repeated: None, log }
    }

    fn reset_scratch(&self, memory: &mut Memory) {
        let program = self.program.program();
        let layout = self.program.layout();
        let reset = |memory: &mut Memory, base: usize, slots: &[bytecode::Slot], variables: &[bytecode::Variable]| {
            for (slot, variable) in slots.iter().zip(variables).filter(|(_, v)| v.scratch) {
                for i in 0..slot.elements {
                    memory.write(slot.ty, base + slot.offset + i * slot.ty.width(), variable.initial(i));
                }
            }
        };
        reset(memory, 0, &layout.globals, &program.globals);
        for number in 0..memory.process_count() {
            if let Some((ty, at)) = memory.process(number) {
                reset(memory, at, &layout.processes[ty.index()].locals, &program.processes[ty.index()].locals);
            }
        }
    }

    /// The values of propositions in a state, one bit each (P-ATOM, P-LABEL).
    pub fn propositions(&self, memory: &Memory, propositions: &[Proposition]) -> Result<u64, Fault> {
        let program = self.program.program();
        let labelled = |mark: fn(LabelKind) -> bool| {
            (0..memory.process_count()).any(|p| self.paths.location(p, memory).is_some_and(|at| mark(program.label_kind_at(at))))
        };
        let mut values = 0;
        // Few atoms need this value, so it is computed only then.
        let mut timeout = None;
        for (number, proposition) in propositions.iter().take(PROPOSITIONS_MAX).enumerate() {
            let value = match *proposition {
                Proposition::Accepting => labelled(|kind| kind.accept),
                Proposition::NonProgress => !labelled(|kind| kind.progress),
                Proposition::Atom(atom) => self.value(memory, atom, &mut timeout)?.is_some_and(|value| value != 0),
            };
            values |= u64::from(value) << number;
        }
        Ok(values)
    }

    /// The value of an atom in a state (P-ATOM); `None` if there is no such atom. `timeout` says
    /// whether no process can move, once that is known.
    pub fn value(&self, memory: &Memory, atom: u32, timeout: &mut Option<bool>) -> Result<Option<i32>, Fault> {
        let program = self.program.program();
        let Some(id) = AtomId::new(atom as usize).filter(|id| id.index() < program.atoms.len()) else { return Ok(None) };
        let code = program.code_of_atom(id);
        let asks = program.code[code.start as usize..code.end as usize].iter().any(|op| matches!(op, Op::Timeout {}));
        let timeout = asks && *timeout.get_or_insert_with(|| !self.all_processes::<Silent>(memory, false, &mut |_| {}));
        self.paths.value(memory, program.atoms[id.index()].start, timeout).map(Some)
    }

    /// S-END.
    pub fn is_valid_end(&self, memory: &Memory) -> bool {
        let program = self.program.program();
        (0..memory.process_count()).all(|p| self.paths.location(p, memory).is_some_and(|at| program.may_end_at(at)))
    }
}

/// The approximate memory of a state that waits or was emitted.
fn cost(memory: &Memory) -> u64 {
    memory.bytes().len() as u64 + 256
}
