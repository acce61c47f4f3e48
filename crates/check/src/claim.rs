//! Makes the automaton that a search follows from a stated property. The automaton accepts the runs
//! that violate the property.
//!
//! A formula is negated and translated (`logic`); a never claim is such an automaton already;
//! accept labels and non-progress are automata of one or two states. All of them refer to a state
//! through propositions, which the system evaluates.

use bytecode::{AutomatonEdge as Stated, BinaryOp, EdgeLabel, Formula, FormulaNode, UnaryOp};
use contract::{PROPOSITIONS_MAX, Proposition};
use logic::{Class, Formulas, Id, Node};
use search::{Automaton, AutomatonEdge};
use source::FileId;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Most edges that an atomic sequence of a claim may become.
const ATOMIC_MAX: usize = 1 << 12;

/// Most states and edges of an automaton from a file. The work before a search grows with the
/// square of the number of states.
const STATES_MAX: usize = 2000;
const EDGES_MAX: usize = 1 << 16;

/// A property that a search must refute, and the automaton for it.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Accepts the runs that violate the property.
    pub automaton: Arc<Automaton>,
    /// The same with accepting states instead of edges.
    pub buchi: Arc<Automaton>,
    /// The propositions that the automaton reads, in the order of its bits.
    pub propositions: Arc<[Proposition]>,
    /// The formula, if it is one.
    pub formula: Option<Refuted>,
    /// Whether a finite run counts as one that stays in its last state for ever.
    pub stutters: bool,
}

/// The formula that a search tries to refute.
#[derive(Clone, Debug)]
pub struct Refuted {
    /// All formulas and their atoms.
    pub formulas: Formulas,
    /// The formula, as it was stated.
    pub root: Id,
    /// Its class in the hierarchy of properties.
    pub class: Class,
}

/// Why a property cannot be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotChecked {
    /// It has too many different expressions.
    Propositions(usize),
    /// The automaton would be too large.
    TooLarge(String),
    /// It refers both to channel events and to states.
    Events,
    /// It accepts finite runs, but not by accepting states.
    NoAcceptingStates,
    /// It is a formula that cannot be read.
    Formula(String),
}

impl fmt::Display for NotChecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotChecked::Propositions(count) => {
                write!(f, "it has {count} different expressions, and at most {PROPOSITIONS_MAX} can be followed at once")
            }
            NotChecked::Formula(why) => write!(f, "its formula cannot be read: {why}"),
            NotChecked::TooLarge(why) => f.write_str(why),
            NotChecked::NoAcceptingStates => {
                f.write_str("an automaton that accepts finite runs does so in accepting states, and it has none")
            }
            NotChecked::Events => f.write_str("a claim is about states, not about channel events"),
        }
    }
}

impl std::error::Error for NotChecked {}

impl Claim {
    /// Why the claim may distinguish runs that differ only in the number of steps in which no
    /// proposition changes. A reduction changes these numbers. The automaton of a formula with
    /// *next* and a stated automaton are tested.
    pub(crate) fn counts_steps(&self) -> Option<&'static str> {
        let is_label = |proposition: &Proposition| matches!(proposition, Proposition::Accepting | Proposition::NonProgress);
        let why = match &self.formula {
            Some(refuted) if !refuted.formulas.has_next(refuted.root) => return None,
            Some(_) => "the formula has `X`",
            None if !self.propositions.is_empty() && self.propositions.iter().all(is_label) => return None,
            // A run that ends does not stay in its last state, so it must not become longer either.
            None if !self.stutters => return Some("an automaton for runs that never end, or that all end, may count steps"),
            None => "the automaton may count steps",
        };
        (!self.buchi.ignores_repetition()).then_some(why)
    }

    /// The claim that no run passes accept labels again and again.
    pub fn acceptance() -> Claim {
        let at = AutomatonEdge { required: 1, marks: 1, target: Some(0), ..AutomatonEdge::default() };
        let elsewhere = AutomatonEdge { forbidden: 1, target: Some(0), ..AutomatonEdge::default() };
        let automaton = Automaton { initial: 0, edges: vec![vec![at, elsewhere]], sets: 1 };
        // The same with states: 1 when a label was just left.
        let states = [0, 1].map(|marks| {
            let edge = |required, forbidden, target| AutomatonEdge { required, forbidden, marks, target: Some(target) };
            vec![edge(1, 0, 1), edge(0, 1, 0)]
        });
        let buchi = Automaton { initial: 0, edges: states.into(), sets: 1 };
        Claim {
            automaton: automaton.into(),
            buchi: buchi.into(),
            propositions: [Proposition::Accepting].into(),
            formula: None,
            stutters: true,
        }
    }

    /// The claim that every infinite run passes progress labels again and again.
    pub fn progress() -> Claim {
        let edge = |required, marks, target| AutomatonEdge { required, marks, target: Some(target), ..AutomatonEdge::default() };
        let automaton = Automaton { initial: 0, edges: vec![vec![edge(0, 0, 0), edge(1, 0, 1)], vec![edge(1, 1, 1)]], sets: 1 };
        let automaton = Arc::new(automaton);
        Claim { buchi: Arc::clone(&automaton), automaton, propositions: [Proposition::NonProgress].into(), formula: None, stutters: false }
    }

    /// The claim of a formula over the atoms of a program.
    pub fn of_formula(formula: &Formula) -> Result<Claim, NotChecked> {
        let mut formulas = Formulas::new();
        let mut operands: Vec<Id> = Vec::new();
        for node in &formula.0 {
            let mut pop = || operands.pop().unwrap_or(Formulas::TRUE);
            let node = match *node {
                FormulaNode::True => Node::True,
                FormulaNode::False => Node::False,
                FormulaNode::Atom(atom) => Node::Atom(formulas.atom_number(&atom.0.to_string())),
                FormulaNode::Unary(op) => {
                    let operand = pop();
                    match op {
                        UnaryOp::Not => Node::Not(operand),
                        UnaryOp::Next => Node::Next(operand),
                        UnaryOp::Always => Node::Always(operand),
                        UnaryOp::Eventually => Node::Eventually(operand),
                    }
                }
                FormulaNode::Binary(op) => {
                    let (right, left) = (pop(), pop());
                    match op {
                        BinaryOp::And | BinaryOp::Or if left == right => {
                            operands.push(left);
                            continue;
                        }
                        BinaryOp::And => Node::And([left, right].into()),
                        BinaryOp::Or => Node::Or([left, right].into()),
                        BinaryOp::Implies => Node::Implies(left, right),
                        BinaryOp::Equivalent => Node::Equivalent(left, right),
                        BinaryOp::Until => Node::Until(left, right),
                        BinaryOp::WeakUntil => Node::WeakUntil(left, right),
                        BinaryOp::Release => Node::Release(left, right),
                    }
                }
            };
            operands.push(formulas.intern(node));
        }
        let root = operands.pop().unwrap_or(Formulas::TRUE);
        let number = |name: &str| name.parse().ok();
        Claim::of_logic(formulas, root, &number)
    }

    /// The claim of a formula in the syntax of the command line, whose expressions are names that
    /// `number` knows.
    pub fn of_text(text: &str, number: &dyn Fn(&str) -> Option<u32>) -> Result<Claim, NotChecked> {
        let mut formulas = Formulas::new();
        let parsed = logic::parse(&mut formulas, text, FileId::default(), 0).map_err(|wrong| NotChecked::Formula(wrong.message))?;
        if let Some(unknown) = formulas.atoms().iter().find(|name| number(name).is_none()) {
            return Err(NotChecked::Formula(format!("there is no proposition `{unknown}`")));
        }
        Claim::of_logic(formulas, parsed.root, number)
    }

    /// The claim of a formula whose atoms have names that `number` knows.
    pub fn of_logic(mut formulas: Formulas, root: Id, number: &dyn Fn(&str) -> Option<u32>) -> Result<Claim, NotChecked> {
        let atoms = formulas.atoms_of(root).len();
        if atoms > PROPOSITIONS_MAX {
            return Err(NotChecked::Propositions(atoms));
        }
        let negation = formulas.intern(Node::Not(root));
        let translation = logic::translate(&mut formulas, negation).map_err(|why| NotChecked::TooLarge(why.to_string()))?;
        let proposition = |name: &String| Proposition::Atom(number(name).unwrap_or(u32::MAX));
        let propositions: Vec<Proposition> = translation.buchi.atoms.iter().map(proposition).collect();
        let buchi = Arc::new(followed(&translation.buchi));
        // If there is no cycle to look for, the smaller automaton is the better one.
        let smaller = translation.generalised.states.len() < translation.buchi.states.len() && !buchi.is_terminal();
        let same_atoms = translation.generalised.atoms == translation.buchi.atoms;
        let automaton = if smaller && same_atoms { Arc::new(followed(&translation.generalised)) } else { Arc::clone(&buchi) };
        // The class of the translation is that of the negated formula.
        let class = match translation.class {
            Class::Safety => Class::Guarantee,
            Class::Guarantee => Class::Safety,
            Class::Recurrence => Class::Persistence,
            Class::Persistence => Class::Recurrence,
            class @ (Class::Bounded | Class::Obligation | Class::Reactivity) => class,
        };
        Ok(Claim { automaton, buchi, propositions: propositions.into(), formula: Some(Refuted { formulas, root, class }), stutters: true })
    }

    /// The claim of an automaton over atoms with these numbers. It accepts finite runs, each of
    /// which is a violation, or infinite ones.
    pub fn of_plain(plain: &logic::PlainAutomaton, atoms: &[u32], finite: bool) -> Result<Claim, NotChecked> {
        let state = |number: usize| u16::try_from(number).map_err(|_| NotChecked::TooLarge("the automaton has too many states".to_owned()));
        let mut edges = Vec::with_capacity(plain.edges.len());
        for (number, own) in plain.edges.iter().enumerate() {
            let marks = u64::from(plain.accepting[number] && !finite);
            let edge = |&(required, forbidden, target): &(u64, u64, usize)| {
                let target = if finite && plain.accepting[target] { None } else { Some(state(target)?) };
                Ok(AutomatonEdge { required, forbidden, marks, target })
            };
            edges.push(own.iter().map(edge).collect::<Result<Vec<_>, NotChecked>>()?);
        }
        let automaton = limited(Automaton { initial: state(plain.initial)?, edges, sets: 1 })?;
        let propositions = atoms.iter().map(|&atom| Proposition::Atom(atom)).collect();
        Ok(Claim { buchi: Arc::clone(&automaton), automaton, propositions, formula: None, stutters: false })
    }

    /// The claim of an automaton with infinite runs, over atoms with these numbers. If it accepts
    /// finite runs, each of which is a violation, it needs accepting states.
    pub fn of_automaton(automaton: &logic::Automaton, atoms: &[u32], finite: bool) -> Result<Claim, NotChecked> {
        let too_large = |why: logic::TooLarge| NotChecked::TooLarge(why.to_string());
        let automaton = logic::tidy(automaton).map_err(too_large)?;
        let propositions = atoms.iter().map(|&atom| Proposition::Atom(atom)).collect();
        if finite {
            if !automaton.state_based || automaton.sets != 1 {
                return Err(NotChecked::NoAcceptingStates);
            }
            let mut followed = followed(&automaton);
            let accepts = |target: u16| automaton.states.get(usize::from(target)).is_some_and(|state| state.accepting);
            for edge in followed.edges.iter_mut().flatten() {
                (edge.marks, edge.target) = (0, edge.target.filter(|&target| !accepts(target)));
            }
            let automaton = limited(followed)?;
            return Ok(Claim { buchi: Arc::clone(&automaton), automaton, propositions, formula: None, stutters: false });
        }
        let buchi = logic::to_buchi(&automaton).map_err(too_large)?;
        let (buchi, automaton) = (limited(followed(&buchi))?, limited(followed(&automaton))?);
        Ok(Claim { automaton, buchi, propositions, formula: None, stutters: true })
    }

    /// The claim that a never claim states.
    pub fn of_never(never: &bytecode::Automaton) -> Result<Claim, NotChecked> {
        let mut reading = Reading { never, propositions: Vec::new(), numbers: HashMap::new() };
        let mut edges = Vec::with_capacity(never.states.len());
        for (number, state) in never.states.iter().enumerate() {
            let mut own = Vec::new();
            reading.edges(number as u32, Conditions::default(), &mut vec![number as u32], &mut own)?;
            own.iter_mut().for_each(|edge| edge.marks = u64::from(state.kind.accept));
            edges.push(own);
        }
        let propositions = reading.propositions;
        if propositions.len() > PROPOSITIONS_MAX {
            return Err(NotChecked::Propositions(propositions.len()));
        }
        let automaton = Arc::new(Automaton { initial: 0, edges, sets: 1 });
        Ok(Claim { buchi: Arc::clone(&automaton), automaton, propositions: propositions.into(), formula: None, stutters: true })
    }
}

/// An automaton from a file, unless it is larger than a search is made for.
fn limited(automaton: Automaton) -> Result<Arc<Automaton>, NotChecked> {
    let edges: usize = automaton.edges.iter().map(Vec::len).sum();
    if automaton.edges.len() > STATES_MAX || edges > EDGES_MAX {
        return Err(NotChecked::TooLarge(format!("the automaton has more than {STATES_MAX} states or {EDGES_MAX} edges")));
    }
    Ok(Arc::new(automaton))
}

/// Converts an automaton of `logic` to the form that a search follows. A search need not enter a
/// state from which everything is accepted.
fn followed(automaton: &logic::Automaton) -> Automaton {
    let all = automaton.all_marks();
    let universal: Vec<bool> = (0..automaton.states.len())
        .map(|at| automaton.states[at].edges.iter().any(|edge| edge.target == at && edge.guard.is_true() && edge.marks & all == all))
        .collect();
    let edges = automaton.states.iter().map(|state| {
        let edges = state.edges.iter().flat_map(|edge| {
            edge.guard.cubes.iter().map(|cube| AutomatonEdge {
                required: cube.positive,
                forbidden: cube.negative,
                marks: edge.marks,
                target: (!universal[edge.target]).then_some(edge.target as u16),
            })
        });
        edges.collect()
    });
    Automaton { initial: automaton.initial as u16, edges: edges.collect(), sets: automaton.sets }
}

/// The conditions under which an edge is taken.
#[derive(Clone, Copy, Default)]
struct Conditions {
    required: u64,
    forbidden: u64,
}

impl Conditions {
    /// Whether the conditions do not contradict each other.
    fn is_possible(self) -> bool {
        self.required & self.forbidden == 0
    }
}

struct Reading<'a> {
    never: &'a bytecode::Automaton,
    propositions: Vec<Proposition>,
    numbers: HashMap<u16, usize>,
}

impl Reading<'_> {
    /// The bit of an atom. If there are more atoms than bits, an atom gets no bit; the caller
    /// notices it by the number of propositions.
    fn bit(&mut self, atom: bytecode::AtomId) -> u64 {
        let next = self.propositions.len();
        let number = *self.numbers.entry(atom.0).or_insert(next);
        if number == next {
            self.propositions.push(Proposition::Atom(atom.0.into()));
        }
        1_u64.checked_shl(number as u32).unwrap_or(0)
    }

    /// Appends the edges of a state that are taken under the conditions `given`. `way` has the
    /// states that the atomic sequence has passed.
    fn edges(&mut self, state: u32, given: Conditions, way: &mut Vec<u32>, out: &mut Vec<AutomatonEdge>) -> Result<(), NotChecked> {
        let never = self.never;
        let own: Vec<&Stated> = never.edges.iter().filter(|edge| edge.source == state).collect();
        // Conditions under which no edge of a lower rank can be taken, and none before an `else`.
        let (mut lower, mut rank, mut before) = (given, None, given);
        for edge in own {
            if rank != Some(edge.rank) {
                (lower, rank) = (before, Some(edge.rank));
            }
            let mut conditions = lower;
            let mut asserted = None;
            match &edge.label {
                EdgeLabel::True => {}
                EdgeLabel::When(atom) => conditions.required |= self.bit(*atom),
                EdgeLabel::Else => conditions = before,
                EdgeLabel::Assert(atom) => asserted = Some(self.bit(*atom)),
                EdgeLabel::Send(_) | EdgeLabel::Receive(_) => return Err(NotChecked::Events),
            }
            // An edge that comes later can only be taken if this one cannot.
            match &edge.label {
                EdgeLabel::When(atom) => before.forbidden |= self.bit(*atom),
                // This edge can always be taken, so no later one can. No condition is both required
                // and forbidden.
                EdgeLabel::True | EdgeLabel::Assert(_) | EdgeLabel::Else => (before.required, before.forbidden) = (u64::MAX, u64::MAX),
                EdgeLabel::Send(_) | EdgeLabel::Receive(_) => {}
            }
            if !conditions.is_possible() {
                continue;
            }
            if let Some(bit) = asserted {
                let fails = Conditions { forbidden: conditions.forbidden | bit, ..conditions };
                if fails.is_possible() {
                    out.push(AutomatonEdge { required: fails.required, forbidden: fails.forbidden, marks: 0, target: None });
                }
                conditions.required |= bit;
                if !conditions.is_possible() {
                    continue;
                }
            }
            match edge.target {
                Some(target) if edge.atomic && !way.contains(&target) => {
                    way.push(target);
                    self.edges(target, conditions, way, out)?;
                    way.pop();
                }
                target => {
                    let target = target.map(|target| u16::try_from(target).unwrap_or(u16::MAX));
                    out.push(AutomatonEdge { required: conditions.required, forbidden: conditions.forbidden, marks: 0, target });
                }
            }
            if out.len() > ATOMIC_MAX {
                return Err(NotChecked::TooLarge("the claim has too many paths through its atomic sequences".to_owned()));
            }
        }
        Ok(())
    }
}
