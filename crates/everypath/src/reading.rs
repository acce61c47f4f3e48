//! How a program is read, as plain data.

use crate::includes::Includes;
use std::time::Duration;

/// How a program is read. The default reads it as it is, without a time limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Names defined for the preprocessor, with their values.
    pub defines: Vec<(String, String)>,
    /// The files that it may include.
    pub includes: Includes,
    /// Formulas of linear temporal logic over expressions of the program, each with a name. The
    /// program states them in addition to its own properties; see
    /// [`Program::only`](crate::Program::only).
    pub formulas: Vec<(String, String)>,
    /// The time limit. The work is then done by a thread of its own. After the limit the call
    /// returns [`Error::LoadTime`](crate::Error::LoadTime) at once, and the result of the thread is
    /// dropped. The thread itself still runs to its end, which the limits of the front-ends bound
    /// to some seconds and some hundred megabytes.
    pub limit: Option<Duration>,
}
