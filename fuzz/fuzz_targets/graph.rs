//! Passes arbitrary text to the reader of graphs. A graph that is read, written and read again must
//! be the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use source::SourceMap;

fn read(text: &str) -> Option<lts::Lts> {
    let mut map = SourceMap::new();
    let file = map.add("input.aut", text);
    match lts::parse(&map, file) {
        Ok(graph) => Some(graph),
        Err(errors) => {
            assert!(!errors.is_empty(), "no graph and no error");
            errors.iter().for_each(|error| drop(source::render(&map, error)));
            None
        }
    }
}

fuzz_target!(|text: &str| {
    for text in [text.to_owned(), format!("des (0, 1, 3)\n{text}")] {
        if let Some(graph) = read(&text) {
            let written = graph.to_text();
            let again = read(&written).expect("what is written is read");
            assert_eq!(again.to_text(), written);
        }
    }
});
