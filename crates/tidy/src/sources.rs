//! Rules for one Rust source file at a time.
//!
//! The rules are textual on purpose. A rule here must be cheap to state and cheap to obey. A rule
//! that must understand the code belongs to the lints of the compiler and of Clippy, which the
//! workspace enables.

use crate::Finding;

/// A file longer than this holds more than one idea.
pub const LINES_MAX: usize = 900;

/// The longest comment line, in characters.
pub const COMMENT_COLUMNS_MAX: usize = 100;

/// Crates that may contain unsafe code, each block with its reason.
pub const MAY_BE_UNSAFE: [&str; 4] = ["vm", "jit", "store", "capi"];

/// Crates that read files, print and end the process. `tidy`, `testkit` and `xtask` are development
/// tools and not part of the product.
pub const OUTSIDE: [&str; 4] = ["cli", "tidy", "testkit", "xtask"];

/// The crate a path lies in: `crates/vm/src/lib.rs` is in `vm`, `xtask/src/main.rs` in `xtask`.
pub fn crate_of(path: &str) -> &str {
    let mut parts = path.split('/');
    match parts.next() {
        Some("crates") => parts.next().unwrap_or(""),
        Some(first) => first,
        None => "",
    }
}

/// All rules for a source file.
pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    head(path, text, &mut findings);
    length(path, text, &mut findings);
    unsafe_code(path, text, &mut findings);
    calls(path, text, &mut findings);
    comments(path, text, &mut findings);
    captured(path, text, &mut findings);
    findings
}

/// The harness hides what a test that passes prints, so a test that is passed over says so through
/// `testkit`.
fn captured(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let printed = concat!("println!(\"", "passed over");
    for (index, _) in text.lines().enumerate().filter(|(_, line)| line.contains(printed) && path.contains("/tests/")) {
        findings.push(Finding::new(path, index + 1, "nobody sees this: use `testkit::passed_over`"));
    }
}

/// Comment lines must be short enough to be read next to other text. Addresses cannot be broken.
fn comments(path: &str, text: &str, findings: &mut Vec<Finding>) {
    for (index, line) in text.lines().enumerate() {
        let length = line.chars().count();
        if line.trim_start().starts_with("//") && length > COMMENT_COLUMNS_MAX && !line.contains("://") {
            let message = format!("a comment line of {length} columns; at most {COMMENT_COLUMNS_MAX}");
            findings.push(Finding::new(path, index + 1, message));
        }
    }
}

/// Each module begins with a comment that says what it is.
fn head(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let first = text.lines().find(|line| !line.trim().is_empty());
    if !first.is_some_and(|line| line.starts_with("//!")) {
        let message = "begin with a `//!` comment: what this is, why it is so, where it comes from";
        findings.push(Finding::new(path, 1, message));
    }
}

fn length(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let lines = text.lines().count();
    if lines > LINES_MAX {
        let message = format!("{lines} lines; at most {LINES_MAX}, one idea per file");
        findings.push(Finding::new(path, LINES_MAX, message));
    }
}

fn unsafe_code(path: &str, text: &str, findings: &mut Vec<Finding>) {
    if MAY_BE_UNSAFE.contains(&crate_of(path)) {
        return;
    }
    let is_root = path.ends_with("src/lib.rs") || path.ends_with("src/main.rs");
    if is_root && !text.contains("#![forbid(unsafe_code)]") {
        findings.push(Finding::new(path, 1, "add `#![forbid(unsafe_code)]`"));
    }
    // Integration tests and benches are crates of their own, to which the attribute above does not
    // apply.
    for (number, code) in code_lines(text) {
        let code = without_strings(code);
        let mut words = code.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        if words.any(|word| word == "unsafe") {
            let message = format!("unsafe code is only allowed in {}", MAY_BE_UNSAFE.join(", "));
            findings.push(Finding::new(path, number, message));
        }
    }
}

/// Calls in crates in which they are not allowed.
fn calls(path: &str, text: &str, findings: &mut Vec<Finding>) {
    const UNFINISHED: [&str; 3] = ["todo!(", "unimplemented!(", "dbg!("];
    const OUTSIDE_ONLY: [&str; 8] =
        ["println!(", "print!(", "eprintln!(", "eprint!(", "process::exit(", "std::fs", "env::args", "env::var("];
    let product = path.contains("/src/") && !OUTSIDE.contains(&crate_of(path));
    for (number, code) in code_lines(text) {
        let code = without_strings(code);
        for call in UNFINISHED.into_iter().filter(|call| has_call(&code, call)) {
            let message = format!("`{call}` must not land");
            findings.push(Finding::new(path, number, message));
        }
        for call in OUTSIDE_ONLY.into_iter().filter(|call| product && has_call(&code, call)) {
            let message = format!("`{call}` belongs to the outside world: only {} may", OUTSIDE.join(", "));
            findings.push(Finding::new(path, number, message));
        }
    }
}

/// Whether `call` is in `code`, and not as the end of a longer name.
fn has_call(code: &str, call: &str) -> bool {
    code.match_indices(call).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

/// The lines of code of the product, without comments and without an inline test module at the end.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines.windows(2).position(|pair| pair[0].trim() == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{'));
    let end = tests.unwrap_or(lines.len());
    lines.into_iter().take(end).enumerate().map(|(index, line)| (index + 1, line.split("//").next().unwrap_or(line)))
}

/// The line with its string literals emptied. Good enough for literals that end on their line.
fn without_strings(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut inside = false;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if inside => {
                chars.next();
            }
            '"' => inside = !inside,
            _ if inside => {}
            _ => kept.push(c),
        }
    }
    kept
}

/// No file names a path on one particular machine.
pub fn machine_paths(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for folder in ["work", "root", "home", "Users"] {
            let place = format!("/{folder}/");
            let named = line.match_indices(&place).any(|(at, _)| {
                // A part of an address or of a longer relative path does not count.
                let before = line[..at].chars().next_back();
                !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '}' | '*'))
            });
            if named {
                let message = format!("`{place}` is a path on one machine");
                findings.push(Finding::new(path, index + 1, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(path, text).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn long_comment_lines_are_found() {
        let line = |length: usize| format!("//! x\n    /// {}\n", "x".repeat(length - 8));
        assert_eq!(check("crates/vm/src/a.rs", &line(COMMENT_COLUMNS_MAX)).len(), 0);
        assert_eq!(check("crates/vm/src/a.rs", &line(COMMENT_COLUMNS_MAX + 1)).len(), 1);
        let code = format!("//! x\nlet a = \"{}\";\n", "x".repeat(110));
        assert_eq!(check("crates/vm/src/a.rs", &code).len(), 0, "the formatter takes care of code");
    }

    #[test]
    fn a_clean_file_passes() {
        let text = "//! Head.\n#![forbid(unsafe_code)]\nfn f() { let _ = \"unsafe println!(\"; } // unsafe\n";
        assert_eq!(messages("crates/search/src/lib.rs", text), Vec::<String>::new());
    }

    #[test]
    fn each_rule_can_fail() {
        let path = "crates/search/src/lib.rs";
        let good = "//! Head.\n#![forbid(unsafe_code)]\n";
        assert_eq!(messages(path, "#![forbid(unsafe_code)]\n").len(), 1);
        assert_eq!(messages(path, "//! Head.\n").len(), 1);
        assert_eq!(messages(path, &format!("{good}unsafe {{ }}\n")).len(), 1);
        assert_eq!(messages(path, &format!("{good}println!();\n")).len(), 1);
        assert_eq!(messages(path, &format!("{good}todo!();\n")).len(), 1);
        assert_eq!(messages(path, &format!("{good}{}", "\n".repeat(LINES_MAX))).len(), 1);
    }

    #[test]
    fn rules_bind_where_they_should() {
        let text = "//! Head.\nunsafe { }\n";
        assert_eq!(messages("crates/vm/src/run.rs", text), Vec::<String>::new());
        assert_eq!(messages("crates/search/tests/run.rs", text).len(), 1);
        let text = "//! Head.\nprintln!();\n";
        assert_eq!(messages("crates/cli/src/run.rs", text), Vec::<String>::new());
        assert_eq!(messages("crates/vm/tests/run.rs", text), Vec::<String>::new());
        let text = "//! Head.\nfn f() {}\n#[cfg(test)]\nmod tests {\n println!();\n}\n";
        assert_eq!(messages("crates/vm/src/run.rs", text), Vec::<String>::new());
    }

    #[test]
    fn hidden_messages_are_found() {
        let text = |call: &str| format!("//! Head.\n{call}(\"passed over, no tool\");\n");
        for call in ["println!", "eprintln!"] {
            assert_eq!(messages("crates/vm/tests/run.rs", &text(call)).len(), 1, "{call}");
        }
        assert_eq!(messages("crates/vm/tests/run.rs", &text("testkit::passed_over")), Vec::<String>::new());
    }

    #[test]
    fn places_on_a_machine_are_found() {
        let place = format!("see /{}/me/x", "home");
        assert_eq!(machine_paths("README.md", &place).len(), 1);
        let address = format!("https://example.org/{}/me", "home");
        assert_eq!(machine_paths("README.md", &address), Vec::new());
    }
}
