//! Linear temporal logic: formulas, and their translation to small Büchi automata.
//!
//! The input is a formula over atoms, the output an automaton, both as plain data. This crate knows
//! no states of a program and no byte-code. Only the caller knows what an atom means; here it is a
//! text and a bit of a letter.
#![forbid(unsafe_code)]

mod acceptance;
pub mod audit;
mod automaton;
mod bdd;
mod build;
mod convert;
mod cursor;
mod degeneralise;
mod form;
mod formula;
mod graph;
mod hoa;
mod implication;
mod lasso;
mod letters;
mod merge;
mod never;
mod obligation;
mod parse;
mod plain_automaton;
mod product;
pub mod random;
mod simplify;
mod simulation;
pub mod spelling;
mod tableau;
mod translate;
mod write;

pub use automaton::{Automaton, Component, Cube, Edge, Guard, State, Strength};
pub use convert::{Facts, facts, tidy, to_buchi};
pub use form::AutomatonForm;
pub use formula::{Formulas, Id, Node, Shape, quoted};
pub use hoa::read as read_hoa;
pub use lasso::{Lasso, Letter};
pub use never::read as read_never;
pub use parse::{DEPTH_MAX, Parsed, TEXT_MAX, parse};
pub use plain_automaton::{PlainAutomaton, parse_plain_automaton};
pub use translate::{ATOMS_MAX, Class, TooLarge, Translation, translate};
pub use write::{Remarks, dot, edge_label, hoa as write_hoa, never as write_never, text};
