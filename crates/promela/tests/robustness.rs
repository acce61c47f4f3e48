//! No file can crash or hang the front-end.

mod common;

use common::{compile_text, findings, root};
use contract::testing::Random;
use std::time::{Duration, Instant};

/// Compiles, and fails if it takes longer than any model should.
fn survives(text: &str) {
    let start = Instant::now();
    let (_, compiled) = compile_text(text);
    if let Some(program) = compiled.program {
        // An accepted model must be well-formed, unless it is too large for the machine.
        let _ = bytecode::verify(program);
    } else {
        assert!(compiled.diagnostics.iter().any(source::Diagnostic::is_error), "refused without a reason");
    }
    let shown: String = text.chars().take(60).collect();
    assert!(start.elapsed() < Duration::from_secs(20), "{:?} for {shown}…", start.elapsed());
}

#[test]
fn deep_nesting_is_an_error() {
    for (open, middle, close) in
        [("(", "1", ")"), ("!", "1", ""), ("-", "1", ""), ("(1 -> ", "1", " : 1)"), ("a[", "0", "]"), ("1 + (", "1", ")")]
    {
        let text = format!("byte a[3];\nchan q = [1] of {{ byte }};\ninit {{ {}{middle}{} }}", open.repeat(20_000), close.repeat(20_000));
        survives(&text);
        assert!(findings(&text).contains("error"));
    }
    for (open, close) in [("{ ", " }"), ("if :: ", " fi"), ("do :: ", " od"), ("atomic { ", " }"), ("d_step { ", " }"), ("L: ", "")] {
        let text = format!("byte x;\ninit {{ {} x = 1 {} }}", open.repeat(20_000), close.repeat(20_000));
        survives(&text);
        assert!(findings(&text).contains("error"));
    }
    survives(&format!("init {{ {} skip {} }}", "{ ".repeat(5_000), " } unless { skip }".repeat(5_000)));
    survives(&format!("ltl {{ {} 1 {} }}", "[] (".repeat(20_000), ")".repeat(20_000)));
    survives(&format!("init {{ q!{}1 }}", "(".repeat(20_000)));
    survives(&format!("chan q = [1] of {{ byte }};\ninit {{ q?{}x }}", "(".repeat(20_000)));
}

#[test]
fn nesting_as_deep_as_allowed_is_fine() {
    let depth = 60;
    for (open, close) in [("if :: ", " fi"), ("do :: ", " od"), ("{ ", " }"), ("atomic { ", " }"), ("{ x = 1; ", " } unless { x == 9 }")] {
        let text = format!("byte x;\ninit {{ {} x == 5 {} }}", open.repeat(depth), close.repeat(depth));
        let (map, compiled) = compile_text(&text);
        assert!(compiled.program.is_some(), "{}", source::render_all(&map, &compiled.diagnostics));
    }
}

/// A body with as many control states as the machine can number is accepted. A longer one is
/// refused in the words of the language.
#[test]
fn the_control_states_of_a_body_are_limited() {
    let long = |statements: usize| format!("int x; active proctype P() {{ {} }}", "x = x + 1; ".repeat(statements));
    let program = compile_text(&long(65_535)).1.program.expect("it fits");
    assert!(bytecode::verify(program).is_ok());
    let found = findings(&long(65_536));
    assert!(found.contains("the body of `P` has more than 65536 control states"), "{found}");
}

#[test]
fn long_texts_take_reasonable_time() {
    survives(&format!("byte x;\ninit {{ {} }}", "x = 1; ".repeat(30_000)));
    survives(&format!("byte x;\ninit {{ x = {}1 }}", "x + ".repeat(30_000)));
    let labels: String = (0..20_000).map(|i| format!("L{i}: goto L{i};\n")).collect();
    survives(&format!("init {{ {labels} skip }}"));
    let labels: String = (0..10_000).map(|i| format!("L{i}: x = 1; goto L{};\n", 9_999 - i)).collect();
    survives(&format!("byte x;\ninit {{ {labels} skip }}"));
    let variables: String = (0..20_000).map(|i| format!("byte v{i};\n")).collect();
    survives(&format!("{variables}init {{ {variables} skip }}"));
    let options: String = (0..20_000).map(|i| format!(":: x == {i} -> x = {i}\n")).collect();
    survives(&format!("int x;\ninit {{ do {options} od }}"));
    let prints: String = (0..20_000).map(|i| format!("printf(\"{i}\");\n")).collect();
    survives(&format!("init {{ {prints} skip }}"));
    let names: String = (0..5_000).map(|i| format!("n{i}, ")).collect();
    survives(&format!("mtype = {{ {names} }};\ninit {{ skip }}"));
    let processes: String = (0..2_000).map(|i| format!("active proctype P{i}() {{ skip }}\n")).collect();
    survives(&processes);
}

/// Chains of definitions, and many items of a kind that are looked up often.
#[test]
fn long_chains_take_reasonable_time() {
    let macros: String = (1..50_000).map(|i| format!("#define m{i} m{}\n#define f{i}(a) f{}(a)\n", i - 1, i - 1)).collect();
    survives(&format!("#define m0 1\n#define f0(a) a\n{macros}int x; init {{ x = m49999 + f49999(1) }}"));
    let types: String = (1..50_000).map(|i| format!("typedef T{i} {{ T{} x }};\n", i - 1)).collect();
    survives(&format!("typedef T0 {{ int x }};\n{types}T49999 t; init {{ skip }}"));
    let (fields, uses): (String, String) = (0..20_000).map(|i| (format!("int f{i};\n"), format!("t.f{i} = 1;\n"))).unzip();
    survives(&format!("typedef T {{ {fields} }};\nT t; init {{ {uses} }}"));
    let (labels, uses): (String, String) = (0..10_000).map(|i| (format!("L{i}: skip;\n"), format!("P@L{i};\n"))).unzip();
    survives(&format!("proctype P() {{ {labels} }}\ninit {{ {uses} }}"));
    let (names, uses): (String, String) = (0..20_000).map(|i| (format!("byte v{i};\n"), format!("w{i} = 1;\n"))).unzip();
    survives(&format!("{names} init {{ {uses} }}"));
    let inlines: String = (1..15).map(|i| format!("inline f{i}() {{ f{}(); f{}() }}\n", i - 1, i - 1)).collect();
    survives(&format!("inline f0() {{ L: x = 1; goto L; M: skip }}\n{inlines}int x; init {{ f14() }}"));
    survives(&format!("int x; init {{ {} {} {} }}", "d_step { x = 1; ".repeat(90), "x = 1; ".repeat(10_000), "}".repeat(90)));
    let process: String = (0..50_000).map(|i| format!("proctype P{i}() {{ skip }}\n")).collect();
    survives(&process);
}

/// Each file includes the next one twice.
#[test]
fn files_that_double_are_an_error() {
    let mut loader = |wanted: &str, _: &str| {
        let next = wanted.parse::<u32>().unwrap_or(0) + 1;
        let text = if next > 40 { String::new() } else { format!("#include \"{next}\"\n#include \"{next}\"\n") };
        Ok(promela::Included { name: wanted.to_owned(), text })
    };
    let mut map = source::SourceMap::new();
    let file = map.add("model.pml", "#include \"0\"\ninit { skip }");
    let compiled = promela::compile(&mut map, file, &mut loader, &[]);
    let messages = source::render_all(&map, &compiled.diagnostics);
    assert!(compiled.program.is_none() && messages.contains("files are included"), "{messages}");
    assert_eq!(compiled.diagnostics.len(), 1, "{messages}");
}

#[test]
fn bombs_are_defused() {
    let mut inlines = String::from("inline f0() { x = 1; x = 2; x = 3; x = 4 }\n");
    for i in 1..16 {
        let call = format!("f{}(); ", i - 1);
        inlines += &format!("inline f{i}() {{ {} }}\n", call.repeat(8));
    }
    survives(&format!("byte x;\n{inlines}init {{ f14() }}"));
    survives("inline f() { g() }\ninline g() { f() }\ninit { f() }");
    let mut types = String::from("typedef T0 { byte a; byte b }\n");
    for i in 1..40 {
        types += &format!("typedef T{i} {{ T{} a[9]; T{} b[9] }}\n", i - 1, i - 1);
    }
    survives(&format!("{types}T39 t;\nT5 u;\ninit {{ skip }}"));
    survives("byte a[1000000];\nbyte b[1000000];\nint c[1048576];\ninit { int d[1048576] = 1; a[1] = 2 }");
    survives("typedef T { T t };\nT x;\ninit { skip }");
    survives("typedef A { byte x[1000] };\ntypedef B { A a[1000] };\nB b[1000];\ninit { b[1].a[2].x[3] = 4 }");
    survives("chan q = [255] of { int, int, int, int };\nchan r[255] = [255] of { int };\ninit { skip }");
    survives("active [255] proctype P() { skip }\nactive [255] proctype Q() { skip }");
    survives("unsigned u : 99;\nunsigned v : -1;\nbyte a[-5];\nchan c = [-1] of { byte };\nbyte b[1/0];\ninit { skip }");
}

/// The project's own models with pieces cut out, repeated or exchanged.
#[test]
fn damaged_models_are_survived() {
    let mut random = Random(2026);
    let mut texts = Vec::new();
    for folder in ["language", "classic"] {
        for entry in std::fs::read_dir(root().join("models/promela").join(folder)).expect("models").flatten() {
            if let Ok(text) = std::fs::read_to_string(entry.path()) {
                texts.push(text);
            }
        }
    }
    texts.sort();
    for round in 0..1_500 {
        let text = &texts[round % texts.len()];
        let mut pieces: Vec<&str> = text.split_inclusive(|c: char| !c.is_alphanumeric()).collect();
        for _ in 0..=random.below(4) {
            if pieces.is_empty() {
                break;
            }
            let at = random.below(pieces.len() as u64) as usize;
            let other = random.below(pieces.len() as u64) as usize;
            match random.below(4) {
                0 => drop(pieces.remove(at)),
                1 => pieces.insert(at, pieces[other]),
                2 => pieces.swap(at, other),
                _ => pieces.truncate(at.max(1)),
            }
        }
        survives(&pieces.concat());
    }
}

/// Keywords in any order.
#[test]
fn soups_of_words_are_survived() {
    let words = [
        "proctype",
        "active",
        "init",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "do",
        "od",
        "if",
        "fi",
        "::",
        "->",
        ";",
        "unless",
        "atomic",
        "d_step",
        "goto",
        "L",
        ":",
        "break",
        "else",
        "x",
        "y",
        "=",
        "==",
        "1",
        "0",
        "byte",
        "chan",
        "of",
        "mtype",
        "typedef",
        "T",
        "inline",
        "f",
        ",",
        "!",
        "?",
        "??",
        "!!",
        "run",
        "P",
        "len",
        "printf",
        "\"%d\"",
        "assert",
        "timeout",
        "ltl",
        "never",
        "<>",
        "for",
        "..",
        "select",
        "in",
        "#define",
        "#if",
        "#endif",
        "\n",
        "_",
        "_pid",
        "@",
        ".",
        "-",
        "+",
        "return",
        "eval",
        "hidden",
        "c_code",
        "provided",
        "priority",
        "unsigned",
        "xr",
        "trace",
        "'a'",
        "\\",
        "\"",
        "/*",
        "*/",
        "//",
        "\u{e9}",
        "99999999999",
    ];
    let mut random = Random(7);
    for _ in 0..3_000 {
        let mut text = String::from("byte x, y;\ntypedef T { byte a; T2 b[2] }\ninline f(a) { a = 1 }\nproctype P() { ");
        for _ in 0..random.below(60) {
            text += words[random.below(words.len() as u64) as usize];
            text.push(' ');
        }
        survives(&text);
    }
}

/// Conditions that are known when the model is read leave no unreachable code.
#[test]
fn constant_conditions_give_well_formed_programs() {
    for body in [
        "false; x = 1",
        "0 && x; x = 1",
        "x == 1 && false; x = 1",
        "d_step { false; x = 1 }; x = 2",
        "d_step { x = 1; false; x = 3 }; x = 2",
        "d_step { if :: false -> x = 1 :: 0 -> x = 2 fi; x = 4 }; x = 3",
        "d_step { x = 1; if :: false :: x == 1 && 0 -> x = 2 fi; x = 4 }; x = 3",
        "d_step { x = 1; do :: x = 2 od }; x = 3",
        "if :: false fi; x = 1",
        "do :: false -> x = 1 od; x = 2",
        "{ x = 1 } unless { false; x = 2 }",
        "{ false } unless { x == 1; x = 2 }; x = 3",
        "atomic { x = 1; false; x = 2 }; x = 3",
        "true && 1; x = 1",
        "goto L; x = 1; L: false",
        "do :: x = 1 od; x = 2",
        "L: x = 1; goto L; x = 2",
        "(1 -> x : x) == 0; x = 1",
        "1 || x / 0 == 1; x = 1",
        "else; x = 1",
        "if :: else -> false :: x == 1 fi",
    ] {
        let text = format!("byte x;\nactive proctype P() {{ {body} }}");
        let (map, compiled) = compile_text(&text);
        common::verified(&map, compiled);
    }
}
