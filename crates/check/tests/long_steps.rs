//! A long step is not an error on either engine. A limit or a request to stop takes effect inside a
//! step, and the verdict is *unknown*.

use bytecode::Verified;
use check::{Engine, Order, Plan};
use contract::{Cancel, Limits, Quiet, StopReason, Verdict};
use std::sync::Arc;
use std::time::Duration;

fn program(text: &str) -> Arc<Verified> {
    languages::testing::compile("long.pml", text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// Each counts through all values of an `int` before a state repeats, which takes longer than any
/// test.
const COUNTING: [&str; 4] = [
    "int x; active proctype P() { d_step { do :: x++ od } }",
    "int x; active proctype P() { atomic { do :: x++ od } }",
    // A choice at each step, and very many outcomes.
    "int x; active proctype P() { atomic { do :: x++ :: x = x + 2 :: break od } }",
    // The evaluation of `enabled` executes a long step too.
    "int x; active proctype P() { d_step { do :: x++ od } } active proctype Q() { atomic { do :: enabled(0) -> x++ od } }",
];

fn verdict(text: &str, plan: &Plan, cancel: &Cancel) -> Verdict {
    check::run(&program(text), plan, cancel, &Quiet).expect("a sound plan").outcome.verdict
}

#[test]
fn a_long_step_has_its_end() {
    // More statements than either engine would follow before it called them endless: 2^24 in a
    // d_step, 2^20 in an atomic sequence.
    let deterministic = "int x; active proctype P() { d_step { do :: x < 9000000 -> x++ :: else -> break od }; assert(x == 9000000) }";
    let atomic = "int x; active proctype P() { atomic { do :: x < 600000 -> x++ :: else -> break od }; assert(x == 600000) }";
    for (text, engine) in [(deterministic, Engine::Native), (atomic, Engine::Native), (atomic, Engine::Interpreter)] {
        assert_eq!(verdict(text, &Plan { engine, ..Plan::check() }, &Cancel::default()), Verdict::Holds, "{text}");
        let wrong = text.replace("assert(x ==", "assert(x !=");
        if engine == Engine::Native && text == atomic {
            // Found by one engine, confirmed by the other.
            assert!(matches!(verdict(&wrong, &Plan { engine, ..Plan::check() }, &Cancel::default()), Verdict::Violated(_)), "{wrong}");
        }
    }
}

#[test]
fn time_is_up_inside_a_step() {
    let limits = Limits { time: Some(Duration::from_millis(100)), ..Limits::default() };
    for text in COUNTING {
        for engine in [Engine::Native, Engine::Interpreter] {
            for (order, threads) in [(Order::Breadth, 1), (Order::Breadth, 2), (Order::Depth, 1), (Order::DepthShared, 2)] {
                let plan = Plan { engine, order, threads, limits, ..Plan::check() };
                assert_eq!(verdict(text, &plan, &Cancel::default()), Verdict::Unknown(StopReason::Time), "{engine:?} {order:?} {text}");
            }
        }
    }
}

#[test]
fn memory_is_used_up_inside_a_step() {
    let limits = Limits { memory: Some(8 << 20), ..Limits::default() };
    for text in &COUNTING[2..3] {
        for engine in [Engine::Native, Engine::Interpreter] {
            for order in [Order::Breadth, Order::Depth] {
                let plan = Plan { engine, order, limits, ..Plan::check() };
                assert_eq!(verdict(text, &plan, &Cancel::default()), Verdict::Unknown(StopReason::Memory), "{engine:?} {order:?} {text}");
            }
        }
    }
}

/// A sequence without a choice needs no memory, however long it is, whether it ends or comes back
/// to itself.
#[test]
fn a_way_without_a_choice_needs_no_memory() {
    let limits = Limits { memory: Some(8 << 20), ..Limits::default() };
    let endless = "int x; active proctype P() { atomic { do :: x = (x + 1) % 300000 od } }";
    let long = "int x; active proctype P() { atomic { do :: x < 600000 -> x++ :: else -> break od }; assert(x == 600000) }";
    // The choice comes late, and one of its branches leads back to the beginning.
    let late = "int x, n; active proctype P() { atomic { do :: x < 3000 -> x++ :: x == 3000 -> n = (n + 1) % 3; x = 0; \
                if :: n = 0 :: skip fi :: n == 2 -> break od } assert(n != 2) }";
    for engine in [Engine::Native, Engine::Interpreter] {
        for order in [Order::Breadth, Order::Depth] {
            let plan = Plan { engine, order, limits, ..Plan::check() };
            let Verdict::Violated(violation) = verdict(endless, &plan, &Cancel::default()) else { panic!("{engine:?} {order:?}") };
            assert_eq!(violation.fault.kind.name(), "endless sequence");
            assert_eq!(verdict(long, &plan, &Cancel::default()), Verdict::Holds, "{engine:?} {order:?}");
        }
        let plan = Plan { engine, ..Plan::check() };
        assert!(matches!(verdict(late, &plan, &Cancel::default()), Verdict::Violated(_)), "{engine:?}");
    }
}

#[test]
fn a_request_to_stop_is_heard_inside_a_step() {
    for text in COUNTING {
        for engine in [Engine::Native, Engine::Interpreter] {
            let cancel = Cancel::default();
            cancel.cancel();
            let plan = Plan { engine, ..Plan::check() };
            assert_eq!(verdict(text, &plan, &cancel), Verdict::Unknown(StopReason::Interrupted), "{engine:?} {text}");
        }
    }
}

/// The interpreter may need too long to confirm a violation that native code found quickly. The
/// verdict is then *unknown*, with the fault.
#[test]
fn a_violation_that_takes_long_to_confirm_is_told_as_such() {
    let text =
        "int x, y; active proctype P() { d_step { do :: x < 1500 * 1000 * 1000 -> x = x + 15 :: else -> break od }; assert(y == 1) }";
    let limits = Limits { time: Some(Duration::from_secs(2)), ..Limits::default() };
    let verdict = verdict(text, &Plan { limits, ..Plan::check() }, &Cancel::default());
    // On a slow machine the search itself may take too long.
    assert!(matches!(verdict, Verdict::Unknown(StopReason::TraceLost(_) | StopReason::Time)), "{verdict:?}");
}
