//! Expressions in Rust: every value is an `i32`, and a stored value is cut to the type of the
//! variable.

use crate::Generator;
use promela::ast::{Binary, Expr, ExprKind, Probe, Receive, Reference, TypeName, Unary};
use std::fmt::Write;

/// Where a received value is stored: statements that compute the indices, the variable, and its
/// type.
pub(super) type Stored = (String, String, TypeName);

impl Generator<'_> {
    /// The type of a variable in Rust.
    pub(super) fn rust_type(&self, ty: &TypeName) -> String {
        match ty {
            TypeName::Bit | TypeName::Byte | TypeName::Mtype(_) | TypeName::Chan => "u8".to_owned(),
            TypeName::Short => "i16".to_owned(),
            TypeName::Int => "i32".to_owned(),
            TypeName::Unsigned => "u32".to_owned(),
            TypeName::User(name) => name.text.to_string(),
        }
    }

    /// A variable, as it is written in Rust.
    pub(super) fn rust_place(&mut self, reference: &Reference) -> String {
        let (indices, place) = self.rust_target(reference);
        if indices.is_empty() { place } else { format!("{{ {indices}{place} }}") }
    }

    /// A variable to which a value is assigned, after statements that compute the indices: they may
    /// read what the assignment borrows.
    pub(super) fn rust_target(&mut self, reference: &Reference) -> (String, String) {
        let (mut indices, mut text) = (String::new(), String::new());
        for (i, part) in reference.parts.iter().enumerate() {
            let name = &part.name.text;
            if i > 0 {
                text.push('.');
            } else if self.names.is_global(name) {
                text.push_str("held.globals.");
            }
            text.push_str(&word(name));
            if let Some(index) = &part.index {
                let index = self.rust_expr(index);
                let _ = write!(indices, "let index{i} = ({index}) as usize; ");
                let _ = write!(text, "[index{i}]");
            }
        }
        (indices, text)
    }

    /// A value as the type of a variable.
    pub(super) fn rust_cut(&self, reference: &Reference, value: &str) -> String {
        let ty = self.names.type_of(reference).map(|(ty, _)| ty);
        match &ty {
            Some(TypeName::Bit) => format!("(({value}) & 1) as u8"),
            Some(TypeName::Unsigned) => {
                let width = reference.parts.last().and_then(|part| self.names.widths.get(&*part.name.text)).copied().unwrap_or(31);
                format!("(({value}) as u32) & {}", (1u64 << width.clamp(1, 31)) - 1)
            }
            Some(ty) => format!("({value}) as {}", self.rust_type(ty)),
            None => value.to_owned(),
        }
    }

    pub(super) fn rust_expr(&mut self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Number(n) => format!("{n}i32"),
            ExprKind::Ref(reference) => match reference.parts.as_slice() {
                [part] if &*part.name.text == "_pid" => "me.number".to_owned(),
                [part] if &*part.name.text == "_nr_pr" => "held.processes()".to_owned(),
                [part] if part.index.is_none() && self.names.message(&part.name.text).is_some() => part.name.text.to_string(),
                _ => format!("i32::from_value({})", self.rust_place(reference)),
            },
            ExprKind::Unary(op, a) => {
                let a = self.rust_expr(a);
                match op {
                    Unary::Negate => format!("({a}).wrapping_neg()"),
                    Unary::Not => format!("i32::from(({a}) == 0)"),
                    Unary::Complement => format!("!({a})"),
                }
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.rust_expr(a), self.rust_expr(b));
                match op {
                    Binary::Add => format!("({a}).wrapping_add({b})"),
                    Binary::Sub => format!("({a}).wrapping_sub({b})"),
                    Binary::Mul => format!("({a}).wrapping_mul({b})"),
                    Binary::Div => format!("({a}).wrapping_div({b})"),
                    Binary::Rem => format!("({a}).wrapping_rem({b})"),
                    Binary::BitAnd => format!("(({a}) & ({b}))"),
                    Binary::BitOr => format!("(({a}) | ({b}))"),
                    Binary::BitXor => format!("(({a}) ^ ({b}))"),
                    Binary::Shl => format!("({a}).wrapping_shl(({b}) as u32)"),
                    Binary::Shr => format!("({a}).wrapping_shr(({b}) as u32)"),
                    Binary::Eq => format!("i32::from(({a}) == ({b}))"),
                    Binary::Ne => format!("i32::from(({a}) != ({b}))"),
                    Binary::Lt => format!("i32::from(({a}) < ({b}))"),
                    Binary::Le => format!("i32::from(({a}) <= ({b}))"),
                    Binary::Gt => format!("i32::from(({a}) > ({b}))"),
                    Binary::Ge => format!("i32::from(({a}) >= ({b}))"),
                    Binary::And => format!("i32::from(({a}) != 0 && ({b}) != 0)"),
                    Binary::Or => format!("i32::from(({a}) != 0 || ({b}) != 0)"),
                }
            }
            ExprKind::Conditional(c, a, b) => {
                let (c, a, b) = (self.rust_expr(c), self.rust_expr(a), self.rust_expr(b));
                format!("(if ({c}) != 0 {{ {a} }} else {{ {b} }})")
            }
            ExprKind::Run { name, arguments, .. } => {
                let mut values = Vec::new();
                for argument in arguments {
                    self.rust_values(argument, &mut values);
                }
                start("run", &name.text, &values)
            }
            ExprKind::Probe(probe, channel) => {
                let channel = self.rust_place(channel);
                let (length, capacity) = (format!("held.length(i32::from({channel}))"), format!("held.capacity(i32::from({channel}))"));
                match probe {
                    Probe::Len => length,
                    Probe::Empty => format!("i32::from({length} == 0)"),
                    Probe::Nempty => format!("i32::from({length} > 0)"),
                    Probe::Full => format!("i32::from({length} == {capacity})"),
                    Probe::Nfull => format!("i32::from({length} < {capacity})"),
                }
            }
            ExprKind::Poll(receive) => {
                let channel = self.rust_place(&receive.channel);
                let fields = self.rust_fields(receive).0;
                format!("{{ let wanted = [{fields}]; let channel = i32::from({channel}); held.poll(channel, &wanted, {}) }}", receive.any)
            }
            ExprKind::Timeout => "me.timed_out()".to_owned(),
            ExprKind::Embedded(fragment, condition) => match condition {
                Some(condition) => {
                    let (line, column) = self.rust_position(expr.span);
                    let fault = format!("world.fault(me, {line}, {column}, \"violated: the condition of this piece\")");
                    format!("{{ if !({}) {{ {fault}; }} i32::from({}) }}", condition.text.trim(), fragment.text.trim())
                }
                None => format!("i32::from({})", fragment.text.trim()),
            },
            ExprKind::Error => "0".to_owned(),
            _ => {
                let hint = "put it into `promela_MS { … }`, and what the program does instead into `c_expr_IS { … }`";
                self.error(expr.span, "a program cannot look into other processes", hint);
                "0".to_owned()
            }
        }
    }

    /// The values of an argument: one, or those of a structure's fields.
    pub(super) fn rust_values(&mut self, argument: &Expr, out: &mut Vec<String>) {
        if let ExprKind::Ref(reference) = &argument.kind
            && let Some((ty @ TypeName::User(_), false)) = self.names.type_of(reference)
        {
            let (indices, text) = self.rust_target(reference);
            let mut leaves = Vec::new();
            self.names.leaves(&ty, &text, 0, &mut leaves);
            out.extend(leaves.into_iter().map(|(leaf, _)| format!("{{ {indices}i32::from_value({leaf}) }}")));
            return;
        }
        out.push(self.rust_expr(argument));
    }

    /// The fields of a receive, and where each is stored.
    pub(super) fn rust_fields(&mut self, receive: &Receive) -> (String, Vec<Option<Stored>>) {
        let (mut list, mut targets) = (Vec::new(), Vec::new());
        for (argument, evaluated) in receive.arguments.iter().zip(&receive.evaluated) {
            let reference = match &argument.kind {
                ExprKind::Ref(reference) if !evaluated => Some(reference),
                _ => None,
            };
            let message = reference.is_some_and(|r| matches!(r.parts.as_slice(), [part] if self.names.message(&part.name.text).is_some()));
            match reference.filter(|_| !message) {
                Some(reference) if matches!(reference.parts.as_slice(), [part] if &*part.name.text == "_") => {
                    list.push("Field::any()".to_owned());
                    targets.push(None);
                }
                Some(reference) => {
                    let ty = self.names.type_of(reference).map_or(TypeName::Int, |(ty, _)| ty);
                    let (indices, text) = self.rust_target(reference);
                    let mut leaves = Vec::new();
                    self.names.leaves(&ty, &text, 0, &mut leaves);
                    list.extend(leaves.iter().map(|_| "Field::any()".to_owned()));
                    targets.extend(leaves.into_iter().map(|(leaf, ty)| Some((indices.clone(), leaf, ty))));
                }
                None => {
                    let mut values = Vec::new();
                    self.rust_values(argument, &mut values);
                    targets.extend(values.iter().map(|_| None));
                    list.extend(values.into_iter().map(|value| format!("Field::is({value})")));
                }
            }
        }
        (list.join(", "), targets)
    }
}

/// A call that starts a process.
pub(super) fn start(how: &str, name: &str, values: &[String]) -> String {
    let names: Vec<String> = (0..values.len()).map(|i| format!("a{i}")).collect();
    let bound: String = names.iter().zip(values).map(|(name, value)| format!("let {name} = {value}; ")).collect();
    let passed: String = names.iter().map(|name| format!(", {name}")).collect();
    format!("{{ {bound}world.start(scope, &mut held, me, \"{how}\", \"{name}\", move |me| process_{name}(world, scope, me{passed})) }}")
}

/// A name that may be a word of Rust.
pub(super) fn word(name: &str) -> String {
    const WORDS: [&str; 22] = [
        "as", "const", "dyn", "enum", "extern", "fn", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "static",
        "struct", "trait", "type", "use", "where",
    ];
    if WORDS.contains(&name) { format!("r#{name}") } else { name.to_owned() }
}
