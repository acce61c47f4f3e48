//! A folder for the states of a search: numbered files, their sizes, and the saved search.
//!
//! Files are read and written in long sequential runs, and the system is told at once to drop them
//! from its cache: a search reads far more than fits there, and keeps in memory the data that it
//! needs again. A lock prevents two searches from using one folder; the system releases it when the
//! process ends for any reason. The locked file also marks the folder as ours, and names the file
//! of the saved search if that is elsewhere: files of others are never removed, and files of a
//! saved search only by the search that resumes it.

use crate::failure::Failure;
use crate::next;
use check::{FileReader, FileWriter, Folder, Saved};
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name of the saved search in a folder.
const SAVED: &str = "search.saved";
/// The name of the file that says that a folder is in use, how it begins, and how much of it is
/// read.
const LOCK: &str = "in-use";
const MARK: &str = "states of a search by everypath\n";
const MOST_MARK: u64 = 1 << 14;
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

/// The files of saved searches, besides the one in the folder.
#[derive(Clone, Copy, Default)]
pub struct Savings<'s> {
    /// The saved search that is resumed.
    pub resumed: Option<&'s Path>,
    /// The file to which the search is saved, if the user has named one.
    pub elsewhere: Option<&'s Path>,
}

/// Whether a file is a saved search.
fn is_saved(path: &Path) -> bool {
    let mut head = Vec::new();
    File::open(path).and_then(|file| file.take(16).read_to_end(&mut head)).is_ok() && Saved::is_one(&head)
}

/// Whether two names are those of one file.
fn are_same(one: &Path, other: &Path) -> bool {
    fs::canonicalize(one).ok().zip(fs::canonicalize(other).ok()).is_some_and(|(one, other)| one == other)
}

impl DiskFolder {
    /// Whether a folder holds a saved search.
    pub fn is_one(path: &Path) -> bool {
        path.join(SAVED).is_file() && path.join(LOCK).is_file()
    }

    /// The folder at `path`, which is created if it does not exist, for files of at most so many
    /// bytes. Files of a search that was not saved are removed; files of a saved search are only
    /// for the search that resumes it. A folder with such files that no search has made is refused.
    pub fn new(path: &Path, most: Option<u64>, savings: Savings<'_>) -> Result<DiskFolder, Failure> {
        let refuse = |error| Failure::write(path, error);
        fs::create_dir_all(path).map_err(refuse)?;
        let mut mark = Vec::new();
        if let Ok(file) = File::open(path.join(LOCK)) {
            file.take(MOST_MARK).read_to_end(&mut mark).map_err(refuse)?;
        }
        let marked = mark.strip_prefix(MARK.as_bytes());
        let files = files(path).map_err(refuse)?;
        if marked.is_none() && (!mark.is_empty() || !files.is_empty()) {
            let which = if files.is_empty() { LOCK.to_owned() } else { format!("*.{ENDING}") };
            return Err(Failure::Call(format!(
                "{} holds files of another kind with the names of files of states ({which}): choose another folder",
                path.display()
            )));
        }
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(path.join(LOCK)).map_err(refuse)?;
        if lock.try_lock().is_err() {
            return Err(Failure::Call(format!("another search uses the folder {}: choose another one", path.display())));
        }
        let own = path.join(SAVED);
        let named =
            marked.filter(|name| !name.is_empty() && !files.is_empty()).map(|name| PathBuf::from(String::from_utf8_lossy(name).as_ref()));
        let saved = if is_saved(&own) { Some(own.clone()) } else { named.filter(|named| is_saved(named)) };
        if let Some(saved) = saved.filter(|saved| !savings.resumed.is_some_and(|resumed| are_same(resumed, saved))) {
            let (folder, file) = (next::file(path), next::file(&saved));
            return Err(Failure::Call(if saved == own {
                format!("{folder} holds a saved search: continue it (`--resume {folder}`), remove it, or choose another folder")
            } else {
                format!(
                    "{folder} holds the states of the search saved in {file}: continue it (`--resume {file} --disk {folder}`), remove that \
                     file, or choose another folder"
                )
            }));
        }
        // As long as the folder has no saved search, its files are those of the one that is named.
        let elsewhere = savings.elsewhere.or(savings.resumed).filter(|file| !are_same(file, &own));
        let elsewhere = elsewhere.and_then(|file| std::path::absolute(file).ok()).unwrap_or_default();
        let text = format!("{MARK}{}", elsewhere.to_string_lossy());
        (&lock).write_all(text.as_bytes()).and_then(|()| lock.set_len(text.len() as u64)).map_err(refuse)?;
        let resumed = savings.resumed.is_some();
        let account = Account { most, ..Account::default() };
        let folder = DiskFolder { path: path.to_owned(), temporary: false, account: Arc::new(account), _lock: lock };
        for number in files {
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
        let mut folder = DiskFolder::new(&path, None, Savings::default())?;
        folder.temporary = true;
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether its files are in memory and not on a disk.
    pub fn is_in_memory(&self) -> bool {
        is_in_memory(&self.path)
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
        self.path.join(file_name(number))
    }

    fn named(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
    }
}

fn file_name(number: u64) -> String {
    format!("{number:08}.{ENDING}")
}

/// The numbers of the files of states in a folder.
fn files(folder: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.split_once('.')?.0.parse().ok());
        numbers.extend(number.filter(|&number| name.to_str() == Some(file_name(number).as_str())));
    }
    Ok(numbers)
}

/// Whether a file system keeps its files in memory: `tmpfs` and `ramfs`.
#[cfg(target_os = "linux")]
fn is_in_memory(path: &Path) -> bool {
    const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];
    rustix::fs::statfs(path).is_ok_and(|system| IN_MEMORY.contains(&(system.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
fn is_in_memory(_: &Path) -> bool {
    false
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
        File::open(self.file(number)).and_then(|file| file.sync_data()).map_err(|error| self.named(error))?;
        // Its name must reach the disk too. Where folders cannot be opened, that must suffice.
        if let Ok(folder) = File::open(&self.path) {
            let _ = folder.sync_all();
        }
        Ok(())
    }

    fn files(&self) -> io::Result<Vec<u64>> {
        files(&self.path)
    }

    fn written(&self) -> u64 {
        self.account.written.load(Relaxed)
    }

    fn occupied(&self) -> u64 {
        self.account.occupied.load(Relaxed)
    }

    fn left(&self) -> Option<u64> {
        self.account.most.map(|most| most.saturating_sub(self.occupied()))
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
        let new = Savings::default();
        let folder = DiskFolder::new(&path, Some(1 << 20), new).expect("a folder");
        assert!(DiskFolder::new(&path, None, new).is_err(), "it is in use");
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
        let folder = DiskFolder::new(&path, None, Savings { resumed: Some(&path.join("gone")), ..new }).expect("a folder");
        assert_eq!(folder.occupied(), 300_000);
        drop(folder);
        let folder = DiskFolder::new(&path, None, new).expect("a folder");
        assert_eq!(folder.files().expect("a folder"), [0; 0], "nobody can come back to them");
        folder.finish();
        let _ = fs::remove_dir(&path);
    }
}
