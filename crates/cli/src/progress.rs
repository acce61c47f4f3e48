//! Shows the progress of the search on one line of the terminal, which is erased at the end. Shows
//! nothing if standard error is not a terminal.

use crate::lock;
use contract::{Observer, Progress};
use report::text;
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Shows progress on standard error, if that is a terminal.
pub struct Ticker {
    visible: bool,
    drawn: AtomicBool,
    last: Mutex<Progress>,
}

/// Goes to the first column and clears the line.
const WIPE: &str = "\r\x1b[2K";

impl Ticker {
    /// A ticker that writes only to a terminal, and not if JSON is wanted.
    pub fn new(json: bool) -> Ticker {
        Ticker { visible: !json && io::stderr().is_terminal(), drawn: AtomicBool::new(false), last: Mutex::default() }
    }

    /// What was heard last.
    pub fn last(&self) -> Progress {
        *lock(&self.last)
    }

    fn draw(&self, line: &str) {
        // If the terminal is closed, the search continues.
        let _ = write!(io::stderr(), "{WIPE}{line}");
        let _ = io::stderr().flush();
        self.drawn.store(!line.is_empty(), Ordering::Relaxed);
    }

    /// Wipes the line away.
    pub fn finish(&self) {
        if self.drawn.load(Ordering::Relaxed) {
            self.draw("");
        }
    }
}

/// A line of progress. It contains an estimate of the rest only if there is one.
fn line(progress: &Progress) -> String {
    let rate = progress.states as f64 / progress.elapsed.as_secs_f64().max(1e-3);
    let mut line = format!(
        "{} states, {}/s, {} waiting, depth {}, {}, {}",
        text::count(progress.states),
        text::count(rate as u64),
        text::count(progress.waiting),
        text::count(progress.depth),
        text::bytes(progress.bytes),
        text::duration(progress.elapsed),
    );
    if let Some(more) = progress.remaining {
        let time = Duration::try_from_secs_f64(more as f64 / rate.max(1.0)).unwrap_or_default();
        line.push_str(&format!("; levels shrink, perhaps {} more ({})", text::count(more), text::duration(time)));
    }
    if let Some(fill) = progress.fill {
        line.push_str(&format!("; {:.1} % of the bits set", fill * 100.0));
    }
    line
}

impl Observer for Ticker {
    fn progress(&self, progress: &Progress) {
        *lock(&self.last) = *progress;
        if self.visible {
            self.draw(&line(progress));
        }
    }

    fn notice(&self, notice: &str) {
        self.finish();
        let _ = writeln!(io::stderr(), "note: {notice}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_shown_only_if_there_is_one() {
        let progress = Progress {
            states: 20_000,
            transitions: 50_000,
            waiting: 300,
            depth: 17,
            bytes: 3 << 20,
            elapsed: Duration::from_secs(2),
            ..Progress::default()
        };
        let plain = "20,000 states, 10,000/s, 300 waiting, depth 17, 3.0 MiB, 2.00 s";
        assert_eq!(line(&progress), plain);
        let shrinking = Progress { remaining: Some(5_000), ..progress };
        assert_eq!(line(&shrinking), format!("{plain}; levels shrink, perhaps 5,000 more (500.0 ms)"));
        let filling = Progress { fill: Some(0.0312), ..progress };
        assert_eq!(line(&filling), format!("{plain}; 3.1 % of the bits set"));
    }
}
