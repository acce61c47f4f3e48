//! Passes arbitrary text to the LF front-end, and runs the programs that it accepts. Each action
//! must be a transition of the reference interpreter, and native code must reach the same state.
#![no_main]

mod lf_input;

use lf_input::Input;
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;
use std::time::Duration;

fuzz_target!(|text: &str| {
    let input = Input::of(text);
    let mut map = source::SourceMap::new();
    let file = map.add("fuzz.lf", input.main);
    let mut loader = |wanted: &str, _: &str| input.load(wanted);
    let request = lf::Request { options: input.options, formulas: &input.formulas, ..lf::Request::default() };
    let compiled = lf::compile(&mut map, file, &mut loader, request);
    let Some(program) = compiled.program else { return };
    let program = Arc::new(bytecode::verify(program).expect("what the front-end makes is well formed"));
    let time = Some(Duration::from_millis(200));
    let seed = text.len() as u64;
    let runner = |recorded: usize| {
        let limits = runtime::RunLimits { actions: Some(200), time, recorded, ..runtime::RunLimits::default() };
        let scheduler = Box::new(runtime::Shuffled::new(seed));
        runtime::Runner::new(&program, scheduler, seed, Box::new(runtime::NoDevices), limits).expect("LF can be run")
    };
    let mut slow = runner(200);
    let end = slow.run(&mut |_| {});
    let mut fast = runner(0);
    fast.accelerate(|code| jit::Actions::new(code).ok().map(|actions| Box::new(actions) as Box<dyn runtime::Native>));
    let found = fast.run(&mut |_| {});
    // Runs that depend on time differ from each other.
    let timed = text.contains("PERIOD") || text.contains("DEADLINE");
    if !timed && end != runtime::RunEnd::Time && found != runtime::RunEnd::Time {
        // An action that never ends is given up somewhere on its way.
        let endless = matches!(&end, runtime::RunEnd::Fault(fault) if fault.kind.name() == "endless sequence");
        assert_eq!(found, end, "native code does something else");
        assert!(endless || fast.state() == slow.state(), "native code does something else");
    }
    assert!(slow.into_trace().is_some_and(|trace| trace.is_ok()), "an action is not in the graph");
});
