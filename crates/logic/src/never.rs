//! Reads never claims of the form that translators write: labels, `if` or `do` with guards and
//! `goto`, `skip`.
//!
//! A statement is a state; a label that begins with `accept` makes it accepting. A claim that
//! reaches its end has matched, whatever follows, so its end is a state that accepts everything.
//! The `assert` with which SPIN ends a claim early is such a state too, and so is a last `skip`, as
//! in `accept_all: skip`.

use crate::automaton::{Automaton, State};
use crate::bdd::{Bdd, Bdds};
use crate::convert::letters_of;
use crate::cursor::Cursor;
use crate::formula::Formulas;
use crate::graph::{Edge, Graph};
use crate::parse::parse;
use crate::translate::ATOMS_MAX;
use rustc_hash::{FxHashMap, FxHashSet};
use source::{Diagnostic, FileId, did_you_mean};

const STATES_MAX: usize = 100_000;
const NODES_MAX: usize = 1 << 20;

/// The target of an edge before labels are known.
#[derive(Clone, Copy)]
enum Target<'a> {
    Label(&'a str, usize),
    /// The statement after this one.
    Next,
    /// This statement again.
    Same,
    /// The claim ends.
    End,
}

enum Statement<'a> {
    /// Guards and where they lead.
    Choice(Vec<(Bdd, Target<'a>)>),
    /// A jump to another statement.
    Goto(&'a str, usize),
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    file: FileId,
    /// The texts of the atoms, by number.
    atoms: Vec<String>,
    bdds: Bdds,
    statements: Vec<Statement<'a>>,
    labels: FxHashMap<&'a str, usize>,
    accepting: FxHashSet<usize>,
}

/// Reads a claim.
pub fn read(text: &str, file: FileId) -> Result<Automaton, Diagnostic> {
    let mut reader = Reader {
        cursor: Cursor::new(text, file),
        file,
        atoms: Vec::new(),
        bdds: Bdds::new(NODES_MAX),
        statements: Vec::new(),
        labels: FxHashMap::default(),
        accepting: FxHashSet::default(),
    };
    reader.claim()?;
    reader.automaton()
}

fn word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl<'a> Reader<'a> {
    fn skip(&mut self) -> Result<(), Diagnostic> {
        self.cursor.skip(true)
    }

    /// The next word, without taking it.
    fn peek_word(&self) -> &'a str {
        let rest = self.cursor.rest();
        &rest[..rest.find(|c| !word(c)).unwrap_or(rest.len())]
    }

    fn take_word(&mut self, wanted: &str) -> bool {
        let found = self.peek_word() == wanted;
        self.cursor.at += if found { wanted.len() } else { 0 };
        found
    }

    fn claim(&mut self) -> Result<(), Diagnostic> {
        self.skip()?;
        if !self.take_word("never") {
            return Err(self.cursor.error_here("a never claim begins with `never {`"));
        }
        self.skip()?;
        self.cursor.run(word);
        self.skip()?;
        self.cursor.expect("{")?;
        loop {
            self.skip()?;
            if self.cursor.take("}") {
                break;
            }
            if self.cursor.take(";") {
                continue;
            }
            self.label_or_statement()?;
            if self.statements.len() > STATES_MAX {
                return Err(self.cursor.error_here(format!("the claim has more than {STATES_MAX} statements")));
            }
        }
        self.skip()?;
        if !self.cursor.rest().is_empty() {
            return Err(self.cursor.error_here("nothing may follow the claim"));
        }
        Ok(())
    }

    fn label_or_statement(&mut self) -> Result<(), Diagnostic> {
        let start = self.cursor.at;
        let name = self.peek_word();
        let behind = self.cursor.rest()[name.len()..].trim_start();
        if !name.is_empty() && behind.starts_with(':') && !behind.starts_with("::") {
            self.cursor.at += name.len();
            self.skip()?;
            self.cursor.take(":");
            if self.labels.insert(name, self.statements.len()).is_some() {
                return Err(self.cursor.error(start, format!("the label `{name}` is already defined")));
            }
            if name.starts_with("accept") {
                self.accepting.insert(self.statements.len());
            }
            return Ok(());
        }
        let statement = match name {
            "if" | "do" => {
                self.cursor.at += 2;
                self.options(name == "do")?
            }
            "goto" => {
                let (label, at) = self.goto()?;
                Statement::Goto(label, at)
            }
            _ => {
                let guard = self.guard()?;
                Statement::Choice(vec![(guard, Target::Next)])
            }
        };
        self.statements.push(statement);
        Ok(())
    }

    fn goto(&mut self) -> Result<(&'a str, usize), Diagnostic> {
        self.take_word("goto");
        self.skip()?;
        let at = self.cursor.at;
        let label = self.cursor.run(word);
        if label.is_empty() {
            return Err(self.cursor.error_here("a label must follow `goto`"));
        }
        Ok((label, at))
    }

    fn options(&mut self, repeats: bool) -> Result<Statement<'a>, Diagnostic> {
        let end = if repeats { "od" } else { "fi" };
        let mut options = Vec::new();
        let mut covered = Bdd::NONE;
        loop {
            self.skip()?;
            if self.take_word(end) {
                return Ok(Statement::Choice(options));
            }
            if self.cursor.take(";") {
                continue;
            }
            if !self.cursor.take("::") {
                return Err(self.cursor.error_here(format!("`::` or `{end}` is expected here")));
            }
            self.skip()?;
            let atomic = self.take_word("atomic");
            if atomic {
                self.skip()?;
                self.cursor.expect("{")?;
                self.skip()?;
            }
            let guard = if self.take_word("else") { self.bdds.not(covered) } else { self.guard()? };
            covered = self.bdds.or(covered, guard);
            let target = self.behind_guard(repeats)?;
            if atomic {
                self.skip()?;
                self.cursor.expect("}")?;
            }
            options.push((guard, target));
        }
    }

    /// The target after the guard of an option.
    fn behind_guard(&mut self, repeats: bool) -> Result<Target<'a>, Diagnostic> {
        let mut target = if repeats { Target::Same } else { Target::Next };
        loop {
            self.skip()?;
            if self.cursor.take("->") || self.cursor.take(";") {
                continue;
            }
            match self.peek_word() {
                "goto" => {
                    let (label, at) = self.goto()?;
                    target = Target::Label(label, at);
                }
                "break" => {
                    self.take_word("break");
                    target = Target::Next;
                }
                "assert" => {
                    self.take_word("assert");
                    self.guard()?;
                    target = Target::End;
                }
                "skip" => {
                    self.take_word("skip");
                }
                "fi" | "od" => return Ok(target),
                _ if self.cursor.rest().starts_with("::") || self.cursor.rest().starts_with('}') => return Ok(target),
                _ => {
                    return Err(self
                        .cursor
                        .error_here("only `goto`, `skip`, `break` and `assert` may follow a guard here")
                        .with_hint("other claims are read as a part of a model, by `everypath check`"));
                }
            }
        }
    }

    /// The letters of the next expression.
    fn guard(&mut self) -> Result<Bdd, Diagnostic> {
        let start = self.cursor.at;
        let bytes = self.cursor.text.as_bytes();
        let (mut at, mut depth) = (start, 0usize);
        while at < bytes.len() {
            let rest = &bytes[at..];
            let word_begins = at == start || !word(bytes[at - 1] as char);
            match rest[0] {
                b'(' | b'[' => depth += 1,
                b')' | b']' if depth > 0 => depth -= 1,
                _ if depth > 0 => {}
                b';' | b'}' => break,
                _ if rest.starts_with(b"->") || rest.starts_with(b"::") || rest.starts_with(b"/*") => break,
                _ if word_begins
                    && (rest.starts_with(b"fi") || rest.starts_with(b"od"))
                    && !rest.get(2).is_some_and(|c| word(*c as char)) =>
                {
                    break;
                }
                b'\n' if !self.cursor.text[start..at].trim().is_empty() => break,
                _ => {}
            }
            at += 1;
        }
        let text = &self.cursor.text[start..at];
        // A table for each guard, so that a long claim is read in linear time; the atoms are the
        // same in all.
        let mut formulas = Formulas::new();
        for atom in &self.atoms {
            formulas.atom_number(atom);
        }
        let parsed = parse(&mut formulas, text, self.file, start)?;
        self.cursor.at = at;
        if formulas.atoms().len() > ATOMS_MAX {
            return Err(self.cursor.error(start, format!("the claim has more than {ATOMS_MAX} atoms")));
        }
        self.atoms = formulas.atoms().to_vec();
        match letters_of(&formulas, parsed.root, &mut self.bdds) {
            Some(letters) => Ok(letters),
            None => Err(self.cursor.error(start, "a temporal operator is not allowed in the guard of a claim")),
        }
    }

    fn place(&self, label: &str, at: usize) -> Result<usize, Diagnostic> {
        self.labels.get(label).copied().ok_or_else(|| {
            let message = format!("there is no label `{label}`");
            let span = source::Span::new(self.file, at, at + label.len());
            Diagnostic::error(span, message).with_hint_opt(did_you_mean(label, self.labels.keys().copied()))
        })
    }

    /// For each statement, the statement that is executed after all jumps; the end of the claim is
    /// mapped to itself, and a `skip` before it to the end.
    fn resolved(&self) -> Result<Vec<usize>, Diagnostic> {
        let end = self.statements.len();
        let mut known: Vec<Option<usize>> = vec![None; end + 1];
        for start in 0..=end {
            let (mut place, mut path) = (start, Vec::new());
            let found = loop {
                match (known[place], self.statements.get(place)) {
                    (Some(found), _) => break found,
                    (None, Some(Statement::Goto(label, at))) => {
                        path.push(place);
                        if path.len() > end {
                            return Err(self.cursor.error_here("the claim follows `goto` for ever"));
                        }
                        place = self.place(label, *at)?;
                    }
                    (None, Some(Statement::Choice(options))) if place + 1 == end && matches!(options[..], [(Bdd::ALL, Target::Next)]) => {
                        path.push(place);
                        place = end;
                    }
                    _ => break place,
                }
            };
            path.into_iter().chain([start]).for_each(|place| known[place] = Some(found));
        }
        Ok(known.into_iter().map(|place| place.unwrap_or(end)).collect())
    }

    fn automaton(mut self) -> Result<Automaton, Diagnostic> {
        let end = self.statements.len();
        let resolved = self.resolved()?;
        let mut graph = Graph { edges: Vec::with_capacity(end + 1), initial: resolved[0] as u32, sets: 1 };
        for (number, statement) in self.statements.iter().enumerate() {
            let mark = u64::from(self.accepting.contains(&number));
            let mut edges = Vec::new();
            if let Statement::Choice(options) = statement {
                for (guard, target) in options {
                    let target = match *target {
                        Target::Label(label, at) => resolved[self.place(label, at)?],
                        Target::Next => resolved[number + 1],
                        Target::Same => number,
                        Target::End => end,
                    };
                    edges.push(Edge { guard: *guard, marks: mark, target: target as u32 });
                }
            }
            graph.edges.push(edges);
        }
        graph.edges.push(vec![Edge { guard: Bdd::ALL, marks: 1, target: end as u32 }]);
        let accepting: Vec<bool> = (0..=end).map(|state| state == end || self.accepting.contains(&state)).collect();
        let mut automaton = graph.open(&self.atoms, true, &mut self.bdds);
        for (state, accepting) in automaton.states.iter_mut().zip(accepting) {
            let state: &mut State = state;
            state.accepting = accepting;
        }
        if self.bdds.overflowed() {
            return Err(self.cursor.error_here("the guards of this claim are too large"));
        }
        Ok(automaton)
    }
}
