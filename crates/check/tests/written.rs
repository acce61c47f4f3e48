//! Graphs that are written and read again: a check of the graph says what a check of the model
//! says, and a second round changes nothing.
//!
//! All small models of the project go through both formats, so that a model that is added is tested
//! here without a change.

mod common;

use check::{EdgeSink, Only, Order, Plan, Subject, Surroundings, run_with_edges};
use common::Folder;
use contract::{Cancel, Fault, Limits, PropertyKind, Quiet, Safety, StopReason, Verdict, ViolationKind};
use languages::{Input, Model, NoFiles};
use report::{Graph, GraphFormat};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Models with more states than this are left out.
const SMALL: u64 = 600;

struct Collector(Graph);

impl EdgeSink for Collector {
    fn edge(&mut self, source: u32, label: &str, target: u32) {
        self.0.add_edge(source, label, target);
    }

    fn mark(&mut self, state: u32, atom: &str) {
        self.0.add_mark(state, atom);
    }

    fn fault(&mut self, step: Option<(u32, &str)>, target: Option<u32>, fault: &Fault) {
        self.0.add_fault(step, target, fault);
    }

    fn bytes(&self) -> u64 {
        // A graph that is too large for this test ends its search.
        if u64::from(self.0.states()) > SMALL { u64::MAX / 2 } else { self.0.bytes() }
    }
}

/// The graph of a subject as a file, or nothing if it is larger than the models of this test.
fn written(subject: &dyn Subject, format: GraphFormat) -> Option<Vec<u8>> {
    let mut collector = Collector(Graph::new());
    let limits = Limits { memory: Some(64 << 20), ..Limits::default() };
    let plan = Plan { order: Order::Breadth, limits, ..Plan::space() };
    let checked = run_with_edges(subject, &plan, &mut collector, &Surroundings::default()).expect("a sound plan");
    if checked.outcome.verdict != Verdict::Holds {
        return None;
    }
    collector.0.add_state(0);
    let mut bytes = Vec::new();
    collector.0.write(format, &mut bytes).expect("memory takes everything");
    Some(bytes)
}

fn load(name: &str, bytes: &[u8]) -> Arc<dyn Subject> {
    let input = Input { name, bytes, defines: &[], formulas: &[], files: &mut NoFiles };
    match languages::load(input) {
        Ok(loaded) => match loaded.model {
            Model::Graph(graph) => Arc::new(graph),
            Model::Program(_) => panic!("{name} is a program"),
        },
        Err(rejected) => panic!("{}", source::render_all(&rejected.map, &rejected.diagnostics)),
    }
}

/// The verdict in a word.
fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Violated(violation) => violation.fault.kind.name(),
        Verdict::Unknown(StopReason::OtherViolation) => "other violation",
        Verdict::Unknown(reason) => reason.name(),
    }
}

/// What checks say: the size of the state space, and for each kind of violation by itself whether
/// there is one. A search finds one violation of several, so the kinds are asked for one by one.
fn answers(subject: &dyn Subject) -> BTreeMap<String, String> {
    let run = |plan: Plan| check::run(subject, &plan, &Cancel::default(), &Quiet).expect("a sound plan");
    let mut answers = BTreeMap::new();
    let space = run(Plan { order: Order::Breadth, ..Plan::space() }).outcome.statistics;
    answers.insert("size".to_owned(), format!("{} {}", space.states, space.transitions));
    for (name, deadlocks, faults) in [("deadlocks", true, false), ("faults", false, true)] {
        let property = Some(Safety { deadlocks, faults });
        let checked = run(Plan { property, only: Some(Only::Safety), order: Order::Breadth, ..Plan::check() });
        // A graph has no channel events, so it states nothing about them. Without faults it does
        // not state that there are none.
        let decided: Vec<_> =
            checked.properties.iter().filter(|judged| judged.property.kind.is_safety()).map(|judged| &judged.verdict).collect();
        let violated = decided.iter().find(|verdict| matches!(verdict, Verdict::Violated(_)));
        let verdict = violated.or_else(|| decided.iter().find(|verdict| ***verdict != Verdict::Holds));
        answers.insert(name.to_owned(), verdict.map_or("holds", |verdict| word(verdict)).to_owned());
    }
    // A fault that ends a run early does not hide anything from this search.
    let neither = Some(Safety { deadlocks: false, faults: false });
    let checked = run(Plan { property: neither, non_progress: true, ..Plan::check() });
    for judged in &checked.properties {
        if matches!(judged.property.kind, PropertyKind::Acceptance | PropertyKind::Progress) {
            answers.insert(judged.property.kind.name().to_owned(), word(&judged.verdict).to_owned());
        }
    }
    answers
}

/// A graph with its lines sorted: the edges of a state stay together, and the order of the other
/// lines has no meaning.
fn lines(bytes: &[u8]) -> Vec<String> {
    let mut lines: Vec<String> = String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Compares a subject with the graphs that are written of it. Returns its answers, or nothing if it
/// is too large.
fn round(name: &str, subject: &dyn Subject) -> Option<BTreeMap<String, String>> {
    let text = written(subject, GraphFormat::Aut)?;
    let binary = written(subject, GraphFormat::Lts)?;
    let expected = answers(subject);
    for (file, bytes) in [("again.aut", &text), ("again.lts", &binary)] {
        let graph = load(file, bytes);
        assert_eq!(answers(&*graph), expected, "{name}: {file}");
        // Labels, atoms and faults are the same after another round.
        let again = written(&*graph, GraphFormat::Aut).unwrap_or_else(|| panic!("{name}: {file} grew"));
        assert_eq!(lines(&again), lines(&text), "{name}: {file}");
    }
    Some(expected)
}

/// No kind of fault of a program loses its name in a file.
#[test]
fn every_kind_of_fault_has_its_name() {
    let mut seen = 0;
    let named = bytecode::VIOLATIONS.iter().map(|(_, words)| *words);
    for word in bytecode::FaultKind::ALL.iter().map(|kind| kind.word()).chain(named) {
        // These have kinds of their own.
        let own = ["assertion", "division by zero", "invalid array index", "invalid channel", "too many processes", "too many channels"];
        if !own.contains(&word) {
            assert_eq!(lts::fault_words(&Fault::new(ViolationKind::Other(word), "")).0, word);
            seen += 1;
        }
    }
    assert!(seen >= 15, "{seen}");
}

#[test]
fn a_graph_says_what_its_model_says() {
    let folders = ["asm", "lf", "aut", "promela/language", "promela/classic", "promela/differences", "promela/temporal"];
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for folder in folders {
        for (name, text) in testkit::models::texts(folder, &["pml", "epa", "lf", "aut"]) {
            let answers = if name.ends_with(".aut") {
                round(&name, &*load("test.aut", text.as_bytes()))
            } else {
                let mut files = Folder(folder.to_owned());
                let program = languages::testing::compile_with(&name, &text, &[], &mut files).unwrap_or_else(|error| panic!("{error}"));
                round(&name, &program)
            };
            for (question, answer) in answers.into_iter().flatten().filter(|(question, _)| question != "size") {
                *seen.entry(format!("{question}: {answer}")).or_default() += 1;
            }
        }
    }
    // The models have every kind of answer, so a graph that loses something is noticed.
    for answer in [
        "deadlocks: holds",
        "deadlocks: invalid end state",
        "faults: holds",
        "faults: assertion violated",
        "faults: division by zero",
        "acceptance: property",
        "progress: holds",
        "progress: property",
    ] {
        assert!(seen.contains_key(answer), "{answer}: {seen:?}");
    }
    assert!(seen.values().sum::<usize>() > 200, "{seen:?}");
}
