//! Translates a formula to small automata: several methods are tried, and the smallest result is
//! kept.
//!
//! Both the formula and its negation are translated. Each is the complement of the other, so
//! questions of the reductions about languages can be decided. All work is counted and bounded.
//! When a budget is used up, the automaton reached so far is the result, and it is the same on
//! every machine.

use crate::acceptance;
use crate::automaton::{Automaton, Strength};
use crate::degeneralise::{Place, degeneralise};
use crate::formula::{Formulas, Id};
use crate::graph::{Graph, Work};
use crate::merge::merge;
use crate::obligation::{Obligation, obligation};
use crate::simplify::Simplifier;
use crate::simulation;
use crate::tableau::{self, Bounds};
use std::fmt;

/// The largest number of atoms in a formula.
pub const ATOMS_MAX: usize = 64;
/// The largest number of states of an automaton before it is reduced.
const STATES_MAX: usize = 4000;
/// The largest number of edges of an automaton before it is reduced.
const EDGES_MAX: usize = 40_000;
/// The largest number of nodes of guards.
const NODES_MAX: usize = 1 << 20;
/// The number of questions of implication that automata answer while a formula is simplified.
pub(crate) const QUESTIONS: u32 = 150;
/// Larger automata are not merged pair by pair.
const MERGED_MAX: usize = 70;

/// The class of a property in the hierarchy of Manna and Pnueli, as far as the translation shows
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Both a safety property and a guarantee: a finite number of positions decide.
    Bounded,
    /// Each violation shows after finitely many steps.
    Safety,
    /// Each satisfaction shows after finitely many steps.
    Guarantee,
    /// A Boolean combination of these.
    Obligation,
    /// Something good again and again: a deterministic Büchi automaton is known.
    Recurrence,
    /// From some point on only good: a deterministic Büchi automaton of the negation is known.
    Persistence,
    /// None of the above is known.
    Reactivity,
}

impl Class {
    /// Its name in texts and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Class::Bounded => "bounded",
            Class::Safety => "safety",
            Class::Guarantee => "guarantee",
            Class::Obligation => "obligation",
            Class::Recurrence => "recurrence",
            Class::Persistence => "persistence",
            Class::Reactivity => "reactivity",
        }
    }
}

/// The formula is too large to be translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLarge(String);

impl TooLarge {
    pub(crate) fn of(what: &str) -> TooLarge {
        TooLarge(what.to_owned())
    }

    pub(crate) fn guards() -> TooLarge {
        TooLarge::of("the guards of the automaton are too large")
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TooLarge {}

/// The result of translating a formula.
#[derive(Clone, Debug)]
pub struct Translation {
    /// The automaton with generalised acceptance on edges.
    pub generalised: Automaton,
    /// The automaton with one set of accepting states.
    pub buchi: Automaton,
    /// Whether the Büchi automaton has at most one run for each word.
    pub deterministic: bool,
    /// The kind of search that the Büchi automaton needs.
    pub strength: Strength,
    /// The class of the formula in the hierarchy of properties.
    pub class: Class,
    /// The formula as it was translated.
    pub simplified: Id,
}

/// Translates a formula.
pub fn translate(formulas: &mut Formulas, root: Id) -> Result<Translation, TooLarge> {
    let atoms = formulas.atoms_of(root);
    if atoms.len() > ATOMS_MAX {
        return Err(TooLarge(format!("the formula has {} atoms; at most {ATOMS_MAX} can be translated", atoms.len())));
    }
    // The atoms get new numbers, so that the automaton has only those of the formula.
    let mut own = Formulas::new();
    let names: Vec<String> = atoms.iter().map(|atom| formulas.atoms()[*atom as usize].clone()).collect();
    for name in &names {
        own.atom_number(name);
    }
    let copied = formulas.copy(root, &mut own);
    let mut work = Work::new(NODES_MAX, 0);
    let found = Search { formulas: &mut own, work: &mut work, left: STEPS }.run(copied)?;
    // An attempt whose result was dropped may have reached the limit.
    work.bdds.recover();
    let deterministic = found.buchi.deterministic(&mut work.bdds);
    let strength = found.buchi.strength(&mut work.bdds);
    let buchi = found.buchi.open(&names, true, &mut work.bdds);
    let generalised = found.generalised.open(&names, false, &mut work.bdds);
    if work.bdds.overflowed() {
        return Err(TooLarge::guards());
    }
    let simplified = own.copy(found.simplified, formulas);
    Ok(Translation { generalised, buchi, deterministic, strength, class: found.class, simplified })
}

struct Found {
    generalised: Graph,
    buchi: Graph,
    class: Class,
    simplified: Id,
}

struct Search<'a> {
    formulas: &'a mut Formulas,
    work: &'a mut Work,
    /// Steps left for everything that is tried beyond the first automaton.
    left: u64,
}

/// Steps for everything that is tried beyond the first automaton, and for one attempt.
const STEPS: u64 = 12_000_000;
const ATTEMPT: u64 = 4_000_000;

/// The automaton of a formula in negation normal form, with the reductions that need no complement.
pub(crate) fn base(formulas: &Formulas, root: Id, work: &mut Work) -> Option<Graph> {
    work.left = 20_000_000;
    let mut graph = tableau::translate(formulas, root, Bounds { states: STATES_MAX, edges: EDGES_MAX }, work)?;
    graph.trim(work);
    acceptance::simplify(&mut graph);
    graph.trim(work);
    work.left = 8_000_000;
    let mut graph = simulation::reduce(graph, false, work);
    acceptance::simplify(&mut graph);
    graph.trim(work);
    (!work.bdds.overflowed()).then_some(graph)
}

/// The cost by which automata are compared: states, then transitions, then determinism.
fn cost(graph: &Graph, work: &mut Work) -> (usize, usize, bool) {
    let pairs = graph.edges.iter().map(|list| {
        let mut targets: Vec<u32> = list.iter().map(|edge| edge.target).collect();
        targets.sort_unstable();
        targets.dedup();
        targets.len()
    });
    (graph.len(), pairs.sum(), !graph.deterministic(&mut work.bdds))
}

/// Keeps the better of two automata.
fn keep(best: &mut Option<Graph>, graph: Graph, work: &mut Work) {
    let better = match best {
        Some(known) => cost(&graph, work) < cost(known, work),
        None => true,
    };
    if better && !work.bdds.overflowed() {
        *best = Some(graph);
    }
}

impl Search<'_> {
    /// Calls `act` with a part of the budget.
    fn within<T>(&mut self, act: impl FnOnce(&mut Work) -> T) -> T {
        let granted = ATTEMPT.min(self.left);
        self.work.left = granted;
        let result = act(self.work);
        self.left -= granted.saturating_sub(self.work.left);
        result
    }

    fn run(mut self, root: Id) -> Result<Found, TooLarge> {
        let (plain, negated) = (self.formulas.normal_form(root, false), self.formulas.normal_form(root, true));
        let simplified = Simplifier::new(self.formulas, self.work, QUESTIONS).simplify(plain);
        let simplified_negation = Simplifier::new(self.formulas, self.work, QUESTIONS).simplify(negated);
        let first = base(self.formulas, simplified, self.work);
        let first = first.ok_or_else(|| TooLarge::of("the automaton of this formula is too large"))?;
        let complement = base(self.formulas, simplified_negation, self.work);

        let weak = complement.as_ref().and_then(|complement| self.within(|work| obligation(&first, complement, work)));
        let mut starts = vec![first.clone()];
        // Simplification nearly always helps. If it does not, the original formula may give a
        // smaller automaton.
        if plain != simplified {
            starts.extend(base(self.formulas, plain, self.work));
        }
        starts.extend(weak.as_ref().map(|weak| weak.graph.clone()));
        let mut generalised = None;
        let mut plain_starts = Vec::new();
        for start in starts {
            if let Some(complement) = &complement {
                for backwards in [false, true] {
                    if let Some(merged) = self.merged(&start, complement, false, backwards) {
                        plain_starts.push(merged);
                    }
                }
            }
            plain_starts.push(start);
        }
        for start in &plain_starts {
            keep(&mut generalised, start.clone(), self.work);
        }
        let mut buchi = None;
        if let Some(weak) = &weak {
            self.finish(&weak.graph, complement.as_ref(), &mut buchi);
        }
        for start in &plain_starts {
            for order in orders(start.sets) {
                // One result is needed; the other orders are tried while the budget lasts.
                if buchi.is_some() && self.left == 0 {
                    break;
                }
                if let Some(graph) = degeneralise(start, &order, Place::States, STATES_MAX, self.work) {
                    self.finish(&graph, complement.as_ref(), &mut buchi);
                }
            }
        }
        let too_large = || TooLarge::guards();
        let (generalised, buchi) = (generalised.ok_or_else(too_large)?, buchi.ok_or_else(too_large)?);
        self.work.bdds.recover();
        let class = self.class(&first, complement.as_ref(), weak.as_ref());
        Ok(Found { generalised, buchi, class, simplified })
    }

    /// Merges states by the complement, and reduces again.
    fn merged(&mut self, graph: &Graph, complement: &Graph, state_based: bool, backwards: bool) -> Option<Graph> {
        if graph.len() > MERGED_MAX {
            return None;
        }
        let merged = self.within(|work| merge(graph, complement, state_based, backwards, work))?;
        Some(self.within(|work| simulation::reduce(merged, state_based, work)))
    }

    /// Reduces an automaton with accepting states in several ways and keeps the best.
    fn finish(&mut self, graph: &Graph, complement: Option<&Graph>, best: &mut Option<Graph>) {
        let mut reduced = self.within(|work| simulation::reduce(graph.clone(), true, work));
        if let Some(delayed) = self.within(|work| simulation::delayed(&reduced, work)) {
            reduced = delayed;
        }
        if let Some(complement) = complement {
            for backwards in [false, true] {
                if let Some(merged) = self.merged(&reduced, complement, true, backwards) {
                    keep(best, merged, self.work);
                }
            }
        }
        keep(best, reduced, self.work);
    }

    fn class(&mut self, graph: &Graph, complement: Option<&Graph>, weak: Option<&Obligation>) -> Class {
        match weak {
            Some(Obligation { safety: true, guarantee: true, .. }) => Class::Bounded,
            Some(Obligation { safety: true, .. }) => Class::Safety,
            Some(Obligation { guarantee: true, .. }) => Class::Guarantee,
            Some(_) => Class::Obligation,
            None if graph.deterministic(&mut self.work.bdds) => Class::Recurrence,
            None if complement.is_some_and(|complement| complement.deterministic(&mut self.work.bdds)) => Class::Persistence,
            None => Class::Reactivity,
        }
    }
}

/// Orders of the acceptance sets for degeneralisation: all orders if there are few sets, otherwise
/// some.
pub(crate) fn orders(sets: u32) -> Vec<Vec<u32>> {
    let first: Vec<u32> = (0..sets).collect();
    match sets {
        0 | 1 => vec![first],
        2 => vec![vec![0, 1], vec![1, 0]],
        3 => vec![vec![0, 1, 2], vec![0, 2, 1], vec![1, 0, 2], vec![1, 2, 0], vec![2, 0, 1], vec![2, 1, 0]],
        _ => {
            let mut orders = Vec::new();
            for start in 0..sets.min(4) as usize {
                let mut order = first.clone();
                order.rotate_left(start);
                orders.push(order.clone());
                order.reverse();
                orders.push(order);
            }
            orders
        }
    }
}
