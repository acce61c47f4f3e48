//! A folder for the states of a search: numbered files, their sizes, and the saved search.
//!
//! Files are read and written in long sequential runs, and the system is told at once to drop them
//! from its cache: a search reads far more than fits there, and keeps in memory the data that it
//! needs again. A lock prevents two searches from using one folder; the system releases it when the
//! process ends for any reason.

use crate::failure::Failure;
use check::{FileReader, FileWriter, Folder, Saved};
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name of the saved search in a folder.
const SAVED: &str = "search.saved";
/// The name of the file that says that a folder is in use.
const LOCK: &str = "in-use";
/// The ending of the names of files with states.
const ENDING: &str = "run";
/// Bytes that are written at a time.
const BUFFER: usize = 1 << 17;
/// The number of bytes read or written after which the system is told to drop them from its cache.
const STROKE: u64 = 1 << 20;

/// The saved search that `path` names: itself, or the one in that folder.
pub fn saved_in(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(SAVED) } else { path.to_owned() }
}

/// A folder with files of states.
pub struct DiskFolder {
    path: PathBuf,
    /// Whether the folder is removed at the end of the search.
    temporary: bool,
    account: Arc<Account>,
    /// Held as long as the folder is in use.
    _lock: File,
}

/// The sizes of the files.
#[derive(Default)]
struct Account {
    lens: Mutex<HashMap<u64, u64>>,
    occupied: AtomicU64,
    written: AtomicU64,
    most: Option<u64>,
}

impl Account {
    fn lens(&self) -> MutexGuard<'_, HashMap<u64, u64>> {
        self.lens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds bytes to a file's size.
    fn add(&self, number: u64, bytes: u64) -> io::Result<()> {
        let after = self.occupied.fetch_add(bytes, Relaxed) + bytes;
        if let Some(most) = self.most.filter(|&most| after > most) {
            self.occupied.fetch_sub(bytes, Relaxed);
            let why = format!("the folder has reached its limit of {}", report::text::bytes(most));
            return Err(io::Error::new(io::ErrorKind::StorageFull, why));
        }
        self.written.fetch_add(bytes, Relaxed);
        *self.lens().entry(number).or_default() += bytes;
        Ok(())
    }

    fn remove(&self, number: u64) {
        let len = self.lens().remove(&number).unwrap_or(0);
        self.occupied.fetch_sub(len, Relaxed);
    }
}

impl DiskFolder {
    /// Whether a folder holds a saved search.
    pub fn is_one(path: &Path) -> bool {
        path.join(SAVED).is_file() && path.join(LOCK).is_file()
    }

    /// The folder at `path`, which is created if it does not exist, for files of at most so many
    /// bytes. Files of a search that was not saved are removed; files of a saved search are only
    /// for the search that resumes it.
    pub fn new(path: &Path, most: Option<u64>, resumed: bool) -> Result<DiskFolder, Failure> {
        let refuse = |error| Failure::write(path, error);
        fs::create_dir_all(path).map_err(refuse)?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(path.join(LOCK)).map_err(refuse)?;
        if lock.try_lock().is_err() {
            return Err(Failure::Call(format!("another search uses the folder {}: choose another one", path.display())));
        }
        let mut head = Vec::new();
        let saved = File::open(path.join(SAVED)).and_then(|file| file.take(16).read_to_end(&mut head));
        if !resumed && saved.is_ok() && Saved::is_one(&head) {
            return Err(Failure::Call(format!(
                "{0} holds a saved search: continue it (`--resume {0}`), remove it, or choose another folder",
                path.display()
            )));
        }
        let account = Account { most, ..Account::default() };
        let folder = DiskFolder { path: path.to_owned(), temporary: false, account: Arc::new(account), _lock: lock };
        for number in folder.files().map_err(refuse)? {
            if resumed {
                let len = fs::metadata(folder.file(number)).map_err(refuse)?.len();
                folder.account.lens().insert(number, len);
                folder.account.occupied.fetch_add(len, Relaxed);
            } else {
                folder.remove(number).map_err(refuse)?;
            }
        }
        Ok(folder)
    }

    /// A folder among the system's temporary files, for this search only.
    pub fn temporary() -> Result<DiskFolder, Failure> {
        let path = std::env::temp_dir().join(format!("everypath-disk-{}", std::process::id()));
        let mut folder = DiskFolder::new(&path, None, false)?;
        folder.temporary = true;
        Ok(folder)
    }

    /// The file of the saved search, if the folder has one.
    pub fn checkpoint(&self) -> Option<PathBuf> {
        (!self.temporary).then(|| self.path.join(SAVED))
    }

    /// Removes the saved search and the files of states: the search is complete.
    pub fn finish(&self) {
        let _ = fs::remove_file(self.path.join(SAVED));
        for number in self.files().unwrap_or_default() {
            let _ = self.remove(number);
        }
        let _ = fs::remove_file(self.path.join(LOCK));
    }

    fn file(&self, number: u64) -> PathBuf {
        self.path.join(format!("{number:08}.{ENDING}"))
    }

    fn named(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
    }
}

impl Drop for DiskFolder {
    fn drop(&mut self) {
        if self.temporary {
            self.finish();
            let _ = fs::remove_dir(&self.path);
        }
    }
}

impl Folder for DiskFolder {
    fn create(&self, number: u64) -> io::Result<Box<dyn FileWriter>> {
        self.remove(number)?;
        let path = self.file(number);
        let file = File::create(&path).map_err(|error| self.named(error))?;
        let account = Arc::clone(&self.account);
        Ok(Box::new(Writer { file, path, number, account, buffer: Vec::with_capacity(BUFFER), len: 0, told: 0, finished: false }))
    }

    fn open(&self, number: u64) -> io::Result<Box<dyn FileReader>> {
        let file = File::open(self.file(number)).map_err(|error| self.named(error))?;
        Ok(Box::new(Reader { file, told: AtomicU64::new(0) }))
    }

    fn remove(&self, number: u64) -> io::Result<()> {
        self.account.remove(number);
        match fs::remove_file(self.file(number)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.named(error)),
            _ => Ok(()),
        }
    }

    fn sync(&self, number: u64) -> io::Result<()> {
        File::open(self.file(number)).and_then(|file| file.sync_data()).map_err(|error| self.named(error))
    }

    fn files(&self) -> io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == ENDING) {
                numbers.extend(path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok()));
            }
        }
        Ok(numbers)
    }

    fn written(&self) -> u64 {
        self.account.written.load(Relaxed)
    }

    fn occupied(&self) -> u64 {
        self.account.occupied.load(Relaxed)
    }
}

struct Writer {
    file: File,
    path: PathBuf,
    number: u64,
    account: Arc<Account>,
    buffer: Vec<u8>,
    len: u64,
    /// The number of bytes that the system was told to drop.
    told: u64,
    finished: bool,
}

impl Writer {
    fn flush(&mut self) -> io::Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        let written = self.write(&buffer);
        self.buffer = buffer;
        self.buffer.clear();
        written
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.account.add(self.number, bytes.len() as u64)?;
        self.file.write_all(bytes).map_err(|error| {
            let folder = self.path.parent().unwrap_or(&self.path);
            io::Error::new(error.kind(), format!("{}: {error}", folder.display()))
        })?;
        self.len += bytes.len() as u64;
        if self.len - self.told >= 8 * STROKE {
            // Only data that has reached the disk can leave the cache.
            self.file.sync_data()?;
            forget(&self.file, self.told, self.len - self.told);
            self.told = self.len;
        }
        Ok(())
    }
}

impl FileWriter for Writer {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        // The buffer never grows, because its memory is part of a budget.
        if self.buffer.len() + bytes.len() > BUFFER {
            self.flush()?;
        }
        if bytes.len() >= BUFFER {
            return self.write(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.flush()?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.finished {
            let _ = fs::remove_file(&self.path);
            self.account.remove(self.number);
        }
    }
}

struct Reader {
    file: File,
    /// The number of bytes that the system was told to drop.
    told: AtomicU64,
}

impl FileReader for Reader {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        read_exact_at(&self.file, offset, out)?;
        let told = self.told.load(Relaxed);
        if offset < told || offset > told + 2 * STROKE {
            self.told.store(offset, Relaxed);
        } else if offset - told >= STROKE {
            forget(&self.file, told, offset - told);
            self.told.store(offset, Relaxed);
        }
        Ok(())
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, offset: u64, out: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, offset)
}

#[cfg(not(unix))]
fn read_exact_at(mut file: &File, offset: u64, out: &mut [u8]) -> io::Result<()> {
    use std::io::{Seek, SeekFrom};
    // Between the two calls no other thread may move the file position.
    static MOVING: Mutex<()> = Mutex::new(());
    let _guard = MOVING.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(out)
}

/// Tells the system to drop a part of a file from its cache.
#[cfg(target_os = "linux")]
fn forget(file: &File, offset: u64, len: u64) {
    let _ = rustix::fs::fadvise(file, offset, std::num::NonZeroU64::new(len), rustix::fs::Advice::DontNeed);
}

#[cfg(not(target_os = "linux"))]
fn forget(_: &File, _: u64, _: u64) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_keeps_its_files_and_its_limit() {
        let path = std::env::temp_dir().join(format!("everypath-disk-test-{}", std::process::id()));
        let folder = DiskFolder::new(&path, Some(1 << 20), false).expect("a folder");
        assert!(DiskFolder::new(&path, None, false).is_err(), "it is in use");
        let mut file = folder.create(7).expect("a file");
        let bytes: Vec<u8> = (0..300_000_u32).map(|n| n as u8).collect();
        file.append(&bytes).expect("room");
        file.finish().expect("room");
        assert_eq!((folder.files().expect("a folder"), folder.occupied(), folder.written()), (vec![7], 300_000, 300_000));
        let mut out = [0; 100];
        let reader = folder.open(7).expect("the file");
        reader.read_at(1000, &mut out).expect("it is there");
        assert_eq!(out, bytes[1000..1100]);
        assert!(reader.read_at(299_950, &mut out).is_err());
        // A file that does not fit is removed.
        let mut file = folder.create(8).expect("a file");
        assert_eq!(file.append(&vec![1; 800_000]).map_err(|error| error.kind()), Err(io::ErrorKind::StorageFull));
        drop(file);
        assert_eq!((folder.files().expect("a folder"), folder.occupied()), (vec![7], 300_000));
        drop(folder);
        let folder = DiskFolder::new(&path, None, true).expect("a folder");
        assert_eq!(folder.occupied(), 300_000);
        drop(folder);
        let folder = DiskFolder::new(&path, None, false).expect("a folder");
        assert_eq!(folder.files().expect("a folder"), [0; 0], "nobody can come back to them");
        folder.finish();
        let _ = fs::remove_dir(&path);
    }
}
