//! Expressions: code that leaves their value on the stack.

use super::emitter::{Emitter, Mark};
use crate::ast::{Binary, Probe, Unary};
use crate::model::{Ex, Part, Place, Scope};
use bytecode::{FieldMask, GlobalId, LabelKind, LocalId, Op, ProcessId, Receive, Register, VIOLATION};
use std::collections::HashMap;

/// A register that no receive uses at this point.
const SPARE: Register = Register(31);

impl Emitter<'_> {
    pub(super) fn expr(&mut self, ex: &Ex) {
        match ex {
            Ex::Const(n) => self.constant(*n),
            Ex::Load(place) => self.load(place),
            Ex::Pid => self.emit(Op::Pid {}),
            Ex::ProcessCount => self.emit(Op::Nrpr {}),
            Ex::Last => self.emit(Op::Last {}),
            Ex::Unary(op, a) => {
                self.expr(a);
                self.emit(match op {
                    Unary::Negate => Op::Neg {},
                    Unary::Not => Op::Lnot {},
                    Unary::Complement => Op::Not {},
                });
            }
            Ex::Binary(op @ (Binary::And | Binary::Or), a, b) => self.lazy(*op == Binary::And, a, b),
            Ex::Binary(op, a, b) => {
                self.expr(a);
                self.expr(b);
                self.emit(operation(*op));
            }
            Ex::Exact(op, a, b) => {
                self.expr(a);
                self.expr(b);
                self.emit(match op {
                    Binary::Sub => Op::Subv {},
                    Binary::Mul => Op::Mulv {},
                    _ => Op::Addv {},
                });
            }
            Ex::Within(low, high, a) => {
                self.expr(a);
                self.emit(Op::Range { least: *low, greatest: *high });
            }
            Ex::Conditional(c, a, b) => {
                let (otherwise, end) = (self.mark(), self.mark());
                self.expr(c);
                self.emit(Op::Jmpz { target: otherwise.addr() });
                self.expr(a);
                self.emit(Op::Jmp { target: end.addr() });
                self.place(otherwise);
                self.expr(b);
                self.place(end);
            }
            Ex::After(parts, value) => {
                self.parts(parts, &mut HashMap::new());
                self.expr(value);
            }
            Ex::Never(what) => {
                self.constant(0);
                let name = format!("{VIOLATION}{what}_{}", self.address().0);
                self.label(name, LabelKind::default());
                self.emit(Op::Range { least: 1, greatest: 1 });
            }
            Ex::Run { process, arguments, priority } => self.run(*process, arguments, *priority),
            Ex::Probe(probe, channel) => {
                self.expr(channel);
                self.emit(match probe {
                    Probe::Len => Op::Len {},
                    Probe::Empty | Probe::Nempty => Op::Empty {},
                    Probe::Full | Probe::Nfull => Op::Full {},
                });
                if matches!(probe, Probe::Nempty | Probe::Nfull) {
                    self.emit(Op::Lnot {});
                }
            }
            Ex::Poll { channel, any, fields } => {
                self.expr(channel);
                let mut mask = 0;
                for (i, field) in fields.iter().enumerate() {
                    if let Some(value) = field {
                        self.expr(value);
                        mask |= 1 << i;
                    }
                }
                let how = if *any { Receive::PeekAny } else { Receive::PeekFirst };
                let fields = fields.len() as u32;
                self.emit(Op::Poll { fields, mask: FieldMask(mask), how });
            }
            Ex::Enabled(pid) => {
                self.expr(pid);
                self.emit(Op::Enabled {});
            }
            Ex::PcValue(pid) => {
                self.expr(pid);
                self.emit(Op::Pcval {});
            }
            Ex::GetPriority(pid) => {
                self.expr(pid);
                self.emit(Op::Getprio {});
            }
            Ex::Timeout => self.emit(Op::Timeout {}),
            Ex::NonProgress => self.emit(Op::Np {}),
            // `_` occurs only in events, which test it before they use its value.
            Ex::Anything => self.constant(0),
            Ex::RemoteLabel { process, pid, label } => self.remote_label(*process, pid.as_deref(), label),
            Ex::RemotePid { process, pid } => self.instance(*process, pid.as_deref()),
            Ex::RemoteLoad { process, pid, place } => {
                self.instance(*process, pid.as_deref());
                let var = (ProcessId(*process as u8), LocalId(place.leaf as u16));
                let leaf = &self.model.processes[*process].locals[place.leaf];
                let dimensions = leaf.dimensions.clone();
                if dimensions.is_empty() {
                    self.emit(Op::Ldr { var });
                } else {
                    self.index(&place.indices, &dimensions);
                    self.emit(Op::Ldrx { var });
                }
            }
        }
    }

    /// Statements of C before a value. All jumps lead forwards, so every path is finite.
    fn parts(&mut self, parts: &[Part], labels: &mut HashMap<u32, Mark>) {
        for part in parts {
            match part {
                Part::Assign(place, value) => {
                    self.expr(value);
                    self.store(place);
                }
                Part::Assert(condition) => {
                    self.expr(condition);
                    self.emit(Op::Assert {});
                }
                Part::Branch(condition, yes, no) => {
                    let (otherwise, end) = (self.mark(), self.mark());
                    self.expr(condition);
                    self.emit(Op::Jmpz { target: otherwise.addr() });
                    self.parts(yes, labels);
                    self.emit(Op::Jmp { target: end.addr() });
                    self.place(otherwise);
                    self.parts(no, labels);
                    self.place(end);
                }
                Part::Jump(label) => {
                    let mark = *labels.entry(*label).or_insert_with(|| self.mark());
                    self.emit(Op::Jmp { target: mark.addr() });
                }
                Part::Label(label) => {
                    let mark = *labels.entry(*label).or_insert_with(|| self.mark());
                    self.place(mark);
                }
            }
        }
    }

    pub(super) fn constant(&mut self, value: i32) {
        self.emit(Op::Ldc { value });
    }

    /// `a && b`, `a || b`: `b` is evaluated only if `a` does not decide. The value is 0 or 1.
    fn lazy(&mut self, and: bool, a: &Ex, b: &Ex) {
        let (decided, end) = (self.mark(), self.mark());
        self.expr(a);
        let target = decided.addr();
        self.emit(if and { Op::Jmpz { target } } else { Op::Jmpnz { target } });
        self.expr(b);
        if !is_truth(b) {
            self.emit(Op::Lnot {});
            self.emit(Op::Lnot {});
        }
        self.emit(Op::Jmp { target: end.addr() });
        self.place(decided);
        self.constant(i32::from(!and));
        self.place(end);
    }

    fn dimensions(&self, place: &Place) -> Vec<u32> {
        let table = match place.scope {
            Scope::Global => &self.model.globals,
            Scope::Local => &self.model.processes[self.current].locals,
        };
        table[place.leaf].dimensions.clone()
    }

    /// The flat index of an element. If there are several indices, each is checked by itself; the
    /// machine checks a single one.
    fn index(&mut self, indices: &[Ex], dimensions: &[u32]) {
        for (i, (index, &length)) in indices.iter().zip(dimensions).enumerate() {
            if i > 0 {
                self.constant(length as i32);
                self.emit(Op::Mul {});
            }
            self.expr(index);
            let known = matches!(index, Ex::Const(n) if *n >= 0 && (*n as u32) < length);
            if dimensions.len() > 1 && !known {
                self.emit(Op::Chk { length });
            }
            if i > 0 {
                self.emit(Op::Add {});
            }
        }
    }

    pub(super) fn load(&mut self, place: &Place) {
        let dimensions = self.dimensions(place);
        let (global, local) = (GlobalId(place.leaf as u16), LocalId(place.leaf as u16));
        self.index(&place.indices, &dimensions);
        self.emit(match (place.scope, dimensions.is_empty()) {
            (Scope::Global, true) => Op::Ldg { var: global },
            (Scope::Global, false) => Op::Ldgx { var: global },
            (Scope::Local, true) => Op::Ldl { var: local },
            (Scope::Local, false) => Op::Ldlx { var: local },
        });
    }

    /// Stores the value on top of the stack.
    pub(super) fn store(&mut self, place: &Place) {
        let dimensions = self.dimensions(place);
        let (global, local) = (GlobalId(place.leaf as u16), LocalId(place.leaf as u16));
        self.index(&place.indices, &dimensions);
        self.emit(match (place.scope, dimensions.is_empty()) {
            (Scope::Global, true) => Op::Stg { var: global },
            (Scope::Global, false) => Op::Stgx { var: global },
            (Scope::Local, true) => Op::Stl { var: local },
            (Scope::Local, false) => Op::Stlx { var: local },
        });
    }

    /// Starts a process. Without a priority in the `run` expression the process gets priority 1,
    /// whatever its type was declared with.
    fn run(&mut self, process: usize, arguments: &[Ex], priority: Option<u8>) {
        for argument in arguments {
            self.expr(argument);
        }
        self.emit(Op::Run { args: arguments.len() as u32, process: ProcessId(process as u8) });
        let wanted = priority.unwrap_or(1);
        if wanted != self.model.processes[process].priority.unwrap_or(1) {
            self.emit(Op::Pop { reg: SPARE });
            self.emit(Op::Push { reg: SPARE });
            self.constant(i32::from(wanted));
            self.emit(Op::Setprio {});
            self.emit(Op::Push { reg: SPARE });
        }
    }

    /// The number of a process of a type: given, or that of the first instance.
    fn instance(&mut self, process: usize, pid: Option<&Ex>) {
        match pid {
            Some(pid) => self.expr(pid),
            None => {
                let before = self.model.processes[..process].iter().map(|p| p.active).sum::<u32>();
                self.constant(before as i32);
            }
        }
    }

    fn remote_label(&mut self, process: usize, pid: Option<&Ex>, label: &str) {
        self.instance(process, pid);
        match self.labelled_state(process, label) {
            Some(state) => {
                let mark = self.state(process, state);
                self.emit(Op::At { place: (ProcessId(process as u8), mark.addr()) });
            }
            // No process ever waits there.
            None => {
                self.emit(Op::Drop {});
                self.constant(0);
            }
        }
    }
}

/// Whether an expression is 0 or 1 by itself.
fn is_truth(ex: &Ex) -> bool {
    match ex {
        Ex::Const(n) => *n == 0 || *n == 1,
        Ex::Unary(op, _) => *op == Unary::Not,
        Ex::Binary(op, _, _) => {
            matches!(op, Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::And | Binary::Or)
        }
        Ex::Probe(probe, _) => *probe != Probe::Len,
        Ex::Poll { .. } | Ex::Timeout | Ex::NonProgress | Ex::Enabled(_) | Ex::RemoteLabel { .. } => true,
        _ => false,
    }
}

fn operation(op: Binary) -> Op {
    match op {
        Binary::Add => Op::Add {},
        Binary::Sub => Op::Sub {},
        Binary::Mul => Op::Mul {},
        Binary::Div => Op::Div {},
        Binary::Rem => Op::Mod {},
        Binary::BitAnd => Op::And {},
        Binary::BitOr => Op::Or {},
        Binary::BitXor => Op::Xor {},
        Binary::Shl => Op::Shl {},
        Binary::Shr => Op::Shr {},
        Binary::Eq => Op::Eq {},
        Binary::Ne => Op::Ne {},
        Binary::Lt => Op::Lt {},
        Binary::Le => Op::Le {},
        Binary::Gt => Op::Gt {},
        Binary::Ge => Op::Ge {},
        // Lazy operators have code of their own.
        Binary::And => Op::And {},
        Binary::Or => Op::Or {},
    }
}
