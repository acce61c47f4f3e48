//! Embedded C: errors in it are reported at their positions; errors in its execution are faults.

mod common;

use common::{compile_text, explore, verified};

/// The errors of a model, each with line and column.
fn errors(text: &str) -> Vec<String> {
    let (map, compiled) = compile_text(text);
    let errors = compiled.diagnostics.iter().filter(|d| d.is_error());
    errors.map(|d| format!("{}: {}", map.location(d.span), d.message)).collect()
}

fn says(text: &str, wanted: &[&str]) {
    let found = errors(text);
    assert_eq!(found.len(), wanted.len(), "{text}:\n{found:?}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(found.contains(wanted), "{text}:\n{found}\nwanted {wanted}");
    }
}

/// The violations of a model, which is explored completely.
fn violations(text: &str) -> Vec<String> {
    let (map, compiled) = compile_text(text);
    explore(verified(&map, compiled), 100_000).expect("few states").violations
}

#[test]
fn mistakes_in_c_have_positions() {
    says("byte x;\ninit {\n\tc_code { now.x = = 1; }\n}", &["3:19: C cannot be read here"]);
    says("byte x;\ninit { c_code { now.y++; } }", &["2:21: the state has no variable `y`"]);
    says("byte x;\ninit { c_code { x++; } }", &["2:17: `x` is not declared in C"]);
    says("active proctype P() { c_code { Pinit->x++; } }\ninit { byte x; skip }", &["only a process of the type `init`"]);
    says("c_decl {\n\tint f(int a) { return a + b; }\n}\nbyte x;\ninit { c_code { now.x = f(1); } }", &["2:28: `b` is not declared in C"]);
    says("c_decl { int x }\ninit { skip }", &["C cannot be read here"]);
    says("byte x;\ninit { c_code { now.x = f(1); } }", &["there is no function `f`"]);
    says("byte x;\ninit { c_expr { now.x++ } }", &["a condition in C must not change anything"]);
    says("c_decl { long double d; }\ninit { skip }", &["this type cannot be part of a state"]);
    let fields = "c_decl { union { int i; struct { unsigned a : 3, b : 5; } bits; } u; }\ninit { c_code { u.bits.a = 1; } }";
    says(fields, &["a bit-field in a union"]);
    says("c_decl { char t[9]; }\ninit { c_code { sprintf(t, \"%f\", 1.5); } }", &["a text is made of whole numbers"]);
    says("c_decl { struct s { struct s inside; }; }\ninit { skip }", &["this structure is not defined"]);
    says("byte x;\ninit { c_code { now.x = rand(); } }", &["there is no function `rand` here"]);
    says("c_decl { int n; int *p; }\ninit { c_code { short *q = (short *) &n; } }", &["a pointer to another type"]);
    let recursive =
        "c_decl { int f(int n, int *to) { int t; if (n) f(n - 1, &t); *to = n; return n; } int r; }\ninit { c_code { f(3, &r); } }";
    says(recursive, &["the address of a variable of a function that calls itself"]);
    says("c_decl { int a[4]; }\nc_track \"&a\" \"sizeof(int)\"\ninit { skip }", &["`a` has 16 bytes, and 4 are tracked"]);
    says("c_track \"&a\" \"4\"\ninit { skip }", &["there is no variable `a` of C"]);
    says("c_state \"int x\" \"Nowhere\"\ninit { skip }", &["`Nowhere` is not a scope"]);
    says("c_state \"int x\" \"Local P\"\ninit { skip }", &["there is no process type `P`"]);
    says("c_expr { 1 }\ninit { skip }", &["`c_expr` is a condition"]);
    says("byte x;\ninit { c_code { goto out; now.x = 1; } }", &["2:22: there is no label `out` in this piece of C"]);
}

#[test]
fn two_mistakes_are_two_errors() {
    let found = errors("byte x;\ninit {\n\tc_code { now.x = ; };\n\tc_code { now.z = 1; }\n}");
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn what_a_fragment_does_wrong_is_a_fault() {
    for (body, wanted) in [
        ("now.x = 1 / now.zero;", "division by zero"),
        ("now.x = 1 % now.zero;", "division by zero"),
        ("now.a[now.x] = 1;", "invalid array index"),
        ("now.x = now.a[now.zero - 1];", "invalid array index"),
        ("while (1) ;", "endless sequence"),
        ("for (;;) { now.x = 1; now.x = 0; }", "endless sequence"),
        ("int *p = &now.big_i; if (now.zero == 0) p = 0; *p = 1;", "access outside memory"),
        ("int *p = now.row; p += 5 + now.zero; now.x = *p;", "access outside memory"),
        ("now.x = endless(1);", "invalid array index"),
        ("char t[3] = \"abc\"; now.x = strlen(t);", "invalid array index"),
        ("int *p = malloc(8); free(p); free(p);", "assertion violated"),
        ("int *p = malloc(8); free(p + 1);", "assertion violated"),
        ("int *p = malloc(5000); *p = 1;", "access outside memory"),
        ("int *p = malloc(2048); p[512 + now.zero] = 1;", "access outside memory"),
        ("char t[3]; sprintf(t, \"%d\", now.x + 1000);", "invalid array index"),
        ("union { int i; char c[4]; } u; u.c[4 + now.zero] = 1;", "invalid array index"),
        ("char t[4]; *(int *) (t + 1 + now.zero) = 1;", "access outside memory"),
    ] {
        let text = format!(
            "c_decl {{ int endless(int n) {{ return 1 + endless(n); }} }}\nbyte x = 7, zero, a[4];\nint big_i, row[5];\n\
             init {{ c_code {{ {body} }} }}"
        );
        let found = violations(&text);
        assert!(found.iter().any(|violation| violation.contains(wanted)), "{body}: {found:?}, wanted {wanted}");
    }
}

#[test]
fn functions_can_be_part_of_conditions() {
    let text = "c_decl {\n\tint most(int a, int b) { if (a > b) return a; return b; }\n\
                \tint sum(int n) { int s = 0; for (int i = 1; i <= 4; i++) { if (i == 3) continue; s += i * n; } return s; }\n}\n\
                byte x, y;\ninit {\n\tx = 3;\n\tc_expr { most(now.x, 2) == 3 && sum(now.x) == 21 };\n\ty = 1\n}\n\
                active proctype P() { y == 1; assert(x == 3); assert(false) }";
    assert_eq!(violations(text), ["assertion violated"]);
}

#[test]
fn values_stay_in_c() {
    let text = "byte r; int n;\ninit {\n\tc_code {\n\t\tunsigned int u = 4000000000u, v = 3;\n\
                \t\tassert(u / v == 1333333333u && u % v == 1 && u / 3000000000u == 1 && (u >> 4) == 250000000);\n\
                \t\tint k = '\\0' + 'a' + 0x1F + 010; assert(k == 97 + 31 + 8);\n\
                \t\tchar c = 200; assert(c == -56); _Bool b = 256; assert(b == 1);\n\
                \t\tstruct { int p, q[2]; } s = { 1, { 2, 3 } }, t; t = s; t.q[1] += 4; assert(t.q[1] == 7 && s.q[1] == 3);\n\
                \t\tint *z = &now.n; *z = 5; z[0]++; assert(now.n == 6);\n\
                \t\tdo { now.n--; } while (now.n > 2); assert(now.n == 2);\n\
                \t\tint i = 3; i = i++ + ++i > 6 ? i-- : 0; assert(sizeof(int) == 4 && sizeof(long) * 2 == 16);\n\t}\n}";
    assert_eq!(violations(text), Vec::<String>::new());
}

#[test]
fn a_variable_that_matters_is_not_forgotten() {
    let text = "c_decl { int n; }\nc_track \"&n\" \"sizeof(int)\" \"UnMatched\"\nbyte x;\n\
                init { do :: c_expr { n < 3 } -> c_code { n++; } :: else -> break od; assert(x == 0) }";
    let (map, compiled) = compile_text(text);
    assert!(compiled.diagnostics.iter().any(|d| d.message.contains("the behaviour depends on `n`")), "{:?}", compiled.diagnostics);
    assert!(explore(verified(&map, compiled), 1000).expect("few states").states > 6);
}

/// What a C compiler gives for expressions is written beside them.
#[test]
fn numbers_of_64_bits_and_with_a_point_are_those_of_c() {
    let text = "byte r; int n = 7;\ninit {\n\tc_code {\n\t\tunsigned long h = 5381; for (int i = 0; i < 20; i++) h = h * 33 + i;\n\
                \t\tassert(h == 5004773482855251139ul); assert(h % 1000003ul == 845402ul && h / 1000003ul == 5004758468579ul);\n\
                \t\tlong m = -9000000000l; assert(m / 7 == -1285714285l && m % 7 == -5 && (m >> 3) == -1125000000l);\n\
                \t\tassert((unsigned long) m >> 60 == 15 && (m < 0) && m * m == 7213023705161793536l);\n\
                \t\tlong s = now.n; s <<= now.n * 5; assert(s == 240518168576l); s = ~s; assert(s == -240518168577l); s++; assert(-s == 240518168576l);\n\
                \t\tdouble d = now.n; d = d / 3; assert(d > 2.33 && d < 2.34 && (int) (d * 3) == 7); assert(d * 3 == 7.0);\n\
                \t\tdouble e = 0.1 * now.n; assert(e == 0.70000000000000007 && e != 0.7); e -= 0.7; assert(e == 1.1102230246251565e-16);\n\
                \t\tfloat f = now.n; f = f / 3; assert(f == 2.33333325f); double w = f; assert(w == 2.3333332538604736);\n\
                \t\tassert((long) (d * 1e15) == 2333333333333333l && (int) -d == -2 && (char) (d * 100) == -23);\n\
                \t\tassert(sqrt(now.n * now.n) == 7 && sqrt(2.0 * now.n) == 3.7416573867739413 && floor(-d) == -3 && ceil(d) == 3 && fabs(-d) == d);\n\
                \t\tdouble tiny = 1e-300; tiny = tiny * tiny; assert(tiny == 0 && !tiny); double big = 1e300; big = big * big; assert(big > 1e308);\n\
                \t\tassert(big - big != big - big); float g = 16777217; assert(g == 16777216);\n\t}\n}";
    assert_eq!(violations(text), Vec::<String>::new());
}

#[test]
fn pointers_move_and_are_compared() {
    let text = "byte r;\nc_decl { int a[4] = { 3, 1, 4, 1 }; struct p { char *name; struct p *next; } x, y; struct p *list;\n\
                \tint sum(int *v, int n) { int s = 0; while (n--) s += *v++; return s; }\n\
                \tint twice(int n) { return 2 * n; }  int apply(int (*f)(int), int n) { return f(n); } }\n\
                init {\n\tc_code {\n\t\tassert(sum(a, 4) == 9 && sum(a + 1, 2) == 5); int *p = &a[3]; assert(p - a == 3 && p > a && *(p - 1) == 4);\n\
                \t\tx.name = \"first\"; y.name = \"second\"; x.next = &y; y.next = 0; list = &x; int n = 0;\n\
                \t\tfor (struct p *q = list; q; q = q->next) n += strlen(q->name); assert(n == 11);\n\
                \t\tassert(strcmp(x.name, y.name) < 0 && *strchr(y.name, 'o') == 'o' && strstr(y.name, \"con\") == y.name + 2);\n\
                \t\tchar t[12]; strcpy(t, x.name); strcat(t, \"-\"); strncat(t, y.name, 3); assert(strlen(t) == 9 && strcmp(t, \"first-sec\") == 0);\n\
                \t\tint b[4]; memcpy(b, a, 2 * sizeof(int)); memset(b + 2, 0, 2 * sizeof(int)); assert(sum(b, 4) == 4); memmove(b + 1, b, 3 * sizeof(int)); assert(b[1] == 3 && b[2] == 1);\n\
                \t\tassert(apply(twice, 4) == 8 && apply(&twice, 1) == 2); assert(atoi(\" -42x\") == -42 && toupper('a') == 'A');\n\t}\n}";
    assert_eq!(violations(text), Vec::<String>::new());
}

/// What a C compiler gives on the usual machines is written beside it.
#[test]
fn bytes_are_those_of_the_usual_machines() {
    let text = "c_decl { typedef union { int i; unsigned char b[4]; struct { short lo, hi; } h; float f; double d; long l; char *p; } U; U g;\n\
                \tunion { struct { char c; int after; } s; char all[8]; } padded = { .s = { 7, 0x01020304 } }; U list[3]; int k; }\n\
                byte r; int w = 16909060; short s = -2;\n\
                init {\n\tc_code {\n\t\tg.i = 0x11223344; assert(g.b[0] == 0x44 && g.b[3] == 0x11 && g.h.hi == 0x1122 && sizeof(U) == 8);\n\
                \t\tg.h.lo = -1; assert(g.i == 0x1122ffff); g.f = 1.5f; assert(g.i == 0x3fc00000); g.d = -2.0; assert(g.l >> 62 == -1 && g.l << 2 == 0);\n\
                \t\tU v = g, *q = &list[k + 1]; *q = v; q->b[7] ^= 0x80; assert(list[1].d == 2.0 && list[0].l == 0 && g.d == -2.0);\n\
                \t\tassert(padded.all[0] == 7 && padded.all[4] == 4 && padded.all[1] == 0); q->p = padded.all + 4; assert(*q->p == 4);\n\
                \t\tunsigned char *p = (unsigned char *) &now.w; int sum = 0; for (int i = 0; i < 4; i++) sum = sum * 16 + p[i]; assert(sum == 0x4321);\n\
                \t\tp[3] = 0x80; assert(now.w == -2147351804); p = (unsigned char *) &now.s; assert(p[0] == 254 && p[1] == 255); p[1] = 0; assert(now.s == 254);\n\
                \t\tlong big = 0x0102030405060708l; p = (unsigned char *) &big; assert(p[k + 6] == 2); p[5] = 0xff; assert(big == 0x0102ff0405060708l);\n\
                \t\tchar t[12]; memset(t, -1, sizeof(t)); memcpy(t + 2, &big, 8); assert(*(short *) (t + 8) == 0x102 && t[1] == -1 && t[10] == -1);\n\
                \t\tstruct { char c; double d; } from = { 'x', 0.5 }, to; char wire[16]; memcpy(wire, &from, sizeof(from)); memcpy(&to, wire, sizeof(to));\n\
                \t\tassert(to.c == 'x' && to.d == 0.5 && memcmp(&from, &to, sizeof(to)) == 0);\n\t}\n}";
    assert_eq!(violations(text), Vec::<String>::new());
}

#[test]
fn memory_is_allocated_and_given_back() {
    let text = "c_decl { struct node { int v; struct node *next; }; int sum(int n) { struct node *list = 0; int s = 0;\n\
                \tfor (int i = 0; i < n; i++) { struct node *e = malloc(sizeof(struct node)); e->v = i; e->next = list; list = e; }\n\
                \twhile (list) { struct node *old = list; s = s * 10 + list->v; list = list->next; free(old); } return s; } }\n\
                byte r; int n = 4;\ninit {\n\tc_code {\n\t\tassert(sum(now.n) == 3210 && sum(3) == 210);\n\
                \t\tint *a = malloc(40), *b = calloc(4, 4), *c; assert(a && b && b - a >= 10 && b[3] == 0); a[9] = 5; b[0] = 6; free(a); c = malloc(4); assert(c == a && *c == 0);\n\
                \t\tb = realloc(b, 100); assert(b[0] == 6 && b[24] == 0); free(b); free(c); free(0); assert(!malloc(3000));\n\
                \t\tchar *t = strdup(\"text\"); strcat(t, \"s\"); assert(strcmp(t, \"texts\") == 0 && strlen(t) == 5); free(t);\n\t}\n}";
    assert_eq!(violations(text), Vec::<String>::new());
}

#[test]
fn texts_are_made_of_numbers() {
    let text = "byte r; int v = -12; byte letter = 65;\ninit {\n\tc_code {\n\t\tchar b[128], s[4];\n\
                \t\tint n = sprintf(b, \"<%d|%5d|%-5d|%05d|%x|%X|%o|%u|%c|%s|%8s|%-4s|%%|%.2s>\", now.v, now.v, now.v, now.v, 255, 171, 8, 4000000000u, now.letter, \"mid\", \"right\", \"l\", \"abc\");\n\
                \t\tassert(strcmp(b, \"<-12|  -12|-12  |-0012|ff|AB|10|4000000000|A|mid|   right|l   |%|ab>\") == 0 && n == strlen(b));\n\
                \t\tn = sprintf(b, \"%ld %lu %li\", -5000000000l, 18446744073709551615ul, 0l); assert(strcmp(b, \"-5000000000 18446744073709551615 0\") == 0 && n == 34);\n\
                \t\tn = snprintf(s, sizeof(s), \"%s\", \"longer\"); assert(n == 6 && strcmp(s, \"lon\") == 0); assert(snprintf(s, 0, \"%d\", 12345) == 5 && s[0] == 'l');\n\t}\n}";
    assert_eq!(violations(text), Vec::<String>::new());
}

#[test]
fn numbers_of_64_bits_survive_calls_of_a_function_by_itself() {
    let text = "c_decl { long factorial(int n) { long r; if (n < 2) return 1; r = n * 1000000000l / 1000000000l; return r * factorial(n - 1); }\n\
                \tdouble half(int n) { double d = n * 0.5; if (n == 0) return 0; return half(n - 1) + d; } }\n\
                byte r; int n = 16;\ninit { c_code { long f = factorial(now.n); assert(f == 20922789888000l); double h = half(now.n); assert(h == 68.0); } }";
    assert_eq!(violations(text), Vec::<String>::new());
}

#[test]
fn a_condition_before_a_condition_is_asserted() {
    let text = |before: &str| format!("byte x;\ninit {{ c_expr [{before}] {{ now.x == 0 }}; assert(x == 0) }}");
    assert_eq!(violations(&text("now.x < 1")), Vec::<String>::new());
    assert_eq!(violations(&text("now.x > 0")), ["assertion violated"]);
}

/// A value that is used twice at each turn of a loop doubles: a function is not made one expression
/// then.
#[test]
fn values_that_double_end() {
    let text = "c_decl { unsigned short sum(const unsigned char *d, unsigned n) { unsigned short c = 0xFFFF; while (n--) { int i; c ^= (unsigned short) (*d++ << 8);\n\
                for (i = 0; i < 8; i++) c = (c & 0x8000) ? (c << 1) ^ 0x1021 : c << 1; } return c; } }\nbyte data[4]; int r;\n\
                init { c_code { now.data[0] = 1; now.data[3] = 200; now.r = sum(now.data, 4); }; assert(r == SUM) }";
    assert_eq!(violations(&text.replace("SUM", "43568")), Vec::<String>::new());
}
