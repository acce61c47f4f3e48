//! The messages between rank 0 and the others outside the dataflow: the processes, the job, the
//! progress, and signs of life.

use crate::wire::{Cursor, put_bytes, put_number, put_reason};
use contract::{Progress, StopReason};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The interval of beats, and the time after which a silent process is considered dead.
pub(crate) const BEAT: Duration = Duration::from_millis(250);
pub(crate) const SILENCE: Duration = Duration::from_secs(6);
/// The longest message: a job contains a program.
const MOST: u32 = 1 << 28;

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Message {
    /// From rank 0: the session, the number of processes, and the number of workers in each.
    Welcome { session: [u8; 16], ranks: u32, threads: u32 },
    /// The address at which this process listens.
    Listening(String),
    /// From rank 0: the address at which each process listens.
    Addresses(Vec<String>),
    /// All connections of this process are established.
    Ready,
    /// From rank 0: all are ready.
    Start,
    /// From rank 0: the job.
    Job(Vec<u8>),
    /// A sign of life, with the progress.
    Beat(Progress),
    /// The search is to end.
    Stop(StopReason),
    /// The job is done here.
    Ended,
    /// The connection to another process is lost.
    Lost(u32),
    /// From rank 0: the run is given up for this reason.
    Abort(String),
    /// From rank 0: there are no more jobs.
    Bye,
}

impl Message {
    fn to_bytes(&self) -> Vec<u8> {
        let mut to = vec![0; 4];
        match self {
            Message::Welcome { session, ranks, threads } => {
                to.push(0);
                to.extend_from_slice(session);
                put_number(&mut to, u64::from(*ranks));
                put_number(&mut to, u64::from(*threads));
            }
            Message::Listening(address) => {
                to.push(1);
                put_bytes(&mut to, address.as_bytes());
            }
            Message::Addresses(addresses) => {
                to.push(2);
                addresses.iter().for_each(|address| put_bytes(&mut to, address.as_bytes()));
            }
            Message::Ready => to.push(3),
            Message::Start => to.push(4),
            Message::Job(job) => {
                to.push(5);
                put_bytes(&mut to, job);
            }
            Message::Beat(Progress { states, transitions, waiting, depth, bytes, .. }) => {
                to.push(6);
                [states, transitions, waiting, depth, bytes].into_iter().for_each(|&number| put_number(&mut to, number));
            }
            Message::Stop(reason) => {
                to.push(7);
                put_reason(&mut to, Some(reason));
            }
            Message::Ended => to.push(9),
            Message::Lost(rank) => {
                to.push(10);
                put_number(&mut to, u64::from(*rank));
            }
            Message::Abort(why) => {
                to.push(11);
                put_bytes(&mut to, why.as_bytes());
            }
            Message::Bye => to.push(12),
        }
        let len = (to.len() - 4) as u32;
        to[..4].copy_from_slice(&len.to_le_bytes());
        to
    }

    fn of_bytes(bytes: &[u8]) -> Option<Message> {
        let mut cursor = Cursor(bytes);
        let text = |cursor: &mut Cursor<'_>| Some(String::from_utf8_lossy(cursor.bytes()?).into_owned());
        Some(match cursor.byte()? {
            0 => {
                let mut session = [0; 16];
                session.copy_from_slice(cursor.take(16)?);
                Message::Welcome { session, ranks: cursor.number()? as u32, threads: cursor.number()? as u32 }
            }
            1 => Message::Listening(text(&mut cursor)?),
            2 => {
                let mut addresses = Vec::new();
                while !cursor.is_empty() {
                    addresses.push(text(&mut cursor)?);
                }
                Message::Addresses(addresses)
            }
            3 => Message::Ready,
            4 => Message::Start,
            5 => Message::Job(cursor.bytes()?.to_vec()),
            6 => {
                let mut number = || cursor.number();
                let (states, transitions, waiting, depth, bytes) = (number()?, number()?, number()?, number()?, number()?);
                Message::Beat(Progress { states, transitions, waiting, depth, bytes, ..Progress::default() })
            }
            7 => Message::Stop(cursor.reason()??),
            9 => Message::Ended,
            10 => Message::Lost(cursor.number()? as u32),
            11 => Message::Abort(text(&mut cursor)?),
            12 => Message::Bye,
            _ => return None,
        })
    }

    /// Sends the whole message.
    pub fn write(&self, to: &mut TcpStream) -> io::Result<()> {
        to.write_all(&self.to_bytes())
    }

    /// Waits for the next message.
    pub fn read(from: &mut TcpStream) -> io::Result<Message> {
        let mut len = [0; 4];
        from.read_exact(&mut len)?;
        let len = u32::from_le_bytes(len);
        if len > MOST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too long"));
        }
        // Memory is allocated as the bytes arrive.
        let mut bytes = Vec::new();
        from.take(u64::from(len)).read_to_end(&mut bytes)?;
        if bytes.len() < len as usize {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Message::of_bytes(&bytes).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a message is not understood"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let progress = Progress { states: 1, transitions: u64::MAX, waiting: 3, depth: 400, bytes: 5, ..Progress::default() };
        for message in [
            Message::Welcome { session: [5; 16], ranks: 3, threads: 2 },
            Message::Listening("127.0.0.1:5".to_owned()),
            Message::Addresses(vec!["a:1".to_owned(), "b:2".to_owned()]),
            Message::Ready,
            Message::Start,
            Message::Job(vec![0; 300]),
            Message::Beat(progress),
            Message::Stop(StopReason::Storage("full".to_owned())),
            Message::Ended,
            Message::Lost(2),
            Message::Abort("gone".to_owned()),
            Message::Bye,
        ] {
            let bytes = message.to_bytes();
            assert_eq!(Message::of_bytes(&bytes[4..]), Some(message.clone()));
            for cut in 4..bytes.len() {
                // A truncated message must not cause a panic.
                let _ = Message::of_bytes(&bytes[4..cut]);
            }
        }
    }
}
