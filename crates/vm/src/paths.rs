//! Internal transitions and the paths they form (sections 2 and 3 of `docs/bytecode.md`).
//!
//! The paths of a process from its location are enumerated depth first, in the order of I-NDET,
//! with an explicit stack of alternatives that are still to be tried. ELSE and UNLESS push a note
//! on that stack instead of an alternative: when everything above the note has been tried, the
//! number of paths that succeeded decides whether the alternative is taken.

use crate::log::{Event, Log};
use crate::memory::Memory;
use bytecode::{Addr, Fault, FaultKind, FieldMask, Mode, Op, REGISTERS, Receive, Slot, Type, Verified};
use contract::{Effort, Successor};

/// The circumstances of an activation.
#[derive(Clone, Copy, Default)]
pub(crate) struct Circumstances {
    /// The value of TIMEOUT (S-TIMEOUT).
    pub timeout: bool,
    /// Whether the step continues a deterministic sequence (S-DETERMINISTIC).
    pub deterministic: bool,
    /// Whether this is the evaluation of an ENABLED.
    pub enabled_query: bool,
    /// Whether the first path that succeeds is enough.
    pub first_only: bool,
}

/// How a path ended.
pub(crate) enum Ending {
    /// With a STEP of this mode, at this address.
    Step(Mode, Addr),
    /// The path ended with a fatal fault. Its `fault` is this one, or the fault it had before.
    Fault,
}

/// A path that ended.
pub(crate) struct Path<L> {
    pub process: usize,
    /// The number of its step, or of the sender's step if it answers an offer; see
    /// [`Successor::step`].
    pub step: u32,
    pub memory: Memory,
    pub ending: Ending,
    pub fault: Option<Fault>,
    pub log: L,
    /// The value of TIMEOUT on this path.
    pub timeout: bool,
}

/// An active process (M-ACTIVE).
#[derive(Clone)]
struct Active<L> {
    process: usize,
    pc: Addr,
    registers: [i32; REGISTERS],
    stack: Vec<i32>,
    memory: Memory,
    /// Whether it has received an offer on this path.
    answered: bool,
    fault: Option<Fault>,
    log: L,
    /// Instructions executed since the work was last counted.
    work: u64,
}

/// An alternative that is still to be tried.
enum Pending<L> {
    Alternative(Active<L>),
    IfNoneSucceeded(Active<L>, usize),
}

/// The result of an instruction.
enum Next {
    Continue,
    Jump(Addr),
    Also(Addr),
    Else(Addr),
    Unless(Addr),
    End(Mode),
    Blocked,
    /// A fault of this instruction.
    Fault(FaultKind),
    /// A fault of an instruction of a prologue.
    Raised(Fault),
}

/// Executes paths of a program's processes.
#[derive(Clone, Copy)]
pub(crate) struct Paths<'p> {
    program: &'p Verified,
    effort: &'p Effort,
}

impl<'p> Paths<'p> {
    pub fn new(program: &'p Verified, effort: &'p Effort) -> Self {
        Paths { program, effort }
    }

    /// The paths of `process` in `memory`, in order. A path that ends with an offer is replaced by
    /// the paths that answer it (S-RENDEZVOUS).
    pub fn of<L: Log>(&self, process: usize, memory: Memory, fault: Option<Fault>, log: &L, how: Circumstances) -> Vec<Path<L>> {
        let mut paths = Vec::new();
        self.enumerate(process, memory, fault, log, how, &mut paths);
        paths
    }

    /// Appends the paths of `process`. Returns how many of them succeeded (I-ELSE). If the step is
    /// abandoned, the list is incomplete.
    pub fn enumerate<L: Log>(
        &self,
        process: usize,
        memory: Memory,
        fault: Option<Fault>,
        log: &L,
        how: Circumstances,
        paths: &mut Vec<Path<L>>,
    ) -> usize {
        let Some(pc) = self.location(process, &memory) else { return 0 };
        let mut active =
            Active { process, pc, registers: [0; REGISTERS], stack: Vec::new(), memory, answered: false, fault, log: log.clone(), work: 0 };
        let mut pending = Vec::new();
        let mut succeeded = 0;
        // Copying the state for an alternative also counts as work.
        let copied = active.memory.bytes().len() as u64 / 64;
        loop {
            active.work = 0;
            let ended = self.execute(&mut active, how, &mut pending, succeeded);
            if self.effort.spend(active.work + copied) {
                return succeeded;
            }
            if let Some(path) = ended {
                let offered = path.memory.offer.is_some() && matches!(path.ending, Ending::Step(..));
                if offered {
                    let before = paths.len();
                    self.answers(&path, how, paths);
                    paths[before..].iter_mut().for_each(|answered| answered.step = path.step);
                    succeeded += usize::from(paths.len() > before);
                } else {
                    succeeded += 1;
                    paths.push(Path { timeout: how.timeout, ..path });
                }
                if how.first_only && succeeded > 0 {
                    return succeeded;
                }
            }
            active = loop {
                match pending.pop() {
                    Some(Pending::Alternative(active)) => break active,
                    Some(Pending::IfNoneSucceeded(active, before)) if succeeded == before => break active,
                    Some(_) => {}
                    None => return succeeded,
                }
            };
        }
    }

    /// The address of the control location of a process.
    pub fn location(&self, process: usize, memory: &Memory) -> Option<Addr> {
        let (ty, at) = memory.process(process)?;
        let location = self.program.layout().processes[ty.index()].location(&memory.bytes()[at..]);
        self.program.locations().address(ty, location)
    }

    /// Whether some path of `process` succeeds (I-ENABLED).
    pub fn enabled(&self, process: usize, memory: &Memory, timeout: bool) -> bool {
        let how = Circumstances { timeout, enabled_query: true, first_only: true, ..Circumstances::default() };
        let mut memory = memory.clone();
        memory.offer = None;
        self.enumerate(process, memory, None, &crate::log::Silent, how, &mut Vec::new()) > 0
    }

    /// The paths of other processes that receive the offer with which `offered` ended.
    fn answers<L: Log>(&self, offered: &Path<L>, how: Circumstances, paths: &mut Vec<Path<L>>) {
        if let Ending::Step(Mode::Deterministic, step) = offered.ending {
            let fault = offered.fault.or(Some(Fault { kind: FaultKind::Rendezvous, addr: step }));
            let memory = offered.memory.clone();
            paths.push(Path { memory, ending: Ending::Fault, fault, log: offered.log.clone(), ..*offered });
            return;
        }
        if let Ending::Step(Mode::Terminate, _) = offered.ending {
            return;
        }
        for other in (0..offered.memory.process_count()).filter(|&other| other != offered.process) {
            let how = Circumstances { enabled_query: how.enabled_query, ..Circumstances::default() };
            self.enumerate(other, offered.memory.clone(), offered.fault, &offered.log, how, paths);
        }
    }

    /// Executes one path to its end. The alternatives it passes are pushed to `pending`. `None` if
    /// the path is blocked.
    fn execute<L: Log>(&self, a: &mut Active<L>, how: Circumstances, pending: &mut Vec<Pending<L>>, succeeded: usize) -> Option<Path<L>> {
        loop {
            a.work += 1;
            match self.instruction(a, how) {
                Next::Continue => a.pc = a.pc.next(),
                Next::Jump(target) => a.pc = target,
                Next::Also(target) => {
                    pending.push(Pending::Alternative(Active { pc: target, ..a.clone() }));
                    a.pc = a.pc.next();
                }
                Next::Else(target) => {
                    pending.push(Pending::IfNoneSucceeded(Active { pc: target, ..a.clone() }, succeeded));
                    a.pc = a.pc.next();
                }
                Next::Unless(target) => {
                    pending.push(Pending::IfNoneSucceeded(Active { pc: a.pc.next(), ..a.clone() }, succeeded));
                    a.pc = target;
                }
                Next::End(mode) => return self.end(a, mode),
                Next::Blocked => return None,
                Next::Fault(kind) if !kind.is_fatal() => {
                    a.note(kind);
                    a.pc = a.pc.next();
                }
                Next::Fault(_) | Next::Raised(_) if a.answering() => return None,
                Next::Fault(kind) => {
                    let fault = Fault { kind, addr: a.pc };
                    return Some(a.fail(fault));
                }
                Next::Raised(fault) => return Some(a.fail(fault)),
            }
        }
    }

    /// E-STEP and E-TERM.
    fn end<L: Log>(&self, a: &mut Active<L>, mode: Mode) -> Option<Path<L>> {
        if a.answering() {
            return None; // Answering, but the offer was not received.
        }
        let (process, step) = (a.process, a.pc);
        if mode == Mode::Terminate {
            if process + 1 != a.memory.process_count() {
                return None;
            }
            a.memory.remove_last_process();
        } else {
            let (ty, at) = a.memory.process(process)?;
            let location = self.program.locations().after_step(step)?;
            self.program.layout().processes[ty.index()].set_location(&mut a.memory.bytes_mut()[at..], location);
        }
        if let Some(at) = self.program.layout().last
            && mode != Mode::Deterministic
        {
            a.memory.bytes_mut()[at] = process as u8;
        }
        a.log.event(|| Event::Step { process, step });
        Some(a.path(Ending::Step(mode, step), a.fault))
    }

    /// One instruction (section 3).
    fn instruction<L: Log>(&self, a: &mut Active<L>, how: Circumstances) -> Next {
        use FaultKind as F;
        let program = self.program.program();
        let layout = self.program.layout();
        let Some(op) = program.code.get(a.pc.index()) else { return Next::Blocked };
        match *op {
            Op::Ldc { value } => a.push(value),
            Op::Ldg { var } => a.push(a.memory.read(layout.globals[var.index()].ty, layout.globals[var.index()].offset)),
            Op::Stg { var } => {
                let value = a.pop();
                a.store(layout.globals[var.index()].ty, layout.globals[var.index()].offset, value);
            }
            Op::Ldgx { var } => return a.load_element(&layout.globals[var.index()], 0),
            Op::Stgx { var } => return a.store_element(&layout.globals[var.index()], 0),
            Op::Ldl { var } => {
                let (slot, base) = self.local(a, var.index());
                a.push(a.memory.read(slot.ty, base + slot.offset));
            }
            Op::Stl { var } => {
                let value = a.pop();
                let (slot, base) = self.local(a, var.index());
                a.store(slot.ty, base + slot.offset, value);
            }
            Op::Ldlx { var } => {
                let (slot, base) = self.local(a, var.index());
                return a.load_element(&slot, base);
            }
            Op::Stlx { var } => {
                let (slot, base) = self.local(a, var.index());
                return a.store_element(&slot, base);
            }
            Op::Ldr { var: (ty, var) } => {
                let number = a.pop();
                let slot = &layout.processes[ty.index()].locals[var.index()];
                let value = self.instance(a, number, ty).map_or(0, |at| a.memory.read(slot.ty, at + slot.offset));
                a.push(value);
            }
            Op::Ldrx { var: (ty, var) } => {
                let index = a.pop();
                let number = a.pop();
                let slot = &layout.processes[ty.index()].locals[var.index()];
                let Some(offset) = slot.element(index) else { return Next::Fault(F::Index) };
                let value = self.instance(a, number, ty).map_or(0, |at| a.memory.read(slot.ty, at + offset));
                a.push(value);
            }
            Op::Chk { length } => {
                let index = a.pop();
                a.push(index);
                if index < 0 || index as u32 >= length {
                    return Next::Fault(F::Index);
                }
            }
            Op::Push { reg } => a.push(a.registers[reg.index()]),
            Op::Pop { reg } => a.registers[reg.index()] = a.pop(),
            Op::Drop {} => _ = a.pop(),

            Op::Add {} => a.binary(i32::wrapping_add),
            Op::Sub {} => a.binary(i32::wrapping_sub),
            Op::Mul {} => a.binary(i32::wrapping_mul),
            Op::Addv {} => return a.fitting(i32::checked_add),
            Op::Subv {} => return a.fitting(i32::checked_sub),
            Op::Mulv {} => return a.fitting(i32::checked_mul),
            Op::Range { least, greatest } => {
                let value = a.pop();
                a.push(value);
                if !(least..=greatest).contains(&value) {
                    return Next::Fault(F::Overflow);
                }
            }
            Op::Div {} => return a.divide(i32::wrapping_div),
            Op::Mod {} => return a.divide(i32::wrapping_rem),
            Op::And {} => a.binary(|u, v| u & v),
            Op::Or {} => a.binary(|u, v| u | v),
            Op::Xor {} => a.binary(|u, v| u ^ v),
            Op::Shl {} => a.binary(|u, v| u.wrapping_shl(v as u32)),
            Op::Shr {} => a.binary(|u, v| u.wrapping_shr(v as u32)),
            Op::Neg {} => a.unary(i32::wrapping_neg),
            Op::Not {} => a.unary(|v| !v),
            Op::Lnot {} => a.unary(|v| (v == 0) as i32),
            Op::Eq {} => a.binary(|u, v| (u == v) as i32),
            Op::Ne {} => a.binary(|u, v| (u != v) as i32),
            Op::Lt {} => a.binary(|u, v| (u < v) as i32),
            Op::Le {} => a.binary(|u, v| (u <= v) as i32),
            Op::Gt {} => a.binary(|u, v| (u > v) as i32),
            Op::Ge {} => a.binary(|u, v| (u >= v) as i32),

            Op::Jmp { target } => return Next::Jump(target),
            Op::Jmpz { target } => {
                if a.pop() == 0 {
                    return Next::Jump(target);
                }
            }
            Op::Jmpnz { target } => {
                if a.pop() != 0 {
                    return Next::Jump(target);
                }
            }
            Op::Ndet { target } => return Next::Also(target),
            Op::Else { target } => return Next::Else(target),
            Op::Unless { target } => return Next::Unless(target),
            Op::Call { target } => {
                a.push(a.pc.next().0 as i32);
                return Next::Jump(target);
            }
            Op::Ret {} => return Next::Jump(Addr(a.pop() as u32)),
            Op::Step { mode } => return Next::End(mode),
            Op::Nex {} => return Next::Blocked,
            Op::Nexz {} => {
                if a.pop() == 0 {
                    return Next::Blocked;
                }
            }

            Op::Run { args, process } => {
                let args = a.pop_many(args as usize);
                let Some(number) = a.memory.create_process(self.program, process, &args) else {
                    return Next::Fault(F::TooManyProcesses);
                };
                let locals = &layout.processes[process.index()].locals;
                locals.iter().zip(&args).for_each(|(slot, &value)| a.tell_cut(slot.ty, value));
                match self.prologue(&mut a.memory, number, program.processes[process.index()].prologue, &mut a.log) {
                    Some(fault) if fault.kind.is_fatal() => return Next::Raised(fault),
                    noted => a.fault = a.fault.or(noted),
                }
                a.push(number as i32);
            }
            Op::Pid {} => a.push(a.process as i32),
            Op::Nrpr {} => a.push(a.memory.process_count() as i32),
            Op::Last {} => a.push(layout.last.map_or(0, |at| a.memory.bytes()[at] as i32)),
            Op::Enabled {} => {
                let number = a.pop();
                let asked = usize::try_from(number).ok().filter(|_| !how.enabled_query);
                let answer = asked.is_some_and(|p| self.enabled(p, &a.memory, how.timeout));
                a.push(answer as i32);
            }
            Op::Pcval {} => {
                let number = a.pop();
                let location = self.location_of(a, number).map_or(0, |(_, location)| location as i32);
                a.push(location);
            }
            Op::At { place: (ty, addr) } => {
                let number = a.pop();
                let wanted = program.follow_jumps(addr).and_then(|to| self.program.locations().at(ty, to));
                let there = self.location_of(a, number).is_some_and(|(t, l)| t == ty && wanted.is_some_and(|w| w.0 == l));
                a.push(there as i32);
            }
            Op::Timeout {} => a.push(how.timeout as i32),
            Op::Np {} => {
                let progress = |p| self.location(p, &a.memory).is_some_and(|at| program.label_kind_at(at).progress);
                let some = (0..a.memory.process_count()).any(progress);
                a.push(!some as i32);
            }
            Op::Getprio {} => {
                let number = a.pop();
                let priority = self.priority_of(a, number).map_or(0, |at| a.memory.bytes()[at] as i32);
                a.push(priority);
            }
            Op::Setprio {} => {
                let priority = a.pop();
                let number = a.pop();
                let Ok(priority @ 1..) = u8::try_from(priority) else { return Next::Fault(F::Priority) };
                if let Some(at) = self.priority_of(a, number) {
                    a.memory.bytes_mut()[at] = priority;
                }
            }

            Op::Chnew { ty } => {
                let Some(number) = a.memory.create_channel(layout, ty) else { return Next::Fault(F::TooManyChannels) };
                a.push(number);
            }
            Op::Send { fields } => return self.send(a, fields as usize, false, how),
            Op::Sends { fields } => return self.send(a, fields as usize, true, how),
            Op::Recv { fields, mask, how: receive } => return self.receive(a, fields as usize, mask, receive),
            Op::Poll { fields, mask, how: receive } => {
                let wanted = a.pop_many(mask.len());
                let channel = a.pop();
                let Some(target) = a.memory.channel(channel) else { return Next::Fault(F::Channel) };
                let carried = layout.channel_types[target.0.index()].fields.len();
                if fields as usize > carried && a.memory.channel_length(layout, target) > 0 {
                    return Next::Fault(F::Message);
                }
                let found = a.memory.find_message(layout, target, mask, &wanted, receive).is_some();
                a.push(found as i32);
            }
            Op::Len {} | Op::Empty {} | Op::Full {} => {
                let channel = a.pop();
                let Some(target) = a.memory.channel(channel) else { return Next::Fault(F::Channel) };
                let length = a.memory.channel_length(layout, target);
                let capacity = layout.channel_types[target.0.index()].capacity;
                a.push(match op {
                    Op::Len {} => length as i32,
                    Op::Empty {} => (length == 0) as i32,
                    _ => (capacity > 0 && length == capacity) as i32,
                });
            }
            Op::Xr {} => return self.claim(a, 0),
            Op::Xs {} => return self.claim(a, 1),

            Op::Assert {} => {
                if a.pop() == 0 {
                    return Next::Fault(F::Assertion);
                }
            }
            Op::Print { format, args } => {
                let values = a.pop_many(args as usize);
                let process = a.process;
                a.log.event(|| Event::Print { process, format, values });
            }
        }
        Next::Continue
    }

    /// The place of an own local, and the offset of the process it belongs to.
    fn local<L>(&self, a: &Active<L>, var: usize) -> (Slot, usize) {
        let missing = (Slot { offset: 0, ty: Type::Byte, elements: 0 }, 0);
        a.memory.process(a.process).map_or(missing, |(ty, at)| (self.program.layout().processes[ty.index()].locals[var], at))
    }

    /// The offset of process `number` if it exists and is of type `ty`.
    fn instance<L>(&self, a: &Active<L>, number: i32, ty: bytecode::ProcessId) -> Option<usize> {
        let (found, at) = a.memory.process(usize::try_from(number).ok()?)?;
        (found == ty).then_some(at)
    }

    /// Type and location number of process `number`.
    fn location_of<L>(&self, a: &Active<L>, number: i32) -> Option<(bytecode::ProcessId, u16)> {
        let (ty, at) = a.memory.process(usize::try_from(number).ok()?)?;
        Some((ty, self.program.layout().processes[ty.index()].location(&a.memory.bytes()[at..]).0))
    }

    /// The offset of the priority of process `number`.
    fn priority_of<L>(&self, a: &Active<L>, number: i32) -> Option<usize> {
        let (ty, at) = a.memory.process(usize::try_from(number).ok()?)?;
        Some(at + self.program.layout().processes[ty.index()].priority?)
    }

    /// Completes the initial values of a new process (I-RUN). Returns the fatal fault that ended
    /// it, or the first other fault.
    pub fn prologue<L: Log>(&self, memory: &mut Memory, process: usize, start: Option<Addr>, log: &mut L) -> Option<Fault> {
        let pc = start?;
        // RET at the end of the prologue finds this return address, which no instruction has.
        let outside = Addr(u32::MAX);
        let mut a = Active {
            process,
            pc,
            registers: [0; REGISTERS],
            stack: vec![outside.0 as i32],
            memory: std::mem::take(memory),
            answered: false,
            fault: None,
            log: std::mem::take(log),
            work: 0,
        };
        loop {
            match self.instruction(&mut a, Circumstances::default()) {
                Next::Continue => a.pc = a.pc.next(),
                Next::Jump(target) if target == outside => break,
                Next::Jump(target) => a.pc = target,
                Next::Fault(kind) if !kind.is_fatal() => {
                    a.note(kind);
                    a.pc = a.pc.next();
                }
                Next::Fault(kind) => {
                    a.fault = Some(Fault { kind, addr: a.pc });
                    break;
                }
                _ => break, // Nothing else occurs in a prologue (V-PROLOGUE).
            }
        }
        *memory = a.memory;
        *log = a.log;
        a.fault
    }

    /// The value of the atom whose code begins at `start` (P-ATOM). There is no active process, and
    /// no instruction of an atom needs one.
    pub fn value(&self, memory: &Memory, start: Addr, timeout: bool) -> Result<i32, Fault> {
        let how = Circumstances { timeout, ..Circumstances::default() };
        let mut memory = memory.clone();
        memory.offer = None;
        let mut a = Active {
            process: usize::MAX,
            pc: start,
            registers: [0; REGISTERS],
            stack: Vec::new(),
            memory,
            answered: false,
            fault: None,
            log: crate::log::Silent,
            work: 0,
        };
        loop {
            // RET at the end of an atom does not return: the value on the stack is the result.
            if let Some(Op::Ret {}) = self.program.program().code.get(a.pc.index()) {
                return Ok(a.pop());
            }
            match self.instruction(&mut a, how) {
                Next::Continue => a.pc = a.pc.next(),
                Next::Jump(target) => a.pc = target,
                Next::Fault(kind) => return Err(Fault { kind, addr: a.pc }),
                // Nothing else occurs in an atom (V-ATOM).
                _ => return Ok(0),
            }
        }
    }

    /// I-SEND and I-SENDS.
    fn send<L: Log>(&self, a: &mut Active<L>, fields: usize, sorted: bool, how: Circumstances) -> Next {
        let layout = self.program.layout();
        let message = a.pop_many(fields);
        let number = a.pop();
        let Some(target) = a.memory.channel(number) else { return Next::Fault(FaultKind::Channel) };
        let channel = &layout.channel_types[target.0.index()];
        let blocked = match channel.capacity {
            _ if a.answering() => true,
            0 => how.deterministic || a.answered || a.memory.offer.is_some(),
            capacity => a.memory.channel_length(layout, target) == capacity,
        };
        if channel.fields.len() != fields && !blocked {
            return Next::Fault(FaultKind::Message);
        }
        if self.claimed_by_other(a, channel.claims, target.1, 1) {
            a.note(FaultKind::ExclusiveSend);
        }
        if blocked {
            return Next::Blocked;
        }
        if channel.capacity == 0 {
            a.memory.make_offer(layout, a.process, number, target.0, &message);
        } else {
            a.memory.insert_message(layout, target, &message, sorted);
        }
        channel.fields.iter().zip(&message).for_each(|(field, &value)| a.tell_cut(field.ty, value));
        Next::Continue
    }

    /// I-RECV.
    fn receive<L: Log>(&self, a: &mut Active<L>, fields: usize, mask: FieldMask, how: Receive) -> Next {
        let layout = self.program.layout();
        let wanted = a.pop_many(mask.len());
        let number = a.pop();
        let Some(target) = a.memory.channel(number) else { return Next::Fault(FaultKind::Channel) };
        let channel = &layout.channel_types[target.0.index()];
        let offer = a.memory.offer.as_ref().filter(|offer| a.answering() && how.takes() && offer.channel == number);
        let found = match (channel.capacity, a.answering()) {
            (0, _) => offer.and_then(|offer| offer.received(mask, &wanted)).map(|message| (0, message)),
            (_, true) => None,
            _ => a.memory.find_message(layout, target, mask, &wanted, how),
        };
        let is_there = if channel.capacity == 0 { offer.is_some() } else { !a.answering() && a.memory.channel_length(layout, target) > 0 };
        let too_many = is_there && fields > channel.fields.len();
        let too_few = found.is_some() && how.takes() && fields < channel.fields.len();
        if too_many || too_few {
            // If the path was an offer, this process answers it.
            a.answered |= channel.capacity == 0;
            a.memory.offer = a.memory.offer.take().filter(|_| channel.capacity > 0);
            return Next::Fault(FaultKind::Message);
        }
        if self.claimed_by_other(a, channel.claims, target.1, 0) {
            a.note(FaultKind::ExclusiveReceive);
        }
        let Some((place, message)) = found else { return Next::Blocked };
        if channel.capacity == 0 {
            a.answered = true;
            a.memory.offer = None;
        } else if how.takes() {
            a.memory.remove_message(layout, target, place);
        }
        for (register, value) in a.registers[..fields].iter_mut().zip(message) {
            *register = value;
        }
        Next::Continue
    }

    /// I-CLAIM.
    fn claim<L: Log>(&self, a: &mut Active<L>, side: usize) -> Next {
        let number = a.pop();
        let Some((ty, at)) = a.memory.channel(number) else { return Next::Fault(FaultKind::Channel) };
        if let Some(claims) = self.program.layout().channel_types[ty.index()].claims {
            let place = at + claims + side;
            if a.memory.bytes()[place] == 0 {
                a.memory.bytes_mut()[place] = a.process as u8 + 1;
            }
        }
        Next::Continue
    }

    fn claimed_by_other<L>(&self, a: &Active<L>, claims: Option<usize>, channel: usize, side: usize) -> bool {
        let owner = claims.map_or(0, |claims| a.memory.bytes()[channel + claims + side] as usize);
        owner != 0 && owner != a.process + 1
    }
}

impl<L: Log> Active<L> {
    fn push(&mut self, value: i32) {
        self.stack.push(value);
    }

    /// The verifier has shown that there is a value (V-STACK).
    fn pop(&mut self) -> i32 {
        self.stack.pop().unwrap_or_default()
    }

    /// The top `count` values, the deepest first.
    fn pop_many(&mut self, count: usize) -> Vec<i32> {
        self.stack.split_off(self.stack.len().saturating_sub(count))
    }

    fn unary(&mut self, f: impl Fn(i32) -> i32) {
        let v = self.pop();
        self.push(f(v));
    }

    fn binary(&mut self, f: impl Fn(i32, i32) -> i32) {
        let v = self.pop();
        let u = self.pop();
        self.push(f(u, v));
    }

    /// I-OVERFLOW.
    fn fitting(&mut self, f: impl Fn(i32, i32) -> Option<i32>) -> Next {
        let v = self.pop();
        let u = self.pop();
        let Some(result) = f(u, v) else { return Next::Fault(FaultKind::Overflow) };
        self.push(result);
        Next::Continue
    }

    /// I-DIV.
    fn divide(&mut self, f: impl Fn(i32, i32) -> i32) -> Next {
        let v = self.pop();
        let u = self.pop();
        if v == 0 {
            return Next::Fault(FaultKind::Division);
        }
        self.push(f(u, v));
        Next::Continue
    }

    /// I-LDX.
    fn load_element(&mut self, slot: &Slot, base: usize) -> Next {
        let index = self.pop();
        let Some(offset) = slot.element(index) else { return Next::Fault(FaultKind::Index) };
        self.push(self.memory.read(slot.ty, base + offset));
        Next::Continue
    }

    /// I-STX. Stores a value truncated to its type, and records it if that changed the value.
    fn store(&mut self, ty: Type, at: usize, value: i32) {
        self.tell_cut(ty, value);
        self.memory.write(ty, at, value);
    }

    fn tell_cut(&mut self, ty: Type, value: i32) {
        let (at, stored) = (self.pc, ty.truncate(value));
        if stored != value {
            self.log.event(|| Event::Cut { at, value, stored });
        }
    }

    fn store_element(&mut self, slot: &Slot, base: usize) -> Next {
        let index = self.pop();
        let value = self.pop();
        let Some(offset) = slot.element(index) else { return Next::Fault(FaultKind::Index) };
        self.store(slot.ty, base + offset, value);
        Next::Continue
    }

    /// Whether an offer of another process has still to be received.
    fn answering(&self) -> bool {
        self.memory.offer.as_ref().is_some_and(|offer| offer.sender != self.process)
    }

    /// F-FATAL: the path ends here. F-CONTINUE: the fault of the transition is reported instead.
    fn fail(&mut self, fault: Fault) -> Path<L> {
        self.path(Ending::Fault, self.fault.or(Some(fault)))
    }

    /// The path that ends here and has no continuation.
    fn path(&mut self, ending: Ending, fault: Option<Fault>) -> Path<L> {
        let (memory, log) = (std::mem::take(&mut self.memory), std::mem::take(&mut self.log));
        let step = match ending {
            Ending::Step(_, addr) => addr.0,
            Ending::Fault => Successor::NO_STEP,
        };
        Path { process: self.process, step, memory, ending, fault, log, timeout: false }
    }

    /// F-CONTINUE: the first fault is kept.
    fn note(&mut self, kind: FaultKind) {
        self.fault = self.fault.or(Some(Fault { kind, addr: self.pc }));
    }
}
