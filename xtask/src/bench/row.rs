//! The numbers of one model, their file form, and what they come to together.
//!
//! A row has four sides: SPIN, SPIN with its exact compression, Everypath, Everypath with its compact store. Each has the same numbers,
//! so a file of rows is a table of tab-separated values whose head names side and number. Ratios are means of ratios only in the
//! geometric sense: it alone does not depend on which side is called the unit.

use super::set::Group;
use std::fmt::Write;

/// Who was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// SPIN.
    Spin,
    /// SPIN with `-DCOLLAPSE`.
    Collapse,
    /// Everypath with its fastest store.
    Plain,
    /// Everypath with its compact store.
    Compact,
}

impl Who {
    /// All of them, in the order of the columns.
    pub const ALL: [Who; 4] = [Who::Spin, Who::Collapse, Who::Plain, Who::Compact];

    const fn name(self) -> &'static str {
        match self {
            Who::Spin => "spin",
            Who::Collapse => "collapse",
            Who::Plain => "plain",
            Who::Compact => "compact",
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
    /// Bytes of memory for a state.
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
    /// What went wrong; empty if nothing.
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

    /// Sets a number to the smaller of what it is and `value`: whatever slows a run down is not the program under test.
    pub fn least(&mut self, who: Who, number: Number, value: f64) {
        let old = self.get(who, number).unwrap_or(f64::INFINITY);
        self.set(who, number, old.min(value));
    }

    /// The number of states all sides agree on, those that were measured.
    pub fn states(&self) -> Option<u64> {
        Who::ALL.into_iter().find_map(|who| self.get(who, Number::States)).map(|states| states as u64)
    }

    /// States per second of search, in processor time.
    pub fn rate(&self, who: Who) -> Option<f64> {
        Some(self.get(who, Number::States)? / self.get(who, Number::SearchCpu)?.max(1e-9))
    }

    /// A number of one side in terms of another's; not from a row that is in error.
    pub fn ratio(&self, number: Number, this: Who, that: Who) -> Option<f64> {
        let value = self.get(this, number)? / self.get(that, number)?;
        (self.error.is_empty() && value.is_finite() && value > 0.0).then_some(value)
    }
}

/// The geometric mean of some ratios, and how many they are; nothing of none.
pub fn geometric_mean(ratios: impl IntoIterator<Item = f64>) -> Option<(f64, usize)> {
    let logarithms: Vec<f64> = ratios.into_iter().map(f64::ln).collect();
    let count = logarithms.len();
    (count > 0).then(|| ((logarithms.iter().sum::<f64>() / count as f64).exp(), count))
}

/// The head of the table in files.
fn head() -> String {
    let mut text = "model\tgroup".to_owned();
    for who in Who::ALL {
        for number in Number::ALL {
            let _ = write!(text, "\t{}.{}", who.name(), number.name());
        }
    }
    text + "\terror"
}

/// Rows as text for a file, after some remarks.
pub fn to_text(remarks: &str, rows: &[Row]) -> String {
    let mut text: String = remarks.lines().map(|line| format!("# {line}\n")).collect();
    text += &head();
    text.push('\n');
    for row in rows {
        let _ = write!(text, "{}\t{}", row.model, row.group);
        for value in row.numbers.iter().flatten() {
            let _ = match value {
                Some(value) => write!(text, "\t{value}"),
                None => write!(text, "\t"),
            };
        }
        let _ = writeln!(text, "\t{}", row.error.replace(['\t', '\n'], " "));
    }
    text
}

/// Remarks and rows from a file; nothing if it is not one of ours.
pub fn from_text(text: &str) -> Option<(String, Vec<Row>)> {
    let remarks: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("# ")).collect();
    let mut lines = text.lines().skip(remarks.len());
    if lines.next()? != head() {
        return None;
    }
    let rows = lines.map(|line| {
        let mut cells = line.split('\t');
        let mut row = Row { model: cells.next()?.to_owned(), group: cells.next()?.to_owned(), ..Row::default() };
        for value in row.numbers.iter_mut().flatten() {
            let cell = cells.next()?;
            *value = if cell.is_empty() { None } else { Some(cell.parse().ok()?) };
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
