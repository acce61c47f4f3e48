//! Everything that `--json` prints conforms to the schemas.
//!
//! The schemas are generated from the types of the answers. So the only possible difference is a
//! value that is printed in another way than its type says. The validator knows the keywords that
//! our schemas use, and refuses a schema with another one. It also checks the logs in the formats
//! of other tools.

mod common;

use common::{DEADLOCK, Folder};
use serde_json::{Map, Value};
use std::path::Path;

/// The error in a value, if there is one.
fn wrong(schema: &Value, root: &Value, value: &Value, at: &str) -> Option<String> {
    let schema = match schema {
        Value::Bool(true) => return None,
        Value::Object(schema) => schema,
        other => return Some(format!("{at}: {other} is no schema")),
    };
    if let Some(path) = schema.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(path.trim_start_matches('#')).unwrap_or_else(|| panic!("{path} is not defined"));
        return wrong(target, root, value, at);
    }
    for key in schema.keys() {
        let known = [
            "$schema",
            "$defs",
            "title",
            "description",
            "type",
            "properties",
            "required",
            "items",
            "additionalProperties",
            "anyOf",
            "const",
            "enum",
            "format",
            "minimum",
            "maximum",
        ];
        assert!(known.contains(&key.as_str()), "{at}: the validator does not know `{key}`");
    }
    if let Some(all) = schema.get("anyOf").and_then(Value::as_array) {
        let failures: Vec<String> = all.iter().filter_map(|one| wrong(one, root, value, at)).collect();
        return (failures.len() == all.len()).then(|| failures.join(" | "));
    }
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("{at}: `{other}` is no type"),
    };
    let fits = match schema.get("type") {
        None => true,
        Some(Value::String(name)) => is(name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(is),
        Some(other) => panic!("{at}: {other} is no type"),
    };
    if !fits {
        return Some(format!("{at}: {value} is not of type {}", schema["type"]));
    }
    if schema.get("minimum").and_then(Value::as_f64).is_some_and(|least| value.as_f64().is_some_and(|number| number < least)) {
        return Some(format!("{at}: {value} is too small"));
    }
    let empty = Map::new();
    if let Value::Object(object) = value {
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(name) {
                return Some(format!("{at}: `{name}` is missing"));
            }
        }
        for (name, inside) in object {
            let there = format!("{at}.{name}");
            let own = properties.get(name).or_else(|| schema.get("additionalProperties"));
            match own {
                Some(own) => {
                    if let Some(wrong) = wrong(own, root, inside, &there) {
                        return Some(wrong);
                    }
                }
                None => return Some(format!("{there} is not in the schema")),
            }
        }
    }
    let items = schema.get("items");
    value
        .as_array()
        .into_iter()
        .flatten()
        .zip(items.into_iter().cycle())
        .enumerate()
        .find_map(|(index, (inside, items))| wrong(items, root, inside, &format!("{at}[{index}]")))
}

fn schema(folder: &Folder, name: &str) -> Value {
    serde_json::from_str(&folder.run(&["schema", name]).exits(0).out).expect("a schema is JSON")
}

const RACE: &str = "byte n; chan c = [1] of { byte };
active [2] proctype P() { byte t; t = n; n = t + 1 }
active proctype Q() { _nr_pr == 1 -> assert(n == 2) }
";
const FORMULA: &str = "bool p, q;\nactive proctype P() { do :: p = true; q = true; q = false; p = false od }\nltl live { [] (p -> <> q) }\nltl dead { <> [] q }\n";
const LF: &str = "MODULE M;\nPROCESS P;\nVAR n : INTEGER;\nBEGIN n := 1 END P;\nBEGIN CREATE P END M.\n";

#[test]
fn answers_are_as_the_schemas_say() {
    let folder = Folder::with("race.pml", RACE);
    folder.write("formula.pml", FORMULA);
    folder.write("stuck.epa", DEADLOCK);
    folder.write("holds.pml", "byte n;\nactive proctype P() { do :: n < 9 -> n++ :: else -> break od; assert(n == 9) }\n");
    folder.write("open.lf", LF);
    folder.run(&["check", "race.pml", "--trace", "t.json"]).exits(1);
    folder.run(&["check", "stuck.epa", "--trace", "s.json"]).exits(1);
    folder.run(&["space", "race.pml", "--processes", "2", "-o", "fragments"]).exits(0);
    let hybrid = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/abp/altbit.pch");
    folder.write("altbit.pch", std::fs::read(hybrid).expect("the example"));
    folder.write("run.trace", "start 1 init\n");
    let calls: &[(&str, &[&str])] = &[
        ("check", &["check", "holds.pml", "--processes", "2"]),
        ("check", &["check", "race.pml", "--processes", "2"]),
        ("check", &["check", "formula.pml", "--processes", "2"]),
        ("check", &["check", "holds.pml", "--store", "disk", "--no-por"]),
        ("check", &["check", "race.pml", "--disk", "states:100k", "--store", "disk", "--no-por"]),
        ("check", &["check", "formula.pml", "--store", "disk", "--ltl", "live"]),
        ("space", &["space", "holds.pml", "--processes", "2"]),
        ("merge", &["merge", "fragments", "-o", "merged.aut"]),
        ("generate", &["generate", "altbit.pch", "-o", "out"]),
        ("conform", &["conform", "altbit.pch", "run.trace"]),
        ("check", &["check", "altbit.pch"]),
        ("lint", &["lint", "--list"]),
        ("reach", &["check", "holds.pml", "--reach", "2", "--html", "r.html"]),
        ("check", &["check", "race.pml"]),
        ("check", &["check", "race.pml", "--coverage", "--causal", "--fewest-switches", "--no-por"]),
        ("check", &["check", "stuck.epa"]),
        ("check", &["check", "formula.pml"]),
        ("check", &["check", "formula.pml", "--ltl", "live", "--witness", "--coverage"]),
        ("check", &["check", "holds.pml", "--witness", "--slice"]),
        ("check", &["check", "holds.pml", "--store", "bits"]),
        ("check", &["check", "holds.pml", "--store", "hash", "--depth", "2"]),
        ("check", &["check", "holds.pml", "--search", "sweep"]),
        ("check", &["check", "race.pml", "--search", "astar", "--explain-heuristic"]),
        ("check", &["check", "holds.pml", "--ctl", "EF n == 9"]),
        ("reach", &["check", "holds.pml", "--reach", "2"]),
        ("space", &["space", "race.pml"]),
        ("space", &["space", "race.pml", "--depth", "1"]),
        ("simulate", &["simulate", "race.pml", "--seed", "3"]),
        ("replay", &["replay", "t.json"]),
        ("replay", &["replay", "s.json", "--causal"]),
        ("shorten", &["shorten", "t.json"]),
        ("compile", &["compile", "race.pml"]),
        ("compile", &["compile", "race.pml", "--asm"]),
        ("lint", &["lint", "race.pml"]),
        ("ltl", &["ltl", "[] (p -> <> q)"]),
        ("ltl", &["ltl", "<> [] p", "--generalised"]),
        ("measure", &["measure", "holds.pml"]),
        ("automata", &["automata", "race.pml"]),
        ("close", &["close", "open.lf"]),
        ("run", &["run", "open.lf"]),
        ("error", &["check", "nothing.pml"]),
        ("error", &["check", "race.pml", "--store", "cache"]),
    ];
    for (name, call) in calls {
        let schema = schema(&folder, name);
        let run = folder.run(&[call, &["--json"][..]].concat());
        let printed = run.json();
        if printed.get("error").is_some() && *name != "error" {
            panic!("{call:?}: {printed}");
        }
        if let Some(wrong) = wrong(&schema, &schema, &printed, name) {
            panic!("{call:?}: {wrong}");
        }
    }
    // Firmware, if there is a compiler for it.
    let firmware = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/avr/torn.c");
    let mut compiler = std::process::Command::new("avr-gcc");
    compiler.args(["-mmcu=atmega328p", "-Os", "-gdwarf-2", "-o"]).arg(folder.path("main.elf")).arg(firmware);
    if compiler.output().is_ok_and(|output| output.status.success()) {
        let schema = schema(&folder, "check");
        let printed = folder.run(&["check", "main.elf", "--json", "--time", "60s"]).json();
        assert!(printed.get("error").is_none(), "{printed}");
        assert_eq!(wrong(&schema, &schema, &printed, "check"), None);
    } else {
        testkit::passed_over("avr-gcc is missing");
    }
    // A wrong model has diagnostics with positions, labels and fixes.
    folder.write("broken.pml", "byte count;\ninit { conut = 1; if :: skip }\n");
    let printed = folder.run(&["check", "broken.pml", "--json"]).exits(2).json();
    let schema = schema(&folder, "error");
    assert_eq!(wrong(&schema, &schema, &printed, "error"), None, "{printed}");
}

#[test]
fn every_command_that_prints_json_has_a_schema() {
    let folder = Folder::new();
    let listed = folder.run(&["schema"]).exits(0).out;
    let names: Vec<&str> = listed.lines().collect();
    let help = folder.run(&["help"]).exits(0).out;
    for line in help.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
        let command = line.split_whitespace().next().unwrap_or_default();
        let own = folder.run(&["help", command]);
        if own.code == 0 && own.out.lines().any(|line| line.trim_start().starts_with("--json")) {
            assert!(names.contains(&command), "`{command}` prints JSON and has no schema");
        }
    }
    folder.run(&["schema", "nothing"]).exits(2);
}

#[test]
fn progress_is_told_in_lines_of_json() {
    let model = "int n, m;\nactive [2] proctype P() { do :: n < 2000 -> n++ :: m < 2000 -> m++ od }\n";
    let folder = Folder::with("long.pml", model);
    let run = folder.run(&["space", "long.pml", "--progress", "json", "--json", "--time", "2s"]);
    let schema = schema(&folder, "progress");
    let lines: Vec<Value> =
        run.err.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect();
    assert!(!lines.is_empty(), "{run:?}");
    for line in &lines {
        assert_eq!(wrong(&schema, &schema, line, "progress"), None, "{line}");
    }
    let states: Vec<u64> = lines.iter().filter_map(|line| line["states"].as_u64()).collect();
    assert!(states.windows(2).all(|pair| pair[0] <= pair[1]), "{states:?}");
    let silent = folder.run(&["space", "long.pml", "--progress", "none", "--time", "1s"]);
    assert_eq!(silent.err, "", "{silent:?}");
}

#[test]
fn a_search_is_drawn_over_time() {
    let model = "int n, m;\nactive [2] proctype P() { do :: n < 2000 -> n++ :: m < 2000 -> m++ od }\n";
    let folder = Folder::with("long.pml", model);
    folder
        .run(&[
            "check",
            "long.pml",
            "--no-por",
            "--no-unused",
            "--search",
            "bfs",
            "--no-deadlock",
            "--depth",
            "2000",
            "--timeline",
            "t.svg",
            "--html",
            "r.html",
        ])
        .exits(3);
    let svg = folder.read("t.svg");
    for name in [">states<", ">states a second<", ">memory<", ">depth<"] {
        assert!(svg.contains(name), "{svg}");
    }
    assert!(folder.read("r.html").contains("The search over time"));
}

/// What we use of the Static Analysis Results Interchange Format, version 2.1.0. Names that the
/// standard does not know are errors there, and so they are here.
fn sarif_schema() -> Value {
    let object =
        |required: &[&str], properties: Value| serde_json::json!({ "type": "object", "required": required, "properties": properties });
    let list = |of: &str| serde_json::json!({ "type": "array", "items": { "$ref": format!("#/$defs/{of}") } });
    let number = serde_json::json!({ "type": "integer", "minimum": 1 });
    let text = serde_json::json!({ "type": "string" });
    let of = |name: &str| serde_json::json!({ "$ref": format!("#/$defs/{name}") });
    let level = of("level");
    serde_json::json!({
        "type": "object",
        "required": ["version", "runs"],
        "properties": { "$schema": text, "version": { "enum": ["2.1.0"] }, "runs": list("run") },
        "$defs": {
            "level": { "enum": ["none", "note", "warning", "error"] },
            "run": object(&["tool"], serde_json::json!({
                "tool": object(&["driver"], serde_json::json!({ "driver": of("driver") })),
                "columnKind": { "enum": ["utf16CodeUnits", "unicodeCodePoints"] },
                "invocations": list("invocation"),
                "results": list("result"),
            })),
            "driver": object(&["name"], serde_json::json!({ "name": text, "version": text, "rules": list("rule") })),
            "rule": object(&["id"], serde_json::json!({ "id": text })),
            "invocation": object(&["executionSuccessful"], serde_json::json!({
                "executionSuccessful": { "type": "boolean" },
                "toolExecutionNotifications": list("notification"),
            })),
            "notification": object(&["message"], serde_json::json!({ "level": level, "message": of("message") })),
            "message": object(&["text"], serde_json::json!({ "text": text })),
            "result": object(&["message"], serde_json::json!({
                "ruleId": text,
                "level": level,
                "message": of("message"),
                "locations": list("location"),
                "codeFlows": list("flow"),
                "fixes": list("fix"),
            })),
            "location": object(&[], serde_json::json!({ "physicalLocation": of("place"), "message": of("message") })),
            "place": object(&["artifactLocation"], serde_json::json!({ "artifactLocation": of("artifact"), "region": of("region") })),
            "artifact": object(&["uri"], serde_json::json!({ "uri": text })),
            "region": object(&[], serde_json::json!({
                "startLine": number, "startColumn": number, "endLine": number, "endColumn": number,
            })),
            "flow": object(&["threadFlows"], serde_json::json!({ "threadFlows": list("thread") })),
            "thread": object(&["locations"], serde_json::json!({ "locations": list("step") })),
            "step": object(&[], serde_json::json!({ "location": of("location") })),
            "fix": object(&["artifactChanges"], serde_json::json!({ "description": of("message"), "artifactChanges": list("change") })),
            "change": object(&["artifactLocation", "replacements"], serde_json::json!({
                "artifactLocation": of("artifact"),
                "replacements": list("replacement"),
            })),
            "replacement": object(&["deletedRegion"], serde_json::json!({ "deletedRegion": of("region"), "insertedContent": of("message") })),
        },
    })
}

/// All values with this name, at any depth.
fn all_named<'v>(value: &'v Value, name: &str, found: &mut Vec<&'v Value>) {
    if let Value::Object(object) = value {
        found.extend(object.get(name));
    }
    match value {
        Value::Object(object) => object.values().for_each(|inside| all_named(inside, name, found)),
        Value::Array(list) => list.iter().for_each(|inside| all_named(inside, name, found)),
        _ => {}
    }
}

/// An element of XML: its name, its attributes, its children, its text.
#[derive(Debug, Default)]
struct Element {
    name: String,
    attributes: std::collections::BTreeMap<String, String>,
    children: Vec<Element>,
}

/// Reads a document of XML, as strictly as our own documents need: no comments, no namespaces.
fn xml(text: &str) -> Element {
    let rest = text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").expect("a declaration");
    let (mut open, mut at) = (vec![Element::default()], rest);
    let plain = |text: &str| {
        assert!(!text.contains('<') && text.chars().all(|c| !c.is_control() || "\n\t\r".contains(c)), "{text:?}");
        let entities = text.split('&').skip(1).map(|rest| rest.split(';').next().unwrap_or_default().to_owned());
        entities.for_each(|entity| assert!(["amp", "lt", "gt", "quot", "#39"].contains(&entity.as_str()), "&{entity}; in {text:?}"));
    };
    while let Some(begin) = at.find('<') {
        plain(&at[..begin]);
        let end = begin + at[begin..].find('>').expect("a tag ends");
        let tag = &at[begin + 1..end];
        at = &at[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            let closed = open.pop().expect("it is open");
            assert_eq!(closed.name, name);
            open.last_mut().expect("the document").children.push(closed);
            continue;
        }
        let inside = tag.trim_end_matches('/');
        let (name, mut attributes) = inside.split_once(' ').unwrap_or((inside, ""));
        let mut element = Element { name: name.to_owned(), ..Element::default() };
        while let Some((key, rest)) = attributes.trim_start().split_once("=\"") {
            let (value, rest) = rest.split_once('"').expect("a value ends");
            plain(value);
            assert!(element.attributes.insert(key.to_owned(), value.to_owned()).is_none(), "{key} twice in {tag}");
            attributes = rest;
        }
        assert!(attributes.trim().is_empty(), "{tag}");
        match tag.ends_with('/') {
            true => open.last_mut().expect("the document").children.push(element),
            false => open.push(element),
        }
    }
    let document = open.pop().filter(|_| open.is_empty()).expect("all is closed");
    let [root] = <[Element; 1]>::try_from(document.children).expect("one root");
    root
}

/// Checks a report in the form that JUnit's readers agree on.
fn junit_is_valid(text: &str) {
    let root = xml(text);
    assert_eq!(root.name, "testsuites");
    for suite in &root.children {
        assert_eq!(suite.name, "testsuite");
        let number = |name: &str| suite.attributes[name].parse::<usize>().unwrap_or_else(|_| panic!("{name}: {text}"));
        let with = |name: &str| suite.children.iter().filter(|case| case.children.iter().any(|inside| inside.name == name)).count();
        assert_eq!(
            (number("tests"), number("failures"), number("errors")),
            (suite.children.len(), with("failure"), with("error")),
            "{text}"
        );
        for case in &suite.children {
            assert_eq!(case.name, "testcase");
            for name in ["name", "classname", "time"] {
                assert!(!case.attributes[name].is_empty(), "{text}");
            }
            assert!(case.attributes["time"].parse::<f64>().is_ok_and(|time| time >= 0.0), "{text}");
            assert!(case.children.len() <= 1, "{text}");
            for inside in &case.children {
                assert!(!inside.attributes["message"].is_empty() && !inside.attributes["type"].is_empty(), "{text}");
            }
        }
    }
}

#[test]
fn logs_for_other_tools_are_valid() {
    let folder = Folder::with("race & <co> #1.pml", RACE);
    folder.write("formula.pml", FORMULA);
    folder.write("warned.pml", "byte x;\n*/ active proctype P() { if :: x == 1 -> assert(x < \"a\") :: else fi }\n".replace("\"a\"", "3"));
    folder.write("broken.pml", "byte \u{1b}x;\ninit { conut = 1; y = 2 }\n");
    folder.write("holds.pml", "byte n;\nactive proctype P() { do :: n < 9 -> n++ :: else -> break od; assert(n == 9) }\n");
    folder.write("part.h", "byte z; init { x = 1 }\n");
    folder.write("includes.pml", "#include \"part.h\"\n");
    folder.write("ring.aut", "des (0, 2, 3)\n(0, \"a\", 1)\n(1, \"b\", 2)\n");
    folder.write("program.lf", "MODULE M; VAR n : INTEGER; BEGIN n := 1; ASSERT n = 2 END M.\n");
    let schema = sarif_schema();
    for arguments in [
        &["race & <co> #1.pml"][..],
        &["race & <co> #1.pml", "--coverage", "--no-por"],
        &["formula.pml"],
        &["formula.pml", "--ltl", "live", "--witness"],
        &["formula.pml", "--ltl", "<> (p && undeclared)"],
        &["holds.pml", "--ltl", "[] (n <= 9)"],
        &["warned.pml", "--coverage"],
        &["warned.pml", "-W", "all"],
        &["broken.pml"],
        &["includes.pml"],
        &["holds.pml"],
        &["holds.pml", "--depth", "2"],
        &["holds.pml", "--store", "hash"],
        &["ring.aut"],
        &["program.lf"],
        &["./formula.pml"],
    ] {
        let files = ["--sarif", "log.sarif", "--junit", "log.xml"];
        let run = folder.run(&[&["check"], arguments, &files].concat());
        assert!((0..=3).contains(&run.code), "{arguments:?}: {run:?}");
        let log: Value = serde_json::from_str(&folder.read("log.sarif")).expect("JSON");
        assert_eq!(wrong(&schema, &schema, &log, "sarif"), None, "{arguments:?}: {log:#}");
        let mut names = Vec::new();
        all_named(&log, "uri", &mut names);
        for uri in names.into_iter().filter_map(Value::as_str) {
            let fits = |c: char| c.is_ascii_alphanumeric() || "-._~/%".contains(c);
            assert!(uri.chars().all(fits), "{uri}");
        }
        junit_is_valid(&folder.read("log.xml"));
        for name in ["log.sarif", "log.xml"] {
            std::fs::remove_file(folder.path(name)).expect("it is ours");
        }
    }
}
