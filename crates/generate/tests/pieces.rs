//! Pieces of C in programs: SPIN's names for variables, variables of C that processes share, errors
//! with their places before any compiler runs, and places in the messages of the compiler.

mod common;

use common::{Folder, builds, generate, main_ways, output_of};
use std::process::Command;

/// What every layout prints, with sorted lines.
fn everywhere(name: &str, text: &str, wanted: &[&str]) {
    if !builds() {
        return;
    }
    for (way, options) in main_ways() {
        let printed = output_of(&format!("{name}-{way}"), text, &options).expect("a compiler");
        let mut lines: Vec<&str> = printed.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, wanted, "{way}");
    }
}

#[test]
fn spins_names_are_those_of_the_program() {
    let text = "c_decl { int g; }\nc_state \"int loc\" \"Local P\" \"4\"\nc_state \"int all\" \"Global\" \"7\"\nint y;\n\
                active [2] proctype P() { byte own; c_code { PP->loc++; now.y += PP->loc; now.all++; PP->own = PP->_pid; g++; }; \
                c_expr { now.y >= 10 && now.all == 9 && g == 2 }; printf(\"%d %d\\n\", y, own) }\n";
    everywhere("names", text, &["10 0", "10 1"]);
}

#[test]
fn variables_of_c_are_shared_as_in_the_model() {
    let text = "c_decl { int g; short stack[4] = { 3, 1 }; int top = 2;\n\
                static void push(int v) { if (top < 4) stack[top++] = (short) v; }\nstatic int depth(int top) { return top + 1; } }\n\
                c_track \"&g\" \"sizeof(int)\"\nc_track \"stack\" \"sizeof(stack)\"\nc_track \"&top\" \"sizeof(int)\"\nbyte order;\n\
                active proctype P() { c_code { g++; push(5); }; c_expr { g == 2 }; printf(\"both %d\\n\", order) }\n\
                active proctype Q() { c_expr { top == 3 }; c_code { int g2 = depth(8); g++; push(g2); now.order = 1; }; \
                c_expr { top == 4 && stack[0] == 3 && stack[1] == 1 && stack[2] == 5 && stack[3] == 9 }; printf(\"all\\n\") }\n";
    everywhere("tracked", text, &["all", "both 1"]);
}

#[test]
fn a_function_of_c_uses_variables_of_the_model() {
    let text = "int y = 3;\nc_decl { static int twice(void) { return 2 * now.y; } }\nactive proctype P() { int r; c_code { PP->r = twice(); }; \
                y = 4; c_code [ now.y == 4 ] { PP->r += twice(); }; printf(\"%d\\n\", r) }";
    everywhere("functions", text, &["14"]);
}

#[test]
fn a_piece_that_changes_a_shared_variable_is_one_step() {
    let text = "int n, done;\nactive [4] proctype P() { byte i; do :: i < 100 -> promela_MS { n = n + 1 }; c_code_IS { n = n + 1; }; i++ \
                :: else -> break od; done++ }\nactive proctype Last() { done == 4; printf(\"%d\\n\", n) }";
    everywhere("shared-piece", text, &["400"]);
}

#[test]
fn what_is_no_c_is_an_error_at_its_place() {
    let wrong = |text: &str, place: &str| {
        let errors = generate(text).err().unwrap_or_else(|| panic!("{text} is accepted"));
        assert!(errors.iter().any(|error| error.starts_with(place)), "{place} in {errors:?}");
    };
    wrong("active proctype A() { int x;\n c_code_IS { x = 1 + ; };\n skip }", "2:22");
    wrong("active proctype A() { int x;\n c_code_IS { x = (1 + ; };\n skip }\nactive proctype B() { skip }", "2:23");
    wrong("active proctype A() { int x;\n c_expr_IS { x == };\n skip }", "2:18");
    wrong("active proctype A() { int x;\n promela_MS { x = 1 }; c_code_IS { x = 1; }; requires_IS { x > };\n skip }", "2:63");
    wrong("active proctype A() { int x;\n c_code_IS { x = 1; }; ensures_IS { ( };\n skip }", "2:38");
    wrong("c_decl_IS {\n int f( { return 1; }\n};\nactive proctype A() { skip }", "2:9");
    wrong("typedef T { byte a; c_decl_IS { long long; long } };\nactive proctype A() { skip }", "1:");
    wrong("int y;\nactive proctype A() { c_code { now.z = 1; }; skip }", "2:32");
    wrong("proctype B() { byte x; skip }\nactive proctype A() { c_code { PB->x = 1; }; skip }", "2:32");
    // What headers declare is right.
    let text = "c_decl_IS {\n\\#include <stdio.h>\n\\#define TWICE(x) ((x) + (x))\n};\nactive proctype A() { int x; c_decl_IS { FILE *f; };\n \
                c_code_IS { f = fopen(\"/dev/null\", \"r\"); x = TWICE(f != NULL); fclose(f); }; skip }";
    assert!(generate(text).is_ok(), "{:?}", generate(text).err());
}

#[test]
fn the_compiler_names_the_line_of_the_text() {
    if !builds() {
        return;
    }
    let text = "active proctype A() {\n int x;\n x = 1;\n c_code_IS {\n  x = 2;\n\n  x = unknown_name;\n };\n x = 3;\n c_expr_IS { other_name == 1 }\n}";
    let folder = Folder::new("lines");
    folder.write(&generate(text).expect("right"));
    let out = Command::new("make").arg("-s").current_dir(&folder.0).output().expect("make");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(!out.status.success() && said.contains("model.pch:7:") && said.contains("model.pch:10:"), "{said}");
    // What is generated has its own lines.
    let text = "active proctype A() {\n int x;\n c_code_IS { x = 2; };\n x = 3\n}";
    let made = generate(text).expect("right");
    let lines: Vec<&str> = made.file("A.c").lines().collect();
    let at = lines.iter().rposition(|line| line.starts_with("#line")).expect("a directive");
    assert_eq!(lines[at], format!("#line {} \"A.c\"", at + 2));
}

/// Each of these pieces changes a variable on which another process waits.
const CHANGES: [&str; 8] = [
    "now.x = 1;",
    "++now.x;",
    "x++;",
    "(x) = 1;",
    "*&now.x = 1;",
    "set();",
    "twice();",
    "memset(list, 1, sizeof list); now.x = now.list[0];",
];

#[test]
fn a_piece_of_the_program_that_changes_a_variable_is_executed_under_the_lock() {
    for piece in CHANGES {
        let text = format!(
            "byte x, list[2];\nc_decl_IS {{ static void set(void) {{ now.x = 1; }} static void twice(void) {{ set(); }} static int get(void) {{ return x; }} }};\n\
             active proctype P() {{ promela_MS {{ x = 1 }}; c_code_IS {{ {piece} }} }}\n\
             active proctype Q() {{ x > 0; printf(\"woken\\n\") }}\n\
             active proctype R() {{ int y; c_code_IS {{ y = get(); printf(\"%d\", x == 1 ? 0 : 0); }} }}\n"
        );
        let made = generate(&text).unwrap_or_else(|errors| panic!("{errors:?}"));
        let flat = made.flat("P.c");
        let at = flat.find("ep_changed();").unwrap_or_else(|| panic!("{piece} is not under the lock:\n{flat}"));
        assert!(flat[..at].contains("ep_begin();") && flat[at..].contains("ep_end();"), "{piece}:\n{flat}");
        assert!(!made.file("R.c").contains("ep_changed"), "a piece that only reads needs no lock: {}", made.file("R.c"));
    }
    everywhere("woken", &"int x;\nactive proctype P() { promela_MS { x = 1 }; c_code_IS { usleep(300000); now.x = 1; } }\nactive proctype Q() { x == 1; printf(\"woken\\n\") }\n"
        .replace("active proctype P", "c_decl_IS {\n\\#include <unistd.h>\n};\nactive proctype P"), &["woken"]);
}

#[test]
fn a_change_by_spins_name_is_compared_with_the_model() {
    let warnings = |piece: &str| {
        let text = format!("int x;\nactive proctype P() {{ int y; promela_MS {{ y = 1 }}; c_code_IS {{ y = 1; {piece} }} }}\n");
        generate(&text).unwrap_or_else(|errors| panic!("{piece}: {errors:?}")).mapping.len()
    };
    for piece in ["now.x = 1;", "++x;", "now.x++;", "*&now.x = 2;"] {
        assert_eq!(warnings(piece), 1, "{piece}");
    }
    // A word in a text or a comment, a field, and a variable of C are not that variable.
    for piece in ["printf(\"x = 1\\n\");", "/* x = 1 */", "{ struct { int x; } p; p.x = 1; }", "{ int x; x = 1; }", "PP->y = 1;"] {
        assert_eq!(warnings(piece), 0, "{piece}");
    }
}

#[test]
fn a_pair_with_spins_names_is_tested() {
    if !builds() {
        return;
    }
    for (piece, good) in [("now.x = PP->y + 1;", true), ("now.x = PP->y + 2;", false)] {
        let text = format!(
            "int x;\nactive proctype P() {{ int y; promela_MS {{ x = y + 1 }}; c_code_IS {{ {piece} }}; requires_IS {{ PP->y < 100 && PP->y > 0 }}; ensures_IS {{ now.x > old(PP->y) && old(now.x) == old(x) }} }}\n"
        );
        let folder = Folder::new("spins-names");
        folder.write(&generate(&text).unwrap_or_else(|errors| panic!("{errors:?}")));
        let out = Command::new("make").args(["-s", "test"]).current_dir(&folder.0).output().expect("make");
        let said = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.success(), good, "{piece}: {said}");
        assert!(!said.contains("error:"), "{said}");
    }
}
