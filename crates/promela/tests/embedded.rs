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
    says("c_decl { int f(int a) { return f(a); } }\nbyte x;\ninit { c_code { now.x = f(1); } }", &["`f` calls itself"]);
    says("byte x;\ninit { c_expr { now.x++ } }", &["a condition in C must not change anything"]);
    says("c_decl { int *p; }\ninit { skip }", &["a pointer cannot be part of a state"]);
    says("c_decl { float f; }\ninit { skip }", &["only integers, structures and arrays"]);
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
        ("now.big = now.big * 70000l * 70000l;", "overflow"),
    ] {
        let text = format!("byte x = 7, zero, a[4];\nc_state \"long big\" \"Global\" \"1\"\ninit {{ c_code {{ {body} }} }}");
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
