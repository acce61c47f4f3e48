//! Tests that reductions change no verdict, in any order, and that their traces are traces of the
//! whole system.

use contract::testing::{Graph, LocalFirst, Random, ThreadStep, Threads, system_laws};
use contract::{FaultCode, LeftOut, Outcome, Property, Reduction, Safety, Successor, Successors, System, Verdict};
use search::{Task, breadth_first, depth_first, depth_first_shared};
use store::Plain;

const ORDERS: usize = 5;

fn run<S: System + Clone>(order: usize, system: &S, reduction: Option<&dyn Reduction>, property: &dyn Property) -> Outcome {
    let mut task = Task::new(property);
    if let Some(reduction) = reduction {
        task.reduction = reduction;
    }
    let store = Plain::new();
    match order {
        0 => breadth_first(system, &store, &task),
        1 => breadth_first(system, &store, &Task { threads: 3, ..task }),
        2 => depth_first(system, &store, &task),
        3 => depth_first_shared(system, &store, &task),
        _ => depth_first_shared(system, &store, &Task { threads: 3, ..task }),
    }
}

/// Checks that the trace of a violation is a trace of the system, step by step.
fn replay<S: System + Clone>(system: &S, outcome: &Outcome) {
    let Verdict::Violated(violation) = &outcome.verdict else { return };
    let (mut system, mut out) = (system.clone(), Successors::new());
    let mut current = violation.trace.initial.clone();
    for step in &violation.trace.steps {
        out.clear();
        system.successors(&current, &mut out);
        assert!(out.iter().any(|(entry, state)| entry.action == step.action && state == step.state.as_deref()));
        current = step.state.clone().unwrap_or_default();
    }
}

#[test]
fn no_verdict_changes() {
    let (mut reduced_states, mut full_states, mut violations) = (0, 0, 0);
    for seed in 0..400 {
        let mut system = Threads::random(seed);
        system_laws(&mut system, 1000);
        let full = run(0, &system, None, &contract::NoProperty);
        for property in [Safety { deadlocks: true, faults: false }, Safety { deadlocks: false, faults: true }] {
            let expected = run(0, &system, None, &property);
            for order in 0..ORDERS {
                let found = run(order, &system, Some(&LocalFirst(&system)), &property);
                replay(&system, &found);
                match (&expected.verdict, &found.verdict) {
                    (Verdict::Holds, Verdict::Holds) => {
                        reduced_states += found.statistics.states;
                        full_states += full.statistics.states;
                    }
                    (Verdict::Violated(a), Verdict::Violated(b)) if a.fault.kind == b.fault.kind => violations += 1,
                    (expected, found) => panic!("seed {seed}, order {order}: {expected:?} became {found:?}\n{system:?}"),
                }
            }
        }
    }
    assert!(violations > 500 && reduced_states < full_states, "{violations}, {reduced_states} of {full_states}");
}

/// Independent processes are executed one after the other instead of in all orders.
#[test]
fn independent_processes_are_not_interleaved() {
    let line: Vec<Vec<ThreadStep>> = (1..5).map(|next| vec![ThreadStep::local(next)]).chain([vec![]]).collect();
    let system = Threads { variables: 0, processes: vec![line; 4] };
    for order in 0..ORDERS {
        assert_eq!(run(order, &system, None, &contract::NoProperty).statistics.states, 625);
        let reduced = run(order, &system, Some(&LocalFirst(&system)), &contract::NoProperty);
        assert_eq!((reduced.verdict, reduced.statistics.states), (Verdict::Holds, 17), "order {order}");
    }
}

/// A process that runs in a cycle must not hide the fault of another process for ever.
#[test]
fn the_proviso_is_needed_and_there() {
    let fault = ThreadStep { fails: true, ..ThreadStep::local(0) };
    let circle = vec![vec![ThreadStep::local(1)], vec![ThreadStep::local(2)], vec![ThreadStep::local(0)]];
    let system = Threads { variables: 0, processes: vec![circle, vec![vec![fault]]] };
    for order in 0..ORDERS {
        let outcome = run(order, &system, Some(&LocalFirst(&system)), &Safety::default());
        assert!(matches!(outcome.verdict, Verdict::Violated(_)), "order {order}: {:?}", outcome.verdict);
        replay(&system, &outcome);
    }
    // The other process is examined only where the cycle closes.
    let calm = Threads { processes: vec![system.processes[0].clone(), vec![vec![ThreadStep::local(0)]]], ..system };
    for order in 0..ORDERS {
        let outcome = run(order, &calm, Some(&LocalFirst(&calm)), &Safety::default());
        assert_eq!((outcome.verdict, outcome.statistics.states, outcome.statistics.transitions), (Verdict::Holds, 3, 4), "order {order}");
    }
}

/// How long steps take does not change how many states one worker visits.
#[test]
fn slow_steps_change_no_number() {
    #[derive(Clone)]
    struct Slow<S>(S, u32);
    impl<S: System> System for Slow<S> {
        contract::forward_system!(0: initial, give_up_when, get_ready, is_valid_end, atoms, values, describe_fault, values_of_all);

        fn successors(&mut self, state: &[u8], out: &mut Successors) {
            self.1 += 1;
            if self.1.is_multiple_of(200) {
                std::thread::sleep(std::time::Duration::from_millis(6));
            }
            self.0.successors(state, out);
        }
    }
    let mut large = 0;
    for seed in 0..5 {
        let parts: Vec<Threads> = (0..6).map(|part| Threads::random(6 * seed + part)).collect();
        let variables = parts.iter().map(|part| part.variables).max().unwrap_or(0);
        let system = Threads { variables, processes: parts.into_iter().flat_map(|part| part.processes).collect() };
        for order in [0, 2, 3] {
            let numbers = |outcome: Outcome| (outcome.statistics.states, outcome.statistics.transitions);
            let quick = numbers(run(order, &system, Some(&LocalFirst(&system)), &contract::NoProperty));
            let slow = numbers(run(order, &Slow(system.clone(), 0), Some(&LocalFirst(&system)), &contract::NoProperty));
            assert_eq!(quick, slow, "seed {seed}, order {order}");
            large += u64::from(quick.0 > 100);
        }
    }
    assert!(large > 5, "{large}");
}

/// A reduction may choose anything, even steps that do not exist: the search stays within the
/// system, and counts each followed step once.
#[test]
fn careless_choices_do_no_harm() {
    struct Careless(std::sync::Mutex<Random>);
    impl Reduction for Careless {
        fn leave_out(&self, _: &[u8], _: &[Successor]) -> LeftOut {
            let mut random = self.0.lock().unwrap();
            let processes = random.below(u64::MAX) & random.below(u64::MAX);
            LeftOut { processes, postponed: random.below(u64::MAX) }
        }
    }
    for seed in 0..50 {
        let system = Threads::random(seed);
        let full = run(0, &system, None, &contract::NoProperty).statistics;
        for order in 0..ORDERS {
            let outcome = run(order, &system, Some(&Careless(Random(seed).into())), &contract::NoProperty);
            assert_eq!(outcome.verdict, Verdict::Holds);
            assert!(outcome.statistics.states <= full.states && outcome.statistics.transitions <= full.transitions);
        }
    }
}

#[test]
fn a_fault_of_an_initial_state_is_a_violation() {
    let mut graph = Graph::new(vec![vec![1], vec![0]]);
    graph.initial_fault = FaultCode::new(3);
    for order in 0..ORDERS {
        let outcome = run(order, &graph, None, &Safety::default());
        let Verdict::Violated(violation) = outcome.verdict else { panic!("order {order}: {:?}", outcome.verdict) };
        assert!(violation.trace.steps.is_empty() && violation.trace.initial == Graph::encode(0));
        // If faults are not checked, all states are explored.
        let outcome = run(order, &graph, None, &Safety { faults: false, ..Safety::default() });
        assert_eq!((outcome.verdict, outcome.statistics.states), (Verdict::Holds, 2));
    }
}

/// If computing the initial state failed, there is nothing to search, and the answer "holds" would
/// be wrong.
#[test]
fn an_initial_state_that_cannot_be_made_is_a_violation() {
    #[derive(Clone)]
    struct Stillborn;
    impl System for Stillborn {
        fn initial(&mut self, out: &mut Successors) {
            if let Some(fault) = FaultCode::new(5) {
                out.fail(contract::Action::default(), fault, Successor::NO_STEP);
            }
        }
        fn successors(&mut self, _: &[u8], _: &mut Successors) {}
        fn is_valid_end(&mut self, _: &[u8]) -> bool {
            true
        }
    }
    for order in 0..ORDERS {
        for property in [&contract::NoProperty as &dyn Property, &Safety::default()] {
            let outcome = run(order, &Stillborn, None, property);
            let Verdict::Violated(violation) = outcome.verdict else { panic!("order {order}: {:?}", outcome.verdict) };
            assert!(violation.trace.steps.is_empty() && violation.trace.initial.is_empty());
        }
    }
}
