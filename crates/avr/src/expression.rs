//! Expressions over the variables of a program, in the syntax of C. They occur in formulas, and
//! where an option needs a value.
//!
//! Names are variables with their members and elements (`ring.head`, `tasks[1].state`), constants
//! of enumerations, and registers of devices (`PORTB`). Operators are those of C without
//! assignment.

use crate::chip::{Chip, Kind};
use crate::code::I;
use crate::debug::Field;
use crate::image::Image;
use crate::memory::{Memory, Place};
use bytecode::{Addr, Op};
use std::collections::BTreeSet;

/// The deepest nesting.
const DEPTH: usize = 100;

/// An error in an expression: its offset, and a sentence.
pub type Wrong = (usize, String);

/// An expression.
#[derive(Clone, Debug)]
pub enum Expr {
    Number(i32),
    Name {
        name: String,
        index: Option<Box<Expr>>,
        at: usize,
    },
    Unary(Op, Box<Expr>),
    Binary(Op, Box<Expr>, Box<Expr>),
    /// `&&` and `||`: the values become 0 or 1 first.
    Both(Op, Box<Expr>, Box<Expr>),
}

/// Reads expressions separated by commas.
pub fn parse(text: &str) -> Result<Vec<Expr>, Wrong> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let mut all = vec![parser.binary(0)?];
    while parser.eat(",") {
        all.push(parser.binary(0)?);
    }
    parser.space();
    if parser.at < text.len() {
        return Err((parser.at, "the expression should end here".to_owned()));
    }
    Ok(all)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

/// Operators from the weakest to the strongest binding. A longer operator comes before its
/// prefixes.
const LEVELS: &[&[&str]] =
    &[&["||"], &["&&"], &["|"], &["^"], &["&"], &["==", "!="], &["<=", ">=", "<", ">"], &["<<", ">>"], &["+", "-"], &["*", "/", "%"]];

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, sign: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len() } else { 0 };
        found
    }

    fn operator(&mut self, level: usize) -> Option<&'static str> {
        self.space();
        let sign = LEVELS[level].iter().find(|sign| self.rest().starts_with(**sign))?;
        let behind = &self.rest()[sign.len()..];
        // `&` does not match the first half of `&&`, `|` not that of `||`, `<` not that of `<<`,
        // and so on.
        let half = matches!(*sign, "&" | "|") && behind.starts_with(*sign) || matches!(*sign, "<" | ">") && behind.starts_with(*sign);
        if half {
            return None;
        }
        self.at += sign.len();
        Some(sign)
    }

    fn binary(&mut self, level: usize) -> Result<Expr, Wrong> {
        if level == LEVELS.len() {
            return self.unary();
        }
        let mut left = self.binary(level + 1)?;
        while let Some(sign) = self.operator(level) {
            let right = self.binary(level + 1)?;
            let (left_side, right_side) = (Box::new(left), Box::new(right));
            left = match sign {
                "||" => Expr::Both(Op::Or {}, left_side, right_side),
                "&&" => Expr::Both(Op::And {}, left_side, right_side),
                _ => Expr::Binary(operation(sign), left_side, right_side),
            };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, Wrong> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err((self.at, "the expression is nested too deeply".to_owned()));
        }
        self.space();
        let found = if self.eat("!") {
            Expr::Unary(Op::Lnot {}, Box::new(self.unary()?))
        } else if self.eat("~") {
            Expr::Unary(Op::Not {}, Box::new(self.unary()?))
        } else if self.eat("-") {
            Expr::Unary(Op::Neg {}, Box::new(self.unary()?))
        } else if self.eat("(") {
            let inside = self.binary(0)?;
            if !self.eat(")") {
                return Err((self.at, "a parenthesis is not closed".to_owned()));
            }
            inside
        } else {
            self.operand()?
        };
        self.depth -= 1;
        Ok(found)
    }

    fn word(&mut self) -> &str {
        let length = self.rest().find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest().len());
        let start = self.at;
        self.at += length;
        &self.text[start..self.at]
    }

    fn operand(&mut self) -> Result<Expr, Wrong> {
        let start = self.at;
        let word = self.word().to_owned();
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let number = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
                Some(digits) => u32::from_str_radix(digits, 16).ok(),
                None => word.parse().ok(),
            };
            return number.map(|number| Expr::Number(number as i32)).ok_or((start, format!("`{word}` is not a number of 32 bits")));
        }
        if word.is_empty() {
            return Err((start, "a variable or a number is missing".to_owned()));
        }
        let mut name = word;
        let mut index = None;
        loop {
            if self.rest().starts_with('.') {
                self.at += 1;
                let member = self.word().to_owned();
                if let Some(Expr::Number(number)) = index.take() {
                    name = format!("{name}[{number}]");
                }
                name = format!("{name}.{member}");
            } else if self.rest().starts_with('[') {
                self.at += 1;
                index = Some(self.binary(0)?);
                if !self.eat("]") {
                    return Err((self.at, "an index is not closed".to_owned()));
                }
            } else {
                break;
            }
        }
        Ok(Expr::Name { name, index: index.map(Box::new), at: start })
    }
}

fn operation(sign: &str) -> Op {
    match sign {
        "|" => Op::Or {},
        "^" => Op::Xor {},
        "&" => Op::And {},
        "==" => Op::Eq {},
        "!=" => Op::Ne {},
        "<=" => Op::Le {},
        ">=" => Op::Ge {},
        "<" => Op::Lt {},
        ">" => Op::Gt {},
        "<<" => Op::Shl {},
        ">>" => Op::Shr {},
        "+" => Op::Add {},
        "-" => Op::Sub {},
        "*" => Op::Mul {},
        "/" => Op::Div {},
        _ => Op::Mod {},
    }
}

impl Expr {
    /// Adds the registers of devices that the expression names.
    pub fn registers(&self, chip: &Chip, found: &mut BTreeSet<u16>) {
        match self {
            Expr::Number(_) => {}
            Expr::Name { name, index, .. } => {
                found.extend(chip.registers.iter().filter(|register| register.name == name).map(|register| register.addr));
                if let Some(index) = index {
                    index.registers(chip, found);
                }
            }
            Expr::Unary(_, inner) => inner.registers(chip, found),
            Expr::Binary(_, a, b) | Expr::Both(_, a, b) => {
                a.registers(chip, found);
                b.registers(chip, found);
            }
        }
    }

    /// Adds the variables that the expression names.
    pub fn objects(&self, memory: &Memory, found: &mut BTreeSet<usize>) {
        match self {
            Expr::Number(_) => {}
            Expr::Name { name, index, .. } => {
                found.extend(object_named(name, index.as_deref(), memory).map(|(object, _)| object));
                if let Some(index) = index {
                    index.objects(memory, found);
                }
            }
            Expr::Unary(_, inner) => inner.objects(memory, found),
            Expr::Binary(_, a, b) | Expr::Both(_, a, b) => {
                a.objects(memory, found);
                b.objects(memory, found);
            }
        }
    }

    /// Emits code that pushes the value. The locations that the value depends on are added to
    /// `observed`.
    pub fn compile(&self, image: &Image, memory: &Memory, ops: &mut Vec<Op>, observed: &mut BTreeSet<Place>) -> Result<(), Wrong> {
        match self {
            Expr::Number(value) => ops.push(Op::Ldc { value: *value }),
            Expr::Unary(op, inner) => {
                inner.compile(image, memory, ops, observed)?;
                ops.push(*op);
            }
            Expr::Binary(op, a, b) => {
                a.compile(image, memory, ops, observed)?;
                b.compile(image, memory, ops, observed)?;
                ops.push(*op);
            }
            Expr::Both(op, a, b) => {
                for side in [a, b] {
                    side.compile(image, memory, ops, observed)?;
                    ops.extend([Op::Lnot {}, Op::Lnot {}]);
                }
                ops.push(*op);
            }
            Expr::Name { name, index, at } => return self.name(name, index.as_deref(), *at, image, memory, ops, observed),
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn name(
        &self,
        name: &str,
        index: Option<&Expr>,
        at: usize,
        image: &Image,
        memory: &Memory,
        ops: &mut Vec<Op>,
        observed: &mut BTreeSet<Place>,
    ) -> Result<(), Wrong> {
        if let Some((found, is_element)) = object_named(name, index, memory) {
            let object = &memory.objects[found];
            let index = index.filter(|_| !is_element);
            observed.insert(Place::Object(found));
            // What is being written is not observed, only what was written.
            let var = memory.shown.get(&found).copied().unwrap_or(object.global);
            if image.debug.floats.contains(name) {
                return Err((at, format!("`{name}` is a floating-point variable; conditions compare whole numbers")));
            }
            match (object.count, index) {
                (Some(_), Some(index)) => {
                    index.compile(image, memory, ops, observed)?;
                    ops.push(Op::Ldgx { var });
                }
                (None, None) => ops.push(Op::Ldg { var }),
                (Some(_), None) => return Err((at, format!("`{name}` is an array: name an element, as in {name}[0]"))),
                (None, Some(_)) => return Err((at, format!("`{name}` is not an array"))),
            }
            return Ok(());
        }
        if let (Some(field), None) = (image.debug.fields.get(name), index) {
            return bit_field(field, memory, ops, observed).ok_or((at, format!("`{name}` lies where no variable is known")));
        }
        if let Some(register) = image.chip.registers.iter().find(|register| register.name == name) {
            let why = match register.kind {
                Kind::Status => "flags are not kept where they are dead; `SREG_I` is the interrupt flag",
                Kind::Stack { .. } => "the stack pointer cannot be observed",
                Kind::Counter | Kind::Serial | Kind::Sample => "it has a value only when it is read; name the variable that keeps it",
                _ => "",
            };
            if !why.is_empty() {
                return Err((at, format!("a condition cannot name {name}: {why}")));
            }
        }
        if let Some(register) = image.chip.registers.iter().find(|register| register.name == name)
            && let Some(var) = memory.io.get(&register.addr)
        {
            observed.insert(Place::Io(register.addr));
            ops.push(Op::Ldg { var: *var });
            return Ok(());
        }
        if name == "SREG_I" {
            let status = image.chip.registers.iter().find(|register| register.kind == Kind::Status);
            observed.extend(status.map(|register| Place::Io(register.addr)));
            ops.push(Op::Ldg { var: I });
            return Ok(());
        }
        if let Some(value) = image.debug.constants.get(name) {
            ops.push(Op::Ldc { value: *value as i32 });
            return Ok(());
        }
        let names: Vec<&str> =
            memory.objects.iter().map(|object| object.name.as_str()).filter(|name| !name.starts_with("ram_")).take(12).collect();
        let known =
            if names.is_empty() { "the program has no named variables".to_owned() } else { format!("variables are: {}", names.join(", ")) };
        Err((at, format!("the program has no variable `{name}`; {known}")))
    }
}

/// The variable with a name and an index, and whether it is itself the element.
fn object_named(name: &str, index: Option<&Expr>, memory: &Memory) -> Option<(usize, bool)> {
    let position = |name: &str| memory.objects.iter().position(|object| object.name == name);
    if let Some(Expr::Number(number)) = index
        && let Some(found) = position(&format!("{name}[{number}]"))
    {
        return Some((found, true));
    }
    position(name).map(|found| (found, false))
}

/// Pushes the value of a bit-field. `None` if its bytes are not those of a variable.
fn bit_field(field: &Field, memory: &Memory, ops: &mut Vec<Op>, observed: &mut BTreeSet<Place>) -> Option<()> {
    ops.push(Op::Ldc { value: 0 });
    let bytes = (field.bit + field.size).div_ceil(8);
    for byte in 0..bytes {
        let addr = field.addr.checked_add(byte.into())?;
        let place = memory.place(addr);
        let Place::Object(index) = place else { return None };
        let object = &memory.objects[index];
        if object.scalar.size != 1 {
            return None;
        }
        observed.insert(place);
        match object.count {
            Some(_) => ops.extend([Op::Ldc { value: i32::from(addr - object.addr) }, Op::Ldgx { var: object.global }]),
            None => ops.push(Op::Ldg { var: object.global }),
        }
        ops.extend([Op::Ldc { value: 0xff }, Op::And {}, Op::Ldc { value: i32::from(byte) * 8 }, Op::Shl {}, Op::Or {}]);
    }
    let mask = if field.size >= 31 { i32::MAX } else { (1 << field.size) - 1 };
    ops.extend([Op::Ldc { value: field.bit.into() }, Op::Shr {}, Op::Ldc { value: mask }, Op::And {}]);
    if field.signed {
        let sign = 1_i32.checked_shl(u32::from(field.size).wrapping_sub(1)).unwrap_or(0);
        ops.extend([Op::Ldc { value: sign }, Op::Xor {}, Op::Ldc { value: sign }, Op::Sub {}]);
    }
    Some(())
}

/// An atom under construction: its name and code, up to RET.
pub struct AtomCode {
    pub name: String,
    pub ops: Vec<Op>,
}

/// Appends atoms to a program's code.
pub fn append(program: &mut bytecode::Program, atoms: Vec<AtomCode>) {
    for atom in atoms {
        program.atoms.push(bytecode::Atom { name: atom.name, start: Addr(program.code.len() as u32) });
        program.code.extend(atom.ops);
        program.code.push(Op::Ret {});
    }
}
