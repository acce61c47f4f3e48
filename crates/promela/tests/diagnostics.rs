//! The messages that users read.

mod common;

use common::findings;

/// The findings must contain each of the texts.
fn says(text: &str, expected: &[&str]) {
    let found = findings(text);
    for part in expected {
        assert!(found.contains(part), "`{part}` is not in:\n{found}");
    }
}

#[test]
fn a_whole_message() {
    let expected = "\
error: `conut` is not declared
 --> model.pml:3:2
  |
3 |     conut = 1
  |     ^^^^^
  = hint: did you mean `count`?
";
    assert_eq!(findings("byte count;\nactive proctype P() {\n\tconut = 1\n}\n"), expected);
}

#[test]
fn several_mistakes_in_one_run() {
    let found = findings(
        "byte x\nactive proctype P() {\n  do\n  :: x = = 1\n  :: y > 2 -> skip\n  od;\n  x = (1 + ;\n  if :: x == 1 -> x = 2\n}\nactive proctype Q() { x = ) }\n",
    );
    let errors = found.lines().filter(|l| l.starts_with("error")).count();
    assert!(errors >= 3, "{found}");
    assert!(found.contains("expected `fi`"), "{found}");
}

#[test]
fn brackets_and_closing_words() {
    says("init { do :: skip }", &["expected `od`, found `}`", "to close this `do`"]);
    says("init { do :: skip fi }", &["`do` is closed by `od`, `if` by `fi`"]);
    says("init { if skip fi }", &["expected `::` after `if`"]);
    says("init { skip", &["expected `}`", "to close this `{`"]);
    says("init { skip } }", &["one `}` too many"]);
    says("init { x = (1; }", &["expected `)`", "to close this `(`"]);
}

#[test]
fn formulas() {
    let formula = |text: &str| format!("bool p, q;\nactive proctype P() {{ l: p = 1; q = 1 }}\nltl f {{ {text} }}");
    for (text, hint) in [
        ("G(p -> F q)", "write `[]`"),
        ("F p", "write `<>`"),
        ("[] (F p)", "write `<>`"),
        ("not p", "write `!`"),
        ("p and q", "write `&&`"),
        ("p => q", "write `->`"),
        ("p = q", "`==` compares"),
        ("[] (p = q)", "`==` compares"),
        ("Q@l", "the name of a process type stands before `@`"),
    ] {
        says(&formula(text), &[hint]);
    }
    assert_eq!(findings(&formula("<> {p && q} || {P@l} U {p}")), "");
    says("byte x;\nactive proctype P() provided (x = 1) { x = 1 }", &["`==` compares"]);
}

#[test]
fn initial_values_start_no_processes() {
    let refused = "`run` is not allowed in the initial value of a variable";
    says("proctype P() { skip }\ninit { byte x = run P(); x == 1 }", &[refused, "x = run P()"]);
    says("proctype P() { skip }\ninit { byte x = (run P() > 0 -> 1 : 2); x == 1 }", &[refused]);
    says("proctype P() { skip }\ninit { byte x[2] = { 1, run P() }; x[1] == 1 }", &[refused]);
}

#[test]
fn separators() {
    says("byte x;\ninit { x = 1 x = 2 }", &["expected `;` or `->` before `x`"]);
    says("byte x;\ninit { x = 1\n && x == 2 }", &["expected an expression, found `&&`", "put the operator at the end of the line before"]);
    says("byte x;\ninit { 1 = x }", &["only a variable can be assigned to", "`==` compares"]);
    says("proctype P(byte a, byte b) { skip }\ninit { run P(1,2) }", &["expected `;` between declarations"]);
}

#[test]
fn names_with_the_nearest_known_one() {
    says("init { goto lop; loop: skip }", &["there is no label `lop`", "did you mean `loop`?"]);
    says("proctype Sender() { skip }\ninit { run Sendr() }", &["there is no process type `Sendr`", "did you mean `Sender`?"]);
    says("mtype = { request };\nmtype m;\ninit { m = reqest }", &["did you mean `request`?"]);
    says("typedef T { byte first };\nT t;\ninit { t.frist = 1 }", &["the type `T` has no field `frist`", "did you mean `first`?"]);
    says("inline work(a) { a = 1 }\nbyte x;\ninit { wrok(x) }", &["there is no inline `wrok`", "did you mean `work`?"]);
    says("porctype P() { skip }", &["did you mean `proctype`?"]);
    says("init { { byte x; x = 1 }; x = 2 }", &["`x` is not declared", "this one is not visible here"]);
}

#[test]
fn declarations() {
    says("byte x;\nbyte x;\ninit { skip }", &["`x` is declared twice", "the first declaration"]);
    says("byte a[0];\ninit { skip }", &["an array cannot have 0 elements"]);
    says("byte a[2000000];\ninit { skip }", &["too large"]);
    says("byte a[n];\ninit { skip }", &["not known before the model runs"]);
    says("byte a[2];\ninit { a = 1 }", &["the array `a` needs an index"]);
    says("byte a[2];\ninit { a[2] = 1 }", &["the index 2 is outside `a`"]);
    says("byte x;\ninit { x[1] = 1 }", &["`x` is not an array"]);
    says("unsigned u;\ninit { skip }", &["an `unsigned` needs a width"]);
    says("mtype = { a, a };\ninit { skip }", &["declared twice"]);
    says("byte _pid;\ninit { skip }", &["`_pid` is predefined"]);
    says("init { skip; chan q = [1] of { byte }; q!1 }", &["a channel must be created before the first statement"]);
    says("chan q = [1] of { byte, bit };\ninit { q!1,1,1 }", &["error: a message of `q` has 2 fields, 3 given", "declared here"]);
    says("chan q = [300] of { byte };\ninit { q!1 }", &["the limit is 255"]);
}

#[test]
fn statements() {
    says("init { break }", &["`break` outside a loop"]);
    says("byte x;\ninit { if :: else :: x == 1 :: else fi }", &["a second `else`"]);
    says("byte x;\ninit { if :: if :: x == 1 :: else fi :: x == 2 :: else fi }", &["one choice has two `else`"]);
    says("init { L: skip; L: skip }", &["the label `L` is set twice"]);
    says("init { L: goto L }", &["form a cycle"]);
    says("byte x;\ninit { goto L; d_step { x = 1; L: x = 2 } }", &["a jump into a `d_step`"]);
    says("byte x;\ninit { d_step { x = 1; goto L }; L: skip }", &["a jump out of a `d_step`"]);
    says("proctype P() { skip }\ninit { d_step { run P() } }", &["`run` is not allowed in a `d_step`"]);
    says("proctype P(byte a) { skip }\ninit { run P() }", &["takes 1 argument, 0 given"]);
    says("proctype P() { skip }\ninit { run P() && true }", &["`run` cannot be part of a larger condition"]);
    says("init { _ == 1 }", &["`_` can be written but not read"]);
    says("init { do :: od }", &["at least one statement"]);
    says("proctype P() { skip }", &["no process runs in this model"]);
}

#[test]
fn macros_are_blamed_where_they_are_used() {
    let found = findings("#define SET(v) v = nothing\nbyte x;\ninit {\n  SET(x)\n}\n");
    assert!(found.contains("model.pml:4:3") && found.contains("SET(x)"), "{found}");
}

#[test]
fn warnings_do_not_refuse() {
    for (text, part) in [
        ("byte x;\ninit { x = 1 / 0 }", "divides by zero"),
        ("init { printf(\"%d\\n\") }", "room for 1 value"),
        ("hidden byte h;\nbyte x;\ninit { h = 1; x = h }", "stays in the state"),
        ("mtype:a = { x }; mtype:b = { y };\ninit { x == y -> skip }", "different sets"),
        ("byte a[3] = { 1, 2 };\ninit { skip }", "the last one is repeated"),
    ] {
        let (map, compiled) = common::compile_text(text);
        let found = source::render_all(&map, &compiled.diagnostics);
        assert!(compiled.program.is_some() && found.contains(part), "{text}:\n{found}");
    }
}

#[test]
fn the_limits_of_nesting_are_those_of_the_document() {
    let nested = |n: usize| format!("byte x;\ninit {{ x = {}1{} }}", "(".repeat(n), ")".repeat(n));
    let blocks = |n: usize| format!("byte x;\ninit {{ {}x = 1{} }}", "{ ".repeat(n), " }".repeat(n));
    assert_eq!(findings(&nested(99)) + &findings(&blocks(99)), "");
    says(&nested(100), &["the expression is nested too deeply: the limit is 99 levels"]);
    says(&blocks(100), &["statements are nested too deeply: the limit is 99 levels"]);
}

/// The errors and warnings in a text, and whether each of the hints is there.
fn hints(text: &str, errors: usize, expected: &[&str]) {
    let found = findings(text);
    let count = found.lines().filter(|l| l.starts_with("error")).count();
    assert_eq!(count, errors, "in `{text}`:\n{found}");
    says(text, expected);
}

#[test]
fn what_people_from_c_type() {
    let body = |text: &str| format!("byte x, y, i, n;\nbool b;\ninit {{ {text} }}");
    let one = |text: &str, hint: &str| hints(&body(text), 1, &[hint]);
    one("while (x < 3) { x++ }", "`do :: condition -> … :: else -> break od`");
    one("while (x < 3) x = x + 1", "a loop is");
    one("for (i = 0; i < n; i++) { x = x + i }", "write `for (i : 0 .. n - 1) { … }`");
    one("for (int k = 0; k < n; k++) { x = x + k }", "with `i` declared before");
    one("if (b) { x = 1 } else { x = 2 }", "write `if :: condition -> … :: else -> … fi`");
    one("if (b) x = 1; else x = 2; y = 3", "write `if :: condition");
    one("if (b) {\nx = 1\n}\nelse if (x == 1) {\nx = 2\n} else {\nx = 3\n}\ny = 1", "write `if :: condition");
    one("++x", "write `x++`, as a statement of its own");
    one("y = x++", "`x++` and `x--` are statements, not parts of expressions");
    one("y = (x-- > 1)", "`x++` and `x--` are statements");
    for sign in ["+", "-", "*", "/", "%", "&&", "||", "&", "|", "^", "<<", ">>"] {
        one(&format!("x {sign}= 2"), &format!("there is no `{sign}=`: write `x = x {sign} …`"));
    }
    one("(x = 2) -> skip", "`==` compares");
    hints(&body("if (x = 2) { skip }"), 2, &["`==` compares", "write `if ::"]);
    one("y = b ? 1 : 2", "write `(condition -> a : b)`");
    one("switch (x) { case 1: x = 2; break; default: x = 3 }", "a choice is `if");
    one("return", "a process ends at its closing brace");
    one("print(x)", "write `printf(");
    one("x = &y", "there are no pointers");
    one("x === 2", "`==` and `!=` compare");
    one("boolean c; c = 1", "the type is called `bool`");
    one("string s", "there are no strings");
    one("if :: x == 1 -> y = 2 :: else y = 3 fi; x[1][2] = 3", "arrays have one dimension");
    one("let z = 3", "a declaration begins with a type");
    one("endif", "`if` is closed by `fi`");
    hints("byte a[2][3];\ninit { skip }", 1, &["arrays have one dimension"]);
    hints("function f(a) { a = 1 }\ninit { skip }", 1, &["write `inline name(a, b) { … }`"]);
    hints("void f() { skip }\ninit { skip }", 1, &["write `inline"]);
    hints("struct T { int x };\ninit { skip }", 1, &["a structure is `typedef"]);
    hints("const int N = 3;\ninit { skip }", 1, &["`#define N 3`"]);
}

#[test]
fn what_people_from_python_and_tla_type() {
    let body = |text: &str| format!("byte x, y;\nbool b;\ninit {{ {text} }}");
    let one = |text: &str, hint: &str| hints(&body(text), 1, &[hint]);
    one("b = True", "write `true`");
    one("b = x == 1 and y == 2", "write `&&`");
    one("b = (x == 1 or y == 2)", "write `||`");
    one("b = not b", "write `!`");
    one("b = x == 1 /\\ y == 2", "write `&&`");
    one("b = x == 1 \\/ y == 2", "write `||`");
    one("x := 2", "`=` assigns");
    one("b = x <=> y", "`==` compares");
    one("b = x <> y", "`!=` is unequal");
    one("b = x # y", "`!=` is unequal");
    one("if :: x == 1 then y = 2 :: else fi", "`->` separates a condition");
    one("pass", "write `skip`");
    one("await x == 1", "a condition waits by itself");
    hints("def f():\n  x = 1\ninit { skip }", 1, &["write `inline"]);
    hints("import other\ninit { skip }", 1, &["`#include \"file\"`"]);
    hints("VARIABLES x, y\ninit { skip }", 1, &["this is TLA+"]);
    one("if :: x == 1 -> y = 1\nelif (x == 2)\ny = 2\nfi", "a further case is a further option");
}

#[test]
fn keywords_with_a_slip() {
    says("byte x;\ninit { do :: x == 1 -> brek od }", &["did you mean `break`?"]);
    says("byte x;\ninit { atmoic { x = 1 } }", &["did you mean `atomic`?"]);
    hints("active porctype P() { skip }", 1, &["did you mean `proctype`?"]);
    says("byte x;\ninit { sikp; x = 1 }", &["did you mean `skip`?"]);
    says("byte x;\ninit { d_setp { x = 1 } }", &["did you mean `d_step`?"]);
    says("byte x;\ninit { x = ture }", &["did you mean `true`?"]);
    says("byte x;\ninit { prinft(\"a\") }", &["did you mean `printf`?"]);
    says("bytee x;\ninit { skip }", &["did you mean `byte`?"]);
    says("init { inr x; skip }", &["did you mean `int`?"]);
}

#[test]
fn labels_and_remote_references_with_a_slip() {
    hints("active proctype P() { here: skip }\nactive proctype Q() { P@heer }", 1, &["`P` has no label `heer`", "did you mean `here`?"]);
    hints("active proctype Sender() { here: skip }\nactive proctype Q() { Sendr@here }", 1, &["did you mean `Sender`?"]);
    hints("active proctype Sender() { here: skip }\nactive proctype Q() { (Sendr[0]@here) }", 1, &["did you mean `Sender`?"]);
    hints("active proctype P() { byte count; count = 1 }\nactive proctype Q() { P:cuont == 1 }", 1, &["did you mean `count`?"]);
}

#[test]
fn an_option_that_is_always_possible_hides_else() {
    let warning = "an assignment is always possible: the `else` beside it never runs";
    says("byte x;\ninit { if :: x = 2 -> x = 3 :: else -> x = 4 fi }", &["warning", warning, "`==` compares"]);
    says("byte x;\ninit { do :: x = 2 :: else -> break od }", &[warning]);
    says("byte x;\ninit { if :: L: x++ -> x = 3 :: else -> x = 4 fi; goto L }", &[warning]);
    assert_eq!(findings("byte x;\ninit { if :: x == 2 -> x = 3 :: else -> x = 4 fi; if :: x = 1 :: x = 2 fi }"), "");
}

#[test]
fn names_behind_a_mistake_are_looked_up() {
    hints(
        "byte x;\ninit {\n  x = = 1;\n  y = 2;\n  goto nowhere;\n  run Nobody();\n  x = z\n}",
        5,
        &["found `=`", "`y` is not declared", "there is no label `nowhere`", "no process type `Nobody`", "`z` is not declared"],
    );
    // Names that may have been declared in unreadable text are not reported.
    hints("byte x = = 1, y;\ninit { x = 2; y = 3; w = 4 }", 2, &["`w` is not declared"]);
    hints("init { byte k = = 1; k = 2; lab = 1; }", 2, &["`lab` is not declared"]);
    hints("init { here: x = = ; goto here; }", 1, &["found `=`"]);
    // If a file is missing, no name is reported as unknown.
    hints("#include \"nothing.h\"\ninit { x = 2 }", 1, &["cannot include"]);
    // Names and labels in one run.
    hints("init { x = 2; goto nowhere }", 2, &["`x` is not declared", "there is no label `nowhere`"]);
}

/// SPIN's verifier takes `chan STDIN` for a channel that does not exist; the warning says so, and
/// without the declaration there is an error.
#[test]
fn standard_input_is_no_channel() {
    let warning = "warning: `STDIN` reads input only in SPIN's simulations: here it is a channel that does not exist";
    for text in ["chan STDIN;\nint c;\ninit { STDIN?c }", "int c;\ninit { chan STDIN; STDIN?c }"] {
        says(text, &[warning, "a process that chooses what to send can replace the input"]);
        assert!(!findings(text).contains("error"), "{}", findings(text));
    }
    // With a capacity it is a channel like any other.
    assert_eq!(findings("chan STDIN = [1] of { int };\nint c;\ninit { STDIN!1; STDIN?c }"), "");
    says("int c;\ninit { STDIN?c }", &["error: `STDIN` is not declared", "after `chan STDIN`"]);
}
