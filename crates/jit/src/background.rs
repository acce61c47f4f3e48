//! Makes native code while searches run.
//!
//! A separate thread translates one location after the other. Locations whose code was needed and
//! missing come first, those that were missed most often before the others; then the rest, in the
//! order of the program. Code goes into the tables in batches, because making memory executable
//! takes time. A [`System`](contract::System) of the program never waits for this thread: the
//! tables say which code exists. When the last of these systems is dropped, the thread ends after
//! its present function.

use crate::compile::{CodeMemory, CompileError, Compiler, Made, host};
use crate::tables::Tables;
use bytecode::{AtomId, Location, ProcessId, Verified};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// For how long functions are made before their code goes into the tables.
const BATCH: Duration = Duration::from_millis(20);
/// The largest amount of memory for code. The rest of a large program is left to the interpreter;
/// locations that are missed most often come first.
pub(crate) const CODE_MAX: u64 = 256 << 20;
/// The stack of the thread: expressions are translated recursively.
const STACK: usize = 64 << 20;

/// Which locations get code; the others are left to the interpreter.
pub type Selection = fn(ProcessId, Location) -> bool;

/// How far translation is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Progress {
    /// How many locations and prologues there are to be translated.
    pub total: usize,
    /// How many have code.
    pub translated: usize,
    /// How many are left to the interpreter because their code, or all of it, would be too large.
    pub left_out: usize,
    /// Whether nothing more will be translated.
    pub ended: bool,
}

/// The translation of a program.
pub(crate) struct Translation {
    pub tables: Arc<Tables>,
    shared: Arc<Shared>,
}

impl Drop for Translation {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

/// The data that the translation and its thread share.
struct Shared {
    stop: AtomicBool,
    progress: Mutex<Progress>,
    changed: Condvar,
    /// The code, once the thread has ended.
    memory: Mutex<Option<CodeMemory>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(memory) = lock(&self.memory).take() {
            // SAFETY: neither the thread nor the translation exists any more, and every caller of
            // the code holds the translation.
            unsafe { memory.free() };
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Translation {
    /// Starts to translate a program into code of about `budget` bytes at most.
    pub fn start(program: Arc<Verified>, selection: Selection, budget: u64) -> Result<Translation, CompileError> {
        let isa = host()?;
        let tables = Arc::new(Tables::new(&program));
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            progress: Mutex::default(),
            changed: Condvar::new(),
            memory: Mutex::default(),
        });
        let (for_thread, places) = (Arc::clone(&shared), Arc::clone(&tables));
        let work = move || {
            // Whichever way the thread ends, no caller waits for it for ever.
            let ended = Ended(&for_thread);
            if let Ok(compiler) = Compiler::new(&program, isa, places.longest, budget) {
                let mut worker = Worker { compiler, program: &program, tables: &places, shared: ended.0 };
                worker.run(selection);
                *lock(&for_thread.memory) = Some(worker.compiler.into_memory());
            }
        };
        let thread = thread::Builder::new().name("native code".to_owned()).stack_size(STACK).spawn(work);
        thread.map_err(|error| CompileError::NoThread(error.to_string()))?;
        Ok(Translation { tables, shared })
    }

    /// Waits until nothing more will be translated, or until the time is over; returns the
    /// progress.
    pub fn wait(&self, most: Option<Duration>) -> Progress {
        let until = most.map(|most| Instant::now() + most);
        let mut progress = lock(&self.shared.progress);
        while !progress.ended {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                break;
            }
            let changed = &self.shared.changed;
            progress = match left {
                Some(left) => changed.wait_timeout(progress, left).unwrap_or_else(PoisonError::into_inner).0,
                None => changed.wait(progress).unwrap_or_else(PoisonError::into_inner),
            };
        }
        *progress
    }
}

/// Says that the thread has ended.
struct Ended<'s>(&'s Shared);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        lock(&self.0.progress).ended = true;
        self.0.changed.notify_all();
    }
}

/// Something to be translated.
#[derive(Clone, Copy)]
enum Item {
    Prologue(ProcessId),
    Atom(AtomId),
    Location(ProcessId, Location),
}

struct Worker<'p> {
    compiler: Compiler<'p>,
    program: &'p Verified,
    tables: &'p Tables,
    shared: &'p Shared,
}

impl Worker<'_> {
    fn run(&mut self, selection: Selection) {
        let mut left = self.items(selection);
        lock(&self.shared.progress).total = left.len();
        // Items are taken from the end.
        left.reverse();
        while !left.is_empty() {
            self.sort(&mut left);
            if self.compiler.is_full() {
                lock(&self.shared.progress).left_out += left.len();
                return;
            }
            if self.batch(&mut left).is_none() {
                return;
            }
        }
    }

    /// Everything that must be translated. No state shows a process in the middle of a
    /// deterministic sequence.
    fn items(&self, selection: Selection) -> Vec<Item> {
        let types = || (0..self.program.program().processes.len()).filter_map(ProcessId::new);
        let with_prologue = types().filter(|ty| self.program.program().processes[ty.index()].prologue.is_some());
        let mut items: Vec<Item> = with_prologue.map(Item::Prologue).collect();
        items.extend((0..self.program.program().atoms.len()).filter_map(AtomId::new).map(Item::Atom));
        for ty in types() {
            let resting = stepgraph::resting(self.program, ty).into_iter().enumerate().filter(|(_, rests)| *rests);
            let locations = resting.filter_map(|(i, _)| Location::new(i)).filter(|&location| selection(ty, location));
            items.extend(locations.map(|location| Item::Location(ty, location)));
        }
        items
    }

    /// Sorts the items so that those missed most often are at the end.
    fn sort(&self, left: &mut Vec<Item>) {
        let missed = |item: &Item| match item {
            Item::Prologue(_) | Item::Atom(_) => u32::MAX,
            Item::Location(ty, location) => self.tables.missed(*ty, *location),
        };
        let mut wanted: Vec<(u32, Item)> = left.iter().map(|item| (missed(item), *item)).filter(|(missed, _)| *missed > 0).collect();
        if wanted.is_empty() {
            return;
        }
        left.retain(|item| missed(item) == 0);
        wanted.sort_by_key(|(missed, _)| *missed);
        left.extend(wanted.into_iter().map(|(_, item)| item));
    }

    /// Translates for a while. Returns nothing if translation must end.
    fn batch(&mut self, left: &mut Vec<Item>) -> Option<()> {
        let shared = self.shared;
        let go_on = || !shared.stop.load(Ordering::Relaxed);
        let begun = Instant::now();
        let (mut made, mut left_out) = (Vec::new(), 0);
        while begun.elapsed() < BATCH
            && !self.compiler.is_full()
            && let Some(item) = left.pop()
        {
            let functions = match item {
                Item::Prologue(ty) => self.compiler.prologue(ty, &go_on),
                Item::Atom(atom) => self.compiler.atom(atom, &go_on),
                Item::Location(ty, location) => self.compiler.location(ty, location, &go_on),
            };
            // A generator that failed once is not used again: the interpreter does the rest.
            match functions.ok()? {
                Made::Functions(functions) => made.push((item, functions)),
                Made::LeftOut => left_out += 1,
                Made::Stopped => return None,
            }
            if !go_on() {
                return None;
            }
        }
        self.compiler.finish().ok()?;
        for (item, functions) in &made {
            if let Item::Atom(atom) = item {
                self.tables.set_atom(*atom, self.compiler.value_of(functions));
                continue;
            }
            let (expand, answer) = self.compiler.code_of(functions);
            match item {
                Item::Atom(_) => {}
                Item::Prologue(ty) => self.tables.set_prologue(*ty, expand),
                Item::Location(ty, location) => self.tables.set_location(*ty, *location, expand, answer),
            }
        }
        let mut progress = lock(&shared.progress);
        progress.translated += made.len();
        progress.left_out += left_out;
        Some(())
    }
}
