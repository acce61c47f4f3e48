//! From byte-code to the step graph, by symbolic execution.
//!
//! The code is executed from each location with expressions on the stack instead of values. A load
//! becomes an expression that is evaluated where it is used. So before an operation that could
//! change its value, or that could hide a fault of it, the expressions on the stack are evaluated
//! into temporaries. A conditional jump whose two sides only push a value and then meet becomes a
//! [`Choose`](Expr::Choose); this recovers the short-circuit operators of front-ends as
//! expressions. Any other conditional jump becomes a [`Test`](Node::Test). The meeting points are
//! computed beforehand ([`Facts`]), so each instruction is executed once for each point from which
//! it is reached, however deeply conditions are nested.

use crate::expr::{Binary, ChannelQuery, Expr, ExprId, Pool, Temp, Unary, Var};
use crate::facts::Facts;
use crate::node::{Effect, Node, NodeId};
use bytecode::{Addr, Op, Verified};
use std::collections::HashMap;
use std::fmt;

/// The largest number of nodes, and of expressions, of one graph.
const MAX_SIZE: usize = 1 << 22;
/// The deepest nesting of alternatives.
const MAX_NESTING: usize = 400;
/// A program too large for a step graph; the interpreter can still run it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the program's steps have too many or too deeply nested alternatives")
    }
}

impl std::error::Error for TooLarge {}

/// A point of the symbolic execution.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Point {
    pc: Addr,
    stack: Vec<ExprId>,
    registers: Vec<Option<ExprId>>,
    temps: u16,
}

impl Point {
    fn at(pc: Addr, stack: Vec<ExprId>) -> Point {
        Point { pc, stack, registers: Vec::new(), temps: 0 }
    }

    fn pop(&mut self) -> Result<ExprId, TooLarge> {
        self.stack.pop().ok_or(TooLarge)
    }

    /// The top values, the deepest first.
    fn pop_many(&mut self, count: usize) -> Vec<ExprId> {
        self.stack.split_off(self.stack.len().saturating_sub(count))
    }

    fn set_register(&mut self, register: usize, value: ExprId) {
        if self.registers.len() <= register {
            self.registers.resize(register + 1, None);
        }
        self.registers[register] = Some(value);
    }

    fn fresh(&mut self, count: u16) -> Result<Temp, TooLarge> {
        let first = self.temps;
        self.temps = self.temps.checked_add(count).ok_or(TooLarge)?;
        Ok(Temp(first))
    }
}

/// Something on the path to a node, which will be put before the node.
enum Prefix {
    Choice(NodeId),
    Else(NodeId),
    Unless(NodeId),
    Test(ExprId, NodeId),
    Guard(ExprId),
    Do(Effect),
}

pub(crate) struct Builder<'p> {
    pub program: &'p Verified,
    facts: &'p Facts,
    pub pool: Pool,
    pub nodes: Vec<Node>,
    /// For each node, the weight of the code below it.
    pub weights: Vec<u32>,
    index: HashMap<Node, NodeId>,
    known: HashMap<Point, NodeId>,
    /// Whether the code is that of an atom: its RET returns the value.
    in_atom: bool,
}

impl<'p> Builder<'p> {
    pub fn new(program: &'p Verified, facts: &'p Facts) -> Self {
        let (pool, nodes, weights) = (Pool::default(), Vec::new(), Vec::new());
        Builder { program, facts, pool, nodes, weights, index: HashMap::new(), known: HashMap::new(), in_atom: false }
    }

    /// The node of the code from an address on, with an empty stack.
    pub fn location(&mut self, addr: Addr) -> Result<NodeId, TooLarge> {
        self.build(Point::at(addr, Vec::new()), 0)
    }

    /// The node of a prologue: its last RET finds an address that no instruction has.
    pub fn prologue(&mut self, addr: Addr) -> Result<NodeId, TooLarge> {
        let outside = self.pool.add(Expr::Const(-1));
        self.build(Point::at(addr, vec![outside]), 0)
    }

    /// The node of an atom.
    pub fn atom(&mut self, addr: Addr) -> Result<NodeId, TooLarge> {
        self.in_atom = true;
        self.build(Point::at(addr, Vec::new()), 0)
    }

    fn node(&mut self, node: Node) -> Result<NodeId, TooLarge> {
        if let Some(&id) = self.index.get(&node) {
            return Ok(id);
        }
        if self.nodes.len() >= MAX_SIZE || self.pool.len() >= MAX_SIZE {
            return Err(TooLarge);
        }
        let id = NodeId(self.nodes.len() as u32);
        let mut weight = 1_u32;
        node.exprs(|expr| weight = weight.saturating_add(self.pool.weight(expr)));
        for after in node.following() {
            weight = weight.saturating_add(self.weights[after.0 as usize]);
        }
        self.weights.push(weight);
        self.index.insert(node.clone(), id);
        self.nodes.push(node);
        Ok(id)
    }

    fn build(&mut self, start: Point, nesting: usize) -> Result<NodeId, TooLarge> {
        if nesting > MAX_NESTING {
            return Err(TooLarge);
        }
        let mut passed = Vec::new();
        let mut points = Vec::new();
        let mut p = start;
        let mut node = loop {
            if let Some(&known) = self.known.get(&p) {
                break known;
            }
            points.push((p.clone(), passed.len()));
            if passed.len() > MAX_SIZE {
                return Err(TooLarge);
            }
            if let Some(end) = self.advance(&mut p, &mut passed, nesting)? {
                break self.node(end)?;
            }
        };
        while let Some((point, depth)) = points.pop() {
            while passed.len() > depth
                && let Some(step) = passed.pop()
            {
                let before = match step {
                    Prefix::Choice(first) => Node::Choice(first, node),
                    Prefix::Else(main) => Node::Else(main, node),
                    Prefix::Unless(escape) => Node::Unless(escape, node),
                    Prefix::Test(condition, then) => Node::Test(condition, then, node),
                    Prefix::Guard(condition) => Node::Guard(condition, node),
                    Prefix::Do(effect) => Node::Do(effect, node),
                };
                node = self.node(before)?;
            }
            self.known.insert(point, node);
        }
        Ok(node)
    }

    /// Executes until something must be put before a node, or to the end.
    fn advance(&mut self, p: &mut Point, passed: &mut Vec<Prefix>, nesting: usize) -> Result<Option<Node>, TooLarge> {
        let before = passed.len();
        while passed.len() == before {
            let addr = p.pc;
            let op = *self.program.program().code.get(addr.index()).ok_or(TooLarge)?;
            if self.pure(&op, p)? {
                continue;
            }
            p.pc = addr.next();
            match op {
                Op::Jmpz { target } | Op::Jmpnz { target } => {
                    let condition = p.pop()?;
                    let (zero, other) = match op {
                        Op::Jmpz { .. } => (target, addr.next()),
                        _ => (addr.next(), target),
                    };
                    if let Some(value) = self.pool.constant(condition) {
                        p.pc = if value == 0 { zero } else { other };
                    } else if let Some(joined) = self.join(p, addr, condition, other, zero)? {
                        *p = joined;
                    } else {
                        self.settle(p, passed, false)?;
                        let then = self.build(Point { pc: other, ..p.clone() }, nesting + 1)?;
                        p.pc = zero;
                        passed.push(Prefix::Test(condition, then));
                    }
                }
                Op::Ndet { target } => {
                    self.settle(p, passed, false)?;
                    let first = self.build(p.clone(), nesting + 1)?;
                    p.pc = target;
                    passed.push(Prefix::Choice(first));
                }
                Op::Else { target } => {
                    self.settle(p, passed, false)?;
                    let main = self.build(p.clone(), nesting + 1)?;
                    p.pc = target;
                    passed.push(Prefix::Else(main));
                }
                Op::Unless { target } => {
                    self.settle(p, passed, false)?;
                    let escape = self.build(Point { pc: target, ..p.clone() }, nesting + 1)?;
                    passed.push(Prefix::Unless(escape));
                }
                Op::Call { target } => {
                    let back = self.pool.add(Expr::Const(addr.next().0 as i32));
                    p.stack.push(back);
                    p.pc = target;
                }
                Op::Ret {} if self.in_atom => return Ok(Some(Node::Value(p.pop()?))),
                Op::Ret {} => {
                    let to = p.pop()?;
                    match self.pool.constant(to).ok_or(TooLarge)? {
                        -1 => return Ok(Some(Node::Return)),
                        to => p.pc = Addr(to as u32),
                    }
                }
                Op::Step { mode } => return Ok(Some(Node::Step(mode, addr))),
                Op::Nex {} => return Ok(Some(Node::Blocked)),
                Op::Nexz {} => {
                    let condition = p.pop()?;
                    self.settle(p, passed, false)?;
                    match self.pool.constant(condition) {
                        Some(0) => return Ok(Some(Node::Blocked)),
                        Some(_) => {}
                        None => passed.push(Prefix::Guard(condition)),
                    }
                }
                _ => self.effect(&op, addr, p, passed)?,
            }
        }
        Ok(None)
    }

    /// Instructions with an effect.
    fn effect(&mut self, op: &Op, addr: Addr, p: &mut Point, passed: &mut Vec<Prefix>) -> Result<(), TooLarge> {
        let temp = |b: &mut Self, t: Temp| b.pool.add(Expr::Temp(t));
        let mut push_result = None;
        let effect = match *op {
            Op::Stg { var } => Effect::Store(Var::Global(var), p.pop()?),
            Op::Stl { var } => Effect::Store(Var::Local(var), p.pop()?),
            Op::Stgx { var } => self.store_element(Var::Global(var), addr, p)?,
            Op::Stlx { var } => self.store_element(Var::Local(var), addr, p)?,
            Op::Pop { reg } => {
                let value = p.pop()?;
                let traits = self.pool.traits(value);
                if !traits.faults && !traits.compound {
                    p.set_register(reg.index(), value);
                    return Ok(());
                }
                let into = p.fresh(1)?;
                let kept = temp(self, into);
                p.set_register(reg.index(), kept);
                Effect::Let(into, value)
            }
            Op::Drop {} => {
                let value = p.pop()?;
                if !self.pool.traits(value).faults {
                    return Ok(());
                }
                Effect::Evaluate(value)
            }
            Op::Send { fields } | Op::Sends { fields } => {
                let message = p.pop_many(fields as usize);
                Effect::Send { channel: p.pop()?, message, sorted: matches!(op, Op::Sends { .. }), addr }
            }
            Op::Recv { fields, mask, how } => {
                let wanted = p.pop_many(mask.len());
                let channel = p.pop()?;
                let into = p.fresh(fields as u16)?;
                for i in 0..fields as u16 {
                    let field = temp(self, Temp(into.0 + i));
                    p.set_register(i as usize, field);
                }
                Effect::Receive { channel, fields: fields as u8, mask, wanted, how, into, addr }
            }
            Op::Run { args, process } => {
                let args = p.pop_many(args as usize);
                let into = p.fresh(1)?;
                push_result = Some(temp(self, into));
                Effect::Run { process, args, into, addr }
            }
            Op::Chnew { ty } => {
                let into = p.fresh(1)?;
                push_result = Some(temp(self, into));
                Effect::NewChannel { ty, into, addr }
            }
            Op::Setprio {} => {
                let priority = p.pop()?;
                Effect::SetPriority { process: p.pop()?, priority, addr }
            }
            Op::Xr {} => Effect::Claim { channel: p.pop()?, sender: false, addr },
            Op::Xs {} => Effect::Claim { channel: p.pop()?, sender: true, addr },
            Op::Assert {} => Effect::Assert(p.pop()?, addr),
            Op::Print { args, .. } => {
                for value in p.pop_many(args as usize) {
                    if self.pool.traits(value).faults {
                        passed.push(Prefix::Do(Effect::Evaluate(value)));
                    }
                }
                return Ok(());
            }
            _ => return Err(TooLarge),
        };
        self.settle(p, passed, effect.writes())?;
        p.stack.extend(push_result);
        passed.push(Prefix::Do(effect));
        Ok(())
    }

    fn store_element(&mut self, var: Var, addr: Addr, p: &mut Point) -> Result<Effect, TooLarge> {
        let index = p.pop()?;
        let value = p.pop()?;
        Ok(Effect::StoreElement(var, index, value, addr))
    }

    /// Evaluates the expressions on the stack and in registers now, if they can fault or, before a
    /// write, if they depend on the state.
    fn settle(&mut self, p: &mut Point, passed: &mut Vec<Prefix>, writes: bool) -> Result<(), TooLarge> {
        let Point { stack, registers, temps, .. } = p;
        for value in stack.iter_mut().chain(registers.iter_mut().flatten()) {
            let traits = self.pool.traits(*value);
            if traits.faults || (writes && traits.reads) {
                let into = Temp(*temps);
                *temps = temps.checked_add(1).ok_or(TooLarge)?;
                passed.push(Prefix::Do(Effect::Let(into, *value)));
                *value = self.pool.add(Expr::Temp(into));
            }
        }
        Ok(())
    }

    /// Executes both sides of the conditional jump at `jump`, if they only compute and meet again.
    /// Returns the meeting point, with a choice for each value that differs.
    fn join(&mut self, p: &Point, jump: Addr, condition: ExprId, other: Addr, zero: Addr) -> Result<Option<Point>, TooLarge> {
        let Some(meeting) = self.facts.meeting(jump) else { return Ok(None) };
        let Some(mut left) = self.compute(Point { pc: other, ..p.clone() }, meeting)? else { return Ok(None) };
        let Some(right) = self.compute(Point { pc: zero, ..p.clone() }, meeting)? else { return Ok(None) };
        if left.stack.len() != right.stack.len() {
            return Ok(None);
        }
        if left.stack == right.stack && self.pool.traits(condition).faults {
            return Ok(None); // The condition's fault would be lost with it.
        }
        for (x, y) in left.stack.iter_mut().zip(&right.stack) {
            if x != y {
                *x = self.pool.add(Expr::Choose(condition, *x, *y));
            }
        }
        Ok(Some(left))
    }

    /// Executes code that only computes, up to an address. How deeply this and [`join`](Self::join)
    /// call each other is limited by [`Facts`].
    fn compute(&mut self, mut p: Point, until: Addr) -> Result<Option<Point>, TooLarge> {
        while p.pc != until {
            let Some(op) = self.program.program().code.get(p.pc.index()).copied() else { return Ok(None) };
            if self.pure(&op, &mut p)? {
                continue;
            }
            let addr = p.pc;
            let (zero, other) = match op {
                Op::Jmpz { target } => (target, addr.next()),
                Op::Jmpnz { target } => (addr.next(), target),
                _ => return Ok(None),
            };
            let condition = p.pop()?;
            match self.pool.constant(condition) {
                Some(value) => p.pc = if value == 0 { zero } else { other },
                None => match self.join(&p, addr, condition, other, zero)? {
                    Some(joined) => p = joined,
                    None => return Ok(None),
                },
            }
        }
        Ok(Some(p))
    }

    /// Executes an instruction that only computes. For others it does nothing and returns `false`.
    fn pure(&mut self, op: &Op, p: &mut Point) -> Result<bool, TooLarge> {
        let addr = p.pc;
        let unary = |op, b: &mut Self, p: &mut Point| {
            let a = p.pop()?;
            Ok(b.pool.add(Expr::Unary(op, a)))
        };
        let binary = |op, b: &mut Self, p: &mut Point| {
            let v = p.pop()?;
            let u = p.pop()?;
            Ok(b.pool.add(Expr::Binary(op, u, v)))
        };
        let value = match *op {
            Op::Jmp { target } => {
                p.pc = target;
                return Ok(true);
            }
            Op::Ldc { value } => self.pool.add(Expr::Const(value)),
            Op::Ldg { var } => match self.facts.constant(var) {
                Some(value) => self.pool.add(Expr::Const(value)),
                None => self.pool.add(Expr::Load(Var::Global(var))),
            },
            Op::Ldl { var } => self.pool.add(Expr::Load(Var::Local(var))),
            Op::Ldgx { var } => {
                let index = p.pop()?;
                self.pool.add(Expr::Element(Var::Global(var), index, addr))
            }
            Op::Ldlx { var } => {
                let index = p.pop()?;
                self.pool.add(Expr::Element(Var::Local(var), index, addr))
            }
            Op::Ldr { var: (ty, var) } => {
                let number = p.pop()?;
                self.pool.add(Expr::Remote(number, ty, var))
            }
            Op::Ldrx { var: (ty, var) } => {
                let index = p.pop()?;
                let number = p.pop()?;
                self.pool.add(Expr::RemoteElement(number, ty, var, index, addr))
            }
            Op::Chk { length } => {
                let index = p.pop()?;
                self.pool.add(Expr::Checked(index, length, addr))
            }
            Op::Push { reg } => match p.registers.get(reg.index()).copied().flatten() {
                Some(value) => value,
                None => self.pool.add(Expr::Const(0)),
            },
            Op::Add {} => binary(Binary::Add, self, p)?,
            Op::Sub {} => binary(Binary::Sub, self, p)?,
            Op::Mul {} => binary(Binary::Mul, self, p)?,
            Op::And {} => binary(Binary::And, self, p)?,
            Op::Or {} => binary(Binary::Or, self, p)?,
            Op::Xor {} => binary(Binary::Xor, self, p)?,
            Op::Shl {} => binary(Binary::Shl, self, p)?,
            Op::Shr {} => binary(Binary::Shr, self, p)?,
            Op::Eq {} => binary(Binary::Eq, self, p)?,
            Op::Ne {} => binary(Binary::Ne, self, p)?,
            Op::Lt {} => binary(Binary::Lt, self, p)?,
            Op::Le {} => binary(Binary::Le, self, p)?,
            Op::Gt {} => binary(Binary::Gt, self, p)?,
            Op::Ge {} => binary(Binary::Ge, self, p)?,
            Op::Addv {} | Op::Subv {} | Op::Mulv {} => {
                let v = p.pop()?;
                let u = p.pop()?;
                let how = match op {
                    Op::Addv {} => Binary::Add,
                    Op::Subv {} => Binary::Sub,
                    _ => Binary::Mul,
                };
                self.pool.add(Expr::Fitting(how, u, v, addr))
            }
            Op::Range { least, greatest } => {
                let value = p.pop()?;
                self.pool.add(Expr::Ranged(value, least, greatest, addr))
            }
            Op::Div {} | Op::Mod {} => {
                let v = p.pop()?;
                let u = p.pop()?;
                self.pool.add(if matches!(op, Op::Div {}) { Expr::Div(u, v, addr) } else { Expr::Mod(u, v, addr) })
            }
            Op::Neg {} => unary(Unary::Neg, self, p)?,
            Op::Not {} => unary(Unary::Not, self, p)?,
            Op::Lnot {} => unary(Unary::Lnot, self, p)?,
            Op::Pid {} => self.pool.add(Expr::Pid),
            Op::Nrpr {} => self.pool.add(Expr::ProcessCount),
            Op::Last {} => self.pool.add(Expr::Last),
            Op::Timeout {} => self.pool.add(Expr::Timeout),
            Op::Np {} => self.pool.add(Expr::NoProgress),
            Op::Enabled {} => {
                let number = p.pop()?;
                self.pool.add(Expr::Enabled(number))
            }
            Op::Pcval {} => {
                let number = p.pop()?;
                self.pool.add(Expr::LocationOf(number))
            }
            Op::At { place: (ty, at) } => {
                let number = p.pop()?;
                let program = self.program;
                let location = program.program().follow_jumps(at).and_then(|a| program.locations().at(ty, a));
                self.pool.add(Expr::IsAt(number, ty, location))
            }
            Op::Getprio {} => {
                let number = p.pop()?;
                self.pool.add(Expr::Priority(number))
            }
            Op::Len {} | Op::Empty {} | Op::Full {} => {
                let query = match op {
                    Op::Len {} => ChannelQuery::Length,
                    Op::Empty {} => ChannelQuery::Empty,
                    _ => ChannelQuery::Full,
                };
                let channel = p.pop()?;
                self.pool.add(Expr::Channel(query, channel, addr))
            }
            Op::Poll { fields, mask, how } => {
                let wanted = p.pop_many(mask.len());
                let channel = p.pop()?;
                self.pool.add(Expr::Poll { channel, fields: fields as u8, mask, wanted, how, addr })
            }
            _ => return Ok(false),
        };
        p.stack.push(value);
        p.pc = addr.next();
        Ok(true)
    }
}
