//! Prints a program as text.

use super::lexer::{write_name, write_quoted};
use crate::formula::write_atom_name;
use crate::ids::{Addr, AtomId, ChannelTypeId, FormatId, GlobalId, LocalId, ProcessId, Register};
use crate::ops::{FieldMask, MAX_FIELDS, Mode, Op, OperandSink, Receive};
use crate::program::{LabelKind, Program, Shown, Type, Variable};
use crate::property::{Automaton, EdgeLabel, Origin, PropertyBody};
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::fmt::Write;

pub(super) fn program(program: &Program) -> String {
    let printer = Printer::new(program);
    let mut out = String::from("program ");
    write_quoted(&mut out, &program.name, '"');
    // Without this the assembler would record positions in its own input.
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
    for i in 0..program.atoms.len() {
        printer.atom(&mut out, i);
    }
    for property in &program.properties {
        printer.property(&mut out, property);
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

fn label_kind(out: &mut String, kind: LabelKind) {
    for (set, word) in [(kind.end, " end"), (kind.progress, " progress"), (kind.accept, " accept")] {
        out.push_str(if set { word } else { "" });
    }
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
        Shown::Hidden => out.push_str(" as hidden"),
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
    /// The addresses that jumps use and that have no label.
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

    /// Whether the table of formats contains exactly the formats that the instructions use, in
    /// order, so that it need not be declared.
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

    /// A name. For an entry that does not exist, the result is a text that cannot be read back.
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
        self.body(out, self.program.code_of(id), id, |out, addr| {
            if p.prologue == Some(addr) {
                out.push_str("    .prologue\n");
            }
            if p.entry == addr && addr != p.start {
                out.push_str("    .entry\n");
            }
        });
    }

    /// Prints the code in a range, up to the closing brace. `before` writes the lines that come
    /// before an instruction.
    fn body(&self, out: &mut String, range: std::ops::Range<u32>, id: ProcessId, before: impl Fn(&mut String, Addr)) {
        let spans = &self.program.spans;
        let mut span = spans.partition_point(|span| span.addr.0 < range.start);
        for at in range {
            let addr = Addr(at);
            let Some(op) = self.program.code.get(addr.index()) else { break };
            before(out, addr);
            self.labels_at(out, addr);
            while let Some(s) = spans.get(span).filter(|span| span.addr == addr) {
                self.position(out, s.file.index(), s.line, s.column, &s.text);
                span += 1;
            }
            self.instruction(out, id, op);
        }
        out.push_str("}\n");
    }

    fn position(&self, out: &mut String, file: usize, line: u32, column: u32, text: &str) {
        out.push_str("    .line ");
        write_quoted(out, self.program.files.get(file).map_or("?", String::as_str), '"');
        put(out, format_args!(" {line} {column} "));
        write_quoted(out, text, '"');
        out.push('\n');
    }

    fn origin(&self, out: &mut String, origin: Option<&Origin>) {
        if let Some(Origin { file, line, column, text }) = origin {
            self.position(out, file.index(), *line, *column, text);
        }
    }

    fn atom_name(&self, out: &mut String, atom: AtomId) {
        self.named(out, self.program.atoms.get(atom.index()).map(|atom| &atom.name), atom.index());
    }

    fn atom(&self, out: &mut String, index: usize) {
        let Some(id) = AtomId::new(index) else { return };
        out.push_str("\natom ");
        write_name(out, &self.program.atoms[index].name);
        out.push_str(" {\n");
        // An atom has no local variables, so any process type can be used here.
        self.body(out, self.program.code_of_atom(id), ProcessId(0), |_, _| {});
    }

    fn property(&self, out: &mut String, property: &crate::property::PropertyEntry) {
        out.push('\n');
        out.push_str(property.kind.word());
        out.push(' ');
        write_name(out, &property.name);
        out.push_str(" {\n");
        self.origin(out, property.origin.as_ref());
        match &property.kind {
            PropertyBody::Ltl(formula) => {
                let mut text = String::new();
                formula.write(&mut text, &mut |text, atom| match self.program.atoms.get(atom.index()) {
                    Some(atom) => write_atom_name(text, &atom.name),
                    None => put(text, format_args!("?{}", atom.0)),
                });
                out.push_str("    formula ");
                write_quoted(out, &text, '"');
                out.push('\n');
            }
            PropertyBody::Never(automaton) | PropertyBody::Trace(automaton) | PropertyBody::Notrace(automaton) => {
                self.automaton(out, automaton);
            }
        }
        out.push_str("}\n");
    }

    fn automaton(&self, out: &mut String, automaton: &Automaton) {
        for state in &automaton.states {
            out.push_str("    state ");
            write_name(out, &state.name);
            label_kind(out, state.kind);
            out.push('\n');
        }
        let state = |out: &mut String, number: u32| {
            self.named(out, automaton.states.get(number as usize).map(|state| &state.name), number as usize);
        };
        for edge in &automaton.edges {
            self.origin(out, edge.origin.as_ref());
            out.push_str(if edge.target.is_some() { "    edge " } else { "    exit " });
            state(out, edge.source);
            if let Some(target) = edge.target {
                out.push_str(", ");
                state(out, target);
            }
            self.edge_label(out, &edge.label);
            if edge.rank > 0 {
                put(out, format_args!(" rank {}", edge.rank));
            }
            out.push_str(if edge.atomic { " atomic\n" } else { "\n" });
        }
    }

    fn edge_label(&self, out: &mut String, label: &EdgeLabel) {
        match label {
            EdgeLabel::True => {}
            EdgeLabel::Else => out.push_str(" else"),
            EdgeLabel::When(atom) => {
                out.push_str(" when ");
                self.atom_name(out, *atom);
            }
            EdgeLabel::Assert(atom) => {
                out.push_str(" assert ");
                self.atom_name(out, *atom);
            }
            EdgeLabel::Send(event) | EdgeLabel::Receive(event) => {
                out.push_str(if matches!(label, EdgeLabel::Send(_)) { " send " } else { " receive " });
                self.atom_name(out, event.channel);
                out.push('(');
                for (i, field) in event.fields.iter().enumerate() {
                    out.push_str(if i == 0 { "" } else { ", " });
                    match field {
                        Some(atom) => self.atom_name(out, *atom),
                        None => out.push('.'),
                    }
                }
                out.push(')');
            }
        }
    }

    fn labels_at(&self, out: &mut String, addr: Addr) {
        for &label in self.labels.get(&addr).into_iter().flatten() {
            let label = &self.program.labels[label];
            write_name(out, &label.name);
            out.push(':');
            label_kind(out, label.kind);
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
