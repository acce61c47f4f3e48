//! A process as a graph: nodes with choices.

use promela::ast::{Declaration, Expr, Fragment, Receive, Reference, Step, Stmt, StmtKind, Variable};
use source::{Diagnostic, Span};
use std::collections::HashMap;

/// The node at which a process ends.
pub(super) const END: usize = 0;

/// The first statement of a choice.
#[derive(Clone)]
pub(super) enum First<'s> {
    Condition(&'s Expr),
    Else,
    Send(&'s Reference, bool, &'s [Expr]),
    Receive(&'s Receive),
    Assign(&'s Reference, &'s Expr),
    Fragment(&'s Fragment, Option<&'s Fragment>),
    /// A declaration after the first statement: storing the initial value is a step.
    Declaration(&'s Declaration, &'s Variable),
    /// Another statement that is always executable.
    Other(&'s Stmt),
    /// There is no statement: the process continues at the next node.
    Nothing,
}

#[derive(Clone)]
pub(super) struct Choice<'s> {
    pub first: First<'s>,
    pub span: Span,
    pub next: usize,
}

#[derive(Clone, Default)]
pub(super) struct Node<'s> {
    pub choices: Vec<Choice<'s>>,
    /// The atomic sequence that the node is in; 0 for none.
    pub sequence: usize,
    /// Whether the model may end there.
    pub ending: bool,
}

/// The nodes of a process; the first one that is executed.
pub(super) struct Graph<'s> {
    pub nodes: Vec<Node<'s>>,
    pub entry: usize,
    pub found: Vec<Diagnostic>,
}

#[derive(Clone, Copy)]
struct Around {
    /// The target of `break`.
    after: Option<usize>,
    sequence: usize,
}

struct Builder<'s> {
    nodes: Vec<Node<'s>>,
    labels: HashMap<String, usize>,
    sequences: usize,
    found: Vec<Diagnostic>,
}

pub(super) fn graph(body: &[Step]) -> Graph<'_> {
    let mut builder = Builder { nodes: vec![Node::default()], labels: HashMap::new(), sequences: 0, found: Vec::new() };
    builder.find_labels(body);
    let entry = builder.sequence(&body[leading(body)..], END, Around { after: None, sequence: 0 });
    Graph { nodes: builder.nodes, entry, found: builder.found }
}

/// How many steps are before the first statement.
pub(super) fn leading(body: &[Step]) -> usize {
    let is_statement = |step: &Step| match step {
        Step::Statement(statement) => !matches!(statement.kind, StmtKind::EmbeddedDeclarations(_)),
        _ => false,
    };
    body.iter().position(is_statement).unwrap_or(body.len())
}

impl<'s> Builder<'s> {
    fn node(&mut self, sequence: usize) -> usize {
        self.nodes.push(Node { choices: Vec::new(), sequence, ending: false });
        self.nodes.len() - 1
    }

    /// Labels have nodes before anything else, because a jump may lead forwards or backwards.
    fn find_labels(&mut self, steps: &[Step]) {
        for step in steps {
            if let Step::Statement(statement) = step {
                self.labels_in(statement);
            }
        }
    }

    fn labels_in(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Label(label, inner) => {
                let node = self.node(0);
                self.labels.insert(label.text.to_string(), node);
                self.labels_in(inner);
            }
            StmtKind::If(options) | StmtKind::Do(options) => options.iter().for_each(|option| self.find_labels(option)),
            StmtKind::Atomic(steps) | StmtKind::DStep(steps) | StmtKind::Block(steps) => self.find_labels(steps),
            _ => {}
        }
    }

    fn sequence(&mut self, steps: &'s [Step], next: usize, around: Around) -> usize {
        steps.iter().rev().fold(next, |next, step| match step {
            Step::Statement(statement) => self.statement(statement, next, around),
            Step::Declaration(declaration) => declaration.variables.iter().rev().fold(next, |next, variable| {
                let node = self.node(around.sequence);
                let span = if declaration.variables.len() == 1 { declaration.span } else { variable.span };
                self.nodes[node].choices = vec![Choice { first: First::Declaration(declaration, variable), span, next }];
                node
            }),
            Step::Exclusive(..) => next,
        })
    }

    fn statement(&mut self, statement: &'s Stmt, next: usize, around: Around) -> usize {
        match &statement.kind {
            StmtKind::Goto(label) => self.labels.get(&*label.text).copied().unwrap_or(END),
            StmtKind::Break => around.after.unwrap_or(END),
            StmtKind::Block(steps) => self.sequence(steps, next, around),
            StmtKind::Atomic(steps) | StmtKind::DStep(steps) => {
                let around = self.inner(around);
                self.sequence(steps, next, around)
            }
            StmtKind::Label(label, inner) => {
                let entry = self.statement(inner, next, around);
                let node = self.labels.get(&*label.text).copied().unwrap_or(entry);
                let ending = label.text.starts_with("end");
                self.nodes[entry].ending |= ending && entry != END;
                self.nodes[node] = Node { choices: vec![silent(statement.span, entry)], sequence: self.nodes[entry].sequence, ending };
                node
            }
            StmtKind::Do(_) => self.repetition(statement, next, around),
            _ => {
                let node = self.node(around.sequence);
                self.nodes[node].choices = self.choices(statement, next, around);
                node
            }
        }
    }

    fn repetition(&mut self, statement: &'s Stmt, next: usize, around: Around) -> usize {
        let StmtKind::Do(options) = &statement.kind else { return next };
        let node = self.node(around.sequence);
        let mut choices = Vec::new();
        for option in options {
            choices.extend(self.option(option, node, Around { after: Some(next), ..around }));
        }
        self.nodes[node].choices = choices;
        node
    }

    /// Nested sequences are one sequence.
    fn inner(&mut self, around: Around) -> Around {
        if around.sequence > 0 {
            return around;
        }
        self.sequences += 1;
        Around { sequence: self.sequences, ..around }
    }

    /// The choices of an option: those of its first statement.
    fn option(&mut self, option: &'s [Step], next: usize, around: Around) -> Vec<Choice<'s>> {
        let at = option.iter().position(|step| matches!(step, Step::Statement(_)));
        let Some((at, Step::Statement(statement))) = at.map(|at| (at, &option[at])) else { return Vec::new() };
        let rest = self.sequence(&option[at + 1..], next, around);
        self.choices(statement, rest, around)
    }

    fn choices(&mut self, statement: &'s Stmt, next: usize, around: Around) -> Vec<Choice<'s>> {
        let first = match &statement.kind {
            StmtKind::Expr(expr) => First::Condition(expr),
            StmtKind::Else => First::Else,
            StmtKind::Send { channel, sorted, arguments } => First::Send(channel, *sorted, arguments),
            StmtKind::Receive(receive) => First::Receive(receive),
            StmtKind::Assign(target, value) => First::Assign(target, value),
            StmtKind::Embedded(fragment, condition) => First::Fragment(fragment, condition.as_ref()),
            StmtKind::If(options) => return options.iter().flat_map(|option| self.option(option, next, around)).collect(),
            StmtKind::Block(steps) => return self.option(steps, next, around),
            StmtKind::Atomic(steps) | StmtKind::DStep(steps) => {
                let around = self.inner(around);
                return self.option(steps, next, around);
            }
            StmtKind::Do(_) => {
                let node = self.repetition(statement, next, around);
                return self.nodes[node].choices.clone();
            }
            StmtKind::Goto(_) | StmtKind::Break => {
                let target = self.statement(statement, next, around);
                return vec![silent(statement.span, target)];
            }
            StmtKind::Label(_, inner) => {
                self.statement(statement, next, around);
                return self.choices(inner, next, around);
            }
            StmtKind::EmbeddedDeclarations(_) | StmtKind::SetPriority(..) | StmtKind::Error => return vec![silent(statement.span, next)],
            StmtKind::Unless(..) | StmtKind::For { .. } | StmtKind::Select { .. } => {
                let message = "this statement has no translation to Rust";
                let hint = "write it with `do` and `if`, or put it into `promela_MS { … }`";
                self.found.push(Diagnostic::error(statement.span, message).with_hint(hint));
                First::Nothing
            }
            StmtKind::Assert(_) | StmtKind::Printf(..) | StmtKind::Printm(_) => First::Other(statement),
        };
        vec![Choice { first, span: statement.span, next }]
    }
}

fn silent<'s>(span: Span, next: usize) -> Choice<'s> {
    Choice { first: First::Nothing, span, next }
}
