//! A race: breadth-first, depth-first and directed search, each over a store of its own. The first
//! answer ends them all.
//!
//! It is not known beforehand which order finds a violation first, and their times differ by orders
//! of magnitude. As many searches run in parallel as there are workers; further workers help the
//! breadth-first search. With fewer workers, searches take turns: each begins again with a greater
//! limit on its states, until one comes to an answer. The limit grows so fast that the repeated
//! work is a small part of the whole. Each search that runs at the same time gets the same share of
//! the memory budget. A search that reaches its limit does not end the others.

use crate::plan::Plan;
use crate::stores;
use crate::table::Order;
use contract::{Limits, Observer, Outcome, StopReason, System, Verdict};
use search::{CheckpointError, Task};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The states that a search may visit in its first turn, and the factor from turn to turn.
const FIRST_TURN: u64 = 1 << 14;
const LONGER: u64 = 8;

/// The orders that take turns in each lane, with the number of workers of the lane.
fn lanes(threads: usize) -> Vec<(&'static [Order], usize)> {
    match threads {
        0 | 1 => vec![(&[Order::BestFirst, Order::Depth, Order::Breadth], 1)],
        2 => vec![(&[Order::Breadth], 1), (&[Order::BestFirst, Order::Depth], 1)],
        more => vec![(&[Order::Breadth], more - 2), (&[Order::Depth], 1), (&[Order::BestFirst], 1)],
    }
}

/// Passes on notices but no progress: the progress of one search is enough.
struct Notices<'a>(&'a dyn Observer);

impl Observer for Notices<'_> {
    fn notice(&self, text: &str) {
        self.0.notice(text);
    }
}

/// Searches in all orders.
pub(crate) fn search<S: System + Clone>(system: &S, plan: &Plan, task: &Task<'_>) -> Result<Outcome, CheckpointError> {
    let begun = Instant::now();
    let lanes = lanes(task.threads);
    let own = task.resident.and_then(|resident| resident()).unwrap_or(0);
    let alone = lanes.len() == 1;
    let share = |limit: u64| if alone { limit } else { limit.saturating_sub(own) / lanes.len() as u64 };
    let limits = Limits { memory: task.limits.memory.map(share), ..task.limits };
    let cancel = task.cancel.part();
    let (told, heard) = mpsc::channel();
    std::thread::scope(|scope| {
        for (number, &(orders, threads)) in lanes.iter().enumerate() {
            let (told, cancel, system) = (told.clone(), cancel.clone(), system.clone());
            scope.spawn(move || {
                let quiet = Notices(task.observer);
                let observer: &dyn Observer = if number == 0 { task.observer } else { &quiet };
                // Two searches must not move their stacks to the same file. The memory of the
                // process is that of all of them.
                let resident = task.resident.filter(|_| alone);
                let task = Task { limits, cancel, observer, threads, spill: None, disk: None, checkpoints: None, resident, ..task.clone() };
                let plan = Plan { threads, limits, ..*plan };
                let answer = take_turns(&system, orders, &plan, &task, begun);
                // If the race is over, the receiver is gone.
                let _ = told.send(answer);
            });
        }
        drop(told);
        let mut best: Option<(Order, Outcome)> = None;
        for answer in heard {
            let (order, outcome) = answer?;
            let decided = is_decided(&outcome.verdict);
            let known = best.as_ref().is_some_and(|(_, best)| is_decided(&best.verdict));
            if best.is_none() || decided && !known {
                best = Some((order, outcome));
            }
            if decided {
                cancel.cancel();
            }
        }
        let nothing = Outcome { verdict: Verdict::Unknown(StopReason::Interrupted), statistics: Default::default() };
        let (order, mut outcome) = best.unwrap_or((Order::Breadth, nothing));
        outcome.statistics.answered_by = Some(order.name());
        outcome.statistics.elapsed = begun.elapsed();
        Ok(outcome)
    })
}

/// Searches in these orders in turn, within the time since the race `begun`.
fn take_turns<S: System + Clone>(
    system: &S,
    orders: &[Order],
    plan: &Plan,
    task: &Task<'_>,
    begun: Instant,
) -> Result<(Order, Outcome), CheckpointError> {
    let nothing = || Outcome { verdict: Verdict::Unknown(StopReason::Interrupted), statistics: Default::default() };
    let (mut left, mut most) = (orders.to_vec(), FIRST_TURN);
    let mut last = (orders.first().copied().unwrap_or_default(), nothing());
    while !left.is_empty() {
        for order in std::mem::take(&mut left) {
            let time = task.limits.time.map(|limit| limit.saturating_sub(begun.elapsed()));
            let limits = Limits { time, ..task.limits };
            let states = (orders.len() > 1).then(|| task.states.unwrap_or(u64::MAX).min(most)).or(task.states);
            let plan = Plan { order, limits, ..*plan };
            let outcome = stores::search(system, &plan, &Task { limits, states, ..task.clone() }, None)?;
            let ended = match &outcome.verdict {
                Verdict::Unknown(StopReason::States) if states != task.states => {
                    left.push(order);
                    false
                }
                Verdict::Unknown(StopReason::Time | StopReason::Interrupted) => true,
                verdict => is_decided(verdict),
            };
            last = (order, outcome);
            if ended || time.is_some_and(|time| time == Duration::ZERO) {
                return Ok(last);
            }
        }
        most = most.saturating_mul(LONGER);
    }
    Ok(last)
}

/// Whether no later answer can be better. If a search completes over a store that is not exact,
/// another search would not know more.
fn is_decided(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Holds | Verdict::Violated(_) => true,
        Verdict::Unknown(reason) => *reason == StopReason::LossyStore,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::testing::grid;
    use contract::{Safety, Successors};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts the threads that are inside at the same time.
    #[derive(Clone)]
    struct Crowd<S>(S, Arc<[AtomicUsize; 2]>);

    impl<S: System> System for Crowd<S> {
        contract::forward_system!(0: initial);

        fn successors(&mut self, state: &[u8], out: &mut Successors) {
            let [now, most] = &*self.1;
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            self.0.successors(state, out);
            now.fetch_sub(1, Ordering::SeqCst);
        }

        fn is_valid_end(&mut self, _: &[u8]) -> bool {
            false
        }
    }

    #[test]
    fn as_many_searches_run_as_there_are_workers() {
        for (threads, expected) in [(0, 1), (1, 1), (2, 2), (3, 3), (8, 8)] {
            assert_eq!(lanes(threads).iter().map(|(_, workers)| workers).sum::<usize>(), expected);
            let mut orders: Vec<Order> = lanes(threads).iter().flat_map(|(orders, _)| orders.iter().copied()).collect();
            orders.sort_by_key(|order| order.name());
            assert_eq!(orders, [Order::BestFirst, Order::Breadth, Order::Depth]);
        }
        for threads in [1, 2, 4] {
            let crowd = Arc::<[AtomicUsize; 2]>::default();
            let system = Crowd(grid(40), Arc::clone(&crowd));
            let plan = Plan { order: Order::Race, threads, ..Plan::check() };
            let safety = Safety { deadlocks: true, faults: true };
            let outcome = search(&system, &plan, &Task { threads, ..Task::new(&safety) }).expect("no checkpoint is read");
            assert!(matches!(outcome.verdict, Verdict::Violated(_)), "{:?}", outcome.verdict);
            assert!(crowd[1].load(Ordering::SeqCst) <= threads);
            // Without the property all states are visited, in more than one turn.
            let all = search(&system, &plan, &Task { threads, ..Task::default() }).expect("no checkpoint is read");
            assert_eq!((all.verdict, all.statistics.states), (Verdict::Holds, 64_000));
        }
    }

    /// One worker gives the same answer every time; a limit that stops one search does not stop the
    /// others.
    #[test]
    fn turns_end_with_an_answer_or_a_limit() {
        let plan = Plan { order: Order::Race, ..Plan::check() };
        let safety = Safety { deadlocks: true, faults: true };
        let system = Crowd(grid(40), Arc::default());
        let ask = |task: &Task<'_>| search(&system, &plan, task).expect("no checkpoint is read");
        let once = ask(&Task::new(&safety));
        let again = ask(&Task::new(&safety));
        assert_eq!((once.verdict, once.statistics.states), (again.verdict, again.statistics.states));
        let shallow = Task { limits: Limits { depth: Some(3), ..Limits::default() }, ..Task::default() };
        assert_eq!(ask(&shallow).verdict, Verdict::Unknown(StopReason::Depth));
        let few = Task { states: Some(50), ..Task::default() };
        assert_eq!(ask(&few).verdict, Verdict::Unknown(StopReason::States));
        let late = Task { limits: Limits { time: Some(Duration::ZERO), ..Limits::default() }, ..Task::default() };
        assert_eq!(ask(&late).verdict, Verdict::Unknown(StopReason::Time));
    }
}
