//! What a search is asked to do, apart from system and store.

use crate::checkpoint::Checkpoints;
use crate::spill::Spill;
use contract::{Blind, Cancel, FullExpansion, Heuristic, Limits, NoProperty, Observer, Property, Quiet, Reduction};
use runs::Folder;

/// The property to check, how much to explore, how long, and who listens.
#[derive(Clone)]
pub struct Task<'a> {
    /// What is to be shown.
    pub property: &'a dyn Property,
    /// Which steps must be followed.
    pub reduction: &'a dyn Reduction,
    /// What a directed search goes by.
    pub heuristic: &'a dyn Heuristic,
    /// Who hears of progress.
    pub observer: &'a dyn Observer,
    /// What may be used.
    pub limits: Limits,
    /// The search ends when it has visited about so many states: with one worker always at the same
    /// one.
    pub states: Option<u64>,
    /// How to interrupt the search.
    pub cancel: Cancel,
    /// How many workers share the search; 0 and 1 mean one. Orders that cannot be shared use one.
    pub threads: usize,
    /// Where a depth-first stack may go when it gets large.
    pub spill: Option<Spill<'a>>,
    /// Where states may go that have no room in memory.
    pub disk: Option<&'a dyn Folder>,
    /// Who wants checkpoints.
    pub checkpoints: Option<&'a dyn Checkpoints>,
    /// How much memory the whole process holds, if that can be measured: what neither the store nor
    /// the search knows of counts too.
    pub resident: Option<&'a (dyn Fn() -> Option<u64> + Sync)>,
    /// What a checkpoint must agree on to be resumed: the model, the property, whatever else
    /// changes the search.
    pub label: &'a [u8],
}

impl Default for Task<'_> {
    /// Explore everything, check nothing, without limits.
    fn default() -> Self {
        Task {
            property: &NoProperty,
            reduction: &FullExpansion,
            heuristic: &Blind,
            observer: &Quiet,
            limits: Limits::default(),
            states: None,
            cancel: Cancel::default(),
            threads: 1,
            spill: None,
            disk: None,
            checkpoints: None,
            resident: None,
            label: &[],
        }
    }
}

impl<'a> Task<'a> {
    /// Check `property`, without limits.
    pub fn new(property: &'a dyn Property) -> Self {
        Task { property, ..Task::default() }
    }
}
