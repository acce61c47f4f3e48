//! Properties to bytes and back.

use super::DecodeErrorKind;
use super::read::{Decoded, Reader};
use super::write::Writer;
use crate::formula::{BinaryOp, Formula, FormulaNode, UnaryOp};
use crate::ids::{AtomId, FileIndex};
use crate::property::{Automaton, AutomatonEdge, AutomatonState, EdgeLabel, Event, Origin, PropertyBody, PropertyEntry};

/// Codes of kinds of properties.
const LTL: u8 = 0;
const NEVER: u8 = 1;
const TRACE: u8 = 2;
const NOTRACE: u8 = 3;

/// Codes of the nodes of a formula; for operators, the operator's own code is added.
const TRUE: u8 = 0;
const FALSE: u8 = 1;
const ATOM: u8 = 2;
const UNARY: u8 = 0x10;
const BINARY: u8 = 0x20;

/// Codes of an edge's label.
const ALWAYS: u8 = 0;
const WHEN: u8 = 1;
const ELSE: u8 = 2;
const ASSERT: u8 = 3;
const SEND: u8 = 4;
const RECEIVE: u8 = 5;

impl Writer {
    pub(super) fn property(&mut self, property: &PropertyEntry) {
        self.text(&property.name);
        self.origin(property.origin.as_ref());
        self.bytes.push(match &property.kind {
            PropertyBody::Ltl(_) => LTL,
            PropertyBody::Never(_) => NEVER,
            PropertyBody::Trace(_) => TRACE,
            PropertyBody::Notrace(_) => NOTRACE,
        });
        match &property.kind {
            PropertyBody::Ltl(formula) => self.list(&formula.0, |w, node| w.node(*node)),
            PropertyBody::Never(automaton) | PropertyBody::Trace(automaton) | PropertyBody::Notrace(automaton) => {
                self.list(&automaton.states, |w, state| {
                    w.text(&state.name);
                    w.label_kind(state.kind);
                });
                self.list(&automaton.edges, Self::edge);
            }
        }
    }

    fn origin(&mut self, origin: Option<&Origin>) {
        self.bytes.push(origin.is_some().into());
        if let Some(Origin { file, line, column, text }) = origin {
            self.number(file.0);
            self.number(*line);
            self.number(*column);
            self.text(text);
        }
    }

    fn node(&mut self, node: FormulaNode) {
        match node {
            FormulaNode::True => self.bytes.push(TRUE),
            FormulaNode::False => self.bytes.push(FALSE),
            FormulaNode::Atom(atom) => {
                self.bytes.push(ATOM);
                self.number(atom.0);
            }
            FormulaNode::Unary(op) => self.bytes.push(UNARY + op as u8),
            FormulaNode::Binary(op) => self.bytes.push(BINARY + op as u8),
        }
    }

    fn edge(&mut self, edge: &AutomatonEdge) {
        self.number(edge.source);
        // Shifted by one, so that 0 means `None`.
        self.number(edge.target.map_or(0, |target| u64::from(target) + 1));
        self.number(edge.rank);
        self.bytes.push(edge.atomic.into());
        self.origin(edge.origin.as_ref());
        match &edge.label {
            EdgeLabel::True => self.bytes.push(ALWAYS),
            EdgeLabel::Else => self.bytes.push(ELSE),
            EdgeLabel::When(atom) => {
                self.bytes.push(WHEN);
                self.number(atom.0);
            }
            EdgeLabel::Assert(atom) => {
                self.bytes.push(ASSERT);
                self.number(atom.0);
            }
            EdgeLabel::Send(event) | EdgeLabel::Receive(event) => {
                self.bytes.push(if matches!(edge.label, EdgeLabel::Send(_)) { SEND } else { RECEIVE });
                self.number(event.channel.0);
                self.list(&event.fields, |w, field| w.number(field.map_or(0, |atom| u64::from(atom.0) + 1)));
            }
        }
    }
}

impl Reader<'_> {
    pub(super) fn property(&mut self) -> Decoded<PropertyEntry> {
        let (name, origin) = (self.text()?, self.origin()?);
        let kind = match self.code(|code| (code <= NOTRACE).then_some(code))? {
            LTL => PropertyBody::Ltl(Formula(self.list(Self::node)?)),
            NEVER => PropertyBody::Never(self.automaton()?),
            TRACE => PropertyBody::Trace(self.automaton()?),
            _ => PropertyBody::Notrace(self.automaton()?),
        };
        Ok(PropertyEntry { name, origin, kind })
    }

    fn automaton(&mut self) -> Decoded<Automaton> {
        let states = self.list(|r| Ok(AutomatonState { name: r.text()?, kind: r.label_kind()? }))?;
        Ok(Automaton { states, edges: self.list(Self::edge)? })
    }

    fn flag(&mut self) -> Decoded<bool> {
        self.code(|code| (code <= 1).then_some(code == 1))
    }

    fn origin(&mut self) -> Decoded<Option<Origin>> {
        if !self.flag()? {
            return Ok(None);
        }
        let (file, line, column) = (FileIndex(self.number()?), self.number()?, self.number()?);
        Ok(Some(Origin { file, line, column, text: self.text()? }))
    }

    fn node(&mut self) -> Decoded<FormulaNode> {
        let node = self.code(|code| match code {
            TRUE => Some(Some(FormulaNode::True)),
            FALSE => Some(Some(FormulaNode::False)),
            ATOM => Some(None),
            UNARY..BINARY => UnaryOp::from_code(code - UNARY).map(FormulaNode::Unary).map(Some),
            BINARY.. => BinaryOp::from_code(code - BINARY).map(FormulaNode::Binary).map(Some),
            _ => None,
        })?;
        match node {
            Some(node) => Ok(node),
            None => self.atom().map(FormulaNode::Atom),
        }
    }

    fn atom(&mut self) -> Decoded<AtomId> {
        self.number().map(AtomId)
    }

    /// A number shifted by one; 0 means `None`.
    fn shifted<T: TryFrom<u64>>(&mut self) -> Decoded<Option<T>> {
        let wrong = self.error(DecodeErrorKind::Number);
        let number = self.number::<u64>()?.checked_sub(1);
        number.map(|number| T::try_from(number).map_err(|_| wrong)).transpose()
    }

    fn edge(&mut self) -> Decoded<AutomatonEdge> {
        let (source, target, rank) = (self.number()?, self.shifted()?, self.number()?);
        let (atomic, origin) = (self.flag()?, self.origin()?);
        let label = match self.code(|code| (code <= RECEIVE).then_some(code))? {
            ALWAYS => EdgeLabel::True,
            WHEN => EdgeLabel::When(self.atom()?),
            ELSE => EdgeLabel::Else,
            ASSERT => EdgeLabel::Assert(self.atom()?),
            SEND => EdgeLabel::Send(self.event()?),
            _ => EdgeLabel::Receive(self.event()?),
        };
        Ok(AutomatonEdge { source, target, label, rank, atomic, origin })
    }

    fn event(&mut self) -> Decoded<Event> {
        let channel = self.atom()?;
        let fields = self.list(|r| Ok(r.shifted::<u16>()?.map(AtomId)))?;
        Ok(Event { channel, fields })
    }
}
