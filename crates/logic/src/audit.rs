//! Compares every stage of the translation with the definition of the logic, on words.
//!
//! The oracles are [`Lasso::satisfies`], which does not use automata, and [`Lasso::accepted_by`],
//! which does not use the code that makes automata. Stages are compared one by one, so an error is
//! found in the stage where it was made.

use crate::acceptance;
use crate::degeneralise::{Place, degeneralise};
use crate::formula::{Formulas, Id};
use crate::graph::{Graph, Work};
use crate::lasso::Lasso;
use crate::merge::merge;
use crate::obligation::obligation;
use crate::product::disjoint;
use crate::simplify::Simplifier;
use crate::simulation;
use crate::tableau::{self, Bounds};
use crate::translate::{QUESTIONS, base, orders, translate};

/// Sizes of automata, added up over an audit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Audited {
    /// States of the Büchi automaton.
    pub states: usize,
    /// States of the generalised automaton.
    pub generalised: usize,
    /// How many automata were compared.
    pub automata: usize,
}

/// Bounds for automata before they are reduced. They are small, because an audit is about
/// correctness, not about size.
const BOUNDS: Bounds = Bounds { states: 2000, edges: 20_000 };
const BUDGET: u64 = 2_000_000;

/// Compares every stage on the words. The error names the stage and the word. A formula that is too
/// large for a stage is compared up to that stage.
pub fn audit(formulas: &mut Formulas, root: Id, words: &[Lasso]) -> Result<Audited, String> {
    let expected: Vec<bool> = words.iter().map(|word| word.satisfies(formulas, root)).collect();
    let mut judge = Judge { words, expected, names: formulas.atoms().to_vec(), automata: 0 };
    let work = &mut Work::new(1 << 20, BUDGET);
    let (plain, negated) = (formulas.normal_form(root, false), formulas.normal_form(root, true));
    judge.formula("negation normal form", formulas, plain, true)?;
    judge.formula("negated normal form", formulas, negated, false)?;
    let mut simple = [plain, negated];
    for (formula, positive) in simple.iter_mut().zip([true, false]) {
        for questions in [0, QUESTIONS] {
            let simplified = Simplifier::new(formulas, work, questions).simplify(*formula);
            judge.formula("simplification", formulas, simplified, positive)?;
            *formula = simplified;
        }
    }
    let mut bases = Vec::new();
    for (formula, positive) in [(plain, true), (simple[0], true), (simple[1], false)] {
        work.left = BUDGET;
        let Some(mut graph) = tableau::translate(formulas, formula, BOUNDS, work) else { continue };
        judge.graph("tableau", &graph, positive, work)?;
        graph.trim(work);
        judge.graph("trimming", &graph, positive, work)?;
        acceptance::simplify(&mut graph);
        judge.graph("acceptance sets", &graph, positive, work)?;
        for outside in [0, graph.all_marks()] {
            graph.clear_marks(outside);
            judge.graph("cleared marks", &graph, positive, work)?;
            work.left = BUDGET;
            if let Some(reduced) = simulation::direct(&graph, work) {
                judge.graph("direct simulation", &reduced, positive, work)?;
            }
            if let Some(reduced) = simulation::reverse(&graph, false, work) {
                judge.graph("reverse simulation", &reduced, positive, work)?;
            }
        }
        for order in orders(graph.sets).into_iter().take(2) {
            if let Some(edges) = degeneralise(&graph, &order, Place::Edges, 2000, work) {
                judge.graph("degeneralisation on edges", &edges, positive, work)?;
            }
            let Some(mut states) = degeneralise(&graph, &order, Place::States, 2000, work) else { continue };
            judge.graph("degeneralisation", &states, positive, work)?;
            work.left = BUDGET;
            if let Some(reduced) = simulation::delayed(&states, work) {
                judge.graph("delayed simulation", &reduced, positive, work)?;
            }
            simulation::clear_states(&mut states);
            judge.graph("cleared states", &states, positive, work)?;
            if let Some(reduced) = simulation::direct(&states, work) {
                judge.graph("direct simulation on states", &reduced, positive, work)?;
            }
            if let Some(reduced) = simulation::reverse(&states, true, work) {
                judge.graph("reverse simulation on states", &reduced, positive, work)?;
            }
        }
        if let Some(graph) = base(formulas, formula, work) {
            judge.graph("base", &graph, positive, work)?;
            bases.push(graph);
        }
    }
    if let [_, graph, complement] = bases.as_slice() {
        work.left = BUDGET;
        if disjoint(graph, complement, work) == Some(false) {
            return Err("the automata of the formula and of its negation have a word in common".to_owned());
        }
        for (graph, complement, positive) in [(graph, complement, true), (complement, graph, false)] {
            work.left = BUDGET;
            if let Some(weak) = obligation(graph, complement, work) {
                judge.graph("obligation", &weak.graph, positive, work)?;
            }
            work.left = BUDGET;
            if let Some(merged) = merge(graph, complement, false, false, work) {
                judge.graph("merging", &merged, positive, work)?;
            }
            let order: Vec<u32> = (0..graph.sets).collect();
            if let Some(states) = degeneralise(graph, &order, Place::States, 200, work)
                && let Some(merged) = merge(&states, complement, true, true, work)
            {
                judge.graph("merging on states", &merged, positive, work)?;
            }
        }
    }
    let Ok(result) = translate(formulas, root) else { return Ok(Audited { automata: judge.automata, ..Audited::default() }) };
    judge.formula("the simplified formula", formulas, result.simplified, true)?;
    for (stage, automaton) in [("the generalised automaton", &result.generalised), ("the Büchi automaton", &result.buchi)] {
        judge.automaton(stage, automaton, &result.buchi.atoms, true)?;
    }
    Ok(Audited { states: result.buchi.states.len(), generalised: result.generalised.states.len(), automata: judge.automata })
}

struct Judge<'a> {
    words: &'a [Lasso],
    expected: Vec<bool>,
    names: Vec<String>,
    automata: usize,
}

impl Judge<'_> {
    fn formula(&self, stage: &str, formulas: &Formulas, id: Id, positive: bool) -> Result<(), String> {
        self.all(stage, positive, |word| word.satisfies(formulas, id)).map_err(|error| format!("{error}, as {}", formulas.text(id)))
    }

    fn graph(&mut self, stage: &str, graph: &Graph, positive: bool, work: &mut Work) -> Result<(), String> {
        self.automata += 1;
        if work.bdds.overflowed() {
            return Ok(());
        }
        let automaton = graph.open(&self.names, false, &mut work.bdds);
        self.all(stage, positive, |word| word.accepted_by(&automaton))
    }

    fn automaton(&self, stage: &str, automaton: &crate::Automaton, atoms: &[String], positive: bool) -> Result<(), String> {
        // The automaton numbers only the atoms of its formula.
        let numbers: Vec<usize> = atoms.iter().filter_map(|atom| self.names.iter().position(|name| name == atom)).collect();
        let translated = |letter: u64| numbers.iter().enumerate().fold(0, |all, (new, old)| all | (letter >> old & 1) << new);
        self.all(stage, positive, |word| {
            let letters: Vec<u64> = word.letters().iter().map(|letter| translated(*letter)).collect();
            let (prefix, cycle) = letters.split_at(word.cycle_start());
            Lasso::new(prefix, cycle).accepted_by(automaton)
        })
    }

    fn all(&self, stage: &str, positive: bool, says: impl Fn(&Lasso) -> bool) -> Result<(), String> {
        for (word, expected) in self.words.iter().zip(&self.expected) {
            if says(word) != (*expected == positive) {
                return Err(format!("{stage} is wrong about the word {word:?}, on which the formula is {expected}"));
            }
        }
        Ok(())
    }
}
