//! A program as text.

use super::lexer::{write_name, write_quoted};
use crate::ids::{Addr, ChannelTypeId, FormatId, GlobalId, LocalId, ProcessId, Register};
use crate::ops::{FieldMask, MAX_FIELDS, Mode, Op, OperandSink, Receive};
use crate::program::{Program, Shown, Type, Variable};
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::fmt::Write;

pub(super) fn program(program: &Program) -> String {
    let printer = Printer::new(program);
    let mut out = String::from("program ");
    write_quoted(&mut out, &program.name, '"');
    // Without this the assembler would add positions in its own input.
    out.push_str("\n.positions explicit\n");
    for file in &program.files {
        line(&mut out, ".file ", |out| write_quoted(out, file, '"'));
    }
    for (value, name) in &program.symbols {
        line(&mut out, "symbol ", |out| {
            write_name(out, name);
            put(out, format_args!(" = {value}"));
        });
    }
    for v in &program.globals {
        line(&mut out, "global ", |out| variable(out, v));
    }
    for ty in &program.channel_types {
        line(&mut out, "chantype ", |out| {
            write_name(out, &ty.name);
            put(out, format_args!(" = [{}] of {{", ty.capacity));
            for (i, field) in ty.fields.iter().enumerate() {
                out.push_str(if i == 0 { " " } else { ", " });
                type_of(out, field.ty, field.shown);
            }
            out.push_str(" }");
        });
    }
    for channel in &program.channels {
        line(&mut out, "channel ", |out| {
            write_name(out, &channel.name);
            out.push_str(" : ");
            printer.named(out, program.channel_types.get(channel.ty.index()).map(|ty| &ty.name), channel.ty.index());
        });
    }
    if !printer.formats_in_place() {
        for format in &program.formats {
            line(&mut out, "format ", |out| write_quoted(out, format, '"'));
        }
    }
    for i in 0..program.processes.len() {
        printer.process(&mut out, i);
    }
    if !program.instances.is_empty() {
        out.push_str("\nstart ");
        for (i, id) in program.instances.iter().enumerate() {
            out.push_str(if i == 0 { "" } else { ", " });
            printer.process_name(&mut out, *id);
        }
        out.push('\n');
    }
    out
}

/// Writing to a string cannot fail.
fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

fn line(out: &mut String, head: &str, rest: impl FnOnce(&mut String)) {
    out.push_str(head);
    rest(out);
    out.push('\n');
}

fn type_of(out: &mut String, ty: Type, shown: Shown) {
    let short = match (ty, shown) {
        (Type::Bit, Shown::Bool) => Some("bool"),
        (Type::Byte, Shown::Symbol) => Some("mtype"),
        (Type::Byte, Shown::Channel) => Some("chan"),
        (Type::Byte, Shown::Process) => Some("pid"),
        _ => None,
    };
    if let Some(word) = short {
        return out.push_str(word);
    }
    match ty {
        Type::Bit => out.push_str("bit"),
        Type::Byte => out.push_str("byte"),
        Type::Short => out.push_str("short"),
        Type::Int => out.push_str("int"),
        Type::Unsigned(bits) => put(out, format_args!("unsigned:{bits}")),
    }
    match shown {
        Shown::Number => {}
        Shown::Bool => out.push_str(" as bool"),
        Shown::Symbol => out.push_str(" as symbol"),
        Shown::Channel => out.push_str(" as channel"),
        Shown::Process => out.push_str(" as process"),
    }
}

fn variable(out: &mut String, v: &Variable) {
    if v.scratch {
        out.push_str("scratch ");
    }
    type_of(out, v.ty, v.shown);
    out.push(' ');
    write_name(out, &v.name);
    if let Some(length) = v.length {
        put(out, format_args!("[{length}]"));
    }
    match v.init.as_slice() {
        [] => {}
        [all] => put(out, format_args!(" = {all}")),
        [first, others @ ..] => {
            put(out, format_args!(" = {{{first}"));
            others.iter().for_each(|value| put(out, format_args!(", {value}")));
            out.push('}');
        }
    }
}

struct Printer<'a> {
    program: &'a Program,
    /// The labels at each address, in order.
    labels: HashMap<Addr, Vec<usize>>,
    /// The addresses that jumps name and no label does.
    anonymous: HashSet<Addr>,
    /// The first format of each text.
    formats: HashMap<&'a str, usize>,
}

impl<'a> Printer<'a> {
    fn new(program: &'a Program) -> Printer<'a> {
        let mut labels: HashMap<Addr, Vec<usize>> = HashMap::new();
        for (i, label) in program.labels.iter().enumerate() {
            labels.entry(label.addr).or_default().push(i);
        }
        let place = |op: &Op| match *op {
            Op::At { place: (_, addr) } => Some(addr),
            _ => op.target(),
        };
        let named = program.code.iter().filter_map(place).filter(|addr| !labels.contains_key(addr));
        let anonymous = named.collect();
        let mut formats = HashMap::new();
        for (i, format) in program.formats.iter().enumerate() {
            formats.entry(format.as_str()).or_insert(i);
        }
        Printer { program, labels, anonymous, formats }
    }

    /// Whether the table of formats is what the instructions name, in order, so that it need not be declared.
    fn formats_in_place(&self) -> bool {
        let mut next = 0;
        for op in &self.program.code {
            if let Op::Print { format, .. } = op {
                match format.index() {
                    new if new == next => next += 1,
                    old if old < next => {}
                    _ => return false,
                }
            }
        }
        next == self.program.formats.len() && self.formats.len() == next
    }

    /// A name, or for what does not exist something that cannot be read back.
    fn named(&self, out: &mut String, name: Option<&String>, index: usize) {
        match name {
            Some(name) => write_name(out, name),
            None => put(out, format_args!("?{index}")),
        }
    }

    fn process_name(&self, out: &mut String, id: ProcessId) {
        self.named(out, self.program.processes.get(id.index()).map(|p| &p.name), id.index());
    }

    fn local_name(&self, out: &mut String, process: ProcessId, var: LocalId) {
        let locals = self.program.processes.get(process.index()).map(|p| &p.locals);
        self.named(out, locals.and_then(|locals| locals.get(var.index())).map(|v| &v.name), var.index());
    }

    fn address(&self, out: &mut String, addr: Addr) {
        match self.labels.get(&addr).and_then(|labels| labels.first()) {
            Some(&label) => write_name(out, &self.program.labels[label].name),
            None => put(out, format_args!("{addr}")),
        }
    }

    fn process(&self, out: &mut String, index: usize) {
        let Some(id) = ProcessId::new(index) else { return };
        let p = &self.program.processes[index];
        out.push_str("\nprocess ");
        write_name(out, &p.name);
        out.push('(');
        let (params, locals) = p.locals.split_at((p.params as usize).min(p.locals.len()));
        for (i, v) in params.iter().enumerate() {
            out.push_str(if i == 0 { "" } else { ", " });
            variable(out, v);
        }
        out.push(')');
        if p.priority != 1 {
            put(out, format_args!(" priority {}", p.priority));
        }
        out.push_str(" {\n");
        for v in locals {
            line(out, "    local ", |out| variable(out, v));
        }
        let range = self.program.code_of(id);
        let spans = &self.program.spans;
        let mut span = spans.partition_point(|span| span.addr.0 < range.start);
        for at in range {
            let addr = Addr(at);
            let Some(op) = self.program.code.get(addr.index()) else { break };
            if p.prologue == Some(addr) {
                out.push_str("    .prologue\n");
            }
            if p.entry == addr && addr != p.start {
                out.push_str("    .entry\n");
            }
            self.labels_at(out, addr);
            while let Some(s) = spans.get(span).filter(|span| span.addr == addr) {
                out.push_str("    .line ");
                write_quoted(out, self.program.files.get(s.file.index()).map_or("?", String::as_str), '"');
                put(out, format_args!(" {} {} ", s.line, s.column));
                write_quoted(out, &s.text, '"');
                out.push('\n');
                span += 1;
            }
            self.instruction(out, id, op);
        }
        out.push_str("}\n");
    }

    fn labels_at(&self, out: &mut String, addr: Addr) {
        for &label in self.labels.get(&addr).into_iter().flatten() {
            let label = &self.program.labels[label];
            write_name(out, &label.name);
            out.push(':');
            for (set, word) in [(label.kind.end, " end"), (label.kind.progress, " progress"), (label.kind.accept, " accept")] {
                out.push_str(if set { word } else { "" });
            }
            out.push('\n');
        }
        if self.anonymous.contains(&addr) {
            put(out, format_args!("{addr}:\n"));
        }
    }

    fn instruction(&self, out: &mut String, process: ProcessId, op: &Op) {
        out.push_str("    ");
        out.push_str(op.mnemonic());
        let mut operands = Operands { printer: self, out, process, any: false };
        let Ok(()) = op.operands(&mut operands);
        out.push('\n');
    }
}

/// Writes operands, with commas between them.
struct Operands<'a, 'p> {
    printer: &'a Printer<'p>,
    out: &'a mut String,
    process: ProcessId,
    any: bool,
}

type Written = Result<(), Infallible>;

impl Operands<'_, '_> {
    fn operand(&mut self, write: impl FnOnce(&Printer<'_>, &mut String)) -> Written {
        self.out.push_str(if self.any { ", " } else { " " });
        self.any = true;
        write(self.printer, self.out);
        Ok(())
    }

    fn show(&mut self, value: impl std::fmt::Display) -> Written {
        self.operand(|_, out| put(out, format_args!("{value}")))
    }
}

impl OperandSink for Operands<'_, '_> {
    type Error = Infallible;

    fn constant(&mut self, value: i32) -> Written {
        self.show(value)
    }

    fn count(&mut self, value: u32) -> Written {
        self.show(value)
    }

    fn global(&mut self, value: GlobalId) -> Written {
        self.operand(|printer, out| printer.named(out, printer.program.globals.get(value.index()).map(|v| &v.name), value.index()))
    }

    fn local(&mut self, value: LocalId) -> Written {
        let process = self.process;
        self.operand(|printer, out| printer.local_name(out, process, value))
    }

    fn remote_local(&mut self, (process, var): (ProcessId, LocalId)) -> Written {
        self.operand(|printer, out| {
            printer.process_name(out, process);
            out.push('.');
            printer.local_name(out, process, var);
        })
    }

    fn remote_addr(&mut self, (process, addr): (ProcessId, Addr)) -> Written {
        self.operand(|printer, out| {
            printer.process_name(out, process);
            out.push('.');
            printer.address(out, addr);
        })
    }

    fn register(&mut self, value: Register) -> Written {
        self.show(value)
    }

    fn addr(&mut self, value: Addr) -> Written {
        self.operand(|printer, out| printer.address(out, value))
    }

    fn mode(&mut self, value: Mode) -> Written {
        self.show(value.word())
    }

    fn process(&mut self, value: ProcessId) -> Written {
        self.operand(|printer, out| printer.process_name(out, value))
    }

    fn channel_type(&mut self, value: ChannelTypeId) -> Written {
        self.operand(|printer, out| printer.named(out, printer.program.channel_types.get(value.index()).map(|ty| &ty.name), value.index()))
    }

    fn receive(&mut self, value: Receive) -> Written {
        self.show(value.word())
    }

    fn mask(&mut self, value: FieldMask) -> Written {
        let fields: Vec<String> = (0..MAX_FIELDS).filter(|&field| value.contains(field)).map(|field| field.to_string()).collect();
        self.show(format_args!("{{{}}}", fields.join(", ")))
    }

    fn format(&mut self, value: FormatId) -> Written {
        self.operand(|printer, out| match printer.program.formats.get(value.index()) {
            Some(format) if printer.formats.get(format.as_str()) == Some(&value.index()) => write_quoted(out, format, '"'),
            _ => put(out, format_args!("{}", value.0)),
        })
    }
}
