//! Files that are not firmware, damaged firmware and random words: each gets an answer, and none
//! causes a panic.

use source::SourceMap;
use std::path::Path;
use std::process::Command;

/// Translates a file, and verifies the resulting program.
fn read(bytes: &[u8], device: Option<&str>) -> bool {
    let mut map = SourceMap::new();
    let file = map.add("broken.elf", "");
    let defines: Vec<(String, String)> = device.map(|name| ("device".to_owned(), name.to_owned())).into_iter().collect();
    let mut none = |_: &str| None;
    let compiled =
        avr::compile(&mut map, file, bytes, avr::Request { defines: &defines, formulas: &[], expressions: &[], sources: &mut none });
    assert!(compiled.program.is_some() || !compiled.diagnostics.is_empty(), "nothing is said");
    compiled.program.is_some_and(|program| bytecode::verify(program).is_ok())
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
fn damaged_firmware_is_refused_or_read() {
    let place = std::env::temp_dir().join(format!("everypath-avr-damaged-{}.elf", std::process::id()));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/avr");
    let made = Command::new("avr-gcc")
        .args(["-mmcu=atmega328p", "-Os", "-std=gnu11", "-gdwarf-2", "uart_ring.c", "-o"])
        .arg(&place)
        .current_dir(folder)
        .status();
    let Some(whole) = made.ok().filter(|status| status.success()).and_then(|_| std::fs::read(&place).ok()) else {
        println!("passed over, avr-gcc or avr-libc is missing");
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
