//! Writes files. An output is never one of the inputs. Errors are reported before the work begins,
//! as far as possible. A file appears complete or not at all: it is written next to its destination
//! and renamed when it is complete.

use crate::failure::Failure;
use crate::lock;
use crate::paths::without_detours;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The partial file that is being written now.
static PARTIAL: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Removes a partial output, because the process ends now. No other thread can create one after
/// this.
pub fn remove_partial_at_exit() {
    let mut current = lock(&PARTIAL);
    if let Some(partial) = current.take() {
        let _ = fs::remove_file(partial);
    }
    std::mem::forget(current);
}

/// A file that will be written.
pub struct Output {
    path: PathBuf,
    /// The path of the partial output; `None` for a device or a pipe, or if the folder is not
    /// writable.
    partial: Option<PathBuf>,
}

impl Output {
    /// An output file that can be written, as far as this is known, and that is none of the
    /// `inputs`, which may include other outputs.
    pub fn new(path: &Path, inputs: &[impl AsRef<Path>]) -> Result<Output, Failure> {
        let refuse = |error| Failure::write(path, error);
        // The target, if the path is a link.
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        // Another output may not exist yet.
        let tidy = without_detours(path);
        let same = |input: &Path| without_detours(input) == tidy || fs::canonicalize(input).is_ok_and(|input| input == place);
        if inputs.iter().any(|input| same(input.as_ref())) {
            return Err(Failure::Call(format!("{}: this file is already in use here, so it will not be overwritten", path.display())));
        }
        match fs::metadata(&place) {
            Ok(known) if known.is_dir() => return Err(refuse(io::ErrorKind::IsADirectory.into())),
            Ok(known) if !known.is_file() => return Ok(Output { path: place, partial: None }),
            _ => {}
        }
        let partial = beside(&place).map_err(refuse)?;
        let current = lock(&PARTIAL);
        let tried = File::create(&partial).and_then(|_| fs::remove_file(&partial));
        drop(current);
        match tried {
            Ok(()) => Ok(Output { path: place, partial: Some(partial) }),
            Err(error) => match OpenOptions::new().append(true).open(&place) {
                Ok(_) => Ok(Output { path: place, partial: None }),
                Err(_) => Err(refuse(error)),
            },
        }
    }

    /// Writes these contents.
    pub fn write(&self, contents: impl AsRef<[u8]>) -> Result<(), Failure> {
        self.write_with(|out| out.write_all(contents.as_ref()))
    }

    /// Writes the file by calling `write`. If that fails, the old file is unchanged.
    pub fn write_with(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        let place = self.partial.as_deref().unwrap_or(&self.path);
        // The file is created and renamed under the lock, so that an exit at this time leaves
        // nothing behind.
        let mut current = lock(&PARTIAL);
        let created = File::create(place);
        current.clone_from(&self.partial);
        drop(current);
        let written = created.and_then(|file| {
            let mut out = BufWriter::new(file);
            write(&mut out)?;
            out.flush()
        });
        let mut current = lock(&PARTIAL);
        let moved = written.and_then(|()| self.partial.as_ref().map_or(Ok(()), |partial| fs::rename(partial, &self.path)));
        if let Some(partial) = current.take()
            && moved.is_err()
        {
            let _ = fs::remove_file(partial);
        }
        drop(current);
        moved.map_err(|error| Failure::write(&self.path, error))
    }
}

/// The path of the partial file of an output.
pub fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it is not the name of a file"))?;
    let mut partial = name.to_owned();
    partial.push(".partial");
    Ok(path.with_file_name(partial))
}
