//! Functions of random firmware that use what compilers and libraries translate in special ways:
//! numbers of 64 bits, floating-point numbers, recursion, structures as results, tables in the
//! flash, tables of `switch` statements, pointers to functions, arrays and pointers of a frame,
//! `setjmp`, inline assembly, unions.
//!
//! Each takes and gives a byte, and the result is at most 3, so that the state space stays small.

/// A function of this kind.
#[derive(Clone)]
pub struct Piece {
    pub name: String,
    /// What it needs before it, and its definition.
    pub text: String,
    /// Whether only the main program may call it: it must not be entered twice at a time.
    pub alone: bool,
}

/// Random numbers below a bound.
pub type Below<'a> = &'a mut dyn FnMut(usize) -> usize;

/// The number of kinds.
pub const KINDS: usize = 26;

/// What the functions have in common.
pub const HEAD: &str = "#include <avr/pgmspace.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <util/atomic.h>

struct big {
    uint8_t a;
    uint16_t b;
    uint32_t c;
    uint8_t d[3];
};
";

/// A function with this name.
pub fn piece(name: &str, kind: usize, below: Below<'_>) -> Piece {
    let attribute = ["static ", "static __attribute__((noinline)) ", "__attribute__((noinline)) ", "static inline "][below(4)];
    let head = format!("{attribute}uint8_t {name}(uint8_t n)");
    let (k, m, s) = (1 + below(250), 3 + below(120), 1 + below(7));
    let volatile = ["", "volatile "][below(2)];
    let shared = ["v0", "v1", "a[1]", "s0.x", "a[n & 1]", "sp->x"][below(6)];
    let before;
    let body: String;
    let mut alone = false;
    match kind {
        0 => {
            before = String::new();
            body = format!(
                "    {volatile}uint64_t x = (uint64_t)n * 0x{:x}ull + {k}u;
    x ^= x >> {};
    return x >> {} & 3;",
                0x1_2345_6789_u64 * m as u64,
                5 + 7 * s,
                2 * s
            );
        }
        1 => {
            before = String::new();
            body = format!(
                "    {volatile}int32_t x = (int8_t)n * {k}L - {m};
    return (x / {m} + x % {}) & 3;",
                s + 2
            );
        }
        2 => {
            before = String::new();
            body = format!(
                "    {volatile}float f = n * {}.25f - {m}.5f;
    return f > {s}.0f ? (uint8_t)f & 3 : f < -{s}.0f ? 1 : 2;",
                s
            );
        }
        3 => {
            before = String::new();
            body = format!(
                "    n &= 3;
    if (n == 0)
        return {shared} & 3;
    uint8_t t = {name}(n - 1);
    return (t + n) & {};",
                [1, 3][below(2)]
            );
        }
        4 => {
            before = format!(
                "static __attribute__((noinline)) struct big {name}_make(uint8_t n) {{
    struct big made = {{n, n * {m}, n * {k}ul, {{1, n, 3}}}};
    return made;
}}
"
            );
            body = format!(
                "    struct big t = {name}_make(n), u = t;
    u.d[n % 3] += {s};
    return (u.a + (u.b >> 3) + (u.c >> 9) + u.d[1]) & 3;"
            );
        }
        5 => {
            let numbers: Vec<String> = (0..8).map(|i| ((i * m + k) & 0xff).to_string()).collect();
            before = format!(
                "static const uint8_t {name}_table[] PROGMEM = {{{}}};
static const uint16_t {name}_words[] PROGMEM = {{{}}};
",
                numbers.join(", "),
                numbers.iter().map(|n| format!("{n} * 257u")).collect::<Vec<_>>().join(", ")
            );
            body = format!(
                "    uint16_t w = pgm_read_word(&{name}_words[n & 7]);
    return (pgm_read_byte(&{name}_table[(n + {s}) & 7]) + (w >> {s})) & 3;"
            );
        }
        6 => {
            let mut text = "    switch (n & 7) {\n".to_owned();
            for case in 0..6 + below(2) {
                let value = match below(4) {
                    0 => format!("{shared} & 1"),
                    1 => format!("n >> {}", 1 + below(3)),
                    _ => below(4).to_string(),
                };
                text += &format!("    case {case}:\n");
                text += &match below(5) {
                    0 => format!("        {shared} = {} & 1;\n        return {value} & 3;\n", case),
                    _ => format!("        return {value} & 3;\n"),
                };
            }
            before = String::new();
            body = text + &format!("    default:\n        return {};\n    }}", s & 3);
        }
        7 => {
            let place = ["PROGMEM ", "", "volatile "][below(3)];
            let constant = if place == "volatile " { "" } else { "const " };
            let read = if place == "PROGMEM " {
                format!("(uint8_t (*)(uint8_t))pgm_read_word(&{name}_all[n % 3])")
            } else {
                format!("{name}_all[n % 3]")
            };
            let define = |number: usize, text: String| format!("static uint8_t {name}_{number}(uint8_t n) {{\n    {text}\n}}\n");
            before = [
                define(0, format!("return n + {s};")),
                define(1, format!("{shared} = n & 1;\n    return n;")),
                define(2, format!("return {shared} ^ {m};")),
                format!(
                    "static uint8_t (*{constant}{}{name}_all[3])(uint8_t) {}= {{{name}_0, {name}_1, {name}_2}};\n",
                    if place == "volatile " { place } else { "" },
                    if place == "PROGMEM " { place } else { "" }
                ),
            ]
            .concat();
            body = format!("    uint8_t (*one)(uint8_t) = {read};\n    return one(n) & 3;");
        }
        8 => {
            before = format!(
                "static __attribute__((noinline)) void {name}_bump({volatile}uint8_t *q) {{
    *q += {s};
}}
"
            );
            body = format!(
                "    {volatile}uint8_t l[4];
    for (uint8_t i = 0; i < 4; i++)
        l[i] = n + i * {m};
    {name}_bump(&l[n & 3]);
    {name}_bump(l + 1);
    return (l[0] + l[1] + l[2] + l[3]) & 3;"
            );
        }
        9 => {
            before = format!("static struct big {name}_kept;\n");
            body = format!(
                "    struct big t;
    memset(&t, n & 1, sizeof t);
    t.d[2] = {k};
    memcpy(&{name}_kept, &t, {});
    return memcmp(&{name}_kept, &t, sizeof t) ? 1 : 2;",
                1 + below(10)
            );
        }
        10 => {
            alone = true;
            before = format!(
                "static jmp_buf {name}_buffer;
static __attribute__((noinline)) void {name}_leave(uint8_t n) {{
    if (n & 1)
        longjmp({name}_buffer, 1 + (n & 2));
}}
"
            );
            body = format!(
                "    uint8_t found = setjmp({name}_buffer);
    if (found)
        return found & 3;
    {name}_leave(n);
    return 2;"
            );
        }
        11 => {
            before = String::new();
            body = format!(
                "    uint8_t t = {k};
    __asm__ volatile(\"bst %1, {}\\n\\tbld %0, {}\\n\\tswap %0\" : \"+r\"(t) : \"r\"(n));
    return t & 3;",
                below(3),
                below(8)
            );
        }
        12 => {
            before = String::new();
            body = format!(
                "    __asm__ volatile(\"push %0\\n\\tinc %0\\n\\tpush %0\\n\\tpop __tmp_reg__\\n\\tpop %0\\n\\tadd %0, __tmp_reg__\" : \"+r\"(n) : : \"r0\");
    return (n + {s}) & 3;"
            );
        }
        13 => {
            before = String::new();
            body = format!(
                "    {volatile}uint8_t l[(n & 3) + 1];
    for (uint8_t i = 0; i <= (n & 3); i++)
        l[i] = i + {s};
    return (l[n & 3] + l[0]) & 3;"
            );
        }
        14 => {
            before = format!(
                "static __attribute__((noinline)) uint8_t {name}_many(uint16_t a0, uint16_t a1, uint32_t a2, uint32_t a3, uint16_t a4, uint32_t a5, uint8_t a6, uint16_t a7) {{
    return a0 + a1 * 3 + (a2 >> 4) + a3 + (a4 ^ a5) + a6 + (a7 >> 8);
}}
"
            );
            body = format!(
                "    uint8_t t = {name}_many(n, {m}, n * {k}ul, {s}, n + 1, {k}, n, n << 7);
    return (t + {name}_many(t, n, {m}, t, {s}, n, t, {k})) & 3;"
            );
        }
        15 => {
            before = format!("static const char {name}_text[] = \"a{}c\";\n", "b".repeat(s));
            body = format!(
                "    char copy[12];
    strcpy(copy, {name}_text);
    copy[n & 1] = 'x';
    return (strlen(copy + (n & 1)) + (strcmp(copy, {name}_text) > 0) + (strchr(copy, 'c') != 0)) & 3;"
            );
        }
        16 => {
            before = format!("static {volatile}union {{\n    uint16_t w;\n    uint8_t b[2];\n}} {name}_union;\n");
            body = format!(
                "    {name}_union.w = (n & 1) * 0x{:x};
    return {name}_union.b[n & 1] & 3;",
                m * 257
            );
        }
        17 => {
            before = format!("static {volatile}uint8_t {name}_grid[2][3];\n");
            body = format!(
                "    {name}_grid[n & 1][(n >> 1) % 3] ^= 1;
    return {name}_grid[{}][n % 3] + {name}_grid[n & 1][{}];",
                s & 1,
                s % 3
            );
        }
        18 => {
            before = String::new();
            body = format!(
                "    int8_t t = (int8_t)(n + {k}) >> (n & 3);
    int16_t u = (int16_t)({m} - n) << (n & {s});
    return (t + (u >> 5) + (t < u) + (t % 3)) & 3;"
            );
        }
        19 => {
            before = String::new();
            body = format!(
                "    {volatile}uint8_t *q = a + (n & 1);
    uint8_t t = *q--;
    if (q >= a)
        t += *q++;
    return (t + (q - a) + {s}) & 3;"
            );
        }
        20 => {
            before = format!(
                "struct {name}_fields {{\n    uint16_t x : 3, y : 7, z : 6;\n    int8_t t : 2;\n}};\nstatic {volatile}struct {name}_fields {name}_f;\n"
            );
            body = format!(
                "    {name}_f.y = (n & 1) * {k};
    {name}_f.t = n & 1;
    {name}_f.z = {name}_f.y >> {};
    return ({name}_f.y + {name}_f.z + {name}_f.t) & 3;",
                s % 5
            );
        }
        21 => {
            before = String::new();
            body = format!(
                "    uint16_t t = {k};
    while (n-- & 7)
        t = t * {m} + (t >> {s});
    return t >> 8 & 3;"
            );
        }
        22 => {
            before = format!("static {volatile}uint8_t {name}_calls;\n");
            body = format!(
                "    static {volatile}bool first = true;
    if (first) {{
        first = false;
        {name}_calls = n & 1;
    }}
    {name}_calls ^= {shared} & 1;
    return {name}_calls;"
            );
        }
        23 => {
            // In a handler, interrupts that are enabled would nest without end.
            alone = below(3) == 0;
            before = String::new();
            body = format!(
                "    uint8_t t;
    ATOMIC_BLOCK({}) {{
        t = {shared};
        if (n & 1)
            {shared} = (t + 1) & 1;
        else if (t == 3)
            return {};
    }}
    return (t + n) & 3;",
                if alone { "ATOMIC_FORCEON" } else { "ATOMIC_RESTORESTATE" },
                s & 3
            );
        }
        24 => {
            before = format!(
                "static uint8_t {name}_odd(uint8_t n);
static uint8_t {name}_even(uint8_t n) {{
    return n == 0 ? {shared} & 1 : {name}_odd(n - 1);
}}
static uint8_t {name}_odd(uint8_t n) {{
    return n == 0 ? 2 : {name}_even(n - 1) + {};
}}
",
                s & 1
            );
            body = format!("    return {name}_even(n & 3) & 3;");
        }
        _ => {
            before = format!(
                "static __attribute__((noinline)) struct pair {name}_pair(uint8_t n) {{
    struct pair made = {{n, n * {m}, n & 1, 2}};
    return made;
}}
"
            );
            body = format!(
                "    struct pair t = {name}_pair(n);
    uint8_t saved = SREG;
    t.y += saved >> 7;
    return (t.x + t.y + t.b + t.c) & 3;"
            );
        }
    }
    Piece { name: name.to_owned(), text: format!("{before}{head} {{\n{body}\n}}\n\n"), alone }
}
