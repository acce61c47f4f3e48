//! What a search that follows a temporal property asks of a state.

/// A proposition about a state. A system that was given a list of them evaluates all of it at once
/// ([`System::atoms`](crate::System::atoms)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Proposition {
    /// The atom with this number in the system's own table.
    Atom(u32),
    /// Some process is at an accept label.
    Accepting,
    /// No process is at a progress label.
    NonProgress,
}

/// The most propositions a system can be given: their values are the bits of one word.
pub const PROPOSITIONS_MAX: usize = 64;
