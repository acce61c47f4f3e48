//! The options of directed search, and their effect on a plan.

use crate::failure::Failure;
use check::{Guide, Order, Plan};
use clap::Args;

/// Options of directed search.
#[derive(Debug, Args)]
#[command(next_help_heading = "Directed search")]
pub struct DirectedArguments {
    /// How the distance to a violation is estimated: `auto`, `formula` (a lower bound), `sum`,
    /// `active` or `none`; or an expression over the model whose value is the estimate
    #[arg(long, value_name = "NAME|EXPR", allow_hyphen_values = true, conflicts_with = "resume")]
    pub heuristic: Option<String>,
    /// The weight of the path with `--search astar`, from 0 to 1; the estimate has the rest. 0 is
    /// greedy, 1 is breadth first [default: 0.5]
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "resume")]
    pub weight: Option<u32>,
    /// The number of states of a level that `--search beam` follows [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "resume")]
    pub width: Option<u32>,
    /// Show how the estimates are computed, and the estimate of each state of the trace
    #[arg(long, conflicts_with = "resume")]
    pub explain_heuristic: bool,
}

impl DirectedArguments {
    /// The plan with these options, for a search in this order.
    pub fn plan(&self, base: Plan, order: Order) -> Result<Plan, Failure> {
        let asked = self.heuristic.is_some() || self.weight.is_some() || self.width.is_some() || self.explain_heuristic;
        if asked && !order.is_directed() {
            let why = "`--heuristic`, `--weight`, `--width` and `--explain-heuristic` are for directed search: `--search best-first`, `astar`, \
                       `ida-star`, `beam` or `race`";
            return Err(Failure::Call(why.to_owned()));
        }
        if self.weight.is_some() && order != Order::AStar {
            return Err(Failure::Call("`--weight` is for `--search astar`".to_owned()));
        }
        if self.width.is_some() && order != Order::Beam {
            return Err(Failure::Call("`--width` is for `--search beam`".to_owned()));
        }
        Ok(Plan {
            guide: self.name().unwrap_or_default(),
            weight: self.weight,
            width: self.width.unwrap_or(base.width),
            explained: self.explain_heuristic,
            ..base
        })
    }

    /// The heuristic, if the option is the name of one.
    fn name(&self) -> Option<Guide> {
        let text = self.heuristic.as_deref()?;
        Guide::ALL.iter().copied().find(|guide| guide.name() == text)
    }

    /// The heuristic as an expression, if the option is one.
    pub fn expression(&self) -> Option<String> {
        self.heuristic.clone().filter(|_| self.name().is_none())
    }
}

/// A share from 0 to 1, in hundredths.
fn share(text: &str) -> Result<u32, String> {
    let number: f64 = text.trim().parse().map_err(|_| format!("`{text}` is not a number; write a share from 0 to 1, as in 0.3"))?;
    match (0.0..=1.0).contains(&number) {
        true => Ok((number * 100.0).round() as u32),
        false => Err("the share must be from 0 to 1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        assert_eq!([share("0"), share("0.5"), share("1"), share(" 0.333 ")], [Ok(0), Ok(50), Ok(100), Ok(33)]);
        for wrong in ["", "-0.1", "1.1", "half", "NaN", "inf"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
