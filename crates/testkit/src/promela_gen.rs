//! Random Promela models, and their reduction to small ones.
//!
//! A model is a tree, so that a model that shows a difference can be reduced piece by piece and
//! printed again. Everything that influences control states occurs: nested choices, `else`
//! anywhere, `atomic`, `d_step`, nested `unless`, jumps, rendezvous and buffered channels,
//! `timeout`, `run`, `_last`, `enabled`, `pc_value`, polls, values that are truncated. Every third
//! model also has the constructs of `wide`. The generator avoids SPIN's faults (the table of
//! differences in `docs/promela.md`). The probabilities are chosen so that most models have between
//! ten and ten thousand states: few processes, variables with few values, short bodies.

mod wide;

use contract::testing::Random;
use std::fmt::Write;

/// A model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Process types; all but the last few are active.
    pub processes: Vec<Process>,
    /// Capacities of the channels, each of messages of one byte and one bit.
    pub channels: Vec<u8>,
    /// Whether priorities are used.
    pub priorities: bool,
    /// Whether there is a claim that uses `np_`, which SPIN allows nowhere else. Neither side
    /// follows the claim, but both must parse it.
    pub claim: bool,
    /// Whether it has the variables and channels of `wide`.
    pub wide: bool,
}

/// A process type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The number of instances that exist from the beginning; 0 for a type that is only run.
    pub active: u8,
    /// Its priority.
    pub priority: u8,
    /// Whether it may only move while a global is small.
    pub provided: bool,
    /// Its statements.
    pub body: Vec<Stmt>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stmt {
    /// A line of text without parts.
    Basic(String),
    /// `else`.
    Else,
    /// `if`.
    If(Vec<Vec<Stmt>>),
    /// `do`.
    Do(Vec<Vec<Stmt>>),
    /// `atomic`.
    Atomic(Vec<Stmt>),
    /// `d_step`.
    DStep(Vec<Stmt>),
    /// `{ }`.
    Block(Vec<Stmt>),
    /// `{ } unless { }`.
    Unless(Vec<Stmt>, Vec<Stmt>),
    /// A label before a statement.
    Label(String, Box<Stmt>),
}

/// The random model of a seed.
pub fn model(seed: u64) -> Model {
    // This is not drawn from the stream of numbers that makes the rest of the model.
    generate(seed, Random(seed ^ 0x51de).below(3) == 0)
}

/// The random model of a seed without the constructs of `wide`.
pub fn plain_model(seed: u64) -> Model {
    generate(seed, false)
}

fn generate(seed: u64, wide: bool) -> Model {
    Generator {
        random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
        labels: 0,
        channels: 0,
        runs: 0,
        loops: 0,
        rendezvous: false,
        escape: false,
        main: false,
        declared: 0,
        buffered: Vec::new(),
        narrow: false,
        asks: Asks::Nothing,
        own: 0,
        wide,
    }
    .model()
}

/// The questions of the processes of a model about each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    Nothing,
    /// Whether this process can move.
    Enabled(usize),
    /// Whether the first two processes, which have the same type, are at the same location. The
    /// numbers themselves differ from SPIN's.
    Places,
}

struct Generator {
    random: Random,
    labels: usize,
    channels: usize,
    runs: usize,
    loops: usize,
    /// Whether some channel has capacity 0.
    rendezvous: bool,
    /// Whether an escape is being generated.
    escape: bool,
    /// Whether the main part before an escape is being generated.
    main: bool,
    /// The number of variables declared in blocks.
    declared: usize,
    /// The channels with a capacity above 0.
    buffered: Vec<usize>,
    /// Whether the first field of messages is received into a bit. Then no message has a value that
    /// does not fit, because SPIN puts the truncated value back.
    narrow: bool,
    asks: Asks,
    /// The process being generated.
    own: usize,
    /// Whether the constructs of `wide` occur.
    wide: bool,
}

/// The context of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Plain,
    Atomic,
    DStep,
}

impl Generator {
    fn below(&mut self, n: usize) -> usize {
        self.random.below(n.max(1) as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn model(mut self) -> Model {
        self.channels = 1 + self.below(2);
        let channels: Vec<u8> = (0..self.channels).map(|_| [0, 0, 1, 2][self.below(4)]).collect();
        self.rendezvous = channels.contains(&0);
        self.buffered = (0..channels.len()).filter(|&c| channels[c] > 0).collect();
        self.narrow = self.chance(15);
        // SPIN refuses priorities together with rendezvous.
        let priorities = self.chance(8) && !self.rendezvous;
        let count = 2 + self.below(2);
        self.asks = match self.below(10) {
            // SPIN refuses `enabled` together with them too. It also refuses a process that asks
            // about itself, which could happen to a process that is run later.
            0..=2 if !self.rendezvous && !priorities => Asks::Enabled(self.below(count)),
            3 => Asks::Places,
            _ => Asks::Nothing,
        };
        // Locations are compared within one process type, because the numbers differ from SPIN's. A
        // process that is run could get the number of one of the two.
        if self.asks != Asks::Nothing {
            self.runs = 1;
        }
        let mut processes = Vec::new();
        for i in 0..count {
            let last = i + 1 == count;
            self.own = i;
            let asks = self.asks;
            let active = match asks {
                Asks::Places if i == 0 => 2,
                Asks::Enabled(_) => 1,
                _ if last && self.chance(25) => 0,
                _ => 1,
            };
            self.labels = 1 + self.below(2);
            self.loops = 0;
            let mut body = self.sequence(3, Where::Plain, true);
            // Labels are on statements of the body itself, so that every jump can reach them.
            for label in 0..self.labels {
                // A label on a jump may close a cycle of jumps, which both sides refuse.
                let places: Vec<usize> = (0..body.len()).filter(|&i| !is_jump(&body[i])).collect();
                let Some(&at) = places.get(self.below(places.len())) else { break };
                let stmt = body[at].clone();
                let name = ["L", "L", "L", "end_L", "progress_L"][self.below(5)];
                body[at] = Stmt::Label(format!("{name}{label}"), Box::new(stmt));
            }
            fix_jumps(&mut body);
            let priority = if priorities { 1 + self.below(3) as u8 } else { 1 };
            // SPIN's `enabled` does not look at the clause.
            let provided = self.chance(5) && asks != Asks::Enabled(i);
            processes.push(Process { active, priority, provided, body });
        }
        Model { processes, channels, priorities, claim: self.chance(5), wide: self.wide }
    }

    fn sequence(&mut self, depth: usize, place: Where, top: bool) -> Vec<Stmt> {
        let length = if top { 2 + self.below(4) } else { 1 + self.below(3) };
        (0..length).map(|i| self.statement(depth, place, i == 0)).collect()
    }

    fn options(&mut self, depth: usize, place: Where) -> Vec<Vec<Stmt>> {
        let count = 1 + self.below(3);
        let mut options: Vec<Vec<Stmt>> = (0..count).map(|_| self.sequence(depth, place, false)).collect();
        if self.has_else() && (self.chance(35) || place == Where::DStep) {
            let mut rest = if self.chance(60) { self.sequence(depth.min(1), place, false) } else { Vec::new() };
            rest.insert(0, Stmt::Else);
            let at = self.below(options.len() + 1);
            options.insert(at, rest);
        }
        options
    }

    /// Whether the process being generated may have `else`: SPIN's `enabled` is wrong for a process
    /// that waits there.
    fn has_else(&self) -> bool {
        self.asks != Asks::Enabled(self.own)
    }

    fn statement(&mut self, depth: usize, place: Where, first: bool) -> Stmt {
        let composite = depth > 0 && self.chance(if first { 25 } else { 35 });
        if !composite {
            return Stmt::Basic(self.basic(place));
        }
        match (self.below(12), place) {
            (0..=3, _) => Stmt::If(self.options(depth - 1, place)),
            (4 | 5, _) => {
                self.loops += 1;
                let mut options = self.options(depth - 1, place);
                let mut leave = vec![Stmt::Basic(self.guard()), Stmt::Basic("break".into())];
                if self.chance(40) {
                    leave.remove(0);
                }
                let at = self.below(options.len() + 1);
                options.insert(at, leave);
                self.loops -= 1;
                if place == Where::DStep || place == Where::Atomic && self.chance(80) {
                    // An endless loop inside a d_step would hang both sides; in an atomic sequence
                    // SPIN continues until its depth limit.
                    return Stmt::If(options.into_iter().filter(|o| !has_break(o)).collect());
                }
                Stmt::Do(options)
            }
            (6 | 7, Where::Plain) => Stmt::Atomic(self.sequence(depth - 1, Where::Atomic, false)),
            // Without `else` most of them would block.
            (8, Where::Plain | Where::Atomic) if self.has_else() => {
                let loops = std::mem::take(&mut self.loops);
                let body = self.sequence(depth.min(2) - 1, Where::DStep, false);
                self.loops = loops;
                Stmt::DStep(body)
            }
            (9 | 10, Where::Plain | Where::Atomic) => {
                let outside = std::mem::replace(&mut self.main, true);
                let mut main = self.sequence(depth - 1, place, false);
                self.main = outside;
                // After an offer that no process takes, SPIN forgets that an escape next to it was
                // executable and also executes the main part. So there are no offers among several
                // escapes.
                let outer = std::mem::replace(&mut self.escape, true);
                let mut escape = self.sequence(depth.min(2) - 1, place, false);
                self.escape = outer;
                let alone = !outer && !outside && !has_escape(&mut main);
                if alone && self.chance(40) {
                    escape.insert(0, Stmt::Basic(self.send()));
                }
                Stmt::Unless(main, escape)
            }
            _ => Stmt::Block(self.sequence(depth - 1, place, false)),
        }
    }

    fn variable(&mut self) -> &'static str {
        ["x", "x", "y", "l", "a[l]", "b"][self.below(6)]
    }

    fn value(&mut self) -> String {
        match self.below(9) {
            8 if self.chance(40) => "_last".into(),
            0..=3 | 8 => self.below(3).to_string(),
            4 => format!("({} + 1) % 3", self.variable()),
            5 => "_pid".into(),
            6 => self.variable().into(),
            _ => format!("(x > {} -> y : 2)", self.below(2)),
        }
    }

    fn guard(&mut self) -> String {
        if self.wide && self.chance(30) {
            return self.wide_guard();
        }
        let op = ["==", "==", "!=", "<", ">="][self.below(5)];
        match (self.below(14), self.asks) {
            (10, Asks::Enabled(process)) if process != self.own => format!("enabled({process})"),
            (11, Asks::Enabled(process)) if process != self.own => format!("!enabled({process}) && {} {op} 1", self.variable()),
            (10 | 11, Asks::Places) => {
                let equal = ["==", "!="][self.below(2)];
                format!("_nr_pr >= 2 && pc_value(0) {equal} pc_value(1)")
            }
            (12, _) => format!("_last {op} {}", self.below(3)),
            (13, _) if !self.buffered.is_empty() => self.poll(),
            (number, _) => self.plain_guard(number, op),
        }
    }

    /// A poll of a channel, with all fields of a message or only the first.
    fn poll(&mut self) -> String {
        let number = self.below(self.buffered.len());
        let channel = self.buffered[number];
        let op = ["?", "??"][self.below(2)];
        let first = [self.below(3).to_string(), format!("eval({})", self.variable())][self.below(2)].clone();
        match self.below(3) {
            0 => format!("c{channel}{op}[{first},{}]", self.below(2)),
            1 => format!("!(c{channel}{op}[{first}])"),
            _ => format!("c{channel}{op}[{first}]"),
        }
    }

    fn plain_guard(&mut self, number: usize, op: &str) -> String {
        match number % 10 {
            0..=6 => format!("{} {op} {}", self.variable(), self.below(3)),
            7 => format!("{} {op} {} && y != {}", self.variable(), self.below(3), self.below(3)),
            8 => format!("len({}) {op} {}", self.channel(), self.below(2)),
            _ => format!("_nr_pr {op} {}", 2 + self.below(2)),
        }
    }

    fn channel(&mut self) -> String {
        format!("c{}", self.below(self.channels))
    }

    fn field(&mut self) -> String {
        match self.below(6) {
            5 if self.narrow => "b".into(),
            0 => self.below(3).to_string(),
            1 => "_".into(),
            2 => format!("eval({})", self.variable()),
            _ => ["x", "y", "l", "a[l]"][self.below(4)].into(),
        }
    }

    /// Statements that SPIN expands by itself, and declarations.
    fn library(&mut self, place: Where) -> String {
        self.declared += 1;
        let (name, high) = (format!("v{}", self.declared), self.below(3));
        match self.below(if place == Where::DStep { 4 } else { 7 }) {
            // These have an `else`.
            2 | 3 if !self.has_else() => format!("byte {name}"),
            0 => format!("byte {name} = {}", self.value()),
            1 => format!("byte {name}"),
            2 => format!("for (l : 0 .. {high}) {{ x = (x + l) % 3 }}"),
            3 => format!("set({}, {})", ["x", "y", "l"][self.below(3)], self.value()),
            4 => format!("select (l : 0 .. {high})"),
            5 => format!("select (l : {high} .. b + 1)"),
            _ => "wait(x, y)".into(),
        }
    }

    fn send(&mut self) -> String {
        let sorted = self.chance(15);
        let op = if sorted { "!!" } else { "!" };
        let first = if self.narrow { self.below(2).to_string() } else { self.value() };
        // A value that does not fit is truncated, but SPIN sorts before it truncates.
        let second = self.below(if sorted { 2 } else { 4 });
        format!("{}{op}{first},{second}", self.channel())
    }

    fn basic(&mut self, place: Where) -> String {
        if self.wide && self.chance(35) {
            return self.wide_basic(place);
        }
        match self.below(28) {
            0..=6 => format!("{} = {}", self.variable(), self.value()),
            7..=10 => self.guard(),
            11..=13 if !(self.escape && self.rendezvous) => self.send(),
            14..=16 => {
                let channel = self.channel();
                let (first, mut second) = (self.field(), ["_", "b", "1"][self.below(3)].to_owned());
                // SPIN undoes a receive wrongly if the receive changes what it has matched.
                if first == "eval(b)" || first == "b" {
                    second = "_".into();
                }
                if self.chance(10) && !first.contains('y') {
                    second = "y".into();
                }
                match self.below(8) {
                    0 => format!("{channel}??{first},{second}"),
                    _ => format!("{channel}?{first},{second}"),
                }
            }
            17 => "skip".into(),
            // A jump in an escape would bring the offers of its target there.
            18 | 19 if self.escape && self.rendezvous => self.guard(),
            18 if self.labels > 0 && place != Where::DStep => format!("goto L{}", self.below(self.labels)),
            19 if self.loops > 0 && place != Where::DStep => "break".into(),
            20 if place != Where::DStep => "timeout".into(),
            21 if self.runs < 1 && place != Where::DStep => {
                self.runs += 1;
                if self.wide { "run R(v)".into() } else { "run R()".into() }
            }
            // SPIN executes a d_step that begins with an assertion in the middle of a rendezvous.
            22 if place == Where::DStep && self.rendezvous => self.guard(),
            22 => format!("assert({})", self.guard()),
            23 => self.library(place),
            // A process that others ask about waits at `timeout` more often, because the answer
            // depends on it.
            24 | 25 if self.asks == Asks::Enabled(self.own) && place != Where::DStep => "timeout".into(),
            _ => format!("{} = {}", self.variable(), self.value()),
        }
    }
}

/// Renames the targets of jumps whose labels have other names now.
fn fix_jumps(body: &mut [Stmt]) {
    let names: Vec<String> = body.iter().flat_map(label_names).collect();
    for stmt in body {
        each(stmt, &mut |s| {
            if let Stmt::Basic(text) = s
                && let Some(label) = text.strip_prefix("goto L")
            {
                let found = names.iter().find(|n| n.ends_with(label));
                *text = found.map_or("skip".to_owned(), |n| format!("goto {n}"));
            }
        });
    }
}

fn is_jump(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Basic(text) => text.starts_with("goto") || text == "break",
        Stmt::Label(_, inner) => is_jump(inner),
        _ => false,
    }
}

fn label_names(stmt: &Stmt) -> Vec<String> {
    match stmt {
        Stmt::Label(name, inner) => {
            let mut names = label_names(inner);
            names.push(name.clone());
            names
        }
        _ => Vec::new(),
    }
}

fn has_escape(body: &mut [Stmt]) -> bool {
    let mut found = false;
    for stmt in body {
        each(stmt, &mut |s| found |= matches!(s, Stmt::Unless(..)));
    }
    found
}

fn has_break(option: &[Stmt]) -> bool {
    option.iter().any(|s| matches!(s, Stmt::Basic(text) if text == "break"))
}

/// Calls `f` with a statement and all its parts.
fn each(stmt: &mut Stmt, f: &mut impl FnMut(&mut Stmt)) {
    f(stmt);
    match stmt {
        Stmt::If(options) | Stmt::Do(options) => options.iter_mut().flatten().for_each(|s| each(s, f)),
        Stmt::Atomic(body) | Stmt::DStep(body) | Stmt::Block(body) => body.iter_mut().for_each(|s| each(s, f)),
        Stmt::Unless(main, escape) => main.iter_mut().chain(escape).for_each(|s| each(s, f)),
        Stmt::Label(_, inner) => each(inner, f),
        Stmt::Basic(_) | Stmt::Else => {}
    }
}

impl Model {
    /// Makes the active processes loop for ever.
    pub fn loop_for_ever(&mut self) {
        for process in self.processes.iter_mut().filter(|process| process.active > 0) {
            // The first statement of an option may have no label, and it must not be the only one.
            process.body.insert(0, Stmt::Basic("skip".to_owned()));
            process.body = vec![Stmt::Do(vec![std::mem::take(&mut process.body)])];
        }
    }
}

// --- Printing
// -------------------------------------------------------------------------------------------

impl Model {
    /// The model as text.
    pub fn text(&self) -> String {
        let mut out = String::from("byte x, y;\nbit b;\nbyte a[4];\n");
        out.push_str("inline set(v, e) { v = e; if :: v > 2 -> v = 0 :: else fi }\n");
        out.push_str("inline wait(v, w) { byte t = v; do :: w == t -> break :: w = (w + 1) % 3 od }\n");
        if self.wide {
            out.push_str(wide::DECLARATIONS);
        }
        for (i, capacity) in self.channels.iter().enumerate() {
            put(&mut out, format_args!("chan c{i} = [{capacity}] of {{ byte, bit }};\n"));
        }
        let mut runs = false;
        for (i, process) in self.processes.iter().enumerate() {
            let is_run = process.active == 0;
            runs |= is_run;
            let name = if is_run { "R".to_owned() } else { format!("P{i}") };
            let active = ["", "active ", "active [2] "][usize::from(process.active.min(2))];
            let priority = if self.priorities && !is_run { format!(" priority {}", process.priority) } else { String::new() };
            let provided = if process.provided { " provided (x != 2)" } else { "" };
            let (parameter, local) = match (self.wide, is_run) {
                (false, _) => ("", ""),
                (true, true) => ("chan v", ""),
                (true, false) => ("", "\tchan v = cc[0];\n"),
            };
            put(&mut out, format_args!("{active}proctype {name}({parameter}){priority}{provided} {{\n\tbyte l;\n{local}"));
            sequence(&mut out, &process.body, 1);
            out.push_str("}\n");
        }
        if self.claim {
            out.push_str("never {\n\tdo\n\t:: np_\n\t:: !np_\n\tod\n}\n");
        }
        if !runs {
            let parameter = if self.wide { "chan v" } else { "" };
            put(&mut out, format_args!("proctype R({parameter}) {{\n\tbyte l;\n\tx = 1\n}}\n"));
        }
        out
    }
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n('\t', depth));
}

fn sequence(out: &mut String, body: &[Stmt], depth: usize) {
    if body.is_empty() {
        indent(out, depth);
        out.push_str("skip\n");
    }
    for (i, stmt) in body.iter().enumerate() {
        indent(out, depth);
        statement(out, stmt, depth);
        out.push_str(if i + 1 < body.len() { ";\n" } else { "\n" });
    }
}

fn block(out: &mut String, word: &str, body: &[Stmt], depth: usize) {
    put(out, format_args!("{word}{{\n"));
    sequence(out, body, depth + 1);
    indent(out, depth);
    out.push('}');
}

fn statement(out: &mut String, stmt: &Stmt, depth: usize) {
    match stmt {
        Stmt::Basic(text) => out.push_str(text),
        Stmt::Else => out.push_str("else"),
        Stmt::If(options) => choice(out, "if", "fi", options, depth),
        Stmt::Do(options) => choice(out, "do", "od", options, depth),
        Stmt::Atomic(body) => block(out, "atomic ", body, depth),
        Stmt::DStep(body) => block(out, "d_step ", body, depth),
        Stmt::Block(body) => block(out, "", body, depth),
        Stmt::Unless(main, escape) => {
            block(out, "", main, depth);
            block(out, " unless ", escape, depth);
        }
        Stmt::Label(name, inner) => {
            put(out, format_args!("{name}: "));
            statement(out, inner, depth);
        }
    }
}

fn choice(out: &mut String, open: &str, close: &str, options: &[Vec<Stmt>], depth: usize) {
    put(out, format_args!("{open}\n"));
    for option in options {
        indent(out, depth);
        out.push_str("::\n");
        sequence(out, option, depth + 1);
    }
    indent(out, depth);
    out.push_str(close);
}

// --- Shrinking
// ------------------------------------------------------------------------------------------

/// The smallest model found by removing parts for which `shows` still holds.
pub fn shrink(model: &Model, mut shows: impl FnMut(&Model) -> bool) -> Model {
    let mut best = model.clone();
    loop {
        let smaller = candidates(&best).into_iter().find(|candidate| shows(candidate));
        match smaller {
            Some(candidate) => best = candidate,
            None => return best,
        }
    }
}

/// Models with one piece less, larger pieces first.
fn candidates(model: &Model) -> Vec<Model> {
    let mut out = Vec::new();
    for i in 0..model.processes.len() {
        if model.processes.len() > 1 {
            let mut smaller = model.clone();
            smaller.processes.remove(i);
            out.push(smaller);
        }
        if model.processes[i].provided {
            let mut smaller = model.clone();
            smaller.processes[i].provided = false;
            out.push(smaller);
        }
        for body in smaller_bodies(&model.processes[i].body) {
            let mut smaller = model.clone();
            smaller.processes[i].body = body;
            out.push(smaller);
        }
    }
    out
}

fn smaller_bodies(body: &[Stmt]) -> Vec<Vec<Stmt>> {
    let mut out = Vec::new();
    for i in 0..body.len() {
        let mut without = body.to_vec();
        without.remove(i);
        out.push(without);
        for replacement in smaller_statements(&body[i]) {
            let mut changed = body.to_vec();
            changed.splice(i..=i, replacement);
            out.push(changed);
        }
    }
    out
}

/// Sequences that could replace a statement.
fn smaller_statements(stmt: &Stmt) -> Vec<Vec<Stmt>> {
    let rebuilt = |body: &[Stmt], make: fn(Vec<Stmt>) -> Stmt| -> Vec<Vec<Stmt>> {
        let mut out = vec![body.to_vec()];
        out.extend(smaller_bodies(body).into_iter().filter(|b| !b.is_empty()).map(|b| vec![make(b)]));
        out
    };
    match stmt {
        Stmt::Basic(_) | Stmt::Else => Vec::new(),
        Stmt::Atomic(body) => rebuilt(body, Stmt::Atomic),
        Stmt::DStep(body) => rebuilt(body, Stmt::DStep),
        Stmt::Block(body) => rebuilt(body, Stmt::Block),
        Stmt::If(options) => smaller_options(options, Stmt::If),
        Stmt::Do(options) => smaller_options(options, Stmt::Do),
        Stmt::Unless(main, escape) => {
            let mut out = vec![main.clone(), escape.clone()];
            let mains = smaller_bodies(main).into_iter().filter(|b| !b.is_empty());
            out.extend(mains.map(|m| vec![Stmt::Unless(m, escape.clone())]));
            let escapes = smaller_bodies(escape).into_iter().filter(|b| !b.is_empty());
            out.extend(escapes.map(|e| vec![Stmt::Unless(main.clone(), e)]));
            out
        }
        Stmt::Label(name, inner) => {
            let mut out = vec![vec![(**inner).clone()]];
            for mut replacement in smaller_statements(inner) {
                if let Some(first) = replacement.first_mut() {
                    *first = Stmt::Label(name.clone(), Box::new(first.clone()));
                    out.push(replacement);
                }
            }
            out
        }
    }
}

fn smaller_options(options: &[Vec<Stmt>], make: fn(Vec<Vec<Stmt>>) -> Stmt) -> Vec<Vec<Stmt>> {
    let mut out: Vec<Vec<Stmt>> = options.to_vec();
    for i in 0..options.len() {
        if options.len() > 1 {
            let mut fewer = options.to_vec();
            fewer.remove(i);
            out.push(vec![make(fewer)]);
        }
        for option in smaller_bodies(&options[i]).into_iter().filter(|o| !o.is_empty()) {
            let mut changed = options.to_vec();
            changed[i] = option;
            out.push(vec![make(changed)]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_model() {
        assert_eq!(model(7).text(), model(7).text());
        assert_ne!(model(7).text(), model(8).text());
    }

    #[test]
    fn everything_occurs() {
        let all: String = (0..300).map(|seed| model(seed).text()).collect();
        for word in [
            "atomic",
            "d_step",
            "unless",
            "else",
            "goto",
            "break",
            "timeout",
            "run R()",
            "run R(v)",
            "?<",
            "cc[b]!",
            "tt[b].s",
            "??",
            "!!",
            "provided",
            "priority",
            "= [0]",
            "active [2]",
            "_last",
            "np_",
            "enabled(",
            "pc_value(",
            "?[",
            "??[",
        ] {
            assert!(all.contains(word), "{word}");
        }
    }

    #[test]
    fn shrinking_keeps_what_is_asked_for() {
        let seed = (0..).find(|&seed| model(seed).text().contains("d_step")).expect("one in three");
        let small = shrink(&model(seed), |m| m.text().contains("d_step"));
        assert!(small.text().contains("d_step"));
        assert!(small.text().lines().count() < 20, "{}", small.text());
    }
}
