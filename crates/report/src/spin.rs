//! The summary that SPIN's verifiers print, for scripts that read it.
//!
//! The lines are SPIN's, with the same words and columns. Numbers that we do not have are left out:
//! atomic steps, hash conflicts, the numbers of unreached states. Without reductions the numbers
//! agree with SPIN's, except for the size of a state, which is that of our initial state.

use crate::json::{CheckJson, StatementJson};
use std::fmt::Write as _;

/// The data for a summary that the answer does not contain.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verifier<'a> {
    /// Our version.
    pub version: &'a str,
    /// The size of a state, in bytes.
    pub state_bytes: usize,
    /// The trail that was written.
    pub trail: Option<&'a str>,
}

const MEGABYTE: f64 = 1_048_576.0;

/// The answer as SPIN's verifiers print it.
pub fn spin(answer: &CheckJson, verifier: Verifier<'_>) -> String {
    let mut out = violation(answer);
    // Writing to a `String` cannot fail.
    if let Some(trail) = verifier.trail.filter(|_| answer.violation.is_some()) {
        let _ = writeln!(out, "pan: wrote {trail}");
    }
    let _ = writeln!(out, "\n(Everypath Version {})", verifier.version);
    // SPIN prints this, too: it stops at the first error.
    if answer.verdict != "holds" {
        out.push_str("Warning: Search not completed\n");
    }
    if answer.reduction.por {
        out.push_str("\t+ Partial Order Reduction\n");
    }
    let named = |kinds: &[&str]| {
        let names = answer.properties.iter().filter(|property| kinds.contains(&property.kind)).map(|property| property.name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    let claims = named(&["ltl", "never"]);
    let sign = |kind: &str| if answer.properties.iter().any(|property| property.kind == kind) { '+' } else { '-' };
    let (never, cycles) =
        if claims.is_empty() { ("- (none specified)".to_owned(), "- (not selected)") } else { (format!("+ ({claims})"), "+") };
    let numbers = &answer.numbers;
    let _ = write!(
        out,
        "\nFull statespace search for:\n\tnever claim         \t{never}\n\tassertion violations\t{}\n\tacceptance   cycles \t{cycles}\n\tinvalid end states\t{}\n\n\
         State-vector {} byte, depth reached {}, errors: {}\n{:>9} states, stored\n{:>9} states, matched\n{:>9} transitions (= stored+matched)\n\n\
         Stats on memory usage (in Megabytes):\n{:>9.3}\tactual memory usage for states\n{:>9.3}\ttotal actual memory usage\n\n",
        sign("assertions"),
        sign("end states"),
        verifier.state_bytes,
        numbers.depth,
        u32::from(answer.verdict == "violated"),
        numbers.states,
        // SPIN counts the initial state as if a transition led to it.
        (numbers.transitions + 1).saturating_sub(numbers.states),
        numbers.transitions + 1,
        numbers.store_bytes as f64 / MEGABYTE,
        numbers.peak_memory_bytes as f64 / MEGABYTE,
    );
    out.push_str(&unreached(answer));
    let _ = writeln!(out, "\npan: elapsed time {:.3} seconds", numbers.seconds);
    if numbers.seconds > 0.0 {
        let _ = writeln!(out, "pan: rate {:>9.0} states/second", numbers.states as f64 / numbers.seconds);
    }
    out
}

/// The line that names the error.
fn violation(answer: &CheckJson) -> String {
    let Some(violation) = &answer.violation else { return String::new() };
    let steps = answer.trace.as_deref().unwrap_or_default();
    let last: Option<&StatementJson> = steps.last().map(|step| step.then.last().unwrap_or(&step.first));
    let asserted = last.and_then(|last| last.statement.strip_prefix("assert")).map(str::trim);
    let what = match (violation.kind.as_str(), asserted) {
        ("assertion violated", Some(condition)) => format!("assertion violated {condition}"),
        ("property", _) if answer.loop_start.is_some() => "acceptance cycle".to_owned(),
        ("property", _) => "end state in claim reached".to_owned(),
        (kind, _) => kind.to_owned(),
    };
    // SPIN counts the steps before the one that fails.
    let depth =
        answer.loop_start.unwrap_or(if violation.kind == "invalid end state" { steps.len() } else { steps.len().saturating_sub(1) });
    format!("pan:1: {what} (at depth {depth})\n")
}

/// The statements that no process reached.
fn unreached(answer: &CheckJson) -> String {
    let mut out = String::new();
    for process in answer.coverage.iter().flat_map(|coverage| &coverage.processes) {
        let kind = if process.name == "init" { "init".to_owned() } else { format!("proctype {}", process.name) };
        let _ = writeln!(out, "unreached in {kind}");
        let missing: Vec<_> = process.statements.iter().filter(|statement| !statement.reached).collect();
        for statement in &missing {
            let (file, line) = (statement.file.as_deref().unwrap_or_default(), statement.line.unwrap_or(0));
            let text = if statement.statement == "}" { "-end-" } else { &statement.statement };
            let _ = writeln!(out, "\t{file}:{line}, \"{text}\"");
        }
        let _ = writeln!(out, "\t({} of {} statements)", missing.len(), process.statements.len());
    }
    out
}
