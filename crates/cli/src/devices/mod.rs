//! The devices of a run: console, clock and TCP sockets, behind ports and interrupt lines.
//!
//! Each device answers for some ports and one interrupt line; `crates/lf/src/library` has a driver
//! for each. What happens outside is heard by threads of its own, which hand it over in a channel
//! of bounded length, so a slow program slows down whoever sends to it and takes no memory for it.

mod clock;
mod console;
mod tcp;

use clock::Clock;
use console::Console;
use runtime::Devices;
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tcp::Tcp;

/// Something happened outside.
pub enum Event {
    /// Bytes came from the console; none at its end.
    Typed(Vec<u8>),
    /// A connection was opened.
    Opened(TcpStream),
    /// Bytes came over a connection; none at its end.
    Came(u64, Vec<u8>),
}

/// How many events wait to be heard.
const EVENTS: usize = 64;

/// A way to tell the run of events.
#[derive(Clone)]
pub struct Teller {
    events: SyncSender<Event>,
    /// How many events were told and not heard yet.
    told: Arc<AtomicUsize>,
}

impl Teller {
    /// Tells; false if nobody listens any more.
    pub fn tell(&self, event: Event) -> bool {
        self.told.fetch_add(1, Ordering::Release);
        self.events.send(event).is_ok()
    }
}

/// A raised line stays quiet from when its driver has got the interrupt to when the driver has read
/// that nothing is left.
#[derive(Default)]
struct Line {
    quiet: bool,
}

impl Line {
    fn is_raised(&self, anything: bool) -> bool {
        anything && !self.quiet
    }
}

/// All devices.
pub struct Board {
    events: Receiver<Event>,
    told: Arc<AtomicUsize>,
    clock: Clock,
    console: Console,
    tcp: Tcp,
    lines: [Line; 3],
}

impl Board {
    pub fn new() -> Board {
        let (events, heard) = sync_channel(EVENTS);
        let told = Arc::new(AtomicUsize::new(0));
        let teller = Teller { events, told: Arc::clone(&told) };
        Board {
            events: heard,
            told,
            clock: Clock::default(),
            console: Console::new(teller.clone()),
            tcp: Tcp::new(teller),
            lines: Default::default(),
        }
    }

    /// What went wrong outside, if anything did: a port that cannot be listened on.
    pub fn complaint(&mut self) -> Option<String> {
        self.tcp.complaint.take()
    }

    fn hear(&mut self, event: Event) {
        self.told.fetch_sub(1, Ordering::Acquire);
        match event {
            Event::Typed(bytes) => self.console.typed(&bytes),
            Event::Opened(stream) => self.tcp.opened(stream),
            Event::Came(key, bytes) => self.tcp.came(key, bytes),
        }
    }

    /// Hears what was told. Bytes that the program has not read yet are enough for now.
    fn hear_all(&mut self) {
        while self.told.load(Ordering::Acquire) > 0 && !self.is_full() {
            match self.events.try_recv() {
                Ok(event) => self.hear(event),
                Err(mpsc::TryRecvError::Empty | mpsc::TryRecvError::Disconnected) => return,
            }
        }
    }

    fn is_full(&self) -> bool {
        self.console.is_full() || self.tcp.is_full()
    }

    /// Which devices have something to tell their drivers.
    fn anything(&mut self) -> [bool; 3] {
        [self.clock.is_over(), self.console.has_something(), self.tcp.has_something()]
    }
}

impl Devices for Board {
    fn output(&mut self, port: i32, value: i32) {
        match port {
            0x10 | 0x11 => self.console.output(port, value),
            0x20..=0x27 => self.clock.set((port - 0x20) as u8, value),
            0x30..=0x35 => self.tcp.output(port, value),
            _ => {}
        }
    }

    fn input(&mut self, port: i32) -> u8 {
        // A driver that reads that nothing is left wants to be interrupted again.
        let (value, line) = match port {
            0x10 => (self.console.data(), None),
            0x11 => (self.console.status(), Some(1)),
            0x20 => (self.clock.next_over(), Some(0)),
            0x31 => (self.tcp.event(), Some(2)),
            0x32 => (self.tcp.who(), None),
            0x33 => (self.tcp.byte(), None),
            _ => (0, None),
        };
        if let (0, Some(line)) = (value, line) {
            self.lines[line].quiet = false;
        }
        value
    }

    fn raised(&mut self) -> u32 {
        self.hear_all();
        let anything = self.anything();
        (0..3).map(|line| u32::from(self.lines[line].is_raised(anything[line])) << line).sum()
    }

    fn acknowledge(&mut self, line: u32) {
        if let Some(line) = self.lines.get_mut(line as usize) {
            line.quiet = true;
        }
    }

    fn wait(&mut self, most: Duration) -> bool {
        // Whoever waits for what was written must be able to see it.
        let _ = std::io::stdout().flush();
        self.tcp.flush();
        if self.raised() != 0 {
            return true;
        }
        let most = self.clock.next().map_or(most, |next| next.min(most));
        if !(self.clock.is_set() || self.console.is_open() || self.tcp.is_open()) {
            return false;
        }
        match self.events.recv_timeout(most) {
            Ok(event) => self.hear(event),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        true
    }
}
