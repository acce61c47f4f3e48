//! The answer of a check as files, in the formats of other tools.

use crate::failure::Failure;
use crate::input::Model;
use crate::next;
use crate::output::Output;
use crate::{complain, paths};
use clap::Args;
use contract::{Trace, Verdict};
use report::json::{CheckJson, StepJson};
use report::{Chart, Page, ShownPath, Timeline, itf, junit, junit_rejected, sarif, sarif_rejected};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Files to write.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reports")]
pub struct ReportArguments {
    /// Write a report to FILE, as one page of HTML: verdicts, coverage, the path step by step in
    /// the source, a chart
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the verdicts to FILE as JUnit XML, or what is wrong with the model
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write violations and warnings to FILE as a SARIF log, or what is wrong with the model
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// Write the values along the path to FILE, in the Informal Trace Format (ITF)
    #[arg(long, value_name = "FILE")]
    pub itf: Option<PathBuf>,
    /// Write charts of the search over time to FILE, as SVG: states, rate, memory, depth
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
}

/// The files that will be written.
pub struct Reports<'a> {
    arguments: &'a ReportArguments,
    html: Option<Output>,
    junit: Option<Output>,
    sarif: Option<Output>,
    itf: Option<Output>,
    timeline: Option<Output>,
}

impl ReportArguments {
    /// Makes sure that the files can be written; none of them may be one of `others`.
    pub fn open(&self, others: &[&Path]) -> Result<Reports<'_>, Failure> {
        let wanted = [&self.html, &self.junit, &self.sarif, &self.itf, &self.timeline];
        let distinct: BTreeSet<PathBuf> = wanted.into_iter().flatten().map(|path| paths::without_detours(path)).collect();
        if distinct.len() < wanted.into_iter().flatten().count() {
            return Err(Failure::Call("two of the reports would be written to the same file".to_owned()));
        }
        let open = |path: &Option<PathBuf>| path.as_deref().map(|path| Output::new(path, others)).transpose();
        let (html, junit, sarif, itf) = (open(&self.html)?, open(&self.junit)?, open(&self.sarif)?, open(&self.itf)?);
        let timeline = open(&self.timeline)?;
        Ok(Reports { arguments: self, html, junit, sarif, itf, timeline })
    }

    /// Writes what is wrong with a model to the files that other programs read. Returns the
    /// failure.
    pub fn tell_rejected(&self, model: Option<&Path>, failure: Failure) -> Failure {
        if let (Failure::Model { map, diagnostics }, Some(model)) = (&failure, model) {
            let name = paths::shown(model);
            let written = self.open(&[model]).and_then(|files| {
                if let Some(file) = &files.junit {
                    file.write(junit_rejected(&name, map, diagnostics))?;
                }
                files.sarif.map_or(Ok(()), |file| file.write(sarif_rejected(map, diagnostics, env!("EVERYPATH_VERSION"))))
            });
            written.unwrap_or_else(|unwritten| complain(&unwritten));
        }
        failure
    }

    /// Whether any report is wanted.
    pub fn any(&self) -> bool {
        self.html.is_some() || self.junit.is_some() || self.sarif.is_some() || self.itf.is_some() || self.timeline.is_some()
    }
}

impl Reports<'_> {
    /// Writes the reports.
    pub fn write(
        &self,
        model: &Model,
        verdict: &Verdict,
        witness: Option<&Trace>,
        answer: &CheckJson,
        timeline: &Timeline,
        folding: bool,
    ) -> Result<(), Failure> {
        let trace = match verdict {
            Verdict::Violated(violation) => Some(&violation.trace),
            _ => witness,
        };
        if let Some(file) = &self.html {
            file.write(page(model, trace, answer, timeline, folding))?;
        }
        if let Some(file) = &self.junit {
            file.write(junit(&model.name, answer))?;
        }
        if let Some(file) = &self.sarif {
            let (map, diagnostics) = &model.diagnostics;
            file.write(sarif(answer, (map, diagnostics), env!("EVERYPATH_VERSION")))?;
        }
        if let Some(file) = &self.timeline {
            file.write(timeline.svg(&format!("{}, over time", model.name)))?;
        }
        match (&self.itf, trace) {
            (Some(file), Some(trace)) => file.write(itf(&model.narrator, &model.name, trace))?,
            (Some(_), None) => {
                let path = self.arguments.itf.as_deref().unwrap_or(Path::new("-"));
                return Err(Failure::Call(format!("{} was not written: there is no path to show", path.display())));
            }
            (None, _) => {}
        }
        Ok(())
    }
}

fn page(model: &Model, trace: Option<&Trace>, answer: &CheckJson, timeline: &Timeline, folding: bool) -> String {
    let over_time = timeline.is_worth_a_picture().then(|| timeline.svg("The search over time"));
    let chart = trace.and_then(|trace| {
        let steps = model.narrator.replay(trace).ok()?;
        Some(Chart::new(&model.narrator, &model.witness(trace.clone(), answer.violation.clone(), None), &steps, folding).svg())
    });
    let initial = trace.and_then(|trace| model.narrator.view(&trace.initial).ok()).map(|view| view.values()).unwrap_or_default();
    let run = shown_run(answer);
    let sources = sources(model, answer, run.as_ref().map_or(&[], |run| run.steps));
    let command = format!("everypath {}", next::typed());
    Page {
        model: &model.name,
        command: &command,
        answer,
        witness: run,
        initial: &initial,
        sources: &sources,
        chart: chart.as_deref(),
        over_time: over_time.as_deref(),
    }
    .html()
}

/// The path of an answer without a violation: one that shows a formula, or the first witness.
fn shown_run(answer: &CheckJson) -> Option<ShownPath<'_>> {
    let of_formula = answer.witness.as_deref().map(|steps| ShownPath { what: "A path that shows it", steps, loop_start: None });
    of_formula.or_else(|| {
        let first = answer.witnesses.iter().find(|witness| witness.trace.is_some())?;
        Some(ShownPath { what: &first.message, steps: first.trace.as_deref()?, loop_start: first.loop_start })
    })
}

/// The files that the answer mentions, if they can be read. A model from standard input is one of
/// them.
fn sources(model: &Model, answer: &CheckJson, shown: &[StepJson]) -> Vec<(String, String)> {
    let steps = answer.trace.iter().flatten().chain(shown).flat_map(|step| std::iter::once(&step.first).chain(&step.then));
    let statements = answer.coverage.iter().flat_map(|coverage| &coverage.processes).flat_map(|process| &process.statements);
    let mut names: Vec<String> = vec![model.name.clone()];
    names.extend(steps.filter_map(|told| told.file.clone()).chain(statements.filter_map(|told| told.file.clone())));
    let mut known = BTreeSet::new();
    names.retain(|name| known.insert(name.clone()));
    let read = |name: String| {
        let bytes = match &model.given {
            Some(given) if name == model.name => given.clone(),
            _ => std::fs::read(&name).ok()?,
        };
        let text = languages::decode(&bytes)?.into_owned();
        Some((name, text))
    };
    names.into_iter().filter_map(read).collect()
}
