//! The faults of a step.
//!
//! A fault is a value that belongs to the transition in which it happened. It takes four bytes,
//! with the kind above the address, so that native code can pass it on as a number.

use crate::ids::Addr;

macro_rules! faults {
    ($($(#[$meta:meta])* $name:ident = $code:literal $fatal:literal $word:literal $message:literal,)*) => {
        /// The kind of a fault. Rule numbers are those of `docs/bytecode.md`, section Faults.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[repr(u8)]
        pub enum FaultKind { $($(#[$meta])* $name = $code,)* }

        impl FaultKind {
            /// Every kind.
            pub const ALL: &'static [FaultKind] = &[$(FaultKind::$name,)*];

            /// Whether the step ends here without a successor. Otherwise the step continues, and
            /// the transition carries the fault.
            pub const fn is_fatal(self) -> bool {
                match self { $(FaultKind::$name => $fatal,)* }
            }

            /// A short, stable name for machine-readable output.
            pub const fn word(self) -> &'static str {
                match self { $(FaultKind::$name => $word,)* }
            }

            /// The message for the user.
            pub const fn message(self) -> &'static str {
                match self { $(FaultKind::$name => $message,)* }
            }

            /// The kind with this code.
            pub const fn from_code(code: u8) -> Option<FaultKind> {
                match code { $($code => Some(FaultKind::$name),)* _ => None }
            }
        }
    };
}

faults! {
    /// ASSERT found 0.
    Assertion = 1 false "assertion" "assertion violated",
    /// DIV or MOD by 0.
    Division = 2 true "division by zero" "division by zero",
    /// An index outside its array.
    Index = 3 true "invalid array index" "array index out of bounds",
    /// A channel number that names no channel.
    Channel = 4 true "invalid channel" "the channel does not exist: it was never initialised, or its owner has ended",
    /// A message with another number of fields than the channel carries.
    Message = 5 true "message mismatch" "the message has another number of fields than the channel carries",
    /// RUN where 255 processes exist.
    TooManyProcesses = 6 true "too many processes" "more than 255 processes",
    /// CHNEW where 255 channels exist.
    TooManyChannels = 7 true "too many channels" "more than 255 channels",
    /// A deterministic sequence that cannot continue.
    Blocked = 8 true "block in d_step" "a deterministic sequence blocks",
    /// A deterministic or invisible sequence that never ends.
    Endless = 9 true "endless sequence" "the sequence never ends: no other process will ever run",
    /// A rendezvous offer inside a deterministic sequence.
    Rendezvous = 10 true "rendezvous in d_step" "a rendezvous inside a deterministic sequence",
    /// A receive from a channel that another process claimed.
    ExclusiveReceive = 11 false "xr violated" "a second process receives from a channel declared to have one receiver",
    /// A send to a channel that another process claimed.
    ExclusiveSend = 12 false "xs violated" "a second process sends to a channel declared to have one sender",
    /// A priority outside 1 to 255.
    Priority = 13 true "invalid priority" "a priority must be between 1 and 255",
    /// ADDV, SUBV, MULV or RANGE found a value that does not fit.
    Overflow = 14 true "overflow" "the value does not fit its type",
}

/// A fault: its kind and the instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Fault {
    /// The kind.
    pub kind: FaultKind,
    /// The instruction.
    pub addr: Addr,
}

impl Fault {
    /// Addresses must be below this, so that a fault fits into four bytes.
    pub const MAX_ADDR: u32 = 1 << 24;

    /// The fault as four bytes; never zero.
    pub const fn code(self) -> u32 {
        (self.kind as u32) << 24 | self.addr.0
    }

    /// The fault with this code.
    pub const fn from_code(code: u32) -> Option<Fault> {
        match FaultKind::from_code((code >> 24) as u8) {
            Some(kind) => Some(Fault { kind, addr: Addr(code & (Fault::MAX_ADDR - 1)) }),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip() {
        for &kind in FaultKind::ALL {
            for addr in [0, 1, Fault::MAX_ADDR - 1] {
                let fault = Fault { kind, addr: Addr(addr) };
                assert_eq!(Fault::from_code(fault.code()), Some(fault));
            }
        }
        assert_eq!(Fault::from_code(0), None);
    }
}
