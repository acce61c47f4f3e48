//! The debugging information of some compilers has columns; they are positions of steps then.

use source::SourceMap;
use std::process::Command;

/// A loop of two instructions at different columns of one line. `.loc` writes the table of lines,
/// and a unit must refer to it.
const CODE: &str = "
.file 1 \"there.c\"
.section .vectors,\"ax\"
.global main
main:
.loc 1 3 7
    sbi 5, 1
.loc 1 3 12
    rjmp main
.section .debug_abbrev
    .uleb128 1
    .uleb128 0x11
    .byte 0
    .uleb128 0x10, 0x06
    .uleb128 0, 0
    .uleb128 0
.section .debug_info
    .4byte 2f - 1f
1:  .2byte 2
    .4byte 0
    .byte 4
    .uleb128 1
    .4byte 0
2:
";

#[test]
fn columns_of_the_debugging_information_are_kept() {
    let place = std::env::temp_dir().join(format!("everypath-avr-columns-{}", std::process::id()));
    std::fs::create_dir_all(&place).expect("a folder");
    let (source, program) = (place.join("columns.s"), place.join("columns.elf"));
    std::fs::write(&source, CODE).expect("a file");
    let made = Command::new("avr-gcc").args(["-mmcu=atmega328p", "-nostartfiles", "-nostdlib", "-o"]).arg(&program).arg(&source).output();
    let bytes = made.ok().filter(|made| made.status.success()).and_then(|_| std::fs::read(&program).ok());
    let _ = std::fs::remove_dir_all(&place);
    let Some(bytes) = bytes else {
        testkit::passed_over("avr-gcc or avr-libc is missing");
        return;
    };
    let mut map = SourceMap::new();
    let file = map.add("columns.elf", "");
    let defines = [("device".to_owned(), "atmega328p".to_owned())];
    let mut none = |_: &str| None;
    let request = avr::Request { defines: &defines, formulas: &[], expressions: &[], sources: &mut none };
    let compiled = avr::compile(&mut map, file, &bytes, request);
    let program = compiled.program.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
    let columns: Vec<u32> = program.spans.iter().filter(|span| span.line == 3).map(|span| span.column).collect();
    assert!(columns.contains(&7) && columns.contains(&12), "{columns:?}");
}
