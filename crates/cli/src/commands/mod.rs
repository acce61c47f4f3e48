//! The commands, one module each: its options and its implementation.
//!
//! This is the only file that names all commands. Help, parsing and dispatch are generated from the
//! list below.

mod automata;
mod check;
mod close;
mod compile;
mod completions;
mod conform;
mod examples;
mod generate;
mod lint;
mod ltl;
mod man;
mod measure;
mod merge;
mod new;
mod replay;
mod run;
mod schema;
mod shorten;
mod simulate;
mod space;
mod worker;

pub use check::Arguments as CheckArguments;

use crate::Exit;
use crate::failure::Failure;
use clap::Subcommand;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

/// Functions that the options of every command provide.
pub trait Asks {
    /// Whether the answer or the error is to be printed as JSON.
    fn json(&self) -> bool;

    /// The schema of the answer as JSON, if there is one.
    fn schema() -> Option<Schema>
    where
        Self: Sized,
    {
        None
    }
}

/// The schema of a type in its printed form.
fn schema_of<T: JsonSchema>() -> Option<Schema> {
    Some(SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>())
}

macro_rules! commands {
    ($($(#[doc = $help:literal])* $(#[command($($how:tt)*)])? $name:ident: $module:ident,)*) => {
        /// The verbs.
        #[derive(Debug, Subcommand)]
        #[allow(clippy::large_enum_variant, reason = "there is one value, as long as the program runs")]
        pub enum Command { $($(#[doc = $help])* $(#[command($($how)*)])? $name($module::Arguments),)* }

        impl Command {
            /// Whether the answer or the error is to be printed as JSON.
            pub fn json(&self) -> bool {
                match self { $(Command::$name(arguments) => arguments.json(),)* }
            }

            /// The names of commands that print JSON, with the schemas.
            pub fn schemas() -> Vec<(String, Schema)> {
                let all = [$((stringify!($name), $module::Arguments::schema()),)*];
                all.into_iter().filter_map(|(name, schema)| Some((name.to_lowercase(), schema?))).collect()
            }

            /// Runs the command.
            pub fn run(&self) -> Result<Exit, Failure> {
                match self { $(Command::$name(arguments) => $module::run(arguments),)* }
            }
        }
    };
}

commands! {
    /// Check everything the model states: assertions, end states, temporal properties
    Check: check,
    /// Explore the whole reachable state space, without reductions or properties
    Space: space,
    /// Make one run: random, or chosen step by step
    Simulate: simulate,
    /// Run an LF program with the devices of this host: console, clock, sockets
    Run: run,
    /// Replay a trace that `check --trace FILE` has written
    Replay: replay,
    /// Search for a shorter trace to the same violation
    Shorten: shorten,
    /// Print an LF program with processes for its environment
    Close: close,
    /// Translate to byte-code
    Compile: compile,
    /// Generate the program from a text that contains both a model and a program
    Generate: generate,
    /// Check that a recorded run of a generated program is a path of its model
    Conform: conform,
    /// Warn about valid models that probably do not mean what their author wanted
    Lint: lint,
    /// Show the control-flow automata of processes
    Automata: automata,
    /// Show the Büchi automaton of a temporal formula
    Ltl: ltl,
    /// Propose measures of progress for `--search sweep`
    Measure: measure,
    /// Join the fragments that several processes have written into one graph
    Merge: merge,
    /// Write a commented first model
    New: new,
    /// List, print or check the built-in examples
    Examples: examples,
    /// Print the JSON schema of the `--json` output of a command
    Schema: schema,
    /// Print the script with which a shell completes commands and options
    Completions: completions,
    /// Print the manual page, or write the pages of all commands
    Man: man,
    /// Work for another process that shares its search
    #[command(hide = true)]
    Worker: worker,
}
