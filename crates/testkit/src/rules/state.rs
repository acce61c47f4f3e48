//! Sections 1 and 2: the machine state and its bytes, activation.

use super::bench::{holds, same};
use super::{Bench, Case, Verdict, case};
use crate::assembly;
use bytecode::Mode;

pub(super) const CASES: &[Case] = &[
    case!("M-VALUE" => values_keep_their_low_bits),
    case!("M-VALUE" "I-SEND" "I-RUN" => fields_and_parameters_are_stored_as_their_types),
    case!("M-STATE" => a_state_byte_by_byte),
    case!("M-STATE" => parts_that_are_not_used_are_absent),
    case!("M-PROCESS" => a_process_byte_by_byte),
    case!("M-PROCESS" => many_locations_take_two_bytes),
    case!("M-CHANNEL" => a_channel_byte_by_byte),
    case!("M-CHANNEL" "I-CLAIM" => claims_take_two_bytes),
    case!("M-CHANNEL" => numbers_of_channels_begin_with_one),
    case!("M-LOCATION" => locations_lie_behind_jumps),
    case!("M-LOCATION" "I-PCVAL" => locations_are_numbered_by_address),
    case!("M-ACTIVE" => registers_and_stack),
    case!("M-LIMITS" "I-RUN" => two_hundred_and_fifty_five_processes),
    case!("M-LIMITS" "I-CHNEW" => two_hundred_and_fifty_five_channels),
    case!("M-INITIAL" => the_initial_state),
    case!("A-ACT" => a_process_goes_on_where_it_stands),
];

fn values_keep_their_low_bits(b: &Bench<'_>) -> Verdict {
    let table = [
        ("bit", 3, 1),
        ("bit", -2, 0),
        ("byte", 256, 0),
        ("byte", -1, 255),
        ("short", 32767, 32767),
        ("short", 32768, -32768),
        ("short", 65537, 1),
        ("short", -1, -1),
        ("int", i32::MIN, i32::MIN),
        ("unsigned:1", 7, 1),
        ("unsigned:5", 33, 1),
        ("unsigned:5", -1, 31),
        ("unsigned:16", -1, 65535),
        ("unsigned:31", -1, i32::MAX),
        ("unsigned:31", i32::MIN, 0),
        ("unsigned:32", -1, -1),
        ("unsigned:32", i32::MIN, i32::MIN),
    ];
    for (ty, value, read) in table {
        let text = format!(
            "global {ty} x | global int out | global {ty} a[2]
             process p() {{ | LDC {value} | STG x | LDC {value} | LDC 1 | STGX a | LDG x | STG out | STEP N | STEP T | }}
             start p"
        );
        b.expect(&text, "x out a", &format!("0:{read},{read},0/{read}"))?;
    }
    Ok(())
}

fn fields_and_parameters_are_stored_as_their_types(b: &Bench<'_>) -> Verdict {
    let text = "global int x | global int y | channel c = [1] of { byte, short }
        process p() { | LDC c | LDC 511 | LDC 32768 | SEND 2 | LDC c | RECV 2, {}, first | PUSH r0 | STG x | PUSH r1 | STG y | STEP N | STEP T | }
        start p";
    b.expect(text, "x y", "0:255,-32768")?;
    let text = "global int x
        process p() { | LDC 300 | RUN 1, q | DROP | STEP N | NEX | }
        process q(byte n) { | LDL n | STG x | STEP N | STEP T | }
        start p";
    b.expect_after(text, &[0], "x", "1:44")
}

const PARTS: &str = "global short s = -2 | global byte a[2] = {1, 2} | global unsigned:9 u = 300 | global unsigned:17 w = 70000
    channel c = [1] of { byte }
    process p() { | CHNEW c | DROP | LAST | DROP | STEP A | STEP T | }
    start p, p";

fn a_state_byte_by_byte(b: &Bench<'_>) -> Verdict {
    let globals = [254, 255, 1, 2, 44, 1, 112, 17, 1, 0];
    let channel = [0, 0];
    let bytes = |e, last, rest: &[u8]| [&[e, last][..], &globals, &channel, rest].concat();
    b.expect_bytes(PARTS, &[], &bytes(0, 0, &[0, 0, 0, 0]))?;
    // Created components are at the end, in the order of creation; their shape is the number of
    // their type after the process types.
    b.expect_bytes(PARTS, &[0], &bytes(1, 0, &[0, 1, 0, 0, 1, 0, 0]))?;
    b.expect_bytes(PARTS, &[1], &bytes(2, 1, &[0, 0, 0, 1, 1, 0, 0]))
}

fn parts_that_are_not_used_are_absent(b: &Bench<'_>) -> Verdict {
    b.expect_bytes("process p() { | STEP N | STEP T | } | start p", &[0], &[0, 1])?;
    b.expect_bytes("process p() { | STEP A | STEP T | } | start p", &[0], &[1, 0, 1])?;
    b.expect_bytes("process p() { | LAST | DROP | STEP N | STEP T | } | start p, p", &[1], &[1, 0, 0, 0, 1])?;
    // An empty state is the empty string.
    b.expect_bytes("process p() { | STEP T | } | start p", &[0], &[])
}

fn a_process_byte_by_byte(b: &Bench<'_>) -> Verdict {
    let text = |use_priority: &str| {
        format!(
            "process p() {{ | LDC 7 | LDC 8 | RUN 2, q | DROP | STEP N | NEX | }}
             process q(byte m, short n) priority 1 {{ | local int v[2] = {{1, 2}} | local bit w = 1 | {use_priority} NEX | }}
             start p"
        )
    };
    b.expect_bytes(&text(""), &[0], &[0, 1, 1, 0, 7, 8, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1])?;
    b.expect_bytes(&text("PID | GETPRIO | DROP |"), &[0], &[0, 1, 1, 1, 0, 1, 7, 8, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1])?;
    let priorities = "process p() priority 9 { | PID | LDC 200 | SETPRIO | STEP N | NEX | } | start p";
    b.expect_bytes(priorities, &[], &[0, 0, 9])?;
    b.expect_bytes(priorities, &[0], &[0, 1, 200])
}

fn many_locations_take_two_bytes(b: &Bench<'_>) -> Verdict {
    // With n steps there are n + 1 locations.
    let steps = |n: usize| format!("process p() {{ | {} | NEX | }} | start p", vec!["STEP N"; n].join("|"));
    b.expect_bytes(&steps(255), &[0; 255], &[0, 255])?;
    b.expect_bytes(&steps(256), &[0; 255], &[0, 255, 0])?;
    b.expect_bytes(&steps(256), &[0; 256], &[0, 0, 1])?;
    b.expect_bytes(&steps(300), &[0; 300], &[0, 44, 1])
}

fn a_channel_byte_by_byte(b: &Bench<'_>) -> Verdict {
    let text = "channel c = [2] of { byte, short } | channel r = [0] of { int }
        process p() {
            LDC c | LDC 5 | LDC -2 | SEND 2 | STEP N
            LDC c | LDC 6 | LDC 7 | SEND 2 | STEP N
            LDC c | RECV 2, {}, first | STEP N
            CHNEW r | DROP | CHNEW c | DROP | STEP N
            NEX
        }
        start p";
    b.expect_bytes(text, &[], &[0, 0, 0, 0, 0, 0, 0, 0, 0])?;
    b.expect_bytes(text, &[0], &[1, 5, 254, 255, 0, 0, 0, 0, 1])?;
    b.expect_bytes(text, &[0; 2], &[2, 5, 254, 255, 6, 7, 0, 0, 2])?;
    // The remaining messages move up, and the freed slot is 0 again.
    b.expect_bytes(text, &[0; 3], &[1, 6, 7, 0, 0, 0, 0, 0, 3])?;
    b.expect_bytes(text, &[0; 4], &[1, 6, 7, 0, 0, 0, 0, 0, 4, 2, 1, 0, 0, 0, 0, 0, 0, 0])
}

fn claims_take_two_bytes(b: &Bench<'_>) -> Verdict {
    let text = "channel c = [1] of { byte } | channel r = [0] of { byte }
        process p() { | LDC c | XS | LDC r | XR | STEP N | CHNEW c | XR | STEP N | NEX | }
        start p, p";
    b.expect_bytes(text, &[], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0])?;
    b.expect_bytes(text, &[1], &[0, 0, 2, 0, 2, 0, 0, 0, 0, 1])?;
    b.expect_bytes(text, &[1, 1], &[0, 0, 2, 0, 2, 0, 0, 0, 0, 2, 1, 0, 2, 0, 0])
}

fn numbers_of_channels_begin_with_one(b: &Bench<'_>) -> Verdict {
    let text = |number: i32| {
        format!(
            "channel c = [1] of {{ byte }} | channel d = [1] of {{ byte }}
             process p() {{ | CHNEW c | DROP | LDC {number} | LDC 5 | SEND 1 | STEP N | NEX | }}
             start p"
        )
    };
    for (number, expected) in [(0, "0:!Channel"), (1, "0:1/0/0"), (2, "0:0/1/0"), (3, "0:0/0/1"), (4, "0:!Channel"), (-1, "0:!Channel")] {
        b.expect(&text(number), "#", expected)?;
    }
    Ok(())
}

fn locations_lie_behind_jumps(b: &Bench<'_>) -> Verdict {
    // Two paths to the same statement end in the same state.
    let text = "process p() { | NDET b | STEP N | JMP there | b: STEP N | JMP a | there: LDC 0 | NEXZ | NEX | a: JMP there | } | start p";
    let mut loaded = b.load(text);
    let initial = loaded.initial()?;
    let reached: Vec<_> = loaded.outcomes(&initial).into_iter().map(|outcome| outcome.2).collect();
    same(&format!("{reached:?}"), "[Some([0, 1]), Some([0, 1])]")?;
    // The entry too.
    b.expect_bytes("process p() { | a: STEP N | NEX | .entry | JMP a | } | start p", &[], &[0, 0])
}

fn locations_are_numbered_by_address(b: &Bench<'_>) -> Verdict {
    // `STEP T` has no location after it, and an address that two steps lead to counts once.
    let text = "global int x | global int y
        process p() {
        low: PID | PCVAL | STG y | STEP N | STEP T
            .entry | STEP N | JMP low
        }
        start p";
    // Locations: low is 0, the STEP T is 1, the entry is 2.
    b.expect(text, ".", "0:0")?;
    b.expect_bytes(text, &[], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 2])?;
    b.expect_after(text, &[0], ". y", "0:1,0")
}

fn registers_and_stack(b: &Bench<'_>) -> Verdict {
    // All 32 registers are distinct.
    let fill: String = (0..32).map(|r| format!("LDC {} | POP r{r} |", 1 << (r % 31))).collect();
    for r in [0, 7, 15, 16, 30, 31] {
        b.computes(&[(&format!("{fill} PUSH r{r}"), &(1i32 << (r % 31)).to_string())])?;
    }
    // They are not part of a state.
    b.expect_bytes("process p() { | LDC 5 | POP r0 | STEP N | NEX | } | start p", &[0], &[0, 1])?;
    let refused = |text: &str| bytecode::verify(assembly::program(text)).is_err();
    holds(
        refused("process p() { | LDC 5 | POP r0 | STEP N | PUSH r0 | DROP | STEP T | } | start p"),
        "a register does not live across a STEP",
    )?;
    holds(refused("process p() { | LDC 5 | STEP N | DROP | STEP T | } | start p"), "the stack is empty at a STEP")
}

fn two_hundred_and_fifty_five_processes(b: &Bench<'_>) -> Verdict {
    let text = |most: i32| {
        format!(
            "global int x
             process p() {{ | L: NRPR | LDC {most} | LT | JMPZ done | RUN 0, q | STG x | STEP D | JMP L | done: STEP N | NEX | }}
             process q() {{ | NEX | }}
             start p"
        )
    };
    b.expect(&text(255), "x", "0:254")?;
    b.expect(&text(256), "x", "0:!TooManyProcesses")
}

fn two_hundred_and_fifty_five_channels(b: &Bench<'_>) -> Verdict {
    let text = |most: i32| {
        format!(
            "global int x | channel c = [0] of {{ byte }}
             process p() {{ | L: LDG x | LDC {most} | LT | JMPZ done | CHNEW c | STG x | STEP D | JMP L | done: STEP N | NEX | }}
             start p"
        )
    };
    b.expect(&text(255), "x", "0:255")?;
    b.expect(&text(256), "x", "0:!TooManyChannels")
}

fn the_initial_state(b: &Bench<'_>) -> Verdict {
    let text = "global byte g = 3 | global byte h[2] = {4, 5} | global byte i[2] = 6 | global byte order[3]
        channel c = [1] of { byte }
        process p(byte n = 9) { | local byte v = 7 | .prologue | LDC 1 | PID | STGX order | RET | .entry | STEP A | LAST | DROP | STEP T | }
        process q() { | local byte w = 1 | .prologue | LDC 2 | PID | STGX order | LDL w | LDC 1 | ADD | STL w | RET | .entry | NEX | }
        start q, p, p";
    b.expect_bytes(text, &[], &[0, 0, 3, 4, 5, 6, 6, 2, 1, 1, 0, 0, 1, 0, 2, 0, 0, 0, 7, 0, 0, 0, 7])
}

fn a_process_goes_on_where_it_stands(b: &Bench<'_>) -> Verdict {
    for mode in [Mode::Normal, Mode::Atomic] {
        let text = format!(
            "global byte x
             process p() {{ | LDC 1 | STG x | STEP {mode} | LDC 2 | STG x | STEP {mode} | LDC 3 | STG x | STEP {mode} | NEX | }}
             start p",
            mode = mode.word()
        );
        b.expect(&text, "x", "0:1")?;
        b.expect_after(&text, &[0], "x", "0:2")?;
        b.expect_after(&text, &[0, 0], "x", "0:3")?;
        b.expect_after(&text, &[0, 0, 0], "x", "")?;
    }
    Ok(())
}
