//! From statements to elements.
//!
//! An element is a numbered statement or joint, and elements are linked into sequences. Elements
//! are numbered in the order in which they are made. This order follows SPIN's parser: the parts of
//! a composite statement come before its head, and a loop made for `for` begins with its first
//! assignment in the sequence around it.

use super::{Diagnostics, Graph, table};
use crate::limits::MAX_DIAGNOSTICS;
use crate::model::{Action, Node, ScopePath, Seq, Stm};
use crate::token::Text;
use source::{Diagnostic, Span};
use std::collections::HashMap;

/// The whole transition of this element is inside an atomic sequence.
pub(super) const ATOM: u8 = 2;
/// The element is the last step of an atomic sequence.
pub(super) const L_ATOM: u8 = 4;
/// The element is inside a `d_step`.
pub(super) const D_ATOM: u8 = 32;

/// Chains of jumps longer than this are cycles.
pub(super) const MAX_JUMPS: usize = 500;

/// Index of an element.
pub(super) type El = usize;
/// Index of a sequence.
pub(super) type Sq = usize;

/// The kind of an element.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A statement, by its index among the actions.
    Basic(usize),
    Else,
    Goto(Jump),
    /// A joint after a choice or an `unless`, or before a loop.
    Dot,
    /// The joint after a loop.
    Break,
    If,
    Do,
    Unless,
    Atomic,
    NonAtomic,
    DStep,
    /// The end of the process.
    End,
}

/// The target of a jump.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Jump {
    /// A jump to a label: its name and the blocks around the first use of the name.
    Label(Text, ScopePath, Span),
    /// A jump out of a loop.
    Break(usize),
}

/// An element.
#[derive(Debug)]
pub(super) struct Element {
    pub number: u32,
    pub kind: Kind,
    pub next: Option<El>,
    /// Options of `if` and `do`; main part and escape of `unless`.
    pub parts: Vec<Sq>,
    /// The inside of `atomic`, `d_step`, `{}`.
    pub inside: Option<Sq>,
    /// Escapes that cover it, outermost first.
    pub escapes: Vec<Sq>,
    pub status: u8,
    pub span: Span,
}

/// A sequence of elements.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    pub first: Option<El>,
    pub last: Option<El>,
    /// The last element as written, before joints were added.
    pub extent: Option<El>,
}

/// A label.
#[derive(Debug)]
struct Label {
    name: Text,
    at: El,
    span: Span,
}

/// A statement whose parts have been made, but not its head.
enum Made {
    Leaf(Kind),
    If(Vec<Sq>),
    Do(Vec<Sq>, usize),
    Nest(Kind, Sq),
    Unless(Sq, Sq),
    Label(Text, ScopePath, Span, Box<MadeStm>),
}

struct MadeStm {
    made: Made,
    span: Span,
}

/// All elements of one process type.
pub(super) struct Builder {
    pub elements: Vec<Element>,
    pub sequences: Vec<Sequence>,
    pub actions: Vec<(Action, Span)>,
    labels: Vec<Label>,
    /// The labels with a name, and those at an element, oldest first.
    by_name: HashMap<Text, Vec<usize>>,
    by_element: HashMap<El, Vec<usize>>,
    /// The first and the last label with a name in the same blocks, because an inline that is
    /// called often makes very many labels of one name.
    by_path: HashMap<Text, HashMap<ScopePath, (usize, usize)>>,
    /// Names used as labels, with the blocks around their first uses, numbered in the order of
    /// occurrence.
    names: HashMap<Text, HashMap<ScopePath, usize>>,
    /// The joint after each loop, once it is made.
    breaks: Vec<Option<El>>,
    /// The loops around the current statement.
    loops: Vec<usize>,
    /// Sequences being filled.
    open: Vec<Sq>,
    next_number: u32,
    in_claim: bool,
    pub diagnostics: Diagnostics,
    /// The main sequence.
    pub body: Sq,
}

/// The control graph of a body. `remote` are the labels to which remote references refer.
pub(crate) fn build(body: &Seq, end: Span, in_claim: bool, remote: &[Text], diagnostics: &mut Diagnostics) -> Graph {
    let mut builder = Builder {
        elements: Vec::new(),
        sequences: Vec::new(),
        actions: Vec::new(),
        labels: Vec::new(),
        by_name: HashMap::new(),
        by_element: HashMap::new(),
        by_path: HashMap::new(),
        names: HashMap::new(),
        breaks: Vec::new(),
        loops: Vec::new(),
        open: Vec::new(),
        next_number: 1,
        in_claim,
        diagnostics: Vec::new(),
        body: 0,
    };
    builder.body = builder.open_sequence();
    builder.steps(body);
    builder.add(MadeStm { made: Made::Leaf(Kind::End), span: end });
    builder.close_sequence();
    builder.keep_remote_labels(remote);
    builder.tie_loose_ends();
    let graph = table::tabulate(&mut builder);
    diagnostics.append(&mut builder.diagnostics);
    graph
}

impl Builder {
    // --- Making elements
    // ----------------------------------------------------------------------------

    fn open_sequence(&mut self) -> Sq {
        self.sequences.push(Sequence::default());
        let sequence = self.sequences.len() - 1;
        self.open.push(sequence);
        sequence
    }

    fn close_sequence(&mut self) -> Sq {
        let sequence = self.open.pop().unwrap_or(0);
        self.sequences[sequence].extent = self.sequences[sequence].last;
        sequence
    }

    fn element(&mut self, kind: Kind, span: Span) -> El {
        self.elements.push(Element {
            number: self.next_number,
            kind,
            next: None,
            parts: Vec::new(),
            inside: None,
            escapes: Vec::new(),
            status: 0,
            span,
        });
        self.next_number += 1;
        self.elements.len() - 1
    }

    fn current(&self) -> Sq {
        self.open.last().copied().unwrap_or(0)
    }

    fn append(&mut self, element: El, sequence: Sq) {
        // A jump with an end, progress or accept label needs a state for the label.
        if matches!(self.elements[element].kind, Kind::Goto(_)) && self.has_meaning(element) {
            let span = self.elements[element].span;
            let action = self.action(Action::True, span);
            let skip = self.element(Kind::Basic(action), span);
            // The most recent label moves; the others stay with the jump.
            if let Some(label) = self.by_element.get_mut(&element).and_then(Vec::pop) {
                self.labels[label].at = skip;
                self.by_element.insert(skip, vec![label]);
            }
            self.append(skip, sequence);
        }
        let list = &mut self.sequences[sequence];
        let last = list.last.replace(element);
        if list.first.is_none() {
            list.first = Some(element);
        }
        if let Some(last) = last {
            self.elements[last].next = Some(element);
        }
    }

    fn labels_at(&self, element: El) -> impl Iterator<Item = &Label> {
        self.by_element.get(&element).into_iter().flatten().map(|&i| &self.labels[i])
    }

    fn has_meaning(&self, element: El) -> bool {
        self.labels_at(element).any(|l| meaning(&l.name) != [false; 3])
    }

    fn action(&mut self, action: Action, span: Span) -> usize {
        self.actions.push((action, span));
        self.actions.len() - 1
    }

    // --- Statements
    // ---------------------------------------------------------------------------------

    fn steps(&mut self, seq: &Seq) {
        for stm in seq {
            let made = self.make(stm);
            self.add(made);
        }
    }

    fn sequence(&mut self, seq: &Seq) -> Sq {
        let sequence = self.open_sequence();
        self.steps(seq);
        if self.sequences[sequence].first.is_none() {
            // The parser refuses an empty sequence; the following code relies on a first element.
            let nothing = self.nothing(Span::default());
            self.add(nothing);
        }
        self.close_sequence()
    }

    /// The parts of a statement.
    fn make(&mut self, stm: &Stm) -> MadeStm {
        let span = stm.span;
        let made = match &stm.node {
            Node::Basic(action) => Made::Leaf(Kind::Basic(self.action(action.clone(), span))),
            Node::Else => Made::Leaf(Kind::Else),
            Node::Goto(label, path) => {
                let path = self.label_name(&label.text, path);
                Made::Leaf(Kind::Goto(Jump::Label(label.text.clone(), path, label.span)))
            }
            Node::Break => {
                let inner = self.loops.last().copied().unwrap_or(0);
                Made::Leaf(Kind::Goto(Jump::Break(inner)))
            }
            Node::If(options) => {
                let options: Vec<Sq> = options.iter().map(|o| self.sequence(o)).collect();
                self.drop_skips(&options);
                Made::If(options)
            }
            Node::Do(options) => {
                let number = self.enter_loop();
                let options: Vec<Sq> = options.iter().map(|o| self.sequence(o)).collect();
                self.loops.pop();
                self.drop_skips(&options);
                Made::Do(options, number)
            }
            Node::Loop { first, round, leave_on_else, parts } => {
                let number = self.enter_loop();
                let first = self.action(first.clone(), parts.first);
                self.add(MadeStm { made: Made::Leaf(Kind::Basic(first)), span: parts.first });
                let round = self.sequence(round);
                self.open_sequence();
                if *leave_on_else {
                    self.add(MadeStm { made: Made::Leaf(Kind::Else), span: parts.leave });
                }
                self.add(MadeStm { made: Made::Leaf(Kind::Goto(Jump::Break(number))), span: parts.end });
                let leave = self.close_sequence();
                self.loops.pop();
                Made::Do(vec![leave, round], number)
            }
            Node::Atomic(seq) => {
                let inside = self.sequence(seq);
                self.make_atomic(inside, 0);
                Made::Nest(Kind::Atomic, inside)
            }
            Node::DStep(seq) => {
                let inside = self.sequence(seq);
                self.make_atomic(inside, D_ATOM);
                Made::Nest(Kind::DStep, inside)
            }
            Node::Block(seq) => Made::Nest(Kind::NonAtomic, self.sequence(seq)),
            Node::Unless(main, escape) => return self.make_unless(main, escape, span),
            Node::Label(name, path, stm) => {
                let path = self.label_name(&name.text, path);
                let inner = self.make(stm);
                Made::Label(name.text.clone(), path, name.span, Box::new(inner))
            }
        };
        MadeStm { made, span }
    }

    fn enter_loop(&mut self) -> usize {
        self.breaks.push(None);
        self.loops.push(self.breaks.len() - 1);
        self.breaks.len() - 1
    }

    fn make_unless(&mut self, main: &Stm, escape: &Stm, span: Span) -> MadeStm {
        let main = self.make(main);
        let escape = self.make(escape);
        let escape = match escape.made {
            Made::Nest(Kind::NonAtomic, sequence) => sequence,
            _ => self.alone(escape),
        };
        match main.made {
            Made::Nest(Kind::NonAtomic, sequence) => MadeStm { made: Made::Unless(sequence, escape), span },
            // A label before a block belongs to the whole statement.
            Made::Label(name, path, at, inner) if matches!(inner.made, Made::Nest(..)) => {
                let Made::Nest(kind, sequence) = inner.made else { return self.nothing(span) };
                let unless = MadeStm { made: Made::Unless(sequence, escape), span };
                let inside = self.alone(unless);
                let nest = MadeStm { made: Made::Nest(kind, inside), span };
                MadeStm { made: Made::Label(name, path, at, Box::new(nest)), span }
            }
            made => {
                let main = self.alone(MadeStm { made, span: main.span });
                MadeStm { made: Made::Unless(main, escape), span }
            }
        }
    }

    fn nothing(&mut self, span: Span) -> MadeStm {
        let action = self.action(Action::True, span);
        MadeStm { made: Made::Leaf(Kind::Basic(action)), span }
    }

    /// A sequence of one statement.
    fn alone(&mut self, stm: MadeStm) -> Sq {
        self.open_sequence();
        self.add(stm);
        self.close_sequence()
    }

    /// Makes the head of a statement and appends it to the open sequence.
    fn add(&mut self, stm: MadeStm) {
        let mut labels = Vec::new();
        let mut stm = stm;
        while let Made::Label(name, path, span, inner) = stm.made {
            labels.push((name, path, span));
            stm = *inner;
        }
        let span = stm.span;
        let head = match stm.made {
            Made::Leaf(kind) => {
                let head = self.element(kind, span);
                self.set_labels(labels, head);
                let current = self.current();
                self.append(head, current);
                return;
            }
            Made::Nest(kind, inside) => {
                let head = self.element(kind, span);
                self.elements[head].inside = Some(inside);
                self.set_labels(labels, head);
                let current = self.current();
                self.append(head, current);
                return;
            }
            Made::If(options) => self.add_choice(options, None, span),
            Made::Do(options, number) => self.add_choice(options, Some(number), span),
            Made::Unless(main, escape) => self.add_unless(main, escape, span),
            Made::Label(..) => return,
        };
        self.set_labels(labels, head);
    }

    /// `else` goes last. Every option is linked to the element that follows the choice.
    fn add_choice(&mut self, mut options: Vec<Sq>, number: Option<usize>, span: Span) -> El {
        let head = self.element(if number.is_some() { Kind::Do } else { Kind::If }, span);
        let joint = self.element(Kind::Dot, span);
        let is_else = |b: &Builder, option: Sq| b.sequences[option].first.is_some_and(|e| b.elements[e].kind == Kind::Else);
        if let Some(at) = options.iter().position(|&o| is_else(self, o)) {
            let moved = options.remove(at);
            if let Some(second) = options.iter().find(|&&o| is_else(self, o)) {
                let place = |option: Sq| self.elements[self.sequences[option].first.unwrap_or(0)].span;
                let diagnostic = Diagnostic::error(place(*second), "a second `else` in one choice")
                    .with_label(place(moved), "the first one")
                    .with_hint("an `else` is taken where no other option can be, so one is enough");
                self.diagnostics.push(diagnostic);
            }
            options.push(moved);
        }
        for &option in &options {
            self.append(joint, option);
        }
        self.elements[head].parts = options;
        let current = self.current();
        match number {
            None => {
                self.append(head, current);
                self.append(joint, current);
            }
            Some(number) => {
                self.append(joint, current);
                let after = self.element(Kind::Break, span);
                self.breaks[number] = Some(after);
                self.append(head, current);
                self.append(after, current);
            }
        }
        head
    }

    fn add_unless(&mut self, main: Sq, escape: Sq, span: Span) -> El {
        let head = self.element(Kind::Unless, span);
        let joint = self.element(Kind::Dot, span);
        self.elements[head].parts = vec![main, escape];
        self.append(joint, main);
        self.append(joint, escape);
        self.attach_escape(main, escape);
        let current = self.current();
        self.append(head, current);
        self.append(joint, current);
        head
    }

    /// Adds an escape to all elements of a sequence except joints.
    fn attach_escape(&mut self, sequence: Sq, escape: Sq) {
        let Sequence { first, extent, .. } = self.sequences[sequence];
        let mut at = first;
        while let Some(element) = at {
            self.escape_element(element, escape);
            if at == extent {
                return;
            }
            at = self.elements[element].next;
        }
    }

    fn escape_element(&mut self, element: El, escape: Sq) {
        if self.elements[element].escapes.contains(&escape) {
            return;
        }
        // An outer escape also leaves inner escapes.
        for inner in self.elements[element].escapes.clone() {
            self.attach_escape(inner, escape);
        }
        self.elements[element].escapes.insert(0, escape);
        let parts = self.elements[element].parts.clone();
        let inside = self.elements[element].inside;
        match self.elements[element].kind {
            Kind::Unless => {
                if let Some(&main) = parts.first() {
                    self.attach_escape(main, escape);
                }
            }
            Kind::If | Kind::Do => {
                for part in parts {
                    self.attach_escape(part, escape);
                }
            }
            // Only the first statement of a `d_step` can be interrupted by an escape.
            Kind::DStep => {
                if let Some(first) = inside.and_then(|s| self.sequences[s].first) {
                    self.escape_element(first, escape);
                }
            }
            Kind::Atomic | Kind::NonAtomic => {
                if let Some(inside) = inside {
                    self.attach_escape(inside, escape);
                }
            }
            _ => {}
        }
    }

    /// SPIN drops the second and further unlabelled `skip`s of an option, unless the `skip` is the
    /// last statement.
    fn drop_skips(&mut self, options: &[Sq]) {
        if self.in_claim {
            return;
        }
        for &option in options {
            let Sequence { first, last, extent } = self.sequences[option];
            let mut count = 0;
            let mut before: Option<El> = None;
            let mut at = first;
            while let Some(element) = at {
                let next = self.elements[element].next;
                let action = match self.elements[element].kind {
                    Kind::Basic(action) => Some(&self.actions[action].0),
                    _ => None,
                };
                let skips = matches!(action, Some(Action::True));
                let prints = matches!(action, Some(Action::Print(..) | Action::PrintMtype(..)));
                let labelled = self.labels_at(element).next().is_some();
                let mut dropped = false;
                if (skips || prints) && !labelled {
                    count += 1;
                    let movable = at != first && at != last && at != extent;
                    if count > 1
                        && skips
                        && movable
                        && let Some(before) = before
                    {
                        self.elements[before].next = next;
                        dropped = true;
                    }
                } else {
                    count = 0;
                }
                if !dropped {
                    before = Some(element);
                }
                at = next;
            }
        }
    }

    // --- Atomic sequences
    // ---------------------------------------------------------------------------

    fn make_atomic(&mut self, sequence: Sq, added: u8) {
        self.mark_atomic(sequence, added);
        self.end_atomic(sequence);
    }

    /// The last step of the sequence ends it, even inside nested blocks.
    fn end_atomic(&mut self, sequence: Sq) {
        let Some(last) = self.sequences[sequence].last else { return };
        let next = match self.elements[last].kind {
            Kind::NonAtomic | Kind::Atomic => self.elements[last].inside,
            Kind::Unless => self.elements[last].parts.first().copied(),
            _ => None,
        };
        match next {
            Some(inner) => self.end_atomic(inner),
            None => {
                let status = &mut self.elements[last].status;
                *status = (*status & !ATOM) | L_ATOM;
            }
        }
    }

    fn mark_atomic(&mut self, sequence: Sq, added: u8) {
        let Sequence { first, last, .. } = self.sequences[sequence];
        let mut at = first;
        while let Some(element) = at {
            self.elements[element].status |= ATOM | added;
            match self.elements[element].kind {
                Kind::Atomic => self.elements[element].kind = Kind::NonAtomic,
                Kind::DStep if added != 0 => self.elements[element].kind = Kind::NonAtomic,
                Kind::Unless if added != 0 => {
                    let span = self.elements[element].span;
                    let diagnostic = Diagnostic::warning(span, "`unless` in a `d_step` has no effect").named("unless-in-d-step");
                    self.diagnostics.push(diagnostic);
                }
                _ => {}
            }
            if self.elements[element].kind == Kind::NonAtomic
                && let Some(inside) = self.elements[element].inside
            {
                self.mark_atomic(inside, added);
            }
            for part in self.elements[element].parts.clone() {
                self.mark_atomic(part, added);
            }
            if at == last {
                return;
            }
            at = self.elements[element].next;
        }
    }

    /// The last element of a block leads to the element that follows the block.
    fn tie_loose_ends(&mut self) {
        for element in (0..self.elements.len()).rev() {
            if !matches!(self.elements[element].kind, Kind::Atomic | Kind::NonAtomic | Kind::DStep) {
                continue;
            }
            let mut next = self.elements[element].next;
            if next.is_none() {
                continue;
            }
            while let Some(joint) = next.filter(|&n| self.elements[n].kind == Kind::Dot) {
                next = self.elements[joint].next;
            }
            let Some(inside) = self.elements[element].inside else { continue };
            let Some(last) = self.sequences[inside].last else { continue };
            match self.elements[last].next {
                None => self.elements[last].next = next,
                // A jump was inserted after a label to which remote references refer.
                Some(after) if matches!(self.elements[after].kind, Kind::Goto(_)) => {
                    self.sequences[inside].last = Some(after);
                }
                Some(_) => {}
            }
        }
    }

    // --- Labels
    // -------------------------------------------------------------------------------------

    /// The blocks around the first use of a label's name that is visible from `path`.
    fn label_name(&mut self, name: &Text, path: &ScopePath) -> ScopePath {
        let known = self.names.entry(name.clone()).or_default();
        let around = blocks_around(path).filter_map(|blocks| known.get_key_value(blocks));
        if let Some((found, _)) = around.max_by_key(|(_, number)| **number) {
            return found.clone();
        }
        known.insert(path.clone(), known.len());
        path.clone()
    }

    fn set_labels(&mut self, labels: Vec<(Text, ScopePath, Span)>, at: El) {
        // The innermost label is set first.
        for (name, path, span) in labels.into_iter().rev() {
            let index = self.labels.len();
            let (first, last) = self.by_path.entry(name.clone()).or_default().entry(path).or_insert((index, index));
            *last = index;
            let first = *first;
            if first != index {
                let first = self.labels[first].span;
                self.report(
                    Diagnostic::error(span, format!("the label `{name}` is set twice"))
                        .with_label(first, "the first time")
                        .with_hint("give one of them another name"),
                );
            }
            self.by_name.entry(name.clone()).or_default().push(index);
            self.by_element.entry(at).or_default().push(index);
            self.labels.push(Label { name, at, span });
        }
    }

    /// Reports a diagnostic once, up to a limit.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS && !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// The target of a jump.
    pub(super) fn destination(&mut self, jump: &Jump) -> Option<El> {
        match jump {
            Jump::Break(number) => self.breaks.get(*number).copied().flatten(),
            Jump::Label(name, path, span) => {
                if let Some(&(_, last)) = self.by_path.get(name).and_then(|paths| paths.get(path)) {
                    return Some(self.labels[last].at);
                }
                // Otherwise the oldest label in a block around the jump, or the youngest anywhere.
                let paths = self.by_path.get(name);
                let around =
                    paths.and_then(|paths| blocks_around(path).filter_map(|blocks| paths.get(blocks)).map(|&(first, _)| first).min());
                let best = around.or_else(|| self.by_name.get(name)?.last().copied()).map(|label| self.labels[label].at);
                if best.is_none() && self.diagnostics.len() < MAX_DIAGNOSTICS {
                    let message = format!("there is no label `{name}` in this process");
                    let diagnostic = Diagnostic::error(*span, message).with_nearest(name, self.labels.iter().map(|l| &*l.name));
                    self.report(diagnostic);
                }
                best
            }
        }
    }

    /// A label on a jump gets a state of its own before the jump if remote references refer to it.
    fn keep_remote_labels(&mut self, remote: &[Text]) {
        for name in remote {
            let Some(&label) = self.by_name.get(name).and_then(|l| l.last()) else { continue };
            let at = self.labels[label].at;
            if !matches!(self.elements[at].kind, Kind::Goto(_)) {
                continue;
            }
            let span = self.elements[at].span;
            let action = self.action(Action::True, span);
            let jump = self.elements[at].kind.clone();
            let copy = self.element(jump, span);
            self.elements[copy].next = self.elements[at].next;
            self.elements[at].kind = Kind::Basic(action);
            self.elements[at].next = Some(copy);
        }
    }

    /// Names and elements of all labels.
    pub(super) fn label_elements(&self) -> impl Iterator<Item = (&str, El)> {
        self.labels.iter().map(|l| (&*l.name, l.at))
    }
}

/// The blocks that contain a place, as paths, beginning with the whole process.
fn blocks_around(path: &[u32]) -> impl Iterator<Item = &[u32]> {
    (0..=path.len()).map(|depth| &path[..depth])
}

/// Whether a label's name marks valid end states, progress, acceptance.
pub(super) fn meaning(name: &str) -> [bool; 3] {
    [name.starts_with("end"), name.starts_with("progress"), name.starts_with("accept")]
}
