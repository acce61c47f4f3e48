//! Answers in the formats of other tools: JUnit XML and SARIF for CI systems, ITF for other model
//! checkers.

use crate::chart::markup::escaped;
use crate::json::{CheckJson, PropertyJson, StatementJson, StepJson};
use crate::text::{count, reason_words};
use contract::Trace;
use replay::{Datum, Narrator};
use serde_json::{Map, Value, json};
use source::{Diagnostic, SourceMap, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;

/// The answer as a JUnit test suite: a test case for each property. A violated property is a
/// failure; one whose verdict is not known is an error.
pub fn junit(model: &str, answer: &CheckJson) -> String {
    let count = |verdict: &str| answer.properties.iter().filter(|property| property.verdict == verdict).count();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" \
         time=\"{:.3}\">\n",
        escaped(model),
        answer.properties.len(),
        count("violated"),
        count("unknown"),
        answer.numbers.seconds,
    );
    for property in &answer.properties {
        let PropertyJson { name, kind, verdict, reason, violation, trace, seconds, .. } = property;
        // Writing to a `String` cannot fail.
        let _ = write!(
            out,
            "<testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
            escaped(model),
            escaped(&if name == kind { name.clone() } else { format!("{name} ({kind})") }),
            seconds.unwrap_or(0.0)
        );
        match (*verdict, violation) {
            ("violated", Some(violation)) => {
                let steps = step_lines(trace.as_deref().unwrap_or_default());
                let message = escaped(&violation.message);
                let _ = writeln!(
                    out,
                    ">\n<failure message=\"{message}\" type=\"{}\">{}</failure>\n</testcase>",
                    escaped(&violation.kind),
                    escaped(&steps)
                );
            }
            ("holds", _) => out.push_str("/>\n"),
            _ => {
                let reason = escaped(&reason_words(reason.unwrap_or_default()));
                let _ = writeln!(out, ">\n<error message=\"{reason}\" type=\"unknown\"/>\n</testcase>");
            }
        }
    }
    out.push_str("</testsuite>\n</testsuites>\n");
    out
}

/// What is wrong with a model, as a JUnit test suite: one test case, that the model can be read.
pub fn junit_rejected(model: &str, map: &SourceMap, diagnostics: &[Diagnostic]) -> String {
    let first = diagnostics.iter().find(|diagnostic| diagnostic.is_error());
    let message = first.map_or_else(String::new, |first| format!("{}: {}", map.describe(map.shown(first.span)), first.message));
    let (model, message) = (escaped(model), escaped(&message));
    let all = escaped(&source::render_all(map, diagnostics));
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{model}\" tests=\"1\" failures=\"0\" errors=\"1\" time=\"0.000\">\n\
         <testcase classname=\"{model}\" name=\"the model can be read\" time=\"0.000\">\n<error message=\"{message}\" type=\"model\">{all}</error>\n\
         </testcase>\n</testsuite>\n</testsuites>\n"
    )
}

/// What is wrong with a model, as a SARIF log: a result for each message.
pub fn sarif_rejected(map: &SourceMap, diagnostics: &[Diagnostic], version: &str) -> String {
    sarif_log(diagnostics.iter().map(|diagnostic| sarif_message(map, diagnostic)).collect(), None, version)
}

/// A message about a model as a result of SARIF, with the change that mends it, if one is known.
fn sarif_message(map: &SourceMap, diagnostic: &Diagnostic) -> Value {
    let region = |span: Span| {
        let (from, to) = (map.location(span), map.location(Span::new(span.file, span.end as usize, span.end as usize)));
        json!({ "startLine": from.line, "startColumn": from.column, "endLine": to.line, "endColumn": to.column })
    };
    let artifact = |span: Span| json!({ "uri": uri(map.name(span.file)) });
    let span = map.shown(diagnostic.span);
    let rule = diagnostic.name.unwrap_or(if diagnostic.is_error() { "model-error" } else { "warning" });
    let hint = diagnostic.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    let mut result = json!({
        "ruleId": rule,
        "level": diagnostic.severity.to_string(),
        "message": { "text": format!("{}{hint}", diagnostic.message) },
        "locations": [{ "physicalLocation": { "artifactLocation": artifact(span), "region": region(span) } }],
    });
    if let Some(fix) = &diagnostic.fix {
        let place = map.shown(fix.span);
        let replacement = json!({ "deletedRegion": region(place), "insertedContent": { "text": fix.text } });
        let what = diagnostic.hint.as_deref().unwrap_or(&diagnostic.message);
        result["fixes"] = json!([{
            "description": { "text": what },
            "artifactChanges": [{ "artifactLocation": artifact(place), "replacements": [replacement] }],
        }]);
    }
    result
}

/// The most steps of a path that other tools are given; they do not show longer ones.
const STEPS_MAX: usize = 1_000;

/// The steps in the middle of a long path, which are left out.
fn left_out(steps: usize) -> Option<Range<usize>> {
    (steps > STEPS_MAX).then(|| STEPS_MAX / 2..steps - STEPS_MAX / 2)
}

fn left_out_text(hidden: &Range<usize>) -> String {
    format!("… {} steps are left out …", count(hidden.len() as u64))
}

fn step_lines(steps: &[StepJson]) -> String {
    let hidden = left_out(steps.len());
    let line = |(index, step): (usize, &StepJson)| match &hidden {
        Some(hidden) if index == hidden.start => left_out_text(hidden) + "\n",
        Some(hidden) if hidden.contains(&index) => String::new(),
        _ => step_line(index, step),
    };
    steps.iter().enumerate().map(line).collect()
}

fn step_line(index: usize, step: &StepJson) -> String {
    let StatementJson { process, pid, file, line, statement, .. } = &step.first;
    let place = file.as_ref().zip(*line).map(|(file, line)| format!("{file}:{line}  ")).unwrap_or_default();
    format!("{}  {process}({pid})  {place}{statement}\n", index + 1)
}

/// The answer as a SARIF log: a result for each violated property, with its path as a code flow;
/// for each property whose verdict is not known, because nobody should read that as a success; and
/// for each warning. `warnings` are those whose positions are known.
pub fn sarif(answer: &CheckJson, (map, warnings): (&SourceMap, &[Diagnostic]), version: &str) -> String {
    let location = |file: &Option<String>, line: Option<u32>, column: Option<u32>| {
        let file = file.as_ref()?;
        let mut region = json!({ "startLine": line.unwrap_or(1).max(1) });
        if let Some(column) = column {
            region["startColumn"] = json!(column);
        }
        Some(json!({ "physicalLocation": { "artifactLocation": { "uri": uri(file) }, "region": region } }))
    };
    let flow = |steps: &[StepJson]| {
        let step = |step: &StepJson| {
            let mut place = location(&step.first.file, step.first.line, step.first.column).unwrap_or_else(|| json!({}));
            let text = format!("{}({}): {}", step.first.process, step.first.pid, step.first.statement);
            place["message"] = json!({ "text": text });
            json!({ "location": place })
        };
        let hidden = left_out(steps.len());
        let told = |index: usize| match &hidden {
            Some(hidden) if index == hidden.start => json!({ "location": { "message": { "text": left_out_text(hidden) } } }),
            _ => step(&steps[index]),
        };
        let is_told = |index: &usize| hidden.as_ref().is_none_or(|hidden| *index == hidden.start || !hidden.contains(index));
        json!([{ "threadFlows": [{ "locations": (0..steps.len()).filter(is_told).map(told).collect::<Vec<_>>() }] }])
    };
    let mut results = Vec::new();
    for property in answer.properties.iter().filter(|property| property.verdict == "violated") {
        let Some(violation) = &property.violation else { continue };
        let mut result = json!({ "ruleId": violation.kind, "level": "error", "message": { "text": violation.message } });
        if let Some(place) = location(&violation.file, violation.line, violation.column) {
            result["locations"] = json!([place]);
        }
        if let Some(steps) = property.trace.as_deref().filter(|steps| !steps.is_empty()) {
            result["codeFlows"] = flow(steps);
        }
        results.push(result);
    }
    let unknown = |what: String| json!({ "ruleId": "unknown", "level": "error", "message": { "text": what } });
    // After a violation, what else the search would have found is no error of its own.
    let open = |property: &&PropertyJson| property.verdict == "unknown" && property.reason != Some("other-violation");
    for property in answer.properties.iter().filter(open) {
        let why = reason_words(property.reason.unwrap_or_default());
        let mut result = unknown(format!("it is not known whether `{}` holds: {why}", property.name));
        if let Some(place) = location(&property.file, property.line, None) {
            result["locations"] = json!([place]);
        }
        results.push(result);
    }
    let reason = answer.message.as_deref().filter(|_| answer.verdict == "unknown");
    if let Some(reason) = reason.filter(|_| results.is_empty()) {
        results.push(unknown(format!("the verdict is not known: {reason}")));
    }
    if warnings.is_empty() {
        let plain = answer.warnings.iter();
        results.extend(plain.map(|text| json!({ "ruleId": "warning", "level": "warning", "message": { "text": text } })));
    }
    results.extend(warnings.iter().map(|warning| sarif_message(map, warning)));
    let vacuous = answer.coverage.iter().flat_map(|coverage| &coverage.vacuous);
    results.extend(vacuous.map(|text| json!({ "ruleId": "vacuous", "level": "warning", "message": { "text": text } })));
    sarif_log(results, reason, version)
}

/// The name of a file as a URI: relative names stay relative.
fn uri(name: &str) -> String {
    let mut out = String::from(if name.starts_with('/') { "file://" } else { "" });
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            // Writing to a `String` cannot fail.
            other => _ = write!(out, "%{other:02X}"),
        }
    }
    out
}

/// A SARIF log with these results. A run that did not come to a verdict is not successful.
fn sarif_log(results: Vec<Value>, unfinished: Option<&str>, version: &str) -> String {
    let rules: BTreeSet<String> = results.iter().filter_map(|result| result["ruleId"].as_str().map(str::to_owned)).collect();
    let rules: Vec<Value> = rules.into_iter().map(|id| json!({ "id": id })).collect();
    let driver = json!({ "name": "everypath", "version": version, "rules": rules });
    let mut invocation = json!({ "executionSuccessful": unfinished.is_none() });
    if let Some(why) = unfinished {
        invocation["toolExecutionNotifications"] = json!([{ "level": "error", "message": { "text": why } }]);
    }
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": driver },
            "columnKind": "unicodeCodePoints",
            "invocations": [invocation],
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

/// A trace in the Informal Trace Format, which Apalache and other tools read: the values of all
/// variables in each state, complete. Arrays and queues are sequences, and messages with several
/// fields are tuples. The values of a variable have one type in all states. A variable of a process
/// that does not exist in a state has 0, false, an empty sequence or an empty text there, and the
/// information about the state lists it as absent.
pub fn itf(narrator: &Narrator, model: &str, trace: &Trace) -> String {
    let states: Vec<Vec<(String, Datum)>> = (0..=trace.steps.len())
        .filter_map(|index| trace.state_after(index))
        .map(|state| narrator.values(state).unwrap_or_default())
        .collect();
    let mut names: Vec<&str> = Vec::new();
    // For each variable the value that stands for none, or nothing if its values have several
    // types, as those of variables of one name in different blocks may.
    let mut kinds: BTreeMap<&str, Option<Value>> = BTreeMap::new();
    for (name, datum) in states.iter().flatten() {
        let none = nothing(datum);
        match kinds.get_mut(name.as_str()) {
            Some(known) if known.as_ref() != Some(&none) => *known = None,
            Some(_) => {}
            None => {
                names.push(name);
                kinds.insert(name, Some(none));
            }
        }
    }
    let state = |(index, values): (usize, &Vec<(String, Datum)>)| {
        let known: BTreeMap<&str, &Datum> = values.iter().map(|(name, datum)| (name.as_str(), datum)).collect();
        let mut object = Map::new();
        for (name, none) in &kinds {
            let value = match (known.get(name), none) {
                (Some(datum), Some(_)) => value(datum),
                (Some(datum), None) => json!(datum.to_string()),
                (None, none) => none.clone().unwrap_or_else(|| json!("")),
            };
            object.insert((*name).to_owned(), value);
        }
        let absent: Vec<&&str> = names.iter().filter(|name| !known.contains_key(**name)).collect();
        let meta = if absent.is_empty() { json!({ "index": index }) } else { json!({ "index": index, "absent": absent }) };
        object.insert("#meta".to_owned(), meta);
        Value::Object(object)
    };
    let mut log = json!({
        "#meta": { "format": "ITF", "source": model },
        "vars": names,
        "states": states.iter().enumerate().map(state).collect::<Vec<_>>(),
    });
    if let Some(start) = trace.loop_start {
        log["loop"] = json!(start);
    }
    format!("{log:#}\n")
}

/// A value in ITF.
fn value(datum: &Datum) -> Value {
    match datum {
        Datum::Number(number) => json!(number),
        Datum::Truth(truth) => json!(truth),
        Datum::Text(text) => json!(text),
        Datum::List(all) => all.iter().map(value).collect(),
        Datum::Fields(all) => json!({ "#tup": all.iter().map(value).collect::<Vec<_>>() }),
    }
}

/// The value that stands for none, of the same type as this one.
fn nothing(datum: &Datum) -> Value {
    match datum {
        Datum::Number(_) => json!(0),
        Datum::Truth(_) => json!(false),
        Datum::Text(_) => json!(""),
        Datum::List(_) => json!([]),
        Datum::Fields(all) => json!({ "#tup": all.iter().map(nothing).collect::<Vec<_>>() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_uris() {
        assert_eq!(uri("a/b-1.pml"), "a/b-1.pml");
        assert_eq!(uri("my model#1.pml"), "my%20model%231.pml");
        assert_eq!(uri("100%.pml"), "100%25.pml");
        assert_eq!(uri("c:d.pml"), "c%3Ad.pml");
        assert_eq!(uri("ä.pml"), "%C3%A4.pml");
        assert_eq!(uri("/tmp/m.pml"), "file:///tmp/m.pml");
    }

    #[test]
    fn values_keep_their_structure() {
        let word = |text: &str| Datum::Text(text.to_owned());
        let message = Datum::Fields(vec![word("req"), Datum::Number(3), Datum::Truth(true)]);
        let queue = Datum::List(vec![message.clone(), message]);
        assert_eq!(value(&queue), json!([{ "#tup": ["req", 3, true] }, { "#tup": ["req", 3, true] }]));
        assert_eq!(queue.to_string(), "[(req,3,true), (req,3,true)]");
        assert_eq!(nothing(&queue), json!([]));
        assert_eq!(value(&Datum::List((0..3).map(Datum::Number).collect())), json!([0, 1, 2]));
    }
}
