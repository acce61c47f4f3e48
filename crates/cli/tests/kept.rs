//! A violation that is known remains the answer, whatever ends the work that follows: the search
//! for a shorter run, for a trace with fewer switches or for the steps that matter, and the
//! searches for other properties. Each of these takes longer here than anybody would wait.
#![cfg(target_os = "linux")]

mod common;

use common::{Folder, Run, await_handler, signal};
use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

/// Counters with more values than fit into any memory.
const COUNTERS: &str = "byte a, b, d, e;\nactive proctype J() { do :: a++ :: b++ :: d++ :: e++ od }\n";

/// Every lasso has at least sixty steps, and there are many states nearer than that.
const FAR: &str = "byte n;\nactive proctype I() { do :: n < 60 -> n++ :: n == 60 -> n = 60 od }\n";

/// Two processes take turns before an assertion fails.
const TURNS: &str = "byte n;\nactive proctype P() { do :: n < 80 && n % 2 == 0 -> n++ od }\n\
                     active proctype Q() { do :: n < 80 && n % 2 == 1 -> n++ :: n == 80 -> assert(false) od }\n";

/// A long path to an assertion that fails, with steps that do not matter.
const LONG: &str = "int n; byte m;\nactive proctype P() { do :: n < 20000 -> n++; m++ :: else -> assert(false) od }\n";

/// The work that follows a violation: a name, the model, and the options.
fn works() -> Vec<(&'static str, String, Vec<&'static str>)> {
    let all_bits = "[]<>(n < 60 && a >= 0 && b != 7 && d != 9 && e != 11)";
    vec![
        ("a shorter run", format!("{FAR}{COUNTERS}"), vec!["--shortest", "--ltl", all_bits]),
        ("another property", format!("{FAR}{COUNTERS}"), vec!["--ltl", "[] (n < 1)", "--ltl", "[] (a + b + d + e < 3000)"]),
        ("fewer switches", format!("{TURNS}{COUNTERS}"), vec!["--fewest-switches", "--search", "dfs"]),
        ("the steps that matter", LONG.to_owned(), vec!["--causal", "--search", "dfs"]),
    ]
}

/// The processor time of a process in hundredths of a second.
fn worked(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_name.split_whitespace().skip(11).take(2).filter_map(|number| number.parse::<u64>().ok()).sum()
}

#[test]
fn a_limit_does_not_take_a_violation_back() {
    for (work, text, options) in works() {
        let folder = Folder::with("m.pml", text).all_orders();
        let arguments = [&["check", "m.pml", "--json", "--threads", "1", "--memory", "1G", "--time", "3s"], &options[..]].concat();
        let run = folder.run(&arguments).exits(1);
        let json = run.json();
        assert_eq!(json["verdict"], "violated", "{work}: {json}");
    }
}

#[test]
fn a_signal_does_not_take_a_violation_back() {
    for (work, text, options) in works() {
        let folder = Folder::with("m.pml", text).all_orders();
        let arguments = [&["check", "m.pml", "--json", "--threads", "1", "--memory", "1G"], &options[..]].concat();
        let mut command = folder.command(&arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        await_handler(&child);
        // The violation takes some milliseconds.
        while worked(child.id()) < 200 && child.try_wait().expect("it can be asked").is_none() {
            sleep(Duration::from_millis(10));
        }
        assert!(child.try_wait().expect("it can be asked").is_none(), "{work}: it ended by itself");
        signal(&child, "TERM");
        let run = Run::new(child.wait_with_output().expect("it ends")).exits(1);
        assert_eq!(run.json()["verdict"], "violated", "{work}: {run:?}");
    }
}

/// The run that was found is shown if memory does not suffice to find a shorter one, and the answer
/// says so. If the search can end, the shortest run is found.
#[test]
fn a_run_that_may_not_be_the_shortest_is_marked() {
    let folder = Folder::with("m.pml", format!("{FAR}{COUNTERS}")).all_orders();
    let formula = "[]<>(n < 60 && a >= 0 && b != 7 && d != 9 && e != 11)";
    let arguments = ["check", "m.pml", "--json", "--shortest", "--ltl", formula, "--memory", "200M"];
    let json = folder.run(&arguments).exits(1).json();
    let notes = json["properties"][0]["notes"].as_array().map(Vec::len);
    assert_eq!(notes, Some(1), "{json}");
    assert!(json["loop_start"].is_u64(), "{json}");

    // A long run is found first here, and a short one exists.
    let near = "byte n;\nactive proctype I() { do :: n = 1 - n :: n == 1 -> n = 1 od }\n";
    let folder = Folder::with("m.pml", format!("{near}{COUNTERS}")).all_orders();
    let formula = "[]<>(n == 0) && []<>(a >= 0 && b != 7 && d != 9 && e != 11)";
    let arguments = ["check", "m.pml", "--json", "--shortest", "--ltl", formula, "--time", "60s", "--memory", "1G"];
    let json = folder.run(&arguments).exits(1).json();
    assert_eq!(json["properties"][0]["notes"], serde_json::Value::Null, "{json}");
    // `n` becomes 1, and then stays so by two steps for ever.
    assert_eq!((json["trace"].as_array().map(Vec::len), json["loop_start"].as_u64()), (Some(3), Some(1)), "{json}");
}

/// Fairness decides who works and what the options do, and the answer says so.
#[test]
fn notes_tell_what_fairness_excludes() {
    let model =
        "byte x;\nactive proctype P() { do :: x = 1 - x od }\nactive proctype Q() { do :: x == 1 -> x = 0 od }\nltl f { <>[] (x == 0) }\n";
    let folder = Folder::with("m.pml", model);
    let json = folder.run(&["check", "m.pml", "--json", "--fair", "weak", "--threads", "2", "--shortest"]).exits(1).json();
    let property = json["properties"].as_array().expect("properties").iter().find(|property| property["name"] == "f");
    let notes = property.expect("the formula")["notes"].as_array().expect("notes");
    assert_eq!(notes.len(), 3, "one worker, no reduction, not shortened: {notes:?}");
    let json = folder.run(&["check", "m.pml", "--json", "--threads", "2"]).exits(1).json();
    assert!(json["properties"].as_array().expect("properties").iter().all(|property| property["notes"].is_null()), "{json}");
}
