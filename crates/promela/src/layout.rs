//! Line ends as statement separators.
//!
//! Since version 6.3 SPIN accepts a line end in place of a `;` where a statement can end. The rule
//! is about tokens, not about grammar: inside a body (a proctype, `init`, a claim, a trace, a
//! typedef, an inline), outside parentheses, a line end after a token that can end a statement is a
//! separator. The one exception is a `}` followed by `unless`. The parser treats several separators
//! as one.

use crate::token::{Key, Op, Tok, Token};

/// Inserts [`Tok::ImpliedSemi`] where line ends separate statements.
pub fn imply_separators(tokens: Vec<Token>) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len() + tokens.len() / 4);
    let mut parentheses = 0usize;
    let mut braces = 0usize;
    // Whether the next `{` at the outermost level opens a body, and whether we are in one.
    let mut body_expected = false;
    let mut in_body = false;
    for token in tokens {
        if token.newline && in_body && parentheses == 0 && separates(out.last(), &token) {
            let span = out.last().map_or(token.span, |last| last.span.after());
            out.push(Token::new(Tok::ImpliedSemi, span));
        }
        match token.kind {
            Tok::Op(Op::LParen) => parentheses += 1,
            Tok::Op(Op::RParen) => parentheses = parentheses.saturating_sub(1),
            Tok::Op(Op::LBrace) => {
                if braces == 0 && body_expected {
                    in_body = true;
                    body_expected = false;
                    // A `(` that was not closed in the header must not affect the body.
                    parentheses = 0;
                }
                braces += 1;
            }
            Tok::Op(Op::RBrace) => {
                braces = braces.saturating_sub(1);
                if braces == 0 {
                    in_body = false;
                    parentheses = 0;
                }
            }
            Tok::Key(Key::Proctype | Key::DProctype | Key::Init | Key::Never | Key::Trace | Key::Notrace | Key::Typedef | Key::Inline)
                if braces == 0 =>
            {
                body_expected = true
            }
            // Not the type of a parameter.
            Tok::Key(Key::Ltl | Key::Mtype) if braces == 0 && parentheses == 0 => body_expected = false,
            _ => {}
        }
        out.push(token);
    }
    out
}

/// Whether a line end between these tokens is a separator.
fn separates(before: Option<&Token>, after: &Token) -> bool {
    let Some(before) = before else { return false };
    match &before.kind {
        Tok::Op(Op::RBrace) => after.kind != Tok::Key(Key::Unless),
        Tok::Op(Op::RParen | Op::RBracket | Op::Incr | Op::Decr) => true,
        Tok::Name(_) | Tok::Number(_) => true,
        Tok::Key(key) => {
            matches!(key, Key::Od | Key::Fi | Key::Else | Key::Break | Key::True | Key::False | Key::Skip | Key::Timeout | Key::Np)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use source::FileId;

    fn laid_out(text: &str) -> String {
        let mut tokens = crate::lexer::lex(FileId::default(), text);
        tokens.pop();
        let words: Vec<String> = imply_separators(tokens)
            .iter()
            .map(|t| match &t.kind {
                Tok::ImpliedSemi => "<;>".to_owned(),
                kind => kind.to_string().replace('`', ""),
            })
            .collect();
        words.join(" ")
    }

    #[test]
    fn only_bodies_are_laid_out() {
        assert_eq!(laid_out("byte x\ninit {\nx\n}\nbyte y"), "byte x init { x <;> } byte y");
        assert_eq!(laid_out("mtype = {\na\nb\n}"), "mtype = { a b }");
        assert_eq!(laid_out("ltl p {\na\n}"), "ltl p { a }");
    }

    #[test]
    fn parameters_do_not_change_the_layout_of_the_body() {
        assert_eq!(laid_out("proctype P(mtype m) {\na\nb }"), "proctype P ( mtype m ) { a <;> b }");
        assert_eq!(laid_out("proctype P(mtype:set m; byte x) {\na\nb }"), "proctype P ( mtype : set m ; byte x ) { a <;> b }");
        assert_eq!(laid_out("proctype P(chan c) provided (x) {\na\nb }"), "proctype P ( chan c ) provided ( x ) { a <;> b }");
    }

    #[test]
    fn operators_and_open_parentheses_continue_a_line() {
        assert_eq!(laid_out("init { x =\n1 +\n2\ny(a,\nb\n)\nod\n->\n}"), "init { x = 1 + 2 <;> y ( a , b ) <;> od <;> -> }");
    }

    #[test]
    fn a_block_may_be_followed_by_unless() {
        assert_eq!(laid_out("init { { x }\nunless { y }\nz }"), "init { { x } unless { y } <;> z }");
    }
}
