//! Passes arbitrary text to the LF front-end. The verifier must accept every program that the
//! front-end accepts.
#![no_main]

mod lf_input;

use lf_input::Input;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let input = Input::of(text);
    let mut map = source::SourceMap::new();
    let file = map.add("fuzz.lf", input.main);
    let mut loader = |wanted: &str, _: &str| input.load(wanted);
    let request = lf::Request { options: input.options, formulas: &input.formulas, ..lf::Request::default() };
    let compiled = lf::compile(&mut map, file, &mut loader, request);
    if let Some(program) = compiled.program {
        bytecode::verify(program).expect("what the front-end makes is well formed");
    }
});
