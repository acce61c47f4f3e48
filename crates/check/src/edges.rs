//! The state space as a stream of edges, for callers that need the graph and not only its numbers.
//!
//! This is a listener to an ordinary search, not a second one: states get their numbers in the
//! order in which the search finds them. The initial state has number 0.

use crate::marker::Marker;
use crate::plan::Plan;
use crate::run::{Checked, Refusal, Surroundings, enough, run_with};
use crate::subject::Subject;
use crate::table::{Combination, Method, StoreKind};
use contract::{Action, Answer, Cancel, Edge, Fault, Interest, Property, StateId, StopReason, Verdict};
use replay::View;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Receives the edges of a state space one by one, with everything else that affects a check of the
/// graph.
pub trait EdgeSink: Send {
    /// An edge from one state to another.
    fn edge(&mut self, source: u32, label: &str, target: u32);

    /// An atom of a state, in the order of the states. A state without edges that is an accepted
    /// end has the atom `end`.
    fn mark(&mut self, state: u32, atom: &str);

    /// The fault of a step, whose edge comes before it, or of the initial state if there is no
    /// step. A fatal fault has no target and no edge.
    fn fault(&mut self, step: Option<(u32, &str)>, target: Option<u32>, fault: &Fault);

    /// Whether it wants to see the states as well.
    fn wants_states(&self) -> bool {
        false
    }

    /// A state, before the first edge that leaves it or enters it.
    fn state(&mut self, number: u32, view: &View) {
        let _ = (number, view);
    }

    /// The memory taken so far, for the budget of the run.
    fn bytes(&self) -> u64;
}

/// Carries out a plan without its property and hands every edge to `sink`.
pub fn run_with_edges(
    subject: &dyn Subject,
    plan: &Plan,
    sink: &mut dyn EdgeSink,
    surroundings: &Surroundings<'_>,
) -> Result<Checked, Refusal> {
    Combination { graph: true, ..Combination::new(plan, Method::Exploration, surroundings.checkpoints.is_some()) }.guarantee()?;
    // There is one worker, because the numbering is part of the answer. The names of states in this
    // store never change.
    let plan = Plan { threads: 1, store: StoreKind::Plain, property: None, ..*plan };
    // A graph that grows too large ends only this search.
    let cancel = surroundings.cancel.part();
    let surroundings = &Surroundings { cancel: cancel.clone(), ..surroundings.clone() };
    let marker = Marker::new(subject, &enough(&plan, &cancel), surroundings.observer);
    let inner = Inner { marker, sink, numbers: HashMap::new(), steps: HashMap::new(), told: None, full: false };
    let recorder =
        Recorder { budget: plan.limits.memory.unwrap_or(u64::MAX), resident: surroundings.resident, cancel, inner: Mutex::new(inner) };
    let mut checked = run_with(subject, &plan, &recorder, surroundings)?;
    let mut inner = recorder.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (initial, fault) = inner.marker.narrator().initial();
    if let Some(state) = initial {
        // A single state has no edge, so it was not reported.
        if inner.numbers.is_empty() {
            inner.register(0, &state);
        }
        if let Some(fault) = fault {
            inner.sink.fault(None, Some(0), &fault);
        }
    }
    if inner.full {
        checked.outcome.verdict = Verdict::Unknown(StopReason::Memory);
    } else if inner.marker.was_cut_short() && checked.outcome.verdict == Verdict::Holds {
        checked.outcome.verdict = Verdict::Unknown(StopReason::Time);
    }
    Ok(checked)
}

struct Recorder<'s> {
    budget: u64,
    resident: Option<&'s (dyn Fn() -> Option<u64> + Sync)>,
    cancel: Cancel,
    inner: Mutex<Inner<'s>>,
}

struct Inner<'s> {
    marker: Marker,
    sink: &'s mut dyn EdgeSink,
    numbers: HashMap<StateId, u32>,
    /// The steps that leave the state `told`, each with its label and its fault. The edges of one
    /// state follow each other.
    steps: HashMap<Action, (String, Option<Fault>)>,
    told: Option<StateId>,
    full: bool,
}

impl Inner<'_> {
    fn number(&mut self, id: StateId, state: &[u8]) -> u32 {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(id).or_insert(next);
        if number == next {
            self.register(number, state);
        }
        number
    }

    /// Reports the facts about a state other than its edges.
    fn register(&mut self, number: u32, state: &[u8]) {
        let marks = self.marker.marks(state);
        marks.atoms.iter().for_each(|atom| self.sink.mark(number, atom));
        marks.fatal.iter().for_each(|(label, fault)| self.sink.fault(Some((number, label)), None, fault));
        if self.sink.wants_states()
            && let Ok(view) = self.marker.narrator().view(state)
        {
            self.sink.state(number, &view);
        }
    }

    fn bytes(&self) -> u64 {
        self.sink.bytes() + self.table_bytes()
    }

    fn table_bytes(&self) -> u64 {
        (self.numbers.capacity() * size_of::<(StateId, u32)>()) as u64
    }
}

impl Property for Recorder<'_> {
    fn interest(&self) -> Interest {
        Interest { states: false, edges: true }
    }

    fn edge(&self, edge: &Edge<'_>) -> Answer {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.full {
            return Answer::Prune;
        }
        let source = inner.number(edge.source_id, edge.source);
        let target = inner.number(edge.target_id, edge.target);
        if inner.told != Some(edge.source_id) {
            inner.steps = inner.marker.steps(edge.source);
            inner.told = Some(edge.source_id);
        }
        let Inner { sink, steps, .. } = &mut *inner;
        let (label, fault) = steps.get(&edge.action).map_or(("", None), |(label, fault)| (label.as_str(), fault.as_ref()));
        sink.edge(source, label, target);
        if let Some(fault) = fault {
            sink.fault(Some((source, label)), Some(target), fault);
        }
        // While a table doubles, the old and the new one exist together. So the memory of the
        // process is measured just before.
        let about_to_grow = inner.numbers.len() + 2 > inner.numbers.capacity();
        let needed = if about_to_grow {
            inner.bytes().max(self.resident.and_then(|resident| resident()).unwrap_or(0)) + 2 * inner.table_bytes()
        } else {
            inner.bytes()
        };
        if needed > self.budget || inner.numbers.len() >= u32::MAX as usize - 1 {
            inner.full = true;
            self.cancel.cancel();
        }
        Answer::Continue
    }
}
