//! Searches that several processes share: what rank 0 sends them, and what each of them does with
//! it.
//!
//! An errand is a model in binary form, the choices that decide what a search says, and a question.
//! Every worker, those of rank 0 included, builds its own system from it and takes part in the same
//! search. The marks of their searches are compared first, so that two versions of this program
//! that would search differently do not search together.

use crate::claim::Claim;
use crate::passes;
use crate::plan::{Engine, Fair, Plan};
use crate::property;
use crate::reduced::{of_claim, reduction};
use crate::run::Refusal;
use crate::saved::{self, Saved};
use crate::spread::{Owner, Spread};
use crate::stores::{HASH_BITS, SEED};
use crate::subject::Subject;
use crate::table::{Method, Order, StoreKind};
use crate::{series, temporal};
use bytecode::{Shape, Verified};
use contract::{
    Limits, NoProperty, Observer, Omission, Outcome, Property, Quiet, Reduction, Statistics, StopReason, Store, System, Verdict,
};
use distribute::{Abandoned, Owners, PartOf, Resident, Seat, Seen, Team, Thrift, Work};
use search::{Foresighted, Product, Reduced, Refutation, Task};
use std::sync::{Arc, Mutex, PoisonError};
use store::{Bits, Compact, Hashes, Plain};

/// What a worker answers to an errand.
pub type Reply = Result<Outcome, String>;

/// The processes that share the searches of a run.
pub struct Crew {
    team: Mutex<Team<Reply>>,
}

impl Crew {
    /// Those of a team.
    pub fn new(team: Team<Reply>) -> Crew {
        Crew { team: Mutex::new(team) }
    }

    /// Lets all workers search, and gives the outcome.
    pub(crate) fn ask(&self, errand: Vec<u8>, task: &Task<'_>) -> Outcome {
        let mut team = self.team.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = |reason| Outcome { verdict: Verdict::Unknown(reason), statistics: Statistics::default() };
        match team.ask(errand, task.limits.time, &task.cancel, task.observer) {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(why)) => unknown(StopReason::WorkerLost(why)),
            Err(lost) => unknown(StopReason::WorkerLost(lost.0)),
        }
    }
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Deadlocks and faults, or just the numbers.
    Faults,
    /// The property of this name.
    Claim(String),
}

/// What a worker is to do.
pub struct Errand {
    saved: Saved,
    plan: Plan,
    asked: Asked,
    mark: [u8; 16],
}

/// Bytes of a mark.
const MARK: usize = 16;

impl Errand {
    /// The errand as it travels.
    pub(crate) fn to_bytes(subject: &dyn Subject, plan: &Plan, asked: &Asked, mark: [u8; MARK]) -> Vec<u8> {
        let saved = Saved::new("", &[], subject, &Plan { order: Order::Breadth, ..*plan });
        let mut bytes = mark.to_vec();
        bytes.extend(saved.to_bytes());
        let memory = plan.limits.memory.map_or(String::new(), |memory| memory.to_string());
        let (question, name) = match asked {
            Asked::Faults => ("faults", ""),
            Asked::Claim(name) => ("claim", name.as_str()),
        };
        let words =
            [plan.engine.name(), &memory, &plan.bit_functions.to_string(), &plan.non_progress.to_string(), &plan.spread.to_string()];
        bytes.extend(format!("{}\n{question} {name}", words.join(" ")).into_bytes());
        bytes
    }

    /// Reads what rank 0 has sent.
    pub fn read(bytes: &[u8]) -> Result<Errand, String> {
        let broken = || "what rank 0 asks for is not understood: it may be another version".to_owned();
        let (mark, mut rest) = bytes.split_at_checked(MARK).ok_or_else(broken)?;
        let saved = Saved::read(&mut rest).map_err(|error| error.to_string())?;
        let text = std::str::from_utf8(rest).map_err(|_| broken())?;
        let (choices, question) = text.split_once('\n').ok_or_else(broken)?;
        let words: Vec<&str> = choices.splitn(5, ' ').collect();
        let &[engine, memory, bits, non_progress, spread] = &words[..] else { return Err(broken()) };
        let memory = if memory.is_empty() { None } else { Some(memory.parse().map_err(|_| broken())?) };
        let base = if saved.property.is_some() { Plan::check() } else { Plan::space() };
        let plan = Plan {
            engine: engine.parse::<Engine>().map_err(|error| error.to_string())?,
            limits: Limits { memory, depth: saved.depth, time: None },
            bit_functions: bits.parse().map_err(|_| broken())?,
            non_progress: non_progress.parse().map_err(|_| broken())?,
            spread: spread.parse()?,
            store: saved.store,
            bit_runs: saved.bit_runs,
            ..saved.plan(base)
        };
        let asked = match question.split_once(' ').ok_or_else(broken)? {
            ("faults", _) => Asked::Faults,
            ("claim", name) => Asked::Claim(name.to_owned()),
            _ => return Err(broken()),
        };
        let mut marked = [0; MARK];
        marked.copy_from_slice(mark);
        Ok(Errand { saved, plan, asked, mark: marked })
    }

    /// The model, to be read as any other.
    pub fn saved(&self) -> &Saved {
        &self.saved
    }
}

/// Refuses plans that several processes cannot carry out.
pub(crate) fn refuse(plan: &Plan) -> Result<(), Refusal> {
    let refused = |why| Err(Refusal::Combination(why));
    if !matches!(plan.order, Order::Auto | Order::Breadth) {
        return refused("several processes search breadth first: leave out `--search`, or use `--search bfs`");
    }
    if plan.store.forgets() {
        return refused("a store that forgets states makes a search by several processes endless: use `--store compact`");
    }
    if plan.store.answers_late() {
        return refused("several processes keep their states in memory: use `--store compact`, or leave out `--processes`");
    }
    if plan.por == crate::plan::Por::Checked {
        return refused("`--check-por` examines the choices of one process: leave out `--processes`");
    }
    if plan.coverage {
        return refused("`--coverage` is recorded by one process: leave out `--processes`");
    }
    Ok(())
}

/// Why a claim is searched by rank 0 alone, if it is.
pub(crate) fn alone(plan: &Plan, claim: &Claim) -> Option<&'static str> {
    if plan.fairness != Fair::Any {
        return Some("fairness is a matter of components, which one process finds");
    }
    if plan.shortest {
        return Some("the shortest run is looked for by one process");
    }
    if temporal::method(plan, claim) != Method::FiniteRun {
        return Some("cycles are looked for by one process");
    }
    None
}

/// Takes part in the search that rank 0 asks for. Every worker calls this.
pub fn serve(subject: Result<&dyn Subject, String>, errand: &Errand, resident: Option<Resident>, seat: &mut Seat<'_>) -> Reply {
    prepare(subject, errand, resident, seat).unwrap_or_else(|Abandoned| Err("the run was given up".to_owned()))
}

/// Agrees with all others that the search can begin, and searches.
fn prepare(
    subject: Result<&dyn Subject, String>,
    errand: &Errand,
    resident: Option<Resident>,
    seat: &mut Seat<'_>,
) -> Result<Reply, Abandoned> {
    let plan = &errand.plan;
    let stated = subject.as_ref().ok().and_then(|subject| match &errand.asked {
        Asked::Faults => None,
        Asked::Claim(name) => property::asked(plan, subject.stated()).into_iter().find(|stated| stated.name == *name),
    });
    let claim = match (&subject, &stated) {
        (Ok(subject), Some(stated)) => subject.claim(stated).and_then(Result::ok),
        _ => None,
    };
    let smaller = match (&subject, &stated, &claim) {
        (Ok(subject), Some(stated), Some(claim)) => passes::for_claim(*subject, plan, stated, claim).1,
        (Ok(subject), ..) => passes::for_faults(*subject, plan).1,
        (Err(_), ..) => None,
    };
    let ready = match (&subject, &errand.asked, &claim) {
        (Err(why), ..) => Err(why.clone()),
        (Ok(_), Asked::Claim(name), None) => Err(format!("there is no claim for `{name}`")),
        (Ok(subject), ..) => {
            let searched: &dyn Subject = smaller.as_ref().map_or(*subject, |smaller| smaller.program());
            if saved::digest(searched, plan) == errand.mark { Ok(searched) } else { Err("another version of everypath".to_owned()) }
        }
    };
    let mine = ready.as_ref().err().map_or(Vec::new(), |why| why.clone().into_bytes());
    let all = seat.gather(&mine)?;
    if let Some((worker, why)) = all.iter().enumerate().find(|(_, why)| !why.is_empty()) {
        return Ok(Err(format!("worker {worker} cannot take part: {}", String::from_utf8_lossy(why))));
    }
    let Ok(searched) = ready else { return Ok(Err("not ready".to_owned())) };
    let outcome = match &claim {
        None => faults(searched, plan, resident, seat)?,
        Some(claim) => refuted(searched, plan, claim, resident, seat)?,
    };
    Ok(Ok(outcome))
}

/// Looks for deadlocks and faults.
fn faults(searched: &dyn Subject, plan: &Plan, resident: Option<Resident>, seat: &mut Seat<'_>) -> Result<Outcome, Abandoned> {
    let (_, reduction) = reduction(searched, plan);
    let system = searched.system(plan.engine, Arc::default(), &Quiet);
    let mut system: Box<dyn System> =
        if reduction.is_identity() { Box::new(system) } else { Box::new(Foresighted::new(system, &reduction)) };
    let property: &dyn Property = plan.property.as_ref().map_or(&NoProperty, |safety| safety as &dyn Property);
    let part = plan.spread.owner.part(searched.byte_code(), 0);
    search_for(&mut *system, property, part, plan, resident, seat)
}

/// Looks for a run that a claim accepts.
fn refuted(
    searched: &dyn Subject,
    plan: &Plan,
    claim: &Claim,
    resident: Option<Resident>,
    seat: &mut Seat<'_>,
) -> Result<Outcome, Abandoned> {
    let (_, reduction) = of_claim(searched, plan, claim);
    let system = Reduced::new(searched.system(plan.engine, Arc::clone(&claim.propositions), &Quiet), &reduction);
    let product = Product::new(system, Arc::clone(temporal::automaton(plan, claim)));
    let mut product = if claim.stutters { product } else { product.without_stutter() };
    let part = plan.spread.owner.part(searched.byte_code(), search::TAIL);
    let mut outcome = search_for(&mut product, &Refutation, part, plan, resident, seat)?;
    if let Verdict::Violated(violation) = &mut outcome.verdict {
        violation.trace = product.project(&violation.trace);
    }
    Ok(outcome)
}

fn search_for(
    system: &mut dyn System,
    property: &dyn Property,
    part: Option<PartOf>,
    plan: &Plan,
    resident: Option<Resident>,
    seat: &mut Seat<'_>,
) -> Result<Outcome, Abandoned> {
    let owners = Owners::new(seat.workers(), part);
    let Spread { remembered, lookahead, .. } = plan.spread;
    let thrift = Thrift { remembered: remembered as usize, lookahead };
    let (workers, here) = (seat.workers(), seat.shared().published.len().max(1) as u64);
    let budget = plan.limits.memory.map_or(u64::MAX, |memory| memory / here);
    let measured = resident.is_some();
    let work = Work { system, property, owners, workers, limits: plan.limits, resident, thrift };
    match plan.store {
        StoreKind::Plain => with(&Plain::with_budget(budget), work, seat),
        StoreKind::Compact => with(&Compact::with_budget(budget), work, seat),
        StoreKind::Hashes => {
            let store = Hashes::new(HASH_BITS, SEED, budget);
            let mut outcome = with(&store, work, seat)?;
            let probability = (store.omission() * workers as f64).min(1.0);
            outcome.statistics.omission = Some(Omission { probability, bits: None });
            Ok(outcome)
        }
        StoreKind::Bits => with(&Bits::new(series::array_bytes(budget, measured), plan.bit_functions, SEED), work, seat),
        _ => with(&Compact::when_needed(budget), work, seat),
    }
}

fn with<T: Store>(store: &T, work: Work<'_>, seat: &mut Seat<'_>) -> Result<Outcome, Abandoned> {
    let visited = Seen { worker: Box::new(store.worker()), budgeted: store.budgeted(), exact: T::EXACT };
    distribute::explore(seat, work, visited)
}

/// Tells that a property is not searched by all.
pub(crate) fn tell_alone(observer: &dyn Observer, name: &str, why: &str) {
    observer.notice(&format!("`{name}` is checked by rank 0 alone: {why}"));
}

impl Owner {
    /// The part of a state that decides who owns it; `tail` bytes at its end are an automaton's.
    /// Without byte-code there are no parts, and the whole state decides.
    fn part(self, program: Option<&Arc<Verified>>, tail: usize) -> Option<PartOf> {
        let program = Arc::clone(program?);
        let whole = move |state: &[u8]| state.len() - tail.min(state.len());
        match self {
            Owner::State => None,
            Owner::Process(number) => Some(Arc::new(move |state, out| {
                let state = &state[..whole(state)];
                each_process(&program, state, |process, component, _| {
                    if process == u32::from(number) {
                        out.extend_from_slice(component);
                    }
                });
            })),
            Owner::Counters => Some(Arc::new(move |state, out| {
                let state = &state[..whole(state)];
                each_process(&program, state, |_, component, location| out.extend_from_slice(&component[location]));
            })),
        }
    }
}

/// Shows each process of a state: its number, its bytes, and where among them the control location
/// is.
fn each_process(program: &Verified, state: &[u8], mut show: impl FnMut(u32, &[u8], std::ops::Range<usize>)) {
    let layout = program.layout();
    let (mut at, mut number) = (layout.fixed, 0);
    while let Some(shape) = state.get(at).and_then(|&code| layout.shape(code)) {
        let end = at + layout.size_of(shape);
        let Some(component) = state.get(at..end) else { return };
        if let Shape::Process(process) = shape {
            let process = &layout.processes[process.index()];
            show(number, component, process.location..process.location + 1 + usize::from(process.wide));
            number += 1;
        }
        at = end;
    }
}
