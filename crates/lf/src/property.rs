//! Translates a property, a process that watches the others, into an automaton over conditions.
//!
//! A `PROPERTY` is a process of LF that moves together with the program and states what must not
//! happen. If it can pass `ACCEPT` infinitely often, or if an assertion of its own is false, the
//! program is wrong (Gerber, section 3.3). Its own variables are known during the translation, so a
//! state of the automaton is a position in the property together with the values of its variables.
//! Its conditions on the program become conditions on edges. The number of states is limited, and
//! so is the number of paths through one action.

use crate::limits::{MAX_PROPERTY_STATES, MAX_PROPERTY_WAYS};
use crate::resolve::compute;
use crate::tree::{Action, Binary, Expression, Kind, Place, Process, Program, Statement, Step, Type, UNSIGNED};
use source::{Diagnostic, Span};
use std::collections::HashMap;

/// A condition of an edge: a condition that must be true or false.
#[derive(Clone, Debug)]
pub(crate) struct Literal {
    pub condition: Expression,
    pub value: bool,
}

/// An edge of the automaton.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub from: usize,
    /// `None` if an assertion of the property is false on the path.
    pub to: Option<usize>,
    pub literals: Vec<Literal>,
}

/// The automaton of a property. It begins in state 0.
#[derive(Debug, Default)]
pub(crate) struct Watcher {
    /// Whether each state is accepting.
    pub accepting: Vec<bool>,
    pub edges: Vec<Edge>,
}

/// The statements that are left to execute, innermost last.
type Rest<'a> = Vec<&'a Statement>;

/// A position in the property: the statements that are left, in reverse order; the values; whether
/// it just accepted.
type Position = (Vec<usize>, Vec<i32>, bool);

struct Translator<'a> {
    process: &'a Process,
    /// The slots of the variables.
    slots: HashMap<usize, (usize, u32)>,
    states: HashMap<Position, usize>,
    open: Vec<(usize, Rest<'a>, Vec<i32>)>,
    watcher: Watcher,
    ways: usize,
    diagnostics: &'a mut Vec<Diagnostic>,
    failed: bool,
}

/// Translates a property. Returns `None` if it does something that a property cannot do.
pub(crate) fn translate<'a>(program: &'a Program, process: &'a Process, diagnostics: &'a mut Vec<Diagnostic>) -> Option<Watcher> {
    let mut slots = HashMap::new();
    let mut size = 0_usize;
    for variable in &process.variables {
        let elements = program.elements(&program.variables[*variable].ty) as u32;
        slots.insert(*variable, (size, elements));
        size += elements as usize;
    }
    let watcher = Watcher::default();
    let mut translator =
        Translator { process, slots, states: HashMap::new(), open: Vec::new(), watcher, ways: 0, diagnostics, failed: false };
    if size > 64 {
        translator.fail(process.span, "a property has at most 64 numbers of its own", "ask the program's variables");
        return None;
    }
    let all: Rest<'a> = process.body.iter().rev().collect();
    translator.state(all, vec![0; size], false);
    while let Some((from, rest, values)) = translator.open.pop() {
        translator.ways = 0;
        translator.walk(from, rest, values, Vec::new(), false, true, 0);
        if translator.failed {
            return None;
        }
    }
    Some(translator.watcher)
}

impl<'a> Translator<'a> {
    fn fail(&mut self, span: Span, message: impl Into<String>, hint: &str) {
        if !self.failed {
            self.diagnostics.push(Diagnostic::error(span, message).with_hint(hint));
        }
        self.failed = true;
    }

    /// The number of a state. The addresses of the statements identify what is left to execute.
    fn state(&mut self, rest: Rest<'a>, values: Vec<i32>, accepting: bool) -> usize {
        let place: Vec<usize> = rest.iter().map(|statement| std::ptr::from_ref(*statement) as usize).collect();
        let position = (place, values.clone(), accepting);
        if let Some(number) = self.states.get(&position) {
            return *number;
        }
        let number = self.watcher.accepting.len();
        if number >= MAX_PROPERTY_STATES {
            self.fail(
                self.process.span,
                format!("the property has more than {MAX_PROPERTY_STATES} states"),
                "give its variables fewer values",
            );
            return 0;
        }
        self.watcher.accepting.push(accepting);
        self.states.insert(position, number);
        self.open.push((number, rest, values));
        number
    }

    /// Follows an action to its end, on every path that the program's variables allow.
    #[allow(clippy::too_many_arguments)]
    fn walk(
        &mut self,
        from: usize,
        mut rest: Rest<'a>,
        mut values: Vec<i32>,
        literals: Vec<Literal>,
        mut accepting: bool,
        mut fresh: bool,
        mut steps: usize,
    ) {
        self.ways += 1;
        if self.ways > MAX_PROPERTY_WAYS {
            self.fail(
                self.process.span,
                format!("an action of the property has more than {MAX_PROPERTY_WAYS} ways"),
                "ask fewer questions between two RESCHEDULE",
            );
        }
        loop {
            steps += 1;
            if self.failed {
                return;
            }
            if steps > 10_000 {
                return self.fail(self.process.span, "an action of the property has no end", "RESCHEDULE lets the program move");
            }
            let Some(statement) = rest.pop() else {
                // A property that has ended no longer watches.
                let to = self.state(Vec::new(), vec![0; values.len()], accepting);
                if to != from || fresh {
                    self.watcher.edges.push(Edge { from, to: Some(to), literals });
                }
                return;
            };
            match &statement.kind {
                Action::Reschedule | Action::Choice(_) if !fresh || matches!(statement.kind, Action::Reschedule) => {
                    if let Action::Choice(_) = statement.kind {
                        rest.push(statement);
                    }
                    let to = self.state(rest, values, accepting);
                    self.watcher.edges.push(Edge { from, to: Some(to), literals });
                    return;
                }
                Action::Choice(blocks) => {
                    for block in blocks {
                        let mut inside = rest.clone();
                        inside.extend(block.iter().rev());
                        self.walk(from, inside, values.clone(), literals.clone(), accepting, false, steps);
                    }
                    return;
                }
                Action::Accept => accepting = true,
                Action::Nomove => return,
                Action::Assign(place, value) => {
                    let Some(slot) = self.slot(place, &values) else { return };
                    match self.reduce(value, &values).kind {
                        Kind::Constant(number) => values[slot] = number,
                        _ => {
                            return self.fail(
                                value.span,
                                "a property keeps no values of the program's variables",
                                "ask them in conditions",
                            );
                        }
                    }
                }
                Action::If(branches, last) => match branches.split_first() {
                    None => rest.extend(last.iter().rev()),
                    Some(_) => return self.branch(from, rest, values, literals, accepting, statement, 0, steps),
                },
                Action::While(condition, body) => {
                    let reduced = self.reduce(condition, &values);
                    match reduced.kind {
                        Kind::Constant(0) => {}
                        Kind::Constant(_) => {
                            rest.push(statement);
                            rest.extend(body.iter().rev());
                        }
                        _ => {
                            let mut no = literals.clone();
                            no.push(Literal { condition: reduced.clone(), value: false });
                            self.walk(from, rest.clone(), values.clone(), no, accepting, false, steps);
                            let mut yes = literals;
                            yes.push(Literal { condition: reduced, value: true });
                            rest.push(statement);
                            rest.extend(body.iter().rev());
                            return self.walk(from, rest, values, yes, accepting, false, steps);
                        }
                    }
                }
                Action::Assert(condition) => {
                    let reduced = self.reduce(condition, &values);
                    match reduced.kind {
                        Kind::Constant(0) => {
                            self.watcher.edges.push(Edge { from, to: None, literals });
                            return;
                        }
                        Kind::Constant(_) => {}
                        _ => {
                            let mut wrong = literals.clone();
                            wrong.push(Literal { condition: reduced.clone(), value: false });
                            self.watcher.edges.push(Edge { from, to: None, literals: wrong });
                            let mut right = literals;
                            right.push(Literal { condition: reduced, value: true });
                            return self.walk(from, rest, values, right, accepting, false, steps);
                        }
                    }
                }
                _ => {
                    return self.fail(
                        statement.span,
                        "a property cannot do this",
                        "it has assignments to its own variables, IF, WHILE, CHOICE, RESCHEDULE, ASSERT, ACCEPT and NOMOVE",
                    );
                }
            }
            // The part of a property before it first examines the program takes no time.
            fresh = fresh && from == 0 && literals.is_empty() && !accepting;
        }
    }

    /// Follows the branches of an `IF` from number `at` on.
    #[allow(clippy::too_many_arguments)]
    fn branch(
        &mut self,
        from: usize,
        rest: Rest<'a>,
        values: Vec<i32>,
        literals: Vec<Literal>,
        accepting: bool,
        statement: &'a Statement,
        at: usize,
        steps: usize,
    ) {
        let Action::If(branches, last) = &statement.kind else { return };
        let mut inside = rest.clone();
        let Some((condition, body)) = branches.get(at) else {
            inside.extend(last.iter().rev());
            return self.walk(from, inside, values, literals, accepting, false, steps);
        };
        let reduced = self.reduce(condition, &values);
        if !matches!(reduced.kind, Kind::Constant(0)) {
            inside.extend(body.iter().rev());
            let mut yes = literals.clone();
            if !matches!(reduced.kind, Kind::Constant(_)) {
                yes.push(Literal { condition: reduced.clone(), value: true });
            }
            self.walk(from, inside, values.clone(), yes, accepting, false, steps);
        }
        if matches!(reduced.kind, Kind::Constant(value) if value != 0) || self.failed {
            return;
        }
        let mut no = literals;
        if !matches!(reduced.kind, Kind::Constant(_)) {
            no.push(Literal { condition: reduced, value: false });
        }
        self.branch(from, rest, values, no, accepting, statement, at + 1, steps);
    }

    /// The slot of a variable of the property.
    fn slot(&mut self, place: &Place, values: &[i32]) -> Option<usize> {
        let Some((start, elements)) = self.slots.get(&place.variable).copied() else {
            self.fail(place.span, "a property can change only its own variables", "declare the variable in the property");
            return None;
        };
        let mut index = 0_usize;
        for step in &place.steps {
            match step {
                Step::Element(expression, length) => match self.reduce(expression, values).kind {
                    Kind::Constant(number) if (0..*length as i32).contains(&number) => index = index * *length as usize + number as usize,
                    _ => {
                        self.fail(place.span, "this index is outside the array, or depends on the program", "");
                        return None;
                    }
                },
                Step::Field(_) => {
                    self.fail(place.span, "properties have no records", "declare the fields as variables");
                    return None;
                }
            }
        }
        (index < elements as usize).then_some(start + index)
    }

    /// An expression with the property's own variables replaced by their values.
    fn reduce(&mut self, expression: &Expression, values: &[i32]) -> Expression {
        let known = |value: i32| Expression { kind: Kind::Constant(value), ty: expression.ty.clone(), span: expression.span };
        let one = |this: &mut Self, operand: &Expression| Box::new(this.reduce(operand, values));
        let kind = match &expression.kind {
            Kind::Load(place) if self.slots.contains_key(&place.variable) => match self.slot(place, values) {
                Some(slot) => return known(values[slot]),
                None => return known(0),
            },
            Kind::Load(place) => {
                let mut place = place.clone();
                for step in &mut place.steps {
                    if let Step::Element(index, _) = step {
                        **index = self.reduce(index, values);
                    }
                }
                Kind::Load(place)
            }
            Kind::Constant(_) => return expression.clone(),
            Kind::Not(operand) => Kind::Not(one(self, operand)),
            Kind::Complement(operand) => Kind::Complement(one(self, operand)),
            Kind::Negate(operand) => Kind::Negate(one(self, operand)),
            Kind::Absolute(operand) => Kind::Absolute(one(self, operand)),
            Kind::Cast(operand) => Kind::Cast(one(self, operand)),
            Kind::Binary(op, left, right) => Kind::Binary(*op, one(self, left), one(self, right)),
            Kind::Set(elements) => {
                let mut all = Vec::new();
                for (first, last) in elements {
                    let first = self.reduce(first, values);
                    let last = last.as_ref().map(|last| self.reduce(last, values));
                    all.push((first, last));
                }
                Kind::Set(all)
            }
        };
        match folded(&kind) {
            Some(value) => known(value),
            None => Expression { kind, ty: expression.ty.clone(), span: expression.span },
        }
    }
}

/// The value of an expression whose operands are known.
fn folded(kind: &Kind) -> Option<i32> {
    let value = |expression: &Expression| match expression.kind {
        Kind::Constant(value) => Some(value),
        _ => None,
    };
    match kind {
        Kind::Constant(number) => Some(*number),
        Kind::Not(operand) => value(operand).map(|value| i32::from(value == 0)),
        Kind::Complement(operand) => value(operand).map(|value| !value),
        Kind::Negate(operand) => value(operand)?.checked_neg(),
        Kind::Absolute(operand) => value(operand)?.checked_abs(),
        Kind::Cast(operand) => value(operand),
        Kind::Binary(Binary::And, left, right) => match (value(left), value(right)) {
            (Some(0), _) => Some(0),
            (Some(_), right) => right,
            _ => None,
        },
        Kind::Binary(Binary::Or, left, right) => match (value(left), value(right)) {
            (Some(0), right) => right,
            (Some(_), _) => Some(1),
            _ => None,
        },
        Kind::Binary(op, left, right) => compute(*op, value(left)?, value(right)?, left.ty == UNSIGNED),
        Kind::Load(_) | Kind::Set(_) => None,
    }
}

/// The condition that all literals hold.
pub(crate) fn conjunction(literals: &[Literal]) -> Option<Expression> {
    let mut all: Option<Expression> = None;
    for literal in literals {
        let (span, condition) = (literal.condition.span, Box::new(literal.condition.clone()));
        let one =
            if literal.value { literal.condition.clone() } else { Expression { kind: Kind::Not(condition), ty: Type::Boolean, span } };
        all = Some(match all {
            None => one,
            Some(before) => Expression { kind: Kind::Binary(Binary::And, Box::new(before), Box::new(one)), ty: Type::Boolean, span },
        });
    }
    all
}

/// The text that identifies a condition.
pub(crate) fn text(condition: &Expression) -> String {
    match &condition.kind {
        Kind::Constant(value) => value.to_string(),
        Kind::Load(place) => {
            let mut all = format!("v{}", place.variable);
            for step in &place.steps {
                match step {
                    Step::Field(position) => all.push_str(&format!(".{position}")),
                    Step::Element(index, _) => all.push_str(&format!("[{}]", text(index))),
                }
            }
            all
        }
        Kind::Not(operand) => format!("not({})", text(operand)),
        Kind::Complement(operand) => format!("complement({})", text(operand)),
        Kind::Negate(operand) => format!("negate({})", text(operand)),
        Kind::Absolute(operand) => format!("absolute({})", text(operand)),
        Kind::Cast(operand) => format!("cast{:?}({})", condition.ty, text(operand)),
        Kind::Binary(op, left, right) => format!("{op:?}({}, {})", text(left), text(right)),
        Kind::Set(elements) => {
            let element = |(first, last): &(Expression, Option<Expression>)| (text(first), last.as_ref().map(text));
            format!("{:?}", elements.iter().map(element).collect::<Vec<_>>())
        }
    }
}
