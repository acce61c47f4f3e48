//! Büchi automata as plain data: the translation makes them, the formats read and write them, and a
//! search uses them.
//!
//! Acceptance is generalised and on the edges: a run is accepted if it passes through each
//! acceptance set again and again. A plain Büchi automaton has one set, and all edges of a state
//! are in it or none is. With no set at all, every infinite run is accepted.

/// A product of literals: a letter is in it if the `positive` atoms are true and the `negative`
/// ones false.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cube {
    /// Atoms that are true, a bit each.
    pub positive: u64,
    /// Atoms that are false, a bit each.
    pub negative: u64,
}

impl Cube {
    /// Whether the letter is in it.
    pub fn allows(self, letter: u64) -> bool {
        letter & self.positive == self.positive && letter & self.negative == 0
    }
}

/// A set of letters: the union of some cubes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Guard {
    /// The cubes. None allows no letter; one without literals allows all.
    pub cubes: Vec<Cube>,
}

impl Guard {
    /// Whether the letter is in it.
    pub fn allows(&self, letter: u64) -> bool {
        self.cubes.iter().any(|cube| cube.allows(letter))
    }

    /// Whether it is written as a guard that allows every letter.
    pub fn is_true(&self) -> bool {
        self.cubes.contains(&Cube::default())
    }
}

/// An edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The letters it reads.
    pub guard: Guard,
    /// The acceptance sets it is in, a bit each.
    pub marks: u64,
    /// The target state.
    pub target: usize,
}

/// A state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The edges that leave it.
    pub edges: Vec<Edge>,
    /// Whether it is an accepting state of a plain Büchi automaton. Its edges then carry the mark.
    pub accepting: bool,
}

/// An automaton.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Automaton {
    /// The texts of the atoms, by number; at most 64.
    pub atoms: Vec<String>,
    /// The states.
    pub states: Vec<State>,
    /// The initial state.
    pub initial: usize,
    /// How many acceptance sets there are; at most 64.
    pub sets: u32,
    /// Whether acceptance is on states: there is one set, and all edges of a state are in it or
    /// none is.
    pub state_based: bool,
}

/// How a component of an automaton takes part in acceptance (Holzmann, Edelkamp and others name
/// them N, F and P).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// No cycle in it is accepted.
    Rejecting,
    /// Every cycle in it is accepted.
    Accepting,
    /// Some are and some are not: only here a search must test whether a cycle is accepted.
    Mixed,
}

impl Component {
    /// Its name in texts and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Component::Rejecting => "rejecting",
            Component::Accepting => "accepting",
            Component::Mixed => "mixed",
        }
    }
}

/// The strength of an automaton decides what a search for accepted runs has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// The accepting components accept every continuation: reaching one is enough.
    Terminal,
    /// Each component is a single state, and none is mixed.
    VeryWeak,
    /// No component is mixed: any cycle in an accepting one is accepted.
    Weak,
    /// None of the above.
    Strong,
}

impl Strength {
    /// Its name in texts and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Strength::Terminal => "terminal",
            Strength::VeryWeak => "very weak",
            Strength::Weak => "weak",
            Strength::Strong => "strong",
        }
    }
}

impl Automaton {
    /// The marks of all sets.
    pub fn all_marks(&self) -> u64 {
        all_marks(self.sets)
    }

    /// How many states there are.
    pub fn state_count(&self) -> usize {
        self.states.len()
    }

    /// How many pairs of a state and one of its direct successors there are.
    pub fn transition_count(&self) -> usize {
        let targets = |state: &State| {
            let mut targets: Vec<usize> = state.edges.iter().map(|edge| edge.target).collect();
            targets.sort_unstable();
            targets.dedup();
            targets.len()
        };
        self.states.iter().map(targets).sum()
    }
}

/// The marks of so many sets.
pub(crate) fn all_marks(sets: u32) -> u64 {
    if sets >= 64 { u64::MAX } else { (1 << sets) - 1 }
}
