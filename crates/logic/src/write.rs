//! Automata as text: the Hanoi format (HOA, version 1), a never claim as SPIN reads it, a table,
//! and a graph for `dot`.

use crate::automaton::{Automaton, Cube, Edge, Guard, State};
use crate::formula::quoted;
use std::fmt::Write;

/// Further facts that are written with an automaton.
#[derive(Clone, Copy, Debug, Default)]
pub struct Remarks<'a> {
    /// A name: the formula, or where the automaton comes from.
    pub name: &'a str,
    /// It has at most one run for each word.
    pub deterministic: bool,
    /// It has a run for each word.
    pub complete: bool,
}

/// The automaton in the Hanoi format.
pub fn hoa(automaton: &Automaton, remarks: Remarks<'_>) -> String {
    let mut out = String::from("HOA: v1\n");
    // Writing to a `String` cannot fail.
    let _ = writeln!(out, "name: {}", string(remarks.name));
    let _ = writeln!(out, "States: {}\nStart: {}", automaton.states.len(), automaton.initial);
    let _ = write!(out, "AP: {}", automaton.atoms.len());
    for atom in &automaton.atoms {
        let _ = write!(out, " {}", string(atom));
    }
    let sets: Vec<String> = (0..automaton.sets).map(|set| format!("Inf({set})")).collect();
    let _ = match automaton.sets {
        0 => writeln!(out, "\nacc-name: all\nAcceptance: 0 t"),
        1 => writeln!(out, "\nacc-name: Buchi\nAcceptance: 1 Inf(0)"),
        count => writeln!(out, "\nacc-name: generalized-Buchi {count}\nAcceptance: {count} {}", sets.join("&")),
    };
    out.push_str("properties: trans-labels explicit-labels");
    out.push_str(if automaton.state_based { " state-acc" } else { " trans-acc" });
    out.push_str(if remarks.deterministic { " deterministic" } else { "" });
    out.push_str(if remarks.complete { " complete" } else { "" });
    out.push_str("\n--BODY--\n");
    for (number, state) in automaton.states.iter().enumerate() {
        let on_state = automaton.state_based && automaton.sets > 0 && state.accepting;
        let _ = writeln!(out, "State: {number}{}", if on_state { " {0}" } else { "" });
        for edge in &state.edges {
            let _ = write!(out, "[{}] {}", guard(&edge.guard, &|atom| atom.to_string(), ["&", " | ", "t", "f"]), edge.target);
            if !automaton.state_based && edge.marks != 0 {
                let marks: Vec<String> = marks(edge.marks).map(|set| set.to_string()).collect();
                let _ = write!(out, " {{{}}}", marks.join(" "));
            }
            out.push('\n');
        }
    }
    out.push_str("--END--\n");
    out
}

/// A string of the Hanoi format.
fn string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " "))
}

fn marks(marks: u64) -> impl Iterator<Item = u32> {
    (0..64).filter(move |set| marks >> set & 1 == 1)
}

/// A guard as text. `signs` are *and*, *or*, *true* and *false*.
fn guard(guard: &Guard, atom: &dyn Fn(usize) -> String, signs: [&str; 4]) -> String {
    guard_of(guard, &|number, negated| format!("{}{}", if negated { "!" } else { "" }, atom(number)), signs)
}

/// A guard as text. `literal` is the text of an atom or of its negation.
fn guard_of(guard: &Guard, literal: &dyn Fn(usize, bool) -> String, signs: [&str; 4]) -> String {
    let [and, or, yes, no] = signs;
    let cube = |cube: &Cube| {
        let literals = (0..64).filter_map(|number| {
            let bit = 1u64 << number;
            let negated = cube.negative & bit != 0;
            (negated || cube.positive & bit != 0).then(|| literal(number, negated))
        });
        let text = literals.collect::<Vec<String>>().join(and);
        if text.is_empty() { yes.to_owned() } else { text }
    };
    match guard.cubes.as_slice() {
        [] => no.to_owned(),
        cubes => cubes.iter().map(cube).collect::<Vec<String>>().join(or),
    }
}

fn named(automaton: &Automaton, letters: &Guard) -> String {
    let one = letters.cubes.len() <= 1;
    let atom = |number: usize| automaton.atoms.get(number).map_or_else(|| "?".to_owned(), |atom| quoted(atom));
    let text = guard(letters, &atom, [" && ", ") || (", "true", "false"]);
    if one { text } else { format!("({text})") }
}

/// What is written at an edge: its guard, and its acceptance sets if edges have some.
pub fn edge_label(automaton: &Automaton, edge: &Edge) -> String {
    let guard = named(automaton, &edge.guard);
    if automaton.state_based || edge.marks == 0 {
        return guard;
    }
    let sets: Vec<String> = marks(edge.marks).map(|set| set.to_string()).collect();
    format!("{guard} {{{}}}", sets.join(", "))
}

/// Whether the state accepts every continuation.
fn accepts_all(number: usize, state: &State) -> bool {
    state.accepting && matches!(state.edges.as_slice(), [edge] if edge.target == number && edge.guard.is_true())
}

/// The predicates of channels that SPIN does not negate with `!`, and their negations.
const DUALS: [(&str, &str); 4] = [("empty", "nempty"), ("nempty", "empty"), ("full", "nfull"), ("nfull", "full")];

/// An atom or its negation as SPIN reads it in a claim.
fn in_claim(atom: &str, negated: bool) -> String {
    let dual = DUALS.iter().find_map(|(name, dual)| {
        let arguments = atom.strip_prefix(name)?;
        is_group(arguments).then(|| format!("({dual}{arguments})"))
    });
    match dual.filter(|_| negated) {
        Some(dual) => dual,
        None => format!("{}({atom})", if negated { "!" } else { "" }),
    }
}

/// Whether a text is one pair of parentheses with something inside.
fn is_group(text: &str) -> bool {
    let mut depth = 0_usize;
    let close = text.bytes().position(|byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    text.starts_with('(') && close == Some(text.len() - 1)
}

/// A never claim. The automaton must have accepting states, not edges. A claim begins in its first
/// state.
pub fn never(automaton: &Automaton, name: &str) -> String {
    let label = |number: usize| {
        let state = &automaton.states[number];
        match (number == automaton.initial, state.accepting) {
            (true, true) => "accept_init".to_owned(),
            (true, false) => "T0_init".to_owned(),
            (false, true) if accepts_all(number, state) => "accept_all".to_owned(),
            (false, true) => format!("accept_S{number}"),
            (false, false) => format!("T0_S{number}"),
        }
    };
    let comment = name.replace("*/", "* /").replace(['\n', '\r'], " ");
    let mut out = format!("never {{    /* {comment} */\n");
    // A state that accepts everything comes last, because `skip` continues with the next statement,
    // and the end of a claim is a match.
    let everything = |number: &usize| *number != automaton.initial && accepts_all(*number, &automaton.states[*number]);
    let ordinary = (0..automaton.states.len()).filter(|number| *number != automaton.initial && !everything(number));
    for number in [automaton.initial].into_iter().chain(ordinary) {
        let state = &automaton.states[number];
        let _ = writeln!(out, "{}:", label(number));
        if state.edges.is_empty() {
            out.push_str("\tfalse;\n");
            continue;
        }
        out.push_str("\tif\n");
        for edge in &state.edges {
            let literal = |number: usize, negated: bool| in_claim(automaton.atoms.get(number).map_or("?", |atom| atom), negated);
            let text = guard_of(&edge.guard, &literal, [" && ", ") || (", "true", "false"]);
            let _ = writeln!(out, "\t:: ({text}) -> goto {}", label(edge.target));
        }
        out.push_str("\tfi;\n");
    }
    if (0..automaton.states.len()).any(|number| everything(&number)) {
        out.push_str("accept_all:\n\tskip\n");
    }
    out.push_str("}\n");
    out
}

/// A table for people.
pub fn text(automaton: &Automaton) -> String {
    let mut out = String::new();
    for (number, state) in automaton.states.iter().enumerate() {
        let first = if number == automaton.initial { ", initial" } else { "" };
        let accepting = if automaton.state_based && state.accepting { ", accepting" } else { "" };
        let _ = writeln!(out, "state {number}{first}{accepting}");
        for edge in &state.edges {
            let _ = write!(out, "  {} -> {}", named(automaton, &edge.guard), edge.target);
            if !automaton.state_based && edge.marks != 0 {
                let marks: Vec<String> = marks(edge.marks).map(|set| set.to_string()).collect();
                let _ = write!(out, " {{{}}}", marks.join(", "));
            }
            out.push('\n');
        }
        if state.edges.is_empty() {
            out.push_str("  no edges\n");
        }
    }
    out
}

/// A graph for `dot`.
pub fn dot(automaton: &Automaton, name: &str) -> String {
    let escape = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
    let mut out = format!("digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=circle];\n  start [shape=point];\n", escape(name));
    let _ = writeln!(out, "  start -> {};", automaton.initial);
    for (number, state) in automaton.states.iter().enumerate() {
        let shape = if automaton.state_based && state.accepting { " [shape=doublecircle]" } else { "" };
        let _ = writeln!(out, "  {number}{shape};");
        for edge in &state.edges {
            let _ = writeln!(out, "  {number} -> {} [label=\"{}\"];", edge.target, escape(&edge_label(automaton, edge)));
        }
    }
    out.push_str("}\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predicates_of_channels_are_negated_by_their_duals() {
        for (name, dual) in DUALS {
            assert_eq!(in_claim(&format!("{name}(q[f(1)])"), true), format!("({dual}(q[f(1)]))"));
            assert_eq!(in_claim(&format!("{name}(q)"), false), format!("({name}(q))"));
            // This is not the predicate alone.
            assert_eq!(in_claim(&format!("{name}(q) == (x)"), true), format!("!({name}(q) == (x))"));
            assert_eq!(in_claim(name, true), format!("!({name})"));
        }
        assert_eq!(in_claim("x == 1", true), "!(x == 1)");
    }
}
