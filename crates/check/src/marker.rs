//! The facts about a state that a graph contains besides its edges: atoms, accepted ends, faults.
//!
//! A check of a written graph must give the verdict of the model it came from, so all of this is
//! written with it.

use crate::plan::Engine;
use crate::subject::Subject;
use contract::{Action, CloneSystem, Enough, Fault, Observer, PROPOSITIONS_MAX, Proposition, Successors, System};
use replay::Narrator;
use std::collections::HashMap;
use std::sync::Arc;

/// The facts about a state.
#[derive(Default)]
pub(crate) struct Marks {
    /// Its atoms.
    pub atoms: Vec<String>,
    /// Its steps that have fatal faults, by their labels.
    pub fatal: Vec<(String, Fault)>,
}

/// A system, and the names of the propositions that it evaluates.
type Evaluator = (Box<dyn CloneSystem>, Vec<(String, Proposition)>);

/// Finds the facts about the states of a subject.
pub(crate) struct Marker {
    narrator: Narrator,
    /// There are several if there are more propositions than a system can be given, and at least
    /// one.
    evaluators: Vec<Evaluator>,
    out: Successors,
    cut_short: bool,
}

impl Marker {
    pub fn new(subject: &dyn Subject, enough: &Enough, observer: &dyn Observer) -> Marker {
        let named = subject.propositions();
        let mut parts: Vec<&[(String, Proposition)]> = named.chunks(PROPOSITIONS_MAX).collect();
        if parts.is_empty() {
            parts.push(&[]);
        }
        let evaluator = |part: &[(String, Proposition)]| {
            let propositions: Arc<[Proposition]> = part.iter().map(|(_, proposition)| *proposition).collect();
            // Only a few states are examined at a time, so native code would not pay.
            let mut system = subject.system(Engine::Interpreter, propositions, observer);
            system.give_up_when(enough.clone());
            (system, part.to_vec())
        };
        let mut narrator = subject.narrator();
        narrator.give_up_when(enough.clone());
        Marker { narrator, evaluators: parts.into_iter().map(evaluator).collect(), out: Successors::new(), cut_short: false }
    }

    /// Describes the states and steps.
    pub fn narrator(&self) -> &Narrator {
        &self.narrator
    }

    /// Whether a state could not be examined to the end because a limit was reached.
    pub fn was_cut_short(&self) -> bool {
        self.cut_short
    }

    /// The marks of a state.
    pub fn marks(&mut self, state: &[u8]) -> Marks {
        let mut marks = Marks::default();
        for (system, named) in &mut self.evaluators {
            let Ok(values) = system.atoms(state) else { continue };
            let holds = |bit: usize, proposition: &Proposition| {
                // The mark is progress, and the proposition is that there is none.
                (values >> bit & 1 != 0) != (*proposition == Proposition::NonProgress)
            };
            let held = named.iter().enumerate().filter(|(bit, (_, proposition))| holds(*bit, proposition));
            marks.atoms.extend(held.map(|(_, (name, _))| name.clone()));
        }
        let (system, _) = &mut self.evaluators[0];
        self.out.clear();
        system.successors(state, &mut self.out);
        self.cut_short |= self.out.is_cut_short();
        if self.out.is_empty() && !self.out.is_cut_short() && system.is_valid_end(state) && !marks.atoms.iter().any(|atom| atom == lts::END)
        {
            marks.atoms.push(lts::END.to_owned());
        }
        // A graph that is read has its atoms in another order.
        marks.atoms.sort_unstable();
        if self.out.entries().iter().any(|entry| !entry.has_state()) {
            let steps = self.narrator.steps(state).unwrap_or_default();
            let fatal = steps.into_iter().filter(|step| step.state.is_none());
            marks.fatal.extend(fatal.filter_map(|step| Some((self.narrator.label(&step), step.fault?))));
        }
        marks
    }

    /// The labels and the faults of the steps that leave a state, by their actions.
    pub fn steps(&self, state: &[u8]) -> HashMap<Action, (String, Option<Fault>)> {
        let mut steps = HashMap::new();
        if let Ok(mut moves) = self.narrator.moves(state) {
            // One step at a time: together they may have very many statements.
            let told = (0..moves.len()).filter_map(|index| moves.tell(index));
            steps.extend(told.map(|step| (step.action, (self.narrator.label(&step), step.fault))));
        }
        steps
    }
}
