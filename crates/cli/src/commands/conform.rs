//! `everypath conform`: checks that a recorded run of a generated program is a path of its model.

use super::{Asks, schema_of};
use crate::args::{ModelArguments, OutputArguments};
use crate::code::Code;
use crate::failure::Failure;
use crate::{Exit, input, say};
use clap::Args;
use contract::Position;
use replay::{Conformance, Departure, Event};
use report::json;
use report::values_text;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// `everypath conform`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    pub model: ModelArguments,
    /// The trace that the program has written, by `EP_TRACE=FILE ./init`
    pub trace: PathBuf,
    /// Show each step, with its position in the text and the values in the model
    #[arg(long)]
    pub step: bool,
    /// Follow each process of this type alone, with what started it: sessions of a server
    #[arg(long, value_name = "TYPE", conflicts_with = "step")]
    pub each: Option<String>,
    /// Also show the position in the C files of this folder
    #[arg(long, value_name = "FOLDER", requires = "step")]
    pub code: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// The answer as JSON.
#[derive(Default, JsonSchema, Serialize)]
struct ConformJson {
    /// `conforms`, `departs`, `fails` (the run ended in a violation, as the model does there) or
    /// `unknown`.
    verdict: &'static str,
    /// The number of steps of the trace, up to the line where it departs.
    steps: usize,
    /// With `--each`, how many processes were followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<usize>,
    /// The number of paths of the model that match the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    ways: Option<usize>,
    /// The line of the trace at which it departs, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// The event on that line.
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<String>,
    /// Why that event is not a step of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  everypath conform altbit.pch run.trace
  everypath conform altbit.pch run.trace --step --code altbit    each event, with its line in C";

impl Asks for Arguments {
    fn schema() -> Option<Schema> {
        schema_of::<ConformJson>()
    }

    fn json(&self) -> bool {
        self.output.json
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let path = &arguments.model.model;
    let defines = arguments.model.lf.define(path, &arguments.model.defines)?;
    let model = input::model(path, &defines)?;
    let Some(program) = model.subject.byte_code().cloned() else {
        return Err(Failure::Call(format!("{}: programs are generated from Promela with C in it", path.display())));
    };
    let (hybrid, map, _) = input::hybrid(path, &defines, false)?;
    let text = input::text(&arguments.trace)?;
    // Positions in pieces of the text that belong to the model alone.
    let own: Vec<_> = hybrid
        .model_only
        .iter()
        .map(|&span| {
            let (begin, end) = (map.location(span), map.location(span.after()));
            (map.name(span.file), (begin.line, begin.column), (end.line, end.column))
        })
        .collect();
    let hidden = |position: &Position| {
        let at = (position.line as usize, position.column as usize);
        own.iter().any(|(file, begin, end)| **file == *position.file && *begin <= at && at < *end)
    };
    let pieces: Vec<_> = hybrid
        .inside_c
        .iter()
        .map(|&span| {
            let (begin, end) = (map.location(span), map.location(span.after()));
            (map.name(span.file), (begin.line, begin.column), (end.line, end.column))
        })
        .collect();
    let inside = |position: &Position| {
        let at = (position.line as usize, position.column as usize);
        pieces.iter().any(|(file, begin, end)| **file == *position.file && *begin <= at && at < *end)
    };
    let tables = program.program();
    let symbol = |value: i64| i32::try_from(value).ok().and_then(|value| tables.symbol(value)).map(str::to_owned);
    // A macro has one position for everything that it contains. If a part of it belongs to the
    // model alone, its steps are hidden, and the lines that the program writes there are not
    // evidence.
    let known: BTreeSet<(u32, u32)> = tables.spans.iter().map(|span| (span.line, span.column)).collect();
    let file = path.display().to_string();
    let known: BTreeSet<(u32, u32)> =
        known.into_iter().filter(|&(line, column)| !hidden(&Position { file: file.clone(), line, column })).collect();
    let code = arguments.code.as_deref().map(Code::read).transpose()?.unwrap_or_default();
    let types: BTreeSet<String> = hybrid.process_types().map(str::to_owned).collect();
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let Some(event) = Event::read(line) else {
            return Err(Failure::Call(format!("{}:{}: this is not a line of a trace: {line}", arguments.trace.display(), number + 1)));
        };
        lines.push((number + 1, event));
    }
    if lines.is_empty() {
        let why = "the trace is empty: was the program started with EP_TRACE?";
        return Err(Failure::Call(format!("{}: {why}", arguments.trace.display())));
    }
    if let Some(name) = arguments.each.as_ref().filter(|name| !types.contains(*name)) {
        let known: Vec<&str> = types.iter().map(String::as_str).filter(|name| *name != ":init:").collect();
        return Err(Failure::Call(format!("the program has no process type `{name}`: it has {}", known.join(", "))));
    }
    let parts = arguments.each.as_ref().map(|name| each(&lines, &text, name));
    let processes = parts.as_ref().map(Vec::len);
    if let (Some(0), Some(name)) = (processes, &arguments.each) {
        return Err(Failure::Call(format!("{}: no process of the type `{name}` was started", arguments.trace.display())));
    }
    let (mut steps, mut ways) = (0usize, 0usize);
    let mut conformance = Conformance::new(&model.narrator, &hidden, &inside, &symbol, known, types);
    for part in parts.unwrap_or_else(|| vec![lines]) {
        conformance.restart();
        for (number, event) in &part {
            steps += usize::from(matches!(event, Event::Step(..)));
            let departure = conformance.follow(event).err();
            if arguments.step && !arguments.output.json {
                say(&told(event, &model.name, &code, &conformance, &model.narrator));
            }
            if let Some(departure) = departure {
                return Ok(departed(arguments, event, *number, steps, &departure));
            }
        }
        if let Some((number, event)) = part.last().filter(|_| conformance.is_broken()) {
            return Ok(departed(arguments, event, *number, steps, &Departure::Failed(true)));
        }
        ways = ways.max(conformance.ways());
    }
    match arguments.output.json {
        true => say(&json::line(&ConformJson { verdict: "conforms", steps, processes, ways: Some(ways), ..ConformJson::default() })),
        false => {
            let whose = processes.map_or(String::new(), |count| format!(" of {count} processes"));
            say(&format!("conforms: {steps} steps{whose} are a path of the model\n"));
        }
    }
    Ok(Exit::Fine)
}

/// For each process of a type, a trace in which this process is the only one that its parent has
/// started. The trace has the processes that exist from the beginning, the steps of the parent
/// before its loop, its steps between the last process and this one, and the steps of the process
/// itself.
fn each(lines: &[(usize, Event)], text: &str, name: &str) -> Vec<Vec<(usize, Event)>> {
    let of_type: BTreeSet<u64> = text.lines().filter_map(|line| started(line, name)).collect();
    let begin: Vec<(usize, Event)> =
        lines.iter().filter(|(_, event)| matches!(event, Event::Start(..) | Event::Active(..))).cloned().collect();
    let mut parts: Vec<Vec<(usize, Event)>> = Vec::new();
    // The part that each process belongs to. Numbers of processes may be reused.
    let mut part_of: BTreeMap<u64, usize> = BTreeMap::new();
    // These are the events of each parent before it started its first child.
    let mut first: BTreeMap<u64, Vec<(usize, Event)>> = BTreeMap::new();
    let mut since: BTreeMap<u64, Vec<(usize, Event)>> = BTreeMap::new();
    for (number, event) in lines {
        match event {
            Event::Run(parent, child) if of_type.contains(child) && !part_of.contains_key(parent) => {
                let recent = since.remove(parent).unwrap_or_default();
                let mut part = begin.clone();
                match first.get(parent) {
                    None => drop(first.insert(*parent, recent.clone())),
                    // A round begins with the same step as this one; earlier steps belong to no
                    // round.
                    Some(earlier) => {
                        let round = earlier.iter().position(|(_, event)| recent.first().is_some_and(|(_, begin)| begin == event));
                        part.extend(earlier[..round.unwrap_or(0)].iter().cloned());
                    }
                }
                part.extend(recent);
                part.push((*number, event.clone()));
                part_of.insert(*child, parts.len());
                parts.push(part);
            }
            Event::Run(process, child) => {
                if let Some(&part) = part_of.get(process) {
                    part_of.insert(*child, part);
                    parts[part].push((*number, event.clone()));
                }
            }
            Event::Step(process, ..) | Event::Values(process, _) | Event::Fail(process, ..) => match part_of.get(process) {
                Some(&part) => parts[part].push((*number, event.clone())),
                None => since.entry(*process).or_default().push((*number, event.clone())),
            },
            Event::Start(..) | Event::Active(..) => {}
        }
    }
    parts
}

/// The process of this type that a line starts.
fn started(line: &str, name: &str) -> Option<u64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["run", _, child, ty] if *ty == name => child.parse().ok(),
        _ => None,
    }
}

/// Reports an event that the model cannot explain.
fn departed(arguments: &Arguments, event: &Event, line: usize, steps: usize, departure: &Departure) -> Exit {
    let what = match event {
        Event::Step(process, line, column) => format!("process {process} executes {}:{line}:{column}", arguments.model.model.display()),
        Event::Values(process, values) => format!("in process {process} {}", list(values)),
        Event::Start(_, name) | Event::Active(_, name) => format!("a process of the type `{name}` begins"),
        Event::Run(process, _) => format!("process {process} starts another"),
        Event::Fail(process, 0, _) => format!("process {process} was killed"),
        Event::Fail(process, line, column) => {
            format!("process {process} stops at a violation at {}:{line}:{column}", arguments.model.model.display())
        }
    };
    let (verdict, why) = match departure {
        Departure::Process => ("departs", "the model has no such process there".to_owned()),
        Departure::Step(instead) if instead.is_empty() => ("departs", "the process cannot move there in the model".to_owned()),
        Departure::Step(instead) => ("departs", format!("the model can execute there: {}", instead.join("; "))),
        Departure::Values(values) => ("departs", format!("the values in the model are: {}", values.join("; "))),
        Departure::Failed(true) => ("fails", "the model has a violation there as well".to_owned()),
        Departure::Failed(false) => ("departs", "the model has no violation there".to_owned()),
        Departure::Unknown => ("unknown", "too many states of the model would have to be followed".to_owned()),
    };
    match arguments.output.json {
        true => say(&json::line(&ConformJson {
            verdict,
            steps,
            line: Some(line),
            event: Some(what),
            reason: Some(why),
            ..ConformJson::default()
        })),
        false => say(&format!("{verdict}: {}:{line}: {what}\n  {why}\n", arguments.trace.display())),
    }
    if verdict == "unknown" { Exit::Unknown } else { Exit::Violated }
}

/// A step in the text, in C and in the model: its positions and the values.
fn told(event: &Event, model: &str, code: &Code, conformance: &Conformance<'_>, narrator: &replay::Narrator) -> String {
    let mut text = match event {
        Event::Step(process, line, column) => {
            let places = code.at(*line, *column);
            let in_c = if places.is_empty() { String::new() } else { format!("  {}", places.join(", ")) };
            format!("{process}  {model}:{line}:{column}{in_c}\n")
        }
        Event::Values(process, values) => format!("{process}  {}\n", list(values)),
        Event::Start(process, name) | Event::Active(process, name) => format!("{process}  is {name}\n"),
        Event::Run(process, child) => format!("{process}  starts {child}\n"),
        Event::Fail(process, line, column) => format!("{process}  {model}:{line}:{column}  stops at a violation\n"),
    };
    if let (Event::Step(..), Some(state)) = (event, conformance.state()) {
        text.push_str(&values_text(narrator, state));
    }
    text
}

fn list(values: &[(String, i64)]) -> String {
    values.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}
