//! Properties: names of atoms and states are replaced by numbers.

use super::{Complaints, Names, Positions, Resolved, Table, Tables, numbered};
use crate::asm::parser::{self, Edge, EdgeLabel as Label, PropertyLine};
use crate::formula::Formula;
use crate::ids::{AtomId, FileIndex};
use crate::program::Program;
use crate::property::{Automaton, AutomatonEdge, AutomatonState, EdgeLabel, Event, Origin, PropertyBody, PropertyEntry};
use source::{Diagnostic, Span};

/// Appends the properties.
pub(super) fn properties(
    program: &mut Program,
    read: &[parser::Property],
    names: &Names<'_>,
    tables: &mut Tables,
    positions: &Positions<'_>,
    complaints: &mut Complaints,
) {
    Table::new("property", read.iter().map(|property| &property.name), complaints);
    for property in read {
        if complaints.is_full() {
            return;
        }
        let mut builder = Builder { names, tables, positions, complaints, origin: None };
        let built = builder.property(property);
        program.properties.extend(built);
    }
}

struct Builder<'a, 'n> {
    names: &'a Names<'n>,
    tables: &'a mut Tables,
    positions: &'a Positions<'a>,
    complaints: &'a mut Complaints,
    /// The position that `.line` gave for the following line.
    origin: Option<Origin>,
}

impl Builder<'_, '_> {
    fn property(&mut self, property: &parser::Property) -> Option<PropertyEntry> {
        let mut own_origin = None;
        let mut formula = None;
        let mut automaton = Automaton::default();
        let states = property.lines.iter().filter_map(|line| match line {
            PropertyLine::State { name, .. } => Some(name),
            _ => None,
        });
        let states = Table::new("state", states, self.complaints);
        let mut first = true;
        for line in &property.lines {
            if self.complaints.is_full() {
                return None;
            }
            match line {
                PropertyLine::Origin { file, line, column, text, span } => {
                    let file = self.complaints.take(numbered(FileIndex::new(self.tables.files.number(file)), *span))?;
                    let origin = Origin { file, line: *line, column: *column, text: text.clone() };
                    // The first position is that of the property itself.
                    if std::mem::take(&mut first) {
                        own_origin = Some(origin)
                    } else {
                        self.origin = Some(origin)
                    }
                    continue;
                }
                PropertyLine::Formula { text, span } => match formula {
                    None => formula = Some(self.formula(text, *span)),
                    Some(_) => self.complaints.push(Diagnostic::error(*span, "another formula in this property")),
                },
                PropertyLine::State { name, kind } => automaton.states.push(AutomatonState { name: name.text.clone(), kind: *kind }),
                PropertyLine::Edge(edge) => {
                    let built = self.edge(edge, &states);
                    automaton.edges.extend(self.complaints.take(built));
                }
            }
            first = false;
        }
        let at = property.name.span;
        if own_origin.is_none() {
            own_origin = self.automatic(at);
        }
        let is_formula = property.keyword == "ltl";
        let complaint = match (is_formula, &formula, automaton == Automaton::default()) {
            (true, None, _) => Some("a property without a formula"),
            (true, Some(_), false) => Some("a formula has no states and edges"),
            (false, Some(_), _) => Some("an automaton has no formula"),
            (false, None, true) => Some("an automaton without states"),
            _ => None,
        };
        if let Some(complaint) = complaint {
            self.complaints.push(Diagnostic::error(at, complaint));
        }
        let kind = match property.keyword {
            "never" => PropertyBody::Never(automaton),
            "trace" => PropertyBody::Trace(automaton),
            "notrace" => PropertyBody::Notrace(automaton),
            _ => PropertyBody::Ltl(formula??),
        };
        Some(PropertyEntry { name: property.name.text.clone(), origin: own_origin, kind })
    }

    /// The position in the assembly file itself, if no other position is given.
    fn automatic(&mut self, span: Span) -> Option<Origin> {
        if self.positions.explicit {
            return None;
        }
        let (file, line, column) = self.complaints.take(self.positions.here(self.tables, span))?;
        Some(Origin { file, line, column, text: self.positions.map.snippet(span).to_owned() })
    }

    fn formula(&mut self, text: &str, span: Span) -> Option<Formula> {
        let mut atom = |name: &str| AtomId::new(self.names.atoms.find(name)?);
        match Formula::parse(text, &mut atom) {
            Ok(formula) => Some(formula),
            Err(error) => {
                self.complaints.push(Diagnostic::error(span, error.to_string()));
                None
            }
        }
    }

    fn edge(&mut self, edge: &Edge, states: &Table<'_>) -> Resolved<AutomatonEdge> {
        let atom = |name: &parser::Name| numbered(AtomId::new(self.names.atoms.get(name)?), name.span);
        let state = |name: &parser::Name| numbered(u32::try_from(states.get(name)?).ok(), name.span);
        let label = match &edge.label {
            Label::True => EdgeLabel::True,
            Label::Else => EdgeLabel::Else,
            Label::When(name) => EdgeLabel::When(atom(name)?),
            Label::Assert(name) => EdgeLabel::Assert(atom(name)?),
            Label::Event { sent, channel, fields } => {
                let fields = fields.iter().map(|field| field.as_ref().map(atom).transpose()).collect::<Resolved<_>>()?;
                let event = Event { channel: atom(channel)?, fields };
                if *sent { EdgeLabel::Send(event) } else { EdgeLabel::Receive(event) }
            }
        };
        let (source, target) = (state(&edge.source)?, edge.target.as_ref().map(state).transpose()?);
        let origin = self.origin.take().or_else(|| self.automatic(edge.span));
        Ok(AutomatonEdge { source, target, label, rank: edge.rank, atomic: edge.atomic, origin })
    }
}
