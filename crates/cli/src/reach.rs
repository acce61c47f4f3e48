//! `everypath check --reach`: can a statement be executed, and by which path?

use crate::commands::CheckArguments;
use crate::failure::Failure;
use crate::input::Model;
use crate::output::Output;
use crate::session::Session;
use crate::{Exit, complain, memory, paths, say};
use bytecode::{Addr, Op};
use check::{Order, Plan, Reach};
use contract::{Outcome, Statistics, Verdict};
use report::json::{self, CheckJson, StepJson};
use report::{Measured, Printer, text};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A line, or a file and a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, if it is given.
    file: Option<String>,
    /// The line, from 1.
    line: u32,
}

/// `FILE:LINE`, or `LINE` of any file.
pub fn place(text: &str) -> Result<Place, String> {
    let (file, line) = match text.rsplit_once(':') {
        Some((file, line)) => (Some(file.to_owned()), line),
        None => (None, text),
    };
    match line.parse() {
        Ok(line @ 1..) => Ok(Place { file, line }),
        _ => Err(format!("`{line}` is not a line; write FILE:LINE or LINE")),
    }
}

/// The answer as JSON.
#[derive(JsonSchema, Serialize)]
pub struct ReachJson {
    /// `reached`, `never` or `unknown`.
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    states: u64,
    transitions: u64,
    depth: u64,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Vec<StepJson>>,
}

/// Looks for a path to the statement.
pub fn run(arguments: &CheckArguments, place: &Place, mut session: Session) -> Result<Exit, Failure> {
    let inputs: Vec<PathBuf> = session.inputs(&arguments.saving).into_iter().map(PathBuf::from).collect();
    let mut others: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    let file = arguments.trace.as_deref().map(|path| Output::new(path, &others)).transpose()?;
    others.extend(arguments.trace.as_deref());
    let trail = arguments.trail.as_deref().map(|path| session.model.numbered().and_then(|_| Output::new(path, &others))).transpose()?;
    others.extend(arguments.trail.as_deref());
    let reports = arguments.reports.open(&others)?;
    // The shortest path is the easiest to read.
    if session.plan.order == Order::Auto {
        session.plan.order = Order::Breadth;
    }
    // The names of files are relative to the working folder.
    let wanted = place.file.as_deref().map(|file| paths::shown(Path::new(file)));
    if let Some(why) = no_statement(&session.model, wanted.as_deref(), place.line) {
        return Err(Failure::Call(why));
    }
    let (reach, statistics) = session.reach(wanted.as_deref(), place.line)?;
    let mut timeline = session.timeline();
    timeline.end(&statistics);
    let model = &session.model;
    let (verdict, reason, exit) = match &reach {
        Reach::By { .. } => ("reached", None, Exit::Fine),
        Reach::Never => ("never", None, Exit::Violated),
        Reach::Unknown(reason) => ("unknown", Some(reason), Exit::Unknown),
    };
    let told = match &reach {
        Reach::By { trace, steps } => Some(json::steps(steps, json::views(&model.narrator, trace))),
        _ => None,
    };
    let mut unwritten = None;
    if let (Some(file), Reach::By { trace, .. }) = (&file, &reach) {
        let folder = arguments.trace.as_deref().and_then(paths::way_here);
        unwritten = file.write(model.witness(trace.clone(), None, folder).to_text()).err();
    }
    if let (Some(file), Reach::By { trace, .. }) = (&trail, &reach) {
        let told = model.numbered()?.write(trace);
        let told = told.map_err(|error| Failure::Call(format!("the trail was not written: {error}")));
        unwritten = unwritten.or(told.and_then(|text| file.write(text)).err());
    }
    if arguments.reports.any() {
        let trace = if let Reach::By { trace, .. } = &reach { Some(trace) } else { None };
        let answer = as_answer(&session.plan, &reach, &statistics, told.clone(), place);
        let (none, folding) = (Verdict::Holds, !arguments.detail.verbose);
        unwritten = unwritten.or(reports.write(model, &none, trace, &answer, &timeline, folding).err());
    }
    if arguments.output.json {
        say(&json::line(&ReachJson {
            verdict,
            reason: reason.map(|reason| reason.name()),
            states: statistics.states,
            transitions: statistics.transitions,
            depth: statistics.depth,
            seconds: statistics.elapsed.as_secs_f64(),
            trace: told,
        }));
    } else {
        let told = match &reach {
            Reach::By { trace, steps } => {
                let path = Printer::new(&model.narrator, &trace.initial).looking(arguments.detail.look()).trace(steps, None);
                format!("reached: the last step of this path executes it\n\n{path}")
            }
            Reach::Never => format!("never reached: {NEVER}\n"),
            Reach::Unknown(reason) => format!("unknown: {reason}\n"),
        };
        let states = if statistics.states == 1 { "1 state".to_owned() } else { format!("{} states", text::count(statistics.states)) };
        say(&format!("{told}\n{states}, {}\n", text::duration(statistics.elapsed)));
    }
    if let Some(failure) = unwritten {
        // A report that cannot be written does not change the answer.
        complain(&failure);
    }
    Ok(exit)
}

/// Why there is no statement to look for, and where there are some: nothing if there is one.
fn no_statement(model: &Model, file: Option<&str>, line: u32) -> Option<String> {
    let program = model.subject.byte_code()?.program();
    let steps = (0..program.atoms_start().0).map(Addr).filter(|at| matches!(program.code[at.0 as usize], Op::Step { .. }));
    let places: BTreeSet<(&str, u32)> = steps
        .flat_map(|at| [program.span_at(at), program.origin_at(at)])
        .flatten()
        .filter_map(|span| Some((program.files.get(span.file.index())?.as_str(), span.line)))
        .collect();
    let files: BTreeSet<&str> = places.iter().map(|(file, _)| *file).collect();
    let lines: BTreeSet<u32> =
        places.iter().filter(|(name, _)| file.is_none_or(|file| Path::new(name).ends_with(file))).map(|(_, line)| *line).collect();
    if lines.contains(&line) || places.is_empty() {
        return None;
    }
    if let Some(file) = file.filter(|_| lines.is_empty()) {
        let known: Vec<&str> = files.into_iter().collect();
        return Some(format!("no statement of the model is in `{file}`; its statements are in {}", known.join(", ")));
    }
    let near: Vec<String> = lines.range(..line).next_back().into_iter().chain(lines.range(line..).next()).map(u32::to_string).collect();
    let near = if near.len() == 1 { format!("line {}", near[0]) } else { format!("lines {}", near.join(" and ")) };
    Some(format!("there is no statement on line {line}; the nearest are on {near}"))
}

const NEVER: &str = "no path executes a statement on this line";

/// The answer as the contents of a page.
fn as_answer(plan: &Plan, reach: &Reach, statistics: &Statistics, steps: Option<Vec<StepJson>>, place: &Place) -> CheckJson {
    let outcome = Outcome { verdict: Verdict::Holds, statistics: statistics.clone() };
    let measured = Measured { peak_memory_bytes: memory::peak() };
    let answer = CheckJson::new(&outcome, plan.order.name(), Vec::new(), None, measured);
    let file = place.file.as_ref().map(|file| format!(" of {file}")).unwrap_or_default();
    let (verdict, message) = match reach {
        Reach::By { .. } => ("reached", format!("the last step of this path executes a statement on line {}{file}", place.line)),
        Reach::Never => ("never reached", format!("no path executes a statement on line {}{file}", place.line)),
        Reach::Unknown(reason) => ("unknown", reason.to_string()),
    };
    CheckJson { verdict, message: Some(message), witness: steps, ..answer }
}
