//! Types and declarations in C.

use crate::names::number;
use crate::{Generator, Transport};
use promela::ast::{Declaration, Initial, TypeName, Variable};

impl Generator<'_> {
    /// The C type of a variable.
    pub(crate) fn c_type(&self, ty: &TypeName) -> String {
        match ty {
            TypeName::Bit | TypeName::Byte => "unsigned char".to_owned(),
            TypeName::Short => "short int".to_owned(),
            TypeName::Int | TypeName::Chan => "int".to_owned(),
            TypeName::Unsigned => "unsigned int".to_owned(),
            TypeName::Mtype(None) => "enum mtype".to_owned(),
            TypeName::Mtype(Some(set)) => format!("enum mtype_{}", set.text),
            TypeName::User(name) => self.names.outside(&name.text),
        }
    }

    /// The letter that denotes the type of a field of a channel.
    pub(crate) fn letter(ty: &TypeName) -> char {
        match ty {
            TypeName::Bit => '1',
            TypeName::Byte | TypeName::Mtype(_) | TypeName::Chan => 'b',
            TypeName::Short => 's',
            _ => 'i',
        }
    }

    /// `type name[length]`.
    pub(crate) fn declarator(&mut self, declaration: &Declaration, variable: &Variable) -> String {
        let length = variable.length.as_ref().map(|length| format!("[{}]", self.expr(length))).unwrap_or_default();
        format!("{} {}{length}", self.c_type(&declaration.ty), self.names.inside(&variable.name.text))
    }

    /// The statements that store the initial value of a variable; empty if it is zero.
    pub(crate) fn initial(&mut self, name: &str, declaration: &Declaration, variable: &Variable) -> Vec<String> {
        let length = variable.length.as_ref().and_then(number).unwrap_or(1);
        let element = |i: i32| if variable.length.is_some() { format!("{name}[{i}]") } else { name.to_owned() };
        match &variable.initial {
            None => Vec::new(),
            Some(Initial::Value(value)) => {
                let value = self.expr(value);
                (0..length.min(4096)).map(|i| format!("{} = {value};", element(i))).collect()
            }
            Some(Initial::List(values)) => {
                let values: Vec<String> = values.iter().map(|value| self.expr(value)).collect();
                values.iter().enumerate().map(|(i, value)| format!("{} = {value};", element(i as i32))).collect()
            }
            Some(Initial::Channel { capacity, fields }) => {
                let capacity = self.expr(capacity);
                let mut letters = String::new();
                for (ty, _) in fields {
                    let mut leaves = Vec::new();
                    self.names.leaves(ty, "", 0, &mut leaves);
                    letters.extend(leaves.iter().map(|(_, ty)| Self::letter(ty)));
                }
                if declaration.ty != TypeName::Chan {
                    self.error(variable.span, "only a `chan` can be initialised with a channel", "declare it `chan`");
                }
                let own = self.options.channels.get(&*variable.name.text);
                self.names.channels.insert(variable.name.text.to_string());
                if own.is_some_and(|own| *own != Transport::Memory) && capacity == "0" {
                    self.warn(variable.span, "a message queue does not wait for the receiver: this rendezvous stays in shared memory");
                }
                let carrier = own.copied().unwrap_or(self.options.transport).carrier();
                let make = |i: i32| {
                    // What is wrong with a queue of the system is said with the name of the
                    // channel.
                    let label = element(i).replace("globals->", "");
                    let name = (carrier != Transport::Memory.carrier()).then(|| format!("ep_name(\"{label}\");"));
                    name.into_iter().chain([format!("{} = ep_channel({capacity}, \"{letters}\", {carrier});", element(i))])
                };
                (0..length.min(255)).flat_map(make).collect()
            }
        }
    }
}
