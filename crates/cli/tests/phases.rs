//! `--time` and Ctrl-C in every phase of a run: reading, translating, searching over every store in
//! every order, inside long steps, while tables grow, taking and reading checkpoints, making and
//! printing traces, writing graphs.
//!
//! The lateness of a run is the time from its limit, or from the signal, to its end, without the
//! time for which its threads waited for a processor. On a quiet machine the threads do not wait,
//! so this is the time on the clock. On a busy machine, or if the system does not report how long
//! threads wait, the processor time counts if it is less. A run may be tried five times. Each
//! phase here would take many times as long if it did not check its limits.
#![cfg(target_os = "linux")]

mod common;

use common::{Folder, Run, await_handler, signal};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use testkit::large::Family;

/// How late a run may be.
const LATE: Duration = Duration::from_millis(200);
/// How often a run is tried: the machine may be very busy during a single one.
const TRIES: usize = 5;

/// Six counters up and down: more states than fit into any memory, wide and deep.
const VAST: &str = "active [6] proctype P() { byte i; do :: i < 200 -> i++ :: i > 0 -> i-- od }\n";

/// What the system says of a process after its name: first its state, in fields 14 and 15 its
/// processor time.
fn status(child: &Child) -> String {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    stat.rsplit_once(')').map_or(String::new(), |(_, rest)| rest.trim_start().to_owned())
}

/// The processor time of a process. It can be read until the process is waited for.
fn of(child: &Child) -> Duration {
    let ticks: u64 = status(child).split_whitespace().skip(11).take(2).filter_map(|number| number.parse::<u64>().ok()).sum();
    // A tick is a hundredth of a second on every Linux.
    Duration::from_millis(ticks * 10)
}

/// Whether a process has ended. It is not waited for, so that its times can still be read.
fn has_ended(child: &Child) -> bool {
    matches!(status(child).chars().next(), None | Some('Z' | 'X'))
}

/// How long the threads of a process have waited for a processor, if the system reports it.
fn waited(child: &Child) -> Option<Duration> {
    let threads = fs::read_dir(format!("/proc/{}/task", child.id())).ok()?;
    let mut sum = None;
    for thread in threads.flatten() {
        // A thread may end at any time.
        let Ok(line) = fs::read_to_string(thread.path().join("schedstat")) else { continue };
        let nanoseconds = line.split_whitespace().nth(1)?.parse().ok()?;
        sum = Some(sum.unwrap_or_default() + Duration::from_nanos(nanoseconds));
    }
    sum
}

/// The lateness of a run from the time after its limit, the time its threads waited for a
/// processor, and the time they worked.
fn lateness(elapsed: Duration, waited: Option<Duration>, worked: Duration) -> Duration {
    let late = elapsed.saturating_sub(waited.unwrap_or_default());
    // The last wait of a thread before its end is not reported. So a quarter of the limit already
    // shows that the machine is busy.
    let busy = waited.is_none_or(|waited| waited > LATE / 4);
    if busy { late.min(worked) } else { late }
}

#[test]
fn lateness_is_the_time_on_the_clock_of_a_quiet_machine() {
    let ms = Duration::from_millis;
    assert_eq!(lateness(ms(1000), Some(ms(1)), ms(0)), ms(999), "it slept");
    assert_eq!(lateness(ms(1000), Some(ms(950)), ms(40)), ms(40));
    assert_eq!(lateness(ms(3000), Some(ms(300)), ms(1500)), ms(1500));
    assert_eq!(lateness(ms(400), Some(ms(60)), ms(80)), ms(80));
    assert_eq!(lateness(ms(400), Some(ms(20)), ms(80)), ms(380));
    assert_eq!(lateness(ms(1000), None, ms(100)), ms(100));
}

/// Waits for a run that must end by itself, and soon. Returns it, and how late it ended after this
/// time, until which it had worked for so long.
fn end(mut child: Child, since: Instant, worked: Duration, what: &str) -> (Run, Duration) {
    let before = waited(&child);
    let mut last = before;
    for _ in 0..12_000 {
        if has_ended(&child) {
            let elapsed = since.elapsed();
            let meanwhile = before.zip(last).map(|(before, last)| last.saturating_sub(before));
            let late = lateness(elapsed, meanwhile, of(&child).saturating_sub(worked));
            return (Run::new(child.wait_with_output().expect("it has ended")), late);
        }
        last = waited(&child).max(last);
        sleep(Duration::from_millis(5));
    }
    child.kill().expect("it can be killed");
    panic!("{what}: it does not end");
}

/// Starts a command. Its output is read only after its end, so it goes to files.
fn start(folder: &Folder, arguments: &[&str]) -> Child {
    let file = |name: &str| fs::File::create(folder.path(name)).expect("the folder can be written");
    let mut command = folder.command(arguments);
    command.stdin(Stdio::piped()).stdout(file("out")).stderr(file("err")).spawn().expect("the program starts")
}

/// Runs a command with this time limit, and requires that it ends soon after. Returns the exit
/// code.
fn limited(folder: &Folder, arguments: &[&str], milliseconds: u64) -> i32 {
    let (time, limit) = (format!("{milliseconds}ms"), Duration::from_millis(milliseconds));
    let arguments = [arguments, &["--time", &time]].concat();
    for last in (0..TRIES).rev() {
        let begun = Instant::now();
        let child = start(folder, &arguments);
        while begun.elapsed() < limit && !has_ended(&child) {
            sleep(Duration::from_millis(5).min(limit.saturating_sub(begun.elapsed())));
        }
        let worked = of(&child);
        let (run, late) = end(child, begun + limit, worked, &format!("{arguments:?}"));
        let code = run.code;
        assert!((0..=3).contains(&code), "{arguments:?}: {code}, {}", folder.read("err"));
        if late < LATE {
            return code;
        }
        assert!(last > 0, "{arguments:?}: {late:?} late");
    }
    unreachable!("the last try returns or fails")
}

/// Interrupts a command after some time, and requires that it ends soon after.
fn interrupted(folder: &Folder, arguments: &[&str], milliseconds: u64, caught: bool) {
    for last in (0..TRIES).rev() {
        let child = start(folder, arguments);
        if caught {
            await_handler(&child);
        }
        while of(&child) < Duration::from_millis(milliseconds) && !has_ended(&child) {
            sleep(Duration::from_millis(5));
        }
        let (worked, asked) = (of(&child), Instant::now());
        if !has_ended(&child) {
            signal(&child, "INT");
        }
        let (_, late) = end(child, asked, worked, &format!("{arguments:?}"));
        if late < LATE || worked.is_zero() {
            return;
        }
        assert!(last > 0, "{arguments:?}: {late:?} late after the interrupt at {worked:?}");
    }
}

fn every_search() -> Vec<Vec<&'static str>> {
    let stores = ["auto", "plain", "compact", "hash", "bits"];
    let orders = ["auto", "bfs", "dfs", "dfs-shared"];
    let mut all: Vec<Vec<&str>> =
        orders.iter().flat_map(|&order| stores.map(|store| vec!["--search", order, "--store", store, "--memory", "200M"])).collect();
    all.push(vec!["--search", "dfs", "--store", "cache", "--memory", "200M"]);
    for order in ["sweep", "best-first", "astar", "ida-star", "beam", "race"] {
        all.push(vec!["--search", order, "--memory", "200M"]);
    }
    // An array of a gigabyte, of which almost nothing is used.
    for order in ["auto", "dfs"] {
        all.push(vec!["--search", order, "--store", "bits", "--memory", "2100M"]);
    }
    all
}

#[test]
fn reading() {
    let folder = Folder::new().all_orders();
    // Standard input to which no process writes, and that stays open.
    assert_eq!(limited(&folder, &["check", "-"], 100), 3);
    assert!(folder.read("out").starts_with("unknown: the time limit was reached"), "{}", folder.read("out"));
    assert_eq!(limited(&folder, &["space", "-", "--json"], 100), 3);
    assert!(folder.read("out").contains(r#""complete":false,"reason":"time""#), "{}", folder.read("out"));
    let made = Command::new("mkfifo").arg(folder.path("pipe.pml")).status().is_ok_and(|status| status.success());
    if made {
        assert_eq!(limited(&folder, &["check", "pipe.pml", "--json"], 100), 3);
        assert!(folder.read("out").contains(r#""reason":"time""#), "{}", folder.read("out"));
    }
    // A model that takes long to read. On a fast machine the longer limits may not be reached.
    let lines = "x = x + 1; if :: x > 3 -> x = (x * 2) % 7 :: else fi;\n".repeat(10_000);
    folder.write("long.pml", format!("int x; active proctype P() {{\n{lines} }}\n"));
    assert_eq!(limited(&folder, &["check", "long.pml", "--engine", "vm"], 30), 3);
    for milliseconds in [100, 300, 1000] {
        assert!(matches!(limited(&folder, &["check", "long.pml", "--engine", "vm"], milliseconds), 0 | 3));
    }
    interrupted(&folder, &["check", "long.pml", "--engine", "vm"], 200, false);
}

#[test]
fn searching() {
    let folder = Folder::with("vast.pml", VAST).all_orders();
    for (number, options) in every_search().iter().enumerate() {
        let arguments = [&["check", "vast.pml", "--threads", "1"], &options[..]].concat();
        assert_eq!(limited(&folder, &arguments, 200), 3, "{options:?}");
        // Signals are handled in the same way; every third case is enough.
        if number % 3 == 0 {
            interrupted(&folder, &arguments, 200, true);
        }
    }
}

/// Native code of large programs is compiled while they are searched.
#[test]
fn translating() {
    let folder = Folder::new().all_orders();
    for family in Family::ALL {
        let name = family.file_name();
        folder.write(name, family.text(200_000));
        limited(&folder, &["check", name, "--threads", "1"], 500);
        interrupted(&folder, &["check", name, "--threads", "1"], 400, false);
    }
}

/// Tables that double again and again, up to hundreds of megabytes.
#[test]
fn growing() {
    let folder = Folder::with("vast.pml", VAST).all_orders();
    for store in ["auto", "plain", "compact", "hash", "bits"] {
        let arguments = ["check", "vast.pml", "--threads", "1", "--search", "bfs", "--memory", "2G", "--store", store];
        assert_eq!(limited(&folder, &arguments, 1500), 3, "{store}");
    }
}

/// Steps that take too long to wait for, including the very first step, with few states inside and
/// with very many.
#[test]
fn inside_steps() {
    let folder = Folder::new().all_orders();
    for text in [
        "int x; init { d_step { do :: x++ od } }",
        "int x; init { atomic { do :: x++ od } }",
        "int x; byte large[1000]; active proctype P() { atomic { do :: x++ :: x = x + 2 od } }",
        "int x; active proctype P() { atomic { do :: x++ :: x = x + 2 :: break od } }",
        "int x; active proctype P() { d_step { do :: x++ od } } active proctype Q() { atomic { do :: enabled(0) -> x++ od } }",
    ] {
        folder.write("long.pml", text);
        for engine in ["jit", "vm"] {
            let arguments = ["check", "long.pml", "--threads", "1", "--engine", engine, "--memory", "1G"];
            limited(&folder, &arguments, 600);
            interrupted(&folder, &arguments, 300, true);
        }
    }
}

/// An initial state that takes long to compute: ten million elements are computed one by one.
#[test]
fn first_state() {
    let folder = Folder::with("first.pml", "int g = 1; active [200] proctype P() { int a[50000] = g + 1; skip }").all_orders();
    for engine in ["jit", "vm"] {
        let arguments = ["check", "first.pml", "--threads", "1", "--engine", engine, "--memory", "1G"];
        limited(&folder, &arguments, 200);
        interrupted(&folder, &arguments, 200, false);
    }
}

/// States of two megabytes with hundreds of successors each.
#[test]
fn large_states() {
    let folder = Folder::with("large.pml", "active [250] proctype P() { int a[2000] = 7; do :: a[3]++ od }").all_orders();
    for order in ["auto", "bfs", "dfs"] {
        let arguments = ["check", "large.pml", "--threads", "1", "--search", order, "--memory", "1G"];
        for milliseconds in [100, 700] {
            limited(&folder, &arguments, milliseconds);
        }
        interrupted(&folder, &arguments, 300, true);
    }
}

/// A long trace that is written as text, as JSON and to a file, with a reader that reads and with
/// one that does not.
#[test]
fn printing() {
    let folder =
        Folder::with("chain.pml", "int n; byte large[200]; active proctype P() { do :: n < 60000 -> n++ :: else -> assert(false) od }")
            .all_orders();
    let base = ["check", "chain.pml", "--threads", "1", "--search", "dfs"];
    for more in [&[][..], &["--json"], &["--trace", "trace"]] {
        let arguments = [&base[..], more].concat();
        for milliseconds in [300, 600, 1000, 1600] {
            if limited(&folder, &arguments, milliseconds) == 1 {
                assert!(folder.read("out").contains("violated"), "{}", folder.read("err"));
            }
            assert!(!folder.has("trace.partial"), "half a trace is left behind");
        }
        interrupted(&folder, &arguments, 700, true);
    }
    // Without folding, so that the text is longer than a pipe holds.
    let whole = [&base[..], &["--verbose"]].concat();
    let mut child = folder.command(&whole).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    await_handler(&child);
    // When the process takes no more processor time, it waits for its reader.
    let (mut before, mut quiet) = (Duration::ZERO, 0);
    while quiet < 5 && child.try_wait().expect("it can be asked").is_none() {
        sleep(Duration::from_millis(100));
        quiet = if of(&child) == before && !before.is_zero() { quiet + 1 } else { 0 };
        before = of(&child);
    }
    signal(&child, "INT");
    end_unread(child);
}

/// Waits for a run that is interrupted while its output is not read.
fn end_unread(mut child: Child) {
    for _ in 0..500 {
        if child.try_wait().expect("it can be asked").is_some() {
            return;
        }
        sleep(Duration::from_millis(10));
    }
    child.kill().expect("it can be killed");
    panic!("it waits for a reader although it was interrupted");
}

/// A violation at the end of a long path: the phases search, replay, confirmation and report.
#[test]
fn tracing() {
    let folder =
        Folder::with("chain.pml", "int n; active proctype P() { do :: n < 100000 -> n++ :: else -> assert(false) od }\n").all_orders();
    for order in ["bfs", "dfs"] {
        for milliseconds in [50, 150, 300, 500, 700, 900] {
            limited(&folder, &["check", "chain.pml", "--threads", "1", "--search", order, "--engine", "vm"], milliseconds);
        }
        interrupted(&folder, &["check", "chain.pml", "--threads", "1", "--search", order, "--engine", "vm"], 300, true);
    }
}

/// Checkpoints that are written repeatedly, and a large one that is read.
#[test]
fn saving() {
    let folder = Folder::with("vast.pml", VAST).all_orders();
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

#[test]
fn graphs() {
    let folder = Folder::with("model.pml", "active [4] proctype P() { byte i; do :: i < 20 -> i++ :: else -> break od }\n").all_orders();
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
