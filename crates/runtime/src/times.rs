//! Periods and deadlines.
//!
//! They are declared at the head of a process and stored in the byte-code as labels. `deadline_N`:
//! the process must wait again, or have ended, N milliseconds after it could continue. `period_N`:
//! a process that rests there continues N milliseconds after its last release. Neither changes the
//! possible behaviour of a program, only that of a run: a search tries every order, which includes
//! all timings.
//!
//! The periods of a process follow each other without gaps from its first action on, so their
//! beginnings do not drift. A deadline counts from the beginning of the period, or from the moment
//! when the process could continue after it has waited for a partner.

use bytecode::{ProcessId, Verified};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

/// The time of a run.
pub trait TimeSource: Send {
    /// The time since the run began. It never decreases.
    fn now(&mut self) -> Duration;

    /// Waits for some time.
    fn sleep(&mut self, time: Duration);
}

/// The time of this computer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WallTime {
    begun: Instant,
}

impl Default for WallTime {
    fn default() -> Self {
        WallTime { begun: Instant::now() }
    }
}

impl TimeSource for WallTime {
    fn now(&mut self) -> Duration {
        self.begun.elapsed()
    }

    fn sleep(&mut self, time: Duration) {
        std::thread::sleep(time);
    }
}

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
    /// The beginning of its period, for processes with periods.
    released: Duration,
    /// The time that it has once it can continue.
    deadline: Option<Duration>,
    /// The time by which it must wait, once it can continue.
    due: Option<Duration>,
}

impl Job {
    /// Begins the next period. If the process is so late that its next period has begun already,
    /// this is the period that is running; periods that passed meanwhile are lost.
    fn next_period(&mut self, period: Duration, now: Duration) {
        let late = now.saturating_sub(self.released).as_nanos() / period.as_nanos().max(1);
        let passed = late.max(1) * period.as_nanos();
        self.released += Duration::from_nanos(u64::try_from(passed).unwrap_or(u64::MAX));
    }

    /// Lets the process continue in its period.
    fn begin(&mut self) {
        self.due = self.deadline.map(|deadline| self.released + deadline);
    }
}

pub(crate) struct Times {
    types: Vec<Timing>,
    needed: bool,
    jobs: Vec<Job>,
    asleep: BinaryHeap<Reverse<(Duration, usize)>>,
    pub source: Box<dyn TimeSource>,
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
        Times { types, needed, jobs: Vec::new(), asleep: BinaryHeap::new(), source: Box::new(WallTime::default()), missed: 0 }
    }

    /// Whether any process has a period or a deadline.
    pub fn is_needed(&self) -> bool {
        self.needed
    }

    fn now(&mut self) -> Duration {
        self.source.now()
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
    pub fn overdue(&mut self) -> u64 {
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
        let (deadline, entry) = (timing.deadline, timing.entry);
        let now = self.now();
        let job = &mut self.jobs[process];
        if location == entry {
            *job = Job { released: now, ..Job::default() };
        }
        job.deadline = deadline;
        if waits || period.is_some() {
            if job.due.take().is_some_and(|due| now > due) {
                self.missed += 1;
            }
        } else if job.due.is_none() {
            job.due = deadline.map(|deadline| now + deadline);
        }
        let Some(period) = period else { return Gate::Open };
        let job = &mut self.jobs[process];
        job.next_period(period, now);
        if job.released <= now {
            job.begin();
            return Gate::Open;
        }
        self.asleep.push(Reverse((job.released, process)));
        Gate::Closed
    }

    /// A process whose period begins now or began before.
    pub fn released(&mut self) -> Option<usize> {
        let Reverse((when, process)) = *self.asleep.peek()?;
        if when > self.now() {
            return None;
        }
        self.asleep.pop();
        if let Some(job) = self.jobs.get_mut(process) {
            job.begin();
        }
        Some(process)
    }

    /// The time until a process is released.
    pub fn next_release(&mut self) -> Option<Duration> {
        let Reverse((when, _)) = *self.asleep.peek()?;
        Some(when.saturating_sub(self.now()))
    }

    /// Whether the processes of a type have a deadline.
    pub fn has_deadline(&self, ty: u8) -> bool {
        self.types.get(usize::from(ty)).is_some_and(|timing| timing.deadline.is_some())
    }

    /// The time by which a process that can continue must wait, in nanoseconds.
    pub fn deadline(&mut self, process: usize) -> u64 {
        self.jobs.get(process).and_then(|job| job.due).map_or(u64::MAX, |due| due.as_nanos() as u64)
    }
}
