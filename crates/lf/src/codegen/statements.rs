//! Code for statements.

use super::communication::stores;
use super::{Generator, Mark, each_statement};
use crate::resolve::{number, range};
use crate::tree::{Action, Argument, Binary, Count, Expression, INTEGER, Kind, Place, Statement, UNSIGNED};
use bytecode::{LocalId, Mode, Op};

impl Generator<'_> {
    pub(super) fn statements(&mut self, statements: &[Statement], frame: usize) {
        for statement in statements {
            if self.failed {
                return;
            }
            self.statement(statement, frame);
            // A fine action ends after each statement that does not end it itself.
            let simple =
                matches!(statement.kind, Action::Assign(..) | Action::New(_) | Action::Print(..) | Action::Assert(_) | Action::Create(..));
            if self.options.fine && simple {
                self.step(Mode::Normal);
            }
        }
    }

    fn statement(&mut self, statement: &Statement, frame: usize) {
        self.at(statement.span);
        self.statement_failures(statement, frame);
        match &statement.kind {
            Action::Assign(place, value) => self.assign(place, value, frame),
            Action::If(branches, last) => {
                let end = self.mark();
                for (condition, body) in branches {
                    if let Kind::Constant(0) = condition.kind {
                        continue;
                    }
                    let next = self.mark();
                    self.at(statement.span);
                    if !matches!(condition.kind, Kind::Constant(_)) {
                        self.leave_unless(condition, next, frame);
                    }
                    self.statements(body, frame);
                    self.jump(end);
                    self.place_mark(next);
                }
                self.statements(last, frame);
                self.place_mark(end);
                if branches.iter().any(|(condition, _)| self.outside.depends(condition)) {
                    // Paths that have reached the same state are continued once.
                    self.step(Mode::Invisible);
                }
            }
            Action::For(count, body) => self.count_to(count, body, frame),
            Action::While(condition, body) => {
                let is_endless = self.outside.may_be_endless(self.program, condition, body, false);
                self.refuse_endless(is_endless, statement.span);
                if let Some((counted, next)) = self.counting(condition, body) {
                    return self.count(condition, counted, next, frame);
                }
                let (top, out) = (self.mark(), self.mark());
                if matches!(condition.kind, Kind::Constant(0)) {
                    return;
                }
                self.place_mark(top);
                self.pass_step(body);
                match condition.kind {
                    Kind::Constant(_) => {}
                    _ => self.leave_unless(condition, out, frame),
                }
                self.statements(body, frame);
                self.jump(top);
                self.place_mark(out);
            }
            Action::Repeat(body, condition) => {
                let is_endless = self.outside.may_be_endless(self.program, condition, body, true);
                self.refuse_endless(is_endless, statement.span);
                let top = self.mark();
                self.place_mark(top);
                self.pass_step(body);
                self.statements(body, frame);
                self.at(statement.span);
                self.leave_unless(condition, top, frame);
            }
            Action::Communicate(communication) => self.communicate(communication, frame),
            Action::Select(clauses) => self.select(clauses, frame),
            Action::Choice(blocks) => {
                self.step(Mode::Normal);
                let end = self.mark();
                for (number, block) in blocks.iter().enumerate() {
                    let next = self.mark();
                    if number + 1 < blocks.len() {
                        self.or_at(next);
                    }
                    if let Some(first) = block.first() {
                        self.at(first.span);
                    }
                    self.statements(block, frame);
                    self.jump(end);
                    self.place_mark(next);
                }
                self.place_mark(end);
            }
            Action::Call(process, arguments) => self.call(*process, arguments, statement.span, frame),
            Action::Create(process, arguments) => self.create(*process, arguments, statement.span, frame),
            Action::New(place) => {
                let counter = self.channel_counter();
                self.emit(Op::Ldg { var: counter });
                self.constant(1);
                self.emit(Op::Add {});
                self.name_failure("channels");
                self.emit(Op::Range { least: 1, greatest: 255 });
                self.emit(Op::Stg { var: counter });
                self.emit(Op::Ldg { var: counter });
                self.store_scalar(place, frame);
            }
            Action::Print(format, values) => {
                if values.iter().any(|value| self.outside.depends(value)) {
                    let format = self.format("?");
                    return self.emit(Op::Print { format, args: 0 });
                }
                for value in values {
                    self.value(value, frame);
                }
                let format = self.format(format);
                self.emit(Op::Print { format, args: values.len() as u32 });
            }
            Action::Assert(condition) => {
                if self.outside.depends(condition) {
                    let (wrong, end) = (self.mark(), self.mark());
                    self.leave_unless(condition, wrong, frame);
                    self.jump(end);
                    self.place_mark(wrong);
                    self.constant(0);
                    self.emit(Op::Assert {});
                    return self.place_mark(end);
                }
                self.value(condition, frame);
                self.emit(Op::Assert {});
            }
            Action::Reschedule => self.step(Mode::Normal),
            // The resolver has refused these outside properties, which have no code.
            Action::Accept | Action::Nomove => {}
        }
    }

    /// Divides the body of a loop that counts and ends actions into its last statement and the
    /// rest. The last statement gives the variable of the condition its next value.
    fn counting<'s>(&self, condition: &Expression, body: &'s [Statement]) -> Option<(&'s [Statement], &'s Statement)> {
        let (last, rest) = body.split_last()?;
        let (Kind::Binary(_, left, right), Action::Assign(place, _)) = (&condition.kind, &last.kind) else { return None };
        let alone = |variable: usize| {
            let variable = &self.program.variables[variable];
            !variable.reference && variable.address.is_none()
        };
        let fixed = match &right.kind {
            Kind::Constant(_) => true,
            Kind::Load(read) => read.steps.is_empty() && read.variable != place.variable && alone(read.variable) && alone(place.variable),
            _ => false,
        };
        // The next value is compared instead of the variable, so both must be signed, or neither.
        let alike = match &last.kind {
            Action::Assign(_, value) => (value.ty == UNSIGNED) == (left.ty == UNSIGNED),
            _ => false,
        };
        let counts = alike && matches!(&left.kind, Kind::Load(read) if read.variable == place.variable && read.steps.is_empty());
        let plain = place.steps.is_empty() && place.ty.is_scalar() && !self.options.fine && !self.outside.depends(condition);
        (counts && fixed && plain && rest.iter().any(ends_action)).then_some((rest, last))
    }

    /// A loop that counts. The code decides whether the loop continues before the variable changes,
    /// by its next value. The condition of each path is then a condition on the state, which a
    /// reduction can evaluate.
    fn count(&mut self, condition: &Expression, body: &[Statement], next: &Statement, frame: usize) {
        let (Kind::Binary(how, _, right), Action::Assign(place, value)) = (&condition.kind, &next.kind) else { return };
        let again = Kind::Binary(*how, Box::new(value.clone()), right.clone());
        let again = Expression { kind: again, ..condition.clone() };
        let (top, last, out) = (self.mark(), self.mark(), self.mark());
        self.leave_unless(condition, out, frame);
        self.place_mark(top);
        self.statements(body, frame);
        self.at(next.span);
        self.leave_unless(&again, last, frame);
        self.assign(place, value, frame);
        self.jump(top);
        self.place_mark(last);
        self.assign(place, value, frame);
        self.place_mark(out);
    }

    /// `FOR`. Its variable is increased only if the result fits its type, so a loop may count to
    /// the greatest number.
    fn count_to(&mut self, count: &Count, body: &[Statement], frame: usize) {
        let (condition, span) = (count.condition(), count.span);
        let is_endless = self.outside.may_count_endlessly(self.program, &count.counter, &condition, body);
        self.refuse_endless(is_endless, span);
        let (least, greatest) = range(&count.counter.ty);
        let by = i64::from(count.by);
        // The last value from which the next one still fits.
        let bound = if by > 0 { greatest - by } else { least - by };
        let free = self.outside.depends(&condition);
        let fits = match count.limit.kind {
            Kind::Constant(limit) => {
                let limit = number(limit, &count.limit.ty);
                !free && (if by > 0 { limit <= bound } else { limit >= bound })
            }
            _ => false,
        } && !self.may_change(count.counter.variable, body, frame);
        let next = Statement { kind: Action::Assign(count.counter.clone(), count.next()), span };
        if fits && !self.options.fine && count.counter.steps.is_empty() && body.iter().any(ends_action) {
            return self.count(&condition, body, &next, frame);
        }
        let (top, last, out) = (self.mark(), self.mark(), self.mark());
        if fits {
            self.place_mark(top);
            self.pass_step(body);
            self.leave_unless(&condition, out, frame);
            self.statements(body, frame);
            self.statements(std::slice::from_ref(&next), frame);
            self.jump(top);
            return self.place_mark(out);
        }
        self.leave_unless(&condition, out, frame);
        self.place_mark(top);
        self.pass_step(body);
        self.statements(body, frame);
        self.at(span);
        if free {
            self.or_at(last);
            self.limit_failures(count);
        } else {
            self.turns_again(count, frame);
            self.jump_if_zero(last);
        }
        self.next_value(count, bound, out, free, frame);
        self.jump(top);
        self.place_mark(last);
        self.next_value(count, bound, out, true, frame);
        self.place_mark(out);
    }

    /// Whether something else than the loop may change its variable between two turns.
    fn may_change(&self, variable: usize, body: &[Statement], frame: usize) -> bool {
        let (program, process) = (self.program, self.frames[frame].process);
        let is_passed = |statement: &Statement| match &statement.kind {
            Action::Call(_, arguments) | Action::Create(_, arguments) => {
                arguments.iter().any(|argument| matches!(argument, Argument::Reference(place) if place.variable == variable))
            }
            _ => false,
        };
        let has_other_names = program.variables[variable].reference || program.variables[variable].address.is_some();
        let (mut changed, mut ends, mut seen) = (has_other_names, self.options.fine, vec![process]);
        let mut look = |body: &[Statement], called: &mut Vec<usize>| {
            each_statement(body, &mut |statement| {
                changed |= writes(statement, variable);
                ends |= ends_action(statement);
                if let Action::Call(process, _) = &statement.kind {
                    called.push(*process);
                }
            });
        };
        let mut called = Vec::new();
        look(body, &mut called);
        while let Some(process) = called.pop() {
            if !seen.contains(&process) {
                seen.push(process);
                look(&program.processes[process].body, &mut called);
            }
        }
        // A recursive call executes this loop again.
        changed |= self.recursive[process] && program.variables[variable].owner != Some(process);
        let others = ends && program.variables[variable].owner.is_none();
        changed |= others && process != program.main;
        for (other, process) in program.processes.iter().enumerate() {
            each_statement(&process.body, &mut |statement| {
                changed |= is_passed(statement) || others && other != program.main && writes(statement, variable);
            });
        }
        changed
    }

    /// Increases the variable of a loop. If the result may not fit and does not, the loop has
    /// ended.
    fn next_value(&mut self, count: &Count, bound: i64, out: Mark, check: bool, frame: usize) {
        if self.outside.holds(&count.counter) {
            return;
        }
        if check {
            let (least, greatest) = range(&count.counter.ty);
            if !(least..=greatest).contains(&bound) {
                return self.jump(out);
            }
            let how = if count.by > 0 { Binary::LessOrEqual } else { Binary::GreaterOrEqual };
            let ty = if count.counter.ty == UNSIGNED { UNSIGNED } else { INTEGER };
            let bound = Expression { kind: Kind::Constant(bound as i32), ty, span: count.span };
            self.leave_unless(&count.compare(how, count.value(), bound), out, frame);
        }
        self.assign(&count.counter, &count.next(), frame);
        if self.options.fine {
            self.step(Mode::Normal);
        }
    }

    /// Pushes whether the limit is still not passed after one more step. The sum may not fit into
    /// 32 bits, so the distance to the limit is compared with the step, without sign.
    fn turns_again(&mut self, count: &Count, frame: usize) {
        let (least, greatest) = range(&count.counter.ty);
        let by = i64::from(count.by);
        if least + by >= i32::MIN.into() && greatest + by <= i32::MAX.into() {
            let how = if by > 0 { Binary::LessOrEqual } else { Binary::GreaterOrEqual };
            return self.value(&count.compare(how, count.next(), count.limit.clone()), frame);
        }
        self.value(&count.condition(), frame);
        let (from, to) = if by > 0 { (count.value(), count.limit.clone()) } else { (count.limit.clone(), count.value()) };
        self.value(&to, frame);
        self.value(&from, frame);
        self.emit(Op::Sub {});
        self.constant(i32::MIN);
        self.emit(Op::Xor {});
        self.constant((by.unsigned_abs() as u32 ^ 1 << 31) as i32);
        self.emit(Op::Ge {});
        self.emit(Op::And {});
    }

    /// The beginning of a loop. Every loop of the code must contain the end of a step. If some path
    /// through its body has none, an invisible one is added. It is at the beginning, so that a
    /// process that continues the loop is at the same location wherever it comes from.
    fn pass_step(&mut self, body: &[Statement]) {
        if !body.iter().any(ends_action) {
            self.step(Mode::Invisible);
        }
    }

    fn assign(&mut self, place: &Place, value: &Expression, frame: usize) {
        if place.ty.is_scalar() {
            if self.outside.holds(place) {
                // The variable depends on the environment, but this value may not, and may fail.
                if !self.outside.depends(value) {
                    self.value_for(value, &place.ty, frame);
                    self.emit(Op::Drop {});
                }
                return;
            }
            self.value_for(value, &place.ty, frame);
            self.store_scalar(place, frame);
            return;
        }
        let Kind::Load(source) = &value.kind else { return };
        self.copy(source, place, frame);
    }

    /// Copies an array or a record, element by element.
    fn copy(&mut self, source: &Place, place: &Place, frame: usize) {
        let (to, held) = self.settled(place, place, frame);
        let (from, kept) = self.settled(source, place, frame);
        let (sources, targets) = (self.leaves(&from), self.leaves(&to));
        for ((read, of, _), (written, _, _)) in sources.into_iter().zip(targets) {
            for element in 0..of {
                self.load(&from, read, element, of);
                self.store(&to, written, element, of);
            }
        }
        self.forget(held);
        self.forget(kept);
    }

    /// Sets a hidden local to 0, so that states do not differ by it.
    pub(super) fn forget(&mut self, local: Option<LocalId>) {
        if let Some(var) = local {
            self.constant(0);
            self.emit(Op::Stl { var });
        }
    }

    /// Pops a value into a place that holds one number.
    pub(super) fn store_scalar(&mut self, place: &Place, frame: usize) {
        let spot = self.spot(place, frame);
        if let Some((cell, of, _)) = self.leaves(&spot).first().cloned() {
            self.store(&spot, cell, 0, of);
        }
    }
}

/// Whether a statement itself stores in a variable.
pub(super) fn writes(statement: &Statement, variable: usize) -> bool {
    match &statement.kind {
        Action::Assign(place, _) | Action::New(place) => place.variable == variable,
        Action::For(count, _) => count.counter.variable == variable,
        Action::Communicate(communication) => stores(&communication.what, variable),
        Action::Select(clauses) => clauses.iter().any(|clause| stores(&clause.communication.what, variable)),
        _ => false,
    }
}

/// Whether a statement ends an action on all its paths.
fn ends_action(statement: &Statement) -> bool {
    matches!(statement.kind, Action::Communicate(_) | Action::Select(_) | Action::Choice(_) | Action::Reschedule)
}
