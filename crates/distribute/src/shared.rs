//! The data that the workers of a process and their supervisor share.

use contract::{Progress, StopReason};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Numbers that a worker publishes.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Published {
    /// The number of states found.
    pub states: AtomicU64,
    /// The number of steps followed.
    pub transitions: AtomicU64,
    /// The number of waiting states.
    pub waiting: AtomicU64,
    /// The current level.
    pub depth: AtomicU64,
    /// Memory of store and search.
    pub bytes: AtomicU64,
    /// The number of states sent to other workers.
    pub sent: AtomicU64,
}

/// What the threads of a process share during a run.
#[derive(Debug, Default)]
pub struct Shared {
    stop: AtomicBool,
    abandoned: AtomicBool,
    reason: Mutex<Option<StopReason>>,
    /// The numbers of each worker of the process.
    pub published: Vec<Published>,
    /// Messages for the user.
    notices: Mutex<Vec<String>>,
}

impl Shared {
    /// Data for this many workers.
    pub fn new(workers: usize) -> Arc<Shared> {
        Arc::new(Shared { published: (0..workers).map(|_| Published::default()).collect(), ..Shared::default() })
    }

    /// Adds a message for the user.
    pub fn tell(&self, text: String) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// Takes the messages for the user.
    pub fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends the search; the first reason counts.
    pub fn stop(&self, reason: StopReason) {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the search is to end.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The reason for the end.
    pub fn reason(&self) -> Option<StopReason> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives everything up at once, because others are gone.
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }

    /// Whether everything was given up.
    #[inline]
    pub fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    /// Prepares for the next search.
    pub fn begin(&self) {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.stop.store(false, Ordering::Relaxed);
        for published in &self.published {
            let Published { states, transitions, waiting, depth, bytes, sent } = published;
            [states, transitions, waiting, depth, bytes, sent].into_iter().for_each(|number| number.store(0, Ordering::Relaxed));
        }
    }

    /// The numbers of all workers of the process together.
    pub fn progress(&self) -> Progress {
        let sum = |field: fn(&Published) -> &AtomicU64| self.published.iter().map(|all| field(all).load(Ordering::Relaxed)).sum();
        Progress {
            states: sum(|all| &all.states),
            transitions: sum(|all| &all.transitions),
            waiting: sum(|all| &all.waiting),
            depth: self.published.iter().map(|all| all.depth.load(Ordering::Relaxed)).max().unwrap_or(0),
            bytes: sum(|all| &all.bytes),
            ..Progress::default()
        }
    }
}
