//! A store in layers that can be dropped one by one.
//!
//! A search that follows a progress measure never returns to the layers it has left, and it drops
//! them to free their memory. A layer begins as a small set on the heap ([`Few`]), because many
//! layers have few states. When it grows, it moves to a store of its own, which can be of any kind.
//! A store costs some kilobytes, a few mappings and many addresses, so there is only a limited
//! number of them; when they are used up, large layers stay on the heap. No two layers share a
//! store, because one layer that stays would keep alive all states of the layers that are dropped.

use crate::few::Few;
use contract::{Budgeted, Fresh, Inserted, Layered, StateId, Stop, Store, StoreFull, StoreWorker, Successors};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The number of stores from which on large layers stay on the heap. Each store reserves up to
/// terabytes of addresses, and there are 128 TiB of them.
const MOST_STORES: usize = 24;

/// A layer with more states than this, or more memory, moves to a store.
const MOST_FEW: usize = 4096;
const MOST_FEW_BYTES: u64 = 512 << 10;

/// A layer with this many states moves to a store even if there are too many stores.
const FAR_TOO_MANY: usize = Few::MOST - 1;

/// The memory of a layer on the heap without its states.
const LAYER_BYTES: u64 = 160;

/// The memory of dropped layers that is kept for new ones.
const SPARE_BYTES: u64 = 1 << 20;

/// A store whose states lie in layers, each in a store of its own.
pub struct Layers<T> {
    make: Box<dyn Fn() -> T + Send + Sync>,
    /// The stores that existed when a layer was last dropped, by their numbers; `None` if the store
    /// was dropped.
    settled: Vec<Option<Box<T>>>,
    /// The stores made since then.
    fresh: Chain<T>,
    /// Where each layer is.
    places: Mutex<BTreeMap<u64, Place>>,
    /// Layers on the heap: their states, and the memory of everything.
    few: AtomicU64,
    few_bytes: AtomicU64,
    spare: Mutex<Spare>,
    stop: Mutex<Option<Stop>>,
    /// The bytes of all layers and of other users when `leave_room` was last called.
    elsewhere: AtomicU64,
    peak: AtomicU64,
}

/// Memory of dropped layers.
#[derive(Default)]
struct Spare {
    sets: Vec<Few>,
    bytes: u64,
}

/// Where a layer is.
#[derive(Clone)]
enum Place {
    /// It is in a set of its own; `None` in it if the layer has moved since.
    Few(Arc<Mutex<Option<Few>>>),
    /// In the store with this number: `settled` first, `fresh` after that.
    Store(usize),
}

/// A list that grows at its end while others hold references into it.
type Chain<T> = OnceLock<Box<Link<T>>>;

struct Link<T> {
    store: T,
    next: Chain<T>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> fmt::Debug for Layers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layers").field("settled", &self.settled.len()).finish_non_exhaustive()
    }
}

impl<T: Store> Layers<T> {
    /// A store in layers; `make` makes the empty store of a layer.
    pub fn new(make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        Layers {
            make: Box::new(make),
            settled: Vec::new(),
            fresh: OnceLock::new(),
            places: Mutex::default(),
            few: AtomicU64::new(0),
            few_bytes: AtomicU64::new(0),
            spare: Mutex::default(),
            stop: Mutex::default(),
            elsewhere: AtomicU64::new(0),
            peak: AtomicU64::new(0),
        }
    }

    fn stores(&self) -> impl Iterator<Item = &T> {
        self.settled.iter().flatten().map(|store| &**store).chain(self.made_since())
    }

    fn made_since(&self) -> impl Iterator<Item = &T> {
        std::iter::successors(self.fresh.get(), |link| link.next.get()).map(|link| &link.store)
    }

    /// Returns where a layer is; a new layer begins here.
    fn place(&self, layer: u64) -> Place {
        let mut places = lock(&self.places);
        let new = || {
            let mut spare = lock(&self.spare);
            let few = spare.sets.pop().unwrap_or_default();
            spare.bytes -= few.bytes();
            self.few_bytes.fetch_add(few.bytes() + LAYER_BYTES, Ordering::Relaxed);
            Place::Few(Arc::new(Mutex::new(Some(few))))
        };
        places.entry(layer).or_insert_with(new).clone()
    }

    fn store(&self, number: usize) -> &T {
        if let Some(Some(store)) = self.settled.get(number) {
            return store;
        }
        let mut link = &self.fresh;
        for _ in self.settled.len()..number {
            link = &self.made(link).next;
        }
        &self.made(link).store
    }

    fn made<'s>(&'s self, chain: &'s Chain<T>) -> &'s Link<T> {
        chain.get_or_init(|| {
            let store = (self.make)();
            if let Some(budgeted) = store.budgeted() {
                if let Some(stop) = &*lock(&self.stop) {
                    budgeted.give_up_when(stop.clone());
                }
                let elsewhere = self.elsewhere.load(Ordering::Relaxed);
                if elsewhere > 0 {
                    budgeted.leave_room(elsewhere);
                }
            }
            Box::new(Link { store, next: OnceLock::new() })
        })
    }

    /// Whether a layer on the heap is too large to stay there.
    #[inline]
    fn is_many(&self, few: &Few) -> bool {
        (few.len() >= MOST_FEW || few.bytes() > MOST_FEW_BYTES) && self.must_move(few.len())
    }

    /// Whether there is a store for a large layer. The set grows with each state, so this is asked
    /// often only while there is no store.
    #[cold]
    fn must_move(&self, states: usize) -> bool {
        states >= FAR_TOO_MANY || self.stores().count() < MOST_STORES
    }

    /// Moves a layer from the heap to a store, and returns access to the store.
    #[cold]
    fn move_to_store(&self, layer: u64, held: &mut Option<Few>) -> Result<T::Worker<'_>, StoreFull> {
        let number = {
            // The worker that holds the places makes the next store, so that each layer gets its
            // own.
            let _places = lock(&self.places);
            let number = self.settled.len() + self.made_since().count();
            self.store(number);
            number
        };
        let mut worker = self.store(number).worker();
        for state in held.iter().flat_map(Few::states) {
            let hash = worker.hash(state);
            worker.insert(hash, state)?;
        }
        // No worker may find the layer in the store before all its states are there.
        lock(&self.places).insert(layer, Place::Store(number));
        self.recycle(held.take());
        Ok(worker)
    }

    /// Keeps the memory of a layer that is no longer on the heap for new layers.
    fn recycle(&self, few: Option<Few>) {
        let Some(mut few) = few else { return };
        self.few.fetch_sub(few.len() as u64, Ordering::Relaxed);
        self.few_bytes.fetch_sub(few.bytes() + LAYER_BYTES, Ordering::Relaxed);
        let mut spare = lock(&self.spare);
        if spare.bytes + few.bytes() <= SPARE_BYTES {
            few.clear();
            spare.bytes += few.bytes();
            spare.sets.push(few);
        }
    }

    /// Gives the stores that were made since the last call their final places.
    fn settle(&mut self) {
        let mut fresh = std::mem::take(&mut self.fresh).into_inner();
        while let Some(link) = fresh {
            let Link { store, next } = *link;
            self.settled.push(Some(Box::new(store)));
            fresh = next.into_inner();
        }
    }

    /// Frees the memory of a layer, which has no place any more. Returns the number of its states.
    fn free(&mut self, place: Place) -> u64 {
        match place {
            Place::Few(few) => {
                let few = lock(&few).take();
                let states = few.as_ref().map_or(0, |few| few.len() as u64);
                self.recycle(few);
                states
            }
            Place::Store(number) => {
                self.settle();
                let states = self.settled[number].take().map_or(0, |store| store.len());
                while let Some(None) = self.settled.last() {
                    self.settled.pop();
                }
                states
            }
        }
    }
}

impl<T: Store + Send> Store for Layers<T> {
    const EXACT: bool = T::EXACT;
    const FORGETS: bool = T::FORGETS;
    const STABLE_NAMES: bool = T::STABLE_NAMES;
    type Worker<'s>
        = LayersWorker<'s, T>
    where
        Self: 's;

    fn worker(&self) -> LayersWorker<'_, T> {
        LayersWorker { layers: self, open: Vec::new(), places: BTreeMap::new(), recent: [(0, usize::MAX); RECENT] }
    }

    fn len(&self) -> u64 {
        self.few.load(Ordering::Relaxed) + self.stores().map(Store::len).sum::<u64>()
    }

    fn omission(&self) -> f64 {
        if T::EXACT { 0.0 } else { 1.0 }
    }

    fn budgeted(&self) -> Option<&dyn Budgeted> {
        Some(self)
    }
}

impl<T: Store + Send> Budgeted for Layers<T> {
    fn bytes(&self) -> u64 {
        let large: u64 = self.stores().filter_map(Store::budgeted).map(Budgeted::bytes).sum();
        let bytes = large + self.few_bytes.load(Ordering::Relaxed);
        self.peak.fetch_max(bytes, Ordering::Relaxed);
        bytes
    }

    fn peak_bytes(&self) -> u64 {
        self.bytes().max(self.peak.load(Ordering::Relaxed))
    }

    fn give_up_when(&self, stop: Stop) {
        self.stores().filter_map(Store::budgeted).for_each(|store| store.give_up_when(stop.clone()));
        *lock(&self.stop) = Some(stop);
    }

    fn leave_room(&self, bytes: u64) {
        // All stores share one budget: each leaves room for what the others hold.
        let all = self.bytes() + bytes;
        self.elsewhere.store(all, Ordering::Relaxed);
        self.stores().filter_map(Store::budgeted).for_each(|store| store.leave_room(all - store.bytes().min(all)));
    }

    fn yields(&self) -> bool {
        self.stores().filter_map(Store::budgeted).any(Budgeted::yields)
    }
}

impl<T: Store + Send> Layered for Layers<T> {
    type Layer<'s>
        = LayerWorker<'s, T>
    where
        Self: 's;

    #[inline]
    fn layer<'w, 's>(worker: &'w mut LayersWorker<'s, T>, layer: u64) -> &'w mut LayerWorker<'s, T>
    where
        Self: 's,
    {
        worker.layer(layer)
    }

    fn drop_layer(&mut self, layer: u64) -> u64 {
        self.bytes();
        let place = self.places.get_mut().unwrap_or_else(PoisonError::into_inner).remove(&layer);
        place.map_or(0, |place| self.free(place))
    }

    fn drop_layers(&mut self, gone: &mut dyn FnMut(u64) -> bool) -> u64 {
        let places = self.places.get_mut().unwrap_or_else(PoisonError::into_inner);
        let gone: Vec<u64> = places.keys().copied().filter(|&layer| gone(layer)).collect();
        gone.into_iter().map(|layer| self.drop_layer(layer)).sum()
    }
}

/// One worker's access to the layers of [`Layers`] that it has used.
pub struct LayersWorker<'s, T: Store + 's> {
    layers: &'s Layers<T>,
    open: Vec<LayerWorker<'s, T>>,
    /// The index in `open` of each layer, if there are more than [`FEW_OPEN`].
    places: BTreeMap<u64, usize>,
    /// Layers used recently, with their index in `open`. Layers follow each other, and a search
    /// goes back and forth between a few of them.
    recent: [(u64, usize); RECENT],
}

/// Up to this many layers are compared one by one.
const FEW_OPEN: usize = 16;

/// The number of recently used layers that are remembered.
const RECENT: usize = 8;

impl<T: Store> fmt::Debug for LayersWorker<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayersWorker").field("open", &self.open.len()).finish_non_exhaustive()
    }
}

impl<'s, T: Store> LayersWorker<'s, T> {
    #[inline]
    fn layer(&mut self, layer: u64) -> &mut LayerWorker<'s, T> {
        let slot = layer as usize % RECENT;
        let (known, mut place) = self.recent[slot];
        if known != layer || place == usize::MAX {
            let known = if self.open.len() <= FEW_OPEN {
                self.open.iter().position(|open| open.layer == layer)
            } else {
                self.places.get(&layer).copied()
            };
            place = known.unwrap_or_else(|| self.open(layer));
            self.recent[slot] = (layer, place);
        }
        &mut self.open[place]
    }

    #[cold]
    fn open(&mut self, layer: u64) -> usize {
        let place = self.layers.place(layer);
        self.open.push(LayerWorker::new(self.layers, layer, place));
        if self.open.len() > FEW_OPEN {
            let known = self.places.len();
            self.places.extend(self.open.iter().enumerate().skip(known).map(|(place, open)| (open.layer, place)));
        }
        self.open.len() - 1
    }
}

/// One worker's access to one layer.
///
/// The hash of a state in a small layer is computed when the state is inserted, so it is 0 before.
/// If the layer moves to a store meanwhile, a hash of 0 is computed anew.
pub struct LayerWorker<'s, T: Store + 's> {
    layers: &'s Layers<T>,
    layer: u64,
    at: Access<T::Worker<'s>>,
    /// For batches whose hashes are missing.
    hashes: Vec<u64>,
}

enum Access<W> {
    Few(Arc<Mutex<Option<Few>>>),
    Store(W),
}

impl<T: Store> fmt::Debug for LayerWorker<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayerWorker").field("layer", &self.layer).finish_non_exhaustive()
    }
}

/// The name of a state in a small layer, by which it cannot be read.
const NAMELESS: StateId = StateId(u64::MAX);

impl<'s, T: Store> LayerWorker<'s, T> {
    fn new(layers: &'s Layers<T>, layer: u64, place: Place) -> Self {
        let at = match place {
            Place::Few(few) => Access::Few(few),
            Place::Store(number) => Access::Store(layers.store(number).worker()),
        };
        LayerWorker { layers, layer, at, hashes: Vec::new() }
    }

    /// Calls `use_few` with the layer if it is small. `use_few` returns `false` if the layer has
    /// become too large. If the layer is not small, or has become too large, it is in a store, and
    /// this returns the access to the store.
    #[inline]
    fn reach(&mut self, mut use_few: impl FnMut(&mut Few) -> bool) -> Result<Option<&mut T::Worker<'s>>, StoreFull> {
        if let Access::Few(shared) = &self.at {
            let shared = Arc::clone(shared);
            let mut held = lock(&shared);
            let layers = self.layers;
            self.at = Access::Store(match &mut *held {
                Some(few) => {
                    let (states, bytes) = (few.len() as u64, few.bytes());
                    let done = use_few(few);
                    layers.few.fetch_add(few.len() as u64 - states, Ordering::Relaxed);
                    layers.few_bytes.fetch_add(few.bytes() - bytes, Ordering::Relaxed);
                    if done {
                        return Ok(None);
                    }
                    layers.move_to_store(self.layer, &mut held)?
                }
                // Another worker has moved it.
                None => match layers.place(self.layer) {
                    Place::Store(number) => layers.store(number).worker(),
                    Place::Few(_) => return Err(StoreFull { needed: 0, budget: 0 }),
                },
            });
        }
        match &mut self.at {
            Access::Store(store) => Ok(Some(store)),
            Access::Few(_) => Ok(None),
        }
    }
}

impl<T: Store> StoreWorker for LayerWorker<'_, T> {
    #[inline]
    fn hash(&mut self, state: &[u8]) -> u64 {
        match &mut self.at {
            Access::Few(_) => 0,
            Access::Store(store) => store.hash(state),
        }
    }

    #[inline]
    fn prefetch(&self, hash: u64) {
        if let Access::Store(store) = &self.at {
            store.prefetch(hash);
        }
    }

    #[inline]
    fn insert(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        let (layers, mut new) = (self.layers, false);
        let store = self.reach(|few| {
            let stays = !layers.is_many(few);
            if stays {
                new = few.insert(state);
            }
            stays
        })?;
        let Some(store) = store else { return Ok(Inserted { id: NAMELESS, new }) };
        let hash = if hash == 0 { store.hash(state) } else { hash };
        store.insert(hash, state)
    }

    fn hash_batch(&mut self, batch: &Successors, hashes: &mut Vec<u64>) {
        match &mut self.at {
            Access::Few(_) => hashes.resize(batch.len(), 0),
            Access::Store(store) => store.hash_batch(batch, hashes),
        }
    }

    fn insert_batch(&mut self, batch: &Successors, hashes: &[u64], first: usize, fresh: &mut Vec<Fresh>) -> Result<usize, usize> {
        let layers = self.layers;
        let mut index = first;
        let entries = batch.entries();
        let mut known = std::mem::take(&mut self.hashes);
        let reached = self.reach(|few| {
            while !layers.is_many(few) {
                let Some(state) = entries.get(index).and_then(|entry| batch.state_without_fault(entry)) else { return true };
                if few.insert(state) {
                    fresh.push(Fresh { entry: index as u32, kept: false, id: NAMELESS });
                }
                index += 1;
            }
            false
        });
        let inserted = match reached {
            Ok(None) => Ok(index),
            Ok(Some(store)) if hashes[index..].contains(&0) => {
                known.clear();
                store.hash_batch(batch, &mut known);
                store.insert_batch(batch, &known, index, fresh)
            }
            Ok(Some(store)) => store.insert_batch(batch, hashes, index, fresh),
            Err(_) => Err(index),
        };
        self.hashes = known;
        inserted
    }

    fn insert_some(&mut self, batch: &Successors, entries: &[u32], hashes: &mut Vec<u64>, fresh: &mut Vec<Fresh>) -> Result<(), StoreFull> {
        let layers = self.layers;
        let mut next = 0;
        let store = self.reach(|few| {
            while !layers.is_many(few) {
                let Some(&index) = entries.get(next) else { return true };
                if batch.state(&batch.entries()[index as usize]).is_some_and(|state| few.insert(state)) {
                    fresh.push(Fresh { entry: index, kept: false, id: NAMELESS });
                }
                next += 1;
            }
            false
        })?;
        store.map_or(Ok(()), |store| store.insert_some(batch, &entries[next..], hashes, fresh))
    }

    fn find(&mut self, hash: u64, state: &[u8]) -> Option<StateId> {
        let mut found = false;
        let store = self.reach(|few| {
            found = few.contains(state);
            true
        });
        let Some(store) = store.ok()? else { return found.then_some(NAMELESS) };
        let hash = if hash == 0 { store.hash(state) } else { hash };
        store.find(hash, state)
    }

    fn keeps(&self, id: StateId) -> bool {
        matches!(&self.at, Access::Store(store) if id != NAMELESS && store.keeps(id))
    }

    #[inline]
    fn reads_slowly(&self) -> bool {
        matches!(&self.at, Access::Store(store) if store.reads_slowly())
    }

    #[inline]
    fn view(&self, id: StateId) -> Option<&[u8]> {
        match &self.at {
            Access::Store(store) if id != NAMELESS => store.view(id),
            _ => None,
        }
    }

    fn read(&mut self, id: StateId, out: &mut Vec<u8>) -> bool {
        // Another worker may have moved the layer.
        match self.reach(|_| true) {
            Ok(Some(store)) if id != NAMELESS => store.read(id, out),
            _ => false,
        }
    }
}

/// Calls that name no layer use layer 0.
impl<T: Store> StoreWorker for LayersWorker<'_, T> {
    fn hash(&mut self, state: &[u8]) -> u64 {
        self.layer(0).hash(state)
    }

    fn prefetch(&self, _: u64) {}

    fn insert(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        self.layer(0).insert(hash, state)
    }

    fn find(&mut self, hash: u64, state: &[u8]) -> Option<StateId> {
        self.layer(0).find(hash, state)
    }

    fn keeps(&self, _: StateId) -> bool {
        false
    }

    fn read(&mut self, id: StateId, out: &mut Vec<u8>) -> bool {
        self.layer(0).read(id, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Compact, Plain};

    fn laws<T: Store + Send>(mut store: Layers<T>) {
        let state = |layer: u64, n: u64| [layer.to_le_bytes(), n.to_le_bytes()].concat();
        let mut held = 0;
        // All layers below this one are dropped, except the first.
        for (dropped, next) in [(0, 150), (150, 300), (300, 390), (390, 395)] {
            let mut worker = store.worker();
            for layer in 0..400 {
                for n in 0..=layer % 70 {
                    let bytes = state(layer, n);
                    let access = Layers::layer(&mut worker, layer);
                    let hash = access.hash(&bytes);
                    let there = access.find(hash, &bytes).is_some();
                    // Layers that were never dropped are present.
                    assert!(there || dropped == 0 || (1..dropped).contains(&layer), "{dropped} {layer}");
                    let inserted = access.insert(hash, &bytes).expect("room");
                    assert_eq!(inserted.new, !there, "{dropped} {layer}");
                    held += u64::from(inserted.new);
                }
            }
            drop(worker);
            assert_eq!(store.len(), held);
            let gone = store.drop_layers(&mut |layer| (1..next).contains(&layer));
            assert!(gone > 0);
            held -= gone;
            assert_eq!(store.len(), held);
        }
        let bytes = store.bytes();
        assert_eq!(store.drop_layers(&mut |_| true), held);
        assert!(store.is_empty() && store.bytes() < bytes && store.peak_bytes() >= bytes);
    }

    #[test]
    fn layers_are_stores_that_go() {
        laws(Layers::new(Plain::new));
        laws(Layers::new(|| Compact::with_budget(64 << 20)));
    }

    fn insert<T: Store + Send>(worker: &mut LayersWorker<'_, T>, layer: u64, state: &[u8]) -> bool {
        let access = worker.layer(layer);
        let hash = access.hash(state);
        access.insert(hash, state).expect("room").new
    }

    /// A layer that is never dropped grows by a few states for each worker, and there are very many
    /// workers one after the other. Other layers come and go.
    #[test]
    fn a_layer_that_stays_takes_little_memory_for_each_state() {
        const STATES: u64 = 40_000;
        let mut store = Layers::new(Plain::new);
        for n in 0..STATES {
            let mut worker = store.worker();
            assert!(insert(&mut worker, 0, &n.to_le_bytes()));
            assert!(insert(&mut worker, n + 1, &n.to_le_bytes()));
            drop(worker);
            assert_eq!(store.drop_layer(n + 1), 1);
        }
        assert_eq!(store.len(), STATES);
        assert!(store.peak_bytes() < STATES * 96, "{} bytes", store.peak_bytes());
    }

    /// Very many small layers exist at the same time, and are dropped in another order.
    #[test]
    fn many_small_layers_take_memory_for_their_states_only() {
        const LAYERS: u64 = 50_000;
        let mut store = Layers::new(Plain::new);
        let mut worker = store.worker();
        for n in 0..3 * LAYERS {
            assert!(insert(&mut worker, n % LAYERS, &n.to_le_bytes()));
        }
        drop(worker);
        assert!(store.bytes() < 3 * LAYERS * 128, "{} bytes", store.bytes());
        for n in 0..LAYERS - 10 {
            assert_eq!(store.drop_layer(n * 7 % LAYERS), 3);
        }
        assert_eq!(store.len(), 30);
        assert!(store.bytes() < 30 * 512, "{} bytes", store.bytes());
    }

    /// More large layers than there may be stores. The first ones stay, and the others go: what
    /// goes frees its memory.
    #[test]
    fn large_layers_that_stay_keep_no_others_alive() {
        const STATES: u64 = MOST_FEW as u64 + 100;
        let mut store = Layers::new(Plain::new);
        let stay = MOST_STORES as u64 + 2;
        for layer in 0..4 * stay {
            let mut worker = store.worker();
            let before = worker.layers.len();
            for n in 0..STATES {
                assert!(insert(&mut worker, layer, &[layer, n].map(u64::to_le_bytes).concat()));
            }
            for n in 0..STATES {
                assert!(!insert(&mut worker, layer, &[layer, n].map(u64::to_le_bytes).concat()));
            }
            drop(worker);
            assert_eq!(store.len(), before + STATES);
            assert!(store.stores().count() <= MOST_STORES);
            if layer >= stay {
                assert_eq!(store.drop_layer(layer), STATES);
            }
        }
        assert_eq!(store.len(), stay * STATES);
        assert!(store.peak_bytes() < (stay + 1) * STATES * 128, "{} bytes", store.peak_bytes());
        assert_eq!(store.drop_layers(&mut |_| true), stay * STATES);
        assert!(store.is_empty() && store.bytes() == 0, "{} bytes", store.bytes());
    }

    /// Several workers make the same layers large at the same time.
    #[test]
    fn several_workers_see_one_layer() {
        let store = Layers::new(Plain::new);
        let new: u64 = std::thread::scope(|scope| {
            let run = || {
                let mut worker = store.worker();
                let one = |n: u64| u64::from(insert(&mut worker, n % 3, &n.to_le_bytes()));
                (0..30_000).map(one).sum::<u64>()
            };
            let threads = [scope.spawn(run), scope.spawn(run), scope.spawn(run)];
            threads.map(|thread| thread.join().expect("nobody panics")).iter().sum()
        });
        assert_eq!((new, store.len()), (30_000, 30_000));
    }
}
