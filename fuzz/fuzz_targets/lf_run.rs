//! Arbitrary text to the LF front-end, and what it accepts to the run time: each action must be a
//! transition that the reference interpreter knows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::Arc;
use std::time::Duration;

fuzz_target!(|text: &str| {
    let mut map = source::SourceMap::new();
    let file = map.add("fuzz.lf", text);
    let mut none = |wanted: &str, _: &str| Err::<(String, String), _>(format!("there is no file `{wanted}`"));
    let options = lf::Options { host: text.len() % 2 == 0, ..lf::Options::default() };
    let compiled = lf::compile(&mut map, file, &mut none, lf::Request { options, ..lf::Request::default() });
    let Some(program) = compiled.program else { return };
    let program = Arc::new(bytecode::verify(program).expect("what the front-end makes is well formed"));
    let time = Some(Duration::from_millis(200));
    let limits = runtime::RunLimits { actions: Some(200), time, recorded: 200, ..runtime::RunLimits::default() };
    let seed = text.len() as u64;
    let scheduler = Box::new(runtime::Shuffled::new(seed));
    let mut runner = runtime::Runner::new(&program, scheduler, seed, Box::new(runtime::NoDevices), limits).expect("LF can be run");
    runner.run(&mut |_| {});
    assert!(runner.into_trace().is_some_and(|trace| trace.is_ok()), "an action is not in the graph");
});
