//! `everypath space`: the whole reachable state space, its size and its graph.

use super::{Asks, schema_of};
use crate::args::{EngineArguments, OutputArguments, SavingArguments, SubjectArguments};
use crate::failure::Failure;
use crate::input::Wanted;
use crate::output::Output;
use crate::patience::InTime;
use crate::session::{Ended, Session};
use crate::team::TeamArguments;
use crate::watch::Answer;
use crate::{Exit, complain, memory, say};
use check::{Checked, EdgeSink, Plan};
use clap::Args;
use contract::{Fault, Outcome, Verdict};
use replay::View;
use report::json::{self, SpaceJson};
use report::{Graph, GraphFormat, Measured, space_text};
use schemars::Schema;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

/// `everypath space`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    pub subject: SubjectArguments,
    #[command(flatten)]
    pub engine: EngineArguments,
    #[command(flatten)]
    pub team: TeamArguments,
    #[command(flatten)]
    pub saving: SavingArguments,
    /// Write the graph to FILE: `.aut`, `.lts`, `.dot`, `.json` or, for a small one, `.svg`, by its
    /// ending. One worker numbers the states, in the plain store. With several processes FILE is a
    /// folder in which each worker writes a fragment; `everypath merge` joins them into one graph
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["checkpoint", "resume"])]
    pub output_file: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArguments,
}

const EXAMPLES: &str = "\
Examples:
  everypath space model.pml
  everypath space model.pml -o model.dot";

impl Asks for Arguments {
    fn schema() -> Option<Schema> {
        schema_of::<SpaceJson>()
    }

    fn json(&self) -> bool {
        self.output.json
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if arguments.team.follows() {
        arguments.team.follow()?;
        return Ok(Exit::Fine);
    }
    if let (Some(folder), true) = (&arguments.output_file, arguments.team.is_several()) {
        return fragments(arguments, folder);
    }
    // A wrong file ending is reported before the search, not after it.
    let wanted = arguments.output_file.as_deref().map(|path| format(path).map(|format| (path, format))).transpose()?;
    let session = Session::new(
        Plan::space(),
        &arguments.subject,
        Wanted::default(),
        &arguments.engine,
        &arguments.saving,
        &arguments.team,
        arguments.output.json,
    )?;
    let file = wanted.map(|(path, _)| Output::new(path, &session.inputs(&arguments.saving))).transpose()?;
    let pictured = wanted.is_some_and(|(_, format)| matches!(format, GraphFormat::Dot | GraphFormat::Svg));
    let mut collector = Collector { graph: Graph::new(), pictured };
    let edges = wanted.is_some().then_some(&mut collector as &mut dyn EdgeSink);
    let (Session { model, patience, watch, .. }, Ended { checked: Checked { outcome, .. }, advice }) =
        session.run(&arguments.saving, edges)?;

    let json = arguments.output.json;
    watch.reply({
        let (outcome, advice, warnings) = (outcome.clone(), advice.clone(), model.warnings.clone());
        let path = arguments.output_file.clone();
        let measure = model.measure.clone().map(|(_, text)| text);
        move |over| Answer {
            text: answer(&outcome, advice.clone(), &warnings, measure.as_deref(), json),
            complaint: path.as_ref().map(|path| format!("error: {} was not written: {over}", path.display())).unwrap_or_default(),
            exit: Exit::Unknown,
        }
    });
    let (mut unwritten, mut given_up) = (None, false);
    if let (Some((path, format)), Some(file)) = (wanted, file) {
        // An incomplete graph in a file looks like a complete one, so only complete graphs are
        // written.
        if outcome.verdict == Verdict::Holds {
            // A single state has no edges, so it must be added explicitly.
            collector.graph.add_state(0);
            unwritten = file.write_with(|out| collector.graph.write(format, &mut InTime { out, patience: &patience })).err();
            // The numbers are known; only the graph is missing.
            given_up = unwritten.is_some() && patience.over().is_some();
        } else {
            let _ = writeln!(std::io::stderr(), "warning: {} was not written: the state space is incomplete", path.display());
        }
    }
    say(&answer(&outcome, advice, &model.warnings, model.measure.as_ref().map(|(_, text)| text.as_str()), json));
    // The process ends now, so nothing need be freed.
    std::mem::forget((model, collector));
    if let Some(failure) = unwritten {
        complain(&failure);
        return Ok(if given_up { Exit::Unknown } else { Exit::Wrong });
    }
    Ok(match outcome.verdict {
        Verdict::Holds => Exit::Fine,
        // Without a property, only a program that fails before its first state reaches this point.
        Verdict::Violated(_) => Exit::Violated,
        Verdict::Unknown(_) => Exit::Unknown,
    })
}

/// Several processes write the graph in fragments.
fn fragments(arguments: &Arguments, folder: &Path) -> Result<Exit, Failure> {
    let Arguments { subject, engine, saving, team, output, .. } = arguments;
    let name = std::path::absolute(folder).map_err(|error| Failure::write(folder, error))?;
    let name = name.to_str().ok_or_else(|| Failure::Call(format!("{}: this name is not valid text", folder.display())))?;
    if format(folder).is_ok() {
        return Err(Failure::Call(format!(
            "{}: several processes write fragments to a folder: name a folder, and make a file of it with `everypath merge`",
            folder.display()
        )));
    }
    let known = std::fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some());
    if known || folder.is_file() {
        return Err(Failure::Call(format!("{}: fragments go to a new or empty folder", folder.display())));
    }
    let session = Session::new(Plan::space(), subject, Wanted::default(), engine, saving, team, output.json)?;
    let (Session { model, plan, .. }, outcome) = session.fragments(name, saving)?;
    let advice = check::graph_advice(&plan, &outcome);
    say(&answer(&outcome, advice, &model.warnings, None, output.json));
    let complete = outcome.verdict == Verdict::Holds;
    std::mem::forget(model);
    Ok(if complete { Exit::Fine } else { Exit::Unknown })
}

fn answer(outcome: &Outcome, advice: Option<String>, warnings: &[String], measure: Option<&str>, json: bool) -> String {
    let measured = Measured { peak_memory_bytes: memory::peak() };
    if json {
        let mut answer = SpaceJson { warnings: warnings.to_vec(), ..SpaceJson::new(outcome, advice, measured) };
        answer.numbers.by_measure(measure);
        json::line(&answer)
    } else {
        space_text(outcome, advice.as_deref(), measured)
    }
}

fn format(path: &Path) -> Result<GraphFormat, Failure> {
    let ending = path.extension().map(|ending| ending.to_string_lossy()).unwrap_or_default();
    ending.parse().map_err(|error| Failure::Call(format!("{}: {error}", path.display())))
}

/// Collects a graph, with the values of each state if it is to be a picture.
struct Collector {
    graph: Graph,
    pictured: bool,
}

impl EdgeSink for Collector {
    fn edge(&mut self, source: u32, label: &str, target: u32) {
        self.graph.add_edge(source, label, target);
    }

    fn mark(&mut self, state: u32, atom: &str) {
        self.graph.add_mark(state, atom);
    }

    fn fault(&mut self, step: Option<(u32, &str)>, target: Option<u32>, fault: &Fault) {
        self.graph.add_fault(step, target, fault);
    }

    fn wants_states(&self) -> bool {
        self.pictured
    }

    fn state(&mut self, number: u32, view: &View) {
        let values = view.values().into_iter().map(|named| format!("{} = {}", named.name, named.value));
        let places = view.processes.iter().filter_map(|process| {
            let line = process.position.as_ref()?.line;
            Some(format!("{}({}) at line {line}", process.name, process.pid))
        });
        self.graph.set_values(number, values.chain(places).collect::<Vec<_>>().join("\n"));
    }

    fn bytes(&self) -> u64 {
        self.graph.bytes()
    }
}
