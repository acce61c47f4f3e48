//! What the outside gets to see: outcomes, traces and graphs, as text, as JSON and as charts.
//!
//! Nothing here prints or opens a file; the functions return text or write into what the caller gives them. The JSON is an interface
//! that scripts rely on: its keys are fixed, and tests compare them. The text is for people, and free to improve.
#![forbid(unsafe_code)]

mod chart;
pub mod graph;
pub mod json;
mod outcome;
mod steps;
pub mod text;
mod witness;

pub use chart::Chart;
pub use graph::{Graph, GraphFormat};
pub use outcome::{Measured, Told, check_text, fault_text, space_text};
pub use steps::{Printer, processes_text, values_text};
pub use witness::{Witness, WitnessError};
