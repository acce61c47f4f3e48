//! The console: input and output.

use super::permits::Permits;
use super::{Event, Teller};
use std::collections::VecDeque;
use std::io::{Read, Write};

pub struct Console {
    teller: Option<Teller>,
    bytes: VecDeque<u8>,
    /// Lets the thread read more once the program has read everything.
    more: Permits,
    /// Whether the program reads.
    reading: bool,
    /// Whether the input has ended.
    ended: bool,
    /// Whether the program was told that the input has ended.
    told: bool,
}

impl Console {
    pub fn new(teller: Teller) -> Console {
        Console { teller: Some(teller), bytes: VecDeque::new(), more: Permits::new(1), reading: false, ended: false, told: false }
    }

    pub fn output(&mut self, port: i32, value: i32) {
        if port == 0x10 {
            // Standard output may be closed; the run continues.
            let _ = std::io::stdout().lock().write_all(&[value as u8]);
        } else if let Some(teller) = self.teller.take() {
            self.reading = true;
            let more = self.more.clone();
            // The thread ends with the process, or with the input.
            let spawned = std::thread::Builder::new().name("console".to_owned()).spawn(move || listen(&teller, &more));
            self.ended |= spawned.is_err();
        }
    }

    pub fn typed(&mut self, bytes: &[u8]) {
        self.ended |= bytes.is_empty();
        self.bytes.extend(bytes);
    }

    pub fn has_something(&self) -> bool {
        !self.bytes.is_empty() || (self.ended && !self.told)
    }

    /// Whether more input may come.
    pub fn is_open(&self) -> bool {
        self.reading && !self.ended
    }

    pub fn status(&mut self) -> u8 {
        if !self.bytes.is_empty() {
            return 1;
        }
        if self.ended && !self.told {
            self.told = true;
            return 2;
        }
        0
    }

    pub fn data(&mut self) -> u8 {
        let byte = self.bytes.pop_front();
        if byte.is_some() && self.bytes.is_empty() {
            self.more.give();
        }
        byte.unwrap_or(0)
    }
}

fn listen(teller: &Teller, more: &Permits) {
    let mut buffer = [0; 4096];
    loop {
        more.take();
        let count = std::io::stdin().lock().read(&mut buffer).unwrap_or(0);
        if !teller.tell(Event::Typed(buffer[..count].to_vec())) || count == 0 {
            return;
        }
    }
}
