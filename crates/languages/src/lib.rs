//! From a file's name and bytes to a program, whatever the language.
//!
//! [`LANGUAGES`] is the one list of what can be read: a new front-end is one line there and one function here. What comes out has
//! passed the verifier, wherever it came from.
#![forbid(unsafe_code)]

mod content;
mod load;

pub use load::{Files, Loaded, NoFiles, Rejected, Source, decode, load};

use load::{Front, assembly, binary, promela};

/// A language that programs can be written in.
pub struct Language {
    /// Its name, for people.
    pub name: &'static str,
    /// The endings of its files.
    pub endings: &'static [&'static str],
    /// Bytes with which its files begin, for languages that can be told by them whatever the name says.
    magic: Option<&'static [u8]>,
    /// Whether a text is a program in it, to tell a file whose name says nothing.
    tells: Option<fn(&str) -> bool>,
    front: Front,
}

/// Every language, in the order in which they are tried.
pub const LANGUAGES: &[Language] = &[
    Language { name: "byte-code", endings: &["epb"], magic: Some(&bytecode::binary::MAGIC), tells: None, front: binary },
    Language { name: "byte-code assembly", endings: &["epa"], magic: None, tells: Some(content::is_assembly), front: assembly },
    Language { name: "Promela", endings: &["pml", "pm", "prom", "promela"], magic: None, tells: Some(content::is_promela), front: promela },
];

/// The language of a file: by its first bytes if they tell, by the ending of its name if that is known, and else by what the text says.
pub fn language(name: &str, bytes: &[u8]) -> Option<&'static Language> {
    let by_magic = LANGUAGES.iter().find(|language| language.magic.is_some_and(|magic| bytes.starts_with(magic)));
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let by_name = || LANGUAGES.iter().find(|language| language.endings.iter().any(|known| known.eq_ignore_ascii_case(ending)));
    by_magic.or_else(by_name).or_else(|| by_content(&decode(bytes)?))
}

fn by_content(text: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.tells.is_some_and(|tells| tells(text)))
}
