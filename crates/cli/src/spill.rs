//! The part of a deep stack that does not fit into memory, in an unnamed file that disappears with
//! the process.

use check::Blocks;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// Numbered blocks in a file without a name, which is created when the first block is written.
pub struct SpillFile {
    folder: PathBuf,
    file: Option<File>,
    /// For each block: its offset, its length, and its capacity.
    places: Vec<Place>,
    end: u64,
}

#[derive(Clone, Copy, Default)]
struct Place {
    start: u64,
    len: u64,
    room: u64,
}

impl SpillFile {
    /// A file that will be created in `folder`.
    pub fn within(folder: PathBuf) -> SpillFile {
        SpillFile { folder, file: None, places: Vec::new(), end: 0 }
    }

    fn file(&mut self) -> io::Result<&mut File> {
        if self.file.is_none() {
            let path = self.folder.join(format!("everypath-stack-{}", std::process::id()));
            let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
            // An open file needs no name. Without one, no file remains, however the process ends.
            let _ = fs::remove_file(&path);
            self.file = Some(file);
        }
        self.file.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn try_write(&mut self, number: usize, bytes: &[u8]) -> io::Result<()> {
        let len = bytes.len() as u64;
        let mut place = self.places.get(number).copied().unwrap_or_default();
        if place.room < len {
            place = Place { start: self.end, len, room: len };
        }
        let file = self.file()?;
        file.seek(SeekFrom::Start(place.start))?;
        file.write_all(bytes)?;
        if self.places.len() <= number {
            self.places.resize(number + 1, Place::default());
        }
        self.places[number] = Place { len, ..place };
        self.end = self.end.max(place.start + place.room);
        Ok(())
    }
}

impl Blocks for SpillFile {
    fn write(&mut self, number: u64, bytes: &[u8]) -> io::Result<()> {
        self.try_write(number as usize, bytes).map_err(|error| {
            io::Error::new(error.kind(), format!("{} (`--spill FOLDER` names another folder): {error}", self.folder.display()))
        })
    }

    fn read(&mut self, number: u64, out: &mut Vec<u8>) -> io::Result<()> {
        let place = *self.places.get(number as usize).ok_or(io::ErrorKind::NotFound)?;
        let file = self.file()?;
        file.seek(SeekFrom::Start(place.start))?;
        let read = file.take(place.len).read_to_end(out)?;
        if read as u64 == place.len { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_as_they_were_written_last() {
        let mut spill = SpillFile::within(std::env::temp_dir());
        let block = |n: u64, len: usize| vec![n as u8; len];
        let lens = [10, 0, 4000, 7, 300_000];
        for (n, &len) in lens.iter().enumerate() {
            spill.write(n as u64, &block(n as u64, len)).expect("room on the disk");
        }
        // Shorter and longer blocks than before.
        spill.write(2, &block(9, 17)).expect("room on the disk");
        spill.write(3, &block(8, 5000)).expect("room on the disk");
        for (n, expected) in [(0, block(0, 10)), (1, vec![]), (2, block(9, 17)), (3, block(8, 5000)), (4, block(4, 300_000))] {
            let mut out = Vec::new();
            spill.read(n, &mut out).expect("it was written");
            assert_eq!(out, expected, "block {n}");
        }
        assert!(spill.read(5, &mut Vec::new()).is_err());
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let mut spill = SpillFile::within("nowhere/at/all".into());
        let error = spill.write(0, b"x").expect_err("there is no such folder");
        assert!(error.to_string().contains("nowhere/at/all") && error.to_string().contains("--spill"), "{error}");
    }
}
