//! Random LF programs, and an evaluator that is independent of the compiler.
//!
//! A program is a tree of its own here: [`Program::text`] writes it as LF, and [`Program::graph`]
//! explores it by the semantics that `docs/lf.md` gives to its statements. The compiled program
//! must have the same graph. A program may also be open: then it receives messages that nobody
//! sends, and has no graph of its own.

mod evaluate;
mod generate;
mod numbers;
mod text;

pub use evaluate::Graph;

/// A variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Var {
    /// A variable of the module: `g0`, `g1`.
    Global(usize),
    /// A variable of the process: `x`, `y`, and `z`, which is a `UINT8`.
    Local(usize),
    /// The parameter by reference of a called process: `r`.
    Reference,
    /// A variable of the module of another type: `w0` and so on, see [`WIDE`].
    Wide(usize),
    /// A field of a record of the module: `a.f`, `b.f`.
    Field(usize),
}

/// The type of a variable: its name, and the least and the greatest value.
type Type = (&'static str, i64, i64);

const SMALL: Type = ("INT8", i8::MIN as i64, i8::MAX as i64);
const BYTE: Type = ("UINT8", 0, u8::MAX as i64);
/// The type of each variable `w0`, `w1`, …
pub const WIDE: &[Type] = &[
    ("INTEGER", i32::MIN as i64, i32::MAX as i64),
    ("UINT32", 0, u32::MAX as i64),
    ("UINT16", 0, u16::MAX as i64),
    ("INT16", i16::MIN as i64, i16::MAX as i64),
    ("UINT31", 0, i32::MAX as i64),
];
/// The position of the type whose arithmetic has no sign.
const UNSIGNED: usize = 1;

impl Var {
    fn ty(self) -> Type {
        match self {
            Var::Wide(number) => WIDE[number],
            Var::Local(2) => BYTE,
            _ => SMALL,
        }
    }
}

/// An operator on numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// A value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Value {
    Constant(i64),
    Load(Var),
    /// An element of an array of the module: `t`, or `a.h` in a record.
    Element(usize, Box<Value>),
    Binary(Operator, Box<Value>, Box<Value>),
    Absolute(Box<Value>),
    Negate(Box<Value>),
}

/// A condition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Condition {
    Less(Value, Value),
    Equal(Value, Value),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    /// Whether the set `m` of the module has an element.
    In(Value),
}

/// A port.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Port {
    /// A port of the module: `c0`, `c1`.
    Global(usize),
    /// The port `c` of the process.
    Own,
    /// The port `o`, on which nobody sends.
    Open,
}

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// The signal `s`.
    Signal,
    /// `v`, which carries a number.
    Number,
    /// `give`, which carries a port, on the port `d` of the module.
    Port,
}

/// A communication.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Talk {
    /// The port.
    pub port: Port,
    /// The message.
    pub message: Message,
    /// The number that is sent; `None` for a receive.
    pub sends: Option<Value>,
    /// The port that is sent.
    pub gives: Port,
    /// The variable that gets a received number.
    pub into: Var,
    /// The number that a received one must equal, in place of the variable.
    pub only: Option<i64>,
}

/// A clause of `SELECT`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct Clause {
    pub talk: Talk,
    pub guard: Option<Condition>,
    pub body: Vec<Statement>,
}

/// A statement.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Statement {
    Assign(Var, Value),
    /// Adds a number to a variable, or subtracts it.
    Change(bool, Var, Value),
    /// Stores in an element of an array.
    Store(usize, Value, Value),
    /// `b := a`, both records.
    Copy,
    /// Includes a number in the set, or excludes it.
    Member(bool, Value),
    If(Condition, Vec<Statement>, Vec<Statement>),
    While(Condition, Vec<Statement>),
    Forever(Vec<Statement>),
    Repeat(Vec<Statement>, Condition),
    For(Var, Value, Value, i64, Vec<Statement>),
    Talk(Talk),
    Select(Vec<Clause>),
    Choice(Vec<Vec<Statement>>),
    /// Calls `Q`, or `R`, which calls itself.
    Call(bool, Var, Value),
    /// Calls the process `I` that is declared inside, which changes variables around it.
    Inner(Value),
    Create(usize, Value, Port),
    /// `c := port`.
    Port(Port),
    Reschedule,
    Assert(Condition),
}

/// A program: processes `P0`, `P1`, …, the called processes `Q` and `R`, and the processes that the
/// module creates.
#[derive(Clone, Debug)]
pub struct Program {
    processes: Vec<Vec<Statement>>,
    called: Vec<Statement>,
    recursive: Vec<Statement>,
    created: Vec<(usize, i64, usize)>,
    /// Whether it receives messages that nobody sends.
    is_open: bool,
}

const GLOBALS: usize = 2;
const PORTS: usize = 2;
const ELEMENTS: i64 = 2;
/// The most calls of `R` within each other.
const CALLS: usize = 32;
