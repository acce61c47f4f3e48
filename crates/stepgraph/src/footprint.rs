//! Footprints: what a step may read and write, known before it runs.
//!
//! An alternative is one path through a location's node, to the end of a step or to a fault. Its
//! footprint contains everything that decides whether it is executable and what it does: its own
//! guards and effects, the guards of the alternatives that ELSE or UNLESS tries before it, and what
//! the scheduler adds to every step: the process that moved last, the holder of the privilege,
//! priorities. A test executes steps and checks by brute force that nothing outside was read or
//! written. `reduction` derives finer footprints of its own, condition by condition.

use crate::StepGraph;
use crate::expr::{Expr, ExprId, Var};
use crate::node::{Effect, Node, NodeId};
use bytecode::{Addr, GlobalId, LocalId, Location, Mode, ProcessId, Verified};
use std::collections::BTreeSet;

/// The largest number of alternatives of one location; if there are more, they share one footprint.
const MAX_ALTERNATIVES: usize = 4096;

/// A part of the state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// A global: one element, or any.
    Global(GlobalId, Option<u32>),
    /// A local of the process that moves: one element, or any.
    Local(LocalId, Option<u32>),
    /// The control location of the process that moves.
    Location,
    /// Locations, locals and priorities of other processes.
    Others,
    /// Which processes exist.
    Processes,
    /// Which process moved last.
    Last,
    /// Which process has the privilege (S-ATOMIC). A step writes it if it takes the privilege. The
    /// footprint does not say that a step returns it: a state in which some process has the
    /// privilege is expanded as a whole.
    Privilege,
    /// The variables that are reset at the end of each transition (S-SCRATCH). Every step writes
    /// them, always with the same values, so these writes are no conflicts.
    Scratch,
}

/// A channel, or all of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Channels {
    /// The channel with this number.
    One(i32),
    /// Any channel.
    Any,
}

/// The reads and writes of a step.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Footprint {
    /// Variables and the like it may read.
    pub reads: BTreeSet<Place>,
    /// Variables and the like it may write.
    pub writes: BTreeSet<Place>,
    /// Channels it may send to.
    pub sends: BTreeSet<Channels>,
    /// Channels it may receive from.
    pub receives: BTreeSet<Channels>,
    /// Channels whose length or contents it may test.
    pub tests: BTreeSet<Channels>,
    /// Whether it may create a channel.
    pub creates_channel: bool,
    /// Whether it depends on what other processes can do: by TIMEOUT, by ENABLED, or because
    /// priorities decide who moves. Then it may read anything.
    pub entangled: bool,
}

/// One path through the node of a location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alternative {
    /// How the step ends, and its STEP instruction. Nothing if this path comes to no step: a
    /// process that takes it is blocked, unless there is a fault before.
    pub end: Option<(Mode, Addr)>,
    /// What it may read and write.
    pub footprint: Footprint,
}

/// What the rules of the scheduler add to every step of a program.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scheduler {
    last: bool,
    privilege: bool,
    priorities: bool,
    scratch: bool,
}

impl Scheduler {
    pub fn of(program: &Verified) -> Scheduler {
        let layout = program.layout();
        let scratch = |variables: &[bytecode::Variable]| variables.iter().any(|variable| variable.scratch);
        let declared = program.program();
        Scheduler {
            scratch: scratch(&declared.globals) || declared.processes.iter().any(|process| scratch(&process.locals)),
            last: layout.last.is_some(),
            privilege: layout.exclusive.is_some(),
            priorities: layout.processes.iter().any(|process| process.priority.is_some()),
        }
    }

    /// What every step reads and writes, whatever it does.
    fn base(self) -> Footprint {
        let mut base = Footprint { reads: BTreeSet::from([Place::Location]), entangled: self.priorities, ..Footprint::default() };
        base.writes.extend(self.scratch.then_some(Place::Scratch));
        base.reads.extend(self.privilege.then_some(Place::Privilege));
        base
    }
}

impl Footprint {
    /// Adds everything of another footprint.
    pub fn merge(&mut self, other: &Footprint) {
        self.reads.extend(&other.reads);
        self.writes.extend(&other.writes);
        self.sends.extend(&other.sends);
        self.receives.extend(&other.receives);
        self.tests.extend(&other.tests);
        self.creates_channel |= other.creates_channel;
        self.entangled |= other.entangled;
    }
}

impl StepGraph {
    /// The paths through a location's node that matter, in the order in which they are tried: those
    /// that lead to the end of a step, and those that may be a fault.
    pub fn alternatives(&self, process: ProcessId, location: Location) -> Vec<Alternative> {
        let mut found = Vec::new();
        let base = self.scheduler.base();
        self.collect(self.location(process, location), base, false, &mut found);
        if found.len() >= MAX_ALTERNATIVES {
            let mut all = Footprint::default();
            for alternative in &found {
                all.merge(&alternative.footprint);
            }
            for alternative in &mut found {
                alternative.footprint = all.clone();
            }
        }
        found
    }

    /// Adds the alternatives below a node. `faults` says whether there may have been a fault before
    /// it.
    fn collect(&self, start: NodeId, mut so_far: Footprint, mut faults: bool, found: &mut Vec<Alternative>) {
        let mut id = start;
        loop {
            match self.node(id) {
                Node::Choice(first, second) => {
                    self.collect(*first, so_far.clone(), faults, found);
                    id = *second;
                }
                Node::Else(main, other) | Node::Unless(main, other) => {
                    let before = found.len();
                    self.collect(*main, so_far.clone(), faults, found);
                    // Whether the other side is tried depends on everything that decides about the
                    // first side.
                    let tried = self.everything_below(*main);
                    so_far.reads.extend(tried.reads);
                    so_far.tests.extend(tried.tests);
                    so_far.tests.extend(tried.sends);
                    so_far.tests.extend(tried.receives);
                    so_far.entangled |= tried.entangled;
                    if matches!(self.node(id), Node::Unless(..)) && before != found.len() && !so_far.tests.is_empty() {
                        so_far.reads.insert(Place::Others); // An escape that is an offer needs a partner.
                    }
                    id = *other;
                }
                Node::Test(condition, then, other) => {
                    self.read(*condition, &mut so_far);
                    faults |= self.pool().traits(*condition).faults;
                    self.collect(*then, so_far.clone(), faults, found);
                    id = *other;
                }
                Node::Guard(condition, next) => {
                    self.read(*condition, &mut so_far);
                    faults |= self.pool().traits(*condition).faults;
                    id = *next;
                }
                Node::Do(effect, next) => {
                    self.touch(effect, &mut so_far);
                    effect.exprs(|expr| faults |= self.pool().traits(expr).faults);
                    // Effects that write may have a fault of their own.
                    faults |= effect.writes() && !matches!(effect, Effect::Store(..));
                    id = *next;
                }
                Node::Step(mode, step) => {
                    self.end(*mode, &mut so_far);
                    found.push(Alternative { end: Some((*mode, *step)), footprint: so_far });
                    return;
                }
                Node::Return | Node::Value(_) => return,
                Node::Blocked => {
                    if faults {
                        found.push(Alternative { end: None, footprint: so_far });
                    }
                    return;
                }
            }
            if found.len() >= MAX_ALTERNATIVES {
                so_far.merge(&self.everything_below(id));
                found.push(Alternative { end: Some((Mode::Normal, Addr::default())), footprint: so_far });
                return;
            }
        }
    }

    /// What any path below a node may read and write.
    fn everything_below(&self, start: NodeId) -> Footprint {
        let mut all = Footprint::default();
        let mut seen = BTreeSet::new();
        let mut open = vec![start];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.node(id) {
                Node::Choice(a, b) | Node::Else(a, b) | Node::Unless(a, b) => open.extend([*a, *b]),
                Node::Test(condition, a, b) => {
                    self.read(*condition, &mut all);
                    open.extend([*a, *b]);
                }
                Node::Guard(condition, next) => {
                    self.read(*condition, &mut all);
                    open.push(*next);
                }
                Node::Do(effect, next) => {
                    self.touch(effect, &mut all);
                    open.push(*next);
                }
                Node::Step(mode, _) => self.end(*mode, &mut all),
                Node::Return | Node::Value(_) | Node::Blocked => {}
            }
        }
        all
    }

    /// Adds what the end of a step reads and writes.
    fn end(&self, mode: Mode, into: &mut Footprint) {
        into.writes.insert(Place::Location);
        if mode == Mode::Terminate {
            into.reads.insert(Place::Processes);
            into.writes.insert(Place::Processes);
        }
        if self.scheduler.last && mode != Mode::Deterministic {
            into.writes.insert(Place::Last);
        }
        if mode == Mode::Atomic {
            into.writes.insert(Place::Privilege);
        }
    }

    fn channels(&self, expr: ExprId) -> Channels {
        self.pool().constant(expr).map_or(Channels::Any, Channels::One)
    }

    fn element(&self, index: ExprId) -> Option<u32> {
        self.pool().constant(index).and_then(|i| u32::try_from(i).ok())
    }

    fn place(&self, var: Var, element: Option<u32>) -> Place {
        match var {
            Var::Global(id) => Place::Global(id, element),
            Var::Local(id) => Place::Local(id, element),
        }
    }

    /// Adds what evaluating an expression reads.
    fn read(&self, start: ExprId, into: &mut Footprint) {
        let mut open = vec![start];
        while let Some(id) = open.pop() {
            let expr = self.pool().get(id);
            match expr {
                Expr::Load(var) => _ = into.reads.insert(self.place(*var, Some(0))),
                Expr::Element(var, index, _) => _ = into.reads.insert(self.place(*var, self.element(*index))),
                Expr::ProcessCount => _ = into.reads.insert(Place::Processes),
                Expr::Last => _ = into.reads.insert(Place::Last),
                Expr::Timeout => into.entangled = true,
                Expr::Channel(_, channel, _) | Expr::Poll { channel, .. } => _ = into.tests.insert(self.channels(*channel)),
                Expr::Remote(..)
                | Expr::RemoteElement(..)
                | Expr::NoProgress
                | Expr::LocationOf(_)
                | Expr::IsAt(..)
                | Expr::Priority(..) => into.reads.extend([Place::Others, Place::Processes]),
                Expr::Enabled(_) => {
                    // Everything that decides whether the other process can move.
                    into.reads.extend([Place::Others, Place::Processes]);
                    into.tests.insert(Channels::Any);
                    into.entangled = true;
                }
                _ => {}
            }
            expr.operands(|operand| open.push(operand));
        }
    }

    /// Adds what an effect reads and writes.
    fn touch(&self, effect: &Effect, into: &mut Footprint) {
        effect.exprs(|e| self.read(e, into));
        match effect {
            Effect::Let(..) | Effect::Evaluate(_) | Effect::Assert(..) => {}
            Effect::Store(var, _) => _ = into.writes.insert(self.place(*var, Some(0))),
            Effect::StoreElement(var, index, _, _) => _ = into.writes.insert(self.place(*var, self.element(*index))),
            Effect::Send { channel, .. } => _ = into.sends.insert(self.channels(*channel)),
            Effect::Receive { channel, .. } => _ = into.receives.insert(self.channels(*channel)),
            Effect::Run { process, .. } => {
                into.reads.insert(Place::Processes);
                into.writes.insert(Place::Processes);
                if let Some(prologue) = self.prologue(*process) {
                    let mut first = self.everything_below(prologue);
                    // Its locals are those of the new process.
                    first.reads.retain(|place| !matches!(place, Place::Local(..)));
                    first.writes.retain(|place| !matches!(place, Place::Local(..)));
                    into.merge(&first);
                }
            }
            Effect::NewChannel { .. } => into.creates_channel = true,
            Effect::SetPriority { .. } => {
                into.reads.insert(Place::Processes);
                into.writes.insert(Place::Others);
            }
            Effect::Claim { channel, .. } => {
                into.sends.insert(self.channels(*channel));
                into.receives.insert(self.channels(*channel));
            }
        }
    }
}
