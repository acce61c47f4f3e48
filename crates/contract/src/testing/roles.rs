//! The laws of the roles of stores: marks and layers.
//!
//! They are the same for each implementation, for one worker and for several.

use super::Random;
use crate::roles::{Annotated, Layered, Marks};
use crate::store::StoreWorker;
use std::collections::{BTreeMap, BTreeSet};

/// Workers that use a store at the same time.
const WORKERS: u64 = 3;

/// Marks of the random part, and one that only the last part sets.
const FEW_MARKS: u64 = 4;
const LAST_MARK: u32 = 1 << 9;

fn state(n: u64) -> Vec<u8> {
    [n.to_le_bytes().as_slice(), &vec![3; (n % 5) as usize]].concat()
}

/// The laws of marks, checked with so many states in an empty store: the marks of a state agree
/// with a map from states to bits. If several workers set a mark at the same time, exactly one of
/// them is the first.
pub fn mark_laws<T: Annotated>(store: &T, states: u64) {
    let mut reference: BTreeMap<u64, u32> = BTreeMap::new();
    let mut random = Random(4);
    let mut worker = store.annotator();
    for _ in 0..3 * states {
        let n = random.below(states);
        let (bytes, bits) = (state(n), 1 << random.below(FEW_MARKS) | 1 << random.below(FEW_MARKS));
        let hash = worker.hash(&bytes);
        worker.insert(hash, &bytes).expect("the store is large enough");
        let before = reference.entry(n).or_default();
        assert_eq!(worker.or(hash, &bytes, bits).expect("the store is large enough"), *before & bits, "marks of state {n}");
        *before |= bits;
        assert_eq!(worker.or(hash, &bytes, 0).expect("the store is large enough"), 0, "no mark was asked for");
    }
    drop(worker);
    assert_eq!(store.len(), reference.len() as u64, "marks are not states");
    let firsts: u64 = std::thread::scope(|scope| {
        let run = || {
            let mut worker = store.annotator();
            let is_first = |n: &u64| {
                let bytes = state(*n);
                let hash = worker.hash(&bytes);
                worker.or(hash, &bytes, LAST_MARK).expect("the store is large enough") == 0
            };
            (0..states).filter(is_first).count() as u64
        };
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(run)).collect();
        workers.into_iter().map(|worker| worker.join().expect("no worker fails")).sum()
    });
    assert_eq!(firsts, states, "each mark has one first worker");
}

/// The laws of layers, checked with `states` states in each of some layers of an empty store: a
/// layer is a set of its own, whatever other layers contain. Dropping layers forgets their states
/// and no others, and a layer that was dropped can be used again.
pub fn layer_laws<T: Layered>(store: &mut T, states: u64) {
    // Numbers without an order, far from each other.
    const LAYERS: [u64; 5] = [7, 0, u64::MAX, 1 << 40, 3];
    let mut reference: BTreeSet<(u64, u64)> = BTreeSet::new();
    let mut random = Random(5);
    for (round, &alone) in LAYERS.iter().enumerate().take(3) {
        {
            let mut worker = store.worker();
            for _ in 0..LAYERS.len() as u64 * states {
                let (at, n) = (LAYERS[random.below(LAYERS.len() as u64) as usize], random.below(states));
                let layer = T::layer(&mut worker, at);
                let (bytes, known) = (state(n), reference.contains(&(at, n)));
                let hash = layer.hash(&bytes);
                layer.prefetch(hash);
                assert!(known || layer.find(hash, &bytes).is_none(), "state {n} is found in layer {at}, round {round}");
                let answer = layer.insert(hash, &bytes).expect("the store is large enough");
                assert_eq!(answer.new, reference.insert((at, n)), "newness of state {n} in layer {at}, round {round}");
                let hash = layer.hash(&bytes);
                assert!(layer.find(hash, &bytes).is_some(), "state {n} is not found in layer {at}, round {round}");
            }
        }
        assert_eq!(store.len(), reference.len() as u64, "round {round}");
        // One layer alone, then some together; a layer that does not exist has no states.
        let mut expected = |gone: &dyn Fn(u64) -> bool| {
            let before = reference.len();
            reference.retain(|(layer, _)| !gone(*layer));
            (before - reference.len()) as u64
        };
        assert_eq!(store.drop_layer(alone), expected(&|layer| layer == alone), "layer {alone}, round {round}");
        assert_eq!(store.drop_layer(99), 0);
        let gone = |layer: u64| layer < 5;
        assert_eq!(store.drop_layers(&mut |layer| gone(layer)), expected(&gone), "some layers, round {round}");
        assert_eq!(store.len(), reference.len() as u64, "round {round}");
    }
    layers_of_workers(store, states);
    assert_eq!(store.drop_layers(&mut |_| true), reference.len() as u64 + states);
    assert!(store.is_empty());
}

/// Several workers insert the same states into one layer at the same time: exactly one is told that
/// a state is new.
fn layers_of_workers<T: Layered>(store: &T, states: u64) {
    const LAYER: u64 = 12;
    let new: u64 = std::thread::scope(|scope| {
        let run = || {
            let mut worker = store.worker();
            let is_new = |n: &u64| {
                let layer = T::layer(&mut worker, LAYER);
                let bytes = state(*n);
                let hash = layer.hash(&bytes);
                layer.insert(hash, &bytes).expect("the store is large enough").new
            };
            (0..states).filter(is_new).count() as u64
        };
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(run)).collect();
        workers.into_iter().map(|worker| worker.join().expect("no worker fails")).sum()
    });
    assert_eq!(new, states, "a state of one layer is new once");
}

#[cfg(test)]
mod tests {
    use super::super::LayerSets;
    use super::*;

    #[test]
    fn the_toy_obeys_the_laws_of_layers() {
        layer_laws(&mut LayerSets::default(), 500);
    }
}
