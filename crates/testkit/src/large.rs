//! Large programs of a given size, to measure how times grow.
//!
//! Each family grows in one direction only: more statements, larger conditions, more alternatives,
//! more process types, longer sequences. If one of them takes more than linear time, the table of
//! `cargo xtask bench --compile-times` shows it. The sizes are in byte-code instructions and are
//! accurate within a few per cent.

use std::fmt::Write;

/// A kind of large program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// One process type with a long body of assignments.
    Body,
    /// Guards of two hundred operators each, like those from macros: the same parts occur in many
    /// guards.
    Conditions,
    /// One guard as large as the whole program.
    Condition,
    /// One loop with many options.
    Selection,
    /// Two hundred process types.
    Types,
    /// One `d_step` with many statements and loops inside.
    Sequence,
    /// One `atomic` with many statements.
    Atomic,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 7] =
        [Family::Body, Family::Conditions, Family::Condition, Family::Selection, Family::Types, Family::Sequence, Family::Atomic];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Body => "long body",
            Family::Conditions => "large conditions",
            Family::Condition => "one condition",
            Family::Selection => "wide selection",
            Family::Types => "many proctypes",
            Family::Sequence => "long d_step",
            Family::Atomic => "long atomic",
        }
    }

    /// The name of a file with such a program: its ending determines the language.
    pub const fn file_name(self) -> &'static str {
        match self {
            Family::Condition => "large.epa",
            _ => "large.pml",
        }
    }

    /// The text of a program with about this many instructions.
    pub fn text(self, instructions: usize) -> String {
        let mut out = String::new();
        match self {
            Family::Body => {
                out += "byte x, y, z;\nactive proctype P() {\n";
                assignments(&mut out, instructions / 17);
                out += "  skip\n}\n";
            }
            Family::Conditions => conditions(&mut out, instructions),
            Family::Condition => condition(&mut out, instructions),
            Family::Selection => selection(&mut out, instructions),
            Family::Types => {
                out += "byte x, y, z;\n";
                for i in 0..TYPES {
                    let _ = writeln!(out, "active proctype P{i}() {{");
                    assignments(&mut out, instructions / TYPES / 17);
                    out += "  skip\n}\n";
                }
            }
            Family::Sequence => {
                out += "byte x, y, z;\nactive proctype P() {\n  byte i;\n  d_step {\n";
                for _ in 0..instructions / (17 * 16 + 22) {
                    assignments(&mut out, 16);
                    out += "  do :: i < 3 -> i++ :: else -> i = 0; break od;\n";
                }
                out += "  skip }\n}\n";
            }
            Family::Atomic => {
                out += "byte x, y, z;\nactive proctype P() {\n  atomic {\n";
                assignments(&mut out, instructions / 17);
                out += "  skip }\n}\n";
            }
        }
        out
    }
}

/// The number of process types; at most 255 processes can exist.
const TYPES: usize = 200;

/// Seventeen instructions each.
fn assignments(out: &mut String, count: usize) {
    for i in 0..count {
        let _ = writeln!(out, "  x = (x * 3 + y * 5 + z * {}) % 11 - y;", i % 97);
    }
}

fn conditions(out: &mut String, instructions: usize) {
    out.push_str("byte a[8], x, y, z;\n");
    // Four parts of 48 operators each, in a different order and with different constants in each
    // guard.
    for part in 0..4 {
        let terms: Vec<String> =
            (0..12).map(|i| format!("(x == {} && y < {} || z > {} && a[{}] != k)", i + part, i + 3, 11 - i, (i + part) % 8)).collect();
        let _ = writeln!(out, "#define C{part}(k) ({})", terms.join(if part % 2 == 0 { " || " } else { " && " }));
    }
    out.push_str("active proctype P() {\n  do\n");
    for i in 0..instructions / 880 {
        let _ =
            writeln!(out, "  :: C{}({}) && C{}({}) || !C{}({}) -> x = {}", i % 4, i % 5, (i + 1) % 4, i % 3, (i + 2) % 4, i % 7, i % 200);
    }
    out.push_str("  od\n}\n");
}

fn condition(out: &mut String, instructions: usize) {
    out.push_str("global byte x\nglobal byte y\nprocess P() {\nagain:\n LDG x\n LDC 1\n EQ\n");
    for i in 0..instructions / 6 {
        let _ = writeln!(out, " JMPNZ d{i}\n LDG {}\n LDC {}\n EQ\n JMP e{i}\nd{i}:\n LDC 1\ne{i}:", ["x", "y"][i % 2], i % 200);
    }
    out.push_str(" NEXZ\n LDG x\n LDC 1\n ADD\n LDC 7\n AND\n STG x\n STEP N\n JMP again\n}\nstart P\n");
}

fn selection(out: &mut String, instructions: usize) {
    out.push_str("byte x, y, z;\nactive proctype P() {\n  do\n");
    for i in 0..instructions / 17 {
        let _ = writeln!(out, "  :: x == {} && y < {} -> x = (y + {}) & 15", i % 16, i % 5, i % 13);
    }
    out.push_str("  od\n}\n");
}
