//! Hidden variables that need no place in the state.
//!
//! SPIN leaves a `hidden` variable out of the state, so its value is lost between transitions. That
//! is sound only if no transition reads the variable before it has written it. If this can be
//! shown, the variable becomes a scratch variable of the machine. Otherwise it stays in the state,
//! and a warning says so.

use crate::graph::{Deterministic, Effect, Graph, Inner};
use crate::model::{Action, Ex, Field, LtlNode, Model, Part, Place, Scope, Target};
use source::Diagnostic;
use std::collections::{BTreeMap, BTreeSet};

/// Indices of globals.
pub(crate) type Set = BTreeSet<usize>;

/// Marks the hidden variables that are scratch.
pub(crate) fn find_scratch(model: &mut Model, graphs: &[Graph], automata: &[Graph], diagnostics: &mut Vec<Diagnostic>) {
    let hidden: Set = (0..model.globals.len()).filter(|&i| model.globals[i].hidden).collect();
    if hidden.is_empty() {
        return;
    }
    let mut kept: Set = hidden.iter().copied().filter(|&i| model.globals[i].is_array()).collect();
    for (process, graph) in model.processes.iter().zip(graphs) {
        if let Some(provided) = &process.provided {
            reads(provided, &mut kept);
        }
        for (action, _) in &process.prologue {
            action_reads(action, &mut kept);
        }
        exposed(graph, &hidden, &mut kept);
    }
    for graph in automata {
        for (action, _) in &graph.actions {
            action_reads(action, &mut kept);
        }
    }
    for node in model.formulas.iter().flat_map(|ltl| &ltl.nodes) {
        if let LtlNode::Atom(ex, _) = node {
            reads(ex, &mut kept);
        }
    }
    model.values.iter().flatten().for_each(|(ex, _)| reads(ex, &mut kept));
    for i in hidden {
        let leaf = &mut model.globals[i];
        leaf.scratch = !kept.contains(&i);
        if !leaf.scratch {
            let message = format!("`{}` is read by transitions that have not written it: it stays in the state", leaf.name);
            diagnostics.push(Diagnostic::warning(leaf.span, message).named("hidden-in-state"));
        }
    }
}

/// Adds the hidden variables that some transition of the graph reads before it writes them.
fn exposed(graph: &Graph, hidden: &Set, kept: &mut Set) {
    // The variables that have certainly been written since the beginning of the transition.
    let mut written: BTreeMap<u32, Set> = BTreeMap::new();
    let mut todo = vec![graph.start];
    written.insert(graph.start, Set::new());
    while let Some(number) = todo.pop() {
        let Some(state) = graph.state(number) else { continue };
        let before = written.get(&number).cloned().unwrap_or_default();
        for transition in &state.transitions {
            let after = match &transition.effect {
                Effect::Action(action) => after_action(&graph.actions[*action].0, &before, kept),
                Effect::Deterministic(body) => after_body(graph, body, &before, hidden, kept),
                _ => before.clone(),
            };
            let after = if transition.atomic { after } else { Set::new() };
            let known = written.get(&transition.target);
            let merged: Set = match known {
                Some(known) => known.intersection(&after).copied().collect(),
                None => after,
            };
            if known != Some(&merged) {
                written.insert(transition.target, merged);
                todo.push(transition.target);
            }
        }
    }
}

fn after_body(graph: &Graph, body: &Deterministic, before: &Set, hidden: &Set, kept: &mut Set) -> Set {
    let mut written: BTreeMap<usize, Set> = BTreeMap::from([(body.start, before.clone())]);
    let mut todo = vec![body.start];
    let mut at_end: Option<Set> = None;
    while let Some(node) = todo.pop() {
        let before = written.get(&node).cloned().unwrap_or_default();
        let (after, next): (Set, Vec<usize>) = match &body.nodes[node] {
            Inner::Basic(Effect::Action(action), next, _) => (after_action(&graph.actions[*action].0, &before, kept), vec![*next]),
            Inner::Basic(_, next, _) => (before, vec![*next]),
            Inner::Choice(options, _) => (before, options.clone()),
            Inner::Exit => {
                at_end = Some(match at_end {
                    Some(end) => end.intersection(&before).copied().collect(),
                    None => before,
                });
                continue;
            }
        };
        for next in next {
            let known = written.get(&next);
            let merged: Set = match known {
                Some(known) => known.intersection(&after).copied().collect(),
                None => after.clone(),
            };
            if known != Some(&merged) {
                written.insert(next, merged);
                todo.push(next);
            }
        }
    }
    at_end.unwrap_or_else(|| hidden.clone())
}

/// The variables written after an action. Variables that it reads before they are written must be
/// kept.
fn after_action(action: &Action, before: &Set, kept: &mut Set) -> Set {
    let mut read = Set::new();
    action_reads(action, &mut read);
    kept.extend(read.difference(before));
    let mut after = before.clone();
    let mut write = |target: &Target| {
        if let Target::Place(Place { scope: Scope::Global, leaf, indices, .. }) = target
            && indices.is_empty()
        {
            after.insert(*leaf);
        }
    };
    match action {
        Action::Assign(target, _) => write(target),
        Action::Receive { fields, .. } => {
            for field in fields {
                if let Field::Store(target) = field {
                    write(target);
                }
            }
        }
        _ => {}
    }
    after
}

pub(crate) fn action_reads(action: &Action, out: &mut Set) {
    let target_reads = |target: &Target, out: &mut Set| {
        if let Target::Place(place) = target {
            place.indices.iter().for_each(|i| reads(i, out));
        }
    };
    match action {
        Action::Guard(ex) | Action::Assert(ex) | Action::PrintMtype(ex, _) => reads(ex, out),
        Action::Exclusive(_, ex) => reads(ex, out),
        Action::Assign(target, ex) => {
            target_reads(target, out);
            reads(ex, out);
        }
        Action::Fill { values, .. } => values.list.iter().for_each(|v| reads(v, out)),
        Action::Send { channel, arguments, .. } => {
            reads(channel, out);
            arguments.iter().for_each(|a| reads(a, out));
        }
        Action::Receive { channel, fields, .. } => {
            reads(channel, out);
            for field in fields {
                match field {
                    Field::Match(ex) => reads(ex, out),
                    Field::Store(target) => target_reads(target, out),
                }
            }
        }
        Action::Print(_, arguments) => arguments.iter().for_each(|a| reads(a, out)),
        Action::SetPriority(a, b) => {
            reads(a, out);
            reads(b, out);
        }
        Action::True | Action::Skip | Action::NewChannels { .. } => {}
    }
}

/// The globals an expression reads.
pub(crate) fn reads(ex: &Ex, out: &mut Set) {
    match ex {
        Ex::Load(place) => {
            if place.scope == Scope::Global {
                out.insert(place.leaf);
            }
            place.indices.iter().for_each(|i| reads(i, out));
        }
        Ex::Unary(_, a) | Ex::Probe(_, a) | Ex::Enabled(a) | Ex::PcValue(a) | Ex::GetPriority(a) => reads(a, out),
        Ex::Within(_, _, a) => reads(a, out),
        Ex::Binary(_, a, b) | Ex::Exact(_, a, b) => {
            reads(a, out);
            reads(b, out);
        }
        Ex::Conditional(a, b, c) => [a, b, c].into_iter().for_each(|e| reads(e, out)),
        Ex::After(parts, value) => {
            parts.iter().for_each(|part| part_reads(part, out));
            reads(value, out);
        }
        Ex::Run { arguments, .. } => arguments.iter().for_each(|a| reads(a, out)),
        Ex::Poll { channel, fields, .. } => {
            reads(channel, out);
            fields.iter().flatten().for_each(|f| reads(f, out));
        }
        Ex::RemoteLabel { pid, .. } | Ex::RemotePid { pid, .. } => pid.iter().for_each(|p| reads(p, out)),
        Ex::RemoteLoad { pid, place, .. } => {
            pid.iter().for_each(|p| reads(p, out));
            place.indices.iter().for_each(|i| reads(i, out));
        }
        Ex::Const(_) | Ex::Pid | Ex::ProcessCount | Ex::Last | Ex::Timeout | Ex::NonProgress | Ex::Anything | Ex::Never(_) => {}
    }
}

fn part_reads(part: &Part, out: &mut Set) {
    match part {
        Part::Assign(place, value) => {
            place.indices.iter().for_each(|index| reads(index, out));
            reads(value, out);
        }
        Part::Assert(condition) => reads(condition, out),
        Part::Branch(condition, yes, no) => {
            reads(condition, out);
            yes.iter().chain(no).for_each(|part| part_reads(part, out));
        }
        Part::Jump(_) | Part::Label(_) => {}
    }
}
