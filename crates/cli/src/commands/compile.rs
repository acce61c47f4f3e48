//! `everypath compile`: byte-code, as text or as a binary.

use crate::args::CompileArguments;
use crate::failure::Failure;
use crate::output::Output;
use crate::{Exit, input, say};
use report::json;
use serde_json::json as object;

pub fn run(arguments: &CompileArguments) -> Result<Exit, Failure> {
    let model = input::model(&arguments.model.model, &arguments.model.defines)?;
    let program = model.program.program();
    match (&arguments.output_file, arguments.asm) {
        (Some(path), true) => Output::new(path, &model.files)?.write(input::assembly(&model.program))?,
        (Some(path), false) => Output::new(path, &model.files)?.write(input::binary(&model.program))?,
        (None, true) if !arguments.output.json => say(&input::assembly(&model.program)),
        (None, _) => {}
    }
    if arguments.output.json {
        let mut answer = object!({
            "model": model.name,
            "instructions": program.code.len(),
            "processes": program.processes.len(),
            "globals": program.globals.len(),
        });
        if arguments.asm && arguments.output_file.is_none() {
            answer["asm"] = input::assembly(&model.program).into();
        }
        say(&json::line(&answer));
    } else if arguments.output_file.is_none() && !arguments.asm {
        say(&format!(
            "{}: {} instructions, {} process types, {} global variables; print them with --asm, or write them with -o FILE",
            model.name,
            program.code.len(),
            program.processes.len(),
            program.globals.len()
        ));
    }
    Ok(Exit::Fine)
}
