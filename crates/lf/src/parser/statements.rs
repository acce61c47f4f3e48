//! Statements.

use super::{Failed, Parsed, Parser};
use crate::ast::{Clause, Communication, Designator, Expression, ExpressionKind, Statement, StatementKind};
use crate::lexer::Token;
use source::Span;

/// Words at which a sequence of statements ends.
const ENDS: &[&str] = &["END", "ELSE", "ELSIF", "UNTIL", "OR", "WHEN", "PROCESS", "PROPERTY"];

impl Parser<'_> {
    pub(super) fn statements(&mut self) -> Vec<Statement> {
        self.block(false)
    }

    /// Statements up to the word that ends them. In a block of `CHOICE` itself, but not inside its
    /// nested statements, an `OR` begins the next block.
    fn block(&mut self, of_choice: bool) -> Vec<Statement> {
        let outer = std::mem::replace(&mut self.or_ends, of_choice);
        let all = self.block_inside();
        self.or_ends = outer;
        all
    }

    fn block_inside(&mut self) -> Vec<Statement> {
        let mut all = Vec::new();
        loop {
            while self.take(";") {}
            if self.is_any(ENDS) || *self.peek() == Token::End {
                return all;
            }
            let start = self.at;
            match self.nested(Self::statement) {
                Ok(statement) => {
                    all.push(statement);
                    if !self.is(";") && !self.is_any(ENDS) && *self.peek() != Token::End {
                        let after = self.last_span().after();
                        let _: Parsed<()> = self.error(after, "a `;` is missing between two statements".to_owned(), None);
                        if !matches!(self.peek(), Token::Name(_)) && !self.begins_statement() {
                            self.skip_statement();
                        }
                    }
                }
                Err(Failed) => self.skip_statement(),
            }
            if self.at == start {
                self.advance();
            }
        }
    }

    fn begins_statement(&self) -> bool {
        self.is_any(&["IF", "WHILE", "REPEAT", "FOR", "SELECT", "CHOICE", "CREATE", "ASSERT", "RESCHEDULE", "ACCEPT", "NOMOVE"])
    }

    fn skip_statement(&mut self) {
        while !self.is(";") && !self.is_any(ENDS) && !self.begins_statement() && *self.peek() != Token::End {
            self.advance();
        }
    }

    /// The end of a structured statement.
    fn end(&mut self, head: Span, word: &str) {
        // The END with the name of the process or module around is not that of a statement.
        let is_of_block = matches!(self.ahead(1), Token::Name(name) if self.open.last() == Some(name));
        if is_of_block || !self.take("END") {
            let span = self.span();
            let message = format!("this `{word}` has no `END`");
            if self.diagnostics.len() < crate::limits::MAX_DIAGNOSTICS {
                let error = source::Diagnostic::error(head, message).with_label(span, "it is missing here");
                let hint = "each IF has an END of its own; another condition of the same IF is written ELSIF";
                self.diagnostics.push(if word == "IF" { error.with_hint(hint) } else { error });
            }
        }
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let head = self.span();
        // A word of another language is not the name of a process, unless it is used like one.
        let is_used = matches!(self.ahead(1), Token::Sign(":=" | "!" | "?" | "." | "[" | "(" | ";" | "="));
        if let (Token::Name(name), Some(advice), false) = (self.peek(), self.advice(), is_used) {
            let message = format!("expected a statement, found `{name}`");
            return self.error(head, message, Some(&advice));
        }
        let Token::Sign(word) = *self.peek() else { return self.simple() };
        let kind = match word {
            "IF" => self.conditional()?,
            "WHILE" => {
                self.advance();
                let condition = self.condition_before("DO");
                let span = head.to(self.last_span());
                let body = self.statements();
                self.end(head, word);
                return Ok(Statement { kind: StatementKind::While(condition, body), span });
            }
            "REPEAT" => {
                self.advance();
                let body = self.statements();
                self.expect("UNTIL")?;
                let start = self.last_span();
                let condition = self.expression()?;
                let span = start.to(condition.span);
                return Ok(Statement { kind: StatementKind::Repeat(body, condition), span });
            }
            "FOR" => {
                self.advance();
                let count = self.count();
                if count.is_err() {
                    self.skip_to("DO");
                }
                let span = head.to(self.last_span());
                let body = self.statements();
                self.end(head, word);
                let (counter, from, to, by) = count?;
                return Ok(Statement { kind: StatementKind::For(counter, from, to, by, body), span });
            }
            "SELECT" => {
                self.advance();
                let (mut clauses, mut broken) = (Vec::new(), false);
                while self.is("WHEN") {
                    match self.clause() {
                        Ok(clause) => clauses.push(clause),
                        Err(Failed) => broken = true,
                    }
                }
                if clauses.is_empty() && !broken {
                    return self.expected("`WHEN`");
                }
                self.end(head, word);
                return Ok(Statement { kind: StatementKind::Select(clauses), span: head });
            }
            "CHOICE" => {
                self.advance();
                let mut blocks = vec![self.block(true)];
                while self.take("OR") {
                    blocks.push(self.block(true));
                }
                self.end(head, word);
                return Ok(Statement { kind: StatementKind::Choice(blocks), span: head });
            }
            "CREATE" => {
                self.advance();
                let name = self.qualified("the name of a process")?;
                let arguments = if self.is("(") { self.arguments()? } else { Vec::new() };
                StatementKind::Call { concurrent: true, name, arguments }
            }
            "ASSERT" => {
                self.advance();
                StatementKind::Assert(self.expression()?)
            }
            "RESCHEDULE" | "ACCEPT" | "NOMOVE" => {
                self.advance();
                match word {
                    "RESCHEDULE" => StatementKind::Reschedule,
                    "ACCEPT" => StatementKind::Accept,
                    _ => StatementKind::Nomove,
                }
            }
            _ => return self.expected("a statement"),
        };
        Ok(Statement { kind, span: head.to(self.last_span()) })
    }

    fn conditional(&mut self) -> Parsed<StatementKind> {
        let head = self.span();
        let mut branches = Vec::new();
        let mut last = None;
        self.advance();
        loop {
            let condition = self.condition_before("THEN");
            branches.push((condition, self.statements()));
            if !self.take("ELSIF") {
                break;
            }
        }
        if self.take("ELSE") {
            last = Some(self.statements());
        }
        self.end(head, "IF");
        Ok(StatementKind::If(branches, last))
    }

    fn clause(&mut self) -> Parsed<Clause> {
        let head = self.clause_head();
        if head.is_err() {
            self.skip_to("THEN");
        }
        let body = self.statements();
        let (communication, guard) = head?;
        Ok(Clause { communication, guard, body })
    }

    fn clause_head(&mut self) -> Parsed<(Communication, Option<Expression>)> {
        self.expect("WHEN")?;
        let port = self.designator()?;
        let communication = self.communication(port)?;
        let guard = if self.take("&") { Some(self.condition()?) } else { None };
        self.expect("THEN")?;
        Ok((communication, guard))
    }

    /// The head of `FOR`.
    fn count(&mut self) -> Parsed<(Designator, Expression, Expression, Option<Expression>)> {
        let counter = self.designator()?;
        self.expect(":=")?;
        let from = self.expression()?;
        self.expect("TO")?;
        let to = self.expression()?;
        let by = if self.take("BY") { Some(self.expression()?) } else { None };
        self.expect("DO")?;
        Ok((counter, from, to, by))
    }

    /// A condition and the word after it. After an error the statement is read on from that word,
    /// so that its `END` does not end another.
    fn condition_before(&mut self, word: &'static str) -> Expression {
        let span = self.span();
        let read = self.condition().and_then(|condition| self.expect(word).map(|_| condition));
        read.unwrap_or_else(|Failed| {
            self.skip_to(word);
            Expression { kind: ExpressionKind::Boolean(true), span }
        })
    }

    /// Skips the rest of the head of a statement, with the word that ends it.
    fn skip_to(&mut self, word: &str) {
        while !self.is(word) && !self.is(";") && !self.is_any(ENDS) && !self.begins_statement() && *self.peek() != Token::End {
            self.advance();
        }
        self.take(word);
    }

    fn communication(&mut self, port: Designator) -> Parsed<Communication> {
        let sends = self.is("!");
        if !self.take("!") && !self.take("?") {
            return self.expected("`!` or `?`");
        }
        let message = self.name("the name of a message")?;
        let arguments = if self.is("(") { self.arguments()? } else { Vec::new() };
        let span = port.span.to(self.last_span());
        Ok(Communication { port, sends, message, arguments, span })
    }

    /// A statement that begins with a name.
    fn simple(&mut self) -> Parsed<Statement> {
        let head = self.span();
        if !matches!(self.peek(), Token::Name(_)) {
            return self.expected("a statement");
        }
        let designator = self.designator()?;
        let kind = if self.take(":=") {
            StatementKind::Assign(designator, self.expression()?)
        } else if self.is("!") || self.is("?") {
            StatementKind::Communicate(self.communication(designator)?)
        } else if self.is("=") {
            let span = self.span();
            return self.error(span, "`=` compares and is not a statement".to_owned(), Some("an assignment is written `:=`"));
        } else {
            let name = self.as_call(&designator)?;
            let arguments = if self.is("(") { self.arguments()? } else { Vec::new() };
            StatementKind::Call { concurrent: false, name, arguments }
        };
        Ok(Statement { kind, span: head.to(self.last_span()) })
    }
}
