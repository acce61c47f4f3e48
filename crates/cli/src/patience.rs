//! How long a command may take, from its first moment on: what the search does not see is watched here.
//!
//! While a model is read, a thread waits for the end of the time, because whoever reads may be stuck in a pipe that nobody writes to. A signal
//! needs no such thread: until the search begins, it ends the process.

use contract::Cancel;
use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// Knows when the time is up, or someone asked to stop.
#[derive(Clone, Debug)]
pub struct Patience {
    begun: Instant,
    limit: Option<Duration>,
    cancel: Option<Cancel>,
}

impl Patience {
    /// The time begins now.
    pub fn new(limit: Option<Duration>) -> Patience {
        Patience { begun: Instant::now(), limit, cancel: None }
    }

    /// From now on it is also over when someone asks to stop.
    pub fn with(self, cancel: Cancel) -> Patience {
        Patience { cancel: Some(cancel), ..self }
    }

    /// What is left of the time, if it is limited.
    pub fn left(&self) -> Option<Duration> {
        self.limit.map(|limit| limit.saturating_sub(self.begun.elapsed()))
    }

    /// Why to stop, if there is a reason.
    pub fn over(&self) -> Option<&'static str> {
        if self.cancel.as_ref().is_some_and(Cancel::is_cancelled) {
            return Some("interrupted");
        }
        self.left().filter(Duration::is_zero).map(|_| "the time limit was reached")
    }

    /// Does `late` in a thread of its own when the time is up, unless the watch is dropped before.
    pub fn watch(&self, late: impl FnOnce() + Send + 'static) -> Option<Watch> {
        let left = self.left()?;
        let (done, waiting) = mpsc::channel();
        let watch = move || {
            if waiting.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                late();
            }
        };
        // Without a thread the limit is kept once the search has begun.
        thread::Builder::new().spawn(watch).ok().map(|_| Watch(done))
    }
}

/// Someone watches the time while this lives.
pub struct Watch(#[expect(dead_code, reason = "that it is dropped is what the other end hears")] Sender<()>);

/// Writes as long as there is time.
pub struct InTime<'a> {
    /// Where to.
    pub out: &'a mut dyn Write,
    /// How long.
    pub patience: &'a Patience,
}

impl Write for InTime<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.patience.over() {
            Some(why) => Err(io::Error::other(why)),
            None => self.out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
