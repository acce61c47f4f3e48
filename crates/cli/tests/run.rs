//! `everypath run`: programs are executed with schedulers and devices.

mod common;

use common::Folder;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The models of LF.
fn model(name: &str) -> String {
    format!("{}/../../models/lf/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_program_prints_and_ends() {
    let folder = Folder::with("none", "");
    let run = folder.run(&["run", &model("prodcons.lf"), "-D", "LAST=5"]).exits(0);
    assert_eq!(run.out, "01234", "{run:?}");
    let json = folder.run(&["run", &model("prodcons.lf"), "-D", "LAST=5", "--json"]).exits(0).json();
    assert_eq!((&json["end"], &json["output"], &json["communications"]), (&"end".into(), &"01234".into(), &6.into()), "{json}");
}

#[test]
fn a_deadlock_says_who_waits_for_what() {
    let folder = Folder::with("none", "");
    let json = folder.run(&["run", &model("philosophers.lf"), "--json", "--trace", "t"]).exits(1).json();
    assert_eq!((&json["end"], &json["violation"]["kind"]), (&"deadlock".into(), &"invalid end state".into()), "{json}");
    let waiting = json["waiting"].as_array().expect("a list");
    assert_eq!(waiting.len(), 6, "{json}");
    assert_eq!(waiting[5]["needs"][0], "a receiver of Fork.take on channel 1", "{json}");
    // The trace ends in the deadlock.
    let told = folder.run(&["replay", "t", "--json"]).exits(0).json();
    assert_eq!(told["trace"].as_array().map(Vec::len), json["actions"].as_u64().map(|count| count as usize));
    assert_eq!(told["violation"]["kind"], "invalid end state", "{told}");
}

#[test]
fn a_false_assertion_ends_a_run_and_its_trace_is_replayed() {
    let folder = Folder::with("none", "");
    let found = (0..50).find(|seed| {
        let seed = seed.to_string();
        let run = folder.run(&["run", &model("race.lf"), "--scheduler", "random", "--seed", &seed, "--trace", "t", "--json"]);
        run.code == 1
    });
    assert!(found.is_some(), "no seed loses an addition");
    let told = folder.run(&["replay", "t", "--json"]).exits(0).json();
    assert_eq!(told["violation"]["kind"], "assertion violated", "{told}");
}

#[test]
fn schedulers_and_seeds_decide_the_order() {
    let text = "MODULE Order; IMPORT Out; VAR i : INTEGER;\nPROCESS P(n : INTEGER); BEGIN Out.Int(n); RESCHEDULE; Out.Int(n) END P;\nPROCESS Urgent DEADLINE 1; BEGIN Out.Int(9) END Urgent;\nBEGIN FOR i := 1 TO 4 DO CREATE P(i) END; CREATE Urgent END Order.\n";
    let folder = Folder::with("order.lf", text);
    let output = |more: &[&str]| folder.run(&[&["run", "order.lf"], more].concat()).exits(0).out;
    assert_eq!(output(&[]), "123491234");
    assert_eq!(output(&["--scheduler", "edf"]), "912341234");
    let random = |seed: &str| output(&["--scheduler", "random", "--seed", seed]);
    assert_eq!(random("3"), random("3"));
    let different: std::collections::HashSet<String> = (0..10).map(|seed| random(&seed.to_string())).collect();
    assert!(different.len() > 3, "{different:?}");
}

#[test]
fn properties_are_watched() {
    let text = "MODULE Watch; VAR x : INTEGER;\nPROPERTY Small; BEGIN WHILE TRUE DO ASSERT x < 3; RESCHEDULE END END Small;\nPROCESS P; VAR i : INTEGER; BEGIN FOR i := 1 TO 5 DO INC(x); RESCHEDULE END END P;\nBEGIN CREATE P END Watch.\n";
    let folder = Folder::with("watch.lf", text);
    folder.run(&["run", "watch.lf"]).exits(0);
    let json = folder.run(&["run", "watch.lf", "--monitor", "--json", "--trace", "t"]).exits(1).json();
    assert_eq!(json["violation"]["kind"], "property", "{json}");
    folder.run(&["replay", "t"]).exits(0);
    // A formula of the command line: at the end of the run it is known that this never happens.
    folder.run(&["run", "watch.lf", "--monitor", "--ltl", "<> 'x = 7'"]).exits(1);
    folder.run(&["run", "watch.lf", "--monitor", "--ltl", "<> 'x = 5'"]).exits(0);
}

#[test]
fn limits_end_a_run() {
    let folder = Folder::with("none", "");
    let json = folder.run(&["run", &model("peterson.lf"), "--steps", "100", "--json"]).exits(0).json();
    assert_eq!((&json["end"], &json["actions"]), (&"steps".into(), &100.into()));
    let json = folder.run(&["run", &model("peterson.lf"), "--time", "50ms", "--json"]).exits(0).json();
    assert_eq!(json["end"], "time");
    // An action that never ends is detected, and a long one obeys the time limit.
    let endless = "MODULE E; VAR x : INTEGER; BEGIN WHILE TRUE DO x := (x + 1) MOD 7 END END E.\n";
    let folder = Folder::with("e.lf", endless);
    let json = folder.run(&["run", "e.lf", "--json"]).exits(1).json();
    assert_eq!(json["violation"]["kind"], "endless sequence", "{json}");
    let long = "MODULE L; VAR x, y : INTEGER; BEGIN WHILE TRUE DO x := (x + 1) MOD 1000000007; IF x = 0 THEN y := y + 1 END END END L.\n";
    let folder = Folder::with("l.lf", long);
    let json = folder.run(&["run", "l.lf", "--time", "100ms", "--json"]).exits(0).json();
    assert_eq!(json["end"], "time", "{json}");
}

#[test]
fn what_is_typed_is_read_and_time_passes() {
    let text = "MODULE Adder; IMPORT In, Out, Timer;\nVAR x, sum : INTEGER; more : BOOLEAN;\nBEGIN\n  In.Int(x, more);\n  WHILE more DO sum := sum + x; In.Int(x, more) END;\n  Timer.Wait(2, 30);\n  Out.Int(sum); Out.Ln\nEND Adder.\n";
    let folder = Folder::with("adder.lf", text);
    let begun = Instant::now();
    let run = folder.run_with(&["run", "adder.lf"], "12 -5\n  30\n").exits(0);
    assert_eq!(run.out, "37\n", "{run:?}");
    assert!(begun.elapsed() >= Duration::from_millis(30));
}

/// The numbers of an input, whatever stands between them; a number that is too large is the
/// largest.
#[test]
fn every_input_has_numbers() {
    let text = "MODULE Numbers; IMPORT In, Out;\nVAR x : INTEGER; more : BOOLEAN;\nBEGIN\n  In.Int(x, more);\n  WHILE more DO Out.Int(x); Out.Char(' '); In.Int(x, more) END\nEND Numbers.\n";
    let folder = Folder::with("numbers.lf", text);
    for (typed, numbers) in [
        ("12 -5\n  30\n", "12 -5 30 "),
        ("- 7, --8 9-x 1-2 -", "7 -8 9 1 2 "),
        ("2147483647 2147483648 -2147483648 -2147483649", "2147483647 2147483647 -2147483648 -2147483648 "),
        ("99999999999999999999 -99999999999999999999x0", "2147483647 -2147483648 0 "),
        ("", ""),
        ("-", ""),
    ] {
        let run = folder.run_with(&["run", "numbers.lf"], typed).exits(0);
        assert_eq!(run.out, numbers, "{typed}");
    }
}

/// The devices are found also if the program has another port of their type, and only they get what
/// is sent to them.
#[test]
fn a_program_may_have_ports_like_those_of_the_devices() {
    let text = "MODULE M; IMPORT SYSTEM, In, Out; PORT other : SYSTEM.IOChannel; VAR x : INTEGER; more : BOOLEAN;\nPROCESS P; VAR v : INT32; BEGIN other?DATA(v); Out.Int(v) END P;\nBEGIN NEW(other); CREATE P; In.Int(x, more); Out.Int(x); Out.Ln; other!DATA(65) END M.\n";
    let folder = Folder::with("m.lf", text);
    assert_eq!(folder.run_with(&["run", "m.lf", "--time", "60s"], "12\n").exits(0).out, "12\n65");
}

/// A run in which only a device could go on whose driver will never serve it is a deadlock.
#[test]
fn a_device_that_nobody_serves_does_not_prevent_a_deadlock() {
    for (name, body) in [
        // The line is raised, and no process receives its interrupt.
        ("raised.lf", "PORTOUT(11H, 1); q?go"),
        // The driver has received an interrupt and never reads what has come.
        ("quiet.lf", "PORTOUT(11H, 1); SYSTEM.Interrupt1?INTERRUPT; q?go"),
        ("unread.lf", "PORTOUT(11H, 1); SYSTEM.Interrupt1?INTERRUPT; PORTIN(11H, x); q?go"),
        // A clock that is over.
        ("clock.lf", "PORTOUT(20H, 1); q?go"),
    ] {
        let text = format!(
            "MODULE M; IMPORT SYSTEM; TYPE T = [go]; PORT q : T; VAR x : INTEGER;\nBEGIN NEW(SYSTEM.Interrupt0); NEW(SYSTEM.Interrupt1); NEW(q); {body} END M.\n"
        );
        let folder = Folder::with(name, &text);
        let json = folder.run_with(&["run", name, "--time", "60s", "--json"], "something is typed").exits(1).json();
        assert_eq!(json["end"], "deadlock", "{name}: {json}");
        assert_eq!(json["waiting"].as_array().map(Vec::len), Some(1), "{json}");
    }
}

/// Drivers come before processes with deadlines: a process waits for the timer while another never
/// rests.
#[test]
fn deadlines_do_not_keep_devices_waiting() {
    let text = "MODULE M; IMPORT Timer; VAR n : INTEGER;\nPROCESS Busy DEADLINE 60000; BEGIN WHILE TRUE DO RESCHEDULE END END Busy;\nPROCESS Patient DEADLINE 30000; BEGIN Timer.Wait(3, 20); ASSERT FALSE END Patient;\nBEGIN CREATE Busy; CREATE Patient END M.\n";
    let folder = Folder::with("m.lf", text);
    let json = folder.run(&["run", "m.lf", "--scheduler", "edf", "--time", "25s", "--json"]).exits(1).json();
    assert_eq!(json["violation"]["kind"], "assertion violated", "{json}");
}

#[test]
fn a_long_run_is_recorded_to_its_end() {
    let text = "MODULE L; VAR n : INTEGER; BEGIN WHILE n < 120000 DO INC(n); RESCHEDULE END; ASSERT FALSE END L.\n";
    let folder = Folder::with("l.lf", text);
    let json = folder.run(&["run", "l.lf", "--trace", "t", "--json"]).exits(1).json();
    assert_eq!((&json["actions"], &json["traced"]), (&120_001.into(), &100_000.into()), "{json}");
    let told = folder.run(&["replay", "t", "--json"]).exits(0).json();
    assert_eq!(told["violation"]["kind"], "assertion violated");
    assert_eq!(told["trace"].as_array().map(Vec::len), Some(100_000));
}

#[test]
fn periods_and_deadlines_are_kept() {
    let folder = Folder::with("none", "");
    let json =
        folder.run(&["run", &model("traffic_light.lf"), "--scheduler", "edf", "--monitor", "--time", "200ms", "--json"]).exits(0).json();
    assert_eq!(json["end"], "time", "{json}");
    // The button is pressed every ten milliseconds, and each press takes the lights once round.
    let communications = json["communications"].as_u64().expect("a number");
    assert!((5..=120).contains(&communications), "{json}");
    let text = "MODULE Late; IMPORT Out; VAR n : INTEGER;\nPROCESS Slow PERIOD 2 DEADLINE 1; VAR i : INTEGER; BEGIN FOR i := 1 TO 2000000 DO n := i END; Out.Int(1) END Slow;\nBEGIN CREATE Slow END Late.\n";
    let folder = Folder::with("late.lf", text);
    let json = folder.run(&["run", "late.lf", "--steps", "5", "--json"]).exits(0).json();
    assert!(json["missed_deadlines"].as_u64().is_some_and(|missed| missed > 0), "{json}");
}

#[test]
fn the_elevator_and_the_driver_run_and_their_runs_are_replayed() {
    let folder = Folder::with("none", "");
    for name in ["elevator.lf", "driver.lf", "echo_device.lf", "traffic_light.lf"] {
        let json = folder
            .run(&["run", &model(name), "--monitor", "--steps", "60", "--seed", "5", "--trace", "t", "--time", "20s", "--json"])
            .exits(0)
            .json();
        assert_eq!(json["end"], "steps", "{name}: {json}");
        let told = folder.run(&["replay", "t", "--json"]).exits(0).json();
        assert_eq!(told["trace"].as_array().map(Vec::len), Some(60), "{name}");
        assert_eq!(folder.run(&["check", &model(name), "--json"]).exits(0).json()["verdict"], "holds", "{name}");
    }
}

#[test]
fn an_open_program_is_closed() {
    let text = "MODULE Door; TYPE P = [key(INT8)]; PORT p : P; VAR n : INT8;\nBEGIN NEW(p); p?key(n); ASSERT n < 3 END Door.\n";
    let folder = Folder::with("door.lf", text);
    folder.run(&["check", "door.lf"]).exits(1);
    folder.run(&["check", "door.lf", "--close"]).exits(0);
    folder.run(&["check", "door.lf", "--close=4"]).exits(1);
    folder.run(&["check", "door.lf", "--close=0"]).exits(2);
    folder.run(&["close", "door.lf", "--values", "4", "-o", "closed.lf"]).exits(0);
    folder.run(&["check", "closed.lf"]).exits(1);
    let sorted = folder.run(&["space", &model("queue.lf"), "--queues", "sorted", "--json"]).exits(0).json();
    let fifo = folder.run(&["space", &model("queue.lf"), "--queues", "fifo", "--json"]).exits(0).json();
    assert_eq!((&sorted["states"], &fifo["states"]), (&113.into(), &249.into()));
    folder.write("m.pml", "init { skip }");
    folder.run(&["check", "m.pml", "--queues", "fifo"]).exits(2);
}

/// A program that runs until it is asked to stop.
struct Server(Child);

impl Server {
    fn start(path: &str, port: u16) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_everypath"));
        command.args(["run", path, "-D", &format!("SERVICE={port}"), "--time", "60s"]);
        Server(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn connect(port: u16) -> TcpStream {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => return stream,
            Err(error) => assert!(Instant::now() < until, "nobody listens: {error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port()
}

/// A server answers while another of its processes is never idle.
#[test]
fn a_busy_server_answers() {
    let text = std::fs::read_to_string(model("Echo.lf")).expect("a text");
    let busy = "PROCESS Busy; BEGIN WHILE TRUE DO RESCHEDULE END END Busy;\n\nBEGIN\n  CREATE Busy;\n  CREATE Server";
    let text = text.replace("MODULE Echo", "MODULE Busy1").replace("END Echo", "END Busy1").replace("BEGIN\n  CREATE Server", busy);
    let folder = Folder::with("Busy1.lf", &text);
    let port = free_port();
    let _server = Server::start(&folder.path("Busy1.lf").display().to_string(), port);
    let mut stream = connect(port);
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    for byte in 0..20 {
        stream.write_all(&[byte]).expect("it is sent");
        let mut got = [0];
        stream.read_exact(&mut got).expect("an answer");
        assert_eq!(got, [byte]);
    }
}

/// Connections above the limit wait until another is closed.
#[test]
fn many_connections_are_served_in_turn() {
    let port = free_port();
    let _server = Server::start(&model("Echo.lf"), port);
    let mut streams = vec![connect(port)];
    streams.extend((0..215).map(|_| connect(port)));
    for mut stream in streams {
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        stream.write_all(b"?").expect("it is sent");
        let mut got = [0];
        stream.read_exact(&mut got).expect("an answer");
    }
}

#[test]
fn the_echo_server_answers() {
    let port = free_port();
    let _server = Server::start(&model("Echo.lf"), port);
    let mut streams: Vec<TcpStream> = (0..3).map(|_| connect(port)).collect();
    for stream in &streams {
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    }
    for request in 0..100 {
        let at = request % streams.len();
        let stream = &mut streams[at];
        let sent = format!("request {request}\r\n");
        stream.write_all(sent.as_bytes()).expect("it is sent");
        let mut got = vec![0; sent.len()];
        stream.read_exact(&mut got).expect("an answer");
        assert_eq!(got, sent.as_bytes());
    }
}
