//! Explains processes that wait for messages that receivers may request.
//!
//! In some languages the receiver of a message may begin the communication. A channel whose name is
//! that of another followed by `?` carries such requests: a process that sends there wants to
//! receive the message, and one that receives there wants to send it. The first field of both is
//! the number of the language's own channel, because all its channels of a type share those of the
//! machine. This module describes waiting processes in these terms: which process sends, which
//! receives, and which could be the partner on the same channel.

use crate::options::option_addresses;
use crate::waiting::{Waiting, WaitsOn, Why};
use bytecode::{Addr, Component, Op, ProcessId, Program, Shape, StateMap, Verified};
use contract::Trace;

/// The mark after the name of a channel that carries requests.
const REQUEST: char = '?';
/// The most steps, from the end of a trace, in which the last partner is looked for.
const STEPS_MAX: usize = 2_000;
/// The most instructions between the beginning of an option and its communication.
const WORK_MAX: usize = 1_000;

/// A communication in the code of a process.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Talk {
    /// The machine's channel of the message.
    message: usize,
    sends: bool,
    /// The number of the language's channel, if it is known.
    key: Option<i32>,
}

/// Describes the waiting processes in the words of the language. Programs without requests are not
/// changed.
pub(crate) fn tell_requests(program: &Verified, trace: &Trace, waiting: &mut [Waiting]) {
    let tables = program.program();
    if !tables.channels.iter().any(|channel| message_of(tables, &channel.name).is_some()) {
        return;
    }
    let state = trace.last_state();
    let mut map = StateMap::default();
    if map.read(program.layout(), state).is_err() {
        return;
    }
    let here = Here { program, state, map: &map };
    for process in waiting {
        let Some((ty, component)) = here.process(process.pid) else { continue };
        let location = program.layout().processes[ty.index()].location(&state[component.offset..]);
        let Some(address) = program.locations().address(ty, location) else { continue };
        for (at, option) in option_addresses(tables, address).into_iter().zip(&mut process.options) {
            let Why::NoPartner { channel, sends } = &mut option.why else { continue };
            let Some(talk) = here.first_talk(ty, component, at) else { continue };
            channel.clone_from(&tables.channels[talk.message].name);
            *sends = talk.sends;
            let partners = (0..map.processes.len()).filter(|other| *other != process.pid && here.answers(*other, talk));
            option.on = here.last_partner(process.pid, partners.collect(), trace);
        }
    }
}

/// The channel of the messages that are requested on a channel with this name.
fn message_of(tables: &Program, name: &str) -> Option<usize> {
    let message = name.strip_suffix(REQUEST)?;
    tables.channels.iter().position(|channel| channel.name == message)
}

struct Here<'a> {
    program: &'a Verified,
    state: &'a [u8],
    map: &'a StateMap,
}

impl Here<'_> {
    fn process(&self, pid: usize) -> Option<(ProcessId, Component)> {
        let component = *self.map.processes.get(pid)?;
        match component.shape {
            Shape::Process(ty) => Some((ty, component)),
            Shape::Channel(_) => None,
        }
    }

    /// The first communication on the path from an address.
    fn first_talk(&self, ty: ProcessId, process: Component, mut at: Addr) -> Option<Talk> {
        for _ in 0..WORK_MAX {
            match self.program.program().code.get(at.index())? {
                Op::Jmp { target } => at = *target,
                Op::Step { .. } => return None,
                Op::Send { .. } | Op::Recv { .. } => return self.talk(ty, process, at.index(), true),
                _ => at = at.next(),
            }
        }
        None
    }

    /// Whether the code of a process has the other side of a communication.
    fn answers(&self, pid: usize, wanted: Talk) -> bool {
        let Some((ty, process)) = self.process(pid) else { return false };
        self.program.program().code_of(ty).filter_map(|at| self.talk(ty, process, at as usize, false)).any(|talk| {
            let same = talk.key.zip(wanted.key).is_none_or(|(a, b)| a == b);
            talk.message == wanted.message && talk.sends != wanted.sends && same
        })
    }

    /// The communication of an instruction. `is_here` says that the process waits there: then all
    /// its variables have the values that the instruction uses.
    fn talk(&self, ty: ProcessId, process: Component, at: usize, is_here: bool) -> Option<Talk> {
        let tables = self.program.program();
        let (sends, mut needed) = match tables.code.get(at)? {
            Op::Send { fields } => (true, *fields as i64 + 1),
            Op::Recv { mask, .. } => (false, mask.len() as i64 + 1),
            _ => return None,
        };
        // The channel is pushed first, then the key.
        let mut first = at;
        while needed > 0 {
            first = first.checked_sub(1)?;
            let op = tables.code[first];
            if op.target().is_some() || op.ends_path() || matches!(op, Op::Step { .. }) {
                return None;
            }
            needed += op.pops() as i64 - op.pushes() as i64;
        }
        let Op::Ldc { value } = tables.code[first] else { return None };
        let channel = usize::try_from(value).ok()?.checked_sub(1)?;
        let name = &tables.channels.get(channel)?.name;
        let (message, sends) = match message_of(tables, name) {
            Some(message) => (message, !sends),
            None => (channel, sends),
        };
        let key = self.key(ty, process, tables.code[first + 1], is_here).filter(|key| *key != 0);
        Some(Talk { message, sends, key })
    }

    /// The value of a key that is a variable. A local that changes has the right value only where
    /// the process is.
    fn key(&self, ty: ProcessId, process: Component, op: Op, is_here: bool) -> Option<i32> {
        let (tables, layout) = (self.program.program(), self.program.layout());
        match op {
            Op::Ldg { var } => {
                let slot = &layout.globals[var.index()];
                Some(slot.ty.read(self.state.get(slot.element(0)?..)?))
            }
            Op::Ldl { var } => {
                let code = &tables.code[tables.code_of(ty).start as usize..tables.code_of(ty).end as usize];
                let changes =
                    code.windows(2).any(|two| matches!(two[1], Op::Stl { var: other } if other == var) && two[0] != Op::Ldc { value: 0 });
                if changes && !is_here {
                    return None;
                }
                let slot = &layout.processes[ty.index()].locals[var.index()];
                Some(slot.ty.read(self.state.get(process.offset + slot.element(0)?..)?))
            }
            _ => None,
        }
    }

    /// Of several processes, the one with which a process communicated last, if there was one. It
    /// has continued and is expected to return.
    fn last_partner(&self, pid: usize, partners: Vec<usize>, trace: &Trace) -> Vec<WaitsOn> {
        let layout = self.program.layout();
        let part = |state: &[u8], pid: usize| -> Option<Vec<u8>> {
            let mut map = StateMap::default();
            map.read(layout, state).ok()?;
            let component = *map.processes.get(pid)?;
            state.get(component.offset..component.offset + layout.size_of(component.shape)).map(<[u8]>::to_vec)
        };
        let found = (1..=trace.steps.len()).rev().take(STEPS_MAX).find_map(|number| {
            let (before, after) = (trace.state_after(number - 1)?, trace.state_after(number)?);
            let moved = |pid: usize| part(before, pid).is_some_and(|bytes| part(after, pid).is_some_and(|other| other != bytes));
            let with = partners.iter().copied().find(|other| moved(*other))?;
            moved(pid).then_some(WaitsOn { pid: with, since: Some(number) })
        });
        match found {
            Some(one) => vec![one],
            None => partners.into_iter().map(|pid| WaitsOn { pid, since: None }).collect(),
        }
    }
}
