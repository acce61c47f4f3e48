//! `everypath check`: verdicts, exit codes, the JSON that scripts rely on, limits.

mod common;

use common::{DEADLOCK, ENDLESS, FINE, Folder, LOST_UPDATE};
use serde_json::Value;

const NUMBERS: [&str; 6] = ["states", "transitions", "depth", "seconds", "peak_memory_bytes", "store_bytes"];

fn check(model: &str, options: &[&str], code: i32) -> Value {
    let folder = Folder::with("model.epa", model);
    let run = folder.run(&[&["check", "model.epa", "--json"], options].concat()).exits(code);
    let json = run.json();
    for key in NUMBERS {
        assert!(json[key].is_number(), "{key}: {json}");
    }
    json
}

#[test]
fn holds() {
    for order in ["bfs", "dfs"] {
        for (options, least) in [(&["--no-por"][..], 20), (&[], 5)] {
            let json = check(FINE, &[&["--search", order], options].concat(), 0);
            assert_eq!(json["verdict"], "holds");
            assert!(json.get("reason").is_none() && json.get("violation").is_none() && json.get("trace").is_none(), "{json}");
            assert!(json["states"].as_u64() > Some(least), "{json}");
        }
    }
}

#[test]
fn a_failed_assertion_is_shown_with_its_path() {
    let json = check(LOST_UPDATE, &[], 1);
    assert_eq!(json["verdict"], "violated");
    assert_eq!(json["violation"]["kind"], "assertion violated");
    assert_eq!(json["violation"]["file"], "model.epa");
    let line = LOST_UPDATE.lines().position(|line| line.contains("assert(")).expect("it is there") + 1;
    assert_eq!(json["violation"]["line"], line);
    assert!(json["violation"]["message"].is_string());
    let trace = json["trace"].as_array().expect("a list");
    assert_eq!(trace.len(), 8, "breadth first finds the shortest: {json}");
    for step in trace {
        assert!(step["process"].is_string() && step["pid"].is_u64() && step["line"].is_u64(), "{step}");
        assert_eq!(step["file"], "model.epa");
    }
    assert_eq!(trace[7]["process"], "Watch");
    assert_eq!(trace[7]["pid"], 2);
    assert_eq!(trace[7]["statement"], "assert(x == 2)");
    let increments = trace.iter().filter(|step| step["statement"] == "x = copy + 1");
    assert_eq!(increments.count(), 2);
}

#[test]
fn a_deadlock_is_found_and_can_be_left_alone() {
    for order in ["bfs", "dfs"] {
        let json = check(DEADLOCK, &["--search", order], 1);
        assert_eq!(json["violation"]["kind"], "invalid end state");
        assert_eq!(json["trace"].as_array().map(Vec::len), Some(2), "{json}");
        // Some process is blocked, and the report says where.
        assert_eq!(json["violation"]["file"], "model.epa");
    }
    assert_eq!(check(DEADLOCK, &["--no-deadlock"], 0)["verdict"], "holds");
}

#[test]
fn limits_make_the_answer_unknown() {
    for order in ["bfs", "dfs"] {
        for (limit, value, reason) in [("--depth", "10", "depth"), ("--memory", "24M", "memory"), ("--time", "1s", "time")] {
            let json = check(ENDLESS, &["--search", order, limit, value], 3);
            assert_eq!(json["verdict"], "unknown", "{order} {limit}");
            assert_eq!(json["reason"], reason, "{order} {limit}");
            assert!(json["states"].as_u64() > Some(5), "{json}");
        }
    }
    // A violation within the depth limit is reported; a search that ends at the limit does not say
    // that there is none.
    assert_eq!(check(DEADLOCK, &["--depth", "2"], 3)["verdict"], "unknown");
    assert_eq!(check(DEADLOCK, &["--depth", "3"], 1)["verdict"], "violated");
}

#[test]
fn text_says_the_same() {
    let folder = Folder::with("model.epa", LOST_UPDATE);
    let run = folder.run(&["check", "model.epa"]).exits(1);
    assert!(run.out.starts_with("violated"), "{run:?}");
    assert!(run.out.contains("x = copy + 1"), "{run:?}");
    assert_eq!(run.err, "", "progress is for terminals");
    let folder = Folder::with("model.epa", FINE);
    assert!(folder.run(&["check", "model.epa"]).exits(0).out.starts_with("holds"));
}

#[test]
fn one_worker_gives_the_same_answer_every_time() {
    let answer = || {
        let mut json = check(LOST_UPDATE, &["--threads", "1"], 1);
        for measured in ["seconds", "peak_memory_bytes"] {
            json[measured] = Value::Null;
        }
        json["probe"]["seconds"] = Value::Null;
        for property in json["properties"].as_array_mut().into_iter().flatten() {
            property["seconds"] = Value::Null;
        }
        json
    };
    assert_eq!(answer(), answer());
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_with_what_is_known() {
    use std::process::Stdio;
    use std::time::Duration;

    let folder = Folder::with("model.epa", ENDLESS);
    let child = folder
        .command(&["check", "model.epa", "--json", "--memory", "2G", "--time", "60s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    common::await_handler(&child);
    // In the middle of the search.
    std::thread::sleep(Duration::from_millis(400));
    common::signal(&child, "INT");
    let run = common::Run::new(child.wait_with_output().expect("the program ends")).exits(3);
    let json = run.json();
    assert_eq!(json["verdict"], "unknown");
    assert_eq!(json["reason"], "interrupted");
    assert!(json["states"].as_u64() > Some(1), "{json}");
}

#[test]
fn a_model_may_come_in() {
    let folder = Folder::with("limit.h", "#define LIMIT 3\n");
    let promela = "#include \"limit.h\"\nbyte n; active proctype P() { do :: n < LIMIT -> n++ od }\n";
    let run = folder.run_with(&["check", "-", "--json"], promela).exits(1);
    assert_eq!(run.json()["violation"]["file"], "standard input");
    let run = folder.run_with(&["check", "-"], LOST_UPDATE).exits(1);
    assert!(run.out.contains("assert(x == 2)"), "{run:?}");
    let run = folder.run_with(&["check", "-"], "byte n; init { n = }").exits(2);
    assert!(run.err.contains("standard input:1:"), "{run:?}");
    // In an `#include`, `-` is the name of a file.
    let run = folder.run_with(&["check", "-"], "#include \"-\"\ninit { skip }").exits(2);
    assert!(run.err.contains("cannot read -"), "{run:?}");
    let run = folder.run_with(&["simulate", "-", "--interactive"], LOST_UPDATE).exits(2);
    assert!(run.err.contains("both the model and the choices"), "{run:?}");
}

#[test]
fn promela_is_read_with_its_definitions_and_included_files() {
    let folder = Folder::with(
        "model.pml",
        "#include \"parts/limit.h\"\nbyte n;\nactive proctype P() { do :: n < LIMIT -> n++ :: else -> break od; assert(n < WRONG) }\n",
    );
    std::fs::create_dir(folder.path("parts")).expect("the folder can be written");
    folder.write("parts/limit.h", "#define LIMIT 3\n");
    let run = |wrong: &str, code| folder.run(&["check", "model.pml", "--json", "-D", wrong]).exits(code).json();
    assert_eq!(run("WRONG=4", 0)["verdict"], "holds");
    let json = run("WRONG=3", 1);
    assert_eq!(json["violation"]["kind"], "assertion violated");
    assert_eq!(json["violation"]["line"], 3);
    let run = folder.run(&["check", "model.pml"]).exits(2);
    assert!(run.err.contains("WRONG") && run.err.contains("model.pml:3:"), "{run:?}");
}

/// A process that is blocked in a selection lists all its options.
#[test]
fn a_blocked_process_tells_where_its_options_come_from() {
    let text = "byte x;\ninline wait(v) {\n\tif\n\t:: v == 3\n\t:: v > 4\n\tfi\n}\ninit {\n\twait(x)\n}\n";
    let folder = Folder::with("model.pml", text);
    let json = folder.run(&["check", "model.pml", "--json"]).exits(1).json();
    let options = &json["processes"][0]["options"];
    assert_eq!((&options[0]["line"], &options[0]["origin"]["line"]), (&9.into(), &4.into()), "{options}");
    assert_eq!((&options[1]["statement"], &options[1]["origin"]["line"]), (&"x > 4".into(), &5.into()), "{options}");
    let text = folder.run(&["check", "model.pml"]).exits(1).out;
    assert!(text.contains("x == 3  (from line 4)") && text.contains("x > 4  (from line 5)"), "{text}");
}

#[test]
fn a_blocked_process_lists_all_its_options() {
    let text = "chan q = [1] of { byte }; chan r = [0] of { byte }; bool go;\n\
        active proctype A() { byte x;\n do\n :: q?x\n :: r?x\n :: go -> break\n od }\n\
        active proctype B() { byte y;\n { if\n :: y > 3\n :: r?y\n fi } unless { go } }\n\
        active proctype C() {\n go }\n";
    let folder = Folder::with("model.pml", text);
    let json = folder.run(&["check", "model.pml", "--json"]).exits(1).json();
    assert_eq!(json["violation"]["kind"], "invalid end state");
    let options = |process: usize| -> Vec<(u64, String)> {
        let options = json["processes"][process]["options"].as_array().expect("a list");
        let one = |option: &serde_json::Value| {
            assert_eq!(option["file"], "model.pml");
            (option["line"].as_u64().expect("a line"), option["statement"].as_str().expect("a text").to_owned())
        };
        options.iter().map(one).collect()
    };
    let own = |list: &[(u64, &str)]| list.iter().map(|&(line, text)| (line, text.to_owned())).collect::<Vec<_>>();
    assert_eq!(options(0), own(&[(4, "q?x"), (5, "r?x"), (6, "go")]));
    assert_eq!(options(1), own(&[(10, "y > 3"), (11, "r?y"), (12, "go")]));
    assert_eq!(options(2), own(&[(14, "go")]));
    folder.run(&["check", "model.pml", "--trace", "found.trace"]).exits(1);
    let shown = [folder.run(&["check", "model.pml"]).exits(1), folder.run(&["replay", "found.trace"]).exits(0)];
    for run in shown {
        for line in ["model.pml:4", "model.pml:5", "model.pml:6", "model.pml:10", "model.pml:11", "model.pml:12", "model.pml:14"] {
            assert!(run.out.contains(line), "{line}: {}", run.out);
        }
    }
}

const INLINED: &str = "byte x, y;
inline add(v, n) {
\tv = v + n;
\tassert(v < 3)
}
active proctype P() {
\tadd(x, 2);
\tadd(y, 1 + x)
}
";

/// The message contains the expression. A statement from an inline has its actual names and both
/// its positions.
#[test]
fn statements_of_inlines_are_shown_with_actual_names() {
    let folder = Folder::with("model.pml", INLINED);
    let run = folder.run(&["check", "model.pml"]).exits(1);
    assert!(run.out.starts_with("violated: assertion violated: y < 3 (model.pml:8:2)\n"), "{}", run.out);
    let line = run.out.lines().find(|line| line.contains("y = y + 1 + x")).expect("a step");
    assert!(line.contains("model.pml:8") && line.ends_with("y = y + 1 + x  (from line 3)"), "{line}");
    let json = folder.run(&["check", "model.pml", "--json"]).exits(1).json();
    assert_eq!(json["violation"]["kind"], "assertion violated");
    assert_eq!(json["violation"]["message"], "assertion violated: y < 3");
    let step = &json["trace"][2];
    assert_eq!((&step["line"], &step["statement"]), (&8.into(), &"y = y + 1 + x".into()));
    assert_eq!(step["origin"], serde_json::json!({ "file": "model.pml", "line": 3 }));
    let simulated = folder.run(&["simulate", "model.pml", "--seed", "1"]);
    assert!(simulated.out.contains("x = x + 2  (from line 3)"), "{}", simulated.out);
}

/// A defined name that the model does not use is probably misspelled.
#[test]
fn definitions_that_the_model_never_uses_are_told() {
    let folder = Folder::with("model.pml", "#ifndef SIZE\n#define SIZE 1\n#endif\nbyte a[SIZE];\ninit { skip }\n");
    let run = folder.run(&["check", "-D", "SIZ=2", "model.pml"]).exits(0);
    assert!(run.err.contains("the model never uses `SIZ`") && run.err.contains("did you mean `SIZE`?"), "{}", run.err);
    let run = folder.run(&["check", "-D", "SIZE=2", "model.pml"]).exits(0);
    assert!(!run.err.contains("never uses"), "{}", run.err);
}

/// Six counters, and an assertion that fails when all are done: hundreds of steps deep, among
/// thousands of millions of states.
const DEEP: &str =
    "byte sum, i[6]; active [6] proctype P() { do :: i[_pid] < 40 -> i[_pid]++ :: else -> break od; sum++; assert(sum != 6) }\n";

#[test]
fn a_deep_violation_is_found_without_asking_and_told_with_how() {
    // With a reduction, the breadth-first search would find it too.
    let folder = Folder::with("deep.pml", DEEP).all_orders();
    let check =
        |options: &[&str], code| folder.run(&[&["check", "deep.pml", "--json", "--threads", "1"], options].concat()).exits(code).json();
    let json = check(&[], 1);
    let found = json["probe"]["found"].as_u64().expect("the probe found it");
    assert_eq!((&json["probe"]["answers"], &json["search"]), (&true.into(), &"dfs".into()), "{}", json["probe"]);
    assert_eq!(json["states"], json["probe"]["states"], "the numbers are those of the probe");
    let steps = json["trace"].as_array().map_or(0, |trace| trace.len() as u64);
    assert!((1..=found).contains(&steps), "{steps} of {found}");
    let again = check(&[], 1);
    for key in ["states", "transitions", "depth", "violation", "trace"] {
        assert_eq!(again[key], json[key], "{key}: one worker gives the same answer every time");
    }
    let text = folder.run(&["check", "deep.pml"]).exits(1).out;
    assert!(text.contains("found by a depth-first probe") && text.contains("`--search bfs`"), "{text}");
    // The pure breadth-first search does not find it, and its advice names a search that may.
    let pure = check(&["--search", "bfs", "--time", "500ms"], 3);
    assert!(pure["probe"].is_null() && pure["advice"].as_str().is_some_and(|advice| advice.contains("--search dfs")), "{pure}");
    // The trace can be replayed, however it was found.
    folder.run(&["check", "deep.pml", "--trace", "found.trace"]).exits(1);
    folder.run(&["replay", "found.trace", "--json"]).exits(0);
    // After an interrupt or a limit the violation is still reported, but perhaps not with the
    // shortest path.
    let limited = check(&["--memory", "24M"], 1);
    assert_eq!(limited["verdict"], "violated");
}

#[test]
fn where_the_probe_is_not_needed_the_answer_is_that_of_the_breadth_first_search() {
    for model in [LOST_UPDATE, DEADLOCK] {
        let folder = Folder::with("model.epa", model);
        let check = |options: &[&str]| folder.run(&[&["check", "model.epa", "--json", "--threads", "1"], options].concat()).json();
        let (probed, pure, named) = (check(&[]), check(&["--search", "bfs"]), check(&["--search", "auto"]));
        for key in ["verdict", "states", "transitions", "depth", "violation", "trace", "search"] {
            assert_eq!((&probed[key], &named[key]), (&pure[key], &pure[key]), "{key}");
        }
        assert_eq!(probed["probe"]["answers"], false, "{probed}");
        assert_eq!(probed["probe"]["found"].is_u64(), probed["verdict"] == "violated", "{probed}");
        assert!(pure["probe"].is_null());
    }
    // If the probe has seen the whole state space, it is not searched again.
    let folder = Folder::with("model.epa", FINE);
    let check = |options: &[&str]| folder.run(&[&["check", "model.epa", "--json"], options].concat()).exits(0).json();
    let (probed, pure) = (check(&[]), check(&["--search", "bfs"]));
    for key in ["verdict", "states", "transitions"] {
        assert_eq!(probed[key], pure[key], "{key}");
    }
    assert_eq!(
        (&probed["search"], &probed["probe"]["answers"], &probed["states"]),
        (&"dfs".into(), &true.into(), &probed["probe"]["states"])
    );
    // A user who asks for an inexact store gets the answer of that store.
    let lossy = folder.run(&["check", "model.epa", "--json", "--store", "hash"]).exits(3).json();
    assert_eq!((&lossy["search"], &lossy["probe"]["answers"]), (&"bfs".into(), &false.into()), "{lossy}");
    // A limit that also stops the probe does not make the answer worse.
    let folder = Folder::with("model.epa", ENDLESS);
    let json = folder.run(&["check", "model.epa", "--json", "--depth", "50"]).exits(3).json();
    assert_eq!((&json["reason"], &json["states"]), (&"depth".into(), &51.into()), "{json}");
}
