//! Tests that every store obeys the laws of the contract and keeps its budget.

use contract::testing::{Random, compare_with_hash_set, layer_laws, lossy_store_laws, mark_laws, store_laws};
use contract::{Action, Budgeted, FaultCode, Fresh, Inserted, NotRestored, Saveable, StateId, Store, StoreWorker, Successor, Successors};
use proptest::prelude::*;
use std::collections::HashSet;
use store::{Bits, Cache, Compact, Hashes, Joined, Layers, Marked, Plain, Union};

#[test]
fn plain_obeys_the_laws() {
    store_laws(Plain::new);
}

#[test]
fn compact_obeys_the_laws() {
    store_laws(Compact::new);
    // A store that learns too early gets bad layouts, which must be corrected again and again.
    store_laws(|| Compact::learning_from(u64::MAX, 50));
}

/// A cache forgets nothing that the search has not left, so until then it is a set like any other.
#[test]
fn a_cache_that_nothing_was_left_in_obeys_the_laws() {
    store_laws(|| Cache::new(1 << 18, u64::MAX));
}

#[test]
fn layers_obey_the_laws() {
    // With few states a layer is a small set on the heap, with more it moves to a store.
    for states in [30, 5000] {
        layer_laws(&mut Layers::new(Plain::new), states);
        layer_laws(&mut Layers::new(|| Compact::learning_from(u64::MAX, 50)), states);
    }
}

#[test]
fn marked_stores_obey_the_laws() {
    mark_laws(&Marked::new(Plain::new(), Plain::new()), 3000);
    mark_laws(&Marked::new(Compact::learning_from(u64::MAX, 100), Compact::learning_from(u64::MAX, 100)), 3000);
}

/// A store that is told to leave room becomes compact, and says beforehand that it can.
#[test]
fn a_store_yields_until_it_is_compact() {
    let store = Compact::when_needed(16 << 20);
    let mut worker = store.worker();
    let mut insert = |n: u64| {
        let mut state = [0; 48];
        (state[0], state[20], state[40]) = (n as u8, (n >> 8) as u8, (n >> 16) as u8);
        let hash = worker.hash(&state);
        worker.insert(hash, &state).unwrap();
    };
    (0..60_000).for_each(&mut insert);
    assert!(store.yields() && store.form() == "plain");
    store.leave_room(9 << 20);
    (60_000..100_000).for_each(&mut insert);
    assert!(!store.yields() && store.form() == "compact");
    drop(worker);
    assert_eq!(store.len(), 100_000);
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

/// Fills a store until it refuses. Its contents must stay valid and within the budget, which is
/// checked after each insertion.
fn keeps_its_budget<S: Store + Budgeted>(store: &S, budget: u64) {
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

#[test]
fn hashes_omit_little_and_say_so() {
    // With 56 bits nothing is omitted; with 20 bits, about as many states as expected.
    let wide = Hashes::new(56, 0, u64::MAX);
    lossy_store_laws(&wide, 200_000, 0);
    assert!(wide.omission() < 1e-6, "{}", wide.omission());
    assert!(wide.bytes() < 200_000 * 12);
    let narrow = Hashes::new(20, 0, u64::MAX);
    lossy_store_laws(&narrow, 20_000, 400);
    assert!(narrow.len() < 20_000, "some of the 2^20 hashes must collide");
    assert!(narrow.omission() > 0.99);
}

#[test]
fn hashes_with_other_seeds_omit_others() {
    let omitted = |seed: u64| {
        let store = Hashes::new(20, seed, u64::MAX);
        let mut worker = store.worker();
        (0..20_000u64)
            .filter(|n| {
                let hash = worker.hash(&n.to_le_bytes());
                !worker.insert(hash, &n.to_le_bytes()).expect("large enough").new
            })
            .collect::<HashSet<u64>>()
    };
    let (first, second) = (omitted(1), omitted(2));
    assert!(!first.is_empty() && first != second);
}

#[test]
fn hashes_keep_their_budget() {
    let store = Hashes::new(40, 0, 1 << 20);
    let mut worker = store.worker();
    let mut n = 0u64;
    while worker.insert(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24, &[]).is_ok() {
        n += 1;
        assert!(store.bytes() <= 1 << 20);
    }
    assert!(n > 100_000, "{n}");
}

#[test]
fn bits_omit_little_while_there_is_room_and_say_how_full_they_are() {
    let roomy = Bits::new(1 << 20, 3, 0);
    lossy_store_laws(&roomy, 50_000, 10);
    let report = roomy.report();
    assert!((150.0..190.0).contains(&report.hash_factor), "{report:?}");
    assert!(report.coverage > 0.999 && report.fill < 0.02, "{report:?}");
    let crowded = Bits::new(1 << 14, 3, 0);
    lossy_store_laws(&crowded, 50_000, 40_000);
    let report = crowded.report();
    assert!(report.fill > 0.5 && report.coverage < 0.95, "{report:?}");
    // Even a single line distinguishes some states.
    let tiny = Bits::new(64, 3, 0);
    lossy_store_laws(&tiny, 50, 25);
    // The estimate of the recognised states is roughly right.
    let recognised = crowded.len() as f64 / 50_000.0;
    assert!((recognised - report.coverage).abs() < 0.25, "{recognised} {report:?}");
}

#[test]
fn a_cache_forgets_only_what_was_left() {
    let cache = Cache::new(1000, u64::MAX);
    let mut worker = cache.worker();
    let mut random = Random(4);
    let mut pinned: Vec<(Vec<u8>, contract::StateId)> = Vec::new();
    let mut known: HashSet<Vec<u8>> = HashSet::new();
    for _ in 0..20_000 {
        // A walk like that of a depth-first search, over more states than the cache has room for.
        if random.below(2) == 0 && pinned.len() < 300 {
            let state = random.below(5000).to_le_bytes().to_vec();
            let hash = worker.hash(&state);
            let answer = worker.insert(hash, &state).expect("no budget");
            let on_path = pinned.iter().any(|(other, _)| *other == state);
            assert!(!on_path || !answer.new, "a pinned state was forgotten");
            assert!(answer.new || known.contains(&state), "a state that was never inserted was found");
            if answer.new {
                known.insert(state.clone());
                pinned.push((state, answer.id));
            }
        } else if let Some((_, id)) = pinned.pop() {
            worker.leave(id);
        }
    }
    assert!(cache.forgotten() > 1000);
    assert!(cache.bytes() < 2000 * 60, "{}", cache.bytes());
}

/// The sets have more room than the budget. Sets whose few states are all needed take room from
/// others, and memory that is reserved later is given back.
#[test]
fn a_cache_at_its_budget_forgets_elsewhere() {
    let budget = 200_000;
    let cache = Cache::new(20_000, budget);
    let mut worker = cache.worker();
    let state = |n: u64| n.to_le_bytes();
    let mut insert = |n: u64| {
        let hash = worker.hash(&state(n));
        (hash, worker.insert(hash, &state(n)).unwrap())
    };
    // These states are never left.
    let path: Vec<(u64, Inserted)> = (0..300).map(&mut insert).collect();
    for n in 300..20_000 {
        let (_, inserted) = insert(n);
        assert!(inserted.new);
        cache.worker().leave(inserted.id);
        assert!(cache.bytes() <= budget, "{n}");
    }
    assert!(cache.forgotten() > 10_000);
    cache.leave_room(budget / 4);
    (20_000..40_000).for_each(|n| {
        let (_, inserted) = insert(n);
        cache.worker().leave(inserted.id);
    });
    assert!(cache.bytes() <= budget / 4 * 3, "{}", cache.bytes());
    for (n, (hash, inserted)) in path.iter().enumerate() {
        assert_eq!(worker.find(*hash, &state(n as u64)), Some(inserted.id), "{n} is on the path");
    }
}

#[test]
fn a_cache_that_forgets_nothing_is_a_set() {
    compare_with_hash_set(&Cache::new(1 << 20, u64::MAX), (0..5000u64).map(|n| (n % 3000).to_le_bytes()[..(n % 9) as usize].to_vec()));
}

/// The pieces a store is saved in.
fn saved<S: Store + Saveable>(store: &S, states: u64) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    assert!(store.save(states, &mut |piece| {
        pieces.push(piece.to_vec());
        true
    }));
    pieces
}

fn restore<S: Store + Saveable>(mut store: S, pieces: &[Vec<u8>]) -> Result<S, NotRestored> {
    let mut pieces = pieces.iter();
    store.restore(&mut |out| pieces.next().map(|piece| out.clone_from(piece)).is_some())?;
    Ok(store)
}

/// A walk like that of a depth-first search, most of the time on a long path. Returns the answers
/// to the insertions; states are also left.
fn walk<W: StoreWorker>(worker: &mut W, path: &mut Vec<StateId>, seed: u64) -> Vec<bool> {
    let mut random = Random(seed);
    let mut answers = Vec::new();
    for _ in 0..4000 {
        if random.below(4) != 0 && path.len() < 300 {
            let state = random.below(5000).to_le_bytes();
            let hash = worker.hash(&state);
            let answer = worker.insert(hash, &state).expect("no budget");
            answers.push(answer.new);
            if answer.new {
                path.push(answer.id);
            }
        } else if let Some(id) = path.pop() {
            worker.leave(id);
        }
    }
    answers
}

/// A restored store answers as the original does from then on, even if a worker had not updated the
/// shared count before the store was saved.
fn restored_stores_answer_the_same<S: Store + Saveable + Budgeted>(make: impl Fn() -> S, other: impl Fn() -> S) {
    let original = make();
    let (mut worker, mut path) = (original.worker(), Vec::new());
    let states = walk(&mut worker, &mut path, 1).into_iter().filter(|new| *new).count() as u64;
    let pieces = saved(&original, states);
    let copy = restore(other(), &pieces).expect("what was saved");
    assert_eq!(copy.len(), states);
    let mut again = copy.worker();
    let mut path_again = path.clone();
    for seed in 2..6 {
        assert_eq!(walk(&mut worker, &mut path, seed), walk(&mut again, &mut path_again, seed));
    }
    drop((worker, again));
    assert_eq!((original.len(), original.bytes(), original.omission()), (copy.len(), copy.bytes(), copy.omission()));
    // Missing or wrong pieces give an error or another store, but no panic.
    let small: Vec<Vec<u8>> = saved(&make(), 0);
    assert!(restore(other(), &[]).is_err() && restore(other(), &pieces).is_ok());
    for pieces in [&pieces[..pieces.len().min(3)], &small[..small.len().min(3)]] {
        for (number, piece) in pieces.iter().enumerate() {
            for len in (0..piece.len()).step_by(5) {
                let mut cut = pieces.to_vec();
                cut[number].truncate(len);
                let _ = restore(other(), &cut);
                let mut wrong = pieces.to_vec();
                wrong[number][len] ^= 0x80;
                let _ = restore(other(), &wrong);
            }
        }
    }
}

#[test]
fn hashes_are_restored() {
    restored_stores_answer_the_same(|| Hashes::new(16, 5, u64::MAX), || Hashes::new(56, 0, 1 << 24));
    // All hashes are there however often they are saved and restored, even in an order that crowds
    // a growing table.
    let store = Hashes::new(56, 0, u64::MAX);
    let mut worker = store.worker();
    for n in 0..230_000u64 {
        let hash = worker.hash(&n.to_le_bytes());
        assert!(worker.insert(hash, &[]).expect("no budget").new);
    }
    drop(worker);
    let mut pieces = saved(&store, 0);
    for _ in 0..4 {
        let copy = restore(Hashes::new(56, 0, u64::MAX), &pieces).expect("what was saved");
        pieces = saved(&copy, 0);
        assert_eq!(pieces.iter().skip(1).map(|piece| piece.len() / 8).sum::<usize>(), 230_000);
    }
    let pieces = saved(&Hashes::new(30, 5, u64::MAX), 0);
    assert!(matches!(restore(Hashes::new(30, 5, 1), &pieces), Err(NotRestored::Full(_))));
    // A hash that has too many bits, and one that occurs twice.
    for wrong in [vec![1 << 30], vec![7, 7]] {
        let wrong: Vec<u8> = wrong.into_iter().flat_map(u64::to_le_bytes).collect();
        let pieces = [&pieces[..], &[wrong]].concat();
        assert!(matches!(restore(Hashes::new(30, 5, u64::MAX), &pieces), Err(NotRestored::Malformed)));
    }
}

#[test]
fn bits_are_restored() {
    let (union, union_again) = (Union::new(), Union::new());
    restored_stores_answer_the_same(|| Bits::new(1 << 11, 3, 5), || Bits::new(1 << 10, 1, 0).restored_within(1 << 16));
    restored_stores_answer_the_same(
        || Joined::new(Bits::new(1 << 11, 3, 5), &union, b"before".to_vec()),
        || Joined::new(Bits::new(1 << 12, 1, 0), &union_again, Vec::new()),
    );
    let copy = restore(
        Joined::new(Bits::new(1 << 12, 1, 0), &union_again, Vec::new()),
        &saved(&Joined::new(Bits::new(1 << 11, 3, 5), &union, b"before".to_vec()), 0),
    );
    assert_eq!(copy.map(|copy| copy.note().to_vec()), Ok(b"before".to_vec()));
    assert_eq!(union_again.len(), union.len());
    let large = saved(&Bits::new(1 << 20, 3, 0), 0);
    assert!(matches!(restore(Bits::new(1 << 19, 3, 0), &large), Err(NotRestored::Full(full)) if full.needed == 1 << 20));
}

#[test]
fn a_cache_is_restored_with_what_it_would_forget_next() {
    restored_stores_answer_the_same(|| Cache::new(1000, u64::MAX), || Cache::new(10, 1 << 24));
    let cache = Cache::new(1000, u64::MAX);
    walk(&mut cache.worker(), &mut Vec::new(), 1);
    let pieces = saved(&cache, 0);
    assert!(matches!(restore(Cache::new(1000, 1 << 10), &pieces), Err(NotRestored::Full(_))));
    // A state in the wrong set would never be found again.
    let mut wrong = pieces.clone();
    wrong.swap(1, 2);
    assert!(matches!(restore(Cache::new(1000, u64::MAX), &wrong), Err(NotRestored::Malformed)));
    assert!(restore(Cache::new(1000, u64::MAX), &pieces[..pieces.len() - 1]).is_err());
}

/// If many workers insert a state at the same moment, exactly one is told that it is new.
#[test]
fn a_state_is_new_to_one_worker() {
    const STATES: u64 = 40_000;
    let bits = Bits::new(1 << 22, 3, 0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut worker = bits.worker();
                for n in 0..STATES {
                    let hash = worker.hash(&n.to_le_bytes());
                    worker.insert(hash, &n.to_le_bytes()).expect("it takes everything");
                }
            });
        }
    });
    assert!((STATES - 10..=STATES).contains(&bits.len()), "{}", bits.len());
}

/// No sample shows the rare pieces and the rare lengths of these states. The layout is fitted to
/// them in one pass, not by trial.
#[test]
fn rare_pieces_and_lengths_fit() {
    let state = |n: u64| {
        let mut state = vec![7; if n % 30_011 == 30_010 { 330 } else { 300 }];
        state[..4].copy_from_slice(&(n as u32).to_le_bytes());
        if n % 1009 == 1008 {
            state[4 + (n / 1009 % 280) as usize] = (n / 7) as u8;
        }
        state
    };
    for store in [Compact::with_budget(64 << 20), Compact::when_needed(48 << 20)] {
        let mut worker = store.worker();
        let mut insert = |n: u64| {
            let state = state(n);
            let hash = worker.hash(&state);
            worker.insert(hash, &state).expect("there is room").new
        };
        assert!((0..150_000).all(&mut insert));
        assert!(!(0..150_000).any(&mut insert));
        assert!(!store.yields() && store.bytes() < 8 << 20, "{}", store.bytes());
    }
}

/// A search that is to end does not wait for a move, and finds all states where they were.
#[test]
fn a_move_can_be_given_up() {
    let store = Compact::with_budget(64 << 20);
    store.give_up_when(std::sync::Arc::new(|| true));
    let mut worker = store.worker();
    let state = |n: u64| [n.to_le_bytes(), [5; 8]].concat();
    let refused = (0u64..).find(|&n| {
        let hash = worker.hash(&state(n));
        worker.insert(hash, &state(n)).is_err()
    });
    drop(worker);
    let mut seen = HashSet::new();
    assert!(store.save(0, &mut |state| seen.insert(state.to_vec())));
    assert_eq!((seen.len() as u64, Some(store.len())), (store.len(), refused));
    assert!((0..store.len()).all(|n| seen.contains(&state(n))));
}

/// Successors of some hundred states: most have one length, some another, some were seen before,
/// some have a fault.
fn batch(number: u64) -> Successors {
    const LENGTHS: [usize; 18] = [8, 0, 1, 7, 9, 15, 16, 17, 31, 32, 33, 48, 64, 65, 100, 126, 127, 200];
    let mut random = Random(number);
    let mut out = Successors::new();
    for step in 0..300 {
        let len = LENGTHS[if random.below(20) == 0 { random.below(18) } else { number % 18 } as usize];
        let value = random.below(2000) + number / 18 * 1000;
        let state: Vec<u8> = (0..len as u64).map(|at| (value >> (at % 3 * 8)) as u8).collect();
        let (action, fault) = (Action::new(0, step), FaultCode::new(1).unwrap());
        match random.below(100) {
            0 => out.push_faulty(&state, action, fault),
            1 => out.fail(action, fault, Successor::NO_STEP),
            _ => out.push(&state, action),
        }
    }
    out
}

/// Inserts all entries of a batch that have no fault, and returns how many were new.
fn insert_batch<W: StoreWorker>(worker: &mut W, batch: &Successors) -> usize {
    let (mut hashes, mut fresh, mut first) = (Vec::new(), Vec::new(), 0);
    worker.hash_batch(batch, &mut hashes);
    for (entry, &hash) in batch.entries().iter().zip(&hashes) {
        assert_eq!(batch.state(entry).map_or(0, |state| worker.hash(state)), hash);
    }
    let mut new = 0;
    while first < batch.len() {
        fresh.clear();
        let end = worker.insert_batch(batch, &hashes, first, &mut fresh).unwrap();
        assert!(end == batch.len() || batch.entries()[end].fault().is_some());
        assert!(fresh.is_sorted_by_key(|fresh| fresh.entry), "in their order");
        for Fresh { entry, kept, id } in &fresh {
            assert!((first..end).contains(&(*entry as usize)));
            let mut bytes = Vec::new();
            assert!(!kept || worker.read(*id, &mut bytes) && batch.state(&batch.entries()[*entry as usize]) == Some(&bytes));
        }
        new += fresh.len();
        first = end + 1;
    }
    new
}

/// Looks for all entries of a batch, and returns how many are there.
fn find_batch<W: StoreWorker>(worker: &mut W, batch: &Successors) -> usize {
    let (mut hashes, mut found) = (Vec::new(), Vec::new());
    worker.hash_batch(batch, &mut hashes);
    worker.find_batch(batch, &hashes, &mut found);
    assert_eq!(found.len(), batch.len());
    for ((entry, &hash), &found) in batch.entries().iter().zip(&hashes).zip(&found) {
        assert_eq!(batch.state(entry).and_then(|state| worker.find(hash, state)), found);
    }
    found.into_iter().flatten().count()
}

fn batches_are_inserted<T: Store>(store: &T) {
    let batches: Vec<Successors> = (0..200).map(batch).collect();
    assert!(batches.iter().all(|batch| find_batch(&mut store.worker(), batch) == 0));
    let states = batches.iter().flat_map(|batch| batch.iter().filter(|(entry, _)| entry.fault().is_none()).filter_map(|(_, state)| state));
    let distinct = states.collect::<HashSet<_>>().len();
    let run = || {
        let mut worker = store.worker();
        batches.iter().map(|batch| insert_batch(&mut worker, batch)).sum::<usize>()
    };
    let new: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3).map(|_| scope.spawn(run)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert_eq!((new, store.len()), (distinct, distinct as u64));
    assert_eq!(run(), 0);
    for batch in &batches {
        let without_fault = batch.entries().iter().filter(|entry| entry.fault().is_none()).count();
        assert!(find_batch(&mut store.worker(), batch) >= without_fault);
    }
}

/// States that are inserted in batches are inserted once, in order and under their names, whatever
/// their length is and whichever workers insert the same states.
#[test]
fn batches_are_inserted_as_their_states_would_be() {
    for _ in 0..4 {
        batches_are_inserted(&Plain::new());
        batches_are_inserted(&Compact::new());
        batches_are_inserted(&Cache::new(1 << 18, u64::MAX));
        // With so many bits no two of these states have the same hash.
        batches_are_inserted(&Hashes::new(56, 0, u64::MAX));
    }
}
