//! `everypath space`: the whole reachable state space, its numbers and its graph.

use crate::args::SpaceArguments;
use crate::failure::Failure;
use crate::output::Output;
use crate::patience::InTime;
use crate::session::{Ended, Session};
use crate::{Exit, complain, memory, say};
use check::{Checked, EdgeSink, Plan};
use contract::Verdict;
use replay::View;
use report::json::{self, SpaceJson};
use report::{Graph, GraphFormat, Measured, space_text};
use std::io::Write;
use std::path::Path;

pub fn run(arguments: &SpaceArguments) -> Result<Exit, Failure> {
    // A wrong file ending is told before the work, not after it.
    let wanted = arguments.output_file.as_deref().map(|path| format(path).map(|format| (path, format))).transpose()?;
    let session = Session::new(Plan::space(), &arguments.subject, &arguments.engine, &arguments.saving, arguments.output.json)?;
    let file = wanted.map(|(path, _)| Output::new(path, &session.inputs(&arguments.saving))).transpose()?;
    let pictured = wanted.is_some_and(|(_, format)| format == GraphFormat::Dot);
    let mut collector = Collector { graph: Graph::new(), pictured };
    let edges = wanted.is_some().then_some(&mut collector as &mut dyn EdgeSink);
    let (Session { model, patience, .. }, Ended { checked: Checked { outcome, .. }, advice }) = session.run(&arguments.saving, edges)?;

    let (mut unwritten, mut given_up) = (None, false);
    if let (Some((path, format)), Some(file)) = (wanted, file) {
        // Half a graph in a file looks like a whole one: write it only if it is.
        if outcome.verdict == Verdict::Holds {
            // A single state has no edge that would have told of it.
            collector.graph.add_state(0);
            unwritten = file.write_with(|out| collector.graph.write(format, &mut InTime { out, patience: &patience })).err();
            // The numbers are known; only the graph is not there.
            given_up = unwritten.is_some() && patience.over().is_some();
        } else {
            let _ = writeln!(std::io::stderr(), "warning: {} was not written: the state space is incomplete", path.display());
        }
    }
    let measured = Measured { peak_memory_bytes: memory::peak() };
    let json = arguments.output.json;
    say(&if json {
        json::line(&SpaceJson { warnings: model.warnings, ..SpaceJson::new(&outcome, advice, measured) })
    } else {
        space_text(&outcome, advice.as_deref(), measured)
    });
    if let Some(failure) = unwritten {
        complain(&failure);
        return Ok(if given_up { Exit::Unknown } else { Exit::Wrong });
    }
    Ok(match outcome.verdict {
        Verdict::Holds => Exit::Fine,
        // Without a property only a program that fails before its first state comes to this.
        Verdict::Violated(_) => Exit::Violated,
        Verdict::Unknown(_) => Exit::Unknown,
    })
}

fn format(path: &Path) -> Result<GraphFormat, Failure> {
    let ending = path.extension().map(|ending| ending.to_string_lossy()).unwrap_or_default();
    ending.parse().map_err(|error| Failure::Call(format!("{}: {error}", path.display())))
}

/// A graph as it comes; with the values of each state if it is to be a picture.
struct Collector {
    graph: Graph,
    pictured: bool,
}

impl EdgeSink for Collector {
    fn edge(&mut self, source: u32, label: &str, target: u32) {
        self.graph.add_edge(source, label, target);
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
