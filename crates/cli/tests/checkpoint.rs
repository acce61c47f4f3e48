//! `--checkpoint` and `--resume`: a search in several parts gives the same answer as an
//! uninterrupted one, and only a complete checkpoint of the right search is ever resumed.
#![cfg(unix)]

mod common;

use common::{DEADLOCK, Folder, Run, await_handler, signal};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Three counters, and an assertion that fails when they are nearly done: up to a million states.
fn model(limit: u32, wrong: u32) -> String {
    let counter = "active [3] proctype Counter() { do :: n[_pid] < LIMIT -> n[_pid]++; sum++ :: else -> break od; assert(sum != WRONG) }";
    format!("#define LIMIT {limit}\n#define WRONG {wrong}\nint sum; byte n[3];\n{counter}\n")
}

const NEVER: u32 = 1_000_000;

/// The part of an answer that does not depend on interruptions.
fn essence(json: &Value) -> [Value; 7] {
    ["verdict", "states", "transitions", "depth", "violation", "trace", "omission"].map(|key| json.get(key).cloned().unwrap_or(Value::Null))
}

/// Runs the whole search. Returns its answer, and a third of the time that it took: a run with so
/// much time ends in the middle of the search, however fast the machine is.
fn whole(folder: &Folder, arguments: &[&str]) -> (Value, Duration) {
    let begun = Instant::now();
    let json = folder.run(arguments).exits(0).json();
    (json, begun.elapsed() / 3)
}

fn start(folder: &Folder, arguments: &[&str]) -> Child {
    folder.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

/// Waits until the file has changed. Returns whether it did before the process ended.
fn await_change(child: &mut Child, file: &Path, before: Option<std::time::SystemTime>) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        let now = std::fs::metadata(file).and_then(|metadata| metadata.modified()).ok();
        if now.is_some() && now != before {
            return true;
        }
        if child.try_wait().expect("it can be asked").is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("no checkpoint came");
}

const SAVE: [&str; 5] = ["--json", "--checkpoint", "saved", "--checkpoint-every", "20ms"];

/// Starts a search that saves itself, and kills it after its next checkpoint. Returns whether it
/// could be killed before it ended.
fn kill_after_a_checkpoint(folder: &Folder, arguments: &[&str]) -> bool {
    let file = folder.path("saved");
    let before = std::fs::metadata(&file).and_then(|metadata| metadata.modified()).ok();
    let mut child = start(folder, &[arguments, &SAVE].concat());
    if !await_change(&mut child, &file, before) {
        return false;
    }
    // In the middle of the next part, which is lost.
    std::thread::sleep(Duration::from_millis(10));
    signal(&child, "KILL");
    child.wait().expect("it ends");
    true
}

/// Kills the search between two checkpoints, repeatedly.
fn killed(limit: u32, wrong: u32, options: &[&str]) {
    let folder = Folder::with("model.pml", model(limit, wrong)).all_orders();
    let whole = folder.run(&[&["check", "model.pml", "--json"], options].concat());
    let free: &[&str] = if options.contains(&"--threads") { &["--threads", "1"] } else { &[] };
    let resume = [&["check", "--resume", "saved"], free].concat();
    let first = kill_after_a_checkpoint(&folder, &[&["check", "model.pml"], options].concat());
    assert!(first, "it ended before it could be killed: {options:?}");
    // On a machine with a slow disk the search may end between two checkpoints.
    let _ = kill_after_a_checkpoint(&folder, &resume) && kill_after_a_checkpoint(&folder, &resume);
    let run = folder.run(&[&resume[..], &["--json"]].concat()).exits(whole.code);
    assert_eq!(essence(&run.json()), essence(&whole.json()), "{options:?}");
}

#[test]
fn killed_breadth_first() {
    killed(30, NEVER, &["--threads", "1"]);
}

#[test]
fn killed_breadth_first_compact() {
    killed(30, NEVER, &["--threads", "1", "--store", "compact"]);
}

#[test]
fn killed_breadth_first_two_workers() {
    killed(30, NEVER, &["--store", "plain"]);
}

#[test]
fn killed_depth_first() {
    killed(30, NEVER, &["--search", "dfs", "--store", "plain"]);
}

#[test]
fn killed_over_hashes() {
    killed(30, NEVER, &["--threads", "1", "--store", "hash"]);
}

/// An array so small that it overlooks states: the same ones as in an uninterrupted search, in each
/// run of the series.
#[test]
fn killed_over_bits() {
    killed(30, NEVER, &["--threads", "1", "--store", "bits", "--bits-functions", "1", "--bits-runs", "2", "--memory", "56M"]);
}

/// A cache with room for a fifth of the states. Its size depends on the memory that is free when it
/// is made, and a checkpoint keeps it. So the searches that are compared begin at one checkpoint.
#[test]
fn killed_over_a_cache() {
    let folder = Folder::with("model.pml", model(26, NEVER)).all_orders();
    let memory = folder.budget(10);
    let options = ["--search", "dfs", "--store", "cache", "--memory", &memory];
    let first = kill_after_a_checkpoint(&folder, &[&["check", "model.pml"], &options[..]].concat());
    assert!(first, "it ended before it could be killed");
    std::fs::copy(folder.path("saved"), folder.path("first")).expect("the file can be copied");
    let uninterrupted = folder.run(&["check", "--resume", "first", "--memory", "200M", "--json"]).exits(0).json();
    // The cache does forget states: it holds far fewer than there are.
    let (states, bytes) = (uninterrupted["states"].as_u64(), uninterrupted["store_bytes"].as_u64());
    assert!(states.zip(bytes).is_some_and(|(states, bytes)| states > 250_000 && bytes < states * 20), "{uninterrupted}");
    let resume = ["check", "--resume", "saved", "--memory", "200M"];
    let _ = kill_after_a_checkpoint(&folder, &resume) && kill_after_a_checkpoint(&folder, &resume);
    let run = folder.run(&[&resume[..], &["--json"]].concat()).exits(0);
    assert_eq!(essence(&run.json()), essence(&uninterrupted));
}

#[test]
fn killed_before_a_violation_and_the_trace_is_the_same() {
    // A probe would find the violation at once.
    killed(30, 85, &["--threads", "1", "--search", "bfs"]);
}

#[test]
fn termination_saves_and_ends_with_what_is_known() {
    for (order, name) in [("bfs", "TERM"), ("dfs", "TERM"), ("bfs", "INT")] {
        let folder = Folder::with("model.pml", model(36, NEVER)).all_orders();
        let (whole, third) = whole(&folder, &["check", "model.pml", "--json", "--search", order]);
        let child = start(&folder, &["check", "model.pml", "--json", "--search", order, "--checkpoint", "saved"]);
        await_handler(&child);
        std::thread::sleep(third);
        signal(&child, name);
        let run = Run::new(child.wait_with_output().expect("it ends")).exits(3);
        let json = run.json();
        assert_eq!((&json["verdict"], &json["reason"]), (&"unknown".into(), &"interrupted".into()));
        assert!(run.err.contains("--resume saved"), "{run:?}");
        assert!(json["states"].as_u64() < whole["states"].as_u64(), "{json}");
        let resumed = folder.run(&["check", "--resume", "saved", "--json"]).exits(0).json();
        assert_eq!(essence(&resumed), essence(&whole));
    }
}

#[test]
fn limits_save_too_and_later_runs_may_have_more() {
    let folder = Folder::with("model.pml", model(36, NEVER)).all_orders();
    for command in ["check", "space"] {
        let (whole, third) = whole(&folder, &[command, "model.pml", "--json"]);
        let third = format!("{}ms", third.as_millis().max(1));
        for limit in [["--memory", "16M"], ["--time", &third], ["--depth", "40"]] {
            let arguments = [&[command, "model.pml", "--json", "--checkpoint", "saved"], &limit[..]].concat();
            let run = folder.run(&arguments).exits(3);
            assert!(run.json()["advice"].as_str().is_some_and(|advice| advice.contains(limit[0])), "{run:?}");
            // Another store, and the model itself, are accepted.
            let more = ["--store", "compact", "--depth", "100000"];
            let resumed = folder.run(&[&[command, "model.pml", "--resume", "saved", "--json"], &more[..]].concat()).exits(0).json();
            assert_eq!(essence(&resumed), essence(&whole), "{command} {limit:?}");
        }
    }
    let other = folder.run(&["check", "--resume", "saved"]).exits(2);
    assert!(other.err.contains("everypath space"), "{other:?}");
}

/// A folder with a checkpoint in it.
fn with_checkpoint() -> Folder {
    let folder = Folder::with("model.pml", model(30, NEVER)).all_orders();
    folder.run(&["check", "model.pml", "--depth", "50", "--threads", "1", "--checkpoint", "saved"]).exits(3);
    folder
}

#[test]
fn damaged_and_foreign_files_are_refused() {
    let folder = with_checkpoint();
    let good = std::fs::read(folder.path("saved")).expect("a checkpoint");
    let mut flipped = good.clone();
    let last = flipped.len() - 1;
    flipped[last] ^= 8;
    let longer = [&good[..], b"x"].concat();
    for (what, bytes, says) in [
        ("cut", &good[..good.len() * 2 / 3], "ends too early"),
        ("cut in its beginning", &good[..100], "ends too early"),
        ("flipped", &flipped, "damaged"),
        ("longer", &longer, "damaged"),
        ("empty", b"", "ends too early"),
        ("text", b"this is no checkpoint, but a letter", "not a checkpoint"),
    ] {
        folder.write("bad", bytes);
        let run = folder.run(&["check", "--resume", "bad", "--depth", "1000", "--json"]).exits(2);
        assert!(run.err.contains("bad") && run.err.contains(says), "{what}: {run:?}");
        assert!(run.json()["error"].is_string(), "{what}");
    }
    folder.run(&["check", "--resume", "nowhere"]).exits(2);
    folder.run(&["check", "--resume", "."]).exits(2);

    // The model may be named from any folder, but another model is refused.
    std::fs::create_dir(folder.path("elsewhere")).expect("a folder");
    folder.write("elsewhere/copy.pml", model(30, NEVER));
    let go_on = ["--resume", "saved", "--depth", "1000"];
    folder.run(&[&["check", "elsewhere/copy.pml"], &go_on[..]].concat()).exits(0);
    folder.write("elsewhere/copy.pml", model(31, NEVER));
    let run = folder.run(&[&["check", "elsewhere/copy.pml"], &go_on[..]].concat()).exits(2);
    assert!(run.err.contains("another model"), "{run:?}");
}

/// A store's own format can be restored only by a store of the same kind, and it is protected
/// against damage like states.
#[test]
fn a_checkpoint_of_a_lossy_store_is_for_such_a_store() {
    let folder = Folder::with("model.pml", model(20, NEVER)).all_orders();
    let save = |store: &[&str]| {
        let arguments = ["check", "model.pml", "--threads", "1", "--depth", "30", "--checkpoint", "saved"];
        folder.run(&[&arguments, store].concat()).exits(3);
        std::fs::read(folder.path("saved")).expect("a checkpoint")
    };
    let go_on = ["check", "--resume", "saved", "--depth", "1000", "--json", "--threads", "1"];
    // Half of the budget is for the array of bits.
    let memory = folder.budget(30);
    for store in [&["--store", "hash"][..], &["--store", "bits", "--memory", &memory]] {
        let whole = folder.run(&[&["check", "model.pml", "--json", "--threads", "1"], store].concat()).exits(3).json();
        let good = save(store);
        assert_eq!(essence(&folder.run(&go_on).exits(3).json()), essence(&whole), "{store:?}");
        let run = folder.run(&[&go_on[..], &["--store", "compact"]].concat()).exits(2);
        assert!(run.err.contains("another kind of store"), "{run:?}");
        let mut flipped = good.clone();
        let place = good.len() - good.len() / 4;
        flipped[place] ^= 8;
        for bytes in [&flipped[..], &good[..good.len() / 2]] {
            folder.write("saved", bytes);
            let run = folder.run(&go_on).exits(2);
            assert!(run.err.contains("saved: "), "{run:?}");
        }
    }
    // In the other direction, any store can restore states.
    save(&[]);
    let holds = folder.run(&go_on).exits(0).json();
    let lossy = folder.run(&[&go_on[..], &["--store", "hash"]].concat()).exits(3).json();
    assert_eq!((&lossy["reason"], &lossy["states"]), (&"lossy-store".into(), &holds["states"]));
}

#[test]
fn calls_that_make_no_sense_are_refused() {
    let folder = with_checkpoint();
    folder.write("another.pml", "active proctype P() { skip }");
    for (arguments, says) in [
        (&["check", "model.pml", "--search", "dfs-shared", "--checkpoint", "new"][..], "--search bfs"),
        (&["check", "--resume", "saved", "--store", "bits", "--bits-functions", "2"], "--bits-functions"),
        (&["check", "--resume", "saved", "--bits-runs", "2"], "--store bits"),
        (&["check", "--resume", "saved", "--store", "cache"], "`--search dfs`"),
        (&["check", "--resume", "saved", "--search", "dfs"], "--search"),
        (&["check", "--resume", "saved", "--no-deadlock"], "--no-deadlock"),
        (&["space", "model.pml", "-o", "g.aut", "--checkpoint", "new"], "--checkpoint"),
        (&["check", "model.pml", "--checkpoint", "nowhere/new"], "nowhere/new"),
        (&["check", "model.pml", "--checkpoint", "model.pml"], "not a checkpoint"),
        (&["check", "another.pml", "--checkpoint", "saved"], "another program, `model.pml`"),
        (&["check", "model.pml", "--checkpoint-every", "5s"], "--checkpoint"),
        (&["check"], "MODEL"),
    ] {
        let run = folder.run(arguments).exits(2);
        assert!(run.err.contains(says), "{arguments:?}: {run:?}");
    }
    assert!(folder.read("model.pml").starts_with("#define"), "the model was left alone");
    assert!(!folder.has("new") && !folder.has("new.partial"));
}

#[test]
fn a_violation_at_once_needs_no_checkpoint() {
    let folder = Folder::with("model.epa", DEADLOCK).all_orders();
    folder.run(&["check", "model.epa", "--checkpoint", "saved"]).exits(1);
    assert!(!folder.has("saved") && !folder.has("saved.partial"));
}

/// A limit on the size of files has the same effect as a full disk.
#[test]
fn a_full_disk_costs_the_checkpoint_and_not_the_answer() {
    let folder = with_checkpoint();
    let before = std::fs::read(folder.path("saved")).expect("a checkpoint");
    let program = env!("CARGO_BIN_EXE_everypath");
    let options = "--resume saved --checkpoint saved --checkpoint-every 1ms --depth 1000 --json";
    let script = format!("ulimit -f 16; exec {program} check {options}");
    let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path(".")).output().expect("a shell");
    let run = Run::new(output).exits(0);
    assert_eq!(run.json()["verdict"], "holds");
    assert!(run.err.contains("no checkpoint could be written: saved: "), "{run:?}");
    assert_eq!(std::fs::read(folder.path("saved")).expect("still there"), before, "the good one is untouched");
    assert!(!folder.has("saved.partial"), "half a checkpoint is of no use");
}

/// Warnings of the first run are shown again when the search is resumed, with or without the model.
#[test]
fn warnings_come_back() {
    let folder = Folder::with("model.pml", format!("{}\nD_proctype D() {{ skip }}\n", model(30, NEVER))).all_orders();
    folder.run(&["check", "model.pml", "--checkpoint", "saved", "--depth", "20"]).exits(3);
    for model in [&[][..], &["model.pml"]] {
        let run = folder.run(&[&["check", "--json", "--resume", "saved", "--depth", "1000"], model].concat()).exits(0);
        assert_eq!(run.err.matches("non-determinism in a `D_proctype`").count(), 1, "{run:?}");
        assert!(run.json()["warnings"][0].as_str().is_some_and(|warning| warning.starts_with("model.pml:6:12: ")), "{run:?}");
    }
}

/// A resumed search has the properties that the model states and the user's selection.
#[test]
fn properties_come_back() {
    let folder = Folder::with("model.pml", format!("{}\nltl p {{ [] (sum < 9) }}\n", model(30, NEVER))).all_orders();
    for (part, code) in [(&[][..], 1), (&["--only", "safety"], 0)] {
        folder.run(&[&["check", "model.pml", "--checkpoint", "saved", "--depth", "20"], part].concat()).exits(3);
        let run = folder.run(&["check", "--json", "--resume", "saved", "--depth", "1000"]).exits(code);
        let names: Vec<_> = run.json()["properties"].as_array().expect("a list").iter().map(|p| p["name"].clone()).collect();
        assert_eq!(names.contains(&"p".into()), code == 1, "{run:?}");
    }
    let changed = format!("{}\nltl p {{ [] (sum < 8) }}\n", model(30, NEVER));
    std::fs::write(folder.path("changed.pml"), changed).expect("a file");
    folder.run(&["check", "--resume", "saved", "changed.pml"]).exits(2);
}

/// A depth-first search does not know where it was cut off: it says so, and it never resumes with a
/// greater depth as if nothing were missing.
#[test]
fn a_depth_first_search_that_was_cut_off_does_not_go_deeper() {
    let folder = Folder::with("model.pml", model(20, NEVER)).all_orders();
    let check = |options: &[&str]| folder.run(&[&["check", "model.pml", "--json", "--search", "dfs"], options].concat());
    let whole = check(&["--depth", "40"]).exits(3).json();
    let run = check(&["--depth", "40", "--checkpoint", "saved"]).exits(3);
    assert!(!folder.has("saved") && !folder.has("saved.partial"), "there is nothing to go on with");
    assert!(run.err.contains("saved: the search ended at its depth limit and is not saved") && !run.err.contains("--resume"), "{run:?}");
    let advised =
        |json: &Value| json["advice"].as_str().is_some_and(|advice| advice.contains("begin again") && advice.contains("--search bfs"));
    assert!(advised(&run.json()), "{run:?}");

    // A search that was saved before the limit reaches the same end, but not a greater depth.
    let run = check(&["--depth", "40", "--checkpoint", "saved", "--checkpoint-every", "1ms"]).exits(3);
    assert!(folder.has("saved") && run.err.contains("saved before its end"), "{run:?}");
    let resumed = folder.run(&["check", "--resume", "saved", "--json"]).exits(3).json();
    assert_eq!(essence(&resumed), essence(&whole));
    assert!(advised(&resumed), "{resumed}");
    let deeper = folder.run(&["check", "--resume", "saved", "--json", "--depth", "1000"]).exits(2);
    assert!(deeper.err.contains("cut off at depth 40") && deeper.err.contains("--search bfs"), "{deeper:?}");

    // Before anything was cut off, a greater depth can be given when the search is resumed.
    std::fs::remove_file(folder.path("saved")).expect("it is there");
    check(&["--depth", "100000", "--checkpoint", "saved", "--checkpoint-every", "1ms"]).exits(0);
    let deeper = folder.run(&["check", "--resume", "saved", "--json", "--depth", "200000"]).exits(0).json();
    assert_eq!(essence(&deeper), essence(&check(&[]).exits(0).json()));
}

/// A search resumed in another folder shows file names relative to that folder, and can be saved to
/// the same file again.
#[test]
fn files_are_named_as_seen_from_where_the_search_goes_on() {
    let folder = Folder::new().all_orders();
    for name in ["models", "saved/deep"] {
        std::fs::create_dir_all(folder.path(name)).expect("a folder");
    }
    folder.write("models/main.pml", "#include \"part.h\"\n");
    folder.write("models/part.h", "int n;\nactive proctype P() { do :: n < 20000 -> n++ :: else -> break od;\n assert(n == 1) }\n");
    let save = ["check", "models/main.pml", "--search", "bfs", "--depth", "1000", "--checkpoint", "saved/one"];
    folder.run(&save).exits(3);
    let resumed = |from: &str, file: &str, more: &[&str]| {
        let mut command = folder.command(&[&["check", "--resume", file, "--json"], more].concat());
        common::Run::new(command.current_dir(folder.path(from)).output().expect("the program starts"))
    };
    resumed("saved/deep", "../one", &["--depth", "2000", "--checkpoint", "../one"]).exits(3);
    for (from, file, expected) in [(".", "saved/one", "models/part.h"), ("models", "../saved/one", "part.h")] {
        let json = resumed(from, file, &["--depth", "1000000"]).exits(1).json();
        assert_eq!(json["violation"]["file"], expected);
        assert_eq!(json["trace"][0]["file"], expected);
    }
    // Without the files, names are shown as they were when the search was saved.
    std::fs::remove_dir_all(folder.path("models")).expect("it is there");
    let json = resumed(".", "saved/one", &["--depth", "1000000"]).exits(1).json();
    assert_eq!(json["violation"]["file"], "../../models/part.h");
}

/// Counts to 200 and begins again, without any progress label.
const NO_PROGRESS: &str = "byte x;\nactive proctype P() { do :: x < 200 -> x++ :: x == 200 -> x = 0 od }\n";
/// P moves for ever, and Q is enabled all the time. Only a fair run must have Q's step.
const FAIR: &str = "byte x;\nbool done;\nactive proctype P() { do :: x < 200 -> x++ :: x == 200 -> x = 0 od }\n\
                    active proctype Q() { done = true }\nltl f { <> done }\n";

/// A search that is saved, in a file or in the folder of its states, and resumed without its
/// options answers exactly what was asked.
#[test]
fn a_resumed_check_answers_what_was_asked() {
    let shown = |json: &Value| {
        let each = json["properties"].as_array().expect("the properties").iter();
        let each: Vec<(Value, Value)> = each.map(|judged| (judged["name"].clone(), judged["verdict"].clone())).collect();
        (json["verdict"].clone(), each)
    };
    let weak = ["--fair", "weak"];
    for (model, options, code) in [
        (NO_PROGRESS, &[][..], 0),
        (NO_PROGRESS, &["--non-progress"], 1),
        (FAIR, &[], 1),
        (FAIR, &weak, 0),
        (FAIR, &["--fair", "strong"], 0),
        (FAIR, &["--only", "safety"], 0),
    ] {
        let folder = Folder::with("model.pml", model).all_orders();
        // Depth alone ends the search, so that it is saved.
        let usual = ["check", "model.pml", "--json", "--search", "bfs", "--no-merge", "--engine", "vm", "--threads", "1"];
        let check = [&usual[..], options].concat();
        let whole = folder.run(&check).exits(code).json();
        for (saving, at) in [(["--checkpoint", "saved"], "saved"), (["--disk", "states"], "states")] {
            let cut = folder.run(&[&check[..], &["--depth", "20", "--memory", "64M"], &saving].concat());
            assert!(cut.err.contains(&format!("--resume {at}")), "{cut:?}");
            let resumed = folder.run(&["check", "--resume", at, "--json", "--depth", "100000", "--memory", "64M", "--threads", "1"]);
            let resumed = resumed.exits(code).json();
            assert_eq!(shown(&resumed), shown(&whole), "{options:?} {saving:?}");
        }
    }
}

/// What a saved search does not say is not saved: neither in a file, which is refused, nor in the
/// folder of its states.
#[test]
fn what_would_be_lost_is_not_saved() {
    let folder = Folder::with("model.pml", FAIR).all_orders();
    let usual = ["check", "model.pml", "--search", "bfs", "--no-merge", "--threads", "1", "--depth", "20", "--memory", "64M"];
    for options in [&["--coverage"][..], &["--ltl", "[] (x < 200)"], &["--ctl", "AG (x < 201)"]] {
        let disk = folder.run(&[&usual[..], options, &["--disk", "states"]].concat()).exits(3);
        assert!(!disk.err.contains("--resume"), "{disk:?}");
        folder.run(&["check", "--resume", "states"]).exits(2);
        folder.run(&[&usual[..], options, &["--checkpoint", "saved"]].concat()).exits(2);
        assert!(!folder.has("saved"));
    }
}
