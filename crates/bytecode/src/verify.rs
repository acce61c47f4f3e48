//! The verifier: rejects malformed programs before anything runs.

use crate::ids::Addr;
use crate::layout::{Layout, LayoutError};
use crate::locations::Locations;
use crate::program::Program;

/// A program that passed the verifier, with what was derived from it. The only thing engines accept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verified {
    program: Program,
    locations: Locations,
    layout: Layout,
}

impl Verified {
    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Its control locations.
    pub fn locations(&self) -> &Locations {
        &self.locations
    }

    /// The layout of its states.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
}

/// What is wrong with a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VerifyErrorKind {
    /// A STEP or entry that leads nowhere.
    BadJump,
    /// No layout.
    Layout(LayoutError),
}

/// What is wrong with a program, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    /// What.
    pub kind: VerifyErrorKind,
    /// At which instruction, where there is one.
    pub addr: Option<Addr>,
}

/// Checks a program.
pub fn verify(program: Program) -> Result<Verified, VerifyError> {
    let locations = Locations::of(&program).ok_or(VerifyError { kind: VerifyErrorKind::BadJump, addr: None })?;
    let layout = Layout::of(&program, &locations).map_err(|e| VerifyError { kind: VerifyErrorKind::Layout(e), addr: None })?;
    Ok(Verified { program, locations, layout })
}
