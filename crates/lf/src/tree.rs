//! The program after names and types are known; the code generator and the translation of
//! properties read it.

use source::Span;
use std::rc::Rc;

/// An integer type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Integer {
    /// Its name.
    pub name: &'static str,
    /// The least value.
    pub least: i64,
    /// The greatest value.
    pub greatest: i64,
}

/// Every integer type. `INTEGER` is another name of the first.
pub const INTEGERS: &[Integer] = &[
    Integer { name: "INT32", least: i32::MIN as i64, greatest: i32::MAX as i64 },
    Integer { name: "UINT32", least: 0, greatest: u32::MAX as i64 },
    Integer { name: "INT16", least: i16::MIN as i64, greatest: i16::MAX as i64 },
    Integer { name: "INT8", least: i8::MIN as i64, greatest: i8::MAX as i64 },
    Integer { name: "UINT31", least: 0, greatest: i32::MAX as i64 },
    Integer { name: "UINT16", least: 0, greatest: u16::MAX as i64 },
    Integer { name: "UINT8", least: 0, greatest: u8::MAX as i64 },
];

impl Integer {
    /// Whether a value belongs to the type.
    pub fn holds(self, value: i64) -> bool {
        (self.least..=self.greatest).contains(&value)
    }

    /// Whether every value of the type belongs to `other`.
    pub fn is_within(self, other: Integer) -> bool {
        self.least >= other.least && self.greatest <= other.greatest
    }
}

/// A type.
#[derive(Clone, PartialEq, Debug)]
pub enum Type {
    /// `BOOLEAN`.
    Boolean,
    /// `CHAR`: a byte.
    Char,
    /// `SET`: of the numbers from 0 to 31.
    Set,
    /// An integer.
    Integer(Integer),
    /// An array with this many elements.
    Array(u32, Rc<Type>),
    /// A record, by its number.
    Record(usize),
    /// A port to channels of a type, by its number.
    Channel(usize),
    /// A type with an error; it fits everything, so that one error is reported once.
    Unknown,
}

/// The type `INTEGER`.
pub const INTEGER: Type = Type::Integer(INTEGERS[0]);

/// The type `UINT32`. The machine's values are signed: a value of this type is stored as the signed
/// number with the same 32 bits.
pub const UNSIGNED: Type = Type::Integer(INTEGERS[1]);

impl Type {
    /// Whether its values are single numbers.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Type::Array(..) | Type::Record(_))
    }
}

/// A record type.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its name, for messages.
    pub name: String,
    /// Its fields.
    pub fields: Vec<(String, Type)>,
}

/// A message of a channel type.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its name.
    pub name: String,
    /// The values it carries.
    pub values: Vec<Type>,
}

/// A channel type.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Its name, for messages and in the names of the machine's channels.
    pub name: String,
    /// Its messages.
    pub messages: Vec<Message>,
}

/// The number of a variable in [`Program::variables`].
pub type VariableId = usize;
/// The number of a process in [`Program::processes`].
pub type ProcessId = usize;

/// A variable or parameter.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name, with that of its module if it is not the main one's.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// The process it belongs to; `None` for a variable of a module.
    pub owner: Option<ProcessId>,
    /// Whether it is bound to another variable.
    pub reference: bool,
    /// Its static address.
    pub address: Option<i32>,
    /// The position of its declaration.
    pub span: Span,
}

/// A process or property.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its name, with that of its module if it is not the main one's.
    pub name: String,
    /// The process it is declared in.
    pub parent: Option<ProcessId>,
    /// Its parameters.
    pub parameters: Vec<VariableId>,
    /// Parameters and other variables.
    pub variables: Vec<VariableId>,
    /// Its period in milliseconds: its body is executed once per period.
    pub period: Option<u32>,
    /// The time in milliseconds after which it must wait.
    pub deadline: Option<u32>,
    /// Its body.
    pub body: Vec<Statement>,
    /// The position of its beginning.
    pub span: Span,
    /// The position of its end.
    pub end: Span,
}

/// A program.
#[derive(Debug, Default)]
pub struct Program {
    /// Record types.
    pub records: Vec<Record>,
    /// Channel types.
    pub channels: Vec<Channel>,
    /// Variables of modules and processes.
    pub variables: Vec<Variable>,
    /// Processes and properties.
    pub processes: Vec<Process>,
    /// The properties among them, in the order of the text.
    pub properties: Vec<ProcessId>,
    /// The process that executes the bodies of all modules in order.
    pub main: ProcessId,
}

/// A place: a variable, or a part of one.
#[derive(Clone, Debug)]
pub struct Place {
    /// The variable.
    pub variable: VariableId,
    /// The path to the part.
    pub steps: Vec<Step>,
    /// The type of the part.
    pub ty: Type,
    /// Its position.
    pub span: Span,
}

/// A step to a part of a variable.
#[derive(Clone, Debug)]
pub enum Step {
    /// A field of a record, by its position.
    Field(usize),
    /// An element of an array with this many elements.
    Element(Box<Expression>, u32),
}

/// An operator of two operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// Short-circuit.
    And,
    /// Short-circuit.
    Or,
    Union,
    Difference,
    Intersection,
    SymmetricDifference,
    /// Membership of a number in a set.
    In,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expression {
    /// Its kind.
    pub kind: Kind,
    /// Its type.
    pub ty: Type,
    /// Its position.
    pub span: Span,
}

/// The kind of an expression.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Kind {
    Constant(i32),
    Load(Place),
    Not(Box<Expression>),
    /// The complement of a set.
    Complement(Box<Expression>),
    Negate(Box<Expression>),
    Absolute(Box<Expression>),
    Binary(Binary, Box<Expression>, Box<Expression>),
    /// A set of single elements and ranges.
    Set(Vec<(Expression, Option<Expression>)>),
    /// The same number in another type.
    Cast(Box<Expression>),
}

/// An argument of a process.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Argument {
    Value(Expression),
    Reference(Place),
}

/// The use of a value of a message by a receive.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Target {
    Store(Place),
    /// The value must equal this one.
    Match(Expression),
}

/// A communication.
#[derive(Clone, Debug)]
pub struct Communication {
    /// The port.
    pub port: Place,
    /// The channel type, and the message's position in it.
    pub message: (usize, usize),
    /// The values that are sent or received.
    pub what: Direction,
    /// Its position.
    pub span: Span,
}

/// The values that are sent or received.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Direction {
    Send(Vec<Expression>),
    Receive(Vec<Target>),
}

/// A clause of `SELECT`.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Clause {
    pub communication: Communication,
    pub guard: Option<Expression>,
    pub body: Vec<Statement>,
}

/// How `FOR` counts.
#[derive(Clone, Debug)]
pub struct Count {
    /// The variable.
    pub counter: Place,
    /// The last value: a constant, or a variable that does not change.
    pub limit: Expression,
    /// The number that is added after each turn.
    pub by: i32,
    /// The position of the loop.
    pub span: Span,
}

impl Count {
    /// Whether the variable has not passed the limit.
    pub fn condition(&self) -> Expression {
        let compare = if self.by > 0 { Binary::LessOrEqual } else { Binary::GreaterOrEqual };
        self.compare(compare, self.value(), self.limit.clone())
    }

    /// The value of the variable.
    pub fn value(&self) -> Expression {
        Expression { kind: Kind::Load(self.counter.clone()), ty: self.counter.ty.clone(), span: self.counter.span }
    }

    /// The next value of the variable.
    pub fn next(&self) -> Expression {
        let ty = if self.counter.ty == UNSIGNED { UNSIGNED } else { INTEGER };
        let (op, by) = match self.by {
            by if ty == UNSIGNED && by < 0 => (Binary::Subtract, by.wrapping_neg()),
            by => (Binary::Add, by),
        };
        let step = Expression { kind: Kind::Constant(by), ty: ty.clone(), span: self.span };
        Expression { kind: Kind::Binary(op, Box::new(self.value()), Box::new(step)), ty, span: self.span }
    }

    /// A comparison.
    pub fn compare(&self, how: Binary, left: Expression, right: Expression) -> Expression {
        Expression { kind: Kind::Binary(how, Box::new(left), Box::new(right)), ty: Type::Boolean, span: self.span }
    }
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Its kind.
    pub kind: Action,
    /// Its position.
    pub span: Span,
}

/// The kind of a statement.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Action {
    Assign(Place, Expression),
    If(Vec<(Expression, Vec<Statement>)>, Vec<Statement>),
    While(Expression, Vec<Statement>),
    Repeat(Vec<Statement>, Expression),
    /// A loop that counts, from the value that the variable has.
    For(Count, Vec<Statement>),
    Communicate(Communication),
    Select(Vec<Clause>),
    Choice(Vec<Vec<Statement>>),
    Call(ProcessId, Vec<Argument>),
    Create(ProcessId, Vec<Argument>),
    New(Place),
    Print(String, Vec<Expression>),
    Assert(Expression),
    Reschedule,
    Accept,
    Nomove,
}

impl Program {
    /// The name of a type in messages.
    pub fn type_name(&self, ty: &Type) -> String {
        match ty {
            Type::Boolean => "BOOLEAN".to_owned(),
            Type::Char => "CHAR".to_owned(),
            Type::Set => "SET".to_owned(),
            Type::Integer(integer) => integer.name.to_owned(),
            Type::Array(length, element) => format!("ARRAY {length} OF {}", self.type_name(element)),
            Type::Record(number) => self.records[*number].name.clone(),
            Type::Channel(number) => self.channels[*number].name.clone(),
            Type::Unknown => "?".to_owned(),
        }
    }

    /// The number of numbers in a value of the type.
    pub fn elements(&self, ty: &Type) -> u64 {
        match ty {
            Type::Array(length, element) => u64::from(*length).saturating_mul(self.elements(element)),
            Type::Record(number) => self.records[*number].fields.iter().map(|(_, ty)| self.elements(ty)).fold(0, u64::saturating_add),
            _ => 1,
        }
    }
}
