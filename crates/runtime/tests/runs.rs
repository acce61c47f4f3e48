//! Runs are paths of the checked graph, and end where the graph ends.

use bytecode::Verified;
use contract::{Successors, System};
use lf::{Options, Queues, Request};
use runtime::{EarliestDeadline, NoDevices, RoundRobin, RunEnd, RunLimits, Runner, Scheduler, Shuffled};
use source::SourceMap;
use std::sync::Arc;

/// The folder of the models.
fn models() -> std::path::PathBuf {
    std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../models/lf")
}

fn compile(text: &str, options: Options) -> Arc<Verified> {
    let mut loader = |wanted: &str, _: &str| {
        let text = std::fs::read_to_string(models().join(wanted)).map_err(|error| error.to_string())?;
        Ok((wanted.to_owned(), text))
    };
    compile_with(text, options, &mut loader)
}

fn compile_with(text: &str, options: Options, loader: &mut dyn lf::Loader) -> Arc<Verified> {
    let mut map = SourceMap::new();
    let file = map.add("test.lf", text);
    let compiled = lf::compile(&mut map, file, loader, Request { options, ..Request::default() });
    let program = compiled.program.unwrap_or_else(|| panic!("{text}\n{}", source::render_all(&map, &compiled.diagnostics)));
    Arc::new(bytecode::verify(program).unwrap_or_else(|error| panic!("{text}\n{error}")))
}

fn scheduler(seed: u64) -> Box<dyn Scheduler> {
    match seed % 4 {
        0 => Box::new(RoundRobin::default()),
        1 => Box::new(EarliestDeadline::default()),
        _ => Box::new(Shuffled::new(seed)),
    }
}

/// Runs a program and compares its path with the reference interpreter.
fn run(program: &Arc<Verified>, seed: u64, text: &str) -> RunEnd {
    let limits = RunLimits { actions: Some(120), recorded: 120, ..RunLimits::default() };
    let mut runner = Runner::new(program, scheduler(seed), seed, Box::new(NoDevices), limits).unwrap_or_else(|why| panic!("{text}\n{why}"));
    let end = runner.run(&mut |_| {});
    let state = runner.state();
    let actions = runner.figures().actions;
    let trace = runner.into_trace().expect("it was recorded");
    let trace = trace.unwrap_or_else(|trace| panic!("seed {seed}: action {} is not in the graph:\n{text}", trace.steps.len() + 1));
    assert_eq!(trace.steps.len() as u64, actions, "seed {seed}:\n{text}");
    let mut system = vm::Interpreter::new(Arc::clone(program));
    let mut out = Successors::new();
    match &end {
        RunEnd::Finished | RunEnd::Deadlock(_) => {
            assert_eq!(trace.last_state(), state, "seed {seed}, {end:?}:\n{text}");
            system.successors(&state, &mut out);
            assert!(out.is_empty(), "seed {seed}: the run ended with {end:?} where the graph goes on:\n{text}");
            assert_eq!(system.is_valid_end(&state), end == RunEnd::Finished, "seed {seed}:\n{text}");
        }
        RunEnd::Actions => assert_eq!(trace.last_state(), state, "seed {seed}:\n{text}"),
        RunEnd::Fault(_) => {}
        other => panic!("seed {seed}: {other:?}"),
    }
    end
}

#[test]
fn a_thousand_random_runs_are_paths_of_the_graph() {
    let mut ends = [0; 4];
    for seed in 0..1000 {
        let random = testkit::lf::Program::random(seed);
        let text = random.text();
        let queues = if seed % 5 == 4 { Queues::Fifo } else { Queues::Sorted };
        let program = compile_with(&text, Options { queues, ..Options::default() }, &mut random.loader());
        ends[match run(&program, seed, &text) {
            RunEnd::Finished => 0,
            RunEnd::Deadlock(_) => 1,
            RunEnd::Fault(_) => 2,
            _ => 3,
        }] += 1;
    }
    // All kinds of ends occur.
    assert!(ends.iter().all(|count| *count > 0), "{ends:?}");
}

/// A process that ends too late has missed its deadline, whether it waited before or not; so has
/// one that still runs when the run ends.
#[test]
fn late_ends_are_missed_deadlines() {
    let missed = |head: &str, body: &str| {
        let text = format!(
            "MODULE M; TYPE T = [go]; PORT p : T; VAR k : INTEGER;
             PROCESS Hog {head}; VAR i : INTEGER; BEGIN {body} END Hog;
             PROCESS Other; BEGIN RESCHEDULE; RESCHEDULE END Other;
             BEGIN NEW(p); CREATE Hog; CREATE Other; p?go END M."
        );
        let limits = RunLimits { actions: Some(200), ..RunLimits::default() };
        let program = compile(&text, Options::default());
        let mut runner = Runner::new(&program, Box::new(RoundRobin::default()), 1, Box::new(NoDevices), limits).expect("it runs");
        runner.run(&mut |_| {});
        runner.figures().missed
    };
    let work = "FOR i := 0 TO 3000000 DO k := i MOD 7 END";
    assert_eq!(missed("DEADLINE 1", &format!("{work}; p!go")), 1);
    assert_eq!(missed("DEADLINE 1", &format!("p!go; {work}")), 1);
    assert_eq!(missed("DEADLINE 1", &format!("{work}; p!go; WHILE TRUE DO RESCHEDULE END")), 1);
    assert_eq!(missed("DEADLINE 60000", &format!("{work}; p!go")), 0);
    assert_eq!(missed("", &format!("{work}; p!go")), 0);
}

#[test]
fn every_model_runs() {
    for entry in std::fs::read_dir(models()).expect("the folder") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        for queues in [Queues::Sorted, Queues::Fifo] {
            let program = compile(&text, Options { queues, ..Options::default() });
            for seed in 0..4 {
                run(&program, seed, &path.display().to_string());
            }
        }
    }
}

/// Randomly damaged texts: programs that still compile run within their limits, and each action is
/// in the graph.
#[test]
fn damaged_programs_run_within_their_limits() {
    let mut state = 11_u64;
    let mut below = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n.max(1)
    };
    let (mut ran, mut refused) = (0, 0);
    for entry in std::fs::read_dir(models()).expect("the folder") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        let body = text.split_once("*)").map_or(text.as_str(), |(_, body)| body);
        // Words and signs, with the blanks after them.
        let words: Vec<&str> = body.split_inclusive(|c: char| !c.is_alphanumeric()).collect();
        for _ in 0..40 {
            let mut damaged: Vec<&str> = words.clone();
            for _ in 0..1 + below(3) {
                let (at, other) = (below(damaged.len()), below(words.len()));
                match below(3) {
                    0 => drop(damaged.remove(at)),
                    1 => damaged[at] = words[other],
                    _ => damaged.insert(at, words[other]),
                }
            }
            let damaged = damaged.concat();
            let mut map = SourceMap::new();
            let file = map.add("damaged.lf", &damaged);
            let mut loader = |wanted: &str, _: &str| {
                let text = std::fs::read_to_string(models().join(wanted)).map_err(|error| error.to_string())?;
                Ok((wanted.to_owned(), text))
            };
            let Some(program) = lf::compile(&mut map, file, &mut loader, Request::default()).program else {
                refused += 1;
                continue;
            };
            let program = Arc::new(bytecode::verify(program).unwrap_or_else(|error| panic!("{damaged}\n{error}")));
            let time = Some(std::time::Duration::from_millis(300));
            let limits = RunLimits { actions: Some(60), recorded: 60, time, ..RunLimits::default() };
            let seed = ran as u64;
            let mut runner = Runner::new(&program, scheduler(seed), seed, Box::new(NoDevices), limits).expect("LF can be run");
            runner.run(&mut |_| {});
            assert!(runner.into_trace().is_some_and(|trace| trace.is_ok()), "an action is not in the graph:\n{damaged}");
            ran += 1;
        }
    }
    assert!(ran > 50 && refused > 50, "{ran} ran, {refused} were refused");
}
