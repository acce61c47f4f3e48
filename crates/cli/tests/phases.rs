//! `--time` and Ctrl-C in every phase of a run: reading, searching over every store in every order, taking and reading checkpoints, making
//! traces, writing graphs.
//!
//! A clock on the wall says little on a busy machine. What counts is the processor time a run takes beyond its limit, or after the signal:
//! that is what the program does although it was asked to stop. Each phase here would take many times as long if nobody looked.
#![cfg(target_os = "linux")]

mod common;

use common::{Folder, Run, await_handler, signal};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// What a run may do after it was asked to stop. Most need a tenth of it.
const LATE: Duration = Duration::from_millis(1000);

/// Six counters up and down: more states than anybody has memory for, wide and deep.
const VAST: &str = "active [6] proctype P() { byte i; do :: i < 200 -> i++ :: i > 0 -> i-- od }\n";

/// The processor time in a line of the system: of a process itself from field 14 on, of its children that ended from field 16 on.
fn processor_time(stat: &str, field: usize) -> Duration {
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 = after_name.split_whitespace().skip(field - 3).take(2).filter_map(|number| number.parse::<u64>().ok()).sum();
    // A hundredth of a second each, on every Linux there is.
    Duration::from_millis(ticks * 10)
}

fn of_children() -> Duration {
    processor_time(&fs::read_to_string("/proc/self/stat").expect("the system tells"), 16)
}

fn of(child: &Child) -> Duration {
    fs::read_to_string(format!("/proc/{}/stat", child.id())).map_or(Duration::ZERO, |stat| processor_time(&stat, 14))
}

/// Waits for a run that must end by itself, and soon.
fn end(mut child: Child, what: &str) -> Run {
    for _ in 0..1200 {
        if child.try_wait().expect("it can be asked").is_some() {
            return Run::new(child.wait_with_output().expect("it has ended"));
        }
        sleep(Duration::from_millis(50));
    }
    child.kill().expect("it can be killed");
    panic!("{what}: it does not end");
}

/// Starts a command whose output nobody reads before its end, so it goes to files.
fn start(folder: &Folder, arguments: &[&str]) -> Child {
    let file = |name: &str| fs::File::create(folder.path(name)).expect("the folder can be written");
    let mut command = folder.command(arguments);
    command.stdin(Stdio::piped()).stdout(file("out")).stderr(file("err")).spawn().expect("the program starts")
}

/// Runs a command with this limit of time, and demands that it does little beyond.
fn limited(folder: &Folder, arguments: &[&str], milliseconds: u64) -> i32 {
    let before = of_children();
    let time = format!("{milliseconds}ms");
    let child = start(folder, &[arguments, &["--time", &time]].concat());
    let code = end(child, &format!("{arguments:?}")).code;
    let taken = of_children() - before;
    let late = taken.saturating_sub(Duration::from_millis(milliseconds));
    assert!(late < LATE, "{arguments:?}: {late:?} of work beyond {time}");
    assert!((0..=3).contains(&code), "{arguments:?}: {code}, {}", folder.read("err"));
    code
}

/// Interrupts a command when it has worked for some time, and demands that it does little afterwards.
fn interrupted(folder: &Folder, arguments: &[&str], milliseconds: u64, caught: bool) {
    let before = of_children();
    let mut child = start(folder, arguments);
    if caught {
        await_handler(&child);
    }
    while of(&child) < Duration::from_millis(milliseconds) && child.try_wait().expect("it can be asked").is_none() {
        sleep(Duration::from_millis(5));
    }
    let worked = of(&child);
    if child.try_wait().expect("it can be asked").is_none() {
        signal(&child, "INT");
    }
    end(child, &format!("{arguments:?}"));
    let taken = of_children().saturating_sub(before);
    // The shell that sends the signal is a child too.
    let late = taken.saturating_sub(worked);
    assert!(late < LATE || worked.is_zero(), "{arguments:?}: {late:?} of work after the interrupt at {worked:?}");
}

fn every_search() -> Vec<Vec<&'static str>> {
    let stores = ["auto", "plain", "compact", "hash", "bits"];
    let orders = ["auto", "bfs", "dfs", "dfs-shared"];
    let mut all: Vec<Vec<&str>> =
        orders.iter().flat_map(|&order| stores.map(|store| vec!["--search", order, "--store", store, "--memory", "200M"])).collect();
    all.push(vec!["--search", "dfs", "--store", "cache", "--memory", "200M"]);
    // An array of a gigabyte, of which next to nothing is used.
    all.push(vec!["--store", "bits", "--memory", "2100M"]);
    all
}

/// One test after the other: what the children of this process have taken is measured as a whole.
#[test]
fn limits_and_signals_are_heard_in_every_phase() {
    reading();
    searching();
    tracing();
    saving();
    graphs();
}

fn reading() {
    let folder = Folder::new();
    // Standard input that nobody writes to, and that stays open.
    assert_eq!(limited(&folder, &["check", "-"], 100), 3);
    assert!(folder.read("out").starts_with("unknown: the time limit was reached"), "{}", folder.read("out"));
    assert_eq!(limited(&folder, &["space", "-", "--json"], 100), 3);
    assert!(folder.read("out").contains(r#""complete":false,"reason":"time""#), "{}", folder.read("out"));
    let made = Command::new("mkfifo").arg(folder.path("pipe.pml")).status().is_ok_and(|status| status.success());
    if made {
        assert_eq!(limited(&folder, &["check", "pipe.pml", "--json"], 100), 3);
        assert!(folder.read("out").contains(r#""reason":"time""#), "{}", folder.read("out"));
    }
    // A model that takes long to read. Where the machine is fast, the longer limits may not be reached.
    let lines = "x = x + 1; if :: x > 3 -> x = (x * 2) % 7 :: else fi;\n".repeat(10_000);
    folder.write("long.pml", format!("int x; active proctype P() {{\n{lines} }}\n"));
    assert_eq!(limited(&folder, &["check", "long.pml", "--engine", "vm"], 30), 3);
    for milliseconds in [100, 300, 1000] {
        assert!(matches!(limited(&folder, &["check", "long.pml", "--engine", "vm"], milliseconds), 0 | 3));
    }
    interrupted(&folder, &["check", "long.pml", "--engine", "vm"], 200, false);
}

fn searching() {
    let folder = Folder::with("vast.pml", VAST);
    for (number, options) in every_search().iter().enumerate() {
        let arguments = [&["check", "vast.pml", "--threads", "1"], &options[..]].concat();
        assert_eq!(limited(&folder, &arguments, 300), 3, "{options:?}");
        // Signals take the same way; every third is enough.
        if number % 3 == 0 {
            interrupted(&folder, &arguments, 200, true);
        }
    }
}

/// A violation at the end of a long path: searched, run again, confirmed and told.
fn tracing() {
    let folder = Folder::with("chain.pml", "int n; active proctype P() { do :: n < 100000 -> n++ :: else -> assert(false) od }\n");
    for order in ["bfs", "dfs"] {
        for milliseconds in [50, 150, 300, 500, 700, 900] {
            limited(&folder, &["check", "chain.pml", "--threads", "1", "--search", order, "--engine", "vm"], milliseconds);
        }
        interrupted(&folder, &["check", "chain.pml", "--threads", "1", "--search", order, "--engine", "vm"], 300, true);
    }
}

/// Checkpoints that are written again and again, and one that is large to read.
fn saving() {
    let folder = Folder::with("vast.pml", VAST);
    for order in ["bfs", "dfs"] {
        let save = ["check", "vast.pml", "--threads", "1", "--search", order, "--checkpoint", "saved", "--checkpoint-every", "50ms"];
        limited(&folder, &save, 400);
        interrupted(&folder, &save, 300, true);
        let _ = fs::remove_file(folder.path("saved"));
        folder.run(&[&save[..7], &["saved", "--time", "1500ms", "--memory", "1G"]].concat()).exits(3);
        for milliseconds in [1, 50, 200] {
            assert_eq!(limited(&folder, &["check", "--resume", "saved", "--threads", "1"], milliseconds), 3);
        }
        interrupted(&folder, &["check", "--resume", "saved", "--threads", "1"], 50, true);
        fs::remove_file(folder.path("saved")).expect("it was written");
    }
}

fn graphs() {
    let folder = Folder::with("model.pml", "active [4] proctype P() { byte i; do :: i < 20 -> i++ :: else -> break od }\n");
    for name in ["graph.dot", "graph.aut"] {
        for milliseconds in [100, 1000, 3000] {
            if limited(&folder, &["space", "model.pml", "-o", name], milliseconds) == 3 {
                assert!(!folder.has(name) && !folder.has(&format!("{name}.partial")), "half a graph looks like a whole one");
            }
            let _ = fs::remove_file(folder.path(name));
        }
        interrupted(&folder, &["space", "model.pml", "-o", name], 500, true);
    }
}
