//! The values in a state, under the names the user gave them.
//!
//! Values become text only here, so that a symbolic name, a truth value or a channel looks the same
//! in a trace, in a simulation and in a report.

use bytecode::{Component, LayoutError, Program, Shape, Shown, Slot, StateMap, Type, Variable, Verified};
use contract::Position;
use std::collections::HashMap;
use std::fmt;

/// The text of a longer array, or of a longer queue, is cut, and says how much is missing.
const SHOWN_MAX: usize = 64;

/// A value in a state, with its structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Datum {
    /// A number.
    Number(i64),
    /// A truth value.
    Truth(bool),
    /// A symbolic name, the name of a channel, or a text.
    Text(String),
    /// The elements of an array, or the messages of a queue, oldest first.
    List(Vec<Datum>),
    /// The fields of a message that has several.
    Fields(Vec<Datum>),
}

/// All elements of an array or a queue whose text is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Long {
    /// Its name among [`View::values`].
    pub name: String,
    /// Its elements.
    pub elements: Elements,
}

/// The elements of an array or a queue that is too long to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elements {
    /// The elements of an array of numbers, as they are stored.
    Numbers(Type, Vec<u8>),
    /// The elements of an array whose values have names.
    Words(Vec<String>),
    /// The messages of a queue, as they are stored.
    Messages(Vec<u8>),
}

impl Elements {
    /// The elements of an array that are not shown and differ from those in an earlier state: their
    /// indices and values.
    fn hidden_changes(&self, earlier: &Elements) -> Vec<(usize, String)> {
        match (self, earlier) {
            (Elements::Numbers(ty, now), Elements::Numbers(_, before)) => {
                let width = ty.width().max(1);
                let pairs = now.chunks_exact(width).zip(before.chunks_exact(width)).enumerate().skip(SHOWN_MAX);
                let changed = pairs.filter(|(_, (now, before))| now != before);
                changed.map(|(index, (now, _))| (index, number(*ty, ty.read(now)).to_string())).collect()
            }
            (Elements::Words(now), Elements::Words(before)) => {
                let changed = now.iter().zip(before).enumerate().skip(SHOWN_MAX).filter(|(_, (now, before))| now != before);
                changed.map(|(index, (now, _))| (index, now.clone())).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// A name and the text of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A process in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessView {
    /// Its number.
    pub pid: usize,
    /// The name of its type.
    pub name: String,
    /// The position at which it continues, if known.
    pub position: Option<Position>,
    /// The statement at which it will continue.
    pub statement: String,
    /// Whether it may stay there for ever.
    pub may_end: bool,
    /// Parameters and local variables.
    pub locals: Vec<Named>,
}

/// A state in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Global variables.
    pub globals: Vec<Named>,
    /// Channels that can hold messages, with their contents, oldest message first.
    pub channels: Vec<Named>,
    /// Processes, by number.
    pub processes: Vec<ProcessView>,
    /// The process that runs alone, if one does.
    pub exclusive: Option<usize>,
    /// The arrays and queues whose texts are cut.
    pub long: Vec<Long>,
}

impl View {
    /// Globals, channels and locals in one list; a local `x` of process number 2 of type `P` is
    /// `P(2).x`.
    pub fn values(&self) -> Vec<Named> {
        let locals = self.processes.iter().flat_map(|process| {
            let named = |local: &Named| Named { name: qualified(&process.name, process.pid, &local.name), ..local.clone() };
            process.locals.iter().map(named)
        });
        self.globals.iter().chain(&self.channels).cloned().chain(locals).collect()
    }

    /// The values that differ from those in an earlier state, new ones included. Elements that the
    /// text of an array does not show come after the others, each under its own name, as `a[70]`.
    pub fn changes(&self, earlier: &View) -> Vec<Named> {
        // Both lists are in the order of the layout, but processes are created and end, so names
        // are looked up instead of walking both lists together.
        let before: HashMap<String, String> = earlier.values().into_iter().map(|named| (named.name, named.value)).collect();
        let mut changed = self.values();
        changed.retain(|named| before.get(&named.name) != Some(&named.value));
        let earlier: HashMap<&str, &Elements> = earlier.long.iter().map(|long| (long.name.as_str(), &long.elements)).collect();
        for Long { name, elements } in &self.long {
            let Some(old) = earlier.get(name.as_str()).filter(|old| **old != elements) else { continue };
            if matches!(elements, Elements::Messages(_)) {
                let missing = !changed.iter().any(|named| named.name == *name);
                changed.extend(self.channels.iter().filter(|named| missing && named.name == *name).cloned());
            }
            let hidden = elements.hidden_changes(old);
            let more = hidden.len().saturating_sub(SHOWN_MAX);
            changed.extend(hidden.into_iter().take(SHOWN_MAX).map(|(index, value)| Named { name: format!("{name}[{index}]"), value }));
            if more > 0 {
                changed.push(Named { name: format!("{name}[…]"), value: format!("{more} more elements have changed") });
            }
        }
        changed
    }
}

/// The name of a local variable in [`View::values`].
fn qualified(process: &str, pid: usize, name: &str) -> String {
    format!("{process}({pid}).{name}")
}

/// The contents of a state; an error if the bytes are not a state of the program.
pub(crate) fn view(program: &Verified, state: &[u8]) -> Result<View, LayoutError> {
    let layout = program.layout();
    layout.check(state, program.locations())?;
    let mut map = StateMap::default();
    map.read(layout, state)?;
    let tables = program.program();

    let mut long = Vec::new();
    let globals = variables(tables, &tables.globals, &layout.globals, state, &|name| name.to_owned(), &mut long);
    let channels: Vec<Named> = map
        .channels
        .iter()
        .enumerate()
        .filter_map(|(index, channel)| {
            let value = contents(program, channel, state)?;
            let name = channel_name(tables, index as i32 + 1);
            let messages = stored_messages(program, channel, state).filter(|(_, length)| *length > SHOWN_MAX);
            long.extend(messages.map(|(bytes, _)| Long { name: name.clone(), elements: Elements::Messages(bytes.to_vec()) }));
            Some(Named { name, value })
        })
        .collect();
    let processes = map.processes.iter().enumerate().filter_map(|(pid, process)| {
        let Shape::Process(ty) = process.shape else { return None };
        let declared = &tables.processes[ty.index()];
        let component = &state[process.offset..];
        let inside = &layout.processes[ty.index()];
        let address = program.locations().address(ty, inside.location(component));
        let span = address.and_then(|address| tables.span_at(address));
        Some(ProcessView {
            pid,
            name: declared.name.clone(),
            position: span.map(|span| Position {
                file: tables.files.get(span.file.index()).cloned().unwrap_or_default(),
                line: span.line,
                column: span.column,
            }),
            statement: span.map(|span| span.text.clone()).unwrap_or_default(),
            may_end: address.is_some_and(|address| tables.may_end_at(address)),
            locals: variables(tables, &declared.locals, &inside.locals, component, &|name| qualified(&declared.name, pid, name), &mut long),
        })
    });
    let processes = processes.collect();
    let exclusive = layout.exclusive.and_then(|at| (state[at] as usize).checked_sub(1));
    Ok(View { globals, channels, processes, exclusive, long })
}

/// The values in a state, complete and with their structure, under the names of [`View::values`].
pub(crate) fn structured(program: &Verified, state: &[u8]) -> Result<Vec<(String, Datum)>, LayoutError> {
    let layout = program.layout();
    layout.check(state, program.locations())?;
    let mut map = StateMap::default();
    map.read(layout, state)?;
    let tables = program.program();
    let of = |declared: &[Variable], slots: &[Slot], bytes: &[u8]| -> Vec<(String, Datum)> {
        let kept = declared.iter().zip(slots).filter(|(variable, _)| is_kept(variable));
        let all = kept.map(|(variable, slot)| {
            let value = match variable.length {
                None => element(tables, variable, slot, bytes, 0),
                Some(_) => Datum::List((0..slot.elements).map(|index| element(tables, variable, slot, bytes, index)).collect()),
            };
            (variable, value)
        });
        let told = all.filter(|(variable, value)| !refers_to_itself(variable, value));
        told.map(|(variable, value)| (variable.name.clone(), value)).collect()
    };
    let mut all = of(&tables.globals, &layout.globals, state);
    for (index, channel) in map.channels.iter().enumerate() {
        if let Some(messages) = messages(program, channel, state) {
            all.push((channel_name(tables, index as i32 + 1), Datum::List(messages.collect())));
        }
    }
    for (pid, process) in map.processes.iter().enumerate() {
        let Shape::Process(ty) = process.shape else { continue };
        let declared = &tables.processes[ty.index()];
        let locals = of(&declared.locals, &layout.processes[ty.index()].locals, &state[process.offset..]);
        all.extend(locals.into_iter().map(|(name, value)| (qualified(&declared.name, pid, &name), value)));
    }
    Ok(all)
}

/// Scratch variables are left out, because they hold nothing between steps, and so are those that
/// are hidden.
fn is_kept(variable: &Variable) -> bool {
    !variable.scratch && variable.shown != Shown::Hidden
}

/// A variable that refers to the channel of the same name is left out too, because the contents are
/// shown under that name.
fn refers_to_itself(variable: &Variable, value: &Datum) -> bool {
    variable.shown == Shown::Channel && matches!(value, Datum::Text(name) if *name == variable.name)
}

/// An element of a variable.
fn element(program: &Program, variable: &Variable, slot: &Slot, bytes: &[u8], index: usize) -> Datum {
    let value = slot.ty.read(&bytes[slot.offset + index * slot.ty.width()..]);
    value_of(program, variable.shown, slot.ty, value)
}

/// Variables with their values, those of long arrays cut. All elements of these go to `long`, under
/// the names that `full` makes.
fn variables(
    program: &Program,
    declared: &[Variable],
    slots: &[Slot],
    bytes: &[u8],
    full: &dyn Fn(&str) -> String,
    long: &mut Vec<Long>,
) -> Vec<Named> {
    let mut all = Vec::new();
    for (variable, slot) in declared.iter().zip(slots).filter(|(variable, _)| is_kept(variable)) {
        let element = |index: usize| element(program, variable, slot, bytes, index);
        let value = match variable.length {
            None => {
                let value = element(0);
                if refers_to_itself(variable, &value) {
                    continue;
                }
                value.to_string()
            }
            Some(_) => {
                let shown: Vec<String> = (0..slot.elements.min(SHOWN_MAX)).map(|index| element(index).to_string()).collect();
                format!("[{}{}]", shown.join(", "), ellipsis(slot.elements))
            }
        };
        if variable.length.is_some() && slot.elements > SHOWN_MAX {
            let elements = match variable.shown {
                Shown::Number | Shown::Process | Shown::Hidden => {
                    let stored = bytes[slot.offset..].get(..slot.elements * slot.ty.width());
                    Elements::Numbers(slot.ty, stored.unwrap_or_default().to_vec())
                }
                Shown::Bool | Shown::Symbol | Shown::Channel => {
                    Elements::Words((0..slot.elements).map(|index| element(index).to_string()).collect())
                }
            };
            long.push(Long { name: full(&variable.name), elements });
        }
        all.push(Named { name: variable.name.clone(), value });
    }
    all
}

/// The messages of a channel as text. A rendezvous channel never holds any between steps.
pub(crate) fn contents(program: &Verified, channel: &Component, state: &[u8]) -> Option<String> {
    let all = messages(program, channel, state)?;
    let length = all.len();
    let shown: Vec<String> = all.take(SHOWN_MAX).map(|message| message.to_string()).collect();
    Some(format!("[{}{}]", shown.join(" "), ellipsis(length)))
}

/// The messages of a channel, oldest first.
fn messages<'s>(program: &'s Verified, channel: &Component, state: &'s [u8]) -> Option<impl ExactSizeIterator<Item = Datum> + use<'s>> {
    let Shape::Channel(ty) = channel.shape else { return None };
    let layout = &program.layout().channel_types[ty.index()];
    if layout.capacity == 0 {
        return None;
    }
    let declared = &program.program().channel_types[ty.index()];
    let length = program.layout().channel_length(ty, channel.offset, state);
    let begin = channel.offset + layout.messages;
    let message = move |number: usize| {
        let at = begin + number * layout.message_size;
        let fields = layout.fields.iter().zip(&declared.fields);
        let mut values: Vec<Datum> = fields
            .map(|(slot, field)| value_of(program.program(), field.shown, slot.ty, slot.ty.read(&state[at + slot.offset..])))
            .collect();
        if values.len() == 1 { values.remove(0) } else { Datum::Fields(values) }
    };
    Some((0..length).map(message))
}

/// The messages of a channel as they are stored, and their number.
fn stored_messages<'s>(program: &Verified, channel: &Component, state: &'s [u8]) -> Option<(&'s [u8], usize)> {
    let Shape::Channel(ty) = channel.shape else { return None };
    let layout = &program.layout().channel_types[ty.index()];
    let length = program.layout().channel_length(ty, channel.offset, state);
    let begin = channel.offset + layout.messages;
    Some((state.get(begin..begin + length * layout.message_size)?, length))
}

/// The messages in each channel of a state. A rendezvous channel has none.
pub(crate) fn queues(program: &Verified, state: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let layout = program.layout();
    let mut map = StateMap::default();
    if map.read(layout, state).is_err() {
        return Vec::new();
    }
    let messages = |channel: &Component| {
        let Shape::Channel(ty) = channel.shape else { return Vec::new() };
        let inside = &layout.channel_types[ty.index()];
        if inside.capacity == 0 {
            return Vec::new();
        }
        let message = |number: usize| {
            let start = channel.offset + inside.messages + number * inside.message_size;
            state.get(start..start + inside.message_size).unwrap_or_default().to_vec()
        };
        (0..layout.channel_length(ty, channel.offset, state)).map(message).collect()
    };
    map.channels.iter().map(messages).collect()
}

/// What the text of a list ends with if not all of it is shown.
fn ellipsis(length: usize) -> String {
    length.checked_sub(SHOWN_MAX).filter(|&more| more > 0).map(|more| format!(" … {more} more")).unwrap_or_default()
}

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, open: &str, all: &[Datum], between: &str, close: &str| {
            f.write_str(open)?;
            for (index, value) in all.iter().enumerate() {
                write!(f, "{}{value}", if index == 0 { "" } else { between })?;
            }
            f.write_str(close)
        };
        match self {
            Datum::Number(number) => number.fmt(f),
            Datum::Truth(truth) => truth.fmt(f),
            Datum::Text(text) => f.write_str(text),
            Datum::List(all) => list(f, "[", all, ", ", "]"),
            Datum::Fields(all) => list(f, "(", all, ",", ")"),
        }
    }
}

/// The number that a value of the machine stands for.
fn number(ty: Type, value: i32) -> i64 {
    // The values of this type are unsigned; the machine's are signed.
    if ty == Type::Unsigned(32) { i64::from(value as u32) } else { i64::from(value) }
}

/// A value as its declaration wants it shown.
pub(crate) fn value_of(program: &Program, shown: Shown, ty: Type, value: i32) -> Datum {
    match shown {
        Shown::Number => Datum::Number(number(ty, value)),
        Shown::Process | Shown::Hidden => Datum::Number(value.into()),
        Shown::Bool => Datum::Truth(value != 0),
        Shown::Symbol => Datum::Text(program.symbol(value).map_or_else(|| value.to_string(), str::to_owned)),
        Shown::Channel if value == 0 => Datum::Text("none".to_owned()),
        Shown::Channel => Datum::Text(channel_name(program, value)),
    }
}

/// The text of a value.
pub(crate) fn text(program: &Program, shown: Shown, ty: Type, value: i32) -> String {
    value_of(program, shown, ty, value).to_string()
}

/// A channel that exists from the start has a name; one created later has only a number.
pub(crate) fn channel_name(program: &Program, number: i32) -> String {
    let declared = usize::try_from(number).ok().and_then(|number| program.channels.get(number.checked_sub(1)?));
    declared.map_or_else(|| format!("channel {number}"), |channel| channel.name.clone())
}
