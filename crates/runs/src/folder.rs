//! The storage of runs: numbered files that are written once and read at any offset.
//!
//! The caller provides the folder, because only the outer crates open files. A folder may have a
//! limit; an append beyond it fails as on a full disk.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A place for numbered files.
pub trait Folder: Sync {
    /// Creates an empty file, which replaces an old one with this number.
    fn create(&self, number: u64) -> io::Result<Box<dyn FileWriter>>;

    /// Opens a finished file.
    fn open(&self, number: u64) -> io::Result<Box<dyn FileReader>>;

    /// Removes a file, if it is there.
    fn remove(&self, number: u64) -> io::Result<()>;

    /// Makes sure that a finished file survives a crash of the machine.
    fn sync(&self, number: u64) -> io::Result<()>;

    /// The numbers of all files.
    fn files(&self) -> io::Result<Vec<u64>>;

    /// The total number of bytes ever appended to files.
    fn written(&self) -> u64;

    /// The number of bytes of all files.
    fn occupied(&self) -> u64;

    /// The number of bytes that may still be appended, if the folder has a limit of its own.
    fn left(&self) -> Option<u64> {
        None
    }
}

/// A file that is being written.
pub trait FileWriter: Send {
    /// Appends `bytes`.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Completes the file.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// A file that is being read.
pub trait FileReader: Send + Sync {
    /// The length.
    fn len(&self) -> io::Result<u64>;

    /// Whether there is nothing in it.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Fills `out` with the bytes from `offset` on.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
}

type Files = Arc<Mutex<Contents>>;

#[derive(Debug, Default)]
struct Contents {
    files: BTreeMap<u64, Arc<Vec<u8>>>,
    occupied: u64,
    written: u64,
    most: Option<u64>,
}

/// A folder in memory: for tests, and for a disk that can be filled and damaged at will.
#[derive(Clone, Debug, Default)]
pub struct InMemory(Files);

impl InMemory {
    /// A folder with room for `most` bytes.
    pub fn with_room(most: u64) -> InMemory {
        let folder = InMemory::default();
        folder.contents().most = Some(most);
        folder
    }

    /// Sets the room of the folder.
    pub fn set_room(&self, most: Option<u64>) {
        self.contents().most = most;
    }

    /// Lets `change` alter a file, as a failing disk might.
    pub fn damage(&self, number: u64, change: impl FnOnce(&mut Vec<u8>)) {
        if let Some(file) = self.contents().files.get_mut(&number) {
            let mut bytes = file.to_vec();
            change(&mut bytes);
            *file = Arc::new(bytes);
        }
    }

    /// A copy that changes independently, such as a process finds after a crash.
    pub fn copy(&self) -> InMemory {
        let contents = self.contents();
        let Contents { files, occupied, written, most } = &*contents;
        InMemory(Arc::new(Mutex::new(Contents { files: files.clone(), occupied: *occupied, written: *written, most: *most })))
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Folder for InMemory {
    fn create(&self, number: u64) -> io::Result<Box<dyn FileWriter>> {
        self.remove(number)?;
        self.contents().files.insert(number, Arc::default());
        Ok(Box::new(MemoryWriter { number, folder: self.clone(), bytes: Vec::new() }))
    }

    fn open(&self, number: u64) -> io::Result<Box<dyn FileReader>> {
        let file = self.contents().files.get(&number).cloned();
        Ok(Box::new(MemoryReader(file.ok_or(io::ErrorKind::NotFound)?)))
    }

    fn remove(&self, number: u64) -> io::Result<()> {
        let mut contents = self.contents();
        if let Some(file) = contents.files.remove(&number) {
            contents.occupied = contents.occupied.saturating_sub(file.len() as u64);
        }
        Ok(())
    }

    fn sync(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn files(&self) -> io::Result<Vec<u64>> {
        Ok(self.contents().files.keys().copied().collect())
    }

    fn written(&self) -> u64 {
        self.contents().written
    }

    fn occupied(&self) -> u64 {
        self.contents().occupied
    }

    fn left(&self) -> Option<u64> {
        let contents = self.contents();
        contents.most.map(|most| most.saturating_sub(contents.occupied))
    }
}

struct MemoryWriter {
    number: u64,
    folder: InMemory,
    bytes: Vec<u8>,
}

impl FileWriter for MemoryWriter {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut contents = self.folder.contents();
        let after = contents.occupied + bytes.len() as u64;
        if contents.most.is_some_and(|most| after > most) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        contents.occupied = after;
        contents.written += bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.folder.contents().files.insert(self.number, Arc::new(self.bytes));
        Ok(())
    }
}

struct MemoryReader(Arc<Vec<u8>>);

impl FileReader for MemoryReader {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(out.len());
        out.copy_from_slice(self.0.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}
