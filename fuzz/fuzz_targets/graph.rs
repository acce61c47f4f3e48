//! Arbitrary bytes to the readers of graphs, as text, as a state space and in the binary form: what
//! is read survives being written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use source::{Diagnostic, FileId, SourceMap};

type Reader = fn(&SourceMap, FileId) -> Result<lts::Lts, Vec<Diagnostic>>;

fn read(reader: Reader, text: &str) -> Option<lts::Lts> {
    let mut map = SourceMap::new();
    let file = map.add("input", text);
    match reader(&map, file) {
        Ok(graph) => Some(graph),
        Err(errors) => {
            assert!(!errors.is_empty(), "no graph and no error");
            errors.iter().for_each(|error| drop(source::render(&map, error)));
            None
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for text in [text.to_string(), format!("des (0, 1, 3)\n{text}")] {
        if let Some(graph) = read(lts::parse, &text) {
            let written = graph.to_text();
            let again = read(lts::parse, &written).expect("what is written is read");
            assert_eq!(again.to_text(), written);
        }
    }
    drop(read(lts::parse_state_space, &text));
    for bytes in [bytes, &[&lts::GRAPH_MAGIC[..], bytes].concat()] {
        if let Err(error) = lts::read_graph("input.lts", bytes) {
            drop(error.to_string());
        }
    }
});
