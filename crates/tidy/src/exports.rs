//! Each export of the crates at the seams has a user, and type names are not repeated.
//!
//! Both rules look at the names in the `pub use` lines of a crate's root, because the other modules
//! of these crates are private. They are textual: a name counts as used if the code of another
//! crate, without tests and examples, has it in a path that begins with the name of its own crate.
//! So a namesake in a third crate does not count.

use crate::Finding;
use crate::sources::crate_of;
use crate::tree::File;
use std::collections::{BTreeMap, BTreeSet};

/// The crates that have the seams between them.
pub const SEAMS: [&str; 4] = ["contract", "store", "search", "check"];

/// An exception and its reason.
pub type Allowed<'a> = (&'a str, &'a str);

/// The names that a crate's root exports, with their lines: those of its modules, and the types
/// that it defines itself. Names from another crate of the workspace are left out.
pub fn exported(root: &File, crates: &[&str]) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    let mut rest = root.text.as_str();
    while let Some(at) = rest.find("\npub use ") {
        let behind = &rest[at + "\npub use ".len()..];
        let end = behind.find(';').unwrap_or(behind.len());
        let line = root.text.len() - behind.len();
        let line = root.text[..line].matches('\n').count() + 1;
        let (path, list) = behind[..end].split_once("::").unwrap_or((&behind[..end], ""));
        // A module may have the name of a crate.
        let own = root.text.contains(&format!("\nmod {path};")) || root.text.contains(&format!("\npub mod {path};"));
        let foreign = path.is_empty() || crates.contains(&path) && !own;
        if !foreign {
            let list = list.rsplit("::").next().unwrap_or(list);
            names.extend(words(list).map(|name| (line, name.to_owned())));
        }
        rest = &behind[end..];
    }
    // Types that the root itself defines.
    for (number, line) in root.text.lines().enumerate() {
        let mut words = words(line.strip_prefix("pub ").unwrap_or(""));
        if words.next().is_some_and(|word| ["struct", "enum", "trait", "type"].contains(&word)) {
            names.extend(words.next().map(|name| (number + 1, name.to_owned())));
        }
    }
    names
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

fn roots(files: &[File]) -> Vec<&File> {
    files.iter().filter(|file| file.path.starts_with("crates/") && file.path.ends_with("/src/lib.rs")).collect()
}

/// The lines of a file's code, from 1: no comments, no inline tests.
fn code_lines(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let tests = |line: &&str| line.starts_with("#[cfg(") && line.contains("test") && !line.contains("not(test)");
    let module = |line: &str| line.starts_with("mod tests");
    let lines: Vec<&str> = file.text.lines().collect();
    let end = lines.windows(2).position(|pair| tests(&pair[0]) && module(pair[1])).unwrap_or(lines.len());
    lines.into_iter().take(end).enumerate().map(|(index, line)| (index + 1, line.split("//").next().unwrap_or(line)))
}

/// The names that a file takes from a crate: the words of all paths and lists that begin with the
/// name of the crate.
fn taken_from(code: &str, from: &str) -> BTreeSet<String> {
    let head = format!("{from}::");
    let mut taken = BTreeSet::new();
    for (at, _) in code.match_indices(&head) {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let path = &code[at + head.len()..];
        let end = path.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':'))).unwrap_or(path.len());
        taken.extend(words(&path[..end]).map(str::to_owned));
        if path[end..].starts_with('{') {
            taken.extend(words(&path[end..end + braces(&path[end..])]).map(str::to_owned));
        }
    }
    taken
}

/// The length of a list in braces at the beginning of a text.
fn braces(text: &str) -> usize {
    let mut open = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => open += 1,
            '}' if open == 1 => return at,
            '}' => open -= 1,
            _ => {}
        }
    }
    text.len()
}

/// The exports of the crates at the seams that no other crate uses.
pub fn unused(files: &[File], allowed: &[Allowed<'_>]) -> Vec<Finding> {
    let product = |file: &&File| file.path.contains("/src/") && !file.path.contains("/tests");
    let code = |file: &File| code_lines(file).map(|(_, line)| format!("{line}\n")).collect::<String>();
    let codes: Vec<(&str, String)> = files.iter().filter(product).map(|file| (crate_of(&file.path), code(file))).collect();
    let roots = roots(files);
    let crates: Vec<&str> = roots.iter().map(|root| crate_of(&root.path)).collect();
    let mut findings = Vec::new();
    let mut excused = BTreeSet::new();
    for root in roots.iter().filter(|root| SEAMS.contains(&crate_of(&root.path))) {
        let here = crate_of(&root.path);
        let used: BTreeSet<String> = codes.iter().filter(|(user, _)| *user != here).flat_map(|(_, code)| taken_from(code, here)).collect();
        for (line, name) in exported(root, &crates) {
            let has_user = used.contains(&name);
            if has_user {
                continue;
            }
            match allowed.iter().find(|(excuse, _)| *excuse == name) {
                Some((excuse, _)) => drop(excused.insert(*excuse)),
                None => findings.push(Finding::new(&root.path, line, format!("no crate outside `{here}` uses `{name}`; make it private"))),
            }
        }
    }
    findings.extend(idle(allowed, &excused));
    findings
}

/// The public functions, constants and members of traits of the crates at the seams that no code
/// except tests uses.
///
/// A member counts as used if some line accesses it, as `.name` or `::name`, outside a function of
/// the same name: a wrapper that only forwards a call is not a user. The rule compares names only,
/// so a member that shares its name with a used member of another type is not found.
pub fn uncalled(files: &[File], allowed: &[Allowed<'_>]) -> Vec<Finding> {
    let product = |file: &&File| {
        let tests = ["/tests", "/testing", "loom_tests"];
        file.path.contains("/src/") && !tests.iter().any(|part| file.path.contains(part))
    };
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    let mut accessed: BTreeSet<&str> = BTreeSet::new();
    for file in files.iter().filter(product) {
        let mut function = "";
        for (_, line) in code_lines(file) {
            words(line).for_each(|word| *count.entry(word).or_default() += 1);
            function = item(line).filter(|item| item.keyword == "fn").map_or(function, |item| item.name);
            accessed.extend(accesses(line).filter(|&name| name != function));
        }
    }
    let mut findings = Vec::new();
    let mut excused = BTreeSet::new();
    for file in files.iter().filter(product).filter(|file| SEAMS.contains(&crate_of(&file.path))) {
        let mut in_public_trait = false;
        for (number, line) in code_lines(file) {
            if !line.starts_with([' ', '\n']) && !line.is_empty() {
                in_public_trait = ["pub trait ", "pub unsafe trait "].iter().any(|head| line.starts_with(head));
            }
            let Some(item) = item(line).filter(|item| item.public || in_public_trait && item.indent == 4) else { continue };
            let has_user =
                if item.indent == 0 { count.get(item.name).is_some_and(|&count| count > 1) } else { accessed.contains(item.name) };
            if has_user {
                continue;
            }
            match allowed.iter().find(|(excuse, _)| *excuse == item.name) {
                Some((excuse, _)) => drop(excused.insert(*excuse)),
                None => {
                    let message = format!("nothing uses `{}`; remove it, or make it private", item.name);
                    findings.push(Finding::new(&file.path, number, message));
                }
            }
        }
    }
    findings.extend(idle(allowed, &excused));
    findings
}

/// The definition of a function or a constant.
struct Item<'l> {
    public: bool,
    keyword: &'l str,
    name: &'l str,
    indent: usize,
}

/// The function or constant that a line defines.
fn item(line: &str) -> Option<Item<'_>> {
    let start = line.trim_start();
    let (public, rest) = start.strip_prefix("pub ").map_or((false, start), |rest| (true, rest));
    let mut rest = words(rest).skip_while(|word| *word == "unsafe").peekable();
    let mut keyword = rest.next()?;
    if keyword == "const" {
        keyword = rest.next_if(|word| matches!(*word, "fn" | "unsafe")).unwrap_or(keyword);
        keyword = rest.next_if(|word| *word == "fn").unwrap_or(keyword);
    }
    let name = rest.next().filter(|_| matches!(keyword, "fn" | "const"))?;
    Some(Item { public, keyword, name, indent: line.len() - start.len() })
}

/// The names that a line accesses as `.name` or `::name`.
fn accesses(line: &str) -> impl Iterator<Item = &str> {
    words(line).filter(|word| {
        let before = &line[..word.as_ptr() as usize - line.as_ptr() as usize];
        before.ends_with('.') || before.ends_with("::")
    })
}

/// The type names that two crates export.
pub fn repeated(files: &[File], allowed: &[Allowed<'_>]) -> Vec<Finding> {
    let roots = roots(files);
    let crates: Vec<&str> = roots.iter().map(|root| crate_of(&root.path)).collect();
    let mut findings = Vec::new();
    let mut excused = BTreeSet::new();
    let exports: Vec<(&str, Vec<(usize, String)>)> = roots.iter().map(|root| (root.path.as_str(), exported(root, &crates))).collect();
    for (number, (path, names)) in exports.iter().enumerate() {
        for (line, name) in names.iter().filter(|(_, name)| name.contains(char::is_lowercase) && name.starts_with(char::is_uppercase)) {
            // Each pair is looked at once.
            let others = exports[..number].iter().filter(|(_, names)| names.iter().any(|(_, other)| other == name));
            for (other, _) in others {
                match allowed.iter().find(|(excuse, _)| excuse == name) {
                    Some((excuse, _)) => drop(excused.insert(*excuse)),
                    None => {
                        let message = format!("`{}` has a type with the name `{name}` too; rename one of them", crate_of(other));
                        findings.push(Finding::new(path, *line, message));
                    }
                }
            }
        }
    }
    findings.extend(idle(allowed, &excused));
    findings
}

/// Structures at the seams that offer one value both as a public field and as a method of the same
/// name. The rule looks at one file at a time.
pub fn twofold(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let seams = SEAMS.iter().chain(["replay", "everypath"].iter());
    let seams: Vec<String> = seams.map(|seam| format!("crates/{seam}/src/")).collect();
    for file in files.iter().filter(|file| seams.iter().any(|seam| file.path.starts_with(seam.as_str()))) {
        let mut fields: BTreeSet<(&str, &str)> = BTreeSet::new();
        let mut current = "";
        for (number, line) in file.text.lines().enumerate() {
            let word = |behind: &'static str| line.trim_start().strip_prefix(behind).and_then(|rest| words(rest).next());
            if let Some(name) = word("pub struct ") {
                current = name;
            } else if line.starts_with("impl") {
                // `impl<…> Type<…> {`, not `impl Trait for Type {`.
                let head = line.split(" for ").last().unwrap_or(line);
                current = words(head).find(|word| word.starts_with(char::is_uppercase) && word.len() > 1).unwrap_or("");
            } else if let Some(name) = word("pub fn ") {
                if line.contains("(&self)") && fields.contains(&(current, name)) {
                    let message = format!("`{current}` has a field and a method `{name}`; keep one of them");
                    findings.push(Finding::new(&file.path, number + 1, message));
                }
            } else if let Some(name) = word("pub ").filter(|_| line.contains(':') && line.starts_with("    pub ")) {
                fields.insert((current, name));
            }
        }
    }
    findings
}

/// Exceptions that are no longer needed.
fn idle<'a>(allowed: &'a [Allowed<'a>], excused: &'a BTreeSet<&str>) -> impl Iterator<Item = Finding> + 'a {
    let idle = allowed.iter().filter(|(excuse, _)| !excused.contains(excuse));
    idle.map(|(excuse, _)| Finding::new("crates/tidy/tests/repository.rs", 1, format!("the exception for `{excuse}` is not needed")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(user: &str) -> Vec<File> {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        vec![
            file("crates/store/src/lib.rs", "//! x\nmod a;\nmod cli;\npub use a::{Apple, pear};\npub use cli::Plum;\n"),
            file("crates/cli/src/lib.rs", "//! x\npub struct Apple;\npub use store::pear;\n"),
            file("crates/cli/src/b.rs", user),
        ]
    }

    #[test]
    fn what_nobody_uses_is_found() {
        let count = |user: &str| unused(&files(user), &[]).len();
        assert_eq!(count("use store::{\n    Apple,\n    inner::{A, Plum},\n};\n"), 0, "the root of `cli` passes `pear` on");
        assert_eq!(count("fn f() { store::a::Apple::new(); ::store::Plum }"), 0);
        assert_eq!(count("// store::Apple, store::Plum"), 2, "a comment is no use");
        assert_eq!(count("use other::Apple; restore::Plum"), 2, "a namesake is no use, nor a crate whose name ends in the same way");
        let mut alone = files("");
        alone.truncate(1);
        assert_eq!(unused(&alone, &[]).len(), 3, "a module with the name of a crate is a module");
        assert_eq!(unused(&alone, &[("Apple", "a reason"), ("pear", "a reason"), ("Plum", "a reason")]).len(), 0);
        assert_eq!(unused(&files("use store::{Apple, Plum};"), &[("Apple", "a reason")]).len(), 1, "an exception that is not needed");
    }

    #[test]
    fn functions_that_nothing_calls_are_found() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let store =
            file("crates/store/src/a.rs", "impl A {\n    pub const fn apple() {}\n    pub fn pear() {}\n    pub(crate) fn plum() {}\n}\n");
        let user = file("crates/cli/src/b.rs", "fn f() { A::pear() } // apple\n#[cfg(test)]\nmod tests {\n    fn g() { A::apple() }\n}\n");
        let found = uncalled(&[store.clone(), user.clone()], &[]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].message.contains("`apple`"));
        assert_eq!(uncalled(&[store, user], &[("apple", "a reason")]).len(), 0);
    }

    #[test]
    fn members_of_traits_and_constants_that_nothing_uses_are_found() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let store = "pub trait T {\n    const APPLE: u32;\n    fn pear(&self);\n}\nimpl A {\n    pub const PLUM: u32 = 1;\n}\n";
        let wrapper = "impl T for B {\n    const APPLE: u32 = 1;\n    fn pear(&self) {\n        self.0.pear();\n    }\n}\n";
        let found = |user: &str| {
            let files = [file("crates/store/src/a.rs", store), file("crates/cli/src/b.rs", &format!("{wrapper}{user}"))];
            uncalled(&files, &[]).len()
        };
        assert_eq!(found(""), 3, "a wrapper that forwards is no user");
        assert_eq!(found("fn f(pear: u32) {\n    pear\n}\n"), 3, "a variable of the same name is no user");
        assert_eq!(found("fn f(t: &impl T) {\n    t.pear();\n    A::PLUM + B::APPLE\n}\n"), 0);
    }

    #[test]
    fn a_value_is_a_field_or_a_method() {
        let file = |text: &str| vec![File { path: "crates/check/src/a.rs".to_owned(), text: text.to_owned() }];
        let fields = "pub struct Apple {\n    pub weight: u32,\n    size: u32,\n}\n";
        assert_eq!(twofold(&file(&format!("{fields}impl Apple {{\n    pub fn size(&self) -> u32 {{}}\n}}\n"))).len(), 0);
        assert_eq!(twofold(&file(&format!("{fields}impl Pear {{\n    pub fn weight(&self) -> u32 {{}}\n}}\n"))).len(), 0);
        assert_eq!(twofold(&file(&format!("{fields}impl Apple {{\n    pub fn weight(&self) -> u32 {{}}\n}}\n"))).len(), 1);
    }

    #[test]
    fn names_that_are_used_twice_are_found() {
        assert_eq!(repeated(&files(""), &[]).len(), 1, "functions and what is passed on do not count");
        assert_eq!(repeated(&files(""), &[("Apple", "a reason")]).len(), 0);
    }
}
