//! The syntax tree of a module, as it was written.

use source::Span;

/// A name and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where it stands.
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
    /// Where it stands, module included.
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
    /// What it declares.
    pub declarations: Vec<Declaration>,
    /// What it does at the start.
    pub body: Vec<Statement>,
    /// Where it ends.
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
    /// Whether other modules see it.
    pub exported: bool,
    /// Its parameters: whether by reference, name, type.
    pub parameters: Vec<(bool, Name, TypeTree)>,
    /// How often it is to run, in milliseconds.
    pub period: Option<Expression>,
    /// How long it may take, in milliseconds.
    pub deadline: Option<Expression>,
    /// What it declares.
    pub declarations: Vec<Declaration>,
    /// What it does.
    pub body: Vec<Statement>,
    /// Where it ends.
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
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            TypeTree::Named(name) => name.span(),
            TypeTree::Array(_, _, span) | TypeTree::Record(_, span) | TypeTree::Channel(_, span) => *span,
        }
    }
}

/// A place that a name and what stands behind it denote, or a call's name.
#[derive(Clone, Debug)]
pub struct Designator {
    /// The first name.
    pub name: Name,
    /// What stands behind it.
    pub selectors: Vec<Selector>,
    /// All of it.
    pub span: Span,
}

/// What stands behind a name.
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
    /// What it is.
    pub kind: ExpressionKind,
    /// Where it stands.
    pub span: Span,
}

/// What an expression is.
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
    /// Values, or places that take them.
    pub arguments: Vec<Expression>,
    /// All of it.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it is.
    pub kind: StatementKind,
    /// Where it stands: for a structured one, its head.
    pub span: Span,
}

/// A clause of `SELECT`: communication, guard, statements.
#[derive(Clone, Debug)]
pub struct Clause {
    /// The communication.
    pub communication: Communication,
    /// The condition that must hold after it.
    pub guard: Option<Expression>,
    /// What follows it.
    pub body: Vec<Statement>,
}

/// What a statement is.
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
