//! Comparison of two engines for the same program, state by state.
//!
//! [`mod@crate::compare`] checks whether an engine follows the rules. This module checks whether
//! two engines are interchangeable, and needs no program: both sides can be any [`System`]. That
//! makes it fast enough for models of a realistic size. States are visited breadth first as the
//! reference finds them. In each state everything that a search can see is compared: the steps with
//! their order, actions, numbers, faults and bytes, and whether a state without steps is a valid
//! end.

use crate::compare::Extent;
use bytecode::Verified;
use contract::{Action, PROPOSITIONS_MAX, Proposition, Successor, Successors, System};
use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;

/// A step as a search sees it: the action, the number of the step, the code of the fault, the
/// target state.
pub type Step = (Action, u32, Option<u32>, Option<Vec<u8>>);

/// The first state in which the two disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The state; `None` if the initial states differ.
    pub state: Option<Vec<u8>>,
    /// The kind of the difference.
    pub about: About,
}

/// The kind of a difference between two engines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// The steps.
    Steps {
        /// The steps of the reference.
        reference: Vec<Step>,
        /// The steps of the other engine.
        other: Vec<Step>,
    },
    /// The parts into which one engine divides the steps: in order, they do not give its steps.
    Parts {
        /// The engine.
        engine: &'static str,
        /// The steps computed at once.
        steps: Vec<Step>,
        /// The steps computed part by part.
        parts: Vec<Step>,
    },
    /// Whether the state is a valid end.
    ValidEnd {
        /// The answer of the reference; the other engine says the opposite.
        reference: bool,
    },
    /// The values of the given propositions, or the fault.
    Atoms {
        /// The values of the reference.
        reference: Result<u64, u32>,
        /// The values of the other engine.
        other: Result<u64, u32>,
    },
    /// The value of an atom, or the fault.
    Value {
        /// The number of the atom.
        atom: u32,
        /// Its value in the reference.
        reference: Result<Vec<i64>, u32>,
        /// Its value in the other engine.
        other: Result<Vec<i64>, u32>,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.state {
            Some(state) => writeln!(f, "in the state {state:?}")?,
            None => writeln!(f, "initially")?,
        }
        match &self.about {
            About::Steps { reference, other } => {
                let same = reference.iter().zip(other).take_while(|(a, b)| a == b).count();
                list(f, "reference", reference, same)?;
                list(f, "other", other, same)
            }
            About::Parts { engine, steps, parts } => {
                let same = steps.iter().zip(parts).take_while(|(a, b)| a == b).count();
                writeln!(f, "{engine} against itself:")?;
                list(f, "at once", steps, same)?;
                list(f, "in parts", parts, same)
            }
            About::Atoms { reference, other } => writeln!(f, "propositions: {reference:x?} for the reference, {other:x?} for the other"),
            About::Value { atom, reference, other } => {
                writeln!(f, "atom {atom}: {reference:x?} for the reference, {other:x?} for the other")
            }
            About::ValidEnd { reference } => writeln!(f, "valid end: {reference} for the reference, {} for the other", !reference),
        }
    }
}

/// The number of atoms whose values are compared, and not only their truth.
const VALUES: u32 = 8;

/// The number of steps that are written out; atomic sequences can have thousands.
const SHOWN: usize = 12;

/// The steps from number `from` on.
fn list(f: &mut fmt::Formatter<'_>, name: &str, steps: &[Step], from: usize) -> fmt::Result {
    writeln!(f, "{name}: {} steps, the first {from} as the others", steps.len())?;
    for (action, number, fault, state) in steps.iter().skip(from).take(SHOWN) {
        write!(f, "  process {}, choice {}", action.process, action.choice)?;
        match *number {
            Successor::NO_STEP => write!(f, ", no step number")?,
            number => write!(f, ", step {number}")?,
        }
        if let Some(code) = fault {
            write!(f, ", fault {code:#x}")?;
        }
        match state {
            Some(state) => writeln!(f, ": {state:?}")?,
            None => writeln!(f, ": no state")?,
        }
    }
    if steps.len() > from + SHOWN { writeln!(f, "  and so on") } else { Ok(()) }
}

/// All propositions about the states of a program.
pub fn propositions(program: &Verified) -> Arc<[Proposition]> {
    let atoms = (0..program.program().atoms.len() as u32).map(Proposition::Atom);
    [Proposition::Accepting, Proposition::NonProgress].into_iter().chain(atoms).take(PROPOSITIONS_MAX).collect()
}

/// Compares two engines in up to `most` states.
pub fn compare(reference: &mut dyn System, other: &mut dyn System, most: usize) -> Result<Extent, Box<Difference>> {
    compare_while(reference, other, most, &mut || true)
}

/// Like [`compare`], as long as `go_on` returns true. It is called before each state, because the
/// steps of a single state can consist of a million invisible steps.
pub fn compare_while(
    reference: &mut dyn System,
    other: &mut dyn System,
    most: usize,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Extent, Box<Difference>> {
    let (mut expected, mut found) = (Successors::new(), Successors::new());
    reference.initial(&mut expected);
    other.initial(&mut found);
    same_steps(None, &expected, &found)?;

    let mut extent = Extent::default();
    let mut known: HashSet<Vec<u8>> = HashSet::new();
    let mut queue: VecDeque<Vec<u8>> = VecDeque::new();
    remember(&expected, most, &mut known, &mut queue);
    while let Some(state) = queue.pop_front()
        && go_on()
    {
        expected.clear();
        found.clear();
        reference.successors(&state, &mut expected);
        other.successors(&state, &mut found);
        same_steps(Some(&state), &expected, &found)?;
        same_in_parts("reference", reference, &state, &expected)?;
        same_in_parts("other", other, &state, &found)?;
        if expected.is_empty() {
            let valid = reference.is_valid_end(&state);
            if valid != other.is_valid_end(&state) {
                return Err(Box::new(Difference { state: Some(state), about: About::ValidEnd { reference: valid } }));
            }
        }
        let ours = reference.atoms(&state).map_err(|fault| fault.get());
        let theirs = other.atoms(&state).map_err(|fault| fault.get());
        if ours != theirs {
            return Err(Box::new(Difference { state: Some(state), about: About::Atoms { reference: ours, other: theirs } }));
        }
        for atom in 0..VALUES {
            let (mut one, mut other_one) = (Vec::new(), Vec::new());
            let ours = reference.values(&state, &[atom], &mut one).map(|()| one).map_err(|fault| fault.get());
            let theirs = other.values(&state, &[atom], &mut other_one).map(|()| other_one).map_err(|fault| fault.get());
            if ours != theirs {
                return Err(Box::new(Difference { state: Some(state), about: About::Value { atom, reference: ours, other: theirs } }));
            }
        }
        extent.states += 1;
        extent.transitions += expected.len();
        extent.ends += usize::from(expected.is_empty());
        extent.faults += expected.entries().iter().filter(|step| step.fault().is_some()).count();
        remember(&expected, most, &mut known, &mut queue);
    }
    Ok(extent)
}

/// Queues the states not seen before, as long as there is room for them.
fn remember(steps: &Successors, most: usize, known: &mut HashSet<Vec<u8>>, queue: &mut VecDeque<Vec<u8>>) {
    for (_, state) in steps.iter() {
        if let Some(state) = state
            && known.len() < most
            && !known.contains(state)
        {
            known.insert(state.to_vec());
            queue.push_back(state.to_vec());
        }
    }
}

/// The parts of a step that a search sees.
fn seen<'a>((step, state): (&Successor, Option<&'a [u8]>)) -> (Action, u32, Option<u32>, Option<&'a [u8]>) {
    (step.action, step.step, step.fault().map(|fault| fault.get()), state)
}

fn owned(steps: &Successors) -> Vec<Step> {
    let steps = steps.iter().map(seen);
    steps.map(|(action, number, fault, state)| (action, number, fault, state.map(<[u8]>::to_vec))).collect()
}

/// Checks that the parts of a state, expanded in order, give its steps.
fn same_in_parts(engine: &'static str, system: &mut dyn System, state: &[u8], steps: &Successors) -> Result<(), Box<Difference>> {
    let (mut parts, mut out) = (Vec::new(), Successors::new());
    system.parts(state, &mut parts);
    for part in parts {
        system.expand_part(state, part, &mut out);
    }
    if steps.iter().map(seen).eq(out.iter().map(seen)) {
        return Ok(());
    }
    let about = About::Parts { engine, steps: owned(steps), parts: owned(&out) };
    Err(Box::new(Difference { state: Some(state.to_vec()), about }))
}

fn same_steps(state: Option<&[u8]>, expected: &Successors, found: &Successors) -> Result<(), Box<Difference>> {
    if expected.iter().map(seen).eq(found.iter().map(seen)) {
        return Ok(());
    }
    let about = About::Steps { reference: owned(expected), other: owned(found) };
    Err(Box::new(Difference { state: state.map(<[u8]>::to_vec), about }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::FaultCode;

    /// Counts from 0 to 3 in steps of one and two. One detail can be changed, to make it wrong.
    #[derive(Default)]
    struct Counter {
        backwards_at: Option<u8>,
        fault_at: Option<u8>,
        refuses_end: bool,
        renumbers_at: Option<u8>,
    }

    impl System for Counter {
        fn initial(&mut self, out: &mut Successors) {
            out.push(&[0], Action::default());
        }

        fn successors(&mut self, state: &[u8], out: &mut Successors) {
            let mut steps = [1, 2];
            if self.backwards_at == Some(state[0]) {
                steps.reverse();
            }
            for (choice, step) in steps.into_iter().enumerate().filter(|(_, step)| state[0] + step <= 3) {
                let action = Action::new(0, choice as u32);
                match self.fault_at.filter(|&at| at == state[0]).and(FaultCode::new(1)) {
                    Some(fault) => out.push_faulty(&[state[0] + step], action, fault),
                    None => {
                        out.slot_from(&[state[0] + step]);
                        out.commit(1, action, None, if self.renumbers_at == Some(state[0]) { 7 } else { step.into() });
                    }
                }
            }
        }

        fn is_valid_end(&mut self, _: &[u8]) -> bool {
            !self.refuses_end
        }
    }

    fn differs_in(mut other: Counter) -> Option<u8> {
        let difference = compare(&mut Counter::default(), &mut other, 100).expect_err("they differ");
        difference.state.map(|state| state[0])
    }

    #[test]
    fn equal_engines_are_equal() {
        let extent = compare(&mut Counter::default(), &mut Counter::default(), 100);
        assert_eq!(extent, Ok(Extent { states: 4, transitions: 5, faults: 0, ends: 1 }));
    }

    #[test]
    fn order_faults_ends_and_step_numbers_matter() {
        assert_eq!(differs_in(Counter { backwards_at: Some(1), ..Counter::default() }), Some(1));
        assert_eq!(differs_in(Counter { fault_at: Some(2), ..Counter::default() }), Some(2));
        assert_eq!(differs_in(Counter { refuses_end: true, ..Counter::default() }), Some(3));
        assert_eq!(differs_in(Counter { renumbers_at: Some(1), ..Counter::default() }), Some(1));
    }

    #[test]
    fn no_longer_than_wanted() {
        let (mut a, mut b) = (Counter::default(), Counter::default());
        let mut patience = 0..2;
        let extent = compare_while(&mut a, &mut b, 100, &mut || patience.next().is_some());
        assert_eq!(extent.map(|extent| extent.states), Ok(2));
    }

    #[test]
    fn no_more_states_than_asked_for() {
        let mut bent = Counter { backwards_at: Some(2), ..Counter::default() };
        let extent = compare(&mut Counter::default(), &mut bent, 2).expect("the difference is out of reach");
        assert_eq!(extent.states, 2);
    }
}
