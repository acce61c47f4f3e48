//! Recognises the form in which a file contains an automaton, by how it begins.

/// A form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutomatonForm {
    /// The Hanoi format.
    Hanoi,
    /// A never claim.
    Never,
    /// Anything else, such as plain lines.
    Other,
}

impl AutomatonForm {
    /// The form of a text. Comments before a never claim are passed over.
    pub fn of(text: &str) -> AutomatonForm {
        let mut rest = text.trim_start();
        loop {
            let behind = if rest.starts_with("/*") {
                rest.find("*/").map(|end| &rest[end + 2..])
            } else if rest.starts_with("//") {
                rest.find('\n').map(|end| &rest[end..])
            } else {
                break;
            };
            let Some(behind) = behind else { return AutomatonForm::Other };
            rest = behind.trim_start();
        }
        match rest.strip_prefix("never") {
            Some(behind) if behind.starts_with(|c: char| c == '{' || c == '/' || c.is_whitespace()) && behind.contains('{') => {
                AutomatonForm::Never
            }
            _ if rest.starts_with("HOA:") => AutomatonForm::Hanoi,
            _ => AutomatonForm::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_recognised_by_its_beginning() {
        for (text, form) in [
            ("HOA: v1\n", AutomatonForm::Hanoi),
            ("\n /* c */ HOA: v1", AutomatonForm::Hanoi),
            ("never { skip }", AutomatonForm::Never),
            ("// HOA:\n/* never */never/**/{", AutomatonForm::Never),
            ("never  name\n{ skip }", AutomatonForm::Never),
            ("never\n1\nnever true 1\n", AutomatonForm::Other),
            ("nevermind {", AutomatonForm::Other),
            ("0\n1\n0 true 0\n", AutomatonForm::Other),
            ("/* open", AutomatonForm::Other),
            ("// open", AutomatonForm::Other),
            ("", AutomatonForm::Other),
        ] {
            assert_eq!(AutomatonForm::of(text), form, "{text:?}");
        }
    }
}
