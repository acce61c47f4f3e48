//! Tests sweeps through the public interface: the stop-and-wait protocol with all its parameters,
//! the table of the thesis that describes the method, its file formats and its small graphs.

use check::{Claim, Ctl, CtlForm, Engine, Measure, Order, Plan, Selected, StoreKind, Subject};
use contract::{Cancel, Judged, Quiet, StopReason, Successors, System, Verdict};
use languages::{Expression, Input, Model, NoFiles};
use source::FileId;
use std::collections::BTreeMap;
use std::sync::Arc;

const STOP_AND_WAIT: &str = include_str!("../../../models/promela/progress/stop_and_wait.pml");

/// A model with its measure, and the atoms of further expressions.
struct Loaded {
    subject: Arc<dyn Subject>,
    measure: Measure,
    atoms: Vec<u32>,
}

fn load(name: &str, text: &str, defines: &[(&str, &str)], measure: &str, expressions: &[&str]) -> Loaded {
    let defines: Vec<(String, String)> = defines.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let texts: Vec<Expression> = std::iter::once(&measure).chain(expressions).map(|text| Expression::new("--measure", *text)).collect();
    let input = Input { name, bytes: text.as_bytes(), defines: &defines, formulas: &[], files: &mut NoFiles };
    let loaded = languages::load_with(input, &texts).unwrap_or_else(|r| panic!("{}", source::render_all(&r.map, &r.diagnostics)));
    let subject: Arc<dyn Subject> = match loaded.model {
        Model::Program(program) => Arc::new(Arc::new(*program)),
        Model::Graph(graph) => Arc::new(graph),
    };
    let atoms = loaded.expressions[1..].iter().map(|atoms| atoms[0]).collect();
    Loaded { subject, measure: Measure::new(&loaded.expressions[0]).expect("a short measure"), atoms }
}

fn plan(order: Order, measure: Measure) -> Plan {
    Plan { order, measure, ..Plan::check() }
}

/// The variants of the protocol: loss, whether all packets are acknowledged, whether the sender
/// takes the greatest acknowledgement.
fn variant(loss: bool, all: bool, max: bool) -> [(&'static str, &'static str); 3] {
    let flag = |on| if on { "1" } else { "0" };
    [("LOSS", flag(loss)), ("ALL", flag(all)), ("MAX", flag(max))]
}

#[test]
fn six_variants_of_the_protocol_have_their_numbers() {
    // Loss, all, greatest; states, steps, regress steps; the peak, which does not depend on the
    // order within a layer if there is no regress step.
    let table = [
        (false, false, true, 1_208, 3_159, 0, 326),
        (false, true, true, 3_785, 10_200, 0, 1_036),
        (false, true, false, 9_755, 26_170, 1_425, 0),
        (true, false, true, 1_823, 6_829, 0, 508),
        (true, true, true, 5_615, 22_114, 0, 1_710),
        (true, true, false, 13_215, 52_784, 2_065, 0),
    ];
    for (loss, all, max, states, steps, back, peak) in table {
        let Loaded { subject, measure, .. } = load("sw.pml", STOP_AND_WAIT, &variant(loss, all, max), "progress", &[]);
        let space =
            |plan: Plan| check::run(&*subject, &Plan { property: None, ..plan }, &Cancel::default(), &Quiet).expect("a sound plan").outcome;
        let breadth = space(plan(Order::Breadth, measure)).statistics;
        assert_eq!((breadth.states, breadth.transitions), (states, steps), "{loss} {all} {max}");
        for store in [StoreKind::Plain, StoreKind::Compact] {
            let outcome = space(Plan { store, ..plan(Order::Sweep, measure) });
            assert_eq!(outcome.verdict, Verdict::Holds);
            let told = outcome.statistics.sweep.expect("it was a sweep");
            // This is so even if some states are persistent.
            assert!(told.peak_states * 2 < states, "{told:?}");
            if back == 0 {
                assert_eq!(told.peak_states, peak, "{loss} {all} {max}");
                assert_eq!((outcome.statistics.states, outcome.statistics.transitions), (states, steps));
                assert_eq!((told.expanded_states, told.sweeps, told.persistent_states, told.regress_steps), (states, 1, 0, 0));
            } else {
                // States are expanded again, so regress steps are taken again.
                assert!(told.regress_steps >= back && told.sweeps > 1 && told.persistent_states > 0, "{told:?}");
                assert!(told.expanded_states > states && told.expanded_states < 2 * states);
            }
        }
    }
}

/// An automaton of a file over atoms of the model.
fn automaton(text: &str, atoms: &BTreeMap<&str, u32>, finite: bool) -> Claim {
    let read = logic::parse_plain_automaton(text, FileId::default()).expect("an automaton");
    let numbers: Vec<u32> = read.atoms.iter().map(|atom| atoms[atom.as_str()]).collect();
    Claim::of_plain(&read, &numbers, finite).expect("a small automaton")
}

/// Asks one thing; whether a trace was shown, and the answer.
fn ask(loaded: &Loaded, order: Order, ctl: Option<(CtlForm, u32)>, claim: Option<Claim>) -> (bool, Judged) {
    let branching = ctl.map(|(form, atom)| ("formula".to_owned(), Ctl { form, atom })).into_iter().collect();
    let automata = claim.map(|claim| ("automaton".to_owned(), claim)).into_iter().collect();
    let subject = Selected { subject: Arc::clone(&loaded.subject), names: Vec::new(), branching, automata };
    let mut checked = check::run(&subject, &plan(order, loaded.measure), &Cancel::default(), &Quiet).expect("a sound plan");
    let judged = checked.properties.remove(0);
    let path = matches!(&judged.verdict, Verdict::Violated(violation) if !violation.trace.steps.is_empty());
    (path || checked.witness.is_some(), judged)
}

const REACHES_P: &str = "0\n1\n0 true 0 p 1\n1 true 1\n";
const P_WITHOUT_Q: &str = "0\n1\n0 true 0 p!q 1\n1 !q 1\n";

/// The state space of a model as a file in the thesis' format: progress, `p` and `q` of each state.
fn state_space(loaded: &Loaded) -> String {
    let mut system = loaded.subject.system(Engine::Interpreter, Arc::default(), &Quiet);
    let asked: Vec<u32> = loaded.measure.atoms().iter().chain(&loaded.atoms).copied().collect();
    let (mut numbers, mut states, mut lines) = (BTreeMap::new(), Vec::new(), String::new());
    let mut out = Successors::new();
    let mut number = |state: &[u8], states: &mut Vec<Vec<u8>>| {
        *numbers.entry(state.to_vec()).or_insert_with(|| {
            states.push(state.to_vec());
            states.len()
        })
    };
    system.initial(&mut out);
    out.iter().filter_map(|(_, state)| state).for_each(|state| {
        number(state, &mut states);
    });
    let mut at = 0;
    while let Some(state) = states.get(at).cloned() {
        at += 1;
        let mut values = Vec::new();
        system.values(&state, &asked, &mut values).expect("it has a value");
        let [progress, p, q] = values[..] else { panic!("three values") };
        let not = |value: i64| if value == 0 { "!" } else { "" };
        lines += &format!("{at} {progress} 2 {}p {}q", not(p), not(q));
        out.clear();
        system.successors(&state, &mut out);
        for state in out.iter().filter_map(|(_, state)| state) {
            lines += &format!(" * {}", number(state, &mut states));
        }
        lines.push('\n');
    }
    lines
}

/// The fourteen rows of the thesis' table of experiments: whether a trace is triggered. Each is
/// asked of the Promela model, and of its state space in the thesis' own format.
#[test]
fn the_table_of_the_thesis_is_reproduced() {
    let monotonic = variant(true, true, true);
    let falls = variant(true, true, false);
    let rows = [
        // EF all received, and two ahead, by formula and by automaton, with and without regress
        // steps.
        ("received", monotonic, "EF", true),
        ("received", falls, "EF", true),
        ("ahead", monotonic, "EF", false),
        ("ahead", falls, "EF", false),
        ("received", variant(true, false, true), "AG EF", true),
        ("received", monotonic, "AG EF", false),
        ("received", monotonic, "finite", true),
        ("received", falls, "finite", true),
        ("ahead", monotonic, "finite", false),
        ("ahead", falls, "finite", false),
        // Sent implies acknowledged, in infinite runs.
        ("p", monotonic, "infinite", true),
        ("p", falls, "infinite", true),
        ("p", variant(false, true, true), "infinite", false),
        ("p", variant(false, true, false), "infinite", false),
    ];
    for (number, (expression, defines, how, expected)) in rows.into_iter().enumerate() {
        let loaded = load("sw.pml", STOP_AND_WAIT, &defines, "progress", &[expression, "q"]);
        let atoms = BTreeMap::from([("p", loaded.atoms[0]), ("q", loaded.atoms[1])]);
        let form = match how {
            "EF" => Some(CtlForm::Possibly),
            "AG EF" => Some(CtlForm::AlwaysPossibly),
            _ => None,
        };
        let claim = form.is_none().then(|| automaton(if how == "finite" { REACHES_P } else { P_WITHOUT_Q }, &atoms, how == "finite"));
        for order in [Order::Sweep, Order::Breadth] {
            let ctl = form.map(|form| (form, loaded.atoms[0]));
            let (shown, judged) = ask(&loaded, order, ctl, claim.clone());
            assert_eq!(shown, expected, "row {}, {order}: {:?}", number + 1, judged.verdict);
            assert!(!matches!(judged.verdict, Verdict::Unknown(_)), "row {}: {:?}", number + 1, judged.verdict);
        }
        let text = state_space(&loaded);
        let space = load("row.ss", &text, &[], "progress", &["p", "q"]);
        let atoms = BTreeMap::from([("p", space.atoms[0]), ("q", space.atoms[1])]);
        let claim = form.is_none().then(|| automaton(if how == "finite" { REACHES_P } else { P_WITHOUT_Q }, &atoms, how == "finite"));
        let (shown, judged) = ask(&space, Order::Sweep, form.map(|form| (form, space.atoms[0])), claim);
        assert_eq!(shown, expected, "row {} as a state space: {:?}", number + 1, judged.verdict);
    }
}

/// Rows that the thesis does not have.
#[test]
fn always_and_for_ever_are_decided_too() {
    let loaded = load("sw.pml", STOP_AND_WAIT, &variant(true, true, true), "progress", &["!ahead", "nr <= 3", "received", "total == 0"]);
    let rows = [
        (CtlForm::Always, 0, true),
        (CtlForm::Always, 1, false),
        (CtlForm::PossiblyAlways, 2, true),
        (CtlForm::PossiblyAlways, 1, false),
        (CtlForm::AlwaysPossibly, 3, true),
    ];
    for (form, atom, expected) in rows {
        for order in [Order::Sweep, Order::Breadth] {
            let (shown, judged) = ask(&loaded, order, Some((form, loaded.atoms[atom])), None);
            assert_eq!(judged.verdict == Verdict::Holds, expected, "{form}, {order}: {:?}", judged.verdict);
            // A counterexample to `AG p`, a witness of `EF AG p`.
            assert_eq!(shown, expected == (form == CtlForm::PossiblyAlways), "{form}");
        }
    }
}

/// A measure that falls is refused, with the step, if it must not fall.
#[test]
fn a_measure_that_falls_is_refused_with_the_step() {
    let loaded = load("sw.pml", STOP_AND_WAIT, &variant(true, true, false), "progress", &["received"]);
    let (_, judged) = ask(&loaded, Order::Sweep, Some((CtlForm::AlwaysPossibly, loaded.atoms[0])), None);
    let Verdict::Unknown(StopReason::Measure(why)) = judged.verdict else { panic!("{:?}", judged.verdict) };
    assert!(why.contains("falls from") && why.contains("sw.pml:") && why.contains("AG EF"), "{why}");
    let (_, judged) = ask(&loaded, Order::Breadth, Some((CtlForm::AlwaysPossibly, loaded.atoms[0])), None);
    assert_eq!(judged.verdict, Verdict::Holds, "without a measure it is decided");
}

/// The lines of the thesis' file formats, and its graphs.
#[test]
fn state_spaces_and_automata_are_read_as_they_are_printed() {
    // Its figure 2.1: three layers and a regress step; its figure 6.4: a path into a component.
    let back = "1 0 1 !p * 2\n2 1 1 !p * 3 * 4\n3 1 1 !p * 5\n4 1 1 p * 5\n5 2 1 !p * 1\n";
    let loaded = load("back.ss", back, &[], "progress", &["p"]);
    assert_eq!(loaded.subject.own_measure().map(|(measure, _)| measure), Some(loaded.measure));
    let plan = Plan { property: None, ..plan(Order::Sweep, loaded.measure) };
    let told = check::run(&*loaded.subject, &plan, &Cancel::default(), &Quiet).expect("a sound plan").outcome.statistics.sweep;
    let told = told.expect("it was a sweep");
    assert_eq!((told.sweeps, told.persistent_states, told.layers), (2, 1, 3));
    let (shown, judged) = ask(&loaded, Order::Sweep, Some((CtlForm::Possibly, loaded.atoms[0])), None);
    assert!(shown && judged.verdict == Verdict::Holds);

    let component = "1 0 1 p * 2\n2 0 1 p * 3\n3 1 1 !p RP2 4\n4 1 1 !p * 5\n5 1 1 !p * 3\n";
    let loaded = load("component.ss", component, &[], "progress", &["p"]);
    let (shown, judged) = ask(&loaded, Order::Sweep, Some((CtlForm::AlwaysPossibly, loaded.atoms[0])), None);
    let Verdict::Violated(violation) = judged.verdict else { panic!("{:?}", judged.verdict) };
    assert!(shown && violation.trace.steps.len() == 2 && violation.fault.message.contains("3 states"), "{}", violation.fault.message);

    // Figure 6.3: a cycle through several layers whose accepting state is 8.
    let edges: [(usize, &str); 12] = [
        (1, "2"),
        (2, "3"),
        (3, "5"),
        (5, "6 7"),
        (7, "10"),
        (6, "9"),
        (10, "11 12"),
        (9, "11"),
        (11, "8"),
        (8, "4"),
        (4, "3 1"),
        (12, ""),
    ];
    let lines = edges.iter().map(|(state, next)| {
        let p = if *state == 8 { "p" } else { "!p" };
        let steps: String = next.split_whitespace().map(|to| format!(" * {to}")).collect();
        // Only the steps from 4 go back, so 3 and 1 are persistent.
        let layer = [0, 0, 1, 2, 8, 3, 4, 4, 7, 5, 5, 6, 6][*state];
        format!("{state} {layer} 1 {p}{steps}\n")
    });
    let loaded = load("across.ss", &lines.collect::<String>(), &[], "progress", &["p"]);
    let again = automaton("0\n1\n0 true 0 p 1\n1 true 0\n", &BTreeMap::from([("p", loaded.atoms[0])]), false);
    let (shown, judged) = ask(&loaded, Order::Sweep, None, Some(again));
    let Verdict::Violated(violation) = judged.verdict else { panic!("{:?}", judged.verdict) };
    let start = violation.trace.loop_start.expect("a loop");
    assert!(shown && [7, 9].contains(&(violation.trace.steps.len() - start)), "{:?}", violation.trace);

    for (text, wrong) in [
        ("", "no state"),
        ("1 x 0\n", "progress"),
        ("1 0 2 p\n", "promised"),
        ("1 0 0 * 2\n", "no line"),
        ("1 0 0\n1 0 0\n", "already"),
        ("1 0 0 *\n", "no successor"),
    ] {
        let input = Input { name: "wrong.ss", bytes: text.as_bytes(), defines: &[], formulas: &[], files: &mut NoFiles };
        let rejected = languages::load(input).expect_err(text);
        assert!(rejected.diagnostics[0].message.contains(wrong), "{text:?}: {}", rejected.diagnostics[0].message);
    }
}

/// Two processes without mutual exclusion: nine states, and the automaton of the thesis finds the
/// violation.
#[test]
fn two_processes_meet_in_the_critical_section() {
    let text = "byte crit; active [2] proctype P() { crit++; crit--; end: false }\n";
    let loaded = load("two.pml", text, &[], "crit", &["crit == 2"]);
    for measure in [loaded.measure, Measure::default()] {
        let outcome = check::run(&*loaded.subject, &Plan { property: None, ..plan(Order::Sweep, measure) }, &Cancel::default(), &Quiet);
        let told = outcome.expect("a sound plan").outcome.statistics;
        if measure.is_empty() {
            assert_eq!((told.states, told.transitions), (9, 12));
        } else {
            assert!(told.sweep.is_some_and(|sweep| sweep.regress_steps > 0 && sweep.expanded_states >= 9));
        }
    }
    let (shown, judged) = ask(&loaded, Order::Sweep, None, Some(automaton(REACHES_P, &BTreeMap::from([("p", loaded.atoms[0])]), true)));
    assert!(shown && matches!(judged.verdict, Verdict::Violated(_)));
    let (shown, judged) = ask(&loaded, Order::Sweep, Some((CtlForm::Possibly, loaded.atoms[0])), None);
    assert!(shown && judged.verdict == Verdict::Holds);
}

/// A protocol that begins again: its accepting cycle goes through all layers and a regress step.
#[test]
fn cycles_across_layers_are_found_in_a_program() {
    let text = "byte n; bool done;\nactive proctype P() { do :: n < 5 -> n++ :: n == 5 -> n = 0; done = 1 od }\n";
    let never = "ltl f { [] <> (n == 9) }\n";
    for (formula, holds) in
        [("ltl f { [] <> (n == 3) }\n", true), (never, false), ("ltl f { <> [] done }\n", true), ("ltl f { <> [] (n > 0) }\n", false)]
    {
        let loaded = load("again.pml", &format!("{text}{formula}"), &[], "n", &[]);
        for measure in [loaded.measure, Measure::default()] {
            let checked = check::run(&*loaded.subject, &plan(Order::Sweep, measure), &Cancel::default(), &Quiet).expect("a sound plan");
            let judged = checked.properties.iter().find(|judged| judged.property.name == "f").expect("it is stated");
            assert_eq!(judged.verdict == Verdict::Holds, holds, "{formula}: {:?}", judged.verdict);
            assert_eq!(matches!(judged.verdict, Verdict::Violated(_)), !holds, "{formula}: {:?}", judged.verdict);
        }
    }
}

/// The states beyond a depth limit are not known, so a component that reaches the limit is not
/// terminal.
#[test]
fn a_depth_limit_decides_nothing() {
    let text = "byte n; active proctype P() { do :: n < 20 -> n++ :: else -> n = 0 od }\n";
    let loaded = load("again.pml", text, &[], "n", &["n == 20", "n < 40"]);
    for (form, atom) in [(CtlForm::AlwaysPossibly, 0), (CtlForm::PossiblyAlways, 1)] {
        for order in [Order::Breadth, Order::Depth] {
            let branching = vec![("formula".to_owned(), Ctl { form, atom: loaded.atoms[atom] })];
            let subject = Selected { subject: Arc::clone(&loaded.subject), names: Vec::new(), branching, automata: Vec::new() };
            let limits = contract::Limits { depth: Some(3), ..contract::Limits::default() };
            let checked = check::run(&subject, &Plan { limits, ..plan(order, Measure::default()) }, &Cancel::default(), &Quiet);
            let judged = checked.expect("a sound plan").properties.remove(0);
            assert_eq!(judged.verdict, Verdict::Unknown(StopReason::Depth), "{form}");
        }
    }
}

/// The protocol that sends message after message: every cycle contains the regress step from the
/// last layer to the first, so no cycle lies within a layer.
#[test]
fn the_protocol_that_starts_anew_has_its_cycles_across_layers() {
    let defines = [&variant(false, true, true)[..], &[("AGAIN", "1"), ("LIMIT", "2")]].concat();
    for (formula, holds) in [("[] <> received", true), ("<> [] (nr < 4)", false), ("[] (p -> <> q)", true), ("[] <> (A[3] > 1)", false)] {
        let text = format!("{STOP_AND_WAIT}ltl f {{ {formula} }}\n");
        let loaded = load("sw.pml", &text, &defines, "progress", &[]);
        let mut lengths = Vec::new();
        for order in [Order::Sweep, Order::Auto] {
            let checked = check::run(&*loaded.subject, &plan(order, loaded.measure), &Cancel::default(), &Quiet).expect("a sound plan");
            let judged = checked.properties.iter().find(|judged| judged.property.name == "f").expect("it is stated");
            match (&judged.verdict, holds) {
                (Verdict::Holds, true) => {}
                (Verdict::Violated(violation), false) => {
                    let start = violation.trace.loop_start.expect("a loop");
                    // Six packets are sent and acknowledged in one round.
                    assert!(violation.trace.steps.len() - start > 24, "{formula}: {start}");
                    lengths.push(violation.trace.steps.len());
                }
                (verdict, _) => panic!("{formula}, {order}: {verdict:?}"),
            }
        }
        assert_eq!(lengths.is_empty(), holds);
    }
}

/// A model with a regress step in each round; its header has the measure and the expected verdicts.
#[test]
fn a_model_with_steps_back_is_decided_as_it_says() {
    let text = include_str!("../../../models/promela/temporal/rounds.pml");
    let line = |name: &str| text.lines().find_map(|line| line.trim_start_matches(['/', ' ']).strip_prefix(name)).expect("a line").trim();
    let loaded = load("rounds.pml", text, &[], line("measure:"), &[]);
    let expected: BTreeMap<&str, &str> = line("expect:").split_whitespace().filter_map(|pair| pair.split_once('=')).collect();
    for order in [Order::Sweep, Order::Auto] {
        let checked = check::run(&*loaded.subject, &plan(order, loaded.measure), &Cancel::default(), &Quiet).expect("a sound plan");
        for (name, verdict) in &expected {
            let judged = checked.properties.iter().find(|judged| judged.property.name == *name).expect("it is stated");
            match (&judged.verdict, *verdict) {
                (Verdict::Holds, "holds") => {}
                (Verdict::Violated(violation), "violated") => {
                    let start = violation.trace.loop_start.expect("a loop");
                    // All stations are asked in one round.
                    assert!(violation.trace.steps.len() - start >= 10, "{name}: {start}");
                }
                (found, _) => panic!("{name}, {order}: {found:?}"),
            }
        }
    }
}
