//! Section 3: instructions with more than one successor, and instructions that block.

use super::{Bench, Case, Verdict, case};

pub(super) const CASES: &[Case] = &[
    case!("I-NDET" => both_ways_in_order),
    case!("I-ELSE" => else_only_if_nothing_succeeds),
    case!("I-ELSE" "I-SEND" => offers_succeed_if_somebody_answers),
    case!("I-ELSE" "S-RENDEZVOUS" => answers_succeed_by_receiving),
    case!("I-ELSE" "F-FATAL" => faults_succeed),
    case!("I-ELSE" "F-CONTINUE" => faults_that_go_on_do_not_succeed),
    case!("I-ELSE" "E-TERM" => an_end_that_waits_does_not_succeed),
    case!("I-UNLESS" => the_escape_comes_first),
    case!("I-UNLESS" "S-RENDEZVOUS" => escapes_by_rendezvous),
    case!("I-UNLESS" "F-FATAL" => escapes_that_fault),
    case!("E-NEX" "E-NEXZ" => blocking),
];

/// A process that may store 1, 2 or 3 in x; `first` and `second` precede the first two stores.
fn tree(op: &str, first: &str, second: &str) -> String {
    format!(
        "global byte x
         process p() {{ | {op} a | {first} LDC 1 | STG x | STEP N | NEX | a: {second} LDC 2 | STG x | STEP N | NEX | }}
         start p"
    )
}

fn both_ways_in_order(b: &Bench<'_>) -> Verdict {
    b.expect(&tree("NDET", "", ""), "x", "0:1 0:2")?;
    b.expect(&tree("NDET", "LDC 0 | NEXZ |", ""), "x", "0:2")?;
    b.expect(&tree("NDET", "", "LDC 0 | NEXZ |"), "x", "0:1")?;
    // Depth first.
    let text = "global byte x
        process p() {
            NDET r | NDET l | LDC 1 | JMP end | l: LDC 2 | JMP end | r: NDET rr | LDC 3 | JMP end | rr: LDC 4 | end: STG x | STEP N | NEX
        }
        start p";
    b.expect(text, "x", "0:1 0:2 0:3 0:4")?;
    // The effects of one path are not visible to the other.
    let text = "global byte x
        process p() { | LDC 1 | NDET a | LDC 5 | STG x | LDC 6 | POP r0 | DROP | STEP N | NEX | a: LDG x | ADD | STG x | STEP N | NEX | }
        start p";
    b.expect(text, "x", "0:5 0:1")
}

fn else_only_if_nothing_succeeds(b: &Bench<'_>) -> Verdict {
    b.expect(&tree("ELSE", "", ""), "x", "0:1")?;
    b.expect(&tree("ELSE", "LDC 0 | NEXZ |", ""), "x", "0:2")?;
    b.expect(&tree("ELSE", "LDC 0 | NEXZ |", "LDC 0 | NEXZ |"), "x", "")?;
    // Every path from there counts, not only the first.
    b.expect(&tree("ELSE", "NDET b | LDC 0 | NEXZ | b:", ""), "x", "0:1")?;
    // Nested.
    let text = "global byte x
        process p() {
            ELSE c | ELSE b | LDC 0 | NEXZ | LDC 1 | STG x | STEP N | NEX
        b: LDC 0 | NEXZ | LDC 2 | STG x | STEP N | NEX
        c: LDC 3 | STG x | STEP N | NEX
        }
        start p";
    b.expect(text, "x", "0:3")
}

fn offers_succeed_if_somebody_answers(b: &Bench<'_>) -> Verdict {
    let text = |receiver: &str| {
        format!(
            "global byte x | channel c = [0] of {{ byte }}
             process p() {{ | ELSE a | LDC c | LDC 1 | SEND 1 | STEP N | NEX | a: LDC 2 | STG x | STEP N | NEX | }}
             process q() {{ | LDC c | RECV 1, {{}}, first | PUSH r0 | STG x | STEP N | NEX | }}
             start p{receiver}"
        )
    };
    b.expect(&text(""), "x", "0:2")?;
    b.expect(&text(", q"), "x", "0:1")?;
    // This includes an offer that is already pending, and one that an invisible step makes. An
    // offer that is pending when the process ends has no effect.
    let text = |mode: &str| {
        format!(
            "global byte x | channel c = [0] of {{ byte }}
             process p() {{ | LDC c | LDC 1 | SEND 1 | ELSE a | STEP {mode} | {} a: LDC 2 | STG x | STEP N | NEX | }}
             process q() {{ | LDC c | RECV 1, {{}}, first | LDC 1 | LDG x | ADD | STG x | STEP N | NEX | }}
             start q, p",
            if mode == "T" { "" } else { "NEX |" }
        )
    };
    b.expect(&text("N"), "x", "1:1")?;
    b.expect(&text("I"), "x", "1:1")?;
    b.expect(&text("T"), "x", "1:3")
}

fn answers_succeed_by_receiving(b: &Bench<'_>) -> Verdict {
    // The answering process could do something else; this does not prevent it from receiving.
    let text = "global byte x | channel c = [0] of { byte }
        process p() { | LDC c | LDC 1 | SEND 1 | STEP N | NEX | }
        process q() { | ELSE a | LDC 5 | STG x | STEP N | NEX | a: LDC c | RECV 1, {}, first | PUSH r0 | STG x | STEP N | NEX | }
        start p, q";
    b.expect(text, "x", "0:1 1:5")?;
    let text = text.replace("ELSE a | LDC 5", "ELSE a | LDC 0 | LDC 0 | DIV | STG x | LDC 5");
    b.expect(&text, "x", "0:1 1:!Division")?;
    // If it receives first, ELSE is not involved.
    let text = "global byte x | channel c = [0] of { byte }
        process p() { | LDC c | LDC 1 | SEND 1 | STEP N | NEX | }
        process q() { | ELSE a | LDC c | RECV 1, {}, first | PUSH r0 | STG x | STEP N | NEX | a: LDC c | RECV 1, {}, first | LDC 7 | STG x | STEP N | NEX | }
        start p, q";
    b.expect(text, "x", "0:1")
}

fn faults_succeed(b: &Bench<'_>) -> Verdict {
    b.expect(&tree("ELSE", "LDC 1 | LDC 0 | DIV | DROP |", ""), "x", "0:!Division")?;
    // A fault after a blocked instruction never happens.
    b.expect(&tree("ELSE", "LDC 0 | NEXZ | LDC 1 | LDC 0 | DIV | DROP |", ""), "x", "0:2")
}

fn faults_that_go_on_do_not_succeed(b: &Bench<'_>) -> Verdict {
    // The path continues, but it is blocked later, so its fault has not happened either.
    b.expect(&tree("ELSE", "LDC 0 | ASSERT | LDC 0 | NEXZ |", ""), "x", "0:2")?;
    b.expect(&tree("ELSE", "LDC 0 | ASSERT |", ""), "x", "0:1!Assertion")
}

fn an_end_that_waits_does_not_succeed(b: &Bench<'_>) -> Verdict {
    let text = |others: &str| {
        format!(
            "global byte x
             process p() {{ | ELSE a | STEP T | a: LDC 2 | STG x | STEP N | NEX | }}
             process q() {{ | NEX | }}
             start p{others}"
        )
    };
    b.expect(&text(""), "x .", "0:0,")?;
    b.expect(&text(", q"), "x .", "0:2,1/0")
}

fn the_escape_comes_first(b: &Bench<'_>) -> Verdict {
    b.expect(&tree("UNLESS", "", ""), "x", "0:2")?;
    b.expect(&tree("UNLESS", "", "LDC 0 | NEXZ |"), "x", "0:1")?;
    b.expect(&tree("UNLESS", "LDC 0 | NEXZ |", "LDC 0 | NEXZ |"), "x", "")?;
    b.expect(&tree("UNLESS", "NDET b | LDC 3 | STG x | STEP N | NEX | b:", "LDC 0 | NEXZ |"), "x", "0:3 0:1")?;
    b.expect(&tree("UNLESS", "", "NDET b | LDC 0 | NEXZ | b:"), "x", "0:2")
}

/// A main part that stores 1, and an escape that offers 2; the other process receives it, or does
/// not.
fn escape(receives: bool) -> String {
    format!(
        "global byte x | global byte ready = {} | channel c = [0] of {{ byte }}
         process p() {{ | UNLESS a | LDC 1 | STG x | STEP N | NEX | a: LDC c | LDC 2 | SEND 1 | STEP N | NEX | }}
         process q() {{ | LDG ready | NEXZ | LDC c | RECV 1, {{}}, first | PUSH r0 | STG x | STEP N | NEX | }}
         start p, q",
        u8::from(receives)
    )
}

fn escapes_by_rendezvous(b: &Bench<'_>) -> Verdict {
    b.expect(&escape(true), "x", "0:2")?;
    b.expect(&escape(false), "x", "0:1")?;
    // An offer that is pending when the process ends has no effect, so this escape does not
    // succeed.
    let text = "global byte x | channel c = [0] of { byte }
        process p() { | LDC c | LDC 2 | SEND 1 | UNLESS a | LDC 1 | STG x | STEP N | NEX | a: NDET b | LDC 3 | STG x | STEP T | b: LDC 0 | NEXZ | STEP N | NEX | }
        process q() { | LDC c | RECV 1, {}, first | STEP N | NEX | }
        start q, p";
    b.expect(text, "x", "1:1")
}

fn escapes_that_fault(b: &Bench<'_>) -> Verdict {
    b.expect(&tree("UNLESS", "", "LDC 1 | LDC 0 | DIV | DROP |"), "x", "0:!Division")
}

fn blocking(b: &Bench<'_>) -> Verdict {
    b.expect("global byte x | process p() { | LDC 1 | STG x | NEX | } | start p", "x", "")?;
    b.expect("global byte x | process p() { | NDET a | LDC 1 | STG x | NEX | a: LDC 2 | STG x | STEP N | NEX | } | start p", "x", "0:2")?;
    for (value, expected) in [(0, ""), (1, "0:1"), (-1, "0:1")] {
        let text = format!("global byte x | process p() {{ | LDC 1 | STG x | LDC {value} | NEXZ | STEP N | NEX | }} | start p");
        b.expect(&text, "x", expected)?;
    }
    // NEXZ pops its value.
    b.computes(&[("LDC 5 | LDC 1 | NEXZ", "5")])
}
