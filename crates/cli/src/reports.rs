//! The answer of a check as files, in the formats of other tools.

use crate::failure::Failure;
use crate::input::Model;
use crate::output::Output;
use crate::{complain, paths};
use clap::Args;
use contract::{Trace, Verdict};
use report::json::CheckJson;
use report::{Chart, Page, Timeline, itf, junit, junit_rejected, sarif, sarif_rejected};
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
        let distinct: BTreeSet<&PathBuf> = wanted.into_iter().flatten().collect();
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
            file.write(sarif(answer, env!("EVERYPATH_VERSION")))?;
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
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let sources = sources(model, answer);
    let command = format!("everypath {}", typed.join(" "));
    Page {
        model: &model.name,
        command: &command,
        answer,
        initial: &initial,
        sources: &sources,
        chart: chart.as_deref(),
        over_time: over_time.as_deref(),
    }
    .html()
}

/// The files that the answer mentions, if they can be read.
fn sources(model: &Model, answer: &CheckJson) -> Vec<(String, String)> {
    let steps = answer.trace.iter().flatten().flat_map(|step| std::iter::once(&step.first).chain(&step.then));
    let statements = answer.coverage.iter().flat_map(|coverage| &coverage.processes).flat_map(|process| &process.statements);
    let mut names: Vec<String> = vec![model.name.clone()];
    names.extend(steps.filter_map(|told| told.file.clone()).chain(statements.filter_map(|told| told.file.clone())));
    let mut known = BTreeSet::new();
    names.retain(|name| known.insert(name.clone()));
    let read = |name: String| {
        let bytes = std::fs::read(&name).ok()?;
        let text = languages::decode(&bytes)?.into_owned();
        Some((name, text))
    };
    names.into_iter().filter_map(read).collect()
}
