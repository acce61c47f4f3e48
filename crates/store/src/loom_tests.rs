//! Checks the lock-free parts with a model checker for Rust's memory model: small histories of two
//! or three workers in every interleaving.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test --release -p store --lib loom_tests`. Tables are
//! tiny here (two slots per bucket, four buckets), so that a few insertions collide, overflow and
//! grow.

use crate::Bits;
use crate::budget::Budget;
use crate::dictionary::Dictionary;
use crate::plain::{PlainWorker, Shared, hash_state};
use crate::quotient::{Entry, Geometry, QuotientTable};
use crate::shared_pass::SharedPass;
use crate::sync::{Arc, AtomicU64, Ordering};
use crate::table::{Found, Lookup, Next, Table};
use contract::{Inserted, Store, StoreWorker};
use loom::thread;

fn unlimited() -> Arc<Budget> {
    Arc::new(Budget::new(u64::MAX))
}

/// Explores interleavings with at most this many preemptions. More preemptions find nothing new in
/// histories this small and take too long.
fn check(preemptions: usize, history: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(history);
}

/// A shared table of numbers: an array serves as the arena, and the number at place `p` is
/// `things[p]`.
struct Numbers {
    things: Vec<AtomicU64>,
    used: AtomicU64,
}

/// Spreads small numbers over the few buckets. Numbers from 128 on all have the first bucket as
/// home, and the last one after its pair.
fn hash(thing: u64) -> u64 {
    if thing < 128 { thing.wrapping_mul(0x9e37_79b9_7f4a_7c15) } else { thing << 48 }
}

impl Numbers {
    fn new() -> Numbers {
        // Place 0 is never used.
        Numbers { things: (0..16).map(|_| AtomicU64::new(0)).collect(), used: AtomicU64::new(1) }
    }

    /// Inserts a number as a worker of the plain store does, and follows the table as it grows.
    fn insert(&self, table: &mut Arc<Table>, thing: u64) -> (u64, bool) {
        let write = || {
            let place = self.used.fetch_add(1, Ordering::Relaxed);
            self.things[place as usize].store(thing, Ordering::Relaxed);
            place
        };
        let same = |place: u64| self.things[place as usize].load(Ordering::Relaxed) == thing;
        let mut place = None;
        let found = match table.lines().search_pair(hash(thing), same) {
            Found::Nothing => table.search_on(hash(thing), same),
            found => found,
        };
        match found {
            Found::There(place) => return (place, false),
            Found::Gap(gap) => {
                let written = write();
                if gap.fill(written) {
                    return (written, true);
                }
                place = Some(written);
            }
            Found::Nothing | Found::Frozen => {}
        }
        loop {
            let make = || Ok::<u64, ()>(*place.get_or_insert_with(write));
            match table.find_or_insert(hash(thing), same, make).unwrap() {
                Lookup::Found(place) => return (place, false),
                Lookup::Inserted => return (place.unwrap(), true),
                Lookup::Full => table.grow().unwrap(),
                Lookup::Frozen => {}
            }
            if let Some(Next::Table(next)) = table.next() {
                table.help(&next, |place| hash(self.things[place as usize].load(Ordering::Relaxed)));
                *table = next;
            }
        }
    }
}

fn table() -> Arc<Table> {
    Arc::new(Table::first(8, unlimited()).unwrap())
}

#[test]
fn two_workers_insert_the_same_thing_once() {
    check(5, || {
        let (numbers, table) = (Arc::new(Numbers::new()), table());
        let other = {
            let (numbers, mut table) = (numbers.clone(), table.clone());
            thread::spawn(move || (numbers.insert(&mut table, 5), numbers.insert(&mut table, 6)))
        };
        let mut table = table;
        let mine = (numbers.insert(&mut table, 6), numbers.insert(&mut table, 5));
        let theirs = other.join().unwrap();
        assert_eq!((mine.0.0, mine.1.0), (theirs.1.0, theirs.0.0), "the workers agree on places");
        assert!(mine.0.1 != theirs.1.1 && mine.1.1 != theirs.0.1, "exactly one of them was first");
    });
}

#[test]
fn nobody_misses_anything_when_a_worker_grows_the_table_alone() {
    check(3, || {
        let store = Arc::new(Shared::new(unlimited()));
        let insert = |worker: &mut PlainWorker, state: &[u8]| worker.try_insert(hash_state(state), state).unwrap().unwrap();
        let mut mine = PlainWorker::new(store.clone());
        let first = insert(&mut mine, b"first");
        let other = {
            let store = store.clone();
            thread::spawn(move || {
                let mut worker = PlainWorker::new(store);
                (insert(&mut worker, b"second"), insert(&mut worker, b"first"))
            })
        };
        mine.grow().unwrap();
        let second = insert(&mut mine, b"second");
        let theirs = other.join().unwrap();
        assert_eq!(theirs.1, Inserted { id: first.id, new: false });
        assert!(second.id == theirs.0.id && second.new != theirs.0.new);
    });
}

#[test]
fn nothing_is_lost_or_doubled_while_the_table_grows() {
    check(4, || {
        let (numbers, table) = (Arc::new(Numbers::new()), table());
        {
            let mut table = table.clone();
            for thing in 1..=2 {
                assert!(numbers.insert(&mut table, thing).1);
            }
        }
        let grower = {
            let (numbers, mut table) = (numbers.clone(), table.clone());
            thread::spawn(move || {
                table.grow().unwrap();
                (numbers.insert(&mut table, 3), numbers.insert(&mut table, 1))
            })
        };
        let mut table = table;
        let mine = (numbers.insert(&mut table, 3), numbers.insert(&mut table, 2));
        let theirs = grower.join().unwrap();
        assert_eq!(mine.0.0, theirs.0.0);
        assert!(mine.0.1 != theirs.0.1, "the new thing was new once");
        assert!(!mine.1.1 && !theirs.1.1, "the old things were not");
    });
}

/// Four numbers lie in their home pair, two far from home, and one in the overflow; two workers
/// move them.
#[test]
fn what_is_far_from_home_or_found_no_room_is_moved_by_someone() {
    check(2, || {
        let (numbers, table) = (Arc::new(Numbers::new()), table());
        for thing in 128..=133 {
            assert!(numbers.insert(&mut table.clone(), thing).1);
        }
        numbers.things[9].store(134, Ordering::Relaxed);
        assert_eq!(table.insert_overflow(hash(134), |_| false, || Ok::<u64, ()>(9)), Ok(Lookup::Inserted));
        table.grow().unwrap();
        let work = |numbers: &Numbers, mut table: Arc<Table>| {
            let new = numbers.insert(&mut table, 7);
            ([132, 134].map(|thing| numbers.insert(&mut table, thing)), new)
        };
        let other = {
            let (numbers, table) = (numbers.clone(), table.clone());
            thread::spawn(move || work(&numbers, table))
        };
        let mine = work(&numbers, table);
        let theirs = other.join().unwrap();
        assert_eq!(mine.0, [(5, false), (9, false)], "nothing old is new, or elsewhere");
        assert_eq!(mine.0, theirs.0);
        assert!(mine.1.0 == theirs.1.0 && mine.1.1 != theirs.1.1, "what both inserted was new once");
    });
}

#[test]
fn a_closed_table_shows_all_it_ever_took() {
    check(4, || {
        let (numbers, table) = (Arc::new(Numbers::new()), table());
        let inserter = {
            let (numbers, table) = (numbers.clone(), table.clone());
            thread::spawn(move || {
                let make = || {
                    numbers.things[1].store(7, Ordering::Relaxed);
                    Ok::<u64, ()>(1)
                };
                let same = |place: u64| numbers.things[place as usize].load(Ordering::Relaxed) == 7;
                table.find_or_insert(hash(7), same, make).unwrap()
            })
        };
        assert!(table.close());
        let mut shown = Vec::new();
        table.drain_blocks(&SharedPass::new(), |place| {
            shown.extend(place.map(|place| numbers.things[place as usize].load(Ordering::Relaxed)));
            true
        });
        match inserter.join().unwrap() {
            Lookup::Inserted => assert_eq!(shown, [7]),
            Lookup::Frozen => assert!(shown.is_empty()),
            other => panic!("{other:?}"),
        }
    });
}

fn quotient_table() -> Arc<QuotientTable> {
    // Wide keys in few buckets: there are few slots, and most of them cross a word boundary.
    Arc::new(QuotientTable::new(Geometry::for_keys(50, 0, 0), unlimited()).unwrap())
}

#[test]
fn two_workers_insert_the_same_key_once() {
    check(5, || {
        let table = quotient_table();
        let other = {
            let table = table.clone();
            thread::spawn(move || [table.insert(1), table.insert(2)])
        };
        let mine = [table.insert(2), table.insert(1)];
        let theirs = other.join().unwrap();
        for (a, b) in [(mine[0], theirs[1]), (mine[1], theirs[0])] {
            assert!(matches!((a, b), (Entry::Inserted, Entry::Found) | (Entry::Found, Entry::Inserted)), "{a:?} {b:?}");
        }
        assert!(table.contains(1) && table.contains(2) && !table.contains(3));
    });
}

#[test]
fn keys_are_complete_when_they_are_seen_and_frozen_buckets_take_no_more() {
    check(5, || {
        let table = quotient_table();
        table.insert(11);
        let other = {
            let table = table.clone();
            thread::spawn(move || table.insert(22))
        };
        let mut moved = Vec::new();
        assert!(table.drain(&SharedPass::new(), |keys| {
            moved.extend_from_slice(keys);
            true
        }));
        moved.sort();
        match other.join().unwrap() {
            Entry::Inserted => assert_eq!(moved, [11, 22]),
            Entry::Frozen => assert_eq!(moved, [11]),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_number_means_the_same_to_all_who_learn_it() {
    check(4, || {
        let dictionary = Arc::new(Dictionary::new(false, unlimited()).unwrap());
        let other = {
            let dictionary = dictionary.clone();
            thread::spawn(move || {
                let mut index = dictionary.index();
                dictionary.add(&mut index, 9 << 40).unwrap()
            })
        };
        let mut index = dictionary.index();
        if let Some(id) = index.find(9 << 40) {
            assert_eq!(dictionary.value(id), 9 << 40);
        }
        let mine = dictionary.add(&mut index, 9 << 40).unwrap();
        assert_eq!(mine, other.join().unwrap());
        assert_eq!(dictionary.value(mine), 9 << 40);
    });
}

#[test]
fn a_shared_turn_is_over_for_nobody_before_it_is_for_all() {
    check(4, || {
        let (pass, done) = (Arc::new(SharedPass::new()), Arc::new(AtomicU64::new(0)));
        let work = |pass: &SharedPass, done: &AtomicU64| {
            assert!(pass.share(2, |block| {
                done.fetch_add(1 << (8 * block), Ordering::Relaxed);
                true
            }));
            assert_eq!(done.load(Ordering::Relaxed), 0x0101);
        };
        let other = {
            let (pass, done) = (pass.clone(), done.clone());
            thread::spawn(move || work(&pass, &done))
        };
        work(&pass, &done);
        other.join().unwrap();
    });
}

/// If two workers insert the same state into a bit array, exactly one finds it new. Another state
/// in the same line loses none of its bits.
#[test]
fn one_worker_finds_the_bits_of_a_state_new() {
    check(3, || {
        let bits = Arc::new(Bits::new(64, 3, 0));
        let workers: Vec<_> = [[1, 2], [2, 1]]
            .into_iter()
            .map(|states| {
                let bits = bits.clone();
                thread::spawn(move || {
                    let mut worker = bits.worker();
                    states.map(|state: u64| worker.insert(hash(state), &[]).unwrap().new).map(u64::from).iter().sum::<u64>()
                })
            })
            .collect();
        let new: u64 = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
        assert_eq!((new, bits.len()), (2, 2));
        let mut worker = bits.worker();
        assert!([1, 2].into_iter().all(|state| worker.find(hash(state), &[]).is_some()));
    });
}
