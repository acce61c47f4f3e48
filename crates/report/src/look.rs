//! The appearance of text: colours, the width of the terminal, and the level of detail.
//!
//! The caller knows where the text goes, so it decides. Text for a file has no colours and is not
//! cut.

/// The level of detail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// The verdicts alone.
    Quiet,
    /// The usual amount.
    #[default]
    Usual,
    /// Everything.
    Verbose,
}

/// The appearance of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Whether colours are used, as ANSI escape sequences.
    pub color: bool,
    /// The number of columns, if the reader has a terminal. Longer statements are cut.
    pub width: Option<usize>,
    /// The level of detail.
    pub detail: Detail,
    /// The command that shows all steps of a trace that is cut here, if typing it again gives the
    /// same trace.
    pub in_full: Option<&'static str>,
}

/// A longer trace is cut in the middle on a terminal: this many steps are shown before the cut,
/// and after it.
const STEPS_BEFORE: usize = 5;
const STEPS_AFTER: usize = 20;

/// In a terminal with fewer columns nothing is cut.
const WIDTH_MIN: usize = 60;

impl Look {
    /// The steps of a trace that are left out, as a range, if it is too long for the terminal.
    pub fn cut(&self, steps: usize) -> Option<std::ops::Range<usize>> {
        let cuts = self.width.is_some() && self.detail != Detail::Verbose;
        // A cut that hides two steps or fewer takes more room than they do.
        (cuts && steps > STEPS_BEFORE + STEPS_AFTER + 2).then(|| STEPS_BEFORE..steps - STEPS_AFTER)
    }

    /// Cuts a line that is longer than the terminal is wide. In a very narrow terminal the line
    /// continues on the next one instead, because little would be left of it.
    pub(crate) fn fit(&self, line: String) -> String {
        match self.width {
            Some(width @ WIDTH_MIN..) if self.detail != Detail::Verbose && line.chars().count() > width => {
                let mut short: String = line.chars().take(width - 1).collect();
                short.push('…');
                short
            }
            _ => line,
        }
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Text about a success.
    pub(crate) fn good(&self, text: &str) -> String {
        self.paint("1;32", text)
    }

    /// Text about an error.
    pub(crate) fn bad(&self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// Text about something unknown or suspicious.
    pub(crate) fn doubtful(&self, text: &str) -> String {
        self.paint("1;33", text)
    }

    /// Text that should be found at a glance.
    pub(crate) fn strong(&self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Text that matters less.
    pub(crate) fn faint(&self, text: &str) -> String {
        self.paint("2", text)
    }

    /// A changed value.
    pub(crate) fn value(&self, text: &str) -> String {
        self.paint("36", text)
    }
}

/// Joins words into lines that are not wider than the terminal, each after `indent` columns.
pub(crate) fn wrapped(words: &[String], separator: &str, indent: usize, width: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for (index, word) in words.iter().enumerate() {
        let last = index + 1 == words.len();
        let length = word.chars().count() + if last { 0 } else { separator.chars().count() };
        if used > 0 && used + length > width {
            out.truncate(out.trim_end().len());
            out.push('\n');
            used = 0;
        }
        if used == 0 {
            out.push_str(&" ".repeat(indent));
            used = indent;
        }
        out.push_str(word);
        if !last {
            out.push_str(separator);
        }
        used += length;
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_terminal_is_spared_long_traces() {
        let terminal = Look { width: Some(80), ..Look::default() };
        assert_eq!(terminal.cut(27), None);
        assert_eq!(terminal.cut(28), Some(5..8));
        assert_eq!(terminal.cut(100), Some(5..80));
        assert_eq!(Look { detail: Detail::Verbose, ..terminal }.cut(1000), None);
        assert_eq!(Look::default().cut(1000), None);
    }

    #[test]
    fn lines_are_cut_and_wrapped() {
        let terminal = Look { width: Some(60), ..Look::default() };
        let (exact, long) = ("1234567890".repeat(6), "1234567890".repeat(7));
        assert_eq!(terminal.fit(exact.clone()), exact);
        assert_eq!(terminal.fit(long.clone()), format!("{}…", &long[..59]));
        assert_eq!(Look { width: Some(40), ..terminal }.fit(long.clone()), long);
        assert_eq!(Look::default().fit(long.clone()), long);
        let words: Vec<String> = ["aa", "bb", "cc"].map(str::to_owned).to_vec();
        assert_eq!(wrapped(&words, ", ", 2, 10), "  aa, bb,\n  cc\n");
        assert_eq!(wrapped(&[], ", ", 2, 9), "");
    }

    #[test]
    fn colours_are_for_those_who_see_them() {
        assert_eq!(Look::default().bad("no"), "no");
        assert_eq!(Look { color: true, ..Look::default() }.bad("no"), "\x1b[1;31mno\x1b[0m");
    }
}
