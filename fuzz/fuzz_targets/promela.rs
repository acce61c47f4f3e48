//! Passes arbitrary text to the Promela front-end. The verifier must accept every program that the
//! front-end accepts.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut map = source::SourceMap::new();
    let file = map.add("fuzz.pml", text);
    let mut none = |wanted: &str, _: &str| Err::<promela::Included, _>(format!("there is no file `{wanted}`"));
    let compiled = promela::compile(&mut map, file, &mut none, &[]);
    if let Some(program) = compiled.program {
        bytecode::verify(program).expect("what the front-end makes is well formed");
    }
});
