//! Several processes that share a search: the answers do not depend on the owners of states,
//! strangers are refused, and a process that dies is named.

mod common;

use common::{DEADLOCK, Folder, LOST_UPDATE, signal};
use contract::testing::Random;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const OWNERS: [&[&str]; 5] = [&[], &["--owner", "counters"], &["--owner", "process:1"], &["--remember", "0"], &["--lookahead"]];

/// Three processes take turns and count.
const TURNS: &str = "byte turn, a, b;
active [3] proctype P() { byte mine;
  do :: turn == _pid -> mine = (mine + 1) % 3; a = (a + mine) % 5; turn = (turn + 1) % 3
     :: b < 3 -> b++
     :: b > 0 -> b-- od }
";

/// More states than a test waits for.
const ENDLESS: &str =
    "byte a, b, c;\nactive proctype A() { do :: a++ od }\nactive proctype B() { do :: b++ od }\nactive proctype C() { do :: c++ od }\n";

fn numbers(folder: &Folder, arguments: &[&str]) -> Value {
    let run = folder.run(arguments);
    serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {} {}", run.out, run.err))
}

#[test]
fn the_counts_are_those_of_one_process() {
    let folder = Folder::with("turns.pml", TURNS);
    let alone = numbers(&folder, &["space", "turns.pml", "--json"]);
    for processes in ["1", "2", "3", "4"] {
        for owner in OWNERS {
            for store in if owner.is_empty() { &["auto", "compact"][..] } else { &["auto"] } {
                let mut arguments = vec!["space", "turns.pml", "--json", "--threads", "1", "--store", store, "--processes", processes];
                arguments.extend(owner);
                let shared = numbers(&folder, &arguments);
                for number in ["states", "transitions", "depth"] {
                    assert_eq!(alone[number], shared[number], "{number}: {arguments:?}");
                }
                assert_eq!(shared["traffic"]["states_by_worker"].as_array().map(Vec::len), processes.parse().ok());
            }
        }
    }
}

#[test]
fn violations_have_the_shortest_paths() {
    let folder = Folder::with("lost.epa", LOST_UPDATE);
    folder.write("stuck.epa", DEADLOCK);
    for (model, length) in [("lost.epa", 8), ("stuck.epa", 2)] {
        for reduced in [&["--no-por", "--no-merge"][..], &[]] {
            let mut arguments = vec!["check", model, "--json", "--processes", "3", "--trace", "path.json"];
            arguments.extend(reduced);
            let answer = numbers(&folder, &arguments);
            assert_eq!(answer["verdict"], "violated", "{answer}");
            let steps = answer["trace"].as_array().map_or(0, Vec::len);
            assert!(reduced.is_empty() || steps == length, "{answer}");
            assert_eq!(folder.run(&["replay", "path.json"]).code, 0);
        }
    }
}

const FORMULAS: &str = "byte x; bit go;
active proctype A() { do :: x < 4 -> x++ :: x == 4 -> x = 1 od }
active proctype B() { do :: go = 1 - go od }
ltl holds1 { [] (x < 5) }
ltl fails1 { [] <> (x == 0) }
ltl holds2 { [] ((x == 1) -> <> (x == 1)) }
ltl fails2 { <> [] (go == 1) }
ltl fails3 { <> (x == 3) && [] (x < 3) }
";

#[test]
fn temporal_properties_are_decided_by_each_algorithm() {
    let folder = Folder::with("formulas.pml", FORMULAS);
    for cycles in ["auto", "young", "predecessors", "levels", "dependencies"] {
        for processes in ["1", "3"] {
            for reduced in [&["--no-por"][..], &[]] {
                let mut arguments =
                    vec!["check", "formulas.pml", "--json", "--threads", "1", "--processes", processes, "--distributed-cycles", cycles];
                arguments.extend(reduced);
                let answer = numbers(&folder, &arguments);
                for property in answer["properties"].as_array().expect("a list") {
                    let name = property["name"].as_str().unwrap_or_default();
                    if name.starts_with("fails") {
                        assert_eq!(property["verdict"], "violated", "{name}: {arguments:?}: {property}");
                    } else if name.starts_with("holds") {
                        assert_eq!(property["verdict"], "holds", "{name}: {arguments:?}: {property}");
                    }
                }
            }
        }
    }
}

#[test]
fn fragments_are_merged_to_the_graph() {
    let folder = Folder::with("turns.pml", TURNS);
    let alone = numbers(&folder, &["space", "turns.pml", "--json"]);
    for processes in ["1", "2", "3"] {
        let pieces = format!("pieces{processes}");
        let made = numbers(&folder, &["space", "turns.pml", "--json", "--processes", processes, "-o", &pieces]);
        assert_eq!((&made["states"], &made["transitions"]), (&alone["states"], &alone["transitions"]), "{made}");
        for file in ["merged.aut", "merged.lts"] {
            let merged = numbers(&folder, &["merge", &pieces, "-o", file, "--json"]);
            assert_eq!(merged["states"], alone["states"]);
            // The merged graph has the same states, all of them reachable from state 0, in as many
            // levels.
            let read = numbers(&folder, &["space", file, "--json"]);
            for number in ["states", "transitions", "depth"] {
                assert_eq!(read[number], alone[number], "{number} of {file}");
            }
        }
    }
    // A random graph and its merged fragments are the same graph, label by label.
    for seed in 0..4 {
        folder.write("random.aut", random_graph(seed));
        let pieces = format!("random{seed}");
        let processes = (2 + seed % 3).to_string();
        folder.run(&["space", "random.aut", "--processes", &processes, "--threads", "1", "-o", &pieces]).exits(0);
        folder.run(&["merge", &pieces, "-o", "joined.aut"]).exits(0);
        folder.run(&["space", "random.aut", "-o", "whole.aut"]).exits(0);
        assert_same_graph(&folder.read("whole.aut"), &folder.read("joined.aut"));
    }
    folder.write("formulas.pml", FORMULAS);
    folder.run(&["space", "formulas.pml", "-o", "whole.aut"]).exits(0);
    folder.run(&["space", "formulas.pml", "--processes", "3", "--threads", "1", "-o", "small"]).exits(0);
    folder.run(&["merge", "small", "-o", "joined.aut"]).exits(0);
    assert_same_graph(&folder.read("whole.aut"), &folder.read("joined.aut"));
    // A fragment that is cut or missing is refused.
    let piece = folder.path("pieces3/fragment-1.piece");
    let bytes = std::fs::read(&piece).expect("a fragment");
    std::fs::write(&piece, &bytes[..bytes.len() - 60]).expect("writable");
    assert_eq!(folder.run(&["merge", "pieces3", "-o", "cut.lts"]).code, 2);
    assert!(!folder.has("cut.lts"));
    std::fs::remove_file(&piece).expect("writable");
    assert_eq!(folder.run(&["merge", "pieces3", "-o", "cut.lts"]).code, 2);
    // Existing files are not overwritten.
    assert_eq!(folder.run(&["space", "turns.pml", "--processes", "2", "-o", "pieces2"]).code, 2);
}

/// A graph in which every state is reachable, with few labels and many equal ones.
fn random_graph(seed: u64) -> String {
    let mut random = Random(seed * 31 + 7);
    let states = 20 + random.below(150);
    let mut edges: Vec<(u64, u64)> = (1..states).map(|state| (random.below(state), state)).collect();
    edges.extend((0..states).map(|_| (random.below(states), random.below(states))));
    let lines = edges.iter().map(|(from, to)| format!("({from}, \"{}\", {to})\n", ["a", "b", "c"][random.below(3) as usize]));
    let lines: String = lines.collect();
    format!("des (0, {}, {states})\n{lines}", edges.len())
}

/// The first state, the number of states, and the edges with their labels, of a graph in a file. A
/// mark of a state is an edge from it to itself.
fn edges_of(text: &str) -> (usize, usize, Vec<(usize, String, usize)>) {
    let inside = |line: &str| line.split_once('(').map_or(String::new(), |(_, rest)| rest.trim_end_matches(')').to_owned());
    let number = |text: &str| text.trim().parse::<usize>().unwrap_or_else(|_| panic!("{text}"));
    let mut lines = text.lines();
    let head = inside(lines.next().expect("a head"));
    let head: Vec<&str> = head.split(',').collect();
    let mut edges = Vec::new();
    for line in lines {
        let content = inside(line);
        let (from, rest) = content.split_once(',').expect("an edge");
        if line.starts_with("state") {
            edges.extend(rest.split("\", \"").map(|mark| (number(from), format!("mark {}", mark.trim_matches([' ', '"'])), number(from))));
        } else {
            let (label, to) = rest.rsplit_once(',').expect("an edge");
            edges.push((number(from), label.trim().to_owned(), number(to)));
        }
    }
    (number(head[0]), number(head[2]), edges)
}

/// Compares two graphs whose states have different numbers: states are divided by the labels and
/// the classes of the states that they lead to and come from, until nothing changes; then each
/// class must have as many states of one graph as of the other, and the first states are in one.
fn assert_same_graph(one: &str, other: &str) {
    let ((first, states, mut edges), (second, others, more)) = (edges_of(one), edges_of(other));
    assert_eq!((states, edges.len()), (others, more.len()));
    edges.extend(more.into_iter().map(|(from, label, to)| (from + states, label, to + states)));
    let mut classes = vec![0; 2 * states];
    (classes[first], classes[states + second]) = (1, 1);
    let mut known = 0;
    loop {
        let mut around: Vec<Vec<(bool, &str, usize)>> = vec![Vec::new(); 2 * states];
        for (from, label, to) in &edges {
            around[*from].push((true, label, classes[*to]));
            around[*to].push((false, label, classes[*from]));
        }
        around.iter_mut().for_each(|list| list.sort_unstable());
        let mut numbers = BTreeMap::new();
        let next: Vec<usize> = (0..2 * states)
            .map(|state| {
                let fresh = numbers.len();
                *numbers.entry((classes[state], around[state].clone())).or_insert(fresh)
            })
            .collect();
        let count = numbers.len();
        classes = next;
        if count == known {
            break;
        }
        known = count;
    }
    let mut balance = vec![0_i64; known];
    classes.iter().enumerate().for_each(|(state, &class)| balance[class] += if state < states { 1 } else { -1 });
    assert!(balance.iter().all(|&surplus| surplus == 0), "the graphs differ");
}

/// Graphs that differ in one label or in one target are noticed.
#[test]
fn graphs_that_differ_are_told_apart() {
    let text = random_graph(3);
    assert_same_graph(&text, &text);
    for (from, to) in [("\"a\"", "\"b\""), (", 7)", ", 8)")] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(text, changed);
        assert!(std::panic::catch_unwind(|| assert_same_graph(&text, &changed)).is_err(), "{from}");
    }
}

fn children(process: &Child) -> Vec<u32> {
    // Any thread may have started them.
    let threads = std::fs::read_dir(format!("/proc/{}/task", process.id())).into_iter().flatten().flatten();
    let texts = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let mut all: Vec<u32> =
        texts.flat_map(|text| text.split_whitespace().filter_map(|number| number.parse().ok()).collect::<Vec<_>>()).collect();
    all.sort_unstable();
    all
}

fn begun(folder: &Folder, arguments: &[&str], workers: usize) -> Child {
    let child = folder.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let begun = Instant::now();
    while children(&child).len() < workers {
        assert!(begun.elapsed() < Duration::from_secs(60), "the workers do not come");
        std::thread::sleep(Duration::from_millis(20));
    }
    // They connect and begin.
    std::thread::sleep(Duration::from_millis(1500));
    child
}

fn is_there(process: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|text| !text.contains(") Z "))
}

fn wait_gone(processes: &[u32]) {
    let begun = Instant::now();
    while processes.iter().any(|&process| is_there(process)) {
        assert!(begun.elapsed() < Duration::from_secs(20), "a worker stays");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_worker_that_dies_is_named_and_the_others_end() {
    let folder = Folder::with("endless.pml", ENDLESS);
    let arguments = ["space", "endless.pml", "--processes", "3", "--time", "100s", "--memory", "400M"];
    for (name, within) in [("KILL", 8), ("STOP", 20)] {
        let child = begun(&folder, &arguments, 2);
        let workers = children(&child);
        let killed = Command::new("kill").args([format!("-{name}"), workers[0].to_string()]).status().expect("kill");
        assert!(killed.success());
        let at = Instant::now();
        let output = child.wait_with_output().expect("it ends");
        assert!(at.elapsed() < Duration::from_secs(within), "{:?}", at.elapsed());
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{text} {}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains("the worker of rank 1 is gone"), "{text}");
        assert!(!text.contains(" 0 states"), "what was done is told: {text}");
        if name == "STOP" {
            let _ = Command::new("kill").args(["-KILL", &workers[0].to_string()]).status();
        }
        wait_gone(&workers);
    }
}

#[test]
fn the_others_end_with_rank_0() {
    let folder = Folder::with("endless.pml", ENDLESS);
    let mut child = begun(&folder, &["space", "endless.pml", "--processes", "3", "--memory", "300M"], 2);
    let workers = children(&child);
    signal(&child, "KILL");
    let _ = child.wait();
    wait_gone(&workers);
}

/// An interrupt at any process ends all of them, and so does the end of the time in each algorithm.
#[test]
fn an_interrupt_of_a_child_and_the_time_end_all() {
    let folder = Folder::with("endless.pml", ENDLESS);
    let child = begun(&folder, &["space", "endless.pml", "--processes", "3", "--memory", "300M", "--json"], 2);
    let workers = children(&child);
    let killed = Command::new("kill").args(["-INT", &workers[1].to_string()]).status().expect("kill");
    assert!(killed.success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!(answer["reason"], "interrupted", "{answer}");
    wait_gone(&workers);
    folder.write("cycles.pml", format!("{ENDLESS}ltl p {{ []<> (a + b + c < 1000) }}"));
    for cycles in ["young", "predecessors", "levels", "dependencies"] {
        let call = ["check", "cycles.pml", "--ltl", "p", "--processes", "2", "--time", "1s", "--json", "--distributed-cycles", cycles];
        let run = folder.run(&call);
        assert_eq!(run.code, 3, "{cycles}: {} {}", run.out, run.err);
        assert!(!run.err.contains("is gone"), "{cycles}: {}", run.err);
    }
}

/// The memory limit is that of the process, whatever it is used for.
#[test]
fn memory_is_limited_in_each_kind_of_search() {
    let folder = Folder::with("cycles.pml", format!("{ENDLESS}ltl p {{ []<> (a + b + c < 1000) }}"));
    let limit = 60 << 20;
    let mut calls: Vec<Vec<&str>> = ["young", "predecessors", "levels", "dependencies"]
        .map(|cycles| vec!["check", "cycles.pml", "--ltl", "p", "--distributed-cycles", cycles])
        .to_vec();
    calls.push(vec!["space", "cycles.pml", "-o", "pieces"]);
    for call in calls {
        let mut arguments = call.clone();
        arguments.extend(["--processes", "2", "--threads", "1", "--memory", "60M", "--time", "20s", "--json"]);
        let answer = numbers(&folder, &arguments);
        let peak = answer["peak_memory_bytes"].as_u64().unwrap_or(0);
        assert!(peak < limit / 4 * 5, "{call:?}: {peak}: {answer}");
    }
}

#[test]
fn an_interrupt_and_a_limit_end_all() {
    let folder = Folder::with("endless.pml", ENDLESS);
    let child = begun(&folder, &["space", "endless.pml", "--processes", "2", "--memory", "300M", "--json"], 1);
    let workers = children(&child);
    signal(&child, "INT");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    wait_gone(&workers);
    for limit in [["--time", "1s"], ["--memory", "40M"], ["--depth", "20"]] {
        let mut arguments = vec!["space", "endless.pml", "--processes", "2", "--json"];
        arguments.extend(limit);
        if limit[0] != "--memory" {
            arguments.extend(["--memory", "300M"]);
        }
        let begun = Instant::now();
        let run = folder.run(&arguments);
        assert_eq!(run.code, 3, "{limit:?}: {} {}", run.out, run.err);
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port()
}

#[test]
fn strangers_are_refused_and_do_not_disturb() {
    let folder = Folder::with("turns.pml", TURNS);
    let (first, second) = (free_port(), free_port());
    folder.write("hosts", format!("# two processes\n127.0.0.1:{first}\n127.0.0.1:{second}\n"));
    folder.write("secret", "a secret that is long enough\n");
    folder.write("wrong", "another secret, long enough\n");
    folder.write("short", "short\n");
    let rank = |rank: &'static str, secret: &'static str| {
        let mut arguments =
            vec!["space", "--json", "--hosts", "hosts", "--rank", rank, "--secret", secret, "--wait", "50s", "--threads", "1"];
        arguments.extend((rank == "0").then_some("turns.pml"));
        arguments
    };
    assert_eq!(folder.run(&rank("1", "short")).code, 2);
    let leader = folder.command(&rank("0", "secret")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let connect = || {
        let begun = Instant::now();
        loop {
            match TcpStream::connect(("127.0.0.1", first)) {
                Ok(stream) => return stream,
                Err(error) => assert!(begun.elapsed() < Duration::from_secs(30), "{error}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    // A client that expects a web server, a silent one, one that sends half of the greeting, and
    // one that sends random bytes.
    connect().write_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n").expect("a connection");
    let _silent = connect();
    let mut half = connect();
    half.write_all(b"everypath-team\r\n\x01\x00\x00").expect("a connection");
    let bytes: Vec<u8> = (0..10_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let _ = connect().write_all(&bytes);
    let refused = folder.run(&rank("1", "wrong"));
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.out.contains("secret") || refused.err.contains("secret"), "{} {}", refused.out, refused.err);
    let follower = folder.command(&rank("1", "secret")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let output = leader.wait_with_output().expect("it ends");
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{complaint}");
    assert!(complaint.contains("was refused"), "{complaint}");
    assert!(follower.wait_with_output().expect("it ends").status.success());
    let alone = numbers(&folder, &["space", "turns.pml", "--json"]);
    let shared: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!(shared["states"], alone["states"]);
}

#[test]
fn what_processes_cannot_do_is_said() {
    let folder = Folder::with("turns.pml", TURNS);
    for wrong in [
        &["--search", "dfs"][..],
        &["--store", "cache"],
        &["--check-por"],
        &["--coverage"],
        &["--owner", "nobody"],
        &["--owner", "process:999"],
        // There are three processes.
        &["--owner", "process:3"],
        &["--disk", "states"],
        &["--store", "disk"],
    ] {
        let mut arguments = vec!["check", "turns.pml", "--processes", "2"];
        arguments.extend(wrong);
        assert_eq!(folder.run(&arguments).code, 2, "{wrong:?}");
    }
    assert!(!folder.has("states"));
    assert_eq!(folder.run(&["space", "turns.pml", "--processes", "2", "--store", "bits", "-o", "pieces"]).code, 2);
    assert!(!folder.has("pieces/fragment-0.piece"));
    let run = folder.run(&["space", "turns.pml", "--processes", "2", "--disk", "states", "-o", "pieces"]).exits(2);
    assert!(run.err.contains("leave out `--disk`") && !folder.has("states"), "{run:?}");
    // A file for a graph is not a folder for fragments.
    let run = folder.run(&["space", "turns.pml", "--processes", "2", "-o", "graph.aut"]).exits(2);
    assert!(run.err.contains("merge") && !folder.has("graph.aut"), "{run:?}");
    // A process that is created later may own states.
    folder.write("created.pml", "byte x; proctype P() { x++ } init { run P(); run P() }");
    assert_eq!(folder.run(&["check", "created.pml", "--processes", "2", "--owner", "process:2"]).code, 0);
    assert_eq!(folder.run(&["check", "turns.pml", "--owner", "state"]).code, 2);
    assert_eq!(folder.run(&["check", "turns.pml", "--hosts", "gone", "--rank", "1", "--secret", "gone"]).code, 2);
}

/// Enough levels to be saved in between, but not too many states.
const LEVELS: &str = "byte a, b, c;
active proctype A() { do :: a < 70 -> a++ od }
active proctype B() { do :: b < 70 -> b++ od }
active proctype C() { do :: c < 40 -> c++ od }
";

#[test]
fn a_search_goes_on_after_a_death_with_another_number_of_workers() {
    let folder = Folder::with("levels.pml", LEVELS);
    let alone = numbers(&folder, &["space", "levels.pml", "--json"]);
    for (killed, first, second) in [(None, "2", "3"), (Some(0), "3", "2"), (Some(1), "3", "1")] {
        let begun = Instant::now();
        let arguments =
            ["space", "levels.pml", "--threads", "1", "--processes", first, "--checkpoint", "saved", "--checkpoint-every", "20ms"];
        let mut child = folder.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        while !folder.has("saved") && begun.elapsed() < Duration::from_secs(60) && child.try_wait().expect("a child").is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        match killed.and_then(|which| children(&child).get(which).copied()) {
            Some(worker) => drop(Command::new("kill").args(["-KILL", &worker.to_string()]).status()),
            None => signal(&child, "KILL"),
        }
        let _ = child.wait();
        assert!(folder.has("saved"), "nothing was saved");
        // One process alone cannot read it, and says so.
        let run = folder.run(&["space", "--resume", "saved"]).exits(2);
        assert!(run.err.contains("by several processes"), "{run:?}");
        // Parts of levels that were never complete, and a file that only looks like one.
        folder.write("saved.0.7", "everypath-level1, and the first states");
        folder.write("saved.90000.1", "everypath");
        folder.write("saved.3.77", "notes");
        let resumed = numbers(&folder, &["space", "--resume", "saved", "--threads", "1", "--processes", second, "--json"]);
        for number in ["states", "transitions", "depth"] {
            assert_eq!(resumed[number], alone[number], "{number}: {resumed}");
        }
        let files = std::fs::read_dir(folder.path("")).expect("a folder").flatten().map(|file| file.file_name().into_string());
        let left: Vec<String> = files.flatten().filter(|name| name.starts_with("saved")).collect();
        assert_eq!(left, ["saved.3.77"], "the search has its answer");
    }
}

#[test]
fn a_violation_behind_a_checkpoint_has_its_whole_path() {
    let text = LEVELS.to_owned() + "active proctype W() { (a == 60 && b == 60 && c == 30) -> assert(false) }\n";
    let folder = Folder::with("violated.pml", text);
    let alone = numbers(&folder, &["check", "violated.pml", "--json", "--search", "bfs", "--no-por", "--no-merge"]);
    let mut arguments = vec!["check", "violated.pml", "--no-por", "--no-merge", "--threads", "1", "--processes", "2", "--json"];
    arguments.extend(["--checkpoint", "saved", "--checkpoint-every", "10ms", "--depth", "100"]);
    let _ = folder.run(&arguments);
    if folder.has("saved") {
        let arguments =
            ["check", "--resume", "saved", "--threads", "1", "--processes", "3", "--depth", "1000", "--json", "--trace", "path.json"];
        let resumed = numbers(&folder, &arguments);
        assert_eq!(resumed["verdict"], "violated", "{resumed}");
        assert_eq!(resumed["trace"].as_array().map(Vec::len), alone["trace"].as_array().map(Vec::len));
        assert_eq!(folder.run(&["replay", "path.json"]).code, 0);
    }
}
