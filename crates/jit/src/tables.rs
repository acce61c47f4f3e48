//! Tables with the code of each control location.
//!
//! The tables exist before the code. Each entry first has code that leaves the expansion to the
//! interpreter ([`untranslated`]); the translator replaces it while searches run. A worker reads an
//! entry with one load. So code is used as soon as it is available, and no worker waits for it.

use crate::context::Context;
use crate::expanded::ProcessAt;
use crate::memory::usual_length;
use bytecode::{AtomId, Location, Op, ProcessId, Verified};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// A compiled function: context, offset of the process, its number.
pub(crate) type Code = unsafe extern "C" fn(*mut Context, u64, u32);

/// A compiled expression: as [`Code`], with the value in the lower half of the result and a fault
/// in the other.
pub(crate) type ValueCode = unsafe extern "C" fn(*mut Context, u64, u32) -> u64;

/// A place for code.
#[derive(Debug)]
pub(crate) struct CodeCell(AtomicPtr<()>);

impl CodeCell {
    fn new(code: Code) -> CodeCell {
        CodeCell(AtomicPtr::new(code as *mut ()))
    }

    #[inline(always)]
    pub fn get(&self) -> Code {
        // SAFETY: only `new` and `set` write here, and they write functions of this type.
        unsafe { std::mem::transmute::<*mut (), Code>(self.0.load(Ordering::Acquire)) }
    }

    pub fn set(&self, code: Code) {
        self.0.store(code as *mut (), Ordering::Release);
    }
}

/// The code with which a location answers offers, and on which channels. A worker may read one of
/// the two before a change and the other after it. This is safe: code that is called for a channel
/// that it does not answer does nothing.
#[derive(Debug)]
pub(crate) struct AnswerCell {
    channels: AtomicU64,
    code: CodeCell,
}

impl AnswerCell {
    /// The channels on which it may answer.
    #[inline]
    pub fn channels(&self) -> ChannelSet {
        ChannelSet(self.channels.load(Ordering::Relaxed))
    }

    /// The code, if it may answer an offer on a channel.
    #[inline]
    pub fn on(&self, channel: i32) -> Option<Code> {
        self.channels().meets(ChannelSet::one(channel)).then(|| self.code.get())
    }
}

/// A superset of a set of channels: numbers are taken modulo 64.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(transparent)]
pub(crate) struct ChannelSet(pub u64);

impl ChannelSet {
    pub const ALL: ChannelSet = ChannelSet(u64::MAX);

    pub fn one(channel: i32) -> ChannelSet {
        ChannelSet(1 << (channel as u32 % 64))
    }

    pub fn meets(self, other: ChannelSet) -> bool {
        self.0 & other.0 != 0
    }

    pub fn with(self, other: ChannelSet) -> ChannelSet {
        ChannelSet(self.0 | other.0)
    }
}

/// The code of one process type. Its tables have an entry for each number within the mask of a
/// location, so no number in a state leads outside the table.
struct TypeCode {
    /// The offset of the control location in the component.
    location: u32,
    mask: u32,
    expand: Box<[CodeCell]>,
    answer: Box<[AnswerCell]>,
    /// For each location, how often its code was needed and missing.
    missed: Box<[AtomicU32]>,
}

/// The tables of a program. All workers share them.
pub(crate) struct Tables {
    types: Box<[TypeCode]>,
    /// For each shape byte, the size of such a component; 0 if there is none. Process types come
    /// first.
    pub shape_sizes: [u32; 256],
    pub process_types: usize,
    /// The length of the longest state for which the code is made, if the program creates nothing:
    /// no state of a search is longer then.
    pub longest: Option<usize>,
    /// For each type, its prologue.
    prologues: Box<[Option<CodeCell>]>,
    /// For each type, a new instance's component.
    pub templates: Vec<Vec<u8>>,
    /// For each atom, its code; null if there is none.
    atoms: Box<[AtomicPtr<()>]>,
}

impl Tables {
    /// The tables of a program that has no code yet.
    pub fn new(program: &Verified) -> Tables {
        let (declared, layout) = (program.program(), program.layout());
        let mut shape_sizes = [0; 256];
        for (code, size) in shape_sizes.iter_mut().enumerate() {
            *size = layout.shape(code as u8).map_or(0, |shape| layout.size_of(shape) as u32);
        }
        let of_type = |i: usize| {
            let process = &layout.processes[i];
            let count = program.locations().count(ProcessId(i as u8));
            let places = if process.wide { count.next_power_of_two() } else { 256 };
            let no_answer = || AnswerCell { channels: AtomicU64::new(u64::MAX), code: CodeCell::new(untranslated) };
            TypeCode {
                location: process.location as u32,
                mask: places as u32 - 1,
                expand: (0..places).map(|_| CodeCell::new(untranslated)).collect(),
                answer: (0..places).map(|_| no_answer()).collect(),
                missed: (0..count).map(|_| AtomicU32::new(0)).collect(),
            }
        };
        let types = declared.processes.len();
        let creates = declared.code.iter().any(|op| matches!(op, Op::Run { .. } | Op::Chnew { .. }));
        Tables {
            types: (0..types).map(of_type).collect(),
            shape_sizes,
            process_types: types,
            longest: (!creates).then(|| usual_length(program)),
            prologues: declared.processes.iter().map(|p| p.prologue.map(|_| CodeCell::new(untranslated))).collect(),
            templates: (0..types).map(|i| template(program, ProcessId(i as u8))).collect(),
            atoms: declared.atoms.iter().map(|_| AtomicPtr::default()).collect(),
        }
    }

    /// The code of an atom, if there is some.
    #[inline]
    pub fn atom(&self, atom: u32) -> Option<ValueCode> {
        let code = self.atoms.get(atom as usize)?.load(Ordering::Acquire);
        // SAFETY: only `set_atom` writes here, and it writes functions of this type.
        (!code.is_null()).then(|| unsafe { std::mem::transmute::<*mut (), ValueCode>(code) })
    }

    pub fn set_atom(&self, atom: AtomId, code: ValueCode) {
        self.atoms[atom.index()].store(code as *mut (), Ordering::Release);
    }

    /// The position of a process of a type that begins at an offset.
    pub fn process_at(&self, ty: u8, offset: u32) -> ProcessAt {
        let of_type = &self.types[ty as usize];
        let (code, answers) = (of_type.expand.as_ptr(), of_type.answer.as_ptr());
        ProcessAt { code, answers, offset, location: offset + of_type.location, mask: of_type.mask, ty: ty as u32 }
    }

    /// The prologue of a type that has one.
    pub fn prologue(&self, ty: u32) -> Option<Code> {
        self.prologues[ty as usize].as_ref().map(CodeCell::get)
    }

    pub fn set_prologue(&self, ty: ProcessId, code: Code) {
        if let Some(place) = &self.prologues[ty.index()] {
            place.set(code);
        }
    }

    /// Sets the code of a location; one without code for answers never answers.
    pub fn set_location(&self, ty: ProcessId, location: Location, expand: Code, answer: Option<(ChannelSet, Code)>) {
        let of_type = &self.types[ty.index()];
        let (channels, code) = answer.unwrap_or((ChannelSet::default(), nothing));
        let place = &of_type.answer[location.index()];
        place.code.set(code);
        place.channels.store(channels.0, Ordering::Relaxed);
        of_type.expand[location.index()].set(expand);
    }

    /// How often the code of a location was needed and missing.
    pub fn missed(&self, ty: ProcessId, location: Location) -> u32 {
        self.types[ty.index()].missed[location.index()].load(Ordering::Relaxed)
    }

    fn miss(&self, ty: u32, location: usize) {
        if let Some(count) = self.types[ty as usize].missed.get(location) {
            // The count is not exact if several workers count at once; an approximate count is
            // enough.
            count.store(count.load(Ordering::Relaxed).saturating_add(1), Ordering::Relaxed);
        }
    }
}

/// Never answers an offer.
extern "C" fn nothing(_: *mut Context, _offset: u64, _process: u32) {}

/// Used instead of missing code: the interpreter must expand this state.
///
/// # Safety
/// As for every compiled function: called with the context of a state under expansion and one of
/// its processes.
pub(crate) unsafe extern "C" fn untranslated(ctx: *mut Context, _offset: u64, process: u32) {
    // SAFETY: the caller's context, which has no other user now.
    let ctx = unsafe { &mut *ctx };
    ctx.leave_to_interpreter();
    if process < ctx.view.process_count {
        // SAFETY: `process` is one of the state that the context looks at, and the table has an
        // entry for each.
        let at = unsafe { &*ctx.view.processes.add(process as usize) };
        // SAFETY: it describes a process of the state at `src`.
        let place = unsafe { at.place(ctx.view.src) };
        ctx.tables.miss(at.ty, place);
    }
}

/// A new instance of a type before its parameters are stored (I-RUN).
fn template(program: &Verified, ty: ProcessId) -> Vec<u8> {
    let layout = &program.layout().processes[ty.index()];
    let declared = &program.program().processes[ty.index()];
    let mut bytes = vec![0; layout.size];
    bytes[0] = ty.0;
    let entry = program.program().follow_jumps(declared.entry).and_then(|a| program.locations().at(ty, a));
    layout.set_location(&mut bytes, entry.unwrap_or_default());
    if let Some(at) = layout.priority {
        bytes[at] = declared.priority;
    }
    for (slot, variable) in layout.locals.iter().zip(&declared.locals) {
        for i in 0..slot.elements {
            slot.ty.write(variable.initial(i), &mut bytes[slot.offset + i * slot.ty.width()..]);
        }
    }
    bytes
}
