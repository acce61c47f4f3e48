//! Modules that every program can import: written in LF, except what the machine itself does.

/// Name and text of each module of the library.
const MODULES: &[(&str, &str)] = &[("Out", include_str!("library/Out.lf")), ("SYSTEM", include_str!("library/SYSTEM.lf"))];

/// The text of a module of the library.
pub fn module(name: &str) -> Option<&'static str> {
    MODULES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The names of the library's modules.
pub fn names() -> impl Iterator<Item = &'static str> {
    MODULES.iter().map(|(name, _)| *name)
}
