//! Checks one temporal property: the product of the system and the claim's automaton is searched
//! for a run that the automaton accepts.
//!
//! If a finite run decides the property, any search order works, and the plan's order is used.
//! Otherwise the search looks for cycles. A run is shown only after the reference interpreter has
//! executed it and the violation is confirmed: a formula is evaluated on the run by its definition,
//! without any automaton.

use crate::claim::Claim;
use crate::guide::{Guiding, LARGEST_AUTOMATON};
use crate::measure::Measure;
use crate::plan::{Fair, Plan, Por};
use crate::stores;
use crate::table::{Cycles, Method, Order, StoreKind};
use contract::{
    Action, Fault, FullExpansion, Limits, Outcome, PropertyKind, Stated, Statistics, StopReason, Successors, System, Trace, UNSUPPORTED,
    Verdict, Violation, ViolationKind,
};
use logic::Lasso;
use replay::{Narrator, Step};
use search::{AUTOMATON, Automaton, Fairness, MEASURE_MAX, Product, Reduced, Refutation, Task, components};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;
use store::Plain;

/// Searches the product of the automaton and the reduced system. The trace of a violation is one of
/// the system.
pub(crate) fn search<S: System + Clone>(system: &S, claim: &Claim, plan: &Plan, guiding: &Guiding<'_>, task: &Task<'_>) -> Outcome {
    if task.reduction.is_identity() {
        return search_whole(system, claim, plan, guiding, task);
    }
    let unreduced = Task { reduction: &FullExpansion, ..task.clone() };
    search_whole(&Reduced::new(system.clone(), task.reduction), claim, plan, guiding, &unreduced)
}

fn search_whole<S: System + Clone>(system: &S, claim: &Claim, plan: &Plan, guiding: &Guiding<'_>, task: &Task<'_>) -> Outcome {
    let begun = Instant::now();
    let task = Task { property: &Refutation, checkpoints: None, ..task.clone() };
    let plan = &Plan { limits: task.limits, ..*plan };
    let directed = is_directed(plan, claim);
    let product = Product::new(system.clone(), Arc::clone(automaton(plan, claim)));
    let product = if claim.stutters { product } else { product.without_stutter() };
    let mut outcome = match method(plan, claim) {
        Method::Cycles(_) if plan.order == Order::Sweep => {
            search::sweep_cycles(&product, &|state| product.is_accepting(state), &of_product(plan), &task)
        }
        Method::Cycles(_) if directed => stores::toward_cycles(&product, plan, guiding.closing, &task).unwrap_or_else(unsearched),
        Method::Cycles(_) if plan.store.answers_late() => search::cycles_on_disk(&product, &task),
        Method::Cycles(Cycles::Components) => stores::components(&product, plan, &task),
        Method::Cycles(Cycles::Nested) => stores::nested(&product, plan, &task),
        Method::Cycles(Cycles::Young) => {
            search::catch_them_young(&product, &Plain::with_budget(plan.limits.memory.unwrap_or(u64::MAX)), &task)
        }
        // Breadth first, the first run that is found is a shortest one. No checkpoint is read, so
        // there is no such error.
        Method::Exploration | Method::FiniteRun | Method::Terminal => {
            let measure = Measure::new(&of_product(plan)).unwrap_or(plan.measure);
            let plan = Plan { bit_runs: 1, order: order(plan, claim), measure, ..*plan };
            stores::search(&product, &plan, &task, None).unwrap_or_else(|error| Outcome {
                verdict: Verdict::Unknown(StopReason::Storage(error.to_string())),
                statistics: Statistics::default(),
            })
        }
    };
    // The store `auto` has a last resort.
    if outcome.verdict == Verdict::Unknown(StopReason::Memory)
        && let Some((store, how)) = next_store(plan, claim, &task)
    {
        task.observer.notice(&format!("memory is used up: the search for cycles begins again {how}"));
        drop(product);
        let limits = remaining(plan, begun);
        let mut outcome = search_whole(system, claim, &Plan { store, limits, ..*plan }, guiding, &Task { limits, ..task });
        outcome.statistics.elapsed = begun.elapsed();
        return outcome;
    }
    if let Verdict::Violated(violation) = &mut outcome.verdict {
        if plan.explained && is_guided(plan, claim) {
            guiding.follow(&product, task.heuristic, &violation.trace);
        }
        violation.trace = product.project(&violation.trace);
    }
    outcome
}

/// The store with which a search for cycles begins again when the store `auto` has used up the
/// memory, and that in words: on disk if there is a folder, or else compressed, if the search can
/// use such a store.
fn next_store(plan: &Plan, claim: &Claim, task: &Task<'_>) -> Option<(StoreKind, &'static str)> {
    let Method::Cycles(cycles) = method(plan, claim) else { return None };
    if plan.store != StoreKind::Auto || plan.order.of_search() != Order::Breadth {
        return None;
    }
    if task.disk.is_some() && plan.fairness == Fair::Any {
        return Some((StoreKind::Disk, "on disk"));
    }
    (cycles != Cycles::Young).then_some((StoreKind::Compact, "with compressed states"))
}

/// The measure of a product: the measure of the system, if there is one, and the rank of the
/// automaton's state, which never falls.
fn of_product(plan: &Plan) -> Vec<u32> {
    let mut atoms = plan.measure.atoms().to_vec();
    if atoms.len() < MEASURE_MAX {
        atoms.push(AUTOMATON);
    }
    atoms
}

/// The kind of search that a claim needs, with the options of the plan.
pub(crate) fn method(plan: &Plan, claim: &Claim) -> Method {
    if automaton(plan, claim).is_terminal() { Method::FiniteRun } else { Method::Cycles(plan.cycles) }
}

/// The order in which a claim is searched: a finite run that is to be the shortest is looked for
/// breadth first.
pub(crate) fn order(plan: &Plan, claim: &Claim) -> Order {
    if plan.shortest && method(plan, claim) == Method::FiniteRun { Order::Breadth } else { plan.order }
}

/// Whether a directed search looks for accepted cycles. With fairness, and with other orders and
/// stores, the plan's usual search for cycles is used.
fn is_directed(plan: &Plan, claim: &Claim) -> bool {
    let order = matches!(plan.order, Order::AStar | Order::BestFirst);
    let store = matches!(plan.store, StoreKind::Auto | StoreKind::Plain);
    let small = claim.buchi.edges.len() <= LARGEST_AUTOMATON;
    order && store && small && plan.fairness == Fair::Any && !claim.automaton.is_terminal()
}

/// Whether the estimates of the plan guide the search for a claim.
pub(crate) fn is_guided(plan: &Plan, claim: &Claim) -> bool {
    match method(plan, claim) {
        Method::Cycles(_) => is_directed(plan, claim),
        Method::Exploration | Method::FiniteRun | Method::Terminal => order(plan, claim).is_directed(),
    }
}

fn unsearched() -> Outcome {
    let verdict = Verdict::Unknown(StopReason::Storage("there is no directed search for cycles over this store".to_owned()));
    Outcome { verdict, statistics: contract::Statistics::default() }
}

/// The kind of search for a claim, in words.
pub(crate) fn words(plan: &Plan, claim: &Claim, statistics: &Statistics) -> &'static str {
    if is_directed(plan, claim) && matches!(method(plan, claim), Method::Cycles(_)) {
        return "directed to accepting components, nested depth first inside them";
    }
    match method(plan, claim) {
        Method::Cycles(_) if plan.order == Order::Sweep => Order::Sweep.words(),
        Method::Cycles(_) if plan.store.answers_late() || statistics.disk.is_some() => "breadth first on disk, one way catch them young",
        Method::Cycles(Cycles::Components) => statistics.manner.unwrap_or("components"),
        Method::Cycles(Cycles::Nested) => "nested depth-first searches",
        Method::Cycles(Cycles::Young) => "breadth first, one way catch them young",
        Method::Exploration | Method::FiniteRun | Method::Terminal => match order(plan, claim) {
            // A probe looks only for deadlocks and faults.
            Order::Auto => Order::Breadth.words(),
            order => order.words(),
        },
    }
}

/// Notes for the user about the search for a claim.
pub(crate) fn notes(plan: &Plan, claim: &Claim) -> Vec<String> {
    let cycles = matches!(method(plan, claim), Method::Cycles(_));
    let alone = match () {
        () if plan.threads < 2 || !cycles => None,
        () if plan.order == Order::Sweep => Some("a sweep for cycles has one worker".to_owned()),
        () if is_directed(plan, claim) => Some("a directed search for cycles has one worker".to_owned()),
        () if plan.fairness != Fair::Any => Some("under fairness one worker searches alone".to_owned()),
        () => None,
    };
    let unguided = (plan.order.is_directed() && !is_guided(plan, claim)).then(|| {
        "no estimate guides the search for cycles: one does with `astar` and `best-first`, `auto` and `plain`, without fairness".to_owned()
    });
    let unreduced =
        (plan.fairness != Fair::Any && plan.por != Por::Off).then(|| "under fairness there is no partial-order reduction".to_owned());
    alone.into_iter().chain(unguided).chain(unreduced).collect()
}

/// The automaton that the plan's search can work with.
pub(crate) fn automaton<'c>(plan: &Plan, claim: &'c Claim) -> &'c Arc<Automaton> {
    if is_directed(plan, claim) {
        return &claim.buchi;
    }
    match plan.cycles {
        _ if plan.order == Order::Sweep || plan.store.answers_late() => &claim.buchi,
        Cycles::Components => &claim.automaton,
        Cycles::Nested | Cycles::Young => &claim.buchi,
    }
}

/// Keeps a violation only if the reference interpreter can execute this run and the run violates
/// the property.
pub(crate) fn confirm(
    narrator: &Narrator,
    reference: &mut dyn System,
    claim: &Claim,
    fairness: Fairness,
    mut outcome: Outcome,
    stop: &dyn Fn() -> bool,
) -> (Outcome, Vec<Step>) {
    let Verdict::Violated(violation) = &mut outcome.verdict else { return (outcome, Vec::new()) };
    if violation.fault.kind == ViolationKind::Property {
        cut(reference, claim, &mut violation.trace);
    }
    match confirmed(narrator, reference, claim, fairness, violation, stop) {
        Some(_) if violation.fault.kind == ViolationKind::Other(UNSUPPORTED) => {
            outcome.verdict = Verdict::Unknown(StopReason::Unsupported(violation.fault.clone()));
            (outcome, Vec::new())
        }
        Some(steps) => (outcome, steps),
        None => {
            outcome.verdict = Verdict::Unknown(StopReason::TraceLost(violation.fault.clone()));
            (outcome, Vec::new())
        }
    }
}

fn confirmed(
    narrator: &Narrator,
    reference: &mut dyn System,
    claim: &Claim,
    fairness: Fairness,
    violation: &Violation,
    stop: &dyn Fn() -> bool,
) -> Option<Vec<Step>> {
    let trace = &violation.trace;
    let steps = narrator.replay_until(trace, stop).ok()?;
    if violation.fault.kind != ViolationKind::Property {
        // The violation is that a proposition cannot be evaluated in the last state.
        return reference.atoms(trace.last_state()).is_err().then_some(steps);
    }
    let mut letters = Vec::with_capacity(trace.steps.len() + 1);
    for index in 0..=trace.steps.len() {
        letters.push(reference.atoms(trace.state_after(index)?).ok()?);
    }
    let Some(start) = trace.loop_start else {
        // The last state decides: the automaton can read all letters up to it and then accepts
        // whatever follows. If the run stays in it, its letter may be read again and again.
        let last = letters.len() - 1;
        if stays(reference, claim, trace) {
            letters.extend(std::iter::repeat_n(letters[last], claim.automaton.edges.len()));
        }
        return settled(&claim.automaton, &letters).is_some_and(|index| index >= last).then_some(steps);
    };
    if start == trace.steps.len() {
        if !stays(reference, claim, trace) {
            return None;
        }
    } else {
        if trace.state_after(start)? != trace.last_state() {
            return None;
        }
        // The last letter is the first letter of the loop again.
        letters.pop();
    }
    let violated = match &claim.formula {
        Some(refuted) => {
            let numbers: Vec<u32> = refuted.formulas.atoms_of(refuted.root);
            let letters: Vec<u64> = letters.iter().map(|&letter| by_atom(letter, &numbers)).collect();
            !Lasso::new(&letters[..start], &letters[start..]).satisfies(&refuted.formulas, refuted.root)
        }
        None => accepts(&claim.automaton, &letters, start),
    };
    (violated && is_fair(reference, trace, start, fairness)).then_some(steps)
}

/// Whether a run stays in the last state of a trace because nothing can move there.
fn stays(reference: &mut dyn System, claim: &Claim, trace: &Trace) -> bool {
    let mut out = Successors::new();
    reference.successors(trace.last_state(), &mut out);
    out.is_empty() && claim.stutters
}

/// A letter of the automaton, whose bits are in the order of `numbers`, as one of the formula.
pub(crate) fn by_atom(letter: u64, numbers: &[u32]) -> u64 {
    numbers
        .iter()
        .enumerate()
        .filter(|(bit, _)| letter >> bit & 1 != 0)
        .fold(0, |word, (_, &atom)| word | 1_u64.checked_shl(atom).unwrap_or(0))
}

/// Cuts a finite run after the first state that decides. A run that was translated from a smaller
/// program may be some steps too long. So may a run on which the automaton can come to its end in
/// several ways: a search that is not breadth first may find a later one first.
fn cut(reference: &mut dyn System, claim: &Claim, trace: &mut Trace) {
    if trace.loop_start.is_some() {
        return;
    }
    let states = (0..=trace.steps.len()).map_while(|index| trace.state_after(index));
    let letters: Vec<u64> = states.map_while(|state| reference.atoms(state).ok()).collect();
    if let Some(index) = settled(&claim.automaton, &letters) {
        trace.steps.truncate(index);
    }
}

/// The first letter that the automaton can read by an edge after which everything is accepted.
fn settled(automaton: &Automaton, letters: &[u64]) -> Option<usize> {
    let mut at = BTreeSet::from([automaton.initial]);
    for (index, &letter) in letters.iter().enumerate() {
        let edges = at.iter().filter_map(|&state| automaton.edges.get(usize::from(state))).flatten();
        let enabled: Vec<_> = edges.filter(|edge| edge.is_enabled(letter)).collect();
        if enabled.iter().any(|edge| edge.target.is_none()) {
            return Some(index);
        }
        at = enabled.into_iter().filter_map(|edge| edge.target).collect();
    }
    None
}

/// A run as a system, whose states are positions.
#[derive(Clone)]
struct Word {
    letters: Arc<[u64]>,
    start: usize,
}

impl Word {
    fn position(state: &[u8]) -> usize {
        state.try_into().map_or(0, |bytes| u64::from_le_bytes(bytes) as usize)
    }
}

impl System for Word {
    fn initial(&mut self, out: &mut Successors) {
        out.push(&0_u64.to_le_bytes(), Action::default());
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let next = Word::position(state) + 1;
        let next = if next < self.letters.len() { next } else { self.start };
        out.push(&(next as u64).to_le_bytes(), Action::default());
    }

    fn is_valid_end(&mut self, _: &[u8]) -> bool {
        true
    }

    fn atoms(&mut self, state: &[u8]) -> Result<u64, contract::FaultCode> {
        Ok(self.letters.get(Word::position(state)).copied().unwrap_or(0))
    }
}

/// Whether the automaton accepts the run of these letters in which those from number `start` on
/// repeat for ever.
fn accepts(automaton: &Arc<Automaton>, letters: &[u64], start: usize) -> bool {
    let product = Product::new(Word { letters: letters.into(), start }, Arc::clone(automaton));
    let outcome = components(&product, Fairness::None, &Plain::new(), &Task::new(&Refutation));
    matches!(outcome.verdict, Verdict::Violated(_))
}

/// Whether the loop of a trace is fair.
fn is_fair(reference: &mut dyn System, trace: &Trace, start: usize, fairness: Fairness) -> bool {
    if fairness == Fairness::None {
        return true;
    }
    let moved: BTreeSet<u32> = trace.steps[start..].iter().map(|step| step.action.process).collect();
    let mut enabled: Vec<BTreeSet<u32>> = Vec::new();
    let mut out = Successors::new();
    for index in start..trace.steps.len() {
        out.clear();
        reference.successors(trace.state_after(index).unwrap_or_default(), &mut out);
        enabled.push(out.entries().iter().map(|entry| entry.action.process).collect());
    }
    let demanded: BTreeSet<u32> = match (fairness, enabled.split_first()) {
        (_, None) | (Fairness::None, _) => BTreeSet::new(),
        (Fairness::Weak, Some((first, rest))) => {
            first.iter().copied().filter(|process| rest.iter().all(|enabled| enabled.contains(process))).collect()
        }
        (Fairness::Strong, Some(_)) => enabled.into_iter().flatten().collect(),
    };
    demanded.is_subset(&moved)
}

/// The limits of a search that begins when part of the time is over.
pub(crate) fn remaining(plan: &Plan, begun: Instant) -> Limits {
    Limits { time: plan.limits.time.map(|time| time.saturating_sub(begun.elapsed())), ..plan.limits }
}

/// Names the property that a run violates.
pub(crate) fn tell(fault: &mut Fault, stated: &Stated, fair: Fair) {
    if fault.kind != ViolationKind::Property {
        // A proposition cannot be evaluated; its position is known.
        fault.message = format!("{} in `{}`", fault.message, stated.name);
        return;
    }
    let name = &stated.name;
    let what = match stated.kind {
        PropertyKind::Never => format!("the automaton `{name}` accepts this run"),
        PropertyKind::Acceptance => "accept labels are passed again and again".to_owned(),
        PropertyKind::Progress => "a cycle without progress".to_owned(),
        _ => format!("`{name}` does not hold"),
    };
    let under = match fair {
        Fair::Any => "",
        Fair::Weak => ", under weak fairness",
        Fair::Strong => ", under strong fairness",
    };
    *fault = Fault { position: stated.position.clone(), ..Fault::new(ViolationKind::Property, format!("{what}{under}")) };
}
