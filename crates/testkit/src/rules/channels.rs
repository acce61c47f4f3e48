//! Section 3: channels.

use super::{Bench, Case, Verdict, case};

pub(super) const CASES: &[Case] = &[
    case!("I-CHNEW" => a_new_channel),
    case!("I-SEND" => messages_are_appended),
    case!("I-SEND" "I-SENDS" "I-RECV" "I-POLL" "I-LEN" "I-CLAIM" => channels_that_do_not_exist),
    case!("I-SEND" "I-SENDS" "I-RECV" "I-POLL" => messages_of_another_length),
    case!("I-SEND" => one_offer_at_a_time),
    case!("I-SEND" "S-DETERMINISTIC" => no_offer_in_a_deterministic_sequence),
    case!("I-SEND" "S-RENDEZVOUS" => an_answer_and_sends),
    case!("I-SENDS" => messages_are_sorted),
    case!("I-RECV" => the_oldest_message),
    case!("I-RECV" => the_oldest_that_matches),
    case!("I-RECV" => peeking),
    case!("I-RECV" "S-RENDEZVOUS" => receiving_an_offer),
    case!("I-RECV" "S-RENDEZVOUS" => an_answer_and_other_receives),
    case!("I-POLL" => polling),
    case!("I-LEN" => lengths),
    case!("I-CLAIM" "F-CONTINUE" => claims),
];

fn a_new_channel(b: &Bench<'_>) -> Verdict {
    let text = "global int x | channel c = [2] of { byte } | chantype t = [1] of { byte, byte }
        process p() { | CHNEW t | STG x | LDG x | LDC 1 | LDC 2 | SEND 2 | STEP N | NEX | }
        start p, p";
    b.expect(text, "x #", "0:2,0/1 1:2,0/1")?;
    b.expect_after(text, &[0], "x #", "1:3,0/1/1")
}

/// A process that executes this code with a channel of capacity 3 with two fields, which contains
/// (1,1), (2,1), (1,2), oldest first.
fn with_three(code: &str) -> String {
    format!(
        "global int x = 9 | global int y = 9 | channel c = [3] of {{ short, short }}
         process p() {{
            LDC c | LDC 1 | LDC 1 | SEND 2 | LDC c | LDC 2 | LDC 1 | SEND 2 | LDC c | LDC 1 | LDC 2 | SEND 2 | STEP N
            {code} | STEP N | NEX
         }}
         start p"
    )
}

/// Empties the channel into x: each message is two digits.
const DRAIN: &str = "LDC 0 | STG x | STEP D
    L: LDC c | LEN | JMPZ done | LDC c | RECV 2, {}, first | LDG x | LDC 10 | MUL | PUSH r0 | ADD | LDC 10 | MUL | PUSH r1 | ADD | STG x | STEP D
    JMP L | done: LDC 0 | DROP";

/// Requires these contents of the channel after this code.
fn left(b: &Bench<'_>, code: &str, expected: &str) -> Verdict {
    b.expect_after(&with_three(&format!("{code} | STEP D | {DRAIN}")), &[0], "x", expected)
}

fn messages_are_appended(b: &Bench<'_>) -> Verdict {
    left(b, "LDC 1 | DROP", "0:112112")?;
    left(b, "LDC c | RECV 2, {}, first | LDC c | LDC 4 | LDC 5 | SEND 2", "0:211245")?;
    // Blocked if the channel is full.
    b.expect_after(&with_three("LDC c | LDC 4 | LDC 5 | SEND 2"), &[0], "x", "")
}

fn channels_that_do_not_exist(b: &Bench<'_>) -> Verdict {
    for number in [0, 2, -1, 256] {
        for code in [
            "LDC 1 | LDC 1 | SEND 2",
            "LDC 1 | LDC 1 | SENDS 2",
            "RECV 2, {}, first",
            "LDC 1 | RECV 2, {1}, any",
            "POLL 2, {}, first | DROP",
            "LEN | DROP",
            "EMPTY | DROP",
            "FULL | DROP",
            "XR",
            "XS",
        ] {
            b.expect_after(&with_three(&format!("LDC {number} | {code}")), &[0], "x", "0:!Channel")?;
        }
    }
    Ok(())
}

fn messages_of_another_length(b: &Bench<'_>) -> Verdict {
    for code in [
        "RECV 2, {}, first | LDC c | LDC 1 | SEND 1",
        "RECV 2, {}, first | LDC c | LDC 1 | LDC 1 | LDC 1 | SEND 3",
        "RECV 2, {}, first | LDC c | LDC 1 | SENDS 1",
        "RECV 1, {}, first",
        "RECV 3, {}, any",
        "LDC 9 | RECV 3, {2}, peek-first",
        "POLL 3, {}, peek-any | DROP",
    ] {
        b.expect_after(&with_three(&format!("LDC c | {code}")), &[0], "x", "0:!Message")?;
    }
    // An operation that cannot happen is not a fault: nothing to receive, no room, no match.
    let text = |code: &str| {
        format!(
            "global byte x | channel c = [1] of {{ byte, byte }} | channel r = [0] of {{ byte, byte }}
             process p() {{ | {code} | STEP N | NEX | }} | start p"
        )
    };
    b.expect(&text("LDC c | RECV 3, {}, first"), "x", "")?;
    b.expect(&text("LDC c | RECV 1, {}, any"), "x", "")?;
    b.expect(&text("LDC c | POLL 3, {}, first | STG x"), "x", "0:0")?;
    b.expect(&text("LDC r | RECV 1, {}, first"), "x", "")?;
    let full = |code: &str| text(&format!("LDC c | LDC 7 | LDC 8 | SEND 2 | {code}"));
    b.expect(&full("LDC c | LDC 1 | SEND 1"), "x", "")?;
    b.expect(&full("LDC c | LDC 8 | RECV 1, {0}, first"), "x", "")?;
    b.expect(&full("LDC c | LDC 7 | RECV 1, {0}, first"), "x", "0:!Message")?;
    // An operation with fewer fields looks only at these, and leaves the others unchanged.
    b.expect(&full("LDC c | LDC 7 | POLL 1, {0}, first | STG x"), "x", "0:1")?;
    b.expect(&full("LDC c | LDC 8 | POLL 1, {0}, any | STG x"), "x", "0:0")?;
    b.expect(&full("LDC 5 | POP r1 | LDC c | RECV 1, {}, peek-first | PUSH r0 | PUSH r1 | ADD | STG x"), "x", "0:12")?;
    // An offer, made with too few fields or received with too few.
    let meet = |sent: &str, received: &str| {
        format!(
            "global byte x | channel c = [0] of {{ byte, byte }}
             process p() {{ | LDC c | {sent} | STEP N | NEX | }}
             process q() {{ | LDC c | {received}, first | PUSH r0 | STG x | STEP N | NEX | }} | start p, q"
        )
    };
    b.expect(&meet("LDC 3 | SEND 1", "RECV 2, {}"), "x", "0:!Message")?;
    b.expect(&meet("LDC 3 | LDC 4 | SEND 2", "RECV 1, {}"), "x", "0:!Message")?;
    b.expect(&meet("LDC 3 | LDC 4 | SEND 2", "LDC 4 | RECV 1, {0}"), "x", "")
}

fn one_offer_at_a_time(b: &Bench<'_>) -> Verdict {
    let text = |more: &str| {
        format!(
            "global byte x | channel c = [0] of {{ byte }} | channel d = [1] of {{ byte }}
             process p() {{ | LDC c | LDC 1 | SEND 1 | {more} | STEP N | NEX | }}
             process q() {{ | LDC c | RECV 1, {{}}, first | PUSH r0 | STG x | STEP N | NEX | }}
             start p, q, q"
        )
    };
    b.expect(&text("LDC 0 | DROP"), "x .", "0:1,1/1/0 0:1,1/0/1")?;
    b.expect(&text("LDC c | LDC 2 | SEND 1"), "x .", "")?;
    // A message in a buffer is different.
    b.expect(&text("LDC d | LDC 2 | SEND 1"), "x #", "0:1,0/1 0:1,0/1")?;
    // The offer is for other processes: its own process does not receive it.
    b.expect(&text("LDC c | RECV 1, {}, first"), "x .", "")
}

fn no_offer_in_a_deterministic_sequence(b: &Bench<'_>) -> Verdict {
    let text = |mode: &str| {
        format!(
            "global byte x | channel c = [0] of {{ byte }}
             process p() {{ | STEP {mode} | LDC c | LDC 1 | SEND 1 | STEP N | NEX | }}
             process q() {{ | LDC c | RECV 1, {{}}, first | PUSH r0 | STG x | STEP N | NEX | }}
             start p, q"
        )
    };
    b.expect(&text("I"), "x .", "0:1,2/1")?;
    b.expect(&text("D"), "x .", "0:!Blocked")?;
    // It is blocked for this reason, before a fault of the offer could occur.
    b.expect(&text("D").replace("SEND 1 | STEP N", "SEND 1 | STEP D"), "x .", "0:!Blocked")?;
    // Another alternative is taken, as if this one were blocked.
    let text =
        text("D").replace("LDC c | LDC 1 | SEND 1 | STEP N", "NDET a | LDC c | LDC 1 | SEND 1 | STEP N | NEX | a: LDC 5 | STG x | STEP N");
    b.expect(&text, "x", "0:5")?;
    // After the sequence, offers are possible again.
    let text = text.replace("STEP D |", "STEP D | LDC 0 | DROP | STEP I |").replace("NDET a |", "");
    let text = text.replace("NEX | a: LDC 5 | STG x | STEP N |", "");
    b.expect(&text, "x", "0:1")
}

fn an_answer_and_sends(b: &Bench<'_>) -> Verdict {
    let text = |before: &str, after: &str| {
        format!(
            "global byte x | channel c = [0] of {{ byte }} | channel d = [1] of {{ byte }} | channel e = [0] of {{ byte }}
             process p() {{ | LDC c | LDC 1 | SEND 1 | STEP N | NEX | }}
             process q() {{ | {before} | LDC c | RECV 1, {{}}, first | {after} | STEP N | NEX | }}
             process r() {{ | LDC e | RECV 1, {{}}, first | STEP N | NEX | }}
             start p, q, r"
        )
    };
    let nothing = "LDC 0 | DROP";
    b.expect(&text(nothing, nothing), "#", "0:0/0/0")?;
    for send in ["LDC d | LDC 1 | SEND 1", "LDC d | LDC 1 | SENDS 1", "LDC e | LDC 1 | SEND 1", "LDC c | LDC 1 | SENDS 1"] {
        b.expect(&text(send, nothing), "#", "")?;
    }
    // After it has received, it may send to a buffered channel, but still makes no offer itself.
    b.expect(&text(nothing, "LDC d | LDC 1 | SEND 1"), "#", "0:0/1/0")?;
    b.expect(&text(nothing, "LDC d | LDC 1 | SENDS 1"), "#", "0:0/1/0")?;
    b.expect(&text(nothing, "LDC e | LDC 1 | SEND 1"), "#", "")?;
    b.expect(&text(nothing, "LDC c | LDC 1 | SENDS 1"), "#", "")?;
    // The step after it may make one.
    b.expect(&text(nothing, "STEP I | LDC e | LDC 1 | SEND 1"), ".", "0:1/2/1")
}

fn messages_are_sorted(b: &Bench<'_>) -> Verdict {
    let text = |first: i32, second: i32| {
        format!(
            "global int x | channel c = [3] of {{ short, short }}
             process p() {{
                LDC c | LDC 1 | LDC 3 | SENDS 2 | LDC c | LDC 2 | LDC 0 | SENDS 2 | LDC c | LDC {first} | LDC {second} | SENDS 2 | STEP D
                {DRAIN} | STEP N | NEX
             }}
             start p"
        )
    };
    for (first, second, expected) in
        [(1, 2, "0:121320"), (1, 3, "0:131320"), (1, 4, "0:131420"), (2, 1, "0:132021"), (0, 9, "0:91320"), (3, 0, "0:132030")]
    {
        b.expect(&text(first, second), "x", expected)?;
    }
    // The stored fields are compared as signed integers: 65535 is -1 in a short, which is the least
    // here: -9 and 1320 remain.
    b.expect(&text(65535, 0), "x", "0:-98680")?;
    // The message is inserted before the first larger one, even if smaller ones follow, and after
    // equal ones. A 4 marks the position.
    let unsorted = "global int x | channel c = [3] of { byte, byte }
        process p() { | LDC c | LDC 5 | LDC 0 | SEND 2 | LDC c | LDC 1 | LDC 0 | SEND 2 | LDC c | LDC 4 | LDC 0 | SENDS 2 | STEP D | DRAIN | STEP N | NEX | }
        start p"
        .replace("DRAIN", DRAIN);
    b.expect(&unsorted, "x", "0:405010")?;
    equal_messages_keep_their_order(b)?;
    // Blocked like a plain send; at capacity 0 it is an ordinary offer.
    b.expect_after(&with_three("LDC c | LDC 0 | LDC 0 | SENDS 2"), &[0], "x", "")?;
    let text = "global byte x | channel c = [0] of { byte }
        process p() { | LDC c | LDC 7 | SENDS 1 | STEP N | NEX | }
        process q() { | LDC c | RECV 1, {}, first | PUSH r0 | STG x | STEP N | NEX | }
        start p, q";
    b.expect(text, "x", "0:7")
}

/// Equal messages cannot be distinguished, so their order is visible only in the position of a
/// third one: "after equal ones" means that a message that was sent plainly, out of order, stays
/// after the equal one.
fn equal_messages_keep_their_order(b: &Bench<'_>) -> Verdict {
    let text = "global int x | channel c = [3] of { byte, byte }
        process p() { | LDC c | LDC 2 | LDC 0 | SEND 2 | LDC c | LDC 1 | LDC 0 | SEND 2 | LDC c | LDC 2 | LDC 0 | SENDS 2 | STEP D | DRAIN | STEP N | NEX | }
        start p"
        .replace("DRAIN", DRAIN);
    b.expect(&text, "x", "0:201020")
}

fn the_oldest_message(b: &Bench<'_>) -> Verdict {
    let receive = "LDC c | RECV 2, {}, first | PUSH r0 | STG x | PUSH r1 | STG y";
    b.expect_after(&with_three(receive), &[0], "x y #", "0:1,1,2")?;
    left(b, "LDC c | RECV 2, {}, first", "0:2112")?;
    // With a pattern, the oldest must match.
    b.expect_after(&with_three("LDC c | LDC 1 | RECV 2, {0}, first | PUSH r1 | STG x"), &[0], "x #", "0:1,2")?;
    b.expect_after(&with_three("LDC c | LDC 2 | RECV 2, {0}, first"), &[0], "x #", "")?;
    // The values are on the stack in the order of the fields.
    b.expect_after(&with_three("LDC c | RECV 2, {}, first | LDC c | LDC 2 | LDC 1 | RECV 2, {0, 1}, first"), &[0], "#", "0:1")?;
    b.expect_after(&with_three("LDC c | RECV 2, {}, first | LDC c | LDC 1 | LDC 2 | RECV 2, {0, 1}, first"), &[0], "#", "")?;
    // Values are compared unchanged, not truncated like stored ones.
    b.expect_after(&with_three("LDC c | LDC 65537 | RECV 2, {0}, first"), &[0], "#", "")?;
    // An empty channel blocks.
    b.expect("channel c = [1] of { byte } | process p() { | LDC c | RECV 1, {}, first | STEP N | NEX | } | start p", "#", "")
}

fn the_oldest_that_matches(b: &Bench<'_>) -> Verdict {
    left(b, "LDC c | LDC 2 | RECV 2, {0}, any", "0:1112")?;
    left(b, "LDC c | LDC 1 | RECV 2, {0}, any", "0:2112")?;
    left(b, "LDC c | LDC 2 | RECV 2, {1}, any", "0:1121")?;
    left(b, "LDC c | LDC 1 | LDC 2 | RECV 2, {0, 1}, any", "0:1121")?;
    b.expect_after(&with_three("LDC c | LDC 1 | RECV 2, {0}, any | PUSH r1 | STG x"), &[0], "x", "0:1")?;
    b.expect_after(&with_three("LDC c | LDC 2 | LDC 2 | RECV 2, {0, 1}, any"), &[0], "x", "")
}

fn peeking(b: &Bench<'_>) -> Verdict {
    left(b, "LDC c | RECV 2, {}, peek-first", "0:112112")?;
    left(b, "LDC c | LDC 2 | RECV 2, {0}, peek-any", "0:112112")?;
    b.expect_after(&with_three("LDC c | RECV 2, {}, peek-first | PUSH r0 | STG x | PUSH r1 | STG y"), &[0], "x y #", "0:1,1,3")?;
    b.expect_after(&with_three("LDC c | LDC 2 | RECV 2, {0}, peek-any | PUSH r0 | STG x | PUSH r1 | STG y"), &[0], "x y #", "0:2,1,3")?;
    b.expect_after(&with_three("LDC c | LDC 2 | RECV 2, {0}, peek-first"), &[0], "#", "")?;
    b.expect_after(&with_three("LDC c | LDC 3 | RECV 2, {0}, peek-any"), &[0], "#", "")
}

/// p offers (1, 300), which does not fit a byte; q executes this code.
fn meeting(code: &str) -> String {
    format!(
        "global int x = 9 | global int y = 9 | channel c = [0] of {{ byte, byte }} | channel d = [1] of {{ byte }}
         process p() {{ | LDC c | LDC 1 | LDC 300 | SEND 2 | STEP N | NEX | }}
         process q() {{ | {code} | STEP N | NEX | }}
         start p, q"
    )
}

fn receiving_an_offer(b: &Bench<'_>) -> Verdict {
    for how in ["first", "any"] {
        b.expect(&meeting(&format!("LDC c | RECV 2, {{}}, {how} | PUSH r0 | STG x | PUSH r1 | STG y")), "x y #", "0:1,44,0/0")?;
        b.expect(&meeting(&format!("LDC c | LDC 44 | RECV 2, {{1}}, {how} | PUSH r0 | STG x")), "x", "0:1")?;
        b.expect(&meeting(&format!("LDC c | LDC 300 | RECV 2, {{1}}, {how}")), "x", "")?;
        b.expect(&meeting(&format!("LDC c | RECV 2, {{}}, {how} | LDC c | RECV 2, {{}}, {how}")), "x", "")?;
    }
    for how in ["peek-first", "peek-any"] {
        b.expect(&meeting(&format!("LDC c | RECV 2, {{}}, {how}")), "x", "")?;
        b.expect(&meeting(&format!("LDC c | RECV 2, {{}}, {how} | LDC c | RECV 2, {{}}, first")), "x", "")?;
    }
    // Without an offer there is nothing to receive.
    b.expect("channel c = [0] of { byte } | process p() { | LDC c | RECV 1, {}, first | STEP N | NEX | } | start p, p", "#", "")
}

fn an_answer_and_other_receives(b: &Bench<'_>) -> Verdict {
    let text = |code: &str| meeting(&format!("LDC d | LDC 5 | SEND 1 | STEP N | {code}"));
    let receive = "LDC c | RECV 2, {}, first";
    let other = "LDC d | RECV 1, {}, first";
    b.expect_after(&text(receive), &[0], "#", "0:0/1")?;
    b.expect_after(&text(other), &[0], "#", "1:0/0")?;
    // Receiving from another channel is possible only after the offer is received.
    b.expect_after(&text(&format!("{receive} | {other}")), &[0], "#", "0:0/0")?;
    b.expect_after(&text(&format!("{other} | {receive}")), &[0], "#", "")?;
    b.expect_after(&text(&format!("{} | {receive}", other.replace("first", "peek-first"))), &[0], "#", "")
}

fn polling(b: &Bench<'_>) -> Verdict {
    let poll = |pattern: &str| with_three(&format!("LDC c | {pattern} | STG x"));
    for (pattern, expected) in [
        ("POLL 2, {}, first", "0:1,3"),
        ("LDC 1 | POLL 2, {0}, first", "0:1,3"),
        ("LDC 2 | POLL 2, {0}, first", "0:0,3"),
        ("LDC 2 | POLL 2, {0}, peek-first", "0:0,3"),
        ("LDC 2 | POLL 2, {0}, any", "0:1,3"),
        ("LDC 2 | POLL 2, {0}, peek-any", "0:1,3"),
        ("LDC 3 | POLL 2, {0}, any", "0:0,3"),
        ("LDC 1 | LDC 2 | POLL 2, {0, 1}, any", "0:1,3"),
        ("LDC 2 | LDC 2 | POLL 2, {0, 1}, any", "0:0,3"),
    ] {
        b.expect_after(&poll(pattern), &[0], "x #", expected)?;
    }
    // It sets no register.
    let text = with_three("LDC 7 | POP r0 | LDC c | POLL 2, {}, first | PUSH r0 | ADD | STG x");
    b.expect_after(&text, &[0], "x", "0:8")?;
    // 0 at capacity 0, even while an offer is answered.
    b.expect(&meeting("LDC c | POLL 2, {}, first | STG x | LDC c | RECV 2, {}, first"), "x", "0:0")
}

fn lengths(b: &Bench<'_>) -> Verdict {
    let ask = |messages: usize| {
        let send = "LDC c | LDC 5 | SEND 1 |".repeat(messages);
        format!(
            "global int x | channel c = [2] of {{ byte }}
             process p() {{ | {send} LDC c | LEN | LDC 100 | MUL | LDC c | EMPTY | LDC 10 | MUL | ADD | LDC c | FULL | ADD | STG x | STEP N | NEX | }}
             start p"
        )
    };
    b.expect(&ask(0), "x", "0:10")?;
    b.expect(&ask(1), "x", "0:100")?;
    b.expect(&ask(2), "x", "0:201")?;
    // At capacity 0: empty and not full; an offer is not a message.
    let rendezvous = ask(0).replace("[2]", "[0]");
    b.expect(&rendezvous, "x", "0:10")?;
    let offering = "global int x | channel c = [0] of { byte }
        process p() { | LDC c | LDC 5 | SEND 1 | LDC c | LEN | LDC 100 | MUL | LDC c | EMPTY | LDC 10 | MUL | ADD | LDC c | FULL | ADD | STG x | STEP N | NEX | }
        process q() { | LDC c | RECV 1, {}, first | STEP N | NEX | }
        start p, q";
    b.expect(offering, "x", "0:10")
}

fn claims(b: &Bench<'_>) -> Verdict {
    // Process 0 claims both; process 1 claims too late and executes this.
    let text = |code: &str| {
        format!(
            "global int x | channel c = [2] of {{ byte }}
             process p() {{ | LDC c | XS | LDC c | XR | LDC c | LDC 5 | SEND 1 | STEP N | LDC c | RECV 1, {{}}, first | STEP N | NEX | }}
             process q() {{ | LDC c | LEN | NEXZ | LDC c | XS | LDC c | XR | {code} | LDC 1 | STG x | STEP N | NEX | }}
             start p, q"
        )
    };
    b.expect(&text("LDC 0 | DROP"), "x", "0:0")?;
    b.expect_after(&text("LDC 0 | DROP"), &[0], "x #", "0:0,0 1:1,1")?;
    b.expect_after(&text("LDC c | LDC 6 | SEND 1"), &[0], "x #", "0:0,0 1:1,2!ExclusiveSend")?;
    b.expect_after(&text("LDC c | LDC 6 | SENDS 1"), &[0], "x #", "0:0,0 1:1,2!ExclusiveSend")?;
    b.expect_after(&text("LDC c | RECV 1, {}, first"), &[0], "x #", "0:0,0 1:1,0!ExclusiveReceive")?;
    b.expect_after(&text("LDC c | RECV 1, {}, peek-any"), &[0], "x #", "0:0,0 1:1,1!ExclusiveReceive")?;
    // A poll needs no claim, and a blocked operation has not happened.
    b.expect_after(&text("LDC c | POLL 1, {}, first | DROP"), &[0], "x #", "0:0,0 1:1,1")?;
    b.expect_after(&text("LDC c | LDC 6 | SEND 1 | LDC 0 | NEXZ"), &[0], "x #", "0:0,0")?;
    // Receiver and sender are claimed separately; a rendezvous is both at once.
    let text = "global int x | channel c = [0] of { byte }
        process p() { | LDC c | XR | STEP N | NEX | }
        process q() { | LDC c | LDC 5 | SEND 1 | STEP N | NEX | }
        process r() { | LDC c | RECV 1, {}, first | LDC 1 | STG x | STEP N | NEX | }
        start p, q, r";
    b.expect(text, "x", "0:0 1:1")?;
    b.expect_after(text, &[0], "x", "1:1!ExclusiveReceive")
}
