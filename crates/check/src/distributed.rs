//! Searches that several processes share: the messages of rank 0, and the work of each worker.
//!
//! An errand is a model in binary form, the choices that decide the result of a search, and a
//! question. Every worker, including those of rank 0, builds its own system from it and takes part
//! in the same search. The marks of their searches are compared first, so that two versions of this
//! program that would search differently do not search together.

use crate::claim::Claim;
use crate::marker::{Marker, Marks};
use crate::passes;
use crate::plan::{Engine, Fair, Plan, Por};
use crate::property;
use crate::reduced::{of_claim, reduction};
use crate::run::{Refusal, Surroundings};
use crate::saved::{self, Saved};
use crate::series;
use crate::spread::{FarCycles, Owner, Spread};
use crate::stores::{HASH_BITS, SEED};
use crate::subject::Subject;
use crate::table::{Combination, Method, Order, StoreKind};
use bytecode::{Op, Shape, Verified};
use contract::{
    Action, Enough, Limits, NoProperty, Observer, Omission, Outcome, Progress, Property, Quiet, Reduction, Statistics, StopReason, Store,
    Successors, System, Verdict,
};
use distribute::{
    Abandoned, Construction, Described, Lost, Method as Cycles, Owners, PartOf, Resident, Resume, Saving, Search, Seat, Seen, Team, Thrift,
    Work,
};
use search::{Automaton, Foresighted, Product, Reduced, Refutation, Task};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::{Bits, Compact, Hashes, Plain};

/// The answer of a worker to an errand.
pub type Reply = Result<Outcome, String>;

/// The processes that share the searches of a run.
pub struct Crew {
    team: Mutex<Team<Reply>>,
}

impl Crew {
    /// The processes of a team.
    pub fn new(team: Team<Reply>) -> Crew {
        Crew { team: Mutex::new(team) }
    }

    /// Lets all workers search, and returns the outcome.
    pub(crate) fn ask(&self, errand: Vec<u8>, task: &Task<'_>) -> Outcome {
        let mut team = self.team.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = |reason| Outcome { verdict: Verdict::Unknown(reason), statistics: Statistics::default() };
        match team.ask(errand, task.limits.time, &task.cancel, task.observer) {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(why)) => unknown(StopReason::WorkerLost(why)),
            Err(Lost { why, progress: Progress { states, transitions, depth, bytes, .. } }) => Outcome {
                verdict: Verdict::Unknown(StopReason::WorkerLost(why)),
                statistics: Statistics { states, transitions, depth, store_bytes: bytes, ..Statistics::default() },
            },
        }
    }
}

/// The question of an errand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Deadlocks and faults, or just the numbers.
    Faults,
    /// The property of this name.
    Claim(String),
    /// The state space as a graph, a fragment for each worker, in this folder.
    Fragments(String),
}

/// The checkpoints of a search by several processes: files next to the one that the user names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// The name, the same for all processes.
    pub path: String,
    /// How often a level is saved; not at all if this is none.
    pub every: Option<Duration>,
    /// The beginning of the file that the user names.
    pub head: Vec<u8>,
    /// The level at which a saved search continues, and the number of workers that have saved it.
    pub resume: Option<(u64, u64)>,
}

impl Levels {
    fn to_text(&self) -> String {
        let every = self.every.map_or(0, |every| every.as_millis().max(1));
        let (depth, parts) = self.resume.unwrap_or_default();
        let head: String = self.head.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{every} {depth} {parts} {head} {}", self.path)
    }

    fn read(text: &str) -> Option<Levels> {
        let words: Vec<&str> = text.splitn(5, ' ').collect();
        let &[every, depth, parts, head, path] = &words[..] else { return None };
        let every = every.parse::<u64>().ok()?;
        let parts: u64 = parts.parse().ok()?;
        let digit = |at: usize| u8::from_str_radix(head.get(at..at + 2)?, 16).ok();
        Some(Levels {
            path: path.to_owned(),
            every: (every > 0).then(|| Duration::from_millis(every)),
            head: (0..head.len()).step_by(2).map(digit).collect::<Option<_>>()?,
            resume: if parts > 0 { Some((depth.parse().ok()?, parts)) } else { None },
        })
    }
}

/// The files of checkpoints, as a host makes them.
pub trait LevelFiles: Sync {
    /// Writes the part of a worker at a level.
    fn write(&self, path: &str, depth: u64, worker: usize, write: &mut dyn FnMut(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()>;

    /// Opens the part of a worker at a level.
    fn open(&self, path: &str, depth: u64, worker: u64) -> io::Result<Box<dyn io::Read>>;

    /// Records in the file that the user names that all parts of a level exist.
    fn complete(&self, levels: &Levels, depth: u64, workers: u64) -> io::Result<()>;
}

/// A task for a worker.
pub struct Errand {
    saved: Saved,
    plan: Plan,
    asked: Asked,
    mark: [u8; 16],
    levels: Option<Levels>,
}

/// Bytes of a mark.
const MARK: usize = 16;

impl Errand {
    /// The errand as bytes, to be sent.
    pub(crate) fn to_bytes(subject: &dyn Subject, plan: &Plan, asked: &Asked, mark: [u8; MARK], levels: Option<&Levels>) -> Vec<u8> {
        let saved = Saved::new("", &[], subject, &Plan { order: Order::Breadth, ..*plan });
        let mut bytes = mark.to_vec();
        bytes.extend(saved.to_bytes());
        let memory = plan.limits.memory.map_or(String::new(), |memory| memory.to_string());
        let (question, name) = match asked {
            Asked::Faults => ("faults", ""),
            Asked::Claim(name) => ("claim", name.as_str()),
            Asked::Fragments(folder) => ("fragments", folder.as_str()),
        };
        let words = [plan.engine.name(), &memory, &plan.bit_functions.to_string(), &plan.spread.to_string()];
        let levels = levels.map(Levels::to_text).unwrap_or_default();
        bytes.extend(format!("{}\n{levels}\n{question} {name}", words.join(" ")).into_bytes());
        bytes
    }

    /// Reads an errand that rank 0 has sent.
    pub fn read(bytes: &[u8]) -> Result<Errand, String> {
        let broken = || "what rank 0 asks for is not understood: it may be another version".to_owned();
        let (mark, mut rest) = bytes.split_at_checked(MARK).ok_or_else(broken)?;
        let saved = Saved::read(&mut rest).map_err(|error| error.to_string())?;
        let text = std::str::from_utf8(rest).map_err(|_| broken())?;
        let (choices, rest) = text.split_once('\n').ok_or_else(broken)?;
        let (levels, question) = rest.split_once('\n').ok_or_else(broken)?;
        let levels = if levels.is_empty() { None } else { Some(Levels::read(levels).ok_or_else(broken)?) };
        let words: Vec<&str> = choices.splitn(4, ' ').collect();
        let &[engine, memory, bits, spread] = &words[..] else { return Err(broken()) };
        let memory = if memory.is_empty() { None } else { Some(memory.parse().map_err(|_| broken())?) };
        let base = if saved.property.is_some() { Plan::check() } else { Plan::space() };
        let plan = Plan {
            engine: engine.parse::<Engine>().map_err(|error| error.to_string())?,
            limits: Limits { memory, depth: saved.depth, time: None },
            bit_functions: bits.parse().map_err(|_| broken())?,
            spread: spread.parse()?,
            store: saved.store,
            bit_runs: saved.bit_runs,
            ..saved.plan(base)
        };
        let asked = match question.split_once(' ').ok_or_else(broken)? {
            ("faults", _) => Asked::Faults,
            ("claim", name) => Asked::Claim(name.to_owned()),
            ("fragments", folder) => Asked::Fragments(folder.to_owned()),
            _ => return Err(broken()),
        };
        let mut marked = [0; MARK];
        marked.copy_from_slice(mark);
        Ok(Errand { saved, plan, asked, mark: marked, levels })
    }

    /// The model, to be read as any other.
    pub fn saved(&self) -> &Saved {
        &self.saved
    }
}

/// Refuses plans that several processes cannot carry out.
/// `on_disk` says whether there is a folder for states.
pub fn refuse_several(plan: &Plan, saved: bool, on_disk: bool) -> Result<(), Refusal> {
    of_several(plan, saved, on_disk).guarantee().map(drop)
}

fn of_several(plan: &Plan, saved: bool, on_disk: bool) -> Combination {
    Combination { several: true, folder: on_disk, ..Combination::new(plan, Method::Exploration, saved) }
}

/// Refuses an owner function that looks at a process that never exists: one worker would own all
/// states.
pub(crate) fn refuse_owner(subject: &dyn Subject, plan: &Plan) -> Result<(), Refusal> {
    let (Owner::Process(number), Some(program)) = (plan.spread.owner, subject.byte_code()) else { return Ok(()) };
    let creates = program.program().code.iter().any(|op| matches!(op, Op::Run { .. }));
    let mut out = Successors::new();
    subject.system(Engine::default(), Arc::default(), &Quiet).initial(&mut out);
    let mut processes = 0;
    for state in out.iter().filter_map(|(_, state)| state) {
        each_process(program, state, |process, _, _| processes = processes.max(process + 1));
    }
    let absent = u32::from(number) >= processes && !creates;
    let why = "there is no process with the number after `--owner process:`: processes are numbered from 0, and this model creates none";
    if absent { Err(Refusal::Combination(why)) } else { Ok(()) }
}

/// Why a claim is searched by rank 0 alone, if it is.
pub(crate) fn alone(plan: &Plan) -> Option<&'static str> {
    if plan.fairness != Fair::Any {
        return Some("fairness is a matter of components, which one process finds");
    }
    if plan.shortest {
        return Some("the shortest run is looked for by one process");
    }
    None
}

/// Makes the file with a name for the worker with a number.
type OpenFile = dyn Fn(&str, usize) -> io::Result<Box<dyn io::Write>> + Sync;

/// The functions of its host that a worker uses.
pub struct Host<'a> {
    /// Measures the memory of the process.
    pub resident: Option<Resident>,
    /// Makes files for fragments.
    pub open: &'a OpenFile,
    /// Makes files for checkpoints.
    pub levels: &'a dyn LevelFiles,
}

/// Takes part in the search that rank 0 asks for. Every worker calls this.
pub fn serve(subject: Result<&dyn Subject, String>, errand: &Errand, host: Host<'_>, seat: &mut Seat<'_>) -> Reply {
    prepare(subject, errand, host, seat).unwrap_or_else(|Abandoned| Err("the run was given up".to_owned()))
}

/// Agrees with all others that the search can begin, and searches.
fn prepare(subject: Result<&dyn Subject, String>, errand: &Errand, host: Host<'_>, seat: &mut Seat<'_>) -> Result<Reply, Abandoned> {
    let plan = &errand.plan;
    let stated = subject.as_ref().ok().and_then(|subject| match &errand.asked {
        Asked::Faults | Asked::Fragments(_) => None,
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
    let outcome = match (&claim, &errand.asked) {
        (None, Asked::Fragments(folder)) => fragment(searched, plan, folder, &host, seat)?,
        (None, _) => faults(searched, plan, &host, errand.levels.as_ref(), seat)?,
        (Some(claim), _) => refuted(searched, plan, claim, host.resident, seat)?,
    };
    Ok(Ok(outcome))
}

/// Looks for deadlocks and faults.
fn faults(
    searched: &dyn Subject,
    plan: &Plan,
    host: &Host<'_>,
    levels: Option<&Levels>,
    seat: &mut Seat<'_>,
) -> Result<Outcome, Abandoned> {
    let (_, reduction) = reduction(searched, plan);
    let system = searched.system(plan.engine, Arc::default(), &Quiet);
    let mut system: Box<dyn System> =
        if reduction.is_identity() { Box::new(system) } else { Box::new(Foresighted::new(system, &reduction)) };
    let property: &dyn Property = plan.property.as_ref().map_or(&NoProperty, |safety| safety as &dyn Property);
    let part = plan.spread.owner.part(searched.byte_code(), 0);
    let Some(levels) = levels else { return search_for(&mut *system, property, part, plan, host.resident.clone(), (None, None), seat) };
    let (me, workers) = (seat.me(), seat.workers() as u64);
    let write = |depth: u64, write: &mut dyn FnMut(&mut dyn io::Write) -> io::Result<()>| host.levels.write(&levels.path, depth, me, write);
    let complete = |depth: u64| host.levels.complete(levels, depth, workers);
    let saving = levels.every.map(|every| Saving { every, write: &write, complete: &complete });
    let depth = levels.resume.map_or(0, |(depth, _)| depth);
    let open = |part: u64| host.levels.open(&levels.path, depth, part);
    let resume = levels.resume.map(|(depth, parts)| Resume { depth, parts, open: &open });
    search_for(&mut *system, property, part, plan, host.resident.clone(), (saving, resume), seat)
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
    let finite = claim.automaton.is_terminal();
    let automaton = if finite { &claim.automaton } else { &claim.buchi };
    let product = Product::new(system, Arc::clone(automaton));
    let mut product = if claim.stutters { product } else { product.without_stutter() };
    let part = plan.spread.owner.part(searched.byte_code(), search::TAIL);
    let mut outcome = if finite {
        search_for(&mut product, &Refutation, part, plan, resident, (None, None), seat)?
    } else {
        let accepts = |state: &[u8]| state.last_chunk().is_some_and(|tail| automaton.is_accepting(u16::from_le_bytes(*tail)));
        let search = Search { system: &mut product, accepts: &accepts, property: &Refutation, part, limits: plan.limits, resident };
        distribute::cycles(seat, search, cycles(plan, automaton))?
    };
    if let Verdict::Violated(violation) = &mut outcome.verdict {
        violation.trace = product.project(&violation.trace);
    }
    Ok(outcome)
}

/// The algorithm for an automaton that is not terminal.
fn cycles(plan: &Plan, automaton: &Automaton) -> Cycles {
    match plan.spread.cycles {
        FarCycles::Auto => Cycles::Young { weak: automaton.is_weak() },
        FarCycles::Young => Cycles::Young { weak: false },
        FarCycles::Predecessors => Cycles::Predecessors,
        FarCycles::Levels => Cycles::Levels,
        FarCycles::Dependencies => Cycles::Dependencies,
    }
}

/// How a claim was searched, in words.
pub(crate) fn words(plan: &Plan, claim: &Claim) -> &'static str {
    if claim.automaton.is_terminal() {
        return "breadth first, by several processes";
    }
    match cycles(plan, &claim.buchi) {
        Cycles::Young { weak: true } => "one way catch them young in one turn, by several processes",
        Cycles::Young { .. } => "one way catch them young, by several processes",
        Cycles::Predecessors => "maximal accepting predecessors, by several processes",
        Cycles::Levels => "back-level edges, by several processes",
        Cycles::Dependencies => "nested depth first by dependency structures, by several processes",
    }
}

/// Makes a fragment of the state space in a folder.
fn fragment(searched: &dyn Subject, plan: &Plan, folder: &str, host: &Host<'_>, seat: &mut Seat<'_>) -> Result<Outcome, Abandoned> {
    let mut system = searched.system(plan.engine, Arc::default(), &Quiet);
    let shared = Arc::clone(seat.shared());
    let mut marker = Marker::new(searched, &Enough::when(move |_| shared.is_stopped() || shared.is_abandoned()), &Quiet);
    let initial_fault = marker.narrator().initial().1;
    let mut describe = |state: &[u8], actions: &[Action]| -> Described {
        let mut told = marker.steps(state);
        let Marks { atoms, fatal } = marker.marks(state);
        Described { steps: actions.iter().map(|action| told.remove(action).unwrap_or_default()).collect(), atoms, fatal }
    };
    let owners = Owners::new(seat.workers(), plan.spread.owner.part(searched.byte_code(), 0));
    let mut file = (host.open)(folder, seat.me());
    let mut nowhere = Unwritable;
    let to: &mut dyn io::Write = match &mut file {
        Ok(file) => file,
        Err(error) => {
            seat.shared().stop(StopReason::Storage(format!("{folder}: {error}")));
            &mut nowhere
        }
    };
    let construction = Construction {
        system: &mut system,
        describe: &mut describe,
        initial_fault,
        owners,
        memory: plan.limits.memory,
        resident: host.resident.clone(),
        to,
    };
    distribute::construct(seat, construction)
}

/// The name of the fragment of a worker.
pub fn fragment_name(worker: usize) -> String {
    format!("fragment-{worker}.piece")
}

/// A writer in place of a missing file.
struct Unwritable;

impl io::Write for Unwritable {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn search_for(
    system: &mut dyn System,
    property: &dyn Property,
    part: Option<PartOf>,
    plan: &Plan,
    resident: Option<Resident>,
    (saving, resume): (Option<Saving<'_>>, Option<Resume<'_>>),
    seat: &mut Seat<'_>,
) -> Result<Outcome, Abandoned> {
    let owners = Owners::new(seat.workers(), part);
    let Spread { remembered, lookahead, start, .. } = plan.spread;
    let thrift = Thrift { remembered: remembered as usize, lookahead };
    let (workers, here) = (seat.workers(), seat.shared().published.len().max(1) as u64);
    let budget = plan.limits.memory.map_or(u64::MAX, |memory| memory / here);
    let measured = resident.is_some();
    let start = start.into();
    let work = Work { system, property, owners, workers, start, limits: plan.limits, resident, thrift, saving, resume };
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
    let visited = Seen { worker: Box::new(store.worker()), budgeted: store.budgeted(), exact: T::EXACT, saveable: store.saveable() };
    distribute::explore(seat, work, visited)
}

/// Lets several processes write the state space as a graph in fragments, one for each worker, to a
/// folder.
pub fn fragments(subject: &dyn Subject, plan: &Plan, folder: &str, surroundings: &Surroundings<'_>) -> Result<Outcome, Refusal> {
    let Some(crew) = surroundings.crew else { return Err(Refusal::Combination("a graph in fragments is made by several processes")) };
    let plan = &Plan { property: None, por: Por::Off, ..*plan };
    Combination { graph: true, ..of_several(plan, false, surroundings.disk.is_some()) }.guarantee()?;
    refuse_owner(subject, plan)?;
    let task = Task { limits: plan.limits, cancel: surroundings.cancel.clone(), observer: surroundings.observer, ..Task::default() };
    let mark = saved::digest(subject, plan);
    Ok(crew.ask(Errand::to_bytes(subject, plan, &Asked::Fragments(folder.to_owned()), mark, None), &task))
}

/// Reports that a property is searched by one process only.
pub(crate) fn tell_alone(observer: &dyn Observer, name: &str, why: &str) {
    observer.notice(&format!("`{name}` is checked by rank 0 alone: {why}"));
}

/// The part of the states of a program that an owner function looks at; `None` for the whole state.
pub fn part_of(owner: Owner, program: &Arc<Verified>) -> Option<PartOf> {
    owner.part(Some(program), 0)
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
