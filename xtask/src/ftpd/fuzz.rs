//! Random and broken sessions against a server that finds wrong uses of memory and arithmetic
//! itself (the sanitisers of the C compiler).

use super::client::{Client, address_in, offer};
use super::record::Record;
use super::server::{BYTE, Built, FILE, wrong};
use crate::Failure;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The file of the client beside the noise. Noise may store and delete as an anonymous user, and
/// `file` is one of its words; it cannot put this name together.
const KEPT: &str = "kept-for-the-client-beside-the-noise";

const WORDS: [&str; 40] = [
    "USER ",
    "PASS ",
    "SYST",
    "QUIT",
    "PORT ",
    "PASV",
    "EPSV",
    "TYPE ",
    "MODE ",
    "STRU ",
    "RETR ",
    "STOR ",
    "NOOP",
    "LIST ",
    "NLST ",
    "CWD ",
    "PWD",
    "DELE ",
    "MKD ",
    "RMD ",
    "SIZE ",
    "REST ",
    "ABOR",
    "CDUP",
    "XPWD",
    "anonymous",
    "user",
    "secret",
    "file",
    "up/",
    "sub",
    "../",
    "/",
    "out/passwd",
    "127,0,0,1,",
    "-la ",
    "99999999999",
    "%n%s",
    " ",
    ",",
];

/// What is sent: words of the protocol, bytes, and sometimes where the client waits for data.
fn noise(random: &mut u64, here: Option<&str>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut below = |n: u64| splitmix::next(random) % n;
    if below(4) > 0 {
        bytes.extend(b"USER anonymous\r\nPASS x\r\n");
    }
    for _ in 0..below(40) {
        match below(12) {
            0 => bytes.extend((0..below(40)).map(|_| below(256) as u8)),
            1 => bytes.extend(std::iter::repeat_n(b"/.a "[below(4) as usize], below(9000) as usize)),
            2..=4 => bytes.extend(b"\r\n"),
            5 => bytes.extend(here.unwrap_or("PASV\r\n").bytes()),
            _ => bytes.extend(WORDS[below(WORDS.len() as u64) as usize].bytes()),
        }
    }
    for _ in 0..below(4) {
        if !bytes.is_empty() {
            let at = below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << below(8);
        }
    }
    bytes
}

/// Sends noise in pieces, takes up data connections that are offered, and goes away.
fn session(port: u16, random: &mut u64) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_millis(20)))?;
    stream.set_write_timeout(Some(Duration::from_secs(5)))?;
    let offered = offer().ok();
    let bytes = noise(random, offered.as_ref().map(|(_, line)| line.as_str()));
    let mut rest = bytes.as_slice();
    let mut held = Vec::new();
    while !rest.is_empty() {
        let (now, later) = rest.split_at((1 + splitmix::next(random) as usize % 4000).min(rest.len()));
        stream.write_all(now)?;
        rest = later;
        let mut buffer = [0; 8192];
        let got = stream.read(&mut buffer).unwrap_or(0);
        let text = String::from_utf8_lossy(&buffer[..got]).into_owned();
        for line in text.lines() {
            let port = match line.get(..3) {
                Some("229") => line.split('|').nth(3).and_then(|port| port.parse::<u16>().ok()),
                Some("227") => address_in(line),
                _ => None,
            };
            held.extend(port.and_then(|port| TcpStream::connect(("127.0.0.1", port)).ok()));
        }
        // Some of what is offered is taken up, and some of it is left alone.
        if splitmix::next(random).is_multiple_of(2) {
            held.pop();
        }
    }
    if splitmix::next(random).is_multiple_of(2) {
        let _ = stream.read(&mut [0; 65536]);
    }
    Ok(())
}

pub fn run(built: &Built, seconds: u64, seed: u64, record: &mut Record) -> Result<(), Failure> {
    let kept = built.folder.join("root").join(KEPT);
    std::fs::write(&kept, vec![BYTE; FILE]).map_err(wrong("a file"))?;
    let server = built.start(None)?;
    std::thread::sleep(Duration::from_millis(500));
    let (_, descriptors) = server.load().ok_or("the server is gone")?;
    let end = Instant::now() + Duration::from_secs(seconds);
    let (sessions, good) = (AtomicU64::new(0), AtomicU64::new(0));
    let beside = std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let (sessions, port) = (&sessions, server.port);
            scope.spawn(move || {
                let mut random = seed.wrapping_mul(1_000_003) + thread;
                while Instant::now() < end {
                    let _ = session(port, &mut random);
                    sessions.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut buffer = vec![0; 1 << 16];
        while Instant::now() < end {
            let mut client = Client::connect(server.port)?;
            client.login()?;
            let length = client.retrieve(KEPT, Some(BYTE), &mut buffer)?;
            if length != FILE as u64 {
                return Err(format!("{length} bytes instead of {FILE}"));
            }
            good.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    });
    let reports = built.reports()?;
    if let Some(report) = reports.first() {
        return Err(format!("{} reports, the first one:\n{report}", reports.len()));
    }
    // If noise has changed the file itself, the client was not disturbed by the server.
    let whole = std::fs::read(&kept).is_ok_and(|bytes| bytes == vec![BYTE; FILE]);
    beside.map_err(|error| format!("a client beside the noise was disturbed (its file is whole: {whole}): {error}"))?;
    if !whole {
        return Err(format!("noise has changed {KEPT}"));
    }
    server.quiet(descriptors)?;
    record.say(&format!(
        "{} sessions of noise in {seconds} s, seed {seed}, {} good ones beside them undisturbed, no report, nothing left",
        sessions.load(Ordering::Relaxed),
        good.load(Ordering::Relaxed)
    ));
    Ok(())
}
