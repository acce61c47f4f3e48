//! One action: what a process does until somebody else may run, its partners included.
//!
//! An action is a transition of the checked graph. The process runs to the end of a step. If the
//! step sends to nobody who has room, one of those that wait for the message takes it and goes on
//! from there; after an invisible step the same process goes on. A process that finds no partner
//! rests where it is.

use crate::execute::{Choose, Path, PathEnd, Untried};
use crate::machine::{Machine, Pending};
use crate::rests::Rest;
use bytecode::{Fault, FaultKind, Mode};

/// What an action did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Acted {
    /// The state may have changed.
    Moved,
    /// Nothing is possible.
    Blocked,
    /// The action failed, and leads nowhere.
    Failed(Fault),
    /// The caller wanted it to stop.
    Stopped,
}

/// Decides what the program and its processes leave open.
pub(crate) trait Decide: Choose {
    /// Which of those that wait is asked first.
    fn partner(&mut self, waiting: &[u8]) -> usize;

    /// Whether a long action is to stop.
    fn is_over(&mut self) -> bool;

    /// A message went from one process to another.
    fn passed(&mut self, message: &Pending, from: usize, to: usize) {
        let _ = (message, from, to);
    }
}

/// What a run keeps from action to action, so that it need not be made anew.
#[derive(Default)]
pub(crate) struct Workspace {
    untried: Vec<Untried>,
    candidates: Vec<u8>,
    /// Processes that rest elsewhere now, or are new.
    pub touched: Vec<u8>,
    /// Communications so far.
    pub communications: u64,
    /// To find out whether an action comes back to where it was: a state, and when it is replaced.
    seen: Vec<u8>,
}

/// How many invisible steps are made before the caller is asked whether to stop.
const STRETCH: u64 = 4096;

impl Machine {
    /// Executes one action of a process.
    pub fn act(&mut self, process: usize, work: &mut Workspace, decide: &mut dyn Decide) -> Acted {
        work.touched.clear();
        self.created = 0;
        let acted = self.follow(process, work, decide);
        if acted == Acted::Moved {
            // New ones come last; the oldest of them is the first to run.
            let count = self.processes.len();
            let created = (self.created as usize).min(count);
            work.touched.extend((count - created..count).map(|number| number as u8));
        }
        self.log.clear();
        self.logging = false;
        acted
    }

    fn follow(&mut self, mut process: usize, work: &mut Workspace, decide: &mut dyn Decide) -> Acted {
        let start = process;
        let mut moved = false;
        let (mut steps, mut renew) = (0_u64, 1_u64);
        loop {
            // Here the process stands at a resting place, nothing is pending, and all before is
            // done.
            work.untried.clear();
            self.log.clear();
            self.logging = false;
            let place = self.rest(process);
            let end = match place.rest {
                Rest::Wait { .. } => self.offer(process, work, decide),
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
                Ended::Fault(fault) => return Acted::Failed(self.carried.unwrap_or(fault)),
                Ended::GoesOn(next) => {
                    moved = true;
                    if next != process {
                        process = next;
                    }
                }
            }
            steps += 1;
            if steps.is_multiple_of(STRETCH) {
                if decide.is_over() {
                    return Acted::Stopped;
                }
                // An action that comes back to a state it was in never ends.
                if steps >= renew * STRETCH {
                    renew *= 2;
                    work.seen = self.state();
                } else if work.seen == self.state() {
                    return Acted::Failed(self.endless(start));
                }
            }
        }
    }

    fn endless(&self, process: usize) -> Fault {
        let (ty, location) = (self.processes[process].ty, self.processes[process].location);
        Fault { kind: FaultKind::Endless, addr: crate::rests::address(&self.verified, ty, location) }
    }

    /// A process that goes on by itself executes a step.
    fn go(&mut self, process: usize, pc: u32, work: &mut Workspace, decide: &mut dyn Decide) -> Ended {
        let mut untried = std::mem::take(&mut work.untried);
        let mut path = Path { process, answering: false, untried: &mut untried, chooser: decide as &mut dyn Choose };
        let mut end = self.execute_all(&mut path, pc);
        let ended = loop {
            match end {
                PathEnd::Step { location, offered: true, .. } => {
                    let ended = self.complete(process, location, work, decide);
                    if ended != Ended::Blocked {
                        break ended;
                    }
                    let mut path = Path { process, answering: false, untried: &mut untried, chooser: decide as &mut dyn Choose };
                    end = self.try_next(&mut path, 0, false);
                }
                PathEnd::Step { mode, location, .. } => break self.finish(process, mode, location),
                PathEnd::Blocked => break Ended::Blocked,
                PathEnd::Fault(fault) => break Ended::Fault(fault),
            }
        };
        work.untried = untried;
        ended
    }

    /// A process that needs a partner looks for one.
    fn offer(&mut self, process: usize, work: &mut Workspace, decide: &mut dyn Decide) -> Ended {
        let rests = std::rc::Rc::clone(&self.rests);
        let (ty, location) = (self.processes[process].ty, self.processes[process].location);
        let Rest::Wait { offers, .. } = &rests.place(ty, location).rest else { return Ended::Blocked };
        for half in offers {
            let key = self.key(process, half.key);
            if self.answerers(half.channel, key).is_empty() {
                continue;
            }
            // What it does need not be undone if somebody is there who takes the message for
            // certain.
            self.logging = !self.is_sure(process, half.channel, key);
            let ended = self.go(process, half.pc, work, decide);
            if ended != Ended::Blocked {
                return ended;
            }
            self.undo(0);
        }
        Ended::Blocked
    }

    /// Whether somebody who waits takes a message whatever is in it.
    fn is_sure(&self, sender: usize, channel: u32, key: i32) -> bool {
        let takes = |other: &u8| {
            let answers = self.halves(*other as usize).1;
            *other as usize != sender && answers.iter().any(|half| half.channel == channel && !half.may_fail)
        };
        (0..=255).contains(&key) && self.answerers(channel, key).iter().any(takes)
    }

    /// A step has ended.
    fn finish(&mut self, process: usize, mode: Mode, location: u16) -> Ended {
        if mode == Mode::Terminate {
            self.remove_last();
            return Ended::Terminated;
        }
        self.processes[process].location = location;
        if mode == Mode::Invisible { Ended::GoesOn(process) } else { Ended::Rested }
    }

    /// Finds somebody who takes the pending message of a process whose step has ended.
    fn complete(&mut self, sender: usize, location: u16, work: &mut Workspace, decide: &mut dyn Decide) -> Ended {
        let pending = self.pending;
        let mut candidates = std::mem::take(&mut work.candidates);
        candidates.clear();
        candidates.extend(self.answerers(pending.channel, pending.fields[0]).iter().filter(|other| **other as usize != sender));
        if candidates.len() > 1 {
            let first = decide.partner(&candidates) % candidates.len();
            candidates.rotate_left(first);
        }
        let old = std::mem::replace(&mut self.processes[sender].location, location);
        let mut ended = Ended::Blocked;
        for &receiver in &candidates {
            let receiver = receiver as usize;
            ended = self.answer(receiver, &pending, decide);
            if ended != Ended::Blocked {
                // A receiver that asks for a message gets it with the answer.
                work.communications += u64::from(!matches!(ended, Ended::GoesOn(_)));
                decide.passed(&pending, sender, receiver);
                self.unlist(sender);
                match ended {
                    Ended::Fault(_) => {}
                    // The sender rests where its step ended; it may be the one that answers next.
                    Ended::GoesOn(_) => {
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
            self.processes[sender].location = old;
        }
        work.candidates = candidates;
        ended
    }

    /// A process answers the pending message, if it can.
    fn answer(&mut self, receiver: usize, pending: &Pending, decide: &mut dyn Decide) -> Ended {
        let rests = std::rc::Rc::clone(&self.rests);
        let (ty, location) = (self.processes[receiver].ty, self.processes[receiver].location);
        let Rest::Wait { answers, .. } = &rests.place(ty, location).rest else { return Ended::Blocked };
        for half in answers.iter().filter(|half| half.channel == pending.channel) {
            let mark = self.log.len();
            self.logging |= half.may_fail;
            let mut untried = Vec::new();
            let mut path = Path { process: receiver, answering: true, untried: &mut untried, chooser: decide as &mut dyn Choose };
            match self.execute_all(&mut path, half.pc) {
                PathEnd::Step { mode, location, .. } => {
                    self.unlist(receiver);
                    return self.finish(receiver, mode, location);
                }
                PathEnd::Fault(fault) => return Ended::Fault(fault),
                PathEnd::Blocked => self.undo(mark),
            }
        }
        Ended::Blocked
    }
}

/// How a step ends for an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ended {
    /// The action is over; the process is where it is now.
    Rested,
    /// The action is over, and nothing more is to be said of the process.
    Terminated,
    /// This process goes on within the action.
    GoesOn(usize),
    Blocked,
    Fault(Fault),
}
