//! Functions that call themselves.
//!
//! Such a function is not expanded. Its code stands once at the end of a fragment, with variables
//! for its parameters and its value, and a number that says where to continue. A call from within
//! saves the variables of the caller in an array that is used as a stack. A call that goes too deep
//! is a violation: an index outside this array.

use super::call::Given;
use super::expression::{Argument, Value, binary, int};
use super::types::{CType, Int};
use super::{Binding, Function, Lower, Object, Return, Stop};
use crate::ast::Binary;
use crate::model::{Action, Ex, Node, Scope, Stm};
use crate::token::Text;
use lang_c::ast::{CallExpression, Expression};
use lang_c::span::Span as CSpan;
use lang_c::visit::{self, Visit};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// The numbers that the stack has room for.
const STACK: u32 = 4096;

/// The functions of a fragment that call themselves.
#[derive(Debug, Default)]
pub(super) struct Recursion {
    shared: Vec<Shared>,
    /// The stack, and the number of values on it.
    stack: Option<(Object, Object)>,
    /// The variables of the function whose body is being made.
    frame: Option<Vec<Object>>,
    /// Scratch variables that are in use up to the end of the fragment.
    pinned: Vec<usize>,
}

#[derive(Debug)]
struct Shared {
    function: Rc<Function>,
    entry: Text,
    end: Text,
    parameters: Vec<Object>,
    value: Option<Object>,
    /// The call that is being executed.
    back: Object,
    calls: Vec<Text>,
    made: bool,
}

impl Recursion {
    pub(super) fn pinned(&self) -> &[usize] {
        &self.pinned
    }

    /// Notes a variable of the body that is being made.
    pub(super) fn note(&mut self, object: &Object) {
        if let Some(frame) = &mut self.frame
            && !frame.iter().any(|known| known.leaf == object.leaf)
        {
            frame.push(object.clone());
        }
    }

    /// Whether a variable belongs to the body that is being made, so that calls save it.
    pub(super) fn owns(&self, root: &Object) -> bool {
        let same = |object: &Object| root.scope == Scope::Local && object.leaf == root.leaf;
        self.frame.as_ref().is_some_and(|frame| frame.iter().any(same))
    }
}

/// The functions that a function calls.
fn called(function: &Function) -> BTreeSet<String> {
    #[derive(Default)]
    struct Finder(BTreeSet<String>);
    impl<'ast> Visit<'ast> for Finder {
        fn visit_call_expression(&mut self, call: &'ast CallExpression, span: &'ast CSpan) {
            if let Expression::Identifier(name) = &call.callee.node {
                self.0.insert(name.node.name.clone());
            }
            visit::visit_call_expression(self, call, span);
        }
    }
    let mut finder = Finder::default();
    finder.visit_statement(&function.body.node, &function.body.span);
    finder.0
}

impl Lower<'_, '_> {
    /// Whether a function may call itself, through others or not.
    pub(super) fn is_recursive(&self, function: &Rc<Function>) -> bool {
        let mut seen = BTreeSet::new();
        let mut todo: Vec<String> = called(function).into_iter().collect();
        while let Some(name) = todo.pop() {
            if name == function.name {
                return true;
            }
            if seen.insert(name.clone())
                && let Some(next) = self.r.c.functions.get(&name)
            {
                todo.extend(called(next));
            }
        }
        false
    }

    /// A call of a function whose code stands elsewhere.
    pub(super) fn recursive_call(&mut self, function: &Rc<Function>, passed: Vec<Argument>, at: CSpan) -> Result<Given, Stop> {
        let known = self.recursion.shared.iter().position(|shared| shared.function.name == function.name);
        let number = match known {
            Some(number) => number,
            None => self.share(function, at)?,
        };
        // The arguments may themselves contain calls, so they are computed before any is passed.
        let mut ready = Vec::new();
        for (argument, (_, ty)) in passed.into_iter().zip(&function.parameters) {
            let slot = self.temporary(ty, at)?;
            match argument {
                Argument::Value(value) => self.store(&slot, value, at)?,
                Argument::Object(object) => self.copy(&slot, &object, at)?,
                Argument::Pointer(_) => return Err(Stop),
            }
            ready.push(slot);
        }
        let saved = self.recursion.frame.clone().unwrap_or_default();
        self.saved(&saved, true, at)?;
        let shared = &self.recursion.shared[number];
        let (parameters, back, entry) = (shared.parameters.clone(), shared.back.clone(), shared.entry.clone());
        for (parameter, slot) in parameters.iter().zip(&ready) {
            self.copy(parameter, slot, at)?;
        }
        let here = self.label("call");
        let shared = &mut self.recursion.shared[number];
        shared.calls.push(here.clone());
        let (id, value) = (shared.calls.len() as i32, shared.value.clone());
        self.store(&back, int(Ex::Const(id)), at)?;
        self.jump(&entry, at)?;
        self.set_label(&here, at);
        self.saved(&saved, false, at)?;
        let Some(value) = value else { return Ok(Given::Nothing) };
        let own = self.temporary(&value.ty, at)?;
        self.copy(&own, &value, at)?;
        self.given(Some(own), at)
    }

    fn share(&mut self, function: &Rc<Function>, at: CSpan) -> Result<usize, Stop> {
        // These variables are not among those of the function from which it is called first.
        let frame = self.recursion.frame.take();
        let before = self.taken.clone();
        let made = self.shared(function, at);
        let new = (0..self.taken.len()).filter(|&slot| self.taken[slot] && !before.get(slot).copied().unwrap_or(false));
        self.recursion.pinned.extend(new);
        self.recursion.frame = frame;
        self.recursion.shared.push(made?);
        Ok(self.recursion.shared.len() - 1)
    }

    fn shared(&mut self, function: &Rc<Function>, at: CSpan) -> Result<Shared, Stop> {
        let number = CType::Int(Int::new(32, true));
        if self.recursion.stack.is_none() {
            let stack = self.temporary(&CType::Array(Rc::new(number.clone()), STACK), at)?;
            let height = self.temporary(&number, at)?;
            // The beginning of the fragment sets the height to zero.
            self.recursion.stack = Some((stack, height));
        }
        let mut parameters = Vec::new();
        for (_, ty) in &function.parameters {
            parameters.push(self.temporary(ty, at)?);
        }
        let value = match &function.result {
            CType::Void => None,
            ty => Some(self.temporary(ty, at)?),
        };
        let (back, entry, end) = (self.temporary(&number, at)?, self.label("function"), self.label("return"));
        Ok(Shared { function: function.clone(), entry, end, parameters, value, back, calls: Vec::new(), made: false })
    }

    /// Saves variables on the stack, or takes them from it.
    fn saved(&mut self, objects: &[Object], save: bool, at: CSpan) -> Result<(), Stop> {
        let Some((stack, height)) = self.recursion.stack.clone() else { return Err(Stop) };
        let mut scalars = Vec::new();
        for object in objects {
            self.scalars(object, &mut scalars, at)?;
        }
        if scalars.is_empty() {
            return Ok(());
        }
        let by = int(Ex::Const(scalars.len() as i32));
        let old = self.load(&height, at)?;
        if !save {
            let lower = Value::of(binary(Binary::Sub, old.ex, by.ex), old.number);
            self.store(&height, lower, at)?;
        }
        let base = self.load(&height, at)?.ex;
        for (position, scalar) in scalars.iter().enumerate() {
            let slot = self.element(&stack, binary(Binary::Add, base.clone(), Ex::Const(position as i32)));
            let (from, to) = if save { (scalar, &slot) } else { (&slot, scalar) };
            let value = self.load(from, at)?;
            self.store(to, Value::of(value.ex, super::types::Number::I32), at)?;
        }
        if save {
            let higher = Value::of(binary(Binary::Add, base, Ex::Const(scalars.len() as i32)), super::types::Number::I32);
            self.store(&height, higher, at)?;
        }
        Ok(())
    }

    fn scalars(&mut self, object: &Object, out: &mut Vec<Object>, at: CSpan) -> Result<(), Stop> {
        if out.len() > 256 {
            return Err(self.wrong(at, "the variables of a function that calls itself are too large"));
        }
        match &object.ty.clone() {
            ty if self.is_union(ty) => self.scalars(&self.bytes_of(object), out, at),
            CType::Array(_, length) => {
                (0..*length as i32).try_for_each(|index| self.scalars(&self.element(object, Ex::Const(index)), out, at))
            }
            CType::Struct(index) => {
                let fields = self.r.c.structs[*index].fields.len();
                (0..fields).try_for_each(|number| self.scalars(&self.field_at(object, *index, number), out, at))
            }
            ty if ty.is_wide() => {
                // Each half is a number of its own.
                let half = |leaf| Object { leaf, ty: CType::Int(Int::new(32, true)), ..object.clone() };
                out.extend([half(object.leaf), half(object.leaf + 1)]);
                Ok(())
            }
            _ => {
                out.push(object.clone());
                Ok(())
            }
        }
    }

    /// The code of the functions that call themselves, after that of the fragment.
    pub(super) fn recursive_bodies(&mut self) -> Result<(), Stop> {
        let Some(first) = self.recursion.shared.first() else { return Ok(()) };
        let at = first.function.body.span;
        let end = self.label("end");
        if let Some((_, height)) = self.recursion.stack.clone() {
            let set = self.apart(|lower| lower.store(&height, int(Ex::Const(0)), at))?;
            self.out.splice(0..0, set);
        }
        self.jump(&end, at)?;
        while let Some(number) = self.recursion.shared.iter().position(|shared| !shared.made) {
            let shared = &mut self.recursion.shared[number];
            shared.made = true;
            let (function, entry, last) = (shared.function.clone(), shared.entry.clone(), shared.end.clone());
            let mut frame = shared.parameters.clone();
            frame.push(shared.back.clone());
            let names = function.parameters.iter().map(|(name, _)| name.clone());
            let scope: HashMap<String, Binding> = names.zip(shared.parameters.iter().cloned().map(Binding::Object)).collect();
            let to = Return { value: shared.value.clone(), end: last.clone(), used: true };
            self.recursion.frame = Some(frame);
            self.set_label(&entry, at);
            self.body(&function, scope, to)?;
            self.jump(&last, at)?;
            self.recursion.frame = None;
        }
        for number in 0..self.recursion.shared.len() {
            let shared = &self.recursion.shared[number];
            let (back, last, calls) = (shared.back.clone(), shared.end.clone(), shared.calls.clone());
            self.set_label(&last, at);
            let span = self.at(at);
            let mut options = Vec::new();
            for (position, call) in calls.iter().enumerate() {
                let here = self.load(&back, at)?.ex;
                let equal = binary(Binary::Eq, here, Ex::Const(position as i32 + 1));
                let mut option = vec![Stm { node: Node::Basic(Action::Guard(equal)), span }];
                option.extend(self.apart(|lower| lower.jump(call, at))?);
                options.push(option);
            }
            self.out.push(Stm { node: Node::If(options), span });
        }
        self.set_label(&end, at);
        Ok(())
    }
}
