//! `everypath simulate`: one run, random or chosen step by step.

use super::{Asks, schema_of};
use crate::args::{ModelArguments, OutputArguments};
use crate::dialogue::{Dialogue, Place, Wish};
use crate::failure::Failure;
use crate::input::{self, Model};
use crate::output::Output;
use crate::terminal::look;
use crate::{Exit, interrupt, memory, paths, say};
use check::Engine;
use clap::Args;
use contract::{Cancel, Enough, Fault, Quiet, Successors, System, Trace, TraceStep};
use replay::{Narrator, ReplayError, Step};
use report::json::{self, ProcessJson, StepJson, ViolationJson};
use report::{Printer, fault_text, processes_text, values_text};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// `everypath simulate`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    pub model: ModelArguments,
    /// The seed of the random choices; the same seed gives the same run
    #[arg(long, value_name = "N", conflicts_with = "interactive")]
    pub seed: Option<u64>,
    /// Choose each step yourself
    #[arg(long, short)]
    pub interactive: bool,
    /// Stop after N steps
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub steps: u64,
    /// Make N random steps first, at full speed and without printing them
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub skip: u64,
    /// Begin at the state in FILE instead of the initial one
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Write the last state to FILE; `--from FILE` continues there
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Show the values of variables and the contents of channels after each step
    #[arg(long)]
    pub values: bool,
    /// Write the run as a trace to FILE
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArguments,
}

const EXAMPLES: &str = "\
Examples:
  everypath simulate model.pml --seed 7
  everypath simulate model.pml --skip 1000000 --steps 20
  everypath simulate model.pml --interactive";

impl Asks for Arguments {
    fn schema() -> Option<Schema> {
        schema_of::<SimulateJson>()
    }

    fn json(&self) -> bool {
        self.output.json
    }
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    /// No process can move, which is valid here.
    Finished,
    /// A step has a fault, or there is a deadlock.
    Fault(Fault),
    /// The requested number of steps was made.
    Steps,
    /// The user has quit.
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

    /// Why a run cannot continue.
    fn sentence(&self) -> String {
        match self {
            End::Fault(fault) => format!("violated: {}", fault_text(fault)),
            _ => "the run ends here: nothing is left to do".to_owned(),
        }
    }
}

/// The answer as JSON.
#[derive(JsonSchema, Serialize)]
struct SimulateJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    steps: usize,
    /// The steps that were skipped before.
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<Skipped>,
    end: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    violation: Option<ViolationJson>,
    trace: Vec<StepJson>,
    values: BTreeMap<String, String>,
    /// The location of each process at the end.
    processes: Vec<ProcessJson>,
}

/// Steps that were made and not printed.
#[derive(Clone, Copy, JsonSchema, Serialize)]
struct Skipped {
    steps: u64,
    seconds: f64,
}

/// Makes random steps as fast as the engine can. It stops before a step with a fault and where
/// nothing can move, so that the run that follows shows it: that run chooses as this one would.
fn skip(model: &Model, state: &mut Vec<u8>, seed: &mut u64, most: u64, cancel: &Cancel) -> Skipped {
    let mut system = model.subject.system(Engine::default(), Arc::default(), &Quiet);
    let stop = cancel.clone();
    let budget = memory::budget().unwrap_or(u64::MAX);
    system.give_up_when(Enough::when(move |bytes| stop.is_cancelled() || bytes > budget));
    let (begun, mut steps, mut out) = (Instant::now(), 0, Successors::new());
    while steps < most && !cancel.is_cancelled() {
        out.clear();
        system.successors(state, &mut out);
        if out.is_empty() || out.is_cut_short() {
            break;
        }
        let mut next = *seed;
        let entry = &out.entries()[(splitmix::next(&mut next) % out.len() as u64) as usize];
        let Some(target) = out.state(entry).filter(|_| entry.fault().is_none()) else { break };
        state.clear();
        state.extend_from_slice(target);
        (*seed, steps) = (next, steps + 1);
    }
    Skipped { steps, seconds: begun.elapsed().as_secs_f64() }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if arguments.interactive && input::is_standard_input(&arguments.model.model) {
        return Err(Failure::Call("standard input cannot give both the model and the choices: put the model into a file".to_owned()));
    }
    let defines = arguments.model.lf.define(&arguments.model.model, &arguments.model.defines)?;
    let model = input::model(&arguments.model.model, &defines)?;
    let mut narrator = model.narrator.clone();
    let (mut start, fault) = start(arguments, &narrator)?;
    let seed = arguments.seed.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.subsec_nanos().into()));
    let cancel = interrupt::on_signal();
    let stop = cancel.clone();
    let budget = memory::budget().unwrap_or(u64::MAX);
    narrator.give_up_when(Enough::when(move |bytes| stop.is_cancelled() || bytes > budget));
    let mut random = seed;
    let skipped = (arguments.skip > 0 && fault.is_none()).then(|| skip(&model, &mut start, &mut random, arguments.skip, &cancel));
    let mut chooser = match arguments.interactive {
        true => Chooser::Person(Dialogue::new(cancel.clone()).map_err(|error| Failure::read("-", error))?),
        false => Chooser::Random(random),
    };

    let talk = !arguments.output.json;
    if talk {
        let how = if arguments.interactive { String::new() } else { format!(", seed {seed}") };
        let after = skipped.map_or(String::new(), |Skipped { steps, seconds }| {
            let rate = steps as f64 / seconds.max(1e-6);
            format!(", after {steps} steps in {seconds:.2} s ({rate:.0} steps/s)")
        });
        say(&format!("{}{how}{after}\n{}", model.name, values_text(&model.narrator, &start)));
    }
    let outputs = Outputs::new(arguments, &model)?;
    let mut run =
        Run { model: &model, narrator, trace: Trace { initial: start, ..Trace::default() }, steps: Vec::new(), undone: Vec::new() };
    let end = match fault {
        Some(fault) => End::Fault(fault),
        None => run.walk(arguments, &mut chooser, &cancel, talk)?,
    };
    run.save(&outputs, &end)?;
    if talk {
        run.tell_end(&end);
    } else {
        let view = model.narrator.view(run.trace.last_state());
        let values = view.map(|view| view.values()).unwrap_or_default();
        say(&json::line(&SimulateJson {
            seed: (!arguments.interactive).then_some(seed),
            steps: run.steps.len(),
            skipped,
            end: end.name(),
            violation: if let End::Fault(fault) = &end { Some(fault.into()) } else { None },
            trace: json::steps(&run.steps, json::views(&model.narrator, &run.trace)),
            values: values.into_iter().map(|named| (named.name, named.value)).collect(),
            processes: json::processes(&model.narrator, run.trace.last_state()),
        }));
    }
    Ok(if matches!(end, End::Fault(_)) { Exit::Violated } else { Exit::Fine })
}

/// The state in which the run begins, and the fault that this state already has.
fn start(arguments: &Arguments, narrator: &Narrator) -> Result<(Vec<u8>, Option<Fault>), Failure> {
    let Some(path) = &arguments.from else {
        let (state, fault) = narrator.initial();
        return Ok((state.unwrap_or_default(), fault));
    };
    let trace: Trace = input::text(path)?.parse().map_err(|error| Failure::Call(format!("{}: {error}", path.display())))?;
    let state = trace.last_state().to_vec();
    narrator.view(&state).map_err(|error| Failure::Replay { path: path.clone(), error })?;
    Ok((state, None))
}

/// The files that a run writes.
struct Outputs {
    state: Option<Output>,
    trace: Option<Output>,
    /// The path from the trace to the working folder.
    folder: Option<String>,
}

impl Outputs {
    fn new(arguments: &Arguments, model: &Model) -> Result<Outputs, Failure> {
        // The file of the first state may be overwritten with the last state.
        let state = arguments.save.as_deref().map(|path| Output::new(path, &model.files)).transpose()?;
        let others: Vec<_> = model.files.iter().chain(&arguments.from).chain(&arguments.save).collect();
        let trace = arguments.trace.as_deref().map(|path| Output::new(path, &others)).transpose()?;
        Ok(Outputs { state, trace, folder: arguments.trace.as_deref().and_then(paths::way_here) })
    }
}

/// A run under way.
struct Run<'m> {
    model: &'m Model,
    narrator: Narrator,
    trace: Trace,
    steps: Vec<Step>,
    /// Steps that were undone; the next one to redo is last.
    undone: Vec<Step>,
}

impl Run<'_> {
    fn walk(&mut self, arguments: &Arguments, chooser: &mut Chooser, cancel: &Cancel, talk: bool) -> Result<End, Failure> {
        let model = self.model;
        let mut printer = Printer::new(&model.narrator, &self.trace.initial).looking(look());
        loop {
            // With files to write, the run is made even if nobody reads what it prints.
            let unheard = crate::is_unheard() && arguments.save.is_none() && arguments.trace.is_none();
            if cancel.is_cancelled() || unheard {
                return Ok(End::Quit);
            }
            if self.steps.len() as u64 >= arguments.steps {
                return Ok(End::Steps);
            }
            let state = self.trace.last_state().to_vec();
            // A step with a fatal fault has no successor, so the user is not asked.
            let fault = self.steps.last().and_then(|step| step.fault.clone());
            let narrator = self.narrator.clone();
            let mut enabled = match narrator.moves(&state) {
                Ok(enabled) => enabled,
                Err(ReplayError::Stopped) if cancel.is_cancelled() => return Ok(End::Quit),
                Err(ReplayError::Stopped) => return Err(Failure::Call("the next step needs more memory than there is".to_owned())),
                Err(error) => return Err(Failure::Call(error.to_string())),
            };
            let end = match fault {
                Some(fault) => Some(End::Fault(fault)),
                None if enabled.is_empty() => Some(narrator.deadlock(&state).map_or(End::Finished, End::Fault)),
                None => None,
            };
            let wish = match (&mut *chooser, &end) {
                (Chooser::Random(_), Some(_)) => Wish::Quit,
                (Chooser::Random(state), None) => Wish::Take((splitmix::next(state) % enabled.len() as u64) as usize),
                (Chooser::Person(dialogue), end) => {
                    let why = end.as_ref().map(End::sentence);
                    let values = || format!("{}{}", values_text(&model.narrator, &state), processes_text(&model.narrator, &state, &look()));
                    let place = Place { made: &self.steps, undone: self.undone.len(), values: &values, end: why.as_deref() };
                    dialogue.ask(&mut enabled, &place)
                }
            };
            match wish {
                Wish::Quit => return Ok(end.unwrap_or(End::Quit)),
                Wish::Take(_) if end.is_some() => {}
                Wish::Take(choice) => {
                    let Some(step) = enabled.tell(choice) else { return Ok(End::Quit) };
                    self.take(step);
                    if talk {
                        self.show(&mut printer, self.steps.len() - 1, arguments.values);
                    }
                }
                Wish::Jump(target) => {
                    let from = self.steps.len();
                    self.jump(target);
                    if talk && target < from {
                        say(&format!("   … back to the state after step {target} …"));
                        printer = Printer::after(&model.narrator, self.trace.last_state(), target).looking(look());
                    }
                    (from..target).filter(|_| talk).for_each(|index| self.show(&mut printer, index, arguments.values));
                }
            }
        }
    }

    /// Prints the step at a position.
    fn show(&self, printer: &mut Printer<'_>, index: usize, values: bool) {
        let step = &self.steps[index];
        say(&printer.step(step));
        if let (true, Some(state)) = (values, &step.state) {
            say(&format!("{}{}", values_text(&self.model.narrator, state), processes_text(&self.model.narrator, state, &look())));
        }
    }

    /// Adds a step. Undone steps can be redone only if the added step is the next of them.
    fn take(&mut self, step: Step) {
        match self.undone.pop() {
            Some(undone) if (undone.action, &undone.state) == (step.action, &step.state) => {}
            _ => self.undone.clear(),
        }
        self.push(step);
    }

    fn push(&mut self, step: Step) {
        self.trace.steps.push(TraceStep { action: step.action, state: step.state.clone() });
        self.steps.push(step);
    }

    /// Goes back to the state after `target` steps, or forward to it by redoing steps.
    fn jump(&mut self, target: usize) {
        while self.steps.len() > target {
            self.trace.steps.pop();
            self.undone.extend(self.steps.pop());
        }
        while self.steps.len() < target
            && let Some(step) = self.undone.pop()
        {
            self.push(step);
        }
    }

    fn save(&self, outputs: &Outputs, end: &End) -> Result<(), Failure> {
        if let Some(file) = &outputs.state {
            // A state is a trace without steps, so both have one text form.
            let state = Trace { initial: self.trace.last_state().to_vec(), ..Trace::default() };
            file.write(state.to_string())?;
        }
        if let Some(file) = &outputs.trace {
            let violation = if let End::Fault(fault) = end { Some(fault.into()) } else { None };
            let witness = self.model.witness(self.trace.clone(), violation, outputs.folder.clone());
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
                let processes = processes_text(&self.model.narrator, self.trace.last_state(), &look());
                format!("\nviolated after {steps} steps: {}\n{processes}", fault_text(fault))
            }
        });
    }
}

/// The chooser of the next step.
enum Chooser {
    /// The state of a sequence of pseudo-random numbers.
    Random(u64),
    /// The user.
    Person(Dialogue),
}
