//! Clients that do not do what they should, beside clients that do. The latter must not notice, and
//! afterwards the server has no session and no descriptor more than before.

use super::client::Client;
use super::record::Record;
use super::server::{BYTE, Built, FILE, Server, wrong};
use crate::Failure;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

pub fn run(built: &Built, clients: usize, record: &mut Record) -> Result<(), Failure> {
    let large = std::fs::File::create(built.folder.join("root/large")).map_err(wrong("a file"))?;
    large.set_len(64 << 20).map_err(wrong("a file"))?;
    let server = built.start(None)?;
    std::thread::sleep(Duration::from_millis(200));
    let (_, descriptors) = server.load().ok_or("the server is gone")?;
    type Case = fn(&Built, &Server) -> Result<String, Failure>;
    let cases: [(&str, Case); 4] =
        [("malformed commands", malformed), ("half-open connections", half_open), ("slow readers", slow), ("a full disk", full_disk)];
    record.say(&format!("{clients} clients at once: {}", many(&server, clients)?));
    server.quiet(descriptors)?;
    for (name, case) in cases {
        let (stop, good) = (AtomicBool::new(false), AtomicU64::new(0));
        let (said, beside) = std::thread::scope(|scope| {
            let beside = scope.spawn(|| undisturbed(&server, &stop, &good));
            let said = case(built, &server);
            stop.store(true, Ordering::Relaxed);
            (said, beside.join())
        });
        beside.map_err(|_| "a client panicked")?.map_err(|error| format!("{name}: a client beside them was disturbed: {error}"))?;
        record.say(&format!("{name}: {}; {} sessions beside them undisturbed", said?, good.load(Ordering::Relaxed)));
        server.quiet(descriptors).map_err(|error| format!("{name}: {error}"))?;
    }
    drop(server);
    record.say(&format!("peers that vanish: {}", vanished(built)?));
    Ok(())
}

/// Peers that are silent for ever and do not end their connections, at every place of a session.
/// The server ends each session when its time is over, while the connections still exist.
fn vanished(built: &Built) -> Result<String, Failure> {
    let server = built.start_with(&[("FTP_LOGIN", "3"), ("FTP_IDLE", "3"), ("FTP_CONNECT", "3")])?;
    std::thread::sleep(Duration::from_millis(500));
    let (_, descriptors) = server.load().ok_or("the server is gone")?;
    let mut kept = Vec::new();
    for number in 0..50 {
        let mut client = Client::connect(server.port)?;
        let mut data = None;
        match number % 5 {
            0 => client.send(b"USER anon")?,
            1 => client.login()?,
            place => {
                client.login()?;
                if place == 2 {
                    client.send(b"EPSV\r\nRETR file\r\n")?;
                } else {
                    data = Some(client.passive()?);
                    // Nobody reads the one, and nobody sends the other.
                    client.send(if place == 3 { b"RETR large\r\n".as_slice() } else { b"STOR up/vanished\r\n" })?;
                    client.expect(150)?;
                }
            }
        }
        kept.push((client, data));
    }
    let begun = std::time::Instant::now();
    server.quiet(descriptors)?;
    Ok(format!("{} sessions ended within {:.1} s, while their peers kept the connections", kept.len(), begun.elapsed().as_secs_f64()))
}

/// Good sessions one after the other, until it is enough.
fn undisturbed(server: &Server, stop: &AtomicBool, good: &AtomicU64) -> Result<(), Failure> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let mut client = Client::connect(server.port)?;
        client.login()?;
        let length = client.retrieve("file", Some(BYTE), &mut buffer)?;
        if length != FILE as u64 {
            return Err(format!("{length} bytes instead of {FILE}"));
        }
        client.send(b"QUIT\r\n")?;
        client.expect(221)?;
        good.fetch_add(1, Ordering::Relaxed);
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// All are connected before the first one goes on.
fn many(server: &Server, clients: usize) -> Result<String, Failure> {
    let barrier = Barrier::new(clients);
    let results: Vec<Result<usize, Failure>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..clients)
            .map(|number| {
                let barrier = &barrier;
                std::thread::Builder::new().stack_size(1 << 20).spawn_scoped(scope, move || {
                    let client = Client::connect(server.port).and_then(|mut client| client.login().map(|()| client));
                    barrier.wait();
                    let sessions = if number == 0 { server.load().map_or(0, |(sessions, _)| sessions) } else { 0 };
                    barrier.wait();
                    let mut client = client?;
                    let name = format!("up/many{number}");
                    let mut data = client.passive()?;
                    client.send(format!("STOR {name}\r\n").as_bytes())?;
                    client.expect(150)?;
                    data.write_all(&vec![number as u8; 1000]).map_err(wrong("data"))?;
                    drop(data);
                    client.expect(226)?;
                    // Everybody gets their own file back.
                    let mut buffer = vec![0; 1 << 16];
                    let own = client.retrieve(&name, Some(number as u8), &mut buffer)?;
                    let common = client.retrieve("file", Some(BYTE), &mut buffer)?;
                    client.send(format!("DELE {name}\r\n").as_bytes())?;
                    client.expect(250)?;
                    client.send(b"QUIT\r\n")?;
                    client.expect(221)?;
                    if (own, common) == (1000, FILE as u64) { Ok(sessions) } else { Err(format!("{own} and {common} bytes")) }
                })
            })
            .collect();
        handles.into_iter().map(|handle| handle.map_err(wrong("a thread"))?.join().map_err(|_| "a client panicked".to_owned())?).collect()
    });
    let mut most = 0;
    for result in results {
        most = most.max(result?);
    }
    if most < clients {
        return Err(format!("only {most} sessions at once"));
    }
    Ok(format!("{most} sessions at once, every transfer right"))
}

fn malformed(_: &Built, server: &Server) -> Result<String, Failure> {
    let long = "x".repeat(100_000);
    let cases: Vec<Vec<u8>> = vec![
        b"\r\n\r\n\r\n".to_vec(),
        vec![0; 5000],
        vec![0xff; 5000],
        b"USER \xff\xfe\x00\x01\r\n".to_vec(),
        format!("USER {long}\r\n").into_bytes(),
        format!("{long}\r\n").into_bytes(),
        format!("USER anonymous\r\nPASS x\r\nCWD {long}\r\n").into_bytes(),
        format!("USER anonymous\r\nPASS x\r\nMKD {}\r\n", "a/".repeat(2000)).into_bytes(),
        format!("USER anonymous\r\nPASS x\r\nCWD {}\r\n", "../".repeat(1300)).into_bytes(),
        b"USER anonymous\r\nPASS x\r\nRETR %s%s%s%n%n\r\n".to_vec(),
        b"USER anonymous\r\nPASS x\r\nSIZE %s%n\r\nMKD %n%s\r\nRMD %n%s\r\n".to_vec(),
        b"USER anonymous\r\nPASS x\r\nPORT 999999999999,1,1,1,1,1\r\nPORT -1,-1,-1,-1,-1,-1\r\n".to_vec(),
        b"USER anonymous\r\nPASS x\r\nREST 99999999999999999999999\r\nREST -5\r\n".to_vec(),
        b"\xff\xf4\xff\xf2ABOR\r\n".to_vec(),
        b"USER anonymous\nPASS x\nPWD\n".to_vec(),
        b"QUIT QUIT QUIT\rQUIT\nQUIT".to_vec(),
    ];
    let count = cases.len();
    for bytes in cases {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).map_err(wrong("connect"))?;
        stream.set_read_timeout(Some(Duration::from_millis(300))).map_err(wrong("limit"))?;
        // The server may have ended the session already.
        let _ = stream.write_all(&bytes);
        let _ = stream.read(&mut [0; 4096]);
    }
    // A session goes on after a line that is too long.
    let mut client = Client::connect(server.port)?;
    client.send(format!("{long}\r\n").as_bytes())?;
    client.answer()?;
    client.login()?;
    Ok(format!("{count} of them"))
}

fn half_open(_: &Built, server: &Server) -> Result<String, Failure> {
    let mut held = Vec::new();
    for kind in 0..60 {
        let mut client = Client::connect(server.port)?;
        match kind % 3 {
            0 => client.send(b"US")?,
            1 => client.login()?,
            _ => {
                // The server waits for a connection that never comes.
                client.login()?;
                client.send(b"EPSV\r\nRETR file\r\n")?;
            }
        }
        held.push(client);
    }
    std::thread::sleep(Duration::from_secs(2));
    let count = held.len();
    // Those that wait for a connection notice at the end of their time that nobody is there.
    Ok(format!("{count} of them"))
}

fn slow(_: &Built, server: &Server) -> Result<String, Failure> {
    let mut held = Vec::new();
    for _ in 0..20 {
        let mut client = Client::connect(server.port)?;
        client.login()?;
        let data = client.passive()?;
        client.send(b"RETR large\r\n")?;
        client.expect(150)?;
        held.push((client, data));
    }
    let mut read = 0;
    for _ in 0..20 {
        for (_, data) in &mut held {
            read += data.read(&mut [0; 1000]).map_err(wrong("data"))?;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    // Ten go away in the middle, and ten read on to the end.
    held.truncate(10);
    let mut whole = 0;
    for (client, data) in &mut held {
        std::io::copy(data, &mut std::io::sink()).map_err(wrong("data"))?;
        client.expect(226)?;
        whole += 1;
    }
    Ok(format!("20 of them read {read} bytes in two seconds, {whole} went on to the end"))
}

fn full_disk(built: &Built, server: &Server) -> Result<String, Failure> {
    let place = built.folder.join("root/full");
    std::fs::create_dir_all(&place).map_err(wrong("a folder"))?;
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(&place).output();
    if !mounted.is_ok_and(|out| out.status.success()) {
        return Ok("passed over, no file system could be mounted".to_owned());
    }
    let result = on_full_disk(server);
    let _ = Command::new("umount").arg("-l").arg(&place).output();
    result
}

fn on_full_disk(server: &Server) -> Result<String, Failure> {
    let mut client = Client::connect(server.port)?;
    client.login()?;
    let mut data = client.passive()?;
    client.send(b"STOR full/much\r\n")?;
    client.expect(150)?;
    // The server gives up in the middle.
    let _ = data.write_all(&vec![1; 8 << 20]);
    drop(data);
    let text = client.expect(451)?;
    client.send(b"NOOP\r\n")?;
    client.expect(200)?;
    client.send(b"DELE full/much\r\n")?;
    client.expect(250)?;
    Ok(format!("`{text}`, and the session went on"))
}
