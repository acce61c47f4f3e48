//! Devices one by one: priorities, pins as sources of interrupts, the watchdog, the EEPROM.

mod common;

use common::{BREAK, FOREVER, NOP, RETI, SEI, bit, explore, input, ldi, lds, out, sts, with_handlers};

const PORTD: u16 = 0x2b;
const DDRD: u16 = 0x2a;
const EIMSK: u16 = 0x3d;
const EICRA: u16 = 0x69;

fn program(code: &[u16], defines: &[(&str, &str)]) -> bytecode::Program {
    avr::testing::program_with_options("atmega328p", code, defines).expect("a program")
}

/// Counts in the byte at 0x100.
fn counting() -> Vec<u16> {
    [&lds(20, 0x100)[..], &[0x9543], &sts(0x100, 20), &[RETI]].concat()
}

#[test]
fn of_two_pending_interrupts_the_lower_vector_goes_first() {
    // Both flags of timer 0 are seen raised before interrupts are enabled.
    let main = [
        &[ldi(16, 1), out(0x45, 16), ldi(16, 3)][..],
        &sts(0x6e, 16),
        // IN r16, TIFR0; ANDI r16, 3; CPI r16, 3; BRNE back
        &[input(0x35, 16), 0x7003, 0x3003, 0xf7e1, SEI, NOP, FOREVER],
    ]
    .concat();
    // COMPA marks that it was there. OVF tells whether it found the mark.
    let compare = [&[ldi(20, 1)][..], &sts(0x100, 20), &[RETI]].concat();
    let overflow = [&lds(21, 0x100)[..], &[0x6850], &sts(0x101, 21), &[RETI]].concat();
    let all = explore(program(&with_handlers(&main, &[(14, &compare), (16, &overflow)]), &[("races", "off")]), 2);
    let told: Vec<i32> = all.seen.iter().map(|seen| seen[1]).collect();
    assert!(told.contains(&0x81), "OVF is taken at last: {told:02x?}");
    assert!(!told.contains(&0x80), "OVF was taken before COMPA: {told:02x?}");
}

/// The highest count of INT0 for a program that moves PD2 itself after interrupts are enabled.
fn edges(mode: u16, moves: &[bool], begins_high: bool, is_output: bool, defines: &[(&str, &str)]) -> i32 {
    let mut main = Vec::new();
    if begins_high {
        main.push(bit(PORTD, 2, true));
    }
    if is_output {
        main.push(bit(DDRD, 2, true));
    }
    main.push(ldi(16, mode));
    main.extend(sts(EICRA, 16));
    main.extend([ldi(16, 1), out(EIMSK, 16), SEI, NOP]);
    main.extend(moves.iter().map(|high| bit(PORTD, 2, *high)));
    // Time for what is pending; at most three interrupts are counted.
    main.extend([NOP, FOREVER]);
    let handler = [&lds(20, 0x100)[..], &[0x3043, 0xf011, 0x9543, 0x9340, 0x0100, RETI]].concat();
    let mut handler = handler;
    // CPI r20, 3; BREQ to RETI; INC; STS
    handler[3] = 0xf019;
    let code = with_handlers(&main, &[(1, &handler)]);
    let all = explore(program(&code, &[&[("races", "off")], defines].concat()), 1);
    all.seen.iter().map(|seen| seen[0]).max().unwrap_or(0)
}

#[test]
fn a_pin_that_is_an_output_interrupts_by_its_own_edges() {
    // Rising, falling, any change: how often can it be taken?
    assert_eq!(edges(3, &[true, false, true, false], false, true, &[]), 2);
    assert_eq!(edges(2, &[true, false, true], false, true, &[]), 1);
    assert_eq!(edges(1, &[true, false], false, true, &[]), 2);
    assert_eq!(edges(3, &[false], true, true, &[]), 0);
    assert_eq!(edges(2, &[true], false, true, &[]), 0);
    // A low level interrupts for as long as it lasts.
    assert_eq!(edges(0, &[false], true, true, &[]), 3);
    assert_eq!(edges(0, &[true], true, true, &[]), 0);
}

#[test]
fn a_pin_that_is_an_input_interrupts_at_any_time_unless_it_never_moves() {
    for mode in 0..4 {
        assert_eq!(edges(mode, &[], false, false, &[]), 3, "mode {mode}");
    }
    assert_eq!(edges(3, &[], false, false, &[("PIND", "4")]), 0);
    assert_eq!(edges(0, &[], false, false, &[("PIND", "4")]), 0);
    assert_eq!(edges(0, &[], false, false, &[("PIND", "0")]), 3);
}

#[test]
fn a_pin_change_asks_for_its_mask() {
    let count = |mask: u16, moves: &[u16]| {
        let mut main = vec![ldi(16, 0xff), out(0x24, 16), ldi(16, mask)];
        main.extend(sts(0x6b, 16));
        main.push(ldi(16, 1));
        main.extend(sts(0x68, 16));
        main.extend([SEI, NOP]);
        main.extend(moves.iter().flat_map(|value| [ldi(16, *value), out(0x25, 16)]));
        main.extend([NOP, FOREVER]);
        let all = explore(program(&with_handlers(&main, &[(3, &counting())]), &[("races", "off")]), 1);
        all.seen.iter().map(|seen| seen[0]).max().unwrap_or(0)
    };
    assert_eq!(count(1, &[1, 0]), 2);
    assert_eq!(count(1, &[2, 4]), 0);
    assert_eq!(count(6, &[2, 6, 6]), 2);
}

#[test]
fn the_watchdog_resets_the_device() {
    // What MCUSR says goes to 0x100; what 0x101 was before goes to 0x102.
    let main = [
        &[input(0x54, 16)][..],
        &sts(0x100, 16),
        &lds(17, 0x101),
        &sts(0x102, 17),
        &[ldi(18, 7)],
        &sts(0x101, 18),
        &[ldi(18, 8)],
        &sts(0x60, 18),
        &[FOREVER],
    ]
    .concat();
    let seen = |defines: &[(&str, &str)]| explore(program(&main, defines), 3).seen;
    let all = seen(&[]);
    assert!(all.iter().any(|seen| seen[0] & 8 != 0), "it is reset, and says so: {all:?}");
    assert!(all.iter().any(|seen| seen[1] == 7) && all.iter().all(|seen| seen[2] == 0), "variables begin again: {all:?}");
    assert!(seen(&[("watchdog", "off")]).iter().all(|seen| seen[0] & 8 == 0));
    // Without WDE nothing happens.
    let quiet: Vec<u16> = main.iter().map(|word| if *word == ldi(18, 8) { ldi(18, 0) } else { *word }).collect();
    assert!(explore(program(&quiet, &[]), 3).seen.iter().all(|seen| seen[0] & 8 == 0));
}

#[test]
fn what_is_written_to_the_eeprom_is_read_back() {
    const EECR: u16 = 0x3f;
    const EEDR: u16 = 0x40;
    const EEARL: u16 = 0x41;
    let write = |permitted: bool| {
        let mut code = vec![ldi(16, 5), out(EEARL, 16), ldi(17, 0x42), out(EEDR, 17)];
        if permitted {
            code.push(bit(EECR, 2, true));
        }
        code.push(bit(EECR, 1, true));
        // SBIC EECR, 1; RJMP back: the write may take a while.
        code.extend([0x9900 | 0x1f << 3 | 1, 0xcffe]);
        code.extend([ldi(17, 0), out(EEDR, 17), bit(EECR, 0, true), input(EEDR, 18)]);
        code.extend(sts(0x100, 18));
        code.push(BREAK);
        explore(program(&code, &[]), 1).ends
    };
    assert_eq!(write(true).into_iter().collect::<Vec<_>>(), [vec![0x42]]);
    assert_eq!(write(false).into_iter().collect::<Vec<_>>(), [vec![0xff]]);
}

#[test]
fn the_eeprom_can_be_erased_or_written_alone() {
    const EECR: u16 = 0x3f;
    const EEDR: u16 = 0x40;
    // The byte is 0xff at first. Each write has its mode, bits 4 and 5 of EECR.
    let content = |writes: &[(u16, u16)]| {
        let mut code = Vec::new();
        for (mode, byte) in writes {
            code.extend([ldi(17, *byte), out(EEDR, 17), ldi(18, mode << 4 | 4), out(EECR, 18), ldi(18, mode << 4 | 2), out(EECR, 18)]);
            code.extend([0x9900 | 0x1f << 3 | 1, 0xcffe]);
        }
        code.extend([ldi(17, 0), out(EEDR, 17), bit(EECR, 0, true), input(EEDR, 18)]);
        code.extend(sts(0x100, 18));
        code.push(BREAK);
        explore(program(&code, &[]), 1).ends.into_iter().map(|end| end[0]).collect::<Vec<_>>()
    };
    assert_eq!(content(&[(0, 0x42)]), [0x42]);
    assert_eq!(content(&[(0, 0x42), (1, 0)]), [0xff]);
    assert_eq!(content(&[(2, 0xf0), (2, 0x3c)]), [0x30]);
    assert_eq!(content(&[(0, 0x0f), (0, 0xf0)]), [0xf0]);
}

#[test]
fn a_vector_that_contains_code_is_a_handler() {
    // The vector of timer 0 counts in PORTB, through the vectors behind it; the jumps of the others
    // are not there.
    let main = [&[ldi(16, 1), out(0x45, 16)][..], &sts(0x6e, 16), &[SEI, NOP, FOREVER]].concat();
    let mut code = vec![0; 52];
    (code[0], code[1]) = (0x940c, 52);
    code.extend(main);
    let handler = [&lds(20, 0x100)[..], &[0x9543], &sts(0x100, 20), &[RETI]].concat();
    code[32..32 + handler.len()].copy_from_slice(&handler);
    let all = explore(program(&code, &[("races", "off")]), 1);
    assert!(all.seen.iter().any(|seen| seen[0] == 2), "it is never taken");
    assert_eq!(all.violations, std::collections::BTreeSet::new());
    // A vector that only returns wakes the processor.
    let sleeps = |vector: u16| {
        let main =
            [&[ldi(16, 1), out(0x45, 16), out(0x53, 16)][..], &sts(0x6e, 16), &[SEI, 0x9588, ldi(17, 7)], &sts(0x100, 17), &[FOREVER]];
        let mut code = vec![0; 52];
        (code[0], code[1], code[32]) = (0x940c, 52, vector);
        code.extend(main.concat());
        explore(program(&code, &[]), 1)
    };
    assert!(sleeps(RETI).seen.iter().any(|seen| seen[0] == 7));
    // One with nothing in it is executed too.
    assert_eq!(sleeps(0xffff).violations, std::collections::BTreeSet::from(["illegal instruction"]));
}

#[test]
fn an_input_that_is_not_used_costs_no_states() {
    // IN r16, PIND in a loop; the value is stored, or replaced at once.
    let states = |use_it: bool| {
        let next = if use_it { [0x7003, 0x9300, 0x0100] } else { [ldi(16, 1), 0x9300, 0x0100] };
        let code = [&[input(0x29, 16)][..], &next, &[0xcffb]].concat();
        explore(program(&code, &[]), 1).states
    };
    let (used, unused) = (states(true), states(false));
    assert!(unused < used && used <= 2 + 4 * unused, "{unused} states without the input, {used} with two bits of it");
    // A level that was read is kept where the program keeps it, and nowhere else: another read may
    // find another level.
    let twice = [&[input(0x29, 16), input(0x29, 17), 0x2701, 0x7001][..], &sts(0x100, 16), &[BREAK]].concat();
    let ends: Vec<i32> = explore(program(&twice, &[]), 1).ends.into_iter().map(|end| end[0]).collect();
    assert_eq!(ends, [0, 1]);
}

#[test]
fn a_conversion_that_runs_freely_goes_on_after_it_is_complete() {
    const ADCSRA: u16 = 0x7a;
    // What ADCSRA says after its flag was seen: for a single conversion, in free running mode, with
    // the trigger of a timer.
    let after = |control: u16, trigger: u16| {
        let mut code = vec![ldi(16, trigger)];
        code.extend(sts(0x7b, 16));
        code.push(ldi(16, control));
        code.extend(sts(ADCSRA, 16));
        // LDS r16; SBRS r16, 4; RJMP back
        code.extend(lds(16, ADCSRA));
        code.extend([0xff04, 0xcffc]);
        code.extend(sts(0x100, 16));
        code.push(BREAK);
        explore(program(&code, &[]), 1).ends.into_iter().map(|end| end[0]).collect::<Vec<_>>()
    };
    assert_eq!(after(0xc0, 0), [0x90]);
    assert_eq!(after(0xe0, 0), [0xf0]);
    assert_eq!(after(0xa0, 4), [0xb0, 0xf0]);
    assert_eq!(after(0x80, 0), [0; 0]);
}

#[test]
fn a_function_that_ends_like_a_handler_lets_interrupts_come() {
    // RCALL over a loop without end to a function with RETI alone; timer 0 counts then.
    let main = [&[ldi(16, 1), out(0x45, 16)][..], &sts(0x6e, 16), &[0xd001, FOREVER, RETI]].concat();
    let all = explore(program(&with_handlers(&main, &[(16, &counting())]), &[("races", "off")]), 1);
    assert!(all.seen.iter().any(|seen| seen[0] == 2), "no interrupt is taken");
    assert_eq!(all.violations, std::collections::BTreeSet::new());
}
