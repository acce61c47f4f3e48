//! Finds the values that depend on an environment that sends any values.
//!
//! With `--close=any` the environment sends one value in place of all. A program may use this value
//! only where its use does not affect anything that is checked. This module finds all variables and
//! message values that can hold a value from the environment or one computed from it. They *depend*
//! on the environment. The code generator then follows both paths at each decision that depends on
//! it, stores nothing in such variables, and adds a fault wherever a value could cause one
//! (`codegen::free`). Everything else has its actual value. So each execution with actual values is
//! also an execution of this program, up to the variables that depend on the environment (Colby,
//! Godefroid and Jagadeesan, "Automatically closing open reactive programs", PLDI 1998).
//!
//! The analysis ignores the order of statements. It distinguishes fields of records, but not
//! elements of arrays. A value that is assigned under a condition does not depend on the condition,
//! because both paths are followed. There is one exception: if the number of iterations of a loop
//! inside an action depends on the environment, then so does everything that the loop changes.
//! Otherwise the action would have a result for each number of iterations.

use crate::close::PREFIX;
use crate::codegen::{each_statement, leaves_of};
use crate::limits::MAX_WORK;
use crate::tree::{Action, Argument, Binary, Communication, Direction, Expression, Kind, Place, Program, Statement, Step, Target, Type};
use std::collections::{HashMap, HashSet};

/// A variable or a value of a message, or a field of one.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Node {
    Variable(usize, Vec<usize>),
    /// The message, the position of the value in it, and the fields.
    Value((usize, usize), usize, Vec<usize>),
}

/// The variables and message values that depend on the environment.
#[derive(Default)]
pub(crate) struct Outside {
    nodes: HashSet<Node>,
    /// The processes that end an action on all their paths.
    ends: Vec<bool>,
    /// The variables that may also be known by another name.
    aliased: HashSet<usize>,
    /// The number of statements that were considered.
    work: usize,
}

impl Outside {
    pub fn of(program: &Program) -> Outside {
        let mut outside = Outside { nodes: HashSet::new(), ends: processes_that_end_actions(program), aliased: aliased(program), work: 0 };
        loop {
            let before = outside.nodes.len();
            for process in &program.processes {
                let is_environment = process.name.starts_with(PREFIX);
                each_statement(&process.body, &mut |statement| {
                    outside.work += 1;
                    if !outside.is_too_large() {
                        outside.pass_on(program, statement, is_environment);
                    }
                });
            }
            outside.share_addresses(program);
            if outside.nodes.len() == before || outside.is_too_large() {
                return outside;
            }
        }
    }

    /// Whether the analysis was given up, because it would take too long.
    pub fn is_too_large(&self) -> bool {
        self.work > MAX_WORK
    }

    /// Whether nothing depends on the environment.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Whether the value of an expression depends on the environment.
    pub fn depends(&self, expression: &Expression) -> bool {
        !self.is_empty()
            && match &expression.kind {
                Kind::Constant(_) => false,
                Kind::Load(place) => self.is_unknown(place),
                Kind::Not(operand) | Kind::Complement(operand) | Kind::Negate(operand) | Kind::Absolute(operand) | Kind::Cast(operand) => {
                    self.depends(operand)
                }
                Kind::Binary(_, left, right) => self.depends(left) || self.depends(right),
                Kind::Set(elements) => {
                    elements.iter().any(|(first, last)| self.depends(first) || last.as_ref().is_some_and(|last| self.depends(last)))
                }
            }
    }

    /// Whether a place holds, in some part, a value that depends on the environment, or is one of
    /// several places.
    pub fn is_unknown(&self, place: &Place) -> bool {
        !self.is_empty() && (self.is_somewhere(place) || self.holds(place))
    }

    /// Whether the variable itself, at these fields, holds a value that depends on the environment.
    pub fn holds(&self, place: &Place) -> bool {
        let path = fields(place);
        if place.ty.is_scalar() {
            return self.nodes.contains(&Node::Variable(place.variable, path));
        }
        self.nodes.iter().any(|node| matches!(node, Node::Variable(id, at) if *id == place.variable && at.starts_with(&path)))
    }

    /// Whether an index of a place depends on the environment.
    pub fn is_somewhere(&self, place: &Place) -> bool {
        place.steps.iter().any(|step| matches!(step, Step::Element(index, _) if self.depends(index)))
    }

    /// Whether a value of a message, in some part, depends on the environment.
    pub fn is_sent(&self, message: (usize, usize), position: usize) -> bool {
        self.nodes.iter().any(|node| matches!(node, Node::Value(known, at, _) if *known == message && *at == position))
    }

    /// Whether the environment may keep a loop from ending: the loop ends no action, it does not
    /// count towards a limit, and the environment decides in it.
    pub fn may_be_endless(&self, program: &Program, condition: &Expression, body: &[Statement], until: bool) -> bool {
        !self.is_empty()
            && !ends_action(&self.ends, body)
            && (self.depends(condition) || self.decides_in(program, body))
            && !self.counts(program, condition, body, until)
    }

    /// Like `may_be_endless`, for `FOR`. It ends unless its body changes the variable.
    pub fn may_count_endlessly(&self, program: &Program, counter: &Place, condition: &Expression, body: &[Statement]) -> bool {
        !self.is_empty()
            && !ends_action(&self.ends, body)
            && (self.depends(condition) || self.decides_in(program, body))
            && (self.aliased.contains(&counter.variable) || written(program, body).iter().any(|(id, _, _)| *id == counter.variable))
    }

    /// Whether a condition in some statements, or in processes that they call, depends on the
    /// environment.
    fn decides_in(&self, program: &Program, body: &[Statement]) -> bool {
        let mut found = false;
        each_called(program, body, &mut |statement| {
            found |= match &statement.kind {
                Action::If(branches, _) => branches.iter().any(|(condition, _)| self.depends(condition)),
                Action::While(condition, _) | Action::Repeat(_, condition) => self.depends(condition),
                Action::For(count, _) => self.depends(&count.condition()),
                _ => false,
            };
        });
        found
    }

    /// Whether a loop counts: its condition compares a variable with a limit that does not change,
    /// and each iteration brings the variable closer to it.
    fn counts(&self, program: &Program, condition: &Expression, body: &[Statement], until: bool) -> bool {
        let Kind::Binary(op, left, right) = &condition.kind else { return false };
        let up = match op {
            Binary::Less | Binary::LessOrEqual => !until,
            Binary::Greater | Binary::GreaterOrEqual => until,
            _ => return false,
        };
        let Kind::Load(counter) = &left.kind else { return false };
        let closer = |statement: &Statement| {
            let Action::Assign(place, value) = &statement.kind else { return false };
            let Kind::Binary(op @ (Binary::Add | Binary::Subtract), old, step) = &value.kind else { return false };
            let same = matches!(&old.kind, Kind::Load(read) if read.variable == counter.variable && read.steps.is_empty());
            let Kind::Constant(step) = step.kind else { return false };
            let rises = if *op == Binary::Add { step > 0 } else { step < 0 };
            place.variable == counter.variable && same && step != 0 && rises == up
        };
        let changed = written(program, body);
        let fixed = |place: &Place| {
            place.steps.is_empty() && !self.aliased.contains(&place.variable) && changed.iter().all(|(id, _, _)| *id != place.variable)
        };
        let limit = match &right.kind {
            Kind::Constant(_) => true,
            Kind::Load(place) => fixed(place),
            _ => false,
        };
        limit
            && counter.steps.is_empty()
            && !self.aliased.contains(&counter.variable)
            && body.iter().any(closer)
            && changed.iter().filter(|(id, _, _)| *id == counter.variable).count() == 1
    }

    /// Propagates the dependence through a statement.
    fn pass_on(&mut self, program: &Program, statement: &Statement, is_environment: bool) {
        match &statement.kind {
            Action::Assign(place, value) => self.store(program, place, &|this, path| this.part(value, path)),
            Action::Communicate(communication) => self.communicate(program, communication, is_environment),
            Action::Select(clauses) => {
                clauses.iter().for_each(|clause| self.communicate(program, &clause.communication, is_environment));
            }
            Action::Call(process, arguments) | Action::Create(process, arguments) => {
                for (parameter, argument) in program.processes[*process].parameters.iter().zip(arguments) {
                    let variable = &program.variables[*parameter];
                    let own = Place { variable: *parameter, steps: Vec::new(), ty: variable.ty.clone(), span: variable.span };
                    match argument {
                        Argument::Value(value) => self.store(program, &own, &|this, path| this.part(value, path)),
                        // Both names mean the same variable.
                        Argument::Reference(place) => {
                            self.store(program, &own, &|this, path| this.part_of(place, path));
                            self.store(program, place, &|this, path| this.part_of(&own, path));
                        }
                    }
                }
            }
            Action::While(condition, body) | Action::Repeat(body, condition) => self.turns(program, condition, body, None),
            Action::For(count, body) => self.turns(program, &count.condition(), body, Some(&count.counter)),
            Action::New(place) => self.store(program, place, &|_, _| false),
            _ => {}
        }
    }

    /// If the environment decides the number of iterations of a loop inside an action, everything
    /// that the loop changes depends on the environment. The variable of `FOR` does so in every
    /// loop, because it would count to the greatest number. Ports have few values and are left out.
    fn turns(&mut self, program: &Program, condition: &Expression, body: &[Statement], counter: Option<&Place>) {
        if !self.depends(condition) {
            return;
        }
        let counter = counter.map(|place| (place.variable, fields(place), place.ty.clone()));
        let changed = if ends_action(&self.ends, body) { Vec::new() } else { written(program, body) };
        self.work += changed.len();
        for (variable, path, ty) in changed.into_iter().chain(counter) {
            for leaf in leaves_of(program, &ty).into_iter().filter(|leaf| !matches!(leaf.ty, Type::Channel(_))) {
                self.nodes.insert(Node::Variable(variable, [path.as_slice(), &leaf.path].concat()));
            }
        }
    }

    /// Records that a value is stored in a place; `depends` says which parts of it depend on the
    /// environment. If the place is not known, the variable depends on the environment in any case.
    fn store(&mut self, program: &Program, place: &Place, depends: &dyn Fn(&Self, &[usize]) -> bool) {
        let somewhere = self.is_somewhere(place);
        let path = fields(place);
        for leaf in leaves_of(program, &place.ty) {
            if somewhere || depends(self, &leaf.path) {
                self.nodes.insert(Node::Variable(place.variable, [path.as_slice(), &leaf.path].concat()));
            }
        }
    }

    fn communicate(&mut self, program: &Program, communication: &Communication, is_environment: bool) {
        let message = communication.message;
        let types = &program.channels[message.0].messages[message.1].values;
        match &communication.what {
            Direction::Send(values) => {
                for (position, (value, ty)) in values.iter().zip(types).enumerate() {
                    for leaf in leaves_of(program, ty) {
                        if is_environment || self.part(value, &leaf.path) {
                            self.nodes.insert(Node::Value(message, position, leaf.path));
                        }
                    }
                }
            }
            Direction::Receive(targets) => {
                for (position, target) in targets.iter().enumerate() {
                    if let Target::Store(place) = target {
                        self.store(program, place, &|this, path| this.nodes.contains(&Node::Value(message, position, path.to_vec())));
                    }
                }
            }
        }
    }

    /// Whether a part of a value depends on the environment.
    fn part(&self, value: &Expression, path: &[usize]) -> bool {
        match &value.kind {
            Kind::Load(place) => self.part_of(place, path),
            _ => self.depends(value),
        }
    }

    fn part_of(&self, place: &Place, path: &[usize]) -> bool {
        self.is_somewhere(place) || self.nodes.contains(&Node::Variable(place.variable, [fields(place).as_slice(), path].concat()))
    }

    /// Variables at one address are one variable.
    fn share_addresses(&mut self, program: &Program) {
        let mut at: HashMap<i32, Vec<usize>> = HashMap::new();
        for (id, variable) in program.variables.iter().enumerate() {
            if let Some(address) = variable.address {
                at.entry(address).or_default().push(id);
            }
        }
        for same in at.values() {
            if same.iter().any(|id| self.nodes.contains(&Node::Variable(*id, Vec::new()))) {
                self.nodes.extend(same.iter().map(|id| Node::Variable(*id, Vec::new())));
            }
        }
    }
}

/// Whether some statements end an action on all their paths.
fn ends_action(ends: &[bool], body: &[Statement]) -> bool {
    body.iter().any(|statement| match &statement.kind {
        Action::Communicate(_) | Action::Select(_) | Action::Choice(_) | Action::Reschedule => true,
        Action::If(branches, last) => branches.iter().all(|(_, body)| ends_action(ends, body)) && ends_action(ends, last),
        Action::Repeat(body, _) => ends_action(ends, body),
        Action::Call(process, _) => ends[*process],
        _ => false,
    })
}

/// The processes that end an action on all their paths. A call by which a process calls itself does
/// not count.
fn processes_that_end_actions(program: &Program) -> Vec<bool> {
    let mut ends = vec![false; program.processes.len()];
    loop {
        let next: Vec<bool> = program.processes.iter().map(|process| ends_action(&ends, &process.body)).collect();
        if next == ends {
            return ends;
        }
        ends = next;
    }
}

/// The fields on the path to a place.
fn fields(place: &Place) -> Vec<usize> {
    let field = |step: &Step| match step {
        Step::Field(position) => Some(*position),
        Step::Element(..) => None,
    };
    place.steps.iter().filter_map(field).collect()
}

/// Variables that are also known by another name: parameters by reference, the variables passed to
/// them, and variables at an address.
fn aliased(program: &Program) -> HashSet<usize> {
    let named = program.variables.iter().enumerate().filter(|(_, variable)| variable.reference || variable.address.is_some());
    let mut aliased: HashSet<usize> = named.map(|(id, _)| id).collect();
    for process in &program.processes {
        each_statement(&process.body, &mut |statement| {
            if let Action::Call(_, arguments) | Action::Create(_, arguments) = &statement.kind {
                aliased.extend(arguments.iter().filter_map(|argument| match argument {
                    Argument::Reference(place) => Some(place.variable),
                    Argument::Value(_) => None,
                }));
            }
        });
    }
    aliased
}

/// Visits some statements and those of the processes that they call, each process once.
fn each_called(program: &Program, body: &[Statement], visit: &mut dyn FnMut(&Statement)) {
    let mut seen = HashSet::new();
    let mut open: Vec<&[Statement]> = vec![body];
    while let Some(body) = open.pop() {
        each_statement(body, &mut |statement| {
            visit(statement);
            if let Action::Call(process, _) = statement.kind
                && seen.insert(process)
            {
                open.push(&program.processes[process].body);
            }
        });
    }
}

/// The places that some statements, or processes that they call, can change: variable, fields and
/// type, once for each statement.
fn written(program: &Program, body: &[Statement]) -> Vec<(usize, Vec<usize>, Type)> {
    let mut all = Vec::new();
    let mut add = |place: &Place| all.push((place.variable, fields(place), place.ty.clone()));
    each_called(program, body, &mut |statement| match &statement.kind {
        Action::Assign(place, _) | Action::New(place) => add(place),
        Action::For(count, _) => add(&count.counter),
        Action::Communicate(communication) => received(communication).for_each(&mut add),
        Action::Select(clauses) => clauses.iter().flat_map(|clause| received(&clause.communication)).for_each(&mut add),
        Action::Call(process, arguments) | Action::Create(process, arguments) => {
            for (parameter, argument) in program.processes[*process].parameters.iter().zip(arguments) {
                let variable = &program.variables[*parameter];
                match argument {
                    Argument::Reference(place) => add(place),
                    Argument::Value(_) => {
                        add(&Place { variable: *parameter, steps: Vec::new(), ty: variable.ty.clone(), span: variable.span });
                    }
                }
            }
        }
        _ => {}
    });
    all
}

/// The places in which a communication stores values.
fn received(communication: &Communication) -> impl Iterator<Item = &Place> {
    let targets = match &communication.what {
        Direction::Receive(targets) => targets.as_slice(),
        Direction::Send(_) => &[],
    };
    targets.iter().filter_map(|target| match target {
        Target::Store(place) => Some(place),
        Target::Match(_) => None,
    })
}
