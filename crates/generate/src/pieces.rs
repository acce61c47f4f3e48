//! Pieces of C in a program.
//!
//! A piece is copied as it is, with three exceptions. `now.x` and `P->x`, SPIN's names for
//! variables of the model, become the names that these variables have in the program. Variables of
//! C that a `c_decl` declares become shared variables, because the model has one of each.
//! Directives of C's preprocessor tell the compiler the position of a piece in the text, so that
//! its messages have the positions of the text.

use crate::Generator;
use promela::ast::{Embedded, Fragment, Step, Stmt, StmtKind, TypeName, Unit};
use promela::{Meaning, NameInC, NameUse, NotC, Outline, Pair, PieceKind, outline};
use source::Diagnostic;
use std::collections::BTreeSet;
use std::fmt::Write;

/// A placeholder for the directive that gives the line of the generated file; see [`number_lines`].
pub(crate) const HERE: &str = "#line here";

/// The data that all pieces of C share.
#[derive(Default)]
pub(crate) struct World {
    /// The names of types.
    types: BTreeSet<String>,
    /// The variables of C that processes share.
    shared: BTreeSet<String>,
    /// The variables of C that each process has for itself, and those of the current process.
    own: BTreeSet<String>,
    local: BTreeSet<String>,
    /// The functions of C that may use shared variables.
    reaching: BTreeSet<String>,
    /// Those of them that may change shared variables, and functions of the program that may.
    changing: BTreeSet<String>,
}

/// A piece of C as it appears in the program.
pub(crate) struct Piece {
    pub text: String,
    /// Whether it uses data that processes share.
    pub shared: bool,
}

impl Generator<'_> {
    /// Reads the declarations of C, so that pieces know types and shared variables.
    pub(crate) fn learn_c(&mut self) {
        self.c.types.extend(self.names.typedefs.keys().cloned());
        let units = &self.hybrid.program.units;
        for unit in units {
            match unit {
                Unit::Embedded(Embedded::Declarations(fragment)) => {
                    let shares = !self.hybrid.program_only.contains(&fragment.span);
                    if let Some(outline) = self.outline_of(fragment, PieceKind::Declarations) {
                        self.c.types.extend(outline.types);
                        let names = outline.variables.into_iter().flat_map(|variables| variables.names);
                        if shares { &mut self.c.shared } else { &mut self.c.own }.extend(names);
                    }
                }
                Unit::Embedded(Embedded::State { declaration, scope, .. }) if is_shared_scope(scope) => {
                    let names = self.declared_in(declaration);
                    self.c.shared.extend(names);
                }
                Unit::Typedef(typedef) => {
                    for fragment in &typedef.embedded {
                        self.outline_of(fragment, PieceKind::Fields);
                    }
                }
                _ => {}
            }
        }
        self.names.shares |= !self.c.shared.is_empty();
        // Functions call those of earlier declarations.
        for unit in units {
            if let Unit::Embedded(Embedded::Declarations(fragment)) = unit {
                let found = outline(&fragment.text, PieceKind::Declarations, &self.c.types).unwrap_or_default();
                if found.names.iter().any(|name| match &name.meaning {
                    Meaning::Free(free) => self.meant(free).is_some() || self.c.reaching.contains(free),
                    _ => true,
                }) {
                    self.c.reaching.extend(found.functions.into_iter().map(|function| function.name));
                }
            }
        }
        self.learn_changing();
        // Conditions are not part of a program, but they are read too.
        let conditions = self.hybrid.pairs.iter().flat_map(|pair| [&pair.requires, &pair.ensures]).flatten();
        for condition in conditions {
            self.outline_of(condition, PieceKind::Expression);
        }
    }

    /// Learns the functions of C that change shared variables, also by functions that they call.
    fn learn_changing(&mut self) {
        let units = &self.hybrid.program.units;
        let outlines: Vec<Outline> = units
            .iter()
            .filter_map(|unit| match unit {
                Unit::Embedded(Embedded::Declarations(fragment)) => outline(&fragment.text, PieceKind::Declarations, &self.c.types).ok(),
                _ => None,
            })
            .collect();
        loop {
            let before = self.c.changing.len();
            for found in &outlines {
                for function in found.functions.iter().filter(|function| !self.c.changing.contains(&function.name)).collect::<Vec<_>>() {
                    let mut inside = found.names.iter().filter(|name| function.start <= name.start && name.end <= function.end);
                    if inside.any(|name| self.changes_shared(name)) {
                        self.c.changing.insert(function.name.clone());
                    }
                }
            }
            if self.c.changing.len() == before {
                return;
            }
        }
    }

    /// Whether a piece changes shared data by this name, which may be that of a function.
    fn changes_shared(&self, name: &NameInC) -> bool {
        let array = |global: &str| self.names.global(global).is_some_and(|(_, array)| *array);
        let changed = |global: &str| match name.usage {
            NameUse::Changed => true,
            NameUse::Passed => array(global),
            NameUse::Read => false,
        };
        match &name.meaning {
            Meaning::Global(global) => changed(global),
            Meaning::Local(..) => false,
            Meaning::Free(free) => (self.meant(free).is_some() && changed(free)) || self.c.changing.contains(free),
        }
    }

    /// The variables of the model that a piece changes: whether each is global, and its name.
    pub(crate) fn changed_in(&self, fragment: &Fragment) -> BTreeSet<(bool, String)> {
        let found = outline(&fragment.text, PieceKind::Statements, &self.c.types).unwrap_or_default();
        let is_array = |(_, array): &(TypeName, bool)| *array;
        let variable = |name: &NameInC| {
            let (global, variable) = match &name.meaning {
                Meaning::Global(global) => (true, global),
                Meaning::Local(_, local) => (false, local),
                Meaning::Free(free) if self.names.locals.contains_key(free) => (false, free),
                Meaning::Free(free) => (true, free),
            };
            let known = match global {
                true if matches!(name.meaning, Meaning::Free(_)) && self.meant(variable).is_none() => None,
                true => self.names.global(variable),
                false => self.names.locals.get(variable),
            }?;
            let changed = name.usage == NameUse::Changed || (name.usage == NameUse::Passed && is_array(known));
            changed.then(|| (global, variable.clone()))
        };
        found.names.iter().filter_map(variable).collect()
    }

    /// The variables that a text without a semicolon declares.
    fn declared_in(&mut self, declaration: &Fragment) -> Vec<String> {
        let text = format!("{};", declaration.text.trim_end().trim_end_matches(';'));
        let found = outline(&text, PieceKind::Declarations, &self.c.types).unwrap_or_default();
        found.variables.into_iter().flat_map(|variables| variables.names).collect()
    }

    /// The names of a piece; an error is reported at its position.
    fn outline_of(&mut self, fragment: &Fragment, kind: PieceKind) -> Option<Outline> {
        match outline(&fragment.text, kind, &self.c.types) {
            Ok(outline) => Some(outline),
            Err(NotC { offset, message }) => {
                let length = fragment.text.trim_end().len();
                let span = if offset >= length {
                    fragment.place(length.saturating_sub(1), length).after()
                } else {
                    fragment.place(offset, offset + 1)
                };
                let hint = "what this reader of C does not know can be in a header that a `c_decl_IS` includes";
                let found = Diagnostic::error(span, message).with_hint(hint);
                if !self.found.iter().any(|known| known.span == found.span && known.message == found.message) {
                    self.found.push(found);
                }
                None
            }
        }
    }

    /// Whether a piece uses data that processes share.
    pub(crate) fn is_shared_piece(&self, fragment: &Fragment) -> bool {
        let found = outline(&fragment.text, PieceKind::Expression, &self.c.types).unwrap_or_default();
        found.names.iter().any(|name| match &name.meaning {
            Meaning::Global(_) => true,
            Meaning::Local(..) => false,
            Meaning::Free(free) => self.meant(free).is_some() || self.c.reaching.contains(free),
        })
    }

    /// A piece as it appears in the program.
    pub(crate) fn piece(&mut self, fragment: &Fragment, kind: PieceKind) -> Piece {
        let Some(outline) = self.outline_of(fragment, kind) else { return Piece { text: fragment.text.to_string(), shared: false } };
        self.renamed(fragment, &outline)
    }

    fn renamed(&mut self, fragment: &Fragment, outline: &Outline) -> Piece {
        let source = &*fragment.text;
        let (mut text, mut at, mut shared) = (String::new(), 0, false);
        for name in &outline.names {
            let new = match &name.meaning {
                Meaning::Global(global) => {
                    shared = true;
                    match self.c.shared.contains(global) {
                        true => format!("ep_c_{global}"),
                        false if self.names.global(global).is_some() => format!("globals->{}", self.names.inside(global)),
                        false => {
                            let message = format!("there is no global variable `{global}`");
                            self.found.push(Diagnostic::error(fragment.place(name.start, name.end), message));
                            continue;
                        }
                    }
                }
                Meaning::Local(process, local) => {
                    if *process != self.process {
                        let message = format!("this is in a process of the type `{}`, and its variables have other names", self.process);
                        self.found.push(
                            Diagnostic::error(fragment.place(name.start, name.end), message)
                                .with_hint("a program cannot look into other processes"),
                        );
                        continue;
                    }
                    if local == "_pid" { "ep_pid()".to_owned() } else { self.names.inside(local) }
                }
                Meaning::Free(free) => match self.meant(free) {
                    Some(meant) => {
                        shared = true;
                        meant
                    }
                    None => {
                        shared |= self.c.reaching.contains(free);
                        continue;
                    }
                },
            };
            text.push_str(source.get(at..name.start).unwrap_or_default());
            text.push_str(&new);
            at = name.end;
        }
        text.push_str(source.get(at..).unwrap_or_default());
        Piece { text, shared }
    }

    /// A piece of a pair as it appears in its test. The piece has been read before.
    pub(crate) fn text_in_c(&self, text: &str, kind: PieceKind) -> String {
        let found = outline(text, kind, &self.c.types).unwrap_or_default();
        let (mut out, mut at) = (String::new(), 0);
        for name in &found.names {
            // In a test, the old value of a variable has a name of its own.
            let old = text.get(..name.start).is_some_and(|before| before.trim_end().ends_with("old("));
            let new = match &name.meaning {
                Meaning::Free(_) if old => None,
                Meaning::Global(known) | Meaning::Local(_, known) if old => Some(known.clone()),
                Meaning::Free(free) => self.meant(free),
                Meaning::Global(global) if self.c.shared.contains(global) => Some(format!("ep_c_{global}")),
                Meaning::Global(global) => Some(format!("globals->{}", self.names.inside(global))),
                Meaning::Local(_, local) if local == "_pid" => Some("ep_pid()".to_owned()),
                Meaning::Local(_, local) => Some(self.names.inside(local)),
            };
            let Some(new) = new else { continue };
            out.push_str(text.get(at..name.start).unwrap_or_default());
            out.push_str(&new);
            at = name.end;
        }
        out.push_str(text.get(at..).unwrap_or_default());
        out
    }

    /// Whether a pair is tested. A pair with a condition is; a pair without one is tested if its
    /// piece calls nothing that could do harm. `None` if there is nothing to compare.
    pub(crate) fn is_tried(&self, pair: &Pair) -> Option<bool> {
        if pair.requires.is_some() || pair.ensures.is_some() {
            return Some(true);
        }
        let (_, text) = pair.program.as_ref()?;
        let (_, model) = pair.model.as_ref()?;
        // Only an assignment is an outcome.
        let assigns =
            |text: &str| text.contains('=') || text.contains('?') || text.contains("++") || text.contains("--") || text.contains("select");
        if !assigns(model) || !assigns(text) {
            return None;
        }
        let found = outline(text, PieceKind::Statements, &self.c.types).ok()?;
        Some(!found.names.is_empty() && calls(text, &found).all(|name| self.is_harmless(name)))
    }

    /// Whether a function only computes: a function of C's library, or one that the text defines.
    fn is_harmless(&self, name: &str) -> bool {
        const PURE: [&str; 12] =
            ["abs", "isalpha", "isdigit", "labs", "memcmp", "rand", "random", "strchr", "strcmp", "strlen", "tolower", "toupper"];
        if PURE.contains(&name) {
            return true;
        }
        let declarations = self.hybrid.program.units.iter().filter_map(|unit| match unit {
            Unit::Embedded(Embedded::Declarations(fragment)) => Some(fragment),
            _ => None,
        });
        declarations.into_iter().any(|fragment| {
            let Ok(found) = outline(&fragment.text, PieceKind::Declarations, &self.c.types) else { return false };
            let defines = |name: &str| found.functions.iter().any(|function| function.name == name);
            defines(name) && calls(&fragment.text, &found).all(|inner| PURE.contains(&inner) || defines(inner))
        })
    }

    /// Writes declarations outside functions. Variables that processes share are moved to the
    /// shared memory. The declared variable keeps the initial value, and `ep_c_NAME` is the shared
    /// variable.
    pub(crate) fn c_declarations(&mut self, fragment: &Fragment) -> String {
        let shares = !self.hybrid.program_only.contains(&fragment.span);
        let Some(outline) = self.outline_of(fragment, PieceKind::Declarations) else { return String::new() };
        let place = self.line_directive(fragment.place(0, 1));
        if !shares || outline.variables.is_empty() {
            return format!("{place}{}\n{HERE}\n\n", self.renamed(fragment, &outline).text);
        }
        let mut out = String::new();
        let mut at = 0;
        let part = |from: usize, to: usize| Fragment {
            text: fragment.text.get(from..to).unwrap_or_default().into(),
            places: fragment
                .places
                .iter()
                .filter(|(offset, _)| (from..to).contains(&(*offset as usize)))
                .map(|(offset, span)| (*offset - from as u32, *span))
                .collect(),
            span: fragment.span,
        };
        let within = |from: usize, to: usize| {
            let names = outline.names.iter().filter(|name| from <= name.start && name.end <= to).cloned();
            let names = names.map(|name| NameInC { start: name.start - from, end: name.end - from, ..name }).collect();
            Outline { names, ..Outline::default() }
        };
        for variables in &outline.variables {
            let before = self.renamed(&part(at, variables.start), &within(at, variables.start)).text;
            if !before.trim().is_empty() {
                let _ = write!(out, "{}{before}\n{HERE}\n", self.line_directive(fragment.place(at, at + 1)));
            }
            for name in &variables.names {
                let _ = writeln!(out, "#define {name} ep_first_{name}");
            }
            let declaration = fragment.text.get(variables.start..variables.end).unwrap_or_default();
            let _ = write!(out, "{}{declaration}\n{HERE}\n", self.line_directive(fragment.place(variables.start, variables.end)));
            for name in &variables.names {
                let _ = writeln!(out, "#undef {name}");
            }
            variables.names.iter().for_each(|name| self.shared_variable(name, &mut out));
            at = variables.end;
        }
        let rest = self.renamed(&part(at, fragment.text.len()), &within(at, fragment.text.len())).text;
        if !rest.trim().is_empty() {
            let _ = write!(out, "{}{rest}\n{HERE}\n", self.line_directive(fragment.place(at, at + 1)));
        }
        out.push('\n');
        out
    }

    /// A variable of a `c_state` that processes share.
    pub(crate) fn c_state_variable(&mut self, declaration: &Fragment, initial: Option<&Fragment>) -> String {
        let names = self.declared_in(declaration);
        let mut out = String::new();
        names.iter().for_each(|name| out.push_str(&format!("#define {name} ep_first_{name}\n")));
        let value = initial.map_or(String::new(), |initial| format!(" = {}", initial.text));
        let place = self.line_directive(declaration.span);
        let _ = write!(out, "{place}static {}{value};\n{HERE}\n", declaration.text.trim_end().trim_end_matches(';'));
        names.iter().for_each(|name| out.push_str(&format!("#undef {name}\n")));
        names.iter().for_each(|name| self.shared_variable(name, &mut out));
        out.push('\n');
        out
    }

    /// Places a shared variable of C after those before it, once.
    fn shared_variable(&mut self, name: &str, out: &mut String) {
        if self.placed.iter().any(|known| known == name) {
            return;
        }
        let before = std::mem::replace(&mut self.last_place, format!("ep_after_{name}"));
        let _ = writeln!(out, "struct ep_type_{name} {{ __typeof__(ep_first_{name}) value; }};");
        let _ = writeln!(out, "enum {{ ep_at_{name} = {before}, ep_after_{name} = EP_AFTER(ep_at_{name}, struct ep_type_{name}) }};");
        let _ = writeln!(out, "#define ep_c_{name} (((struct ep_type_{name} *) ((char *) ep_variables + ep_at_{name}))->value)");
        self.placed.push(name.to_owned());
    }

    /// Whether declarations of C use variables of the model, so that they must follow these.
    pub(crate) fn uses_model(&self, fragment: &Fragment) -> bool {
        let found = outline(&fragment.text, PieceKind::Declarations, &self.c.types).unwrap_or_default();
        found.names.iter().any(|name| match &name.meaning {
            Meaning::Global(_) => true,
            Meaning::Local(..) => false,
            Meaning::Free(free) => self.names.global(free).is_some() && self.meant(free).is_some(),
        })
    }

    /// The text for a name in C that is the name of a shared variable, unless a variable of the
    /// process or of a `c_decl_IS` hides it.
    fn meant(&self, name: &str) -> Option<String> {
        if self.names.locals.contains_key(name) || self.c.own.contains(name) || self.c.local.contains(name) {
            return None;
        }
        if self.c.shared.contains(name) {
            return Some(format!("ep_c_{name}"));
        }
        let known = self.names.global(name).is_some() && self.names.inside(name) == name;
        known.then(|| format!("globals->{name}"))
    }

    /// Learns the variables of C that a process declares.
    pub(crate) fn learn_local(&mut self, steps: &[Step]) {
        self.c.local.clear();
        for step in steps {
            if let Step::Statement(Stmt { kind: StmtKind::EmbeddedDeclarations(fragment), .. }) = step {
                let found = outline(&fragment.text, PieceKind::Declarations, &self.c.types).unwrap_or_default();
                self.c.local.extend(found.variables.into_iter().flat_map(|variables| variables.names));
            }
        }
    }

    /// Whether a piece changes variables that processes share, itself or by functions that it
    /// calls.
    pub(crate) fn changes_globals(&self, fragment: &Fragment) -> bool {
        let found = outline(&fragment.text, PieceKind::Statements, &self.c.types).unwrap_or_default();
        found.names.iter().any(|name| self.changes_shared(name))
    }

    /// Writes a piece line by line, each line with its position in the text.
    pub(crate) fn write_piece(&mut self, fragment: &Fragment, text: &str) {
        let mut offset = 0;
        let mut expected = None;
        let lengths: Vec<usize> = fragment.text.split('\n').map(str::len).collect();
        for (number, line) in text.split('\n').enumerate() {
            let place = fragment.place(offset, offset + 1);
            offset += lengths.get(number).copied().unwrap_or_default() + 1;
            if line.trim().is_empty() {
                continue;
            }
            let used = self.map.places(place).map_or(place, |places| places.used);
            let wanted = Some((used.file, self.map.location(used).line));
            if expected != wanted {
                let directive = self.line_directive(place);
                self.out.push_str(&directive);
            }
            expected = wanted.map(|(file, line)| (file, line + 1));
            self.line(line.trim());
        }
        self.here();
    }

    /// A directive with the position of a piece in the text.
    pub(crate) fn line_directive(&self, span: source::Span) -> String {
        let used = self.map.places(span).map_or(span, |places| places.used);
        let name = self.map.name(used.file).replace('\\', "\\\\").replace('"', "\\\"");
        format!("#line {} \"{name}\"\n", self.map.location(used).line)
    }

    /// Marks that the generated file continues here.
    pub(crate) fn here(&mut self) {
        self.out.push_str(HERE);
        self.out.push('\n');
    }
}

/// The functions that a piece calls.
fn calls<'t>(text: &'t str, found: &'t Outline) -> impl Iterator<Item = &'t str> {
    found.names.iter().filter_map(move |name| match &name.meaning {
        Meaning::Free(free) if text.get(name.end..)?.trim_start().starts_with('(') => Some(free.as_str()),
        _ => None,
    })
}

/// Whether a `c_state` is outside processes.
pub(crate) fn is_shared_scope(scope: &str) -> bool {
    matches!(scope.trim(), "Global" | "Hidden")
}

/// A file with the numbers of its own lines after pieces of the text.
pub(crate) fn number_lines(name: &str, text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.lines().enumerate() {
        let _ = match line == HERE {
            true => writeln!(out, "#line {} \"{name}\"", number + 2),
            false => writeln!(out, "{line}"),
        };
    }
    out
}
