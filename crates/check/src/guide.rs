//! Makes the estimates of a directed search from the name of a heuristic and the goal of the
//! search.

use crate::choice::choice;
use crate::claim::Claim;
use crate::plan::Plan;
use crate::subject::Subject;
use crate::table::Order;
use bytecode::AtomId;
use contract::{Blind, Heuristic, Observer, Proposition, Safety, System, Trace};
use heuristic::{Combine, Edge, Estimator, Goal};
use search::{Active, Automaton, Closing, Product, Value};
use std::cell::RefCell;
use std::sync::Arc;

choice! {
    /// How the distance of a state to a violation is estimated.
    Guide, "heuristic" {
        #[default]
        Auto = "auto", "What suits the search: `formula` where paths are to be shortest, `sum` elsewhere";
        Formula = "formula", "From the property and the process automata, combined by maximum: a lower bound";
        Sum = "sum", "The same combined by sum: often nearer to the true distance, sometimes greater";
        Active = "active", "The number of processes that can move: leads to deadlocks";
        Blind = "none", "No estimate: A* becomes a breadth-first search";
    }
}

/// The goal of a search.
#[derive(Clone, Copy)]
pub(crate) enum Looked<'a> {
    /// Deadlocks and faults.
    For(Safety),
    /// A run that an automaton accepts.
    Claim(&'a Claim, &'a Automaton),
}

/// Bytes of the automaton's state, which follow the system's.
const TAIL: usize = 2;

/// Larger automata are not analysed.
pub(crate) const LARGEST_AUTOMATON: usize = 1000;

/// The guidance of a directed search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guidance {
    /// The property whose search it guided; nothing for the search for deadlocks and faults.
    pub property: Option<String>,
    /// The name of the heuristic, or the user's expression.
    pub name: String,
    /// Whether its estimates are lower bounds.
    pub lower_bound: bool,
    /// The tables from which the estimates are computed.
    pub tables: String,
    /// The estimate of each state of the trace, if there is one.
    pub along: Vec<u32>,
}

/// The heuristic of a plan.
pub(crate) fn heuristic(subject: &dyn Subject, plan: &Plan, looked: Looked<'_>, observer: &dyn Observer) -> Box<dyn Heuristic> {
    if !plan.order.is_directed() {
        return Box::new(Blind);
    }
    let tail = if matches!(looked, Looked::Claim(..)) { TAIL } else { 0 };
    let system = || subject.system(plan.engine, Arc::default(), observer);
    if let Some(atom) = plan.guide_atom {
        return Box::new(Value::new(system(), atom, tail));
    }
    let guide = chosen(plan);
    let combine = if guide == Guide::Formula { Combine::Max } else { Combine::Sum };
    match (guide, subject.byte_code()) {
        (Guide::Blind, _) => Box::new(Blind),
        (Guide::Active, _) => Box::new(Active::new(system(), tail)),
        (_, None) => {
            // A graph has no processes to analyse.
            if plan.guide != Guide::Auto {
                observer.notice("the model is not a program; the number of processes that can move is used instead of the heuristic");
            }
            unstructured(plan, || Active::new(system(), tail))
        }
        (_, Some(program)) => match Estimator::new(program, goal(looked, combine), combine) {
            Ok(estimator) => Box::new(estimator),
            Err(_) => {
                observer.notice("the program is too large for tables of distances; the number of processes that can move is used instead");
                unstructured(plan, || Active::new(system(), tail))
            }
        },
    }
}

/// The heuristic for a model whose structure is unknown. If the path is to be shortest, it
/// estimates nothing.
fn unstructured(plan: &Plan, active: impl FnOnce() -> Active) -> Box<dyn Heuristic> {
    match plan.order {
        Order::AStar | Order::IdaStar => Box::new(Blind),
        _ => Box::new(active()),
    }
}

/// The heuristic that a plan has chosen.
fn chosen(plan: &Plan) -> Guide {
    match (plan.guide, plan.order) {
        (Guide::Auto, Order::AStar | Order::IdaStar) => Guide::Formula,
        (Guide::Auto, _) => Guide::Sum,
        (guide, _) => guide,
    }
}

/// The goal of the estimates. Run-time errors are possible at so many locations that estimates by
/// sum ignore them; a lower bound must include them.
fn goal(looked: Looked<'_>, combine: Combine) -> Goal {
    match looked {
        Looked::For(Safety { deadlocks, faults }) => {
            Goal::Safety { deadlocks, assertions: faults, errors: faults && combine == Combine::Max }
        }
        Looked::Claim(claim, automaton) => {
            let atoms = |bits: u64| -> Vec<AtomId> {
                let chosen = claim.propositions.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 != 0);
                chosen
                    .filter_map(|(_, proposition)| match proposition {
                        Proposition::Atom(atom) => u16::try_from(*atom).ok().map(AtomId),
                        _ => None,
                    })
                    .collect()
            };
            let inside = if automaton.edges.len() <= LARGEST_AUTOMATON { automaton.accepting_components() } else { Vec::new() };
            let is_inside = |state: u16| inside.get(usize::from(state)).copied().unwrap_or(false);
            let edges = automaton.edges.iter().enumerate().flat_map(|(source, edges)| {
                let source = source as u16;
                edges.iter().map(move |edge| (source, edge))
            });
            let edges = edges.map(|(source, edge)| Edge {
                source,
                target: edge.target,
                required: atoms(edge.required),
                forbidden: atoms(edge.forbidden),
                is_goal: edge.target.is_none_or(is_inside),
            });
            Goal::Automaton { edges: edges.collect() }
        }
    }
}

/// Estimates the distance to a state of the product with a claim's automaton, by the process
/// automata.
pub(crate) fn closing(subject: &dyn Subject, state: &[u8]) -> Box<dyn Heuristic> {
    let goal = Goal::State { state: state.to_vec(), tail: TAIL };
    match subject.byte_code().map(|program| Estimator::new(program, goal, Combine::Max)) {
        Some(Ok(estimator)) => Box::new(estimator),
        _ => Box::new(Blind),
    }
}

/// The estimates of the states of a trace.
pub(crate) fn along(heuristic: &dyn Heuristic, trace: &Trace) -> Vec<u32> {
    let mut heuristic = heuristic.clone_heuristic();
    let after = trace.steps.iter().filter_map(|step| step.state.as_deref());
    std::iter::once(&trace.initial[..]).chain(after).map(|state| heuristic.estimate(state)).collect()
}

/// Describes the heuristic of the search for a property, and its estimates along a trace.
pub(crate) fn explain(plan: &Plan, heuristic: &dyn Heuristic, property: Option<String>, along: Vec<u32>) -> Guidance {
    let name = if plan.guide_atom.is_some() { "expression".to_owned() } else { chosen(plan).to_string() };
    Guidance { property, name, lower_bound: heuristic.is_lower_bound(), tables: heuristic.describe(), along }
}

/// The guidance of the search for a claim. The estimates are about states of the product, so they
/// are made before a trace of the product becomes one of the system.
pub(crate) struct Guiding<'a> {
    /// Estimates the distance to a state of the product.
    pub closing: &'a Closing<'a>,
    along: RefCell<Vec<u32>>,
}

impl<'a> Guiding<'a> {
    pub fn new(closing: &'a Closing<'a>) -> Self {
        Guiding { closing, along: RefCell::default() }
    }

    /// Estimates the states of a trace of the product in which the system moves.
    pub fn follow<S: System>(&self, product: &Product<S>, heuristic: &dyn Heuristic, trace: &Trace) {
        let steps = trace.steps.iter().filter(|step| product.system_action(step.action).is_some()).cloned().collect();
        *self.along.borrow_mut() = along(heuristic, &Trace { steps, ..trace.clone() });
    }

    /// The estimates along a trace with so many steps; none if there is no trace.
    pub fn along(self, steps: usize) -> Vec<u32> {
        let mut along = self.along.into_inner();
        along.truncate(steps + 1);
        along
    }
}
