//! The semantics of programs: processes run one action at a time, wait for each other, and
//! communicate with every possible partner.

use super::state::{Frame, Kind, OF_PORTS, Process, State, Status, Todo, Way};
use super::values::Did;
use super::{Clause, Message, Program, Statement, Talk};
use std::cell::Cell;

/// A fatal fault, by its kind.
pub(super) struct Fatal(pub &'static str);

impl From<&'static str> for Fatal {
    fn from(kind: &'static str) -> Fatal {
        Fatal(kind)
    }
}

/// How an action continues after a statement.
pub(super) enum Next<'a> {
    /// With the next statement.
    Statement,
    /// The action ends.
    End,
    /// With the communication with this number; the values that are sent, and the channel.
    Talk(usize, &'a Talk, (Vec<i64>, usize)),
}

/// The most statements of an action.
const LONGEST: usize = 50_000;

/// All statements, each by its number.
pub(super) struct Machine<'a> {
    pub statements: Vec<&'a Statement>,
    pub program: &'a Program,
    /// Whether an action ends after each statement.
    pub fine: bool,
    pub fifo: bool,
    pub too_long: Cell<bool>,
}

impl<'a> Machine<'a> {
    pub fn new(program: &'a Program, fifo: bool) -> Machine<'a> {
        let mut machine = Machine { statements: Vec::new(), program, fine: false, fifo, too_long: Cell::new(false) };
        for body in [&program.called, &program.recursive, &program.reader, &program.main] {
            machine.number(body);
        }
        program.processes.iter().chain(&program.inner).for_each(|body| machine.number(body));
        machine
    }

    /// Whether some action was longer than the limit.
    pub fn is_too_long(&self) -> bool {
        self.too_long.get()
    }

    /// The state in which the body of the module has not begun.
    pub fn first(&self) -> State {
        let mut first = State::new();
        let mut main = self.new_process(Kind::Main, Frame::new(0, None), 0, None);
        let further = self.program.further.order().into_iter().rev().map(|module| Todo::Import(2 + module));
        main.todo.extend(further.chain([Todo::Import(1), Todo::Import(0)]));
        first.processes.push(main);
        first
    }

    fn number(&mut self, statements: &'a [Statement]) {
        for statement in statements {
            self.statements.push(statement);
            match statement {
                Statement::If(branches, last) => {
                    branches.iter().for_each(|(_, body)| self.number(body));
                    self.number(last);
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

    pub fn push(&self, todo: &mut Vec<Todo>, block: &[Statement]) {
        todo.extend(block.iter().rev().map(|statement| Todo::Statement(self.number_of(statement))));
    }

    pub fn new_process(&self, kind: Kind, frame: Frame, port: usize, parent: Option<usize>) -> Process {
        let mut todo = Vec::new();
        let body = match kind {
            Kind::Main => &self.program.main,
            Kind::Process(number) => &self.program.processes[number],
            Kind::Inner(number) => &self.program.inner[number],
            Kind::Reader(..) => &self.program.reader,
        };
        self.push(&mut todo, body);
        Process { kind, status: Status::New, todo, frames: vec![frame], port, parent }
    }

    /// The clauses for which a process waits at once.
    pub fn clauses(&self, number: usize) -> &'a [Clause] {
        match self.statements[number] {
            Statement::Select(clauses) => clauses,
            Statement::Expect(clause) => std::slice::from_ref(clause),
            _ => &[],
        }
    }

    /// All transitions of a state.
    pub fn ways(&self, state: &State) -> Vec<Way> {
        self.moves(state).into_iter().map(|(_, way)| way).collect()
    }

    /// All transitions of a state, each with the process that moves.
    pub fn moves(&self, state: &State) -> Vec<(usize, Way)> {
        let (mut ways, mut movers): (Vec<Way>, Vec<usize>) = (Vec::new(), Vec::new());
        for p in 0..state.processes.len() {
            movers.resize(ways.len(), p.wrapping_sub(1));
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
                        self.pair(&next, p, talk, (offered, *channel), None, &mut ways);
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
        movers.resize(ways.len(), state.processes.len().wrapping_sub(1));
        ways.iter_mut().filter_map(|(next, _)| next.as_mut()).for_each(|next| self.settle(next));
        movers.into_iter().zip(ways).collect()
    }

    /// A process before an endless loop is at the same place as one before the loop's first
    /// statement, and so it is with `REPEAT`: nothing is decided between them.
    fn settle(&self, state: &mut State) {
        for process in state.processes.iter_mut().filter(|process| process.status == Status::Ready) {
            while let Some(Todo::Statement(number)) = process.todo.last().copied() {
                let (again, body) = match self.statements[number] {
                    Statement::Forever(body) => (Todo::Statement(number), body),
                    Statement::Repeat(body, _) => (Todo::Until(number), body),
                    _ => break,
                };
                // Otherwise the beginning of the loop is the end of a step, inside an action.
                if !body.iter().any(ends_action) {
                    break;
                }
                process.todo.pop();
                process.todo.push(again);
                self.push(&mut process.todo, body);
            }
        }
    }

    /// Executes one action of a process, with all its results.
    fn action(&self, mut state: State, p: usize, mut noted: Option<&'static str>, ways: &mut Vec<Way>) {
        state.processes[p].status = Status::Ready;
        // An action that never ends comes back to a state (R. P. Brent, 1980).
        let (mut steps, mut again) = (0_usize, None);
        loop {
            steps += 1;
            if steps.is_power_of_two() && steps > 100 {
                again = Some(state.clone());
            } else if again.as_ref() == Some(&state) {
                // A false assertion before the loop is not reported.
                return ways.push((None, Some("Other(\"endless sequence\")")));
            }
            if steps > LONGEST {
                return self.too_long.set(true);
            }
            match self.execute(&mut state, p, &mut noted) {
                Err(Fatal(kind)) => return ways.push((None, Some(noted.unwrap_or(kind)))),
                Ok(Next::Statement) => {}
                Ok(Next::End) => return ways.push((Some(state), noted)),
                Ok(Next::Talk(number, talk, offered)) => {
                    let before = ways.len();
                    self.pair(&state, p, talk, (&offered.0, offered.1), noted, ways);
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

    /// The values that a communication offers, and its channel.
    pub fn offered(&self, state: &State, p: usize, talk: &Talk) -> Did<(Vec<i64>, usize)> {
        let through = match talk.message {
            Message::Port | Message::Record => state.ports[OF_PORTS],
            _ => self.channel(state, p, talk.port)?,
        };
        if through == 0 {
            return Err(Fatal("InvalidChannel"));
        }
        let values = match (talk.message, &talk.sends) {
            (Message::Number, Some(sent)) => vec![self.fitting(state, p, sent)?],
            // The Boolean comes first in the message.
            (Message::Pair, Some(sent)) => {
                let flag = i64::from(self.holds(state, p, &talk.flag)?);
                vec![self.fitting(state, p, sent)?, flag]
            }
            (Message::Port, Some(_)) => vec![self.channel(state, p, talk.gives)? as i64],
            (Message::Record, Some(_)) => vec![state.fields[0], state.tables[1][0], state.tables[1][1]],
            _ => Vec::new(),
        };
        Ok((values, through))
    }

    /// Pairs a process with every partner that waits for its communication.
    fn pair(&self, state: &State, p: usize, talk: &Talk, (offered, at): (&[i64], usize), noted: Option<&'static str>, ways: &mut Vec<Way>) {
        for q in (0..state.processes.len()).filter(|q| *q != p) {
            match &state.processes[q].status {
                Status::Waiting(number, other, there) => {
                    let Statement::Talk(theirs) = self.statements[*number] else { continue };
                    if at == *there && fits(talk, theirs) && (!self.fifo || self.is_first(state, q, theirs, at)) {
                        let mut next = state.clone();
                        self.leave(&mut next, q);
                        let (from, to, sent) =
                            if talk.sends.is_some() { (talk, (q, theirs), offered) } else { (theirs, (p, talk), other.as_slice()) };
                        next.processes[p].status = Status::Ready;
                        next.processes[q].status = Status::Ready;
                        ways.push(match self.deliver(&mut next, from, to, sent) {
                            Ok(()) => (Some(next), noted),
                            Err(Fatal(kind)) => (None, Some(noted.unwrap_or(kind))),
                        });
                    }
                }
                Status::Selecting(number, values) => {
                    for (clause, (value, _)) in self.clauses(*number).iter().zip(values).filter(|(_, (_, there))| *there == at) {
                        match self.pair_with_clause(state, (p, talk, offered), (q, clause, value)) {
                            Ok(Some(next)) => ways.push((Some(next), noted)),
                            Ok(None) => {}
                            Err(Fatal(kind)) => ways.push((None, Some(noted.unwrap_or(kind)))),
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn pair_with_clause(
        &self,
        state: &State,
        (p, talk, offered): (usize, &Talk, &[i64]),
        (q, clause, values): (usize, &Clause, &[i64]),
    ) -> Did<Option<State>> {
        let unwanted = clause.talk.only.is_some_and(|only| clause.talk.sends.is_none() && offered.first() != Some(&only));
        if !fits(talk, &clause.talk) || unwanted {
            return Ok(None);
        }
        let mut next = state.clone();
        // A sender in SELECT evaluates its guard before the receiver has the values.
        if clause.talk.sends.is_none() {
            self.deliver(&mut next, talk, (q, &clause.talk), offered)?;
        }
        if let Some(guard) = &clause.guard
            && !self.holds(&next, q, guard)?
        {
            return Ok(None);
        }
        if clause.talk.sends.is_some() {
            self.deliver(&mut next, &clause.talk, (p, talk), values)?;
        }
        next.processes[p].status = Status::Ready;
        next.processes[q].status = Status::Ready;
        self.push(&mut next.processes[q].todo, &clause.body);
        Ok(Some(next))
    }

    fn deliver(&self, state: &mut State, from: &Talk, (q, to): (usize, &Talk), values: &[i64]) -> Did<()> {
        match from.message {
            Message::Signal => {}
            Message::Port => state.processes[q].port = values[0] as usize,
            Message::Record => {
                state.fields[1] = values[0];
                state.tables[2] = [values[1], values[2]];
            }
            Message::Number | Message::Pair => {
                if to.only.is_none() {
                    self.store(state, q, to.into, values[0])?;
                }
                if from.message == Message::Pair {
                    state.flag = values[1] == 1;
                }
            }
        }
        Ok(())
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
}

/// Whether a statement itself ends an action.
fn ends_action(statement: &Statement) -> bool {
    matches!(statement, Statement::Talk(_) | Statement::Select(_) | Statement::Expect(_) | Statement::Choice(_) | Statement::Reschedule)
}

/// Whether two communications match: the same message, and one of them sends.
fn fits(a: &Talk, b: &Talk) -> bool {
    a.message == b.message && a.sends.is_some() != b.sends.is_some()
}

fn queue_of(talk: &Talk) -> usize {
    talk.message as usize * 2 + usize::from(talk.sends.is_some())
}
