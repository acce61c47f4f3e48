//! `everypath merge`: joins the fragments that several processes have written into one graph.

use super::{Asks, schema_of};
use crate::args::OutputArguments;
use crate::failure::Failure;
use crate::output::Output;
use crate::{Exit, say};
use clap::Args;
use lts::{END_BYTES, FRAGMENT_MAGIC, GRAPH_MAGIC, GraphEnd, GraphReader, GraphWriter, Record, graph_end};
use report::json;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// `everypath merge`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The folder written by `space --processes N -o FOLDER`
    pub folder: PathBuf,
    /// The graph: `.aut`, or `.lts` for the binary form
    #[arg(short, long, value_name = "FILE")]
    pub output_file: PathBuf,
    #[command(flatten)]
    pub output: OutputArguments,
}

const EXAMPLES: &str = "\
Examples:
  everypath space model.pml --processes 4 -o fragments
  everypath merge fragments -o model.lts";

/// The answer as JSON.
#[derive(JsonSchema, Serialize)]
struct MergeJson {
    states: u64,
    transitions: u64,
    fragments: usize,
}

impl Asks for Arguments {
    fn schema() -> Option<Schema> {
        schema_of::<MergeJson>()
    }

    fn json(&self) -> bool {
        self.output.json
    }
}

/// A fragment, and the number of its worker's first state in the whole graph.
struct Fragment {
    path: PathBuf,
    end: GraphEnd,
    first: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Binary,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let form = match arguments.output_file.extension().and_then(|ending| ending.to_str()) {
        Some("aut") => Form::Text,
        Some("lts") => Form::Binary,
        _ => return Err(Failure::Call(format!("{}: a merged graph ends in `.aut` or `.lts`", arguments.output_file.display()))),
    };
    let fragments = fragments(&arguments.folder)?;
    let inputs: Vec<&Path> = fragments.iter().map(|fragment| fragment.path.as_path()).collect();
    let output = Output::new(&arguments.output_file, &inputs)?;
    let (states, edges) = fragments.iter().fold((0, 0), |(states, edges), part| (states + part.end.states, edges + part.end.edges));
    let mut wrong = None;
    let written = output.write_with(|out| {
        merge(&fragments, form, (states, edges), out).map_err(|failure| {
            let error = io::Error::other(failure.to_string());
            wrong = Some(failure);
            error
        })
    });
    if let Some(failure) = wrong {
        return Err(failure);
    }
    written?;
    say(&if arguments.output.json {
        json::line(&MergeJson { states, transitions: edges, fragments: fragments.len() })
    } else {
        format!("{states} states, {edges} transitions from {} fragments\n", fragments.len())
    });
    Ok(Exit::Fine)
}

fn wrong(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::Call(format!("{}: {why}", path.display()))
}

/// The fragments in a folder, beginning with the one that has the initial state.
fn fragments(folder: &Path) -> Result<Vec<Fragment>, Failure> {
    let end_of = |worker: usize| -> Result<(PathBuf, GraphEnd), Failure> {
        let path = folder.join(check::fragment_name(worker));
        let mut file = File::open(&path).map_err(|error| Failure::read(&path, error))?;
        let mut bytes = [0; END_BYTES as usize];
        let read = file.seek(SeekFrom::End(-(END_BYTES as i64))).and_then(|_| file.read_exact(&mut bytes));
        read.map_err(|_| wrong(&path, "the fragment is not complete"))?;
        Ok((path, graph_end(&bytes)))
    };
    let (path, first) = end_of(0)?;
    let workers = first.workers;
    if workers == 0 || workers > 1 << 20 || first.initial >= workers {
        return Err(wrong(&path, "the fragment is damaged, or not complete"));
    }
    let mut all = Vec::new();
    for worker in 0..workers as usize {
        let (path, end) = end_of(worker)?;
        if (end.workers, end.worker, end.initial) != (workers, worker as u64, first.initial) {
            return Err(wrong(&path, "this is a fragment of another graph, or it is not complete"));
        }
        all.push(Fragment { path, end, first: 0 });
    }
    all.rotate_left(first.initial as usize);
    let mut next = 0;
    for fragment in &mut all {
        fragment.first = next;
        next = next.checked_add(fragment.end.states).ok_or_else(|| wrong(&fragment.path, "the fragment is damaged"))?;
    }
    Ok(all)
}

/// Copies the records, one fragment after the other. The memory needed does not depend on their
/// number.
fn merge(fragments: &[Fragment], form: Form, (states, edges): (u64, u64), out: &mut dyn Write) -> Result<(), Failure> {
    let unwritten = |error: io::Error| Failure::Call(format!("the graph cannot be written: {error}"));
    let workers = fragments.len() as u64;
    let mut first = vec![(0, 0); fragments.len()];
    fragments.iter().for_each(|part| first[part.end.worker as usize] = (part.first, part.end.states));
    let mut sink = match form {
        Form::Text => {
            lts::header_line(out, 0, edges, states).map_err(unwritten)?;
            Sink::Text(out)
        }
        Form::Binary => Sink::Binary(GraphWriter::new(out, &GRAPH_MAGIC).map_err(unwritten)?),
    };
    // The lines of a text that other tools do not know come after all edges.
    let passes: &[Pass] = if form == Form::Text { &[Pass::Edges, Pass::Others] } else { &[Pass::All] };
    for (pass, fragment) in passes.iter().flat_map(|pass| fragments.iter().map(move |fragment| (*pass, fragment))) {
        let path = &fragment.path;
        let file = File::open(path).map_err(|error| Failure::read(path, error))?;
        let mut reader = GraphReader::new(BufReader::with_capacity(1 << 16, file), &FRAGMENT_MAGIC).map_err(|why| wrong(path, why))?;
        // The number of a state determines its owner and its index among the states of that owner.
        let renumbered = |number: u64| {
            let (first, states) = first[(number % workers) as usize];
            let inside = (number / workers < states).then(|| first + number / workers);
            inside.ok_or_else(|| wrong(path, "the fragment names a state that no fragment has"))
        };
        while let Some(record) = reader.next_record().map_err(|why| wrong(path, why))? {
            let text = |number: usize| reader.texts()[number].as_str();
            match record {
                Record::Edge { source, label, target } if pass != Pass::Others => {
                    let (source, target) = (renumbered(source)?, renumbered(target)?);
                    match &mut sink {
                        Sink::Binary(writer) => writer.edge(source, text(label), target),
                        Sink::Text(out) => lts::edge_line(out, source, text(label), target),
                    }
                }
                Record::Mark { state, atom } if pass != Pass::Edges => {
                    let state = renumbered(state)?;
                    match &mut sink {
                        Sink::Binary(writer) => writer.mark(state, text(atom)),
                        Sink::Text(out) => lts::state_line(out, state, &[text(atom)]),
                    }
                }
                Record::Fault { step, target, kind, message } if pass != Pass::Edges => {
                    let initial = step.is_none().then_some(0);
                    let step = step.map(|(source, label)| Ok::<_, Failure>((renumbered(source)?, text(label)))).transpose()?;
                    let target = target.map(renumbered).transpose()?.or(initial);
                    let words = (text(kind), text(message));
                    match &mut sink {
                        Sink::Binary(writer) => writer.fault(step, target, words),
                        Sink::Text(out) => lts::fault_line(out, step, target, words),
                    }
                }
                Record::Edge { .. } | Record::Mark { .. } | Record::Fault { .. } => Ok(()),
            }
            .map_err(unwritten)?;
        }
        let (end, _) = reader.finish().map_err(|why| wrong(path, why))?;
        if end != fragment.end {
            return Err(wrong(path, "the fragment was changed while it was read"));
        }
    }
    if let Sink::Binary(writer) = sink {
        writer.finish(GraphEnd { states, edges, initial: 0, workers: 1, worker: 0 }).map_err(unwritten)?;
    }
    Ok(())
}

/// Which records of the fragments are copied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    All,
    Edges,
    Others,
}

/// The destination of the edges.
enum Sink<'a> {
    Text(&'a mut dyn Write),
    Binary(GraphWriter<&'a mut dyn Write>),
}
