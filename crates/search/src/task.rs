//! The description of a search, apart from system and store.

use crate::checkpoint::Checkpoints;
use crate::spill::Spill;
use contract::{Blind, Cancel, FullExpansion, Heuristic, Limits, NoProperty, Observer, Property, Quiet, Reduction};
use runs::Folder;

/// The property to check, the limits, and the observer.
#[derive(Clone)]
pub struct Task<'a> {
    /// The property to check.
    pub property: &'a dyn Property,
    /// The choice of the steps that are followed.
    pub reduction: &'a dyn Reduction,
    /// The estimate that guides a directed search.
    pub heuristic: &'a dyn Heuristic,
    /// The observer of progress.
    pub observer: &'a dyn Observer,
    /// The limits on time, memory and depth.
    pub limits: Limits,
    /// The search ends when it has visited about this many states; with one worker, always at the
    /// same state.
    pub states: Option<u64>,
    /// The means to interrupt the search.
    pub cancel: Cancel,
    /// The number of workers; 0 and 1 mean one. Orders that cannot be shared use one.
    pub threads: usize,
    /// External storage for a large depth-first stack.
    pub spill: Option<Spill<'a>>,
    /// The folder for states that do not fit into memory.
    pub disk: Option<&'a dyn Folder>,
    /// The caller's checkpoints.
    pub checkpoints: Option<&'a dyn Checkpoints>,
    /// Measures the memory of the whole process, if that is possible, so that memory unknown to the
    /// store and the search counts too.
    pub resident: Option<&'a (dyn Fn() -> Option<u64> + Sync)>,
    /// Whether the parts of the work are counted and timed.
    pub profile: bool,
    /// The label that a checkpoint must have to be resumed: the model, the property, and everything
    /// else that changes the search.
    pub label: &'a [u8],
}

impl Default for Task<'_> {
    /// Explores everything, checks nothing, without limits.
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
            profile: false,
            label: &[],
        }
    }
}

impl<'a> Task<'a> {
    /// Checks `property`, without limits.
    pub fn new(property: &'a dyn Property) -> Self {
        Task { property, ..Task::default() }
    }
}
