//! The syntax tree: what the user wrote, with inlines expanded, before names are looked up.
//!
//! Statements that SPIN rewrites while parsing (`for`, `select`, `x++`, calls of inlines) are kept
//! or rewritten so that the control graph gets exactly SPIN's control states; see [`crate::graph`].

use crate::token::Text;
use source::Span;
use std::rc::Rc;

/// A name and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Ident {
    /// The name.
    pub text: Text,
    /// The position.
    pub span: Span,
}

/// A whole model.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Declarations and definitions in the order of the text.
    pub units: Vec<Unit>,
}

/// A piece of a model at the outermost level.
#[derive(Clone, Debug)]
pub enum Unit {
    /// Variables.
    Declaration(Declaration),
    /// `mtype = { … }`, `mtype:set = { … }`.
    Mtype(MtypeSet),
    /// A user-defined type.
    Typedef(Typedef),
    /// A process type, `init` included.
    Proctype(Box<Proctype>),
    /// `never`, `trace`, `notrace`.
    Automaton(Automaton),
    /// `ltl`.
    Ltl(Ltl),
    /// Expressions whose values are requested from outside, by `ltl = { a, b }`.
    Values(Vec<Expr>),
    /// Embedded C outside processes.
    Embedded(Embedded),
}

/// Text in C inside a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Fragment {
    /// The text, macros expanded.
    pub text: Text,
    /// For each token of the text, the offset at which it begins and its position.
    pub places: Rc<[(u32, Span)]>,
    /// The whole text, including the braces.
    pub span: Span,
}

impl Fragment {
    /// The position of the text between two offsets.
    pub fn place(&self, start: usize, end: usize) -> Span {
        let at = |offset: usize| {
            let index = self.places.partition_point(|(begin, _)| *begin as usize <= offset);
            index.checked_sub(1).and_then(|index| self.places.get(index)).or(self.places.first()).map_or(self.span, |(_, span)| *span)
        };
        at(start).to(at(end.saturating_sub(1).max(start)))
    }
}

/// Embedded C outside processes.
#[derive(Clone, Debug)]
pub enum Embedded {
    /// `c_decl { … }`, or a `c_code { … }` that defines functions.
    Declarations(Fragment),
    /// `c_state "declaration" "scope" "initial value"`.
    State {
        /// The declaration.
        declaration: Fragment,
        /// `Global`, `Local` with a process type, `Hidden`.
        scope: Text,
        /// The initial value.
        initial: Option<Fragment>,
        /// The whole declaration.
        span: Span,
    },
    /// `c_track "&object" "size" "Matched"`.
    Track {
        /// The address of the object.
        object: Fragment,
        /// Its size in bytes.
        size: Fragment,
        /// Whether states that differ in it are different.
        matched: bool,
        /// The whole declaration.
        span: Span,
    },
}

/// Names of messages.
#[derive(Clone, Debug)]
pub struct MtypeSet {
    /// The set's name, if it has one.
    pub set: Option<Ident>,
    /// The names as written.
    pub names: Vec<Ident>,
}

/// `typedef Name { fields }`.
#[derive(Clone, Debug)]
pub struct Typedef {
    /// The type's name.
    pub name: Ident,
    /// The fields.
    pub fields: Vec<Declaration>,
    /// Fields declared in C, which only a program has.
    pub embedded: Vec<Fragment>,
}

/// A process type.
#[derive(Clone, Debug)]
pub struct Proctype {
    /// Its name; `:init:` for `init`.
    pub name: Ident,
    /// Whether it is `init`.
    pub is_init: bool,
    /// `D_proctype`: non-determinism in it is an error.
    pub deterministic: bool,
    /// The number of instances that exist from the beginning.
    pub active: Option<Expr>,
    /// The parameters.
    pub parameters: Vec<Declaration>,
    /// `priority n`.
    pub priority: Option<Expr>,
    /// `provided (e)`.
    pub provided: Option<Expr>,
    /// The body.
    pub body: Vec<Step>,
    /// The closing brace.
    pub end: Span,
}

/// The purpose of an automaton among the properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutomatonKind {
    /// A claim that moves together with the system. The system is wrong if the claim ends or
    /// accepts.
    Never,
    /// The events on its channels must match it.
    Trace,
    /// The events on its channels must not match it.
    Notrace,
}

impl AutomatonKind {
    /// The word it begins with.
    pub fn keyword(self) -> &'static str {
        match self {
            AutomatonKind::Never => "never",
            AutomatonKind::Trace => "trace",
            AutomatonKind::Notrace => "notrace",
        }
    }
}

/// `never`, `trace` or `notrace`.
#[derive(Clone, Debug)]
pub struct Automaton {
    /// Its kind.
    pub kind: AutomatonKind,
    /// Its name: given, or made up as SPIN does.
    pub name: Ident,
    /// Its body.
    pub body: Vec<Step>,
    /// The closing brace.
    pub end: Span,
}

/// `ltl name { formula }`.
#[derive(Clone, Debug)]
pub struct Ltl {
    /// Its name: given, or made up as SPIN does.
    pub name: Ident,
    /// The formula that must hold.
    pub formula: Formula,
    /// The position of the formula.
    pub text: Span,
}

/// A formula of linear temporal logic over expressions.
#[derive(Clone, Debug)]
pub enum Formula {
    /// A proposition.
    Atom(Expr),
    /// `!f`.
    Not(Box<Formula>),
    /// `f && g`.
    And(Box<Formula>, Box<Formula>),
    /// `f || g`.
    Or(Box<Formula>, Box<Formula>),
    /// `f -> g`.
    Implies(Box<Formula>, Box<Formula>),
    /// `f <-> g`.
    Equivalent(Box<Formula>, Box<Formula>),
    /// `X f`.
    Next(Box<Formula>),
    /// `[] f`.
    Always(Box<Formula>),
    /// `<> f`.
    Eventually(Box<Formula>),
    /// `f U g`.
    Until(Box<Formula>, Box<Formula>),
    /// `f W g`.
    WeakUntil(Box<Formula>, Box<Formula>),
    /// `f V g`.
    Release(Box<Formula>, Box<Formula>),
}

/// The type part of a declaration.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeName {
    /// `bit` or `bool`.
    Bit,
    /// `byte` or `pid`.
    Byte,
    /// `short`.
    Short,
    /// `int`.
    Int,
    /// `unsigned x : n`; the width is stored with the variable.
    Unsigned,
    /// `mtype` or `mtype:set`.
    Mtype(Option<Ident>),
    /// `chan`.
    Chan,
    /// A user-defined type.
    User(Ident),
}

/// How a variable is treated apart from its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Visibility {
    /// As usual.
    #[default]
    Normal,
    /// `hidden`: not part of the state.
    Hidden,
    /// `show`: to be shown in charts.
    Show,
    /// `local`: a global that only one process uses.
    Local,
}

/// One declaration, of one or more variables.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// `hidden`, `show`, `local`.
    pub visibility: Visibility,
    /// The type.
    pub ty: TypeName,
    /// The variables.
    pub variables: Vec<Variable>,
    /// The whole declaration.
    pub span: Span,
}

/// One variable of a declaration.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: Ident,
    /// `: n` of an `unsigned`.
    pub width: Option<Expr>,
    /// `[n]`.
    pub length: Option<Expr>,
    /// `= …`.
    pub initial: Option<Initial>,
    /// The whole declaration of the variable.
    pub span: Span,
}

/// An initial value.
#[derive(Clone, Debug)]
pub enum Initial {
    /// One value, for all elements of an array.
    Value(Expr),
    /// One for each element of an array.
    List(Vec<Expr>),
    /// A channel: capacity and message type.
    Channel {
        /// The number of messages it can hold.
        capacity: Expr,
        /// The types of a message's fields.
        fields: Vec<(TypeName, Span)>,
    },
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Its kind.
    pub kind: ExprKind,
    /// Its position.
    pub span: Span,
}

/// Kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A number, a character, `true`, `false`, `skip`.
    Number(i32),
    /// A variable or the name of a message.
    Ref(Reference),
    /// An operator before an operand.
    Unary(Unary, Box<Expr>),
    /// An operator between operands.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `(c -> a : b)`.
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `run P(args) priority n`.
    Run {
        /// The process type.
        name: Ident,
        /// The arguments.
        arguments: Vec<Expr>,
        /// The priority, if given.
        priority: Option<Box<Expr>>,
    },
    /// `len(q)`, `empty(q)`, …
    Probe(Probe, Reference),
    /// `q?[…]`, `q??[…]`.
    Poll(Box<Receive>),
    /// `enabled(pid)`.
    Enabled(Box<Expr>),
    /// `pc_value(pid)`.
    PcValue(Box<Expr>),
    /// `get_priority(pid)`.
    GetPriority(Box<Expr>),
    /// `timeout`.
    Timeout,
    /// `np_`.
    NonProgress,
    /// `P[pid]@label`.
    RemoteLabel {
        /// The process type.
        process: Ident,
        /// Which instance; by default the only one.
        pid: Option<Box<Expr>>,
        /// The label.
        label: Ident,
    },
    /// `P[pid]:variable`.
    RemoteVariable {
        /// The process type.
        process: Ident,
        /// Which instance; by default the only one.
        pid: Option<Box<Expr>>,
        /// The variable.
        variable: Reference,
    },
    /// `c_expr { … }`, and the condition that must hold when it is evaluated.
    Embedded(Fragment, Option<Fragment>),
    /// A placeholder for text that could not be read; an error has been reported.
    Error,
}

/// Operators before an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// `-`
    Negate,
    /// `!`
    Not,
    /// `~`
    Complement,
}

/// The texts of the steps that a `for` consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopParts {
    /// The assignment before the loop.
    pub first: Span,
    /// The condition of each round.
    pub test: Span,
    /// The step to the next round.
    pub next: Span,
    /// The condition of the end.
    pub leave: Span,
    /// The jump out of the loop.
    pub end: Span,
}

impl LoopParts {
    /// All steps have this text.
    pub fn alike(span: Span) -> LoopParts {
        LoopParts { first: span, test: span, next: span, leave: span, end: span }
    }
}

/// Operators between operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
}

/// Questions about a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Probe {
    Len,
    Empty,
    Nempty,
    Full,
    Nfull,
}

/// `a`, `a[i]`, `a[i].b.c[j]`.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The parts, at least one.
    pub parts: Vec<Part>,
    /// The whole reference.
    pub span: Span,
}

/// One part of a reference.
#[derive(Clone, Debug)]
pub struct Part {
    /// The variable's or the field's name.
    pub name: Ident,
    /// The index, if there is one.
    pub index: Option<Box<Expr>>,
}

/// A receive or a poll.
#[derive(Clone, Debug)]
pub struct Receive {
    /// The channel.
    pub channel: Reference,
    /// `??`: any message that matches, not only the first.
    pub any: bool,
    /// `?<…>`: the message is kept in the channel.
    pub keep: bool,
    /// The fields.
    pub arguments: Vec<Expr>,
    /// Which of the arguments are `eval(…)`.
    pub evaluated: Vec<bool>,
}

/// One step of a sequence.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "most steps are statements")]
pub enum Step {
    /// A declaration.
    Declaration(Declaration),
    /// `xr q, r` (true) or `xs q, r` (false).
    Exclusive(bool, Vec<Reference>, Span),
    /// A statement.
    Statement(Stmt),
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// Its kind.
    pub kind: StmtKind,
    /// Its position.
    pub span: Span,
}

/// Kinds of statements.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// An expression: a guard.
    Expr(Expr),
    /// `v = e`; `v++` and `v--` are written out.
    Assign(Reference, Expr),
    /// `q!…`, `q!!…`.
    Send {
        /// The channel.
        channel: Reference,
        /// `!!`: keep the messages sorted.
        sorted: bool,
        /// The fields.
        arguments: Vec<Expr>,
    },
    /// `q?…`, `q??…`, `q?<…>`, `q??<…>`.
    Receive(Receive),
    /// `assert(e)`.
    Assert(Expr),
    /// `printf("…", args)`.
    Printf(Text, Vec<Expr>),
    /// `printm(e)`.
    Printm(Expr),
    /// `set_priority(pid, p)`.
    SetPriority(Expr, Expr),
    /// `else`.
    Else,
    /// `goto L`.
    Goto(Ident),
    /// `break`.
    Break,
    /// `if … fi`.
    If(Vec<Vec<Step>>),
    /// `do … od`.
    Do(Vec<Vec<Step>>),
    /// `for (v : a .. b) { … }`.
    For {
        /// The variable.
        variable: Reference,
        /// The range.
        range: Range,
        /// The body.
        body: Vec<Step>,
        /// From `for` to the closing parenthesis.
        header: Span,
        /// The texts of the steps of the loop.
        parts: LoopParts,
    },
    /// `select (v : a .. b)`, in the form that counts up.
    Select {
        /// The variable.
        variable: Reference,
        /// The least value.
        from: Expr,
        /// The greatest value.
        to: Expr,
    },
    /// `atomic { … }`.
    Atomic(Vec<Step>),
    /// `d_step { … }`.
    DStep(Vec<Step>),
    /// `{ … }`; an expanded inline is one as well.
    Block(Vec<Step>),
    /// `a unless b`.
    Unless(Box<Stmt>, Box<Stmt>),
    /// `L: s`.
    Label(Ident, Box<Stmt>),
    /// `c_code { … }`, and the condition that must hold when it is executed.
    Embedded(Fragment, Option<Fragment>),
    /// `c_decl { … }` inside a process, which only a program has.
    EmbeddedDeclarations(Fragment),
    /// A placeholder for text that could not be read; an error has been reported.
    Error,
}

/// The range of a `for`.
#[derive(Clone, Debug)]
pub enum Range {
    /// `a .. b`.
    Values(Expr, Expr),
    /// The indices of an array, or the messages of a channel.
    In(Reference),
}
