//! Chooses the processes that a search must follow in a state.

mod lookup;

pub(crate) use lookup::Lookup;

use crate::Off;
use crate::evaluate::{MOST_PROCESSES, View};
use crate::local::{Helpers, Local, MOST_QUESTIONS, Meeting, Question, Row, Situations, Worker, Workers};
use crate::memo::Questions;
use crate::places::Places;
use crate::relations::{Relations, Visible};
use crate::steps::{Condition, Conjunct, Extractor};
use bytecode::{AtomId, Op, ProcessId, Verified};
use contract::{LeftOut, Proposition, Reduction, Successor};
use lookup::{Interval, Table};
use std::sync::Arc;
use stepgraph::{Facts, Pool, StepGraph};

/// Most processes of small states: the time goes by the size of what is kept for each of them.
const FEW: usize = 8;
const MANY: usize = 16;

/// A conjunct of a rule.
struct Test {
    conjunct: Conjunct,
    /// The nodes from which it may be made true, or the path may be made a fault before it.
    enabled_from: Row,
}

/// What a step demands of a stubborn set that contains its process.
struct Rule {
    /// The number of the step, and whether there are other paths to it from the same node. Not all
    /// of these must be executable.
    at: u32,
    shared: bool,
    /// It is a path that comes to no step.
    never: bool,
    /// It has a single test and needs nothing else: if the step is not executable, the test does
    /// not hold and need not be made.
    alone: bool,
    /// Its tests, among all.
    tests: std::ops::Range<u32>,
    /// The nodes from which a step that does not accord with it can be reached.
    disturbed_from: Row,
    /// The nodes from which it may be made a fault, executable or not.
    made_fault_from: Row,
    /// The nodes from which a partner may come, for each rendezvous channel on which it makes an
    /// offer or answers one.
    partners_from: Vec<Row>,
    /// The nodes at which partners of its first step are.
    partners_at: Vec<Row>,
    /// It answers an offer: its transitions are those of its partners.
    answers: bool,
    /// If it is executable, only the set of all processes may contain it: it depends on anything,
    /// may change an atom of a property, or may close a cycle.
    everything: bool,
    /// It depends on anything.
    entangled: bool,
    /// Whether it is executable depends on TIMEOUT.
    timed: bool,
}

/// Chooses stubborn sets of processes.
pub struct Stubborn {
    program: Arc<Verified>,
    pool: Pool,
    places: Places,
    words: usize,
    rows: Vec<u64>,
    /// For each node, its rules.
    leaving: Vec<std::ops::Range<u32>>,
    rules: Vec<Rule>,
    tests: Vec<Test>,
    /// The first node of each type, for each process that may have nodes of its own, and then for
    /// the others.
    first_nodes: Vec<u32>,
    instances: usize,
    /// The nodes from which a process may come to a fault, or may help another one to come to a
    /// fault.
    matters_from: Row,
    /// Whether any process may come to a fault.
    may_fault: bool,
    /// Whether anything can ever be left out.
    reduces: bool,
    /// Whether states of one length have the same components: none are created.
    steady: bool,
    /// Whether and how choices are looked up.
    table: Option<Table>,
    workers: Workers,
}

/// What processes demand of a set they are in, as far as it is known.
struct Demands<const N: usize> {
    /// The processes whose demand is known.
    known: u64,
    /// A closed set that contains one of these is not better than the best so far: those who demand
    /// everything, and those around which a set was closed. Each set that contains a process
    /// contains the set around it.
    useless: u64,
    /// For each process, the others that must be in it too.
    others: [u64; N],
}

/// How many words of a row are compared at once.
const NODE_WORDS: usize = 4;
/// The most words of a row in a program whose choices are looked up.
const MOST_WORDS: usize = 4;

/// A state, where its processes stand, and what they can do: at most `N`.
struct Scene<'a, 's, const N: usize> {
    view: View<'a>,
    /// The first words of the set of nodes where processes stand.
    nodes: [u64; NODE_WORDS],
    moves: Moves<'s, N>,
}

/// The situations that were met, and the questions of the present choice.
struct Met<'a> {
    situations: &'a mut [Vec<Situations>],
    questions: Questions,
}

/// A closed set.
#[derive(Clone, Copy)]
struct Candidate {
    processes: u64,
    steps: u32,
}

/// The steps of a state, by process.
struct Moves<'s, const N: usize> {
    steps: &'s [Successor],
    /// For each process, the first of its steps and their number.
    first: [u16; N],
    count: [u16; N],
    /// The processes that have steps.
    moving: u64,
}

impl<'s, const N: usize> Moves<'s, N> {
    fn new(steps: &'s [Successor]) -> Self {
        Moves { steps, first: [0; N], count: [0; N], moving: 0 }
    }

    /// Divides the steps; whether they are in order, and of the first processes.
    #[inline]
    fn divide(&mut self) -> bool {
        let mut last = usize::MAX;
        for (number, step) in self.steps.iter().enumerate() {
            let process = step.action.process as usize;
            if process != last {
                if process >= N || number > usize::from(u16::MAX) || self.moving >> process & 1 != 0 {
                    return false;
                }
                self.moving |= 1 << process;
                self.first[process] = number as u16;
                last = process;
            }
            self.count[process] = self.count[process].saturating_add(1);
        }
        true
    }

    /// The steps of a process.
    #[inline]
    fn of(&self, process: usize) -> &'s [Successor] {
        &self.steps[usize::from(self.first[process])..][..usize::from(self.count[process])]
    }
}

impl Stubborn {
    /// The reduction for a program, if there is one that preserves deadlocks and faults.
    pub fn of(program: &Arc<Verified>) -> Result<Stubborn, Off> {
        Stubborn::new(program, None)
    }

    /// The reduction for a program that also preserves the truth of formulas without `X` over these
    /// propositions on infinite runs. A choice that leaves something out has no step that may
    /// change a proposition, and every cycle has a state in which everything is expanded. The
    /// choice depends only on the state. So a search needs no proviso: the program with these steps
    /// is a system like any other, and an automaton can move with it.
    pub fn invisible(program: &Arc<Verified>, propositions: &[Proposition]) -> Result<Stubborn, Off> {
        Stubborn::new(program, Some(propositions))
    }

    fn new(program: &Arc<Verified>, propositions: Option<&[Proposition]>) -> Result<Stubborn, Off> {
        let layout = program.layout();
        if layout.last.is_some() {
            return Err(Off::Last);
        }
        if layout.processes.iter().any(|process| process.priority.is_some()) {
            return Err(Off::Priorities);
        }
        if program.program().code.iter().any(|op| matches!(op, Op::Enabled {})) {
            return Err(Off::Enabled);
        }
        let graph = StepGraph::of(program).map_err(|_| Off::TooLarge)?;
        let places = Places::of(program);
        let visible = visible(program, &places, propositions)?;
        let relations = Relations::of(program, &graph, &places, &visible)?;
        let mut tables = Tables { words: relations.nodes.div_ceil(64), rows: Vec::new() };
        let partners = |tables: &mut Tables, from: &[crate::bits::Bits], channels: &[usize]| -> Vec<Row> {
            channels.iter().map(|&channel| tables.row(&from[channel])).collect()
        };
        let (mut rules, mut all_tests, mut intervals) = (Vec::new(), Vec::new(), Vec::new());
        for (number, step) in relations.steps.iter().enumerate() {
            let mut partners_from = partners(&mut tables, &relations.answers_from, &step.offers);
            partners_from.extend(partners(&mut tables, &relations.offers_from, &step.answers));
            let later: Vec<usize> = (0..=places.created()).filter(|&channel| step.later_offers.has(channel)).collect();
            partners_from.extend(partners(&mut tables, &relations.answers_from, &later));
            let mut partners_at = partners(&mut tables, &relations.answers_at, &step.offers);
            partners_at.extend(partners(&mut tables, &relations.offers_at, &step.answers));
            let needs_partner = |conjunct: &Conjunct| matches!(conjunct.condition, Condition::Offer | Condition::Answer);
            let first_test = all_tests.len() as u32;
            for conjunct in step.guard.iter().filter(|conjunct| !needs_partner(conjunct)) {
                all_tests.push(Test { enabled_from: tables.row(&relations.enabled_from(conjunct)), conjunct: conjunct.clone() });
                intervals.push(Interval::of(&conjunct.condition, relations.classes[step.class].ty, layout, graph.pool()));
            }
            let shared = relations.steps[relations.leaving[step.node].clone()].iter().filter(|other| other.at == step.at).count() > 1;
            let settled = !shared && !step.never && !step.may_fault && !step.entangled && !step.timed;
            rules.push(Rule {
                at: step.at.0,
                shared,
                never: step.never,
                alone: settled && matches!(&step.guard[..], [conjunct] if is_decisive(conjunct)),
                tests: first_test..all_tests.len() as u32,
                disturbed_from: tables.row(&relations.disturbed_from[number]),
                made_fault_from: tables.row(&relations.made_fault_from(step)),
                partners_from,
                partners_at,
                answers: step.guard.iter().any(|conjunct| matches!(conjunct.condition, Condition::Answer)),
                everything: step.entangled || step.may_diverge || step.visible || step.closes,
                entangled: step.entangled,
                timed: step.timed,
            });
        }
        let matters_from = tables.row(&relations.matters_from);
        let reduces = reduces(program, &relations, &rules, &tables);
        let leaving: Vec<_> = relations.leaving.iter().map(|steps| steps.start as u32..steps.end as u32).collect();
        let location = |node: usize| {
            let class = &relations.classes[relations.classes.partition_point(|class| class.first <= node) - 1];
            (class.ty, node - class.first)
        };
        let table = if leaving.len() <= 64 * MOST_WORDS { Table::of(&leaving, &rules, intervals, location) } else { None };
        let first = |class: usize| relations.classes[class].first as u32;
        let of_type: Vec<u32> = relations.of_type.iter().map(|&class| first(class)).collect();
        let instances = relations.of_instance.len();
        let mut first_nodes = of_type.repeat(instances + 1);
        for (process, &class) in relations.of_instance.iter().enumerate() {
            let class = &relations.classes[class];
            if class.pid.is_some() {
                first_nodes[process * of_type.len() + class.ty.index()] = class.first as u32;
            }
        }
        Ok(Stubborn {
            program: Arc::clone(program),
            pool: graph.pool().clone(),
            words: tables.words,
            rows: tables.rows,
            leaving,
            rules,
            tests: all_tests,
            first_nodes,
            instances,
            matters_from,
            // With a temporal property, marked steps break the cycles.
            may_fault: propositions.is_none() && !relations.matters_from.is_empty(),
            reduces,
            steady: !program.program().code.iter().any(|op| matches!(op, Op::Run { .. } | Op::Chnew { .. })),
            places,
            table,
            workers: Workers::default(),
        })
    }

    /// The first node of a process with a number and a type.
    fn first_node(&self, process: usize, ty: usize) -> u32 {
        self.first_nodes[process.min(self.instances) * self.program.layout().processes.len() + ty]
    }

    fn has(&self, row: Row, node: u32) -> bool {
        self.rows[row as usize * self.words + node as usize / 64] >> (node % 64) & 1 != 0
    }

    /// The nodes of a row.
    fn row(&self, row: Row) -> &[u64] {
        &self.rows[row as usize * self.words..][..self.words]
    }

    /// The processes that stand at some nodes.
    #[inline]
    fn standing<const N: usize>(&self, scene: &Scene<'_, '_, N>, nodes: &[u64]) -> u64 {
        if self.words <= NODE_WORDS && nodes.iter().zip(&scene.nodes).all(|(some, all)| some & all == 0) {
            return 0;
        }
        let mut found = 0;
        for (number, process) in scene.view.processes.iter().enumerate() {
            found |= (nodes[process.node as usize / 64] >> (process.node % 64) & 1) << number;
        }
        found
    }

    fn helpers<const N: usize>(&self, scene: &Scene<'_, '_, N>, helpers: Helpers) -> u64 {
        match helpers {
            Helpers::From(row) => self.standing(scene, self.row(row)),
            Helpers::Youngest => 1 << (scene.view.processes.len() - 1),
        }
    }

    /// What a process demands of a stubborn set that contains it, and whether it is everything. It
    /// is everything if its steps are not those of the tables, because of a fault in a condition or
    /// a timeout.
    fn demand<const N: usize>(&self, scene: &Scene<'_, '_, N>, process: usize, met: &mut Met<'_>) -> (u64, bool) {
        let steps = scene.moves.of(process);
        let node = scene.view.processes[process].node;
        let rules = &self.rules[range(&self.leaving[node as usize])];
        let is_executable = |rule: &Rule| steps.iter().any(|step| step.step == rule.at);
        let (mut executable, mut strange) = (0_u64, false);
        for step in steps {
            let mut known = false;
            for (number, rule) in rules.iter().enumerate() {
                let same = rule.at == step.step;
                executable |= u64::from(same) << (number % 64);
                known |= same;
            }
            strange |= !known;
        }
        if strange {
            return (0, true);
        }
        debug_assert!(rules.iter().all(|rule| self.is_settled(rule, scene.view, process, is_executable(rule))));
        let holds = |test: u32| scene.view.holds(&self.tests[test as usize].conjunct, process);
        if rules.len() > 64 {
            met.questions.give_up();
            return self.settle(scene, process, &self.local(rules, is_executable, &holds));
        }
        let situations = Worker::situations(met.situations, node, executable, || self.questions(rules, executable));
        if situations.questions.len() > MOST_QUESTIONS {
            met.questions.give_up();
            return self.settle(scene, process, &self.local(rules, is_executable, &holds));
        }
        let answers = situations.ask(|test| {
            let answer = holds(test);
            met.questions.ask(test, process, answer);
            answer
        });
        let local = situations.after(answers, |answered| self.local(rules, is_executable, answered));
        self.settle(scene, process, local)
    }

    /// Whether the test of a rule that has no other does not hold if the rule is not executable.
    fn is_settled(&self, rule: &Rule, view: View<'_>, process: usize, executable: bool) -> bool {
        let holds = |test: u32| view.holds(&self.tests[test as usize].conjunct, process) == Some(true);
        executable || !rule.alone || !rule.tests.clone().any(holds)
    }

    /// The tests that decide what is demanded where these rules are executable.
    fn questions(&self, rules: &[Rule], executable: u64) -> Vec<Question> {
        let mut questions: Vec<Question> = Vec::new();
        let blocked = |number: usize, rule: &Rule| executable >> number & 1 == 0 || rule.shared;
        for rule in rules.iter().enumerate().filter(|(number, rule)| !rule.alone && blocked(*number, rule)).map(|(_, rule)| rule) {
            let (first, mut perhaps) = (questions.len(), false);
            let mut decisive = Vec::new();
            for number in rule.tests.clone() {
                let test = &self.tests[number as usize];
                if !matches!(test.conjunct.condition, Condition::Unknown) {
                    decisive.push(self.is_hopeless(test) && !perhaps);
                    questions.push(Question { test: number, after_no: questions.len() as u32 + 1 });
                }
                perhaps |= test.conjunct.may_fault;
            }
            // A condition that no process can make true blocks the step for ever.
            let end = questions.len() as u32;
            for (question, decisive) in questions[first..].iter_mut().zip(decisive) {
                question.after_no = if decisive { end } else { question.after_no };
            }
        }
        questions
    }

    /// Whether no process can make this test true if it does not hold.
    fn is_hopeless(&self, test: &Test) -> bool {
        !matches!(test.conjunct.condition, Condition::IsLast) && self.row(test.enabled_from).iter().all(|word| *word == 0)
    }

    /// Who is meant by a demand in a state, and whether it is everything.
    #[inline(always)]
    fn settle<const N: usize>(&self, scene: &Scene<'_, '_, N>, process: usize, local: &Local) -> (u64, bool) {
        if local.strange || local.everything {
            return (0, true);
        }
        let mut demanded = self.standing(scene, &local.from);
        if local.is_simple {
            return (demanded & !(1 << process), false);
        }
        let (but, mut everything) = (!(1 << process), false);
        for either in &local.either {
            // The fewer the better, and one condition is enough.
            let fewest = either.iter().map(|&helpers| self.helpers(scene, helpers) & but).min_by_key(|helpers| helpers.count_ones());
            demanded |= fewest.unwrap_or(0);
        }
        for meeting in &local.meetings {
            if meeting.at.iter().any(|&row| self.standing(scene, self.row(row)) & but != 0) {
                everything |= meeting.everything;
                demanded |= self.standing(scene, self.row(meeting.from));
            }
        }
        (demanded & but, everything)
    }

    /// What a process with these rules demands. `answer` tells whether a test gave yes or no.
    fn local(&self, rules: &[Rule], executable: impl Fn(&Rule) -> bool, answer: &dyn Fn(u32) -> Option<bool>) -> Local {
        let mut local = Local { from: vec![0; self.words].into(), ..Local::default() };
        for rule in rules {
            let executable = executable(rule);
            if executable {
                local.strange |= rule.timed;
                self.add_executable(rule, &mut local);
            }
            if !executable || rule.shared {
                self.add_blocked(rule, executable, answer, &mut local);
            }
        }
        local.is_simple = local.either.is_empty() && local.meetings.is_empty();
        local
    }

    fn add(&self, row: Row, local: &mut Local) {
        for (word, more) in local.from.iter_mut().zip(self.row(row)) {
            *word |= more;
        }
    }

    /// Adds the demand of an executable step: no other process may come to a step that does not
    /// accord with it.
    fn add_executable(&self, rule: &Rule, local: &mut Local) {
        local.everything |= rule.everything;
        self.add(rule.disturbed_from, local);
        rule.partners_from.iter().for_each(|&row| self.add(row, local));
    }

    /// Adds the demand of a step that is blocked or answers an offer: no other process may come to
    /// enable it. If another path to the step is `executable`, it may be neither.
    fn add_blocked(&self, rule: &Rule, executable: bool, answer: &dyn Fn(u32) -> Option<bool>, local: &mut Local) {
        let mut blocked = Vec::new();
        let (mut unknown, mut all_known) = (Vec::new(), true);
        // After a condition that may be a fault, a condition that does not hold blocks the path
        // only if the first one holds.
        let mut perhaps = false;
        for number in rule.tests.clone() {
            let test = &self.tests[number as usize];
            match if rule.alone { Some(false) } else { answer(number) } {
                Some(true) => {}
                Some(false) if self.is_hopeless(test) && !perhaps => return,
                Some(false) => blocked.push(match test.conjunct.condition {
                    // Only the end of the youngest process helps, before that of any other.
                    Condition::IsLast => Helpers::Youngest,
                    _ => Helpers::From(test.enabled_from),
                }),
                None => {
                    all_known = false;
                    unknown.push(test.enabled_from);
                    // A condition that blocks the path before this one is enough.
                    if test.conjunct.may_fault && !blocked.is_empty() {
                        break;
                    }
                    perhaps |= test.conjunct.may_fault;
                }
            }
        }
        let is_blocked = !blocked.is_empty();
        match blocked[..] {
            [] => {}
            [Helpers::From(row)] => self.add(row, local),
            _ => local.either.push(blocked),
        }
        if is_blocked && !perhaps {
            return;
        }
        // The step depends on anything, or no condition is known to block it.
        local.everything |= rule.entangled || (all_known && rule.partners_from.is_empty() && !executable);
        unknown.iter().chain([&rule.made_fault_from]).chain(&rule.partners_from).for_each(|&row| self.add(row, local));
        // If a partner is there already, the values that are sent and compared decide. A process
        // that answers an offer moves together with the sender.
        if !rule.partners_at.is_empty() {
            let everything = rule.answers && rule.everything;
            local.meetings.push(Meeting { at: rule.partners_at.clone(), everything, from: rule.disturbed_from });
        }
    }

    /// Whether a worker looks choices up. Then it does not keep those that it cannot look up.
    fn looks_up(&self, worker: &Worker) -> bool {
        self.table.is_some()
            && match self.words {
                0 | 1 => worker.one.is_on(),
                2 => worker.two.is_on(),
                _ => worker.four.is_on(),
            }
    }

    /// Whether a worker that looks choices up remembers that there is none with these steps.
    #[inline(always)]
    fn is_known_hopeless(&self, key: &lookup::Key, worker: &Worker) -> bool {
        match self.words {
            0 | 1 => worker.one.is_hopeless(key),
            2 => worker.two.is_hopeless(key),
            _ => worker.four.is_hopeless(key),
        }
    }

    /// What is left out in a state, as it was chosen before or anew. If `keyed`, the key of the
    /// worker has begun with these steps. `list` is another key of the steps.
    #[inline(always)]
    fn left_out(&self, state: &[u8], steps: &[Successor], worker: &mut Worker, keyed: bool, list: Option<&lookup::Key>) -> LeftOut {
        let [first, .., last] = steps else { return LeftOut::NOTHING };
        // If only one process has steps, nothing can be left out. In the middle of an atomic
        // sequence no other process moves.
        if first.action.process == last.action.process && steps.iter().all(|step| step.action.process == first.action.process) {
            return LeftOut::NOTHING;
        }
        let layout = self.program.layout();
        let exclusive = layout.exclusive.is_some_and(|at| state.get(at).is_some_and(|&holder| holder != 0));
        let Worker { roster, key, memo, one, two, four, .. } = worker;
        if exclusive || !roster.find(state, layout, self.steady, |process, ty| self.first_node(process, ty)) {
            return LeftOut::NOTHING;
        }
        if let Some(table) = &self.table {
            let found = match self.words {
                0 | 1 if one.is_on() => self.look_up(table, state, steps, list, roster, one),
                2 if two.is_on() => self.look_up(table, state, steps, list, roster, two),
                _ if four.is_on() => self.look_up(table, state, steps, list, roster, four),
                _ => None,
            };
            if let Some(found) = found {
                return found;
            }
        }
        let keyed = (keyed || memo.is_paused()) && memo.is_useful() && key.end(roster, state);
        if keyed {
            let view = View { state, layout, pool: &self.pool, places: &self.places, processes: &roster.standing };
            let holds = |test: u32, process: usize| view.holds(&self.tests[test as usize].conjunct, process);
            if let Some(found) = memo.find(key, holds) {
                return found;
            }
        }
        self.chosen_anew(state, steps, worker, keyed)
    }

    /// What is left out in a state whose processes the worker knows. If `keep`, it is kept under
    /// the key of the worker.
    #[inline(never)]
    fn chosen_anew(&self, state: &[u8], steps: &[Successor], worker: &mut Worker, keep: bool) -> LeftOut {
        let Worker { roster, key, memo, met, .. } = worker;
        roster.stand(state);
        let layout = self.program.layout();
        let view = View { state, layout, pool: &self.pool, places: &self.places, processes: &roster.standing };
        if met.is_empty() {
            met.resize_with(self.leaving.len(), Vec::new);
        }
        let mut met = Met { situations: met, questions: Questions::default() };
        let found = match view.processes.len() {
            count if count <= FEW => self.choose::<FEW>(view, steps, &mut met),
            count if count <= MANY => self.choose::<MANY>(view, steps, &mut met),
            _ => self.choose::<MOST_PROCESSES>(view, steps, &mut met),
        };
        if keep {
            memo.keep(key, &met.questions, found);
        }
        found
    }

    fn choose<const N: usize>(&self, view: View<'_>, steps: &[Successor], met: &mut Met<'_>) -> LeftOut {
        let mut scene = Scene::<N> { view, nodes: [0; NODE_WORDS], moves: Moves::new(steps) };
        if !scene.moves.divide() {
            return LeftOut::NOTHING;
        }
        for standing in view.processes {
            if let Some(word) = scene.nodes.get_mut(standing.node as usize / 64) {
                *word |= 1 << (standing.node % 64);
            }
        }
        let Some(chosen) = self.best(&scene, met) else { return LeftOut::NOTHING };
        let processes = !chosen;
        let mut postponed = 0;
        if self.may_fault {
            let mut open = scene.moves.moving & processes;
            while open != 0 {
                let process = open.trailing_zeros();
                open &= open - 1;
                postponed |= u64::from(self.has(self.matters_from, view.processes[process as usize].node)) << process;
            }
        }
        LeftOut { processes, postponed }
    }

    /// The closed set with the fewest steps, but at least one; nothing if it has all processes.
    fn best<const N: usize>(&self, scene: &Scene<'_, '_, N>, met: &mut Met<'_>) -> Option<u64> {
        let mut demands = Demands { known: 0, useless: 0, others: [0; N] };
        let mut best: Option<Candidate> = None;
        let mut seeds = scene.moves.moving;
        while seeds != 0 {
            let seed = seeds.trailing_zeros() as usize;
            seeds &= seeds - 1;
            if let Some(found) = self.closure(scene, seed, &mut demands, best.as_ref(), met) {
                best = Some(found);
                if found.steps == 1 {
                    break;
                }
            }
            demands.useless |= 1 << seed;
        }
        best.map(|found| found.processes)
    }

    /// The closed set around a process, if it leaves a step out and is better than the best so far.
    fn closure<const N: usize>(
        &self,
        scene: &Scene<'_, '_, N>,
        seed: usize,
        demands: &mut Demands<N>,
        best: Option<&Candidate>,
        met: &mut Met<'_>,
    ) -> Option<Candidate> {
        let mut found = Candidate { processes: 1 << seed, steps: 0 };
        let mut open = found.processes;
        while open != 0 {
            let process = open.trailing_zeros() as usize;
            open &= open - 1;
            found.steps += u32::from(scene.moves.count[process]);
            if best.is_some_and(|best| found.steps >= best.steps) {
                return None;
            }
            if demands.known >> process & 1 == 0 {
                let (others, everything) = self.demand(scene, process, met);
                demands.known |= 1 << process;
                demands.useless |= u64::from(everything) << process;
                demands.others[process] = others;
            }
            let others = demands.others[process];
            open |= others & !found.processes;
            found.processes |= others;
            if scene.moves.moving & !found.processes == 0 || found.processes & demands.useless != 0 {
                return None;
            }
        }
        Some(found)
    }
}

impl Reduction for Stubborn {
    fn is_identity(&self) -> bool {
        !self.reduces
    }

    fn leave_out(&self, state: &[u8], steps: &[Successor]) -> LeftOut {
        let mut left = [LeftOut::NOTHING];
        let source = steps.first().map_or(0, |step| step.source);
        self.leave_out_of_all(&[state], source, steps, &mut left);
        left[0]
    }

    fn leave_out_of_all(&self, states: &[&[u8]], source: u32, steps: &[Successor], left: &mut [LeftOut]) {
        let mut mine = self.workers.mine();
        let mut other = None;
        let worker = match &mut mine {
            Some(worker) => worker,
            None => other.insert(Worker::default()),
        };
        let mut rest = steps;
        for ((number, state), left) in (source..).zip(states).zip(left) {
            if self.looks_up(worker) {
                let (count, is_single, list) = lookup::Key::read(number, rest);
                let (own, later) = rest.split_at(count);
                rest = later;
                // If only one process has steps, nothing can be left out.
                if !is_single && !list.as_ref().is_some_and(|list| self.is_known_hopeless(list, worker)) {
                    *left = self.left_out(state, own, worker, false, list.as_ref());
                }
                continue;
            }
            let keyed = !worker.memo.is_paused();
            let count = match keyed {
                true => worker.key.begin(number, rest),
                false => rest.iter().take_while(|step| step.source == number).count(),
            };
            let (own, later) = rest.split_at(count);
            rest = later;
            *left = self.left_out(state, own, worker, keyed, None);
        }
    }
}

/// Whether a condition is known to be false where a step that asks for nothing else is not
/// executable.
fn is_decisive(conjunct: &Conjunct) -> bool {
    let condition = &conjunct.condition;
    !conjunct.may_fault && !matches!(condition, Condition::Offer | Condition::Answer | Condition::Unknown | Condition::Never)
}

/// Whether there is a location at which a process may be chosen without some other one that can
/// move. Whatever a process can do, it demands at least what all its steps demand.
fn reduces(program: &Verified, relations: &Relations, rules: &[Rule], tables: &Tables) -> bool {
    let is_run = |ty: ProcessId| program.program().code.iter().any(|op| matches!(op, Op::Run { process, .. } if *process == ty));
    // For each node, its class if only one process can be of it.
    let mut only = Vec::with_capacity(relations.nodes);
    for (number, class) in relations.classes.iter().enumerate() {
        let instances = relations.of_instance.iter().filter(|of| **of == number).count();
        let one = instances == 1 && (class.pid.is_some() || !is_run(class.ty));
        only.resize(only.len() + program.locations().count(class.ty), one.then_some(number));
    }
    let reachable = relations.reachable(program);
    let possible = |node: usize| relations.leaving[node].clone().filter(|&number| !relations.steps[number].never);
    let moving: Vec<usize> = (0..relations.nodes).filter(|&node| reachable.has(node) && possible(node).next().is_some()).collect();
    let leaves_out = |number: usize, other: usize| {
        let rule = &rules[number];
        let mut demanded = [rule.disturbed_from].into_iter().chain(rule.partners_from.iter().copied());
        !rule.everything && !demanded.any(|row| tables.has(row, other))
    };
    moving.iter().any(|&node| {
        let others = moving.iter().filter(|&&other| only[node].is_none() || only[node] != only[other]);
        others.into_iter().any(|&other| possible(node).any(|number| leaves_out(number, other)))
    })
}

/// What propositions depend on.
fn visible(program: &Verified, places: &Places, propositions: Option<&[Proposition]>) -> Result<Visible, Off> {
    let mut visible = Visible { places: places.none(), accepting: false, progress: false, cycles: propositions.is_some() };
    let facts = Facts::of(program);
    for proposition in propositions.unwrap_or_default() {
        match *proposition {
            Proposition::Atom(number) => {
                let atom = AtomId::new(number as usize).ok_or(Off::TooLarge)?;
                let (graph, value) = StepGraph::of_atom(program, &facts, atom).map_err(|_| Off::TooLarge)?;
                let reads = Extractor { program, graph: &graph, places }.read(value).ok_or(Off::Property)?;
                visible.places.add(&reads);
            }
            Proposition::Accepting => visible.accepting = true,
            Proposition::NonProgress => visible.progress = true,
        }
    }
    Ok(visible)
}

/// Rows under construction.
struct Tables {
    words: usize,
    rows: Vec<u64>,
}

impl Tables {
    fn has(&self, row: Row, node: usize) -> bool {
        self.rows[row as usize * self.words + node / 64] >> (node % 64) & 1 != 0
    }

    fn row(&mut self, nodes: &crate::bits::Bits) -> Row {
        // In a program without processes all sets are empty.
        if self.words == 0 {
            return 0;
        }
        let words = nodes.words();
        let found = self.rows.chunks_exact(self.words).position(|row| row == words);
        found.unwrap_or_else(|| {
            self.rows.extend_from_slice(words);
            self.rows.len() / self.words - 1
        }) as Row
    }
}

fn range(range: &std::ops::Range<u32>) -> std::ops::Range<usize> {
    range.start as usize..range.end as usize
}
