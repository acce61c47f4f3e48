//! The devices of a run: console, clock and TCP sockets, behind ports and interrupt lines.
//!
//! Each device has some ports and one interrupt line; `crates/lf/src/library` has a driver for
//! each. Threads of their own wait for events from outside. Each of them passes on one event at a
//! time and waits until the program has taken it in. So a slow program slows down its senders and
//! takes no memory for them, and a device that nobody reads does not hold up another.

mod clock;
mod console;
mod outbox;
mod permits;
mod tcp;

use clock::Clock;
use console::Console;
use permits::Held;
use runtime::Devices;
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tcp::Tcp;

/// An event from outside.
pub enum Event {
    /// Bytes came from the console; none at its end.
    Typed(Vec<u8>),
    /// A connection was opened, which holds a place among all connections.
    Opened(TcpStream, Arc<Held>),
    /// Bytes came over a connection; none at its end.
    Came(u64, Vec<u8>),
}

/// The sending end of the channel of events.
#[derive(Clone)]
pub struct Teller {
    events: Sender<Event>,
    /// The number of events that were sent and not received yet.
    told: Arc<AtomicUsize>,
}

impl Teller {
    /// Sends an event; false if the receiver is gone.
    pub fn tell(&self, event: Event) -> bool {
        self.told.fetch_add(1, Ordering::Release);
        self.events.send(event).is_ok()
    }
}

/// An interrupt line. It stays quiet from the moment when its driver gets the interrupt until the
/// driver has read that nothing is left.
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
        let (events, heard) = channel();
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

    /// An error outside the program, if there is one: a port that cannot be listened on.
    pub fn complaint(&mut self) -> Option<String> {
        self.tcp.complaint.take()
    }

    fn hear(&mut self, event: Event) {
        self.told.fetch_sub(1, Ordering::Acquire);
        match event {
            Event::Typed(bytes) => self.console.typed(&bytes),
            Event::Opened(stream, place) => self.tcp.opened(stream, place),
            Event::Came(key, bytes) => self.tcp.came(key, bytes),
        }
    }

    /// Receives the events that were sent.
    fn hear_all(&mut self) {
        while self.told.load(Ordering::Acquire) > 0 {
            match self.events.try_recv() {
                Ok(event) => self.hear(event),
                Err(mpsc::TryRecvError::Empty | mpsc::TryRecvError::Disconnected) => return,
            }
        }
    }

    /// The devices that have something for their drivers.
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
        // After a driver has read that nothing is left, it can be interrupted again.
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
        self.tcp.acted();
        let anything = self.anything();
        (0..3).map(|line| u32::from(self.lines[line].is_raised(anything[line])) << line).sum()
    }

    fn acknowledge(&mut self, line: u32) {
        if let Some(line) = self.lines.get_mut(line as usize) {
            line.quiet = true;
        }
    }

    fn wait(&mut self, lines: u32, most: Duration) -> bool {
        // The output must be visible to a process that waits for it.
        let _ = std::io::stdout().flush();
        self.tcp.flush();
        if self.raised() & lines != 0 {
            return true;
        }
        // A line is quiet until its driver has read, so it will not be raised meanwhile.
        let open = [self.clock.is_set(), self.console.is_open(), self.tcp.is_open()];
        if (0..3).all(|line| lines >> line & 1 == 0 || !open[line] || self.lines[line].quiet) {
            return false;
        }
        let most = self.clock.next().map_or(most, |next| next.min(most));
        match self.events.recv_timeout(most) {
            Ok(event) => self.hear(event),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        true
    }
}
