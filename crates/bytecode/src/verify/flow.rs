//! Rules V-STACK, V-ALIVE, V-LOOP, V-PATHS, V-PROLOGUE, V-REACH and V-ATOM, which need a walk over
//! the code.
//!
//! The analysis works on *contexts*: an instruction together with the return addresses on the
//! stack. Each context has one stack depth (that is V-STACK), so the graph of contexts is finite.
//! Without the edges after STEP it must be acyclic (V-LOOP). Then one pass in topological order
//! decides about registers (V-ALIVE), and one in reverse order counts paths (V-PATHS). The work is
//! linear in the number of contexts. That number is capped, because nested subroutines can be
//! reached in exponentially many ways.

use super::error::{VerifyError, VerifyErrorKind};
use crate::ids::{Addr, AtomId, ProcessId, Register};
use crate::ops::{Mode, Op};
use crate::program::Program;
use std::collections::HashMap;

/// The most values on the stack, including return addresses.
pub const STACK_MAX: usize = 256;

/// The most paths that may leave a control location.
pub const PATHS_MAX: u64 = 1 << 16;

/// The most instructions along all paths of a control location, including those of prologues.
pub const INSTRUCTIONS_MAX: u64 = 1 << 20;

/// The most contexts of a program, in addition to four for each instruction.
const CONTEXTS_MAX: usize = 1 << 16;

/// The results of the walk over a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Flow {
    /// For each instruction, whether it can be executed.
    pub reachable: Vec<bool>,
    /// The most values ever on the stack, return addresses included.
    pub max_stack: usize,
    /// The most paths that leave a control location.
    pub max_paths: u64,
}

/// Walks the code of every process type. The tables must have been checked.
pub(super) fn check(program: &Program) -> Result<Flow, VerifyError> {
    let mut flow = Flow { reachable: vec![false; program.code.len()], ..Flow::default() };
    // RUN executes the prologue of another type, so the costs of prologues are computed first.
    let mut prologues = vec![0; program.processes.len()];
    let mut budget = CONTEXTS_MAX + 4 * program.code.len();
    for (i, p) in program.processes.iter().enumerate() {
        if let Some(prologue) = p.prologue {
            prologues[i] = Walk::new(program, i, &[]).run(prologue, Part::Prologue, &mut flow, &mut budget)?;
        }
    }
    for (i, p) in program.processes.iter().enumerate() {
        Walk::new(program, i, &prologues).run(p.entry, Part::Body, &mut flow, &mut budget)?;
    }
    for i in 0..program.atoms.len() {
        let range = program.code_of_atom(AtomId(i as u16));
        let start = Addr(range.start);
        Walk::over(program, range, &[]).run(start, Part::Atom, &mut flow, &mut budget)?;
    }
    for (i, op) in program.code.iter().enumerate() {
        if !flow.reachable[i] && matches!(op, Op::Step { .. }) {
            return Err(VerifyError::new(program, VerifyErrorKind::Unreachable, Some(Addr(i as u32))));
        }
    }
    Ok(flow)
}

/// The part of a process type's code that is walked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Body,
    Prologue,
    Atom,
}

/// A sequence of return addresses: the last one, and the frame below it.
#[derive(Clone, Copy)]
struct Frame {
    below: u32,
    /// The return address; `None` in the outermost frame.
    to: Option<Addr>,
    /// The number of values on the stack when the subroutine begins, including its return address.
    base: usize,
}

/// The frame outside all subroutines.
const OUTERMOST: u32 = 0;

/// An instruction and a frame, with the results of the walk for this pair.
struct Context {
    addr: Addr,
    frame: u32,
    /// Values on top of the frame's base.
    depth: usize,
    /// The contexts that may follow within the same path.
    next: [Option<u32>; 2],
    /// Whether paths begin here.
    root: bool,
}

struct Walk<'a> {
    program: &'a Program,
    range: std::ops::Range<u32>,
    /// The cost of each process type's prologue.
    prologues: &'a [u64],
    frames: Vec<Frame>,
    frame_ids: HashMap<(u32, Addr), u32>,
    contexts: Vec<Context>,
    /// The contexts of instructions outside all subroutines, by the position in the range. Almost
    /// all contexts are of this kind.
    outermost: Vec<u32>,
    /// The other contexts.
    inner: HashMap<(Addr, u32), u32>,
    limit: usize,
}

/// No context yet.
const UNKNOWN: u32 = u32::MAX;

impl<'a> Walk<'a> {
    fn new(program: &'a Program, process: usize, prologues: &'a [u64]) -> Walk<'a> {
        Walk::over(program, program.code_of(ProcessId(process as u8)), prologues)
    }

    fn over(program: &'a Program, range: std::ops::Range<u32>, prologues: &'a [u64]) -> Walk<'a> {
        Walk {
            program,
            outermost: vec![UNKNOWN; range.len()],
            range,
            prologues,
            frames: vec![Frame { below: OUTERMOST, to: None, base: 0 }],
            frame_ids: HashMap::new(),
            contexts: Vec::new(),
            inner: HashMap::new(),
            limit: 0,
        }
    }

    fn fail<T>(&self, addr: Addr, kind: VerifyErrorKind) -> Result<T, VerifyError> {
        Err(VerifyError::new(self.program, kind, Some(addr)))
    }

    /// All checks from one starting point; returns the number of instructions along the paths from
    /// there.
    fn run(mut self, start: Addr, part: Part, flow: &mut Flow, budget: &mut usize) -> Result<u64, VerifyError> {
        self.limit = *budget;
        let first = self.explore(start, part, flow)?;
        *budget -= self.contexts.len();
        let order = self.order()?;
        self.registers(&order)?;
        let (paths, instructions) = self.count(&order)?;
        flow.max_paths = flow.max_paths.max(paths);
        Ok(instructions[first as usize])
    }

    /// Finds all contexts.
    fn explore(&mut self, start: Addr, part: Part, flow: &mut Flow) -> Result<u32, VerifyError> {
        let first = self.context(start, start, OUTERMOST, 0)?;
        self.contexts[first as usize].root = true;
        // A context is appended when it is first seen, so the list is its own queue.
        let mut done = 0;
        while let Some(context) = self.contexts.get(done) {
            let (addr, frame, depth) = (context.addr, context.frame, context.depth);
            let op = self.program.code[addr.index()];
            flow.reachable[addr.index()] = true;
            flow.max_stack = flow.max_stack.max(self.frames[frame as usize].base + depth);
            if part == Part::Prologue && !may_stand_in_prologue(addr, &op) {
                return self.fail(addr, VerifyErrorKind::NotInPrologue);
            }
            let next = self.execute(addr, &op, frame, depth, part)?;
            self.contexts[done].next = next;
            done += 1;
        }
        Ok(first)
    }

    /// The contexts after an instruction.
    fn execute(&mut self, addr: Addr, op: &Op, frame: u32, depth: usize, part: Part) -> Result<[Option<u32>; 2], VerifyError> {
        let Frame { below, to, base } = self.frames[frame as usize];
        match *op {
            Op::Ret {} if part == Part::Atom => match depth {
                1 => Ok([None, None]),
                _ => self.fail(addr, VerifyErrorKind::AtomValue { depth }),
            },
            Op::Ret {} => {
                if depth > 0 {
                    let nothing_called = frame == OUTERMOST && part == Part::Body;
                    let kind = if nothing_called { VerifyErrorKind::NoReturn } else { VerifyErrorKind::ReturnBuried { depth } };
                    return self.fail(addr, kind);
                }
                match to {
                    Some(to) => {
                        let depth = base - 1 - self.frames[below as usize].base;
                        Ok([Some(self.context(addr, to, below, depth)?), None])
                    }
                    None if part == Part::Prologue => Ok([None, None]),
                    None => self.fail(addr, VerifyErrorKind::NoReturn),
                }
            }
            Op::Call { target } => {
                let to = addr.next();
                if base + depth >= STACK_MAX {
                    return self.fail(addr, VerifyErrorKind::Overflow);
                }
                if !self.range.contains(&to.0) {
                    return self.fail(addr, VerifyErrorKind::FallsThrough);
                }
                let id = self.frames.len() as u32;
                let inner = *self.frame_ids.entry((frame, to)).or_insert(id);
                if inner == id {
                    self.frames.push(Frame { below: frame, to: Some(to), base: base + depth + 1 });
                }
                Ok([Some(self.context(addr, target, inner, 0)?), None])
            }
            Op::Step { mode } => {
                if base + depth > 0 {
                    return self.fail(addr, VerifyErrorKind::AliveAtStep { depth: base + depth });
                }
                if mode != Mode::Terminate {
                    let resumed = self.context(addr, addr.next(), OUTERMOST, 0)?;
                    self.contexts[resumed as usize].root = true;
                }
                Ok([None, None])
            }
            _ => {
                let Some(left) = depth.checked_sub(op.pops()) else {
                    let underflow = VerifyErrorKind::Underflow { needed: op.pops(), found: depth };
                    return self.fail(addr, if frame == OUTERMOST { underflow } else { VerifyErrorKind::ReturnTaken });
                };
                let depth = left + op.pushes();
                if base + depth > STACK_MAX {
                    return self.fail(addr, VerifyErrorKind::Overflow);
                }
                let jump = op.target().map(|target| self.context(addr, target, frame, depth)).transpose()?;
                let fall = if op.ends_path() { None } else { Some(self.context(addr, addr.next(), frame, depth)?) };
                Ok([fall, jump])
            }
        }
    }

    /// The context of an address and a frame, which must be reached with one depth only.
    fn context(&mut self, from: Addr, addr: Addr, frame: u32, depth: usize) -> Result<u32, VerifyError> {
        if let Some(id) = self.known(addr, frame) {
            let first = self.contexts[id as usize].depth;
            if first != depth {
                let base = self.frames[frame as usize].base;
                return self.fail(addr, VerifyErrorKind::Depth { first: base + first, second: base + depth });
            }
            return Ok(id);
        }
        if self.contexts.len() >= self.limit {
            return self.fail(from, VerifyErrorKind::TooManyContexts);
        }
        let id = self.contexts.len() as u32;
        self.contexts.push(Context { addr, frame, depth, next: [None, None], root: false });
        match self.outermost.get_mut(addr.0.wrapping_sub(self.range.start) as usize) {
            Some(place) if frame == OUTERMOST => *place = id,
            _ => drop(self.inner.insert((addr, frame), id)),
        }
        Ok(id)
    }

    fn known(&self, addr: Addr, frame: u32) -> Option<u32> {
        match self.outermost.get(addr.0.wrapping_sub(self.range.start) as usize) {
            Some(&id) if frame == OUTERMOST => (id != UNKNOWN).then_some(id),
            _ => self.inner.get(&(addr, frame)).copied(),
        }
    }

    /// All contexts, each after those that may follow it within its path.
    fn order(&self) -> Result<Vec<u32>, VerifyError> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Closed,
        }
        let mut marks = vec![Mark::New; self.contexts.len()];
        let mut order = Vec::with_capacity(self.contexts.len());
        let mut open: Vec<(u32, usize)> = Vec::new();
        for root in 0..self.contexts.len() as u32 {
            if marks[root as usize] != Mark::New {
                continue;
            }
            marks[root as usize] = Mark::Open;
            open.push((root, 0));
            while let Some((id, tried)) = open.last_mut() {
                let context = &self.contexts[*id as usize];
                let Some(next) = context.next.get(*tried) else {
                    marks[*id as usize] = Mark::Closed;
                    order.push(*id);
                    open.pop();
                    continue;
                };
                *tried += 1;
                let Some(next) = *next else { continue };
                match marks[next as usize] {
                    Mark::New => {
                        marks[next as usize] = Mark::Open;
                        open.push((next, 0));
                    }
                    Mark::Open => return self.fail(context.addr, VerifyErrorKind::Loop),
                    Mark::Closed => {}
                }
            }
        }
        Ok(order)
    }

    /// Checks that no register is read that some path has not written.
    fn registers(&self, order: &[u32]) -> Result<(), VerifyError> {
        // For each context, the registers that every path seen so far has written.
        let mut written: Vec<u32> = self.contexts.iter().map(|c| if c.root { 0 } else { u32::MAX }).collect();
        for &id in order.iter().rev() {
            let context = &self.contexts[id as usize];
            let mut now = written[id as usize];
            match self.program.code[context.addr.index()] {
                Op::Push { reg: Register(r) } if now & (1 << r) == 0 => {
                    return self.fail(context.addr, VerifyErrorKind::Unwritten { register: Register(r) });
                }
                Op::Pop { reg: Register(r) } => now |= 1 << r,
                Op::Recv { fields, .. } => now |= u32::MAX >> (32 - fields),
                _ => {}
            }
            for next in context.next.into_iter().flatten() {
                written[next as usize] &= now;
            }
        }
        Ok(())
    }

    /// Counts the paths from each context and the instructions along them; returns the most paths
    /// of a root, and the instructions.
    fn count(&self, order: &[u32]) -> Result<(u64, Vec<u64>), VerifyError> {
        let mut paths = vec![1_u64; self.contexts.len()];
        let mut instructions = vec![1_u64; self.contexts.len()];
        let mut most = 0;
        for &id in order {
            let context = &self.contexts[id as usize];
            let of = |counts: &[u64], next: Option<u32>| next.map_or(0, |next| counts[next as usize]);
            let both = |counts: &[u64]| (of(counts, context.next[0]), of(counts, context.next[1]));
            let op = &self.program.code[context.addr.index()];
            let (first, second) = both(&paths);
            let (first_cost, second_cost) = both(&instructions);
            // Only one branch of a conditional jump is taken; all alternatives of the others are
            // tried.
            let branches = matches!(op, Op::Jmpz { .. } | Op::Jmpnz { .. });
            let join = |a: u64, b: u64| if branches { a.max(b) } else { a.saturating_add(b) };
            let own = match op {
                Op::Run { process, .. } => 1 + self.prologues.get(process.index()).copied().unwrap_or(0),
                _ => 1,
            };
            paths[id as usize] = join(first, second).max(1);
            instructions[id as usize] = join(first_cost, second_cost).saturating_add(own);
            if paths[id as usize] > PATHS_MAX {
                return self.fail(context.addr, VerifyErrorKind::TooManyPaths { limit: PATHS_MAX });
            }
            if instructions[id as usize] > INSTRUCTIONS_MAX {
                return self.fail(context.addr, VerifyErrorKind::TooManyInstructions { limit: INSTRUCTIONS_MAX });
            }
            if context.root {
                most = most.max(paths[id as usize]);
            }
        }
        Ok((most, instructions))
    }
}

/// Whether a prologue may contain the instruction at this address (rule I-RUN).
fn may_stand_in_prologue(addr: Addr, op: &Op) -> bool {
    let forbidden = matches!(
        op,
        Op::Ndet { .. }
            | Op::Else { .. }
            | Op::Unless { .. }
            | Op::Step { .. }
            | Op::Nex {}
            | Op::Nexz {}
            | Op::Send { .. }
            | Op::Sends { .. }
            | Op::Recv { .. }
            | Op::Run { .. }
    );
    !forbidden && op.target().is_none_or(|target| target > addr)
}
