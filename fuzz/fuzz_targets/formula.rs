//! Passes arbitrary text to the reader of formulas. A formula that is read, written and read again
//! must be the same, and its automaton must agree with its definition.
#![no_main]

use libfuzzer_sys::fuzz_target;
use logic::random::Random;
use logic::{Formulas, parse, translate};
use source::SourceMap;

/// The length limit: longer formulas would take too long.
const LONGEST: usize = 60;

fuzz_target!(|text: &str| {
    let mut map = SourceMap::new();
    let file = map.add("formula", text);
    let mut formulas = Formulas::new();
    let parsed = match parse(&mut formulas, text, file, 0) {
        Ok(parsed) => parsed,
        Err(error) => return drop(source::render(&map, &error)),
    };
    if text.len() > LONGEST || formulas.atoms().len() > 6 {
        return;
    }
    let written = formulas.text(parsed.root);
    let again = parse(&mut formulas, &written, file, 0).unwrap_or_else(|error| panic!("{written}: {}", error.message));
    assert_eq!(formulas.text(again.root), written);
    let Ok(translation) = translate(&mut formulas, parsed.root) else { return };
    let mut random = Random::new(text.len() as u64);
    for _ in 0..20 {
        // The automaton numbers its atoms in the order of the formula's own table, which has no
        // other atoms.
        let word = random.lasso(formulas.atoms().len());
        let expected = word.satisfies(&formulas, parsed.root);
        if translation.buchi.atoms == formulas.atoms() {
            assert_eq!(word.accepted_by(&translation.buchi), expected, "{written}");
            assert_eq!(word.accepted_by(&translation.generalised), expected, "{written}");
        }
    }
});
