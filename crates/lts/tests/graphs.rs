//! Reading graphs: what is accepted, what is reported about errors, and that no input causes a
//! panic.

use contract::testing::{Random, system_laws};
use contract::{Proposition, Successor, Successors, System};
use lts::{Lts, Walker, parse, state_bytes, state_number};
use proptest::prelude::*;
use source::SourceMap;
use std::sync::Arc;

fn read(text: &str) -> Result<Lts, Vec<String>> {
    let mut map = SourceMap::new();
    let file = map.add("test.aut", text);
    parse(&map, file).map_err(|errors| {
        let told = errors.iter().map(|error| format!("{}: {}", map.snippet(error.span), error.message));
        told.collect()
    })
}

const SMALL: &str =
    "% two ways to the end\ndes (1, 3, 3)\n(1, \"a, b\", 0)\n(0,i,2)\n\n  (1, \"\", 2)\nstate (2, \"end\", \"p q\")\nstate (0, \"p q\")\n";

#[test]
fn a_graph_is_a_system() {
    let graph = Arc::new(read(SMALL).expect("a graph"));
    assert_eq!((graph.initial(), graph.states(), graph.file()), (1, 3, "test.aut"));
    let labels: Vec<_> = graph.leaving(1).iter().map(|edge| (graph.label(edge), edge.target, edge.line)).collect();
    assert_eq!(labels, [("a, b", 0, 3), ("", 2, 6)]);
    assert_eq!(graph.atoms(), ["end", "p q"]);
    assert_eq!((graph.has(0, 1), graph.has(0, 0), graph.may_end(2), graph.may_end(0)), (true, false, true, false));
    let mut walker = Walker::new(Arc::clone(&graph), Arc::default());
    let mut out = Successors::new();
    walker.initial(&mut out);
    walker.successors(&state_bytes(1), &mut out);
    let states: Vec<_> = out.iter().filter_map(|(_, state)| state_number(&graph, state?)).collect();
    assert_eq!(states, [1, 0, 2]);
    assert!(walker.is_valid_end(&state_bytes(2)) && !walker.is_valid_end(&state_bytes(0)));
    assert_eq!((state_number(&graph, &[9, 0, 0, 0]), state_number(&graph, &[0])), (None, None));
}

#[test]
fn a_walker_obeys_the_laws_of_systems() {
    system_laws(&mut Walker::new(Arc::new(read(SMALL).expect("a graph")), Arc::default()), 10);
    let mut random = Random(8);
    for _ in 0..30 {
        let (states, edges) = (1 + random.below(40), random.below(120));
        let mut text = format!("des (0, {edges}, {states})\n");
        let mut sources: Vec<u64> = (0..edges).map(|_| random.below(states)).collect();
        sources.sort_unstable();
        for source in sources {
            text += &format!("({source}, \"{}\", {})\n", random.below(5), random.below(states));
        }
        system_laws(&mut Walker::new(Arc::new(read(&text).expect("a graph")), Arc::default()), 100);
    }
}

#[test]
fn mistakes_have_a_place() {
    let wrong = |text: &str| read(text).expect_err(text);
    assert_eq!(wrong(""), [": the file has no header"]);
    assert_eq!(wrong("(0, \"a\", 1)\n"), ["(0, \"a\", 1): the first line is not a header"]);
    assert_eq!(wrong("des (0, 1)\n"), ["0, 1: expected the initial state, the number of edges, and the number of states"]);
    assert_eq!(wrong("des (0, 0, 1)\ndes (0, 0, 1)\n"), ["des (0, 0, 1): another header"]);
    assert_eq!(wrong("des (5, 0, 1)\n"), ["5: there are only 1 states, numbered from 0"]);
    assert_eq!(wrong("des (0, 0, 0)\n"), ["0: there are only 0 states, numbered from 0"]);
    assert_eq!(wrong("des (0, 1, 4294967295)\n"), ["4294967295: there can be 4294967294 states at most"]);
    assert_eq!(wrong("des (0, 1, 2)\n(0, \"a\", 2)\n"), ["2: there are only 2 states, numbered from 0"]);
    assert_eq!(wrong("des (0, 1, 2)\n(x, \"a\", 1)\n"), ["x: expected a number, at most 4294967294"]);
    assert_eq!(wrong("des (0, 1, 2)\n(0, 1)\n"), ["0, 1: an edge has a source, a label and a target"]);
    assert_eq!(wrong("des (0, 1, 2)\n(0, \"a\", 1\n"), [": expected `)`"]);
    assert_eq!(wrong("des (0, 2, 2)\n(0, \"a\", 1)\n"), ["des (0, 2, 2): the header promises 2 edges, and there are 1"]);
    assert_eq!(wrong("des (0, 0, 2)\nhello\n"), ["hello: this is neither an edge nor a state nor a fault"]);
    assert_eq!(wrong("des (0, 0, 2)\nstate (1, p)\n"), ["p: expected an atom in double quotes"]);
    assert_eq!(wrong("des (0, 0, 2)\nstate (1, \"p\" \"q\")\n"), ["\"q\": expected `,` or `)`"]);
    assert_eq!(wrong("des (0, 0, 2)\nstate (1, \"p)\n"), ["\"p: this quote is not closed"]);
    assert_eq!(wrong("des (0, 1, 2)\n(0,\"unterminated,1)\n"), ["\"unterminated: this quote is not closed"]);
    assert_eq!(wrong("des (0, 1, 2)\n(0,\",1)\n"), ["\": this quote is not closed"]);
    assert_eq!(wrong("des (0, 1, 2)\n(0, a\", 1)\n"), ["\": no quote is open here"]);
    let fault = |line: &str| wrong(&format!("des (0, 1, 2)\n(0, \"a\", 1)\n{line}\n"));
    let all = "fault (0, \"a\", 0, \"division by zero\", \"m\")";
    assert_eq!(fault(all), [format!("{all}: the graph has no edge with this source, label and target")]);
    assert_eq!(fault("fault (0, \"a\", 1, \"odd\", \"m\")"), ["odd: there is no such kind of fault"]);
    assert_eq!(fault("fault (0, a, 1, \"fault\", \"m\")"), ["a: expected a text in double quotes"]);
    assert_eq!(fault("fault (0, \"a\", 7, \"fault\", \"m\")"), ["7: there are only 2 states, numbered from 0"]);
    assert_eq!(fault("fault (none, \"\", 1, \"fault\", \"m\")"), ["1: a fault without a source is that of the initial state"]);
    assert_eq!(fault("fault (0)"), ["0: a fault has a source, a label, a target, a kind and a message"]);
    assert_eq!(wrong(&format!("des (0, 0, 2)\n{}", "x\n".repeat(100_000))).len(), 100);
}

/// The atoms `accept` and `progress` have the meaning of such labels, and faults are those of
/// steps.
#[test]
fn labels_and_faults_are_those_of_a_system() {
    let text = "des (0, 2, 3)\n(0, \"a\", 1)\n(0, \"a\", 2)\nstate (1, \"accept\")\nstate (2, \"progress\")\n\
                fault (0, \"a\", 2, \"assertion violated\", \"m\")\nfault (0, \"b\", none, \"division by zero\", \"n\")\n\
                fault (none, \"\", 0, \"fault\", \"begun badly\")\n";
    let graph = Arc::new(read(text).expect("a graph"));
    let propositions: Arc<[Proposition]> = Arc::new([Proposition::Accepting, Proposition::NonProgress]);
    let mut walker = Walker::new(Arc::clone(&graph), propositions);
    let atoms: Vec<_> = (0..3).map(|state| walker.atoms(&state_bytes(state))).collect();
    assert_eq!(atoms, [Ok(0b10), Ok(0b11), Ok(0)]);
    let mut out = Successors::new();
    walker.initial(&mut out);
    walker.successors(&state_bytes(0), &mut out);
    let told = |(entry, state): (&Successor, Option<&[u8]>)| {
        (state.and_then(|state| state_number(&graph, state)), entry.fault().map(|code| walker.describe_fault(code).message))
    };
    let message = |text: &str| Some(text.to_owned());
    assert_eq!(
        out.iter().map(told).collect::<Vec<_>>(),
        [(Some(0), message("begun badly")), (Some(1), None), (Some(2), message("m")), (None, message("n"))]
    );
    assert_eq!(read(&graph.to_text()).expect("a graph").to_text(), graph.to_text());
}

/// The numbers in a file do not decide how much memory is allocated.
#[test]
fn a_promise_is_not_believed() {
    let graph = read("des (4294967293, 1, 4294967294)\n(4294967293, \"a\", 0)\n").expect("a graph");
    assert_eq!(graph.leaving(graph.initial()).len(), 1);
    assert_eq!(read("des (0, 99999999999, 1)\n").expect_err("a promise").len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn graphs_survive_being_written(
        states in 1_u32..9,
        edges in prop::collection::vec((any::<u32>(), "[a-c, ()]{0,3}", any::<u32>()), 0..12),
        atoms in prop::collection::vec((any::<u32>(), "[p-r ]{1,2}"), 0..6),
    ) {
        let mut text = format!("des (0, {}, {states})\n", edges.len());
        for (source, label, target) in &edges {
            text.push_str(&format!("({}, \"{label}\", {})\n", source % states, target % states));
        }
        for (state, atom) in &atoms {
            text.push_str(&format!("state ({}, \"{atom}\")\n", state % states));
        }
        let graph = read(&text).expect("a graph");
        let written = graph.to_text();
        let again = read(&written).expect("a graph");
        prop_assert_eq!(again.to_text(), written);
        prop_assert_eq!((0..states).map(|s| again.leaving(s).len()).sum::<usize>(), edges.len());
    }

    #[test]
    fn no_text_is_any_trouble(text in "(\\PC|\n){0,80}", head in any::<bool>()) {
        let text = if head { format!("des (0, 1, 3)\n{text}") } else { text };
        let mut map = SourceMap::new();
        let file = map.add("test.aut", text);
        if let Err(errors) = parse(&map, file) {
            prop_assert!(!errors.is_empty());
            errors.iter().for_each(|error| drop(source::render(&map, error)));
        }
    }
}
