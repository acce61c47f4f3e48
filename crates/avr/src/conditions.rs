//! The code of expressions over the variables of a program.
//!
//! Values have 32 bits. As in C, an operation is unsigned if one of its operands is an unsigned
//! number of 32 bits; smaller unsigned numbers fit into the signed ones. The byte-code compares
//! signed numbers only: an unsigned comparison inverts the highest bits first.

use crate::chip::{Chip, Kind};
use crate::code::{I, T0, T1, T2, T3};
use crate::debug::Field;
use crate::expression::{Cast, Expr, Step, Wrong};
use crate::image::Image;
use crate::memory::{Memory, Object, Place};
use bytecode::{Addr, Op};
use std::collections::BTreeSet;

/// Adds the registers of devices that an expression names.
pub fn registers(expr: &Expr, chip: &Chip, found: &mut BTreeSet<u16>) {
    expr.names(&mut |name, _| {
        found.extend(chip.registers.iter().filter(|register| register.name == name).map(|register| register.addr));
    });
}

/// Adds the variables that an expression names.
pub fn objects(expr: &Expr, memory: &Memory, found: &mut BTreeSet<usize>) {
    expr.names(&mut |name, steps| {
        if let Ok(Some((object, _))) = object_named(name, steps, memory) {
            found.insert(object);
        }
    });
}

/// The variable that a name and its steps lead to, and the steps that remain, which are indices.
/// The error is a sentence.
fn object_named<'e>(name: &str, steps: &'e [Step], memory: &Memory) -> Result<Option<(usize, &'e [Step])>, String> {
    // The indices at the end may be those of an array; the others are part of the name.
    let fixed = steps.iter().rposition(|step| matches!(step, Step::Member(_))).map_or(0, |last| last + 1);
    let mut text = name.to_owned();
    let mut unknown = false;
    for step in &steps[..fixed] {
        match step {
            Step::Member(member) => text = format!("{text}.{member}"),
            Step::Index(Expr::Number(number, _)) => text = format!("{text}[{number}]"),
            Step::Index(_) => unknown = true,
        }
    }
    if unknown {
        return Err(format!("the index of an element of `{name}` must be a number here: its members are variables of their own"));
    }
    let mut names = vec![text];
    for step in &steps[fixed..] {
        let Step::Index(Expr::Number(number, _)) = step else { break };
        names.push(format!("{}[{number}]", names[names.len() - 1]));
    }
    for (taken, name) in names.iter().enumerate().rev() {
        if let Some(found) = lookup(name, memory)? {
            return Ok(Some((found, &steps[fixed + taken..])));
        }
    }
    Ok(None)
}

/// The variable with a name. Two variables that differ only in what stands before `::`, or in the
/// address behind `@`, must be told apart.
fn lookup(name: &str, memory: &Memory) -> Result<Option<usize>, String> {
    let objects = memory.objects.iter().enumerate();
    let address = |object: &Object| format!("{}@{:#06x}", bare(&object.name), object.addr);
    let fitting: Vec<(usize, &Object)> =
        objects.filter(|(_, object)| object.name == name || bare(&object.name) == name || address(object) == name).collect();
    match fitting[..] {
        [] => Ok(None),
        [(found, _)] => Ok(Some(found)),
        _ => {
            let is_bare = |object: &Object| bare(&object.name) == object.name;
            let names: Vec<String> = fitting.iter().map(|(_, o)| if is_bare(o) { address(o) } else { o.name.clone() }).collect();
            Err(format!("several variables are called `{name}`; name one of them: {}", names.join(", ")))
        }
    }
}

/// A name without what stands before `::` and without the address behind `@`.
fn bare(name: &str) -> &str {
    let name = name.rsplit_once("::").map_or(name, |(_, name)| name);
    name.split_once('@').map_or(name, |(name, _)| name)
}

/// The code of a condition under construction.
pub struct Condition<'a> {
    pub image: &'a Image,
    pub memory: &'a Memory,
    /// Jumps lead to addresses relative to the first operation.
    pub ops: Vec<Op>,
    /// The locations that the value depends on.
    pub observed: &'a mut BTreeSet<Place>,
}

impl Condition<'_> {
    fn op(&mut self, op: Op) {
        self.ops.push(op);
    }

    fn c(&mut self, value: i32) {
        self.op(Op::Ldc { value });
    }

    fn push(&mut self, reg: bytecode::Register) {
        self.op(Op::Push { reg });
    }

    fn pop(&mut self, reg: bytecode::Register) {
        self.op(Op::Pop { reg });
    }

    /// A jump whose target is set by [`Condition::land`].
    fn jump(&mut self, op: Op) -> usize {
        self.op(op);
        self.ops.len() - 1
    }

    fn land(&mut self, jump: usize) {
        let here = Addr(self.ops.len() as u32);
        if let Some(target) = self.ops[jump].address_mut() {
            *target = here;
        }
    }

    fn truth(&mut self) {
        self.op(Op::Lnot {});
        self.op(Op::Lnot {});
    }

    /// Emits code that pushes the value. `true` if the value is an unsigned number of 32 bits.
    pub fn compile(&mut self, expr: &Expr) -> Result<bool, Wrong> {
        match expr {
            Expr::Number(value, unsigned) => {
                self.c(*value);
                Ok(*unsigned)
            }
            Expr::Unary(op, inner) => {
                let unsigned = self.compile(inner)?;
                self.op(*op);
                Ok(unsigned && *op != Op::Lnot {})
            }
            Expr::Binary(op, a, b) => {
                let left = self.compile(a)?;
                let right = self.compile(b)?;
                Ok(self.binary(*op, left, left || right))
            }
            Expr::Both(and, a, b) => {
                self.compile(a)?;
                self.truth();
                if b.can_fail() {
                    // The right side is computed only if the left one does not decide.
                    self.pop(T0);
                    self.push(T0);
                    self.push(T0);
                    let target = Addr(0);
                    let end = self.jump(if *and { Op::Jmpz { target } } else { Op::Jmpnz { target } });
                    self.op(Op::Drop {});
                    self.compile(b)?;
                    self.truth();
                    self.land(end);
                } else {
                    self.compile(b)?;
                    self.truth();
                    self.op(if *and { Op::And {} } else { Op::Or {} });
                }
                Ok(false)
            }
            Expr::Choice(all) => {
                let [condition, yes, no] = &**all;
                self.compile(condition)?;
                let other = self.jump(Op::Jmpz { target: Addr(0) });
                let one = self.compile(yes)?;
                let end = self.jump(Op::Jmp { target: Addr(0) });
                self.land(other);
                let two = self.compile(no)?;
                self.land(end);
                Ok(one || two)
            }
            Expr::Cast(cast, inner) => {
                self.compile(inner)?;
                match *cast {
                    Cast::Bool => self.truth(),
                    Cast::Number(32, _) => {}
                    Cast::Number(bits, signed) => {
                        self.c((1 << bits) - 1);
                        self.op(Op::And {});
                        if signed {
                            self.sign(1 << (bits - 1));
                        }
                    }
                }
                Ok(*cast == Cast::Number(32, false))
            }
            Expr::Name { name, steps, at } => self.name(name, steps).map_err(|message| (*at, message)),
        }
    }

    /// Extends the sign, which is this bit.
    fn sign(&mut self, bit: i32) {
        self.c(bit);
        self.op(Op::Xor {});
        self.c(bit);
        self.op(Op::Sub {});
    }

    /// Applies an operation to the two values on top. `left` says that the left one is unsigned,
    /// `unsigned` that one of them is. Gives whether the result is unsigned.
    fn binary(&mut self, op: Op, left: bool, unsigned: bool) -> bool {
        match op {
            Op::Eq {} | Op::Ne {} => {
                self.op(op);
                false
            }
            Op::Lt {} | Op::Le {} | Op::Gt {} | Op::Ge {} => {
                if unsigned {
                    self.pop(T1);
                    self.c(i32::MIN);
                    self.op(Op::Xor {});
                    self.push(T1);
                    self.c(i32::MIN);
                    self.op(Op::Xor {});
                }
                self.op(op);
                false
            }
            Op::Shr {} if left => {
                self.pop(T1);
                self.push(T1);
                self.op(Op::Shr {});
                // The copies of the highest bit, which the shift has put in, are removed.
                self.c(i32::MIN);
                self.push(T1);
                self.op(Op::Shr {});
                self.c(1);
                self.op(Op::Shl {});
                self.op(Op::Not {});
                self.op(Op::And {});
                true
            }
            Op::Shl {} | Op::Shr {} => {
                self.op(op);
                left
            }
            Op::Div {} | Op::Mod {} if unsigned => {
                self.divide(op == Op::Mod {});
                true
            }
            _ => {
                self.op(op);
                unsigned
            }
        }
    }

    /// Pushes whether register `a` is at least register `b`, as unsigned numbers.
    fn reaches(&mut self, a: bytecode::Register, b: bytecode::Register) {
        for reg in [a, b] {
            self.push(reg);
            self.c(i32::MIN);
            self.op(Op::Xor {});
        }
        self.op(Op::Ge {});
    }

    /// Divides unsigned numbers: half of the first one, which has a sign of zero, gives a quotient
    /// that is at most one too small. A divisor with the highest bit set goes in at most once.
    fn divide(&mut self, wants_rest: bool) {
        self.pop(T1);
        self.pop(T0);
        self.push(T1);
        self.c(0);
        self.op(Op::Lt {});
        let large = self.jump(Op::Jmpnz { target: Addr(0) });
        self.push(T0);
        self.c(1);
        self.op(Op::Shr {});
        self.c(i32::MAX);
        self.op(Op::And {});
        self.push(T1);
        self.op(Op::Div {});
        self.c(1);
        self.op(Op::Shl {});
        self.pop(T2);
        self.push(T0);
        self.push(T2);
        self.push(T1);
        self.op(Op::Mul {});
        self.op(Op::Sub {});
        self.pop(T3);
        self.push(T2);
        self.reaches(T3, T1);
        self.op(Op::Add {});
        let end = self.jump(Op::Jmp { target: Addr(0) });
        self.land(large);
        self.reaches(T0, T1);
        self.land(end);
        if wants_rest {
            self.pop(T2);
            self.push(T0);
            self.push(T2);
            self.push(T1);
            self.op(Op::Mul {});
            self.op(Op::Sub {});
        }
    }

    fn name(&mut self, name: &str, steps: &[Step]) -> Result<bool, String> {
        if let Some((found, rest)) = object_named(name, steps, self.memory)? {
            return self.object(found, rest);
        }
        let whole = path(name, steps);
        if let Some(field) = self.image.debug.fields.get(&whole) {
            let field = *field;
            return self.bit_field(&field).ok_or(format!("`{whole}` lies where no variable is known"));
        }
        let others: Vec<&str> = self.image.debug.fields.keys().map(String::as_str).filter(|known| bare(known) == whole).collect();
        if !others.is_empty() {
            return Err(format!("several variables are called `{whole}`; name one of them: {}", others.join(", ")));
        }
        if let Some(register) = self.image.chip.registers.iter().find(|register| register.name == whole) {
            let why = match register.kind {
                Kind::Status => "flags are not kept where they are dead; `SREG_I` is the interrupt flag",
                Kind::Stack { .. } => "the stack pointer cannot be observed",
                kind if kind.is_input() && !matches!(kind, Kind::Pins { .. }) => {
                    "it has a value only when it is read; name the variable that keeps it"
                }
                _ => "",
            };
            if !why.is_empty() {
                return Err(format!("a condition cannot name {name}: {why}"));
            }
            if let Some(&var) = self.memory.io.get(&register.addr) {
                self.observed.insert(Place::Io(register.addr));
                self.op(Op::Ldg { var });
                return Ok(false);
            }
        }
        if whole == "SREG_I" {
            let status = self.image.chip.registers.iter().find(|register| register.kind == Kind::Status);
            self.observed.extend(status.map(|register| Place::Io(register.addr)));
            self.op(Op::Ldg { var: I });
            return Ok(false);
        }
        match self.image.debug.constants.get(&whole) {
            Some(Some(value)) => {
                self.c(*value as i32);
                return Ok(*value > i32::MAX.into());
            }
            Some(None) => return Err(format!("`{whole}` is a constant of several enumerations, with different values")),
            None => {}
        }
        let names: Vec<&str> =
            self.memory.objects.iter().map(|object| object.name.as_str()).filter(|name| !name.starts_with("ram_")).take(12).collect();
        let known =
            if names.is_empty() { "the program has no named variables".to_owned() } else { format!("variables are: {}", names.join(", ")) };
        Err(format!("the program has no variable `{whole}`; {known}"))
    }

    /// Pushes a variable or an element of it.
    fn object(&mut self, found: usize, rest: &[Step]) -> Result<bool, String> {
        let object = &self.memory.objects[found];
        let name = object.name.clone();
        self.observed.insert(Place::Object(found));
        // What is being written is not observed, only what was written.
        let var = self.memory.shown.get(&found).copied().unwrap_or(object.global);
        if object.scalar.float {
            return Err(format!("`{name}` is a floating-point variable; conditions compare whole numbers"));
        }
        let indices: Vec<&Expr> = rest.iter().filter_map(|step| if let Step::Index(index) = step { Some(index) } else { None }).collect();
        let unsigned = object.scalar.size == 4 && !object.scalar.signed;
        let dims = object.dims.clone();
        match (object.count, indices.len()) {
            (None, 0) => self.op(Op::Ldg { var }),
            (None, _) => return Err(format!("`{name}` is not an array")),
            (Some(_), _) if dims.is_empty() => {
                return Err(format!("`{name}` has elements of several parts and too many of them; a condition cannot name them"));
            }
            (Some(_), given) if given == dims.len() => {
                for (number, (index, &length)) in indices.iter().zip(&dims).enumerate() {
                    self.compile(index).map_err(|(_, message)| message)?;
                    self.op(Op::Chk { length });
                    if number > 0 {
                        self.op(Op::Add {});
                    }
                    if let Some(&next) = dims.get(number + 1) {
                        self.c(next as i32);
                        self.op(Op::Mul {});
                    }
                }
                self.op(Op::Ldgx { var });
            }
            (Some(_), given) => {
                let wanted = "[0]".repeat(dims.len());
                return Err(if given < dims.len() {
                    format!("`{name}` is an array: name an element, as in {name}{wanted}")
                } else {
                    format!("`{name}` has fewer dimensions: name an element, as in {name}{wanted}")
                });
            }
        }
        Ok(unsigned)
    }

    /// Pushes the value of a bit-field. `None` if its bytes are not those of a variable.
    fn bit_field(&mut self, field: &Field) -> Option<bool> {
        self.c(0);
        let bytes = (field.bit + field.size).div_ceil(8);
        if bytes > 4 {
            return None;
        }
        for byte in 0..bytes {
            let addr = field.addr.checked_add(byte.into())?;
            let place = self.memory.place(addr);
            let Place::Object(index) = place else { return None };
            let object = &self.memory.objects[index];
            if object.scalar.size != 1 {
                return None;
            }
            self.observed.insert(place);
            let (var, offset, is_array) = (object.global, i32::from(addr - object.addr), object.count.is_some());
            if is_array {
                self.c(offset);
                self.op(Op::Ldgx { var });
            } else {
                self.op(Op::Ldg { var });
            }
            self.c(0xff);
            self.op(Op::And {});
            self.c(i32::from(byte) * 8);
            self.op(Op::Shl {});
            self.op(Op::Or {});
        }
        if field.size < 32 {
            self.c(field.bit.into());
            self.op(Op::Shr {});
            self.c(if field.size == 31 { i32::MAX } else { (1 << field.size) - 1 });
            self.op(Op::And {});
            if field.signed {
                self.sign(1 << (field.size - 1));
            }
        }
        Some(field.size == 32 && !field.signed)
    }
}

/// The text of a name with its steps, as the debugging information spells it.
fn path(name: &str, steps: &[Step]) -> String {
    let mut text = name.to_owned();
    for step in steps {
        match step {
            Step::Member(member) => text = format!("{text}.{member}"),
            Step::Index(Expr::Number(number, _)) => text = format!("{text}[{number}]"),
            Step::Index(_) => text.push_str("[...]"),
        }
    }
    text
}

/// An atom under construction: its name and code, up to RET. Jumps in the code are relative to its
/// start.
pub struct AtomCode {
    pub name: String,
    pub ops: Vec<Op>,
}

/// Appends atoms to a program's code.
pub fn append(program: &mut bytecode::Program, atoms: Vec<AtomCode>) {
    for atom in atoms {
        let start = program.code.len() as u32;
        program.atoms.push(bytecode::Atom { name: atom.name, start: Addr(start) });
        program.code.extend(atom.ops.into_iter().map(|op| match op {
            Op::Jmp { .. } | Op::Jmpz { .. } | Op::Jmpnz { .. } => op.readdressed(|addr| Addr(start + addr.0)),
            other => other,
        }));
        program.code.push(Op::Ret {});
    }
}
