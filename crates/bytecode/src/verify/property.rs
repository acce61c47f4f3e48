//! Rules V-ATOM and V-PROPERTY, about properties.

use super::error::{Table, VerifyErrorKind};
use super::tables::unique;
use crate::ids::{Addr, AtomId};
use crate::ops::{MAX_FIELDS, Op};
use crate::program::Program;
use crate::property::{Automaton, EdgeLabel, Origin, PropertyBody, PropertyEntry};

type Check = Result<(), VerifyErrorKind>;

/// Whether an atom may contain the instruction at this address: it changes nothing, does not depend
/// on an active process, and jumps only forward.
pub(super) fn may_stand_in_atom(addr: Addr, op: &Op) -> bool {
    let allowed = matches!(
        op,
        Op::Ldc { .. }
            | Op::Ldg { .. }
            | Op::Ldgx { .. }
            | Op::Ldr { .. }
            | Op::Ldrx { .. }
            | Op::Chk { .. }
            | Op::Push { .. }
            | Op::Pop { .. }
            | Op::Drop {}
            | Op::Add {}
            | Op::Sub {}
            | Op::Mul {}
            | Op::Addv {}
            | Op::Subv {}
            | Op::Mulv {}
            | Op::Range { .. }
            | Op::Div {}
            | Op::Mod {}
            | Op::Neg {}
            | Op::And {}
            | Op::Or {}
            | Op::Xor {}
            | Op::Not {}
            | Op::Shl {}
            | Op::Shr {}
            | Op::Eq {}
            | Op::Ne {}
            | Op::Lt {}
            | Op::Le {}
            | Op::Gt {}
            | Op::Ge {}
            | Op::Lnot {}
            | Op::Jmp { .. }
            | Op::Jmpz { .. }
            | Op::Jmpnz { .. }
            | Op::Ret {}
            | Op::Nrpr {}
            | Op::Last {}
            | Op::Enabled {}
            | Op::Pcval {}
            | Op::At { .. }
            | Op::Timeout {}
            | Op::Np {}
            | Op::Getprio {}
            | Op::Len {}
            | Op::Empty {}
            | Op::Full {}
            | Op::Poll { .. }
    );
    allowed && op.target().is_none_or(|target| target > addr)
}

/// Checks all properties. The tables they name must have been checked.
pub(super) fn check(program: &Program) -> Check {
    program.properties.iter().try_for_each(|property| one(program, property))
}

fn one(program: &Program, property: &PropertyEntry) -> Check {
    let wrong = |why| Err(VerifyErrorKind::Property { name: property.name.clone(), why });
    let atom = |atom: AtomId| if atom.index() < program.atoms.len() { Ok(()) } else { wrong("it refers to an atom that does not exist") };
    origin(program, property.origin.as_ref())?;
    match &property.kind {
        PropertyBody::Ltl(formula) => {
            if !formula.is_well_formed() {
                return wrong("its formula is not well-formed, or too long");
            }
            formula.atoms().try_for_each(atom)
        }
        PropertyBody::Never(automaton) => {
            if automaton.edges.iter().any(|edge| edge.label.event().is_some()) {
                return wrong("a claim over states refers to a channel event");
            }
            edges(program, automaton, wrong, atom)
        }
        PropertyBody::Trace(automaton) | PropertyBody::Notrace(automaton) => {
            let good = |label: &EdgeLabel| match label {
                EdgeLabel::True | EdgeLabel::Else => true,
                EdgeLabel::When(_) | EdgeLabel::Assert(_) => false,
                EdgeLabel::Send(event) | EdgeLabel::Receive(event) => (1..=MAX_FIELDS).contains(&event.fields.len()),
            };
            if !automaton.edges.iter().all(|edge| good(&edge.label)) {
                return wrong("a claim over channel events refers to a state, or to a message without fields or with too many");
            }
            edges(program, automaton, wrong, atom)
        }
    }
}

fn edges(program: &Program, automaton: &Automaton, wrong: impl Fn(&'static str) -> Check, atom: impl Fn(AtomId) -> Check) -> Check {
    if automaton.states.is_empty() {
        return wrong("its automaton has no state");
    }
    unique(Table::States, automaton.states.iter().map(|state| state.name.as_str()))?;
    let known = |state: u32| (state as usize) < automaton.states.len();
    for edge in &automaton.edges {
        if !known(edge.source) || !edge.target.is_none_or(known) {
            return wrong("an edge names a state that does not exist");
        }
        edge.label.atoms().into_iter().try_for_each(&atom)?;
        origin(program, edge.origin.as_ref())?;
    }
    Ok(())
}

fn origin(program: &Program, origin: Option<&Origin>) -> Check {
    match origin.is_some_and(|origin| origin.file.index() >= program.files.len()) {
        true => Err(VerifyErrorKind::Unknown { table: Table::Files }),
        false => Ok(()),
    }
}
