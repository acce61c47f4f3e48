//! Native code of runs does what the instruction loop does: same actions, same states, same faults.

use bytecode::Verified;
use lf::{Options, Queues, Request};
use runtime::{EarliestDeadline, NoDevices, RoundRobin, RunEnd, RunLimits, Runner, Scheduler, Shuffled};
use source::SourceMap;
use std::sync::Arc;

/// A program as byte-code; none if it is refused, as one with a constant that fails is.
fn compile(text: &str, options: Options) -> Option<Arc<Verified>> {
    let folder = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../models/lf");
    let mut loader = |wanted: &str, _: &str| {
        let text = std::fs::read_to_string(folder.join(wanted)).map_err(|error| error.to_string())?;
        Ok((wanted.to_owned(), text))
    };
    compile_with(text, options, &mut loader)
}

fn compile_with(text: &str, options: Options, loader: &mut dyn lf::Loader) -> Option<Arc<Verified>> {
    let mut map = SourceMap::new();
    let file = map.add("test.lf", text);
    let compiled = lf::compile(&mut map, file, loader, Request { options, ..Request::default() });
    Some(Arc::new(bytecode::verify(compiled.program?).unwrap_or_else(|error| panic!("{text}\n{error}"))))
}

/// How a run ended, where, after how many actions and communications, and what it printed.
#[derive(PartialEq, Eq, Debug)]
struct Ran {
    end: RunEnd,
    state: Vec<u8>,
    actions: u64,
    communications: u64,
    printed: String,
}

fn run(program: &Arc<Verified>, seed: u64, actions: u64, native: bool, recorded: usize) -> Ran {
    let scheduler: Box<dyn Scheduler> = match seed % 4 {
        0 => Box::new(RoundRobin::default()),
        1 => Box::new(EarliestDeadline::default()),
        _ => Box::new(Shuffled::new(seed)),
    };
    let limits = RunLimits { actions: Some(actions), recorded, ..RunLimits::default() };
    let mut runner = Runner::new(program, scheduler, seed, Box::new(NoDevices), limits).expect("it can be run");
    if native {
        runner.accelerate(|code| Some(Box::new(jit::Actions::new(code).expect("code for this machine"))));
    }
    let mut printed = String::new();
    let end = runner.run(&mut |text| printed.push_str(text));
    let (mut state, figures) = (runner.state(), runner.figures());
    // An action that never ends is given up somewhere on its way.
    if matches!(&end, RunEnd::Fault(fault) if fault.kind.name() == "endless sequence") {
        state.clear();
    }
    if recorded > 0 {
        assert!(runner.into_trace().is_some_and(|trace| trace.is_ok()), "an action is not in the graph");
    }
    Ran { end, state, actions: figures.actions, communications: figures.communications, printed }
}

fn compare(text: &str, options: Options, seed: u64, actions: u64) -> Option<RunEnd> {
    compare_program(&compile(text, options)?, text, seed, actions)
}

fn compare_program(program: &Arc<Verified>, text: &str, seed: u64, actions: u64) -> Option<RunEnd> {
    let expected = run(program, seed, actions, false, 0);
    // Nobody watches, and the actions are the quick ones; or each of them is looked up.
    for recorded in [0, actions as usize] {
        let found = run(program, seed, actions, true, recorded);
        assert_eq!(found, expected, "seed {seed}, {recorded} recorded:\n{text}");
    }
    Some(expected.end)
}

#[test]
fn a_thousand_random_programs() {
    for seed in 0..1000 {
        let random = testkit::lf::Program::random(seed);
        let text = random.text();
        let queues = if seed % 5 == 4 { Queues::Fifo } else { Queues::Sorted };
        let program = compile_with(&text, Options { queues, ..Options::default() }, &mut random.loader()).expect("it is a program");
        compare_program(&program, &text, seed, 150);
    }
}

#[test]
fn every_model() {
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/lf")).expect("the folder") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        // Runs that depend on time differ from each other.
        if text.contains(" DEADLINE ") || text.contains(" PERIOD ") {
            continue;
        }
        for seed in 0..4 {
            compare(&text, Options::default(), seed, 300).expect("it is a program");
        }
    }
}

/// A process that computes with numbers of all types, in loops, conditions and calls.
fn arithmetic(seed: u64) -> String {
    let mut numbers = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut below = |n: u64| splitmix::next(&mut numbers) % n;
    const PLACES: [(&str, &str); 11] = [
        ("a", "INTEGER"),
        ("b", "INT16"),
        ("c", "INT8"),
        ("d", "UINT8"),
        ("e", "UINT16"),
        ("g", "INTEGER"),
        ("h", "INT8"),
        ("v[1]", "INT16"),
        ("w[0]", "INTEGER"),
        ("r.x", "INT8"),
        ("u", "UINT32"),
    ];
    fn value(below: &mut dyn FnMut(u64) -> u64, depth: u64) -> String {
        if depth == 0 {
            return match below(4) {
                0 => (below(40)).to_string(),
                1 => [2147483647_i64, 1, 2, 127, 255, 1000, 65535, 3000000000][below(8) as usize].to_string(),
                _ => PLACES[below(11) as usize].0.to_owned(),
            };
        }
        let (x, y) = (value(below, depth - 1), value(below, depth - 1));
        match below(9) {
            0 | 1 => format!("({x} + {y})"),
            2 => format!("({x} - {y})"),
            3 => format!("({x} * {y})"),
            4 => format!("({x} DIV ({y} + g))"),
            5 => format!("({x} MOD ({y} + h))"),
            6 => format!("(-({x}))"),
            7 => format!("ABS({x})"),
            _ => format!("w[({x}) MOD 3]"),
        }
    }
    fn statements(below: &mut dyn FnMut(u64) -> u64, depth: u64) -> String {
        let mut all = Vec::new();
        for _ in 0..1 + below(4) {
            let (place, ty) = PLACES[below(11) as usize];
            let x = value(below, 2);
            let test = format!("{} {} {}", value(below, 1), ["<", "<=", "=", "#", ">", ">="][below(6) as usize], value(below, 1));
            all.push(match below(if depth == 0 { 5 } else { 11 }) {
                0..=2 => format!("{place} := {ty}(({x}) MOD 100)"),
                3 => format!("{place} := {ty}({x})"),
                4 => format!("v[({x}) MOD 4] := INT16({place})"),
                5 => format!("IF {test} THEN {} ELSE {} END", statements(below, depth - 1), statements(below, depth - 1)),
                6 | 7 => format!("FOR i{depth} := 0 TO {} DO {} END", below(9), statements(below, depth - 1)),
                8 => "RESCHEDULE".to_owned(),
                9 => format!("Call({place}, {x})"),
                _ => format!("Out.Int({x})"),
            });
        }
        all.join(";\n")
    }
    let call = statements(&mut below, 0);
    let body = statements(&mut below, 3);
    let body = body.replace("Call(", "P(");
    let call = call.replace("Call(", "Other(");
    // Only a variable of the right type can be passed by reference.
    let body = body.replace("P(b,", "P(a,").replace("P(c,", "P(a,").replace("P(d,", "P(a,").replace("P(e,", "P(g,");
    let body = body.replace("P(h,", "P(g,").replace("P(v[1],", "P(w[2],").replace("P(r.x,", "P(w[1],").replace("P(u,", "P(w[0],");
    format!(
        "MODULE M; IMPORT Out;
         VAR g : INTEGER; h : INT8; w : ARRAY 3 OF INTEGER;
         PROCESS Work;
         VAR a : INTEGER; u : UINT32; b : INT16; c : INT8; d : UINT8; e : UINT16; v : ARRAY 4 OF INT16; r : RECORD x, y : INT8 END;
             i1, i2, i3 : INTEGER;
           PROCESS P(VAR out : INTEGER; in : INTEGER);
           BEGIN {call}; out := in
           END P;
         BEGIN {body}
         END Work;
         BEGIN g := 3; h := 5; w[1] := 9; CREATE Work
         END M."
    )
}

#[test]
fn random_arithmetic() {
    let mut ends = [0; 3];
    for seed in 0..600 {
        let text = arithmetic(seed);
        ends[match compare(&text, Options::default(), seed, 200) {
            Some(RunEnd::Finished) => 0,
            Some(RunEnd::Fault(_)) => 1,
            _ => 2,
        }] += 1;
    }
    assert!(ends[0] > 50 && ends[1] > 50, "{ends:?}");
}

#[test]
fn long_actions() {
    let counts = "MODULE M; VAR i, s : INTEGER; a : ARRAY 10 OF INT16;
        BEGIN WHILE i < 100000 DO s := (s + i MOD 7) MOD 1000; a[i MOD 10] := INT16(s); INC(i) END; ASSERT s = 995 END M.";
    assert_eq!(compare(counts, Options::default(), 0, 10), Some(RunEnd::Finished));
    let endless = "MODULE M; VAR i : INTEGER; BEGIN WHILE TRUE DO i := (i + 1) MOD 100 END END M.";
    let end = compare(endless, Options::default(), 0, 10);
    assert!(matches!(end, Some(RunEnd::Fault(_))), "{end:?}");
    // This code is too long for one function.
    let long = format!("MODULE M; VAR i : INTEGER; BEGIN {} ASSERT i = 2000 END M.", "INC(i); ".repeat(2000));
    assert_eq!(compare(&long, Options::default(), 0, 10), Some(RunEnd::Finished));
}
