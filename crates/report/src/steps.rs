//! Steps and states as text.

use crate::fold::{Piece, again_text, pieces};
use crate::look::{Detail, Look, wrapped};
use crate::outcome::fault_text;
use crate::text::count;
use contract::Position;
use replay::{Choice, Named, Narrator, ProcessView, Statement, Step, View};
use source::printable;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

/// If a step has more statements than this, the first and the last ones are shown.
const STATEMENTS_MAX: usize = 100;
/// If a step has more warnings than this, the first ones are shown.
const WARNINGS_MAX: usize = 50;

/// Writes steps one after the other and remembers the state between them, so that it can show what
/// each step changed.
pub struct Printer<'p> {
    narrator: &'p Narrator,
    view: Option<View>,
    number: usize,
    look: Look,
    columns: Columns,
    kept: Option<&'p [bool]>,
}

/// The column at which lines are wrapped if the output is not a terminal.
const WIDTH: usize = 100;
/// Names of processes and positions that are longer than this do not move the columns after them.
const WHO_MAX: usize = 20;
const PLACE_MAX: usize = 32;

/// The columns of a list of statements: process, position, statement. They are as wide as the list
/// needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns {
    who: usize,
    place: usize,
    /// Whether files are shown without their folders, because their last parts are all different.
    short: bool,
}

impl Default for Columns {
    fn default() -> Columns {
        Columns { who: 16, place: 20, short: true }
    }
}

impl Columns {
    /// The columns for these processes and positions.
    pub fn of<'a>(who: impl Iterator<Item = (&'a str, usize)>, places: impl Iterator<Item = &'a Position>) -> Columns {
        let who = who.map(|(name, pid)| name.chars().count() + 2 + pid.to_string().len()).max().unwrap_or(0);
        let (mut files, mut short) = (HashMap::new(), true);
        let mut longest = HashMap::new();
        for at in places {
            short &= *files.entry(last_part(&at.file)).or_insert(&at.file) == &at.file;
            let line: &mut u32 = longest.entry(&at.file).or_insert(at.line);
            *line = at.line.max(*line);
        }
        let places = longest.iter().map(|(file, line)| place_text(file, *line, short).chars().count());
        let place = places.max().unwrap_or(0);
        Columns { who: who.min(WHO_MAX), place: place.min(PLACE_MAX), short }
    }

    /// The columns for the statements of these steps.
    fn of_steps(steps: &[Step]) -> Columns {
        let statements = || steps.iter().flat_map(|step| &step.statements);
        Columns::of(statements().map(|told| (told.process.as_str(), told.pid)), statements().filter_map(|told| told.position.as_ref()))
    }

    /// A line of the list.
    pub fn line(&self, who: &str, at: Option<&Position>, what: &str) -> String {
        let place = at.map(|at| place_text(&at.file, at.line, self.short)).unwrap_or_default();
        printable(&format!("{who:<0$}  {place:<1$}  {what}", self.who, self.place))
    }
}

fn last_part(file: &str) -> &str {
    Path::new(file).file_name().and_then(|name| name.to_str()).unwrap_or(file)
}

fn place_text(file: &str, line: u32, short: bool) -> String {
    format!("{}:{line}", if short { last_part(file) } else { file })
}

impl<'p> Printer<'p> {
    /// A printer for steps that begin in `state`.
    pub fn new(narrator: &'p Narrator, state: &[u8]) -> Printer<'p> {
        Printer { narrator, view: narrator.view(state).ok(), number: 0, look: Look::default(), columns: Columns::default(), kept: None }
    }

    /// A printer for steps that continue from `state`, after a number of other steps.
    pub fn after(narrator: &'p Narrator, state: &[u8], steps: usize) -> Printer<'p> {
        Printer { number: steps, ..Printer::new(narrator, state) }
    }

    /// The printer with another appearance.
    pub fn looking(self, look: Look) -> Printer<'p> {
        Printer { look, ..self }
    }

    /// The printer that shows only these steps of a trace.
    pub fn keeping(self, kept: Option<&'p [bool]>) -> Printer<'p> {
        Printer { kept, ..self }
    }

    /// Writes all steps of a trace and marks the beginning of a loop. Repetitions are shown once,
    /// and on a terminal the middle of a long trace is left out.
    pub fn trace(&mut self, steps: &[Step], loop_start: Option<usize>) -> String {
        self.columns = Columns::of_steps(steps);
        let mut out = String::new();
        if steps.is_empty() {
            out.push_str("in the initial state, before any step\n");
        }
        let pieces = pieces(steps, self.kept, self.look.detail != Detail::Verbose, loop_start);
        let cut = self.look.cut(pieces.len());
        let begin = |piece: &Piece| match piece {
            Piece::Step(index) => *index,
            Piece::Folded(steps) | Piece::Again { steps, .. } => steps.start,
        };
        for (number, piece) in pieces.iter().enumerate() {
            let hidden = cut.as_ref().is_some_and(|cut| cut.contains(&number));
            if let Some(cut) = cut.as_ref().filter(|cut| cut.start == number) {
                let steps = pieces.get(cut.end).map_or(steps.len(), begin) - begin(piece);
                let all = self.look.in_full.map_or_else(|| "`--verbose` shows all".to_owned(), |command| format!("to see all: {command}"));
                let _ = writeln!(out, "   …  {} steps are not shown here; {all}", count(steps as u64));
            }
            if loop_start == Some(begin(piece)) {
                let _ = writeln!(out, "{}", self.look.strong("from here on, again and again:"));
            }
            let text = match piece {
                Piece::Step(index) if hidden => self.pass(&steps[*index]),
                Piece::Step(index) => self.step(&steps[*index]),
                Piece::Folded(range) => {
                    let told = self.folded_text(&steps[range.clone()]);
                    steps[range.clone()].iter().for_each(|step| drop(self.pass(step)));
                    told
                }
                Piece::Again { block, times, steps: range } => self.again(*block, *times, &steps[range.clone()]),
            };
            if !hidden {
                out.push_str(&text);
            }
        }
        out
    }

    /// Steps on which the end does not depend, in a line.
    fn folded_text(&self, steps: &[Step]) -> String {
        let mut who: Vec<String> = steps.iter().map(|step| format!("{}({})", step.first().process, step.first().pid)).collect();
        who.sort();
        who.dedup();
        let text = match steps.len() {
            1 => format!("1 step of {} is folded", who.join(", ")),
            many => format!("{} steps of {} are folded", count(many as u64), who.join(", ")),
        };
        format!("{}\n", self.look.faint(&self.look.fit(format!("   …  {text}"))))
    }

    /// The repetitions of a block after the first, and the values after the last.
    fn again(&mut self, block: usize, times: usize, steps: &[Step]) -> String {
        let before = self.view.clone();
        steps.iter().for_each(|step| drop(self.pass(step)));
        let mut out = format!("{}\n", self.look.faint(&format!("   …  {}", again_text(block, times, self.number))));
        if let (Some(before), Some(after)) = (&before, &self.view) {
            out.push_str(&self.changed(before, after));
        }
        out
    }

    fn changed(&self, before: &View, after: &View) -> String {
        let text = wrapped(&changes_text(before, after), ", ", 8, self.look.width.unwrap_or(WIDTH));
        text.lines().map(|line| format!("{}\n", self.look.value(line))).collect()
    }

    /// Advances past a step without writing it.
    fn pass(&mut self, step: &Step) -> String {
        self.number += 1;
        if let Some(after) = step.state.as_deref().and_then(|state| self.narrator.view(state).ok()) {
            self.view = Some(after);
        }
        String::new()
    }

    /// Writes the next step: its statements, its output, its changes, its fault.
    pub fn step(&mut self, step: &Step) -> String {
        self.number += 1;
        let look = self.look;
        let mut out = String::new();
        let shown = step.shown(STATEMENTS_MAX);
        for (index, statement) in shown.first.iter().chain(shown.last).enumerate() {
            // Writing to a `String` cannot fail.
            if index == shown.first.len() {
                let _ = writeln!(out, "      … {} more statements …", count(shown.hidden));
            }
            let number = if index == 0 { format!("{:>4}", self.number) } else { " ".repeat(4) };
            let _ = writeln!(out, "{}", look.fit(format!("{number}  {}", self.statement(statement))));
        }
        for line in step.printed.lines() {
            let _ = writeln!(out, "        prints: {}", printable(line));
        }
        for warning in step.warnings.iter().take(WARNINGS_MAX) {
            let _ = writeln!(out, "        {} {}", look.doubtful("warning:"), printable(warning));
        }
        if let Some(more @ 1..) = step.warnings.len().checked_sub(WARNINGS_MAX) {
            let _ = writeln!(out, "        … {} more warnings …", count(more as u64));
        }
        if let Some(fault) = &step.fault {
            let _ = writeln!(out, "        {}", look.bad(&fault_text(fault)));
            if let Some(because) = &step.because {
                let _ = writeln!(out, "        {}", printable(because));
            }
        }
        let after = step.state.as_deref().and_then(|state| self.narrator.view(state).ok());
        if let (Some(before), Some(after)) = (&self.view, &after) {
            out.push_str(&self.changed(before, after));
        }
        if after.is_some() {
            self.view = after;
        }
        out
    }

    /// A statement in a line: process, position, statement.
    fn statement(&self, statement: &Statement) -> String {
        let who = format!("{}({})", statement.process, statement.pid);
        let origin = origin_text(statement.origin.as_ref(), statement.position.as_ref());
        self.columns.line(&who, statement.position.as_ref(), &format!("{}{origin}", printable(&statement.text)))
    }
}

/// The values that differ in a later state. Of an array only the changed elements are shown.
fn changes_text(before: &View, after: &View) -> Vec<String> {
    let old: HashMap<String, String> = before.values().into_iter().map(|named| (named.name, named.value)).collect();
    let tell = |Named { name, value }: Named| {
        let elements = |text: &str| -> Option<Vec<String>> {
            let inside = text.strip_prefix('[')?.strip_suffix(']')?;
            // The elements that are left out are told by names of their own.
            let inside = inside.split_once(" … ").map_or(inside, |(shown, _)| shown);
            Some(inside.split(", ").map(str::to_owned).collect())
        };
        // The messages of a channel are separated by spaces alone.
        match old.get(&name).and_then(|old| elements(old)).zip(elements(&value)) {
            Some((old, new)) if old.len() == new.len() && new.len() > 1 => {
                let changed = old.iter().zip(&new).enumerate().filter(|(_, (old, new))| old != new);
                changed.map(|(index, (_, new))| printable(&format!("{name}[{index}] = {new}"))).collect()
            }
            _ => vec![printable(&format!("{name} = {value}"))],
        }
    };
    after.changes(before).into_iter().flat_map(tell).collect()
}

/// The own position of a statement from a macro or an inline, in words after it.
pub(crate) fn origin_text(origin: Option<&Position>, position: Option<&Position>) -> String {
    match (origin, position) {
        (Some(from), Some(at)) if from.file == at.file => format!("  (from line {})", from.line),
        (Some(from), _) => format!("  (from {}:{})", from.file, from.line),
        (None, _) => String::new(),
    }
}

/// If at least so many processes in a row say the same, only the first of them is shown.
const ALIKE_MIN: usize = 5;

/// Processes, each with those after it that need not be shown because they say the same.
pub(crate) fn alike<'p, T>(processes: &'p [T], same: impl Fn(&T, &T) -> bool, look: &Look) -> Vec<(&'p T, &'p [T])> {
    let runs = processes.chunk_by(same);
    let fold = |run: &'p [T]| match run {
        [first, others @ ..] if run.len() >= ALIKE_MIN && look.detail != Detail::Verbose => vec![(first, others)],
        run => run.iter().map(|process| (process, &[][..])).collect(),
    };
    runs.flat_map(fold).collect()
}

/// The location of each process of a state, and the statements among which it chooses there or for
/// which it waits.
pub fn processes_text(narrator: &Narrator, state: &[u8], look: &Look) -> String {
    let Ok(view) = narrator.view(state) else { return String::new() };
    let options = narrator.options(state);
    let places = options.iter().flatten().filter_map(|choice| choice.position.as_ref());
    let places = places.chain(view.processes.iter().filter_map(|process| process.position.as_ref()));
    let columns = Columns::of(view.processes.iter().map(|process| (process.name.as_str(), process.pid)), places);
    let mut out = String::new();
    // Processes of one type that are at the same statement say the same.
    let same = |a: &ProcessView, b: &ProcessView| {
        (&a.name, a.may_end, &a.position) == (&b.name, b.may_end, &b.position) && options.get(a.pid) == options.get(b.pid)
    };
    for (process, others) in alike(&view.processes, same, look) {
        let who = format!("{}({})", process.name, process.pid);
        let end = if process.may_end { "  (may end here)" } else { "" };
        let mut line = |who: &str, at: Option<&Position>, statement: &str, end: &str| {
            let line = columns.line(who, at, &format!("{}{end}", printable(statement)));
            // Writing to a `String` cannot fail.
            let _ = writeln!(out, "{}", look.fit(format!("      {line}")));
        };
        match options.get(process.pid).map(Vec::as_slice) {
            Some([first, others @ ..]) => {
                let mut option = |who: &str, choice: &Choice, end: &str| {
                    let origin = origin_text(choice.origin.as_ref(), choice.position.as_ref());
                    line(who, choice.position.as_ref(), &choice.statement, &format!("{origin}{end}"));
                };
                option(&who, first, end);
                others.iter().for_each(|other| option("  or", other, ""));
            }
            _ => line(&who, process.position.as_ref(), &process.statement, end),
        }
        if let [.., last] = others {
            let _ = writeln!(out, "        … and {} more like it, to {}({})", count(others.len() as u64), last.name, last.pid);
        }
    }
    if view.processes.is_empty() {
        out.push_str("      no process is left\n");
    }
    out
}

/// All values of a state, one per line.
pub fn values_text(narrator: &Narrator, state: &[u8]) -> String {
    let Ok(view) = narrator.view(state) else { return String::new() };
    let mut out = String::new();
    for named in view.values() {
        let _ = writeln!(out, "{}", printable(&format!("        {} = {}", named.name, named.value)));
    }
    out
}
