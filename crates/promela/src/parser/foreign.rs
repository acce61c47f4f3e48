//! Words and signs of other languages, and their equivalents in Promela.
//!
//! Users know C, Python, TLA+ and PlusCal. What they type is wrong here, but the intention is
//! clear, so the message can say what to write. This module does not change what is accepted.

use super::{Parsed, Parser, Reported};
use crate::ast::{Expr, ExprKind, Step, Stmt, StmtKind};
use crate::token::{Key, Op, Tok};
use source::{Diagnostic, Span, did_you_mean};

/// The Promela equivalent of a word that begins a statement or a declaration in another language.
pub(crate) fn hint_for_word(word: &str) -> Option<&'static str> {
    Some(match word {
        "while" | "loop" | "repeat" | "until" | "forever" => "a loop is `do :: condition -> … :: else -> break od`",
        "elif" | "elsif" | "elseif" => "a further case is a further option: `if :: a -> … :: b -> … :: else -> … fi`",
        "switch" | "case" | "match" | "default" | "either" => "a choice is `if :: x == 1 -> … :: x == 2 -> … :: else -> … fi`",
        "then" => "`->` separates a condition from the statements after it",
        "endif" => "`if` is closed by `fi`",
        "done" | "endwhile" | "endfor" | "end_while" => "`do` is closed by `od`",
        "begin" | "end" => "blocks are written between `{` and `}`",
        "function" | "def" | "fn" | "func" | "proc" | "procedure" | "void" | "method" | "macro" | "sub" => {
            "write `inline name(a, b) { … }` for a piece of text with parameters, or `proctype Name(byte a) { … }` for a process"
        }
        "process" | "thread" | "task" | "actor" => "a process type is `proctype Name() { … }`; `active proctype` starts it at once",
        "main" => "the first process is `init { … }`, or any `active proctype Name() { … }`",
        "import" | "include" | "from" | "using" | "require" | "use" => "write `#include \"file\"`",
        "let" | "var" | "auto" | "mut" => "a declaration begins with a type: `byte x = 1`",
        "const" | "constant" | "final" | "CONSTANT" | "CONSTANTS" => "a constant is a macro: `#define N 3`",
        "boolean" | "Bool" | "Boolean" | "BOOLEAN" => "the type is called `bool`",
        "char" | "uint8" | "uint8_t" | "u8" => "the type is called `byte`",
        "integer" | "long" | "int32" | "int32_t" | "i32" | "Int" | "Nat" | "signed" => "the type is called `int`",
        "uint" | "uint32_t" | "u32" => "a number without sign has a width: `unsigned x : 5`",
        "int16_t" | "i16" => "the type is called `short`",
        "float" | "double" | "real" => "there are only integers: `byte`, `short`, `int`",
        "string" | "String" | "str" => "there are no strings in variables; `mtype = { a, b }` gives names to values",
        "struct" | "record" | "class" => "a structure is `typedef Name { byte a; byte b }`",
        "enum" => "names for values are `mtype = { a, b }`",
        "channel" | "queue" => "a channel is `chan q = [2] of { byte }`",
        "print" | "println" | "echo" | "puts" | "cout" => "write `printf(\"…\\n\", values)`",
        "await" | "wait" | "when" | "require_true" | "assume" => {
            "a condition waits by itself: `x > 0` is a statement that is executed once it holds"
        }
        "send" => "a message is sent by `q!value`",
        "receive" | "recv" => "a message is received by `q?variable`",
        "spawn" | "fork" | "start" | "go" => "`run Name()` starts a process",
        "exit" | "quit" | "abort" | "stop" => "a process ends at its closing brace; `goto` leads there, `assert(false)` reports",
        "continue" => "the end of an option leads back to the beginning of the loop: leave the rest to another option",
        "pass" | "noop" | "nop" => "write `skip`",
        "lock" | "mutex" | "synchronized" => "write `atomic { wait_condition -> taken = true }`",
        "nondet" | "choose" | "random" | "rand" => "`select (x : 0 .. 3)` chooses a number; options that are all possible choose a way",
        "and" => "write `&&`",
        "or" => "write `||`",
        "not" => "write `!`",
        "mod" => "write `%`",
        "xor" => "write `^`, or `!=` for truth values",
        "True" | "TRUE" => "write `true`",
        "False" | "FALSE" => "write `false`",
        "None" | "NULL" | "null" | "nil" => "there is no such value: a variable is 0 until it is set",
        "VARIABLE" | "VARIABLES" | "variables" | "EXTENDS" | "MODULE" => "this is TLA+; in Promela a variable is `byte x = 0`",
        "new" | "malloc" | "delete" | "free" => "all data is declared: memory cannot be allocated",
        "try" | "catch" | "throw" | "except" | "raise" => "`{ … } unless { condition -> … }` leaves a block when a condition holds",
        _ => return None,
    })
}

/// What a brace that is missing at `what` would begin.
pub(super) fn hint_for_brace(what: &str) -> &'static str {
    match what {
        "before the formula" => "a formula is in braces: `ltl name { [] (x < 3) }`",
        "after the name of the type" => "its fields are in braces: `typedef Name { byte a; byte b }`",
        "before the names of messages" => "the names are in braces: `mtype = { a, b }`",
        "at the beginning of the body" => "the statements of a process are in braces: `proctype Name() { … }`",
        _ => "the statements of a block are in braces: `{ … }`",
    }
}

/// The operator that stands for a word of other notations of temporal formulas.
pub(super) fn operator_of_formulas(word: &str) -> Option<&'static str> {
    Some(match word {
        "G" | "globally" => "[]",
        "F" | "finally" => "<>",
        "and" | "AND" => "&&",
        "or" | "OR" => "||",
        "not" | "NOT" => "!",
        "xor" => "!=",
        "iff" => "<->",
        _ => return None,
    })
}

/// The Promela equivalent of two consecutive signs, the second of which was not expected.
fn hint_for_signs(before: Op, found: Op) -> Option<String> {
    Some(match (before, found) {
        (op, Op::Assign) if crate::ast::Binary::of(op).is_some_and(|(_, level)| !(6..=7).contains(&level)) => {
            let sign = op.text();
            format!("there is no `{sign}=`: write `x = x {sign} …`")
        }
        (Op::EqEq | Op::Ne, Op::Assign) => "`==` and `!=` compare".to_owned(),
        (Op::Assign, Op::EqEq | Op::Assign) => "`=` assigns, `==` compares".to_owned(),
        (Op::Lt, Op::Gt) => "`!=` is unequal".to_owned(),
        (Op::Le, Op::Gt) => "`==` compares; `<->` is for formulas".to_owned(),
        (Op::Assign, Op::Gt) => "`>=` compares, `->` separates a condition from what follows it".to_owned(),
        (Op::Assign, Op::Lt) => "`<=` compares".to_owned(),
        (Op::Colon, Op::Assign) => "`=` assigns".to_owned(),
        (Op::Assign, Op::Plus) => "a number has no sign `+`; write `x = x + …` to add".to_owned(),
        (Op::Star, Op::Star) => "there is no operator for powers".to_owned(),
        _ => return None,
    })
}

impl Parser {
    /// The token before the current one.
    pub(super) fn previous(&self) -> Option<&Tok> {
        self.at.checked_sub(1).and_then(|i| self.tokens.get(i)).map(|t| &t.kind)
    }

    /// A hint for `found` where an operand was expected.
    pub(super) fn hint_for_operand(&self, found: &Tok) -> Option<String> {
        let Tok::Op(found) = found else { return None };
        let before = match self.previous() {
            Some(Tok::Op(before)) => Some(*before),
            _ => None,
        };
        if let Some(hint) = before.and_then(|before| hint_for_signs(before, *found)) {
            return Some(hint);
        }
        let own_line = self.tokens.get(self.at).is_some_and(|t| t.newline);
        match found {
            Op::Incr | Op::Decr => Some(format!("write `x{}`, as a statement of its own", found.text())),
            Op::Amp | Op::Star if !own_line => Some("there are no pointers".to_owned()),
            Op::LtlAnd if !own_line => Some("write `&&`".to_owned()),
            Op::LtlOr if !own_line => Some("write `||`".to_owned()),
            _ => None,
        }
    }

    /// A hint for a token that was found where a statement could end.
    pub(super) fn hint_after_statement(&self) -> Option<String> {
        match self.peek() {
            Tok::Op(Op::Incr | Op::Decr) => {
                return Some("`x++` and `x--` are statements, not parts of expressions".to_owned());
            }
            Tok::Op(Op::LtlAnd) => return Some("write `&&`; `/\\` is for formulas".to_owned()),
            Tok::Op(Op::LtlOr) => return Some("write `||`; `\\/` is for formulas".to_owned()),
            Tok::Op(Op::Query | Op::RandomRecv) if self.is_value_received() => {
                return Some("a receive is a statement of its own: `c?x` stores what it receives in `x`".to_owned());
            }
            Tok::Op(Op::Query) => return Some("write `(condition -> a : b)` for a conditional value".to_owned()),
            Tok::Op(Op::LBracket) if self.previous() == Some(&Tok::Op(Op::RBracket)) => return Some(TWO_DIMENSIONS.to_owned()),
            Tok::Op(Op::At) => {
                if let Some(Tok::Name(name)) = self.remote_name() {
                    let known = self.names.proctypes.iter().map(|n| &**n);
                    let hint = did_you_mean(name, known);
                    return hint.or(Some("`P@label` asks where a process of the type `P` is".to_owned()));
                }
            }
            Tok::Hash(_) => return Some("`!=` is unequal; a directive begins a line".to_owned()),
            Tok::Op(Op::Colon) => return Some("an option begins with `::`".to_owned()),
            Tok::Op(_) if self.is_in_receive() => {
                return Some("a receive takes variables and constants; `eval(…)` takes the value of an expression".to_owned());
            }
            Tok::Name(word) if matches!(&**word, "and" | "or" | "then" | "mod" | "xor") => return hint_for_word(word).map(str::to_owned),
            _ => {}
        }
        // The statement is an unknown word, which may be a misspelled keyword.
        let Some(Tok::Name(word)) = self.previous() else { return None };
        // A word inside an expression is no keyword.
        let before = self.at.checked_sub(2).and_then(|at| self.tokens.get(at));
        let inside = before.is_some_and(
            |token| matches!(token.kind, Tok::Op(op) if !matches!(op, Op::Sep | Op::Semi | Op::Arrow | Op::LBrace | Op::RBrace)),
        );
        let nearest = || did_you_mean(word, Key::ALL.iter().map(|k| k.text()));
        hint_for_word(word).map(str::to_owned).or_else(|| if inside { None } else { nearest() })
    }

    /// Whether a receive is meant here as the value of an assignment, as in `x = c?`, and not a
    /// conditional value, as in `x = b ? 1 : 2`.
    fn is_value_received(&self) -> bool {
        let before = |steps: usize| self.at.checked_sub(steps).and_then(|at| self.tokens.get(at)).map(|token| &token.kind);
        let ends = |tok: &Tok| {
            matches!(tok, Tok::Op(Op::Semi | Op::Arrow | Op::RBrace | Op::Sep) | Tok::Key(Key::Fi | Key::Od) | Tok::ImpliedSemi | Tok::End)
        };
        let to_end = ends(self.peek_at(1)) || matches!(self.peek_at(1), Tok::Name(_)) && ends(self.peek_at(2));
        to_end && matches!(before(1), Some(Tok::Name(_))) && before(2) == Some(&Tok::Op(Op::Assign))
    }

    /// Whether the text before this place belongs to the arguments of a receive.
    fn is_in_receive(&self) -> bool {
        let part = |tok: &Tok| {
            matches!(
                tok,
                Tok::Name(_) | Tok::Number(_) | Tok::Op(Op::Comma | Op::LParen | Op::RParen | Op::LBracket | Op::RBracket | Op::Dot)
            )
        };
        let before = self.tokens[..self.at].iter().rev().map(|token| &token.kind).find(|tok| !part(tok));
        matches!(before, Some(Tok::Op(Op::Query | Op::RandomRecv)))
    }

    /// Whether the current word or the one before belongs to another language, so that the
    /// following text need not be read.
    pub(super) fn at_foreign_word(&self) -> bool {
        let foreign = |tok: &Tok| matches!(tok, Tok::Name(word) if hint_for_word(word).is_some());
        foreign(self.peek()) || self.previous().is_some_and(foreign)
    }

    /// The name before `@`, or before an index and `@`.
    fn remote_name(&self) -> Option<&Tok> {
        let mut at = self.at.checked_sub(1)?;
        if self.tokens.get(at)?.kind == Tok::Op(Op::RBracket) {
            while self.tokens.get(at)?.kind != Tok::Op(Op::LBracket) {
                at = at.checked_sub(1)?;
            }
            at = at.checked_sub(1)?;
        }
        self.tokens.get(at).map(|t| &t.kind)
    }

    /// A statement that begins with a word of another language, as far as it can be read; `None` if
    /// the word is not foreign.
    pub(super) fn foreign_statement(&mut self, word: &str) -> Option<Parsed<StmtKind>> {
        if self.names.inlines.contains_key(word) {
            return None;
        }
        let next = self.peek_at(1).clone();
        match word {
            "while" | "until" if next == Tok::Op(Op::LParen) => Some(self.c_while(word)),
            "elif" | "elsif" | "elseif" | "switch" if next == Tok::Op(Op::LParen) => {
                let message = format!("there is no `{word}` in Promela");
                let hint = hint_for_word(word).unwrap_or_default();
                self.report(Diagnostic::error(self.span(), message).with_hint(hint));
                self.advance();
                self.skip_brackets(Op::LParen, Op::RParen);
                let before = self.at;
                self.skip_line_ends();
                if self.is_op(Op::LBrace) {
                    self.skip_doubtful_block();
                } else {
                    self.at = before;
                }
                Some(Ok(StmtKind::Error))
            }
            _ => None,
        }
    }

    fn skip_line_ends(&mut self) {
        while *self.peek() == Tok::ImpliedSemi {
            self.advance();
        }
    }

    /// `while (c) { … }`: an error is reported, and the text is read as the intended loop.
    fn c_while(&mut self, word: &str) -> Parsed<StmtKind> {
        let hint = hint_for_word(word).unwrap_or_default();
        let span = self.span();
        self.report(Diagnostic::error(span, format!("there is no `{word}` in Promela")).with_hint(hint));
        self.advance();
        let condition = self.condition_in_parentheses()?;
        self.skip_line_ends();
        let body = self.statement()?;
        let step = |kind| Step::Statement(Stmt { kind, span });
        let round = vec![step(StmtKind::Expr(condition)), Step::Statement(body)];
        Ok(StmtKind::Do(vec![round, vec![step(StmtKind::Else), step(StmtKind::Break)]]))
    }

    /// `( e )` as in C, where `=` may be meant as `==`.
    fn condition_in_parentheses(&mut self) -> Parsed<Expr> {
        let open = self.expect_op(Op::LParen, "before the condition")?;
        let condition = self.expression()?;
        if self.is_op(Op::Assign) {
            self.wrong_assignment();
            self.advance();
            self.expression()?;
        }
        if !self.is_op(Op::RParen) {
            let message = format!("expected `)`, found {}", self.peek());
            let diagnostic = Diagnostic::error(self.span(), message)
                .with_label(open, "to close this `(`")
                .with_hint(format!("write `)` before {}", self.peek()));
            return Err(self.report(diagnostic));
        }
        self.advance();
        Ok(condition)
    }

    /// `=` where a value is compared.
    pub(super) fn wrong_assignment(&mut self) -> Reported {
        let diagnostic = Diagnostic::error(self.span(), "an assignment is not a condition").with_hint("`==` compares");
        self.report(diagnostic)
    }

    /// Whether an `if` as C writes it begins after the word.
    pub(super) fn at_c_if(&self) -> bool {
        if !self.is_op(Op::LParen) {
            return false;
        }
        let mut nesting = 0usize;
        let mut at = 0;
        loop {
            match self.peek_at(at) {
                Tok::Op(Op::LParen) => nesting += 1,
                Tok::Op(Op::RParen) => nesting -= 1,
                Tok::End => return false,
                _ => {}
            }
            at += 1;
            if nesting == 0 {
                break;
            }
        }
        while *self.peek_at(at) == Tok::ImpliedSemi && *self.peek_at(at + 1) == Tok::Op(Op::LBrace) {
            at += 1;
        }
        let next = self.peek_at(at);
        *next == Tok::Op(Op::LBrace) || matches!(next, Tok::Name(_)) || matches!(next, Tok::Key(key) if *key != Key::Fi)
    }

    /// `(c) { … } else { … }` after an `if`: an error is reported, and the text is read as the
    /// intended choice.
    pub(super) fn c_if(&mut self, word: Span) -> Parsed<StmtKind> {
        self.report(
            Diagnostic::error(self.span(), "expected `::` after `if`, found `(`")
                .with_label(word, "a selection has options")
                .with_hint("write `if :: condition -> … :: else -> … fi`"),
        );
        let mut options = Vec::new();
        let step = |kind| Step::Statement(Stmt { kind, span: word });
        loop {
            let condition = self.condition_in_parentheses()?;
            self.skip_line_ends();
            let body = self.statement()?;
            options.push(vec![step(StmtKind::Expr(condition)), Step::Statement(body)]);
            let before = self.at;
            self.skip_separators();
            let word = match self.peek() {
                Tok::Key(Key::Else) => "else",
                Tok::Name(name) if matches!(&**name, "elif" | "elsif" | "elseif") => "elif",
                _ => {
                    self.at = before;
                    break;
                }
            };
            self.advance();
            let again = word == "elif" || self.eat_key(Key::If);
            if !again {
                self.skip_line_ends();
                self.skip_separators();
                let body = self.statement()?;
                options.push(vec![step(StmtKind::Else), Step::Statement(body)]);
                break;
            }
        }
        Ok(StmtKind::If(options))
    }

    /// `for (i = 0; i < n; i++) { … }`: an error is reported, and the body is read. The variable
    /// has been read.
    pub(super) fn c_for(&mut self, start: Span) -> Parsed<StmtKind> {
        self.report(
            Diagnostic::error(start, "this is not how `for` is written")
                .with_hint("write `for (i : 0 .. n - 1) { … }`, with `i` declared before, or `for (i in array) { … }`"),
        );
        // Skips from inside the parentheses to the token after the closing one.
        let mut nesting = 1usize;
        while nesting > 0 {
            match self.peek() {
                Tok::End => return Err(Reported),
                Tok::Op(Op::LParen) => nesting += 1,
                Tok::Op(Op::RParen) => nesting -= 1,
                Tok::Name(name) => drop(self.doubtful.insert(name.clone())),
                _ => {}
            }
            self.advance();
        }
        self.skip_line_ends();
        let body = self.statement()?;
        let leave = Step::Statement(Stmt { kind: StmtKind::Break, span: start });
        Ok(StmtKind::Do(vec![vec![Step::Statement(body)], vec![leave]]))
    }

    /// An option that is always executable beside `else`, which is therefore never taken. Often
    /// `==` was meant.
    pub(super) fn check_else(&mut self, options: &[Vec<Step>]) {
        let has_else = options.iter().any(|option| matches!(first(option), Some((StmtKind::Else, _))));
        if !has_else {
            return;
        }
        for option in options {
            let Some((kind, span)) = first(option) else { continue };
            let (what, hint) = match kind {
                // `x++` and `x = x + 1` are not mistaken for comparisons.
                StmtKind::Assign(_, value) => {
                    let may_compare = matches!(value.kind, ExprKind::Number(_) | ExprKind::Ref(_));
                    ("an assignment is", may_compare.then_some("`==` compares"))
                }
                StmtKind::Printf(..) => ("`printf` is", None),
                StmtKind::Expr(Expr { kind: ExprKind::Number(n), .. }) if *n != 0 => ("this is", None),
                _ => continue,
            };
            let diagnostic = Diagnostic::warning(span, format!("{what} always possible: the `else` beside it never runs"));
            self.report(diagnostic.named("else-never-runs").with_hint_opt(hint.map(str::to_owned)));
        }
    }
}

/// The Promela equivalent of an array of arrays.
pub(super) const TWO_DIMENSIONS: &str = "arrays have one dimension: `typedef Row { byte x[3] }; Row a[2]` is used as `a[i].x[j]`";

/// The first statement of an option.
fn first(option: &[Step]) -> Option<(&StmtKind, Span)> {
    option.iter().find_map(|step| match step {
        Step::Statement(stmt) => Some((unlabelled(stmt), stmt.span)),
        _ => None,
    })
}

fn unlabelled(stmt: &Stmt) -> &StmtKind {
    match &stmt.kind {
        StmtKind::Label(_, inner) => unlabelled(inner),
        kind => kind,
    }
}
