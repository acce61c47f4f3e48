//! The time limit of a command, counted from the start of the process.

use contract::{Cancel, StopReason};
use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Tells when the time limit is reached or a stop was requested.
#[derive(Clone, Debug)]
pub struct Patience {
    begun: Instant,
    limit: Option<Duration>,
    /// The request to stop, once there can be one.
    cancel: Arc<OnceLock<Cancel>>,
}

/// Why the command must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The limit was reached.
    Time,
    /// A stop was requested.
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
    /// Starts the clock.
    pub fn new(limit: Option<Duration>) -> Patience {
        Patience { begun: Instant::now(), limit, cancel: Arc::default() }
    }

    /// From now on a request to stop also counts, for all copies of this value.
    pub fn until(&self, cancel: &Cancel) {
        let _ = self.cancel.set(cancel.clone());
    }

    /// The time that is left, if it is limited.
    pub fn left(&self) -> Option<Duration> {
        self.limit.map(|limit| limit.saturating_sub(self.begun.elapsed()))
    }

    /// The reason to stop, if there is one.
    pub fn over(&self) -> Option<Over> {
        if self.cancel.get().is_some_and(Cancel::is_cancelled) {
            return Some(Over::Interrupted);
        }
        self.left().filter(Duration::is_zero).map(|_| Over::Time)
    }
}

/// A writer that fails when the time limit is reached.
pub struct InTime<'a> {
    /// The destination.
    pub out: &'a mut dyn Write,
    /// The time limit.
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
