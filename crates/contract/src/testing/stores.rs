//! Toy stores. They are deliberately slow and simple.

use crate::roles::Layered;
use crate::store::{Inserted, StateId, Store, StoreFull, StoreWorker};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};

/// A store in layers: one hash set for each.
#[derive(Debug, Default)]
pub struct LayerSets {
    layers: Mutex<BTreeMap<u64, HashSet<Vec<u8>>>>,
}

impl LayerSets {
    fn insert(&self, layer: u64, state: &[u8]) -> Inserted {
        let mut layers = self.layers.lock().unwrap_or_else(PoisonError::into_inner);
        Inserted { id: StateId::default(), new: layers.entry(layer).or_default().insert(state.to_vec()) }
    }
}

impl Store for LayerSets {
    const EXACT: bool = true;
    const STABLE_NAMES: bool = false;
    type Worker<'s> = LayerSetsWorker<'s>;

    fn worker(&self) -> LayerSetsWorker<'_> {
        LayerSetsWorker { layers: self, layer: 0 }
    }

    fn len(&self) -> u64 {
        self.layers.lock().unwrap_or_else(PoisonError::into_inner).values().map(|layer| layer.len() as u64).sum()
    }
}

impl Layered for LayerSets {
    type Layer<'s> = LayerSetsWorker<'s>;

    fn layer<'w, 's>(worker: &'w mut LayerSetsWorker<'s>, layer: u64) -> &'w mut LayerSetsWorker<'s>
    where
        Self: 's,
    {
        worker.layer = layer;
        worker
    }

    fn drop_layer(&mut self, layer: u64) -> u64 {
        self.drop_layers(&mut |other| other == layer)
    }

    fn drop_layers(&mut self, gone: &mut dyn FnMut(u64) -> bool) -> u64 {
        let layers = self.layers.get_mut().unwrap_or_else(PoisonError::into_inner);
        let before: usize = layers.values().map(HashSet::len).sum();
        layers.retain(|&layer, _| !gone(layer));
        (before - layers.values().map(HashSet::len).sum::<usize>()) as u64
    }
}

/// One worker's access to the layer of [`LayerSets`] that it used last; the lowest at first.
#[derive(Debug)]
pub struct LayerSetsWorker<'s> {
    layers: &'s LayerSets,
    layer: u64,
}

impl StoreWorker for LayerSetsWorker<'_> {
    fn hash(&mut self, _: &[u8]) -> u64 {
        0
    }

    fn prefetch(&self, _: u64) {}

    fn insert(&mut self, _: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        Ok(self.layers.insert(self.layer, state))
    }

    fn find(&mut self, _: u64, state: &[u8]) -> Option<StateId> {
        let layers = self.layers.layers.lock().unwrap_or_else(PoisonError::into_inner);
        layers.get(&self.layer).is_some_and(|layer| layer.contains(state)).then(StateId::default)
    }

    fn keeps(&self, _: StateId) -> bool {
        false
    }

    fn read(&mut self, _: StateId, _: &mut Vec<u8>) -> bool {
        false
    }
}
