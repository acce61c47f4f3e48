//! What is wrong with machine code has a name of its own.

mod common;

use common::{BREAK, FOREVER, explore, ldi, lds, sts};
use std::collections::BTreeSet;

/// The violations of a program of words.
fn violations(code: &[u16]) -> BTreeSet<&'static str> {
    let program = avr::testing::program_with_options("atmega328p", code, &[]).expect("a program");
    explore(program, 4).violations
}

#[test]
fn a_recursion_without_end_is_a_stack_overflow() {
    // RCALL to itself.
    assert_eq!(violations(&[0xdfff, BREAK]), BTreeSet::from(["stack overflow"]));
}

#[test]
fn pushing_without_end_is_a_stack_overflow() {
    // PUSH r0; RJMP back
    assert!(violations(&[0x920f, 0xcffe]).contains("stack overflow"));
}

#[test]
fn a_variable_without_a_value_is_an_uninitialised_read() {
    // The frame of a function with one byte: SP is lowered, and Y+1 read; or written before.
    let frame = [0xb7cd, 0xb7de, 0x9721, 0xbfde, 0xbfcd];
    let read = [&frame[..], &[0x8109, BREAK]].concat();
    assert_eq!(violations(&read), BTreeSet::from(["uninitialised read"]));
    let written = [&frame[..], &[0x8309, 0x8109, BREAK]].concat();
    assert_eq!(violations(&written), BTreeSet::new());
}

#[test]
fn a_word_that_means_nothing_is_an_illegal_instruction() {
    assert_eq!(violations(&[ldi(16, 1), 0x0001, BREAK]), BTreeSet::from(["illegal instruction"]));
}

#[test]
fn code_that_ends_runs_into_erased_memory() {
    assert_eq!(violations(&[ldi(16, 1)]), BTreeSet::from(["illegal instruction"]));
}

#[test]
fn memory_between_variables_and_stack_is_outside() {
    let write = [&[ldi(16, 1)][..], &sts(0x400, 16), &[BREAK]].concat();
    assert_eq!(violations(&write), BTreeSet::from(["access outside memory"]));
    let read = [&lds(16, 0x400)[..], &[BREAK]].concat();
    assert_eq!(violations(&read), BTreeSet::from(["access outside memory"]));
    // Through a pointer: LDI X; INC r27, which hides the constant; ST X, r16.
    let through = [ldi(26, 0), ldi(27, 3), 0x95b3, 0x930c, BREAK];
    assert_eq!(violations(&through), BTreeSet::from(["access outside memory"]));
}

#[test]
fn a_return_that_no_call_left_is_a_wild_jump() {
    // PUSH r16 twice; RET
    assert_eq!(violations(&[ldi(16, 7), 0x930f, 0x930f, 0x9508]), BTreeSet::from(["wild jump"]));
}

#[test]
fn writing_the_flash_is_not_supported() {
    assert_eq!(violations(&[0x95e8, BREAK]), BTreeSet::from(["unsupported operation"]));
}

#[test]
fn a_pointer_to_a_device_is_known_across_loops_and_calls() {
    // LDI Y, ADCSRA; RCALL; LD r24, Y; SBRC r24, 6; RJMP back to the load; BREAK.
    let begin = [ldi(28, 0x7a), ldi(29, 0), 0xd004, 0x8188, 0xfd86, 0xcffd, BREAK];
    // The function saves Y, uses it, and restores it.
    let keeps = [0x93cf, 0x93df, ldi(28, 1), ldi(29, 2), 0x91df, 0x91cf, 0x9508];
    assert_eq!(violations(&[&begin[..], &keeps].concat()), BTreeSet::new());
    // One that leaves another value there leads elsewhere.
    let changes = [ldi(28, 0), ldi(29, 4), 0x9508];
    assert_eq!(violations(&[&begin[..], &changes].concat()), BTreeSet::from(["access outside memory"]));
}

#[test]
fn code_without_mistakes_has_none() {
    assert_eq!(violations(&[ldi(16, 7), 0x930f, 0x910f, FOREVER]), BTreeSet::new());
}
