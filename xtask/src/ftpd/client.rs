//! A small FTP client, which can also misbehave.

use crate::Failure;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

pub struct Client {
    pub stream: TcpStream,
    reader: BufReader<TcpStream>,
}

/// What goes wrong with a connection is told in a word.
fn told<T>(what: &str, result: std::io::Result<T>) -> Result<T, Failure> {
    result.map_err(|error| format!("{what}: {error}"))
}

impl Client {
    pub fn connect(port: u16) -> Result<Client, Failure> {
        let stream = told("connect", TcpStream::connect(("127.0.0.1", port)))?;
        told("limit", stream.set_read_timeout(Some(Duration::from_secs(60))))?;
        told("limit", stream.set_write_timeout(Some(Duration::from_secs(60))))?;
        told("delay", stream.set_nodelay(true))?;
        let reader = BufReader::new(told("connect", stream.try_clone())?);
        let mut client = Client { stream, reader };
        client.expect(220)?;
        Ok(client)
    }

    pub fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        told("send", self.stream.write_all(bytes))
    }

    /// The code and the text of the next answer.
    pub fn answer(&mut self) -> Result<(u16, String), Failure> {
        let mut line = Vec::new();
        told("answer", self.reader.read_until(b'\n', &mut line))?;
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        match text.get(..3).and_then(|code| code.parse().ok()) {
            Some(code) => Ok((code, text)),
            None => Err(format!("no answer: {text:?}")),
        }
    }

    pub fn expect(&mut self, code: u16) -> Result<String, Failure> {
        match self.answer()? {
            (found, text) if found == code => Ok(text),
            (_, text) => Err(format!("{code} was expected: {text}")),
        }
    }

    pub fn command(&mut self, line: &str) -> Result<(u16, String), Failure> {
        self.send(format!("{line}\r\n").as_bytes())?;
        self.answer()
    }

    pub fn login(&mut self) -> Result<(), Failure> {
        self.send(b"USER anonymous\r\n")?;
        self.expect(331)?;
        self.send(b"PASS me\r\n")?;
        self.expect(230)?;
        // Otherwise the bytes of a file may be changed.
        self.send(b"TYPE I\r\n")?;
        self.expect(200).map(drop)
    }

    /// A connection for data, which the server waits for.
    pub fn passive(&mut self) -> Result<TcpStream, Failure> {
        self.send(b"EPSV\r\n")?;
        let text = self.expect(229)?;
        let port: u16 = text.split('|').nth(3).and_then(|port| port.parse().ok()).ok_or_else(|| format!("no port: {text}"))?;
        let data = told("data", TcpStream::connect(("127.0.0.1", port)))?;
        told("limit", data.set_read_timeout(Some(Duration::from_secs(120))))?;
        Ok(data)
    }

    /// The same by the older command, whose answer has an address of six numbers.
    pub fn passive_by_address(&mut self) -> Result<TcpStream, Failure> {
        self.send(b"PASV\r\n")?;
        let text = self.expect(227)?;
        let port = address_in(&text).ok_or_else(|| format!("no address: {text}"))?;
        let data = told("data", TcpStream::connect(("127.0.0.1", port)))?;
        told("limit", data.set_read_timeout(Some(Duration::from_secs(120))))?;
        Ok(data)
    }

    /// Lets the server connect.
    pub fn active(&mut self) -> Result<TcpListener, Failure> {
        let (listener, line) = told("data", offer())?;
        self.send(line.as_bytes())?;
        self.expect(200)?;
        Ok(listener)
    }

    /// Retrieves a file: how many bytes came, and whether all were `byte`.
    pub fn retrieve(&mut self, name: &str, byte: Option<u8>, buffer: &mut [u8]) -> Result<u64, Failure> {
        let mut data = self.passive()?;
        self.send(format!("RETR {name}\r\n").as_bytes())?;
        self.expect(150)?;
        let mut length = 0;
        loop {
            let got = told("data", data.read(buffer))?;
            if got == 0 {
                break;
            }
            if byte.is_some_and(|byte| buffer[..got].iter().any(|found| *found != byte)) {
                return Err(format!("{name} has other bytes"));
            }
            length += got as u64;
        }
        // Some servers wait for this end to be closed too.
        drop(data);
        self.expect(226)?;
        Ok(length)
    }
}

/// The port in an answer to PASV.
pub fn address_in(text: &str) -> Option<u16> {
    let numbers = text.split_once('(')?.1.split_once(')')?.0;
    let numbers: Vec<u16> = numbers.split(',').map(|number| number.parse::<u8>().ok().map(u16::from)).collect::<Option<_>>()?;
    match numbers.as_slice() {
        [_, _, _, _, high, low] => Some(high << 8 | low),
        _ => None,
    }
}

/// A socket that waits for the server, and the command that says so.
pub fn offer() -> std::io::Result<(TcpListener, String)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    Ok((listener, format!("PORT 127,0,0,1,{},{}\r\n", port >> 8, port & 255)))
}
