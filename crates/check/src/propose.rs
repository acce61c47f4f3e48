//! Proposes measures of progress: candidates from the code, tried on a sample of the states.
//!
//! Pieces of measures are variables, sums of arrays and the control-flow order of processes. A
//! sample of states and steps shows which of them never or seldom fall. These are combined to
//! candidates: single pieces, sums, lists. Each candidate then drives a sweep over a bounded number
//! of states. The candidates are ranked by the number of states that the sweep had to store.

use crate::measure::Measure;
use crate::plan::Engine;
use crate::subject::Subject;
use bytecode::Verified;
use contract::{Cancel, Limits, Quiet, Successors, System, Verdict};
use measure::{Known, MeasurePart, Sum, compose, pieces, sum_text};
use search::{MEASURE_MAX, Task};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{Layers, Plain};
use vm::Interpreter;

/// The bounds of the trials.
#[derive(Clone, Debug)]
pub struct Sampling {
    /// The number of states in the sample on which pieces are examined.
    pub states: usize,
    /// The approximate number of states that a trial sweep visits.
    pub trial: u64,
    /// How long everything may take.
    pub time: Duration,
    /// How to interrupt it.
    pub cancel: Cancel,
    /// The engine that computes successors.
    pub engine: Engine,
    /// Whether only measures are proposed that did not fall in their trials.
    pub monotonic: bool,
}

impl Default for Sampling {
    fn default() -> Self {
        Sampling {
            states: 3000,
            trial: 1 << 16,
            time: Duration::from_secs(20),
            cancel: Cancel::default(),
            engine: Engine::default(),
            monotonic: false,
        }
    }
}

/// A measure, and how a sweep by it went.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The measure in the form that users type.
    pub text: String,
    /// Why it is proposed.
    pub reason: String,
    /// Whether the code shows that it never falls, as long as no variable wraps around.
    pub by_code: bool,
    /// The program that has atoms for it, and the measure.
    pub program: Arc<Verified>,
    /// The measure, for that program.
    pub measure: Measure,
    /// Whether the sweep saw all states.
    pub complete: bool,
    /// States that were new to the sweep.
    pub states: u64,
    /// How the sweep went.
    pub sweep: contract::Sweep,
}

impl Proposal {
    /// The share of the states that had to be stored at one time; lower is better.
    pub fn share(&self) -> f64 {
        // A sweep with regress steps may visit a state several times, so the number of different
        // states is not known.
        self.sweep.peak_states as f64 / (self.states.saturating_sub(self.sweep.persistent_states)).max(1) as f64
    }

    /// How often states were expanded again.
    pub fn again(&self) -> f64 {
        self.sweep.expanded_states as f64 / self.states.saturating_sub(self.sweep.persistent_states).max(1) as f64
    }
}

/// The largest number of pieces that are examined, and of their values together.
const PIECES: usize = 400;
const VALUES: usize = 1 << 21;

/// Most candidates that drive a sweep.
const TRIALS: usize = 18;

/// The number of states whose expansion costs as much as to begin and delete a layer.
const LAYER_COST: f64 = 8.0;

/// A sweep with regress steps takes longer than its expansions say, because there are several
/// passes over the layers.
const REGRESS_COST: f64 = 1.5;

/// Most parts of a component that is added to a measure.
const MOST_PARTS: usize = 6;

/// A piece is still tried if at most one step in this many is a regress step.
const SELDOM: usize = 8;

/// A measure is not proposed if more than this share of the states must be stored.
const WORTHWHILE: f64 = 0.9;

/// Proposes measures for a program, the best first.
pub fn propose(program: &Arc<Verified>, how: &Sampling) -> Vec<Proposal> {
    let begun = Instant::now();
    let over = || how.cancel.is_cancelled() || begun.elapsed() > how.time;
    let found = pieces(program, PIECES);
    let sums: Vec<Sum> = found.iter().map(|(piece, _)| vec![(false, *piece)]).collect();
    let Ok((sampled, atoms)) = compose(program, &sums) else { return Vec::new() };
    let states = how.states.min(VALUES / atoms.len().max(1)).max(64);
    let sample = Sample::of(Interpreter::new(Arc::new(sampled)), &atoms, states, &over);
    let candidates = candidates(program, &found, &sample);
    // All candidates are atoms of one program, translated once.
    let all: Vec<Sum> = candidates.iter().flat_map(|candidate| candidate.sums.clone()).collect();
    let Ok((composed, atoms)) = compose(program, &all) else { return Vec::new() };
    let composed = Arc::new(composed);
    let system = composed.system(how.engine, Arc::default(), &Quiet);
    let mut proposals = Vec::new();
    let mut first = 0;
    let shown = |sum: &Sum| sum.iter().all(|(negative, piece)| is_shown(&found, *negative, piece));
    for Candidate { sums, reason } in candidates {
        let own = &atoms[first..first + sums.len()];
        first += sums.len();
        let Ok(measure) = Measure::new(own).map(Measure::as_proposed) else { continue };
        let left = how.time.saturating_sub(begun.elapsed());
        if over() || left.is_zero() {
            break;
        }
        let limits = Limits { time: Some(left / 2), ..Limits::default() };
        let task = Task { states: Some(how.trial), limits, cancel: how.cancel.clone(), ..Task::default() };
        let outcome = search::sweep(&system, &mut Layers::new(|| Plain::with_budget(1 << 32)), own, &task);
        let Some(sweep) = outcome.statistics.sweep else { continue };
        if matches!(&outcome.verdict, Verdict::Unknown(contract::StopReason::Measure(_))) || sweep.layers < 2 {
            continue;
        }
        let text: Vec<String> = sums.iter().map(|sum| sum_text(program, sum)).collect();
        let proposal = Proposal {
            text: text.join(", "),
            reason,
            by_code: sums.iter().all(shown),
            program: Arc::clone(&composed),
            measure,
            complete: outcome.verdict == Verdict::Holds,
            states: outcome.statistics.states,
            sweep,
        };
        if proposal.share() <= WORTHWHILE && !(how.monotonic && sweep.regress_steps > 0) {
            proposals.push(proposal);
        }
    }
    // A slightly smaller share does not make up for expanding many states again, for layers of few
    // states, or for regress steps.
    let thin = |proposal: &Proposal| 1.0 + LAYER_COST * proposal.sweep.layers as f64 / proposal.states.max(1) as f64;
    let back = |proposal: &Proposal| if proposal.sweep.regress_steps > 0 { REGRESS_COST } else { 1.0 };
    let cost = |proposal: &Proposal| proposal.share() * proposal.again() * thin(proposal) * back(proposal);
    // If the measure must never fall, an incomplete trial says less than the code.
    let risky = |proposal: &Proposal| how.monotonic && !proposal.complete && !proposal.by_code;
    let order = |a: &Proposal, b: &Proposal| risky(a).cmp(&risky(b)).then(cost(a).total_cmp(&cost(b)));
    proposals.sort_by(|a, b| order(a, b).then(a.text.len().cmp(&b.text.len())));
    proposals.dedup_by(|a, b| a.text == b.text);
    proposals
}

/// States and steps, with the values of all pieces.
struct Sample {
    /// For each piece, its value in each state.
    values: Vec<Vec<i64>>,
    /// Steps between states of the sample.
    steps: Vec<(u32, u32)>,
}

impl Sample {
    /// The first states breadth first, and some far ones.
    fn of(mut system: Interpreter, atoms: &[u32], most: usize, over: &dyn Fn() -> bool) -> Sample {
        let mut numbers: HashMap<Vec<u8>, u32> = HashMap::new();
        let mut states: Vec<Vec<u8>> = Vec::new();
        let mut steps = Vec::new();
        let mut out = Successors::new();
        let mut add = |state: &[u8], states: &mut Vec<Vec<u8>>| {
            *numbers.entry(state.to_vec()).or_insert_with(|| {
                states.push(state.to_vec());
                states.len() as u32 - 1
            })
        };
        system.initial(&mut out);
        out.iter().filter_map(|(_, state)| state).for_each(|state| {
            add(state, &mut states);
        });
        // Every second step belongs to a long walk, because states near the initial state are not
        // representative.
        let (mut next, mut walker) = (0, 0);
        for turn in 0_u64.. {
            if states.len() >= most || next >= states.len() || over() {
                break;
            }
            let walks = turn % 2 == 1;
            let from = if walks { walker } else { next };
            next += usize::from(!walks);
            let Some(state) = states.get(from).cloned() else { break };
            out.clear();
            system.successors(&state, &mut out);
            // The choices along a walk vary, and they are the same in every run.
            let random = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize / 7;
            let chosen = random % out.len().max(1);
            // A walk that cannot continue begins again at a state that the breadth-first search has
            // not reached yet.
            let mut last = states.len() - 1;
            for (index, (_, target)) in out.iter().enumerate() {
                let Some(target) = target else { continue };
                let to = add(target, &mut states);
                steps.push((from as u32, to));
                if index == chosen {
                    last = to as usize;
                }
            }
            if walks {
                walker = last;
            }
        }
        steps.sort_unstable();
        steps.dedup();
        let mut values: Vec<Vec<i64>> = vec![Vec::with_capacity(states.len()); atoms.len()];
        let mut own = Vec::new();
        for state in &states {
            own.clear();
            if system.values(state, atoms, &mut own).is_err() {
                own.resize(atoms.len(), 0);
            }
            values.iter_mut().zip(&own).for_each(|(column, value)| column.push(*value));
        }
        Sample { values, steps }
    }

    /// How often the value of a piece rises and falls on these steps.
    fn moves(&self, piece: usize, steps: &[(u32, u32)]) -> (usize, usize) {
        let values = &self.values[piece];
        steps.iter().fold((0, 0), |(up, down), &(from, to)| {
            let (from, to) = (values[from as usize], values[to as usize]);
            (up + usize::from(to > from), down + usize::from(to < from))
        })
    }

    /// The steps of `steps` on which a sum of pieces stays the same.
    fn unchanged(&self, sum: &[(bool, usize)], steps: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let value = |state: u32| -> i64 {
            let part = |(negative, piece): &(bool, usize)| {
                if *negative { -self.values[*piece][state as usize] } else { self.values[*piece][state as usize] }
            };
            sum.iter().map(part).fold(0, i64::wrapping_add)
        };
        steps.iter().copied().filter(|&(from, to)| value(from) == value(to)).collect()
    }

    /// Adds components to a measure that never falls on the sample. The next component is the sum
    /// of the pieces that never fall on the steps on which the components before stay the same. So
    /// a process may begin its loop again when a counter has risen.
    fn refine(&self, mut sums: Vec<Vec<(bool, usize)>>) -> Vec<Vec<(bool, usize)>> {
        let mut steps = self.steps.clone();
        for sum in &sums {
            steps = self.unchanged(sum, &steps);
        }
        while sums.len() < MEASURE_MAX && !steps.is_empty() {
            let mut next = Vec::new();
            for piece in 0..self.values.len() {
                match self.moves(piece, &steps) {
                    (0, 0) => {}
                    (up, 0) => next.push((up, (false, piece))),
                    (0, down) => next.push((down, (true, piece))),
                    _ => {}
                }
            }
            if next.is_empty() {
                break;
            }
            // Those that move most often, because each costs time.
            next.sort_by_key(|(moves, _)| std::cmp::Reverse(*moves));
            let next: Vec<(bool, usize)> = next.into_iter().take(MOST_PARTS).map(|(_, part)| part).collect();
            steps = self.unchanged(&next, &steps);
            sums.push(next);
        }
        sums
    }
}

/// Whether the code shows that a part of a sum never falls.
fn is_shown(found: &[(MeasurePart, Known)], negative: bool, piece: &MeasurePart) -> bool {
    let known = found.iter().find(|(known, _)| known == piece).map(|(_, known)| *known).unwrap_or_default();
    if negative { known.falls } else { known.rises }
}

/// A measure that is worth a trial.
struct Candidate {
    sums: Vec<Sum>,
    reason: String,
}

/// A number of times in words.
fn times(number: usize) -> String {
    if number == 1 { "once".to_owned() } else { format!("{number} times") }
}

/// How often a part rises, the part and whether it is negated, and why it is proposed.
type Ranked = (usize, (bool, MeasurePart), String);

fn candidates(program: &Verified, found: &[(MeasurePart, Known)], sample: &Sample) -> Vec<Candidate> {
    // Pieces that never fall, by how often they rise; and pieces that seldom fall.
    let (mut good, mut fair): (Vec<Ranked>, Vec<Ranked>) = (Vec::new(), Vec::new());
    // Pieces that the sample did not reach.
    let mut unseen: Sum = Vec::new();
    let seen = sample.steps.len();
    for (number, (piece, known)) in found.iter().enumerate() {
        let (up, down) = sample.moves(number, &sample.steps);
        let text = piece.text(program);
        let negative = down > up;
        let (forward, back) = if negative { (down, up) } else { (up, down) };
        if forward == 0 {
            if known.is_monotonic() {
                unseen.push((!known.rises, *piece));
            }
            continue;
        }
        let by_code = if negative { known.falls } else { known.rises };
        let way = if negative { "falls" } else { "rises" };
        if back == 0 {
            let why = match by_code {
                true if known.wraps => "by the code until it wraps around".to_owned(),
                true => "by the code".to_owned(),
                false => format!("in a sample of {seen} steps"),
            };
            good.push((forward, (negative, *piece), format!("{text} only ever {way}, {why}")));
        } else if back * SELDOM <= forward {
            let reason = format!("{text} {way} {} and goes back {} in a sample of {seen} steps", times(forward), times(back));
            fair.push((forward, (negative, *piece), reason));
        }
    }
    good.sort_by_key(|(forward, ..)| std::cmp::Reverse(*forward));
    fair.sort_by_key(|(forward, ..)| std::cmp::Reverse(*forward));
    let mut made: Vec<Candidate> = Vec::new();
    let mut add = |sums: Vec<Sum>, reason: String| {
        if !sums.is_empty() && sums.iter().all(|sum| !sum.is_empty()) && made.iter().all(|known| known.sums != sums) {
            made.push(Candidate { sums, reason });
        }
    };
    let all = |of: &[(usize, (bool, MeasurePart), String)]| -> Sum { of.iter().map(|(_, piece, _)| *piece).collect() };
    let is_order = |piece: &MeasurePart| matches!(piece, MeasurePart::Order(_));
    let part = |order: bool| -> Sum { good.iter().map(|(_, piece, _)| *piece).filter(|(_, piece)| is_order(piece) == order).collect() };
    match &good[..] {
        [(_, piece, reason)] => add(vec![vec![*piece]], reason.clone()),
        several => add(vec![all(several)], format!("the sum of all {} pieces that never go back", several.len())),
    }
    add(vec![part(false)], "the sum of the variables that never go back".to_owned());
    add(vec![part(true)], "the sum of the orders of processes that never go back".to_owned());
    add(vec![part(false), part(true)], "variables that never go back, then orders of processes".to_owned());
    add(vec![part(true), part(false)], "orders of processes that never go back, then variables".to_owned());
    // The same with further components, for which pieces are named by their numbers.
    let number_of =
        |(negative, piece): &(bool, MeasurePart)| found.iter().position(|(known, _)| known == piece).map(|number| (*negative, number));
    let refined = |sums: &[Sum]| -> Option<Vec<Sum>> {
        let before: Vec<Vec<_>> = sums.iter().filter(|sum| !sum.is_empty()).map(|sum| sum.iter().filter_map(number_of).collect()).collect();
        let after = sample.refine(before.clone());
        let text = |sum: &Vec<(bool, usize)>| sum.iter().map(|(negative, number)| (*negative, found[*number].0)).collect();
        (!before.is_empty() && after.len() > before.len()).then(|| after.iter().map(text).collect())
    };
    let why = "pieces that never go back, then those that go back only when the ones before have moved";
    let first: Sum = good.iter().take(1).map(|(_, piece, _)| *piece).collect();
    for sums in [vec![all(&good)], vec![part(false)], vec![part(false), part(true)], vec![first]] {
        add(refined(&sums).unwrap_or_default(), format!("{why}, in a sample of {seen} steps"));
    }
    // A piece that only the sample shows may go back later, and one that the code shows may move
    // later.
    let proven: Sum = good.iter().map(|(_, piece, _)| *piece).filter(|(negative, piece)| is_shown(found, *negative, piece)).collect();
    if proven.len() < good.len() {
        add(vec![proven.clone()], "the sum of the variables that never go back by the code".to_owned());
    }
    if !unseen.is_empty() {
        let sum = proven.into_iter().chain(unseen).collect();
        add(vec![sum], "the sum of all variables that never go back by the code, whether the sample has seen them move or not".to_owned());
    }
    for (_, piece, reason) in good.iter().take(4) {
        add(vec![vec![*piece]], reason.clone());
    }
    for (first, second) in [(0, 1), (1, 0), (0, 2), (1, 2)] {
        if let (Some(a), Some(b)) = (good.get(first), good.get(second)) {
            add(vec![vec![a.1], vec![b.1]], format!("{}; then {}", a.2, b.2));
        }
    }
    let rest: Sum = all(&good);
    for (_, piece, reason) in fair.iter().take(3) {
        add(vec![vec![*piece]], reason.clone());
        if !rest.is_empty() {
            let mut sum = rest.clone();
            sum.push(*piece);
            add(vec![sum], format!("all pieces that never go back, and {reason}"));
        }
    }
    if fair.len() > 1 {
        let mut sum = rest;
        sum.extend(all(&fair));
        add(vec![sum], "the sum of all pieces that never or seldom go back".to_owned());
    }
    made.truncate(TRIALS);
    made
}
