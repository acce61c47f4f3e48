//! A path through a system, with a text form that can be kept in a file and read back.
//!
//! A trace holds both the actions and the states reached, so a replay can check each step instead
//! of trusting the search that found it. The text has one line per step, with states in
//! hexadecimal.

use crate::successors::Action;
use std::fmt::{self, Write as _};
use std::str::FromStr;

/// One step of a [`Trace`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// The action.
    pub action: Action,
    /// The state reached. Only the last step can have none, if it ends in a fatal fault.
    pub state: Option<Vec<u8>>,
}

/// A path from an initial state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The initial state.
    pub initial: Vec<u8>,
    /// The steps.
    pub steps: Vec<TraceStep>,
    /// For an infinite path: the number of steps before the loop. The state reached after that many
    /// steps is reached again by the last step.
    pub loop_start: Option<usize>,
}

impl Trace {
    /// The state after the first `steps` steps, if the trace is that long and has a state there.
    pub fn state_after(&self, steps: usize) -> Option<&[u8]> {
        match steps {
            0 => Some(&self.initial),
            n => self.steps.get(n - 1)?.state.as_deref(),
        }
    }

    /// The last state of the trace. A step that ends in a fatal fault adds none.
    pub fn last_state(&self) -> &[u8] {
        self.steps.iter().rev().find_map(|step| step.state.as_deref()).unwrap_or(&self.initial)
    }
}

const HEADER: &str = "everypath trace 1";

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('x')?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        writeln!(f, "initial {}", Hex(&self.initial))?;
        for (index, step) in self.steps.iter().enumerate() {
            if self.loop_start == Some(index) {
                writeln!(f, "loop")?;
            }
            write!(f, "step {} {} ", step.action.process, step.action.choice)?;
            match &step.state {
                Some(state) => writeln!(f, "{}", Hex(state))?,
                None => writeln!(f, "failed")?,
            }
        }
        Ok(())
    }
}

/// Why a text is not a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// The line, from 1.
    pub line: usize,
    /// The error.
    pub message: &'static str,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for TraceError {}

fn parse_hex(text: &str) -> Result<Vec<u8>, &'static str> {
    let digits = text.strip_prefix('x').ok_or("a state begins with `x`")?.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return Err("a state has an even number of hexadecimal digits");
    }
    let digit = |b: u8| (b as char).to_digit(16).map(|d| d as u8).ok_or("a state consists of hexadecimal digits");
    digits.chunks_exact(2).map(|pair| Ok(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

fn parse_step(mut words: std::str::SplitAsciiWhitespace<'_>) -> Result<TraceStep, &'static str> {
    let mut number = || words.next().and_then(|word| word.parse().ok()).ok_or("a step has a process and a choice");
    let action = Action::new(number()?, number()?);
    let state = match words.next() {
        Some("failed") => None,
        Some(text) => Some(parse_hex(text)?),
        None => return Err("a step ends in a state or `failed`"),
    };
    if words.next().is_some() {
        return Err("too many words");
    }
    Ok(TraceStep { action, state })
}

impl FromStr for Trace {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let at = |line, message| TraceError { line, message };
        match lines.next() {
            Some((_, HEADER)) => {}
            _ => return Err(at(1, "not a trace: the first line must be `everypath trace 1`")),
        }
        let initial = match lines.next() {
            Some((line, text)) => match text.strip_prefix("initial ") {
                Some(hex) => parse_hex(hex.trim()).map_err(|message| at(line, message))?,
                None => return Err(at(line, "the initial state is missing")),
            },
            None => return Err(at(2, "the initial state is missing")),
        };
        let mut trace = Trace { initial, ..Trace::default() };
        let mut failed = false;
        let mut loop_line = 0;
        for (line, text) in lines {
            if text.is_empty() {
                continue;
            }
            if failed {
                return Err(at(line, "nothing can follow a step that failed"));
            }
            let mut words = text.split_ascii_whitespace();
            match words.next() {
                Some("step") => {
                    let step = parse_step(words).map_err(|message| at(line, message))?;
                    failed = step.state.is_none();
                    trace.steps.push(step);
                }
                Some("loop") if trace.loop_start.is_none() => {
                    trace.loop_start = Some(trace.steps.len());
                    loop_line = line;
                }
                Some("loop") => return Err(at(line, "a trace has one loop")),
                _ => return Err(at(line, "expected `step` or `loop`")),
            }
        }
        if let Some(start) = trace.loop_start
            && (start == trace.steps.len() || trace.state_after(start) != Some(trace.last_state()) || failed)
        {
            return Err(at(loop_line, "the loop does not return to its beginning"));
        }
        Ok(trace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Trace {
        let step =
            |process, choice, state: Option<&[u8]>| TraceStep { action: Action::new(process, choice), state: state.map(<[u8]>::to_vec) };
        Trace { initial: vec![0, 255], steps: vec![step(1, 2, Some(b"")), step(0, 0, Some(&[16])), step(7, 1, None)], loop_start: None }
    }

    #[test]
    fn text_round_trips() {
        let trace = sample();
        assert_eq!(trace.to_string().parse(), Ok(trace.clone()));
        let mut looping = trace;
        looping.steps.pop();
        looping.steps.push(TraceStep { action: Action::new(3, 3), state: Some(vec![]) });
        looping.loop_start = Some(1);
        assert_eq!(looping.to_string().parse(), Ok(looping.clone()));
        assert_eq!(looping.state_after(0), Some(&[0, 255][..]));
        assert_eq!(looping.last_state(), b"");
    }

    #[test]
    fn malformed_text_is_refused_with_its_line() {
        let error = |text: &str| text.parse::<Trace>().unwrap_err();
        assert_eq!(error("").line, 1);
        assert_eq!(error("everypath trace 1").line, 2);
        assert_eq!(error("everypath trace 1\ninitial 00").line, 2);
        assert_eq!(error("everypath trace 1\ninitial x0").line, 2);
        assert_eq!(error("everypath trace 1\ninitial xé").line, 2);
        for bad in ["step 1", "step 1 2", "step 1 2 x00 3", "hop", "step -1 0 x", "loop", "loop\nloop", "step 0 0 failed\nstep 0 0 x"] {
            let text = format!("everypath trace 1\ninitial x\n{bad}\n");
            assert!(error(&text).line >= 3, "{bad}");
        }
        assert_eq!(error("everypath trace 1\ninitial x\nloop\nstep 0 0 x11").message, "the loop does not return to its beginning");
    }
}
