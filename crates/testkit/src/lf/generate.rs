//! Random programs: small, but with all kinds of interaction between processes.

use super::{Clause, Condition, GLOBALS, PORTS, Program, Statement, Talk, Value, Var};

struct Generator {
    state: u64,
    /// Whether the called process is being generated.
    in_called: bool,
    process: usize,
    processes: usize,
    room: i32,
    /// Whether `y` counts a loop, so that it must not be changed.
    counting: bool,
}

impl Program {
    /// The program with this number.
    pub fn random(seed: u64) -> Program {
        let mut g = Generator {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            in_called: false,
            process: 0,
            processes: 0,
            room: 0,
            counting: false,
        };
        for _ in 0..4 {
            g.next();
        }
        g.processes = 1 + g.below(3);
        g.in_called = true;
        g.room = 4;
        let count = 1 + g.below(2);
        let called = g.block(count, 1, false);
        g.in_called = false;
        let mut processes = Vec::new();
        for process in 0..g.processes {
            g.process = process;
            g.room = 9;
            let mut body = Vec::new();
            if g.one_in(2) {
                let count = 1 + g.below(2);
                body = g.block(count, 1, true);
            }
            if g.one_in(2) {
                let count = 1 + g.below(2);
                let mut inside = g.block(count, 2, false);
                inside.push(if g.one_in(4) { Statement::Reschedule } else { g.communication() });
                body.push(Statement::Forever(inside));
            } else {
                let count = 1 + g.below(4);
                body.extend(g.block(count, 2, true));
            }
            processes.push(body);
        }
        let instances = 2 + g.below(2);
        let created = (0..instances).map(|_| (g.below(g.processes), g.below(3) as i32)).collect();
        Program { processes, called, created }
    }
}

impl Generator {
    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 11) as usize % n
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn variable(&mut self) -> Var {
        match self.below(if self.in_called { 5 } else { 4 }) {
            0 => Var::Global(self.below(GLOBALS)),
            1 | 2 if !self.counting => Var::Local(self.below(2)),
            1 | 2 => Var::Local(0),
            3 => Var::Local(0),
            _ => Var::Reference,
        }
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 5 } else { 12 }) {
            0..=2 => Value::Constant(self.below(3) as i32),
            3 | 4 => Value::Load(self.variable()),
            5 | 6 => Value::Modulo(Box::new(Value::Add(Box::new(self.value(depth - 1)), Box::new(self.value(depth - 1)))), 3),
            7 => Value::Modulo(Box::new(self.value(depth - 1)), 2),
            8 => Value::Element(Box::new(Value::Modulo(Box::new(self.value(depth - 1)), 2))),
            // An operation that may fail depends on a variable, because the compiler refuses a
            // constant that fails.
            9 if self.one_in(3) => Value::Element(Box::new(Value::Load(self.variable()))),
            10 if self.one_in(3) => Value::Divide(Box::new(self.value(0)), Box::new(Value::Load(self.variable()))),
            11 if self.one_in(6) => Value::Add(Box::new(Value::Constant(126)), Box::new(Value::Load(self.variable()))),
            _ => Value::Load(self.variable()),
        }
    }

    /// A value that cannot fail.
    fn safe_value(&mut self) -> Value {
        if self.one_in(2) { Value::Constant(self.below(3) as i32) } else { Value::Load(self.variable()) }
    }

    fn condition(&mut self, depth: usize) -> Condition {
        match self.below(if depth == 0 { 2 } else { 4 }) {
            0 => Condition::Less(Value::Load(self.variable()), self.safe_value()),
            1 => Condition::Equal(Value::Load(self.variable()), self.safe_value()),
            2 => Condition::Not(Box::new(self.condition(depth - 1))),
            _ => Condition::And(Box::new(self.condition(depth - 1)), Box::new(self.condition(depth - 1))),
        }
    }

    fn talk(&mut self) -> Talk {
        let data = self.one_in(2);
        let sends = self.one_in(2).then(|| self.safe_value());
        Talk { port: if self.one_in(4) { self.below(PORTS) } else { 0 }, data, sends, into: self.variable() }
    }

    fn communication(&mut self) -> Statement {
        if !self.one_in(4) {
            return Statement::Talk(self.talk());
        }
        let clauses = (0..1 + self.below(3))
            .map(|_| {
                let talk = self.talk();
                let guard = self.one_in(2).then(|| self.condition(1));
                let count = self.below(2);
                Clause { talk, guard, body: self.block(count, 0, false) }
            })
            .collect();
        Statement::Select(clauses)
    }

    fn block(&mut self, count: usize, depth: usize, may_create: bool) -> Vec<Statement> {
        (0..count).map(|_| self.statement(depth, may_create)).collect()
    }

    fn statement(&mut self, depth: usize, may_create: bool) -> Statement {
        self.room -= 1;
        if self.room < 0 {
            return Statement::Reschedule;
        }
        match self.below(if depth == 0 { 10 } else { 17 }) {
            0..=2 => Statement::Assign(self.variable(), self.value(2)),
            3 => Statement::Store(Value::Modulo(Box::new(self.value(0)), 2), self.value(1)),
            4..=6 => self.communication(),
            7 => Statement::Reschedule,
            8 if self.one_in(2) => Statement::Assert(self.condition(1)),
            9 if !self.in_called && depth > 0 => Statement::Call(self.variable(), self.value(1)),
            10 | 11 => {
                let (yes, no) = (self.below(3), self.below(2));
                Statement::If(self.condition(1), self.block(yes, depth - 1, false), self.block(no, depth - 1, false))
            }
            // A loop with a counter, so that it ends.
            12 if !self.counting => {
                let count = self.below(2);
                self.counting = true;
                let mut body = self.block(count, depth - 1, false);
                self.counting = false;
                body.push(Statement::Assign(Var::Local(1), Value::Add(Box::new(Value::Load(Var::Local(1))), Box::new(Value::Constant(1)))));
                Statement::While(Condition::Less(Value::Load(Var::Local(1)), Value::Constant(2)), body)
            }
            13 => {
                let count = self.below(2);
                let mut body = self.block(count, depth - 1, false);
                body.push(Statement::Reschedule);
                Statement::Repeat(body, self.condition(0))
            }
            14 | 15 => {
                let blocks = (0..2 + self.below(2))
                    .map(|_| {
                        let count = self.below(3);
                        self.block(count, depth - 1, false)
                    })
                    .collect();
                Statement::Choice(blocks)
            }
            // Only processes with higher numbers, so that the creation of processes ends.
            16 if may_create && !self.in_called && self.process + 1 < self.processes => {
                let more = self.processes - self.process - 1;
                Statement::Create(self.process + 1 + self.below(more), self.value(1))
            }
            _ => Statement::Assign(self.variable(), self.value(1)),
        }
    }
}
