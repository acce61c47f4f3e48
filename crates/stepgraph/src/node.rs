//! Nodes: how the alternatives of a location branch, and what they do in which order.

use crate::expr::{ExprId, Temp, Var};
use bytecode::{Addr, ChannelTypeId, FieldMask, Mode, ProcessId, Receive};

/// A node of a [`StepGraph`](crate::StepGraph).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct NodeId(pub u32);

/// Something a step does.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// Keep a value for later on the path.
    Let(Temp, ExprId),
    /// Evaluate for the faults it may have.
    Evaluate(ExprId),
    /// Store into a scalar.
    Store(Var, ExprId),
    /// Store into an element: variable, index, value. The value is evaluated first.
    StoreElement(Var, ExprId, ExprId, Addr),
    /// Send; blocks if the channel has no room.
    Send {
        /// The channel, evaluated first.
        channel: ExprId,
        /// The fields.
        message: Vec<ExprId>,
        /// Whether in order of size.
        sorted: bool,
        /// The instruction.
        addr: Addr,
    },
    /// Receive; blocks if there is no such message.
    Receive {
        /// The channel, evaluated first.
        channel: ExprId,
        /// How many fields a message has.
        fields: u8,
        /// Fields that must match.
        mask: FieldMask,
        /// What they must match.
        wanted: Vec<ExprId>,
        /// Which message.
        how: Receive,
        /// The fields are stored in this temporary and the following ones.
        into: Temp,
        /// The instruction.
        addr: Addr,
    },
    /// Start a process.
    Run {
        /// Its type.
        process: ProcessId,
        /// Its parameters.
        args: Vec<ExprId>,
        /// Its number.
        into: Temp,
        /// The instruction.
        addr: Addr,
    },
    /// Create a channel.
    NewChannel {
        /// Its type.
        ty: ChannelTypeId,
        /// Its number.
        into: Temp,
        /// The instruction.
        addr: Addr,
    },
    /// Set the priority of a process.
    SetPriority {
        /// The process, evaluated first.
        process: ExprId,
        /// Its priority.
        priority: ExprId,
        /// The instruction.
        addr: Addr,
    },
    /// Claim a channel.
    Claim {
        /// The channel.
        channel: ExprId,
        /// As its sender, not its receiver.
        sender: bool,
        /// The instruction.
        addr: Addr,
    },
    /// Must not be zero.
    Assert(ExprId, Addr),
}

/// A node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// Both, the first first.
    Choice(NodeId, NodeId),
    /// The first alternative; the second if no path of the first succeeds.
    Else(NodeId, NodeId),
    /// The escape; the second alternative if no path of the escape succeeds.
    Unless(NodeId, NodeId),
    /// The second if the condition is not zero, otherwise the third.
    Test(ExprId, NodeId, NodeId),
    /// Blocked if the condition is zero.
    Guard(ExprId, NodeId),
    /// An effect, then the next node.
    Do(Effect, NodeId),
    /// The end of a step.
    Step(Mode, Addr),
    /// The end of a prologue.
    Return,
    /// The end of an atom: its value.
    Value(ExprId),
    /// No step.
    Blocked,
}

impl Node {
    /// The nodes that follow within the step.
    pub fn following(&self) -> impl Iterator<Item = NodeId> + use<> {
        let (first, second) = match self {
            Node::Choice(a, b) | Node::Else(a, b) | Node::Unless(a, b) | Node::Test(_, a, b) => (Some(*a), Some(*b)),
            Node::Guard(_, next) | Node::Do(_, next) => (Some(*next), None),
            Node::Step(..) | Node::Return | Node::Value(_) | Node::Blocked => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// Calls `each` with every expression of the node itself, in the order of evaluation.
    pub fn exprs(&self, mut each: impl FnMut(ExprId)) {
        match self {
            Node::Test(condition, ..) | Node::Guard(condition, _) | Node::Value(condition) => each(*condition),
            Node::Do(effect, _) => effect.exprs(each),
            _ => {}
        }
    }
}

impl Effect {
    /// Calls `each` with every expression, in the order of evaluation.
    pub fn exprs(&self, mut each: impl FnMut(ExprId)) {
        match self {
            Effect::Let(_, e) | Effect::Evaluate(e) | Effect::Store(_, e) | Effect::Assert(e, _) => each(*e),
            Effect::StoreElement(_, index, value, _) => {
                each(*value);
                each(*index);
            }
            Effect::Send { channel, message, .. } => {
                each(*channel);
                message.iter().copied().for_each(each);
            }
            Effect::Receive { channel, wanted, .. } => {
                each(*channel);
                wanted.iter().copied().for_each(each);
            }
            Effect::Run { args, .. } => args.iter().copied().for_each(each),
            Effect::NewChannel { .. } => {}
            Effect::SetPriority { process, priority, .. } => {
                each(*process);
                each(*priority);
            }
            Effect::Claim { channel, .. } => each(*channel),
        }
    }

    /// Whether the step may still turn out not to be executable here.
    pub fn may_block(&self) -> bool {
        matches!(self, Effect::Send { .. } | Effect::Receive { .. })
    }

    /// Whether it changes the state.
    pub fn writes(&self) -> bool {
        !matches!(self, Effect::Let(..) | Effect::Evaluate(_) | Effect::Assert(..))
    }
}
