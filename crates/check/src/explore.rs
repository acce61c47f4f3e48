//! A search over a system and a store that the caller provides.
//!
//! There is no plan, no narrator and no reference interpreter here: the caller's own system decides
//! whether there is a violation.

use crate::counted::Counted;
use crate::run::Refusal;
use crate::stores::{self, Manner};
use crate::table::{self, Order};
use contract::{Blind, Cancel, Heuristic, Limits, Observer, Outcome, Property, Quiet, Safety, Store, System};
use search::Task;

/// How to explore.
#[derive(Clone)]
pub struct Exploration<'a> {
    /// The order of the search; `auto` is breadth first here.
    pub order: Order,
    /// The property to check. By default, no deadlock and no fault is reachable.
    pub property: &'a dyn Property,
    /// The limits of the search. A store has a budget of its own; this one covers the memory of the
    /// search and the store together. A store that does not say how much it uses ([`Budgeted`]) is
    /// counted by the bytes of its states.
    ///
    /// [`Budgeted`]: contract::Budgeted
    pub limits: Limits,
    /// The estimates of a directed search.
    pub heuristic: &'a dyn Heuristic,
    /// How many workers, each with a clone of the system.
    pub threads: usize,
    /// How to interrupt the search.
    pub cancel: Cancel,
    /// The observer that gets reports of progress.
    pub observer: &'a dyn Observer,
}

impl Default for Exploration<'_> {
    fn default() -> Self {
        Exploration {
            order: Order::default(),
            property: &Safety { deadlocks: true, faults: true },
            limits: Limits::default(),
            heuristic: &Blind,
            threads: 1,
            cancel: Cancel::default(),
            observer: &Quiet,
        }
    }
}

/// Explores a system. The store must be empty; afterwards it holds the visited states.
pub fn explore<S: System + Clone, T: Store>(system: &S, store: &T, how: &Exploration<'_>) -> Result<Outcome, Refusal> {
    table::refuse_store(T::FORGETS, T::STABLE_NAMES, how.order)?;
    let task = Task {
        heuristic: how.heuristic,
        limits: how.limits,
        threads: how.threads,
        cancel: how.cancel.clone(),
        observer: how.observer,
        ..Task::new(how.property)
    };
    let manner = Manner::of(how.order);
    Ok(match store.budgeted() {
        Some(_) => stores::go(system, store, manner, &task),
        None => stores::go(system, &Counted::new(store), manner, &task),
    })
}
