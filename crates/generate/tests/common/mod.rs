//! Generates programs, builds and runs them.
#![allow(dead_code, reason = "every test file uses a part of it")]

use generate::{Options, ProgramLayout, Transport};
use promela::NoFiles;
use source::{Diagnostic, SourceMap};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub struct Made {
    pub files: Vec<(String, String)>,
    pub warnings: Vec<Diagnostic>,
    pub promela: String,
    pub mapping: Vec<Diagnostic>,
}

impl Made {
    pub fn file(&self, name: &str) -> &str {
        let found = self.files.iter().find(|(file, _)| file == name);
        &found.unwrap_or_else(|| panic!("no {name} among {:?}", self.files.iter().map(|(n, _)| n).collect::<Vec<_>>())).1
    }

    /// A file as one line, with single spaces.
    pub fn flat(&self, name: &str) -> String {
        self.file(name).split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

pub fn generate(text: &str) -> Result<Made, Vec<String>> {
    with_comments(text, false)
}

pub fn with_comments(text: &str, comments: bool) -> Result<Made, Vec<String>> {
    with_options(text, comments, &Options::default())
}

pub fn with_options(text: &str, comments: bool, options: &Options) -> Result<Made, Vec<String>> {
    let mut map = SourceMap::new();
    let file = map.add("model.pch", text);
    let (hybrid, diagnostics) = promela::hybrid(&mut map, file, &mut NoFiles, &[], comments);
    let messages = |list: &[Diagnostic]| list.iter().map(|d| format!("{}: {}", map.location(d.span), d.message)).collect::<Vec<_>>();
    let Some(hybrid) = hybrid else { return Err(messages(&diagnostics)) };
    match generate::program(&hybrid, &map, "model.pch", options) {
        Ok(made) => {
            let mapping = generate::check_mapping(&hybrid);
            Ok(Made { files: made.files, warnings: made.warnings, promela: hybrid.promela, mapping })
        }
        Err(errors) => Err(messages(&errors)),
    }
}

pub fn has(command: &str) -> bool {
    Command::new("sh").args(["-c", &format!("command -v {command}")]).output().is_ok_and(|out| out.status.success())
}

/// A folder that is removed at the end.
pub struct Folder(pub PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("everypath-generate-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    pub fn write(&self, made: &Made) {
        for (name, text) in &made.files {
            std::fs::write(self.0.join(name), text).expect("a file");
        }
        std::fs::write(self.0.join("model.prom"), &made.promela).expect("a file");
    }

    pub fn make(&self) {
        let out = Command::new("make").args(["-s", "CFLAGS=-O1 -Wall -Werror -Wno-overflow -Wno-unused-label -Wno-unused-variable -Wno-unused-but-set-variable -Wno-unused-function"]).current_dir(&self.0).output().expect("make");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }

    pub fn run(&self, program: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new("timeout");
        command.arg("20").arg(format!("./{program}")).args(arguments).current_dir(&self.0);
        command.output().expect("the program")
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

/// Builds a program and returns its output; `None` if there is no compiler.
pub fn output(name: &str, text: &str) -> Option<String> {
    output_of(name, text, &Options::default())
}

pub fn output_of(name: &str, text: &str, options: &Options) -> Option<String> {
    if !has("cc") || !has("make") {
        testkit::passed_over("no C compiler");
        return None;
    }
    let made = with_options(text, false, options).unwrap_or_else(|errors| panic!("{errors:?}"));
    let folder = Folder::new(name);
    folder.write(&made);
    folder.make();
    let out = folder.run("init", &[]);
    assert!(out.status.success(), "{}\n{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    Some(String::from_utf8_lossy(&out.stdout).into_owned())
}

pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Every layout with every transport.
pub fn ways() -> Vec<(&'static str, Options)> {
    let all = [
        ("memory", ProgramLayout::Processes, Transport::Memory),
        ("sysv", ProgramLayout::Processes, Transport::SystemV),
        ("posix", ProgramLayout::Processes, Transport::Posix),
        ("unix", ProgramLayout::Processes, Transport::Unix),
        ("tcp", ProgramLayout::Processes, Transport::Tcp),
        ("loop", ProgramLayout::Loop, Transport::Memory),
        ("loop-posix", ProgramLayout::Loop, Transport::Posix),
    ];
    all.into_iter().map(|(name, layout, transport)| (name, Options { layout, transport, channels: BTreeMap::new() })).collect()
}

pub fn builds() -> bool {
    let found = has("cc") && has("make");
    if !found {
        testkit::passed_over("no C compiler");
    }
    found
}

/// One of each kind: shared memory, a process that holds everything, one process.
pub fn main_ways() -> Vec<(&'static str, Options)> {
    ways().into_iter().filter(|(name, _)| matches!(*name, "memory" | "unix" | "loop")).collect()
}
