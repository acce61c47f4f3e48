//! Statements: opens and closes scopes, and turns declarations into assignments.

use super::Resolver;
use super::place::Found;
use super::types::Ty;
use crate::ast::{self, Binary, Expr, Initial, LoopParts, Range, Reference, Step, Stmt, StmtKind, Visibility};
use crate::limits::MAX_CLAIMS;
use crate::model::{Action, Ex, Field, Node, Place, Scalar, Scope, ScopePath, Seq, Stm, Target, Values};
use source::{Diagnostic, Span, counted};
use std::collections::HashMap;

impl Resolver<'_> {
    /// A sequence in braces.
    pub(super) fn block(&mut self, steps: &[Step]) -> Seq {
        if let Some(current) = &mut self.current {
            current.blocks += 1;
            current.path.push(current.blocks);
            current.scopes.push(HashMap::new());
        }
        let seq = self.sequence(steps);
        if let Some(current) = &mut self.current {
            current.scopes.pop();
            current.path.pop();
        }
        seq
    }

    fn sequence(&mut self, steps: &[Step]) -> Seq {
        let mut seq = Vec::new();
        for step in steps {
            match step {
                Step::Declaration(declaration) => self.local_declaration(declaration, &mut seq),
                Step::Exclusive(receives, channels, span) => {
                    self.exclusive(*receives, channels, *span, &mut seq);
                }
                Step::Statement(stmt) => {
                    let stm = self.statement(stmt);
                    seq.push(stm);
                }
            }
        }
        seq.shrink_to_fit();
        seq
    }

    pub(super) fn path(&self) -> ScopePath {
        self.current.as_ref().map_or_else(|| [].into(), |c| c.path.as_slice().into())
    }

    fn local_declaration(&mut self, declaration: &ast::Declaration, seq: &mut Seq) {
        if declaration.visibility == Visibility::Hidden {
            self.report(
                Diagnostic::error(declaration.span, "only a global can be hidden")
                    .with_hint("write it before the first `proctype`, or leave out `hidden`"),
            );
        }
        for variable in &declaration.variables {
            self.check_stdin(declaration, variable);
            let initialising = self.current.as_ref().is_some_and(|c| c.initialising);
            let outer = self.table(Scope::Local).len();
            // The initial value is read before the name becomes visible.
            let Some(ty) = self.peek_ty(declaration, variable) else { continue };
            if initialising {
                let first = outer;
                if self.declare(declaration, variable) == Some(first) {
                    self.initialise_local(first, ty, variable);
                }
                continue;
            }
            if matches!(variable.initial, Some(Initial::Channel { .. })) {
                self.report(
                    Diagnostic::error(variable.span, "a channel must be created before the first statement")
                        .with_hint("move this declaration to the beginning of the process"),
                );
                self.declare(declaration, &ast::Variable { initial: None, ..variable.clone() });
                continue;
            }
            let plain = ast::Variable { initial: None, ..variable.clone() };
            let Some(first) = self.declare(declaration, &plain) else { continue };
            // The fields' own initial values are set with the process, wherever it is declared.
            self.initialise_local(first, ty, &plain);
            let action = self.store_initial(first, ty, variable);
            let alone = declaration.variables.len() == 1;
            let span = if alone { declaration.span } else { variable.span };
            seq.push(Stm { node: Node::Basic(action), span });
        }
    }

    fn peek_ty(&mut self, declaration: &ast::Declaration, variable: &ast::Variable) -> Option<Ty> {
        let known = self.diagnostics.len();
        let ty = self.ty(&declaration.ty, variable);
        if ty.is_some() {
            self.diagnostics.truncate(known);
        }
        ty
    }

    /// The effect of a declaration after the first statement, each time it is executed.
    fn store_initial(&mut self, leaf: usize, ty: Ty, variable: &ast::Variable) -> Action {
        let Ty::Scalar(scalar) = ty else {
            if let Some(initial) = &variable.initial {
                self.no_struct_value(initial, variable.span);
            }
            return Action::Skip;
        };
        let scope = Scope::Local;
        let length = variable.length.as_ref().and_then(|_| self.array_length(variable));
        let place = |indices| Target::Place(Place { scope, leaf, indices, ty: scalar });
        match (&variable.initial, length) {
            (None, None) => Action::Assign(place(Vec::new()), Ex::Const(0)),
            // Without initial values SPIN resets the first element alone.
            (None, Some(_)) => Action::Assign(place(vec![Ex::Const(0)]), Ex::Const(0)),
            (Some(Initial::Value(expr)), None) => {
                let value = self.expr(expr);
                self.check_stored(scalar, expr);
                Action::Assign(place(Vec::new()), value)
            }
            (Some(Initial::Value(expr)), Some(length)) => {
                let value = self.expr(expr);
                Action::Fill { scope, leaf, values: Values { list: vec![value], own: length, count: length } }
            }
            (Some(Initial::List(exprs)), Some(length)) => {
                let list = exprs.iter().map(|e| self.expr(e)).collect();
                Action::Fill { scope, leaf, values: Values { list, own: length, count: length } }
            }
            (Some(Initial::List(_)), None) => {
                self.report(
                    Diagnostic::error(variable.span, "only an array has a list of initial values")
                        .with_hint("write one value: `byte x = 1`"),
                );
                Action::Skip
            }
            (Some(Initial::Channel { .. }), _) => Action::Skip,
        }
    }

    fn exclusive(&mut self, receives: bool, channels: &[Reference], span: Span, seq: &mut Seq) {
        let initialising = self.current.as_ref().is_some_and(|c| c.initialising);
        for channel in channels {
            let value = self.exclusive_channel(channel);
            let Some(value) = value else { continue };
            for value in value {
                let action = Action::Exclusive(receives, value);
                match &mut self.current {
                    Some(current) => current.prologue.push((action, span)),
                    None => seq.push(Stm { node: Node::Basic(action), span }),
                }
            }
        }
        if !initialising {
            let message = "the claim holds from the beginning of the process, not from this place";
            self.report(Diagnostic::warning(span, message).named("late-claim"));
        }
    }

    /// A channel named by `xr` or `xs`; a whole array claims each of its elements.
    fn exclusive_channel(&mut self, channel: &Reference) -> Option<Vec<Ex>> {
        let claimed = self.current.as_ref().map_or(0, |c| c.prologue.len());
        match self.find(channel)? {
            Found::Scalar(place) => Some(vec![Ex::Load(place)]),
            Found::Whole { length: Some(length), .. } if claimed + length as usize > MAX_CLAIMS => {
                let message = format!("with the {length} channels of this array more than {MAX_CLAIMS} are claimed");
                self.report(Diagnostic::error(channel.span, message).with_hint("claim the elements that are used, one by one"));
                None
            }
            Found::Whole { scope, ty: Ty::Scalar(ty), first, indices, length: Some(length) } => Some(
                (0..length)
                    .map(|k| {
                        let mut indices = indices.clone();
                        indices.push(Ex::Const(k as i32));
                        Ex::Load(Place { scope, leaf: first, indices, ty })
                    })
                    .collect(),
            ),
            Found::Whole { .. } => {
                self.report(Diagnostic::error(channel.span, "this is not a channel").with_hint("a channel is `chan c = [1] of { byte }`"));
                None
            }
        }
    }

    pub(super) fn statement(&mut self, stmt: &Stmt) -> Stm {
        let span = stmt.span;
        // Composite statements open sequences, plain ones are statements: both end the initialising
        // part of a process.
        if let Some(current) = &mut self.current {
            current.initialising = false;
        }
        let node = match &stmt.kind {
            StmtKind::Expr(Expr { kind: ast::ExprKind::Number(1), .. }) => Node::Basic(Action::True),
            StmtKind::Expr(expr) => {
                self.check_run(expr);
                Node::Basic(Action::Guard(self.expr(expr)))
            }
            StmtKind::Assign(reference, expr) => {
                let value = self.expr(expr);
                let target = self.target(reference);
                if let Target::Place(place) = &target {
                    self.check_stored(place.ty, expr);
                }
                Node::Basic(Action::Assign(target, value))
            }
            StmtKind::Send { channel, sorted, arguments } => {
                let mut values = Vec::new();
                for argument in arguments {
                    // In a trace, `_` leaves a field unspecified.
                    if self.in_trace && is_underscore(argument) {
                        values.push(Ex::Anything);
                    } else {
                        self.values(argument, &mut values);
                    }
                }
                self.check_fields(channel, values.len(), Fields::Sent, span);
                self.check_message(channel, arguments);
                let channel = self.channel_value(channel);
                Node::Basic(Action::Send { channel, sorted: *sorted, arguments: values })
            }
            StmtKind::Receive(receive) => {
                let fields = self.fields(receive, false);
                self.check_fields(&receive.channel, fields.len(), if receive.keep { Fields::Copied } else { Fields::Received }, span);
                self.check_message(&receive.channel, &receive.arguments);
                let channel = self.channel_value(&receive.channel);
                Node::Basic(Action::Receive { channel, any: receive.any, keep: receive.keep, fields })
            }
            StmtKind::Assert(expr) => Node::Basic(Action::Assert(self.expr(expr))),
            StmtKind::Printf(format, arguments) => {
                let arguments = arguments.iter().map(|a| self.expr(a)).collect();
                Node::Basic(Action::Print(format.clone(), arguments))
            }
            StmtKind::Printm(expr) => {
                let set = self.mtype_of(expr).unwrap_or(0);
                Node::Basic(Action::PrintMtype(self.expr(expr), set))
            }
            StmtKind::SetPriority(process, priority) => {
                self.model.uses_priorities = true;
                let (process, priority) = (self.expr(process), self.expr(priority));
                Node::Basic(Action::SetPriority(process, priority))
            }
            StmtKind::Else => Node::Else,
            StmtKind::Goto(label) => Node::Goto(label.clone(), self.path()),
            StmtKind::Break => {
                if self.current.as_ref().is_some_and(|c| c.loops == 0) {
                    self.report(
                        Diagnostic::error(span, "`break` outside a loop")
                            .with_hint("it leaves a `do … od` or a `for`; `goto` leads elsewhere"),
                    );
                }
                Node::Break
            }
            StmtKind::If(options) => Node::If(options.iter().map(|option| self.sequence(option)).collect()),
            StmtKind::Do(options) => {
                self.enter_loop();
                let options = options.iter().map(|option| self.sequence(option)).collect();
                self.leave_loop();
                Node::Do(options)
            }
            StmtKind::For { variable, range, body, header, parts } => self.for_loop(variable, range, body, *header, *parts),
            StmtKind::Select { variable, from, to } => self.select(variable, from, to, span),
            StmtKind::Atomic(steps) => Node::Atomic(self.block(steps)),
            StmtKind::DStep(steps) => Node::DStep(self.d_step(steps, span)),
            StmtKind::Block(steps) => Node::Block(self.block(steps)),
            StmtKind::Unless(main, escape) => {
                let main = self.statement(main);
                let escape = self.statement(escape);
                Node::Unless(Box::new(main), Box::new(escape))
            }
            StmtKind::Label(label, stmt) => {
                let path = self.path();
                Node::Label(label.clone(), path, Box::new(self.statement(stmt)))
            }
            StmtKind::Embedded(fragment, condition) => {
                self.model.uses_c = true;
                self.c_statement(fragment, condition.as_ref(), span)
            }
            StmtKind::EmbeddedDeclarations(fragment) => {
                let hint = "declare variables of C outside processes, or inside a `c_code`";
                self.report(Diagnostic::error(fragment.span, "`c_decl` inside a process").with_hint(hint));
                Node::Basic(Action::Skip)
            }
            StmtKind::Error => Node::Basic(Action::Skip),
        };
        Stm { node, span }
    }

    fn d_step(&mut self, steps: &[Step], span: Span) -> Seq {
        let outer = self.current.as_mut().and_then(|c| c.d_step.replace(span));
        let seq = self.block(steps);
        if let Some(current) = &mut self.current {
            current.d_step = outer;
        }
        seq
    }

    fn enter_loop(&mut self) {
        if let Some(current) = &mut self.current {
            current.loops += 1;
        }
    }

    fn leave_loop(&mut self) {
        if let Some(current) = &mut self.current {
            current.loops -= 1;
        }
    }

    /// `run` starts one process, and its guard is the process number. SPIN allows no expression
    /// around it.
    fn check_run(&mut self, expr: &Expr) {
        fn runs(expr: &Expr) -> usize {
            match &expr.kind {
                ast::ExprKind::Run { arguments, .. } => 1 + arguments.iter().map(runs).sum::<usize>(),
                ast::ExprKind::Unary(_, a) => runs(a),
                ast::ExprKind::Binary(_, a, b) => runs(a) + runs(b),
                ast::ExprKind::Conditional(a, b, c) => runs(a) + runs(b) + runs(c),
                _ => 0,
            }
        }
        let count = runs(expr);
        if count > 1 {
            self.report(
                Diagnostic::error(expr.span, "one expression can start one process only").with_hint("write one statement for each `run`"),
            );
        } else if count == 1 && !matches!(expr.kind, ast::ExprKind::Run { .. }) {
            self.report(
                Diagnostic::error(expr.span, "`run` cannot be part of a larger condition")
                    .with_hint("store the new process's number first: `p = run P()`"),
            );
        }
    }

    /// Checks the number of fields, if the channel's declaration is known. Sending too many fields
    /// is certainly a mistake. Every other mismatch is a fault only when it is executed, as in
    /// SPIN; a copy or a poll may leave out the last fields.
    pub(super) fn check_fields(&mut self, channel: &Reference, given: usize, how: Fields, span: Span) {
        let [part] = channel.parts.as_slice() else { return };
        let Some(symbol) = self.symbol(&part.name.text).cloned() else { return };
        let Some((_, types)) = &symbol.channel else { return };
        let known = self.diagnostics.len();
        let fields: Vec<(ast::TypeName, Span)> = types.iter().map(|t| (t.clone(), span)).collect();
        let capacity = Expr { kind: ast::ExprKind::Number(0), span };
        let types_before = self.model.channel_types.len();
        let ty = self.channel(&capacity, &fields).map(|ty| self.model.channel_types[ty].fields.len());
        self.model.channel_types.truncate(types_before);
        self.diagnostics.truncate(known);
        let Some(wanted) = ty.filter(|wanted| *wanted != given) else { return };
        let few_are_enough = matches!(how, Fields::Copied | Fields::Polled);
        if given < wanted && few_are_enough {
            return;
        }
        let message = format!("a message of `{}` has {}, {given} given", part.name.text, counted(wanted, "field"));
        let diagnostic = if how == Fields::Sent && given > wanted {
            Diagnostic::error(span, message).with_hint(crate::number_hint(wanted, given, "field"))
        } else {
            let what = match how {
                Fields::Sent => "a send",
                Fields::Received | Fields::Copied => "a receive",
                Fields::Polled => "a poll",
            };
            let hint = format!("{what} like this is a violation as soon as it is executed");
            Diagnostic::warning(span, message).named("message-fields").with_hint(hint)
        };
        self.report(diagnostic.with_label(symbol.span, "declared here"));
    }

    /// Checks that names of messages are in the set of their field, if the channel's declaration is
    /// known.
    pub(super) fn check_message(&mut self, channel: &Reference, arguments: &[Expr]) {
        let [part] = channel.parts.as_slice() else { return };
        let Some((_, types)) = self.symbol(&part.name.text).and_then(|symbol| symbol.channel.clone()) else { return };
        for (ty, argument) in types.iter().zip(arguments) {
            match ty {
                // A structure is several fields.
                ast::TypeName::User(_) => return,
                ast::TypeName::Mtype(set) => {
                    let set = self.mtype_set(set.as_ref());
                    self.check_stored(Scalar::Mtype(set), argument);
                }
                _ => {}
            }
        }
    }

    // --- Loops SPIN builds by itself
    // ----------------------------------------------------------------

    fn for_loop(&mut self, variable: &Reference, range: &Range, body: &[Step], span: Span, parts: LoopParts) -> Node {
        match range {
            Range::Values(from, to) => {
                let from = self.expr(from);
                let Some(place) = self.counter(variable) else { return Node::Basic(Action::Skip) };
                let to = self.expr(to);
                self.counting(place, from, Binary::Le, to, Vec::new(), body, parts)
            }
            Range::In(collection) => self.for_in(variable, collection, body, span, parts),
        }
    }

    /// The variable of a `for` or a `select`: a scalar with a plain name.
    fn counter(&mut self, variable: &Reference) -> Option<Place> {
        let place = self.place(variable)?;
        if place.ty == Scalar::Chan {
            self.report(
                Diagnostic::error(variable.span, "a channel cannot count").with_hint("the variable of a loop is a number: `byte i`"),
            );
            return None;
        }
        Some(place)
    }

    #[allow(clippy::too_many_arguments)]
    fn counting(&mut self, place: Place, from: Ex, compare: Binary, to: Ex, before_body: Seq, body: &[Step], parts: LoopParts) -> Node {
        let value = || Box::new(Ex::Load(place.clone()));
        let basic = |action, span| Stm { node: Node::Basic(action), span };
        let mut round = vec![basic(Action::Guard(Ex::Binary(compare, value(), Box::new(to))), parts.test)];
        round.extend(before_body);
        self.enter_loop();
        round.extend(self.block(body));
        self.leave_loop();
        let next = Ex::Binary(Binary::Add, value(), Box::new(Ex::Const(1)));
        round.push(basic(Action::Assign(Target::Place(place.clone()), next), parts.next));
        let first = Action::Assign(Target::Place(place), from);
        Node::Loop { first, round, leave_on_else: true, parts }
    }

    fn for_in(&mut self, variable: &Reference, collection: &Reference, body: &[Step], span: Span, parts: LoopParts) -> Node {
        let nothing = Node::Basic(Action::Skip);
        let Some(found) = self.find(collection) else { return nothing };
        match found {
            Found::Whole { length: Some(length), .. } => {
                let Some(place) = self.counter(variable) else { return nothing };
                let last = Ex::Const(length as i32 - 1);
                self.counting(place, Ex::Const(0), Binary::Le, last, Vec::new(), body, parts)
            }
            Found::Scalar(channel) if channel.ty == Scalar::Chan => self.for_in_channel(variable, collection, channel, body, span, parts),
            _ => {
                self.report(
                    Diagnostic::error(collection.span, "`for … in` needs an array or a channel")
                        .with_hint("write `for (i : a .. b)` for a range of numbers"),
                );
                nothing
            }
        }
    }

    /// Each message is removed from the channel, appended at its end, and passed to the body.
    fn for_in_channel(
        &mut self,
        variable: &Reference,
        collection: &Reference,
        channel: Place,
        body: &[Step],
        span: Span,
        parts: LoopParts,
    ) -> Node {
        let nothing = Node::Basic(Action::Skip);
        let capacity = match collection.parts.as_slice() {
            [part] => self.symbol(&part.name.text).and_then(|s| s.channel.as_ref()).map(|c| c.0),
            _ => None,
        };
        let places = match self.find(variable) {
            Some(Found::Whole { scope, ty: Ty::User(index), first, indices, length: None }) => {
                let mut places = Vec::new();
                self.spread(scope, index, first, &indices, variable.span, &mut places);
                places
            }
            Some(_) => {
                self.report(
                    Diagnostic::error(variable.span, "the messages of a channel are given in a structure")
                        .with_hint("declare a `typedef` with the fields of the message"),
                );
                return nothing;
            }
            None => return nothing,
        };
        let Some(counter) = self.hidden_counter(capacity.unwrap_or(255), span) else { return nothing };
        let queue = Ex::Load(channel);
        let fields = places.iter().map(|p| Field::Store(Target::Place(p.clone()))).collect();
        let receive = Action::Receive { channel: queue.clone(), any: false, keep: false, fields };
        let arguments = places.into_iter().map(Ex::Load).collect();
        let send = Action::Send { channel: queue.clone(), sorted: false, arguments };
        let rotate = [receive, send].map(|action| Stm { node: Node::Basic(action), span }).into();
        let length = Ex::Probe(ast::Probe::Len, Box::new(queue));
        self.counting(counter, Ex::Const(0), Binary::Lt, length, rotate, body, parts)
    }

    /// A variable that the front-end adds. Loops in the same block share it, as in SPIN.
    fn hidden_counter(&mut self, capacity: u32, span: Span) -> Option<Place> {
        let current = self.current.as_ref()?;
        let path: Vec<String> = current.path.iter().map(ToString::to_string).collect();
        let name = format!("for'{}", path.join("'"));
        let ty = if capacity > 255 { Scalar::Short } else { Scalar::Byte };
        let leaf = match current.counters.get(&name) {
            Some(&leaf) => leaf,
            None => self.add_leaves(Scope::Local, &name, Ty::Scalar(ty), None, Visibility::Normal, span)?,
        };
        if let Some(current) = &mut self.current {
            current.counters.insert(name, leaf);
        }
        Some(Place { scope: Scope::Local, leaf, indices: Vec::new(), ty })
    }

    fn select(&mut self, variable: &Reference, from: &Expr, to: &Expr, span: Span) -> Node {
        let (from, to) = (self.expr(from), self.expr(to));
        let Some(place) = self.counter(variable) else { return Node::Basic(Action::Skip) };
        let value = || Box::new(Ex::Load(place.clone()));
        let basic = |action| Stm { node: Node::Basic(action), span };
        let next = Ex::Binary(Binary::Add, value(), Box::new(Ex::Const(1)));
        let round = vec![
            basic(Action::Guard(Ex::Binary(Binary::Lt, value(), Box::new(to)))),
            basic(Action::Assign(Target::Place(place.clone()), next)),
        ];
        let first = Action::Assign(Target::Place(place.clone()), from);
        Node::Loop { first, round, leave_on_else: false, parts: LoopParts::alike(span) }
    }
}

/// The use of the fields of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fields {
    Sent,
    Received,
    /// Received by `?<…>`, which leaves the message.
    Copied,
    Polled,
}

fn is_underscore(expr: &Expr) -> bool {
    match &expr.kind {
        ast::ExprKind::Ref(reference) => {
            matches!(reference.parts.as_slice(), [part] if &*part.name.text == "_" && part.index.is_none())
        }
        _ => false,
    }
}
