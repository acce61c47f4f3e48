//! A whole check in one call.

use crate::EverypathProgram;
use crate::boundary::{EverypathStatus, Failure, guarded, remember, text_or_none, value};
use crate::step::{EverypathVisitor, tell};
use everypath::{Cancel, Fair, Limits, Observer, Only, Order, Outcome, Passes, Plan, Por, Progress, StoreKind, UnknownName, Verdict};
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::str::FromStr;
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

/// Limits and options of a check. All zero means: no limits, breadth first, one worker, no
/// reduction. `everypath_usual_options` gives the options of the command `everypath check`. Names
/// of orders, stores and fairness are those of its options.
#[derive(Clone, Copy, Debug)]
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
    /// Leave out orders of independent steps and make the program smaller, where that changes no
    /// verdict. The counts are then those of the smaller state space.
    pub reduce: bool,
    /// The order of the search, as in "auto", "dfs" or "astar"; null for breadth first or depth
    /// first, as `depth_first` says.
    pub order: *const c_char,
    /// The store of visited states, as in "compact" or "hash"; null for "auto".
    pub store: *const c_char,
    /// The infinite runs that count: "none" for all, "weak" or "strong"; null for all.
    pub fairness: *const c_char,
}

impl Default for EverypathOptions {
    fn default() -> Self {
        EverypathOptions {
            memory_bytes: 0,
            time_ms: 0,
            depth: 0,
            depth_first: false,
            explore_only: false,
            only_safety: false,
            threads: 0,
            watcher: None,
            reduce: false,
            order: ptr::null(),
            store: ptr::null(),
            fairness: ptr::null(),
        }
    }
}

/// Sets all options to those of the command `everypath check`: all reductions, its order, and a
/// worker for each core. There are no limits; the command has a memory limit of most of what is
/// free.
///
/// # Safety
/// `options` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn everypath_usual_options(options: *mut EverypathOptions) -> EverypathStatus {
    guarded(|| {
        if options.is_null() {
            return Err(EverypathStatus::BadArgument.because("`options` is null"));
        }
        let threads = u32::try_from(Plan::usual().threads).unwrap_or(u32::MAX);
        let usual = EverypathOptions { reduce: true, order: AUTO.as_ptr(), threads, ..EverypathOptions::default() };
        // SAFETY: not null, and the caller vouches that it can be written.
        unsafe { options.write(usual) };
        Ok(())
    })
}

/// The name of the order of the command.
const AUTO: &CStr = c"auto";

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
/// `program` is a handle from `everypath_load`; `options` is null or can be read, and its texts are
/// null or end in a zero byte; `visitor` may be called with `context`, the watcher too, and from
/// another thread; `result` can be written.
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
        // SAFETY: the caller vouches for the texts in the options.
        let checked = program.check_with(&unsafe { plan(&options) }?, &cancel, &watch)?;
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

/// The choice that an option names, if it names one.
///
/// # Safety
/// `name` is null or ends in a zero byte.
unsafe fn choice<T: FromStr<Err = UnknownName>>(name: *const c_char) -> Result<Option<T>, Failure> {
    // SAFETY: the caller vouches for it.
    let name = unsafe { text_or_none(name)? };
    name.map(|name| name.parse().map_err(|unknown: UnknownName| EverypathStatus::BadOptions.because(unknown.to_string()))).transpose()
}

/// The order that the options ask for.
///
/// # Safety
/// The name in it is null or ends in a zero byte.
pub(crate) unsafe fn order(options: &EverypathOptions) -> Result<Order, Failure> {
    // SAFETY: the caller vouches for it.
    let named = unsafe { choice(options.order)? };
    Ok(named.unwrap_or(if options.depth_first { Order::Depth } else { Order::Breadth }))
}

/// The plan that the options describe.
///
/// # Safety
/// The names in them are null or end in a zero byte.
unsafe fn plan(options: &EverypathOptions) -> Result<Plan, Failure> {
    let base = if options.explore_only { Plan::space() } else { Plan::check() };
    let (por, passes) = if options.reduce { (Por::On, Passes::ALL) } else { (base.por, base.passes) };
    // SAFETY: the caller vouches for the names.
    let (order, store, fairness) = unsafe { (order(options)?, choice::<StoreKind>(options.store)?, choice::<Fair>(options.fairness)?) };
    Ok(Plan {
        only: options.only_safety.then_some(Only::Safety),
        order,
        store: store.unwrap_or(base.store),
        fairness: fairness.unwrap_or(base.fairness),
        por,
        passes,
        limits: limits(options),
        threads: (options.threads as usize).max(1),
        ..base
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_options_are_the_usual_plan() {
        let mut options = EverypathOptions::default();
        // SAFETY: it can be written, and the names in it are texts of this module.
        let plan = unsafe {
            assert_eq!(everypath_usual_options(&mut options), EverypathStatus::Ok);
            assert_eq!(everypath_usual_options(ptr::null_mut()), EverypathStatus::BadArgument);
            plan(&options)
        };
        assert_eq!(plan.expect("known names"), Plan::usual());
        // SAFETY: there are no names.
        let plain = unsafe { plan_of(&EverypathOptions::default()) };
        assert_eq!(plain, Plan { order: Order::Breadth, ..Plan::check() });
    }

    /// # Safety
    /// As for [`plan`].
    unsafe fn plan_of(options: &EverypathOptions) -> Plan {
        // SAFETY: the caller vouches for it.
        unsafe { plan(options) }.expect("known names")
    }
}
