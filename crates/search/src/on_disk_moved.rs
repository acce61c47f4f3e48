//! The transition from a search in memory to one on disk.
//!
//! A search in memory that runs out of memory is taken over through its own checkpoint, which is
//! read through a pipe while it is written, and is not stored. The search in memory ends only when
//! all its states are on disk. If they do not get there, because the disk is full or the search is
//! interrupted, the checkpoint is written again, to the caller's checkpoints.

use crate::checkpoint::{CheckpointError, Checkpoints, Reader};
use crate::gather::Gathering;
use crate::monitor::Monitor;
use crate::on_disk::{Beginning, failed, search};
use crate::on_disk_saved::{Manifest, read, remove_files};
use crate::sync::lock;
use crate::task::Task;
use contract::{Budgeted, Limits, Outcome, Statistics, StopReason, System, Verdict};
use std::io::{self, Read, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::time::Instant;

/// Searches with `first`, which gets a task with checkpoints, and continues on disk if it runs out
/// of memory.
pub fn then_on_disk<S: System + Clone>(system: &S, task: &Task<'_>, first: impl FnOnce(&Task<'_>) -> Outcome) -> Outcome {
    let relay = Relay::new(task.checkpoints);
    let begun = Instant::now();
    // Moving the states also takes some memory.
    let share = |memory: u64| memory / 20 * 17;
    let limits = Limits { memory: task.limits.memory.map(share), ..task.limits };
    let mut moved = None;
    let outcome = std::thread::scope(|scope| {
        let (mut from, to) = pipe();
        let (finished, first_is_over) = channel::<()>();
        relay.send_to(to);
        // The states are read while they are written. The search continues when the first one has
        // freed its memory.
        let move_on = {
            let (system, relay) = (system.clone(), &relay);
            move || {
                if !from.wait() {
                    return None;
                }
                let time = task.limits.time.map(|time| time.saturating_sub(begun.elapsed()));
                let task = Task { limits: Limits { time, ..task.limits }, ..task.clone() };
                let mut begin = |gathering: &Gathering<'_>, monitor: &Monitor<'_>| {
                    gathering.leave_room(limits.memory.unwrap_or(0));
                    let first = gathering.shelf.next();
                    let read = read(Reader::new(&mut from, monitor.patience().clone()), task.label, gathering);
                    let manifest = match read.and_then(|manifest| keep_moved(manifest, &task, gathering, monitor)) {
                        Ok(manifest) => manifest,
                        Err(error) => {
                            // The states are still in memory, and saving them may need the space.
                            gathering.clear_spills();
                            remove_files(gathering.shelf.folder(), |number| number >= first);
                            return Err(error);
                        }
                    };
                    relay.close();
                    from.confirm();
                    // Nothing is ever sent; dropping the other end is the signal.
                    let _ = first_is_over.recv();
                    gathering.leave_room(0);
                    Ok(Beginning::From(manifest))
                };
                Some(search(&system, &task, &mut begin, &|_| false, None))
            }
        };
        let second = std::thread::Builder::new().spawn_scoped(scope, move_on);
        let outcome = first(&Task { limits, checkpoints: Some(&relay), ..task.clone() });
        relay.close();
        drop(finished);
        moved = second.ok().and_then(|second| second.join().ok()).flatten();
        outcome
    });
    match moved {
        Some(Ok(mut later)) if outcome.verdict == Verdict::Unknown(StopReason::Memory) => {
            later.statistics.elapsed = begun.elapsed();
            later
        }
        // The states did not get to the disk, and the search has ended in memory.
        Some(Err(error)) if outcome.verdict == Verdict::Unknown(StopReason::Memory) => {
            let Outcome { verdict, statistics: Statistics { disk, .. } } = failed(error);
            Outcome { verdict, statistics: Statistics { disk, elapsed: begun.elapsed(), ..outcome.statistics } }
        }
        _ => outcome,
    }
}

/// Saves a search whose states have just moved to disk, if checkpoints are wanted. An error means
/// that the disk is full.
fn keep_moved(manifest: Manifest, task: &Task<'_>, gathering: &Gathering<'_>, monitor: &Monitor<'_>) -> Result<Manifest, CheckpointError> {
    let Some(checkpoints) = task.checkpoints else { return Ok(manifest) };
    let synced = manifest.sync(gathering.shelf.folder());
    match synced.and_then(|()| checkpoints.save(&mut |to| manifest.write(to, task.label))) {
        Err(error) if error.kind() == io::ErrorKind::StorageFull => return Err(error.into()),
        Err(error) => monitor.notice(&format!("no checkpoint could be written: {error}")),
        Ok(()) => {}
    }
    Ok(manifest)
}

/// Checkpoints of a search in memory that continues on disk when its memory is used up: that
/// checkpoint goes into a pipe, and all others to the caller's checkpoints. What cannot be moved
/// through the pipe goes there, too.
struct Relay<'c> {
    checkpoints: Option<&'c dyn Checkpoints>,
    pipe: Mutex<Option<PipeWriter>>,
    closed: AtomicBool,
}

impl<'c> Relay<'c> {
    pub fn new(checkpoints: Option<&'c dyn Checkpoints>) -> Relay<'c> {
        Relay { checkpoints, pipe: Mutex::new(None), closed: AtomicBool::new(false) }
    }

    pub fn send_to(&self, pipe: PipeWriter) {
        *lock(&self.pipe) = Some(pipe);
    }

    /// No more checkpoints follow.
    pub fn close(&self) {
        self.closed.store(true, Relaxed);
        *lock(&self.pipe) = None;
    }
}

impl Checkpoints for Relay<'_> {
    fn due(&self) -> bool {
        self.checkpoints.is_some_and(|checkpoints| checkpoints.due())
    }

    fn save(&self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        self.checkpoints.map_or(Ok(()), |checkpoints| checkpoints.save(write))
    }

    fn save_because(&self, reason: Option<&StopReason>, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        if reason != Some(&StopReason::Memory) || self.closed.load(Relaxed) {
            return self.checkpoints.map_or(Ok(()), |checkpoints| checkpoints.save_because(reason, write));
        }
        let pipe = lock(&self.pipe).take();
        let moved = pipe.is_some_and(|mut pipe| write(&mut pipe).and_then(|()| pipe.deliver()).is_ok());
        if moved {
            return Ok(());
        }
        self.checkpoints.map_or(Ok(()), |checkpoints| checkpoints.save_because(reason, write))
    }
}

/// The size of a piece in a pipe, and the number of pieces that may wait in it.
const PIECE: usize = 1 << 16;
const WAITING: usize = 4;

/// A pipe between two threads.
fn pipe() -> (PipeReader, PipeWriter) {
    let (sender, receiver) = sync_channel(WAITING);
    let (confirm, confirmed) = sync_channel(1);
    let writer = PipeWriter { sender, piece: Vec::with_capacity(PIECE), confirmed };
    (PipeReader { receiver, piece: Vec::new(), at: 0, confirm }, writer)
}

struct PipeWriter {
    sender: SyncSender<Vec<u8>>,
    piece: Vec<u8>,
    confirmed: Receiver<()>,
}

impl PipeWriter {
    /// Ends the stream, and waits until the reader confirms that it has used all of it. An error
    /// means that it has not.
    fn deliver(mut self) -> io::Result<()> {
        self.flush()?;
        drop(self.sender);
        self.confirmed.recv().map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for PipeWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.piece.is_empty() {
            let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
            self.sender.send(piece).map_err(|_| io::ErrorKind::BrokenPipe)?;
        }
        Ok(())
    }
}

struct PipeReader {
    receiver: Receiver<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
    confirm: SyncSender<()>,
}

impl PipeReader {
    /// Confirms that the stream was used.
    pub fn confirm(&self) {
        // There is room for it, and a writer that is gone need not know.
        let _ = self.confirm.try_send(());
    }

    /// Waits for the first bytes; returns whether there are any.
    pub fn wait(&mut self) -> bool {
        self.fill()
    }

    fn fill(&mut self) -> bool {
        if self.at < self.piece.len() {
            return true;
        }
        match self.receiver.recv() {
            Ok(piece) => {
                (self.piece, self.at) = (piece, 0);
                true
            }
            Err(_) => false,
        }
    }
}

impl Read for PipeReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if !self.fill() {
            return Ok(0);
        }
        let count = out.len().min(self.piece.len() - self.at);
        out[..count].copy_from_slice(&self.piece[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
