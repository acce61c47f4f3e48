//! Statements in C.

use crate::Generator;
use crate::names::number;
use promela::PieceKind;
use promela::ast::{Declaration, Expr, ExprKind, Fragment, Initial, Range, Receive, Reference, Step, Stmt, StmtKind, TypeName};
use source::Span;

impl Generator<'_> {
    pub(crate) fn steps(&mut self, steps: &[Step], outermost: bool) {
        let mut begun = !outermost;
        for step in steps {
            match step {
                Step::Declaration(declaration) => self.late_declaration(declaration, outermost, begun),
                Step::Exclusive(..) => {}
                Step::Statement(statement) => {
                    begun |= !matches!(statement.kind, StmtKind::EmbeddedDeclarations(_));
                    self.statement(statement);
                }
            }
        }
    }

    /// A declaration in the middle of a process. A variable of the process itself is declared at
    /// its beginning. After the first statement, storing the initial value is a step of the model.
    fn late_declaration(&mut self, declaration: &Declaration, outermost: bool, begun: bool) {
        for variable in &declaration.variables {
            let name = variable.name.text.to_string();
            let own = self.names.inside(&name);
            let whole = matches!(declaration.ty, TypeName::User(_)) || variable.length.is_some();
            if !outermost {
                self.inner.insert(name.clone());
                self.remember(declaration);
                let text = self.declarator(declaration, variable);
                let zero = if whole { "{ 0 }" } else { "0" };
                self.line(&format!("{text} = {zero};"));
            } else if !begun {
                continue;
            } else if variable.initial.is_none() {
                self.line(&if whole { format!("memset(&{own}, 0, sizeof {own});") } else { format!("{own} = 0;") });
            }
            let span = if declaration.variables.len() == 1 { declaration.span } else { variable.span };
            let outside = matches!(&variable.initial, Some(Initial::Value(value)) if self.looks_outside(value));
            self.locked(outside, |g| {
                g.step(span);
                for line in g.initial(&own, declaration, variable) {
                    g.line(&line);
                }
            });
        }
    }

    pub(crate) fn remember(&mut self, declaration: &Declaration) {
        for variable in &declaration.variables {
            let name = variable.name.text.to_string();
            if let Some(width) = variable.width.as_ref().and_then(number) {
                self.names.widths.insert(name.clone(), width);
            }
            self.names.lengths.insert(name.clone(), variable.length.as_ref().and_then(number));
            self.names.locals.insert(name, (declaration.ty.clone(), variable.length.is_some()));
        }
    }

    /// Writes code under the lock, if it concerns other processes.
    fn locked(&mut self, outside: bool, make: impl FnOnce(&mut Self)) {
        let own = outside && self.held == 0;
        if own {
            self.begin();
        }
        make(self);
        if own {
            self.end();
        }
    }

    pub(crate) fn statement(&mut self, statement: &Stmt) {
        let span = statement.span;
        match &statement.kind {
            StmtKind::Expr(expr) => self.condition(expr, span),
            StmtKind::Assign(target, value) => {
                let outside = self.reference_is_shared(target) || self.looks_outside(value);
                self.locked(outside, |g| g.assign(target, value, span));
            }
            StmtKind::Send { channel, sorted, arguments } => self.locked(true, |g| {
                let send = g.send(channel, *sorted, arguments, span);
                g.line(&format!("while (!{send})"));
                let wait = g.wait(false);
                g.line(&format!("\t{wait}"));
            }),
            StmtKind::Receive(receive) => self.locked(true, |g| {
                g.line("while (1) {");
                g.indent += 1;
                let (declaration, call, fields) = g.receive(receive);
                g.line(&declaration);
                g.line(&format!("if ({call}) {{"));
                g.indent += 1;
                g.step(span);
                g.store(receive, &fields);
                g.line("break;");
                g.indent -= 1;
                g.line("}");
                let wait = g.wait(false);
                g.line(&wait);
                g.indent -= 1;
                g.line("}");
            }),
            StmtKind::Assert(expr) => {
                let outside = self.looks_outside(expr);
                self.locked(outside, |g| {
                    g.step(span);
                    let (text, place) = (g.expr(expr), g.place(span));
                    let said = g.map.snippet(g.map.places(span).map_or(span, |places| places.used));
                    let said: String = said.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(80).collect();
                    let said = said.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
                    g.line(&format!("if (!({text}))"));
                    g.line(&format!("\tep_fault(\"violated: {said}\", {place});"));
                });
            }
            StmtKind::Printf(format, arguments) => {
                let outside = arguments.iter().any(|argument| self.looks_outside(argument));
                self.locked(outside, |g| {
                    g.step(span);
                    let values: Vec<String> = arguments.iter().map(|argument| g.expr(argument)).collect();
                    let symbolic = format.contains("%e");
                    let values: String =
                        values.iter().map(|value| if symbolic { format!(", {value}") } else { format!(", (int) ({value})") }).collect();
                    if symbolic {
                        let format = format.replace("%e", "%d");
                        g.line(&format!("printf(\"{format}\"{values});"));
                    } else {
                        g.line(&format!("printf(\"{format}\"{values});"));
                    }
                });
            }
            StmtKind::Printm(expr) => {
                self.step(span);
                let text = self.expr(expr);
                self.line(&format!("printf(\"%s\", mtype_name({text}));"));
            }
            StmtKind::SetPriority(..) => self.warn(span, "the operating system decides which process runs: the priority is left out"),
            StmtKind::Else => self.step(span),
            StmtKind::Goto(label) => {
                let (held, there) = (self.held, self.labels.get(&*label.text).copied().unwrap_or(0));
                for _ in there..held {
                    self.end();
                }
                for _ in held..there {
                    self.begin();
                }
                self.line(&format!("goto {};", self.names.inside(&label.text)));
            }
            StmtKind::Break => self.leave_loop(),
            StmtKind::If(options) => self.selection(options, span),
            StmtKind::Do(options) => self.repetition(options, span),
            StmtKind::For { variable, range, body, header, .. } => self.for_loop(variable, range, body, *header),
            StmtKind::Select { variable, from, to } => {
                self.warn(span, "the program takes the first of several values");
                _ = to;
                self.assign(variable, from, span);
            }
            StmtKind::Atomic(steps) | StmtKind::DStep(steps) => {
                self.begin();
                self.held += 1;
                self.line("{");
                self.indent += 1;
                self.steps(steps, false);
                if self.held == 1 {
                    self.write_computed();
                }
                self.indent -= 1;
                self.line("}");
                self.held -= 1;
                self.end();
            }
            StmtKind::Block(steps) => {
                self.line("{");
                self.indent += 1;
                self.steps(steps, false);
                self.indent -= 1;
                self.line("}");
            }
            StmtKind::Unless(main, _) => {
                let hint = "put it into `promela_MS { … }`, and the program's own code next to it";
                self.error(span, "`unless` has no translation", hint);
                self.statement(main);
            }
            StmtKind::Label(label, inner) => {
                self.indent -= 1;
                self.line(&format!("{}:;", self.names.inside(&label.text)));
                self.indent += 1;
                self.ending |= label.text.starts_with("end");
                self.statement(inner);
                self.ending = false;
            }
            StmtKind::Embedded(fragment, condition) => self.fragment(fragment, condition.as_ref(), span),
            StmtKind::EmbeddedDeclarations(fragment) => {
                if self.held > 0 || !self.loops.is_empty() {
                    let text = self.piece(fragment, PieceKind::Statements).text;
                    self.write_piece(fragment, &text);
                }
            }
            StmtKind::Error => {}
        }
    }

    /// Writes a piece of C. A piece that the model has too is one step. A piece that changes shared
    /// data of the model is executed under the lock.
    fn fragment(&mut self, fragment: &Fragment, condition: Option<&Fragment>, span: Span) {
        let shared = !self.hybrid.program_only.contains(&fragment.span);
        let piece = self.piece(fragment, PieceKind::Statements);
        let outside = if shared { piece.shared } else { self.changes_globals(fragment) };
        self.locked(outside, |g| {
            if shared {
                g.step(span);
            }
            if let Some(condition) = condition {
                let (text, place) = (g.piece(condition, PieceKind::Expression).text.replace('\n', " "), g.place(span));
                g.line(&format!("if (!({}))", text.trim()));
                g.line(&format!("\tep_fault(\"violated: the condition of this piece\", {place});"));
            }
            // As in SPIN, the variables of such a piece are its own.
            if shared {
                g.line("{");
                g.indent += 1;
            }
            g.write_piece(fragment, &piece.text);
            if shared {
                g.indent -= 1;
                g.line("}");
            }
            if outside {
                g.line("ep_changed();");
            }
            if !shared {
                g.computed(fragment);
            }
        });
    }

    /// The statement that waits for a change.
    pub(crate) fn wait(&self, timed: bool) -> String {
        match (timed, self.ending) {
            (true, _) => "ep_wait_timed();".to_owned(),
            (false, true) => "ep_wait_end();".to_owned(),
            (false, false) => "ep_wait();".to_owned(),
        }
    }

    /// A condition as a statement: it waits until it is true.
    fn condition(&mut self, expr: &Expr, span: Span) {
        match &expr.kind {
            ExprKind::Number(n) if *n != 0 => {
                self.step(span);
                self.line("; /* skip */");
            }
            ExprKind::Run { .. } => self.locked(true, |g| {
                g.step(span);
                let call = g.expr(expr);
                g.line(&format!("{call};"));
            }),
            _ => {
                let timed = is_timeout(expr);
                let outside = self.looks_outside(expr);
                if !outside && !timed && !matches!(expr.kind, ExprKind::Embedded(..)) {
                    self.warn(span, "no other process can make this condition true: if it is false, the process waits for ever");
                }
                self.locked(true, |g| {
                    let text = g.expr(expr);
                    let wait = g.wait(timed);
                    if let ExprKind::Embedded(fragment, _) = &expr.kind {
                        let directive = g.line_directive(fragment.span);
                        g.out.push_str(&directive);
                    }
                    g.line(&format!("while (!({text}))"));
                    if matches!(expr.kind, ExprKind::Embedded(..)) {
                        g.here();
                    }
                    g.line(&format!("\t{wait}"));
                    g.step(span);
                });
            }
        }
    }

    pub(crate) fn assign(&mut self, target: &Reference, value: &Expr, span: Span) {
        self.step(span);
        self.store_value(target, value);
    }

    fn store_value(&mut self, target: &Reference, value: &Expr) {
        if matches!(target.parts.as_slice(), [part] if &*part.name.text == "_") {
            return;
        }
        let ty = self.names.type_of(target).map(|(ty, _)| ty);
        let value = self.expr(value);
        let mut value = self.cut(ty.as_ref(), &value);
        if let [part] = target.parts.as_slice()
            && let Some(width) = self.names.widths.get(&*part.name.text)
        {
            value = format!("EP_BITS({value}, {width})");
        }
        let text = self.reference(target);
        self.line(&format!("{text} = {value};"));
        if self.reference_is_shared(target) {
            self.line("ep_changed();");
        }
    }

    pub(crate) fn send(&mut self, channel: &Reference, sorted: bool, arguments: &[Expr], span: Span) -> String {
        let mut values = Vec::new();
        for argument in arguments {
            self.values(argument, &mut values);
        }
        let channel = self.reference(channel);
        let place = self.place(span);
        format!("ep_try_send({channel}, {}, (int[]) {{ {} }}, {}, {place})", values.len(), values.join(", "), u8::from(sorted))
    }

    /// The declaration of the fields, the call that receives, and the name of the fields.
    pub(crate) fn receive(&mut self, receive: &Receive) -> (String, String, String) {
        let fields = self.fields(receive);
        self.fields += 1;
        let name = format!("ep_field{}", self.fields);
        let list: Vec<String> = fields.iter().map(|(text, _)| text.clone()).collect();
        let declaration = format!("struct ep_field {name}[] = {{ {} }};", list.join(", "));
        let channel = self.reference(&receive.channel);
        let call = format!("ep_try_receive({channel}, {}, {name}, {}, {})", list.len(), u8::from(receive.any), u8::from(receive.keep));
        (declaration, call, name)
    }

    /// Stores the received values.
    pub(crate) fn store(&mut self, receive: &Receive, name: &str) {
        let fields = self.fields(receive);
        let mut shared = false;
        for argument in &receive.arguments {
            shared |= matches!(&argument.kind, ExprKind::Ref(reference) if self.reference_is_shared(reference));
        }
        for (i, (_, target)) in fields.iter().enumerate() {
            if let Some((target, ty)) = target {
                let value = self.cut(ty.as_ref(), &format!("{name}[{i}].value"));
                self.line(&format!("{target} = {value};"));
            }
        }
        if shared {
            self.line("ep_changed();");
        }
    }

    pub(crate) fn leave_loop(&mut self) {
        let (held, direct) = (self.held, self.inside == 0);
        let Some(around) = self.loops.last_mut() else { return };
        let (number, there) = (around.number, around.held);
        around.used |= !direct;
        for _ in there..held {
            self.end();
        }
        self.line(&if direct { "break;".to_owned() } else { format!("goto selection{number}_end;") });
    }

    fn for_loop(&mut self, variable: &Reference, range: &Range, body: &[Step], header: Span) {
        let Range::Values(from, to) = range else {
            self.error(header, "`for` over an array or a channel has no translation", "count with a variable");
            return;
        };
        self.selections += 1;
        let number = self.selections;
        self.assign(variable, from, header);
        let (name, to) = (self.reference(variable), self.expr(to));
        self.line(&format!("while ({name} <= ({to})) {{"));
        self.indent += 1;
        self.step(header);
        let (held, inside) = (self.held, std::mem::take(&mut self.inside));
        self.loops.push(crate::Around { number, used: false, held });
        self.steps(body, false);
        self.inside = inside;
        let around = self.loops.pop();
        self.step(header);
        self.line(&format!("{name}++;"));
        self.indent -= 1;
        self.line("}");
        self.step(header);
        if around.is_some_and(|around| around.used) {
            self.line(&format!("selection{number}_end:;"));
        }
    }
}

/// Whether a condition becomes true when the time limit has passed.
pub(crate) fn is_timeout(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Timeout => true,
        ExprKind::Unary(_, a) => is_timeout(a),
        ExprKind::Binary(_, a, b) => is_timeout(a) || is_timeout(b),
        _ => false,
    }
}
