//! Instructions under construction, with jumps to places that are not known yet.

use bytecode::{Addr, Op};

/// A place in the code, known or not yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place(usize);

/// The code of a program under construction.
#[derive(Default)]
pub(super) struct Code {
    pub ops: Vec<Op>,
    places: Vec<Option<Addr>>,
    /// Instructions whose operand is a place.
    open: Vec<(usize, Place)>,
}

impl Code {
    pub fn here(&self) -> Addr {
        Addr(self.ops.len() as u32)
    }

    pub fn push(&mut self, op: Op) {
        self.ops.push(op);
    }

    /// A place whose address is defined later.
    pub fn place(&mut self) -> Place {
        self.places.push(None);
        Place(self.places.len() - 1)
    }

    /// Puts a place here.
    pub fn put(&mut self, place: Place) {
        self.places[place.0] = Some(self.here());
    }

    /// Where a place is, if that is known.
    pub fn addr(&self, place: Place) -> Option<Addr> {
        self.places[place.0]
    }

    /// An instruction that names a place.
    pub fn to(&mut self, make: impl FnOnce(Addr) -> Op, place: Place) {
        self.open.push((self.ops.len(), place));
        self.ops.push(make(Addr(0)));
    }

    /// The instructions with all places resolved; `fallback` for those that were never placed.
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
