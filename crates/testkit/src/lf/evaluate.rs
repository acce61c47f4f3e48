//! The semantics of programs, statement by statement: processes run one action at a time, wait for
//! each other, and communicate with every possible partner.

use super::{Clause, Condition, ELEMENTS, GLOBALS, Program, Statement, Talk, Value, Var};
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
/// the return from a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Todo {
    Statement(usize),
    Until(usize),
    Return,
}

/// The state of a process: what it waits for, and the values it offers.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Status {
    /// It has not begun yet.
    New,
    Ready,
    /// It waits at the communication with this number, with the value it sends.
    Waiting(usize, i32),
    /// It waits at the `SELECT` with this number, with the values it would send.
    Selecting(usize, Vec<i32>),
    /// It is at the `CHOICE` with this number.
    Choosing(usize),
    Ended,
}

/// The variables of a process, or of a process that it calls.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Frame {
    locals: [i32; 2],
    /// The variable to which `r` refers.
    reference: Option<Var>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Process {
    /// The number of the process in the program; `None` for the body of the module.
    kind: Option<usize>,
    status: Status,
    /// The statements still to be executed, the next one last.
    todo: Vec<Todo>,
    frames: Vec<Frame>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    globals: [i32; GLOBALS],
    table: [i32; ELEMENTS as usize],
    /// Empty before the program has created its processes.
    processes: Vec<Process>,
    /// The waiting processes in their order: for signals and data, senders and receivers.
    queues: [Vec<usize>; 4],
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
    /// With the communication with this number; and the value that is sent.
    Talk(usize, &'a Talk, i32),
}

type Did<T> = Result<T, Fatal>;

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
        self.processes.iter().for_each(|body| machine.number(body));
        let first =
            State { globals: [0; GLOBALS], table: [0; ELEMENTS as usize], processes: Vec::new(), queues: Default::default(), begun: false };
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
                Statement::While(_, body) | Statement::Forever(body) | Statement::Repeat(body, _) => self.number(body),
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

    fn new_process(&self, kind: usize, x: i32) -> Process {
        let mut todo = Vec::new();
        self.push(&mut todo, &self.program.processes[kind]);
        Process { kind: Some(kind), status: Status::New, todo, frames: vec![Frame { locals: [x, 0], reference: None }] }
    }

    /// All transitions of a state.
    fn ways(&self, state: &State) -> Vec<Way> {
        let mut ways = Vec::new();
        if !state.begun {
            // The body of the module, which is process 0 and then waits until the others have
            // ended.
            let mut next = State { begun: true, ..state.clone() };
            let main = Process { kind: None, status: Status::Ended, todo: Vec::new(), frames: Vec::new() };
            next.processes.push(main);
            for (kind, x) in &self.program.created {
                let process = self.new_process(*kind, *x);
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
                Status::Waiting(number, offered) => {
                    let Statement::Talk(talk) = self.statements[*number] else { continue };
                    if !self.fifo || self.is_first(state, p, talk) {
                        let mut next = state.clone();
                        self.leave(&mut next, p);
                        self.pair(&next, p, talk, *offered, None, &mut ways);
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
                        state.processes[p].status = Status::Waiting(number, offered);
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
                state.processes[p] = Process { kind: state.processes[p].kind, status: Status::Ended, todo: Vec::new(), frames: Vec::new() };
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
            Todo::Statement(number) => number,
        };
        match self.statements[number] {
            Statement::Assign(var, of) => {
                let result = self.fitting(state, p, of)?;
                *self.place(state, p, *var) = result;
            }
            Statement::Store(index, of) => {
                let result = self.fitting(state, p, of)?;
                let index = self.value(state, p, index)?;
                if !(0..ELEMENTS).contains(&index) {
                    return Err(Fatal("IndexOutOfRange"));
                }
                state.table[index as usize] = result;
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
                let offered = clauses.iter().map(|clause| self.offered(state, p, &clause.talk)).collect::<Did<Vec<i32>>>()?;
                state.processes[p].status = Status::Selecting(number, offered);
                return Ok(Next::End);
            }
            Statement::Choice(_) => {
                state.processes[p].status = Status::Choosing(number);
                return Ok(Next::End);
            }
            Statement::Call(var, of) => {
                let x = self.fitting(state, p, of)?;
                let process = &mut state.processes[p];
                process.todo.push(Todo::Return);
                self.push(&mut process.todo, &self.program.called);
                process.frames.push(Frame { locals: [x, 0], reference: Some(*var) });
            }
            Statement::Create(kind, of) => {
                let x = self.fitting(state, p, of)?;
                let process = self.new_process(*kind, x);
                state.processes.push(process);
            }
            Statement::Reschedule => return Ok(Next::End),
            Statement::Assert(test) => {
                if !self.holds(state, p, test)? {
                    noted.get_or_insert("Assertion");
                }
            }
        }
        Ok(Next::Statement)
    }

    /// The value that a communication offers.
    fn offered(&self, state: &State, p: usize, talk: &Talk) -> Did<i32> {
        match &talk.sends {
            Some(sent) if talk.data => self.fitting(state, p, sent),
            _ => Ok(0),
        }
    }

    /// Pairs a process with every partner that waits for its communication.
    fn pair(&self, state: &State, p: usize, talk: &Talk, offered: i32, noted: Option<&'static str>, ways: &mut Vec<Way>) {
        for q in (0..state.processes.len()).filter(|q| *q != p) {
            match &state.processes[q].status {
                Status::Waiting(number, other) => {
                    let Statement::Talk(theirs) = self.statements[*number] else { continue };
                    if fits(talk, theirs) && (!self.fifo || self.is_first(state, q, theirs)) {
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
                    for (clause, value) in clauses.iter().zip(values) {
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
        (p, talk, offered): (usize, &Talk, i32),
        (q, clause, value): (usize, &Clause, i32),
        noted: Option<&'static str>,
        ways: &mut Vec<Way>,
    ) {
        if !fits(talk, &clause.talk) {
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

    fn deliver(&self, state: &mut State, from: &Talk, (q, to): (usize, &Talk), value: i32) {
        if from.data {
            *self.place(state, q, to.into) = value;
        }
    }

    /// Whether no other process has waited longer for the same on the same port.
    fn is_first(&self, state: &State, p: usize, talk: &Talk) -> bool {
        let same = |q: &usize| {
            matches!(&state.processes[*q].status, Status::Waiting(number, _)
            if matches!(self.statements[*number], Statement::Talk(other) if other.port == talk.port))
        };
        state.queues[queue_of(talk)].iter().find(|q| same(q)) == Some(&p)
    }

    fn leave(&self, state: &mut State, p: usize) {
        for queue in &mut state.queues {
            queue.retain(|waiting| *waiting != p);
        }
    }

    /// The variable to which a name refers in the innermost call.
    fn place<'s>(&self, state: &'s mut State, p: usize, var: Var) -> &'s mut i32 {
        let depth = state.processes[p].frames.len() - 1;
        let (var, depth) = match var {
            Var::Reference => (state.processes[p].frames[depth].reference.unwrap_or(Var::Global(0)), 0),
            other => (other, depth),
        };
        match var {
            Var::Local(number) => &mut state.processes[p].frames[depth].locals[number],
            Var::Global(number) => &mut state.globals[number],
            Var::Reference => &mut state.globals[0],
        }
    }

    /// A value that must fit INT8.
    fn fitting(&self, state: &State, p: usize, of: &Value) -> Did<i32> {
        let value = self.value(state, p, of)?;
        if (-128..=127).contains(&value) { Ok(value) } else { Err(Fatal("Other(\"overflow\")")) }
    }

    fn value(&self, state: &State, p: usize, of: &Value) -> Did<i32> {
        Ok(match of {
            Value::Constant(number) => *number,
            Value::Load(var) => *self.place(&mut state.clone(), p, *var),
            Value::Element(index) => {
                let index = self.value(state, p, index)?;
                *usize::try_from(index).ok().and_then(|index| state.table.get(index)).ok_or(Fatal("IndexOutOfRange"))?
            }
            Value::Add(a, b) => self.value(state, p, a)? + self.value(state, p, b)?,
            Value::Divide(a, b) => {
                let (a, b) = (self.value(state, p, a)?, self.value(state, p, b)?);
                a.checked_div(b).ok_or(Fatal("DivisionByZero"))?
            }
            Value::Modulo(a, by) => self.value(state, p, a)? % by,
        })
    }

    fn holds(&self, state: &State, p: usize, test: &Condition) -> Did<bool> {
        Ok(match test {
            Condition::Less(a, b) => self.value(state, p, a)? < self.value(state, p, b)?,
            Condition::Equal(a, b) => self.value(state, p, a)? == self.value(state, p, b)?,
            Condition::Not(inside) => !self.holds(state, p, inside)?,
            Condition::And(a, b) => self.holds(state, p, a)? && self.holds(state, p, b)?,
        })
    }
}

/// Whether two communications match: the same port and message, and one of them sends.
fn fits(a: &Talk, b: &Talk) -> bool {
    a.port == b.port && a.data == b.data && a.sends.is_some() != b.sends.is_some()
}

fn queue_of(talk: &Talk) -> usize {
    usize::from(talk.data) * 2 + usize::from(talk.sends.is_some())
}
