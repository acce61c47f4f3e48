//! The names that a piece of C uses without declaring them.
//!
//! A generated program contains pieces of C as they are, except for names that mean something else
//! there: `now.x` and `P->x` are SPIN's names for variables of the model, and a variable that a
//! `c_decl` declares is shared by all processes. This module finds these names by scope, so a
//! field, a parameter or a local variable of the same name is not changed. A piece that is not C is
//! an error with a position, before any compiler sees it.

use super::read::{self, Mistake};
use lang_c::ast as c;
use lang_c::span::{Node, Span};
use lang_c::visit::{self, Visit};
use std::collections::BTreeSet;

/// The syntactic kind of a piece of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// Declarations outside functions.
    Declarations,
    /// Fields of a structure.
    Fields,
    /// Statements.
    Statements,
    /// An expression.
    Expression,
}

/// The meaning of a name in a piece of C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A name that the piece does not declare.
    Free(String),
    /// `now.NAME`: a global variable of the model.
    Global(String),
    /// `PTYPE->NAME`: a local variable of this process type.
    Local(String, String),
}

/// A name in a piece of C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameInC {
    /// The offset at which it begins.
    pub start: usize,
    /// The offset after it.
    pub end: usize,
    /// Its meaning.
    pub meaning: Meaning,
}

/// A declaration of variables outside functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variables {
    /// The offset at which it begins.
    pub start: usize,
    /// The offset after its semicolon.
    pub end: usize,
    /// The variables.
    pub names: Vec<String>,
}

/// The names of a piece of C.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    /// The names that it does not declare, in the order of the text.
    pub names: Vec<NameInC>,
    /// Its declarations of variables outside functions, in the order of the text.
    pub variables: Vec<Variables>,
    /// The functions that it defines.
    pub functions: Vec<String>,
    /// The types that it names.
    pub types: BTreeSet<String>,
}

/// An error in a piece of C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotC {
    /// The offset at which the text cannot be continued.
    pub offset: usize,
    /// The error, in words.
    pub message: String,
}

/// Finds the names in a piece of C. `types` are the names of types that earlier pieces have
/// declared. Types from headers are recognised by their position in the text.
pub fn outline(text: &str, kind: PieceKind, types: &BTreeSet<String>) -> Result<Outline, NotC> {
    let careful = guessing(text, kind, types, false);
    match careful {
        Ok(found) => Ok(found),
        Err(wrong) => guessing(text, kind, types, true).map_err(|_| wrong),
    }
}

fn guessing(text: &str, kind: PieceKind, types: &BTreeSet<String>, bold: bool) -> Result<Outline, NotC> {
    let blank = read::blank_directives(text);
    let mut known = types.clone();
    known.extend(super::TYPES.iter().map(|(name, _)| (*name).to_owned()));
    known.extend(guessed_types(&blank, bold));
    let mut finder = Finder::default();
    let wrong = |mistake: Mistake| NotC { offset: mistake.offset, message: mistake.message };
    match kind {
        PieceKind::Declarations => {
            let (unit, shift) = read::unit(&blank, &known).map_err(wrong)?;
            finder.shift = shift;
            finder.outside = true;
            finder.scopes.push(BTreeSet::new());
            unit.0.iter().for_each(|external| finder.external(external));
        }
        PieceKind::Statements => {
            let (block, shift) = read::block(&blank, &known).map_err(wrong)?;
            finder.shift = shift;
            finder.visit_statement(&block.node, &block.span);
        }
        PieceKind::Expression => {
            let (expression, shift) = read::expression(&blank, &known).map_err(wrong)?;
            finder.shift = shift;
            finder.visit_expression(&expression.node, &expression.span);
        }
        PieceKind::Fields => drop(read::fields(&blank, &known).map_err(wrong)?),
    }
    finder.found.names.sort_by_key(|name| name.start);
    finder.found.types.extend(known);
    Ok(finder.found)
}

/// Guesses the names of types from their positions: before another name, or before stars and a name
/// at the beginning of a statement. A bold guess also takes products in parentheses for parameters.
fn guessed_types(text: &str, bold: bool) -> BTreeSet<String> {
    const WORDS: [&str; 37] = [
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "_Bool",
        "__extension__",
        "__inline",
    ];
    let tokens = tokens(text);
    let is_name = |at: usize| {
        tokens
            .get(at)
            .is_some_and(|word: &&str| word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') && !WORDS.contains(word))
    };
    let mut found = BTreeSet::new();
    for (at, &word) in tokens.iter().enumerate().filter(|(at, _)| is_name(*at)) {
        let before = at.checked_sub(1).map_or(";", |at| tokens[at]);
        let stars = tokens[at + 1..].iter().take_while(|token| **token == "*").count();
        let after = at + 1 + stars;
        let begins = match before {
            ";" | "{" | "}" | "static" | "const" | "extern" | "volatile" => true,
            // This is a parameter or a product.
            "(" | "," => bold,
            _ => false,
        };
        let tagged = matches!(before, "struct" | "union" | "enum" | "goto");
        let adjacent = stars == 0 && is_name(after) && !tagged;
        let ends = tokens.get(after + 1).is_some_and(|next| matches!(*next, "=" | ";" | "," | ")" | "["));
        let pointer = stars > 0 && begins && is_name(after) && ends;
        let cast = stars > 0 && before == "(" && tokens.get(after) == Some(&")");
        if adjacent || pointer || cast {
            found.insert(word.to_owned());
        }
    }
    found
}

/// The tokens of a text, roughly: names and numbers are whole, strings are left out.
fn tokens(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let start = at;
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        match bytes[at] {
            byte if is_part(byte) => {
                while bytes.get(at).is_some_and(|byte| is_part(*byte)) {
                    at += 1;
                }
            }
            quote @ (b'"' | b'\'') => {
                at += 1;
                while bytes.get(at).is_some_and(|byte| *byte != quote) {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at = (at + 1).min(bytes.len());
                found.push("\"");
                continue;
            }
            byte if byte.is_ascii() => at += 1,
            _ => {
                while bytes.get(at).is_some_and(|byte| !byte.is_ascii()) {
                    at += 1;
                }
            }
        }
        if !bytes[start].is_ascii_whitespace() {
            found.extend(text.get(start..at));
        }
    }
    found
}

/// Walks over a syntax tree and knows the names that are declared around each place.
#[derive(Default)]
struct Finder {
    shift: usize,
    /// Whether the first scope is that of declarations outside functions.
    outside: bool,
    scopes: Vec<BTreeSet<String>>,
    found: Outline,
}

impl Finder {
    fn external(&mut self, external: &Node<c::ExternalDeclaration>) {
        if let c::ExternalDeclaration::Declaration(declaration) = &external.node {
            let typedef = declaration.node.specifiers.iter().any(is_typedef);
            let names: Vec<String> = declaration
                .node
                .declarators
                .iter()
                .filter(|d| !is_function(&d.node.declarator))
                .filter_map(|d| name_of(&d.node.declarator))
                .collect();
            if typedef {
                self.found.types.extend(names);
            } else if !names.is_empty() {
                let start = external.span.start.saturating_sub(self.shift);
                self.found.variables.push(Variables { start, end: external.span.end.saturating_sub(self.shift), names });
            }
        }
        self.visit_external_declaration(&external.node, &external.span);
    }

    fn declare(&mut self, declarator: &Node<c::Declarator>) {
        if let (Some(scope), Some(name)) = (self.scopes.last_mut(), name_of(declarator)) {
            scope.insert(name);
        }
    }

    fn is_declared(&self, name: &str) -> bool {
        // Declarations outside functions are shared by all pieces, so they do not hide names.
        self.scopes.iter().skip(usize::from(self.outside)).any(|scope| scope.contains(name))
    }

    fn add(&mut self, span: &Span, meaning: Meaning) {
        let (start, end) = (span.start.saturating_sub(self.shift), span.end.saturating_sub(self.shift));
        self.found.names.push(NameInC { start, end, meaning });
    }

    fn scoped(&mut self, visit: impl FnOnce(&mut Self)) {
        self.scopes.push(BTreeSet::new());
        visit(self);
        self.scopes.pop();
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_expression(&mut self, expression: &'ast c::Expression, span: &'ast Span) {
        match expression {
            c::Expression::Identifier(name) => {
                if !self.is_declared(&name.node.name) {
                    self.add(&name.span, Meaning::Free(name.node.name.clone()));
                }
            }
            c::Expression::Member(member) => {
                let field = member.node.identifier.node.name.clone();
                let of = match &member.node.expression.node {
                    c::Expression::Identifier(name) if !self.is_declared(&name.node.name) => Some(name.node.name.as_str()),
                    _ => None,
                };
                match (of, &member.node.operator.node) {
                    (Some("now"), c::MemberOperator::Direct) => self.add(span, Meaning::Global(field)),
                    (Some(name), c::MemberOperator::Indirect) if name.len() > 1 && name.starts_with('P') => {
                        self.add(span, Meaning::Local(name[1..].to_owned(), field));
                    }
                    _ => self.visit_expression(&member.node.expression.node, &member.node.expression.span),
                }
            }
            _ => visit::visit_expression(self, expression, span),
        }
    }

    // Fields, labels and designators are not variables.
    fn visit_identifier(&mut self, _: &'ast c::Identifier, _: &'ast Span) {}

    fn visit_struct_declarator(&mut self, declarator: &'ast c::StructDeclarator, _: &'ast Span) {
        if let Some(inner) = &declarator.declarator {
            inner.node.derived.iter().for_each(|part| self.visit_derived_declarator(&part.node, &part.span));
        }
        if let Some(width) = &declarator.bit_width {
            self.visit_expression(&width.node, &width.span);
        }
    }

    fn visit_init_declarator(&mut self, declarator: &'ast c::InitDeclarator, span: &'ast Span) {
        self.declare(&declarator.declarator);
        visit::visit_init_declarator(self, declarator, span);
    }

    fn visit_enumerator(&mut self, enumerator: &'ast c::Enumerator, span: &'ast Span) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(enumerator.identifier.node.name.clone());
        }
        visit::visit_enumerator(self, enumerator, span);
    }

    fn visit_parameter_declaration(&mut self, parameter: &'ast c::ParameterDeclaration, span: &'ast Span) {
        if let Some(declarator) = &parameter.declarator {
            self.declare(declarator);
        }
        visit::visit_parameter_declaration(self, parameter, span);
    }

    fn visit_function_definition(&mut self, definition: &'ast c::FunctionDefinition, span: &'ast Span) {
        self.found.functions.extend(name_of(&definition.declarator));
        self.scoped(|finder| visit::visit_function_definition(finder, definition, span));
    }

    fn visit_statement(&mut self, statement: &'ast c::Statement, span: &'ast Span) {
        match statement {
            c::Statement::Compound(_) | c::Statement::For(_) => self.scoped(|finder| visit::visit_statement(finder, statement, span)),
            _ => visit::visit_statement(self, statement, span),
        }
    }
}

fn is_typedef(specifier: &Node<c::DeclarationSpecifier>) -> bool {
    matches!(&specifier.node, c::DeclarationSpecifier::StorageClass(class) if class.node == c::StorageClassSpecifier::Typedef)
}

fn is_function(declarator: &Node<c::Declarator>) -> bool {
    let derived = &declarator.node.derived;
    derived.iter().any(|part| matches!(part.node, c::DerivedDeclarator::Function(_) | c::DerivedDeclarator::KRFunction(_)))
        && !matches!(declarator.node.kind.node, c::DeclaratorKind::Declarator(_))
}

fn name_of(declarator: &Node<c::Declarator>) -> Option<String> {
    match &declarator.node.kind.node {
        c::DeclaratorKind::Identifier(name) => Some(name.node.name.clone()),
        c::DeclaratorKind::Declarator(inner) => name_of(inner),
        c::DeclaratorKind::Abstract => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str, kind: PieceKind) -> Vec<Meaning> {
        let found = outline(text, kind, &BTreeSet::new()).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        found.names.into_iter().map(|name| name.meaning).collect()
    }

    fn free(name: &str) -> Meaning {
        Meaning::Free(name.to_owned())
    }

    #[test]
    fn names_of_the_model_are_found_by_scope() {
        let text = "PP->n++; now.y += PP->n; g++; { int g = 2; g--; for (int i = 0; i < g; i++) p.g = i; }";
        let local = || Meaning::Local("P".to_owned(), "n".to_owned());
        let wanted = [local(), Meaning::Global("y".to_owned()), local(), free("g"), free("p")];
        assert_eq!(names(text, PieceKind::Statements), wanted);
        let text = "int top, stack[3] = { 1 }; static int f(int top) { return top + stack[0]; } struct s { int top; };";
        let found = outline(text, PieceKind::Declarations, &BTreeSet::new()).expect("right");
        assert_eq!(found.variables.len(), 1, "{found:?}");
        assert_eq!(
            (&text[found.variables[0].start..found.variables[0].end], found.variables[0].names.len()),
            ("int top, stack[3] = { 1 };", 2)
        );
        assert_eq!(found.names.iter().map(|name| &name.meaning).collect::<Vec<_>>(), [&free("stack")]);
    }

    #[test]
    fn types_of_headers_are_guessed() {
        for text in ["FILE *f = fopen(\"a\", \"r\"); fclose(f);", "pthread_t one; x = (struct q *) y;", "time_t t; x = (my_type *) t;"] {
            assert!(outline(text, PieceKind::Statements, &BTreeSet::new()).is_ok(), "{text}");
        }
        assert!(outline("static int f(FILE *f, list *l) { return f != 0; }", PieceKind::Declarations, &BTreeSet::new()).is_ok());
        assert_eq!(names("x = (a * b);", PieceKind::Statements), [free("x"), free("a"), free("b")]);
        assert_eq!(names("x = a * b;", PieceKind::Statements), [free("x"), free("a"), free("b")]);
        assert_eq!(names("FILE *f; f = 0;", PieceKind::Statements), []);
    }

    #[test]
    fn what_is_no_c_has_a_place() {
        let at = |text: &str, kind| outline(text, kind, &BTreeSet::new()).expect_err("wrong").offset;
        assert_eq!(at("x = 1 + ;", PieceKind::Statements), 8);
        assert_eq!(at("x = (1 + ;", PieceKind::Statements), 9);
        assert_eq!(at("x ==", PieceKind::Expression), 4);
        assert_eq!(at("long stamp", PieceKind::Fields), 10);
        assert!(outline("#define A(x) (x)\nlong stamp;", PieceKind::Fields, &BTreeSet::new()).is_ok());
    }
}
