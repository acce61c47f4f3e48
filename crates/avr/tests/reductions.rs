//! What the reductions leave out makes no difference: with each of them off, the variables and
//! outputs of all reachable states are the same.

mod common;

use common::{FOREVER, RETI, SEI, explore, ldi, lds, out, sts, with_handlers};

/// The reductions, each switched off.
const OFF: [&[(&str, &str)]; 4] =
    [&[("dead", "keep")], &[("below", "keep")], &[("points", "all")], &[("dead", "keep"), ("below", "keep"), ("points", "all")]];

/// Compares a program with and without the reductions; gives the states with all of them and with
/// none.
fn compare(code: &[u16], bytes: usize) -> (usize, usize) {
    let run = |off: &[(&str, &str)]| {
        let defines = [&[("races", "off"), ("uninitialised", "off")], off].concat();
        explore(avr::testing::program_with_options("atmega328p", code, &defines).expect("a program"), bytes)
    };
    let reduced = run(&[]);
    let mut most = 0;
    for off in OFF {
        let whole = run(off);
        assert_eq!(reduced.ends, whole.ends, "{off:?}");
        assert_eq!(reduced.violations, whole.violations, "{off:?}");
        // Between two points the variables may have values that no state shows.
        assert!(reduced.seen.is_subset(&whole.seen), "{off:?}");
        if !off.contains(&("points", "all")) {
            assert_eq!(reduced.seen, whole.seen, "{off:?}");
        }
        most = most.max(whole.states);
    }
    (reduced.states, most)
}

/// A timer counts to 3 in 0x100.
fn timer() -> Vec<u16> {
    // PUSH r20; LDS; CPI r20, 3; BREQ; INC; STS; POP r20; RETI
    [&[0x934f][..], &lds(20, 0x100), &[0x3043, 0xf019, 0x9543], &sts(0x100, 20), &[0x914f, RETI]].concat()
}

fn started(rest: &[u16]) -> Vec<u16> {
    let begin = [&[ldi(16, 1), out(0x45, 16), ldi(16, 1)][..], &sts(0x6e, 16), &[SEI]].concat();
    [&begin[..], rest].concat()
}

#[test]
fn registers_that_are_read_no_more_do_not_matter() {
    // The loop computes in registers, keeps one value in memory, and looks at what the timer does.
    let main = started(
        &[&[ldi(24, 5), ldi(25, 9)][..], &lds(18, 0x100), &[0x0f28, 0x2f39, 0x2b23], &sts(0x101, 18), &[0x7f27, out(0x25, 18), 0xcff3]]
            .concat(),
    );
    let (reduced, whole) = compare(&with_handlers(&main, &[(16, &timer())]), 2);
    assert!(reduced < whole, "{reduced} states of {whole}");
}

#[test]
fn what_lies_below_the_stack_pointer_does_not_matter() {
    // A subroutine that pushes what it read last; the loop calls it again and again.
    let call = 0xd000 | 3;
    let main = started(&[&lds(18, 0x100)[..], &[call, 0xcffc, FOREVER]].concat());
    let main = [&main[..], &[0x932f, 0x933f, 0x913f, 0x912f], &sts(0x101, 18), &[0x9508]].concat();
    let (reduced, whole) = compare(&with_handlers(&main, &[(16, &timer())]), 2);
    assert!(reduced < whole, "{reduced} states of {whole}");
}

#[test]
fn random_code_between_interrupts_is_the_same() {
    let mut seed = 3;
    for _ in 0..40 {
        let mut random = |bound: u64| (splitmix::next(&mut seed) >> 16) as u16 % bound as u16;
        let mut body = Vec::new();
        for _ in 0..4 + random(8) {
            let (d, r) = (16 + random(8), 16 + random(8));
            let two = (r & 0x10) << 5 | d << 4 | r & 0xf;
            match random(8) {
                0 => body.extend(lds(d, 0x100 + random(3))),
                1 => body.extend(sts(0x101 + random(2), d)),
                2 => body.push(0x0c00 | two),
                3 => body.push(0x1800 | two),
                4 => body.push(0x2400 | two),
                5 => body.push(ldi(d, random(4))),
                6 => body.extend([0x920f | d << 4, 0x900f | r << 4]),
                // ANDI keeps values small.
                _ => body.push(0x7003 | (d - 16) << 4),
            }
        }
        // Everything that is stored stays small, so that there are few states.
        let stores: Vec<u16> = (16..24).map(|d| 0x7003 | (d - 16) << 4).collect();
        let mut main = started(&[]);
        main.extend((16..24).map(|d| ldi(d, 0)));
        main.extend(&stores);
        main.extend(&body);
        main.extend(&stores);
        main.extend([&sts(0x102, 19)[..], &[0x9598]].concat());
        compare(&with_handlers(&main, &[(16, &timer())]), 3);
    }
}

/// Registers of SRAM: the address of a local variable of the main program.
const POINTER: u16 = 0x103;

/// A handler that toggles bits of what `POINTER` leads to, or of a variable if `fixed`. It changes
/// r5 if `register`, and saves the flags if `saves`.
fn toggling(fixed: bool, register: bool, saves: bool) -> Vec<u16> {
    // PUSH r20, r26, r27; IN r20, SREG; PUSH r20
    let mut all = vec![0x934f, 0x93af, 0x93bf];
    if saves {
        all.extend([0xb74f, 0x934f]);
    }
    if fixed {
        // INC r27 hides the constant.
        all.extend([ldi(26, 0), ldi(27, 0), 0x95b3]);
    } else {
        all.extend([&lds(26, POINTER)[..], &lds(27, POINTER + 1)].concat());
    }
    // LD r20, X; INC r20; ANDI r20, 1; ST X, r20
    all.extend([0x914c, 0x9543, 0x7041, 0x934c]);
    if register {
        // MOV r5, r20
        all.push(0x2e54);
    }
    if saves {
        all.extend([0x914f, 0xbf4f]);
    }
    all.extend([0x91bf, 0x91af, 0x914f, RETI]);
    all
}

#[test]
fn what_handlers_reach_through_pointers_and_in_registers_is_shared() {
    let mut seed = 5;
    for round in 0..48 {
        let mut random = |bound: u64| (splitmix::next(&mut seed) >> 16) as u16 % bound as u16;
        // Two local variables; Y points below them. The address of the first is known to handlers.
        let mut main = vec![ldi(16, 0), 0x930f, 0x930f, 0xb7cd, 0xb7de, 0x2fac, 0x2fbd, 0x9611];
        main.extend([&sts(POINTER, 26)[..], &sts(POINTER + 1, 27)].concat());
        main.extend((16..24).map(|d| ldi(d, 0)));
        // MOV r5, r16
        main.push(0x2e50);
        main.extend(started(&[]));
        for _ in 0..3 + random(6) {
            let (d, r) = (16 + random(8), 16 + random(8));
            match random(9) {
                0 | 1 => main.push(0x8008 | d << 4 | (1 + random(2))),
                2 => main.extend([0x7003 | (d - 16) << 4, 0x8208 | d << 4 | (1 + random(2))]),
                // MOV d, r5 and MOV r5, d
                3 => main.push(0x2c05 | d << 4),
                4 => main.push(0x2e50 | d & 0xf),
                5 => main.extend(lds(d, 0x100)),
                6 => main.extend([0x7001 | (d - 16) << 4, 0x9300 | d << 4, 0x100]),
                7 => main.push(0x0f00 | (d & 0xf) << 4 | r & 0xf),
                // CP and BREQ over an INC
                _ => main.extend([0x1700 | (d & 0xf) << 4 | r & 0xf, 0xf009, 0x9503 | d << 4]),
            }
        }
        main.extend([0x7033, 0x7043]);
        main.extend([&sts(0x101, 19)[..], &sts(0x102, 20), &[0x9598]].concat());
        let handler = toggling(round % 2 == 0, round % 3 == 0, round % 4 < 2);
        compare(&with_handlers(&main, &[(16, &handler)]), 3);
    }
}
