//! Work on many items with all processors, for tests that take long alone.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Calls `work` for each item, on as many threads as there are processors, and returns the results
/// in the order of the items. A panic in `work` is a panic here.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(items.len()));
    let threads = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    // The threads have the name of the test, which its messages contain.
    let name = thread::current().name().unwrap_or("a test").to_owned();
    thread::scope(|scope| {
        for _ in 0..threads {
            let run = || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(number) else { break };
                    let result = work(item);
                    results.lock().expect("no panic under the lock").push((number, result));
                }
            };
            thread::Builder::new().name(name.clone()).spawn_scoped(scope, run).expect("a thread");
        }
    });
    let mut results = results.into_inner().expect("no panic under the lock");
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}
