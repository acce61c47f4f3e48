//! The functions as called from C, with correct and with wrong arguments.

use everypath_c::{
    EverypathNamed, EverypathOptions, EverypathProgram, EverypathProgress, EverypathReading, EverypathResult, EverypathStatus,
    EverypathStep, EverypathVerdict, everypath_check, everypath_error, everypath_free, everypath_initial, everypath_is_valid_end,
    everypath_load, everypath_read, everypath_successors, everypath_usual_options,
};
use std::ffi::{CStr, c_void};
use std::ptr;

const PROGRAM: &CStr = c"global byte n\nprocess P() {\nagain: LDG n ;: n++\n LDC 1\n ADD\n STG n\n LDG n\n LDC 200\n LT\n ASSERT\n STEP N\n JMP again\n}\nstart P\n";

fn load(text: &[u8]) -> Result<*mut EverypathProgram, EverypathStatus> {
    let mut program = ptr::null_mut();
    // SAFETY: all three are valid pointers.
    let status = unsafe { everypath_load(c"p.epa".as_ptr(), text.as_ptr(), text.len(), &mut program) };
    assert_eq!(program.is_null(), status != EverypathStatus::Ok);
    if program.is_null() { Err(status) } else { Ok(program) }
}

fn error() -> String {
    // SAFETY: the function promises a string.
    unsafe { CStr::from_ptr(everypath_error()) }.to_str().expect("text").to_owned()
}

/// Copies its arguments: state, label, fault.
unsafe extern "C" fn copy(context: *mut c_void, step: *const EverypathStep) -> bool {
    // SAFETY: the tests below pass a vector as the context, and the library passes a step.
    let (copies, step) = unsafe { (&mut *context.cast::<Vec<(Vec<u8>, String)>>(), &*step) };
    // SAFETY: the library promises the given number of bytes, and a string.
    let (state, label) = unsafe { (std::slice::from_raw_parts(step.state, step.length), CStr::from_ptr(step.label)) };
    copies.push((state.to_vec(), label.to_str().expect("text").to_owned()));
    true
}

#[test]
fn a_program_is_loaded_walked_and_checked() {
    let program = load(PROGRAM.to_bytes()).expect("a good program");
    let mut copies: Vec<(Vec<u8>, String)> = Vec::new();
    let context: *mut c_void = (&raw mut copies).cast();
    // SAFETY: the handle is alive, and `copy` gets the context it expects.
    unsafe {
        assert_eq!(everypath_initial(program, Some(copy), context), EverypathStatus::Ok);
        let initial = copies[0].0.clone();
        assert_eq!(everypath_successors(program, initial.as_ptr(), initial.len(), Some(copy), context), EverypathStatus::Ok);
        assert_eq!(copies[1].1, "P(0): n++");
        let mut valid = true;
        assert_eq!(everypath_is_valid_end(program, initial.as_ptr(), initial.len(), &mut valid), EverypathStatus::Ok);
        assert!(!valid);

        let mut result = std::mem::zeroed::<EverypathResult>();
        copies.clear();
        assert_eq!(everypath_check(program, ptr::null(), Some(copy), context, &mut result), EverypathStatus::Ok);
        assert_eq!((result.verdict, result.states), (EverypathVerdict::Violated, 200));
        assert_eq!(copies.len(), 200, "the visitor is told the steps of the trace");

        let options = EverypathOptions { depth: 5, ..EverypathOptions::default() };
        assert_eq!(everypath_check(program, &options, None, ptr::null_mut(), &mut result), EverypathStatus::Ok);
        assert_eq!((result.verdict, result.states), (EverypathVerdict::Unknown, 6));
        let options = EverypathOptions { explore_only: true, depth_first: true, ..EverypathOptions::default() };
        assert_eq!(everypath_check(program, &options, None, ptr::null_mut(), &mut result), EverypathStatus::Ok);
        assert_eq!((result.verdict, result.states), (EverypathVerdict::Holds, 256));
        everypath_free(program);
    }
}

/// Counts calls, and stops at the third.
unsafe extern "C" fn watch(context: *mut c_void, progress: *const EverypathProgress) -> bool {
    // SAFETY: the test below passes a number as the context, and the library passes the promised
    // value.
    let (calls, progress) = unsafe { (&mut *context.cast::<u32>(), &*progress) };
    *calls += 1;
    assert!(progress.seconds >= 0.0);
    *calls < 3
}

/// The check would never end; the watcher ends it, and the reason can be read.
#[test]
fn a_watcher_hears_of_progress_and_can_stop_a_check() {
    let endless = c"global int n\nglobal int m\nprocess P() {\nagain: LDG n ;: n++\n LDC 1\n ADD\n STG n\n STEP N\n JMP again\n}\nprocess Q() {\nagain: LDG m ;: m++\n LDC 1\n ADD\n STG m\n STEP N\n JMP again\n}\nstart P, Q\n";
    let program = load(endless.to_bytes()).expect("a good program");
    for (threads, depth_first) in [(1, false), (2, false), (1, true)] {
        let mut calls = 0_u32;
        let context: *mut c_void = (&raw mut calls).cast();
        let options = EverypathOptions { threads, depth_first, memory_bytes: 1 << 30, watcher: Some(watch), ..EverypathOptions::default() };
        // SAFETY: the handle is alive, and `watch` gets the context it expects.
        unsafe {
            let mut result = std::mem::zeroed::<EverypathResult>();
            assert_eq!(everypath_check(program, &options, None, context, &mut result), EverypathStatus::Ok);
            assert_eq!(result.verdict, EverypathVerdict::Unknown);
        }
        assert!(calls >= 3, "{calls}");
        assert_eq!(error(), "interrupted");
    }
    // SAFETY: the handle is not used again.
    unsafe { everypath_free(program) };
}

/// Nothing defined, nothing included.
const EMPTY: EverypathReading =
    EverypathReading { defines: ptr::null(), define_count: 0, includes: ptr::null(), include_count: 0, formula: ptr::null(), time_ms: 0 };

fn read(text: &str, reading: &EverypathReading) -> Result<*mut EverypathProgram, EverypathStatus> {
    let mut program = ptr::null_mut();
    // SAFETY: all are valid pointers.
    let status = unsafe { everypath_read(c"m.pml".as_ptr(), text.as_ptr(), text.len(), reading, &mut program) };
    if program.is_null() { Err(status) } else { Ok(program) }
}

/// Checks a program and frees it.
fn check(program: *mut EverypathProgram, options: &EverypathOptions) -> EverypathResult {
    // SAFETY: the handle is alive, and not used again.
    unsafe {
        let mut result = std::mem::zeroed::<EverypathResult>();
        assert_eq!(everypath_check(program, options, None, ptr::null_mut(), &mut result), EverypathStatus::Ok, "{}", error());
        everypath_free(program);
        result
    }
}

#[test]
fn a_program_is_read_with_all_that_belongs_to_it() {
    let text = "#include \"size.h\"\nbyte n; active proctype P() { do :: n < SIZE + MORE -> n++ :: n > 0 -> n-- od }";
    let defines = [EverypathNamed { name: c"MORE".as_ptr(), text: c"2".as_ptr() }];
    let includes = [EverypathNamed { name: c"size.h".as_ptr(), text: c"#define SIZE 3\n".as_ptr() }];
    let whole = EverypathReading { defines: defines.as_ptr(), define_count: 1, includes: includes.as_ptr(), include_count: 1, ..EMPTY };
    let result = check(read(text, &whole).expect("a program"), &EverypathOptions::default());
    // Six values at the loop, and after its conditions five on the way up and five on the way down.
    assert_eq!((result.verdict, result.states), (EverypathVerdict::Holds, 16));
    assert_eq!(read(text, &EMPTY).err(), Some(EverypathStatus::BadProgram));
    assert!(error().contains("size.h"), "{}", error());
    assert_eq!(read(text, &EverypathReading { defines: ptr::null(), ..whole }).err(), Some(EverypathStatus::BadArgument));

    let never_full = EverypathReading { formula: c"[] (n < 5)".as_ptr(), ..whole };
    assert_eq!(check(read(text, &never_full).expect("a program"), &EverypathOptions::default()).verdict, EverypathVerdict::Violated);
    let sometimes_full = EverypathReading { formula: c"[] (n < 6)".as_ptr(), ..whole };
    assert_eq!(check(read(text, &sometimes_full).expect("a program"), &EverypathOptions::default()).verdict, EverypathVerdict::Holds);
    let wrong = EverypathReading { formula: c"[] (n <".as_ptr(), ..whole };
    assert_eq!(read(text, &wrong).err(), Some(EverypathStatus::BadProgram));

    let long = format!("int x; init {{ {} }}", "x = x + 1; ".repeat(50_000));
    assert_eq!(read(&long, &EverypathReading { time_ms: 1, ..EMPTY }).err(), Some(EverypathStatus::LoadTime));
}

/// Two processes that do not see each other, and a formula that only a fair run satisfies.
#[test]
fn options_choose_reduction_order_store_and_fairness() {
    let text = "byte x, y; active proctype P() { do :: x = 1 - x od } active proctype Q() { y = 1; y = 2; y = 3 }";
    let done = EverypathReading { formula: c"<> (y == 3)".as_ptr(), ..EMPTY };
    let run = |reading: &EverypathReading, options: &EverypathOptions| check(read(text, reading).expect("a program"), options);
    let plain = EverypathOptions::default();
    let mut usual = plain;
    // SAFETY: it can be written.
    assert_eq!(unsafe { everypath_usual_options(&mut usual) }, EverypathStatus::Ok);
    let (all, few) = (run(&EMPTY, &plain), run(&EMPTY, &usual));
    assert_eq!((all.verdict, few.verdict), (EverypathVerdict::Holds, EverypathVerdict::Holds));
    assert!(few.states < all.states, "{few:?} {all:?}");

    assert_eq!(run(&done, &usual).verdict, EverypathVerdict::Violated);
    let fair = EverypathOptions { fairness: c"weak".as_ptr(), ..usual };
    assert_eq!(run(&done, &fair).verdict, EverypathVerdict::Holds);

    let lossy = EverypathOptions { store: c"hash".as_ptr(), order: c"dfs".as_ptr(), ..plain };
    let result = run(&EMPTY, &lossy);
    assert_eq!((result.verdict, result.states), (EverypathVerdict::Unknown, all.states));

    for wrong in [
        EverypathOptions { store: c"drawer".as_ptr(), ..plain },
        EverypathOptions { order: c"best".as_ptr(), ..plain },
        EverypathOptions { fairness: c"perfect".as_ptr(), ..plain },
        EverypathOptions { store: c"cache".as_ptr(), ..plain },
    ] {
        let program = read(text, &EMPTY).expect("a program");
        // SAFETY: the handle is alive, and freed once.
        unsafe {
            let mut result = std::mem::zeroed::<EverypathResult>();
            assert_eq!(everypath_check(program, &wrong, None, ptr::null_mut(), &mut result), EverypathStatus::BadOptions);
            everypath_free(program);
        }
        assert!(!error().is_empty());
    }
}

#[test]
fn whatever_is_wrong_is_a_status_with_a_sentence() {
    assert_eq!(load(b"process P( {").err(), Some(EverypathStatus::BadProgram));
    assert!(error().contains("p.epa:1:"), "{}", error());
    assert_eq!(load(b"\xff\xff").err(), Some(EverypathStatus::BadProgram));
    let broken = b"process P() {\n local byte x\n.prologue\n LDC 1\n LDC 0\n DIV\n STL x\n RET\n.entry\n STEP T\n}\nstart P\n";
    let unborn = load(broken).expect("well-formed");
    let program = load(PROGRAM.to_bytes()).expect("a good program");
    // SAFETY: these functions must recognise null and wrong states; the handles are alive.
    unsafe {
        assert_eq!(everypath_load(ptr::null(), ptr::null(), 0, ptr::null_mut()), EverypathStatus::BadArgument);
        let mut handle = ptr::null_mut();
        assert_eq!(everypath_load(ptr::null(), ptr::null(), 0, &mut handle), EverypathStatus::BadArgument);
        assert_eq!(everypath_load(c"p.epa".as_ptr(), ptr::null(), 3, &mut handle), EverypathStatus::BadArgument);
        assert_eq!(everypath_load(c"\xff.epa".as_ptr(), ptr::null(), 0, &mut handle), EverypathStatus::BadArgument);
        assert!(handle.is_null());
        assert_eq!(everypath_initial(ptr::null(), None, ptr::null_mut()), EverypathStatus::BadArgument);
        assert_eq!(everypath_initial(unborn, None, ptr::null_mut()), EverypathStatus::NoInitialState);
        assert!(error().contains("division"), "{}", error());
        assert_eq!(everypath_successors(program, [1, 2, 3].as_ptr(), 3, None, ptr::null_mut()), EverypathStatus::BadState);
        assert_eq!(everypath_successors(program, ptr::null(), 0, None, ptr::null_mut()), EverypathStatus::BadState);
        assert_eq!(everypath_is_valid_end(program, ptr::null(), 0, ptr::null_mut()), EverypathStatus::BadArgument);
        assert_eq!(everypath_check(program, ptr::null(), None, ptr::null_mut(), ptr::null_mut()), EverypathStatus::BadArgument);
        everypath_free(ptr::null_mut());
        everypath_free(program);
        everypath_free(unborn);
    }
}
