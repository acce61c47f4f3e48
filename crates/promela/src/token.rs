//! Tokens of Promela, and of its preprocessor.

use source::Span;
use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

/// An identifier, a string: shared text.
pub type Text = Rc<str>;

/// One token with the position at which the user wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// Its kind.
    pub kind: Tok,
    /// Its position. For a token that came out of a macro: the use of the macro.
    pub span: Span,
    /// Whether a line ended between this token and the one before.
    pub newline: bool,
    /// Whether it is the first of a line as the preprocessor counts lines: a comment or a `\\` over
    /// the line end does not begin a new one.
    pub first: bool,
    /// Whether blanks precede it.
    pub blank: bool,
    /// Its own position: for a token that came out of a macro, in the macro's definition or in an
    /// argument.
    pub written: Span,
}

impl Token {
    /// A token at the position where it was written, in the middle of a line.
    pub fn new(kind: Tok, span: Span) -> Token {
        Token { kind, span, newline: false, first: false, blank: false, written: span }
    }
}

/// The kinds of tokens.
#[derive(Clone, Debug, PartialEq)]
pub enum Tok {
    /// An identifier that is not a keyword.
    Name(Text),
    /// A keyword.
    Key(Key),
    /// A decimal number.
    Number(i32),
    /// A number or a quoted character that is not spelled like a [`Tok::Number`]: the preprocessor
    /// reads it as C does, the language as SPIN does.
    Literal(Text),
    /// A `*/` that closes no comment. It is a blank, as in SPIN.
    CommentEnd,
    /// The text between double quotes, escapes as written.
    Str(Text),
    /// An operator or a bracket.
    Op(Op),
    /// A statement separator implied by a line end.
    ImpliedSemi,
    /// A `#` or `##`; outside directives it is never valid.
    Hash(bool),
    /// A `\\`, which embedded C has before a directive.
    Backslash,
    /// Text that is not a token, with the reason. It is an error only if it is used.
    Bad(Text),
    /// The end of the input.
    End,
}

macro_rules! keywords {
    ($($variant:ident $text:literal,)*) => {
        /// The keywords of Promela.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Key { $($variant,)* }

        impl Key {
            /// The keyword spelled this way.
            pub fn from_text(text: &str) -> Option<Key> {
                match text { $($text => Some(Key::$variant),)* _ => None }
            }

            /// The spelling.
            pub fn text(self) -> &'static str {
                match self { $(Key::$variant => $text,)* }
            }

            /// All keywords.
            pub const ALL: &'static [Key] = &[$(Key::$variant,)*];
        }
    };
}

keywords! {
    Active "active", Assert "assert", Atomic "atomic", Bit "bit", Bool "bool", Break "break", Byte "byte",
    CCode "c_code", CDecl "c_decl", CExpr "c_expr", CState "c_state", CTrack "c_track", Chan "chan",
    DProctype "D_proctype", DStep "d_step", Do "do", Else "else", Empty "empty", Enabled "enabled",
    Eval "eval", False "false", Fi "fi", For "for", Full "full", GetPriority "get_priority",
    Goto "goto", Hidden "hidden", If "if", Init "init", Inline "inline", Int "int",
    Len "len", Local "local", Ltl "ltl", Mtype "mtype", Nempty "nempty", Never "never",
    Nfull "nfull", Notrace "notrace", Np "np_", Od "od", Of "of", PcValue "pc_value", Pid "pid",
    Printf "printf", Printm "printm", Priority "priority", Proctype "proctype",
    Provided "provided", Return "return", Run "run", Select "select",
    SetPriority "set_priority", Short "short", Show "show", Skip "skip", Timeout "timeout",
    Trace "trace", True "true", Typedef "typedef", Unless "unless", Unsigned "unsigned",
    Xr "xr", Xs "xs",
}

macro_rules! operators {
    ($($variant:ident $text:literal,)*) => {
        /// Operators and brackets.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Op { $($variant,)* }

        impl Op {
            /// The spelling.
            pub fn text(self) -> &'static str {
                match self { $(Op::$variant => $text,)* }
            }

            /// The longest operator at the beginning of `text`.
            pub fn at_start(text: &str) -> Option<Op> {
                // Longer spellings first; the table below is ordered that way.
                const TABLE: &[(&str, Op)] = &[$(($text, Op::$variant),)*];
                let first = text.as_bytes().first()?;
                let begins = |spelling: &str| spelling.as_bytes()[0] == *first && text.starts_with(spelling);
                TABLE.iter().find(|(spelling, _)| begins(spelling)).map(|&(_, op)| op)
            }
        }
    };
}

operators! {
    Equiv "<->",
    Sep "::", Arrow "->", Decr "--", Incr "++", Shl "<<", Le "<=", Shr ">>", Ge ">=", EqEq "==",
    Ne "!=", SortedSend "!!", RandomRecv "??", AndAnd "&&", OrOr "||", DotDot "..",
    LtlAnd "/\\", LtlOr "\\/",
    LParen "(", RParen ")", LBrace "{", RBrace "}", LBracket "[", RBracket "]", Semi ";",
    Comma ",", Colon ":", Dot ".", Assign "=", Lt "<", Gt ">", Bang "!", Query "?", Plus "+",
    Minus "-", Star "*", Slash "/", Percent "%", Amp "&", Pipe "|", Caret "^", Tilde "~", At "@",
}

impl Tok {
    /// The token as it was written, up to the spelling of numbers.
    pub fn spelling(&self) -> Cow<'_, str> {
        match self {
            Tok::Name(text) | Tok::Literal(text) => Cow::Borrowed(text),
            Tok::Key(key) => Cow::Borrowed(key.text()),
            // A sign is a token of its own, also before the smallest number.
            Tok::Number(n) => Cow::Owned(n.unsigned_abs().to_string()),
            Tok::Str(text) => Cow::Owned(format!("\"{text}\"")),
            Tok::Op(op) => Cow::Borrowed(op.text()),
            Tok::Hash(double) => Cow::Borrowed(if *double { "##" } else { "#" }),
            Tok::ImpliedSemi => Cow::Borrowed(";"),
            Tok::Backslash => Cow::Borrowed("\\"),
            Tok::CommentEnd | Tok::Bad(_) | Tok::End => Cow::Borrowed(""),
        }
    }
}

impl fmt::Display for Tok {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tok::Name(name) => write!(f, "`{name}`"),
            Tok::Key(key) => write!(f, "`{}`", key.text()),
            Tok::Number(n) => write!(f, "`{n}`"),
            Tok::Literal(text) => write!(f, "`{text}`"),
            Tok::CommentEnd => f.write_str("`*/`"),
            Tok::Str(_) => f.write_str("a string"),
            Tok::Op(op) => write!(f, "`{}`", op.text()),
            Tok::ImpliedSemi => f.write_str("the end of the line"),
            Tok::Hash(_) => f.write_str("`#`"),
            Tok::Backslash => f.write_str("the character '\\\\', which Promela does not use"),
            Tok::Bad(reason) => f.write_str(reason),
            Tok::End => f.write_str("the end of the file"),
        }
    }
}
