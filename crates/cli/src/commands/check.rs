//! `everypath check`: is there a path that goes wrong?

use crate::args::CheckArguments;
use crate::failure::Failure;
use crate::output::Output;
use crate::session::{Ended, Session};
use crate::{Exit, complain, input, memory, paths, say};
use check::{Plan, Probe};
use contract::{Safety, Verdict};
use report::json::{self, CheckJson, ProbeJson};
use report::{Measured, Told, Witness, check_text};

pub fn run(arguments: &CheckArguments) -> Result<Exit, Failure> {
    let property = Safety { deadlocks: !arguments.no_deadlock, ..Safety::default() };
    let base = Plan { property: Some(property), only: arguments.only, ..Plan::check() };
    let session = Session::new(base, &arguments.subject, &arguments.engine, &arguments.saving, arguments.output.json)?;
    let file = arguments.trace.as_deref().map(|path| Output::new(path, &session.inputs(&arguments.saving))).transpose()?;
    let (Session { model, plan, .. }, Ended { checked, advice }) = session.run(&arguments.saving, None)?;

    let mut unwritten = None;
    if let (Some(file), Verdict::Violated(violation)) = (&file, &checked.outcome.verdict) {
        let witness = Witness {
            model: model.name.clone(),
            violation: Some((&violation.fault).into()),
            folder: arguments.trace.as_deref().and_then(paths::way_here),
            program: input::assembly(&model.program),
            trace: violation.trace.clone(),
        };
        unwritten = file.write(witness.to_text()).err();
    }
    let measured = Measured { peak_memory_bytes: memory::peak() };
    let text = if arguments.output.json {
        let (steps, processes) = match &checked.outcome.verdict {
            Verdict::Violated(violation) => {
                let trace = &violation.trace;
                let steps = json::steps(&checked.steps, &json::views(&model.program, trace));
                (steps, json::processes(&model.program, trace.last_state()))
            }
            _ => (Vec::new(), Vec::new()),
        };
        let probe = checked.probe.as_ref();
        let search = probe.map_or(plan.order.of_search(), |probe| probe.order()).name();
        let answer = CheckJson::new(&checked.outcome, search, steps, advice, measured);
        let properties = json::properties(&checked.properties, answer.trace.as_deref());
        json::line(&CheckJson { warnings: model.warnings.clone(), processes, properties, probe: probe.map(probe_json), ..answer })
    } else {
        let remark = checked.probe.as_ref().and_then(|probe| probe.remark(checked.steps.len()));
        let told = Told { steps: &checked.steps, properties: &checked.properties, remark: remark.as_deref(), advice: advice.as_deref() };
        check_text(&model.program, &checked.outcome, &told, measured)
    };
    say(&text);
    if let Some(failure) = unwritten {
        // The verdict is what counts.
        complain(&failure);
    }
    Ok(Exit::from(&checked.outcome.verdict))
}

fn probe_json(probe: &Probe) -> ProbeJson {
    let Probe { states, transitions, elapsed, found, answers } = *probe;
    ProbeJson { states, transitions, seconds: elapsed.as_secs_f64(), found, answers }
}
