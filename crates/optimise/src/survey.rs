//! Facts about a whole program: which processes use what, how many instances of each type exist,
//! which channels a variable can name.

use crate::scan::{Budget, End, Mode2, Scan, Use, Value, scan};
use bytecode::{Addr, GlobalId, LocalId, Location, ProcessId, Program, Verified};
use std::collections::{BTreeSet, HashMap};

/// The largest number of instructions that are visited: for each instruction of the program, and in
/// addition.
const WALKED_PER_INSTRUCTION: usize = 8;
const WALKED_MORE: usize = 1 << 12;
/// The largest number of different channels that are distinguished for one variable.
const CHANNELS_MAX: usize = 64;
/// The largest number of rounds to find the channels that variables can name.
const ROUNDS_MAX: usize = 64;
/// More than one; the exact number does not matter.
const MANY: u8 = 2;

/// An edge of the control flow of a process type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Edge {
    pub end: End,
    /// The target; `None` if the process ends.
    pub target: Option<Location>,
}

/// The channels that a value can name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Channels {
    Known(BTreeSet<i32>),
    Any,
}

impl Channels {
    fn none() -> Channels {
        Channels::Known(BTreeSet::new())
    }

    fn add(&mut self, other: &Channels) {
        match (&mut *self, other) {
            (Channels::Known(mine), Channels::Known(others)) => {
                mine.extend(others);
                if mine.len() > CHANNELS_MAX {
                    *self = Channels::Any;
                }
            }
            _ => *self = Channels::Any,
        }
    }

    /// The channel, if it is one and it exists from the start.
    pub fn one(&self, program: &Program) -> Option<i32> {
        match self {
            Channels::Known(set) if set.len() == 1 => set.first().copied().filter(|&k| k >= 1 && k as usize <= program.channels.len()),
            _ => None,
        }
    }

    pub fn may_be(&self, channel: i32) -> bool {
        match self {
            Channels::Known(set) => set.contains(&channel),
            Channels::Any => true,
        }
    }
}

/// Facts about a program.
pub(crate) struct Survey<'p> {
    pub verified: &'p Verified,
    /// For each type and location, what its code uses.
    pub scans: Vec<Vec<Scan>>,
    /// The same, as edges.
    pub edges: Vec<Vec<Vec<Edge>>>,
    pub prologues: Vec<Option<Scan>>,
    /// How many instances of each type there can ever be: none, one, or more.
    bounds: Vec<u8>,
    /// The users of a global: a process type, or other code.
    global_users: Vec<BTreeSet<Option<ProcessId>>>,
    written: Vec<bool>,
    /// Locals that the process itself writes.
    written_locals: BTreeSet<(ProcessId, LocalId)>,
    /// Locals that other processes read.
    pub remote: BTreeSet<(ProcessId, LocalId)>,
    /// Locations that other processes test, by type and address.
    pub places: BTreeSet<(ProcessId, Addr)>,
    /// All uses of channels, with the process type.
    uses: Vec<(ProcessId, Use, Channels)>,
    locals: HashMap<(ProcessId, LocalId), Channels>,
    /// Whether channels are made while the program runs.
    pub creates: bool,
}

/// Why a program cannot be surveyed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Obscure {
    /// It has subroutines, or its locations share too much code.
    Code,
}

impl<'p> Survey<'p> {
    pub fn of(verified: &'p Verified) -> Result<Survey<'p>, Obscure> {
        let program = verified.program();
        let mut budget = Budget(program.code.len() * WALKED_PER_INSTRUCTION + WALKED_MORE);
        let mut look = |at: Addr| scan(program, at, &mut budget).ok_or(Obscure::Code);
        let (mut scans, mut edges, mut prologues) = (Vec::new(), Vec::new(), Vec::new());
        for (id, process) in types(program) {
            let mut of_type = Vec::new();
            for &at in verified.locations().addresses(id) {
                of_type.push(look(at)?);
            }
            let leads = |end: &End| Edge { end: *end, target: verified.locations().after_step(end.step) };
            edges.push(of_type.iter().map(|scan| scan.ends.iter().map(leads).collect()).collect());
            scans.push(of_type);
            prologues.push(process.prologue.map(&mut look).transpose()?);
        }
        let mut survey = Survey {
            verified,
            scans,
            edges,
            prologues,
            bounds: Vec::new(),
            global_users: vec![BTreeSet::new(); program.globals.len()],
            written: vec![false; program.globals.len()],
            written_locals: BTreeSet::new(),
            remote: BTreeSet::new(),
            places: BTreeSet::new(),
            uses: Vec::new(),
            locals: HashMap::new(),
            creates: false,
        };
        survey.count();
        survey.gather();
        survey.name_channels();
        survey.list_uses();
        Ok(survey)
    }

    pub fn program(&self) -> &'p Program {
        self.verified.program()
    }

    /// The location where processes of a type begin.
    pub fn entry(&self, id: ProcessId) -> usize {
        let at = self.program().follow_jumps(self.program().processes[id.index()].entry);
        at.and_then(|at| self.verified.locations().at(id, at)).map_or(0, Location::index)
    }

    /// All scans of a type.
    fn of_type(&self, id: ProcessId) -> impl Iterator<Item = &Scan> {
        self.scans[id.index()].iter().chain(self.prologues[id.index()].as_ref())
    }

    /// Counts how many instances there can be: the initial ones, and those that each RUN can add.
    fn count(&mut self) {
        let program = self.program();
        let repeated: Vec<Vec<bool>> = self.edges.iter().map(|edges| repeated(edges)).collect();
        let mut bounds = vec![0_u8; program.processes.len()];
        loop {
            let mut next = vec![0_u8; bounds.len()];
            for id in &program.instances {
                next[id.index()] = (next[id.index()] + 1).min(MANY);
            }
            for (runner, scans) in self.scans.iter().enumerate() {
                for (location, scan) in scans.iter().enumerate() {
                    let times = match (bounds[runner], repeated[runner][location]) {
                        (0, _) => 0,
                        (_, true) => MANY,
                        (bound, false) => bound,
                    };
                    for (id, _) in &scan.runs {
                        next[id.index()] = (next[id.index()] + times).min(MANY);
                    }
                }
            }
            if next == bounds {
                self.bounds = bounds;
                return;
            }
            bounds = next;
        }
    }

    fn gather(&mut self) {
        for (id, _) in types(self.program()) {
            for (scan, user) in
                self.scans[id.index()].iter().map(|scan| (scan, Some(id))).chain(self.prologues[id.index()].iter().map(|scan| (scan, None)))
            {
                for global in scan.global_reads.iter().chain(&scan.global_writes) {
                    self.global_users[global.index()].insert(user);
                }
                for global in &scan.global_writes {
                    self.written[global.index()] = true;
                }
                self.written_locals.extend(scan.local_writes.iter().map(|local| (id, *local)));
                self.remote.extend(&scan.remote);
                self.places.extend(&scan.places);
                self.creates |= scan.creates;
            }
        }
    }

    /// Finds the channels that locals can name, from arguments and stores, until nothing changes.
    fn name_channels(&mut self) {
        for round in 0.. {
            let mut next: HashMap<(ProcessId, LocalId), Channels> = HashMap::new();
            for (id, process) in types(self.program()) {
                for (number, variable) in process.locals.iter().enumerate() {
                    let Some(local) = LocalId::new(number) else { continue };
                    let start =
                        if variable.length.is_none() { Channels::Known(BTreeSet::from([variable.initial(0)])) } else { Channels::Any };
                    next.insert((id, local), start);
                }
            }
            for (id, _) in types(self.program()) {
                for scan in self.of_type(id) {
                    for (local, value) in &scan.stored {
                        let channels = self.channels(id, *value);
                        next.entry((id, *local)).or_insert_with(Channels::none).add(&channels);
                    }
                    for (started, values) in &scan.runs {
                        for (number, value) in values.iter().enumerate() {
                            let (Some(local), channels) = (LocalId::new(number), self.channels(id, *value)) else { continue };
                            next.entry((*started, local)).or_insert_with(Channels::none).add(&channels);
                        }
                    }
                }
            }
            if next == self.locals {
                return;
            }
            if round == ROUNDS_MAX {
                self.locals.clear();
                self.locals.extend(next.into_keys().map(|key| (key, Channels::Any)));
                return;
            }
            self.locals = next;
        }
    }

    fn list_uses(&mut self) {
        let mut uses = Vec::new();
        for (id, _) in types(self.program()) {
            let inside = self.inside_sequences(id);
            for (at, scan) in self.of_type(id).enumerate() {
                uses.extend(scan.channels.iter().map(|&(used, value)| (id, used, self.channels(id, value))));
                // If a branch is taken because another is not possible, a send or receive is also a
                // test of the channel. In deterministic sequences the first possible branch is
                // taken.
                if scan.otherwise || inside.get(at) == Some(&true) {
                    uses.extend(scan.channels.iter().map(|&(_, value)| (id, Use::Test, self.channels(id, value))));
                }
            }
        }
        self.uses = uses;
    }

    /// For each location, whether a deterministic sequence passes it.
    fn inside_sequences(&self, id: ProcessId) -> Vec<bool> {
        let mut inside = vec![false; self.scans[id.index()].len()];
        for edge in self.edges[id.index()].iter().flatten().filter(|edge| edge.end.mode == Mode2::Deterministic) {
            if let Some(to) = edge.target {
                inside[to.index()] = true;
            }
        }
        inside
    }

    /// The channels that a value in the code of a type can name.
    pub fn channels(&self, id: ProcessId, value: Value) -> Channels {
        match value {
            Value::Const(k) => Channels::Known(BTreeSet::from([k])),
            Value::Local(local) => self.locals.get(&(id, local)).cloned().unwrap_or_else(Channels::none),
            Value::Global(global) if !self.written[global.index()] => {
                let variable = &self.program().globals[global.index()];
                let mut channels = Channels::none();
                for element in 0..variable.elements().min(CHANNELS_MAX + 1) {
                    channels.add(&Channels::Known(BTreeSet::from([variable.ty.truncate(variable.initial(element))])));
                }
                channels
            }
            Value::Global(_) | Value::Any => Channels::Any,
        }
    }

    /// Whether at most one instance of a type ever exists.
    pub fn is_single(&self, id: ProcessId) -> bool {
        self.bounds[id.index()] <= 1
    }

    /// Whether a global does not matter to processes of other types: it is never written, or one
    /// process of this type is its only user.
    pub fn is_private(&self, id: ProcessId, global: GlobalId) -> bool {
        let users = &self.global_users[global.index()];
        !self.written[global.index()] || (self.is_single(id) && users.iter().all(|user| *user == Some(id)))
    }

    /// Whether a process other than the single instance of a type may use a channel in one of these
    /// ways.
    pub fn others_use(&self, id: ProcessId, channel: i32, ways: &[Use]) -> bool {
        let mine = |user: ProcessId| user == id && self.is_single(id);
        self.uses.iter().any(|(user, used, channels)| ways.contains(used) && !mine(*user) && channels.may_be(channel))
    }

    /// Whether any process uses any channel in one of these ways.
    pub fn anybody_uses(&self, ways: &[Use]) -> bool {
        self.uses.iter().any(|(_, used, _)| ways.contains(used))
    }

    /// The value of a global that is never written.
    pub fn constant(&self, global: GlobalId) -> Option<i32> {
        let variable = &self.program().globals[global.index()];
        (!self.written[global.index()] && variable.length.is_none()).then(|| variable.ty.truncate(variable.initial(0)))
    }

    /// The value of a local that is never written.
    pub fn local_constant(&self, id: ProcessId, local: LocalId) -> Option<i32> {
        let process = &self.program().processes[id.index()];
        let variable = &process.locals[local.index()];
        let constant = local.0 >= process.params && variable.length.is_none() && self.is_fixed(id, local);
        constant.then(|| variable.ty.truncate(variable.initial(0)))
    }

    /// Whether processes of a type can ever exist.
    pub fn exists(&self, id: ProcessId) -> bool {
        self.bounds[id.index()] > 0
    }

    /// All uses of channels, with the process type.
    pub fn uses(&self) -> &[(ProcessId, Use, Channels)] {
        &self.uses
    }

    /// Whether processes of a type may move for ever, judged by its locations.
    pub fn has_cycle(&self, id: ProcessId) -> bool {
        repeated(&self.edges[id.index()]).contains(&true)
    }

    /// Whether a local keeps the value it was created with.
    pub fn is_fixed(&self, id: ProcessId, local: LocalId) -> bool {
        !self.written_locals.contains(&(id, local))
    }
}

/// The process types and their numbers.
pub(crate) fn types(program: &Program) -> impl Iterator<Item = (ProcessId, &bytecode::ProcessType)> {
    program.processes.iter().enumerate().filter_map(|(number, process)| Some((ProcessId::new(number)?, process)))
}

/// Which locations may lie on a cycle: those that are left after repeatedly removing locations
/// without predecessors and locations without successors.
pub(crate) fn repeated(edges: &[Vec<Edge>]) -> Vec<bool> {
    let count = edges.len();
    let mut forwards: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut backwards: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, edges) in edges.iter().enumerate() {
        for to in edges.iter().filter_map(|edge| Some(edge.target?.index())) {
            forwards[from].push(to);
            backwards[to].push(from);
        }
    }
    let mut left = vec![true; count];
    for (ways, back) in [(&forwards, &backwards), (&backwards, &forwards)] {
        let mut open_ways: Vec<usize> = ways.iter().map(Vec::len).collect();
        let mut ready: Vec<usize> = (0..count).filter(|&at| open_ways[at] == 0).collect();
        while let Some(at) = ready.pop() {
            left[at] = false;
            for &before in &back[at] {
                open_ways[before] -= 1;
                if open_ways[before] == 0 {
                    ready.push(before);
                }
            }
        }
    }
    left
}
