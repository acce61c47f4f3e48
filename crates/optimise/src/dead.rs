//! Dead variables: a local that will be written before it is read again is reset to its initial
//! value.
//!
//! At a control location the values of such locals make no difference, and states that differ only
//! in them behave the same. So the steps that lead to the location reset them. They are set to
//! their initial values, not to zero: a variable that was not used yet has its initial value, and
//! both cases must give the same state. (Bozga, Fernandez and Ghirvu, "State space reduction based
//! on live variables analysis", SAS 1999; SPIN does it with zero.)
//!
//! Liveness is the usual analysis, backwards over the instructions of a process type. Variables
//! that others read are always live. Nothing else changes, so the graph of the smaller program is
//! that of the original one, in which some states that behave the same are one state.

use crate::rewrite::Rewriting;
use crate::scan::Mode2;
use crate::survey::{Survey, types};
use crate::watched::Watched;
use bytecode::{LocalId, Mode, Op, ProcessId, Variable, Verified};
use std::collections::{BTreeMap, BTreeSet};

/// The length of the longest array that is reset.
const ARRAY_MAX: u32 = 8;
/// The largest amount of work for a type, in instructions times words of bits; types that need more
/// are not changed.
const WORK_MAX: usize = 1 << 22;
/// The largest number of rounds over the code; a type that needs more is not changed.
const ROUNDS_MAX: usize = 64;

/// For each type and location, the locals that have their initial value there.
pub(crate) type Resets = Vec<Vec<Vec<LocalId>>>;

/// Which locals are reset where, and the code that does it.
pub(crate) fn resets(survey: &Survey<'_>, watched: &Watched) -> (Resets, Rewriting) {
    let (mut all, mut rewriting) = (Vec::new(), Rewriting::default());
    for (id, _) in types(survey.program()) {
        let resets = of_type(survey, watched, id);
        insert(survey, id, &resets, &mut rewriting);
        all.push(resets.into_iter().map(|locals| locals.into_iter().collect()).collect());
    }
    (all, rewriting)
}

/// For each location of a type the locals that can have their initial value there.
fn of_type(survey: &Survey<'_>, watched: &Watched, id: ProcessId) -> Vec<BTreeSet<LocalId>> {
    let process = &survey.program().processes[id.index()];
    let addresses = survey.verified.locations().addresses(id);
    let mut resets = vec![BTreeSet::new(); addresses.len()];
    let fits = |local: LocalId, variable: &Variable| {
        !variable.scratch
            && !survey.is_fixed(id, local)
            && variable.length.is_none_or(|length| length <= ARRAY_MAX)
            && !survey.remote.contains(&(id, local))
            && !watched.sees_local(id, local)
    };
    let candidates: Vec<LocalId> = (0..process.locals.len())
        .filter_map(|number| Some((LocalId::new(number)?, &process.locals[number])))
        .filter(|(local, variable)| fits(*local, variable))
        .map(|(local, _)| local)
        .collect();
    let Some(live) = (if candidates.is_empty() { None } else { Liveness::of(survey.verified, id) }) else { return resets };
    let entry = survey.entry(id);
    let rests = rests(survey, id);
    let written_first = |local: &LocalId| survey.prologues[id.index()].as_ref().is_some_and(|scan| scan.local_writes.contains(local));
    let dead = |at: usize, local: &LocalId| !live.at(addresses[at].index(), *local);
    // The values with which a process begins (parameters, and what its prologue writes) are not
    // reset at its entry. If the process can come back to its entry, those that are dead there are
    // not reset anywhere, or the two visits would give different states.
    let returns = survey.edges[id.index()].iter().flatten().any(|edge| edge.target.is_some_and(|to| to.index() == entry));
    let begins = |local: &LocalId| local.0 < process.params || written_first(local);
    let kept = |local: &LocalId| returns && begins(local) && dead(entry, local);
    for (at, resets) in resets.iter_mut().enumerate().filter(|(at, _)| rests[*at]) {
        resets.extend(candidates.iter().filter(|local| dead(at, local) && !kept(local) && !(at == entry && begins(local))));
    }
    resets
}

/// For each location of a type, whether it is outside deterministic sequences. No state shows a
/// process in the middle of such a sequence, so nothing is reset there.
fn rests(survey: &Survey<'_>, id: ProcessId) -> Vec<bool> {
    let edges = &survey.edges[id.index()];
    let mut rests = vec![true; edges.len()];
    for edge in edges.iter().flatten().filter(|edge| edge.end.mode == Mode2::Deterministic) {
        edge.target.into_iter().for_each(|to| rests[to.index()] = false);
    }
    rests
}

/// Inserts code that resets locals before the steps that lead to locations where they are dead.
/// Locals that have their initial value already are not reset.
fn insert(survey: &Survey<'_>, id: ProcessId, resets: &[BTreeSet<LocalId>], rewriting: &mut Rewriting) {
    let process = &survey.program().processes[id.index()];
    // Locations may share a step.
    let mut wanted: BTreeMap<usize, BTreeSet<LocalId>> = BTreeMap::new();
    for (from, edges) in survey.edges[id.index()].iter().enumerate() {
        let writes = &survey.scans[id.index()][from].local_writes;
        for edge in edges.iter().filter(|edge| edge.end.mode != Mode2::Deterministic) {
            let Some(to) = edge.target else { continue };
            let changed = resets[to.index()].iter().filter(|local| !resets[from].contains(local) || writes.contains(local));
            wanted.entry(edge.end.step.index()).or_default().extend(changed);
        }
    }
    for (step, locals) in wanted.into_iter().filter(|(_, locals)| !locals.is_empty()) {
        let mut ops = Vec::new();
        for var in locals {
            let variable = &process.locals[var.index()];
            match variable.length {
                None => ops.extend([Op::Ldc { value: variable.initial(0) }, Op::Stl { var }]),
                Some(length) => {
                    for element in 0..length {
                        let value = variable.initial(element as usize);
                        ops.extend([Op::Ldc { value }, Op::Ldc { value: element as i32 }, Op::Stlx { var }]);
                    }
                }
            }
        }
        rewriting.before.push((step, ops));
    }
}

/// Which locals of a type are live before which instruction: a bit for each.
struct Liveness {
    start: usize,
    words: usize,
    bits: Vec<u64>,
}

impl Liveness {
    /// Nothing if the analysis takes too long.
    fn of(verified: &Verified, id: ProcessId) -> Option<Liveness> {
        let program = verified.program();
        let range = program.code_of(id);
        let (start, end) = (range.start as usize, range.end as usize);
        let words = program.processes[id.index()].locals.len().div_ceil(64);
        let size = (end - start).checked_mul(words).filter(|size| *size <= WORK_MAX)?;
        let mut live = Liveness { start, words, bits: vec![0; size] };
        let mut here = vec![0_u64; words];
        for _ in 0..ROUNDS_MAX {
            let mut changed = false;
            for at in (start..end).rev() {
                let op = program.code[at];
                here.fill(0);
                let step = matches!(op, Op::Step { .. });
                if let Op::Step { mode } = op {
                    let location = verified.locations().after_step(bytecode::Addr(at as u32)).filter(|_| mode != Mode::Terminate);
                    let next = location.and_then(|location| verified.locations().address(id, location));
                    next.into_iter().for_each(|next| live.join(next.index(), &mut here));
                }
                op.target().into_iter().for_each(|target| live.join(target.index(), &mut here));
                if !step && !op.ends_path() {
                    live.join(at + 1, &mut here);
                }
                match op {
                    Op::Stl { var } => here[var.index() / 64] &= !(1 << (var.index() % 64)),
                    Op::Ldl { var } | Op::Ldlx { var } => here[var.index() / 64] |= 1 << (var.index() % 64),
                    _ => {}
                }
                let slot = (at - start) * words;
                let before = &mut live.bits[slot..slot + words];
                if *before != here[..] {
                    before.copy_from_slice(&here);
                    changed = true;
                }
            }
            if !changed {
                return Some(live);
            }
        }
        None
    }

    fn join(&self, at: usize, into: &mut [u64]) {
        let Some(slot) = at.checked_sub(self.start).map(|at| at * self.words) else { return };
        if let Some(bits) = self.bits.get(slot..slot + self.words) {
            into.iter_mut().zip(bits).for_each(|(into, bits)| *into |= bits);
        }
    }

    /// Whether a local is live before the instruction at an address.
    fn at(&self, at: usize, local: LocalId) -> bool {
        let word = (at - self.start) * self.words + local.index() / 64;
        self.bits.get(word).is_none_or(|bits| bits >> (local.index() % 64) & 1 != 0)
    }
}
