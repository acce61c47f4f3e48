//! Outcomes as text: the verdict first, then the trace, then the statistics.

use crate::fold::folded;
use crate::look::{Detail, Look};
use crate::steps::{Printer, processes_text};
use crate::text;
use crate::waiting::waiting_text;
use contract::{
    Disk, Fault, Judged, Omission, Outcome, Profile, PropertyKind, Stated, Statistics, StopReason, Sweep, Trace, Traffic, Verdict,
    Violation, ViolationKind,
};
use replay::{Essential, Narrator, Step, context_switches};
use source::printable;
use std::fmt::Write as _;

/// Measurements that only the outermost program can make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The peak memory of the process, if the system reports it.
    pub peak_memory_bytes: Option<u64>,
}

/// What is reported about an outcome besides its verdict and statistics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told<'a> {
    /// The steps of its trace.
    pub steps: &'a [Step],
    /// The steps on which its end depends, if they are to be shown.
    pub essential: Option<&'a Essential>,
    /// Why the steps are not described, in a sentence, if there was no time for it.
    pub untold: Option<&'a str>,
    /// The text about the reductions, in lines.
    pub reduction: &'a str,
    /// The properties, with the answer for each.
    pub properties: &'a [Judged],
    /// The properties that the model states and the user did not ask for.
    pub not_asked: &'a [Stated],
    /// A sentence on how the violation was found.
    pub remark: Option<&'a str>,
    /// Advice if the answer is unknown.
    pub advice: Option<&'a str>,
    /// Further text after the numbers, in lines.
    pub more: &'a str,
    /// A suggestion for the next command.
    pub next: Option<&'a str>,
    /// The appearance of the text.
    pub look: Look,
}

/// The answer of `check`: the verdict, the path to a violation, and a summary. Without a narrator
/// the path is not described.
pub fn check_text(narrator: Option<&Narrator>, outcome: &Outcome, told: &Told<'_>, measured: Measured) -> String {
    let Told { reduction, properties, remark, advice, look, .. } = *told;
    let mut out = match &outcome.verdict {
        Verdict::Holds => format!("{}: no violation in any reachable state\n", look.good("holds")),
        Verdict::Unknown(reason) => format!("{}: {reason}\n", look.doubtful("unknown")),
        Verdict::Violated(violation) => format!("{}: {}\n", look.bad("violated"), fault_text(&violation.fault)),
    };
    if look.detail == Detail::Quiet {
        return out;
    }
    if !told.not_asked.is_empty() {
        let names: Vec<String> = told.not_asked.iter().map(|property| format!("`{}`", property.name)).collect();
        let _ = writeln!(out, "not asked for and not checked: {}", names.join(", "));
    }
    if let Verdict::Violated(violation) = &outcome.verdict {
        out.push('\n');
        out.push_str(&violation_text(narrator, violation, told));
        out.push('\n');
    }
    if let (Verdict::Unknown(_), Some(advice)) = (&outcome.verdict, advice) {
        out.push_str(&advice_text(Some(advice)));
    }
    out.push_str(&properties_text(properties, &look));
    if let Some(remark) = remark {
        // Writing to a `String` cannot fail.
        let _ = writeln!(out, "{remark}\n");
    }
    out.push_str(&numbers(&outcome.statistics, measured));
    out.push_str(reduction);
    out.push_str(told.more);
    if let Some(next) = told.next {
        let _ = writeln!(out, "\n{} {next}", look.strong("next:"));
    }
    out
}

/// The path to a violation, and the locations of the processes at its end.
fn violation_text(narrator: Option<&Narrator>, violation: &Violation, told: &Told<'_>) -> String {
    let look = told.look;
    let trace = &violation.trace;
    let mut out = String::new();
    match (told.untold, narrator) {
        (Some(why), _) => out.push_str(&format!("{why}\n")),
        (None, Some(narrator)) => {
            let kept = told.essential.map(|essential| &essential.kept[..]);
            out.push_str(&Printer::new(narrator, &trace.initial).looking(look).keeping(kept).trace(told.steps, trace.loop_start));
            out.push_str(&length_text(told.steps, told.essential, trace.loop_start, &look));
        }
        (None, None) => {}
    }
    let Some(narrator) = narrator else { return out };
    let waiting = if violation.fault.kind == ViolationKind::Deadlock { waiting_text(narrator, trace, &look) } else { String::new() };
    if waiting.is_empty() {
        let _ = write!(out, "\n{}\n{}", look.strong("at the end:"), processes_text(narrator, trace.last_state(), &look));
    } else {
        let _ = write!(out, "\n{}\n{waiting}", look.strong("at the end nobody can move:"));
    }
    out
}

/// The length of a trace, the number of context switches, and the number of folded steps.
pub fn length_text(steps: &[Step], essential: Option<&Essential>, loop_start: Option<usize>, look: &Look) -> String {
    let plural = |count: usize, one: &str, many: &str| format!("{} {}", text::count(count as u64), if count == 1 { one } else { many });
    let mut out = match steps.len() {
        0 | 1 => String::new(),
        many => {
            let switches = plural(context_switches(steps), "context switch", "context switches");
            format!("\n{}\n", look.faint(&format!("{} steps, {switches}", text::count(many as u64))))
        }
    };
    if let Some(Essential { kept, complete, .. }) = essential {
        let folded = folded(kept, loop_start);
        let unsure = if *complete { "" } else { "; there was no time to try them all" };
        let _ = match folded {
            0 if kept.iter().all(|kept| *kept) => writeln!(out, "every step is needed{unsure}"),
            0 => Ok(()),
            _ => writeln!(out, "{} folded: the others alone lead to the same end{unsure}", plural(folded, "step is", "steps are")),
        };
    }
    out
}

/// A run that shows something, with a sentence about it.
pub fn shown_text(narrator: &Narrator, what: &str, trace: &Trace, steps: &[Step], look: Look) -> String {
    let shown = Printer::new(narrator, &trace.initial).looking(look).trace(steps, trace.loop_start);
    format!("\n{} {what}\n{shown}", look.strong("witness:"))
}

/// A path that shows that a formula holds.
pub fn witness_text(narrator: &Narrator, formula: &str, trace: &Trace, steps: &[Step], look: Look) -> String {
    let shown = Printer::new(narrator, &trace.initial).looking(look).trace(steps, trace.loop_start);
    format!("\n`{formula}` holds, as this path shows:\n{shown}")
}

/// The answer for each property.
fn properties_text(properties: &[Judged], look: &Look) -> String {
    let mut out = String::new();
    let name = |judged: &Judged| {
        let Judged { property, .. } = judged;
        // Not every language calls its automata never claims.
        let word = if property.kind == PropertyKind::Never { "automaton" } else { property.kind.name() };
        let kind = if property.name == property.kind.name() { String::new() } else { format!(" ({word})") };
        let place = property.position.as_ref().map(|at| format!(" {}:{}", at.file, at.line)).unwrap_or_default();
        printable(&format!("{}{kind}{place}", property.name))
    };
    let width = properties.iter().map(|judged| name(judged).chars().count()).max().unwrap_or(0);
    for judged in properties {
        let Judged { property, verdict, statistics, search, together, notes } = judged;
        let (word, why) = match verdict {
            Verdict::Holds => (look.good("holds   "), String::new()),
            Verdict::Violated(_) => (look.bad("violated"), String::new()),
            Verdict::Unknown(StopReason::Unchecked(_)) => (look.doubtful("unknown "), "not checked: no search decides it yet".to_owned()),
            Verdict::Unknown(StopReason::OtherViolation) => {
                (look.doubtful("unknown "), "the search ended with another violation".to_owned())
            }
            Verdict::Unknown(reason) => (look.doubtful("unknown "), reason.to_string()),
        };
        // The states of the exploration are reported below.
        let own = statistics.as_ref().filter(|_| !property.kind.is_safety());
        let states = own.map(|own| format!("{} states", text::count(own.states)));
        let others = (!together.is_empty()).then(|| format!("together with {}", together.join(", ")));
        let told: Vec<String> =
            states.into_iter().chain(search.map(str::to_owned)).chain(others).chain(Some(why).filter(|why| !why.is_empty())).collect();
        let line = format!("  {word} {:<width$}  {}", name(judged), told.join(", "));
        out.push_str(line.trim_end());
        out.push('\n');
        if let Some(formula) = &property.formula {
            let _ = writeln!(out, "    formula: {formula}");
        }
        for note in notes {
            let _ = writeln!(out, "    note: {}", printable(note));
        }
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// A fault in a line, with its position.
pub fn fault_text(fault: &Fault) -> String {
    let place = fault.position.as_ref().map(|at| format!(" ({at})")).unwrap_or_default();
    // `assertion: assertion violated` would be a repetition.
    let kind = if fault.message.starts_with(fault.kind.name()) { String::new() } else { format!("{}: ", fault.kind) };
    printable(&format!("{kind}{}{place}", fault.message))
}

/// The answer of `space`. `advice` says what to try if the state space is incomplete.
pub fn space_text(outcome: &Outcome, advice: Option<&str>, measured: Measured) -> String {
    let mut out = match &outcome.verdict {
        Verdict::Unknown(reason) => format!("incomplete: {reason}\n{}", advice_text(advice)),
        Verdict::Violated(violation) => format!("incomplete: {}\n", fault_text(&violation.fault)),
        Verdict::Holds => "complete\n".to_owned(),
    };
    out.push_str(&numbers(&outcome.statistics, measured));
    out
}

fn advice_text(advice: Option<&str>) -> String {
    advice.map(|advice| format!("what may help: {advice}\n")).unwrap_or_default()
}

fn numbers(statistics: &Statistics, measured: Measured) -> String {
    let peak = measured.peak_memory_bytes.unwrap_or(statistics.store_peak_bytes + statistics.search_bytes);
    let per_state = statistics.store_bytes as f64 / statistics.states.max(1) as f64;
    let rate = statistics.states as f64 / statistics.elapsed.as_secs_f64().max(1e-6);
    // A growing table needs its old and its new memory at the same time; this is reported if it
    // makes a difference.
    let growing = if statistics.store_peak_bytes > statistics.store_bytes + statistics.store_bytes / 10 {
        format!(", {} while growing", text::bytes(statistics.store_peak_bytes))
    } else {
        String::new()
    };
    let mut out = format!(
        "{}, {}, depth {}\n{}, {} states/s\n{} memory: {} for states ({per_state:.1} bytes each{growing}), {} for the queue and \
         traces\n",
        text::counted(statistics.states, "state"),
        text::counted(statistics.transitions, "transition"),
        text::count(statistics.depth),
        text::duration(statistics.elapsed),
        text::count(rate as u64),
        text::bytes(peak),
        text::bytes(statistics.store_bytes),
        text::bytes(statistics.search_bytes),
    );
    if let Some(by) = statistics.answered_by {
        let _ = writeln!(out, "answered by {by}");
    }
    if let Some(profile) = &statistics.profile {
        out.push_str(&profile_text(profile));
    }
    if let Some(guided) = &statistics.guided {
        let (expanded, generated, reopened) = (guided.expanded, guided.generated, guided.reopened);
        let [expanded, generated, reopened] = [expanded, generated, reopened].map(text::count);
        let _ = writeln!(out, "directed: {expanded} expanded, {generated} generated, {reopened} reopened");
    }
    if let Some(traffic) = &statistics.traffic {
        out.push_str(&traffic_text(traffic));
    }
    if let Some(omission) = &statistics.omission {
        out.push_str(&omission_text(omission));
    }
    if let Some(Disk { bytes, written, runs }) = statistics.disk {
        let each = bytes as f64 / statistics.states.max(1) as f64;
        let (bytes, written) = (text::bytes(bytes), text::bytes(written));
        out.push_str(&format!("disk: {bytes} in {} sorted pieces, {each:.1} bytes a state; {written} written in all\n", text::count(runs)));
    }
    if let Some(sweep) = &statistics.sweep {
        out.push_str(&sweep_text(sweep, statistics.states));
    }
    out
}

/// How the work of a search divides.
fn profile_text(profile: &Profile) -> String {
    let parts = profile.parts();
    let whole: f64 = parts.iter().map(|(_, part)| part.time.as_secs_f64()).sum();
    let told = parts.iter().filter(|(_, part)| part.count > 0).map(|(name, part)| {
        let share = part.time.as_secs_f64() * 100.0 / whole.max(1e-9);
        format!("{name} {} ({}, {share:.0} %)", text::count(part.count), text::duration(part.time))
    });
    format!("work: {}\n", told.collect::<Vec<_>>().join(", "))
}

/// The work and traffic of several workers that shared a search.
fn traffic_text(traffic: &Traffic) -> String {
    let cross = traffic.cross_share() * 100.0;
    let deviation = traffic.load_deviation() * 100.0;
    let passed_on = match traffic.passed_on {
        0 => String::new(),
        passed_on => format!(", {} passed on for lack of memory", text::count(passed_on)),
    };
    format!(
        "{} workers: {cross:.1} % of the steps lead to another worker, load deviates by {deviation:.1} %; {} states sent, {} spared{passed_on}, in \
         {} messages of {}\n",
        traffic.states_by_worker.len(),
        text::count(traffic.sent),
        text::count(traffic.spared),
        text::count(traffic.parcels),
        text::bytes(traffic.bytes),
    )
}

/// The numbers of a search that deletes states.
fn sweep_text(sweep: &Sweep, states: u64) -> String {
    let Sweep { peak_states, layers, sweeps, persistent_states, expanded_states, regress_steps } = *sweep;
    let share = peak_states as f64 * 100.0 / states.max(1) as f64;
    let (peak, layers) = (text::counted(peak_states, "state"), text::counted(layers, "layer"));
    let mut out = format!("sweep: at most {peak} stored at a time ({share:.1} %), {layers}");
    let _ = match regress_steps {
        0 => writeln!(out, ", no step back"),
        _ => writeln!(
            out,
            ", {}, {} back to {} kept for ever, {}; states met again after they were deleted count again",
            text::counted(sweeps, "sweep"),
            text::counted(regress_steps, "step"),
            text::counted(persistent_states, "state"),
            text::counted(expanded_states, "expansion"),
        ),
    };
    out
}

/// What a store that is not exact may have overlooked.
fn omission_text(omission: &Omission) -> String {
    let Some(bits) = &omission.bits else {
        return format!("hashes: the probability that any state was overlooked is at most {:.1e}\n", omission.probability);
    };
    let mut out = format!(
        "bits: {} a state, hash factor {:.1}, {:.2} % set; estimated coverage {:.4} %\n",
        bits.functions,
        bits.hash_factor,
        bits.fill * 100.0,
        bits.coverage * 100.0,
    );
    if let [first, .., last] = bits.runs[..] {
        let (least, most) = bits.runs.iter().fold((first.min(last), 0), |(least, most), &run| (least.min(run), most.max(run)));
        let _ = writeln!(
            out,
            "{} runs with different hash functions found {} to {} states each, about {} together",
            bits.runs.len(),
            text::count(least),
            text::count(most),
            text::count(bits.union),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::BitArray;

    fn outcome(omission: Option<Omission>) -> Outcome {
        let statistics = Statistics { states: 1000, store_bytes: 4096, store_peak_bytes: 8192, omission, ..Statistics::default() };
        Outcome { verdict: Verdict::Unknown(StopReason::LossyStore), statistics }
    }

    #[test]
    fn memory_is_told_by_its_parts_and_advice_is_given() {
        let text = space_text(&outcome(None), Some("more of it"), Measured { peak_memory_bytes: Some(1 << 20) });
        assert!(text.contains("\nwhat may help: more of it\n"), "{text}");
        assert!(text.contains("1.0 MiB memory: 4.0 KiB for states (4.1 bytes each, 8.0 KiB while growing)"), "{text}");
    }

    #[test]
    fn lossy_stores_tell_what_they_may_have_lost() {
        let hashes = Omission { probability: 1.25e-7, bits: None };
        assert!(space_text(&outcome(Some(hashes)), None, Measured::default()).contains("at most 1.2e-7"));
        let array = BitArray { functions: 3, hash_factor: 24.0, fill: 0.125, coverage: 0.9995, runs: vec![10, 7, 9], union: 11 };
        let text = space_text(&outcome(Some(Omission { probability: 0.5, bits: Some(array) })), None, Measured::default());
        assert!(text.contains("3 a state, hash factor 24.0, 12.50 % set; estimated coverage 99.9500 %"), "{text}");
        assert!(text.contains("3 runs with different hash functions found 7 to 10 states each, about 11 together"), "{text}");
    }
}
