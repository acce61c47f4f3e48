//! Why processes cannot move: for each option what it waits for, and which processes could end the
//! waiting.
//!
//! The code of an option is executed, on the values of the state alone, up to the point where it
//! blocks. The result is only an explanation; deadlocks are found and confirmed elsewhere. If the
//! code is too complicated, there is no explanation.

use crate::options::{Choice, choice, option_addresses};
use crate::values::{Named, channel_name, contents, text};
use bytecode::{Addr, Component, GlobalId, LayoutError, LocalId, Op, ProcessId, Program, Shape, Slot, StateMap, Variable, Verified};
use contract::Trace;
use std::collections::{BTreeSet, HashMap};
use vm::{Event, Interpreter};

/// The most instructions that are executed to explain one option.
const WORK_MAX: usize = 10_000;
/// The most steps, from the end of a trace, in which receives are looked for.
const LOOK_BACK_MAX: usize = 2_000;

/// A process that cannot move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its number.
    pub pid: usize,
    /// The name of its type.
    pub process: String,
    /// Whether it may stay there for ever.
    pub may_end: bool,
    /// Its options, and why they are not executable.
    pub options: Vec<Wait>,
}

/// An option that is not executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The statement.
    pub choice: Choice,
    /// Why it is not executable.
    pub why: Why,
    /// The processes that could make it executable, as far as is known, with a reason for each.
    pub on: Vec<WaitsOn>,
}

/// A process that another one waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitsOn {
    /// Its number.
    pub pid: usize,
    /// The number of the step, from 1, in which it made the option wait, if it did so in the trace.
    pub since: Option<usize>,
}

/// Why a statement is not executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// A condition is false. Contains the values that it reads.
    Condition(Vec<Named>),
    /// The channel is full.
    Full {
        /// Its name.
        channel: String,
        /// Its messages.
        contents: String,
    },
    /// The channel is empty.
    Empty {
        /// Its name.
        channel: String,
    },
    /// No message in the channel has the wanted values, or the first one does not.
    NoMatch {
        /// Its name.
        channel: String,
        /// Its messages.
        contents: String,
    },
    /// No process is ready at the other side of a rendezvous.
    NoPartner {
        /// The name of the channel.
        channel: String,
        /// Whether the process wants to send.
        sends: bool,
    },
    /// Any other reason.
    Unknown,
}

/// The change that would make an option executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    /// A change of these bytes of the fixed part of the state.
    Bytes { from: usize, to: usize, of: GlobalId },
    /// A partner on a channel: a sender or a receiver.
    Partner { channel: i32, sends: bool },
}

/// The waiting processes in the last state of a trace.
pub(crate) fn waiting(interpreter: &Interpreter, trace: &Trace) -> Result<Vec<Waiting>, LayoutError> {
    let (program, state): (&Verified, &[u8]) = (interpreter.program(), trace.last_state());
    let layout = program.layout();
    layout.check(state, program.locations())?;
    let mut map = StateMap::default();
    map.read(layout, state)?;
    let here = Here { program, state, map: &map };
    let tables = program.program();
    let blocked = map.processes.iter().enumerate().filter_map(|(pid, process)| {
        let Shape::Process(ty) = process.shape else { return None };
        let location = layout.processes[ty.index()].location(&state[process.offset..]);
        let address = program.locations().address(ty, location)?;
        let options = option_addresses(tables, address).into_iter().map(|at| (at, here.blocked(pid, ty, process, at)));
        Some((pid, ty, address, options.collect::<Vec<_>>()))
    });
    let blocked: Vec<_> = blocked.collect();
    let needs = blocked.iter().flat_map(|(.., options)| options).flat_map(|(_, (_, needs))| needs);
    let from = needs.filter_map(|need| if let Need::Partner { channel, sends: true } = need { Some(*channel) } else { None });
    let takers = last_takers(interpreter, trace, &from.collect());
    let processes = blocked.into_iter().map(|(pid, ty, address, options)| {
        let options = options.into_iter().map(|(at, (why, needs))| {
            let on = here.waits_on(pid, &needs, trace, &takers);
            Wait { choice: choice(tables, at), why, on }
        });
        Waiting { pid, process: tables.processes[ty.index()].name.clone(), may_end: tables.may_end_at(address), options: options.collect() }
    });
    Ok(processes.collect())
}

pub(crate) struct Here<'a> {
    pub program: &'a Verified,
    pub state: &'a [u8],
    pub map: &'a StateMap,
}

/// The execution of an option. Values on the stack are `None` if they are not computed here.
#[derive(Default)]
pub(crate) struct Execution {
    stack: Vec<Option<i32>>,
    pub read: Vec<Named>,
    needs: Vec<Need>,
}

impl Execution {
    pub fn pop(&mut self) -> Option<i32> {
        self.stack.pop().flatten()
    }
}

impl Here<'_> {
    fn tables(&self) -> &Program {
        self.program.program()
    }

    /// Why the option that begins at `at` is not executable, and what would have to change.
    fn blocked(&self, pid: usize, ty: ProcessId, process: &Component, mut at: Addr) -> (Why, Vec<Need>) {
        let mut run = Execution::default();
        for _ in 0..WORK_MAX {
            let Some(op) = self.tables().code.get(at.index()) else { break };
            at = at.next();
            match *op {
                Op::Jmp { target } => at = target,
                Op::Jmpz { target } | Op::Jmpnz { target } => match run.pop() {
                    Some(value) if (value == 0) == matches!(op, Op::Jmpz { .. }) => at = target,
                    Some(_) => {}
                    None => return (Why::Unknown, run.needs),
                },
                Op::Nexz {} => match run.pop() {
                    Some(0) => return (Why::Condition(run.read), run.needs),
                    Some(_) => {
                        // This part of the condition is true, so the values it reads do not matter.
                        run.read.clear();
                        run.needs.clear();
                    }
                    None => return (Why::Unknown, run.needs),
                },
                Op::Nex {} => return (Why::Condition(run.read), run.needs),
                Op::Send { fields } | Op::Sends { fields } => {
                    (0..fields).for_each(|_| _ = run.pop());
                    return self.communication(run.pop(), true);
                }
                Op::Recv { mask, .. } => {
                    (0..mask.len()).for_each(|_| _ = run.pop());
                    return self.communication(run.pop(), false);
                }
                Op::Step { .. } => break,
                op => self.evaluate(op, pid, ty, process, &mut run),
            }
        }
        (Why::Unknown, Vec::new())
    }

    fn communication(&self, number: Option<i32>, sends: bool) -> (Why, Vec<Need>) {
        let Some((number, channel)) = number.and_then(|number| Some((number, self.map.channel(number)?))) else {
            return (Why::Unknown, Vec::new());
        };
        let Shape::Channel(ty) = channel.shape else { return (Why::Unknown, Vec::new()) };
        let name = channel_name(self.tables(), number);
        let needs = vec![Need::Partner { channel: number, sends: !sends }];
        let Some(contents) = contents(self.program, &channel, self.state) else { return (Why::NoPartner { channel: name, sends }, needs) };
        let length = self.program.layout().channel_length(ty, channel.offset, self.state);
        let why = match (sends, length) {
            (true, _) => Why::Full { channel: name, contents },
            (false, 0) => Why::Empty { channel: name },
            (false, _) => Why::NoMatch { channel: name, contents },
        };
        (why, needs)
    }

    /// Executes an operation that neither blocks nor branches.
    pub fn evaluate(&self, op: Op, pid: usize, ty: ProcessId, process: &Component, run: &mut Execution) {
        let layout = self.program.layout();
        let component = &self.state[process.offset..];
        let local =
            |var: LocalId| (&self.tables().processes[ty.index()].locals[var.index()], &layout.processes[ty.index()].locals[var.index()]);
        let global = |var: GlobalId| (&self.tables().globals[var.index()], &layout.globals[var.index()]);
        let value = match op {
            Op::Ldc { value } => Some(value),
            Op::Ldg { var } => self.load(global(var), Some(0), self.state, Some(var), run),
            Op::Ldl { var } => self.load(local(var), Some(0), component, None, run),
            Op::Ldgx { var } => {
                let index = run.pop();
                self.load(global(var), index, self.state, Some(var), run)
            }
            Op::Ldlx { var } => {
                let index = run.pop();
                self.load(local(var), index, component, None, run)
            }
            Op::Pid {} => Some(pid as i32),
            Op::Nrpr {} => Some(self.map.processes.len() as i32),
            Op::Len {} | Op::Empty {} | Op::Full {} => {
                let number = run.pop();
                self.question(op, number, run)
            }
            Op::Poll { mask, .. } => {
                (0..mask.len()).for_each(|_| _ = run.pop());
                let number = run.pop();
                run.needs.extend(number.map(|channel| Need::Partner { channel, sends: true }));
                self.tell_contents(number, run);
                None
            }
            Op::Neg {} | Op::Not {} | Op::Lnot {} => run.pop().map(|a| match op {
                Op::Neg {} => a.wrapping_neg(),
                Op::Not {} => !a,
                _ => (a == 0) as i32,
            }),
            // A check of a range does not change the value.
            Op::Chk { .. } | Op::Range { .. } => run.pop(),
            op if op.pops() == 2 && op.pushes() == 1 => {
                let (b, a) = (run.pop(), run.pop());
                a.zip(b).and_then(|(a, b)| binary(op, a, b))
            }
            op => {
                (0..op.pops()).for_each(|_| _ = run.pop());
                run.stack.extend((0..op.pushes()).map(|_| None));
                return;
            }
        };
        run.stack.push(value);
    }

    fn load(
        &self,
        (variable, slot): (&Variable, &Slot),
        index: Option<i32>,
        bytes: &[u8],
        of: Option<GlobalId>,
        run: &mut Execution,
    ) -> Option<i32> {
        let index = index?;
        let offset = slot.element(index)?;
        let value = slot.ty.read(bytes.get(offset..)?);
        let name = if variable.length.is_some() { format!("{}[{index}]", variable.name) } else { variable.name.clone() };
        let named = Named { name, value: text(self.tables(), variable.shown, variable.ty, value) };
        // A channel variable whose value is its own name gives no information.
        if named.name != named.value && !run.read.contains(&named) {
            run.read.push(named);
        }
        run.needs.extend(of.map(|of| Need::Bytes { from: offset, to: offset + slot.ty.width(), of }));
        Some(value)
    }

    /// How many messages a channel has, or whether it is empty or full.
    fn question(&self, op: Op, number: Option<i32>, run: &mut Execution) -> Option<i32> {
        let channel = self.map.channel(number?)?;
        let Shape::Channel(ty) = channel.shape else { return None };
        let length = self.program.layout().channel_length(ty, channel.offset, self.state);
        let capacity = self.program.layout().channel_types[ty.index()].capacity;
        self.tell_contents(number, run);
        let value = match op {
            Op::Len {} => length as i32,
            Op::Empty {} => (length == 0) as i32,
            _ => (length == capacity) as i32,
        };
        // A full channel needs a receiver, and an empty one needs a sender.
        let sends = length == 0;
        run.needs.extend(number.map(|channel| Need::Partner { channel, sends }));
        Some(value)
    }

    fn tell_contents(&self, number: Option<i32>, run: &mut Execution) {
        let told = number.and_then(|number| {
            let channel = self.map.channel(number)?;
            Some(Named { name: channel_name(self.tables(), number), value: contents(self.program, &channel, self.state)? })
        });
        run.read.extend(told);
    }

    /// The processes that could change what is needed: the one that changed a variable last, or all
    /// that can change it; all that can communicate on the other side of a channel. The one that
    /// took the last message of the channel comes first: it has what the others wait for.
    fn waits_on(&self, pid: usize, needs: &[Need], trace: &Trace, takers: &Takers) -> Vec<WaitsOn> {
        let mut all: Vec<WaitsOn> = Vec::new();
        let mut add = |on: WaitsOn| {
            if on.pid != pid && all.iter().all(|known| known.pid != on.pid) {
                all.push(on);
            }
        };
        for need in needs {
            match *need {
                Need::Bytes { from, to, of } => match last_change(trace, from, to) {
                    Some((changer, since)) if self.map.processes.len() > changer => add(WaitsOn { pid: changer, since: Some(since) }),
                    _ => self
                        .those_who(|op| matches!(op, Op::Stg { var } | Op::Stgx { var } if *var == of))
                        .for_each(|pid| add(WaitsOn { pid, since: None })),
                },
                Need::Partner { channel, sends } => {
                    let partners = (0..self.map.processes.len()).filter(|&other| self.communicates(other, channel, sends));
                    let taker = takers.get(&channel).filter(|_| sends);
                    let since = |pid: usize| taker.filter(|(taker, _)| *taker == pid).map(|(_, step)| *step);
                    let mut partners: Vec<WaitsOn> = partners.map(|pid| WaitsOn { pid, since: since(pid) }).collect();
                    partners.sort_by_key(|on| on.since.is_none());
                    partners.into_iter().for_each(&mut add);
                }
            }
        }
        all
    }

    /// The processes whose code has such an operation.
    fn those_who(&self, does: impl Fn(&Op) -> bool) -> impl Iterator<Item = usize> {
        let code = &self.tables().code;
        (0..self.map.processes.len()).filter(move |&pid| {
            let Shape::Process(ty) = self.map.processes[pid].shape else { return false };
            self.tables().code_of(ty).any(|at| code.get(at as usize).is_some_and(&does))
        })
    }

    /// Whether the code of a process contains a send to, or a receive from, a channel, with the
    /// current values of the process.
    fn communicates(&self, pid: usize, channel: i32, sends: bool) -> bool {
        let Shape::Process(ty) = self.map.processes[pid].shape else { return false };
        self.channels_in(pid, self.tables().code_of(ty), sends).contains(&channel)
    }

    /// The channels to which this code of a process sends, or from which it receives, with the
    /// current values of the process.
    fn channels_in(&self, pid: usize, code: impl Iterator<Item = u32>, sends: bool) -> BTreeSet<i32> {
        let mut found = BTreeSet::new();
        let Some(process) = self.map.processes.get(pid) else { return found };
        let Shape::Process(ty) = process.shape else { return found };
        let mut run = Execution::default();
        // Before the first step of a type there may be code of another one, with other variables.
        let own = self.tables().code_of(ty);
        for at in code.filter(|at| own.contains(at)) {
            let Some(op) = self.tables().code.get(at as usize) else { break };
            let fields = match *op {
                Op::Send { fields } | Op::Sends { fields } if sends => fields as usize,
                Op::Recv { mask, .. } if !sends => mask.len(),
                Op::Step { .. } | Op::Nexz {} | Op::Nex {} | Op::Jmp { .. } | Op::Ndet { .. } | Op::Else { .. } | Op::Unless { .. } => {
                    run.stack.clear();
                    continue;
                }
                op => {
                    self.evaluate(op, pid, ty, process, &mut run);
                    // Only the values are needed.
                    run.read.clear();
                    run.needs.clear();
                    continue;
                }
            };
            (0..fields).for_each(|_| _ = run.pop());
            found.extend(run.pop());
            run.stack.clear();
        }
        found
    }
}

/// For each channel the process that received from it last, and the step, counted from 1.
type Takers = HashMap<i32, (usize, usize)>;

/// Looks back along a trace for those who received last from these channels.
fn last_takers(interpreter: &Interpreter, trace: &Trace, channels: &BTreeSet<i32>) -> Takers {
    let mut found = Takers::new();
    let program: &Verified = interpreter.program();
    let code = &program.program().code;
    for (index, step) in trace.steps.iter().enumerate().rev().take(LOOK_BACK_MAX) {
        if found.len() == channels.len() {
            break;
        }
        let Some(before) = trace.state_after(index) else { break };
        let Ok(moves) = interpreter.explain(before) else { break };
        let mut map = StateMap::default();
        if map.read(program.layout(), before).is_err() {
            break;
        }
        let here = Here { program, state: before, map: &map };
        let taken = moves.iter().find(|explained| explained.action == step.action && explained.state == step.state);
        let history = taken.map(|explained| &explained.history);
        let events = history.into_iter().flat_map(|history| history.beginning().into_iter().chain(history.ending()));
        let mut now = Takers::new();
        for event in events {
            let Event::Step { process, step } = event else { continue };
            let first = code[..step.index()].iter().rposition(|op| matches!(op, Op::Step { .. })).map_or(0, |at| at as u32 + 1);
            let from = here.channels_in(*process, first..step.0, false);
            now.extend(from.into_iter().map(|channel| (channel, (*process, index + 1))));
        }
        for (channel, taker) in now.into_iter().filter(|(channel, _)| channels.contains(channel)) {
            found.entry(channel).or_insert(taker);
        }
    }
    found
}

/// The process that changed these bytes last, and the step, counted from 1.
fn last_change(trace: &Trace, from: usize, to: usize) -> Option<(usize, usize)> {
    let bytes = |index: usize| trace.state_after(index).and_then(|state| state.get(from..to));
    let step = (1..=trace.steps.len()).rev().find(|&number| bytes(number).is_some() && bytes(number) != bytes(number - 1))?;
    Some((trace.steps[step - 1].action.process as usize, step))
}

fn binary(op: Op, a: i32, b: i32) -> Option<i32> {
    Some(match op {
        Op::Add {} | Op::Addv {} => a.wrapping_add(b),
        Op::Sub {} | Op::Subv {} => a.wrapping_sub(b),
        Op::Mul {} | Op::Mulv {} => a.wrapping_mul(b),
        Op::Div {} => a.checked_div(b)?,
        Op::Mod {} => a.checked_rem(b)?,
        Op::And {} => a & b,
        Op::Or {} => a | b,
        Op::Xor {} => a ^ b,
        Op::Eq {} => (a == b) as i32,
        Op::Ne {} => (a != b) as i32,
        Op::Lt {} => (a < b) as i32,
        Op::Le {} => (a <= b) as i32,
        Op::Gt {} => (a > b) as i32,
        Op::Ge {} => (a >= b) as i32,
        _ => return None,
    })
}
