//! The run time of LF compared with Go: messages between two processes per second of one processor.
//!
//! A producer sends numbers to a consumer over a channel without capacity, in LF and in Go with
//! `GOMAXPROCS=1`. Both are measured in turns by processor time, with everything that belongs to a
//! run: Go's program is compiled before, the LF program is compiled in each run. The echo server is
//! measured too: `curl` as a client, one connection, one request after the other.

use super::child;
use super::ours::Everypath;
use crate::{Failure, root};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const MESSAGES: u32 = 5_000_000;
const REQUESTS: u32 = 10_000;

/// Measures both sides, and prints the number of runs of each.
pub fn run(everypath: &Everypath, runs: usize, save: bool) -> Result<(), Failure> {
    let folder = root().join("target/tmp/bench-lf");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut text = format!("everypath {}\n", super::output("date", &["-u", "+%Y-%m-%d %H:%M UTC"]));
    text += &format!("{}\n\n", super::output("go", &["version"]));
    let (mut ours, mut theirs) = (f64::MAX, f64::MAX);
    let go = go(&folder)?;
    let pipe = root().join("bench/lf/pipe.lf").to_string_lossy().into_owned();
    let messages = MESSAGES.to_string();
    for _ in 0..runs.max(1) {
        let define = format!("LAST={messages}");
        let arguments = ["run", pipe.as_str(), "-D", define.as_str(), "--json"].map(str::to_owned);
        let done = child::run(&folder, &everypath.program, arguments)?;
        if done.code != Some(0) || !done.stdout.contains(&format!("\"communications\":{MESSAGES},")) {
            return Err(format!("the run did not pass its messages: {}{}", done.stdout, done.stderr));
        }
        ours = ours.min(done.cost.cpu);
        if let Some(go) = &go {
            let done = child::run(&folder, go, [messages.clone()])?;
            if done.code != Some(0) {
                return Err(format!("Go's program failed: {}", done.stderr));
            }
            theirs = theirs.min(done.cost.cpu);
        }
    }
    let rate = |seconds: f64| f64::from(MESSAGES) / seconds;
    let row = |name: &str, seconds: f64| {
        format!("{name:<12} {:>12.0} messages/s  {:>7.1} ns each\n", rate(seconds), seconds * 1e9 / f64::from(MESSAGES))
    };
    text += &row("everypath", ours);
    match go {
        Some(_) => text += &format!("{}ratio        {:>12.2}\n", row("Go", theirs), theirs / ours),
        None => text += "Go is not installed\n",
    }
    match echo(everypath)? {
        Some(seconds) => {
            text += &format!("echo server  {:>12.0} requests/s of {REQUESTS} by curl, all answered\n", f64::from(REQUESTS) / seconds);
        }
        None => text += "curl is not installed\n",
    }
    print!("{text}");
    if save {
        let place = root().join(format!("bench/runs/{}-lf.txt", super::output("date", &["-u", "+%Y-%m-%dT%H%M"])));
        fs::write(&place, text).map_err(|error| format!("{}: {error}", place.display()))?;
        println!("Kept in {}", place.display());
    }
    Ok(())
}

/// Builds Go's program, if Go is installed.
fn go(folder: &Path) -> Result<Option<std::path::PathBuf>, Failure> {
    let source = root().join("bench/lf/pipe.go");
    let program = folder.join("pipe-go");
    let built = Command::new("go").arg("build").arg("-o").arg(&program).arg(&source).env("GOFLAGS", "-mod=mod").status();
    match built {
        Ok(status) if status.success() => Ok(Some(program)),
        Ok(status) => Err(format!("go build ends with {status}")),
        Err(_) => Ok(None),
    }
}

/// Sends requests to the echo server and compares what comes back; gives the seconds it took, or
/// nothing if there is no client.
fn echo(everypath: &Everypath) -> Result<Option<f64>, Failure> {
    let fail = |error: std::io::Error| format!("the echo server: {error}");
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).map_err(fail)?.port();
    let model = root().join("models/lf/Echo.lf").to_string_lossy().into_owned();
    let define = format!("SERVICE={port}");
    let mut server = Command::new(&everypath.program)
        .args(["run", model.as_str(), "-D", define.as_str(), "--time", "10m"])
        .stdin(Stdio::null())
        .spawn()
        .map_err(fail)?;
    let answered = requests(port);
    let _ = server.kill();
    let _ = server.wait();
    answered.map_err(fail)
}

fn requests(port: u16) -> std::io::Result<Option<f64>> {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(_) => break,
            Err(error) if Instant::now() > until => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    let address = format!("telnet://127.0.0.1:{port}");
    let client = Command::new("curl")
        .args(["--silent", "--show-error", "--no-buffer", "--max-time", "300", address.as_str()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut client) = client else { return Ok(None) };
    let seconds = converse(&mut client);
    let _ = client.kill();
    let _ = client.wait();
    seconds.map(Some)
}

/// One request after the other, each when the one before is answered.
fn converse(client: &mut Child) -> std::io::Result<f64> {
    let missing = || std::io::Error::other("the client has no pipes");
    let mut to = client.stdin.take().ok_or_else(missing)?;
    let mut from = BufReader::new(client.stdout.take().ok_or_else(missing)?);
    let begun = Instant::now();
    for request in 0..REQUESTS {
        let sent = format!("request {request}\n");
        to.write_all(sent.as_bytes())?;
        let mut got = String::new();
        from.read_line(&mut got)?;
        if got != sent {
            return Err(std::io::Error::other(format!("request {request} came back as {got:?}")));
        }
    }
    Ok(begun.elapsed().as_secs_f64())
}
