//! Choices among named alternatives: the names that users type, each with a line of help.
//!
//! A choice is declared once, with the macro below. Code that lists the alternatives (the command
//! line, messages, tests) uses [`Choosable`], so a new alternative needs no change there.

use std::fmt;
use std::str::FromStr;

/// One of several alternatives that users know by name.
pub trait Choosable: Copy + FromStr<Err = UnknownName> + Send + Sync + 'static {
    /// Every alternative.
    const ALL: &'static [Self];

    /// The name users type.
    fn name(self) -> &'static str;

    /// Its description, in one line of help.
    fn help(self) -> &'static str;
}

/// Declares a choice among named alternatives: the enum, its names and help, and the conversion
/// from a name.
macro_rules! choice {
    ($(#[$meta:meta])* $choice:ident, $what:literal { $($(#[$attribute:meta])* $name:ident = $word:literal, $help:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum $choice { $(#[doc = $help] $(#[$attribute])* $name,)* }

        impl $choice {
            /// Every alternative.
            pub const ALL: &'static [$choice] = &[$($choice::$name,)*];

            /// The name users type.
            pub const fn name(self) -> &'static str {
                match self { $($choice::$name => $word,)* }
            }
        }

        impl $crate::choice::Choosable for $choice {
            const ALL: &'static [$choice] = $choice::ALL;

            fn name(self) -> &'static str {
                self.name()
            }

            fn help(self) -> &'static str {
                match self { $($choice::$name => $help,)* }
            }
        }

        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $choice {
            type Err = $crate::choice::UnknownName;

            fn from_str(name: &str) -> Result<$choice, $crate::choice::UnknownName> {
                let found = $choice::ALL.iter().copied().find(|choice| choice.name() == name);
                found.ok_or_else(|| $crate::choice::UnknownName::new::<$choice>($what, name))
            }
        }
    };
}

pub(crate) use choice;

/// A name that is none of the known ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    what: &'static str,
    name: String,
    known: Vec<&'static str>,
}

impl UnknownName {
    pub(crate) fn new<A: Choosable>(what: &'static str, name: &str) -> UnknownName {
        UnknownName { what, name: name.to_owned(), known: A::ALL.iter().map(|alternative| alternative.name()).collect() }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no {} `{}`; choose from: {}", self.what, self.name, self.known.join(", "))
    }
}

impl std::error::Error for UnknownName {}
