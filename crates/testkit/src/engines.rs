//! Comparison of two engines for the same program, state by state.
//!
//! [`mod@crate::compare`] asks whether an engine follows the rules; this module asks whether two engines are interchangeable, and it knows
//! nothing of programs: anything that is a [`System`] can stand on either side. That makes it fast enough for models of a realistic size.
//! States are visited breadth first as the reference finds them. In each, everything a search can see is compared: the steps with their
//! order, actions, faults and bytes, and whether a state without steps is a valid end.

use crate::compare::Extent;
use contract::{Action, Successor, Successors, System, Written};
use std::collections::{HashSet, VecDeque};
use std::fmt;

/// A step as a search sees it: what was done, the fault's code, the state it leads to.
pub type Step = (Action, Option<u32>, Option<Vec<u8>>);

/// The first state in which the two disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The state; none if it is the initial one that differs.
    pub state: Option<Vec<u8>>,
    /// In what they disagree.
    pub about: About,
}

/// In what two engines disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// The steps.
    Steps {
        /// Those of the reference.
        reference: Vec<Step>,
        /// Those of the other.
        other: Vec<Step>,
    },
    /// Whether the state is a valid end.
    ValidEnd {
        /// What the reference says; the other says the opposite.
        reference: bool,
    },
    /// What a step of one of them wrote: it has changed a stripe of the state that it does not name.
    Written {
        /// Whose step it is.
        engine: &'static str,
        /// The step, by its action.
        action: Action,
        /// What it says it wrote.
        said: Written,
        /// What it changed.
        changed: Written,
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
            About::ValidEnd { reference } => writeln!(f, "valid end: {reference} for the reference, {} for the other", !reference),
            About::Written { engine, action, said, changed } => {
                write!(f, "{engine}: process {}, choice {} says it wrote the stripes ", action.process, action.choice)?;
                writeln!(f, "{:#b} and changed {:#b}", said.to_bits(), changed.to_bits())
            }
        }
    }
}

/// How many steps are written out; atomic sequences can have thousands.
const SHOWN: usize = 12;

/// The steps from number `from` on.
fn list(f: &mut fmt::Formatter<'_>, name: &str, steps: &[Step], from: usize) -> fmt::Result {
    writeln!(f, "{name}: {} steps, the first {from} as the others", steps.len())?;
    for (action, fault, state) in steps.iter().skip(from).take(SHOWN) {
        write!(f, "  process {}, choice {}", action.process, action.choice)?;
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

/// Compares two engines in up to `most` states.
pub fn compare(reference: &mut dyn System, other: &mut dyn System, most: usize) -> Result<Extent, Box<Difference>> {
    compare_while(reference, other, most, &mut || true)
}

/// The same as long as `go_on` says so, which is asked before each state: a single state can stand for a million invisible steps.
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
        names_what_it_wrote("reference", &state, &expected)?;
        names_what_it_wrote("other", &state, &found)?;
        let (named, changed) = stripes(&state, &found);
        extent.stripes_named += named;
        extent.stripes_changed += changed;
        if expected.is_empty() {
            let valid = reference.is_valid_end(&state);
            if valid != other.is_valid_end(&state) {
                return Err(Box::new(Difference { state: Some(state), about: About::ValidEnd { reference: valid } }));
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

fn same_steps(state: Option<&[u8]>, expected: &Successors, found: &Successors) -> Result<(), Box<Difference>> {
    fn seen<'a>((step, state): (&Successor, Option<&'a [u8]>)) -> (Action, Option<u32>, Option<&'a [u8]>) {
        (step.action, step.fault().map(|fault| fault.get()), state)
    }
    if expected.iter().map(seen).eq(found.iter().map(seen)) {
        return Ok(());
    }
    let owned = |steps: &Successors| {
        let steps = steps.iter().map(seen);
        steps.map(|(action, fault, state)| (action, fault, state.map(<[u8]>::to_vec))).collect()
    };
    let about = About::Steps { reference: owned(expected), other: owned(found) };
    Err(Box::new(Difference { state: state.map(<[u8]>::to_vec), about }))
}

/// Whether the steps that leave `state` differ from it only where they say.
fn names_what_it_wrote(engine: &'static str, state: &[u8], steps: &Successors) -> Result<(), Box<Difference>> {
    let wrong = steps.iter().find_map(|(step, target)| {
        let changed = Written::between(state, target?);
        (!step.written.covers(changed)).then_some(About::Written { engine, action: step.action, said: step.written, changed })
    });
    wrong.map_or(Ok(()), |about| Err(Box::new(Difference { state: Some(state.to_vec()), about })))
}

/// How many stripes the steps that leave `state` name as written, and how many they changed. The fewer of the first, the less work a store
/// has with a step.
fn stripes(state: &[u8], steps: &Successors) -> (usize, usize) {
    let count = |written: Written, target: &[u8]| {
        let all = Written::range(0, target.len()).to_bits();
        (written.to_bits() & all).count_ones() as usize
    };
    let targets = steps.iter().filter_map(|(step, target)| Some((step.written, target?)));
    targets.fold((0, 0), |(named, changed), (written, target)| {
        (named + count(written, target), changed + count(Written::between(state, target), target))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::FaultCode;

    /// Counts from 0 to 3 in steps of one and two; how it does so can be bent at one place.
    #[derive(Default)]
    struct Counter {
        backwards_at: Option<u8>,
        fault_at: Option<u8>,
        refuses_end: bool,
        hides_step_at: Option<u8>,
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
                        let hides = self.hides_step_at == Some(state[0]);
                        out.commit(1, action, None, if hides { Written::NOTHING } else { Written::EVERYTHING });
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
        assert_eq!(extent, Ok(Extent { states: 4, transitions: 5, faults: 0, ends: 1, stripes_named: 5, stripes_changed: 5 }));
    }

    #[test]
    fn order_faults_ends_and_what_was_written_matter() {
        assert_eq!(differs_in(Counter { backwards_at: Some(1), ..Counter::default() }), Some(1));
        assert_eq!(differs_in(Counter { fault_at: Some(2), ..Counter::default() }), Some(2));
        assert_eq!(differs_in(Counter { refuses_end: true, ..Counter::default() }), Some(3));
        assert_eq!(differs_in(Counter { hides_step_at: Some(1), ..Counter::default() }), Some(1));
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
