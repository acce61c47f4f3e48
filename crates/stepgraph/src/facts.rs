//! Facts about a program before its steps are built: which globals never change, and where
//! the sides of conditions meet.
//!
//! Both are found in one pass over the code. The graphs of single locations share them.

use bytecode::{Addr, GlobalId, Op, Verified};

/// Deepest nesting of conditions that become one expression; those around them become tests.
const MAX_NESTING: u8 = 64;
/// The longest look-ahead for the meeting point of two sides, with an inner condition counted as
/// one instruction.
const MAX_LOOK_AHEAD: usize = 1 << 12;
/// No address.
const NOWHERE: u32 = u32::MAX;

/// Facts about a whole program.
#[derive(Clone, Debug)]
pub struct Facts {
    /// For each global, its value if no instruction writes it.
    constants: Vec<Option<i32>>,
    /// For each conditional jump, where its sides meet if they only compute until then; otherwise
    /// [`NOWHERE`].
    meetings: Vec<u32>,
}

impl Facts {
    /// The facts about a program.
    pub fn of(program: &Verified) -> Facts {
        let program = program.program();
        let mut constants: Vec<Option<i32>> =
            program.globals.iter().map(|v| (v.length.is_none() && !v.scratch).then(|| v.ty.truncate(v.initial(0)))).collect();
        for op in &program.code {
            if let Op::Stg { var } | Op::Stgx { var } = op {
                constants[var.index()] = None;
            }
        }
        Facts { constants, meetings: meetings(&program.code) }
    }

    /// The value of a global that never changes.
    pub(crate) fn constant(&self, global: GlobalId) -> Option<i32> {
        self.constants[global.index()]
    }

    /// The address at which the sides of a conditional jump join, if they only compute until then.
    pub(crate) fn meeting(&self, jump: Addr) -> Option<Addr> {
        self.meetings.get(jump.index()).filter(|&&at| at != NOWHERE).map(|&at| Addr(at))
    }
}

/// The code is visited backwards, so that everything between a conditional jump and its targets is
/// known. Each instruction that only computes has one successor, always at a higher address; the
/// successor of a conditional jump is the meeting point of its sides. Two sides meet where their
/// chains of successors meet. This is found by advancing whichever chain is behind.
fn meetings(code: &[Op]) -> Vec<u32> {
    let mut following = vec![NOWHERE; code.len()];
    let mut meetings = vec![NOWHERE; code.len()];
    let mut nesting = vec![0_u8; code.len()];
    for at in (0..code.len()).rev() {
        let after = at as u32 + 1;
        following[at] = match code[at] {
            Op::Jmp { target } if target.0 > at as u32 => target.0,
            Op::Jmpz { target } | Op::Jmpnz { target } if target.0 > at as u32 => match meeting(&following, &nesting, after, target.0) {
                Some((meeting, depth)) if depth < MAX_NESTING => {
                    nesting[at] = depth + 1;
                    meetings[at] = meeting;
                    meeting
                }
                _ => NOWHERE,
            },
            op if computes(&op) => after,
            _ => NOWHERE,
        };
    }
    meetings
}

/// The address at which two chains join, and the deepest nesting of conditions before it.
fn meeting(following: &[u32], nesting: &[u8], mut a: u32, mut b: u32) -> Option<(u32, u8)> {
    let mut depth = 0;
    for _ in 0..MAX_LOOK_AHEAD {
        if a == b {
            return Some((a, depth));
        }
        let behind = if a < b { &mut a } else { &mut b };
        let at = *behind as usize;
        depth = depth.max(*nesting.get(at)?);
        *behind = *following.get(at)?;
        if *behind == NOWHERE {
            return None;
        }
    }
    None
}

/// Whether an instruction only computes: it takes values from the stack, reads the state and pushes
/// a value.
fn computes(op: &Op) -> bool {
    !matches!(
        op,
        Op::Jmp { .. }
            | Op::Jmpz { .. }
            | Op::Jmpnz { .. }
            | Op::Ndet { .. }
            | Op::Else { .. }
            | Op::Unless { .. }
            | Op::Call { .. }
            | Op::Ret {}
            | Op::Step { .. }
            | Op::Nex {}
            | Op::Nexz {}
            | Op::Stg { .. }
            | Op::Stl { .. }
            | Op::Stgx { .. }
            | Op::Stlx { .. }
            | Op::Pop { .. }
            | Op::Drop {}
            | Op::Send { .. }
            | Op::Sends { .. }
            | Op::Recv { .. }
            | Op::Run { .. }
            | Op::Chnew { .. }
            | Op::Setprio {}
            | Op::Xr {}
            | Op::Xs {}
            | Op::Assert {}
            | Op::Print { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jump(target: u32) -> Op {
        Op::Jmp { target: Addr(target) }
    }

    fn if_zero(target: u32) -> Op {
        Op::Jmpz { target: Addr(target) }
    }

    const ONE: Op = Op::Ldc { value: 1 };

    #[test]
    fn sides_meet_behind_inner_conditions() {
        // 0: c, 1: jmpz 7, 2: c, 3: jmpz 5, 4: nothing, 5: (inner meeting) c, 6: jmp 8, 7: c, 8:
        // the outer meeting.
        let code = [ONE, if_zero(7), ONE, if_zero(5), jump(5), ONE, jump(8), ONE, Op::Nexz {}];
        let found = meetings(&code);
        assert_eq!((found[1], found[3]), (8, 5));
    }

    #[test]
    fn sides_with_an_effect_do_not_meet() {
        let code = [ONE, if_zero(4), ONE, Op::Drop {}, Op::Nexz {}];
        assert_eq!(meetings(&code)[1], NOWHERE);
        let backwards = [ONE, if_zero(0), Op::Nexz {}];
        assert_eq!(meetings(&backwards)[1], NOWHERE);
    }

    /// The conditions around the innermost ones wait for a meeting point deeper inside; from some
    /// depth on there is none.
    #[test]
    fn nesting_has_a_limit() {
        let levels = 3 * MAX_NESTING as u32;
        let mut code = Vec::new();
        for level in 0..levels {
            code.extend([ONE, if_zero(2 * levels + 2 * (levels - level) - 1)]);
        }
        for _ in 0..levels {
            code.extend([jump(code.len() as u32 + 2), ONE]);
        }
        code.push(Op::Nexz {});
        let found: Vec<bool> = meetings(&code).into_iter().map(|at| at != NOWHERE).collect();
        assert!(!found[1] && found[2 * levels as usize - 1]);
        assert_eq!(found.iter().filter(|found| **found).count(), MAX_NESTING as usize);
    }
}
