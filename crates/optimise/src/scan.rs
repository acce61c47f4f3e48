//! Finds out what the steps of one control location use.
//!
//! The code of a location is executed abstractly, along all its paths, with a stack of abstract
//! values: a constant, a variable, or anything. This shows which variables are read and written
//! and, where the code names it directly, which channel an operation uses. Paths that meet are
//! joined.

use bytecode::{Addr, GlobalId, LocalId, Mode, Op, ProcessId, Program, Receive};
use std::collections::{BTreeSet, HashMap};

/// The facts known about a value on the stack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Value {
    /// This number.
    Const(i32),
    /// The value of a scalar local of the process.
    Local(LocalId),
    /// The value of a global, or of one of its elements.
    Global(GlobalId),
    /// Nothing is known.
    Any,
}

/// The operations on a channel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Use {
    /// A message is appended.
    Send,
    /// A message is inserted by its size.
    SendSorted,
    /// The oldest message is received or read.
    Receive,
    /// A message behind the oldest may be received or read.
    ReceiveAny,
    /// Its length or its messages are tested.
    Test,
    /// The process claims to be the only receiver.
    ClaimReceive,
    /// The process claims to be the only sender.
    ClaimSend,
}

/// The end of a path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct End {
    /// Its STEP.
    pub step: Addr,
    /// How it ends.
    pub mode: Mode2,
    /// How many sends and receives lie on the path: none, one, or more.
    pub messages: u8,
}

/// [`Mode`] with an order, so that ends can be kept in sets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Mode2 {
    Normal,
    Atomic,
    Invisible,
    Deterministic,
    Terminate,
}

impl From<Mode> for Mode2 {
    fn from(mode: Mode) -> Mode2 {
        match mode {
            Mode::Normal => Mode2::Normal,
            Mode::Atomic => Mode2::Atomic,
            Mode::Invisible => Mode2::Invisible,
            Mode::Deterministic => Mode2::Deterministic,
            Mode::Terminate => Mode2::Terminate,
        }
    }
}

/// The variables and channels that the code of a location, a prologue or an atom uses.
#[derive(Clone, Default, Debug)]
pub(crate) struct Scan {
    pub global_reads: BTreeSet<GlobalId>,
    pub global_writes: BTreeSet<GlobalId>,
    pub local_reads: BTreeSet<LocalId>,
    pub local_writes: BTreeSet<LocalId>,
    /// Locals of other processes.
    pub remote: BTreeSet<(ProcessId, LocalId)>,
    /// Control locations that are tested.
    pub places: BTreeSet<(ProcessId, Addr)>,
    pub channels: BTreeSet<(Use, Value)>,
    /// Processes that are started, with their arguments.
    pub runs: Vec<(ProcessId, Vec<Value>)>,
    /// Values stored in locals.
    pub stored: BTreeSet<(LocalId, Value)>,
    pub ends: BTreeSet<End>,
    /// It creates channels.
    pub creates: bool,
    /// It depends on all processes or affects them: which processes exist, which moved last, which
    /// can move, priorities, the privilege.
    pub entangled: bool,
    /// It reads control locations in general.
    pub looks_at_places: bool,
    /// It takes a branch because another is not possible.
    pub otherwise: bool,
    /// Its steps may not be possible: it has conditions, or sends or receives.
    pub waits: bool,
}

/// The number of instructions that may still be visited for one program, each counted as often as a
/// location reaches it.
#[derive(Debug)]
pub(crate) struct Budget(pub usize);

/// Visits the code from `start` on. Nothing if that takes too long or the code has calls.
pub(crate) fn scan(program: &Program, start: Addr, budget: &mut Budget) -> Option<Scan> {
    let mut found = Scan::default();
    let mut known: HashMap<(Addr, u8), Vec<Value>> = HashMap::new();
    let mut open = vec![(start, 0_u8, Vec::new())];
    while let Some((at, messages, stack)) = open.pop() {
        let stack = match known.get_mut(&(at, messages)) {
            None => {
                known.insert((at, messages), stack.clone());
                stack
            }
            Some(before) => {
                let joined: Vec<Value> = before.iter().zip(&stack).map(|(a, b)| if a == b { *a } else { Value::Any }).collect();
                if joined == *before {
                    continue;
                }
                before.clone_from(&joined);
                joined
            }
        };
        budget.0 = budget.0.checked_sub(1)?;
        walk(program, at, messages, stack, &mut found, &mut open)?;
    }
    Some(found)
}

/// Executes one instruction abstractly, and adds the addresses at which the path continues.
fn walk(
    program: &Program,
    at: Addr,
    messages: u8,
    mut stack: Vec<Value>,
    found: &mut Scan,
    open: &mut Vec<(Addr, u8, Vec<Value>)>,
) -> Option<()> {
    let op = *program.code.get(at.index())?;
    if matches!(op, Op::Ret {}) {
        return Some(()); // Of a prologue or an atom; there are no calls.
    }
    let popped = stack.split_off(stack.len().checked_sub(op.pops())?);
    let (mut pushed, mut passed) = (Value::Any, 0);
    found.waits |= matches!(op, Op::Nex {} | Op::Nexz {} | Op::Send { .. } | Op::Sends { .. } | Op::Recv { .. });
    match op {
        Op::Ldc { value } => pushed = Value::Const(value),
        Op::Ldg { var } => {
            found.global_reads.insert(var);
            pushed = Value::Global(var);
        }
        Op::Ldgx { var } => {
            found.global_reads.insert(var);
            pushed = Value::Global(var);
        }
        Op::Stg { var } | Op::Stgx { var } => _ = found.global_writes.insert(var),
        Op::Ldl { var } => {
            found.local_reads.insert(var);
            pushed = Value::Local(var);
        }
        Op::Ldlx { var } => _ = found.local_reads.insert(var),
        Op::Stl { var } => {
            found.local_writes.insert(var);
            found.stored.insert((var, popped[0]));
        }
        Op::Stlx { var } => {
            found.local_writes.insert(var);
            found.stored.insert((var, Value::Any));
        }
        Op::Ldr { var } | Op::Ldrx { var } => _ = found.remote.insert(var),
        Op::Chk { .. } => pushed = popped[0],
        Op::Run { process, .. } => {
            found.runs.push((process, popped.clone()));
            found.entangled = true;
        }
        Op::Nrpr {} | Op::Last {} | Op::Enabled {} | Op::Timeout {} | Op::Getprio {} | Op::Setprio {} => found.entangled = true,
        Op::Pcval {} | Op::Np {} => found.looks_at_places = true,
        Op::At { place } => _ = found.places.insert(place),
        Op::Chnew { .. } => found.creates = true,
        Op::Else { .. } | Op::Unless { .. } => found.otherwise = true,
        Op::Send { .. }
        | Op::Sends { .. }
        | Op::Recv { .. }
        | Op::Poll { .. }
        | Op::Len {}
        | Op::Empty {}
        | Op::Full {}
        | Op::Xr {}
        | Op::Xs {} => {
            let used = match op {
                Op::Send { .. } => Use::Send,
                Op::Sends { .. } => Use::SendSorted,
                Op::Recv { how: Receive::First | Receive::PeekFirst, .. } => Use::Receive,
                Op::Recv { .. } => Use::ReceiveAny,
                Op::Xr {} => Use::ClaimReceive,
                Op::Xs {} => Use::ClaimSend,
                _ => Use::Test,
            };
            found.channels.insert((used, popped[0]));
            passed = u8::from(matches!(op, Op::Send { .. } | Op::Sends { .. } | Op::Recv { .. }));
        }
        Op::Step { mode } => {
            found.ends.insert(End { step: at, mode: mode.into(), messages });
            found.entangled |= matches!(mode, Mode::Terminate | Mode::Atomic);
            return Some(());
        }
        Op::Nex {} => return Some(()),
        Op::Call { .. } => return None,
        _ => {}
    }
    stack.extend(std::iter::repeat_n(pushed, op.pushes()));
    let messages = (messages + passed).min(2);
    let mut next = |to: Addr| open.push((to, messages, stack.clone()));
    if let Some(target) = op.target() {
        next(target);
    }
    if !op.ends_path() {
        next(at.next());
    }
    Some(())
}
