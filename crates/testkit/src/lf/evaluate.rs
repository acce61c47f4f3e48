//! The semantics of programs, statement by statement: processes run one action at a time, wait for
//! each other, and communicate with every possible partner.

use super::numbers::{OVERFLOW, compute, in_32_bits, is_unsigned};
use super::{
    CALLS, Clause, Condition, ELEMENTS, GLOBALS, Message, Operator, PORTS, Port, Program, Statement, Talk, Type, UNSIGNED, Value, Var, WIDE,
};
use std::collections::HashSet;

/// The result of an exploration.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
pub struct Graph {
    pub states: usize,
    pub transitions: usize,
    pub deadlocks: usize,
    /// Kinds of faults, in order.
    pub faults: Vec<String>,
}

/// A statement that is still to be executed, by its number; or the test at the end of `REPEAT`, or
/// the return from a call, or the next turn of `FOR`, with its limit.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Todo {
    Statement(usize),
    Until(usize),
    Next(usize, i64),
    Return,
}

/// The state of a process: what it waits for, and the values it offers.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Status {
    /// It has not begun yet.
    New,
    Ready,
    /// It waits at the communication with this number, with the value it sends, on a channel.
    Waiting(usize, i64, usize),
    /// It waits at the `SELECT` with this number, with the values it would send and the channels.
    Selecting(usize, Vec<(i64, usize)>),
    /// It is at the `CHOICE` with this number.
    Choosing(usize),
    Ended,
}

/// The variables of a process, or of a process that it calls.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Frame {
    locals: [i64; 3],
    /// The variable to which `r` refers, and the frame that has it if it is a local.
    reference: Option<(Var, usize)>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Process {
    /// The number of the process in the program; `None` for the body of the module.
    kind: Option<usize>,
    status: Status,
    /// The statements still to be executed, the next one last.
    todo: Vec<Todo>,
    frames: Vec<Frame>,
    /// The channel of the port `c`.
    port: usize,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    globals: [i64; GLOBALS],
    wide: [i64; WIDE.len()],
    fields: [i64; 2],
    /// The array `t`, and those in the records.
    tables: [[i64; ELEMENTS as usize]; 3],
    set: u32,
    /// Empty before the program has created its processes.
    processes: Vec<Process>,
    /// The waiting processes in their order: for each message, senders and receivers.
    queues: [Vec<usize>; 6],
    begun: bool,
}

/// A fatal fault, by its kind.
struct Fatal(&'static str);

/// How an action continues after a statement.
enum Next<'a> {
    /// With the next statement.
    Statement,
    /// The action ends.
    End,
    /// With the communication with this number; the value that is sent, and the channel.
    Talk(usize, &'a Talk, (i64, usize)),
}

type Did<T> = Result<T, Fatal>;

impl From<&'static str> for Fatal {
    fn from(kind: &'static str) -> Fatal {
        Fatal(kind)
    }
}

/// One result of an action: the state, or `None` after a fatal fault; and the fault.
type Way = (Option<State>, Option<&'static str>);

/// All statements, each by its number.
struct Machine<'a> {
    statements: Vec<&'a Statement>,
    program: &'a Program,
    fifo: bool,
}

impl Program {
    /// Explores the program; `None` if it has more states than allowed. With `fifo`, the process
    /// that has waited longest goes first.
    pub fn graph(&self, fifo: bool, most: usize) -> Option<Graph> {
        let mut machine = Machine { statements: Vec::new(), program: self, fifo };
        machine.number(&self.called);
        machine.number(&self.recursive);
        self.processes.iter().for_each(|body| machine.number(body));
        let first = State {
            globals: [0; GLOBALS],
            wide: [0; WIDE.len()],
            fields: [0; 2],
            tables: [[0; ELEMENTS as usize]; 3],
            set: 0,
            processes: Vec::new(),
            queues: Default::default(),
            begun: false,
        };
        let mut graph = Graph::default();
        let mut seen = HashSet::from([first.clone()]);
        let mut open = vec![first];
        while let Some(state) = open.pop() {
            let ways = machine.ways(&state);
            let all_ended = state.begun && state.processes.iter().all(|process| process.status == Status::Ended);
            if ways.is_empty() && !all_ended {
                graph.deadlocks += 1;
            }
            for (next, fault) in ways {
                graph.faults.extend(fault.map(str::to_owned));
                let Some(next) = next else { continue };
                graph.transitions += 1;
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
            if seen.len() > most {
                return None;
            }
        }
        graph.states = seen.len();
        graph.faults.sort();
        graph.faults.dedup();
        Some(graph)
    }
}

impl<'a> Machine<'a> {
    fn number(&mut self, statements: &'a [Statement]) {
        for statement in statements {
            self.statements.push(statement);
            match statement {
                Statement::If(_, yes, no) => {
                    self.number(yes);
                    self.number(no);
                }
                Statement::While(_, body) | Statement::Forever(body) | Statement::Repeat(body, _) | Statement::For(_, _, _, _, body) => {
                    self.number(body);
                }
                Statement::Select(clauses) => clauses.iter().for_each(|clause| self.number(&clause.body)),
                Statement::Choice(blocks) => blocks.iter().for_each(|block| self.number(block)),
                _ => {}
            }
        }
    }

    fn number_of(&self, statement: &Statement) -> usize {
        self.statements.iter().position(|known| std::ptr::eq(*known, statement)).unwrap_or(usize::MAX)
    }

    fn push(&self, todo: &mut Vec<Todo>, block: &[Statement]) {
        todo.extend(block.iter().rev().map(|statement| Todo::Statement(self.number_of(statement))));
    }

    fn new_process(&self, kind: usize, x: i64, port: usize) -> Process {
        let mut todo = Vec::new();
        self.push(&mut todo, &self.program.processes[kind]);
        Process { kind: Some(kind), status: Status::New, todo, frames: vec![Frame { locals: [x, 0, 0], reference: None }], port }
    }

    /// All transitions of a state.
    fn ways(&self, state: &State) -> Vec<Way> {
        let mut ways = Vec::new();
        if !state.begun {
            // The body of the module, which is process 0 and then waits until the others have
            // ended.
            let mut next = State { begun: true, ..state.clone() };
            let main = Process { kind: None, status: Status::Ended, todo: Vec::new(), frames: Vec::new(), port: 0 };
            next.processes.push(main);
            for (kind, x, port) in &self.program.created {
                let process = self.new_process(*kind, *x, *port);
                next.processes.push(process);
            }
            return vec![(Some(next), None)];
        }
        for p in 0..state.processes.len() {
            match &state.processes[p].status {
                Status::New | Status::Ready => self.action(state.clone(), p, None, &mut ways),
                Status::Choosing(number) => {
                    let Statement::Choice(blocks) = self.statements[*number] else { continue };
                    for block in blocks {
                        let mut next = state.clone();
                        self.push(&mut next.processes[p].todo, block);
                        self.action(next, p, None, &mut ways);
                    }
                }
                Status::Waiting(number, offered, channel) => {
                    let Statement::Talk(talk) = self.statements[*number] else { continue };
                    if !self.fifo || self.is_first(state, p, talk, *channel) {
                        let mut next = state.clone();
                        self.leave(&mut next, p);
                        self.pair(&next, p, talk, (*offered, *channel), None, &mut ways);
                    }
                }
                Status::Selecting(..) => {}
                Status::Ended => {
                    if p + 1 == state.processes.len() {
                        let mut next = state.clone();
                        next.processes.pop();
                        ways.push((Some(next), None));
                    }
                }
            }
        }
        ways
    }

    /// Executes one action of a process, with all its results.
    fn action(&self, mut state: State, p: usize, mut noted: Option<&'static str>, ways: &mut Vec<Way>) {
        state.processes[p].status = Status::Ready;
        loop {
            match self.execute(&mut state, p, &mut noted) {
                Err(Fatal(kind)) => return ways.push((None, Some(noted.unwrap_or(kind)))),
                Ok(Next::Statement) => {}
                Ok(Next::End) => return ways.push((Some(state), noted)),
                Ok(Next::Talk(number, talk, offered)) => {
                    let before = ways.len();
                    self.pair(&state, p, talk, offered, noted, ways);
                    if ways.len() == before {
                        state.processes[p].status = Status::Waiting(number, offered.0, offered.1);
                        if self.fifo {
                            state.queues[queue_of(talk)].push(p);
                        }
                        ways.push((Some(state), noted));
                    }
                    return;
                }
            }
        }
    }

    /// Executes one statement.
    fn execute(&self, state: &mut State, p: usize, noted: &mut Option<&'static str>) -> Did<Next<'a>> {
        let Some(todo) = state.processes[p].todo.pop() else {
            // The process has ended: it is removed if it is the youngest, else it stays.
            if p + 1 == state.processes.len() {
                state.processes.pop();
            } else {
                let kind = state.processes[p].kind;
                state.processes[p] = Process { kind, status: Status::Ended, todo: Vec::new(), frames: Vec::new(), port: 0 };
            }
            return Ok(Next::End);
        };
        let number = match todo {
            Todo::Return => {
                state.processes[p].frames.pop();
                return Ok(Next::Statement);
            }
            Todo::Until(number) => {
                if let Statement::Repeat(_, test) = self.statements[number]
                    && !self.holds(state, p, test)?
                {
                    state.processes[p].todo.push(Todo::Statement(number));
                }
                return Ok(Next::Statement);
            }
            Todo::Next(number, limit) => {
                let Statement::For(var, _, _, by, body) = self.statements[number] else { return Ok(Next::Statement) };
                let next = self.load(state, p, *var) + by;
                let more = if *by > 0 { next <= limit } else { next >= limit };
                let (_, least, greatest) = var.ty();
                let fits = (least..=greatest).contains(&next);
                if more && !fits {
                    return Err(Fatal(OVERFLOW));
                }
                if fits {
                    *self.place(state, p, *var) = next;
                }
                if more {
                    state.processes[p].todo.push(todo);
                    self.push(&mut state.processes[p].todo, body);
                }
                return Ok(Next::Statement);
            }
            Todo::Statement(number) => number,
        };
        match self.statements[number] {
            Statement::Assign(var, of) => {
                let result = self.fitting_in(state, p, of, var.ty())?;
                *self.place(state, p, *var) = result;
            }
            Statement::Change(more, var, of) => {
                let unsigned = *var == Var::Wide(UNSIGNED);
                let operand = in_32_bits(self.value(state, p, of)?, unsigned)?;
                let operator = if *more { Operator::Add } else { Operator::Subtract };
                let result = compute(operator, self.load(state, p, *var), operand, unsigned)?;
                *self.place(state, p, *var) = fits_type(result, var.ty())?;
            }
            Statement::Store(number, index, of) => {
                let result = self.fitting(state, p, of)?;
                let index = self.value(state, p, index)?;
                *self.element(state, *number, index)? = result;
            }
            Statement::Copy => {
                state.fields[1] = state.fields[0];
                state.tables[2] = state.tables[1];
            }
            Statement::Member(more, of) => {
                let bit = 1 << element(self.value(state, p, of)?)?;
                state.set = if *more { state.set | bit } else { state.set & !bit };
            }
            Statement::For(var, from, to, by, body) => {
                let limit = in_32_bits(self.value(state, p, to)?, *var == Var::Wide(UNSIGNED))?;
                let first = self.fitting_in(state, p, from, var.ty())?;
                *self.place(state, p, *var) = first;
                if if *by > 0 { first <= limit } else { first >= limit } {
                    state.processes[p].todo.push(Todo::Next(number, limit));
                    self.push(&mut state.processes[p].todo, body);
                }
            }
            Statement::If(test, yes, no) => {
                let block = if self.holds(state, p, test)? { yes } else { no };
                self.push(&mut state.processes[p].todo, block);
            }
            Statement::While(test, body) => {
                if self.holds(state, p, test)? {
                    state.processes[p].todo.push(todo);
                    self.push(&mut state.processes[p].todo, body);
                }
            }
            Statement::Forever(body) => {
                state.processes[p].todo.push(todo);
                self.push(&mut state.processes[p].todo, body);
            }
            Statement::Repeat(body, _) => {
                state.processes[p].todo.push(Todo::Until(number));
                self.push(&mut state.processes[p].todo, body);
            }
            Statement::Talk(talk) => {
                let offered = self.offered(state, p, talk)?;
                return Ok(Next::Talk(number, talk, offered));
            }
            Statement::Select(clauses) => {
                let offered = clauses.iter().map(|clause| self.offered(state, p, &clause.talk)).collect::<Did<Vec<_>>>()?;
                state.processes[p].status = Status::Selecting(number, offered);
                return Ok(Next::End);
            }
            Statement::Choice(_) => {
                state.processes[p].status = Status::Choosing(number);
                return Ok(Next::End);
            }
            Statement::Call(recursive, var, of) => {
                let x = self.fitting(state, p, of)?;
                let process = &mut state.processes[p];
                let caller = process.frames.len() - 1;
                if *recursive && caller == CALLS {
                    return Err(Fatal("Other(\"more than 32 nested calls\")"));
                }
                let reference = match var {
                    Var::Reference => process.frames[caller].reference,
                    var => Some((*var, caller)),
                };
                process.todo.push(Todo::Return);
                self.push(&mut process.todo, if *recursive { &self.program.recursive } else { &self.program.called });
                process.frames.push(Frame { locals: [x, 0, 0], reference });
            }
            Statement::Inner(of) => {
                let k = self.fitting(state, p, of)?;
                let locals = &mut state.processes[p].frames[0].locals;
                let e = fits_type(k + locals[0], Var::Local(0).ty())?;
                locals[1] = fits_type((locals[1] + e) % 100, Var::Local(0).ty())?;
            }
            Statement::Create(kind, of, with) => {
                let x = self.fitting(state, p, of)?;
                let port = channel(state, p, *with);
                let process = self.new_process(*kind, x, port);
                state.processes.push(process);
            }
            Statement::Port(of) => state.processes[p].port = channel(state, p, *of),
            Statement::Reschedule => return Ok(Next::End),
            Statement::Assert(test) => {
                if !self.holds(state, p, test)? {
                    noted.get_or_insert("Assertion");
                }
            }
        }
        Ok(Next::Statement)
    }

    /// The value that a communication offers, and its channel.
    fn offered(&self, state: &State, p: usize, talk: &Talk) -> Did<(i64, usize)> {
        let through = if talk.message == Message::Port { PORTS } else { channel(state, p, talk.port) };
        let value = match (talk.message, &talk.sends) {
            (Message::Number, Some(sent)) => self.fitting(state, p, sent)?,
            (Message::Port, Some(_)) => channel(state, p, talk.gives) as i64,
            _ => 0,
        };
        Ok((value, through))
    }

    /// Pairs a process with every partner that waits for its communication.
    fn pair(&self, state: &State, p: usize, talk: &Talk, (offered, at): (i64, usize), noted: Option<&'static str>, ways: &mut Vec<Way>) {
        for q in (0..state.processes.len()).filter(|q| *q != p) {
            match &state.processes[q].status {
                Status::Waiting(number, other, there) => {
                    let Statement::Talk(theirs) = self.statements[*number] else { continue };
                    if at == *there && fits(talk, theirs) && (!self.fifo || self.is_first(state, q, theirs, at)) {
                        let mut next = state.clone();
                        self.leave(&mut next, q);
                        let (from, to, sent) =
                            if talk.sends.is_some() { (talk, (q, theirs), offered) } else { (theirs, (p, talk), *other) };
                        self.deliver(&mut next, from, to, sent);
                        next.processes[p].status = Status::Ready;
                        next.processes[q].status = Status::Ready;
                        ways.push((Some(next), noted));
                    }
                }
                Status::Selecting(number, values) => {
                    let Statement::Select(clauses) = self.statements[*number] else { continue };
                    for (clause, (value, _)) in clauses.iter().zip(values).filter(|(_, (_, there))| *there == at) {
                        self.pair_with_clause(state, (p, talk, offered), (q, clause, *value), noted, ways);
                    }
                }
                _ => {}
            }
        }
    }

    fn pair_with_clause(
        &self,
        state: &State,
        (p, talk, offered): (usize, &Talk, i64),
        (q, clause, value): (usize, &Clause, i64),
        noted: Option<&'static str>,
        ways: &mut Vec<Way>,
    ) {
        let unwanted = clause.talk.only.is_some_and(|only| clause.talk.sends.is_none() && only != offered);
        if !fits(talk, &clause.talk) || unwanted {
            return;
        }
        let mut next = state.clone();
        // A sender in SELECT evaluates its guard before the receiver has the value.
        if clause.talk.sends.is_none() {
            self.deliver(&mut next, talk, (q, &clause.talk), offered);
        }
        if let Some(guard) = &clause.guard
            && !self.holds(&next, q, guard).unwrap_or(false)
        {
            return;
        }
        if clause.talk.sends.is_some() {
            self.deliver(&mut next, &clause.talk, (p, talk), value);
        }
        next.processes[p].status = Status::Ready;
        next.processes[q].status = Status::Ready;
        self.push(&mut next.processes[q].todo, &clause.body);
        ways.push((Some(next), noted));
    }

    fn deliver(&self, state: &mut State, from: &Talk, (q, to): (usize, &Talk), value: i64) {
        match from.message {
            Message::Signal => {}
            Message::Number if to.only.is_some() => {}
            Message::Number => *self.place(state, q, to.into) = value,
            Message::Port => state.processes[q].port = value as usize,
        }
    }

    /// Whether no other process has waited longer for the same on the same port.
    fn is_first(&self, state: &State, p: usize, talk: &Talk, channel: usize) -> bool {
        let same = |q: &usize| matches!(&state.processes[*q].status, Status::Waiting(_, _, other) if *other == channel);
        state.queues[queue_of(talk)].iter().find(|q| same(q)) == Some(&p)
    }

    fn leave(&self, state: &mut State, p: usize) {
        for queue in &mut state.queues {
            queue.retain(|waiting| *waiting != p);
        }
    }

    /// The variable to which a name refers in the innermost call.
    fn place<'s>(&self, state: &'s mut State, p: usize, var: Var) -> &'s mut i64 {
        let depth = state.processes[p].frames.len() - 1;
        let (var, depth) = match var {
            Var::Reference => state.processes[p].frames[depth].reference.unwrap_or((Var::Global(0), 0)),
            other => (other, depth),
        };
        match var {
            Var::Local(number) => &mut state.processes[p].frames[depth].locals[number],
            Var::Global(number) => &mut state.globals[number],
            Var::Wide(number) => &mut state.wide[number],
            Var::Field(number) => &mut state.fields[number],
            Var::Reference => &mut state.globals[0],
        }
    }

    fn load(&self, state: &State, p: usize, var: Var) -> i64 {
        *self.place(&mut state.clone(), p, var)
    }

    fn element<'s>(&self, state: &'s mut State, array: usize, index: i64) -> Did<&'s mut i64> {
        usize::try_from(index).ok().and_then(|index| state.tables[array].get_mut(index)).ok_or(Fatal("IndexOutOfRange"))
    }

    /// A value that must fit INT8.
    fn fitting(&self, state: &State, p: usize, of: &Value) -> Did<i64> {
        self.fitting_in(state, p, of, Var::Local(0).ty())
    }

    fn fitting_in(&self, state: &State, p: usize, of: &Value, ty: Type) -> Did<i64> {
        fits_type(self.value(state, p, of)?, ty)
    }

    fn value(&self, state: &State, p: usize, of: &Value) -> Did<i64> {
        Ok(match of {
            Value::Constant(number) => *number,
            Value::Load(var) => self.load(state, p, *var),
            Value::Element(array, index) => {
                let index = self.value(state, p, index)?;
                *self.element(&mut state.clone(), *array, index)?
            }
            Value::Binary(operator, a, b) => {
                let (a, b) = self.operands(state, p, a, b)?;
                compute(*operator, a, b, is_unsigned(of))?
            }
            Value::Absolute(operand) => in_32_bits(self.value(state, p, operand)?.abs(), is_unsigned(operand))?,
            Value::Negate(operand) => in_32_bits(-self.value(state, p, operand)?, false)?,
        })
    }

    /// Two numbers that meet in an operator: both without sign if one of them is.
    fn operands(&self, state: &State, p: usize, a: &Value, b: &Value) -> Did<(i64, i64)> {
        let unsigned = is_unsigned(a) || is_unsigned(b);
        let left = in_32_bits(self.value(state, p, a)?, unsigned)?;
        Ok((left, in_32_bits(self.value(state, p, b)?, unsigned)?))
    }

    fn holds(&self, state: &State, p: usize, test: &Condition) -> Did<bool> {
        Ok(match test {
            Condition::Less(a, b) => self.operands(state, p, a, b).map(|(a, b)| a < b)?,
            Condition::Equal(a, b) => self.operands(state, p, a, b).map(|(a, b)| a == b)?,
            Condition::Not(inside) => !self.holds(state, p, inside)?,
            Condition::And(a, b) => self.holds(state, p, a)? && self.holds(state, p, b)?,
            Condition::Or(a, b) => self.holds(state, p, a)? || self.holds(state, p, b)?,
            Condition::In(of) => state.set >> element(self.value(state, p, of)?)? & 1 == 1,
        })
    }
}

/// Whether two communications match: the same message, and one of them sends.
fn fits(a: &Talk, b: &Talk) -> bool {
    a.message == b.message && a.sends.is_some() != b.sends.is_some()
}

fn queue_of(talk: &Talk) -> usize {
    talk.message as usize * 2 + usize::from(talk.sends.is_some())
}

/// The channel of a port.
fn channel(state: &State, p: usize, port: Port) -> usize {
    match port {
        Port::Global(number) => number,
        Port::Own => state.processes[p].port,
        Port::Open => usize::MAX,
    }
}

fn fits_type(number: i64, (_, least, greatest): Type) -> Did<i64> {
    if (least..=greatest).contains(&number) { Ok(number) } else { Err(Fatal(OVERFLOW)) }
}

/// A number that a set can have.
fn element(number: i64) -> Did<u32> {
    if (0..32).contains(&number) { Ok(number as u32) } else { Err(Fatal("Other(\"no element of a set\")")) }
}
