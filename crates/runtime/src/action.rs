//! One action: the part of a process that runs without interruption, including its partners.
//!
//! An action is a transition of the checked graph. The process runs to the end of a step. If the
//! step sends a message on a channel without room, one of the processes that wait for the message
//! receives it and continues from there; after an invisible step the same process continues. A
//! process that finds no partner waits where it is.

use crate::execute::{Choose, Path, PathEnd, Untried};
use crate::insn::{Code, Insn};
use crate::machine::{Machine, Pending};
use crate::pairs::{self, ReadFrom, Store, Target, Transfer};
use crate::quick::Quick;
use crate::rests::{Half, Rest};
use bytecode::{Fault, FaultKind, Mode, Type};
use std::rc::Rc;

/// The result of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Acted {
    /// The state may have changed.
    Moved,
    /// No step is possible.
    Blocked,
    /// The action failed with the fault [`Machine::failed`]; it has no successor state.
    Failed,
    /// The caller asked it to stop.
    Stopped,
}

/// Makes the choices that the program and its processes leave open.
pub(crate) trait Decide: Choose {
    /// The index of the waiting process that is tried first.
    fn partner(&mut self, waiting: &[u8]) -> usize;

    /// Whether a long action is to stop.
    fn is_over(&mut self) -> bool;

    /// Reports a message from one process to another.
    fn passed(&mut self, channel: u32, fields: &[i32], from: usize, to: usize);
}

/// Data that is reused from action to action.
pub(crate) struct Workspace {
    /// The machine's code, kept here while the machine is changed.
    code: Rc<Code>,
    untried: Vec<Untried>,
    candidates: Vec<u8>,
    /// Processes that are at another location now, or are new.
    pub touched: Vec<u8>,
    /// The number of communications so far.
    pub communications: u64,
    /// For finding out whether an action repeats a state: a state, and when it is replaced.
    seen: Vec<u8>,
}

impl Workspace {
    pub fn new(machine: &Machine) -> Workspace {
        let code = Rc::clone(&machine.code);
        Workspace { code, untried: Vec::new(), candidates: Vec::new(), touched: Vec::new(), communications: 0, seen: Vec::new() }
    }
}

/// The number of invisible steps after which the caller is asked whether to stop.
pub(crate) const STRETCH: u32 = 4096;

impl Machine {
    /// Executes one action of a process, or the rest of one.
    pub fn act(&mut self, process: usize, begun: Quick, work: &mut Workspace, decide: &mut dyn Decide) -> Acted {
        work.touched.clear();
        self.created = 0;
        let acted = self.follow(process, begun, work, decide);
        if self.created > 0 && acted == Acted::Moved {
            // New processes come last; the oldest of them runs first.
            let count = self.processes.len();
            let created = (self.created as usize).min(count);
            work.touched.extend((count - created..count).map(|number| number as u8));
        }
        if self.logging {
            work.untried.clear();
            self.log.clear();
            self.logging = false;
        }
        acted
    }

    fn follow(&mut self, mut process: usize, begun: Quick, work: &mut Workspace, decide: &mut dyn Decide) -> Acted {
        let mut moved = begun == Quick::Moved;
        let mut resume = None;
        match begun {
            Quick::At(pc) => resume = Some(pc),
            Quick::Moved => {}
            Quick::Not | Quick::Done => {
                self.fuel = STRETCH;
                self.began = (self.processes[process].ty, self.processes[process].location);
            }
        }
        let (mut stretches, mut renew) = (0_u64, 1_u64);
        loop {
            // Here the process is at a resting place, no message is pending, and everything before
            // is complete.
            if self.logging {
                work.untried.clear();
                self.log.clear();
                self.logging = false;
            }
            let place = self.rest(process);
            let end = match place.rest {
                _ if resume.is_some() => self.go(process, resume.take().unwrap_or_default(), work, decide),
                Rest::Wait { .. } => self.offer(process, work, decide),
                Rest::Go if place.plain => {
                    let pc = place.pc;
                    self.compute(process, pc, work, decide)
                }
                Rest::Go | Rest::End => {
                    let pc = place.pc;
                    self.logging = place.careful;
                    let ended = self.go(process, pc, work, decide);
                    if ended == Ended::Blocked {
                        self.undo(0);
                    }
                    ended
                }
            };
            match end {
                Ended::Rested => {
                    work.touched.push(process as u8);
                    return Acted::Moved;
                }
                Ended::Terminated => return Acted::Moved,
                Ended::Blocked if moved => {
                    work.touched.push(process as u8);
                    return Acted::Moved;
                }
                Ended::Blocked => return Acted::Blocked,
                Ended::Fault => {
                    self.failed = self.carried.unwrap_or(self.failed);
                    return Acted::Failed;
                }
                Ended::GoesOn => {
                    moved = true;
                    process = self.goes_on;
                }
            }
            self.fuel = self.fuel.saturating_sub(1);
            if self.fuel == 0 {
                if decide.is_over() {
                    return Acted::Stopped;
                }
                // An action that repeats a state never ends.
                self.fuel = STRETCH;
                stretches += 1;
                if stretches >= renew {
                    renew *= 2;
                    work.seen = self.state();
                } else if work.seen == self.state() {
                    self.failed = self.endless();
                    self.looping = Some(process);
                    return Acted::Failed;
                }
            }
        }
    }

    /// Executes a step of a process that continues by itself and cannot be blocked, and the steps
    /// after it that belong to the same action.
    #[inline]
    fn compute(&mut self, process: usize, mut pc: u32, work: &mut Workspace, decide: &mut dyn Decide) -> Ended {
        if let Some(native) = &self.native {
            let frame = &mut self.processes[process].frame;
            (pc, self.fuel) = native.run(pc, process as i32, frame, &mut self.globals, self.fuel);
            if let Insn::Step { mode: mode @ (Mode::Normal | Mode::Invisible), location, .. } = self.code.insns[pc as usize] {
                self.stepped = (mode, location);
                return self.finish(process);
            }
        }
        self.go(process, pc, work, decide)
    }

    /// The fault of an action that never ends; its position is where the action began.
    fn endless(&self) -> Fault {
        let (ty, location) = self.began;
        Fault { kind: FaultKind::Endless, addr: crate::rests::address(&self.verified, ty, location) }
    }

    /// Executes a step of a process that continues by itself.
    #[inline]
    fn go(&mut self, process: usize, pc: u32, work: &mut Workspace, decide: &mut dyn Decide) -> Ended {
        let mut path = Path { process, answering: false, untried: &mut work.untried, code: &work.code, chooser: decide as &mut dyn Choose };
        match self.execute_all(&mut path, pc) {
            PathEnd::Step => self.finish(process),
            PathEnd::Offered => self.go_with_partner(process, work, decide),
            PathEnd::Blocked => Ended::Blocked,
            PathEnd::Fault => Ended::Fault,
        }
    }

    /// Like `go`, after the step has ended with a message that a process must receive.
    fn go_with_partner(&mut self, process: usize, work: &mut Workspace, decide: &mut dyn Decide) -> Ended {
        loop {
            let ended = self.complete(process, work, decide);
            if ended != Ended::Blocked {
                return ended;
            }
            let mut path =
                Path { process, answering: false, untried: &mut work.untried, code: &work.code, chooser: decide as &mut dyn Choose };
            match self.try_next(&mut path, 0, false) {
                PathEnd::Offered => {}
                PathEnd::Step => return self.finish(process),
                PathEnd::Blocked => return Ended::Blocked,
                PathEnd::Fault => return Ended::Fault,
            }
        }
    }

    /// Looks for a partner of a process that needs one.
    fn offer(&mut self, process: usize, work: &mut Workspace, decide: &mut dyn Decide) -> Ended {
        let rests = std::rc::Rc::clone(&self.rests);
        let Rest::Wait { offers, answers } = &rests.places[self.processes[process].place as usize].rest else { return Ended::Blocked };
        for half in offers {
            let key = self.key(process, half.key);
            let waiting = self.answerers(half.channel, key);
            let partner = match waiting {
                [] => continue,
                [one] => *one as usize,
                several => several[decide.partner(several) % several.len()] as usize,
            };
            if partner != process
                && let Some((sender, receiver)) = self.move_values(process, half, answers, partner)
            {
                work.communications += 1;
                work.touched.push(sender as u8);
                work.touched.push(receiver as u8);
                if self.tells {
                    let (channel, values, count) = self.told;
                    decide.passed(channel, &values[..count], sender, receiver);
                }
                return Ended::Terminated;
            }
            // The effects need not be logged if the message is certainly sent, and a waiting
            // process certainly receives it. One that is not the first in its queue sends nothing.
            self.logging = half.may_fail || !self.is_sure(process, half.channel, key);
            let ended = self.go(process, half.pc, work, decide);
            if ended != Ended::Blocked {
                return ended;
            }
            self.undo(0);
        }
        Ended::Blocked
    }

    /// Executes a communication of two halves that only move values; returns sender and receiver.
    /// Does nothing if they do more.
    #[inline]
    pub fn move_values(&mut self, process: usize, half: &Half, answers: &[Half], partner: usize) -> Option<(usize, usize)> {
        let transfer = self.transfer(half, answers, partner)?;
        let (sender, receiver) = if transfer.sends { (process, partner) } else { (partner, process) };
        let (given, taken) = (&transfer.given, &transfer.taken);
        let mut values = [0; pairs::MOST];
        for (place, (from, ty)) in values.iter_mut().zip(&given.fields) {
            let value = self.key(sender, *from);
            *place = if *ty == Type::Int { value } else { ty.truncate(value) };
        }
        if self.key(receiver, transfer.wanted) != values[0] {
            return None;
        }
        for store in &given.stores {
            self.store(sender, store, &values);
        }
        for store in &taken.stores {
            self.store(receiver, store, &values);
        }
        self.rests_at(sender, given.location);
        self.rests_at(receiver, taken.location);
        // The arriving process is in no table yet, unless it waited before.
        self.unlist(partner);
        self.unlist(process);
        if self.tells {
            self.told = (transfer.channel, values, given.fields.len());
        }
        Some((sender, receiver))
    }

    /// The transfer for a half and a waiting process, if only values are moved.
    #[inline]
    fn transfer(&mut self, half: &Half, answers: &[Half], partner: usize) -> Option<Rc<Transfer>> {
        let place = self.processes[partner].place;
        if let Some((first, transfer)) = self.transfers[half.number as usize].first()
            && *first == place
        {
            return transfer.clone();
        }
        self.find_transfer(half, answers, place)
    }

    /// Like `transfer`, for a place that was not the last one.
    #[inline(never)]
    fn find_transfer(&mut self, half: &Half, answers: &[Half], place: u32) -> Option<Rc<Transfer>> {
        let known = &mut self.transfers[half.number as usize];
        let at = known.iter().position(|(at, _)| *at == place).unwrap_or_else(|| {
            let transfer = Transfer::of(half, answers, &self.rests.places[place as usize]);
            known.push((place, transfer.map(Rc::new)));
            known.len() - 1
        });
        known.swap(0, at);
        known[0].1.clone()
    }

    #[inline]
    fn store(&mut self, process: usize, store: &Store, fields: &[i32; pairs::MOST]) {
        let value = match store.from {
            ReadFrom::Field(field) => fields[field as usize % pairs::MOST],
            ReadFrom::Own(key) => self.key(process, key),
        };
        let value = if store.ty == Type::Int { value } else { store.ty.truncate(value) };
        match store.to {
            Target::Slot(slot) => self.processes[process].frame[slot as usize] = value,
            Target::Global(var) => self.globals[var as usize] = value,
        }
    }

    /// Whether a waiting process receives the message whatever its contents.
    fn is_sure(&self, sender: usize, channel: u32, key: i32) -> bool {
        let takes = |other: &u8| {
            let answers = self.halves(*other as usize).1;
            *other as usize != sender && answers.iter().any(|half| half.channel == channel && !half.may_fail)
        };
        (0..=255).contains(&key) && self.answerers(channel, key).iter().any(takes)
    }

    /// Handles the end of a step.
    #[inline]
    fn finish(&mut self, process: usize) -> Ended {
        let (mode, location) = self.stepped;
        if mode == Mode::Terminate {
            self.remove_last();
            return Ended::Terminated;
        }
        self.rests_at(process, location);
        if mode == Mode::Invisible {
            self.goes_on = process;
            return Ended::GoesOn;
        }
        Ended::Rested
    }

    /// Finds a process that receives the pending message of a process whose step has ended.
    fn complete(&mut self, sender: usize, work: &mut Workspace, decide: &mut dyn Decide) -> Ended {
        let location = self.stepped.1;
        let pending = self.pending;
        let mut candidates = std::mem::take(&mut work.candidates);
        candidates.clear();
        candidates.extend(self.answerers(pending.channel, pending.fields[0]).iter().filter(|other| **other as usize != sender));
        if candidates.len() > 1 {
            let first = decide.partner(&candidates) % candidates.len();
            candidates.rotate_left(first);
        }
        let old = self.processes[sender].location;
        self.rests_at(sender, location);
        let mut ended = Ended::Blocked;
        for &receiver in &candidates {
            let receiver = receiver as usize;
            ended = self.answer(receiver, &pending, decide);
            if ended != Ended::Blocked {
                // A receiver that requests a message gets it with the reply.
                work.communications += u64::from(ended != Ended::GoesOn);
                decide.passed(pending.channel, &pending.fields[..pending.count], sender, receiver);
                self.unlist(sender);
                match ended {
                    Ended::Fault => {}
                    // The sender waits where its step ended; it may be the one that replies next.
                    Ended::GoesOn => {
                        self.list(sender);
                        work.touched.push(sender as u8);
                    }
                    _ => {
                        work.touched.push(sender as u8);
                        if ended != Ended::Terminated {
                            work.touched.push(receiver as u8);
                        }
                        ended = Ended::Terminated;
                    }
                }
                break;
            }
        }
        if ended == Ended::Blocked {
            self.rests_at(sender, old);
        }
        work.candidates = candidates;
        ended
    }

    /// Lets a process receive the pending message, if it can.
    fn answer(&mut self, receiver: usize, pending: &Pending, decide: &mut dyn Decide) -> Ended {
        let rests = std::rc::Rc::clone(&self.rests);
        let Rest::Wait { answers, .. } = &rests.places[self.processes[receiver].place as usize].rest else { return Ended::Blocked };
        for half in answers.iter().filter(|half| half.channel == pending.channel) {
            let mark = self.log.len();
            self.logging |= half.may_fail;
            let (mut untried, code) = (Vec::new(), std::rc::Rc::clone(&self.code));
            let mut path =
                Path { process: receiver, answering: true, untried: &mut untried, code: &code, chooser: decide as &mut dyn Choose };
            match self.execute_all(&mut path, half.pc) {
                PathEnd::Step => {
                    self.unlist(receiver);
                    return self.finish(receiver);
                }
                PathEnd::Fault => return Ended::Fault,
                PathEnd::Offered | PathEnd::Blocked => self.undo(mark),
            }
        }
        Ended::Blocked
    }
}

/// The result of a step for an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ended {
    /// The action is over; the process is at its new location.
    Rested,
    /// The action is over, and the process has ended.
    Terminated,
    /// The process [`Machine::goes_on`] continues within the action.
    GoesOn,
    Blocked,
    /// The fault is [`Machine::failed`].
    Fault,
}
