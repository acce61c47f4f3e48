//! Everything that `--json` prints conforms to the schemas.
//!
//! The schemas are generated from the types of the answers. So the only possible difference is a
//! value that is printed in another way than its type says. The validator knows the keywords that
//! our schemas use, and refuses a schema with another one.

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
