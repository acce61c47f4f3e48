//! The number of states that reductions leave of each model of the benchmark set, compared with
//! SPIN's defaults. The table takes long, so it can be made in parts: each row is kept in a file as
//! soon as it is known, and a later run continues there.
//!
//! The counts do not depend on the load of the machine. A search that does not end within the limit
//! on time has no count, and its model does not take part in the mean.

use crate::Failure;
use crate::bench::output;
use crate::bench::spin::{self, Verifier};
use crate::models::{Corpus, Model};
use crate::reductions::table::{Mean, show};
use check::{Order, Passes, Plan, Por, StoreKind};
use contract::{Cancel, Limits, Quiet, Verdict};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The limit on the memory of each search here, in bytes.
const MEMORY: u64 = 3 << 30;

const HEAD: &str = "model\tfull\treduced\tspin";

/// The counts of a model.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    model: String,
    /// All states; those that passes and partial-order reduction leave; and SPIN's with its
    /// defaults.
    full: Option<u64>,
    reduced: Option<u64>,
    spin: Option<u64>,
}

impl Row {
    fn to_text(&self) -> String {
        format!("{}\t{}\t{}\t{}", self.model, show(self.full), show(self.reduced), show(self.spin))
    }

    fn from_text(line: &str) -> Option<Row> {
        let mut words = line.split('\t');
        let model = words.next()?.to_owned();
        let mut number = || words.next().map(|word| word.parse().ok());
        Some(Row { model, full: number()?, reduced: number()?, spin: number()? })
    }

    /// Our states over SPIN's.
    fn ratio(&self) -> Option<f64> {
        Some(self.reduced? as f64 / self.spin? as f64)
    }
}

/// Makes the table, or the rest of it if a part of it is in the file `into`.
pub fn print(corpus: &Corpus, only: &[String], seconds: u64, into: Option<&Path>) -> Result<(), Failure> {
    let (spin, _) = spin::versions().ok_or("SPIN or gcc is not installed")?;
    let (mut remarks, mut rows) = match into {
        Some(file) if file.exists() => read(file)?,
        _ => (format!("spin: {spin}, at most a minute each; here: at most {seconds} s for each search"), Vec::new()),
    };
    remarks += &format!("\ndate: {}", output("date", &["-u", "+%Y-%m-%d %H:%M UTC"]));
    println!("{remarks}\n\n| model | full | passes, breadth first | SPIN's defaults | ours/SPIN |\n|---|---|---|---|---|");
    rows.iter().for_each(print_row);
    for model in corpus.models()? {
        let wanted = only.is_empty() || only.iter().any(|pattern| model.name.contains(pattern.as_str()));
        if !wanted || rows.iter().any(|row| row.model == model.name) {
            continue;
        }
        let row = count(&model, seconds);
        print_row(&row);
        rows.push(row);
        if let Some(file) = into {
            fs::write(file, to_text(&remarks, &rows)).map_err(|error| format!("{}: {error}", file.display()))?;
        }
    }
    let mut mean = Mean::default();
    rows.iter().for_each(|row| mean.add(row.ratio()));
    let more = rows.iter().filter(|row| row.ratio().is_some_and(|ratio| ratio > 1.0)).count();
    println!("\n{mean} of SPIN's defaults over {} models; more states than SPIN on {more} of them.", mean.count());
    Ok(())
}

fn count(model: &Model, seconds: u64) -> Row {
    let program = model.load().map(Arc::new).ok();
    let explore = |por: Por, passes: Passes| {
        let limits = Limits { time: Some(Duration::from_secs(seconds)), memory: Some(MEMORY), ..Limits::default() };
        let plan = Plan { por, order: Order::Breadth, passes, limits, store: StoreKind::Plain, ..Plan::space() };
        let outcome = check::run(program.as_ref()?, &plan, &Cancel::default(), &Quiet).ok()?.outcome;
        (outcome.verdict == Verdict::Holds).then_some(outcome.statistics.states)
    };
    let of_spin = || Some(Verifier::counting(&model.path).ok()?.run().ok()?.0.states);
    Row { model: model.name.clone(), full: explore(Por::Off, Passes::default()), reduced: explore(Por::On, Passes::ALL), spin: of_spin() }
}

fn print_row(row: &Row) {
    let ratio = row.ratio().map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.3}"));
    println!("| {} | {} | {} | {} | {ratio} |", row.model, show(row.full), show(row.reduced), show(row.spin));
}

fn to_text(remarks: &str, rows: &[Row]) -> String {
    let mut text: String = remarks.lines().map(|line| format!("# {line}\n")).collect();
    text += HEAD;
    rows.iter().for_each(|row| text += &format!("\n{}", row.to_text()));
    text + "\n"
}

fn read(file: &Path) -> Result<(String, Vec<Row>), Failure> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    from_text(&text).ok_or_else(|| format!("{}: not a table of reductions", file.display()))
}

fn from_text(text: &str) -> Option<(String, Vec<Row>)> {
    let remarks: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("# ")).collect();
    let mut lines = text.lines().skip(remarks.len());
    if lines.next()? != HEAD {
        return None;
    }
    Some((remarks.join("\n"), lines.map(Row::from_text).collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let row = |model: &str, full, reduced, spin| Row { model: model.to_owned(), full, reduced, spin };
        let rows = vec![row("beem/a.1", Some(9), Some(3), Some(6)), row("beem/b.2", None, Some(1), None)];
        let text = to_text("one\ntwo", &rows);
        assert_eq!(from_text(&text), Some(("one\ntwo".to_owned(), rows.clone())));
        assert_eq!(rows.iter().map(Row::ratio).collect::<Vec<_>>(), [Some(0.5), None]);
        assert_eq!(from_text("model\tstates\n"), None);
        assert_eq!(from_text(&format!("{HEAD}\nbeem/a.1\t9\n")), None);
    }
}
