//! The data that native code and the run time share.
//!
//! A [`Context`] belongs to one worker. Its first part has a fixed shape that native code reads and
//! writes by offset; the fields that only the run time needs follow. Three [`ExpandedState`]s hold
//! the states that can be under expansion at once: the state the search asked about, a state inside
//! a sequence of invisible steps, and the state in the middle of a rendezvous. Queries about other
//! processes use a fourth.

use crate::expanded::{ChannelAt, ExpandedState, ProcessAt};
use crate::helpers::Cursor;
use crate::tables::{ChannelSet, Tables};
use bytecode::{Shape, StateMap, Verified};
use contract::{Effort, Successor, Successors};
use std::sync::Arc;
use vm::InnerStates;

/// The part of a [`Context`] that describes the state native code works on. Saved and restored as a
/// whole.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct View {
    /// The state to read, until something is written.
    pub src: *const u8,
    pub src_len: usize,
    /// The copy to write.
    pub dst: *mut u8,
    pub dst_len: usize,
    pub processes: *mut ProcessAt,
    pub channels: *mut ChannelAt,
    pub process_count: u32,
    pub channel_count: u32,
    /// Counts in the copy.
    pub dst_process_count: u32,
    pub dst_channel_count: u32,
    /// The value of TIMEOUT.
    pub timeout: u32,
    /// The fault the transition carries already.
    pub fault_in: u32,
    /// The number of the transition's first step, if that is complete; see [`Successor::step`].
    pub step: u32,
    /// A superset of the channels from which some process may receive at its location; all channels
    /// until this was computed.
    pub receivers: ChannelSet,
}

impl Default for View {
    fn default() -> Self {
        View {
            src: std::ptr::null(),
            src_len: 0,
            dst: std::ptr::null_mut(),
            dst_len: 0,
            processes: std::ptr::null_mut(),
            channels: std::ptr::null_mut(),
            process_count: 0,
            channel_count: 0,
            dst_process_count: 0,
            dst_channel_count: 0,
            timeout: 0,
            fault_in: 0,
            step: Successor::NO_STEP,
            receivers: ChannelSet::ALL,
        }
    }
}

/// How the helpers treat the ends of paths.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(u32)]
pub(crate) enum Purpose {
    /// Pass them to the search at once, as long as no earlier one must be continued first.
    #[default]
    Direct,
    /// Keep them in order.
    Record,
    /// Only count those that succeed.
    Probe,
}

/// The end of a path, kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// The process that continues.
    pub process: u32,
    /// The mode's code; [`FATAL`] for a fault without a state.
    pub mode: u8,
    pub start: usize,
    pub len: usize,
    pub fault: u32,
    /// The number of the transition's first step.
    pub step: u32,
    /// Whether the components have the same offsets as in the state asked about.
    pub like_asked: bool,
}

/// Used instead of a mode: a fatal fault.
pub(crate) const FATAL: u8 = 255;

/// The working memory of one worker.
#[repr(C)]
pub(crate) struct Context {
    pub view: View,
    /// A fault that a helper noticed and that does not end the path.
    pub noted: u32,
    /// The channel of the pending offer.
    pub offer_channel: i32,
    /// The position at which a helper found a message.
    pub place: u32,
    /// The destination of the next transitions.
    pub cursor: Cursor,
    /// The process whose transitions are looked for, and how many of them there are so far.
    pub initiator: u32,
    pub choice: u32,
    /// Whether the process is not finished: the ends of its paths were kept, it must be executed
    /// again, or code is missing.
    pub unfinished: u32,
    /// Between a function and one that was cut out of it: the fault carried, how many paths
    /// succeeded, how many steps a sequence has had.
    pub part_fault: u32,
    pub part_succeeded: u32,
    pub part_steps: u32,
    /// The number of the step it began with.
    pub part_first_step: u32,
    /// The function with which a deterministic sequence continues; 0 if there is none.
    pub next_part: u64,
    /// Values to and from helpers: arguments, fields.
    pub values: [i32; 32],
    /// The fields of the pending offer.
    pub offer: [i32; 32],
    pub purpose: Purpose,
    /// How many paths succeeded, for [`Purpose::Probe`].
    pub hits: u32,
    // The fields from here on are for the run time only.
    pub program: Arc<Verified>,
    pub tables: Arc<Tables>,
    /// The search's buffer; null unless an expansion is running.
    pub out: *mut Successors,
    /// Whether code was missing: the successors are not complete, and the interpreter must expand
    /// the state.
    pub code_is_missing: bool,
    pub ends: Vec<End>,
    pub end_bytes: Vec<u8>,
    pub at_once: crate::at_once::AtOnce,
    /// How many offers are being answered, one inside another.
    pub offering: u32,
    /// Memory for the levels of a sequence of invisible steps.
    pub levels: Vec<crate::follow::Level>,
    /// Memory for the states that the sequence passes through.
    pub passed: InnerStates,
    pub asked: ExpandedState,
    /// The privilege in the state asked about, also while it is ignored (S-PRIVILEGE).
    pub asked_exclusive: u8,
    pub inside: ExpandedState,
    /// For each depth of a sequence followed at once.
    pub half_done: Vec<ExpandedState>,
    pub probed: ExpandedState,
    pub probed_half_done: ExpandedState,
    pub probe_dst: Vec<u8>,
    /// Copies of the state at alternatives that come after a write.
    pub saved: Vec<(Vec<u8>, u32, u32)>,
    /// The offset of the copies of the innermost native code.
    pub save_base: usize,
    /// The stored state that is compared to find endless deterministic sequences.
    pub kept: Option<Vec<u8>>,
    pub kept_steps: u32,
    /// How long a step may take.
    pub effort: Effort,
    pub map: StateMap,
    pub prologue_fault: u32,
    /// Whether something must be set in a state before it is shown.
    pub must_finish: bool,
    /// Whether there are variables to be reset then.
    pub has_scratch: bool,
    pub uses_priorities: bool,
}

impl Context {
    pub fn new(program: Arc<Verified>, tables: Arc<Tables>) -> Context {
        let scratch = |v: &[bytecode::Variable]| v.iter().any(|v| v.scratch);
        let declared = program.program();
        let has_scratch = scratch(&declared.globals) || declared.processes.iter().any(|p| scratch(&p.locals));
        let must_finish = has_scratch || program.layout().exclusive.is_some();
        let uses_priorities = program.layout().processes.iter().any(|p| p.priority.is_some());
        Context {
            view: View::default(),
            noted: 0,
            offer_channel: 0,
            place: 0,
            cursor: Cursor::default(),
            initiator: 0,
            choice: 0,
            unfinished: 0,
            part_fault: 0,
            part_succeeded: 0,
            part_steps: 0,
            part_first_step: 0,
            next_part: 0,
            values: [0; 32],
            offer: [0; 32],
            program,
            tables,
            out: std::ptr::null_mut(),
            code_is_missing: false,
            purpose: Purpose::Direct,
            hits: 0,
            ends: Vec::new(),
            end_bytes: Vec::new(),
            at_once: crate::at_once::AtOnce::default(),
            offering: 0,
            levels: Vec::new(),
            passed: InnerStates::default(),
            asked: ExpandedState::default(),
            asked_exclusive: 0,
            inside: ExpandedState::default(),
            half_done: Vec::new(),
            probed: ExpandedState::default(),
            probed_half_done: ExpandedState::default(),
            probe_dst: Vec::new(),
            saved: Vec::new(),
            save_base: 0,
            kept: None,
            kept_steps: 0,
            effort: Effort::default(),
            map: StateMap::default(),
            prologue_fault: 0,
            must_finish,
            has_scratch,
            uses_priorities,
        }
    }

    /// Records that code is missing: the expansion ends as soon as possible, and the interpreter
    /// expands the state.
    #[cold]
    pub fn leave_to_interpreter(&mut self) {
        (self.code_is_missing, self.unfinished) = (true, 1);
    }

    /// Makes the state asked about the one native code works on, if its view is that of the state
    /// before it.
    #[inline(always)]
    pub fn begin_with_asked_alike(&mut self) {
        let view = &mut self.view;
        (view.timeout, view.receivers, view.dst_len) = (0, ChannelSet::ALL, view.src_len);
        (view.dst_process_count, view.dst_channel_count) = (view.process_count, view.channel_count);
        self.purpose = Purpose::Direct;
        self.open();
    }

    /// Whether a process of higher priority keeps this one from moving (S-PRIORITY).
    #[inline]
    pub fn outranked(&mut self, source: fn(&mut Context) -> &mut ExpandedState, process: u32, timeout: bool) -> bool {
        self.uses_priorities && self.is_outranked(source, process, timeout)
    }

    /// The control location from which the present transition started; it is reported with
    /// sequences that never end.
    pub fn start_addr(&self) -> bytecode::Addr {
        let program = &self.program;
        let Some(process) = self.asked.processes.get(self.initiator as usize) else { return bytecode::Addr::default() };
        let layout = &program.layout().processes[process.ty as usize];
        let location = layout.location(&self.asked.bytes[process.offset as usize..]);
        program.locations().address(bytecode::ProcessId(process.ty as u8), location).unwrap_or_default()
    }

    fn is_outranked(&mut self, source: fn(&mut Context) -> &mut ExpandedState, process: u32, timeout: bool) -> bool {
        let program = Arc::clone(&self.program);
        let layout = program.layout();
        let priority = |source: &ExpandedState, p: u32| {
            let process = &source.processes[p as usize];
            Some(source.bytes[process.offset as usize + layout.processes[process.ty as usize].priority?])
        };
        let looked_at = source(self);
        let Some(own) = priority(looked_at, process) else { return false };
        let (state, len) = (looked_at.bytes.as_ptr(), looked_at.len);
        let above: Vec<u32> = (0..looked_at.process_count).filter(|&p| priority(looked_at, p).is_some_and(|p| p > own)).collect();
        above.into_iter().any(|other| self.probe(state, len, other, timeout as u32))
    }
}

/// The view of a source. The caller that starts native code sets the copy.
pub(crate) fn view_of(source: &mut ExpandedState) -> View {
    View {
        src: source.bytes.as_ptr(),
        src_len: source.len,
        processes: source.processes.as_mut_ptr(),
        channels: source.channels.as_mut_ptr(),
        process_count: source.process_count,
        channel_count: source.channel_count,
        dst_process_count: source.process_count,
        dst_channel_count: source.channel_count,
        ..View::default()
    }
}

/// The view of a source whose processes and channels have the same offsets as in the state of
/// another view.
#[inline]
pub(crate) fn view_like(source: &ExpandedState, shape: &View) -> View {
    View {
        src: source.bytes.as_ptr(),
        src_len: source.len,
        dst_process_count: shape.process_count,
        dst_channel_count: shape.channel_count,
        timeout: 0,
        fault_in: 0,
        receivers: ChannelSet::ALL,
        ..*shape
    }
}

/// Resets the scratch variables of a state before it is shown (S-SCRATCH).
#[cold]
pub(crate) fn reset_scratch(program: &Verified, map: &mut StateMap, state: &mut [u8]) {
    let layout = program.layout();
    let reset = |state: &mut [u8], base: usize, slots: &[bytecode::Slot], variables: &[bytecode::Variable]| {
        for (slot, variable) in slots.iter().zip(variables).filter(|(_, v)| v.scratch) {
            for i in 0..slot.elements {
                let at = base + slot.offset + i * slot.ty.width();
                slot.ty.write(variable.initial(i), &mut state[at..]);
            }
        }
    };
    let declared = program.program();
    reset(state, 0, &layout.globals, &declared.globals);
    if declared.processes.iter().any(|p| p.locals.iter().any(|v| v.scratch)) && map.read(layout, state).is_ok() {
        for process in &map.processes {
            if let Shape::Process(ty) = process.shape {
                reset(state, process.offset, &layout.processes[ty.index()].locals, &declared.processes[ty.index()].locals);
            }
        }
    }
}
