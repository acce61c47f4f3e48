//! Explores a system of the caller, with a store of the library or of the caller.
//!
//! A system is a set of functions with a context, which is the usual form in C. It reports initial
//! states and steps by calling [`everypath_emit`], so that the library needs no allocated memory
//! from it. The search is the same as for programs.

use crate::boundary::{EverypathStatus, Failure, bytes, guarded, value};
use crate::check::{EverypathOptions, EverypathResult, Watch, limits, order, result_of};
use crate::step::{EverypathStep, EverypathVisitor};
use everypath::{
    Action, Cancel, Compact, Exploration, FaultCode, Inserted, NoProperty, Plain, Property, Safety, StateId, Store, StoreFull, StoreWorker,
    Successors, System, Trace, Verdict, Violation, explore,
};
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The list to which a system adds initial states and steps.
pub struct EverypathSteps {
    out: *mut Successors,
    count: u32,
}

/// A transition system of the caller. States are byte strings. The steps of a state, and their
/// order, must depend on its bytes alone. With several workers, the functions are called by several
/// threads at the same time. They must return normally: no exception and no long jump may leave
/// them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct EverypathSystem {
    /// Emits the initial states.
    pub initial: Option<unsafe extern "C" fn(context: *mut c_void, steps: *mut EverypathSteps)>,
    /// Emits the steps that leave a state.
    pub successors: Option<unsafe extern "C" fn(context: *mut c_void, state: *const u8, length: usize, steps: *mut EverypathSteps)>,
    /// Returns whether a state without steps is an accepted end and not a deadlock. Null if there
    /// are no accepted ends.
    pub is_valid_end: Option<unsafe extern "C" fn(context: *mut c_void, state: *const u8, length: usize) -> bool>,
    /// The argument for these functions.
    pub context: *mut c_void,
}

/// A set of visited states of the caller. It must be exact: a state that was not inserted before is
/// never reported as known.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct EverypathStore {
    /// Inserts a state. Returns 1 if it is new, 0 if it was already there, and a negative number if
    /// there is no room, which ends the search with the verdict "unknown". It is never called by
    /// two threads at once. It must return normally: no exception and no long jump may leave it.
    pub insert: Option<unsafe extern "C" fn(context: *mut c_void, state: *const u8, length: usize) -> i32>,
    /// The argument for this function.
    pub context: *mut c_void,
}

/// Adds an initial state, or the state to which a step leads. The steps of a state are numbered
/// from 0 in the order in which they are emitted; a trace shows these numbers as labels.
///
/// # Safety
/// `steps` is the argument of the function of a system that is running; `state` points to `length`
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn everypath_emit(steps: *mut EverypathSteps, state: *const u8, length: usize) -> EverypathStatus {
    // SAFETY: the caller vouches for both.
    guarded(|| unsafe {
        let state = bytes(state, length)?;
        add(steps, |out, action| out.push(state, action))
    })
}

/// Adds a step that fails and leads to no state. `code` is a number of the caller's choice and not
/// 0; the message of the violation contains it.
///
/// # Safety
/// `steps` is the argument of the function of a system that is running.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn everypath_emit_fault(steps: *mut EverypathSteps, code: u32) -> EverypathStatus {
    guarded(|| {
        let code = FaultCode::new(code).ok_or_else(|| EverypathStatus::BadArgument.because("`code` is 0"))?;
        // SAFETY: the caller vouches for it.
        unsafe { add(steps, |out, action| out.fail(action, code, everypath::Successor::NO_STEP)) }
    })
}

/// Adds an entry, whose choice is the number of entries before it.
///
/// # Safety
/// `steps` is null or points to a list of [`Foreign`].
unsafe fn add(steps: *mut EverypathSteps, entry: impl FnOnce(&mut Successors, Action)) -> Result<(), Failure> {
    // SAFETY: by the caller's promise; `Foreign` lets no other reference to the buffer live.
    let Some((steps, out)) = (unsafe { steps.as_mut().map(|steps| (&mut steps.count, &mut *steps.out)) }) else {
        return Err(EverypathStatus::BadArgument.because("`steps` is null"));
    };
    entry(out, Action::new(0, *steps));
    *steps += 1;
    Ok(())
}

/// Explores all states of a system. If a state without steps is not an accepted end, or a step
/// fails, `visitor` (which may be null) is called with the path that leads there: first the initial
/// state, whose label is empty, then each step. `store` may be null: then the library keeps the
/// states. `options` may be null; `reduce`, `store` and `fairness` in them are for programs only. A
/// memory limit counts the bytes of the states in the caller's store. Unless the verdict is
/// "holds", `everypath_error` returns a sentence that describes the violation, or the reason why
/// the verdict is unknown.
///
/// # Safety
/// `system` can be read, and its functions may be called with its context, by several threads if
/// the options ask for several workers; the same is true for `store`, which may be null; `options`
/// is null or can be read, and its texts end in a zero byte; `visitor` may be called with
/// `context`, the watcher too, and from another thread; `result` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn everypath_explore(
    system: *const EverypathSystem,
    store: *const EverypathStore,
    options: *const EverypathOptions,
    visitor: EverypathVisitor,
    context: *mut c_void,
    result: *mut EverypathResult,
) -> EverypathStatus {
    guarded(|| {
        if result.is_null() {
            return Err(EverypathStatus::BadArgument.because("`result` is null"));
        }
        // SAFETY: the caller vouches for all three.
        let (system, store, options) =
            unsafe { (*value(system, "system")?, store.as_ref().copied(), options.as_ref().copied().unwrap_or_default()) };
        if system.initial.is_none() || system.successors.is_none() || store.is_some_and(|store| store.insert.is_none()) {
            return Err(EverypathStatus::BadArgument.because("`initial`, `successors` or `insert` is null"));
        }
        if options.reduce || !options.store.is_null() || !options.fairness.is_null() {
            let why = "`reduce`, `store` and `fairness` are for `everypath_check`: nothing is known of the steps of this system, and its store \
                       is an argument of its own";
            return Err(EverypathStatus::BadOptions.because(why));
        }
        let cancel = Cancel::default();
        let watch = Watch::new(options.watcher, context, &cancel);
        let property: &dyn Property = if options.explore_only { &NoProperty } else { &Safety { deadlocks: true, faults: true } };
        let how = Exploration {
            // SAFETY: the caller vouches for the texts in the options.
            order: unsafe { order(&options)? },
            property,
            limits: limits(&options),
            threads: (options.threads as usize).max(1),
            cancel,
            observer: &watch,
            ..Exploration::default()
        };
        let system = Foreign(system);
        let outcome = match store {
            Some(store) => explore(&system, &Table { store: Mutex::new(Shared(store)), count: AtomicU64::new(0) }, &how)?,
            None if options.memory_bytes > 0 => explore(&system, &Compact::with_budget(options.memory_bytes), &how)?,
            None => explore(&system, &Plain::new(), &how)?,
        };
        // SAFETY: not null, and the caller vouches that it can be written.
        unsafe { result.write(result_of(&outcome)) };
        if let Verdict::Violated(violation) = &outcome.verdict {
            // SAFETY: the caller vouches for the function and its context.
            unsafe { show(visitor, context, violation) };
        }
        Ok(())
    })
}

/// Calls the visitor with a path, until it returns `false`.
///
/// # Safety
/// `visitor` may be called with `context`.
unsafe fn show(visitor: EverypathVisitor, context: *mut c_void, violation: &Violation) {
    let Some(visitor) = visitor else { return };
    let Trace { initial, steps, .. } = &violation.trace;
    let fault = CString::new(violation.fault.to_string()).unwrap_or_default();
    let labels: Vec<CString> = steps.iter().map(|step| CString::new(step.action.choice.to_string()).unwrap_or_default()).collect();
    let states =
        std::iter::once((Some(initial), c"")).chain(steps.iter().zip(&labels).map(|(step, label)| (step.state.as_ref(), &**label)));
    for (number, (state, label)) in states.enumerate() {
        let step = EverypathStep {
            state: state.map_or(ptr::null(), |state| state.as_ptr()),
            length: state.map_or(0, Vec::len),
            pid: 0,
            label: label.as_ptr(),
            fault: if number == steps.len() { fault.as_ptr() } else { ptr::null() },
        };
        // SAFETY: the caller vouches for the function and its context; the data that `step` points
        // to lives until the end of this function.
        if !unsafe { visitor(context, &step) } {
            return;
        }
    }
}

/// The caller's system.
#[derive(Clone)]
struct Foreign(EverypathSystem);

// SAFETY: the context is never dereferenced here, only passed to the caller's functions, and the
// caller has promised that any thread may call these.
unsafe impl Send for Foreign {}

impl Foreign {
    fn list(out: &mut Successors) -> EverypathSteps {
        EverypathSteps { out, count: 0 }
    }
}

impl System for Foreign {
    fn initial(&mut self, out: &mut Successors) {
        if let Some(initial) = self.0.initial {
            // SAFETY: the caller of `everypath_explore` vouches for the function and its context.
            unsafe { initial(self.0.context, &mut Self::list(out)) };
        }
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        if let Some(successors) = self.0.successors {
            // SAFETY: as above; the state lives until the end of the call.
            unsafe { successors(self.0.context, state.as_ptr(), state.len(), &mut Self::list(out)) };
        }
    }

    fn is_valid_end(&mut self, state: &[u8]) -> bool {
        // SAFETY: as above.
        self.0.is_valid_end.is_some_and(|is_valid_end| unsafe { is_valid_end(self.0.context, state.as_ptr(), state.len()) })
    }
}

/// The caller's store, as it is passed to another thread.
struct Shared(EverypathStore);

// SAFETY: the context is never dereferenced here, only passed to the caller's function, and the
// caller has promised that any thread may call it.
unsafe impl Send for Shared {}

/// The caller's store. States cannot be read back from it, so the search itself keeps the states to
/// be expanded.
struct Table {
    store: Mutex<Shared>,
    count: AtomicU64,
}

struct Access<'s>(&'s Table);

impl Store for Table {
    const EXACT: bool = true;
    const STABLE_NAMES: bool = false;
    type Worker<'s> = Access<'s>;

    fn worker(&self) -> Access<'_> {
        Access(self)
    }

    fn len(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

impl StoreWorker for Access<'_> {
    fn hash(&mut self, _: &[u8]) -> u64 {
        0
    }

    fn prefetch(&self, _: u64) {}

    fn insert(&mut self, _: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        // The lock is held during the call, so that no two threads are in it.
        let store = self.0.store.lock().unwrap_or_else(PoisonError::into_inner);
        let full = StoreFull { needed: state.len() as u64, budget: 0 };
        let insert = store.0.insert.ok_or(full)?;
        // SAFETY: the caller of `everypath_explore` vouches for the function and its context; the
        // state lives until the end of the call.
        let answer = unsafe { insert(store.0.context, state.as_ptr(), state.len()) };
        if answer < 0 {
            return Err(full);
        }
        let number = if answer > 0 { self.0.count.fetch_add(1, Ordering::Relaxed) } else { 0 };
        Ok(Inserted { id: StateId(number), new: answer > 0 })
    }

    fn find(&mut self, _: u64, _: &[u8]) -> Option<StateId> {
        None
    }

    fn keeps(&self, _: StateId) -> bool {
        false
    }

    fn read(&mut self, _: StateId, _: &mut Vec<u8>) -> bool {
        false
    }
}
