//! Names and types in statements.

use super::{Entity, Resolver};
use crate::ast::{self, ExpressionKind, Selector, StatementKind};
use crate::limits::{MAX_COPIED, MAX_CREATED};
use crate::tree::{
    Action, Argument, Binary, Clause, Communication, Count, Direction, Expression, INTEGER, Kind, Place, Statement, Target, Type, UNSIGNED,
    Variable,
};
use source::{Span, did_you_mean};

impl Resolver<'_> {
    pub(super) fn statements(&mut self, statements: &[ast::Statement]) -> Vec<Statement> {
        statements.iter().flat_map(|statement| self.statement(statement)).collect()
    }

    fn statement(&mut self, statement: &ast::Statement) -> Vec<Statement> {
        let span = statement.span;
        let kind = match &statement.kind {
            StatementKind::Assign(designator, value) => {
                let place = self.place(designator);
                let value = self.expression(value);
                let Some(place) = place else { return vec![Self::nothing(span)] };
                self.fit(&value, &place.ty, "the variable");
                self.copied(&place.ty, span);
                Action::Assign(place, value)
            }
            StatementKind::If(branches, last) => {
                let branches = branches.iter().map(|(condition, body)| (self.boolean(condition), self.statements(body))).collect();
                Action::If(branches, last.as_deref().map_or_else(Vec::new, |body| self.statements(body)))
            }
            StatementKind::While(condition, body) => Action::While(self.boolean(condition), self.statements(body)),
            StatementKind::Repeat(body, condition) => Action::Repeat(self.statements(body), self.boolean(condition)),
            StatementKind::For(counter, from, to, by, body) => return self.count(counter, [Some(from), Some(to), by.as_ref()], body, span),
            StatementKind::Communicate(communication) => match self.communication(communication) {
                Some(communication) => Action::Communicate(communication),
                None => return vec![Self::nothing(span)],
            },
            StatementKind::Select(clauses) => {
                let mut all = Vec::new();
                for clause in clauses {
                    let communication = self.communication(&clause.communication);
                    let guard = clause.guard.as_ref().map(|guard| self.boolean(guard));
                    let body = self.statements(&clause.body);
                    all.extend(communication.map(|communication| Clause { communication, guard, body }));
                }
                Action::Select(all)
            }
            StatementKind::Choice(blocks) => Action::Choice(blocks.iter().map(|block| self.statements(block)).collect()),
            StatementKind::Call { concurrent: false, name, arguments }
                if name.module.is_none()
                    && matches!(name.name.text.as_str(), "PORTIN" | "PORTOUT")
                    && !self.is_declared(&name.name.text) =>
            {
                return self.device(&name.name.text, arguments, span);
            }
            StatementKind::Call { concurrent, name, arguments } => match self.call(*concurrent, name, arguments, span) {
                Some(action) => action,
                None => return vec![Self::nothing(span)],
            },
            StatementKind::Assert(condition) => Action::Assert(self.boolean(condition)),
            StatementKind::Reschedule => Action::Reschedule,
            StatementKind::Accept | StatementKind::Nomove => {
                if !self.process.is_some_and(|process| self.program.properties.contains(&process)) {
                    self.error(span, "ACCEPT and NOMOVE are only allowed in properties", Some("a property is declared by PROPERTY"));
                }
                if matches!(statement.kind, StatementKind::Accept) { Action::Accept } else { Action::Nomove }
            }
        };
        vec![Statement { kind, span }]
    }

    fn is_declared(&self, name: &str) -> bool {
        self.scopes.iter().any(|scope| scope.contains_key(name))
    }

    /// `PORTIN` and `PORTOUT`: messages to the process that represents the devices.
    fn device(&mut self, word: &str, arguments: &[ast::Expression], span: Span) -> Vec<Statement> {
        let found = self.modules.iter().find(|(name, _)| name == "SYSTEM").and_then(|(_, scope)| scope.get("IOPORT"));
        let Some((Entity::Variable(port), _, _)) = found else {
            self.error(span, format!("`{word}` belongs to the module SYSTEM"), Some("write IMPORT SYSTEM at the beginning of the module"));
            return vec![Self::nothing(span)];
        };
        let port = *port;
        let [number, other] = arguments else {
            self.error(span, format!("`{word}` has two arguments: the number of a port, and what is written or read"), None);
            return vec![Self::nothing(span)];
        };
        let number = self.integer(number);
        let ty = self.program.variables[port].ty.clone();
        let Type::Channel(channel) = ty else { return vec![Self::nothing(span)] };
        let port = Place { variable: port, steps: Vec::new(), ty, span };
        let position = |this: &Self, name: &str| this.program.channels[channel].messages.iter().position(|m| m.name == name).unwrap_or(0);
        let constant = |value| Expression { kind: Kind::Constant(value), ty: INTEGER, span };
        let message = (channel, position(self, word));
        let communicate = |message, what| Action::Communicate(Communication { port: port.clone(), message, what, span });
        if word == "PORTOUT" {
            let value = self.integer(other);
            let value = self.signed(value, span);
            let what = Direction::Send(vec![constant(width(&value.ty)), number, value]);
            return vec![Statement { kind: communicate(message, what), span }];
        }
        let Some(place) = self.reference(other) else { return vec![Self::nothing(span)] };
        if !matches!(place.ty, Type::Integer(_)) {
            self.error(place.span, "a number is read from a port", None);
            return vec![Self::nothing(span)];
        }
        let data = (channel, position(self, "DATA"));
        let asked = Direction::Send(vec![constant(width(&place.ty)), number, constant(0)]);
        let mut all = vec![Statement { kind: communicate(message, asked), span }];
        if place.ty == INTEGER {
            all.push(Statement { kind: communicate(data, Direction::Receive(vec![Target::Store(place)])), span });
            return all;
        }
        let kept = self.hidden_variable("port.value", INTEGER, span);
        let value = Expression { kind: Kind::Load(kept.clone()), ty: INTEGER, span };
        let cast = Expression { kind: Kind::Cast(Box::new(value)), ty: place.ty.clone(), span };
        all.push(Statement { kind: communicate(data, Direction::Receive(vec![Target::Store(kept.clone())])), span });
        all.push(Statement { kind: Action::Assign(place, cast), span });
        all.push(Statement { kind: Action::Assign(kept, constant(0)), span });
        all
    }

    /// A signed number; an unsigned one is cast.
    fn signed(&mut self, value: Expression, span: Span) -> Expression {
        if value.ty == UNSIGNED { self.cast(value, INTEGER, span) } else { value }
    }

    /// A number that the program does not declare.
    fn hidden_variable(&mut self, name: &str, ty: Type, span: Span) -> Place {
        let id = self.program.variables.len();
        self.program.variables.push(Variable {
            name: name.to_owned(),
            ty: ty.clone(),
            owner: self.process,
            reference: false,
            address: None,
            span,
        });
        if let Some(process) = self.process {
            self.program.processes[process].variables.push(id);
        }
        Place { variable: id, steps: Vec::new(), ty, span }
    }

    /// `FOR` is a loop with a limit that is computed once.
    fn count(
        &mut self,
        counter: &ast::Designator,
        [from, to, by]: [Option<&ast::Expression>; 3],
        body: &[ast::Statement],
        span: Span,
    ) -> Vec<Statement> {
        let name = &counter.name;
        let place = self.place(counter);
        let from = from.map(|from| self.integer(from));
        let to = to.map(|to| self.integer(to));
        let by = match by {
            Some(by) => self.constant_integer(by),
            None => Some(1),
        };
        let body = self.statements(body);
        let (Some(place), Some(from), Some(mut to), Some(by)) = (place, from, to, by) else { return vec![Self::nothing(span)] };
        if !matches!(place.ty, Type::Integer(_)) {
            self.error(counter.span, "FOR counts in a variable that is a number", None);
            return vec![Self::nothing(span)];
        }
        if by == 0 {
            self.error(span, "FOR never ends if it counts by 0", None);
        }
        let unsigned = place.ty == UNSIGNED;
        to = if unsigned { self.unsigned(to) } else { self.signed(to, span) };
        let ty = if unsigned { UNSIGNED } else { INTEGER };
        self.fit(&from, &place.ty, "the variable");
        let mut all = Vec::new();
        let mut kept = None;
        if !matches!(to.kind, Kind::Constant(_)) {
            let span = to.span;
            let limit = self.hidden_variable(&format!("{}.limit", name.text), ty.clone(), span);
            all.push(Statement { kind: Action::Assign(limit.clone(), to), span });
            to = Expression { kind: Kind::Load(limit.clone()), ty: ty.clone(), span };
            kept = Some((limit, Expression { kind: Kind::Constant(0), ty, span }));
        }
        let count = Count { counter: place.clone(), limit: to, by, span };
        all.push(Statement { kind: Action::Assign(place, from), span });
        all.push(Statement { kind: Action::For(count, body), span });
        // States after the loop do not differ by its limit.
        all.extend(kept.map(|(limit, zero)| Statement { kind: Action::Assign(limit, zero), span }));
        all
    }

    fn copied(&mut self, ty: &Type, span: Span) {
        if self.program.elements(ty) > u64::from(MAX_COPIED) {
            self.error(
                span,
                format!("more than {MAX_COPIED} elements are copied at once"),
                Some("copy them in a loop, or pass them by reference: VAR"),
            );
        }
    }

    fn communication(&mut self, communication: &ast::Communication) -> Option<Communication> {
        let port = self.place(&communication.port);
        let span = communication.span;
        let port = port?;
        let Type::Channel(channel) = port.ty else {
            if port.ty != Type::Unknown {
                let found = self.program.type_name(&port.ty);
                self.error(
                    port.span,
                    format!("messages go through ports, and this is {found}"),
                    Some("the type of a port lists its messages: [data(INTEGER), end]"),
                );
            }
            return None;
        };
        let messages = &self.program.channels[channel].messages;
        let wanted = &communication.message;
        let Some(position) = messages.iter().position(|message| message.name == wanted.text) else {
            let hint = did_you_mean(&wanted.text, messages.iter().map(|message| message.name.as_str()));
            let known: Vec<&str> = messages.iter().map(|message| message.name.as_str()).collect();
            let hint = hint.unwrap_or_else(|| format!("its messages are {}", known.join(", ")));
            self.error(wanted.span, format!("the channel has no message `{}`", wanted.text), Some(&hint));
            return None;
        };
        let types = messages[position].values.clone();
        if types.len() != communication.arguments.len() {
            let (has, given) = (types.len(), communication.arguments.len());
            self.error(span, format!("`{}` carries {has} values, and {given} are given here", wanted.text), None);
            return None;
        }
        let mut sent = Vec::new();
        let mut received = Vec::new();
        for (argument, ty) in communication.arguments.iter().zip(&types) {
            if communication.sends {
                let value = self.expression(argument);
                self.fit(&value, ty, "the message");
                sent.push(value);
                continue;
            }
            let value = self.expression(argument);
            match value.kind {
                Kind::Load(place) => {
                    if place.ty != *ty && *ty != Type::Unknown && place.ty != Type::Unknown {
                        let within = matches!((ty, &place.ty), (Type::Integer(from), Type::Integer(to)) if from.is_within(*to));
                        if !within {
                            let (from, to) = (self.program.type_name(ty), self.program.type_name(&place.ty));
                            self.error(place.span, format!("the message carries {from}, and this variable is {to}"), None);
                        }
                    }
                    received.push(Target::Store(place));
                }
                Kind::Constant(_) => {
                    self.fit(&value, ty, "the message");
                    received.push(Target::Match(value));
                }
                _ => {
                    self.error(argument.span, "a variable is needed here, or a constant that the value must equal", None);
                    return None;
                }
            }
        }
        let what = if communication.sends { Direction::Send(sent) } else { Direction::Receive(received) };
        Some(Communication { port, message: (channel, position), what, span })
    }

    fn call(&mut self, concurrent: bool, name: &ast::Qualified, arguments: &[ast::Expression], span: Span) -> Option<Action> {
        let word = name.name.text.as_str();
        let known = self.scopes.iter().any(|scope| scope.contains_key(word));
        if name.module.is_none() && !known && !concurrent && matches!(word, "NEW" | "INC" | "DEC" | "INCL" | "EXCL") {
            return self.built_in(word, arguments, span);
        }
        if let Some(module) = &name.module
            && module.text == "Out"
            && matches!(self.look_up(module), Some(Entity::Module(_)))
        {
            if concurrent {
                self.error(span, "the processes of Out are called, not created", Some("leave out CREATE"));
            }
            return self.print(word, arguments, span);
        }
        let entity = self.qualified(name)?;
        let Entity::Process(id) = entity else {
            self.error(name.span(), format!("`{word}` is not a process"), None);
            return None;
        };
        let parameters = self.program.processes[id].parameters.clone();
        if parameters.len() != arguments.len() {
            let message = format!("`{word}` has {} parameters, and {} arguments are given here", parameters.len(), arguments.len());
            self.error(span, message, None);
            return None;
        }
        let mut all = Vec::new();
        let (mut elements, mut composite) = (0, false);
        for (parameter, argument) in parameters.iter().zip(arguments) {
            let Variable { ty, reference, .. } = self.program.variables[*parameter].clone();
            if reference {
                match self.reference(argument) {
                    Some(place) => {
                        if place.ty != ty && place.ty != Type::Unknown && ty != Type::Unknown {
                            let (a, b) = (self.program.type_name(&place.ty), self.program.type_name(&ty));
                            self.error(argument.span, format!("the parameter stands for a variable of type {b}, and this is {a}"), None);
                        }
                        all.push(Argument::Reference(place));
                    }
                    None => return None,
                }
                continue;
            }
            let value = self.expression(argument);
            self.fit(&value, &ty, "the parameter");
            self.copied(&ty, argument.span);
            elements += self.program.elements(&ty);
            composite |= !ty.is_scalar();
            all.push(Argument::Value(value));
        }
        if concurrent && composite && elements > u64::from(MAX_CREATED) {
            let message = format!("a created process takes at most {MAX_CREATED} values, elements of arrays and records counted");
            self.error(name.span(), message, Some("pass an array by reference: VAR, or send it in a message"));
        }
        Some(if concurrent { Action::Create(id, all) } else { Action::Call(id, all) })
    }

    fn reference(&mut self, argument: &ast::Expression) -> Option<Place> {
        match &argument.kind {
            ExpressionKind::Place(designator) => self.place(designator),
            _ => {
                self.error(argument.span, "the parameter stands for a variable, so one is needed here", None);
                None
            }
        }
    }

    fn built_in(&mut self, word: &str, arguments: &[ast::Expression], span: Span) -> Option<Action> {
        let (least, most) = match word {
            "NEW" => (1, 1),
            "INC" | "DEC" => (1, 2),
            _ => (2, 2),
        };
        if !(least..=most).contains(&arguments.len()) {
            self.error(span, format!("`{word}` has a different number of arguments"), None);
            return None;
        }
        let place = self.reference(&arguments[0])?;
        let value = arguments.get(1).map(|value| self.integer(value));
        let loaded = Expression { kind: Kind::Load(place.clone()), ty: place.ty.clone(), span: place.span };
        let one = Expression { kind: Kind::Constant(1), ty: INTEGER, span };
        let (op, other) = match (word, &place.ty) {
            (_, Type::Unknown) => return None,
            ("NEW", Type::Channel(_)) => return Some(Action::New(place)),
            ("INC" | "DEC", Type::Integer(_)) => {
                let op = if word == "INC" { Binary::Add } else { Binary::Subtract };
                // Both operands are signed, or both are unsigned.
                let other = value.unwrap_or(one);
                let span = other.span;
                (op, if place.ty == UNSIGNED { self.unsigned(other) } else { self.signed(other, span) })
            }
            ("INCL", Type::Set) | ("EXCL", Type::Set) => {
                let element = value?;
                let set = match element.kind {
                    Kind::Constant(number) if !(0..32).contains(&number) => {
                        self.error(element.span, "a set holds the numbers from 0 to 31", None);
                        return None;
                    }
                    Kind::Constant(number) => Kind::Constant(1 << number),
                    _ => Kind::Set(vec![(element, None)]),
                };
                let op = if word == "INCL" { Binary::Union } else { Binary::Difference };
                (op, Expression { kind: set, ty: Type::Set, span })
            }
            _ => {
                let found = self.program.type_name(&place.ty);
                self.error(place.span, format!("`{word}` has no meaning for {found}"), None);
                return None;
            }
        };
        let ty = place.ty.clone();
        let sum = Expression { kind: Kind::Binary(op, Box::new(loaded), Box::new(other)), ty, span };
        Some(Action::Assign(place, sum))
    }

    /// The processes of the module `Out`, which the machine provides.
    fn print(&mut self, word: &str, arguments: &[ast::Expression], span: Span) -> Option<Action> {
        if let ("String", [argument]) = (word, arguments) {
            let entity = match &argument.kind {
                ExpressionKind::Text(text) => Some(Entity::Text(text.clone())),
                ExpressionKind::Place(designator) => match designator.selectors.as_slice() {
                    [] => Some(self.look_up(&designator.name)?),
                    [Selector::Field(name)] if matches!(self.look_up(&designator.name)?, Entity::Module(_)) => {
                        Some(self.look_into(&designator.name, name)?)
                    }
                    _ => None,
                },
                _ => None,
            };
            let text = match entity {
                Some(Entity::Text(text)) => Some(text),
                _ => None,
            };
            let Some(text) = text else {
                self.error(argument.span, "Out.String prints a text, in double quotes or by the name of a constant", None);
                return None;
            };
            return Some(Action::Print(text.replace('%', "%%"), Vec::new()));
        }
        let values: Vec<Expression> = arguments.iter().map(|argument| self.expression(argument)).collect();
        let format = match (word, values.as_slice()) {
            ("Ln", []) => "\n",
            ("Int", [value]) if value.ty == UNSIGNED => "%u",
            ("Int", [value]) if matches!(value.ty, Type::Integer(_) | Type::Unknown) => "%d",
            ("Char", [value]) if matches!(value.ty, Type::Char | Type::Unknown) => "%c",
            ("Bool", [value]) if matches!(value.ty, Type::Boolean | Type::Unknown) => "%d",
            ("Hex", [value]) if matches!(value.ty, Type::Integer(_) | Type::Set | Type::Unknown) => "%x",
            ("Int" | "Char" | "Bool" | "Hex" | "Ln", _) => {
                self.error(
                    span,
                    format!("the argument does not fit Out.{word}"),
                    Some("Out has Int, Hex, Char, Bool with one argument, String with a text, and Ln"),
                );
                return None;
            }
            _ => {
                self.error(span, format!("`Out` has no `{word}`"), Some("it has Int, Hex, Char, Bool, String and Ln"));
                return None;
            }
        };
        Some(Action::Print(format.to_owned(), values))
    }
}

/// The number of bytes of a port of a type.
fn width(ty: &Type) -> i32 {
    let (least, greatest) = super::range(ty);
    match (least, greatest) {
        (-128.., ..=255) => 1,
        (-32768.., ..=65535) => 2,
        _ => 4,
    }
}
