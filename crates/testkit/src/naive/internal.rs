//! Internal transitions with one successor (section 3 of `docs/bytecode.md`): one function for each
//! rule that needs more than a line.

use super::paths::{Active, Circumstances, Log, Offer, Stop};
use super::{Channel, Component, Mutant, Naive, Print, Process, Refusal, State};
use bytecode::{Fault, FaultKind, FieldMask, Op, Receive, Type};
use std::collections::VecDeque;

/// The largest number of processes, and of channels (rule M-LIMITS).
const LIMIT: usize = 255;

/// The element of an array at an index.
fn element(elements: &[i32], index: i32) -> Option<i32> {
    elements.get(usize::try_from(index).ok()?).copied()
}

impl Naive {
    /// Executes the instruction at `m`.
    pub(super) fn internal(&self, a: &mut Active, op: Op) -> Result<(), Stop> {
        self.spend(1)?;
        // The address at which the path continues, unless a rule says otherwise.
        let mut next = a.m + 1;
        match op {
            Op::Ldc { value } => a.push(if self.is(Mutant::ConstantsAreShort) { i32::from(value as i16) } else { value }),
            Op::Ldg { var } => {
                let value = element(&a.state.globals[var.index()], 0);
                a.push(value.unwrap_or(0));
            }
            Op::Ldl { var } => {
                let local = if self.is(Mutant::FirstLocalOnly) { 0 } else { var.index() };
                let value = element(self.own_local(a, local)?.1, 0);
                a.push(value.unwrap_or(0));
            }
            Op::Stg { .. } | Op::Stl { .. } => self.i_stv(a, op)?,
            Op::Ldgx { .. } | Op::Ldlx { .. } => self.i_ldx(a, op)?,
            Op::Stgx { .. } | Op::Stlx { .. } => self.i_stx(a, op)?,
            Op::Ldr { var } => self.i_ldr(a, var.0.index(), var.1.index(), false)?,
            Op::Ldrx { var } => self.i_ldr(a, var.0.index(), var.1.index(), true)?,
            Op::Chk { length } => {
                let top = a.pop()?;
                a.push(top);
                let bound = i64::from(length) + i64::from(self.is(Mutant::ChkAllowsTheLength));
                if !(0..bound).contains(&i64::from(top)) {
                    return a.fault(FaultKind::Index);
                }
            }
            Op::Push { reg } => {
                let register = self.register(reg.index());
                a.push(a.registers[register]);
                if self.is(Mutant::PushEmptiesTheRegister) {
                    a.registers[register] = 0;
                }
            }
            Op::Pop { reg } => {
                let value = a.pop()?;
                a.registers[self.register(reg.index())] = value;
                if self.is(Mutant::PopLeavesTheValue) {
                    a.push(value);
                }
            }
            Op::Drop {} => {
                let value = a.pop()?;
                if self.is(Mutant::DropTakesTheOneBelow) && !a.stack.is_empty() {
                    a.pop()?;
                    a.push(value);
                }
            }
            Op::Neg {} | Op::Not {} | Op::Lnot {} => {
                let v = a.pop()?;
                a.push(match op {
                    Op::Neg {} => v.wrapping_neg(),
                    Op::Not {} => !v,
                    _ if self.is(Mutant::LnotIsNot) => !v,
                    _ => i32::from(v == 0),
                });
            }
            Op::Addv {} | Op::Subv {} | Op::Mulv {} => self.i_overflow(a, op)?,
            Op::Range { least, greatest } => {
                let top = a.pop()?;
                a.push(top);
                let upper = i64::from(greatest) + i64::from(self.is(Mutant::RangeAllowsOneMore));
                if i64::from(top) < i64::from(least) || i64::from(top) > upper {
                    return a.fault(FaultKind::Overflow);
                }
            }
            Op::Div {} | Op::Mod {} => self.i_div(a, matches!(op, Op::Div {}))?,
            Op::Add {} | Op::Sub {} | Op::Mul {} | Op::And {} | Op::Or {} | Op::Xor {} => self.i_op(a, op)?,
            Op::Shl {} | Op::Shr {} => self.i_shift(a, matches!(op, Op::Shl {}))?,
            Op::Eq {} | Op::Ne {} | Op::Lt {} | Op::Le {} | Op::Gt {} | Op::Ge {} => self.i_cmp(a, op)?,
            Op::Jmp { target } => {
                if !self.is(Mutant::JmpFallsThrough) {
                    next = target.index();
                }
            }
            Op::Jmpz { target } => {
                if (a.pop()? == 0) != self.is(Mutant::JmpzIsJmpnz) {
                    next = target.index();
                }
            }
            Op::Jmpnz { target } => {
                if a.pop()? != 0 {
                    next = target.index();
                }
            }
            Op::Call { target } => {
                a.push(a.m as i32 + if self.is(Mutant::CallSkipsOne) { 2 } else { 1 });
                next = target.index();
            }
            Op::Ret {} => {
                let address = a.pop()?;
                let Ok(address) = usize::try_from(address) else { return a.malformed() };
                next = if self.is(Mutant::RetFallsThrough) { next } else { address };
            }
            Op::Nex {} if self.is(Mutant::NexGoesOn) => {}
            Op::Nex {} => return Err(Stop::Blocked),
            Op::Nexz {} => {
                if (a.pop()? == 0) != self.is(Mutant::NexzBackwards) {
                    return Err(Stop::Blocked);
                }
            }
            Op::Run { args, process } => self.i_run(a, args as usize, process.index())?,
            Op::Pid {} => a.push(a.p as i32 + i32::from(self.is(Mutant::PidFromOne))),
            Op::Nrpr {} => a.push(a.state.process_count() as i32 - i32::from(self.is(Mutant::NrprWithoutSelf))),
            Op::Last {} => a.push(a.state.last as i32),
            Op::Enabled {} => self.i_enabled(a)?,
            Op::Pcval {} => {
                let number = a.pop()?;
                let process = a.state.process(number);
                let value =
                    process.map_or(0, |p| if self.is(Mutant::PcvalIsTheAddress) { self.locations[p.ty][p.location] } else { p.location });
                a.push(value as i32);
            }
            Op::At { place } => {
                let number = a.pop()?;
                let wanted = self.location_at(place.0.index(), place.1.index());
                let right_type = |p: &&Process| p.ty == place.0.index() || self.is(Mutant::AtIgnoresTheType);
                let there = a.state.process(number).filter(right_type).is_some_and(|p| Some(p.location) == wanted);
                a.push(i32::from(there));
            }
            Op::Timeout {} => a.push(i32::from(a.how.timeout && !self.is(Mutant::NeverTimeout))),
            Op::Np {} => a.push(self.i_np(&a.state)),
            Op::Getprio {} => {
                let number = a.pop()?;
                let none = i32::from(self.is(Mutant::PriorityOfNobody));
                let priority = a.state.process(number).map_or(none, |process| i32::from(process.priority));
                a.push(priority);
            }
            Op::Setprio {} => self.i_setprio(a)?,
            Op::Chnew { ty } => self.i_chnew(a, ty.index())?,
            Op::Send { fields } => self.i_send(a, fields as usize, false)?,
            Op::Sends { fields } => self.i_send(a, fields as usize, true)?,
            Op::Recv { fields, mask, how } => self.i_recv(a, fields as usize, mask, how)?,
            Op::Poll { fields, mask, how } => self.i_poll(a, fields as usize, mask, how)?,
            Op::Len {} | Op::Empty {} | Op::Full {} => self.i_len(a, op)?,
            Op::Xr {} | Op::Xs {} => self.i_claim(a, matches!(op, Op::Xr {}))?,
            Op::Assert {} => {
                if a.pop()? == 0 {
                    self.f_continue(a, FaultKind::Assertion)?;
                }
            }
            Op::Print { format, args } => {
                let values = a.pop_many(args as usize)?;
                a.log.prints.push(Print { process: a.p, format, values: values.clone() });
                if self.is(Mutant::PrintLeavesAValue) {
                    values.first().into_iter().for_each(|&value| a.push(value));
                }
            }
            Op::Ndet { .. } | Op::Else { .. } | Op::Unless { .. } | Op::Step { .. } => return a.malformed(),
        }
        a.m = next;
        Ok(())
    }

    fn register(&self, register: usize) -> usize {
        if self.is(Mutant::SixteenRegisters) { register % 16 } else { register }
    }

    /// **F-CONTINUE**: the path continues, and the transition carries its first such fault.
    fn f_continue(&self, a: &mut Active, kind: FaultKind) -> Result<(), Stop> {
        let fault = Fault { kind, addr: a.addr() };
        if self.is(Mutant::AssertionsAreFatal) {
            return Err(Stop::Fault(fault));
        }
        if a.log.carried.is_none() || self.is(Mutant::LastFaultIsCarried) {
            a.log.carried = Some(fault);
        }
        Ok(())
    }

    /// A local of the active process: its type and its elements.
    fn own_local<'a>(&self, a: &'a mut Active, local: usize) -> Result<(Type, &'a mut Vec<i32>), Stop> {
        let (p, addr) = (a.p as i32, a.addr());
        let found = a.state.process_mut(p).and_then(|process| {
            let declared = self.program.processes[process.ty].locals.get(local)?;
            Some((declared.ty, &mut process.locals[local]))
        });
        found.ok_or(Stop::Refused(Refusal::Malformed(addr)))
    }

    /// **I-STV**.
    fn i_stv(&self, a: &mut Active, op: Op) -> Result<(), Stop> {
        let value = a.pop()?;
        let (ty, place) = match op {
            Op::Stg { var } => (self.program.globals[var.index()].ty, &mut a.state.globals[var.index()]),
            Op::Stl { var } => self.own_local(a, var.index())?,
            _ => return a.malformed(),
        };
        place[0] = if self.is(Mutant::StoresWithoutTruncating) { value } else { self.m_value(ty, value) };
        Ok(())
    }

    /// **I-LDX**.
    fn i_ldx(&self, a: &mut Active, op: Op) -> Result<(), Stop> {
        let index = a.pop()?;
        let array = match op {
            Op::Ldgx { var } => &a.state.globals[var.index()],
            Op::Ldlx { var } => &*self.own_local(a, var.index())?.1,
            _ => return a.malformed(),
        };
        let wrapped = index.rem_euclid(array.len() as i32);
        match element(array, if self.is(Mutant::IndexWraps) { wrapped } else { index }) {
            Some(value) => a.push(value),
            None => return a.fault(FaultKind::Index),
        }
        Ok(())
    }

    /// **I-STX**.
    fn i_stx(&self, a: &mut Active, op: Op) -> Result<(), Stop> {
        let (mut index, mut value) = (a.pop()?, a.pop()?);
        if self.is(Mutant::StxTakesTheValueFirst) {
            std::mem::swap(&mut index, &mut value);
        }
        let (ty, array) = match op {
            Op::Stgx { var } => (self.program.globals[var.index()].ty, &mut a.state.globals[var.index()]),
            Op::Stlx { var } => self.own_local(a, var.index())?,
            _ => return a.malformed(),
        };
        match usize::try_from(index).ok().and_then(|index| array.get_mut(index)) {
            Some(place) => *place = self.m_value(ty, value),
            None => return a.fault(FaultKind::Index),
        }
        Ok(())
    }

    /// **I-LDR**.
    fn i_ldr(&self, a: &mut Active, ty: usize, local: usize, indexed: bool) -> Result<(), Stop> {
        let index = if indexed { a.pop()? } else { 0 };
        let number = a.pop()?;
        let length = self.program.processes[ty].locals[local].length.unwrap_or(1);
        let unchecked = self.is(Mutant::RemoteIndexUnchecked) && a.state.process(number).is_none();
        if !unchecked && !(0..i64::from(length)).contains(&i64::from(index)) {
            return a.fault(FaultKind::Index);
        }
        let right_type = |p: &&Process| p.ty == ty || self.is(Mutant::RemoteIgnoresTheType);
        let value = a.state.process(number).filter(right_type).and_then(|p| element(p.locals.get(local)?, index));
        a.push(value.unwrap_or(0));
        Ok(())
    }

    /// **I-OP**, the operators with two operands.
    fn i_op(&self, a: &mut Active, op: Op) -> Result<(), Stop> {
        let (v, u) = (a.pop()?, a.pop()?);
        a.push(match op {
            Op::Add {} if self.is(Mutant::AddSaturates) => u.saturating_add(v),
            Op::Add {} => u.wrapping_add(v),
            Op::Sub {} if self.is(Mutant::SubBackwards) => v.wrapping_sub(u),
            Op::Sub {} => u.wrapping_sub(v),
            Op::Mul {} => u.wrapping_mul(v),
            Op::And {} => u & v,
            Op::Or {} => u | v,
            Op::Xor {} => u ^ v,
            _ => return a.malformed(),
        });
        Ok(())
    }

    /// **I-OVERFLOW**.
    fn i_overflow(&self, a: &mut Active, op: Op) -> Result<(), Stop> {
        let (v, u) = (i64::from(a.pop()?), i64::from(a.pop()?));
        let result = match op {
            Op::Addv {} => u + v,
            Op::Subv {} => u - v,
            _ => u * v,
        };
        // A result of 33 bits does not have the value of its low 32 bits.
        if i64::from(result as i32) != result && !self.is(Mutant::OverflowWraps) {
            return a.fault(FaultKind::Overflow);
        }
        a.push(result as i32);
        Ok(())
    }

    /// **I-DIV**.
    fn i_div(&self, a: &mut Active, quotient: bool) -> Result<(), Stop> {
        let (v, u) = (i64::from(a.pop()?), i64::from(a.pop()?));
        if v == 0 {
            return a.fault(FaultKind::Division);
        }
        // Rust's division of the wider type rounds towards zero, and its remainder has the sign of
        // u. The quotient of the least integer by -1 exceeds the greatest integer by one and wraps
        // to the least integer.
        let result = match (quotient, self.is(Mutant::DivisionRoundsDown)) {
            (true, false) => u / v,
            (false, false) => u % v,
            (true, true) => u.div_euclid(v),
            (false, true) => u.rem_euclid(v),
        };
        a.push(result as i32);
        Ok(())
    }

    /// **I-SHIFT**.
    fn i_shift(&self, a: &mut Active, left: bool) -> Result<(), Stop> {
        let (v, u) = (a.pop()?, a.pop()?);
        let by = v & 31;
        a.push(match left {
            true if self.is(Mutant::WideShiftsGiveZero) && v > 31 => 0,
            true => ((i64::from(u)) << by) as i32,
            false if self.is(Mutant::ShrForgetsTheSign) => ((u as u32) >> by) as i32,
            false => u >> by,
        });
        Ok(())
    }

    /// **I-CMP**.
    fn i_cmp(&self, a: &mut Active, op: Op) -> Result<(), Stop> {
        let (v, u) = (a.pop()?, a.pop()?);
        a.push(i32::from(match op {
            Op::Eq {} => u == v,
            Op::Ne {} => u != v,
            Op::Lt {} if self.is(Mutant::ComparesUnsigned) => (u as u32) < v as u32,
            Op::Lt {} => u < v,
            Op::Le {} => u <= v,
            Op::Gt {} => u > v,
            Op::Ge {} => u >= v,
            _ => return a.malformed(),
        }));
        Ok(())
    }

    /// **I-RUN**.
    fn i_run(&self, a: &mut Active, count: usize, ty: usize) -> Result<(), Stop> {
        let mut parameters = a.pop_many(count)?;
        if self.is(Mutant::ParametersBackwards) {
            parameters.reverse();
        }
        let limit = if self.is(Mutant::OneMoreOrLess) { LIMIT - 1 } else { LIMIT };
        if a.state.process_count() >= limit {
            return a.fault(FaultKind::TooManyProcesses);
        }
        let number = self.append(&mut a.state, ty, &parameters);
        self.prologue(a, number)?;
        a.push(number as i32);
        Ok(())
    }

    /// Appends a process and returns its number.
    fn append(&self, state: &mut State, ty: usize, parameters: &[i32]) -> usize {
        let shape = &self.program.processes[ty];
        let mut locals: Vec<Vec<i32>> = shape.locals.iter().map(|local| self.initial_values(local)).collect();
        for (i, &value) in parameters.iter().enumerate() {
            locals[i] = vec![self.m_value(shape.locals[i].ty, value)];
        }
        let location = self.location_at(ty, shape.entry.index()).unwrap_or(0);
        state.created.push(Component::Process(Process { ty, location, priority: shape.priority, locals }));
        state.process_count() - 1
    }

    /// Executes the prologue of the newest process as that process, within the step of `a`.
    fn prologue(&self, a: &mut Active, number: usize) -> Result<(), Stop> {
        let ty = a.state.process(number as i32).map_or(0, |process| process.ty);
        let Some(start) = self.program.processes[ty].prologue else { return Ok(()) };
        if self.is(Mutant::NoPrologue) {
            return Ok(());
        }
        let how = Circumstances { log: a.log.clone(), answers: None, timeout: false, ..a.how.clone() };
        let mut new = self.a_act(a.state.clone(), number, how);
        new.m = start.index();
        while !(matches!(self.program.code.get(new.m), Some(Op::Ret {})) && new.stack.is_empty()) {
            let Some(&op) = self.program.code.get(new.m) else { return new.malformed() };
            self.internal(&mut new, op)?;
        }
        a.state = new.state;
        a.log = new.log;
        Ok(())
    }

    /// A process of the instance list, created as by I-RUN with parameters 0.
    pub(super) fn create_instance(&self, mut state: State, ty: usize, log: Log) -> Result<(State, Log), Stop> {
        let parameters = vec![0; usize::from(self.program.processes[ty].params)];
        let number = self.append(&mut state, ty, &parameters);
        let mut a = self.a_act(state, number, Circumstances { log, ..Circumstances::default() });
        self.prologue(&mut a, number)?;
        Ok((a.state, a.log))
    }

    /// **I-ENABLED**.
    fn i_enabled(&self, a: &mut Active) -> Result<(), Stop> {
        let number = a.pop()?;
        let timeout = a.how.timeout && !self.is(Mutant::EnabledNeverTimesOut);
        let within = a.how.within_enabled && !self.is(Mutant::EnabledNests);
        let enabled = !within && a.state.process(number).is_some() && self.is_enabled(&a.state, number as usize, timeout)?;
        a.push(i32::from(enabled));
        Ok(())
    }

    /// Whether some path of a process succeeds.
    pub(super) fn is_enabled(&self, state: &State, p: usize, timeout: bool) -> Result<bool, Refusal> {
        let how = Circumstances { timeout, within_enabled: true, ..Circumstances::default() };
        let paths = self.paths_of(state, p, how.clone())?;
        self.some_succeeds(p, &paths, &how)
    }

    /// **I-NP**.
    fn i_np(&self, state: &State) -> i32 {
        let progress = state.processes().any(|process| {
            let at = self.locations[process.ty][process.location];
            self.program.labels.iter().any(|label| label.kind.progress && label.addr.index() == at)
        });
        i32::from(progress == self.is(Mutant::NpBackwards))
    }

    /// **I-PRIO**, the setting.
    fn i_setprio(&self, a: &mut Active) -> Result<(), Stop> {
        let (priority, number) = (a.pop()?, a.pop()?);
        let least = if self.is(Mutant::PriorityZero) { 0 } else { 1 };
        match u8::try_from(priority) {
            Ok(priority) if priority >= least => {
                if let Some(process) = a.state.process_mut(number) {
                    process.priority = priority;
                }
                Ok(())
            }
            _ => a.fault(FaultKind::Priority),
        }
    }

    /// **I-CHNEW**.
    fn i_chnew(&self, a: &mut Active, ty: usize) -> Result<(), Stop> {
        if a.state.all_channels().count() >= LIMIT {
            return a.fault(FaultKind::TooManyChannels);
        }
        a.state.created.push(Component::Channel(Channel { ty, receiver: None, sender: None, messages: VecDeque::new() }));
        let number = a.state.all_channels().count() as i32;
        a.push(number - i32::from(self.is(Mutant::ChannelsFromZero)));
        Ok(())
    }

    /// Pops a channel's number; faults unless it names a channel.
    fn channel(&self, a: &mut Active) -> Result<(i32, Channel), Stop> {
        let number = a.pop()?;
        match a.state.channel(number) {
            Some(channel) => Ok((number, channel.clone())),
            None => a.fault(FaultKind::Channel),
        }
    }

    /// Raises a fault if an operation that can happen has another number of fields than the
    /// channel's messages.
    fn count_fields(&self, a: &mut Active, wrong: bool) -> Result<(), Stop> {
        if wrong && !self.is(Mutant::FieldsUncounted) { a.fault(FaultKind::Message) } else { Ok(()) }
    }

    /// **I-SEND** and **I-SENDS**.
    fn i_send(&self, a: &mut Active, fields: usize, sorted: bool) -> Result<(), Stop> {
        let values = a.pop_many(fields)?;
        let (number, channel) = self.channel(a)?;
        let ty = &self.program.channel_types[channel.ty];
        let answers = a.how.answers.is_some();
        let deterministic = a.how.continues_deterministic && !self.is(Mutant::DeterministicOffers);
        let blocked = (answers && !a.received && !self.is(Mutant::AnswersMaySend))
            || match ty.capacity {
                0 => a.offer.is_some() || deterministic || (answers && !self.is(Mutant::AnswersMayOffer)),
                capacity => channel.messages.len() == usize::from(capacity) && !self.is(Mutant::FullChannelsLose),
            };
        self.count_fields(a, !blocked && ty.fields.len() != fields)?;
        if channel.sender.is_some_and(|sender| sender != a.p) && !self.is(Mutant::ClaimsUnchecked) {
            self.f_continue(a, FaultKind::ExclusiveSend)?;
        }
        if blocked {
            return Err(Stop::Blocked);
        }
        let message: Vec<i32> = values.iter().zip(&ty.fields).map(|(&value, field)| self.m_value(field.ty, value)).collect();
        if ty.capacity == 0 {
            a.offer = Some(Offer { channel: number, message });
            return Ok(());
        }
        if channel.messages.len() == usize::from(ty.capacity) {
            return Ok(());
        }
        let messages = &mut a.state.channel_mut(number).expect("it exists").messages;
        let larger = |other: &Vec<i32>| if self.is(Mutant::EqualIsLarger) { *other >= message } else { *other > message };
        let place = if sorted { messages.iter().position(larger) } else { None };
        messages.insert(place.unwrap_or(messages.len()), message);
        Ok(())
    }

    /// Pops the values of the fields in a mask, and returns a test for messages.
    fn pattern(&self, a: &mut Active, fields: usize, mask: FieldMask) -> Result<impl Fn(&Vec<i32>) -> bool + use<>, Stop> {
        let masked: Vec<usize> = (0..fields).filter(|&field| mask.contains(field)).collect();
        let values = a.pop_many(masked.len())?;
        Ok(move |message: &Vec<i32>| masked.iter().zip(&values).all(|(&field, value)| message.get(field) == Some(value)))
    }

    /// The position of the message that a receive takes, if one matches.
    fn selected(&self, channel: &Channel, matches: impl Fn(&Vec<i32>) -> bool, how: Receive) -> Option<usize> {
        match how {
            Receive::First | Receive::PeekFirst => channel.messages.front().filter(|message| matches(message)).map(|_| 0),
            Receive::Any | Receive::PeekAny if self.is(Mutant::AnyTakesTheNewest) => channel.messages.iter().rposition(matches),
            Receive::Any | Receive::PeekAny => channel.messages.iter().position(matches),
        }
    }

    /// **I-RECV**.
    fn i_recv(&self, a: &mut Active, fields: usize, mask: FieldMask, how: Receive) -> Result<(), Stop> {
        let matches = self.pattern(a, fields, mask)?;
        let (number, channel) = self.channel(a)?;
        let carried = self.program.channel_types[channel.ty].fields.len();
        let takes = matches!(how, Receive::First | Receive::Any);
        let answered = a.how.answers.clone().filter(|_| !a.received);
        let offered = answered.as_ref().filter(|offer| offer.channel == number);
        let elsewhere = answered.is_some() && offered.is_none() && !self.is(Mutant::AnswersReceiveElsewhere);
        let (is_there, message, place) = match offered {
            Some(offer) => {
                let possible = takes || self.is(Mutant::PeeksReceiveOffers);
                (possible, Some(offer.message.clone()).filter(|message| possible && matches(message)), None)
            }
            None if elsewhere => (false, None, None),
            None => {
                let place = self.selected(&channel, matches, how);
                (!channel.messages.is_empty(), place.map(|place| channel.messages[place].clone()), place)
            }
        };
        let wrong = (is_there && fields > carried) || (message.is_some() && takes && fields < carried);
        a.received |= wrong && offered.is_some();
        self.count_fields(a, wrong)?;
        if channel.receiver.is_some_and(|receiver| receiver != a.p) && !self.is(Mutant::ClaimsUnchecked) {
            self.f_continue(a, FaultKind::ExclusiveReceive)?;
        }
        let Some(message) = message else { return Err(Stop::Blocked) };
        a.received |= offered.is_some();
        if let Some(place) = place.filter(|_| takes || self.is(Mutant::PeeksTake)) {
            a.state.channel_mut(number).expect("it exists").messages.remove(place);
        }
        for (i, value) in message.into_iter().take(fields).enumerate() {
            let register = self.register(i);
            a.registers[register] = value;
        }
        Ok(())
    }

    /// **I-POLL**.
    fn i_poll(&self, a: &mut Active, fields: usize, mask: FieldMask, how: Receive) -> Result<(), Stop> {
        let matches = self.pattern(a, fields, mask)?;
        let (_, channel) = self.channel(a)?;
        let carried = self.program.channel_types[channel.ty].fields.len();
        self.count_fields(a, !channel.messages.is_empty() && fields > carried)?;
        let offered = self.is(Mutant::PollSeesOffers) && a.how.answers.as_ref().is_some_and(|offer| matches(&offer.message));
        let how = if self.is(Mutant::PollSearches) { Receive::Any } else { how };
        a.push(i32::from(offered || self.selected(&channel, matches, how).is_some()));
        Ok(())
    }

    /// **I-LEN**.
    fn i_len(&self, a: &mut Active, op: Op) -> Result<(), Stop> {
        let (number, channel) = self.channel(a)?;
        let capacity = usize::from(self.program.channel_types[channel.ty].capacity);
        let mut length = channel.messages.len();
        if self.is(Mutant::OffersHaveLength) && a.offer.as_ref().is_some_and(|offer| offer.channel == number) {
            length += 1;
        }
        a.push(match op {
            Op::Len {} => length as i32,
            Op::Empty {} => i32::from(length == 0),
            _ => i32::from(length == capacity && (capacity != 0 || self.is(Mutant::RendezvousIsFull))),
        });
        Ok(())
    }

    /// **I-CLAIM**.
    fn i_claim(&self, a: &mut Active, receive: bool) -> Result<(), Stop> {
        let (number, _) = self.channel(a)?;
        let p = a.p;
        let channel = a.state.channel_mut(number).expect("it exists");
        let claim = if receive { &mut channel.receiver } else { &mut channel.sender };
        if claim.is_none() || self.is(Mutant::LaterClaimsWin) {
            *claim = Some(p);
        }
        Ok(())
    }
}
