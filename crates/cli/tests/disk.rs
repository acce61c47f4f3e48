//! `--disk`: states in real files give the answer that memory gives, a saved search is continued,
//! and files of others are left alone.

mod common;

use common::{Folder, signal};
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Three counters, and an assertion that fails when they are nearly done: about 400 000 states.
fn model(wrong: u32) -> String {
    let counter = "active [3] proctype Counter() { do :: n[_pid] < 24 -> n[_pid]++; sum++ :: else -> break od; assert(sum != WRONG) }";
    format!("#define WRONG {wrong}\nint sum; byte n[3];\n{counter}\n")
}

const NEVER: u32 = 1_000_000;

/// The part of an answer that does not depend on where the states are.
fn essence(json: &Value) -> [Value; 5] {
    let steps = json["trace"].as_array().map(Vec::len).into();
    [json["verdict"].clone(), json["states"].clone(), json["transitions"].clone(), json["depth"].clone(), steps]
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A folder with the model, in which all orders are explored breadth first.
fn folder() -> Folder {
    Folder::with("model.pml", model(NEVER)).all_orders()
}

/// A search that goes to the disk.
const SEARCH: [&str; 7] = ["check", "model.pml", "--json", "--search", "bfs", "--disk", "states"];

/// The arguments of that search with others.
fn with<'a>(others: &[&'a str]) -> Vec<&'a str> {
    [&SEARCH[..], others].concat()
}

/// `auto` keeps states whole, then compressed, then on disk; the search says so, and gives the same
/// answer, with one worker and with several, from the first level on disk or from a later one.
#[test]
fn the_answer_is_that_of_a_search_in_memory() {
    let folder = folder();
    let (little, more) = (folder.budget(2), folder.budget(5));
    for wrong in [NEVER, 60] {
        folder.write("model.pml", model(wrong));
        let code = i32::from(wrong != NEVER);
        let expected = folder.run(&["check", "model.pml", "--json", "--search", "bfs"]).exits(code).json();
        for options in [
            &["--memory", &little, "--threads", "1"][..],
            &["--memory", &more, "--threads", "2"],
            &["--memory", &little, "--threads", "1", "--store", "disk"],
            &["--memory", "900K", "--threads", "2", "--store", "disk"],
        ] {
            let run = folder.run(&with(options)).exits(code);
            let json = run.json();
            let mut same = [essence(&json), essence(&expected)];
            if code == 1 {
                // When a violation was found, the search ends somewhere within a level.
                same.iter_mut().for_each(|one| one[1..4].fill(Value::Null));
            }
            assert_eq!(same[0], same[1], "{options:?}: {run:?}");
            // The larger budget may be enough for compressed states.
            let is_on_disk = json["disk"]["bytes"].as_u64() > Some(0);
            assert!(is_on_disk || options.contains(&more.as_str()), "{options:?}: {json}");
            assert_eq!(files(&folder.path("states")), [""; 0], "nothing is left behind");
        }
        let json = folder.run(&with(&["--memory", "1G"])).exits(code).json();
        assert!(json["disk"].is_null(), "it fits into memory: {json}");
    }
}

/// A search stopped by the time limit, by a limit on the size, and by a full disk is continued.
#[test]
fn a_search_that_ends_early_is_continued() {
    let folder = folder();
    let expected = folder.run(&["check", "model.pml", "--json", "--search", "bfs"]).exits(0).json();
    let little = folder.budget(2);
    let run = folder.run(&with(&["--memory", &little, "--depth", "40"])).exits(3);
    assert!(run.err.contains("--resume states"), "{run:?}");
    assert!(files(&folder.path("states")).contains(&"search.saved".to_owned()));
    // Nobody else may use the folder.
    let run = folder.run(&with(&[])).exits(2);
    assert!(run.err.contains("states holds a saved search"), "{run:?}");
    let resumed = folder.run(&["check", "--resume", "states", "--memory", &little, "--depth", "1000", "--json"]).exits(0).json();
    assert_eq!(essence(&resumed), essence(&expected));
    assert_eq!(files(&folder.path("states")), [""; 0], "nothing is left behind");
    // Searches for temporal properties in the same folder leave the saved search alone.
    folder.write("both.pml", model(NEVER) + "ltl p { [] (sum < 100) } ltl q { [] <> (sum == 72) }\n");
    let call = ["check", "both.pml", "--store", "disk", "--memory", &little, "--disk", "states"];
    folder.run(&[&call[..], &["--depth", "40"]].concat()).exits(3);
    let resumed = folder.run(&["check", "--resume", "states", "--memory", &little, "--depth", "1000", "--json"]).exits(0).json();
    assert_eq!(resumed["verdict"], "holds", "{resumed}");
    // The space ends while states move, or later. The advice names the way out.
    for size in ["10K", "40K", "100K"] {
        let place = format!("states:{size}");
        let call = ["check", "model.pml", "--json", "--search", "bfs", "--memory", &little, "--disk", &place];
        let run = folder.run(&call).exits(3);
        let json = run.json();
        assert!(json["states"].as_u64() > Some(1000), "{json}");
        assert!(json["message"].as_str().is_some_and(|text| text.contains("limit")), "{json}");
        assert!(json["advice"].as_str().is_some_and(|text| text.contains("--disk FOLDER:SIZE") && text.contains("resume")), "{json}");
        let resumed = folder.run(&["check", "--resume", "states", "--disk", "states:1G", "--memory", &little, "--json"]).exits(0).json();
        assert_eq!(essence(&resumed), essence(&expected), "{size}");
        assert_eq!(files(&folder.path("states")), [""; 0], "nothing is left behind");
    }
}

/// A limit on the size of files has the effect of a full disk.
#[test]
#[cfg(unix)]
fn a_full_disk_is_told_with_its_advice() {
    let folder = folder();
    let little = folder.budget(2);
    let program = env!("CARGO_BIN_EXE_everypath");
    let call = format!("{program} check model.pml --no-por --no-unused --json --search bfs --memory {little} --disk states");
    let script = format!("ulimit -f 16; trap '' XFSZ; exec {call}");
    let output = std::process::Command::new("sh").args(["-c", &script]).current_dir(folder.path(".")).output().expect("a shell");
    let run = common::Run::new(output).exits(3);
    let json = run.json();
    assert_eq!(json["reason"], "storage", "{json}");
    assert!(json["states"].as_u64() > Some(1000), "{json}");
    assert!(json["advice"].as_str().is_some_and(|text| text.contains("make room on the disk")), "{json}");
}

/// Two searches do not share a folder, and a search that was killed at any moment is continued.
#[test]
#[cfg(unix)]
fn a_folder_is_for_one_search_and_survives_its_death() {
    let folder = folder();
    let expected = folder.run(&["check", "model.pml", "--json", "--search", "bfs"]).exits(0).json();
    let little = folder.budget(2);
    let kept = ["--memory", &little, "--checkpoint", "saved", "--checkpoint-every", "10ms"];
    let mut child = folder.command(&with(&kept)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let begun = Instant::now();
    let is_there = |name: &str| files(&folder.path("states")).iter().any(|file| file.ends_with(name));
    while !(folder.has("saved") && is_there(".run")) && child.try_wait().expect("a child").is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is saved");
        std::thread::sleep(Duration::from_millis(1));
    }
    let second = folder.run(&with(&["--memory", &little]));
    signal(&child, "KILL");
    let _ = child.wait();
    if !folder.has("states/in-use") {
        testkit::passed_over("the search ended before it could be killed");
        return;
    }
    assert!(second.code == 2 && second.err.contains("another search uses the folder"), "{second:?}");
    // Its states are only for the search that resumes it.
    for others in [&["--memory", &little][..], &["--memory", &little, "--checkpoint", "other"]] {
        let run = folder.run(&with(others)).exits(2);
        assert!(run.err.contains("the states of the search saved in") && run.err.contains("--resume"), "{run:?}");
    }
    let resumed = folder.run(&["check", "--resume", "saved", "--disk", "states", "--memory", &little, "--json"]).exits(0).json();
    assert_eq!(essence(&resumed), essence(&expected));
    assert!(!is_there(".run"));
}

/// A saved search in the folder, and files that no search has made, are left alone.
#[test]
fn files_of_others_are_left_alone() {
    let folder = folder();
    let little = folder.budget(2);
    folder.run(&with(&["--memory", &little, "--depth", "40"])).exits(3);
    folder.run(&["check", "model.pml", "--search", "bfs", "--depth", "20", "--checkpoint", "saved"]).exits(3);
    let before = files(&folder.path("states"));
    let run = folder.run(&["check", "--resume", "saved", "--disk", "states", "--depth", "1000"]).exits(2);
    assert!(run.err.contains("states holds a saved search"), "{run:?}");
    assert_eq!(files(&folder.path("states")), before);
    // The same folder by another name is the folder.
    let resumed = ["check", "--resume", "states/search.saved", "--disk", "./states/../states", "--depth", "1000", "--memory", &little];
    folder.run(&resumed).exits(0);
    for (name, is_refused) in [("00000003.run", true), ("in-use", true), ("3.run", false), ("+0000003.run", false), ("notes.run", false)] {
        let theirs = folder.path("theirs");
        std::fs::create_dir_all(&theirs).expect("writable");
        std::fs::write(theirs.join(name), "a marathon").expect("writable");
        let run = folder.run(&["check", "model.pml", "--search", "bfs", "--memory", &little, "--disk", "theirs"]);
        assert_eq!(run.code, if is_refused { 2 } else { 0 }, "{name}: {run:?}");
        assert_eq!(std::fs::read(theirs.join(name)).expect("it is there"), b"a marathon");
        assert_eq!(files(&theirs), [name]);
        std::fs::remove_dir_all(&theirs).expect("writable");
    }
}

/// Searches that cannot go to the disk say so, or stay in memory with the same answer.
#[test]
fn other_searches_stay_in_memory_or_begin_again() {
    let folder = Folder::with("model.pml", model(NEVER) + "ltl p { <> (sum == 72) }\n").all_orders();
    folder.write("small.pml", "byte n; active proctype P() { do :: n < 9 -> n++ :: n == 9 -> n = 0 od } ltl p { [] <> (n == 9) }");
    let disk = ["--disk", "states", "--memory", "200M", "--json"];
    for options in [&["--search", "dfs"][..], &["--search", "sweep", "--measure", "n"], &["--ltl", "p"]] {
        let call = [&["check", "small.pml"], options, &disk].concat();
        let here = folder.run(&call).exits(0).json();
        assert!(here["disk"].is_null(), "{options:?}: {here}");
        let call = [&["check", "small.pml", "--json"], options].concat();
        assert_eq!(essence(&here), essence(&folder.run(&call).exits(0).json()), "{options:?}");
    }
    // A temporal property, and a sweep, that begin again with all states in files.
    let little = folder.budget(3);
    let expected = folder.run(&["check", "model.pml", "--ltl", "p", "--json"]).exits(0).json();
    for (store, note) in [("disk", ""), ("auto", "the search for cycles begins again on disk")] {
        let call = ["check", "model.pml", "--ltl", "p", "--store", store, "--disk", "states", "--memory", &little, "--json"];
        let run = folder.run(&call).exits(0);
        assert_eq!(run.json()["verdict"], expected["verdict"]);
        assert!(run.err.contains(note) && run.json()["disk"]["bytes"].as_u64() > Some(0), "{run:?}");
    }
    let sweep = ["check", "model.pml", "--only", "safety", "--search", "sweep", "--measure", "n[0]", "--threads", "1", "--json"];
    let expected = folder.run(&sweep).exits(0).json();
    let tight = folder.budget(0);
    let run = folder.run(&[&sweep[..], &["--disk", "states", "--memory", &tight]].concat()).exits(0);
    let found = run.json();
    assert!(run.err.contains("the sweep begins again on disk"), "{run:?}");
    for number in ["verdict", "states", "transitions", "layers"] {
        assert_eq!(found[number], expected[number], "{number}: {run:?}");
    }
    assert_eq!(files(&folder.path("states")), [""; 0], "nothing is left behind");
}

/// A folder for temporary files may be in memory, and then it does not help.
#[test]
#[cfg(target_os = "linux")]
fn a_folder_in_memory_is_told() {
    let is_in_memory = |place: &str| {
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
        mounts.lines().any(|line| line.split(' ').nth(1) == Some(place) && line.split(' ').nth(2) == Some("tmpfs"))
    };
    let place = std::env::temp_dir().join("x");
    if !is_in_memory("/dev/shm") || std::fs::write("/dev/shm/everypath-test", "").is_err() || is_in_memory(&place.to_string_lossy()) {
        testkit::passed_over("there is no folder in memory");
        return;
    }
    let _ = std::fs::remove_file("/dev/shm/everypath-test");
    let folder = Folder::with("small.pml", "active proctype P() { skip }");
    let call = ["check", "small.pml", "--store", "disk"];
    let output = folder.command(&call).env("TMPDIR", "/dev/shm").output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("in memory") && text.contains("--disk FOLDER"), "{text}");
    assert!(!folder.run(&[&call[..], &["--disk", "states"]].concat()).exits(0).err.contains("in memory"));
}
