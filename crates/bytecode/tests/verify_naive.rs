//! Compares the verifier with a naive judge that runs every path of small programs, with values and
//! return addresses on one stack.
//!
//! The judge knows no contexts and merges nothing: its states hold the whole stack and the set of
//! written registers. It is exponential but obviously correct.

use bytecode::testing::Random;
use bytecode::{Addr, Mode, Op, ProcessId, ProcessType, Program, Register, verify};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Slot {
    Value,
    Return(u32),
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    pc: u32,
    stack: Vec<Slot>,
    written: BTreeSet<u8>,
}

/// Why a program is refused.
#[derive(Debug, PartialEq)]
struct Refused(&'static str);

struct Judge<'a> {
    code: &'a [Op],
    /// Instructions that were executed.
    executed: BTreeSet<u32>,
    /// The addresses at which paths begin.
    roots: Vec<u32>,
    /// The depths found for each instruction and sequence of return addresses.
    depths: BTreeMap<(u32, Vec<u32>), BTreeSet<usize>>,
}

impl Judge<'_> {
    fn judge(code: &[Op]) -> Result<(), Refused> {
        let mut judge = Judge { code, executed: BTreeSet::new(), roots: vec![0], depths: BTreeMap::new() };
        let mut done = 0;
        while let Some(&root) = judge.roots.get(done) {
            judge.walk(State { pc: root, stack: Vec::new(), written: BTreeSet::new() }, &mut Vec::new())?;
            done += 1;
        }
        if judge.depths.values().any(|depths| depths.len() > 1) {
            return Err(Refused("V-STACK"));
        }
        let steps = code.iter().zip(0..).filter(|(op, _)| matches!(op, Op::Step { .. })).map(|(_, at)| at);
        if steps.into_iter().any(|at| !judge.executed.contains(&at)) {
            return Err(Refused("V-REACH"));
        }
        Ok(())
    }

    /// Runs all paths from a state; `path` is the path to it.
    fn walk(&mut self, mut state: State, path: &mut Vec<(u32, Vec<Slot>)>) -> Result<(), Refused> {
        let returns = state.stack.iter().filter_map(|slot| if let Slot::Return(to) = slot { Some(*to) } else { None }).collect();
        self.depths.entry((state.pc, returns)).or_default().insert(state.stack.len());
        let here = (state.pc, state.stack.clone());
        if path.contains(&here) {
            return Err(Refused("V-LOOP"));
        }
        self.executed.insert(state.pc);
        let op = self.code[state.pc as usize];
        let pop = |state: &mut State| match state.stack.pop() {
            Some(Slot::Value) => Ok(()),
            _ => Err(Refused("V-STACK")),
        };
        let next = state.pc + 1;
        let mut ways = vec![next];
        match op {
            Op::Ldc { .. } => state.stack.push(Slot::Value),
            Op::Drop {} => pop(&mut state)?,
            Op::Add {} => {
                pop(&mut state)?;
                pop(&mut state)?;
                state.stack.push(Slot::Value);
            }
            Op::Push { reg } => {
                if !state.written.contains(&reg.0) {
                    return Err(Refused("V-ALIVE"));
                }
                state.stack.push(Slot::Value);
            }
            Op::Pop { reg } => {
                pop(&mut state)?;
                state.written.insert(reg.0);
            }
            Op::Jmp { target } => ways = vec![target.0],
            Op::Jmpz { target } => {
                pop(&mut state)?;
                ways.push(target.0);
            }
            Op::Ndet { target } => ways.push(target.0),
            Op::Call { target } => {
                state.stack.push(Slot::Return(next));
                ways = vec![target.0];
            }
            Op::Ret {} => match state.stack.pop() {
                Some(Slot::Return(to)) => ways = vec![to],
                _ => return Err(Refused("V-STACK")),
            },
            Op::Step { mode } => {
                if !state.stack.is_empty() {
                    return Err(Refused("V-ALIVE"));
                }
                if mode != Mode::Terminate && !self.roots.contains(&next) {
                    self.roots.push(next);
                }
                return Ok(());
            }
            _ => return Ok(()),
        }
        // Only endless recursion makes the stack of a small program grow so far.
        if state.stack.len() > 256 {
            return Err(Refused("V-STACK"));
        }
        path.push(here);
        for pc in ways {
            self.walk(State { pc, ..state.clone() }, path)?;
        }
        path.pop();
        Ok(())
    }
}

fn random_op(random: &mut Random, length: usize) -> Op {
    let target = Addr(random.below(length) as u32);
    let reg = Register(random.below(2) as u8);
    match random.below(15) {
        0..=2 => Op::Ldc { value: 1 },
        3 | 4 => Op::Drop {},
        5 => Op::Add {},
        6 => Op::Push { reg },
        7 => Op::Pop { reg },
        8 => Op::Jmp { target },
        9 => Op::Jmpz { target },
        10 => Op::Ndet { target },
        11 => Op::Call { target },
        12 => Op::Ret {},
        13 => Op::Nex {},
        _ => Op::Step { mode: Mode::Normal },
    }
}

#[test]
fn the_verifier_agrees_with_running_everything() {
    let mut random = Random::new(7);
    let mut accepted = 0;
    for case in 0..40_000 {
        let length = 2 + random.below(8);
        let mut code: Vec<Op> = (0..length - 1).map(|_| random_op(&mut random, length)).collect();
        code.push(Op::Step { mode: Mode::Terminate });
        let process =
            ProcessType { name: "P".into(), params: 0, locals: Vec::new(), start: Addr(0), entry: Addr(0), prologue: None, priority: 1 };
        let program = Program { processes: vec![process], instances: vec![ProcessId(0)], code: code.clone(), ..Program::default() };
        let verdict = verify(program);
        let judged = Judge::judge(&code);
        // With several errors the two may find different ones first; only the existence of an error
        // is compared.
        assert_eq!(verdict.is_ok(), judged.is_ok(), "case {case}: {code:?}\nverifier {verdict:?}\njudge {judged:?}");
        accepted += usize::from(verdict.is_ok());
    }
    assert!(accepted > 400, "only {accepted} programs were good");
}
