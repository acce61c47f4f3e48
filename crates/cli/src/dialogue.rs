//! Interactive choice of the steps of a run: reads lines and returns commands.
//!
//! Prompts and lists go to standard error, so that standard output contains only the run.

use contract::Cancel;
use replay::{Moves, Step};
use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

const HELP: &str = "\
    a number       take that step
    an empty line  repeat the last command; take the step if there is only one
    /TEXT          show the steps that contain this text: those that can be taken, and those that were taken
    l              list the steps that can be taken
    v              show the values of variables and channels, and the location of each process
    u, u N         undo the last step, or the last N
    j N            jump to the state after step N; steps that were undone can be made again in this way, until another step is taken
    h, ?           this help
    q              quit; so does the end of the input
";

/// The longest delay before a request to stop is noticed.
const LISTEN_EVERY: Duration = Duration::from_millis(50);

/// The user's next command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The step at this position.
    Take(usize),
    /// Go to the state after this many steps, back or forward.
    Jump(usize),
    /// End the run.
    Quit,
}

/// The position of the run.
pub struct Place<'a> {
    /// The steps so far.
    pub made: &'a [Step],
    /// The number of steps that were undone and can be made again.
    pub undone: usize,
    /// The text to show on request: values, and the location of each process.
    pub values: &'a dyn Fn() -> String,
    /// Why the run cannot continue, if it cannot.
    pub end: Option<&'a str>,
}

/// A dialogue with the user.
pub struct Dialogue {
    lines: Lines,
    /// The last line that was understood.
    last: Option<String>,
}

impl Dialogue {
    /// Reads standard input until a request to stop.
    pub fn new(cancel: Cancel) -> io::Result<Dialogue> {
        Ok(Dialogue { lines: Lines::of_standard_input(cancel)?, last: None })
    }

    /// Asks the user for a command, with `enabled` steps to choose from. The end of the input ends
    /// the run.
    pub fn ask(&mut self, enabled: &mut Moves<'_>, place: &Place<'_>) -> Wish {
        match place.end {
            Some(end) => tell(&format!("{end}; u goes back, q ends\n")),
            None => list(enabled, ""),
        }
        loop {
            let number = place.made.len();
            tell(&format!("step {} (number, h for help): ", number + 1));
            let Some(typed) = self.lines.next() else { return Wish::Quit };
            let typed = typed.trim().to_owned();
            let line = match (&self.last, typed.is_empty()) {
                (Some(last), true) => last.clone(),
                (None, true) if enabled.len() == 1 => "1".to_owned(),
                _ => typed,
            };
            match understand(&line, enabled.len(), place) {
                Ok(Request::Wish(wish)) => {
                    self.last = Some(line);
                    return wish;
                }
                Ok(Request::Show(what)) => {
                    match what {
                        Show::Help => tell(HELP),
                        Show::Steps => list(enabled, ""),
                        Show::Values => tell(&(place.values)()),
                        Show::Matches(text) => matches(enabled, place, &text),
                    }
                    self.last = Some(line);
                }
                Err(why) => tell(&format!("{why}\n")),
            }
        }
    }
}

/// The request in a line.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    Wish(Wish),
    Show(Show),
}

#[derive(Debug, PartialEq, Eq)]
enum Show {
    Help,
    Steps,
    Values,
    Matches(String),
}

/// The meaning of a line if `enabled` steps can be taken, or the reason why it has none.
fn understand(line: &str, enabled: usize, place: &Place<'_>) -> Result<Request, String> {
    let made = place.made.len();
    if let Some(text) = line.strip_prefix('/') {
        return Ok(Request::Show(Show::Matches(text.trim().to_lowercase())));
    }
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let number = |rest: &str| rest.trim().parse::<usize>().map_err(|_| format!("`{line}`: a number of steps is missing; h for help"));
    match word {
        "" => Err("there is no command to repeat yet; h for help".to_owned()),
        "h" | "?" | "help" => Ok(Request::Show(Show::Help)),
        "l" | "list" => Ok(Request::Show(Show::Steps)),
        "v" | "values" => Ok(Request::Show(Show::Values)),
        "q" | "quit" => Ok(Request::Wish(Wish::Quit)),
        "u" | "undo" => {
            let back = if rest.is_empty() { 1 } else { number(rest)? };
            match made.checked_sub(back) {
                Some(target) => Ok(Request::Wish(Wish::Jump(target))),
                None => Err(format!("only {made} steps can be undone")),
            }
        }
        "j" | "jump" => match number(rest)? {
            target if target <= made + place.undone => Ok(Request::Wish(Wish::Jump(target))),
            target => Err(format!("there is no step {target} yet: the run has {} steps", made + place.undone)),
        },
        _ => match word.parse::<usize>() {
            Ok(choice) if rest.is_empty() && (1..=enabled).contains(&choice) => Ok(Request::Wish(Wish::Take(choice - 1))),
            _ => Err(format!("`{line}` is not a command; h for help")),
        },
    }
}

/// Lists the steps whose text contains `text`, ignoring case. Returns their number.
fn list_matching(enabled: &mut Moves<'_>, text: &str) -> usize {
    let mut count = 0;
    for index in 0..enabled.len() {
        let label = enabled.tell(index).map_or_else(String::new, |step| step.label());
        if label.to_lowercase().contains(text) {
            count += 1;
            tell(&format!("{:>6}  {label}\n", index + 1));
        }
    }
    count
}

fn list(enabled: &mut Moves<'_>, text: &str) {
    list_matching(enabled, text);
}

/// Lists the enabled steps and the past steps that contain the text.
fn matches(enabled: &mut Moves<'_>, place: &Place<'_>, text: &str) {
    let mut count = list_matching(enabled, text);
    for (index, step) in place.made.iter().enumerate() {
        let label = step.label();
        if label.to_lowercase().contains(text) {
            count += 1;
            tell(&format!("  was step {}: {label} (j {} jumps to the state after it)\n", index + 1, index + 1));
        }
    }
    if count == 0 {
        tell(&format!("no step has `{text}` in it\n"));
    }
}

/// Writes a text to standard error. An error is ignored: the run continues without prompts.
fn tell(text: &str) {
    let _ = write!(io::stderr(), "{text}");
    let _ = io::stderr().flush();
}

/// Reads lines of standard input. A request to stop ends the wait.
struct Lines {
    lines: Receiver<String>,
    cancel: Cancel,
}

impl Lines {
    fn of_standard_input(cancel: Cancel) -> io::Result<Lines> {
        let (sender, lines) = mpsc::channel();
        // The thread ends with the input, or with the process.
        let listen = move || io::stdin().lines().map_while(Result::ok).all(|line| sender.send(line).is_ok());
        thread::Builder::new().spawn(listen)?;
        Ok(Lines { lines, cancel })
    }

    /// The next line; `None` at the end of the input or after a request to stop.
    fn next(&self) -> Option<String> {
        loop {
            match self.lines.recv_timeout(LISTEN_EVERY) {
                Ok(line) => return Some(line),
                Err(RecvTimeoutError::Timeout) if !self.cancel.is_cancelled() => {}
                Err(_) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood_or_refused_with_a_reason() {
        let place = Place { made: &[], undone: 3, values: &String::new, end: None };
        let request = |line: &str| understand(line, 2, &place);
        assert_eq!(request("2"), Ok(Request::Wish(Wish::Take(1))));
        assert_eq!(request("j 3"), Ok(Request::Wish(Wish::Jump(3))));
        assert_eq!(request("jump 0"), Ok(Request::Wish(Wish::Jump(0))));
        assert_eq!(request("?"), Ok(Request::Show(Show::Help)));
        assert_eq!(request("/ Send "), Ok(Request::Show(Show::Matches("send".to_owned()))));
        for wrong in ["", "3", "0", "-1", "1 2", "u", "u 1", "u x", "j", "j 4", "j -1", "99999999999999999999", "nonsense"] {
            assert!(request(wrong).is_err(), "{wrong}");
        }
    }
}
