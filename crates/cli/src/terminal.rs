//! The properties of standard output: whether it is a terminal, its width, its colours.
//!
//! `NO_COLOR` (<https://no-color.org>) and `CLICOLOR_FORCE` (<https://bixense.com/clicolors>) are
//! respected.

use crate::next;
use clap::Args;
use report::{Detail, Look};
use source::Paint;
use std::ffi::OsString;
use std::io::{self, IsTerminal};

/// How detailed the answer is.
#[derive(Debug, Args)]
pub struct DetailArguments {
    /// Print the verdict alone
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print everything: all steps of a long trace, and how the search was done
    #[arg(short, long)]
    pub verbose: bool,
}

/// How detailed the answer is, for commands that always print one.
#[derive(Debug, Args)]
pub struct VerboseArguments {
    /// Print all steps of a long trace, and long statements in full, also on a terminal
    #[arg(short, long)]
    pub verbose: bool,
}

impl DetailArguments {
    /// How the answer looks on standard output.
    pub fn look(&self) -> Look {
        let detail = match (self.quiet, self.verbose) {
            (true, _) => Detail::Quiet,
            (_, true) => Detail::Verbose,
            _ => Detail::Usual,
        };
        Look { detail, ..look() }
    }
}

impl VerboseArguments {
    /// How the answer looks on standard output.
    pub fn look(&self) -> Look {
        Look { detail: if self.verbose { Detail::Verbose } else { Detail::Usual }, ..look() }
    }
}

/// How text looks on standard output.
pub fn look() -> Look {
    let terminal = io::stdout().is_terminal();
    let width = terminal.then(|| terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0)));
    Look {
        color: colors(terminal, |name| std::env::var_os(name)),
        width,
        detail: Detail::Usual,
        in_full: width.and_then(|_| next::in_full()),
    }
}

/// How diagnostics look on standard error.
pub fn paint() -> Paint {
    let terminal = io::stderr().is_terminal();
    let width = terminal.then(|| terminal_size::terminal_size_of(io::stderr())).flatten();
    let width = width.map(|(width, _)| usize::from(width.0));
    Paint { color: colors(terminal, |name| std::env::var_os(name)), width }
}

/// Whether text is coloured, by these variables and by whether it goes to a terminal.
fn colors(terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    if set("NO_COLOR") {
        return false;
    }
    let forced = set("CLICOLOR_FORCE") && variable("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    forced || terminal && variable("TERM").is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_decides_about_colours() {
        let with = |terminal: bool, variables: &[(&str, &str)]| {
            colors(terminal, |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value)))
        };
        assert!(with(true, &[]) && !with(false, &[]));
        assert!(!with(true, &[("NO_COLOR", "1")]) && with(true, &[("NO_COLOR", "")]));
        assert!(with(false, &[("CLICOLOR_FORCE", "1")]) && !with(false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!with(true, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]));
        assert!(!with(true, &[("TERM", "dumb")]) && with(true, &[("TERM", "xterm")]));
    }
}
