//! Builds programs from arbitrary decisions and passes them to both engines: native code and the
//! interpreter must not differ.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|decisions: &[u8]| {
    let Ok(program) = bytecode::verify(bytecode::testing::program(decisions)) else { return };
    let program = Arc::new(program);
    let asked = testkit::engines::propositions(&program);
    let Ok(native) = jit::Native::compile(program.clone()) else { return };
    let mut native = native.watching(Arc::clone(&asked));
    let mut reference = vm::Interpreter::new(program).watching(asked);
    if let Err(difference) = testkit::engines::compare(&mut reference, &mut native, 40) {
        panic!("{difference}");
    }
});
