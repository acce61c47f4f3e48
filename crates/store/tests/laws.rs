//! Every store obeys the laws of the contract and keeps its budget.

use contract::testing::{compare_with_hash_set, store_laws};
use contract::{Store, StoreWorker};
use proptest::prelude::*;
use store::{Compact, Plain};

#[test]
fn plain_obeys_the_laws() {
    store_laws(Plain::new);
}

#[test]
fn compact_obeys_the_laws() {
    store_laws(Compact::new);
    // Learning too early gives bad layouts, which must be mended again and again.
    store_laws(|| Compact::learning_from(u64::MAX, 50));
}

#[test]
fn compact_when_needed_obeys_the_laws() {
    // A budget that the plain stage of the larger tests exceeds.
    store_laws(|| Compact::when_needed(4 << 20));
}

proptest! {
    #[test]
    fn plain_equals_a_hash_set(states in prop::collection::vec(prop::collection::vec(0u8..4, 0..6), 0..400)) {
        compare_with_hash_set(&Plain::new(), states.clone());
        compare_with_hash_set(&Compact::learning_from(u64::MAX, 30), states);
    }
}

/// Fills a store until it refuses; what it holds must stay valid and within the budget, measured after each insertion.
fn keeps_its_budget<S: Store>(store: &S, budget: u64) {
    let mut worker = store.worker();
    let mut inserted = 0u64;
    let full = loop {
        let state = [inserted.to_le_bytes(), [3; 8]].concat();
        let hash = worker.hash(&state);
        match worker.insert(hash, &state) {
            Ok(answer) => assert!(answer.new),
            Err(full) => break full,
        }
        inserted += 1;
        assert!(store.bytes() <= budget, "{} bytes of {budget} after {inserted} states", store.bytes());
        assert!(inserted < budget, "a budget of {budget} bytes must end somewhere");
    };
    assert!(full.needed > full.budget);
    assert!(inserted > budget / 200, "only {inserted} states fit into {budget} bytes");
    for n in 0..inserted {
        let state = [n.to_le_bytes(), [3; 8]].concat();
        let hash = worker.hash(&state);
        assert!(!worker.insert(hash, &state).expect("it is there").new);
    }
    drop(worker);
    assert_eq!(store.len(), inserted);
}

#[test]
fn plain_keeps_its_budget() {
    keeps_its_budget(&Plain::with_budget(4 << 20), 4 << 20);
}

#[test]
fn compact_keeps_its_budget() {
    keeps_its_budget(&Compact::with_budget(4 << 20), 4 << 20);
    keeps_its_budget(&Compact::when_needed(4 << 20), 4 << 20);
}
