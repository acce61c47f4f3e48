//! Answers in the formats of other tools: JUnit XML and SARIF for CI systems, ITF for other model
//! checkers.

use crate::chart::markup::escaped;
use crate::json::{CheckJson, PropertyJson, StatementJson, StepJson};
use contract::Trace;
use replay::{Named, Narrator};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

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
        let PropertyJson { name, kind, verdict, reason, violation, trace, .. } = property;
        // Writing to a `String` cannot fail.
        let _ = write!(out, "<testcase classname=\"{}\" name=\"{}\"", escaped(model), escaped(&format!("{name} ({kind})")));
        match (*verdict, violation) {
            ("violated", Some(violation)) => {
                let steps: String = trace.iter().flatten().enumerate().map(|(index, step)| step_line(index, step)).collect();
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
                let reason = escaped(reason.unwrap_or_default());
                let _ = writeln!(out, ">\n<error message=\"{reason}\" type=\"unknown\"/>\n</testcase>");
            }
        }
    }
    out.push_str("</testsuite>\n</testsuites>\n");
    out
}

fn step_line(index: usize, step: &StepJson) -> String {
    let StatementJson { process, pid, file, line, statement, .. } = &step.first;
    let place = file.as_ref().zip(*line).map(|(file, line)| format!("{file}:{line}  ")).unwrap_or_default();
    format!("{}  {process}({pid})  {place}{statement}\n", index + 1)
}

/// The answer as a SARIF log: a result for each violated property, with its path as a code flow,
/// and for each warning.
pub fn sarif(answer: &CheckJson, version: &str) -> String {
    let location = |file: &Option<String>, line: Option<u32>| {
        let file = file.as_ref()?;
        let region = json!({ "startLine": line.unwrap_or(1).max(1) });
        Some(json!({ "physicalLocation": { "artifactLocation": { "uri": file }, "region": region } }))
    };
    let flow = |steps: &[StepJson]| {
        let step = |step: &StepJson| {
            let mut place = location(&step.first.file, step.first.line).unwrap_or_else(|| json!({}));
            let text = format!("{}({}): {}", step.first.process, step.first.pid, step.first.statement);
            place["message"] = json!({ "text": text });
            json!({ "location": place })
        };
        json!([{ "threadFlows": [{ "locations": steps.iter().map(step).collect::<Vec<_>>() }] }])
    };
    let mut results = Vec::new();
    for property in answer.properties.iter().filter(|property| property.verdict == "violated") {
        let Some(violation) = &property.violation else { continue };
        let mut result = json!({ "ruleId": violation.kind, "level": "error", "message": { "text": violation.message } });
        if let Some(place) = location(&violation.file, violation.line) {
            result["locations"] = json!([place]);
        }
        if let Some(steps) = property.trace.as_deref().filter(|steps| !steps.is_empty()) {
            result["codeFlows"] = flow(steps);
        }
        results.push(result);
    }
    results.extend(answer.warnings.iter().map(|text| json!({ "ruleId": "warning", "level": "warning", "message": { "text": text } })));
    let rules: BTreeSet<String> = results.iter().filter_map(|result| result["ruleId"].as_str().map(str::to_owned)).collect();
    let rules: Vec<Value> = rules.into_iter().map(|id| json!({ "id": id })).collect();
    let driver = json!({ "name": "everypath", "version": version, "rules": rules });
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{ "tool": { "driver": driver }, "results": results }],
    });
    format!("{log:#}\n")
}

/// A trace in the Informal Trace Format, which Apalache and other tools read: the values of all
/// variables in each state. A variable of a process that does not exist in a state is an empty
/// string there.
pub fn itf(narrator: &Narrator, model: &str, trace: &Trace) -> String {
    let states: Vec<Vec<Named>> = (0..=trace.steps.len())
        .filter_map(|index| trace.state_after(index))
        .map(|state| narrator.view(state).map(|view| view.values()).unwrap_or_default())
        .collect();
    let mut names: Vec<&str> = Vec::new();
    let mut known = BTreeSet::new();
    names.extend(states.iter().flatten().map(|named| named.name.as_str()).filter(|name| known.insert(*name)));
    let state = |(index, values): (usize, &Vec<Named>)| {
        let mut object: Map<String, Value> = names.iter().map(|name| ((*name).to_owned(), json!(""))).collect();
        object.extend(values.iter().map(|named| (named.name.clone(), value(&named.value))));
        object.insert("#meta".to_owned(), json!({ "index": index }));
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

/// A value as JSON: a number, a truth value, a list, or a text.
fn value(text: &str) -> Value {
    if let Ok(number) = text.parse::<i64>() {
        return json!(number);
    }
    match text {
        "true" => return json!(true),
        "false" => return json!(false),
        _ => {}
    }
    match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some("") => json!([]),
        // The elements of an array, or the messages of a channel.
        Some(inside) => json!(inside.split([' ', ',']).filter(|part| !part.is_empty()).map(value).collect::<Vec<_>>()),
        None => json!(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_kind() {
        assert_eq!(value("-3"), json!(-3));
        assert_eq!(value("true"), json!(true));
        assert_eq!(value("[1, 2]"), json!([1, 2]));
        assert_eq!(value("[]"), json!([]));
        assert_eq!(value("ready"), json!("ready"));
    }
}
