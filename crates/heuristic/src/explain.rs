//! Describes the tables of an estimate: for each process type, the locations that matter, the
//! conditions there, and the distance to each from every location; for each edge of an automaton
//! that is a goal, its conditions and the number of edges before it.

use crate::estimate::{Combine, Estimator, Goal, GoalEdge};
use crate::formula::Formula;
use crate::goals::Site;
use bytecode::{Location, ProcessId};
use contract::FAR;
use std::fmt::Write;

/// Types with more locations are not shown whole.
const SHOWN: usize = 64;

impl Estimator {
    /// The tables behind the estimates.
    pub(crate) fn explain(&self) -> String {
        let inner = &self.inner;
        let mut text = String::new();
        let combined = match inner.combine {
            Combine::Max => "conditions that must hold together count as their greatest distance",
            Combine::Sum => "conditions that must hold together count as the sum of their distances",
        };
        let _ = writeln!(text, "estimate: {combined}");
        for (number, goals) in inner.goals.iter().enumerate() {
            let Some(ty) = ProcessId::new(number) else { continue };
            let _ = writeln!(text, "process {}:", inner.program.program().processes[number].name);
            if let Goal::Safety { deadlocks, assertions, errors } = inner.goal {
                if deadlocks {
                    let by = if goals.marked { ", as marked" } else { "" };
                    self.table(&mut text, ty, &format!("can be stuck{by}"), &goals.stuck);
                }
                if assertions {
                    self.table(&mut text, ty, "assertion", &goals.assertions);
                }
                if errors {
                    let _ = write!(text, "  to a possible run-time error:");
                    row(&mut text, &goals.errors);
                }
            }
        }
        for GoalEdge { source, target, terms, distances } in &inner.edges {
            let to = target.map_or_else(|| "acceptance".to_owned(), |target| format!("state {target}"));
            let label: Vec<&str> = terms.iter().map(|(text, _)| text.as_str()).collect();
            let label = if label.is_empty() { "true".to_owned() } else { label.join(" && ") };
            let _ = writeln!(text, "automaton, from state {source} to {to} if `{label}`:");
            let _ = write!(text, "  edges before it, from each state:");
            row(&mut text, distances);
            for (name, formula) in terms {
                let mut places = Vec::new();
                places_in(formula, &mut places);
                for (ty, location, distances) in places {
                    let process = &inner.program.program().processes[ty.index()].name;
                    let _ = write!(text, "  `{name}`: {process} to {}:", self.place(ty, location));
                    row(&mut text, distances);
                }
            }
        }
        if matches!(inner.goal, Goal::Automaton { .. }) && inner.edges.is_empty() {
            let _ = writeln!(text, "automaton: the estimate is one edge");
        }
        text
    }

    fn table(&self, text: &mut String, ty: ProcessId, what: &str, sites: &[Site]) {
        for site in sites {
            let _ = write!(text, "  {what} at {}:", self.place(ty, site.location));
            row(text, &site.distances);
        }
        if sites.is_empty() {
            let _ = writeln!(text, "  {what}: nowhere");
        }
    }

    /// A location in the user's words.
    fn place(&self, ty: ProcessId, location: Location) -> String {
        let program = &self.inner.program;
        let at = program.locations().address(ty, location);
        match at.and_then(|at| program.program().span_at(at)) {
            Some(span) => format!("location {}, line {}, `{}`", location.0, span.line, span.text.replace('\n', " ")),
            None => format!("location {}", location.0),
        }
    }
}

/// The locations that a formula is about, with the distances to each.
fn places_in<'f>(formula: &'f Formula, places: &mut Vec<(ProcessId, Location, &'f [u32])>) {
    match formula {
        Formula::At { ty, location, distances, .. } => places.push((*ty, *location, distances)),
        Formula::All(parts) | Formula::Any(parts) => parts.iter().for_each(|part| places_in(part, places)),
        _ => {}
    }
}

/// The distances from each location, in order.
fn row(text: &mut String, distances: &[u32]) {
    for distance in distances.iter().take(SHOWN) {
        match *distance {
            FAR => text.push_str(" -"),
            steps => drop(write!(text, " {steps}")),
        }
    }
    text.push_str(if distances.len() > SHOWN { " …\n" } else { "\n" });
}
