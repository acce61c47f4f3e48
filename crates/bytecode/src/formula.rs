//! Formulas of linear temporal logic over the atoms of a program.
//!
//! A formula is kept in postfix order: operands first, then their operator. Such a list needs no
//! pointers, so no file can make a reader recurse, and the binary form is the list itself. The text
//! form is infix, with SPIN's operators. [`Formula::write`] and [`Formula::parse`] use explicit
//! stacks for the same reason.

use crate::ids::AtomId;
use std::fmt;

/// Most nodes of a formula.
pub const FORMULA_MAX: usize = 1 << 16;

/// An operand or an operator of a formula.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum FormulaNode {
    /// Always true.
    True,
    /// Never true.
    False,
    /// True in a state if the atom is.
    Atom(AtomId),
    /// An operator before one operand.
    Unary(UnaryOp),
    /// An operator between two operands.
    Binary(BinaryOp),
}

macro_rules! operators {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $code:literal $sign:literal $($word:literal)*,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$vmeta])* $variant = $code,)* }

        impl $name {
            /// Every operator.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// Its sign.
            pub const fn sign(self) -> &'static str {
                match self { $($name::$variant => $sign,)* }
            }

            /// The operator with this code.
            pub const fn from_code(code: u8) -> Option<$name> {
                match code { $($code => Some($name::$variant),)* _ => None }
            }

            fn from_sign(sign: &str) -> Option<$name> {
                match sign { $($sign $(| $word)* => Some($name::$variant),)* _ => None }
            }
        }
    };
}

operators! {
    /// Operators before one operand.
    UnaryOp {
        /// Not.
        Not = 0 "!",
        /// In the next state.
        Next = 1 "X" "next",
        /// In this state and all that follow.
        Always = 2 "[]" "always",
        /// In this state or one that follows.
        Eventually = 3 "<>" "eventually",
    }
}

operators! {
    /// Operators between two operands.
    BinaryOp {
        /// Both.
        And = 0 "&&",
        /// At least one.
        Or = 1 "||",
        /// The second, if the first.
        Implies = 2 "->" "implies",
        /// Both or none.
        Equivalent = 3 "<->" "equivalent",
        /// The first holds until the second, which must become true.
        Until = 4 "U" "until" "stronguntil",
        /// The first holds until the second, which need not become true.
        WeakUntil = 5 "W" "weakuntil",
        /// The second holds up to and including the state in which the first is true.
        Release = 6 "V" "release",
    }
}

impl BinaryOp {
    /// The precedence. Operators of the same precedence group to the left.
    const fn level(self) -> u8 {
        match self {
            BinaryOp::Implies | BinaryOp::Equivalent => 1,
            BinaryOp::Or => 2,
            BinaryOp::And => 3,
            BinaryOp::Until | BinaryOp::WeakUntil | BinaryOp::Release => 4,
        }
    }
}

/// A formula in postfix order.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Default)]
pub struct Formula(pub Vec<FormulaNode>);

/// Why a text is not a formula: the byte offset, and what is wrong there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormulaError {
    /// The offset.
    pub at: usize,
    /// The error, in a sentence.
    pub message: String,
}

impl fmt::Display for FormulaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {} of the formula)", self.message, self.at)
    }
}

impl std::error::Error for FormulaError {}

impl Formula {
    /// Whether every operator has its operands, the list is one formula, and it is not too long.
    pub fn is_well_formed(&self) -> bool {
        let mut depth = 0_usize;
        for node in &self.0 {
            let needed = match node {
                FormulaNode::True | FormulaNode::False | FormulaNode::Atom(_) => 0,
                FormulaNode::Unary(_) => 1,
                FormulaNode::Binary(_) => 2,
            };
            match depth.checked_sub(needed) {
                Some(left) => depth = left + 1,
                None => return false,
            }
        }
        depth == 1 && self.0.len() <= FORMULA_MAX
    }

    /// The atoms in it, each as often as it occurs.
    pub fn atoms(&self) -> impl Iterator<Item = AtomId> {
        self.0.iter().filter_map(|node| match node {
            FormulaNode::Atom(atom) => Some(*atom),
            _ => None,
        })
    }

    /// Appends the formula as text; `name` appends the name of an atom. A formula that is not
    /// well-formed gives a text that cannot be read back.
    pub fn write(&self, out: &mut String, name: &mut dyn FnMut(&mut String, AtomId)) {
        if !self.is_well_formed() {
            out.push('?');
            return;
        }
        // The beginning of the subformula that ends at each node.
        let mut begins = Vec::with_capacity(self.0.len());
        let mut open: Vec<usize> = Vec::new();
        for (i, node) in self.0.iter().enumerate() {
            let begin = match node {
                FormulaNode::Unary(_) => open.pop().unwrap_or(i),
                FormulaNode::Binary(_) => {
                    open.pop();
                    open.pop().unwrap_or(i)
                }
                _ => i,
            };
            open.push(begin);
            begins.push(begin);
        }
        enum Todo {
            Node(usize),
            Text(&'static str),
        }
        let mut todo = vec![Todo::Node(self.0.len() - 1)];
        while let Some(next) = todo.pop() {
            match next {
                Todo::Text(text) => out.push_str(text),
                Todo::Node(at) => match self.0[at] {
                    FormulaNode::True => out.push_str("true"),
                    FormulaNode::False => out.push_str("false"),
                    FormulaNode::Atom(atom) => name(out, atom),
                    FormulaNode::Unary(op) => {
                        out.push_str(op.sign());
                        out.push(' ');
                        todo.push(Todo::Node(at - 1));
                    }
                    FormulaNode::Binary(op) => {
                        let left = begins[at - 1] - 1;
                        out.push('(');
                        todo.extend([Todo::Text(")"), Todo::Node(at - 1), Todo::Text(" "), Todo::Text(op.sign())]);
                        todo.extend([Todo::Text(" "), Todo::Node(left)]);
                    }
                },
            }
        }
    }

    /// Reads a formula; `atom` gives the number of an atom by its name.
    pub fn parse(text: &str, atom: &mut dyn FnMut(&str) -> Option<AtomId>) -> Result<Formula, FormulaError> {
        let error = |at: usize, message: &str| FormulaError { at, message: message.to_owned() };
        let mut formula = Formula::default();
        let mut waiting: Vec<Waiting> = Vec::new();
        // Whether an operand is expected next.
        let mut operand = true;
        let mut words = Words { text, at: 0 };
        while let Some((at, word)) = words.next() {
            let word = word.map_err(|message| error(at, message))?;
            if formula.0.len() + waiting.len() >= FORMULA_MAX {
                return Err(error(at, "the formula is too long"));
            }
            match (operand, word) {
                (true, Word::Sign("(")) => waiting.push(Waiting::Open(at)),
                (true, Word::Sign(sign)) => match (sign, UnaryOp::from_sign(sign)) {
                    (_, Some(op)) => waiting.push(Waiting::Unary(op)),
                    ("true", _) | ("false", _) => {
                        formula.0.push(if sign == "true" { FormulaNode::True } else { FormulaNode::False });
                        operand = false;
                    }
                    _ => return Err(error(at, "an operand is missing")),
                },
                (true, Word::Name(name)) => {
                    let unknown = || error(at, &format!("no atom is called `{name}`"));
                    formula.0.push(FormulaNode::Atom(atom(&name).ok_or_else(unknown)?));
                    operand = false;
                }
                (false, Word::Sign(")")) => loop {
                    match waiting.pop() {
                        Some(Waiting::Open(_)) => break,
                        Some(other) => formula.0.push(other.node()),
                        None => return Err(error(at, "no parenthesis is open here")),
                    }
                },
                (false, Word::Sign(sign)) => {
                    let op = BinaryOp::from_sign(sign).ok_or_else(|| error(at, "an operator is missing"))?;
                    while let Some(top) = waiting.pop_if(|top| top.binds(op.level())) {
                        formula.0.push(top.node());
                    }
                    waiting.push(Waiting::Binary(op));
                    operand = true;
                }
                (false, Word::Name(_)) => return Err(error(at, "an operator is missing")),
            }
        }
        if operand {
            return Err(error(text.len(), "an operand is missing"));
        }
        while let Some(top) = waiting.pop() {
            match top {
                Waiting::Open(at) => return Err(error(at, "this parenthesis is not closed")),
                other => formula.0.push(other.node()),
            }
        }
        Ok(formula)
    }
}

/// An operator that waits for its operands, or an open parenthesis.
#[derive(Clone, Copy)]
enum Waiting {
    Open(usize),
    Unary(UnaryOp),
    Binary(BinaryOp),
}

impl Waiting {
    /// Whether this operator binds its left operand before an operator of `level`.
    fn binds(&self, level: u8) -> bool {
        match self {
            Waiting::Open(_) => false,
            Waiting::Unary(_) => true,
            Waiting::Binary(op) => op.level() >= level,
        }
    }

    fn node(self) -> FormulaNode {
        match self {
            Waiting::Unary(op) => FormulaNode::Unary(op),
            Waiting::Binary(op) => FormulaNode::Binary(op),
            // This is never called for a parenthesis. If it were, the verifier would find the wrong
            // formula.
            Waiting::Open(_) => FormulaNode::False,
        }
    }
}

/// A word of a formula's text.
enum Word<'a> {
    /// An operator, a parenthesis, `true` or `false`.
    Sign(&'a str),
    /// The name of an atom.
    Name(String),
}

struct Words<'a> {
    text: &'a str,
    at: usize,
}

/// Signs; a longer one comes before its prefixes.
const SIGNS: [&str; 9] = ["<->", "->", "[]", "<>", "&&", "||", "!", "(", ")"];

impl<'a> Words<'a> {
    /// The next word and its position.
    fn next(&mut self) -> Option<(usize, Result<Word<'a>, &'static str>)> {
        let rest = self.text[self.at..].trim_start();
        let at = self.text.len() - rest.len();
        let first = rest.chars().next()?;
        let (length, word) = if first == '\'' {
            match quoted(rest) {
                Some((length, name)) => (length, Ok(Word::Name(name))),
                None => (rest.len(), Err("the quote is not closed, or an escape in it is not known")),
            }
        } else if first.is_ascii_alphabetic() || first == '_' {
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let word = &rest[..length];
            (length, Ok(if is_reserved(word) { Word::Sign(word) } else { Word::Name(word.to_owned()) }))
        } else {
            match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => (sign.len(), Ok(Word::Sign(&rest[..sign.len()]))),
                None => (first.len_utf8(), Err("this has no meaning in a formula")),
            }
        };
        self.at = at + length;
        Some((at, word))
    }
}

/// Whether a word is an operator or a constant, and therefore cannot be the name of an atom without
/// quotes.
pub(crate) fn is_reserved(word: &str) -> bool {
    matches!(word, "true" | "false") || UnaryOp::from_sign(word).is_some() || BinaryOp::from_sign(word).is_some()
}

/// A name in single quotes, and its length with the quotes. `\'` and `\\` are escapes.
fn quoted(text: &str) -> Option<(usize, String)> {
    let mut name = String::new();
    let mut chars = text.char_indices().skip(1);
    loop {
        match chars.next()? {
            (at, '\'') => return Some((at + 1, name)),
            (_, '\\') => match chars.next()?.1 {
                c @ ('\'' | '\\') => name.push(c),
                _ => return None,
            },
            (_, c) => name.push(c),
        }
    }
}

/// Appends the name of an atom as it is written in a formula.
pub(crate) fn write_atom_name(out: &mut String, name: &str) {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !is_reserved(name);
    if plain {
        out.push_str(name);
        return;
    }
    out.push('\'');
    for c in name.chars() {
        if matches!(c, '\'' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = ["p", "x == 1", "U", "a'b\\"];

    fn parse(text: &str) -> Result<Formula, FormulaError> {
        Formula::parse(text, &mut |name| AtomId::new(NAMES.iter().position(|known| *known == name)?))
    }

    fn written(formula: &Formula) -> String {
        let mut out = String::new();
        formula.write(&mut out, &mut |out, atom| write_atom_name(out, NAMES[atom.index()]));
        out
    }

    #[test]
    fn precedence_is_spins() {
        for (text, whole) in [
            ("[] p -> <> 'x == 1'", "([] p -> <> 'x == 1')"),
            ("p U p || p", "((p U p) || p)"),
            ("p -> p -> p", "((p -> p) -> p)"),
            ("! p && [] <> p", "(! p && [] <> p)"),
            ("always p implies eventually 'U'", "([] p -> <> 'U')"),
            ("X (p W true) V false <-> 'a\\'b\\\\'", "((X (p W true) V false) <-> 'a\\'b\\\\')"),
            ("p && p || p", "((p && p) || p)"),
            ("p U p V p", "((p U p) V p)"),
        ] {
            let formula = parse(text).expect(text);
            assert!(formula.is_well_formed());
            assert_eq!(written(&formula), whole);
            assert_eq!(parse(whole), Ok(formula), "{whole}");
        }
    }

    #[test]
    fn mistakes_have_a_place() {
        for (text, at) in
            [("", 0), ("p p", 2), ("(p", 0), ("p)", 1), ("p &&", 4), ("q", 0), ("p & p", 2), ("'p", 0), ("() p", 1), ("U p", 0)]
        {
            assert_eq!(parse(text).expect_err(text).at, at, "{text}");
        }
        assert!(!Formula(vec![]).is_well_formed());
        assert!(!Formula(vec![FormulaNode::Unary(UnaryOp::Not)]).is_well_formed());
        assert!(!Formula(vec![FormulaNode::True, FormulaNode::True]).is_well_formed());
    }

    /// The depth of a formula does not use the stack of the process.
    #[test]
    fn long_formulas_are_read_and_written() {
        let deep = format!("{}p{}", "(! ".repeat(20_000), ")".repeat(20_000));
        assert_eq!(parse(&written(&parse(&deep).expect("a formula"))), parse(&deep));
        let long = vec!["p"; 20_000].join(" && ");
        assert_eq!(parse(&written(&parse(&long).expect("a formula"))), parse(&long));
        assert_eq!(parse(&"! ".repeat(FORMULA_MAX + 1)).expect_err("too long").message, "the formula is too long");
    }
}
