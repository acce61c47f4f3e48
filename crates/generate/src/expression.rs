//! Expressions in C.

use crate::Generator;
use promela::PieceKind;
use promela::ast::{Binary, Expr, ExprKind, Probe, Receive, Reference, TypeName, Unary};

/// A variable that gets a field of a message, and its type if that is known.
pub(crate) type Target = (String, Option<TypeName>);

impl Generator<'_> {
    /// A variable, as it is written in C.
    pub(crate) fn reference(&mut self, reference: &Reference) -> String {
        let mut text = String::new();
        for (i, part) in reference.parts.iter().enumerate() {
            let name = &part.name.text;
            if i > 0 {
                text.push('.');
            } else if self.names.is_global(name) {
                text.push_str("globals->");
            }
            let message = i == 0 && !self.names.is_variable(name) && self.names.message(name).is_some();
            text.push_str(&if message { self.names.outside(name) } else { self.names.inside(name) });
            if let Some(index) = &part.index {
                let place = self.place(part.name.span);
                let inner = self.expr(index);
                let known = matches!((&index.kind, self.names.length(reference, i)), (ExprKind::Number(n), Some(length)) if (0..length).contains(n));
                text = match known {
                    true => format!("{text}[{inner}]"),
                    // An index outside the array is a violation of the model.
                    false => format!("{text}[ep_index({inner}, EP_COUNT({text}), {place})]"),
                };
            }
        }
        text
    }

    /// Whether evaluating the expression reads data that processes share.
    pub(crate) fn looks_outside(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Number(_) | ExprKind::Error => false,
            ExprKind::Ref(reference) => self.reference_is_shared(reference),
            ExprKind::Unary(_, a) => self.looks_outside(a),
            ExprKind::Binary(_, a, b) => self.looks_outside(a) || self.looks_outside(b),
            ExprKind::Conditional(a, b, c) => [a, b, c].into_iter().any(|e| self.looks_outside(e)),
            // A piece of C is not evaluated under the lock unless it names a shared variable.
            ExprKind::Embedded(fragment, condition) => {
                [fragment].into_iter().chain(condition).any(|fragment| self.is_shared_piece(fragment))
            }
            _ => true,
        }
    }

    pub(crate) fn reference_is_shared(&self, reference: &Reference) -> bool {
        let own = reference.parts.first().is_some_and(|part| self.names.is_global(&part.name.text) || &*part.name.text == "_nr_pr");
        own || reference.parts.iter().filter_map(|part| part.index.as_ref()).any(|index| self.looks_outside(index))
    }

    pub(crate) fn expr(&mut self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Number(n) => n.to_string(),
            ExprKind::Ref(reference) => match reference.parts.as_slice() {
                [part] if &*part.name.text == "_pid" => "ep_pid()".to_owned(),
                [part] if &*part.name.text == "_nr_pr" => "ep_processes()".to_owned(),
                _ => self.reference(reference),
            },
            ExprKind::Unary(op, a) => {
                let sign = match op {
                    Unary::Negate => "-",
                    Unary::Not => "!",
                    Unary::Complement => "~",
                };
                format!("{sign}({})", self.expr(a))
            }
            ExprKind::Binary(op, a, b) => {
                let checked = match (op, &b.kind) {
                    // A constant divisor is checked when the program is generated.
                    (Binary::Div | Binary::Rem, ExprKind::Number(n)) if *n > 0 => None,
                    (Binary::Div, _) => Some("ep_divide"),
                    (Binary::Rem, _) => Some("ep_remainder"),
                    _ => None,
                };
                if let Some(function) = checked {
                    let (place, a, b) = (self.place(expr.span), self.expr(a), self.expr(b));
                    return format!("{function}({a}, {b}, {place})");
                }
                let (a, b) = (self.operand(a), self.operand(b));
                format!("{a} {} {b}", sign(*op))
            }
            ExprKind::Conditional(c, a, b) => {
                let (c, a, b) = (self.expr(c), self.expr(a), self.expr(b));
                format!("(({c}) ? ({a}) : ({b}))")
            }
            ExprKind::Run { name, arguments, priority } => {
                if priority.is_some() {
                    self.warn(expr.span, "the operating system decides which process runs: the priority is left out");
                }
                let mut values = Vec::new();
                for argument in arguments {
                    self.values(argument, &mut values);
                }
                call("ep_run", &name.text, &values)
            }
            ExprKind::Probe(probe, channel) => {
                let channel = self.reference(channel);
                match probe {
                    Probe::Len => format!("ep_length({channel})"),
                    Probe::Empty => format!("(ep_length({channel}) == 0)"),
                    Probe::Nempty => format!("(ep_length({channel}) > 0)"),
                    Probe::Full => format!("(ep_length({channel}) == ep_capacity({channel}))"),
                    Probe::Nfull => format!("(ep_length({channel}) < ep_capacity({channel}))"),
                }
            }
            ExprKind::Poll(receive) => {
                let channel = self.reference(&receive.channel);
                let fields = self.fields(receive);
                let list: Vec<String> = fields.iter().map(|(text, _)| text.clone()).collect();
                let any = u8::from(receive.any);
                format!("ep_poll({channel}, {}, (const struct ep_field[]) {{ {} }}, {any})", list.len(), list.join(", "))
            }
            ExprKind::Timeout => "ep_timed_out()".to_owned(),
            ExprKind::Embedded(fragment, condition) => {
                let text = self.piece(fragment, PieceKind::Expression).text.replace('\n', " ");
                let text = text.trim();
                match condition {
                    Some(condition) => {
                        let condition = self.piece(condition, PieceKind::Expression).text.replace('\n', " ");
                        let place = self.place(expr.span);
                        format!("(({}) ? ({text}) : (ep_fault(\"violated: the condition of this piece\", {place}), 0))", condition.trim())
                    }
                    None => format!("({text})"),
                }
            }
            ExprKind::Error => "0".to_owned(),
            ExprKind::Enabled(_)
            | ExprKind::PcValue(_)
            | ExprKind::GetPriority(_)
            | ExprKind::NonProgress
            | ExprKind::RemoteLabel { .. }
            | ExprKind::RemoteVariable { .. } => {
                let hint = "put it into `promela_MS { … }`, and the program's own code into `c_expr_IS { … }`";
                self.error(expr.span, "a program cannot look into other processes", hint);
                "0".to_owned()
            }
        }
    }

    fn operand(&mut self, expr: &Expr) -> String {
        let text = self.expr(expr);
        if matches!(expr.kind, ExprKind::Binary(..)) { format!("({text})") } else { text }
    }

    /// The values of an argument: one value, or the values of a structure's fields.
    pub(crate) fn values(&mut self, argument: &Expr, out: &mut Vec<String>) {
        if let ExprKind::Ref(reference) = &argument.kind
            && let Some((ty @ TypeName::User(_), false)) = self.names.type_of(reference)
        {
            let text = self.reference(reference);
            let mut leaves = Vec::new();
            self.names.leaves(&ty, &text, 0, &mut leaves);
            out.extend(leaves.into_iter().map(|(leaf, _)| leaf));
            return;
        }
        out.push(self.expr(argument));
    }

    /// The fields of a receive: the initial value of each in C, and the variable that gets it.
    pub(crate) fn fields(&mut self, receive: &Receive) -> Vec<(String, Option<Target>)> {
        let mut fields = Vec::new();
        for (argument, evaluated) in receive.arguments.iter().zip(&receive.evaluated) {
            match &argument.kind {
                ExprKind::Ref(reference) if !evaluated && !self.is_message(reference) => {
                    if matches!(reference.parts.as_slice(), [part] if &*part.name.text == "_") {
                        fields.push(("{ 0, 0 }".to_owned(), None));
                        continue;
                    }
                    let ty = self.names.type_of(reference).map(|(ty, _)| ty);
                    let text = self.reference(reference);
                    match ty {
                        Some(ty @ TypeName::User(_)) => {
                            let mut leaves = Vec::new();
                            self.names.leaves(&ty, &text, 0, &mut leaves);
                            fields.extend(leaves.into_iter().map(|(leaf, ty)| ("{ 0, 0 }".to_owned(), Some((leaf, Some(ty))))));
                        }
                        ty => fields.push(("{ 0, 0 }".to_owned(), Some((text, ty)))),
                    }
                }
                _ => {
                    let mut values = Vec::new();
                    self.values(argument, &mut values);
                    fields.extend(values.into_iter().map(|value| (format!("{{ 1, {value} }}"), None)));
                }
            }
        }
        fields
    }

    fn is_message(&self, reference: &Reference) -> bool {
        matches!(reference.parts.as_slice(), [part] if self.names.message(&part.name.text).is_some())
    }

    /// A value cut to the range of this type, where C's type is wider.
    pub(crate) fn cut(&self, ty: Option<&TypeName>, value: &str) -> String {
        match ty {
            Some(TypeName::Bit) => format!("({value}) & 1"),
            _ => value.to_owned(),
        }
    }
}

/// `ep_run("P", 2, (int[]) { a, b })`.
pub(crate) fn call(function: &str, name: &str, values: &[String]) -> String {
    match values {
        [] => format!("{function}(\"{name}\", 0, NULL)"),
        values => format!("{function}(\"{name}\", {}, (int[]) {{ {} }})", values.len(), values.join(", ")),
    }
}

fn sign(op: Binary) -> &'static str {
    match op {
        Binary::Add => "+",
        Binary::Sub => "-",
        Binary::Mul => "*",
        Binary::Div => "/",
        Binary::Rem => "%",
        Binary::BitAnd => "&",
        Binary::BitOr => "|",
        Binary::BitXor => "^",
        Binary::Shl => "<<",
        Binary::Shr => ">>",
        Binary::Eq => "==",
        Binary::Ne => "!=",
        Binary::Lt => "<",
        Binary::Le => "<=",
        Binary::Gt => ">",
        Binary::Ge => ">=",
        Binary::And => "&&",
        Binary::Or => "||",
    }
}
