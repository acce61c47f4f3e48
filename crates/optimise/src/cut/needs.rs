//! Finds out which values of a program are needed.
//!
//! A value is needed if something observable depends on it: the branch that a process takes,
//! whether a step is possible, a fault, an atom of the property. Any other value (a variable, a
//! field of a message, the result of an instruction) is needed if a needed value is computed from
//! it. A variable that is only copied, incremented or printed is not needed, however often it is
//! read. (Such variables are called faint: Giegerich, Möncke, Wilhelm, "Invariance of approximative
//! semantics with respect to program transformations", 1981.)
//!
//! The code is executed abstractly, once for each process type and atom. Each entry of the abstract
//! stack has its sources, the instructions that may have put the value there. No instruction copies
//! a value on the stack, so each value has one consumer.

use crate::scan::Value;
use crate::survey::{Channels, Survey, types};
use bytecode::{Addr, AtomId, GlobalId, LocalId, Op, ProcessId, Program};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The largest number of abstract steps: for each instruction of the program, and in addition.
const WALKED_PER_INSTRUCTION: usize = 32;
const WALKED_MORE: usize = 1 << 12;

/// Something that has a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Node {
    /// The value that an instruction puts on the stack.
    Result(Addr),
    /// The value that a receive puts in a register.
    Received(Addr, u8),
    /// A global, all elements together.
    Global(GlobalId),
    /// A local of a type, all elements and instances together.
    Local(ProcessId, LocalId),
    /// A field of the messages in a channel. All channels that are made at run time are one channel
    /// here, with the number after the last static one.
    Field(usize, u8),
}

/// The facts known about a value on the stack or in a register.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Held {
    makers: BTreeSet<Node>,
    value: Value,
}

impl Held {
    fn join(&mut self, other: &Held) -> bool {
        let before = self.makers.len();
        self.makers.extend(&other.makers);
        let value = if self.value == other.value { self.value } else { Value::Any };
        let changed = self.makers.len() != before || self.value != value;
        self.value = value;
        changed
    }
}

/// The stack and the registers before an instruction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Before {
    stack: Vec<Held>,
    registers: BTreeMap<u8, Held>,
}

impl Before {
    fn join(&mut self, other: &Before) -> bool {
        let mut changed = false;
        for (mine, others) in self.stack.iter_mut().zip(&other.stack) {
            changed |= mine.join(others);
        }
        // A register that is not written on every path is not read afterwards.
        self.registers.retain(|register, _| {
            let kept = other.registers.contains_key(register);
            changed |= !kept;
            kept
        });
        for (register, held) in &mut self.registers {
            changed |= other.registers.get(register).is_some_and(|others| held.join(others));
        }
        changed
    }
}

/// A value that something depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sink {
    /// A branch that is taken, a step that is possible or not, a fault.
    Behaviour,
    /// An assertion, which is a fault that does not end the path.
    Assertion,
}

/// The data flow in the code of a process type or of an atom, and the values that are needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    /// For each value, the values it is computed from.
    pub edges: Vec<(Node, Node)>,
    pub sinks: Vec<(Sink, Node)>,
    /// Values that are stored in parameters of new processes and in messages: either all values for
    /// one target are needed, or none.
    pub stored: Vec<(Node, Node)>,
    /// Which instructions can be reached, as far as constants show.
    pub reached: BTreeSet<Addr>,
    /// Conditions that are constant, with their value.
    pub decided: BTreeMap<Addr, i32>,
    /// Instructions that can commit a fault.
    pub faults: bool,
    /// Indices that are constants inside their arrays.
    pub inside: BTreeSet<Addr>,
    /// Instructions whose operands decide more than the result.
    pub sinking: BTreeSet<Addr>,
    /// Loads of variables that never change, with the value.
    pub constants: BTreeMap<Addr, i32>,
}

/// The data flow of each type and each atom.
pub(crate) struct Needs {
    pub types: Vec<Code>,
    pub atoms: Vec<Code>,
}

impl Needs {
    /// Nothing if the analysis takes too long.
    pub fn of(survey: &Survey<'_>) -> Option<Needs> {
        let program = survey.program();
        let mut budget = program.code.len().saturating_mul(WALKED_PER_INSTRUCTION) + WALKED_MORE;
        let (mut of_types, mut atoms) = (Vec::new(), Vec::new());
        for (id, process) in types(program) {
            let starts = std::iter::once(process.entry).chain(process.prologue).collect();
            let walk = Walk { survey, id: Some(id), before: HashMap::new(), reached: BTreeSet::new() };
            of_types.push(walk.code(starts, &mut budget)?);
        }
        for atom in &program.atoms {
            let walk = Walk { survey, id: None, before: HashMap::new(), reached: BTreeSet::new() };
            atoms.push(walk.code(vec![atom.start], &mut budget)?);
        }
        Some(Needs { types: of_types, atoms })
    }

    /// The values that are needed if these types are kept and these atoms are evaluated, including
    /// all values they are computed from.
    pub fn closure(&self, kept: &[bool], atoms: &[AtomId], assertions: bool) -> BTreeSet<Node> {
        let there = || {
            let kept = self.types.iter().zip(kept).filter_map(|(code, kept)| kept.then_some(code));
            kept.chain(atoms.iter().filter_map(|atom| self.atoms.get(atom.index())))
        };
        let mut from: HashMap<Node, Vec<Node>> = HashMap::new();
        for (node, needed) in there().flat_map(|code| &code.edges) {
            from.entry(*node).or_default().push(*needed);
        }
        let mut needed = BTreeSet::new();
        let wanted = |sink: Sink| assertions || sink == Sink::Behaviour;
        let mut open: Vec<Node> = there().flat_map(|code| &code.sinks).filter(|(sink, _)| wanted(*sink)).map(|(_, node)| *node).collect();
        loop {
            while let Some(node) = open.pop() {
                if needed.insert(node) {
                    open.extend(from.get(&node).into_iter().flatten());
                }
            }
            // A target and the values stored in it are needed together or not at all.
            let half = |(target, value): &&(Node, Node)| needed.contains(value) && !needed.contains(target);
            open.extend(there().flat_map(|code| &code.stored).filter(half).map(|(target, _)| *target));
            if open.is_empty() {
                return needed;
            }
        }
    }
}

struct Walk<'s, 'p> {
    survey: &'s Survey<'p>,
    /// The type whose code it is; nothing for an atom.
    id: Option<ProcessId>,
    before: HashMap<Addr, Before>,
    reached: BTreeSet<Addr>,
}

impl Walk<'_, '_> {
    fn program(&self) -> &Program {
        self.survey.program()
    }

    fn code(mut self, starts: Vec<Addr>, budget: &mut usize) -> Option<Code> {
        let mut open = Vec::new();
        for start in starts {
            self.enter(start, &Before::default(), &mut open);
        }
        while let Some(at) = open.pop() {
            *budget = budget.checked_sub(1)?;
            let mut scratch = Code::default();
            let (before, next) = self.execute(at, &mut scratch)?;
            for to in next {
                self.enter(to, &before, &mut open);
            }
        }
        let mut code = Code::default();
        for at in self.reached.clone() {
            self.execute(at, &mut code)?;
        }
        // The control location is the one after the jumps that follow a step.
        let program = self.survey.program();
        let mut jumps = Vec::new();
        for step in self.reached.iter().filter(|at| matches!(program.code[at.index()], Op::Step { .. })) {
            let mut at = step.next();
            while let Some(Op::Jmp { target }) = program.code.get(at.index()).filter(|_| !self.reached.contains(&at)) {
                jumps.push(at);
                at = *target;
                if jumps.len() > program.code.len() {
                    return None;
                }
            }
        }
        code.reached = self.reached;
        code.reached.extend(jumps);
        Some(code)
    }

    fn enter(&mut self, at: Addr, with: &Before, open: &mut Vec<Addr>) {
        let first = self.reached.insert(at);
        match self.before.get_mut(&at) {
            Some(before) => {
                if before.join(with) || first {
                    open.push(at);
                }
            }
            None => {
                self.before.insert(at, with.clone());
                open.push(at);
            }
        }
    }

    /// The channels that a value names, by their numbers among the nodes.
    fn channels(&self, value: Value) -> Vec<usize> {
        let count = self.program().channels.len();
        let known = match (self.id, value) {
            (Some(id), value) => self.survey.channels(id, value),
            // In an atom there are no locals.
            (None, Value::Local(_)) => Channels::Any,
            (None, value) => self.survey.channels(ProcessId(0), value),
        };
        match known {
            Channels::Known(set) => set.into_iter().filter(|&k| k >= 1).map(|k| (k as usize - 1).min(count)).collect(),
            Channels::Any => (0..=count).collect(),
        }
    }

    /// Executes one instruction abstractly. Returns the stack and registers after it, and the
    /// addresses at which the path continues.
    fn execute(&self, at: Addr, code: &mut Code) -> Option<(Before, Vec<Addr>)> {
        let program = self.program();
        let op = *program.code.get(at.index())?;
        let mut after = self.before.get(&at)?.clone();
        if let Op::Ret {} = op {
            if self.id.is_none() {
                let value = after.stack.pop()?;
                code.sinks.extend(value.makers.iter().map(|node| (Sink::Behaviour, *node)));
            }
            return Some((after, Vec::new()));
        }
        let popped = after.stack.split_off(after.stack.len().checked_sub(op.pops())?);
        let result = Node::Result(at);
        let mut value = Value::Any;
        let (mut sinks, mut flows): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut needs: Vec<Node> = Vec::new();
        let mut decided = None;
        let inside = |held: &Held, length: usize| matches!(held.value, Value::Const(k) if k >= 0 && (k as usize) < length);
        let local = |var: LocalId| self.id.map(|id| (id, &program.processes[id.index()].locals[var.index()]));
        match op {
            Op::Ldc { value: constant } => value = Value::Const(constant),
            Op::Ldg { var } => match self.survey.constant(var) {
                Some(constant) => {
                    value = Value::Const(constant);
                    code.constants.insert(at, constant);
                }
                None => {
                    needs.push(Node::Global(var));
                    value = Value::Global(var);
                }
            },
            Op::Ldgx { var } => {
                needs.push(Node::Global(var));
                value = Value::Global(var);
                if inside(&popped[0], program.globals[var.index()].elements()) {
                    code.inside.insert(at);
                    flows.push(0);
                } else {
                    (sinks, code.faults) = (vec![0], true);
                }
            }
            Op::Ldl { var } => {
                let (id, _) = local(var)?;
                match self.survey.local_constant(id, var) {
                    Some(constant) => {
                        value = Value::Const(constant);
                        code.constants.insert(at, constant);
                    }
                    None => {
                        needs.push(Node::Local(id, var));
                        value = Value::Local(var);
                    }
                }
            }
            Op::Ldlx { var } => {
                let (id, variable) = local(var)?;
                needs.push(Node::Local(id, var));
                if inside(&popped[0], variable.elements()) {
                    code.inside.insert(at);
                    flows.push(0);
                } else {
                    (sinks, code.faults) = (vec![0], true);
                }
            }
            Op::Stg { .. } | Op::Stl { .. } | Op::Stgx { .. } | Op::Stlx { .. } => {
                let (node, length) = match op {
                    Op::Stg { var } | Op::Stgx { var } => (Node::Global(var), program.globals[var.index()].elements()),
                    Op::Stl { var } | Op::Stlx { var } => {
                        let (id, variable) = local(var)?;
                        (Node::Local(id, var), variable.elements())
                    }
                    _ => return None,
                };
                code.edges.extend(popped[0].makers.iter().map(|maker| (node, *maker)));
                if let Some(index) = popped.get(1) {
                    if inside(index, length) {
                        code.inside.insert(at);
                        code.edges.extend(index.makers.iter().map(|maker| (node, *maker)));
                    } else {
                        (sinks, code.faults) = (vec![1], true);
                    }
                }
            }
            Op::Ldr { var } => {
                needs.push(Node::Local(var.0, var.1));
                flows.push(0);
            }
            Op::Ldrx { var } => {
                needs.push(Node::Local(var.0, var.1));
                flows.push(0);
                (sinks, code.faults) = (vec![1], true);
            }
            Op::Chk { .. } | Op::Range { .. } => {
                value = popped[0].value;
                flows.push(0);
                (sinks, code.faults) = (vec![0], true);
            }
            Op::Pop { reg } => _ = after.registers.insert(reg.0, popped[0].clone()),
            Op::Push { reg } => {
                let held = after.registers.get(&reg.0)?;
                needs.extend(&held.makers);
                value = held.value;
            }
            Op::Div {} | Op::Mod {} => {
                flows.push(0);
                match popped[1].value {
                    Value::Const(divisor) if divisor != 0 => flows.push(1),
                    _ => (sinks, code.faults) = (vec![1], true),
                }
            }
            Op::Addv {} | Op::Subv {} | Op::Mulv {} => {
                flows.extend([0, 1]);
                (sinks, code.faults) = (vec![0, 1], true);
            }
            Op::Lnot {} => {
                flows.push(0);
                if let Value::Const(constant) = popped[0].value {
                    value = Value::Const(i32::from(constant == 0));
                }
            }
            Op::Eq {} | Op::Ne {} | Op::Lt {} | Op::Le {} | Op::Gt {} | Op::Ge {} => {
                flows.extend([0, 1]);
                if let (Value::Const(a), Value::Const(b)) = (popped[0].value, popped[1].value) {
                    let holds = match op {
                        Op::Eq {} => a == b,
                        Op::Ne {} => a != b,
                        Op::Lt {} => a < b,
                        Op::Le {} => a <= b,
                        Op::Gt {} => a > b,
                        _ => a >= b,
                    };
                    value = Value::Const(i32::from(holds));
                }
            }
            Op::Jmpz { .. } | Op::Jmpnz { .. } | Op::Nexz {} => {
                sinks.push(0);
                if let Value::Const(constant) = popped[0].value {
                    decided = Some(constant);
                    code.decided.insert(at, constant);
                }
            }
            Op::Assert {} => {
                code.sinks.extend(popped[0].makers.iter().map(|node| (Sink::Assertion, *node)));
                code.faults = true;
            }
            Op::Run { process, .. } => {
                for (number, held) in popped.iter().enumerate() {
                    let node = Node::Local(process, LocalId::new(number)?);
                    code.edges.extend(held.makers.iter().map(|maker| (node, *maker)));
                    code.stored.extend(held.makers.iter().map(|maker| (node, *maker)));
                }
                code.faults = true;
            }
            Op::Chnew { .. } => code.faults = true,
            Op::Setprio {} => (sinks, code.faults) = (vec![0, 1], true),
            Op::Xr {} | Op::Xs {} => (sinks, code.faults) = (vec![0], true),
            Op::Len {} | Op::Empty {} | Op::Full {} => {
                flows.push(0);
                if !self.names_channel(popped[0].value, None) {
                    (sinks, code.faults) = (vec![0], true);
                }
            }
            Op::Send { fields } | Op::Sends { fields } => {
                sinks.push(0);
                code.faults |= !self.names_channel(popped[0].value, Some(fields as usize));
                let sorted = matches!(op, Op::Sends { .. });
                for channel in self.channels(popped[0].value) {
                    for (number, held) in popped[1..].iter().enumerate() {
                        let node = Node::Field(channel, number as u8);
                        code.edges.extend(held.makers.iter().map(|maker| (node, *maker)));
                        code.stored.extend(held.makers.iter().map(|maker| (node, *maker)));
                        if sorted {
                            code.sinks.push((Sink::Behaviour, node));
                        }
                    }
                }
            }
            Op::Recv { fields, mask, .. } | Op::Poll { fields, mask, .. } => {
                sinks.push(0);
                code.faults |= !self.names_channel(popped[0].value, Some(fields as usize));
                let receives = matches!(op, Op::Recv { .. });
                let channels = self.channels(popped[0].value);
                for number in (0..fields as u8).filter(|number| mask.contains(usize::from(*number))) {
                    for channel in &channels {
                        let field = Node::Field(*channel, number);
                        if receives { code.sinks.push((Sink::Behaviour, field)) } else { needs.push(field) }
                    }
                }
                let values = 1..popped.len();
                if receives {
                    sinks.extend(values)
                } else {
                    flows.extend(values)
                }
                for number in (0..fields as u8).filter(|_| receives) {
                    let received = Node::Received(at, number);
                    code.edges.extend(channels.iter().map(|channel| (received, Node::Field(*channel, number))));
                    let held = Held { makers: BTreeSet::from([received]), value: Value::Any };
                    after.registers.insert(number, held);
                }
            }
            Op::Step { mode } => {
                code.faults |= matches!(mode, bytecode::Mode::Deterministic | bytecode::Mode::Invisible);
                let location = self.survey.verified.locations().after_step(at);
                let next = location.zip(self.id).and_then(|(location, id)| self.survey.verified.locations().address(id, location));
                return Some((Before::default(), next.filter(|_| mode != bytecode::Mode::Terminate).into_iter().collect()));
            }
            Op::Print { .. } | Op::Drop {} => {}
            _ => flows.extend(0..popped.len()),
        }
        code.sinks.extend(sinks.iter().flat_map(|&slot| &popped[slot].makers).map(|node| (Sink::Behaviour, *node)));
        if !sinks.is_empty() {
            code.sinking.insert(at);
        }
        if op.pushes() > 0 {
            code.edges.extend(needs.iter().map(|node| (result, *node)));
            code.edges.extend(flows.iter().flat_map(|&slot| &popped[slot].makers).map(|node| (result, *node)));
            after.stack.push(Held { makers: BTreeSet::from([result]), value });
        }
        let next = match (op, decided) {
            (Op::Jmpz { target }, Some(constant)) => vec![if constant == 0 { target } else { at.next() }],
            (Op::Jmpnz { target }, Some(constant)) => vec![if constant != 0 { target } else { at.next() }],
            (Op::Nexz {}, Some(0)) | (Op::Nex {}, _) => Vec::new(),
            (Op::Call { .. }, _) => return None,
            _ => op.target().into_iter().chain((!op.ends_path()).then(|| at.next())).collect(),
        };
        Some((after, next))
    }

    /// Whether a value is known to name a channel that exists from the start, with so many fields.
    /// In a program with claims (`xr`, `xs`), any use of a channel can be a fault.
    fn names_channel(&self, value: Value, fields: Option<usize>) -> bool {
        let program = self.program();
        let known = match (self.id, value) {
            (Some(id), value) => self.survey.channels(id, value),
            (None, Value::Const(_) | Value::Global(_)) => self.survey.channels(ProcessId(0), value),
            (None, _) => Channels::Any,
        };
        let Channels::Known(set) = known else { return false };
        let fits = |k: &i32| {
            let channel = usize::try_from(*k).ok().and_then(|k| program.channels.get(k.checked_sub(1)?));
            channel.is_some_and(|channel| fields.is_none_or(|fields| program.channel_types[channel.ty.index()].fields.len() == fields))
        };
        self.survey.verified.layout().channel_types.iter().all(|ty| ty.claims.is_none()) && set.iter().all(fits)
    }
}
