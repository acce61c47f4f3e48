//! Conditions that need statements: loops, variables, pointers that move.
//!
//! A condition is decided within one step, so its code has no cycles. A loop is written out, once
//! for each turn. For that the values of scratch variables are followed while the code is made: a
//! loop over a counter ends where the counter does. Only scratch variables may be changed.

use super::{Lower, Resolver, Stop, read};
use crate::ast::{Binary, Fragment};
use crate::model::{Action, Ex, Node, Part, Place, Scope, Stm, Target};
use crate::token::Text;
use lang_c::ast::{Expression, Statement};
use lang_c::span::{Node as CNode, Span as CSpan};
use std::collections::{HashMap, HashSet};

/// The most turns of a loop whose number of turns is not known when the model is read. One more is
/// a violation, `unsupported operation`, if it is reached.
const MAX_TURNS: usize = 64;
/// The most statements of C in a condition, those of each turn counted.
const MAX_STATEMENTS: usize = 12_000;

/// The most parts of a condition that is one expression.
const MOST_PARTS: usize = 300;

/// The scratch variables whose values are known.
pub(super) type Known = HashMap<usize, i32>;

/// What is known while the code of a condition is made.
#[derive(Debug, Default)]
pub(super) struct Guard {
    /// The known values here; `None` where no path leads.
    pub known: Option<Known>,
    /// The known values at the jumps to each label.
    pending: HashMap<Text, Known>,
}

/// What is known where two paths meet.
fn meet(a: Option<Known>, b: Option<Known>) -> Option<Known> {
    match (a, b) {
        (Some(mut a), Some(b)) => {
            a.retain(|leaf, value| b.get(leaf) == Some(value));
            Some(a)
        }
        (a, b) => a.or(b),
    }
}

impl Resolver<'_> {
    /// A condition in C: an expression if that is possible, otherwise one after statements.
    pub(super) fn c_pure(&mut self, fragment: &Fragment) -> Ex {
        let (expression, shift) = match read::expression(&fragment.text, &self.c.typenames) {
            Ok(read) => read,
            Err(mistake) => {
                self.c_mistake(fragment, &mistake);
                return Ex::Const(0);
            }
        };
        let in_process = self.current.is_some();
        let mut lower = self.lower(fragment, shift);
        lower.pure = true;
        lower.quiet = in_process;
        if let Ok(value) = lower.condition(&expression)
            && (!in_process || super::wide::size(&value) < MOST_PARTS)
        {
            return value;
        }
        if !in_process {
            self.c_stopped(true, fragment.span);
            return Ex::Const(0);
        }
        let mut lower = self.lower(fragment, shift);
        lower.guard = Some(Guard { known: Some(Known::new()), pending: HashMap::new() });
        lower.budget = MAX_STATEMENTS;
        let made = lower.guarded(&expression);
        self.c_stopped(made.is_err(), fragment.span);
        made.unwrap_or(Ex::Const(0))
    }
}

impl Lower<'_, '_> {
    fn guarded(&mut self, e: &CNode<Expression>) -> Result<Ex, Stop> {
        let value = self.condition(e)?;
        let made = std::mem::take(&mut self.out);
        let mut labels = Labels::default();
        match labels.parts(made) {
            Some(parts) if parts.is_empty() => Ok(value),
            Some(parts) => Ok(Ex::After(parts.into(), Box::new(value))),
            None => Err(self.wrong_with(e.span, "a condition in C cannot jump backwards by `goto`", "use a loop")),
        }
    }

    /// Whether no path leads here.
    pub(super) fn is_unreachable(&self) -> bool {
        self.guard.as_ref().is_some_and(|guard| guard.known.is_none())
    }

    /// The known value of a variable.
    pub(super) fn known_value(&self, place: &Place) -> Option<i32> {
        let known = self.guard.as_ref()?.known.as_ref()?;
        (place.scope == Scope::Local && place.indices.is_empty()).then(|| known.get(&place.leaf).copied())?
    }

    /// What is known here, and its replacement.
    pub(super) fn knowledge(&self) -> Option<Known> {
        self.guard.as_ref().and_then(|guard| guard.known.clone())
    }

    pub(super) fn know(&mut self, known: Option<Known>) {
        if let Some(guard) = &mut self.guard {
            guard.known = known;
        }
    }

    /// What is known after one of two branches.
    pub(super) fn know_either(&mut self, other: Option<Known>) {
        if let Some(guard) = &mut self.guard {
            guard.known = meet(guard.known.take(), other);
        }
    }

    /// Forgets all values, because one of the variables has been changed.
    pub(super) fn know_nothing(&mut self) {
        if let Some(known) = self.guard.as_mut().and_then(|guard| guard.known.as_mut()) {
            known.clear();
        }
    }

    /// Whether an action may be part of a condition; what is known after it is noted.
    pub(super) fn may_be_in_condition(&mut self, action: &Action) -> bool {
        let Some(guard) = &mut self.guard else { return true };
        match action {
            Action::Assign(Target::Place(place), value) => {
                let Some(current) = &self.r.current else { return false };
                if place.scope != Scope::Local || !current.locals.get(place.leaf).is_some_and(|leaf| leaf.scratch) {
                    return false;
                }
                if let Some(known) = &mut guard.known {
                    let ty = current.locals[place.leaf].ty;
                    match value {
                        Ex::Const(value) if place.indices.is_empty() => drop(known.insert(place.leaf, ty.truncate(*value))),
                        _ => drop(known.remove(&place.leaf)),
                    }
                }
                true
            }
            Action::Assert(_) | Action::Print(..) | Action::Skip => true,
            _ => false,
        }
    }

    pub(super) fn note_jump(&mut self, label: &Text) {
        let Some(guard) = &mut self.guard else { return };
        if let Some(known) = guard.known.take() {
            let merged = meet(guard.pending.remove(label), Some(known));
            guard.pending.extend(merged.map(|known| (label.clone(), known)));
        }
    }

    pub(super) fn note_label(&mut self, label: &Text) {
        let Some(guard) = &mut self.guard else { return };
        let arriving = guard.pending.remove(label);
        guard.known = meet(guard.known.take(), arriving);
    }

    /// A loop in a condition, turn by turn.
    pub(super) fn turns(
        &mut self,
        condition: Option<&CNode<Expression>>,
        step: Option<&CNode<Expression>>,
        body: &CNode<Statement>,
        body_first: bool,
        at: CSpan,
    ) -> Result<(), Stop> {
        self.enter();
        let mut unknown = 0;
        for turn in 0.. {
            if self.is_unreachable() {
                break;
            }
            if turn > 0 || !body_first {
                let value = condition.map_or(Ok(Ex::Const(1)), |condition| self.condition(condition))?;
                if value == Ex::Const(0) {
                    break;
                }
                unknown += usize::from(!matches!(value, Ex::Const(_)));
                self.leave_unless(value, at)?;
                if unknown > MAX_TURNS {
                    self.emit(Action::Assert(Ex::Never("unsupported")), at)?;
                    self.know(None);
                    break;
                }
            }
            let next = self.label("continue");
            if let Some(around) = self.around.last_mut() {
                around.next = Some((next, false));
            }
            self.statement(body)?;
            self.next_round(at);
            if let Some(step) = step.filter(|_| !self.is_unreachable()) {
                self.effect(step)?;
            }
        }
        let around = self.around.pop().ok_or(Stop)?;
        if around.left {
            self.set_label(&around.leave, at);
        }
        Ok(())
    }

    /// Counts a statement of a condition.
    pub(super) fn count_statement(&mut self, at: CSpan) -> Result<(), Stop> {
        if self.guard.is_some() {
            let left = self.budget.checked_sub(1);
            self.budget = left.ok_or_else(|| self.wrong_with(at, "this is too long for a condition", "compute it in a `c_code` before"))?;
        }
        Ok(())
    }
}

/// Turns statements into the parts of a condition.
#[derive(Default)]
struct Labels {
    numbers: HashMap<Text, u32>,
    set: HashSet<u32>,
}

impl Labels {
    fn number(&mut self, label: &Text) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(label.clone()).or_insert(next)
    }

    fn parts(&mut self, statements: Vec<Stm>) -> Option<Vec<Part>> {
        let mut parts = Vec::new();
        for statement in statements {
            self.part(statement.node, &mut parts)?;
        }
        Some(parts)
    }

    fn part(&mut self, node: Node, parts: &mut Vec<Part>) -> Option<()> {
        match node {
            Node::Basic(Action::Assign(Target::Place(place), value)) => parts.push(Part::Assign(place, value)),
            Node::Basic(Action::Assert(condition)) => parts.push(Part::Assert(condition)),
            // What a condition prints is not shown: it may be evaluated any number of times.
            Node::Basic(_) => {}
            Node::Block(inner) | Node::DStep(inner) => {
                for statement in inner {
                    self.part(statement.node, parts)?;
                }
            }
            Node::Goto(label, _) => {
                let number = self.number(&label.text);
                if self.set.contains(&number) {
                    return None;
                }
                parts.push(Part::Jump(number));
            }
            Node::Label(label, _, inner) => {
                let number = self.number(&label.text);
                self.set.insert(number);
                parts.push(Part::Label(number));
                self.part(inner.node, parts)?;
            }
            Node::If(options) => {
                let mut choices = Vec::new();
                let mut otherwise = Vec::new();
                for mut option in options {
                    let rest = option.split_off(1.min(option.len()));
                    let made = self.parts(rest)?;
                    match option.pop().map(|first| first.node) {
                        Some(Node::Basic(Action::Guard(condition))) => choices.push((condition, made)),
                        _ => otherwise = made,
                    }
                }
                for (condition, yes) in choices.into_iter().rev() {
                    otherwise = vec![Part::Branch(condition, yes, otherwise)];
                }
                parts.append(&mut otherwise);
            }
            _ => return None,
        }
        Some(())
    }
}

/// `a + b * c`.
pub(super) fn at_distance(base: Ex, by: Ex, size: u64) -> Ex {
    use super::expression::binary;
    let distance = binary(Binary::Mul, by, Ex::Const(size as i32));
    match (base, distance) {
        (base, Ex::Const(0)) => base,
        (base, distance) => binary(Binary::Add, base, distance),
    }
}
