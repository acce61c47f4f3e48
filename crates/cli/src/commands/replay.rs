//! `everypath replay`: a trace again, step by step with values, and as a chart.

use crate::args::ReplayArguments;
use crate::failure::Failure;
use crate::output::Output;
use crate::{Exit, input, say};
use replay::Narrator;
use report::json::{self, ProcessJson, StepJson, ViolationJson};
use report::{Chart, Printer, processes_text, values_text};
use serde::Serialize;
use std::sync::Arc;

/// The answer as JSON.
#[derive(Serialize)]
struct ReplayJson {
    model: String,
    violation: Option<ViolationJson>,
    trace: Vec<StepJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loop_start: Option<usize>,
    /// Where each process stands at the end.
    processes: Vec<ProcessJson>,
}

pub fn run(arguments: &ReplayArguments) -> Result<Exit, Failure> {
    let path = &arguments.trace;
    let mut witness = input::witness(path)?;
    let program = input::program_of(path, &mut witness)?;
    let narrator = Narrator::new(Arc::clone(&program));
    let wrong = |error| Failure::Replay { path: path.clone(), error };
    let steps = narrator.replay_from(&witness.trace).map_err(wrong)?;
    if let Some(claimed) = &witness.violation {
        let found = narrator.faults_at_end(&witness.trace, &steps);
        if found.iter().all(|fault| fault.kind.name() != claimed.kind) {
            return Err(Failure::Call(format!("{}: the trace does not end in the {} it claims", path.display(), claimed.kind)));
        }
    }
    if arguments.svg.is_some() || arguments.html.is_some() {
        let chart = Chart::new(&program, &witness, &steps);
        if let Some(svg) = &arguments.svg {
            Output::new(svg, &[path])?.write(chart.svg())?;
        }
        if let Some(html) = &arguments.html {
            let others: Vec<_> = [path].into_iter().chain(&arguments.svg).collect();
            Output::new(html, &others)?.write(chart.html())?;
        }
    }
    let text = if arguments.output.json {
        json::line(&ReplayJson {
            trace: json::steps(&steps, &json::views(&program, &witness.trace)),
            loop_start: witness.trace.loop_start,
            processes: json::processes(&program, witness.trace.last_state()),
            model: witness.model,
            violation: witness.violation,
        })
    } else {
        let mut text = format!("{}, initial state:\n{}\n", witness.model, values_text(&program, &witness.trace.initial));
        text.push_str(&Printer::new(&program, &witness.trace.initial).trace(&steps, witness.trace.loop_start));
        text.push_str(&format!("\nat the end:\n{}", processes_text(&program, witness.trace.last_state())));
        if let Some(violation) = &witness.violation {
            text.push_str(&format!("violated: {}\n", violation.message));
        }
        text
    };
    say(&text);
    Ok(Exit::Fine)
}
