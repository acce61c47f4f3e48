//! ATmega firmware: from an ELF file to byte-code.
//!
//! Machine code is checked unchanged, with the names and lines of the C source (M. Weber, "An
//! embeddable virtual machine for state space generation", section 3.4). `docs/avr.md` says what is
//! exact and what is abstract. The modules are the stages that a program passes through:
//!
//! | module | takes | gives |
//! |---|---|---|
//! | `image`, `debug` | the file | memory contents, symbols, lines, variables |
//! | `insn` | words | instructions |
//! | `flow` | instructions | functions, calls, returns |
//! | `facts`, `live` | functions | constant addresses, dead registers and flags, bit by bit |
//! | `clobber`, `escape` | functions | registers that handlers change, addresses of the stack |
//! | `masks` | functions | interrupts that can be enabled |
//! | `memory` | variables, registers of devices | where they are in a state |
//! | `groups` | functions | accesses through one pointer |
//! | `effects` | registers of devices | what else an access reads and changes |
//! | `sharing`, `races` | what handlers access | where an interrupt can matter |
//! | `loops` | functions | where a step must end because a loop may not |
//! | `emit`, `arith`, `access`, `io` | instructions | byte-code of the processor |
//! | `environment` | interrupts | byte-code of the devices |
//! | `quotes`, `expression`, `conditions` | formulas | atoms over variables |

#![forbid(unsafe_code)]

mod access;
mod arith;
mod chip;
mod clobber;
mod code;
mod conditions;
mod debug;
mod effects;
mod emit;
mod environment;
mod escape;
mod expression;
mod facts;
mod flow;
mod groups;
mod image;
mod insn;
mod io;
mod live;
mod loops;
mod masks;
mod memory;
mod options;
mod quotes;
mod races;
mod sharing;
mod stack;
pub mod testing;

use bytecode::{
    Addr, AtomId, ChannelType, ChannelTypeId, Formula, GlobalId, Label, LabelKind, MessageField, Op, ProcessId, ProcessType, Program,
    PropertyBody, PropertyEntry, Shown, StaticChannel, Type, Variable,
};
use conditions::{AtomCode, Condition};
use emit::Emitter;
use expression::Wrong;
use facts::Facts;
use flow::Flow;
use image::Image;
use live::{Live, Liveness};
use memory::Memory;
use options::Options;
use sharing::Sharing;
use source::{Diagnostic, FileId, SourceMap, Span};
use std::collections::{BTreeMap, BTreeSet};

/// The bytes with which ELF files begin.
pub const MAGIC: [u8; 4] = *b"\x7fELF";

/// The input of a translation, in addition to the file.
pub struct Request<'a> {
    /// Options about the program and its environment.
    pub defines: &'a [(String, String)],
    /// Formulas, each by its name.
    pub formulas: &'a [(String, String)],
    /// Lists of expressions, each a text separated by commas.
    pub expressions: &'a [String],
    /// The text of a source file, by its name in the debugging information.
    pub sources: &'a mut dyn FnMut(&str) -> Option<String>,
}

/// A translated program.
#[derive(Debug, Default)]
pub struct Compiled {
    /// The program; absent if there are errors.
    pub program: Option<Program>,
    /// For each list of expressions, the atoms that compute them.
    pub values: Vec<Vec<AtomId>>,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// The name in the map of the list of expressions with this number.
pub fn name_of_expression(number: usize) -> String {
    format!("expression {}", number + 1)
}

/// Translates a file. `file` is its entry in `map`, which has no text.
pub fn compile(map: &mut SourceMap, file: FileId, bytes: &[u8], request: Request<'_>) -> Compiled {
    let mut compiled = Compiled::default();
    let point = Span::point(file, 0);
    let refuse = |message: String, hint: Option<&str>| Diagnostic::error(point, message).with_hint_opt(hint.map(str::to_owned));
    let (mut options, rest) = match Options::read(request.defines) {
        Ok(read) => read,
        Err(message) => {
            compiled.diagnostics.push(refuse(message, None));
            return compiled;
        }
    };
    let image = match Image::read(bytes, options.device.as_deref()) {
        Ok(image) => image,
        Err((message, hint)) => {
            compiled.diagnostics.push(refuse(message, hint));
            return compiled;
        }
    };
    if let Err(message) = options.read_for(image.chip, &rest) {
        compiled.diagnostics.push(refuse(message, Some("`docs/avr.md` lists what `-D` can say about a device")));
        return compiled;
    }
    if image.debug.lines.is_empty() {
        let hint = "compile with `-gdwarf-2`; without it a trace shows addresses, and variables of the symbol table";
        compiled.diagnostics.push(Diagnostic::warning(point, "the file has no information about source lines").with_hint(hint));
    }
    if image.symbols.is_empty() {
        let hint = "link without `-s`, and do not strip the file";
        let message = "the file has no names of functions, so calls of `abort` or `everypath_fail` are not found";
        compiled.diagnostics.push(Diagnostic::warning(point, message).with_hint(hint));
    }
    let mut stated = Vec::new();
    for (name, text) in request.formulas {
        match formula(map, name, text) {
            Ok(formula) => stated.push(formula),
            Err(wrong) => compiled.diagnostics.push(wrong),
        }
    }
    let mut lists = Vec::new();
    for (number, text) in request.expressions.iter().enumerate() {
        let file = map.add(name_of_expression(number), text.as_str());
        match expression::parse(text) {
            Ok(list) => lists.push((file, list)),
            Err((at, message)) => compiled.diagnostics.push(Diagnostic::error(Span::point(file, at), message)),
        }
    }
    if compiled.diagnostics.iter().any(Diagnostic::is_error) {
        return compiled;
    }
    let name = map.name(file).to_owned();
    match translate(&name, &image, &options, &stated, &lists, request.sources) {
        Ok((program, values)) => (compiled.program, compiled.values) = (Some(program), values),
        Err(wrong) => compiled.diagnostics.push(wrong),
    }
    compiled
}

/// A formula whose atoms have been read.
struct Stated {
    name: String,
    text: String,
    /// Each atom: its text, its file in the map, and its expression.
    atoms: Vec<(String, FileId, expression::Expr)>,
}

fn formula(map: &mut SourceMap, name: &str, text: &str) -> Result<Stated, Diagnostic> {
    let text = &quotes::quote(text);
    let file = map.add(format!("--ltl {name}"), text.as_str());
    let mut texts: Vec<String> = Vec::new();
    let mut collect = |atom: &str| {
        let known = texts.iter().position(|known| known == atom);
        AtomId::new(known.unwrap_or_else(|| {
            texts.push(atom.to_owned());
            texts.len() - 1
        }))
    };
    if let Err(wrong) = Formula::parse(text, &mut collect) {
        let hint = "write conditions over variables in single quotes: [] 'count <= 8'";
        return Err(Diagnostic::error(Span::point(file, wrong.at), wrong.message).with_hint(hint));
    }
    let mut atoms = Vec::new();
    for text in texts {
        let file = map.add(format!("--ltl {name}, condition {}", atoms.len() + 1), text.as_str());
        let wrong = |at, message: &str| Err(Diagnostic::error(Span::point(file, at), message));
        match expression::parse(&text) {
            Ok(mut list) if list.len() == 1 => atoms.extend(list.pop().map(|expr| (text, file, expr))),
            Ok(_) => return wrong(0, "this is not one condition"),
            Err((at, message)) => return wrong(at, &message),
        }
    }
    Ok(Stated { name: name.to_owned(), text: text.clone(), atoms })
}

/// Whether the program may set the bit that enables an interrupt.
fn can_be_set(possible: &BTreeMap<u16, u8>, source: &chip::Source) -> bool {
    possible.get(&source.mask.0).is_some_and(|bits| bits & 1 << source.mask.1 != 0)
}

/// The program of an image.
fn translate(
    name: &str,
    image: &Image,
    options: &Options,
    stated: &[Stated],
    lists: &[(FileId, Vec<expression::Expr>)],
    sources: &mut dyn FnMut(&str) -> Option<String>,
) -> Result<(Program, Vec<Vec<AtomId>>), Diagnostic> {
    let chip = image.chip;
    let too_large = || Diagnostic::error(Span::default(), "the program is too large to be translated");
    let halts = |flow: &Flow| -> BTreeSet<u16> {
        let at_break = |at: &u16| options.halts_at_break && matches!(flow.nodes[at].insn, Some(insn::Insn::Break));
        flow.nodes.keys().copied().filter(at_break).collect()
    };
    let mut inline = BTreeSet::new();
    let (flow, facts, possible) = loop {
        let flow = Flow::of(image, chip, &inline);
        if flow.is_too_large {
            return Err(too_large());
        }
        let facts = Facts::of(&flow, chip, halts(&flow), 0);
        let possible = masks::possible(&flow, &facts);
        // A vector that is no jump matters if its interrupt can be enabled. Its code may enable
        // others.
        let before = inline.len();
        if flow.nodes.keys().any(|at| facts.enabled(*at) != facts::Enabled::No) {
            let source_of = |vector: &&u8| chip.sources.iter().find(|source| source.vector == **vector);
            inline.extend(flow.inline.iter().filter(|vector| source_of(vector).is_some_and(|source| can_be_set(&possible, source))));
        }
        if inline.len() == before {
            break (flow, facts, possible);
        }
    };
    let ends = halts(&flow);
    let is_possible = |source: &chip::Source| can_be_set(&possible, source);
    let is_silent = |source: &chip::Source| options.silent.iter().any(|name| name == source.name);
    let default = image.symbol("__bad_interrupt").map(|addr| addr / 2);
    let source_of = |vector: u8| chip.sources.iter().find(|source| source.vector == vector);
    let handlers: Vec<(u8, u16)> = flow
        .handlers
        .iter()
        .copied()
        .filter(|(vector, entry)| {
            // The default handler represents only those interrupts that can be enabled.
            let wanted = |source: &chip::Source| !is_silent(source) && (Some(u32::from(*entry)) != default || is_possible(source));
            source_of(*vector).is_some_and(wanted)
        })
        .collect();
    let changed = clobber::changed(&flow, &facts, &handlers);
    let facts = if changed == 0 { facts } else { Facts::of(&flow, chip, ends, changed) };
    let enables = flow.nodes.keys().any(|at| facts.enabled(*at) != facts::Enabled::No);
    let is_missing = |source: &chip::Source| enables && flow.missing.contains(&source.vector) && is_possible(source) && !is_silent(source);
    let is_used = |source: &&chip::Source| is_missing(source) || handlers.iter().any(|(vector, _)| *vector == source.vector);
    let used: Vec<&chip::Source> = chip.sources.iter().filter(is_used).collect();
    let mut registers: BTreeSet<u16> = used.iter().flat_map(|source| environment::registers(source)).collect();
    if flow.nodes.values().any(|node| matches!(node.insn, Some(insn::Insn::Sleep))) {
        registers.insert(chip.sleep.0);
    }
    let expressions = stated.iter().flat_map(|s| s.atoms.iter().map(|(_, _, expr)| expr)).chain(lists.iter().flat_map(|(_, list)| list));
    expressions.for_each(|expr| conditions::registers(expr, chip, &mut registers));

    let mut globals =
        vec![Variable { shown: if options.registers { Shown::Number } else { Shown::Hidden }, ..Variable::scalar("SREG_I", Type::Bit) }];
    // The heap lies between the variables and the stack.
    let stack = options.stack.or_else(|| stack::most(&flow, &facts, &handlers).filter(|_| !memory::has_heap(image)));
    let mut memory = Memory::of(image, &flow, &facts, &registers, stack, options, &mut globals);
    let mut named = BTreeSet::new();
    let expressions = stated.iter().flat_map(|s| s.atoms.iter().map(|(_, _, expr)| expr)).chain(lists.iter().flat_map(|(_, list)| list));
    expressions.for_each(|expr| conditions::objects(expr, &memory, &mut named));
    memory.show(&named, &mut globals);
    let modes = possible.get(&chip.sleep_mode.0).is_some_and(|bits| bits & chip.sleep_mode.1 != 0);
    let sleeps = flow.nodes.values().any(|node| matches!(node.insn, Some(insn::Insn::Sleep)));
    if sleeps && modes {
        memory.asleep = Some(GlobalId(globals.len() as u16));
        globals.push(Variable { shown: Shown::Hidden, ..Variable::scalar("asleep", Type::Byte) });
    }
    if options.single {
        memory.counter = Some(GlobalId(globals.len() as u16));
        globals.push(Variable::scalar("PC", Type::Unsigned(16)));
    }
    let guard = memory.io.get(&chip.watchdog.0).copied().filter(|_| options.resets);

    let mut observed = BTreeSet::new();
    let mut atoms: Vec<AtomCode> = Vec::new();
    let mut atom = |text: &str, file: FileId, expr: &expression::Expr| -> Result<AtomId, Diagnostic> {
        let wrong = |(at, message): Wrong| Diagnostic::error(Span::point(file, at), message);
        let mut condition = Condition { image, memory: &memory, ops: Vec::new(), observed: &mut observed };
        condition.compile(expr).map_err(wrong)?;
        let ops = condition.ops;
        if let Some(known) = atoms.iter().position(|known| known.name == text) {
            return Ok(AtomId(known as u16));
        }
        atoms.push(AtomCode { name: text.to_owned(), ops });
        AtomId::new(atoms.len() - 1).ok_or_else(|| Diagnostic::error(Span::point(file, 0), "there are too many conditions"))
    };
    let mut properties = Vec::new();
    for formula in stated {
        let mut ids = BTreeMap::new();
        for (text, file, expr) in &formula.atoms {
            ids.insert(text.as_str(), atom(text, *file, expr)?);
        }
        if let Ok(parsed) = Formula::parse(&formula.text, &mut |name| ids.get(name).copied()) {
            properties.push(PropertyEntry { name: formula.name.clone(), origin: None, kind: PropertyBody::Ltl(parsed) });
        }
    }
    let mut values = Vec::new();
    for (number, (file, list)) in lists.iter().enumerate() {
        let mut ids = Vec::new();
        for (position, expr) in list.iter().enumerate() {
            ids.push(atom(&format!("{}.{}", name_of_expression(number), position + 1), *file, expr)?);
        }
        values.push(ids);
    }

    let handlers_need = needs_of_handlers(&flow, &facts, &handlers);
    let liveness = Liveness::of(&flow, &facts, Live::everything(facts.slots), &handlers_need);
    let mut sharing = Sharing::of(&flow, &facts, &memory, &used, handlers.clone(), clobber::alive(&handlers_need), observed);
    sharing.changed = changed;
    sharing.all_points = options.all_points;
    if guard.is_some() {
        sharing.resets = true;
        sharing.reads.insert(memory::Place::Io(chip.watchdog.0));
        sharing.kept.extend([chip.eecr, chip.reset_reason].map(memory::Place::Io));
        let kept = memory.objects.iter().enumerate().filter(|(_, object)| image.noinit.contains(&object.addr));
        sharing.kept.extend(kept.map(|(index, _)| memory::Place::Object(index)));
    }
    let before = sharing::steps(image, &flow, &facts, &memory, &sharing, &liveness);
    let races = if options.races { races::find(&flow, &facts, &memory, &sharing) } else { races::Races::default() };
    let texts: Vec<Vec<String>> = image
        .debug
        .files
        .iter()
        .map(|name| sources(name).map(|text| text.lines().map(|line| line.trim().to_owned()).collect()).unwrap_or_default())
        .collect();
    let text_of = |file: u32, line: u32| {
        let lines = texts.get(file as usize);
        let text = lines.and_then(|lines| lines.get((line as usize).checked_sub(1)?)).cloned().unwrap_or_default();
        if text.is_empty() { format!("line {line}") } else { text }
    };
    let mut emitter = Emitter::new(image, &flow, &facts, &memory, &sharing, options, &liveness, &handlers_need, &before, &races, &text_of);
    emitter.globals = &globals;
    if !emitter.run() {
        return Err(too_large());
    }
    let halted = emitter.halted();
    if let Some((formula, more)) = watchdog(chip, &memory, &emitter.feedings(), atoms.len()) {
        properties.push(PropertyEntry { name: "watchdog".to_owned(), origin: None, kind: PropertyBody::Ltl(formula) });
        atoms.extend(more);
    }
    let locals = emit::locals(&memory, options);
    let claims = std::mem::take(&mut emitter.claims);
    let mut code = emitter.code;

    let mut processes =
        vec![ProcessType { name: "cpu".to_owned(), params: 0, locals, start: Addr(0), entry: Addr(0), prologue: None, priority: 1 }];
    let end = LabelKind { end: true, ..LabelKind::default() };
    let mut labels = Vec::new();
    let named = claims.iter().enumerate();
    labels.extend(named.map(|(number, (addr, what))| {
        let name = format!("{}{what}_{number}", bytecode::VIOLATION);
        Label { name, addr: *addr, kind: LabelKind::default() }
    }));
    labels.extend(halted.map(|addr| Label { name: "halted".to_owned(), addr, kind: end }));
    labels.sort_by_key(|label| label.addr);
    let mut process = |name: &str, start: Addr| {
        labels.push(Label { name: "idle".to_owned(), addr: start, kind: end });
        let (name, locals) = (name.to_owned(), Vec::new());
        processes.push(ProcessType { name, params: 0, locals, start, entry: start, prologue: None, priority: 1 });
    };
    for source in &used {
        process(source.name, code.here());
        environment::device(&mut code, chip, &memory, options, source, &used);
    }
    if let Some(register) = guard {
        process("WATCHDOG", code.here());
        environment::watchdog(&mut code, chip, register);
    }
    let (ops, spans) = code.finish();
    let mut program = Program { name: name.to_owned(), globals, code: ops, labels, spans, properties, ..Program::default() };
    program.instances = (0..processes.len()).filter_map(ProcessId::new).collect();
    program.processes = processes;
    program.files = std::iter::once(name.to_owned()).chain(image.debug.files.iter().cloned()).collect();
    if !used.is_empty() || guard.is_some() {
        let field = MessageField { ty: Type::Byte, shown: Shown::Number };
        program.channel_types.push(ChannelType { name: "interrupts".to_owned(), capacity: 0, fields: vec![field] });
        program.channels.push(StaticChannel { name: "interrupt".to_owned(), ty: ChannelTypeId(0) });
    }
    drop_unreachable(&mut program);
    conditions::append(&mut program, atoms);
    Ok((program, values))
}

/// The property that the program resets the watchdog again and again while it is on, and its atoms,
/// the first of which has the number `first`. `None` if the program never resets it.
fn watchdog(chip: &chip::Chip, memory: &Memory, feedings: &[Addr], first: usize) -> Option<(Formula, Vec<AtomCode>)> {
    let register = *memory.io.get(&chip.watchdog.0).filter(|_| !feedings.is_empty())?;
    // A watchdog that only interrupts need not be reset.
    let resets = chip.watchdog.1 & !chip.watchdog_interrupts;
    let on = vec![Op::Ldg { var: register }, Op::Ldc { value: resets.into() }, Op::And {}];
    let mut fed = vec![Op::Ldc { value: 0 }];
    for &addr in feedings {
        fed.extend([Op::Ldc { value: 0 }, Op::At { place: (ProcessId(0), addr) }, Op::Or {}]);
    }
    let mut names = |name: &str| AtomId::new(first + usize::from(name == "fed"));
    // A watchdog that is switched off again need not be reset either.
    let formula = Formula::parse("[] (on -> <> (fed || !on))", &mut names).ok()?;
    let atom = |name: &str, ops| AtomCode { name: name.to_owned(), ops };
    Some((formula, vec![atom("the watchdog is on", on), atom("the watchdog is fed", fed)]))
}

/// The registers whose values handlers use: those that are alive at the start of a handler if none
/// is alive at its end.
fn needs_of_handlers(flow: &Flow, facts: &Facts, handlers: &[(u8, u16)]) -> Live {
    let mut needs = Live::nothing(facts.slots);
    if handlers.is_empty() {
        return needs;
    }
    let alone = Liveness::of(flow, facts, Live::nothing(facts.slots), &needs);
    for (_, entry) in handlers {
        needs.merge(&alone.before(*entry));
    }
    needs
}

/// Replaces unreachable steps, which the verifier refuses, by blocked paths.
fn drop_unreachable(program: &mut Program) {
    let mut reached = vec![false; program.code.len()];
    let mut open: Vec<Addr> = program.processes.iter().map(|process| process.entry).collect();
    while let Some(addr) = open.pop() {
        let Some(seen) = reached.get_mut(addr.index()).filter(|seen| !**seen) else { continue };
        *seen = true;
        let op = program.code[addr.index()];
        open.extend(op.target());
        if !op.ends_path() {
            open.push(addr.next());
        }
    }
    for (op, reached) in program.code.iter_mut().zip(reached) {
        if !reached {
            *op = Op::Nex {};
        }
    }
}
