//! The channels to which each port may refer.
//!
//! A channel is known by the variable that got it by `NEW`. References pass from one port to
//! another by assignments, as arguments and in messages, in this direction only: a process that is
//! created with two ports, and another that is created with the second of them and a third, do not
//! make one channel of all three (L. O. Andersen, "Program analysis and specialization for the C
//! programming language", 1994, chapter 4). The order of statements is ignored, and all elements of
//! an array are one port. `codegen::classes` unites both sides instead, because its classes must
//! not overlap.

use crate::codegen::each_statement;
use crate::limits::MAX_WORK;
use crate::tree::{Action, Argument, Communication, Direction, Expression, Kind, Program, Target};
use std::collections::{HashMap, HashSet};

pub(crate) struct Ports {
    /// For each variable, the variables whose channels it may hold.
    refers: Vec<HashSet<usize>>,
}

#[derive(Default)]
struct Flow {
    /// For each node, the nodes to which its references pass. The first nodes are the variables.
    onward: Vec<Vec<usize>>,
    /// The node of each value of a message.
    carried: HashMap<((usize, usize), usize), usize>,
}

impl Ports {
    /// `None` if the analysis would take too long.
    pub fn of(program: &Program) -> Option<Ports> {
        let mut flow = Flow { onward: vec![Vec::new(); program.variables.len()], ..Flow::default() };
        let mut made = HashSet::new();
        let mut at_address = HashMap::new();
        for (number, variable) in program.variables.iter().enumerate() {
            if let Some(address) = variable.address {
                let first = *at_address.entry(address).or_insert(number);
                flow.pass(first, number);
                flow.pass(number, first);
            }
        }
        for process in &program.processes {
            each_statement(&process.body, &mut |statement| match &statement.kind {
                Action::Assign(place, value) => flow.store(value, place.variable),
                Action::New(place) => drop(made.insert(place.variable)),
                Action::Communicate(communication) => flow.communicate(communication),
                Action::Select(clauses) => clauses.iter().for_each(|clause| flow.communicate(&clause.communication)),
                Action::Call(process, arguments) | Action::Create(process, arguments) => {
                    for (parameter, argument) in program.processes[*process].parameters.iter().zip(arguments) {
                        match argument {
                            Argument::Value(value) => flow.store(value, *parameter),
                            // Both names mean the same variable.
                            Argument::Reference(place) => {
                                flow.pass(place.variable, *parameter);
                                flow.pass(*parameter, place.variable);
                            }
                        }
                    }
                }
                _ => {}
            });
        }
        let mut refers = vec![HashSet::new(); flow.onward.len()];
        let mut work = 0;
        for channel in made {
            // Everything that a reference to this channel reaches.
            let mut open = vec![channel];
            while let Some(node) = open.pop() {
                if refers[node].insert(channel) {
                    work += 1 + flow.onward[node].len();
                    open.extend(&flow.onward[node]);
                }
                if work > MAX_WORK {
                    return None;
                }
            }
        }
        Some(Ports { refers })
    }

    /// The variables whose channels a variable may hold.
    pub fn channels(&self, variable: usize) -> &HashSet<usize> {
        &self.refers[variable]
    }
}

impl Flow {
    fn pass(&mut self, from: usize, to: usize) {
        self.onward[from].push(to);
    }

    /// Records that a value is stored. Values without ports do no harm.
    fn store(&mut self, value: &Expression, to: usize) {
        if let Kind::Load(place) = &value.kind {
            self.pass(place.variable, to);
        }
    }

    /// The node of a value of a message.
    fn value(&mut self, message: (usize, usize), position: usize) -> usize {
        *self.carried.entry((message, position)).or_insert_with(|| {
            self.onward.push(Vec::new());
            self.onward.len() - 1
        })
    }

    fn communicate(&mut self, communication: &Communication) {
        match &communication.what {
            Direction::Send(values) => {
                for (position, value) in values.iter().enumerate() {
                    let to = self.value(communication.message, position);
                    if let Kind::Load(place) = &value.kind {
                        self.onward[place.variable].push(to);
                    }
                }
            }
            Direction::Receive(targets) => {
                for (position, target) in targets.iter().enumerate() {
                    let from = self.value(communication.message, position);
                    if let Target::Store(place) = target {
                        self.onward[from].push(place.variable);
                    }
                }
            }
        }
    }
}
