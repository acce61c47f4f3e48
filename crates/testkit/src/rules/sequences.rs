//! Section 4: steps that continue within a transition, and sequences that never end.

use super::bench::{holds, same};
use super::{Bench, Case, Verdict, case};

pub(super) const CASES: &[Case] = &[
    case!("S-INVISIBLE" => invisible_steps_go_on),
    case!("S-INVISIBLE" => invisible_steps_that_block),
    case!("S-DETERMINISTIC" => the_first_way_that_completes),
    case!("S-DETERMINISTIC" => a_deterministic_sequence_that_blocks),
    case!("S-DETERMINISTIC" "I-SEND" => an_offer_before_a_deterministic_step),
    case!("S-DETERMINISTIC" "S-INVISIBLE" => sequences_of_both_kinds),
    case!("S-ENDLESS" => deterministic_sequences_that_come_back),
    case!("S-ENDLESS" => sequences_that_only_are_long),
    case!("S-ENDLESS" => invisible_sequences_that_come_back),
    case!("S-ENDLESS" "S-RENDEZVOUS" => invisible_sequences_of_two_processes),
    case!("S-ENDLESS" => invisible_sequences_that_are_wide),
    case!("S-ENDLESS" => many_ways_through_few_states),
];

fn invisible_steps_go_on(b: &Bench<'_>) -> Verdict {
    let text = "global byte x
        process p() { | NDET a | LDC 1 | STG x | STEP I | JMP go | a: LDC 2 | STG x | STEP I | go: NDET c | STEP N | NEX | c: LDG x | LDC 10 | ADD | STG x | STEP A | STEP T | }
        process q() { | STEP N | NEX | }
        start p, q";
    // All alternatives are followed, in order; no other process moves in between.
    b.expect(text, "x e", "0:1,- 0:11,0 0:2,- 0:12,0 1:0,-")
}

fn invisible_steps_that_block(b: &Bench<'_>) -> Verdict {
    let text = "global byte x
        process p() { | STEP A | LDC 1 | STG x | STEP I | LDG x | LDC 2 | EQ | NEXZ | STEP N | NEX | }
        process q() { | LDC 2 | STG x | STEP N | NEX | }
        start p, q";
    // The visible state is the one in which it blocks, and no process has the privilege.
    b.expect_after(text, &[0], "x e .", "0:1,-,2/0")?;
    b.expect_after(text, &[0, 0], "x e", "1:2,-")?;
    b.expect_after(text, &[0, 0, 0], "x e", "0:2,-")?;
    // A fault is not a block; and if one of several alternatives continues, those that block do not
    // count.
    let text = "global byte x | process p() { | STEP I | LDC 1 | LDC 0 | DIV | DROP | STEP N | NEX | } | start p";
    b.expect(text, "x", "0:!Division")?;
    let text =
        "global byte x | process p() { | STEP I | NDET a | LDC 0 | NEXZ | STEP N | NEX | a: LDC 3 | STG x | STEP N | NEX | } | start p";
    b.expect(text, "x", "0:3")?;
    // An offer that no process answers blocks.
    let text = "channel c = [0] of { byte } | process p() { | STEP I | LDC c | LDC 1 | SEND 1 | STEP N | NEX | } | start p";
    b.expect(text, ".", "0:1")
}

fn the_first_way_that_completes(b: &Bench<'_>) -> Verdict {
    let text = |first: &str| {
        format!(
            "global byte x
             process p() {{ | STEP D | NDET a | {first} LDC 1 | STG x | STEP N | NEX | a: LDC 2 | STG x | STEP N | NEX | }}
             start p"
        )
    };
    b.expect(&text(""), "x", "0:1")?;
    b.expect(&text("LDC 0 | NEXZ |"), "x", "0:2")?;
    b.expect(&text("LDC 1 | LDC 0 | DIV | DROP |"), "x", "0:!Division")?;
    // The first step of a transition does not count, because the sequence begins there.
    let text = "global byte x | process p() { | NDET a | LDC 1 | STG x | STEP D | JMP go | a: LDC 2 | STG x | STEP D | go: NDET c | STEP N | NEX | c: LDC 9 | STG x | STEP N | NEX | } | start p";
    b.expect(text, "x", "0:1 0:2")?;
    // The sequence ends with the first step of another mode.
    let text = "global byte x | process p() { | STEP D | LDC 1 | STG x | STEP A | LDC 2 | STG x | STEP N | NEX | } | start p";
    b.expect(text, "x e", "0:1,0")
}

fn a_deterministic_sequence_that_blocks(b: &Bench<'_>) -> Verdict {
    let text = "global byte x | process p() { | LDC 1 | STG x | STEP D | LDG x | LDC 5 | EQ | NEXZ | STEP N | NEX | } | process q() { | STEP N | NEX | } | start p, q";
    b.expect(text, "x", "0:!Blocked 1:0")?;
    let mut loaded = b.load(text);
    let state = loaded.initial()?;
    let fault = loaded.outcomes(&state)[0].1.map(|fault| fault.addr.0);
    same(&format!("{fault:?}"), "Some(3)")?;
    // So does one whose last step cannot end its process.
    b.expect("process p() { | STEP D | STEP T | } | process q() { | NEX | } | start p, q", "", "0:!Blocked")?;
    b.expect("process p() { | STEP D | STEP T | } | process q() { | NEX | } | start q, p", ".", "1:0")
}

fn an_offer_before_a_deterministic_step(b: &Bench<'_>) -> Verdict {
    let text = "channel c = [0] of { byte }
        process p() { | LDC c | LDC 1 | SEND 1 | STEP D | STEP N | NEX | }
        process q() { | LDC c | RECV 1, {}, first | STEP N | NEX | }
        start p, q";
    b.expect(text, ".", "0:!Rendezvous")
}

fn sequences_of_both_kinds(b: &Bench<'_>) -> Verdict {
    // After an invisible step all alternatives are followed again, after a deterministic one only
    // the first.
    let text = "global byte x
        process p() {
            STEP I
            NDET a | LDC 1 | JMP b | a: LDC 2 | b: STG x | STEP D
            NDET c | LDC 10 | JMP d | c: LDC 20 | d: LDG x | ADD | STG x | STEP I
            NDET e | LDC 100 | JMP f | e: LDC 200 | f: LDG x | ADD | STG x | STEP N
            NEX
        }
        start p";
    b.expect(text, "x", "0:111 0:211 0:112 0:212")
}

fn deterministic_sequences_that_come_back(b: &Bench<'_>) -> Verdict {
    b.expect("process p() { | L: LDC 0 | DROP | STEP D | JMP L | } | start p", ".", "0:!Endless")?;
    b.expect("process p() { | LDC 0 | DROP | STEP D | a: STEP D | STEP D | JMP a | } | start p", ".", "0:!Endless")?;
    let text = "global byte x | process p() { | STEP D | L: LDG x | LDC 1 | ADD | STG x | STEP D | JMP L | } | start p";
    b.expect(text, "x", "0:!Endless")?;
    // The other choices of the first step are not affected, and the fault is reported where the
    // transition began.
    let text = "global byte x | process p() { | NDET a | LDC 0 | DROP | STEP D | L: LDC 0 | DROP | STEP D | JMP L | a: LDC 1 | STG x | STEP N | NEX | } | start p";
    b.expect(text, "x", "0:!Endless 0:1")?;
    let mut loaded = b.load(&text.replace("process p() { |", "process p() { | STEP N | "));
    let state = loaded.walk(&[0])?;
    let fault = loaded.outcomes(&state)[0].1.map(|fault| fault.addr.0);
    same(&format!("{fault:?}"), "Some(1)")
}

/// A process that makes `steps` steps of a mode in a row, each to a new state.
fn long(steps: u32, mode: &str) -> String {
    format!(
        "global int x
         process p() {{ | L: LDG x | LDC 1 | ADD | STG x | LDG x | LDC {steps} | LE | JMPZ done | STEP {mode} | JMP L | done: STEP N | NEX | }}
         start p"
    )
}

fn sequences_that_only_are_long(b: &Bench<'_>) -> Verdict {
    b.expect(&long(300, "D"), "x", "0:301")?;
    b.expect(&long(300, "I"), "x", "0:301")
}

fn invisible_sequences_that_come_back(b: &Bench<'_>) -> Verdict {
    b.expect("process p() { | L: LDC 0 | DROP | STEP I | JMP L | } | start p", ".", "0:!Endless")?;
    // One exit is enough.
    let text = "global byte x
        process p() { | STEP I | L: NDET a | LDC 1 | STG x | STEP N | NEX | a: LDC 0 | DROP | STEP I | LDC 0 | DROP | STEP I | JMP L | }
        start p";
    b.expect(text, "x", "0:1")?;
    // A path that repeats a state is not blocked: the states on it are not visible.
    let text = "global byte x
        process p() { | STEP I | NDET a | LDC 1 | STG x | STEP N | NEX | a: LDC 2 | STG x | STEP I | L: LDC 0 | DROP | STEP I | JMP L | }
        start p";
    b.expect(text, "x", "0:1")?;
    // Each first path is judged by itself.
    let text = "global byte x
        process p() { | NDET a | LDC 1 | STG x | STEP N | NEX | a: LDC 2 | STG x | STEP I | L: LDC 0 | DROP | STEP I | JMP L | }
        start p";
    b.expect(text, "x", "0:1 0:!Endless")?;
    let mut loaded = b.load(text);
    let state = loaded.initial()?;
    let fault = loaded.outcomes(&state)[1].1.map(|fault| fault.addr.0);
    same(&format!("{fault:?}"), "Some(0)")
}

fn invisible_sequences_of_two_processes(b: &Bench<'_>) -> Verdict {
    // Two processes that pass the privilege back and forth for ever.
    let text = "channel c = [0] of { byte }
        process p() { | L: LDC c | LDC 1 | SEND 1 | STEP I | LDC c | RECV 1, {}, first | STEP I | JMP L | }
        process q() { | L: LDC c | RECV 1, {}, first | STEP I | LDC c | LDC 1 | SEND 1 | STEP I | JMP L | }
        start p, q";
    b.expect(text, ".", "0:!Endless")
}

fn invisible_sequences_that_are_wide(b: &Bench<'_>) -> Verdict {
    // A tree: x doubles, or doubles and increases by one, and becomes visible when it exceeds 150:
    // 300 states are passed through.
    let text = "global int x = 1
        process p() { | STEP I | L: LDG x | LDC 150 | LT | JMPZ done | NDET a | LDG x | LDC 2 | MUL | STG x | STEP I | JMP L
                      | a: LDG x | LDC 2 | MUL | LDC 1 | ADD | STG x | STEP I | JMP L | done: STEP N | NEX | }
        start p";
    let mut loaded = b.load(text);
    let state = loaded.initial()?;
    let outcomes = loaded.outcomes(&state);
    holds(outcomes.len() == 150 && outcomes.iter().all(|outcome| outcome.1.is_none()), "every leaf is shown")
}

fn many_ways_through_few_states(b: &Bench<'_>) -> Verdict {
    // Thirty choices, each with two alternatives to the same state: 2^30 paths, 31 states.
    let choices: String = (0..30).map(|i| format!("NDET a{i} | LDC 0 | DROP | a{i}: LDC 0 | DROP | STEP I |")).collect();
    let text = format!("global byte x | process p() {{ | {choices} LDC 1 | STG x | STEP N | NEX | }} | start p");
    let mut loaded = b.load(&text);
    let state = loaded.initial()?;
    let all = loaded.transitions(&state, "x")?;
    let mut distinct: Vec<&str> = all.split(' ').collect();
    distinct.dedup();
    holds(distinct == ["0:1"], "every way ends in the same state")
}
