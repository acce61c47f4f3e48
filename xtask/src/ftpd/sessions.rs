//! Random sessions, several at a time, whose traces must be paths of the model.

use super::client::Client;
use super::record::Record;
use super::server::{Built, wrong};
use crate::Failure;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

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

/// How a session goes on.
#[derive(PartialEq)]
enum Next {
    Goes,
    /// It is over: the client has gone away, or the server has ended it as it should.
    Over,
}

/// One session. What is not as it should be is a mistake of the server, because nobody else ends a
/// session before its client does.
struct Session {
    client: Client,
    random: u64,
    logged_in: bool,
    /// Passwords that were wrong.
    wrong: u32,
}

impl Session {
    fn below(&mut self, n: u64) -> u64 {
        splitmix::next(&mut self.random) % n
    }

    /// The answer to a command. The third wrong password ends the session.
    fn answer(&mut self, line: &str) -> Result<(u16, Next), Failure> {
        let (code, text) = self.client.answer()?;
        if code == 421 {
            return Err(format!("{line:?} was answered by {text}"));
        }
        self.logged_in |= code == 230;
        self.wrong += u32::from(code == 530 && text.contains("incorrect"));
        if self.wrong < 3 {
            return Ok((code, Next::Goes));
        }
        match self.client.answer() {
            Ok((_, text)) => Err(format!("after three wrong passwords: {text}")),
            Err(_) => Ok((code, Next::Over)),
        }
    }

    fn command(&mut self, line: &str) -> Result<(u16, Next), Failure> {
        self.client.send(format!("{line}\r\n").as_bytes())?;
        self.answer(line)
    }

    fn wanted(&mut self, line: &str, codes: &[u16]) -> Result<u16, Failure> {
        let (code, _) = self.command(line)?;
        if codes.contains(&code) { Ok(code) } else { Err(format!("{line}: {code}, and {codes:?} was expected")) }
    }

    fn whole(&mut self) -> Result<(), Failure> {
        for _ in 0..self.below(30) {
            let next = match self.below(10) {
                0 if !self.logged_in => {
                    self.wanted("USER user", &[331])?;
                    self.wanted("PASS secret", &[230])?;
                    Next::Goes
                }
                1..=3 if self.logged_in => self.transfer()?,
                4 => self.several()?,
                _ => {
                    let line = COMMANDS[self.below(COMMANDS.len() as u64) as usize];
                    if waits(line) { Next::Goes } else { self.command(line)?.1 }
                }
            };
            if next == Next::Over {
                return Ok(());
            }
        }
        match self.below(3) {
            0 => Ok(()),
            1 => self.client.send(b"NOO"),
            _ => self.wanted("QUIT", &[221]).map(drop),
        }
    }

    /// Several commands at once.
    fn several(&mut self) -> Result<Next, Failure> {
        let lines: Vec<&str> = (0..3).map(|_| COMMANDS[self.below(COMMANDS.len() as u64) as usize]).filter(|line| !waits(line)).collect();
        self.client.send(lines.iter().map(|line| format!("{line}\r\n")).collect::<String>().as_bytes())?;
        for line in lines {
            if self.answer(line)?.1 == Next::Over {
                return Ok(Next::Over);
            }
        }
        Ok(Next::Goes)
    }

    /// A transfer over a connection of any kind, or without one.
    fn transfer(&mut self) -> Result<Next, Failure> {
        // With records, a file ends with a mark, which is not sent here.
        self.wanted("STRU F", &[200])?;
        let kind = self.below(6) as usize;
        let line = ["RETR file", "RETR absent", "LIST", "NLST s*", "STOR up/f", "STOR absent/f"][kind];
        let refused: &[u16] = if line.starts_with("STOR") { &[553] } else { &[550] };
        let data = match self.below(6) {
            0 | 1 => Data::There(self.client.passive()?),
            2 => Data::There(self.client.passive_by_address()?),
            3 => Data::Comes(self.client.active()?),
            4 => {
                // Nobody listens there any more.
                drop(self.client.active()?);
                self.wanted(line, &[[425].as_slice(), refused].concat())?;
                return Ok(Next::Goes);
            }
            _ => {
                // What is no address takes back what was said before.
                self.wanted("PORT 1,2,3", &[500])?;
                self.wanted(line, &[425])?;
                return Ok(Next::Goes);
            }
        };
        if self.wanted(line, &[[150].as_slice(), refused].concat())? != 150 {
            return Ok(Next::Goes);
        }
        let mut data = data.stream()?;
        match self.below(5) {
            // The client goes away in the middle.
            0 => return Ok(Next::Over),
            1 => return self.abort(line, data),
            _ if line.starts_with("STOR") => data.write_all(&[7; 50_000]).map_err(wrong("data"))?,
            _ => drop(std::io::copy(&mut data, &mut std::io::sink()).map_err(wrong("data"))?),
        }
        drop(data);
        self.client.expect(226)?;
        Ok(Next::Goes)
    }

    /// ABOR in a transfer comes in time or not.
    fn abort(&mut self, line: &str, mut data: TcpStream) -> Result<Next, Failure> {
        if line.starts_with("STOR") {
            data.write_all(&[7; 5_000]).map_err(wrong("data"))?;
        }
        self.client.send(b"ABOR\r\n")?;
        if !line.starts_with("STOR") {
            let _ = std::io::copy(&mut data, &mut std::io::sink());
        }
        match (self.answer(line)?.0, self.answer("ABOR")?.0) {
            (226, 225) | (426, 226) => Ok(Next::Goes),
            other => Err(format!("{line} and ABOR: {other:?}")),
        }
    }
}

/// A data connection that the client has made, or that the server will make.
enum Data {
    There(TcpStream),
    Comes(TcpListener),
}

impl Data {
    fn stream(self) -> Result<TcpStream, Failure> {
        match self {
            Data::There(stream) => Ok(stream),
            Data::Comes(listener) => Ok(listener.accept().map_err(wrong("data"))?.0),
        }
    }
}

/// A transfer would wait for a connection, if there was an EPSV before.
fn waits(line: &str) -> bool {
    ["RETR", "STOR", "LIST", "NLST"].iter().any(|word| line.starts_with(word))
}

fn session(port: u16, random: u64) -> Result<(), Failure> {
    Session { client: Client::connect(port)?, random, logged_in: false, wrong: 0 }.whole()
}

pub fn run(built: &Built, everypath: &Path, count: u64, seed: u64, record: &mut Record) -> Result<(), Failure> {
    let trace = built.folder.join("trace");
    let server = built.start(Some(&trace.display().to_string()))?;
    let (_, descriptors) = server.load().ok_or("the server is gone")?;
    let (next, wrong_ones) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    if let Err(error) = session(server.port, seed.wrapping_mul(1_000_003) + number) {
                        wrong_ones.lock().unwrap_or_else(PoisonError::into_inner).push(format!("session {number}: {error}"));
                    }
                }
            });
        }
    });
    server.quiet(descriptors)?;
    drop(server);
    let wrong_ones = wrong_ones.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(first) = wrong_ones.first() {
        return Err(format!("{} of {count} sessions went wrong, seed {seed}; {first}", wrong_ones.len()));
    }
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
    record.say(&format!("{count} sessions, seed {seed}, every answer was one that is expected: {}", said.trim()));
    Ok(())
}
