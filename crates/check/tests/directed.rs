//! Directed search for temporal properties of random models: with a lower bound, A* finds runs as
//! short as breadth-first search does, and the estimates along them are not too great.

use bytecode::Verified;
use check::{Engine, Guide, Order, Plan, Por, Selected, Subject};
use contract::testing::Random;
use contract::{Cancel, FAR, Limits, Quiet, StopReason, Verdict};
use std::sync::Arc;
use testkit::promela_gen;

/// A model with a formula that a finite run can refute; nothing if it has no variables.
fn model(seed: u64) -> Option<(String, Arc<Verified>)> {
    let mut model = promela_gen::model(seed);
    model.claim = false;
    let text = model.text();
    let program = languages::testing::promela(&text)?;
    let globals = program.program().globals.iter().filter(|global| global.length.is_none() && !global.scratch);
    let names: Vec<String> = globals.map(|global| global.name.clone()).filter(|name| name.chars().all(|c| c.is_alphanumeric())).collect();
    if names.is_empty() {
        return None;
    }
    let mut random = Random(seed ^ 0xd12e);
    let mut term = || {
        let name = &names[random.below(names.len() as u64) as usize];
        format!("({name} {} {})", ["==", "!=", ">", "<"][random.below(4) as usize], random.below(4))
    };
    let (a, b, c) = (term(), term(), term());
    let formula = match seed % 4 {
        0 => format!("[] !({a} && {b})"),
        1 => format!("[] ({a} -> X {b})"),
        2 => format!("[] !({a} && X ({b} && X {c}))"),
        _ => format!("!({a}) W ({b} && {c})"),
    };
    let text = format!("{text}\nltl f {{ {formula} }}\n");
    Some((text.clone(), languages::testing::promela(&text)?))
}

#[test]
fn a_star_finds_shortest_refutations_of_formulas() {
    let models: Vec<_> = (0..150).filter_map(model).collect();
    let lengths = testkit::in_parallel(&models, |(text, program)| {
        let subject: Arc<dyn Subject> = Arc::new(Arc::clone(program));
        let selected = Selected { subject, names: vec!["f".to_owned()], branching: Vec::new(), automata: Vec::new() };
        let ask = |order| {
            let limits = Limits { memory: Some(1 << 23), ..Limits::default() };
            let plan =
                Plan { order, engine: Engine::Interpreter, guide: Guide::Formula, por: Por::Off, explained: true, limits, ..Plan::check() };
            check::run(&selected, &plan, &Cancel::default(), &Quiet).expect("a sound plan")
        };
        let (breadth, astar) = (ask(Order::Breadth), ask(Order::AStar));
        let large = |verdict: &Verdict| matches!(verdict, Verdict::Unknown(StopReason::Memory));
        if large(&breadth.outcome.verdict) || large(&astar.outcome.verdict) {
            return None;
        }
        let length = |verdict: &Verdict| match verdict {
            Verdict::Violated(violation) => Some(violation.trace.steps.len()),
            Verdict::Holds => None,
            other => panic!("{other:?}\n{text}"),
        };
        let (shortest, found) = (length(&breadth.outcome.verdict), length(&astar.outcome.verdict));
        assert_eq!(shortest.is_some(), found.is_some(), "{text}");
        let (shortest, steps) = (shortest?, found?);
        // A run that has ended stays where it is. Such a step counts in the product, and `X` can
        // ask for it, but the trace does not have it.
        let unseen = usize::from(text.contains(" X "));
        assert!(shortest.abs_diff(steps) <= unseen, "{steps} steps instead of {shortest}\n{text}");
        let guided = astar.guided.expect("it is explained");
        assert!(guided.lower_bound && guided.property.as_deref() == Some("f"), "{guided:?}");
        assert!(!guided.along.is_empty() && guided.along.len() <= steps + 1, "{guided:?}\n{text}");
        for (index, &estimate) in guided.along.iter().enumerate() {
            // The product also has the step that refutes, and perhaps one of a run that has ended.
            assert!(estimate != FAR && estimate as usize <= steps + 1 + unseen - index, "{guided:?}\n{text}");
        }
        Some(steps)
    });
    let lengths: Vec<usize> = lengths.into_iter().flatten().collect();
    assert!(lengths.len() > 20 && lengths.iter().filter(|&&steps| steps > 1).count() > 4, "{} {lengths:?}", lengths.len());
}

/// A process that has ended may be started again, with the same number.
#[test]
fn a_label_behind_the_present_process_is_not_out_of_reach() {
    let text = "byte n;
active proctype P() { do :: n < 2 -> run R(); _nr_pr == 1; n++ od }
proctype R() { skip;
there: skip; skip }
ltl f { [] !(n == 1 && R[1]@there) }
";
    let subject: Arc<dyn Subject> = Arc::new(languages::testing::compile("m.pml", text, &[]).expect("a model"));
    let lengths = [Order::Breadth, Order::AStar, Order::IdaStar].map(|order| {
        let selected = Selected { subject: Arc::clone(&subject), names: vec!["f".to_owned()], branching: Vec::new(), automata: Vec::new() };
        let plan = Plan { order, guide: Guide::Formula, por: Por::Off, explained: true, engine: Engine::Interpreter, ..Plan::check() };
        let checked = check::run(&selected, &plan, &Cancel::default(), &Quiet).expect("a sound plan");
        let Verdict::Violated(violation) = checked.outcome.verdict else { panic!("{:?}", checked.outcome.verdict) };
        assert!(checked.guided.is_none_or(|guided| guided.along.iter().all(|&estimate| estimate != FAR)));
        violation.trace.steps.len()
    });
    assert!(lengths[0] > 8 && lengths == [lengths[0]; 3], "{lengths:?}");
}
