//! Classes of ports that can refer to the same channel.
//!
//! Two ports are in one class if a reference to a channel can pass from one to the other: by an
//! assignment, as an argument, in a message, or because they are one variable. So ports of
//! different classes never refer to the same channel, and each class has its own channels of the
//! machine. Engines and reductions then see without further analysis that communications through
//! such ports are independent. Queues with a defined order are not divided, because the order of
//! waiting belongs to a message, whatever the port.
//!
//! The analysis unites the two sides of every assignment, without regard to the order of statements
//! (B. Steensgaard, "Points-to analysis in almost linear time", POPL 1996). All elements of an
//! array are one port here, and so are the parameters of all instances of a process.

use super::each_statement;
use crate::tree::{Action, Argument, Communication, Direction, Expression, Kind, Place, Program, Target, Type};
use std::collections::{HashMap, HashSet};

/// The most channels of the machine that the messages of a program may take together. With more,
/// all ports of a type are in one class.
const MAX_CHANNELS: usize = 120;

/// The class of each variable that holds ports.
pub(super) struct Classes {
    /// For each node, the node it was united with. The first nodes are the variables.
    above: Vec<usize>,
    /// The node of each value of a message that carries ports.
    carried: HashMap<(usize, usize, usize), usize>,
    /// Whether all ports of a type are in one class.
    united: bool,
}

impl Classes {
    pub fn of(program: &Program) -> Classes {
        let mut classes = Classes { above: (0..program.variables.len()).collect(), carried: HashMap::new(), united: false };
        let mut at_address = HashMap::new();
        for (number, variable) in program.variables.iter().enumerate() {
            if let Some(address) = variable.address {
                let first = *at_address.entry(address).or_insert(number);
                classes.unite(first, number);
            }
        }
        let mut used = HashSet::new();
        for process in &program.processes {
            each_statement(&process.body, &mut |statement| match &statement.kind {
                Action::Assign(place, value) => classes.flow(program, place.variable, value),
                Action::Communicate(communication) => classes.communicate(program, communication, &mut used),
                Action::Select(clauses) => {
                    clauses.iter().for_each(|clause| classes.communicate(program, &clause.communication, &mut used));
                }
                Action::Call(process, arguments) | Action::Create(process, arguments) => {
                    for (parameter, argument) in program.processes[*process].parameters.iter().zip(arguments) {
                        match argument {
                            Argument::Value(value) => classes.flow(program, *parameter, value),
                            Argument::Reference(place) => classes.unite(*parameter, place.variable),
                        }
                    }
                }
                _ => {}
            });
        }
        // Each message takes at most three channels of the machine, and two more for its queues.
        let messages: HashSet<_> = used.iter().map(|(message, variable)| (*message, classes.root(*variable))).collect();
        classes.united = messages.len() * 5 > MAX_CHANNELS;
        classes
    }

    /// The number of a port's class. It only serves to compare classes of one type.
    pub fn class(&self, port: &Place) -> usize {
        if self.united { 0 } else { self.root(port.variable) }
    }

    /// The name of a port of the class, for readers, if the type has several classes.
    pub fn name<'p>(&self, program: &'p Program, port: &Place) -> Option<&'p str> {
        let root = self.root(port.variable);
        let of_type = |number: &usize| holds(program, &program.variables[*number].ty) == holds(program, &port.ty);
        let mut others = (0..program.variables.len()).filter(of_type).filter(|number| self.root(*number) != root);
        if self.united || others.next().is_none() {
            return None;
        }
        let known = |number: &usize| of_type(number) && self.root(*number) == root;
        let of_module = (0..program.variables.len()).filter(known).find(|number| program.variables[*number].owner.is_none());
        Some(&program.variables[of_module.unwrap_or(port.variable)].name)
    }

    fn root(&self, mut node: usize) -> usize {
        while self.above[node] != node {
            node = self.above[node];
        }
        node
    }

    fn unite(&mut self, a: usize, b: usize) {
        let least = self.root(a).min(self.root(b));
        for mut node in [a, b] {
            // Path compression keeps the paths short.
            while node != least {
                node = std::mem::replace(&mut self.above[node], least);
            }
        }
    }

    /// Records that a value is stored in a variable.
    fn flow(&mut self, program: &Program, variable: usize, value: &Expression) {
        if let Kind::Load(place) = &value.kind
            && !holds(program, &value.ty).is_empty()
        {
            self.unite(variable, place.variable);
        }
    }

    fn communicate(&mut self, program: &Program, communication: &Communication, used: &mut HashSet<((usize, usize), usize)>) {
        used.insert((communication.message, communication.port.variable));
        let (channel, message) = communication.message;
        let types = &program.channels[channel].messages[message].values;
        for (position, _) in types.iter().enumerate().filter(|(_, ty)| !holds(program, ty).is_empty()) {
            let node = *self.carried.entry((channel, message, position)).or_insert_with(|| {
                self.above.push(self.above.len());
                self.above.len() - 1
            });
            match &communication.what {
                Direction::Send(values) => {
                    if let Some(value) = values.get(position) {
                        self.flow(program, node, value);
                    }
                }
                Direction::Receive(targets) => {
                    if let Some(Target::Store(place)) = targets.get(position) {
                        self.unite(node, place.variable);
                    }
                }
            }
        }
    }
}

/// The channel types of the ports in a value of a type.
fn holds(program: &Program, ty: &Type) -> Vec<usize> {
    match ty {
        Type::Channel(number) => vec![*number],
        Type::Array(_, element) => holds(program, element),
        Type::Record(number) => program.records[*number].fields.iter().flat_map(|(_, ty)| holds(program, ty)).collect(),
        _ => Vec::new(),
    }
}
