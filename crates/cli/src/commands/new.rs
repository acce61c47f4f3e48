//! `everypath new`: a commented first model.

use super::Asks;
use crate::failure::Failure;
use crate::output::Output;
use crate::{Exit, say};
use clap::Args;
use std::path::PathBuf;

/// `everypath new`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The name of the model; the file is NAME.pml in this folder
    pub name: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  everypath new first
  everypath check first.pml";

/// The model. It has a flaw, so that a check finds something.
const MODEL: &str = include_str!("new.pml");

impl Asks for Arguments {
    fn json(&self) -> bool {
        false
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut path = arguments.name.clone();
    if path.extension().is_none() {
        path.set_extension("pml");
    }
    if path.exists() {
        return Err(Failure::Call(format!("{} already exists, so it will not be overwritten", path.display())));
    }
    let nothing: [&str; 0] = [];
    Output::new(&path, &nothing)?.write(MODEL)?;
    let file = path.display();
    say(&format!(
        "{file} is a small model with a flaw. Try:\n\n  everypath check {file}\n  everypath simulate {file} --seed 1\n\nThen read {file}, \
         and mend it.\n"
    ));
    Ok(Exit::Fine)
}
