//! Macro definitions and their expansion.
//!
//! This is the usual C algorithm: arguments are expanded first (unless they are operands of `#` or
//! `##`), the result is read again together with the text that follows, and a macro is not expanded
//! inside its own expansion. Every token produced carries the position where the outermost macro
//! was used, so that messages and traces point at the user's text. The number of tokens produced is
//! limited.

use crate::limits::{MAX_EXPANDED, MAX_MACRO_DEPTH, MAX_PARAMETERS, MAX_TOKEN_BYTES, MAX_TOKENS};
use crate::token::{Op, Text, Tok, Token};
use source::{Diagnostic, Span};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

/// A macro.
#[derive(Clone, Debug, PartialEq)]
pub struct Macro {
    /// The names of the parameters; `None` for a macro without a parameter list.
    pub parameters: Option<Vec<Text>>,
    /// The last parameter takes all remaining arguments, with the commas between them.
    pub variadic: bool,
    /// Its replacement.
    pub body: Rc<[Token]>,
    /// The position of its definition.
    pub span: Span,
}

/// The source of the expander's tokens: the preprocessor, which handles directives by itself.
pub trait Feed {
    /// The next token that does not belong to a directive. At the end, every call returns
    /// [`Tok::End`].
    fn next(&mut self, macros: &mut Macros, errors: &mut Vec<Diagnostic>) -> Token;
}

/// The macros known at a point of the text, and how much has been produced so far.
#[derive(Debug, Default)]
pub struct Macros {
    table: HashMap<Text, Macro>,
    /// The number of tokens read and made, and of those that came out of macros.
    produced: usize,
    expanded: usize,
    /// The number of expansions of each macro that are being read: inside one, the macro is not
    /// expanded again.
    open: HashMap<Text, usize>,
    /// Macros defined outside the text that have not been used yet.
    unused: HashSet<Text>,
    /// File and line of the token read last, for `__FILE__` and `__LINE__`.
    pub place: (Text, usize),
    /// The number of uses of `__COUNTER__`.
    counter: i32,
}

/// The predefined macros.
const BUILT_IN: [&str; 3] = ["__LINE__", "__FILE__", "__COUNTER__"];

impl Macros {
    /// Defines a macro. Returns the macro it replaces, if that had another meaning.
    pub fn define(&mut self, name: Text, definition: Macro) -> Option<Macro> {
        let same = |old: &Macro| {
            old.parameters == definition.parameters
                && old.variadic == definition.variadic
                && old.body.len() == definition.body.len()
                && old.body.iter().zip(definition.body.iter()).all(|(a, b)| a.kind == b.kind)
        };
        let old = self.table.remove(&name).filter(|old| !same(old));
        self.table.insert(name, definition);
        old
    }

    /// Defines a macro outside the text. The user is told if the text does not use it.
    pub fn define_from_outside(&mut self, name: Text, definition: Macro) -> Option<Macro> {
        self.unused.insert(name.clone());
        self.define(name, definition)
    }

    /// Forgets a macro.
    pub fn undefine(&mut self, name: &str) {
        self.unused.remove(name);
        self.table.remove(name);
    }

    /// The macros defined outside that the text never uses, with the positions of their
    /// definitions.
    pub fn unused(&self) -> Vec<(Text, Span)> {
        let mut unused: Vec<_> = self.unused.iter().filter_map(|name| Some((name.clone(), self.table.get(name)?.span))).collect();
        unused.sort();
        unused
    }

    /// The value of a predefined macro.
    fn built_in(&mut self, name: &str) -> Option<Tok> {
        Some(match name {
            "__LINE__" => Tok::Number(i32::try_from(self.place.1).unwrap_or(i32::MAX)),
            "__FILE__" => Tok::Str(escaped(&self.place.0).into()),
            "__COUNTER__" => {
                self.counter = self.counter.wrapping_add(1);
                Tok::Number(self.counter.wrapping_sub(1))
            }
            _ => return None,
        })
    }

    /// Counts tokens that were produced, some of them by macros. Beyond the limits, expansion
    /// stops.
    fn spend(&mut self, produced: usize, expanded: usize, span: Span, errors: &mut Vec<Diagnostic>) -> Result<(), TooMuch> {
        self.produced += produced;
        self.expanded += expanded;
        if self.produced <= MAX_TOKENS && self.expanded <= MAX_EXPANDED {
            return Ok(());
        }
        errors.push(
            Diagnostic::error(span, "the preprocessor produces too many tokens")
                .with_hint("does a macro expand into many copies of itself?"),
        );
        Err(TooMuch)
    }

    fn close(&mut self, name: &Text) {
        if let Some(uses) = self.open.get_mut(name) {
            *uses -= 1;
            if *uses == 0 {
                self.open.remove(name);
            }
        }
    }

    /// Whether there is such a macro.
    pub fn is_defined(&mut self, name: &str) -> bool {
        self.unused.remove(name);
        self.table.contains_key(name) || BUILT_IN.contains(&name)
    }
}

/// The name by which a token could be a macro: identifiers and keywords alike.
pub fn macro_name(kind: &Tok) -> Option<Text> {
    match kind {
        Tok::Name(name) => Some(name.clone()),
        Tok::Key(key) => Some(key.text().into()),
        _ => None,
    }
}

/// A piece of pending input: the expansion of a macro, or tokens that were read in advance.
struct Pending {
    tokens: VecDeque<Token>,
    /// The macro it came from, which is not expanded again inside.
    name: Option<Text>,
    /// Whether the next token begins a new line, because the use of the macro extended over several
    /// lines.
    newline_after: bool,
}

/// Expands macros in the tokens of a [`Feed`].
pub struct Expander<'f> {
    feed: &'f mut dyn Feed,
    pending: Vec<Pending>,
    /// The position at which the outermost macro being expanded was used.
    site: Option<Span>,
    /// A line end that belongs before the next token.
    newline: bool,
    depth: usize,
}

/// Expansion stopped because of a limit.
#[derive(Debug)]
pub struct TooMuch;

impl<'f> Expander<'f> {
    /// An expander of the feed's tokens. `depth` counts arguments within arguments.
    pub fn new(feed: &'f mut dyn Feed, depth: usize) -> Self {
        Expander { feed, pending: Vec::new(), site: None, newline: false, depth }
    }

    /// The next token before expansion.
    pub fn raw(&mut self, macros: &mut Macros, errors: &mut Vec<Diagnostic>) -> Token {
        let mut newline = false;
        while let Some(top) = self.pending.last_mut() {
            if let Some(mut token) = top.tokens.pop_front() {
                token.newline |= newline;
                return token;
            }
            if let Some(done) = self.pending.pop() {
                newline |= done.newline_after;
                if let Some(name) = &done.name {
                    macros.close(name);
                }
            }
        }
        self.site = None;
        let mut token = self.feed.next(macros, errors);
        token.newline |= newline;
        token
    }

    /// The next token after expansion.
    pub fn next(&mut self, macros: &mut Macros, errors: &mut Vec<Diagnostic>) -> Result<Token, TooMuch> {
        loop {
            let mut token = self.raw(macros, errors);
            token.newline |= std::mem::take(&mut self.newline);
            macros.spend(1, 0, token.span, errors)?;
            let Some(name) = macro_name(&token.kind) else { return Ok(token) };
            if macros.open.contains_key(&name) {
                return Ok(token);
            }
            let Some(definition) = macros.table.get(&name).cloned() else {
                return Ok(match macros.built_in(&name) {
                    Some(kind) => Token { kind, ..token },
                    None => token,
                });
            };
            macros.unused.remove(&name);
            let site = *self.site.get_or_insert(token.span);
            let (tokens, end, newline_after) = match &definition.parameters {
                None => (definition.body.to_vec(), token.span, false),
                Some(_) => match self.arguments(&token, &definition, macros, errors) {
                    Some(arguments) => {
                        let tokens = self.substitute(&definition, site, &arguments.lists, macros, errors)?;
                        (tokens, arguments.end, arguments.newline)
                    }
                    None => return Ok(token),
                },
            };
            let site = if self.pending.is_empty() { site.to(end) } else { site };
            self.site = Some(site);
            let mut tokens: VecDeque<Token> = tokens.into();
            for t in &mut tokens {
                t.span = site;
                t.newline = false;
            }
            match tokens.front_mut() {
                Some(first) => (first.newline, first.blank) = (token.newline, token.blank),
                None => self.newline |= token.newline,
            }
            macros.spend(0, tokens.len(), site, errors)?;
            *macros.open.entry(name.clone()).or_default() += 1;
            self.pending.push(Pending { tokens, name: Some(name), newline_after });
        }
    }

    /// The arguments of a use of a macro with parameters; `None` if no `(` follows.
    fn arguments(&mut self, name: &Token, definition: &Macro, macros: &mut Macros, errors: &mut Vec<Diagnostic>) -> Option<Arguments> {
        let parameters = definition.parameters.as_deref().unwrap_or_default();
        let open = self.raw(macros, errors);
        if open.kind != Tok::Op(Op::LParen) {
            // It is not a use of the macro, so the token goes back.
            self.pending.push(Pending { tokens: VecDeque::from([open]), name: None, newline_after: false });
            return None;
        }
        let mut lists = vec![Vec::new()];
        let mut nesting = 0;
        let mut newline = open.newline;
        let mut end = open.span;
        loop {
            let mut token = self.raw(macros, errors);
            let token_newline = token.newline;
            newline |= token_newline;
            token.newline = false;
            match &token.kind {
                Tok::End => {
                    errors.push(
                        Diagnostic::error(name.span, format!("the arguments of the macro {} are not closed", name.kind))
                            .with_hint("write `)` behind the last one"),
                    );
                    self.pending.push(Pending { tokens: VecDeque::from([token]), name: None, newline_after: false });
                    break;
                }
                Tok::Op(Op::RParen) if nesting == 0 => {
                    end = token.span;
                    break;
                }
                Tok::Op(Op::Comma) if nesting == 0 && !(definition.variadic && lists.len() == parameters.len()) => {
                    lists.push(Vec::new());
                    continue;
                }
                Tok::Op(Op::LParen) => nesting += 1,
                Tok::Op(Op::RParen) => nesting -= 1,
                _ => {}
            }
            if let Some(list) = lists.last_mut() {
                // A line end between tokens is a blank where the text of the argument matters.
                token.blank |= token_newline && !list.is_empty();
                list.push(token);
            }
        }
        // The variable arguments of a macro may be missing.
        if definition.variadic && lists.len() + 1 == parameters.len() {
            lists.push(Vec::new());
        }
        let none = lists.len() == 1 && lists[0].is_empty() && parameters.is_empty();
        let too_many = parameters.is_empty() && !none;
        if too_many || (!none && lists.len() != parameters.len()) {
            let message = format!("the macro {} takes {}, {} given", name.kind, source::counted(parameters.len(), "argument"), lists.len());
            let hint = crate::number_hint(parameters.len(), lists.len(), "argument");
            errors.push(Diagnostic::error(name.span, message).with_hint(hint));
            lists.resize(parameters.len(), Vec::new());
        }
        Some(Arguments { lists, end, newline })
    }

    /// The body of a macro with its parameters replaced by the arguments.
    fn substitute(
        &self,
        definition: &Macro,
        site: Span,
        arguments: &[Vec<Token>],
        macros: &mut Macros,
        errors: &mut Vec<Diagnostic>,
    ) -> Result<Vec<Token>, TooMuch> {
        let parameters = definition.parameters.as_deref().unwrap_or_default();
        let argument_of = |token: &Token| {
            let name = macro_name(&token.kind)?;
            parameters.iter().position(|p| *p == name).and_then(|i| Some((i, arguments.get(i)?)))
        };
        let mut expanded: Vec<Option<Vec<Token>>> = vec![None; parameters.len().min(MAX_PARAMETERS)];
        let body = with_options(definition, arguments);
        let is_rest = |token: &Token| definition.variadic && argument_of(token).is_some_and(|(i, _)| i + 1 == parameters.len());
        let is_paste = |i: usize| body.get(i).is_some_and(|t: &Token| t.kind == Tok::Hash(true));
        let mut out: Vec<Token> = Vec::new();
        // Whether the left operand of a `##` is empty.
        let mut left_is_empty = false;
        let mut i = 0;
        while i < body.len() {
            let token = &body[i];
            if token.kind == Tok::Hash(false)
                && let Some((_, argument)) = body.get(i + 1).and_then(argument_of)
            {
                let text = stringize(argument);
                // A long text counts as the number of tokens it could be cut into.
                macros.spend(text.len() / 16, 0, site, errors)?;
                out.push(Token { kind: bounded(Tok::Str(text)), ..token.clone() });
                i += 2;
                continue;
            }
            // `, ## rest`: the comma is dropped if there is no rest.
            if token.kind == Tok::Op(Op::Comma) && is_paste(i + 1) && body.get(i + 2).is_some_and(is_rest) {
                if let Some((_, rest)) = body.get(i + 2).and_then(argument_of).filter(|(_, rest)| !rest.is_empty()) {
                    macros.spend(rest.len(), 0, site, errors)?;
                    out.push(token.clone());
                    out.extend(rest.iter().cloned());
                }
                left_is_empty = false;
                i += 3;
                continue;
            }
            if token.kind == Tok::Hash(true) && i + 1 < body.len() {
                let mut right =
                    argument_of(&body[i + 1]).map_or_else(|| vec![body[i + 1].clone()], |(_, argument)| argument.clone()).into_iter();
                if !left_is_empty && let Some(a) = out.pop() {
                    let pasted = right.next().map_or(a.clone(), |b| paste(&a, &b));
                    macros.spend(pasted.kind.spelling().len() / 16, 0, site, errors)?;
                    out.push(pasted);
                }
                left_is_empty &= right.len() == 0;
                out.extend(right);
                i += 2;
                continue;
            }
            match argument_of(token) {
                Some((_, argument)) if is_paste(i + 1) => {
                    left_is_empty = argument.is_empty();
                    extend(&mut out, argument, token);
                }
                Some((index, argument)) => {
                    if expanded[index].is_none() {
                        let mut feed = Slice(argument.clone().into());
                        let list = self.expand_all(&mut feed, macros, errors)?;
                        expanded[index] = Some(list);
                    }
                    macros.spend(argument.len(), 0, site, errors)?;
                    extend(&mut out, expanded[index].as_deref().unwrap_or_default(), token);
                }
                None => {
                    left_is_empty = false;
                    out.push(token.clone());
                }
            }
            if out.len() > MAX_EXPANDED {
                macros.spend(0, out.len(), site, errors)?;
            }
            i += 1;
        }
        Ok(out)
    }

    fn expand_all(&self, feed: &mut dyn Feed, macros: &mut Macros, errors: &mut Vec<Diagnostic>) -> Result<Vec<Token>, TooMuch> {
        let mut out = Vec::new();
        let mut inner = Expander::new(feed, self.depth + 1);
        if inner.depth > MAX_MACRO_DEPTH {
            loop {
                let token = inner.raw(macros, errors);
                if token.kind == Tok::End {
                    return Ok(out);
                }
                out.push(token);
            }
        }
        // The macros around the argument are still being expanded, so they are not expanded in it.
        loop {
            let token = inner.next(macros, errors)?;
            if token.kind == Tok::End {
                return Ok(out);
            }
            out.push(token);
        }
    }
}

struct Arguments {
    lists: Vec<Vec<Token>>,
    end: Span,
    /// Whether the use spanned lines.
    newline: bool,
}

/// A list of tokens as a feed.
struct Slice(VecDeque<Token>);

impl Feed for Slice {
    fn next(&mut self, _: &mut Macros, _: &mut Vec<Diagnostic>) -> Token {
        self.0.pop_front().unwrap_or(Token::new(Tok::End, Span::default()))
    }
}

/// Appends the replacement of a parameter, with the blanks before the parameter.
fn extend(out: &mut Vec<Token>, argument: &[Token], parameter: &Token) {
    let from = out.len();
    out.extend(argument.iter().cloned());
    if let Some(first) = out.get_mut(from) {
        first.blank = parameter.blank;
    }
}

/// The body of a macro. The contents of each `__VA_OPT__( … )` are kept if there are variable
/// arguments, and removed if not.
fn with_options<'m>(definition: &'m Macro, arguments: &[Vec<Token>]) -> Cow<'m, [Token]> {
    let is_option = |token: &Token| matches!(&token.kind, Tok::Name(name) if &**name == "__VA_OPT__");
    if !definition.variadic || !definition.body.iter().any(is_option) {
        return Cow::Borrowed(&definition.body);
    }
    let given = arguments.last().is_some_and(|rest| !rest.is_empty());
    let mut body = Vec::new();
    let mut tokens = definition.body.iter().peekable();
    while let Some(token) = tokens.next() {
        if !is_option(token) || tokens.peek().is_none_or(|next| next.kind != Tok::Op(Op::LParen)) {
            body.push(token.clone());
            continue;
        }
        tokens.next();
        let mut nesting = 1usize;
        for token in tokens.by_ref() {
            match token.kind {
                Tok::Op(Op::LParen) => nesting += 1,
                Tok::Op(Op::RParen) => nesting -= 1,
                _ => {}
            }
            if nesting == 0 {
                break;
            }
            if given {
                body.push(token.clone());
            }
        }
    }
    Cow::Owned(body)
}

/// A text as it is written between double quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// The text of an argument: blanks between tokens become one, and quoted text is escaped once more.
fn stringize(tokens: &[Token]) -> Text {
    let mut text = String::new();
    for (i, token) in tokens.iter().enumerate() {
        if token.blank && i > 0 {
            text.push(' ');
        }
        let spelling = token.kind.spelling();
        let quoted = matches!(&token.kind, Tok::Str(_)) || (matches!(&token.kind, Tok::Literal(_)) && spelling.starts_with('\''));
        text.push_str(&if quoted { Cow::Owned(escaped(&spelling)) } else { spelling });
    }
    text.into()
}

/// The token spelled by two tokens written together.
fn paste(a: &Token, b: &Token) -> Token {
    if let Some(bad) = [a, b].into_iter().find(|t| matches!(t.kind, Tok::Bad(_))) {
        return bad.clone();
    }
    let text = a.kind.spelling().into_owned() + &b.kind.spelling();
    let mut tokens = crate::lexer::lex(a.span.file, &text);
    let kind = if tokens.len() == 2 {
        tokens.swap_remove(0).kind
    } else {
        Tok::Bad(format!("`{text}`, pasted together by `##`, which is not a token").into())
    };
    Token { kind: bounded(kind), ..a.clone() }
}

/// A token made by an operator, unless it has become too long by repeated doubling.
fn bounded(kind: Tok) -> Tok {
    match &kind {
        Tok::Name(text) | Tok::Str(text) | Tok::Literal(text) | Tok::Bad(text) if text.len() > MAX_TOKEN_BYTES => {
            Tok::Bad(format!("a token of {} bytes, made by `#` or `##`: the limit is {MAX_TOKEN_BYTES}", text.len()).into())
        }
        _ => kind,
    }
}
