//! The Hanoi format and never claims: what is written is read again with the same language, and
//! wrong text is refused with a position.

use logic::random::Random;
use logic::{Automaton, Formulas, Lasso, Remarks, read_hoa, read_never, tidy, translate, write_hoa, write_never};
use source::FileId;

fn same_words(random: &mut Random, one: &Automaton, other: &Automaton, what: &str) {
    // Claims and formulas number their atoms as they meet them.
    let numbers: Vec<Option<usize>> = other.atoms.iter().map(|atom| one.atoms.iter().position(|known| known == atom)).collect();
    let translated =
        |letter: u64| numbers.iter().enumerate().fold(0, |all, (new, old)| all | old.map_or(0, |old| letter >> old & 1) << new);
    for _ in 0..30 {
        let word = random.lasso(3);
        let letters: Vec<u64> = word.letters().iter().map(|letter| translated(*letter)).collect();
        let (prefix, cycle) = letters.split_at(word.cycle_start());
        assert_eq!(word.accepted_by(one), Lasso::new(prefix, cycle).accepted_by(other), "{what}: {word:?}");
    }
}

#[test]
fn what_is_written_is_read_again() {
    let mut random = Random::new(11);
    for _ in 0..150 {
        let mut formulas = Formulas::new();
        let size = 3 + random.below(10);
        let formula = random.formula(&mut formulas, size, 3);
        let text = formulas.text(formula);
        let result = translate(&mut formulas, formula).expect("it is small");
        for automaton in [&result.generalised, &result.buchi] {
            let written = write_hoa(automaton, Remarks { name: &text, ..Remarks::default() });
            let read = read_hoa(&written, FileId::default()).unwrap_or_else(|error| panic!("{}\n{written}", error.message));
            assert_eq!(read.states.len(), automaton.states.len());
            assert_eq!((read.sets, &read.atoms, read.initial), (automaton.sets, &automaton.atoms, automaton.initial));
            same_words(&mut random, automaton, &read, &text);
            let again = write_hoa(&read, Remarks { name: &text, ..Remarks::default() });
            assert!(again == written || !automaton.state_based, "{written}\n{again}");
        }
        let claim = write_never(&result.buchi, &text);
        let read = read_never(&claim, FileId::default()).unwrap_or_else(|error| panic!("{}\n{claim}", error.message));
        same_words(&mut random, &result.buchi, &read, &claim);
        let small = tidy(&read).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(small.state_count(), result.buchi.state_count(), "{claim}");
    }
}

#[test]
fn the_format_is_read_in_its_variety() {
    let text = r#"HOA: v1 /* a comment */
tool: "someone else's" "1.0"
States: 3
Start: 0
Start: 1
AP: 2 "a" "say \"b\""
Alias: @both 0&1
acc-name: generalized-Buchi 2
Acceptance: 3 Inf(2) & (Inf(0))
properties: trans-labels
--BODY--
State: [@both] 0 "first" {2}
1 {0}
2
State: 1
1 2 0 {1 2} 1
State: 2 {0 1 2}
[t] 2
--END--
"#;
    let automaton = read_hoa(text, FileId::default()).expect("it is right");
    assert_eq!(automaton.atoms, ["a", "say \"b\""]);
    assert_eq!((automaton.sets, automaton.states.len(), automaton.initial), (2, 4, 3), "two initial states make a new one");
    assert_eq!(automaton.states[0].edges[0].marks, 0b11, "sets in the order of the condition");
    assert_eq!(automaton.states[1].edges.len(), 4, "labels implied by the order");
    assert_eq!(automaton.states[1].edges[2].marks, 0b01, "set 1 does not matter");
    assert!(automaton.states[1].edges[2].guard.allows(0b10));
    assert!(!automaton.states[1].edges[2].guard.allows(0b11));
}

#[test]
fn bad_text_is_refused_with_its_place() {
    let head = "HOA: v1 States: 1 Start: 0 AP: 1 \"a\" ";
    for (text, word) in [
        (String::new(), "begins with"),
        ("HOA: v2".to_owned(), "version"),
        ("HOA: v1 --BODY-- --END--".to_owned(), "missing"),
        (format!("{head}Acceptance: 2 Fin(0)&Inf(1) --BODY--"), "generalised"),
        (format!("{head}Acceptance: 2 Inf(0)|Inf(1) --BODY--"), "generalised"),
        (format!("{head}Acceptance: 1 Inf(1) --BODY--"), "only 1"),
        (format!("{head}Acceptance: 0 t Controllable: 0 --BODY--"), "not known"),
        (format!("{head}Acceptance: 0 t --BODY-- State: 0 [1] 0 --END--"), "only 1 atoms"),
        (format!("{head}Acceptance: 0 t --BODY-- State: 0 [0] 5 --END--"), "not defined"),
        (format!("{head}Acceptance: 0 t --BODY-- State: 7 [0] 0 --END--"), "announced"),
        (format!("{head}Acceptance: 0 t --BODY-- State: 0 [0] 0 State: 0 --END--"), "already"),
        (format!("{head}Acceptance: 0 t --BODY-- State: 0 [0] 0&0 --END--"), "alternating"),
        (format!("{head}Acceptance: 0 t --BODY-- State: 0 [0 0 --END--"), "missing"),
        (format!("{head}Acceptance: 0 t --BODY-- State: 0 [@x] 0 --END--"), "alias"),
        (format!("{head}Acceptance: 0 t --BODY-- State: 0 0 --END--"), "without labels"),
        (format!("{head}Acceptance: 0 t --BODY-- State: 0 [0] 0"), "is expected here"),
        (format!("{head}Acceptance: 0 t --BODY-- State: 0 [{}0] 0", "(".repeat(5000)), "nested"),
        ("HOA: v1 AP: 1 \"a".to_owned(), "not closed"),
        ("HOA: v1 States: 99999999999999999999".to_owned(), "at most"),
        ("HOA: v1 Start: 3 Acceptance: 0 t --BODY-- --END--".to_owned(), "not defined"),
    ] {
        let error = read_hoa(&text, FileId::default()).expect_err(&text);
        assert!(error.message.contains(word), "{text}: {}", error.message);
        assert!(error.span.end as usize <= text.len(), "{text}");
    }
    for (text, word) in [
        ("", "begins with"),
        ("never { T0: if :: p -> goto T1 fi }", "no label"),
        ("never { T0: if :: p -> x = 1 fi }", "may follow"),
        ("never { T0: if :: []p -> goto T0 fi }", "temporal"),
        ("never { T0: goto T0 }", "for ever"),
        ("never { T0: if :: p -> goto T0", "may follow"),
        ("never { T0: T0: skip }", "already"),
        ("never { skip } x", "nothing may follow"),
        ("never { /* ", "not closed"),
    ] {
        let error = read_never(text, FileId::default()).expect_err(text);
        assert!(error.message.contains(word), "{text}: {}", error.message);
    }
}

#[test]
fn no_text_makes_the_readers_panic() {
    let mut random = Random::new(5);
    let hoa =
        "HOA: v1 States: 2 Start: 0 AP: 2 \"a\" \"b\" Acceptance: 1 Inf(0) --BODY-- State: 0 {0} [0&!1] 1 [t] 0 State: 1 [@x|f] 1 --END--";
    let never = "never { T0_init: do :: atomic { (a) -> assert(!(a)) } :: (1) -> goto T0_init od; accept_all: skip }";
    for base in [hoa, never] {
        for _ in 0..4000 {
            let mut bytes = base.as_bytes().to_vec();
            for _ in 0..1 + random.below(4) {
                let at = random.below(bytes.len());
                match random.below(3) {
                    0 if bytes.len() > 1 => drop(bytes.remove(at)),
                    1 => bytes[at] = base.as_bytes()[random.below(base.len())],
                    _ => bytes.truncate(at.max(1)),
                }
            }
            let text = String::from_utf8_lossy(&bytes);
            let _ = read_hoa(&text, FileId::default());
            let _ = read_never(&text, FileId::default());
        }
    }
}

/// Claims as SPIN, ltl2ba and Spot write them.
#[test]
fn claims_of_others_are_read() {
    let claim = "never  {    /* <>p */\nT0_init:\n\tdo\n\t:: atomic { ((p)) -> assert(!((p))) }\n\t:: (1) -> goto T0_init\n\tod;\naccept_all:\n\tskip\n}\n";
    let automaton = read_never(claim, FileId::default()).expect("it is right");
    assert!(Lasso::new(&[0, 0, 1], &[0]).accepted_by(&automaton));
    assert!(!Lasso::new(&[0, 0], &[0]).accepted_by(&automaton));
    let claim = "never { /* [](a -> <>b) */\naccept_init:\n  if\n  :: ((!(a)) || (b)) -> goto accept_init\n  :: ((a) && (!(b))) -> goto T0_S2\n  fi;\nT0_S2:\n  if\n  :: (b) -> goto accept_init\n  :: (!(b)) -> goto T0_S2\n  fi;\n}";
    let automaton = read_never(claim, FileId::default()).expect("it is right");
    assert!(Lasso::new(&[1, 0], &[2, 1]).accepted_by(&automaton));
    assert!(!Lasso::new(&[2, 1], &[0]).accepted_by(&automaton));
}
