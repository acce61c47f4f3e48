//! The time limit of a command, counted from the start of the process.

use contract::{Cancel, StopReason};
use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Knows when the time is over or a stop was requested.
#[derive(Clone, Debug)]
pub struct Patience {
    begun: Instant,
    limit: Option<Duration>,
    /// How to ask to stop, once that is possible.
    cancel: Arc<OnceLock<Cancel>>,
}

/// Why the time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The limit was reached.
    Time,
    /// Someone asked to stop.
    Interrupted,
}

impl From<Over> for StopReason {
    fn from(over: Over) -> StopReason {
        match over {
            Over::Time => StopReason::Time,
            Over::Interrupted => StopReason::Interrupted,
        }
    }
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        StopReason::from(*self).fmt(f)
    }
}

impl Patience {
    /// The time begins now.
    pub fn new(limit: Option<Duration>) -> Patience {
        Patience { begun: Instant::now(), limit, cancel: Arc::default() }
    }

    /// From now on a request to stop also counts, for all copies of this value.
    pub fn until(&self, cancel: &Cancel) {
        let _ = self.cancel.set(cancel.clone());
    }

    /// What is left of the time, if it is limited.
    pub fn left(&self) -> Option<Duration> {
        self.limit.map(|limit| limit.saturating_sub(self.begun.elapsed()))
    }

    /// Why to stop, if there is a reason.
    pub fn over(&self) -> Option<Over> {
        if self.cancel.get().is_some_and(Cancel::is_cancelled) {
            return Some(Over::Interrupted);
        }
        self.left().filter(Duration::is_zero).map(|_| Over::Time)
    }
}

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
            Some(why) => Err(io::Error::other(why.to_string())),
            None => self.out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
