//! Computes which steps do not accord, which steps can enable which, and from which nodes a process
//! can reach them.
//!
//! All of this is computed once for a program. Two steps of different processes *accord* if,
//! wherever both are executable, they can be taken in either order with the same result. The tables
//! have, for each step, the nodes (locations in the control flow of a process) from which a step
//! can be reached that does not accord with it, and for each condition, the nodes from which a step
//! can be reached that may make it true. So a choice in a state only needs the nodes of the
//! processes.

use crate::Off;
use crate::bits::Bits;
use crate::cycles::{self, Move};
use crate::places::Places;
use crate::steps::{Class, Condition, Conjunct, Extractor, Relation, Step};
use bytecode::{Location, Mode, Op, ProcessId, Verified};
use std::collections::{BTreeMap, BTreeSet};
use stepgraph::{Binary, StepGraph};

/// The largest numbers of steps and nodes of a program.
const MOST_STEPS: usize = 4096;
const MOST_NODES: usize = 8192;

/// What a property depends on.
#[derive(Debug)]
pub(crate) struct Visible {
    pub places: Bits,
    pub accepting: bool,
    pub progress: bool,
    /// Whether infinite runs matter: then every cycle has a step that may not be chosen alone.
    pub cycles: bool,
}

impl Visible {
    fn labels(&self) -> bool {
        self.accepting || self.progress
    }
}

/// Steps, nodes, and the relations between them.
pub(crate) struct Relations {
    pub classes: Vec<Class>,
    /// For each process type, the class of its processes that have none of their own.
    pub of_type: Vec<usize>,
    /// For each process that exists from the start, its class.
    pub of_instance: Vec<usize>,
    pub nodes: usize,
    pub steps: Vec<Step>,
    /// For each node, its steps.
    pub leaving: Vec<std::ops::Range<usize>>,
    /// For each step, the nodes from which one can be reached that does not accord with it.
    pub disturbed_from: Vec<Bits>,
    /// For each rendezvous channel (the last is for those created at run time), the nodes from
    /// which an offer can be reached, and those from which an answer can.
    pub offers_from: Vec<Bits>,
    pub answers_from: Vec<Bits>,
    /// The nodes with an offer or an answer among their steps.
    pub offers_at: Vec<Bits>,
    pub answers_at: Vec<Bits>,
    /// The nodes from which a process may come to a fault, or may help another one to come to it.
    pub matters_from: Bits,
    before: Vec<Vec<usize>>,
}

impl Relations {
    pub fn of(program: &Verified, graph: &StepGraph, places: &Places, visible: &Visible) -> Result<Relations, Off> {
        let (classes, of_type, of_instance, nodes) = classes(program)?;
        let extractor = Extractor { program, graph, places };
        let (mut steps, mut leaving) = (Vec::new(), Vec::with_capacity(nodes));
        for (number, class) in classes.iter().enumerate() {
            for location in 0..program.locations().count(class.ty) {
                let first = steps.len();
                let found = extractor.steps(number, class, Location(location as u16)).ok_or(Off::TooLarge)?;
                steps.extend(found);
                leaving.push(first..steps.len());
                if steps.len() > MOST_STEPS {
                    return Err(Off::TooLarge);
                }
            }
        }
        let mut relations = Relations {
            classes,
            of_type,
            of_instance,
            nodes,
            steps,
            leaving,
            disturbed_from: Vec::new(),
            offers_from: Vec::new(),
            answers_from: Vec::new(),
            offers_at: Vec::new(),
            answers_at: Vec::new(),
            matters_from: Bits::new(nodes),
            before: vec![Vec::new(); nodes],
        };
        let moves: Vec<Move> = if visible.cycles { relations.moves(program, places) } else { Vec::new() };
        relations.continue_steps(places);
        relations.find_visible(program, visible);
        relations.find_before(program);
        relations.find_partners(places);
        relations.find_disturbed(program);
        relations.find_mattering();
        if visible.cycles {
            relations.break_cycles(&moves);
        }
        Ok(relations)
    }

    /// All steps as moves through the code.
    fn moves(&self, program: &Verified, places: &Places) -> Vec<Move> {
        let of = |step: &Step| {
            let class = &self.classes[step.class];
            Move::of(step, class, self.entry(program, class.ty), places)
        };
        self.steps.iter().map(of).collect()
    }

    /// Marks steps so that every cycle has a step that is chosen only together with all others.
    fn break_cycles(&mut self, moves: &[Move]) {
        // A step that continues to an offer may continue in the code of the process that answers.
        let alone = |step: &Step| step.never || step.entangled || step.may_diverge || step.visible || !step.later_offers.is_empty();
        let mut marked: Vec<bool> = self.steps.iter().map(alone).collect();
        let crowded: Vec<bool> = self.leaving.iter().map(|steps| marked[steps.clone()].iter().any(|marked| *marked)).collect();
        // Marks cost least where choices are seldom small.
        let score = |step: usize| {
            let disturbed: usize = self.disturbed_from[step].words().iter().map(|word| word.count_ones() as usize).sum();
            disturbed + if crowded[self.steps[step].node] { self.nodes + 1 } else { 0 }
        };
        cycles::mark(moves, self.nodes, &mut marked, &score);
        // A marked step may be in the middle of a transition.
        for number in 0..self.steps.len() {
            let mut found = marked[number];
            let mut seen = BTreeSet::new();
            let mut open = vec![number];
            while let Some(next) = open.pop() {
                found |= marked[next] && !self.steps[next].never;
                if self.steps[next].mode != Mode::Normal
                    && !found
                    && let Some(to) = self.steps[next].target
                    && seen.insert(to)
                {
                    open.extend(self.leaving[self.node(self.steps[next].class, to)].clone());
                }
            }
            self.steps[number].closes = found;
        }
    }

    /// The node of a location.
    fn node(&self, class: usize, location: Location) -> usize {
        self.classes[class].first + location.index()
    }

    /// The node at which processes of a type start that are created by RUN.
    fn entry(&self, program: &Verified, ty: ProcessId) -> usize {
        self.node(self.of_type[ty.index()], entry(program, ty))
    }

    /// The nodes to which processes can come.
    pub fn reachable(&self, program: &Verified) -> Bits {
        let mut found = Bits::new(self.nodes);
        let first = self.of_instance.iter().map(|&class| self.node(class, entry(program, self.classes[class].ty)));
        let mut open: Vec<usize> = first.collect();
        while let Some(node) = open.pop() {
            if found.has(node) {
                continue;
            }
            found.set(node);
            for step in &self.steps[self.leaving[node].clone()] {
                open.extend(step.target.map(|to| self.node(step.class, to)));
                open.extend(step.runs.iter().map(|&ty| self.entry(program, ty)));
            }
        }
        found
    }

    /// Adds to each step the steps that follow it before another process can move.
    fn continue_steps(&mut self, places: &Places) {
        let goes_on = |step: &Step| step.mode != Mode::Normal && step.mode != Mode::Terminate && !step.only_offers;
        let mut later = Vec::new();
        for number in 0..self.steps.len() {
            if !goes_on(&self.steps[number]) {
                continue;
            }
            let mut step = self.steps[number].clone();
            let class = step.class;
            let mut seen = BTreeSet::new();
            let mut open: Vec<usize> = step.target.map(|to| self.node(class, to)).into_iter().collect();
            let mut atomic = step.mode == Mode::Atomic;
            let mut deterministic = step.mode == Mode::Deterministic;
            let (mut edges, mut straight) = (Vec::new(), true);
            while let Some(node) = open.pop() {
                if !seen.insert(node) {
                    continue;
                }
                straight &= self.leaving[node].len() == 1;
                for next in &self.steps[self.leaving[node].clone()] {
                    follow(&mut step, next, places, deterministic);
                    step.stores.retain(|(place, _)| !next.writes.has(*place));
                    // A process may also stop at a later step that is blocked; then it does not
                    // come to the steps after it.
                    straight &= next.guard.is_empty();
                    if straight {
                        step.stores.extend(&next.stores);
                    }
                    if goes_on(next)
                        && let Some(to) = next.target
                    {
                        atomic |= next.mode == Mode::Atomic;
                        deterministic |= next.mode == Mode::Deterministic;
                        edges.push((node, self.node(class, to)));
                        open.push(self.node(class, to));
                    }
                }
            }
            if has_cycle(&seen, &edges) {
                step.may_diverge = atomic;
                step.may_fault = true;
                step.stores.clear();
            }
            later.push((number, step));
        }
        for (number, step) in later {
            self.steps[number] = step;
        }
        // A process that answers an offer on the way moves too, and so do the steps that follow the
        // answer.
        let mut changed = true;
        while changed {
            changed = false;
            for number in 0..self.steps.len() {
                if self.steps[number].later_offers.is_empty() {
                    continue;
                }
                let mut step = self.steps[number].clone();
                for other in &self.steps {
                    if other.answers.iter().any(|&channel| step.later_offers.has(channel)) {
                        let before = (step.reads.clone(), step.writes.clone(), step.later_offers.clone(), step.entangled, step.runs.len());
                        follow(&mut step, other, places, false);
                        step.may_diverge |= other.may_diverge;
                        step.runs.sort_unstable();
                        step.runs.dedup();
                        changed |=
                            before != (step.reads.clone(), step.writes.clone(), step.later_offers.clone(), step.entangled, step.runs.len());
                    }
                }
                step.stores.clear();
                self.steps[number] = step;
            }
        }
    }

    /// Marks the steps that write a visible place, or that enter, leave or pass a location with a
    /// visible label.
    fn find_visible(&mut self, program: &Verified, visible: &Visible) {
        let labelled: Vec<bool> = self
            .classes
            .iter()
            .flat_map(|class| program.locations().addresses(class.ty))
            .map(|&at| {
                let label = program.program().label_kind_at(at);
                (visible.accepting && label.accept) || (visible.progress && label.progress)
            })
            .collect();
        for number in 0..self.steps.len() {
            let step = &self.steps[number];
            let mut found = step.writes.meets(&visible.places) || labelled[step.node];
            let mut seen = BTreeSet::new();
            let mut open: Vec<usize> = step.target.map(|to| self.node(step.class, to)).into_iter().collect();
            let mut first = Some(step);
            while let Some(node) = open.pop() {
                found |= labelled[node];
                let goes_on = first.take().is_none_or(|step| step.mode != Mode::Normal);
                if goes_on && !found && seen.insert(node) {
                    let next = self.steps[self.leaving[node].clone()].iter().filter(|next| next.mode != Mode::Normal);
                    open.extend(next.filter_map(|next| next.target.map(|to| self.node(next.class, to))));
                }
            }
            // Processes that are started or end may be at a label, and so may partners.
            found |= visible.labels() && (!step.runs.is_empty() || step.ends || !step.later_offers.is_empty());
            self.steps[number].visible = found;
        }
    }

    fn find_before(&mut self, program: &Verified) {
        for step in &self.steps {
            if let Some(to) = step.target {
                let to = self.classes[step.class].first + to.index();
                self.before[to].push(step.node);
            }
            for &ty in &step.runs {
                let entry = self.entry(program, ty);
                self.before[entry].push(step.node);
            }
        }
    }

    /// All nodes from which one of `targets` can be reached, themselves included.
    pub fn reaching(&self, targets: impl Iterator<Item = usize>) -> Bits {
        let mut found = Bits::new(self.nodes);
        let mut open: Vec<usize> = targets.collect();
        while let Some(node) = open.pop() {
            if !found.has(node) {
                found.set(node);
                open.extend(&self.before[node]);
            }
        }
        found
    }

    fn find_partners(&mut self, places: &Places) {
        for channel in 0..=places.created() {
            let offering = |step: &&Step| step.offers.contains(&channel) || step.later_offers.has(channel);
            let answering = |step: &&Step| step.answers.contains(&channel);
            let (mut offers_at, mut answers_at) = (Bits::new(self.nodes), Bits::new(self.nodes));
            self.steps.iter().filter(offering).for_each(|step| offers_at.set(step.node));
            self.steps.iter().filter(answering).for_each(|step| answers_at.set(step.node));
            self.offers_from.push(self.reaching(self.steps.iter().filter(offering).map(|step| step.node)));
            self.answers_from.push(self.reaching(self.steps.iter().filter(answering).map(|step| step.node)));
            self.offers_at.push(offers_at);
            self.answers_at.push(answers_at);
        }
    }

    fn find_disturbed(&mut self, program: &Verified) {
        let around: Vec<Bits> = self.steps.iter().map(|step| self.around(program, step)).collect();
        // The nodes of the processes that can answer an offer of a step.
        let answerers: Vec<Bits> = self.steps.iter().map(|step| self.answerers(step)).collect();
        let unsettles = |first: usize, step: usize| {
            let (a, b) = (&self.steps[first], &self.steps[step]);
            let with_partner = !a.offers.is_empty() || !a.answers.is_empty() || !a.later_offers.is_empty();
            !b.later_offers.is_empty() && (with_partner || around[first].meets(&answerers[step]))
        };
        // What a step depends on: nothing disturbs it that writes none of these places.
        let touched: Vec<Bits> = self
            .steps
            .iter()
            .map(|step| {
                let mut touched = step.reads.clone();
                touched.add(&step.writes);
                step.guard.iter().for_each(|conjunct| _ = touched.add(&conjunct.falsified_by));
                touched
            })
            .collect();
        // Both relations are symmetric.
        let mut disturbing = vec![Bits::new(self.nodes); self.steps.len()];
        for (number, step) in self.steps.iter().enumerate() {
            for (other, second) in self.steps.iter().enumerate().take(number + 1) {
                let apart =
                    !step.entangled && !second.entangled && !step.writes.meets(&touched[other]) && !second.writes.meets(&touched[number]);
                if !(apart || accord(step, second)) || unsettles(number, other) || unsettles(other, number) {
                    disturbing[number].set(second.node);
                    disturbing[other].set(step.node);
                }
            }
        }
        self.disturbed_from = disturbing.iter().map(|nodes| self.reaching(nodes.common(nodes))).collect();
    }

    /// The nodes to which a step moves processes, and those from which it moves them: its own
    /// process, and those it starts. A step that continues to an offer stops there if no process
    /// answers. So it depends on which processes come to a node where they answer, or leave one.
    fn around(&self, program: &Verified, step: &Step) -> Bits {
        let mut around = Bits::new(self.nodes);
        around.set(step.node);
        let mut open: Vec<&Step> = vec![step];
        while let Some(next) = open.pop() {
            let Some(to) = next.target.map(|to| self.node(next.class, to)) else { continue };
            if !around.has(to) {
                around.set(to);
                let goes_on = next.mode != Mode::Normal;
                open.extend(self.steps[self.leaving[to].clone()].iter().filter(|_| goes_on));
            }
        }
        step.runs.iter().for_each(|ty| around.set(self.entry(program, *ty)));
        around
    }

    /// The nodes at which processes can answer the later offers of a step.
    fn answerers(&self, step: &Step) -> Bits {
        let mut found = Bits::new(self.nodes);
        self.answers_at.iter().enumerate().filter(|(channel, _)| step.later_offers.has(*channel)).for_each(|(_, at)| _ = found.add(at));
        found
    }

    /// Finds the steps that matter. A step matters if it may be a fault, if a step that matters
    /// follows it, or if it has an effect on a step that matters. All other steps can be removed
    /// from any run to a fault.
    fn find_mattering(&mut self) {
        let mut matters: Vec<bool> = self.steps.iter().map(|step| step.may_fault || step.entangled).collect();
        loop {
            let nodes = self.reaching((0..self.steps.len()).filter(|&number| matters[number]).map(|number| self.steps[number].node));
            let before = matters.iter().filter(|matters| **matters).count();
            for number in 0..self.steps.len() {
                matters[number] = matters[number]
                    || nodes.has(self.steps[number].node)
                    || (0..self.steps.len()).any(|other| matters[other] && has_effect(&self.steps[number], &self.steps[other]));
            }
            if matters.iter().filter(|matters| **matters).count() == before {
                self.matters_from = nodes;
                return;
            }
        }
    }

    /// The nodes from which a step can be reached that may make a conjunct true.
    pub fn enabled_from(&self, conjunct: &Conjunct) -> Bits {
        let helps = |step: &&Step| may_enable(step, conjunct) || step.writes.meets(&conjunct.faults_before);
        self.reaching(self.steps.iter().filter(helps).map(|step| step.node))
    }

    /// The nodes from which a step can be reached that may make a step a fault.
    pub fn made_fault_from(&self, step: &Step) -> Bits {
        let spoils = |other: &&Step| other.entangled || other.writes.meets(&step.faults);
        self.reaching(self.steps.iter().filter(spoils).map(|other| other.node))
    }
}

/// The location at which processes of a type start.
fn entry(program: &Verified, ty: ProcessId) -> Location {
    let entry = program.program().processes[ty.index()].entry;
    program.program().follow_jumps(entry).and_then(|at| program.locations().at(ty, at)).unwrap_or_default()
}

/// Adds what a later step of the same transition reads and writes. Whether that step is executable
/// depends on both ends of a channel.
fn follow(step: &mut Step, next: &Step, places: &Places, deterministic: bool) {
    let mut touched = next.reads.clone();
    for conjunct in &next.guard {
        touched.add(&conjunct.falsified_by);
        touched.add(&conjunct.enabled_by);
    }
    let mut writes = next.writes.clone();
    places.both_ends(&mut touched);
    places.both_ends(&mut writes);
    step.reads.add(&touched);
    step.writes.add(&writes);
    for &channel in &next.offers {
        step.later_offers.set(channel);
    }
    step.later_offers.add(&next.later_offers);
    step.runs.extend(&next.runs);
    step.entangled |= next.entangled;
    // A deterministic sequence that is blocked is a fault.
    step.may_fault |= next.may_fault || (deterministic && !next.guard.is_empty());
    if next.ends {
        step.ends = false;
        step.reads.set(places.existence);
    }
}

/// Whether there is a cycle among the nodes.
fn has_cycle(nodes: &BTreeSet<usize>, edges: &[(usize, usize)]) -> bool {
    // A node from which no edge leads on is taken out, with the edges to it, as long as there is
    // one.
    let mut leaving: BTreeMap<usize, usize> = nodes.iter().map(|node| (*node, 0)).collect();
    let mut before: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (from, to) in edges.iter().filter(|(from, to)| nodes.contains(from) && nodes.contains(to)) {
        leaving.entry(*from).and_modify(|count| *count += 1);
        before.entry(*to).or_default().push(*from);
    }
    let mut ended: Vec<usize> = leaving.iter().filter(|(_, count)| **count == 0).map(|(node, _)| *node).collect();
    let mut left = nodes.len();
    while let Some(node) = ended.pop() {
        left -= 1;
        for from in before.remove(&node).unwrap_or_default() {
            if let Some(count) = leaving.get_mut(&from) {
                *count -= 1;
                if *count == 0 {
                    ended.push(from);
                }
            }
        }
    }
    left > 0
}

/// Whether two steps of different processes can be taken in either order, with the same result,
/// wherever both are executable.
fn accord(a: &Step, b: &Step) -> bool {
    if a.entangled || b.entangled {
        return false;
    }
    // Only the youngest process can end.
    if a.ends && b.ends {
        return true;
    }
    if exclude(a, b) {
        return true;
    }
    let same = |place: usize| {
        let stored = |step: &Step| step.stores.iter().find(|(at, _)| *at == place).map(|(_, value)| *value);
        stored(a).is_some() && stored(a) == stored(b)
    };
    let clash = a.writes.common(&b.writes).any(|place| !same(place));
    !clash
        && !a.writes.meets(&b.reads)
        && !b.writes.meets(&a.reads)
        && a.guard.iter().all(|conjunct| !may_falsify(b, conjunct))
        && b.guard.iter().all(|conjunct| !may_falsify(a, conjunct))
}

/// Whether a step can change if another one is taken before it.
fn has_effect(first: &Step, step: &Step) -> bool {
    let meets = |a: &[usize], b: &[usize], later: &Bits| a.iter().any(|channel| b.contains(channel) || later.has(*channel));
    first.entangled
        || step.entangled
        || first.writes.meets(&step.reads)
        || step.guard.iter().any(|c| first.writes.meets(&c.falsified_by) || first.writes.meets(&c.enabled_by))
        || meets(&first.answers, &step.offers, &step.later_offers)
        || meets(&step.answers, &first.offers, &first.later_offers)
}

/// Whether a step may make a conjunct false that holds.
fn may_falsify(step: &Step, conjunct: &Conjunct) -> bool {
    step.writes.meets(&conjunct.falsified_by) && !stores_towards(step, conjunct, true)
}

/// Whether a step may make a conjunct true that does not hold.
fn may_enable(step: &Step, conjunct: &Conjunct) -> bool {
    step.entangled || step.writes.meets(&conjunct.enabled_by) && !stores_towards(step, conjunct, false)
}

/// Whether the comparison is known to have the value `truth` after a step.
fn stores_towards(step: &Step, conjunct: &Conjunct, truth: bool) -> bool {
    let Condition::Compare { place, relation, constant, .. } = conjunct.condition else { return false };
    let stored = step.stores.iter().find(|(at, _)| *at == place);
    stored.is_some_and(|(_, value)| (relation.apply(*value, constant) != 0) == truth)
}

/// Whether two steps are never executable in the same state. A step that is blocked may still be a
/// fault, and the other one must not change that.
fn exclude(a: &Step, b: &Step) -> bool {
    let excludes = |x: &Conjunct, y: &Conjunct| {
        contradict(&x.condition, &y.condition) && !b.writes.meets(&x.faults_before) && !a.writes.meets(&y.faults_before)
    };
    a.guard.iter().any(|x| b.guard.iter().any(|y| excludes(x, y)))
}

fn contradict(a: &Condition, b: &Condition) -> bool {
    let (Condition::Compare { place, relation: r, constant: c, .. }, Condition::Compare { place: other, relation: s, constant: d, .. }) =
        (a, b)
    else {
        return false;
    };
    if place != other {
        return false;
    }
    match (*r, *s) {
        (Binary::Eq, s) => s.apply(*c, *d) == 0,
        (r, Binary::Eq) => r.apply(*d, *c) == 0,
        (r, s) => match (bounds(r, *c), bounds(s, *d)) {
            (Some((low, high)), Some((least, most))) => high < least || most < low,
            _ => false,
        },
    }
}

/// The values that have a relation to a constant, if they are an interval.
fn bounds(relation: Relation, constant: i32) -> Option<(i64, i64)> {
    let (c, low, high) = (i64::from(constant), i64::from(i32::MIN), i64::from(i32::MAX));
    Some(match relation {
        Binary::Lt => (low, c - 1),
        Binary::Le => (low, c),
        Binary::Gt => (c + 1, high),
        Binary::Ge => (c, high),
        _ => return None,
    })
}

/// Divides processes into classes: by process, if the code uses its own number and only initial
/// processes have the type; otherwise by type.
#[allow(clippy::type_complexity)]
fn classes(program: &Verified) -> Result<(Vec<Class>, Vec<usize>, Vec<usize>, usize), Off> {
    let declared = program.program();
    let mut run = vec![false; declared.processes.len()];
    for op in &declared.code {
        if let Op::Run { process, .. } = op {
            run[process.index()] = true;
        }
    }
    let (mut classes, mut nodes) = (Vec::new(), 0);
    let mut add = |ty: ProcessId, pid: Option<i32>| {
        classes.push(Class { ty, pid, first: nodes });
        nodes += program.locations().count(ty);
        if nodes > MOST_NODES { Err(Off::TooLarge) } else { Ok(classes.len() - 1) }
    };
    let mut of_type = Vec::new();
    let mut apart = Vec::new();
    for (number, run) in run.into_iter().enumerate() {
        let ty = ProcessId(number as u8);
        let asks = declared.code_of(ty).any(|at| matches!(declared.code.get(at as usize), Some(Op::Pid {})));
        apart.push(asks && !run);
        of_type.push(add(ty, None)?);
    }
    let mut of_instance = Vec::new();
    for (pid, ty) in declared.instances.iter().enumerate() {
        of_instance.push(if apart[ty.index()] { add(*ty, Some(pid as i32))? } else { of_type[ty.index()] });
    }
    Ok((classes, of_type, of_instance, nodes))
}
