//! What the outside gets to see: outcomes, traces and graphs, as text and as JSON.
//!
//! Nothing here prints or opens a file; the functions return text or write into what the caller gives them.
#![forbid(unsafe_code)]

pub mod graph;
pub mod text;

pub use graph::{Graph, GraphFormat};
