//! Which warnings about a model are given, and which of them are errors.

use crate::failure::Failure;
use clap::Args;
use source::{Diagnostic, Severity};

/// Warnings by their names.
#[derive(Debug, Default, Args)]
pub struct WarningArguments {
    /// Turn this warning into an error, or `all` of them; `everypath lint --list` lists the
    /// names. Can be given several times
    #[arg(short = 'W', value_name = "NAME")]
    pub warn: Vec<String>,
    /// Allow this, or `all`: the warning is not given. Can be given several times
    #[arg(short = 'A', value_name = "NAME")]
    pub allow: Vec<String>,
}

impl WarningArguments {
    /// Refuses names that no warning has.
    pub fn refuse_unknown(&self) -> Result<(), Failure> {
        for name in self.warn.iter().chain(&self.allow) {
            if name != "all" && languages::LINTS.iter().all(|(known, _)| known != name) {
                return Err(Failure::Call(format!("there is no warning `{name}`; `everypath lint --list` lists all")));
            }
        }
        Ok(())
    }

    /// Whether a warning is not given. A name takes precedence over `all`.
    fn is_allowed(&self, warning: &Diagnostic) -> bool {
        let named = |list: &[String]| warning.name.is_some_and(|name| list.iter().any(|given| given == name));
        named(&self.allow) || self.allow.iter().any(|given| given == "all") && !named(&self.warn)
    }

    /// Whether a warning is an error.
    pub fn is_denied(&self, warning: &Diagnostic) -> bool {
        let names = |given: &String| given == "all" || warning.name == Some(given);
        !self.is_allowed(warning) && self.warn.iter().any(names)
    }

    /// The warnings that are given.
    pub fn given(&self, mut warnings: Vec<Diagnostic>) -> Vec<Diagnostic> {
        warnings.retain(|warning| !self.is_allowed(warning));
        warnings
    }

    /// The warnings that are errors.
    pub fn denied(&self, warnings: &[Diagnostic]) -> Vec<Diagnostic> {
        let denied = warnings.iter().filter(|warning| self.is_denied(warning));
        denied.map(|warning| Diagnostic { severity: Severity::Error, ..warning.clone() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use source::{FileId, Span};

    #[test]
    fn a_name_takes_precedence_over_all() {
        let warning = |name| Diagnostic::warning(Span::new(FileId::default(), 0, 1), "m").named(name);
        let policy = |warn: &[&str], allow: &[&str]| {
            let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            WarningArguments { warn: list(warn), allow: list(allow) }
        };
        let both = policy(&["a"], &["all"]);
        assert!(both.is_denied(&warning("a")) && both.is_allowed(&warning("b")));
        let both = policy(&["all"], &["a"]);
        assert!(both.is_allowed(&warning("a")) && both.is_denied(&warning("b")));
        let none = policy(&[], &[]);
        assert!(!none.is_allowed(&warning("a")) && !none.is_denied(&warning("a")));
        assert!(policy(&["none-such"], &[]).refuse_unknown().is_err() && policy(&["all"], &["no-effect"]).refuse_unknown().is_ok());
    }
}
