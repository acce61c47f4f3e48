//! `everypath space`: the whole reachable state space, its numbers and its graph.

use crate::args::SpaceArguments;
use crate::failure::Failure;
use crate::output::Output;
use crate::session::{Ended, Session};
use crate::{Exit, complain, memory, say};
use check::{Checked, EdgeSink, Plan};
use contract::Verdict;
use report::json::{self, SpaceJson};
use report::{Graph, GraphFormat, Measured, space_text};
use std::io::Write;
use std::path::Path;

pub fn run(arguments: &SpaceArguments) -> Result<Exit, Failure> {
    // A wrong file ending is told before the work, not after it.
    let wanted = arguments.output_file.as_deref().map(|path| format(path).map(|format| (path, format))).transpose()?;
    let session = Session::new(Plan::space(), &arguments.subject, &arguments.engine, &arguments.saving, arguments.output.json)?;
    let file = wanted.map(|(path, _)| Output::new(path, &session.inputs(&arguments.saving))).transpose()?;
    let mut collector = Collector(Graph::new());
    let edges = wanted.is_some().then_some(&mut collector as &mut dyn EdgeSink);
    let (Session { model, .. }, Ended { checked: Checked { outcome, .. }, advice }) = session.run(&arguments.saving, edges)?;

    let mut unwritten = None;
    if let (Some((path, format)), Some(file)) = (wanted, file) {
        // Half a graph in a file looks like a whole one: write it only if it is.
        if outcome.verdict == Verdict::Holds {
            // A single state has no edge that would have told of it.
            collector.0.add_state(0);
            unwritten = file.write_with(|mut out| collector.0.write(format, &mut out)).err();
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
        return Ok(Exit::Wrong);
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

struct Collector(Graph);

impl EdgeSink for Collector {
    fn edge(&mut self, source: u32, label: &str, target: u32) {
        self.0.add_edge(source, label, target);
    }

    fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}
