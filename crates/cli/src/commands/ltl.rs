//! `everypath ltl`: the automaton of a formula or of a file, with its size and kind.

use super::{Asks, schema_of};
use crate::args::OutputArguments;
use crate::failure::Failure;
use crate::{Exit, input, say};
use clap::Args;
use logic::{Automaton, AutomatonForm, Facts, Formulas, Remarks};
use report::{BoxKind, Diagram, DiagramBox, diagrams_svg, json};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use source::{Diagnostic, SourceMap, Span};
use std::path::Path;
use std::path::PathBuf;

/// `everypath ltl`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The formula, in SPIN's syntax: [] <> ! U W V X -> <-> && ||
    #[arg(required_unless_present = "file", allow_hyphen_values = true)]
    pub formula: Option<String>,
    /// Translate the negation, like a search
    #[arg(long, conflicts_with = "file")]
    pub negate: bool,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub format: AutomatonFormat,
    /// Print the automaton with generalised acceptance on edges
    #[arg(long)]
    pub generalised: bool,
    /// Read an automaton instead, in the Hanoi format or as a never claim; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "formula")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// Output formats of an automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum AutomatonFormat {
    /// A table
    Text,
    /// The Hanoi format, version 1
    Hoa,
    /// A never claim in SPIN's syntax
    Never,
    /// One JSON object, as with `--json`
    Json,
    /// A graph for `dot`
    Dot,
    /// A picture
    Svg,
}

const EXAMPLES: &str = "\
Examples:
  everypath ltl '[] (request -> <> answer)'
  everypath ltl '[] (x == 0 -> <> done)' --negate --format never    what a search follows
  everypath ltl '<> [] p' --format svg > automaton.svg";

impl Asks for Arguments {
    fn schema() -> Option<Schema> {
        schema_of::<AnswerJson<'static>>()
    }

    fn json(&self) -> bool {
        self.output.json || self.format == AutomatonFormat::Json
    }
}

/// The answer: the automaton and its properties.
struct Answer {
    name: String,
    negated: bool,
    formula: Option<Translated>,
    buchi: Automaton,
    buchi_facts: Facts,
    generalised: Automaton,
    generalised_facts: Facts,
}

struct Translated {
    simplified: String,
    class: &'static str,
    stutter_invariant: bool,
}

#[derive(JsonSchema, Serialize)]
struct AnswerJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    formula: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    negated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    simplified: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stutter_invariant: Option<bool>,
    class: Option<&'static str>,
    states: usize,
    transitions: usize,
    deterministic: bool,
    complete: bool,
    strength: &'static str,
    generalised: GeneralisedJson,
    atoms: &'a [String],
    automaton: AutomatonJson,
}

#[derive(JsonSchema, Serialize)]
struct GeneralisedJson {
    states: usize,
    transitions: usize,
    sets: u32,
    deterministic: bool,
    strength: &'static str,
    automaton: AutomatonJson,
}

#[derive(JsonSchema, Serialize)]
struct AutomatonJson {
    initial: usize,
    states: Vec<StateJson>,
}

#[derive(JsonSchema, Serialize)]
struct StateJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    accepting: Option<bool>,
    component: Option<usize>,
    kind: Option<&'static str>,
    edges: Vec<EdgeJson>,
}

#[derive(JsonSchema, Serialize)]
struct EdgeJson {
    /// Each label is a conjunction of atoms that must be true and atoms that must be false; one of
    /// the labels must hold.
    guard: Vec<CubeJson>,
    target: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    sets: Option<Vec<u32>>,
}

#[derive(JsonSchema, Serialize)]
struct CubeJson {
    #[serde(rename = "true")]
    positive: Vec<usize>,
    #[serde(rename = "false")]
    negative: Vec<usize>,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let answer = match (&arguments.file, &arguments.formula) {
        (Some(path), _) => read(path)?,
        (None, Some(formula)) => translate(formula, arguments.negate)?,
        (None, None) => return Err(Failure::Call("a FORMULA or `--file FILE` is needed".to_owned())),
    };
    let (automaton, facts) = match arguments.generalised {
        true => (&answer.generalised, &answer.generalised_facts),
        false => (&answer.buchi, &answer.buchi_facts),
    };
    let format = if arguments.output.json { AutomatonFormat::Json } else { arguments.format };
    if format == AutomatonFormat::Never && arguments.generalised {
        return Err(Failure::Call("a never claim has accepting states: `--generalised` does not go with it".to_owned()));
    }
    let title = answer.title();
    say(&match format {
        AutomatonFormat::Json => answer.json(),
        AutomatonFormat::Text => answer.text(automaton),
        AutomatonFormat::Hoa => {
            let remarks = Remarks { name: &title, deterministic: facts.deterministic, complete: facts.complete };
            logic::write_hoa(automaton, remarks)
        }
        AutomatonFormat::Never => logic::write_never(automaton, &title),
        AutomatonFormat::Dot => logic::dot(automaton, &title),
        AutomatonFormat::Svg => picture(automaton, &title)?,
    });
    Ok(Exit::Fine)
}

/// The automaton as a picture. Edges with acceptance marks name their sets.
fn picture(automaton: &Automaton, title: &str) -> Result<String, Failure> {
    let of_state = |(number, state): (usize, &logic::State)| {
        let accepting = automaton.state_based && state.accepting;
        let (first, last) = (number == automaton.initial, accepting.then(|| "accepting".to_owned()));
        let lines = std::iter::once(number.to_string()).chain(first.then(|| "begin".to_owned())).chain(last).collect();
        let kind = match (accepting, first) {
            (true, _) => BoxKind::Accepting,
            (_, true) => BoxKind::Initial,
            _ => BoxKind::Plain,
        };
        DiagramBox { lines, kind, story: String::new() }
    };
    let boxes = automaton.states.iter().enumerate().map(of_state).collect();
    let edges = automaton
        .states
        .iter()
        .enumerate()
        .flat_map(|(source, state)| state.edges.iter().map(move |edge| (source, edge.target, logic::edge_label(automaton, edge))));
    let diagram = Diagram { title: title.to_owned(), boxes, edges: edges.collect() };
    diagrams_svg(&[diagram]).map_err(|why| Failure::Call(why.to_string()))
}

fn wrong(map: SourceMap, diagnostic: Diagnostic) -> Failure {
    Failure::Model { map, diagnostics: vec![diagnostic] }
}

fn translate(text: &str, negate: bool) -> Result<Answer, Failure> {
    let mut map = SourceMap::new();
    let file = map.add("formula", text);
    let mut formulas = Formulas::new();
    let parsed = match logic::parse(&mut formulas, text, file, 0) {
        Ok(parsed) => parsed,
        Err(error) => return Err(wrong(map, error)),
    };
    let root = if negate { formulas.not(parsed.root) } else { parsed.root };
    let translated = logic::translate(&mut formulas, root).and_then(|translation| {
        let facts = (logic::facts(&translation.buchi)?, logic::facts(&translation.generalised)?);
        Ok((translation, facts))
    });
    match translated {
        Ok((translation, (buchi_facts, generalised_facts))) => Ok(Answer {
            name: text.trim().to_owned(),
            negated: negate,
            formula: Some(Translated {
                simplified: formulas.text(translation.simplified),
                class: translation.class.name(),
                stutter_invariant: !formulas.has_next(translation.simplified),
            }),
            buchi: translation.buchi,
            buchi_facts,
            generalised: translation.generalised,
            generalised_facts,
        }),
        Err(error) => {
            let whole = Span::new(file, 0, text.len());
            Err(wrong(map, Diagnostic::error(whole, error.to_string()).with_hint("split the formula into several")))
        }
    }
}

fn read(path: &Path) -> Result<Answer, Failure> {
    let text = input::text(path)?;
    let name = if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
    let mut map = SourceMap::new();
    let file = map.add(name.clone(), text.clone());
    let automaton = match AutomatonForm::of(&text) {
        AutomatonForm::Never => logic::read_never(&text, file),
        AutomatonForm::Hanoi | AutomatonForm::Other => logic::read_hoa(&text, file),
    };
    let automaton = automaton.map_err(|error| wrong(map, error))?;
    let too_large = |error: logic::TooLarge| Failure::Call(format!("{name}: {error}"));
    let generalised = logic::tidy(&automaton).map_err(too_large)?;
    let buchi = logic::to_buchi(&generalised).map_err(too_large)?;
    let buchi_facts = logic::facts(&buchi).map_err(too_large)?;
    let generalised_facts = logic::facts(&generalised).map_err(too_large)?;
    Ok(Answer { name, negated: false, formula: None, buchi, buchi_facts, generalised, generalised_facts })
}

impl Answer {
    fn title(&self) -> String {
        if self.negated { format!("!({})", self.name) } else { self.name.clone() }
    }

    fn text(&self, automaton: &Automaton) -> String {
        let facts = &self.buchi_facts;
        let mut out = format!("{}\n", self.title());
        if let Some(formula) = &self.formula {
            out.push_str(&format!("as translated: {}\nclass: {}\n", formula.simplified, formula.class));
        }
        out.push_str(&format!(
            "Büchi automaton: {}, {}, {}, {}\n",
            plural(self.buchi.state_count(), "state"),
            plural(self.buchi.transition_count(), "transition"),
            if facts.deterministic { "deterministic" } else { "not deterministic" },
            facts.strength.name(),
        ));
        out.push_str(&format!(
            "generalised, on edges: {}, {}, {}\n\n",
            plural(self.generalised.state_count(), "state"),
            plural(self.generalised.transition_count(), "transition"),
            plural(self.generalised.sets as usize, "acceptance set"),
        ));
        out.push_str(&logic::text(automaton));
        out
    }

    fn json(&self) -> String {
        let facts = &self.buchi_facts;
        json::line(&AnswerJson {
            formula: self.formula.as_ref().map(|_| self.name.as_str()),
            file: self.formula.is_none().then_some(self.name.as_str()),
            negated: self.negated,
            simplified: self.formula.as_ref().map(|formula| formula.simplified.as_str()),
            stutter_invariant: self.formula.as_ref().map(|formula| formula.stutter_invariant),
            class: self.formula.as_ref().map(|formula| formula.class),
            states: self.buchi.state_count(),
            transitions: self.buchi.transition_count(),
            deterministic: facts.deterministic,
            complete: facts.complete,
            strength: facts.strength.name(),
            generalised: GeneralisedJson {
                states: self.generalised.state_count(),
                transitions: self.generalised.transition_count(),
                sets: self.generalised.sets,
                deterministic: self.generalised_facts.deterministic,
                strength: self.generalised_facts.strength.name(),
                automaton: automaton_json(&self.generalised, &self.generalised_facts),
            },
            atoms: &self.buchi.atoms,
            automaton: automaton_json(&self.buchi, facts),
        })
    }
}

fn plural(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

fn automaton_json(automaton: &Automaton, facts: &Facts) -> AutomatonJson {
    let bits = |mask: u64| (0..64).filter(move |bit| mask >> bit & 1 == 1);
    let atoms = |mask: u64| bits(mask).collect::<Vec<usize>>();
    let edge = |edge: &logic::Edge| EdgeJson {
        guard: edge.guard.cubes.iter().map(|cube| CubeJson { positive: atoms(cube.positive), negative: atoms(cube.negative) }).collect(),
        target: edge.target,
        sets: (!automaton.state_based).then(|| bits(edge.marks).map(|set| set as u32).collect()),
    };
    let states = automaton.states.iter().zip(&facts.component).map(|(state, component)| StateJson {
        accepting: automaton.state_based.then_some(state.accepting),
        component: *component,
        kind: component.map(|component| facts.kinds[component].name()),
        edges: state.edges.iter().map(edge).collect(),
    });
    AutomatonJson { initial: automaton.initial, states: states.collect() }
}
