//! Sections 3 and 4: processes, their questions about each other, and their end.

use super::{Bench, Case, Verdict, case};

pub(super) const CASES: &[Case] = &[
    case!("I-RUN" => a_new_process),
    case!("I-RUN" => prologues),
    case!("I-RUN" "M-ACTIVE" => a_prologue_has_its_own_registers),
    case!("I-PID" "I-NRPR" => numbers),
    case!("I-LAST" "E-STEP" => the_last_to_move),
    case!("I-ENABLED" => enabled_processes),
    case!("I-ENABLED" => enabled_in_the_present_state),
    case!("I-ENABLED" "I-SEND" => a_process_that_waits_for_a_partner_is_not_enabled),
    case!("I-ENABLED" => enabled_asks_no_further),
    case!("I-ENABLED" "I-TIMEOUT" => enabled_times_out_with_the_one_that_asks),
    case!("I-PCVAL" => control_locations_by_number),
    case!("I-AT" => control_locations_by_name),
    case!("I-NP" => progress),
    case!("I-PRIO" => priorities_are_read_and_set),
    case!("E-STEP" => a_step_moves_the_location),
    case!("E-TERM" => the_youngest_ends_first),
    case!("E-TERM" "M-CHANNEL" => channels_go_with_their_owner),
];

fn a_new_process(b: &Bench<'_>) -> Verdict {
    let text = "global int x | global int y
        process p() { | LDC 3 | LDC 4 | RUN 2, q | STG x | STEP N | NEX | }
        process q(int m, int n) { | local int v = 5 | LDL m | LDC 10 | MUL | LDL n | ADD | LDC 10 | MUL | LDL v | ADD | STG y | STEP N | STEP T | }
        start p";
    b.expect(text, "x .", "0:1,1/0")?;
    b.expect_after(text, &[0], "y", "1:345")?;
    // Parameters are stored over initial values; a new process comes last.
    let text = "global int x
        process p() { | LDC 0 | RUN 1, q | DROP | LDC 6 | RUN 1, q | STG x | STEP N | NEX | }
        process q(byte m = 9) { | LDL m | STG x | STEP N | NEX | }
        start p, p";
    b.expect(text, "x .", "0:3,1/0/0/0 1:3,0/1/0/0")?;
    b.expect_after(text, &[0], "x", "1:5 2:0 3:6")
}

fn prologues(b: &Bench<'_>) -> Verdict {
    // The new process executes it, with its own number, locals and channels.
    let text = "global int x | global int y | channel c = [1] of { byte }
        process p() { | local int v = 40 | LDC 2 | RUN 1, q | STG x | STEP N | NEX | }
        process q(int m) {
            local int v = 7
            .prologue | LDL m | LDL v | ADD | STL v | PID | STG y | LDL m | JMPZ skip | CHNEW c | STL m | skip: RET
            .entry | LDL v | STG x | STEP N | LDL m | STG x | STEP T
        }
        start p";
    b.expect(text, "x y # .", "0:1,1,0/0,1/0")?;
    b.expect_after(text, &[0], "x", "1:9")?;
    b.expect_after(text, &[0, 0], "x #", "1:2,0")?;
    // Its faults are faults of the step.
    let text = "global int x
        process p() { | RUN 0, q | STG x | STEP N | NEX | }
        process q() { | .prologue | LDG x | ASSERT | RET | .entry | NEX | }
        start p";
    b.expect(text, "x", "0:1!Assertion")?;
    b.expect(&text.replace("LDG x | ASSERT", "LDC 1 | LDG x | DIV | DROP"), "x", "0:!Division")
}

fn a_prologue_has_its_own_registers(b: &Bench<'_>) -> Verdict {
    let text = "global int x
        process p() { | LDC 5 | POP r0 | LDC 6 | RUN 0, q | DROP | PUSH r0 | ADD | STG x | STEP N | NEX | }
        process q() { | .prologue | LDC 9 | POP r0 | RET | .entry | NEX | }
        start p";
    b.expect(text, "x", "0:11")
}

fn numbers(b: &Bench<'_>) -> Verdict {
    let text = "global int x | global int y
        process p() { | PID | STG x | NRPR | STG y | RUN 0, q | DROP | NRPR | LDC 10 | MUL | LDG y | ADD | STG y | STEP N | NEX | }
        process q() { | NEX | }
        start p, p, p";
    b.expect(text, "x y", "0:0,43 1:1,43 2:2,43")
}

fn the_last_to_move(b: &Bench<'_>) -> Verdict {
    let text = "global int x = 9
        process p() { | LAST | STG x | STEP N | LAST | STG x | STEP N | NEX | }
        start p, p";
    b.expect(text, "x", "0:0 1:0")?;
    b.expect_after(text, &[1], "x", "0:1 1:1")?;
    b.expect_after(text, &[1, 0], "x", "0:0 1:0")?;
    // In a rendezvous it is the receiver; before the receiver's step is complete, the sender.
    let text = "global int x = 9 | channel c = [0] of { byte }
        process p() { | LDC c | LDC 1 | SEND 1 | STEP N | NEX | }
        process q() { | LDC c | RECV 1, {}, first | LAST | STG x | STEP N | LAST | STG x | STEP N | NEX | }
        start q, p";
    b.expect(text, "x", "1:1")?;
    b.expect_after(text, &[0], "x", "0:0")?;
    // Invisible and atomic steps count at once, deterministic ones when the sequence is complete.
    let steps = |mode: &str| {
        format!(
            "global int x = 9 | channel c = [1] of {{ byte }}
             process p() {{ | STEP {mode} | LAST | STG x | STEP N | LAST | STG x | STEP N | NEX | }}
             process q() {{ | NEX | }}
             start q, p"
        )
    };
    b.expect(&steps("I"), "x", "1:1")?;
    b.expect_after(&steps("I"), &[0], "x", "1:1")?;
    b.expect_after(&steps("A"), &[0], "x", "1:1")?;
    b.expect(&steps("D"), "x", "1:0")?;
    b.expect_after(&steps("D"), &[0], "x", "1:1")?;
    // So does the end of a process, whose number remains.
    let text = "global int x = 9
        process p() { | LAST | STG x | STEP N | NEX | }
        process q() { | STEP T | }
        start p, q";
    b.expect_after(text, &[1], "x", "0:1")
}

/// The result of ENABLED for process 1, whose first instructions are given.
fn enabled(other: &str) -> String {
    format!(
        "global int x | global int y | channel c = [0] of {{ byte }} | channel d = [1] of {{ byte }}
         process p() {{ | LDC 1 | ENABLED | STG x | STEP N | NEX | }}
         process q() {{ | {other} | NEX | }}
         start p, q"
    )
}

fn first_of(b: &Bench<'_>, text: &str, expected: &str) -> Verdict {
    let mut loaded = b.load(text);
    let state = loaded.initial()?;
    let all = loaded.transitions(&state, "x")?;
    let first = all.split(' ').next().unwrap_or_default();
    if first == expected { Ok(()) } else { Err(format!("found `{first}`, expected `{expected}` first of\n{text}")) }
}

fn enabled_processes(b: &Bench<'_>) -> Verdict {
    for (other, expected) in [
        ("STEP N", "0:1"),
        ("STEP T", "0:1"),
        ("STEP D", "0:1"),
        ("LDC 0 | NEXZ | STEP N", "0:0"),
        ("NDET a | NEX | a: STEP N", "0:1"),
        ("LDC 1 | LDC 0 | DIV | DROP | STEP N", "0:1"),
        ("LDC d | RECV 1, {}, first | STEP N", "0:0"),
        ("LDC d | LDC 1 | SEND 1 | STEP N", "0:1"),
    ] {
        first_of(b, &enabled(other), expected)?;
    }
    for number in [-1, 2, 255] {
        first_of(b, &enabled("STEP N").replace("LDC 1 | ENABLED", &format!("LDC {number} | ENABLED")), "0:0")?;
    }
    Ok(())
}

fn enabled_in_the_present_state(b: &Bench<'_>) -> Verdict {
    // The present state includes the effects of the asking step so far. The other process is only
    // tried, which has no effect.
    let text = enabled("LDG y | NEXZ | LDC 9 | STG y | STEP N");
    first_of(b, &text, "0:0")?;
    first_of(b, &text.replace("LDC 1 | ENABLED", "LDC 1 | STG y | LDC 1 | ENABLED | LDG y | ADD"), "0:2")?;
    // For the process itself: from its location, not from the present instruction.
    let text = "global int x | process p() { | LDG x | LNOT | NEXZ | PID | ENABLED | LDC 5 | STG x | PID | ENABLED | SUB | STG x | STEP N | NEX | } | start p";
    b.expect(text, "x", "0:1")
}

fn a_process_that_waits_for_a_partner_is_not_enabled(b: &Bench<'_>) -> Verdict {
    first_of(b, &enabled("LDC c | LDC 1 | SEND 1 | STEP N"), "0:0")?;
    first_of(b, &enabled("LDC c | RECV 1, {}, first | STEP N"), "0:0")?;
    // If a partner is ready, the sender is enabled; the receiver is not: it waits for an offer.
    let meet = |offers: &str, receives: &str| {
        let asks = "process p() { | LDC 1 | ENABLED | STG x | STEP N | NEX | }";
        let other = |name: &str, code: &str| format!("process {name}() {{ | {code} | STEP N | NEX | }}");
        let code = |kind: &str| if kind == "offers" { "LDC c | LDC 1 | SEND 1" } else { "LDC c | RECV 1, {}, first" };
        format!(
            "global int x | channel c = [0] of {{ byte }}\n{asks}\n{}\n{}\nstart p, q, r",
            other("q", code(offers)),
            other("r", code(receives))
        )
    };
    first_of(b, &meet("offers", "receives"), "0:1")?;
    first_of(b, &meet("receives", "offers"), "0:0")
}

fn enabled_asks_no_further(b: &Bench<'_>) -> Verdict {
    // Inside the evaluation another ENABLED gives 0.
    first_of(b, &enabled("LDC 1 | ENABLED | NEXZ | STEP N"), "0:0")?;
    first_of(b, &enabled("LDC 1 | ENABLED | LNOT | NEXZ | STEP N"), "0:1")?;
    // Also if an UNLESS tries whether some process answers.
    let text = "global int x | channel c = [0] of { byte }
        process p() { | LDC 1 | ENABLED | STG x | STEP N | NEX | }
        process q() { | UNLESS a | STEP N | NEX | a: LDC c | LDC 1 | SEND 1 | STEP N | NEX | }
        process r() { | LDC 1 | ENABLED | NEXZ | LDC c | RECV 1, {}, first | STEP N | NEX | }
        start p, q, r";
    first_of(b, text, "0:1")
}

fn enabled_times_out_with_the_one_that_asks(b: &Bench<'_>) -> Verdict {
    let asks = |code: &str| {
        format!(
            "global int x = 9
             process p() {{ | {code} | STEP N | NEX | }}
             process q() {{ | TIMEOUT | NEXZ | STEP N | NEX | }}
             start p, q"
        )
    };
    b.expect(&asks("TIMEOUT | NEXZ | LDC 1 | ENABLED | STG x"), "x", "0:1 1:9")?;
    b.expect(&asks("LDC 1 | ENABLED | NEXZ | LDC 2 | STG x"), "x", "0:2 1:9")?;
    b.expect(&asks("LDC 1 | ENABLED | STG x"), "x", "0:0")?;
    b.expect(&asks("TIMEOUT | NEXZ | STEP I | LDC 1 | ENABLED | STG x"), "x", "0:0 1:9")?;
    b.expect(&asks("TIMEOUT | NEXZ | STEP D | LDC 1 | ENABLED | STG x"), "x", "0:1 1:9")
}

fn control_locations_by_number(b: &Bench<'_>) -> Verdict {
    let text = "global int x | global int y
        process p() { | LDC 1 | PCVAL | STG x | LDC 2 | PCVAL | STG y | STEP N | NEX | }
        process q() { | LDC 5 | DROP | STEP N | LDC 6 | DROP | STEP N | NEX | }
        start p, q";
    b.expect(text, "x y", "0:0,0 1:0,0")?;
    b.expect_after(text, &[1], "x y", "0:1,0 1:0,0")?;
    b.expect_after(text, &[1, 1], "x y", "0:2,0")?;
    // For the process itself: its control location, not the present instruction.
    b.expect_after("global int x | process p() { | STEP N | PID | PCVAL | STG x | STEP N | NEX | } | start p", &[0], "x", "0:1")
}

fn control_locations_by_name(b: &Bench<'_>) -> Verdict {
    let text = |number: i32, place: &str| {
        format!(
            "global int x = 9
             process p() {{ | LDC {number} | AT q.{place} | STG x | STEP N | STEP N | NEX | }}
             process q() {{ | a: STEP N | b: LDC 0 | NEXZ | c: STEP N | d: JMP b | }}
             start p, q"
        )
    };
    b.expect(&text(1, "a"), "x", "0:1 1:9")?;
    b.expect(&text(1, "b"), "x", "0:0 1:9")?;
    b.expect_after(&text(1, "b"), &[1], "x", "0:1")?;
    b.expect_after(&text(1, "a"), &[1], "x", "0:0")?;
    // From an address that holds a jump, the location is that of its target.
    b.expect_after(&text(1, "d"), &[1], "x", "0:1")?;
    // Process 0 has another type, process 2 does not exist.
    b.expect(&text(0, "a"), "x", "0:0 1:9")?;
    b.expect(&text(2, "a"), "x", "0:0 1:9")?;
    b.expect(&text(-1, "a"), "x", "0:0 1:9")
}

fn progress(b: &Bench<'_>) -> Verdict {
    let text = "global int x = 9
        process p() { | NP | STG x | STEP N | NEX | }
        process q() { | STEP N | here: progress | LDC 1 | NEXZ | STEP N | there: end accept | NEX | }
        start p, q";
    b.expect(text, "x", "0:1 1:9")?;
    b.expect_after(text, &[1], "x", "0:0 1:9")?;
    b.expect_after(text, &[1, 1], "x", "0:1")
}

fn priorities_are_read_and_set(b: &Bench<'_>) -> Verdict {
    let read = |number: i32| {
        format!(
            "global int x
             process p() priority 3 {{ | LDC {number} | GETPRIO | STG x | STEP N | NEX | }}
             process q() priority 2 {{ | NEX | }}
             start p, q"
        )
    };
    for (number, expected) in [(0, "0:3"), (1, "0:2"), (2, "0:0"), (-1, "0:0")] {
        b.expect(&read(number), "x", expected)?;
    }
    let set = |number: i32, priority: i32| {
        format!(
            "global int x
             process p() {{ | LDC {number} | LDC {priority} | SETPRIO | LDC 0 | GETPRIO | LDC 1 | GETPRIO | LDC 1000 | MUL | ADD | STG x | STEP N | NEX | }}
             process q() {{ | NEX | }}
             start p, q"
        )
    };
    for (number, priority, expected) in [
        (0, 7, "0:1007"),
        (1, 255, "0:255001"),
        (1, 1, "0:1001"),
        (1, 0, "0:!Priority"),
        (1, 256, "0:!Priority"),
        (1, -1, "0:!Priority"),
        // Setting the priority of a process that does not exist has no effect, if the priority is
        // valid.
        (2, 7, "0:1001"),
        (-1, 7, "0:1001"),
        (2, 0, "0:!Priority"),
    ] {
        b.expect(&set(number, priority), "x", expected)?;
    }
    Ok(())
}

fn a_step_moves_the_location(b: &Bench<'_>) -> Verdict {
    let text = "process p() { | LDC 1 | DROP | STEP N | LDC 1 | DROP | STEP A | LDC 1 | DROP | STEP N | NEX | } | start p";
    b.expect(text, ".", "0:1")?;
    b.expect_after(text, &[0], ".", "0:2")?;
    b.expect_after(text, &[0, 0], ".", "0:3")?;
    // A path that does not end in a step does not move the process.
    b.expect_after(text, &[0, 0, 0], ".", "")
}

fn the_youngest_ends_first(b: &Bench<'_>) -> Verdict {
    let text = "global byte x
        process p() { | PID | STG x | STEP T | }
        start p, p, p";
    b.expect(text, "x .", "2:2,0/0")?;
    b.expect_after(text, &[0], "x .", "1:1,0")?;
    b.expect_after(text, &[0, 0], "x .", "0:0,")?;
    b.expect_after(text, &[0, 0, 0], "x .", "")?;
    // Numbers are reused.
    let text = "global byte x
        process p() { | RUN 0, q | STG x | STEP N | NRPR | LDC 1 | EQ | NEXZ | RUN 0, q | STG x | STEP N | NEX | }
        process q() { | STEP T | }
        start p";
    b.expect_after(text, &[0], "x .", "1:1,1")?;
    b.expect_after(text, &[0, 0], "x .", "0:1,2/0")
}

fn channels_go_with_their_owner(b: &Bench<'_>) -> Verdict {
    // Channels created after the youngest process belong to it, whichever process creates them.
    let text = "global byte x | channel c = [1] of { byte }
        process p() { | CHNEW c | DROP | RUN 0, q | DROP | CHNEW c | STG x | STEP N | LDG x | LEN | STG x | STEP N | NEX | }
        process q() { | CHNEW c | DROP | STEP N | STEP T | }
        start p";
    b.expect(text, "x #", "0:3,0/0/0")?;
    b.expect_after(text, &[0], "x #", "0:0,0/0/0 1:3,0/0/0/0")?;
    b.expect_after(text, &[0, 1, 1], "x #", "0:!Channel")
}
