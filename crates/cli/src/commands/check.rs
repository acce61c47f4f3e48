//! `everypath check`: is there a path that goes wrong?

use crate::args::CheckArguments;
use crate::failure::Failure;
use crate::progress::Ticker;
use crate::{Exit, engine, input, interrupt, memory, say};
use check::Plan;
use contract::{Safety, Verdict};
use report::json::{self, CheckJson};
use report::{Measured, Witness, check_text};

pub fn run(arguments: &CheckArguments) -> Result<Exit, Failure> {
    let model = input::model(&arguments.model)?;
    let property = Safety { deadlocks: !arguments.no_deadlock, ..Safety::default() };
    let plan = engine::plan(Plan { property: Some(property), ..Plan::check() }, &arguments.engine);
    let ticker = Ticker::new(arguments.output.json);
    let checked = check::run(&model.program, &plan, &interrupt::on_signal(), &ticker);
    ticker.finish();
    let checked = checked?;

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
        json::line(&CheckJson::new(&checked.outcome, steps, measured))
    } else {
        check_text(&model.program, &checked.outcome, &checked.steps, measured)
    };
    say(&text);
    Ok(Exit::from(&checked.outcome.verdict))
}
