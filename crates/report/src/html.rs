//! The report of a check as one self-contained page of HTML: no server, no network, no other file.
//!
//! Verdicts, numbers, steps and source are in the page itself, so that it can be searched, printed
//! and read without a script. The script moves along the path: a slider and keys show the values
//! after each step, and the position in the source and in the chart. All text from a model is
//! escaped, and the page's content security policy forbids external resources.

use crate::chart::markup::{LONG, escaped, shortened};
use crate::coverage::StatementCoverageJson;
use crate::json::{CheckJson, PropertyJson, StatementJson, StepJson};
use crate::text;
use crate::waiting::others_text;
use replay::Named;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

/// The beginning of a longer trace is left out of the page.
const STEPS_MAX: usize = 2_000;

/// The contents of a page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The model's name.
    pub model: &'a str,
    /// The command that was typed.
    pub command: &'a str,
    /// The answer.
    pub answer: &'a CheckJson,
    /// The steps of the path, unless the answer has a path to a violation: those of a witness.
    pub witness: Option<ShownPath<'a>>,
    /// The values in the initial state of the path.
    pub initial: &'a [Named],
    /// The files of the model, by the names that positions use.
    pub sources: &'a [(String, String)],
    /// The chart of the path, as SVG.
    pub chart: Option<&'a str>,
    /// Charts of the search over time, as SVG.
    pub over_time: Option<&'a str>,
}

/// A path that a page shows.
#[derive(Clone, Copy, Debug)]
pub struct ShownPath<'a> {
    /// Its heading: what it shows.
    pub what: &'a str,
    /// Its steps.
    pub steps: &'a [StepJson],
    /// For an infinite path, the number of steps before its loop.
    pub loop_start: Option<usize>,
}

impl<'a> Page<'a> {
    /// The path, if there is one.
    fn run(&self) -> Option<ShownPath<'a>> {
        let answer = self.answer;
        let violating = answer.trace.as_deref().map(|steps| ShownPath { what: "The path to it", steps, loop_start: answer.loop_start });
        violating.or(self.witness)
    }

    /// The page.
    pub fn html(&self) -> String {
        let title = format!("{}: {}", self.model, self.answer.verdict);
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta http-equiv=\"Content-Security-Policy\" \
             content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\"/>\n<meta name=\"viewport\" \
             content=\"width=device-width\"/>\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n",
            text_of(&title),
            include_str!("html/page.css")
        );
        self.head(&mut out);
        self.path(&mut out);
        self.waiting(&mut out);
        self.coverage(&mut out);
        if let Some(chart) = self.chart {
            let _ = write!(out, "<h2>Chart</h2>\n<div class=\"picture\">\n{chart}</div>\n");
        }
        self.steps(&mut out);
        if let Some(charts) = self.over_time {
            let _ = write!(out, "<h2>The search over time</h2>\n<div class=\"picture\">\n{charts}</div>\n");
        }
        self.data(&mut out);
        let _ = write!(out, "<script>\n{}</script>\n</body>\n</html>\n", include_str!("html/page.js"));
        out
    }

    /// The steps that are shown, and the number of those before them.
    fn steps_shown(&self) -> (&'a [StepJson], usize) {
        let steps = self.run().map_or(&[][..], |run| run.steps);
        let before = steps.len().saturating_sub(STEPS_MAX);
        (&steps[before..], before)
    }

    fn head(&self, out: &mut String) {
        let answer = self.answer;
        // Writing to a `String` cannot fail.
        let _ = writeln!(out, "<h1>{}</h1>\n<p class=\"key code\">{}</p>", text_of(self.model), text_of(self.command));
        let why = match (&answer.violation, &answer.message) {
            (Some(violation), _) => {
                let place = text::place(violation.file.as_deref(), violation.line, violation.column);
                let place = place.map(|place| format!(" ({place})"));
                format!(": {}{}", violation.message, place.unwrap_or_default())
            }
            (None, Some(message)) => format!(": {message}"),
            (None, None) => ": no violation in any reachable state".to_owned(),
        };
        let _ = writeln!(out, "<p class=\"verdict {0}\">{0}{1}</p>", answer.verdict, text_of(&why));
        if let Some(advice) = &answer.advice {
            let _ = writeln!(out, "<p>What may help: {}</p>", text_of(advice));
        }
        out.push_str("<h2>Properties</h2>\n<table>\n<tbody>\n");
        for PropertyJson { name, kind, formula, verdict, reason, file, line, .. } in &answer.properties {
            let place = file.as_ref().zip(*line).map(|(file, line)| format!("{file}:{line}")).unwrap_or_default();
            let _ = writeln!(
                out,
                "<tr><td class=\"word {verdict}\">{verdict}</td><td>{}</td><td>{}</td><td class=\"code\">{}</td><td>{}</td><td>{}</td></tr>",
                text_of(name),
                if name == kind { String::new() } else { text_of(kind) },
                formula.as_deref().map(text_of).unwrap_or_default(),
                text_of(&place),
                text_of(&text::reason_words(reason.unwrap_or_default())),
            );
        }
        out.push_str("</tbody>\n</table>\n<h2>Numbers</h2>\n<div class=\"numbers\">\n");
        let numbers = &answer.numbers;
        let rate = numbers.states as f64 / numbers.seconds.max(1e-6);
        for (value, name) in [
            (text::count(numbers.states), "states"),
            (text::count(numbers.transitions), "transitions"),
            (text::count(numbers.depth), "depth"),
            (text::duration(Duration::try_from_secs_f64(numbers.seconds).unwrap_or_default()), "time"),
            (text::count(rate as u64), "states a second"),
            (text::bytes(numbers.peak_memory_bytes), "memory"),
            (text::bytes(numbers.store_bytes), "memory for states"),
        ] {
            let _ = writeln!(out, "<div><b>{value}</b><span>{name}</span></div>");
        }
        out.push_str("</div>\n");
        if !answer.warnings.is_empty() {
            out.push_str("<h2>Warnings</h2>\n<ul>\n");
            answer.warnings.iter().for_each(|warning| out.push_str(&format!("<li>{}</li>\n", text_of(warning))));
            out.push_str("</ul>\n");
        }
    }

    /// The player, the source and the values.
    fn path(&self, out: &mut String) {
        let (shown, before) = self.steps_shown();
        let run = self.run();
        if let Some(ShownPath { what, .. }) = run {
            let steps = before + shown.len();
            let _ = writeln!(
                out,
                "<h2>{}</h2>\n<div class=\"player\"><div class=\"bar\"><button id=\"back\" title=\"one step back\">◀</button><input \
                 id=\"slider\" type=\"range\" min=\"{before}\" max=\"{steps}\" value=\"{steps}\" aria-label=\"step\"/><button id=\"forth\" title=\"one \
                 step on\">▶</button><span id=\"count\">{steps}</span></div><p id=\"now\" class=\"code\"></p></div>\n<p class=\"key keys\">Keys: ← → or \
                 k j one step, Page Up and Page Down ten, Home and End the first and the last.</p>",
                text_of(what),
            );
        } else if !self.sources.is_empty() {
            out.push_str("<h2>Source</h2>\n");
        }
        out.push_str(if run.is_some() { "<div class=\"two\">\n<div>\n" } else { "<div>\n<div>\n" });
        if self.answer.coverage.is_some() {
            out.push_str(
                "<p class=\"key\">Source: <i class=\"holds\">executed</i> <i class=\"part\">partly executed</i> <i class=\"unknown\">reached, never executed</i> <i \
                 class=\"violated\">never reached</i></p>\n",
            );
        }
        let marks = self.marks();
        for (number, (name, text)) in self.sources.iter().enumerate() {
            let _ = writeln!(out, "<p class=\"key\">{}</p>\n<pre class=\"source\">", text_of(name));
            for (index, line) in text.lines().enumerate() {
                let classes = marks.get(&(name.as_str(), index as u32 + 1)).map(|set| set.iter().copied().collect::<Vec<_>>().join(" "));
                let _ = write!(
                    out,
                    "<span class=\"l {}\" id=\"l{number}-{1}\"><span class=\"n\">{1}</span>{2}</span>",
                    classes.unwrap_or_default(),
                    index + 1,
                    escaped(&shortened(&line.replace('\t', "    "), LONG)),
                );
            }
            out.push_str("</pre>\n");
        }
        out.push_str("</div>\n");
        if run.is_some() {
            out.push_str("<div class=\"values\"><table><thead><tr><th>Name</th><th>Value</th></tr></thead><tbody id=\"values\"></tbody></table></div>\n");
        }
        out.push_str("</div>\n");
    }

    /// The marks in the source, by file and line.
    fn marks(&self) -> BTreeMap<(&str, u32), BTreeSet<&'static str>> {
        let mut marks: BTreeMap<(&str, u32), BTreeSet<&'static str>> = BTreeMap::new();
        for step in self.steps_shown().0 {
            for told in std::iter::once(&step.first).chain(&step.then) {
                if let (Some(file), Some(line)) = (&told.file, told.line) {
                    marks.entry((file, line)).or_default().insert("path");
                }
            }
        }
        let covered = self.answer.coverage.iter().flat_map(|coverage| &coverage.processes).flat_map(|process| &process.statements);
        let mut lines: BTreeMap<(&str, u32), Vec<&StatementCoverageJson>> = BTreeMap::new();
        for told in covered {
            if let (Some(file), Some(line)) = (&told.file, told.line) {
                lines.entry((file, line)).or_default().push(told);
            }
        }
        for (place, mut statements) in lines {
            // The end of a process says nothing about the statements before it on the line.
            if statements.iter().any(|told| told.statement != "}") {
                statements.retain(|told| told.statement != "}");
            }
            let executed = statements.iter().filter(|told| told.executed).count();
            let class = match executed {
                0 if statements.iter().any(|told| told.reached) => "blocked",
                0 => "never",
                all if all == statements.len() => "ran",
                _ => "part",
            };
            marks.entry(place).or_default().insert(class);
        }
        marks
    }

    fn waiting(&self, out: &mut String) {
        if self.answer.waiting.is_empty() {
            return;
        }
        out.push_str("<h2>At the end nobody can move</h2>\n<table>\n<thead><tr><th>Process</th><th>Where</th><th>Waits at</th><th>Why</th><th>Waits for</th></tr></thead>\n<tbody>\n");
        for process in &self.answer.waiting {
            for option in &process.options {
                let place = option.file.as_ref().zip(option.line).map(|(file, line)| format!("{file}:{line}")).unwrap_or_default();
                let on: Vec<String> = option.waits_for.iter().map(|&pid| self.process(pid)).collect();
                let _ = writeln!(
                    out,
                    "<tr><td>{}</td><td>{}</td><td class=\"code\">{}</td><td class=\"code\">{}</td><td>{}</td></tr>",
                    text_of(&self.process(process.pid)),
                    text_of(&place),
                    text_of(&option.statement),
                    text_of(option.message.as_deref().unwrap_or_default()),
                    text_of(&on.join(" or ")),
                );
            }
        }
        out.push_str("</tbody>\n</table>\n");
        if let [first, ..] = self.answer.waiting_cycle[..] {
            let names: Vec<String> = self.answer.waiting_cycle.iter().chain([&first]).map(|&pid| self.process(pid)).collect();
            let others: Vec<String> = self.answer.waiting_others.iter().map(|&pid| self.process(pid)).collect();
            let others = others_text(&others).map(|text| format!(". {text}")).unwrap_or_default();
            let _ = writeln!(out, "<p>A cycle of waiting: {}</p>", text_of(&format!("{}{others}", names.join(" → "))));
        }
    }

    fn process(&self, pid: usize) -> String {
        let found = self.answer.waiting.iter().find(|process| process.pid == pid);
        found.map_or_else(|| format!("process {pid}"), |process| format!("{}({pid})", process.process))
    }

    fn coverage(&self, out: &mut String) {
        let Some(coverage) = &self.answer.coverage else { return };
        let how = match (coverage.complete, coverage.reduced) {
            (true, false) => "",
            (true, true) => " Partial-order reduction was on; with <code>--no-por</code> this is exact.",
            (false, _) => " The search ended before all states were visited, so others may be executed too.",
        };
        let (executed, all) = (coverage.executed, coverage.statements);
        let _ = writeln!(out, "<h2>Coverage</h2>\n<p>{executed} of {all} statements were executed.{how}</p>");
        if coverage.executed < coverage.statements {
            out.push_str("<table>\n<thead><tr><th>Process</th><th>Where</th><th>Statement</th><th></th></tr></thead>\n<tbody>\n");
            for process in &coverage.processes {
                for told in process.statements.iter().filter(|told| !told.executed) {
                    let place = told.file.as_ref().zip(told.line).map(|(file, line)| format!("{file}:{line}")).unwrap_or_default();
                    let why = if told.reached { "reached, never executed" } else { "never reached" };
                    let _ = writeln!(
                        out,
                        "<tr><td>{}</td><td>{}</td><td class=\"code\">{}</td><td>{why}</td></tr>",
                        text_of(&process.name),
                        text_of(&place),
                        text_of(&told.statement),
                    );
                }
            }
            out.push_str("</tbody>\n</table>\n");
        }
        coverage.vacuous.iter().for_each(|sentence| out.push_str(&format!("<p>Warning: {}</p>\n", text_of(sentence))));
    }

    /// All steps, as a table.
    fn steps(&self, out: &mut String) {
        let Some(ShownPath { loop_start, .. }) = self.run() else { return };
        let (shown, before) = self.steps_shown();
        out.push_str("<h2>Steps</h2>\n");
        if before > 0 {
            let _ = writeln!(out, "<p>The first {} steps are left out.</p>", text::count(before as u64));
        }
        out.push_str("<div class=\"steps\"><table>\n<thead><tr><th>Step</th><th>Process</th><th>Where</th><th>Statements</th><th>Changes</th></tr></thead>\n<tbody>\n");
        for (index, step) in shown.iter().enumerate() {
            // A loop that begins earlier is marked at the first step that is shown.
            if loop_start.is_some_and(|start| start.max(before) == before + index) {
                out.push_str("<tr><td colspan=\"5\">from here on, again and again</td></tr>\n");
            }
            let number = before + index + 1;
            let folded = self.answer.causal.as_ref().is_some_and(|causal| !causal.kept.contains(&number));
            let changes: Vec<String> = step.changes.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            let StatementJson { file, line, column, .. } = &step.first;
            let place = text::place(file.as_deref(), *line, *column).unwrap_or_default();
            let parts = parts(step);
            let who: Vec<&str> = parts.iter().map(|(who, _)| who.as_str()).collect();
            // A step of several processes has a line for each of them.
            let statements: Vec<&str> = parts.iter().map(|(_, statements)| statements.as_str()).collect();
            let _ = writeln!(
                out,
                "<tr data-step=\"{0}\"{5}><td>{0}</td><td class=\"lines\">{1}</td><td>{2}</td><td class=\"code lines\">{3}</td><td class=\"code\">{4}</td></tr>",
                number,
                text_of(&who.join("\n")),
                text_of(&place),
                text_of(&statements.join("\n")),
                text_of(&changes.join(", ")),
                if folded { " class=\"folded\"" } else { "" },
            );
        }
        out.push_str("</tbody>\n</table></div>\n");
        if let Some(causal) = &self.answer.causal {
            let _ = writeln!(out, "<p class=\"key\">The violation does not depend on the {} steps that are faint.</p>", causal.folded);
        }
    }

    /// The data for the script.
    fn data(&self, out: &mut String) {
        let (steps, left_out) = self.steps_shown();
        let line = |told: &StatementJson| {
            let file = self.sources.iter().position(|(name, _)| told.file.as_ref() == Some(name));
            file.zip(told.line).map(|(file, line)| format!("#l{file}-{line}"))
        };
        // The first statement of each process is where the reader looks.
        let lines = |step: &StepJson| {
            let mut known = BTreeSet::new();
            let all = std::iter::once(&step.first).chain(&step.then);
            all.filter(|told| known.insert(told.pid)).filter_map(line).collect::<Vec<_>>().join(", ")
        };
        let told = |(index, step): (usize, &StepJson)| {
            let parts: Vec<String> = parts(step).into_iter().map(|(who, statements)| format!("{who}: {statements}")).collect();
            let printed = if step.printed.is_empty() { String::new() } else { format!("  prints: {}", step.printed.trim_end()) };
            let because = step.because.as_ref().map(|because| format!("  ({because})")).unwrap_or_default();
            format!("{}. {}{printed}{because}", left_out + index + 1, parts.join(" | "))
        };
        let before: BTreeMap<&str, &str> = self.initial.iter().map(|named| (named.name.as_str(), named.value.as_str())).collect();
        let mut initial: BTreeMap<String, String> = before.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        for step in self.run().iter().flat_map(|run| &run.steps[..left_out]) {
            initial.extend(step.changes.clone());
        }
        let data = json!({
            "before": left_out,
            "initial": initial,
            "changes": steps.iter().map(|step| &step.changes).collect::<Vec<_>>(),
            "lines": steps.iter().map(lines).collect::<Vec<_>>(),
            "told": steps.iter().enumerate().map(told).collect::<Vec<_>>(),
        });
        // No text in the data can end the element that contains it.
        let _ = writeln!(out, "<script type=\"application/json\" id=\"data\">{}</script>", data.to_string().replace('<', "\\u003c"));
    }
}

/// The processes that take part in a step, in their order, each with its statements.
fn parts(step: &StepJson) -> Vec<(String, String)> {
    let mut parts: Vec<(usize, String, Vec<&str>)> = Vec::new();
    for told in std::iter::once(&step.first).chain(&step.then) {
        match parts.iter_mut().find(|(pid, ..)| *pid == told.pid) {
            Some((.., statements)) => statements.push(&told.statement),
            None => parts.push((told.pid, format!("{}({})", told.process, told.pid), vec![&told.statement])),
        }
    }
    parts.into_iter().map(|(_, who, statements)| (who, statements.join("; "))).collect()
}

fn text_of(text: &str) -> String {
    escaped(&shortened(text, LONG))
}
