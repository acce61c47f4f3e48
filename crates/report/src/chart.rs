//! A trace as a picture, in the manner of message sequence charts (ITU-T Z.120).
//!
//! Each process has a lifeline that begins where the process is created and ends where it
//! terminates; time runs downwards, with one row for each step. Arrows show interactions: a
//! rendezvous, a message that passes through a channel, a creation. The output is SVG text, or a
//! page of HTML with the picture and the same information in tables. Both are self-contained: no
//! script, no font, no external resource.
//!
//! The contents of the chart are collected here; [`svg`] and [`page`] only draw them. All text from
//! a model or a trace file passes through [`markup`], which shortens and escapes it, so that a
//! hostile name stays plain text and a chart stays small.

pub(crate) mod markup;
mod messages;
mod page;
mod svg;

use crate::fold::{Piece, again_text, pieces};
use crate::json::ViolationJson;
use crate::witness::Witness;
use contract::ViolationKind;
use messages::{Event, Mailbox, Message};
use replay::{Named, Narrator, ProcessView, Statement, Step, View};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The middle of a longer trace is not shown; a chart with more rows would be unreadable.
const STEPS_MAX: usize = 2_000;
/// The most statements of a step that are shown.
const STATEMENTS_MAX: usize = 100;

/// A trace, ready to be drawn.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The model's name.
    model: String,
    /// The number of steps of the trace, shown or not.
    steps: usize,
    /// The values at the beginning.
    initial: Vec<Named>,
    rows: Vec<Row>,
    lives: Vec<Life>,
    messages: Vec<Message>,
    /// The locations of the processes at the end.
    ends: Vec<ProcessView>,
    violation: Option<ViolationJson>,
}

/// The contents of one row.
#[derive(Clone, Debug)]
enum Row {
    Step(StepRow),
    /// The beginning of the loop that the end of the trace closes.
    Loop,
    /// Steps that are not shown: the number of the first, and why, in words.
    Gap {
        first: usize,
        text: String,
    },
}

/// A step.
#[derive(Clone, Debug)]
struct StepRow {
    /// From 1.
    number: usize,
    /// The processes that take part, the initiator first.
    moments: Vec<Moment>,
    printed: String,
    changes: Vec<Named>,
    /// The fault, in a sentence.
    fault: Option<String>,
}

/// The part of one process in a step: at least one statement.
#[derive(Clone, Debug)]
struct Moment {
    pid: usize,
    statements: Vec<Arc<Statement>>,
}

/// The lifetime of a process. Process numbers are reused, so the number alone does not identify a
/// process.
#[derive(Clone, Debug)]
struct Life {
    pid: usize,
    name: String,
    /// The step that created it; 0 for those that exist from the start.
    born: usize,
    /// The process that created it, if there is one.
    parent: Option<usize>,
    /// The step in which it ended.
    died: Option<usize>,
}

impl Chart {
    /// The chart of a trace whose replayed steps are `steps`. Repetitions are shown once if
    /// `folding`.
    pub fn new(narrator: &Narrator, witness: &Witness, steps: &[Step], folding: bool) -> Chart {
        let gaps = gaps(&pieces(steps, None, folding, witness.trace.loop_start));
        let is_hidden = |number: usize| gaps.range(..=number).next_back().is_some_and(|(_, (end, _))| number < *end);
        let mut chart = Chart {
            model: witness.model.clone(),
            steps: steps.len(),
            initial: Vec::new(),
            rows: Vec::new(),
            lives: Vec::new(),
            messages: Vec::new(),
            ends: Vec::new(),
            violation: witness.violation.clone(),
        };
        let mut now = narrator.view(&witness.trace.initial).ok();
        let mut alive = Vec::new();
        let mut mail = Mailbox::new(narrator, &witness.trace.initial);
        if let Some(view) = &now {
            chart.initial = view.values();
            chart.follow(&mut alive, 0, None, view);
        }
        for (index, step) in steps.iter().enumerate() {
            let number = index + 1;
            if witness.trace.loop_start == Some(index) {
                chart.rows.push(Row::Loop);
            }
            let after = step.state.as_deref().and_then(|state| narrator.view(state).ok());
            if let Some((_, text)) = gaps.get(&number) {
                chart.rows.push(Row::Gap { first: number, text: text.clone() });
            } else if !is_hidden(number) {
                let changes = match (&now, &after) {
                    (Some(before), Some(after)) => after.changes(before),
                    _ => Vec::new(),
                };
                chart.rows.push(Row::Step(StepRow::new(number, step, changes)));
            }
            if let (Some(state), Some(after)) = (&step.state, after) {
                let by = step.first().pid;
                chart.follow(&mut alive, number, Some(by), &after);
                let received = mail.step(narrator, state, Event { step: number, pid: by });
                let shown = |message: &Message| !is_hidden(message.sent.step) && !is_hidden(message.received.step);
                chart.messages.extend(received.into_iter().filter(shown));
                now = Some(after);
            }
        }
        // Lifetimes that begin and end among the hidden steps are not shown either.
        chart.lives.retain(|life| !(is_hidden(life.born) && life.died.is_some_and(is_hidden)));
        chart.ends = now.map(|view| view.processes).unwrap_or_default();
        let options = narrator.options(witness.trace.last_state());
        for (process, options) in chart.ends.iter_mut().zip(options).filter(|(_, options)| options.len() > 1) {
            process.statement = options.iter().map(|choice| choice.statement.as_str()).collect::<Vec<_>>().join(" or ");
        }
        chart
    }

    /// Ends the lifetimes of processes that are gone after a step, and begins those of new ones.
    /// `alive` contains the indices in `lives` of those that have not ended, so that the time does
    /// not grow with the number of ended lifetimes.
    fn follow(&mut self, alive: &mut Vec<usize>, step: usize, by: Option<usize>, after: &View) {
        let lives = &mut self.lives;
        alive.retain(|&index| {
            let life = &mut lives[index];
            let there = after.processes.iter().any(|process| process.pid == life.pid && process.name == life.name);
            if !there {
                life.died = Some(step);
            }
            there
        });
        for process in &after.processes {
            if !alive.iter().any(|&index| lives[index].pid == process.pid) {
                alive.push(lives.len());
                lives.push(Life { pid: process.pid, name: process.name.clone(), born: step, parent: by, died: None });
            }
        }
    }

    /// The chart as an SVG document.
    pub fn svg(&self) -> String {
        svg::document(self)
    }

    /// The chart and a table of its steps as an HTML page.
    pub fn html(&self) -> String {
        page::document(self)
    }

    /// The title of the chart, in a line.
    fn title(&self) -> String {
        let steps = if self.steps == 1 { "step" } else { "steps" };
        format!("{}: {} {steps}", self.model, crate::text::count(self.steps as u64))
    }

    /// The violation at the end, in a line.
    fn verdict(&self) -> Option<String> {
        let violation = self.violation.as_ref()?;
        let place = crate::text::place(violation.file.as_deref(), violation.line, violation.column);
        let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
        Some(format!("violated: {}{place}", violation.message))
    }

    /// Whether a step creates more than one process.
    fn has_family(&self, step: usize) -> bool {
        step > 0 && self.lives.iter().filter(|life| life.born == step).count() > 1
    }

    /// Whether this process is blocked at the end.
    fn stuck(&self, process: &ProcessView) -> bool {
        let deadlock = self.violation.as_ref().is_some_and(|violation| violation.kind == ViolationKind::Deadlock.name());
        deadlock && !process.may_end
    }
}

impl StepRow {
    fn new(number: usize, step: &Step, changes: Vec<Named>) -> StepRow {
        let mut moments: Vec<Moment> = Vec::new();
        let shown = step.shown(STATEMENTS_MAX);
        // A hidden part has a place in the row like a visible statement.
        let hidden = shown.last.first().map(|next| {
            let text = format!("… {} more statements …", crate::text::count(shown.hidden));
            Arc::new(Statement { position: None, text, ..Statement::clone(next) })
        });
        for statement in shown.first.iter().chain(&hidden).chain(shown.last) {
            match moments.iter_mut().find(|moment| moment.pid == statement.pid) {
                Some(moment) => moment.statements.push(Arc::clone(statement)),
                None => moments.push(Moment { pid: statement.pid, statements: vec![Arc::clone(statement)] }),
            }
        }
        let because = step.because.as_ref().map(|because| format!("; {because}")).unwrap_or_default();
        let fault = step.fault.as_ref().map(|fault| format!("{}{because}", crate::fault_text(fault)));
        StepRow { number, moments, printed: step.printed.clone(), changes, fault }
    }
}

impl Moment {
    /// The statements in a line.
    fn text(&self) -> String {
        self.statements.iter().map(|statement| statement.text.as_str()).collect::<Vec<_>>().join("; ")
    }

    /// The position of the first statement, without the folder.
    fn place(&self) -> String {
        self.statements.first().map_or_else(String::new, |statement| short_place(statement.position.as_ref()))
    }

    /// The full text: process, position and statement, one line for each statement.
    fn story(&self) -> String {
        let line = |statement: &Arc<Statement>| {
            let place = statement.position.as_ref().map(|at| format!(" {at}")).unwrap_or_default();
            format!("{}({}){place}: {}", statement.process, statement.pid, statement.text)
        };
        self.statements.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// A file without its folder, and a line.
fn short_place(position: Option<&contract::Position>) -> String {
    let file = |at: &contract::Position| at.file.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    position.map_or_else(String::new, |at| format!("{}:{}", file(at), at.line))
}

/// The steps that are not shown, by the number of the first of each gap, from 1: the number after
/// the last, and words about them. They are repetitions and, in a long trace, the middle.
fn gaps(pieces: &[Piece]) -> BTreeMap<usize, (usize, String)> {
    let mut gaps = BTreeMap::new();
    let mut visible = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Step(index) => visible.push(index + 1),
            Piece::Folded(steps) => visible.extend(steps.start + 1..steps.end + 1),
            Piece::Again { block, times, steps } => {
                let text = format!("… {} …", again_text(*block, *times, steps.end));
                gaps.insert(steps.start + 1, (steps.end + 1, text));
            }
        }
    }
    if visible.len() > STEPS_MAX {
        let (first, end) = (visible[STEPS_MAX / 2], visible[visible.len() - STEPS_MAX / 2]);
        gaps.retain(|&start, _| start < first || start >= end);
        gaps.insert(first, (end, format!("… {} steps are not shown …", crate::text::count((end - first) as u64))));
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first step of each gap and the step after it.
    fn ranges(pieces: &[Piece]) -> Vec<(usize, usize)> {
        gaps(pieces).into_iter().map(|(first, (end, _))| (first, end)).collect()
    }

    #[test]
    fn the_middle_of_a_long_trace_is_hidden() {
        let steps = |count: usize| (0..count).map(Piece::Step).collect::<Vec<_>>();
        assert_eq!(ranges(&[]), []);
        assert_eq!(ranges(&steps(STEPS_MAX)), []);
        assert_eq!(ranges(&steps(STEPS_MAX + 1)), [(1_001, 1_002)]);
        assert_eq!(ranges(&steps(5_000)), [(1_001, 4_001)]);
    }

    #[test]
    fn repetitions_are_hidden() {
        let again = |steps: std::ops::Range<usize>| Piece::Again { block: 1, times: steps.len(), steps };
        assert_eq!(ranges(&[Piece::Step(0), again(1..9), Piece::Step(9)]), [(2, 10)]);
        // A repetition in the middle that is hidden anyway is not told.
        let steps = |range: std::ops::Range<usize>| range.map(Piece::Step);
        let long: Vec<Piece> = steps(0..2_000).chain([again(2_000..3_000)]).chain(steps(3_000..5_000)).collect();
        assert_eq!(ranges(&long), [(1_001, 4_001)]);
    }
}
