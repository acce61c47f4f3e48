//! A run: actions, one after the other, as a scheduler and the devices want them.
//!
//! Processes that can go on are with the scheduler. Those that need a partner are in the machine's
//! tables and are found there by whoever comes. A process in `SELECT` begins nothing itself, so
//! when one comes to rest, those that offer what it takes are scheduled to try again.

use crate::action::{Acted, Decide, Workspace};
use crate::code::NotRunnable;
use crate::device::Devices;
use crate::execute::Choose;
use crate::insn::{Code, Native};
use crate::machine::Machine;
use crate::monitor::{Monitor, Watched};
use crate::quick::Quick;
use crate::record::Recorder;
use crate::rests::{Rest, address};
use crate::scheduler::{Ready, Scheduler};
use crate::times::{Gate, Times};
use bytecode::{Fault, ProcessId, Verified};
use contract::{Cancel, FaultCode, Trace};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a run may be, and what is kept of it.
#[derive(Clone, Debug, Default)]
pub struct RunLimits {
    /// Actions.
    pub actions: Option<u64>,
    /// Time.
    pub time: Option<Duration>,
    /// Ends the run from outside.
    pub cancel: Cancel,
    /// How many actions are recorded; none if 0.
    pub recorded: usize,
}

/// A process that waits, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The process's number.
    pub process: usize,
    /// The name of its type.
    pub name: String,
    /// The statement at which it waits, as the user wrote it.
    pub statement: String,
    /// Where that is.
    pub position: Option<contract::Position>,
    /// What it waits for, as in "a receiver of Fork.take on channel 2".
    pub needs: Vec<String>,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// Every process has ended, or may wait for ever.
    Finished,
    /// No process can go on, and no device will change that.
    Deadlock(Vec<Stuck>),
    /// An assertion was false, or something else went wrong.
    Fault(contract::Fault),
    /// As many actions as wanted.
    Actions,
    /// As long as wanted.
    Time,
    /// Somebody wanted it to end.
    Cancelled,
}

/// Figures of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunFigures {
    /// Actions that were executed.
    pub actions: u64,
    /// Messages that went from one process to another.
    pub communications: u64,
    /// Times that a process rested later than its deadline.
    pub missed: u64,
    /// How long it took.
    pub elapsed: Duration,
}

/// What decides everything that the program leaves open.
struct Policy {
    scheduler: Box<dyn Scheduler>,
    numbers: u64,
    devices: Box<dyn Devices>,
    /// The process that speaks for the devices,
    host: Option<usize>,
    /// and those that speak for the interrupt lines.
    lines: Vec<(usize, u32)>,
    portin: u32,
    portout: u32,
    /// What the last port that was read said.
    answer: u8,
    cancel: Cancel,
    until: Option<Instant>,
}

impl Choose for Policy {
    fn alternative(&mut self, process: usize, count: u32) -> u32 {
        if self.host == Some(process) {
            return self.answer.into();
        }
        (splitmix::next(&mut self.numbers) % u64::from(count.max(1))) as u32
    }
}

impl Decide for Policy {
    fn partner(&mut self, waiting: &[u8]) -> usize {
        self.scheduler.partner(waiting)
    }

    fn is_over(&mut self) -> bool {
        self.cancel.is_cancelled() || self.until.is_some_and(|until| Instant::now() >= until)
    }

    fn passed(&mut self, channel: u32, fields: &[i32], from: usize, to: usize) {
        // A message on SYSTEM.IOPORT: channel, width, port, value.
        if let (true, &[_, _, port, value]) = (self.host == Some(to), fields) {
            if channel == self.portout {
                self.devices.output(port, value);
            } else if channel == self.portin {
                self.answer = self.devices.input(port);
            }
        }
        if let Some((_, line)) = self.lines.iter().find(|(process, _)| *process == from) {
            self.devices.acknowledge(*line);
        }
    }
}

/// A program that runs.
pub struct Runner {
    pub(crate) machine: Machine,
    pub(crate) work: Workspace,
    policy: Policy,
    /// Which processes are with the scheduler.
    scheduled: Box<[bool; 256]>,
    /// Those that could not go on and may be able to when something else has changed.
    stalled: Vec<u8>,
    times: Times,
    /// Whether the program has processes that speak for devices.
    devices: bool,
    /// Whether nobody watches: no trace, no monitor, no devices, no deadlines.
    unwatched: bool,
    recorder: Option<Recorder>,
    monitor: Option<Monitor>,
    figures: RunFigures,
    limits: RunLimits,
    begun: Instant,
}

/// The processes of the library's module SYSTEM that speak for the devices and for the lines.
const HOST: &str = "SYSTEM.Devices";
const LINE: &str = "SYSTEM.Line";

/// How many actions are executed between two looks at the clock.
const ROUND: u64 = 64;

/// How long a run waits for devices before it looks whether it is to end.
const NAP: Duration = Duration::from_millis(20);

impl Runner {
    /// A run of a program that has not begun. Random choices of the program come from the seed.
    pub fn new(
        program: &Arc<Verified>,
        scheduler: Box<dyn Scheduler>,
        seed: u64,
        devices: Box<dyn Devices>,
        limits: RunLimits,
    ) -> Result<Runner, NotRunnable> {
        let machine = Machine::new(Arc::clone(program))?;
        let begun = Instant::now();
        let channel = |name: &str| program.program().channels.iter().position(|channel| channel.name == name).map_or(0, |at| at as u32 + 1);
        let policy = Policy {
            scheduler,
            numbers: seed,
            devices,
            host: None,
            lines: Vec::new(),
            portin: channel("SYSTEM.IOChannel.PORTIN"),
            portout: channel("SYSTEM.IOChannel.PORTOUT"),
            answer: 0,
            cancel: limits.cancel.clone(),
            until: limits.time.map(|time| begun + time),
        };
        let recorder = (limits.recorded > 0).then(|| Recorder::new(program, machine.state(), limits.recorded));
        let mut runner = Runner {
            times: Times::of(program),
            devices: program.program().process_named(HOST).is_some(),
            unwatched: false,
            work: Workspace::new(&machine),
            machine,
            policy,
            scheduled: Box::new([false; 256]),
            stalled: Vec::new(),
            recorder,
            monitor: None,
            figures: RunFigures::default(),
            limits,
            begun,
        };
        runner.machine.tells = runner.devices;
        for process in 0..runner.machine.processes.len() {
            runner.settle(process);
        }
        Ok(runner)
    }

    /// Executes what only computes in another way, as native code does.
    pub fn accelerate(&mut self, make: impl FnOnce(&Code) -> Option<Box<dyn Native>>) {
        self.machine.native = make(&self.machine.code);
    }

    /// Watches properties: a run that violates one ends there.
    pub fn watch(&mut self, program: &Arc<Verified>, watched: Vec<Watched>) {
        self.monitor = (!watched.is_empty()).then(|| Monitor::new(program, watched));
    }

    /// Runs to the end. What the program prints goes to `print`.
    pub fn run(&mut self, print: &mut dyn FnMut(&str)) -> RunEnd {
        self.unwatched = !(self.devices || self.times.is_needed() || self.recorder.is_some() || self.monitor.is_some());
        let mut end = self.seen(false).unwrap_or_else(|| self.actions(print));
        // Where nothing more happens, the last state stays.
        if matches!(end, RunEnd::Finished | RunEnd::Deadlock(_)) {
            end = self.seen(true).unwrap_or(end);
        }
        self.figures.communications = self.work.communications;
        self.figures.missed = self.times.missed;
        self.figures.elapsed = self.begun.elapsed();
        end
    }

    /// The figures of the run that has ended.
    pub fn figures(&self) -> RunFigures {
        self.figures
    }

    /// The state in which the run is.
    pub fn state(&self) -> Vec<u8> {
        self.machine.state()
    }

    /// The recorded actions as a trace; an error with what was recorded before if an action was not
    /// one of the graph's.
    pub fn into_trace(self) -> Option<Result<Trace, Trace>> {
        self.recorder.map(Recorder::into_trace)
    }

    fn actions(&mut self, print: &mut dyn FnMut(&str)) -> RunEnd {
        let most = self.limits.actions.unwrap_or(u64::MAX);
        loop {
            if self.figures.actions.is_multiple_of(ROUND) {
                if self.policy.cancel.is_cancelled() {
                    return RunEnd::Cancelled;
                }
                if self.policy.until.is_some_and(|until| Instant::now() >= until) {
                    return RunEnd::Time;
                }
                self.release();
            }
            if self.figures.actions >= most {
                return RunEnd::Actions;
            }
            if self.devices {
                self.serve();
            }
            let Some(process) = self.policy.scheduler.next() else {
                match self.idle() {
                    Some(end) => return end,
                    None => continue,
                }
            };
            self.scheduled[usize::from(process)] = false;
            let process = usize::from(process);
            if process >= self.machine.processes.len() {
                continue;
            }
            if let Some(end) = self.action(process, print) {
                return end;
            }
        }
    }

    /// One action of a process.
    fn action(&mut self, process: usize, print: &mut dyn FnMut(&str)) -> Option<RunEnd> {
        let count = self.machine.processes.len();
        let begun = if self.unwatched { self.quick(process) } else { Quick::Not };
        if begun == Quick::Done {
            self.figures.actions += 1;
            self.retry(count);
            return None;
        }
        match self.machine.act(process, begun, &mut self.work, &mut self.policy) {
            Acted::Stopped => return Some(if self.policy.cancel.is_cancelled() { RunEnd::Cancelled } else { RunEnd::Time }),
            Acted::Blocked => {
                // A guard over its own variables changes only when its process moves, which wakes
                // those that wait for it.
                if self.machine.rests.restless || !matches!(self.machine.rest(process).rest, Rest::Wait { .. }) {
                    self.stalled.push(process as u8);
                }
                return None;
            }
            Acted::Failed => {
                let fault = self.machine.failed;
                self.figures.actions += 1;
                if let Some(recorder) = &mut self.recorder {
                    recorder.add(process, None, Some(fault));
                }
                self.tell(print);
                return Some(RunEnd::Fault(self.explain(fault)));
            }
            Acted::Moved => {}
        }
        self.figures.actions += 1;
        if !self.machine.printed.is_empty() {
            self.tell(print);
        }
        if let Some(recorder) = self.recorder.as_mut().filter(|recorder| !recorder.is_full()) {
            recorder.add(process, Some(self.machine.state()), self.machine.carried);
        }
        if let Some(fault) = self.machine.carried.take() {
            return Some(RunEnd::Fault(self.explain(fault)));
        }
        if self.monitor.is_some()
            && let Some(end) = self.seen(false)
        {
            return Some(end);
        }
        for at in 0..self.work.touched.len() {
            let touched = self.work.touched[at] as usize;
            if touched < self.machine.processes.len() {
                self.settle(touched);
            }
        }
        // The youngest may have waited to be the youngest.
        let now = self.machine.processes.len();
        if now < count && now > 0 && matches!(self.machine.rest(now - 1).rest, Rest::End) {
            self.schedule(now - 1);
        }
        self.retry(now);
        None
    }

    /// Something has changed: those that could not go on try again.
    #[inline]
    fn retry(&mut self, count: usize) {
        if self.stalled.is_empty() {
            return;
        }
        for process in std::mem::take(&mut self.stalled) {
            if usize::from(process) < count {
                self.schedule(process.into());
            }
        }
    }

    /// Shows the present state to those who watch.
    fn seen(&mut self, is_last: bool) -> Option<RunEnd> {
        let name = self.monitor.as_mut()?.sees(&self.machine.state(), is_last)?;
        let message = format!("the run violates the property `{name}`");
        Some(RunEnd::Fault(contract::Fault::new(contract::ViolationKind::Property, message)))
    }

    fn explain(&self, fault: Fault) -> contract::Fault {
        match FaultCode::new(fault.code()) {
            Some(code) => vm::describe_fault(&self.machine.verified, code),
            None => contract::Fault::new(contract::ViolationKind::Other("fault"), "unknown fault"),
        }
    }

    /// Prints what the last action wanted to be printed.
    fn tell(&mut self, print: &mut dyn FnMut(&str)) {
        let program = self.machine.verified.program();
        for printed in self.machine.printed.drain(..) {
            let format = &program.formats[printed.format.index()];
            if let Ok(text) = bytecode::format::render(format, &printed.values, |value| program.symbol(value)) {
                print(&text);
            }
        }
    }

    /// A process rests somewhere: it is scheduled, or it waits.
    pub(crate) fn settle(&mut self, process: usize) {
        let resting = &self.machine.processes[process];
        if self.times.is_needed() {
            let gate =
                self.times.rests(process, resting.ty, resting.location, matches!(self.machine.rest(process).rest, Rest::Wait { .. }));
            if gate == Gate::Closed {
                return;
            }
        }
        match self.machine.rest(process).rest {
            Rest::Go => {
                if self.devices {
                    self.recognise(process);
                    if self.policy.lines.iter().any(|(line, _)| *line == process) {
                        return;
                    }
                }
                self.schedule(process);
            }
            Rest::End => {
                if process + 1 == self.machine.processes.len() {
                    self.schedule(process);
                }
            }
            Rest::Wait { .. } => self.wait(process),
        }
    }

    #[inline]
    fn wait(&mut self, process: usize) {
        self.machine.list(process);
        if self.machine.halves(process).0.is_empty() {
            self.wake_others(process);
        }
    }

    fn wake_others(&mut self, process: usize) {
        let answers = self.machine.halves(process).1;
        // It begins nothing itself: those that could begin something with it try.
        let mut awake = Vec::new();
        for half in answers {
            awake.extend_from_slice(self.machine.offerers(half.channel, self.machine.key(process, half.key)));
        }
        for other in awake {
            self.schedule(other as usize);
        }
    }

    #[inline]
    pub(crate) fn schedule(&mut self, process: usize) {
        if !std::mem::replace(&mut self.scheduled[process & 255], true) {
            let deadline = if self.times.is_needed() { self.times.deadline(process) } else { u64::MAX };
            self.policy.scheduler.add(Ready { deadline, process: process as u8 });
        }
    }

    /// Finds out whether a process speaks for a device or an interrupt line.
    fn recognise(&mut self, process: usize) {
        let ty = self.machine.processes[process].ty;
        let program = self.machine.verified.program();
        let declared = &program.processes[ty as usize];
        if declared.name == HOST {
            self.policy.host = Some(process);
        } else if let Some(line) = declared.name.strip_prefix(LINE).and_then(|number| number.parse().ok())
            && !self.policy.lines.contains(&(process, line))
        {
            self.policy.lines.push((process, line));
        }
    }

    /// Interrupts that came during the last action are served, and processes whose time has come
    /// are scheduled.
    fn serve(&mut self) {
        if self.policy.lines.is_empty() {
            return;
        }
        let raised = self.policy.devices.raised();
        if raised == 0 {
            return;
        }
        for at in 0..self.policy.lines.len() {
            let (process, line) = self.policy.lines[at];
            if raised & (1 << line) != 0 && process < self.machine.processes.len() && matches!(self.machine.rest(process).rest, Rest::Go) {
                self.schedule(process);
            }
        }
    }

    /// Processes whose period begins are scheduled.
    fn release(&mut self) {
        while let Some(process) = self.times.released() {
            if process < self.machine.processes.len() {
                self.schedule(process);
            }
        }
    }

    /// Nobody can run: waits for a device or a period, or ends the run.
    fn idle(&mut self) -> Option<RunEnd> {
        if self.policy.cancel.is_cancelled() {
            return Some(RunEnd::Cancelled);
        }
        if self.policy.until.is_some_and(|until| Instant::now() >= until) {
            return Some(RunEnd::Time);
        }
        let sleep = self.times.next_release();
        let mut most = sleep.unwrap_or(NAP).min(NAP);
        if let Some(until) = self.policy.until {
            most = most.min(until.saturating_duration_since(Instant::now()));
        }
        let devices = self.devices && self.policy.devices.wait(most);
        if !devices && sleep.is_some() {
            std::thread::sleep(most);
        }
        self.release();
        if devices || sleep.is_some() {
            return None;
        }
        let stuck: Vec<Stuck> = (0..self.machine.processes.len()).filter_map(|process| self.stuck(process)).collect();
        Some(if stuck.is_empty() { RunEnd::Finished } else { RunEnd::Deadlock(stuck) })
    }

    /// What a process waits for, unless it has ended or may wait for ever.
    fn stuck(&self, number: usize) -> Option<Stuck> {
        let process = &self.machine.processes[number];
        let program = self.machine.verified.program();
        let at = address(&self.machine.verified, process.ty, process.location);
        // The processes of the interrupt lines can go on, and wait for their devices only.
        if program.may_end_at(at) || self.policy.lines.iter().any(|(line, _)| *line == number) {
            return None;
        }
        let span = program.span_at(at);
        let position = span.map(|span| contract::Position {
            file: program.files.get(span.file.index()).cloned().unwrap_or_default(),
            line: span.line,
            column: span.column,
        });
        let mut needs = Vec::new();
        for half in self.machine.halves(number).1 {
            let name = &program.channels[half.channel as usize - 1].name;
            let key = self.machine.key(number, half.key);
            // Who is asked for a message is the one that sends it.
            let (who, message) = match name.strip_suffix('?') {
                Some(message) => ("a receiver", message),
                None => ("a sender", name.strip_suffix('=').unwrap_or(name)),
            };
            needs.push(format!("{who} of {message} on channel {key}"));
        }
        let name = program.processes[ProcessId(process.ty).index()].name.clone();
        Some(Stuck { process: number, name, statement: span.map(|span| span.text.clone()).unwrap_or_default(), position, needs })
    }
}
