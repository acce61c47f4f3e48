//! Choices by tables, in programs with few nodes.
//!
//! Nearly all states of such a program are like this: no two processes are at the same node, and
//! few steps leave each node. Then the set of nodes where processes stand says as much as the set
//! of processes, and it fits into a few words. The node of a process and the steps that it can take
//! lead by one look at a table to what it demands, as a set of nodes, or to the few questions that
//! decide it. So a choice takes few instructions more than reading the steps. A state that is not
//! like this is left to the general way, which chooses the same.
//!
//! In most models many states have no choice, and often their steps alone show it: wherever the
//! other processes are, and whatever the values of variables, each set around one of the processes
//! that can move contains all of them. Such lists of steps are remembered, so that nothing but the
//! steps must be read in the next state that has the same ones.

use super::{Rule, Stubborn, range};
use crate::evaluate::{Roster, View};
use crate::local::{Helpers, Local, Question};
use crate::steps::{Condition, Relation};
use bytecode::{Layout, ProcessId, Type};
use contract::{LeftOut, Successor};
use std::collections::BTreeMap;
use stepgraph::{Binary, Expr, Pool, Unary, Var};

/// Most processes in a state.
const PROCESSES: usize = 32;
/// Most different steps that leave a node.
const STEPS: usize = 8;
/// Most bits of the answers in a situation.
const ANSWER_BITS: usize = 10;
/// Most entries of a worker.
const MOST_ENTRIES: usize = 1 << 16;
/// A worker that has left this many states to the general way, and more than a quarter of all,
/// leaves all to it.
const LEFT: u32 = 64;

/// Most steps of a state that is remembered to have no choice.
const STEPS_OF_KEY: usize = 8;
/// The number of lines in which these states are remembered.
const LINES: usize = 1 << 14;

/// The steps of a state: the number of each, with its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    words: [u32; STEPS_OF_KEY],
    hash: u64,
}

/// Marks a list of steps that leaves no choice. Keys do not have this bit in their first word.
const HOPELESS: u32 = 1 << 31;

impl Key {
    /// Reads the steps of source number `source`, the first of `steps`. Returns their number,
    /// whether they are all of one process, and their key, unless they are too many.
    #[inline(always)]
    pub fn read(source: u32, steps: &[Successor]) -> (usize, bool, Option<Key>) {
        let first = steps.first().map_or(0, |step| step.action.process);
        let mut words = [u32::MAX; STEPS_OF_KEY];
        let (mut count, mut hash, mut others, mut large) = (0, 0_u64, 0, 0);
        for step in steps {
            if step.source != source {
                break;
            }
            let process = step.action.process;
            let word = process << 24 | step.step;
            others |= process ^ first;
            large |= process >> 7 | step.step >> 24;
            hash = (hash.rotate_left(23) ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            if let Some(place) = words.get_mut(count) {
                *place = word;
            }
            count += 1;
        }
        let key = (large == 0 && count <= STEPS_OF_KEY).then_some(Key { words, hash });
        (count, others == 0, key)
    }
}

/// Two lists of steps in one line of the cache of a core. The first was met last.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Line([[u32; STEPS_OF_KEY]; 2]);

/// What is known about a list of steps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outlook {
    /// Nothing can be left out where exactly these steps can be taken.
    Hopeless,
    /// A choice must be tried.
    Open,
    Unknown,
}

/// What is fixed for a program.
pub(super) struct Table {
    /// For each address in the code, the bit of the step there among the steps of its nodes.
    bits: Vec<u8>,
    /// For each node, the steps that leave it, by their bits.
    steps: Vec<[u32; STEPS]>,
    /// For each address, whether the step there leaves only one location.
    alone: Vec<bool>,
    /// The number of bits that are used.
    width: u32,
    /// For each test, how it is made quickly, if it can be.
    tests: Vec<Option<Interval>>,
}

impl Table {
    /// The table of a program with these rules at its nodes.
    /// `location` gives the type and the location of a node.
    pub fn of(
        leaving: &[std::ops::Range<u32>],
        rules: &[Rule],
        tests: Vec<Option<Interval>>,
        location: impl Fn(usize) -> (ProcessId, usize),
    ) -> Option<Table> {
        // A step may leave several nodes, and has the same bit at all of them.
        let mut nodes_of: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (node, own) in leaving.iter().enumerate() {
            for rule in rules[range(own)].iter().filter(|rule| !rule.never) {
                let nodes = nodes_of.entry(rule.at).or_default();
                if nodes.last() != Some(&node) {
                    nodes.push(node);
                }
            }
        }
        let end = nodes_of.keys().next_back().map_or(0, |at| *at as usize + 1);
        let (bits, alone, steps) = (vec![0; end], vec![false; end], vec![[u32::MAX; STEPS]; leaving.len()]);
        let mut table = Table { bits, steps, alone, width: 0, tests };
        for (at, nodes) in nodes_of {
            table.alone[at as usize] = nodes.iter().all(|&node| location(node) == location(nodes[0]));
            let is_free = |bit: &usize| nodes.iter().all(|&node| table.steps[node][*bit] == u32::MAX);
            let bit = (0..STEPS).find(is_free)?;
            table.bits[at as usize] = bit as u8;
            table.width = table.width.max(bit as u32 + 1);
            nodes.iter().for_each(|&node| table.steps[node][bit] = at);
        }
        Some(table)
    }
}

/// A test whether a variable has one of the values of an interval.
#[derive(Clone, Copy)]
pub(super) struct Interval {
    /// Where the variable is: in the state, or in the component of the process.
    at: u32,
    local: bool,
    ty: Type,
    /// The smallest value, and the distance from it to the largest.
    low: i32,
    span: u32,
    /// The test asks whether the value is none of these.
    outside: bool,
}

impl Interval {
    /// The test of a condition of a process of type `ty`, if it is one.
    pub fn of(condition: &Condition, ty: ProcessId, layout: &Layout, pool: &Pool) -> Option<Interval> {
        match *condition {
            Condition::Compare { offset, ty, relation, constant, .. } => Interval::values(offset, false, ty, relation, constant),
            Condition::Expr(expr, expected) => {
                let (relation, var, constant) = match *pool.get(expr) {
                    Expr::Load(var) => (Binary::Ne, var, 0),
                    Expr::Unary(Unary::Lnot, of) => match *pool.get(of) {
                        Expr::Load(var) => (Binary::Eq, var, 0),
                        _ => return None,
                    },
                    Expr::Binary(relation, left, right) => match (pool.get(left), pool.get(right)) {
                        (Expr::Load(var), Expr::Const(constant)) => (relation, *var, *constant),
                        (Expr::Const(constant), Expr::Load(var)) => (crate::steps::mirrored(relation)?, *var, *constant),
                        _ => return None,
                    },
                    _ => return None,
                };
                let (slot, local) = match var {
                    Var::Global(id) => (&layout.globals[id.index()], false),
                    Var::Local(id) => (&layout.processes[ty.index()].locals[id.index()], true),
                };
                let test = Interval::values(slot.element(0)?, local, slot.ty, relation, constant)?;
                Some(Interval { outside: test.outside == expected, ..test })
            }
            _ => None,
        }
    }

    fn values(at: usize, local: bool, ty: Type, relation: Relation, constant: i32) -> Option<Interval> {
        let (low, high) = match relation {
            Binary::Eq | Binary::Ne => (constant, constant),
            Binary::Lt => (i32::MIN, constant.checked_sub(1)?),
            Binary::Le => (i32::MIN, constant),
            Binary::Gt => (constant.checked_add(1)?, i32::MAX),
            Binary::Ge => (constant, i32::MAX),
            _ => return None,
        };
        let span = high.wrapping_sub(low) as u32;
        Some(Interval { at: at as u32, local, ty, low, span, outside: matches!(relation, Binary::Ne) })
    }

    /// Whether the test holds, for a process whose component begins at `component`.
    #[inline]
    fn holds(&self, state: &[u8], component: u32) -> Option<bool> {
        let at = self.at + if self.local { component } else { 0 };
        let value = self.ty.read(state.get(at as usize..)?);
        Some((value.wrapping_sub(self.low) as u32 <= self.span) != self.outside)
    }
}

/// What a process demands whose situation and answers are known.
#[derive(Clone, Copy)]
enum Kind {
    /// Not computed so far.
    Unknown,
    /// The processes at the nodes of the entry.
    Nodes,
    Everything,
    /// What a list of the worker says.
    Local(u32),
}

#[derive(Clone, Copy)]
struct Entry<const W: usize> {
    kind: Kind,
    nodes: [u64; W],
}

/// A node, and the steps that a process can take there.
struct Situation {
    questions: Box<[Question]>,
    /// All questions have answers, so one bit is enough for each.
    certain: bool,
    /// The first of its entries, one for each list of answers.
    first: u32,
}

/// What a process demands in a situation at least, whatever the answers are.
#[derive(Clone, Copy)]
struct Least<const W: usize> {
    everything: bool,
    nodes: [u64; W],
}

/// What a worker knows. A set of nodes has `W` words.
pub(crate) struct Lookup<const W: usize> {
    /// For each node and each set of steps, the number of the situation, or 0.
    numbers: Vec<u16>,
    situations: Vec<Situation>,
    least: Vec<Least<W>>,
    entries: Vec<Entry<W>>,
    locals: Vec<Local>,
    /// Lists of steps, by their hash.
    lines: Vec<Line>,
    /// The process that stands at a node, and what each process demands, as far as that is known in
    /// the present state.
    process_of: [u8; 256],
    demands: [[u64; W]; PROCESSES],
    /// The number of states that were looked up, and of those that were left to the general way.
    asked: u32,
    left: u32,
    off: bool,
}

impl<const W: usize> Default for Lookup<W> {
    fn default() -> Self {
        Lookup {
            numbers: Vec::new(),
            situations: Vec::new(),
            least: Vec::new(),
            lines: Vec::new(),
            entries: Vec::new(),
            locals: Vec::new(),
            process_of: [0; 256],
            demands: [[0; W]; PROCESSES],
            asked: 0,
            left: 0,
            off: false,
        }
    }
}

impl<const W: usize> Lookup<W> {
    /// Whether states are looked up at all.
    #[inline]
    pub fn is_on(&self) -> bool {
        !self.off
    }

    /// What is known about a list of steps.
    #[inline(always)]
    fn outlook(&self, key: &Key) -> Outlook {
        let Some(Line([first, second])) = self.lines.get((key.hash >> 50) as usize % LINES) else { return Outlook::Unknown };
        for words in [first, second] {
            // The mark is the only difference that is allowed.
            if words[1..] == key.words[1..] && words[0] & !HOPELESS == key.words[0] {
                return if words[0] & HOPELESS == 0 { Outlook::Open } else { Outlook::Hopeless };
            }
        }
        Outlook::Unknown
    }

    /// Whether nothing can be left out in a state with these steps, as far as is known.
    #[inline(always)]
    pub fn is_hopeless(&self, key: &Key) -> bool {
        self.outlook(key) == Outlook::Hopeless
    }

    /// Remembers a list of steps.
    #[cold]
    fn remember(&mut self, key: &Key, is_hopeless: bool) {
        if self.lines.is_empty() {
            self.lines = vec![Line::default(); LINES];
        }
        let Line([first, second]) = &mut self.lines[(key.hash >> 50) as usize % LINES];
        *second = *first;
        *first = key.words;
        first[0] |= if is_hopeless { HOPELESS } else { 0 };
    }

    /// Counts a state that was left to the general way.
    #[cold]
    fn leave(&mut self) {
        self.left += 1;
        self.off |= self.left >= LEFT && self.left > self.asked / 4;
    }
}

/// A state in which every process has a node of its own.
struct Scene<'a, const W: usize> {
    state: &'a [u8],
    roster: &'a Roster,
    /// The nodes where processes stand; and the node of each process.
    standing: [u64; W],
    nodes: [u8; PROCESSES],
    /// For each process, the bits of its steps, and their number.
    steps: [u8; PROCESSES],
    counts: [u16; PROCESSES],
}

#[inline(always)]
fn add<const W: usize>(set: &mut [u64; W], node: u8) {
    set[usize::from(node) / 64 % W] |= 1 << (node % 64);
}

#[inline(always)]
fn has<const W: usize>(set: &[u64; W], node: u8) -> bool {
    set[usize::from(node) / 64 % W] >> (node % 64) & 1 != 0
}

#[inline(always)]
fn meet<const W: usize>(a: &[u64; W], b: &[u64; W]) -> bool {
    (0..W).any(|word| a[word] & b[word] != 0)
}

/// The set without the node of a process.
#[inline(always)]
fn without<const W: usize>(mut set: [u64; W], node: u8) -> [u64; W] {
    set[usize::from(node) / 64 % W] &= !(1 << (node % 64));
    set
}

/// Removes the smallest node.
#[inline(always)]
fn take<const W: usize>(set: &mut [u64; W]) -> Option<u8> {
    for (number, word) in set.iter_mut().enumerate() {
        if *word != 0 {
            let bit = word.trailing_zeros();
            *word &= *word - 1;
            return Some((number * 64) as u8 + bit as u8);
        }
    }
    None
}

impl Stubborn {
    /// What is left out in a state whose processes are those of `roster`; nothing if it must be
    /// chosen in the general way.
    #[inline(always)]
    pub(super) fn look_up<const W: usize>(
        &self,
        table: &Table,
        state: &[u8],
        steps: &[Successor],
        key: Option<&Key>,
        roster: &Roster,
        lookup: &mut Lookup<W>,
    ) -> Option<LeftOut> {
        lookup.asked = lookup.asked.saturating_add(1);
        let found = self.looked_up(table, state, steps, key, roster, lookup);
        if found.is_none() {
            lookup.leave();
        }
        found
    }

    #[inline(always)]
    fn looked_up<const W: usize>(
        &self,
        table: &Table,
        state: &[u8],
        steps: &[Successor],
        key: Option<&Key>,
        roster: &Roster,
        lookup: &mut Lookup<W>,
    ) -> Option<LeftOut> {
        let count = roster.len();
        if count > PROCESSES {
            return None;
        }
        let mut scene = Scene { state, roster, standing: [0; W], nodes: [0; PROCESSES], steps: [0; PROCESSES], counts: [0; PROCESSES] };
        for ((process, node), own) in roster.nodes(state).enumerate().zip(&mut scene.nodes) {
            *own = node as u8;
            lookup.process_of[usize::from(*own)] = process as u8;
            add(&mut scene.standing, *own);
        }
        if scene.standing.iter().map(|word| word.count_ones()).sum::<u32>() != count as u32 {
            return None;
        }
        let mut moving = [0; W];
        for step in steps {
            let process = step.action.process as usize;
            if process >= count {
                return None;
            }
            let node = scene.nodes[process % PROCESSES];
            let bit = *table.bits.get(step.step as usize)?;
            if table.steps[usize::from(node)][usize::from(bit) % STEPS] != step.step {
                return None;
            }
            scene.steps[process % PROCESSES] |= 1 << (bit % 8);
            scene.counts[process % PROCESSES] = scene.counts[process % PROCESSES].checked_add(1)?;
            add(&mut moving, node);
        }
        let chosen = self.fewest(table, &scene, &moving, lookup)?;
        if let Some(key) = key
            && lookup.outlook(key) == Outlook::Unknown
        {
            let is_hopeless = chosen.is_none() && self.leaves_no_choice(table, &scene, &moving, steps, lookup);
            lookup.remember(key, is_hopeless);
        }
        let Some(chosen) = chosen else { return Some(LeftOut::NOTHING) };
        let (mut processes, mut postponed) = (u64::MAX, 0);
        for (process, node) in scene.nodes[..count].iter().enumerate() {
            if has(&chosen, *node) {
                processes &= !(1 << process);
            } else if self.may_fault && has(&moving, *node) {
                postponed |= u64::from(self.has(self.matters_from, (*node).into())) << process;
            }
        }
        Some(LeftOut { processes, postponed })
    }

    /// The closed set with the fewest steps that leaves a process out that can move; nothing if
    /// there is none. The outer `None` leaves the state to the general way.
    #[inline(always)]
    fn fewest<const W: usize>(
        &self,
        table: &Table,
        scene: &Scene<'_, W>,
        moving: &[u64; W],
        lookup: &mut Lookup<W>,
    ) -> Option<Option<[u64; W]>> {
        // A closed set that contains one of the nodes in `useless` is not better than the best.
        let (mut best, mut fewest, mut useless) = (None, u32::MAX, [0; W]);
        let mut known = 0_u32;
        for seed in 0..scene.roster.len() {
            let first = scene.nodes[seed % PROCESSES];
            if scene.steps[seed % PROCESSES] == 0 || has(&useless, first) {
                continue;
            }
            let (mut found, mut open, mut steps) = ([0; W], [0; W], 0);
            add(&mut found, first);
            add(&mut open, first);
            let is_better = loop {
                let Some(node) = take(&mut open) else { break true };
                let process = usize::from(lookup.process_of[usize::from(node)]) % PROCESSES;
                steps += u32::from(scene.counts[process]);
                if steps >= fewest {
                    break false;
                }
                if known >> process & 1 == 0 {
                    let Some(demand) = self.demanded(table, scene, process, node, lookup)? else {
                        add(&mut useless, node);
                        break false;
                    };
                    lookup.demands[process] = demand;
                    known |= 1 << process;
                }
                let demand = &lookup.demands[process];
                if meet(demand, &useless) {
                    break false;
                }
                for word in 0..W {
                    open[word] |= demand[word] & !found[word];
                    found[word] |= demand[word];
                }
                if (0..W).all(|word| moving[word] & !found[word] == 0) {
                    break false;
                }
            };
            if is_better {
                (best, fewest) = (Some(found), steps);
                if steps == 1 {
                    break;
                }
            }
            add(&mut useless, first);
        }
        Some(best)
    }

    /// Whether the steps show that nothing can be left out, wherever the other processes are and
    /// whatever the answers are. Each of these processes is at a node that its steps show, and its
    /// demands have a part that depends on nothing else.
    #[cold]
    fn leaves_no_choice<const W: usize>(
        &self,
        table: &Table,
        scene: &Scene<'_, W>,
        moving: &[u64; W],
        steps: &[Successor],
        lookup: &Lookup<W>,
    ) -> bool {
        if !steps.iter().all(|step| table.alone[step.step as usize]) {
            return false;
        }
        // A set around one of these nodes contains all that can move.
        let mut hopeless = [0; W];
        for seed in (0..scene.roster.len()).filter(|&seed| scene.steps[seed] != 0) {
            let (mut found, mut open) = ([0; W], [0; W]);
            add(&mut found, scene.nodes[seed]);
            add(&mut open, scene.nodes[seed]);
            let mut is_all = (0..W).all(|word| moving[word] & !found[word] == 0);
            while !is_all && let Some(node) = take(&mut open) {
                let process = usize::from(lookup.process_of[usize::from(node)]);
                let place = usize::from(node) << table.width | usize::from(scene.steps[process]);
                // A process whose demand was not asked for has no situation, so nothing is known.
                let number = lookup.numbers.get(place).copied().unwrap_or(0);
                let Some(least) = usize::from(number).checked_sub(1).map(|number| &lookup.least[number]) else { return false };
                for word in 0..W {
                    let more = least.nodes[word] & moving[word] & !found[word];
                    open[word] |= more;
                    found[word] |= more;
                }
                is_all = least.everything || meet(&found, &hopeless) || (0..W).all(|word| moving[word] & !found[word] == 0);
            }
            if !is_all {
                return false;
            }
            add(&mut hopeless, scene.nodes[seed]);
        }
        true
    }

    /// The nodes of the processes that a process at a node demands, or nothing if it demands
    /// everything. The outer `None` leaves the state to the general way.
    #[inline(always)]
    fn demanded<const W: usize>(
        &self,
        table: &Table,
        scene: &Scene<'_, W>,
        process: usize,
        node: u8,
        lookup: &mut Lookup<W>,
    ) -> Option<Option<[u64; W]>> {
        let place = usize::from(node) << table.width | usize::from(scene.steps[process % PROCESSES]);
        let number = match lookup.numbers.get(place) {
            None | Some(0) => self.meet_situation(table, node, place, lookup)?,
            Some(number) => *number,
        };
        let situation = &lookup.situations[usize::from(number) - 1];
        let mut answers = 0;
        if !situation.questions.is_empty() {
            answers = self.answers(table, scene, process, situation)?;
        }
        let place = situation.first as usize + answers;
        let mut entry = lookup.entries[place];
        if matches!(entry.kind, Kind::Unknown) {
            entry = self.learn(table, scene, process, node, usize::from(number) - 1, answers, lookup);
        }
        Some(match entry.kind {
            Kind::Everything | Kind::Unknown => None,
            Kind::Nodes => Some(without(std::array::from_fn(|word| entry.nodes[word] & scene.standing[word]), node)),
            Kind::Local(number) => self.settled(scene, node, &lookup.locals[number as usize]),
        })
    }

    /// The answers to the questions of a situation, by their codes.
    #[inline]
    fn answers<const W: usize>(&self, table: &Table, scene: &Scene<'_, W>, process: usize, situation: &Situation) -> Option<usize> {
        let (mut answers, mut next) = (0, 0);
        while let Some(question) = situation.questions.get(next) {
            let answer = match &table.tests[question.test as usize] {
                Some(test) => test.holds(scene.state, scene.roster.standing[process].offset),
                None => {
                    let processes = &scene.roster.standing;
                    let view =
                        View { state: scene.state, layout: self.program.layout(), pool: &self.pool, places: &self.places, processes };
                    view.holds(&self.tests[question.test as usize].conjunct, process)
                }
            };
            answers |= match situation.certain {
                true => usize::from(answer?) << next,
                false => answer.map_or(0, |yes| 1 + usize::from(yes)) << (2 * next),
            };
            next = if answer == Some(false) { question.after_no as usize } else { next + 1 };
        }
        Some(answers)
    }

    /// A situation that is met for the first time.
    #[cold]
    fn meet_situation<const W: usize>(&self, table: &Table, node: u8, place: usize, lookup: &mut Lookup<W>) -> Option<u16> {
        if lookup.numbers.is_empty() {
            lookup.numbers = vec![0; self.leaving.len() << table.width];
        }
        let rules = &self.rules[range(&self.leaving[usize::from(node)])];
        if rules.len() > 64 || place >= lookup.numbers.len() || lookup.situations.len() >= usize::from(u16::MAX) {
            return None;
        }
        let steps = place & ((1 << table.width) - 1);
        let executable = |rule: &Rule| is_executable(table, steps, rule);
        let numbers = rules.iter().enumerate().fold(0, |all, (number, rule)| all | u64::from(executable(rule)) << number);
        let questions: Box<[Question]> = self.questions(rules, numbers).into();
        let certain = questions.iter().all(|question| table.tests[question.test as usize].is_some());
        let bits = questions.len() * if certain { 1 } else { 2 };
        let first = lookup.entries.len();
        if bits > ANSWER_BITS || first + (1 << bits) > MOST_ENTRIES {
            return None;
        }
        lookup.entries.resize(first + (1 << bits), Entry { kind: Kind::Unknown, nodes: [0; W] });
        lookup.situations.push(Situation { questions, certain, first: first as u32 });
        let mut least = Least { everything: false, nodes: [0; W] };
        for rule in rules.iter().filter(|rule| executable(rule)) {
            least.everything |= rule.everything || rule.timed;
            for &row in [rule.disturbed_from].iter().chain(&rule.partners_from) {
                least.nodes.iter_mut().zip(self.row(row)).for_each(|(word, nodes)| *word |= nodes);
            }
        }
        lookup.least.push(least);
        lookup.numbers[place] = lookup.situations.len() as u16;
        Some(lookup.numbers[place])
    }

    /// Computes what a process demands in a situation with these answers.
    #[cold]
    #[allow(clippy::too_many_arguments)]
    fn learn<const W: usize>(
        &self,
        table: &Table,
        scene: &Scene<'_, W>,
        process: usize,
        node: u8,
        number: usize,
        answers: usize,
        lookup: &mut Lookup<W>,
    ) -> Entry<W> {
        let situation = &lookup.situations[number];
        let (mut given, mut next) = (vec![None; situation.questions.len()], 0);
        while let Some(question) = situation.questions.get(next) {
            given[next] = match situation.certain {
                true => Some(answers >> next & 1 != 0),
                false => [None, Some(false), Some(true), None][answers >> (2 * next) & 3],
            };
            next = if given[next] == Some(false) { question.after_no as usize } else { next + 1 };
        }
        let answered = |test: u32| given[situation.questions.iter().position(|asked| asked.test == test)?];
        let rules = &self.rules[range(&self.leaving[usize::from(node)])];
        let steps = usize::from(scene.steps[process]);
        let local = self.local(rules, |rule| is_executable(table, steps, rule), &answered);
        let mut entry = Entry { kind: Kind::Nodes, nodes: [0; W] };
        entry.nodes.iter_mut().zip(&local.from).for_each(|(word, from)| *word = *from);
        if local.strange || local.everything {
            entry.kind = Kind::Everything;
        } else if !local.is_simple {
            entry.kind = Kind::Local(lookup.locals.len() as u32);
            lookup.locals.push(local);
        }
        lookup.entries[situation.first as usize + answers] = entry;
        entry
    }

    /// The nodes of the processes that are meant by a demand, or nothing if that is everything.
    #[inline]
    fn settled<const W: usize>(&self, scene: &Scene<'_, W>, node: u8, local: &Local) -> Option<[u64; W]> {
        let others = without(scene.standing, node);
        let among = |nodes: &[u64]| -> [u64; W] { std::array::from_fn(|word| nodes.get(word).map_or(0, |nodes| nodes & others[word])) };
        let mut demand = among(&local.from);
        let mut more = |nodes: [u64; W]| demand.iter_mut().zip(nodes).for_each(|(word, nodes)| *word |= nodes);
        for either in &local.either {
            let helpers = either.iter().map(|helpers| match *helpers {
                Helpers::From(row) => among(self.row(row)),
                Helpers::Youngest => {
                    let mut youngest = [0; W];
                    add(&mut youngest, scene.nodes[(scene.roster.len() - 1) % PROCESSES]);
                    without(youngest, node)
                }
            });
            // The fewer the better, and one condition is enough.
            more(helpers.min_by_key(|nodes| nodes.iter().map(|word| word.count_ones()).sum::<u32>()).unwrap_or([0; W]));
        }
        for meeting in &local.meetings {
            if meeting.at.iter().any(|&row| among(self.row(row)).iter().any(|word| *word != 0)) {
                if meeting.everything {
                    return None;
                }
                more(among(self.row(meeting.from)));
            }
        }
        Some(demand)
    }
}

/// Whether the step of a rule is among those with these bits.
fn is_executable(table: &Table, steps: usize, rule: &Rule) -> bool {
    !rule.never && table.bits.get(rule.at as usize).is_some_and(|bit| steps >> bit & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytecode::Verified;
    use contract::{Reduction, Successors, System};
    use std::sync::Arc;
    use vm::Interpreter;

    #[derive(Debug, Default)]
    struct Tally {
        states: usize,
        looked_up: u32,
        reduced: usize,
    }

    /// Compares the choices in the first states of a program with those of the general way.
    fn compare(name: &str, program: &Arc<Verified>, most: usize, tally: &mut Tally) {
        let (Ok(looked_up), Ok(general)) = (Stubborn::of(program), Stubborn::of(program)) else { return };
        let general = Stubborn { table: None, ..general };
        let mut system = Interpreter::new(Arc::clone(program));
        let mut out = Successors::new();
        for state in testkit::states::first(&mut system, most) {
            out.clear();
            system.successors(&state, &mut out);
            let left = looked_up.leave_out(&state, out.entries());
            assert_eq!(left, general.leave_out(&state, out.entries()), "{name}: {state:?}");
            tally.states += 1;
            tally.reduced += usize::from(left != LeftOut::NOTHING);
        }
        let Some(worker) = looked_up.workers.mine() else { return };
        for (asked, left) in
            [(worker.one.asked, worker.one.left), (worker.two.asked, worker.two.left), (worker.four.asked, worker.four.left)]
        {
            tally.looked_up += asked - left;
        }
    }

    #[test]
    fn choices_are_the_same_as_in_the_general_way() {
        let mut tally = Tally::default();
        for (name, text) in testkit::models::texts("", &["pml", "epa", "lf"]) {
            if let Ok(program) = languages::testing::compile(&name, &text, &[]) {
                compare(&name, &program, 300, &mut tally);
            }
        }
        assert!(tally.looked_up as usize > tally.states / 3 && tally.reduced > tally.states / 20, "{tally:?}");
    }

    #[test]
    fn choices_in_random_programs_are_the_same_as_in_the_general_way() {
        let mut tally = Tally::default();
        for seed in 0..1500 {
            if let Some(program) = testkit::random::verified(seed) {
                compare(&format!("seed {seed}"), &Arc::new(program), 100, &mut tally);
            }
        }
        assert!(tally.looked_up > 1000 && tally.reduced > 300, "{tally:?}");
    }
}
