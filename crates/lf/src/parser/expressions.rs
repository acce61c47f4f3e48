//! Expressions and designators.

use super::{Failed, Parsed, Parser};
use crate::ast::{Designator, Expression, ExpressionKind, Qualified, Selector};
use crate::lexer::Token;

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parsed<Expression> {
        self.nested(|p| {
            let left = p.sum()?;
            for sign in ["=", "#", "<", "<=", ">", ">=", "IN"] {
                if p.take(sign) {
                    let right = p.sum()?;
                    return Ok(binary(sign, left, right));
                }
            }
            Ok(left)
        })
    }

    /// An expression that is not followed by the end of a statement.
    pub(super) fn condition(&mut self) -> Parsed<Expression> {
        let outer = std::mem::replace(&mut self.or_ends, false);
        let read = self.expression();
        self.or_ends = outer;
        read
    }

    fn sum(&mut self) -> Parsed<Expression> {
        let start = self.span();
        let mut left = if self.take("-") {
            let operand = self.product()?;
            let span = start.to(operand.span);
            Expression { kind: ExpressionKind::Unary("-", Box::new(operand)), span }
        } else {
            self.take("+");
            self.product()?
        };
        self.row(&["+", "-", "OR"], &mut left, Self::product)?;
        Ok(left)
    }

    fn product(&mut self) -> Parsed<Expression> {
        let mut left = self.factor()?;
        self.row(&["*", "/", "DIV", "MOD", "&", "AND"], &mut left, Self::factor)?;
        Ok(left)
    }

    /// Operators of one precedence, grouped to the left. Each operator makes the tree one level
    /// deeper.
    fn row(&mut self, signs: &[&'static str], left: &mut Expression, next: fn(&mut Self) -> Parsed<Expression>) -> Parsed<()> {
        for _ in 0..4 * crate::limits::MAX_DEPTH {
            let Some(sign) = signs.iter().find(|sign| self.is(sign)) else { return Ok(()) };
            if *sign == "OR" && self.or_ends {
                return Ok(());
            }
            self.advance();
            let right = next(self)?;
            let sign = if *sign == "AND" { "&" } else { sign };
            let before = std::mem::replace(left, Expression { kind: ExpressionKind::Number(0), span: right.span });
            *left = binary(sign, before, right);
        }
        let span = self.span();
        self.error(span, "this expression has too many operators".to_owned(), Some("assign a part of it to a variable"))
    }

    fn factor(&mut self) -> Parsed<Expression> {
        self.nested(Self::factor_inside)
    }

    fn factor_inside(&mut self) -> Parsed<Expression> {
        let span = self.span();
        let simple = match self.peek() {
            Token::Number(n) => Some(ExpressionKind::Number(*n)),
            Token::Char(c) => Some(ExpressionKind::Char(*c)),
            Token::Text(text) => Some(ExpressionKind::Text(text.clone())),
            Token::Sign("TRUE") => Some(ExpressionKind::Boolean(true)),
            Token::Sign("FALSE") => Some(ExpressionKind::Boolean(false)),
            _ => None,
        };
        if let Some(kind) = simple {
            self.advance();
            return Ok(Expression { kind, span });
        }
        if self.is_any(&["~", "NOT"]) {
            self.advance();
            let operand = self.factor()?;
            let span = span.to(operand.span);
            return Ok(Expression { kind: ExpressionKind::Unary("~", Box::new(operand)), span });
        }
        if self.take("(") {
            let inside = self.condition()?;
            self.expect(")")?;
            return Ok(Expression { kind: inside.kind, span: span.to(self.last_span()) });
        }
        if self.take("{") {
            let mut elements = Vec::new();
            while !self.is("}") {
                let first = self.expression()?;
                let last = if self.take("..") { Some(self.expression()?) } else { None };
                elements.push((first, last));
                if !self.take(",") {
                    break;
                }
            }
            self.expect("}")?;
            return Ok(Expression { kind: ExpressionKind::Set(elements), span: span.to(self.last_span()) });
        }
        if !matches!(self.peek(), Token::Name(_)) {
            return self.expected("an expression");
        }
        let designator = self.designator()?;
        if !self.is("(") {
            let span = designator.span;
            return Ok(Expression { kind: ExpressionKind::Place(designator), span });
        }
        let name = self.as_call(&designator)?;
        let arguments = self.arguments()?;
        Ok(Expression { kind: ExpressionKind::Call(name, arguments), span: span.to(self.last_span()) })
    }

    /// `(a, b)`.
    pub(super) fn arguments(&mut self) -> Parsed<Vec<Expression>> {
        let mut all = Vec::new();
        self.expect("(")?;
        while !self.is(")") {
            all.push(self.condition()?);
            if !self.take(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(all)
    }

    pub(super) fn designator(&mut self) -> Parsed<Designator> {
        let name = self.name("a name")?;
        let mut selectors = Vec::new();
        loop {
            if self.is(".") && matches!(self.ahead(1), Token::Name(_)) {
                self.advance();
                selectors.push(Selector::Field(self.name("a name")?));
            } else if self.take("[") {
                loop {
                    selectors.push(Selector::Index(self.condition()?));
                    if !self.take(",") {
                        break;
                    }
                }
                self.expect("]")?;
            } else {
                let span = name.span.to(self.last_span());
                return Ok(Designator { name, selectors, span });
            }
        }
    }

    /// The name of the called process or function.
    pub(super) fn as_call(&mut self, designator: &Designator) -> Parsed<Qualified> {
        match designator.selectors.as_slice() {
            [] => Ok(Qualified { module: None, name: designator.name.clone() }),
            [Selector::Field(name)] => Ok(Qualified { module: Some(designator.name.clone()), name: name.clone() }),
            _ => {
                let _: Parsed<()> = self.error(designator.span, "this cannot be called".to_owned(), Some("a process or a type has a name"));
                Err(Failed)
            }
        }
    }
}

fn binary(sign: &'static str, left: Expression, right: Expression) -> Expression {
    let span = left.span.to(right.span);
    Expression { kind: ExpressionKind::Binary(sign, Box::new(left), Box::new(right)), span }
}
