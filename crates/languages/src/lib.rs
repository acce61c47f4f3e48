//! From a file's name and bytes to a model, whatever the language.
//!
//! [`LANGUAGES`] is the one list of what can be read: a new front-end is one line there and one
//! function here. Most languages are compiled to byte-code, which always passes the verifier. An
//! explicit graph is used as it is.
#![forbid(unsafe_code)]

mod content;
mod given;
mod load;
pub mod testing;

pub use ::promela::{Hybrid, LINTS};
pub use given::Expression;
pub use load::{Files, Input, Loaded, Model, NoFiles, Rejected, closed, decode, hybrid, lint, load, load_with};

use load::{Front, assembly, avr, binary, binary_graph, graph, lf, promela, state_space};

/// The name of LF in the table.
pub(crate) const LF: &str = "LF";

/// A language that programs can be written in.
pub struct Language {
    /// Its name, for people.
    pub name: &'static str,
    /// The endings of its files.
    pub endings: &'static [&'static str],
    /// Bytes with which its files begin, for languages that are recognised by them whatever the
    /// file's name is.
    magic: Option<&'static [u8]>,
    /// Whether a text is a program in it; used for a file whose name does not tell the language.
    tells: Option<fn(&str) -> bool>,
    front: Front,
}

/// Every language, in the order in which they are tried.
pub const LANGUAGES: &[Language] = &[
    Language { name: "byte-code", endings: &["epb"], magic: Some(&bytecode::binary::MAGIC), tells: None, front: Front::Program(binary) },
    Language {
        name: "byte-code assembly",
        endings: &["epa"],
        magic: None,
        tells: Some(content::is_assembly),
        front: Front::Program(assembly),
    },
    Language {
        name: "Promela",
        endings: &["pml", "pm", "prom", "promela", "pch"],
        magic: None,
        tells: Some(content::is_promela),
        front: Front::Program(promela),
    },
    Language { name: LF, endings: &["lf"], magic: None, tells: Some(::lf::is_program), front: Front::Program(lf) },
    Language { name: "ATmega firmware", endings: &["elf"], magic: Some(&::avr::MAGIC), tells: None, front: Front::Program(avr) },
    Language { name: "explicit graph", endings: &["aut"], magic: None, tells: Some(content::is_graph), front: Front::Graph(graph) },
    Language {
        name: "explicit graph, binary",
        endings: &["lts"],
        magic: Some(&lts::GRAPH_MAGIC),
        tells: None,
        front: Front::Graph(binary_graph),
    },
    Language { name: "state space with progress", endings: &["ss"], magic: None, tells: None, front: Front::Graph(state_space) },
];

/// The language of a file: by its first bytes if some language claims them, otherwise by the ending
/// of its name if that is known, otherwise by its content.
pub fn language(name: &str, bytes: &[u8]) -> Option<&'static Language> {
    let by_magic = LANGUAGES.iter().find(|language| language.magic.is_some_and(|magic| bytes.starts_with(magic)));
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let by_name = || LANGUAGES.iter().find(|language| language.endings.iter().any(|known| known.eq_ignore_ascii_case(ending)));
    by_magic.or_else(by_name).or_else(|| by_content(&decode(bytes)?))
}

fn by_content(text: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.tells.is_some_and(|tells| tells(text)))
}
