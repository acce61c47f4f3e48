//! The set of visited states, as a search sees it.
//!
//! The one question of a search is "is this state new?", asked tens of millions of times a second. It is asked in two halves,
//! [`hash`](StoreWorker::hash) with [`prefetch`](StoreWorker::prefetch) when a state appears and [`insert`](StoreWorker::insert) a
//! few hundred states later, so that the memory has arrived when it is needed.
//!
//! A store is shared by all workers; each works through its own [`StoreWorker`], which is the place for what must not be shared: a
//! private piece of the arena, counters, scratch space, small caches.

use std::fmt;
use std::sync::Arc;

/// The name a store gives to a state it holds. Not necessarily dense, and without meaning to anyone but the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateId(pub u64);

/// The answer of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inserted {
    /// The state's name.
    pub id: StateId,
    /// Whether the state was not there before. Exactly one insertion of a state, over all workers, answers `true`.
    pub new: bool,
}

/// Whether to stop, asked now and then.
pub type Stop = Arc<dyn Fn() -> bool + Send + Sync>;

/// A store that cannot take another state within its memory budget. Whatever it holds stays valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreFull {
    /// The bytes the store would have needed.
    pub needed: u64,
    /// The bytes it may use.
    pub budget: u64,
}

impl fmt::Display for StoreFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the state store needs {} bytes, its budget is {}", self.needed, self.budget)
    }
}

impl std::error::Error for StoreFull {}

/// Why a store cannot be made again from what was saved of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRestored {
    /// What was saved needs more memory than there is.
    Full(StoreFull),
    /// This is not what such a store saves.
    Malformed,
}

impl From<StoreFull> for NotRestored {
    fn from(full: StoreFull) -> NotRestored {
        NotRestored::Full(full)
    }
}

/// A set of states shared by all workers of a search.
pub trait Store: Sync {
    /// Never mistakes a new state for a seen one. A search that completes over an inexact store may not say "holds".
    const EXACT: bool;
    /// May forget a state that was left ([`StoreWorker::leave`]), and then take it for new again. Searches that never leave a state, or
    /// rely on a state being new once only, do not end over such a store.
    const FORGETS: bool = false;
    /// Every state can be read back by its name, and its name never changes. A store that reorganises itself may rename its states,
    /// and one that keeps hashes only has no names worth the word.
    const STABLE_NAMES: bool;
    /// What the store calls the form in which it [`save`](Self::save)s itself, if that is one of its own. Stores without one are saved as
    /// the states they [`visit`](Self::visit), which any other store can take in.
    const OWN_FORM: Option<&'static str> = None;

    /// One worker's access.
    type Worker<'s>: StoreWorker
    where
        Self: 's;

    /// Access for one more worker.
    fn worker(&self) -> Self::Worker<'_>;

    /// The number of states inserted. Exact once the workers are gone; may lag while they work.
    fn len(&self) -> u64;

    /// Whether no state was inserted.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory in use, measured, in bytes.
    fn bytes(&self) -> u64;

    /// The most memory that was ever in use, in bytes: a table that grows needs its old and its new place for a while.
    fn peak_bytes(&self) -> u64 {
        self.bytes()
    }

    /// From now on, a worker that is busy inside the store for long, with moving all states perhaps, may ask whether to go on. If not, what it was
    /// asked to insert does not fit, and nothing that was there is lost.
    fn give_up_when(&self, stop: Stop) {
        let _ = stop;
    }

    /// Others need `bytes` of the store's memory budget from now on. A store without a budget has nothing to leave.
    fn leave_room(&self, bytes: u64) {
        let _ = bytes;
    }

    /// Shows `visit` every state once, in any order, as long as it answers `true`, while nobody inserts; says whether all were shown.
    /// A store that does not know its states shows none.
    fn visit(&self, visit: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        let _ = visit;
        false
    }

    /// Gives `write` everything from which [`restore`](Self::restore) makes a store that answers as this one does, piece by piece, as long
    /// as it answers `true`, while nobody inserts; says whether all was given. Of all insertions so far `states` were new: workers may
    /// not have told yet.
    fn save(&self, states: u64, write: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        let _ = (states, write);
        false
    }

    /// Makes this store, in which nothing was inserted, what another one of its kind was when it was saved: its configuration too.
    /// `next` puts one piece after the other into its argument and says whether there was one. After an error the store is of no use.
    fn restore(&mut self, next: &mut dyn FnMut(&mut Vec<u8>) -> bool) -> Result<(), NotRestored> {
        let _ = next;
        Err(NotRestored::Malformed)
    }

    /// Whether the store can still make do with less memory than it has, and will once [`leave_room`](Self::leave_room) says so.
    fn yields(&self) -> bool {
        false
    }

    /// What the store is at present, in a word; changes when a store reorganises itself in a way users like to know of.
    fn form(&self) -> &'static str {
        ""
    }

    /// For a store that is not exact: the probability that some state was taken for seen although it was new.
    fn omission(&self) -> f64 {
        if Self::EXACT { 0.0 } else { 1.0 }
    }
}

/// One worker's access to a [`Store`].
pub trait StoreWorker {
    /// A number that says where `state` belongs, to be given to [`prefetch`](Self::prefetch) and [`insert`](Self::insert). It may be
    /// used at any later time, by this worker.
    fn hash(&mut self, state: &[u8]) -> u64;

    /// Tells the memory system that a state with this hash will soon be inserted.
    fn prefetch(&self, hash: u64);

    /// Inserts `state`, whose [`hash`](Self::hash) is `hash`, unless it is there.
    fn insert(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull>;

    /// The name of `state`, whose [`hash`](Self::hash) is `hash`, if it is certainly there; a store that is busy may not find it.
    fn find(&mut self, hash: u64, state: &[u8]) -> Option<StateId>;

    /// Whether the state just named `id` can be read by that name at any later time. If not, whoever needs the state keeps its bytes.
    fn keeps(&self, id: StateId) -> bool;

    /// Whether reading a state takes so much work that whoever has room for its bytes had better keep them.
    #[inline]
    fn reads_slowly(&self) -> bool {
        false
    }

    /// The state named `id` where it lies, in a store that keeps whole states and [`keeps`](Self::keeps) this one.
    #[inline]
    fn view(&self, id: StateId) -> Option<&[u8]> {
        let _ = id;
        None
    }

    /// Replaces the contents of `out` by the state named `id`, and says whether it could: it can if it [`keeps`](Self::keeps) it.
    fn read(&mut self, id: StateId, out: &mut Vec<u8>) -> bool;

    /// The search has left the state named `id` for good: a store that forgets may forget this one.
    fn leave(&mut self, id: StateId) {
        let _ = id;
    }
}
