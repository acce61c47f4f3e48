//! Source text, positions in it, and diagnostics about it.
//!
//! Every front-end (Promela, the byte-code assembler, later languages) reads text, and everything
//! it learns must be able to point back to where the user wrote it. This crate is the ground they
//! share: a [`SourceMap`] owns the files, a [`Span`] is four small numbers that name a piece of one
//! of them, a [`Diagnostic`] is plain data, and [`render()`] turns it into text. Nothing here reads
//! files or prints; the caller does.

#![forbid(unsafe_code)]

mod diagnostic;
mod map;
mod render;
mod suggest;

pub use diagnostic::{Diagnostic, Label, Severity};
pub use map::{Expansions, FileId, Location, Places, SourceFile, SourceMap, Span};
pub use render::{render, render_all};
pub use suggest::{did_you_mean, nearest};
