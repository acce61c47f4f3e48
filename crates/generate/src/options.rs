//! The layout of a program: where the processes of the model run, and what carries messages.

use std::collections::BTreeMap;

/// Where the processes of the model run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgramLayout {
    /// Each is a process of the system.
    #[default]
    Processes,
    /// All are in one process of the system, with an event loop.
    Loop,
}

/// What carries the messages of channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// Queues in the memory that processes share, or in the only process.
    #[default]
    Memory,
    /// Message queues of System V.
    SystemV,
    /// Message queues of POSIX.
    Posix,
    /// A process that holds the queues, reached by Unix sockets.
    Unix,
    /// A process that holds the queues, reached by TCP.
    Tcp,
}

impl Transport {
    /// The name of the transport in the run time.
    pub(crate) fn carrier(self) -> &'static str {
        match self {
            Transport::SystemV => "EP_SYSV",
            Transport::Posix => "EP_POSIX",
            // The process that holds the queues has them in its memory.
            Transport::Memory | Transport::Unix | Transport::Tcp => "EP_MEMORY",
        }
    }

    /// How processes reach the one that holds the queues, if there is one.
    pub(crate) fn broker(self) -> Option<&'static str> {
        match self {
            Transport::Unix => Some("unix"),
            Transport::Tcp => Some("tcp"),
            _ => None,
        }
    }
}

/// The layout of a program.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where the processes run.
    pub layout: ProgramLayout,
    /// What carries messages.
    pub transport: Transport,
    /// The transports of single channels, by the names of variables.
    pub channels: BTreeMap<String, Transport>,
}

impl Options {
    /// The reason why these choices cannot be combined, if they cannot.
    pub fn refusal(&self) -> Option<&'static str> {
        if self.layout == ProgramLayout::Loop && self.transport.broker().is_some() {
            return Some("in one process nothing has to be sent over sockets: use queues in memory");
        }
        if self.channels.values().any(|transport| transport.broker().is_some()) {
            return Some("sockets carry all channels or none: give the transport without the name of a channel");
        }
        let other = self.channels.values().any(|transport| *transport != Transport::Memory);
        (self.transport.broker().is_some() && other).then_some("with sockets, all channels are in the process that they lead to")
    }
}
