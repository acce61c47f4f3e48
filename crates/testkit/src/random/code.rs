//! Instructions under construction, with jumps to addresses that are not known yet.

use bytecode::{Addr, Op};

/// An address in the code, known or not yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place(usize);

/// The code of a program under construction.
#[derive(Default)]
pub(super) struct Code {
    pub ops: Vec<Op>,
    places: Vec<Option<Addr>>,
    /// Instructions whose operand is such an address.
    open: Vec<(usize, Place)>,
}

impl Code {
    pub fn here(&self) -> Addr {
        Addr(self.ops.len() as u32)
    }

    pub fn push(&mut self, op: Op) {
        self.ops.push(op);
    }

    /// A new address that is defined later.
    pub fn place(&mut self) -> Place {
        self.places.push(None);
        Place(self.places.len() - 1)
    }

    /// Defines the address to be here.
    pub fn put(&mut self, place: Place) {
        self.places[place.0] = Some(self.here());
    }

    /// The address, if it is known.
    pub fn addr(&self, place: Place) -> Option<Addr> {
        self.places[place.0]
    }

    /// Adds an instruction with such an address as its operand.
    pub fn to(&mut self, make: impl FnOnce(Addr) -> Op, place: Place) {
        self.open.push((self.ops.len(), place));
        self.ops.push(make(Addr(0)));
    }

    /// The instructions with all addresses resolved; `fallback` for those that were never defined.
    pub fn finish(mut self, fallback: impl Fn(usize) -> Addr) -> Vec<Op> {
        for (at, place) in std::mem::take(&mut self.open) {
            let addr = self.places[place.0].unwrap_or_else(|| fallback(at));
            if let Some(named) = self.ops[at].address_mut() {
                *named = addr;
            }
        }
        self.ops
    }
}
