//! Random formulas and words: every stage of the translation agrees with the definition of the
//! logic on each word. `cargo xtask ltl --random N` runs the long form.

use logic::random::Random;
use logic::{Formulas, Lasso, audit, parse};
use source::FileId;

#[test]
fn every_stage_agrees_with_the_definition() {
    let mut random = Random::new(2026);
    for round in 0..250 {
        let mut formulas = Formulas::new();
        let size = 3 + random.below(12);
        let formula = random.formula(&mut formulas, size, 3);
        let words: Vec<Lasso> = (0..12).map(|_| random.lasso(3)).collect();
        if let Err(error) = audit::audit(&mut formulas, formula, &words) {
            panic!("round {round}, {}: {error}", formulas.text(formula));
        }
    }
}

#[test]
fn formulas_with_known_words() {
    let mut formulas = Formulas::new();
    let mut holds = |text: &str, prefix: &[u64], cycle: &[u64]| {
        let parsed = parse(&mut formulas, text, FileId::default(), 0).expect(text);
        Lasso::new(prefix, cycle).satisfies(&formulas, parsed.root)
    };
    // `p` is bit 0 and `q` bit 1, by first use.
    assert!(holds("[](p -> <>q)", &[1, 0], &[2]));
    assert!(!holds("[](p -> <>q)", &[2, 2, 1], &[1]));
    assert!(holds("p U q", &[1, 1, 2], &[0]));
    assert!(!holds("p U q", &[1, 0, 2], &[0]));
    assert!(!holds("p U q", &[1], &[1]));
    assert!(holds("p W q", &[1], &[1]));
    assert!(holds("q V p", &[1, 3], &[0]));
    assert!(!holds("q V p", &[1, 2], &[0]));
    assert!(holds("X X q && !X q", &[0, 0, 2], &[0]));
    assert!(holds("[]<>p && []<>!p", &[], &[1, 0]));
    assert!(!holds("<>[]p", &[1, 1], &[1, 0]));
}
