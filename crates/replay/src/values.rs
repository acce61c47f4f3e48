//! The values in a state, under the names the user gave them.
//!
//! Values become text only here, so that a symbolic name, a truth value or a channel looks the same
//! in a trace, in a simulation and in a report.

use bytecode::{Component, LayoutError, Program, Shape, Shown, Slot, StateMap, Type, Variable, Verified};
use contract::Position;
use std::fmt::Write as _;

/// A longer array, or a longer queue, is cut with an ellipsis.
const SHOWN_MAX: usize = 64;

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
}

impl View {
    /// Globals, channels and locals in one list; a local `x` of process number 2 of type `P` is
    /// `P(2).x`.
    pub fn values(&self) -> Vec<Named> {
        let locals = self.processes.iter().flat_map(|process| {
            let qualified = |local: &Named| Named { name: format!("{}({}).{}", process.name, process.pid, local.name), ..local.clone() };
            process.locals.iter().map(qualified)
        });
        self.globals.iter().chain(&self.channels).cloned().chain(locals).collect()
    }

    /// The values that differ from those in an earlier state, new ones included.
    pub fn changes(&self, earlier: &View) -> Vec<Named> {
        // Both lists are in the order of the layout, but processes are created and end, so names
        // are looked up instead of walking both lists together.
        let before: std::collections::HashMap<String, String> =
            earlier.values().into_iter().map(|named| (named.name, named.value)).collect();
        self.values().into_iter().filter(|named| before.get(&named.name) != Some(&named.value)).collect()
    }
}

/// The contents of a state; an error if the bytes are not a state of the program.
pub(crate) fn view(program: &Verified, state: &[u8]) -> Result<View, LayoutError> {
    let layout = program.layout();
    layout.check(state, program.locations())?;
    let mut map = StateMap::default();
    map.read(layout, state)?;
    let tables = program.program();

    let globals = variables(tables, &tables.globals, &layout.globals, state);
    let channels = map.channels.iter().enumerate().filter_map(|(index, channel)| {
        let value = contents(program, channel, state)?;
        Some(Named { name: channel_name(tables, index as i32 + 1), value })
    });
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
            locals: variables(tables, &declared.locals, &inside.locals, component),
        })
    });
    Ok(View {
        globals,
        channels: channels.collect(),
        processes: processes.collect(),
        exclusive: layout.exclusive.and_then(|at| (state[at] as usize).checked_sub(1)),
    })
}

/// Variables with their values. Scratch variables are left out, because they hold nothing between
/// steps, and so are those that are hidden. A variable that refers to the channel of the same name
/// is left out too, because the contents are shown under that name.
fn variables(program: &Program, declared: &[Variable], slots: &[Slot], bytes: &[u8]) -> Vec<Named> {
    let is_kept = |variable: &Variable| !variable.scratch && variable.shown != Shown::Hidden;
    let kept = declared.iter().zip(slots).filter(|(variable, _)| is_kept(variable));
    kept.map(|(variable, slot)| {
        let width = slot.ty.width();
        let element = |index: usize| text(program, variable.shown, slot.ty, slot.ty.read(&bytes[slot.offset + index * width..]));
        let value = match variable.length {
            None => element(0),
            Some(_) => {
                let shown: Vec<String> = (0..slot.elements.min(SHOWN_MAX)).map(element).collect();
                format!("[{}{}]", shown.join(", "), ellipsis(slot.elements))
            }
        };
        Named { name: variable.name.clone(), value }
    })
    .zip(declared.iter().filter(|variable| is_kept(variable)))
    .filter(|(named, variable)| variable.shown != Shown::Channel || named.value != named.name)
    .map(|(named, _)| named)
    .collect()
}

/// The messages of a channel. A rendezvous channel never holds any between steps.
pub(crate) fn contents(program: &Verified, channel: &Component, state: &[u8]) -> Option<String> {
    let Shape::Channel(ty) = channel.shape else { return None };
    let layout = &program.layout().channel_types[ty.index()];
    if layout.capacity == 0 {
        return None;
    }
    let declared = &program.program().channel_types[ty.index()];
    let length = program.layout().channel_length(ty, channel.offset, state);
    let mut value = String::from("[");
    for number in 0..length.min(SHOWN_MAX) {
        let message = channel.offset + layout.messages + number * layout.message_size;
        let fields: Vec<String> = layout
            .fields
            .iter()
            .zip(&declared.fields)
            .map(|(slot, field)| text(program.program(), field.shown, slot.ty, slot.ty.read(&state[message + slot.offset..])))
            .collect();
        let space = if number == 0 { "" } else { " " };
        // Writing to a `String` cannot fail.
        let _ = match fields.as_slice() {
            [only] => write!(value, "{space}{only}"),
            several => write!(value, "{space}({})", several.join(",")),
        };
    }
    value.push_str(ellipsis(length));
    value.push(']');
    Some(value)
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

fn ellipsis(length: usize) -> &'static str {
    if length > SHOWN_MAX { " …" } else { "" }
}

/// A value as its declaration wants it shown.
pub(crate) fn text(program: &Program, shown: Shown, ty: Type, value: i32) -> String {
    match shown {
        // The values of this type are unsigned; the machine's are signed.
        Shown::Number if ty == Type::Unsigned(32) => (value as u32).to_string(),
        Shown::Number | Shown::Process | Shown::Hidden => value.to_string(),
        Shown::Bool => if value == 0 { "false" } else { "true" }.to_owned(),
        Shown::Symbol => program.symbol(value).map_or_else(|| value.to_string(), str::to_owned),
        Shown::Channel if value == 0 => "none".to_owned(),
        Shown::Channel => channel_name(program, value),
    }
}

/// A channel that exists from the start has a name; one created later has only a number.
pub(crate) fn channel_name(program: &Program, number: i32) -> String {
    let declared = usize::try_from(number).ok().and_then(|number| program.channels.get(number.checked_sub(1)?));
    declared.map_or_else(|| format!("channel {number}"), |channel| channel.name.clone())
}
