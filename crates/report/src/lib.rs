//! The output for users: outcomes, traces and graphs, as text, as JSON and as charts.
//!
//! This crate neither prints nor opens files; its functions return text or write into a writer of
//! the caller. The JSON is an interface that scripts rely on: its keys are fixed, and tests compare
//! them. The text is for people and may change.
#![forbid(unsafe_code)]

mod automata;
mod chart;
mod components;
mod coverage;
mod diagram;
mod exchange;
mod fold;
pub mod graph;
mod html;
pub mod json;
mod look;
mod outcome;
mod spin;
mod steps;
pub mod text;
mod timeline;
mod waiting;
mod witness;

pub use automata::{AutomataJson, automata_dot, automata_svg, automata_text};
pub use chart::Chart;
pub use coverage::{CoverageJson, coverage_text};
pub use diagram::{BoxKind, Diagram, DiagramBox, diagrams_svg};
pub use exchange::{itf, junit, junit_rejected, sarif, sarif_rejected};
pub use graph::{Graph, GraphFormat};
pub use html::{Page, ShownPath};
pub use look::{Detail, Look};
pub use outcome::{Measured, Told, check_text, fault_text, length_text, shown_text, space_text, witness_text};
pub use spin::{Verifier, spin};
pub use steps::{Printer, processes_text, values_text};
pub use timeline::Timeline;
pub use waiting::waiting_text;
pub use witness::{Witness, WitnessError};
