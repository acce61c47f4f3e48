//! `everypath simulate`: one run, random or chosen step by step.

use crate::args::SimulateArguments;
use crate::dialogue::{Dialogue, Place, Wish};
use crate::failure::Failure;
use crate::input::{self, Model};
use crate::output::Output;
use crate::{Exit, interrupt, memory, paths, say};
use contract::{Cancel, Enough, Fault, Trace, TraceStep};
use replay::{Narrator, ReplayError, Step};
use report::json::{self, ProcessJson, StepJson, ViolationJson};
use report::{Printer, Witness, fault_text, processes_text, values_text};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

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

    /// Why a run cannot go on.
    fn sentence(&self) -> String {
        match self {
            End::Fault(fault) => format!("violated: {}", fault_text(fault)),
            _ => "the run ends here: nothing is left to do".to_owned(),
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
    let mut narrator = Narrator::new(Arc::clone(&model.program));
    let (start, fault) = start(arguments, &narrator)?;
    let seed = arguments.seed.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.subsec_nanos().into()));
    let cancel = interrupt::on_signal();
    let stop = cancel.clone();
    let budget = memory::budget().unwrap_or(u64::MAX);
    narrator.give_up_when(Enough::when(move |bytes| stop.is_cancelled() || bytes > budget));
    let mut chooser = match arguments.interactive {
        true => Chooser::Person(Dialogue::new(cancel.clone()).map_err(|error| Failure::read("-", error))?),
        false => Chooser::Random(seed),
    };

    let talk = !arguments.output.json;
    if talk {
        let how = if arguments.interactive { String::new() } else { format!(", seed {seed}") };
        say(&format!("{}{how}\n{}", model.name, values_text(&model.program, &start)));
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
    /// The way from the trace to the folder we are in.
    folder: Option<String>,
}

impl Outputs {
    fn new(arguments: &SimulateArguments, model: &Model) -> Result<Outputs, Failure> {
        // The state it began from may be replaced by the one it ended in.
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
    /// Steps that were undone, the first to be made again last.
    undone: Vec<Step>,
}

impl Run<'_> {
    fn walk(&mut self, arguments: &SimulateArguments, chooser: &mut Chooser, cancel: &Cancel, talk: bool) -> Result<End, Failure> {
        let model = self.model;
        let mut printer = Printer::new(&model.program, &self.trace.initial);
        loop {
            if cancel.is_cancelled() {
                return Ok(End::Quit);
            }
            if self.steps.len() as u64 >= arguments.steps {
                return Ok(End::Steps);
            }
            let state = self.trace.last_state().to_vec();
            // A step that failed for good leads nowhere, so there is nothing to ask for.
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
                (Chooser::Random(state), None) => Wish::Take(random(state, enabled.len())),
                (Chooser::Person(dialogue), end) => {
                    let why = end.as_ref().map(End::sentence);
                    let values = || format!("{}{}", values_text(&model.program, &state), processes_text(&model.program, &state));
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
                        printer = Printer::after(&model.program, self.trace.last_state(), target);
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
            say(&format!("{}{}", values_text(&self.model.program, state), processes_text(&self.model.program, state)));
        }
    }

    /// Adds a step. What was undone can be made again only as long as it is made again as it was.
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

    /// Goes back to the state after `target` steps, or forward to it through steps that were undone.
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
            // A state is a trace without steps: one text form for both.
            let state = Trace { initial: self.trace.last_state().to_vec(), ..Trace::default() };
            file.write(state.to_string())?;
        }
        if let Some(file) = &outputs.trace {
            let witness = Witness {
                model: self.model.name.clone(),
                violation: if let End::Fault(fault) = end { Some(fault.into()) } else { None },
                folder: outputs.folder.clone(),
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
    /// The user.
    Person(Dialogue),
}

/// The next number of the sequence that is below `bound`.
fn random(state: &mut u64, bound: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) % bound as u64) as usize
}
