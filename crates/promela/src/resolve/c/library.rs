//! Functions of C's library. Those that only compute are written in C here and expanded like the
//! model's own; `printf` and `assert` become statements of the model. What would make the states
//! depend on the machine, such as `rand` or `time`, is refused.

use super::call::Called;
use super::expression::{Value, binary, int, unary};
use super::float::OPERATIONS;
use super::types::{CType, Number};
use super::{Function, Lower, Stop};
use crate::ast::{Binary, Fragment, Unary};
use crate::model::{Action, Ex};
use lang_c::ast::Expression;
use lang_c::span::{Node as CNode, Span as CSpan};
use std::rc::Rc;

/// The functions that are written in C.
const LIBRARY: &str = r#"
size_t strlen(const char *s) { size_t n = 0; while (s[n]) n++; return n; }
size_t strnlen(const char *s, size_t most) { size_t n = 0; while (n < most && s[n]) n++; return n; }
int strcmp(const char *a, const char *b) {
    int i = 0;
    while (a[i] && a[i] == b[i]) i++;
    return (a[i] & 255) - (b[i] & 255);
}
int strncmp(const char *a, const char *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (a[i] != b[i]) return (a[i] & 255) - (b[i] & 255);
        if (!a[i]) return 0;
    }
    return 0;
}
int strcasecmp(const char *a, const char *b) {
    int i = 0;
    while (a[i] && tolower(a[i]) == tolower(b[i])) i++;
    return tolower(a[i] & 255) - tolower(b[i] & 255);
}
char *strcpy(char *to, const char *from) { int i = 0; while (from[i]) { to[i] = from[i]; i++; } to[i] = 0; return to; }
char *strncpy(char *to, const char *from, size_t n) {
    size_t i = 0;
    while (i < n && from[i]) { to[i] = from[i]; i++; }
    while (i < n) to[i++] = 0;
    return to;
}
char *strcat(char *to, const char *from) {
    int n = 0, i = 0;
    while (to[n]) n++;
    while (from[i]) { to[n + i] = from[i]; i++; }
    to[n + i] = 0;
    return to;
}
char *strncat(char *to, const char *from, size_t most) {
    int n = 0;
    size_t i = 0;
    while (to[n]) n++;
    while (i < most && from[i]) { to[n + i] = from[i]; i++; }
    to[n + i] = 0;
    return to;
}
char *strchr(const char *s, int c) {
    char wanted = c;
    int i = 0;
    while (s[i] != wanted) { if (!s[i]) return 0; i++; }
    return s + i;
}
char *strrchr(const char *s, int c) {
    char wanted = c;
    char *found = 0;
    int i = 0;
    for (;;) { if (s[i] == wanted) found = s + i; if (!s[i]) return found; i++; }
}
char *strstr(const char *s, const char *part) {
    int i = 0;
    for (;;) {
        int k = 0;
        while (part[k] && s[i + k] == part[k]) k++;
        if (!part[k]) return s + i;
        if (!s[i]) return 0;
        i++;
    }
}
int atoi(const char *s) {
    int n = 0, i = 0, minus = 0;
    while (isspace(s[i])) i++;
    if (s[i] == '-') { minus = 1; i++; } else if (s[i] == '+') i++;
    while (s[i] >= '0' && s[i] <= '9') { n = n * 10 + (s[i] - '0'); i++; }
    return minus ? -n : n;
}
long labs(long n) { return n < 0 ? -n : n; }
long llabs(long n) { return n < 0 ? -n : n; }
int isdigit(int c) { return c >= '0' && c <= '9'; }
int islower(int c) { return c >= 'a' && c <= 'z'; }
int isupper(int c) { return c >= 'A' && c <= 'Z'; }
int isalpha(int c) { return islower(c) || isupper(c); }
int isalnum(int c) { return isalpha(c) || isdigit(c); }
int isspace(int c) { return c == ' ' || c >= 9 && c <= 13; }
int isxdigit(int c) { return isdigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'; }
int isprint(int c) { return c >= 32 && c < 127; }
int ispunct(int c) { return isprint(c) && c != ' ' && !isalnum(c); }
int tolower(int c) { return isupper(c) ? c + 32 : c; }
int toupper(int c) { return islower(c) ? c - 32 : c; }
int __builtin_popcount(unsigned int n) { int k = 0; for (int i = 0; i < 32; i++) { k += n & 1; n >>= 1; } return k; }
"#;

/// The same for variables of any type: `T` stands for it.
const MEMORY: &str = r#"
void *memcpy(T *to, const T *from, size_t n) { for (size_t i = 0; i < n / sizeof(T); i++) to[i] = from[i]; return to; }
void *memmove(T *to, const T *from, size_t n) {
    int k = n / sizeof(T);
    if (to < from) { for (int i = 0; i < k; i++) to[i] = from[i]; }
    else { for (int i = k - 1; i >= 0; i--) to[i] = from[i]; }
    return to;
}
void *memset(T *to, int c, size_t n) { for (size_t i = 0; i < n / sizeof(T); i++) to[i] = c; return to; }
int memcmp(const T *a, const T *b, size_t n) {
    for (size_t i = 0; i < n; i++) if (a[i] != b[i]) return (a[i] & 255) - (b[i] & 255);
    return 0;
}
"#;

/// Where the text defines a function: the offset and the first line.
pub(super) fn definition<'t>(text: &'t str, name: &str) -> Option<(usize, &'t str)> {
    let mut start = 0;
    for line in text.split('\n') {
        let head = line.split('(').next().unwrap_or(line);
        let own = head.rsplit([' ', '*']).next();
        if line.starts_with(|first: char| first.is_ascii_alphabetic()) && own == Some(name) {
            return Some((start, line));
        }
        start += line.len() + 1;
    }
    None
}

/// The text of a function that was found.
pub(super) fn text_of<'t>(text: &'t str, (start, line): (usize, &'t str)) -> &'t str {
    let length = if line.ends_with('}') { line.len() } else { text[start..].find("\n}").map_or(line.len(), |end| end + 2) };
    &text[start..start + length]
}

impl Lower<'_, '_> {
    /// A function of ours as it is called here: what goes wrong in it goes wrong at the call.
    pub(super) fn at_call(&mut self, function: &Rc<Function>, at: CSpan) -> Rc<Function> {
        let span = self.at(at);
        let fragment = Fragment { places: [(0, span)].into(), span, ..function.fragment.clone() };
        Rc::new(Function { fragment, ..(**function).clone() })
    }

    /// A function that is written in C, for pointers to a type.
    pub(super) fn written_in_c(&mut self, name: &str, ty: Option<&CType>) -> Option<Rc<Function>> {
        if let (None, Some(known)) = (ty, self.r.c.functions.get(name)) {
            return Some(known.clone());
        }
        if name.starts_with("__put") {
            return self.of_texts(name);
        }
        let text = match (ty, self.of_heap(name)) {
            (None, Some(text)) => text,
            (None, None) => {
                let whole = if name.starts_with("__") { OPERATIONS } else { LIBRARY };
                text_of(whole, definition(whole, name)?)
            }
            (Some(_), _) => text_of(MEMORY, definition(MEMORY, name)?),
        };
        let types: Vec<(&str, CType)> = ty.iter().map(|ty| ("T", (*ty).clone())).collect();
        let made = self.function_of(text, name, &types)?;
        // The next call of a function for any type may be for another type.
        if ty.is_none() {
            self.r.c.functions.insert(name.to_owned(), made.clone());
        }
        Some(made)
    }

    /// A function of the library for memory, by the type of the variables.
    fn of_memory(&mut self, name: &str, arguments: &[CNode<Expression>], at: CSpan) -> Result<Called, Stop> {
        let missing = format!("there is no function `{name}` here");
        let to = arguments.first().and_then(|to| self.pointee(to));
        let from = if name == "memset" { to.clone() } else { arguments.get(1).and_then(|from| self.pointee(from)) };
        let (Some(to), Some(from)) = (to, from) else {
            return Err(self.wrong(at, format!("`{name}` needs pointers or arrays")));
        };
        let quiet = std::mem::replace(&mut self.quiet, true);
        let size = self.constant(&arguments[2]).ok().map(|size| size as u64);
        let zero = self.constant(&arguments[1]).is_ok_and(|value| value == 0);
        self.quiet = quiet;
        let byte = matches!(to, CType::Int(int) if int.bits == 8);
        let one = matches!(to, CType::Int(_) | CType::Struct(_) | CType::Pointer(_)) && to == from;
        let whole = size.is_none_or(|size| size % self.size(&to).0.max(1) == 0);
        let by_values = match name {
            "memcmp" => byte && one,
            "memset" => (byte && one) || (one && zero && whole && !matches!(to, CType::Struct(_))),
            _ => one && whole,
        };
        let made = if by_values { self.written_in_c(name, Some(&to)) } else { self.of_bytes(name, to, Some(from)) };
        match made {
            Some(function) => Ok(Called::Function(self.at_call(&function, at))),
            None => Err(self.wrong(at, missing)),
        }
    }

    /// The text and the values that `printf` prints. Texts and numbers with a point are not shown.
    fn print(&mut self, format: &CNode<Expression>, values: &[CNode<Expression>], at: CSpan) -> Result<(), Stop> {
        let Expression::StringLiteral(text) = &format.node else { return Err(self.wrong(format.span, "a format is a string")) };
        let text: String = text.node.iter().map(|piece| piece.trim_matches('"')).collect();
        let (mut shown, mut printed, mut values) = (String::new(), Vec::new(), values.iter());
        let mut chars = text.chars().peekable();
        while let Some(char) = chars.next() {
            if char != '%' {
                shown.push(char);
                continue;
            }
            if chars.peek() == Some(&'%') {
                chars.next();
                shown.push_str("%%");
                continue;
            }
            while chars.peek().is_some_and(|char| !char.is_ascii_alphabetic() || "hlqjzt".contains(*char)) {
                if chars.next() == Some('*') {
                    values.next().map_or(Ok(()), |value| self.effect(value))?;
                }
            }
            let conversion = chars.next().unwrap_or('d');
            let Some(value) = values.next() else { return Err(self.wrong(format.span, "a value to print is missing")) };
            match conversion {
                'd' | 'i' | 'u' | 'x' | 'o' | 'c' | 'X' | 'p' => {
                    shown.push('%');
                    shown.push(match conversion {
                        'i' => 'd',
                        'X' | 'p' => 'x',
                        other => other,
                    });
                    let value = self.value(value)?;
                    match value.high {
                        None if value.number < Number::F32 => printed.push(value.ex),
                        _ => {
                            shown.pop();
                            shown.pop();
                            shown.push('…');
                        }
                    }
                }
                's' if matches!(value.node, Expression::StringLiteral(_)) => {
                    let Expression::StringLiteral(text) = &value.node else { return Err(Stop) };
                    let text: String = text.node.iter().map(|piece| piece.trim_matches('"')).collect();
                    shown.push_str(&text.replace('%', "%%"));
                }
                _ => {
                    self.effect(value)?;
                    shown.push('…');
                }
            }
        }
        values.try_for_each(|value| self.effect(value))?;
        self.emit(Action::Print(shown.into(), printed), at)
    }

    /// A function that the model does not define.
    pub(super) fn built_in(&mut self, name: &str, arguments: &[CNode<Expression>], at: CSpan) -> Result<Called, Stop> {
        let quiet = std::mem::replace(&mut self.quiet, true);
        let (taken, known) = (self.taken.clone(), self.knowledge());
        let direct = self.tried(|lower| lower.direct(name, arguments, at));
        self.quiet = quiet;
        if let Ok((value, made)) = direct {
            self.out.extend(made);
            return Ok(Called::Value(value));
        }
        self.taken = taken;
        self.know(known);
        match name {
            "memcpy" | "memmove" | "memset" | "memcmp" if arguments.len() == 3 => return self.of_memory(name, arguments, at),
            "sprintf" if arguments.len() >= 2 => {
                let function = self.printed_to(name, &arguments[1])?;
                return Ok(Called::Function(self.at_call(&function, at)));
            }
            "snprintf" if arguments.len() >= 3 => {
                let function = self.printed_to(name, &arguments[2])?;
                return Ok(Called::Function(self.at_call(&function, at)));
            }
            _ => {}
        }
        if let Some(value) = self.mathematical(name, arguments, at)? {
            return Ok(Called::Value(Some(value)));
        }
        if let Some(function) = self.written_in_c(name, None) {
            return Ok(Called::Function(self.at_call(&function, at)));
        }
        // The reason is reported now.
        self.direct(name, arguments, at).map(Called::Value)
    }

    fn direct(&mut self, name: &str, arguments: &[CNode<Expression>], at: CSpan) -> Result<Option<Value>, Stop> {
        match (name, arguments) {
            ("printf" | "Printf", [format, values @ ..]) => {
                self.print(format, values, at)?;
                Ok(Some(int(Ex::Const(0))))
            }
            // What is printed elsewhere than to the output is not shown.
            ("fprintf", [_, format, values @ ..]) => {
                self.print(format, values, at)?;
                Ok(Some(int(Ex::Const(0))))
            }
            ("fflush" | "perror", _) => Ok(Some(int(Ex::Const(0)))),
            ("putchar", [character]) => {
                let value = self.value(character)?;
                self.emit(Action::Print("%c".into(), vec![value.ex.clone()]), at)?;
                Ok(Some(value))
            }
            ("puts", [text]) if matches!(text.node, Expression::StringLiteral(_)) => {
                let Expression::StringLiteral(text) = &text.node else { return Err(Stop) };
                let text: String = text.node.iter().map(|piece| piece.trim_matches('"')).collect();
                self.emit(Action::Print(format!("{}\\n", text.replace('%', "%%")).into(), Vec::new()), at)?;
                Ok(Some(int(Ex::Const(0))))
            }
            ("puts", [_]) => Ok(Some(int(Ex::Const(0)))),
            ("assert", [condition]) => {
                let condition = self.condition(condition)?;
                self.emit(Action::Assert(condition), at)?;
                Ok(None)
            }
            ("abort" | "exit" | "uerror" | "Uerror", _) => {
                self.emit(Action::Assert(Ex::Const(0)), at)?;
                Ok(None)
            }
            ("abs", [value]) => {
                let value = self.value(value)?.ex;
                let value = if self.pure { value } else { self.held(value, at)? };
                let negative = binary(Binary::Lt, value.clone(), Ex::Const(0));
                let ex = Ex::Conditional(Box::new(negative), Box::new(unary(Unary::Negate, value.clone())), Box::new(value));
                Ok(Some(int(ex)))
            }
            ("memset", [target, value, size]) => {
                let object = self.whole(target)?;
                let (value, size) = (self.constant(value)?, self.constant(size)?);
                let bytes = matches!(&object.ty, CType::Array(element, _) if matches!(**element, CType::Int(int) if int.bits == 8));
                if i64::from(size) != self.size(&object.ty).0 as i64 || (value != 0 && !bytes) {
                    return Err(self.wrong(at, "`memset` sets a whole variable to zero here, or a whole array of characters"));
                }
                self.fill(&object, value, at)?;
                Ok(None)
            }
            ("strlen", [text]) => self.string_length(text, at).map(Some),
            ("strcmp", [a, b]) => self.string_order(a, b, None, at).map(Some),
            ("strncmp" | "memcmp", [a, b, size]) => {
                let size = self.constant(size)?;
                self.string_order(a, b, Some((size, name == "memcmp")), at).map(Some)
            }
            ("strcpy", [to, from]) => {
                self.string_copy(to, from, at)?;
                Ok(None)
            }
            ("memcpy" | "memmove", [to, from, size]) => {
                let (to, from, size) = (self.whole(to)?, self.whole(from)?, self.constant(size)?);
                if i64::from(size) != self.size(&to.ty).0 as i64 {
                    return Err(self.wrong(at, format!("`{name}` copies a whole variable here")));
                }
                self.copy(&to, &from, at)?;
                Ok(None)
            }
            _ => {
                let hint = match name {
                    "rand" | "random" | "srand" | "srandom" | "rand_r" | "drand48" | "lrand48" => {
                        "a choice is written in Promela, by `if` or `select`"
                    }
                    "sin" | "cos" | "tan" | "exp" | "log" | "log2" | "log10" | "pow" | "atan" | "atan2" | "fmod" => {
                        "its last digits depend on the library: use a table"
                    }
                    "time" | "clock" | "gettimeofday" | "getpid" | "getenv" => "the states would depend on when and where it is executed",
                    _ => "functions are defined in `c_decl` or in a `c_code` outside processes",
                };
                Err(self.wrong_with(at, format!("there is no function `{name}` here"), hint))
            }
        }
    }
}
