//! Closes an open program: adds processes that represent its environment.
//!
//! A message belongs to the environment if the program receives it and no process sends it, or
//! sends it and no process receives it. For each such message of each port of a module a process is
//! added that repeatedly sends it, with any values of a small range, or receives it. This is the
//! universal environment of Gerber's thesis, section 3.4. It is generated as LF text, so that a
//! user can refine it.
//!
//! Values need not be tried if they affect nothing but conditions. This module finds the variables
//! that hold only values from the environment and values computed from these. A condition over such
//! variables alone can be true or false (Colby, Godefroid and Jagadeesan, "Automatically closing
//! open reactive programs", 1998), and the code generator then follows both branches.

use crate::ast::{Declaration, Module};
use crate::codegen::each_statement;
use crate::tree::{Action, Argument, Direction, Expression, Kind, Program, Statement, Target, Type};
use source::Diagnostic;
use std::collections::HashSet;
use std::fmt::Write as _;

/// The choice of the values that the environment sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Values {
    /// This many values of each type, from the first on.
    Some(u8),
    /// One value; conditions that depend only on the environment can be true and false.
    Any,
}

/// The prefix of the names of the environment's processes.
pub(crate) const PREFIX: &str = "Environment_";

/// A text to be inserted at a position.
type Insertion = (usize, String);

/// The text of the main module with processes for its environment.
pub(crate) fn close(
    text: &str,
    modules: &[Module],
    program: &Program,
    values: Values,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<String> {
    let main = modules.last()?;
    let (mut sent, mut received) = (HashSet::new(), HashSet::new());
    for process in &program.processes {
        each_communication(&process.body, &mut |communication| {
            match communication.what {
                Direction::Send(_) => sent.insert(communication.message),
                Direction::Receive(_) => received.insert(communication.message),
            };
        });
    }
    let mut made = HashSet::new();
    for process in &program.processes {
        each_statement(&process.body, &mut |statement| {
            if let Action::New(place) = &statement.kind {
                made.insert(place.variable);
            }
        });
    }
    let (mut declared, mut created, mut imported) = (String::new(), Vec::new(), Vec::new());
    for (id, variable) in program.variables.iter().enumerate().filter(|(_, variable)| variable.owner.is_none()) {
        let (channel, places) = match &variable.ty {
            Type::Channel(channel) => (*channel, vec![String::new()]),
            Type::Array(length, element) if matches!(**element, Type::Channel(_)) => {
                let Type::Channel(channel) = **element else { continue };
                (channel, (0..*length).map(|number| format!("[{number}]")).collect())
            }
            _ => continue,
        };
        for (number, message) in program.channels[channel].messages.iter().enumerate() {
            let (is_sent, is_received) = (sent.contains(&(channel, number)), received.contains(&(channel, number)));
            if is_sent == is_received {
                continue;
            }
            // A port without a channel is not used.
            if !made.contains(&id) {
                continue;
            }
            if !is_made_first(program, id) {
                let text = format!("the port `{}` gets its channel while the program runs, so it stays open", variable.name);
                diagnostics.push(Diagnostic::warning(variable.span, text).with_hint("NEW in the body of a module makes it before"));
                continue;
            }
            if let Some((module, _)) = variable.name.split_once('.') {
                if !is_exported(modules, &variable.name) {
                    let text = format!("no other module can use the port `{}`, so it stays open", variable.name);
                    diagnostics.push(Diagnostic::warning(variable.span, text).with_hint("a `*` after its name exports it"));
                    continue;
                }
                if main.imports.iter().all(|import| import.text != module) && !imported.contains(&module) {
                    imported.push(module);
                }
            }
            if let Some(value) = message.values.iter().find(|value| choices(value, values).is_none()) {
                let text =
                    format!("the message `{}` carries {}, which the environment cannot choose", message.name, program.type_name(value));
                diagnostics.push(Diagnostic::error(variable.span, text).with_hint("write the environment of this port by hand"));
                return None;
            }
            for place in &places {
                let name = format!("{PREFIX}{}", created.len() + 1);
                let port = format!("{}{place}", variable.name);
                process(&mut declared, &name, &port, &message.name, &message.values, is_received, values);
                created.push((name, channel_made(program, main, id)));
            }
        }
    }
    let mut insertions: Vec<Insertion> = Vec::new();
    if !imported.is_empty() {
        match main.imports.last() {
            Some(last) => insertions.push((last.span.end as usize, format!(", {}", imported.join(", ")))),
            None => {
                let from = main.name.span.end as usize;
                let after = text.get(from..)?.find(';').map(|at| from + at + 1)?;
                insertions.push((after, format!("\nIMPORT {};", imported.join(", "))));
            }
        }
    }
    // A process of the environment begins as soon as its port has a channel.
    match main.begin {
        Some(begin) => {
            insertions.push((begin.start as usize, declared));
            insertions.extend(created.iter().map(|(name, made)| match made {
                Some(after) => (*after, format!("; CREATE {name}")),
                None => (begin.end as usize, format!(" CREATE {name};")),
            }));
        }
        None => {
            let create: Vec<String> = created.iter().map(|(name, _)| format!("CREATE {name}")).collect();
            insertions.push((main.end.start as usize, format!("{declared}BEGIN\n  {}\n", create.join("; "))));
        }
    }
    insertions.sort_by_key(|(at, _)| *at);
    let mut closed = String::new();
    let mut from = 0;
    for (at, added) in insertions {
        closed.push_str(text.get(from..at)?);
        closed.push_str(&added);
        from = at;
    }
    closed.push_str(text.get(from..)?);
    Some(closed)
}

/// Whether a port gets its channel in the body of a module.
fn is_made_first(program: &Program, port: usize) -> bool {
    let mut found = false;
    each_statement(&program.processes[program.main].body, &mut |statement| {
        found |= matches!(&statement.kind, Action::New(place) if place.variable == port);
    });
    found
}

/// The end of the statement of the main module that gives a port its channel; `None` if a module
/// that is initialised before does so.
fn channel_made(program: &Program, main: &Module, port: usize) -> Option<usize> {
    let makes = |statement: &&Statement| {
        let mut found = false;
        each_statement(std::slice::from_ref(*statement), &mut |inner| {
            found |= matches!(&inner.kind, Action::New(place) if place.variable == port);
        });
        found && statement.span.file == main.name.span.file
    };
    program.processes[program.main].body.iter().rfind(makes).map(|statement| statement.span.end as usize)
}

/// The texts of the values of a type that the environment sends.
fn choices(ty: &Type, values: Values) -> Option<Vec<String>> {
    let count = match values {
        Values::Some(count) => i64::from(count.max(1)),
        Values::Any => 1,
    };
    Some(match ty {
        Type::Boolean if count > 1 => vec!["FALSE".to_owned(), "TRUE".to_owned()],
        Type::Boolean => vec!["FALSE".to_owned()],
        Type::Char => (0..count.min(256)).map(|code| format!("CHR({code})")).collect(),
        Type::Set if count > 1 => vec!["{}".to_owned(), "{0}".to_owned()],
        Type::Set => vec!["{}".to_owned()],
        Type::Integer(integer) => (0..count).filter(|value| integer.holds(*value)).map(|value| value.to_string()).collect(),
        _ => return None,
    })
}

/// Writes a process that repeatedly sends or receives a message.
fn process(out: &mut String, name: &str, port: &str, message: &str, types: &[Type], sends: bool, values: Values) {
    let variables: Vec<String> = (0..types.len()).map(|number| format!("v{number}")).collect();
    let arguments = if types.is_empty() { String::new() } else { format!("({})", variables.join(", ")) };
    // Writing to a string cannot fail.
    let _ = writeln!(out, "PROCESS {name};");
    for (variable, ty) in variables.iter().zip(types) {
        let word = match ty {
            Type::Boolean => "BOOLEAN",
            Type::Char => "CHAR",
            Type::Set => "SET",
            Type::Integer(integer) => integer.name,
            _ => "INTEGER",
        };
        let _ = writeln!(out, "VAR {variable} : {word};");
    }
    let _ = writeln!(out, "BEGIN\n  WHILE TRUE DO");
    let choices: Vec<Vec<String>> = types.iter().filter_map(|ty| self::choices(ty, values)).collect();
    for (variable, choices) in variables.iter().zip(&choices).filter(|(_, choices)| sends && choices.len() > 1) {
        let blocks: Vec<String> = choices.iter().map(|value| format!("{variable} := {value}")).collect();
        let _ = writeln!(out, "    CHOICE {} END;", blocks.join(" OR "));
    }
    let _ = write!(out, "    {port}{}{message}{arguments}", if sends { "!" } else { "?" });
    for (variable, choices) in variables.iter().zip(&choices) {
        let _ = write!(out, "; {variable} := {}", choices[0]);
    }
    let _ = writeln!(out, "\n  END\nEND {name};\n");
}

fn is_exported(modules: &[Module], full: &str) -> bool {
    let Some((module, name)) = full.split_once('.') else { return true };
    let Some(module) = modules.iter().find(|known| known.name.text == module) else { return false };
    module.declarations.iter().any(|declaration| match declaration {
        Declaration::Variables(names, _, _) => names.iter().any(|(known, exported)| known.text == name && *exported),
        _ => false,
    })
}

fn each_communication(statements: &[Statement], visit: &mut dyn FnMut(&crate::tree::Communication)) {
    each_statement(statements, &mut |statement| match &statement.kind {
        Action::Communicate(communication) => visit(communication),
        Action::Select(clauses) => clauses.iter().for_each(|clause| visit(&clause.communication)),
        _ => {}
    });
}

/// Variables that hold only values from the environment and values computed from these.
#[derive(Default)]
pub(crate) struct FromOutside {
    variables: HashSet<usize>,
}

/// A value that is written to a variable.
enum Written<'a> {
    Outside,
    Value(&'a Expression),
    /// A value that is not tracked.
    Unknown,
}

impl FromOutside {
    pub fn of(program: &Program) -> FromOutside {
        let is_environment = |number: usize| program.processes[number].name.starts_with(PREFIX);
        let mut inside = HashSet::new();
        for (_, process) in program.processes.iter().enumerate().filter(|(number, _)| !is_environment(*number)) {
            each_communication(&process.body, &mut |communication| {
                if let Direction::Send(_) = communication.what {
                    inside.insert(communication.message);
                }
            });
        }
        let mut writes: Vec<(usize, Written<'_>)> = Vec::new();
        for (_, process) in program.processes.iter().enumerate().filter(|(number, _)| !is_environment(*number)) {
            collect(program, &process.body, &inside, &mut writes);
        }
        let loads_in = |expression: &Expression, set: &HashSet<usize>, all: bool| {
            let mut loads = Vec::new();
            let plain = loaded(expression, &mut loads);
            if all { plain && loads.iter().all(|load| set.contains(load)) } else { loads.iter().any(|load| set.contains(load)) }
        };
        // First, the variables to which a value from the environment is written;
        let mut touched: HashSet<usize> = HashSet::new();
        loop {
            let more = writes.iter().filter(|(variable, written)| {
                !touched.contains(variable)
                    && match written {
                        Written::Outside => true,
                        Written::Value(value) => loads_in(value, &touched, false),
                        Written::Unknown => false,
                    }
            });
            let more: Vec<usize> = more.map(|(variable, _)| *variable).collect();
            if more.is_empty() {
                break;
            }
            touched.extend(more);
        }
        // then, those to which nothing else is written.
        let mut good = touched;
        loop {
            let bad: Vec<usize> = writes
                .iter()
                .filter(|(variable, _)| good.contains(variable))
                .filter(|(_, written)| match written {
                    Written::Outside => false,
                    Written::Value(value) => !loads_in(value, &good, true),
                    Written::Unknown => true,
                })
                .map(|(variable, _)| *variable)
                .collect();
            if bad.is_empty() {
                break;
            }
            good.retain(|variable| !bad.contains(variable));
        }
        FromOutside { variables: good }
    }

    /// Whether a condition depends on the environment alone.
    pub fn decides(&self, condition: &Expression) -> bool {
        let mut loads = Vec::new();
        loaded(condition, &mut loads) && !loads.is_empty() && loads.iter().all(|load| self.variables.contains(load))
    }
}

fn collect<'a>(program: &Program, statements: &'a [Statement], inside: &HashSet<(usize, usize)>, writes: &mut Vec<(usize, Written<'a>)>) {
    for statement in statements {
        let receive = |communication: &'a crate::tree::Communication, writes: &mut Vec<(usize, Written<'a>)>| {
            if let Direction::Receive(targets) = &communication.what {
                for target in targets {
                    if let Target::Store(place) = target {
                        let outside = place.steps.is_empty() && place.ty.is_scalar() && !inside.contains(&communication.message);
                        writes.push((place.variable, if outside { Written::Outside } else { Written::Unknown }));
                    }
                }
            }
        };
        match &statement.kind {
            Action::Assign(place, value) => {
                let plain = place.steps.is_empty() && place.ty.is_scalar();
                writes.push((place.variable, if plain { Written::Value(value) } else { Written::Unknown }));
            }
            Action::New(place) => writes.push((place.variable, Written::Unknown)),
            Action::Communicate(communication) => receive(communication, writes),
            Action::Select(clauses) => {
                for clause in clauses {
                    receive(&clause.communication, writes);
                    collect(program, &clause.body, inside, writes);
                }
            }
            Action::Call(process, arguments) | Action::Create(process, arguments) => {
                for (parameter, argument) in program.processes[*process].parameters.iter().zip(arguments) {
                    match argument {
                        Argument::Value(value) => writes.push((*parameter, Written::Value(value))),
                        Argument::Reference(place) => {
                            writes.push((place.variable, Written::Unknown));
                            writes.push((*parameter, Written::Unknown));
                        }
                    }
                }
            }
            Action::If(branches, last) => {
                branches.iter().for_each(|(_, body)| collect(program, body, inside, writes));
                collect(program, last, inside, writes);
            }
            Action::While(_, body) | Action::Repeat(body, _) => collect(program, body, inside, writes),
            Action::Choice(blocks) => blocks.iter().for_each(|block| collect(program, block, inside, writes)),
            _ => {}
        }
    }
}

/// Collects the variables that an expression reads; false if it reads parts of variables.
fn loaded(expression: &Expression, out: &mut Vec<usize>) -> bool {
    match &expression.kind {
        Kind::Constant(_) => true,
        Kind::Load(place) => {
            out.push(place.variable);
            place.steps.is_empty() && place.ty.is_scalar()
        }
        Kind::Not(operand) | Kind::Complement(operand) | Kind::Negate(operand) | Kind::Absolute(operand) | Kind::Cast(operand) => {
            loaded(operand, out)
        }
        Kind::Binary(_, left, right) => {
            let left = loaded(left, out);
            loaded(right, out) && left
        }
        Kind::Set(elements) => elements.iter().fold(true, |plain, (first, last)| {
            let first = loaded(first, out);
            let last = last.as_ref().is_none_or(|last| loaded(last, out));
            plain && first && last
        }),
    }
}
