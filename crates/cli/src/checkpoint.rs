//! Checkpoints as files. A new checkpoint is written next to the old one and flushed to disk, and
//! only then replaces it. So at every moment, even after a crash or on a full disk, the file holds
//! a complete checkpoint: the last one that could be written.

use crate::failure::Failure;
use crate::input;
use crate::output::beside;
use check::{Checkpoints, Saved};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The default interval.
pub const EVERY: Duration = Duration::from_secs(600);
/// With the default interval, saving takes at most one part in this many of the time.
const SHARE: u32 = 20;

/// A checkpoint in a file, replaced by a later one from time to time.
pub struct CheckpointFile {
    path: PathBuf,
    partial: PathBuf,
    head: Vec<u8>,
    /// The interval, if the user has set one.
    every: Option<Duration>,
    next: Mutex<Instant>,
    written: AtomicU64,
}

impl CheckpointFile {
    /// Prepares a file that may be replaced: it does not exist, or it is a checkpoint of the same
    /// program, and its folder is writable. Errors are reported before the search, instead of ten
    /// minutes into it.
    pub fn new(path: &Path, every: Option<Duration>, saved: &Saved) -> Result<CheckpointFile, Failure> {
        let refuse = |error| Failure::write(path, error);
        let partial = beside(path).map_err(refuse)?;
        match File::open(path) {
            Ok(mut file) => {
                let mut bytes = Vec::new();
                (&file).take(16).read_to_end(&mut bytes).map_err(refuse)?;
                let left_alone = |why: String| Err(refuse(io::Error::new(io::ErrorKind::AlreadyExists, why)));
                if !bytes.is_empty() && !Saved::is_one(&bytes) {
                    return left_alone("the file exists and is not a checkpoint, so it is left alone".to_owned());
                }
                // A checkpoint that cannot be read is useless and may be replaced.
                let old = file.rewind().ok().and_then(|()| Saved::read(&mut BufReader::new(file)).ok());
                if let Some(old) = old.filter(|old| old.program != saved.program && !input::same_model(old, saved)) {
                    return left_alone(format!(
                        "it is a saved search of another program, `{}`; resume that search with `--resume`, or choose another file name",
                        old.model
                    ));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(refuse(error)),
        }
        File::create(&partial).and_then(|_| fs::remove_file(&partial)).map_err(refuse)?;
        let next = Mutex::new(Instant::now() + every.unwrap_or(EVERY));
        Ok(CheckpointFile { path: path.to_owned(), partial, head: saved.to_bytes(), every, next, written: AtomicU64::new(0) })
    }

    /// Whether a checkpoint was written, and nobody has removed it meanwhile.
    pub fn is_there(&self) -> bool {
        self.written.load(Ordering::Relaxed) > 0 && self.path.is_file()
    }

    fn write(&self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&self.partial)?);
        out.write_all(&self.head)?;
        write(&mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&self.partial, &self.path)?;
        // The new name must reach the disk too. On systems where folders cannot be opened, renaming
        // must suffice.
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if let Ok(folder) = File::open(folder) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

impl Checkpoints for CheckpointFile {
    fn due(&self) -> bool {
        Instant::now() >= *self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn save(&self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let begun = Instant::now();
        let result = self.write(write);
        let now = Instant::now();
        let wait = self.every.unwrap_or_else(|| EVERY.max((now - begun) * SHARE));
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = now + wait;
        match result {
            Ok(()) => {
                self.written.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => {
                // An incomplete checkpoint is useless, and it may have filled the disk.
                let _ = fs::remove_file(&self.partial);
                Err(io::Error::new(error.kind(), format!("{}: {error}", self.path.display())))
            }
        }
    }
}
