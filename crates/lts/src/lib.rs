//! Explicit graphs: a labelled transition system in a file is a system like any other.
//!
//! The text format is Aldebaran's `.aut`, which CADP, mCRL2 and LTSmin read and write and which
//! `everypath space -o` writes, with three additions: comments, atoms of states, and faults of
//! steps (`docs/graphs.md`). An [`Lts`] gives a [`System`](contract::System) whose states are the
//! numbers of the file. It shows that nothing behind the contract needs byte-code.
#![forbid(unsafe_code)]

mod binary;
mod graph;
mod parse;
mod state_space;
mod text;

pub use binary::{END_BYTES, FRAGMENT_MAGIC, GRAPH_MAGIC, GraphEnd, GraphError, GraphReader, GraphWriter, Record, graph_end, read_graph};
pub use graph::{ACCEPT, END, Edge, Lts, PROGRESS, Walker, state_bytes, state_number};
pub use parse::parse;
pub use state_space::parse_state_space;
pub use text::{edge_line, fault_line, fault_words, header_line, state_line};
