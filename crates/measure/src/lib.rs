//! Measures of progress of byte-code programs: from the user's text, or from the code.
//!
//! A measure is a list of sums, compared from the first to the last. The parts of a sum are
//! expressions of the model's language, the sum of an array, and the control-flow order of a
//! process. Each sum becomes one atom of the program, so that every engine evaluates it like any
//! other atom. [`pieces`] lists the pieces of which measures can be made, with what the code shows
//! about each.

#![forbid(unsafe_code)]

mod order;
mod pieces;
mod text;

pub use pieces::{Known, MeasurePart, pieces};
pub use text::{Signed, Term, parse};

use bytecode::{Addr, Atom, AtomId, Op, ProcessId, Program, Verified, verify};
use order::ranks;

/// The largest number of parts of one sum.
const PARTS_MAX: usize = 1 << 12;

/// A sum: its parts, and whether each is subtracted.
pub type Sum = Vec<(bool, MeasurePart)>;

/// A program with an atom for each sum, after its own atoms; and the numbers of these atoms. The
/// error is a sentence that says why there is none.
pub fn compose(program: &Verified, sums: &[Sum]) -> Result<(Verified, Vec<u32>), String> {
    let mut made = program.program().clone();
    let mut numbers = Vec::new();
    for sum in sums {
        if sum.len() > PARTS_MAX {
            return Err(format!("a measure has at most {PARTS_MAX} parts"));
        }
        let start = Addr(made.code.len() as u32);
        made.code.push(Op::Ldc { value: 0 });
        for (negative, piece) in sum {
            emit(program, *piece, &mut made)?;
            made.code.push(if *negative { Op::Sub {} } else { Op::Add {} });
        }
        made.code.push(Op::Ret {});
        let number = AtomId::new(made.atoms.len()).ok_or("the program has too many atoms")?;
        numbers.push(number.0.into());
        let name = sum_text(program, sum);
        let taken = |name: &String| made.atoms.iter().any(|atom| atom.name == *name);
        let name = (1..).map(|n| if n == 1 { name.clone() } else { format!("{name}'{n}") }).find(|name| !taken(name)).unwrap_or(name);
        made.atoms.push(Atom { name, start });
    }
    match verify(made) {
        Ok(made) => Ok((made, numbers)),
        Err(error) => Err(format!("the measure is not an atom of the program: {error}")),
    }
}

/// Appends code that pushes the value of a piece.
fn emit(program: &Verified, piece: MeasurePart, made: &mut Program) -> Result<(), String> {
    match piece {
        MeasurePart::Atom(number) => {
            let id = AtomId::new(number as usize).filter(|id| id.index() < program.program().atoms.len());
            copy(program.program(), id.ok_or("there is no such atom")?, made)?;
        }
        MeasurePart::Global(var) => made.code.push(Op::Ldg { var }),
        MeasurePart::Array(var) => {
            let length = program.program().globals[var.index()].length.unwrap_or(0);
            made.code.push(Op::Ldc { value: 0 });
            for index in 0..length {
                made.code.extend([Op::Ldc { value: index as i32 }, Op::Ldgx { var }, Op::Add {}]);
            }
        }
        MeasurePart::Local(pid, ty, var) => made.code.extend([Op::Ldc { value: pid as i32 }, Op::Ldr { var: (ty, var) }]),
        MeasurePart::Order(pid) => {
            let ty = *program.program().instances.get(pid as usize).ok_or("no such process exists from the start")?;
            order(program, pid, ty, made);
        }
    }
    Ok(())
}

/// Copies the code of an atom, except for its end.
fn copy(program: &Program, atom: AtomId, made: &mut Program) -> Result<(), String> {
    let range = program.code_of_atom(atom);
    let shift = made.code.len() as u32;
    let moved = |target: Addr| Addr(target.0 - range.start + shift);
    let code = &program.code[range.start as usize..range.end as usize];
    let Some((Op::Ret {}, body)) = code.split_last() else { return Err("an expression with a call cannot be part of a sum".to_owned()) };
    for op in body {
        made.code.push(match *op {
            Op::Jmp { target } => Op::Jmp { target: moved(target) },
            Op::Jmpz { target } => Op::Jmpz { target: moved(target) },
            Op::Jmpnz { target } => Op::Jmpnz { target: moved(target) },
            Op::Call { .. } | Op::Ret {} => return Err("an expression with a call cannot be part of a sum".to_owned()),
            op => op,
        });
    }
    Ok(())
}

/// The rank of a process in the order of its control flow, as one expression without jumps, because
/// jumps would multiply the paths of a sum. Locations are numbered in the order of the text, so the
/// rank mostly grows by one from each location to the next. The expression adds up the locations
/// where it does not. A process that has ended has a higher rank than all locations.
fn order(program: &Verified, pid: u32, ty: ProcessId, made: &mut Program) {
    let ranks = ranks(program, ty);
    let first = ranks.first().copied().unwrap_or(0);
    let last = ranks.iter().max().map_or(0, |rank| rank + 1);
    let code = &mut made.code;
    // first + (last - first) * (pid >= NRPR)
    code.extend([Op::Ldc { value: pid as i32 }, Op::Nrpr {}, Op::Ge {}, Op::Ldc { value: last - first }, Op::Mul {}]);
    code.extend([Op::Ldc { value: first }, Op::Add {}]);
    // The location is read again each time and not kept in a register, because atoms with registers
    // have no native code. It is 0 if the process has ended.
    let location = [Op::Ldc { value: pid as i32 }, Op::Pcval {}];
    if ranks.iter().copied().eq(0..ranks.len() as i32) {
        code.extend(location);
        code.push(Op::Add {});
        return;
    }
    let changes: Vec<(i32, i32)> = (0..).zip(ranks.windows(2).map(|pair| pair[1] - pair[0])).collect();
    let steps: Vec<(i32, i32)> = changes.iter().copied().filter(|(_, change)| *change != 0).collect();
    let before = std::iter::once(0).chain(changes.iter().map(|(_, change)| *change));
    let bends: Vec<(i32, i32)> = changes.iter().zip(before).map(|((at, change), before)| (*at, change - before)).collect();
    let bends: Vec<(i32, i32)> = bends.into_iter().filter(|(_, bend)| *bend != 0).collect();
    let sloped = bends.len() * 3 < steps.len();
    for (at, change) in if sloped { bends } else { steps } {
        // change * (location > at); in a slope, times the distance of the location from there.
        code.extend(location);
        code.extend([Op::Ldc { value: at }, Op::Gt {}]);
        if sloped {
            code.extend(location);
            code.extend([Op::Ldc { value: at }, Op::Sub {}, Op::Mul {}]);
        }
        code.extend([Op::Ldc { value: change }, Op::Mul {}, Op::Add {}]);
    }
}

/// A sum as a user would write it.
pub fn sum_text(program: &Verified, sum: &Sum) -> String {
    let mut out = String::new();
    for (index, (negative, piece)) in sum.iter().enumerate() {
        out.push_str(match (index, negative) {
            (0, true) => "-",
            (0, false) => "",
            (_, true) => " - ",
            (_, false) => " + ",
        });
        out.push_str(&piece.text(program));
    }
    if out.is_empty() { "0".to_owned() } else { out }
}
