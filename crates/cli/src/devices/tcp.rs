//! TCP: connections that other processes open to a port of this host.
//!
//! A connection has a number of one byte while it is open. Its bytes are read by a thread of its
//! own and written when the program is idle, or when there are many.

use super::{Event, Teller};
use std::collections::VecDeque;
use std::io::{BufWriter, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::time::Duration;

/// The largest number of open connections.
const MOST: usize = 200;

/// The limit on unread bytes.
const ENOUGH: usize = 1 << 16;

/// The time limit for writing to a connection.
const PATIENCE: Duration = Duration::from_secs(1);

struct Connection {
    /// A number that is unique among all connections; the numbers of one byte are reused.
    key: u64,
    out: BufWriter<TcpStream>,
}

/// An event for the driver.
enum News {
    Opened(u8),
    Bytes(u8, VecDeque<u8>),
    Closed(u8),
}

pub struct Tcp {
    teller: Teller,
    listening: bool,
    keys: u64,
    connections: Vec<Option<Connection>>,
    news: VecDeque<News>,
    waiting: usize,
    who: u8,
    byte: u8,
    /// The last error.
    pub complaint: Option<String>,
}

impl Tcp {
    pub fn new(teller: Teller) -> Tcp {
        Tcp {
            teller,
            listening: false,
            keys: 0,
            connections: Vec::new(),
            news: VecDeque::new(),
            waiting: 0,
            who: 0,
            byte: 0,
            complaint: None,
        }
    }

    pub fn output(&mut self, port: i32, value: i32) {
        match port {
            0x30 => self.listen(value),
            0x34 => self.send((value >> 8) as usize, value as u8),
            0x35 => self.close(value as usize),
            _ => {}
        }
    }

    fn listen(&mut self, port: i32) {
        let Ok(number) = u16::try_from(port) else {
            self.complaint = Some(format!("{port} is not a TCP port"));
            return;
        };
        let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, number)) {
            Ok(listener) => listener,
            Err(error) => {
                self.complaint = Some(format!("cannot listen on port {number}: {error}"));
                return;
            }
        };
        let teller = self.teller.clone();
        let listen = move || {
            for stream in listener.incoming().flatten() {
                if !teller.tell(Event::Opened(stream)) {
                    return;
                }
            }
        };
        self.listening = std::thread::Builder::new().name("listener".to_owned()).spawn(listen).is_ok();
    }

    /// Registers a connection that was opened. If there are too many, it is closed again.
    pub fn opened(&mut self, stream: TcpStream) {
        let free = self.connections.iter().position(Option::is_none).unwrap_or(self.connections.len());
        let Some(reader) = stream.try_clone().ok().filter(|_| free < MOST) else { return };
        let _ = stream.set_nodelay(true);
        // A peer that does not read must not block the run for ever.
        let _ = stream.set_write_timeout(Some(PATIENCE));
        self.keys += 1;
        let (key, teller) = (self.keys, self.teller.clone());
        if std::thread::Builder::new().name("connection".to_owned()).spawn(move || read(key, reader, &teller)).is_err() {
            return;
        }
        if free == self.connections.len() {
            self.connections.push(None);
        }
        self.connections[free] = Some(Connection { key, out: BufWriter::new(stream) });
        self.news.push_back(News::Opened(free as u8));
    }

    pub fn came(&mut self, key: u64, bytes: Vec<u8>) {
        let known = |connection: &Option<Connection>| connection.as_ref().is_some_and(|connection| connection.key == key);
        let Some(number) = self.connections.iter().position(known) else { return };
        if bytes.is_empty() {
            self.news.push_back(News::Closed(number as u8));
        } else {
            self.waiting += bytes.len();
            self.news.push_back(News::Bytes(number as u8, bytes.into()));
        }
    }

    pub fn is_full(&self) -> bool {
        self.waiting >= ENOUGH
    }

    pub fn has_something(&self) -> bool {
        !self.news.is_empty()
    }

    /// Whether more events may come.
    pub fn is_open(&self) -> bool {
        self.listening
    }

    /// The kind of the next event: 1 opened, 2 a byte, 3 closed, 0 none.
    pub fn event(&mut self) -> u8 {
        match self.news.front_mut() {
            None => 0,
            Some(News::Opened(who)) => {
                self.who = *who;
                self.news.pop_front();
                1
            }
            Some(News::Closed(who)) => {
                self.who = *who;
                self.news.pop_front();
                3
            }
            Some(News::Bytes(who, bytes)) => {
                self.who = *who;
                self.byte = bytes.pop_front().unwrap_or(0);
                self.waiting -= 1;
                if bytes.is_empty() {
                    self.news.pop_front();
                }
                2
            }
        }
    }

    pub fn who(&self) -> u8 {
        self.who
    }

    pub fn byte(&self) -> u8 {
        self.byte
    }

    fn send(&mut self, who: usize, byte: u8) {
        if let Some(Some(connection)) = self.connections.get_mut(who) {
            let sent = connection.out.write_all(&[byte]);
            settle(connection, sent);
        }
    }

    /// Sends the bytes that were written.
    pub fn flush(&mut self) {
        for connection in self.connections.iter_mut().flatten().filter(|connection| !connection.out.buffer().is_empty()) {
            let sent = connection.out.flush();
            settle(connection, sent);
        }
    }

    fn close(&mut self, who: usize) {
        if let Some(mut connection) = self.connections.get_mut(who).and_then(Option::take) {
            let _ = connection.out.flush();
            let _ = connection.out.get_ref().shutdown(Shutdown::Both);
        }
    }
}

/// Shuts down a connection to which writing failed; its reading thread then reports it as closed.
fn settle(connection: &Connection, sent: std::io::Result<()>) {
    if sent.is_err() {
        let _ = connection.out.get_ref().shutdown(Shutdown::Both);
    }
}

fn read(key: u64, mut stream: TcpStream, teller: &Teller) {
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).unwrap_or(0);
        if !teller.tell(Event::Came(key, buffer[..count].to_vec())) || count == 0 {
            return;
        }
    }
}
