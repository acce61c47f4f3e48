//! The resolved model: all names have been looked up, and all structures replaced by their leaves.
//!
//! A variable of a user-defined type becomes one variable for each scalar field, its *leaf*. Arrays
//! of structures make their leaves arrays: the field `c` of `a[i].b[j].c` is one flat array, and
//! the element is found at `i * len(b) + j`, each index checked by itself.

use crate::ast::{Binary, Ident, LoopParts, Probe, Unary};
use crate::token::Text;
use source::Span;
use std::rc::Rc;

/// A resolved model.
#[derive(Debug, Default)]
pub struct Model {
    /// The global variables' leaves.
    pub globals: Vec<Leaf>,
    /// Channel types, each one once.
    pub channel_types: Vec<ChannelType>,
    /// Channels that exist from the beginning: name and type, in the order of their numbers.
    pub channels: Vec<(String, usize)>,
    /// Names of messages.
    pub mtypes: Vec<MtypeSet>,
    /// Process types in the order of the text.
    pub processes: Vec<Process>,
    /// `never`, `trace`, `notrace`.
    pub automata: Vec<AutomatonModel>,
    /// `ltl` blocks.
    pub formulas: Vec<Ltl>,
    /// Lists of expressions whose values are requested from outside, with their positions.
    pub values: Vec<Vec<(Ex, Span)>>,
    /// Whether the model uses priorities.
    pub uses_priorities: bool,
    /// Whether the model, its properties included, refers to the process that moved last.
    pub uses_last: bool,
    /// Whether statements are C code. SPIN makes one transition of such a statement; we make
    /// several.
    pub uses_c: bool,
    /// Labels to which remote references refer: process type and name.
    pub remote_labels: Vec<(usize, Ident)>,
}

/// An `ltl` block.
#[derive(Debug)]
pub struct Ltl {
    /// Its name.
    pub name: Ident,
    /// The position of the formula.
    pub text: Span,
    /// The formula in postfix order: operands before their operator.
    pub nodes: Vec<LtlNode>,
}

/// An operand or an operator of a formula.
#[derive(Debug)]
pub enum LtlNode {
    /// A condition on states, and its text.
    Atom(Ex, Span),
    /// An operator before one operand.
    Unary(bytecode::UnaryOp),
    /// An operator between two operands.
    Binary(bytecode::BinaryOp),
}

/// One named set of messages. The value of `names[i]` is `i + 1`.
#[derive(Debug)]
pub struct MtypeSet {
    /// Its name; `None` for plain `mtype`.
    pub name: Option<Text>,
    /// The names in the order of their values.
    pub names: Vec<Text>,
}

/// Types of leaves and of fields of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// One bit.
    Bit,
    /// Eight bits, unsigned.
    Byte,
    /// 16 bits, signed.
    Short,
    /// 32 bits, signed.
    Int,
    /// An unsigned number of this many bits.
    Unsigned(u8),
    /// A message's name; the number of its set.
    Mtype(u8),
    /// A channel.
    Chan,
}

/// A scalar variable or a flat array of scalars.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Its name, with the names of the fields that lead to it.
    pub name: String,
    /// The type of its elements.
    pub ty: Scalar,
    /// The lengths of the arrays that contain it, outermost first; none for a scalar.
    pub dimensions: Vec<u32>,
    /// Initial values: empty for zeros, or one for each element.
    pub initial: Vec<i32>,
    /// Whether it was declared `hidden`.
    pub hidden: bool,
    /// Whether states that differ only in it count as one.
    pub unmatched: bool,
    /// Whether its value is used only within a transition.
    pub scratch: bool,
    /// The position of its declaration.
    pub span: Span,
}

impl Leaf {
    /// The number of elements.
    pub fn length(&self) -> usize {
        self.dimensions.iter().map(|&d| d as usize).product()
    }

    /// Whether it needs an index.
    pub fn is_array(&self) -> bool {
        !self.dimensions.is_empty()
    }
}

/// Capacity and message type of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChannelType {
    /// The number of messages; 0 for rendezvous.
    pub capacity: u32,
    /// The fields of a message.
    pub fields: Vec<Scalar>,
}

/// A process type.
#[derive(Debug)]
pub struct Process {
    /// Its name.
    pub name: Ident,
    /// Whether it is `init`.
    pub is_init: bool,
    /// How many instances exist from the beginning.
    pub active: u32,
    /// Its local variables' leaves, parameters first.
    pub locals: Vec<Leaf>,
    /// How many of the locals are parameters.
    pub parameters: usize,
    /// The actions when an instance is created, in order.
    pub prologue: Vec<(Action, Span)>,
    /// Its priority, if declared.
    pub priority: Option<u8>,
    /// The condition for every step.
    pub provided: Option<Ex>,
    /// Non-determinism is an error.
    pub deterministic: bool,
    /// The body.
    pub body: Seq,
    /// Its closing brace.
    pub end: Span,
}

/// A claim or a trace automaton.
#[derive(Debug)]
pub struct AutomatonModel {
    /// Its kind.
    pub kind: crate::ast::AutomatonKind,
    /// Its name.
    pub name: Ident,
    /// How many process types come before it in the text.
    pub after: usize,
    /// Its local variables, which SPIN warns about.
    pub locals: Vec<Leaf>,
    /// The body.
    pub body: Seq,
    /// Its closing brace.
    pub end: Span,
}

/// The table that a leaf is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The globals.
    Global,
    /// The locals of the current process type.
    Local,
}

/// An element of a leaf.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The table.
    pub scope: Scope,
    /// The leaf.
    pub leaf: usize,
    /// One index for each dimension.
    pub indices: Vec<Ex>,
    /// The leaf's type.
    pub ty: Scalar,
}

/// A resolved expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Ex {
    /// A number.
    Const(i32),
    /// A variable.
    Load(Place),
    /// `_pid`.
    Pid,
    /// `_nr_pr`.
    ProcessCount,
    /// `_last`.
    Last,
    /// An operator before an operand.
    Unary(Unary, Box<Ex>),
    /// An operator between operands.
    Binary(Binary, Box<Ex>, Box<Ex>),
    /// A sum, difference or product that must fit 32 bits.
    Exact(Binary, Box<Ex>, Box<Ex>),
    /// A value that must lie between two bounds.
    Within(i32, i32, Box<Ex>),
    /// A choice between values.
    Conditional(Box<Ex>, Box<Ex>, Box<Ex>),
    /// A value after statements of C that compute it. They change only scratch variables.
    After(Rc<[Part]>, Box<Ex>),
    /// A place in embedded C that is a violation if it is reached: its name among those of
    /// [`bytecode::VIOLATIONS`].
    Never(&'static str),
    /// The creation of a process.
    Run {
        /// Its type.
        process: usize,
        /// The parameters.
        arguments: Vec<Ex>,
        /// Its priority, if given.
        priority: Option<u8>,
    },
    /// A question about a channel.
    Probe(Probe, Box<Ex>),
    /// Whether a message could be received.
    Poll {
        /// The channel.
        channel: Box<Ex>,
        /// Any message, not only the first.
        any: bool,
        /// Values to be matched.
        fields: Vec<Option<Ex>>,
    },
    /// `enabled(pid)`.
    Enabled(Box<Ex>),
    /// `pc_value(pid)`.
    PcValue(Box<Ex>),
    /// `get_priority(pid)`.
    GetPriority(Box<Ex>),
    /// `timeout`.
    Timeout,
    /// `np_`.
    NonProgress,
    /// `_` as a field of an event in a `trace`: any value.
    Anything,
    /// `P[pid]@label`.
    RemoteLabel {
        /// The process type.
        process: usize,
        /// Which instance.
        pid: Option<Box<Ex>>,
        /// The label.
        label: Text,
    },
    /// `P[pid]:_pid`.
    RemotePid {
        /// The process type.
        process: usize,
        /// Which instance; by default the first.
        pid: Option<Box<Ex>>,
    },
    /// `P[pid]:variable`.
    RemoteLoad {
        /// The process type.
        process: usize,
        /// Which instance.
        pid: Option<Box<Ex>>,
        /// The variable among the locals of that type.
        place: Place,
    },
}

/// A statement of C before a value. Jumps lead forwards.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Stores a value in a scratch variable.
    Assign(Place, Ex),
    /// The expression must be true.
    Assert(Ex),
    /// A choice by a condition.
    Branch(Ex, Vec<Part>, Vec<Part>),
    /// Continues at a label.
    Jump(u32),
    /// A label.
    Label(u32),
}

/// The destination of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A variable.
    Place(Place),
    /// `_`: the value is discarded.
    Nowhere,
    /// `_priority`.
    Priority,
}

/// A field of a receive.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// The field must be equal to this.
    Match(Ex),
    /// The field is stored here.
    Store(Target),
}

/// Values for the elements of an array. A short text can initialise a long array, so each value is
/// kept once.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    /// The values as listed; the last one is used for the rest of an array.
    pub list: Vec<Ex>,
    /// The elements of one array.
    pub own: u32,
    /// The elements of all copies of it that a structure has.
    pub count: u32,
}

impl Values {
    /// The values, element by element.
    pub fn elements(&self) -> impl Iterator<Item = &Ex> {
        let last = self.list.len().saturating_sub(1);
        (0..self.count).filter_map(move |k| self.list.get(last.min((k % self.own.max(1)) as usize)))
    }
}

/// A basic statement: the action of one transition.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Blocks until the expression is not zero.
    Guard(Ex),
    /// Stores a value.
    Assign(Target, Ex),
    /// Stores values in all elements of an array.
    Fill {
        /// The array's table.
        scope: Scope,
        /// The array.
        leaf: usize,
        /// The new values of its elements.
        values: Values,
    },
    /// Makes a new channel for each of these elements of a leaf.
    NewChannels {
        /// The leaf's table.
        scope: Scope,
        /// The leaf.
        leaf: usize,
        /// The type of the channels.
        channel_type: usize,
        /// The number of channels.
        count: u32,
    },
    /// The guard `1`, written as `skip` or `true`. SPIN drops some of them.
    True,
    /// Does nothing: a declaration of a structure that is executed.
    Skip,
    /// Sends.
    Send {
        /// The channel.
        channel: Ex,
        /// Keep the messages sorted.
        sorted: bool,
        /// The fields.
        arguments: Vec<Ex>,
    },
    /// Receives.
    Receive {
        /// The channel.
        channel: Ex,
        /// Any message that matches.
        any: bool,
        /// The message is kept in the channel.
        keep: bool,
        /// The fields.
        fields: Vec<Field>,
    },
    /// The expression must be true.
    Assert(Ex),
    /// Prints.
    Print(Text, Vec<Ex>),
    /// Prints a message's name; the number of the set.
    PrintMtype(Ex, u8),
    /// Changes a priority.
    SetPriority(Ex, Ex),
    /// Claims the exclusive right to receive (true) or send (false).
    Exclusive(bool, Ex),
}

/// A sequence of statements.
pub type Seq = Vec<Stm>;

/// The blocks around a place, outermost first. Labels are looked up along this path.
pub type ScopePath = std::rc::Rc<[u32]>;

/// A resolved statement.
#[derive(Debug)]
pub struct Stm {
    /// Its kind.
    pub node: Node,
    /// The text that the user wrote.
    pub span: Span,
}

/// Kinds of resolved statements.
#[derive(Debug)]
pub enum Node {
    /// One transition.
    Basic(Action),
    /// `else`.
    Else,
    /// `goto`.
    Goto(Ident, ScopePath),
    /// `break`.
    Break,
    /// `if … fi`.
    If(Vec<Seq>),
    /// `do … od`.
    Do(Vec<Seq>),
    /// A loop that SPIN generates for `for` and `select`. The first assignment belongs to the
    /// sequence around it, before any label of the statement.
    Loop {
        /// The action before the loop.
        first: Action,
        /// The option that continues, from its guard to the increment.
        round: Seq,
        /// Whether the loop ends only if the guard fails.
        leave_on_else: bool,
        /// The texts of the loop's own steps.
        parts: LoopParts,
    },
    /// `atomic`.
    Atomic(Seq),
    /// `d_step`.
    DStep(Seq),
    /// `{ … }`.
    Block(Seq),
    /// `a unless b`.
    Unless(Box<Stm>, Box<Stm>),
    /// `L: s`.
    Label(Ident, ScopePath, Box<Stm>),
}
