//! The two parsers of formulas, that of the byte-code's assembly and that of `logic`, agree.

use bytecode::{AtomId, Formula};
use logic::random::Random;
use logic::{Formulas, Id};

/// The formula as `logic` reads it.
fn read(formulas: &mut Formulas, text: &str) -> Id {
    logic::parse(formulas, text, source::FileId::default(), 0).unwrap_or_else(|wrong| panic!("{text}: {}", wrong.message)).root
}

/// The formula as the assembly reads it and writes it again.
fn through_assembly(text: &str) -> String {
    let mut atom = |name: &str| AtomId::new(name.strip_prefix('p')?.parse().ok()?);
    let formula = Formula::parse(text, &mut atom).unwrap_or_else(|wrong| panic!("{text}: {}", wrong.message));
    let mut written = String::new();
    formula.write(&mut written, &mut |out, atom| out.push_str(&format!("p{}", atom.0)));
    written
}

#[test]
fn both_readers_understand_a_formula_alike() {
    let mut random = Random::new(7);
    for _ in 0..3000 {
        let mut formulas = Formulas::new();
        let size = 1 + random.below(20);
        let root = random.formula(&mut formulas, size, 3);
        let text = formulas.text(root);
        let direct = read(&mut formulas, &text);
        let around = read(&mut formulas, &through_assembly(&text));
        assert_eq!(formulas.text(direct), formulas.text(around), "{text}");
    }
}

/// The precedence depends on the parser, so the formula is written without parentheses.
#[test]
fn operators_bind_alike() {
    let operators = ["&&", "||", "->", "<->", "U", "W", "V"];
    let before = ["", "!", "[]", "<>", "X"];
    let (mut compared, mut random) = (0, Random::new(1));
    for first in operators {
        for second in operators {
            for prefix in before {
                let text = format!("{prefix} p0 {first} {prefix} p1 {second} p2");
                let mut atom = |name: &str| AtomId::new(name.strip_prefix('p')?.parse().ok()?);
                let mut formulas = Formulas::new();
                let theirs = logic::parse(&mut formulas, &text, source::FileId::default(), 0);
                assert_eq!(theirs.is_ok(), Formula::parse(&text, &mut atom).is_ok(), "{text}");
                let Ok(theirs) = theirs else { continue };
                let around = read(&mut formulas, &through_assembly(&text));
                // Sequences of the same operator may be grouped differently.
                for _ in 0..20 {
                    let word = random.lasso(3);
                    assert_eq!(word.satisfies(&formulas, theirs.root), word.satisfies(&formulas, around), "{text}");
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "{compared}");
}
