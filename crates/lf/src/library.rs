//! Modules that every program can import. They are written in LF, except for parts that the machine
//! provides.

use crate::Console;
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

/// The line of the clock, its first port and the number of its units.
const CLOCK: u32 = 0;
const ALARM: u32 = 0x20;
const UNITS: u32 = 8;

/// The line of the console, and the ports of its bytes and its status.
const CONSOLE: u32 = 1;
const INPUT: u32 = 0x10;
const STATUS: u32 = 0x11;

/// Ports that report events: the line of their device, the port, and the largest number that it
/// gives. They are the status of the console and the event of a connection.
const TELLING: &[(u32, u32, u32)] = &[(CONSOLE, STATUS, 2), (2, 0x31, 3)];

/// Blocks that store each byte up to the largest.
fn bytes(most: u32) -> String {
    (0..=most).map(|byte| format!("value := {byte}")).collect::<Vec<_>>().join(" OR ")
}

/// The text of a module of the library.
pub fn module(name: &str) -> Option<&'static str> {
    MODULES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The names of the library's modules.
pub fn names() -> impl Iterator<Item = &'static str> {
    MODULES.iter().map(|(name, _)| *name)
}

/// The module `SYSTEM` of a program that runs, with processes that represent the devices. One of
/// them receives the values that are written to ports. It answers reads with any byte that the
/// device can give: the clock names only units that are set, each of them once, and the ports that
/// report events give small numbers. The other processes interrupt; there is one for each line that
/// the program uses. In a run, the run time makes these processes behave as the real devices do: in
/// each `CHOICE` it takes the block with the number of the byte that is read.
///
/// With `console`, the console gives only the input that can be typed there, for a search.
pub fn system_with_devices(uses: impl Fn(u32) -> bool, console: Option<Console>) -> Cow<'static, str> {
    let Some((text, _)) = module(SYSTEM).and_then(|text| text.split_once("BEGIN\n")) else { return Cow::Borrowed("") };
    let mut text = text.to_owned();
    let (set, armed) = if uses(CLOCK) {
        let set = format!("IF (port >= {ALARM}) & (port < {ALARM} + {UNITS}) THEN armed[port - {ALARM}] := TRUE END; ");
        (set, format!(" armed : ARRAY {UNITS} OF BOOLEAN;"))
    } else {
        (String::new(), String::new())
    };
    let console = console.filter(|_| uses(CONSOLE));
    let (left, fill) = match console.and_then(|console| console.most()) {
        Some(most) => (" left : UINT8;", format!("  left := {most};\n")),
        None => ("", String::new()),
    };
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "PROCESS Devices;\nVAR width : INT8; port : INTEGER; value : INT32;{armed}{left}\nBEGIN\n{fill}  WHILE TRUE DO\n    SELECT\n      \
         WHEN IOPORT?PORTOUT(width, port, value) THEN {set}value := 0\n      WHEN IOPORT?PORTIN(width, port, value) THEN\n        value := 0;\n"
    );
    if uses(CLOCK) {
        let _ = write!(text, "        IF port = {ALARM} THEN CHOICE value := 0");
        for unit in 0..UNITS {
            let _ = write!(text, " OR IF armed[{unit}] THEN armed[{unit}] := FALSE; value := {} END", unit + 1);
        }
        let _ = writeln!(text, " END END;");
    }
    if let Some(console) = console {
        let typed: Vec<String> = console.bytes().map(|byte| format!("value := {byte}")).collect();
        let (count, ready) = match console.most() {
            Some(_) => ("IF left > 0 THEN DEC(left) END; ", "IF left > 0 THEN value := 1 END"),
            None => ("", "value := 1"),
        };
        let _ = writeln!(text, "        IF port = {STATUS} THEN CHOICE value := 0 OR {ready} OR value := 2 END END;");
        let _ = writeln!(text, "        IF port = {INPUT} THEN {count}CHOICE {} END END;", typed.join(" OR "));
    }
    let told_above = |port: u32| console.is_some() && port == STATUS;
    let known: Vec<(u32, u32)> = TELLING.iter().filter(|(line, _, _)| uses(*line)).map(|(_, port, most)| (*port, *most)).collect();
    for (port, most) in known.iter().filter(|(port, _)| !told_above(*port)) {
        let _ = writeln!(text, "        IF port = {port} THEN CHOICE {} END END;", bytes(*most));
    }
    let clock = uses(CLOCK).then_some(ALARM);
    let input = console.map(|_| INPUT);
    let others: Vec<String> =
        known.iter().map(|(port, _)| *port).chain(clock).chain(input).map(|port| format!("(port # {port})")).collect();
    let others = if others.is_empty() { "TRUE".to_owned() } else { others.join(" & ") };
    let _ = writeln!(text, "        IF {others} THEN CHOICE {} END END;", bytes(255));
    let _ = write!(text, "        IOPORT!DATA(value)\n    END;\n    width := 0; port := 0; value := 0\n  END\nEND Devices;\n\n");
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
