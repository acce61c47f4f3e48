//! Passes arbitrary text to the LF front-end. The verifier must accept every program that the
//! front-end accepts.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut map = source::SourceMap::new();
    let file = map.add("fuzz.lf", text);
    let mut none = |wanted: &str, _: &str| Err::<(String, String), _>(format!("there is no file `{wanted}`"));
    let compiled = lf::compile(&mut map, file, &mut none, lf::Request::default());
    if let Some(program) = compiled.program {
        bytecode::verify(program).expect("what the front-end makes is well formed");
    }
});
