//! Source text, positions in it, and diagnostics about it.
//!
//! Every front-end (Promela, the byte-code assembler, later languages) reads text, and everything
//! it reports must point back to what the user wrote. The front-ends share this crate: a
//! [`SourceMap`] owns the files, a [`Span`] is three small numbers that name a range of one file, a
//! [`Diagnostic`] is plain data, and [`render()`] turns it into text. This crate neither reads
//! files nor prints; the caller does.

#![forbid(unsafe_code)]

mod diagnostic;
mod map;
mod render;
mod suggest;

pub use diagnostic::{Diagnostic, Fix, Label, Severity, counted};
pub use map::{Expansions, FileId, Location, Places, SourceFile, SourceMap, Span};
pub use render::{Paint, printable, render, render_all, render_all_in, render_in};
pub use suggest::{did_you_mean, nearest};
