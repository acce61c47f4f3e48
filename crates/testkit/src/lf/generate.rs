//! Random programs: small, but with all kinds of interaction between processes, and numbers of all
//! types at their limits.

use super::numbers::is_unsigned;
use super::{Clause, Condition, GLOBALS, Message, Operator, PORTS, Port, Program, Statement, Talk, Value, Var, WIDE};

/// The process whose statements are generated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// `P` with this number.
    Process(usize),
    /// `Q`, which calls nothing.
    Called,
    /// `R`, which calls itself.
    Recursive,
}

struct Generator {
    state: u64,
    inside: Inside,
    processes: usize,
    room: i32,
    /// Whether `y` counts a loop, so that it must not be changed.
    counting: bool,
    /// The same for `z`.
    counting_bytes: bool,
    is_open: bool,
}

impl Program {
    /// The program with this number.
    pub fn random(seed: u64) -> Program {
        Program::make(seed, false)
    }

    /// The open program with this number.
    pub fn random_open(seed: u64) -> Program {
        Program::make(seed, true)
    }

    fn make(seed: u64, is_open: bool) -> Program {
        let mut g = Generator {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            inside: Inside::Called,
            processes: 0,
            room: 4,
            counting: false,
            counting_bytes: false,
            is_open,
        };
        for _ in 0..4 {
            g.next();
        }
        g.processes = 1 + g.below(3);
        let count = 1 + g.below(2);
        let called = g.block(count, 1, false);
        g.inside = Inside::Recursive;
        g.room = 3;
        let recursive = g.recursive();
        let mut processes = Vec::new();
        for process in 0..g.processes {
            g.inside = Inside::Process(process);
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
        let created = (0..instances).map(|_| (g.below(g.processes), g.below(3) as i64, g.below(PORTS))).collect();
        Program { processes, called, recursive, created, is_open }
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

    fn is_process(&self) -> bool {
        matches!(self.inside, Inside::Process(_))
    }

    /// A variable of type `INT8`.
    fn variable(&mut self) -> Var {
        match self.below(if self.is_process() { 5 } else { 7 }) {
            0 => Var::Global(self.below(GLOBALS)),
            1 | 2 if !self.counting => Var::Local(self.below(2)),
            1..=3 => Var::Local(0),
            4 if self.one_in(2) => Var::Field(self.below(2)),
            4 => Var::Local(0),
            _ => Var::Reference,
        }
    }

    /// A variable of any type.
    fn any_variable(&mut self) -> Var {
        match self.below(5) {
            0 => Var::Wide(self.below(WIDE.len())),
            1 if !self.counting_bytes => Var::Local(2),
            _ => self.variable(),
        }
    }

    /// A number at the limit of a type. One that does not fit 31 bits makes a sum unsigned.
    fn extreme(&mut self) -> i64 {
        let numbers = [127, 128, 255, 256, 32767, 32768, 65535, 65536, 46341, 2147483647, 2147483646, 4294967295];
        numbers[self.below(numbers.len())]
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 5 } else { 16 }) {
            0..=2 => Value::Constant(self.below(3) as i64),
            3 | 4 => Value::Load(self.variable()),
            5 | 6 => {
                let sum = self.binary(Operator::Add, depth);
                Value::Binary(Operator::Modulo, Box::new(sum), Box::new(Value::Constant(3)))
            }
            7 => {
                let left = self.variable_part(depth);
                Value::Binary(Operator::Modulo, Box::new(left), Box::new(Value::Constant(2)))
            }
            8 => self.element(true),
            // An operation that may fail depends on a variable, because the compiler refuses a
            // constant that fails.
            9 if self.one_in(3) => self.element(false),
            10 | 11 if self.one_in(2) => {
                let operator = [Operator::Add, Operator::Subtract, Operator::Multiply, Operator::Divide, Operator::Modulo][self.below(5)];
                self.binary(operator, depth)
            }
            12 if self.one_in(3) => Value::Binary(
                [Operator::Add, Operator::Subtract, Operator::Multiply][self.below(3)],
                Box::new(self.variable_part(depth)),
                Box::new(Value::Constant(self.extreme())),
            ),
            13 if self.one_in(2) => {
                let operand = Box::new(self.variable_part(depth));
                if self.one_in(2) || is_unsigned(&operand) { Value::Absolute(operand) } else { Value::Negate(operand) }
            }
            14 => Value::Load(self.any_variable()),
            15 if self.one_in(4) => self.least(),
            _ => Value::Load(self.variable()),
        }
    }

    /// An operation on the least number, with 1 or −1, which no constant of the text is.
    fn least(&mut self) -> Value {
        let load = Value::Load(self.variable());
        let less = |from: Value, by: i64| Value::Binary(Operator::Subtract, Box::new(from), Box::new(Value::Constant(by)));
        let zero = Value::Binary(Operator::Subtract, Box::new(load.clone()), Box::new(load));
        let least = Box::new(less(less(zero.clone(), 2147483647), 1));
        let one = if self.one_in(3) { Value::Constant(1) } else { less(zero, 1) };
        match self.below(5) {
            0 => Value::Negate(least),
            1 => Value::Absolute(least),
            2 => Value::Binary(Operator::Modulo, least, Box::new(one)),
            _ => Value::Binary(Operator::Divide, least, Box::new(one)),
        }
    }

    /// An operator whose left operand depends on a variable.
    fn binary(&mut self, operator: Operator, depth: usize) -> Value {
        Value::Binary(operator, Box::new(self.variable_part(depth)), Box::new(self.value(depth - 1)))
    }

    fn variable_part(&mut self, depth: usize) -> Value {
        match self.value(depth - 1) {
            Value::Constant(_) => Value::Load(self.any_variable()),
            value => value,
        }
    }

    fn element(&mut self, is_safe: bool) -> Value {
        let index = self.index(is_safe);
        Value::Element(self.below(2), Box::new(index))
    }

    fn index(&mut self, is_safe: bool) -> Value {
        let load = Value::Load(self.any_variable());
        if !is_safe {
            return load;
        }
        // It has the sign of the variable, so it may still be outside.
        Value::Binary(Operator::Modulo, Box::new(load), Box::new(Value::Constant(2)))
    }

    /// A value that cannot fail.
    fn safe_value(&mut self) -> Value {
        if self.one_in(2) { Value::Constant(self.below(3) as i64) } else { Value::Load(self.variable()) }
    }

    /// A condition that cannot fail.
    fn safe_condition(&mut self, depth: usize) -> Condition {
        match self.below(if depth == 0 { 2 } else { 5 }) {
            0 => Condition::Less(Value::Load(self.variable()), self.safe_value()),
            1 => Condition::Equal(Value::Load(self.variable()), self.safe_value()),
            2 => Condition::Not(Box::new(self.safe_condition(depth - 1))),
            3 => Condition::Or(Box::new(self.safe_condition(depth - 1)), Box::new(self.safe_condition(depth - 1))),
            _ => Condition::And(Box::new(self.safe_condition(depth - 1)), Box::new(self.safe_condition(depth - 1))),
        }
    }

    /// A condition whose parts may fail if they are computed.
    fn condition(&mut self, depth: usize) -> Condition {
        match self.below(if depth == 0 { 3 } else { 8 }) {
            0 => Condition::Less(Value::Load(self.any_variable()), self.value(1)),
            1 if self.one_in(2) => Condition::In(Value::Load(self.variable())),
            3 => Condition::Or(Box::new(self.condition(depth - 1)), Box::new(self.condition(depth - 1))),
            4 => Condition::And(Box::new(self.condition(depth - 1)), Box::new(self.condition(depth - 1))),
            _ => self.safe_condition(depth),
        }
    }

    fn port(&mut self) -> Port {
        match self.below(5) {
            0 => Port::Global(self.below(PORTS)),
            1 | 2 if self.is_process() => Port::Own,
            _ => Port::Global(0),
        }
    }

    fn talk(&mut self) -> Talk {
        let message = if self.one_in(2) { Message::Number } else { Message::Signal };
        let sends = self.one_in(2).then(|| self.safe_value());
        let talk = Talk { port: self.port(), message, sends, gives: self.port(), into: self.variable(), only: None };
        if self.is_open && self.one_in(2) {
            return Talk { port: Port::Open, sends: None, only: self.one_in(6).then_some(1), ..talk };
        }
        // The environment sends no ports.
        let is_port = !self.is_open && self.is_process() && self.one_in(8);
        Talk { message: if is_port { Message::Port } else { talk.message }, ..talk }
    }

    fn communication(&mut self) -> Statement {
        if !self.one_in(4) {
            return Statement::Talk(self.talk());
        }
        let clauses = (0..1 + self.below(3))
            .map(|_| {
                let mut talk = self.talk();
                if talk.message == Message::Number && talk.sends.is_none() && self.one_in(4) {
                    talk.only = Some(self.below(3) as i64);
                }
                let guard = self.one_in(2).then(|| self.safe_condition(1));
                let count = self.below(2);
                Clause { talk, guard, body: self.block(count, 0, false) }
            })
            .collect();
        Statement::Select(clauses)
    }

    fn block(&mut self, count: usize, depth: usize, may_create: bool) -> Vec<Statement> {
        (0..count).map(|_| self.statement(depth, may_create)).collect()
    }

    /// The body of `R`: it calls itself with a smaller number.
    fn recursive(&mut self) -> Vec<Statement> {
        let x = || Value::Load(Var::Local(0));
        let less = Value::Binary(Operator::Subtract, Box::new(x()), Box::new(Value::Constant(1)));
        let count = self.below(2);
        let mut deeper = self.block(count, 0, false);
        let passed = if self.one_in(3) { Var::Local(1) } else { Var::Reference };
        deeper.push(Statement::Call(true, passed, less));
        if self.one_in(2) {
            deeper.push(Statement::Assign(Var::Reference, self.value(1)));
        }
        let count = 1 + self.below(2);
        let last = self.block(count, 0, false);
        vec![Statement::If(Condition::Less(x(), Value::Constant(1)), last, deeper)]
    }

    /// A loop with `FOR`: over few numbers, at the limits of a type, or to the value of a variable.
    fn count(&mut self, depth: usize) -> Statement {
        let by = [1, 1, 2, -1, 3, -2][self.below(6)];
        let constant = |number: i64| Value::Constant(number);
        if self.one_in(3) {
            // The variable belongs to the module, so the body changes nothing else and is part of
            // an action.
            let number = self.below(WIDE.len());
            let (_, _, greatest) = WIDE[number];
            let away = self.below(4) as i64;
            let (from, to) = if by > 0 { (greatest - away, greatest) } else { (away, 0) };
            let body = vec![Statement::Assign(Var::Global(0), Value::Constant(self.below(3) as i64))];
            return Statement::For(Var::Wide(number), constant(from), constant(to), by, body);
        }
        let bytes = self.counting || (!self.counting_bytes && self.one_in(2));
        let var = if bytes { Var::Local(2) } else { Var::Local(1) };
        let (_, least, greatest) = var.ty();
        let (from, to) = match (self.below(3), by > 0) {
            (0, true) => (constant(greatest - 2), constant(greatest)),
            // A negative constant has a sign before it, which is an operator.
            (0, false) if least == 0 => (constant(2), constant(0)),
            (1, _) => (constant(self.below(2) as i64), Value::Load(self.variable())),
            (_, true) => (constant(0), constant(self.below(3) as i64)),
            (_, false) => (constant(self.below(3) as i64), constant(0)),
        };
        let count = self.below(3);
        let before = (self.counting, self.counting_bytes);
        if bytes {
            self.counting_bytes = true;
        } else {
            self.counting = true;
        }
        let body = self.block(count, depth - 1, false);
        (self.counting, self.counting_bytes) = before;
        Statement::For(var, from, to, by, body)
    }

    fn statement(&mut self, depth: usize, may_create: bool) -> Statement {
        self.room -= 1;
        if self.room < 0 {
            return Statement::Reschedule;
        }
        match self.below(if depth == 0 { 14 } else { 24 }) {
            0..=2 => Statement::Assign(self.variable(), self.value(2)),
            3 => {
                let index = self.index(true);
                Statement::Store(self.below(2), index, self.value(1))
            }
            4..=6 => self.communication(),
            7 => Statement::Reschedule,
            8 if self.one_in(2) => Statement::Assert(self.condition(1)),
            9 if self.is_process() && depth > 0 => Statement::Call(self.one_in(3), self.variable(), self.value(1)),
            10 => Statement::Assign(Var::Wide(self.below(WIDE.len())), self.value(2)),
            11 if self.one_in(2) => {
                let var = self.any_variable();
                Statement::Change(self.one_in(2), var, self.safe_value())
            }
            12 if self.one_in(2) => Statement::Copy,
            12 if self.is_process() && !self.counting => Statement::Inner(self.safe_value()),
            13 if self.one_in(2) => Statement::Member(!self.one_in(3), Value::Load(self.variable())),
            13 if self.is_process() => Statement::Port(self.port()),
            14 | 15 => {
                let (yes, no) = (self.below(3), self.below(2));
                Statement::If(self.condition(1), self.block(yes, depth - 1, false), self.block(no, depth - 1, false))
            }
            // A loop with a counter, so that it ends.
            16 if !self.counting => {
                let count = self.below(2);
                self.counting = true;
                let mut body = self.block(count, depth - 1, false);
                self.counting = false;
                let next = Value::Binary(Operator::Add, Box::new(Value::Load(Var::Local(1))), Box::new(Value::Constant(1)));
                body.push(Statement::Assign(Var::Local(1), next));
                Statement::While(Condition::Less(Value::Load(Var::Local(1)), Value::Constant(2)), body)
            }
            17 => {
                let count = self.below(2);
                let mut body = self.block(count, depth - 1, false);
                body.push(Statement::Reschedule);
                Statement::Repeat(body, self.condition(0))
            }
            18 | 19 => {
                let blocks = (0..2 + self.below(2))
                    .map(|_| {
                        let count = self.below(3);
                        self.block(count, depth - 1, false)
                    })
                    .collect();
                Statement::Choice(blocks)
            }
            20 | 21 if !(self.counting && self.counting_bytes) => self.count(depth),
            // Only processes with higher numbers, so that the creation of processes ends.
            22 | 23 if may_create => match self.inside {
                Inside::Process(process) if process + 1 < self.processes => {
                    let more = self.processes - process - 1;
                    Statement::Create(process + 1 + self.below(more), self.value(1), self.port())
                }
                _ => Statement::Assign(self.variable(), self.value(1)),
            },
            _ => Statement::Assign(self.any_variable(), self.value(1)),
        }
    }
}
