//! Large and unusual formulas: each becomes an automaton or an error within a short time.

use logic::{DEPTH_MAX, Formulas, TooLarge, Translation, parse, translate};
use source::FileId;

fn run(text: &str) -> Result<Translation, TooLarge> {
    let mut formulas = Formulas::new();
    let parsed = parse(&mut formulas, text, FileId::default(), 0).unwrap_or_else(|error| panic!("{}: {text:.60}", error.message));
    translate(&mut formulas, parsed.root)
}

fn list(count: usize, sign: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<String>>().join(sign)
}

#[test]
fn large_formulas_end() {
    for text in [
        list(12, " && ", |n| format!("<>p{n}")),
        list(60, " && ", |n| format!("<>p{n}")),
        list(60, " || ", |n| format!("[]p{n}")),
        list(20, " && ", |n| format!("([]<>p{n} -> []<>q{n})")),
        list(14, " <-> ", |n| format!("[]<>p{n}")),
        list(30, " <-> ", |n| format!("(p{n} U q{n})")),
        list(64, " && ", |n| format!("p{n}")),
        list(60, " <-> ", |n| format!("p{n}")),
        list(25, " && ", |n| format!("[](p{n} -> <>(q{n} && X r))", n = n % 10)),
        list(8, " && ", |n| format!("<>(p{n} && X X X q)")),
        format!("<>(p && {}q)", "X ".repeat(40)),
        format!("[](p -> {}q)", "X ".repeat(20)),
    ] {
        // An automaton and an error are both right: the test is that the call returns.
        let _ = run(&text);
    }
}

#[test]
fn deep_formulas_are_translated() {
    for (piece, levels) in [("!", 1), ("[]", 1), ("<>", 1), ("X ", 1), ("[]<>", 2), ("![]", 2)] {
        let times = (DEPTH_MAX as usize - 10) / levels / 2;
        run(&format!("{}p", piece.repeat(times))).unwrap_or_else(|error| panic!("{piece}: {error}"));
    }
    for sign in ["U", "W", "V", "->", "<->"] {
        let nested = format!("{}r{}", format!("(p {sign} (q && ").repeat(40), "))".repeat(40));
        let _ = run(&nested);
    }
    let chained = list(2000, " && ", |n| format!("p{}", n % 50));
    assert_eq!(run(&chained).expect("one letter decides").buchi.states.len(), 2);
}

#[test]
fn too_many_atoms_are_refused() {
    assert!(run(&list(65, " || ", |n| format!("p{n}"))).is_err());
}

#[test]
fn the_same_formula_gives_the_same_automaton() {
    let text = "[](((q && !r) && <>r) -> ((p -> (!r U (s && !r))) U r)) || <>[](p <-> X q)";
    let (one, other) = (run(text).expect("it is small"), run(text).expect("it is small"));
    assert_eq!(one.buchi, other.buchi);
    assert_eq!(one.generalised, other.generalised);
}
