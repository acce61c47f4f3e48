//! A program that includes other files from memory, with names defined for its preprocessor. The
//! example then follows one of its runs.

use everypath::{Error, Includes, Program};

const MODEL: &str = "
#include \"parts/queue.h\"
active proctype Sender() { byte i; do :: i < COUNT -> queue!i; i++ :: else -> break od }
active proctype Receiver() { byte got; end: do :: queue?got od }
";

fn main() -> Result<(), Error> {
    let mut files = Includes::new()
        .with("parts/queue.h", "#include \"size.h\"\nchan queue = [SIZE] of { byte };\n")
        .with("parts/size.h", "#define SIZE 2\n");
    let program = Program::load_with("model.pml", MODEL.as_bytes(), &[("COUNT".to_owned(), "3".to_owned())], &mut files)?;
    let mut state = program.initial()?;
    // The first step of each state; a step without a state has a fatal fault.
    while let Some(step) = program.successors(&state)?.into_iter().next() {
        println!("{}", step.label());
        let Some(next) = step.state else { break };
        state = next;
    }
    for value in program.view(&state)?.values() {
        println!("{} = {}", value.name, value.value);
    }
    println!("may end here: {}", program.is_valid_end(&state)?);
    Ok(())
}
