//! A whole check in one call.

use crate::EverypathProgram;
use crate::boundary::{EverypathStatus, guarded, remember, value};
use crate::step::{EverypathVisitor, tell};
use everypath::{Cancel, Limits, Observer, Only, Order, Outcome, Plan, Progress, Verdict};
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The answer of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum EverypathVerdict {
    /// Everything was explored, and there is no violation.
    Holds = 0,
    /// A property is violated; the visitor was called with the steps of the trace.
    Violated = 1,
    /// A limit was reached, the watcher stopped the check, or the model states a property that
    /// cannot be checked.
    Unknown = 3,
}

/// The progress of a check.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct EverypathProgress {
    /// Distinct states so far.
    pub states: u64,
    /// Steps so far.
    pub transitions: u64,
    /// States that are still to be expanded, or that are on the stack.
    pub waiting: u64,
    /// The present depth.
    pub depth: u64,
    /// The memory of the store and the search.
    pub bytes: u64,
    /// The time since the start.
    pub seconds: f64,
}

/// Called from time to time with the progress of a check; returns whether to continue. If not, the
/// verdict is unknown. It may be called from a thread of the library, but never by two threads at
/// once. It must return normally: no exception and no long jump may leave it.
pub type EverypathWatcher = Option<unsafe extern "C" fn(context: *mut c_void, progress: *const EverypathProgress) -> bool>;

/// Limits and options of a check. All zero means: no limits, breadth first, one worker.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct EverypathOptions {
    /// The memory limit in bytes; 0 for no limit.
    pub memory_bytes: u64,
    /// The time limit in milliseconds; 0 for no limit.
    pub time_ms: u64,
    /// The depth limit in steps from the initial state; 0 for no limit.
    pub depth: u64,
    /// Search depth first, which keeps fewer states to be expanded, instead of breadth first, which
    /// finds a shortest trace.
    pub depth_first: bool,
    /// Explore everything without looking for violations.
    pub explore_only: bool,
    /// Check only assertions, end states and run-time errors, and no formulas, claims and accept
    /// labels.
    pub only_safety: bool,
    /// The number of workers; 0 means one. A strictly depth-first search always has one.
    pub threads: u32,
    /// The function that is called with the progress and may stop the check; null for none. It gets
    /// the same context as the visitor.
    pub watcher: EverypathWatcher,
}

/// The result of a check.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct EverypathResult {
    /// The answer.
    pub verdict: EverypathVerdict,
    /// Distinct states.
    pub states: u64,
    /// Steps between them.
    pub transitions: u64,
    /// The depth that the search reached.
    pub depth: u64,
    /// The wall-clock time.
    pub seconds: f64,
    /// The memory of the state store at the end.
    pub store_bytes: u64,
}

/// Searches all reachable states for deadlocks and faults. If there is one, `visitor` (which may be
/// null) is called with the steps that lead to it, in order. `options` may be null. Unless the
/// verdict is "holds", `everypath_error` returns a sentence that describes the violation, or the
/// reason why the verdict is unknown.
///
/// # Safety
/// `program` is a handle from `everypath_load`; `options` is null or can be read; `visitor` may be
/// called with `context`, the watcher too, and from another thread; `result` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn everypath_check(
    program: *const EverypathProgram,
    options: *const EverypathOptions,
    visitor: EverypathVisitor,
    context: *mut c_void,
    result: *mut EverypathResult,
) -> EverypathStatus {
    guarded(|| {
        if result.is_null() {
            return Err(EverypathStatus::BadArgument.because("`result` is null"));
        }
        // SAFETY: the caller vouches for both.
        let (program, options) = unsafe { (&value(program, "program")?.0, options.as_ref().copied().unwrap_or_default()) };
        let cancel = Cancel::default();
        let watch = Watch::new(options.watcher, context, &cancel);
        let checked = program.check_with(&plan(&options), &cancel, &watch)?;
        // SAFETY: not null, and the caller vouches that it can be written.
        unsafe { result.write(result_of(&checked.outcome)) };
        for step in &checked.steps {
            // SAFETY: the caller vouches for the function and its context.
            if !unsafe { tell(visitor, context, step) } {
                break;
            }
        }
        Ok(())
    })
}

/// The result of a search. Unless the verdict is "holds", its reason is kept for
/// [`everypath_error`](crate::everypath_error).
pub(crate) fn result_of(outcome: &Outcome) -> EverypathResult {
    let verdict = match &outcome.verdict {
        Verdict::Holds => EverypathVerdict::Holds,
        Verdict::Violated(violation) => {
            remember(&violation.fault.to_string());
            EverypathVerdict::Violated
        }
        Verdict::Unknown(reason) => {
            remember(&reason.to_string());
            EverypathVerdict::Unknown
        }
    };
    let statistics = &outcome.statistics;
    EverypathResult {
        verdict,
        states: statistics.states,
        transitions: statistics.transitions,
        depth: statistics.depth,
        seconds: statistics.elapsed.as_secs_f64(),
        store_bytes: statistics.store_bytes,
    }
}

/// The caller's context, as it is passed to another thread.
struct Context(*mut c_void);

// SAFETY: the pointer is never dereferenced here, only passed back to its owner, who has promised
// that any thread may use it.
unsafe impl Send for Context {}

/// Passes the progress on to the caller.
pub(crate) struct Watch {
    watcher: EverypathWatcher,
    context: Mutex<Context>,
    cancel: Cancel,
}

impl Watch {
    pub fn new(watcher: EverypathWatcher, context: *mut c_void, cancel: &Cancel) -> Watch {
        Watch { watcher, context: Mutex::new(Context(context)), cancel: cancel.clone() }
    }
}

impl Observer for Watch {
    fn progress(&self, progress: &Progress) {
        let Some(watcher) = self.watcher else { return };
        let told = EverypathProgress {
            states: progress.states,
            transitions: progress.transitions,
            waiting: progress.waiting,
            depth: progress.depth,
            bytes: progress.bytes,
            seconds: progress.elapsed.as_secs_f64(),
        };
        // The lock is held during the call, so that no two threads are in it.
        let context = self.context.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the caller of `everypath_check` vouches for the function and its context, also
        // from other threads.
        if !unsafe { watcher(context.0, &told) } {
            self.cancel.cancel();
        }
    }
}

/// The limits in the options; 0 means none.
pub(crate) fn limits(options: &EverypathOptions) -> Limits {
    let given = |number: u64| (number > 0).then_some(number);
    Limits { memory: given(options.memory_bytes), time: given(options.time_ms).map(Duration::from_millis), depth: given(options.depth) }
}

fn plan(options: &EverypathOptions) -> Plan {
    let base = if options.explore_only { Plan::space() } else { Plan::check() };
    Plan {
        only: options.only_safety.then_some(Only::Safety),
        order: if options.depth_first { Order::Depth } else { Order::Breadth },
        limits: limits(options),
        threads: (options.threads as usize).max(1),
        ..base
    }
}
