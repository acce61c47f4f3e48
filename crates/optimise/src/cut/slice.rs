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
//!   processes can end only after younger ones. Numbers are not reused if all processes are created
//!   in the first transition.
//!
//! One question about other processes changes nothing: a process at its end may ask whether it is
//! the youngest, to end at once and otherwise later. LF asks it.

use super::needs::{Needs, Node};
use crate::Goal;
use crate::scan::{Budget, Mode2, Scan, scan};
use crate::survey::{Channels, Edge, Survey, types};
use bytecode::{Addr, AtomId, Mode, Op, ProcessId};
use std::collections::BTreeSet;
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
    let own = program.code[..program.atoms_start().index()].iter().enumerate();
    let own = own.filter(|(at, _)| !is_about_its_end(&program.code, *at)).map(|(_, op)| op);
    let of_atoms = atoms.iter().flat_map(|atom| &program.code[as_range(program.code_of_atom(*atom))]);
    own.chain(of_atoms).any(asks) || survey.verified.layout().processes.iter().any(|process| process.priority.is_some())
}

/// Whether an instruction belongs to the question whether the process is the youngest, of which
/// nothing depends but whether it ends at once or in a step of its own:
/// `PID; LDC 1; ADD; NRPR; EQ; JMPZ a; STEP T`, and at *a* `STEP N; STEP T`.
fn is_about_its_end(code: &[Op], at: usize) -> bool {
    let begin = match code[at] {
        Op::Pid {} => Some(at),
        Op::Nrpr {} => at.checked_sub(3),
        _ => None,
    };
    let Some([Op::Pid {}, Op::Ldc { value: 1 }, Op::Add {}, Op::Nrpr {}, Op::Eq {}, Op::Jmpz { target }, end]) =
        begin.and_then(|begin| code.get(begin..begin + 7))
    else {
        return false;
    };
    let later = code.get(target.index()..target.index() + 2);
    let ends = |op: &Op| matches!(op, Op::Step { mode: Mode::Terminate });
    ends(end) && matches!(later, Some([Op::Step { mode: Mode::Normal }, end]) if ends(end))
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
        let sees = |op: &Op| matches!(op, Op::Ldr { .. } | Op::Ldrx { .. } | Op::At { .. } | Op::Xr {} | Op::Xs {} | Op::Chnew { .. });
        if own.iter().chain(of_atoms).any(sees) {
            return true;
        }
        if self.all_at_once() {
            return false;
        }
        let numbered = (0..own.len()).any(|at| matches!(own[at], Op::Pid {}) && !is_about_its_end(own, at));
        let starts = own.iter().any(|op| matches!(op, Op::Run { .. }));
        let kept_numbers = own.windows(2).any(|pair| matches!(pair[0], Op::Run { .. }) && !matches!(pair[1], Op::Drop {}));
        let many = types(program).any(|(id, _)| !self.survey.is_single(id));
        numbered || (starts && (kept_numbers || many))
    }

    /// Whether all processes are created in the first transition: one process exists at first, and
    /// only its first step, with the invisible ones it continues with, creates others.
    fn all_at_once(&self) -> bool {
        let (survey, program) = (self.survey, self.survey.program());
        let [first] = program.instances[..] else { return false };
        if !survey.is_single(first) {
            return false;
        }
        let (edges, scans) = (&survey.edges[first.index()], &survey.scans[first.index()]);
        let goes_on = |edge: &Edge| edge.end.mode == Mode2::Invisible && edge.target.is_some_and(|to| !scans[to.index()].waits);
        let (mut begun, mut open) = (BTreeSet::new(), vec![survey.entry(first)]);
        while let Some(at) = open.pop() {
            if begun.insert(at) {
                open.extend(edges[at].iter().filter(|edge| goes_on(edge)).filter_map(|edge| Some(edge.target?.index())));
            }
        }
        // The process must not come back to where it creates others.
        let comes_back = edges.iter().enumerate().any(|(from, edges)| {
            let back = |edge: &Edge| edge.target.is_some_and(|to| begun.contains(&to.index())) && !(begun.contains(&from) && goes_on(edge));
            edges.iter().any(back)
        });
        let creates = |scan: &Scan| !scan.runs.is_empty();
        let elsewhere = types(program).any(|(id, _)| {
            let scans = survey.scans[id.index()].iter().enumerate();
            let later = scans.filter(|(at, _)| id != first || !begun.contains(at)).map(|(_, scan)| scan);
            later.chain(survey.prologues[id.index()].as_ref()).any(creates)
        });
        !comes_back && !elsewhere
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
