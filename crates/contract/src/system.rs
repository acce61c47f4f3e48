//! The system under test, as a search sees it: initial states, successors, accepted ends.
//!
//! Later extensions have their place here as further methods with defaults: atomic propositions for temporal properties, footprints
//! of actions for partial-order reduction.

use crate::effort::Enough;
use crate::fault::{Fault, FaultCode, FaultKind};
use crate::successors::Successors;

/// A transition system whose states are byte strings.
///
/// One value serves one worker: it may hold scratch space, hence `&mut self`, and shares whatever is immutable. A parallel search
/// clones it once per worker. Equal states are equal byte strings, and the successors of a state, their order included, depend on
/// its bytes alone: searches re-execute steps and count on it.
pub trait System: Send {
    /// Appends the initial states. Their actions are meaningless.
    fn initial(&mut self, out: &mut Successors);

    /// Appends the steps that leave `state`: successors, each with where it may differ from `state`, and fatal faults. Never clears, never
    /// looks at what is already there. If a step is given up ([`give_up_when`](Self::give_up_when)), appends nothing and says so
    /// ([`Successors::cut_short`]).
    fn successors(&mut self, state: &[u8], out: &mut Successors);

    /// From now on, gives up a step that takes long when it is enough. A system whose steps are short need not care.
    fn give_up_when(&mut self, enough: Enough) {
        let _ = enough;
    }

    /// Whether `state`, which has no successors, is an accepted end; if not, it is a deadlock.
    fn is_valid_end(&mut self, state: &[u8]) -> bool;

    /// Appends the end of each component of `state` (globals, a channel, a process), ascending; the last is `state.len()`. Stores
    /// that share equal components ask for it. Without a better idea, a state is one component.
    fn components(&self, state: &[u8], out: &mut Vec<u32>) {
        out.push(state.len() as u32);
    }

    /// Explains a fault this system raised.
    fn describe_fault(&self, code: FaultCode) -> Fault {
        Fault::new(FaultKind::Other("fault"), format!("fault number {}", code.get()))
    }
}

impl<S: System + ?Sized> System for Box<S> {
    fn initial(&mut self, out: &mut Successors) {
        (**self).initial(out);
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        (**self).successors(state, out);
    }

    fn give_up_when(&mut self, enough: Enough) {
        (**self).give_up_when(enough);
    }

    fn is_valid_end(&mut self, state: &[u8]) -> bool {
        (**self).is_valid_end(state)
    }

    fn components(&self, state: &[u8], out: &mut Vec<u32>) {
        (**self).components(state, out);
    }

    fn describe_fault(&self, code: FaultCode) -> Fault {
        (**self).describe_fault(code)
    }
}
