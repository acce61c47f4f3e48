//! Slicing: finds the processes that a property depends on.
//!
//! A process is left out if the property does not refer to it and nothing that is kept depends on
//! what it does: it writes no variable that is needed and uses no channel that others use. In the
//! slice it exists and never moves. So every run of the slice is a run of the program in which
//! these processes wait, and traces need no change.
//!
//! In the other direction, a run of the program without the steps of such a process must be a run
//! of the slice that the property cannot distinguish from it. This needs more:
//!
//! - Neither the program nor the property asks which processes can move or exist (`timeout`,
//!   `enabled`, priorities).
//! - For faults, the process cannot commit one, and deadlocks are not looked for.
//! - For a formula that a finite run can violate, nothing more is needed. For others, the process
//!   cannot move for ever: if it did, the others might never move again, and the property could
//!   depend on that.
//! - If the process can end, this is not observable: numbers of processes are reused, and older
//!   processes can end only after younger ones.

use super::needs::{Needs, Node};
use crate::Goal;
use crate::scan::{Budget, Scan, scan};
use crate::survey::{Channels, Survey, types};
use bytecode::{Addr, AtomId, Mode, Op, ProcessId};
use std::fmt;

/// Why no process was left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whole {
    Deadlocks,
    Steps,
    Everybody,
}

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Whole::Deadlocks => "a deadlock depends on every process (`--no-deadlock` looks for errors only)",
            Whole::Steps => "the property depends on single steps or on fairness",
            Whole::Everybody => "the model or the property asks which processes can move or exist",
        })
    }
}

/// The types of which processes can exist.
pub(crate) fn existing(survey: &Survey<'_>) -> Vec<bool> {
    types(survey.program()).map(|(id, _)| survey.exists(id)).collect()
}

/// The types that a property depends on; and, if no type may be left out, the reason.
pub(crate) fn kept(survey: &Survey<'_>, needs: &Needs, goal: Goal<'_>, assertions: bool) -> (Vec<bool>, Option<Whole>) {
    let all = existing(survey);
    let whole = match goal {
        Goal::Faults => Some(Whole::Deadlocks),
        Goal::Steps(_) => Some(Whole::Steps),
        _ if asks_about_everybody(survey, goal.atoms()) => Some(Whole::Everybody),
        _ => None,
    };
    if whole.is_some() {
        return (all, whole);
    }
    let slicer = Slicer { survey, needs, goal, assertions };
    let mut kept: Vec<bool> = types(survey.program()).map(|(id, _)| all[id.index()] && slicer.must_stay(id)).collect();
    loop {
        let wanted = slicer.wanted_by(&kept);
        let before = kept.clone();
        for (id, _) in types(survey.program()).filter(|(id, _)| all[id.index()]) {
            kept[id.index()] |= wanted[id.index()];
        }
        if kept == before {
            return (kept, None);
        }
    }
}

/// The channels that atoms refer to.
pub(crate) fn channels_of_atoms(survey: &Survey<'_>, atoms: &[AtomId]) -> Vec<Channels> {
    let looked_at = scans_of_atoms(survey, atoms);
    let Some(scans) = looked_at else { return vec![Channels::Any] };
    scans.iter().flat_map(|scan| &scan.channels).map(|(_, value)| survey.channels(ProcessId(0), *value)).collect()
}

fn scans_of_atoms(survey: &Survey<'_>, atoms: &[AtomId]) -> Option<Vec<Scan>> {
    let program = survey.program();
    let mut budget = Budget(program.code.len().saturating_mul(8));
    atoms.iter().map(|atom| scan(program, program.atoms.get(atom.index())?.start, &mut budget)).collect()
}

/// Whether code or atoms depend on all processes.
fn asks_about_everybody(survey: &Survey<'_>, atoms: &[AtomId]) -> bool {
    let program = survey.program();
    let asks = |op: &Op| {
        matches!(
            op,
            Op::Timeout {} | Op::Last {} | Op::Enabled {} | Op::Np {} | Op::Nrpr {} | Op::Getprio {} | Op::Setprio {} | Op::Pcval {}
        )
    };
    let own = &program.code[..program.atoms_start().index()];
    let of_atoms = atoms.iter().flat_map(|atom| &program.code[as_range(program.code_of_atom(*atom))]);
    own.iter().chain(of_atoms).any(asks) || survey.verified.layout().processes.iter().any(|process| process.priority.is_some())
}

fn as_range(range: std::ops::Range<u32>) -> std::ops::Range<usize> {
    range.start as usize..range.end as usize
}

struct Slicer<'s, 'p> {
    survey: &'s Survey<'p>,
    needs: &'s Needs,
    goal: Goal<'s>,
    assertions: bool,
}

impl Slicer<'_, '_> {
    fn ops(&self, id: ProcessId) -> impl Iterator<Item = (Addr, &Op)> {
        let program = self.survey.program();
        program.code_of(id).map(Addr).map(|at| (at, &program.code[at.index()]))
    }

    /// Whether a type must be kept, whatever the others do.
    fn must_stay(&self, id: ProcessId) -> bool {
        let program = self.survey.program();
        let makes = self.ops(id).any(|(_, op)| matches!(op, Op::Run { .. } | Op::Chnew { .. }));
        if makes || program.processes[id.index()].prologue.is_some() {
            return true;
        }
        let ends = self.ops(id).any(|(_, op)| matches!(op, Op::Step { mode: Mode::Terminate }));
        if ends && self.ends_are_seen() {
            return true;
        }
        match self.goal {
            Goal::Errors => self.needs.types[id.index()].faults,
            Goal::Prefix(_) => false,
            Goal::Labels => self.survey.has_cycle(id) || self.has_labels(id),
            Goal::Formula(_) => self.survey.has_cycle(id),
            Goal::Faults | Goal::Steps(_) => true,
        }
    }

    fn has_labels(&self, id: ProcessId) -> bool {
        let program = self.survey.program();
        let range = program.code_of(id);
        program.labels.iter().any(|label| range.contains(&label.addr.0) && (label.kind.accept || label.kind.progress))
    }

    /// Whether it is observable that a process has ended, or that processes have other numbers.
    fn ends_are_seen(&self) -> bool {
        let program = self.survey.program();
        let own = &program.code[..program.atoms_start().index()];
        let of_atoms = self.goal.atoms().iter().flat_map(|atom| &program.code[as_range(program.code_of_atom(*atom))]);
        let sees = |op: &Op| {
            matches!(op, Op::Pid {} | Op::Ldr { .. } | Op::Ldrx { .. } | Op::At { .. } | Op::Xr {} | Op::Xs {} | Op::Chnew { .. })
        };
        let starts = own.iter().any(|op| matches!(op, Op::Run { .. }));
        let kept_numbers = own.windows(2).any(|pair| matches!(pair[0], Op::Run { .. }) && !matches!(pair[1], Op::Drop {}));
        let many = types(program).any(|(id, _)| !self.survey.is_single(id));
        own.iter().chain(of_atoms).any(sees) || (starts && (kept_numbers || many))
    }

    /// The types that the kept code depends on.
    fn wanted_by(&self, kept: &[bool]) -> Vec<bool> {
        let (survey, program) = (self.survey, self.survey.program());
        let atoms = self.goal.atoms();
        let needed = self.needs.closure(kept, atoms, self.assertions);
        let looked_at = channels_of_atoms(survey, atoms);
        let used: Vec<&Channels> =
            survey.uses().iter().filter(|(user, ..)| kept[user.index()]).map(|(_, _, channels)| channels).chain(&looked_at).collect();
        let left: Vec<&Op> = types(program)
            .filter(|(id, _)| kept[id.index()])
            .flat_map(|(id, _)| &program.code[as_range(program.code_of(id))])
            .chain(atoms.iter().flat_map(|atom| &program.code[as_range(program.code_of_atom(*atom))]))
            .collect();
        let wanted = |id: ProcessId| {
            let writes =
                survey.scans[id.index()].iter().any(|scan| scan.global_writes.iter().any(|var| needed.contains(&Node::Global(*var))));
            let looks =
                needed.iter().any(|node| matches!(node, Node::Local(owner, local) if *owner == id && is_looked_at(&left, id, *local)));
            let stands = left.iter().any(|op| matches!(op, Op::At { place } if place.0 == id));
            let sends = survey.uses().iter().filter(|(user, ..)| *user == id).any(|(_, _, mine)| used.iter().any(|used| meet(mine, used)));
            let starts = self.ops(id).any(|(_, op)| matches!(op, Op::Run { process, .. } if kept[process.index()]));
            writes || looks || stands || sends || starts
        };
        types(program).map(|(id, _)| wanted(id)).collect()
    }
}

/// Whether kept code of another process reads a local of a type.
fn is_looked_at(left: &[&Op], id: ProcessId, local: bytecode::LocalId) -> bool {
    left.iter().any(|op| matches!(op, Op::Ldr { var } | Op::Ldrx { var } if *var == (id, local)))
}

/// Whether two values may name the same channel.
fn meet(a: &Channels, b: &Channels) -> bool {
    match (a, b) {
        (Channels::Known(a), Channels::Known(b)) => !a.is_disjoint(b),
        (Channels::Known(set), Channels::Any) | (Channels::Any, Channels::Known(set)) => !set.is_empty(),
        (Channels::Any, Channels::Any) => true,
    }
}
