//! A run: a sequence of actions, chosen by a scheduler and the devices.
//!
//! Processes that can continue are with the scheduler. Processes that need a partner are in the
//! machine's tables, where an arriving process finds them. A process in `SELECT` begins nothing
//! itself. So when one waits, the processes that offer what it receives are scheduled to try again.

use crate::action::{Acted, Decide, Workspace};
use crate::code::NotRunnable;
use crate::device::Devices;
use crate::execute::Choose;
use crate::insn::{Code, Native};
use crate::machine::Machine;
use crate::monitor::{Monitor, Watched};
use crate::quick::Quick;
use crate::record::Recorder;
use crate::rests::{Half, Place, Rest, address};
use crate::scheduler::{Ready, Scheduler};
use crate::times::{Gate, TimeSource, Times};
use bytecode::{Fault, ProcessId, Verified};
use contract::{Cancel, Enough, FaultCode, Trace};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The limits of a run, and the recording.
#[derive(Clone, Debug, Default)]
pub struct RunLimits {
    /// The most actions.
    pub actions: Option<u64>,
    /// The most time.
    pub time: Option<Duration>,
    /// Ends the run from outside.
    pub cancel: Cancel,
    /// The number of actions that are recorded, the last of the run; 0 for none. There are fewer if
    /// their states take more than 64 MiB.
    pub recorded: usize,
}

/// A waiting process, and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The process's number.
    pub process: usize,
    /// The name of its type.
    pub name: String,
    /// The statement at which it waits, as the user wrote it.
    pub statement: String,
    /// The position of that statement.
    pub position: Option<contract::Position>,
    /// What it waits for, as in "a receiver of Fork.take on channel 2".
    pub needs: Vec<String>,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// Every process has ended, or may wait for ever.
    Finished,
    /// No process can continue, and no device will change that.
    Deadlock(Vec<Stuck>),
    /// An assertion was false, or another fault occurred.
    Fault(contract::Fault),
    /// The limit on actions was reached.
    Actions,
    /// The limit on time was reached.
    Time,
    /// The run was cancelled.
    Cancelled,
}

/// Figures of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunFigures {
    /// The number of executed actions.
    pub actions: u64,
    /// The number of messages from one process to another.
    pub communications: u64,
    /// The number of times that a process waited later than its deadline.
    pub missed: u64,
    /// The elapsed time.
    pub elapsed: Duration,
}

/// Makes all choices that the program leaves open.
struct Policy {
    scheduler: Box<dyn Scheduler>,
    numbers: u64,
    devices: Box<dyn Devices>,
    /// The process that represents the devices.
    host: Option<usize>,
    /// The processes that represent the interrupt lines.
    lines: Vec<(usize, u32)>,
    portin: u32,
    portout: u32,
    /// The value of the port that was read last.
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
    /// The processes that are with the scheduler.
    scheduled: Box<[bool; 256]>,
    /// Processes that could not continue and may be able to after another change.
    stalled: Vec<u8>,
    times: Times,
    /// The types of the processes that represent the devices, and of those that receive interrupts.
    urgent: Vec<bool>,
    /// Whether the program has processes that represent devices.
    devices: bool,
    /// Whether there are no observers: no trace, no monitor, no devices, no deadlines.
    unwatched: bool,
    recorder: Option<Recorder>,
    monitor: Option<Monitor>,
    figures: RunFigures,
    limits: RunLimits,
    begun: Instant,
}

/// The processes of the library's module SYSTEM that represent the devices and the lines.
const HOST: &str = "SYSTEM.Devices";
const LINE: &str = "SYSTEM.Line";

/// The beginning of the names of the channels for interrupts. The port of each line follows if
/// there are several.
const INTERRUPT: &str = "SYSTEM.InterruptChannel";

/// The process types that represent the devices, send interrupts or receive them.
fn urgent(machine: &Machine) -> Vec<bool> {
    let program = machine.verified.program();
    let is_interrupt = |half: &Half| program.channels[half.channel as usize - 1].name.starts_with(INTERRUPT);
    let of_type = |ty: usize| {
        let places = machine.rests.of_type(ty as u8);
        let waits = |place: &Place| match &place.rest {
            Rest::Wait { offers, answers } => offers.iter().chain(answers).any(is_interrupt),
            _ => false,
        };
        program.processes[ty].name == HOST || places.iter().any(waits)
    };
    (0..program.processes.len()).map(of_type).collect()
}

/// The number of actions between two checks of the clock.
const ROUND: u64 = 64;

/// The time that a run waits for devices before it checks whether to end.
const NAP: Duration = Duration::from_millis(20);

impl Runner {
    /// A run of a program that has not begun. Random choices of the program depend on the seed.
    pub fn new(
        program: &Arc<Verified>,
        scheduler: Box<dyn Scheduler>,
        seed: u64,
        devices: Box<dyn Devices>,
        limits: RunLimits,
    ) -> Result<Runner, NotRunnable> {
        let machine = Machine::new(Arc::clone(program))?;
        let begun = Instant::now();
        // The name of a channel has its port if the program has several ports of this type.
        let channel = |message: &str| {
            let names = ["SYSTEM.IOChannel", "SYSTEM.IOChannel(SYSTEM.IOPORT)"].map(|ty| format!("{ty}.{message}"));
            program.program().channels.iter().position(|channel| names.contains(&channel.name)).map_or(0, |at| at as u32 + 1)
        };
        let policy = Policy {
            scheduler,
            numbers: seed,
            devices,
            host: None,
            lines: Vec::new(),
            portin: channel("PORTIN"),
            portout: channel("PORTOUT"),
            answer: 0,
            cancel: limits.cancel.clone(),
            until: limits.time.map(|time| begun + time),
        };
        let recorder = (limits.recorded > 0).then(|| Recorder::new(program, machine.state(), limits.recorded));
        let mut runner = Runner {
            times: Times::of(program),
            urgent: urgent(&machine),
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

    /// Executes pure computations in another way, such as native code.
    pub fn accelerate(&mut self, make: impl FnOnce(&Code) -> Option<Box<dyn Native>>) {
        self.machine.native = make(&self.machine.code);
    }

    /// Measures periods and deadlines by another time than that of this computer. It is called
    /// before the run begins.
    pub fn measure_time_by(&mut self, source: Box<dyn TimeSource>) {
        self.times.source = source;
    }

    /// Watches properties: a run that violates one ends there.
    pub fn watch(&mut self, program: &Arc<Verified>, watched: Vec<Watched>) {
        self.monitor = (!watched.is_empty()).then(|| Monitor::new(program, watched));
    }

    /// Runs to the end. What the program prints goes to `print`.
    pub fn run(&mut self, print: &mut dyn FnMut(&str)) -> RunEnd {
        self.unwatched = !(self.devices || self.times.is_needed() || self.recorder.is_some() || self.monitor.is_some());
        let mut end = self.seen(false).unwrap_or_else(|| self.actions(print));
        // If nothing more happens, the last state is repeated.
        if matches!(end, RunEnd::Finished | RunEnd::Deadlock(_)) {
            end = self.seen(true).unwrap_or(end);
        }
        self.figures.communications = self.work.communications;
        self.figures.missed = self.times.missed + self.times.overdue();
        self.figures.elapsed = self.begun.elapsed();
        end
    }

    /// The figures of the run that has ended.
    pub fn figures(&self) -> RunFigures {
        self.figures
    }

    /// The current state.
    pub fn state(&self) -> Vec<u8> {
        self.machine.state()
    }

    /// The recorded actions as a trace; an error with the actions before it if an action is not in
    /// the graph.
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
            }
            if self.figures.actions >= most {
                return RunEnd::Actions;
            }
            self.release();
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
                // A guard over the process's own variables changes only when the process moves,
                // which wakes the processes that wait for it.
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
        if let Some(recorder) = &mut self.recorder {
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
        // The youngest process may have waited until it was the youngest.
        let now = self.machine.processes.len();
        for gone in now..count {
            self.times.ended(gone);
        }
        if now < count && now > 0 && matches!(self.machine.rest(now - 1).rest, Rest::End) {
            self.schedule(now - 1);
        }
        self.retry(now);
        None
    }

    /// Lets the processes that could not continue try again after a change.
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

    /// Passes the current state to the monitor.
    fn seen(&mut self, is_last: bool) -> Option<RunEnd> {
        let name = self.monitor.as_mut()?.sees(&self.machine.state(), is_last)?;
        let message = format!("the run violates the property `{name}`");
        Some(RunEnd::Fault(contract::Fault::new(contract::ViolationKind::Property, message)))
    }

    fn explain(&self, fault: Fault) -> contract::Fault {
        match FaultCode::new(fault.code()) {
            Some(code) => {
                let mut told = vm::describe_fault(&self.machine.verified, code);
                // The machine stopped inside the loop, which is what the user has to mend.
                if let Some(process) = self.machine.looping {
                    let (cancel, until) = (self.policy.cancel.clone(), self.policy.until);
                    let enough = Enough::when(move |_| cancel.is_cancelled() || until.is_some_and(|until| Instant::now() >= until));
                    let interpreter = vm::Interpreter::new(Arc::clone(&self.machine.verified));
                    let step = interpreter.repeated(&self.machine.state(), process, enough);
                    let place = step.and_then(|step| vm::position_at(self.machine.verified.program(), step));
                    told.position = place.or(told.position);
                }
                told
            }
            None => contract::Fault::new(contract::ViolationKind::Other("fault"), "unknown fault"),
        }
    }

    /// Prints the output of the last action.
    fn tell(&mut self, print: &mut dyn FnMut(&str)) {
        let program = self.machine.verified.program();
        for printed in self.machine.printed.drain(..) {
            let format = &program.formats[printed.format.index()];
            if let Ok(text) = bytecode::format::render(format, &printed.values, |value| program.symbol(value)) {
                print(&text);
            }
        }
    }

    /// Schedules a process at its resting place, or lets it wait.
    pub(crate) fn settle(&mut self, process: usize) {
        let resting = &self.machine.processes[process];
        if self.times.is_needed() {
            let waits = matches!(self.machine.rest(process).rest, Rest::Wait { .. } | Rest::End);
            let gate = self.times.rests(process, resting.ty, resting.location, waits);
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
        // The process begins nothing itself, so the processes that could begin a communication with
        // it try.
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
            let deadline = if self.times.is_needed() { self.deadline(process) } else { u64::MAX };
            self.policy.scheduler.add(Ready { deadline, process: process as u8 });
        }
    }

    /// The deadline of a process that can continue. The processes of the devices and their drivers
    /// come first, unless they have deadlines of their own: otherwise the devices would wait for
    /// the processes with deadlines, and a deadline that depends on a device could not be met.
    fn deadline(&mut self, process: usize) -> u64 {
        let ty = self.machine.processes.get(process).map_or(0, |process| process.ty);
        if self.urgent[usize::from(ty)] && !self.times.has_deadline(ty) { 0 } else { self.times.deadline(process) }
    }

    /// Determines whether a process represents a device or an interrupt line.
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

    /// Handles interrupts that came during the last action.
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
            if raised & (1 << line) != 0 && self.can_interrupt(process) {
                self.schedule(process);
            }
        }
    }

    /// Whether the process of a line can begin an interrupt. It cannot if its last one has not been
    /// received yet.
    fn can_interrupt(&self, process: usize) -> bool {
        process < self.machine.processes.len() && matches!(self.machine.rest(process).rest, Rest::Go)
    }

    /// The lines that could interrupt if they were raised, one bit each.
    fn open_lines(&self) -> u32 {
        let open = self.policy.lines.iter().filter(|(process, _)| self.can_interrupt(*process));
        open.map(|(_, line)| 1_u32.checked_shl(*line).unwrap_or(0)).fold(0, |all, line| all | line)
    }

    /// Schedules processes whose period begins.
    #[inline]
    fn release(&mut self) {
        if !self.times.is_needed() {
            return;
        }
        while let Some(process) = self.times.released() {
            if process < self.machine.processes.len() {
                self.schedule(process);
            }
        }
    }

    /// Waits for a device or a period if no process can run, or ends the run.
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
        let lines = self.open_lines();
        let devices = self.devices && self.policy.devices.wait(lines, most);
        if !devices && sleep.is_some() {
            self.times.source.sleep(most);
        }
        self.release();
        if devices || sleep.is_some() {
            return None;
        }
        let stuck: Vec<Stuck> = (0..self.machine.processes.len()).filter_map(|process| self.stuck(process)).collect();
        Some(if stuck.is_empty() { RunEnd::Finished } else { RunEnd::Deadlock(stuck) })
    }

    /// What a process waits for; `None` if it has ended or may wait for ever.
    fn stuck(&self, number: usize) -> Option<Stuck> {
        let process = &self.machine.processes[number];
        let program = self.machine.verified.program();
        let at = address(&self.machine.verified, process.ty, process.location);
        // The processes of the interrupt lines can continue, and wait only for their devices.
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
            // The process that is requested for a message is the sender.
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
