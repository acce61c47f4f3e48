//! The error messages: a position, the error, and often a hint.

mod common;

use common::compile;
use lf::Options;

/// The text is refused, and the message contains each of the parts.
fn says(text: &str, parts: &[&str]) {
    let found = match compile(text, &[], Options::default()) {
        Ok(_) => panic!("accepted: {text}"),
        Err(found) => found,
    };
    for part in parts {
        assert!(found.contains(part), "`{part}` is not in:\n{found}");
    }
}

/// Like `says`, for statements in a small module.
fn body(statements: &str, parts: &[&str]) {
    let text = format!(
        "MODULE M;\nTYPE C = [s, v(INT8)]; R = RECORD x : INT8 END;\nPORT c : C;\nVAR a : INT8; n : INTEGER; b : BOOLEAN; t : ARRAY 3 OF INT8; r : R;\n\
         PROCESS P(VAR x : INT8; y : INTEGER); BEGIN x := INT8(y) END P;\nBEGIN\n  {statements}\nEND M."
    );
    says(&text, parts);
}

#[test]
fn a_whole_message() {
    body(
        "a := n",
        &["test.lf:7:8", "INT32 does not fit the variable, which is INT8", "a cast says that the value is small enough: INT8(…)"],
    );
}

#[test]
fn types_are_checked() {
    body("a := 300", &["300 does not fit"]);
    body("b := n", &["INT32 does not fit the variable, which is BOOLEAN"]);
    body("n := b + 1", &["`+` cannot join BOOLEAN and INT32"]);
    body("c!v(n)", &["does not fit the message"]);
    body("c!w(1)", &["no message `w`", "its messages are s, v"]);
    body("c?v(b)", &["carries INT8, and this variable is BOOLEAN"]);
    body("c!v", &["carries 1 values, and 0 are given"]);
    body("n!s", &["messages go through ports"]);
    body("P(a)", &["has 2 parameters"]);
    body("P(n, 1)", &["stands for a variable of type INT8"]);
    body("P(a + 1, 1)", &["stands for a variable"]);
    body("IF n THEN a := 1 END", &["a condition is needed"]);
    body("t[3] := 1", &["elements 0 to 2"]);
    body("r.y := 1", &["no field `y`"]);
    body("n := 1 DIV 0", &["has no value"]);
    body("n := 6 / 2", &["DIV"]);
    body("ACCEPT", &["only allowed in properties"]);
    body("nn := 1", &["`nn` is not declared", "did you mean `n`"]);
    body("PORTIN(1, n)", &["SYSTEM"]);
    says("MODULE M; IMPORT SYSTEM; BEGIN SYSTEM.PORTOUT(1, 2) END M.", &["has no `PORTOUT`", "without the name of the module"]);
    says("MODULE M; IMPORT Timer; BEGIN Timer.i := 1 END M.", &["not exported", "no variables are shared", "a process that sets it"]);
    says("MODULE M; IMPORT Timer; BEGIN Timer.Driver END M.", &["not exported", "write `Driver*`"]);
}

#[test]
fn mistakes_in_the_text() {
    says("MODULE M; BEGIN x = 1 END M.", &["`=` compares", "`:=`"]);
    says("MODULE M; BEGIN END N.", &["another name", "END M"]);
    says("MODULE M; BEGIN (* END M.", &["comment has no end"]);
    says("MODULE M; VAR VAR : INTEGER; BEGIN END M.", &["expected"]);
    says("MODULE M; IMPORT Nowhere; BEGIN END M.", &["cannot be read", "Out"]);
    says("MODULE M; VAR x : INTEGER; x : INTEGER; BEGIN END M.", &["declared twice"]);
    says("", &["expected `MODULE`"]);
    says("MODULE M; BEGIN END M. (* the end *)\nMODULE N; BEGIN END N.", &["2:1", "`M` has ended before this", "a file of its own"]);
}

/// One run finds several errors.
#[test]
fn reading_goes_on() {
    says(
        "MODULE M;\nVAR x : INTEGER\nPROCESS P; BEGIN x := ; x := 2 END P;\nBEGIN WHILE DO END; x := 1 1 END M.",
        &["test.lf:2", "test.lf:3", "test.lf:4"],
    );
    body("a := n; b := 1; c!s(1)", &["7:8", "7:16", "7:19"]);
    // A mistake in the head of a statement does not lose its END.
    says(
        "MODULE M;\nBEGIN\n  IF x == 3 THEN x++ END;\n  WHILE DO END;\n  FOR i = 1 TO 2 DO END;\n  SELECT WHEN c?? THEN x = 1 WHEN c?s THEN END;\n  y := ;\nEND N.",
        &["lf:3:8", "lf:3:19", "lf:4:9", "lf:5:9", "lf:6:17", "lf:6:26", "lf:7:8", "another name"],
    );
    // A mistake in the head of a process does not end the reading of the module.
    says(
        "MODULE M;\nPROCESS P(x : INTEGER; BEGIN x = 3 END Q;\nPROCESS R(;\nBEGIN y := END R;\nBEGIN\n  WHILE DO END\nEND M.",
        &["test.lf:2:24", "test.lf:2:32", "the end of `P` has another name", "test.lf:3", "test.lf:4", "test.lf:6"],
    );
}

/// Words and signs of other languages: the message says what LF has instead, and the rest is read.
#[test]
fn words_and_signs_of_other_languages() {
    body("IF a <> 1 THEN b = n END", &["LF has no `<>`", "unequal is written `#`", "`=` compares"]);
    body("IF a != 1 THEN b = n END", &["LF has no `!=`", "`=` compares"]);
    body("IF (a == 1) && b || b THEN b = n END", &["`==`", "`&&`", "`||`", "`=` compares"]);
    body("// a remark\n  b = n", &["a comment is written (* … *)", "8:5"]);
    body("/* a remark; */ b = n", &["a comment is written (* … *)", "7:21"]);
    body("if a = 1 then a := 2 end", &["found `if`", "it is written in capitals: `IF`"]);
    body("b := true", &["`true` is not declared", "it is written in capitals: `TRUE`"]);
    body("RETURN a", &["found `RETURN`", "a process ends at its END"]);
    body("CASE n OF 1: a := 2 END", &["IF … ELSIF"]);
    body("IF a = 1 THEN a := 2 ELSE IF a = 2 THEN a := 3 END", &["this `IF` has no `END`", "ELSIF"]);
    says("module M;\nbegin\nend M.", &["it is written in capitals: `MODULE`"]);
    says("MODULE M;\nPROCEDURE P;\nBEGIN END P;\nBEGIN END M.", &["found `PROCEDURE`", "PROCESS"]);
    says("MODULE M;\nVAR x : integer;\nBEGIN END M.", &["it is written in capitals: `INTEGER`"]);
    // Such words may be names.
    let text = "MODULE M; TYPE C = [end, start]; PORT c : C; VAR loop, case : INT8; PROCESS return; BEGIN loop := 1 END return;\n\
                BEGIN NEW(c); case := 2; return; CREATE return; ASSERT case + loop = 3 END M.";
    assert!(compile(text, &[], Options::default()).is_ok());
}

#[test]
fn what_created_processes_cannot_do() {
    says(
        "MODULE M; PROCESS O; VAR n : INTEGER; PROCESS I; BEGIN n := 1 END I; BEGIN CREATE I END O; BEGIN CREATE O END M.",
        &["may read its variables and not change them"],
    );
}

/// The verifier accepts every program that the compiler accepts.
fn well_formed(text: &str) {
    if let Err(why) = compile(text, &[], Options::default()) {
        assert!(!why.contains("not verified"), "{why}\n{text}");
    }
}

/// No input makes the compiler panic, hang or use much memory: texts cut off anywhere, with parts
/// missing or doubled, and deeply nested ones.
#[test]
fn damaged_texts() {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(common::root().join("models/lf")).expect("the models").flatten() {
        texts.push(std::fs::read_to_string(entry.path()).expect("a text"));
    }
    let mut tried = 0;
    for (number, text) in texts.iter().enumerate() {
        let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
        for at in (number % 7..words.len()).step_by(7) {
            well_formed(&words[..at].concat());
            well_formed(&[&words[..at], &words[at + 1..]].concat().concat());
            let doubled = [&words[..at], &words[at..=at], &words[at..]].concat().concat();
            well_formed(&doubled);
            tried += 3;
        }
    }
    assert!(tried > 500);
    let deep = |open: &str, close: &str| {
        format!("MODULE M; VAR x : INTEGER; BEGIN {} x := 1 {} END M.", open.repeat(20_000), close.repeat(20_000))
    };
    well_formed(&deep("IF TRUE THEN ", " END"));
    well_formed(&deep("WHILE TRUE DO ", " END"));
    let parentheses = format!("{}1{}", "(".repeat(50_000), ")".repeat(50_000));
    well_formed(&format!("MODULE M; VAR x : INTEGER; BEGIN x := {parentheses} END M."));
    well_formed(&format!("MODULE M; VAR x : INTEGER; BEGIN x := {}1 END M.", "1 + ".repeat(50_000)));
    well_formed(&format!("MODULE M; VAR x : {} INTEGER; BEGIN END M.", "ARRAY 60000 OF ".repeat(50)));
    // The calls double with each process.
    let mut doubling = String::from("MODULE M; VAR g : INTEGER; PROCESS P0; BEGIN INC(g) END P0;\n");
    for number in 1..60 {
        doubling.push_str(&format!("PROCESS P{number}; BEGIN P{0}; P{0} END P{number};\n", number - 1));
    }
    says(&(doubling + "BEGIN P59 END M."), &["too large"]);
}

/// A program that uses devices without a model of them gets advice.
#[test]
fn programs_without_devices() {
    let warnings = |text: &str, options: Options| {
        let mut map = source::SourceMap::new();
        let file = map.add("test.lf", text);
        let mut loader = |_: &str, _: &str| Err("there are no files here".to_owned());
        let compiled = lf::compile(&mut map, file, &mut loader, lf::Request { options, ..lf::Request::default() });
        assert!(compiled.program.is_some(), "{text}");
        source::render_all(&map, &compiled.diagnostics)
    };
    let open = "MODULE M; IMPORT Out, In; VAR c : CHAR; b : BOOLEAN; BEGIN In.Char(c, b) END M.";
    let found = warnings(open, Options::default());
    assert!(found.contains("test.lf:1:23") && found.contains("-D devices=host") && found.contains("--close"), "{found}");
    assert_eq!(warnings(open, Options { host: true, ..Options::default() }), "");
    let driver = std::fs::read_to_string(common::root().join("models/lf/driver.lf")).expect("the model");
    assert_eq!(warnings(&driver, Options::default()), "");
}
