//! Names that a model may use but that have another meaning in C.
//!
//! A variable named `register` or `errno` is valid in Promela but not in C. Such a name gets a `_`
//! at its end in the program. In a piece of C, the name has the meaning of C.

use std::collections::BTreeSet;

const KEYWORDS: &str = "auto break case char const continue default do double else enum extern float for goto if inline int long \
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm typeof";
/// Names in generated statements, which a local variable of the same name would hide.
const USED: &str = "argc argv globals main mtype_name printf start_globals field";
/// Macros of the headers that every program includes.
const MACROS: &str = include_str!("runtime/macros.txt");
/// Functions, types and variables of these headers.
const FUNCTIONS: &str = include_str!("runtime/functions.txt");
/// Files and targets of the Makefile. No program may have one of these names.
const FILES: [&str; 12] = ["all", "broker", "channels", "clean", "everypath", "inside", "init", "local", "loop", "memory", "spawn", "test"];

fn is_in(table: &str, name: &str) -> bool {
    table.split_whitespace().any(|word| word == name)
}

/// Whether a variable, a field or a label cannot have this name in C.
fn is_taken(name: &str) -> bool {
    let prefix = ["ep_", "EP_", "EVERYPATH", "_"].iter().any(|prefix| name.starts_with(prefix)) || name.starts_with("selection");
    prefix || is_in(KEYWORDS, name) || is_in(USED, name) || is_in(MACROS, name)
}

/// Whether a type or a message cannot have this name, because functions of C are on the same level.
fn is_taken_outside(name: &str) -> bool {
    is_taken(name) || is_in(FUNCTIONS, name)
}

/// The name of a variable, a field or a label in C. `declared` contains the names of the model.
pub(crate) fn inside(name: &str, declared: &BTreeSet<String>) -> String {
    free(name, is_taken(name), declared)
}

/// The name of a type or of a message in C.
pub(crate) fn outside(name: &str, declared: &BTreeSet<String>) -> String {
    free(name, is_taken_outside(name), declared)
}

fn free(name: &str, taken: bool, declared: &BTreeSet<String>) -> String {
    if !taken {
        return name.to_owned();
    }
    let mut other = if name.starts_with('_') || name.starts_with("ep_") || name.starts_with("EP_") {
        format!("model_{name}")
    } else {
        format!("{name}_")
    };
    while declared.contains(&other) || is_taken_outside(&other) {
        other.push('_');
    }
    other
}

/// Whether the program of a process type cannot have this name.
pub(crate) fn is_file(name: &str) -> bool {
    FILES.contains(&name) || name == "tests" || name == "Makefile"
}
