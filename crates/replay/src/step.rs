//! A step in words.

use contract::{Action, Fault, Position};
use std::fmt::Write as _;
use std::sync::Arc;

/// If a step has more statements than this, its label contains the first and the last ones.
const LABEL_MAX: usize = 64;

/// A statement that a process executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The number of the process.
    pub pid: usize,
    /// The name of its type.
    pub process: String,
    /// Where the statement is executed.
    pub position: Option<Position>,
    /// Its own position, if it came out of a macro or an inline.
    pub origin: Option<Position>,
    /// The statement as the user wrote it, with actual names if it came out of a macro or an
    /// inline.
    pub text: String,
}

/// A step: what an observer sees as one transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The action by which a search identifies it.
    pub action: Action,
    /// The statements executed, at least one. There are several if some steps are invisible or if
    /// two processes meet. A statement that is executed repeatedly is stored once.
    pub statements: Vec<Arc<Statement>>,
    /// The statements that are omitted from a very long step.
    pub left_out: Option<LeftOut>,
    /// What was printed.
    pub printed: String,
    /// One sentence for each value that was truncated to its type.
    pub warnings: Vec<String>,
    /// The state reached; `None` after a fatal fault.
    pub state: Option<Vec<u8>>,
    /// The fault, if one occurred.
    pub fault: Option<Fault>,
    /// The values that led to the fault, in a sentence, if they are known.
    pub because: Option<String>,
}

/// Statements that were executed but are not listed, with what they printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The number of statements listed before them.
    pub after: usize,
    /// Their number.
    pub statements: u64,
}

/// The statements of a step that are shown to a user who does not want to read thousands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown<'s> {
    /// The first ones.
    pub first: &'s [Arc<Statement>],
    /// The number of statements left out after them.
    pub hidden: u64,
    /// The last ones.
    pub last: &'s [Arc<Statement>],
}

impl Step {
    /// A step of one statement, without a fault.
    pub fn of(action: Action, statement: Statement, state: Vec<u8>) -> Step {
        Step {
            action,
            statements: vec![Arc::new(statement)],
            left_out: None,
            printed: String::new(),
            warnings: Vec::new(),
            state: Some(state),
            fault: None,
            because: None,
        }
    }

    /// The statement that represents the step: the initiator's first.
    pub fn first(&self) -> &Statement {
        &self.statements[0]
    }

    /// The number of statements that were executed, listed or not.
    pub fn statement_count(&self) -> u64 {
        self.statements.len() as u64 + self.left_out.map_or(0, |gap| gap.statements)
    }

    /// At most `most` statements: all, or the first and the last ones.
    pub fn shown(&self, most: usize) -> Shown<'_> {
        let told = &self.statements;
        let gap = self.left_out.map_or(told.len(), |gap| gap.after.min(told.len()));
        if gap == told.len() && told.len() <= most {
            return Shown { first: told, hidden: self.statement_count() - told.len() as u64, last: &[] };
        }
        let first = &told[..gap.min(most / 2)];
        // Without a gap all statements are before it.
        let behind = if self.left_out.is_some() { told.len() - gap } else { told.len() };
        let last = &told[told.len() - behind.min(most / 2)..];
        Shown { first, hidden: self.statement_count() - (first.len() + last.len()) as u64, last }
    }

    /// The step in a line, as graphs label their edges: `P(1): x = 1; y = 2 | Q(0): c?x`.
    pub fn label(&self) -> String {
        let shown = self.shown(LABEL_MAX);
        let mut label = String::new();
        let mut speaker = None;
        for (index, statement) in shown.first.iter().chain(shown.last).enumerate() {
            if index == shown.first.len() {
                // Writing to a `String` cannot fail.
                let _ = write!(label, "; … {} more …", shown.hidden);
            }
            let who = Some(statement.pid);
            if speaker != who {
                let bar = if speaker.is_some() { " | " } else { "" };
                let _ = write!(label, "{bar}{}({}): ", statement.process, statement.pid);
            } else {
                label.push_str("; ");
            }
            label.push_str(&statement.text);
            speaker = who;
        }
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(statements: usize, left_out: Option<LeftOut>) -> Step {
        let statement =
            |n: usize| Arc::new(Statement { pid: 0, process: "P".to_owned(), position: None, origin: None, text: n.to_string() });
        Step {
            action: Action::new(0, 0),
            statements: (0..statements).map(statement).collect(),
            left_out,
            printed: String::new(),
            because: None,
            warnings: Vec::new(),
            state: None,
            fault: None,
        }
    }

    #[test]
    fn of_many_statements_the_first_and_the_last_are_shown() {
        let sizes = |step: &Step, most| {
            let Shown { first, hidden, last } = step.shown(most);
            assert_eq!((first.len() + last.len()) as u64 + hidden, step.statement_count());
            (first.len(), hidden, last.last().map(|statement| statement.text.clone()))
        };
        assert_eq!(sizes(&step(4, None), 4), (4, 0, None));
        assert_eq!(sizes(&step(5, None), 4), (2, 1, Some("4".to_owned())));
        assert_eq!(sizes(&step(9, Some(LeftOut { after: 5, statements: 100 })), 4), (2, 105, Some("8".to_owned())));
        assert_eq!(sizes(&step(9, Some(LeftOut { after: 8, statements: 100 })), 40), (8, 100, Some("8".to_owned())));
        assert_eq!(sizes(&step(3, Some(LeftOut { after: 3, statements: 100 })), 4), (3, 100, None));
    }

    #[test]
    fn a_label_has_a_limit() {
        assert_eq!(step(3, None).label(), "P(0): 0; 1; 2");
        let label = step(1000, None).label();
        assert!(label.starts_with("P(0): 0; 1; 2;") && label.contains("; 31; … 936 more …; 968; ") && label.ends_with("; 999"), "{label}");
    }
}
