//! `everypath check --reach`: can a statement be executed, and by which path?

use crate::commands::CheckArguments;
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::{Exit, paths, say};
use check::{Order, Reach};
use report::json::{self, StepJson};
use report::{Printer, text};
use schemars::JsonSchema;
use serde::Serialize;

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
    let file = arguments.trace.as_deref().map(|path| Output::new(path, &session.inputs(&arguments.saving))).transpose()?;
    // The shortest path is the easiest to read.
    if session.plan.order == Order::Auto {
        session.plan.order = Order::Breadth;
    }
    let (reach, statistics) = session.reach(place.file.as_deref(), place.line)?;
    let model = &session.model;
    let (verdict, reason, exit) = match &reach {
        Reach::By { .. } => ("reached", None, Exit::Fine),
        Reach::Never => ("never", None, Exit::Violated),
        Reach::Unknown(reason) => ("unknown", Some(reason), Exit::Unknown),
    };
    if let (Some(file), Reach::By { trace, .. }) = (&file, &reach) {
        let folder = arguments.trace.as_deref().and_then(paths::way_here);
        file.write(model.witness(trace.clone(), None, folder).to_text())?;
    }
    if arguments.output.json {
        let trace =
            if let Reach::By { trace, steps } = &reach { Some(json::steps(steps, &json::views(&model.narrator, trace))) } else { None };
        say(&json::line(&ReachJson {
            verdict,
            reason: reason.map(|reason| reason.name()),
            states: statistics.states,
            transitions: statistics.transitions,
            depth: statistics.depth,
            seconds: statistics.elapsed.as_secs_f64(),
            trace,
        }));
        return Ok(exit);
    }
    let told = match &reach {
        Reach::By { trace, steps } => {
            let path = Printer::new(&model.narrator, &trace.initial).looking(arguments.detail.look()).trace(steps, None);
            format!("reached: the last step of this path executes it\n\n{path}")
        }
        Reach::Never => "never reached: no path executes a statement on this line\n".to_owned(),
        Reach::Unknown(reason) => format!("unknown: {reason}\n"),
    };
    let states = if statistics.states == 1 { "1 state".to_owned() } else { format!("{} states", text::count(statistics.states)) };
    say(&format!("{told}\n{states}, {}\n", text::duration(statistics.elapsed)));
    Ok(exit)
}
