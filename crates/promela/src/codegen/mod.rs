//! From control graphs to byte-code.
//!
//! The scheme is that of Weber, "An embeddable virtual machine for state space generation", section
//! 3.1.1: a guard that fails blocks its path, a choice is `NDET`, and every transition ends in a
//! `STEP`. The control graph says where a process waits between steps, so the code of a state is
//! the list of its transitions, and each transition ends with a jump to the code of its target
//! state:
//!
//! | Promela | byte-code |
//! |---|---|
//! | options of a state | `NDET l2; option 1; l2: NDET l3; option 2; …` |
//! | `else` | `ELSE l; options before it; l: …` |
//! | escapes of `unless` | `UNLESS escape; the state's own options` |
//! | a step inside `atomic` | `STEP I` |
//! | a step inside `d_step` | `STEP D` |
//! | the end of a process | `STEP T` |
//!
//! A rendezvous send counts as executable, for `else` and for escapes, if some process can receive
//! it now.

mod action;
mod emitter;
mod expression;
mod format;
mod process;
mod property;

use crate::graph::Graph;
use crate::limits::{MAX_CONTROL_STATES, MAX_NUMBERED};
use crate::model::{Leaf, Model, Scalar};
use bytecode::{
    Addr, AtomId, ChannelType, ChannelTypeId, Locations, MessageField, Op, ProcessId, ProcessType, Program, Shown, StaticChannel, Type,
    Variable,
};
use emitter::Emitter;
use source::{Diagnostic, SourceMap, Span};

/// The result of compiling a model.
pub struct Generated {
    pub program: Program,
    /// The atoms of the expressions whose values are requested, list by list.
    pub values: Vec<Vec<AtomId>>,
    /// The numbers that SPIN gives to transitions. Each is valid from its address to the next one.
    /// There are none if statements are C code, because their numbers are not known.
    pub numbers: Vec<(Addr, u32)>,
}

/// The program of an analysed model. If the model does not fit the machine, an error is reported
/// and the result is `None`.
pub fn generate(
    map: &SourceMap,
    name: &str,
    model: &Model,
    graphs: &[Graph],
    automata: &[Graph],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Generated> {
    let before = diagnostics.len();
    check_limits(model, diagnostics);
    if diagnostics[before..].iter().any(Diagnostic::is_error) {
        return None;
    }
    let mut program = Program { name: name.to_owned(), ..Program::default() };
    program.globals = model.globals.iter().map(variable).collect();
    program.channel_types = channel_types(model);
    program.channels = model.channels.iter().map(|(name, ty)| StaticChannel { name: name.clone(), ty: ChannelTypeId(*ty as u8) }).collect();
    program.symbols = symbols(model);
    let mut emitter = Emitter::new(map, model, graphs);
    // SPIN keeps the number of the process that moved last in the state of every model that
    // mentions it, even if only a claim does.
    let mut mention_last = model.uses_last;
    for (index, process) in model.processes.iter().enumerate() {
        let id = ProcessId(index as u8);
        emitter.first_number = elements_before(model, graphs, automata, index);
        let start = emitter.address();
        let prologue = emitter.prologue(process, std::mem::take(&mut mention_last));
        let entry = emitter.process(index);
        program.processes.push(ProcessType {
            name: if process.is_init { "init".to_owned() } else { process.name.text.to_string() },
            params: process.parameters as u16,
            locals: process.locals.iter().map(variable).collect(),
            start,
            entry,
            prologue,
            priority: process.priority.unwrap_or(1),
        });
        program.instances.extend(std::iter::repeat_n(id, process.active as usize));
    }
    program.properties = emitter.properties(automata);
    let values = emitter.values();
    let numbers = if model.uses_c { Vec::new() } else { std::mem::take(&mut emitter.numbers) };
    emitter.finish(&mut program, diagnostics);
    check_control_states(model, &program, diagnostics);
    (!diagnostics[before..].iter().any(Diagnostic::is_error)).then_some(Generated { program, values, numbers })
}

/// The number of elements that SPIN makes before those of a process type: the elements of the
/// process types, claims and traces before it. SPIN reads formulas last.
fn elements_before(model: &Model, graphs: &[Graph], automata: &[Graph], index: usize) -> u32 {
    let claims = model.automata.iter().zip(automata).filter(|(automaton, _)| automaton.after <= index).map(|(_, graph)| graph);
    graphs[..index].iter().chain(claims).map(|graph| graph.elements).sum()
}

/// Reports process types with more control states than the machine can number. The verifier would
/// refuse them too, but in the words of the byte-code.
fn check_control_states(model: &Model, program: &Program, diagnostics: &mut Vec<Diagnostic>) {
    for (index, process) in model.processes.iter().enumerate() {
        let code = program.code_of(ProcessId(index as u8));
        let steps = code.filter(|&at| matches!(program.code.get(at as usize), Some(Op::Step { .. }))).count();
        // Several steps may lead to one control state, so this alone does not decide.
        if steps >= MAX_CONTROL_STATES && Locations::of(program).is_none() {
            let message = format!("the body of `{}` has more than {MAX_CONTROL_STATES} control states", process.name.text);
            let hint = "divide it into several process types, or replace repeated statements by a loop";
            diagnostics.push(Diagnostic::error(process.name.span, message).with_hint(hint));
        }
    }
}

/// Reports tables that exceed the numbers of the machine.
fn check_limits(model: &Model, diagnostics: &mut Vec<Diagnostic>) {
    let mut check = |count: usize, most: usize, span: Span, what: &str| {
        if count > most {
            diagnostics.push(Diagnostic::error(span, format!("{count} {what}: the limit is {most}")));
        }
    };
    let at = model.processes.first().map_or(Span::default(), |p| p.name.span);
    let instances: usize = model.processes.iter().map(|p| p.active as usize).sum();
    check(model.processes.len(), MAX_NUMBERED, at, "process types");
    check(instances, 255, at, "processes at the beginning");
    check(model.channels.len(), MAX_NUMBERED, at, "channels at the beginning");
    check(model.channel_types.len(), 255, at, "kinds of channels");
    check(model.globals.len(), usize::from(u16::MAX), at, "global variables");
    for process in &model.processes {
        let span = process.name.span;
        check(process.locals.len(), usize::from(u16::MAX), span, "local variables");
    }
}

fn scalar(ty: Scalar) -> (Type, Shown) {
    match ty {
        Scalar::Bit => (Type::Bit, Shown::Number),
        Scalar::Byte => (Type::Byte, Shown::Number),
        Scalar::Short => (Type::Short, Shown::Number),
        Scalar::Int => (Type::Int, Shown::Number),
        Scalar::Unsigned(bits) => (Type::Unsigned(bits), Shown::Number),
        Scalar::Mtype(_) => (Type::Byte, Shown::Symbol),
        Scalar::Chan => (Type::Byte, Shown::Channel),
    }
}

fn variable(leaf: &Leaf) -> Variable {
    let (ty, shown) = scalar(leaf.ty);
    let mut init = leaf.initial.clone();
    if init.iter().all(|&v| v == 0) {
        init.clear();
    } else if init.iter().all(|&v| v == init[0]) {
        init.truncate(1);
    }
    Variable { name: leaf.name.clone(), ty, length: leaf.is_array().then(|| leaf.length() as u32), init, shown, scratch: leaf.scratch }
}

fn channel_types(model: &Model) -> Vec<ChannelType> {
    let name = |index: usize| {
        let of_type = model.channels.iter().find(|(_, ty)| *ty == index);
        of_type.map_or_else(|| format!("channels {index}"), |(name, _)| format!("like {name}"))
    };
    let types = model.channel_types.iter().enumerate();
    types
        .map(|(index, ty)| ChannelType {
            name: name(index),
            capacity: ty.capacity as u8,
            fields: ty
                .fields
                .iter()
                .map(|&field| {
                    let (ty, shown) = scalar(field);
                    MessageField { ty, shown }
                })
                .collect(),
        })
        .collect()
}

/// Names of messages. Sets share the values; the plain set's names come first.
fn symbols(model: &Model) -> Vec<(i32, String)> {
    let mut sets: Vec<_> = model.mtypes.iter().collect();
    sets.sort_by_key(|set| set.name.is_some());
    let mut symbols: Vec<(i32, String)> = Vec::new();
    for set in sets {
        for (i, name) in set.names.iter().enumerate() {
            symbols.push((i as i32 + 1, name.to_string()));
        }
    }
    symbols
}
