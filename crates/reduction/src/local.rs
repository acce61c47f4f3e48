//! The demands of a process on a stubborn set that contains it, in a form that many states share.
//!
//! The demands depend on the node of the process, on the steps that it can take, and on which
//! conditions of the others hold. There are few such situations, and the same ones recur in
//! most states. So the demands of each situation are computed once: as sets of nodes from which
//! others can interfere. For each state, only the processes at these nodes must be found.

use crate::choose::Lookup;
use crate::evaluate::Roster;
use crate::memo::{Key, Memo};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// A row of the tables: a set of nodes.
pub(crate) type Row = u32;

/// The limit on situations that are kept for the same steps at the same node.
const MOST_ANSWERS: usize = 256;
/// The limit on the questions in a situation that is kept: an answer takes two bits.
pub(crate) const MOST_QUESTIONS: usize = 64;
/// The number of workers of a reduction that keep situations.
const WORKERS: usize = 16;

/// The processes that can make a condition true.
#[derive(Clone, Copy)]
pub(crate) enum Helpers {
    /// The processes at the nodes of a row.
    From(Row),
    /// The youngest process, by its end.
    Youngest,
}

/// A further demand if a process is at a node of one of some rows.
pub(crate) struct Meeting {
    pub at: Vec<Row>,
    pub everything: bool,
    pub from: Row,
}

/// The demands of a process in a situation.
#[derive(Default)]
pub(crate) struct Local {
    /// Its steps are not those of the tables: nothing can be left out.
    pub strange: bool,
    pub everything: bool,
    /// The nodes from which no process may come.
    pub from: Box<[u64]>,
    /// Whether there are no further demands below.
    pub is_simple: bool,
    /// From each entry, the smallest of its sets of helpers is demanded.
    pub either: Vec<Vec<Helpers>>,
    pub meetings: Vec<Meeting>,
}

/// A test whose answer matters.
pub(crate) struct Question {
    pub test: u32,
    /// The number of the next question if the answer is no.
    pub after_no: u32,
}

/// The situations at a node in which the same steps are executable.
pub(crate) struct Situations {
    /// The steps, a bit for each rule of the node.
    executable: u64,
    /// The tests whose answers matter.
    pub questions: Vec<Question>,
    answers: Vec<u128>,
    locals: Vec<Local>,
}

impl Situations {
    /// The demands for these answers, computed before or now. `make` gets the
    /// answers by the numbers of the tests.
    #[inline]
    pub fn after(&mut self, answers: u128, make: impl FnOnce(&dyn Fn(u32) -> Option<bool>) -> Local) -> &Local {
        if let Some(number) = self.answers.iter().position(|known| *known == answers) {
            return &self.locals[number];
        }
        if self.answers.len() == MOST_ANSWERS {
            self.answers.clear();
            self.locals.clear();
        }
        let answered = |test: u32| answer(answers >> (2 * self.questions.iter().position(|asked| asked.test == test)?));
        self.locals.push(make(&answered));
        self.answers.push(answers);
        &self.locals[self.locals.len() - 1]
    }
}

impl Situations {
    /// Asks the questions. A question that does not matter after the answers before is not asked,
    /// and counts as one without an answer.
    #[inline]
    pub fn ask(&self, mut holds: impl FnMut(u32) -> Option<bool>) -> u128 {
        let (mut answers, mut next) = (0, 0);
        while let Some(question) = self.questions.get(next) {
            let answer = holds(question.test);
            // Yes is 2, no is 1, and 0 is neither.
            answers |= answer.map_or(0, |yes| 1 + u128::from(yes)) << (2 * next);
            next = if answer == Some(false) { question.after_no as usize } else { next + 1 };
        }
        answers
    }
}

/// The answer of a code.
fn answer(code: u128) -> Option<bool> {
    match code & 3 {
        1 => Some(false),
        2 => Some(true),
        _ => None,
    }
}

/// The memory of one worker.
#[derive(Default)]
pub(crate) struct Worker {
    pub roster: Roster,
    /// The key of the present choice.
    pub key: Key,
    pub memo: Memo,
    /// For each node, the situations there that were met.
    pub met: Vec<Vec<Situations>>,
    /// What was learned for looking choices up, by the number of words of a set of nodes.
    pub one: Lookup<1>,
    pub two: Lookup<2>,
    pub four: Lookup<4>,
}

impl Worker {
    /// The situations at a node with these steps; `questions` gives the tests that matter there.
    #[inline]
    pub fn situations(
        met: &mut [Vec<Situations>],
        node: u32,
        executable: u64,
        questions: impl FnOnce() -> Vec<Question>,
    ) -> &mut Situations {
        let here = &mut met[node as usize];
        let number = here.iter().position(|known| known.executable == executable).unwrap_or_else(|| {
            here.push(Situations { executable, questions: questions(), answers: Vec::new(), locals: Vec::new() });
            here.len() - 1
        });
        &mut here[number]
    }
}

/// The memory of all workers.
pub(crate) struct Workers(Vec<Apart>);

/// No two of them share a cache line.
#[repr(align(128))]
#[derive(Default)]
struct Apart(Mutex<Worker>);

impl Default for Workers {
    fn default() -> Self {
        Workers((0..WORKERS).map(|_| Apart::default()).collect())
    }
}

impl Workers {
    /// The memory of this thread, unless another one is using it.
    #[inline]
    pub fn mine(&self) -> Option<MutexGuard<'_, Worker>> {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! { static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) } }
        let number = NUMBER.with(|number| {
            if number.get() == usize::MAX {
                number.set(THREADS.fetch_add(1, Ordering::Relaxed));
            }
            number.get()
        });
        self.0[number % WORKERS].0.try_lock().ok()
    }
}
