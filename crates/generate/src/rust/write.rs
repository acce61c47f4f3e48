//! The text of the program in Rust.

use super::expression::{start, word};
use super::graph::{Choice, END, First, Node, graph, leading};
use crate::Generator;
use crate::names::number;
use crate::statement::is_timeout;
use promela::ast::{Declaration, Embedded, ExprKind, Initial, Proctype, Step, Stmt, StmtKind, TypeName, Unit, Variable};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

impl Generator<'_> {
    pub(super) fn rust_main(&mut self) -> String {
        let mut text = String::from("//! Generated: changes made here are lost.\n");
        text.push_str("#![allow(unused, non_camel_case_types, non_upper_case_globals, non_snake_case)]\n\nmod everypath;\n\n");
        text.push_str(
            "use everypath::{Field, Held, Me, World};\nuse std::thread::Scope;\n\n/// The value of a variable in an expression.\n",
        );
        text.push_str("trait FromValue<T> {\n    fn from_value(value: T) -> i32;\n}\n");
        for ty in ["u8", "i16", "i32", "u32"] {
            let _ = writeln!(
                text,
                "impl FromValue<{ty}> for i32 {{\n    fn from_value(value: {ty}) -> i32 {{\n        value as i32\n    }}\n}}"
            );
        }
        for (_, values) in self.names.mtypes.clone() {
            for (i, value) in values.iter().enumerate() {
                let _ = writeln!(text, "const {value}: i32 = {};", i + 1);
            }
        }
        text.push('\n');
        let units = &self.hybrid.program.units;
        for unit in units {
            match unit {
                Unit::Typedef(typedef) => {
                    let _ = writeln!(text, "#[derive(Clone, Copy, Default)]\npub struct {} {{", typedef.name.text);
                    for fragment in &typedef.embedded {
                        let _ = writeln!(text, "    {}", fragment.text.trim());
                    }
                    for field in &typedef.fields {
                        for variable in &field.variables {
                            let _ = writeln!(text, "    pub {}: {},", word(&variable.name.text), self.rust_declared(&field.ty, variable));
                        }
                    }
                    text.push_str("}\n\n");
                }
                Unit::Embedded(Embedded::Declarations(fragment)) => {
                    let _ = writeln!(text, "{}\n", fragment.text.trim());
                }
                _ => {}
            }
        }
        let globals = self.names.globals.clone();
        text.push_str("#[derive(Default)]\npub struct Globals {\n");
        for (declaration, variable) in &globals {
            let _ = writeln!(text, "    pub {}: {},", word(&variable.name.text), self.rust_declared(&declaration.ty, variable));
        }
        text.push_str("}\n\n");
        let mut starts = String::new();
        for (declaration, variable) in &globals {
            for line in self.rust_initial(declaration, variable, &format!("held.globals.{}", word(&variable.name.text))) {
                let _ = writeln!(starts, "        {line}");
            }
        }
        let units = self.hybrid.program.units.iter();
        for process in units.filter_map(|unit| if let Unit::Proctype(process) = unit { Some(&**process) } else { None }) {
            if process.is_init {
                starts.push_str("        world.number(me, &mut held);\n");
                continue;
            }
            let Some(count) = process.active.as_ref() else { continue };
            let parameters: usize = process.parameters.iter().map(|parameter| parameter.variables.len()).sum();
            let call = start("active", &process.name.text, &vec!["0".to_owned(); parameters]);
            let count = self.rust_expr(count);
            let _ = writeln!(starts, "        for _ in 0..{count} {{\n            {call};\n        }}");
        }
        for process in self.processes() {
            let body = self.rust_process(process, &process.name.text);
            text.push_str(&body);
        }
        let first = match self.init() {
            Some(init) => {
                let body = self.rust_process(init, "init");
                text.push_str(&body);
                "        world.run(me, |me| process_init(world, scope, me));\n"
            }
            None => "",
        };
        let source = self.source.replace('\\', "\\\\").replace('"', "\\\"");
        let _ = write!(
            text,
            "fn main() {{\n    let world = &World::new(\"{source}\", Globals::default());\n    let me = &mut world.first();\n    std::thread::scope(|scope| {{\n        \
             let mut held = world.lock();\n{starts}        world.unlock(me, held);\n{first}    }});\n}}\n"
        );
        text
    }

    /// The type of a variable, an array or not.
    fn rust_declared(&mut self, ty: &TypeName, variable: &Variable) -> String {
        let ty = self.rust_type(ty);
        match variable.length.as_ref().and_then(number) {
            Some(length) => format!("[{ty}; {length}]"),
            None => ty,
        }
    }

    /// The statement that stores the initial value of a variable.
    fn rust_initial(&mut self, declaration: &Declaration, variable: &Variable, place: &str) -> Vec<String> {
        let length = variable.length.as_ref().and_then(number);
        let places: Vec<String> = match length {
            Some(length) => (0..length).map(|i| format!("{place}[{i}]")).collect(),
            None => vec![place.to_owned()],
        };
        let ty = self.rust_type(&declaration.ty);
        match &variable.initial {
            None => Vec::new(),
            Some(Initial::Value(value)) => {
                let value = self.rust_expr(value);
                places.iter().map(|place| format!("{place} = ({value}) as {ty};")).collect()
            }
            Some(Initial::List(values)) => {
                let values: Vec<String> = values.iter().map(|value| self.rust_expr(value)).collect();
                places.iter().zip(values).map(|(place, value)| format!("{place} = ({value}) as {ty};")).collect()
            }
            Some(Initial::Channel { capacity, fields }) => {
                let capacity = self.rust_expr(capacity);
                let mut letters = String::new();
                for (ty, _) in fields {
                    let mut leaves = Vec::new();
                    self.names.leaves(ty, "", 0, &mut leaves);
                    letters.extend(leaves.iter().map(|(_, ty)| Self::letter(ty)));
                }
                places.iter().map(|place| format!("{place} = held.make_channel({capacity}, \"{letters}\");")).collect()
            }
        }
    }

    fn rust_process(&mut self, process: &Proctype, name: &str) -> String {
        self.names.locals = HashMap::new();
        if let Some(provided) = &process.provided {
            self.error(provided.span, "`provided` has no translation", "write the condition where the process must wait");
        }
        let (mut parameters, mut own, mut initial, mut seen) = (String::new(), String::new(), Vec::new(), BTreeSet::new());
        let mut argument = 0;
        for parameter in &process.parameters {
            self.remember(parameter);
            for variable in &parameter.variables {
                let (local, ty) = (word(&variable.name.text), self.rust_type(&parameter.ty));
                seen.insert(variable.name.text.to_string());
                if matches!(parameter.ty, TypeName::User(_)) {
                    let mut leaves = Vec::new();
                    self.names.leaves(&parameter.ty, &local, 0, &mut leaves);
                    let _ = writeln!(own, "    let mut {local} = {ty}::default();");
                    for (leaf, leaf_type) in leaves {
                        let _ = write!(parameters, ", a{argument}: i32");
                        let _ = writeln!(own, "    {leaf} = a{argument} as {};", self.rust_type(&leaf_type));
                        argument += 1;
                    }
                } else {
                    let _ = write!(parameters, ", a{argument}: i32");
                    let _ = writeln!(own, "    let mut {local} = a{argument} as {ty};");
                    argument += 1;
                }
            }
        }
        let (first, rest) = process.body.split_at(leading(&process.body));
        self.rust_locals(first, &mut seen, &mut own, &mut initial);
        self.rust_locals(rest, &mut seen, &mut own, &mut Vec::new());
        let graph = graph(&process.body);
        self.found.extend(graph.found.iter().cloned());
        let mut text = format!(
            "fn process_{name}<'scope, 'env>(world: &'scope World<Globals>, scope: &'scope Scope<'scope, 'env>, me: &mut Me{parameters}) {{\n{own}    let mut at = {};\n    \
             let mut kept: Option<Held<'_, Globals>> = None;\n",
            graph.entry
        );
        if !initial.is_empty() {
            text.push_str("    {\n        let mut held = world.lock();\n");
            initial.iter().for_each(|line| text.push_str(&format!("        {line}\n")));
            text.push_str("        world.unlock(me, held);\n    }\n");
        }
        text.push_str("    loop {\n        match at {\n");
        for (number, node) in graph.nodes.iter().enumerate().skip(1) {
            let held = |next: usize| node.sequence > 0 && next != END && graph.nodes[next].sequence == node.sequence;
            let _ = writeln!(text, "            {number} => {{");
            self.rust_node(node, &held, &mut text);
            text.push_str("            }\n");
        }
        text.push_str("            _ => break,\n        }\n    }\n}\n\n");
        text
    }

    /// The declarations of the whole body, which are valid from its beginning.
    fn rust_locals(&mut self, steps: &[Step], seen: &mut BTreeSet<String>, own: &mut String, initial: &mut Vec<String>) {
        for step in steps {
            match step {
                Step::Declaration(declaration) => {
                    self.remember(declaration);
                    for variable in &declaration.variables {
                        if !seen.insert(variable.name.text.to_string()) {
                            self.error(variable.span, "this name is declared twice in the process", "give one of them another name");
                        }
                        let (local, ty) = (word(&variable.name.text), self.rust_declared(&declaration.ty, variable));
                        let _ = writeln!(own, "    let mut {local}: {ty} = Default::default();");
                        initial.extend(self.rust_initial(declaration, variable, &local));
                    }
                }
                Step::Exclusive(..) => {}
                Step::Statement(statement) => match &statement.kind {
                    StmtKind::EmbeddedDeclarations(fragment) => {
                        let _ = writeln!(own, "    {}", fragment.text.trim());
                    }
                    StmtKind::If(options) | StmtKind::Do(options) => {
                        options.iter().for_each(|option| self.rust_locals(option, seen, own, initial));
                    }
                    StmtKind::Atomic(steps) | StmtKind::DStep(steps) | StmtKind::Block(steps) => {
                        self.rust_locals(steps, seen, own, initial)
                    }
                    StmtKind::Label(_, inner) => {
                        self.rust_locals(std::slice::from_ref(&Step::Statement((**inner).clone())), seen, own, initial)
                    }
                    _ => {}
                },
            }
        }
    }

    fn rust_node(&mut self, node: &Node<'_>, held: &dyn Fn(usize) -> bool, out: &mut String) {
        let choices = &node.choices;
        // A piece of the program may take long, and an edge without a statement needs no lock.
        if let [Choice { first: First::Fragment(..) | First::Nothing, next, .. }] = choices.as_slice() {
            let body = self.rust_choice(&choices[0]);
            let _ = writeln!(out, "                {body}");
            if !held(*next) {
                out.push_str(
                    "                if let Some(held) = kept.take() {\n                    world.unlock(me, held);\n                }\n",
                );
            }
            let _ = writeln!(out, "                at = {next};");
            return;
        }
        let mut choices: Vec<&Choice<'_>> = choices.iter().collect();
        // A rendezvous that was offered may have been taken already, so sends are tried first.
        choices.sort_by_key(|choice| match choice.first {
            First::Send(..) if self.names.rendezvous => 0,
            First::Else => 2,
            _ => 1,
        });
        let timed = choices.iter().any(|choice| matches!(choice.first, First::Condition(expr) if is_timeout(expr)));
        let offers = self.names.rendezvous && choices.iter().any(|choice| matches!(choice.first, First::Send(..)));
        out.push_str(
            "                let mut held = kept.take().unwrap_or_else(|| world.lock());\n                let keeps = 'node: loop {\n",
        );
        for choice in choices {
            let body = self.rust_choice(choice);
            let (line, column) = self.rust_position(choice.span);
            let step = format!("world.step(me, {line}, {column}); ");
            let withdraw = if offers { "held.withdraw(me); " } else { "" };
            let leave = format!("{withdraw}at = {}; break 'node {};", choice.next, held(choice.next));
            let text = match &choice.first {
                // A process is there after the step that starts it.
                First::Condition(expr) if matches!(expr.kind, ExprKind::Run { .. }) => {
                    format!("{{ {step}let _ = {}; {leave} }}", self.rust_expr(expr))
                }
                First::Condition(expr) => {
                    let condition = self.rust_expr(expr);
                    format!("if ({condition}) != 0 {{ {step}{leave} }}")
                }
                First::Send(channel, sorted, arguments) => {
                    let mut values = Vec::new();
                    for argument in *arguments {
                        self.rust_values(argument, &mut values);
                    }
                    let channel = self.rust_place(channel);
                    format!(
                        "{{ let values = [{}]; let channel = i32::from({channel}); if world.try_send(me, &mut held, channel, &values, {sorted}, ({line}, {column})) {{ {leave} }} }}",
                        values.join(", ")
                    )
                }
                First::Receive(receive) => {
                    let channel = self.rust_place(&receive.channel);
                    let (fields, targets) = self.rust_fields(receive);
                    let mut stores = String::new();
                    for (i, target) in targets.iter().enumerate() {
                        if let Some((indices, target, ty)) = target {
                            let cut = if *ty == TypeName::Bit { "& 1" } else { "" };
                            let _ = write!(stores, "{indices}{target} = (fields[{i}].value {cut}) as {}; ", self.rust_type(ty));
                        }
                    }
                    format!(
                        "{{ let mut fields = [{fields}]; let channel = i32::from({channel}); if world.try_receive(me, &mut held, channel, &mut fields, {}, {}) {{ {step}{stores}held.changes(); {leave} }} }}",
                        receive.any, receive.keep
                    )
                }
                First::Assign(..) | First::Declaration(..) | First::Other(_) => format!("{{ {step}{body} {leave} }}"),
                First::Else => format!("{{ {step}{leave} }}"),
                First::Fragment(..) | First::Nothing => format!("{{ {body} {leave} }}"),
            };
            let _ = writeln!(out, "                    me.at({line}, {column}); {text}");
        }
        let wait = if timed { "world.wait_timed(me, held)".to_owned() } else { format!("world.wait(held, {})", node.ending) };
        let _ = writeln!(out, "                    held = {wait};\n                }};");
        out.push_str("                if keeps {\n                    kept = Some(held);\n                } else {\n                    world.unlock(me, held);\n                }\n");
    }

    pub(super) fn rust_position(&self, span: source::Span) -> (usize, usize) {
        let span = self.map.places(span).map_or(span, |places| places.used);
        let at = self.map.location(span);
        (at.line, at.column)
    }

    /// The effect of a choice, without its guard.
    fn rust_choice(&mut self, choice: &Choice<'_>) -> String {
        match &choice.first {
            First::Assign(target, value) => {
                let value = self.rust_expr(value);
                let shared = if self.reference_is_shared(target) { " held.changes();" } else { "" };
                let ((indices, place), value) = (self.rust_target(target), self.rust_cut(target, &value));
                if place == "_" { String::new() } else { format!("let value = {value}; {indices}{place} = value;{shared}") }
            }
            First::Declaration(declaration, variable) => {
                let local = word(&variable.name.text);
                let mut text = format!("{local} = Default::default();");
                for line in self.rust_initial(declaration, variable, &local) {
                    text.push(' ');
                    text.push_str(&line);
                }
                text
            }
            First::Other(Stmt { kind: StmtKind::Assert(expr), .. }) => {
                let text = self.rust_expr(expr);
                let (line, column) = self.rust_position(choice.span);
                let said = self.map.snippet(self.map.places(choice.span).map_or(choice.span, |places| places.used));
                let said: String = said.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(80).collect();
                format!("if ({text}) == 0 {{ world.fault(me, {line}, {column}, {:?}); }}", format!("violated: {said}"))
            }
            First::Other(Stmt { kind: StmtKind::Printf(format, arguments), .. }) => {
                let values: Vec<String> = arguments.iter().map(|argument| self.rust_expr(argument)).collect();
                let format = format.replace('{', "{{").replace('}', "}}");
                let format = ["%d", "%u", "%e"]
                    .iter()
                    .fold(format, |format, sign| format.replace(sign, "{}"))
                    .replace("%c", "{}")
                    .replace("%x", "{:x}");
                let values: String = values.iter().map(|value| format!(", {value}")).collect();
                format!("print!(\"{format}\"{values}); let _ = std::io::Write::flush(&mut std::io::stdout());")
            }
            First::Other(Stmt { kind: StmtKind::Printm(expr), .. }) => {
                let text = self.rust_expr(expr);
                format!("print!(\"{{}}\", {text});")
            }
            First::Fragment(fragment, condition) => self.rust_fragment(fragment, *condition, choice.span),
            _ => String::new(),
        }
    }

    fn rust_fragment(
        &mut self,
        fragment: &promela::ast::Fragment,
        condition: Option<&promela::ast::Fragment>,
        span: source::Span,
    ) -> String {
        let own = self.hybrid.program_only.contains(&fragment.span);
        let (line, column) = self.rust_position(span);
        let step = if own { String::new() } else { format!("world.step(me, {line}, {column});") };
        let text = fragment.text.trim();
        let body = match condition {
            Some(condition) => {
                let fault = format!("world.fault(me, {line}, {column}, \"violated: the condition of this piece\")");
                format!("if !({}) {{ {fault}; }} {{ {text} }}", condition.text.trim())
            }
            None => format!("{{ {text} }}"),
        };
        let step = format!("me.at({line}, {column}); {step}");
        let scalar = |(ty, array): &(TypeName, bool)| !*array && !matches!(ty, TypeName::User(_) | TypeName::Chan);
        let known = self.names.locals.iter().filter(|(_, ty)| scalar(ty)).map(|(name, _)| name.clone()).collect();
        let names = crate::mapping::assigned(&fragment.text, &known, false);
        let list: Vec<String> = names.iter().map(|name| format!("(\"{name}\", {} as i64)", word(name))).collect();
        let values = if own && !list.is_empty() { format!("world.values(me, &[{}]);", list.join(", ")) } else { String::new() };
        format!("{step} {body} {values}")
    }
}
