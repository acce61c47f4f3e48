//! A race: depth-first, breadth-first and directed search run in parallel, each over a store of its
//! own. The first answer ends them all.
//!
//! It is not known beforehand which order finds a violation first, and their times differ by orders
//! of magnitude. Each search gets the same share of the memory budget. A search that reaches its
//! limit does not end the others.

use crate::plan::Plan;
use crate::stores;
use crate::table::Order;
use contract::{Limits, Observer, Outcome, StopReason, System, Verdict};
use search::{CheckpointError, Task};
use std::sync::mpsc;

/// The orders that take part.
const RUNNERS: [Order; 3] = [Order::Breadth, Order::Depth, Order::BestFirst];

/// Passes on notices but no progress: the progress of one search is enough.
struct Notices<'a>(&'a dyn Observer);

impl Observer for Notices<'_> {
    fn notice(&self, text: &str) {
        self.0.notice(text);
    }
}

/// Searches in all orders at once.
pub(crate) fn search<S: System + Clone>(system: &S, plan: &Plan, task: &Task<'_>) -> Result<Outcome, CheckpointError> {
    let own = task.resident.and_then(|resident| resident()).unwrap_or(0);
    let share = |limit: u64| limit.saturating_sub(own) / RUNNERS.len() as u64;
    let limits = Limits { memory: task.limits.memory.map(share), ..task.limits };
    let cancel = task.cancel.part();
    let (told, heard) = mpsc::channel();
    std::thread::scope(|scope| {
        for (lane, &order) in RUNNERS.iter().enumerate() {
            let (told, cancel, system) = (told.clone(), cancel.clone(), system.clone());
            scope.spawn(move || {
                let quiet = Notices(task.observer);
                let observer: &dyn Observer = if lane == 0 { task.observer } else { &quiet };
                // Two searches must not move their stacks to the same file.
                let task = Task {
                    limits,
                    cancel,
                    observer,
                    threads: 1,
                    spill: None,
                    disk: None,
                    checkpoints: None,
                    resident: None,
                    ..task.clone()
                };
                let plan = Plan { order, threads: 1, limits, ..*plan };
                let outcome = stores::search(&system, &plan, &task, None);
                // If the race is over, the receiver is gone.
                let _ = told.send((lane, outcome));
            });
        }
        drop(told);
        let mut best: Option<(usize, Outcome)> = None;
        for (lane, outcome) in heard {
            let outcome = outcome?;
            let decided = is_decided(&outcome.verdict);
            let known = best.as_ref().is_some_and(|(_, best)| is_decided(&best.verdict));
            if best.is_none() || decided && !known {
                best = Some((lane, outcome));
            }
            if decided {
                cancel.cancel();
            }
        }
        let nothing = Outcome { verdict: Verdict::Unknown(StopReason::Interrupted), statistics: Default::default() };
        let (lane, mut outcome) = best.unwrap_or((0, nothing));
        outcome.statistics.answered_by = Some(RUNNERS[lane].name());
        Ok(outcome)
    })
}

/// Whether no later answer can be better. If a search completes over a store that is not exact,
/// another search would not know more.
fn is_decided(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Holds | Verdict::Violated(_) => true,
        Verdict::Unknown(reason) => *reason == StopReason::LossyStore,
    }
}
