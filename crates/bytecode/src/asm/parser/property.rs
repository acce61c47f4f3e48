//! Lines of properties: `ltl`, `never`, `trace` and `notrace` blocks.

use super::{Name, Parsed, Parser};
use crate::program::LabelKind;
use source::{Diagnostic, Span, did_you_mean};

/// A property.
#[derive(Debug)]
pub(in crate::asm) struct Property {
    /// `ltl`, `never`, `trace` or `notrace`.
    pub keyword: &'static str,
    pub name: Name,
    pub lines: Vec<Line>,
}

/// A line of a property.
#[derive(Debug)]
pub(in crate::asm) enum Line {
    /// `.line`
    Origin { file: String, line: u32, column: u32, text: String, span: Span },
    /// `formula "…"`
    Formula { text: String, span: Span },
    /// `state name accept`
    State { name: Name, kind: LabelKind },
    /// `edge …` and `exit …`
    Edge(Edge),
}

/// An edge of an automaton.
#[derive(Debug)]
pub(in crate::asm) struct Edge {
    pub source: Name,
    /// None for `exit`.
    pub target: Option<Name>,
    pub label: Label,
    pub rank: u32,
    pub atomic: bool,
    pub span: Span,
}

/// The condition under which an edge can be taken.
#[derive(Debug)]
pub(in crate::asm) enum Label {
    True,
    When(Name),
    Else,
    Assert(Name),
    /// The channel and the fields; whether the message is sent.
    Event {
        sent: bool,
        channel: Name,
        fields: Vec<Option<Name>>,
    },
}

impl Property {
    /// A substitute for a property whose header could not be read.
    pub fn nothing(span: Span) -> Property {
        Property { keyword: "ltl", name: Name { text: String::new(), span }, lines: Vec::new() }
    }
}

impl Parser<'_> {
    /// The header of a property.
    pub(super) fn property(&mut self) -> Parsed<Property> {
        let keyword = match self.word("a kind of property")? {
            "never" => "never",
            "trace" => "trace",
            "notrace" => "notrace",
            _ => "ltl",
        };
        let name = self.name("a name")?;
        self.mark('{')?;
        Ok(Property { keyword, name, lines: Vec::new() })
    }

    /// A line in the body of a property.
    pub(super) fn property_line(&mut self, property: &mut Property) -> Parsed<()> {
        let span = self.here();
        if self.peek().is_none() {
            return Ok(());
        }
        if self.eat('.') {
            return match self.word("a directive")? {
                "line" => {
                    let (file, line, column, text) = self.position()?;
                    property.lines.push(Line::Origin { file, line, column, text, span });
                    Ok(())
                }
                other => Err(Diagnostic::error(span, format!("`.{other}` is not a directive inside a property"))
                    .with_hint_opt(did_you_mean(other, ["line"]))),
            };
        }
        let line = match self.word("a line of a property")? {
            "formula" => Line::Formula { span: self.here(), text: self.text()? },
            "state" => {
                let name = self.name("a name")?;
                let mut kind = LabelKind::default();
                while let Some(word) = self.peek_word() {
                    match word {
                        "end" => kind.end = true,
                        "progress" => kind.progress = true,
                        "accept" => kind.accept = true,
                        _ => break,
                    }
                    self.at += 1;
                }
                Line::State { name, kind }
            }
            "edge" => {
                let source = self.name("a state")?;
                self.mark(',')?;
                let target = Some(self.name("a state")?);
                Line::Edge(self.edge(source, target, span)?)
            }
            "exit" => {
                let source = self.name("a state")?;
                Line::Edge(self.edge(source, None, span)?)
            }
            other => {
                let hint = did_you_mean(other, ["formula", "state", "edge", "exit"]);
                return Err(Diagnostic::error(span, format!("`{other}` does not begin a line of a property")).with_hint_opt(hint));
            }
        };
        property.lines.push(line);
        Ok(())
    }

    fn edge(&mut self, source: Name, target: Option<Name>, span: Span) -> Parsed<Edge> {
        let label = match self.peek_word() {
            Some("when") => {
                self.at += 1;
                Label::When(self.name("an atom")?)
            }
            Some("assert") => {
                self.at += 1;
                Label::Assert(self.name("an atom")?)
            }
            Some("else") => {
                self.at += 1;
                Label::Else
            }
            Some(word @ ("send" | "receive")) => {
                self.at += 1;
                let channel = self.name("an atom")?;
                self.mark('(')?;
                let fields = self.list(')', |parser| {
                    // A star would be a separate token; a dot is one already and cannot be a name.
                    if parser.eat('.') { Ok(None) } else { parser.name("an atom, or `.` for any value").map(Some) }
                })?;
                Label::Event { sent: word == "send", channel, fields }
            }
            _ => Label::True,
        };
        let rank = if self.eat_word("rank") { self.number(0, u32::MAX.into())? as u32 } else { 0 };
        let atomic = self.eat_word("atomic");
        let span = self.tokens.get(self.at.saturating_sub(1)).map_or(span, |last| span.to(last.span));
        Ok(Edge { source, target, label, rank, atomic, span })
    }
}
