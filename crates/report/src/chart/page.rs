//! The page: the picture, and the same contents as tables, for readers who search, copy, or cannot
//! see.
//!
//! The page is also well-formed XML, so that the same check works for both forms.

use super::markup::{LONG, escaped, shortened};
use super::{Chart, Moment, Row, StepRow, svg};
use replay::Named;
use std::fmt::Write as _;

/// If a step changes more values than this, they are counted instead of listed.
const VALUES_MAX: usize = 200;

const STYLE: &str = "
body{font-family:system-ui,sans-serif;color:#1f2933;background:#fff;margin:2rem auto;padding:0 1rem;max-width:90rem}
h1{font-size:1.4rem;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin-top:2rem}
.violation{color:#ab091e;background:#ffeeee;border:1px solid #cf1124;border-radius:4px;padding:.6rem .8rem;font-weight:bold}
.picture{overflow-x:auto;border:1px solid #e4e7eb;border-radius:4px}
table{border-collapse:collapse;width:100%;font-size:.85rem}
th{text-align:left;position:sticky;top:0;background:#f5f7fa}
th,td{border-bottom:1px solid #e4e7eb;padding:.3rem .6rem;vertical-align:top}
td{font-family:ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
tr.bad td{background:#ffeeee}
td.gap{text-align:center;color:#7b8794}
";

/// A self-contained page. Its content security policy forbids everything else.
pub fn document(chart: &Chart) -> String {
    let mut out = String::new();
    let title = escaped(&shortened(&chart.title(), LONG));
    // Writing to a `String` cannot fail.
    let _ = writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width\"/>\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>"
    );
    if let Some(verdict) = chart.verdict() {
        let _ = writeln!(out, "<p class=\"violation\">{}</p>", escaped(&shortened(&verdict, LONG)));
    }
    let _ = writeln!(out, "<div class=\"picture\">\n{}</div>", svg::document(chart));
    steps(chart, &mut out);
    named("At the beginning", &chart.initial, &mut out);
    ends(chart, &mut out);
    out.push_str("</body>\n</html>\n");
    out
}

fn cell(text: &str) -> String {
    format!("<td>{}</td>", escaped(&shortened(text, LONG)))
}

fn steps(chart: &Chart, out: &mut String) {
    out.push_str("<h2>Steps</h2>\n<table>\n<thead><tr><th>Step</th><th>Process</th><th>Where</th><th>Statement</th><th>Values</th></tr></thead>\n<tbody>\n");
    for row in &chart.rows {
        match row {
            Row::Step(step) => self::step(step, out),
            Row::Loop => out.push_str("<tr><td class=\"gap\" colspan=\"5\">from here on, again and again</td></tr>\n"),
            Row::Gap { text, .. } => {
                let _ = writeln!(out, "<tr><td class=\"gap\" colspan=\"5\">{}</td></tr>", escaped(text));
            }
        }
    }
    if chart.rows.is_empty() {
        out.push_str("<tr><td class=\"gap\" colspan=\"5\">in the initial state, before any step</td></tr>\n");
    }
    out.push_str("</tbody>\n</table>\n");
}

/// A step; one row for each statement in it.
fn step(step: &StepRow, out: &mut String) {
    let class = if step.fault.is_some() { " class=\"bad\"" } else { "" };
    let statements = step.moments.iter().flat_map(|moment: &Moment| &moment.statements);
    for (index, statement) in statements.enumerate() {
        let (number, values) = if index == 0 { (step.number.to_string(), values(step)) } else { Default::default() };
        let place = statement.position.as_ref().map(ToString::to_string).unwrap_or_default();
        let who = format!("{}({})", statement.process, statement.pid);
        let _ = writeln!(out, "<tr{class}><td>{number}</td>{}{}{}{}</tr>", cell(&who), cell(&place), cell(&statement.text), cell(&values));
    }
}

/// The effects of a step: changes, prints and faults, one line each.
fn values(step: &StepRow) -> String {
    let mut lines: Vec<String> = step.changes.iter().take(VALUES_MAX).map(|Named { name, value }| format!("{name} = {value}")).collect();
    if step.changes.len() > VALUES_MAX {
        lines.push(format!("… and {} more", step.changes.len() - VALUES_MAX));
    }
    lines.extend(step.printed.lines().map(|line| format!("prints: {line}")));
    lines.extend(step.fault.clone());
    lines.join("\n")
}

fn named(title: &str, values: &[Named], out: &mut String) {
    if values.is_empty() {
        return;
    }
    let _ = writeln!(out, "<h2>{title}</h2>\n<table>\n<thead><tr><th>Name</th><th>Value</th></tr></thead>\n<tbody>");
    for Named { name, value } in values {
        let _ = writeln!(out, "<tr>{}{}</tr>", cell(name), cell(value));
    }
    out.push_str("</tbody>\n</table>\n");
}

/// The locations of the processes at the end, and their variables.
fn ends(chart: &Chart, out: &mut String) {
    out.push_str("<h2>At the end</h2>\n");
    if chart.ends.is_empty() {
        out.push_str("<p>No process is left.</p>\n");
        return;
    }
    out.push_str("<table>\n<thead><tr><th>Process</th><th>Where</th><th>Next statement</th><th>Variables</th></tr></thead>\n<tbody>\n");
    for process in &chart.ends {
        let class = if chart.stuck(process) { " class=\"bad\"" } else { "" };
        let place = process.position.as_ref().map(ToString::to_string).unwrap_or_default();
        let end = if process.may_end { " (may end here)" } else { "" };
        let who = format!("{}({})", process.name, process.pid);
        let locals: Vec<String> = process.locals.iter().take(VALUES_MAX).map(|Named { name, value }| format!("{name} = {value}")).collect();
        let next = format!("{}{end}", process.statement);
        let _ = writeln!(out, "<tr{class}>{}{}{}{}</tr>", cell(&who), cell(&place), cell(&next), cell(&locals.join("\n")));
    }
    out.push_str("</tbody>\n</table>\n");
}
