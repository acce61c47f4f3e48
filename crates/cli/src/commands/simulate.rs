//! `everypath simulate`: one run, random or chosen step by step.
//!
//! Prompts go to standard error, so that standard output is the run and nothing else.

use crate::args::SimulateArguments;
use crate::failure::Failure;
use crate::input::{self, Model};
use crate::output::Output;
use crate::{Exit, interrupt, say};
use contract::{Cancel, Fault, Trace, TraceStep};
use replay::{Moves, Narrator, ReplayError, Step};
use report::json::{self, ProcessJson, StepJson, ViolationJson};
use report::{Printer, Witness, fault_text, processes_text, values_text};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    /// No process can move, and that is fine.
    Finished,
    /// Something is wrong.
    Fault(Fault),
    /// As many steps as wanted.
    Steps,
    /// The user had enough.
    Quit,
}

impl End {
    fn name(&self) -> &'static str {
        match self {
            End::Finished => "end",
            End::Fault(_) => "violated",
            End::Steps => "steps",
            End::Quit => "interrupted",
        }
    }
}

/// The answer as JSON.
#[derive(Serialize)]
struct SimulateJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    steps: usize,
    end: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    violation: Option<ViolationJson>,
    trace: Vec<StepJson>,
    values: BTreeMap<String, String>,
    /// Where each process stands at the end.
    processes: Vec<ProcessJson>,
}

pub fn run(arguments: &SimulateArguments) -> Result<Exit, Failure> {
    if arguments.interactive && input::is_standard_input(&arguments.model.model) {
        return Err(Failure::Call("standard input cannot give both the model and the choices: put the model into a file".to_owned()));
    }
    let model = input::model(&arguments.model.model, &arguments.model.defines)?;
    let narrator = Narrator::new(Arc::clone(&model.program));
    let (start, fault) = start(arguments, &narrator)?;
    let seed = arguments.seed.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.subsec_nanos().into()));
    let cancel = interrupt::on_signal();
    let mut chooser = match arguments.interactive {
        true => Chooser::Person(Lines::of_standard_input(cancel.clone()).map_err(|error| Failure::read("-", error))?),
        false => Chooser::Random(seed),
    };

    let talk = !arguments.output.json;
    if talk {
        let how = if arguments.interactive { String::new() } else { format!(", seed {seed}") };
        say(&format!("{}{how}\n{}", model.name, values_text(&model.program, &start)));
    }
    let outputs = Outputs::new(arguments, &model)?;
    let mut run = Run { model: &model, narrator, trace: Trace { initial: start, ..Trace::default() }, steps: Vec::new() };
    let end = match fault {
        Some(fault) => End::Fault(fault),
        None => run.walk(arguments, &mut chooser, &cancel, talk)?,
    };
    run.save(&outputs, &end)?;
    if talk {
        run.tell_end(&end);
    } else {
        let view = replay::view(&model.program, run.trace.last_state());
        let values = view.map(|view| view.values()).unwrap_or_default();
        say(&json::line(&SimulateJson {
            seed: (!arguments.interactive).then_some(seed),
            steps: run.steps.len(),
            end: end.name(),
            violation: if let End::Fault(fault) = &end { Some(fault.into()) } else { None },
            trace: json::steps(&run.steps, &json::views(&model.program, &run.trace)),
            values: values.into_iter().map(|named| (named.name, named.value)).collect(),
            processes: json::processes(&model.program, run.trace.last_state()),
        }));
    }
    Ok(if matches!(end, End::Fault(_)) { Exit::Violated } else { Exit::Fine })
}

/// Where the run begins, and what is wrong there already.
fn start(arguments: &SimulateArguments, narrator: &Narrator) -> Result<(Vec<u8>, Option<Fault>), Failure> {
    let Some(path) = &arguments.from else {
        let (state, fault) = narrator.initial();
        return Ok((state.unwrap_or_default(), fault));
    };
    let trace: Trace = input::text(path)?.parse().map_err(|error| Failure::Call(format!("{}: {error}", path.display())))?;
    let state = trace.last_state().to_vec();
    let wrong = |error| Failure::Replay { path: path.clone(), error: ReplayError::State(error) };
    replay::view(narrator.program(), &state).map_err(wrong)?;
    Ok((state, None))
}

/// What is left of a run.
struct Outputs {
    state: Option<Output>,
    trace: Option<Output>,
}

impl Outputs {
    fn new(arguments: &SimulateArguments, model: &Model) -> Result<Outputs, Failure> {
        // The state it began from may be replaced by the one it ended in.
        let state = arguments.save.as_deref().map(|path| Output::new(path, &model.files)).transpose()?;
        let others: Vec<_> = model.files.iter().chain(&arguments.from).chain(&arguments.save).collect();
        let trace = arguments.trace.as_deref().map(|path| Output::new(path, &others)).transpose()?;
        Ok(Outputs { state, trace })
    }
}

/// A run under way.
struct Run<'m> {
    model: &'m Model,
    narrator: Narrator,
    trace: Trace,
    steps: Vec<Step>,
}

impl Run<'_> {
    fn walk(&mut self, arguments: &SimulateArguments, chooser: &mut Chooser, cancel: &Cancel, talk: bool) -> Result<End, Failure> {
        let mut printer = Printer::new(&self.model.program, &self.trace.initial);
        loop {
            if cancel.is_cancelled() {
                return Ok(End::Quit);
            }
            if self.steps.len() as u64 >= arguments.steps {
                return Ok(End::Steps);
            }
            let state = self.trace.last_state().to_vec();
            let mut enabled = self.narrator.moves(&state).map_err(|error| Failure::Call(error.to_string()))?;
            if enabled.is_empty() {
                return Ok(self.narrator.deadlock(&state).map_or(End::Finished, End::Fault));
            }
            let Some(choice) = chooser.choose(&mut enabled, || values_text(&self.model.program, &state)) else { return Ok(End::Quit) };
            let Some(step) = enabled.tell(choice) else { return Ok(End::Quit) };
            if talk {
                say(&printer.step(&step));
                if let (true, Some(state)) = (arguments.values, &step.state) {
                    say(&format!("{}{}", values_text(&self.model.program, state), processes_text(&self.model.program, state)));
                }
            }
            let fault = step.fault.clone();
            self.trace.steps.push(TraceStep { action: step.action, state: step.state.clone() });
            self.steps.push(step);
            if let Some(fault) = fault {
                return Ok(End::Fault(fault));
            }
        }
    }

    fn save(&self, outputs: &Outputs, end: &End) -> Result<(), Failure> {
        if let Some(file) = &outputs.state {
            // A state is a trace without steps: one text form for both.
            let state = Trace { initial: self.trace.last_state().to_vec(), ..Trace::default() };
            file.write(state.to_string())?;
        }
        if let Some(file) = &outputs.trace {
            let witness = Witness {
                model: self.model.name.clone(),
                violation: if let End::Fault(fault) = end { Some(fault.into()) } else { None },
                program: input::assembly(&self.model.program),
                trace: self.trace.clone(),
            };
            file.write(witness.to_text())?;
        }
        Ok(())
    }

    fn tell_end(&self, end: &End) {
        let steps = self.steps.len();
        say(&match end {
            End::Finished => format!("\nend after {steps} steps: nothing is left to do"),
            End::Steps => format!("\nstopped after {steps} steps"),
            End::Quit => format!("\ninterrupted after {steps} steps"),
            End::Fault(fault) => {
                let processes = processes_text(&self.model.program, self.trace.last_state());
                format!("\nviolated after {steps} steps: {}\n{processes}", fault_text(fault))
            }
        });
    }
}

/// Who chooses the next step.
enum Chooser {
    /// A sequence of pseudo-random numbers (splitmix64): small, and the same on every machine.
    Random(u64),
    /// The user, by lines.
    Person(Lines),
}

/// Lines of standard input, waited for in a way that a request to stop ends.
struct Lines {
    lines: Receiver<String>,
    cancel: Cancel,
}

impl Lines {
    fn of_standard_input(cancel: Cancel) -> io::Result<Lines> {
        let (sender, lines) = mpsc::channel();
        // Ends with the input, or with the process.
        let listen = move || io::stdin().lines().map_while(Result::ok).all(|line| sender.send(line).is_ok());
        thread::Builder::new().spawn(listen)?;
        Ok(Lines { lines, cancel })
    }

    /// The next line; nothing when there is none left, or the user wants no more.
    fn next(&self) -> Option<String> {
        loop {
            match self.lines.recv_timeout(LISTEN_EVERY) {
                Ok(line) => return Some(line),
                Err(RecvTimeoutError::Timeout) if !self.cancel.is_cancelled() => {}
                Err(_) => return None,
            }
        }
    }
}

/// How long a request to stop may wait to be heard.
const LISTEN_EVERY: Duration = Duration::from_millis(50);

impl Chooser {
    /// The position of the next step; nothing to end the run. `values` are shown on demand.
    fn choose(&mut self, enabled: &mut Moves<'_>, values: impl Fn() -> String) -> Option<usize> {
        match self {
            Chooser::Random(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                Some(((mixed ^ (mixed >> 31)) % enabled.len() as u64) as usize)
            }
            Chooser::Person(lines) => ask(lines, enabled, &values),
        }
    }
}

/// Lets the user choose. The end of the input is the end of the run.
fn ask(lines: &Lines, enabled: &mut Moves<'_>, values: &dyn Fn() -> String) -> Option<usize> {
    // A prompt that nobody sees is no reason to stop.
    let tell = |text: &str| {
        let _ = write!(io::stderr(), "{text}");
        let _ = io::stderr().flush();
    };
    for index in 0..enabled.len() {
        let label = enabled.tell(index).map_or_else(String::new, |step| step.label());
        tell(&format!("{:>6}  {label}\n", index + 1));
    }
    loop {
        tell("step (number, v for values, q to quit): ");
        match lines.next()?.trim() {
            "q" | "quit" => return None,
            "v" | "values" => tell(&values()),
            "" if enabled.len() == 1 => return Some(0),
            number => match number.parse() {
                Ok(number) if (1..=enabled.len()).contains(&number) => return Some(number - 1),
                _ => tell(&format!("there is no `{number}`\n")),
            },
        }
    }
}
