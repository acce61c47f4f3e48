//! Compares the pieces of the model with the pieces of the program, by their texts.
//!
//! The control structure is the same in both by construction. The pieces may differ: a variable may
//! be changed only by the program, or only by the model. The result of a check then says nothing
//! about that variable in the program.

use promela::ast::{Declaration, Step, Stmt, StmtKind, Unit};
use promela::{Hybrid, Meaning, NameUse, PieceKind, outline};
use source::Diagnostic;
use std::collections::BTreeSet;

/// Warnings about pairs in which one side changes a variable of the model and the other does not.
pub fn check(hybrid: &Hybrid) -> Vec<Diagnostic> {
    let (mut globals, mut fields) = (BTreeSet::new(), BTreeSet::new());
    let mut processes = Vec::new();
    for unit in &hybrid.program.units {
        match unit {
            Unit::Declaration(declaration) => names(declaration, &mut globals),
            Unit::Typedef(typedef) => typedef.fields.iter().for_each(|field| names(field, &mut fields)),
            Unit::Proctype(process) => {
                let mut locals = BTreeSet::new();
                process.parameters.iter().for_each(|parameter| names(parameter, &mut locals));
                in_steps(&process.body, &mut locals);
                processes.push((process.name.span.to(process.end), locals));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    for pair in &hybrid.pairs {
        let span = pair.program.as_ref().or(pair.model.as_ref()).map(|(span, _)| *span).unwrap_or_default();
        let around = processes.iter().find(|(whole, _)| whole.file == span.file && (whole.start..whole.end).contains(&span.start));
        // A piece in another file may belong to any process.
        let known: BTreeSet<String> = match around {
            Some((_, locals)) => globals.union(locals).cloned().collect(),
            None => processes.iter().flat_map(|(_, locals)| locals).chain(&globals).cloned().collect(),
        };
        let program = pair.program.as_ref().map(|(span, text)| (*span, changed_by_program(text, &known, &fields)));
        let model = pair.model.as_ref().map(|(span, text)| (*span, assigned(text, &known, true)));
        let (at_program, at_model) = (program.clone().unwrap_or_default().1, model.clone().unwrap_or_default().1);
        if let Some((span, names)) = &program {
            for name in names.difference(&at_model) {
                let message = format!("the program changes `{name}` here, and the model does not");
                let hint = "state in `promela_MS { … }` next to it which values it may get";
                found.push(Diagnostic::warning(*span, message).with_hint(hint));
            }
        }
        if let (Some((span, names)), true) = (&model, program.is_some()) {
            for name in names.difference(&at_program) {
                let message = format!("the model changes `{name}` here, and the program does not");
                found.push(Diagnostic::warning(*span, message).with_hint("the program continues with the old value"));
            }
        }
    }
    found
}

fn names(declaration: &Declaration, out: &mut BTreeSet<String>) {
    out.extend(declaration.variables.iter().map(|variable| variable.name.text.to_string()));
}

fn in_steps(steps: &[Step], out: &mut BTreeSet<String>) {
    for step in steps {
        match step {
            Step::Declaration(declaration) => names(declaration, out),
            Step::Exclusive(..) => {}
            Step::Statement(statement) => in_statement(statement, out),
        }
    }
}

fn in_statement(statement: &Stmt, out: &mut BTreeSet<String>) {
    match &statement.kind {
        StmtKind::If(options) | StmtKind::Do(options) => options.iter().for_each(|option| in_steps(option, out)),
        StmtKind::Atomic(steps) | StmtKind::DStep(steps) | StmtKind::Block(steps) | StmtKind::For { body: steps, .. } => {
            in_steps(steps, out)
        }
        StmtKind::Label(_, inner) => in_statement(inner, out),
        _ => {}
    }
}

/// The known variables that a piece of the program changes, other than in fields that only the
/// program has. A piece that is no C is Rust.
fn changed_by_program(text: &str, known: &BTreeSet<String>, fields: &BTreeSet<String>) -> BTreeSet<String> {
    let Ok(found) = outline(text, PieceKind::Statements, &BTreeSet::new()) else { return assigned(text, known, false) };
    let of_model = |after: &str| field_of(after).is_none_or(|field| fields.contains(field));
    let changed = found.names.into_iter().filter(|name| name.usage == NameUse::Changed && of_model(&text[name.end..]));
    let names = changed.map(|name| match name.meaning {
        Meaning::Free(name) | Meaning::Global(name) | Meaning::Local(_, name) => name,
    });
    names.filter(|name| known.contains(name)).collect()
}

/// The field that the text after a variable names, behind an index or not.
fn field_of(after: &str) -> Option<&str> {
    let mut rest = after.trim_start();
    while rest.starts_with('[') {
        rest = rest[rest.find(']')? + 1..].trim_start();
    }
    let field = rest.strip_prefix('.').or_else(|| rest.strip_prefix("->"))?.trim_start();
    let end = field.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(field.len());
    Some(&field[..end])
}

/// The known variables that a text in Promela or Rust changes. In Promela a received field is a
/// change; in Rust so is a variable that is lent to be changed.
pub(crate) fn assigned(text: &str, known: &BTreeSet<String>, promela: bool) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for name in known {
        let mut rest = text;
        let mut before = ' ';
        while let Some(at) = rest.find(name.as_str()) {
            let previous = rest[..at].chars().next_back().unwrap_or(before);
            let after = &rest[at + name.len()..];
            before = name.chars().next_back().unwrap_or(' ');
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let whole = !is_part(previous) && previous != '.' && !after.starts_with(is_part);
            let head = rest[..at].trim_end();
            let lent = !promela && head.strip_suffix("mut").is_some_and(|head| head.trim_end().ends_with('&'));
            if whole && (changes(after) || lent || (promela && received(text, name))) {
                found.insert(name.clone());
            }
            rest = after;
        }
    }
    found
}

/// Whether the text after a variable makes it an assignment.
fn changes(after: &str) -> bool {
    let mut rest = after.trim_start();
    while rest.starts_with('[') || rest.starts_with('.') {
        rest = match rest.find(']').filter(|_| rest.starts_with('[')) {
            Some(end) => rest[end + 1..].trim_start(),
            None => rest[1..].trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').trim_start(),
        };
    }
    let operators = ["++", "--", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<=", ">>="];
    operators.iter().any(|op| rest.starts_with(op)) || (rest.starts_with('=') && !rest.starts_with("=="))
}

/// Whether a name is among the fields of a receive.
fn received(text: &str, name: &str) -> bool {
    text.split([';', '{', '}']).any(|statement| {
        let Some((_, fields)) = statement.split_once('?') else { return false };
        let fields = fields.trim_start_matches('?');
        fields
            .split("->")
            .next()
            .unwrap_or(fields)
            .split(',')
            .any(|field| field.trim().split('.').next().is_some_and(|word| word.trim() == name))
    })
}
