//! The usual action, without unnecessary work.
//!
//! Most actions compute something in native code, reach a communication, and either find a partner
//! with which only values are moved, or wait. This module handles only that action, for runs
//! without observers: no trace, no monitor, no devices, no deadlines. All other cases continue in
//! `action`, which defines the behaviour; a test compares the two.

use crate::action::STRETCH;
use crate::insn::Insn;
use crate::rests::Rest;
use crate::run::Runner;
use bytecode::Mode;

/// The progress of a quick action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Quick {
    /// The action is complete.
    Done,
    /// Nothing was executed.
    Not,
    /// The process continues at this instruction.
    At(u32),
    /// The process has executed a step, and continues at its new location.
    Moved,
}

impl Runner {
    /// Executes an action of a process, if it is a usual one.
    #[inline]
    pub(crate) fn quick(&mut self, process: usize) -> Quick {
        let machine = &mut self.machine;
        let Some(native) = &machine.native else { return Quick::Not };
        let Some(own) = machine.processes.get_mut(process) else { return Quick::Not };
        let place = &machine.rests.places[own.place as usize];
        if !place.plain {
            return Quick::Not;
        }
        machine.began = (own.ty, own.location);
        let (pc, fuel) = native.run(place.pc, process as i32, &mut own.frame, &mut machine.globals, STRETCH);
        machine.fuel = fuel;
        let Some(Insn::Step { mode, location, .. }) = machine.code.insns.get(pc as usize) else { return Quick::At(pc) };
        match mode {
            Mode::Normal => {
                machine.rests_at(process, *location);
                self.rest_quickly(process);
                Quick::Done
            }
            Mode::Invisible if fuel > 1 => {
                machine.rests_at(process, *location);
                self.offer_quickly(process)
            }
            _ => Quick::At(pc),
        }
    }

    /// Pairs a process that has reached a communication with a waiting partner, or lets it wait.
    #[inline]
    fn offer_quickly(&mut self, process: usize) -> Quick {
        let machine = &mut self.machine;
        let rests = std::rc::Rc::clone(&machine.rests);
        let place = &rests.places[machine.processes[process].place as usize];
        let Rest::Wait { offers, answers } = &place.rest else { return Quick::Moved };
        // A process without offers wakes others.
        if offers.is_empty() {
            return Quick::Moved;
        }
        for half in offers {
            let partner = match machine.answerers(half.channel, machine.key(process, half.key)) {
                [] => continue,
                [one] => usize::from(*one),
                _ => return Quick::Moved,
            };
            if partner == process {
                return Quick::Moved;
            }
            let Some((sender, receiver)) = machine.move_values(process, half, answers, partner) else { return Quick::Moved };
            self.work.communications += 1;
            self.rest_quickly(sender);
            self.rest_quickly(receiver);
            return Quick::Done;
        }
        machine.list(process);
        Quick::Done
    }

    /// Handles a process at its resting place: it is scheduled if it can continue by itself.
    #[inline]
    fn rest_quickly(&mut self, process: usize) {
        if self.machine.rest(process).plain { self.schedule(process) } else { self.settle(process) }
    }
}
