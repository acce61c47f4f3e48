//! Typed dense indices into the tables of a [`Program`](crate::Program).
//!
//! With a plain `usize`, the number of a global could be used as the number of a local. These types
//! cost nothing and cannot be mixed up.

macro_rules! dense_index {
    ($($(#[$meta:meta])* $name:ident($repr:ty) $prefix:literal;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $repr);

        impl $name {
            /// The position in the table this index belongs to.
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The index of position `i`, or `None` where the table may not be that long.
            pub fn new(i: usize) -> Option<Self> {
                <$repr>::try_from(i).ok().map(Self)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    )*};
}

dense_index! {
    /// An address: the position of an instruction in [`Program::code`](crate::Program::code).
    Addr(u32) "@";
    /// A global variable.
    GlobalId(u16) "g";
    /// A local variable of one process type; parameters come first.
    LocalId(u16) "l";
    /// A process type.
    ProcessId(u8) "p";
    /// A channel type: capacity and message fields.
    ChannelTypeId(u8) "c";
    /// A print format.
    FormatId(u16) "f";
    /// A register of the active process.
    Register(u8) "r";
    /// An atom of the program's properties.
    AtomId(u16) "a";
    /// A source file named by positions.
    FileIndex(u16) "file";
    /// A control location of one process type: its dense number among the type's resumption points.
    Location(u16) "loc";
}

impl Addr {
    /// The address of the following instruction.
    pub const fn next(self) -> Addr {
        Addr(self.0 + 1)
    }
}
