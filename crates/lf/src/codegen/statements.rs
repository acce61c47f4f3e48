//! Code for statements.

use super::{Generator, Mark};
use crate::tree::{Action, Expression, Kind, Place, Statement};
use bytecode::{Mode, Op};

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
            }
            Action::While(condition, body) => {
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
                self.emit(Op::Range { least: 1, greatest: 255 });
                self.emit(Op::Stg { var: counter });
                self.emit(Op::Ldg { var: counter });
                self.store_scalar(place, frame);
            }
            Action::Print(format, values) => {
                for value in values {
                    self.value(value, frame);
                }
                let format = self.format(format);
                self.emit(Op::Print { format, args: values.len() as u32 });
            }
            Action::Assert(condition) => {
                self.value(condition, frame);
                self.emit(Op::Assert {});
            }
            Action::Reschedule => self.step(Mode::Normal),
            // The resolver has refused these outside properties, which have no code.
            Action::Accept | Action::Nomove => {}
        }
    }

    /// Jumps if a condition is false. A condition that depends on an unknown environment can be
    /// true and false.
    fn leave_unless(&mut self, condition: &Expression, elsewhere: Mark, frame: usize) {
        if self.outside.decides(condition) {
            self.or_at(elsewhere);
            return;
        }
        self.value(condition, frame);
        self.jump_if_zero(elsewhere);
    }

    /// The beginning of a loop. Every loop of the code must contain the end of a step. If some path
    /// through its body has none, an invisible one is added. It is at the beginning, so that a
    /// process that continues the loop is at the same location wherever it comes from.
    fn pass_step(&mut self, body: &[Statement]) {
        let ends = |statement: &Statement| {
            matches!(statement.kind, Action::Communicate(_) | Action::Select(_) | Action::Choice(_) | Action::Reschedule)
        };
        if !body.iter().any(ends) {
            self.step(Mode::Invisible);
        }
    }

    fn assign(&mut self, place: &Place, value: &Expression, frame: usize) {
        if place.ty.is_scalar() {
            self.value_for(value, &place.ty, frame);
            self.store_scalar(place, frame);
            return;
        }
        let Kind::Load(source) = &value.kind else { return };
        self.copy(source, place, frame);
    }

    /// Copies an array or a record, element by element.
    fn copy(&mut self, source: &Place, place: &Place, frame: usize) {
        let (from, to) = (self.spot(source, frame), self.spot(place, frame));
        let (sources, targets) = (self.leaves(&from), self.leaves(&to));
        for ((read, of, _), (written, _, _)) in sources.into_iter().zip(targets) {
            for element in 0..of {
                self.load(&from, read, element, of);
                self.store(&to, written, element, of);
            }
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
