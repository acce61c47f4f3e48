//! Decisions that depend on an environment that sends any values (`crate::outside`).
//!
//! A condition that depends on the environment is free: the code has a path for each result. In a
//! conjunction or disjunction, only the operands that depend on the environment are free. A value
//! that depends on the environment is never computed, and 0 stands for it. If its computation could
//! fail, the code has a path that fails. Whether it could fail follows from the types of its
//! variables: each of them can have every value of its type.
//!
//! A clause of `SELECT` whose guard depends on the environment is either taken or not as long as
//! the process waits there, because it may be that no partner ever sends a value for which the
//! guard is true. So the process chooses before it waits.

use super::{Generator, Mark};
use crate::resolve::{number, range};
use crate::tree::{
    Action, Argument, Binary, Clause, Communication, Count, Direction, Expression, Kind, Place, Statement, Step, Target, Type, UNSIGNED,
};
use bytecode::{LocalId, Op};
use source::Span;

/// The advice in all refusals.
const HINT: &str = "use --close=N, which tries the first N values of each type";

/// The ways in which a computation fails.
#[derive(Clone, Copy)]
enum Failure {
    Overflow,
    Division,
    Index,
    Element,
}

/// The least and the greatest value that an expression can have.
type Interval = (i64, i64);

impl Generator<'_> {
    fn refuse(&mut self, span: Span, message: &str) {
        self.fail(span, message, HINT);
    }

    /// Refuses a program that is too large for the analysis.
    pub(super) fn refuse_too_large(&mut self) {
        if self.outside.is_too_large() {
            self.refuse(Span::default(), "the program is too large to find what depends on an environment with any values");
        }
    }

    /// Refuses a condition of a formula or property that depends on the environment.
    pub(super) fn refuse_unknown(&mut self, condition: &Expression) {
        if self.outside.depends(condition) {
            self.refuse(condition.span, "this condition depends on what the environment sends, and `--close=any` knows no values");
        }
    }

    /// Refuses a loop if the environment decides whether it ends.
    pub(super) fn refuse_endless(&mut self, is_endless: bool, span: Span) {
        if is_endless {
            self.refuse(span, "whether this loop ends depends on what the environment sends, and it ends no action");
        }
    }

    /// Jumps if a condition is false, or may be false.
    pub(super) fn leave_unless(&mut self, condition: &Expression, elsewhere: Mark, frame: usize) {
        self.leave_when(condition, false, elsewhere, frame);
    }

    /// Jumps if a condition has a value, or may have it.
    fn leave_when(&mut self, condition: &Expression, wanted: bool, elsewhere: Mark, frame: usize) {
        if !self.outside.depends(condition) {
            self.value(condition, frame);
            return if wanted { self.jump_if_not_zero(elsewhere) } else { self.jump_if_zero(elsewhere) };
        }
        match &condition.kind {
            Kind::Not(operand) => self.leave_when(operand, !wanted, elsewhere, frame),
            Kind::Binary(op @ (Binary::And | Binary::Or), left, right) => {
                // The left operand decides if it is true in OR or false in `&`.
                let deciding = *op == Binary::Or;
                if deciding == wanted {
                    self.leave_when(left, wanted, elsewhere, frame);
                    self.leave_when(right, wanted, elsewhere, frame);
                } else {
                    let stay = self.mark();
                    self.leave_when(left, deciding, stay, frame);
                    self.leave_when(right, wanted, elsewhere, frame);
                    self.place_mark(stay);
                }
            }
            _ => {
                self.failures(condition, frame);
                self.or_at(elsewhere);
            }
        }
    }

    /// Adds the failures that a statement can have because of values from the environment. The
    /// failures of conditions of `IF`, loops and `ASSERT` are added where these are computed.
    pub(super) fn statement_failures(&mut self, statement: &Statement, frame: usize) {
        if self.outside.is_empty() {
            return;
        }
        match &statement.kind {
            Action::Assign(place, value) => {
                self.store_failures(value, &place.ty, frame);
                self.place_failures(place, frame);
            }
            Action::New(place) => self.known_port(place),
            Action::Print(_, values) => values.iter().for_each(|value| self.failures(value, frame)),
            Action::Communicate(communication) => self.communication_failures(communication, frame),
            Action::Select(clauses) => {
                for clause in clauses {
                    self.communication_failures(&clause.communication, frame);
                    if let Some(guard) = &clause.guard
                        && self.outside.depends(guard)
                        && self.may_fail(guard)
                    {
                        self.refuse(guard.span, "this guard depends on what the environment sends, and its computation may fail");
                    }
                }
            }
            Action::Call(process, arguments) | Action::Create(process, arguments) => {
                let parameters = self.program.processes[*process].parameters.clone();
                for (parameter, argument) in parameters.iter().zip(arguments) {
                    match argument {
                        Argument::Value(value) => {
                            let ty = self.program.variables[*parameter].ty.clone();
                            self.store_failures(value, &ty, frame);
                        }
                        Argument::Reference(place) => self.place_failures(place, frame),
                    }
                }
            }
            _ => {}
        }
    }

    fn communication_failures(&mut self, communication: &Communication, frame: usize) {
        self.known_port(&communication.port);
        match &communication.what {
            Direction::Send(values) => {
                let types = self.program.channels[communication.message.0].messages[communication.message.1].values.clone();
                for (value, ty) in values.iter().zip(&types) {
                    self.store_failures(value, ty, frame);
                }
            }
            Direction::Receive(targets) => {
                for target in targets {
                    if let Target::Store(place) = target {
                        self.place_failures(place, frame);
                    }
                }
            }
        }
    }

    /// Refuses a port if the environment decides which port it is.
    fn known_port(&mut self, port: &Place) {
        if self.outside.is_unknown(port) {
            self.refuse(port.span, "it depends on what the environment sends which port this is");
        }
    }

    /// The failures of a value that is stored with a type.
    fn store_failures(&mut self, value: &Expression, ty: &Type, frame: usize) {
        self.failures(value, frame);
        if self.outside.depends(value) && ty.is_scalar() && !fits(value, ty) {
            self.may_fail_here(Failure::Overflow);
        }
    }

    /// Adds the failure of a loop whose limit may not fit the type of its variable.
    pub(super) fn limit_failures(&mut self, count: &Count) {
        let (least, greatest) = interval(&count.limit);
        let (first, last) = range(&count.counter.ty);
        if (count.by > 0 && greatest > last) || (count.by < 0 && least < first) {
            self.may_fail_here(Failure::Overflow);
        }
    }

    /// The failures of the indices of a place, if the place is not accessed by code.
    fn place_failures(&mut self, place: &Place, frame: usize) {
        if !self.outside.is_unknown(place) {
            return;
        }
        for step in &place.steps {
            let Step::Element(index, length) = step else { continue };
            self.failures(index, frame);
            if !self.outside.depends(index) {
                self.value(index, frame);
                self.emit(Op::Chk { length: *length });
                self.emit(Op::Drop {});
            } else if !within(interval(index), (0, i64::from(*length) - 1)) {
                self.may_fail_here(Failure::Index);
            }
        }
    }

    /// Adds a path on which a fault happens.
    fn may_fail_here(&mut self, how: Failure) {
        let good = self.mark();
        self.or_at(good);
        self.constant(1);
        match how {
            Failure::Overflow => self.emit(Op::Range { least: 0, greatest: 0 }),
            Failure::Index => self.emit(Op::Chk { length: 1 }),
            Failure::Element => self.set_element(1),
            Failure::Division => {
                self.constant(0);
                self.emit(Op::Div {});
            }
        }
        self.emit(Op::Drop {});
        self.place_mark(good);
    }

    /// Adds the failures of a value that depends on the environment. The value is not computed, so
    /// the parts of it that do not depend on the environment are computed here.
    fn failures(&mut self, value: &Expression, frame: usize) {
        if !self.outside.depends(value) {
            return;
        }
        self.failures_inside(value, frame);
    }

    fn failures_inside(&mut self, value: &Expression, frame: usize) {
        if !self.outside.depends(value) {
            if self.may_fail(value) {
                self.value(value, frame);
                self.emit(Op::Drop {});
            }
            return;
        }
        match &value.kind {
            Kind::Constant(_) => {}
            Kind::Load(place) => self.place_failures(place, frame),
            Kind::Not(operand) | Kind::Complement(operand) | Kind::Negate(operand) | Kind::Absolute(operand) | Kind::Cast(operand) => {
                self.failures_inside(operand, frame);
            }
            Kind::Binary(op @ (Binary::And | Binary::Or), left, right) => {
                self.failures_inside(left, frame);
                if self.may_fail(right) {
                    let end = self.mark();
                    if self.outside.depends(left) {
                        self.or_at(end);
                    } else {
                        self.value(left, frame);
                        if *op == Binary::Or { self.jump_if_not_zero(end) } else { self.jump_if_zero(end) }
                    }
                    self.failures_inside(right, frame);
                    self.place_mark(end);
                }
            }
            Kind::Binary(_, left, right) => {
                self.failures_inside(left, frame);
                self.failures_inside(right, frame);
            }
            Kind::Set(elements) => {
                for (first, last) in elements {
                    self.failures_inside(first, frame);
                    if let Some(last) = last {
                        self.failures_inside(last, frame);
                    }
                }
            }
        }
        for how in own_failures(value) {
            self.may_fail_here(how);
        }
    }

    /// Whether the computation of a value may fail.
    fn may_fail(&self, value: &Expression) -> bool {
        let inside = match &value.kind {
            Kind::Constant(_) => false,
            Kind::Load(place) => place.steps.iter().any(|step| match step {
                Step::Field(_) => false,
                Step::Element(index, length) => self.may_fail(index) || !within(interval(index), (0, i64::from(*length) - 1)),
            }),
            Kind::Not(operand) | Kind::Complement(operand) | Kind::Negate(operand) | Kind::Absolute(operand) | Kind::Cast(operand) => {
                self.may_fail(operand)
            }
            Kind::Binary(_, left, right) => self.may_fail(left) || self.may_fail(right),
            Kind::Set(elements) => {
                elements.iter().any(|(first, last)| self.may_fail(first) || last.as_ref().is_some_and(|last| self.may_fail(last)))
            }
        };
        inside || !own_failures(value).is_empty()
    }

    /// Whether the environment decides if a clause is taken.
    fn is_free(&self, clause: &Clause) -> bool {
        let communication = &clause.communication;
        let matches = match &communication.what {
            Direction::Send(_) => false,
            Direction::Receive(targets) => {
                let free = |(position, target): (usize, &Target)| {
                    matches!(target, Target::Match(_)) && self.outside.is_sent(communication.message, position)
                };
                targets.iter().enumerate().any(free)
            }
        };
        matches || clause.guard.as_ref().is_some_and(|guard| self.outside.depends(guard))
    }

    /// Chooses which clauses may be taken, among those that the environment decides about. Returns,
    /// for each of these, the local with the choice.
    pub(super) fn choose_clauses(&mut self, clauses: &[Clause]) -> Vec<Option<LocalId>> {
        let mut chosen = Vec::new();
        for (number, clause) in clauses.iter().enumerate() {
            let free = !self.outside.is_empty() && self.is_free(clause);
            chosen.push(free.then(|| {
                let local = self.hidden(&format!("open{number}"), bytecode::Type::Bit);
                let closed = self.mark();
                self.or_at(closed);
                self.constant(1);
                self.emit(Op::Stl { var: local });
                self.place_mark(closed);
                local
            }));
        }
        chosen
    }

    /// Pushes whether a condition may have a value.
    pub(super) fn possible(&mut self, condition: &Expression, wanted: bool, frame: usize) {
        if !self.outside.depends(condition) {
            self.value(condition, frame);
            if !wanted {
                self.emit(Op::Lnot {});
            }
            return;
        }
        match &condition.kind {
            Kind::Not(operand) => self.possible(operand, !wanted, frame),
            Kind::Binary(op @ (Binary::And | Binary::Or), left, right) => {
                let (decided, end) = (self.mark(), self.mark());
                let one_is_enough = (*op == Binary::Or) == wanted;
                self.possible(left, wanted, frame);
                if one_is_enough {
                    self.jump_if_not_zero(decided)
                } else {
                    self.jump_if_zero(decided)
                }
                self.possible(right, wanted, frame);
                self.jump(end);
                self.place_mark(decided);
                self.constant(i32::from(one_is_enough));
                self.place_mark(end);
            }
            _ => self.constant(1),
        }
    }
}

fn within((least, greatest): Interval, (from, to): Interval) -> bool {
    least >= from && greatest <= to
}

/// Whether every value that an expression can have belongs to a type.
fn fits(value: &Expression, ty: &Type) -> bool {
    // A set and a number of 32 bits have the same bits.
    let same_bits = (value.ty == Type::Set && *ty == UNSIGNED) || *ty == Type::Set;
    same_bits || within(interval(value), range(ty))
}

/// The values of 32 bits of an expression.
fn all(value: &Expression) -> Interval {
    if value.ty == UNSIGNED { (0, u32::MAX.into()) } else { (i32::MIN.into(), i32::MAX.into()) }
}

/// The values that an expression can have if each variable can have every value of its type.
fn interval(value: &Expression) -> Interval {
    let exact = exact(value);
    let (least, greatest) = all(value);
    (exact.0.clamp(least, greatest), exact.1.clamp(least, greatest))
}

/// The results of an expression before it is known whether they fit 32 bits.
fn exact(value: &Expression) -> Interval {
    match &value.kind {
        Kind::Constant(bits) => (number(*bits, &value.ty), number(*bits, &value.ty)),
        Kind::Load(place) => range(&place.ty),
        Kind::Negate(operand) => {
            let (least, greatest) = interval(operand);
            (-greatest, -least)
        }
        Kind::Absolute(operand) => {
            let (least, greatest) = interval(operand);
            let low = if least > 0 { least } else { (-greatest).max(0) };
            (low, least.abs().max(greatest.abs()))
        }
        Kind::Cast(operand) => {
            let ((a, b), (least, greatest)) = (interval(operand), range(&value.ty));
            if same_bits(operand, value) { all(value) } else { (a.clamp(least, greatest), b.clamp(least, greatest)) }
        }
        Kind::Binary(op, left, right) => {
            let ((a, b), (c, d)) = (interval(left), interval(right));
            let corners = |of: fn(i64, i64) -> i64| {
                let values = [of(a, c), of(a, d), of(b, c), of(b, d)];
                (values.into_iter().min().unwrap_or(0), values.into_iter().max().unwrap_or(0))
            };
            match op {
                Binary::Add => (a + c, b + d),
                Binary::Subtract => (a - d, b - c),
                Binary::Multiply => corners(i64::saturating_mul),
                // The quotient is not further from 0 than the dividend.
                Binary::Divide => {
                    let most = a.abs().max(b.abs());
                    (if a >= 0 && c >= 0 { 0 } else { -most }, most)
                }
                Binary::Remainder => {
                    let most = (c.abs().max(d.abs()) - 1).max(0).min(a.abs().max(b.abs()));
                    (if a >= 0 { 0 } else { -most }, if b <= 0 { 0 } else { most })
                }
                _ => range(&value.ty),
            }
        }
        Kind::Not(_) | Kind::Complement(_) | Kind::Set(_) => range(&value.ty),
    }
}

fn same_bits(operand: &Expression, cast: &Expression) -> bool {
    (operand.ty == Type::Set && cast.ty == UNSIGNED) || cast.ty == Type::Set
}

/// The failures that the last operation of an expression can have.
fn own_failures(value: &Expression) -> Vec<Failure> {
    let mut found = Vec::new();
    let mut add = |may_happen: bool, how: Failure| found.extend(may_happen.then_some(how));
    let outside = |element: &Expression| !within(interval(element), (0, 31));
    match &value.kind {
        Kind::Negate(_) | Kind::Absolute(_) | Kind::Binary(Binary::Add | Binary::Subtract | Binary::Multiply, _, _) => {
            add(!within(exact(value), all(value)), Failure::Overflow);
        }
        Kind::Binary(op @ (Binary::Divide | Binary::Remainder), left, right) => {
            let ((a, _), (c, d)) = (interval(left), interval(right));
            add(c <= 0 && d >= 0, Failure::Division);
            add(*op == Binary::Divide && a == i64::from(i32::MIN) && c <= -1 && d >= -1, Failure::Overflow);
        }
        Kind::Binary(Binary::In, left, _) => add(outside(left), Failure::Element),
        Kind::Set(elements) => {
            let wrong = elements.iter().any(|(first, last)| outside(first) || last.as_ref().is_some_and(outside));
            add(wrong, Failure::Element);
        }
        Kind::Cast(operand) => add(!fits(operand, &value.ty), Failure::Overflow),
        _ => {}
    }
    found
}
