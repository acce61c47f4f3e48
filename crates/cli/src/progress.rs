//! Shows the progress of the search: on one line of the terminal, which is erased at the end, or as
//! JSON, one object per line. The reports are kept for a picture of the search over time.

use crate::lock;
use clap::ValueEnum;
use contract::{Fault, Observer, Progress, Violation};
use report::{Timeline, json, text};
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How progress is shown, on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProgressForm {
    /// On one line, if standard error is a terminal
    #[default]
    Auto,
    /// As JSON, one object per line
    Json,
    /// Not at all
    None,
}

/// A line of progress as JSON.
#[derive(JsonSchema, Serialize)]
pub struct ProgressJson {
    /// `progress`, or `notice` for something that the user should know.
    event: &'static str,
    /// The notice.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// States visited.
    states: u64,
    /// Transitions followed.
    transitions: u64,
    /// States still to be expanded.
    waiting: u64,
    /// Steps from the initial state.
    depth: u64,
    /// Memory in use.
    memory_bytes: u64,
    /// Time since the search began.
    seconds: f64,
    /// An estimate of the states that are still to come, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining: Option<u64>,
}

/// Shows progress on standard error.
pub struct Ticker {
    visible: bool,
    lines: bool,
    drawn: AtomicBool,
    last: Mutex<Progress>,
    timeline: Mutex<Timeline>,
    known: Mutex<Option<Known>>,
}

/// A violation that is known while a search goes on.
#[derive(Clone, Debug)]
pub struct Known {
    /// What is wrong.
    pub fault: Fault,
    /// The number of steps to it.
    pub steps: usize,
    /// The last state of its trace.
    pub state: Vec<u8>,
}

/// Goes to the first column and clears the line.
const WIPE: &str = "\r\x1b[2K";

impl Ticker {
    /// A ticker of this form. A line is shown only on a terminal, and not if the answer is JSON.
    pub fn new(json: bool, form: ProgressForm) -> Ticker {
        let visible = form == ProgressForm::Auto && !json && io::stderr().is_terminal();
        let lines = form == ProgressForm::Json;
        Ticker {
            visible,
            lines,
            drawn: AtomicBool::new(false),
            last: Mutex::default(),
            timeline: Mutex::default(),
            known: Mutex::default(),
        }
    }

    /// All reports from the beginning on.
    pub fn timeline(&self) -> Timeline {
        lock(&self.timeline).clone()
    }

    /// The first violation that is known, if there is one.
    pub fn known(&self) -> Option<Known> {
        lock(&self.known).clone()
    }

    fn write_json(&self, progress: &Progress, notice: Option<&str>) {
        let line = json::line(&ProgressJson {
            event: if notice.is_some() { "notice" } else { "progress" },
            text: notice.map(str::to_owned),
            states: progress.states,
            transitions: progress.transitions,
            waiting: progress.waiting,
            depth: progress.depth,
            memory_bytes: progress.bytes,
            seconds: progress.elapsed.as_secs_f64(),
            remaining: progress.remaining,
        });
        // If standard error is closed, the search continues.
        let _ = writeln!(io::stderr(), "{line}");
    }

    /// The last report.
    pub fn last(&self) -> Progress {
        *lock(&self.last)
    }

    fn draw(&self, line: &str) {
        // If the terminal is closed, the search continues.
        let _ = write!(io::stderr(), "{WIPE}{line}");
        let _ = io::stderr().flush();
        self.drawn.store(!line.is_empty(), Ordering::Relaxed);
    }

    /// Erases the line.
    pub fn finish(&self) {
        if self.drawn.load(Ordering::Relaxed) {
            self.draw("");
        }
    }
}

/// A line of progress. It contains an estimate of the rest only if there is one.
fn line(progress: &Progress) -> String {
    let rate = progress.states as f64 / progress.elapsed.as_secs_f64().max(1e-3);
    let mut line = format!(
        "{} states, {}/s, {} waiting, depth {}, {}, {}",
        text::count(progress.states),
        text::count(rate as u64),
        text::count(progress.waiting),
        text::count(progress.depth),
        text::bytes(progress.bytes),
        text::duration(progress.elapsed),
    );
    if let Some(more) = progress.remaining {
        let time = Duration::try_from_secs_f64(more as f64 / rate.max(1.0)).unwrap_or_default();
        line.push_str(&format!("; levels shrink, perhaps {} more ({})", text::count(more), text::duration(time)));
    }
    if let Some(fill) = progress.fill {
        line.push_str(&format!("; {:.1} % of the bits set", fill * 100.0));
    }
    line
}

impl Observer for Ticker {
    fn progress(&self, progress: &Progress) {
        *lock(&self.last) = *progress;
        lock(&self.timeline).push(progress);
        if self.lines {
            self.write_json(progress, None);
        }
        if self.visible {
            self.draw(&line(progress));
        }
    }

    fn notice(&self, notice: &str) {
        self.finish();
        if self.lines {
            return self.write_json(&self.last(), Some(notice));
        }
        let _ = writeln!(io::stderr(), "note: {notice}");
    }

    fn violated(&self, violation: &Violation) {
        let Violation { fault, trace } = violation;
        let known = Known { fault: fault.clone(), steps: trace.steps.len(), state: trace.last_state().to_vec() };
        lock(&self.known).get_or_insert(known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_shown_only_if_there_is_one() {
        let progress = Progress {
            states: 20_000,
            transitions: 50_000,
            waiting: 300,
            depth: 17,
            bytes: 3 << 20,
            elapsed: Duration::from_secs(2),
            ..Progress::default()
        };
        let plain = "20,000 states, 10,000/s, 300 waiting, depth 17, 3.0 MiB, 2.00 s";
        assert_eq!(line(&progress), plain);
        let shrinking = Progress { remaining: Some(5_000), ..progress };
        assert_eq!(line(&shrinking), format!("{plain}; levels shrink, perhaps 5,000 more (500.0 ms)"));
        let filling = Progress { fill: Some(0.0312), ..progress };
        assert_eq!(line(&filling), format!("{plain}; 3.1 % of the bits set"));
    }
}
