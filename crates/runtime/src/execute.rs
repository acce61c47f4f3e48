//! The instruction loop.
//!
//! It executes one path: from a position in the code to the end of a step, to a fault, or to a
//! point where the process is blocked. One alternative is tried first, and the others if it is
//! impossible.

use crate::insn::{Code, Insn, NOWHERE};
use crate::machine::{Before, Machine, Printed};
use bytecode::{Fault, FaultKind, Mode};

/// How a path ends. Further data is left in the machine, because a small result is returned in a
/// register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PathEnd {
    /// A step has ended; see [`Machine::stepped`].
    Step,
    /// A step has ended with a message that a process must receive.
    Offered,
    /// No alternative is possible.
    Blocked,
    /// A fault occurred; see [`Machine::failed`].
    Fault,
}

/// An alternative that was not tried yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Untried {
    pc: u32,
    mark: usize,
}

/// Makes the choices that the program leaves open.
pub(crate) trait Choose {
    /// The alternative, out of `count`, that a process tries first.
    fn alternative(&mut self, process: usize, count: u32) -> u32;
}

/// A path that is being executed.
pub(crate) struct Path<'a> {
    pub process: usize,
    /// Whether the process receives the pending message, and has not received it yet.
    pub answering: bool,
    pub untried: &'a mut Vec<Untried>,
    pub code: &'a Code,
    pub chooser: &'a mut dyn Choose,
}

impl Machine {
    /// Tries the next alternative of a path that was impossible.
    pub fn try_next(&mut self, path: &mut Path<'_>, base: usize, answering: bool) -> PathEnd {
        while path.untried.len() > base
            && let Some(Untried { pc, mark }) = path.untried.pop()
        {
            self.undo(mark);
            path.answering = answering;
            match self.execute(path, pc) {
                PathEnd::Blocked => {}
                end => return end,
            }
        }
        PathEnd::Blocked
    }

    /// Executes a path with its alternatives.
    #[inline(always)]
    pub fn execute_all(&mut self, path: &mut Path<'_>, pc: u32) -> PathEnd {
        let (base, answering) = (path.untried.len(), path.answering);
        match self.execute(path, pc) {
            PathEnd::Blocked => self.try_next(path, base, answering),
            end => end,
        }
    }

    /// Executes one path.
    #[inline(always)]
    fn execute(&mut self, path: &mut Path<'_>, pc: u32) -> PathEnd {
        let process = path.process;
        // The frame is taken out, so that the rest of the machine can be used at the same time.
        let mut frame = std::mem::take(&mut self.processes[process].frame);
        let end = self.run(path, pc, &mut frame);
        self.processes[process].frame = frame;
        end
    }

    fn run(&mut self, path: &mut Path<'_>, start: u32, frame: &mut [i32]) -> PathEnd {
        let process = path.process;
        let code = path.code;
        let insns = &code.insns[..];
        let mut pc = start as usize;
        (self.offered, self.answered) = (false, false);
        macro_rules! get {
            ($slot:expr) => {
                frame[$slot as usize]
            };
        }
        macro_rules! set {
            ($slot:expr, $value:expr) => {{
                let value = $value;
                if self.logging {
                    self.log.push(Before::Slot(process as u32, $slot, frame[$slot as usize]));
                }
                frame[$slot as usize] = value;
            }};
        }
        macro_rules! set_global {
            ($var:expr, $value:expr) => {{
                let value = $value;
                if self.logging {
                    self.log.push(Before::Global($var, self.globals[$var as usize]));
                }
                self.globals[$var as usize] = value;
            }};
        }
        macro_rules! fail {
            ($kind:ident) => {{
                // If the path fails before it has received the message, it does not count as a
                // receive.
                if path.answering {
                    return PathEnd::Blocked;
                }
                self.failed = Fault { kind: FaultKind::$kind, addr: code.origins[pc] };
                return PathEnd::Fault;
            }};
        }
        macro_rules! exact {
            ($d:expr, $result:expr) => {
                match $result {
                    Some(value) => set!($d, value),
                    None => fail!(Overflow),
                }
            };
        }
        loop {
            match insns[pc] {
                Insn::Move { d, a } => set!(d, get!(a)),
                Insn::Cut { d, a, ty } => set!(d, ty.truncate(get!(a))),
                Insn::Add { d, a, b } => set!(d, get!(a).wrapping_add(get!(b))),
                Insn::Sub { d, a, b } => set!(d, get!(a).wrapping_sub(get!(b))),
                Insn::Addv { d, a, b } => exact!(d, get!(a).checked_add(get!(b))),
                Insn::Subv { d, a, b } => exact!(d, get!(a).checked_sub(get!(b))),
                Insn::And { d, a, b } => set!(d, get!(a) & get!(b)),
                Insn::Or { d, a, b } => set!(d, get!(a) | get!(b)),
                Insn::Xor { d, a, b } => set!(d, get!(a) ^ get!(b)),
                Insn::Lnot { d, a } => set!(d, i32::from(get!(a) == 0)),
                Insn::Compare { d, a, b, how } => set!(d, i32::from(how.holds(get!(a), get!(b)))),
                Insn::Range { a, least, greatest } => {
                    if !(least..=greatest).contains(&get!(a)) {
                        fail!(Overflow);
                    }
                }
                Insn::Chk { a, length } => {
                    if get!(a) as u32 >= length || get!(a) < 0 {
                        fail!(Index);
                    }
                }
                Insn::LoadGlobal { d, var } => set!(d, self.globals[var as usize]),
                Insn::StoreGlobal { var, a } => set_global!(var, get!(a)),
                Insn::CutGlobal { var, a, ty } => set_global!(var, ty.truncate(get!(a))),
                Insn::LoadGlobalAt { d, i, array } => {
                    let (array, i) = (code.arrays[array as usize], get!(i));
                    if i < 0 || i as u32 >= array.length {
                        fail!(Index);
                    }
                    set!(d, self.globals[(array.first + i as u32) as usize]);
                }
                Insn::StoreGlobalAt { i, a, array } => {
                    let (array, i) = (code.arrays[array as usize], get!(i));
                    if i < 0 || i as u32 >= array.length {
                        fail!(Index);
                    }
                    set_global!(array.first + i as u32, array.ty.truncate(get!(a)));
                }
                Insn::LoadAt { d, i, array } => {
                    let (array, i) = (code.arrays[array as usize], get!(i));
                    if i < 0 || i as u32 >= array.length {
                        fail!(Index);
                    }
                    set!(d, get!(array.first + i as u32));
                }
                Insn::StoreAt { i, a, array } => {
                    let (array, i) = (code.arrays[array as usize], get!(i));
                    if i < 0 || i as u32 >= array.length {
                        fail!(Index);
                    }
                    set!(array.first + i as u32, array.ty.truncate(get!(a)));
                }
                Insn::Jump { to } => {
                    pc = to as usize;
                    continue;
                }
                Insn::JumpIf { a, b, how, to } => {
                    if how.holds(get!(a), get!(b)) {
                        pc = to as usize;
                        continue;
                    }
                }
                Insn::Either { count, .. } => {
                    pc = self.choose(path, pc, count) as usize;
                    continue;
                }
                Insn::Else { to } => {
                    path.untried.push(Untried { pc: to, mark: self.log.len() });
                    self.logging = true;
                }
                Insn::Step { mode, location, onward } => {
                    // The action continues here if no message is pending and nothing may have to be
                    // undone.
                    if onward != NOWHERE && self.fuel > 1 && !(path.answering || self.offered || self.answered || self.logging) {
                        self.fuel -= 1;
                        pc = onward as usize;
                        continue;
                    }
                    if path.answering || (self.offered && mode == Mode::Terminate) {
                        return PathEnd::Blocked;
                    }
                    if mode == Mode::Terminate && process + 1 != self.processes.len() {
                        return PathEnd::Blocked;
                    }
                    self.stepped = (mode, location);
                    return if self.offered { PathEnd::Offered } else { PathEnd::Step };
                }
                Insn::Nex => return PathEnd::Blocked,
                Insn::Nexz { a } => {
                    if get!(a) == 0 {
                        return PathEnd::Blocked;
                    }
                }
                Insn::Pid { d } => set!(d, process as i32),
                _ => {
                    if let Some(end) = self.rare(code, path, pc, frame) {
                        return end;
                    }
                    if let Some(native) =
                        self.native.as_ref().filter(|_| !(path.answering || self.offered || self.answered || self.logging))
                    {
                        let (next, fuel) = native.run(pc as u32 + 1, process as i32, frame, &mut self.globals, self.fuel);
                        (pc, self.fuel) = (next as usize, fuel);
                        continue;
                    }
                }
            }
            pc += 1;
        }
    }

    /// The rare or long instructions, separate from the others, so that the main loop needs few
    /// registers.
    #[inline(never)]
    fn rare(&mut self, code: &Code, path: &mut Path<'_>, pc: usize, frame: &mut [i32]) -> Option<PathEnd> {
        let process = path.process;
        macro_rules! get {
            ($slot:expr) => {
                frame[$slot as usize]
            };
        }
        macro_rules! set {
            ($slot:expr, $value:expr) => {{
                let value = $value;
                if self.logging {
                    self.log.push(Before::Slot(process as u32, $slot, frame[$slot as usize]));
                }
                frame[$slot as usize] = value;
            }};
        }
        macro_rules! fail {
            ($kind:ident) => {{
                // If the path fails before it has received the message, it does not count as a
                // receive.
                if path.answering {
                    return Some(PathEnd::Blocked);
                }
                self.failed = Fault { kind: FaultKind::$kind, addr: code.origins[pc] };
                return Some(PathEnd::Fault);
            }};
        }
        macro_rules! exact {
            ($d:expr, $result:expr) => {
                match $result {
                    Some(value) => set!($d, value),
                    None => fail!(Overflow),
                }
            };
        }
        match code.insns[pc] {
            Insn::LoadOf { d, process: number, remote } => {
                let (ty, array) = code.remotes[remote as usize];
                let value = self.remote(frame, process, get!(number), ty, array.first);
                set!(d, value);
            }
            Insn::LoadOfAt { d, process: number, remote } => {
                let (ty, array) = code.remotes[remote as usize];
                let i = get!(number + 1);
                if i < 0 || i as u32 >= array.length {
                    fail!(Index);
                }
                let value = self.remote(frame, process, get!(number), ty, array.first + i as u32);
                set!(d, value);
            }
            Insn::Run { d, first, count, ty } => {
                if self.processes.len() >= 255 {
                    fail!(TooManyProcesses);
                }
                let number = self.create(ty, &frame[first as usize..(first + count) as usize]);
                self.created += 1;
                if self.logging {
                    self.log.push(Before::Created);
                }
                set!(d, number as i32);
            }
            Insn::Count { d } => set!(d, self.processes.len() as i32),
            Insn::Len { d, a } => match self.buffers.get(get!(a) as usize).filter(|_| get!(a) > 0) {
                Some(buffer) => set!(d, buffer.messages.len() as i32),
                None => fail!(Channel),
            },
            Insn::Send { first, fields } => {
                let channel = get!(first) as usize;
                let values = &frame[first as usize + 1..(first + 1 + fields) as usize];
                let Some(buffer) = self.buffers.get_mut(channel).filter(|_| channel > 0) else { fail!(Channel) };
                // A process that receives a pending message sends nothing, neither before nor
                // after.
                let full = buffer.capacity > 0 && buffer.messages.len() >= buffer.capacity;
                if path.answering || full || (buffer.capacity == 0 && (self.offered || self.answered)) {
                    return Some(PathEnd::Blocked);
                }
                if buffer.types.len() != fields as usize {
                    fail!(Message);
                }
                if buffer.capacity == 0 {
                    self.pending.channel = channel as u32;
                    self.pending.count = fields as usize;
                    for ((place, value), ty) in self.pending.fields.iter_mut().zip(values).zip(&buffer.types) {
                        *place = ty.truncate(*value);
                    }
                    self.offered = true;
                } else {
                    let message = values.iter().zip(&buffer.types).map(|(value, ty)| ty.truncate(*value)).collect();
                    if self.logging {
                        self.log.push(Before::Buffer(channel as u32, buffer.messages.clone()));
                    }
                    buffer.messages.push_back(message);
                }
            }
            Insn::Receive { first, fields, mask, how } => {
                let channel = get!(first) as usize;
                let registers = code.frames[self.processes[process].ty as usize].registers;
                let Some(buffer) = self.buffers.get_mut(channel).filter(|_| channel > 0) else { fail!(Channel) };
                let matches = |message: &[i32], frame: &[i32]| {
                    let mut wanted = first as usize;
                    (0..fields as usize).filter(|field| mask & (1 << field) != 0).all(|field| {
                        wanted += 1;
                        message[field] == frame[wanted]
                    })
                };
                if buffer.capacity == 0 {
                    let pending = self.pending;
                    if !path.answering || pending.channel as usize != channel || pending.count != fields as usize {
                        return Some(PathEnd::Blocked);
                    }
                    if !matches(&pending.fields, frame) {
                        return Some(PathEnd::Blocked);
                    }
                    for field in 0..fields {
                        set!(registers + field, pending.fields[field as usize]);
                    }
                    (path.answering, self.answered) = (false, true);
                } else {
                    if path.answering || buffer.types.len() != fields as usize {
                        return Some(PathEnd::Blocked);
                    }
                    let searched = if how.searches() { buffer.messages.len() } else { buffer.messages.len().min(1) };
                    let Some(at) = (0..searched).find(|at| matches(&buffer.messages[*at], frame)) else { return Some(PathEnd::Blocked) };
                    let message = buffer.messages[at].clone();
                    if how.takes() {
                        if self.logging {
                            self.log.push(Before::Buffer(channel as u32, buffer.messages.clone()));
                        }
                        buffer.messages.remove(at);
                    }
                    for field in 0..fields {
                        set!(registers + field, message[field as usize]);
                    }
                }
            }
            Insn::Assert { a } if get!(a) == 0 => {
                if self.logging {
                    self.log.push(Before::Fault(self.carried));
                }
                self.carried = self.carried.or(Some(Fault { kind: FaultKind::Assertion, addr: code.origins[pc] }));
            }
            Insn::Print { format, first, count } => {
                let values = frame[first as usize..(first + count) as usize].to_vec();
                self.printed.push(Printed { format, values });
                if self.logging {
                    self.log.push(Before::Printed);
                }
            }
            Insn::Div { d, a, b } => match get!(b) {
                0 => fail!(Division),
                divisor => set!(d, get!(a).wrapping_div(divisor)),
            },
            Insn::Mod { d, a, b } => match get!(b) {
                0 => fail!(Division),
                divisor => set!(d, get!(a).wrapping_rem(divisor)),
            },
            Insn::Mul { d, a, b } => set!(d, get!(a).wrapping_mul(get!(b))),
            Insn::Mulv { d, a, b } => exact!(d, get!(a).checked_mul(get!(b))),
            Insn::Shl { d, a, b } => set!(d, get!(a).wrapping_shl(get!(b) as u32 & 31)),
            Insn::Shr { d, a, b } => set!(d, get!(a).wrapping_shr(get!(b) as u32 & 31)),
            Insn::Neg { d, a } => set!(d, get!(a).wrapping_neg()),
            Insn::Not { d, a } => set!(d, !get!(a)),
            _ => {}
        }
        None
    }

    /// A variable of another process; 0 if there is no such process.
    fn remote(&self, own: &[i32], process: usize, number: i32, ty: u8, slot: u32) -> i32 {
        let Some(other) = usize::try_from(number).ok().and_then(|number| self.processes.get(number)) else { return 0 };
        if other.ty != ty {
            return 0;
        }
        if number as usize == process { own[slot as usize] } else { other.frame[slot as usize] }
    }

    /// Begins with one of several alternatives; the others are tried if it is impossible.
    fn choose(&mut self, path: &mut Path<'_>, pc: usize, count: u32) -> u32 {
        let mut starts = Vec::with_capacity(count as usize);
        let mut at = pc as u32;
        while let Insn::Either { to, .. } = self.code.insns[at as usize] {
            starts.push(at + 1);
            at = to;
        }
        starts.push(at);
        let first = path.chooser.alternative(path.process, count) as usize % starts.len();
        starts.rotate_left(first);
        let mark = self.log.len();
        path.untried.extend(starts[1..].iter().rev().map(|pc| Untried { pc: *pc, mark }));
        self.logging = true;
        starts[0]
    }
}
