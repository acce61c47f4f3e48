//! The syntax tree of a module, as it was written.

use source::Span;

/// A name and its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Its position.
    pub span: Span,
}

/// A name that may be one of another module: `Out.Int`.
#[derive(Clone, Debug)]
pub struct Qualified {
    /// The module, if one is named.
    pub module: Option<Name>,
    /// The name.
    pub name: Name,
}

impl Qualified {
    /// Its position, including the module.
    pub fn span(&self) -> Span {
        self.module.as_ref().map_or(self.name.span, |module| module.span.to(self.name.span))
    }
}

/// A module.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its name.
    pub name: Name,
    /// The modules it uses.
    pub imports: Vec<Name>,
    /// Its declarations.
    pub declarations: Vec<Declaration>,
    /// The body, which is executed at the start.
    pub body: Vec<Statement>,
    /// The position of its end.
    pub end: Span,
    /// The `BEGIN` of its body.
    pub begin: Option<Span>,
}

/// A declaration.
#[derive(Clone, Debug)]
pub enum Declaration {
    /// A constant.
    Constant(Name, bool, Expression),
    /// A type.
    Type(Name, bool, TypeTree),
    /// Variables or ports of a type, perhaps at an address.
    Variables(Vec<(Name, bool)>, TypeTree, Option<Expression>),
    /// A process.
    Process(Process),
    /// A property.
    Property(Process),
}

/// A process, or a property, which has no parameters.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its name.
    pub name: Name,
    /// Whether it is exported.
    pub exported: bool,
    /// Its parameters: whether by reference, name, type.
    pub parameters: Vec<(bool, Name, TypeTree)>,
    /// Its period in milliseconds.
    pub period: Option<Expression>,
    /// Its deadline in milliseconds.
    pub deadline: Option<Expression>,
    /// Its declarations.
    pub declarations: Vec<Declaration>,
    /// Its body.
    pub body: Vec<Statement>,
    /// The position of its end.
    pub end: Span,
}

/// A type as it is written.
#[derive(Clone, Debug)]
pub enum TypeTree {
    /// By name.
    Named(Qualified),
    /// Lengths and type of the elements.
    Array(Vec<Expression>, Box<TypeTree>, Span),
    /// Fields.
    Record(Vec<(Name, TypeTree)>, Span),
    /// Messages, each with the types of its values.
    Channel(Vec<(Name, Vec<TypeTree>)>, Span),
}

impl TypeTree {
    /// Its position.
    pub fn span(&self) -> Span {
        match self {
            TypeTree::Named(name) => name.span(),
            TypeTree::Array(_, _, span) | TypeTree::Record(_, span) | TypeTree::Channel(_, span) => *span,
        }
    }
}

/// A place denoted by a name and its selectors, or the name of a call.
#[derive(Clone, Debug)]
pub struct Designator {
    /// The first name.
    pub name: Name,
    /// The selectors.
    pub selectors: Vec<Selector>,
    /// The whole designator.
    pub span: Span,
}

/// A selector after a name.
#[derive(Clone, Debug)]
pub enum Selector {
    /// A field, or a name of a module.
    Field(Name),
    /// An element.
    Index(Expression),
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expression {
    /// Its kind.
    pub kind: ExpressionKind,
    /// Its position.
    pub span: Span,
}

/// The kind of an expression.
#[derive(Clone, Debug)]
pub enum ExpressionKind {
    /// A number.
    Number(i64),
    /// A character.
    Char(u8),
    /// A text.
    Text(String),
    /// `TRUE` or `FALSE`.
    Boolean(bool),
    /// A set: single elements and ranges.
    Set(Vec<(Expression, Option<Expression>)>),
    /// A variable or a constant.
    Place(Designator),
    /// A cast or a standard function: `INT8(x)`, `LEN(a)`.
    Call(Qualified, Vec<Expression>),
    /// `-x`, `~x`.
    Unary(&'static str, Box<Expression>),
    /// `x + y`.
    Binary(&'static str, Box<Expression>, Box<Expression>),
}

/// A communication: `port!message(values)` or `port?message(places)`.
#[derive(Clone, Debug)]
pub struct Communication {
    /// The port.
    pub port: Designator,
    /// Whether the message is sent.
    pub sends: bool,
    /// The message.
    pub message: Name,
    /// The values, or the places that receive them.
    pub arguments: Vec<Expression>,
    /// The whole communication.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Its kind.
    pub kind: StatementKind,
    /// Its position; for a structured statement, its head.
    pub span: Span,
}

/// A clause of `SELECT`: communication, guard, statements.
#[derive(Clone, Debug)]
pub struct Clause {
    /// The communication.
    pub communication: Communication,
    /// The condition that must hold after it.
    pub guard: Option<Expression>,
    /// The statements after it.
    pub body: Vec<Statement>,
}

/// The kind of a statement.
#[derive(Clone, Debug)]
#[allow(missing_docs, clippy::large_enum_variant)]
pub enum StatementKind {
    Assign(Designator, Expression),
    If(Vec<(Expression, Vec<Statement>)>, Option<Vec<Statement>>),
    While(Expression, Vec<Statement>),
    Repeat(Vec<Statement>, Expression),
    For(Designator, Expression, Expression, Option<Expression>, Vec<Statement>),
    Communicate(Communication),
    Select(Vec<Clause>),
    Choice(Vec<Vec<Statement>>),
    Call { concurrent: bool, name: Qualified, arguments: Vec<Expression> },
    Assert(Expression),
    Reschedule,
    Accept,
    Nomove,
}
