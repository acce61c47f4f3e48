//! Reads Büchi automata in the Hanoi format (HOA, version 1: Babiak and others 2015).
//!
//! The reader accepts nondeterministic automata with Büchi, generalised Büchi or no acceptance
//! condition, on states or edges, with labels on edges, on states, or implied by the order of
//! edges; aliases; several initial states. It refuses alternating automata and other conditions,
//! with the position. Headers that begin with a capital letter change the meaning, so an unknown
//! one is refused; others are skipped, as the format demands.

use crate::automaton::{Automaton, Cube, Edge, Guard, State};
use crate::bdd::{Bdd, Bdds};
use crate::cursor::Cursor;
use rustc_hash::FxHashMap;
use source::{Diagnostic, FileId};

/// The largest numbers of states, edges and acceptance sets.
const STATES_MAX: usize = 100_000;
const EDGES_MAX: usize = 1_000_000;
const SETS_MAX: usize = 64;
const ATOMS_MAX: usize = 64;
/// Labels implied by the order of edges need two to this many edges a state.
const IMPLIED_ATOMS_MAX: usize = 12;
/// Expressions nested deeper than this are refused.
const DEPTH_MAX: u32 = 200;
/// Nodes of all labels.
const NODES_MAX: usize = 1 << 20;

/// Reads an automaton.
pub fn read(text: &str, file: FileId) -> Result<Automaton, Diagnostic> {
    let mut reader = Reader {
        cursor: Cursor::new(text, file),
        bdds: Bdds::new(NODES_MAX),
        aliases: FxHashMap::default(),
        atoms: None,
        states: None,
        starts: Vec::new(),
        sets: None,
        depth: 0,
        edges: 0,
    };
    reader.header()?;
    let automaton = reader.body()?;
    if reader.bdds.overflowed() {
        return Err(reader.cursor.error_here("the labels of this automaton are too large"));
    }
    Ok(automaton)
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    bdds: Bdds,
    aliases: FxHashMap<&'a str, Bdd>,
    atoms: Option<Vec<String>>,
    states: Option<usize>,
    starts: Vec<usize>,
    /// The number of sets of the automaton, and the sets in the condition.
    sets: Option<(usize, Vec<usize>)>,
    depth: u32,
    edges: usize,
}

/// A label and marks as written in the text.
#[derive(Default)]
struct Decoration {
    label: Option<Bdd>,
    marks: u64,
}

fn word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

impl<'a> Reader<'a> {
    fn skip(&mut self) -> Result<(), Diagnostic> {
        self.cursor.skip(false)
    }

    fn header(&mut self) -> Result<(), Diagnostic> {
        self.skip()?;
        if !self.cursor.take("HOA:") {
            return Err(self.cursor.error_here("an automaton in the Hanoi format begins with `HOA: v1`"));
        }
        self.skip()?;
        let start = self.cursor.at;
        let version = self.cursor.run(word);
        if version != "v1" {
            return Err(self.cursor.error(start, "only version `v1` of the format is read"));
        }
        loop {
            self.skip()?;
            if self.cursor.take("--BODY--") {
                break;
            }
            let start = self.cursor.at;
            let name = self.cursor.run(word);
            if name.is_empty() || !self.cursor.take(":") {
                return Err(self.cursor.error_here("a header such as `States:`, or `--BODY--`, is expected here"));
            }
            self.skip()?;
            match name {
                "States" => self.states = Some(self.cursor.number("the number of states", STATES_MAX)?),
                "Start" => {
                    self.starts.push(self.cursor.number("the number of a state", STATES_MAX)?);
                    self.skip()?;
                    self.refuse_alternation()?;
                }
                "AP" => self.read_atoms(start)?,
                "Acceptance" => self.acceptance()?,
                "Alias" => {
                    if !self.cursor.take("@") {
                        return Err(self.cursor.error_here("a name such as `@a` is expected here"));
                    }
                    let name = self.cursor.run(word);
                    self.skip()?;
                    let label = self.expression()?;
                    self.aliases.insert(name, label);
                }
                _ if name.starts_with(|c: char| c.is_ascii_uppercase()) => {
                    return Err(self
                        .cursor
                        .error(start, format!("the header `{name}` is not known here"))
                        .with_hint("headers with a capital letter change the meaning, so this one cannot be skipped"));
                }
                _ => self.pass_over()?,
            }
        }
        if self.sets.is_none() {
            return Err(self.cursor.error_here("the header `Acceptance:` is missing"));
        }
        Ok(())
    }

    /// Skips the rest of a header: up to the next word with a colon, or the body.
    fn pass_over(&mut self) -> Result<(), Diagnostic> {
        loop {
            self.skip()?;
            let rest = self.cursor.rest();
            if rest.is_empty() || rest.starts_with("--BODY--") {
                return Ok(());
            }
            if rest.starts_with('"') {
                self.string()?;
                continue;
            }
            let length = rest.find(|c| !word(c)).unwrap_or(rest.len());
            if length > 0 && rest[length..].starts_with(':') {
                return Ok(());
            }
            self.cursor.at += length.max(rest.chars().next().map_or(1, char::len_utf8));
        }
    }

    fn refuse_alternation(&mut self) -> Result<(), Diagnostic> {
        if self.cursor.rest().starts_with('&') {
            return Err(self.cursor.error_here("alternating automata are not read"));
        }
        Ok(())
    }

    fn string(&mut self) -> Result<String, Diagnostic> {
        let start = self.cursor.at;
        self.cursor.expect("\"")?;
        let mut text = String::new();
        let mut escaped = false;
        for c in self.cursor.rest().chars() {
            self.cursor.at += c.len_utf8();
            match c {
                '\\' if !escaped => escaped = true,
                '"' if !escaped => return Ok(text),
                c => {
                    text.push(c);
                    escaped = false;
                }
            }
        }
        self.cursor.at = start + 1;
        Err(self.cursor.error(start, "this string is not closed"))
    }

    fn read_atoms(&mut self, start: usize) -> Result<(), Diagnostic> {
        if self.atoms.is_some() {
            return Err(self.cursor.error(start, "there is already an `AP:`"));
        }
        let count = self.cursor.number("the number of atoms", ATOMS_MAX)?;
        let mut atoms = Vec::with_capacity(count);
        for _ in 0..count {
            self.skip()?;
            let start = self.cursor.at;
            let atom = self.string()?;
            if atoms.contains(&atom) {
                return Err(self.cursor.error(start, "this atom is already defined"));
            }
            atoms.push(atom);
        }
        self.atoms = Some(atoms);
        Ok(())
    }

    /// `N Inf(0)&Inf(1)…`, or `N t`.
    fn acceptance(&mut self) -> Result<(), Diagnostic> {
        let count = self.cursor.number("the number of acceptance sets", SETS_MAX)?;
        let mut wanted = Vec::new();
        let mut open = 0usize;
        loop {
            self.skip()?;
            if self.cursor.take("(") {
                open += 1;
                continue;
            }
            let start = self.cursor.at;
            let name = self.cursor.run(word);
            match name {
                "t" => {}
                "Inf" => {
                    self.skip()?;
                    self.cursor.expect("(")?;
                    self.skip()?;
                    if self.cursor.rest().starts_with('!') {
                        return Err(self.cursor.error_here("complemented acceptance sets are not read"));
                    }
                    let start = self.cursor.at;
                    let set = self.cursor.number("the number of an acceptance set", SETS_MAX)?;
                    if set >= count {
                        return Err(self.cursor.error(start, format!("there are only {count} acceptance sets")));
                    }
                    self.skip()?;
                    self.cursor.expect(")")?;
                    if !wanted.contains(&set) {
                        wanted.push(set);
                    }
                }
                _ => {
                    return Err(self
                        .cursor
                        .error(start, "only Büchi and generalised Büchi acceptance is read")
                        .with_hint("the condition must be `t` or `Inf(0)&Inf(1)&…`"));
                }
            }
            loop {
                self.skip()?;
                if open == 0 || !self.cursor.take(")") {
                    break;
                }
                open -= 1;
            }
            if !self.cursor.take("&") {
                break;
            }
        }
        if open > 0 || self.cursor.rest().starts_with('|') {
            return Err(self.cursor.error_here("only Büchi and generalised Büchi acceptance is read"));
        }
        self.sets = Some((count, wanted));
        Ok(())
    }

    /// `a | b | …`
    fn expression(&mut self) -> Result<Bdd, Diagnostic> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.cursor.error_here(format!("labels are nested deeper than {DEPTH_MAX} levels")));
        }
        let mut any = self.conjunction()?;
        loop {
            self.skip()?;
            if !self.cursor.take("|") {
                break;
            }
            let next = self.conjunction()?;
            any = self.bdds.or(any, next);
        }
        self.depth -= 1;
        Ok(any)
    }

    fn conjunction(&mut self) -> Result<Bdd, Diagnostic> {
        let mut all = self.literal()?;
        loop {
            self.skip()?;
            if !self.cursor.take("&") {
                return Ok(all);
            }
            let next = self.literal()?;
            all = self.bdds.and(all, next);
        }
    }

    fn literal(&mut self) -> Result<Bdd, Diagnostic> {
        self.skip()?;
        let mut negated = false;
        while self.cursor.take("!") {
            negated = !negated;
            self.skip()?;
        }
        let start = self.cursor.at;
        let set = if self.cursor.take("(") {
            let inner = self.expression()?;
            self.skip()?;
            self.cursor.expect(")")?;
            inner
        } else if self.cursor.take("@") {
            let name = self.cursor.run(word);
            match self.aliases.get(name) {
                Some(set) => *set,
                None => return Err(self.cursor.error(start, "this alias is not defined above")),
            }
        } else if self.cursor.rest().starts_with(|c: char| c.is_ascii_digit()) {
            let atom = self.cursor.number("the number of an atom", ATOMS_MAX)?;
            let count = self.atoms.as_ref().map_or(0, Vec::len);
            if atom >= count {
                return Err(self.cursor.error(start, format!("there are only {count} atoms")).with_hint("they are counted from 0"));
            }
            self.bdds.literal(atom as u32, true)
        } else {
            match self.cursor.run(word) {
                "t" => Bdd::ALL,
                "f" => Bdd::NONE,
                _ => return Err(self.cursor.error_here("a label is expected here: a number of an atom, `t`, `f`, `!`, or `(`")),
            }
        };
        Ok(if negated { self.bdds.not(set) } else { set })
    }

    /// `[label]` if there is one.
    fn label(&mut self) -> Result<Option<Bdd>, Diagnostic> {
        self.skip()?;
        if !self.cursor.take("[") {
            return Ok(None);
        }
        let label = self.expression()?;
        self.skip()?;
        self.cursor.expect("]")?;
        Ok(Some(label))
    }

    /// `{0 2}` if there are any: only the sets in the condition, in its order.
    fn marks(&mut self) -> Result<u64, Diagnostic> {
        self.skip()?;
        let mut marks = 0;
        if !self.cursor.take("{") {
            return Ok(0);
        }
        loop {
            self.skip()?;
            if self.cursor.take("}") {
                return Ok(marks);
            }
            let start = self.cursor.at;
            let set = self.cursor.number("the number of an acceptance set", SETS_MAX)?;
            let (count, wanted) = self.sets.as_ref().map_or((0, &[][..]), |(count, wanted)| (*count, wanted.as_slice()));
            if set >= count {
                return Err(self.cursor.error(start, format!("there are only {count} acceptance sets")));
            }
            marks |= wanted.iter().position(|w| *w == set).map_or(0, |at| 1 << at);
        }
    }

    fn body(&mut self) -> Result<Automaton, Diagnostic> {
        let mut states: Vec<Option<State>> = Vec::new();
        let mut state_based = true;
        let mut furthest = (0, self.cursor.at);
        loop {
            self.skip()?;
            if self.cursor.take("--END--") {
                break;
            }
            if self.cursor.take("--ABORT--") {
                return Err(self.cursor.error_here("the program that wrote this automaton aborted it (`--ABORT--`)"));
            }
            let start = self.cursor.at;
            if !self.cursor.take("State:") {
                return Err(self.cursor.error_here("`State:` or `--END--` is expected here"));
            }
            let common_label = self.label()?;
            self.skip()?;
            let at = self.cursor.at;
            let number = self.cursor.number("the number of a state", STATES_MAX - 1)?;
            if self.states.is_some_and(|count| number >= count) {
                return Err(self.cursor.error(at, "this state is not one of those announced by `States:`"));
            }
            states.resize(states.len().max(number + 1), None);
            if states[number].is_some() {
                return Err(self.cursor.error(start, format!("state {number} is already defined")));
            }
            self.skip()?;
            if self.cursor.rest().starts_with('"') {
                self.string()?;
            }
            let common = Decoration { label: common_label, marks: self.marks()? };
            let edges = self.edges_of(&common, &mut furthest)?;
            state_based &= edges.windows(2).all(|two| two[0].marks == two[1].marks);
            states[number] = Some(State { edges, accepting: false });
        }
        let count = self.states.unwrap_or(states.len()).max(states.len());
        if furthest.0 >= count && self.edges > 0 {
            self.cursor.at = furthest.1;
            return Err(self.cursor.error_here(format!("an edge leads to state {}, which is not defined", furthest.0)));
        }
        if let Some(start) = self.starts.iter().find(|start| **start >= count) {
            return Err(self.cursor.error_here(format!("the initial state {start} is not defined")));
        }
        states.resize(count, None);
        let mut states: Vec<State> = states.into_iter().map(Option::unwrap_or_default).collect();
        let initial = self.initial(&mut states, &mut state_based);
        let sets = self.sets.as_ref().map_or(0, |(_, wanted)| wanted.len() as u32);
        let state_based = state_based && sets == 1;
        for state in states.iter_mut().filter(|_| state_based) {
            state.accepting = state.edges.first().is_some_and(|edge| edge.marks == 1);
        }
        let atoms = self.atoms.take().unwrap_or_default();
        Ok(Automaton { atoms, states, initial, sets, state_based })
    }

    /// The initial state: a new one if there are several, one without edges if there is none.
    fn initial(&self, states: &mut Vec<State>, state_based: &mut bool) -> usize {
        if let [one] = self.starts.as_slice() {
            return *one;
        }
        let edges: Vec<Edge> = self.starts.iter().flat_map(|start| states[*start].edges.clone()).collect();
        // A run leaves it at once, so its marks do not matter.
        let edges = edges.into_iter().map(|edge| Edge { marks: if *state_based { 0 } else { edge.marks }, ..edge }).collect();
        states.push(State { edges, accepting: false });
        states.len() - 1
    }

    fn edges_of(&mut self, common: &Decoration, furthest: &mut (usize, usize)) -> Result<Vec<Edge>, Diagnostic> {
        let mut found: Vec<(Option<Bdd>, Edge, usize)> = Vec::new();
        loop {
            let at = self.cursor.at;
            let label = self.label()?;
            self.skip()?;
            if label.is_none() && !self.cursor.rest().starts_with(|c: char| c.is_ascii_digit()) {
                break;
            }
            if label.is_some() && common.label.is_some() {
                return Err(self.cursor.error(at, "the state has a label already, so its edges cannot have one"));
            }
            let place = self.cursor.at;
            let target = self.cursor.number("the number of a state", STATES_MAX - 1)?;
            if target > furthest.0 {
                *furthest = (target, place);
            }
            self.skip()?;
            self.refuse_alternation()?;
            let marks = common.marks | self.marks()?;
            self.edges += 1;
            if self.edges > EDGES_MAX {
                return Err(self.cursor.error_here(format!("the automaton has more than {EDGES_MAX} edges")));
            }
            found.push((label.or(common.label), Edge { guard: Guard::default(), marks, target }, place));
        }
        let implied = found.iter().all(|(label, ..)| label.is_none()) && !found.is_empty();
        let atoms = self.atoms.as_ref().map_or(0, Vec::len);
        if implied && (atoms > IMPLIED_ATOMS_MAX || found.len() != 1 << atoms) {
            return Err(self.cursor.error_here("edges without labels must be as many as there are letters, at most 4096"));
        }
        let mut edges = Vec::with_capacity(found.len());
        for (letter, (label, edge, place)) in found.into_iter().enumerate() {
            let guard = match label {
                Some(label) => self.bdds.cubes(label),
                None if implied => {
                    let all = (1u64 << atoms) - 1;
                    Guard { cubes: vec![Cube { positive: letter as u64, negative: all & !(letter as u64) }] }
                }
                None => {
                    self.cursor.at = place;
                    return Err(self.cursor.error_here("this edge has no label, but others of its state have one"));
                }
            };
            edges.push(Edge { guard, ..edge });
        }
        Ok(edges)
    }
}
