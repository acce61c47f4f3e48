//! The numbers of one model, their file form, and their means.
//!
//! A row has several sides: SPIN and Everypath, each in the configurations that [`Who`] lists. All
//! have the same numbers, so a file of rows is a table of tab-separated values whose head names
//! side and number. Columns are found by these names, so an older file without some columns can
//! still be read. Means of ratios are geometric, because only the geometric mean does not depend on
//! which side is the unit.

use super::set::Group;
use std::fmt::Write;

/// The program that was measured, and its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// SPIN.
    Spin,
    /// SPIN with `-DCOLLAPSE`.
    Collapse,
    /// Everypath with its fastest store, breadth-first.
    Plain,
    /// Everypath with its compact store, breadth-first.
    Compact,
    /// Everypath with its fastest store, strictly depth-first.
    Depth,
    /// One search of Everypath with two threads.
    Team,
    /// Two searches of Everypath at the same time, with one thread each. Their time is that of one
    /// search at the mean of their speeds.
    Pair,
    /// SPIN with a temporal property, without reduction.
    SpinTemporal,
    /// Everypath with a temporal property, without reduction.
    Temporal,
    /// Everypath with a temporal property and two threads.
    TemporalTeam,
    /// Two searches of Everypath at the same time, with a temporal property and one thread each.
    TemporalPair,
    /// SPIN with a temporal property and its defaults, which reduce.
    SpinTemporalReduced,
    /// Everypath with a temporal property and its defaults, which reduce.
    TemporalReduced,
    /// SPIN with its defaults, which reduce.
    SpinReduced,
    /// Everypath with its default reduction.
    Reduced,
}

impl Who {
    /// All of them, in the order of the columns.
    pub const ALL: [Who; 15] = [
        Who::Spin,
        Who::Collapse,
        Who::Plain,
        Who::Compact,
        Who::Depth,
        Who::Team,
        Who::Pair,
        Who::SpinTemporal,
        Who::Temporal,
        Who::TemporalTeam,
        Who::TemporalPair,
        Who::SpinTemporalReduced,
        Who::TemporalReduced,
        Who::SpinReduced,
        Who::Reduced,
    ];

    /// Whether it visits exactly the states of a model, so that all such sides must have the same
    /// count.
    pub const fn visits_the_whole_space(self) -> bool {
        let temporal = matches!(self, Who::SpinTemporal | Who::Temporal | Who::TemporalTeam | Who::TemporalPair);
        let reduced = matches!(self, Who::SpinTemporalReduced | Who::TemporalReduced | Who::SpinReduced | Who::Reduced);
        !temporal && !reduced
    }

    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Who::Spin => "spin",
            Who::Collapse => "collapse",
            Who::Plain => "plain",
            Who::Compact => "compact",
            Who::Depth => "dfs",
            Who::Team => "team",
            Who::Pair => "pair",
            Who::SpinTemporal => "spin-ltl",
            Who::Temporal => "ltl",
            Who::TemporalTeam => "ltl-team",
            Who::TemporalPair => "ltl-pair",
            Who::SpinTemporalReduced => "spin-ltl-por",
            Who::TemporalReduced => "ltl-por",
            Who::SpinReduced => "spin-por",
            Who::Reduced => "por",
        }
    }
}

/// A number of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// States found.
    States,
    /// Processor seconds of the search.
    SearchCpu,
    /// Wall-clock seconds of the search.
    SearchWall,
    /// Processor seconds from source to verdict.
    TotalCpu,
    /// Wall-clock seconds from source to verdict.
    TotalWall,
    /// Bytes of memory per state.
    StateBytes,
    /// Largest resident memory of the search, in bytes.
    Peak,
}

impl Number {
    /// All of them, in the order of the columns.
    pub const ALL: [Number; 7] =
        [Number::States, Number::SearchCpu, Number::SearchWall, Number::TotalCpu, Number::TotalWall, Number::StateBytes, Number::Peak];

    const fn name(self) -> &'static str {
        match self {
            Number::States => "states",
            Number::SearchCpu => "search_cpu_s",
            Number::SearchWall => "search_wall_s",
            Number::TotalCpu => "total_cpu_s",
            Number::TotalWall => "total_wall_s",
            Number::StateBytes => "state_bytes",
            Number::Peak => "peak_bytes",
        }
    }
}

/// The numbers of one model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Its name.
    pub model: String,
    /// The name of its group.
    pub group: String,
    numbers: [[Option<f64>; Number::ALL.len()]; Who::ALL.len()],
    /// The error; empty if there is none.
    pub error: String,
}

impl Row {
    /// A row without numbers.
    pub fn new(model: &str, group: Group) -> Row {
        Row { model: model.to_owned(), group: group.name().to_owned(), ..Row::default() }
    }

    /// A number.
    pub fn get(&self, who: Who, number: Number) -> Option<f64> {
        self.numbers[who as usize][number as usize]
    }

    /// Sets a number.
    pub fn set(&mut self, who: Who, number: Number, value: f64) {
        self.numbers[who as usize][number as usize] = Some(value);
    }

    /// Sets a number to the smaller of its value and `value`, because a run is only slowed down by
    /// causes outside the program under test.
    pub fn least(&mut self, who: Who, number: Number, value: f64) {
        let old = self.get(who, number).unwrap_or(f64::INFINITY);
        self.set(who, number, old.min(value));
    }

    /// Records the number of states that a run has found. Different numbers from runs of the same
    /// side are an error.
    pub fn count(&mut self, who: Who, states: u64) -> Result<(), String> {
        match self.get(who, Number::States) {
            Some(before) if before as u64 != states => Err(format!("the counts of {} differ: {before} and {states}", who.name())),
            _ => {
                self.set(who, Number::States, states as f64);
                Ok(())
            }
        }
    }

    /// The number of states on which all measured sides agree.
    pub fn states(&self) -> Option<u64> {
        let mut whole = Who::ALL.into_iter().filter(|who| who.visits_the_whole_space());
        whole.find_map(|who| self.get(who, Number::States)).map(|states| states as u64)
    }

    /// States per second of search, in processor time.
    pub fn rate(&self, who: Who) -> Option<f64> {
        Some(self.get(who, Number::States)? / self.get(who, Number::SearchCpu)?.max(1e-9))
    }

    /// States per second of search, in wall-clock time.
    pub fn wall_rate(&self, who: Who) -> Option<f64> {
        Some(self.get(who, Number::States)? / self.get(who, Number::SearchWall)?.max(1e-9))
    }

    /// The speed of two threads on one search, as a part of that of two searches at the same time,
    /// in wall-clock time; `None` for a row with an error.
    pub fn teamwork(&self) -> Option<f64> {
        self.ratio(Number::SearchWall, Who::Pair, Who::Team).map(|speed| speed / 2.0)
    }

    /// A number of one side divided by that of another; `None` for a row with an error.
    pub fn ratio(&self, number: Number, this: Who, that: Who) -> Option<f64> {
        let value = self.get(this, number)? / self.get(that, number)?;
        (self.error.is_empty() && value.is_finite() && value > 0.0).then_some(value)
    }
}

/// The geometric mean of some ratios, and their number; `None` if there are none.
pub fn geometric_mean(ratios: impl IntoIterator<Item = f64>) -> Option<(f64, usize)> {
    let logarithms: Vec<f64> = ratios.into_iter().map(f64::ln).collect();
    let count = logarithms.len();
    (count > 0).then(|| ((logarithms.iter().sum::<f64>() / count as f64).exp(), count))
}

/// The median of some numbers, and their number; `None` if there are none.
pub fn median(numbers: impl IntoIterator<Item = f64>) -> Option<(f64, usize)> {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    let middle = (numbers.get(numbers.len().checked_sub(1)? / 2)? + numbers.get(numbers.len() / 2)?) / 2.0;
    Some((middle, numbers.len()))
}

/// The columns of numbers, in their order in files.
fn columns() -> impl Iterator<Item = (Who, Number)> {
    Who::ALL.into_iter().flat_map(|who| Number::ALL.map(|number| (who, number)))
}

/// The name of a column in the head of a file.
fn title((who, number): (Who, Number)) -> String {
    format!("{}.{}", who.name(), number.name())
}

/// Rows as text for a file, after some remarks.
pub fn to_text(remarks: &str, rows: &[Row]) -> String {
    let mut text: String = remarks.lines().map(|line| format!("# {line}\n")).collect();
    text += "model\tgroup";
    columns().for_each(|column| text += &format!("\t{}", title(column)));
    text += "\terror\n";
    for row in rows {
        let _ = write!(text, "{}\t{}", row.model, row.group);
        for (who, number) in columns() {
            let _ = match row.get(who, number) {
                Some(value) => write!(text, "\t{value}"),
                None => write!(text, "\t"),
            };
        }
        let _ = writeln!(text, "\t{}", row.error.replace(['\t', '\n'], " "));
    }
    text
}

/// Remarks and rows from a file, which may lack columns; `None` if it is not such a file.
pub fn from_text(text: &str) -> Option<(String, Vec<Row>)> {
    let remarks: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("# ")).collect();
    let mut lines = text.lines().skip(remarks.len());
    let titles = lines.next()?.strip_prefix("model\tgroup\t")?.strip_suffix("\terror")?;
    let there = titles.split('\t').map(|name| columns().find(|&column| title(column) == name)).collect::<Option<Vec<_>>>()?;
    let rows = lines.map(|line| {
        let mut cells = line.split('\t');
        let mut row = Row { model: cells.next()?.to_owned(), group: cells.next()?.to_owned(), ..Row::default() };
        for &(who, number) in &there {
            let cell = cells.next()?;
            if !cell.is_empty() {
                row.set(who, number, cell.parse().ok()?);
            }
        }
        row.error = cells.next()?.to_owned();
        Some(row)
    });
    Some((remarks.join("\n"), rows.collect::<Option<Vec<Row>>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        let mut row = Row::new("beem/x.1", Group::Search);
        row.set(Who::Spin, Number::SearchCpu, 2.0);
        row.set(Who::Plain, Number::SearchCpu, 0.5);
        row.set(Who::Plain, Number::States, 1000.0);
        row
    }

    #[test]
    fn files_are_read_back() {
        let mut wrong = row();
        wrong.error = "counts differ".to_owned();
        let rows = vec![row(), wrong];
        let text = to_text("machine: none\nload: 0", &rows);
        assert_eq!(from_text(&text), Some(("machine: none\nload: 0".to_owned(), rows)));
        assert_eq!(from_text("something else"), None);
    }

    #[test]
    fn files_with_fewer_columns_are_read() {
        let text = "# old\nmodel\tgroup\tspin.search_cpu_s\tplain.states\tplain.search_cpu_s\terror\nbeem/x.1\tsearch\t2\t1000\t0.5\t\n";
        assert_eq!(from_text(text), Some(("old".to_owned(), vec![row()])));
        assert_eq!(from_text(&text.replace("plain.states", "plain.unheard")), None);
    }

    #[test]
    fn runs_of_a_side_count_the_same() {
        let mut row = row();
        assert!(row.count(Who::Team, 7).is_ok() && row.count(Who::Team, 7).is_ok());
        assert!(row.count(Who::Team, 8).is_err());
    }

    #[test]
    fn two_threads_against_two_searches() {
        let mut row = row();
        row.set(Who::Pair, Number::SearchWall, 1.8);
        assert_eq!(row.teamwork(), None);
        row.set(Who::Team, Number::SearchWall, 1.0);
        assert_eq!(row.teamwork(), Some(0.9));
    }

    #[test]
    fn the_median() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some((2.0, 3)));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), Some((2.5, 4)));
        assert_eq!(median([]), None);
    }

    #[test]
    fn ratios_and_their_mean() {
        assert_eq!(row().ratio(Number::SearchCpu, Who::Plain, Who::Spin), Some(0.25));
        assert_eq!(row().ratio(Number::SearchCpu, Who::Compact, Who::Spin), None);
        assert_eq!(row().rate(Who::Plain), Some(2000.0));
        let mut wrong = row();
        wrong.error = "counts differ".to_owned();
        assert_eq!(wrong.ratio(Number::SearchCpu, Who::Plain, Who::Spin), None);
        let (mean, count) = geometric_mean([0.25, 4.0]).expect("there are ratios");
        assert!((mean - 1.0).abs() < 1e-12 && count == 2);
        assert_eq!(geometric_mean([]), None);
    }

    #[test]
    fn the_smaller_number_counts() {
        let mut row = row();
        row.least(Who::Spin, Number::SearchCpu, 3.0);
        row.least(Who::Spin, Number::TotalCpu, 3.0);
        assert_eq!(row.get(Who::Spin, Number::SearchCpu), Some(2.0));
        assert_eq!(row.get(Who::Spin, Number::TotalCpu), Some(3.0));
    }
}
