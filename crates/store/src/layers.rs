//! A store in layers that can be dropped one by one. Each layer is a store of its own.
//!
//! A search that follows a progress measure never returns to the layers it has left, and it drops
//! them to free their memory. The stores of the layers can be of any kind; each is made when its
//! layer is first used. A store costs some kilobytes and a few mappings even if it holds a single
//! state. So beyond a certain number of stores a new layer shares the latest store, which is
//! dropped when all its layers are dropped. The first layer ever used shares its store with no
//! other layer, because it may be one that is kept.

use contract::{Budgeted, Inserted, Layered, StateId, Stop, Store, StoreFull, StoreWorker};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The number of stores from which on new layers share one; at least two. Each store reserves up to
/// terabytes of addresses, and there are 128 TiB of them.
const MOST_STORES: usize = 24;

/// A store whose states lie in layers, each in a store of its own.
pub struct Layers<T> {
    make: Box<dyn Fn() -> T + Send + Sync>,
    /// The stores that existed when layers were last dropped.
    settled: Vec<Box<T>>,
    /// The stores made since then.
    fresh: Chain<T>,
    /// The number of each layer's store: `settled` is counted first, then `fresh`.
    numbers: Mutex<HashMap<u64, usize>>,
    stop: Mutex<Option<Stop>>,
    /// The bytes of all layers and of other users when `leave_room` was last called.
    elsewhere: AtomicU64,
    peak: AtomicU64,
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
            numbers: Mutex::default(),
            stop: Mutex::default(),
            elsewhere: AtomicU64::new(0),
            peak: AtomicU64::new(0),
        }
    }

    fn stores(&self) -> impl Iterator<Item = &T> {
        let fresh = std::iter::successors(self.fresh.get(), |link| link.next.get()).map(|link| &link.store);
        self.settled.iter().map(|store| &**store).chain(fresh)
    }

    /// The store of a layer, and its number.
    fn store_of(&self, layer: u64) -> (usize, &T) {
        let mut numbers = lock(&self.numbers);
        let number = *numbers.entry(layer).or_insert_with(|| {
            let stores = self.stores().count();
            if stores < MOST_STORES { stores } else { stores - 1 }
        });
        if number < self.settled.len() {
            return (number, &self.settled[number]);
        }
        let mut link = &self.fresh;
        for _ in self.settled.len()..number {
            link = &self.made(link).next;
        }
        (number, &self.made(link).store)
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
        LayersWorker { layers: self, open: Vec::new(), places: HashMap::new(), recent: [(0, usize::MAX); RECENT] }
    }

    fn len(&self) -> u64 {
        self.stores().map(Store::len).sum()
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
        let bytes = self.stores().filter_map(Store::budgeted).map(Budgeted::bytes).sum();
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
        = T::Worker<'s>
    where
        Self: 's;

    #[inline]
    fn layer<'w, 's>(worker: &'w mut LayersWorker<'s, T>, layer: u64) -> &'w mut T::Worker<'s>
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
        let numbers = self.numbers.get_mut().unwrap_or_else(PoisonError::into_inner);
        numbers.retain(|&layer, _| !gone(layer));
        let mut used = vec![usize::MAX; stores.len()];
        numbers.values().for_each(|&number| used[number] = 0);
        for (number, store) in stores.into_iter().enumerate() {
            if used[number] == 0 {
                used[number] = self.settled.len();
                self.settled.push(store);
            }
        }
        numbers.values_mut().for_each(|number| *number = used[*number]);
        before - self.len()
    }
}

/// One worker's access to the layers of [`Layers`] that it has used.
pub struct LayersWorker<'s, T: Store + 's> {
    layers: &'s Layers<T>,
    /// Access to stores, with their numbers.
    open: Vec<(usize, T::Worker<'s>)>,
    /// The index in `open` of each layer.
    places: HashMap<u64, usize>,
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
    fn layer(&mut self, layer: u64) -> &mut T::Worker<'s> {
        let slot = layer as usize % RECENT;
        let (known, mut place) = self.recent[slot];
        if known != layer || place == usize::MAX {
            place = match self.places.get(&layer) {
                Some(&place) => place,
                None => self.open(layer),
            };
            self.recent[slot] = (layer, place);
        }
        &mut self.open[place].1
    }

    #[cold]
    fn open(&mut self, layer: u64) -> usize {
        let (number, store) = self.layers.store_of(layer);
        let place = self.open.iter().position(|(known, _)| *known == number).unwrap_or_else(|| {
            self.open.push((number, store.worker()));
            self.open.len() - 1
        });
        self.places.insert(layer, place);
        place
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
