//! States under expansion: their bytes, and where their processes and channels are.
//!
//! A state is copied once, into a buffer with padding, so that native code can copy it again in
//! whole words. Most states have the same components at the same offsets as the state before. So
//! the description of a state is kept, together with a pattern of the bytes that say what a
//! component is. If the next state has the same bytes at these offsets, which is tested while it is
//! copied, the description is right for it.

use crate::tables::{AnswerCell, ChannelSet, Code, CodeCell, Tables};
use bytecode::{Layout, LayoutError, Verified};

/// Bytes past the end of a state that native code may read or write when it copies.
pub(crate) const PADDING: usize = 128;

/// The number of bytes that are copied at once, if a state is that long.
const PIECE: usize = 16;
const HALF: usize = PIECE / 2;

/// The position of a process in the state, and its code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessAt {
    /// The code of each location; see [`mask`](Self::mask).
    pub code: *const CodeCell,
    /// How each location answers offers.
    pub answers: *const AnswerCell,
    pub offset: u32,
    /// The offset of its control location in the state.
    pub location: u32,
    /// Which bits of the two bytes there are the location. Every number with these bits is an index
    /// into `code`.
    pub mask: u32,
    pub ty: u32,
}

impl Default for ProcessAt {
    fn default() -> Self {
        ProcessAt { code: std::ptr::null(), answers: std::ptr::null(), offset: 0, location: 0, mask: 0, ty: 0 }
    }
}

impl ProcessAt {
    /// The index in the tables of its type for the location of a process.
    ///
    /// # Safety
    /// This describes a process of the state at `state`, which has padding, by the tables of its
    /// program.
    #[inline(always)]
    pub unsafe fn place(&self, state: *const u8) -> usize {
        // SAFETY: the location lies inside the state, and the byte after it at least inside the
        // padding.
        let found = unsafe { state.add(self.location as usize).cast::<u16>().read_unaligned() };
        (u16::from_le(found) as u32 & self.mask) as usize
    }

    /// The code for the location of the process.
    ///
    /// # Safety
    /// As for [`place`](Self::place).
    #[inline(always)]
    pub unsafe fn code(&self, state: *const u8) -> Code {
        // SAFETY: as the caller promises; every number within the mask is an index into the table.
        unsafe { &*self.code.add(self.place(state)) }.get()
    }

    /// The channels from which the process may receive at its location.
    ///
    /// # Safety
    /// As for [`place`](Self::place).
    #[inline(always)]
    pub unsafe fn receives_from(&self, state: *const u8) -> ChannelSet {
        // SAFETY: likewise.
        unsafe { &*self.answers.add(self.place(state)) }.channels()
    }

    /// The code with which the process may answer an offer on a channel at its location.
    ///
    /// # Safety
    /// As for [`place`](Self::place).
    #[inline(always)]
    pub unsafe fn answer(&self, state: *const u8, channel: i32) -> Option<Code> {
        // SAFETY: likewise.
        unsafe { &*self.answers.add(self.place(state)) }.on(channel)
    }
}

/// The position of a channel in the state.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ChannelAt {
    pub offset: u32,
    pub ty: u32,
}

/// A state under expansion, with padding, and where its processes and channels are.
#[derive(Clone, Default)]
pub(crate) struct ExpandedState {
    pub bytes: Vec<u8>,
    pub len: usize,
    /// 256 entries: room for the processes a step creates.
    pub processes: Vec<ProcessAt>,
    pub process_count: u32,
    pub channels: Vec<ChannelAt>,
    pub channel_count: u32,
    /// The length of the state that the tables describe.
    described: Option<usize>,
    /// Whether the view of the state before this one is still right, except for the copy; see
    /// [`Native`](crate::Native).
    pub is_in_view: bool,
    /// The bytes of that state that say what a component is, and a mask of these bytes; both have
    /// at least one piece.
    shapes: Vec<u8>,
    shape_mask: Vec<u8>,
}

/// Copies a state to the start of a buffer. States are short: this is faster than asking the system
/// for it.
#[inline]
fn copy(state: &[u8], bytes: &mut [u8]) {
    let bytes = &mut bytes[..state.len()];
    if let (Some(from), Some(to)) = (state.last_chunk::<PIECE>(), bytes.last_chunk_mut::<PIECE>()) {
        *to = *from;
    } else if let (Some(from), Some(to)) = (state.last_chunk::<HALF>(), bytes.last_chunk_mut::<HALF>()) {
        *to = *from;
        bytes[..HALF].copy_from_slice(&state[..HALF]);
    } else {
        bytes.iter_mut().zip(state).for_each(|(to, from)| *to = *from);
    }
    for (from, to) in state.as_chunks::<PIECE>().0.iter().zip(bytes.as_chunks_mut::<PIECE>().0) {
        *to = *from;
    }
}

impl ExpandedState {
    /// Copies only the bytes of a state; for [`view_like`](crate::context::view_like).
    #[inline]
    pub fn take_in(&mut self, state: &[u8]) {
        if self.bytes.len() < state.len() + PADDING {
            self.bytes.resize(state.len() + PADDING, 0);
        }
        copy(state, &mut self.bytes);
        self.len = state.len();
    }

    /// Copies a state, and finds its processes and channels.
    #[inline(always)]
    pub fn load(&mut self, program: &Verified, tables: &Tables, state: &[u8]) -> Result<(), LayoutError> {
        if self.take_in_alike(state) { Ok(()) } else { self.load_anew(program, tables, state) }
    }

    /// Copies a state if the tables are right for it.
    #[inline(always)]
    pub fn take_in_alike(&mut self, state: &[u8]) -> bool {
        let len = state.len();
        // An earlier state had this length, so the buffer is large enough.
        if self.described != Some(len) {
            return false;
        }
        self.len = len;
        let (bytes, shapes, mask) = (&mut self.bytes[..len.max(PIECE)], &self.shapes[..len.max(PIECE)], &self.shape_mask[..len.max(PIECE)]);
        let ends = (bytes.last_chunk_mut(), shapes.last_chunk(), mask.last_chunk());
        let (Some(to), Some(others), Some(wanted)) = ends else { return false };
        let mut difference = 0;
        match state.last_chunk() {
            Some(from) => difference |= copy_and_compare(from, to, others, wanted),
            None => {
                copy(state, to);
                difference |= compare(to, others, wanted);
            }
        }
        let pieces = state.as_chunks().0.iter().zip(bytes.as_chunks_mut().0);
        for ((from, to), (others, wanted)) in pieces.zip(shapes.as_chunks().0.iter().zip(mask.as_chunks().0)) {
            difference |= copy_and_compare(from, to, others, wanted);
        }
        difference == 0
    }

    #[cold]
    fn load_anew(&mut self, program: &Verified, tables: &Tables, state: &[u8]) -> Result<(), LayoutError> {
        self.take_in(state);
        (self.described, self.is_in_view) = (None, false);
        if tables.longest.is_some_and(|longest| state.len() > longest) {
            return Err(LayoutError::TooLarge);
        }
        self.find_components(program.layout(), tables, state)?;
        for pattern in [&mut self.shapes, &mut self.shape_mask] {
            pattern.clear();
            pattern.resize(state.len().max(PIECE), 0);
        }
        let processes = self.processes[..self.process_count as usize].iter().map(|process| process.offset as usize);
        let channels =
            self.channels[program.layout().channels.len()..self.channel_count as usize].iter().map(|channel| channel.offset as usize - 1);
        for at in processes.chain(channels) {
            (self.shapes[at], self.shape_mask[at]) = (state[at], 0xff);
        }
        self.described = Some(state.len());
        Ok(())
    }

    fn find_components(&mut self, layout: &Layout, tables: &Tables, state: &[u8]) -> Result<(), LayoutError> {
        if self.processes.is_empty() {
            self.processes.resize(256, ProcessAt::default());
            self.channels.resize(256, ChannelAt::default());
            for (slot, &(ty, offset)) in self.channels.iter_mut().zip(&layout.channels) {
                *slot = ChannelAt { offset: offset as u32, ty: ty.0 as u32 };
            }
        }
        let mut at = layout.fixed;
        if state.len() < at {
            return Err(LayoutError::Truncated);
        }
        let mut processes = 0;
        let mut channels = layout.channels.len();
        let types = tables.process_types;
        while at < state.len() {
            let code = state[at];
            let size = tables.shape_sizes[code as usize] as usize;
            if size == 0 {
                return Err(LayoutError::UnknownShape(at));
            }
            if (code as usize) < types {
                if processes >= 255 {
                    return Err(LayoutError::TooManyInstances);
                }
                self.processes[processes] = tables.process_at(code, at as u32);
                processes += 1;
            } else {
                if channels >= 255 {
                    return Err(LayoutError::TooManyInstances);
                }
                self.channels[channels] = ChannelAt { offset: at as u32 + 1, ty: (code as usize - types) as u32 };
                channels += 1;
            }
            at += size;
        }
        if at != state.len() {
            return Err(LayoutError::Truncated);
        }
        self.process_count = processes as u32;
        self.channel_count = channels as u32;
        Ok(())
    }
}

/// Copies a piece of a state, and returns in which bytes of the mask it differs from the expected
/// ones.
#[inline(always)]
fn copy_and_compare(from: &[u8; PIECE], to: &mut [u8; PIECE], others: &[u8; PIECE], wanted: &[u8; PIECE]) -> u128 {
    *to = *from;
    compare(from, others, wanted)
}

#[inline(always)]
fn compare(piece: &[u8; PIECE], others: &[u8; PIECE], wanted: &[u8; PIECE]) -> u128 {
    (u128::from_ne_bytes(*piece) ^ u128::from_ne_bytes(*others)) & u128::from_ne_bytes(*wanted)
}
