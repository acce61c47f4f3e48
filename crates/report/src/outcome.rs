//! Outcomes as text: the verdict first, then the trace, then what it took.

use crate::steps::{Printer, processes_text};
use crate::text;
use bytecode::Verified;
use contract::{Fault, Outcome, Statistics, Verdict};
use replay::Step;
use std::fmt::Write as _;

/// What only the outside can measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The most memory the process has held, if the system tells.
    pub peak_memory_bytes: Option<u64>,
}

/// The answer to `check`.
pub fn check_text(program: &Verified, outcome: &Outcome, steps: &[Step], measured: Measured) -> String {
    let mut out = String::new();
    // Writing to a `String` cannot fail.
    let _ = match &outcome.verdict {
        Verdict::Holds => writeln!(out, "holds: no violation in any reachable state"),
        Verdict::Unknown(reason) => writeln!(out, "unknown: {reason}"),
        Verdict::Violated(violation) => {
            let _ = writeln!(out, "violated: {}\n", fault_text(&violation.fault));
            let trace = &violation.trace;
            out.push_str(&Printer::new(program, &trace.initial).trace(steps, trace.loop_start));
            let _ = writeln!(out, "\nat the end:");
            writeln!(out, "{}", processes_text(program, trace.last_state()))
        }
    };
    out.push_str(&numbers(&outcome.statistics, measured));
    out
}

/// A fault in a line: what, and where.
pub fn fault_text(fault: &Fault) -> String {
    let place = fault.position.as_ref().map(|at| format!(" ({}:{})", at.file, at.line)).unwrap_or_default();
    // `assertion: assertion violated` says it once too often.
    let kind = if fault.message.starts_with(fault.kind.name()) { String::new() } else { format!("{}: ", fault.kind) };
    format!("{kind}{}{place}", fault.message)
}

/// The answer to `space`.
pub fn space_text(outcome: &Outcome, measured: Measured) -> String {
    let mut out = match &outcome.verdict {
        Verdict::Unknown(reason) => format!("incomplete: {reason}\n"),
        Verdict::Violated(violation) => format!("incomplete: {}\n", fault_text(&violation.fault)),
        Verdict::Holds => "complete\n".to_owned(),
    };
    out.push_str(&numbers(&outcome.statistics, measured));
    out
}

fn numbers(statistics: &Statistics, measured: Measured) -> String {
    let peak = measured.peak_memory_bytes.unwrap_or(statistics.store_bytes + statistics.search_bytes);
    let per_state = statistics.store_bytes as f64 / statistics.states.max(1) as f64;
    let rate = statistics.states as f64 / statistics.elapsed.as_secs_f64().max(1e-6);
    format!(
        "{} states, {} transitions, depth {}\n{}, {} states/s, {} memory, {} for states ({per_state:.1} bytes each)\n",
        text::count(statistics.states),
        text::count(statistics.transitions),
        text::count(statistics.depth),
        text::duration(statistics.elapsed),
        text::count(rate as u64),
        text::bytes(peak),
        text::bytes(statistics.store_bytes),
    )
}
