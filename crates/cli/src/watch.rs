//! The last resort for limits and signals: a thread that answers if the main thread has not
//! answered in time.
//!
//! Searches check their limits every few milliseconds. But some operations cannot be interrupted:
//! doubling a table of gigabytes, returning memory to the system, writing a trace of a million
//! steps. So a separate thread watches the time and the signals. If the main thread does not answer
//! in time, this thread gives the answer that is known by then and ends the process.

use crate::interrupt::KILLED;
use crate::patience::{Over, Patience};
use crate::{Exit, SPOKEN, lock, output, write_answer};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How long the main thread has to answer by itself.
const GRACE: Duration = Duration::from_millis(80);
/// How long it has if other processes take part.
const SHARED_GRACE: Duration = Duration::from_secs(3);
/// How often the thread looks for signals.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The answer when the time limit is reached.
pub struct Answer {
    /// The text for standard output.
    pub text: String,
    /// The text for standard error; empty for none.
    pub complaint: String,
    /// The exit code.
    pub exit: Exit,
}

type Reply = Box<dyn Fn(Over) -> Answer + Send>;

/// The answer, and how long to wait before giving it; `None` while the main thread must not be
/// interrupted.
type Place = Arc<Mutex<Option<(Reply, Duration)>>>;

/// While this value exists, a thread watches the time.
pub struct Watch {
    place: Place,
}

impl Watch {
    /// Starts to watch. When the time limit is reached, `reply` answers at once, because a thread
    /// that waits for a model cannot answer.
    pub fn new(patience: &Patience, reply: impl Fn(Over) -> Answer + Send + 'static) -> Watch {
        let place: Place = Arc::new(Mutex::new(Some((Box::new(reply), Duration::ZERO))));
        let (watched, patience) = (Arc::downgrade(&place), patience.clone());
        let watch = move || {
            while let Some(place) = watched.upgrade() {
                if let Some(over) = patience.over() {
                    let grace = lock(&place).as_ref().map_or(GRACE, |(_, grace)| *grace);
                    drop(place);
                    thread::sleep(grace);
                    if let Some(place) = watched.upgrade() {
                        answer(&place, over);
                    }
                } else {
                    drop(place);
                }
                thread::sleep(patience.left().map_or(LOOK_EVERY, |left| left.clamp(Duration::from_millis(1), LOOK_EVERY)));
            }
        };
        // If no thread can be created, limits and signals are still checked by the search.
        let _ = thread::Builder::new().name("watch".to_owned()).spawn(watch);
        Watch { place }
    }

    /// From now on, `reply` answers if the main thread has not done so some time after it should
    /// have.
    pub fn reply(&self, reply: impl Fn(Over) -> Answer + Send + 'static) {
        *lock(&self.place) = Some((Box::new(reply), GRACE));
    }

    /// Gives the main thread more time: several processes have to agree that they end.
    pub fn wait_for_others(&self) {
        if let Some((_, grace)) = lock(&self.place).as_mut() {
            *grace = SHARED_GRACE;
        }
    }

    /// From now on the main thread is not interrupted, however long its final work takes.
    pub fn rest(&self) {
        *lock(&self.place) = None;
    }
}

/// Gives the answer, unless the main thread has begun to give it.
fn answer(place: &Place, over: Over) {
    let place = lock(place);
    let Some((reply, _)) = &*place else { return };
    let spoken = lock(&SPOKEN);
    if *spoken {
        // The reader of the answer may be slow, and the time limit does not apply to that. An
        // interrupt does end it.
        if over == Over::Interrupted {
            output::remove_partial_at_exit();
            std::process::exit(KILLED);
        }
        return;
    }
    let Answer { text, complaint, exit } = reply(over);
    output::remove_partial_at_exit();
    write_answer(&text);
    if !complaint.is_empty() {
        let _ = writeln!(io::stderr(), "{complaint}");
    }
    // `spoken` stays locked, so no other thread can answer any more.
    std::process::exit(exit as i32);
}
