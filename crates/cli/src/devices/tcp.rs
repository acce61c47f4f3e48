//! TCP: connections that other processes open to a port of this host.
//!
//! A connection has a number of one byte while it is open. Its bytes are read and sent by threads
//! of its own. What the program sends is passed on when the program is idle, after some actions, or
//! when there are many bytes.

use super::outbox::{Outbox, PATIENCE};
use super::permits::{Held, Permits};
use super::{Event, Teller};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The largest number of open connections. Others wait until one of them is closed.
const MOST: usize = 200;

/// The largest number of ports to listen on.
const MOST_PORTS: usize = 16;

/// The number of bytes that are passed on together.
const BLOCK: usize = 4096;

/// The number of actions after which bytes are passed on.
const ROUND: u32 = 64;

/// The time until a connection is accepted again after an error, such as too many open files.
const PAUSE: Duration = Duration::from_millis(50);

struct Connection {
    /// A number that is unique among all connections; the numbers of one byte are reused.
    key: u64,
    stream: TcpStream,
    /// Bytes that are not passed on yet.
    written: Vec<u8>,
    outbox: Arc<Outbox>,
    /// Lets the thread read more once the program has read everything.
    more: Permits,
    /// Its place among the connections.
    _place: Arc<Held>,
}

impl Connection {
    /// Passes on what was written. If that is impossible, the connection is shut down, and its
    /// reading thread reports it as closed.
    fn flush(&mut self) {
        if !self.written.is_empty() && !self.outbox.add(&mut self.written) {
            let _ = self.stream.shutdown(Shutdown::Both);
        }
    }
}

/// An event for the driver.
enum News {
    Opened(u8),
    Bytes(u8, VecDeque<u8>),
    Closed(u8),
}

pub struct Tcp {
    teller: Teller,
    /// The number of ports it listens on.
    listening: usize,
    keys: u64,
    connections: Vec<Option<Connection>>,
    news: VecDeque<News>,
    /// The connections that may be opened.
    places: Permits,
    /// The outboxes of closed connections that still send.
    closed: Vec<Arc<Outbox>>,
    /// Whether something was written that is not passed on, and the number of actions since then.
    written: bool,
    acted: u32,
    who: u8,
    byte: u8,
    /// The last error.
    pub complaint: Option<String>,
}

impl Tcp {
    pub fn new(teller: Teller) -> Tcp {
        Tcp {
            teller,
            listening: 0,
            keys: 0,
            connections: Vec::new(),
            news: VecDeque::new(),
            places: Permits::new(MOST),
            closed: Vec::new(),
            written: false,
            acted: 0,
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
        if self.listening >= MOST_PORTS {
            self.complaint = Some(format!("cannot listen on port {number}: there are {MOST_PORTS} others"));
            return;
        }
        let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, number)) {
            Ok(listener) => listener,
            Err(error) => {
                self.complaint = Some(format!("cannot listen on port {number}: {error}"));
                return;
            }
        };
        let (teller, places) = (self.teller.clone(), self.places.clone());
        let listen = move || {
            loop {
                let place = places.hold();
                let stream = loop {
                    match listener.accept() {
                        Ok((stream, _)) => break stream,
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        Err(_) => std::thread::sleep(PAUSE),
                    }
                };
                if !teller.tell(Event::Opened(stream, place)) {
                    return;
                }
            }
        };
        self.listening += usize::from(std::thread::Builder::new().name("listener".to_owned()).spawn(listen).is_ok());
    }

    /// Registers a connection that was opened.
    pub fn opened(&mut self, stream: TcpStream, place: Arc<Held>) {
        if let Err(error) = self.register(stream, place) {
            self.complaint = Some(format!("a connection was refused: {error}"));
        }
    }

    fn register(&mut self, stream: TcpStream, place: Arc<Held>) -> std::io::Result<()> {
        let free = self.connections.iter().position(Option::is_none).unwrap_or(self.connections.len());
        let number = u8::try_from(free).map_err(|_| ErrorKind::OutOfMemory)?;
        stream.set_nodelay(true)?;
        let reader = stream.try_clone()?;
        let outbox = Outbox::new(stream.try_clone()?, Arc::clone(&place))?;
        self.keys += 1;
        let (key, teller, more) = (self.keys, self.teller.clone(), Permits::new(1));
        let permits = more.clone();
        let reading = std::thread::Builder::new().name("connection".to_owned()).spawn(move || read(key, reader, &teller, &permits));
        if let Err(error) = reading {
            outbox.close();
            return Err(error);
        }
        if free == self.connections.len() {
            self.connections.push(None);
        }
        self.connections[free] = Some(Connection { key, stream, written: Vec::new(), outbox, more, _place: place });
        self.news.push_back(News::Opened(number));
        Ok(())
    }

    pub fn came(&mut self, key: u64, bytes: Vec<u8>) {
        let known = |connection: &Option<Connection>| connection.as_ref().is_some_and(|connection| connection.key == key);
        let Some(number) = self.connections.iter().position(known) else { return };
        if bytes.is_empty() {
            self.news.push_back(News::Closed(number as u8));
        } else {
            self.news.push_back(News::Bytes(number as u8, bytes.into()));
        }
    }

    pub fn has_something(&self) -> bool {
        !self.news.is_empty()
    }

    /// Whether more events may come.
    pub fn is_open(&self) -> bool {
        self.listening > 0
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
                if bytes.is_empty() {
                    let more = self.connections.get(usize::from(self.who)).and_then(Option::as_ref);
                    more.into_iter().for_each(|connection| connection.more.give());
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
            connection.written.push(byte);
            self.written = true;
            if connection.written.len() >= BLOCK {
                connection.flush();
            }
        }
    }

    /// Passes on all bytes that were written.
    pub fn flush(&mut self) {
        if std::mem::take(&mut self.written) {
            self.connections.iter_mut().flatten().for_each(Connection::flush);
        }
        self.acted = 0;
    }

    /// Counts an action of the program: what was written is sent soon, also by a program that is
    /// never idle.
    pub fn acted(&mut self) {
        if self.written {
            self.acted += 1;
            if self.acted >= ROUND {
                self.flush();
            }
        }
    }

    fn close(&mut self, who: usize) {
        if let Some(mut connection) = self.connections.get_mut(who).and_then(Option::take) {
            connection.flush();
            connection.outbox.close();
            // What has come and was not read is lost.
            self.news.retain(|news| !matches!(news, News::Bytes(other, _) | News::Closed(other) if usize::from(*other) == who));
            let _ = connection.stream.shutdown(Shutdown::Read);
            connection.more.give();
            self.closed.retain(|outbox| !outbox.is_done());
            self.closed.push(connection.outbox);
        }
    }
}

impl Drop for Tcp {
    /// Sends what is left, for peers that read.
    fn drop(&mut self) {
        self.flush();
        let end = Instant::now() + PATIENCE;
        let open = self.connections.iter().flatten().map(|connection| &connection.outbox);
        open.chain(&self.closed).for_each(|outbox| outbox.wait(end));
    }
}

fn read(key: u64, mut stream: TcpStream, teller: &Teller, more: &Permits) {
    let mut buffer = [0; 4096];
    loop {
        more.take();
        let count = loop {
            match stream.read(&mut buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read.unwrap_or(0),
            }
        };
        if !teller.tell(Event::Came(key, buffer[..count].to_vec())) || count == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, MOST, Tcp, Teller};
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc::{Receiver, channel};

    /// The device with a connection, its peer, and the events.
    fn connected() -> (Tcp, TcpStream, Receiver<Event>) {
        let (events, heard) = channel();
        let mut tcp = Tcp::new(Teller { events, told: Arc::new(AtomicUsize::new(0)) });
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let peer = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        let place = tcp.places.hold();
        tcp.opened(listener.accept().expect("a connection").0, place);
        assert_eq!((tcp.event(), tcp.who()), (1, 0));
        (tcp, peer, heard)
    }

    /// The device never waits for a peer that does not read: it ends the connection.
    #[test]
    fn a_peer_that_does_not_read_is_disconnected() {
        let (mut tcp, _peer, heard) = connected();
        // More than the buffers of the system and the outbox hold.
        for _ in 0..64 << 20 {
            tcp.output(0x34, 7);
        }
        let Ok(Event::Came(key, bytes)) = heard.recv() else { panic!("the end of the connection") };
        assert!(bytes.is_empty());
        tcp.came(key, bytes);
        assert_eq!((tcp.event(), tcp.who()), (3, 0));
    }

    /// What was written before the connection is closed arrives, and its place is free again.
    #[test]
    fn a_closed_connection_sends_what_is_left() {
        let (mut tcp, mut peer, _heard) = connected();
        let sent: Vec<u8> = (0..100_000_u32).map(|number| number as u8).collect();
        sent.iter().for_each(|byte| tcp.output(0x34, i32::from(*byte)));
        tcp.output(0x35, 0);
        let mut got = Vec::new();
        peer.read_to_end(&mut got).expect("all bytes");
        assert_eq!(got, sent);
        let all: Vec<_> = (0..MOST).map(|_| tcp.places.hold()).collect();
        assert_eq!(all.len(), MOST);
    }

    /// The bytes of one connection are taken in before more are read.
    #[test]
    fn unread_bytes_are_bounded() {
        let (mut tcp, mut peer, heard) = connected();
        std::thread::spawn(move || while std::io::Write::write_all(&mut peer, &[1; 4096]).is_ok() {});
        let mut taken = 0;
        for _ in 0..20 {
            let Ok(Event::Came(key, bytes)) = heard.recv() else { panic!("bytes") };
            std::thread::sleep(std::time::Duration::from_millis(1));
            assert!(heard.try_recv().is_err(), "a second block came before the first was read");
            taken += bytes.len();
            tcp.came(key, bytes);
            while tcp.event() == 2 {}
        }
        assert!(taken >= 20);
    }
}
