//! Closes an open program: adds processes that represent its environment.
//!
//! A message of a port belongs to the environment if the program receives it from a channel of the
//! port and no process sends it there, or sends it and no process receives it. So a filter that
//! receives a message on one port and sends the same message on another is open at both. For each
//! such message of each port of a module a process is added that repeatedly sends it, with any
//! values of a small range, or receives it. This is the universal environment of Gerber's thesis,
//! section 3.4. It is generated as LF text, so that a user can refine it.
//!
//! With [`Values::Any`] the environment sends one value in place of all. `crate::outside` finds the
//! values that depend on it.

use crate::ast::{Declaration, Module, TypeTree};
use crate::codegen::each_statement;
use crate::ports::Ports;
use crate::tree::{Action, Direction, Kind, Program, Statement, Step, Type};
use source::Diagnostic;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// The choice of the values that the environment sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Values {
    /// This many values of each type, from the first on.
    Some(u8),
    /// One value in place of all. A condition that depends on it can be true and false.
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
    let uses = Uses::of(program);
    let made = made(program);
    let (mut declared, mut created, mut imported) = (String::new(), Vec::new(), Vec::new());
    for (id, variable) in program.variables.iter().enumerate().filter(|(_, variable)| variable.owner.is_none()) {
        let (channel, places) = match &variable.ty {
            Type::Channel(channel) => (*channel, vec![String::new()]),
            Type::Array(length, element) if matches!(**element, Type::Channel(_)) => {
                let Type::Channel(channel) = **element else { continue };
                let is_made = |number: &u32| made.get(&id).is_some_and(|made| made.is_made(*number));
                (channel, (0..*length).filter(is_made).map(|number| format!("[{number}]")).collect())
            }
            _ => continue,
        };
        for (number, message) in program.channels[channel].messages.iter().enumerate() {
            let (is_sent, is_received) = uses.of_message(id, (channel, number));
            if is_sent == is_received {
                continue;
            }
            // A port without a channel is not used.
            if !made.contains_key(&id) {
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
            let types = Types { modules, program };
            let mut carried = Vec::new();
            for value in &message.values {
                match types.word(value) {
                    Ok(word) => carried.push((word, types.parts(value))),
                    Err(why) => {
                        let text = format!("the message `{}` carries {}, {why}", message.name, program.type_name(value));
                        diagnostics.push(Diagnostic::error(variable.span, text).with_hint("write the environment of this port by hand"));
                        return None;
                    }
                }
            }
            for place in &places {
                let name = format!("{PREFIX}{}", created.len() + 1);
                let port = format!("{}{place}", variable.name);
                process(&mut declared, &name, &port, &message.name, &carried, is_received, values);
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

/// Who uses the messages of each channel.
struct Uses {
    /// `None` if it is not known to which channels a port refers; then all ports of a type may
    /// refer to the same one.
    ports: Option<Ports>,
    /// The messages that are sent, by the variable that got the channel, and those received.
    sent: HashSet<(usize, (usize, usize))>,
    received: HashSet<(usize, (usize, usize))>,
}

impl Uses {
    fn of(program: &Program) -> Uses {
        let mut uses = Uses { ports: Ports::of(program), sent: HashSet::new(), received: HashSet::new() };
        for process in &program.processes {
            each_communication(&process.body, &mut |communication| {
                let channels = uses.ports.as_ref().map(|ports| ports.channels(communication.port.variable));
                let used = match communication.what {
                    Direction::Send(_) => &mut uses.sent,
                    Direction::Receive(_) => &mut uses.received,
                };
                match channels {
                    Some(channels) => used.extend(channels.iter().map(|channel| (*channel, communication.message))),
                    None => drop(used.insert((usize::MAX, communication.message))),
                }
            });
        }
        uses
    }

    /// Whether a message is sent to a channel of a port, and whether it is received from one.
    fn of_message(&self, port: usize, message: (usize, usize)) -> (bool, bool) {
        let among = |used: &HashSet<(usize, (usize, usize))>| match &self.ports {
            Some(ports) => ports.channels(port).iter().any(|channel| used.contains(&(*channel, message))),
            None => used.contains(&(usize::MAX, message)),
        };
        (among(&self.sent), among(&self.received))
    }
}

/// The elements of an array of ports that get a channel by `NEW`.
#[derive(Default)]
struct Made {
    /// Some element is chosen while the program runs.
    any: bool,
    elements: HashSet<i32>,
}

impl Made {
    fn is_made(&self, element: u32) -> bool {
        self.any || i32::try_from(element).is_ok_and(|element| self.elements.contains(&element))
    }
}

/// The variables that get a channel by `NEW`.
fn made(program: &Program) -> HashMap<usize, Made> {
    let mut all: HashMap<usize, Made> = HashMap::new();
    for process in &program.processes {
        each_statement(&process.body, &mut |statement| {
            if let Action::New(place) = &statement.kind {
                let made = all.entry(place.variable).or_default();
                match place.steps.first() {
                    Some(Step::Element(index, _)) => match index.kind {
                        Kind::Constant(number) => {
                            made.elements.insert(number);
                        }
                        _ => made.any = true,
                    },
                    _ => made.any = true,
                }
            }
        });
    }
    all
}

/// A warning if the program uses devices that no process represents.
pub(crate) fn without_devices(modules: &[Module], program: &Program) -> Option<Diagnostic> {
    let mut used = HashSet::new();
    for process in &program.processes {
        each_communication(&process.body, &mut |communication| {
            let sends = matches!(communication.what, Direction::Send(_));
            used.insert((communication.message, sends));
        });
    }
    // A driver sends the first two, and receives the others.
    let is_driver = |(channel, message): (usize, usize), sends: bool| {
        let channel = &program.channels[channel];
        let asks = matches!(channel.messages[message].name.as_str(), "PORTIN" | "PORTOUT");
        channel.name.starts_with("SYSTEM.") && asks == sends
    };
    used.iter().find(|(message, sends)| is_driver(*message, *sends) && !used.contains(&(*message, !sends)))?;
    let main = modules.last()?;
    let from_library = |name: &&crate::ast::Name| crate::library::module(&name.text).is_some() && name.text != "Out";
    let span = main.imports.iter().find(from_library).map_or(main.name.span, |name| name.span);
    let message = "no process represents the devices that the program uses, so their drivers wait for ever";
    Some(Diagnostic::warning(span, message).with_hint("`-D devices=host` adds a model of the devices, and `--close` adds an environment"))
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

/// The types of message values, as the environment writes them.
struct Types<'a> {
    modules: &'a [Module],
    program: &'a Program,
}

impl Types<'_> {
    /// The text of a type; an error says why the environment cannot choose its values.
    fn word(&self, ty: &Type) -> Result<String, &'static str> {
        Ok(match ty {
            Type::Boolean => "BOOLEAN".to_owned(),
            Type::Char => "CHAR".to_owned(),
            Type::Set => "SET".to_owned(),
            Type::Integer(integer) => integer.name.to_owned(),
            Type::Array(length, element) => format!("ARRAY {length} OF {}", self.word(element)?),
            Type::Record(number) => {
                let record = &self.program.records[*number];
                for (_, field) in &record.fields {
                    self.word(field)?;
                }
                if !self.has_name(&record.name) {
                    return Err("a type without a name that the main module could use");
                }
                record.name.clone()
            }
            Type::Channel(_) | Type::Unknown => return Err("which the environment cannot choose"),
        })
    }

    /// Whether the main module can use the name of a record type, and no other record has it.
    fn has_name(&self, full: &str) -> bool {
        let main = self.modules.last().map_or("", |main| main.name.text.as_str());
        let (module, name) = full.split_once('.').unwrap_or((main, full));
        let is_main = module == main;
        let declared = self.modules.iter().filter(|known| known.name.text == module).flat_map(|known| &known.declarations);
        let known = |declaration: &Declaration| match declaration {
            Declaration::Type(other, exported, TypeTree::Record(..)) => other.text == name && (*exported || is_main),
            _ => false,
        };
        declared.into_iter().any(known) && self.program.records.iter().filter(|record| record.name == full).count() == 1
    }

    /// The numbers of which a value consists: how each is selected, and its type.
    fn parts(&self, ty: &Type) -> Vec<(String, Type)> {
        match ty {
            Type::Array(length, element) => {
                let inner = self.parts(element);
                let of = |number: u32| inner.iter().map(move |(path, ty)| (format!("[{number}]{path}"), ty.clone()));
                (0..*length).flat_map(of).collect()
            }
            Type::Record(number) => {
                let fields = self.program.records[*number].fields.iter();
                let of =
                    |(name, ty): &(String, Type)| self.parts(ty).into_iter().map(|(path, ty)| (format!(".{name}{path}"), ty)).collect();
                fields.flat_map(|field| -> Vec<(String, Type)> { of(field) }).collect()
            }
            _ => vec![(String::new(), ty.clone())],
        }
    }
}

/// The texts of the values of a type that the environment sends.
fn choices(ty: &Type, values: Values) -> Vec<String> {
    let count = match values {
        Values::Some(count) => i64::from(count.max(1)),
        Values::Any => 1,
    };
    match ty {
        Type::Boolean if count > 1 => vec!["FALSE".to_owned(), "TRUE".to_owned()],
        Type::Boolean => vec!["FALSE".to_owned()],
        Type::Char => (0..count.min(256)).map(|code| format!("CHR({code})")).collect(),
        Type::Set if count > 1 => vec!["{}".to_owned(), "{0}".to_owned()],
        Type::Set => vec!["{}".to_owned()],
        Type::Integer(integer) => (0..count).filter(|value| integer.holds(*value)).map(|value| value.to_string()).collect(),
        _ => Vec::new(),
    }
}

/// A value that a message carries: the text of its type, and its parts.
type Carried = (String, Vec<(String, Type)>);

/// Writes a process that repeatedly sends or receives a message.
fn process(out: &mut String, name: &str, port: &str, message: &str, carried: &[Carried], sends: bool, values: Values) {
    // A variable must not hide the port, or the module that has it, or a type.
    let root = port.split(['.', '[']).next().unwrap_or(port);
    let is_used = |letter: &str| root.starts_with(letter) || carried.iter().any(|(word, _)| word.contains(letter));
    let letter = ["v", "w", "x"].into_iter().find(|letter| !is_used(letter)).unwrap_or("environment_");
    let variables: Vec<String> = (0..carried.len()).map(|number| format!("{letter}{number}")).collect();
    let arguments = if carried.is_empty() { String::new() } else { format!("({})", variables.join(", ")) };
    // Writing to a string cannot fail.
    let _ = writeln!(out, "PROCESS {name};");
    for (variable, (word, _)) in variables.iter().zip(carried) {
        let _ = writeln!(out, "VAR {variable} : {word};");
    }
    let _ = writeln!(out, "BEGIN\n  WHILE TRUE DO");
    let parts = variables
        .iter()
        .zip(carried)
        .flat_map(|(variable, (_, parts))| parts.iter().map(move |(path, ty)| (format!("{variable}{path}"), choices(ty, values))));
    let parts: Vec<(String, Vec<String>)> = parts.collect();
    for (part, choices) in parts.iter().filter(|(_, choices)| sends && choices.len() > 1) {
        let blocks: Vec<String> = choices.iter().map(|value| format!("{part} := {value}")).collect();
        let _ = writeln!(out, "    CHOICE {} END;", blocks.join(" OR "));
    }
    let _ = write!(out, "    {port}{}{message}{arguments}", if sends { "!" } else { "?" });
    for (part, first) in parts.iter().filter_map(|(part, choices)| Some((part, choices.first()?))) {
        let _ = write!(out, "; {part} := {first}");
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
