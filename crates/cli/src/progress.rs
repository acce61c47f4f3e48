//! How far the search is, on one line of the terminal that is wiped away at the end. Nothing if nobody is looking.

use contract::{Observer, Progress};
use report::text;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Shows progress on standard error, if that is a terminal.
pub struct Ticker {
    visible: bool,
    drawn: AtomicBool,
}

/// Goes to the first column and clears the line.
const WIPE: &str = "\r\x1b[2K";

impl Ticker {
    /// A ticker that shows itself only on a terminal, and not to programs that read JSON.
    pub fn new(json: bool) -> Ticker {
        Ticker { visible: !json && io::stderr().is_terminal(), drawn: AtomicBool::new(false) }
    }

    fn draw(&self, line: &str) {
        // A terminal that went away is no reason to stop the search.
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

impl Observer for Ticker {
    fn progress(&self, progress: &Progress) {
        if self.visible {
            let seconds = progress.elapsed.as_secs_f64().max(1e-3);
            self.draw(&format!(
                "{} states, {}/s, {} waiting, depth {}, {}, {}",
                text::count(progress.states),
                text::count((progress.states as f64 / seconds) as u64),
                text::count(progress.waiting),
                text::count(progress.depth),
                text::bytes(progress.bytes),
                text::duration(progress.elapsed),
            ));
        }
    }

    fn notice(&self, notice: &str) {
        self.finish();
        let _ = writeln!(io::stderr(), "note: {notice}");
    }
}
