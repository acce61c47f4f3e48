//! Cutting: removes the parts of a program that are not needed, from the code and from the state.
//!
//! - Variables and fields of messages whose values make no difference: code that stores them is
//!   removed, and code that copies them copies 0.
//! - Variables that never change: their value is a constant in the code.
//! - Code behind conditions that never hold, process types that are never started, channels that
//!   are not used.
//! - For a slice, also processes that the property does not depend on ([`slice`]), and the
//!   conditions of assertions if the property is a formula.
//!
//! Except in a slice, the smaller program has the same steps in the same order: its state graph is
//! that of the original one, in which states that differ only in removed values are one state.

mod image;
mod needs;
mod slice;

use crate::survey::{Survey, types};
use crate::{Cut, CutKind, Goal};
use bytecode::{Addr, AtomId, ChannelType, ChannelTypeId, GlobalId, LocalId, MessageField, Op, ProcessId, Program, Shown, Type, Variable};
pub(crate) use image::Image;
use needs::{Code, Needs, Node};
pub(crate) use slice::Whole;
use std::collections::{BTreeMap, BTreeSet};

/// The largest number of types of processes and channels together.
const SHAPES_MAX: usize = 255;

/// A program without the parts that are not needed.
pub(crate) struct Cutting {
    pub program: Program,
    pub cuts: Vec<Cut>,
    /// The new address of each step of the original program.
    pub steps: BTreeMap<Addr, Addr>,
    /// The parts of states that are kept.
    pub kept: Kept,
    /// Why no process was left out, if that was wanted.
    pub whole: Option<Whole>,
}

/// The parts of a state that are kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    /// For each global its number, if it is left.
    pub globals: Vec<Option<GlobalId>>,
    /// For each type and local its number, if it is left.
    pub locals: Vec<Vec<Option<LocalId>>>,
    /// Parameters whose value is 0, by type.
    pub cleared: BTreeSet<(ProcessId, LocalId)>,
    /// Fields whose value is 0, by channel; the channels made at run time together at the end.
    pub fields: BTreeSet<(usize, u8)>,
    /// Channels that take no space in the state.
    pub channels: BTreeSet<usize>,
    /// Types whose processes never move.
    pub still: BTreeSet<ProcessId>,
    /// The new address for each address.
    pub moved: Vec<Addr>,
}

/// Cuts a program; nothing if nothing can be cut, or if the analysis takes too long.
pub(crate) fn cut(survey: &Survey<'_>, goal: Goal<'_>, sliced: bool) -> Option<Cutting> {
    let needs = Needs::of(survey)?;
    let atoms = goal.atoms();
    // In a search for runs a failed assertion does not end a run.
    let assertions = !sliced || matches!(goal, Goal::Faults | Goal::Errors);
    let (there, whole) = if sliced { slice::kept(survey, &needs, goal, assertions) } else { (slice::existing(survey), None) };
    let needed = needs.closure(&there, atoms, assertions);
    let mut cutter = Cutter { survey, needs: &needs, needed, there, atoms, assertions, kept: Kept::default(), cuts: Vec::new() };
    cutter.choose();
    let code = cutter.rewrite();
    let changed = code.changes > 0 || !cutter.cuts.is_empty();
    let (program, steps) = cutter.assemble(code);
    changed.then_some(Cutting { program, cuts: cutter.cuts, steps, kept: cutter.kept, whole })
}

/// New code: the replacement of each instruction, empty if it is removed.
struct Rewritten {
    lists: Vec<Vec<Op>>,
    changes: usize,
}

struct Cutter<'s, 'p> {
    survey: &'s Survey<'p>,
    needs: &'s Needs,
    needed: BTreeSet<Node>,
    /// Types whose code is kept.
    there: Vec<bool>,
    atoms: &'s [AtomId],
    assertions: bool,
    kept: Kept,
    cuts: Vec<Cut>,
}

impl Cutter<'_, '_> {
    fn program(&self) -> &Program {
        self.survey.program()
    }

    fn cut(&mut self, kind: CutKind, name: String, at: Option<Addr>) {
        let span = at.and_then(|at| self.survey.program().span_at(at));
        let place = span.and_then(|span| Some((self.survey.program().files.get(span.file.index())?.clone(), span.line)));
        let name = span.map_or(name, |span| span.text.clone());
        let cut = Cut { kind, name, place };
        if !self.cuts.contains(&cut) {
            self.cuts.push(cut);
        }
    }

    /// Decides what is left of states.
    fn choose(&mut self) {
        let survey = self.survey;
        let program = survey.program();
        for (id, process) in types(program) {
            if !self.there[id.index()] {
                self.kept.still.insert(id);
                let kind = if survey.exists(id) { CutKind::Process } else { CutKind::NeverStarted };
                self.cut(kind, process.name.clone(), None);
            }
        }
        let mut next = 0;
        for (number, variable) in program.globals.iter().enumerate() {
            let needed = GlobalId::new(number).is_some_and(|global| self.needed.contains(&Node::Global(global)));
            self.kept.globals.push(if needed { GlobalId::new(next) } else { None });
            next += usize::from(needed);
            if !needed {
                let constant = GlobalId::new(number).and_then(|global| survey.constant(global)).is_some();
                self.cut(if constant { CutKind::Constant } else { CutKind::Variable }, variable.name.clone(), None);
            }
        }
        for (id, process) in types(program) {
            let (mut next, mut locals) = (0, Vec::new());
            for (number, variable) in process.locals.iter().enumerate() {
                let Some(local) = LocalId::new(number) else { continue };
                let needed = self.needed.contains(&Node::Local(id, local));
                let left = needed || local.0 < process.params;
                locals.push(if left { LocalId::new(next) } else { None });
                next += usize::from(left);
                if !needed && left {
                    self.kept.cleared.insert((id, local));
                }
                // For a type that is removed, its parts are not listed one by one.
                if !needed && self.there[id.index()] {
                    let constant = survey.local_constant(id, local).is_some();
                    let name = format!("{}.{}", process.name, variable.name);
                    self.cut(if constant { CutKind::Constant } else { CutKind::Variable }, name, None);
                }
            }
            self.kept.locals.push(locals);
        }
        self.choose_channels();
    }

    fn choose_channels(&mut self) {
        let survey = self.survey;
        let program = survey.program();
        let watched = slice::channels_of_atoms(survey, self.atoms);
        let claims = survey.verified.layout().channel_types.iter().any(|ty| ty.claims.is_some());
        let shapes = program.processes.len() + program.channel_types.len();
        for (number, channel) in program.channels.iter().enumerate() {
            let ty = &program.channel_types[channel.ty.index()];
            let used = |user: ProcessId| self.there[user.index()];
            let is = number as i32 + 1;
            let unused = !survey.uses().iter().any(|(user, _, channels)| used(*user) && channels.may_be(is))
                && !watched.iter().any(|channels| channels.may_be(is));
            if unused && !claims && ty.capacity > 0 && shapes < SHAPES_MAX {
                self.kept.channels.insert(number);
                self.cut(CutKind::Channel, channel.name.clone(), None);
                continue;
            }
            for field in 0..ty.fields.len() as u8 {
                if !self.needed.contains(&Node::Field(number, field)) {
                    self.kept.fields.insert((number, field));
                    // A field of a rendezvous channel is not part of a state.
                    if ty.capacity > 0 {
                        self.cut(CutKind::Field, format!("{} of {}", field + 1, channel.name), None);
                    }
                }
            }
        }
        let made = program.channels.len();
        for field in (0..bytecode::MAX_FIELDS as u8).filter(|field| !self.needed.contains(&Node::Field(made, *field))) {
            self.kept.fields.insert((made, field));
        }
    }

    /// The replacement of each instruction.
    fn rewrite(&mut self) -> Rewritten {
        let survey = self.survey;
        let program = survey.program();
        let mut lists: Vec<Vec<Op>> = vec![Vec::new(); program.code.len()];
        let mut changes = 0;
        for (id, process) in types(program) {
            if !self.there[id.index()] {
                // A process of this type never moves.
                lists[process.start.index()] = vec![Op::Nex {}];
                changes += 1;
                continue;
            }
            let needs = self.needs;
            let code = &needs.types[id.index()];
            for at in program.code_of(id).map(Addr).filter(|at| code.reached.contains(at)) {
                lists[at.index()] = self.instruction(Some(id), code, at, &mut changes);
            }
            let steps = |at: &Addr| matches!(program.code[at.index()], Op::Step { .. });
            for at in program.code_of(id).map(Addr).filter(|at| !code.reached.contains(at)).filter(steps) {
                self.cut(CutKind::Code, String::new(), Some(at));
            }
        }
        for number in 0..program.atoms.len() {
            let Some(atom) = AtomId::new(number) else { continue };
            let (needs, start) = (self.needs, program.atoms[number].start);
            let code = &needs.atoms[number];
            if !self.atoms.contains(&atom) {
                lists[start.index()] = vec![Op::Ldc { value: 0 }, Op::Ret {}];
                continue;
            }
            for at in program.code_of_atom(atom).map(Addr).filter(|at| code.reached.contains(at)) {
                lists[at.index()] = self.instruction(None, code, at, &mut changes);
            }
        }
        Rewritten { lists, changes }
    }

    /// The replacement of one instruction.
    fn instruction(&mut self, id: Option<ProcessId>, code: &Code, at: Addr, changes: &mut usize) -> Vec<Op> {
        let survey = self.survey;
        let program = survey.program();
        let op = program.code[at.index()];
        let zero = Op::Ldc { value: 0 };
        let drops = |count: usize| std::iter::repeat_n(Op::Drop {}, count);
        let gone = |length: u32, values: usize| -> Vec<Op> {
            // An index outside the array is still a fault.
            let check = (!code.inside.contains(&at)).then_some(Op::Chk { length });
            check.into_iter().chain(drops(values)).collect()
        };
        let length = |variable: &Variable| variable.elements() as u32;
        let needed = self.needed.contains(&Node::Result(at));
        let mut cut_store = None;
        let list = match op {
            Op::Stg { var } | Op::Stgx { var } if self.kept.globals[var.index()].is_none() => {
                cut_store = Some(());
                if matches!(op, Op::Stg { .. }) { vec![Op::Drop {}] } else { gone(length(&program.globals[var.index()]), 2) }
            }
            Op::Stl { var } | Op::Stlx { var } => {
                let id = id.unwrap_or_default();
                if self.needed.contains(&Node::Local(id, var)) {
                    vec![op]
                } else {
                    cut_store = Some(());
                    let variable = &program.processes[id.index()].locals[var.index()];
                    if matches!(op, Op::Stl { .. }) { vec![Op::Drop {}] } else { gone(length(variable), 2) }
                }
            }
            Op::Assert {} if !self.assertions => {
                self.cut(CutKind::Assertion, String::new(), Some(at));
                vec![Op::Drop {}]
            }
            Op::Jmpz { target } | Op::Jmpnz { target } if code.decided.contains_key(&at) => {
                let jumps = (code.decided[&at] == 0) == matches!(op, Op::Jmpz { .. });
                if jumps { vec![Op::Drop {}, Op::Jmp { target }] } else { vec![Op::Drop {}] }
            }
            Op::Nexz {} if code.decided.contains_key(&at) => {
                if code.decided[&at] == 0 {
                    vec![Op::Drop {}, Op::Nex {}]
                } else {
                    vec![Op::Drop {}]
                }
            }
            _ if op.pushes() == 0 => vec![op],
            Op::Run { .. } | Op::Chnew { .. } if !needed => vec![op, Op::Drop {}, zero],
            Op::Ldgx { var } if !needed => gone(length(&program.globals[var.index()]), 1).into_iter().chain([zero]).collect(),
            Op::Ldlx { var } if !needed => {
                let variable = &program.processes[id.unwrap_or_default().index()].locals[var.index()];
                gone(length(variable), 1).into_iter().chain([zero]).collect()
            }
            Op::Ldrx { var } if !needed || !self.there[var.0.index()] => {
                let variable = &program.processes[var.0.index()].locals[var.1.index()];
                [Op::Chk { length: length(variable) }, Op::Drop {}, Op::Drop {}, zero].to_vec()
            }
            Op::Ldr { var } if !self.there[var.0.index()] => vec![Op::Drop {}, zero],
            Op::At { place } if !self.is_place(place) => vec![Op::Drop {}, zero],
            _ if !needed && code.sinking.contains(&at) => vec![op, Op::Drop {}, zero],
            _ if !needed => drops(op.pops()).chain([zero]).collect(),
            _ => match code.constants.get(&at) {
                Some(&value) => vec![Op::Ldc { value }],
                None => vec![op],
            },
        };
        if cut_store.is_some() && self.assigns(at) {
            self.cut(CutKind::Statement, String::new(), Some(at));
        }
        *changes += usize::from(list != [op]);
        list.into_iter().map(|op| self.renumbered(id, op)).collect()
    }

    /// Whether a storing instruction belongs to a statement that does nothing else.
    fn assigns(&self, at: Addr) -> bool {
        let Some(span) = self.program().span_at(at) else { return false };
        let start = span.addr.index();
        let quiet = |op: &Op| !matches!(op, Op::Recv { .. } | Op::Send { .. } | Op::Sends { .. } | Op::Run { .. } | Op::Chnew { .. });
        self.program().code[start..=at.index()].iter().all(quiet)
    }

    /// Whether an address is a control location of a process.
    fn is_place(&self, (id, at): (ProcessId, Addr)) -> bool {
        let landing = self.program().follow_jumps(at);
        self.there[id.index()] && landing.is_some_and(|at| self.needs.types[id.index()].reached.contains(&at))
    }

    /// An instruction with the new numbers of variables.
    fn renumbered(&self, id: Option<ProcessId>, op: Op) -> Op {
        let global = |var: GlobalId| self.kept.globals[var.index()].unwrap_or(var);
        let of = |id: ProcessId, var: LocalId| self.kept.locals[id.index()][var.index()].unwrap_or(var);
        let local = |var: LocalId| id.map_or(var, |id| of(id, var));
        match op {
            Op::Ldg { var } => Op::Ldg { var: global(var) },
            Op::Stg { var } => Op::Stg { var: global(var) },
            Op::Ldgx { var } => Op::Ldgx { var: global(var) },
            Op::Stgx { var } => Op::Stgx { var: global(var) },
            Op::Ldl { var } => Op::Ldl { var: local(var) },
            Op::Stl { var } => Op::Stl { var: local(var) },
            Op::Ldlx { var } => Op::Ldlx { var: local(var) },
            Op::Stlx { var } => Op::Stlx { var: local(var) },
            Op::Ldr { var: (id, var) } => Op::Ldr { var: (id, of(id, var)) },
            Op::Ldrx { var: (id, var) } => Op::Ldrx { var: (id, of(id, var)) },
            op => op,
        }
    }

    /// The program of the new code, and the addresses of its steps.
    fn assemble(&mut self, rewritten: Rewritten) -> (Program, BTreeMap<Addr, Addr>) {
        let mut program = self.program().clone();
        let (mut code, mut moved, mut steps) = (Vec::new(), Vec::new(), BTreeMap::new());
        let is_gone: Vec<bool> = rewritten.lists.iter().map(Vec::is_empty).collect();
        for (at, list) in rewritten.lists.into_iter().enumerate() {
            moved.push(Addr(code.len() as u32));
            if let Some(step) = list.iter().position(|op| matches!(op, Op::Step { .. })) {
                steps.insert(Addr(at as u32), Addr((code.len() + step) as u32));
            }
            code.extend(list);
        }
        moved.push(Addr(code.len() as u32));
        let to = |addr: Addr| moved[addr.index()];
        program.code = code.into_iter().map(|op: Op| op.readdressed(to)).collect();
        let spans = std::mem::take(&mut program.spans);
        for (number, span) in spans.iter().enumerate() {
            let end = spans[number..].iter().map(|span| span.addr).find(|addr| *addr > span.addr).map_or(is_gone.len(), Addr::index);
            if is_gone[span.addr.index()..end].contains(&false) {
                program.spans.push(bytecode::Span { addr: to(span.addr), ..span.clone() });
            }
        }
        program.labels.retain(|label| !is_gone[label.addr.index()]);
        program.labels.iter_mut().for_each(|label| label.addr = to(label.addr));
        program.atoms.iter_mut().for_each(|atom| atom.start = to(atom.start));
        for (number, process) in program.processes.iter_mut().enumerate() {
            let there = self.there[number];
            process.start = to(process.start);
            process.entry = if there { to(process.entry) } else { process.start };
            process.prologue = process.prologue.filter(|_| there).map(to);
            let locals = std::mem::take(&mut process.locals).into_iter().zip(&self.kept.locals[number]);
            process.locals = locals.filter_map(|(local, left)| left.map(|_| local)).collect();
            // Parameters that are not needed are always 0.
            let cleared = |(of, _): &&(ProcessId, LocalId)| of.index() == number;
            for (_, local) in self.kept.cleared.iter().filter(cleared) {
                let Some(left) = self.kept.locals[number][local.index()] else { continue };
                let variable = &mut process.locals[left.index()];
                *variable = Variable { init: Vec::new(), scratch: false, ..variable.clone() };
            }
        }
        // Locations of types that are removed have no labels.
        let still: Vec<Addr> =
            program.processes.iter().zip(&self.there).filter_map(|(process, there)| (!there).then_some(process.start)).collect();
        program.labels.retain(|label| still.binary_search(&label.addr).is_err());
        let globals = std::mem::take(&mut program.globals).into_iter().zip(&self.kept.globals);
        program.globals = globals.filter_map(|(global, left)| left.map(|_| global)).collect();
        if !self.kept.channels.is_empty() {
            let ty = ChannelTypeId(program.channel_types.len() as u8);
            let mut name = "unused".to_owned();
            while program.channel_types.iter().any(|ty| ty.name == name) {
                name.push('_');
            }
            let fields = vec![MessageField { ty: Type::Bit, shown: Shown::Number }];
            program.channel_types.push(ChannelType { name, capacity: 0, fields });
            self.kept.channels.iter().for_each(|&channel| program.channels[channel].ty = ty);
        }
        self.kept.moved = moved;
        (program, steps)
    }
}
