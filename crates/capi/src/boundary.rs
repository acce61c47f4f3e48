//! The boundary to C: status codes, the text of the last error, and the handling of panics.

use everypath::Error;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum EverypathStatus {
    /// The call succeeded.
    Ok = 0,
    /// A required argument is null, or a string is not UTF-8.
    BadArgument = 1,
    /// The program was refused.
    BadProgram = 2,
    /// The bytes are not a state of the program.
    BadState = 3,
    /// The program fails before its first state.
    NoInitialState = 4,
    /// The options contradict each other.
    BadOptions = 5,
    /// A mistake in this library. Please report it.
    Internal = 6,
    /// The program was not loaded within the time limit.
    LoadTime = 7,
}

/// A status with the sentence that explains it.
#[derive(Debug)]
pub struct Failure {
    status: EverypathStatus,
    message: String,
}

impl EverypathStatus {
    /// The status as a failure, with the sentence that explains it.
    pub fn because(self, message: impl Into<String>) -> Failure {
        Failure { status: self, message: message.into() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let status = match &error {
            Error::Program(_) => EverypathStatus::BadProgram,
            Error::Initial(_) => EverypathStatus::NoInitialState,
            Error::State(_) => EverypathStatus::BadState,
            Error::Plan(_) => EverypathStatus::BadOptions,
            Error::LoadTime(_) => EverypathStatus::LoadTime,
            // The enum may grow; an unknown error is reported as an internal one.
            _ => EverypathStatus::Internal,
        };
        status.because(error.to_string())
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
}

/// The sentence that explains the last call of this thread that did not return
/// `EVERYPATH_STATUS_OK`, or the last check whose verdict was not "holds". Never null; valid until
/// the next such call of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn everypath_error() -> *const c_char {
    LAST.with(|last| last.borrow().as_ptr())
}

/// A C string of a text; zero bytes inside, which C cannot represent, become question marks.
pub fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "?")).unwrap_or_default()
}

/// Runs the body of a call: a failure becomes a status and the last error, and so does a panic.
pub fn guarded(call: impl FnOnce() -> Result<(), Failure>) -> EverypathStatus {
    // A call either returns its result or nothing, so no inconsistent value is used again after a
    // panic.
    let failure = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => return EverypathStatus::Ok,
        Ok(Err(failure)) => failure,
        Err(panic) => EverypathStatus::Internal.because(format!("internal error: {}", panic_message(panic.as_ref()))),
    };
    remember(&failure.message);
    failure.status
}

/// Stores a sentence for [`everypath_error`].
pub fn remember(message: &str) {
    LAST.with(|last| *last.borrow_mut() = c_string(message));
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown")
}

/// The bytes a caller passes.
///
/// # Safety
/// `pointer` points to `length` bytes that stay unchanged during the call, or `length` is 0.
pub unsafe fn bytes<'a>(pointer: *const u8, length: usize) -> Result<&'a [u8], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() || isize::try_from(length).is_err() {
        return Err(EverypathStatus::BadArgument.because("bytes are null, or more than memory can hold"));
    }
    // SAFETY: not null, not too long, and the caller vouches for the rest.
    Ok(unsafe { slice::from_raw_parts(pointer, length) })
}

/// The text a caller passes.
///
/// # Safety
/// `pointer` is null or points to a string that ends in a zero byte and stays unchanged during the
/// call.
pub unsafe fn text<'a>(pointer: *const c_char) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(EverypathStatus::BadArgument.because("a string is null"));
    }
    // SAFETY: not null, and the caller vouches for the zero byte.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| EverypathStatus::BadArgument.because("a string is not UTF-8"))
}

/// The text a caller passes, if there is one.
///
/// # Safety
/// As for [`text`].
pub unsafe fn text_or_none<'a>(pointer: *const c_char) -> Result<Option<&'a str>, Failure> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller vouches for it.
    unsafe { text(pointer) }.map(Some)
}

/// The values of an array that a caller passes.
///
/// # Safety
/// `pointer` points to `count` values that stay unchanged during the call, or `count` is 0.
pub unsafe fn values<'a, T>(pointer: *const T, count: usize, name: &str) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() || count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(EverypathStatus::BadArgument.because(format!("`{name}` is null, or has more values than memory can hold")));
    }
    // SAFETY: not null, not too long, and the caller vouches for the rest.
    Ok(unsafe { slice::from_raw_parts(pointer, count) })
}

/// The value that a pointer refers to.
///
/// # Safety
/// `pointer` is null or points to a value that stays unchanged during the call.
pub unsafe fn value<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller vouches for it.
    unsafe { pointer.as_ref() }.ok_or_else(|| EverypathStatus::BadArgument.because(format!("`{name}` is null")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let status = guarded(|| panic!("on purpose"));
        std::panic::set_hook(hook);
        assert_eq!(status, EverypathStatus::Internal);
        // SAFETY: the function promises a string that ends in a zero byte.
        let message = unsafe { CStr::from_ptr(everypath_error()) };
        assert_eq!(message.to_str(), Ok("internal error: on purpose"));
    }

    #[test]
    fn null_is_an_error_and_not_a_crash() {
        // SAFETY: null is what these functions must recognise.
        unsafe {
            assert!(text(std::ptr::null()).is_err());
            assert!(bytes(std::ptr::null(), 1).is_err());
            assert_eq!(bytes(std::ptr::null(), 0).map(<[u8]>::len).ok(), Some(0));
            assert!(value::<u8>(std::ptr::null(), "x").is_err());
        }
    }
}
