//! The values that pieces of the program have computed, as lines of the trace.
//!
//! `everypath conform` compares them with the values that the model may choose there. A step of the
//! model is whole or not begun, so the values of an atomic sequence are written at its end.

use crate::Generator;
use crate::names::number;
use promela::ast::{Fragment, TypeName};

/// A variable with more values is not compared.
const VALUES_MAX: usize = 64;
/// The values on a line of the trace.
const VALUES_AT_ONCE: usize = 8;

impl Generator<'_> {
    /// Notes the variables of the model that a piece changes, and writes their values after the
    /// step.
    pub(crate) fn computed(&mut self, fragment: &Fragment) {
        for (global, name) in self.changed_in(fragment) {
            // An inner block may end before the step does.
            if self.held > 0 && !global && self.inner.contains(&name) {
                continue;
            }
            let own = self.names.inside(&name);
            let (known, length, text) = match global {
                true => (self.names.global(&name).cloned(), self.global_length(&name), format!("globals->{own}")),
                false => (self.names.locals.get(&name).cloned(), self.names.lengths.get(&name).copied().flatten(), own),
            };
            let Some((ty, array)) = known else { continue };
            let mut values = Vec::new();
            match (array, length) {
                (false, _) => self.values_of(&ty, (&name, None), &text, 0, &mut values),
                (true, Some(length)) => self.values_of_array(&ty, length, (&name, None), &text, 0, &mut values),
                (true, None) => {}
            }
            if values.len() <= VALUES_MAX {
                values.retain(|value| !self.computed.contains(value));
                self.computed.extend(values);
            }
        }
        if self.held == 0 {
            self.write_computed();
        }
    }

    /// Writes the statements that write the values.
    pub(crate) fn write_computed(&mut self) {
        let values = std::mem::take(&mut self.computed);
        for values in values.chunks(VALUES_AT_ONCE) {
            let list: String = values.iter().map(|(name, text)| format!(", \"{name}\", (long) {text}")).collect();
            self.line("if (ep_tracing)");
            self.line(&format!("\tep_values({}{list});", values.len()));
        }
    }

    fn global_length(&self, name: &str) -> Option<i32> {
        let (_, variable) = self.names.globals.iter().find(|(_, variable)| *variable.name.text == *name)?;
        variable.length.as_ref().and_then(number)
    }

    /// The scalars of a variable, with their names in the state of the model: the path, and one
    /// index for all arrays on it. Channels are left out: their numbers are not those of the model.
    fn values_of(&self, ty: &TypeName, (name, index): (&str, Option<i32>), text: &str, depth: usize, out: &mut Vec<(String, String)>) {
        match ty {
            _ if depth > 8 || out.len() > VALUES_MAX => {}
            TypeName::Chan => {}
            TypeName::User(user) => {
                let Some(typedef) = self.names.typedefs.get(&*user.text) else { return };
                for (field, variable) in
                    typedef.fields.iter().flat_map(|field| field.variables.iter().map(move |variable| (field, variable)))
                {
                    let text = format!("{text}.{}", self.names.inside(&variable.name.text));
                    let name = (&*format!("{name}.{}", variable.name.text), index);
                    match variable.length.as_ref().map(|length| number(length).unwrap_or(0)) {
                        None => self.values_of(&field.ty, name, &text, depth + 1, out),
                        Some(length) => self.values_of_array(&field.ty, length, name, &text, depth + 1, out),
                    }
                }
            }
            _ => out.push((index.map_or_else(|| name.to_owned(), |index| format!("{name}[{index}]")), text.to_owned())),
        }
    }

    fn values_of_array(
        &self,
        ty: &TypeName,
        length: i32,
        (name, index): (&str, Option<i32>),
        text: &str,
        depth: usize,
        out: &mut Vec<(String, String)>,
    ) {
        for i in 0..length {
            if out.len() > VALUES_MAX {
                return;
            }
            let index = index.unwrap_or(0).saturating_mul(length).saturating_add(i);
            self.values_of(ty, (name, Some(index)), &format!("{text}[{i}]"), depth, out);
        }
    }
}
