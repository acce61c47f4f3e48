//! Reduces a program as long as it still shows a given behaviour.
//!
//! Each attempt is a complete program that the verifier must accept; this module does not know what
//! the behaviour is. Ranges of instructions are removed, large ones first (delta debugging);
//! instructions are replaced by simpler ones with the same stack effect; unused instances,
//! variables, channels and process types are removed.

use bytecode::{Addr, ChannelTypeId, GlobalId, LocalId, Op, ProcessId, Program, Verified};

/// The smallest program found that the verifier accepts and for which `shows` still holds.
/// `attempts` bounds the work.
pub fn shrink(program: &Program, mut attempts: usize, shows: &mut dyn FnMut(&Verified) -> bool) -> Program {
    let mut best = program.clone();
    best.labels.retain(|label| label.kind != Default::default());
    best.spans.clear();
    let mut accept = |candidate: Program, best: &mut Program| {
        if attempts == 0 || candidate == *best {
            return false;
        }
        attempts -= 1;
        bytecode::verify(candidate).is_ok_and(|verified| {
            let shown = shows(&verified);
            if shown {
                *best = verified.program().clone();
            }
            shown
        })
    };
    accept(without_properties(&best), &mut best);
    loop {
        let before = best.clone();
        instances(&mut best, &mut accept);
        code(&mut best, &mut accept);
        plainer(&mut best, &mut accept);
        tables(&mut best, &mut accept);
        if best == before {
            return best;
        }
    }
}

/// The program without properties and the code of their atoms.
fn without_properties(program: &Program) -> Program {
    let mut program = program.clone();
    program.code.truncate(program.atoms_start().index());
    program.atoms.clear();
    program.properties.clear();
    program
}

type Accept<'a> = dyn FnMut(Program, &mut Program) -> bool + 'a;

fn instances(best: &mut Program, accept: &mut Accept<'_>) {
    for i in (0..best.instances.len()).rev() {
        let mut candidate = best.clone();
        candidate.instances.remove(i);
        accept(candidate, best);
    }
}

fn code(best: &mut Program, accept: &mut Accept<'_>) {
    let mut size = best.code.len().next_power_of_two();
    while size > 0 {
        let mut at = best.code.len();
        while at > 0 {
            at = at.saturating_sub(size);
            if at + size <= best.code.len() {
                let candidate = without(best, at, size);
                accept(candidate, best);
            }
        }
        size /= 2;
    }
}

/// The program without `count` instructions at `at`. Jumps to them go to the next instruction.
fn without(program: &Program, at: usize, count: usize) -> Program {
    let (at, count) = (at as u32, count as u32);
    let moved = |addr: Addr| Addr(if addr.0 >= at + count { addr.0 - count } else { addr.0.min(at) });
    let mut program = program.clone();
    program.code.drain(at as usize..(at + count) as usize);
    program.readdress(moved);
    program
}

/// Replaces instructions by simpler ones with the same stack effect.
fn plainer(best: &mut Program, accept: &mut Accept<'_>) {
    for at in (0..best.code.len()).rev() {
        let Some(&op) = best.code.get(at) else { continue };
        if let Some(target) = op.target()
            && op.pops() == 0
        {
            let mut candidate = best.clone();
            candidate.code[at] = Op::Jmp { target };
            accept(candidate, best);
            continue;
        }
        // A value that is pushed and dropped again is removed together with its drop.
        if let (Op::Ldc { .. }, Some(Op::Ldc { .. }), Some(Op::Drop {})) = (op, best.code.get(at + 1), best.code.get(at + 2)) {
            let candidate = without(best, at + 1, 2);
            accept(candidate, best);
        }
        if matches!(op, Op::Ldc { .. } | Op::Drop {} | Op::Step { .. } | Op::Ret {}) {
            continue;
        }
        for value in [0, 1] {
            let plain: Vec<Op> =
                std::iter::repeat_n(Op::Drop {}, op.pops()).chain(std::iter::repeat_n(Op::Ldc { value }, op.pushes())).collect();
            let mut candidate = if plain.is_empty() { continue } else { inserted(best, at, plain.len() - 1) };
            candidate.code[at..at + plain.len()].copy_from_slice(&plain);
            if accept(candidate, best) {
                break;
            }
        }
    }
}

/// The program with room for `count` more instructions after `at`.
fn inserted(program: &Program, at: usize, count: usize) -> Program {
    let moved = |addr: Addr| if addr.index() > at { Addr(addr.0 + count as u32) } else { addr };
    let mut program = program.clone();
    program.code.splice(at + 1..at + 1, std::iter::repeat_n(Op::Nex {}, count));
    program.readdress(moved);
    program
}

/// Removes entries of the tables that the code does not need.
fn tables(best: &mut Program, accept: &mut Accept<'_>) {
    for i in 0..best.processes.len() {
        let mut candidate = best.clone();
        candidate.processes[i].prologue = None;
        accept(candidate, best);
        let mut candidate = best.clone();
        candidate.processes[i].priority = 1;
        accept(candidate, best);
    }
    for i in (0..best.processes.len()).rev() {
        if let Some(candidate) = without_process(best, i) {
            accept(candidate, best);
        }
    }
    for i in (0..best.labels.len()).rev() {
        let mut candidate = best.clone();
        candidate.labels.remove(i);
        accept(candidate, best);
    }
    for i in (0..best.globals.len()).rev() {
        let mut candidate = best.clone();
        candidate.globals.remove(i);
        candidate.code.iter_mut().for_each(|op| lower_global(op, i));
        accept(candidate, best);
    }
    for i in 0..best.globals.len() {
        let mut candidate = best.clone();
        candidate.globals[i].scratch = false;
        candidate.globals[i].init.clear();
        accept(candidate, best);
    }
    for ty in 0..best.processes.len() {
        for i in (0..best.processes[ty].locals.len()).rev() {
            if let Some(candidate) = without_local(best, ty, i) {
                accept(candidate, best);
            }
        }
    }
    for i in (0..best.channels.len()).rev() {
        let mut candidate = best.clone();
        candidate.channels.remove(i);
        accept(candidate, best);
    }
    for i in (0..best.channel_types.len()).rev() {
        if let Some(candidate) = without_channel_type(best, i) {
            accept(candidate, best);
        }
    }
}

fn lower_global(op: &mut Op, gone: usize) {
    if let Op::Ldg { var } | Op::Stg { var } | Op::Ldgx { var } | Op::Stgx { var } = op
        && var.index() > gone
    {
        *var = GlobalId(var.0 - 1);
    }
}

fn without_local(program: &Program, ty: usize, gone: usize) -> Option<Program> {
    let range = program.code_of(ProcessId(ty as u8));
    let mut program = program.clone();
    let used = |op: &Op, own: bool| match op {
        Op::Ldl { var } | Op::Stl { var } | Op::Ldlx { var } | Op::Stlx { var } => own && var.index() == gone,
        Op::Ldr { var } | Op::Ldrx { var } => var.0.index() == ty && var.1.index() == gone,
        Op::Run { process, .. } => process.index() == ty && gone < program.processes[ty].params as usize,
        _ => false,
    };
    if program.code.iter().enumerate().any(|(at, op)| used(op, range.contains(&(at as u32)))) {
        return None;
    }
    program.processes[ty].locals.remove(gone);
    if gone < program.processes[ty].params as usize {
        program.processes[ty].params -= 1;
    }
    for (at, op) in program.code.iter_mut().enumerate() {
        let var = match op {
            Op::Ldl { var } | Op::Stl { var } | Op::Ldlx { var } | Op::Stlx { var } if range.contains(&(at as u32)) => var,
            Op::Ldr { var } | Op::Ldrx { var } if var.0.index() == ty => &mut var.1,
            _ => continue,
        };
        if var.index() > gone {
            *var = LocalId(var.0 - 1);
        }
    }
    Some(program)
}

fn without_process(program: &Program, gone: usize) -> Option<Program> {
    let named = |op: &mut Op| match op {
        Op::Run { process, .. } => Some(*process),
        Op::Ldr { var } | Op::Ldrx { var } => Some(var.0),
        Op::At { place } => Some(place.0),
        _ => None,
    };
    let range = program.code_of(ProcessId(gone as u8));
    let mut program = without(program, range.start as usize, range.len());
    let used = program.code.iter_mut().any(|op| named(op).is_some_and(|p| p.index() == gone));
    if used || program.instances.iter().any(|p| p.index() == gone) {
        return None;
    }
    program.processes.remove(gone);
    let lower = |p: &mut ProcessId| p.0 -= u8::from(p.index() > gone);
    program.instances.iter_mut().for_each(lower);
    for op in &mut program.code {
        match op {
            Op::Run { process, .. } => lower(process),
            Op::Ldr { var } | Op::Ldrx { var } => lower(&mut var.0),
            Op::At { place } => lower(&mut place.0),
            _ => {}
        }
    }
    Some(program)
}

fn without_channel_type(program: &Program, gone: usize) -> Option<Program> {
    let mut program = program.clone();
    let used = program.code.iter().any(|op| matches!(op, Op::Chnew { ty } if ty.index() == gone));
    if used || program.channels.iter().any(|channel| channel.ty.index() == gone) {
        return None;
    }
    program.channel_types.remove(gone);
    let lower = |ty: &mut ChannelTypeId| ty.0 -= u8::from(ty.index() > gone);
    program.channels.iter_mut().for_each(|channel| lower(&mut channel.ty));
    for op in &mut program.code {
        if let Op::Chnew { ty } = op {
            lower(ty);
        }
    }
    Some(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytecode::Mode;

    #[test]
    fn what_is_not_needed_goes() {
        // A behaviour of every program with a STEP A: the smallest has little else.
        let has_atomic = |verified: &Verified| verified.program().code.contains(&Op::Step { mode: Mode::Atomic });
        let seed = (0..).find(|&seed| crate::random::verified(seed).is_some_and(|verified| has_atomic(&verified))).expect("one in two");
        let program = crate::random::program(seed);
        let small = shrink(&program, 10_000, &mut |verified| has_atomic(verified));
        assert!(small.code.len() < 12 && small.code.len() < program.code.len(), "{small:?}");
        assert!(small.globals.is_empty() && small.channels.is_empty() && small.processes.len() == 1, "{small:?}");
    }
}
