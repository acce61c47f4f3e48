//! Expressions over the variables of a program, in the syntax of C: how they are read. They occur
//! in formulas, and where an option needs a value. `conditions` computes them.
//!
//! Names are variables with their members and elements (`ring.head`, `tasks[1].state`), constants
//! of enumerations, and registers of devices (`PORTB`). A variable that shares its name with
//! another one has its file or its function before it (`main.c::count`, `poll::count`). Operators
//! are those of C without assignment, pointers and `sizeof`.

use bytecode::Op;

/// The deepest nesting.
const DEPTH: usize = 100;
/// The limit on operands. Expressions are followed recursively, also along chains of operators.
const OPERANDS: usize = 500;

/// An error in an expression: its offset, and a sentence.
pub type Wrong = (usize, String);

/// A step from a variable to a part of it.
#[derive(Clone, Debug)]
pub enum Step {
    Member(String),
    Index(Expr),
}

/// The target of a cast.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cast {
    Bool,
    /// Bits, and whether the type is signed.
    Number(u8, bool),
}

/// An expression.
#[derive(Clone, Debug)]
pub enum Expr {
    /// The bits of a number, and whether it is unsigned.
    Number(i32, bool),
    Name {
        /// The variable, with what stands before `::`.
        name: String,
        steps: Vec<Step>,
        at: usize,
    },
    Unary(Op, Box<Expr>),
    Binary(Op, Box<Expr>, Box<Expr>),
    /// `&&` if true, otherwise `||`. The right side is computed only if it decides.
    Both(bool, Box<Expr>, Box<Expr>),
    /// `?:`
    Choice(Box<[Expr; 3]>),
    Cast(Cast, Box<Expr>),
}

/// Reads expressions separated by commas.
pub fn parse(text: &str) -> Result<Vec<Expr>, Wrong> {
    let mut parser = Parser { text, at: 0, depth: 0, operands: 0 };
    let mut all = vec![parser.whole()?];
    while parser.eat(",") {
        all.push(parser.whole()?);
    }
    parser.space();
    if parser.at < text.len() {
        let hint = if parser.rest().starts_with("->") { ": `->` of C is not supported; in a formula it means implication" } else { "" };
        return Err((parser.at, format!("the expression should end here{hint}")));
    }
    Ok(all)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    operands: usize,
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
        // and so on; `-` does not match that of `->`.
        let half = matches!(*sign, "&" | "|") && behind.starts_with(*sign)
            || matches!(*sign, "<" | ">") && behind.starts_with(*sign)
            || *sign == "-" && behind.starts_with('>');
        if half {
            return None;
        }
        self.at += sign.len();
        Some(sign)
    }

    /// An expression, with `?:` as its weakest operator.
    fn whole(&mut self) -> Result<Expr, Wrong> {
        self.deeper()?;
        let condition = self.binary(0)?;
        let found = if self.eat("?") {
            let yes = self.whole()?;
            if !self.eat(":") {
                return Err((self.at, "`:` is missing after `?`".to_owned()));
            }
            Expr::Choice(Box::new([condition, yes, self.whole()?]))
        } else {
            condition
        };
        self.depth -= 1;
        Ok(found)
    }

    fn deeper(&mut self) -> Result<(), Wrong> {
        self.depth += 1;
        if self.depth > DEPTH { Err((self.at, "the expression is nested too deeply".to_owned())) } else { Ok(()) }
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
                "||" => Expr::Both(false, left_side, right_side),
                "&&" => Expr::Both(true, left_side, right_side),
                _ => Expr::Binary(operation(sign), left_side, right_side),
            };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, Wrong> {
        self.deeper()?;
        self.space();
        let found = if self.eat("!") {
            Expr::Unary(Op::Lnot {}, Box::new(self.unary()?))
        } else if self.eat("~") {
            Expr::Unary(Op::Not {}, Box::new(self.unary()?))
        } else if self.eat("-") {
            Expr::Unary(Op::Neg {}, Box::new(self.unary()?))
        } else if self.eat("+") {
            self.unary()?
        } else if self.rest().starts_with('(') {
            match self.cast() {
                Some(cast) => Expr::Cast(cast, Box::new(self.unary()?)),
                None => {
                    self.at += 1;
                    let inside = self.whole()?;
                    if !self.eat(")") {
                        return Err((self.at, "a parenthesis is not closed".to_owned()));
                    }
                    inside
                }
            }
        } else {
            self.operand()?
        };
        self.depth -= 1;
        Ok(found)
    }

    /// The type in parentheses that begins here.
    fn cast(&mut self) -> Option<Cast> {
        let inside = self.rest().strip_prefix('(')?;
        let end = inside.find(')')?;
        let words: Vec<&str> = inside[..end].split_whitespace().filter(|word| !matches!(*word, "const" | "volatile")).collect();
        let cast = match words[..] {
            ["bool" | "_Bool"] => Cast::Bool,
            ["uint8_t"] => Cast::Number(8, false),
            ["int8_t"] => Cast::Number(8, true),
            ["uint16_t" | "size_t" | "uintptr_t"] => Cast::Number(16, false),
            ["int16_t" | "ptrdiff_t" | "intptr_t"] => Cast::Number(16, true),
            ["uint32_t"] => Cast::Number(32, false),
            ["int32_t"] => Cast::Number(32, true),
            [] => return None,
            _ => {
                // The types that are spelt with several words: `char` without a sign is signed.
                let known = ["unsigned", "signed", "char", "short", "int", "long"];
                let count = |wanted: &str| words.iter().filter(|word| **word == wanted).count();
                let is_type = words.iter().all(|word| known.contains(word)) && known.iter().all(|word| count(word) <= 1);
                let width = if count("char") > 0 {
                    8
                } else if count("long") > 0 {
                    32
                } else {
                    16
                };
                if !is_type {
                    return None;
                }
                Cast::Number(width, count("unsigned") == 0)
            }
        };
        self.at += end + 2;
        Some(cast)
    }

    fn word(&mut self) -> &str {
        let length = self.rest().find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '@')).unwrap_or(self.rest().len());
        let start = self.at;
        self.at += length;
        &self.text[start..self.at]
    }

    fn operand(&mut self) -> Result<Expr, Wrong> {
        let start = self.at;
        self.operands += 1;
        if self.operands > OPERANDS {
            return Err((start, format!("the expression has more than {OPERANDS} operands")));
        }
        let word = self.word().to_owned();
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return number(&word).ok_or((start, format!("`{word}` is not a whole number of 32 bits")));
        }
        if word.is_empty() {
            return Err((start, "a variable or a number is missing".to_owned()));
        }
        if word == "sizeof" {
            return Err((start, "`sizeof` is not supported".to_owned()));
        }
        let mut name = word;
        let mut steps = Vec::new();
        loop {
            if self.rest().starts_with("::") {
                // What stands before was the name of a file, which contains points, or of a
                // function.
                for step in steps.drain(..) {
                    match step {
                        Step::Member(member) => name = format!("{name}.{member}"),
                        Step::Index(_) => return Err((self.at, "a file or a function stands before `::`".to_owned())),
                    }
                }
                self.at += 2;
                name = format!("{name}::{}", self.word());
            } else if self.rest().starts_with('.') {
                self.at += 1;
                steps.push(Step::Member(self.word().to_owned()));
            } else if self.rest().starts_with('[') {
                self.at += 1;
                steps.push(Step::Index(self.whole()?));
                if !self.eat("]") {
                    return Err((self.at, "an index is not closed".to_owned()));
                }
            } else {
                break;
            }
        }
        Ok(Expr::Name { name, steps, at: start })
    }
}

/// A number of C: decimal, octal, hexadecimal or binary, with its suffix.
fn number(word: &str) -> Option<Expr> {
    let lower = word.to_ascii_lowercase();
    let digits = lower.trim_end_matches(['u', 'l']);
    let suffix = &lower[digits.len()..];
    if !matches!(suffix, "" | "u" | "l" | "ul" | "lu") {
        return None;
    }
    let value = if let Some(digits) = digits.strip_prefix("0x") {
        u32::from_str_radix(digits, 16)
    } else if let Some(digits) = digits.strip_prefix("0b") {
        u32::from_str_radix(digits, 2)
    } else if digits.len() > 1 && digits.starts_with('0') {
        u32::from_str_radix(digits, 8)
    } else {
        digits.parse()
    };
    let value = value.ok()?;
    Some(Expr::Number(value as i32, value > i32::MAX as u32 || matches!(suffix, "ul" | "lu")))
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
    /// The expressions of which this one consists.
    pub fn parts(&self) -> Vec<&Expr> {
        match self {
            Expr::Number(..) => Vec::new(),
            Expr::Name { steps, .. } => {
                steps.iter().filter_map(|step| if let Step::Index(index) = step { Some(index) } else { None }).collect()
            }
            Expr::Unary(_, inner) | Expr::Cast(_, inner) => vec![inner],
            Expr::Binary(_, a, b) | Expr::Both(_, a, b) => vec![a, b],
            Expr::Choice(all) => all.iter().collect(),
        }
    }

    /// Calls `each` for every name in the expression.
    pub fn names<'e>(&'e self, each: &mut dyn FnMut(&'e str, &'e [Step])) {
        if let Expr::Name { name, steps, .. } = self {
            each(name, steps);
        }
        for part in self.parts() {
            part.names(each);
        }
    }

    /// Whether computing it can be a fault: a division by zero, an index that is too large.
    pub fn can_fail(&self) -> bool {
        let fails = match self {
            Expr::Binary(op, ..) => matches!(op, Op::Div {} | Op::Mod {}),
            Expr::Name { steps, .. } => steps.iter().any(|step| matches!(step, Step::Index(index) if !matches!(index, Expr::Number(..)))),
            _ => false,
        };
        fails || self.parts().into_iter().any(Expr::can_fail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_c() {
        for (text, value, unsigned) in [
            ("0x10", 16, false),
            ("017", 15, false),
            ("0b101", 5, false),
            ("7u", 7, false),
            ("7UL", 7, true),
            ("4294967295", -1, true),
            ("0", 0, false),
        ] {
            let all = parse(text).unwrap_or_else(|(_, why)| panic!("{text}: {why}"));
            assert!(matches!(all[..], [Expr::Number(v, u)] if v == value && u == unsigned), "{text}: {all:?}");
        }
        for text in ["4294967296", "08", "5x", "0x", "5lll"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn expressions_that_are_too_long_or_too_deep_are_refused() {
        assert!(parse(&vec!["a"; 100_000].join("+")).is_err());
        assert!(parse(&"(".repeat(100_000)).is_err());
        assert!(parse(&"a[".repeat(100_000)).is_err());
        assert!(parse(&"a?".repeat(100_000)).is_err());
        assert!(parse(&vec!["a"; 50].join("?b:")).is_ok());
    }

    #[test]
    fn what_c_has_and_conditions_have_not_is_refused() {
        for text in ["p->x", "sizeof(a)", "a = 1", "&a", "*a", "(float)a", "a[1]::b", "a ? b"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("(unsigned long)a + (bool)b - (int8_t)c, main.c::d.e[1], f::g").is_ok());
    }
}
