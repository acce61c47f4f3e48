//! Functions of C's library for memory: `malloc` and its kind, copies of bytes, and texts that are
//! made from numbers by `sprintf`. They are written in C here and expanded like the model's own.

use super::types::{CType, Int};
use super::{Function, Lower, Stop, read};
use crate::ast::Fragment;
use lang_c::ast::{Expression, ExternalDeclaration};
use lang_c::span::{Node as CNode, Span as CSpan};
use std::fmt::Write;
use std::rc::Rc;

/// The bytes that can be allocated, and those of the smallest piece.
const ROOM: u32 = 2048;
const PIECE: u32 = 16;

/// `__pieces` has 1 where a block begins, and 2 where it goes on. Memory that is given back becomes
/// zero, so that it does not distinguish states. Nothing is moved, and the first place that is
/// large enough is taken, so the same calls give the same addresses.
const HEAP: &str = r#"
void *malloc(size_t n) {
    int wanted = 1, i = 0;
    if (n > 2048) return 0;
    if (n > 16) wanted = ((int) n + 15) / 16;
    while (i + wanted <= 128) {
        int k = 0;
        while (k < wanted && !__pieces[i + k]) k++;
        if (k == wanted) {
            __pieces[i] = 1;
            for (k = 1; k < wanted; k++) __pieces[i + k] = 2;
            return __heap.bytes + 16 * i;
        }
        i = i + k + 1;
    }
    return 0;
}
void free(void *p) {
    int i;
    if (!p) return;
    i = (int) ((char *) p - __heap.bytes);
    assert(i >= 0 && i < 2048 && i % 16 == 0 && __pieces[i / 16] == 1);
    i = i / 16;
    do {
        for (int k = 0; k < 16; k++) __heap.bytes[16 * i + k] = 0;
        __pieces[i] = 0;
        i++;
    } while (i < 128 && __pieces[i] == 2);
}
void *calloc(size_t n, size_t size) { return malloc(n * size); }
void *realloc(void *p, size_t n) {
    char *to = malloc(n), *from = p;
    int i, left = n;
    if (!p || !to) return to;
    i = (int) (from - __heap.bytes) / 16;
    assert(i >= 0 && i < 128 && __pieces[i] == 1);
    do {
        for (int k = 0; k < 16 && left > 0; k++) { *to++ = *from++; left--; }
        i++;
    } while (left > 0 && i < 128 && __pieces[i] == 2);
    to = to - (n - left);
    free(p);
    return to;
}
char *strdup(const char *s) { char *to = malloc(strlen(s) + 1); if (to) strcpy(to, s); return to; }
"#;

/// For variables of any two types.
const BYTES: &str = r#"
void *memcpy(T *to, U *from, size_t n) {
    unsigned char *a = (unsigned char *) to, *b = (unsigned char *) from;
    for (int i = 0; i < (int) n; i++) a[i] = b[i];
    return to;
}
void *memmove(T *to, U *from, size_t n) {
    unsigned char *a = (unsigned char *) to, *b = (unsigned char *) from;
    if (a < b) { for (int i = 0; i < (int) n; i++) a[i] = b[i]; }
    else { for (int i = (int) n - 1; i >= 0; i--) a[i] = b[i]; }
    return to;
}
void *memset(T *to, int c, size_t n) {
    unsigned char *a = (unsigned char *) to;
    for (int i = 0; i < (int) n; i++) a[i] = c;
    return to;
}
int memcmp(T *to, U *from, size_t n) {
    unsigned char *a = (unsigned char *) to, *b = (unsigned char *) from;
    for (int i = 0; i < (int) n; i++) if (a[i] != b[i]) return a[i] - b[i];
    return 0;
}
"#;

/// Characters of numbers and texts at a position; what has no room is counted only.
const TEXTS: &str = r#"
int __put(char *to, int n, int most, int c) { if (n + 1 < most) to[n] = c; return n + 1; }
int __put_text(char *to, int n, int most, const char *s, int width, int left, int longest) {
    int k = 0, i = 0;
    while (k < longest && s[k]) k++;
    if (!left) { for (i = k; i < width; i++) { if (n + 1 < most) to[n] = ' '; n++; } }
    for (i = 0; i < k; i++) { if (n + 1 < most) to[n] = s[i]; n++; }
    if (left) { for (i = k; i < width; i++) { if (n + 1 < most) to[n] = ' '; n++; } }
    return n;
}
int __put_number(char *to, int n, int most, N v, int minus, int base, int letter, int width, int left, int zero) {
    char digits[24];
    int k = 0, i = 0;
    do { int d = v % base; digits[k] = d < 10 ? '0' + d : letter + d - 10; k++; v = v / base; } while (v);
    if (zero) { while (k + minus < width) { digits[k] = '0'; k++; } }
    if (minus) { digits[k] = '-'; k++; }
    if (!left) { for (i = k; i < width; i++) { if (n + 1 < most) to[n] = ' '; n++; } }
    for (i = k - 1; i >= 0; i--) { if (n + 1 < most) to[n] = digits[i]; n++; }
    if (left) { for (i = k; i < width; i++) { if (n + 1 < most) to[n] = ' '; n++; } }
    return n;
}
"#;

/// Whether a function is one of those that allocate memory or give it back.
pub(super) fn is_own(name: &str) -> bool {
    ["malloc", "calloc", "realloc", "strdup", "free"].contains(&name)
}

impl Lower<'_, '_> {
    /// The memory for `malloc`.
    pub(super) fn allocate_heap(&mut self) -> Result<(), Stop> {
        let at = CSpan::span(0, 0);
        let bytes = |length| CType::Array(Rc::new(CType::Int(Int::new(8, false))), length);
        let characters = CType::Array(Rc::new(super::address::CHAR), ROOM);
        self.r.c.structs.push(super::Struct { fields: vec![("bytes".to_owned(), characters)], union: true });
        let heap = CType::Struct(self.r.c.structs.len() - 1);
        for (name, ty) in [("__heap", heap), ("__pieces", bytes(ROOM / PIECE))] {
            let object = self.allocate_in(crate::model::Scope::Global, name, &ty, false, at)?;
            self.r.c.objects.insert(name.to_owned(), object);
            self.r.c.tracked.insert(name.to_owned());
        }
        Ok(())
    }

    /// A function whose text is known, with the meaning of the names of types in it.
    pub(super) fn function_of(&mut self, text: &str, name: &str, types: &[(&str, CType)]) -> Option<Rc<Function>> {
        let mut typenames = self.r.c.typenames.clone();
        typenames.extend(types.iter().map(|(name, _)| (*name).to_owned()));
        let fragment = Fragment { text: text.into(), places: [(0, self.fragment.span)].into(), span: self.fragment.span };
        let (unit, shift) = read::unit(&fragment.text, &typenames).ok()?;
        let Some(ExternalDeclaration::FunctionDefinition(function)) = unit.0.into_iter().next().map(|external| external.node) else {
            return None;
        };
        // The body is expanded at once, and may name the types.
        self.r.c.typedefs.extend(types.iter().map(|(name, ty)| ((*name).to_owned(), ty.clone())));
        let before = self.r.c.functions.remove(name);
        let outer = (std::mem::replace(&mut self.fragment, fragment), std::mem::replace(&mut self.shift, shift));
        let read = self.function(&function.node);
        (self.fragment, self.shift) = outer;
        let made = self.r.c.functions.remove(name);
        self.r.c.functions.extend(before.map(|before| (name.to_owned(), before)));
        read.ok().and(made)
    }

    /// The function of the library for the heap with this name.
    pub(super) fn of_heap(&mut self, name: &str) -> Option<&'static str> {
        let found = super::library::definition(HEAP, name)?;
        self.r.c.wanted.heap = true;
        Some(super::library::text_of(HEAP, found))
    }

    /// A function that handles the bytes of any variables.
    pub(super) fn of_bytes(&mut self, name: &str, to: CType, from: Option<CType>) -> Option<Rc<Function>> {
        let text = super::library::text_of(BYTES, super::library::definition(BYTES, name)?);
        self.function_of(text, name, &[("T", to.clone()), ("U", from.unwrap_or(to))])
    }

    /// The functions that `sprintf` uses.
    pub(super) fn of_texts(&mut self, name: &str) -> Option<Rc<Function>> {
        let (wide, plain) = match name.strip_suffix("_long") {
            Some(plain) => (64, plain),
            None => (32, name),
        };
        let text = super::library::text_of(TEXTS, super::library::definition(TEXTS, plain)?);
        let number = CType::Int(Int::new(wide, false));
        let text = text.replacen(plain, name, 1);
        let made = self.function_of(&text, name, &[("N", number)])?;
        self.r.c.functions.insert(name.to_owned(), made.clone());
        Some(made)
    }

    /// `sprintf` or `snprintf` for one format: a function that puts one part after the other.
    pub(super) fn printed_to(&mut self, name: &str, format: &CNode<Expression>) -> Result<Rc<Function>, Stop> {
        let Expression::StringLiteral(literal) = &format.node else { return Err(self.wrong(format.span, "a format is a string")) };
        let format_text: String = literal.node.iter().map(|piece| piece.trim_matches('"')).collect();
        let sized = name == "snprintf";
        let mut head = format!("int {name}(char *to, {}const char *format", if sized { "size_t size, " } else { "" });
        let most = if sized { "(int) size" } else { "1000000" };
        let mut body = format!(" {{ int n = 0; const int most = {most}; ");
        let (mut plain, mut count) = (String::new(), 0);
        let mut chars = format_text.chars().peekable();
        let flush = |plain: &mut String, body: &mut String| {
            if !plain.is_empty() {
                _ = write!(body, "n = __put_text(to, n, most, \"{plain}\", 0, 0, 100000); ");
                plain.clear();
            }
        };
        while let Some(char) = chars.next() {
            if char != '%' {
                plain.push(char);
                continue;
            }
            if chars.peek() == Some(&'%') {
                chars.next();
                plain.push('%');
                continue;
            }
            flush(&mut plain, &mut body);
            let (mut left, mut zero, mut long) = (0, 0, "");
            while let Some(&flag) = chars.peek() {
                match flag {
                    '-' => left = 1,
                    '0' => zero = 1,
                    _ => break,
                }
                chars.next();
            }
            let digits = |chars: &mut std::iter::Peekable<std::str::Chars<'_>>| {
                let mut number = 0u32;
                while let Some(digit) = chars.peek().and_then(|char| char.to_digit(10)) {
                    number = (number * 10 + digit).min(1000);
                    chars.next();
                }
                number
            };
            let width = digits(&mut chars);
            let mut longest = 100_000;
            let mut precise = false;
            if chars.peek() == Some(&'.') {
                chars.next();
                longest = digits(&mut chars);
                precise = true;
            }
            while let Some(&size) = chars.peek() {
                match size {
                    'l' | 'z' | 'j' | 't' => long = "_long",
                    'h' => {}
                    _ => break,
                }
                chars.next();
            }
            let (kind, ty) = match (chars.next(), long.is_empty()) {
                (Some(kind @ ('d' | 'i')), true) => (kind, "int"),
                (Some(kind @ ('d' | 'i')), false) => (kind, "long"),
                (Some(kind @ ('u' | 'x' | 'X' | 'o')), true) => (kind, "unsigned int"),
                (Some(kind @ ('u' | 'x' | 'X' | 'o')), false) => (kind, "unsigned long"),
                (Some('c'), _) => ('c', "int"),
                (Some('s'), _) => ('s', "const char *"),
                _ => ('?', ""),
            };
            if kind == '?' || (precise && kind != 's') {
                return Err(self.wrong(format.span, format!("a text is made of whole numbers, characters and texts in `{name}` here")));
            }
            let value = format!("a{count}");
            _ = write!(head, ", {ty} {value}");
            count += 1;
            let (left, zero) = (left, if left == 1 { 0 } else { zero });
            _ = match kind {
                'c' => write!(body, "{{ char c[2]; c[0] = {value}; c[1] = 0; n = __put_text(to, n, most, c, {width}, {left}, 1); }} "),
                's' => write!(body, "n = __put_text(to, n, most, {value}, {width}, {left}, {longest}); "),
                'd' | 'i' => {
                    let unsigned = if long.is_empty() { "unsigned int" } else { "unsigned long" };
                    write!(
                        body,
                        "n = __put_number{long}(to, n, most, {value} < 0 ? 0 - ({unsigned}) {value} : ({unsigned}) {value}, {value} < 0, 10, 'a', {width}, {left}, {zero}); "
                    )
                }
                _ => {
                    let (base, letter) = match kind {
                        'x' => (16, 'a'),
                        'X' => (16, 'A'),
                        'o' => (8, 'a'),
                        _ => (10, 'a'),
                    };
                    write!(body, "n = __put_number{long}(to, n, most, {value}, 0, {base}, '{letter}', {width}, {left}, {zero}); ")
                }
            };
        }
        flush(&mut plain, &mut body);
        body.push_str("if (most > 0) { if (n < most) to[n] = 0; else to[most - 1] = 0; } return n; }");
        let made = self.function_of(&format!("{head}){body}"), name, &[]);
        made.ok_or_else(|| self.wrong(format.span, format!("`{name}` with this format is not supported")))
    }
}
