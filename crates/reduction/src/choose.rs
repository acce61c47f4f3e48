//! Chooses the processes that a search must follow in a state.

use crate::Off;
use crate::evaluate::{MOST_PROCESSES, NODE_WORDS, View};
use crate::places::Places;
use crate::relations::{Relations, Visible};
use crate::steps::{Condition, Conjunct, Extractor};
use bytecode::{AtomId, Location, Op, ProcessId, Verified};
use contract::{LeftOut, Proposition, Reduction, Successor};
use std::sync::Arc;
use stepgraph::{Facts, Pool, StepGraph};

/// Sizes of views.
const FEW: usize = 8;
const MANY: usize = 16;

/// A row of the tables: a set of nodes.
type Row = u32;

/// A conjunct of a rule.
struct Test {
    conjunct: Conjunct,
    /// The nodes from which it may be made true, or the path may be made a fault before it.
    enabled_from: Row,
}

/// What a step demands of a stubborn set that contains its process.
struct Rule {
    /// The number of the step, and whether there are other paths to it from the same node. Not all
    /// of these must be executable.
    at: u32,
    shared: bool,
    tests: Vec<Test>,
    /// The nodes from which a step that does not accord with it can be reached.
    disturbed_from: Row,
    /// The nodes from which it may be made a fault, executable or not.
    made_fault_from: Row,
    /// The nodes from which a partner may come, for each rendezvous channel on which it makes an
    /// offer or answers one.
    partners_from: Vec<Row>,
    /// The nodes at which partners of its first step are.
    partners_at: Vec<Row>,
    /// It answers an offer: its transitions are those of its partners.
    answers: bool,
    /// If it is executable, only the set of all processes may contain it: it depends on anything,
    /// may change an atom of a property, or may close a cycle.
    everything: bool,
    /// It depends on anything.
    entangled: bool,
    /// Whether it is executable depends on TIMEOUT.
    timed: bool,
}

/// Chooses stubborn sets of processes.
pub struct Stubborn {
    program: Arc<Verified>,
    pool: Pool,
    places: Places,
    words: usize,
    rows: Vec<u64>,
    /// For each node, its rules.
    leaving: Vec<std::ops::Range<u32>>,
    rules: Vec<Rule>,
    /// For each type, its first node, and whether its processes have nodes of their own.
    first_of_type: Vec<u32>,
    first_of_instance: Vec<Option<(ProcessId, u32)>>,
    /// The nodes from which a process may come to a fault, or may help another one to come to a
    /// fault.
    matters_from: Row,
    /// Whether any process may come to a fault.
    may_fault: bool,
}

/// What a process demands of a stubborn set that contains it.
#[derive(Clone, Copy, Default)]
struct Demand {
    known: bool,
    /// The processes that must be in it too.
    processes: u64,
    everything: bool,
}

/// A closed set.
#[derive(Clone, Copy)]
struct Candidate {
    processes: u64,
    steps: u32,
}

/// The steps of a state, by process.
struct Moves<'s, const N: usize> {
    steps: &'s [Successor],
    /// For each process, the first of its steps and their number.
    of: [(u32, u32); N],
    /// The processes that have steps.
    moving: u64,
}

impl<'s, const N: usize> Moves<'s, N> {
    /// Divides steps by process; nothing if they are not in order, or belong to processes beyond
    /// the first `N`.
    fn of(steps: &'s [Successor]) -> Option<Self> {
        let (mut of, mut moving) = ([(0, 0); N], 0_u64);
        for (number, step) in steps.iter().enumerate() {
            let process = step.action.process as usize;
            let (first, count) = of.get_mut(process)?;
            if *count == 0 {
                *first = number as u32;
            } else if *first + *count != number as u32 {
                return None;
            }
            *count += 1;
            moving |= 1 << process;
        }
        Some(Moves { steps, of, moving })
    }
}

impl Stubborn {
    /// The reduction for a program, if there is one that preserves deadlocks and faults.
    pub fn of(program: &Arc<Verified>) -> Result<Stubborn, Off> {
        Stubborn::new(program, None)
    }

    /// The reduction for a program that also preserves the truth of formulas without `X` over these
    /// propositions on infinite runs. A choice that leaves something out has no step that may
    /// change a proposition, and every cycle has a state in which everything is expanded. The
    /// choice depends only on the state. So a search needs no proviso: the program with these steps
    /// is a system like any other, and an automaton can move with it.
    pub fn invisible(program: &Arc<Verified>, propositions: &[Proposition]) -> Result<Stubborn, Off> {
        Stubborn::new(program, Some(propositions))
    }

    fn new(program: &Arc<Verified>, propositions: Option<&[Proposition]>) -> Result<Stubborn, Off> {
        let layout = program.layout();
        if layout.last.is_some() {
            return Err(Off::Last);
        }
        if layout.processes.iter().any(|process| process.priority.is_some()) {
            return Err(Off::Priorities);
        }
        if program.program().code.iter().any(|op| matches!(op, Op::Enabled {})) {
            return Err(Off::Enabled);
        }
        let graph = StepGraph::of(program).map_err(|_| Off::TooLarge)?;
        let places = Places::of(program);
        let visible = visible(program, &places, propositions)?;
        let relations = Relations::of(program, &graph, &places, &visible)?;
        let mut tables = Tables { words: relations.nodes.div_ceil(64), rows: Vec::new() };
        let partners = |tables: &mut Tables, from: &[crate::bits::Bits], channels: &[usize]| -> Vec<Row> {
            channels.iter().map(|&channel| tables.row(&from[channel])).collect()
        };
        let mut rules = Vec::new();
        for (number, step) in relations.steps.iter().enumerate() {
            let mut partners_from = partners(&mut tables, &relations.answers_from, &step.offers);
            partners_from.extend(partners(&mut tables, &relations.offers_from, &step.answers));
            let later: Vec<usize> = (0..=places.created()).filter(|&channel| step.later_offers.has(channel)).collect();
            partners_from.extend(partners(&mut tables, &relations.answers_from, &later));
            let mut partners_at = partners(&mut tables, &relations.answers_at, &step.offers);
            partners_at.extend(partners(&mut tables, &relations.offers_at, &step.answers));
            let needs_partner = |conjunct: &Conjunct| matches!(conjunct.condition, Condition::Offer | Condition::Answer);
            let tests = step
                .guard
                .iter()
                .filter(|conjunct| !needs_partner(conjunct))
                .map(|conjunct| Test { enabled_from: tables.row(&relations.enabled_from(conjunct)), conjunct: conjunct.clone() });
            rules.push(Rule {
                at: step.at.0,
                shared: relations.steps[relations.leaving[step.node].clone()].iter().filter(|other| other.at == step.at).count() > 1,
                tests: tests.collect(),
                disturbed_from: tables.row(&relations.disturbed_from[number]),
                made_fault_from: tables.row(&relations.made_fault_from(step)),
                partners_from,
                partners_at,
                answers: step.guard.iter().any(|conjunct| matches!(conjunct.condition, Condition::Answer)),
                everything: step.entangled || step.may_diverge || step.visible || step.closes,
                entangled: step.entangled,
                timed: step.timed,
            });
        }
        let matters_from = tables.row(&relations.matters_from);
        let leaving = relations.leaving.iter().map(|steps| steps.start as u32..steps.end as u32).collect();
        let first = |class: usize| relations.classes[class].first as u32;
        let instances = relations.of_instance.iter().map(|&class| {
            let class = &relations.classes[class];
            class.pid.map(|_| (class.ty, class.first as u32))
        });
        Ok(Stubborn {
            program: Arc::clone(program),
            pool: graph.pool().clone(),
            words: tables.words,
            rows: tables.rows,
            leaving,
            rules,
            first_of_type: relations.of_type.iter().map(|&class| first(class)).collect(),
            first_of_instance: instances.collect(),
            matters_from,
            // With a temporal property, marked steps break the cycles.
            may_fault: propositions.is_none() && !relations.matters_from.is_empty(),
            places,
        })
    }

    fn view<'a, const N: usize>(&'a self, state: &'a [u8]) -> Option<View<'a, N>> {
        View::of(state, self.program.layout(), &self.pool, &self.places, |process, ty, at| self.node(process, ty, at))
    }

    /// The node of a process.
    fn node(&self, process: usize, ty: ProcessId, location: Location) -> u32 {
        let own = self.first_of_instance.get(process).copied().flatten().filter(|(of, _)| *of == ty);
        own.map_or(self.first_of_type[ty.index()], |(_, first)| first) + u32::from(location.0)
    }

    fn has(&self, row: Row, node: u32) -> bool {
        self.rows[row as usize * self.words + node as usize / 64] >> (node % 64) & 1 != 0
    }

    /// The processes that are at the nodes of a row.
    fn standing<const N: usize>(&self, view: &View<'_, N>, row: Row, but: usize) -> u64 {
        let words = &self.rows[row as usize * self.words..][..self.words];
        if self.words <= NODE_WORDS && words.iter().zip(&view.nodes).all(|(row, nodes)| row & nodes == 0) {
            return 0;
        }
        let mut found = 0;
        for (number, process) in view.processes[..view.count].iter().enumerate() {
            found |= u64::from(self.has(row, process.node)) << number;
        }
        found & !(1 << but)
    }

    /// What a process demands of a stubborn set that contains it. `None` if its steps are not those
    /// of the tables, because of a fault in a condition or a timeout.
    fn demand<const N: usize>(&self, view: &View<'_, N>, moves: &Moves<'_, N>, process: usize) -> Option<Demand> {
        let mut demand = Demand { known: true, ..Demand::default() };
        let (first, count) = moves.of[process];
        let steps = &moves.steps[first as usize..(first + count) as usize];
        let rules = &self.rules[range(&self.leaving[view.processes[process].node as usize])];
        for rule in rules {
            let executable = steps.iter().any(|step| step.step == rule.at);
            if executable {
                if rule.timed {
                    return None;
                }
                self.add_executable(view, process, rule, &mut demand);
            }
            if !executable || rule.shared {
                self.add_blocked(view, process, rule, executable, &mut demand);
            }
        }
        steps.iter().all(|step| rules.iter().any(|rule| rule.at == step.step)).then_some(demand)
    }

    /// Adds the demand of an executable step: no other process may come to a step that does not
    /// accord with it.
    fn add_executable<const N: usize>(&self, view: &View<'_, N>, process: usize, rule: &Rule, demand: &mut Demand) {
        demand.everything |= rule.everything;
        demand.processes |= self.standing(view, rule.disturbed_from, process);
        for &row in &rule.partners_from {
            demand.processes |= self.standing(view, row, process);
        }
    }

    /// Adds the demand of a step that is blocked or answers an offer: no other process may come to
    /// enable it. If another path to the step is `executable`, it may be neither.
    fn add_blocked<const N: usize>(&self, view: &View<'_, N>, process: usize, rule: &Rule, executable: bool, demand: &mut Demand) {
        let mut blocked: Option<u64> = None;
        let (mut unknown, mut all_known) = (0, true);
        // After a condition that may be a fault, a condition that does not hold blocks the path
        // only if the first one holds.
        let mut perhaps = false;
        for test in &rule.tests {
            match view.holds(&test.conjunct, process) {
                Some(true) => {}
                Some(false) => {
                    let helpers = match test.conjunct.condition {
                        // Only the end of the youngest process helps; it comes before all others.
                        Condition::IsLast => 1 << (view.count - 1),
                        _ => self.standing(view, test.enabled_from, process),
                    };
                    // One condition is enough, so the one with the fewest helpers is taken.
                    if blocked.is_none_or(|others| helpers.count_ones() < others.count_ones()) {
                        blocked = Some(helpers);
                    }
                    if helpers == 0 && !perhaps {
                        return;
                    }
                }
                None => {
                    all_known = false;
                    unknown |= self.standing(view, test.enabled_from, process);
                    // A condition that blocks the path before this one is enough.
                    if test.conjunct.may_fault && blocked.is_some() {
                        break;
                    }
                    perhaps |= test.conjunct.may_fault;
                }
            }
        }
        if perhaps {
            unknown |= blocked.take().unwrap_or(0);
        }
        if let Some(helpers) = blocked {
            demand.processes |= helpers;
            return;
        }
        // The step depends on anything, or no condition is known to block it.
        demand.everything |= rule.entangled || (all_known && rule.partners_from.is_empty() && !executable);
        demand.processes |= unknown | self.standing(view, rule.made_fault_from, process);
        for &row in &rule.partners_from {
            demand.processes |= self.standing(view, row, process);
        }
        // If a partner is there already, the values that are sent and compared decide. A process
        // that answers an offer moves together with the sender.
        if rule.partners_at.iter().any(|&row| self.standing(view, row, process) != 0) {
            demand.everything |= rule.answers && rule.everything;
            demand.processes |= self.standing(view, rule.disturbed_from, process);
        }
    }

    /// The processes that are left out in a state, if a view of this size is large enough.
    fn left_out_within<const N: usize>(&self, state: &[u8], steps: &[Successor]) -> Option<LeftOut> {
        let view = self.view::<N>(state)?;
        let Some(moves) = Moves::<N>::of(steps) else { return Some(LeftOut::NOTHING) };
        let Some(chosen) = self.best(&view, &moves) else { return Some(LeftOut::NOTHING) };
        let processes = !chosen;
        let mut postponed = 0;
        if self.may_fault {
            let mut open = moves.moving & processes;
            while open != 0 {
                let process = open.trailing_zeros();
                open &= open - 1;
                postponed |= u64::from(self.has(self.matters_from, view.processes[process as usize].node)) << process;
            }
        }
        Some(LeftOut { processes, postponed })
    }

    /// The closed set with the fewest steps, but at least one; nothing if it has all processes.
    fn best<const N: usize>(&self, view: &View<'_, N>, moves: &Moves<'_, N>) -> Option<u64> {
        let mut demands = [Demand::default(); N];
        let mut best: Option<Candidate> = None;
        let mut seeds = moves.moving;
        while seeds != 0 {
            let seed = seeds.trailing_zeros() as usize;
            seeds &= seeds - 1;
            if let Some(found) = self.closure(view, moves, seed, &mut demands, best.as_ref())? {
                best = Some(found);
                if found.steps == 1 {
                    break;
                }
            }
        }
        best.map(|found| found.processes)
    }

    /// The closed set around a process, if it leaves a step out and is better than the best so far.
    /// The outer `None` says that nothing can be left out in this state.
    fn closure<const N: usize>(
        &self,
        view: &View<'_, N>,
        moves: &Moves<'_, N>,
        seed: usize,
        demands: &mut [Demand],
        best: Option<&Candidate>,
    ) -> Option<Option<Candidate>> {
        let mut found = Candidate { processes: 1 << seed, steps: 0 };
        let mut open = found.processes;
        while open != 0 {
            let process = open.trailing_zeros() as usize;
            open &= open - 1;
            let demand = &mut demands[process];
            if !demand.known {
                *demand = self.demand(view, moves, process)?;
            }
            if demand.everything {
                return Some(None);
            }
            found.steps += moves.of[process].1;
            open |= demand.processes & !found.processes;
            found.processes |= demand.processes;
            let worse = |best: &Candidate| found.steps >= best.steps;
            if moves.moving & !found.processes == 0 || best.is_some_and(worse) {
                return Some(None);
            }
        }
        Some(Some(found))
    }
}

impl Reduction for Stubborn {
    fn leave_out(&self, state: &[u8], steps: &[Successor]) -> LeftOut {
        // If only one process has steps, nothing can be left out. In the middle of an atomic
        // sequence no other process moves.
        let one = steps.windows(2).all(|pair| pair[0].action.process == pair[1].action.process);
        let exclusive = self.program.layout().exclusive.is_some_and(|at| state.get(at).is_some_and(|&holder| holder != 0));
        if one || exclusive {
            return LeftOut::NOTHING;
        }
        // The time depends on the size of the tables, and most models have few processes.
        self.left_out_within::<FEW>(state, steps)
            .or_else(|| self.left_out_within::<MANY>(state, steps))
            .or_else(|| self.left_out_within::<MOST_PROCESSES>(state, steps))
            .unwrap_or(LeftOut::NOTHING)
    }
}

/// What propositions depend on.
fn visible(program: &Verified, places: &Places, propositions: Option<&[Proposition]>) -> Result<Visible, Off> {
    let mut visible = Visible { places: places.none(), accepting: false, progress: false, cycles: propositions.is_some() };
    let facts = Facts::of(program);
    for proposition in propositions.unwrap_or_default() {
        match *proposition {
            Proposition::Atom(number) => {
                let atom = AtomId::new(number as usize).ok_or(Off::TooLarge)?;
                let (graph, value) = StepGraph::of_atom(program, &facts, atom).map_err(|_| Off::TooLarge)?;
                let reads = Extractor { program, graph: &graph, places }.read(value).ok_or(Off::Property)?;
                visible.places.add(&reads);
            }
            Proposition::Accepting => visible.accepting = true,
            Proposition::NonProgress => visible.progress = true,
        }
    }
    Ok(visible)
}

/// Rows under construction.
struct Tables {
    words: usize,
    rows: Vec<u64>,
}

impl Tables {
    fn row(&mut self, nodes: &crate::bits::Bits) -> Row {
        // In a program without processes all sets are empty.
        if self.words == 0 {
            return 0;
        }
        let words = nodes.words();
        let found = self.rows.chunks_exact(self.words).position(|row| row == words);
        found.unwrap_or_else(|| {
            self.rows.extend_from_slice(words);
            self.rows.len() / self.words - 1
        }) as Row
    }
}

fn range(range: &std::ops::Range<u32>) -> std::ops::Range<usize> {
    range.start as usize..range.end as usize
}
