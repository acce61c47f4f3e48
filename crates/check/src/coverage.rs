//! Records which statements a search executes, by a system around the searched one.
//!
//! Every successor names the step with which its transition begins, so a table over step numbers
//! records what was executed, and costs one look-up for each successor. A transition may consist of
//! more steps: invisible and deterministic sequences continue after the first step, and a
//! rendezvous has a step of the receiver. The reference interpreter finds out which of these were
//! executed. It is asked only as long as one of the steps that may follow is not yet recorded, and
//! only once for all states with the same values of the variables that the sequence reads.
//!
//! Steps are noted before a reduction leaves any of them out.

use bytecode::{Addr, ChannelTypeId, GlobalId, LocalId, Mode, Op, Part, ProcessId, Shape, StateMap, Verified, Walk, walk};
use contract::{CloneSystem, Coverage, Enough, FaultCode, Position, ProcessCoverage, StatementCoverage, Successor, Successors, System};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::collections::{BTreeSet, HashSet};
use std::hash::Hasher;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use vm::{Event, Interpreter};

/// The largest number of values that are stored for one sequence. If there are more, all states are
/// examined.
const VALUES_MAX: usize = 1 << 16;

/// The executed parts of a program, recorded by all workers.
pub(crate) struct Notes {
    program: Arc<Verified>,
    /// For each address, whether it is a STEP that was executed.
    executed: Box<[AtomicBool]>,
    /// For each address, whether its STEP and all steps that may follow are recorded. For most
    /// successors this is the only look-up.
    known: Box<[AtomicBool]>,
    /// For each address the sequence that may follow its STEP in the same transition.
    sequences: Box<[Option<Sequence>]>,
    /// The channels that exist from the start and hold messages.
    fills: Vec<Fill>,
    /// The sets of propositions that were true together in states that a claim followed.
    letters: Mutex<BTreeSet<u64>>,
}

/// The most letters that are remembered. Formulas have few atoms that are true together.
const LETTERS_MAX: usize = 1 << 12;

/// The fullest state of a channel.
struct Fill {
    name: String,
    ty: ChannelTypeId,
    offset: usize,
    capacity: usize,
    most: AtomicUsize,
}

/// The steps that may follow a step within its transition.
struct Sequence {
    /// Their addresses.
    steps: Vec<usize>,
    /// The number of steps at the beginning of the list that were executed.
    done: AtomicUsize,
    /// The variables that decide which of them are executed; `None` if it depends on more than
    /// variables.
    reads: Option<Reads>,
    /// Hashes of the values for which that is known.
    seen: Mutex<FxHashSet<u64>>,
}

/// The variables that a sequence reads.
#[derive(Default)]
struct Reads {
    globals: BTreeSet<GlobalId>,
    locals: BTreeSet<LocalId>,
}

impl Notes {
    pub fn of(program: &Arc<Verified>) -> Notes {
        let length = program.program().code.len();
        let rendezvous = program.program().channel_types.iter().any(|ty| ty.capacity == 0);
        let receives: Vec<Addr> = if rendezvous { steps_with(program, |op| matches!(op, Op::Recv { .. })) } else { Vec::new() };
        let walks = Walks::of(program);
        let sequence = |at: usize| match program.program().code[at] {
            Op::Step { .. } => Sequence::after(program, &walks, Addr(at as u32), &receives),
            _ => None,
        };
        Notes {
            program: Arc::clone(program),
            executed: (0..length).map(|_| AtomicBool::new(false)).collect(),
            known: (0..length).map(|_| AtomicBool::new(false)).collect(),
            sequences: (0..length).map(sequence).collect(),
            fills: fills(program),
            letters: Mutex::default(),
        }
    }

    /// Records how full the channels are in a state that is expanded.
    #[inline]
    fn look_into_channels(&self, state: &[u8]) {
        for fill in &self.fills {
            let most = fill.most.load(Ordering::Relaxed);
            if most < fill.capacity {
                let length = self.program.layout().channel_length(fill.ty, fill.offset, state);
                if length > most {
                    fill.most.fetch_max(length, Ordering::Relaxed);
                }
            }
        }
    }

    /// The sets of propositions that were true together; empty if there were too many to remember.
    pub fn letters(&self) -> BTreeSet<u64> {
        let letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        if letters.len() < LETTERS_MAX { letters.clone() } else { BTreeSet::new() }
    }

    fn is_executed(&self, at: usize) -> bool {
        self.executed.get(at).is_some_and(|executed| executed.load(Ordering::Relaxed))
    }

    #[inline(always)]
    fn is_known(&self, step: u32) -> bool {
        self.known.get(step as usize).is_some_and(|known| known.load(Ordering::Relaxed))
    }

    /// Records that a process executed a step in `state`. Returns whether the reference interpreter
    /// must find out what else was executed.
    #[inline(never)]
    fn note(&self, step: u32, state: &[u8], process: u32) -> bool {
        // A step that failed before it was complete has no number.
        let Some(executed) = self.executed.get(step as usize) else { return step != Successor::NO_STEP };
        if !executed.load(Ordering::Relaxed) {
            executed.store(true, Ordering::Relaxed);
        }
        match &self.sequences[step as usize] {
            None => {
                self.known[step as usize].store(true, Ordering::Relaxed);
                false
            }
            Some(sequence) => {
                let interest = self.is_of_interest(sequence, state, process);
                let done = sequence.done.load(Ordering::Relaxed) == sequence.steps.len();
                self.known[step as usize].store(done, Ordering::Relaxed);
                interest
            }
        }
    }

    fn is_of_interest(&self, sequence: &Sequence, state: &[u8], process: u32) -> bool {
        let mut done = sequence.done.load(Ordering::Relaxed);
        while sequence.steps.get(done).is_some_and(|&at| self.is_executed(at)) {
            done += 1;
        }
        sequence.done.store(done, Ordering::Relaxed);
        if done == sequence.steps.len() {
            return false;
        }
        let Some(hash) = sequence.reads.as_ref().and_then(|reads| self.hash(reads, state, process)) else { return true };
        let mut seen = sequence.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.len() >= VALUES_MAX || seen.insert(hash)
    }

    /// A hash of the values that a sequence reads, and of where it begins.
    fn hash(&self, reads: &Reads, state: &[u8], process: u32) -> Option<u64> {
        let layout = self.program.layout();
        let mut map = StateMap::default();
        map.read(layout, state).ok()?;
        let component = map.processes.get(process as usize)?;
        let Shape::Process(ty) = component.shape else { return None };
        let (inside, bytes) = (layout.processes.get(ty.index())?, state.get(component.offset..)?);
        let mut hasher = FxHasher::default();
        hasher.write_u32(process);
        hasher.write_u32(u32::from(inside.location(bytes).0));
        for global in &reads.globals {
            let slot = layout.globals.get(global.index())?;
            hasher.write(state.get(slot.offset..slot.offset + slot.size())?);
        }
        for local in &reads.locals {
            let slot = inside.locals.get(local.index())?;
            hasher.write(bytes.get(slot.offset..slot.offset + slot.size())?);
        }
        Some(hasher.finish())
    }

    /// Records everything that a process executes in its steps from a state.
    fn ask(&self, interpreter: &Interpreter, state: &[u8], process: u32) {
        // If no process has the privilege, the steps of one process are found without the others,
        // except steps by a timeout.
        let alone = self.program.layout().exclusive.is_none();
        let part = if alone { Part::Process(process) } else { Part::Everything };
        let mut moves = interpreter.explain_part(state, part).unwrap_or_default();
        if moves.is_empty() {
            moves = interpreter.explain(state).unwrap_or_default();
        }
        for explained in moves {
            let history = &explained.history;
            for event in history.beginning().into_iter().chain(history.ending()) {
                if let Event::Step { step, .. } = event
                    && let Some(executed) = self.executed.get(step.index())
                {
                    executed.store(true, Ordering::Relaxed);
                }
            }
        }
    }

    /// The coverage of each process type.
    pub fn coverage(&self) -> Vec<ProcessCoverage> {
        let (program, locations) = (self.program.program(), self.program.locations());
        let runs = |ty: ProcessId| {
            let steps = steps_with(&self.program, |op| matches!(op, Op::Run { process, .. } if *process == ty));
            steps.iter().any(|step| self.is_executed(step.index()))
        };
        let of_type = |(index, declared): (usize, &bytecode::ProcessType)| {
            let ty = ProcessId::new(index)?;
            let code = program.code_of(ty);
            let started = program.instances.contains(&ty) || runs(ty) || code.clone().any(|at| self.is_executed(at as usize));
            let entry = program.follow_jumps(declared.entry);
            let mut reached: BTreeSet<Addr> = entry.filter(|_| started).into_iter().collect();
            for at in code.clone().filter(|&at| self.is_executed(at as usize)) {
                reached.extend(locations.after_step(Addr(at)).and_then(|location| locations.address(ty, location)));
            }
            let mut statements: Vec<StatementCoverage> = Vec::new();
            let mut known: FxHashMap<(u32, u32, u32, &str), usize> = FxHashMap::default();
            for &location in locations.addresses(ty) {
                let walk = walk(&self.program, location);
                // A statement that is never executable has no step.
                let never = walk.others.iter().filter(|at| matches!(program.code[at.index()], Op::Nex {}));
                for &step in walk.steps.iter().chain(never) {
                    let Some(span) = program.span_at(step) else { continue };
                    let key = (span.file.0 as u32, span.line, span.column, span.text.as_str());
                    let index = *known.entry(key).or_insert_with(|| {
                        let file = program.files.get(span.file.index()).cloned().unwrap_or_default();
                        let position = Some(Position { file, line: span.line, column: span.column });
                        statements.push(StatementCoverage { position, text: span.text.clone(), reached: false, executed: false });
                        statements.len() - 1
                    });
                    statements[index].reached |= reached.contains(&location);
                    statements[index].executed |= self.is_executed(step.index());
                }
            }
            let place = |statement: &StatementCoverage| statement.position.as_ref().map(|at| (at.line, at.column));
            statements.sort_by_key(place);
            Some(ProcessCoverage { name: declared.name.clone(), started, statements })
        };
        program.processes.iter().enumerate().filter_map(of_type).collect()
    }

    /// The coverage, with warnings.
    pub fn tell(&self, complete: bool, reduced: bool) -> Coverage {
        let program = self.program.program();
        let mut vacuous = Vec::new();
        for step in steps_with(&self.program, |op| matches!(op, Op::Assert {})) {
            if let Some(span) = program.span_at(step).filter(|_| !self.is_executed(step.index())) {
                let file = program.files.get(span.file.index()).map_or("", String::as_str);
                vacuous.push(format!("{file}:{}: `{}` was never evaluated", span.line, span.text));
            }
        }
        for (index, channel) in program.channels.iter().enumerate() {
            if let Some(false) = self.is_sent_to(index) {
                vacuous.push(format!("nothing was ever sent to the channel `{}`", channel.name));
            }
        }
        // In states that were left out, a channel may have been fuller.
        for fill in self.fills.iter().filter(|_| complete && !reduced) {
            let most = fill.most.load(Ordering::Relaxed);
            if (1..fill.capacity).contains(&most) {
                vacuous.push(format!("the channel `{}` was never full: it held at most {most} of {} messages", fill.name, fill.capacity));
            }
        }
        vacuous.sort();
        vacuous.dedup();
        Coverage { processes: self.coverage(), complete, reduced, vacuous }
    }

    /// Whether a step that sends to a channel was executed; unknown if the program passes channels
    /// as values.
    fn is_sent_to(&self, channel: usize) -> Option<bool> {
        let sends = steps_with(&self.program, |op| matches!(op, Op::Send { .. } | Op::Sends { .. }));
        let mut sent = false;
        for step in sends {
            let constants = named_channels(&self.program, step);
            if constants.is_empty() {
                return None;
            }
            sent |= self.is_executed(step.index()) && constants.contains(&channel);
        }
        Some(sent)
    }
}

/// The channels that exist from the start and hold messages.
fn fills(program: &Verified) -> Vec<Fill> {
    let layout = program.layout();
    let declared = program.program().channels.iter().zip(&layout.channels);
    let fill = |(channel, &(ty, offset)): (&bytecode::StaticChannel, &(ChannelTypeId, usize))| {
        let capacity = layout.channel_types.get(ty.index())?.capacity;
        Some(Fill { name: channel.name.clone(), ty, offset, capacity, most: AtomicUsize::new(0) })
    };
    declared.filter_map(fill).filter(|fill| fill.capacity > 0).collect()
}

/// The steps that begin a transition in which one of these steps may follow.
pub(crate) fn leading_to(program: &Arc<Verified>, targets: &HashSet<u32>) -> HashSet<u32> {
    let notes = Notes::of(program);
    let leads = |sequence: &Sequence| sequence.steps.iter().any(|&step| targets.contains(&(step as u32)));
    let all = notes.sequences.iter().enumerate();
    all.filter(|(_, sequence)| sequence.as_ref().is_some_and(leads)).map(|(at, _)| at as u32).collect()
}

/// The channels that the code of a step names: variables that always hold the channel of the same
/// name.
fn named_channels(program: &Verified, step: Addr) -> Vec<usize> {
    let tables = program.program();
    let written = |var: GlobalId| tables.code.iter().any(|op| matches!(op, Op::Stg { var: to } | Op::Stgx { var: to } if *to == var));
    let of_op = |op: &Op| match *op {
        Op::Ldg { var } if !written(var) => {
            let variable = tables.globals.get(var.index())?;
            tables.channels.iter().position(|channel| channel.name == variable.name)
        }
        _ => None,
    };
    code_before(program, step).filter_map(of_op).collect()
}

/// The instructions before a STEP, back to the STEP before it.
fn code_before(program: &Verified, step: Addr) -> impl Iterator<Item = &Op> {
    let code = &program.program().code[..step.index()];
    let begin = code.iter().rposition(|op| matches!(op, Op::Step { .. })).map_or(0, |at| at + 1);
    code[begin..].iter()
}

/// The STEPs whose code has such an operation.
pub(crate) fn steps_with(program: &Verified, has: impl Fn(&Op) -> bool) -> Vec<Addr> {
    let code = &program.program().code[..program.program().atoms_start().index()];
    let steps = (0..code.len()).filter(|&at| matches!(code[at], Op::Step { .. })).map(|at| Addr(at as u32));
    steps.filter(|&step| code_before(program, step).any(&has)).collect()
}

/// The code of all locations, by their addresses.
struct Walks {
    walks: FxHashMap<Addr, Walk>,
    /// For each STEP the locations whose steps it ends.
    locations: FxHashMap<Addr, Vec<Addr>>,
}

impl Walks {
    fn of(program: &Verified) -> Walks {
        let types = (0..program.program().processes.len()).filter_map(ProcessId::new);
        let all = types.flat_map(|ty| program.locations().addresses(ty));
        let walks: FxHashMap<Addr, Walk> = all.map(|&location| (location, walk(program, location))).collect();
        let mut locations: FxHashMap<Addr, Vec<Addr>> = FxHashMap::default();
        for (&location, walk) in &walks {
            walk.steps.iter().for_each(|&step| locations.entry(step).or_default().push(location));
        }
        Walks { walks, locations }
    }
}

impl Sequence {
    /// The sequence that may follow a STEP; `receives` are the steps that may answer if it is an
    /// offer.
    fn after(program: &Verified, walks: &Walks, first: Addr, receives: &[Addr]) -> Option<Sequence> {
        let goes_on = |step: Addr| matches!(program.program().code[step.index()], Op::Step { mode: Mode::Invisible | Mode::Deterministic });
        let offers = |step: Addr| code_before(program, step).any(|op| matches!(op, Op::Send { .. } | Op::Sends { .. }));
        let (mut known, mut waiting) = (BTreeSet::new(), vec![first]);
        let mut places: BTreeSet<Addr> = walks.locations.get(&first).into_iter().flatten().copied().collect();
        while let Some(step) = waiting.pop() {
            let mut add = |next: Addr| {
                if known.insert(next) {
                    waiting.push(next);
                }
            };
            if goes_on(step) {
                let ty = program.program().process_at(step)?;
                let location = program.locations().address(ty, program.locations().after_step(step)?)?;
                places.insert(location);
                walks.walks.get(&location)?.steps.iter().copied().for_each(&mut add);
            }
            if !receives.is_empty() && offers(step) {
                receives.iter().copied().for_each(&mut add);
            }
        }
        if known.is_empty() {
            return None;
        }
        let code = places.iter().filter_map(|place| walks.walks.get(place)).flat_map(|walk| &walk.others);
        let reads = reads(code.map(|at| &program.program().code[at.index()]));
        let steps = known.into_iter().map(Addr::index).collect();
        Some(Sequence { steps, done: AtomicUsize::new(0), reads, seen: Mutex::default() })
    }
}

/// The variables that this code reads, if it depends on nothing else.
fn reads<'a>(code: impl Iterator<Item = &'a Op>) -> Option<Reads> {
    let mut reads = Reads::default();
    for op in code {
        match *op {
            Op::Ldg { var } | Op::Ldgx { var } => drop(reads.globals.insert(var)),
            Op::Ldl { var } | Op::Ldlx { var } => drop(reads.locals.insert(var)),
            Op::Ldr { .. }
            | Op::Ldrx { .. }
            | Op::Call { .. }
            | Op::Ret {}
            | Op::Run { .. }
            | Op::Nrpr {}
            | Op::Last {}
            | Op::Enabled {}
            | Op::Pcval {}
            | Op::At { .. }
            | Op::Timeout {}
            | Op::Np {}
            | Op::Getprio {}
            | Op::Chnew { .. }
            | Op::Send { .. }
            | Op::Sends { .. }
            | Op::Recv { .. }
            | Op::Poll { .. }
            | Op::Len {}
            | Op::Empty {}
            | Op::Full {} => return None,
            _ => {}
        }
    }
    Some(reads)
}

/// A system that records the steps it generates.
#[derive(Clone)]
pub(crate) struct Noting {
    system: Box<dyn CloneSystem>,
    notes: Arc<Notes>,
    interpreter: Interpreter,
    /// The letters that were recorded already, and the latest one.
    letters: FxHashSet<u64>,
    latest: Option<u64>,
}

impl Noting {
    pub fn new(system: Box<dyn CloneSystem>, notes: Arc<Notes>) -> Noting {
        let interpreter = Interpreter::new(Arc::clone(&notes.program));
        Noting { system, notes, interpreter, letters: FxHashSet::default(), latest: None }
    }

    /// Records the steps from number `first` of `out` on. They leave `states`, whose first one is
    /// source number `source`.
    fn note(&self, states: &[&[u8]], source: u32, out: &Successors, first: usize) {
        let mut asked = None;
        for entry in &out.entries()[first..] {
            if self.notes.is_known(entry.step) {
                continue;
            }
            let state = states[(entry.source - source) as usize];
            let process = entry.action.process;
            if self.notes.note(entry.step, state, process) && asked != Some((entry.source, process)) {
                asked = Some((entry.source, process));
                self.notes.ask(&self.interpreter, state, process);
            }
        }
    }
}

impl System for Noting {
    contract::forward_system!(system: initial, get_ready, is_valid_end, parts, values, describe_fault, values_of_all);

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let first = out.len();
        self.system.successors(state, out);
        self.notes.look_into_channels(state);
        if let Some(entry) = out.entries().get(first) {
            self.note(&[state], entry.source, out, first);
        }
    }

    fn successors_of_all(&mut self, states: &[&[u8]], source: u32, out: &mut Successors) -> usize {
        let first = out.len();
        let expanded = self.system.successors_of_all(states, source, out);
        if !self.notes.fills.is_empty() {
            states.iter().for_each(|state| self.notes.look_into_channels(state));
        }
        self.note(states, source, out, first);
        expanded
    }

    fn give_up_when(&mut self, enough: Enough) {
        self.interpreter.give_up_when(enough.clone());
        self.system.give_up_when(enough);
    }

    fn expand_part(&mut self, state: &[u8], part: u32, out: &mut Successors) {
        let first = out.len();
        self.system.expand_part(state, part, out);
        if let Some(entry) = out.entries().get(first) {
            self.note(&[state], entry.source, out, first);
        }
    }

    fn atoms(&mut self, state: &[u8]) -> Result<u64, FaultCode> {
        let letter = self.system.atoms(state)?;
        if self.latest.replace(letter) != Some(letter) && self.letters.len() < LETTERS_MAX && self.letters.insert(letter) {
            self.notes.letters.lock().unwrap_or_else(PoisonError::into_inner).insert(letter);
        }
        Ok(letter)
    }
}

/// Adds the coverage of another search to that of the searches before.
pub(crate) fn merge(all: &mut Option<Coverage>, more: Coverage) {
    let Some(known) = all else {
        *all = Some(more);
        return;
    };
    for (known, more) in known.processes.iter_mut().zip(more.processes) {
        known.started |= more.started;
        for (known, more) in known.statements.iter_mut().zip(more.statements) {
            known.reached |= more.reached;
            known.executed |= more.executed;
        }
    }
    // A sentence is dropped if the other search has seen what it denies. A complete search without
    // a reduction has seen everything, so its sentences stay.
    if !known.complete || known.reduced {
        known.vacuous.retain(|sentence| more.vacuous.contains(sentence));
    }
    known.reduced &= more.reduced;
    known.complete |= more.complete;
}
