//! Programs made of arbitrary decisions to both engines: native code and the interpreter must not differ.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

const DESCRIBE: jit::Describe = jit::Describe { fault: vm::describe_fault, components: vm::component_ends };

fuzz_target!(|decisions: &[u8]| {
    let Ok(program) = bytecode::verify(bytecode::testing::program(decisions)) else { return };
    let program = Arc::new(program);
    let Ok(mut native) = jit::Native::compile(program.clone(), DESCRIBE) else { return };
    let mut reference = vm::Interpreter::new(program);
    if let Err(difference) = testkit::engines::compare(&mut reference, &mut native, 40) {
        panic!("{difference}");
    }
});
