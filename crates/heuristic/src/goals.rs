//! The goals of a search as formulas for each control location: where a process can be stuck, and
//! where its steps can fail.

use crate::automata::Automaton;
use crate::formula::{Formula, Maker};
use crate::steady::Steady;
use bytecode::{Location, Op, ProcessId, Verified};
use contract::FAR;
use std::collections::HashSet;
use stepgraph::{Binary, Effect, Expr, ExprId, Node, NodeId, Pool, StepGraph, Var};

/// A location of a process type at which something can happen.
pub(crate) struct Site {
    pub location: Location,
    /// For each location of the type, the transitions to this one.
    pub distances: Vec<u32>,
    /// The condition that must hold there.
    pub condition: Formula,
}

/// The possible violations by processes of a type.
pub(crate) struct Goals {
    /// The locations at which a process can be stuck.
    pub stuck: Vec<Site>,
    /// Whether the user has marked these locations.
    pub marked: bool,
    /// The locations at which an assertion can fail.
    pub assertions: Vec<Site>,
    /// For each location, the transitions to one that has a step with a possible run-time error.
    pub errors: Vec<u32>,
    /// For each type, and for each location of this one, the transitions to a step that starts such
    /// a process; nothing if there is no such step.
    pub starts: Vec<Option<Vec<u32>>>,
}

/// Process types with more locations have one site for all of them.
const MOST_LOCATIONS: usize = 1 << 11;

/// The prefix of the labels that mark where a process can be stuck.
const DANGER: &str = "danger";

impl Goals {
    /// The goals of a type. `marks` says whether the user's labels are used: a deadlock can be
    /// elsewhere.
    pub fn of(program: &Verified, graph: &StepGraph, automata: &[Automaton], steady: &Steady, ty: ProcessId, marks: bool) -> Goals {
        let maker = Maker { pool: graph.pool(), automata, steady };
        let automaton = &automata[ty.index()];
        let locations: Vec<Location> = (0..automaton.len()).filter_map(Location::new).collect();
        // Tables for all locations of a very large type would take too much memory.
        let far_off = automaton.len() > MOST_LOCATIONS;
        let site = |location: Location, condition: Formula| match far_off {
            true => Site { location, distances: Vec::new(), condition: Formula::Unknown },
            false => Site { location, distances: automaton.distances_to(&[location]), condition },
        };
        let marked = if marks { dangerous(program, ty) } else { Vec::new() };
        let mut goals =
            Goals { stuck: Vec::new(), marked: !marked.is_empty(), assertions: Vec::new(), errors: Vec::new(), starts: Vec::new() };
        let ranges = Ranges { program, pool: graph.pool(), ty };
        let mut failing = Vec::new();
        let endless = automaton.endless();
        for &location in &locations {
            let Some(node) = graph.find(ty, location) else { continue };
            if marked.is_empty() || marked.contains(&location) {
                match maker.blocked(graph, node) {
                    // A process that has ended does not prevent a deadlock.
                    _ if automaton.ends[location.index()] => goals.stuck.push(site(location, Formula::Unknown)),
                    Formula::Known(false) => {}
                    condition => goals.stuck.push(site(location, condition)),
                }
            }
            let mut faults = Faults { graph, ranges: &ranges, assertions: Vec::new(), error: false, seen: HashSet::new() };
            faults.look(node, true);
            if faults.error || endless[location.index()] {
                failing.push(location);
            }
            for (expr, at_once) in faults.assertions {
                // Inside a sequence the condition refers to a state that is not visible.
                let seen = at_once && !automaton.passed[location.index()] && !graph.pool().traits(expr).depends_on_path;
                match if seen { maker.of_expr(expr, false) } else { Formula::Unknown } {
                    Formula::Known(false) => {}
                    condition => goals.assertions.push(site(location, condition)),
                }
            }
        }
        if far_off {
            [&mut goals.stuck, &mut goals.assertions].into_iter().for_each(|sites| merge(sites, automaton));
        }
        goals.errors = automaton.distances_to(&failing);
        for other in 0..automata.len() {
            let starting: Vec<Location> =
                locations.iter().copied().filter(|l| automaton.starts[l.index()].iter().any(|ty| ty.index() == other)).collect();
            goals.starts.push((!starting.is_empty()).then(|| automaton.distances_to(&starting)));
        }
        goals
    }

    /// The fewest transitions that a new process needs until one of its steps can fail, including
    /// that step.
    pub fn fewest_after_entry(&self, automaton: &Automaton, assertions_only: bool) -> u32 {
        let Some(entry) = automaton.entry else { return FAR };
        let sites = self.assertions.iter().map(|site| site.distances[entry.index()]);
        let errors = if assertions_only { FAR } else { self.errors[entry.index()] };
        sites.min().unwrap_or(FAR).min(errors)
    }
}

/// Replaces many sites by one, with the distance to the nearest and an unknown condition.
fn merge(sites: &mut Vec<Site>, automaton: &Automaton) {
    let locations: Vec<Location> = sites.iter().map(|site| site.location).collect();
    if let Some(first) = sites.first_mut() {
        first.distances = automaton.distances_to(&locations);
    }
    sites.truncate(1);
}

/// The locations of a type that the user marked with a `danger` label.
fn dangerous(program: &Verified, ty: ProcessId) -> Vec<Location> {
    let declared = program.program();
    let code = declared.code_of(ty);
    let labels = declared.labels.iter().filter(|label| code.contains(&label.addr.0) && label.name.starts_with(DANGER));
    labels.filter_map(|label| program.locations().at(ty, declared.follow_jumps(label.addr)?)).collect()
}

/// The possible faults in the code of a location.
struct Faults<'a> {
    graph: &'a StepGraph,
    ranges: &'a Ranges<'a>,
    /// The asserted expressions, and whether the state is unchanged before each.
    assertions: Vec<(ExprId, bool)>,
    error: bool,
    seen: HashSet<(NodeId, bool)>,
}

impl Faults<'_> {
    fn look(&mut self, node: NodeId, unchanged: bool) {
        if !self.seen.insert((node, unchanged)) {
            return;
        }
        let graph = self.graph;
        let found = graph.node(node);
        found.exprs(|expr| self.error |= self.ranges.may_fault(expr));
        let mut unchanged = unchanged;
        if let Node::Do(effect, _) = found {
            match effect {
                Effect::Assert(expr, _) => {
                    if graph.pool().constant(*expr).is_none_or(|value| value == 0) {
                        self.assertions.push((*expr, unchanged));
                    }
                }
                Effect::StoreElement(var, index, _, _) => self.error |= !self.ranges.within(*var, *index),
                Effect::Send { channel, message, .. } => self.error |= !self.ranges.is_channel(*channel, Some(message.len())),
                Effect::Receive { channel, fields, .. } => self.error |= !self.ranges.is_channel(*channel, Some((*fields).into())),
                Effect::Claim { channel, .. } => self.error |= !self.ranges.is_channel(*channel, None),
                Effect::Run { .. } | Effect::NewChannel { .. } | Effect::SetPriority { .. } => self.error = true,
                Effect::Let(..) | Effect::Evaluate(_) | Effect::Store(..) => {}
            }
            unchanged &= !effect.writes();
        }
        // A deterministic sequence must not block, nor offer a rendezvous.
        self.error |= matches!(found, Node::Step(bytecode::Mode::Deterministic, _));
        for next in found.following() {
            self.look(next, unchanged);
        }
    }
}

/// The values that expressions can have, judged by their types.
struct Ranges<'a> {
    program: &'a Verified,
    pool: &'a Pool,
    ty: ProcessId,
}

const ALL: (i64, i64) = (i32::MIN as i64, i32::MAX as i64);

impl Ranges<'_> {
    fn slot(&self, var: Var) -> &bytecode::Slot {
        match var {
            Var::Global(id) => &self.program.layout().globals[id.index()],
            Var::Local(id) => &self.program.layout().processes[self.ty.index()].locals[id.index()],
        }
    }

    fn within(&self, var: Var, index: ExprId) -> bool {
        let (low, high) = self.range(index, 16);
        low >= 0 && high < self.slot(var).elements as i64
    }

    /// Whether an expression is known to name a channel that every process may use, with messages
    /// of so many fields if that matters.
    fn is_channel(&self, expr: ExprId, fields: Option<usize>) -> bool {
        let program = self.program.program();
        if self.program.layout().channel_types.iter().any(|ty| ty.claims.is_some()) {
            return false;
        }
        let good = |number: i32| {
            let channel = usize::try_from(number).ok().and_then(|number| program.channels.get(number.checked_sub(1)?));
            let type_of = |channel: &bytecode::StaticChannel| program.channel_types[channel.ty.index()].fields.len();
            channel.is_some_and(|channel| fields.is_none_or(|fields| fields == type_of(channel)))
        };
        match self.pool.get(expr) {
            Expr::Const(number) => good(*number),
            Expr::Load(Var::Global(id)) | Expr::Element(Var::Global(id), ..) => {
                let written = program.code.iter().any(|op| matches!(op, Op::Stg { var } | Op::Stgx { var } if var == id));
                let global = &program.globals[id.index()];
                !written && (0..global.elements()).all(|element| good(global.initial(element)))
            }
            _ => false,
        }
    }

    fn may_fault(&self, expr: ExprId) -> bool {
        if !self.pool.traits(expr).faults {
            return false;
        }
        if self.pool.weight(expr) > 256 {
            return true;
        }
        let own = match self.pool.get(expr) {
            Expr::Element(var, index, _) => !self.within(*var, *index),
            Expr::Checked(index, length, _) => {
                let (low, high) = self.range(*index, 16);
                low < 0 || high >= i64::from(*length)
            }
            Expr::Ranged(value, least, greatest, _) => {
                let (low, high) = self.range(*value, 16);
                low < i64::from(*least) || high > i64::from(*greatest)
            }
            // The operands are seldom known well enough to exclude a fault.
            Expr::Fitting(..) => true,
            Expr::Div(_, by, _) | Expr::Mod(_, by, _) => {
                let (low, high) = self.range(*by, 16);
                low <= 0 && high >= 0
            }
            Expr::Channel(_, channel, _) => !self.is_channel(*channel, None),
            Expr::Poll { channel, fields, .. } => !self.is_channel(*channel, Some((*fields).into())),
            Expr::RemoteElement(..) => true,
            _ => false,
        };
        let mut operands = false;
        self.pool.get(expr).operands(|operand| operands |= self.may_fault(operand));
        own || operands
    }

    fn range(&self, expr: ExprId, depth: u32) -> (i64, i64) {
        let Some(depth) = depth.checked_sub(1) else { return ALL };
        let of = |expr: ExprId| self.range(expr, depth);
        let fits = |range: (i64, i64)| if range.0 >= ALL.0 && range.1 <= ALL.1 { range } else { ALL };
        match self.pool.get(expr) {
            Expr::Const(value) => (i64::from(*value), i64::from(*value)),
            Expr::Load(var) | Expr::Element(var, ..) => self.slot(*var).ty.range(),
            Expr::Checked(index, length, _) => {
                let (low, high) = of(*index);
                (low.max(0), high.min(i64::from(*length) - 1))
            }
            Expr::Pid => (0, self.most_processes() - 1),
            Expr::Binary(Binary::Add, a, b) => fits((of(*a).0 + of(*b).0, of(*a).1 + of(*b).1)),
            Expr::Binary(Binary::Sub, a, b) => fits((of(*a).0 - of(*b).1, of(*a).1 - of(*b).0)),
            Expr::Binary(Binary::And, _, b) if of(*b).0 >= 0 => (0, of(*b).1),
            Expr::Binary(Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge, ..) => (0, 1),
            Expr::Mod(a, b, _) if of(*a).0 >= 0 && of(*b).0 > 0 => (0, of(*b).1 - 1),
            Expr::Choose(_, a, b) => (of(*a).0.min(of(*b).0), of(*a).1.max(of(*b).1)),
            _ => ALL,
        }
    }

    /// The largest number of processes.
    fn most_processes(&self) -> i64 {
        let program = self.program.program();
        match program.code.iter().any(|op| matches!(op, Op::Run { .. })) {
            true => 255,
            false => program.instances.len() as i64,
        }
    }
}
