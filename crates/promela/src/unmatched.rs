//! Variables of C that are tracked but not matched.
//!
//! SPIN restores such a variable when it backtracks, but does not compare it, so states that differ
//! only in it count as one. The result of a search then depends on the order of its steps, unless
//! the variable influences nothing but itself. If this can be shown, its values are not kept at
//! all, and the states are SPIN's. Otherwise it stays in the state, and a warning says so.

use crate::graph::Graph;
use crate::hidden::{Set, action_reads, reads};
use crate::model::{Action, LtlNode, Model, Place, Scope, Target};
use source::Diagnostic;

/// Leaves the values of unmatched variables out of the states if nothing depends on them.
pub(crate) fn forget(model: &Model, graphs: &mut [Graph], automata: &[Graph], diagnostics: &mut Vec<Diagnostic>) {
    let unmatched: Set = (0..model.globals.len()).filter(|&i| model.globals[i].unmatched).collect();
    if unmatched.is_empty() {
        return;
    }
    let mut kept = Set::new();
    for process in &model.processes {
        process.provided.iter().for_each(|provided| reads(provided, &mut kept));
        process.prologue.iter().for_each(|(action, _)| action_reads(action, &mut kept));
    }
    for node in model.formulas.iter().flat_map(|ltl| &ltl.nodes) {
        if let LtlNode::Atom(ex, _) = node {
            reads(ex, &mut kept);
        }
    }
    model.values.iter().flatten().for_each(|(ex, _)| reads(ex, &mut kept));
    automata.iter().flat_map(|graph| &graph.actions).for_each(|(action, _)| action_reads(action, &mut kept));
    // A variable matters if another variable that matters is computed from it.
    loop {
        let before = kept.len();
        for (action, _) in graphs.iter().flat_map(|graph| &graph.actions) {
            match written(action, &unmatched) {
                Some((leaf, place)) if !kept.contains(&leaf) => place.indices.iter().for_each(|index| reads(index, &mut kept)),
                _ => action_reads(action, &mut kept),
            }
        }
        if kept.len() == before {
            break;
        }
    }
    for (action, _) in graphs.iter_mut().flat_map(|graph| &mut graph.actions) {
        if let Some((leaf, _)) = written(action, &unmatched)
            && !kept.contains(&leaf)
            && let Action::Assign(target, _) = action
        {
            *target = Target::Nowhere;
        }
    }
    for leaf in unmatched.intersection(&kept) {
        let leaf = &model.globals[*leaf];
        let message = format!("the behaviour depends on `{}`: it stays in the state", leaf.name);
        let hint = "SPIN does not compare it, so its result depends on the order of the search";
        diagnostics.push(Diagnostic::warning(leaf.span, message).named("unmatched-in-state").with_hint(hint));
    }
}

/// The unmatched variable that an action writes.
fn written<'a>(action: &'a Action, unmatched: &Set) -> Option<(usize, &'a Place)> {
    match action {
        Action::Assign(Target::Place(place), _) if place.scope == Scope::Global && unmatched.contains(&place.leaf) => {
            Some((place.leaf, place))
        }
        _ => None,
    }
}
