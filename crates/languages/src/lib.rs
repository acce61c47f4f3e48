//! From a file's name and bytes to a program, whatever the language.
//!
//! [`LANGUAGES`] is the one list of what can be read: a new front-end is one line there and one function here. What comes out has
//! passed the verifier, wherever it came from.
#![forbid(unsafe_code)]

mod load;

pub use load::{Files, Loaded, NoFiles, Rejected, Source, load};

use load::{Front, assembly, binary, promela};

/// A language that programs can be written in.
pub struct Language {
    /// Its name, for people.
    pub name: &'static str,
    /// The endings of its files.
    pub endings: &'static [&'static str],
    /// Bytes with which its files begin, for languages that can be told by them.
    magic: Option<&'static [u8]>,
    front: Front,
}

/// Every language, in the order in which they are tried.
pub const LANGUAGES: &[Language] = &[
    Language { name: "byte-code", endings: &["epb"], magic: Some(&bytecode::binary::MAGIC), front: binary },
    Language { name: "byte-code assembly", endings: &["epa"], magic: None, front: assembly },
    Language { name: "Promela", endings: &["pml", "pm", "prom", "promela"], magic: None, front: promela },
];

/// The language of a file: by its first bytes if they tell, otherwise by the ending of its name.
pub fn language(name: &str, bytes: &[u8]) -> Option<&'static Language> {
    let by_content = LANGUAGES.iter().find(|language| language.magic.is_some_and(|magic| bytes.starts_with(magic)));
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let by_name = || LANGUAGES.iter().find(|language| language.endings.iter().any(|known| known.eq_ignore_ascii_case(ending)));
    by_content.or_else(by_name)
}
