//! Decides `AG EF p` and `EF AG p` by terminal components.
//!
//! From every state some terminal component can be reached, and no step leaves it. So `p` can
//! always be reached again if and only if each reachable terminal component has a state with `p`;
//! and there is a state from which `p` holds for ever if and only if `p` holds in all states of
//! some reachable terminal component. With a monotonic measure each component lies in one layer,
//! and finished layers are deleted; without a measure all states are in one layer. A measure that
//! is not monotonic is refused with the step on which it decreases.
//!
//! The method is that of Lilleskare, "Model checking with the sweep-line method" (2017), chapter 5,
//! with the corrections that `docs/sweepline.md` lists.

use crate::discovery::{Discoveries, path};
use crate::layer_walk::{Component, End, Judge, Walk};
use crate::links::Link;
use crate::monitor::Monitor;
use crate::retrace::{Choice, explain, retrace};
use crate::sweep_cycles::statistics;
use crate::task::Task;
use contract::{Fault, FaultCode, Statistics, StopReason, System, Trace};

/// The formula to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branching {
    /// `AG EF p`: in every state, `p` is still possible.
    AlwaysPossibly,
    /// `EF AG p`: a state is reachable from which `p` holds for ever.
    PossiblyAlways,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Terminal {
    /// Whether the formula holds, or why that is not known.
    pub holds: Result<bool, Unanswered>,
    /// A path into the component that decides the formula, and the number of its states: a
    /// counterexample to `AG EF p`, a witness of `EF AG p`.
    pub shown: Option<(Trace, u64)>,
    /// The number of terminal components that were found.
    pub components: u64,
    /// The statistics of the search.
    pub statistics: Statistics,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Unanswered {
    /// The search ended early.
    Stopped(StopReason),
    /// `p` has no value at the end of this path.
    NoValue(Fault, Option<Trace>),
    /// The measure decreases on the last step of this path, from the first value to the second.
    Falls(Option<Trace>, Vec<i64>, Vec<i64>),
}

/// Decides a formula about `p`, the proposition with number 0, by the measure whose expressions
/// have these numbers.
pub fn terminal_components<S: System + Clone>(system: &S, form: Branching, measure: &[u32], task: &Task<'_>) -> Terminal {
    let unbounded = Task { states: None, ..task.clone() };
    let monitor = Monitor::alone(&unbounded);
    let mut walk = Walk::new(system.clone(), measure, task, &monitor);
    let mut judge = Components { form, found: None, components: 0 };
    let end = walk.run(&mut judge);
    let statistics = statistics(&walk, &monitor);
    let logs = [std::mem::replace(&mut walk.log, Discoveries::new(0))];
    let mut to = |link: Link, step: Option<u32>| {
        let mut way = path(&logs, task.spill.as_ref(), link)?;
        way.extend(step.map(Choice::Index));
        retrace(&mut walk.system, &way, monitor.patience())
    };
    let mut shown = None;
    let holds = match end {
        End::Judged => {
            shown = judge.found.and_then(|(link, states)| Some((to(link, None)?, states)));
            match (form, &shown) {
                (_, None) => Err(Unanswered::Stopped(monitor.patience().now().unwrap_or(StopReason::Interrupted))),
                (Branching::AlwaysPossibly, _) => Ok(false),
                (Branching::PossiblyAlways, _) => Ok(true),
            }
        }
        End::Complete if walk.truncated => Err(Unanswered::Stopped(StopReason::Depth)),
        End::Complete => Ok(form == Branching::AlwaysPossibly),
        End::Stopped(reason) => Err(Unanswered::Stopped(reason)),
        End::Found(finding, link, step) => {
            let trace = to(link, step);
            Err(Unanswered::NoValue(explain(&walk.system, finding), trace))
        }
        End::Regress(link, step, from, below) => {
            let own = |value: &[i64]| value[..measure.len().min(value.len())].to_vec();
            Err(Unanswered::Falls(to(link, Some(step)), own(&from), own(&below)))
        }
    };
    Terminal { holds, shown, components: judge.components, statistics }
}

struct Components {
    form: Branching,
    /// The link of a state of the component that decides the formula, and the number of its states.
    found: Option<(Link, u64)>,
    components: u64,
}

impl<S: System> Judge<S> for Components {
    const REGRESSES: bool = false;

    fn mark(&mut self, system: &mut S, state: &[u8]) -> Result<bool, FaultCode> {
        Ok(system.atoms(state)? & 1 != 0)
    }

    fn component(&mut self, component: &Component<'_>) -> bool {
        if component.exits {
            return false;
        }
        self.components += 1;
        let decides = match self.form {
            Branching::AlwaysPossibly => component.members.iter().all(|member| !member.mark),
            Branching::PossiblyAlways => component.members.iter().all(|member| member.mark),
        };
        if decides {
            // The component was entered by its first state.
            self.found = component.members.first().map(|member| (member.link, component.members.len() as u64));
        }
        decides
    }
}
