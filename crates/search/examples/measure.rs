//! Measures search orders and stores on systems written by hand, which run as fast as native code:
//! nanoseconds per transition, bytes per state. `cargo run --release -p search --example measure --
//! [SYSTEM] [ORDER] [STORE]…`; without arguments, it measures everything.

use contract::{Action, Outcome, Store, Successor, Successors, System, Verdict};
use search::{Task, breadth_first, depth_first, depth_first_shared};
use store::{Compact, Plain};

/// The filter lock: mutual exclusion for `n` processes by `n - 1` waiting rooms.
#[derive(Clone)]
struct Filter {
    n: usize,
}

impl Filter {
    // Layout: pc, level and scan position of each process, then the last one to enter each room.
    fn at(&self, field: usize, index: usize) -> usize {
        field * self.n + index
    }
}

impl System for Filter {
    fn initial(&mut self, out: &mut Successors) {
        out.push(&vec![0; 4 * self.n], Action::default());
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let n = self.n;
        for p in 0..n {
            let (pc, level, scan) = (self.at(0, p), self.at(1, p), self.at(2, p));
            let next = out.slot_from(state);
            match state[pc] {
                // Enter the next room.
                0 => {
                    next[level] += 1;
                    next[pc] = 1;
                }
                1 => {
                    next[self.at(3, state[level] as usize)] = p as u8;
                    next[scan] = 0;
                    next[pc] = 2;
                }
                // Look at the other processes one after the other, until all are behind or another
                // process entered this room later.
                2 => {
                    let other = state[scan] as usize;
                    if state[self.at(3, state[level] as usize)] != p as u8 || other == n {
                        next[scan] = 0;
                        next[pc] = if state[level] as usize == n - 1 { 3 } else { 0 };
                    } else if other == p || state[self.at(1, other)] < state[level] {
                        next[scan] += 1;
                    } else {
                        continue;
                    }
                }
                _ => {
                    next[level] = 0;
                    next[pc] = 0;
                }
            }
            out.commit(state.len(), Action::new(p as u32, 0), None, Successor::NO_STEP);
        }
    }

    fn is_valid_end(&mut self, _: &[u8]) -> bool {
        true
    }
}

/// Philosophers who take one fork after the other, in a vector with `pad` unused bytes.
#[derive(Clone)]
struct Philosophers {
    n: usize,
    pad: usize,
}

impl System for Philosophers {
    fn initial(&mut self, out: &mut Successors) {
        out.push(&vec![0; 2 * self.n + self.pad], Action::default());
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let n = self.n;
        for p in 0..n {
            let (left, right) = (n + p, n + (p + 1) % n);
            let next = out.slot_from(state);
            match state[p] {
                0 if state[left] == 0 => (next[left], next[p]) = (1 + p as u8, 1),
                0 if state[right] == 0 => (next[right], next[p]) = (1 + p as u8, 2),
                1 if state[right] == 0 => (next[right], next[p]) = (1 + p as u8, 3),
                2 if state[left] == 0 => (next[left], next[p]) = (1 + p as u8, 3),
                3 => (next[left], next[p]) = (0, 4),
                4 => (next[right], next[p]) = (0, 0),
                _ => continue,
            }
            out.commit(state.len(), Action::new(p as u32, 0), None, Successor::NO_STEP);
        }
    }

    fn is_valid_end(&mut self, _: &[u8]) -> bool {
        true
    }
}

fn report(system: &str, order: &str, store: &str, outcome: &Outcome) {
    let s = &outcome.statistics;
    let nanos = s.elapsed.as_nanos() as f64;
    println!(
        "{system:14} {order:8} {store:8} {:>10} states {:>10} trans {:>7.3} s {:>6.1} ns/trans {:>6.1} B/state +{:<5.1} {}",
        s.states,
        s.transitions,
        s.elapsed.as_secs_f64(),
        nanos / s.transitions as f64,
        s.store_bytes as f64 / s.states as f64,
        s.search_bytes as f64 / s.states as f64,
        if outcome.verdict == Verdict::Holds { "" } else { "incomplete" },
    );
}

fn orders<S: System + Clone, T: Store>(words: &[String], system: (&str, &S), store: (&str, &dyn Fn() -> T)) {
    let wanted = |word: &str| words.is_empty() || words.iter().any(|w| w == word);
    if !wanted(system.0) || !wanted(store.0) {
        return;
    }
    let task = Task::default();
    for threads in 1..=2 {
        if wanted(&format!("breadth{threads}")) {
            let task = Task { threads, ..Task::default() };
            report(system.0, &format!("breadth{threads}"), store.0, &breadth_first(system.1, &store.1(), &task));
        }
        if wanted(&format!("shared{threads}")) {
            let task = Task { threads, ..Task::default() };
            report(system.0, &format!("shared{threads}"), store.0, &depth_first_shared(system.1, &store.1(), &task));
        }
    }
    if wanted("depth") {
        report(system.0, "depth", store.0, &depth_first(system.1, &store.1(), &task));
    }
}

fn stores<S: System + Clone>(words: &[String], name: &str, system: S) {
    orders(words, (name, &system), ("plain", &Plain::new));
    orders(words, (name, &system), ("compact", &Compact::new));
}

fn main() {
    let repeat: usize = std::env::var("REPEAT").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    (0..repeat).for_each(|_| all());
}

fn all() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    stores(&words, "filter3", Filter { n: 3 });
    stores(&words, "filter4", Filter { n: 4 });
    stores(&words, "phil9", Philosophers { n: 9, pad: 0 });
    stores(&words, "filter5", Filter { n: 5 });
    stores(&words, "phil11", Philosophers { n: 11, pad: 10 });
    stores(&words, "phil10wide", Philosophers { n: 10, pad: 60 });
}
