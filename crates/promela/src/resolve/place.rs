//! References: the leaf and the element.

use super::types::{Symbol, Ty};
use super::{PREDEFINED, Resolver};
use crate::ast::{ExprKind, Ident, Part, Reference};
use crate::model::{Ex, Place, Scalar, Scope};
use source::{Diagnostic, Span, counted};

/// The most fields of a message.
pub(super) const MAX_FIELDS: usize = 32;

/// The number of fields of a type that a message about a missing field lists.
const SHOWN_FIELDS: usize = 8;

/// The meaning of a reference.
#[derive(Debug)]
pub(super) enum Found {
    /// A scalar.
    Scalar(Place),
    /// A structure, or a whole array: not a value.
    Whole {
        scope: Scope,
        ty: Ty,
        /// Its first leaf.
        first: usize,
        /// The indices given so far.
        indices: Vec<Ex>,
        /// The length, if it is an array without its index.
        length: Option<u32>,
    },
}

impl Resolver<'_> {
    /// The variable with this name that is visible here.
    pub(super) fn symbol(&self, name: &str) -> Option<&Symbol> {
        let local = self.current.as_ref().and_then(|c| c.scopes.iter().rev().find_map(|scope| scope.get(name)));
        local.or_else(|| self.globals.get(name))
    }

    pub(super) fn undeclared(&mut self, name: &Ident) {
        self.undeclared_as(name, &format!("byte {}", name.text));
    }

    /// The same with a declaration that would be right.
    fn undeclared_as(&mut self, name: &Ident, example: &str) {
        if self.is_full() {
            return;
        }
        let locals = self.current.iter().flat_map(|c| c.scopes.iter().flat_map(|s| s.keys()));
        let known = locals.chain(self.globals.keys()).chain(self.mtypes.keys()).map(|k| &**k);
        let mut names: Vec<&str> = known.chain(PREDEFINED).collect();
        names.sort_unstable();
        let gone = self.current.as_ref().and_then(|c| c.outline.get(&name.text)).map(|s| s.span);
        // A word alone is a condition, but a statement may have been meant.
        let words = ["break", "skip", "else", "true", "false", "timeout", "np_"];
        let foreign = crate::parser::foreign::hint_for_word(&name.text).map(str::to_owned);
        let mut diagnostic = Diagnostic::error(name.span, format!("`{}` is not declared", name.text));
        diagnostic = match foreign {
            Some(hint) => diagnostic.with_hint(hint),
            None => diagnostic.with_nearest(&name.text, names.into_iter().chain(words)),
        };
        if diagnostic.hint.is_none() && gone.is_none() {
            let is_constant = name.text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
            let hint = if is_constant {
                format!("define it by `#define {0} 3`, or by `-D {0}=3` on the command line", name.text)
            } else {
                format!("declare it before it is used, as in `{example}`")
            };
            diagnostic = diagnostic.with_hint(hint);
        }
        if let Some(span) = gone {
            diagnostic = diagnostic.with_label(span, "this one is not visible here");
        }
        self.report_unknown(&name.text, diagnostic);
    }

    /// The variable of a reference. If the reference is wrong, an error is reported and the result
    /// is `None`.
    pub(super) fn find(&mut self, reference: &Reference) -> Option<Found> {
        let (head, fields) = reference.parts.split_first()?;
        let Some(symbol) = self.symbol(&head.name.text).cloned() else {
            self.undeclared(&head.name);
            return None;
        };
        self.follow(&symbol, head, fields)
    }

    /// Follows the fields of a variable.
    pub(super) fn follow(&mut self, symbol: &Symbol, head: &Part, fields: &[Part]) -> Option<Found> {
        let mut first = symbol.first;
        let mut ty = symbol.ty;
        let mut length = symbol.length;
        let mut part = head;
        let mut rest = fields;
        let mut indices = Vec::new();
        loop {
            let whole = self.index(part, length, &mut indices)?;
            let Some((next, after)) = rest.split_first() else {
                return Some(match ty {
                    Ty::Scalar(scalar) if !whole => Found::Scalar(Place { scope: symbol.scope, leaf: first, indices, ty: scalar }),
                    _ => {
                        let length = if whole { length } else { None };
                        Found::Whole { scope: symbol.scope, ty, first, indices, length }
                    }
                });
            };
            if whole {
                self.missing_index(part);
                return None;
            }
            let Ty::User(index) = ty else {
                let message = format!("`{}` is not a structure: it has no fields", part.name.text);
                self.error(next.name.span, message);
                return None;
            };
            let Some(field) = self.types[index].field(&next.name.text) else {
                let user = &self.types[index];
                let message = format!("the type `{}` has no field `{}`", user.name, next.name.text);
                let diagnostic = Diagnostic::error(next.name.span, message);
                let mut diagnostic = diagnostic.with_nearest(&next.name.text, user.fields.iter().map(|f| &*f.name));
                let fields: Vec<String> = user.fields.iter().take(SHOWN_FIELDS).map(|field| format!("`{}`", field.name)).collect();
                let more = if user.fields.len() > SHOWN_FIELDS { ", …" } else { "" };
                diagnostic = diagnostic.with_label(user.span, "defined here").with_note(format!("it has {}{more}", fields.join(", ")));
                self.report(diagnostic);
                return None;
            };
            first += field.offset;
            ty = field.ty;
            length = field.length;
            part = next;
            rest = after;
        }
    }

    /// Adds a part's index; true if it is an array without one.
    fn index(&mut self, part: &Part, length: Option<u32>, indices: &mut Vec<Ex>) -> Option<bool> {
        match (&part.index, length) {
            (None, length) => Some(length.is_some()),
            (Some(index), Some(length)) => {
                let value = self.expr(index);
                if let Ex::Const(n) = value
                    && (n < 0 || n as u32 >= length)
                {
                    let message =
                        format!("the index {n} is outside `{}`, which has {}", part.name.text, counted(length as usize, "element"));
                    let hint =
                        format!("elements are counted from 0, so the last one is `{}[{}]`", part.name.text, length.saturating_sub(1));
                    self.report(Diagnostic::error(index.span, message).with_hint(hint));
                    return None;
                }
                indices.push(value);
                Some(false)
            }
            (Some(index), None) => {
                // SPIN allows `x[0]` for a scalar.
                if matches!(index.kind, ExprKind::Number(0)) {
                    return Some(false);
                }
                let message = format!("`{}` is not an array", part.name.text);
                self.error(index.span, message);
                None
            }
        }
    }

    fn missing_index(&mut self, part: &Part) {
        let message = format!("the array `{}` needs an index here", part.name.text);
        let mut diagnostic = Diagnostic::error(part.name.span, message);
        if let Some(symbol) = self.symbol(&part.name.text) {
            diagnostic = diagnostic.with_label(symbol.span, "declared here");
        }
        let hint = format!("`{0}[0]` is its first element; `for (i in {0}) {{ … }}` goes through all", part.name.text);
        self.report(diagnostic.with_hint(hint));
    }

    /// A reference that must be a scalar.
    pub(super) fn place(&mut self, reference: &Reference) -> Option<Place> {
        match self.find(reference)? {
            Found::Scalar(place) => Some(place),
            Found::Whole { length: Some(_), .. } => {
                if let Some(last) = reference.parts.last() {
                    self.missing_index(last);
                }
                None
            }
            Found::Whole { ty, .. } => {
                let field = match ty {
                    Ty::User(index) => self.types[index].fields.first().map(|field| field.name.clone()),
                    Ty::Scalar(_) => None,
                };
                let name = reference.parts.last().map(|part| part.name.text.clone());
                let hint = match (name, field) {
                    (Some(name), Some(field)) => format!("name one of its fields, as in `{name}.{field}`"),
                    _ => "name one of its fields".to_owned(),
                };
                self.report(Diagnostic::error(reference.span, "a whole structure cannot be used here").with_hint(hint));
                None
            }
        }
    }

    /// All scalars of a structure in order, as places.
    pub(super) fn spread(&mut self, scope: Scope, index: usize, first: usize, indices: &[Ex], span: Span, out: &mut Vec<Place>) {
        for i in 0..self.types[index].fields.len() {
            if out.len() > MAX_FIELDS {
                return;
            }
            let field = &self.types[index].fields[i];
            let (ty, length, leaf) = (field.ty, field.length, first + field.offset);
            match (ty, length) {
                (Ty::Scalar(scalar), None) => {
                    out.push(Place { scope, leaf, indices: indices.to_vec(), ty: scalar });
                }
                (Ty::Scalar(scalar), Some(length)) => {
                    for k in 0..length.min(MAX_FIELDS as u32 + 1) {
                        let mut indices = indices.to_vec();
                        indices.push(Ex::Const(k as i32));
                        out.push(Place { scope, leaf, indices, ty: scalar });
                    }
                }
                (Ty::User(inner), None) => self.spread(scope, inner, leaf, indices, span, out),
                (Ty::User(_), Some(_)) => {
                    self.report(Diagnostic::error(span, "an array of structures cannot be passed").with_hint("pass one element: `a[i]`"));
                    return;
                }
            }
        }
    }

    /// A reference to a channel, as a value.
    pub(super) fn channel_value(&mut self, reference: &Reference) -> Ex {
        if let [part] = reference.parts.as_slice()
            && &*part.name.text == "STDIN"
            && self.symbol("STDIN").is_none()
        {
            self.report(
                Diagnostic::error(reference.span, "`STDIN` is not declared, and reads input only in SPIN's simulations")
                    .with_hint("after `chan STDIN` it is a channel that does not exist, as for SPIN's verifier"),
            );
            return Ex::Const(0);
        }
        if let Some(part) = reference.parts.first()
            && self.symbol(&part.name.text).is_none()
        {
            self.undeclared_as(&part.name, &format!("chan {} = [1] of {{ byte }}", part.name.text));
            return Ex::Const(0);
        }
        let Some(place) = self.place(reference) else { return Ex::Const(0) };
        if !matches!(place.ty, Scalar::Chan | Scalar::Byte | Scalar::Int | Scalar::Short) {
            self.report(Diagnostic::error(reference.span, "this is not a channel").with_hint("a channel is `chan c = [1] of { byte }`"));
        }
        Ex::Load(place)
    }
}
