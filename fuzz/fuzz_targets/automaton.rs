//! Passes arbitrary text to the readers of automata, in the Hanoi format and as a never claim. An
//! automaton that is read, written and read again must be the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use logic::{Automaton, Remarks, read_hoa, read_never, to_buchi, write_hoa, write_never};
use source::{Diagnostic, FileId, SourceMap};

type Read = fn(&str, FileId) -> Result<Automaton, Diagnostic>;

fuzz_target!(|text: &str| {
    let mut map = SourceMap::new();
    let file = map.add("automaton", text);
    for read in [read_hoa as Read, read_never] {
        let automaton = match read(text, file) {
            Ok(automaton) => automaton,
            Err(error) => {
                drop(source::render(&map, &error));
                continue;
            }
        };
        let written = write_hoa(&automaton, Remarks::default());
        let again = read_hoa(&written, file).unwrap_or_else(|error| panic!("{written}\n{}", error.message));
        assert_eq!(again.states.len(), automaton.states.len());
        if let Ok(buchi) = to_buchi(&automaton) {
            let written = write_never(&buchi, "claim");
            assert!(read_never(&written, file).is_ok(), "{written}");
        }
    }
});
