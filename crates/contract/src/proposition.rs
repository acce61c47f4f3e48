//! The propositions about a state that a search with a temporal property asks for.

/// A proposition about a state. A system that was given a list of propositions evaluates all of
/// them at once ([`System::atoms`](crate::System::atoms)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Proposition {
    /// The atom with this number in the system's own table.
    Atom(u32),
    /// Some process is at an accept label.
    Accepting,
    /// No process is at a progress label.
    NonProgress,
}

/// The most propositions that a system can be given: their values are the bits of one word.
pub const PROPOSITIONS_MAX: usize = 64;
