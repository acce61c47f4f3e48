//! The errors that a caller can cause.

use check::Refusal;
use contract::Fault;
use languages::Rejected;
use replay::ReplayError;
use std::fmt;
use std::time::Duration;

/// Why a call failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The program has errors.
    Program(Box<Rejected>),
    /// The program fails before its first state.
    Initial(Fault),
    /// The bytes are not a state of the program, or a trace is not one of its traces.
    State(ReplayError),
    /// The choices of a plan contradict each other.
    Plan(Refusal),
    /// The program was not loaded within this time; zero if no thread could be started.
    LoadTime(Duration),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Program(rejected) => f.write_str(source::render_all(&rejected.map, &rejected.diagnostics).trim_end()),
            Error::Initial(fault) => write!(f, "the program fails before its first state: {fault}"),
            Error::State(error) => error.fmt(f),
            Error::Plan(refusal) => refusal.fmt(f),
            Error::LoadTime(Duration::ZERO) => f.write_str("the program could not be loaded: no thread could be started"),
            Error::LoadTime(limit) => write!(f, "the program was not loaded within {limit:?}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Rejected> for Error {
    fn from(rejected: Rejected) -> Error {
        Error::Program(Box::new(rejected))
    }
}

impl From<ReplayError> for Error {
    fn from(error: ReplayError) -> Error {
        Error::State(error)
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Plan(refusal)
    }
}
