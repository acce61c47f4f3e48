//! Linear temporal logic: formulas, and their translation to small Büchi automata.
//!
//! A formula over atoms comes in, an automaton comes out, as plain data: nothing here knows states of a program or
//! byte-code. What an atom means is the caller's business; here it is a text and a bit of a letter.
#![forbid(unsafe_code)]

mod acceptance;
pub mod audit;
mod automaton;
mod bdd;
mod build;
mod degeneralise;
mod formula;
mod graph;
mod lasso;
mod letters;
mod merge;
mod obligation;
mod parse;
mod product;
pub mod random;
mod simulation;
mod tableau;
mod translate;

pub use automaton::{Automaton, Component, Cube, Edge, Guard, State, Strength};
pub use formula::{Formulas, Id, Node, Shape, quoted};
pub use lasso::{Lasso, Letter};
pub use parse::{DEPTH_MAX, Parsed, TEXT_MAX, parse};
pub use translate::{ATOMS_MAX, Class, TooLarge, Translation, translate};
