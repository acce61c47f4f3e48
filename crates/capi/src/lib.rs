//! Everypath for C, and for every language that can call C.
//!
//! The surface is that of the crate `everypath`, flattened: a handle for a program, states as bytes, steps through a callback. Each
//! function answers with a status; the sentence behind a status is had from [`everypath_error`]. No panic crosses the boundary: should
//! one happen inside, it becomes a status like any other.
//!
//! The header `include/everypath.h` is generated from this crate; `examples/bfs.c` shows a breadth-first search in C.

mod boundary;
mod check;
mod step;

pub use boundary::{EverypathStatus, everypath_error};
pub use check::{EverypathOptions, EverypathResult, EverypathVerdict, everypath_check};
pub use step::{EverypathStep, EverypathVisitor, everypath_initial, everypath_is_valid_end, everypath_successors};

use boundary::{bytes, guarded, text};
use everypath::Program;
use std::ffi::c_char;

/// A program that was read and accepted.
pub struct EverypathProgram(Program);

/// Reads a program from memory. The ending of its name, or its contents, tell the language. On success `*program` is a handle that
/// `everypath_free` gives back; otherwise it is null.
///
/// # Safety
/// `name` is a string that ends in a zero byte; `contents` points to `length` bytes, or `length` is 0; `program` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn everypath_load(
    name: *const c_char,
    contents: *const u8,
    length: usize,
    program: *mut *mut EverypathProgram,
) -> EverypathStatus {
    guarded(|| {
        if program.is_null() {
            return Err(EverypathStatus::BadArgument.because("`program` is null"));
        }
        // SAFETY: not null, and the caller vouches that it can be written.
        unsafe { program.write(std::ptr::null_mut()) };
        // SAFETY: the caller vouches for the string and the bytes.
        let (name, contents) = unsafe { (text(name)?, bytes(contents, length)?) };
        let loaded = Program::load(name, contents)?;
        // SAFETY: as above.
        unsafe { program.write(Box::into_raw(Box::new(EverypathProgram(loaded)))) };
        Ok(())
    })
}

/// Gives a program back. Null is allowed and does nothing.
///
/// # Safety
/// `program` is null, or a handle from `everypath_load` that was not given back before and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn everypath_free(program: *mut EverypathProgram) {
    if !program.is_null() {
        // Whatever happens in there, the caller cannot do anything about it.
        let _ = guarded(|| {
            // SAFETY: the caller vouches that this is the handle's last use, and handles are boxes.
            drop(unsafe { Box::from_raw(program) });
            Ok(())
        });
    }
}
