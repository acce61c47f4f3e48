//! User-defined types and the leaves of variables.

use super::Resolver;
use crate::ast::{self, Ident, TypeName, Visibility};
use crate::limits::{MAX_ALL_LEAVES, MAX_ARRAY, MAX_LEAVES, MAX_NAME_BYTES, MAX_TYPEDEF_DEPTH};
use crate::model::{Leaf, Scalar, Scope};
use crate::token::Text;
use source::{Diagnostic, Span};
use std::collections::HashMap;

/// A user-defined type with its fields in order.
#[derive(Debug)]
pub(super) struct UserType {
    pub name: Text,
    pub fields: Vec<Field>,
    by_name: HashMap<Text, usize>,
    /// The number of leaves of a variable of this type.
    pub leaves: usize,
    /// Bytes of the names of these leaves, without the variable's own.
    name_bytes: usize,
    /// Whether some field, at any depth, has an initial value.
    pub initialised: bool,
    /// The depth of nested types in it.
    pub depth: usize,
    pub span: Span,
}

impl UserType {
    pub(super) fn field(&self, name: &str) -> Option<&Field> {
        self.by_name.get(name).map(|&i| &self.fields[i])
    }
}

/// A field of a user-defined type.
#[derive(Debug)]
pub(super) struct Field {
    pub name: Text,
    pub ty: Ty,
    pub length: Option<u32>,
    /// The first of its leaves, counted from the first of the type's.
    pub offset: usize,
    pub initial: Option<ast::Initial>,
    pub span: Span,
}

/// The type of a variable or a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    /// A scalar.
    Scalar(Scalar),
    /// A user-defined type.
    User(usize),
}

/// A declared variable.
#[derive(Clone, Debug)]
pub(super) struct Symbol {
    pub scope: Scope,
    pub ty: Ty,
    pub length: Option<u32>,
    /// The first of its leaves in its table.
    pub first: usize,
    pub span: Span,
    /// The channel it is initialised with, if it is one: needed by `for (x in q)`.
    pub channel: Option<(u32, Vec<ast::TypeName>)>,
}

impl Resolver<'_> {
    pub(super) fn leaves_of(&self, ty: Ty) -> usize {
        match ty {
            Ty::Scalar(_) => 1,
            Ty::User(index) => self.types[index].leaves,
        }
    }

    /// Bytes of the names of the leaves of a variable whose own name has `own` bytes.
    fn name_bytes_of(&self, ty: Ty, own: usize) -> usize {
        match ty {
            Ty::Scalar(_) => own,
            Ty::User(index) => self.types[index].name_bytes.saturating_add(own.saturating_mul(self.types[index].leaves)),
        }
    }

    pub(super) fn define_type(&mut self, typedef: &ast::Typedef) {
        if let Some(old) = self.type_names.get(&typedef.name.text).map(|&i| &self.types[i]) {
            let message = format!("the type `{}` is defined twice", old.name);
            let diagnostic = Diagnostic::error(typedef.name.span, message).with_label(old.span, "the first definition");
            let diagnostic = diagnostic.with_hint(crate::OTHER_NAME);
            self.report(diagnostic);
            return;
        }
        if let Some(fragment) = typedef.embedded.first() {
            let hint = "a structure of C is declared in a `c_decl` outside";
            self.report(Diagnostic::error(fragment.span, "`c_decl` inside a `typedef`").with_hint(hint));
        }
        let mut user = UserType {
            name: typedef.name.text.clone(),
            fields: Vec::new(),
            by_name: HashMap::new(),
            leaves: 0,
            name_bytes: 0,
            initialised: false,
            depth: 1,
            span: typedef.name.span,
        };
        for declaration in &typedef.fields {
            for variable in &declaration.variables {
                let Some(ty) = self.ty(&declaration.ty, variable) else { continue };
                if let Some(old) = user.field(&variable.name.text) {
                    let message = format!("the field `{}` is declared twice", old.name);
                    let diagnostic = Diagnostic::error(variable.name.span, message).with_label(old.span, "the first declaration");
                    let diagnostic = diagnostic.with_hint(crate::OTHER_NAME);
                    self.report(diagnostic);
                    continue;
                }
                if let Ty::User(inner) = ty {
                    user.depth = user.depth.max(self.types[inner].depth + 1);
                    user.initialised |= self.types[inner].initialised;
                }
                user.initialised |= variable.initial.is_some();
                let length = self.array_length(variable);
                user.by_name.insert(variable.name.text.clone(), user.fields.len());
                user.fields.push(Field {
                    name: variable.name.text.clone(),
                    ty,
                    length,
                    offset: user.leaves,
                    initial: variable.initial.clone(),
                    span: variable.name.span,
                });
                user.leaves += self.leaves_of(ty);
                user.name_bytes = user.name_bytes.saturating_add(self.name_bytes_of(ty, variable.name.text.len() + 1));
            }
        }
        if user.depth > MAX_TYPEDEF_DEPTH || user.leaves > MAX_LEAVES {
            self.report(Diagnostic::error(typedef.name.span, "types are nested too deeply").with_hint("put fields into fewer structures"));
            return;
        }
        self.type_names.insert(user.name.clone(), self.types.len());
        self.types.push(user);
    }

    /// The type a declaration gives to one of its variables.
    pub(super) fn ty(&mut self, name: &TypeName, variable: &ast::Variable) -> Option<Ty> {
        if !matches!(name, TypeName::Unsigned)
            && let Some(width) = &variable.width
        {
            self.report(
                Diagnostic::error(width.span, "only an `unsigned` has a width").with_hint("write `unsigned x : 3`, or leave out the width"),
            );
        }
        let scalar = match name {
            TypeName::Unsigned => Scalar::Unsigned(self.width(variable)),
            TypeName::User(ident) => return self.user_type(ident).map(Ty::User),
            other => self.scalar(other)?,
        };
        Some(Ty::Scalar(scalar))
    }

    /// A type that is neither `unsigned` nor user-defined.
    pub(super) fn scalar(&mut self, name: &TypeName) -> Option<Scalar> {
        Some(match name {
            TypeName::Bit => Scalar::Bit,
            TypeName::Byte => Scalar::Byte,
            TypeName::Short => Scalar::Short,
            TypeName::Int => Scalar::Int,
            TypeName::Chan => Scalar::Chan,
            TypeName::Mtype(set) => Scalar::Mtype(self.mtype_set(set.as_ref())),
            TypeName::Unsigned | TypeName::User(_) => return None,
        })
    }

    pub(super) fn user_type(&mut self, ident: &Ident) -> Option<usize> {
        let found = self.type_names.get(&ident.text).copied();
        if found.is_none() && !self.is_full() {
            let diagnostic = Diagnostic::error(ident.span, format!("the type `{}` is not defined before this place", ident.text));
            let diagnostic = diagnostic
                .with_hint("write the `typedef` before it is used; a structure cannot contain itself")
                .with_nearest(&ident.text, self.types.iter().map(|t| &*t.name));
            self.report(diagnostic);
        }
        found
    }

    fn width(&mut self, variable: &ast::Variable) -> u8 {
        let Some(width) = &variable.width else {
            self.report(
                Diagnostic::error(variable.name.span, "an `unsigned` needs a width")
                    .with_hint(format!("write `unsigned {} : 8`", variable.name.text)),
            );
            return 16;
        };
        match self.constant(width) {
            Some(n @ 1..=31) => n as u8,
            Some(_) => {
                let hint = "a `byte` has 8 bits; an `int` has 32, one of them for the sign";
                self.report(Diagnostic::error(width.span, "the width of an `unsigned` is from 1 to 31").with_hint(hint));
                16
            }
            None => 16,
        }
    }

    pub(super) fn array_length(&mut self, variable: &ast::Variable) -> Option<u32> {
        let length = variable.length.as_ref()?;
        match self.constant(length) {
            Some(n) if n >= 1 && (n as usize) <= MAX_ARRAY => Some(n as u32),
            Some(n) if n < 1 => {
                self.report(
                    Diagnostic::error(length.span, format!("an array cannot have {n} elements")).with_hint("one element is the least"),
                );
                Some(1)
            }
            Some(n) => {
                self.error(length.span, format!("an array of {n} elements is too large: there may be {MAX_ARRAY}"));
                Some(1)
            }
            None => Some(1),
        }
    }

    /// Adds the leaves of a variable to a table and returns the index of the first; `None` if there
    /// is no room.
    pub(super) fn add_leaves(
        &mut self,
        table: Scope,
        name: &str,
        ty: Ty,
        length: Option<u32>,
        visibility: Visibility,
        span: Span,
    ) -> Option<usize> {
        let first = self.table(table).len();
        let count = self.leaves_of(ty);
        self.leaves = self.leaves.saturating_add(count);
        self.name_bytes = self.name_bytes.saturating_add(self.name_bytes_of(ty, name.len()));
        if first + count > MAX_LEAVES || self.leaves > MAX_ALL_LEAVES {
            let message =
                format!("with this declaration there are more than {MAX_LEAVES} variables in a process, or {MAX_ALL_LEAVES} in the model");
            self.give_up(Diagnostic::error(span, message).with_hint("each field of a structure, at any depth, is a variable"));
            return None;
        }
        if self.name_bytes > MAX_NAME_BYTES {
            let message = format!("with this declaration the names of the variables take more than {MAX_NAME_BYTES} bytes");
            self.give_up(Diagnostic::error(span, message).with_hint("the name of a field holds the names of all fields around it"));
            return None;
        }
        let mut leaves = Vec::new();
        self.expand(name, ty, length, &[], &mut leaves);
        for (_, _, dimensions) in &leaves {
            let length: usize = dimensions.iter().fold(1, |n: usize, &d| n.saturating_mul(d as usize));
            self.elements = self.elements.saturating_add(length);
        }
        if self.elements > MAX_ARRAY {
            let message =
                format!("with this declaration the variables are too large: there may be {MAX_ARRAY} elements in the whole model");
            self.give_up(Diagnostic::error(span, message).with_hint("an array in an array has the product of both lengths"));
            return None;
        }
        for (name, ty, dimensions) in leaves {
            let hidden = visibility == Visibility::Hidden;
            let leaf = Leaf { name, ty, dimensions, initial: Vec::new(), hidden, unmatched: false, scratch: false, span };
            self.table(table).push(leaf);
        }
        Some(first)
    }

    fn expand(&self, name: &str, ty: Ty, length: Option<u32>, outer: &[u32], leaves: &mut Vec<(String, Scalar, Vec<u32>)>) {
        let mut dimensions = outer.to_vec();
        dimensions.extend(length);
        match ty {
            Ty::Scalar(scalar) => {
                // SPIN keeps arrays of bits and of narrow unsigned numbers as arrays of bytes.
                let scalar = match scalar {
                    Scalar::Bit | Scalar::Unsigned(_) if length.is_some() => Scalar::Byte,
                    other => other,
                };
                leaves.push((name.to_owned(), scalar, dimensions));
            }
            Ty::User(index) => {
                for field in &self.types[index].fields {
                    let name = format!("{name}.{}", field.name);
                    self.expand(&name, field.ty, field.length, &dimensions, leaves);
                }
            }
        }
    }
}
