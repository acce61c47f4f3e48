//! Declarations of variables and their initial values.

use super::constant;
use super::types::{Symbol, Ty};
use super::{Resolver, place};
use crate::ast::{Declaration, Expr, ExprKind, Ident, Initial, TypeName, Unit, Variable};
use crate::limits::{MAX_CAPACITY, MAX_NUMBERED};
use crate::model::{Action, ChannelType, Ex, Scalar, Scope, Values};
use crate::token::Text;
use source::{Diagnostic, Span};

impl Resolver<'_> {
    pub(super) fn declare_globals(&mut self, declaration: &Declaration) {
        for variable in &declaration.variables {
            self.declare(declaration, variable);
            self.check_stdin(declaration, variable);
        }
    }

    /// SPIN's verifier accepts the channel `STDIN`, but finds that it does not exist, which may
    /// surprise the user.
    pub(super) fn check_stdin(&mut self, declaration: &Declaration, variable: &Variable) {
        if declaration.ty == TypeName::Chan && &*variable.name.text == "STDIN" && variable.initial.is_none() {
            let message = "`STDIN` reads input only in SPIN's simulations: here it is a channel that does not exist";
            let hint = "a process that chooses what to send can replace the input";
            self.report(Diagnostic::warning(variable.span, message).named("standard-input").with_hint(hint));
        }
    }

    /// Adds a variable to the innermost open scope; returns the index of its first leaf.
    pub(super) fn declare(&mut self, declaration: &Declaration, variable: &Variable) -> Option<usize> {
        let ty = self.ty(&declaration.ty, variable)?;
        let length = self.array_length(variable);
        let name = &variable.name;
        self.check_name(name);
        let scope = if self.current.is_some() { Scope::Local } else { Scope::Global };
        let leaf_name = self.unique_name(&name.text);
        let first = self.add_leaves(scope, &leaf_name, ty, length, declaration.visibility, name.span)?;
        let channel = match &variable.initial {
            Some(Initial::Channel { capacity, fields }) => {
                let capacity = self.try_constant(capacity).ok().and_then(|n| u32::try_from(n).ok());
                capacity.map(|n| (n, fields.iter().map(|(ty, _)| ty.clone()).collect()))
            }
            _ => None,
        };
        let symbol = Symbol { scope, ty, length, first, span: name.span, channel };
        match &mut self.current {
            Some(current) => {
                current.outline.entry(name.text.clone()).or_insert_with(|| symbol.clone());
                if let Some(scope) = current.scopes.last_mut() {
                    scope.insert(name.text.clone(), symbol);
                }
            }
            None => drop(self.globals.insert(name.text.clone(), symbol)),
        }
        Some(first)
    }

    /// Whether a name may be declared here.
    fn check_name(&mut self, name: &Ident) {
        let old = match &self.current {
            Some(current) => current.scopes.last().and_then(|s| s.get(&name.text)),
            None => self.globals.get(&name.text),
        };
        if let Some(old) = old {
            let diagnostic =
                Diagnostic::error(name.span, format!("`{}` is declared twice", name.text)).with_label(old.span, "the first declaration");
            let diagnostic = diagnostic.with_hint(crate::OTHER_NAME);
            self.report(diagnostic);
        } else if self.mtypes.contains_key(&name.text) {
            let message = format!("`{}` is the name of a message", name.text);
            self.error(name.span, message);
        } else if super::PREDEFINED.contains(&&*name.text) {
            let message = format!("`{}` is predefined and cannot be declared", name.text);
            self.error(name.span, message);
        }
    }

    /// The name of a leaf: as written, with a number if another block uses it already.
    fn unique_name(&mut self, name: &Text) -> String {
        let Some(current) = &mut self.current else { return name.to_string() };
        let uses = current.names.entry(name.clone()).or_insert(0);
        *uses += 1;
        if *uses == 1 { name.to_string() } else { format!("{name}'{uses}") }
    }

    // --- Initial values of globals
    // ------------------------------------------------------------------

    /// SPIN initialises globals type by type, in this order, and within a type in the order of the
    /// text. A variable that is not initialised yet reads as zero. Channels get their numbers in
    /// the same order.
    pub(super) fn initialise_globals(&mut self) {
        let rank = |ty: &Ty| match ty {
            Ty::Scalar(Scalar::Unsigned(_)) => 0,
            Ty::Scalar(Scalar::Bit) => 1,
            Ty::Scalar(Scalar::Byte) => 2,
            Ty::Scalar(Scalar::Chan) => 3,
            Ty::Scalar(Scalar::Mtype(_)) => 4,
            Ty::Scalar(Scalar::Short) => 5,
            Ty::Scalar(Scalar::Int) => 6,
            Ty::User(_) => 7,
        };
        let mut declared = Vec::new();
        for unit in &self.tree.units {
            let Unit::Declaration(declaration) = unit else { continue };
            for variable in &declaration.variables {
                let symbol = self.globals.get(&variable.name.text);
                if let Some(symbol) = symbol.filter(|s| s.span == variable.name.span) {
                    declared.push((symbol.clone(), variable));
                }
            }
        }
        declared.sort_by_key(|(symbol, _)| rank(&symbol.ty));
        for (symbol, variable) in declared {
            let count = symbol.length.unwrap_or(1) as usize;
            match symbol.ty {
                Ty::Scalar(_) => {
                    let name = variable.name.text.to_string();
                    self.initialise_leaf(symbol.first, 0, count, variable.initial.as_ref(), &name);
                }
                Ty::User(index) => {
                    if let Some(initial) = &variable.initial {
                        self.no_struct_value(initial, variable.span);
                    }
                    let count = if self.types[index].initialised { count } else { 0 };
                    for element in 0..count {
                        let mut name = variable.name.text.to_string();
                        if symbol.length.is_some() {
                            name += &format!("[{element}]");
                        }
                        self.initialise_struct(index, symbol.first, element, &name);
                    }
                }
            }
        }
    }

    /// In SPIN an initial value of a whole structure has no effect, but existing models have it.
    pub(super) fn no_struct_value(&mut self, initial: &Initial, span: Span) {
        let message = "the initial value of a structure has no effect";
        let hint = "give the fields initial values in the `typedef`";
        let diagnostic = match initial {
            Initial::Channel { .. } => Diagnostic::error(span, "only a `chan` can be initialised with a channel"),
            Initial::Value(_) | Initial::List(_) => Diagnostic::warning(span, message).named("structure-value").with_hint(hint),
        };
        self.report(diagnostic);
    }

    /// The fields of one element of a structure. `element` counts through all dimensions so far.
    fn initialise_struct(&mut self, index: usize, first: usize, element: usize, name: &str) {
        if !self.types[index].initialised {
            return;
        }
        for i in 0..self.types[index].fields.len() {
            let field = &self.types[index].fields[i];
            let count = field.length.unwrap_or(1) as usize;
            let leaf = first + field.offset;
            let name = format!("{name}.{}", field.name);
            match field.ty {
                Ty::Scalar(_) => {
                    let initial = field.initial.clone();
                    self.initialise_leaf(leaf, element * count, count, initial.as_ref(), &name);
                }
                Ty::User(inner) => {
                    let is_array = field.length.is_some();
                    for k in 0..count {
                        let name = if is_array { format!("{name}[{k}]") } else { name.clone() };
                        self.initialise_struct(inner, leaf, element * count + k, &name);
                    }
                }
            }
        }
    }

    /// Elements `from..from + count` of a global leaf.
    fn initialise_leaf(&mut self, leaf: usize, from: usize, count: usize, initial: Option<&Initial>, name: &str) {
        let Some(initial) = initial else { return };
        let ty = self.model.globals[leaf].ty;
        let values: Vec<i32> = match initial {
            Initial::Value(expr) => {
                self.check_stored(ty, expr);
                let value = self.global_value(expr);
                vec![value; count]
            }
            Initial::List(exprs) => {
                exprs.iter().for_each(|expr| self.check_stored(ty, expr));
                let mut values: Vec<i32> = exprs.iter().map(|e| self.global_value(e)).collect();
                self.check_list(values.len(), count, exprs);
                // If a list is too short, SPIN repeats its last value.
                let last = values.last().copied().unwrap_or(0);
                values.resize(count, last);
                values
            }
            Initial::Channel { capacity, fields } => {
                let Some(ty) = self.channel(capacity, fields) else { return };
                if self.model.globals[leaf].ty != Scalar::Chan {
                    self.report(
                        Diagnostic::error(capacity.span, "only a `chan` can be initialised with a channel")
                            .with_hint("write `chan` as the type"),
                    );
                    return;
                }
                let all = self.model.channels.len() + count;
                if all > MAX_NUMBERED {
                    let message = format!("with these there are {all} channels at the beginning: the limit is {MAX_NUMBERED}");
                    self.error(capacity.span, message);
                    return;
                }
                let is_array = self.model.globals[leaf].is_array();
                (0..count)
                    .map(|k| {
                        let name = if is_array { format!("{name}[{k}]") } else { name.to_owned() };
                        self.model.channels.push((name, ty));
                        self.model.channels.len() as i32
                    })
                    .collect()
            }
        };
        let leaf = &mut self.model.globals[leaf];
        let length = leaf.length();
        leaf.initial.resize(length, 0);
        for (k, value) in values.into_iter().enumerate() {
            if let Some(slot) = leaf.initial.get_mut(from + k) {
                *slot = leaf.ty.truncate(value);
            }
        }
    }

    fn check_list(&mut self, given: usize, wanted: usize, exprs: &[Expr]) {
        let Some(span) = exprs.first().zip(exprs.last()).map(|(a, b)| a.span.to(b.span)) else {
            return;
        };
        if given > wanted {
            let hint =
                if wanted == 1 { "a variable that is no array has one value".to_owned() } else { format!("leave out {}", given - wanted) };
            self.report(Diagnostic::error(span, format!("{given} values for an array of {wanted}")).with_hint(hint));
        } else if given < wanted {
            let message = format!("{given} values for an array of {wanted}: the last one is repeated");
            self.report(Diagnostic::warning(span, message).named("few-values"));
        }
    }

    /// An initial value of a global: an expression over numbers and globals initialised before.
    fn global_value(&mut self, expr: &Expr) -> i32 {
        match self.try_global_value(expr) {
            Ok(value) => value,
            Err(at) => {
                if let Some(unknown) = self.unknown_in(expr) {
                    self.undeclared(&unknown);
                    return 0;
                }
                self.report(
                    Diagnostic::error(at, "the initial value of a global must be known before the model runs")
                        .with_hint("write numbers and names of macros here; assign other values in a process"),
                );
                0
            }
        }
    }

    /// A name in an initial value that is not declared.
    fn unknown_in(&self, expr: &Expr) -> Option<Ident> {
        match &expr.kind {
            ExprKind::Unary(_, a) => self.unknown_in(a),
            ExprKind::Binary(_, a, b) => self.unknown_in(a).or_else(|| self.unknown_in(b)),
            ExprKind::Conditional(c, a, b) => self.unknown_in(c).or_else(|| self.unknown_in(a)).or_else(|| self.unknown_in(b)),
            ExprKind::Ref(reference) => {
                let name = &reference.parts.first()?.name;
                let known = self.mtypes.contains_key(&name.text)
                    || self.globals.contains_key(&name.text)
                    || super::PREDEFINED.contains(&&*name.text);
                (!known).then(|| name.clone())
            }
            _ => None,
        }
    }

    fn try_global_value(&self, expr: &Expr) -> Result<i32, Span> {
        match &expr.kind {
            ExprKind::Number(n) => Ok(*n),
            ExprKind::Unary(op, a) => Ok(constant::unary(*op, self.try_global_value(a)?)),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.try_global_value(a)?, self.try_global_value(b)?);
                constant::binary(*op, a, b).ok_or(expr.span)
            }
            ExprKind::Conditional(c, a, b) => {
                let chosen = if self.try_global_value(c)? != 0 { a } else { b };
                self.try_global_value(chosen)
            }
            ExprKind::Ref(reference) => {
                let [part] = reference.parts.as_slice() else { return Err(expr.span) };
                if let Some(&(value, _)) = self.mtypes.get(&part.name.text) {
                    return Ok(value);
                }
                let symbol = self.globals.get(&part.name.text).ok_or(expr.span)?;
                let index = match (&part.index, symbol.length) {
                    (None, None) => 0,
                    (Some(index), Some(_)) => self.try_global_value(index)?,
                    _ => return Err(expr.span),
                };
                let leaf = &self.model.globals[symbol.first];
                if !matches!(symbol.ty, Ty::Scalar(_)) || index < 0 || index as usize >= leaf.length() {
                    return Err(expr.span);
                }
                Ok(leaf.initial.get(index as usize).copied().unwrap_or(0))
            }
            _ => Err(expr.span),
        }
    }

    /// The type of a channel that is declared.
    pub(super) fn channel(&mut self, capacity: &Expr, fields: &[(TypeName, Span)]) -> Option<usize> {
        let slots = self.constant(capacity)?;
        if !(0..=255).contains(&slots) {
            let message = if (0..=MAX_CAPACITY).contains(&slots) {
                format!("a channel of {slots} messages: the limit is 255")
            } else {
                format!("a channel cannot hold {slots} messages")
            };
            let hint = "a channel of 0 messages hands over directly: sender and receiver move together";
            self.report(Diagnostic::error(capacity.span, message).with_hint_opt((slots < 0).then(|| hint.to_owned())));
            return None;
        }
        let mut scalars = Vec::new();
        for (ty, span) in fields {
            self.message_fields(ty, *span, &mut scalars)?;
        }
        if scalars.len() > place::MAX_FIELDS {
            let message = format!("a message has {} fields: the limit is {}", scalars.len(), place::MAX_FIELDS);
            self.error(capacity.span, message);
            return None;
        }
        Some(self.channel_type(ChannelType { capacity: slots as u32, fields: scalars }))
    }

    /// The scalars of a field; a structure's, one after the other.
    fn message_fields(&mut self, ty: &TypeName, span: Span, out: &mut Vec<Scalar>) -> Option<()> {
        match ty {
            TypeName::Unsigned => {
                self.report(
                    Diagnostic::error(span, "an `unsigned` cannot be a field of a message").with_hint("use `byte`, `short` or `int`"),
                );
                None
            }
            TypeName::User(name) => {
                let index = self.user_type(name)?;
                self.struct_fields(index, span, out)
            }
            other => {
                out.push(self.scalar(other)?);
                Some(())
            }
        }
    }

    fn struct_fields(&mut self, index: usize, span: Span, out: &mut Vec<Scalar>) -> Option<()> {
        for i in 0..self.types[index].fields.len() {
            let field = &self.types[index].fields[i];
            let (ty, length) = (field.ty, field.length);
            match ty {
                Ty::Scalar(Scalar::Unsigned(_)) => {
                    let message = format!("the field `{}` of a message is `unsigned`", field.name);
                    self.error(span, message);
                    return None;
                }
                Ty::Scalar(scalar) => {
                    let count = length.unwrap_or(1) as usize;
                    // The elements of an array are stored as bytes, but a field of a message has
                    // the declared type.
                    out.extend(std::iter::repeat_n(scalar, count.min(place::MAX_FIELDS + 1)));
                }
                Ty::User(_) if length.is_some() => {
                    self.report(
                        Diagnostic::error(span, "a message cannot contain an array of structures")
                            .with_hint("send its elements one by one"),
                    );
                    return None;
                }
                Ty::User(inner) => self.struct_fields(inner, span, out)?,
            }
            if out.len() > place::MAX_FIELDS {
                break;
            }
        }
        Some(())
    }

    // --- Initial values of locals
    // -------------------------------------------------------------------

    /// The initial values of a local, as actions to be executed when the process is created.
    pub(super) fn initialise_local(&mut self, first: usize, ty: Ty, variable: &Variable) {
        let length = variable.length.as_ref().and_then(|_| self.array_length(variable));
        let count = length.unwrap_or(1);
        match ty {
            Ty::Scalar(_) => {
                let initial = variable.initial.as_ref();
                if let Some(Initial::List(exprs)) = initial {
                    self.check_list(exprs.len(), count as usize, exprs);
                }
                self.initialise_local_leaf(first, count, count, initial, variable.span);
            }
            Ty::User(index) => {
                if let Some(initial) = &variable.initial {
                    self.no_struct_value(initial, variable.span);
                }
                self.initialise_local_struct(index, first, count, variable.span);
            }
        }
    }

    fn initialise_local_struct(&mut self, index: usize, first: usize, copies: u32, span: Span) {
        for i in 0..self.types[index].fields.len() {
            let field = &self.types[index].fields[i];
            let count = copies.saturating_mul(field.length.unwrap_or(1));
            let leaf = first + field.offset;
            match field.ty {
                Ty::Scalar(_) => {
                    let own = field.length.unwrap_or(1);
                    let initial = match field.initial.clone() {
                        // Surplus values of a list are not stored.
                        Some(Initial::List(mut list)) => {
                            list.truncate(own as usize);
                            Some(Initial::List(list))
                        }
                        other => other,
                    };
                    self.initialise_local_leaf(leaf, own, count, initial.as_ref(), span);
                }
                Ty::User(inner) => self.initialise_local_struct(inner, leaf, count, span),
            }
        }
    }

    /// Values that are stored when the process is created.
    fn created_with(&mut self, leaf: usize, exprs: &[Expr]) -> Vec<Ex> {
        let ty = self.table(Scope::Local)[leaf].ty;
        exprs.iter().for_each(|expr| self.check_stored(ty, expr));
        self.set_creating(true);
        let list = exprs.iter().map(|expr| self.expr(expr)).collect();
        self.set_creating(false);
        list
    }

    fn set_creating(&mut self, creating: bool) {
        if let Some(current) = &mut self.current {
            current.creating = creating;
        }
    }

    /// All `count` elements of a leaf, which are copies of arrays of `own` elements.
    fn initialise_local_leaf(&mut self, leaf: usize, own: u32, count: u32, initial: Option<&Initial>, span: Span) {
        let scope = Scope::Local;
        let action = match initial {
            None => return,
            Some(Initial::Value(expr)) => {
                let list = self.created_with(leaf, std::slice::from_ref(expr));
                self.fill(leaf, Values { list, own, count })
            }
            Some(Initial::List(exprs)) => {
                let list = self.created_with(leaf, exprs);
                self.fill(leaf, Values { list, own, count })
            }
            Some(Initial::Channel { capacity, fields }) => {
                let Some(channel_type) = self.channel(capacity, fields) else { return };
                if self.table(scope)[leaf].ty != Scalar::Chan {
                    self.report(
                        Diagnostic::error(capacity.span, "only a `chan` can be initialised with a channel")
                            .with_hint("write `chan` as the type"),
                    );
                    return;
                }
                Action::NewChannels { scope, leaf, channel_type, count }
            }
        };
        if let (Some(current), true) = (&mut self.current, action != Action::Skip) {
            current.prologue.push((action, span));
        }
    }

    /// Values for a new local: known ones go into its table, others are stored by the prologue.
    fn fill(&mut self, leaf: usize, values: Values) -> Action {
        let known: Option<Vec<i32>> = values
            .elements()
            .map(|value| match value {
                Ex::Const(n) => Some(*n),
                _ => None,
            })
            .collect();
        match known {
            Some(known) => {
                let leaf = &mut self.table(Scope::Local)[leaf];
                leaf.initial = known.into_iter().map(|n| leaf.ty.truncate(n)).collect();
                Action::Skip
            }
            None => Action::Fill { scope: Scope::Local, leaf, values },
        }
    }
}

impl Scalar {
    /// The value that remains when `value` is stored.
    pub(crate) fn truncate(self, value: i32) -> i32 {
        match self {
            Scalar::Bit => value & 1,
            Scalar::Byte | Scalar::Mtype(_) | Scalar::Chan => value & 0xff,
            Scalar::Short => i32::from(value as i16),
            Scalar::Int => value,
            Scalar::Unsigned(bits) => value & ((1i64 << bits) - 1) as i32,
        }
    }
}
