//! `everypath new`: a commented first model.

use super::Asks;
use crate::failure::Failure;
use crate::next;
use crate::output::Output;
use crate::{Exit, say};
use clap::Args;
use std::path::{Path, PathBuf};

/// `everypath new`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The name of the model; the file is NAME.pml in this folder, or NAME itself if it ends with
    /// .pml, or with .lf for a program in LF
    pub name: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  everypath new first
  everypath check first.pml
  everypath new first.lf
  everypath run first.lf";

/// The model. It has a flaw, so that a check finds something.
const MODEL: &str = include_str!("new.pml");

/// The same in LF. Its module is called `Account`.
const PROGRAM: &str = include_str!("new.lf");

impl Asks for Arguments {
    fn json(&self) -> bool {
        false
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut path = arguments.name.clone();
    if languages::language(&path.to_string_lossy(), &[]).is_none() {
        path.as_mut_os_string().push(".pml");
    }
    if path.exists() {
        return Err(Failure::Call(format!("{} already exists, so it will not be overwritten", path.display())));
    }
    let is_program = match languages::language(&path.to_string_lossy(), &[]).map(|language| language.name) {
        Some("LF") => true,
        Some("Promela") | None => false,
        Some(other) => {
            let why = format!("{other} is not written by hand; a new model is in Promela (.pml) or LF (.lf)");
            return Err(Failure::Call(format!("{}: {why}", path.display())));
        }
    };
    let text = if is_program { program(&path) } else { MODEL.to_owned() };
    let nothing: [&str; 0] = [];
    Output::new(&path, &nothing)?.write(text)?;
    let file = next::file(&path);
    let (what, how) = if is_program { ("program", "run") } else { ("model", "simulate") };
    say(&format!(
        "{file} is a small {what} with a flaw. Try:\n\n  everypath check {file}\n  everypath {how} {file} --seed 1\n\nThen read {file}, \
         and mend it.\n"
    ));
    Ok(Exit::Fine)
}

/// The program in LF. Its module is called like the file, if that is a name.
fn program(path: &Path) -> String {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let text = PROGRAM.replace("Account", stem);
    let is_module = languages::language("", text.as_bytes()).is_some_and(|language| language.name == "LF");
    if is_module { text } else { PROGRAM.to_owned() }
}
