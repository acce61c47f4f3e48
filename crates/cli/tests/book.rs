//! The guide in `docs/guide`: every command in it is run, and what it prints is what the guide
//! shows. A block that begins with a language and a file name is that file.
//!
//! `UPDATE=1 cargo test -p cli --test book` writes the answers anew. Times and sizes of memory
//! differ from run to run; the guide shows an ellipsis instead.

mod common;

use common::Folder;
use std::path::Path;

/// A line without what differs from run to run.
fn steady(line: &str) -> &str {
    let timed = line.contains(" states, ") && [" µs", " ms", " s"].iter().any(|unit| line.ends_with(unit));
    if timed || line.ends_with(" states/s") || line.contains(" memory: ") { "…" } else { line }
}

/// What a command prints.
fn answer(folder: &Folder, command: &str) -> String {
    let words: Vec<&str> = command.split(' ').collect();
    assert_eq!(words[0], "everypath", "{command}");
    let run = folder.run(&words[1..]);
    let mut lines: Vec<&str> = Vec::new();
    for line in run.out.lines().map(steady) {
        if line != "…" || lines.last() != Some(&"…") {
            lines.push(line);
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A chapter with the answers as they are.
fn retold(text: &str) -> (String, usize) {
    let folder = Folder::new();
    let (mut out, mut commands) = (String::new(), 0);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        out.push_str(&format!("{line}\n"));
        let Some(block) = line.strip_prefix("```").filter(|block| !block.is_empty()) else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if let Some((_, file)) = block.split_once(' ') {
            folder.write(file, body.join("\n") + "\n");
            body.iter().for_each(|line| out.push_str(&format!("{line}\n")));
        } else {
            for command in body.iter().filter_map(|line| line.strip_prefix("$ ")) {
                commands += 1;
                out.push_str(&format!("$ {command}\n{}", answer(&folder, command)));
            }
        }
        out.push_str("```\n");
    }
    (out, commands)
}

#[test]
fn every_command_of_the_guide_prints_what_it_shows() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let mut all = 0;
    for entry in std::fs::read_dir(&guide).expect("the guide") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        let (now, commands) = retold(&text);
        all += commands;
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, now).expect("the file can be written");
        } else {
            assert_eq!(text, now, "{}: run with UPDATE=1 and read what has changed", path.display());
        }
    }
    assert!(all >= 9, "only {all} commands");
}

#[test]
fn the_summary_names_every_chapter() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).expect("the summary");
    for folder in ["", "guide"] {
        for entry in std::fs::read_dir(docs.join(folder)).expect("a folder") {
            let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            let link = if folder.is_empty() { format!("({name})") } else { format!("({folder}/{name})") };
            assert!(!name.ends_with(".md") || name == "SUMMARY.md" || summary.contains(&link), "{link} is not in the summary");
        }
    }
}
