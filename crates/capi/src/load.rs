//! Reading a program, with everything that belongs to it.

use crate::EverypathProgram;
use crate::boundary::{EverypathStatus, bytes, guarded, text, text_or_none, values};
use everypath::{Includes, Program, Reading};
use std::ffi::c_char;
use std::time::Duration;

/// A name with a text: a definition for the preprocessor, or a file that the program may include.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct EverypathNamed {
    /// The name. A file is looked up relative to the file that includes it.
    pub name: *const c_char,
    /// The value of the definition, or the text of the file.
    pub text: *const c_char,
}

/// How a program is read. All zero means: nothing is defined or included, and there is no limit.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct EverypathReading {
    /// Names defined for the preprocessor; null if there are none.
    pub defines: *const EverypathNamed,
    /// Their number.
    pub define_count: usize,
    /// Files that the program may include; null if there are none.
    pub includes: *const EverypathNamed,
    /// Their number.
    pub include_count: usize,
    /// A formula of linear temporal logic over expressions of the program, or null. If there is
    /// one, a check is about this formula alone.
    pub formula: *const c_char,
    /// The time limit in milliseconds; 0 for no limit.
    pub time_ms: u64,
}

/// The name of the formula in the options.
const FORMULA: &str = "formula";

/// Reads a program like `everypath_load`, with names defined for its preprocessor, files that it
/// may include, a formula to check, and a time limit. `reading` may be null. After the time limit
/// the call returns `EVERYPATH_STATUS_LOAD_TIME`.
///
/// # Safety
/// As for `everypath_load`; `reading` is null or can be read, its arrays have as many values as it
/// says, and its texts are null, where that is allowed, or end in a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn everypath_read(
    name: *const c_char,
    contents: *const u8,
    length: usize,
    reading: *const EverypathReading,
    program: *mut *mut EverypathProgram,
) -> EverypathStatus {
    guarded(|| {
        if program.is_null() {
            return Err(EverypathStatus::BadArgument.because("`program` is null"));
        }
        // SAFETY: not null, and the caller vouches that it can be written.
        unsafe { program.write(std::ptr::null_mut()) };
        // SAFETY: the caller vouches for the string, the bytes and what `reading` points to.
        let (name, contents, reading) = unsafe { (text(name)?, bytes(contents, length)?, reading.as_ref()) };
        let mut how = Reading::default();
        if let Some(reading) = reading {
            // SAFETY: as above.
            let (defines, includes, formula) = unsafe {
                (
                    values(reading.defines, reading.define_count, "defines")?,
                    values(reading.includes, reading.include_count, "includes")?,
                    text_or_none(reading.formula)?,
                )
            };
            for define in defines {
                // SAFETY: as above.
                let (name, value) = unsafe { (text(define.name)?, text(define.text)?) };
                how.defines.push((name.to_owned(), value.to_owned()));
            }
            let mut files = Includes::new();
            for include in includes {
                // SAFETY: as above.
                let (name, contents) = unsafe { (text(include.name)?, text(include.text)?) };
                files = files.with(name, contents);
            }
            how.includes = files;
            how.formulas.extend(formula.map(|formula| (FORMULA.to_owned(), formula.to_owned())));
            how.limit = (reading.time_ms > 0).then(|| Duration::from_millis(reading.time_ms));
        }
        let read = Program::read(name, contents, &how)?;
        let read = if how.formulas.is_empty() { read } else { read.only(&[FORMULA]) };
        // SAFETY: as above.
        unsafe { program.write(Box::into_raw(Box::new(EverypathProgram(read)))) };
        Ok(())
    })
}
