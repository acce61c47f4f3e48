//! Communications that need no instruction loop.
//!
//! Most halves of a communication only move values: they read the fields of a message from
//! variables, or store them in variables, and then reset the values that were kept while waiting.
//! Such a half is derived from the code once. Two of them make a communication of a few moves.
//!
//! A receiver that reaches a waiting sender requests the message and gets it with the reply, in two
//! communications of the machine (`crates/lf/src/codegen/communication.rs`). The result is the same
//! as if the sender offered the message itself, in one communication. If the code shows this, the
//! run time executes the single communication instead.

use crate::insn::{Code, Insn, Slot};
use crate::rests::{Half, Key, Place, Rest};
use bytecode::{Mode, Type, Verified};
use std::collections::HashMap;

/// The source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFrom {
    /// A field of the message.
    Field(u32),
    /// A value of the process itself.
    Own(Key),
}

/// The destination of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Slot(Slot),
    Global(u32),
}

/// A value that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Store {
    pub to: Target,
    pub ty: Type,
    pub from: ReadFrom,
}

/// A half that only moves values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moves {
    /// For an offer: the fields of the message, the key first.
    pub fields: Vec<(Key, Type)>,
    /// The values that are stored afterwards, in order.
    pub stores: Vec<Store>,
    /// The location of the process afterwards.
    pub location: u16,
    mode: Mode,
}

impl Moves {
    /// Whether the action can end with it.
    pub fn ends(&self) -> bool {
        self.mode == Mode::Normal
    }
}

/// The most fields of a message that is moved in this way.
pub(crate) const MOST: usize = 8;

/// Derives the moves of a half from the code, if it only moves values.
pub(crate) fn moves(code: &Code, verified: &Verified, ty: usize, half: &Half) -> Option<Moves> {
    let shape = &code.frames[ty];
    let mut sources: HashMap<Slot, ReadFrom> = HashMap::new();
    let (mut fields, mut stores) = (Vec::new(), Vec::new());
    let mut met = false;
    let mut pc = half.pc as usize;
    for _ in 0..200 {
        let source = |slot: Slot, sources: &HashMap<Slot, ReadFrom>| sources.get(&slot).copied().unwrap_or(ReadFrom::Own(Key::Slot(slot)));
        let readable = |from: &ReadFrom| match from {
            ReadFrom::Own(Key::Slot(slot)) => shape.is_variable(*slot) || shape.is_constant(*slot),
            _ => true,
        };
        let mut store = |to: Target, ty: Type, from: ReadFrom| {
            // A value that was moved before is a variable now; its source may have changed.
            let fresh =
                !matches!(from, ReadFrom::Own(Key::Slot(slot)) if stores.iter().any(|store: &Store| store.to == Target::Slot(slot)));
            let known =
                !matches!(from, ReadFrom::Own(Key::Global(var)) if stores.iter().any(|store: &Store| store.to == Target::Global(var)));
            stores.push(Store { to, ty, from });
            fresh && known && readable(&from)
        };
        match *code.insns.get(pc)? {
            Insn::Move { d, a } if shape.is_variable(d) => {
                if !met || !store(Target::Slot(d), Type::Int, source(a, &sources)) {
                    return None;
                }
            }
            Insn::Cut { d, a, ty } if shape.is_variable(d) => {
                if !met || !store(Target::Slot(d), ty, source(a, &sources)) {
                    return None;
                }
            }
            Insn::StoreGlobal { var, a } => {
                if !met || !store(Target::Global(var), Type::Int, source(a, &sources)) {
                    return None;
                }
            }
            Insn::CutGlobal { var, a, ty } => {
                if !met || !store(Target::Global(var), ty, source(a, &sources)) {
                    return None;
                }
            }
            Insn::Move { d, a } => {
                let from = source(a, &sources);
                sources.insert(d, from);
            }
            // After stores, a variable may have another value.
            Insn::LoadGlobal { d, var } if stores.is_empty() => {
                sources.insert(d, ReadFrom::Own(Key::Global(var)));
            }
            Insn::Pid { d } => {
                sources.insert(d, ReadFrom::Own(Key::Own));
            }
            Insn::Send { first, fields: count } if !met => {
                met = true;
                let channel = &verified.program().channels[half.channel as usize - 1];
                let types = &verified.program().channel_types[channel.ty.index()].fields;
                if types.len() != count as usize || types.len() > MOST {
                    return None;
                }
                for (number, field) in types.iter().enumerate() {
                    match source(first + 1 + number as Slot, &sources) {
                        from @ ReadFrom::Own(key) if readable(&from) => fields.push((key, field.ty)),
                        _ => return None,
                    }
                }
            }
            Insn::Receive { fields: count, mask: 1, .. } if !met => {
                met = true;
                if count as usize > MOST {
                    return None;
                }
                sources.extend((0..count).map(|field| (shape.registers + field, ReadFrom::Field(field))));
            }
            Insn::Jump { to } => {
                pc = to as usize;
                continue;
            }
            Insn::Step { mode, location, .. } if met => return Some(Moves { fields, stores, location, mode }),
            _ => return None,
        }
        pc += 1;
    }
    None
}

/// For the halves of a place that request a message, or are requested for one: the half of the same
/// place that has the same effect.
pub(crate) fn twins(code: &Code, places: &[Place], ty: usize, place: &Place) -> Vec<(bool, usize, usize)> {
    let Rest::Wait { offers, answers } = &place.rest else { return Vec::new() };
    let mut found = Vec::new();
    let only = |halves: &[Half]| if let [half] = halves { half.moves.clone() } else { None };
    for (number, ask) in offers.iter().enumerate() {
        // It sends a request, and then waits only for the reply.
        let Some(asking) = ask.moves.as_ref().filter(|asking| asking.mode == Mode::Invisible && asking.stores.is_empty()) else { continue };
        let Some(Rest::Wait { offers: none, answers: replies }) = places.get(asking.location as usize).map(|place| &place.rest) else {
            continue;
        };
        let Some(reply) = only(replies).filter(|_| none.is_empty()) else { continue };
        let same = |answer: &Half| answer.moves.as_ref().is_some_and(|moves| *moves == reply && moves.ends());
        found.extend(answers.iter().position(same).map(|answer| (true, number, answer)));
    }
    for (number, asked) in answers.iter().enumerate() {
        // It stores who requested, and then only sends the reply.
        let Some(noting) = asked.moves.as_ref().filter(|noting| noting.mode == Mode::Invisible) else { continue };
        let [Store { to: Target::Slot(partner), from: ReadFrom::Field(1), .. }] = noting.stores[..] else { continue };
        let Some(Rest::Wait { offers: replies, answers: none }) = places.get(noting.location as usize).map(|place| &place.rest) else {
            continue;
        };
        let Some(mut reply) = only(replies).filter(|_| none.is_empty()) else { continue };
        // Afterwards the stored number is reset, if it is used for nothing else.
        let zero = |store: &Store| {
            let constant = |slot: Slot| code.frames[ty].is_constant(slot) && code.frames[ty].initial[slot as usize] == 0;
            store.to == Target::Slot(partner) && matches!(store.from, ReadFrom::Own(Key::Slot(slot)) if constant(slot))
        };
        if !reply.stores.iter().any(zero) || !is_note(code, ty, partner) {
            continue;
        }
        reply.stores.retain(|store| !zero(store));
        let keyed = reply.fields.first().is_some_and(|(key, _)| *key == Key::Slot(partner));
        let same = |offer: &Half| {
            offer.moves.as_ref().is_some_and(|moves| {
                let fields = moves.fields.get(1..) == reply.fields.get(1..);
                keyed && fields && moves.stores == reply.stores && moves.location == reply.location && moves.ends() && reply.ends()
            })
        };
        found.extend(offers.iter().position(same).map(|offer| (false, number, offer)));
    }
    found
}

/// Whether a variable is initially 0 and is only set to the value of a register, or to 0.
fn is_note(code: &Code, ty: usize, note: Slot) -> bool {
    let shape = &code.frames[ty];
    let fine = |a: Slot| shape.is_register(a) || (shape.is_constant(a) && shape.initial[a as usize] == 0);
    let within = |array: u32| {
        let array = code.arrays[array as usize];
        (array.first..array.first + array.length).contains(&note)
    };
    let (start, end) = code.ranges[ty];
    shape.initial[note as usize] == 0
        && code.insns[start as usize..end as usize].iter().all(|insn| match *insn {
            Insn::Move { d, a } | Insn::Cut { d, a, .. } if d == note => fine(a),
            Insn::StoreAt { array, .. } => !within(array),
            ref other => crate::code::written(other) != Some(note),
        })
}

/// The combination of two halves that only move values.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    /// Whether the arriving process sends; otherwise the waiting one does.
    pub sends: bool,
    pub channel: u32,
    /// The key that the receiver waits for.
    pub wanted: Key,
    pub given: Moves,
    pub taken: Moves,
}

impl Transfer {
    /// The combination of a half with which a process reaches another one, and of the place where
    /// that one waits. `None` if more happens than moving values.
    pub fn of(half: &Half, own_answers: &[Half], partner: &Place) -> Option<Transfer> {
        let Rest::Wait { offers: theirs, answers: answering } = &partner.rest else { return None };
        let mut fitting = answering.iter().filter(|answer| answer.channel == half.channel);
        let (Some(answer), None) = (fitting.next(), fitting.next()) else { return None };
        // A process that requests a message gets it from the process that offers it.
        let (sends, offer, answer) = match (half.twin, answer.twin) {
            (Some(own), Some(other)) => (false, &theirs[other], &own_answers[own]),
            _ => (true, half, answer),
        };
        let (given, taken) = (offer.moves.clone()?, answer.moves.clone()?);
        let both_end = given.ends() && taken.ends();
        both_end.then_some(Transfer { sends, channel: offer.channel, wanted: answer.key, given, taken })
    }
}
