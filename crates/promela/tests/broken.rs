//! Broken models with the complete messages, in `broken.txt`: a model after each `====`, and the
//! messages about it after `----`.
//!
//! `UPDATE=1 cargo test -p promela --test broken` rewrites the messages. Then read each one: does
//! the mark point at the right position, does the message give the reason, can a newcomer act on
//! it?

mod common;

use common::{compile_text, findings, root};
use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn messages_are_as_they_were() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken.txt");
    let text = std::fs::read_to_string(&path).expect("the models");
    let update = std::env::var_os("UPDATE").is_some();
    let (mut models, mut now) = (0, String::new());
    for part in text.split("====\n").skip(1) {
        let model = part.split("----\n").next().unwrap_or_default();
        let found = findings(model);
        if !found.contains("error: ") && update {
            continue;
        }
        models += 1;
        assert!(found.contains("error: "), "nothing is wrong with\n{model}");
        assert!(found.contains("= hint: ") || found.contains("= note: "), "a newcomer is not told what to do:\n{found}");
        now.push_str(&format!("====\n{model}----\n{found}"));
    }
    if update {
        std::fs::write(&path, &now).expect("the file can be written");
        return;
    }
    assert!(models >= 60, "only {models} models");
    for (was, is) in text.split("====\n").skip(1).zip(now.split("====\n").skip(1)) {
        assert_eq!(was, is, "run with UPDATE=1 and read what has changed");
    }
}

/// The pieces of a text: words, numbers, blanks, and other characters one by one.
fn pieces(text: &str) -> Vec<&str> {
    let kind = |c: char| if c.is_whitespace() { 1 } else { 2 * u8::from(c.is_ascii_alphanumeric() || c == '_') };
    let (mut pieces, mut begin) = (Vec::new(), 0);
    let mut last = None;
    for (at, c) in text.char_indices() {
        if last.is_some_and(|last| last != kind(c) || last == 0) {
            pieces.push(&text[begin..at]);
            begin = at;
        }
        last = Some(kind(c));
    }
    pieces.push(&text[begin..]);
    pieces
}

/// What people type by mistake.
const TYPED: &[&str] = &[
    "if", "fi", "do", "od", "{", "}", "(", ")", ";", "->", "::", "==", "=", "!", "?", "int", "x", "0", "run", "atomic", "else", "goto",
    "[", "]", ",", "chan", "mtype", "of", ":",
];

/// A model in which one piece is missing, is there twice, or is another one: each error says what
/// to do, or marks a second position that explains it.
#[test]
fn an_error_says_what_to_do_wherever_it_is() {
    let mut models: Vec<_> =
        std::fs::read_dir(root().join("models/promela/classic")).expect("the models").map(|e| e.expect("an entry").path()).collect();
    models.sort();
    let mut state = 7_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let (mut bare, mut errors) = (BTreeMap::new(), 0);
    for path in models {
        let text = std::fs::read_to_string(&path).expect("a text");
        // The comment at the head says nothing.
        let text = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
        let pieces = pieces(&text);
        for _ in 0..40 {
            let at = random(pieces.len());
            if pieces[at].trim().is_empty() {
                continue;
            }
            let other = TYPED[random(TYPED.len())];
            let instead = match random(4) {
                0 => String::new(),
                1 => format!("{0} {0}", pieces[at]),
                2 => other.to_owned(),
                _ => format!("{} {other}", pieces[at]),
            };
            let mutant: String = pieces[..at].iter().copied().chain([instead.as_str()]).chain(pieces[at + 1..].iter().copied()).collect();
            let (map, compiled) = compile_text(&mutant);
            for diagnostic in compiled.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()) {
                errors += 1;
                if diagnostic.hint.is_none() && diagnostic.notes.is_empty() && diagnostic.labels.is_empty() {
                    bare.entry(source::render_all(&map, [diagnostic])).or_insert(path.clone());
                }
            }
        }
    }
    assert!(errors > 100, "only {errors} errors");
    assert!(bare.is_empty(), "{}", bare.keys().cloned().collect::<Vec<_>>().join("\n"));
}
