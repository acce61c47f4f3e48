//! `everypath run`: executes an LF program, with a scheduler and the devices of this host.

use super::{Asks, schema_of};
use crate::alternatives::one_of;
use crate::args::{ModelArguments, OutputArguments};
use crate::devices::Board;
use crate::failure::Failure;
use crate::output::Output;
use crate::{Exit, input, interrupt, paths, quantity, say};
use bytecode::PropertyBody;
use check::{Claim, Engine};
use clap::{Args, ValueEnum};
use contract::{Fault, Proposition, Trace, ViolationKind};
use report::fault_text;
use report::json::{self, ViolationJson};
use runtime::{
    Devices, EarliestDeadline, RoundRobin, RunEnd, RunFigures, RunLimits, Runner, Scheduler, Shuffled, Stuck, Watched, WatchedEdge,
};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// `everypath run`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    pub model: ModelArguments,
    /// The scheduler
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    pub scheduler: SchedulerName,
    /// The seed of CHOICE and of the random scheduler; the same seed gives the same run, unless
    /// devices or deadlines take part in it
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Watch the properties that the program states: a run that violates one ends there. Assertions
    /// and faults always end a run
    #[arg(long)]
    pub monitor: bool,
    /// Also watch a formula of temporal logic, or watch only this property of the program. Can be
    /// given several times
    #[arg(long, value_name = "FORMULA", requires = "monitor")]
    pub ltl: Vec<String>,
    /// How the program is executed: by native code, or by an interpreter; both do the same
    #[arg(long, value_name = "NAME", value_parser = one_of::<Engine>(), default_value_t)]
    pub engine: Engine,
    /// Stop after N actions
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    /// Stop after this time, as in 90s or 1h30m
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration)]
    pub time: Option<Duration>,
    /// Write the run as a trace to FILE, for `everypath replay`; of a long run, its last
    /// 100,000 actions, or fewer if their states take more than 64 MiB
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// The schedulers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SchedulerName {
    /// Each process in its turn
    #[default]
    RoundRobin,
    /// The process whose deadline is earliest
    Edf,
    /// Any process and any partner, by the seed
    Random,
}

const EXAMPLES: &str = "\
Examples:
  everypath run program.lf
  everypath run program.lf --seed 1 --steps 100 --trace run.json
  everypath run program.lf --monitor --ltl '[] true'";

impl Asks for Arguments {
    fn schema() -> Option<Schema> {
        schema_of::<RunJson>()
    }

    fn json(&self) -> bool {
        self.output.json
    }
}

/// The largest number of actions in a trace.
const RECORDED: usize = 100_000;

/// The largest number of printed bytes in the JSON answer.
const PRINTED: usize = 1 << 20;

/// A process that waits, as JSON.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "RunWaitingJson")]
struct WaitingJson {
    process: usize,
    name: String,
    statement: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    needs: Vec<String>,
}

/// The answer as JSON.
#[derive(JsonSchema, Serialize)]
struct RunJson {
    seed: u64,
    end: &'static str,
    actions: u64,
    communications: u64,
    missed_deadlines: u64,
    /// The number of actions in the trace, which are the last of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    traced: Option<u64>,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    violation: Option<ViolationJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waiting: Vec<WaitingJson>,
    /// The output of the program, from its beginning.
    output: String,
}

/// The devices, shared with a run.
struct Shared(Arc<Mutex<Board>>);

impl Shared {
    fn board(&self) -> std::sync::MutexGuard<'_, Board> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Devices for Shared {
    fn output(&mut self, port: i32, value: i32) {
        self.board().output(port, value);
    }

    fn input(&mut self, port: i32) -> u8 {
        self.board().input(port)
    }

    fn raised(&mut self) -> u32 {
        self.board().raised()
    }

    fn acknowledge(&mut self, line: u32) {
        self.board().acknowledge(line);
    }

    fn wait(&mut self, lines: u32, most: Duration) -> bool {
        let mut board = self.board();
        let more = board.wait(lines, most);
        if let Some(complaint) = board.complaint() {
            // Standard error may be closed; the run does not depend on it.
            let _ = writeln!(std::io::stderr(), "warning: {complaint}");
        }
        more
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let cancel = interrupt::on_signal();
    let mut defines = arguments.model.lf.define(&arguments.model.model, &arguments.model.defines)?;
    let is_lf = input::language_of(&arguments.model.model)? == Some("LF");
    if is_lf && let Some((name, _)) = defines.iter().find(|(name, _)| name == "console" || name == "console_length") {
        let why = "a run reads what is typed at the console; the other commands read what this names";
        return Err(Failure::Call(format!("`-D {name}`: {why}")));
    }
    if is_lf && !defines.iter().any(|(name, _)| name == "devices") {
        defines.push(("devices".to_owned(), "host".to_owned()));
    }
    let model = input::model_with(&arguments.model.model, &defines, &input::Wanted { ltl: &arguments.ltl, ..input::Wanted::default() })?;
    let Some(program) = model.subject.byte_code() else {
        return Err(Failure::Call(format!("{}: an explicit graph has no code to run; `everypath simulate` makes a run", model.name)));
    };
    let output = arguments.trace.as_deref().map(|path| Output::new(path, &model.files)).transpose()?;
    let seed = arguments.seed.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.subsec_nanos().into()));
    let scheduler: Box<dyn Scheduler> = match arguments.scheduler {
        SchedulerName::RoundRobin => Box::new(RoundRobin::default()),
        SchedulerName::Edf => Box::new(EarliestDeadline::default()),
        SchedulerName::Random => Box::new(Shuffled::new(seed)),
    };
    let limits =
        RunLimits { actions: arguments.steps, time: arguments.time, cancel, recorded: if output.is_some() { RECORDED } else { 0 } };
    let devices = Shared(Arc::new(Mutex::new(Board::new())));
    let mut runner = Runner::new(program, scheduler, seed, Box::new(devices), limits).map_err(|why| {
        let hint = if is_lf { "" } else { "; `everypath simulate` makes a run of any program" };
        Failure::Call(format!("{}: {why}{hint}", model.name))
    })?;
    accelerate(&mut runner, arguments.engine);
    if arguments.monitor {
        runner.watch(program, watched(program, &arguments.ltl)?);
    }
    let json = arguments.output.json;
    let mut printed = String::new();
    let end = runner.run(&mut |text| match json {
        true if printed.len() < PRINTED => printed.push_str(text),
        true => {}
        // If the reader of standard output has closed it, the run continues.
        false => drop(std::io::stdout().lock().write_all(text.as_bytes())),
    });
    let _ = std::io::stdout().flush();
    let figures = runner.figures();
    // In the graph, the environment could still act where the real devices never will.
    let in_graph = !matches!(end, RunEnd::Deadlock(_)) || model.narrator.deadlock(&runner.state()).is_some();
    let violation = match &end {
        RunEnd::Fault(fault) => Some(fault.clone()),
        RunEnd::Deadlock(_) => Some(
            model
                .narrator
                .deadlock(&runner.state())
                .unwrap_or_else(|| Fault::new(ViolationKind::Deadlock, "no process can continue, and no device will change that")),
        ),
        _ => None,
    };
    let mut traced = None;
    if let Some(output) = output {
        let trace = recorded(runner)?;
        let claimed = violation.as_ref().filter(|_| in_graph).map(ViolationJson::from);
        let (kept, all) = (trace.steps.len() as u64, figures.actions);
        traced = Some(kept);
        if kept < all && !json {
            // Standard error may be closed; the trace is written all the same.
            let _ = writeln!(std::io::stderr(), "the trace has the last {kept} of {all} actions");
        }
        let folder = arguments.trace.as_deref().and_then(paths::way_here);
        output.write(model.witness(trace, claimed, folder).to_text())?;
    }
    if json {
        say(&json::line(&answer(seed, &end, (figures, traced), violation.as_ref(), printed)));
    } else {
        tell_end(&end, figures);
    }
    Ok(if violation.is_some() { Exit::Violated } else { Exit::Fine })
}

/// Gives a run native code, unless the user does not want it or it cannot be compiled.
fn accelerate(runner: &mut Runner, engine: Engine) {
    #[cfg(feature = "native")]
    if engine != Engine::Interpreter {
        runner.accelerate(|code| jit::Actions::new(code).ok().map(|actions| Box::new(actions) as Box<dyn runtime::Native>));
    }
    #[cfg(not(feature = "native"))]
    let _ = (runner, engine);
}

/// The properties that are watched: all, or those that the user has named or given.
fn watched(program: &bytecode::Verified, wanted: &[String]) -> Result<Vec<Watched>, Failure> {
    let mut all = Vec::new();
    let stated = &program.program().properties;
    for property in stated {
        // Formulas of the command line have generated names and come last.
        let given = property.origin.is_none() || wanted.is_empty() || wanted.contains(&property.name);
        let claim = match &property.kind {
            _ if !given => continue,
            PropertyBody::Ltl(formula) => Claim::of_formula(formula),
            PropertyBody::Never(automaton) => Claim::of_never(automaton),
            PropertyBody::Trace(_) | PropertyBody::Notrace(_) => continue,
        };
        let claim = claim.map_err(|why| Failure::Call(format!("the property `{}` cannot be watched: {why}", property.name)))?;
        let atom = |proposition: &Proposition| if let Proposition::Atom(atom) = proposition { *atom } else { u32::MAX };
        let edges = claim.automaton.edges.iter().map(|edges| {
            let edges = edges.iter();
            edges.map(|e| WatchedEdge { required: e.required, forbidden: e.forbidden, marks: e.marks, target: e.target }).collect()
        });
        all.push(Watched {
            name: property.name.clone(),
            atoms: claim.propositions.iter().map(atom).collect(),
            initial: claim.automaton.initial,
            edges: edges.collect(),
            all_marks: claim.automaton.all_marks(),
        });
    }
    Ok(all)
}

/// The recorded actions.
fn recorded(runner: Runner) -> Result<Trace, Failure> {
    match runner.into_trace() {
        Some(Ok(trace)) => Ok(trace),
        Some(Err(trace)) => Err(Failure::Call(format!(
            "action {} of the run is not one that the checker knows: this is a mistake of the run time, please report it",
            trace.steps.len() + 1
        ))),
        None => Ok(Trace::default()),
    }
}

fn name_of(end: &RunEnd) -> &'static str {
    match end {
        RunEnd::Finished => "end",
        RunEnd::Deadlock(_) => "deadlock",
        RunEnd::Fault(_) => "violated",
        RunEnd::Actions => "steps",
        RunEnd::Time => "time",
        RunEnd::Cancelled => "interrupted",
    }
}

fn answer(seed: u64, end: &RunEnd, (figures, traced): (RunFigures, Option<u64>), violation: Option<&Fault>, output: String) -> RunJson {
    let waiting = match end {
        RunEnd::Deadlock(waiting) => waiting.clone(),
        _ => Vec::new(),
    };
    let waiting = waiting.into_iter().map(|Stuck { process, name, statement, position, needs }| WaitingJson {
        process,
        name,
        statement,
        line: position.map(|position| position.line),
        needs,
    });
    RunJson {
        seed,
        end: name_of(end),
        actions: figures.actions,
        communications: figures.communications,
        missed_deadlines: figures.missed,
        traced,
        seconds: figures.elapsed.as_secs_f64(),
        violation: violation.map(ViolationJson::from),
        waiting: waiting.collect(),
        output,
    }
}

/// Reports on standard error how a run ended; standard output belongs to the program.
fn tell_end(end: &RunEnd, figures: RunFigures) {
    let after = format!("after {} actions and {} communications", figures.actions, figures.communications);
    let mut text = match end {
        RunEnd::Finished => String::new(),
        RunEnd::Fault(fault) => format!("violated {after}: {}\n", fault_text(fault)),
        RunEnd::Actions | RunEnd::Time => format!("stopped {after}\n"),
        RunEnd::Cancelled => format!("interrupted {after}\n"),
        RunEnd::Deadlock(waiting) => {
            let mut text = format!("deadlock {after}: no process can continue\n");
            for Stuck { process, name, statement, position, needs } in waiting {
                let place = position.as_ref().map(|at| format!(" ({at})")).unwrap_or_default();
                let needs = if needs.is_empty() { String::new() } else { format!(", which needs {}", needs.join(" or ")) };
                text.push_str(&format!("  {name} {process} waits at `{statement}`{place}{needs}\n"));
            }
            text
        }
    };
    if figures.missed > 0 {
        text.push_str(&format!("{} deadlines were missed\n", figures.missed));
    }
    // Standard error may be closed; the exit code still has the answer.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
