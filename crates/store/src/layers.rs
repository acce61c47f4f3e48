//! A store in layers that can be dropped one by one.
//!
//! A search that follows a progress measure never returns to the layers it has left, and it drops
//! them to free their memory. A layer begins as a small set on the heap ([`Few`]), because many
//! layers have few states. When it grows, it moves to a store of its own, which can be of any kind.
//! A store costs some kilobytes and a few mappings. So layers share the latest store when there are
//! many stores, and this store is dropped when all its layers are. The first layer that is ever
//! used never shares its store, because it may be a layer that is never dropped.

use crate::few::Few;
use contract::{Budgeted, Fresh, Inserted, Layered, StateId, Stop, Store, StoreFull, StoreWorker, Successors};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The number of stores from which on layers share one; at least three. Each store reserves up to
/// terabytes of addresses, and there are 128 TiB of them.
const MOST_STORES: usize = 24;

/// A layer with more states than this, or more memory, moves to a store.
const MOST_FEW: usize = 4096;
const MOST_FEW_BYTES: u64 = 512 << 10;

/// The memory that all small layers have together. Beyond it, only very small layers stay what they
/// are, and new ones begin in a store.
const MOST_SMALL_BYTES: u64 = 4 << 20;
const VERY_SMALL_BYTES: u64 = 4 << 10;

/// The memory of dropped layers that is kept for new ones.
const SPARE_BYTES: u64 = 1 << 20;

/// A store whose states lie in layers, each in a store of its own.
pub struct Layers<T> {
    make: Box<dyn Fn() -> T + Send + Sync>,
    /// The stores that existed when layers were last dropped.
    settled: Vec<Box<T>>,
    /// The stores made since then.
    fresh: Chain<T>,
    /// Where each layer is.
    places: Mutex<BTreeMap<u64, Place>>,
    /// The first layer that was asked for.
    first: OnceLock<u64>,
    /// States of small layers, and their memory.
    few: AtomicU64,
    few_bytes: AtomicU64,
    spare: Mutex<Vec<Few>>,
    stop: Mutex<Option<Stop>>,
    /// The bytes of all layers and of other users when `leave_room` was last called.
    elsewhere: AtomicU64,
    peak: AtomicU64,
}

/// Where a layer is.
#[derive(Clone)]
enum Place {
    /// In a set of its own. Nothing in it if the layer has moved since.
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
            first: OnceLock::new(),
            few: AtomicU64::new(0),
            few_bytes: AtomicU64::new(0),
            spare: Mutex::default(),
            stop: Mutex::default(),
            elsewhere: AtomicU64::new(0),
            peak: AtomicU64::new(0),
        }
    }

    fn stores(&self) -> impl Iterator<Item = &T> {
        let fresh = std::iter::successors(self.fresh.get(), |link| link.next.get()).map(|link| &link.store);
        self.settled.iter().map(|store| &**store).chain(fresh)
    }

    /// Where a layer is, which begins here if it is new.
    fn place(&self, layer: u64) -> Place {
        self.first.get_or_init(|| layer);
        let mut places = lock(&self.places);
        if let Some(place) = places.get(&layer) {
            return place.clone();
        }
        let place = if self.few_bytes.load(Ordering::Relaxed) < MOST_SMALL_BYTES {
            let few = lock(&self.spare).pop().unwrap_or_default();
            self.few_bytes.fetch_add(few.bytes(), Ordering::Relaxed);
            Place::Few(Arc::new(Mutex::new(Some(few))))
        } else {
            Place::Store(self.next_number(layer, &places))
        };
        places.insert(layer, place.clone());
        place
    }

    /// The number of the store of a layer that has none yet.
    fn next_number(&self, layer: u64, places: &BTreeMap<u64, Place>) -> usize {
        let (stores, first) = (self.stores().count(), self.first.get());
        if stores < MOST_STORES || first == Some(&layer) {
            // It is there before anybody else asks.
            self.store(stores);
            return stores;
        }
        let alone = first.and_then(|first| places.get(first));
        if matches!(alone, Some(Place::Store(number)) if *number == stores - 1) { stores - 2 } else { stores - 1 }
    }

    fn store(&self, number: usize) -> &T {
        if number < self.settled.len() {
            return &self.settled[number];
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

    /// Whether a small layer is too large to stay one.
    #[inline]
    fn is_many(&self, few: &Few) -> bool {
        let bytes = few.bytes();
        let crowded = || bytes > VERY_SMALL_BYTES && self.few_bytes.load(Ordering::Relaxed) > MOST_SMALL_BYTES;
        few.len() >= MOST_FEW || bytes > MOST_FEW_BYTES || crowded()
    }

    /// Moves a small layer to a store, and gives access to that.
    #[cold]
    fn move_to_store(&self, layer: u64, held: &mut Option<Few>) -> Result<T::Worker<'_>, StoreFull> {
        let number = self.next_number(layer, &lock(&self.places));
        let mut worker = self.store(number).worker();
        for state in held.iter().flat_map(Few::states) {
            let hash = worker.hash(state);
            worker.insert(hash, state)?;
        }
        lock(&self.places).insert(layer, Place::Store(number));
        self.recycle(held.take());
        Ok(worker)
    }

    /// Makes use of the memory of a layer that is small no more, or gone.
    fn recycle(&self, few: Option<Few>) {
        let Some(mut few) = few else { return };
        self.few.fetch_sub(few.len() as u64, Ordering::Relaxed);
        self.few_bytes.fetch_sub(few.bytes(), Ordering::Relaxed);
        let mut spare = lock(&self.spare);
        if spare.iter().map(Few::bytes).sum::<u64>() + few.bytes() <= SPARE_BYTES {
            few.clear();
            spare.push(few);
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

    fn drop_layers(&mut self, gone: &mut dyn FnMut(u64) -> bool) -> u64 {
        let before = self.len();
        self.bytes();
        let mut stores = std::mem::take(&mut self.settled);
        let mut fresh = std::mem::take(&mut self.fresh).into_inner();
        while let Some(link) = fresh {
            let Link { store, next } = *link;
            stores.push(Box::new(store));
            fresh = next.into_inner();
        }
        let mut places = std::mem::take(self.places.get_mut().unwrap_or_else(PoisonError::into_inner));
        let mut used = vec![usize::MAX; stores.len()];
        places.retain(|&layer, place| match place {
            _ if !gone(layer) => {
                if let Place::Store(number) = place {
                    used[*number] = 0;
                }
                true
            }
            Place::Few(few) => {
                self.recycle(lock(few).take());
                false
            }
            Place::Store(_) => false,
        });
        for (number, store) in stores.into_iter().enumerate() {
            if used[number] == 0 {
                used[number] = self.settled.len();
                self.settled.push(store);
            }
        }
        for place in places.values_mut() {
            if let Place::Store(number) = place {
                *number = used[*number];
            }
        }
        self.places = Mutex::new(places);
        before - self.len()
    }
}

/// One worker's access to the layers of [`Layers`] that it has used.
pub struct LayersWorker<'s, T: Store + 's> {
    layers: &'s Layers<T>,
    open: Vec<LayerWorker<'s, T>>,
    /// The index in `open` of each layer.
    places: BTreeMap<u64, usize>,
    /// Layers used recently, with their index in `open`. Layers follow each other, and a search
    /// goes back and forth between a few of them.
    recent: [(u64, usize); RECENT],
}

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
            place = match self.places.get(&layer) {
                Some(&place) => place,
                None => self.open(layer),
            };
            self.recent[slot] = (layer, place);
        }
        &mut self.open[place]
    }

    #[cold]
    fn open(&mut self, layer: u64) -> usize {
        let layers = self.layers;
        let place = layers.place(layer);
        // Layers that share a store share the access to it.
        let shared = match place {
            Place::Store(number) => self.open.iter().position(|open| open.number == Some(number)),
            Place::Few(_) => None,
        };
        let place = shared.unwrap_or_else(|| {
            self.open.push(LayerWorker::new(layers, layer, place));
            self.open.len() - 1
        });
        self.places.insert(layer, place);
        place
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
    /// The number of the store, if the layer was in one from the start.
    number: Option<usize>,
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
        let (at, number) = match place {
            Place::Few(few) => (Access::Few(few), None),
            Place::Store(number) => (Access::Store(layers.store(number).worker()), Some(number)),
        };
        LayerWorker { layers, layer, at, number, hashes: Vec::new() }
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
                // Somebody else has moved it.
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
        // Whoever has the name may have moved the layer.
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
}
