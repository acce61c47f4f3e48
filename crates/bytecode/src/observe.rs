//! Combines a program with an automaton over channel events.
//!
//! A transition may send and receive several messages, and which ones is known only while it is
//! executed. So the automaton is inserted into the code: its state becomes one more global
//! variable, and each send and receive is followed by code that moves the automaton and asserts its
//! conditions. Every engine, store, search order and reduction then works as for any other program.
//! Processes, locations and choices do not change, so a run of the new program corresponds, action
//! by action, to a run of the old one.
//!
//! The inserted code has no jumps: it computes for each edge whether it matches, as a number, and
//! adds these numbers. So it does not multiply the paths through a location. If the channel is a
//! constant, as it nearly always is, edges of other channels are left out.

use crate::ids::{Addr, AtomId, GlobalId, ProcessId, Register};
use crate::ops::{Op, REGISTERS};
use crate::program::{Program, Type, Variable};
use crate::property::{Automaton, EdgeLabel};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A program and the automaton that it follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The program. It has no assertions except the inserted ones, no claims on channels, no atoms
    /// and no properties.
    pub program: Program,
    /// The variable that holds the automaton's state.
    pub variable: GlobalId,
    /// For each value of the variable, whether the automaton may stay there for ever.
    pub rests: Vec<bool>,
    /// The meaning of the failure of an inserted assertion, by its address.
    pub meanings: BTreeMap<Addr, Event>,
}

/// The meaning of a channel event for the automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// No edge matches the event.
    Unmatched,
    /// The event was the last one that the automaton describes.
    Last,
    /// More than one edge matches the event.
    Ambiguous,
}

/// Why an automaton cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotObserved {
    /// It refers to states, or orders its edges by rank.
    Conditions,
    /// An expression in it has branches.
    Branches,
    /// A channel may be one of several whose fields have different types.
    Types,
    /// It has too many states or variables.
    TooLarge,
}

impl fmt::Display for NotObserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotObserved::Conditions => "only sends, receives and the flow of control can be followed in it",
            NotObserved::Branches => "an expression in it has branches",
            NotObserved::Types => "a channel variable in it may name channels whose fields have different types",
            NotObserved::TooLarge => "it is too large",
        })
    }
}

impl std::error::Error for NotObserved {}

/// Inserts an automaton over channel events into a program. For a `trace`, all events on the
/// channels that it names must match; for a `notrace` (`forbidden`), its last event must not occur.
pub fn observe(program: &Program, automaton: &Automaton, forbidden: bool) -> Result<Observed, NotObserved> {
    let rules = Rules::new(program, automaton, forbidden)?;
    let mut observed = program.clone();
    let end = program.atoms_start().index();
    let ty = if rules.states + 2 <= 256 { Type::Byte } else { Type::Unsigned(16) };
    let variable = GlobalId::new(observed.globals.len()).ok_or(NotObserved::TooLarge)?;
    let name = unused_name(program, "_event");
    observed.globals.push(Variable { init: vec![rules.initial as i32], ..Variable::scalar(name, ty) });
    observed.atoms.clear();
    observed.properties.clear();

    let mut weaver =
        Weaver { program, rules: &rules, variable, forbidden, spare: 0, places: Vec::new(), out: Vec::new(), meanings: BTreeMap::new() };
    let entered = entered(program);
    let mut moved = Vec::with_capacity(end + 1);
    for process in (0..program.processes.len()).filter_map(ProcessId::new) {
        let code = program.code_of(process);
        weaver.use_registers(&program.code[code.start as usize..code.end as usize]);
        for index in code.start as usize..code.end as usize {
            moved.push(Addr(weaver.out.len() as u32));
            let op = program.code[index];
            let event = match op {
                Op::Send { fields } | Op::Sends { fields } => Some((true, fields as usize, fields as usize)),
                Op::Recv { fields, mask, how } if how.takes() => Some((false, fields as usize, mask.len())),
                _ => None,
            };
            match event {
                Some((sent, fields, above)) => {
                    let channel = value_below(program, &entered, index, above).and_then(|at| rules.constant(&program.code[at]));
                    weaver.event(op, sent, fields, above, channel)?;
                }
                None => weaver.out.push(match op {
                    Op::Assert {} | Op::Xr {} | Op::Xs {} => Op::Drop {},
                    op => op,
                }),
            }
        }
    }
    moved.push(Addr(weaver.out.len() as u32));
    let Weaver { out, spare, meanings, .. } = weaver;
    for number in 0..spare {
        let name = unused_name(program, &format!("_event_{number}"));
        observed.globals.push(Variable { scratch: true, ..Variable::scalar(name, Type::Int) });
    }
    if out.len() >= crate::Fault::MAX_ADDR as usize {
        return Err(NotObserved::TooLarge);
    }
    let place = |addr: Addr| moved.get(addr.index()).copied().unwrap_or(addr);
    observed.code = out;
    observed.labels.retain(|label| label.addr.index() < end);
    observed.spans.retain(|span| span.addr.index() < end);
    observed.readdress(place);
    Ok(Observed { program: observed, variable, rests: rules.rests, meanings })
}

fn unused_name(program: &Program, name: &str) -> String {
    let mut name = name.to_owned();
    while program.global_named(&name).is_some() {
        name.push('_');
    }
    name
}

/// The addresses that can be reached other than from the instruction before.
fn entered(program: &Program) -> BTreeSet<u32> {
    let jumps = program.code.iter().filter_map(Op::target).map(|target| target.0);
    let entries = program.processes.iter().flat_map(|process| [Some(process.entry), process.prologue]);
    jumps.chain(entries.flatten().map(|entry| entry.0)).collect()
}

/// The instruction that pushed the value below the `above` topmost ones when instruction number
/// `index` is executed, if the instructions directly before it show this.
fn value_below(program: &Program, entered: &BTreeSet<u32>, index: usize, above: usize) -> Option<usize> {
    let (mut at, mut above) = (index, above);
    loop {
        if entered.contains(&(at as u32)) {
            return None;
        }
        at = at.checked_sub(1)?;
        let op = &program.code[at];
        if op.target().is_some() || op.ends_path() || matches!(op, Op::Step { .. }) {
            return None;
        }
        if above < op.pushes() {
            return Some(at);
        }
        above = above - op.pushes() + op.pops();
    }
}

/// An edge of the automaton for an event.
struct Rule {
    source: usize,
    target: usize,
    /// Whether it matches messages that are sent; otherwise it matches messages that are received.
    sent: bool,
    channel: Expression,
    /// The expression that each field must equal, and the type with which the message is stored.
    fields: Vec<Option<(Expression, Type)>>,
}

/// Code without jumps that pushes one value.
struct Expression {
    code: Vec<Op>,
    /// Its value, if it is constant.
    constant: Option<i32>,
}

struct Rules {
    /// The number of states of the automaton. Two more values follow: one for its end, and one for
    /// having left a forbidden sequence.
    states: usize,
    initial: usize,
    rules: Vec<Rule>,
    /// The target of `else` for each state that has one.
    otherwise: BTreeMap<usize, usize>,
    rests: Vec<bool>,
    /// The values of variables that never change.
    constants: BTreeMap<GlobalId, i32>,
}

impl Rules {
    fn new(program: &Program, automaton: &Automaton, forbidden: bool) -> Result<Rules, NotObserved> {
        let states = automaton.states.len();
        if states + 2 > usize::from(u16::MAX) {
            return Err(NotObserved::TooLarge);
        }
        let mut constants = BTreeMap::new();
        for (number, global) in program.globals.iter().enumerate().filter(|(_, global)| global.length.is_none() && !global.scratch) {
            constants.extend(GlobalId::new(number).map(|id| (id, global.ty.truncate(global.initial(0)))));
        }
        for op in &program.code {
            if let Op::Stg { var } | Op::Stgx { var } = op {
                constants.remove(var);
            }
        }
        let mut rules = Rules { states, initial: 0, rules: Vec::new(), otherwise: BTreeMap::new(), rests: Vec::new(), constants };
        let closures: Vec<BTreeSet<usize>> = (0..=states).map(|state| closure(automaton, state)).collect();
        // A forbidden sequence is complete if it can end without another event.
        let target = |target: usize| if forbidden && closures[target].contains(&states) { states } else { target };
        for (state, closure) in closures.iter().enumerate() {
            let rests = closure.iter().any(|&at| automaton.states.get(at).is_none_or(|state| state.kind.end));
            rules.rests.push(rests);
            for edge in automaton.edges.iter().filter(|edge| closure.contains(&(edge.source as usize))) {
                let to = target(edge.target.map_or(states, |target| target as usize));
                if edge.rank != 0 {
                    return Err(NotObserved::Conditions);
                }
                let (event, sent) = match &edge.label {
                    EdgeLabel::True => continue,
                    EdgeLabel::Else => {
                        rules.otherwise.entry(state).or_insert(to);
                        continue;
                    }
                    EdgeLabel::When(_) | EdgeLabel::Assert(_) => return Err(NotObserved::Conditions),
                    EdgeLabel::Send(event) => (event, true),
                    EdgeLabel::Receive(event) => (event, false),
                };
                let channel = rules.expression(program, event.channel)?;
                let mut fields = Vec::with_capacity(event.fields.len());
                for (number, field) in event.fields.iter().enumerate() {
                    fields.push(match field {
                        None => None,
                        // A received message has the values that were stored.
                        Some(atom) if !sent => Some((rules.expression(program, *atom)?, Type::Int)),
                        Some(atom) => {
                            let ty = stored(program, channel.constant, event.fields.len(), number).ok_or(NotObserved::Types)?;
                            Some((rules.expression(program, *atom)?, ty))
                        }
                    });
                }
                rules.rules.push(Rule { source: state, target: to, sent, channel, fields });
            }
        }
        // Outside a forbidden sequence, any run may end.
        rules.rests.push(true);
        Ok(rules)
    }

    /// The value of an instruction that always pushes the same value.
    fn constant(&self, op: &Op) -> Option<i32> {
        match op {
            Op::Ldc { value } => Some(*value),
            Op::Ldg { var } => self.constants.get(var).copied(),
            _ => None,
        }
    }

    fn expression(&self, program: &Program, atom: AtomId) -> Result<Expression, NotObserved> {
        let code = program.code_of_atom(atom);
        let code: Vec<Op> = program.code[code.start as usize..code.end as usize].to_vec();
        let Some((Op::Ret {}, code)) = code.split_last() else { return Err(NotObserved::Branches) };
        if code.iter().any(|op| op.target().is_some() || op.ends_path() || matches!(op, Op::Push { .. } | Op::Pop { .. })) {
            return Err(NotObserved::Branches);
        }
        let constant = if let [op] = code { self.constant(op) } else { None };
        Ok(Expression { code: code.to_vec(), constant })
    }

    /// The rules that can apply to messages with this many fields, sent or received on this
    /// channel.
    fn applicable(&self, sent: bool, fields: usize, channel: Option<i32>) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| rule.sent == sent && rule.fields.len() <= fields && rule.channel.may_be(channel))
    }
}

impl Expression {
    /// Whether the expression can have this value.
    fn may_be(&self, value: Option<i32>) -> bool {
        self.constant.is_none() || value.is_none() || self.constant == value
    }

    /// Whether the expression always has this value.
    fn is(&self, value: Option<i32>) -> bool {
        self.constant.is_some() && self.constant == value
    }
}

/// The states that an automaton can reach without another event. Its end counts as one more state.
fn closure(automaton: &Automaton, state: usize) -> BTreeSet<usize> {
    let (mut closure, mut waiting) = (BTreeSet::from([state]), vec![state]);
    while let Some(at) = waiting.pop() {
        for edge in automaton.edges.iter().filter(|edge| edge.source as usize == at && edge.label == EdgeLabel::True) {
            let target = edge.target.map_or(automaton.states.len(), |target| target as usize);
            if closure.insert(target) {
                waiting.push(target);
            }
        }
    }
    closure
}

/// The type of a field of messages with this many fields on a channel, if all possible channels
/// agree.
fn stored(program: &Program, channel: Option<i32>, fields: usize, field: usize) -> Option<Type> {
    let first = |number: i32| program.channels.get(usize::try_from(number).ok()?.checked_sub(1)?);
    if let Some(channel) = channel.and_then(first) {
        let types = &program.channel_types.get(channel.ty.index())?.fields;
        // A message with another number of fields is never sent there.
        return Some(types.get(field).map_or(Type::Int, |field| field.ty));
    }
    let mut types = program.channel_types.iter().filter(|ty| ty.fields.len() == fields).map(|ty| ty.fields[field].ty);
    let ty = types.next().unwrap_or(Type::Int);
    types.all(|other| other == ty).then_some(ty)
}

/// A place that holds a value for a few instructions.
#[derive(Clone, Copy)]
enum Place {
    Register(Register),
    /// A variable that has the same value after every transition, by its number.
    Spare(GlobalId),
}

struct Weaver<'a> {
    program: &'a Program,
    rules: &'a Rules,
    variable: GlobalId,
    forbidden: bool,
    /// The number of spare variables that are needed.
    spare: usize,
    /// The registers that the current process type does not use.
    places: Vec<Register>,
    out: Vec<Op>,
    meanings: BTreeMap<Addr, Event>,
}

/// The places that the computation needs in addition to the channel and the fields.
const MATCHES: usize = 0;
const TARGET: usize = 1;
const MATCH: usize = 2;
const WATCHED: usize = 3;
const CHANNEL: usize = 4;
const FIELDS: usize = 5;

impl Weaver<'_> {
    fn use_registers(&mut self, code: &[Op]) {
        let mut used = [false; REGISTERS];
        for op in code {
            match *op {
                Op::Push { reg } | Op::Pop { reg } => used[reg.index() % REGISTERS] = true,
                Op::Recv { fields, .. } => used[..(fields as usize).min(REGISTERS)].fill(true),
                _ => {}
            }
        }
        self.places = (0..REGISTERS).filter(|&register| !used[register]).filter_map(Register::new).collect();
    }

    fn place(&mut self, number: usize) -> Result<Place, NotObserved> {
        if let Some(&register) = self.places.get(number) {
            return Ok(Place::Register(register));
        }
        let spare = number - self.places.len();
        self.spare = self.spare.max(spare + 1);
        GlobalId::new(self.program.globals.len() + 1 + spare).map(Place::Spare).ok_or(NotObserved::TooLarge)
    }

    fn load(&mut self, number: usize) -> Result<(), NotObserved> {
        let op = match self.place(number)? {
            Place::Register(reg) => Op::Push { reg },
            Place::Spare(var) => Op::Ldg { var },
        };
        self.out.push(op);
        Ok(())
    }

    fn store(&mut self, number: usize) -> Result<(), NotObserved> {
        let op = match self.place(number)? {
            Place::Register(reg) => Op::Pop { reg },
            Place::Spare(var) => Op::Stg { var },
        };
        self.out.push(op);
        Ok(())
    }

    fn constant(&mut self, value: usize) {
        self.out.push(Op::Ldc { value: value as i32 });
    }

    /// Writes an operation on a channel, followed by the code for the automaton. `above` values lie
    /// above the channel's number, which is `channel` if it is known.
    fn event(&mut self, op: Op, sent: bool, fields: usize, above: usize, channel: Option<i32>) -> Result<(), NotObserved> {
        let rules = self.rules;
        let watched: Vec<&Expression> = rules.rules.iter().filter(|rule| rule.sent == sent).map(|rule| &rule.channel).collect();
        if !watched.iter().any(|expression| expression.may_be(channel)) {
            self.out.push(op);
            return Ok(());
        }
        let certain = watched.iter().any(|expression| expression.is(channel));
        let applicable: Vec<&Rule> = rules.applicable(sent, fields, channel).collect();
        let asks_channel = !certain || applicable.iter().any(|rule| !rule.channel.is(channel));
        let asks_fields = sent && applicable.iter().any(|rule| rule.fields.iter().any(Option::is_some));
        if asks_channel || asks_fields {
            for number in (0..above).rev() {
                self.store(FIELDS + number)?;
            }
            self.store(CHANNEL)?;
            self.load(CHANNEL)?;
            for number in 0..above {
                self.load(FIELDS + number)?;
            }
        }
        self.out.push(op);
        self.constant(0);
        self.store(MATCHES)?;
        self.constant(0);
        self.store(TARGET)?;
        for rule in applicable {
            self.is_at(rule.source);
            if !rule.channel.is(channel) {
                self.load(CHANNEL)?;
                self.equals(&rule.channel);
            }
            for (number, field) in rule.fields.iter().enumerate() {
                let Some((expression, ty)) = field else { continue };
                match Register::new(number) {
                    Some(reg) if !sent => self.out.push(Op::Push { reg }),
                    _ => {
                        self.load(FIELDS + number)?;
                        self.out.extend(truncation(*ty));
                    }
                }
                self.equals(expression);
            }
            self.count(rule.target)?;
        }
        if !certain {
            self.constant(0);
            for expression in watched.iter().filter(|expression| expression.may_be(channel)) {
                self.load(CHANNEL)?;
                self.out.extend_from_slice(&expression.code);
                self.out.extend([Op::Eq {}, Op::Or {}]);
            }
            self.store(WATCHED)?;
        }
        for (&state, &target) in &rules.otherwise {
            self.is_at(state);
            self.load(MATCHES)?;
            self.out.extend([Op::Lnot {}, Op::And {}]);
            if !certain {
                self.load(WATCHED)?;
                self.out.push(Op::And {});
            }
            self.count(target)?;
        }
        self.conclude(certain)
    }

    /// Pushes whether the automaton is in a state.
    fn is_at(&mut self, state: usize) {
        self.out.push(Op::Ldg { var: self.variable });
        self.constant(state);
        self.out.push(Op::Eq {});
    }

    /// Compares the top of the stack with an expression, and combines the result with the value
    /// below.
    fn equals(&mut self, expression: &Expression) {
        self.out.extend_from_slice(&expression.code);
        self.out.extend([Op::Eq {}, Op::And {}]);
    }

    /// Counts a match, if the top of the stack is one.
    fn count(&mut self, target: usize) -> Result<(), NotObserved> {
        self.store(MATCH)?;
        self.load(MATCHES)?;
        self.load(MATCH)?;
        self.out.push(Op::Add {});
        self.store(MATCHES)?;
        self.load(TARGET)?;
        self.load(MATCH)?;
        self.constant(target);
        self.out.extend([Op::Mul {}, Op::Add {}]);
        self.store(TARGET)
    }

    /// Asserts the conditions and moves the automaton.
    fn conclude(&mut self, certain: bool) -> Result<(), NotObserved> {
        self.load(MATCHES)?;
        self.constant(1);
        self.out.push(Op::Le {});
        self.assert(Event::Ambiguous);
        if self.forbidden {
            self.load(TARGET)?;
            self.constant(self.rules.states);
            self.out.push(Op::Ne {});
            self.assert(Event::Last);
        } else {
            self.load(MATCHES)?;
            if !certain {
                self.load(WATCHED)?;
                self.out.extend([Op::Lnot {}, Op::Or {}]);
            }
            self.assert(Event::Unmatched);
        }
        self.load(TARGET)?;
        if self.forbidden {
            self.load(MATCHES)?;
            self.out.push(Op::Lnot {});
            self.constant(self.rules.states + 1);
            self.out.extend([Op::Mul {}, Op::Add {}]);
        }
        if !certain {
            // An event that is not watched does not move the automaton.
            self.load(WATCHED)?;
            self.out.push(Op::Mul {});
            self.out.push(Op::Ldg { var: self.variable });
            self.load(WATCHED)?;
            self.out.extend([Op::Lnot {}, Op::Mul {}, Op::Add {}]);
        }
        self.out.push(Op::Stg { var: self.variable });
        Ok(())
    }

    fn assert(&mut self, event: Event) {
        self.meanings.insert(Addr(self.out.len() as u32), event);
        self.out.push(Op::Assert {});
    }
}

/// Code that truncates the top of the stack to the value that is stored.
fn truncation(ty: Type) -> Vec<Op> {
    let mask = |bits: u32| if bits >= 32 { vec![] } else { vec![Op::Ldc { value: ((1_u32 << bits) - 1) as i32 }, Op::And {}] };
    match ty {
        Type::Bit => mask(1),
        Type::Byte => mask(8),
        Type::Short => [Op::Shl {}, Op::Shr {}].into_iter().flat_map(|shift| [Op::Ldc { value: 16 }, shift]).collect(),
        Type::Int => vec![],
        Type::Unsigned(bits) => mask(bits.into()),
    }
}
