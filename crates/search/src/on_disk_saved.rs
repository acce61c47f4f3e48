//! Checkpoints of a search on disk.
//!
//! A checkpoint names runs: the runs of the visited states, of the level, and of the states
//! gathered for the next level, and the blocks of the level that remain. The files exist already. A
//! checkpoint that was made in memory is adopted: its states move to disk.

use crate::checkpoint::{CheckpointError, Reader, SavedCounts, SavedOrder, Writer};
use crate::gather::{Gatherer, Gathering};
use crate::links::Links;
use crate::on_disk::{FROM_MEMORY, Unit};
use crate::visited_runs::Patient;
use contract::{Store, StoreWorker};
use runs::{Folder, Merge, Run, RunWriter};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;

/// The progress of a search on disk.
#[derive(Default)]
pub(crate) struct Manifest {
    pub counts: SavedCounts,
    /// The level at which the search moved from memory to disk, if it did.
    pub base: Option<u64>,
    pub visited: Vec<Arc<Run>>,
    pub level: Vec<Arc<Run>>,
    /// States of the next level that were found in memory.
    pub carry: Vec<Arc<Run>>,
    pub spills: Vec<Arc<Run>>,
    /// The rest of the level.
    pub rest: Vec<Unit>,
}

impl Manifest {
    fn lists(&self) -> [&[Arc<Run>]; 4] {
        [&self.visited, &self.level, &self.carry, &self.spills]
    }

    /// The numbers of its files.
    pub fn files(&self) -> BTreeSet<u64> {
        self.lists().into_iter().flatten().map(|run| run.number()).collect()
    }

    /// Makes sure that its files survive a crash.
    pub fn sync(&self, folder: &dyn Folder) -> io::Result<()> {
        self.files().into_iter().try_for_each(|number| folder.sync(number))
    }

    pub fn write(&self, to: &mut dyn Write, label: &[u8]) -> io::Result<()> {
        let mut writer = Writer::new(to);
        writer.header(SavedOrder::Disk, label, &self.counts)?;
        writer.number(self.base.map_or(0, |base| base + 1))?;
        for list in self.lists() {
            writer.number(list.len() as u64)?;
            list.iter().try_for_each(|run| writer.number(run.number()))?;
        }
        writer.number(self.rest.len() as u64)?;
        for unit in &self.rest {
            [unit.run as u64, unit.block as u64, unit.from].into_iter().try_for_each(|number| writer.number(number))?;
        }
        writer.finish()
    }
}

/// Reads the progress of a search on disk, or of one in memory, whose states then move to disk.
/// Other files in the folder are left alone.
pub(crate) fn read(mut reader: Reader<'_>, label: &[u8], gathering: &Gathering<'_>) -> Result<Manifest, CheckpointError> {
    let (order, counts) = reader.header(label)?;
    match order {
        SavedOrder::Disk => read_manifest(reader, counts, gathering.shelf.folder()),
        SavedOrder::Breadth => adopt(reader, counts, gathering),
        SavedOrder::Depth => Err(CheckpointError::OtherStore),
    }
}

fn read_manifest(mut reader: Reader<'_>, counts: SavedCounts, folder: &dyn Folder) -> Result<Manifest, CheckpointError> {
    let base = reader.number()?.checked_sub(1);
    let mut numbers: [Vec<u64>; 4] = Default::default();
    for list in &mut numbers {
        for _ in 0..reader.number()? {
            list.push(reader.number()?);
        }
    }
    let mut rest = Vec::new();
    for _ in 0..reader.number()? {
        let (run, block, from) = (reader.number()? as usize, reader.number()? as usize, reader.number()?);
        rest.push(Unit { run, block, from });
    }
    reader.finish()?;
    let open = |list: &[u64]| list.iter().map(|&number| Run::open(folder, number).map(Arc::new)).collect::<io::Result<Vec<_>>>();
    let [visited, level, carry, spills] = &numbers;
    let (visited, level, carry, spills) = (open(visited)?, open(level)?, open(carry)?, open(spills)?);
    if rest.iter().any(|unit| level.get(unit.run).is_none_or(|run| unit.block >= run.blocks())) {
        return Err(CheckpointError::Damaged);
    }
    let manifest = Manifest { counts, base, visited, level, carry, spills, rest };
    if manifest.visited.iter().map(|run| run.states()).sum::<u64>() != manifest.counts.states {
        return Err(CheckpointError::Damaged);
    }
    Ok(manifest)
}

/// Moves the states of a breadth-first search in memory to disk.
fn adopt(mut reader: Reader<'_>, mut counts: SavedCounts, gathering: &Gathering<'_>) -> Result<Manifest, CheckpointError> {
    if !reader.has_states()? {
        return Err(CheckpointError::OtherStore);
    }
    let mut worker = gathering.worker();
    let mut state = Vec::new();
    while reader.piece(&mut state)? {
        put(&mut worker, &state, gathering)?;
    }
    let visited = sorted(&mut worker, gathering)?;
    drop(worker);
    if visited.iter().map(|run| run.states()).sum::<u64>() != counts.states {
        return Err(CheckpointError::Damaged);
    }
    for _ in 0..reader.number()? {
        drop(Links::load(&mut reader)?);
    }
    let mut lists = [Vec::new(), Vec::new()];
    for list in &mut lists {
        // A second worker is needed, because the first one knows the states already.
        let mut worker = gathering.worker();
        for _ in 0..reader.number()? {
            reader.number()?;
            for _ in 0..reader.number()? {
                reader.state(&mut state)?;
                put(&mut worker, &state, gathering)?;
            }
        }
        *list = sorted(&mut worker, gathering)?;
    }
    reader.finish()?;
    let [mut level, mut carry] = lists;
    let base = Some(counts.depth);
    if level.is_empty() {
        // The level was complete, so the next one is complete too.
        std::mem::swap(&mut level, &mut carry);
        counts.depth += 1;
    }
    let rest = level.iter().enumerate().flat_map(|(run, blocks)| (0..blocks.blocks()).map(move |block| Unit { run, block, from: 0 }));
    let rest = rest.collect();
    Ok(Manifest { base, counts, visited, level, carry, spills: Vec::new(), rest })
}

/// Removes the files with these numbers. A file that cannot be removed is not an error.
pub(crate) fn remove_files(folder: &dyn Folder, which: impl Fn(u64) -> bool) {
    for number in folder.files().unwrap_or_default().into_iter().filter(|&number| which(number)) {
        let _ = folder.remove(number);
    }
}

fn put(worker: &mut Gatherer<'_>, state: &[u8], gathering: &Gathering<'_>) -> Result<(), CheckpointError> {
    let hash = worker.hash(state);
    worker.insert(hash, state).map(drop).map_err(|full| match gathering.trouble() {
        Some(error) => CheckpointError::Read(io::Error::other(error)),
        None => CheckpointError::Full(full),
    })
}

/// The states that a worker has gathered, as runs of states that come from memory.
fn sorted(worker: &mut Gatherer<'_>, gathering: &Gathering<'_>) -> io::Result<Vec<Arc<Run>>> {
    worker.settle()?;
    let stop = || gathering.is_over();
    let mut asked = Patient::new(&stop);
    let mut merge = Merge::new(&gathering.spills(), None)?;
    let mut writer = RunWriter::new(gathering.shelf, 0, 1)?;
    while merge.advance()? {
        asked.go_on()?;
        writer.push(merge.state(), FROM_MEMORY)?;
    }
    gathering.clear_spills();
    gathering.sweep_up(&BTreeSet::new());
    Ok(writer.finish()?.map(Arc::new).into_iter().collect())
}
