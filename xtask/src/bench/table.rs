//! The table for people: one line a model, and what the lines come to.

use super::row::{Number, Row, Who, geometric_mean};
use super::set::Group;
use std::fmt::Write;

/// Search: at most this part of SPIN's time, on the geometric mean.
const SEARCH_BAR: f64 = 0.4;
/// From source to verdict: at most this part of SPIN's time.
const VERDICT_BAR: f64 = 0.1;
/// For models with fewer states than this.
const VERDICT_STATES: u64 = 500_000;

/// The two lines above the table.
pub fn head() -> String {
    format!(
        "{:<26} {:>9} |{:^31}|{:>6} |{:^15}|{:>6} |{:^23}|{:^23}\n{:<26} {:>9} |{:>7}{:>8}{:>8}{:>8}|{:>6} |{:>7}{:>8}|{:>6} |{:>5}{:>6}{:>6}{:>6}|{:>5}{:>6}{:>6}{:>6}",
        "",
        "",
        "1000 states/s of search",
        "plain",
        "source→verdict",
        "plain",
        "bytes/state",
        "peak MB",
        "model",
        "states",
        "spin",
        "coll.",
        "plain",
        "comp.",
        "/spin",
        "spin s",
        "plain s",
        "/spin",
        "spin",
        "coll.",
        "plain",
        "comp.",
        "spin",
        "coll.",
        "plain",
        "comp.",
    )
}

/// The line of a row.
pub fn line(row: &Row) -> String {
    let states = row.states().map_or_else(|| "–".to_owned(), |states| states.to_string());
    let mut text = format!("{:<26} {states:>9} |", row.model);
    let mut put = |width: usize, digits: usize, value: Option<f64>, end: &str| {
        let _ = match value {
            Some(value) => write!(text, "{value:>width$.digits$}{end}"),
            None => write!(text, "{:>width$}{end}", "–"),
        };
    };
    for (who, end) in Who::ALL.into_iter().zip(["", "", "", "|"]) {
        put(if who == Who::Spin { 7 } else { 8 }, 0, row.rate(who).map(|rate| rate / 1e3), end);
    }
    put(6, 3, row.ratio(Number::SearchCpu, Who::Plain, Who::Spin), " |");
    put(7, 2, row.get(Who::Spin, Number::TotalCpu), "");
    put(8, 2, row.get(Who::Plain, Number::TotalCpu), "|");
    put(6, 3, row.ratio(Number::TotalCpu, Who::Plain, Who::Spin), " |");
    for (who, end) in Who::ALL.into_iter().zip(["", "", "", "|"]) {
        // Tables begin with a certain size, so for few states this says nothing.
        let enough = row.states().is_some_and(|states| states >= 10_000);
        put(if who == Who::Spin { 5 } else { 6 }, 1, row.get(who, Number::StateBytes).filter(|_| enough), end);
    }
    for who in Who::ALL {
        put(if who == Who::Spin { 5 } else { 6 }, 0, row.get(who, Number::Peak).map(|bytes| bytes / 1e6), "");
    }
    if !row.error.is_empty() {
        let _ = write!(text, "\n    error: {}", row.error);
    }
    text
}

/// What the rows come to.
pub fn summary(rows: &[Row]) -> String {
    let mut text = "Geometric means, Everypath in terms of SPIN; times are processor time unless they say otherwise:\n".to_owned();
    let large: Vec<&Row> = rows.iter().filter(|row| row.group == Group::Search.name()).collect();
    let mut mean = |what: &str, number: Number, this: Who, that: Who, note: &str| {
        let ratios = large.iter().filter_map(|row| row.ratio(number, this, that));
        if let Some((mean, count)) = geometric_mean(ratios) {
            let _ = writeln!(text, "  {what:<52} {mean:.3}  ({count} models){note}");
        }
    };
    mean("search, plain store", Number::SearchCpu, Who::Plain, Who::Spin, &format!("; the bar is {SEARCH_BAR}"));
    mean("search, plain store, wall-clock", Number::SearchWall, Who::Plain, Who::Spin, "");
    mean("search, compact store", Number::SearchCpu, Who::Compact, Who::Spin, "");
    mean("search, compact store against -DCOLLAPSE", Number::SearchCpu, Who::Compact, Who::Collapse, "");
    mean("bytes per state, plain store", Number::StateBytes, Who::Plain, Who::Spin, "");
    mean("bytes per state, compact store", Number::StateBytes, Who::Compact, Who::Spin, "");
    mean("bytes per state, compact store against -DCOLLAPSE", Number::StateBytes, Who::Compact, Who::Collapse, "");
    mean("peak memory, plain store", Number::Peak, Who::Plain, Who::Spin, "");
    mean("from source to verdict, models of the search set", Number::TotalCpu, Who::Plain, Who::Spin, "");

    let small = rows.iter().filter(|row| row.states().is_some_and(|states| states < VERDICT_STATES));
    let ratios: Vec<(f64, &str)> =
        small.filter_map(|row| Some((row.ratio(Number::TotalCpu, Who::Plain, Who::Spin)?, row.model.as_str()))).collect();
    if let Some((mean, count)) = geometric_mean(ratios.iter().map(|(ratio, _)| *ratio)) {
        let what = format!("from source to verdict, under {VERDICT_STATES} states");
        let _ = writeln!(text, "  {what:<52} {mean:.3}  ({count} models); the bar is {VERDICT_BAR}");
        let mut over: Vec<&(f64, &str)> = ratios.iter().filter(|(ratio, _)| *ratio > VERDICT_BAR).collect();
        over.sort_by(|a, b| b.0.total_cmp(&a.0));
        let names: Vec<String> = over.iter().map(|(ratio, name)| format!("{name} {ratio:.3}")).collect();
        let _ = writeln!(text, "  of these over the bar: {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") });
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(model: &str, states: f64, spin: f64, plain: f64) -> Row {
        let mut row = Row::new(model, Group::Search);
        for (who, cpu) in [(Who::Spin, spin), (Who::Plain, plain)] {
            row.set(who, Number::States, states);
            row.set(who, Number::SearchCpu, cpu);
            row.set(who, Number::TotalCpu, cpu);
        }
        row
    }

    #[test]
    fn the_summary_names_what_is_over_the_bar() {
        let rows = [row("slow", 1_000.0, 1.0, 0.5), row("fast", 1_000.0, 1.0, 0.02), row("large", 1e6, 1.0, 0.5)];
        let text = summary(&rows);
        assert!(text.contains("slow 0.500") && !text.contains("fast 0.020") && !text.contains("large 0.500"), "{text}");
        // The cube root of 0.5 · 0.02 · 0.5.
        assert!(text.contains("0.171"), "{text}");
    }

    #[test]
    fn the_columns_stand_below_their_titles() {
        let titles = head();
        let widths = |text: &str| text.split('|').map(|part| part.chars().count()).collect::<Vec<_>>();
        let [first, second] = [0, 1].map(|n| widths(titles.lines().nth(n).expect("two lines")));
        let numbers = widths(&line(&row("beem/at.3", 1_711_622.0, 2.0, 0.7)));
        assert_eq!(first, second);
        assert_eq!(second, numbers);
    }
}
