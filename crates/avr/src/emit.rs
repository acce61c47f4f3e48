//! Translates instructions to steps.
//!
//! Every instruction becomes byte-code at its own mark, in the order of addresses. A transition
//! runs from one point where an interrupt can matter to the next. Those points are before
//! instructions that access what handlers access, before instructions that disable interrupts, and
//! in loops that may wait for an interrupt. Between them there are steps in mode D, one for each
//! source line and one where paths join; they keep the code of a step small, and a trace shows the
//! lines. An input is chosen at the start of a transition, because mode D follows one path only.

use crate::arith;
use crate::chip::Kind;
use crate::code::{Code, FLAGS, I, IRQ, Mark, PC, SP, T0, T1, T2, TORN, flag_local, reg};
use crate::debug::Spot;
use crate::facts::{Enabled, Facts};
use crate::flow::Flow;
use crate::image::Image;
use crate::insn::{Insn, flag};
use crate::live::{Live, Liveness};
use crate::memory::{Memory, STACK};
use crate::options::Options;
use crate::sharing::Sharing;
use bytecode::{FieldMask, FileIndex, Mode, Op, Receive, Span, Type, Variable};
use std::collections::{BTreeMap, BTreeSet};

/// The number of the channel on which devices interrupt.
pub const INTERRUPTS: i32 = 1;

/// Functions that are called to report an error.
const FAILURES: &[&str] = &["__assert", "__assert_fail", "__assert_func", "abort", "everypath_fail"];

/// The largest number of operations of a translated program.
const MAX_CODE: usize = 1 << 22;

/// The name of a violation that is an assertion of the program itself.
const ASSERTION: &str = "";

/// The vector of a reset.
const RESET: u16 = 0;

/// Whether and how a step ends before an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Before {
    /// No step ends here.
    Nothing,
    /// A step ends invisibly, in mode D.
    Line,
    /// A step ends, because an interrupt can matter here.
    Point,
    /// A step ends, because an input is chosen; an interrupt may matter too.
    Choice,
}

/// The cause if a program jumps to none of the expected addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stray {
    /// A return: the stack was damaged.
    Return,
    /// A jump through a pointer, whose targets may not all be known.
    Pointer,
    /// A return of a handler that does not enable interrupts again.
    Handler,
}

/// The translation of a program's code.
pub struct Emitter<'a> {
    pub image: &'a Image,
    pub flow: &'a Flow,
    pub facts: &'a Facts,
    pub memory: &'a Memory,
    pub sharing: &'a Sharing,
    pub options: &'a Options,
    pub liveness: &'a Liveness,
    /// The registers that handlers read before they write them.
    pub handlers_need: &'a Live,
    /// How the step before each instruction ends.
    pub before: &'a BTreeMap<u16, Before>,
    /// Accesses that an interrupt must not divide.
    pub races: &'a crate::races::Races,
    /// The texts of source lines.
    pub texts: &'a dyn Fn(u32, u32) -> String,
    pub code: Code,
    marks: BTreeMap<u16, Mark>,
    /// The address at which a process rests, for each point.
    rests: BTreeMap<u16, Mark>,
    /// Answers to interrupts: their addresses, and the address to return to.
    answers: Vec<(Mark, u16)>,
    /// Addresses other than points to which handlers return.
    woken: BTreeSet<u16>,
    /// The violation at an address, unless it is an assertion of the program itself.
    pub claims: Vec<(bytecode::Addr, &'static str)>,
    /// The variables with their values at the beginning.
    pub globals: &'a [Variable],
    enter: Mark,
    dispatch: Mark,
    halt: Mark,
    /// The instruction that is being translated.
    pub at: u16,
    /// The source position of the code being emitted.
    place: Option<Spot>,
    /// The text to show where no source line is known.
    text: String,
}

/// The name of a function without what compilers add to it: the number of a copy (`f.constprop.0`),
/// or the types of C++ (`_Z1fv`).
fn own_name(name: &str) -> &str {
    let name = name.split('.').next().unwrap_or(name);
    let Some(coded) = name.strip_prefix("_ZL").or_else(|| name.strip_prefix("_Z")) else { return name };
    let text = coded.trim_start_matches(|c: char| c.is_ascii_digit());
    let length = coded[..coded.len() - text.len()].parse().ok();
    length.and_then(|length: usize| text.get(..length)).unwrap_or(name)
}

/// The locals of the processor.
pub fn locals(memory: &Memory, options: &Options) -> Vec<Variable> {
    let hidden = |mut variable: Variable| {
        if !options.registers {
            variable.shown = bytecode::Shown::Hidden;
        }
        variable
    };
    let mut locals: Vec<Variable> = (0..FLAGS).map(|r| hidden(Variable::scalar(format!("r{r}"), Type::Byte))).collect();
    locals.extend(["C", "Z", "N", "V", "S", "H", "T"].map(|name| hidden(Variable::scalar(name, Type::Bit))));
    let scratch = |name: &str| Variable { scratch: true, ..Variable::scalar(name, Type::Unsigned(16)) };
    locals.push(hidden(Variable {
        init: vec![i32::from(memory.stack.0 + (memory.stack.1 - 1))],
        ..Variable::scalar("SP", Type::Unsigned(16))
    }));
    locals.push(scratch("pc"));
    locals.push(scratch("irq"));
    locals.push(Variable { shown: bytecode::Shown::Hidden, ..Variable::scalar("torn", Type::Unsigned(16)) });
    locals.push(scratch("count"));
    let stack = Variable::array("stack", Type::Unsigned(9), memory.stack.1.into());
    locals.push(Variable { shown: bytecode::Shown::Hidden, ..stack });
    locals
}

#[allow(clippy::too_many_arguments)]
impl<'a> Emitter<'a> {
    /// An emitter for a program that has been analysed.
    pub fn new(
        image: &'a Image,
        flow: &'a Flow,
        facts: &'a Facts,
        memory: &'a Memory,
        sharing: &'a Sharing,
        options: &'a Options,
        liveness: &'a Liveness,
        handlers_need: &'a Live,
        before: &'a BTreeMap<u16, Before>,
        races: &'a crate::races::Races,
        texts: &'a dyn Fn(u32, u32) -> String,
    ) -> Emitter<'a> {
        let mut code = Code::default();
        let marks = flow.nodes.keys().map(|at| (*at, code.mark())).collect();
        let (enter, dispatch, halt) = (code.mark(), code.mark(), code.mark());
        Emitter {
            image,
            flow,
            facts,
            memory,
            sharing,
            options,
            liveness,
            handlers_need,
            before,
            races,
            texts,
            code,
            marks,
            rests: BTreeMap::new(),
            answers: Vec::new(),
            woken: BTreeSet::new(),
            claims: Vec::new(),
            globals: &[],
            enter,
            dispatch,
            halt,
            at: 0,
            place: None,
            text: String::new(),
        }
    }

    /// Translates all code. The entry is the first address. `false` if the code is too large.
    pub fn run(&mut self) -> bool {
        let order: Vec<u16> = self.flow.nodes.keys().copied().collect();
        self.code.jump(self.marks[&0]);
        for (index, &at) in order.iter().enumerate() {
            let node = self.flow.nodes[&at];
            self.instruction(at);
            if self.code.here().index() > MAX_CODE {
                return false;
            }
            let behind = at.wrapping_add(node.len);
            let falls = !matches!(node.insn, None | Some(Insn::Jump { .. } | Insn::Ijmp | Insn::Icall | Insn::Ret | Insn::Reti))
                && self.flow.callees(at).is_empty();
            if falls && order.get(index + 1) != Some(&behind) {
                self.go(behind);
            }
        }
        self.place = None;
        self.text = "interrupt".to_owned();
        self.position(None);
        self.answers();
        if self.is_interrupted() {
            self.dispatcher();
        }
        self.place = None;
        self.text = "the program has stopped".to_owned();
        self.position(None);
        self.code.place(self.halt);
        self.code.op(Op::Nex {});
        true
    }

    /// The address at which the processor stops after an error.
    pub fn halted(&self) -> Option<bytecode::Addr> {
        self.code.address(self.halt)
    }

    /// The addresses at which the processor resets the watchdog, and the address at which it starts
    /// again after a reset by the watchdog.
    pub fn feedings(&self) -> Vec<bytecode::Addr> {
        let feeds = |at: &u16| matches!(self.flow.nodes[at].insn, Some(Insn::Wdr));
        let fed: Vec<_> = self.rests.iter().filter(|(at, _)| feeds(at)).filter_map(|(_, rest)| self.code.address(*rest)).collect();
        let begins = self.code.address(self.marks[&0]).filter(|_| self.sharing.resets && !fed.is_empty());
        fed.into_iter().chain(begins).collect()
    }

    /// Jumps to an instruction, or reports an error if there is none.
    fn go(&mut self, to: u16) {
        if let Some(text) = self.failure(to) {
            return self.fail(ASSERTION, &text);
        }
        match self.marks.get(&to) {
            Some(mark) => self.code.jump(*mark),
            None => self.fail("wild_jump", "the program runs into memory that is not code"),
        }
    }

    /// Sets the source position of the code from here on.
    pub fn position(&mut self, text: Option<&str>) {
        let Some(Spot { file, line, column }) = self.place else {
            let text = text.unwrap_or(&self.text).to_owned();
            return self.code.span(Span { addr: self.code.here(), file: FileIndex(0), line: 1, column: 1, text });
        };
        let text = text.map_or_else(|| (self.texts)(file, line), str::to_owned);
        self.code.span(Span { addr: self.code.here(), file: FileIndex(file as u16 + 1), line, column, text });
    }

    /// The error text for jumping to an instruction, if that is the entry of a function that is
    /// only called to report an error. The text is the line that calls it.
    fn failure(&self, to: u16) -> Option<String> {
        let name = self.image.names_at(to).map(own_name).find(|name| FAILURES.contains(name))?;
        Some(self.place.map_or_else(|| format!("{name} is called"), |spot| (self.texts)(spot.file, spot.line)))
    }

    /// Reports an error and stops.
    pub fn fail(&mut self, what: &'static str, text: &str) {
        self.code.c(0);
        self.claim(what, text);
        self.code.step(Mode::Normal);
        self.code.jump(self.halt);
    }

    /// Reports an error if the top of the stack is zero. `what` names the violation, among those
    /// that an `ASSERT` can state.
    pub fn claim(&mut self, what: &'static str, text: &str) {
        self.position(Some(text));
        if what != ASSERTION {
            self.claims.push((self.code.here(), what));
        }
        self.code.op(Op::Assert {});
        self.position(None);
    }

    fn instruction(&mut self, at: u16) {
        let node = self.flow.nodes[&at];
        self.at = at;
        self.code.place(self.marks[&at]);
        let place = self.image.debug.line(u32::from(at) * 2);
        self.place = place;
        let name = self.image.function_at(at).unwrap_or("code");
        self.text = format!("{name} at {:#06x}", u32::from(at) * 2);
        self.position(None);
        let Some(insn) = node.insn else {
            let text = format!("the word {:#06x} at {:#06x} is not an instruction", self.image.flash[at as usize], u32::from(at) * 2);
            return self.fail("illegal_instruction", &text);
        };
        let before = self.before.get(&at).copied().unwrap_or(Before::Nothing);
        self.end_step(at, &insn, before);
        self.execute(at, &insn);
    }

    /// Ends the step before an instruction, in the given way.
    fn end_step(&mut self, at: u16, insn: &Insn, before: Before) {
        if self.options.single {
            return self.single_step(at);
        }
        let enabled = if self.sharing.interrupts() { self.facts.enabled(at) } else { Enabled::No };
        // A reset does not depend on whether interrupts are enabled.
        let enabled = if self.sharing.resets { Enabled::Yes } else { enabled };
        // A store through a pointer may stop a device, whose flags are chosen then.
        let indirect = matches!(insn, Insn::St { .. }) && self.facts.resolved(at).is_none();
        let stopping: Vec<u16> = if indirect { self.stopping_registers() } else { Vec::new() };
        let (body, go_on, stop) = (self.code.mark(), self.code.mark(), self.code.mark());
        match before {
            Before::Nothing if stopping.is_empty() => return,
            Before::Line if stopping.is_empty() => return self.code.step(Mode::Deterministic),
            _ => {}
        }
        if !stopping.is_empty() {
            self.address_of(insn);
            for &addr in &stopping {
                self.code.push(T1);
                self.code.c(addr.into());
                self.code.op(Op::Eq {});
                self.code.jump_not_zero(stop);
            }
            if matches!(before, Before::Nothing | Before::Line) {
                self.code.jump(go_on);
            }
        }
        // The stack is private to the interrupted code, unless a pointer of a handler may point to
        // it. Memory below the stack pointer is the heap.
        let private = before == Before::Point
            && matches!(insn, Insn::Ld { .. } | Insn::St { .. })
            && self.facts.resolved(at).is_none()
            && !self.sharing.stack
            && !self.sharing.all_points
            && !self.sharing.uses_shared_registers(at, insn, self.facts);
        if private {
            self.address_of(insn);
            if self.sharing.only_devices(at, insn, self.facts) {
                self.code.push(T1);
                self.code.c(self.image.chip.ram.0.into());
                self.code.op(Op::Ge {});
                self.code.jump_not_zero(go_on);
            }
            self.code.push(T1);
            self.code.get(SP);
            self.code.op(Op::Gt {});
            self.code.jump_not_zero(go_on);
        }
        if enabled == Enabled::Perhaps && before == Before::Point {
            self.code.op(Op::Ldg { var: I });
            self.code.jump_zero(go_on);
        }
        if before == Before::Choice || enabled != Enabled::No || !stopping.is_empty() {
            if before == Before::Point && enabled == Enabled::No {
                self.code.jump(go_on);
            }
            self.code.place(stop);
            let live = self.live_before(at);
            self.forget(&live);
            self.code.step(Mode::Normal);
            let rest = self.code.mark();
            self.code.place(rest);
            self.rests.insert(at, rest);
            if enabled != Enabled::No && (self.sharing.resets || !self.sharing.shadowed.contains(&at)) {
                self.answer(at);
            }
            self.code.jump(body);
        }
        self.code.place(go_on);
        self.code.step(Mode::Deterministic);
        self.code.place(body);
    }

    /// For tests: each instruction begins with a visible step, and the state has its address.
    fn single_step(&mut self, at: u16) {
        let Some(counter) = self.memory.counter else { return };
        self.code.c(at.into());
        self.code.op(Op::Stg { var: counter });
        self.code.step(Mode::Normal);
        let rest = self.code.mark();
        self.code.place(rest);
        self.rests.insert(at, rest);
        if self.is_interrupted() && !self.sharing.shadowed.contains(&at) {
            self.answer(at);
        }
    }

    /// Whether the processor can be interrupted or reset at all.
    fn is_interrupted(&self) -> bool {
        self.sharing.interrupts() || self.sharing.resets
    }

    /// Adds an alternative: the interrupt that a device requests; `to` is executed after it.
    fn answer(&mut self, to: u16) {
        let mark = self.code.mark();
        self.code.or(mark);
        self.answers.push((mark, to));
    }

    fn answers(&mut self) {
        for (mark, to) in std::mem::take(&mut self.answers) {
            self.code.place(mark);
            self.code.c(INTERRUPTS);
            self.code.op(Op::Recv { fields: 1, mask: FieldMask(0), how: Receive::First });
            self.code.push(T0);
            self.code.set(IRQ);
            self.code.c(to.into());
            self.code.set(PC);
            self.code.step(Mode::Deterministic);
            self.code.jump(self.enter);
        }
    }

    /// The registers that are alive before an instruction, including those that handlers need.
    fn live_before(&self, at: u16) -> Live {
        let mut live = self.liveness.before(at);
        if self.facts.enabled(at) != Enabled::No {
            live.merge(self.handlers_need);
        }
        live
    }

    /// Sets all registers and flags that are not alive to zero.
    fn forget(&mut self, live: &Live) {
        if self.options.keeps_dead {
            return;
        }
        for r in 0..32_u8 {
            if !self.sharing.written[r as usize] {
                continue;
            }
            match live.regs[r as usize] {
                0xff => {}
                0 => {
                    self.code.c(0);
                    self.code.set(reg(r));
                }
                mask => {
                    self.code.get(reg(r));
                    self.code.and(mask.into());
                    self.code.set(reg(r));
                }
            }
        }
        for bit in 0..7 {
            if live.flags & 1 << bit == 0 {
                self.code.c(0);
                self.code.set(flag_local(bit));
            }
        }
    }

    /// The code that enters a handler and that returns from one.
    fn dispatcher(&mut self) {
        self.place = None;
        self.code.place(self.enter);
        self.text = "interrupt".to_owned();
        self.position(None);
        if self.sharing.resets {
            let taken = self.code.mark();
            self.code.get(IRQ);
            self.code.c(RESET.into());
            self.code.op(Op::Ne {});
            self.code.jump_not_zero(taken);
            self.reset();
            self.code.place(taken);
            self.text = "interrupt".to_owned();
            self.position(None);
        }
        if !self.sharing.interrupts() {
            return self.code.op(Op::Nex {});
        }
        if let Some(asleep) = self.memory.asleep {
            self.code.c(0);
            self.code.op(Op::Stg { var: asleep });
        }
        self.code.get(PC);
        self.code.pop(T2);
        self.push_address();
        self.code.c(0);
        self.code.op(Op::Stg { var: I });
        self.code.get(IRQ);
        self.code.pop(T2);
        let vectors: BTreeMap<u8, Option<u16>> = (self.sharing.missing.iter().map(|vector| (*vector, None)))
            .chain(self.sharing.handlers.iter().map(|(vector, entry)| (*vector, Some(*entry))))
            .collect();
        let targets: Vec<(u16, u16)> = vectors.keys().map(|vector| ((*vector).into(), (*vector).into())).collect();
        let sources = self.image.chip.sources;
        self.choose(&targets, Stray::Return, &mut |this, vector| match vectors[&(vector as u8)] {
            Some(entry) => {
                if this.sharing.shows_entries {
                    this.code.step(Mode::Normal);
                }
                this.go(entry);
            }
            None => {
                let name = sources.iter().find(|source| u16::from(source.vector) == vector).map_or("?", |source| source.name);
                this.fail("missing_handler", &format!("the interrupt {name} is enabled and has no handler: the program begins again"));
            }
        });
        self.code.place(self.dispatch);
        self.text = "end of the interrupt".to_owned();
        self.position(None);
        self.code.get(PC);
        self.code.pop(T2);
        let mut targets: BTreeMap<u16, bool> = self.rests.keys().map(|at| (*at, true)).collect();
        for at in &self.woken {
            targets.entry(*at).or_insert(false);
        }
        let targets: Vec<(u16, u16)> = targets.into_keys().map(|at| (at, at)).collect();
        self.choose(&targets, Stray::Return, &mut |this, at| {
            if this.options.single {
                return this.go(at);
            }
            this.code.step(Mode::Normal);
            match this.rests.get(&at) {
                Some(rest) => this.code.jump(*rest),
                None => this.go(at),
            }
        });
    }

    /// Sets everything to its initial value, except what a reset keeps: the EEPROM, variables that
    /// are not set at the start, and the reason of the reset.
    fn reset(&mut self) {
        self.text = "reset".to_owned();
        self.position(None);
        let chip = self.image.chip;
        let kept = |number: usize| {
            let is = |var: Option<bytecode::GlobalId>| var.is_some_and(|var| var.index() == number);
            let shown = |index: &usize| self.memory.shown.get(index).is_some_and(|var| var.index() == number);
            let mut objects = self.memory.objects.iter().enumerate();
            let object = objects.find(|(index, object)| object.global.index() == number || shown(index)).map(|(_, object)| object);
            is(self.memory.eeprom)
                || is(self.memory.flash.map(|(_, _, var)| var))
                || is(self.memory.io.get(&chip.reset_reason).copied())
                || is(self.memory.noinit.as_ref().map(|(_, var)| *var))
                || object.is_some_and(|object| self.image.noinit.contains(&object.addr))
        };
        let lost: Vec<(bytecode::GlobalId, &Variable)> = (0..self.globals.len())
            .filter(|number| !kept(*number))
            .filter_map(|number| Some((bytecode::GlobalId::new(number)?, &self.globals[number])))
            .collect();
        for (var, variable) in lost {
            for element in 0..variable.elements() {
                self.code.c(variable.initial(element));
                match variable.length {
                    None => self.code.op(Op::Stg { var }),
                    Some(_) => {
                        self.code.c(element as i32);
                        self.code.op(Op::Stgx { var });
                    }
                }
            }
        }
        if let Some(&var) = self.memory.io.get(&chip.reset_reason) {
            // Only the bits that are reasons are kept.
            self.code.op(Op::Ldg { var });
            self.code.and(0x1f);
            self.code.c(0x08);
            self.code.op(Op::Or {});
            self.code.op(Op::Stg { var });
        }
        if let Some(&var) = self.memory.io.get(&chip.watchdog.0) {
            self.code.c(chip.watchdog_after.into());
            self.code.op(Op::Stg { var });
        }
        for r in (0..32_u8).filter(|r| self.sharing.written[*r as usize]) {
            self.code.c(0);
            self.code.set(reg(r));
        }
        for bit in 0..7 {
            self.code.c(0);
            self.code.set(flag_local(bit));
        }
        let (base, size) = self.memory.stack;
        self.code.c(i32::from(base + (size - 1)));
        self.code.set(SP);
        self.code.c(0);
        self.code.set(TORN);
        for element in 0..size {
            self.code.c(0);
            self.code.c(element.into());
            self.code.op(Op::Stlx { var: STACK });
        }
        self.code.step(Mode::Normal);
        self.go(0);
    }

    /// Goes to one of several targets by the number in T2; reports an error if it is none of them.
    fn choose(&mut self, targets: &[(u16, u16)], stray: Stray, leaf: &mut dyn FnMut(&mut Self, u16)) {
        let wrong = self.code.mark();
        self.choose_or(targets, wrong, leaf);
        self.code.place(wrong);
        self.position(None);
        if stray == Stray::Pointer {
            // A target within the code is an address that this translation does not know.
            let outside = self.code.mark();
            for (bound, below) in [(u16::from(self.image.chip.vectors) * 2, true), (self.image.code_end() / 2, false)] {
                self.code.push(T2);
                self.code.c(bound.into());
                self.code.op(Op::Lt {});
                if below {
                    self.code.jump_not_zero(outside);
                } else {
                    self.code.jump_zero(outside);
                }
            }
            self.fail("unsupported", "the program jumps through a pointer to code that is not known to be a target");
            self.code.place(outside);
            self.position(None);
            return self.fail("wild_jump", "the program jumps through a pointer to memory that is not code");
        }
        if stray == Stray::Handler {
            return self.fail("unsupported", "a handler ends with RET, which is not supported");
        }
        self.fail("wild_jump", "the program returns to an address that no call, jump or interrupt stored");
    }

    fn choose_or(&mut self, targets: &[(u16, u16)], wrong: Mark, leaf: &mut dyn FnMut(&mut Self, u16)) {
        match targets {
            [] => self.code.jump(wrong),
            [(number, target)] => {
                self.code.push(T2);
                self.code.c((*number).into());
                self.code.op(Op::Eq {});
                self.code.jump_zero(wrong);
                leaf(self, *target);
            }
            several => {
                let (low, high) = several.split_at(several.len() / 2);
                let upper = self.code.mark();
                self.code.push(T2);
                self.code.c(high[0].0.into());
                self.code.op(Op::Lt {});
                self.code.jump_zero(upper);
                self.choose_or(low, wrong, leaf);
                self.code.place(upper);
                self.position(None);
                self.choose_or(high, wrong, leaf);
            }
        }
    }

    /// Stores the byte in T0 on top of the processor's stack.
    fn push_byte(&mut self, initialised: bool) {
        self.code.get(SP);
        self.code.c(self.memory.stack.0.into());
        self.code.op(Op::Ge {});
        let (what, text) = self.memory.overflow();
        self.claim(what, text);
        self.code.push(T0);
        if initialised {
            self.code.and(0xff);
            self.code.c(0x100);
            self.code.op(Op::Or {});
        }
        self.code.get(SP);
        self.code.c(self.memory.stack.0.into());
        self.code.op(Op::Sub {});
        self.code.op(Op::Stlx { var: STACK });
        self.code.get(SP);
        self.code.c(1);
        self.code.op(Op::Sub {});
        self.code.set(SP);
    }

    /// Takes the byte on top of the processor's stack into T0. Its element is empty afterwards.
    fn pop_byte(&mut self) {
        let index = |this: &mut Self| {
            this.code.get(SP);
            this.code.c(this.memory.stack.0.into());
            this.code.op(Op::Sub {});
        };
        self.code.get(SP);
        self.code.c(1);
        self.code.op(Op::Add {});
        self.code.set(SP);
        index(self);
        self.code.op(Op::Ldlx { var: STACK });
        self.code.and(0xff);
        self.code.pop(T0);
        if self.options.keeps_below {
            return;
        }
        self.code.c(0);
        index(self);
        self.code.op(Op::Stlx { var: STACK });
    }

    /// Pushes the address in T2, low byte first.
    fn push_address(&mut self) {
        self.code.push(T2);
        self.code.pop(T0);
        self.push_byte(true);
        self.code.push(T2);
        self.code.shr(8);
        self.code.pop(T0);
        self.push_byte(true);
    }

    /// Pops an address into T2.
    fn pop_address(&mut self) {
        self.pop_byte();
        self.code.push(T0);
        self.code.shl(8);
        self.code.pop(T2);
        self.pop_byte();
        self.code.push(T2);
        self.code.push(T0);
        self.code.op(Op::Or {});
        self.code.pop(T2);
    }

    fn execute(&mut self, at: u16, insn: &Insn) {
        let mut after = self.liveness.after(self.flow, self.facts, at);
        let behind = at.wrapping_add(self.flow.nodes[&at].len);
        // Which bits of an input are chosen does not depend on which values are kept.
        let all = self.options.keeps_dead.then(|| Live::everything(self.facts.slots));
        if arith::translate(&mut self.code, insn, all.as_ref().unwrap_or(&after)) {
            return;
        }
        let keeps = self.options.single || matches!(insn, Insn::Flag { .. } | Insn::Push { .. });
        if let Some(all) = all.filter(|_| keeps) {
            after = all;
        }
        match *insn {
            Insn::Flag { bit: flag::I, set } => {
                self.code.c(set.into());
                self.code.op(Op::Stg { var: I });
            }
            Insn::Flag { bit, set } => arith::constant_flag(&mut self.code, &after, bit, set.into()),
            Insn::Branch { bit, set, to } => {
                self.push_flag(bit);
                self.branch(set, to);
            }
            Insn::Cpse { d, r } => {
                self.code.get(reg(d));
                self.code.get(reg(r));
                self.code.op(Op::Eq {});
                self.branch(true, self.skip_to(behind));
            }
            Insn::SkipBit { r, bit, set } => {
                self.code.get(reg(r));
                self.code.and(1 << bit);
                self.branch(set, self.skip_to(behind));
            }
            Insn::SkipIo { addr, bit, set } => {
                self.load_io(addr, 1 << bit);
                self.code.and(1 << bit);
                self.branch(set, self.skip_to(behind));
            }
            Insn::Jump { to } => self.go(to),
            Insn::Call { to } if self.failure(to).is_some() => self.go(to),
            Insn::Call { .. } if self.flow.is_room(at) => {
                // Two bytes of room: no return uses this address.
                self.code.c(0);
                self.code.pop(T0);
                self.push_byte(false);
                self.push_byte(false);
            }
            Insn::Call { to } => {
                self.code.c(behind.into());
                self.code.pop(T2);
                self.push_address();
                self.code.step(Mode::Deterministic);
                self.go(to);
            }
            Insn::Ijmp | Insn::Icall => {
                let targets = if matches!(insn, Insn::Icall) { &self.flow.call_targets } else { self.flow.jumps(at) };
                let targets: Vec<(u16, u16)> = targets.iter().map(|to| (*to, *to)).collect();
                if matches!(insn, Insn::Icall) {
                    self.code.c(behind.into());
                    self.code.pop(T2);
                    self.push_address();
                }
                arith::pair(&mut self.code, crate::insn::Z);
                self.code.pop(T2);
                self.choose(&targets, Stray::Pointer, &mut Self::leave);
            }
            Insn::Ret => {
                self.pop_address();
                let targets: Vec<(u16, u16)> = self.flow.returns(at).into_iter().map(|to| (to, to)).collect();
                let in_handler = self.flow.owners(at).iter().any(|owner| self.sharing.handlers.iter().any(|(_, entry)| entry == owner));
                self.choose(&targets, if in_handler { Stray::Handler } else { Stray::Return }, &mut Self::leave);
            }
            Insn::Reti => {
                self.pop_address();
                self.code.c(1);
                self.code.op(Op::Stg { var: I });
                // A function that was called can end like this too.
                let returns = self.flow.returns(at);
                if self.sharing.handlers.is_empty() {
                    let targets: Vec<(u16, u16)> = returns.into_iter().map(|to| (to, to)).collect();
                    return self.choose(&targets, Stray::Return, &mut Self::leave);
                }
                self.woken.extend(returns);
                self.code.push(T2);
                self.code.set(PC);
                self.code.step(Mode::Deterministic);
                self.code.jump(self.dispatch);
            }
            Insn::Push { r } => {
                let mask = self.facts.slot_of_push(at).map_or(0xff, |slot| after.slots[slot]);
                self.code.get(reg(r));
                self.code.and(mask.into());
                self.code.pop(T0);
                self.push_byte(mask != 0);
            }
            Insn::Pop { d } => {
                self.pop_byte();
                self.code.push(T0);
                self.code.set(reg(d));
            }
            Insn::Lpm { d, inc } => self.load_flash(d, inc),
            Insn::Sleep => self.sleep(behind),
            Insn::Wdr => {}
            Insn::Break if self.options.halts_at_break => {
                self.code.step(Mode::Normal);
                self.code.jump(self.halt);
            }
            Insn::Break => {}
            Insn::Spm => self.fail("unsupported", "the program writes its own code, which is not supported"),
            _ => self.access(at, insn, &after),
        }
    }

    /// Adds an alternative: an interrupt wakes the processor.
    pub fn answer_sleep(&mut self, behind: u16) {
        if self.is_interrupted() {
            self.answer(behind);
            self.woken.insert(behind);
        }
    }

    fn leave(&mut self, to: u16) {
        self.code.step(Mode::Deterministic);
        self.go(to);
    }

    /// Jumps to an instruction if the top of the stack is (not) zero.
    fn branch(&mut self, set: bool, to: u16) {
        match self.marks.get(&to).copied().filter(|_| self.failure(to).is_none()) {
            Some(mark) if set => self.code.jump_not_zero(mark),
            Some(mark) => self.code.jump_zero(mark),
            None => {
                let stays = self.code.mark();
                if set {
                    self.code.jump_zero(stays)
                } else {
                    self.code.jump_not_zero(stays)
                }
                self.go(to);
                self.code.place(stays);
            }
        }
    }

    fn skip_to(&self, behind: u16) -> u16 {
        behind.wrapping_add(self.flow.nodes.get(&behind).map_or(1, |node| node.len))
    }

    /// Pushes a flag.
    pub fn push_flag(&mut self, bit: u8) {
        if bit == flag::I {
            self.code.op(Op::Ldg { var: I });
        } else {
            self.code.get(flag_local(bit));
        }
    }

    /// The kind of a register of a device.
    pub fn kind(&self, addr: u16) -> Kind {
        self.facts.kind(addr).unwrap_or(Kind::Plain)
    }
}
