//! Initial state and successors, passed to a callback: the caller allocates and frees nothing.

use crate::EverypathProgram;
use crate::boundary::{EverypathStatus, bytes, c_string, guarded, value};
use everypath::Step;
use std::ffi::{c_char, c_void};
use std::ptr;

/// A step, valid during the callback only.
#[derive(Debug)]
#[repr(C)]
pub struct EverypathStep {
    /// The state reached; null if the step ends in a fatal fault.
    pub state: *const u8,
    /// The number of its bytes.
    pub length: usize,
    /// The number of the process that moves.
    pub pid: u32,
    /// The statements executed, in the text of the source: `P(1): x = 1`. Empty for the initial
    /// state.
    pub label: *const c_char,
    /// The fault of the step; null if there is none.
    pub fault: *const c_char,
}

/// Called with a step; returns whether to continue. It must return normally: no exception and no
/// long jump may leave it.
pub type EverypathVisitor = Option<unsafe extern "C" fn(context: *mut c_void, step: *const EverypathStep) -> bool>;

/// Passes a step to the caller; `false` if the caller wants no more.
///
/// # Safety
/// `visitor` may be called with `context`.
pub(crate) unsafe fn tell(visitor: EverypathVisitor, context: *mut c_void, step: &Step) -> bool {
    let Some(visitor) = visitor else { return true };
    let label = c_string(&step.label());
    let fault = step.fault.as_ref().map(|fault| c_string(&fault.to_string()));
    let told = EverypathStep {
        state: step.state.as_ref().map_or(ptr::null(), |state| state.as_ptr()),
        length: step.state.as_ref().map_or(0, Vec::len),
        pid: step.first().pid as u32,
        label: label.as_ptr(),
        fault: fault.as_ref().map_or(ptr::null(), |fault| fault.as_ptr()),
    };
    // SAFETY: the caller vouches for the function and its context; the data that `told` points to
    // lives until the end of this function.
    unsafe { visitor(context, &told) }
}

/// Calls `visitor` once, with the initial state.
///
/// # Safety
/// `program` is a handle from `everypath_load`; `visitor` may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn everypath_initial(
    program: *const EverypathProgram,
    visitor: EverypathVisitor,
    context: *mut c_void,
) -> EverypathStatus {
    guarded(|| {
        // SAFETY: the caller vouches for the handle.
        let program = &unsafe { value(program, "program")? }.0;
        let state = program.initial()?;
        let told = EverypathStep { state: state.as_ptr(), length: state.len(), pid: 0, label: c"".as_ptr(), fault: ptr::null() };
        if let Some(visitor) = visitor {
            // SAFETY: the caller vouches for the function and its context; the state lives until
            // the end of this block.
            unsafe { visitor(context, &told) };
        }
        Ok(())
    })
}

/// Calls `visitor` with each step that leaves a state, until it returns `false`. The order depends
/// on the state alone.
///
/// # Safety
/// `program` is a handle from `everypath_load`; `state` points to `length` bytes; `visitor` may be
/// called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn everypath_successors(
    program: *const EverypathProgram,
    state: *const u8,
    length: usize,
    visitor: EverypathVisitor,
    context: *mut c_void,
) -> EverypathStatus {
    guarded(|| {
        // SAFETY: the caller vouches for the handle and the bytes.
        let (program, state) = unsafe { (&value(program, "program")?.0, bytes(state, length)?) };
        for step in program.successors(state)? {
            // SAFETY: the caller vouches for the function and its context.
            if !unsafe { tell(visitor, context, &step) } {
                break;
            }
        }
        Ok(())
    })
}

/// Sets `*answer` to whether the program may end in a state without steps. If not, the state is a
/// deadlock.
///
/// # Safety
/// `program` is a handle from `everypath_load`; `state` points to `length` bytes; `answer` can be
/// written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn everypath_is_valid_end(
    program: *const EverypathProgram,
    state: *const u8,
    length: usize,
    answer: *mut bool,
) -> EverypathStatus {
    guarded(|| {
        if answer.is_null() {
            return Err(EverypathStatus::BadArgument.because("`answer` is null"));
        }
        // SAFETY: the caller vouches for the handle and the bytes.
        let (program, state) = unsafe { (&value(program, "program")?.0, bytes(state, length)?) };
        let valid = program.is_valid_end(state)?;
        // SAFETY: not null, and the caller vouches that it can be written.
        unsafe { answer.write(valid) };
        Ok(())
    })
}
