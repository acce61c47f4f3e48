//! Everypath as a library: load a concurrent program, inspect its states, or check all of them.
//!
//! ```
//! use everypath::{Plan, Program, Verdict};
//!
//! # let text = include_bytes!("../../../models/asm/peterson.epa");
//! let program = Program::load("peterson.epa", text)?;
//!
//! // One step at a time: states are byte strings, steps are told in the words of the source.
//! let initial = program.initial()?;
//! for step in program.successors(&initial)? {
//!     println!("{}", step.label());
//! }
//!
//! // Or everything at once, as the command `everypath check` does it.
//! let checked = program.check(&Plan::usual())?;
//! assert_eq!(checked.outcome.verdict, Verdict::Holds);
//! # Ok::<(), everypath::Error>(())
//! ```
//!
//! A state is complete in itself: it can be stored in a file and continued in another process. For
//! a search of your own, use [`Program::system`]: it gives the same successors without texts, in a
//! buffer that is reused.
//!
//! # Plans
//!
//! [`Plan::usual`] is the plan of the command line: all reductions, a worker for each core, native
//! code. [`Plan::check`] is the plainest plan: the program as it is written, one worker. Both are
//! plain data, so anything can be changed:
//!
//! ```
//! use everypath::{Limits, Order, Passes, Plan, Por, Program, StoreKind, Verdict};
//!
//! let text = "byte x, y;
//!     active proctype P() { x = 1; x = 2 }
//!     active proctype Q() { y = 1; y = 2 }";
//! let program = Program::load("two.pml", text.as_bytes())?;
//! let states = |plan: &Plan| program.check(plan).map(|checked| checked.outcome.statistics.states);
//!
//! // Neither process sees what the other one does, so most orders of their steps are left out.
//! let usual = Plan::usual();
//! assert_eq!((usual.por, usual.passes), (Por::On, Passes::ALL));
//! let whole = Plan { por: Por::Off, passes: Passes::default(), ..usual };
//! assert!(states(&usual)? < states(&whole)?);
//! assert_eq!(states(&whole)?, states(&Plan::check())?);
//!
//! let limits = Limits { memory: Some(256 << 20), ..Limits::default() };
//! let (order, store) = (Order::Breadth, StoreKind::Compact);
//! let careful = Plan { order, store, threads: 1, limits, ..usual };
//! assert_eq!(program.check(&careful)?.outcome.verdict, Verdict::Holds);
//! # Ok::<(), everypath::Error>(())
//! ```
//!
//! # Your own systems and stores
//!
//! Any type that implements [`System`] can be explored, without being a program: initial states,
//! successors and accepted ends are byte strings.
//!
//! ```
//! use everypath::{Action, Exploration, Plain, Successors, System, Verdict, explore};
//!
//! /// Two jugs of 3 and 5 litres. Four litres in the larger one end the game.
//! #[derive(Clone)]
//! struct Jugs;
//!
//! impl System for Jugs {
//!     fn initial(&mut self, out: &mut Successors) {
//!         out.push(&[0, 0], Action::default());
//!     }
//!
//!     fn successors(&mut self, state: &[u8], out: &mut Successors) {
//!         let (small, large) = (state[0], state[1]);
//!         if large == 4 {
//!             return;
//!         }
//!         let (in_large, in_small) = (small.min(5 - large), large.min(3 - small));
//!         let moves = [
//!             [3, large], [small, 5], [0, large], [small, 0],
//!             [small - in_large, large + in_large], [small + in_small, large - in_small],
//!         ];
//!         for (number, next) in moves.iter().enumerate() {
//!             // Who moves, and which choice it is: unique among the steps of a state.
//!             out.push(next, Action::new(0, number as u32));
//!         }
//!     }
//!
//!     fn is_valid_end(&mut self, _: &[u8]) -> bool {
//!         false
//!     }
//! }
//!
//! let outcome = explore(&Jugs, &Plain::new(), &Exploration::default())?;
//! // The end is found as a deadlock, by a shortest path.
//! let Verdict::Violated(violation) = outcome.verdict else { panic!("there is a way") };
//! assert_eq!(violation.trace.steps.len(), 6);
//! assert_eq!(violation.trace.last_state()[1], 4);
//! # Ok::<(), everypath::Error>(())
//! ```
//!
//! The same call reports progress, keeps limits and can be cancelled from another thread. It visits
//! all states of a system: the reductions of [`Program::check`] need to know what the steps of a
//! program read and write. The native code of a program is the same for both.
//!
//! ```
//! use everypath::{Cancel, Compact, Exploration, Limits, Observer, Order, Program, Progress};
//! use everypath::{StopReason, Verdict, explore};
//! use std::time::Duration;
//!
//! struct Watch(Cancel);
//!
//! impl Observer for Watch {
//!     fn progress(&self, progress: &Progress) {
//!         if progress.states > 1_000_000 {
//!             self.0.cancel();
//!         }
//!     }
//! }
//!
//! let text = "active [3] proctype P() { byte n; do :: n < 9 -> n++ :: else -> break od }";
//! let program = Program::load("p.pml", text.as_bytes())?;
//! let cancel = Cancel::default();
//! let how = Exploration {
//!     order: Order::Breadth,
//!     threads: 2,
//!     limits: Limits { depth: Some(10), time: Some(Duration::from_secs(60)), memory: None },
//!     cancel: cancel.clone(),
//!     observer: &Watch(cancel),
//!     ..Exploration::default()
//! };
//! let outcome = explore(&program.system(), &Compact::with_budget(64 << 20), &how)?;
//! assert_eq!(outcome.verdict, Verdict::Unknown(StopReason::Depth));
//! assert!(outcome.statistics.states > 100);
//! # Ok::<(), everypath::Error>(())
//! ```
//!
//! A store of your own implements [`Store`] and [`StoreWorker`]. This one is slow and simple. It
//! does not say how much memory it uses, which it could do by [`Budgeted`], so a memory limit
//! counts the bytes of its states.
//!
//! ```
//! use everypath::{Exploration, Inserted, Program, StateId, Store, StoreFull, StoreWorker};
//! use everypath::{Verdict, explore};
//! use std::collections::HashMap;
//! use std::sync::Mutex;
//!
//! #[derive(Default)]
//! struct Known(Mutex<HashMap<Vec<u8>, u64>>);
//!
//! struct Access<'s>(&'s Known);
//!
//! impl Store for Known {
//!     const EXACT: bool = true;
//!     // States cannot be read back by their names, so a search keeps the bytes itself.
//!     const STABLE_NAMES: bool = false;
//!     type Worker<'s> = Access<'s>;
//!
//!     fn worker(&self) -> Access<'_> {
//!         Access(self)
//!     }
//!
//!     fn len(&self) -> u64 {
//!         self.0.lock().unwrap().len() as u64
//!     }
//! }
//!
//! impl StoreWorker for Access<'_> {
//!     fn hash(&mut self, _: &[u8]) -> u64 {
//!         0
//!     }
//!
//!     fn prefetch(&self, _: u64) {}
//!
//!     fn insert(&mut self, _: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
//!         let mut known = self.0.0.lock().unwrap();
//!         let number = known.len() as u64;
//!         let id = *known.entry(state.to_vec()).or_insert(number);
//!         Ok(Inserted { id: StateId(id), new: id == number })
//!     }
//!
//!     fn find(&mut self, _: u64, state: &[u8]) -> Option<StateId> {
//!         self.0.0.lock().unwrap().get(state).copied().map(StateId)
//!     }
//!
//!     fn keeps(&self, _: StateId) -> bool {
//!         false
//!     }
//!
//!     fn read(&mut self, _: StateId, _: &mut Vec<u8>) -> bool {
//!         false
//!     }
//! }
//!
//! # let text = include_bytes!("../../../models/asm/peterson.epa");
//! let program = Program::load("peterson.epa", text)?;
//! let store = Known::default();
//! let outcome = explore(&program.system(), &store, &Exploration::default())?;
//! assert_eq!(outcome.verdict, Verdict::Holds);
//! assert_eq!(outcome.statistics.states, store.len());
//! # Ok::<(), everypath::Error>(())
//! ```
//!
//! # Your own kind of program
//!
//! [`explore`] gives a trace as bytes. A [`Subject`] is more than a [`System`]: it also has a
//! [`Narrator`], which describes states and steps, and properties. [`Program::of`] makes a
//! [`Program`] of it, with everything that programs have: all plans, temporal properties, traces in
//! words that were executed once more before they are shown.
//!
//! ```
//! use everypath::{
//!     Action, Claim, CloneSystem, Enclosed, Engine, Fault, FaultCode, Named, Narrator, NotAState,
//!     NotChecked, Observer, Only, Plan, Program, PropertyKind, Proposition, ReplayError, Stated,
//!     Statement, Step, Subject, Successors, System, Tell, Verdict, View, Words,
//! };
//! use std::sync::Arc;
//!
//! /// A lift between the floors 0 to 9. It evaluates these propositions.
//! #[derive(Clone, Default)]
//! struct Lift(Arc<[Proposition]>);
//!
//! /// The number of the proposition that the lift is on the ground floor.
//! const GROUND: u32 = 0;
//!
//! /// The ways from a floor: what is done, and the floor it leads to.
//! fn ways(floor: u8) -> Vec<(&'static str, u8)> {
//!     let up = (floor < 9).then(|| ("up", floor + 1));
//!     let down = (floor > 0).then(|| ("down", floor - 1));
//!     up.into_iter().chain(down).collect()
//! }
//!
//! impl System for Lift {
//!     fn initial(&mut self, out: &mut Successors) {
//!         out.push(&[0], Action::default());
//!     }
//!
//!     fn successors(&mut self, state: &[u8], out: &mut Successors) {
//!         for (number, (_, floor)) in ways(state[0]).into_iter().enumerate() {
//!             out.push(&[floor], Action::new(0, number as u32));
//!         }
//!     }
//!
//!     fn is_valid_end(&mut self, _: &[u8]) -> bool {
//!         false
//!     }
//!
//!     fn atoms(&mut self, state: &[u8]) -> Result<u64, FaultCode> {
//!         let holds = |asked: &Proposition| *asked == Proposition::Atom(GROUND) && state[0] == 0;
//!         Ok(self.0.iter().enumerate().map(|(bit, asked)| u64::from(holds(asked)) << bit).sum())
//!     }
//! }
//!
//! /// The steps from a floor, in the order of the system.
//! struct Ways(u8);
//!
//! impl Tell for Ways {
//!     fn count(&self) -> usize {
//!         ways(self.0).len()
//!     }
//!
//!     fn tell(&mut self, index: usize) -> Option<Step> {
//!         let (text, floor) = *ways(self.0).get(index)?;
//!         let (process, text) = ("lift".to_owned(), text.to_owned());
//!         let statement = Statement { pid: 0, process, position: None, origin: None, text };
//!         Some(Step::of(Action::new(0, index as u32), statement, vec![floor]))
//!     }
//! }
//!
//! fn floor(state: &[u8]) -> Result<u8, NotAState> {
//!     match state {
//!         &[floor @ 0..=9] => Ok(floor),
//!         _ => Err(NotAState("a state is the number of a floor".to_owned())),
//!     }
//! }
//!
//! impl Words for Lift {
//!     fn initial(&self) -> (Option<Vec<u8>>, Option<Fault>) {
//!         (Some(vec![0]), None)
//!     }
//!
//!     fn moves<'w>(&'w self, state: &[u8]) -> Result<Box<dyn Tell + 'w>, ReplayError> {
//!         Ok(Box::new(Ways(floor(state)?)))
//!     }
//!
//!     fn is_valid_end(&self, _: &[u8]) -> bool {
//!         false
//!     }
//!
//!     fn view(&self, state: &[u8]) -> Result<View, NotAState> {
//!         let value = floor(state)?.to_string();
//!         Ok(View { globals: vec![Named { name: "floor".to_owned(), value }], ..View::default() })
//!     }
//! }
//!
//! impl Subject for Lift {
//!     fn system(
//!         &self,
//!         _: Engine,
//!         asked: Arc<[Proposition]>,
//!         _: &dyn Observer,
//!     ) -> Box<dyn CloneSystem> {
//!         Box::new(Lift(asked))
//!     }
//!
//!     fn narrator(&self) -> Narrator {
//!         Narrator::with(Arc::new(self.clone()))
//!     }
//!
//!     fn stated(&self) -> Vec<Stated> {
//!         let name = "returns".to_owned();
//!         let formula = Stated { name, ..Stated::of_kind(PropertyKind::Ltl) };
//!         vec![Stated::of_kind(PropertyKind::EndStates), formula]
//!     }
//!
//!     // A plain exploration decides whether there is a deadlock, and there is no claim for that.
//!     fn claim(&self, stated: &Stated) -> Option<Result<Claim, NotChecked>> {
//!         let number = |name: &str| (name == "ground").then_some(GROUND);
//!         (stated.name == "returns").then(|| Claim::of_text("[] <> ground", &number))
//!     }
//!
//!     // The same bytes mean the same system: for saved searches.
//!     fn behaviour(&self) -> Vec<u8> {
//!         b"lift with 10 floors".to_vec()
//!     }
//!
//!     fn text(&self) -> Enclosed {
//!         Enclosed { ending: "lift".to_owned(), contents: self.behaviour() }
//!     }
//! }
//!
//! let program = Program::of("lift", Arc::new(Lift::default()));
//! let safe = program.check(&Plan { only: Some(Only::Safety), ..Plan::usual() })?;
//! assert_eq!((safe.outcome.verdict, safe.outcome.statistics.states), (Verdict::Holds, 10));
//! // The lift need not return to the ground floor: the trace ends in a loop above it.
//! let checked = program.check(&Plan::usual())?;
//! let Verdict::Violated(violation) = checked.outcome.verdict else { panic!("it must return") };
//! assert!(violation.trace.loop_start.is_some());
//! assert_eq!(checked.steps[0].label(), "lift(0): up");
//! let labels: Vec<String> = program.successors(&[3])?.iter().map(|step| step.label()).collect();
//! assert_eq!(labels, ["lift(0): up", "lift(0): down"]);
//! assert_eq!(program.view(&[3])?.values()[0].value, "3");
//! // Bytes that are no state are an error.
//! assert!(program.successors(&[10]).is_err());
//! # Ok::<(), everypath::Error>(())
//! ```
//!
//! # Includes
//!
//! A program that includes other files is read with [`Program::load_with`], which gets them from
//! [`Includes`] or from any type that implements [`Files`]. `examples/` has a small program for
//! each of these uses. [`Program::read`] also limits the time for reading a program, and states
//! temporal properties in addition to those of the program.
//!
//! There are two kinds of types: [`Program`], [`Cancel`] and [`Successors`] are handles, with
//! methods and no public fields; all others are plain data with public fields. A method of plain
//! data computes something that is not a field.
//!
//! This crate neither prints nor reads files nor ends the process, and no input makes it panic: an
//! error in a program, a state or a plan is an [`Error`].
#![forbid(unsafe_code)]

/// The chapter of the book about this library. Its programs are compiled and run by the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/embedding.md")]
struct Chapter;

mod error;
mod includes;
mod program;
mod reading;

pub use error::Error;
pub use includes::Includes;
pub use program::Program;
pub use reading::Reading;

pub use check::{
    Checked, Choosable, Claim, Ctl, CtlForm, Cycles, Enclosed, Engine, Exploration, Fair, FarCycles, FarStart, Guide, Measure, NoMeasure,
    NotChecked, Only, Order, Owner, Passes, Plan, Por, Probe, Reduced, Refusal, Refuted, Selected, Spread, StoreKind, Subject, UnknownName,
};
pub use contract::{
    Action, Answer, Blind, Budgeted, Cancel, CloneSystem, Edge, Enough, Fault, FaultCode, Finding, Fresh, Heuristic, Inserted, Interest,
    Judged, LeftOut, Limits, NoProperty, Observer, Omission, Outcome, Position, Progress, Property, PropertyKind, Proposition, Quiet,
    Reduction, Safety, StateId, Stated, Statistics, Stop, StopReason, Store, StoreFull, StoreWorker, Successor, Successors, System, Trace,
    TraceStep, Verdict, Violation, ViolationKind,
};
pub use languages::Files;
pub use store::{Compact, Plain};

/// Explores a system of the caller, or of a program, with any store.
pub fn explore<S: System + Clone, T: Store>(system: &S, store: &T, how: &Exploration<'_>) -> Result<Outcome, Error> {
    Ok(check::explore(system, store, how)?)
}

pub use replay::{Choice, Moves, Named, Narrator, NotAState, ProcessView, ReplayError, Statement, Step, Tell, View, Waiting, Words};
