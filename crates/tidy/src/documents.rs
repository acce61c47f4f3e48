//! Documents name only paths that exist, and their lines are not too long.
//!
//! A path is a word in code quotes, in a fenced block or in the target of a link, that begins with
//! one of the repository's folders, or that names a Markdown or Rust file. Words with a placeholder
//! (`models/<language>/`) are checked up to the placeholder.

use crate::Finding;

/// Folders at the root. A quoted word that begins with one of them must name something that exists,
/// even if the folder itself is gone: a list made from the disk would not notice that.
const FOLDERS: [&str; 11] = ["crates", "docs", "models", "xtask", "fuzz", "bench", "tools", "tests", ".ci", ".cargo", ".github"];

/// Checks the paths in the document `path` with `text`. `exists` says whether a path from the root
/// exists.
pub fn check(path: &str, text: &str, exists: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let here = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut findings = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let words: Vec<&str> = if fenced { line.split_whitespace().collect() } else { quoted(line).chain(targets(line)).collect() };
        for word in words.into_iter().filter_map(candidate) {
            let beside = if here.is_empty() { word.to_owned() } else { format!("{here}/{word}") };
            if !exists(word) && !exists(&beside) {
                let message = format!("`{word}` does not exist; correct the document or add the file");
                findings.push(Finding::new(path, index + 1, message));
            }
        }
    }
    findings
}

/// Lines of documents have at most this many characters.
const COLUMNS_MAX: usize = 100;

/// Finds lines that are too long. A line of a table, of code or of output is as long as it must be.
pub fn long_lines(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let columns = line.chars().count();
        let exempt = fenced || line.starts_with("    ") || line.trim_start().starts_with('|');
        if columns > COLUMNS_MAX && !exempt {
            findings.push(Finding::new(path, index + 1, format!("the line has {columns} columns, at most {COLUMNS_MAX} are allowed")));
        }
    }
    findings
}

/// The words between single back quotes of a line.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).flat_map(str::split_whitespace)
}

/// The targets of a line's links: the text between `](` and `)`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split(')').next()?;
        Some(target.split('#').next().unwrap_or(target))
    })
}

/// The part of a word that must exist, if the word is a path at all.
fn candidate(word: &str) -> Option<&str> {
    let word = word.trim_matches(|c: char| matches!(c, ',' | ';' | ':' | '(' | ')' | '"' | '\''));
    let word = word.strip_prefix("./").unwrap_or(word);
    if word.contains("://") {
        return None;
    }
    // The text up to a placeholder, cut to the last whole component.
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let known = match word.find(|c| !plain(c)) {
        None => word,
        Some(end) => word[..end].rsplit_once('/')?.0,
    };
    let first = known.split('/').next().unwrap_or(known);
    let in_a_folder = FOLDERS.contains(&first) && known.contains('/');
    let a_document = known.ends_with(".md") || (known.ends_with(".rs") && known.contains('/'));
    (in_a_folder || a_document).then_some(known.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(text: &str) -> Vec<String> {
        let exists = |path: &str| matches!(path, "docs/guide.md" | "crates/vm" | "models" | "README.md");
        check("docs/page.md", text, &exists).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn long_lines_are_found() {
        let long = "é".repeat(COLUMNS_MAX + 1);
        assert_eq!(long_lines("a.md", &format!("{}\n| {long} |\n```\n{long}\n```\n    {long}\n", "é".repeat(COLUMNS_MAX))), []);
        assert_eq!(long_lines("a.md", &format!("x\n- {long}\n")).len(), 1);
    }

    #[test]
    fn names_what_is_not_there() {
        assert_eq!(missing("see `docs/gone.md`").len(), 1);
        assert_eq!(missing("see [it](gone.md)").len(), 1);
        assert_eq!(missing("```\nrun models/asm/x.epa\n```").len(), 1);
        assert_eq!(missing("`crates/vm/<name>/x.rs` and `crates/jit/<name>`").len(), 1);
    }

    #[test]
    fn accepts_what_is_there() {
        let text = "see `crates/vm`, [guide](guide.md#part), `models/<language>/`, `a/b`, https://docs/x.md, `-o FILE.md5`";
        assert_eq!(missing(text), Vec::<String>::new());
        assert_eq!(missing("```\ncargo test --workspace\n```\n`README.md`"), Vec::<String>::new());
    }
}
