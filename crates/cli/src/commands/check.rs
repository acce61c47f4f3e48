//! `everypath check`: is there a path that violates a property?

use super::{Asks, schema_of};
use crate::alternatives::one_of;
use crate::args::{EngineArguments, OutputArguments, SavingArguments, SubjectArguments};
use crate::clearer::{Clearer, ClearerArguments};
use crate::directed::DirectedArguments;
use crate::failure::Failure;
use crate::hints;
use crate::input::{Model, Wanted};
use crate::next;
use crate::output::Output;
use crate::patience::Over;
use crate::reach;
use crate::reports::ReportArguments;
use crate::session::{Ended, Session};
use crate::team::TeamArguments;
use crate::terminal::DetailArguments;
use crate::warnings::WarningArguments;
use crate::watch::Answer;
use crate::{Exit, complain, memory, paths, say};
use check::{Applied, Checked, Cut, Cycles, Fair, Guidance, Only, Passes, Plan, Por, Probe, Reduced, Shrunk};
use clap::{Args, ValueEnum};
use contract::{Judged, Outcome, Safety, Trace, Verdict, Violation, ViolationKind};
use languages::Expression;
use replay::context_switches;
use report::json::{
    self, CheckJson, CutJson, HeuristicJson, PassJson, ProbeJson, PropertyReductionJson, ReductionJson, SliceJson, StatedJson,
};
use report::{CoverageJson, Measured, Told, Verifier, check_text, coverage_text, spin, witness_text};
use schemars::Schema;
use std::path::{Path, PathBuf};

/// Forms of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The format of the verifiers that SPIN generates
    Spin,
}

/// `everypath check`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    pub subject: SubjectArguments,
    #[command(flatten)]
    pub engine: EngineArguments,
    #[command(flatten)]
    pub team: TeamArguments,
    #[command(flatten)]
    pub saving: SavingArguments,
    #[command(flatten)]
    pub directed: DirectedArguments,
    /// Explore all orders of independent steps: no partial-order reduction
    #[arg(long, conflicts_with_all = ["resume", "check_por"])]
    pub no_por: bool,
    /// Verify each choice of the partial-order reduction by brute force; slow, for small models
    #[arg(long)]
    pub check_por: bool,
    /// Treat each statement as a step of its own, including those that no other process can see
    #[arg(long, conflicts_with = "resume")]
    pub no_merge: bool,
    /// Keep the values of variables that are no longer needed
    #[arg(long, conflicts_with = "resume")]
    pub no_dead: bool,
    /// Keep variables, channels and code that are not used
    #[arg(long, conflicts_with_all = ["resume", "slice"])]
    pub no_unused: bool,
    /// Remove the parts of the model that the property does not depend on, and list them
    #[arg(long, conflicts_with_all = ["resume", "coverage"])]
    pub slice: bool,
    /// Do not report deadlocks and invalid end states
    #[arg(long, conflicts_with = "resume")]
    pub no_deadlock: bool,
    /// Check only this part of the model's properties [default: everything]
    #[arg(long, value_name = "PART", value_parser = one_of::<Only>(), conflicts_with = "resume")]
    pub only: Option<Only>,
    /// Check only this temporal property: the name of one that the model states, or a formula over
    /// its expressions. Can be given several times
    #[arg(long, value_name = "NAME|FORMULA", conflicts_with_all = ["resume", "checkpoint", "only"], allow_hyphen_values = true)]
    pub ltl: Vec<String>,
    /// Check only this formula of branching time: `EF p`, `AG p`, `AG EF p` or `EF AG p`, where p
    /// is an expression over the model's variables; or a file that has one. Can be given several
    /// times
    #[arg(long, value_name = "FORMULA", conflicts_with_all = ["resume", "checkpoint", "only"])]
    pub ctl: Vec<String>,
    /// No infinite run may be accepted by the automaton in FILE: in the Hanoi format, as a never
    /// claim, or as plain lines with the initial state, the accepting states, then for each state
    /// labels and successors
    #[arg(long, value_name = "FILE", conflicts_with_all = ["resume", "checkpoint", "only"])]
    pub automaton: Option<PathBuf>,
    /// The automaton accepts finite runs
    #[arg(long, requires = "automaton")]
    pub finite: bool,
    /// The infinite runs that count
    #[arg(long, value_name = "NAME", value_parser = one_of::<Fair>(), default_value_t, conflicts_with = "resume")]
    pub fair: Fair,
    /// Require that every infinite run passes progress labels again and again
    #[arg(long, conflicts_with = "resume")]
    pub non_progress: bool,
    /// Show the shortest run that violates a temporal property: fewest steps in its path and its
    /// loop together
    #[arg(long)]
    pub shortest: bool,
    /// How to look for cycles
    #[arg(long, value_name = "NAME", value_parser = one_of::<Cycles>(), default_value_t)]
    pub cycles: Cycles,
    /// Look only for a path that executes a statement on this line: `FILE:LINE`, or a line of any
    /// file. The path can be written by `--trace`, `--trail`, `--itf` and `--html`
    #[arg(long, value_name = "FILE:LINE", value_parser = reach::place, conflicts_with_all = NOT_WITH_REACH)]
    pub reach: Option<reach::Place>,
    /// Record which statements are executed, and list those that never are
    #[arg(long, conflicts_with = "resume")]
    pub coverage: bool,
    /// Write the trace of a violation to FILE; `everypath replay FILE` shows it again
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Write the path to a violation of a Promela model to FILE as SPIN's verifiers do;
    /// `spin -t -p -k FILE MODEL` replays it
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub trail: Option<PathBuf>,
    #[command(flatten)]
    pub clearer: ClearerArguments,
    #[command(flatten)]
    pub reports: ReportArguments,
    /// Print the summary in the form of another tool
    #[arg(long, value_name = "TOOL", value_enum, conflicts_with = "json")]
    pub format: Option<Format>,
    #[command(flatten)]
    pub warnings: WarningArguments,
    #[command(flatten)]
    pub detail: DetailArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// Options that say which property is checked, how a violation is explained, or where the search
/// takes place. A search for a statement has one worker on this machine, in memory, and its answer
/// has no properties.
const NOT_WITH_REACH: [&str; 27] = [
    "resume",
    "checkpoint",
    "disk",
    "processes",
    "hosts",
    "ltl",
    "ctl",
    "automaton",
    "non_progress",
    "only",
    "no_deadlock",
    "fair",
    "shortest",
    "cycles",
    "slice",
    "check_por",
    "coverage",
    "format",
    "heuristic",
    "explain_heuristic",
    "causal",
    "fewest_switches",
    "witness",
    "junit",
    "sarif",
    "owner",
    "measure",
];

const EXAMPLES: &str = "\
Examples:
  everypath check model.pml
  everypath check model.pml -DN=4 --time 10m --memory 8G
  everypath check model.pml --ltl '[] (x < 10)'
  everypath check model.pml --coverage --html report.html
  everypath check model.pml --trace path.json";

impl Asks for Arguments {
    fn schema() -> Option<Schema> {
        schema_of::<CheckJson>()
    }

    fn json(&self) -> bool {
        self.output.json
    }
}

/// The plan of the options of this command; those that it shares with others are added later.
fn base(arguments: &Arguments) -> Result<Plan, Failure> {
    let property = Safety { deadlocks: !arguments.no_deadlock, ..Safety::default() };
    let Arguments { only, fair, non_progress, shortest, cycles, coverage, .. } = *arguments;
    let usual = Plan::usual();
    let por = match (arguments.no_por, arguments.check_por) {
        (true, _) => Por::Off,
        (_, true) => Por::Checked,
        _ => usual.por,
    };
    let Arguments { slice, no_unused, no_merge, no_dead, format, .. } = *arguments;
    // SPIN's verifiers always list the statements that were not reached.
    let one = !arguments.team.is_several() && arguments.saving.resume.is_none() && arguments.saving.checkpoint.is_none();
    let coverage = coverage || (format.is_some() && one && !slice);
    let Passes { unused, merge, dead, .. } = usual.passes;
    let passes = Passes { unused: unused && !no_unused, slice, merge: merge && !no_merge, dead: dead && !no_dead };
    let profile = arguments.detail.verbose;
    let base =
        Plan { property: Some(property), only, cycles, fairness: fair, non_progress, shortest, por, passes, coverage, profile, ..usual };
    arguments.directed.plan(base, arguments.engine.search.unwrap_or_default())
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if arguments.team.follows() {
        arguments.team.follow()?;
        return Ok(Exit::Fine);
    }
    let base = base(arguments)?;
    let expressions: Vec<Expression> =
        arguments.directed.expression().map(|text| Expression::new("--heuristic", text)).into_iter().collect();
    let Arguments { ltl, ctl, automaton, finite, .. } = arguments;
    let wanted = Wanted {
        ltl,
        ctl,
        automaton: automaton.as_deref(),
        finite: *finite,
        measure: None,
        expressions: &expressions,
        policy: Some(&arguments.warnings),
    };
    let session =
        Session::new(base, &arguments.subject, wanted, &arguments.engine, &arguments.saving, &arguments.team, arguments.output.json);
    let mut session = session.map_err(|failure| arguments.reports.tell_rejected(arguments.subject.model.as_deref(), failure))?;
    if arguments.coverage && session.model.subject.byte_code().is_none() {
        return Err(Failure::Call(format!("{}: a graph has no statements: leave out `--coverage`", session.model.name)));
    }
    session.plan.guide_atom = guide_atom(&session.model)?;
    if let Some(place) = &arguments.reach {
        return reach::run(arguments, place, session);
    }
    let file = arguments.trace.as_deref().map(|path| Output::new(path, &session.inputs(&arguments.saving))).transpose()?;
    let others: Vec<PathBuf> = session.inputs(&arguments.saving).into_iter().chain(arguments.trace.as_deref()).map(PathBuf::from).collect();
    let mut others: Vec<&Path> = others.iter().map(PathBuf::as_path).collect();
    let trail = arguments.trail.as_deref().map(|path| session.model.numbered().and_then(|_| Output::new(path, &others))).transpose()?;
    others.extend(arguments.trail.as_deref());
    let reports = arguments.reports.open(&others)?;
    let (session, Ended { mut checked, advice }) = session.run(&arguments.saving, None)?;
    session.watch.reply(brief(&session.model, &session.plan, &checked, advice.clone(), arguments));
    let clearer = arguments.clearer.look(&session, &mut checked)?;
    let mut timeline = session.timeline();
    timeline.end(&checked.outcome.statistics);
    let Session { model, plan, .. } = session;

    let mut unwritten = None;
    let told = match (&checked.outcome.verdict, &checked.witness) {
        (Verdict::Violated(violation), _) => Some((&violation.trace, Some((&violation.fault).into()))),
        (_, Some(shown)) => Some((&shown.trace, None)),
        _ => clearer.trace().map(|trace| (trace, None)),
    };
    if let (Some(file), Some((trace, violation))) = (&file, &told) {
        let folder = arguments.trace.as_deref().and_then(paths::way_here);
        let witness = model.witness((*trace).clone(), violation.clone(), folder);
        unwritten = file.write(witness.to_text()).err();
    }
    if let (Some(file), Some((trace, _))) = (&trail, told) {
        let told = model.numbered()?.write(trace);
        let told = told.map_err(|error| Failure::Call(format!("the trail was not written: {error}")));
        unwritten = unwritten.or(told.and_then(|text| file.write(text)).err());
    }
    let measured = Measured { peak_memory_bytes: memory::peak() };
    let answer = (arguments.output.json || arguments.format.is_some() || arguments.reports.any())
        .then(|| answer_json(&model, &plan, &checked, &clearer, advice.clone(), measured));
    if let Some(answer) = &answer {
        let witness = checked.witness.as_ref().map(|shown| &shown.trace).or(clearer.trace());
        unwritten =
            unwritten.or(reports.write(&model, &checked.outcome.verdict, witness, answer, &timeline, !arguments.detail.verbose).err());
    }
    let text = if let (Some(Format::Spin), Some(answer)) = (arguments.format, &answer) {
        let state_bytes = model.narrator.initial().0.unwrap_or_default().len();
        let trail = arguments.trail.as_deref().map(|path| path.display().to_string());
        spin(answer, Verifier { version: env!("CARGO_PKG_VERSION"), state_bytes, trail: trail.as_deref() })
    } else if let (true, Some(answer)) = (arguments.output.json, &answer) {
        json::line(answer)
    } else {
        let of_probe = checked.probe.as_ref().and_then(|probe| probe.remark(checked.steps.len()));
        let remarks: Vec<String> = of_probe.into_iter().chain(clearer.remark.clone()).collect();
        let remark = (!remarks.is_empty()).then(|| remarks.join("\n"));
        let reduction = reduction_told(&checked, plan.passes.slice);
        let look = arguments.detail.look();
        let shown = checked.witness.as_ref();
        let witness = shown.map(|shown| witness_text(&model.narrator, &shown.formula, &shown.trace, &shown.steps, look));
        let guided = checked.guided.as_ref().map(guided_text).unwrap_or_default();
        let coverage = checked.coverage.as_ref().map(|coverage| coverage_text(coverage, &look)).unwrap_or_default();
        let hints = hints::hints(&model, &plan, &checked);
        let next = next::command(&checked.outcome.verdict, &model, &plan, arguments.team.is_several(), arguments.trace.as_deref());
        let told = Told {
            steps: &checked.steps,
            essential: clearer.essential.as_ref(),
            untold: None,
            reduction: &reduction,
            properties: &checked.properties,
            not_asked: &checked.not_asked,
            remark: remark.as_deref(),
            advice: advice.as_deref(),
            more: &(guided + &coverage + &witness.unwrap_or_default() + &clearer.text(&model.narrator, look) + &hints),
            next: next.as_deref(),
            look,
        };
        check_text(Some(&model.narrator), &checked.outcome, &told, measured)
    };
    say(&text);
    if let Some(failure) = unwritten {
        // A report that cannot be written does not change the verdict.
        complain(&failure);
    }
    let exit = Exit::from(&checked.outcome.verdict);
    // The process ends now. It would take longer to free a trace of a million steps than to leave
    // it to the operating system.
    std::mem::forget((model, checked));
    Ok(exit)
}

/// The answer, for scripts.
fn answer_json(model: &Model, plan: &Plan, checked: &Checked, clearer: &Clearer, advice: Option<String>, measured: Measured) -> CheckJson {
    let (steps, processes) = match &checked.outcome.verdict {
        Verdict::Violated(violation) => {
            let trace = &violation.trace;
            let steps = json::steps(&checked.steps, json::views(&model.narrator, trace));
            (steps, json::processes(&model.narrator, trace.last_state()))
        }
        _ => (Vec::new(), Vec::new()),
    };
    let waiting = match &checked.outcome.verdict {
        Verdict::Violated(violation) if violation.fault.kind == ViolationKind::Deadlock => model.narrator.waiting(&violation.trace),
        _ => Vec::new(),
    };
    let knot = replay::knot(&waiting);
    let probe = checked.probe.as_ref();
    let search = checked.outcome.statistics.answered_by;
    let search = search.unwrap_or_else(|| probe.map_or(plan.order.of_search(), |probe| probe.order()).name());
    let mut answer = CheckJson::new(&checked.outcome, search, steps, advice, measured);
    answer.numbers.by_measure(model.measure.as_ref().map(|(_, text)| text.as_str()));
    let properties = json::properties(&checked.properties, Some(&model.narrator));
    let witness = checked.witness.as_ref().map(|shown| json::steps(&shown.steps, json::views(&model.narrator, &shown.trace)));
    CheckJson {
        warnings: model.warnings.clone(),
        processes,
        properties,
        not_asked: checked.not_asked.iter().map(StatedJson::from).collect(),
        witness,
        probe: probe.map(probe_json),
        reduction: reduction_json(checked, plan.passes.slice),
        heuristic: checked.guided.as_ref().map(heuristic_json),
        waiting: json::waiting(&waiting),
        waiting_cycle: knot.cycle,
        waiting_others: knot.others,
        coverage: checked.coverage.as_ref().map(CoverageJson::from),
        context_switches: matches!(checked.outcome.verdict, Verdict::Violated(_)).then(|| context_switches(&checked.steps)),
        causal: clearer.causal(),
        witnesses: clearer.json(&model.narrator),
        ..answer
    }
}

/// The atom of the heuristic that the user has given as an expression.
fn guide_atom(model: &Model) -> Result<Option<u32>, Failure> {
    match model.expressions.first().map(|atoms| &atoms[..]) {
        None => Ok(None),
        Some(&[atom]) => Ok(Some(atom)),
        Some(_) => Err(Failure::Call("`--heuristic` takes one expression, not several with commas".to_owned())),
    }
}

/// The estimates of a directed search, as text.
fn guided_text(guided: &Guidance) -> String {
    let Guidance { property, name, lower_bound, tables, along } = guided;
    let bound = if *lower_bound { "never more than the truth" } else { "not always a lower bound" };
    let shown = |estimate: &u32| if *estimate == contract::FAR { "-".to_owned() } else { estimate.to_string() };
    let along: Vec<String> = along.iter().map(shown).collect();
    let along = if along.is_empty() { String::new() } else { format!("estimates along the trace: {}\n", along.join(" ")) };
    let about = property.as_ref().map(|property| format!(" for `{property}`")).unwrap_or_default();
    format!("\nheuristic {name}{about}, {bound}\n{tables}{along}")
}

/// The answer if the time limit is reached while the trace is being written: the same answer, but
/// with only the length and the end of the trace.
fn brief(
    model: &Model,
    plan: &Plan,
    checked: &Checked,
    advice: Option<String>,
    arguments: &Arguments,
) -> impl Fn(Over) -> Answer + Send + use<> {
    let short = |verdict: &Verdict| match verdict {
        Verdict::Violated(violation) => {
            let trace = Trace { initial: violation.trace.last_state().to_vec(), ..Trace::default() };
            Verdict::Violated(Box::new(Violation { fault: violation.fault.clone(), trace }))
        }
        verdict => verdict.clone(),
    };
    let outcome = Outcome { verdict: short(&checked.outcome.verdict), statistics: checked.outcome.statistics.clone() };
    let judged = |judged: &Judged| Judged { verdict: short(&judged.verdict), ..judged.clone() };
    let properties: Vec<Judged> = checked.properties.iter().map(judged).collect();
    let (reduction, reduction_told) = (reduction_json(checked, plan.passes.slice), reduction_told(checked, plan.passes.slice));
    let (steps, probe, not_asked) = (checked.steps.len(), checked.probe.clone(), checked.not_asked.clone());
    let (narrator, warnings, plan) = (model.narrator.clone(), model.warnings.clone(), *plan);
    let (json, file, look) = (arguments.output.json, arguments.trace.clone(), arguments.detail.look());
    move |over| {
        let measured = Measured { peak_memory_bytes: memory::peak() };
        let violated = matches!(outcome.verdict, Verdict::Violated(_));
        let untold = format!("the trace of {} steps is not shown: {over}", report::text::count(steps as u64));
        let text = if json {
            let search = outcome.statistics.answered_by;
            let search = search.unwrap_or_else(|| probe.as_ref().map_or(plan.order.of_search(), Probe::order).name());
            let answer = CheckJson::new(&outcome, search, Vec::new(), advice.clone(), measured);
            let message = if violated { Some(untold) } else { answer.message.clone() };
            let processes = if violated { json::processes(&narrator, outcome_state(&outcome)) } else { Vec::new() };
            json::line(&CheckJson {
                warnings: warnings.clone(),
                processes,
                properties: json::properties(&properties, None),
                not_asked: not_asked.iter().map(StatedJson::from).collect(),
                probe: probe.as_ref().map(probe_json),
                reduction: reduction.clone(),
                trace: None,
                message,
                ..answer
            })
        } else {
            let remark = probe.as_ref().and_then(|probe| probe.remark(steps));
            let told = Told {
                steps: &[],
                untold: Some(&untold),
                reduction: &reduction_told,
                properties: &properties,
                not_asked: &not_asked,
                remark: remark.as_deref(),
                advice: advice.as_deref(),
                look,
                ..Told::default()
            };
            check_text(Some(&narrator), &outcome, &told, measured)
        };
        let complaint = match &file {
            Some(path) if violated && !path.is_file() => format!("error: {} was not written: {over}", path.display()),
            _ => String::new(),
        };
        Answer { text, complaint, exit: Exit::from(&outcome.verdict) }
    }
}

fn outcome_state(outcome: &Outcome) -> &[u8] {
    match &outcome.verdict {
        Verdict::Violated(violation) => violation.trace.last_state(),
        _ => &[],
    }
}

fn reduction_json(checked: &Checked, sliced: bool) -> ReductionJson {
    let slice = |shrunk: &Shrunk| sliced.then(|| slice_json(shrunk));
    let properties = checked.reduced_for.iter().zip(&checked.shrunk_for).map(|((name, reduced), (_, shrunk))| {
        let (por, off) = por_json(reduced);
        PropertyReductionJson { name: name.clone(), por, off, slice: slice(shrunk) }
    });
    let (por, off) = por_json(&checked.reduced);
    let Shrunk { applied, off: passes_off, .. } = &checked.shrunk;
    let passes = applied.iter().map(|&Applied { pass, changes }| PassJson { name: pass, changes }).collect();
    let slice = slice(&checked.shrunk);
    ReductionJson { por, off, properties: properties.collect(), passes, passes_off: passes_off.clone(), slice }
}

fn slice_json(shrunk: &Shrunk) -> SliceJson {
    let cut = shrunk.cuts.iter().map(|Cut { kind, name, place }| {
        let (file, line) = place.clone().unzip();
        CutJson { kind: kind.name(), name: name.clone(), file, line }
    });
    SliceJson { cut: cut.collect(), whole: shrunk.slice_off.clone() }
}

/// The reduction, the passes and the slice, as lines.
fn reduction_told(checked: &Checked, sliced: bool) -> String {
    let mut text = reduction_text(&checked.reduced, &checked.reduced_for) + &passes_text(&checked.shrunk);
    if sliced {
        let all = std::iter::once(("deadlocks and errors", &checked.shrunk));
        let properties = checked.shrunk_for.iter().map(|(name, shrunk)| (name.as_str(), shrunk));
        for (name, shrunk) in all.filter(|(_, shrunk)| !shrunk.applied.is_empty()).chain(properties) {
            text += &slice_text(name, shrunk);
        }
    }
    text
}

/// The parts that were removed for a property, one line each.
fn slice_text(name: &str, shrunk: &Shrunk) -> String {
    let mut text = format!("slice for {name}: {} cut\n", shrunk.cuts.len());
    shrunk.cuts.iter().for_each(|cut| text += &format!("  {cut}\n"));
    shrunk
        .slice_off
        .iter()
        .chain(shrunk.off.iter().filter(|_| shrunk.applied.is_empty()))
        .for_each(|why| text += &format!("  no processes: {why}\n"));
    text
}

/// The passes, as a line.
fn passes_text(shrunk: &Shrunk) -> String {
    let applied =
        shrunk.applied.iter().filter(|applied| applied.changes > 0).map(|Applied { pass, changes }| format!("{pass} ({changes})"));
    let off = shrunk.off.iter().map(|why| format!("no steps merged, {why}"));
    let all = applied.chain(off).collect::<Vec<_>>().join(", ");
    if all.is_empty() { all } else { format!("passes: {all}\n") }
}

fn por_json(reduced: &Reduced) -> (bool, Option<String>) {
    match reduced {
        Reduced::Yes => (true, None),
        Reduced::NotAsked => (false, None),
        Reduced::Not(why) => (false, Some(why.clone())),
    }
}

fn heuristic_json(guided: &Guidance) -> HeuristicJson {
    let Guidance { property, name, lower_bound, tables, along } = guided.clone();
    let along = along.into_iter().map(|estimate| (estimate != contract::FAR).then_some(estimate)).collect();
    HeuristicJson { property, name, lower_bound, tables, along }
}

/// The searches for which the reduction was on; for the others, why it was off.
fn reduction_text(reduced: &Reduced, each: &[(String, Reduced)]) -> String {
    let mut lines = Vec::new();
    let on = each.iter().any(|(_, reduced)| *reduced == Reduced::Yes) || *reduced == Reduced::Yes;
    if on {
        lines.push("partial-order reduction: on".to_owned());
    }
    if let Reduced::Not(why) = reduced {
        lines.push(format!("partial-order reduction: off, {why}"));
    }
    for (name, reduced) in each {
        if let Reduced::Not(why) = reduced {
            lines.push(format!("partial-order reduction for `{name}`: off, {why}"));
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn probe_json(probe: &Probe) -> ProbeJson {
    let Probe { states, transitions, elapsed, found, answers } = *probe;
    ProbeJson { states, transitions, seconds: elapsed.as_secs_f64(), found, answers }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;
    use crate::commands::Command;
    use crate::plan::with_options;
    use clap::Parser;
    use contract::Limits;

    /// The plan that a library offers as the one of the command line.
    #[test]
    fn without_options_the_plan_is_the_usual_one() {
        let typed = args::Arguments::try_parse_from(["everypath", "check", "model.pml"]).expect("a call");
        let Command::Check(arguments) = typed.command else { panic!("it is a check") };
        let plan = with_options(base(&arguments).expect("no option contradicts another"), &arguments.engine);
        let limits = Limits { memory: None, ..plan.limits };
        assert_eq!(Plan { limits, ..plan }, Plan::usual());
    }
}
