//! Random LF programs, and an evaluator that is independent of the compiler.
//!
//! A program is a tree of its own here: [`Program::text`] writes it as LF, and [`Program::graph`]
//! explores it by the semantics that `docs/lf.md` gives to its statements. The compiled program
//! must have the same graph. A program may also be open: then it receives messages that nobody
//! sends, and has no graph of its own.
//!
//! Not generated are prints, which do not change the graph; devices, which have tests of their own;
//! and periods and deadlines, which make runs depend on time.

mod bisimulation;
mod evaluate;
mod generate;
mod numbers;
mod state;
mod statements;
mod text;
mod values;
mod watch;

pub use bisimulation::{Edge, Node, compare};
pub use state::Graph;
pub use text::visible;
pub use watch::Watch;

/// A variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Var {
    /// A variable of the module: `g0`, `g1`.
    Global(usize),
    /// A variable of the process: `x`, `y`, and `z`, which is a `UINT8`. In a process that is
    /// created inside another, it belongs to that one.
    Local(usize),
    /// The parameter by reference of a called or created process: `r`.
    Reference,
    /// A variable of the module of another type: `w0` and so on, see [`WIDE`].
    Wide(usize),
    /// A field of a record of the module: `a.f`, `b.f`.
    Field(usize),
    /// `p0` or `p1`, which have the same address.
    Static(usize),
    /// `e[0].f`, `e[1].f`.
    Slot(usize),
    /// `e[x].f`.
    Chosen,
    /// `t[0]`, `t[1]`.
    Element(usize),
    /// `t[g0]`.
    Pointed,
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
    /// `e[i].h[j]`.
    Deep(Box<Value>, Box<Value>),
    Binary(Operator, Box<Value>, Box<Value>),
    Absolute(Box<Value>),
    Negate(Box<Value>),
    /// A cast to the type of `w0` and so on.
    Cast(usize, Box<Value>),
    /// The constant of the imported module.
    Imported,
    /// The number of the character `l`.
    Letter,
    /// The set `m` as a number.
    Bits,
}

/// A relation between two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Relation {
    Less,
    Equal,
    Unequal,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A condition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Condition {
    Compare(Relation, Value, Value),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    /// Whether a set has an element.
    In(Value, Set),
    /// The Boolean `q` of the module.
    Flag,
    Odd(Value),
    /// `l < 'c'`, or `l = 'c'`.
    Before(u8),
    Same(Set, Set),
    /// Whether two ports refer to the same channel.
    SamePort(Port, Port),
    True,
}

/// A set.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Set {
    /// The set `m` of the module.
    Load,
    /// Single elements and a range.
    Of(Vec<(Value, Option<Value>)>),
    Join(char, Box<Set>, Box<Set>),
    Complement(Box<Set>),
    /// A number as a set.
    Number(Value),
}

/// A port.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Port {
    /// A port of the module: `c0`, `c1`.
    Global(usize),
    /// The port `c` of the process, or of the process around it.
    Own,
    /// The port `o`, on which nobody sends.
    Open,
    /// `ps[0]`, `ps[1]`.
    Slot(usize),
    /// `ps[x]`.
    Chosen,
    /// The port of a record: `k.p`.
    Kept,
    /// The port of the imported module.
    Imported,
    /// The port `d`, of another type.
    Device,
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
    /// `n`, which carries a number and a Boolean: the condition, and `q`.
    Pair,
    /// `whole`, which carries a record on the port `d`: from `a` to `b`.
    Record,
}

/// The number of messages.
const MESSAGES: usize = 5;

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
    /// The Boolean that is sent.
    pub flag: Condition,
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
    /// `e[i].h[j] := value`.
    StoreDeep(Value, Value, Value),
    /// `b := a`, both records.
    Copy,
    /// `a := e[i]`, or `e[i] := a`.
    Pick(bool, Value),
    /// Includes a number in the set, or excludes it.
    Member(bool, Value),
    Flag(Condition),
    Letter(Value),
    Set(Set),
    If(Vec<(Condition, Vec<Statement>)>, Vec<Statement>),
    While(Condition, Vec<Statement>),
    Forever(Vec<Statement>),
    Repeat(Vec<Statement>, Condition),
    For(Var, Value, Value, i64, Vec<Statement>),
    Talk(Talk),
    Select(Vec<Clause>),
    /// A receive of a constant, outside of `SELECT`.
    Expect(Clause),
    Choice(Vec<Vec<Statement>>),
    /// Calls `Q`, or `R`, which calls itself.
    Call(bool, Var, Value),
    /// Calls the process of the imported module, which changes that module's variable.
    Bump(Var, Value),
    /// Calls the process `I` that is declared inside, which changes variables around it.
    Inner(Value),
    Create(usize, Value, Port),
    /// Creates the process `J` that is declared inside, and reads the variables around it.
    CreateInner,
    /// Creates the process `V`, which reads the variable.
    CreateReader(Var, Port),
    New(Port),
    /// `to := from`, both ports.
    Port(Port, Port),
    Reschedule,
    Assert(Condition),
}

/// A program: processes `P0`, `P1`, …, the called processes `Q` and `R`, the process `V` that reads
/// a variable, for each `P` the process `J` inside it, and the body of the module.
#[derive(Clone, Debug)]
pub struct Program {
    main: Vec<Statement>,
    processes: Vec<Vec<Statement>>,
    inner: Vec<Vec<Statement>>,
    called: Vec<Statement>,
    recursive: Vec<Statement>,
    reader: Vec<Statement>,
    /// The constant of the imported module.
    constant: i64,
    /// Which further modules are imported.
    further: Further,
    /// Whether it receives messages that nobody sends.
    is_open: bool,
}

/// Modules beside `Helper`, which they import: each changes the variable of `Helper` when it is
/// initialised. The result shows in which order that happens, and that each does so once.
#[derive(Clone, Debug, Default)]
struct Further {
    /// Those that the main module imports, in this order: 0 is `Second`, 1 is `Third`.
    listed: Vec<usize>,
    /// Whether the main module names them before `Helper`.
    first: bool,
    /// Whether `Third` imports `Second`, after `Helper`.
    chained: bool,
}

impl Further {
    /// The modules in the order in which they are initialised.
    fn order(&self) -> Vec<usize> {
        let mut order = Vec::new();
        for module in &self.listed {
            let before = (*module == 1 && self.chained).then_some(0);
            for module in before.into_iter().chain([*module]) {
                if !order.contains(&module) {
                    order.push(module);
                }
            }
        }
        order
    }
}

/// How `Second` and `Third` change the variable of `Helper`.
const TWISTS: [i64; 2] = [1, 4];

const GLOBALS: usize = 2;
const PORTS: usize = 2;
const SLOTS: usize = 2;
const ELEMENTS: i64 = 2;
/// The most calls of `R` within each other.
const CALLS: usize = 32;

/// Visits some statements with those inside them.
fn each(statements: &[Statement], visit: &mut dyn FnMut(&Statement)) {
    for statement in statements {
        visit(statement);
        match statement {
            Statement::If(branches, last) => {
                branches.iter().for_each(|(_, body)| each(body, visit));
                each(last, visit);
            }
            Statement::While(_, body) | Statement::Forever(body) | Statement::Repeat(body, _) | Statement::For(_, _, _, _, body) => {
                each(body, visit);
            }
            Statement::Select(clauses) => clauses.iter().for_each(|clause| each(&clause.body, visit)),
            Statement::Expect(clause) => each(&clause.body, visit),
            Statement::Choice(blocks) => blocks.iter().for_each(|block| each(block, visit)),
            _ => {}
        }
    }
}
