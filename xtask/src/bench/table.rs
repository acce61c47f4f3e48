//! The table for people: one line for each model, and the means.
//!
//! Its contents are defined once, in two lists: the columns, in blocks with a title each, and the
//! means with their limits.

use super::row::{Number, Row, Who, geometric_mean, median};
use super::set::Group;
use std::fmt::Write;

/// From source to verdict, it takes at most this part of SPIN's time.
const VERDICT_BAR: f64 = 0.1;
/// This holds for models with fewer states than this.
const VERDICT_STATES: u64 = 500_000;
/// Two threads on one search reach at least this part of the speed of two searches at the same
/// time, at the median.
const TEAM_BAR: f64 = 0.85;
/// A state in the compact store takes at most this many bytes, at the median.
const BYTES_BAR: f64 = 7.0;
/// Each model above this is named.
const BYTES_NAMED: f64 = 12.0;

/// Columns under a common title.
pub struct Block {
    pub title: &'static str,
    pub columns: &'static [Column],
}

/// A column: its title, its width, its number of digits, and its value for a row.
pub struct Column {
    title: &'static str,
    width: usize,
    digits: usize,
    value: fn(&Row) -> Option<f64>,
}

/// A column.
pub const fn column(title: &'static str, width: usize, digits: usize, value: fn(&Row) -> Option<f64>) -> Column {
    Column { title, width, digits, value }
}

/// The columns for a full run.
pub const BLOCKS: [Block; 6] = [
    Block {
        title: "1000 states/s of search",
        columns: &[
            column("spin", 7, 0, |row| kilo(row.rate(Who::Spin))),
            column("coll.", 7, 0, |row| kilo(row.rate(Who::Collapse))),
            column("plain", 7, 0, |row| kilo(row.rate(Who::Plain))),
            column("comp.", 7, 0, |row| kilo(row.rate(Who::Compact))),
            column("dfs", 7, 0, |row| kilo(row.rate(Who::Depth))),
        ],
    },
    Block {
        title: "search time/spin",
        columns: &[
            column("plain", 6, 3, |row| row.ratio(Number::SearchCpu, Who::Plain, Who::Spin)),
            column("comp.", 6, 3, |row| row.ratio(Number::SearchCpu, Who::Compact, Who::Spin)),
            column("dfs", 6, 3, |row| row.ratio(Number::SearchCpu, Who::Depth, Who::Spin)),
        ],
    },
    Block {
        title: "2 threads, wall",
        columns: &[
            column("1000/s", 7, 0, |row| kilo(row.wall_rate(Who::Team))),
            column("2×1", 7, 0, |row| kilo(row.wall_rate(Who::Pair).map(|rate| 2.0 * rate))),
            column("ratio", 6, 3, Row::teamwork),
        ],
    },
    Block {
        title: "source→verdict, s",
        columns: &[
            column("spin", 7, 2, |row| row.get(Who::Spin, Number::TotalCpu)),
            column("plain", 6, 2, |row| row.get(Who::Plain, Number::TotalCpu)),
            column("/spin", 6, 3, |row| row.ratio(Number::TotalCpu, Who::Plain, Who::Spin)),
        ],
    },
    Block {
        title: "bytes/state",
        columns: &[
            column("spin", 6, 1, |row| state_bytes(row, Who::Spin)),
            column("coll.", 6, 1, |row| state_bytes(row, Who::Collapse)),
            column("plain", 6, 1, |row| state_bytes(row, Who::Plain)),
            column("comp.", 6, 1, |row| state_bytes(row, Who::Compact)),
        ],
    },
    Block {
        title: "peak MB",
        columns: &[
            column("spin", 6, 0, |row| mega(row.get(Who::Spin, Number::Peak))),
            column("coll.", 6, 0, |row| mega(row.get(Who::Collapse, Number::Peak))),
            column("plain", 6, 0, |row| mega(row.get(Who::Plain, Number::Peak))),
            column("comp.", 6, 0, |row| mega(row.get(Who::Compact, Number::Peak))),
        ],
    },
];

/// In thousands.
pub fn kilo(value: Option<f64>) -> Option<f64> {
    value.map(|value| value / 1e3)
}

fn mega(value: Option<f64>) -> Option<f64> {
    value.map(|value| value / 1e6)
}

/// The bytes per state; `None` for few states, because tables have a minimum size.
fn state_bytes(row: &Row, who: Who) -> Option<f64> {
    row.get(who, Number::StateBytes).filter(|_| row.states().is_some_and(|states| states >= 10_000))
}

/// The two lines above the table.
pub fn head(blocks: &[Block]) -> String {
    let (mut above, mut titles) = (format!("{:<26} {:>9}", "", ""), format!("{:<26} {:>9}", "model", "states"));
    for block in blocks {
        let width = block.columns.iter().map(|column| column.width).sum();
        let _ = write!(above, " |{:^width$}", block.title);
        titles += " |";
        for column in block.columns {
            let _ = write!(titles, "{:>width$}", column.title, width = column.width);
        }
    }
    format!("{above}\n{titles}")
}

/// The line of a row.
pub fn line(blocks: &[Block], row: &Row) -> String {
    let states = row.states().map_or_else(|| "–".to_owned(), |states| states.to_string());
    let mut text = format!("{:<26} {states:>9}", row.model);
    for block in blocks {
        text += " |";
        for &Column { width, digits, value, .. } in block.columns {
            let _ = match value(row) {
                Some(value) => write!(text, "{value:>width$.digits$}"),
                None => write!(text, "{:>width$}", "–"),
            };
        }
    }
    if !row.error.is_empty() {
        let _ = write!(text, "\n    error: {}", row.error);
    }
    text
}

/// A mean of the numbers of one side divided by those of another, and its limit.
struct Mean {
    what: &'static str,
    number: Number,
    this: Who,
    that: Who,
    bar: Option<f64>,
}

const fn mean(what: &'static str, number: Number, this: Who, that: Who, bar: Option<f64>) -> Mean {
    Mean { what, number, this, that, bar }
}

const MEANS: [Mean; 11] = [
    mean("search, plain store", Number::SearchCpu, Who::Plain, Who::Spin, Some(0.25)),
    mean("search, plain store, wall-clock", Number::SearchWall, Who::Plain, Who::Spin, None),
    mean("search, compact store", Number::SearchCpu, Who::Compact, Who::Spin, Some(0.333)),
    mean("search, compact store against -DCOLLAPSE", Number::SearchCpu, Who::Compact, Who::Collapse, None),
    mean("search, strictly depth-first, plain store", Number::SearchCpu, Who::Depth, Who::Spin, Some(0.4)),
    mean("bytes per state, plain store", Number::StateBytes, Who::Plain, Who::Spin, None),
    mean("bytes per state, compact store", Number::StateBytes, Who::Compact, Who::Spin, None),
    mean("bytes per state, compact store against -DCOLLAPSE", Number::StateBytes, Who::Compact, Who::Collapse, None),
    mean("peak memory, plain store", Number::Peak, Who::Plain, Who::Spin, None),
    mean("peak memory, strictly depth-first, plain store", Number::Peak, Who::Depth, Who::Spin, None),
    mean("from source to verdict, models of the search set", Number::TotalCpu, Who::Plain, Who::Spin, None),
];

/// The means of the rows.
pub fn summary(rows: &[Row]) -> String {
    let mut text = "Geometric means, Everypath in terms of SPIN; times are processor time unless they say otherwise:\n".to_owned();
    let large: Vec<&Row> = rows.iter().filter(|row| row.group == Group::Search.name()).collect();
    let mut put = |what: &str, value: Option<(f64, usize)>, bar: Option<f64>| {
        if let Some((value, count)) = value {
            let bar = bar.map_or_else(String::new, |bar| format!("; the bar is {bar}"));
            let _ = writeln!(text, "  {what:<52} {value:.3}  ({count} models){bar}");
        }
    };
    for &Mean { what, number, this, that, bar } in &MEANS {
        put(what, geometric_mean(large.iter().filter_map(|row| row.ratio(number, this, that))), bar);
    }
    let small = rows.iter().filter(|row| row.states().is_some_and(|states| states < VERDICT_STATES));
    let verdicts: Vec<(f64, &str)> = named(small, |row| row.ratio(Number::TotalCpu, Who::Plain, Who::Spin));
    let what = format!("from source to verdict, under {VERDICT_STATES} states");
    put(&what, geometric_mean(verdicts.iter().map(|(ratio, _)| *ratio)), Some(VERDICT_BAR));
    let team = large.iter().filter_map(|row| row.teamwork());
    put("two threads by two searches at once, wall, median", median(team), Some(TEAM_BAR));
    let bytes = named(large.iter().copied(), |row| state_bytes(row, Who::Compact));
    put("bytes of a state, compact store, median", median(bytes.iter().map(|(bytes, _)| *bytes)), Some(BYTES_BAR));
    put_over(&mut text, "from source to verdict over the bar", verdicts, VERDICT_BAR);
    put_over(&mut text, &format!("over {BYTES_NAMED} bytes a state in the compact store"), bytes, BYTES_NAMED);
    text.truncate(text.trim_end().len());
    text
}

/// The values of the rows without an error, with the names of their models.
fn named<'a>(rows: impl Iterator<Item = &'a Row>, value: impl Fn(&Row) -> Option<f64>) -> Vec<(f64, &'a str)> {
    rows.filter(|row| row.error.is_empty()).filter_map(|row| Some((value(row)?, row.model.as_str()))).collect()
}

/// Lists the models over a limit, the largest first; writes nothing if none was measured.
fn put_over(text: &mut String, what: &str, mut values: Vec<(f64, &str)>, limit: f64) {
    if values.is_empty() {
        return;
    }
    values.retain(|(value, _)| *value > limit);
    values.sort_by(|a, b| b.0.total_cmp(&a.0));
    let names: Vec<String> = values.iter().map(|(value, name)| format!("{name} {value:.3}")).collect();
    let _ = writeln!(text, "  {what}: {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") });
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
    fn the_summary_has_the_median_of_two_threads() {
        let mut rows = [row("a", 2e6, 1.0, 0.5), row("b", 2e6, 1.0, 0.5), row("c", 2e6, 1.0, 0.5)];
        for (row, pair) in rows.iter_mut().zip([1.0, 1.9, 1.6]) {
            row.set(Who::Team, Number::SearchWall, 1.0);
            row.set(Who::Pair, Number::SearchWall, pair);
        }
        assert!(summary(&rows).lines().any(|line| line.contains("two threads") && line.contains(" 0.800 ") && line.contains("0.85")));
        rows[2].error = "the counts differ".to_owned();
        assert!(summary(&rows).lines().any(|line| line.contains("two threads") && line.contains(" 0.725 ")));
    }

    #[test]
    fn the_columns_stand_below_their_titles() {
        let titles = head(&BLOCKS);
        let widths = |text: &str| text.split('|').map(|part| part.chars().count()).collect::<Vec<_>>();
        let [first, second] = [0, 1].map(|n| widths(titles.lines().nth(n).expect("two lines")));
        let numbers = widths(&line(&BLOCKS, &row("beem/at.3", 1_711_622.0, 2.0, 0.7)));
        assert_eq!(first, second);
        assert_eq!(second, numbers);
    }
}
