//! An automaton as a picture: states on a circle, edges as arcs between them, loops outside.
//!
//! Automata of formulas are small, so a circle needs no layout algorithm and no edge runs through a
//! state. Edges between the same two states share an arc, and their labels are below each other.

use crate::automaton::Automaton;
use crate::write::{marks, named};
use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::fmt::Write;

const RADIUS: f64 = 20.0;
const LINE: f64 = 14.0;
/// Room around the circle, for loops and labels.
const MARGIN: f64 = 160.0;
/// The greatest length of a label; longer ones are cut. The other formats have whole labels.
const LABEL: usize = 48;

/// A point of the picture.
type Point = (f64, f64);

/// The automaton as SVG. Accepting states have a double circle; edges with acceptance marks name
/// their sets.
pub fn svg(automaton: &Automaton, name: &str) -> String {
    let count = automaton.states.len().max(1);
    let circle = if count == 1 { 0.0 } else { (count as f64 * 70.0 / TAU * 2.0).max(110.0) };
    let size = 2.0 * (circle + MARGIN);
    let middle = size / 2.0;
    let at = |state: usize| -> Point {
        let angle = TAU * state as f64 / count as f64 - TAU / 2.0;
        (middle + circle * angle.cos(), middle + circle * angle.sin())
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{size:.0}\" height=\"{size:.0}\" viewBox=\"0 0 {size:.0} {size:.0}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<title>{}</title>\n<defs><marker id=\"arrow\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" \
         markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0,0 L10,5 L0,10 z\"/></marker></defs>\n<rect width=\"100%\" \
         height=\"100%\" fill=\"white\"/>\n",
        escaped(name)
    );
    // Writing to a `String` cannot fail.
    let mut labels: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
    for (source, state) in automaton.states.iter().enumerate() {
        for edge in &state.edges {
            let mut label = named(automaton, &edge.guard);
            if !automaton.state_based && edge.marks != 0 {
                let sets: Vec<String> = marks(edge.marks).map(|set| set.to_string()).collect();
                let _ = write!(label, " {{{}}}", sets.join(", "));
            }
            labels.entry((source, edge.target)).or_default().push(label);
        }
    }
    for ((source, target), labels) in &labels {
        let (path, label) = if source == target { round(at(*source), middle) } else { arc(at(*source), at(*target)) };
        let _ = writeln!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"black\" marker-end=\"url(#arrow)\"/>");
        for (line, text) in labels.iter().enumerate() {
            let y = label.1 + LINE * (line as f64 - (labels.len() as f64 - 1.0) / 2.0);
            let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>", label.0, escaped(&cut(text)));
        }
    }
    for (number, state) in automaton.states.iter().enumerate() {
        let (x, y) = at(number);
        let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{RADIUS}\" fill=\"white\" stroke=\"black\"/>");
        if automaton.state_based && state.accepting {
            let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{}\" fill=\"none\" stroke=\"black\"/>", RADIUS - 4.0);
        }
        let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{number}</text>", y + 4.0);
    }
    let (x, y) = at(automaton.initial);
    let (from, to) = (x - RADIUS - 30.0, x - RADIUS);
    let _ = writeln!(out, "<path d=\"M{from:.1},{y:.1} L{to:.1},{y:.1}\" stroke=\"black\" marker-end=\"url(#arrow)\"/>\n</svg>");
    out
}

/// An arc that leaves room for the one in the other direction, and the position of its label.
fn arc(from: Point, to: Point) -> (String, Point) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(1.0);
    let (ux, uy) = (dx / length, dy / length);
    let (bend, off) = (length / 6.0, RADIUS);
    let control = (from.0 + dx / 2.0 - uy * bend, from.1 + dy / 2.0 + ux * bend);
    let start = (from.0 + ux * off, from.1 + uy * off);
    let end = (to.0 - ux * off, to.1 - uy * off);
    let path = format!("M{:.1},{:.1} Q{:.1},{:.1} {:.1},{:.1}", start.0, start.1, control.0, control.1, end.0, end.1);
    (path, ((start.0 + 2.0 * control.0 + end.0) / 4.0, (start.1 + 2.0 * control.1 + end.1) / 4.0))
}

/// A loop on the outer side of a state, and the position of its label.
fn round(at: Point, middle: f64) -> (String, Point) {
    let (dx, dy) = (at.0 - middle, at.1 - middle);
    let length = dx.hypot(dy);
    let (ux, uy) = if length < 1.0 { (0.0, -1.0) } else { (dx / length, dy / length) };
    let side = |turn: f64, far: f64| (at.0 + ux * far - uy * turn, at.1 + uy * far + ux * turn);
    let (a, b, c, d) = (side(-8.0, RADIUS - 2.0), side(-34.0, RADIUS + 52.0), side(34.0, RADIUS + 52.0), side(8.0, RADIUS - 2.0));
    let path = format!("M{:.1},{:.1} C{:.1},{:.1} {:.1},{:.1} {:.1},{:.1}", a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1);
    (path, side(0.0, RADIUS + 54.0))
}

fn cut(text: &str) -> String {
    if text.chars().count() <= LABEL { text.to_owned() } else { text.chars().take(LABEL - 1).chain(['…']).collect() }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::Formulas;
    use crate::translate::translate;

    #[test]
    fn every_state_and_every_pair_is_drawn_once() {
        let mut formulas = Formulas::new();
        let file = source::FileId::default();
        let parsed = crate::parse::parse(&mut formulas, "[] (a -> <> (x < y && b))", file, 0).expect("a formula");
        let automaton = translate(&mut formulas, parsed.root).expect("an automaton").buchi;
        let picture = svg(&automaton, "a < b & c");
        assert_eq!(picture.matches("<circle").count(), automaton.states.len() + automaton.states.iter().filter(|s| s.accepting).count());
        // One path for each pair, one for the beginning, and the arrow head.
        assert_eq!(picture.matches("<path").count(), automaton.transition_count() + 2);
        assert!(picture.contains("<title>a &lt; b &amp; c</title>") && picture.ends_with("</svg>\n"), "{picture}");
        assert!(!picture.contains("x < y"), "{picture}");
    }
}
