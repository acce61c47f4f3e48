//! Random properties of programs, and a plain way to decide them: the program's graph, with the
//! position in the property beside each state.

use super::evaluate::Machine;
use super::state::State;
use super::text::condition;
use super::{Condition, Program, Relation, Value, Var, WIDE};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// A question that a property asks.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Question {
    /// Whether the property's variable `s` has a value.
    Own(i64),
    /// A comparison of a variable of the module with a constant.
    Seen(Condition),
}

/// A statement of a property.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Move {
    /// `s := n`, or `s := (s + n) MOD 3`.
    Set(bool, i64),
    If(Question, Vec<Move>, Vec<Move>),
    While(Question, Vec<Move>),
    Repeat(Vec<Move>, Question),
    /// `FOR j := 1 TO n DO … END`, where `j` is another variable of the property.
    For(i64, Vec<Move>),
    Choice(Vec<Vec<Move>>),
    Reschedule,
    Accept,
    Nomove,
    Assert(Question),
}

/// What a run is asked.
#[derive(Clone, Debug)]
enum Asked {
    /// A `PROPERTY`.
    Watch(Vec<Move>),
    /// A formula of a shape, with two conditions.
    Formula(usize, Condition, Condition),
}

/// A random property.
#[derive(Clone, Debug)]
pub struct Watch(Asked);

/// The shapes of formulas.
const SHAPES: [&str; 6] = ["[] 'p'", "<> 'p'", "[] <> 'p'", "<> [] 'p'", "'p' U 'q'", "[] ('p' -> <> 'q')"];

/// A position in a property: the statements that are left, and whether each is at its end; the
/// values of `s` and `j`; whether it has just accepted; whether it has moved.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Position {
    todo: Vec<(usize, bool)>,
    s: i64,
    j: i64,
    accepts: bool,
    has_moved: bool,
}

struct Generator {
    state: u64,
    counting: bool,
}

impl Generator {
    fn below(&mut self, n: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as usize % n
    }

    fn seen(&mut self) -> Condition {
        use Relation::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Unequal};
        let relation = [Less, Equal, Unequal, LessOrEqual, Greater, GreaterOrEqual][self.below(6)];
        let var = match self.below(6) {
            0 => Var::Field(self.below(2)),
            1 => Var::Static(self.below(2)),
            2 => Var::Wide(self.below(WIDE.len())),
            3 => Var::Global(1),
            _ => Var::Global(0),
        };
        Condition::Compare(relation, Value::Load(var), Value::Constant(self.below(3) as i64))
    }

    fn question(&mut self) -> Question {
        if self.below(3) == 0 { Question::Own(self.below(3) as i64) } else { Question::Seen(self.seen()) }
    }

    fn block(&mut self, depth: usize) -> Vec<Move> {
        let count = 1 + self.below(3);
        (0..count).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: usize) -> Move {
        match self.below(if depth == 0 { 9 } else { 16 }) {
            0 | 1 => Move::Reschedule,
            2 | 3 => Move::Set(self.below(2) == 0, self.below(3) as i64),
            4..=6 => Move::Accept,
            7 => Move::Nomove,
            8 if self.below(3) == 0 => Move::Assert(self.question()),
            8 => Move::Reschedule,
            9..=11 => Move::If(self.question(), self.block(depth - 1), self.block(depth - 1)),
            12 | 13 => Move::Choice((0..2).map(|_| self.block(depth - 1)).collect()),
            14 if !self.counting && self.below(2) == 0 => {
                self.counting = true;
                let body = self.block(depth - 1);
                self.counting = false;
                Move::For(self.below(3) as i64, body)
            }
            14 => {
                let mut body = self.block(depth - 1);
                body.push(Move::Reschedule);
                Move::Repeat(body, self.question())
            }
            _ => {
                let mut body = self.block(depth - 1);
                body.push(Move::Reschedule);
                Move::While(self.question(), body)
            }
        }
    }
}

impl Watch {
    /// The property with this number.
    pub fn random(seed: u64) -> Watch {
        let mut g = Generator { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, counting: false };
        for _ in 0..4 {
            g.below(2);
        }
        if seed % 3 == 2 {
            return Watch(Asked::Formula(g.below(SHAPES.len()), g.seen(), g.seen()));
        }
        let mut body = Vec::new();
        if g.below(3) == 0 {
            body = g.block(1);
        }
        let mut inside = g.block(2);
        inside.push(Move::Reschedule);
        // `s` is never 7, so this loop never ends.
        body.push(Move::Repeat(inside, Question::Own(7)));
        Watch(Asked::Watch(body))
    }

    /// The formula, if it is one; otherwise the property is part of the program.
    pub fn formula(&self) -> Option<String> {
        match &self.0 {
            Asked::Watch(_) => None,
            Asked::Formula(shape, p, q) => {
                let quoted = |of: &Condition| format!("'{}'", condition(of));
                Some(SHAPES[*shape].replace("'p'", &quoted(p)).replace("'q'", &quoted(q)))
            }
        }
    }

    /// The declaration of the property `W`, if it is no formula.
    pub fn text(&self) -> String {
        match &self.0 {
            Asked::Watch(body) => {
                let mut out = String::from("PROPERTY W;\nVAR s, j : INTEGER;\nBEGIN\n");
                write_block(&mut out, body, 1);
                out.push_str("END W;\n");
                out
            }
            Asked::Formula(..) => String::new(),
        }
    }

    /// Whether the program violates the property; `None` if it is too large, or not every run of it
    /// is infinite or ends well.
    pub fn is_violated(&self, program: &Program, fifo: bool, most: usize) -> Option<bool> {
        let graph = program.graph(fifo, most)?;
        if !graph.faults.is_empty() {
            return None;
        }
        let machine = Machine::new(program, fifo);
        match &self.0 {
            Asked::Watch(body) => Some(watched(&machine, body)),
            Asked::Formula(shape, p, q) => Some(refuted(&machine, *shape, p, q)),
        }
    }
}

fn write_block(out: &mut String, block: &[Move], depth: usize) {
    let pad = "  ".repeat(depth);
    for (number, statement) in block.iter().enumerate() {
        out.push_str(&pad);
        let inside = |out: &mut String, head: String, body: &[Move]| {
            let _ = writeln!(out, "{head}");
            write_block(out, body, depth + 1);
            out.push_str(&pad);
        };
        match statement {
            Move::Set(true, n) => out.push_str(&format!("s := {n}")),
            Move::Set(false, n) => out.push_str(&format!("s := (s + {n}) MOD 3")),
            Move::If(test, yes, no) => {
                inside(out, format!("IF {} THEN", question(test)), yes);
                inside(out, "ELSE".to_owned(), no);
                out.push_str("END");
            }
            Move::While(test, body) => {
                inside(out, format!("WHILE {} DO", question(test)), body);
                out.push_str("END");
            }
            Move::Repeat(body, test) => {
                inside(out, "REPEAT".to_owned(), body);
                out.push_str(&format!("UNTIL {}", question(test)));
            }
            Move::For(to, body) => {
                inside(out, format!("FOR j := 1 TO {to} DO"), body);
                out.push_str("END");
            }
            Move::Choice(blocks) => {
                for (number, block) in blocks.iter().enumerate() {
                    inside(out, if number == 0 { "CHOICE" } else { "OR" }.to_owned(), block);
                }
                out.push_str("END");
            }
            Move::Reschedule => out.push_str("RESCHEDULE"),
            Move::Accept => out.push_str("ACCEPT"),
            Move::Nomove => out.push_str("NOMOVE"),
            Move::Assert(test) => out.push_str(&format!("ASSERT {}", question(test))),
        }
        out.push_str(if number + 1 < block.len() { ";\n" } else { "\n" });
    }
}

fn question(of: &Question) -> String {
    match of {
        Question::Own(n) => format!("s = {n}"),
        Question::Seen(seen) => condition(seen),
    }
}

fn sees(machine: &Machine<'_>, state: &State, of: &Condition) -> bool {
    let Condition::Compare(relation, Value::Load(var), Value::Constant(k)) = of else { return false };
    let v = *machine.stored(&mut state.clone(), (*var, None));
    match relation {
        Relation::Less => v < *k,
        Relation::Equal => v == *k,
        Relation::Unequal => v != *k,
        Relation::LessOrEqual => v <= *k,
        Relation::Greater => v > *k,
        Relation::GreaterOrEqual => v >= *k,
    }
}

/// The successors of a state. The last state of a run stays for ever.
fn successors(machine: &Machine<'_>, state: &State) -> Vec<State> {
    let next: Vec<State> = machine.ways(state).into_iter().filter_map(|(next, _)| next).collect();
    if next.is_empty() { vec![state.clone()] } else { next }
}

/// A graph with a flag for each node.
struct Nodes {
    next: Vec<Vec<usize>>,
    flags: Vec<bool>,
}

impl Nodes {
    /// Whether a node with the flag lies on a cycle of nodes that are allowed.
    fn has_cycle(&self, allowed: &dyn Fn(usize) -> bool) -> bool {
        (0..self.next.len()).filter(|node| self.flags[*node] && allowed(*node)).any(|start| {
            let mut seen = HashSet::new();
            let mut open = vec![start];
            while let Some(node) = open.pop() {
                for next in self.next[node].iter().copied().filter(|next| allowed(*next)) {
                    if next == start {
                        return true;
                    }
                    if seen.insert(next) {
                        open.push(next);
                    }
                }
            }
            false
        })
    }
}

/// Whether a `PROPERTY` finds a violation: it ends in a false assertion, or accepts for ever.
fn watched(machine: &Machine<'_>, body: &[Move]) -> bool {
    let mut all: HashMap<usize, &Move> = HashMap::new();
    number(body, &mut all);
    let watcher = Watcher { machine, all };
    let first = Position { todo: todo(body), s: 0, j: 0, accepts: false, has_moved: false };
    let mut known = HashMap::from([((machine.first(), first.clone()), 0)]);
    let mut open = vec![(machine.first(), first)];
    let mut nodes = Nodes { next: vec![Vec::new()], flags: vec![false] };
    while let Some((state, position)) = open.pop() {
        let from = known[&(state.clone(), position.clone())];
        let mut moves = Vec::new();
        let is_first = !position.has_moved;
        watcher.moves(&state, Position { accepts: false, has_moved: true, ..position }, is_first, true, &mut moves);
        let after = successors(machine, &state);
        for position in moves {
            let Some(position) = position else { return true };
            for next in &after {
                let entry = (next.clone(), position.clone());
                let count = known.len();
                let to = *known.entry(entry.clone()).or_insert(count);
                if to == count {
                    nodes.next.push(Vec::new());
                    nodes.flags.push(position.accepts);
                    open.push(entry);
                }
                nodes.next[from].push(to);
            }
        }
    }
    nodes.has_cycle(&|_| true)
}

fn address(of: &Move) -> usize {
    std::ptr::from_ref(of) as usize
}

fn todo(block: &[Move]) -> Vec<(usize, bool)> {
    block.iter().rev().map(|statement| (address(statement), false)).collect()
}

fn number<'m>(block: &'m [Move], all: &mut HashMap<usize, &'m Move>) {
    for statement in block {
        all.insert(address(statement), statement);
        match statement {
            Move::If(_, yes, no) => {
                number(yes, all);
                number(no, all);
            }
            Move::While(_, body) | Move::Repeat(body, _) | Move::For(_, body) => number(body, all),
            Move::Choice(blocks) => blocks.iter().for_each(|block| number(block, all)),
            _ => {}
        }
    }
}

struct Watcher<'m, 'p> {
    machine: &'m Machine<'p>,
    all: HashMap<usize, &'m Move>,
}

impl Watcher<'_, '_> {
    fn answer(&self, state: &State, at: &Position, of: &Question, is_first: &mut bool) -> bool {
        match of {
            Question::Own(n) => at.s == *n,
            Question::Seen(seen) => {
                *is_first = false;
                sees(self.machine, state, seen)
            }
        }
    }

    /// The moves from a position; `None` is a false assertion. Before its first question about the
    /// program a property takes no time, so a `CHOICE` does not end a move there (`is_first`).
    fn moves(&self, state: &State, mut at: Position, mut is_first: bool, mut at_begin: bool, found: &mut Vec<Option<Position>>) {
        loop {
            let Some((address, again)) = at.todo.pop() else {
                return found.push(Some(Position { s: 0, j: 0, ..at }));
            };
            let statement = self.all[&address];
            match statement {
                Move::Reschedule => return found.push(Some(at)),
                Move::Choice(blocks) => {
                    if !at_begin && !is_first {
                        at.todo.push((address, false));
                        return found.push(Some(at));
                    }
                    for block in blocks {
                        let mut inside = at.clone();
                        inside.todo.extend(todo(block));
                        self.moves(state, inside, false, false, found);
                    }
                    return;
                }
                Move::Accept => {
                    at.accepts = true;
                    is_first = false;
                }
                Move::Nomove => return,
                Move::Set(true, n) => at.s = *n,
                Move::Set(false, n) => at.s = (at.s + n) % 3,
                Move::If(test, yes, no) => {
                    let block = if self.answer(state, &at, test, &mut is_first) { yes } else { no };
                    at.todo.extend(todo(block));
                }
                Move::While(test, body) => {
                    if self.answer(state, &at, test, &mut is_first) {
                        at.todo.push((address, false));
                        at.todo.extend(todo(body));
                    }
                }
                Move::Repeat(body, test) => {
                    if !again || !self.answer(state, &at, test, &mut is_first) {
                        at.todo.push((address, true));
                        at.todo.extend(todo(body));
                    }
                }
                Move::For(to, body) => {
                    if again {
                        at.j += 1;
                    } else {
                        at.j = 1;
                    }
                    if at.j <= *to {
                        at.todo.push((address, true));
                        at.todo.extend(todo(body));
                    }
                }
                Move::Assert(test) => {
                    if !self.answer(state, &at, test, &mut is_first) {
                        return found.push(None);
                    }
                }
            }
            at_begin = false;
        }
    }
}

/// Whether some run refutes a formula, by reasoning about each shape.
fn refuted(machine: &Machine<'_>, shape: usize, p: &Condition, q: &Condition) -> bool {
    let mut known = HashMap::from([(machine.first(), 0)]);
    let mut states = vec![machine.first()];
    let mut next: Vec<Vec<usize>> = Vec::new();
    while next.len() < states.len() {
        let mut to = Vec::new();
        for state in successors(machine, &states[next.len()]) {
            let count = states.len();
            to.push(*known.entry(state.clone()).or_insert(count));
            if known.len() > count {
                states.push(state);
            }
        }
        next.push(to);
    }
    let p: Vec<bool> = states.iter().map(|state| sees(machine, state, p)).collect();
    let q: Vec<bool> = states.iter().map(|state| sees(machine, state, q)).collect();
    // Whether a run through allowed nodes alone leads from some nodes to one that is looked for, or
    // never leaves them.
    let reaches = |from: Vec<usize>, allowed: &dyn Fn(usize) -> bool| {
        let mut seen: HashSet<usize> = from.into_iter().filter(|node| allowed(*node)).collect();
        let mut open: Vec<usize> = seen.iter().copied().collect();
        while let Some(node) = open.pop() {
            for to in next[node].iter().copied().filter(|to| allowed(*to)) {
                if seen.insert(to) {
                    open.push(to);
                }
            }
        }
        seen
    };
    let stays = |from: Vec<usize>, allowed: &dyn Fn(usize) -> bool| {
        let inside = reaches(from, allowed);
        let nodes = Nodes { next: next.clone(), flags: (0..next.len()).map(|node| inside.contains(&node)).collect() };
        nodes.has_cycle(&|node| inside.contains(&node))
    };
    let everywhere: Vec<usize> = (0..states.len()).collect();
    match shape {
        0 => p.contains(&false),
        1 => stays(vec![0], &|node| !p[node]),
        2 => stays(everywhere, &|node| !p[node]),
        3 => Nodes { flags: p.iter().map(|p| !p).collect(), next: next.clone() }.has_cycle(&|_| true),
        4 => {
            let waiting = reaches(vec![0], &|node| p[node] && !q[node]);
            let neither = |node: usize| !p[node] && !q[node];
            neither(0)
                || waiting.iter().any(|node| next[*node].iter().any(|to| neither(*to)))
                || stays(vec![0], &|node| p[node] && !q[node])
        }
        _ => stays(everywhere.into_iter().filter(|node| p[*node] && !q[*node]).collect(), &|node| !q[node]),
    }
}
