//! The workers that take the states of a class, also when some workers have run short of memory.
//!
//! States are grouped into classes by a hash (Lerda and Visser, "Addressing dynamic issues of
//! program model checking", 2001, section 3.4). A class has a line of owners. A state goes to the
//! first of them. A worker that has run short of memory takes no more states; it passes on the
//! states that it does not know to the next owner of the class. In the paper such a worker discards
//! the states of a class, which are then explored again by another worker. Here it keeps them, so
//! every state is explored once and all numbers are exact.
//!
//! Memory runs short in stages: a third of it is left, a sixth, a twelfth, and so on. Workers at
//! the lowest stage take the classes of the others. When all workers have reached a stage, they
//! share all classes equally until one of them reaches the next stage. So a search ends for lack of
//! memory only when all workers have used up theirs. A worker that is already in a line moves to
//! its end. All workers of a line are asked about a state, so their order does not matter.
//!
//! All workers may also begin together: each stores and expands all states, and no message is sent,
//! until one of them runs short of memory. From then on each takes only the states of its own
//! classes. This is for models that may or may not need more than one worker.
//!
//! Passing a state on takes a round. So with lines of *n* owners a level takes *n* rounds: states
//! are expanded in the first and passed on in the others.

use std::collections::BTreeMap;

/// The number of classes for each worker.
const CLASSES: u32 = 64;

/// The number of stages. After the last one a worker keeps its classes.
pub(crate) const STAGES: u32 = 6;

/// How classes are assigned to workers at the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// All workers get the same number of classes.
    #[default]
    Equal,
    /// Worker 0 gets all classes; the others wait until it runs short of memory.
    One,
    /// All workers store all states, until one of them runs short of memory.
    All,
}

/// The states that a worker takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// All states, like all other workers.
    All,
    /// All workers have the states of the level; each takes those of the next level that are its
    /// own.
    AllOfLevel,
    /// The states of its own classes.
    Own,
}

/// What a worker lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// It has reached the next stage.
    Stage,
    /// Its store takes no more states.
    All,
}

/// The stage of a worker that takes no more states.
const FULL: u32 = u32::MAX;

/// The number of rounds of each level, from a round on.
#[derive(Clone, Copy, Debug)]
struct Phase {
    round: u64,
    level: u64,
    rounds: u64,
}

/// The position of a round in its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// The number of the level, from 0.
    pub level: u64,
    /// Whether states are expanded in the round.
    pub is_first: bool,
    /// Whether the next round begins a level.
    pub is_last: bool,
}

/// The owners of all classes.
#[derive(Debug)]
pub(crate) struct Classes {
    workers: usize,
    lines: Vec<Vec<usize>>,
    /// The stage of each worker.
    stages: Vec<u32>,
    phases: Vec<Phase>,
    /// The stages that workers have reached, by the round that begins the level from which on they
    /// count. There is one entry for each stage.
    pending: BTreeMap<u64, Vec<(usize, Want)>>,
    /// If workers begin together: the round of the last level whose states all workers have, as
    /// soon as it is known.
    together: Option<Option<u64>>,
}

impl Classes {
    pub fn new(workers: usize, start: Start) -> Classes {
        let workers = workers.max(1);
        let first = |class: usize| if start == Start::One { 0 } else { class % workers };
        let classes = workers * CLASSES as usize;
        let phases = vec![Phase { round: 0, level: 0, rounds: 1 }];
        let lines = (0..classes).map(|class| vec![first(class)]).collect();
        Classes {
            workers,
            lines,
            stages: vec![0; workers],
            phases,
            pending: BTreeMap::new(),
            together: (start == Start::All).then_some(None),
        }
    }

    /// The number of classes.
    pub fn count(&self) -> u32 {
        self.lines.len() as u32
    }

    /// The worker to which a state of a class is sent.
    #[inline]
    pub fn first(&self, class: u32) -> usize {
        self.lines[class as usize][0]
    }

    /// The worker to which `me` passes on a state of a class that it does not know; `None` if `me`
    /// takes the state.
    #[inline]
    pub fn after(&self, class: u32, me: usize) -> Option<usize> {
        let line = &self.lines[class as usize];
        let place = line.iter().position(|&worker| worker == me)?;
        line.get(place + 1).copied()
    }

    /// Which states are taken in a round. All messages of that round must have arrived.
    pub fn sharing(&self, round: u64) -> Sharing {
        match self.together {
            Some(None) => Sharing::All,
            Some(Some(last)) if round < last => Sharing::All,
            Some(Some(last)) if round == last => Sharing::AllOfLevel,
            _ => Sharing::Own,
        }
    }

    /// Whether it helps if a worker at this stage tells the others that its memory runs short.
    pub fn can_help(&self, stage: u32) -> bool {
        self.together == Some(None) || self.workers > 1 && stage < STAGES
    }

    /// Whether no worker takes any more states.
    pub fn are_all_full(&self) -> bool {
        self.stages.iter().all(|&stage| stage == FULL)
    }

    /// Whether states may be passed on.
    pub fn passes_on(&self) -> bool {
        self.phases.last().is_some_and(|phase| phase.rounds > 1)
    }

    /// The position of a round. All messages of that round must have arrived.
    pub fn position(&self, round: u64) -> Position {
        let after = self.phases.partition_point(|phase| phase.round <= round);
        let Phase { round: start, level, rounds } = self.phases[after - 1];
        let (levels, turn) = ((round - start) / rounds, (round - start) % rounds);
        Position { level: level + levels, is_first: turn == 0, is_last: turn + 1 == rounds }
    }

    /// Records that a worker has reported a shortage of memory in the round before `round`. All
    /// messages of the rounds before have arrived.
    pub fn runs_short(&mut self, worker: usize, want: Want, round: u64) {
        self.settle(round.saturating_sub(1));
        if let Some(last) = &mut self.together
            && last.is_none_or(|last| last == round)
        {
            *last = Some(round);
            return;
        }
        let mut at = round;
        while !self.position(at).is_first {
            at += 1;
        }
        self.pending.entry(at).or_default().push((worker, want));
    }

    /// Gives the classes of workers that ran short before this round to others. All messages of the
    /// round must have arrived, so that all workers do the same.
    pub fn settle(&mut self, round: u64) {
        while let Some(entry) = self.pending.first_entry().filter(|entry| *entry.key() <= round) {
            let (round, workers) = entry.remove_entry();
            let lowest = |stages: &[u32]| stages.iter().copied().min().unwrap_or(0);
            let before = lowest(&self.stages);
            for (worker, want) in workers {
                let stage = &mut self.stages[worker];
                *stage = if want == Want::All { FULL } else { stage.saturating_add(1) };
            }
            let least = lowest(&self.stages);
            let is_free = |worker: usize| least < FULL && self.stages[worker] == least;
            let free: Vec<usize> = (0..self.workers).filter(|&worker| is_free(worker)).collect();
            let mut next = free.iter().cycle();
            for line in &mut self.lines {
                // When the last worker has reached a stage, all of them share the classes again.
                if (least > before || line.last().is_some_and(|&last| self.stages[last] > least))
                    && let Some(&worker) = next.next()
                {
                    line.retain(|&other| other != worker);
                    line.push(worker);
                }
            }
            let rounds = self.lines.iter().map(Vec::len).max().unwrap_or(1) as u64;
            let level = self.position(round).level;
            self.phases.push(Phase { round, level, rounds });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn workers_that_begin_together_part_when_one_runs_short() {
        let mut classes = Classes::new(2, Start::All);
        assert!(classes.sharing(3) == Sharing::All && classes.can_help(0));
        classes.runs_short(1, Want::Stage, 4);
        classes.runs_short(0, Want::Stage, 4);
        assert_eq!([3, 4, 5].map(|round| classes.sharing(round)), [Sharing::All, Sharing::AllOfLevel, Sharing::Own]);
        classes.settle(5);
        assert!((0..classes.count()).all(|class| classes.after(class, class as usize % 2).is_none()));
        classes.runs_short(1, Want::Stage, 6);
        classes.settle(6);
        assert_eq!((classes.after(1, 1), classes.after(0, 0), classes.passes_on()), (Some(0), None, true));
    }

    #[test]
    fn levels_take_as_many_rounds_as_lines_are_long() {
        let mut classes = Classes::new(3, Start::One);
        let place = |level, is_first, is_last| Position { level, is_first, is_last };
        assert_eq!(classes.position(7), place(7, true, true));
        assert_eq!((classes.first(5), classes.after(5, 0), classes.can_help(0)), (0, None, true));
        classes.runs_short(0, Want::Stage, 4);
        assert_eq!(classes.position(4), place(4, true, true));
        classes.settle(4);
        assert_eq!([4, 5, 6, 7].map(|round| classes.position(round).level), [4, 4, 5, 5]);
        assert_eq!(classes.position(5), place(4, false, true));
        let taken: BTreeSet<_> = (0..classes.count()).map(|class| classes.after(class, 0)).collect();
        assert_eq!(taken, [Some(1), Some(2)].into());
        // Both of the others are told in the middle of a level.
        classes.runs_short(2, Want::Stage, 7);
        classes.runs_short(1, Want::Stage, 7);
        classes.settle(8);
        // All have reached the first stage, so all take states again, and each line has an end.
        let ends: Vec<usize> = classes.lines.iter().map(|line| *line.last().unwrap()).collect();
        assert!((0..3).all(|worker| ends.iter().filter(|&&end| end == worker).count() == 64), "{ends:?}");
        assert!(classes.lines.iter().all(|line| line.len() == line.iter().collect::<BTreeSet<_>>().len()));
        let levels = [8, 9, 10, 11].map(|round| classes.position(round).level);
        assert!(levels[0] == 6 && levels.is_sorted(), "{levels:?}");
    }

    /// A worker whose store is full stays in its lines, and takes nothing however short the others
    /// run.
    #[test]
    fn a_full_worker_takes_nothing_more() {
        let mut classes = Classes::new(2, Start::Equal);
        classes.runs_short(1, Want::All, 3);
        classes.settle(3);
        assert!((0..classes.count()).all(|class| classes.after(class, 0).is_none()));
        assert_eq!((classes.first(1), classes.after(1, 1)), (1, Some(0)));
        for round in 4..20 {
            classes.runs_short(0, Want::Stage, round);
            classes.settle(round + 1);
            assert!((0..classes.count()).all(|class| classes.after(class, 0).is_none()));
        }
        classes.runs_short(0, Want::All, 22);
        classes.settle(24);
        assert!(classes.are_all_full());
    }
}
