//! The control-flow automata of processes: as text, as JSON, as Graphviz and as a picture.

use crate::diagram::{BoxKind, Diagram, DiagramBox, TooLarge, diagrams_svg};
use contract::Position;
use replay::{Control, ControlLocation, ControlStep};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;

fn place(at: Option<&Position>) -> String {
    at.map(|at| format!("{}:{}", at.file.rsplit('/').next().unwrap_or(&at.file), at.line)).unwrap_or_default()
}

/// The special features of a location, in words.
fn remarks(number: usize, location: &ControlLocation) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    words.extend((number == 0).then(|| "begin".to_owned()));
    words.extend(location.labels.iter().cloned());
    words.extend((location.end && location.labels.is_empty()).then(|| "may end".to_owned()));
    words
}

/// The automata as text: each location with the steps that leave it.
pub fn automata_text(automata: &[Control]) -> String {
    let mut out = String::new();
    for (index, Control { name, locations, steps }) in automata.iter().enumerate() {
        let gap = if index == 0 { "" } else { "\n" };
        // Writing to a `String` cannot fail.
        let _ = writeln!(out, "{gap}{name}: {} locations, {} steps", locations.len(), steps.len());
        for (number, location) in locations.iter().enumerate() {
            let words = remarks(number, location).join(", ");
            let line = format!("{number:>5}  {:<20} {words}", place(location.position.as_ref()));
            let _ = writeln!(out, "{}", line.trim_end());
            for step in steps.iter().filter(|step| step.source == number) {
                let target = step.target.map_or("ends".to_owned(), |target| format!("→ {target}"));
                let on = if step.goes_on { "  (goes on)" } else { "" };
                let _ = writeln!(out, "         {target:<6} {}{on}", step.statement);
            }
        }
    }
    out
}

/// The automata as pictures.
pub fn automata_svg(automata: &[Control]) -> Result<String, TooLarge> {
    let diagrams: Vec<Diagram> = automata.iter().map(diagram).collect();
    diagrams_svg(&diagrams)
}

fn diagram(automaton: &Control) -> Diagram {
    let Control { name, locations, steps } = automaton;
    let mut boxes: Vec<DiagramBox> = locations
        .iter()
        .enumerate()
        .map(|(number, location)| {
            let mut lines = vec![location.position.as_ref().map_or_else(|| number.to_string(), |at| format!("line {}", at.line))];
            lines.extend(location.labels.iter().cloned());
            let kind = match (number, location) {
                (0, _) => BoxKind::Initial,
                (_, ControlLocation { accept: true, .. }) => BoxKind::Accepting,
                (_, ControlLocation { end: true, .. }) => BoxKind::End,
                _ => BoxKind::Plain,
            };
            DiagramBox { lines, kind, story: place(location.position.as_ref()) }
        })
        .collect();
    let gone = boxes.len();
    if steps.iter().any(|step| step.target.is_none()) {
        boxes.push(DiagramBox { lines: vec!["ended".to_owned()], kind: BoxKind::End, story: "the process has ended".to_owned() });
    }
    let edge = |step: &ControlStep| (step.source, step.target.unwrap_or(gone), step.statement.clone());
    Diagram { title: name.clone(), edges: steps.iter().map(edge).collect(), boxes }
}

/// The automata in the language of Graphviz.
pub fn automata_dot(automata: &[Control]) -> String {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
    let mut out = "digraph automata {\n  node [shape=box];\n".to_owned();
    for (index, Control { name, locations, steps }) in automata.iter().enumerate() {
        let _ = writeln!(out, "  subgraph cluster_{index} {{\n    label=\"{}\";", escaped(name));
        for (number, location) in locations.iter().enumerate() {
            let double = if number == 0 { ", peripheries=2" } else { "" };
            let text = std::iter::once(place(location.position.as_ref())).chain(remarks(number, location));
            let text: Vec<String> = text.map(|line| escaped(&line)).collect();
            let _ = writeln!(out, "    p{index}_{number} [label=\"{}\"{double}];", text.join("\\n"));
        }
        if steps.iter().any(|step| step.target.is_none()) {
            let _ = writeln!(out, "    p{index}_end [label=\"ended\", shape=oval];");
        }
        for step in steps {
            let target = step.target.map_or("end".to_owned(), |target| target.to_string());
            let _ = writeln!(out, "    p{index}_{} -> p{index}_{target} [label=\"{}\"];", step.source, escaped(&step.statement));
        }
        out.push_str("  }\n");
    }
    out.push_str("}\n");
    out
}

/// The automata, for scripts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AutomataJson {
    /// One for each type of process.
    pub processes: Vec<ControlJson>,
}

/// The automaton of a type of process.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ControlJson {
    /// The name of the type.
    pub name: String,
    /// Its control locations; processes begin at the first.
    pub locations: Vec<LocationJson>,
    /// The steps between them.
    pub steps: Vec<ControlStepJson>,
}

/// A control location.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LocationJson {
    /// The file.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// Its labels.
    pub labels: Vec<String>,
    /// Whether a process may wait here for ever.
    pub end: bool,
    /// Whether passing here infinitely often is acceptance.
    pub accept: bool,
    /// Whether passing here is progress.
    pub progress: bool,
}

/// A step between two locations.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ControlStepJson {
    /// The location it leaves.
    pub source: usize,
    /// The location it enters; null if the process ends.
    pub target: Option<usize>,
    /// The statement.
    pub statement: String,
    /// The line of the statement, from 1.
    pub line: Option<u32>,
    /// Whether the same process continues without interruption.
    pub goes_on: bool,
}

impl From<&[Control]> for AutomataJson {
    fn from(automata: &[Control]) -> AutomataJson {
        let location = |own: &ControlLocation| LocationJson {
            file: own.position.as_ref().map(|at| at.file.clone()),
            line: own.position.as_ref().map(|at| at.line),
            labels: own.labels.clone(),
            end: own.end,
            accept: own.accept,
            progress: own.progress,
        };
        let step = |own: &ControlStep| ControlStepJson {
            source: own.source,
            target: own.target,
            statement: own.statement.clone(),
            line: own.position.as_ref().map(|at| at.line),
            goes_on: own.goes_on,
        };
        let control = |own: &Control| ControlJson {
            name: own.name.clone(),
            locations: own.locations.iter().map(location).collect(),
            steps: own.steps.iter().map(step).collect(),
        };
        AutomataJson { processes: automata.iter().map(control).collect() }
    }
}
