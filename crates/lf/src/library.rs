//! Modules that every program can import. They are written in LF, except for parts that the machine
//! provides.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The suffix of the name of a library file.
pub const MARK: &str = " (library)";

/// The name and text of each module of the library.
const MODULES: &[(&str, &str)] = &[
    ("In", include_str!("library/In.lf")),
    ("Out", include_str!("library/Out.lf")),
    (SYSTEM, include_str!("library/SYSTEM.lf")),
    ("Tcp", include_str!("library/Tcp.lf")),
    ("Timer", include_str!("library/Timer.lf")),
];

/// The module that represents the machine.
pub const SYSTEM: &str = "SYSTEM";

/// The number of interrupt lines of a run.
const LINES: u32 = 4;

/// The text of a module of the library.
pub fn module(name: &str) -> Option<&'static str> {
    MODULES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The names of the library's modules.
pub fn names() -> impl Iterator<Item = &'static str> {
    MODULES.iter().map(|(name, _)| *name)
}

/// The module `SYSTEM` of a program that runs, with processes that represent the devices. One
/// receives the values that are written to ports and answers reads with any byte. The others
/// interrupt; there is one for each line that the program uses. The run time makes them do what its
/// devices do.
pub fn system_with_devices(uses: impl Fn(u32) -> bool) -> Cow<'static, str> {
    let Some((text, _)) = module(SYSTEM).and_then(|text| text.split_once("BEGIN\n")) else { return Cow::Borrowed("") };
    let mut text = text.to_owned();
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "PROCESS Devices;\nVAR width : INT8; port : INTEGER; value : INT32;\nBEGIN\n  WHILE TRUE DO\n    SELECT\n      \
         WHEN IOPORT?PORTOUT(width, port, value) THEN value := 0\n      WHEN IOPORT?PORTIN(width, port, value) THEN\n        CHOICE value := 0"
    );
    for byte in 1..256 {
        let _ = write!(text, " OR value := {byte}");
    }
    let _ = write!(text, " END;\n        IOPORT!DATA(value)\n    END;\n    width := 0; port := 0; value := 0\n  END\nEND Devices;\n\n");
    let lines: Vec<u32> = (0..LINES).filter(|line| uses(*line)).collect();
    for line in &lines {
        let _ = write!(text, "PROCESS Line{line};\nBEGIN WHILE TRUE DO RESCHEDULE; Interrupt{line}!INTERRUPT END\nEND Line{line};\n\n");
    }
    let _ = write!(text, "BEGIN\n  NEW(IOPORT);\n  CREATE Devices");
    for line in &lines {
        let _ = write!(text, "; CREATE Line{line}");
    }
    let _ = write!(text, "\nEND SYSTEM.\n");
    Cow::Owned(text)
}
