//! The connections that carry the dataflow, in the form that timely needs.
//!
//! Timely panics when a connection breaks. Here a broken connection is reported instead, and its
//! thread waits for the end of the run: the supervisor gives the run up and names the process that
//! is gone.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use timely::communication::allocator::zero_copy::stream::Stream;

/// The state of a connection to another process.
#[derive(Debug, Default)]
pub(crate) struct LineState {
    /// The run has ended, so the connection may end.
    pub closing: AtomicBool,
    /// The connection broke.
    pub broken: AtomicBool,
}

/// A connection to another process.
pub(crate) struct Line {
    pub stream: TcpStream,
    pub state: Arc<LineState>,
}

/// The time that an ended connection waits for the news that the run has ended.
const GRACE: Duration = Duration::from_secs(2);
const NAP: Duration = Duration::from_millis(10);

impl Line {
    /// Waits until the run has ended.
    fn wait(&self) {
        let mut waited = Duration::ZERO;
        while !self.state.closing.load(Ordering::Acquire) {
            std::thread::sleep(NAP);
            waited += NAP;
            if waited >= GRACE {
                self.state.broken.store(true, Ordering::Release);
            }
        }
    }
}

impl Read for Line {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stream.read(buffer) {
            Ok(read) if read > 0 => Ok(read),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            _ => {
                self.wait();
                Ok(0)
            }
        }
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.stream.write(bytes) {
            Ok(written) if written > 0 => Ok(written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            _ => {
                self.wait();
                // The other end no longer reads it.
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Line {
    fn try_clone(&self) -> io::Result<Self> {
        Ok(Line { stream: self.stream.try_clone()?, state: Arc::clone(&self.state) })
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.stream.set_nonblocking(nonblocking)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        // The other end may be gone already.
        let _ = self.stream.shutdown(how);
        Ok(())
    }
}
