//! Decides whether a run of a program is a path of its model.
//!
//! A generated program writes a line for each step: the process, and the line and column of the
//! text that it shares with the model. The model may take further steps in between that only it has
//! (its environment, its abstractions); these are hidden. So the lines are followed by a set of
//! states, as in an automaton with silent moves: all states in which the model can be after the
//! lines so far.
//!
//! The lines of one process are in its own order. The lines of different processes are in an order
//! in which the steps can have happened. A step of several statements is one transition of the
//! model; its statements are then expected from their processes one after the other. A piece of C
//! is one statement of a program, whatever it is made of in the model. Jumps, and further
//! statements at the place of a macro, are steps of the model for which a program may write no
//! line.

use crate::narrator::{Narrator, ReplayError};
use crate::step::{Statement, Step};
use crate::values::Named;
use contract::Position;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

/// The most states that are followed at once, including those reached by hidden steps.
const STATES_MAX: usize = 20_000;
/// The most states whose steps are remembered.
const KNOWN_MAX: usize = 30_000;

/// A line of a program's trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A process began by itself: its number in the operating system, and its type.
    Start(u64, String),
    /// One of the processes that exist from the beginning was started.
    Active(u64, String),
    /// A process started another one.
    Run(u64, u64),
    /// A process executed the statement at this line and column.
    Step(u64, u32, u32),
    /// The values of some variables of a process, or of shared variables.
    Values(u64, Vec<(String, i64)>),
    /// A process stopped at a violation at this line and column; zeros if it was killed.
    Fail(u64, u32, u32),
}

impl Event {
    /// The event of a line.
    pub fn read(line: &str) -> Option<Event> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["start", process, name] => Some(Event::Start(process.parse().ok()?, (*name).to_owned())),
            ["active", _, child, name] => Some(Event::Active(child.parse().ok()?, (*name).to_owned())),
            ["run", parent, child, _] => Some(Event::Run(parent.parse().ok()?, child.parse().ok()?)),
            ["step", process, line, column] => Some(Event::Step(process.parse().ok()?, line.parse().ok()?, column.parse().ok()?)),
            ["fail", process, line, column] => Some(Event::Fail(process.parse().ok()?, line.parse().ok()?, column.parse().ok()?)),
            ["value", process, rest @ ..] if rest.len() % 2 == 0 => {
                let pairs = rest.chunks(2).map(|pair| Some((pair[0].to_owned(), pair[1].parse().ok()?)));
                Some(Event::Values(process.parse().ok()?, pairs.collect::<Option<_>>()?))
            }
            _ => None,
        }
    }
}

/// Why a trace is not a path of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Departure {
    /// The model has no process that this one could be.
    Process,
    /// The model cannot execute this statement there. Contains what it can execute instead.
    Step(Vec<String>),
    /// The model does not have these values there. Contains the values it has instead.
    Values(Vec<String>),
    /// The program stopped at a violation; whether the model has one there too.
    Failed(bool),
    /// Too many states would have to be followed, or a step of the model takes too long.
    Unknown,
}

/// A statement that a program writes after others: its line and column, and whether it may leave it
/// out.
type Expected = (u32, u32, bool);

/// A position of the model that explains the lines so far.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    state: Vec<u8>,
    /// Statements of transitions that have not been written yet, for each process of the model.
    expected: BTreeMap<usize, VecDeque<Expected>>,
    /// The model's process for each process of the program.
    processes: BTreeMap<u64, usize>,
    /// Processes of the model that were started but have not appeared in the program yet.
    fresh: VecDeque<usize>,
    /// The last step of the model was a violation, after which there is nothing.
    broken: bool,
}

/// Follows the lines of a program.
pub struct Conformance<'n> {
    narrator: &'n Narrator,
    /// Whether the statement at a position belongs to the model alone.
    hidden: &'n dyn Fn(&Position) -> bool,
    /// Whether a position is inside a piece of C, which is one statement.
    inside: &'n dyn Fn(&Position) -> bool,
    /// The symbolic name of a value, if it has one.
    symbol: &'n dyn Fn(i64) -> Option<String>,
    /// All statements of the model; other statements are ignored.
    known: BTreeSet<(u32, u32)>,
    /// The process types that the program has; those of the environment are not among them.
    types: BTreeSet<String>,
    places: Vec<Place>,
    actives: BTreeMap<String, usize>,
    /// The steps of states, because the same states occur again and again.
    steps: RefCell<HashMap<Vec<u8>, Rc<Vec<Step>>>>,
    /// The numbers of processes in states.
    counts: RefCell<HashMap<Vec<u8>, usize>>,
}

impl<'n> Conformance<'n> {
    /// Begins in the initial state. `known` contains the line and column of every statement of the
    /// model, and `types` the process types that the program has.
    pub fn new(
        narrator: &'n Narrator,
        hidden: &'n dyn Fn(&Position) -> bool,
        inside: &'n dyn Fn(&Position) -> bool,
        symbol: &'n dyn Fn(i64) -> Option<String>,
        known: BTreeSet<(u32, u32)>,
        types: BTreeSet<String>,
    ) -> Conformance<'n> {
        let (places, actives) = (Vec::new(), BTreeMap::new());
        let (steps, counts) = (RefCell::default(), RefCell::default());
        let mut conformance = Conformance { narrator, hidden, inside, symbol, known, types, places, actives, steps, counts };
        conformance.restart();
        conformance
    }

    /// Begins in the initial state again, for another trace of the same program.
    pub fn restart(&mut self) {
        let state = self.narrator.initial().0.unwrap_or_default();
        let first = Place { state, expected: BTreeMap::new(), processes: BTreeMap::new(), fresh: VecDeque::new(), broken: false };
        self.places = vec![first];
        self.actives.clear();
    }

    /// One of the states in which the model can be.
    pub fn state(&self) -> Option<&[u8]> {
        self.places.first().map(|place| place.state.as_slice())
    }

    /// The number of ways to explain the lines so far.
    pub fn ways(&self) -> usize {
        self.places.len()
    }

    /// Follows one line.
    pub fn follow(&mut self, event: &Event) -> Result<(), Departure> {
        match event {
            Event::Start(process, name) => {
                // A program that only starts the others need not be in the model.
                let number = self.instance(name, 0);
                self.places.iter_mut().for_each(|place| place.processes.extend(number.map(|number| (*process, number))));
                Ok(())
            }
            Event::Active(child, name) => {
                let count = *self.actives.entry(name.clone()).and_modify(|count| *count += 1).or_insert(0);
                let number = self.instance(name, count).ok_or(Departure::Process)?;
                for place in &mut self.places {
                    place.processes.insert(*child, number);
                }
                Ok(())
            }
            Event::Run(_, child) => {
                // The step that started it may be hidden.
                let mut places = self.places.clone();
                if places.iter().all(|place| place.fresh.is_empty()) {
                    places = self.closure(&places)?;
                }
                places.retain(|place| !place.fresh.is_empty());
                for place in &mut places {
                    if let Some(number) = place.fresh.pop_front() {
                        place.processes.insert(*child, number);
                    }
                }
                if places.is_empty() {
                    return Err(Departure::Process);
                }
                self.places = places;
                Ok(())
            }
            Event::Step(process, line, column) => self.step(*process, *line, *column),
            Event::Values(process, values) => self.values(*process, values),
            Event::Fail(process, ..) => Err(self.failed(*process)),
        }
    }

    /// Whether the model has reached a violation in every way that explains the lines.
    pub fn is_broken(&self) -> bool {
        self.places.iter().all(|place| place.broken)
    }

    /// A process stopped at a violation: whether one of the model's is there.
    fn failed(&self, process: u64) -> Departure {
        if self.places.iter().any(|place| place.broken) {
            return Departure::Failed(true);
        }
        let places = match self.closure(&self.places) {
            Ok(places) => places,
            Err(departure) => return departure,
        };
        for place in places {
            let Some(&number) = place.processes.get(&process) else { continue };
            match self.steps(&place.state) {
                Ok(steps) => {
                    if steps.iter().any(|step| step.fault.is_some() && step.first().pid == number) {
                        return Departure::Failed(true);
                    }
                }
                Err(departure) => return departure,
            }
        }
        Departure::Failed(false)
    }

    /// The number of an instance that exists from the beginning.
    fn instance(&self, name: &str, which: usize) -> Option<usize> {
        let initial = self.narrator.initial().0?;
        let view = self.narrator.view(&initial).ok()?;
        view.processes.iter().filter(|process| process.name == name).nth(which).map(|process| process.pid)
    }

    fn is_hidden(&self, statement: &Statement) -> bool {
        // A program writes no line for the end of a process.
        statement.text == "}" || statement.position.as_ref().is_some_and(|position| (self.hidden)(position))
    }

    fn steps(&self, state: &[u8]) -> Result<Rc<Vec<Step>>, Departure> {
        if let Some(steps) = self.steps.borrow().get(state) {
            return Ok(steps.clone());
        }
        let steps = self.narrator.steps(state).map_err(|error| match error {
            ReplayError::State(_) => Departure::Process,
            _ => Departure::Unknown,
        })?;
        let steps = Rc::new(steps);
        remember(&self.steps, state, steps.clone());
        Ok(steps)
    }

    /// The number of processes in a state.
    fn count(&self, state: &[u8]) -> usize {
        if let Some(count) = self.counts.borrow().get(state) {
            return *count;
        }
        let count = self.narrator.view(state).map_or(0, |view| view.processes.len());
        remember(&self.counts, state, count);
        count
    }

    /// The statements of a step that a program writes, and whether it may leave them out.
    fn written(&self, step: &Step) -> Vec<(Arc<Statement>, bool)> {
        let inside = |statement: &Statement| statement.position.as_ref().is_some_and(|position| (self.inside)(position));
        let mut written: Vec<(Arc<Statement>, bool)> = Vec::new();
        for statement in step.statements.iter().filter(|statement| !self.is_hidden(statement) && !inside(statement)) {
            let again = written.last().is_some_and(|(last, _)| last.pid == statement.pid && last.position == statement.position);
            written.push((statement.clone(), again || is_jump(statement)));
        }
        written
    }

    /// All places that can be reached by hidden steps.
    fn closure(&self, from: &[Place]) -> Result<Vec<Place>, Departure> {
        self.reached(from, |_| false)
    }

    /// The places that can be reached by hidden steps, none of which leaves a place at which
    /// `stays` is true.
    fn reached(&self, from: &[Place], mut stays: impl FnMut(&Place) -> bool) -> Result<Vec<Place>, Departure> {
        let mut seen: BTreeSet<Place> = from.iter().cloned().collect();
        let mut todo: Vec<Place> = seen.iter().cloned().collect();
        while let Some(place) = todo.pop() {
            if stays(&place) || place.broken {
                continue;
            }
            for step in self.steps(&place.state)?.iter() {
                let Some(state) = step.state.clone() else { continue };
                if step.statements.iter().any(|statement| !self.is_hidden(statement) && !is_jump(statement)) {
                    continue;
                }
                let mut next = place.clone();
                self.note_new(&place.state, &state, &mut next);
                next.state = state;
                if seen.insert(next.clone()) {
                    if seen.len() > STATES_MAX {
                        return Err(Departure::Unknown);
                    }
                    todo.push(next);
                }
            }
        }
        Ok(seen.into_iter().collect())
    }

    /// Records a process that a step has started. A process of the environment does not exist in
    /// the program.
    fn note_new(&self, before: &[u8], after: &[u8], place: &mut Place) {
        let (old, new) = (self.count(before), self.count(after));
        if new > old
            && let Ok(view) = self.narrator.view(after)
        {
            for process in view.processes.iter().skip(old) {
                if self.types.contains(&process.name) {
                    place.fresh.push_back(process.pid);
                }
            }
        }
        if new < old {
            // The numbers of processes that have ended may be used again.
            place.processes.retain(|_, number| *number < new);
            place.expected.retain(|number, _| *number < new);
        }
    }

    fn step(&mut self, process: u64, line: u32, column: u32) -> Result<(), Departure> {
        if !self.known.contains(&(line, column)) {
            return Ok(());
        }
        let mut next = BTreeSet::new();
        let mut waiting = Vec::new();
        let mut known = false;
        for place in self.places.iter().filter(|place| !place.broken) {
            let Some(&number) = place.processes.get(&process) else { continue };
            known = true;
            let Some(list) = place.expected.get(&number) else {
                waiting.push(place.clone());
                continue;
            };
            let skipped = list.iter().take_while(|(l, c, may_miss)| *may_miss && (*l, *c) != (line, column)).count();
            let mut after = place.clone();
            let rest = after.expected.entry(number).or_default();
            rest.drain(..skipped);
            let found = rest.pop_front().map(|(l, c, _)| (l, c));
            if rest.is_empty() {
                after.expected.remove(&number);
            }
            match found {
                Some(found) if found == (line, column) => drop(next.insert(after)),
                Some(_) => {}
                None => waiting.push(after),
            }
        }
        if !known {
            return Err(Departure::Process);
        }
        let mut instead = BTreeSet::new();
        if !waiting.is_empty() {
            for place in self.closure(&waiting)? {
                let Some(&number) = place.processes.get(&process) else { continue };
                if place.broken {
                    continue;
                }
                for step in self.steps(&place.state)?.iter() {
                    let written = self.written(step);
                    let at = |statement: &Statement| statement.position.as_ref().map_or((0, 0), |p| (p.line, p.column));
                    let here = |(statement, _): &(Arc<Statement>, bool)| statement.pid == number && at(statement) == (line, column);
                    let skipped = written.iter().take_while(|one| one.1 && !here(one)).count();
                    let Some(first) = written.get(skipped).filter(|first| first.0.pid == number) else { continue };
                    if !here(first) {
                        instead.insert(format!("{}:{} {}", at(&first.0).0, at(&first.0).1, first.0.text));
                        continue;
                    }
                    let mut after = place.clone();
                    let Some(state) = step.state.clone().filter(|_| step.fault.is_none()) else {
                        after.broken = true;
                        next.insert(after);
                        continue;
                    };
                    for (statement, may_miss) in &written[skipped + 1..] {
                        let (line, column) = at(statement);
                        after.expected.entry(statement.pid).or_default().push_back((line, column, *may_miss));
                    }
                    self.note_new(&place.state, &state, &mut after);
                    after.state = state;
                    next.insert(after);
                }
            }
        }
        if next.is_empty() {
            return Err(Departure::Step(instead.into_iter().take(8).collect()));
        }
        if next.len() > STATES_MAX {
            return Err(Departure::Unknown);
        }
        self.places = next.into_iter().collect();
        Ok(())
    }

    fn values(&mut self, process: u64, values: &[(String, i64)]) -> Result<(), Departure> {
        let mut other = BTreeSet::new();
        let mut kept = Vec::new();
        // What follows a place with these values by hidden steps is found again with the next line.
        self.reached(&self.places, |place| {
            let Some(&number) = place.processes.get(&process) else { return false };
            let Ok(view) = self.narrator.view(&place.state) else { return false };
            let locals = view.processes.get(number).map_or(&[][..], |process| &process.locals);
            let mut different = Vec::new();
            for (name, value) in values {
                // A variable that the model does not have is ignored.
                let Some(found) = value_of(locals, name).or_else(|| value_of(&view.globals, name)) else { continue };
                if found != value.to_string() && (self.symbol)(*value).as_deref() != Some(found) {
                    different.push(format!("{name} = {found}"));
                }
            }
            let same = different.is_empty();
            if same {
                kept.push(place.clone());
            } else {
                other.insert(different.join(", "));
            }
            same
        })?;
        if kept.is_empty() {
            return Err(Departure::Values(other.into_iter().take(8).collect()));
        }
        self.places = kept;
        Ok(())
    }
}

/// Whether a statement only goes elsewhere: `break`, `goto`, or the end of a choice or a loop.
fn is_jump(statement: &Statement) -> bool {
    let word = statement.text.split(|char: char| !char.is_ascii_alphanumeric() && char != '_').next();
    matches!(word, Some("break" | "goto" | "do" | "if"))
}

/// The value of a variable, or of an element of an array, which is shown as a list. Nothing if the
/// model does not have it or its list is cut.
fn value_of<'v>(known: &'v [Named], name: &str) -> Option<&'v str> {
    if let Some(found) = known.iter().find(|known| known.name == name) {
        return Some(&found.value);
    }
    let (array, index) = name.strip_suffix(']')?.rsplit_once('[')?;
    let list = &known.iter().find(|known| known.name == array)?.value;
    let element = list.strip_prefix('[')?.strip_suffix(']')?.split(", ").nth(index.parse().ok()?)?;
    (!element.contains('…')).then_some(element)
}

/// Adds an entry for a state. A table that is full begins anew.
fn remember<T>(table: &RefCell<HashMap<Vec<u8>, T>>, state: &[u8], value: T) {
    let mut table = table.borrow_mut();
    if table.len() >= KNOWN_MAX {
        table.clear();
    }
    table.insert(state.to_vec(), value);
}
