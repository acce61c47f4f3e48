//! Random programs: small, but with all kinds of interaction between processes, and numbers of all
//! types at their limits.

use super::numbers::is_unsigned;
use super::{
    Clause, Condition, Further, GLOBALS, Message, Operator, PORTS, Port, Program, Relation, Set, Statement, Talk, Value, Var, WIDE,
};

/// The process whose statements are generated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// `P` with this number.
    Process(usize),
    /// `Q`, which calls nothing.
    Called,
    /// `R`, which calls itself.
    Recursive,
    /// The body of the module.
    Main,
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
        let inner = (0..g.processes).map(|_| g.watching()).collect();
        let reader = g.reading();
        g.inside = Inside::Main;
        g.room = 4;
        let main = g.main();
        let constant = g.below(3) as i64;
        let listed = [&[][..], &[0], &[0, 1], &[1, 0], &[1]][g.below(5)].to_vec();
        let further = Further { listed, first: g.one_in(2), chained: g.one_in(2) };
        Program { main, processes, inner, called, recursive, reader, constant, further, is_open }
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

    /// The body of the module: it makes channels, executes a few statements, and creates processes.
    fn main(&mut self) -> Vec<Statement> {
        let mut main = Vec::new();
        let late = self.one_in(8);
        for port in [Port::Global(0), Port::Global(1)] {
            if !(late && self.one_in(2)) {
                main.push(Statement::New(port));
            }
        }
        main.push(Statement::New(Port::Slot(0)));
        if self.is_open {
            main.push(Statement::New(Port::Open));
        }
        if !self.is_open {
            let (to, from) = ([Port::Slot(1), Port::Kept, Port::Slot(0)][self.below(3)], self.port());
            main.push(if self.one_in(3) { Statement::New(to) } else { Statement::Port(to, from) });
        }
        // `d` is a port of another type.
        main.push(Statement::New(Port::Device));
        if self.one_in(3) {
            let count = 1 + self.below(2);
            let before = self.block(count, 1, false);
            main.extend(before);
        }
        for _ in 0..2 + self.below(2) {
            let (process, value, port) = (self.below(self.processes), self.below(3) as i64, Port::Global(self.below(PORTS)));
            main.push(Statement::Create(process, Value::Constant(value), port));
        }
        if self.one_in(6) {
            let var = [Var::Global(0), Var::Field(0), Var::Slot(1), Var::Static(0), Var::Element(1)][self.below(5)];
            main.push(Statement::CreateReader(var, self.port()));
        }
        if late || self.one_in(6) {
            let count = 1 + self.below(2);
            let after = self.block(count, 1, false);
            main.extend(after);
        }
        if late {
            main.push(Statement::New(Port::Global(self.below(PORTS))));
        }
        main
    }

    /// The body of `J`, which reads the variables of the process around it.
    fn watching(&mut self) -> Vec<Statement> {
        let count = 1 + self.below(2);
        (0..count).map(|_| self.reads(Var::Local(0))).collect()
    }

    /// The body of `V`, which reads the variable `r`.
    fn reading(&mut self) -> Vec<Statement> {
        let count = 1 + self.below(2);
        (0..count).map(|_| self.reads(Var::Reference)).collect()
    }

    fn reads(&mut self, var: Var) -> Statement {
        let load = Value::Load(if var == Var::Local(0) && self.one_in(3) { Var::Local(1) } else { var });
        let port = if self.one_in(2) { Port::Own } else { Port::Global(self.below(PORTS)) };
        let talk = Talk {
            port,
            message: Message::Number,
            sends: Some(load.clone()),
            gives: port,
            flag: Condition::Flag,
            into: Var::Global(1),
            only: None,
        };
        match self.below(5) {
            0 => Statement::Assign(Var::Global(0), load),
            1 => Statement::Reschedule,
            2 => Statement::Assert(Condition::Compare(Relation::Less, load, Value::Constant(100))),
            3 => Statement::Talk(Talk { sends: None, ..talk }),
            _ => Statement::Talk(talk),
        }
    }

    /// A variable of type `INT8`.
    fn variable(&mut self) -> Var {
        if self.inside == Inside::Main {
            return [Var::Global(0), Var::Global(1), Var::Field(0), Var::Static(0), Var::Slot(0)][self.below(5)];
        }
        match self.below(if self.is_process() { 6 } else { 8 }) {
            0 => Var::Global(self.below(GLOBALS)),
            1 | 2 if !self.counting => Var::Local(self.below(2)),
            1..=3 => Var::Local(0),
            4 if self.one_in(2) => Var::Field(self.below(2)),
            4 => Var::Local(0),
            5 => match self.below(8) {
                0 | 1 => Var::Static(self.below(2)),
                2 => Var::Slot(self.below(2)),
                3 => Var::Chosen,
                4 => Var::Pointed,
                5 => Var::Element(self.below(2)),
                _ => Var::Local(0),
            },
            _ => Var::Reference,
        }
    }

    /// A variable of type `INT8` that is always there.
    fn safe_variable(&mut self) -> Var {
        match self.variable() {
            Var::Chosen => Var::Slot(0),
            Var::Pointed => Var::Element(0),
            other => other,
        }
    }

    /// A variable of any type.
    fn any_variable(&mut self) -> Var {
        match self.below(5) {
            0 => Var::Wide(self.below(WIDE.len())),
            1 if !self.counting_bytes && self.inside != Inside::Main => Var::Local(2),
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
            15 if self.one_in(3) => {
                let slot = self.index(true);
                Value::Deep(Box::new(slot), Box::new(self.index(true)))
            }
            15 => match self.below(4) {
                0 => Value::Imported,
                1 => Value::Letter,
                2 => Value::Bits,
                _ => Value::Cast(self.below(WIDE.len()), Box::new(self.variable_part(depth))),
            },
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
            Value::Constant(_) | Value::Imported => Value::Load(self.any_variable()),
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
        match self.below(16) {
            0..=6 => Value::Constant(self.below(3) as i64),
            7 => Value::Imported,
            _ => Value::Load(self.safe_variable()),
        }
    }

    fn relation(&mut self) -> Relation {
        use Relation::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Unequal};
        [Less, Equal, Unequal, LessOrEqual, Greater, GreaterOrEqual][self.below(6)]
    }

    /// A condition that cannot fail.
    fn safe_condition(&mut self, depth: usize) -> Condition {
        match self.below(if depth == 0 { 3 } else { 6 }) {
            0 | 1 => Condition::Compare(self.relation(), Value::Load(self.safe_variable()), self.safe_value()),
            2 if self.one_in(3) => Condition::Before(b'a'),
            2 => Condition::Flag,
            3 => Condition::Not(Box::new(self.safe_condition(depth - 1))),
            4 => Condition::Or(Box::new(self.safe_condition(depth - 1)), Box::new(self.safe_condition(depth - 1))),
            _ => Condition::And(Box::new(self.safe_condition(depth - 1)), Box::new(self.safe_condition(depth - 1))),
        }
    }

    /// A condition whose parts may fail if they are computed.
    fn condition(&mut self, depth: usize) -> Condition {
        match self.below(if depth == 0 { 4 } else { 9 }) {
            0 => Condition::Compare(self.relation(), Value::Load(self.any_variable()), self.value(1)),
            1 if self.one_in(2) => Condition::In(Value::Load(self.variable()), self.set(1)),
            2 => match self.below(6) {
                0 => Condition::Odd(Value::Load(self.any_variable())),
                1 => Condition::Same(self.set(1), self.set(0)),
                2 if self.one_in(2) => Condition::SamePort(self.port(), self.port()),
                3 if self.one_in(4) => Condition::True,
                _ => Condition::Flag,
            },
            3 if depth > 0 => Condition::Or(Box::new(self.condition(depth - 1)), Box::new(self.condition(depth - 1))),
            4 => Condition::And(Box::new(self.condition(depth - 1)), Box::new(self.condition(depth - 1))),
            _ => self.safe_condition(depth),
        }
    }

    fn set(&mut self, depth: usize) -> Set {
        let element = |this: &mut Self| {
            if this.one_in(3) { Value::Constant(this.below(4) as i64) } else { Value::Load(this.variable()) }
        };
        match self.below(if depth == 0 { 4 } else { 7 }) {
            0 | 1 => Set::Load,
            2 | 3 => {
                let count = self.below(3);
                let range = |this: &mut Self| this.one_in(3).then(|| element(this));
                Set::Of((0..count).map(|_| (element(self), range(self))).collect())
            }
            4 => Set::Complement(Box::new(self.set(depth - 1))),
            5 if self.one_in(2) => Set::Number(Value::Load(self.any_variable())),
            _ => Set::Join(['+', '-', '*', '/'][self.below(4)], Box::new(self.set(depth - 1)), Box::new(self.set(depth - 1))),
        }
    }

    fn port(&mut self) -> Port {
        let has_x = self.inside != Inside::Main;
        match self.below(10) {
            0 | 1 => Port::Global(self.below(PORTS)),
            2..=5 if self.is_process() => Port::Own,
            6 if self.one_in(2) => match self.below(4) {
                0 => Port::Slot(self.below(2)),
                1 if has_x => Port::Chosen,
                2 => Port::Kept,
                _ => Port::Imported,
            },
            _ => Port::Global(0),
        }
    }

    /// A port that an assignment or `NEW` changes.
    fn changed_port(&mut self) -> Port {
        match self.below(8) {
            0 => Port::Slot(self.below(2)),
            1 => Port::Kept,
            2 if self.inside != Inside::Main => Port::Chosen,
            3 => Port::Global(1),
            _ if self.is_process() => Port::Own,
            _ => Port::Slot(1),
        }
    }

    fn talk(&mut self) -> Talk {
        let message = match self.below(10) {
            0..=4 => Message::Signal,
            5..=8 => Message::Number,
            // The environment sends every message that only one side has.
            _ if self.is_open => Message::Number,
            _ => Message::Pair,
        };
        let sends = self.one_in(2).then(|| if self.one_in(8) { self.value(1) } else { self.safe_value() });
        let flag = if self.one_in(2) { Condition::Flag } else { self.safe_condition(1) };
        let talk = Talk { port: self.port(), message, sends, gives: self.port(), flag, into: self.variable(), only: None };
        if self.is_open && self.one_in(2) {
            let message = if self.one_in(2) { Message::Number } else { Message::Signal };
            return Talk { port: Port::Open, message, sends: None, only: self.one_in(6).then_some(1), ..talk };
        }
        // The environment sends no ports and no records.
        let is_port = !self.is_open && self.is_process() && self.one_in(8);
        let is_record = !self.is_open && self.one_in(16);
        Talk {
            message: if is_port {
                Message::Port
            } else if is_record {
                Message::Record
            } else {
                talk.message
            },
            ..talk
        }
    }

    /// A receive that also waits for a constant, now and then.
    fn received(&mut self, one_in: usize) -> Talk {
        let mut talk = self.talk();
        if matches!(talk.message, Message::Number | Message::Pair) && talk.sends.is_none() && self.one_in(one_in) {
            talk.only = Some(self.below(3) as i64);
        }
        talk
    }

    fn communication(&mut self) -> Statement {
        if !self.one_in(4) {
            let talk = self.received(12);
            if talk.only.is_some() {
                return Statement::Expect(Clause { talk, guard: None, body: Vec::new() });
            }
            return Statement::Talk(talk);
        }
        let clauses = (0..1 + self.below(3))
            .map(|_| {
                let talk = self.received(4);
                let guard = self.one_in(2).then(|| if self.one_in(6) { self.condition(1) } else { self.safe_condition(1) });
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
        let is_last = Condition::Compare(Relation::Less, x(), Value::Constant(1));
        vec![Statement::If(vec![(is_last, last)], deeper)]
    }

    /// A loop with `FOR`: over few numbers, at the limits of a type, or to the value of a variable.
    fn count(&mut self, depth: usize) -> Statement {
        let by = [1, 1, 2, -1, 3, -2][self.below(6)];
        let constant = |number: i64| Value::Constant(number);
        if self.one_in(3) || self.inside == Inside::Main {
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

    /// A statement of a loop that may not end: it stores few different values, so that the loop
    /// comes back to a state soon.
    fn small_statement(&mut self) -> Statement {
        let var = self.variable();
        let rest = |value: Value| Value::Binary(Operator::Modulo, Box::new(value), Box::new(Value::Constant(3)));
        match self.below(8) {
            0 => Statement::Reschedule,
            1 => Statement::Flag(self.safe_condition(1)),
            2 | 3 => {
                let sum = Value::Binary(Operator::Add, Box::new(Value::Load(var)), Box::new(self.safe_value()));
                Statement::Assign(var, rest(sum))
            }
            4 if self.one_in(3) => Statement::Change(self.one_in(2), var, Value::Constant(1)),
            5 => {
                let inside = vec![if self.one_in(2) { Statement::Reschedule } else { self.small_statement() }];
                Statement::If(vec![(self.safe_condition(0), inside)], Vec::new())
            }
            6 if self.one_in(2) => self.communication(),
            _ => Statement::Assign(var, self.safe_value()),
        }
    }

    /// A loop that may never end its action.
    fn endless(&mut self) -> Statement {
        let count = self.below(3);
        let body = (0..count).map(|_| self.small_statement()).collect();
        match self.below(4) {
            0 => Statement::Repeat(body, self.safe_condition(1)),
            1 if self.one_in(3) => Statement::Forever(body),
            _ => Statement::While(self.safe_condition(1), body),
        }
    }

    fn statement(&mut self, depth: usize, may_create: bool) -> Statement {
        self.room -= 1;
        if self.room < 0 {
            return Statement::Reschedule;
        }
        let may_call = self.is_process() || self.inside == Inside::Main;
        match self.below(if depth == 0 { 17 } else { 28 }) {
            0..=2 => Statement::Assign(self.variable(), self.value(2)),
            3 if self.one_in(4) => {
                let (i, j) = (self.index(true), self.index(true));
                Statement::StoreDeep(i, j, self.value(1))
            }
            3 => {
                let index = self.index(true);
                Statement::Store(self.below(2), index, self.value(1))
            }
            4..=6 => self.communication(),
            7 => Statement::Reschedule,
            8 if self.one_in(2) => Statement::Assert(self.condition(1)),
            9 if self.is_process() && depth > 0 => Statement::Call(self.one_in(3), self.variable(), self.value(1)),
            9 if may_call => Statement::Bump(self.variable(), self.safe_value()),
            10 => Statement::Assign(Var::Wide(self.below(WIDE.len())), self.value(2)),
            11 if self.one_in(2) => {
                let var = self.any_variable();
                Statement::Change(self.one_in(2), var, self.safe_value())
            }
            12 if self.one_in(3) => Statement::Copy,
            12 if self.one_in(3) => {
                let index = self.index(true);
                Statement::Pick(self.one_in(2), index)
            }
            12 if self.is_process() && !self.counting => Statement::Inner(self.safe_value()),
            13 if self.one_in(2) => Statement::Member(!self.one_in(3), Value::Load(self.variable())),
            13 if self.is_process() => Statement::Port(Port::Own, self.port()),
            14 => Statement::Flag(self.condition(1)),
            15 if self.one_in(3) => Statement::Letter(self.value(1)),
            15 if self.one_in(2) => Statement::Set(self.set(2)),
            16 if self.one_in(2) && !self.is_open => {
                let to = self.changed_port();
                if self.one_in(2) { Statement::New(to) } else { Statement::Port(to, self.port()) }
            }
            17 | 18 => {
                let branches = (0..1 + usize::from(self.one_in(3)))
                    .map(|_| {
                        let count = self.below(3);
                        (self.condition(1), self.block(count, depth - 1, false))
                    })
                    .collect();
                let count = self.below(2);
                Statement::If(branches, self.block(count, depth - 1, false))
            }
            // A loop with a counter, so that it ends.
            19 if !self.counting && self.inside != Inside::Main => {
                let count = self.below(2);
                self.counting = true;
                let mut body = self.block(count, depth - 1, false);
                self.counting = false;
                let next = Value::Binary(Operator::Add, Box::new(Value::Load(Var::Local(1))), Box::new(Value::Constant(1)));
                body.push(Statement::Assign(Var::Local(1), next));
                Statement::While(Condition::Compare(Relation::Less, Value::Load(Var::Local(1)), Value::Constant(2)), body)
            }
            20 => {
                let count = self.below(2);
                let mut body = self.block(count, depth - 1, false);
                body.push(Statement::Reschedule);
                Statement::Repeat(body, self.condition(0))
            }
            21 | 22 => {
                let blocks = (0..2 + self.below(2))
                    .map(|_| {
                        let count = self.below(3);
                        self.block(count, depth - 1, false)
                    })
                    .collect();
                Statement::Choice(blocks)
            }
            23 | 24 if !(self.counting && self.counting_bytes) => self.count(depth),
            // Only processes with higher numbers, so that the creation of processes ends.
            25 | 26 if may_create => {
                let (inside, is_other, is_inner) = (self.inside, !self.one_in(4), self.one_in(2));
                match inside {
                    Inside::Process(process) if process + 1 < self.processes && is_other => {
                        let more = self.processes - process - 1;
                        Statement::Create(process + 1 + self.below(more), self.value(1), self.port())
                    }
                    Inside::Process(_) if is_inner => Statement::CreateInner,
                    Inside::Process(_) => Statement::CreateReader(self.variable(), self.port()),
                    _ => Statement::Assign(self.variable(), self.value(1)),
                }
            }
            27 if self.inside == Inside::Called && self.one_in(4) => {
                let var = if self.one_in(2) { Var::Reference } else { Var::Global(0) };
                Statement::CreateReader(var, self.port())
            }
            27 if self.one_in(3) => self.endless(),
            // The condition is computed before the body has changed the variable, so the next value
            // may be of another type.
            27 if self.one_in(3) => {
                let number = self.below(WIDE.len());
                let limit = if number == super::UNSIGNED { 3_000_000_000 } else { self.below(3) as i64 };
                let (_, least, greatest) = WIDE[number];
                let far = if self.one_in(2) { greatest } else { least.max(0) };
                let next = [Value::Constant(self.below(3) as i64), Value::Constant(far), self.value(1)][self.below(3)].clone();
                let body = vec![Statement::Reschedule, Statement::Assign(Var::Wide(number), next)];
                let relation = self.relation();
                Statement::While(Condition::Compare(relation, Value::Load(Var::Wide(number)), Value::Constant(limit)), body)
            }
            _ => Statement::Assign(self.any_variable(), self.value(1)),
        }
    }
}
