//! The places where processes rest between actions, and what they wait for there.
//!
//! At a resting place every alternative may need a partner: it may be an *offer*, which sends on a
//! channel without room, or an *answer*, which receives from one. Such a place is found by
//! following the code to the first communication. The channel is a constant there. The first field
//! of the message, the *key*, is a variable that does not change while the process waits: LF's
//! channel number, or the number of the process that sent a request. So the processes that wait for
//! a message are found in a table, without executing them.

use crate::code::NotRunnable;
use crate::insn::{Code, Insn, Slot};
use crate::pairs::{self, Moves};
use bytecode::{Addr, Location, Mode, ProcessId, Verified};
use std::collections::{HashMap, HashSet};

/// The source of the key of a communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Slot(Slot),
    Global(u32),
    /// The number of the process itself.
    Own,
}

/// An alternative that needs a partner.
#[derive(Clone, Debug)]
pub(crate) struct Half {
    /// The beginning of its code.
    pub pc: u32,
    /// The machine's channel.
    pub channel: u32,
    pub key: Key,
    /// Whether it may be impossible when the partner is there, because it has a guard.
    pub may_fail: bool,
    /// Its moves, if it only moves values.
    pub moves: Option<Moves>,
    /// For a half that requests a message, or is requested for one: the half on the other side of
    /// the same place that has the same effect.
    pub twin: Option<usize>,
    /// Its number among all halves that offer.
    pub number: u32,
}

/// A resting place.
#[derive(Clone, Debug)]
pub(crate) enum Rest {
    /// The process can continue by itself.
    Go,
    /// The process needs a partner.
    Wait { offers: Vec<Half>, answers: Vec<Half> },
    /// The process can only end, and does so when it is the youngest.
    End,
}

/// A resting place and its code.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub rest: Rest,
    /// The beginning of its code.
    pub pc: u32,
    /// The channel and the key of the only message it waits for, if there is only one and no
    /// `SELECT` can receive what is offered here.
    pub single: Option<(u32, Key)>,
    /// Whether its step may be blocked after it has changed something.
    pub careful: bool,
    /// Whether the process continues by itself from here and cannot be blocked.
    pub plain: bool,
}

/// All resting places of a program.
pub(crate) struct Rests {
    /// The places of the first process type in the order of locations, then those of the next.
    pub places: Vec<Place>,
    /// The number of the first place of each process type.
    bases: Vec<u32>,
    /// For each channel, whether a process that offers nothing itself may answer on it, by
    /// `SELECT`.
    pub selectable: Vec<bool>,
    /// Whether a guard depends on more than the variables of its own process.
    pub restless: bool,
    /// The number of halves that offer.
    pub halves: u32,
}

struct Scan<'a> {
    code: &'a Code,
    verified: &'a Verified,
    /// The receives found so far.
    met: HashSet<u32>,
    restless: bool,
}

/// The kind of an alternative.
enum Found {
    Offer(Half),
    Answer(Half),
    Other,
}

impl Rests {
    pub fn of(code: &Code, verified: &Verified) -> Result<Rests, NotRunnable> {
        let mut scan = Scan { code, verified, met: HashSet::new(), restless: false };
        let program = verified.program();
        let mut selectable = vec![false; program.channels.len() + 1];
        let (mut places, mut bases) = (Vec::new(), Vec::new());
        let blocks = may_block(code);
        for ty in 0..program.processes.len() {
            let mut of_type = Vec::new();
            for addr in verified.locations().addresses(ProcessId(ty as u8)) {
                let pc = code.starts[addr.index()];
                let rest = scan.place(pc, ty)?;
                if let Rest::Wait { offers, answers } = &rest
                    && offers.is_empty()
                {
                    answers.iter().for_each(|answer| selectable[answer.channel as usize] = true);
                }
                let mut rest = rest;
                if let Rest::Wait { offers, answers } = &mut rest {
                    for half in offers.iter_mut().chain(answers) {
                        half.moves = pairs::moves(code, verified, ty, half);
                    }
                }
                let careful = blocks[pc as usize];
                let plain = matches!(rest, Rest::Go) && !careful;
                of_type.push(Place { rest, pc, careful, plain, single: None });
            }
            for number in 0..of_type.len() {
                for (asks, half, twin) in pairs::twins(code, &of_type, ty, &of_type[number]) {
                    if let Rest::Wait { offers, answers } = &mut of_type[number].rest {
                        (if asks { offers } else { answers })[half].twin = Some(twin);
                    }
                }
            }
            bases.push(places.len() as u32);
            places.append(&mut of_type);
        }
        for place in &mut places {
            if let Rest::Wait { offers, answers } = &place.rest
                && let [answer] = &answers[..]
                && !offers.iter().any(|offer| selectable[offer.channel as usize])
            {
                place.single = Some((answer.channel, answer.key));
            }
        }
        // A receive with which no resting place begins would be missed.
        for (pc, insn) in code.insns.iter().enumerate() {
            if matches!(insn, Insn::Receive { .. }) && !scan.met.contains(&(pc as u32)) {
                return Err(NotRunnable { addr: code.origins[pc], what: "a receive is not the first thing that its step does" });
            }
        }
        Ok(Rests { places, bases, selectable, restless: scan.restless, halves: 0 })
    }

    /// Records in the code where actions continue without a partner and without being blocked, and
    /// numbers the halves.
    pub fn link(&mut self, code: &mut Code) {
        code.begins = self.places.iter().filter(|place| place.plain).map(|place| place.pc).collect();
        for (ty, (start, end)) in code.ranges.iter().enumerate() {
            for insn in &mut code.insns[*start as usize..*end as usize] {
                if let Insn::Step { mode: Mode::Invisible, location, onward } = insn
                    && let Some(place) = self.places.get(self.number(ty as u8, *location) as usize)
                    && place.plain
                {
                    *onward = place.pc;
                }
            }
        }
        let mut halves = 0;
        for place in &mut self.places {
            if let Rest::Wait { offers, .. } = &mut place.rest {
                for half in offers {
                    half.number = halves;
                    halves += 1;
                }
            }
        }
        self.halves = halves;
    }

    /// The resting places of a process type.
    pub fn of_type(&self, ty: u8) -> &[Place] {
        let number = |ty: usize| self.bases.get(ty).map_or(self.places.len(), |base| *base as usize);
        self.places.get(number(ty.into())..number(usize::from(ty) + 1)).unwrap_or_default()
    }

    /// The number of a resting place.
    #[inline]
    pub fn number(&self, ty: u8, location: u16) -> u32 {
        self.bases[ty as usize] + u32::from(location)
    }
}

/// For each instruction, whether a path from there may be blocked. Backward jumps within a step are
/// rare, so a few passes from the end to the beginning are enough.
fn may_block(code: &Code) -> Vec<bool> {
    let mut blocks = vec![false; code.insns.len() + 1];
    loop {
        let mut changed = false;
        for (pc, insn) in code.insns.iter().enumerate().rev() {
            let now = match *insn {
                Insn::Step { .. } => false,
                Insn::Nex | Insn::Nexz { .. } | Insn::Send { .. } | Insn::Receive { .. } => true,
                Insn::Jump { to } | Insn::Else { to } => blocks[to as usize],
                Insn::JumpIf { to, .. } | Insn::Either { to, .. } => blocks[to as usize] || blocks[pc + 1],
                _ => blocks[pc + 1],
            };
            changed |= now != blocks[pc];
            blocks[pc] = now;
        }
        if !changed {
            return blocks;
        }
    }
}

/// The address at which a location begins.
pub(crate) fn address(verified: &Verified, ty: u8, location: u16) -> Addr {
    verified.locations().address(ProcessId(ty), Location(location)).unwrap_or_default()
}

impl Scan<'_> {
    fn place(&mut self, mut pc: u32, ty: usize) -> Result<Rest, NotRunnable> {
        if matches!(self.code.insns.get(pc as usize), Some(Insn::Step { mode: Mode::Terminate, .. })) {
            return Ok(Rest::End);
        }
        let (mut offers, mut answers, mut others) = (Vec::new(), Vec::new(), 0);
        loop {
            let next = match self.code.insns.get(pc as usize) {
                Some(Insn::Either { to, .. }) => Some(*to),
                _ => None,
            };
            match self.alternative(if next.is_some() { pc + 1 } else { pc }, ty)? {
                Found::Offer(offer) => offers.push(offer),
                Found::Answer(answer) => answers.push(answer),
                Found::Other => others += 1,
            }
            match next {
                Some(next) => pc = next,
                None => break,
            }
        }
        if others == 0 {
            return Ok(Rest::Wait { offers, answers });
        }
        match answers.first() {
            Some(answer) => Err(NotRunnable {
                addr: self.code.origins[answer.pc as usize],
                what: "a process waits for a partner where it can also go on by itself",
            }),
            None => Ok(Rest::Go),
        }
    }

    /// Follows an alternative up to the end of its step.
    fn alternative(&mut self, start: u32, ty: usize) -> Result<Found, NotRunnable> {
        let shape = &self.code.frames[ty];
        let mut sources: HashMap<Slot, Key> = HashMap::new();
        let mut found = Found::Other;
        let (mut may_fail, mut shared) = (false, false);
        let mut pc = start;
        let mut left = 100_000;
        let finish = |found: Found, may_fail: bool| match found {
            Found::Answer(half) => Found::Answer(Half { may_fail, ..half }),
            Found::Offer(half) => Found::Offer(Half { may_fail, ..half }),
            Found::Other => Found::Other,
        };
        loop {
            left -= 1;
            let Some(insn) = self.code.insns.get(pc as usize).filter(|_| left > 0) else { return Ok(finish(found, true)) };
            let source = |slot: Slot, sources: &HashMap<Slot, Key>| sources.get(&slot).copied().unwrap_or(Key::Slot(slot));
            match *insn {
                Insn::Move { d, a } => {
                    let from = source(a, &sources);
                    sources.insert(d, from);
                }
                Insn::LoadGlobal { d, var } => {
                    sources.insert(d, Key::Global(var));
                    shared = true;
                }
                Insn::Pid { d } => {
                    sources.insert(d, Key::Own);
                }
                Insn::LoadGlobalAt { .. } | Insn::LoadOf { .. } | Insn::LoadOfAt { .. } | Insn::Count { .. } | Insn::Len { .. } => {
                    shared = true
                }
                Insn::Send { first, .. } | Insn::Receive { first, .. } => {
                    let channel = match source(first, &sources) {
                        Key::Slot(slot) if self.is_constant(ty, slot) => shape.initial[slot as usize],
                        _ => {
                            return Err(NotRunnable {
                                addr: self.code.origins[pc as usize],
                                what: "a channel is not known before the run",
                            });
                        }
                    };
                    let Some(capacity) = self.capacity(channel) else {
                        return Err(NotRunnable { addr: self.code.origins[pc as usize], what: "a channel does not exist" });
                    };
                    let receives = matches!(insn, Insn::Receive { .. });
                    if receives {
                        self.met.insert(pc);
                    }
                    if capacity > 0 {
                        may_fail = true;
                        shared = true;
                    } else if matches!(found, Found::Other) {
                        let half = Half {
                            pc: start,
                            channel: channel as u32,
                            key: source(first + 1, &sources),
                            may_fail: false,
                            moves: None,
                            twin: None,
                            number: 0,
                        };
                        // A message may have values that do not match.
                        may_fail |= matches!(insn, Insn::Receive { mask, .. } if *mask != 1);
                        let keyed = !matches!(insn, Insn::Receive { mask, .. } if mask & 1 == 0);
                        if receives && !keyed {
                            return Err(NotRunnable { addr: self.code.origins[pc as usize], what: "a receive does not say from whom" });
                        }
                        // A guard sees the state after the communication; values read before it do
                        // not change.
                        shared = false;
                        found = if receives { Found::Answer(half) } else { Found::Offer(half) };
                    } else {
                        return Err(NotRunnable { addr: self.code.origins[pc as usize], what: "one step communicates twice" });
                    }
                }
                Insn::Step { .. } => {
                    self.restless |= may_fail && shared && matches!(found, Found::Answer(_));
                    return Ok(finish(found, may_fail));
                }
                Insn::Jump { to } => {
                    pc = to;
                    continue;
                }
                Insn::Nex => return Ok(finish(found, true)),
                Insn::Nexz { .. } => may_fail = true,
                Insn::JumpIf { .. } | Insn::Either { .. } | Insn::Else { .. } => {
                    // Any other instruction may fail, and may depend on anything.
                    if matches!(found, Found::Answer(_)) {
                        self.restless = true;
                    }
                    return Ok(finish(found, true));
                }
                _ => {}
            }
            pc += 1;
        }
    }

    fn is_constant(&self, ty: usize, slot: Slot) -> bool {
        self.code.frames[ty].is_constant(slot)
    }

    fn capacity(&self, channel: i32) -> Option<u8> {
        let program = self.verified.program();
        let channel = program.channels.get(usize::try_from(channel).ok()?.checked_sub(1)?)?;
        Some(program.channel_types[channel.ty.index()].capacity)
    }
}
