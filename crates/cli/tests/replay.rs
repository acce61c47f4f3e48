//! `everypath replay`: a trace file is sufficient, and nothing in it is trusted.

mod common;

use common::{DEADLOCK, Folder, LOST_UPDATE};
use serde_json::Value;

/// A folder with only a trace file: the model is gone.
fn with_trace(model: &str) -> (Folder, Value) {
    let first = Folder::with("model.epa", model);
    let json = first.run(&["check", "model.epa", "--json", "--trace", "trace.json"]).exits(1).json();
    (Folder::with("trace.json", first.read("trace.json")), json)
}

#[test]
fn a_trace_needs_no_model() {
    for model in [LOST_UPDATE, DEADLOCK] {
        let (folder, checked) = with_trace(model);
        let replayed = folder.run(&["replay", "trace.json", "--json"]).exits(0).json();
        assert_eq!(replayed["trace"], checked["trace"]);
        assert_eq!(replayed["violation"], checked["violation"]);
        assert_eq!(replayed["model"], "model.epa");
        let text = folder.run(&["replay", "trace.json"]).exits(0).out;
        for step in checked["trace"].as_array().expect("a list") {
            assert!(text.contains(step["statement"].as_str().expect("text")), "{text}");
        }
    }
}

#[test]
fn values_are_shown_step_by_step() {
    let (folder, _) = with_trace(LOST_UPDATE);
    let text = folder.run(&["replay", "trace.json"]).exits(0).out;
    assert!(text.contains("x = 0") && text.contains("x = 1") && text.contains("done = 2"), "{text}");
}

#[test]
fn a_run_can_be_replayed_too() {
    let folder = Folder::with("model.epa", LOST_UPDATE);
    let simulated = folder.run(&["simulate", "model.epa", "--seed", "5", "--steps", "6", "--trace", "run.json", "--json"]).exits(0).json();
    let replayed = folder.run(&["replay", "run.json", "--json"]).exits(0).json();
    assert_eq!(replayed["trace"], simulated["trace"]);
    assert_eq!(replayed["violation"], Value::Null);
}

#[test]
fn charts_are_drawn_into_files() {
    for model in [LOST_UPDATE, DEADLOCK] {
        let (folder, checked) = with_trace(model);
        let plain = folder.run(&["replay", "trace.json", "--json"]).exits(0).out;
        let run = folder.run(&["replay", "trace.json", "--json", "--svg", "chart.svg", "--html", "chart.html"]).exits(0);
        assert_eq!(run.out, plain, "the answer is the same with charts");
        let (svg, html) = (folder.read("chart.svg"), folder.read("chart.html"));
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>\n"), "{html}");
        // The page contains the picture, and neither refers to external resources.
        assert!(html.contains(&svg));
        for text in [svg, html] {
            let text = text.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
            assert!(!text.contains("http:") && !text.contains("https:") && !text.contains("<script"), "{text}");
            assert!(text.contains("violated: "), "{text}");
            for step in checked["trace"].as_array().expect("a list") {
                assert!(text.contains(step["statement"].as_str().expect("text")), "{text}");
            }
        }
    }
}

#[test]
fn a_chart_that_cannot_be_written_is_an_error() {
    let (folder, _) = with_trace(DEADLOCK);
    for option in ["--svg", "--html"] {
        let run = folder.run(&["replay", "trace.json", option, "nowhere/chart"]).exits(2);
        assert!(run.out.is_empty() && run.err.contains("nowhere"), "{run:?}");
    }
}

#[test]
fn no_violation_no_file() {
    let folder = Folder::with("model.epa", common::FINE);
    folder.run(&["check", "model.epa", "--trace", "trace.json"]).exits(0);
    assert!(!folder.has("trace.json"));
}

#[test]
fn what_is_in_the_file_is_not_believed() {
    let (folder, _) = with_trace(LOST_UPDATE);
    let good = folder.read("trace.json");
    let file: Value = serde_json::from_str(&good).expect("JSON");
    let changed = |key: &str, change: &dyn Fn(&str) -> String| {
        let mut changed = file.clone();
        changed[key] = change(file[key].as_str().expect("text")).into();
        changed.to_string()
    };
    let lines = |text: &str, keep: &dyn Fn(usize) -> bool| {
        text.lines().enumerate().filter(|(index, _)| keep(*index)).map(|(_, line)| format!("{line}\n")).collect::<String>()
    };
    let mut wrong = vec![
        // A step left out, the last step cut off, a wrong target state, a step that no process can
        // take.
        changed("trace", &|text| lines(text, &|index| index != 4)),
        changed("trace", &|text| lines(text, &|index| index != 9)),
        changed("trace", &|text| text.replacen("step 0 0 x01", "step 0 0 x07", 1)),
        changed("trace", &|text| text.replacen("step 0 0", "step 0 9", 1)),
        changed("trace", &|text| text.replacen("step 0 0", "step 77 0", 1)),
        // Another program, a malformed one, none.
        changed("program", &|text| text.replacen("ADD", "SUB", 1)),
        changed("program", &|text| text.replacen("STEP", "STOP", 1)),
        changed("program", &|_| String::new()),
        // Another violation than there is.
        good.replace("\"kind\": \"assertion violated\"", "\"kind\": \"invalid end state\""),
        good.replace("everypath trace file 1", "everypath trace file 9"),
    ];
    wrong.extend((1..20).map(|part| good[..good.len() * part / 20].to_owned()));
    wrong.extend(["", "{}", "null", "[]", "\u{0}\u{1}", "everypath trace 1\ninitial x00\n"].map(str::to_owned));
    wrong.push("[".repeat(100_000));
    for text in wrong {
        assert_ne!(text, good, "the change did not take");
        folder.write("wrong.json", &text);
        let run = folder.run(&["replay", "wrong.json"]).exits(2);
        assert!(!run.err.is_empty() && run.out.is_empty(), "{run:?}\n{text}");
        let json = folder.run(&["replay", "wrong.json", "--json"]).exits(2).json();
        assert!(json["error"].is_string(), "{json}");
    }
}

/// File names are shown relative to the working folder, even those of a trace that was made in
/// another folder, as long as the files exist.
#[test]
fn files_are_named_as_seen_from_where_the_user_is() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("models/parts")).expect("a folder");
    std::fs::create_dir_all(folder.path("found")).expect("a folder");
    folder.write("models/main.pml", "#include \"parts/../parts/inner.h\"\n");
    folder.write("models/parts/inner.h", "#include \"../check.h\"\n");
    folder.write("models/check.h", "byte x;\nactive proctype P() { x = 1;\n assert(x == 2) }\n");
    let absolute = folder.path("models/main.pml").to_string_lossy().into_owned();
    for model in ["models/main.pml", "./models/main.pml", &absolute] {
        let json = folder.run(&["check", model, "--json", "--trace", "found/one.trace"]).exits(1).json();
        assert_eq!(json["violation"]["file"], "models/check.h", "{model}");
        assert_eq!(json["trace"][0]["file"], "models/check.h", "{model}");
    }
    let replayed = |from: &str, trace: &str| {
        let mut command = folder.command(&["replay", trace, "--json"]);
        let run = common::Run::new(command.current_dir(folder.path(from)).output().expect("the program starts")).exits(0);
        let json = run.json();
        let name = json["violation"]["file"].as_str().expect("a name").to_owned();
        assert_eq!(json["trace"][0]["file"], name.as_str());
        (name, json["model"].as_str().expect("a name").to_owned())
    };
    let pair = |file: &str, model: &str| (file.to_owned(), model.to_owned());
    assert_eq!(replayed(".", "found/one.trace"), pair("models/check.h", "models/main.pml"));
    assert_eq!(replayed("found", "one.trace"), pair("../models/check.h", "../models/main.pml"));
    assert_eq!(replayed("models", "../found/one.trace"), pair("check.h", "main.pml"));
    // All files may be moved together. Without the files, names are shown as they were.
    std::fs::create_dir_all(folder.path("moved")).expect("a folder");
    std::fs::rename(folder.path("models"), folder.path("moved/models")).expect("it can be moved");
    std::fs::rename(folder.path("found"), folder.path("moved/found")).expect("it can be moved");
    assert_eq!(replayed("moved/found", "one.trace"), pair("../models/check.h", "../models/main.pml"));
    std::fs::remove_dir_all(folder.path("moved/models")).expect("it is there");
    assert_eq!(replayed("moved", "found/one.trace"), pair("models/check.h", "models/main.pml"));
}
