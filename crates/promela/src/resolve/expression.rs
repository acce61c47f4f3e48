//! Expressions.

use super::Resolver;
use super::constant;
use super::place::{Found, MAX_FIELDS};
use super::statement::Fields;
use super::types::Ty;
use crate::ast::{self, Binary, Expr, ExprKind, Formula, Ident, Reference};
use crate::model::{Ex, Field, LtlNode, Place, Scalar, Scope, Target};
use bytecode::{BinaryOp, UnaryOp};
use source::{Diagnostic, Span, did_you_mean};

impl Resolver<'_> {
    /// An expression; zero after an error, which has been reported.
    pub(super) fn expr(&mut self, expr: &Expr) -> Ex {
        match &expr.kind {
            ExprKind::Number(n) => Ex::Const(*n),
            ExprKind::Ref(reference) => self.value(reference),
            ExprKind::Unary(op, a) => {
                if *op == ast::Unary::Not
                    && let ExprKind::Probe(probe, _) = &a.kind
                    && *probe != ast::Probe::Len
                {
                    self.report(
                        Diagnostic::warning(expr.span, "SPIN does not allow `!` before this operator")
                            .named("negated-channel-test")
                            .with_hint("use `nfull` for `!full`, `nempty` for `!empty`, and so on"),
                    );
                }
                match self.expr(a) {
                    Ex::Const(n) => Ex::Const(constant::unary(*op, n)),
                    a => Ex::Unary(*op, Box::new(a)),
                }
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, expr.span),
            ExprKind::Conditional(c, a, b) => {
                let (c, a, b) = (self.expr(c), self.expr(a), self.expr(b));
                Ex::Conditional(Box::new(c), Box::new(a), Box::new(b))
            }
            ExprKind::Run { name, arguments, priority } => self.run(name, arguments, priority.as_deref(), expr.span),
            ExprKind::Probe(probe, channel) => Ex::Probe(*probe, Box::new(self.channel_value(channel))),
            ExprKind::Poll(receive) => {
                let fields = self.fields(receive, true);
                self.check_fields(&receive.channel, fields.len(), Fields::Polled, expr.span);
                let channel = Box::new(self.channel_value(&receive.channel));
                let fields = fields
                    .into_iter()
                    .map(|f| match f {
                        Field::Match(value) => Some(value),
                        Field::Store(_) => None,
                    })
                    .collect();
                Ex::Poll { channel, any: receive.any, fields }
            }
            ExprKind::Enabled(pid) => Ex::Enabled(Box::new(self.expr(pid))),
            ExprKind::PcValue(pid) => Ex::PcValue(Box::new(self.expr(pid))),
            ExprKind::GetPriority(pid) => {
                self.model.uses_priorities = true;
                Ex::GetPriority(Box::new(self.expr(pid)))
            }
            ExprKind::Timeout => Ex::Timeout,
            ExprKind::NonProgress => Ex::NonProgress,
            ExprKind::RemoteLabel { process, pid, label } => {
                let pid = pid.as_ref().map(|pid| Box::new(self.expr(pid)));
                let Some(process) = self.process_index(process) else { return Ex::Const(0) };
                let known = |(of, other): &(usize, Ident)| *of == process && other.text == label.text;
                if !self.model.remote_labels.iter().any(known) {
                    self.model.remote_labels.push((process, label.clone()));
                }
                Ex::RemoteLabel { process, pid, label: label.text.clone() }
            }
            ExprKind::RemoteVariable { process, pid, variable } => {
                let pid = pid.as_ref().map(|pid| Box::new(self.expr(pid)));
                if let [part] = variable.parts.as_slice()
                    && &*part.name.text == "_pid"
                {
                    return self.process_index(process).map_or(Ex::Const(0), |process| Ex::RemotePid { process, pid });
                }
                let place = self.remote_place(process, variable);
                match place {
                    Some((process, place)) => Ex::RemoteLoad { process, pid, place },
                    None => Ex::Const(0),
                }
            }
            ExprKind::Embedded(fragment, condition) => self.c_expression(fragment, condition.as_ref()),
            ExprKind::Error => Ex::Const(0),
        }
    }

    fn binary(&mut self, op: Binary, a: &Expr, b: &Expr, span: Span) -> Ex {
        self.check_mtypes(a, b);
        let (left, right) = (self.expr(a), self.expr(b));
        if let (Ex::Const(x), Ex::Const(y)) = (&left, &right) {
            match constant::binary(op, *x, *y) {
                Some(value) => return Ex::Const(value),
                None => {
                    let diagnostic = Diagnostic::warning(span, "this divides by zero whenever it is reached").named("division-by-zero");
                    self.report(diagnostic);
                }
            }
        }
        Ex::Binary(op, Box::new(left), Box::new(right))
    }

    /// A comparison of two message names of different sets is certainly a mistake.
    fn check_mtypes(&mut self, a: &Expr, b: &Expr) {
        if let (Some(x), Some(y)) = (self.mtype_of(a), self.mtype_of(b)) {
            self.check_sets(x, y, a.span.to(b.span));
        }
    }

    /// So is a value of one set that is stored in a variable or a message of another. SPIN refuses
    /// it.
    pub(super) fn check_stored(&mut self, ty: Scalar, value: &Expr) {
        if let (Scalar::Mtype(set), Some(given)) = (ty, self.mtype_of(value)) {
            self.check_sets(set, given, value.span);
        }
    }

    fn check_sets(&mut self, x: u8, y: u8, span: Span) {
        if x != y {
            let name = |set: u8| match &self.model.mtypes[set as usize].name {
                Some(name) => format!("`mtype:{name}`"),
                None => "`mtype`".to_owned(),
            };
            let message = format!("{} and {} are different sets of messages", name(x), name(y));
            self.report(Diagnostic::warning(span, message).named("mixed-messages"));
        }
    }

    /// The set of message names to which an expression belongs, if that is clear.
    pub(super) fn mtype_of(&self, expr: &Expr) -> Option<u8> {
        let ExprKind::Ref(reference) = &expr.kind else { return None };
        let [part] = reference.parts.as_slice() else { return None };
        if let Some(&(_, set)) = self.mtypes.get(&part.name.text) {
            return Some(set);
        }
        match self.symbol(&part.name.text)?.ty {
            Ty::Scalar(Scalar::Mtype(set)) => Some(set),
            _ => None,
        }
    }

    /// A name as a value.
    fn value(&mut self, reference: &Reference) -> Ex {
        if let [part] = reference.parts.as_slice() {
            if let Some(&(value, _)) = self.mtypes.get(&part.name.text) {
                return Ex::Const(value);
            }
            match &*part.name.text {
                "_pid" => return Ex::Pid,
                "_nr_pr" => return Ex::ProcessCount,
                "_last" => {
                    self.model.uses_last = true;
                    return Ex::Last;
                }
                "_priority" => {
                    self.model.uses_priorities = true;
                    return Ex::GetPriority(Box::new(Ex::Pid));
                }
                "_" => {
                    self.report(
                        Diagnostic::error(reference.span, "`_` can be written but not read")
                            .with_hint("use a variable whose name you choose"),
                    );
                    return Ex::Const(0);
                }
                _ => {}
            }
        }
        self.place(reference).map_or(Ex::Const(0), Ex::Load)
    }

    /// The destination of an assignment or a receive.
    pub(super) fn target(&mut self, reference: &Reference) -> Target {
        if let [part] = reference.parts.as_slice() {
            match &*part.name.text {
                "_" => return Target::Nowhere,
                "_priority" => {
                    self.model.uses_priorities = true;
                    return Target::Priority;
                }
                name @ ("_pid" | "_nr_pr" | "_last") => {
                    let what = match name {
                        "_pid" => "it is the number of the process, from when it was started",
                        "_nr_pr" => "it is the number of processes",
                        _ => "it is the number of the process that moved last",
                    };
                    self.report(Diagnostic::error(reference.span, format!("`{name}` cannot be changed")).with_note(what));
                    return Target::Nowhere;
                }
                name if self.mtypes.contains_key(name) => {
                    let diagnostic = Diagnostic::error(reference.span, format!("`{name}` is the name of a message, not a variable"));
                    self.report(diagnostic.with_hint("a variable that holds such names is declared by `mtype x`"));
                    return Target::Nowhere;
                }
                _ => {}
            }
        }
        self.place(reference).map_or(Target::Nowhere, Target::Place)
    }

    fn run(&mut self, name: &Ident, arguments: &[Expr], priority: Option<&Expr>, span: Span) -> Ex {
        let mut values = Vec::new();
        for argument in arguments {
            self.values(argument, &mut values);
        }
        let priority = priority.and_then(|p| self.priority(p));
        if let Some(step) = self.current.as_ref().and_then(|c| c.d_step) {
            let diagnostic =
                Diagnostic::error(span, "`run` is not allowed in a `d_step`").with_label(step, "this one").with_hint("use `atomic`");
            self.report(diagnostic);
        }
        if self.current.as_ref().is_some_and(|c| c.creating) {
            let diagnostic = Diagnostic::error(span, "`run` is not allowed in the initial value of a variable");
            self.report(diagnostic.with_hint("declare the variable without it, then write `x = run P()`"));
        }
        let Some(process) = self.process_index(name) else { return Ex::Const(0) };
        let wanted = self.headers[process].parameters;
        if values.len() != wanted {
            let header = &self.headers[process];
            let message = format!("`{}` takes {}, {} given", header.name, source::counted(wanted, "argument"), values.len());
            let diagnostic = Diagnostic::error(span, message).with_label(header.span, "defined here");
            self.report(diagnostic.with_hint(crate::number_hint(wanted, values.len(), "argument")));
            return Ex::Const(0);
        }
        Ex::Run { process, arguments: values, priority }
    }

    /// The values of an argument: one, or those of a structure's fields.
    pub(super) fn values(&mut self, argument: &Expr, out: &mut Vec<Ex>) {
        match self.structure(argument) {
            Some(places) => out.extend(places.into_iter().map(Ex::Load)),
            None => out.push(self.expr(argument)),
        }
    }

    /// The scalars of an argument that is a structure.
    fn structure(&mut self, argument: &Expr) -> Option<Vec<Place>> {
        let ExprKind::Ref(reference) = &argument.kind else { return None };
        let head = reference.parts.first()?;
        if self.mtypes.contains_key(&head.name.text) {
            return None;
        }
        // A first lookup without reports, because only structures are handled here.
        if !self.is_structure(reference) {
            return None;
        }
        match self.find(reference)? {
            Found::Whole { scope, ty: Ty::User(index), first, indices, length: None } => {
                let mut places = Vec::new();
                self.spread(scope, index, first, &indices, argument.span, &mut places);
                Some(places)
            }
            _ => None,
        }
    }

    fn is_structure(&self, reference: &Reference) -> bool {
        let Some(symbol) = reference.parts.first().and_then(|p| self.symbol(&p.name.text)) else {
            return false;
        };
        let mut ty = symbol.ty;
        for part in &reference.parts[1..] {
            let Ty::User(index) = ty else { return false };
            match self.types[index].field(&part.name.text) {
                Some(field) => ty = field.ty,
                None => return false,
            }
        }
        matches!(ty, Ty::User(_))
    }

    /// The fields of a receive or a poll.
    pub(super) fn fields(&mut self, receive: &ast::Receive, poll: bool) -> Vec<Field> {
        let mut fields = Vec::new();
        for (argument, evaluated) in receive.arguments.iter().zip(&receive.evaluated) {
            if *evaluated {
                let mut values = Vec::new();
                self.values(argument, &mut values);
                fields.extend(values.into_iter().map(Field::Match));
                continue;
            }
            if let Some(places) = self.structure(argument) {
                fields.extend(places.into_iter().map(|p| Field::Store(Target::Place(p))));
                continue;
            }
            match &argument.kind {
                ExprKind::Ref(reference) if !self.is_mtype(reference) => {
                    let target = self.target(reference);
                    fields.push(Field::Store(target));
                }
                _ => match self.expr(argument) {
                    value @ Ex::Const(_) => fields.push(Field::Match(value)),
                    _ => {
                        self.report(
                            Diagnostic::error(argument.span, "a message is received into variables")
                                .with_hint("`eval(…)` compares with the value of an expression"),
                        );
                        fields.push(Field::Store(Target::Nowhere));
                    }
                },
            }
        }
        if fields.len() > MAX_FIELDS {
            self.report(
                Diagnostic::error(receive.channel.span, format!("a message has {MAX_FIELDS} fields at most"))
                    .with_hint("divide it into several messages"),
            );
            fields.truncate(MAX_FIELDS);
        }
        if !poll {
            self.check_twice(&fields, receive.channel.span);
        }
        fields
    }

    /// `q?x,x` stores two fields in one variable.
    fn check_twice(&mut self, fields: &[Field], span: Span) {
        let scalar = |field: &Field| match field {
            Field::Store(Target::Place(p)) if p.indices.is_empty() => Some((p.scope, p.leaf)),
            _ => None,
        };
        for (i, field) in fields.iter().enumerate() {
            if let Some(place) = scalar(field)
                && fields[..i].iter().any(|f| scalar(f) == Some(place))
            {
                self.report(
                    Diagnostic::error(span, "one variable receives two fields of the message")
                        .with_hint("give one of the fields another variable, or `_` if its value does not matter"),
                );
                return;
            }
        }
    }

    fn is_mtype(&self, reference: &Reference) -> bool {
        matches!(reference.parts.as_slice(), [part] if self.mtypes.contains_key(&part.name.text))
    }

    fn remote_place(&mut self, process: &Ident, variable: &Reference) -> Option<(usize, Place)> {
        let index = self.process_index(process)?;
        let (head, fields) = variable.parts.split_first()?;
        let Some(symbol) = self.headers[index].outline.get(&head.name.text).cloned() else {
            let header = &self.headers[index];
            let hint = did_you_mean(&head.name.text, header.outline.keys().map(|k| &**k));
            let message = format!("`{}` has no variable `{}`", header.name, head.name.text);
            self.report(Diagnostic::error(head.name.span, message).with_hint_opt(hint));
            return None;
        };
        match self.follow(&symbol, head, fields)? {
            Found::Scalar(place) => Some((index, Place { scope: Scope::Local, ..place })),
            Found::Whole { .. } => {
                self.report(
                    Diagnostic::error(variable.span, "only a scalar of another process can be read")
                        .with_hint("name an element of the array or a field of the structure"),
                );
                None
            }
        }
    }

    /// Looks up the names in a formula. Appends its nodes, operands before operators.
    pub(super) fn formula(&mut self, formula: &Formula, nodes: &mut Vec<LtlNode>) {
        let (operands, node): (&[&Formula], _) = match formula {
            Formula::Atom(atom) => {
                let ex = self.expr(atom);
                nodes.push(LtlNode::Atom(ex, atom.span));
                return;
            }
            Formula::Not(f) => (&[f], LtlNode::Unary(UnaryOp::Not)),
            Formula::Next(f) => (&[f], LtlNode::Unary(UnaryOp::Next)),
            Formula::Always(f) => (&[f], LtlNode::Unary(UnaryOp::Always)),
            Formula::Eventually(f) => (&[f], LtlNode::Unary(UnaryOp::Eventually)),
            Formula::And(a, b) => (&[a, b], LtlNode::Binary(BinaryOp::And)),
            Formula::Or(a, b) => (&[a, b], LtlNode::Binary(BinaryOp::Or)),
            Formula::Implies(a, b) => (&[a, b], LtlNode::Binary(BinaryOp::Implies)),
            Formula::Equivalent(a, b) => (&[a, b], LtlNode::Binary(BinaryOp::Equivalent)),
            Formula::Until(a, b) => (&[a, b], LtlNode::Binary(BinaryOp::Until)),
            Formula::WeakUntil(a, b) => (&[a, b], LtlNode::Binary(BinaryOp::WeakUntil)),
            Formula::Release(a, b) => (&[a, b], LtlNode::Binary(BinaryOp::Release)),
        };
        for operand in operands {
            self.formula(operand, nodes);
        }
        nodes.push(node);
    }
}
