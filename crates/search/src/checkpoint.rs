//! A saved search that can be continued later, in another process: all states it has visited, and
//! all states that wait.
//!
//! The format is a stream, written and read once from beginning to end: a header (what was
//! searched, how, how far), the store (its states, which any store can insert, or its own format
//! instead), then the waiting states (breadth-first: the rest of the level and the states found for
//! the next, with links; depth-first: the stack), and a checksum over all of it. An error in a
//! stream is reported before the search continues. The caller handles files, and replaces an old
//! checkpoint by a new one in one step.

use crate::patience::Patience;
use checksum::Checksum;
use contract::{NotRestored, Outcome, Statistics, StopReason, Store, StoreFull, StoreWorker, Verdict};
use std::fmt;
use std::io::{self, Read, Write};
use std::time::Duration;

/// The format name of a store without a format of its own.
const STATES: &str = "states";
const MAGIC: &[u8; 16] = b"everypath-save-6";
/// The greatest length of a state. A greater length is a sign of damage and must not decide how
/// much memory is allocated.
const MOST_STATE_BYTES: u32 = 1 << 30;
/// For states up to this length, memory is allocated before they are read.
const READ_AT_ONCE: u32 = 1 << 16;

/// Decides when checkpoints are due, and stores them.
pub trait Checkpoints: Sync {
    /// Whether it is time for another checkpoint. The search asks every few hundred steps. A search
    /// that ends without an answer writes a last one without asking.
    fn due(&self) -> bool;

    /// Provides a writer, calls `write` once with it, and makes sure that the result either
    /// replaces the last checkpoint or, after an error, leaves it unchanged.
    fn save(&self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()>;

    /// Like `save`, for a search that is about to end without an answer, for this reason.
    fn save_because(&self, reason: Option<&StopReason>, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let _ = reason;
        self.save(write)
    }
}

/// Why a search cannot be resumed.
#[derive(Debug)]
#[non_exhaustive]
pub enum CheckpointError {
    /// Reading failed, or the stream ends too early.
    Read(io::Error),
    /// This is not a checkpoint, or one of another version.
    NotACheckpoint,
    /// A checkpoint of another model, property or configuration.
    Foreign,
    /// A checkpoint that was damaged.
    Damaged,
    /// A checkpoint in a format that only another kind of store can read; or one with states, for a
    /// store that forgets, which cannot know which of them it still needs.
    OtherStore,
    /// The store has no room for the states of the checkpoint.
    Full(StoreFull),
    /// A depth-first search that was cut off at this depth cannot go deeper, because it does not
    /// know where it was cut off.
    CutOff(u64),
    /// The time was over, or a stop was requested, while the checkpoint was read. This is the
    /// outcome of the search.
    GivenUp(Box<Outcome>),
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckpointError::Read(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                f.write_str("the file ends too early: it is not a checkpoint, or a part of it is missing")
            }
            CheckpointError::Read(error) => write!(f, "the checkpoint cannot be read: {error}"),
            CheckpointError::NotACheckpoint => f.write_str("not a checkpoint, or one of another version"),
            CheckpointError::Foreign => f.write_str("the checkpoint belongs to another model, property or configuration"),
            CheckpointError::Damaged => f.write_str("the checkpoint is damaged"),
            CheckpointError::OtherStore => {
                f.write_str("the checkpoint was written over another kind of store, and this one cannot take it over")
            }
            CheckpointError::Full(full) => write!(f, "the checkpoint does not fit: {full}"),
            CheckpointError::CutOff(depth) => write!(
                f,
                "the search was cut off at depth {depth}, and a depth-first search cannot take up what it cut off: begin again with a greater \
                 `--depth`, or with `--search bfs`, which can go deeper from its checkpoint"
            ),
            CheckpointError::GivenUp(outcome) => write!(f, "the checkpoint was not read to its end ({:?})", outcome.verdict),
        }
    }
}

impl std::error::Error for CheckpointError {}

impl From<io::Error> for CheckpointError {
    fn from(error: io::Error) -> Self {
        CheckpointError::Read(error)
    }
}

impl From<NotRestored> for CheckpointError {
    fn from(error: NotRestored) -> Self {
        match error {
            NotRestored::Full(full) => CheckpointError::Full(full),
            NotRestored::Malformed => CheckpointError::Damaged,
        }
    }
}

/// The order that wrote a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SavedOrder {
    Breadth,
    Depth,
    /// Breadth-first, with the states on disk.
    Disk,
}

/// The progress of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SavedCounts {
    /// Breadth-first: the level being expanded. Depth-first: the greatest depth so far.
    pub depth: u64,
    pub states: u64,
    pub transitions: u64,
    pub expanded: u64,
    pub elapsed: Duration,
    /// Depth-first: the depth limit that has cut something off.
    pub cut: Option<u64>,
}

impl SavedCounts {
    /// The statistics a resumed search begins with.
    pub fn statistics(&self) -> Statistics {
        Statistics { states: self.states, transitions: self.transitions, depth: self.depth, ..Statistics::default() }
    }
}

/// Writes the parts of a checkpoint.
pub(crate) struct Writer<'w> {
    to: &'w mut dyn Write,
    sum: Checksum,
}

impl<'w> Writer<'w> {
    pub fn new(to: &'w mut dyn Write) -> Self {
        Writer { to, sum: Checksum::new() }
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.add(bytes);
        self.to.write_all(bytes)
    }

    pub fn number(&mut self, number: u64) -> io::Result<()> {
        self.bytes(&number.to_le_bytes())
    }

    pub fn state(&mut self, state: &[u8]) -> io::Result<()> {
        self.bytes(&(state.len() as u32).to_le_bytes())?;
        self.bytes(state)
    }

    pub fn header(&mut self, order: SavedOrder, label: &[u8], standing: &SavedCounts) -> io::Result<()> {
        self.bytes(MAGIC)?;
        self.state(label)?;
        self.number(order as u64)?;
        self.number(standing.depth)?;
        self.number(standing.states)?;
        self.number(standing.transitions)?;
        self.number(standing.expanded)?;
        self.number(standing.elapsed.as_nanos() as u64)?;
        // A limit plus one, so that 0 means no limit.
        self.number(standing.cut.map_or(0, |depth| depth.saturating_add(1)))
    }

    /// Writes a store that no worker is changing, in which `states` states were new.
    pub fn store<T: Store>(&mut self, store: &T, states: u64) -> io::Result<()> {
        let Some(saveable) = store.saveable() else {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "this store cannot be saved"));
        };
        self.state(saveable.own_form().unwrap_or(STATES).as_bytes())?;
        let mut done = Ok(());
        let mut write = |piece: &[u8]| {
            // A byte before each piece says that there is one.
            done = self.bytes(&[1]).and_then(|()| self.state(piece));
            done.is_ok()
        };
        let complete = saveable.save(states, &mut write);
        done?;
        if !complete {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "this store cannot be saved whole"));
        }
        self.bytes(&[0])
    }

    pub fn finish(self) -> io::Result<()> {
        self.to.write_all(&self.sum.to_bytes())?;
        self.to.flush()
    }
}

/// Reads what a [`Writer`] wrote, in the same order.
pub(crate) struct Reader<'r> {
    from: &'r mut dyn Read,
    sum: Checksum,
    patience: Patience,
    /// The bytes read since the last check of the clock.
    unasked: usize,
    /// The progress of the saved search, once it was read.
    standing: SavedCounts,
}

/// The bytes read between two checks of the clock.
const LOOK_EVERY: usize = 1 << 16;

impl<'r> Reader<'r> {
    pub fn new(from: &'r mut dyn Read, patience: Patience) -> Self {
        Reader { from, sum: Checksum::new(), patience, unasked: 0, standing: SavedCounts::default() }
    }

    /// Counts bytes that were read; checks the clock from time to time.
    fn count(&mut self, bytes: usize) -> Result<(), CheckpointError> {
        self.unasked += bytes;
        if self.unasked < LOOK_EVERY {
            return Ok(());
        }
        self.unasked = 0;
        self.go_on()
    }

    /// Returns an error if the time is over or a stop was requested.
    fn go_on(&self) -> Result<(), CheckpointError> {
        let Some(reason) = self.patience.now() else { return Ok(()) };
        let elapsed = self.standing.elapsed + self.patience.start().elapsed();
        let statistics = Statistics { elapsed, ..self.standing.statistics() };
        Err(CheckpointError::GivenUp(Box::new(Outcome { verdict: Verdict::Unknown(reason), statistics })))
    }

    /// The error for a state that the store refused: it has no room, or it was told to stop.
    pub fn refused(&self, full: StoreFull) -> CheckpointError {
        self.go_on().err().unwrap_or(CheckpointError::Full(full))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], CheckpointError> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes)?;
        self.sum.add(&bytes);
        self.count(N)?;
        Ok(bytes)
    }

    pub fn number(&mut self) -> Result<u64, CheckpointError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Replaces `out` by the next state.
    pub fn state(&mut self, out: &mut Vec<u8>) -> Result<(), CheckpointError> {
        let len = u32::from_le_bytes(self.array()?);
        if len > MOST_STATE_BYTES {
            return Err(CheckpointError::Damaged);
        }
        out.clear();
        if len <= READ_AT_ONCE {
            out.resize(len as usize, 0);
            self.from.read_exact(out)?;
        } else if self.from.take(len.into()).read_to_end(out)? != len as usize {
            // The buffer grew with the bytes that were actually there, whatever length was stated.
            return Err(CheckpointError::Read(io::ErrorKind::UnexpectedEof.into()));
        }
        self.sum.add(out);
        self.count(out.len())
    }

    pub fn header(&mut self, label: &[u8]) -> Result<(SavedOrder, SavedCounts), CheckpointError> {
        if &self.array()? != MAGIC {
            return Err(CheckpointError::NotACheckpoint);
        }
        let mut found = Vec::new();
        self.state(&mut found)?;
        if found != label {
            return Err(CheckpointError::Foreign);
        }
        let order = match self.number()? {
            0 => SavedOrder::Breadth,
            1 => SavedOrder::Depth,
            2 => SavedOrder::Disk,
            _ => return Err(CheckpointError::Damaged),
        };
        let standing = SavedCounts {
            depth: self.number()?,
            states: self.number()?,
            transitions: self.number()?,
            expanded: self.number()?,
            elapsed: Duration::from_nanos(self.number()?),
            cut: self.number()?.checked_sub(1),
        };
        self.standing = standing.clone();
        Ok((order, standing))
    }

    /// Fills a store, which must be empty, from the saved one.
    pub fn store<T: Store>(&mut self, store: &mut T) -> Result<(), CheckpointError> {
        let mut form = Vec::new();
        self.state(&mut form)?;
        if form == STATES.as_bytes() && !T::FORGETS {
            let mut worker = store.worker();
            let mut state = form;
            while self.piece(&mut state)? {
                let hash = worker.hash(&state);
                worker.insert(hash, &state).map_err(|full| self.refused(full))?;
            }
            return Ok(());
        }
        let same = |own: &'static str| own.as_bytes() == form;
        let Some(saveable) = store.saveable_mut().filter(|saveable| saveable.own_form().is_some_and(same)) else {
            return Err(CheckpointError::OtherStore);
        };
        let mut read = Ok(true);
        let restored = saveable.restore(&mut |piece| {
            if matches!(read, Ok(true)) {
                read = self.piece(piece);
            }
            matches!(read, Ok(true))
        });
        // The stream is damaged; the store is not to blame.
        match read? {
            true => match restored {
                Err(NotRestored::Full(full)) => Err(self.refused(full)),
                restored => Err(restored.err().map_or(CheckpointError::Damaged, CheckpointError::from)),
            },
            false => Ok(restored?),
        }
    }

    /// Whether the store that follows was saved as states. Reads its format name.
    pub fn has_states(&mut self) -> Result<bool, CheckpointError> {
        let mut form = Vec::new();
        self.state(&mut form)?;
        Ok(form == STATES.as_bytes())
    }

    /// Replaces `out` by the next piece of the store, if there is one.
    pub fn piece(&mut self, out: &mut Vec<u8>) -> Result<bool, CheckpointError> {
        match self.array::<1>()? {
            [0] => Ok(false),
            [1] => self.state(out).map(|()| true),
            _ => Err(CheckpointError::Damaged),
        }
    }

    /// Checks that the checksum agrees and that nothing follows.
    pub fn finish(self) -> Result<(), CheckpointError> {
        let mut sum = [0; 8];
        self.from.read_exact(&mut sum)?;
        if sum != self.sum.to_bytes() || self.from.read(&mut [0])? != 0 {
            return Err(CheckpointError::Damaged);
        }
        Ok(())
    }
}
