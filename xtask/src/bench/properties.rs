//! Temporal properties and reduction, on both sides.
//!
//! Each model is asked one question that needs the whole product to be answered: its formula holds,
//! whatever the model does, so that no side is lucky. Most are `[]<>(v == 0) -> []<>(v < 1)` over a
//! variable of the model: a value of 0 is below 1, but a translator that does not look into
//! propositions cannot know this. For three formulas, published figures of other tools are in the
//! project's notes. Neither side reduces: SPIN's verifier is made with `-o1 -o2 -o3`, built with
//! `-DNOREDUCE` and run with `-a`; ours is run with `--no-por`, and no pass makes the program
//! smaller.
//!
//! The same question is asked with the defaults of both sides, which reduce. In addition, both
//! sides visit the states that their reductions leave, and check nothing that could end a search
//! early. Plain exploration, breadth first and depth first, is measured in the same run, since the
//! cost of a property is given in relation to it. Each side counts product states in its own
//! automaton, so the counts need not agree; the verdicts must. A product of more than a million
//! states is also searched with two threads, and by two searches at the same time with one thread
//! each.

use super::child;
use super::ours::{self, Manner};
use super::row::{Number, Row, Who, geometric_mean};
use super::set::{Entry, Group};
use super::spin::Verifier;
use super::table::{Block, column, kilo};
use super::{Sides, TEAM_RUNS, TEAM_STATES, mean_speed, our_run, spin_run};
use crate::Failure;
use std::fmt::Write;

/// The formulas for which figures of other tools are known.
const ANCHORS: [(&str, &str); 3] =
    [("adding.4", "<>(c >= 400)"), ("lamport.5", "([]<>(y == 0)) -> ([]<>(x == 0))"), ("at.3", "([]<>(x == 0)) -> ([]<>(x < 1))")];

/// A variable of each family.
const VARIABLES: [(&str, &str); 30] = [
    ("adding", "c"),
    ("anderson", "next"),
    ("at", "x"),
    ("blocks", "holding"),
    ("bopdp", "cur"),
    ("bridge", "where_is_torch"),
    ("driving_phils", "request[0]"),
    ("elevator", "floor_queue_0_act"),
    ("elevator_planning", "at"),
    ("extinction", "leaders_num"),
    ("fischer", "id"),
    ("frogs", "x"),
    ("gear", "toGear"),
    ("iprotocol", "Sender:sendseq"),
    ("lamport", "x"),
    ("lamport_nonatomic", "NonatomicVar_0:x"),
    ("lann", "P_0:v"),
    ("loyd", "x"),
    ("mcs", "tail"),
    ("msmie", "readers"),
    ("peg_solitaire", "a[0]"),
    ("peterson", "pos[0]"),
    ("phils", "fork[0]"),
    ("protocols", "Sender:sab"),
    ("public_subscribe", "User_0:cmd"),
    ("reader_writer", "actvR"),
    ("rushhour", "A[0]"),
    ("schedule_world", "busy[0]"),
    ("sokoban", "done"),
    ("sorter", "token"),
];

/// Options without which our side makes the program or the search smaller.
const WHOLE: [&str; 4] = ["--no-por", "--no-merge", "--no-dead", "--no-unused"];

/// The formula of a model, if it has one.
pub fn formula(name: &str) -> Option<String> {
    let name = name.rsplit('/').next()?;
    if let Some((_, formula)) = ANCHORS.into_iter().find(|(model, _)| *model == name) {
        return Some(formula.to_owned());
    }
    let (family, _) = name.rsplit_once('.')?;
    let (_, variable) = VARIABLES.into_iter().find(|(model, _)| *model == family)?;
    Some(format!("([]<>({variable} == 0)) -> ([]<>({variable} < 1))"))
}

/// The search takes at most this part of SPIN's search time.
const SEARCH_BAR: f64 = 0.35;
/// From source to verdict, it takes at most this part of SPIN's time.
const VERDICT_BAR: f64 = 0.05;
/// Two threads search a large product at least this many times as fast as one.
const THREADS_BAR: f64 = 1.7;
/// A product state costs at most this many times a state of plain exploration.
const PRODUCT_BAR: f64 = 1.5;

/// The columns of the table.
pub const BLOCKS: [Block; 6] = [
    Block {
        title: "property: states, search s, ratio",
        columns: &[
            column("spin k", 8, 0, |row| kilo(row.get(Who::SpinTemporal, Number::States))),
            column("ours k", 8, 0, |row| kilo(row.get(Who::Temporal, Number::States))),
            column("spin", 7, 2, |row| row.get(Who::SpinTemporal, Number::SearchCpu)),
            column("ours", 7, 2, |row| row.get(Who::Temporal, Number::SearchCpu)),
            column("/spin", 7, 3, |row| row.ratio(Number::SearchCpu, Who::Temporal, Who::SpinTemporal)),
        ],
    },
    Block {
        title: "state by plain's",
        columns: &[
            column("bfs", 8, 2, |row| cost(row, Who::Temporal, Who::Plain)),
            column("dfs", 8, 2, |row| cost(row, Who::Temporal, Who::Depth)),
        ],
    },
    Block {
        title: "2 threads, wall",
        columns: &[
            column("1000/s", 7, 0, |row| kilo(row.wall_rate(Who::TemporalTeam))),
            column("2×1", 7, 0, |row| kilo(row.wall_rate(Who::TemporalPair).map(|rate| 2.0 * rate))),
            column("/1", 5, 2, speedup),
        ],
    },
    Block {
        title: "property, reduction: states, search s, ratio",
        columns: &[
            column("spin k", 8, 0, |row| kilo(row.get(Who::SpinTemporalReduced, Number::States))),
            column("ours k", 8, 0, |row| kilo(row.get(Who::TemporalReduced, Number::States))),
            column("spin", 7, 2, |row| row.get(Who::SpinTemporalReduced, Number::SearchCpu)),
            column("ours", 7, 2, |row| row.get(Who::TemporalReduced, Number::SearchCpu)),
            column("/spin", 7, 3, |row| row.ratio(Number::SearchCpu, Who::TemporalReduced, Who::SpinTemporalReduced)),
        ],
    },
    Block {
        title: "reduction: states, search s, ratio",
        columns: &[
            column("spin k", 8, 0, |row| kilo(row.get(Who::SpinReduced, Number::States))),
            column("ours k", 8, 0, |row| kilo(row.get(Who::Reduced, Number::States))),
            column("spin", 7, 2, |row| row.get(Who::SpinReduced, Number::SearchCpu)),
            column("ours", 7, 2, |row| row.get(Who::Reduced, Number::SearchCpu)),
            column("/spin", 7, 3, |row| row.ratio(Number::SearchCpu, Who::Reduced, Who::SpinReduced)),
        ],
    },
    Block {
        title: "source→verdict/spin",
        columns: &[
            column("property", 10, 3, |row| row.ratio(Number::TotalCpu, Who::Temporal, Who::SpinTemporal)),
            column("reduced", 10, 3, |row| row.ratio(Number::TotalCpu, Who::Reduced, Who::SpinReduced)),
        ],
    },
];

/// The cost of a state of one side, divided by that of the other.
fn cost(row: &Row, this: Who, that: Who) -> Option<f64> {
    let ratio = row.rate(that)? / row.rate(this)?;
    (row.error.is_empty() && ratio.is_finite()).then_some(ratio)
}

/// The speed of a search with two threads, divided by that of one thread beside another search.
fn speedup(row: &Row) -> Option<f64> {
    row.ratio(Number::SearchWall, Who::TemporalPair, Who::TemporalTeam)
}

impl Sides<'_> {
    /// Fills a row with the numbers of properties and reductions. The runs of the two sides
    /// alternate.
    pub fn measure_properties(&self, entry: &Entry, row: &mut Row) -> Result<(), Failure> {
        if !entry.model.is_promela() {
            return Ok(());
        }
        let compiled = ours::compile(&entry.model)?;
        let translation = compiled.native.unwrap_or(compiled.bytecode);
        let thorough = entry.group == Group::Search;
        let prepare = || if thorough { child::recall_memory() } else { Ok(()) };
        let formula = formula(&entry.model.name);
        let mut refuting = match &formula {
            Some(formula) if self.spin => Some(Verifier::refuting(&entry.model.path, formula)?),
            _ => None,
        };
        let mut refuting_reduced = match &formula {
            Some(formula) if self.spin => Some(Verifier::refuting_reduced(&entry.model.path, formula)?),
            _ => None,
        };
        let mut reduced = if self.spin { Some(Verifier::reduced(&entry.model.path, &[])?) } else { None };
        for _ in 0..self.runs {
            for (who, manner) in [(Who::Plain, Manner::PLAIN), (Who::Depth, Manner::DEPTH)] {
                prepare()?;
                our_run(row, who, self.everypath.run(&entry.model, manner)?, translation)?;
            }
            if let Some(formula) = &formula {
                if let Some(verifier) = &mut refuting {
                    prepare()?;
                    if spin_run(row, Who::SpinTemporal, verifier)?.errors > 0 {
                        return Err("SPIN says that the formula does not hold".to_owned());
                    }
                }
                prepare()?;
                let how = [&["--ltl", formula.as_str()][..], &WHOLE].concat();
                our_run(row, Who::Temporal, self.everypath.check(&entry.model, 1, &how)?, translation)?;
                if let Some(verifier) = &mut refuting_reduced {
                    prepare()?;
                    if spin_run(row, Who::SpinTemporalReduced, verifier)?.errors > 0 {
                        return Err("SPIN with its reductions says that the formula does not hold".to_owned());
                    }
                }
                prepare()?;
                our_run(row, Who::TemporalReduced, self.everypath.check(&entry.model, 1, &["--ltl", formula])?, translation)?;
            }
            if let Some(verifier) = &mut reduced {
                prepare()?;
                spin_run(row, Who::SpinReduced, verifier)?;
            }
            prepare()?;
            let run = self.everypath.check(&entry.model, 1, &["--only", "safety", "--no-deadlock", "--search", "bfs"])?;
            our_run(row, Who::Reduced, run, translation)?;
        }
        let large = row.get(Who::Temporal, Number::States).is_some_and(|states| states > TEAM_STATES as f64);
        if let Some(formula) = formula.filter(|_| self.team && large) {
            self.measure_team_of(&formula, entry, row, translation)?;
        }
        super::agree(entry, row)
    }

    /// Two threads on one product, and two searches with one thread each. The order changes from
    /// run to run.
    fn measure_team_of(&self, formula: &str, entry: &Entry, row: &mut Row, translation: f64) -> Result<(), Failure> {
        let how = [&["--ltl", formula][..], &WHOLE].concat();
        for run in 0..self.runs.max(TEAM_RUNS) {
            for team in [run % 2 == 0, run % 2 != 0] {
                child::recall_memory()?;
                if team {
                    our_run(row, Who::TemporalTeam, self.everypath.check(&entry.model, 2, &how)?, translation)?;
                } else {
                    let [this, that] = self.everypath.check_pair(&entry.model, &how)?;
                    our_run(row, Who::TemporalPair, mean_speed(this, that), translation)?;
                }
            }
        }
        Ok(())
    }
}

/// The means of the rows.
pub fn summary(rows: &[Row]) -> String {
    let mut text = "Geometric means, in processor time:\n".to_owned();
    let mut put = |what: &str, values: &mut dyn Iterator<Item = f64>, bar: f64| {
        if let Some((value, count)) = geometric_mean(values) {
            let _ = writeln!(text, "  {what:<60} {value:.3}  ({count} models); the bar is {bar}");
        }
    };
    let large = || rows.iter().filter(|row| row.group == Group::Search.name());
    let ratios = |this, that| large().filter_map(move |row| row.ratio(Number::SearchCpu, this, that));
    let costs = |this, that| large().filter_map(move |row| cost(row, this, that));
    let verdicts = |this, that| rows.iter().filter_map(move |row| row.ratio(Number::TotalCpu, this, that));
    put("search with a temporal property, by SPIN's", &mut ratios(Who::Temporal, Who::SpinTemporal), SEARCH_BAR);
    put(
        "search with a temporal property and reduction, by SPIN's",
        &mut ratios(Who::TemporalReduced, Who::SpinTemporalReduced),
        SEARCH_BAR,
    );
    put("speed with two threads, by that with one", &mut rows.iter().filter_map(speedup), THREADS_BAR);
    put("search with reduction, by SPIN's", &mut ratios(Who::Reduced, Who::SpinReduced), SEARCH_BAR);
    put("a product state, by a state of breadth-first exploration", &mut costs(Who::Temporal, Who::Plain), PRODUCT_BAR);
    put("a product state, by a state of depth-first exploration", &mut costs(Who::Temporal, Who::Depth), PRODUCT_BAR);
    put("from source to verdict, temporal property", &mut verdicts(Who::Temporal, Who::SpinTemporal), VERDICT_BAR);
    put("from source to verdict, with reduction", &mut verdicts(Who::Reduced, Who::SpinReduced), VERDICT_BAR);
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_found_by_name_and_by_family() {
        assert_eq!(formula("beem/adding.4").as_deref(), Some("<>(c >= 400)"));
        assert_eq!(formula("beem/at.4").as_deref(), Some("([]<>(x == 0)) -> ([]<>(x < 1))"));
        assert_eq!(formula("beem/nothing.1"), None);
    }

    #[test]
    fn the_cost_of_a_product_state() {
        let mut row = Row::new("beem/x.1", Group::Search);
        for (who, states, cpu) in [(Who::Plain, 1000.0, 1.0), (Who::Temporal, 2000.0, 3.0), (Who::SpinTemporal, 2500.0, 10.0)] {
            row.set(who, Number::States, states);
            row.set(who, Number::SearchCpu, cpu);
        }
        assert_eq!(cost(&row, Who::Temporal, Who::Plain), Some(1.5));
        let text = summary(&[row]);
        assert!(text.contains("0.300") && text.contains("1.500"), "{text}");
    }

    /// Two threads are compared with one thread beside another search.
    #[test]
    fn the_speed_of_two_threads() {
        let mut row = Row::new("beem/x.1", Group::Search);
        assert_eq!(speedup(&row), None);
        for (who, wall) in [(Who::TemporalTeam, 2.0), (Who::TemporalPair, 3.0)] {
            row.set(who, Number::States, 6000.0);
            row.set(who, Number::SearchWall, wall);
        }
        assert_eq!(speedup(&row), Some(1.5));
    }
}
