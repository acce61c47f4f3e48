//! Properties: the atoms, formulas and automata that a model states.
//!
//! A claim is not code. It becomes an automaton whose edges carry atoms, so that a search can
//! follow it without knowing how states are made. A claim may therefore not contain statements that
//! change something.

use super::emitter::{Emitter, shortened};
use super::process::live_states;
use crate::ast::AutomatonKind;
use crate::graph::{Effect, Graph, State, Transition};
use crate::model::{Action, AutomatonModel, Ex, Field, LtlNode, Place, Scope};
use bytecode::{
    Atom, AtomId, Automaton, AutomatonEdge, AutomatonState, EdgeLabel, Event, Formula, FormulaNode, LabelKind, Op, Origin, PropertyBody,
    PropertyEntry,
};
use source::{Diagnostic, Span};
use std::collections::HashMap;

/// The atoms made so far.
#[derive(Default)]
pub(super) struct Atoms {
    pub table: Vec<Atom>,
    /// The atoms with the same text, or with the text and a number.
    by_text: HashMap<String, Vec<(Ex, AtomId)>>,
}

impl Emitter<'_> {
    /// The properties of the model. The code of their atoms follows that of the process types.
    pub(super) fn properties(&mut self, automata: &[Graph]) -> Vec<PropertyEntry> {
        let model = self.model;
        let mut properties = Vec::new();
        for ltl in &model.formulas {
            let nodes = ltl.nodes.iter().map(|node| match node {
                LtlNode::Unary(op) => FormulaNode::Unary(*op),
                LtlNode::Binary(op) => FormulaNode::Binary(*op),
                LtlNode::Atom(Ex::Const(0), _) => FormulaNode::False,
                LtlNode::Atom(Ex::Const(_), _) => FormulaNode::True,
                LtlNode::Atom(ex, span) => FormulaNode::Atom(self.condition(ex, *span)),
            });
            let kind = PropertyBody::Ltl(Formula(nodes.collect()));
            let origin = Some(self.origin(ltl.name.span, ltl.text));
            properties.push(PropertyEntry { name: ltl.name.text.to_string(), origin, kind });
        }
        for (automaton, graph) in model.automata.iter().zip(automata) {
            let made = self.automaton(automaton, graph);
            let kind = match automaton.kind {
                AutomatonKind::Never => PropertyBody::Never(made),
                AutomatonKind::Trace => PropertyBody::Trace(made),
                AutomatonKind::Notrace => PropertyBody::Notrace(made),
            };
            let origin = Some(self.origin(automaton.name.span, automaton.name.span));
            properties.push(PropertyEntry { name: automaton.name.text.to_string(), origin, kind });
        }
        properties
    }

    /// The atoms of the expressions that are requested from outside, list by list.
    pub(super) fn values(&mut self) -> Vec<Vec<AtomId>> {
        let lists = &self.model.values;
        lists.iter().map(|list| list.iter().map(|(ex, span)| self.condition(ex, *span)).collect()).collect()
    }

    fn origin(&mut self, place: Span, text: Span) -> Origin {
        // The position of a property that came out of a macro is the use of the macro.
        let place = self.map.places(place).map_or(place, |places| places.used);
        let location = self.location(place);
        let text = shortened(self.map.snippet(text));
        Origin { file: self.file_number(place), line: location.line as u32, column: location.column as u32, text }
    }

    /// The atom of an expression that the user wrote at `span`.
    fn condition(&mut self, ex: &Ex, span: Span) -> AtomId {
        let text = shortened(self.map.snippet(span));
        self.atom(ex, span, text)
    }

    fn atom(&mut self, ex: &Ex, span: Span, text: String) -> AtomId {
        if let Some(why) = unsuitable(ex) {
            let message = format!("{why} has no meaning in a property");
            let hint = "a property looks at the state from outside: no process is running, and nothing changes";
            self.diagnostics.push(Diagnostic::error(span, message).with_hint(hint));
        }
        let known = self.atoms.by_text.entry(text.clone()).or_default();
        if let Some((_, id)) = known.iter().find(|(known, _)| known == ex) {
            return *id;
        }
        let Some(id) = AtomId::new(self.atoms.table.len()).filter(|id| id.0 < u16::MAX) else {
            self.diagnostics.push(Diagnostic::error(span, "the properties have too many different expressions"));
            return AtomId(0);
        };
        known.push((ex.clone(), id));
        // If one text means different things, because of macros or scopes, the atom's name gets a
        // number.
        let name = match known.len() {
            1 => text,
            number => format!("{text}'{number}"),
        };
        let start = self.address();
        self.position(span);
        self.expr(ex);
        self.emit(Op::Ret {});
        self.atoms.table.push(Atom { name, start });
        id
    }

    fn automaton(&mut self, automaton: &AutomatonModel, graph: &Graph) -> Automaton {
        if let Some(local) = automaton.locals.first() {
            let message = format!("a `{}` automaton has no variables of its own", automaton.kind.keyword());
            self.diagnostics.push(Diagnostic::error(local.span, message).with_hint("declare it outside, or use more states"));
        }
        let live: Vec<&State> = live_states(graph).into_iter().filter_map(|number| graph.state(number)).collect();
        // A state whose only transition ends the automaton is left out: the edges that lead to it
        // end the automaton.
        let ends = |state: &State| state.transitions.iter().all(|t| t.effect == Effect::End) && !state.transitions.is_empty();
        let kept: Vec<&State> = live.iter().copied().filter(|state| state.number == graph.start || !ends(state)).collect();
        let numbers: HashMap<u32, u32> = kept.iter().enumerate().map(|(i, state)| (state.number, i as u32)).collect();
        let mut names: HashMap<u32, &str> = HashMap::new();
        for (name, state) in &graph.labels {
            names.entry(*state).or_insert(name);
        }
        let mut made = Automaton::default();
        for state in &kept {
            let label = names.get(&state.number).map(|name| format!("{name} ")).unwrap_or_default();
            let kind = LabelKind { end: state.end, progress: state.progress, accept: state.accept };
            made.states.push(AutomatonState { name: format!("{label}{}", state.number), kind });
            let groups = state.transitions.chunk_by(|a, b| a.escape == b.escape);
            for (rank, group) in groups.enumerate() {
                for transition in group {
                    let Some(label) = self.edge_label(automaton.kind, graph, transition) else { continue };
                    made.edges.push(AutomatonEdge {
                        source: numbers[&state.number],
                        target: numbers.get(&transition.target).copied().filter(|_| transition.effect != Effect::End),
                        label,
                        rank: rank as u32,
                        atomic: transition.atomic,
                        origin: Some(self.origin(transition.span, transition.span)),
                    });
                }
            }
        }
        made
    }

    /// The condition of a transition of a claim. `None` if the transition is never possible, or if
    /// an error was reported.
    fn edge_label(&mut self, kind: AutomatonKind, graph: &Graph, transition: &Transition) -> Option<EdgeLabel> {
        let span = transition.span;
        let action = match &transition.effect {
            Effect::Skip | Effect::End => return Some(EdgeLabel::True),
            Effect::Else => return Some(EdgeLabel::Else),
            Effect::Never => return None,
            Effect::Action(action) => &graph.actions[*action].0,
            Effect::Deterministic(_) => {
                let message = format!("a `d_step` in a `{}` automaton", kind.keyword());
                self.diagnostics.push(Diagnostic::error(span, message).with_hint("use `atomic`"));
                return None;
            }
        };
        let over_states = kind == AutomatonKind::Never;
        match action {
            Action::True | Action::Skip | Action::Print(..) | Action::PrintMtype(..) => Some(EdgeLabel::True),
            Action::Guard(Ex::Const(0)) if over_states => None,
            Action::Guard(Ex::Const(_)) if over_states => Some(EdgeLabel::True),
            Action::Guard(ex) if over_states => Some(EdgeLabel::When(self.condition(ex, span))),
            Action::Assert(ex) if over_states => Some(EdgeLabel::Assert(self.asserted(ex, span))),
            Action::Send { channel, arguments, .. } if !over_states => {
                let fields = arguments.iter().map(|ex| (*ex != Ex::Anything).then_some(ex)).collect();
                Some(EdgeLabel::Send(self.event(channel, fields, span)))
            }
            Action::Receive { channel, fields, .. } if !over_states => {
                let fields = fields.iter().map(|field| match field {
                    Field::Match(ex) => Some(ex),
                    Field::Store(_) => None,
                });
                Some(EdgeLabel::Receive(self.event(channel, fields.collect(), span)))
            }
            _ => {
                let diagnostic = match over_states {
                    true => Diagnostic::error(span, "a `never` claim must not change anything, send or receive")
                        .with_hint("it consists of conditions, `skip`, `else` and `assert`"),
                    false => Diagnostic::error(span, format!("this is not an event of a `{}` automaton", kind.keyword()))
                        .with_hint("it consists of sends and receives"),
                };
                self.diagnostics.push(diagnostic);
                None
            }
        }
    }

    /// The atom of an assertion. Its text is the text in the parentheses.
    fn asserted(&mut self, ex: &Ex, span: Span) -> AtomId {
        let text = shortened(self.map.snippet(span));
        let inner = text.strip_prefix("assert").map(str::trim).and_then(|text| text.strip_prefix('(')?.strip_suffix(')'));
        let text = inner.map_or_else(|| text.clone(), |inner| inner.trim().to_owned());
        self.atom(ex, span, text)
    }

    fn event(&mut self, channel: &Ex, fields: Vec<Option<&Ex>>, span: Span) -> Event {
        let mut named = |ex: &Ex| {
            let text = self.value_text(ex).unwrap_or_else(|| shortened(self.map.snippet(span)));
            self.atom(ex, span, text)
        };
        Event { channel: named(channel), fields: fields.into_iter().map(|field| field.map(&mut named)).collect() }
    }

    /// A number or a variable as text, because the fields of a message have no span.
    fn value_text(&self, ex: &Ex) -> Option<String> {
        match ex {
            Ex::Const(number) => Some(number.to_string()),
            Ex::Load(Place { scope: Scope::Global, leaf, indices, .. }) => {
                let indices = indices.iter().map(|index| self.value_text(index).map(|text| format!("[{text}]")));
                Some(format!("{}{}", self.model.globals[*leaf].name, indices.collect::<Option<String>>()?))
            }
            _ => None,
        }
    }
}

/// The part of an expression that is not allowed in a property, in words.
fn unsuitable(ex: &Ex) -> Option<&'static str> {
    let any = |parts: &[&Ex]| parts.iter().find_map(|part| unsuitable(part));
    match ex {
        Ex::Pid => Some("`_pid`"),
        Ex::Run { .. } => Some("`run`"),
        Ex::After(..) => Some("statements of C"),
        Ex::Never(_) => Some("a pointer of C"),
        Ex::Load(place) if place.scope == Scope::Local => Some("a local variable"),
        Ex::Load(place) => place.indices.iter().find_map(unsuitable),
        Ex::Unary(_, a) | Ex::Probe(_, a) | Ex::Enabled(a) | Ex::PcValue(a) | Ex::GetPriority(a) => unsuitable(a),
        Ex::Binary(_, a, b) | Ex::Exact(_, a, b) => any(&[a, b]),
        Ex::Within(_, _, a) => unsuitable(a),
        Ex::Conditional(a, b, c) => any(&[a, b, c]),
        Ex::Poll { channel, fields, .. } => unsuitable(channel).or_else(|| fields.iter().flatten().find_map(unsuitable)),
        Ex::RemoteLabel { pid, .. } | Ex::RemotePid { pid, .. } => pid.as_deref().and_then(unsuitable),
        Ex::RemoteLoad { pid, place, .. } => pid.as_deref().and_then(unsuitable).or_else(|| place.indices.iter().find_map(unsuitable)),
        Ex::Const(_) | Ex::ProcessCount | Ex::Last | Ex::Timeout | Ex::NonProgress | Ex::Anything => None,
    }
}
