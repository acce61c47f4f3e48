//! Explicit graphs with every order and store: the crate needs no byte-code.

use check::{Checked, EdgeSink, Order, Plan, StoreKind, Subject, Surroundings, run_with_edges};
use contract::{Cancel, Fault, Limits, Observer, PropertyKind, Quiet, StopReason, Verdict};
use languages::{Input, Model, NoFiles};
use lts::Lts;
use std::path::Path;
use std::sync::Arc;

fn graph(text: &str) -> Arc<Lts> {
    let source = Input { name: "test.aut", bytes: text.as_bytes(), defines: &[], formulas: &[], files: &mut NoFiles };
    match languages::load(source) {
        Ok(loaded) => match loaded.model {
            Model::Graph(graph) => graph,
            Model::Program(_) => panic!("a program"),
        },
        Err(rejected) => panic!("{}", source::render_all(&rejected.map, &rejected.diagnostics)),
    }
}

fn run(subject: &dyn Subject, plan: &Plan) -> Checked {
    if plan.store != StoreKind::Disk {
        return check::run(subject, plan, &Cancel::default(), &Quiet).expect("a sound plan");
    }
    let folder = runs::InMemory::default();
    check::run_in(subject, plan, &Surroundings { disk: Some(&folder), ..Surroundings::default() }).expect("a sound plan")
}

/// The value of a key in the line of a graph that says what must be found.
fn expected<'t>(line: &'t str, key: &str) -> &'t str {
    let behind = line.split_once(&format!("{key}=")).map_or("", |(_, behind)| behind);
    match behind.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap_or_default(),
        None => behind.split(' ').next().unwrap_or_default(),
    }
}

#[test]
fn every_graph_of_the_project_is_as_its_header_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/aut");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("the graphs").flatten() {
        let text = std::fs::read_to_string(entry.path()).expect("a text");
        let line = text.lines().find_map(|line| line.strip_prefix("% expect: ")).expect("something to expect");
        let graph = graph(&text);
        for &order in Order::ALL {
            for &store in StoreKind::ALL {
                for threads in [1, 2] {
                    let limits = Limits { memory: Some(64 << 20), ..Limits::default() };
                    let plan = Plan { order, store, threads, limits, ..Plan::check() };
                    if plan.refuse(false).is_err() {
                        continue;
                    }
                    let what = format!("{}: {order}, {store}, {threads} workers", entry.path().display());
                    let space = run(&graph, &Plan { property: None, ..plan }).outcome.statistics;
                    assert_eq!(space.states.to_string(), expected(line, "states"), "{what}");
                    assert_eq!(space.transitions.to_string(), expected(line, "transitions"), "{what}");
                    let checked = run(&graph, &plan);
                    let (verdict, violation) = match &checked.outcome.verdict {
                        Verdict::Holds => ("holds", ""),
                        Verdict::Violated(violation) => ("violated", violation.fault.kind.name()),
                        Verdict::Unknown(StopReason::LossyStore) if !store.is_exact() => ("holds", ""),
                        Verdict::Unknown(reason) => ("unknown", reason.name()),
                    };
                    assert_eq!((verdict, violation), (expected(line, "verdict"), expected(line, "violation")), "{what}");
                    let kinds: Vec<_> = checked.properties.iter().map(|judged| judged.property.kind).collect();
                    assert_eq!(kinds, [PropertyKind::EndStates], "{what}");
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 50, "only {seen} combinations");
}

const FORK: &str = "des (0, 3, 3)\n(0, \"a\", 1)\n(0, \"b\", 2)\n(1, \"c\", 0)\nstate (2, \"stuck\")\n";

#[test]
fn a_trace_of_a_graph_is_told_by_its_labels() {
    let checked = run(&graph(FORK), &Plan::check());
    let labels: Vec<String> = checked.steps.iter().map(|step| step.label()).collect();
    assert_eq!(labels, ["graph(0): b"]);
    let position = checked.steps[0].first().position.as_ref().expect("a place");
    assert_eq!((position.file.as_str(), position.line), ("test.aut", 3));
    let narrator = graph(FORK).narrator();
    let state = checked.steps[0].state.as_ref().expect("a state");
    let values: Vec<String> =
        narrator.view(state).expect("a state").values().into_iter().map(|named| format!("{}={}", named.name, named.value)).collect();
    assert_eq!(values, ["state=2", "stuck=true"]);
    assert!(narrator.view(&[7, 0, 0, 0]).is_err() && narrator.moves(&[]).is_err());
}

/// A sink that is full at once.
struct Full;

impl EdgeSink for Full {
    fn edge(&mut self, _: u32, _: &str, _: u32) {}

    fn mark(&mut self, _: u32, _: &str) {}

    fn fault(&mut self, _: Option<(u32, &str)>, _: Option<u32>, _: &Fault) {}

    fn bytes(&self) -> u64 {
        u64::MAX / 2
    }
}

/// A graph that grows too large ends its own search and no other.
#[test]
fn a_full_sink_leaves_the_caller_alone() {
    struct Silent;
    impl Observer for Silent {}
    let surroundings = Surroundings { observer: &Silent, ..Surroundings::default() };
    let plan = Plan { limits: Limits { memory: Some(1 << 20), ..Limits::default() }, ..Plan::space() };
    let checked = run_with_edges(&graph(FORK), &plan, &mut Full, &surroundings).expect("a sound plan");
    assert_eq!(checked.outcome.verdict, Verdict::Unknown(StopReason::Memory));
    assert!(!surroundings.cancel.is_cancelled());
}
