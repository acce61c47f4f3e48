//! The system under test, as a search sees it: initial states, successors, accepted ends.
//!
//! Methods that only some searches need have defaults: the parts of a state for reductions, the
//! truth of atomic propositions for temporal properties, the values of expressions for searches
//! that are ordered by them.

use crate::effort::Enough;
use crate::fault::{Fault, FaultCode, ViolationKind};
use crate::successors::Successors;
use std::time::Duration;

/// A transition system whose states are byte strings.
///
/// One value serves one worker: it may hold scratch space, hence `&mut self`, and shares its
/// immutable parts. A parallel search clones it once per worker. Equal states are equal byte
/// strings. The successors of a state, and their order, depend on its bytes alone, because searches
/// re-execute steps.
pub trait System: Send {
    /// Appends the initial states. Their actions have no meaning. An initial state may carry a
    /// fault; an initial state that cannot be computed is a fatal fault.
    fn initial(&mut self, out: &mut Successors);

    /// Appends the steps that leave `state`: successors and fatal faults. No two have the same
    /// action. This method neither clears the buffer nor reads what is already there. If the system
    /// abandons a step ([`give_up_when`](Self::give_up_when)), it appends nothing and records this
    /// ([`Successors::cut_short`]).
    fn successors(&mut self, state: &[u8], out: &mut Successors);

    /// Appends the steps that leave each of `states`, as [`successors`](Self::successors) does. The
    /// steps of the first state belong to source number `source` of `out`, those of the others to
    /// the numbers that follow. Returns the number of states that were expanded: a state whose
    /// steps were abandoned does not count, nor do the states after it.
    fn successors_of_all(&mut self, states: &[&[u8]], source: u32, out: &mut Successors) -> usize {
        for (number, state) in states.iter().enumerate() {
            out.begin_source(source + number as u32);
            self.successors(state, out);
            if out.is_cut_short() {
                return number;
            }
        }
        states.len()
    }

    /// Gives the system a condition for abandoning a long step. A system whose steps are short may
    /// ignore it.
    fn give_up_when(&mut self, enough: Enough) {
        let _ = enough;
    }

    /// Waits until a system that prepares something in the background has reached its full speed,
    /// but at most for `most`. Returns whether it has. A search need not wait.
    fn get_ready(&mut self, most: Duration) -> bool {
        let _ = most;
        true
    }

    /// Whether `state`, which has no successors, is an accepted end; if not, it is a deadlock.
    fn is_valid_end(&mut self, state: &[u8]) -> bool;

    /// Appends the numbers of the parts of `state`. A part is a share of its steps that can be
    /// generated separately; in a system of processes it is the steps of one process. A part may
    /// turn out to have no steps.
    ///
    /// The steps of all parts, in this order, are those of [`successors`](Self::successors). By
    /// default the whole state is one part.
    fn parts(&mut self, state: &[u8], out: &mut Vec<u32>) {
        let _ = state;
        out.push(0);
    }

    /// Appends the steps of one of the [`parts`](Self::parts) of `state`. A step can be abandoned
    /// as in [`successors`](Self::successors).
    fn expand_part(&mut self, state: &[u8], part: u32, out: &mut Successors) {
        let _ = part;
        self.successors(state, out);
    }

    /// The truth of the atomic propositions that the system was given: bit *n* is set if
    /// proposition *n* holds in `state`. If a proposition cannot be evaluated, the result is the
    /// fault. A system without propositions returns 0.
    fn atoms(&mut self, state: &[u8]) -> Result<u64, FaultCode> {
        let _ = state;
        Ok(0)
    }

    /// Appends the values in `state` of the expressions with these numbers in the system's own
    /// table of atoms: progress measures, heuristics. If one of them cannot be evaluated, the
    /// result is the fault, and the appended values have no meaning. A system without such a table
    /// appends zeros.
    fn values(&mut self, state: &[u8], atoms: &[u32], out: &mut Vec<i64>) -> Result<(), FaultCode> {
        let _ = state;
        out.extend(atoms.iter().map(|_| 0));
        Ok(())
    }

    /// Appends, for each entry of a batch, the [`values`](Self::values) in its state, and zeros for
    /// an entry without a state.
    fn values_of_all(&mut self, batch: &Successors, atoms: &[u32], out: &mut Vec<i64>) -> Result<(), FaultCode> {
        out.reserve(batch.len() * atoms.len());
        batch.iter().try_for_each(|(_, state)| match state {
            Some(state) => self.values(state, atoms, out),
            None => {
                out.extend(atoms.iter().map(|_| 0));
                Ok(())
            }
        })
    }

    /// Explains a fault this system raised.
    fn describe_fault(&self, code: FaultCode) -> Fault {
        Fault::new(ViolationKind::Other("fault"), format!("fault number {}", code.get()))
    }
}

/// A system behind a pointer that can be copied for another worker. Every system that can be cloned
/// is one.
pub trait CloneSystem: System {
    /// A copy for another worker.
    fn clone_system(&self) -> Box<dyn CloneSystem>;
}

impl<S: System + Clone + 'static> CloneSystem for S {
    fn clone_system(&self) -> Box<dyn CloneSystem> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn CloneSystem> {
    fn clone(&self) -> Self {
        // `self` is the box, which is a system too; the copy must be made of its contents.
        (**self).clone_system()
    }
}

/// Defines methods of a [`System`] that wraps another one: each calls the same method of the system
/// in a field. A wrapper names all methods that it does not change, because the defaults of the
/// trait know nothing of the wrapped system.
///
/// ```
/// use contract::{Successors, System};
///
/// /// The steps of a system without the last one of each state.
/// struct WithoutLast<S> {
///     system: S,
/// }
///
/// impl<S: System> System for WithoutLast<S> {
///     contract::forward_system!(system: initial, give_up_when, is_valid_end, describe_fault);
///
///     fn successors(&mut self, state: &[u8], out: &mut Successors) {
///         let first = out.len();
///         self.system.successors(state, out);
///         let last = out.entries()[first..].last().map(|entry| entry.action);
///         out.retain(first, |entry| Some(entry.action) != last);
///     }
/// }
/// ```
#[macro_export]
macro_rules! forward_system {
    ($system:tt: $($method:ident),+) => {
        $($crate::forward_system!(@ $method $system);)+
    };
    (@ initial $system:tt) => {
        fn initial(&mut self, out: &mut $crate::Successors) {
            self.$system.initial(out);
        }
    };
    (@ give_up_when $system:tt) => {
        fn give_up_when(&mut self, enough: $crate::Enough) {
            self.$system.give_up_when(enough);
        }
    };
    (@ get_ready $system:tt) => {
        fn get_ready(&mut self, most: ::std::time::Duration) -> bool {
            self.$system.get_ready(most)
        }
    };
    (@ is_valid_end $system:tt) => {
        fn is_valid_end(&mut self, state: &[u8]) -> bool {
            self.$system.is_valid_end(state)
        }
    };
    (@ parts $system:tt) => {
        fn parts(&mut self, state: &[u8], out: &mut Vec<u32>) {
            self.$system.parts(state, out);
        }
    };
    (@ atoms $system:tt) => {
        fn atoms(&mut self, state: &[u8]) -> Result<u64, $crate::FaultCode> {
            self.$system.atoms(state)
        }
    };
    (@ values $system:tt) => {
        fn values(&mut self, state: &[u8], atoms: &[u32], out: &mut Vec<i64>) -> Result<(), $crate::FaultCode> {
            self.$system.values(state, atoms, out)
        }
    };
    (@ values_of_all $system:tt) => {
        fn values_of_all(
            &mut self,
            batch: &$crate::Successors,
            atoms: &[u32],
            out: &mut Vec<i64>,
        ) -> Result<(), $crate::FaultCode> {
            self.$system.values_of_all(batch, atoms, out)
        }
    };
    (@ describe_fault $system:tt) => {
        fn describe_fault(&self, code: $crate::FaultCode) -> $crate::Fault {
            self.$system.describe_fault(code)
        }
    };
}

impl<S: System + ?Sized> System for Box<S> {
    fn initial(&mut self, out: &mut Successors) {
        (**self).initial(out);
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        (**self).successors(state, out);
    }

    fn successors_of_all(&mut self, states: &[&[u8]], source: u32, out: &mut Successors) -> usize {
        (**self).successors_of_all(states, source, out)
    }

    fn give_up_when(&mut self, enough: Enough) {
        (**self).give_up_when(enough);
    }

    fn get_ready(&mut self, most: Duration) -> bool {
        (**self).get_ready(most)
    }

    fn is_valid_end(&mut self, state: &[u8]) -> bool {
        (**self).is_valid_end(state)
    }

    fn parts(&mut self, state: &[u8], out: &mut Vec<u32>) {
        (**self).parts(state, out);
    }

    fn expand_part(&mut self, state: &[u8], part: u32, out: &mut Successors) {
        (**self).expand_part(state, part, out);
    }

    fn atoms(&mut self, state: &[u8]) -> Result<u64, FaultCode> {
        (**self).atoms(state)
    }

    fn values(&mut self, state: &[u8], atoms: &[u32], out: &mut Vec<i64>) -> Result<(), FaultCode> {
        (**self).values(state, atoms, out)
    }

    fn values_of_all(&mut self, batch: &Successors, atoms: &[u32], out: &mut Vec<i64>) -> Result<(), FaultCode> {
        (**self).values_of_all(batch, atoms, out)
    }

    fn describe_fault(&self, code: FaultCode) -> Fault {
        (**self).describe_fault(code)
    }
}
