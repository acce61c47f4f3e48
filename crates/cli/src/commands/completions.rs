//! `everypath completions`: the scripts with which shells complete our commands and options.

use super::Asks;
use crate::args::Arguments as Everything;
use crate::failure::Failure;
use crate::{Exit, say};
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// `everypath completions`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The shell
    pub shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  everypath completions bash > ~/.local/share/bash-completion/completions/everypath
  everypath completions zsh > ~/.zfunc/_everypath
  everypath completions fish > ~/.config/fish/completions/everypath.fish";

impl Asks for Arguments {
    fn json(&self) -> bool {
        false
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut Everything::command(), "everypath", &mut text);
    say(&String::from_utf8_lossy(&text));
    Ok(Exit::Fine)
}
