//! A whole check in one call.

use crate::EverypathProgram;
use crate::boundary::{EverypathStatus, guarded, value};
use crate::step::{EverypathVisitor, tell};
use everypath::{Limits, Only, Order, Plan, Verdict};
use std::ffi::c_void;
use std::time::Duration;

/// The answer of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum EverypathVerdict {
    /// Everything was explored, and nothing is wrong.
    Holds = 0,
    /// Something is wrong; the visitor was told the steps that lead there.
    Violated = 1,
    /// A limit was reached before everything was explored, or the model states something that cannot be checked yet.
    Unknown = 3,
}

/// What a check may use. All zero means: no limits, breadth first.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct EverypathOptions {
    /// Bytes of memory; 0 for no limit.
    pub memory_bytes: u64,
    /// Milliseconds; 0 for no limit.
    pub time_ms: u64,
    /// Steps from the initial state; 0 for no limit.
    pub depth: u64,
    /// Search depth first, which keeps fewer waiting states, instead of breadth first, which finds the shortest trace.
    pub depth_first: bool,
    /// Explore everything without looking for violations.
    pub explore_only: bool,
    /// Ask for assertions, end states and run-time errors alone. Without it a formula or a claim in the model, which cannot be checked
    /// yet, makes the verdict unknown.
    pub only_safety: bool,
}

/// What a check found.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct EverypathResult {
    /// The answer.
    pub verdict: EverypathVerdict,
    /// Distinct states.
    pub states: u64,
    /// Steps between them.
    pub transitions: u64,
    /// How deep the search went.
    pub depth: u64,
    /// Wall-clock time.
    pub seconds: f64,
    /// The memory of the state store at the end.
    pub store_bytes: u64,
}

/// Looks for deadlocks and faults in all reachable states. If there is one, `visitor` (which may be null) is told the steps that lead to
/// it, in order. `options` may be null.
///
/// # Safety
/// `program` is a handle from `everypath_load`; `options` is null or can be read; `visitor` may be called with `context`; `result` can
/// be written.
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
        let checked = program.check(&plan(&options))?;
        let verdict = match checked.outcome.verdict {
            Verdict::Holds => EverypathVerdict::Holds,
            Verdict::Violated(_) => EverypathVerdict::Violated,
            Verdict::Unknown(_) => EverypathVerdict::Unknown,
        };
        let numbers = &checked.outcome.statistics;
        let found = EverypathResult {
            verdict,
            states: numbers.states,
            transitions: numbers.transitions,
            depth: numbers.depth,
            seconds: numbers.elapsed.as_secs_f64(),
            store_bytes: numbers.store_bytes,
        };
        // SAFETY: not null, and the caller vouches that it can be written.
        unsafe { result.write(found) };
        for step in &checked.steps {
            // SAFETY: the caller vouches for the function and its context.
            if !unsafe { tell(visitor, context, step) } {
                break;
            }
        }
        Ok(())
    })
}

fn plan(options: &EverypathOptions) -> Plan {
    let base = if options.explore_only { Plan::space() } else { Plan::check() };
    let given = |number: u64| (number > 0).then_some(number);
    Plan {
        only: options.only_safety.then_some(Only::Safety),
        order: if options.depth_first { Order::Depth } else { Order::Breadth },
        limits: Limits {
            memory: given(options.memory_bytes),
            time: given(options.time_ms).map(Duration::from_millis),
            depth: given(options.depth),
        },
        ..base
    }
}
