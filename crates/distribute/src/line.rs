//! The connections that carry the dataflow, as timely is given them.
//!
//! Timely ends the process's hope with a panic when a connection breaks. Here a broken connection
//! is reported instead, and the thread that met it waits for the end of the run: whoever watches
//! over the run gives it up and names the process that is gone.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use timely::communication::allocator::zero_copy::stream::Stream;

/// What is known of a connection to another process.
#[derive(Debug, Default)]
pub(crate) struct LineState {
    /// The run has ended: what ends now ends rightly.
    pub closing: AtomicBool,
    /// It broke.
    pub broken: AtomicBool,
}

/// A connection to another process.
pub(crate) struct Line {
    pub stream: TcpStream,
    pub state: Arc<LineState>,
}

/// How long a connection that has ended may wait for the news that the run has.
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
                // Nobody reads it any more.
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
