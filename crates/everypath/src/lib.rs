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
//! // Or everything at once.
//! let checked = program.check(&Plan::check())?;
//! assert_eq!(checked.outcome.verdict, Verdict::Holds);
//! # Ok::<(), everypath::Error>(())
//! ```
//!
//! A state is complete in itself: it can be stored in a file and continued in another process. For
//! a search of your own, use [`Program::system`]: it gives the same successors without texts, in a
//! buffer that is reused.
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
//! The same call reports progress, keeps limits and can be cancelled from another thread. A program
//! is explored as fast as by [`Program::check`], because its system is the same native code.
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
//! A store of your own implements [`Store`] and [`StoreWorker`]. This one is slow and simple:
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
//! # Includes
//!
//! A program that includes other files is read with [`Program::load_with`], which gets them from
//! [`Includes`] or from any type that implements [`Files`]. `examples/` has a small program for
//! each of these uses. [`Program::load_within`] limits the time for reading a program.
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

pub use error::Error;
pub use includes::Includes;
pub use program::Program;

pub use check::{Checked, Choosable, Cycles, Engine, Exploration, Fair, Only, Order, Plan, Probe, Refusal, StoreKind, UnknownName};
pub use contract::{
    Action, Answer, Cancel, Edge, Fault, FaultCode, Finding, Inserted, Interest, Judged, Limits, NoProperty, Observer, Outcome, Position,
    Progress, Property, PropertyKind, Quiet, Safety, StateId, Stated, Statistics, StopReason, Store, StoreFull, StoreWorker, Successor,
    Successors, System, Trace, TraceStep, Verdict, Violation, ViolationKind,
};
pub use languages::Files;
pub use store::{Compact, Plain};

/// Explores a system of the caller, or of a program, with any store.
pub fn explore<S: System + Clone, T: Store>(system: &S, store: &T, how: &Exploration<'_>) -> Result<Outcome, Error> {
    Ok(check::explore(system, store, how)?)
}

pub use replay::{Choice, Named, ProcessView, ReplayError, Statement, Step, View};
