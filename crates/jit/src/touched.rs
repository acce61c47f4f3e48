//! What a path has written, as far as it is known when its code is made.
//!
//! Every transition names the stripes of the state that it may have changed ([`Written`]). Most of them are known beforehand: globals and
//! static channels never move. A process is found anywhere in a state, but what a path writes of its own process is known up to where that
//! begins within a stripe, so there are eight sets to choose from, and one to shift into place. Only the element of a long array, or a
//! channel found at run time, is worked out there. The helper that ends a path adds it all up.

use crate::emit::{Emitter, Env, trusted};
use contract::Written;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use std::collections::HashMap;
use std::ops::Range;
use stepgraph::{ExprId, Var};

/// States longer than this have several words in their last stripe: of them all is said to be written, so that shifts need no care.
pub(crate) const LONGEST_IN_STRIPES: usize = 63 * Written::STRIPE;

/// What a path has written so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Touched {
    /// What has a fixed place.
    fixed: Written,
    own: Own,
    /// What was worked out at run time.
    computed: Option<Value>,
    /// Whether the path went through code that it shares with others: the variable `wrote` has what those add.
    shared: bool,
}

/// What was written of the process that moves, for each byte of a stripe at which its component can begin; counted from that stripe.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Own([u64; Written::STRIPE]);

impl Own {
    const NOTHING: Own = Own([0; Written::STRIPE]);

    fn range(bytes: &Range<usize>) -> Own {
        Own(std::array::from_fn(|begin| Written::range(begin + bytes.start, begin + bytes.end).to_bits()))
    }

    fn and(self, other: Own) -> Own {
        Own(std::array::from_fn(|begin| self.0[begin] | other.0[begin]))
    }

    fn without(self, other: Own) -> Own {
        Own(std::array::from_fn(|begin| self.0[begin] & !other.0[begin]))
    }
}

/// What is known of a path when its code is made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Known {
    own: Own,
    fixed: u64,
}

impl Known {
    /// The stripes, if the process that moves begins at an offset.
    #[inline]
    pub fn from(&self, offset: u64) -> Written {
        let begin = offset as usize % Written::STRIPE;
        // In a state so long that this loses something, all counts as written anyway.
        let own = self.own.0[begin].wrapping_shl((offset / Written::STRIPE as u64) as u32);
        Written::from_bits(own | self.fixed)
    }
}

/// What is known of the paths of a program: code hands it over by its address, so it lives as long.
#[derive(Default)]
pub(crate) struct KnownSets(HashMap<Known, Box<Known>>);

impl KnownSets {
    fn address(&mut self, known: Known) -> i64 {
        let kept: *const Known = &**self.0.entry(known).or_insert_with(|| Box::new(known));
        kept as i64
    }
}

impl Touched {
    pub const NOTHING: Touched = Touched { fixed: Written::NOTHING, own: Own::NOTHING, computed: None, shared: false };

    /// Bytes with a fixed place in the state.
    pub fn fixed(&mut self, bytes: Range<usize>) {
        self.fixed = self.fixed.and(Written::range(bytes.start, bytes.end));
    }

    /// Bytes of the process that moves.
    pub fn own(&mut self, bytes: Range<usize>) {
        self.own = self.own.and(Own::range(&bytes));
    }

    /// The state becomes longer or shorter, or nothing is known.
    pub fn everything(&mut self) {
        self.fixed = Written::EVERYTHING;
    }

    /// The part of this that `other` does not have and that is known now.
    fn known_beyond(&self, other: &Touched) -> Touched {
        let fixed = Written::from_bits(self.fixed.to_bits() & !other.fixed.to_bits());
        Touched { fixed, own: self.own.without(other.own), computed: None, shared: false }
    }
}

impl Emitter<'_, '_, '_> {
    /// A set of stripes that is worked out at run time was written.
    pub fn touch_computed(&mut self, env: &mut Env, stripes: Value) {
        let touched = &mut env.touched.computed;
        *touched = Some(touched.map_or(stripes, |before| self.b.ins().bor(before, stripes)));
    }

    /// `width` bytes, no more than a stripe has, were written at an offset in the state that is known at run time only.
    pub fn touch_at(&mut self, env: &mut Env, offset: Value, width: usize) {
        let first = self.stripe(offset);
        self.touch_computed(env, first);
        if width > 1 {
            let end = self.b.ins().iadd_imm_s(offset, width as i64 - 1);
            let last = self.stripe(end);
            self.touch_computed(env, last);
        }
    }

    fn stripe(&mut self, offset: Value) -> Value {
        let number = self.b.ins().ushr_imm_u(offset, 3);
        let one = self.b.ins().iconst(types::I64, 1);
        self.b.ins().ishl(one, number)
    }

    /// Bytes of a variable were written, counted as its slot is.
    pub fn touch_variable(&mut self, env: &mut Env, var: Var, bytes: Range<usize>) {
        match var {
            Var::Global(_) => env.touched.fixed(bytes),
            Var::Local(_) => env.touched.own(bytes),
        }
    }

    /// An element was written, which lies `place` bytes from the start of its array.
    pub fn touch_element(&mut self, env: &mut Env, var: Var, index: ExprId, place: Value) {
        let (slot, _) = self.slot(var, true);
        let known = self.graph.pool().constant(index).and_then(|index| slot.element(index));
        let bytes = match known {
            Some(at) => at..at + slot.ty.width(),
            None => slot.offset..slot.offset + slot.size(),
        };
        if bytes.len() <= slot.ty.width() || self.in_one_stripe(var, &bytes) {
            return self.touch_variable(env, var, bytes);
        }
        let at = self.b.ins().iadd_imm_s(place, slot.offset as i64);
        let at = match var {
            Var::Global(_) => at,
            Var::Local(_) => self.b.ins().iadd(at, self.offset),
        };
        self.touch_at(env, at, slot.ty.width());
    }

    /// Whether it is known that bytes of a variable are all in the same stripe.
    fn in_one_stripe(&self, var: Var, bytes: &Range<usize>) -> bool {
        matches!(var, Var::Global(_)) && Written::range(bytes.start, bytes.end).to_bits().is_power_of_two()
    }

    /// The first way into code that several paths may come to: what is written there adds to what is known here.
    pub fn begin_shared(&mut self, env: &Env) -> Touched {
        let wrote = self.added_at_run_time(&env.touched).unwrap_or_else(|| self.b.ins().iconst(types::I64, 0));
        self.b.def_var(self.wrote, wrote);
        Touched { computed: None, shared: true, ..env.touched }
    }

    /// Another way into such code, which was made with `begun`.
    pub fn join_shared(&mut self, env: &Env, begun: &Touched) {
        let added = self.added_at_run_time(&env.touched);
        let known = self.known(&env.touched.known_beyond(begun));
        let wrote = self.sum([added, known]).unwrap_or_else(|| self.b.ins().iconst(types::I64, 0));
        self.b.def_var(self.wrote, wrote);
    }

    /// What a path has written, for the helper that ends it: the address of what is known, and what was worked out at run time.
    pub fn touched(&mut self, touched: &Touched) -> [Value; 2] {
        let known = Known { own: touched.own, fixed: touched.fixed.to_bits() };
        let known = self.imports.known_sets.address(known);
        let known = self.b.ins().iconst(types::I64, known);
        let added = self.added_at_run_time(touched).unwrap_or_else(|| self.b.ins().iconst(types::I64, 0));
        [known, added]
    }

    fn added_at_run_time(&mut self, touched: &Touched) -> Option<Value> {
        let shared = touched.shared.then(|| self.b.use_var(self.wrote));
        self.sum([touched.computed, shared])
    }

    fn known(&mut self, touched: &Touched) -> Option<Value> {
        let own = (touched.own != Own::NOTHING).then(|| self.place_own(touched.own));
        let fixed = (touched.fixed != Written::NOTHING).then(|| self.b.ins().iconst(types::I64, touched.fixed.to_bits() as i64));
        self.sum([own, fixed])
    }

    /// The stripes of the own process, from where it begins.
    fn place_own(&mut self, own: Own) -> Value {
        let begin = self.b.ins().band_imm_s(self.offset, Written::STRIPE as i64 - 1);
        let skip = self.b.ins().ishl_imm_u(begin, 3);
        let sets = self.imports.known_sets.address(Known { own, fixed: 0 });
        let sets = self.b.ins().iconst(types::I64, sets);
        let at = self.b.ins().iadd(sets, skip);
        let set = self.b.ins().load(types::I64, trusted(), at, std::mem::offset_of!(Known, own) as i32);
        let stripe = self.b.ins().ushr_imm_u(self.offset, 3);
        self.b.ins().ishl(set, stripe)
    }

    fn sum<const N: usize>(&mut self, sets: [Option<Value>; N]) -> Option<Value> {
        sets.into_iter().flatten().reduce(|a, b| self.b.ins().bor(a, b))
    }
}
