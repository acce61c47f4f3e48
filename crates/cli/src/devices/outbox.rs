//! The bytes that wait to be sent over a connection, and the thread that sends them.
//!
//! The run never waits for a peer: it only appends to the outbox. A peer that leaves too much of it
//! unread is disconnected.

use super::permits::Held;
use std::io::{ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most bytes that wait for a peer.
const MOST_BYTES: usize = 2 << 20;

/// The time after which the thread looks whether to give up.
const ROUND: Duration = Duration::from_millis(200);

/// The time that a peer has to read what is left after the program has closed the connection.
pub const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Default)]
struct Contents {
    bytes: Vec<u8>,
    /// Bytes were taken out and are not sent yet.
    sending: bool,
    /// The program has closed the connection.
    closing: bool,
    /// Nothing can be sent any more.
    broken: bool,
}

impl Contents {
    fn is_done(&self) -> bool {
        self.broken || (self.bytes.is_empty() && !self.sending)
    }
}

#[derive(Default)]
pub struct Outbox {
    contents: Mutex<Contents>,
    changed: Condvar,
}

impl Outbox {
    /// An outbox and its thread, which holds a place among the connections until it ends.
    pub fn new(stream: TcpStream, place: Arc<Held>) -> std::io::Result<Arc<Outbox>> {
        stream.set_write_timeout(Some(ROUND))?;
        let outbox = Arc::new(Outbox::default());
        let shared = Arc::clone(&outbox);
        let send = move || {
            shared.send_all(&stream);
            let _ = stream.shutdown(Shutdown::Both);
            drop(place);
        };
        std::thread::Builder::new().name("outbox".to_owned()).spawn(send)?;
        Ok(outbox)
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds bytes and removes them from `bytes`. Returns `false` if they cannot be sent.
    pub fn add(&self, bytes: &mut Vec<u8>) -> bool {
        let mut contents = self.contents();
        contents.broken |= contents.bytes.len() + bytes.len() > MOST_BYTES;
        if contents.broken {
            bytes.clear();
        }
        contents.bytes.append(bytes);
        self.changed.notify_all();
        !contents.broken
    }

    /// Ends the thread once everything is sent.
    pub fn close(&self) {
        self.contents().closing = true;
        self.changed.notify_all();
    }

    /// Whether everything is sent, or nothing can be sent any more.
    pub fn is_done(&self) -> bool {
        self.contents().is_done()
    }

    /// Waits until everything is sent, but not longer than until `end`.
    pub fn wait(&self, end: Instant) {
        let left = end.saturating_duration_since(Instant::now());
        let _ = self.changed.wait_timeout_while(self.contents(), left, |contents| !contents.is_done());
    }

    fn send_all(&self, stream: &TcpStream) {
        loop {
            let empty = |contents: &mut Contents| contents.bytes.is_empty() && !contents.closing && !contents.broken;
            let mut contents = self.changed.wait_while(self.contents(), empty).unwrap_or_else(PoisonError::into_inner);
            if contents.broken || contents.bytes.is_empty() {
                return;
            }
            let bytes = std::mem::take(&mut contents.bytes);
            contents.sending = true;
            drop(contents);
            let sent = self.send(stream, &bytes);
            let mut contents = self.contents();
            contents.sending = false;
            contents.broken |= !sent;
            self.changed.notify_all();
        }
    }

    /// Sends some bytes; `false` if that is impossible.
    fn send(&self, mut stream: &TcpStream, mut bytes: &[u8]) -> bool {
        let mut end = None;
        while !bytes.is_empty() {
            match stream.write(bytes) {
                Ok(0) => return false,
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The peer does not read at the moment.
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return false,
            }
            let contents = self.contents();
            if contents.closing {
                end.get_or_insert_with(|| Instant::now() + PATIENCE);
            }
            if contents.broken || end.is_some_and(|end| Instant::now() >= end) {
                return false;
            }
        }
        true
    }
}
