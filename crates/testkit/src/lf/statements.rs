//! The meaning of statements.

use super::evaluate::{Fatal, Machine, Next};
use super::numbers::{OVERFLOW, compute, in_32_bits};
use super::state::{Frame, IMPORTED_PORT, Kind, Process, State, Status, Todo};
use super::values::{Did, element, fits_type};
use super::{Operator, Statement, TWISTS, UNSIGNED, Var};

impl<'a> Machine<'a> {
    /// Executes one statement.
    pub fn execute(&self, state: &mut State, p: usize, noted: &mut Option<&'static str>) -> Did<Next<'a>> {
        let Some(todo) = state.processes[p].todo.pop() else {
            self.end(state, p);
            return Ok(Next::End);
        };
        match todo {
            Todo::Return => {
                state.processes[p].frames.pop();
            }
            Todo::Until(number) => {
                if let Statement::Repeat(_, test) = self.statements[number]
                    && !self.holds(state, p, test)?
                {
                    state.processes[p].todo.push(Todo::Statement(number));
                }
            }
            Todo::Next(number, limit) => self.next_turn(state, p, number, limit)?,
            Todo::Import(number) => {
                if number == 0 {
                    state.channels = 1;
                    state.ports[IMPORTED_PORT] = 1;
                } else if number == 1 {
                    state.imported = self.program.constant;
                } else {
                    state.imported = (2 * state.imported + TWISTS[number - 2]) % 50;
                }
                return Ok(if self.fine { Next::End } else { Next::Statement });
            }
            Todo::Statement(number) => {
                let next = self.statement(state, p, number, noted)?;
                return Ok(if self.fine && is_one_change(self.statements[number]) { Next::End } else { next });
            }
        }
        Ok(Next::Statement)
    }

    /// The process has ended: it is removed if it is the youngest, else it stays.
    fn end(&self, state: &mut State, p: usize) {
        if p + 1 == state.processes.len() {
            state.processes.pop();
            return;
        }
        let process = &mut state.processes[p];
        process.status = Status::Ended;
        if !matches!(process.kind, Kind::Process(number) if self.program.is_looked_at(number)) {
            process.frames.clear();
            process.port = 0;
        }
        process.parent = None;
        if let Kind::Reader(..) = process.kind {
            process.frames.clear();
        }
    }

    fn next_turn(&self, state: &mut State, p: usize, number: usize, limit: i64) -> Did<()> {
        let Statement::For(var, _, _, by, body) = self.statements[number] else { return Ok(()) };
        let next = self.load(state, p, *var)? + by;
        let more = if *by > 0 { next <= limit } else { next >= limit };
        let (_, least, greatest) = var.ty();
        let fits = (least..=greatest).contains(&next);
        if more && !fits {
            return Err(Fatal(OVERFLOW));
        }
        if fits {
            self.store(state, p, *var, next)?;
        }
        if more {
            state.processes[p].todo.push(Todo::Next(number, limit));
            self.push(&mut state.processes[p].todo, body);
        }
        Ok(())
    }

    fn statement(&self, state: &mut State, p: usize, number: usize, noted: &mut Option<&'static str>) -> Did<Next<'a>> {
        let todo = Todo::Statement(number);
        match self.statements[number] {
            Statement::Assign(var, of) => {
                let result = self.fitting_in(state, p, of, var.ty())?;
                self.store(state, p, *var, result)?;
            }
            Statement::Change(more, var, of) => {
                let unsigned = *var == Var::Wide(UNSIGNED);
                let before = self.load(state, p, *var)?;
                let operand = in_32_bits(self.value(state, p, of)?, unsigned)?;
                let operator = if *more { Operator::Add } else { Operator::Subtract };
                let result = fits_type(compute(operator, before, operand, unsigned)?, var.ty())?;
                self.store(state, p, *var, result)?;
            }
            Statement::Store(array, index, of) => {
                let result = self.fitting(state, p, of)?;
                let index = self.value(state, p, index)?;
                *self.element(state, *array, index)? = result;
            }
            Statement::StoreDeep(i, j, of) => {
                let result = self.fitting(state, p, of)?;
                let slot = self.slot(state, p, i)?;
                let index = self.value(state, p, j)?;
                *self.element(state, 3 + slot, index)? = result;
            }
            Statement::Copy => {
                state.fields[1] = state.fields[0];
                state.tables[2] = state.tables[1];
            }
            Statement::Pick(to_a, index) => {
                let slot = self.slot(state, p, index)?;
                let (from, to) = if *to_a { (1 + slot, 0) } else { (0, 1 + slot) };
                // The record `b` lies between `a` and the elements of `e`.
                let of = |record: usize| if record == 0 { 0 } else { record + 1 };
                state.fields[of(to)] = state.fields[of(from)];
                state.tables[1 + of(to)] = state.tables[1 + of(from)];
            }
            Statement::Member(more, of) => {
                let bit = 1 << element(self.value(state, p, of)?)?;
                state.set = if *more { state.set | bit } else { state.set & !bit };
            }
            Statement::Flag(test) => state.flag = self.holds(state, p, test)?,
            Statement::Letter(of) => state.letter = fits_type(self.value(state, p, of)?, ("CHAR", 0, 255))?,
            Statement::Set(of) => state.set = self.set(state, p, of)?,
            Statement::For(var, from, to, by, body) => {
                let limit = in_32_bits(self.value(state, p, to)?, *var == Var::Wide(UNSIGNED))?;
                let first = self.fitting_in(state, p, from, var.ty())?;
                self.store(state, p, *var, first)?;
                if if *by > 0 { first <= limit } else { first >= limit } {
                    state.processes[p].todo.push(Todo::Next(number, limit));
                    self.push(&mut state.processes[p].todo, body);
                }
            }
            Statement::If(branches, last) => {
                let mut block = last;
                for (test, body) in branches {
                    if self.holds(state, p, test)? {
                        block = body;
                        break;
                    }
                }
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
            Statement::Select(_) | Statement::Expect(_) => {
                let clauses = self.clauses(number);
                let offered = clauses.iter().map(|clause| self.offered(state, p, &clause.talk)).collect::<Did<Vec<_>>>()?;
                state.processes[p].status = Status::Selecting(number, offered);
                return Ok(Next::End);
            }
            Statement::Choice(_) => {
                state.processes[p].status = Status::Choosing(number);
                return Ok(Next::End);
            }
            Statement::Call(recursive, var, of) => {
                let place = self.place(state, p, *var)?;
                let x = self.fitting(state, p, of)?;
                if *recursive && state.is_deep(p) {
                    return Err(Fatal("Other(\"more than 32 nested calls\")"));
                }
                let process = &mut state.processes[p];
                process.todo.push(Todo::Return);
                self.push(&mut process.todo, if *recursive { &self.program.recursive } else { &self.program.called });
                process.frames.push(Frame::new(x, Some(place)));
            }
            Statement::Bump(var, of) => {
                let place = self.place(state, p, *var)?;
                let by = self.fitting(state, p, of)?;
                state.imported = fits_type((state.imported + by) % 50, Var::Local(0).ty())?;
                *self.stored(state, place) = state.imported;
            }
            Statement::Inner(of) => {
                let k = self.fitting(state, p, of)?;
                let locals = &mut state.processes[p].frames[0].locals;
                let e = fits_type(k + locals[0], Var::Local(0).ty())?;
                locals[1] = fits_type((locals[1] + e) % 100, Var::Local(0).ty())?;
            }
            Statement::Create(kind, of, with) => {
                let x = self.fitting(state, p, of)?;
                let port = self.channel(state, p, *with)?;
                let process = self.new_process(Kind::Process(*kind), Frame::new(x, None), port, None);
                state.processes.push(process);
            }
            Statement::CreateInner => {
                let Kind::Process(number) = state.processes[p].kind else { return Ok(Next::Statement) };
                let process = self.new_process(Kind::Inner(number), Frame::new(0, None), 0, Some(p));
                state.processes.push(process);
            }
            Statement::CreateReader(var, with) => {
                let port = self.channel(state, p, *with)?;
                let place = self.place(state, p, *var)?;
                let process = self.new_reader(state, place, port);
                state.processes.push(process);
            }
            Statement::New(port) => {
                if state.channels == 255 {
                    return Err(Fatal("Other(\"more than 255 channels\")"));
                }
                state.channels += 1;
                self.set_channel(state, p, *port, state.channels)?;
            }
            Statement::Port(to, from) => {
                let channel = self.channel(state, p, *from)?;
                self.set_channel(state, p, *to, channel)?;
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

    fn new_reader(&self, state: &State, place: (Var, Option<(usize, usize)>), port: usize) -> Process {
        // Elements of one array are of one kind, and so are variables at one address.
        let var = match place.0 {
            Var::Slot(_) => Var::Slot(0),
            Var::Element(_) => Var::Element(0),
            Var::Static(_) => Var::Static(0),
            other => other,
        };
        let owner = place.1.and_then(|(process, _)| match state.processes[process].kind {
            Kind::Process(number) => Some(number),
            _ => None,
        });
        self.new_process(Kind::Reader(var, owner), Frame::new(0, Some(place)), port, None)
    }
}

/// Whether an action ends after a statement if actions are fine.
fn is_one_change(statement: &Statement) -> bool {
    use Statement::{
        Assert, Assign, Change, Copy, Create, CreateInner, CreateReader, Flag, Letter, Member, New, Pick, Port, Set, Store, StoreDeep,
    };
    matches!(
        statement,
        Assign(..)
            | Change(..)
            | Store(..)
            | StoreDeep(..)
            | Copy
            | Pick(..)
            | Member(..)
            | Flag(_)
            | Letter(_)
            | Set(_)
            | Create(..)
            | CreateInner
            | CreateReader(..)
            | New(_)
            | Port(..)
            | Assert(_)
    )
}
