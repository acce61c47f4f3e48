//! `everypath man`: the manual pages, generated from the table of options.

use super::Asks;
use crate::args::Arguments as Everything;
use crate::failure::Failure;
use crate::output::Output;
use crate::{Exit, say};
use clap::{Args, Command, CommandFactory};
use std::fs;
use std::path::PathBuf;

/// `everypath man`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Write a page for each command to FOLDER, instead of printing the first one
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  everypath man | man -l -
  everypath man -o ~/.local/share/man/man1";

impl Asks for Arguments {
    fn json(&self) -> bool {
        false
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut whole = Everything::command();
    whole.build();
    let Some(folder) = &arguments.output else {
        say(&String::from_utf8_lossy(&page(&whole, "everypath")));
        return Ok(Exit::Fine);
    };
    fs::create_dir_all(folder).map_err(|error| Failure::write(folder, error))?;
    let nothing: [&str; 0] = [];
    let write = |command: &Command, name: &str| Output::new(&folder.join(format!("{name}.1")), &nothing)?.write(page(command, name));
    write(&whole, "everypath")?;
    for command in whole.get_subcommands().filter(|command| command.get_name() != "help") {
        write(command, &format!("everypath-{}", command.get_name()))?;
    }
    Ok(Exit::Fine)
}

/// The page of a command.
fn page(command: &Command, name: &str) -> Vec<u8> {
    let mut text = Vec::new();
    // Writing to a vector cannot fail.
    let _ = clap_mangen::Man::new(command.clone()).title(name).render(&mut text);
    text
}
