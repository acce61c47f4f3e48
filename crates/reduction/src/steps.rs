//! The steps that leave each control location, as a reduction needs them: the conjuncts that must
//! hold for a step to be executable, and the shared places that it reads and writes.
//!
//! A step here is a whole transition of the scheduler, including what follows an invisible,
//! deterministic or atomic STEP. No other process moves in between, unless the process blocks, and
//! the places that decide whether it blocks are among those that the step reads.

use crate::bits::Bits;
use crate::bounds::{Bounds, Scope};
use crate::places::{Channel, Places};
use bytecode::{Addr, Location, Mode, ProcessId, Type, Verified};
use stepgraph::{Binary, Effect, Expr, ExprId, Node, NodeId, StepGraph, Unary, Var};

/// The largest number of steps of one location. A location with more is not analysed.
const MOST_STEPS: usize = 256;
/// The number of a step that is never taken. No transition has it; transitions without a step have
/// another number.
const NOWHERE: Addr = Addr(u32::MAX - 1);
/// The weight of the heaviest condition that is evaluated.
const MOST_WEIGHT: u32 = 64;

/// A process type, or one of its instances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class {
    pub ty: ProcessId,
    /// The number of its only process.
    pub pid: Option<i32>,
    /// The number of its first location among all nodes.
    pub first: usize,
}

/// How two numbers compare.
pub(crate) type Relation = Binary;

/// The kinds of conjuncts.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    /// A global scalar or element compares with a constant.
    Compare { place: usize, offset: usize, ty: Type, relation: Relation, constant: i32 },
    /// An expression is not zero, or is.
    Expr(ExprId, bool),
    /// A buffered channel has room.
    HasRoom(usize),
    /// A buffered channel has a message.
    HasMessage(usize),
    /// Some process answers an offer on one of these rendezvous channels.
    Offer,
    /// Some process makes an offer on one of these rendezvous channels.
    Answer,
    /// The process is the youngest.
    IsLast,
    /// None of these conjunctions holds.
    NoneOf(Vec<Vec<Conjunct>>),
    /// It holds in no state.
    Never,
    /// Not known.
    Unknown,
}

/// One of the conditions of a step, all of which must hold.
#[derive(Clone, Debug)]
pub(crate) struct Conjunct {
    pub condition: Condition,
    /// Writing one of these may make it false.
    pub falsified_by: Bits,
    /// Writing one of these may make it true.
    pub enabled_by: Bits,
    /// Whether evaluating it may be a fault.
    pub may_fault: bool,
    /// The places that decide whether the path is a fault before it comes to this condition. A
    /// condition that does not hold blocks the path only as long as none of these is written.
    pub faults_before: Bits,
}

/// A step.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The node it leaves.
    pub node: usize,
    pub class: usize,
    /// Its number in the program.
    pub at: Addr,
    pub mode: Mode,
    /// The location it leads to; none if the process ends.
    pub target: Option<Location>,
    pub guard: Vec<Conjunct>,
    /// The places that it depends on besides the guard.
    pub reads: Bits,
    pub writes: Bits,
    /// Places among `writes` of which the new value is known.
    pub stores: Vec<(usize, i32)>,
    /// The rendezvous channels on which it begins by making an offer, or by answering one.
    pub offers: Vec<usize>,
    pub answers: Vec<usize>,
    /// Whether it certainly makes an offer, on a known rendezvous channel, and uses no other
    /// channel.
    pub only_offers: bool,
    /// The rendezvous channels on which it makes an offer later.
    pub later_offers: Bits,
    /// The types of processes it starts.
    pub runs: Vec<ProcessId>,
    /// Its first step is the end of the process.
    pub ends: bool,
    /// A path that comes to no step: it is blocked, or it is a fault.
    pub never: bool,
    /// The places that decide whether it is a fault before its end.
    pub faults: Bits,
    /// It depends on anything.
    pub entangled: bool,
    /// Whether it is executable depends on TIMEOUT.
    pub timed: bool,
    /// An atomic sequence that begins with it may have no end.
    pub may_diverge: bool,
    pub may_fault: bool,
    /// It may change an atom of a property.
    pub visible: bool,
    /// It may close a cycle.
    pub closes: bool,
}

/// A path through the code of a location so far.
#[derive(Clone)]
struct Path {
    guard: Vec<Conjunct>,
    reads: Bits,
    writes: Bits,
    stores: Vec<(usize, i32)>,
    /// Something was written: later conditions do not refer to the state in which the step begins.
    wrote: bool,
    offers: Vec<usize>,
    answers: Vec<usize>,
    only_offers: bool,
    runs: Vec<ProcessId>,
    entangled: bool,
    timed: bool,
    may_fault: bool,
    /// The places that decide whether it is a fault so far.
    faults: Bits,
    bounds: Bounds,
}

/// A path and its end: a step, or nothing if it is blocked unless it is a fault before.
type Ended = (Path, Option<(Mode, Addr)>);

/// Derives steps.
pub(crate) struct Extractor<'a> {
    pub program: &'a Verified,
    pub graph: &'a StepGraph,
    pub places: &'a Places,
}

impl Extractor<'_> {
    /// The steps that leave a location of a class; nothing if there are too many.
    pub fn steps(&self, class: usize, of: &Class, location: Location) -> Option<Vec<Step>> {
        let walk = Walk { x: self, of };
        let mut found = Vec::new();
        let path = Path {
            guard: Vec::new(),
            reads: self.places.none(),
            writes: self.places.none(),
            stores: Vec::new(),
            wrote: false,
            offers: Vec::new(),
            answers: Vec::new(),
            only_offers: true,
            runs: Vec::new(),
            entangled: false,
            timed: false,
            may_fault: false,
            faults: self.places.none(),
            bounds: Bounds::default(),
        };
        if !walk.node(self.graph.location(of.ty, location), path, &mut found) {
            return None;
        }
        let step = |(path, end): Ended| {
            let (mode, at) = end.unwrap_or((Mode::Normal, NOWHERE));
            let target = end.filter(|_| mode != Mode::Terminate).and_then(|_| self.program.locations().after_step(at));
            (path, mode, at, target, end.is_none())
        };
        let steps = found.into_iter().map(step).map(|(path, mode, at, target, never)| Step {
            node: of.first + location.index(),
            class,
            at,
            mode,
            target,
            never,
            faults: path.faults,
            guard: path.guard,
            reads: path.reads,
            writes: path.writes,
            stores: path.stores,
            only_offers: path.only_offers && !path.offers.is_empty(),
            offers: path.offers,
            answers: path.answers,
            later_offers: Bits::new(self.places.created() + 1),
            runs: path.runs,
            ends: mode == Mode::Terminate,
            entangled: path.entangled,
            timed: path.timed,
            may_diverge: false,
            may_fault: path.may_fault,
            visible: false,
            closes: false,
        });
        Some(steps.collect())
    }
}

impl Extractor<'_> {
    /// The places that an expression over states reads; nothing if it depends on more than places.
    pub fn read(&self, expr: ExprId) -> Option<Bits> {
        let of = Class { ty: ProcessId(0), pid: None, first: 0 };
        let walk = Walk { x: self, of: &of };
        let (mut reads, mut entangled) = (self.places.none(), false);
        walk.read(expr, &mut reads, &mut entangled);
        entangled |= walk.any_below(expr, |expr| matches!(expr, Expr::Timeout));
        (!entangled).then_some(reads)
    }
}

struct Walk<'a> {
    x: &'a Extractor<'a>,
    of: &'a Class,
}

impl Walk<'_> {
    /// Adds the paths below a node; returns whether these are all.
    fn node(&self, start: NodeId, mut path: Path, found: &mut Vec<Ended>) -> bool {
        let mut id = start;
        let mut whole = true;
        loop {
            if found.len() >= MOST_STEPS {
                return false;
            }
            match self.x.graph.node(id) {
                Node::Choice(first, second) => {
                    whole &= self.node(*first, path.clone(), found);
                    id = *second;
                }
                Node::Else(first, other) | Node::Unless(first, other) => {
                    let before = found.len();
                    whole &= self.node(*first, path.clone(), found);
                    self.none_of(&found[before..], &mut path);
                    id = *other;
                }
                Node::Test(condition, then, other) => {
                    path.timed |= self.any_below(*condition, |expr| matches!(expr, Expr::Timeout));
                    let mut yes = path.clone();
                    if self.condition(*condition, true, &mut yes) {
                        whole &= self.node(*then, yes, found);
                    } else {
                        self.stop(yes, found);
                    }
                    if !self.condition(*condition, false, &mut path) {
                        self.stop(path, found);
                        return whole;
                    }
                    id = *other;
                }
                Node::Guard(condition, next) => {
                    if !self.condition(*condition, true, &mut path) {
                        self.stop(path, found);
                        return whole;
                    }
                    id = *next;
                }
                Node::Do(effect, next) => {
                    if !self.effect(effect, &mut path) {
                        self.stop(path, found);
                        return whole;
                    }
                    id = *next;
                }
                Node::Step(mode, at) => {
                    self.end(*mode, &mut path);
                    found.push((path, Some((*mode, *at))));
                    return whole;
                }
                Node::Return | Node::Value(_) => return whole,
                Node::Blocked => {
                    self.stop(path, found);
                    return whole;
                }
            }
        }
    }

    /// Ends a path that comes to no step. It matters only if it may be a fault before.
    fn stop(&self, mut path: Path, found: &mut Vec<Ended>) {
        if !path.may_fault {
            return;
        }
        let none = self.x.places.none();
        self.demands(Condition::Never, none.clone(), none, false, &mut path);
        found.push((path, None));
    }

    /// Adds the condition that no path of the first side of ELSE or UNLESS succeeds.
    fn none_of(&self, first: &[Ended], path: &mut Path) {
        // A process that does not answer an offer is blocked at a rendezvous, so these paths do not
        // count.
        let answers = |path: &Path| path.guard.iter().any(|conjunct| matches!(conjunct.condition, Condition::Answer));
        let tried: Vec<&Path> = first.iter().map(|(path, ..)| path).filter(|path| !answers(path)).collect();
        path.entangled |= tried.iter().any(|tried| !tried.offers.is_empty() || tried.entangled);
        path.timed |= tried.iter().any(|tried| tried.timed);
        let common = path.guard.len();
        let conjunctions: Vec<Vec<Conjunct>> = tried.iter().map(|tried| tried.guard[common..].to_vec()).collect();
        let (mut read, mut may_fault) = (self.x.places.none(), false);
        for conjunct in conjunctions.iter().flatten() {
            read.add(&conjunct.falsified_by);
            read.add(&conjunct.enabled_by);
            may_fault |= conjunct.may_fault;
        }
        // A path with a fault counts as one that succeeds.
        for tried in &tried {
            read.add(&tried.faults);
            may_fault |= !tried.faults.is_empty();
        }
        let condition = if path.wrote { Condition::Unknown } else { Condition::NoneOf(conjunctions) };
        self.demands(condition, read.clone(), read.clone(), may_fault, path);
        if may_fault {
            path.faults.add(&read);
        }
    }

    /// Adds a condition that must hold for the path to continue.
    fn demands(&self, condition: Condition, falsified_by: Bits, enabled_by: Bits, may_fault: bool, path: &mut Path) {
        let faults_before = path.faults.clone();
        path.guard.push(Conjunct { condition, falsified_by, enabled_by, may_fault, faults_before });
    }

    /// Adds a condition; returns false if it cannot hold.
    fn condition(&self, expr: ExprId, expected: bool, path: &mut Path) -> bool {
        let mut open = vec![(expr, expected)];
        while let Some((expr, expected)) = open.pop() {
            if let Some(value) = self.constant(expr) {
                if (value != 0) != expected {
                    return false;
                }
                continue;
            }
            match self.x.graph.pool().get(expr) {
                Expr::Unary(Unary::Lnot, inner) => open.push((*inner, !expected)),
                Expr::Choose(c, x, y) => match (self.constant(*x), self.constant(*y)) {
                    (_, Some(y)) if (y != 0) != expected => open.extend([(*x, expected), (*c, true)]),
                    (Some(x), _) if (x != 0) != expected => open.extend([(*y, expected), (*c, false)]),
                    _ => self.leaf(expr, expected, path),
                },
                _ => self.leaf(expr, expected, path),
            }
        }
        true
    }

    fn leaf(&self, expr: ExprId, expected: bool, path: &mut Path) {
        path.timed |= self.any_below(expr, |expr| matches!(expr, Expr::Timeout));
        let pool = self.x.graph.pool();
        let mut reads = self.x.places.none();
        self.read(expr, &mut reads, &mut path.entangled);
        let may_fault = self.may_fault(expr, path);
        path.may_fault |= may_fault;
        let temporary = self.mentions_temporary(expr);
        let condition = if path.wrote || temporary || pool.weight(expr) > MOST_WEIGHT {
            if temporary {
                reads.add(&path.reads);
            }
            Condition::Unknown
        } else {
            self.comparison(expr, expected).unwrap_or(Condition::Expr(expr, expected))
        };
        self.demands(condition, reads.clone(), reads.clone(), may_fault, path);
        if may_fault {
            path.faults.add(&reads);
        }
        path.bounds.assume(expr, expected, self.scope());
    }

    fn scope(&self) -> Scope<'_> {
        Scope { pool: self.x.graph.pool(), layout: self.x.program.layout(), ty: self.of.ty }
    }

    fn may_fault(&self, expr: ExprId, path: &Path) -> bool {
        path.bounds.may_fault(expr, self.scope(), &|channel| matches!(self.channel(channel), Channel::One(_)))
    }

    /// Whether an operation on a channel may be a fault.
    fn misuses(&self, channel: Channel, fields: usize) -> bool {
        let declared = self.x.program.program();
        let claims = self.x.program.layout().channel_types.iter().any(|ty| ty.claims.is_some());
        match channel {
            Channel::One(c) => claims || declared.channel_types[declared.channels[c].ty.index()].fields.len() != fields,
            Channel::Any | Channel::None => true,
        }
    }

    /// A global compared with a constant.
    fn comparison(&self, expr: ExprId, expected: bool) -> Option<Condition> {
        let pool = self.x.graph.pool();
        let (relation, left, constant) = match pool.get(expr) {
            Expr::Binary(op, a, b) => match (self.constant(*a), self.constant(*b)) {
                (None, Some(c)) => (*op, *a, c),
                (Some(c), None) => (mirrored(*op)?, *b, c),
                _ => return None,
            },
            _ => (Binary::Ne, expr, 0),
        };
        let relation = if expected { relation } else { opposite(relation)? };
        opposite(relation)?;
        let (global, index) = match pool.get(left) {
            Expr::Load(Var::Global(global)) => (*global, 0),
            Expr::Element(Var::Global(global), index, _) => (*global, self.constant(*index)?),
            _ => return None,
        };
        let slot = &self.x.program.layout().globals[global.index()];
        let offset = slot.element(index)?;
        // If a place has more than one element, nothing is known about this one.
        if !self.x.places.has_elements(global, slot.elements) {
            return None;
        }
        let place = self.x.places.element(global, index as usize);
        Some(Condition::Compare { place, offset, ty: slot.ty, relation, constant })
    }

    /// Adds an effect; returns false if the path can never continue.
    fn effect(&self, effect: &Effect, path: &mut Path) -> bool {
        let places = self.x.places;
        let mut may_fault = false;
        effect.exprs(|e| may_fault |= self.may_fault(e, path));
        path.may_fault |= may_fault;
        let mut read = places.none();
        effect.exprs(|e| self.read(e, &mut read, &mut path.entangled));
        path.reads.add(&read);
        if may_fault {
            path.faults.add(&read);
        }
        match effect {
            Effect::Let(..) | Effect::Evaluate(_) => return true,
            Effect::Assert(..) => {
                path.may_fault = true;
                return true;
            }
            Effect::Store(var, value) => {
                path.bounds.forget(*var);
                self.store(*var, Some(0), self.constant(*value), path);
            }
            Effect::StoreElement(var, index, value, _) => {
                if path.bounds.misses(*var, *index, self.scope()) {
                    path.may_fault = true;
                    path.faults.add(&read);
                }
                path.bounds.forget(*var);
                let index = self.constant(*index);
                self.store(*var, index, self.constant(*value), path);
            }
            Effect::Send { channel, sorted, message, .. } => {
                let channel = self.channel(*channel);
                let misuses = self.misuses(channel, message.len());
                path.may_fault |= misuses;
                // Whether the channel exists depends on the value that names it.
                if matches!(channel, Channel::Any) {
                    path.faults.add(&read);
                }
                match channel {
                    Channel::One(c) if places.capacity(c) == 0 => self.rendezvous(Condition::Offer, path),
                    Channel::One(c) => {
                        let (mut filled, mut emptied) = (places.none(), places.none());
                        filled.set(places.tail(c));
                        emptied.set(places.head(c));
                        self.blocks(Condition::HasRoom(c), filled, emptied, path);
                        path.only_offers = false;
                    }
                    Channel::Any => self.blocks_somehow(channel, path),
                    Channel::None => {}
                }
                if misuses {
                    places.add_tail(channel, &mut path.faults);
                    places.add_head(channel, &mut path.faults);
                }
                path.offers.extend(places.rendezvous(channel));
                path.only_offers &= matches!(channel, Channel::One(_));
                if !matches!(channel, Channel::One(c) if places.capacity(c) == 0) {
                    places.add_tail(channel, &mut path.writes);
                    if *sorted {
                        places.add_head(channel, &mut path.writes);
                    }
                }
            }
            Effect::Receive { channel, mask, how, fields, .. } => {
                let channel = self.channel(*channel);
                let misuses = self.misuses(channel, usize::from(*fields));
                path.may_fault |= misuses;
                if matches!(channel, Channel::Any) {
                    path.faults.add(&read);
                }
                path.only_offers = false;
                match channel {
                    Channel::One(c) if places.capacity(c) == 0 => {
                        if !how.takes() {
                            return false;
                        }
                        self.rendezvous(Condition::Answer, path);
                        // For a process that answers an offer, only paths that receive it count, so
                        // ELSE and UNLESS find no path that succeeds.
                        self.forget_none_of(path);
                    }
                    Channel::One(c) => {
                        let (mut filled, mut emptied) = (places.none(), places.none());
                        filled.set(places.tail(c));
                        emptied.set(places.head(c));
                        self.blocks(Condition::HasMessage(c), emptied.clone(), filled.clone(), path);
                        if !mask.is_empty() {
                            // Whether a message matches depends on the channel's contents and on
                            // the values that it is compared with.
                            emptied.add(&filled);
                            emptied.add(&path.reads);
                            self.blocks(Condition::Unknown, emptied.clone(), emptied, path);
                        }
                    }
                    Channel::Any => {
                        self.blocks_somehow(channel, path);
                        self.forget_none_of(path);
                    }
                    Channel::None => {}
                }
                if misuses {
                    places.add_tail(channel, &mut path.faults);
                    places.add_head(channel, &mut path.faults);
                }
                if how.takes() {
                    path.answers.extend(places.rendezvous(channel));
                }
                if !matches!(channel, Channel::One(c) if places.capacity(c) == 0) {
                    places.add_head(channel, &mut path.reads);
                    if how.takes() {
                        places.add_head(channel, &mut path.writes);
                    }
                }
            }
            Effect::Run { process, .. } => {
                path.may_fault = true;
                path.reads.set(places.existence);
                path.writes.set(places.existence);
                path.runs.push(*process);
                path.faults.set(places.existence);
                if let Some(prologue) = self.x.graph.prologue(*process) {
                    self.prologue(prologue, path);
                    path.faults.add(&path.reads);
                }
            }
            Effect::NewChannel { .. } => {
                path.may_fault = true;
                path.faults.set(places.existence);
                path.reads.set(places.existence);
                path.writes.set(places.existence);
            }
            Effect::SetPriority { .. } => path.entangled = true,
            Effect::Claim { channel, .. } => {
                let channel = self.channel(*channel);
                path.may_fault = true;
                path.faults.add(&read);
                places.add_tail(channel, &mut path.writes);
                places.add_head(channel, &mut path.writes);
                places.add_tail(channel, &mut path.reads);
                // A claim on a rendezvous channel decides whether its partners fault.
                path.entangled |= !places.rendezvous(channel).is_empty();
            }
        }
        path.wrote = true;
        true
    }

    fn rendezvous(&self, condition: Condition, path: &mut Path) {
        let none = self.x.places.none();
        self.demands(condition, none.clone(), none, false, path);
    }

    fn forget_none_of(&self, path: &mut Path) {
        for conjunct in &mut path.guard {
            if matches!(conjunct.condition, Condition::NoneOf(_)) {
                conjunct.condition = Condition::Unknown;
            }
        }
    }

    fn blocks(&self, condition: Condition, falsified_by: Bits, enabled_by: Bits, path: &mut Path) {
        let condition = if path.wrote { Condition::Unknown } else { condition };
        self.demands(condition, falsified_by, enabled_by, false, path);
    }

    fn blocks_somehow(&self, channel: Channel, path: &mut Path) {
        let mut ends = self.x.places.none();
        self.x.places.add_tail(channel, &mut ends);
        self.x.places.add_head(channel, &mut ends);
        self.demands(Condition::Unknown, ends.clone(), ends, true, path);
    }

    fn store(&self, var: Var, index: Option<i32>, value: Option<i32>, path: &mut Path) {
        let mut written = self.x.places.none();
        match var {
            Var::Global(global) => {
                self.x.places.add_global(global, index, &mut written);
                let slot = &self.x.program.layout().globals[global.index()];
                let known = |place: &(usize, i32)| !written.has(place.0);
                path.stores.retain(known);
                if let (Some(index), Some(value)) = (index, value)
                    && slot.element(index).is_some()
                    && self.x.places.has_elements(global, slot.elements)
                {
                    path.stores.push((self.x.places.element(global, index as usize), slot.ty.truncate(value)));
                }
            }
            Var::Local(local) => self.x.places.add_local(self.of.ty, local, &mut written),
        }
        path.writes.add(&written);
    }

    /// Adds the prologue of a new process. No other process can read its locals yet.
    fn prologue(&self, start: NodeId, path: &mut Path) {
        let mut open = vec![start];
        let mut seen = std::collections::HashSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let node = self.x.graph.node(id);
            let mut entangled = false;
            node.exprs(|e| self.read(e, &mut path.reads, &mut entangled));
            path.entangled |= entangled;
            match node {
                Node::Do(Effect::Store(Var::Global(global), _), _) => {
                    self.x.places.add_global(*global, Some(0), &mut path.writes);
                    path.stores.clear();
                }
                Node::Do(Effect::StoreElement(Var::Global(global), ..), _) => {
                    self.x.places.add_global(*global, None, &mut path.writes);
                    path.stores.clear();
                }
                Node::Do(Effect::SetPriority { .. } | Effect::Claim { .. }, _) => path.entangled = true,
                _ => {}
            }
            open.extend(node.following());
        }
    }

    fn end(&self, mode: Mode, path: &mut Path) {
        let places = self.x.places;
        places.add_location(self.of.ty, &mut path.writes);
        if mode == Mode::Terminate {
            let condition = if path.wrote { Condition::Unknown } else { Condition::IsLast };
            let mut read = places.none();
            read.set(places.existence);
            self.demands(condition, read.clone(), read, false, path);
            path.writes.set(places.existence);
            if places.creates_channels {
                places.add_created(&mut path.writes);
            }
        }
    }

    /// The value, if it is the same in all states.
    fn constant(&self, expr: ExprId) -> Option<i32> {
        let mut fuel = 64;
        self.constant_within(expr, &mut fuel)
    }

    fn constant_within(&self, expr: ExprId, fuel: &mut u32) -> Option<i32> {
        *fuel = fuel.checked_sub(1)?;
        let globals = &self.x.program.program().globals;
        match self.x.graph.pool().get(expr) {
            Expr::Const(value) => Some(*value),
            Expr::Pid => self.of.pid,
            // If TIMEOUT is 1, everything is expanded.
            Expr::Timeout => Some(0),
            Expr::Load(Var::Global(global)) if self.x.places.is_constant(*global) => Some(globals[global.index()].initial(0)),
            Expr::Element(Var::Global(global), index, _) if self.x.places.is_constant(*global) => {
                let index = usize::try_from(self.constant_within(*index, fuel)?).ok()?;
                let variable = &globals[global.index()];
                (index < variable.elements()).then(|| variable.initial(index))
            }
            Expr::Unary(op, a) => Some(op.apply(self.constant_within(*a, fuel)?)),
            Expr::Binary(op, a, b) => {
                let a = self.constant_within(*a, fuel)?;
                Some(op.apply(a, self.constant_within(*b, fuel)?))
            }
            Expr::Mod(a, b, _) => {
                let a = self.constant_within(*a, fuel)?;
                let b = self.constant_within(*b, fuel)?;
                (b != 0).then(|| a.wrapping_rem(b))
            }
            Expr::Choose(c, a, b) => match self.constant_within(*c, fuel)? {
                0 => self.constant_within(*b, fuel),
                _ => self.constant_within(*a, fuel),
            },
            _ => None,
        }
    }

    fn channel(&self, expr: ExprId) -> Channel {
        self.x.places.channel(self.constant(expr))
    }

    fn mentions_temporary(&self, start: ExprId) -> bool {
        self.any_below(start, |expr| matches!(expr, Expr::Temp(_)))
    }

    fn any_below(&self, start: ExprId, mut test: impl FnMut(&Expr) -> bool) -> bool {
        let mut open = vec![start];
        let mut seen = std::collections::HashSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let expr = self.x.graph.pool().get(id);
            if test(expr) {
                return true;
            }
            expr.operands(|operand| open.push(operand));
        }
        false
    }

    /// Adds the places that an expression reads.
    fn read(&self, start: ExprId, into: &mut Bits, entangled: &mut bool) {
        let places = self.x.places;
        self.any_below(start, |expr| {
            match expr {
                Expr::Load(Var::Global(global)) if !places.is_constant(*global) => places.add_global(*global, Some(0), into),
                Expr::Element(Var::Global(global), index, _) if !places.is_constant(*global) => {
                    places.add_global(*global, self.constant(*index), into);
                }
                Expr::Remote(_, ty, local) | Expr::RemoteElement(_, ty, local, ..) => {
                    places.add_local(*ty, *local, into);
                    into.set(places.existence);
                }
                Expr::ProcessCount => into.set(places.existence),
                Expr::IsAt(_, ty, _) => {
                    places.add_location(*ty, into);
                    into.set(places.existence);
                }
                Expr::LocationOf(_) | Expr::NoProgress => {
                    places.add_all_locations(into);
                    into.set(places.existence);
                }
                Expr::Channel(_, channel, _) | Expr::Poll { channel, .. } => {
                    let channel = self.channel(*channel);
                    places.add_tail(channel, into);
                    places.add_head(channel, into);
                }
                Expr::Enabled(_) | Expr::Priority(_) | Expr::Last => *entangled = true,
                _ => {}
            }
            false
        });
    }
}

/// The relation with its sides exchanged; nothing for an operation that is not a relation.
pub(crate) fn mirrored(relation: Relation) -> Option<Relation> {
    Some(match relation {
        Binary::Eq | Binary::Ne => relation,
        Binary::Lt => Binary::Gt,
        Binary::Le => Binary::Ge,
        Binary::Gt => Binary::Lt,
        Binary::Ge => Binary::Le,
        _ => return None,
    })
}

/// The relation that holds if this one does not; nothing for an operation that is not a relation.
pub(crate) fn opposite(relation: Relation) -> Option<Relation> {
    Some(match relation {
        Binary::Eq => Binary::Ne,
        Binary::Ne => Binary::Eq,
        Binary::Lt => Binary::Ge,
        Binary::Le => Binary::Gt,
        Binary::Gt => Binary::Le,
        Binary::Ge => Binary::Lt,
        _ => return None,
    })
}
