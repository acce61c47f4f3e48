//! Periods and deadlines.
//!
//! They are declared at the head of a process and stored in the byte-code as labels. `deadline_N`:
//! the process must wait again, or have ended, N milliseconds after it could continue. `period_N`:
//! a process that rests there continues N milliseconds after its last release. Neither changes the
//! possible behaviour of a program, only that of a run: a search tries every order, which includes
//! all timings.

use bytecode::{ProcessId, Verified};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

/// Whether a process may continue from its resting place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gate {
    Open,
    /// The process is released later.
    Closed,
}

/// The timing of a process type.
#[derive(Clone, Debug, Default)]
struct Timing {
    /// The location at which a new process begins.
    entry: u16,
    deadline: Option<Duration>,
    /// Locations at which it waits for its next period.
    periods: Vec<(u16, Duration)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Job {
    /// The time of its release, for processes with periods.
    released: Duration,
    /// The time by which it must wait, once it can continue.
    due: Option<Duration>,
}

#[derive(Debug)]
pub(crate) struct Times {
    types: Vec<Timing>,
    needed: bool,
    jobs: Vec<Job>,
    asleep: BinaryHeap<Reverse<(Duration, usize)>>,
    begun: Instant,
    pub missed: u64,
}

impl Times {
    pub fn of(verified: &Verified) -> Times {
        let program = verified.program();
        let mut types = vec![Timing::default(); program.processes.len()];
        for (ty, timing) in types.iter_mut().enumerate() {
            let entry = program.follow_jumps(program.processes[ty].entry);
            timing.entry = entry.and_then(|entry| verified.locations().at(ProcessId(ty as u8), entry)).map_or(0, |location| location.0);
        }
        let mut needed = false;
        for label in &program.labels {
            let number = |prefix: &str| label.name.strip_prefix(prefix).and_then(|number| number.parse().ok()).map(Duration::from_millis);
            let Some(ty) = program.process_at(label.addr) else { continue };
            if let Some(deadline) = number("deadline_") {
                types[ty.index()].deadline = Some(deadline);
                needed = true;
            } else if let Some(period) = number("period_")
                && let Some(at) = program.follow_jumps(label.addr)
                && let Some(location) = verified.locations().at(ProcessId(ty.0), at)
            {
                types[ty.index()].periods.push((location.0, period));
                needed = true;
            }
        }
        Times { types, needed, jobs: Vec::new(), asleep: BinaryHeap::new(), begun: Instant::now(), missed: 0 }
    }

    /// Whether any process has a period or a deadline.
    pub fn is_needed(&self) -> bool {
        self.needed
    }

    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Records that a process has ended and is gone.
    pub fn ended(&mut self, process: usize) {
        let now = self.now();
        if let Some(job) = self.jobs.get_mut(process)
            && std::mem::take(job).due.is_some_and(|due| now > due)
        {
            self.missed += 1;
        }
    }

    /// The number of processes that should have waited by now and still have not.
    pub fn overdue(&self) -> u64 {
        let now = self.now();
        self.jobs.iter().filter(|job| job.due.is_some_and(|due| now > due)).count() as u64
    }

    /// Records that a process rests; `waits` says whether it waits for a partner there, or has
    /// ended.
    pub fn rests(&mut self, process: usize, ty: u8, location: u16, waits: bool) -> Gate {
        if self.jobs.len() <= process {
            self.jobs.resize(process + 1, Job::default());
        }
        let timing = &self.types[ty as usize];
        let period = timing.periods.iter().find(|(at, _)| *at == location).map(|(_, period)| *period);
        if timing.deadline.is_none() && period.is_none() {
            return Gate::Open;
        }
        let (deadline, now) = (timing.deadline, self.now());
        let job = &mut self.jobs[process];
        if location == timing.entry {
            *job = Job { released: now, due: None };
        }
        if waits || period.is_some() {
            if job.due.take().is_some_and(|due| now > due) {
                self.missed += 1;
            }
        } else if job.due.is_none() {
            job.due = deadline.map(|deadline| now + deadline);
        }
        let Some(period) = period else { return Gate::Open };
        let job = &mut self.jobs[process];
        // A late process is released at once, and lost periods are not made up for.
        job.released = (job.released + period).max(now.saturating_sub(period));
        if job.released <= now {
            job.due = deadline.map(|deadline| now + deadline);
            return Gate::Open;
        }
        self.asleep.push(Reverse((job.released, process)));
        Gate::Closed
    }

    /// A process whose period begins now or began before.
    pub fn released(&mut self) -> Option<usize> {
        let Reverse((when, process)) = *self.asleep.peek()?;
        let now = self.now();
        if when > now {
            return None;
        }
        self.asleep.pop();
        Some(process)
    }

    /// The time until a process is released.
    pub fn next_release(&self) -> Option<Duration> {
        self.asleep.peek().map(|Reverse((when, _))| when.saturating_sub(self.now()))
    }

    /// The time by which a process that can continue must wait, in nanoseconds.
    pub fn deadline(&mut self, process: usize) -> u64 {
        self.jobs.get(process).and_then(|job| job.due).map_or(u64::MAX, |due| due.as_nanos() as u64)
    }
}
