//! Files that are not firmware, damaged firmware and random words: each gets an answer, and none
//! causes a panic.

use source::SourceMap;
use std::path::Path;
use std::process::Command;

/// Translates a file; gives whether it is a program. The verifier must accept every program.
fn read(bytes: &[u8], device: Option<&str>) -> bool {
    let mut map = SourceMap::new();
    let file = map.add("broken.elf", "");
    let defines: Vec<(String, String)> = device.map(|name| ("device".to_owned(), name.to_owned())).into_iter().collect();
    let mut none = |_: &str| None;
    let compiled =
        avr::compile(&mut map, file, bytes, avr::Request { defines: &defines, formulas: &[], expressions: &[], sources: &mut none });
    assert!(compiled.program.is_some() || !compiled.diagnostics.is_empty(), "nothing is said");
    compiled.program.is_some_and(|program| {
        if let Err(error) = bytecode::verify(program) {
            panic!("{error}");
        }
        true
    })
}

#[test]
fn random_words_are_translated() {
    let mut seed = 7;
    for round in 0..300 {
        let length = 1 + round % 60;
        let words: Vec<u16> = (0..length).map(|_| splitmix::next(&mut seed) as u16).collect();
        let program = avr::testing::program("atmega16", &words).expect("a program");
        if let Err(error) = bytecode::verify(program) {
            panic!("{error}: {words:04x?}");
        }
    }
}

#[test]
fn random_jumps_and_calls_are_translated() {
    let mut seed = 23;
    for round in 0..200 {
        let length = 4 + round % 120;
        let words: Vec<u16> = (0..length)
            .map(|_| {
                let random = splitmix::next(&mut seed);
                let near = (random >> 32) as u16 % length as u16;
                match random % 8 {
                    // RJMP, RCALL, a branch, each within the code; IJMP, ICALL, RET; an input.
                    0 => 0xc000 | near.wrapping_sub(length as u16 / 2) & 0xfff,
                    1 => 0xd000 | near.wrapping_sub(length as u16 / 2) & 0xfff,
                    2 | 3 => 0xf000 | (near.wrapping_sub(length as u16 / 2) & 0x7f) << 3 | near & 0x407,
                    4 => [0x9409, 0x9509, 0x9508, 0x9518, 0x9478, 0x94f8][usize::from(near) % 6],
                    5 => 0xb303,
                    _ => (random >> 16) as u16,
                }
            })
            .collect();
        let functions: Vec<u16> = (0..3).map(|_| splitmix::next(&mut seed) as u16 % length as u16).collect();
        let program = avr::testing::program_with_functions("atmega16", &words, &functions).expect("a program");
        if let Err(error) = bytecode::verify(program) {
            panic!("{error}: {words:04x?}");
        }
    }
}

#[test]
fn a_function_that_begins_with_its_loop_is_translated() {
    // LDI r24, 5; RCALL; BREAK; the function: DEC r24; BRNE back; RET.
    let words = [0xe085, 0xd001, 0x9598, 0x958a, 0xf7f1, 0x9508];
    let program = avr::testing::program("atmega16", &words).expect("a program");
    assert!(bytecode::verify(program).is_ok());
}

#[test]
fn damaged_firmware_is_refused_or_read() {
    let place = std::env::temp_dir().join(format!("everypath-avr-damaged-{}.elf", std::process::id()));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/avr");
    let made = Command::new("avr-gcc")
        .args(["-mmcu=atmega328p", "-Os", "-std=gnu11", "-gdwarf-2", "uart_ring.c", "-o"])
        .arg(&place)
        .current_dir(folder)
        .status();
    let Some(whole) = made.ok().filter(|status| status.success()).and_then(|_| std::fs::read(&place).ok()) else {
        testkit::passed_over("avr-gcc or avr-libc is missing");
        return;
    };
    let _ = std::fs::remove_file(&place);
    assert!(read(&whole, None));
    for cut in (0..whole.len()).step_by(whole.len() / 40) {
        read(&whole[..cut], Some("atmega328p"));
    }
    let mut seed = 11;
    for _ in 0..150 {
        let mut bytes = whole.clone();
        for _ in 0..1 + splitmix::next(&mut seed) % 8 {
            let at = splitmix::next(&mut seed) as usize % bytes.len();
            bytes[at] = splitmix::next(&mut seed) as u8;
        }
        read(&bytes, Some("atmega328p"));
    }
}

#[test]
fn code_that_would_grow_without_bound_is_refused() {
    // Every instruction calls another, so all functions contain each other.
    let calls: Vec<u16> = (0..0x1f00_u16).map(|at| 0xd000 | (at.wrapping_mul(37) & 0xfff)).collect();
    assert!(avr::testing::program("atmega16", &calls).is_none());
}
