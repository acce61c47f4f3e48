//! Generates tests of the pieces of a program, from the conditions that follow them.
//!
//! A test executes a piece many times, each time with other values of the variables that the piece
//! mentions. The values satisfy the condition that the piece requires. Afterwards the condition
//! that it ensures must be true, and the values must be an outcome of the adjacent piece of the
//! model; all choices of that piece are tried. The outcomes of the model's piece must satisfy the
//! same condition. The thesis asks for this in section 3.3.5 and leaves it to the user.

use crate::mapping::assigned;
use crate::pieces::HERE;
use crate::{Generator, senders};
use promela::ast::{Embedded, Expr, ExprKind, Fragment, Receive, Reference, Step, Stmt, StmtKind, TypeName, Unit};
use promela::{Pair, PieceKind};
use source::Span;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The part of a test program that is always the same.
const TESTING: &str = include_str!("runtime/testing.h");

/// A variable that a piece uses.
struct Used {
    name: String,
    /// Its text in C.
    text: String,
    /// Its declaration, if it is a local variable.
    declared: Option<String>,
    letter: char,
}

impl Generator<'_> {
    /// The test program; nothing if no piece has conditions.
    pub(crate) fn tests(&mut self) -> Option<String> {
        let hybrid = self.hybrid;
        let pairs: Vec<&Pair> = hybrid.pairs.iter().filter(|pair| pair.program.is_some()).collect();
        let pairs: Vec<(&Pair, bool)> = pairs.into_iter().filter_map(|pair| Some((pair, self.is_tried(pair)?))).collect();
        if !pairs.iter().any(|(_, tried)| *tried) {
            return None;
        }
        let mut text = String::from("/* Generated: changes made here are lost. */\n#include \"init.h\"\n\n");
        text.push_str(TESTING);
        let mut calls = String::new();
        for (number, (pair, tried)) in pairs.into_iter().enumerate() {
            let Some((span, _)) = &pair.program else { continue };
            let used = self.map.places(*span).map_or(*span, |places| places.used);
            let place = format!("{}:{}", self.map.name(used.file), self.map.location(used));
            let place = place.replace(['"', '\\'], "_");
            if !tried {
                let why = "not tried, because it has no condition and calls functions that may do anything";
                let _ = writeln!(calls, "\tprintf(\"{place}: {why}\\n\");");
                continue;
            }
            let _ = writeln!(calls, "\tfailed |= ep_test(\"{place}\", pair{number});");
            self.test(number, pair, *span, &place, &mut text);
        }
        let _ = write!(
            text,
            "int main(void)\n{{\n\tint failed = 0;\n\tep_variables = calloc(1, GLOBALS_SIZE + 1);\n{calls}\treturn failed ? EXIT_FAILURE : EXIT_SUCCESS;\n}}\n"
        );
        Some(text)
    }

    /// One test: a function that tries a piece.
    fn test(&mut self, number: usize, pair: &Pair, span: Span, place: &str, out: &mut String) {
        let declarations = self.surroundings(span);
        let mut texts: Vec<&str> = [&pair.model, &pair.program].into_iter().flatten().map(|(_, text)| text.as_str()).collect();
        texts.extend([&pair.requires, &pair.ensures].into_iter().flatten().map(|condition| &*condition.text));
        let used = self.used(&texts);
        let known: BTreeSet<String> = used.iter().map(|variable| variable.name.clone()).collect();
        let chosen = pair.model.as_ref().map_or_else(BTreeSet::new, |(_, text)| assigned(text, &known, true));
        let requires = self.condition_in_c(pair.requires.as_ref());
        let ensures = self.condition_in_c(pair.ensures.as_ref());
        let _ = writeln!(out, "/* The piece at {place}. */\nstatic int pair{number}(struct ep_tally *tally)\n{{");
        for declaration in &declarations {
            let _ = writeln!(out, "\t{declaration}");
        }
        for variable in &used {
            if let Some(declared) = &variable.declared {
                let _ = writeln!(out, "\t{declared} = 0;");
            }
            let _ = writeln!(out, "\tlong old_{0} = 0, new_{0} = 0;\n\tint any_{0} = 0;", variable.name);
        }
        let _ = writeln!(out, "\tfor (long round = 0; round < EP_ROUNDS; round++) {{\n\t\tint found = 0, paths = 0;");
        for variable in &used {
            let _ = writeln!(out, "\t\t{} = ep_pick('{}');", variable.text, variable.letter);
            let _ = writeln!(out, "\t\told_{} = {};", variable.name, variable.text);
        }
        let _ = writeln!(out, "\t\tif (!({requires}))\n\t\t\tcontinue;\n\t\ttally->inputs++;\n\t\t{{");
        let piece = pair.program.as_ref().map_or(String::new(), |(_, text)| self.text_in_c(text, PieceKind::Statements));
        let _ = write!(out, "{}\t\t\t{piece}\n{HERE}\n", self.line_directive(span));
        out.push_str("\t\t}\n");
        let said = |verb: &str| {
            let formats: String = used.iter().map(|variable| format!(" {} = %ld", variable.name)).collect();
            let values: String = used.iter().map(|variable| format!(", {verb}_{}", variable.name)).collect();
            (formats, values)
        };
        for variable in &used {
            let _ = writeln!(out, "\t\tnew_{} = {};", variable.name, variable.text);
        }
        let ((formats, before), (_, after)) = (said("old"), said("new"));
        let fail = |what: &str| format!("return ep_fail(\"{what}: from{formats} to{formats}\\n\"{before}{after});");
        let _ = writeln!(out, "\t\tif (!({ensures}))\n\t\t\t{}", fail("the program does not ensure its condition"));
        if pair.model.is_some() {
            self.model_side(&used, &chosen, pair, &ensures, out);
            let _ = writeln!(out, "\t\tif (!found && paths < EP_PATHS)\n\t\t\t{}", fail("no outcome of the model"));
        }
        out.push_str("\t}\n\treturn 0;\n}\n\n");
    }

    /// Writes all choices of the model's piece, and whether one of them has the values of the
    /// program.
    fn model_side(&mut self, used: &[Used], chosen: &BTreeSet<String>, pair: &Pair, ensures: &str, out: &mut String) {
        out.push_str("\t\tep_first_path();\n\t\tdo {\n");
        for variable in used {
            let _ = writeln!(out, "\t\t\t{} = old_{};\n\t\t\tany_{1} = 0;", variable.text, variable.name);
        }
        let mut side = Side { out: String::new(), indent: 3, loops: Vec::new(), labels: 0, used, give_up: false };
        self.outcomes(&pair.steps, &mut side);
        let give_up = side.give_up;
        out.push_str(&side.out);
        let compared: Vec<&Used> = used.iter().filter(|variable| chosen.contains(&variable.name)).collect();
        let same: Vec<String> = compared.iter().map(|v| format!("(any_{0} || {1} == new_{0})", v.name, v.text)).collect();
        let any: Vec<String> = compared.iter().map(|v| format!("any_{}", v.name)).collect();
        let any = if any.is_empty() { "0".to_owned() } else { any.join(" || ") };
        if !give_up {
            let _ = writeln!(out, "\t\t\tif (!({any}) && !({ensures}))");
            let _ = writeln!(out, "\t\t\t\treturn ep_fail(\"an outcome of the model does not satisfy the condition\\n\");");
        }
        let same = if same.is_empty() || give_up { "1".to_owned() } else { same.join(" && ") };
        let _ = writeln!(out, "\t\t\tfound |= {same};");
        out.push_str("\t\tblocked:;\n\t\t} while (++paths < EP_PATHS && ep_next_path());\n");
    }

    /// A condition as it is written in the test.
    fn condition_in_c(&self, given: Option<&Fragment>) -> String {
        given.map_or("1".to_owned(), |condition| self.text_in_c(&condition.text, PieceKind::Expression))
    }

    /// The outcomes of a receive: one of the messages that the model sends on this channel. A field
    /// that is not a constant there may have any value.
    fn outcome_of_receive(&mut self, receive: &Receive, side: &mut Side<'_>) {
        let Some(messages) = senders::messages(&self.hybrid.model, &receive.channel) else { return side.received(receive) };
        side.line(&format!("switch (ep_choose({})) {{", messages.len()));
        for (number, message) in messages.iter().enumerate() {
            side.line(&format!("case {number}:"));
            side.indent += 1;
            for ((argument, evaluated), sent) in receive.arguments.iter().zip(&receive.evaluated).zip(message) {
                match &argument.kind {
                    ExprKind::Ref(reference) if !evaluated && side.knows(reference) => {
                        let name = reference.parts[0].name.text.to_string();
                        match self.evaluates_alone(sent) {
                            true => {
                                let ty = self.names.type_of(reference).map(|(ty, _)| ty);
                                let (text, value) = (self.reference(reference), self.expr(sent));
                                let value = self.cut(ty.as_ref(), &value);
                                side.line(&format!("{text} = {value};"));
                                side.line(&format!("any_{name} = 0;"));
                            }
                            false => side.line(&format!("any_{name} = 1;")),
                        }
                    }
                    // A message with another constant is not received here.
                    _ if self.evaluates_alone(sent) && self.evaluates_alone(argument) => {
                        let (a, b) = (self.expr(argument), self.expr(sent));
                        side.line(&format!("if (({a}) != ({b}))\n\t\t\t\t\tgoto blocked;"));
                    }
                    _ => {}
                }
            }
            side.line("break;");
            side.indent -= 1;
        }
        side.line("}");
    }

    /// Whether an expression consists of constants.
    fn evaluates_alone(&self, expr: &Expr) -> bool {
        let nothing = Side { out: String::new(), indent: 0, loops: Vec::new(), labels: 0, used: &[], give_up: false };
        self.evaluates(expr, &nothing)
    }

    /// Learns the variables around a piece; returns the declarations in C of its process.
    fn surroundings(&mut self, span: Span) -> Vec<String> {
        self.names.locals.clear();
        let mut declarations = Vec::new();
        let units = &self.hybrid.program.units;
        let processes = units.iter().filter_map(|unit| match unit {
            Unit::Proctype(process) => Some(process),
            _ => None,
        });
        let inside = |whole: Span| whole.file == span.file && (whole.start..whole.end).contains(&span.start);
        for process in processes.filter(|process| inside(process.name.span.to(process.end))) {
            process.parameters.iter().for_each(|parameter| self.remember(parameter));
            self.remember_all(&process.body, &mut declarations);
            self.learn_local(&process.body);
            for unit in units {
                if let Unit::Embedded(Embedded::State { declaration, scope, .. }) = unit
                    && scope.split_whitespace().eq(["Local", &*process.name.text])
                {
                    declarations.push(format!("{};", declaration.text.trim_end_matches(';')));
                }
            }
        }
        declarations
    }

    fn remember_all(&mut self, steps: &[Step], declarations: &mut Vec<String>) {
        for step in steps {
            match step {
                Step::Declaration(declaration) => self.remember(declaration),
                Step::Exclusive(..) => {}
                Step::Statement(statement) => match &statement.kind {
                    StmtKind::EmbeddedDeclarations(fragment) => declarations.push(fragment.text.trim().to_owned()),
                    StmtKind::If(options) | StmtKind::Do(options) => {
                        options.iter().for_each(|option| self.remember_all(option, declarations));
                    }
                    StmtKind::Atomic(steps) | StmtKind::DStep(steps) | StmtKind::Block(steps) | StmtKind::For { body: steps, .. } => {
                        self.remember_all(steps, declarations);
                    }
                    _ => {}
                },
            }
        }
    }

    /// The variables with one value that texts mention.
    fn used(&self, texts: &[&str]) -> Vec<Used> {
        let words: BTreeSet<&str> = texts.iter().flat_map(|text| text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))).collect();
        let mut found = Vec::new();
        for name in words {
            let local = self.names.locals.get(name);
            let Some((ty, false)) = local.or_else(|| self.names.global(name)) else { continue };
            if matches!(ty, TypeName::User(_) | TypeName::Chan) {
                continue;
            }
            let letter = match ty {
                TypeName::Mtype(_) => 'm',
                TypeName::Unsigned => 'b',
                ty => Self::letter(ty),
            };
            let text = match local {
                None => format!("globals->{}", self.names.inside(name)),
                _ => self.names.inside(name),
            };
            let declared = local.map(|_| format!("{} {}", self.c_type(ty), self.names.inside(name)));
            found.push(Used { name: name.to_owned(), text, declared, letter });
        }
        found
    }

    fn outcomes(&mut self, steps: &[Step], side: &mut Side<'_>) {
        for step in steps {
            if let Step::Statement(statement) = step {
                self.outcome(statement, side);
            }
        }
    }

    fn outcome(&mut self, statement: &Stmt, side: &mut Side<'_>) {
        match &statement.kind {
            StmtKind::Assign(target, value) if side.knows(target) => {
                let name = &target.parts[0].name.text;
                if self.evaluates(value, side) {
                    let ty = self.names.type_of(target).map(|(ty, _)| ty);
                    let (text, value) = (self.reference(target), self.expr(value));
                    let value = self.cut(ty.as_ref(), &value);
                    side.line(&format!("{text} = {value};"));
                    side.line(&format!("any_{name} = 0;"));
                } else {
                    side.line(&format!("any_{name} = 1;"));
                }
            }
            StmtKind::Select { variable, from, to } if side.knows(variable) && self.evaluates(from, side) && self.evaluates(to, side) => {
                let (text, from, to) = (self.reference(variable), self.expr(from), self.expr(to));
                side.line(&format!("{text} = ({from}) + ep_choose((int) (({to}) - ({from}) + 1));"));
            }
            StmtKind::Expr(expr) => self.holds(expr, side),
            StmtKind::Receive(receive) => self.outcome_of_receive(receive, side),
            StmtKind::If(options) => self.outcome_choice(options, side),
            StmtKind::Do(options) => {
                side.labels += 1;
                let label = side.labels;
                side.loops.push(label);
                side.line("for (int turns = 0;; turns++) {");
                side.indent += 1;
                side.line("if (turns > 100)\n\t\t\t\t\tgoto blocked;");
                self.outcome_choice(options, side);
                side.indent -= 1;
                side.line("}");
                side.line(&format!("left{label}:;"));
                side.loops.pop();
            }
            StmtKind::Break => match side.loops.last() {
                Some(label) => side.line(&format!("goto left{label};")),
                None => side.give_up = true,
            },
            StmtKind::Atomic(steps) | StmtKind::DStep(steps) | StmtKind::Block(steps) => self.outcomes(steps, side),
            StmtKind::Label(_, inner) => self.outcome(inner, side),
            StmtKind::Goto(_) | StmtKind::Unless(..) | StmtKind::For { .. } => side.give_up = true,
            _ => {}
        }
    }

    fn outcome_choice(&mut self, options: &[Vec<Step>], side: &mut Side<'_>) {
        let first = |option: &Vec<Step>| {
            option.iter().find_map(|step| match step {
                Step::Statement(statement) => Some(statement.clone()),
                _ => None,
            })
        };
        side.line(&format!("switch (ep_choose({})) {{", options.len()));
        for (number, option) in options.iter().enumerate() {
            side.line(&format!("case {number}:"));
            side.indent += 1;
            if matches!(first(option), Some(Stmt { kind: StmtKind::Else, .. })) {
                for other in options.iter().filter_map(first) {
                    if let StmtKind::Expr(expr) = &other.kind
                        && self.evaluates(expr, side)
                    {
                        let text = self.expr(expr);
                        side.line(&format!("if ({text})\n\t\t\t\t\tgoto blocked;"));
                    }
                }
            }
            self.outcomes(option, side);
            side.line("break;");
            side.indent -= 1;
        }
        side.line("}");
    }

    /// A condition that is false ends a path. A condition on something that the test does not have
    /// may be true.
    fn holds(&mut self, expr: &Expr, side: &mut Side<'_>) {
        if self.evaluates(expr, side) {
            let text = self.expr(expr);
            side.line(&format!("if (!({text}))\n\t\t\t\tgoto blocked;"));
        }
    }

    /// Whether an expression uses only the variables of the test.
    fn evaluates(&self, expr: &Expr, side: &Side<'_>) -> bool {
        match &expr.kind {
            ExprKind::Number(_) => true,
            ExprKind::Ref(reference) => {
                side.knows(reference) || matches!(reference.parts.as_slice(), [part] if self.names.message(&part.name.text).is_some())
            }
            ExprKind::Unary(_, a) => self.evaluates(a, side),
            ExprKind::Binary(_, a, b) => self.evaluates(a, side) && self.evaluates(b, side),
            ExprKind::Conditional(a, b, c) => [a, b, c].into_iter().all(|part| self.evaluates(part, side)),
            _ => false,
        }
    }
}

/// The model's side of a test while it is written.
struct Side<'u> {
    out: String,
    indent: usize,
    loops: Vec<usize>,
    labels: usize,
    used: &'u [Used],
    /// The piece contains something that is not followed, so its outcomes are not known.
    give_up: bool,
}

impl Side<'_> {
    fn line(&mut self, text: &str) {
        self.out.extend(std::iter::repeat_n('\t', self.indent));
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn knows(&self, reference: &Reference) -> bool {
        matches!(reference.parts.as_slice(), [part] if part.index.is_none() && self.used.iter().any(|used| used.name == *part.name.text))
    }

    /// A received value may be anything.
    fn received(&mut self, receive: &Receive) {
        for argument in &receive.arguments {
            if let ExprKind::Ref(reference) = &argument.kind
                && self.knows(reference)
            {
                self.line(&format!("any_{} = 1;", reference.parts[0].name.text));
            }
        }
    }
}
