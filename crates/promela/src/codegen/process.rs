//! The code of a process type: its states, one after the other.

use super::emitter::{Emitter, Mark};
use crate::graph::{Deterministic, Effect, Graph, Inner, State, Transition};
use crate::model::{Action, Ex};
use bytecode::{Addr, LabelKind, Mode, Op};
use std::collections::{BTreeSet, HashMap};

/// Nodes of `d_step`s whose code is still to be generated: the transition and the node.
#[derive(Default)]
struct Inside {
    marks: HashMap<(u32, usize), Mark>,
    todo: Vec<(Transition, usize)>,
}

impl Emitter<'_> {
    /// Generates the code of a process type; returns its entry.
    pub(super) fn process(&mut self, index: usize) -> Addr {
        self.current = index;
        let graph = &self.graphs[index];
        let entry = self.address();
        let mut inside = Inside::default();
        let labels = label_names(graph);
        for number in live_states(graph) {
            if self.is_full() {
                return entry;
            }
            let Some(state) = graph.state(number) else { continue };
            let mark = self.state(index, number);
            self.place(mark);
            self.state_labels(state, labels.get(&number).map_or(&[], Vec::as_slice));
            self.state_code(graph, state, &mut inside);
        }
        while let Some((transition, node)) = inside.todo.pop().filter(|_| !self.is_full()) {
            self.inner_code(graph, &transition, node, &mut inside);
        }
        entry
    }

    /// Labels of a state: the user's labels, and one for the properties of the other labels.
    fn state_labels(&mut self, state: &State, names: &[String]) {
        let provided = self.model.processes[self.current].provided.is_some();
        let is_end = state.transitions.iter().any(|t| t.effect == Effect::End);
        let mut missing = LabelKind { end: state.end && (provided || !is_end), progress: state.progress, accept: state.accept };
        for name in names {
            let kind =
                LabelKind { end: name.starts_with("end"), progress: name.starts_with("progress"), accept: name.starts_with("accept") };
            missing.end &= !kind.end;
            missing.progress &= !kind.progress;
            missing.accept &= !kind.accept;
            self.label(name.clone(), kind);
        }
        if missing != LabelKind::default() {
            self.label(format!("state'{}", state.number), missing);
        }
    }

    fn state_code(&mut self, graph: &Graph, state: &State, inside: &mut Inside) {
        if let Some(first) = state.transitions.first() {
            self.position(first.span);
        }
        if let Some(provided) = &self.model.processes[self.current].provided {
            self.expr(provided);
            self.emit(Op::Nexz {});
        }
        // Escapes, outermost first; the state's own transitions come last.
        let transitions: Vec<&Transition> = state.transitions.iter().filter(|t| !is_never(graph, t)).collect();
        let mut groups: Vec<&[&Transition]> = transitions.chunk_by(|a, b| a.escape == b.escape).collect();
        let Some(own) = groups.pop() else {
            self.emit(Op::Nex {});
            return;
        };
        let marks: Vec<Mark> = groups.iter().map(|_| self.mark()).collect();
        for mark in &marks {
            self.emit(Op::Unless { target: mark.addr() });
        }
        self.options(graph, own, inside);
        for (group, mark) in groups.into_iter().zip(marks) {
            self.place(mark);
            self.options(graph, group, inside);
        }
    }

    /// A choice. An `else` is executable if nothing before it is.
    fn options(&mut self, graph: &Graph, options: &[&Transition], inside: &mut Inside) {
        let Some(last_else) = options.iter().rposition(|t| is_else(t)) else {
            let mut rest = options.iter().peekable();
            while let Some(option) = rest.next() {
                let next = rest.peek().is_some().then(|| self.fork());
                self.option(graph, option, inside);
                if let Some(next) = next {
                    self.place(next);
                }
            }
            return;
        };
        let (before, after) = (&options[..last_else], &options[last_else + 1..]);
        let next = (!after.is_empty()).then(|| self.fork());
        let otherwise = options[last_else];
        if before.is_empty() {
            self.option(graph, otherwise, inside);
        } else if before.iter().any(|t| sends(graph, t)) {
            // `ELSE` does not wait for an answer to a rendezvous; `UNLESS` does.
            let mark = self.mark();
            self.emit(Op::Unless { target: mark.addr() });
            self.option(graph, otherwise, inside);
            self.place(mark);
            self.options(graph, before, inside);
        } else {
            let mark = self.mark();
            self.emit(Op::Else { target: mark.addr() });
            self.options(graph, before, inside);
            self.place(mark);
            self.option(graph, otherwise, inside);
        }
        if let Some(next) = next {
            self.place(next);
            self.options(graph, after, inside);
        }
    }

    /// `NDET`: the code that follows, and as an alternative the code at the mark.
    fn fork(&mut self) -> Mark {
        let mark = self.mark();
        self.emit(Op::Ndet { target: mark.addr() });
        mark
    }

    fn option(&mut self, graph: &Graph, transition: &Transition, inside: &mut Inside) {
        self.position(transition.span);
        self.number(transition.id);
        match &transition.effect {
            Effect::Never => self.emit(Op::Nex {}),
            Effect::End => self.emit(Op::Step { mode: Mode::Terminate }),
            Effect::Skip | Effect::Else => self.leave(transition),
            Effect::Action(action) => {
                let (action, span) = &graph.actions[*action];
                self.action(action, *span);
                self.leave(transition);
            }
            Effect::Deterministic(body) => {
                self.enter(graph, transition, body, body.start, inside);
            }
        }
    }

    /// The end of a transition.
    fn leave(&mut self, transition: &Transition) {
        let mode = if transition.atomic { Mode::Invisible } else { Mode::Normal };
        self.emit(Op::Step { mode });
        let target = self.state(self.current, transition.target);
        self.emit(Op::Jmp { target: target.addr() });
    }

    // --- d_step
    // -------------------------------------------------------------------------------------

    /// The first statement of a `d_step`. A choice takes its first executable option.
    fn enter(&mut self, graph: &Graph, transition: &Transition, body: &Deterministic, node: usize, inside: &mut Inside) {
        let mut options = Vec::new();
        first_statements(body, node, &mut options, &mut BTreeSet::new());
        let Some((&last, earlier)) = options.split_last() else {
            self.leave(transition);
            return;
        };
        let marks: Vec<Mark> = earlier.iter().map(|_| self.mark()).collect();
        for mark in &marks {
            self.emit(Op::Unless { target: mark.addr() });
        }
        self.inner_statement(graph, transition, body, last, inside);
        for (&option, mark) in earlier.iter().zip(marks) {
            self.place(mark);
            self.inner_statement(graph, transition, body, option, inside);
        }
    }

    /// A statement of a `d_step` and its continuation.
    fn inner_statement(&mut self, graph: &Graph, transition: &Transition, body: &Deterministic, node: usize, inside: &mut Inside) {
        let Inner::Basic(effect, next, span) = &body.nodes[node] else {
            self.leave(transition);
            return;
        };
        self.position(*span);
        if let Effect::Action(action) = effect {
            let (action, span) = &graph.actions[*action];
            self.action(action, *span);
            if blocks(action) {
                return;
            }
        }
        // An offer in a `d_step` is an error even if no statement follows it, so the machine must
        // see that the step continues.
        let offers = matches!(effect, Effect::Action(a) if matches!(graph.actions[*a].0, Action::Send { .. }))
            && self.model.channel_types.iter().any(|t| t.capacity == 0);
        if body.nodes[*next] == Inner::Exit && !offers {
            self.leave(transition);
        } else {
            self.go_on(transition, *next, inside);
        }
    }

    fn go_on(&mut self, transition: &Transition, node: usize, inside: &mut Inside) {
        self.emit(Op::Step { mode: Mode::Deterministic });
        let key = (transition.id, node);
        let mark = match inside.marks.get(&key) {
            Some(&mark) => mark,
            None => {
                let mark = self.mark();
                inside.marks.insert(key, mark);
                inside.todo.push((transition.clone(), node));
                mark
            }
        };
        self.emit(Op::Jmp { target: mark.addr() });
    }

    /// The code of a node that is reached inside a `d_step`.
    fn inner_code(&mut self, graph: &Graph, transition: &Transition, node: usize, inside: &mut Inside) {
        let Effect::Deterministic(body) = &transition.effect else { return };
        if let Some(&mark) = inside.marks.get(&(transition.id, node)) {
            self.place(mark);
        }
        self.number(transition.id);
        match &body.nodes[node] {
            Inner::Exit => self.leave(transition),
            Inner::Basic(..) => self.inner_statement(graph, transition, body, node, inside),
            Inner::Choice(options, span) => {
                self.position(*span);
                // The machine takes the first option that completes, so no `ELSE` is needed.
                let mut rest = options.iter().peekable();
                while let Some(&option) = rest.next() {
                    let next = rest.peek().is_some().then(|| self.fork());
                    match &body.nodes[option] {
                        Inner::Basic(..) => {
                            self.inner_statement(graph, transition, body, option, inside);
                        }
                        Inner::Choice(_, span) => {
                            self.position(*span);
                            self.go_on(transition, option, inside);
                        }
                        Inner::Exit => self.leave(transition),
                    }
                    if let Some(next) = next {
                        self.place(next);
                    }
                }
            }
        }
    }
}

/// The labels of each state. If several calls of an inline define the same name, it gets a number
/// from the second time on.
fn label_names(graph: &Graph) -> HashMap<u32, Vec<String>> {
    let mut names: HashMap<u32, Vec<String>> = HashMap::new();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for (name, state) in &graph.labels {
        let uses = uses.entry(name).or_insert(0);
        *uses += 1;
        let name = if *uses == 1 { name.clone() } else { format!("{name}'{uses}") };
        names.entry(*state).or_default().push(name);
    }
    names
}

/// The states that can be reached, the first one first.
pub(super) fn live_states(graph: &Graph) -> Vec<u32> {
    let mut seen = BTreeSet::new();
    let mut order = Vec::new();
    let mut todo = vec![graph.start];
    while let Some(number) = todo.pop() {
        let Some(state) = graph.state(number) else { continue };
        if !seen.insert(number) {
            continue;
        }
        order.push(number);
        let leads_on = |t: &&Transition| match &t.effect {
            Effect::Deterministic(body) => exits(graph, body),
            _ => !is_never(graph, t),
        };
        todo.extend(state.transitions.iter().filter(leads_on).map(|t| t.target));
    }
    if order.len() > 1 {
        order[1..].sort_unstable();
    }
    order
}

/// Whether a transition never leads to its target.
fn is_never(graph: &Graph, transition: &Transition) -> bool {
    match &transition.effect {
        Effect::Never => true,
        Effect::Action(action) => blocks(&graph.actions[*action].0),
        _ => false,
    }
}

/// Whether a `d_step` can reach its end, as far as constant guards tell.
fn exits(graph: &Graph, body: &Deterministic) -> bool {
    let mut seen = BTreeSet::new();
    let mut todo = vec![body.start];
    while let Some(node) = todo.pop() {
        if !seen.insert(node) {
            continue;
        }
        match &body.nodes[node] {
            Inner::Exit => return true,
            Inner::Choice(options, _) => todo.extend(options),
            Inner::Basic(Effect::Action(action), ..) if blocks(&graph.actions[*action].0) => {}
            Inner::Basic(_, next, _) => todo.push(*next),
        }
    }
    false
}

/// Whether the code of an action always blocks, in every state.
fn blocks(action: &Action) -> bool {
    fn is_false(ex: &Ex) -> bool {
        match ex {
            Ex::Const(n) => *n == 0,
            Ex::Binary(crate::ast::Binary::And, a, b) => is_false(a) || is_false(b),
            _ => false,
        }
    }
    matches!(action, Action::Guard(ex) if is_false(ex))
}

fn is_else(transition: &Transition) -> bool {
    match &transition.effect {
        Effect::Else => true,
        Effect::Deterministic(body) => {
            matches!(body.nodes.get(body.start), Some(Inner::Basic(Effect::Else, ..)))
        }
        _ => false,
    }
}

/// Whether a transition could be a rendezvous send.
fn sends(graph: &Graph, transition: &Transition) -> bool {
    match &transition.effect {
        Effect::Action(action) => matches!(graph.actions[*action].0, Action::Send { .. }),
        _ => false,
    }
}

/// The statements a `d_step` can begin with, in the order they are tried.
fn first_statements(body: &Deterministic, node: usize, out: &mut Vec<usize>, seen: &mut BTreeSet<usize>) {
    if !seen.insert(node) {
        return;
    }
    match &body.nodes[node] {
        Inner::Choice(options, _) => {
            for &option in options {
                first_statements(body, option, out, seen);
            }
        }
        Inner::Basic(..) | Inner::Exit => out.push(node),
    }
}
