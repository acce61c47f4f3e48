//! Section 4: which process moves, and which steps form a transition.

use super::bench::same;
use super::{Bench, Case, Verdict, case};

pub(super) const CASES: &[Case] = &[
    case!("S-NORMAL" => nobody_has_the_privilege),
    case!("S-ATOMIC" "S-PRIVILEGE" => the_privilege_to_run_alone),
    case!("S-PRIVILEGE" => a_blocked_holder_loses_the_privilege),
    case!("S-PRIVILEGE" "F-FATAL" => a_holder_that_faults_keeps_the_others_out),
    case!("S-RENDEZVOUS" => meetings_in_order),
    case!("S-RENDEZVOUS" => nobody_answers),
    case!("S-RENDEZVOUS" "S-ATOMIC" => the_privilege_passes),
    case!("S-RENDEZVOUS" "E-TERM" => ends_and_offers),
    case!("S-RENDEZVOUS" => a_new_process_answers),
    case!("S-RENDEZVOUS" "F-FATAL" => faults_of_an_answer),
    case!("S-TIMEOUT" "I-TIMEOUT" => timeout_only_if_nothing_else),
    case!("S-TIMEOUT" => timeout_in_the_first_path_and_its_deterministic_sequence),
    case!("S-TIMEOUT" "S-PRIVILEGE" => timeout_and_privilege),
    case!("S-PRIORITY" => higher_priorities_first),
    case!("S-PRIORITY" "S-TIMEOUT" => priorities_and_timeout),
    case!("S-PRIORITY" "S-PRIVILEGE" "S-INVISIBLE" => priorities_and_going_on),
    case!("S-SCRATCH" => scratch_variables),
    case!("S-END" => ends),
    case!("F-FATAL" => a_fault_leads_nowhere),
    case!("F-CONTINUE" => the_first_fault_is_carried),
    case!("F-CONTINUE" "S-RENDEZVOUS" "S-INVISIBLE" => faults_are_carried_along),
];

fn nobody_has_the_privilege(b: &Bench<'_>) -> Verdict {
    let text = "global byte x
        process p() { | STEP A | LDC 1 | STG x | STEP N | STEP A | STEP T | }
        process q() { | STEP N | NEX | }
        start p, q";
    b.expect_after(text, &[0], "e x", "0:-,1")?;
    b.expect_after(text, &[0, 0], "e x", "0:0,1 1:-,1")?;
    // The end of a process is a normal step.
    let text = "process p() { | STEP N | STEP N | NEX | } | process q() { | STEP A | STEP T | } | start p, q";
    b.expect_after(text, &[1], "e .", "1:-,0")?;
    b.expect_after(text, &[1, 0], "e .", "0:-,1")
}

fn the_privilege_to_run_alone(b: &Bench<'_>) -> Verdict {
    let text = "global byte x
        process p() { | STEP N | NEX | }
        process q() { | LDC 1 | STG x | STEP A | NDET a | LDC 2 | STG x | STEP A | NEX | a: LDC 3 | STG x | STEP N | NEX | }
        start p, q, p";
    b.expect(text, "e x", "0:-,0 1:1,1 2:-,0")?;
    b.expect_after(text, &[1], "e x", "1:1,2 1:-,3")
}

fn a_blocked_holder_loses_the_privilege(b: &Bench<'_>) -> Verdict {
    let text = "global byte x
        process p() { | STEP A | LDG x | NEXZ | STEP A | LDC 2 | STG x | STEP N | NEX | }
        process q() { | LDC 1 | STG x | STEP N | NEX | }
        start p, q";
    // Blocked: the other process moves, and the state it reaches has no holder.
    b.expect_after(text, &[0], "e x", "1:-,1")?;
    b.expect_after(text, &[0, 0], "e x", "0:0,1")?;
    b.expect_after(text, &[0, 0, 0], "e x", "0:-,2")
}

fn a_holder_that_faults_keeps_the_others_out(b: &Bench<'_>) -> Verdict {
    let text = "global byte x
        process p() { | STEP A | LDC 1 | LDG x | DIV | DROP | STEP N | NEX | }
        process q() { | LDC 1 | STG x | STEP N | NEX | }
        start p, q";
    b.expect_after(text, &[0], "x", "0:!Division")
}

/// One process that offers, two that receive.
fn three(offer: &str, answer: &str, order: &str) -> String {
    format!(
        "global byte x | global byte y | channel c = [0] of {{ byte }}
         process p() {{ | LDC c | LDC 5 | SEND 1 | {offer} | NEX | }}
         process q() {{ | LDC c | RECV 1, {{}}, first | PID | STG x | {answer} | NEX | }}
         start {order}"
    )
}

fn meetings_in_order(b: &Bench<'_>) -> Verdict {
    b.expect(&three("STEP N", "STEP N", "p, q, q"), "x .", "0:1,1/1/0 0:2,1/0/1")?;
    b.expect(&three("STEP N", "STEP N", "q, p, q"), "x .", "1:0,1/1/0 1:2,0/1/1")?;
    b.expect(&three("STEP N", "STEP N", "q, p, p"), "x .", "1:0,1/1/0 2:0,1/0/1")?;
    // Each path of each process that answers. The rest of the offering step has been executed.
    let text = three("LDC 7 | STG y | STEP N", "LDG y | STG x | NDET a | STEP N | NEX | a: LDC 8 | STG x | STEP N", "p, q, q");
    b.expect(&text, "x", "0:7 0:8 0:7 0:8")?;
    // A process that could receive but does not do so on this path is not a partner.
    let text = three("STEP N", "STEP N", "p, q").replace("process q() { |", "process q() { | NDET a | LDC 9 | STG y | STEP N | NEX | a:");
    b.expect(&text, "x y", "0:1,0 1:0,9")
}

fn nobody_answers(b: &Bench<'_>) -> Verdict {
    b.expect(&three("STEP N", "STEP N", "p"), "x", "")?;
    b.expect(&three("STEP N", "STEP N", "q, q"), "x", "")?;
    b.expect(&three("STEP N", "STEP N", "p, p"), "x", "")?;
    // Not even its own process.
    let text = "channel c = [0] of { byte }
        process p() { | L: NDET a | LDC c | LDC 5 | SEND 1 | STEP N | JMP L | a: LDC c | RECV 1, {}, first | STEP N | JMP L | }
        start p";
    b.expect(text, ".", "")
}

fn the_privilege_passes(b: &Bench<'_>) -> Verdict {
    // The mode of the answering step decides, not that of the offering step.
    b.expect(&three("STEP A", "STEP N", "p, q"), "e .", "0:-,1/1")?;
    b.expect(&three("STEP A", "STEP A", "p, q"), "e .", "0:1,1/1")?;
    b.expect(&three("STEP N", "STEP A", "p, q"), "e .", "0:1,1/1")?;
    b.expect(&three("STEP N", "STEP A", "q, p"), "e .", "1:0,1/1")?;
    // A holder may offer; and a process may answer that is not the holder.
    let text = three("STEP A", "STEP A", "p, q").replace("process p() { |", "process p() { | STEP A |");
    b.expect_after(&text, &[0], "e .", "0:1,2/1")?;
    // The process that answers continues.
    let text = three("STEP I", "STEP I | LDC 7 | STG y | STEP N", "p, q");
    b.expect(&text, "x y .", "0:1,7,1/2")?;
    let text = three("STEP I | LDC 8 | STG y | STEP N", "STEP N", "p, q");
    b.expect(&text, "x y .", "0:1,0,1/1")?;
    let text = three("STEP N", "STEP D | LDC 7 | STG y | STEP N", "p, q");
    b.expect(&text, "x y .", "0:1,7,1/2")
}

fn ends_and_offers(b: &Bench<'_>) -> Verdict {
    // An offer that is pending when its process ends has no effect; an answering process may end.
    let ending = |order: &str| three("STEP T", "STEP N", order).replace("| NEX | }\n         process q", "| }\n         process q");
    b.expect(&ending("q, p"), ".", "")?;
    b.expect(&ending("p"), ".", "")?;
    let ending = |order: &str| three("STEP N", "STEP T", order).replace("| NEX | }\n         start", "| }\n         start");
    b.expect(&ending("p, q"), "x .", "0:1,1")?;
    b.expect(&ending("q, p"), "x .", "")?;
    b.expect(&ending("p, q, q"), "x .", "0:2,1/0")
}

fn a_new_process_answers(b: &Bench<'_>) -> Verdict {
    let text = three("RUN 0, q | DROP | STEP N", "STEP N", "p");
    b.expect(&text, "x .", "0:1,1/1")
}

fn faults_of_an_answer(b: &Bench<'_>) -> Verdict {
    // A fault counts once the offer is received; it belongs to the sender's transition.
    let fault = "LDC 1 | LDC 0 | DIV | DROP";
    b.expect(&three("STEP N", &format!("{fault} | STEP N"), "p, q"), "x", "0:!Division")?;
    let before = three("STEP N", "STEP N", "p, q").replace("process q() { |", &format!("process q() {{ | {fault} |"));
    b.expect(&before, "x", "1:!Division")
}

fn timeout_only_if_nothing_else(b: &Bench<'_>) -> Verdict {
    let text = |other: &str| {
        format!(
            "global byte x
             process p() {{ | TIMEOUT | NEXZ | LDC 1 | STG x | STEP N | NEX | }}
             process q() {{ | {other} | }}
             start p, q"
        )
    };
    b.expect(&text("NEX"), "x", "0:1")?;
    b.expect(&text("LDC 2 | STG x | STEP N | NEX"), "x", "1:2")?;
    b.expect_after(&text("LDC 2 | STG x | STEP N | NEX"), &[0], "x", "0:1")?;
    // A fault counts as a result.
    b.expect(&text("LDC 1 | LDC 0 | DIV | DROP | STEP N | NEX"), "x", "1:!Division")?;
    // Every process may use it, and it may be read without waiting for it.
    b.expect(&text("TIMEOUT | NEXZ | LDC 3 | STG x | STEP N | NEX"), "x", "0:1 1:3")?;
    b.expect(&text("TIMEOUT | LDC 5 | ADD | STG x | STEP N | NEX"), "x", "1:5")
}

fn timeout_in_the_first_path_and_its_deterministic_sequence(b: &Bench<'_>) -> Verdict {
    for (mode, expected) in [("I", "0:1,0"), ("D", "0:1,1"), ("D | STEP D", "0:1,1"), ("I | STEP D", "0:1,0"), ("D | STEP I", "0:1,0")] {
        let text = format!(
            "global byte x = 9 | global byte y = 9
             process p() {{ | TIMEOUT | NEXZ | TIMEOUT | STG x | STEP {mode} | TIMEOUT | STG y | STEP N | NEX | }}
             start p"
        );
        b.expect(&text, "x y", expected)?;
    }
    // A process that answers does not see it, and neither does a process whose answer is only
    // tried.
    let text = "global byte x = 9 | channel c = [0] of { byte }
        process p() { | TIMEOUT | NEXZ | LDC c | LDC 5 | SEND 1 | STEP N | NEX | }
        process q() { | LDC c | RECV 1, {}, first | TIMEOUT | STG x | STEP N | NEX | }
        start p, q";
    b.expect(text, "x", "0:0")?;
    let text = "global byte x = 9 | channel c = [0] of { byte }
        process p() { | TIMEOUT | NEXZ | UNLESS a | LDC 1 | STG x | STEP N | NEX | a: LDC c | LDC 5 | SEND 1 | STEP N | NEX | }
        process q() { | TIMEOUT | NEXZ | LDC c | RECV 1, {}, first | LDC 2 | STG x | STEP N | NEX | }
        start p, q";
    b.expect(text, "x", "0:1")
}

fn timeout_and_privilege(b: &Bench<'_>) -> Verdict {
    // A holder that waits for a timeout loses the privilege if another process can move without
    // one.
    let text = |other: &str| {
        format!(
            "global byte x
             process p() {{ | STEP A | TIMEOUT | NEXZ | LDC 1 | STG x | STEP N | NEX | }}
             process q() {{ | LDG x | LNOT | NEXZ | {other} | }}
             start p, q"
        )
    };
    b.expect_after(&text("LDC 2 | STG x | STEP N | NEX"), &[0], "x", "1:2")?;
    b.expect_after(&text("NEX"), &[0], "x", "0:1")?;
    // In the second pass no process has the privilege.
    b.expect_after(&text("TIMEOUT | NEXZ | LDC 2 | STG x | STEP N | NEX"), &[0], "x", "0:1 1:2")
}

fn higher_priorities_first(b: &Bench<'_>) -> Verdict {
    let text = |low: &str, high: &str| {
        format!(
            "global byte x | global byte go | channel c = [0] of {{ byte }}
             process p() priority 2 {{ | {low} | }}
             process q() priority 3 {{ | {high} | }}
             start p, q, p"
        )
    };
    let step = "LDC 1 | STG x | STEP N | NEX";
    b.expect(&text(step, step), "x", "1:1")?;
    b.expect(&text(step, "LDG go | NEXZ | STEP N | NEX"), "x", "0:1 2:1")?;
    b.expect_after(&text(step, step), &[0], "x", "0:1 2:1")?;
    // A process that waits for a partner is not enabled; but it takes part in the rendezvous of
    // others.
    b.expect(&text("LDC c | LDC 5 | SEND 1 | STEP N | NEX", "LDC c | RECV 1, {}, first | STEP N | NEX"), ".", "0:1/1/0 2:0/1/1")?;
    b.expect(&text("LDC c | RECV 1, {}, first | STEP N | NEX", "LDC c | LDC 5 | SEND 1 | STEP N | NEX"), ".", "1:1/1/0 1:0/1/1")?;
    // A priority that is set counts from the next transition on.
    let text = "global byte x
        process p() { | PID | LDC 5 | SETPRIO | STEP N | LDC 1 | STG x | STEP N | NEX | }
        start p, p";
    b.expect(text, "x", "0:0 1:0")?;
    b.expect_after(text, &[1], "x", "1:1")?;
    b.expect_after(text, &[1, 0], ".", "0:1/2")
}

fn priorities_and_timeout(b: &Bench<'_>) -> Verdict {
    // In the second pass a process is enabled if it is with the timeout.
    let text = "global byte x
        process p() priority 2 { | TIMEOUT | NEXZ | LDC 1 | STG x | STEP N | NEX | }
        process q() priority 3 { | TIMEOUT | NEXZ | LDC 2 | STG x | STEP N | NEX | }
        start p, q";
    b.expect(text, "x", "1:2")?;
    // A process of higher priority that waits for a timeout does not block the others.
    let text = "global byte x
        process p() priority 2 { | LDC 1 | STG x | STEP N | NEX | }
        process q() priority 3 { | TIMEOUT | NEXZ | LDC 2 | STG x | STEP N | NEX | }
        start p, q";
    b.expect(text, "x", "0:1")
}

fn priorities_and_going_on(b: &Bench<'_>) -> Verdict {
    // The process of higher priority becomes enabled by the step of the other one.
    let text = |mode: &str| {
        format!(
            "global byte x | global byte go
             process p() priority 2 {{ | LDC 1 | STG go | STEP {mode} | LDC 1 | STG x | STEP N | NEX | }}
             process q() priority 3 {{ | LDG go | NEXZ | LDC 2 | STG x | STEP N | NEX | }}
             start p, q"
        )
    };
    // The holder of the privilege loses it; a process that would continue by an invisible step is
    // blocked; a deterministic sequence is not interrupted.
    b.expect(&text("A"), "x e .", "0:0,0,1/0")?;
    b.expect_after(&text("A"), &[0], "x e .", "1:2,-,1/1")?;
    b.expect(&text("I"), "x .", "0:0,1/0")?;
    b.expect(&text("D"), "x .", "0:1,2/0")?;
    // A process that answers is not blocked either: the offer is the other's transition.
    let text = "global byte x | channel c = [0] of { byte }
        process p() priority 3 { | LDC c | LDC 1 | SEND 1 | STEP N | NEX | }
        process q() priority 1 { | LDC c | RECV 1, {}, first | LDC 1 | STG x | STEP I | LDC 2 | STG x | STEP N | NEX | }
        process r() priority 2 { | LDG x | NEXZ | STEP N | NEX | }
        start p, q, r";
    b.expect(text, "x .", "0:1,1/1/0")
}

fn scratch_variables(b: &Bench<'_>) -> Verdict {
    let text = "global scratch byte s = 3 | global scratch byte a[2] = {1, 2} | global byte x
        process p() {
            local scratch byte t = 4
            LDC 7 | STG s | LDC 8 | STL t | LDC 9 | LDC 1 | STGX a | STEP I
            LDG s | LDL t | ADD | LDC 1 | LDGX a | ADD | STG x | STEP N
            LDG s | LDL t | ADD | LDC 1 | LDGX a | ADD | STG x | STEP N | NEX
        }
        start p";
    // They keep their values through the steps of a transition, and no longer.
    b.expect(text, "s a x", "0:3,1/2,24")?;
    b.expect_after(text, &[0], "x", "0:9")?;
    // Those of every process are reset, whichever process moved, and however the transition ends.
    let text = "global scratch byte s = 3 | channel c = [0] of { byte }
        process p() { | LDC 7 | STG s | LDC c | LDC 1 | SEND 1 | STEP N | NEX | }
        process q() { | local scratch byte t = 4 | LDC c | RECV 1, {}, first | LDC 8 | STL t | STEP A | NEX | }
        process r() { | LDC 9 | STG s | STEP I | NEX | }
        start p, q, r";
    b.expect(text, "s", "0:3 2:3")?;
    let mut loaded = b.load(text);
    let state = loaded.walk(&[0])?;
    same(&format!("{:?}", loaded.read(&state)?.local(loaded.naive.program(), 1, "t")), "Some(4)")
}

fn ends(b: &Bench<'_>) -> Verdict {
    let valid = |text: &str, choices: &[usize], expected: bool| -> Verdict {
        let mut loaded = b.load(text);
        let state = loaded.walk(choices)?;
        same(&loaded.transitions(&state, "")?, "")?;
        let found = loaded.system.is_valid_end(&state);
        if found == expected { Ok(()) } else { Err(format!("a valid end: {found}, not {expected}, after {choices:?} of\n{text}")) }
    };
    valid("process p() { | NEX | } | start p", &[], false)?;
    valid("process p() { | here: end | NEX | } | start p", &[], true)?;
    valid("process p() { | here: progress accept | NEX | } | start p", &[], false)?;
    valid("process p() { | here: end | NEX | } | process q() { | NEX | } | start p, q", &[], false)?;
    valid("process p() { | STEP T | } | start p", &[0], true)?;
    // A process that waits for a younger one to end.
    valid("process p() { | STEP T | } | process q() { | here: end | NEX | } | start p, q", &[], true)?;
    valid("process p() { | STEP T | } | process q() { | NEX | } | start p, q", &[], false)?;
    // The location must have the label.
    valid("process p() { | LDC 0 | here: end | NEXZ | STEP N | NEX | } | start p", &[], false)?;
    valid("process p() { | here: end | STEP N | NEX | } | start p", &[0], false)?;
    valid("process p() { | STEP N | here: end | NEX | } | start p", &[0], true)
}

fn a_fault_leads_nowhere(b: &Bench<'_>) -> Verdict {
    let text = "global byte x
        process p() { | LDC 1 | STG x | LDC 1 | LDC 0 | DIV | DROP | STEP N | NEX | }
        process q() { | LDC 2 | STG x | STEP N | NEX | }
        start p, q";
    b.expect(text, "x", "0:!Division 1:2")?;
    // The fault has the address of its instruction.
    let mut loaded = b.load(text);
    let state = loaded.initial()?;
    let fault = loaded.outcomes(&state)[0].1.map(|fault| fault.addr.0);
    same(&format!("{fault:?}"), "Some(4)")?;
    // Other paths are not affected.
    b.expect("global byte x | process p() { | NDET a | LDC 1 | LDC 0 | DIV | DROP | STEP N | NEX | a: LDC 3 | STG x | STEP N | NEX | } | start p", "x", "0:!Division 0:3")
}

fn the_first_fault_is_carried(b: &Bench<'_>) -> Verdict {
    let text = "global byte x | channel c = [2] of { byte }
        process p() { | LDC c | XS | STEP N | NEX | }
        process q() { | LDC c | FULL | LNOT | NEXZ | LDC c | LDC 1 | SEND 1 | LDC 0 | ASSERT | LDC 1 | STG x | STEP N | NEX | }
        start p, q";
    b.expect_after(text, &[0], "x #", "1:1,1!ExclusiveSend")?;
    let text = text.replace("LDC c | LDC 1 | SEND 1 | LDC 0 | ASSERT", "LDC 0 | ASSERT | LDC c | LDC 1 | SEND 1");
    b.expect_after(&text, &[0], "x #", "1:1,1!Assertion")?;
    // A later fatal fault removes the successor, but not the position of the first fault.
    b.expect("process p() { | LDC 0 | ASSERT | LDC 1 | LDC 0 | DIV | DROP | STEP N | NEX | } | start p", "", "0:!Assertion")
}

fn faults_are_carried_along(b: &Bench<'_>) -> Verdict {
    let text = "global byte x
        process p() { | LDC 0 | ASSERT | STEP I | LDC 1 | STG x | NDET a | STEP N | NEX | a: LDC 1 | LDC 0 | DIV | DROP | STEP N | NEX | }
        start p";
    b.expect(text, "x", "0:1!Assertion 0:!Assertion")?;
    let text = "global byte x
        process p() { | LDC 0 | ASSERT | STEP I | LDG x | NEXZ | STEP N | NEX | }
        start p";
    b.expect(text, "x", "0:0!Assertion")?;
    b.expect(&three("LDC 0 | ASSERT | STEP N", "STEP N", "p, q"), "x", "0:1!Assertion")?;
    b.expect(&three("STEP N", "LDC 0 | ASSERT | STEP N", "p, q"), "x", "0:1!Assertion")
}
