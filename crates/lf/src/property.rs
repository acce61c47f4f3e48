//! Translates a property, a process that watches the others, into an automaton over conditions.
//!
//! A `PROPERTY` is a process of LF that moves together with the program and states what must not
//! happen. If it can pass `ACCEPT` infinitely often, or if an assertion of its own is false, the
//! program is wrong (Gerber, section 3.3). Its own variables are known during the translation, so a
//! state of the automaton is a position in the property together with the values of its variables.
//! Its conditions on the program become conditions on edges. The number of states is limited, and
//! so is the number of paths through one action.

use crate::limits::{MAX_PROPERTY_STATES, MAX_PROPERTY_WAYS};
use crate::resolve::{compute, number, range};
use crate::tree::{Action, Binary, Count, Expression, Kind, Place, Process, Program, Statement, Step, Type, UNSIGNED};
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

/// A part that is left to execute: a statement, or the end of a turn of `REPEAT` or `FOR`.
#[derive(Clone, Copy)]
enum Part<'a> {
    Whole(&'a Statement),
    Again(&'a Statement),
}

/// The parts that are left to execute, innermost last.
type Rest<'a> = Vec<Part<'a>>;

/// A position in the property: the parts that are left, in reverse order; the values; whether it
/// just accepted. The position before the first move is in no later one's place.
type Position = (Vec<(usize, bool)>, Vec<i32>, bool);

/// A path through an action.
#[derive(Clone)]
struct Path {
    /// The state in which the action began.
    from: usize,
    /// The conditions of the path.
    literals: Vec<Literal>,
    accepting: bool,
    /// Whether nothing that takes time was executed yet.
    fresh: bool,
    steps: usize,
}

struct Translator<'a> {
    process: &'a Process,
    /// The slots of the variables.
    slots: HashMap<usize, (usize, usize)>,
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
        let elements = program.elements(&program.variables[*variable].ty) as usize;
        slots.insert(*variable, (size, elements));
        size += elements;
    }
    let watcher = Watcher::default();
    let mut translator =
        Translator { process, slots, states: HashMap::new(), open: Vec::new(), watcher, ways: 0, diagnostics, failed: false };
    if size > 64 {
        translator.fail(process.span, "a property has at most 64 numbers of its own", "ask the program's variables");
        return None;
    }
    translator.watcher.accepting.push(false);
    translator.open.push((0, parts(&process.body).collect(), vec![0; size]));
    while let Some((from, rest, values)) = translator.open.pop() {
        translator.ways = 0;
        let path = Path { from, literals: Vec::new(), accepting: false, fresh: true, steps: 0 };
        translator.walk(rest, values, path);
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
        let address = |part: &Part<'_>| match part {
            Part::Whole(statement) => (std::ptr::from_ref(*statement) as usize, false),
            Part::Again(statement) => (std::ptr::from_ref(*statement) as usize, true),
        };
        let position = (rest.iter().map(address).collect(), values.clone(), accepting);
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

    /// Ends a move.
    fn stop(&mut self, rest: Rest<'a>, values: Vec<i32>, path: Path) {
        let to = self.state(rest, values, path.accepting);
        self.watcher.edges.push(Edge { from: path.from, to: Some(to), literals: path.literals });
    }

    /// Follows an action to its end, on every path that the program's variables allow.
    fn walk(&mut self, mut rest: Rest<'a>, mut values: Vec<i32>, mut path: Path) {
        self.ways += 1;
        if self.ways > MAX_PROPERTY_WAYS {
            self.fail(
                self.process.span,
                format!("an action of the property has more than {MAX_PROPERTY_WAYS} ways"),
                "ask fewer questions between two RESCHEDULE",
            );
        }
        loop {
            path.steps += 1;
            if self.failed {
                return;
            }
            if path.steps > 10_000 {
                return self.fail(self.process.span, "an action of the property has no end", "RESCHEDULE lets the program move");
            }
            let statement = match rest.pop() {
                // A property that has ended no longer watches.
                None => {
                    values.fill(0);
                    return self.stop(rest, values, path);
                }
                Some(Part::Whole(statement)) => statement,
                Some(Part::Again(statement)) => {
                    match &statement.kind {
                        Action::Repeat(_, condition) => {
                            let [yes, no] = self.ask(condition, &values, &path);
                            if let Some(yes) = yes {
                                self.walk(rest.clone(), values.clone(), yes);
                            }
                            let Some(no) = no else { return };
                            rest.push(Part::Whole(statement));
                            path = no;
                        }
                        Action::For(count, body) if self.next_turn(count, &mut values) => {
                            rest.push(Part::Again(statement));
                            rest.extend(parts(body));
                        }
                        _ => {}
                    }
                    continue;
                }
            };
            match &statement.kind {
                Action::Reschedule => return self.stop(rest, values, path),
                Action::Choice(_) if !path.fresh => {
                    rest.push(Part::Whole(statement));
                    return self.stop(rest, values, path);
                }
                Action::Choice(blocks) => {
                    for block in blocks {
                        let mut inside = rest.clone();
                        inside.extend(parts(block));
                        self.walk(inside, values.clone(), Path { fresh: false, ..path.clone() });
                    }
                    return;
                }
                Action::Accept => path.accepting = true,
                Action::Nomove => return,
                Action::Assign(place, value) => {
                    if self.assign(place, value, &mut values).is_none() {
                        return;
                    }
                }
                Action::If(branches, last) => {
                    for (condition, body) in branches {
                        let [yes, no] = self.ask(condition, &values, &path);
                        if let Some(yes) = yes {
                            let mut inside = rest.clone();
                            inside.extend(parts(body));
                            self.walk(inside, values.clone(), yes);
                        }
                        let Some(no) = no else { return };
                        path = no;
                    }
                    rest.extend(parts(last));
                }
                Action::While(condition, body) => {
                    let [yes, no] = self.ask(condition, &values, &path);
                    if let Some(no) = no {
                        self.walk(rest.clone(), values.clone(), no);
                    }
                    let Some(yes) = yes else { return };
                    path = yes;
                    rest.push(Part::Whole(statement));
                    rest.extend(parts(body));
                }
                Action::Repeat(body, _) => {
                    rest.push(Part::Again(statement));
                    rest.extend(parts(body));
                }
                Action::For(count, body) => {
                    let [yes, _] = self.ask(&count.condition(), &values, &path);
                    if yes.is_some() {
                        rest.push(Part::Again(statement));
                        rest.extend(parts(body));
                    }
                }
                Action::Assert(condition) => {
                    let [right, wrong] = self.ask(condition, &values, &path);
                    if let Some(wrong) = wrong {
                        self.watcher.edges.push(Edge { from: wrong.from, to: None, literals: wrong.literals });
                    }
                    let Some(right) = right else { return };
                    path = right;
                }
                _ => {
                    return self.fail(
                        statement.span,
                        "a property cannot do this",
                        "it has assignments to its own variables, IF, WHILE, REPEAT, FOR, CHOICE, RESCHEDULE, ASSERT, ACCEPT and NOMOVE",
                    );
                }
            }
            // The part of a property before it first examines the program takes no time.
            path.fresh = path.fresh && path.from == 0 && path.literals.is_empty() && !path.accepting;
        }
    }

    /// Gives the variable of a `FOR` its next value; returns whether there is one more turn.
    fn next_turn(&mut self, count: &Count, values: &mut [i32]) -> bool {
        let (Some((slot, _)), limit) = (self.slots_of(&count.counter, values), self.reduce(&count.limit, values)) else { return false };
        let ty = &count.counter.ty;
        let Some(limit) = constant(&limit).map(|bits| number(bits, &count.limit.ty)) else { return false };
        let next = number(values[slot], ty) + i64::from(count.by);
        let more = if count.by > 0 { next <= limit } else { next >= limit };
        let (least, greatest) = range(ty);
        let fits = (least..=greatest).contains(&next);
        if more && !fits {
            self.fail(count.span, format!("the variable of this loop gets the value {next}, which does not fit its type"), "");
            return false;
        }
        if fits {
            values[slot] = next as i32;
        }
        more
    }

    /// The paths on which a condition is true and on which it is false.
    fn ask(&mut self, condition: &Expression, values: &[i32], path: &Path) -> [Option<Path>; 2] {
        let reduced = self.reduce(condition, values);
        if self.failed {
            return [None, None];
        }
        match reduced.kind {
            Kind::Constant(0) => [None, Some(path.clone())],
            Kind::Constant(_) => [Some(path.clone()), None],
            _ => [true, false].map(|value| {
                let mut other = path.clone();
                other.literals.push(Literal { condition: reduced.clone(), value });
                other.fresh = false;
                Some(other)
            }),
        }
    }

    /// Stores a value, or an array, in a variable of the property.
    fn assign(&mut self, place: &Place, value: &Expression, values: &mut [i32]) -> Option<()> {
        let (to, count) = self.slots_of(place, values)?;
        let keeps_none = "a property keeps no values of the program's variables";
        if !place.ty.is_scalar() {
            match &value.kind {
                Kind::Load(source) if self.slots.contains_key(&source.variable) => {
                    let (from, _) = self.slots_of(source, values)?;
                    values.copy_within(from..from + count, to);
                    return Some(());
                }
                _ => {
                    self.fail(value.span, keeps_none, "ask them in conditions");
                    return None;
                }
            }
        }
        let reduced = self.reduce(value, values);
        let Kind::Constant(bits) = reduced.kind else {
            self.fail(value.span, keeps_none, "ask them in conditions");
            return None;
        };
        let (least, greatest) = range(&place.ty);
        let stored = number(bits, &value.ty);
        if !(least..=greatest).contains(&stored) {
            self.fail(value.span, format!("a variable of the property gets the value {stored}, which does not fit its type"), "");
            return None;
        }
        values[to] = bits;
        Some(())
    }

    /// The first slot of a variable of the property, or of a part of one, and the number of slots.
    fn slots_of(&mut self, place: &Place, values: &[i32]) -> Option<(usize, usize)> {
        let Some((mut start, mut size)) = self.slots.get(&place.variable).copied() else {
            self.fail(place.span, "a property can change only its own variables", "declare the variable in the property");
            return None;
        };
        for step in &place.steps {
            match step {
                Step::Element(expression, length) => match self.reduce(expression, values).kind {
                    Kind::Constant(number) if (0..*length as i32).contains(&number) => {
                        size /= *length as usize;
                        start += number as usize * size;
                    }
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
        Some((start, size))
    }

    /// An expression with the property's own variables replaced by their values.
    fn reduce(&mut self, expression: &Expression, values: &[i32]) -> Expression {
        let known = |value: i32| Expression { kind: Kind::Constant(value), ty: expression.ty.clone(), span: expression.span };
        let one = |this: &mut Self, operand: &Expression| Box::new(this.reduce(operand, values));
        let kind = match &expression.kind {
            Kind::Load(place) if self.slots.contains_key(&place.variable) => {
                return known(self.slots_of(place, values).map_or(0, |(slot, _)| values[slot]));
            }
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
            // The right operand is computed only if the left one does not decide.
            Kind::Binary(op @ (Binary::And | Binary::Or), left, right) => {
                let left = one(self, left);
                match (&left.kind, *op) {
                    (Kind::Constant(0), Binary::And) => return known(0),
                    (Kind::Constant(0), _) => return *one(self, right),
                    (Kind::Constant(_), Binary::Or) => return known(1),
                    (Kind::Constant(_), _) => return *one(self, right),
                    _ => Kind::Binary(*op, left, one(self, right)),
                }
            }
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
        let reduced = Expression { kind, ty: expression.ty.clone(), span: expression.span };
        if !is_known(&reduced.kind) {
            return reduced;
        }
        match folded(&reduced) {
            Some(value) => known(value),
            None => {
                let why = "this has no value in the property: it is too large, no element of a set, or divided by 0";
                self.fail(expression.span, why, "");
                known(0)
            }
        }
    }
}

/// The parts of a block, the first one last.
fn parts(block: &[Statement]) -> impl Iterator<Item = Part<'_>> {
    block.iter().rev().map(Part::Whole)
}

/// The value of a constant.
fn constant(expression: &Expression) -> Option<i32> {
    match expression.kind {
        Kind::Constant(value) => Some(value),
        _ => None,
    }
}

/// Whether all operands of an expression are constants.
fn is_known(kind: &Kind) -> bool {
    let is = |operand: &Expression| constant(operand).is_some();
    match kind {
        Kind::Constant(_) => true,
        Kind::Load(_) => false,
        Kind::Not(operand) | Kind::Complement(operand) | Kind::Negate(operand) | Kind::Absolute(operand) | Kind::Cast(operand) => {
            is(operand)
        }
        Kind::Binary(Binary::And | Binary::Or, ..) => false,
        Kind::Binary(_, left, right) => is(left) && is(right),
        Kind::Set(elements) => elements.iter().all(|(first, last)| is(first) && last.as_ref().is_none_or(is)),
    }
}

/// The value of an expression whose operands are constants, if it has one.
fn folded(expression: &Expression) -> Option<i32> {
    match &expression.kind {
        Kind::Constant(number) => Some(*number),
        Kind::Not(operand) => Some(i32::from(constant(operand)? == 0)),
        Kind::Complement(operand) => Some(!constant(operand)?),
        Kind::Negate(operand) => constant(operand)?.checked_neg(),
        Kind::Absolute(operand) => constant(operand)?.checked_abs(),
        Kind::Cast(operand) => {
            // A set and a number of 32 bits have the same bits.
            let is_wide = operand.ty == Type::Set && expression.ty == UNSIGNED || expression.ty == Type::Set;
            let (bits, (least, greatest)) = (constant(operand)?, range(&expression.ty));
            (is_wide || (least..=greatest).contains(&number(bits, &operand.ty))).then_some(bits)
        }
        Kind::Binary(op, left, right) => compute(*op, constant(left)?, constant(right)?, left.ty == UNSIGNED),
        Kind::Set(elements) => {
            let mut bits = 0;
            for (first, last) in elements {
                let first = constant(first)?;
                let last = last.as_ref().map_or(Some(first), constant)?;
                if !(0..32).contains(&first) || !(0..32).contains(&last) {
                    return None;
                }
                bits = (first..=last).fold(bits, |bits, element| bits | 1 << element);
            }
            Some(bits)
        }
        Kind::Load(_) => None,
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
