//! The shape of a step: trees of alternatives, and leaves that end in a STEP.

use super::code::Place;
use super::{Body, Generator};
use bytecode::{Mode, Op};

impl Generator {
    /// A tree of alternatives at a location; every path through it ends.
    pub(super) fn alternatives(&mut self, body: &mut Body, depth: usize) {
        if depth == 0 || self.splits == 0 || self.one_in(3) {
            return self.leaf(body);
        }
        self.splits -= 1;
        let other = self.code.place();
        self.fork(body.process, other);
        let written = self.written;
        if self.one_in(3) {
            self.statement(body, true);
        }
        self.alternatives(body, depth - 1);
        self.written = written;
        self.code.put(other);
        self.alternatives(body, depth - 1);
    }

    /// A sequence of steps that ends at some hub, with the end of the process, or blocked.
    fn leaf(&mut self, body: &mut Body) {
        if self.one_in(20) {
            return self.code.push(Op::Nex {});
        }
        if self.one_in(12) {
            return self.code.push(Op::Step { mode: Mode::Terminate });
        }
        for _ in 0..[0, 0, 0, 1, 2][self.below(5)] {
            self.statements(body, true);
            let mode = self.mode();
            self.step(mode);
            // The code after a deterministic step should rarely block.
            if mode == Mode::Deterministic && !self.one_in(4) {
                self.statements(body, false);
                let mode = self.mode();
                self.step(mode);
            }
        }
        self.statements(body, true);
        if self.one_in(10) {
            return self.code.push(Op::Step { mode: Mode::Terminate });
        }
        self.end(body);
    }

    /// The last step of a leaf, and the jump to some hub.
    pub(super) fn end(&mut self, body: &mut Body) {
        let mode = self.mode();
        self.step(mode);
        let hub = self.below(body.hubs.len());
        if !body.wanted.contains(&hub) {
            body.wanted.push(hub);
        }
        let place = body.hubs[hub];
        self.code.to(|target| Op::Jmp { target }, place);
    }

    fn step(&mut self, mode: Mode) {
        self.code.push(Op::Step { mode });
        self.written = 0;
    }

    fn statements(&mut self, body: &mut Body, may_block: bool) {
        for _ in 0..[1, 1, 1, 2, 2, 3][self.below(6)] {
            self.statement(body, may_block);
        }
    }

    /// Two paths that join again within the step.
    pub(super) fn branch(&mut self, body: &mut Body, may_block: bool) {
        if self.splits == 0 {
            return;
        }
        self.splits -= 1;
        let (other, join) = (self.code.place(), self.code.place());
        self.fork(body.process, other);
        let before = self.written;
        self.statement(body, may_block);
        let first = self.written;
        self.written = before;
        self.code.to(|target| Op::Jmp { target }, join);
        self.code.put(other);
        self.statement(body, may_block);
        self.code.put(join);
        self.written &= first;
    }

    pub(super) fn call(&mut self, body: &mut Body) {
        let Some(choices @ 1..) = body.subroutines.len().checked_sub(body.callable) else { return };
        let i = body.callable + self.below(choices);
        body.subroutines[i].1 = true;
        let place: Place = body.subroutines[i].0;
        self.code.to(|target| Op::Call { target }, place);
    }

    /// A subroutine: statements that may block, branch and fail, and a RET. It reads no register of
    /// its caller.
    pub(super) fn subroutine(&mut self, body: &mut Body) {
        self.written = 0;
        self.splits = 1;
        self.statement(body, true);
        self.code.push(Op::Ret {});
    }
}
