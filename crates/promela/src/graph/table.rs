//! From elements to states and transitions.
//!
//! A jump is a step of its own only where a step is needed: where a choice begins with it, or where
//! following it would leave an atomic sequence unnoticed. Choices whose options begin with choices
//! are merged into one. Then the transitions of the escapes that cover a state are put in front of
//! its own transitions.

use super::elements::{ATOM, Builder, D_ATOM, El, Kind, L_ATOM, MAX_JUMPS, Sequence, Sq, meaning};
use super::{Deterministic, Effect, Graph, Inner, State, Transition};
use crate::limits::MAX_TRANSITIONS;
use crate::model::{Action, Ex};
use source::{Diagnostic, Span};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// A transition under construction.
#[derive(Clone)]
struct Draft {
    transition: Transition,
    /// States whose transitions escape from here, outermost first.
    escapes: Vec<u32>,
}

/// All states of a process type, by number. A choice first gets a draft, which only marks it as a
/// choice.
struct Table<'b> {
    builder: &'b mut Builder,
    drafts: Vec<Vec<Draft>>,
    done: Vec<bool>,
    /// End, progress, accept.
    marks: Vec<[bool; 3]>,
    /// Transitions added by choices in choices and by escapes, to bound memory.
    transitions: usize,
}

/// The graph of the builder's body.
pub(super) fn tabulate(builder: &mut Builder) -> Graph {
    let count = builder.elements.len() + 1;
    let body = builder.body;
    let drafts = vec![Vec::new(); count];
    let mut table = Table { drafts, done: vec![false; count], marks: vec![[false; 3]; count], transitions: 0, builder };
    table.put_sequence(body);
    let first = table.builder.sequences[body].first;
    let start = first.and_then(|e| table.hunt(e, table.status(e))).map_or(0, |e| table.number(e));
    table.mark_labels();
    table.merge_choices();
    table.pull_guards();
    table.add_escapes();
    table.mark_joints();
    table.graph(start)
}

impl Table<'_> {
    fn number(&self, element: El) -> u32 {
        self.builder.elements[element].number
    }

    fn status(&self, element: El) -> u8 {
        self.builder.elements[element].status
    }

    fn next(&self, element: El) -> Option<El> {
        self.builder.elements[element].next
    }

    fn kind(&self, element: El) -> Kind {
        self.builder.elements[element].kind.clone()
    }

    // --- Following jumps
    // ----------------------------------------------------------------------------

    /// The state in which a process waits after a statement with this status has sent it to
    /// `element`. Jumps and joints are passed, but not out of an atomic sequence.
    fn hunt(&mut self, element: El, status: u8) -> Option<El> {
        let mut at = element;
        for _ in 0..MAX_JUMPS {
            let next = match self.kind(at) {
                Kind::Goto(jump) => {
                    let target = self.builder.destination(&jump)?;
                    self.check_crossing(at, target);
                    target
                }
                Kind::Dot | Kind::Break => match self.next(at) {
                    Some(next) => next,
                    None => return Some(at),
                },
                Kind::Unless => {
                    let main = self.builder.elements[at].parts.first().copied()?;
                    let first = self.builder.sequences[main].first?;
                    self.hunt(first, status)?
                }
                _ => return Some(at),
            };
            if next == at {
                break;
            }
            if status & ATOM != 0 && self.status(next) & ATOM == 0 {
                return Some(at);
            }
            at = next;
        }
        let span = self.builder.elements[element].span;
        let diagnostic = Diagnostic::error(span, "these jumps form a cycle").with_hint("put a statement between them, such as `skip`");
        self.builder.report(diagnostic);
        None
    }

    /// The first statement of an option.
    fn start_of(&self, sequence: Sq) -> Option<El> {
        let mut at = self.builder.sequences[sequence].first?;
        for _ in 0..MAX_JUMPS {
            at = match self.kind(at) {
                Kind::Dot => match self.next(at) {
                    Some(next) => next,
                    None => return Some(at),
                },
                Kind::Unless => {
                    let main = self.builder.elements[at].parts.first().copied()?;
                    self.builder.sequences[main].first?
                }
                _ => return Some(at),
            };
        }
        None
    }

    fn check_crossing(&mut self, from: El, to: El) {
        let inside = |table: &Self, e: El| table.status(e) & D_ATOM != 0;
        if inside(self, to) && !inside(self, from) {
            let (span, inside) = (self.builder.elements[from].span, self.builder.elements[to].span);
            let diagnostic = Diagnostic::error(span, "a jump into a `d_step`")
                .with_label(inside, "this is inside")
                .with_hint("a `d_step` is one step and is entered at its beginning; an `atomic` can be entered anywhere");
            self.builder.report(diagnostic);
        }
    }

    // --- Transitions of elements
    // --------------------------------------------------------------------

    fn put_sequence(&mut self, sequence: Sq) {
        let Sequence { first, .. } = self.builder.sequences[sequence];
        let mut at = first;
        while let Some(element) = at {
            if !std::mem::replace(&mut self.done[element], true) {
                match self.kind(element) {
                    Kind::Unless => {
                        if let Some(&main) = self.builder.elements[element].parts.first() {
                            self.put_sequence(main);
                        }
                    }
                    Kind::If | Kind::Do => self.put_choice(element),
                    Kind::Atomic | Kind::NonAtomic => self.put_nest(element),
                    Kind::DStep => self.put_d_step(element),
                    _ => self.put_element(element),
                }
            }
            if Some(element) == self.builder.sequences[sequence].last {
                return;
            }
            at = self.next(element);
        }
    }

    fn draft(&self, element: El, effect: Effect, atomic: bool, target: u32) -> Draft {
        Draft {
            transition: Transition { id: element as u32, effect, target, atomic, escape: 0, span: self.builder.elements[element].span },
            escapes: Vec::new(),
        }
    }

    fn push(&mut self, element: El, draft: Draft) {
        let number = self.number(element) as usize;
        if let Some(drafts) = self.drafts.get_mut(number) {
            drafts.push(draft);
        }
    }

    fn put_choice(&mut self, element: El) {
        let atomic = self.status(element) & ATOM != 0;
        let head = self.draft(element, Effect::Never, atomic, 0);
        self.push(element, head);
        let parts = self.builder.elements[element].parts.clone();
        for &part in &parts {
            let Some(start) = self.start_of(part) else { continue };
            if self.is_false(start) && self.builder.elements[start].escapes.is_empty() {
                continue;
            }
            let option = self.draft(element, Effect::Never, atomic, self.number(start));
            self.push(element, option);
        }
        for part in parts {
            self.put_sequence(part);
        }
    }

    fn is_false(&self, element: El) -> bool {
        match self.builder.elements[element].kind {
            Kind::Basic(action) => {
                matches!(self.builder.actions[action].0, Action::Guard(Ex::Const(0)))
            }
            _ => false,
        }
    }

    fn put_nest(&mut self, element: El) {
        let Some(inside) = self.builder.elements[element].inside else { return };
        self.mend_atomic(inside);
        let start = self.start_of(inside).map_or(0, |e| self.number(e));
        self.close(inside, element);
        let atomic = self.kind(element) == Kind::Atomic;
        for target in [0, start] {
            let draft = self.draft(element, Effect::Never, atomic, target);
            self.push(element, draft);
        }
        self.put_sequence(inside);
    }

    /// The last element of a nested sequence leads to the element that follows the nested sequence.
    fn close(&mut self, inside: Sq, element: El) {
        if let Some(last) = self.builder.sequences[inside].last {
            self.builder.elements[last].next = self.next(element);
        }
    }

    fn put_d_step(&mut self, element: El) {
        let Some(inside) = self.builder.elements[element].inside else { return };
        self.mend_atomic(inside);
        self.close(inside, element);
        let body = self.deterministic(inside);
        let status = self.status(element);
        let target = self.next(element).and_then(|next| self.hunt(next, status));
        let target = target.map_or(0, |e| self.number(e));
        let effect = Effect::Deterministic(Rc::new(body));
        let mut draft = self.draft(element, effect, status & ATOM != 0, target);
        draft.escapes = self.escapes(element);
        self.push(element, draft);
        self.put_escapes(element);
    }

    fn put_element(&mut self, element: El) {
        let status = self.status(element);
        let target = match self.kind(element) {
            Kind::Goto(jump) => {
                let target = self.builder.destination(&jump);
                if let Some(target) = target {
                    self.check_crossing(element, target);
                }
                target
            }
            _ => self.next(element),
        };
        let target = target.and_then(|e| self.hunt(e, status)).map_or(0, |e| self.number(e));
        let effect = match self.kind(element) {
            Kind::Else => Effect::Else,
            Kind::End => Effect::End,
            Kind::Basic(action) if self.builder.actions[action].0 != Action::True => Effect::Action(action),
            _ => Effect::Skip,
        };
        let mut draft = self.draft(element, effect, status & ATOM != 0, target);
        if self.kind(element) != Kind::Dot {
            draft.escapes = self.escapes(element);
        }
        self.push(element, draft);
        if self.kind(element) != Kind::Dot {
            self.put_escapes(element);
        }
    }

    fn escapes(&mut self, element: El) -> Vec<u32> {
        let status = self.status(element);
        let mut starts = Vec::new();
        for escape in self.builder.elements[element].escapes.clone() {
            let first = self.builder.sequences[escape].first;
            if let Some(start) = first.and_then(|e| self.hunt(e, status)) {
                starts.push(self.number(start));
            }
        }
        starts
    }

    fn put_escapes(&mut self, element: El) {
        for escape in self.builder.elements[element].escapes.clone() {
            self.put_sequence(escape);
        }
    }

    /// A jump out of an atomic sequence ends it; a jump from the end of one into another does not.
    fn mend_atomic(&mut self, sequence: Sq) {
        let Sequence { first, extent, .. } = self.builder.sequences[sequence];
        let mut at = first;
        while let Some(element) = at {
            if let Kind::Goto(jump) = self.kind(element) {
                if let Some(target) = self.builder.destination(&jump) {
                    self.check_crossing(element, target);
                    let there = self.status(target) & (ATOM | L_ATOM) != 0;
                    let status = &mut self.builder.elements[element].status;
                    if *status & (ATOM | L_ATOM) != 0 && !there {
                        *status = (*status & !ATOM) | L_ATOM;
                    }
                    if *status & L_ATOM != 0 && there {
                        *status = (*status & !L_ATOM) | ATOM;
                    }
                }
            } else {
                for part in self.builder.elements[element].parts.clone() {
                    self.mend_atomic(part);
                }
            }
            if at == extent {
                return;
            }
            at = self.next(element);
        }
    }

    // --- The inside of a d_step
    // -----------------------------------------------------------------------

    fn deterministic(&mut self, inside: Sq) -> Deterministic {
        let mut members = BTreeSet::new();
        self.collect(inside, &mut members);
        let mut body = Deterministic { start: 0, nodes: vec![Inner::Exit] };
        let mut known = HashMap::new();
        let mut todo = Vec::new();
        let first = self.builder.sequences[inside].first;
        let start = first.map_or(0, |e| self.node(e, &members, &mut body, &mut known, &mut todo));
        body.start = start;
        while let Some(element) = todo.pop() {
            let node = known.get(&element).copied().unwrap_or(0);
            let span = self.builder.elements[element].span;
            let inner = match self.kind(element) {
                Kind::If | Kind::Do => {
                    let mut options = Vec::new();
                    for part in self.builder.elements[element].parts.clone() {
                        if let Some(first) = self.builder.sequences[part].first {
                            options.push(self.node(first, &members, &mut body, &mut known, &mut todo));
                        }
                    }
                    Inner::Choice(options, span)
                }
                kind => {
                    let effect = match kind {
                        Kind::Else => Effect::Else,
                        Kind::Basic(action) if self.builder.actions[action].0 != Action::True => Effect::Action(action),
                        _ => Effect::Skip,
                    };
                    let next = self.next(element);
                    let next = next.map_or(0, |e| self.node(e, &members, &mut body, &mut known, &mut todo));
                    Inner::Basic(effect, next, span)
                }
            };
            body.nodes[node] = inner;
        }
        body
    }

    /// All elements of a `d_step`.
    fn collect(&self, sequence: Sq, members: &mut BTreeSet<El>) {
        let Sequence { first, last, .. } = self.builder.sequences[sequence];
        let mut at = first;
        while let Some(element) = at {
            let new = members.insert(element);
            if new {
                for &part in &self.builder.elements[element].parts {
                    self.collect(part, members);
                }
                if let Some(inside) = self.builder.elements[element].inside {
                    self.collect(inside, members);
                }
            }
            if at == last {
                return;
            }
            at = self.next(element);
        }
    }

    /// The node of an element, with jumps followed; 0, the exit, for elements outside.
    fn node(
        &mut self,
        element: El,
        members: &BTreeSet<El>,
        body: &mut Deterministic,
        known: &mut HashMap<El, usize>,
        todo: &mut Vec<El>,
    ) -> usize {
        let mut at = element;
        for _ in 0..MAX_JUMPS {
            if !members.contains(&at) {
                return 0;
            }
            let next = match self.kind(at) {
                Kind::Goto(jump) => {
                    let target = self.builder.destination(&jump);
                    if target.is_some_and(|t| !members.contains(&t)) {
                        self.leaves_d_step(at);
                    }
                    target
                }
                Kind::Dot | Kind::Break => self.next(at),
                Kind::Unless => {
                    let main = self.builder.elements[at].parts.first().copied();
                    main.and_then(|m| self.builder.sequences[m].first)
                }
                Kind::Atomic | Kind::NonAtomic | Kind::DStep => {
                    if let Some(inside) = self.builder.elements[at].inside {
                        self.close(inside, at);
                        self.builder.sequences[inside].first
                    } else {
                        None
                    }
                }
                _ => {
                    if let Some(&node) = known.get(&at) {
                        return node;
                    }
                    body.nodes.push(Inner::Exit);
                    let node = body.nodes.len() - 1;
                    known.insert(at, node);
                    todo.push(at);
                    return node;
                }
            };
            match next {
                Some(next) => at = next,
                None => return 0,
            }
        }
        let span = self.builder.elements[element].span;
        self.builder.report(Diagnostic::error(span, "these jumps form a cycle"));
        0
    }

    /// A jump out of a `d_step` is an error, unless it leads to the statement that follows the
    /// `d_step`.
    fn leaves_d_step(&mut self, from: El) {
        if !matches!(self.kind(from), Kind::Goto(super::elements::Jump::Label(..))) {
            return;
        }
        let span = self.builder.elements[from].span;
        let diagnostic = Diagnostic::error(span, "a jump out of a `d_step`").with_hint("let the `d_step` end, and jump after it");
        self.builder.report(diagnostic);
    }

    // --- Marks, choices, escapes
    // ----------------------------------------------------------------------

    fn mark_labels(&mut self) {
        for (name, element) in self.builder.label_elements() {
            let number = self.builder.elements[element].number as usize;
            let marks = meaning(name);
            for (mark, set) in self.marks[number].iter_mut().zip(marks) {
                *mark |= set;
            }
        }
        let last = self.builder.sequences[self.builder.body].last;
        if let Some(end) = last {
            let number = self.builder.elements[end].number as usize;
            self.marks[number][0] = true;
        }
    }

    /// The properties of a label that is passed on the way belong to the state that is reached.
    fn pass_marks(&mut self, from: u32, to: u32) {
        let marks = self.marks.get(from as usize).copied().unwrap_or_default();
        if let Some(target) = self.marks.get_mut(to as usize) {
            for (mark, set) in target.iter_mut().zip(marks) {
                *mark |= set;
            }
        }
    }

    fn is_choice(&self, state: u32) -> bool {
        self.drafts.get(state as usize).is_some_and(|drafts| drafts.len() > 1)
    }

    /// An option that is a choice is replaced by the options of that choice.
    fn merge_choices(&mut self) {
        // Each round goes one level deeper; the nesting of statements is bounded.
        for _ in 0..=crate::limits::MAX_STATEMENT_DEPTH * 2 {
            let mut changed = false;
            for state in 1..self.drafts.len() {
                let nested = self.drafts[state].iter().skip(1).any(|d| self.is_choice(d.transition.target));
                if !nested {
                    continue;
                }
                let options = std::mem::take(&mut self.drafts[state]);
                let mut merged = vec![options[0].clone()];
                for option in &options[1..] {
                    let inner = option.transition.target;
                    if !self.is_choice(inner) || inner as usize == state {
                        merged.push(option.clone());
                        self.pass_marks(inner, option.transition.target);
                        continue;
                    }
                    changed = true;
                    for k in 1..self.drafts[inner as usize].len() {
                        let copy = self.drafts[inner as usize][k].clone();
                        self.pass_marks(inner, copy.transition.target);
                        merged.push(copy);
                    }
                }
                self.transitions += merged.len().saturating_sub(options.len());
                self.drafts[state] = merged;
                if self.transitions > MAX_TRANSITIONS {
                    self.too_many(state);
                    return;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// A choice gets the transitions of the first statements of its options.
    fn pull_guards(&mut self) {
        for state in 1..self.drafts.len() {
            if !self.is_choice(state as u32) {
                continue;
            }
            let options = std::mem::take(&mut self.drafts[state]);
            let mut pulled = Vec::new();
            for option in &options[1..] {
                let from = option.transition.target;
                let first = self.drafts.get(from as usize).and_then(|d| d.first()).cloned();
                if let Some(draft) = first {
                    self.pass_marks(from, draft.transition.target);
                    pulled.push(draft);
                }
            }
            self.drafts[state] = if pulled.is_empty() { options[..1].to_vec() } else { pulled };
        }
    }

    /// Transitions of escapes come before those they escape from.
    fn add_escapes(&mut self) {
        for state in 1..self.drafts.len() {
            let own = &self.drafts[state];
            if own.iter().all(|draft| draft.escapes.is_empty()) {
                continue;
            }
            let mut known: HashSet<u32> = own.iter().map(|d| d.transition.id).collect();
            // An escape adds all its transitions when it is first met. The state itself adds
            // nothing.
            let mut met = HashSet::from([state as u32]);
            let mut front = Vec::new();
            for &escape in own.iter().flat_map(|draft| draft.escapes.iter().rev()) {
                if !met.insert(escape) {
                    continue;
                }
                for draft in self.drafts.get(escape as usize).into_iter().flatten() {
                    if known.insert(draft.transition.id) {
                        let transition = Transition { escape, ..draft.transition.clone() };
                        // Escapes are followed from the statement they cover, not from copies of
                        // it.
                        front.push(Draft { transition, escapes: Vec::new() });
                    }
                }
            }
            self.transitions += front.len();
            if self.transitions > MAX_TRANSITIONS {
                self.too_many(state);
                return;
            }
            // The last one that was met comes first.
            front.reverse();
            front.append(&mut self.drafts[state]);
            self.drafts[state] = front;
        }
    }

    /// The graph is too large and will be refused, so nothing more is added to it.
    fn too_many(&mut self, state: usize) {
        let span = self.drafts[state].first().map_or(Span::default(), |d| d.transition.span);
        let message = format!("with this statement there are more than {MAX_TRANSITIONS} transitions in a process");
        let hint = "each statement gets all transitions of the escapes around it, and a choice those of the choices it begins with";
        self.builder.diagnostics.push(Diagnostic::error(span, message).with_hint(hint));
    }

    /// An end label on a joint of its own belongs to the state after it.
    fn mark_joints(&mut self) {
        let joints: Vec<u32> =
            self.builder.elements.iter().filter(|e| e.kind == Kind::Dot && self.marks[e.number as usize][0]).map(|e| e.number).collect();
        for joint in joints {
            if let [only] = self.drafts[joint as usize].as_slice() {
                let target = only.transition.target;
                if let Some(mark) = self.marks.get_mut(target as usize) {
                    mark[0] = true;
                }
            }
        }
    }

    // --- The result
    // -----------------------------------------------------------------------------------

    fn graph(mut self, start: u32) -> Graph {
        let mut reached = BTreeSet::new();
        let mut todo = vec![start];
        while let Some(state) = todo.pop() {
            if state == 0 || !reached.insert(state) {
                continue;
            }
            let Some(drafts) = self.drafts.get(state as usize) else { continue };
            todo.extend(drafts.iter().map(|d| d.transition.target));
        }
        let mut states = Vec::new();
        for &number in &reached {
            let drafts = std::mem::take(&mut self.drafts[number as usize]);
            let transitions: Vec<Transition> = drafts.into_iter().map(|d| d.transition).collect();
            self.check_else(&transitions);
            let [end, progress, accept] = self.marks[number as usize];
            states.push(State { number, transitions, end, progress, accept });
        }
        let mut labels: Vec<(String, u32)> = Vec::new();
        for (name, element) in self.builder.label_elements() {
            let number = self.builder.elements[element].number;
            labels.push((name.to_owned(), number));
        }
        let actions = std::mem::take(&mut self.builder.actions);
        let elements = self.builder.elements.len() as u32;
        Graph { start, states, actions, labels, elements }
    }

    fn check_else(&mut self, transitions: &[Transition]) {
        let mut elses = transitions.iter().filter(|t| t.effect == Effect::Else);
        if let (Some(first), Some(second)) = (elses.next(), elses.next())
            && !self.builder.diagnostics.iter().any(|known| known.span == first.span || known.span == second.span)
        {
            let diagnostic = Diagnostic::error(second.span, "one choice has two `else`")
                .with_label(first.span, "the other one")
                .with_hint("a choice that begins with a choice is one choice, with room for one `else`");
            self.builder.report(diagnostic);
        }
    }
}
