//! Finds the steps of a trace on which its end depends.
//!
//! A step is not causally before the end if the end is reached without it. This is found by trial:
//! the steps are left out one after the other, the last ones first, and the rest is executed again.
//! If another step depends on the one that was left out, the rest cannot be executed or has another
//! end, and the step is kept. Steps that depend on a step come after it, so they were tried before.
//! This needs no analysis of reads and writes: the steps that are kept were executed on their own.

use crate::narrator::Narrator;
use crate::step::Step;
use contract::{Trace, TraceStep};

/// The most states that are expanded, so that the answer comes soon.
const EXPANSIONS_MAX: usize = 400_000;

/// The part of a trace on which its end depends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Essential {
    /// Whether each step is needed.
    pub kept: Vec<bool>,
    /// The trace of the needed steps alone.
    pub trace: Trace,
    /// Whether every step was tried.
    pub complete: bool,
}

/// The number of times that the moving process changes.
pub fn context_switches(steps: &[Step]) -> usize {
    steps.windows(2).filter(|pair| pair[0].action.process != pair[1].action.process).count()
}

/// Finds the steps that are needed to reach an end that `is_end` accepts. `steps` are those of
/// `trace`. `stop` may end the search early.
pub fn essential(
    narrator: &Narrator,
    trace: &Trace,
    steps: &[Step],
    is_end: &dyn Fn(&Trace) -> bool,
    stop: &dyn Fn() -> bool,
) -> Essential {
    let kept: Vec<usize> = (0..steps.len()).collect();
    let mut trying = Trying { narrator, original: trace, steps, stop, kept, trace: trace.clone(), expansions: 0 };
    // All steps of a process are tried at once, in case it does not affect the end.
    let mut processes: Vec<u32> = steps.iter().map(|step| step.action.process).collect();
    processes.sort_unstable();
    processes.dedup();
    for process in processes {
        trying.without(&|index| steps[index].action.process == process, is_end);
    }
    loop {
        let before = trying.kept.len();
        for index in (0..steps.len()).rev() {
            if trying.kept.binary_search(&index).is_ok() {
                trying.without(&|other| other == index, is_end);
            }
        }
        if trying.kept.len() == before || trying.is_over() {
            break;
        }
    }
    let mut kept = vec![false; steps.len()];
    trying.kept.iter().for_each(|&index| kept[index] = true);
    Essential { kept, complete: !trying.is_over(), trace: trying.trace }
}

struct Trying<'a> {
    narrator: &'a Narrator,
    original: &'a Trace,
    steps: &'a [Step],
    stop: &'a dyn Fn() -> bool,
    /// The steps that are needed so far, and their path.
    kept: Vec<usize>,
    trace: Trace,
    expansions: usize,
}

impl Trying<'_> {
    fn is_over(&self) -> bool {
        self.expansions >= EXPANSIONS_MAX || (self.stop)()
    }

    /// Leaves out some of the steps, if the end is the same without them.
    fn without(&mut self, left_out: &dyn Fn(usize) -> bool, is_end: &dyn Fn(&Trace) -> bool) {
        let Some(same) = self.kept.iter().position(|&index| left_out(index)) else { return };
        let kept: Vec<usize> = self.kept.iter().copied().filter(|&index| !left_out(index)).collect();
        if let Some(trace) = self.executed(&kept, same)
            && is_end(&trace)
        {
            (self.kept, self.trace) = (kept, trace);
        }
    }

    /// The path of these steps, if there is one. The first `same` of them have not changed.
    fn executed(&mut self, kept: &[usize], same: usize) -> Option<Trace> {
        let loop_start = self.original.loop_start.map(|start| kept.partition_point(|&index| index < start));
        let mut trace = Trace { initial: self.trace.initial.clone(), steps: self.trace.steps[..same].to_vec(), loop_start };
        for &index in &kept[same..] {
            if self.is_over() {
                return None;
            }
            self.expansions += 1;
            let state = trace.state_after(trace.steps.len())?;
            let mut moves = self.narrator.moves(state).ok()?;
            let wanted = &self.steps[index];
            let alike = |step: &Step| step.action.process == wanted.action.process && step.statements == wanted.statements;
            // A step with the same choice is the same step; its number may differ where other
            // options are enabled.
            let mut found = None;
            for number in 0..moves.len() {
                match moves.tell(number) {
                    Some(step) if alike(&step) && step.action == wanted.action => {
                        found = Some(step);
                        break;
                    }
                    Some(step) if alike(&step) => found = found.or(Some(step)),
                    _ => {}
                }
            }
            let found = found?;
            trace.steps.push(TraceStep { action: found.action, state: found.state });
        }
        Some(trace)
    }
}
