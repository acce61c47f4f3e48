//! References to labels that do not exist.
//!
//! The control graphs find these too, but they are built only for models without mistakes. With
//! this check a missing label is reported in the same run as all other mistakes.

use crate::model::{Model, Node, Seq, Stm};
use crate::token::Text;
use source::{Diagnostic, did_you_mean};
use std::collections::{HashMap, HashSet};

/// Reports jumps and remote references to labels that do not exist. `doubts` are names in text that
/// could not be read.
pub fn check(model: &Model, doubts: Option<&HashSet<Text>>, diagnostics: &mut Vec<Diagnostic>) {
    let mut labels: Vec<HashSet<&Text>> = Vec::new();
    let mut elsewhere: HashMap<&Text, &str> = HashMap::new();
    for process in &model.processes {
        walk(&process.body, &mut |stm| {
            if let Node::Label(name, ..) = &stm.node {
                elsewhere.entry(&name.text).or_insert(&process.name.text);
            }
        });
    }
    let bodies = model.processes.iter().map(|p| &p.body).chain(model.automata.iter().map(|a| &a.body));
    for body in bodies {
        let (mut known, mut jumps) = (HashSet::new(), Vec::new());
        walk(body, &mut |stm| match &stm.node {
            Node::Label(name, ..) => _ = known.insert(&name.text),
            Node::Goto(name, _) => jumps.push(name),
            _ => {}
        });
        // A label of C has an apostrophe in its name. If it is missing, its own piece of C reports
        // that.
        for name in jumps.into_iter().filter(|name| !name.text.contains('\'')) {
            if !known.contains(&name.text) && doubts.is_none_or(|doubts| !doubts.contains(&name.text)) {
                let message = format!("there is no label `{}` in this process", name.text);
                let other = elsewhere.get(&name.text).map(|owner| format!("a jump stays within its process; this label is in `{owner}`"));
                let hint = other.or_else(|| did_you_mean(&name.text, sorted(&known)));
                let hint = hint.unwrap_or_else(|| format!("write `{}:` before the statement that is meant", name.text));
                diagnostics.push(Diagnostic::error(name.span, message).with_hint(hint));
            }
        }
        labels.push(known);
    }
    for (process, name) in &model.remote_labels {
        let (Some(known), Some(owner)) = (labels.get(*process), model.processes.get(*process)) else { continue };
        if !known.contains(&name.text) && doubts.is_none_or(|doubts| !doubts.contains(&name.text)) {
            let message = format!("`{}` has no label `{}`", owner.name.text, name.text);
            let own = || format!("write `{}:` before the statement of `{}` that is meant", name.text, owner.name.text);
            let hint = did_you_mean(&name.text, sorted(known)).unwrap_or_else(own);
            diagnostics.push(Diagnostic::error(name.span, message).with_hint(hint).with_label(owner.name.span, "defined here"));
        }
    }
}

/// Names are sorted, so that the order does not depend on the run.
fn sorted<'l>(labels: &HashSet<&'l Text>) -> Vec<&'l str> {
    let mut labels: Vec<&str> = labels.iter().map(|label| &***label).collect();
    labels.sort_unstable();
    labels
}

fn walk<'m>(seq: &'m Seq, visit: &mut dyn FnMut(&'m Stm)) {
    for stm in seq {
        step(stm, visit);
    }
}

fn step<'m>(stm: &'m Stm, visit: &mut dyn FnMut(&'m Stm)) {
    visit(stm);
    match &stm.node {
        Node::If(options) | Node::Do(options) => options.iter().for_each(|option| walk(option, visit)),
        Node::Loop { round: seq, .. } | Node::Atomic(seq) | Node::DStep(seq) | Node::Block(seq) => walk(seq, visit),
        Node::Unless(main, escape) => {
            step(main, visit);
            step(escape, visit);
        }
        Node::Label(_, _, inner) => step(inner, visit),
        Node::Basic(_) | Node::Else | Node::Goto(..) | Node::Break => {}
    }
}
