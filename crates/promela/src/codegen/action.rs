//! Actions: the part of a transition before its `STEP`.

use super::emitter::Emitter;
use super::format;
use crate::ast::Binary;
use crate::limits::MAX_PROLOGUE;
use crate::model::{Action, Ex, Field, Place, Process, Scope, Target, Values};
use bytecode::{Addr, ChannelTypeId, FieldMask, Op, Receive, Register};
use source::{Diagnostic, Span};

impl Emitter<'_> {
    /// The code that completes the initial values of a new instance, if any is needed.
    pub(super) fn prologue(&mut self, process: &Process, mention_last: bool) -> Option<Addr> {
        if process.prologue.is_empty() && !mention_last {
            return None;
        }
        self.current = self.model.processes.iter().position(|p| std::ptr::eq(p, process)).unwrap_or(self.current);
        let address = self.address();
        if mention_last {
            self.position(process.name.span);
            self.emit(Op::Last {});
            self.emit(Op::Drop {});
        }
        for (action, span) in &process.prologue {
            self.position(*span);
            self.action(action, *span);
        }
        self.emit(Op::Ret {});
        let length = self.address().0 - address.0;
        if length > MAX_PROLOGUE {
            let message = format!("the initial values of this process take {length} instructions: the limit is {MAX_PROLOGUE}");
            let hint = "each channel of an array is made by itself, and each element stored that does not start with a number";
            self.diagnostics.push(Diagnostic::error(process.name.span, message).with_hint(hint));
        }
        Some(address)
    }

    pub(super) fn action(&mut self, action: &Action, span: Span) {
        match action {
            Action::True | Action::Skip => {}
            Action::Guard(ex) => self.guard(ex),
            Action::Assign(target, value) => {
                if *target == Target::Priority {
                    self.emit(Op::Pid {});
                }
                self.expr(value);
                self.store_target(target);
            }
            Action::Fill { scope, leaf, values } => self.fill(*scope, *leaf, values),
            Action::NewChannels { scope, leaf, channel_type, count } => {
                let ty = ChannelTypeId(*channel_type as u8);
                for k in 0..*count {
                    if self.is_full() {
                        return;
                    }
                    self.emit(Op::Chnew { ty });
                    self.store_element(*scope, *leaf, k);
                }
            }
            Action::Send { channel, sorted, arguments } => {
                self.expr(channel);
                for argument in arguments {
                    self.expr(argument);
                }
                let fields = arguments.len() as u32;
                self.emit(if *sorted { Op::Sends { fields } } else { Op::Send { fields } });
            }
            Action::Receive { channel, any, keep, fields } => self.receive(channel, *any, *keep, fields),
            Action::Assert(ex) => {
                self.expr(ex);
                self.emit(Op::Assert {});
            }
            Action::Print(text, arguments) => self.print(text, arguments, span),
            Action::PrintMtype(value, _) => {
                self.expr(value);
                let format = self.format("%e".to_owned());
                self.emit(Op::Print { format, args: 1 });
            }
            Action::SetPriority(process, priority) => {
                self.expr(process);
                self.expr(priority);
                self.emit(Op::Setprio {});
            }
            Action::Exclusive(receives, channel) => {
                self.expr(channel);
                self.emit(if *receives { Op::Xr {} } else { Op::Xs {} });
            }
        }
    }

    /// The path blocks if the expression is zero. A conjunction blocks at its first part that is
    /// zero.
    fn guard(&mut self, ex: &Ex) {
        match ex {
            Ex::Const(0) => self.emit(Op::Nex {}),
            Ex::Const(_) => {}
            Ex::Binary(Binary::And, a, b) => {
                self.guard(a);
                self.guard(b);
            }
            // The number of a new process is never zero, because its creator exists already.
            Ex::Run { .. } => {
                self.expr(ex);
                self.emit(Op::Drop {});
            }
            _ => {
                self.expr(ex);
                self.emit(Op::Nexz {});
            }
        }
    }

    fn store_target(&mut self, target: &Target) {
        match target {
            Target::Place(place) => self.store(place),
            Target::Nowhere => self.emit(Op::Drop {}),
            Target::Priority => self.emit(Op::Setprio {}),
        }
    }

    /// Stores the top of the stack in element `k` of a leaf, counted through all dimensions.
    fn store_element(&mut self, scope: Scope, leaf: usize, k: u32) {
        let table = match scope {
            Scope::Global => &self.model.globals,
            Scope::Local => &self.model.processes[self.current].locals,
        };
        let is_array = table[leaf].is_array();
        if is_array {
            self.constant(k as i32);
        }
        let (global, local) = (bytecode::GlobalId(leaf as u16), bytecode::LocalId(leaf as u16));
        self.emit(match (scope, is_array) {
            (Scope::Global, false) => Op::Stg { var: global },
            (Scope::Global, true) => Op::Stgx { var: global },
            (Scope::Local, false) => Op::Stl { var: local },
            (Scope::Local, true) => Op::Stlx { var: local },
        });
    }

    fn fill(&mut self, scope: Scope, leaf: usize, values: &Values) {
        for (k, value) in values.elements().enumerate() {
            if self.is_full() {
                return;
            }
            self.expr(value);
            self.store_element(scope, leaf, k as u32);
        }
    }

    fn receive(&mut self, channel: &Ex, any: bool, keep: bool, fields: &[Field]) {
        self.expr(channel);
        let mut mask = 0;
        for (i, field) in fields.iter().enumerate() {
            if let Field::Match(value) = field {
                self.expr(value);
                mask |= 1 << i;
            }
        }
        let how = match (any, keep) {
            (false, false) => Receive::First,
            (true, false) => Receive::Any,
            (false, true) => Receive::PeekFirst,
            (true, true) => Receive::PeekAny,
        };
        self.emit(Op::Recv { fields: fields.len() as u32, mask: FieldMask(mask), how });
        // Fields are stored from left to right, because an index may be a field received just
        // before.
        for (i, field) in fields.iter().enumerate() {
            let Field::Store(target) = field else { continue };
            match target {
                Target::Nowhere => {}
                Target::Priority => {
                    self.emit(Op::Pid {});
                    self.emit(Op::Push { reg: Register(i as u8) });
                    self.emit(Op::Setprio {});
                }
                Target::Place(place) => self.store_field(place, i),
            }
        }
    }

    fn store_field(&mut self, place: &Place, field: usize) {
        self.emit(Op::Push { reg: Register(field as u8) });
        self.store(place);
    }

    fn print(&mut self, text: &str, arguments: &[Ex], span: Span) {
        let (text, wanted) = format::convert(text);
        if wanted != arguments.len() {
            let message = format!("the format has room for {wanted} value(s), {} given", arguments.len());
            self.diagnostics.push(Diagnostic::warning(span, message).named("printed-values"));
        }
        for i in 0..wanted {
            match arguments.get(i) {
                Some(argument) => self.expr(argument),
                None => self.constant(0),
            }
        }
        let format = self.format(text);
        self.emit(Op::Print { format, args: wanted as u32 });
    }
}
