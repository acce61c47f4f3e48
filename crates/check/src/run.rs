//! From a plan to an outcome.

use crate::claim::{Claim, NotChecked};
use crate::coverage::{self, Notes, Noting};
use crate::ctl::{self, Ctl, CtlWitness, Decided};
use crate::distributed::{self, Asked, Crew, Errand, Levels};
use crate::events::{self, Watched};
use crate::guide::{self, Guidance, Guiding, Looked};
use crate::joint::{self, Joint};
use crate::passes::{self, Shrunk};
use crate::plan::{Engine, Plan};
use crate::probe::{self, Probe};
use crate::property;
use crate::reduced::{self, Reduced, reduction};
use crate::saved;
use crate::shorter::Shorter;
use crate::subject::Subject;
use crate::table::{Combination, Method, Order};
use crate::temporal;
use crate::vacuity;
use contract::{
    Cancel, CloneSystem, Coverage, Enough, FullExpansion, Judged, Limits, NoProperty, Observer, Outcome, Property, Quiet, Stated,
    Statistics, StopReason, System, UNSUPPORTED, Verdict, ViolationKind,
};
use optimise::Passes;
use replay::{Narrator, Step};
use runs::Folder;
use search::{CheckpointError, Checkpoints, Spill, Task};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An outcome, and the steps of its trace in the user's words.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The verdict and the statistics.
    pub outcome: Outcome,
    /// The steps to the violation; empty unless there is one.
    pub steps: Vec<Step>,
    /// The properties that were asked for, with the answer for each.
    pub properties: Vec<Judged>,
    /// The properties that the model states and the plan did not ask for.
    pub not_asked: Vec<Stated>,
    /// The depth-first probe that came before the search, if there was one.
    pub probe: Option<Probe>,
    /// Whether orders of independent steps were left out of the search for deadlocks and faults.
    pub reduced: Reduced,
    /// A path that shows that a formula holds.
    pub witness: Option<CtlWitness>,
    /// The reduction for each property, by its name, that had a search of its own.
    pub reduced_for: Vec<(String, Reduced)>,
    /// The guidance of a directed search, if it is to be explained.
    pub guided: Option<Guidance>,
    /// The passes on the program that was searched for deadlocks and faults.
    pub shrunk: Shrunk,
    /// The executed statements, if they were asked for and the model has statements.
    pub coverage: Option<Coverage>,
    /// The passes for each property, by its name, that had a search of its own.
    pub shrunk_for: Vec<(String, Shrunk)>,
    /// Properties that hold because the events they are about never happen, in sentences.
    vacuous: Vec<String>,
}

impl Checked {
    /// An outcome, without details of the search.
    fn new(outcome: Outcome, steps: Vec<Step>) -> Checked {
        Checked {
            outcome,
            steps,
            properties: Vec::new(),
            not_asked: Vec::new(),
            probe: None,
            reduced: Reduced::NotAsked,
            reduced_for: Vec::new(),
            guided: None,
            shrunk: Shrunk::default(),
            shrunk_for: Vec::new(),
            witness: None,
            coverage: None,
            vacuous: Vec::new(),
        }
    }

    /// Keeps the guidance of a search, unless an earlier search has found something by its own.
    fn keep_guidance(&mut self, guidance: Guidance) {
        if self.guided.as_ref().is_none_or(|known| known.along.is_empty() && !guidance.along.is_empty()) {
            self.guided = Some(guidance);
        }
    }
}

/// The number of steps of the trace of a violation.
pub(crate) fn steps_of(verdict: &Verdict) -> usize {
    if let Verdict::Violated(violation) = verdict { violation.trace.steps.len() } else { 0 }
}

/// Why a plan is not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The parts cannot be combined; the sentence says why and what to choose instead.
    Combination(&'static str),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Combination(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Refusal {}

/// Why a saved search is not continued.
#[derive(Debug)]
pub enum ResumeError {
    /// The plan is not carried out at all.
    Refused(Refusal),
    /// The checkpoint is damaged, or belongs to another search.
    Checkpoint(CheckpointError),
}

impl fmt::Display for ResumeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResumeError::Refused(refusal) => refusal.fmt(f),
            ResumeError::Checkpoint(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ResumeError {}

impl From<Refusal> for ResumeError {
    fn from(refusal: Refusal) -> ResumeError {
        ResumeError::Refused(refusal)
    }
}

impl From<CheckpointError> for ResumeError {
    fn from(error: CheckpointError) -> ResumeError {
        ResumeError::Checkpoint(error)
    }
}

/// The connections between a run and its caller.
#[derive(Clone)]
pub struct Surroundings<'a> {
    /// How to interrupt it.
    pub cancel: Cancel,
    /// The observer that gets reports of its progress.
    pub observer: &'a dyn Observer,
    /// The receiver of checkpoints. To be complete in itself, each must be preceded by the bytes of
    /// a [`Saved`](crate::Saved).
    pub checkpoints: Option<&'a dyn Checkpoints>,
    /// The place to which a large depth-first stack may be moved.
    pub spill: Option<Spill<'a>>,
    /// The folder to which states may go when memory is used up.
    pub disk: Option<&'a dyn Folder>,
    /// How much memory the process holds, if the system reports it. With it the memory limit
    /// applies to the process, not only to its tables.
    pub resident: Option<&'a (dyn Fn() -> Option<u64> + Sync)>,
    /// The processes that share the searches; without them this one searches alone.
    pub crew: Option<&'a Crew>,
    /// Their checkpoints.
    pub levels: Option<&'a Levels>,
}

impl Default for Surroundings<'_> {
    /// No observer and no checkpoints; everything stays in memory.
    fn default() -> Self {
        Surroundings {
            cancel: Cancel::default(),
            observer: &Quiet,
            checkpoints: None,
            spill: None,
            disk: None,
            resident: None,
            crew: None,
            levels: None,
        }
    }
}

/// Carries out a plan.
///
/// The answer is *violated* only with a trace that the reference interpreter has executed, and
/// *holds* only if the search visited all states with an exact store.
pub fn run(subject: &dyn Subject, plan: &Plan, cancel: &Cancel, observer: &dyn Observer) -> Result<Checked, Refusal> {
    run_in(subject, plan, &Surroundings { cancel: cancel.clone(), observer, ..Surroundings::default() })
}

/// As [`run`], with checkpoints and a place for large stacks, if there are any.
pub fn run_in(subject: &dyn Subject, plan: &Plan, surroundings: &Surroundings<'_>) -> Result<Checked, Refusal> {
    run_with(subject, plan, listener(plan), surroundings)
}

/// Continues from a checkpoint of the same program, property, order and reduction, which begins at
/// `from`, to the answer that the uninterrupted search would have.
pub fn resume(subject: &dyn Subject, plan: &Plan, surroundings: &Surroundings<'_>, from: &mut dyn Read) -> Result<Checked, ResumeError> {
    plan.refuse(true)?;
    carry_out(subject, plan, listener(plan), surroundings, Some(from))
}

fn listener(plan: &Plan) -> &dyn Property {
    match &plan.property {
        Some(safety) => safety,
        None => &NoProperty,
    }
}

/// Carries out a plan with the caller's property instead of the plan's.
pub(crate) fn run_with(
    subject: &dyn Subject,
    plan: &Plan,
    property: &dyn Property,
    surroundings: &Surroundings<'_>,
) -> Result<Checked, Refusal> {
    carry_out(subject, plan, property, surroundings, None).map_err(|error| match error {
        ResumeError::Refused(refusal) => refusal,
        // No checkpoint was read, so this error cannot occur.
        ResumeError::Checkpoint(_) => Refusal::Combination("there is no checkpoint"),
    })
}

fn carry_out(
    subject: &dyn Subject,
    plan: &Plan,
    property: &dyn Property,
    surroundings: &Surroundings<'_>,
    from: Option<&mut dyn Read>,
) -> Result<Checked, ResumeError> {
    plan.refuse(surroundings.checkpoints.is_some())?;
    let crew = surroundings.crew;
    if crew.is_some() {
        distributed::refuse_several(plan, surroundings.levels.is_some(), surroundings.disk.is_some())?;
        distributed::refuse_owner(subject, plan)?;
    }
    let saved = surroundings.checkpoints.is_some();
    Combination { folder: surroundings.disk.is_some(), ..Combination::new(plan, Method::Exploration, saved) }.guarantee()?;
    // A measure refers to the program as it is written.
    let mut passes = if plan.order == Order::Sweep { Passes::default() } else { plan.passes };
    // Statements that are never executed are reported, so they must not be left out.
    if plan.coverage {
        passes = Passes { unused: false, slice: false, ..passes };
    }
    let plan = &Plan { passes, ..*plan };
    let begun = Instant::now();
    let asked = property::asked(plan, subject.stated());
    let questions: Vec<Question> = asked.iter().map(|stated| Question::about(subject, stated)).collect();
    for claim in questions.iter().filter_map(Question::claim) {
        let ordered = Plan { order: temporal::order(plan, claim), ..*plan };
        Combination::new(&ordered, temporal::method(plan, claim), false).guarantee()?;
    }
    if questions.iter().any(|question| matches!(question, Question::Branching(ctl) if ctl.form.needs_components())) {
        Combination::new(plan, Method::Terminal, false).guarantee()?;
    }
    let deadline = plan.limits.time.map(|time| begun + time);
    let mut narrator = subject.narrator();
    narrator.give_up_when(enough(plan, &surroundings.cancel));
    let observer = surroundings.observer;
    let (shrunk, smaller) = passes::for_faults(subject, plan);
    let searched = smaller.as_ref().map_or(subject, |smaller| smaller.program());
    let label = saved::digest(searched, plan);
    let (reduced, reduction) = reduction(searched, plan);
    let heuristic = guide::heuristic(searched, plan, Looked::For(plan.property.unwrap_or_default()), observer);
    let task = Task {
        property,
        reduction: &reduction,
        heuristic: &*heuristic,
        limits: plan.limits,
        cancel: surroundings.cancel.clone(),
        observer,
        threads: plan.threads,
        spill: surroundings.spill,
        disk: surroundings.disk,
        checkpoints: surroundings.checkpoints,
        resident: surroundings.resident,
        profile: plan.profile,
        label: &label,
        ..Task::default()
    };
    let clock = Clock { cancel: surroundings.cancel.clone(), deadline };
    // If only temporal properties are asked for, there is no exploration.
    let explores = questions.iter().any(|question| matches!(question, Question::Explored)) || questions.is_empty();
    let mut checked = if explores {
        let (outcome, probe, notes) = match crew {
            Some(crew) => (crew.ask(Errand::to_bytes(subject, plan, &Asked::Faults, label, surroundings.levels), &task), None, None),
            None => {
                let (mut system, notes) = noting(searched.system(plan.engine, Arc::default(), observer), searched, plan);
                get_ready(&mut system, plan, &clock);
                match probe::search(&system, plan, &task, from) {
                    // The time was over before all of the checkpoint was read.
                    Err(CheckpointError::GivenUp(outcome)) => (*outcome, None, notes),
                    searched => {
                        let (outcome, probe) = searched?;
                        (outcome, probe, notes)
                    }
                }
            }
        };
        let outcome = Outcome { verdict: reduction.confirm(outcome.verdict), ..outcome };
        // A violation that the probe found was known before the time was over, and its path is not
        // long.
        let known = probe.as_ref().is_some_and(|probe| probe.answers);
        let mut outcome = outcome;
        if let Some(smaller) = &smaller {
            outcome = smaller.retell(&narrator, outcome, false, clock.enough(plan, known));
        }
        let coverage = notes.map(|notes| notes.tell(is_complete(&outcome.verdict), reduced == Reduced::Yes));
        Checked { probe, reduced, shrunk, coverage, ..confirm(&narrator, outcome, &|| !known && clock.is_over()) }
    } else {
        let outcome = Outcome { verdict: Verdict::Holds, statistics: Statistics::default() };
        Checked::new(outcome, Vec::new())
    };
    if plan.explained && explores && plan.order.is_directed() {
        let along = match &checked.outcome.verdict {
            Verdict::Violated(violation) => guide::along(&*heuristic, &violation.trace),
            _ => Vec::new(),
        };
        checked.guided = Some(guide::explain(plan, &*heuristic, None, along));
    }
    tell(&checked.outcome.verdict, observer);
    let explored = checked.outcome.clone();
    let everything: Vec<usize> = (0..questions.len()).collect();
    // Other processes know a property by its name.
    let alone = crew.is_none();
    let mut joint = alone.then(|| joint::find(subject, plan, &asked, &questions, &everything)).flatten();
    let mut decided: BTreeMap<usize, (Judged, Vec<Step>)> = BTreeMap::new();
    for (number, question) in questions.iter().enumerate() {
        while let Some(next) = joint.take_if(|joint| joint.members.contains(&number)) {
            let task = Task { limits: temporal::remaining(plan, begun), ..task.clone() };
            let found = together(subject, plan, &narrator, (&asked, &questions), &next, &task, &clock, &mut checked);
            let left: Vec<usize> = next.members.iter().copied().filter(|member| !found.contains_key(member)).collect();
            // If the run that was found violates none of them alone, each has a search of its own.
            joint = if found.is_empty() { None } else { joint::find(subject, plan, &asked, &questions, &left) };
            decided.extend(found);
        }
        let task = Task { limits: temporal::remaining(plan, begun), ..task.clone() };
        let stated = asked[number].clone();
        let known = decided.remove(&number);
        let (judged, steps) = match question {
            _ if let Some(known) = known => known,
            Question::Explored => (property::explored(stated, &explored.verdict, &explored.statistics), Vec::new()),
            Question::Unchecked(why) => {
                observer.notice(&format!("`{}` is not checked: {why}", stated.name));
                let verdict = Verdict::Unknown(StopReason::Unchecked(vec![stated.name.clone()]));
                (Judged { property: stated, verdict, statistics: None, search: None, together: Vec::new(), notes: Vec::new() }, Vec::new())
            }
            Question::Claim(claim) => temporal(subject, plan, &narrator, stated, claim, &task, &clock, crew, &mut checked),
            Question::Events(watched) => events::judge(subject, watched, plan, &narrator, stated, &task, &|| clock.is_over()),
            Question::Branching(ctl) => {
                let Decided { judged, steps, witness, guided } =
                    ctl::judge(subject, plan, &narrator, stated, *ctl, &task, &|| clock.is_over());
                checked.witness = checked.witness.take().or(witness);
                guided.into_iter().for_each(|guided| checked.keep_guidance(guided));
                (judged, steps)
            }
        };
        if let (false, Some(statistics)) = (matches!(question, Question::Explored), &judged.statistics) {
            // The first violation is the one that is shown.
            let first = matches!(judged.verdict, Verdict::Violated(_)) && !matches!(checked.outcome.verdict, Verdict::Violated(_));
            if first {
                (checked.outcome.verdict, checked.steps) = (judged.verdict.clone(), steps);
                tell(&checked.outcome.verdict, observer);
            }
            if first || !explores && checked.properties.is_empty() {
                checked.outcome.statistics = statistics.clone();
            }
        }
        checked.properties.push(judged);
    }
    checked.not_asked = property::not_asked(plan, subject);
    checked.outcome.verdict = property::overall(checked.outcome.verdict, &checked.properties);
    if plan.shortest {
        let resident = surroundings.resident;
        Shorter { subject, plan, narrator: &narrator, clock: &clock, observer, resident }.shorten(&questions, &mut checked);
    }
    if let Some(coverage) = &mut checked.coverage {
        coverage.vacuous.append(&mut checked.vacuous);
    }
    Ok(checked)
}

/// Tells the observer of a violation that is confirmed.
fn tell(verdict: &Verdict, observer: &dyn Observer) {
    if let Verdict::Violated(violation) = verdict {
        observer.violated(violation);
    }
}

/// How a property is decided.
pub(crate) enum Question {
    /// The exploration decides it.
    Explored,
    /// No run may be accepted by an automaton.
    Claim(Claim),
    /// The events on channels must be followed.
    Events(Box<Watched>),
    /// A formula of branching time must be decided.
    Branching(Ctl),
    /// It cannot be checked.
    Unchecked(NotChecked),
}

impl Question {
    fn about(subject: &dyn Subject, stated: &Stated) -> Question {
        if let Some(ctl) = subject.branching(stated) {
            return Question::Branching(ctl);
        }
        match (subject.claim(stated), Watched::of(subject, stated)) {
            (Some(Err(why)), _) | (None, Some(Err(why))) => Question::Unchecked(why),
            (Some(Ok(claim)), _) => Question::Claim(claim),
            (None, Some(Ok(watched))) => Question::Events(Box::new(watched)),
            (None, None) => Question::Explored,
        }
    }

    pub(crate) fn claim(&self) -> Option<&Claim> {
        if let Question::Claim(claim) = self { Some(claim) } else { None }
    }
}

/// Searches for a run that violates a temporal property. Returns the verdict and the steps of the
/// run.
#[allow(clippy::too_many_arguments)]
fn temporal(
    subject: &dyn Subject,
    plan: &Plan,
    narrator: &Narrator,
    stated: Stated,
    claim: &Claim,
    task: &Task<'_>,
    clock: &Clock,
    crew: Option<&Crew>,
    checked: &mut Checked,
) -> (Judged, Vec<Step>) {
    let (shrunk, smaller) = passes::for_claim(subject, plan, &stated, claim);
    let searched = smaller.as_ref().map_or(subject, |smaller| smaller.program());
    let (reduced, reduction) = reduced::of_claim(searched, plan, claim);
    let is_reduced = reduced == Reduced::Yes;
    checked.reduced_for.push((stated.name.clone(), reduced));
    checked.shrunk_for.push((stated.name.clone(), shrunk));
    let task = &Task { reduction: &reduction, ..task.clone() };
    let crew = crew.filter(|_| {
        let alone = distributed::alone(plan);
        alone.iter().for_each(|why| distributed::tell_alone(task.observer, &stated.name, why));
        alone.is_none()
    });
    let (mut found, notes) = match crew {
        Some(crew) => {
            let mark = saved::digest(searched, plan);
            (crew.ask(Errand::to_bytes(subject, plan, &Asked::Claim(stated.name.clone()), mark, None), task), None)
        }
        None => {
            let (mut system, notes) = noting(searched.system(plan.engine, Arc::clone(&claim.propositions), task.observer), searched, plan);
            get_ready(&mut system, plan, clock);
            let heuristic = guide::heuristic(searched, plan, Looked::Claim(claim, temporal::automaton(plan, claim)), task.observer);
            let closing = |state: &[u8]| guide::closing(searched, state);
            let guiding = Guiding::new(&closing);
            let found = temporal::search(&system, claim, plan, &guiding, &Task { heuristic: &*heuristic, ..task.clone() });
            if plan.explained && temporal::is_guided(plan, claim) {
                let along = guiding.along(steps_of(&found.verdict));
                checked.keep_guidance(guide::explain(plan, &*heuristic, Some(stated.name.clone()), along));
            }
            (found, notes)
        }
    };
    if let Some(notes) = notes {
        if found.verdict == Verdict::Holds {
            checked.vacuous.extend(vacuity::sentences(subject, &stated.name, claim, &notes.letters()));
            checked.vacuous.extend(vacuity::whole_runs(subject, &stated.name, claim, |none| holds(subject, plan, none, task, clock)));
        }
        // The product leaves out runs that the claim does not follow, so the coverage is not
        // complete.
        coverage::merge(&mut checked.coverage, notes.tell(false, is_reduced));
    }
    if let Some(smaller) = &smaller {
        found = smaller.retell(narrator, found, true, clock.enough(plan, false));
        if matches!(found.verdict, Verdict::Unknown(StopReason::TraceLost(_))) && !clock.is_over() {
            // A loop of the smaller program takes too long to close in the original one: for
            // example, a counter that is not needed must first overflow.
            checked.reduced_for.pop();
            checked.shrunk_for.pop();
            let whole = &Plan { passes: Passes::default(), ..*plan };
            let time = clock.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let task = &Task { limits: Limits { time, ..task.limits }, ..task.clone() };
            return temporal(subject, whole, narrator, stated, claim, task, clock, crew, checked);
        }
    }
    let mut reference = subject.system(Engine::Interpreter, Arc::clone(&claim.propositions), task.observer);
    let (mut outcome, steps) = temporal::confirm(narrator, &mut reference, claim, plan.fairness.into(), found, &|| clock.is_over());
    if let Verdict::Violated(violation) = &mut outcome.verdict {
        temporal::tell(&mut violation.fault, &stated, plan.fairness);
    }
    let search = Some(if crew.is_some() { distributed::words(plan, claim) } else { temporal::words(plan, claim, &outcome.statistics) });
    let verdict = reduction.confirm(outcome.verdict);
    let notes = temporal::notes(plan, claim);
    (Judged { property: stated, verdict, statistics: Some(outcome.statistics), search, together: Vec::new(), notes }, steps)
}

/// Whether no run violates a claim, by a search of the program as it is written.
fn holds(subject: &dyn Subject, plan: &Plan, claim: &Claim, task: &Task<'_>, clock: &Clock) -> bool {
    let plan = &Plan { coverage: false, ..*plan };
    let ordered = Plan { order: temporal::order(plan, claim), ..*plan };
    if Combination::new(&ordered, temporal::method(plan, claim), false).guarantee().is_err() {
        return false;
    }
    let mut system = subject.system(plan.engine, Arc::clone(&claim.propositions), task.observer);
    get_ready(&mut system, plan, clock);
    let heuristic = guide::heuristic(subject, plan, Looked::Claim(claim, temporal::automaton(plan, claim)), task.observer);
    let closing = |state: &[u8]| guide::closing(subject, state);
    let time = clock.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let task = Task { heuristic: &*heuristic, reduction: &FullExpansion, limits: Limits { time, ..task.limits }, ..task.clone() };
    temporal::search(&system, claim, plan, &Guiding::new(&closing), &task).verdict == Verdict::Holds
}

/// Searches for a run that violates one of several formulas. Returns the results by the numbers of
/// the formulas, without the formulas that the run does not violate.
#[allow(clippy::too_many_arguments)]
fn together(
    subject: &dyn Subject,
    plan: &Plan,
    narrator: &Narrator,
    (asked, questions): (&[Stated], &[Question]),
    joint: &Joint,
    task: &Task<'_>,
    clock: &Clock,
    checked: &mut Checked,
) -> BTreeMap<usize, (Judged, Vec<Step>)> {
    let stated = asked[joint.members[0]].clone();
    let (judged, _) = temporal(subject, plan, narrator, stated, &joint.claim, task, clock, None, checked);
    let (reduced, shrunk) = (checked.reduced_for.pop(), checked.shrunk_for.pop());
    let stop = || clock.is_over();
    let decide = |member: usize| {
        let (stated, claim) = (&asked[member], questions[member].claim()?);
        let (verdict, steps) = match &judged.verdict {
            Verdict::Violated(violation) if violation.fault.kind == ViolationKind::Property => {
                let mut reference = subject.system(Engine::Interpreter, Arc::clone(&claim.propositions), task.observer);
                let found = Outcome { verdict: judged.verdict.clone(), statistics: Statistics::default() };
                let (outcome, steps) = temporal::confirm(narrator, &mut reference, claim, plan.fairness.into(), found, &stop);
                let Verdict::Violated(mut violation) = outcome.verdict else { return None };
                temporal::tell(&mut violation.fault, stated, plan.fairness);
                (Verdict::Violated(violation), steps)
            }
            // A search for each formula can say more.
            Verdict::Violated(_) | Verdict::Unknown(StopReason::TraceLost(_)) => return None,
            verdict => (verdict.clone(), Vec::new()),
        };
        let others = joint.members.iter().filter(|other| **other != member).map(|&other| asked[other].name.clone());
        let judged = Judged { property: stated.clone(), verdict, together: others.collect(), ..judged.clone() };
        Some((member, (judged, steps)))
    };
    let decided: BTreeMap<usize, (Judged, Vec<Step>)> = joint.members.iter().filter_map(|&member| decide(member)).collect();
    for &member in decided.keys() {
        let name = &asked[member].name;
        checked.reduced_for.extend(reduced.as_ref().map(|(_, reduced)| (name.clone(), reduced.clone())));
        checked.shrunk_for.extend(shrunk.as_ref().map(|(_, shrunk)| (name.clone(), shrunk.clone())));
    }
    decided
}

/// The system, which records executed statements if the plan asks for it and the model has
/// statements.
fn noting(system: Box<dyn CloneSystem>, searched: &dyn Subject, plan: &Plan) -> (Box<dyn CloneSystem>, Option<Arc<Notes>>) {
    match searched.byte_code().filter(|_| plan.coverage) {
        Some(program) => {
            let notes = Arc::new(Notes::of(program));
            (Box::new(Noting::new(system, Arc::clone(&notes))), Some(notes))
        }
        None => (system, None),
    }
}

/// Whether everything that can be reached was visited.
fn is_complete(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Holds | Verdict::Unknown(StopReason::Unchecked(_)))
}

/// Waits for native code, if the plan asks for it, as long as there is time.
fn get_ready(system: &mut impl System, plan: &Plan, clock: &Clock) {
    while plan.code_first && !clock.is_over() && !system.get_ready(READY_EVERY) {}
}

/// How long to wait for native code before looking at the clock.
const READY_EVERY: Duration = Duration::from_millis(50);

/// When to stop confirming.
pub(crate) struct Clock {
    pub cancel: Cancel,
    pub deadline: Option<Instant>,
}

impl Clock {
    pub fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// When the search for the steps of a path must end. A `known` violation is reported even if
    /// the time is over.
    pub fn enough(&self, plan: &Plan, known: bool) -> Enough {
        let (cancel, memory) = (self.cancel.clone(), plan.limits.memory);
        let deadline = self.deadline.filter(|_| !known);
        Enough::when(move |bytes| {
            let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            late || cancel.is_cancelled() || memory.is_some_and(|limit| bytes > limit)
        })
    }
}

/// When the description of a step must be abandoned: the time of the run is over, its memory is
/// used up, or the caller asks to stop.
pub(crate) fn enough(plan: &Plan, cancel: &Cancel) -> Enough {
    let (began, limits, cancel) = (Instant::now(), plan.limits, cancel.clone());
    Enough::when(move |bytes| {
        let late = limits.time.is_some_and(|limit| began.elapsed() >= limit);
        late || cancel.is_cancelled() || limits.memory.is_some_and(|limit| bytes > limit)
    })
}

/// Keeps a violation only if the reference interpreter finds it too. If not, an engine is wrong,
/// and the verdict is *unknown*.
fn confirm(narrator: &Narrator, mut outcome: Outcome, stop: &dyn Fn() -> bool) -> Checked {
    let mut steps = Vec::new();
    if let Verdict::Violated(violation) = &mut outcome.verdict {
        match narrator.confirm_unless(violation, stop) {
            Ok(told) => {
                steps = told;
                // The interpreter knows the loop of a transition that never ends.
                if let Some(fault) = steps.last().and_then(|step| step.fault.as_ref()).filter(|fault| fault.kind == violation.fault.kind) {
                    violation.fault.position.clone_from(&fault.position);
                }
                if violation.fault.position.is_none() {
                    violation.fault.position = narrator.stuck(violation.trace.last_state());
                }
                if violation.fault.kind == ViolationKind::Other(UNSUPPORTED) {
                    outcome.verdict = Verdict::Unknown(StopReason::Unsupported(violation.fault.clone()));
                    steps.clear();
                }
            }
            Err(_) => outcome.verdict = Verdict::Unknown(StopReason::TraceLost(violation.fault.clone())),
        }
    }
    Checked::new(outcome, steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::{Action, Fault, Safety, Trace, TraceStep, Violation, ViolationKind};

    const STUCK: &str = "process P() {\n STEP N\n ;: false\n LDC 0\n NEXZ\n STEP N\n STEP T\n}\nstart P\n";

    fn narrator() -> Narrator {
        let mut map = source::SourceMap::new();
        let file = map.add("stuck.epa", STUCK);
        let program = bytecode::asm::assemble(&map, file).expect("a good program");
        Narrator::new(Arc::new(bytecode::verify(program).expect("a good program")))
    }

    fn claim(trace: Trace, kind: ViolationKind) -> Verdict {
        let violation = Violation { fault: Fault::new(kind, "claimed"), trace };
        let outcome = Outcome { verdict: Verdict::Violated(Box::new(violation)), statistics: Statistics::default() };
        confirm(&narrator(), outcome, &|| false).outcome.verdict
    }

    /// A search for deadlocks only finds one after a failed assertion, and its trace is confirmed.
    #[test]
    fn a_deadlock_behind_a_fault_is_confirmed() {
        let text = "process P() {\n ;: assert(false)\n LDC 0\n ASSERT\n STEP N\n ;: false\n LDC 0\n NEXZ\n STEP N\n STEP T\n}\nstart P\n";
        let mut map = source::SourceMap::new();
        let file = map.add("behind.epa", text);
        let program = Arc::new(bytecode::verify(bytecode::asm::assemble(&map, file).expect("a good program")).expect("a good program"));
        for (faults, kind) in [(true, ViolationKind::Assertion), (false, ViolationKind::Deadlock)] {
            let plan = Plan { property: Some(Safety { faults, deadlocks: true }), ..Plan::check() };
            let checked = run(&program, &plan, &Cancel::default(), &Quiet).expect("a sound plan");
            let Verdict::Violated(violation) = checked.outcome.verdict else { panic!("{:?}", checked.outcome.verdict) };
            assert_eq!(violation.fault.kind, kind);
        }
    }

    /// A violation that the reference interpreter does not find is not reported.
    #[test]
    fn only_true_violations_pass() {
        let narrator = narrator();
        let initial = narrator.initial().0.expect("a state");
        let step = narrator.steps(&initial).expect("a state").remove(0);
        let good = Trace { initial: initial.clone(), steps: vec![TraceStep { action: step.action, state: step.state }], loop_start: None };
        let Verdict::Violated(violation) = claim(good.clone(), ViolationKind::Deadlock) else { panic!("a true deadlock was not believed") };
        assert_eq!(violation.fault.position.map(|at| at.line), Some(3), "the stuck process has a place");

        let refused = |trace: Trace, kind| assert!(matches!(claim(trace, kind), Verdict::Unknown(StopReason::TraceLost(_))));
        refused(good.clone(), ViolationKind::Assertion);
        refused(Trace { initial, ..Trace::default() }, ViolationKind::Deadlock);
        refused(Trace { initial: vec![9, 9], ..good.clone() }, ViolationKind::Deadlock);
        let elsewhere = TraceStep { action: Action::new(0, 1), ..good.steps[0].clone() };
        refused(Trace { steps: vec![elsewhere], ..good }, ViolationKind::Deadlock);
    }
}
