//! `everypath check`: is there a path that goes wrong?

use crate::args::CheckArguments;
use crate::failure::Failure;
use crate::session::{Ended, Session};
use crate::{Exit, input, memory, say};
use check::Plan;
use contract::{Safety, Verdict};
use report::json::{self, CheckJson};
use report::{Measured, Witness, check_text};

pub fn run(arguments: &CheckArguments) -> Result<Exit, Failure> {
    let property = Safety { deadlocks: !arguments.no_deadlock, ..Safety::default() };
    let base = Plan { property: Some(property), ..Plan::check() };
    let session = Session::new(base, &arguments.subject, &arguments.engine, &arguments.saving, arguments.output.json)?;
    let (Session { model, .. }, Ended { checked, advice }) = session.run(&arguments.saving)?;

    if let (Some(path), Verdict::Violated(violation)) = (&arguments.trace, &checked.outcome.verdict) {
        let witness = Witness {
            model: model.name.clone(),
            violation: Some((&violation.fault).into()),
            program: input::assembly(&model.program),
            trace: violation.trace.clone(),
        };
        std::fs::write(path, witness.to_text()).map_err(|error| Failure::write(path, error))?;
    }
    let measured = Measured { peak_memory_bytes: memory::peak() };
    let text = if arguments.output.json {
        let steps = match &checked.outcome.verdict {
            Verdict::Violated(violation) => json::steps(&checked.steps, &json::views(&model.program, &violation.trace)),
            _ => Vec::new(),
        };
        json::line(&CheckJson::new(&checked.outcome, steps, advice, measured))
    } else {
        check_text(&model.program, &checked.outcome, &checked.steps, advice.as_deref(), measured)
    };
    say(&text);
    Ok(Exit::from(&checked.outcome.verdict))
}
