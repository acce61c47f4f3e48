//! Loads and stores.

use crate::arith::{pair, set_pair};
use crate::chip::Kind;
use crate::code::{COUNT, I, SP, T0, T1, T2, T3, TORN, reg};
use crate::emit::Emitter;
use crate::groups;
use crate::insn::{Insn, Mode, Reg};
use crate::live::Live;
use crate::memory::{Object, Place, STACK};
use crate::races::note;
use bytecode::{Mode as Ends, Op};

impl Emitter<'_> {
    /// Puts the address of an access through a pointer into T1.
    pub fn address_of(&mut self, insn: &Insn) {
        let (Insn::Ld { ptr, mode, .. } | Insn::St { ptr, mode, .. }) = *insn else { return };
        pair(&mut self.code, ptr);
        match mode {
            Mode::At(0) | Mode::PostInc => {}
            Mode::At(q) => {
                self.code.c(q.into());
                self.code.op(Op::Add {});
                self.code.and(0xffff);
            }
            Mode::PreDec => {
                self.code.c(1);
                self.code.op(Op::Sub {});
                self.code.and(0xffff);
            }
        }
        self.code.pop(T1);
    }

    /// Changes the pointer after an access, if the mode says so.
    fn move_pointer(&mut self, ptr: Reg, mode: Mode) {
        let by = match mode {
            Mode::At(_) => return,
            Mode::PostInc => 1,
            Mode::PreDec => -1,
        };
        pair(&mut self.code, ptr);
        self.code.c(by);
        self.code.op(Op::Add {});
        set_pair(&mut self.code, ptr);
    }

    /// An instruction that accesses the data space.
    pub fn access(&mut self, at: u16, insn: &Insn, after: &Live) {
        match *insn {
            Insn::Load { d, addr } => self.load(at, addr, d, after),
            Insn::Store { addr, r } => {
                self.code.get(reg(r));
                self.code.pop(T0);
                self.store(at, addr);
            }
            Insn::Bit { addr, bit, set } => self.store_bit(addr, bit, set),
            Insn::Ld { d, ptr, mode } => match self.facts.resolved(at) {
                Some(addr) => {
                    self.move_pointer(ptr, mode);
                    self.load(at, addr, d, after);
                }
                None => {
                    self.address_of(insn);
                    self.move_pointer(ptr, mode);
                    self.load_any();
                    self.code.set(reg(d));
                    self.code.step(Ends::Deterministic);
                }
            },
            Insn::St { ptr, mode, r } => match self.facts.resolved(at) {
                Some(addr) => {
                    self.code.get(reg(r));
                    self.code.pop(T0);
                    self.move_pointer(ptr, mode);
                    self.store(at, addr);
                }
                None => {
                    self.code.get(reg(r));
                    self.code.pop(T0);
                    self.address_of(insn);
                    self.move_pointer(ptr, mode);
                    self.store_any();
                    self.code.step(Ends::Deterministic);
                }
            },
            _ => {}
        }
    }

    fn load(&mut self, at: u16, addr: u16, d: Reg, after: &Live) {
        match self.memory.place(addr) {
            Place::Io(_) => {
                let wanted = after.regs[d as usize];
                self.load_io(addr, wanted);
                self.code.set(reg(d));
                if !matches!(self.kind(addr), Kind::Plain | Kind::Stack { .. } | Kind::Status) {
                    self.code.step(Ends::Deterministic);
                }
            }
            place => {
                self.race(at);
                self.choose_noinit(place, addr);
                self.load_place(place, Some(addr));
                self.code.set(reg(d));
            }
        }
    }

    /// Stores T0.
    fn store(&mut self, at: u16, addr: u16) {
        match self.memory.place(addr) {
            Place::Io(_) => self.store_io(addr),
            place => {
                self.race(at);
                self.store_place(place, Some(addr));
            }
        }
    }

    /// Pushes the address, a constant or T1, relative to a start.
    fn offset(&mut self, addr: Option<u16>, start: u16) {
        match addr {
            Some(addr) => self.code.c(i32::from(addr) - i32::from(start)),
            None => {
                self.code.push(T1);
                self.code.c(start.into());
                self.code.op(Op::Sub {});
            }
        }
    }

    /// Pushes the index of the element that contains a byte, and puts the number of bits below the
    /// byte into T3.
    fn element(&mut self, object: &Object, addr: Option<u16>) {
        let (shift, mask) = match object.scalar.size {
            1 => (0, 0),
            2 => (1, 1),
            _ => (2, 3),
        };
        if mask != 0 {
            self.offset(addr, object.addr);
            self.code.and(mask);
            self.code.shl(3);
            self.code.pop(T3);
        }
        if object.count.is_some() {
            self.offset(addr, object.addr);
            self.code.shr(shift);
        }
    }

    /// Reports an access below the stack pointer, where nothing is. With a heap, this memory
    /// belongs to the heap.
    fn above_stack_pointer(&mut self, addr: Option<u16>) {
        if self.memory.heap {
            return;
        }
        match addr {
            Some(addr) => self.code.c(addr.into()),
            None => self.code.push(T1),
        }
        self.code.get(SP);
        self.code.op(Op::Gt {});
        self.claim("access_outside", "the program accesses memory below the stack pointer");
    }

    /// Pushes the byte at a location. The address is a constant or in T1.
    fn load_place(&mut self, place: Place, addr: Option<u16>) {
        match place {
            Place::Register(r) => self.code.get(reg(r)),
            Place::Stack => {
                self.above_stack_pointer(addr);
                self.offset(addr, self.memory.stack.0);
                self.code.op(Op::Ldlx { var: STACK });
                if self.options.uninitialised {
                    self.code.pop(T2);
                    self.code.push(T2);
                    self.code.and(0x100);
                    self.claim("uninitialised_read", "a local variable is read before it has a value");
                    self.code.push(T2);
                }
                self.code.and(0xff);
            }
            Place::Object(index) => {
                let object = self.memory.objects[index].clone();
                if let (None, Some((range, var))) = (addr, self.memory.noinit.clone().filter(|_| self.memory.is_noinit(object.addr))) {
                    self.offset(None, range.start);
                    self.code.op(Op::Ldgx { var });
                    let text = "a variable that the start-up code does not set is read through a pointer, which is not supported";
                    self.claim("unsupported", text);
                }
                if addr.is_none() {
                    self.race_through(&object);
                }
                self.element(&object, addr);
                self.code.op(match object.count {
                    Some(_) => Op::Ldgx { var: object.global },
                    None => Op::Ldg { var: object.global },
                });
                if object.scalar.size > 1 {
                    self.code.push(T3);
                    self.code.op(Op::Shr {});
                }
                if object.scalar.size > 1 || object.scalar.signed {
                    self.code.and(0xff);
                }
            }
            Place::Io(addr) => self.load_io(addr, 0xff),
            Place::Outside => {
                self.code.c(0);
                self.claim("access_outside", "the program reads memory that holds no variable");
                self.code.c(0);
            }
        }
    }

    /// Stores T0 at a location.
    fn store_place(&mut self, place: Place, addr: Option<u16>) {
        match place {
            Place::Register(r) => {
                self.code.push(T0);
                self.code.set(reg(r));
            }
            Place::Stack => {
                self.above_stack_pointer(addr);
                self.code.push(T0);
                self.code.c(0x100);
                self.code.op(Op::Or {});
                self.offset(addr, self.memory.stack.0);
                self.code.op(Op::Stlx { var: STACK });
            }
            Place::Object(index) => {
                let object = self.memory.objects[index].clone();
                let (load, store) = match object.count {
                    Some(_) => (Op::Ldgx { var: object.global }, Op::Stgx { var: object.global }),
                    None => (Op::Ldg { var: object.global }, Op::Stg { var: object.global }),
                };
                if addr.is_none() {
                    self.race_through(&object);
                }
                if object.scalar.size > 1 {
                    self.element(&object, addr);
                    self.code.op(load);
                    self.code.c(0xff);
                    self.code.push(T3);
                    self.code.op(Op::Shl {});
                    self.code.op(Op::Not {});
                    self.code.op(Op::And {});
                    self.code.push(T0);
                    self.code.push(T3);
                    self.code.op(Op::Shl {});
                    self.code.op(Op::Or {});
                    if object.scalar.size == 2 {
                        self.fit_word(object.scalar.signed);
                    }
                } else {
                    self.code.push(T0);
                    if object.scalar.signed {
                        self.code.c(0x80);
                        self.code.op(Op::Xor {});
                        self.code.c(0x80);
                        self.code.op(Op::Sub {});
                    }
                }
                if object.count.is_some() {
                    self.element(&object, addr);
                }
                self.code.op(store);
                if let Some((range, var)) = self.memory.noinit.clone().filter(|_| self.memory.is_noinit(object.addr)) {
                    self.code.c(1);
                    self.offset(addr, range.start);
                    self.code.op(Op::Stgx { var });
                }
                if let Some(&shown) = self.memory.shown.get(&index)
                    && self.sharing.commits.contains(&self.at)
                {
                    let behind = self.sharing.behind.get(&self.at).filter(|_| addr.is_none());
                    let incomplete = behind.map_or(0, |behind| groups::inside(behind, object.scalar.size));
                    let end = self.code.mark();
                    if incomplete != 0 {
                        // More bytes of the same scalar follow.
                        self.code.c(incomplete);
                        self.offset(None, object.addr);
                        self.code.and(i32::from(object.scalar.size) - 1);
                        self.code.op(Op::Shr {});
                        self.code.and(1);
                        self.code.jump_not_zero(end);
                    }
                    self.show(&object, shown, addr);
                    self.code.place(end);
                }
            }
            Place::Io(addr) => self.store_io(addr),
            Place::Outside => {
                self.code.c(0);
                self.claim("access_outside", "the program writes memory that holds no variable");
            }
        }
    }

    /// Copies a variable of several bytes, or an element, to where properties find its value.
    fn show(&mut self, object: &Object, shown: bytecode::GlobalId, addr: Option<u16>) {
        match object.count {
            None => {
                self.code.op(Op::Ldg { var: object.global });
                self.code.op(Op::Stg { var: shown });
            }
            Some(_) => {
                self.element(object, addr);
                self.code.op(Op::Ldgx { var: object.global });
                self.element(object, addr);
                self.code.op(Op::Stgx { var: shown });
            }
        }
    }

    /// Chooses the value of a byte that the start-up code does not set, when the byte is first
    /// read.
    fn choose_noinit(&mut self, place: Place, addr: u16) {
        let Some((range, var)) = self.memory.noinit.clone().filter(|(range, _)| range.contains(&addr)) else { return };
        let known = self.code.mark();
        self.offset(Some(addr), range.start);
        self.code.op(Op::Ldgx { var });
        self.code.jump_not_zero(known);
        self.choose_bits(0xff);
        self.code.pop(T0);
        self.store_place(place, Some(addr));
        if let Place::Object(index) = place
            && let Some(&shown) = self.memory.shown.get(&index)
        {
            self.show(&self.memory.objects[index].clone(), shown, Some(addr));
        }
        self.code.place(known);
    }

    /// Makes the top of the stack a value of two bytes.
    fn fit_word(&mut self, signed: bool) {
        self.code.and(0xffff);
        if signed {
            self.code.c(0x8000);
            self.code.op(Op::Xor {});
            self.code.c(0x8000);
            self.code.op(Op::Sub {});
        }
    }

    /// Pushes the byte at the address in T1.
    fn load_any(&mut self) {
        let end = self.code.mark();
        self.search(&mut |this, place| {
            this.load_place(place, None);
            this.code.pop(T2);
            this.code.jump(end);
        });
        self.code.place(end);
        self.code.push(T2);
    }

    /// Stores T0 at the address in T1.
    fn store_any(&mut self) {
        let end = self.code.mark();
        self.search(&mut |this, place| {
            this.store_place(place, None);
            this.code.jump(end);
        });
        self.code.place(end);
    }

    /// Finds the location of the address in T1. Most pointers point to the stack or to an array.
    fn search(&mut self, leaf: &mut dyn FnMut(&mut Self, Place)) {
        let (variables, low) = (self.code.mark(), self.code.mark());
        self.less(self.memory.stack.0);
        self.code.jump_not_zero(variables);
        leaf(self, Place::Stack);
        self.code.place(variables);
        self.less(self.image.chip.ram.0);
        self.code.jump_not_zero(low);
        let outside = self.code.mark();
        if !self.memory.objects.is_empty() {
            self.less(self.image.data_end);
            self.code.jump_zero(outside);
            self.search_objects(0, self.memory.objects.len(), leaf);
            self.code.place(outside);
        }
        leaf(self, Place::Outside);
        self.code.place(low);
        let registers: Vec<u16> =
            (0..32).chain(self.memory.io.keys().copied().filter(|addr| self.memory.is_plain(*addr, self.image.chip))).collect();
        for addr in registers {
            let next = self.code.mark();
            self.code.push(T1);
            self.code.c(addr.into());
            self.code.op(Op::Eq {});
            self.code.jump_zero(next);
            let place = self.memory.place(addr);
            leaf(self, place);
            self.code.place(next);
        }
        self.code.c(0);
        let text = "the program uses this register of a device through a pointer, which is not supported";
        self.claim("unsupported", text);
        leaf(self, Place::Outside);
    }

    fn less(&mut self, bound: u16) {
        self.code.push(T1);
        self.code.c(bound.into());
        self.code.op(Op::Lt {});
    }

    fn search_objects(&mut self, first: usize, end: usize, leaf: &mut dyn FnMut(&mut Self, Place)) {
        if end - first == 1 {
            return leaf(self, Place::Object(first));
        }
        let middle = (first + end) / 2;
        let upper = self.code.mark();
        self.less(self.memory.objects[middle].addr);
        self.code.jump_zero(upper);
        self.search_objects(first, middle, leaf);
        self.code.place(upper);
        self.search_objects(middle, end, leaf);
    }

    /// LPM. Only the constants of the program are kept in a state, or all its code.
    pub fn load_flash(&mut self, d: Reg, inc: bool) {
        let Some((start, size, table)) = self.memory.flash else { return };
        pair(&mut self.code, crate::insn::Z);
        self.code.and((self.image.chip.flash * 2 - 1) as i32);
        self.code.c(start.into());
        self.code.op(Op::Sub {});
        self.code.pop(T1);
        if inc {
            self.move_pointer(crate::insn::Z, Mode::PostInc);
        }
        let (inside, end) = (self.code.mark(), self.code.mark());
        self.code.push(T1);
        self.code.c(0);
        self.code.op(Op::Ge {});
        self.code.push(T1);
        self.code.c(size.into());
        self.code.op(Op::Lt {});
        self.code.op(Op::And {});
        if start > 0 {
            self.claim("unsupported", "the program reads its own code; `-D flash=all` keeps the code in the states");
        } else {
            self.code.jump_not_zero(inside);
            // Memory that is erased.
            self.code.c(0xff);
            self.code.set(reg(d));
            self.code.jump(end);
        }
        self.code.place(inside);
        self.code.push(T1);
        self.code.op(Op::Ldgx { var: table });
        self.code.set(reg(d));
        self.code.place(end);
    }

    /// Writes a byte of the stack pointer. The bytes below it are empty afterwards.
    pub fn set_stack_pointer(&mut self, high: bool) {
        if high {
            self.code.get(SP);
            self.code.and(0xff);
            self.code.push(T0);
            self.code.shl(8);
            self.code.op(Op::Or {});
            self.code.set(SP);
            return;
        }
        let (again, done) = (self.code.mark(), self.code.mark());
        // The bytes that are released, at most as many as the stack has.
        self.code.get(SP);
        self.code.pop(T1);
        self.code.get(SP);
        self.code.and(0xff00);
        self.code.push(T0);
        self.code.op(Op::Or {});
        self.code.set(SP);
        let (base, size) = self.memory.stack;
        self.code.get(SP);
        self.code.c(i32::from(base) - 1);
        self.code.op(Op::Ge {});
        let (what, text) = self.memory.overflow();
        self.claim(what, text);
        if self.options.keeps_below {
            self.code.place(done);
            return self.code.step(Ends::Deterministic);
        }
        self.code.push(T1);
        self.code.c(i32::from(base) - 1);
        self.code.op(Op::Ge {});
        self.code.jump_zero(done);
        self.code.push(T1);
        self.code.set(COUNT);
        self.code.step(Ends::Deterministic);
        self.code.place(again);
        self.code.get(COUNT);
        self.code.get(SP);
        self.code.op(Op::Lt {});
        self.code.get(COUNT);
        self.code.c(i32::from(base) + i32::from(size) - 1);
        self.code.op(Op::Lt {});
        self.code.op(Op::And {});
        self.code.jump_zero(done);
        self.code.get(COUNT);
        self.code.c(1);
        self.code.op(Op::Add {});
        self.code.set(COUNT);
        self.code.c(0);
        self.code.get(COUNT);
        self.code.c(base.into());
        self.code.op(Op::Sub {});
        self.code.op(Op::Stlx { var: STACK });
        self.code.step(Ends::Deterministic);
        self.code.jump(again);
        self.code.place(done);
        self.code.step(Ends::Deterministic);
    }

    /// Reports an interrupt that divides an access to a variable of several bytes, if the handler
    /// accesses the variable too.
    fn race(&mut self, at: u16) {
        let Some(found) = self.races.named.get(&at).copied() else { return };
        if let Some(check) = found.check {
            // T0 holds the value that is stored.
            self.code.get(TORN);
            self.code.c(check.written.into());
            self.code.op(Op::Ne {});
            if let Some(read) = check.read {
                self.code.get(TORN);
                self.code.c(read.into());
                self.code.op(Op::Ne {});
                self.code.op(Op::And {});
            }
            if found.begins.is_none() {
                self.code.op(Op::Ldg { var: I });
                self.code.op(Op::Or {});
            }
            let text = format!("an interrupt divides an access to {}", self.memory.objects[check.object].name);
            self.claim("interrupt_race", &text);
        }
        if found.begins.is_none() && !found.ends {
            return;
        }
        let end = self.code.mark();
        self.code.op(Op::Ldg { var: I });
        self.code.jump_zero(end);
        self.code.c(found.begins.unwrap_or(0).into());
        self.code.set(TORN);
        self.code.place(end);
    }

    /// The same for an access through a pointer, whose address is in T1, to this variable.
    fn race_through(&mut self, object: &Object) {
        let size = object.scalar.size;
        let Some(found) = self.races.through.get(&self.at).cloned().filter(|_| size > 1) else { return };
        let (before, behind) = (groups::inside(&found.before, size), groups::inside(&found.behind, size));
        let (first, last) = (behind & !before, before & !behind);
        if !found.divides && first | last == 0 {
            return;
        }
        // The position of the byte in the scalar, and the note of a read of the scalar.
        self.offset(None, object.addr);
        self.code.and(i32::from(size) - 1);
        self.code.pop(T2);
        self.code.push(T1);
        self.code.push(T2);
        self.code.op(Op::Sub {});
        self.code.shl(1);
        self.code.c(note(0, false).into());
        self.code.op(Op::Add {});
        self.code.pop(T3);
        let is_in = |this: &mut Self, positions: i32| {
            this.code.c(positions);
            this.code.push(T2);
            this.code.op(Op::Shr {});
            this.code.and(1);
        };
        if found.divides {
            self.code.get(TORN);
            self.code.push(T3);
            self.code.c(1);
            self.code.op(Op::Add {});
            self.code.op(Op::Ne {});
            if found.writes {
                self.code.get(TORN);
                self.code.push(T3);
                self.code.op(Op::Ne {});
                self.code.op(Op::And {});
            }
            is_in(self, !first & 0xf);
            self.code.op(Op::Ldg { var: I });
            self.code.op(Op::And {});
            self.code.op(Op::Or {});
            let text = format!("an interrupt divides an access to {}", object.name);
            self.claim("interrupt_race", &text);
        }
        let (ends, end) = (self.code.mark(), self.code.mark());
        self.code.op(Op::Ldg { var: I });
        self.code.jump_zero(end);
        is_in(self, first);
        self.code.jump_zero(ends);
        self.code.push(T3);
        self.code.c(found.writes.into());
        self.code.op(Op::Add {});
        self.code.set(TORN);
        self.code.jump(end);
        self.code.place(ends);
        is_in(self, last);
        self.code.jump_zero(end);
        self.code.c(0);
        self.code.set(TORN);
        self.code.place(end);
    }
}
