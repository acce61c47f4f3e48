//! SPIN's trails: the paths that its verifiers write and that `spin -t` replays.
//!
//! A line `depth:process:number` is a transition: the number of the process, and the number that
//! SPIN gives to the transition when it reads the model. The front-end knows these numbers for its
//! code. One of our steps is one line or several: an atomic sequence is one step and has a line for
//! each statement, and a rendezvous has a line for each side.
//!
//! Lines with a negative depth are marks. `-2` names a claim, whose moves then belong to process 0.
//! `-4` says that SPIN merged statements, so that a line represents the statements after it, too.
//! `-1` marks the beginning of a cycle. We write neither claims nor merged statements; `spin -t`
//! needs neither.
//!
//! A trail is read by backtracking: in each state, the steps are followed whose statements are the
//! next lines. With merged statements there may be several such steps, so the search returns to the
//! last choice when no step is left.

use bytecode::{Addr, Mode, Op, Verified};
use contract::{Successors, System, Trace, TraceStep};
use std::collections::HashSet;
use std::fmt::{self, Write as _};
use std::str::FromStr;
use std::sync::Arc;
use vm::{Event, Explained, Interpreter};

/// The number of steps that are tried before a trail is given up.
const TRIED_MAX: usize = 1 << 22;

/// A trail as it is written in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    lines: Vec<Line>,
    /// The beginning of the cycle, as a number of lines before it.
    cycle: Option<usize>,
    /// Whether a line may represent several statements.
    merged: bool,
    /// The numbers of all lines. SPIN merges a statement with the one before it only if no other
    /// statement leads to it, so a number that has a line is never left out.
    numbers: HashSet<u32>,
}

/// A transition of a trail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    process: usize,
    number: u32,
    /// The line of the file, from 1.
    at: usize,
}

/// The error in a trail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrailError {
    /// A line of the file is not a line of a trail.
    Line(usize),
    /// SPIN searched in another order than that of the text, which the trail only hints at.
    Permuted,
    /// The program cannot take the transition of this line, in words.
    Lost(usize, String),
    /// The cycle of the trail does not return to its beginning.
    Cycle,
    /// There are too many ways to understand the trail.
    TooMany,
    /// A step has so many statements that not all of them are known.
    Long(usize),
    /// The steps are not those of the program.
    Other(usize),
}

impl fmt::Display for TrailError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrailError::Line(line) => write!(f, "line {line}: expected `depth:process:transition`, three numbers"),
            TrailError::Permuted => {
                f.write_str("SPIN searched in a permuted order (`-t`), so the trail can only be replayed by its own `pan -r`")
            }
            TrailError::Lost(line, what) => {
                write!(f, "line {line}: {what}; is this the model, with the same definitions (`-D`), for which the trail was written?")
            }
            TrailError::Cycle => f.write_str("the cycle of the trail does not return to where it begins"),
            TrailError::TooMany => f.write_str("there are too many ways to understand the trail; write it with `spin -o3 -a`"),
            TrailError::Long(step) => write!(f, "step {step} has too many statements to be written down"),
            TrailError::Other(step) => write!(f, "the program cannot take step {step}"),
        }
    }
}

impl std::error::Error for TrailError {}

impl Trail {
    /// Whether a text looks like a trail.
    pub fn is_one(text: &str) -> bool {
        let first = text.lines().find(|line| !line.trim().is_empty());
        first.is_some_and(|line| numbers_of(line).is_some())
    }
}

/// The three numbers of a line.
fn numbers_of(line: &str) -> Option<[i64; 3]> {
    let mut parts = line.trim().split(':').map(|part| part.trim().parse::<i64>().ok());
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

impl FromStr for Trail {
    type Err = TrailError;

    fn from_str(text: &str) -> Result<Trail, TrailError> {
        let mut trail = Trail::default();
        let mut claim = false;
        for (at, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line)) {
            if line.trim().is_empty() {
                continue;
            }
            let [depth, process, number] = numbers_of(line).ok_or(TrailError::Line(at))?;
            match depth {
                -1 => trail.cycle = Some(trail.lines.len()),
                -2 => claim = true,
                -4 => trail.merged = true,
                -8..=-5 => return Err(TrailError::Permuted),
                0.. => {
                    let (process, number) = (usize::try_from(process), u32::try_from(number));
                    let (Ok(process), Ok(number)) = (process, number) else { return Err(TrailError::Line(at)) };
                    // The moves of a claim belong to no process.
                    if !(claim && process == 0) {
                        trail.lines.push(Line { process: process - usize::from(claim), number, at });
                        trail.numbers.insert(number);
                    }
                }
                _ => return Err(TrailError::Line(at)),
            }
        }
        Ok(trail)
    }
}

/// A program and the numbers of its transitions. Each number is valid from its address to the next.
pub struct Numbered<'a> {
    interpreter: Interpreter,
    numbers: &'a [(Addr, u32)],
}

/// A step that may correspond to the next lines.
struct Candidate {
    step: TraceStep,
    /// The number of lines that are passed after it.
    line: usize,
    faulty: bool,
}

impl<'a> Numbered<'a> {
    /// A program whose transitions have these numbers.
    pub fn new(program: Arc<Verified>, numbers: &'a [(Addr, u32)]) -> Numbered<'a> {
        Numbered { interpreter: Interpreter::new(program), numbers }
    }

    fn number_at(&self, address: Addr) -> Option<u32> {
        let after = self.numbers.partition_point(|(from, _)| *from <= address);
        Some(self.numbers.get(after.checked_sub(1)?)?.1)
    }

    /// The transitions of a step, each with its process; `None` if some are not known.
    fn transitions(&self, explained: &Explained) -> Option<Vec<(usize, u32)>> {
        let code = &self.interpreter.program().program().code;
        // A `d_step` is one transition, whatever its statements are.
        let ends = |step: Addr| !matches!(code.get(step.index()), Some(Op::Step { mode: Mode::Deterministic }));
        let mut transitions = Vec::new();
        for event in explained.history.events() {
            if let Event::Step { process, step } = event
                && ends(*step)
            {
                transitions.push((*process, self.number_at(*step)?));
            }
        }
        // A step of very many statements is known only if it is one `d_step`.
        if explained.history.omitted().steps > 0 {
            let numbers = explained.history.events().into_iter().filter_map(|event| match event {
                Event::Step { process, step } => Some((*process, self.number_at(*step))),
                _ => None,
            });
            let numbers: HashSet<(usize, Option<u32>)> = numbers.collect();
            if numbers.len() > 1 || transitions.len() > 1 {
                return None;
            }
        }
        // A statement with a fatal fault is not completed.
        if let Some(fault) = explained.fault.filter(|_| explained.state.is_none()) {
            transitions.push((explained.action.process as usize, self.number_at(fault.addr)?));
        }
        Some(transitions)
    }

    /// The trail of a trace of the program.
    pub fn write(&self, trace: &Trace) -> Result<String, TrailError> {
        let mut out = String::new();
        let mut depth = 0;
        for (index, wanted) in trace.steps.iter().enumerate() {
            if trace.loop_start == Some(index) {
                out.push_str("-1:-1:-1\n");
            }
            let other = TrailError::Other(index + 1);
            let state = trace.state_after(index).ok_or(other.clone())?;
            let moves = self.interpreter.explain(state).map_err(|_| other.clone())?;
            let found = moves.iter().find(|found| found.action == wanted.action && found.state == wanted.state).ok_or(other)?;
            for (process, number) in self.transitions(found).ok_or(TrailError::Long(index + 1))? {
                depth += 1;
                // Writing to a `String` cannot fail.
                let _ = writeln!(out, "{depth}:{process}:{number}");
            }
        }
        Ok(out)
    }

    /// The trace that a trail describes.
    pub fn follow(&self, trail: &Trail) -> Result<Trace, TrailError> {
        let mut initial = Successors::new();
        self.interpreter.clone().initial(&mut initial);
        let first = initial.entries().first().and_then(|entry| initial.state(entry)).map(<[u8]>::to_vec);
        let Some(first) = first else { return Ok(Trace::default()) };
        let mut walk = Walk { trail, trace: Trace { initial: first, ..Trace::default() }, passed: vec![0] };
        let mut open = vec![self.candidates(trail, walk.trace.last_state(), 0)];
        let (mut seen, mut tried, mut farthest) = (HashSet::new(), 0, 0);
        let mut whole = None;
        if trail.lines.is_empty() {
            return Ok(walk.trace);
        }
        while let Some(level) = open.last_mut() {
            let Some(Candidate { step, line, faulty }) = level.pop() else {
                open.pop();
                walk.back();
                continue;
            };
            tried += 1;
            if tried > TRIED_MAX {
                return Err(TrailError::TooMany);
            }
            farthest = farthest.max(line);
            let state = step.state.clone();
            walk.go(step, line);
            if line == trail.lines.len() {
                match (trail.cycle, walk.closed()) {
                    (Some(_), Some(start)) => return Ok(Trace { loop_start: Some(start), ..walk.trace }),
                    (None, _) if faulty || !trail.merged || self.is_stuck(state.as_deref()) => return Ok(walk.trace),
                    (None, _) => _ = whole.get_or_insert_with(|| walk.trace.clone()),
                    (Some(_), None) => {}
                }
            }
            // From the same state with the same remaining lines, the search would be the same.
            let key = state.map(|state| (line, walk.cycle_state().map(<[u8]>::to_vec), state));
            match key {
                Some(key) if seen.insert(key.clone()) => open.push(self.candidates(trail, &key.2, line)),
                _ => walk.back(),
            }
        }
        match (whole, trail.lines.get(farthest)) {
            (Some(trace), _) => Ok(trace),
            (None, Some(line)) => Err(TrailError::Lost(line.at, self.lost(line))),
            (None, None) => Err(TrailError::Cycle),
        }
    }

    /// Why a line cannot be followed.
    fn lost(&self, line: &Line) -> String {
        let tables = self.interpreter.program().program();
        let Line { process, number, .. } = *line;
        let address = self.numbers.iter().find(|(_, known)| *known == number).map(|(address, _)| *address);
        match address.and_then(|address| tables.span_at(address)) {
            Some(span) => format!("process {process} cannot execute `{}` (line {} of the model) there", span.text, span.line),
            None => format!("the model has no transition {number}"),
        }
    }

    fn is_stuck(&self, state: Option<&[u8]>) -> bool {
        state.is_some_and(|state| self.interpreter.explain(state).is_ok_and(|moves| moves.is_empty()))
    }

    /// The steps that match the lines from `line` on, the best one last.
    fn candidates(&self, trail: &Trail, state: &[u8], line: usize) -> Vec<Candidate> {
        let mut all = Vec::new();
        for explained in self.interpreter.explain(state).unwrap_or_default() {
            let Some(transitions) = self.transitions(&explained) else { continue };
            let faulty = explained.fault.is_some();
            for line in trail.after(&transitions, line) {
                let step = TraceStep { action: explained.action, state: explained.state.clone() };
                all.push(Candidate { step, line, faulty });
            }
        }
        all.sort_by_key(|candidate| candidate.line);
        all
    }
}

impl Trail {
    /// The numbers of lines that may be passed after these transitions, if `line` lines were passed
    /// before. At the end of the trail a step may have more transitions than there are lines.
    fn after(&self, transitions: &[(usize, u32)], line: usize) -> Vec<usize> {
        let mut reached = vec![line];
        for &(process, number) in transitions {
            let mut next = Vec::new();
            for &line in &reached {
                let is_next = self.lines.get(line).is_some_and(|next| (next.process, next.number) == (process, number));
                let over = line == self.lines.len();
                // A statement that was merged belongs to the process of the line before it.
                let last = line.checked_sub(1).map(|last| self.lines[last].process);
                let merged = self.merged && last == Some(process) && !self.numbers.contains(&number);
                next.extend(is_next.then_some(line + 1));
                next.extend((merged || over && line > 0).then_some(line));
            }
            next.sort_unstable();
            next.dedup();
            reached = next;
        }
        // Without merged statements, each step has its line.
        reached.retain(|&after| self.merged || after > line);
        reached
    }
}

/// The path that is being tried.
struct Walk<'t> {
    trail: &'t Trail,
    trace: Trace,
    /// The number of passed lines in each state of the trace.
    passed: Vec<usize>,
}

impl Walk<'_> {
    fn go(&mut self, step: TraceStep, line: usize) {
        self.trace.steps.push(step);
        self.passed.push(line);
    }

    fn back(&mut self) {
        if self.trace.steps.pop().is_some() {
            self.passed.pop();
        }
    }

    /// The first state of the trace in which all lines before the cycle are passed.
    fn cycle_state(&self) -> Option<&[u8]> {
        let start = self.trail.cycle?;
        self.trace.state_after(self.passed.iter().position(|&line| line == start)?)
    }

    /// The number of steps before the cycle, if the last state is the state where it begins.
    fn closed(&self) -> Option<usize> {
        let start = self.trail.cycle?;
        let last = self.trace.steps.len();
        let ends = |&steps: &usize| self.passed[steps] == start && self.trace.state_after(steps) == Some(self.trace.last_state());
        // A cycle without lines belongs to a claim in a state where no process can move.
        (0..=last).find(|steps| ends(steps) && (*steps < last || start == self.trail.lines.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(process: usize, number: u32, at: usize) -> Line {
        Line { process, number, at }
    }

    #[test]
    fn claims_are_left_out() {
        let trail: Trail = "-2:0:-2\n-4:-4:-4\n1:0:7\n2:1:3\n3:0:8\n-1:-1:-1\n4:2:9\n".parse().expect("a trail");
        let numbers = HashSet::from([3, 9]);
        assert_eq!(trail, Trail { lines: vec![line(0, 3, 4), line(1, 9, 7)], cycle: Some(1), merged: true, numbers });
        let plain: Trail = "1:0:7\n\n2:1:3\n".parse().expect("a trail");
        let numbers = HashSet::from([7, 3]);
        assert_eq!(plain, Trail { lines: vec![line(0, 7, 1), line(1, 3, 3)], cycle: None, merged: false, numbers });
    }

    #[test]
    fn other_texts_are_refused_with_their_line() {
        let error = |text: &str| text.parse::<Trail>().unwrap_err();
        assert_eq!(error("1:0:0\n2:0\n"), TrailError::Line(2));
        assert_eq!(error("1:0:0\n2:0:1:4\n"), TrailError::Line(2));
        assert_eq!(error("1:-3:0\n"), TrailError::Line(1));
        assert_eq!(error("-3:0:0\n"), TrailError::Line(1));
        assert_eq!(error("-5:0:0\n"), TrailError::Permuted);
        assert!(Trail::is_one("\n-4:-4:-4\n") && !Trail::is_one("{}") && !Trail::is_one(""));
    }

    #[test]
    fn lines_stand_for_statements_behind_them_only_if_these_were_merged() {
        let plain: Trail = "1:0:1\n2:0:2\n3:1:5\n".parse().expect("a trail");
        assert_eq!(plain.after(&[(0, 1)], 0), [1]);
        assert_eq!(plain.after(&[(0, 1), (0, 2)], 0), [2]);
        assert_eq!(plain.after(&[(0, 1), (0, 3)], 0), [0; 0]);
        assert_eq!(plain.after(&[(1, 5), (1, 6)], 2), [3], "the last step may go on");
        let merged: Trail = "-4:-4:-4\n1:0:1\n2:1:5\n".parse().expect("a trail");
        assert_eq!(merged.after(&[(0, 1), (0, 2), (0, 3)], 0), [1]);
        assert_eq!(merged.after(&[(0, 2)], 1), [1], "a step of its own");
        assert_eq!(merged.after(&[(1, 4)], 1), [0; 0], "not that of another process");
    }
}
