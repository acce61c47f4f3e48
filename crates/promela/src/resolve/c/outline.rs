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

/// What a piece of C does with a variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameUse {
    /// It reads the variable.
    #[default]
    Read,
    /// It passes the variable as an argument. A function may change an array that it is given.
    Passed,
    /// It stores a value in the variable or a part of it, or takes its address.
    Changed,
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
    /// What is done with it.
    pub usage: NameUse,
}

/// A function that a piece of C defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionInC {
    /// Its name.
    pub name: String,
    /// The offset at which its definition begins.
    pub start: usize,
    /// The offset after its definition.
    pub end: usize,
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
    pub functions: Vec<FunctionInC>,
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
    finder.add_uses();
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
    /// The names at these places are changed or passed.
    uses: Vec<(Span, NameUse)>,
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
        self.found.names.push(NameInC { start, end, meaning, usage: NameUse::Read });
    }

    /// Notes what is done with the variable that an expression denotes a part of.
    fn use_of(&mut self, expression: &Node<c::Expression>, usage: NameUse) {
        match &expression.node {
            c::Expression::Identifier(name) => self.uses.push((name.span, usage)),
            c::Expression::Member(member) => {
                let of_model = match (&member.node.expression.node, &member.node.operator.node) {
                    (c::Expression::Identifier(name), c::MemberOperator::Direct) => name.node.name == "now",
                    (c::Expression::Identifier(name), c::MemberOperator::Indirect) => name.node.name.starts_with('P'),
                    _ => false,
                };
                match &member.node.operator.node {
                    _ if of_model => self.uses.push((expression.span, usage)),
                    c::MemberOperator::Direct if usage == NameUse::Changed => self.use_of(&member.node.expression, usage),
                    // A pointer itself is only read, and a part of a variable is passed by value.
                    _ => {}
                }
            }
            c::Expression::BinaryOperator(operation) => {
                let part = usage == NameUse::Changed && operation.node.operator.node == c::BinaryOperator::Index;
                if part || matches!(operation.node.operator.node, c::BinaryOperator::Plus | c::BinaryOperator::Minus) {
                    self.use_of(&operation.node.lhs, usage);
                }
            }
            c::Expression::UnaryOperator(operation) if operation.node.operator.node == c::UnaryOperator::Indirection => {
                self.use_of(&operation.node.operand, usage);
            }
            c::Expression::Cast(cast) => self.use_of(&cast.node.expression, usage),
            _ => {}
        }
    }

    fn uses_in(&mut self, expression: &c::Expression) {
        use c::{BinaryOperator as B, UnaryOperator as U};
        match expression {
            c::Expression::UnaryOperator(operation)
                if matches!(
                    operation.node.operator.node,
                    U::PostIncrement | U::PostDecrement | U::PreIncrement | U::PreDecrement | U::Address
                ) =>
            {
                self.use_of(&operation.node.operand, NameUse::Changed);
            }
            c::Expression::BinaryOperator(operation)
                if matches!(
                    operation.node.operator.node,
                    B::Assign
                        | B::AssignMultiply
                        | B::AssignDivide
                        | B::AssignModulo
                        | B::AssignPlus
                        | B::AssignMinus
                        | B::AssignShiftLeft
                        | B::AssignShiftRight
                        | B::AssignBitwiseAnd
                        | B::AssignBitwiseXor
                        | B::AssignBitwiseOr
                ) =>
            {
                self.use_of(&operation.node.lhs, NameUse::Changed);
            }
            c::Expression::Call(call) => call.node.arguments.iter().for_each(|argument| self.use_of(argument, NameUse::Passed)),
            _ => {}
        }
    }

    /// Adds to each name what is done with it.
    fn add_uses(&mut self) {
        for (span, usage) in &self.uses {
            let (start, end) = (span.start.saturating_sub(self.shift), span.end.saturating_sub(self.shift));
            for name in self.found.names.iter_mut().filter(|name| (name.start, name.end) == (start, end)) {
                if name.usage != NameUse::Changed {
                    name.usage = *usage;
                }
            }
        }
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
            _ => {
                self.uses_in(expression);
                visit::visit_expression(self, expression, span);
            }
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
        let (start, end) = (span.start.saturating_sub(self.shift), span.end.saturating_sub(self.shift));
        self.found.functions.extend(name_of(&definition.declarator).map(|name| FunctionInC { name, start, end }));
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
    fn what_is_done_with_a_name_is_known() {
        let usage = |text: &str| {
            let found = outline(text, PieceKind::Statements, &BTreeSet::new()).unwrap_or_else(|error| panic!("{text}: {error:?}"));
            let of = |name: &NameInC| match &name.meaning {
                Meaning::Free(name) | Meaning::Global(name) | Meaning::Local(_, name) => name.clone(),
            };
            let with = |usage| found.names.iter().filter(|name| name.usage == usage).map(of).collect::<Vec<_>>().join(" ");
            (with(NameUse::Changed), with(NameUse::Passed))
        };
        let changed = [
            ("now.x = 1;", "x"),
            ("PP->x += 2;", "x"),
            ("now.s.f[now.i] = now.y;", "s"),
            ("++x; y--; --now.z;", "x y z"),
            ("(x) = 1; a[b[i]] = c;", "x a"),
            ("if (x == 1 && !(y <= 2)) *(buffer + i) = 3;", "buffer"),
            ("scanf(\"%d = %d\", &x, &now.y);", "x y"),
            ("p->x = 1; q[p->y] <<= 2;", "q"),
        ];
        for (text, wanted) in changed {
            assert_eq!(usage(text).0, wanted, "{text}");
        }
        assert_eq!(usage("read(fd, buffer, sizeof buffer); f(now.list, list[2], s.f, x + 1);").1, "fd buffer list x");
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
