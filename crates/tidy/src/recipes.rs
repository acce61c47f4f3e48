//! The recipes of `ARCHITECTURE.md` name every file that must be changed for a new alternative.
//!
//! A developer who adds an alternative must change each `match` without a wildcard, because the
//! compiler demands it, and such a `match` names all alternatives. So a file that names all
//! alternatives of a kind must be changed for a new one. The rule finds these files, without tests,
//! and compares them with the files that the recipe names. A file that names only some alternatives
//! need not be changed.

use crate::Finding;
use crate::tree::File;
use std::collections::BTreeSet;

const DOCUMENT: &str = "ARCHITECTURE.md";

/// A kind of part that can be added.
#[derive(Clone, Debug)]
pub struct Kind<'a> {
    /// The beginning of its recipe in the document: `- *A new store*`.
    pub recipe: &'a str,
    /// A word that a file must contain to refer to this kind at all; empty if the names are
    /// sufficient.
    pub marker: &'a str,
    /// The names of all alternatives in the code.
    pub names: Vec<String>,
}

/// The names that a declaration lists: in `text`, after the line that contains `head`, the
/// identifiers before `sign` at the beginning of a line, up to a line that begins with `}`.
pub fn declared(text: &str, head: &str, sign: char) -> Vec<String> {
    let lines = text.lines().skip_while(|line| !line.contains(head)).skip(1);
    let inside = lines.map(str::trim).take_while(|line| !line.starts_with('}'));
    let names = inside.filter_map(|line| Some(line.split_once(sign)?.0.trim()));
    names.filter(|name| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric())).map(str::to_owned).collect()
}

/// The files of the product that name all alternatives.
pub fn touched<'f>(files: &'f [File], kind: &Kind<'_>) -> BTreeSet<&'f str> {
    let product = files.iter().filter(|file| file.path.contains("/src/") && !file.path.contains("tests") && !file.path.contains("tidy/"));
    product.filter(|file| names_all(&file.text, kind)).map(|file| file.path.as_str()).collect()
}

fn names_all(text: &str, kind: &Kind<'_>) -> bool {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let words: BTreeSet<&str> = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or(line))
        .flat_map(|line| line.split(|c: char| !(c.is_alphanumeric() || c == '_')))
        .collect();
    (kind.marker.is_empty() || words.contains(kind.marker)) && kind.names.iter().all(|name| words.contains(name.as_str()))
}

/// Compares the recipe of a kind with the files.
pub fn check(document: &str, files: &[File], kind: &Kind<'_>) -> Vec<Finding> {
    let mut lines = document.lines().enumerate().skip_while(|(_, line)| !line.starts_with(kind.recipe));
    let Some((number, first)) = lines.next() else {
        return vec![Finding::new(DOCUMENT, 1, format!("there is no recipe that begins with `{}`", kind.recipe))];
    };
    let rest = lines.map(|(_, line)| line).take_while(|line| line.starts_with("  "));
    let recipe: String = std::iter::once(first).chain(rest).collect::<Vec<_>>().join(" ");
    let named: BTreeSet<&str> = recipe.split('`').skip(1).step_by(2).filter(|word| word.ends_with(".rs") && !word.contains('<')).collect();
    let touched = touched(files, kind);
    let missing = touched.difference(&named).map(|path| format!("`{path}` names every alternative, and the recipe does not name it"));
    let idle = named.difference(&touched).map(|path| format!("the recipe names `{path}`, which does not name every alternative"));
    missing.chain(idle).map(|message| Finding::new(DOCUMENT, number + 1, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "- *A new fruit*: one file, and a line in\n  `crates/a/src/list.rs`.\n- *Other*: `crates/b/src/b.rs`\n";

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    fn kind() -> Kind<'static> {
        Kind { recipe: "- *A new fruit*", marker: "Fruit", names: vec!["Apple".to_owned(), "Pear".to_owned()] }
    }

    #[test]
    fn a_file_that_names_all_must_be_in_the_recipe() {
        let list = file("crates/a/src/list.rs", "enum Fruit { Apple, Pear }");
        let some = file("crates/a/src/some.rs", "Fruit::Apple // Pear");
        assert_eq!(check(DOCUMENT, &[list.clone(), some], &kind()), Vec::new());
        let all = file("crates/a/src/all.rs", "match fruit { Fruit::Apple => 1, Fruit::Pear => 2 }");
        assert_eq!(check(DOCUMENT, &[list, all.clone()], &kind()).len(), 1);
        assert_eq!(check(DOCUMENT, &[all], &kind()).len(), 2);
        assert_eq!(check("", &[], &kind()).len(), 1);
    }

    #[test]
    fn names_are_read_from_the_declaration() {
        let text = "choice! {\n    Fruit, \"fruit\" {\n        #[default]\n        Apple = \"a\", \"x\";\n        Pear = \"p\", \"y = z\";\n    }\n}\n";
        assert_eq!(declared(text, "Fruit, ", '='), ["Apple", "Pear"]);
    }
}
