//! Everypath for C, and for every language that can call C.
//!
//! The functions are those of the crate `everypath`, in C's terms: a handle for a program, states
//! as bytes, steps through a callback. Each function returns a status; [`everypath_error`] returns
//! the sentence that explains it. No panic crosses the boundary: a panic inside becomes a status
//! like any other error.
//!
//! The header `include/everypath.h` is generated from this crate. `examples/bfs.c` is a
//! breadth-first search in C over the states of a program. `examples/check.c` checks a program at
//! full speed, with limits and a report of progress. `examples/own.c` explores a system of its own
//! over a store of its own.

mod boundary;
mod check;
mod explore;
mod load;
mod step;

pub use boundary::{EverypathStatus, everypath_error};
pub use check::{
    EverypathOptions, EverypathProgress, EverypathResult, EverypathVerdict, EverypathWatcher, everypath_check, everypath_usual_options,
};
pub use explore::{EverypathSteps, EverypathStore, EverypathSystem, everypath_emit, everypath_emit_fault, everypath_explore};
pub use load::{EverypathNamed, EverypathReading, everypath_read};
pub use step::{EverypathStep, EverypathVisitor, everypath_initial, everypath_is_valid_end, everypath_successors};

use boundary::guarded;
use everypath::Program;
use std::ffi::c_char;

/// A program that was read and accepted.
pub struct EverypathProgram(Program);

/// Reads a program from memory. The language is recognised by the ending of its name or by its
/// contents. On success `*program` is a handle that must be freed with `everypath_free`; otherwise
/// it is null. `everypath_read` can do more: definitions, included files, a formula, a time limit.
///
/// # Safety
/// `name` is a string that ends in a zero byte; `contents` points to `length` bytes, or `length` is
/// 0; `program` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn everypath_load(
    name: *const c_char,
    contents: *const u8,
    length: usize,
    program: *mut *mut EverypathProgram,
) -> EverypathStatus {
    // SAFETY: the caller vouches for all of it; nothing is defined or included.
    unsafe { everypath_read(name, contents, length, std::ptr::null(), program) }
}

/// Frees a program. Null is allowed and does nothing.
///
/// # Safety
/// `program` is null, or a handle from `everypath_load` that was not freed before and is not used
/// afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn everypath_free(program: *mut EverypathProgram) {
    if !program.is_null() {
        // The caller could not react to an error here.
        let _ = guarded(|| {
            // SAFETY: the caller vouches that this is the handle's last use, and handles are boxes.
            drop(unsafe { Box::from_raw(program) });
            Ok(())
        });
    }
}
