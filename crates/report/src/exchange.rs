//! Answers in the formats of other tools: JUnit XML and SARIF for CI systems, ITF for other model
//! checkers.

use crate::chart::markup::escaped;
use crate::json::{CheckJson, PropertyJson, StatementJson, StepJson};
use crate::text::reason_words;
use contract::Trace;
use replay::{Named, Narrator};
use serde_json::{Map, Value, json};
use source::{Diagnostic, SourceMap, Span};
use std::collections::{BTreeMap, BTreeSet};
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
        let _ = write!(
            out,
            "<testcase classname=\"{}\" name=\"{}\"",
            escaped(model),
            escaped(&if name == kind { name.clone() } else { format!("{name} ({kind})") })
        );
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
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{model}\" tests=\"1\" failures=\"0\" errors=\"1\">\n\
         <testcase classname=\"{model}\" name=\"the model can be read\">\n<error message=\"{message}\" type=\"model\">{all}</error>\n\
         </testcase>\n</testsuite>\n</testsuites>\n"
    )
}

/// What is wrong with a model, as a SARIF log: a result for each message.
pub fn sarif_rejected(map: &SourceMap, diagnostics: &[Diagnostic], version: &str) -> String {
    let result = |diagnostic: &Diagnostic| {
        let span = map.shown(diagnostic.span);
        let (from, to) = (map.location(span), map.location(Span::new(span.file, span.end as usize, span.end as usize)));
        let rule = diagnostic.name.unwrap_or(if diagnostic.is_error() { "model-error" } else { "warning" });
        let hint = diagnostic.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let region = json!({
            "startLine": from.line, "startColumn": from.column, "endLine": to.line, "endColumn": to.column,
        });
        json!({
            "ruleId": rule,
            "level": diagnostic.severity.to_string(),
            "message": { "text": format!("{}{hint}", diagnostic.message) },
            "locations": [{ "physicalLocation": { "artifactLocation": { "uri": map.name(span.file) }, "region": region } }],
        })
    };
    sarif_log(diagnostics.iter().map(result).collect(), version)
}

fn step_line(index: usize, step: &StepJson) -> String {
    let StatementJson { process, pid, file, line, statement, .. } = &step.first;
    let place = file.as_ref().zip(*line).map(|(file, line)| format!("{file}:{line}  ")).unwrap_or_default();
    format!("{}  {process}({pid})  {place}{statement}\n", index + 1)
}

/// The answer as a SARIF log: a result for each violated property, with its path as a code flow,
/// and for each warning.
pub fn sarif(answer: &CheckJson, version: &str) -> String {
    let location = |file: &Option<String>, line: Option<u32>, column: Option<u32>| {
        let file = file.as_ref()?;
        let mut region = json!({ "startLine": line.unwrap_or(1).max(1) });
        if let Some(column) = column {
            region["startColumn"] = json!(column);
        }
        Some(json!({ "physicalLocation": { "artifactLocation": { "uri": file }, "region": region } }))
    };
    let flow = |steps: &[StepJson]| {
        let step = |step: &StepJson| {
            let mut place = location(&step.first.file, step.first.line, step.first.column).unwrap_or_else(|| json!({}));
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
        if let Some(place) = location(&violation.file, violation.line, violation.column) {
            result["locations"] = json!([place]);
        }
        if let Some(steps) = property.trace.as_deref().filter(|steps| !steps.is_empty()) {
            result["codeFlows"] = flow(steps);
        }
        results.push(result);
    }
    results.extend(answer.warnings.iter().map(|text| json!({ "ruleId": "warning", "level": "warning", "message": { "text": text } })));
    sarif_log(results, version)
}

/// A SARIF log with these results.
fn sarif_log(results: Vec<Value>, version: &str) -> String {
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
/// variables in each state. The values of a variable have one type in all states. A variable of a
/// process that does not exist in a state has 0, false, an empty list or an empty text there, and
/// the information about the state lists it as absent.
pub fn itf(narrator: &Narrator, model: &str, trace: &Trace) -> String {
    let states: Vec<Vec<Named>> = (0..=trace.steps.len())
        .filter_map(|index| trace.state_after(index))
        .map(|state| narrator.view(state).map(|view| view.values()).unwrap_or_default())
        .collect();
    let mut names: Vec<&str> = Vec::new();
    let mut kinds: BTreeMap<&str, Kind> = BTreeMap::new();
    for named in states.iter().flatten() {
        let kind = Kind::of(&named.value);
        match kinds.get_mut(named.name.as_str()) {
            Some(known) => *known = known.join(kind),
            None => {
                names.push(&named.name);
                kinds.insert(&named.name, kind);
            }
        }
    }
    let state = |(index, values): (usize, &Vec<Named>)| {
        let known: BTreeMap<&str, &str> = values.iter().map(|named| (named.name.as_str(), named.value.as_str())).collect();
        let mut object = Map::new();
        for (name, kind) in &kinds {
            object.insert((*name).to_owned(), kind.value(known.get(name).copied()));
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

/// The type of a value in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Truth,
    /// The elements of an array, or the messages of a channel; whether all of them are numbers. An
    /// empty list may have any elements.
    List(bool),
    Text,
}

impl Kind {
    fn of(text: &str) -> Kind {
        match (text.parse::<i64>(), text) {
            (Ok(_), _) => Kind::Number,
            (_, "true" | "false") => Kind::Truth,
            _ => elements(text).map_or(Kind::Text, |parts| Kind::List(parts.iter().all(|part| part.parse::<i64>().is_ok()))),
        }
    }

    /// The type that has the values of both. A message name and 0, which is no message, are texts.
    fn join(self, other: Kind) -> Kind {
        match (self, other) {
            (one, other) if one == other => one,
            (Kind::List(_), Kind::List(_)) => Kind::List(false),
            _ => Kind::Text,
        }
    }

    /// A value of this type, or the one that stands for none.
    fn value(self, text: Option<&str>) -> Value {
        let number = |text: &str| text.parse::<i64>().map_or_else(|_| json!(text), |number| json!(number));
        match (self, text) {
            (Kind::Number, text) => text.map_or(json!(0), number),
            (Kind::Truth, text) => json!(text == Some("true")),
            (Kind::List(numbers), text) => {
                let parts = text.and_then(elements).unwrap_or_default();
                json!(parts.into_iter().map(|part| if numbers { number(part) } else { json!(part) }).collect::<Vec<_>>())
            }
            (Kind::Text, text) => json!(text.unwrap_or_default()),
        }
    }
}

/// The elements of a list, as texts.
fn elements(text: &str) -> Option<Vec<&str>> {
    let inside = text.strip_prefix('[')?.strip_suffix(']')?;
    Some(inside.split([' ', ',']).filter(|part| !part.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_kind() {
        let value = |text: &str| Kind::of(text).value(Some(text));
        assert_eq!(value("-3"), json!(-3));
        assert_eq!(value("true"), json!(true));
        assert_eq!(value("[1, 2]"), json!([1, 2]));
        assert_eq!(value("[]"), json!([]));
        assert_eq!(value("ready"), json!("ready"));
        // A message that is not set yet is 0.
        let message = Kind::of("0").join(Kind::of("ready"));
        assert_eq!((message.value(Some("0")), message.value(Some("ready"))), (json!("0"), json!("ready")));
        let list = Kind::of("[0, 1]").join(Kind::of("[a, 1]"));
        assert_eq!(list.value(Some("[0, 1]")), json!(["0", "1"]));
        // What is absent has the type of what is there.
        assert_eq!(
            [Kind::Number, Kind::Truth, Kind::List(true), Kind::Text].map(|kind| kind.value(None)),
            [json!(0), json!(false), json!([]), json!("")]
        );
    }
}
