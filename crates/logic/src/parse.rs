//! SPIN's syntax for formulas, as version 6.5.2 reads it in an `ltl` block.
//!
//! From loose to tight: `->` and `<->`, `||`, `&&`, then `U`, `W` and `V`, then the operators of
//! Promela's expressions; `[]`, `<>`, `X` and `!` bind tightest. All binary operators group to the
//! left. The operands of the temporal and logical operators are atoms, and the caller interprets
//! their texts: `x == 0`, `P[1]@crit`, `len(q) > 2`, `q?[ack]`, or any text in braces. (SPIN's
//! option `-f` reads formulas by other rules, in which the four logical operators bind equally; we
//! have one grammar.)

use crate::formula::{Formulas, Id, Node};
use source::{Diagnostic, FileId, Span, did_you_mean};

/// Operators nested deeper than this are refused.
pub const DEPTH_MAX: u32 = 200;
/// A text longer than this many bytes is refused.
pub const TEXT_MAX: usize = 1 << 16;

/// A formula that was read.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The formula.
    pub root: Id,
    /// The first position of each atom of the table in this text, by number.
    pub spans: Vec<Option<Span>>,
}

/// Reads a formula. `offset` is the text's position in `file`, so that positions are right if the
/// text is a part of the file.
pub fn parse(formulas: &mut Formulas, text: &str, file: FileId, offset: usize) -> Result<Parsed, Diagnostic> {
    let place = |start: usize, end: usize| Span::new(file, offset + start, offset + end);
    if text.len() > TEXT_MAX {
        return Err(Diagnostic::error(place(0, 1), format!("the formula is longer than {TEXT_MAX} bytes")));
    }
    let tokens = tokens(text, &place)?;
    let mut parser = Parser { text, tokens, at: 0, depth: 0, trees: Vec::new(), place: &place };
    let root = parser.expression(0)?;
    if let Some(token) = parser.peek() {
        let token = token.clone();
        return Err(parser.unexpected(&token));
    }
    let mut spans = Vec::new();
    let root = parser.formula(root, formulas, &mut spans)?;
    Ok(Parsed { root, spans })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// An identifier or a number.
    Word,
    /// Text in braces.
    Braced,
    /// An operator or a parenthesis, as it is written.
    Sign,
}

#[derive(Clone, Debug)]
struct Token {
    kind: Kind,
    start: usize,
    end: usize,
    /// The operator in its short form: `always` is `[]`.
    sign: &'static str,
}

/// Operators and other signs. A longer sign comes before its prefixes.
const SIGNS: [&str; 39] = [
    "<->", "[]", "<>", "->", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "??", "(", ")", "[", "]", "!", "<", ">", "+", "-", "*", "/",
    "%", "&", "|", "^", "~", "?", "@", ":", ".", ",", "=", ";", "#", "$", "'",
];

/// Words that are operators.
const WORDS: [(&str, &str); 14] = [
    ("U", "U"),
    ("W", "W"),
    ("V", "V"),
    ("R", "V"),
    ("X", "X"),
    ("always", "[]"),
    ("eventually", "<>"),
    ("until", "U"),
    ("stronguntil", "U"),
    ("weakuntil", "W"),
    ("release", "V"),
    ("next", "X"),
    ("implies", "->"),
    ("equivalent", "<->"),
];

fn tokens(text: &str, place: &dyn Fn(usize, usize) -> Span) -> Result<Vec<Token>, Diagnostic> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let first = bytes[at];
        if first.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let start = at;
        let (kind, sign) = if first.is_ascii_alphanumeric() || first == b'_' {
            while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                at += 1;
            }
            match WORDS.iter().find(|(word, _)| *word == &text[start..at]) {
                Some((_, sign)) if !names_process(&text[at..]) => (Kind::Sign, *sign),
                Some(_) => (Kind::Word, ""),
                None => (Kind::Word, ""),
            }
        } else if first == b'{' {
            let mut open = 0usize;
            for byte in &bytes[start..] {
                at += 1;
                open = match byte {
                    b'{' => open + 1,
                    b'}' => open - 1,
                    _ => open,
                };
                if open == 0 {
                    break;
                }
            }
            if open > 0 {
                return Err(Diagnostic::error(place(start, start + 1), "this brace is not closed").with_hint("add `}` after the atom"));
            }
            (Kind::Braced, "")
        } else if rest.starts_with("/\\") || rest.starts_with("\\/") {
            at += 2;
            (Kind::Sign, if first == b'/' { "&&" } else { "||" })
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            at += sign.len();
            (Kind::Sign, *sign)
        } else {
            let c = rest.chars().next().unwrap_or(' ');
            return Err(Diagnostic::error(place(start, start + c.len_utf8()), format!("`{}` is not allowed in a formula", shown(c)))
                .with_hint("operators are [] <> ! U W V X -> <-> && ||; put other text of an atom in braces"));
        };
        found.push(Token { kind, start, end: at, sign });
    }
    Ok(found)
}

/// A character in a message: as it is, if it can be seen.
fn shown(c: char) -> String {
    if c == '"' { c.to_string() } else { c.escape_debug().to_string() }
}

/// What other tools and languages write for an operator, and the operator here.
const ELSEWHERE: [(&str, &str); 10] = [
    ("G", "[]"),
    ("F", "<>"),
    ("and", "&&"),
    ("AND", "&&"),
    ("or", "||"),
    ("OR", "||"),
    ("not", "!"),
    ("NOT", "!"),
    ("xor", "<-> with `!`"),
    ("globally", "[]"),
];

/// The operator that a word of another language stands for.
fn elsewhere(word: &str) -> Option<String> {
    ELSEWHERE.iter().find(|(known, _)| *known == word).map(|(known, sign)| format!("`{known}` is a name here: write `{sign}`"))
}

/// Whether the word before `rest` is the name of a process, though it could be an operator: a
/// variable or a label of that process follows, as in `R:v`, `W[1]:v` or `X@l`.
fn names_process(rest: &str) -> bool {
    let rest = rest.trim_start();
    let behind = match rest.strip_prefix('[') {
        Some(inside) => {
            let mut open = 1_usize;
            let close = inside.bytes().position(|byte| {
                match byte {
                    b'[' => open += 1,
                    b']' => open -= 1,
                    _ => {}
                }
                open == 0
            });
            // `X []p` has nothing in its brackets.
            close.filter(|&close| !inside[..close].trim().is_empty()).map_or("", |close| inside[close + 1..].trim_start())
        }
        None => rest,
    };
    behind.starts_with(['@', ':'])
}

/// A number in the parser's table of trees.
type Tree = usize;

/// An operand, before it is known whether it is a formula or a part of an atom.
struct Entry {
    start: usize,
    end: usize,
    depth: u32,
    /// A temporal operator occurs in it.
    temporal: bool,
    shape: Shape,
}

enum Shape {
    /// An atom: its text as written.
    Atom,
    /// An atom whose text is in braces.
    Braced,
    Constant(bool),
    Unary(&'static str, Tree),
    Binary(&'static str, Tree, Tree),
    /// A chain of `&&` or `||`.
    Chain(&'static str, Vec<Tree>),
    /// In parentheses, which are not a part of the formula.
    Group(Tree),
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
    trees: Vec<Entry>,
    place: &'a dyn Fn(usize, usize) -> Span,
}

/// How tightly a binary operator binds; nothing if the sign is not one.
fn binding(sign: &str) -> Option<u32> {
    Some(match sign {
        "->" | "<->" => 1,
        "||" => 2,
        "&&" => 3,
        "U" | "W" | "V" => 4,
        "|" => 5,
        "^" => 6,
        "&" => 7,
        "==" | "!=" => 8,
        "<" | ">" | "<=" | ">=" => 9,
        "<<" | ">>" => 10,
        "+" | "-" => 11,
        "*" | "/" | "%" => 12,
        _ => return None,
    })
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn peek_sign(&self) -> &'static str {
        self.peek().map_or("", |token| token.sign)
    }

    fn error(&self, start: usize, end: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error((self.place)(start, end), message)
    }

    fn token_text(&self, token: &Token) -> &str {
        &self.text[token.start..token.end]
    }

    fn unexpected(&self, token: &Token) -> Diagnostic {
        let written = self.token_text(token);
        let error = self.error(token.start, token.end, format!("`{written}` is not allowed here"));
        let missing = || Some("an operator is missing before it: && || -> <-> U W V".to_owned());
        let beside = |at: Option<usize>| at.and_then(|at| self.tokens.get(at));
        let (before, after) = (beside(self.at.checked_sub(1)), beside(Some(self.at + 1)));
        let adjacent = |other: Option<&Token>, sign: &str| other.is_some_and(|other| other.sign == sign && other.start == token.end);
        // An operand may follow `not` or `G` in other languages.
        let named = before.filter(|before| before.kind == Kind::Word).and_then(|before| elsewhere(self.token_text(before)));
        let hint = match (token.kind, token.sign) {
            (Kind::Sign, ")") => Some("no parenthesis is open here".to_owned()),
            (Kind::Sign, "=") if adjacent(after, ">") => Some("write `->`".to_owned()),
            (Kind::Sign, ">") if before.is_some_and(|before| before.sign == "<=" && before.end == token.start) => {
                Some("write `<->`".to_owned())
            }
            (Kind::Sign, "=") => Some("`==` compares".to_owned()),
            (Kind::Word | Kind::Braced, _) if named.is_some() => named,
            (Kind::Word, _) => elsewhere(written).or_else(|| did_you_mean(written, WORDS.iter().map(|(word, _)| *word))).or_else(missing),
            (Kind::Sign, "!" | "[]" | "<>" | "X") if named.is_some() => named,
            (Kind::Sign, "!" | "[]" | "<>" | "X") => missing(),
            _ => None,
        };
        error.with_hint_opt(hint)
    }

    fn push(&mut self, start: usize, end: usize, temporal: bool, depth: u32, shape: Shape) -> Result<Tree, Diagnostic> {
        if depth > DEPTH_MAX {
            return Err(self.too_deep(start, end));
        }
        self.trees.push(Entry { start, end, depth, temporal, shape });
        Ok(self.trees.len() - 1)
    }

    fn too_deep(&self, start: usize, end: usize) -> Diagnostic {
        self.error(start, end, format!("operators are nested deeper than {DEPTH_MAX} levels")).with_hint("split the formula into several")
    }

    /// An expression of operators that bind at least as tightly as `least`.
    fn expression(&mut self, least: u32) -> Result<Tree, Diagnostic> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let at = self.peek().map_or(self.text.len(), |token| token.start);
            return Err(self.too_deep(at, at));
        }
        let mut left = self.operand()?;
        while let Some(power) = binding(self.peek_sign()) {
            if power < least {
                break;
            }
            let sign = self.peek_sign();
            self.at += 1;
            let right = self.expression(power + 1)?;
            left = self.binary(sign, left, right)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn binary(&mut self, sign: &'static str, left: Tree, right: Tree) -> Result<Tree, Diagnostic> {
        let (l, r) = (&self.trees[left], &self.trees[right]);
        let (start, end, depth) = (l.start, r.end, l.depth.max(r.depth) + 1);
        let temporal = l.temporal || r.temporal;
        match sign {
            "&&" | "||" => {
                // A chain is one level deep, however long it is.
                let extended = match &mut self.trees[left].shape {
                    Shape::Chain(known, list) if *known == sign => {
                        list.push(right);
                        true
                    }
                    _ => false,
                };
                if extended {
                    let depth = self.trees[left].depth.max(self.trees[right].depth + 1);
                    let entry = &mut self.trees[left];
                    (entry.end, entry.depth, entry.temporal) = (end, depth, temporal);
                    return Ok(left);
                }
                self.push(start, end, temporal, depth, Shape::Chain(sign, vec![left, right]))
            }
            "->" | "<->" => self.push(start, end, temporal, depth, Shape::Binary(sign, left, right)),
            "U" | "W" | "V" => self.push(start, end, true, depth, Shape::Binary(sign, left, right)),
            _ => {
                if temporal {
                    let bad = if l.temporal { l } else { r };
                    let (from, to) = (bad.start, bad.end);
                    let hint = match sign {
                        "&" => "write `&&`",
                        "|" => "write `||`",
                        _ => "`[]`, `<>`, `X` and `!` bind tighter than comparisons: write `[](x == 0)`",
                    };
                    return Err(self.error(from, to, format!("a temporal formula cannot be an operand of `{sign}`")).with_hint(hint));
                }
                self.push(start, end, false, 1, Shape::Atom)
            }
        }
    }

    fn operand(&mut self) -> Result<Tree, Diagnostic> {
        let Some(token) = self.peek().cloned() else {
            let at = self.text.trim_end().len();
            return Err(self.error(at, at, "the formula ends here, but an operand is missing"));
        };
        match (token.kind, token.sign) {
            (Kind::Sign, "!" | "[]" | "<>" | "X" | "-" | "~") => {
                self.at += 1;
                self.depth += 1;
                if self.depth > DEPTH_MAX {
                    return Err(self.too_deep(token.start, token.end));
                }
                let inner = self.operand()?;
                self.depth -= 1;
                let entry = &self.trees[inner];
                let (end, depth, temporal) = (entry.end, entry.depth + 1, entry.temporal);
                if matches!(token.sign, "-" | "~") {
                    if temporal {
                        return Err(self.error(
                            token.start,
                            token.end,
                            format!("`{}` is not allowed before a temporal formula", token.sign),
                        ));
                    }
                    return self.push(token.start, end, false, 1, Shape::Atom);
                }
                self.push(token.start, end, temporal || token.sign != "!", depth, Shape::Unary(token.sign, inner))
            }
            (Kind::Sign, "(") => {
                self.at += 1;
                let inner = self.expression(0)?;
                let Some(close) = self.peek().cloned() else {
                    return Err(self.error(token.start, token.end, "this parenthesis is not closed").with_hint("add `)`"));
                };
                if close.sign != ")" {
                    return Err(self.unexpected(&close));
                }
                self.at += 1;
                let (depth, temporal) = (self.trees[inner].depth, self.trees[inner].temporal);
                self.push(token.start, close.end, temporal, depth, Shape::Group(inner))
            }
            (Kind::Braced, _) => {
                self.at += 1;
                self.push(token.start, token.end, false, 1, Shape::Braced)
            }
            (Kind::Word, _) => {
                self.at += 1;
                let end = self.postfix(&token)?;
                let word = self.token_text(&token);
                let shape = match word {
                    _ if end != token.end => Shape::Atom,
                    "true" | "skip" => Shape::Constant(true),
                    "false" => Shape::Constant(false),
                    number if number.bytes().all(|b| b.is_ascii_digit()) => Shape::Constant(number.bytes().any(|b| b != b'0')),
                    _ => Shape::Atom,
                };
                self.push(token.start, end, false, 1, shape)
            }
            _ => Err(self.unexpected(&token)),
        }
    }

    /// Skips what may follow a name in an atom: indices, arguments, members, labels, polls. Returns
    /// the position after it.
    fn postfix(&mut self, name: &Token) -> Result<usize, Diagnostic> {
        let mut end = name.end;
        let numeric = self.token_text(name).starts_with(|c: char| c.is_ascii_digit());
        while let Some(token) = self.peek().filter(|_| !numeric).cloned() {
            match token.sign {
                // A formula of another tool would be taken for one atom.
                "(" if matches!(self.token_text(name), "G" | "F" | "not" | "NOT") && end == name.end => {
                    let word = self.token_text(name);
                    let error = self.error(name.start, name.end, format!("`{word}` is no operator here"));
                    return Err(error.with_hint_opt(elsewhere(word)));
                }
                "[" | "(" => end = self.balanced(&token)?,
                "?" | "??" if self.tokens.get(self.at + 1).is_some_and(|next| next.sign == "[") => {
                    self.at += 1;
                    let open = self.tokens[self.at].clone();
                    end = self.balanced(&open)?;
                }
                "@" | ":" | "." => {
                    self.at += 1;
                    match self.peek() {
                        Some(next) if next.kind == Kind::Word => end = next.end,
                        _ => {
                            return Err(self.error(token.start, token.end, format!("a name must follow `{}`", token.sign)));
                        }
                    }
                    self.at += 1;
                }
                "" if token.kind == Kind::Braced && self.token_text(name) == "c_expr" => {
                    self.at += 1;
                    end = token.end;
                }
                _ => break,
            }
        }
        Ok(end)
    }

    /// Skips from an opening bracket to the closing one. Returns the position after it.
    fn balanced(&mut self, open: &Token) -> Result<usize, Diagnostic> {
        let mut depth = 0;
        while let Some(token) = self.peek().cloned() {
            self.at += 1;
            match token.sign {
                "(" | "[" => depth += 1,
                ")" | "]" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(token.end);
            }
        }
        Err(self.error(open.start, open.end, "this bracket is not closed"))
    }

    /// The formula of a tree. The depth is bounded, and so is the recursion.
    fn formula(&self, tree: Tree, formulas: &mut Formulas, spans: &mut Vec<Option<Span>>) -> Result<Id, Diagnostic> {
        let entry = &self.trees[tree];
        Ok(match &entry.shape {
            Shape::Constant(true) => Formulas::TRUE,
            Shape::Constant(false) => Formulas::FALSE,
            Shape::Atom => self.atom(self.canonical(entry.start, entry.end), entry, formulas, spans),
            Shape::Braced => {
                let inner = self.text[entry.start + 1..entry.end - 1].split_whitespace().collect::<Vec<_>>().join(" ");
                if inner.is_empty() {
                    return Err(self.error(entry.start, entry.end, "this atom is empty"));
                }
                self.atom(inner, entry, formulas, spans)
            }
            Shape::Group(inner) => self.formula(*inner, formulas, spans)?,
            Shape::Unary(sign, inner) => {
                let inner = self.formula(*inner, formulas, spans)?;
                formulas.intern(match *sign {
                    "!" => Node::Not(inner),
                    "[]" => Node::Always(inner),
                    "<>" => Node::Eventually(inner),
                    _ => Node::Next(inner),
                })
            }
            Shape::Binary(sign, left, right) => {
                let (left, right) = (self.formula(*left, formulas, spans)?, self.formula(*right, formulas, spans)?);
                formulas.intern(match *sign {
                    "->" => Node::Implies(left, right),
                    "<->" => Node::Equivalent(left, right),
                    "U" => Node::Until(left, right),
                    "W" => Node::WeakUntil(left, right),
                    _ => Node::Release(left, right),
                })
            }
            Shape::Chain(sign, list) => {
                let list = list.iter().map(|tree| self.formula(*tree, formulas, spans)).collect::<Result<Box<[Id]>, _>>()?;
                formulas.intern(if *sign == "&&" { Node::And(list) } else { Node::Or(list) })
            }
        })
    }

    fn atom(&self, text: String, entry: &Entry, formulas: &mut Formulas, spans: &mut Vec<Option<Span>>) -> Id {
        let number = formulas.atom_number(&text) as usize;
        spans.resize(spans.len().max(number + 1), None);
        spans[number].get_or_insert((self.place)(entry.start, entry.end));
        formulas.atom(&text)
    }

    /// The text of an atom with blanks only between words and around binary operators, so that
    /// `x==0` and `x == 0` are the same atom.
    fn canonical(&self, start: usize, end: usize) -> String {
        let first = self.tokens.partition_point(|token| token.start < start);
        let mut text = String::new();
        let mut operand_before = false;
        for token in self.tokens[first..].iter().take_while(|token| token.end <= end) {
            let written = self.token_text(token);
            let binary = token.kind == Kind::Sign && binding(token.sign).is_some() && operand_before;
            let after_word = text.ends_with(|c: char| c.is_alphanumeric() || c == '_');
            if binary || token.kind == Kind::Word && after_word {
                text.push(' ');
            }
            text.push_str(written);
            if binary || written == "," {
                text.push(' ');
            }
            operand_before = token.kind != Kind::Sign || matches!(token.sign, ")" | "]");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, Diagnostic> {
        let mut formulas = Formulas::new();
        parse(&mut formulas, text, FileId::default(), 0).map(|parsed| formulas.text(parsed.root))
    }

    #[test]
    fn precedence_and_grouping_are_those_of_spin() {
        for (text, meaning) in [
            ("[] p U q", "([]p) U q"),
            ("p -> q -> r", "(p -> q) -> r"),
            ("p <-> q -> r", "(p <-> q) -> r"),
            ("p U q U r", "(p U q) U r"),
            ("p U q W r", "(p U q) W r"),
            ("p && q U r", "p && (q U r)"),
            ("p || q -> r", "(p || q) -> r"),
            ("p || q && r", "p || (q && r)"),
            ("! p U q", "(!p) U q"),
            ("[] p && q", "([]p) && q"),
            ("always p implies eventually q", "([]p) -> (<>q)"),
            ("p stronguntil q weakuntil r", "(p U q) W r"),
            ("p R q", "p V q"),
            ("p release q", "p V q"),
            ("X X p", "X X p"),
            ("next p equivalent q", "(X p) <-> q"),
            ("p U x == 1", "p U (x == 1)"),
            ("p & q U r", "(p & q) U r"),
            ("p /\\ q \\/ r", "(p && q) || r"),
            ("p && q && r", "p && q && r"),
            ("true U false || 1 && 0", "(true U false) || (true && false)"),
        ] {
            let mut formulas = Formulas::new();
            let mut read = |text| parse(&mut formulas, text, FileId::default(), 0).expect(text).root;
            assert_eq!(read(text), read(meaning), "{text}");
        }
    }

    #[test]
    fn atoms_are_texts_of_their_own() {
        for (text, meaning) in [
            ("[](x==0)", "[](x == 0)"),
            ("[] P[1]@crit", "[](P[1]@crit)"),
            ("<>(P[0]:x+1<y )", "<>(P[0]:x + 1 < y)"),
            ("len(q)>2 U q?[ack, 1]", "(len(q) > 2) U (q?[ack, 1])"),
            ("[]{ any  text [at] all }", "[]{any text [at] all}"),
            ("a.b[i+1].c", "(a.b[i + 1].c)"),
            ("-x<3", "(-x < 3)"),
            ("(p && q) == r", "((p && q) == r)"),
            ("!(x==0) && x == 0", "!(x == 0) && (x == 0)"),
        ] {
            assert_eq!(read(text).expect(text), meaning, "{text}");
        }
        let mut formulas = Formulas::new();
        parse(&mut formulas, "x==0 && x ==  0 || (x==0)", FileId::default(), 0).expect("a formula");
        assert_eq!(formulas.atoms(), ["x == 0"]);
    }

    #[test]
    fn what_is_printed_is_read_again() {
        for text in ["[](p -> <>q)", "!(p U !q) && X r", "(a W b) V (c <-> (x == 3))", "{!-y}", "{a && b} U {U}", "X {true}", "{a>>b}"] {
            let printed = read(text).expect(text);
            assert_eq!(read(&printed).expect("printed"), printed);
        }
    }

    #[test]
    fn operators_of_other_languages_are_named() {
        for (text, hint) in [
            ("G(p -> F q)", "`[]`"),
            ("F p", "`<>`"),
            ("[] F !p", "`<>`"),
            ("not p", "`!`"),
            ("p and q", "`&&`"),
            ("p or q", "`||`"),
            ("p => q", "`->`"),
            ("p <=> q", "`<->`"),
            ("[]p & <>q", "`&&`"),
            ("p | <>q", "`||`"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.hint.as_deref().is_some_and(|given| given.contains(hint)), "{text}: {:?}", error.hint);
        }
        assert_eq!(read("[] \u{e9}").expect_err("a letter").message, "`\u{e9}` is not allowed in a formula");
    }

    #[test]
    fn errors_have_a_position() {
        for (text, start, word) in [
            ("", 0, "missing"),
            ("p U", 3, "missing"),
            ("(p && q", 0, "not closed"),
            ("p q", 2, "not allowed"),
            ("p)", 1, "not allowed"),
            ("[] x == 0", 0, "operand"),
            ("p § q", 2, "not allowed"),
            ("[] {p", 3, "not closed"),
            ("a[1", 1, "not closed"),
            ("p = q", 2, "not allowed"),
            ("[]{ }", 2, "empty"),
            ("P@", 1, "must follow"),
            ("G(p -> F q)", 0, "no operator"),
            ("p U F(q)", 4, "no operator"),
        ] {
            let error = read(text).expect_err(text);
            assert_eq!(error.span.start, start, "{text}: {}", error.message);
            assert!(error.message.contains(word), "{text}: {}", error.message);
        }
    }

    #[test]
    fn nesting_and_length_are_bounded() {
        for piece in ["!", "(", "[]", "X ", "p U (", "p -> ("] {
            assert!(read(&piece.repeat(5000)).is_err(), "{piece}");
        }
        assert!(read(&format!("p{}", " -> p".repeat(5000))).is_err());
        assert!(read(&format!("p{}", " U p".repeat(5000))).is_err());
        assert!(read(&format!("p{}", " && p".repeat(5000))).is_ok());
        assert!(read(&"p".repeat(TEXT_MAX + 1)).is_err());
        assert!(read(&format!("a{}", "[".repeat(5000))).is_err());
    }
}
