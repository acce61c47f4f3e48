//! Runs are paths of the checked graph, and end where the graph ends.

use bytecode::Verified;
use contract::{Successors, System};
use lf::{Options, Queues, Request};
use runtime::{EarliestDeadline, NoDevices, RoundRobin, RunEnd, RunLimits, Runner, Scheduler, Shuffled, TimeSource};
use source::SourceMap;
use std::sync::Arc;
use std::time::Duration;

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

/// Time that passes only when somebody looks at it or sleeps, so that a test does not depend on the
/// machine.
struct Simulated {
    now: Duration,
    /// The time between two looks; an action takes a few of them.
    look: Duration,
}

impl TimeSource for Simulated {
    fn now(&mut self) -> Duration {
        self.now += self.look;
        self.now
    }

    fn sleep(&mut self, time: Duration) {
        self.now += time;
    }
}

/// The end of a run in simulated time, the number of missed deadlines, and what was printed.
fn timed(program: &Arc<Verified>, scheduler: Box<dyn Scheduler>, look: Duration, actions: u64) -> (RunEnd, u64, String) {
    let limits = RunLimits { actions: Some(actions), ..RunLimits::default() };
    let mut runner = Runner::new(program, scheduler, 1, Box::new(NoDevices), limits).expect("it runs");
    runner.measure_time_by(Box::new(Simulated { now: Duration::ZERO, look }));
    let mut printed = String::new();
    let end = runner.run(&mut |text| printed.push_str(text));
    (end, runner.figures().missed, printed)
}

/// A process that continues after it has slept has a deadline again: it comes first, and it is late
/// if its only action takes too long.
#[test]
fn every_period_has_a_deadline() {
    let text = "MODULE M; IMPORT Out;
        PROCESS Idle(n : INTEGER) DEADLINE 60000; BEGIN WHILE TRUE DO RESCHEDULE END END Idle;
        PROCESS Often PERIOD 2 DEADLINE 1; BEGIN Out.Int(1) END Often;
        VAR i : INTEGER;
        BEGIN FOR i := 1 TO 200 DO CREATE Idle(i) END; CREATE Often END M.";
    let program = compile(text, Options::default());
    // An action of a process with a deadline looks at the time. So 200 actions last longer than
    // 1 ms, and a few actions do not.
    let look = Duration::from_micros(20);
    let (_, missed, printed) = timed(&program, Box::new(EarliestDeadline::default()), look, 5000);
    assert_eq!(missed, 0);
    assert!(printed.len() > 40, "{printed}");
    let (_, missed, printed) = timed(&program, Box::new(RoundRobin::default()), look, 5000);
    assert!(missed + 2 >= printed.len() as u64 && missed > 15, "{missed} of {printed}");
}

/// A process is released when its period begins, also if other processes never rest.
#[test]
fn periods_begin_on_time() {
    let text = "MODULE M; IMPORT Out; VAR n : INTEGER;
        PROCESS Busy; BEGIN WHILE TRUE DO INC(n); RESCHEDULE END END Busy;
        PROCESS Tick PERIOD 1 DEADLINE 1; BEGIN Out.Int(n); Out.Char(' '); n := 0 END Tick;
        BEGIN CREATE Busy; CREATE Tick END M.";
    let program = compile(text, Options::default());
    let (_, missed, printed) = timed(&program, Box::new(EarliestDeadline::default()), Duration::from_micros(100), 1000);
    assert_eq!(missed, 0);
    let between: Vec<u32> = printed.split_whitespace().skip(1).map(|word| word.parse().expect("a number")).collect();
    assert!(between.len() > 100, "{printed}");
    // There is room for at most ten actions in a period, and the periods are equally long.
    let (least, most) = (between.iter().min().expect("one"), between.iter().max().expect("one"));
    assert!(*most <= 10 && most - least <= 2, "{printed}");
}

/// The lamps and the controller keep their deadlines, as the header of the model says, if an action
/// takes less than a tenth of a millisecond; and they do not if it takes some milliseconds.
#[test]
fn the_traffic_light_keeps_its_deadlines() {
    let text = std::fs::read_to_string(models().join("traffic_light.lf")).expect("a text");
    let program = compile(&text, Options::default());
    let missed = |look| {
        let (end, missed, _) = timed(&program, Box::new(EarliestDeadline::default()), look, 20_000);
        assert_eq!(end, RunEnd::Actions);
        missed
    };
    assert_eq!(missed(Duration::from_micros(20)), 0);
    assert!(missed(Duration::from_millis(3)) > 100);
}

/// A long run is recorded from some state in its middle to its end.
#[test]
fn the_end_of_a_long_run_is_recorded() {
    let text = "MODULE M; VAR n : INTEGER; BEGIN WHILE n < 1000 DO INC(n); RESCHEDULE END; ASSERT FALSE END M.";
    let program = compile(text, Options::default());
    let limits = RunLimits { recorded: 20, ..RunLimits::default() };
    let mut runner = Runner::new(&program, scheduler(0), 0, Box::new(NoDevices), limits).expect("it runs");
    assert!(matches!(runner.run(&mut |_| {}), RunEnd::Fault(_)));
    let trace = runner.into_trace().expect("it was recorded").expect("its actions are in the graph");
    assert_eq!(trace.steps.len(), 20);
    let mut system = vm::Interpreter::new(Arc::clone(&program));
    let mut out = Successors::new();
    system.successors(trace.state_after(19).expect("a state"), &mut out);
    assert!(out.iter().any(|(entry, _)| entry.fault().is_some()));
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
