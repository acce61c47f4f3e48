//! Random sessions, several at a time, whose traces must be paths of the model.

use super::client::Client;
use super::record::Record;
use super::server::{Built, wrong};
use crate::Failure;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many sessions there are at a time.
const AT_ONCE: u64 = 8;

const COMMANDS: [&str; 48] = [
    "USER anonymous",
    "USER user",
    "USER",
    "PASS me",
    "PASS secret",
    "PASS",
    "SYST",
    "NOOP",
    "TYPE I",
    "TYPE A",
    "TYPE Q",
    "MODE S",
    "MODE B",
    "STRU F",
    "STRU R",
    "PWD",
    "CWD sub",
    "CWD ..",
    "CWD absent",
    "CWD out",
    "CDUP",
    "MKD up/d",
    "RMD up/d",
    "DELE up/f",
    "SIZE file",
    "SIZE absent",
    "SIZE out/passwd",
    "REST 3",
    "REST x",
    "ABOR",
    "PORT 1,2,3",
    "PORT 127,0,0,1,0,1",
    "RETR file",
    "STOR up/x",
    "LIST",
    "NLST",
    "FOO",
    "pwd",
    "",
    " ",
    "RETR",
    "MKD",
    "XPWD",
    "EPSV",
    "PASV",
    "NOOP \u{1}",
    "HELP",
    "SIZE ../../etc/passwd",
];

/// One session; what goes wrong with its connection is no mistake, because it may end at any time.
fn session(port: u16, mut random: u64) -> Result<(), Failure> {
    let mut client = Client::connect(port)?;
    let mut below = |n: u64| splitmix::next(&mut random) % n;
    let mut logged_in = false;
    for _ in 0..below(30) {
        match below(10) {
            0 if !logged_in => {
                for line in [b"USER user\r\n".as_slice(), b"PASS secret\r\n"] {
                    client.send(line)?;
                    client.answer()?;
                }
                logged_in = true;
            }
            1 | 2 if logged_in => transfer(&mut client, below(6), below(4) == 0)?,
            3 => {
                // Several commands at once.
                let lines: Vec<&str> =
                    (0..3).map(|_| COMMANDS[below(COMMANDS.len() as u64) as usize]).filter(|line| !waits(line)).collect();
                client.send(lines.iter().map(|line| format!("{line}\r\n")).collect::<String>().as_bytes())?;
                for _ in &lines {
                    client.answer()?;
                }
            }
            _ => {
                let line = COMMANDS[below(COMMANDS.len() as u64) as usize];
                if !waits(line) {
                    client.command(line)?;
                }
            }
        }
    }
    match below(3) {
        0 => Ok(()),
        1 => client.send(b"NOO"),
        _ => client.command("QUIT").map(drop),
    }
}

/// A transfer would wait for a connection, if there was an EPSV before.
fn waits(line: &str) -> bool {
    ["RETR", "STOR", "LIST", "NLST"].iter().any(|word| line.starts_with(word))
}

/// A transfer, which is broken off sometimes.
fn transfer(client: &mut Client, kind: u64, breaks: bool) -> Result<(), Failure> {
    let mut data = client.passive()?;
    let line = ["RETR file", "RETR absent", "LIST", "NLST sub", "STOR up/f", "STOR absent/f"][kind as usize];
    let (code, _) = client.command(line)?;
    if code == 150 && breaks {
        return Ok(());
    }
    if code == 150 {
        if line.starts_with("STOR") {
            data.write_all(&[7; 50_000]).map_err(wrong("data"))?;
        } else {
            std::io::copy(&mut data, &mut std::io::sink()).map_err(wrong("data"))?;
        }
        drop(data);
        client.answer()?;
    }
    Ok(())
}

pub fn run(built: &Built, everypath: &Path, count: u64, seed: u64, record: &mut Record) -> Result<(), Failure> {
    let trace = built.folder.join("trace");
    let server = built.start(Some(&trace.display().to_string()))?;
    let (_, descriptors) = server.load().ok_or("the server is gone")?;
    let (next, broken) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let result = session(server.port, seed.wrapping_mul(1_000_003) + number);
                    broken.fetch_add(u64::from(result.is_err()), Ordering::Relaxed);
                }
            });
        }
    });
    server.quiet(descriptors)?;
    drop(server);
    let mut conform = Command::new(everypath);
    conform.arg("conform").arg(built.folder.join("ftpd.pch")).arg(&trace).args([
        "--each",
        "handler",
        "-D",
        "SESSIONS=1",
        "-D",
        "EVERY_COMMAND=1",
    ]);
    let out = conform.output().map_err(wrong("conform"))?;
    let said = String::from_utf8_lossy(&out.stdout);
    if !out.status.success() {
        let kept = std::env::temp_dir().join("everypath-ftpd-trace");
        let _ = std::fs::copy(&trace, &kept);
        return Err(format!("{said}{}the trace is in {}", String::from_utf8_lossy(&out.stderr), kept.display()));
    }
    record.say(&format!("{count} sessions, seed {seed}, {} ended by a broken connection: {}", broken.load(Ordering::Relaxed), said.trim()));
    Ok(())
}
