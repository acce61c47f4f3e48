//! Random programs survive the text form and the binary form.

use bytecode::{Op, binary, testing, verify};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn programs_survive_both_forms(decisions in prop::collection::vec(any::<u8>(), 0..400)) {
        let program = testing::program(&decisions);
        testing::check_binary(&program);
        testing::check_text(&program, &bytecode::asm::disassemble(&program));
        // The generator promises correct tables; otherwise the test above would prove less.
        if let Err(error) = verify(program) {
            prop_assert_ne!(error.rule(), "V-TABLES", "{}", error);
        }
    }

    #[test]
    fn numbers_of_any_size_survive(values in prop::collection::vec(any::<i32>(), 0..20), count in any::<u32>()) {
        let mut program = testing::program(&[]);
        program.code = values.into_iter().map(|value| Op::Ldc { value }).chain([Op::Chk { length: count }]).collect();
        testing::check_binary(&program);
    }

    #[test]
    fn arbitrary_bytes_are_no_trouble(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        testing::check_decoder(&bytes);
        let headed: Vec<u8> = binary::MAGIC.into_iter().chain([1, 0]).chain(bytes).collect();
        testing::check_decoder(&headed);
    }

    #[test]
    fn arbitrary_text_is_no_trouble(text in "(\\PC|\n){0,200}") {
        testing::check_assembler(&text);
        testing::check_assembler(&format!("process P() {{\n{text}\n}}\n"));
    }
}

/// The generator must reach all rules of the verifier, or the properties prove little.
#[test]
fn generated_programs_are_of_every_kind() {
    let mut random = testing::Random::new(1);
    let mut good = 0;
    let mut broken = std::collections::BTreeSet::new();
    for _ in 0..4000 {
        let count = random.below(120);
        match verify(testing::program(&random.bytes(count))) {
            Ok(_) => good += 1,
            Err(error) => drop(broken.insert(error.rule())),
        }
    }
    assert!(good > 100, "only {good} of 4000 pass the verifier");
    for rule in ["V-STACK", "V-ALIVE", "V-LOOP", "V-PROLOGUE", "V-REACH", "V-ATOM"] {
        assert!(broken.contains(rule), "{rule} is never broken: {broken:?}");
    }
}
